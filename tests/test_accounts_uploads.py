"""Hostile files: what is taken for a picture, a clip or a sheet, and how it is handed out again."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import RequestDataTooBig, ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.http import parse_header_parameters
from openpyxl import Workbook
from PIL import Image

from baccarat_audit import uploads
from dealing.sheets import reading
from dealing.sheets.errors import SheetError
from dealing.sheets.reading import read_book
from incidents import attachments
from incidents.evidence import check_file, do_attach_file
from incidents.models import IncidentAttachment
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.media import JPEG, MOV, MP4, PNG, WEBM, WEBP, box, picture

SCRIPT = b"<!DOCTYPE html><html><script>alert(1)</script></html>"


def archive(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name.replace("__", "/"), content)
    return out.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def noise(kind: str, size: tuple[int, int] = (64, 48), **options: Any) -> bytes:
    """A picture that does not pack well."""
    out = io.BytesIO()
    Image.effect_noise(size, 90).save(out, kind, **options)
    return out.getvalue()


#: A PNG that says it has forty thousand million points.
BOMB = PNG[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", 200_000, 200_000, 8, 2, 0, 0, 0)) + chunk(b"IEND", b"")
#: A comment in a JPEG, where it stands right after the beginning.
COMMENT = JPEG[:2] + b"\xff\xfe" + struct.pack(">H", 2 + len(SCRIPT)) + SCRIPT + JPEG[2:]


def painted(points: bytes) -> bytes:
    """A PNG of eight by eight, each part of it whole, with these as its points."""
    return PNG[:33] + chunk(b"IDAT", points) + chunk(b"IEND", b"")


POINTS = zlib.compress((b"\0" + bytes(range(24))) * 8)
#: A photograph whose points do not all fit into one block.
PHOTO = noise("JPEG")

HOSTILE = {
    "a web page behind a picture's first bytes": b"\xff\xd8\xff\xe0" + SCRIPT,
    "a web page in a picture's comment": COMMENT,
    "a picture that is an archive too": PNG + archive(run=b"x"),
    "a clip that is an archive too": MP4 + archive(run=b"x"),
    "a clip that is an archive in a box": MP4 + box(b"free", archive(run=b"x")),
    "a web page in a clip's first box": box(b"ftyp", b"isom" + SCRIPT) + box(b"moov", b"v"),
    "a clip that goes on as something else": MP4 + SCRIPT,
    "a clip cut off": MP4[:-20],
    "a clip with nothing to see": box(b"ftyp", b"isom\0\0\2\0") + box(b"mdat", b"m" * 40),
    "a box without an end": box(b"ftyp", b"isom\0\0\2\0") + b"\0\0\0\0mdat",
    "a box of no size": box(b"ftyp", b"isom\0\0\2\0") + b"\0\0\0\4moov" + b"v" * 40,
    "a head without a segment": WEBM[:36] + b"e" * 40,
    "a head that is cut off": WEBM[:5] + b"webm",
    "a picture of a size to fill the memory": BOMB,
    "a picture cut off": PNG[:-20],
    "a picture without its end": PNG[:-12],
    "a picture of which half the points are there": painted(POINTS[: len(POINTS) // 2]),
    "a picture whose points are none": painted(b"points!!" * 4),
    "a photograph cut off": PHOTO[: len(PHOTO) // 2],
    "a photograph without its end": PHOTO[:-2],
    "a picture with something behind it": PNG + b"more",
    "a photograph with something behind it": PHOTO + b"MZ\x90\0" * 4,
    "a photograph with a web page behind it": PHOTO + b"x" * 2000 + SCRIPT,
    "a photograph with a page where its maker keeps things": PHOTO + b"SEFH" + SCRIPT + b"SEFT",
    "a photograph with half a photograph behind it": PHOTO + PHOTO[:-2],
    "a photograph with half a clip behind it": PHOTO + MP4[:-20],
    "a small picture with something behind it": WEBP + b"more",
    "a picture whose points were changed": PNG.replace(b"IDAT", b"IDAT\x01", 1),
    "a picture of another kind in the clothes of one": b"RIFF\x24\0\0\0WEBP" + picture("GIF"),
    "a document": b"\xff\xd8\xff%PDF-1.7",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_that_is_not_what_it_begins_as_is_refused(content: bytes) -> None:
    assert attachments.kind_of(content[:64]) is not None  # its first bytes alone would have let it in
    with pytest.raises(ValidationError) as refused:
        check_file(SimpleUploadedFile("felt.jpg", content))
    assert "damaged" in str(refused.value)


@pytest.mark.parametrize("content", [PNG, painted(POINTS), JPEG, WEBP, MP4, MOV, WEBM, MP4 + box(b"moof", b"more")])
def test_a_file_that_is_what_it_says_is_taken(content: bytes) -> None:
    kind = check_file(SimpleUploadedFile("felt.html", content))
    assert kind is attachments.kind_of(content[:64])


@pytest.mark.parametrize(
    "content",
    [
        *(PHOTO + MP4, PHOTO + PHOTO, PHOTO + JPEG + MP4, PHOTO + bytes(512)),
        *(PHOTO + b"\0\0\1\x0a" + b"t" * 24 + b"SEFH" + bytes(20) + b"SEFT", noise("JPEG", progressive=True)),
    ],
    ids=["clip", "second", "second-and-clip", "filled-up", "maker", "progressive"],
)
def test_what_phones_put_behind_a_photograph_leaves_it_one(content: bytes) -> None:
    check_file(SimpleUploadedFile("motion.jpg", content))


def test_a_picture_is_unpacked_up_to_so_many_points(monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = noise("PNG", (100, 101)), noise("PNG", (100, 100))
    monkeypatch.setattr(attachments, "_POINTS", 10_000)
    check_file(SimpleUploadedFile("felt.png", small))
    with pytest.raises(ValidationError, match="damaged"):
        check_file(SimpleUploadedFile("felt.png", large))
    check_file(SimpleUploadedFile("felt.jpg", noise("JPEG", (100, 101))))  # an eighth of it is kept


@pytest.mark.django_db
@pytest.mark.sqlite
def test_it_is_handed_out_so_that_it_cannot_run(
    client: Client, table: MakeTable, people: People, settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    house = House(table("B07"), people)
    house.record("open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end")
    sent = SimpleUploadedFile('x"; filename="evil.html\r\nX-Evil: 1.png', PNG, content_type="text/html")
    kept = do_attach_file(house.incident(), people("supervisor"), sent)
    client.force_login(people("auditor"))
    address = f"/incidents/{house.incident().pk}/attachments/{kept.pk}/"
    answer = client.get(address)
    assert b"".join(answer.streaming_content) == PNG  # type: ignore[attr-defined]  # byte by byte what was handed in
    assert answer["Content-Type"] == "image/png"
    assert answer["Content-Disposition"].startswith("attachment;")
    kind, told = parse_header_parameters(answer["Content-Disposition"])
    assert (kind, told["filename"].replace("\\", "")) == ("attachment", kept.name)
    assert "X-Evil" not in answer
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "no-store" in answer["Cache-Control"]
    path = tmp_path / "media" / "incidents" / IncidentAttachment.objects.get().stored
    assert path.stat().st_mode & 0o777 == 0o600  # nobody else's, and nothing to run
    assert path.parent.stat().st_mode & 0o077 == 0
    assert re.fullmatch(r"[0-9a-f]{32}\.png", path.name)
    # By its name on the disk it is not to be had.
    for guess in (f"/media/incidents/{path.name}", f"/static/{path.name}", f"/static/../media/incidents/{path.name}"):
        assert client.get(guess).status_code == 404


# How much is read.


@pytest.mark.sqlite
def test_a_body_that_is_too_large_is_not_read(
    client: Client, people: People, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    client.force_login(people("supervisor"))
    monkeypatch.setattr(uploads, "LIMIT", 1000)
    answer = client.post("/sheets/", {"file": SimpleUploadedFile("x.csv", b"x" * 2000)})
    assert answer.status_code == 413
    assert "larger than 1000" in answer.content.decode()
    assert client.post("/sheets/", {"file": SimpleUploadedFile("x.csv", b"x" * 100)}).status_code == 302


def test_a_sender_that_does_not_say_how_much_is_stopped_where_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LIMIT", 1000)
    with pytest.raises(RequestDataTooBig):
        uploads.Limit().handle_raw_input(None, {}, 1001, None)  # who says it is stopped at once
    handler = uploads.Limit()
    handler.handle_raw_input(None, {}, 0, None)
    handler.receive_data_chunk(b"x" * 900, 0)
    with pytest.raises(RequestDataTooBig):
        handler.receive_data_chunk(b"x" * 200, 900)


# Spreadsheets.


def workbook() -> dict[str, bytes]:
    book = Workbook()
    sheet = book.create_sheet("hands", 0)
    sheet.append(["shoe", "hand"])
    sheet.append([1, 1])
    out = io.BytesIO()
    book.save(out)
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def packed(parts: dict[str, bytes]) -> bytes:
    return archive(**{name.replace("/", "__"): content for name, content in parts.items()})


SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = b"<!DOCTYPE l [" + b"".join(
    b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10 if n else b"lol") for n in range(10)
)


def with_entity(part: bytes, entity: bytes, use: bytes) -> bytes:
    """The part with a document type that declares the entity, and with the entity in it."""
    head, _, rest = part.partition(b"?>") if part.startswith(b"<?xml") else (b"<?xml version='1.0'", b"", part)
    return head + b"?>" + entity + rest.replace(b"<v>1</v>", b"<v>" + use + b"</v>", 1)


@pytest.mark.parametrize(
    ("entity", "use"),
    [
        (LAUGHS + b"]>", b"&l9;"),
        (b'<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/passwd">]>', b"&f;"),
    ],
    ids=["bomb", "file"],
)
@pytest.mark.parametrize("part", [SHEET, "xl/workbook.xml"])
def test_entities_in_a_workbook_are_refused(part: str, entity: bytes, use: bytes) -> None:
    parts = workbook()
    parts[part] = with_entity(parts[part], entity, use)
    with pytest.raises(SheetError) as refused:
        read_book(packed(parts), "hands.xlsx")
    assert refused.value.code == "xlsx-broken"


@pytest.mark.parametrize("letters", ["utf-8", "utf-16", "utf-16-be"])
@pytest.mark.parametrize(
    "part", [SHEET, "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "docProps/app.xml", "odd.bin"]
)
def test_a_document_type_in_a_workbook_is_refused_whatever_it_declares(part: str, letters: str) -> None:
    parts = workbook()
    head = f"<?xml version='1.0' encoding='{letters.removesuffix('-be')}'?>"
    page = f"{head}<!-- {'x' * 100_000} --><!DOCTYPE sst><sst/>"
    parts[part] = (b"\xfe\xff" if letters == "utf-16-be" else b"") + page.encode(letters)
    with pytest.raises(SheetError) as refused:
        read_book(packed(parts), "hands.xlsx")
    assert refused.value.code == "xlsx-broken"


def test_a_workbook_without_one_is_read_with_its_pictures() -> None:
    parts = workbook() | {
        "xl/media/image1.png": PNG,
        "xl/empty.bin": b"",
        "xl/media/doctype.txt": b"<!DOCTYPE html>"[1:],
    }
    assert len(read_book(packed(parts), "hands.xlsx").rows) == 2


def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "UNPACKED_MEGABYTES", 3)
    parts = workbook()
    parts["xl/media/zeros.bin"] = bytes(4 * 2**20)
    content = packed(parts)
    assert len(content) < 2**16
    with pytest.raises(SheetError) as refused:
        read_book(content, "hands.xlsx")
    assert refused.value.code == "xlsx-too-large"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (SCRIPT, "hands.html"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "hands.svg"),
        (PNG, "hands.png"),
        (SCRIPT, "hands.xlsx"),
        (b"MZ\x90\0", "hands.exe"),
        (archive(run=b"x"), "hands.xlsx"),
        (archive(run=b"x"), "hands.csv"),
    ],
)
def test_what_is_no_sheet_is_refused(content: bytes, name: str) -> None:
    with pytest.raises(SheetError):
        read_book(content, name)


ROWS = "shoe,hand\n" + "1,1\n" * 3


@pytest.mark.parametrize(
    "content",
    [
        *(SCRIPT, PNG, b"%PDF-1.7\n1 0 obj", MP4, MOV, PHOTO, WEBM, ROWS.encode("utf-16-le"), ROWS.encode("utf-16-be")),
        *(b"\xff\xfe" + MP4, bytes(range(256)) * 9),
    ],
    ids=[
        *("page", "picture", "document", "clip", "film", "photograph", "web clip", "utf-16-le", "utf-16-be"),
        *("marked clip", "bytes"),
    ],
)
def test_what_is_something_else_is_no_csv_file_whatever_it_is_called(content: bytes) -> None:
    with pytest.raises(SheetError):
        read_book(content, "hands.csv")


@pytest.mark.parametrize("control", ["\0", "\x01", "\x1b", "\x7f"])
def test_a_character_that_no_text_has_is_named_with_its_row(control: str) -> None:
    with pytest.raises(SheetError) as refused:
        read_book(f"{ROWS * 400}1,{control}2\n".encode(), "hands.csv")
    assert (refused.value.code, refused.value.params["row"]) == ("csv-broken", 1601)
    assert f"U+{ord(control):04X}" in str(refused.value)


def test_utf_16_is_read_where_it_says_so_and_the_end_of_old_files_is_left_out() -> None:
    for encoding in ("", "utf-16"):
        assert len(read_book(ROWS.encode("utf-16"), "hands.csv", encoding=encoding).rows) == 4
    with pytest.raises(SheetError, match="utf-16"):
        read_book(ROWS.encode("utf-16-le"), "hands.csv", encoding="utf-16")
    assert read_book(f"{ROWS}\x1a".encode(), "hands.csv").rows[-1].cells == ("1", "1")

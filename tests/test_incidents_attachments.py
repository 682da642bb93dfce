"""Pictures and clips kept with an incident: known by their content, kept outside what is served, never changed."""

from __future__ import annotations

import hashlib
import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.test import Client

from dealing import triggers
from incidents import attachments, evidence
from incidents.evidence import do_attach_file
from incidents.models import IncidentAttachment
from incidents.review.sheet import sheet
from incidents.selectors import load_case
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.media import JPEG, MOV, MP4, PNG, WEBM, WEBP

pytestmark = pytest.mark.django_db

MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"
TABLE = IncidentAttachment._meta.db_table


@pytest.fixture(autouse=True)
def place(settings: Any, tmp_path: Path) -> Path:
    """Where the files of a test lie."""
    settings.VAR_DIR = tmp_path
    return tmp_path / "media" / "incidents"


@pytest.fixture
def here(table: MakeTable, people: People) -> House:
    house = House(table("B07"), people)
    house.record(MISPLACED)
    return house


def upload(content: bytes = PNG, name: str = "felt.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, content_type="text/html")  # what a browser says of it counts for nothing


def send(client: Client, here: House, who: Any, file: Any, caption: str = "") -> Any:
    client.force_login(who)
    data = {"caption": caption} if file is None else {"file": file, "caption": caption}
    return client.post(f"/incidents/{here.incident().pk}/attach/", data)


def error_at(response: Any, name: str) -> str:
    assert response.status_code == 422
    found = re.search(rf'id="id_{name}_error">(.*?)</div></div>', response.content.decode(), re.DOTALL)
    assert found, f"no error at {name}"
    return html.unescape(re.sub(r"<[^>]+>", " ", found.group(1))).strip()


def files(place: Path) -> list[Path]:
    return sorted(place.iterdir()) if place.exists() else []


def test_a_file_is_kept_and_handed_out_to_readers(client: Client, here: House, people: People, place: Path) -> None:
    response = send(client, here, people("supervisor"), upload(), "The felt after the hand")
    assert (response.status_code, response["Location"]) == (302, f"/incidents/{here.incident().pk}/")
    kept = IncidentAttachment.objects.get()
    assert (kept.name, kept.media_type, kept.size) == ("felt.png", "image/png", len(PNG))
    assert kept.sha256 == hashlib.sha256(PNG).hexdigest()
    assert re.fullmatch(r"[0-9a-f]{32}\.png", kept.stored)
    [path] = files(place)
    assert (path.name, path.read_bytes(), path.stat().st_mode & 0o777) == (kept.stored, PNG, 0o600)
    address = f"/incidents/{here.incident().pk}/attachments/{kept.pk}/"
    for group in ("recorder", "supervisor", "manager", "auditor"):
        client.force_login(people(group))
        page = client.get(f"/incidents/{here.incident().pk}/").content.decode()
        assert address in page
        assert "The felt after the hand" in page
        answer = client.get(address)
        assert b"".join(answer.streaming_content) == PNG  # type: ignore[attr-defined]  # a file is streamed
        assert answer["Content-Type"] == "image/png"
        assert answer["Content-Disposition"] == 'attachment; filename="felt.png"'
        assert answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("content", "name"),
    [(PNG, "x.png"), (JPEG, "x.jpg"), (WEBP, "x.webp"), (MP4, "x.mp4"), (MOV, "x.mov"), (WEBM, "x.webm")],
)
def test_what_is_taken_is_known_by_its_content(here: House, people: People, content: bytes, name: str) -> None:
    kept = do_attach_file(here.incident(), people("supervisor"), upload(content, "x.exe"))
    assert kept.name == name
    assert kept.stored.endswith(name[1:])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG",
        b"<html><script>alert(1)</script>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"GIF89a" + b"g" * 40,
        b"%PDF-1.7",
        b"PK\x03\x04" + b"z" * 40,
        b"RIFF\x24\x00\x00\x00WAVEfmt ",
        b"\x00\x00\x00\x18ftypM4A \x00\x00\x02\x00",
        b"\x00\x00\x00\x18ftypheic\x00\x00\x02\x00",
        b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x88matroska",
        b" " + PNG,
    ],
)
def test_nothing_else_is_taken_whatever_it_is_called(
    client: Client, here: House, people: People, place: Path, content: bytes
) -> None:
    response = send(client, here, people("manager"), upload(content, "felt.png"), "kept words")
    assert error_at(response, "file").startswith("This is no picture")
    assert "kept words" in response.content.decode()
    assert not IncidentAttachment.objects.exists()
    assert files(place) == []


def test_too_large_too_many_and_none(
    client: Client, here: House, people: People, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss = people("manager")
    assert error_at(send(client, here, boss, None), "file") == "Choose a file."
    small = attachments.Kind("image/png", ".png", 20)
    with monkeypatch.context() as patch:
        patch.setattr(attachments, "PNG", small)
        assert error_at(send(client, here, boss, upload()), "file").startswith("This is larger than 20")
    monkeypatch.setattr(evidence, "LIMIT", 1)
    assert send(client, here, boss, upload()).status_code == 302
    assert error_at(send(client, here, boss, upload()), "file") == "This incident has 1 files already."
    assert "at most 200" in error_at(send(client, here, boss, upload(), "c" * 201), "caption")
    assert len(files(place)) == IncidentAttachment.objects.count() == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd.png"),
        ("..\\..\\boot.ini", "boot.png"),
        ('a"b\r\nSet-Cookie: x.png', 'a"bSet-Cookie: x.png'),
        ("", "file.png"),
        ("...", "file.png"),
        ("โต๊ะ 7.png", "โต๊ะ 7.png"),
        ("n" * 300 + ".png", "n" * 116 + ".png"),
        ("\u202egnp.exe", "gnp.png"),
    ],
)
def test_names_are_made_harmless(given: str, kept: str) -> None:
    assert evidence.plain_name(given, attachments.PNG) == kept


@pytest.mark.parametrize("group", ["recorder", "auditor", None])
def test_only_supervisors_and_managers_attach(
    client: Client, here: House, people: People, place: Path, group: str | None
) -> None:
    assert send(client, here, people(group, "other"), upload()).status_code == 403
    with pytest.raises(PermissionDenied):
        do_attach_file(here.incident(), people(group, "other"), upload())
    assert files(place) == []


def test_who_may_not_read_gets_no_file(client: Client, here: House, people: People) -> None:
    kept = do_attach_file(here.incident(), people("supervisor"), upload())
    address = f"/incidents/{here.incident().pk}/attachments/{kept.pk}/"
    assert client.get(address).status_code == 302
    client.force_login(people(None))
    assert client.get(address).status_code == 403
    client.force_login(people("auditor"))
    assert client.get(f"/incidents/{here.incident().pk + 1}/attachments/{kept.pk}/").status_code == 404
    assert client.get(f"/media/incidents/{kept.stored}").status_code == 404
    assert client.get(f"/static/{kept.stored}").status_code == 404


def test_a_file_that_was_changed_or_lost_is_not_handed_out(
    client: Client, here: House, people: People, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = do_attach_file(here.incident(), people("supervisor"), upload())
    address = f"/incidents/{here.incident().pk}/attachments/{kept.pk}/"
    client.force_login(people("manager"))
    (place / kept.stored).write_bytes(JPEG)
    assert client.get(address).status_code == 404
    (place / kept.stored).unlink()
    assert client.get(address).status_code == 404
    assert caplog.text.count("missing or was changed") == 2


def test_row_and_file_are_kept_together_or_not_at_all(
    here: House, people: People, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_values: Any) -> None:
        raise IntegrityError

    monkeypatch.setattr(IncidentAttachment.objects, "create", refuse)
    with pytest.raises(IntegrityError):
        do_attach_file(here.incident(), people("supervisor"), upload())
    assert files(place) == []
    with pytest.raises(ValidationError):
        do_attach_file(here.incident(), people("supervisor"), upload(), "a\x00b")
    assert files(place) == []


def test_the_sheet_to_sign_names_the_files(here: House, people: People) -> None:
    kept = do_attach_file(here.incident(), people("supervisor"), upload())
    data = sheet(load_case(here.incident()))
    assert data["review_long"] == [["Attachments", f"felt.png ({kept.sha256[:12]})"]]


def test_an_attachment_is_never_changed_or_deleted(here: House, people: People) -> None:
    kept = do_attach_file(here.incident(), people("supervisor"), upload())
    for change in (kept.save, kept.delete):
        with pytest.raises(TypeError):
            change()
    assert triggers.missing(TABLE) == []
    for statement in (f"UPDATE {TABLE} SET sha256 = 'X'", f"DELETE FROM {TABLE}"):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

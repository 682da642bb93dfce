"""Files kept with an incident: what a file is by its content, and where it lies. No view reads or writes files itself.

The files lie under `VAR_DIR/media/incidents`, outside everything that is served as it stands, under random names; the
row beside says what it is and holds SHA-256 of it, so that a file that was changed is found out.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import warnings
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final

from django.conf import settings
from PIL import Image

MEGABYTE: Final = 1024 * 1024


@dataclass(frozen=True)
class Kind:
    """A kind of file that is taken: its media type, the ending it is given, and how large it may be, in bytes."""

    media_type: str
    ending: str
    limit: int


JPEG: Final = Kind("image/jpeg", ".jpg", 10 * MEGABYTE)
PNG: Final = Kind("image/png", ".png", 10 * MEGABYTE)
WEBP: Final = Kind("image/webp", ".webp", 10 * MEGABYTE)
MP4: Final = Kind("video/mp4", ".mp4", 60 * MEGABYTE)
QUICKTIME: Final = Kind("video/quicktime", ".mov", 60 * MEGABYTE)
WEBM: Final = Kind("video/webm", ".webm", 60 * MEGABYTE)
KINDS: Final = {kind.media_type: kind for kind in (JPEG, PNG, WEBP, MP4, QUICKTIME, WEBM)}

#: The brands of ISO media files that hold video; images (HEIC, AVIF) and sound alone have others.
_VIDEO_BRANDS: Final = frozenset(
    (b"isom", b"iso2", b"iso3", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"MSNV", b"M4V ", b"dash")
)


def kind_of(head: bytes) -> Kind | None:
    """What a file is that begins with these bytes (64 are enough), whatever it is called; None for all others."""
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return PNG
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return WEBP
    if head[4:8] == b"ftyp":
        return QUICKTIME if head[8:12] == b"qt  " else MP4 if head[8:12] in _VIDEO_BRANDS else None
    if head.startswith(b"\x1a\x45\xdf\xa3") and b"webm" in head[:64]:
        return WEBM
    return None


#: How a file begins that a browser or a reader of PDF would take for something else, whatever is said of it.
_FOREIGN: Final = re.compile(rb"<!doctype|<html|<head|<body|<script|<iframe|<svg|<\?php|%pdf-|#!/", re.IGNORECASE)
#: The parts that an ISO media file (MP4, MOV) is made of on the outermost level.
_BOXES: Final = frozenset(
    (
        b"ftyp",
        b"styp",
        b"moov",
        b"moof",
        b"mfra",
        b"mdat",
        b"free",
        b"skip",
        b"wide",
        b"pnot",
        b"sidx",
        b"meta",
        b"uuid",
    )
)
_SEGMENT: Final = b"\x18\x53\x80\x67"


def sound(file: IO[bytes], kind: Kind) -> bool:
    """Whether a file that begins as this kind is one from end to end, and is not a web page or an archive besides.

    The file is not made anew: evidence stays as it was handed in, byte by byte.
    """
    file.seek(0)
    if _FOREIGN.search(file.read(1024)) or zipfile.is_zipfile(file):
        return False
    file.seek(0)
    if kind.media_type.startswith("image/"):
        return _is_picture(file, kind)
    return _is_webm(file) if kind is WEBM else _is_iso_media(file)


#: So many points a picture may have that is unpacked as a whole; a screen of the largest kind has 33 million.
_POINTS: Final = 50_000_000


def _is_picture(file: IO[bytes], kind: Kind) -> bool:
    """Whether every point of it can be drawn, and nothing stands behind it that does not belong there."""
    try:
        with warnings.catch_warnings():
            # A picture of so many points that opening it would fill a machine's memory.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file, formats=("JPEG", "PNG", "WEBP")) as picture:
                picture.verify()
            file.seek(0)
            with Image.open(file, formats=("JPEG", "PNG", "WEBP")) as picture:
                width, height = picture.size
                if kind is JPEG:  # all of it is read, and an eighth of each side kept
                    picture.draft(None, (width // 8, height // 8))
                elif width * height > _POINTS:
                    return False
                picture.load()
        file.seek(0)
        return _ends(file.read(), kind)
    except Exception:  # noqa: BLE001  # a file made by hand can break the library anywhere: it is no picture
        return False


def _ends(data: bytes, kind: Kind) -> bool:
    """Whether a picture ends where its file does. Raises IndexError where it is cut off."""
    if kind is PNG:
        at = 8
        while data[at + 4 : at + 8] != b"IEND":
            at += 12 + int.from_bytes(data[at : at + 4], "big")
            data[at]
        return len(data) == at + 12
    if kind is WEBP:
        size = 8 + int.from_bytes(data[4:8], "little")
        return len(data) == size + size % 2
    at = _end_of_jpeg(data, 0)
    # Behind a photograph phones put others (a smaller one, one of its depth), a clip, or what their maker keeps there.
    while data.startswith(b"\xff\xd8\xff", at):
        at = _end_of_jpeg(data, at)
    rest = data[at:].strip(b"\0")
    if not rest or (rest.endswith(b"SEFT") and b"SEFH" in rest and not _FOREIGN.search(rest)):
        return True
    return data[at + 4 : at + 8] == b"ftyp" and _is_iso_media(io.BytesIO(data[at:]))


_MARKER: Final = re.compile(rb"\xff+[^\xff\0\xd0-\xd7]", re.DOTALL)


def _end_of_jpeg(data: bytes, at: int) -> int:
    """Where the JPEG that begins at `at` ends: segment by segment. Raises IndexError where it is cut off."""
    at += 2
    while True:
        # Between segments stands nothing, and after the head of a scan what was scanned: no marker is in it.
        marker = _MARKER.search(data, at)
        if marker is None:
            raise IndexError(at)
        at = marker.end()
        if data[at - 1] == 0xD9:
            return at
        at += int.from_bytes(data[at : at + 2], "big")
        data[at]


def _is_iso_media(file: IO[bytes]) -> bool:
    """Boxes one after the other, up to the very end; one of them says what there is to see."""
    end = file.seek(0, os.SEEK_END)
    at, names = 0, set()
    while at < end:
        file.seek(at)
        head = file.read(16)
        size, name = int.from_bytes(head[:4], "big"), head[4:8]
        if size == 1:
            size = int.from_bytes(head[8:16], "big")
        elif size == 0:
            size = end - at
        if name not in _BOXES or size < 8 or at + size > end:
            return False
        names.add(name)
        at += size
    return bool(names & {b"moov", b"moof"})


def _is_webm(file: IO[bytes]) -> bool:
    """A head and then the one segment that holds everything; it may leave its length open."""
    head = file.read(64)
    first, length = head[4], 1
    while length <= 8 and not first & (1 << (8 - length)):
        length += 1
    size = int.from_bytes(head[4 : 4 + length], "big") & ((1 << (7 * length)) - 1)
    file.seek(4 + length + size)
    return file.read(4) == _SEGMENT


def folder() -> Path:
    """Where the files lie."""
    return Path(settings.VAR_DIR) / "media" / "incidents"


@dataclass(frozen=True)
class Stored:
    """A file that was written."""

    name: str
    size: int
    sha256: str


def store(chunks: Iterable[bytes], kind: Kind) -> Stored:
    """Write a file under a random name, readable by the server's own user alone, and have it on the disk."""
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    name = secrets.token_hex(16) + kind.ending
    digest, size = hashlib.sha256(), 0
    path = folder() / name
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        discard(name)
        raise
    return Stored(name, size, digest.hexdigest())


def discard(name: str) -> None:
    """Take back a file whose row could not be kept."""
    (folder() / name).unlink(missing_ok=True)


def open_checked(name: str, sha256: str) -> BinaryIO | None:
    """The file, open at its beginning; None where it is missing or is not what was stored."""
    try:
        file = (folder() / name).open("rb")
    except OSError:
        return None
    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
        file.close()
        return None
    file.seek(0)
    return file

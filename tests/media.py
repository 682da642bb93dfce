"""Small pictures and clips that are what they say, for tests that upload some."""

from __future__ import annotations

import io
from typing import Final

from PIL import Image


def picture(kind: str, size: tuple[int, int] = (8, 8)) -> bytes:
    """A grey picture: PNG, JPEG, WEBP, GIF, …"""
    out = io.BytesIO()
    Image.new("RGB", size, "grey").save(out, kind)
    return out.getvalue()


def box(name: bytes, content: bytes = b"") -> bytes:
    """A box of an ISO media file."""
    return (8 + len(content)).to_bytes(4, "big") + name + content


PNG: Final = picture("PNG")
JPEG: Final = picture("JPEG")
WEBP: Final = picture("WEBP")
MP4: Final = box(b"ftyp", b"isom\0\0\2\0isommp41") + box(b"free") + box(b"mdat", b"m" * 40) + box(b"moov", b"v" * 40)
MOV: Final = box(b"ftyp", b"qt  \0\0\2\0qt  ") + box(b"wide") + box(b"mdat", b"q" * 40) + box(b"moov", b"v" * 40)
WEBM: Final = (
    b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm\x42\x87\x81\x04"
    b"\x42\x85\x81\x02\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" + b"e" * 40
)

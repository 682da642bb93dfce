"""The hash chain of a table's log.

Each row's hash is the SHA-256, as 64 lower-case hex digits, of these UTF-8 bytes::

    <hash of the row before> LF <canonical JSON>

where the row before the first is `dealing.models.genesis_hash(table code)`, LF is one line feed, and the canonical JSON
is the object ``{"actor":…,"payload":…,"recorded_at":…,"seq":…}``: keys in that order, no spaces, non-ASCII characters
as themselves. `payload` is the log line as a JSON *string*, so its own bytes are covered; `recorded_at` is UTC with six
decimals, as ``2026-11-30T13:00:00.123456+00:00``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec

_encode: Final = msgspec.json.Encoder().encode


def row_hash(prev_hash: str, seq: int, payload: str, actor: str, recorded_at: dt.datetime) -> str:
    """The hash of one row, hanging on the hash of the row before. `recorded_at` is aware."""
    return hasher(actor, recorded_at)(prev_hash, seq, payload)


def chained_line(seq: int, payload: str, actor: str, recorded_at: dt.datetime) -> str:
    """The canonical JSON of a row: what stands after the line feed in the bytes that are hashed."""
    moment = recorded_at.astimezone(dt.UTC).isoformat(timespec="microseconds")
    return _encode({"actor": actor, "payload": payload, "recorded_at": moment, "seq": seq}).decode()


@lru_cache(maxsize=64)
def hasher(actor: str, recorded_at: dt.datetime) -> Callable[[str, int, str], str]:
    """:func:`row_hash` for the rows of one import: of the hash before, the position and the payload."""
    moment = recorded_at.astimezone(dt.UTC).isoformat(timespec="microseconds")
    before = b'\n{"actor":%s,"payload":' % _encode(actor)
    after = b',"recorded_at":%s,"seq":' % _encode(moment)
    encode, digest = _encode, sha256

    def hashed(prev_hash: str, seq: int, payload: str) -> str:
        return digest(b"%s%s%s%s%d}" % (prev_hash.encode(), before, encode(payload), after, seq)).hexdigest()

    return hashed

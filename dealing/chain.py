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
from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec

_encode: Final = msgspec.json.Encoder().encode


def row_hash(prev_hash: str, seq: int, payload: str, actor: str, recorded_at: dt.datetime) -> str:
    """The hash of one row, hanging on the hash of the row before. `recorded_at` is aware."""
    before, after = _around(actor, recorded_at)
    return sha256(b"%s\n%s%s%s%d}" % (prev_hash.encode(), before, _encode(payload), after, seq)).hexdigest()


@lru_cache(maxsize=64)
def _around(actor: str, recorded_at: dt.datetime) -> tuple[bytes, bytes]:
    """What stands before and after the payload, but for the position: the same for all rows of an import."""
    moment = recorded_at.astimezone(dt.UTC).isoformat(timespec="microseconds")
    return b'{"actor":%s,"payload":' % _encode(actor), b',"recorded_at":%s,"seq":' % _encode(moment)

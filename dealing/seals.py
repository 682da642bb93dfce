"""The seal of a row: what shows that the application wrote it, at this position, at this time, after that row.

Who has all rights on the database can change rows and make the hash chain fit again: hashes need no secret. A seal does
(`dealing.seal_keys`). It is this text::

    <id of the key>.<position>.<time of recording>.<content>.<link>

The time is microseconds since 1970, UTC. `content` and `link` are MACs (HMAC-SHA256, 128 bits, as hex) of these bytes,
LF one line feed::

    content  row LF <scope> LF <position> LF <time> LF <actor as JSON> LF <payload>
    link     link LF <content> LF <seal of the row before; its hash where it has none>

`scope` is the log that the row belongs to, as ``table B07``. Position and time stand in the seal, covered by `content`:
so a genuine row that was moved still says where it stood, one that was back-dated when it was recorded, and both are
told from a row whose line is not genuine. `link` ties each row to the one before: no row can be left out, and rows of
two histories (a database set back and gone on with) do not fit each other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from dealing.seal_keys import Key, Ring

_encode: Final = msgspec.json.Encoder().encode
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)

Sealing = Callable[[str, int, str], str]


def sealer(key: Key, scope: str, actor: str, recorded_at: dt.datetime) -> Sealing:
    """What seals rows recorded together: of the seal (or hash) of the row before, the position and the payload."""
    stamp, mac, kid = _stamp(recorded_at), key.mac, key.id
    before, after = f"row\n{scope}\n".encode(), b"\n%d\n%s\n" % (stamp, _encode(actor))

    def sealed(previous: str, seq: int, payload: str) -> str:
        content = mac(b"%s%d%s%s" % (before, seq, after, payload.encode()))
        link = mac(b"link\n%s\n%s" % (content.encode(), previous.encode()))
        return f"{kid}.{seq}.{stamp}.{content}.{link}"

    return sealed


def _stamp(at: dt.datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


class Sealed(Protocol):
    """A row as it is stored."""

    @property
    def seq(self) -> int: ...
    @property
    def payload(self) -> str: ...
    @property
    def prev_hash(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def actor(self) -> str: ...
    @property
    def recorded_at(self) -> dt.datetime: ...
    @property
    def seal(self) -> str | None: ...


class Seal(NamedTuple):
    """A seal read."""

    key: str
    seq: int
    stamp: int
    content: str
    link: str

    @property
    def recorded_at(self) -> dt.datetime:
        """The time of recording that was sealed. Raises OverflowError for one that no seal of ours has."""
        return _EPOCH + self.stamp * _MICROSECOND


def read(text: str | None) -> Seal | None:
    """A seal from its text; None where it is none."""
    try:
        key, seq, stamp, content, link = (text or "").split(".")
        return Seal(key, int(seq), int(stamp), content, link)
    except ValueError:
        return None


class Looked(NamedTuple):
    """What the seal of a row says of it. `seal` None: it has none, or none that can be read.

    `genuine`: its line and who recorded it are what was sealed, at the position and time that the seal names.
    `key_there`: whether the seal's key is here; without it nothing is known.
    """

    seal: Seal | None
    genuine: bool
    key_there: bool = True


def look(ring: Ring, scope: str, row: Sealed) -> Looked:
    """Whether a row is genuine, wherever it stands."""
    seal = read(row.seal)
    if seal is None:
        return Looked(None, False)
    key = ring.get(seal.key)
    if key is None:
        return Looked(seal, False, False)
    text = b"row\n%s\n%d\n%d\n%s\n%s" % (scope.encode(), seal.seq, seal.stamp, _encode(row.actor), row.payload.encode())
    return Looked(seal, key.mac(text) == seal.content)


def follows(ring: Ring, seal: Seal, previous: str) -> bool:
    """Whether a seal was made right after the row whose seal (or hash) is `previous`."""
    key = ring.get(seal.key)
    return key is not None and key.mac(f"link\n{seal.content}\n{previous}".encode()) == seal.link


class Start(NamedTuple):
    """Up to which position rows are older than the seals, and the hash there: itself sealed."""

    seq: int = 0
    hash: str = ""


class SealWalk:
    """Checks the seals of one log, whose rows it is given in order; what is wrong with a row is said in English.

    `ring` None: nothing can be checked, and `unchecked` counts what was not. `known`: the row before the first one is
    known to be none, and else it is whatever it is. A row may have no seal up to `start`.
    """

    def __init__(self, scope: str, ring: Ring | None, start: Start, known: bool = True) -> None:
        self.scope = scope
        self.ring = ring
        self.start = start
        self.unchecked = 0
        self._previous: str | None = "" if known else None

    def problem(self, row: Sealed) -> str | None:
        """What is wrong with the next row, if anything is."""
        previous, self._previous = self._previous, row.seal or row.hash
        if row.seq == self.start.seq and row.hash != self.start.hash:
            return "its hash is not the one that it had when sealing began"
        if row.seal is None:
            return None if row.seq <= self.start.seq else "has no seal"
        if self.ring is None:
            self.unchecked += 1
            return None
        looked = look(self.ring, self.scope, row)
        if not looked.key_there:
            return None if row.seq <= self.start.seq else _unknown(looked)
        if not looked.genuine or looked.seal is None:
            return "its seal does not match its content"
        if looked.seal.seq != row.seq:
            return f"was sealed as position {looked.seal.seq}"
        if looked.seal.stamp != _stamp(row.recorded_at):
            return back_dated(looked.seal)
        if previous is None:
            return None
        return None if follows(self.ring, looked.seal, previous or row.prev_hash) else APART


APART: Final = "its seal was not made after the row before"


def back_dated(seal: Seal) -> str:
    """What is said of a genuine row with another time of recording."""
    return (
        f"its time of recording was changed; it was recorded at {seal.recorded_at.isoformat(timespec='microseconds')}"
    )


def is_back_dated(seal: Seal, row: Sealed) -> bool:
    """Whether the time of recording is not the sealed one."""
    return seal.stamp != _stamp(row.recorded_at)


def _unknown(looked: Looked) -> str:
    return f"is sealed with key {looked.seal.key if looked.seal else ''}, which is not among the keys here"


# --- where sealing began ---------------------------------------------------------------------------------------------


def seal_start(key: Key, scope: str, seq: int, row_hash: str, actor: str, at: dt.datetime) -> str:
    """The seal of where sealing began: of the position and hash of the last row before."""
    return sealer(key, f"start {scope}", actor, at)("", seq, row_hash)


def read_start(ring: Ring | None, scope: str, rows: Any) -> Start:
    """Up to where rows are older than the seals: by the last genuine one of the log's `SealStart` rows."""
    start = Start()
    if ring is None:  # nothing can be checked, and nobody accused
        return max((Start(row.seq, row.hash) for row in rows), default=start)
    for row in rows:
        seal = read(row.seal)
        key = ring.get(seal.key) if seal is not None else None
        if key is None or row.seal != seal_start(key, scope, row.seq, row.hash, row.actor, row.recorded_at):
            continue
        start = max(start, Start(row.seq, row.hash))
    return start

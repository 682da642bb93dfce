"""A closer look at a log in which something is wrong: which rows were changed, taken out, put in, moved, back-dated.

Read are the seals alone (`dealing.seals`): whatever was done to hashes and positions to make it fit again, a genuine
row still says where it stood and when it was recorded. Rows that kept their order are told from those that did not by
the longest increasing run of these positions; what no genuine row stands for was taken out, or is under another.

What the seals do not cover (columns beside the line, the hashes themselves) is looked at after them (`Closer`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Final, Protocol

from dealing import seals
from dealing.chain import row_hash
from dealing.seal_keys import Ring
from dealing.seals import APART, Sealed, Start

_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Trace:
    """Something that was done to a log. `seq`: the position as it is now; of rows that are gone, as it was."""

    CHANGED: ClassVar[str] = "changed"
    MISSING: ClassVar[str] = "missing"
    INSERTED: ClassVar[str] = "inserted"
    MOVED: ClassVar[str] = "moved"
    BACK_DATED: ClassVar[str] = "back-dated"
    UNSEALED: ClassVar[str] = "unsealed"
    APART: ClassVar[str] = "apart"

    seq: int
    kind: str
    text: str
    #: How many rows it is said of, from `seq` on.
    rows: int = 1


@dataclass(slots=True)
class _Rows:
    """What is known of the rows with a place in the sealed part, by index."""

    seqs: list[int] = field(default_factory=list)
    #: Where a genuine row stood; None for one that is not.
    origins: list[int | None] = field(default_factory=list)
    #: Where a row that is not genuine says it stood, or a key that is not here does.
    claims: dict[int, int] = field(default_factory=dict)
    unsealed: set[int] = field(default_factory=set)
    unknown: dict[int, str] = field(default_factory=dict)
    back_dated: dict[int, str] = field(default_factory=dict)
    #: Rows whose seal was not made after the row that stands before them.
    apart: set[int] = field(default_factory=set)


def examine(scope: str, rows: Iterable[Sealed], ring: Ring, start: Start) -> list[Trace]:
    """All that was done to a log, by position. `rows`: of the whole log, in order."""
    found: list[Trace] = []
    known = _read(scope, rows, ring, start, found)
    in_place = _in_place(known.origins)
    found += _moved(known, in_place)
    found += _gaps(known, in_place, start.seq)
    found += [Trace(known.seqs[at], Trace.BACK_DATED, text) for at, text in known.back_dated.items()]
    order = sorted(in_place)
    for before, at in pairwise(order):
        if at == before + 1 and at in known.apart and known.origins[at] == (known.origins[before] or 0) + 1:
            found.append(Trace(known.seqs[at], Trace.APART, APART))
    found.sort(key=lambda trace: trace.seq)
    return sorted(runs(found), key=lambda trace: trace.seq)


def _read(scope: str, rows: Iterable[Sealed], ring: Ring, start: Start, found: list[Trace]) -> _Rows:
    known, previous, older, older_hash = _Rows(), "", 0, ""
    begun = start.seq == 0
    for row in rows:
        before, previous = previous, row.seal or row.hash
        looked = seals.look(ring, scope, row)
        if not begun:
            # The older rows are those before the first that has a seal of now, and no more than there were.
            if older < start.seq and not (looked.genuine and looked.seal is not None and looked.seal.seq > start.seq):
                older, older_hash = older + 1, row.hash
                continue
            begun = True
        at = len(known.seqs)
        known.seqs.append(row.seq)
        known.origins.append(looked.seal.seq if looked.genuine and looked.seal is not None else None)
        if looked.seal is None:
            known.unsealed.add(at)
        elif not looked.genuine:
            known.claims[at] = looked.seal.seq
            if not looked.key_there:
                known.unknown[at] = looked.seal.key
        else:
            if seals.is_back_dated(looked.seal, row):
                known.back_dated[at] = seals.back_dated(looked.seal)
            if not seals.follows(ring, looked.seal, before or row.prev_hash):
                known.apart.add(at)
    if older != start.seq:
        text = f"of {start.seq} rows that are older than the seals there are {older}"
        found.append(Trace(start.seq, Trace.MISSING, text))
    elif start.seq and older_hash != start.hash:
        text = "the rows up to here are older than the seals, and not those that there were when sealing began"
        found.append(Trace(start.seq, Trace.CHANGED, text))
    return known


def _in_place(origins: list[int | None]) -> set[int]:
    """The indexes of the longest run of genuine rows whose positions increase."""
    tails: list[int] = []
    ends: list[int] = []
    before: dict[int, int] = {}
    for at, origin in enumerate(origins):
        if origin is None:
            continue
        length = bisect_left(tails, origin)
        if length:
            before[at] = ends[length - 1]
        if length == len(tails):
            tails.append(origin)
            ends.append(at)
        else:
            tails[length], ends[length] = origin, at
    found: set[int] = set()
    if ends:
        last: int | None = ends[-1]
        while last is not None:
            found.add(last)
            last = before.get(last)
    return found


def _moved(known: _Rows, in_place: set[int]) -> Iterator[Trace]:
    """Genuine rows that do not stand where they stood, and those that stand there twice."""
    kept = {known.origins[at] for at in in_place}
    index = {seq: at for at, seq in enumerate(known.seqs)}
    told: set[int] = set()
    for at, origin in enumerate(known.origins):
        if origin is None or at in in_place or at in told:
            continue
        seq = known.seqs[at]
        if origin in kept:
            yield Trace(
                seq, Trace.INSERTED, f"was inserted: it is a copy of the row that was sealed as position {origin}"
            )
            continue
        kept.add(origin)
        other = index.get(origin)
        if other is not None and known.origins[other] == seq:
            told.add(other)
            first, second = sorted((seq, origin))
            yield Trace(first, Trace.MOVED, f"was swapped with position {second}")
        else:
            yield Trace(seq, Trace.MOVED, f"was moved here: it was sealed as position {origin}")


def _gaps(known: _Rows, in_place: set[int], start: int) -> Iterator[Trace]:
    """What stands, or is missing, between genuine rows in their order."""
    somewhere = {origin for origin in known.origins if origin is not None}
    order = sorted(in_place)
    last_origin, last_at = start, -1
    for at in [*order, None]:
        until = len(known.seqs) if at is None else at
        strangers = [n for n in range(last_at + 1, until) if known.origins[n] is None]
        if at is None:  # after the last genuine row: what strangers say they were, as far as that goes on
            claims = sorted({known.claims[n] for n in strangers if n in known.claims})
            lost = [n for n in claims if n > last_origin and n not in somewhere]
        else:
            lost = [n for n in range(last_origin + 1, known.origins[at] or 0) if n not in somewhere]
        yield from _between(known, strangers, lost, last_at, until)
        if at is not None:
            last_origin, last_at = known.origins[at] or 0, at


def _between(known: _Rows, strangers: list[int], lost: list[int], last_at: int, until: int) -> Iterator[Trace]:
    """Rows that are not genuine stand for rows that are not there: first for those that they say they are."""
    stands: dict[int, int] = {}
    left = dict.fromkeys(lost)
    for at in strangers:
        if known.claims.get(at) in left:
            stands[at] = known.claims[at]
            del left[known.claims[at]]
    for at in strangers:
        if at not in stands and left:
            stands[at] = next(iter(left))
            del left[stands[at]]
    for at in strangers:
        seq, was = known.seqs[at], stands.get(at)
        if at in known.unknown:
            text = f"is sealed with key {known.unknown[at]}, which is not among the keys here"
            yield Trace(seq, Trace.UNSEALED, text)
        elif was is None:
            why = "it has no seal" if at in known.unsealed else "its seal is not genuine"
            yield Trace(seq, Trace.INSERTED, f"was inserted: {why}")
        else:
            aside = "" if was == seq else f" (it was position {was})"
            what = (
                "was replaced, and has no seal" if at in known.unsealed else "its line, or who recorded it, was changed"
            )
            yield Trace(seq, Trace.CHANGED, f"{what}{aside}")
    after = known.seqs[last_at] if last_at >= 0 else 0
    before = known.seqs[until] if until < len(known.seqs) else None
    for was in left:
        where = (
            f"after what is now position {after}"
            if before is None
            else (
                f"between what are now positions {after} and {before}"
                if after
                else f"before what is now position {before}"
            )
        )
        yield Trace(was, Trace.MISSING, f"is missing: it stood {where}")


@dataclass(slots=True)
class _Run:
    """The same of rows on end: the first of them, and how many there are."""

    rows: int = 0
    listed: list[Trace] = field(default_factory=list)

    def said(self) -> Iterator[Trace]:
        if self.rows <= _LISTED:
            yield from self.listed
        else:
            first = self.listed[0]
            text = f"{first.text}; so it is with each up to position {first.seq + self.rows - 1}"
            yield Trace(first.seq, first.kind, text, self.rows)


def runs(found: Iterable[Trace]) -> Iterator[Trace]:
    """The same of many rows on end is said once. `found`: by position; what is said is so for each kind."""
    open_: dict[str, _Run] = {}
    for one in found:
        run = open_.get(one.kind)
        if run is not None and one.seq != run.listed[0].seq + run.rows:
            yield from run.said()
            run = None
        if run is None:
            run = open_[one.kind] = _Run()
        run.rows += 1
        if run.rows <= _LISTED:
            run.listed.append(one)
    for run in open_.values():
        yield from run.said()


#: What may be wrong with a row as it is stored, where others need to know of it: a gap before it, another table's line,
#: the hash of the row before, its own, a time before that of the row before.
GAP, TABLE, LINK, HASH, TIME = "gap", "table", "link", "hash", "time"
#: Up to here rows have no seals, where no seal can be checked.
NEVER: Final = 2**62


class Looking(Protocol):
    """Goes along the rows of a log as they are stored. `seq`: the position of the last."""

    seq: int

    def look(self, row: Any) -> list[tuple[str, str]]:
        """All that is wrong with the next row, in kinds and words."""


class Closer:
    """What is to be said of the rows of a log beside `traces`, which is what the seals say: nothing that merely follows
    from that, or from what was done to the row before. `start`: up to where rows are older than the seals.
    """

    def __init__(self, walk: Looking, traces: Iterable[Trace], start: int) -> None:
        self._walk, self._start = walk, start
        self._told = _Spans(one for one in traces if one.kind != Trace.MISSING)
        self._missing = _Spans(one for one in traces if one.kind == Trace.MISSING)
        #: Of the row before: whether the seals say something of it, and whether its hash is wrong.
        self._touched = self._hash_wrong = False

    def look(self, row: Sealed) -> Iterator[Trace]:
        """What is wrong with the next row."""
        due, found = self._walk.seq + 1, self._walk.look(row)
        told = row.seq in self._told
        seal = seals.read(row.seal) if row.seq > self._start else None
        elsewhere = seal is not None and (seal.seq != row.seq or seals.is_back_dated(seal, row))
        touched_before, hash_before = self._touched, self._hash_wrong
        self._touched, self._hash_wrong, linked = told or elsewhere, False, False
        for kind, text in found:
            if kind == GAP:
                if due not in self._missing:
                    yield Trace(due, kind, text)
                continue
            if kind in (LINK, TIME):
                if self._touched or touched_before or (kind == LINK and hash_before):
                    continue
                linked = linked or kind == LINK
            if kind == HASH:
                if told or (seal is not None and elsewhere and _hashed_as_sealed(row, seal)):
                    continue
                self._hash_wrong = True
                if linked:  # the hash is over the previous one too
                    continue
            yield Trace(row.seq, kind, text)


def _hashed_as_sealed(row: Sealed, seal: seals.Seal) -> bool:
    """Whether the hash is that of the row where it stood, when it was recorded."""
    return row.hash == row_hash(row.prev_hash, seal.seq, row.payload, row.actor, seal.recorded_at)


class _Spans:
    """The positions that traces are about."""

    def __init__(self, traces: Iterable[Trace]) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for one in sorted(traces, key=lambda trace: trace.seq):
            last = one.seq + one.rows - 1
            if self._lasts and one.seq <= self._lasts[-1] + 1:
                self._lasts[-1] = max(self._lasts[-1], last)
            else:
                self._firsts.append(one.seq)
                self._lasts.append(last)

    def __contains__(self, seq: int) -> bool:
        at = bisect_right(self._firsts, seq) - 1
        return at >= 0 and seq <= self._lasts[at]

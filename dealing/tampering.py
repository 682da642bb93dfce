"""A closer look at a log in which something is wrong: which rows were changed, taken out, put in, moved, back-dated.

Read are the seals alone (`dealing.seals`): whatever was done to hashes and positions to make it fit again, a genuine
row still says where it stood and when it was recorded. Rows that kept their order are told from those that did not by
the longest increasing run of these positions; what no genuine row stands for was taken out, or is under another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Final

from dealing import seals
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
    return list(_runs(found))


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


def _runs(found: list[Trace]) -> Iterator[Trace]:
    """The same of many rows on end is said once."""
    at = 0
    while at < len(found):
        first, end = found[at], at + 1
        while end < len(found) and (found[end].seq, found[end].kind) == (found[end - 1].seq + 1, first.kind):
            end += 1
        if end - at <= _LISTED:
            yield from found[at:end]
        else:
            text = f"{first.text}; so it is with each up to position {found[end - 1].seq}"
            yield Trace(first.seq, first.kind, text)
        at = end

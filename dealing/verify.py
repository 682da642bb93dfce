"""Walks the hash chain and the seals of a table's log, and names the rows that are not as they were written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple

from django.db import connection
from django.db.models import Max
from django.utils import timezone

from dealing import seal_keys, triggers
from dealing.chain import row_hash
from dealing.models import ChainWalk, Table, TableEvent, genesis_hash
from dealing.rules.events import Event, EventError, format_time, parse_canonical, parse_line
from dealing.sealing import scope_of, start_of
from dealing.seals import SealWalk, Start
from dealing.tampering import GAP, HASH, LINK, NEVER, TABLE, TIME, Closer, Trace, examine, runs

CHUNK = 2000


class Row(NamedTuple):
    """A row of the log, read without making an instance of its model."""

    seq: int
    payload: str
    prev_hash: str
    hash: str
    actor: str
    recorded_at: dt.datetime
    shoe_number: int
    hand_number: int | None
    name: str
    at: dt.datetime
    key: str | None
    by: str
    seal: str | None


def read_rows(table_id: int, first: int, last: int) -> Iterator[list[Row]]:
    """The rows from position `first` to `last` in order, a chunk at a time."""
    read = _read_postgresql if connection.vendor == "postgresql" else _read_rows
    while first <= last:
        chunk = read(table_id, first, last)
        if not chunk:
            return
        yield chunk
        first = chunk[-1].seq + 1


def _read_rows(table_id: int, first: int, last: int) -> list[Row]:
    rows = TableEvent.objects.filter(table_id=table_id, seq__gte=first, seq__lte=last).order_by("seq")
    return list(map(Row._make, rows.values_list(*Row._fields)[:CHUNK]))


#: Times as text: reading them that way costs a tenth of what the driver's own way does.
_SELECT: Final = (
    "SELECT seq, payload, prev_hash, hash, actor, recorded_at::text, shoe_number, hand_number, name, at::text, key, "
    "by, seal FROM dealing_tableevent WHERE table_id = %s AND seq >= %s AND seq <= %s ORDER BY seq LIMIT %s"
)
_time = dt.datetime.fromisoformat
#: Rows that were recorded together have the same time.
_same_time: Final = lru_cache(maxsize=64)(dt.datetime.fromisoformat)


def _read_postgresql(table_id: int, first: int, last: int) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, [table_id, first, last, CHUNK])
        return [
            Row(seq, payload, before, hashed, actor, _same_time(recorded), shoe, hand, name, _time(at), key, by, seal)
            for seq, payload, before, hashed, actor, recorded, shoe, hand, name, at, key, by, seal in cursor.fetchall()
        ]


@dataclass(frozen=True, slots=True)
class Broken:
    """Where a log is not what was recorded. `seq`: the first broken position; None where no single row is to blame."""

    table: str
    seq: int | None
    problem: str
    #: The rows are what was recorded, and only the triggers are not there.
    unguarded: bool = False

    def __str__(self) -> str:
        where = self.table if self.seq is None else f"{self.table} position {self.seq}"
        return f"{where}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Verified:
    """What a walk found: how many rows were walked, the hash of the last, and the first break if there is one.

    `problems`: all that is wrong, where that was asked for. `older`: up to which position rows are older than the
    seals; `unchecked`: how many seals could not be checked, for want of the key.

    A log cut short at its end *together with* the head on its table's row is still a whole chain: the signed heads
    (`incidents.trail`) are there to notice that.
    """

    table: str
    events: int
    head: str
    broken: Broken | None
    problems: tuple[Broken, ...] = ()
    older: int = 0
    unchecked: int = 0


class Walk:
    """Goes along a table's rows, which it is given in order, from after position `seq`, whose hash is `previous`.

    `previous` None: the first row is not held against the one before. `seals`: checks these too. `broken` is the first
    break; rows after it are read, and no longer checked.
    """

    def __init__(self, code: str, seq: int = 0, previous: str | None = None, seals: SealWalk | None = None) -> None:
        self.code = code
        self.seq = seq
        self.previous = genesis_hash(code) if seq == 0 else previous
        self.broken: Broken | None = None
        #: Why the last row could not be read, where it could not.
        self.error: EventError | None = None
        self._last_at: dt.datetime | None = None
        self._seals = seals
        self._recorded_at: dt.datetime | None = None

    def take(self, row: Row) -> Event | None:
        """Check the next row; the event it holds, or None with `error` where its line cannot be read."""
        event = parse_canonical(row.payload)
        parsed = self._read(row) if event is None else event
        if self.broken is None:
            problem: str | None = None
            if not self._fits(row, event):
                problem = next(text for _, text in self._problem(row, event, parsed))
            elif self._seals is not None:
                problem = self._seals.problem(row)
            if problem is None:
                self.previous, self.seq, self._last_at = row.hash, row.seq, row.at
                self._recorded_at = row.recorded_at
            else:
                missing = row.seq != self.seq + 1
                self.broken = Broken(self.code, self.seq + 1 if missing else row.seq, problem)
        return parsed

    def look(self, row: Row) -> list[tuple[str, str]]:
        """All that is wrong with the next row but its seal, in kinds and words, whatever was wrong with those before:
        it is held against the row before as that is stored.
        """
        event = parse_canonical(row.payload)
        parsed = self._read(row) if event is None else event
        found = [] if self._fits(row, event) else list(self._problem(row, event, parsed))
        self.previous, self.seq, self._recorded_at = row.hash, row.seq, row.recorded_at
        self._last_at = row.at if parsed is None else parsed.at
        return found

    def _read(self, row: Row) -> Event | None:
        """The event of a line that is not written as lines are."""
        try:
            return parse_line(row.payload)
        except EventError as error:
            self.error = error
            return None

    def _fits(self, row: Row, event: Event | None) -> bool:
        """Whether there is nothing that `_problem` would say."""
        seq, payload, prev_hash, hashed, actor, recorded_at, shoe, hand, name, at, key, by, seal = row
        return (
            seq == self.seq + 1
            and (prev_hash == self.previous or self.previous is None)
            and hashed == row_hash(prev_hash, seq, payload, actor, recorded_at)
            and event is not None
            and event.shoe == shoe
            and event.hand == hand
            and event.name == name
            and event.at == at
            and event.key == key
            and (event.by or "") == by
            and event.table == self.code
            and (self._last_at is None or at >= self._last_at)
            and (seal is None or self._recorded_at is None or recorded_at >= self._recorded_at)
        )

    def _problem(self, row: Row, event: Event | None, parsed: Event | None) -> Iterator[tuple[str, str]]:
        if row.seq != self.seq + 1:
            yield GAP, f"is missing; the next row is position {row.seq}"
        if parsed is not None and parsed.table != self.code:
            yield TABLE, f"its line names table {parsed.table}: the table was renamed, or the row was moved here"
        if row.seq == self.seq + 1 and row.prev_hash != self.previous and self.previous is not None:
            yield LINK, "its previous hash is not the hash of the row before"
        if row.hash != row_hash(row.prev_hash, row.seq, row.payload, row.actor, row.recorded_at):
            yield HASH, "its hash does not match its content"
        if parsed is None:
            yield "line", f"its line cannot be read: {self.error}"
        else:
            if event is None:
                yield "line", "its line is not in the form in which lines are written"
            yield from _column(row, parsed)
            if self._last_at is not None and parsed.at < self._last_at:
                yield TIME, "is earlier than the row before"
        if row.seal is not None and self._recorded_at is not None and row.recorded_at < self._recorded_at:
            yield TIME, "was recorded earlier than the row before"

    def ended(self, head: Head) -> Broken | None:
        """The first break, now that every row has been seen: of a row, else of the end of the log or its guards."""
        broken = self.broken or next(self.end(head), None)
        lost = [] if broken is not None else triggers.missing(TableEvent._meta.db_table)
        if lost:
            problem = f"the rows are whole, but nothing guards them: {', '.join(lost)} is missing, disabled or replaced"
            return Broken(self.code, None, problem, unguarded=True)
        return broken

    def end(self, head: Head) -> Iterator[Broken]:
        """What is wrong with the end of the log, by the last row that was seen."""
        walked, last = self.seq, self.seq or None
        if walked != head.seq:
            problem = f"is missing; the table's head says that there are {head.seq} events"
            yield Broken(self.code, walked + 1, problem)
        if head.top > head.seq:
            yield Broken(self.code, head.seq + 1, f"stands beyond the table's head, which is {head.seq}")
        if walked == head.seq and self.previous != head.hash:
            yield Broken(self.code, last, "its hash is not the one at the table's head")
        if walked == head.seq and (self._last_at is not None or walked == 0) and head.at != self._last_at:
            yield Broken(self.code, last, "its time is not the one at the table's head")


def _column(row: Row, event: Event) -> Iterator[tuple[str, str]]:
    """Which of the row's columns are not as its line says."""
    expected = {
        "shoe_number": (event.shoe, row.shoe_number),
        "hand_number": (event.hand, row.hand_number),
        "name": (event.name, row.name),
        "at": (event.at, row.at),
        "key": (event.key, row.key),
        "by": (event.by or "", row.by),
    }
    for column, (line, value) in expected.items():
        if line != value:
            said = f"its column {column} is {_value(value, event.at)}, and its line says {_value(line, event.at)}"
            yield f"column {column}", said


def _value(value: object, at: dt.datetime) -> str:
    """As the log writes it: times in its offset, and as exactly as needed; texts in quotes."""
    if isinstance(value, dt.datetime):
        local = value.astimezone(at.tzinfo)
        return local.isoformat(timespec="microseconds") if local.microsecond % 1000 else format_time(local)
    return "null" if value is None else repr(value)


class Head(NamedTuple):
    """The end of a log as its table's row has it, and `top`: the highest position that is stored."""

    seq: int
    hash: str
    at: dt.datetime | None
    top: int


def read_head(code: str) -> Head:
    """Raises `Table.DoesNotExist`."""
    # The highest position first: the head is read after it and can only be as far on, or further.
    top = TableEvent.objects.filter(table__code=code).aggregate(top=Max("seq"))["top"] or 0
    table = Table.objects.get(code=code)
    return Head(table.last_seq, table.head_hash, table.last_at, top)


def seal_walk(table: Table, known: bool = True, *, check: bool = True) -> SealWalk:
    """What checks the seals of a table's log; `known`: from its first row on. Without `check` it only counts them."""
    ring = seal_keys.ring_or_none() if check else None
    return SealWalk(scope_of(table.code), ring, start_of(table, ring), known)


def verify_table(
    code: str, progress: Callable[[int], None] | None = None, *, name_all: bool = False, seals: bool = True
) -> Verified:
    """Walk one table's log in constant memory. Events appended meanwhile are left for the next walk.

    `progress` is called with the number of rows walked. `name_all`: where something is wrong, have a closer look at all
    rows. Without `seals` the chain alone is checked. Raises `Table.DoesNotExist`.
    """
    head = read_head(code)
    table = Table.objects.get(code=code)
    sealed = seal_walk(table, check=seals)
    walk = Walk(code, seals=sealed)
    for rows in read_rows(table.pk, 1, head.seq):
        for row in rows:
            walk.take(row)
            if walk.broken is not None:
                break
        if walk.broken is not None:
            break
        if progress is not None and walk.seq % CHUNK == 0:
            progress(walk.seq)
    broken = walk.ended(head)
    problems: tuple[Broken, ...] = () if broken is None else (broken,)
    if broken is not None and name_all and not broken.unguarded:
        problems = _all(table, head, sealed.ring, sealed.start) or problems
    return Verified(code, walk.seq, walk.previous or "", broken, problems, sealed.start.seq, sealed.unchecked)


#: So many lines are said of one log that is not what was recorded; of what is beyond, how much there is.
MOST: Final = 10_000


def _all(table: Table, head: Head, ring: seal_keys.Ring | None, start: Start) -> tuple[Broken, ...]:
    """All that is wrong with a log in which something is, by position: what the seals say of a row, then the rest."""
    traces: list[Trace] = []
    if ring is not None:
        rows = (row for chunk in read_rows(table.pk, 1, _NO_END) for row in chunk)
        traces = examine(scope_of(table.code), rows, ring, start)
    walk = Walk(table.code)
    closer = Closer(walk, traces, NEVER if ring is None else start.seq)
    unchecked = SealWalk("", None, start)
    ends: list[Broken] = []

    def look(first: int, last: int) -> Iterator[Trace]:
        for rows in read_rows(table.pk, first, last):
            for row in rows:
                yield from closer.look(row)
                problem = unchecked.problem(row) if ring is None else None
                if problem is not None:
                    yield Trace(row.seq, problem, problem)

    def along() -> Iterator[Trace]:
        yield from look(1, head.seq)
        ends.extend(walk.end(head))
        yield from look(head.seq + 1, head.top)

    lines = runs(along())
    found = [*traces, *islice(lines, MOST)]
    # A row that says that it is another table's is no row of this one, whatever its seal says.
    found.sort(key=lambda one: (one.seq, one.kind != TABLE))
    more = sum(one.rows for one in chain(found[MOST:], lines))
    problems = [Broken(table.code, one.seq, one.text) for one in found[:MOST]]
    if more:
        problems.append(Broken(table.code, None, f"so much is wrong that {more} more problems are not named"))
    problems += ends
    lost = triggers.missing(TableEvent._meta.db_table)
    if lost:
        problem = f"nothing guards its rows: {', '.join(lost)} is missing, disabled or replaced"
        problems.append(Broken(table.code, None, problem, unguarded=True))
    return tuple(problems)


#: Beyond any position.
_NO_END: Final = 2**62


@dataclass(frozen=True, slots=True)
class Beside:
    """What was found in something that is kept beside the logs: its name, what it is when it is whole (empty: nothing
    worth a word), what is wrong with it, and why some of it could not be checked.
    """

    name: str
    summary: str
    problems: tuple[Broken, ...] = ()
    unchecked: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What `verify_log` was asked: the tables, and what else; see its options. `files`: read attached files too;
    `projections`: judge the log again.

    `keep`: what is found is to be kept, in place of what was found before.
    """

    tables: tuple[str, ...]
    keep: bool = False
    seals: bool = True
    files: bool = True
    heads: str = ""
    public_key: str = ""
    projections: bool = False


#: Whoever keeps something beside the logs adds here what verifies it. It may raise `CommandError` for a bad option.
BESIDE: list[Callable[[Asked], Iterator[Beside]]] = []


def keep_walk(result: Verified) -> None:
    """Keep what a walk from the beginning found, in place of what the one before did."""
    broken = result.broken
    table = Table.objects.get(code=result.table)
    ChainWalk.objects.update_or_create(
        table=table,
        defaults={
            "walked_at": timezone.now(),
            "last_seq": result.events,
            "head": result.head,
            "broken_at": None if broken is None else broken.seq,
            "problem": "" if broken is None else broken.problem,
        },
    )

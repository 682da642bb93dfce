"""Walks the hash chain of a table's log and names the first row that is not as it was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Max

from dealing import triggers
from dealing.chain import row_hash
from dealing.models import Table, TableEvent, genesis_hash
from dealing.rules.events import EventError, format_event, parse_line

CHUNK = 2000


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

    A log cut short at its end *together with* the head on its table's row is still a whole chain: to notice that, keep
    `events` and `head` somewhere else and compare.
    """

    table: str
    events: int
    head: str
    broken: Broken | None


def verify_table(code: str, progress: Callable[[int], None] | None = None) -> Verified:
    """Walk one table's log in constant memory. Events appended meanwhile are left for the next walk.

    `progress` is called with the number of rows walked. Raises `Table.DoesNotExist`.
    """
    # The highest position first: the head is read after it and can only be as far on, or further.
    top = TableEvent.objects.filter(table__code=code).aggregate(top=Max("seq"))["top"] or 0
    table = Table.objects.get(code=code)
    previous, walked = genesis_hash(code), 0
    last_at = None

    def broken(seq: int | None, problem: str, unguarded: bool = False) -> Verified:
        return Verified(code, walked, previous, Broken(code, seq, problem, unguarded))

    rows = TableEvent.objects.filter(table=table, seq__lte=table.last_seq).order_by("seq")
    for row in rows.iterator(chunk_size=CHUNK):
        if row.seq != walked + 1:
            return broken(walked + 1, f"is missing; the next row is position {row.seq}")
        if row.prev_hash != previous:
            return broken(row.seq, "its previous hash is not the hash of the row before")
        if row.hash != row_hash(previous, row.seq, row.payload, row.actor, row.recorded_at):
            return broken(row.seq, "its hash does not match its content")
        problem = _columns(code, row)
        if problem is not None:
            return broken(row.seq, problem)
        if last_at is not None and row.at < last_at:
            return broken(row.seq, "is earlier than the row before")
        previous, walked, last_at = row.hash, row.seq, row.at
        if progress is not None and walked % CHUNK == 0:
            progress(walked)
    if walked != table.last_seq:
        return broken(walked + 1, f"is missing; the table's head says that there are {table.last_seq} events")
    if top > table.last_seq:
        return broken(table.last_seq + 1, f"stands beyond the table's head, which is {table.last_seq}")
    if previous != table.head_hash:
        return broken(table.last_seq or None, "its hash is not the one at the table's head")
    if table.last_at != last_at:
        return broken(table.last_seq or None, "its time is not the one at the table's head")
    lost = triggers.missing(TableEvent._meta.db_table)
    if lost:
        problem = f"the rows are whole, but nothing guards them: {', '.join(lost)} is missing or disabled"
        return broken(None, problem, unguarded=True)
    return Verified(code, walked, previous, None)


def _columns(code: str, row: TableEvent) -> str | None:
    """What of the row's columns is not as its line says."""
    try:
        event = parse_line(row.payload)
    except EventError as error:
        return f"its line cannot be read: {error}"
    if format_event(event) != row.payload:
        return "its line is not in the form in which lines are written"
    expected = {
        "table": (event.table, code),
        "shoe_number": (event.shoe, row.shoe_number),
        "hand_number": (event.hand, row.hand_number),
        "name": (event.name, row.name),
        "at": (event.at, row.at),
        "key": (event.key, row.key),
        "by": (event.by or "", row.by),
    }
    for column, (line, value) in expected.items():
        if line != value:
            return f"its column {column} is {value!r}, and its line says {line!r}"
    return None

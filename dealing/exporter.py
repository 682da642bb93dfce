"""Writes a table's log as it was recorded: one line an event, in order."""

from __future__ import annotations

from typing import Protocol

from dealing.models import Table, TableEvent

CHUNK = 5000


class Output(Protocol):
    """What lines are written to: a file, or a command's output."""

    def write(self, text: str, /) -> object: ...


def export_table(table: Table, output: Output) -> int:
    """Write the table's whole log to `output` in constant memory; how many lines that was.

    Events recorded meanwhile are left out. A single shoe is never written alone: an `amended` line names a position of
    the whole log.
    """
    rows = TableEvent.objects.filter(table=table, seq__lte=table.last_seq).order_by("seq")
    written = 0
    for payload in rows.values_list("payload", flat=True).iterator(chunk_size=CHUNK):
        output.write(f"{payload}\n")
        written += 1
    return written

"""Somebody with all rights on the database, and without the keys: makes hashes, heads and columns fit again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from dealing import triggers
from dealing.chain import row_hash
from dealing.models import Table, TableEvent, genesis_hash

Rows = list[dict[str, Any]]


def read(table: Table) -> Rows:
    """All rows of a table's log, in order."""
    return [dict(row) for row in TableEvent.objects.filter(table=table).order_by("seq").values()]


def write(table: Table, rows: Rows) -> None:
    """Make these the rows of the table's log: numbered and chained anew, with the head to fit."""
    connection.check_constraints()
    with triggers.suspended():
        TableEvent.objects.filter(table=table).delete()
        previous = genesis_hash(table.code)
        made = []
        for seq, row in enumerate(rows, 1):
            row = {**row, "seq": seq, "prev_hash": previous, "table_id": table.pk}
            row.pop("id", None)
            previous = row["hash"] = row_hash(previous, seq, row["payload"], row["actor"], row["recorded_at"])
            made.append(TableEvent(**row))
        TableEvent.objects.bulk_create(made)
        last = rows[-1]
        Table.objects.filter(pk=table.pk).update(
            last_seq=len(rows),
            last_hash=previous,
            last_at=last["at"],
            last_seal=last["seal"],
            last_recorded_at=last["recorded_at"],
        )


@dataclass
class Attacker:
    """Does things to one table's log and leaves nothing that does not fit."""

    table: Table

    def does(self, change: Callable[[Rows], Rows | None]) -> None:
        """Change the rows; `change` may answer with others."""
        rows = read(self.table)
        rows = change(rows) or rows
        write(self.table, rows)


def earlier(row: dict[str, Any], by: dt.timedelta) -> dict[str, Any]:
    """The row as if it had been recorded earlier."""
    return {**row, "recorded_at": row["recorded_at"] - by}

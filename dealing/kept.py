"""Tables as this process has left them: what the next event at a table needs is not read and folded again.

The log stays the one truth, and its rows say whether what is kept is still so. With the table locked, what is kept is
taken only where the table's head is the one it was kept at, and where the rows of shoe and hand are those very versions
in the database that this process wrote (`Version`): whatever another process, an amendment, a rebuild or a person with
SQL has done since shows in either. It is handed out once, kept again only after the commit, and so lost with whatever
is rolled back. SQLite has no versions of rows: nothing is kept there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from django.db import connection
from django.db.models import Model
from django.db.models.base import ModelState

from dealing.models import Hand, Shoe, Table
from dealing.rules.judge import TableFold

if TYPE_CHECKING:
    from dealing.log import Trailed

#: How many tables are kept: those used last.
MOST: Final = 256

#: The stored versions of the rows of a table's newest shoe and its newest hand, as `rows.version` has them.
Version = tuple[str | None, str | None]

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Kept:
    """A table as it was left: its fold, the rows it stands in, and what `dealing.log.read_trail` would read."""

    head: tuple[int, str]
    version: Version
    fold: TableFold
    shoe: Shoe
    hand: Hand | None
    trail: list[Trailed]


class Keeping:
    """What is kept, by database and table."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int], Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, table: Table) -> Kept | None:
        """What is kept of a table at its head, which is locked. It is no longer kept then: its fold will be stepped."""
        with self._lock:
            kept = self._kept.pop(_place(table), None)
        return kept if kept is not None and kept.head == head_of(table) else None

    def keep(self, table: Table, kept: Kept) -> None:
        """To be called after the commit. Forgets the table that was used longest ago where there are too many."""
        with self._lock:
            self._kept[_place(table)] = kept
            self._kept.move_to_end(_place(table))
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


KEEPING: Final = Keeping()


def head_of(table: Table) -> tuple[int, str]:
    """Where the table's log stands."""
    return table.last_seq, table.last_hash


def copied(row: M) -> M:
    """The row once more: whoever was given it may go on looking at it while the kept one changes."""
    again = type(row).__new__(type(row))
    again.__dict__.update(row.__dict__)
    state = again._state = ModelState()
    state.adding, state.db = row._state.adding, row._state.db
    state.fields_cache = row._state.fields_cache.copy()
    return again


def _place(table: Table) -> tuple[str, int]:
    return str(connection.settings_dict["NAME"]), table.pk

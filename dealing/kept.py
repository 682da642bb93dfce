"""Tables as this process has left them: what the next event at a table needs is not read and folded again.

The log stays the one truth, and its rows say whether what is kept is still so. With the table locked, what is kept is
taken only where the table's head is the one it was kept at, and where the rows of shoe and hand are those very versions
in the database that this process wrote (`Versions`): whatever another process, an amendment, a rebuild or a person with
SQL has done since shows in either. Without the lock it is taken as it is, and the statement that writes says all of it
once more (`condition`). It is handed out once, kept again only after the commit, and so lost with whatever is rolled
back. SQLite has no versions of rows: nothing is kept there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Model
from django.db.models.base import ModelState

from dealing import rows
from dealing.models import Hand, Shoe, Table, Venue
from dealing.rules.judge import TableFold

if TYPE_CHECKING:
    from dealing.log import Trailed

#: How many tables are kept: those used last.
MOST: Final = 256

M = TypeVar("M", bound=Model)


class Versions(NamedTuple):
    """The stored versions of a table's row and of its newest shoe and hand, as `rows.version` has them."""

    table: str | None
    shoe: str | None
    hand: str | None


@dataclass(frozen=True, slots=True)
class Kept:
    """A table as it was left: its fold, the rows it stands in, and what `dealing.log.read_trail` would read.

    `venue`: the stored version of the row of its venue, which `table` has.
    """

    table: Table
    venue: str
    versions: Versions
    fold: TableFold
    shoe: Shoe
    hand: Hand | None
    trail: list[Trailed]


_SAME: Final = (
    f"{rows.version(Table)} = %s "  # noqa: S608  # names of our own
    f"AND EXISTS (SELECT 1 FROM dealing_venue WHERE id = %s AND {rows.version(Venue)} = %s) "
    f"AND EXISTS (SELECT 1 FROM dealing_shoe WHERE id = %s AND {rows.version(Shoe)} = %s)"
)
_SAME_HAND: Final = f" AND EXISTS (SELECT 1 FROM dealing_hand WHERE id = %s AND {rows.version(Hand)} = %s)"  # noqa: S608


def condition(kept: Kept) -> rows.Statement:
    """What is true, of the table's row, as long as all is as it was kept."""
    table, versions = kept.table, kept.versions
    params = [versions.table, table.venue_id, kept.venue, kept.shoe.pk, versions.shoe]
    if kept.hand is None:
        return _SAME, params
    return _SAME + _SAME_HAND, [*params, kept.hand.pk, versions.hand]


class Keeping:
    """What is kept, by database and table."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, code: str) -> Kept | None:
        """What is kept of a table. It is no longer kept then: its fold will be stepped."""
        with self._lock:
            return self._kept.pop(_place(code), None)

    def keep(self, kept: Kept) -> None:
        """To be called after the commit. Forgets the table that was used longest ago where there are too many."""
        place = _place(kept.table.code)
        with self._lock:
            self._kept[place] = kept
            self._kept.move_to_end(place)
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


def _place(code: str) -> tuple[str, str]:
    return str(connection.settings_dict["NAME"]), code

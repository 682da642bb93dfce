"""Stores the log made of a sheet, through the importer that stores every log file: so the same sheet again stores
nothing, and findings, incidents and the nightly audit have its shoes as any other.

The events carry no keys: the importer knows a stored hand by its lines. For that they have to be the same lines again,
so a shoe that is stored already from a sheet keeps the name (`by`), ruleset and decks that it was opened with.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO, Final, NamedTuple, cast

from dealing.importer import Report, import_log
from dealing.models import Shoe, Table, TableEvent, Venue
from dealing.rules.events import EventError, ShoeOpened, format_event, parse_line
from dealing.rules.judge import FROM_SHEET
from dealing.sheets.making import KnownShoe, Plan, events

#: Refused rows that are named one by one.
NAMED: Final = 200


class RefusedRow(NamedTuple):
    """A row that the log did not take, and why; the row's hand is not stored."""

    row: int
    table: str
    shoe: int
    hand: int | None
    error: EventError


@dataclass(slots=True)
class Stored:
    """What storing a sheet came to: hands stored, stored before with the same content, refused; events stored."""

    stored: int = 0
    skipped: int = 0
    refused: int = 0
    events: int = 0
    refusals: list[RefusedRow] = field(default_factory=list)


class House:
    """What the database knows of tables and shoes; asked once for each table."""

    def __init__(self, venue: Venue | None = None) -> None:
        self.venue = venue
        self._tables: dict[str, Table | None] = {}
        self._shoes: dict[str, dict[int, KnownShoe]] = {}

    def table(self, code: str) -> Table | None:
        """The table of that code, in whichever house."""
        if code not in self._tables:
            self._tables[code] = Table.objects.filter(code=code).select_related("venue").first()
        return self._tables[code]

    def rules(self, code: str) -> tuple[str, int] | None:
        """Ruleset and decks that the table's next shoe is opened with; None where there is no such table."""
        table = self.table(code)
        return None if table is None else (table.ruleset, table.decks)

    def shoe(self, code: str, number: int) -> KnownShoe | None:
        """How a shoe was opened that is stored from a sheet; None for any other."""
        if code not in self._shoes:
            table = self.table(code)
            found = (
                TableEvent.objects.none()
                if table is None
                else TableEvent.objects.filter(table=table, name=ShoeOpened.name, by__startswith=FROM_SHEET)
            )
            opened = [cast(ShoeOpened, parse_line(payload)) for payload in found.values_list("payload", flat=True)]
            self._shoes[code] = {one.shoe: KnownShoe(one.by or "", one.ruleset, one.decks) for one in opened}
        return self._shoes[code].get(number)

    def unknown(self, tables: Iterable[str]) -> list[str]:
        """The tables that there are not, in any house."""
        return [code for code in tables if self.table(code) is None]

    def elsewhere(self, tables: Iterable[str]) -> list[str]:
        """The tables that belong to another house."""
        found = ((code, self.table(code)) for code in tables)
        return [code for code, table in found if table is not None and self.venue and table.venue_id != self.venue.pk]


def next_shoe(code: str) -> int:
    """The number that the table's next shoe has."""
    newest = Shoe.objects.filter(table__code=code).order_by("-number").values_list("number", flat=True).first()
    return (newest or 0) + 1


def shoe_of_sheet(code: str, by: str) -> int | None:
    """The first shoe at the table that was stored from the sheet of this name; None where none was."""
    found = TableEvent.objects.filter(table__code=code, name=ShoeOpened.name, by=by).order_by("seq")
    return found.values_list("shoe_number", flat=True).first()


def last_time(code: str) -> dt.datetime | None:
    """The time of the table's last event: a log only goes on from there."""
    return Table.objects.filter(code=code).values_list("last_at", flat=True).first()


def write(plan: Plan, file: BinaryIO) -> list[int]:
    """Write the log of a sheet; for each line, the row that it is from."""
    rows = []
    for event, told in events(plan):
        file.write(format_event(event).encode() + b"\n")
        rows.append(told.row)
    return rows


def store(
    plan: Plan,
    *,
    actor: str,
    venue: Venue | None = None,
    create_tables: bool = False,
    progress: Callable[[Report], None] | None = None,
) -> Stored:
    """Store the hands of a sheet, each whole or not at all, and nothing twice. `venue`: where tables are made. Raises
    as `import_log` does.
    """
    with tempfile.TemporaryFile() as file:
        rows = write(plan, file)
        file.seek(0)
        report = import_log(file, actor=actor, create_tables=create_tables, venue=venue, progress=progress)
    out = Stored(report.stored, report.skipped, report.refused, report.events)
    places = {told.row: told for told in plan.rows}
    for refusal in report.refusals[:NAMED]:
        told = places[rows[refusal.number - 1]]
        hand = refusal.place[2] if refusal.place is not None else None
        out.refusals.append(RefusedRow(told.row, told.table, told.shoe, hand, refusal.error))
    return out

"""Stores the log made of a sheet, through the importer that stores every log file: so the same sheet again stores
nothing, and findings, incidents and the nightly audit have its shoes as any other.

The events carry no keys: the importer knows a stored hand by its lines. For that they have to be the same lines again,
so a shoe that is stored already from a sheet keeps the name (`by`), ruleset and decks that it was opened with.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, NamedTuple, cast

from django.db import transaction

from dealing.importer import Report, import_log, only_venue
from dealing.models import Dealer, DealerShift, Shoe, Table, TableEvent, Venue
from dealing.rules.events import Called, CardDealt, Event, EventError, ShoeOpened, format_event, parse_line
from dealing.rules.judge import FROM_SHEET
from dealing.sheets.making import KnownShoe, Plan, Told, events
from dealing.shifts import overlapping, tell

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
    """Store the hands of a sheet, each whole or not at all, and nothing twice. `venue`: where tables are made; these
    are not in use, for a sheet tells of what is over. Raises as `import_log` does.
    """
    if create_tables:
        _make_tables(plan, venue or only_venue())
    with tempfile.TemporaryFile() as file:
        rows = write(plan, file)
        file.seek(0)
        report = import_log(file, actor=actor, progress=progress)
    out = Stored(report.stored, report.skipped, report.refused, report.events)
    places = {told.row: told for told in plan.rows}
    for refusal in report.refusals[:NAMED]:
        told = places[rows[refusal.number - 1]]
        hand = refusal.place[2] if refusal.place is not None else None
        out.refusals.append(RefusedRow(told.row, told.table, told.shoe, hand, refusal.error))
    return out


def _make_tables(plan: Plan, venue: Venue) -> None:
    there = set(Table.objects.filter(code__in=plan.tables).values_list("code", flat=True))
    for code in plan.tables:
        if code not in there:
            first = plan.opening(code, min(told.shoe for told in plan.rows if told.kept and told.table == code))
            made = {"venue": venue, "ruleset": first.ruleset, "decks": first.decks, "is_active": False}
            Table.objects.get_or_create(code=code, defaults=made)  # somebody else may make it just now


# What the log will not take.


@dataclass(frozen=True, slots=True)
class Objection:
    """What the log will not take of a sheet, and why: as the importer refuses it.

    `code`: `at-earlier` (one for a table), `shoe-behind`, `shoe-closed`, `shoe-stored-otherwise` (one for a shoe),
    `hand-behind`, `stored-otherwise` (one for a hand); `row`: the first row; `hands`: the hands that it is about;
    `last`: the table's last event, shoe or hand that stands against it; `differs`: a field, what the log has, what the
    sheet has.
    """

    code: str
    row: int
    table: str
    shoe: int
    hands: tuple[int, ...]
    last: str = ""
    differs: tuple[tuple[str, str, str], ...] = ()

    def as_json(self) -> list[Any]:
        """Plain data, of which the class can be made again."""
        return [self.code, self.row, self.table, self.shoe, self.hands, self.last, self.differs]


def objections(plan: Plan) -> list[Objection]:
    """What storing the sheet would refuse, as the log stands now. Nothing is locked and nothing written."""
    logs: dict[str, dict[int, list[tuple[Event, Told]]]] = {}
    for event, told in events(plan):
        logs.setdefault(event.table, {}).setdefault(event.shoe, []).append((event, told))
    tables = {table.code: table for table in Table.objects.filter(code__in=list(logs))}
    out: list[Objection] = []
    for code, shoes in logs.items():
        table = tables.get(code)
        if table is None or not table.last_seq:
            continue
        newest = Shoe.objects.filter(table=table).order_by("-number").values_list("number", flat=True).first() or 0
        earlier: dict[tuple[int, int], int] = {}
        for shoe in sorted(shoes):
            found = TableEvent.objects.filter(table=table, shoe_number=shoe).order_by("seq")
            stored: dict[int | None, list[str]] = {}
            for hand, payload in found.values_list("hand_number", "payload"):
                stored.setdefault(hand, []).append(payload)
            out += _of_shoe(table, newest, shoes[shoe], stored, earlier)
        if earlier:
            last = cast(dt.datetime, table.last_at).astimezone(plan.filling.zone).isoformat()
            shoe, hands = next(iter(earlier))[0], tuple(hand for _, hand in earlier)
            out.append(Objection("at-earlier", min(earlier.values()), code, shoe, hands, last))
    return out


def _of_shoe(
    table: Table,
    newest: int,
    lines: list[tuple[Event, Told]],
    stored: dict[int | None, list[str]],
    earlier: dict[tuple[int, int], int],
) -> list[Objection]:
    """What the log will not take of one shoe; hands that are too early go to `earlier`, with their rows."""
    hands: dict[int, list[Event]] = {}
    rows: dict[int, int] = {}
    for event, told in lines:
        if event.hand is not None:
            hands.setdefault(event.hand, []).append(event)
            rows.setdefault(event.hand, told.row)
    opened, first = cast(ShoeOpened, lines[0][0]), lines[0][1].row
    code, shoe, every = opened.table, opened.shoe, tuple(hands)
    last_at = cast(dt.datetime, table.last_at)
    if not stored:
        if opened.at < last_at:
            earlier |= {(shoe, hand): row for hand, row in rows.items()}
        elif shoe < newest:
            return [Objection("shoe-behind", first, code, shoe, every, str(newest))]
        return []
    if stored[None][0] != format_event(opened):
        differs = tuple(_differs([parse_line(stored[None][0])], [opened]))
        return [Objection("shoe-stored-otherwise", first, code, shoe, every, differs=differs)]
    closed = newest > shoe or any(parse_line(text).name == "shoe_closed" for text in stored[None])
    last_hand = max((hand for hand in stored if hand is not None), default=0)
    out, added = [], []
    for hand, log in hands.items():
        known = stored.get(hand)
        if known is not None:
            here = [format_event(event) for event in log]
            if known[: len(here)] != here:
                differs = tuple(_differs([parse_line(text) for text in known], log))
                out.append(Objection("stored-otherwise", rows[hand], code, shoe, (hand,), differs=differs))
        elif log[0].at < last_at:
            earlier[shoe, hand] = rows[hand]
        elif closed:
            added.append(hand)
        elif hand < last_hand:
            out.append(Objection("hand-behind", rows[hand], code, shoe, (hand,), str(last_hand)))
    if added:
        out.append(Objection("shoe-closed", min(rows[hand] for hand in added), code, shoe, tuple(added)))
    return out


def _differs(stored: list[Event], told: list[Event]) -> Iterator[tuple[str, str, str]]:
    """Where two tellings of a hand, or of a shoe's opening, are unlike."""
    there, here = _said(stored), _said(told)
    for name in dict.fromkeys((*here, *there)):
        if there.get(name, "") != here.get(name, ""):
            yield name, there.get(name, ""), here.get(name, "")


def _said(log: list[Event]) -> dict[str, str]:
    out: dict[str, str] = {}
    for event in log:
        out.setdefault("at", f"{event.at:%Y-%m-%d %H:%M:%S}")
        out.setdefault("by", event.by or "")
        if isinstance(event, ShoeOpened):
            out |= {"ruleset": event.ruleset, "decks": str(event.decks)}
        elif isinstance(event, CardDealt) and event.card is not None:
            out.setdefault(event.to, event.card.text)
        elif isinstance(event, Called) and "outcome" not in out:
            out["outcome"] = event.winner
            for name, total in (("player_total", event.player), ("banker_total", event.banker)):
                out |= {} if total is None else {name: str(total)}
    return out


# Who dealt.


class Dealt(NamedTuple):
    """One dealer's hands at a table, one after the other: from the first of them until the next dealer's first."""

    table: str
    code: str
    started_at: dt.datetime
    ended_at: dt.datetime


#: How long the last hand of a sheet is taken to last: a shift ends after it.
_LAST_HAND: Final = dt.timedelta(minutes=1)


def dealt(plan: Plan) -> list[Dealt]:
    """Who dealt when, by the sheet's dealer column, in the order of the log."""
    tables: dict[str, list[Told]] = {}
    for told in plan.rows:
        if told.kept and told.at is not None:
            tables.setdefault(told.table, []).append(told)
    out: list[Dealt] = []
    for table, hands in tables.items():
        hands.sort(key=lambda told: (told.shoe, told.hand))
        open_: tuple[str, dt.datetime] | None = None
        at = _LONG_AGO
        for told in hands:
            at = max(at, cast(dt.datetime, told.at))
            if open_ is not None and told.dealer != open_[0]:
                out.append(Dealt(table, *open_, at))
                open_ = None
            if open_ is None and told.dealer:
                open_ = (told.dealer, at)
        if open_ is not None and not plan.filling.more_to_come:  # or else its end is still to come
            out.append(Dealt(table, *open_, min(at + _LAST_HAND, plan.filling.now)))
    return [one for one in out if one.ended_at > one.started_at]


_LONG_AGO: Final = dt.datetime(1, 1, 2, tzinfo=dt.UTC)


@dataclass(slots=True)
class Shifts:
    """What writing the dealers' shifts down came to: written, there before, and the reasons why others were not."""

    written: int = 0
    known: int = 0
    #: Codes that no dealer of the house has.
    unknown: list[str] = field(default_factory=list)
    #: Shifts that overlap one that is written down already.
    overlapping: int = 0


def write_shifts(plan: Plan, venue: Venue, actor: str) -> Shifts:
    """Write down who dealt, for the house's own tables and dealers (by code, whatever the case of its letters).

    What is written down already is left as it is: a shift that would overlap another is not written. The same sheet
    again writes nothing.
    """
    out = Shifts()
    dealers = {dealer.code.casefold(): dealer for dealer in Dealer.objects.filter(venue=venue)}
    tables = {table.code: table for table in Table.objects.filter(venue=venue, code__in=plan.tables)}
    unknown: dict[str, None] = {}
    for one in dealt(plan):
        dealer, table = dealers.get(one.code.casefold()), tables.get(one.table)
        if dealer is None:
            unknown[one.code] = None
        if dealer is None or table is None:
            continue
        with transaction.atomic():
            Table.objects.select_for_update().get(pk=table.pk)
            shift = DealerShift(
                table=table, dealer=dealer, started_at=one.started_at, ended_at=one.ended_at, recorded_by=actor
            )
            others = list(overlapping(shift)[:2])
            if not others:
                shift.save()
                tell([shift], actor)
                out.written += 1
            elif all((o.table_id, o.dealer_id, o.started_at) == (table.pk, dealer.pk, one.started_at) for o in others):
                out.known += 1
            else:
                out.overlapping += 1
    out.unknown = list(unknown)
    return out

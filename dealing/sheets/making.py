"""Makes the log of each table out of the rows of a sheet.

`plan(book, mapping, filling)` reads every row and finds its table, shoe and hand; `events(plan)` gives the log, table
after table, each event with the number of the row it is from. The same sheet, mapped and filled in the same way, gives
the same events every time: that is what the importer recognises a stored hand by.

A sheet says whose each card is, and is no witness of the order in which the dealer laid them down. The log has them as
the rules have them dealt: P1 B1 P2 B2, then the third card that is due first.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

from dealing.rules.cards import VALUES, Card
from dealing.rules.events import (
    BettingClosed,
    BettingOpened,
    Called,
    CardDealt,
    Event,
    HandClosed,
    ShoeClosed,
    ShoeOpened,
)
from dealing.rules.judge import FROM_SHEET
from dealing.rules.rulesets import get_ruleset, ruleset_names
from dealing.rules.tableau import EMPTY, OPENING, Layout, Place
from dealing.sheets.cells import (
    UNWORKED,
    ZERO,
    Cell,
    CellError,
    plain,
    read_cards,
    read_date,
    read_moment,
    read_number,
    read_outcome,
    read_table,
    read_time,
    read_total,
)
from dealing.sheets.errors import LEFT_OUT, Fault, SheetError, shown
from dealing.sheets.mapping import CARD_LIMITS, DEALT, PLACES, SIDES, Mapping, letters
from dealing.sheets.reading import Book, Row

#: What `by` says of how the cards were written: `sheet:values:…` has no ranks that could be counted.
WRITTEN: Final = {"suits": "cards", "ranks": "ranks", "values": "values"}
#: How long `by` may be.
_BY: Final = 64
#: A time of day so much earlier than that of the row before is of the next day.
_NEXT_DAY: Final = dt.timedelta(hours=12)
#: The cards worth nothing, in turn: see `_Zeros`.
_TENS: Final = "TJQK"

DrawnCard = tuple[Place, str]


class KnownShoe(NamedTuple):
    """How a shoe was opened that is stored already, from a sheet of the same kind."""

    by: str
    ruleset: str
    decks: int


def nothing_known(table: str, shoe: int) -> KnownShoe | None:
    """Where there is no database, or nothing in it."""
    return None


def no_rules(table: str) -> tuple[str, int] | None:
    """As `nothing_known`."""
    return None


@dataclass(frozen=True, slots=True)
class Filling:
    """What the sheet does not say, filled in by whoever reads it in.

    `name`: the sheet's name; `table`: the table of rows that name none; `shoe`: the number of the first shoe, where the
    sheet has none or `recount` is set (its numbers begin anew, so that each change of them is the next shoe);
    `ruleset`, `decks`: empty for the table's own; `date`: of the first hand, `start`: its time of day, `seconds` from
    one hand to the next; `zone`: of all times that name none; `now`: later ones are unreadable; `more_to_come`: the
    last shoe of each table stays open.
    """

    name: str
    zone: dt.tzinfo
    now: dt.datetime
    table: str = ""
    shoe: int | None = None
    recount: bool = False
    ruleset: str = ""
    decks: int = 0
    date: dt.date | None = None
    start: dt.time | None = None
    seconds: int = 60
    more_to_come: bool = False


def needs(mapping: Mapping) -> list[str]:
    """What has to be filled in, given what the sheet says."""
    has = mapping.columns
    out = []
    if "table" not in has:
        out.append("table")
    if "shoe" not in has:
        out.append("shoe")
    if "at" not in has:
        if "date" not in has:
            out.append("date")
        if "time" not in has:
            out.append("start")
    return out


def check_filling(mapping: Mapping, filling: Filling) -> None:
    """Raises SheetError for what is missing or cannot be."""
    for name in needs(mapping):
        if not getattr(filling, name) and not (name == "start" and filling.start is not None):
            raise SheetError("fill-missing", fill=name, field=name)
    if filling.recount and "shoe" in mapping.columns and not filling.shoe:
        raise SheetError("fill-missing", fill="shoe", field="shoe")
    if filling.table:
        try:
            code = read_table(filling.table)
        except CellError:
            code = None
        if code != filling.table:
            raise SheetError("fill-wrong", fill="table", field="table", value=shown(filling.table))
    for name, value, low, high in (
        ("shoe", filling.shoe, 1, 999_999),
        ("decks", filling.decks or None, 1, 16),
        ("seconds", filling.seconds, 0, 86_400),
    ):
        if value is not None and not low <= value <= high:
            raise SheetError("fill-wrong", fill=name, field=name, value=shown(value))
    if filling.ruleset and filling.ruleset not in ruleset_names():
        known = ", ".join(ruleset_names())
        raise SheetError("ruleset-unknown", fill="ruleset", value=shown(filling.ruleset), known=known)
    if filling.ruleset:
        get_ruleset(filling.ruleset)


@dataclass(slots=True)
class Told:
    """A row as it was read. `drawn`: its cards in the order of the log; `repeats`: which third cards stand in the row
    before (`row_before`) just so; `kept`: whether the log has the row.
    """

    row: int
    faults: list[Fault] = field(default_factory=list)
    table: str = ""
    shoe: int = 0
    hand: int = 0
    at: dt.datetime | None = None
    drawn: tuple[DrawnCard, ...] = ()
    repeats: frozenset[Place] = frozenset()
    row_before: int = 0
    winner: str | None = None
    player: int | None = None
    banker: int | None = None
    dealer: str = ""
    #: The row has a number, perhaps, or a time, but neither cards nor a result: nothing was played.
    blank: bool = False

    @property
    def kept(self) -> bool:
        """Whether the row is in the log."""
        return not self.blank and not any(fault.unreadable or fault.code in LEFT_OUT for fault in self.faults)

    def third(self, place: Place) -> str:
        """The third card at a place; empty where there is none."""
        return next((card for put, card in self.drawn if put == place), "")


@dataclass(slots=True)
class Plan:
    """Every row of a sheet, read, and what the log is made with."""

    mapping: Mapping
    filling: Filling
    rows: list[Told]
    known: Callable[[str, int], KnownShoe | None] = nothing_known
    rules: Callable[[str], tuple[str, int] | None] = no_rules

    @property
    def own(self) -> str:
        """How `by` begins in every event of a sheet with cards so written."""
        return f"{FROM_SHEET}{WRITTEN[self.mapping.cards]}:"

    @property
    def by(self) -> str:
        """What `by` says of every event of a shoe that was not stored before."""
        return (self.own + "".join(c for c in self.filling.name if c.isprintable()))[:_BY]

    @property
    def tables(self) -> list[str]:
        """The tables of the hands, as they come up."""
        return list(dict.fromkeys(told.table for told in self.rows if told.kept))

    def opening(self, table: str, shoe: int) -> KnownShoe:
        """Who tells of a shoe, its ruleset and its decks: as it was stored, where it was, so that it is recognised.
        Raises SheetError where the table has a ruleset that there is not.
        """
        stored = self.known(table, shoe)
        if stored is not None and not stored.by.startswith(self.own):
            stored = None
        ruleset, decks = (stored.ruleset, stored.decks) if stored else self.rules(table) or ("standard", 8)
        by = stored.by if stored else self.by
        ruleset = self.filling.ruleset or ruleset
        if ruleset not in ruleset_names():
            known = ", ".join(ruleset_names())
            raise SheetError("ruleset-unknown", fill="ruleset", value=shown(ruleset), known=known)
        return KnownShoe(by, ruleset, self.filling.decks or decks)


# Reading the rows.


def plan(
    book: Book,
    mapping: Mapping,
    filling: Filling,
    known: Callable[[str, int], KnownShoe | None] = nothing_known,
    rules: Callable[[str], tuple[str, int] | None] = no_rules,
) -> Plan:
    """Read the rows of a sheet. `known`: how a stored shoe was opened; `rules`: ruleset and decks of a table. Raises
    SheetError where the mapping or what is filled in will not do, or no row is left below the heads.
    """
    mapping.check()
    check_filling(mapping, filling)
    reader = _Reader(mapping, filling)
    body = mapping.body(book)
    rows = [reader.read(row) for row in body]
    if not rows:
        raise SheetError("no-rows")
    if _newest_first(rows, "hand" in mapping.columns):
        reader = _Reader(mapping, filling)
        turned = [reader.read(row) for row in reversed(body)][::-1]
        # Cells left empty because they are as those above cannot be read from below.
        if sum(told.kept for told in turned) >= sum(told.kept for told in rows):
            rows = turned
            next(told for told in rows if told.kept or told is rows[-1]).faults.append(Fault("newest-first", "", {}))
    return Plan(mapping, filling, rows, known, rules)


def _newest_first(rows: list[Told], numbered: bool) -> bool:
    """Whether nearly every row comes before the one above it; `numbered`: by the numbers of the hands, or else by
    their times.
    """
    tables: dict[str, list[Told]] = {}
    for told in rows:
        if told.table and told.hand and told.at is not None:
            tables.setdefault(told.table, []).append(told)
    up = down = 0
    for found in tables.values():
        for above, told in pairwise(found):
            before, after = (_key(one, numbered) for one in (above, told))
            up, down = up + (before < after), down + (before > after)
    return down >= _TURNED and down > 4 * up


def _key(told: Told, numbered: bool) -> tuple[float, float]:
    if numbered:
        return told.shoe, told.hand
    assert told.at is not None, "those without a time were left out"  # noqa: S101
    return told.at.timestamp(), 0


#: So many rows that stand before one of an earlier hand are no slip.
_TURNED: Final = 3


@dataclass(slots=True)
class _TableSoFar:
    """Where a table stands while its rows are read."""

    shoe: int = 0
    hand: int = 0
    told_shoe: int | None = None
    #: The row that each hand stands in; the hand furthest on in the shoe, and its row.
    seen: dict[tuple[int, int], int] = field(default_factory=dict)
    furthest: tuple[int, int] = (0, 0)
    furthest_row: int = 0
    #: How many rows had their time worked out, since the day began that the sheet names.
    rows: int = 0
    day: dt.date | None = None
    clock: dt.time | None = None
    last_at: dt.datetime | None = None


class _Reader:
    """Reads row after row; what a row leaves out it has from those before it."""

    def __init__(self, mapping: Mapping, filling: Filling) -> None:
        self.mapping, self.filling = mapping, filling
        self.today = filling.now.astimezone(filling.zone).date()
        self.outcomes = dict(mapping.outcomes)
        self.tables: dict[str, _TableSoFar] = {}
        #: The third cards of the row before, and its number.
        self.thirds: dict[Place, str] = {}
        self.row_before = 0

    def read(self, row: Row) -> Told:
        """One row."""
        told = Told(row.number)
        if self._without_cards(told, row):
            return told
        told.table = self._try(told, "table", self._table, row) or ""
        so_far = self.tables.setdefault(told.table, _TableSoFar())
        self._cards(told, row)
        told.winner = self._try(told, "outcome", self._outcome, row)
        told.player = self._try(told, "player_total", self._total, row, "player_total")
        told.banker = self._try(told, "banker_total", self._total, row, "banker_total")
        if told.winner is None and told.player is not None and told.banker is not None:
            # Two totals say who is nearer 9, whatever the cards say.
            told.winner = "tie" if told.player == told.banker else "player" if told.player > told.banker else "banker"
        told.dealer = plain(self._try(told, "dealer", self._cell, row, "dealer"))[:64]
        if told.table:
            self._number(told, row, so_far)
            told.at = self._try(told, "time", self._at, row, so_far)
        return told

    @staticmethod
    def _try(told: Told, name: str, read: Callable[..., Any], *args: Any) -> Any:
        """What `read` gives; None where it cannot, which is noted."""
        try:
            return read(*args)
        except CellError as error:
            told.faults.append(Fault(error.code, error.field or name, error.params))
            return None

    def _cell(self, row: Row, name: str) -> Cell:
        """What a row holds for a field. Raises CellError for a formula that nobody worked out."""
        cell = self.mapping.cell(row, name)
        if cell == UNWORKED:
            place = f"{letters(self.mapping.columns[name])}{row.number}"
            raise CellError("not-worked-out", field=name, value=place)
        return cell

    def _cards_of(self, row: Row, name: str, limit: int) -> list[str]:
        return read_cards(self._cell(row, name), self.mapping.cards, limit)

    # -- rows that are no hand

    def _without_cards(self, told: Told, row: Row) -> bool:
        """Whether the row has no card and so is no hand: a row kept ready, or one of sums. What it says of the rows
        below it is kept.
        """
        has, cell = self.mapping.columns, self.mapping.cell
        if any(cell(row, name) == UNWORKED or plain(cell(row, name)) for name in has if name in CARD_LIMITS):
            return False
        said = [plain(cell(row, name)) for name in _RESULTS if name in has]
        if any(isinstance(one, str) and _SUM.match(plain(one)) for one in row.cells) or (
            any(said[1 if "outcome" in has else 0 :]) and not plain(cell(row, "outcome"))
        ):
            told.faults.append(Fault("total-row", "", {}))
            return True
        if any(said):
            told.faults.append(Fault("without-cards", "", {}))
        else:
            told.blank = True
        try:
            table = self._table(row)
            shoe = read_number(cell(row, "shoe"))
            day = read_date(cell(row, "date"), self.mapping.dates, self.today) if "date" in has else None
        except CellError:
            return True
        so_far = self.tables.setdefault(table, _TableSoFar())
        if shoe is not None and shoe != so_far.shoe and not self.filling.recount:
            so_far.shoe = shoe
            so_far.hand = max((known for of, known in so_far.seen if of == shoe), default=0)
        if day is not None and day != so_far.day:
            so_far.day, so_far.rows, so_far.clock = day, 0, None
        return True

    def _table(self, row: Row) -> str:
        code = self.filling.table
        if "table" in self.mapping.columns:
            code = read_table(self._cell(row, "table")) or code
        if not code:
            raise CellError("missing")
        return code

    def _outcome(self, row: Row) -> str | None:
        return read_outcome(self._cell(row, "outcome"), self.outcomes)

    def _total(self, row: Row, name: str) -> int | None:
        return read_total(self._cell(row, name))

    # -- cards

    def _cards(self, told: Told, row: Row) -> None:
        said = self.mapping.columns
        if self.mapping.dealt:
            dealt = self._dealt(told, row)
            felt = None if dealt is None else self._felt_of(dealt)
        elif "player" in said:
            felt = {}
            for letter, side in zip("PB", SIDES, strict=True):
                cards = self._try(told, side, self._cards_of, row, side, 3) or []
                felt |= dict(zip(_places(letter), cards, strict=False))
        else:
            felt = {}
            for place in _places("P") + _places("B"):
                if place in said:
                    cards = self._try(told, place, self._cards_of, row, place, 1)
                    if cards:
                        felt[place] = cards[0]
        if felt is None or any(fault.unreadable for fault in told.faults):
            self.thirds = {}
            self.row_before = row.number
            return
        told.drawn = tuple(_drawn(felt))
        for letter, side in zip("PB", SIDES, strict=True):
            if any(place not in felt for place in _places(letter)[:2]):
                told.faults.append(Fault("missing-cards", "", {"side": side}))
        thirds = {place: felt[place] for place in _THIRDS if place in felt}
        told.repeats = frozenset(place for place, card in thirds.items() if self.thirds.get(place) == card)
        told.row_before = self.row_before
        self.thirds, self.row_before = thirds, row.number

    def _dealt(self, told: Told, row: Row) -> list[str] | None:
        """The cards in the order dealt; None where that is not known."""
        if "cards" in self.mapping.columns:
            return self._try(told, "cards", self._cards_of, row, "cards", 6)
        out: list[str] = []
        for number, name in enumerate(DEALT, 1):
            if name not in self.mapping.columns:
                continue
            before = len(told.faults)
            cards = self._try(told, name, self._cards_of, row, name, 1)
            if len(told.faults) > before:
                return None
            if cards and len(out) < number - 1:
                told.faults.append(Fault("order-gap", name, {"number": number}))
                return None
            out += cards
        return out

    def _felt_of(self, dealt: list[str]) -> dict[Place, str]:
        """The cards in the order dealt, by place. The first four lie as the house deals them; where the others belong
        the rules say, and one beyond the hand lies on the third place that is free.
        """
        order = OPENING if self.mapping.order == "pbpb" else ("P1", "P2", "B1", "B2")
        felt: dict[Place, str] = dict(zip(order, dealt, strict=False))
        layout = _layout([felt[place] for place in OPENING]) if len(dealt) >= 4 else None
        for card in dealt[4:]:
            if layout is not None and layout.due is not None:
                felt[layout.due] = card
                layout = layout.after[worth(card)]
            else:
                felt[next(place for place in _THIRDS if place not in felt)] = card
        return felt

    # -- where

    def _number(self, told: Told, row: Row, so_far: _TableSoFar) -> None:
        """Which shoe and which hand it is."""
        shoe = self._try(told, "shoe", self._count, row, "shoe")
        hand = self._try(told, "hand", self._count, row, "hand")
        if any(fault.field in ("shoe", "hand") for fault in told.faults):
            return
        first = so_far.shoe == 0
        if "shoe" in self.mapping.columns and not self.filling.recount:
            if shoe is None and first:
                told.faults.append(Fault("missing", "shoe", {}))
                return
            number = so_far.shoe if shoe is None else shoe
        elif "shoe" in self.mapping.columns:
            changed = shoe is not None and so_far.told_shoe is not None and shoe != so_far.told_shoe
            number = self.filling.shoe or 1 if first else so_far.shoe + (changed or self._begins_anew(hand, so_far))
        else:
            number = self.filling.shoe or 1 if first else so_far.shoe + self._begins_anew(hand, so_far)
        so_far.told_shoe = shoe if shoe is not None else so_far.told_shoe
        if number != so_far.shoe:
            so_far.shoe = number
            so_far.hand = max((known for of, known in so_far.seen if of == number), default=0)
        told.shoe, told.hand = number, so_far.hand + 1 if hand is None else hand
        so_far.hand = told.hand
        place = (told.shoe, told.hand)
        other = so_far.seen.get(place)
        if other is not None:
            details = {"hand": told.hand, "shoe": told.shoe, "other": other}
            told.faults.append(Fault("hand-twice", "", details))
            return
        so_far.seen[place] = row.number
        if place < so_far.furthest:
            told.faults.append(Fault("out-of-order", "", {"other": so_far.furthest_row}))
        else:
            so_far.furthest, so_far.furthest_row = place, row.number

    def _count(self, row: Row, name: str) -> int | None:
        return read_number(self._cell(row, name))

    @staticmethod
    def _begins_anew(hand: int | None, so_far: _TableSoFar) -> bool:
        """Whether hand 1 begins a new shoe; twice in a row it is the same hand twice."""
        return hand == 1 and so_far.hand > 1

    # -- when

    def _at(self, row: Row, so_far: _TableSoFar) -> dt.datetime | None:
        """When the hand was; to the millisecond."""
        at = self._told_at(row, so_far)
        if at is None:
            at = so_far.last_at
            if at is None:
                raise CellError("missing")
        if so_far.last_at is not None and at < so_far.last_at and at.replace(fold=1) >= so_far.last_at:
            at = at.replace(fold=1)  # in the night in which the clock is put back this hour comes twice
        # With its offset: two times of one zone are otherwise compared as the clocks on the wall.
        at = at.astimezone(dt.timezone(at.utcoffset() or dt.timedelta()))
        if at > self.filling.now:
            where = next((name for name in ("at", "date") if name in self.mapping.columns), "")
            raise CellError("in-the-future", field=where, value=shown(f"{at:%Y-%m-%d %H:%M}"))
        so_far.last_at = at
        return at

    def _told_at(self, row: Row, so_far: _TableSoFar) -> dt.datetime | None:
        mapping, filling, has = self.mapping, self.filling, self.mapping.columns
        if "at" in has:
            try:
                return read_moment(self._cell(row, "at"), mapping.dates, self.today, filling.zone)
            except CellError as error:
                error.field = "at"
                raise
        day = self._day(row) if "date" in has else None
        if "time" in has:
            clock = read_time(self._cell(row, "time"))
            if clock is None:
                return None
            if "date" in has:
                day = day or so_far.day
                if day is None:
                    raise CellError("missing", field="date")
            elif so_far.day is None or so_far.clock is None:
                day = filling.date
            else:
                day = so_far.day
                if _seconds(so_far.clock) - _seconds(clock) > _NEXT_DAY.total_seconds():
                    day += dt.timedelta(days=1)
            assert day is not None, "a date is in the sheet or filled in"  # noqa: S101
            so_far.day, so_far.clock = day, clock
            return dt.datetime.combine(day, clock, filling.zone)
        if "date" in has:
            day = day or so_far.day
            if day is None:
                raise CellError("missing", field="date")
            if day != so_far.day:
                so_far.rows = 0
        else:
            day = filling.date
        assert day is not None, "as above"  # noqa: S101
        assert filling.start is not None, "checked before"  # noqa: S101
        so_far.day = day
        begun = dt.datetime.combine(day, filling.start, filling.zone).astimezone(dt.UTC)
        at = begun + dt.timedelta(seconds=filling.seconds * so_far.rows)
        so_far.rows += 1
        return at.astimezone(filling.zone)

    def _day(self, row: Row) -> dt.date | None:
        try:
            return read_date(self._cell(row, "date"), self.mapping.dates, self.today)
        except CellError as error:
            error.field = "date"
            raise


_THIRDS: Final[tuple[Place, Place]] = ("P3", "B3")
_RESULTS: Final = ("outcome", "player_total", "banker_total")
#: How a row of sums says that it is one.
_SUM: Final = re.compile(
    r"(?:grand\s+|sub[\s-]?)?totals?\b|sums?\b|รวม|ยอดรวม|ผลรวม|ทั้งหมด|合计|合計|总计|總計", re.IGNORECASE
)


def _places(letter: str) -> tuple[Place, ...]:
    return tuple(place for place in PLACES if place[0] == letter)


def _seconds(clock: dt.time) -> int:
    return clock.hour * 3600 + clock.minute * 60 + clock.second


def worth(card: str) -> int:
    """The points of a card as it was read, 0 to 9."""
    return 0 if card == ZERO else VALUES[card[0]]


def _layout(cards: list[str]) -> Layout:
    layout = EMPTY
    for card in cards:
        layout = layout.after[worth(card)]
    return layout


def _drawn(felt: dict[Place, str]) -> Iterator[DrawnCard]:
    """The cards in the order of the log: the first four as the rules deal them, up to a gap; of third cards the one
    that is due first.
    """
    layout = EMPTY
    for place in OPENING:
        if place not in felt:
            return
        yield place, felt[place]
        layout = layout.after[worth(felt[place])]
    thirds = [place for place in _THIRDS if place in felt]
    while thirds:
        place = layout.due if layout.due in thirds else thirds[0]
        thirds.remove(place)
        yield place, felt[place]
        if layout.due is not None:
            layout = layout.after[worth(felt[place])]


# Making the events.


class _Zeros:
    """Cards that the sheet knows as 0 only: T, J, Q and K in turn.

    So none of the four comes more often than the others, and `card-impossible` asks just what can be asked: whether
    more cards worth nothing came than the shoe holds. Two of one hand are never of the same rank by this.
    """

    def __init__(self) -> None:
        self.given = 0

    def card(self, text: str) -> Card:
        """The card that the log has for a card of the sheet."""
        if text != ZERO:
            return Card.parse(text)
        self.given += 1
        return Card.parse(_TENS[(self.given - 1) % len(_TENS)])


class Made(NamedTuple):
    """An event of the log, and the row that it is from."""

    event: Event
    row: Told


def events(plan: Plan) -> Iterator[Made]:
    """The log of the sheet, table after table, each shoe and each hand in its order.

    Notes `time-back` at rows whose time is before that of the hand before. A plan can be walked again and again.
    """
    tables: dict[str, dict[int, list[Told]]] = {}
    for told in plan.rows:
        if told.kept:
            tables.setdefault(told.table, {}).setdefault(told.shoe, []).append(told)
    for table, shoes in tables.items():
        at: dt.datetime | None = None
        at_row = 0
        newest = max(shoes)
        for shoe in sorted(shoes):
            opening, zeros = plan.opening(table, shoe), _Zeros()
            hands = sorted(shoes[shoe], key=lambda told: told.hand)
            for told in hands:
                assert told.at is not None, "a row that is kept has a time"  # noqa: S101
                if at is None or told.at >= at:
                    at, at_row = told.at, told.row
                elif not any(fault.code in ("time-back", "out-of-order") for fault in told.faults):
                    told.faults.append(Fault("time-back", "", {"other": at_row}))
                if told is hands[0]:
                    opened = ShoeOpened(
                        at=at, table=table, shoe=shoe, by=opening.by, ruleset=opening.ruleset, decks=opening.decks
                    )
                    yield Made(opened, told)
                for event in _hand(told, at, opening.by, zeros):
                    yield Made(event, told)
            assert at is not None, "a shoe has hands"  # noqa: S101
            if shoe != newest or not plan.filling.more_to_come:
                yield Made(ShoeClosed(at=at, table=table, shoe=shoe, by=opening.by, reason="finished"), hands[-1])


def _hand(told: Told, at: dt.datetime, by: str, zeros: _Zeros) -> Iterator[Event]:
    table, shoe, hand = told.table, told.shoe, told.hand
    yield BettingOpened(at=at, table=table, shoe=shoe, hand=hand, by=by)
    yield BettingClosed(at=at, table=table, shoe=shoe, hand=hand, by=by)
    for place, card in told.drawn:
        yield CardDealt(at=at, table=table, shoe=shoe, hand=hand, by=by, to=place, card=zeros.card(card))
    if told.winner is not None:
        yield Called(
            at=at, table=table, shoe=shoe, hand=hand, by=by, winner=told.winner, player=told.player, banker=told.banker
        )
    yield HandClosed(at=at, table=table, shoe=shoe, hand=hand, by=by)

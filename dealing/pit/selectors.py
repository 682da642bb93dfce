"""What the pit shows of every table, in a fixed number of statements however many tables there are.

What a table is doing is said by the console's own `State`, so that the two never differ. It follows from the log of the
table alone, and is remembered until the log's head moves.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from django.db import connection
from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from dealing.console import words
from dealing.console.state import State
from dealing.log import Trailed
from dealing.models import DealerShift, Hand, Shoe, Table
from dealing.people import User
from dealing.pit.access import tables_of
from dealing.rules.events import parse_line
from dealing.rules.rulesets import RulesetError, UnknownRuleset

#: What a table can be doing: words, icon and kind of badge.
STATES: Final[Mapping[str, tuple[str | Promise, str, str]]] = {
    "no-shoe": (gettext_lazy("No shoe open"), "closed", ""),
    "closed": (gettext_lazy("Shoe closed"), "closed", ""),
    "open": (gettext_lazy("Shoe open"), "open", "info"),
    "betting": (pgettext_lazy("table", "Betting"), "clock", "due"),
    "dealing": (pgettext_lazy("table", "Dealing"), "table", "info"),
    "insurance": (gettext_lazy("Insurance open"), "info", "due"),
    "complete": (gettext_lazy("Hand complete"), "check", "ok"),
    "over": (gettext_lazy("Hand over"), "corrected", ""),
}
#: The console's phases that come before the first hand.
BEFORE_THE_FIRST: Final = frozenset({"burn", "count", "ready"})
#: Which tables are shown.
ALL, NEEDS, BUSY = "all", "needs", "busy"
SHOWS: Final = (ALL, NEEDS, BUSY)


class Last(NamedTuple):
    """The newest hand that is over; `winner` empty: void, or closed without a result."""

    number: int
    winner: str
    player: int
    banker: int
    void: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What follows from a table's log: nothing of it depends on who asks, or in which language."""

    state: str
    shoe: int = 0
    hand: int = 0
    last: Last | None = None
    last_hand: bool = False
    ruleset: str = ""


class Waiting(Protocol):
    """What an app above knows of the open incidents at a table."""

    @property
    def n(self) -> int:
        """How many are open."""

    @property
    def needs(self) -> int:
        """How many of them a manager has to decide before the table can go on."""

    @property
    def since(self) -> dt.datetime:
        """When the oldest that counts was raised: of those that need a manager, else of all."""

    @property
    def stamp(self) -> str:
        """Another text after any change."""


# Reading.


#: The last of each table's facts, by its primary key, with the head of the log that they follow from.
_known: dict[int, tuple[str, Facts]] = {}


def facts_of(tables: Iterable[Table]) -> dict[int, Facts]:
    """The facts of each table by its primary key; of those whose log has moved in four statements."""
    tables = list(tables)
    moved = [table for table in tables if _known.get(table.pk, ("-",))[0] != table.last_hash]
    if moved:
        # Read after the heads: what is remembered is never older than its head.
        for table, facts in zip(moved, _read(moved), strict=True):
            _known[table.pk] = (table.last_hash, facts)
    return {table.pk: _known[table.pk][1] for table in tables}


def _read(tables: Sequence[Table]) -> list[Facts]:
    shoes = {shoe.table_id: shoe for shoe in _newest(Shoe.objects.filter(table__in=tables), "table").defer("audit")}
    playing = [shoe.pk for shoe in shoes.values() if shoe.status == Shoe.Status.OPEN]
    hands = {hand.shoe_id: hand for hand in _newest(Hand.objects.filter(shoe__in=playing), "shoe").defer("audit")}
    over = Hand.objects.filter(shoe__in=playing).exclude(status=Hand.Status.OPEN)
    last = {hand.shoe_id: hand for hand in _newest(over, "shoe").defer("audit", "context")}
    rows = _rows([shoes[pk] for pk in shoes if shoes[pk].pk in playing], list(hands.values()))
    return [_facts(table, shoes.get(table.pk), hands, last, rows.get(table.pk, [])) for table in tables]


def _newest(found: QuerySet[Any], of: str) -> QuerySet[Any]:
    """Of the shoes of each table, or of the hands of each shoe, the one with the highest number."""
    highest = found.filter(**{of: OuterRef(of)}).order_by().values(of).annotate(highest=Max("number"))
    return found.filter(number=Subquery(highest.values("highest")))


def _rows(shoes: Sequence[Shoe], hands: Sequence[Hand]) -> dict[int, list[Trailed]]:
    """As the console reads a table: the newest hand's events, and what happened beside the hands since it began."""
    if not shoes:
        return {}
    of_shoes, of_hands = _places(shoes), _places(hands)
    statement = (
        "SELECT e.table_id, e.seq, e.payload, e.actor FROM dealing_hand h "  # noqa: S608  # places only
        "JOIN dealing_shoe s ON s.id = h.shoe_id "
        "JOIN dealing_tableevent e ON e.table_id = s.table_id AND e.shoe_number = s.number "
        f"AND e.hand_number = h.number WHERE h.id IN ({of_hands}) UNION ALL "
        "SELECT e.table_id, e.seq, e.payload, e.actor FROM dealing_shoe s "
        f"LEFT JOIN dealing_hand h ON h.shoe_id = s.id AND h.id IN ({of_hands}) "
        "JOIN dealing_tableevent e ON e.table_id = s.table_id AND e.shoe_number = s.number AND e.hand_number IS NULL "
        f"AND e.seq > COALESCE(h.first_seq, 0) WHERE s.id IN ({of_shoes}) ORDER BY 1, 2"
    )
    pks = [hand.pk for hand in hands]
    rows: dict[int, list[Trailed]] = {}
    with connection.cursor() as cursor:
        cursor.execute(statement, [*pks, *pks, *(shoe.pk for shoe in shoes)])
        for table, seq, payload, actor in cursor.fetchall():
            rows.setdefault(table, []).append(Trailed(seq, parse_line(payload), actor))
    return rows


def _places(found: Collection[Any]) -> str:
    return ", ".join(["%s"] * len(found)) or "NULL"


def _facts(
    table: Table, shoe: Shoe | None, hands: Mapping[int, Hand], last: Mapping[int, Hand], rows: list[Trailed]
) -> Facts:
    if shoe is None:
        return Facts("no-shoe", ruleset=table.ruleset)
    if shoe.status != Shoe.Status.OPEN:
        return Facts("closed", shoe.number, ruleset=table.ruleset)
    hand, over = hands.get(shoe.pk), last.get(shoe.pk)
    shoe.table = table
    try:
        state = State(table, shoe, hand, shoe.number, rows)
        doing = "open" if state.phase in BEFORE_THE_FIRST else "insurance" if state.window_open else state.phase
        last_hand = state.last_hand_now or state.last_hand_done
    except (UnknownRuleset, RulesetError):  # not installed any more: one such table must not take the pit away
        doing, last_hand = "dealing" if hand and hand.status == Hand.Status.OPEN else "over", False
    result = (over.number, over.winner, over.player or 0, over.banker or 0, over.status == "voided") if over else None
    return Facts(
        doing, shoe.number, hand.number if hand else 0, Last(*result) if result else None, last_hand, shoe.ruleset
    )


# Showing.


@dataclass
class Tile:
    """A table of the pit. `stamp` is another text after anything that the tile shows has changed."""

    table: Table
    shift: DealerShift | None
    waiting: Waiting | None
    facts: Facts = Facts("no-shoe")

    @cached_property
    def stamp(self) -> str:
        """Six hexadecimal digits."""
        table, shift = self.table, self.shift
        dealer = (shift.pk, shift.dealer_id, shift.started_at.isoformat()) if shift else ()
        shown = (table.last_hash, table.name, table.ruleset, *dealer, self.waiting.stamp if self.waiting else "")
        return hashlib.blake2s(repr(shown).encode(), digest_size=3).hexdigest()

    @property
    def needs(self) -> bool:
        """Whether a manager has to decide something here."""
        return self.waiting is not None and self.waiting.needs > 0

    @property
    def busy(self) -> bool:
        """Whether there is a shoe on the table."""
        return self.facts.state not in ("no-shoe", "closed")

    @property
    def state_words(self) -> str:
        """What the table is doing."""
        return str(STATES[self.facts.state][0])

    @property
    def icon(self) -> str:
        """The icon of what the table is doing."""
        return STATES[self.facts.state][1]

    @property
    def kind(self) -> str:
        """The kind of badge for what the table is doing."""
        return STATES[self.facts.state][2]

    @property
    def ruleset(self) -> str:
        """The rules in words."""
        return words.ruleset(self.facts.ruleset or self.table.ruleset)

    @property
    def result(self) -> str:
        """The result of the last hand in words."""
        last = self.facts.last
        if last is None:
            return ""
        if last.void:
            return _("void, every stake goes back")
        return words.result(last.winner, last.player, last.banker) if last.winner else _("closed without a result")


@dataclass
class Board:
    """The tiles in the order in which they are shown; `changed`: those that a page with the stamp `seen` shows as they
    were.
    """

    tiles: list[Tile]
    changed: list[Tile]
    stamp: str

    @cached_property
    def needing(self) -> list[Tile]:
        """The tables that need a manager, those that wait longest first."""
        return [tile for tile in self.tiles if tile.needs]

    @property
    def order(self) -> str:
        """The codes of the tables as they are shown."""
        return " ".join(tile.table.code for tile in self.tiles)


@dataclass
class Pit:
    """The tables of a person's pit, read when a page or an answer is put together. `seen`: the stamp it has."""

    user: User
    seen: str = ""
    show: str = ALL
    _board: Board | None = None

    def board(self, waiting: Mapping[int, Waiting]) -> Board:
        """All tables with what `waiting` says of the incidents of each (by primary key); facts of the changed ones.

        Read once, however often the page asks.
        """
        if self._board is None:
            self._board = self._read(waiting)
        return self._board

    def _read(self, waiting: Mapping[int, Waiting]) -> Board:
        tables = list(tables_of(self.user).select_related("venue").order_by("code"))
        shifts = {
            shift.table_id: shift
            for shift in DealerShift.objects.filter(table__in=tables, ended_at=None).select_related("dealer")
        }
        tiles = [Tile(table, shifts.get(table.pk), waiting.get(table.pk)) for table in tables]
        codes = hashlib.blake2s(" ".join(table.code for table in tables).encode(), digest_size=3).hexdigest()
        stamps = [tile.stamp for tile in tiles]
        stamp = codes + "".join(stamps)
        had = [self.seen[at : at + 6] for at in range(6, len(self.seen), 6)] if self.seen[:6] == codes else []
        changed = [tile for at, tile in enumerate(tiles) if had[at : at + 1] != [stamps[at]]]
        facts = facts_of(tile.table for tile in changed)
        for tile in changed:
            tile.facts = facts[tile.table.pk]
        tiles.sort(key=_place)
        changed.sort(key=_place)
        return Board(tiles, changed, stamp)


def _place(tile: Tile) -> tuple[int, float, str]:
    if tile.needs and tile.waiting is not None:
        return 0, tile.waiting.since.timestamp(), tile.table.code
    return 1, 0.0, tile.table.code

"""What the audit of one table's gaming day comes to: plain structs, made by `dealing.rejudge`, kept as JSON.

A hand belongs to the gaming day in which its first event happened, what stands beside the hands of a shoe to the day of
its own event. Money is in the table's currency; times are aware; positions (`seq`) are those of the table's log.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Self

import msgspec


class Kept(msgspec.Struct, kw_only=True):
    """What is kept in a JSON column."""

    def as_json(self) -> dict[str, Any]:
        """Plain data for a JSON column: Decimals and times as text."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """What `as_json` wrote."""
        return msgspec.convert(data, cls, strict=False)


class ChainCheck(msgspec.Struct, kw_only=True):
    """The walk along the hash chain: from after position `checked_from` to `last_seq`, whose hash is `head`.

    `checked_from` is where this walk began: 0 the beginning, else where the audit of an earlier day had come to.
    `broken_at` and `problem` name the first break; `broken_at` None with a `problem`: no single row is to blame.
    """

    checked_from: int = 0
    last_seq: int = 0
    head: str = ""
    broken_at: int | None = None
    problem: str = ""

    @property
    def whole(self) -> bool:
        """Whether nothing is broken."""
        return not self.problem


class Found(msgspec.Struct, kw_only=True):
    """One finding of the day; `hand` 0: beside the hands of its shoe. `dealer` is a code, empty where nobody is
    known.
    """

    shoe: int
    hand: int
    at: dt.datetime
    seq: int
    code: str
    rules: list[str]
    ruling: str
    mandatory: bool
    state: str
    dealer: str = ""


class WrongPaid(msgspec.Struct, kw_only=True):
    """A bet on which another amount was paid than is owed, both without the stake. `corrected`: put right since.

    `without_commission`: what was paid is what is owed with no commission taken.
    """

    shoe: int
    hand: int
    at: dt.datetime
    seat: int
    bet: str
    owed: Decimal
    paid: Decimal
    corrected: bool
    without_commission: bool = False
    dealer: str = ""


class PaidTally(msgspec.Struct, kw_only=True):
    """The pays of one kind of bet: winning bets, those paid wrongly, those of them paid without their commission.

    `difference`: paid less owed, over all of them; positive where the house paid too much.
    """

    won: int = 0
    wrong: int = 0
    without_commission: int = 0
    difference: Decimal = Decimal("0.00")


class VoidedHand(msgspec.Struct, kw_only=True):
    """A hand, or its insurance bets (`scope`), declared void: what the stakes were, and what had been owed had it
    stood.

    `owed` excludes stakes; `lost` are stakes that the house would have kept. Both None where no result was known.
    """

    shoe: int
    hand: int
    at: dt.datetime
    scope: str
    reason: str
    stakes: Decimal
    owed: Decimal | None = None
    lost: Decimal | None = None
    dealer: str = ""


class Unreadable(msgspec.Struct, kw_only=True):
    """A row that cannot be read, or an event that cannot have happened, in English as the log's door says it."""

    seq: int
    problem: str
    shoe: int | None = None
    hand: int | None = None


class Gap(msgspec.Struct, kw_only=True):
    """Numbers that are missing: hands `first` to `last` of `shoe`; with `shoe` None, shoes `first` to `last`."""

    first: int
    last: int
    shoe: int | None = None


class DealerTally(msgspec.Struct, kw_only=True):
    """What a dealer (a code; empty: nobody known) dealt at this table, and what was found in it, by code."""

    dealer: str
    hands: int = 0
    codes: dict[str, int] = {}


class HourTally(msgspec.Struct, kw_only=True):
    """An hour of the day, from `begins` on: hands begun and findings by code. A day of 25 hours has 25."""

    begins: dt.datetime
    hands: int = 0
    codes: dict[str, int] = {}


class ShoeTally(msgspec.Struct, kw_only=True):
    """The cards and results of a shoe, as far as it is dealt: all its hands, those of the day before among them.

    `ranks` counts every card whose face was seen, by rank; `suits` the same by suit, None where some card has none;
    None for `ranks` where a sheet gave values only. `winners` are the results of complete hands in order, one of B, P,
    T each; void and unreadable hands are left out. `paired` counts the hands whose pairs can be told. `day_from` is
    the place in `winners` of the first result of the day. `burned` counts the cards burned face down when the shoe
    began, None where that is not recorded; with it, what should still have been in the shoe can be told.
    """

    shoe: int
    ruleset: str
    decks: int
    closed: str = ""
    hands: int = 0
    cards_seen: int = 0
    ranks: dict[str, int] | None = None
    suits: dict[str, int] | None = None
    winners: str = ""
    day_from: int = 0
    naturals: int = 0
    player_pairs: int = 0
    banker_pairs: int = 0
    paired: int = 0
    six_cards: int = 0
    five_cards: int = 0
    burned: int | None = None


class AmendedBy(msgspec.Struct, kw_only=True):
    """Entries of the day put right by one person (`by`, else the recording actor): corrected and withdrawn ones."""

    person: str
    corrected: int = 0
    withdrawn: int = 0


class TableNight(Kept, kw_only=True):
    """One table's gaming day, judged again from its log.

    `differences`: where what was recorded live is not what the log says now, a line of English each; `compared`: the
    hands and shoes compared. `statuses` counts hands by status. The lists are in the order of the log.
    """

    table: str
    name: str = ""
    active: bool = True
    ruleset: str = ""
    events: int = 0
    hands: int = 0
    statuses: dict[str, int] = {}
    compared: int = 0
    chain: ChainCheck = msgspec.field(default_factory=ChainCheck)
    findings: list[Found] = []
    payouts: list[WrongPaid] = []
    paid: dict[str, PaidTally] = {}
    voided: list[VoidedHand] = []
    unreadable: list[Unreadable] = []
    differences: list[str] = []
    gaps: list[Gap] = []
    dealers: list[DealerTally] = []
    hours: list[HourTally] = []
    shoes: list[ShoeTally] = []
    amendments: list[AmendedBy] = []

"""The money of a hand as the console shows it: the keys of the bet form, the bets that stand, the pay sheet.

What a bet is owed, which findings it raises and what was paid wrongly is the judge's; here it is only put together.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec
from django.db import connection
from django.utils.translation import gettext as _

from dealing import wording
from dealing.console.limits import Limits
from dealing.models import Table
from dealing.rules import events as log
from dealing.rules.audit import Finding, HandAudit
from dealing.rules.bets import BET_NAMES, INSURANCE_BETS
from dealing.rules.money import Placed, bet_codes
from dealing.rules.rulesets import Ruleset

#: Seats that have a key of their own; more are typed.
SEATS: Final = tuple(range(1, 10))
#: How many of the last stakes are offered, and how far back in the table's log they are looked for.
STAKES, LOOK_BACK = 5, 400


class BetKey(NamedTuple):
    """A key of the bet form. ``mark``: why it should not be bet now; ``warnings``: JSON, seat (or "") -> words."""

    name: str
    words: str
    limit: str
    mark: str
    warnings: str


class StandingBet(NamedTuple):
    """A bet on the hand: its entry, and what is to be remarked of it (outside the limit, findings)."""

    seq: int
    seat: int
    bet: str
    stake: Decimal
    limit: str
    remarks: tuple[str, ...]


def bet_keys(
    ruleset: Ruleset, hand: int, betting: str, insuring: bool, bets: Sequence[log.Bet], limits: Limits
) -> tuple[list[BetKey], list[BetKey]]:
    """The bets that may be placed now, then all others: closed ones, those of another time or not on the layout."""
    before = [Placed(event) for event in bets]
    seats = sorted({event.seat for event in bets})
    now: list[BetKey] = []
    others: list[BetKey] = []
    for name in BET_NAMES:
        offer = ruleset.bets.get(name)
        said = {"": _flagged(ruleset, hand, betting, name, 0, before)}
        said |= {str(seat): _flagged(ruleset, hand, betting, name, seat, before) for seat in seats}
        closed = offer is not None and offer.first_hands is not None and hand > offer.first_hands
        here = offer is not None and (name in INSURANCE_BETS) is insuring
        mark = "" if here else _("not now") if offer else _("not on this layout")
        if offer and closed:
            here, mark = False, _("closed since hand %(hand)d") % {"hand": offer.first_hands}
        limit = limits.get(name)
        warned = {seat: words for seat, words in said.items() if words and words != (said[""] if seat else "")}
        key = BetKey(name, wording.bet_name(name), limit.words if limit else "", mark, json.dumps(warned))
        (now if here else others).append(key)
    return now, others


def _flagged(ruleset: Ruleset, hand: int, betting: str, bet: str, seat: int, before: Iterable[Placed]) -> str:
    """What the judge would say of such a bet, in words."""
    event = log.Bet(at=_NEVER, table="", shoe=1, hand=hand, seat=seat, bet=bet, stake=Decimal(1))
    codes = bet_codes(event, ruleset, hand, betting or None, before)
    return " · ".join(wording.finding_title(code) for code in codes)


#: The judge's word on a bet does not depend on its time.
_NEVER: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


def standing(events: Iterable[tuple[int, log.Event]], findings: Sequence[Finding], limits: Limits) -> list[StandingBet]:
    """The bets of a hand in the order placed."""
    bets: list[StandingBet] = []
    totals: dict[tuple[int, str], Decimal] = {}
    for seq, event in events:
        if not isinstance(event, log.Bet):
            continue
        key = (event.seat, event.bet)
        totals[key] = totals.get(key, Decimal(0)) + event.stake
        limit = limits.get(event.bet)
        outside = limit.words if limit and limit.broken_by(totals[key]) else ""
        remarks = tuple(wording.finding_title(found.code) for found in findings if seq in found.seq)
        bets.append(StandingBet(seq, event.seat, event.bet, event.stake, outside, remarks))
    return bets


def recent(table: Table) -> tuple[list[Decimal], list[int]]:
    """The stakes used last at the table, the smallest first, and the seats beyond those with a key that bet lately."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST_BETS, [table.pk, table.last_seq - LOOK_BACK])
        bets = [_SEAT_AND_STAKE.decode(payload) for (payload,) in cursor.fetchall()]
    stakes = dict.fromkeys(bet.stake.normalize() for bet in bets)
    seats = {bet.seat for bet in bets if bet.seat not in SEATS}
    return sorted(list(stakes)[:STAKES]), sorted(seats)[:6]


class _SeatAndStake(msgspec.Struct):
    """All that is wanted of the line of a bet that is in the log already."""

    seat: int
    stake: Decimal


_SEAT_AND_STAKE: Final = msgspec.json.Decoder(_SeatAndStake)
_LAST_BETS: Final = (
    "SELECT payload FROM dealing_tableevent WHERE table_id = %s AND seq > %s AND name = 'bet' "
    "ORDER BY seq DESC LIMIT 60"
)


class PayRow(NamedTuple):
    """What a seat is owed on one kind of bet. ``odds``: None where nothing is won or the bets were won at several.

    ``paid`` is None where nothing is recorded; ``rest`` what is still to be paid, or (negative) taken back.
    """

    seat: int
    bet: str
    stake: Decimal
    odds: Decimal | None
    commission: Decimal
    owed: Decimal
    returned: Decimal
    paid: Decimal | None

    @property
    def name(self) -> str:
        """The field of the amount on the pay sheet."""
        return f"pay-{self.seat}-{self.bet}"

    @property
    def rest(self) -> Decimal:
        return self.owed - (self.paid or Decimal(0))

    @property
    def difference(self) -> Decimal:
        """Paid less owed: below zero where the seat got too little."""
        return -self.rest

    @property
    def even(self) -> Decimal:
        """The winnings before the commission."""
        return self.owed + self.commission

    @property
    def won(self) -> bool:
        return bool(self.owed)

    @property
    def differs(self) -> bool:
        """Whether something was paid, and not what is owed."""
        return self.paid is not None and self.paid != self.owed

    @property
    def to_pay(self) -> bool:
        """Whether the row waits for an amount."""
        return bool(self.rest)


def pay_rows(audit: HandAudit) -> list[PayRow]:
    """The pay sheet, by seat; empty while the result is not known."""
    rows: dict[tuple[int, str], PayRow] = {}
    for line in audit.settlement:
        if line.owed is None or line.returned is None:
            return []
        key = (line.seat, line.bet)
        had = rows.get(key)
        paid = audit.paid.get(key)
        if had is None:
            rows[key] = PayRow(
                line.seat, line.bet, line.stake, line.odds, line.commission, line.owed, line.returned, paid
            )
        else:
            rows[key] = PayRow(
                line.seat,
                line.bet,
                had.stake + line.stake,
                _same(had.odds, line.odds),
                had.commission + line.commission,
                had.owed + line.owed,
                had.returned + line.returned,
                paid,
            )
    nothing = Decimal("0.00")
    for (seat, bet), paid in audit.paid.items():
        if (seat, bet) not in rows and (audit.result is not None or audit.status == "voided"):
            rows[seat, bet] = PayRow(seat, bet, nothing, None, nothing, nothing, nothing, paid)
    return sorted(rows.values(), key=lambda row: row.seat)


def _same(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return one if one == other else None


class PaySheet:
    """The rows by what is to be done with them."""

    def __init__(self, rows: Sequence[PayRow], void: bool = False) -> None:
        self.rows = rows
        self.void = void
        #: Rows that wait for an amount, those that were paid right, and the rest.
        self.waiting = [row for row in rows if row.to_pay]
        self.paid = [row for row in rows if row.won and not row.to_pay]
        self.returned = [row for row in rows if not row.won and not row.to_pay and row.returned]
        self.lost = [row for row in rows if not row.won and not row.to_pay and not row.returned and row.stake]
        self.differing = [row for row in rows if row.differs]

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def to_pay(self) -> Decimal:
        """The sum of what waits."""
        return sum((row.rest for row in self.waiting), Decimal("0.00"))

    @property
    def total_paid(self) -> Decimal:
        return sum((row.paid or Decimal(0) for row in self.rows), Decimal("0.00"))

    @property
    def total_lost(self) -> Decimal:
        return sum((row.stake for row in self.lost), Decimal("0.00"))

    @property
    def total_returned(self) -> Decimal:
        return sum((row.returned for row in self.returned), Decimal("0.00"))


def wrongly_paid(audit: HandAudit) -> dict[int, PayRow]:
    """For each finding of a wrong payout, by its place among the findings, the seat, bet, and figures."""
    wrong = iter(audit.wrong_payouts)
    nothing = Decimal("0.00")
    told: dict[int, PayRow] = {}
    for n, found in enumerate(audit.findings):
        if found.code == "payout-wrong" and (payout := next(wrong, None)) is not None:
            told[n] = PayRow(payout.seat, payout.bet, nothing, None, nothing, payout.owed, nothing, payout.paid)
    return told

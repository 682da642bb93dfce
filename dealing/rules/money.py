"""The money of a hand: which bets are flagged when they are placed, what each is owed, and what was paid wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from dealing.rules.audit import Settlement, WrongPayout
from dealing.rules.bets import INSURANCE_BETS, ZERO, Outcome, commission, settle, settle_insurance
from dealing.rules.cards import Card
from dealing.rules.events import Bet, Paid
from dealing.rules.insurance import InsuranceDue
from dealing.rules.rulesets import Ruleset
from dealing.rules.tableau import Layout, Place

#: One seat may not bet these against each other (BET-opp).
OPPOSED: Final = frozenset({"player", "banker"})

#: Payments by position.
Payments = Sequence[tuple[int, Paid]]


class Placed:
    """A bet on the table. ``due`` is what an insurance bet insures; ``void`` tells whether a rule voids the bet."""

    __slots__ = ("bet", "due", "seat", "stake", "void")

    def __init__(self, event: Bet) -> None:
        self.seat = event.seat
        self.bet = event.bet
        self.stake = event.stake
        self.due: InsuranceDue | None = None
        self.void = False


def bet_codes(event: Bet, ruleset: Ruleset, hand: int, betting: str | None, before: Iterable[Placed]) -> list[str]:
    """The findings that a bet raises when it is placed; for insurance bets only whether it is offered at all.

    ``hand`` is the hand's number in its shoe, ``betting`` None, "open" or "closed", ``before`` the bets placed earlier.
    """
    offer = ruleset.bets.get(event.bet)
    if offer is None:
        return ["bet-not-offered"]
    if event.bet in INSURANCE_BETS:
        return []
    codes = []
    if betting == "closed":
        codes.append("bet-after-close")
    if offer.first_hands is not None and hand > offer.first_hands:
        codes.append("side-bet-after-limit")
    if event.bet in OPPOSED:
        mine = {placed.bet for placed in before if placed.seat == event.seat}
        if event.bet not in mine and mine & OPPOSED:  # the bet that first sets the seat against itself
            codes.append("opposing-bets")
    return codes


def outcome(layout: Layout, cards: Mapping[Place, Card]) -> Outcome:
    """A hand as its bets see it: the layout, and the cards that are known by the place where they belong."""
    return Outcome(layout, _pair(cards.get("P1"), cards.get("P2")), _pair(cards.get("B1"), cards.get("B2")))


def _pair(one: Card | None, two: Card | None) -> bool:
    return one is not None and two is not None and one.rank == two.rank


def settle_bets(
    bets: Iterable[Placed], ruleset: Ruleset, outcome: Outcome | None, void: bool, no_insurance: bool
) -> tuple[Settlement, ...]:
    """What every bet is owed and returned, in the order placed.

    ``outcome`` is None while the result is not known; ``void`` returns every stake, ``no_insurance`` insurance's.
    """
    lines = []
    for placed in bets:
        insurance = placed.bet in INSURANCE_BETS
        offer = ruleset.bets.get(placed.bet)
        owed: Decimal | None
        returned: Decimal | None
        odds = None
        if void or placed.void or offer is None or (insurance and no_insurance):
            owed, returned = ZERO, placed.stake
        elif outcome is None:
            owed = returned = None
        elif not insurance:
            owed, returned = settle(placed.bet, offer, placed.stake, outcome, ruleset.money)
            odds = offer.odds(outcome.layout)
        elif placed.due is not None:
            owed, returned = settle_insurance(placed.due, placed.stake, outcome.layout, ruleset.money)
            odds = placed.due.odds
        else:  # bought when nothing could be insured: there are no odds to settle it at
            owed, returned = ZERO, placed.stake
        won = odds if owed else None
        kept = commission(placed.bet, placed.stake, owed or ZERO)
        lines.append(Settlement(placed.seat, placed.bet, placed.stake, owed, returned, won, kept))
    return tuple(lines)


def wrong_payouts(settlement: Iterable[Settlement], paid: Payments, closed: int | None) -> tuple[WrongPayout, ...]:
    """What was paid against what is owed, by seat and bet, in the order of the log.

    ``closed``: where the hand was closed, None before. A payment counts when it is made; nothing paid on a winning bet
    counts once the hand is closed.
    """
    owed = owed_in_all(settlement)
    payments: dict[tuple[int, str], list[tuple[int, Decimal]]] = {}
    for seq, event in paid:
        payments.setdefault((event.seat, event.bet), []).append((seq, event.amount))
        owed.setdefault((event.seat, event.bet), ZERO)
    wrong = []
    for (seat, bet), due in owed.items():
        made = payments.get((seat, bet), ())
        if due is None or (closed is None and not made):
            continue
        right = _total(made) == due
        in_time = [(seq, amount) for seq, amount in made if closed is None or seq < closed]
        if right and _total(in_time) == due:
            continue
        # Put right since the hand was closed: what was wrong is what had been paid until then.
        counted = in_time if right else made
        seqs = tuple(seq for seq, _ in counted)
        at = (closed,) if closed is not None and not seqs else seqs
        wrong.append(WrongPayout(seat, bet, due, _total(counted), at, seqs, right))
    wrong.sort(key=lambda payout: payout.seq[0])
    return tuple(wrong)


def _total(payments: Iterable[tuple[int, Decimal]]) -> Decimal:
    return sum((amount for _, amount in payments), ZERO)


def owed_in_all(settlement: Iterable[Settlement]) -> dict[tuple[int, str], Decimal | None]:
    """What is owed besides the stakes, by seat and bet; None while the result is not known."""
    total: dict[tuple[int, str], Decimal | None] = {}
    for line in settlement:
        key = (line.seat, line.bet)
        sofar = total.get(key, ZERO)
        total[key] = None if sofar is None or line.owed is None else sofar + line.owed
    return total


def paid_in_all(paid: Payments) -> dict[tuple[int, str], Decimal]:
    """What was paid, by seat and bet."""
    total: dict[tuple[int, str], Decimal] = {}
    for _, event in paid:
        key = (event.seat, event.bet)
        total[key] = total.get(key, ZERO) + event.amount
    return total

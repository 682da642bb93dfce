"""The bets of the table and their exact settlement (rulebook section 3).

Odds belong to the ruleset; what makes each bet win is the same wherever it is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple

from dealing.rules.insurance import InsuranceDue
from dealing.rules.tableau import Layout

ZERO: Final = Decimal("0.00")
CENT: Final = Decimal("0.01")

ROUNDINGS: Final[dict[str, str]] = {"half-up": ROUND_HALF_UP, "half-even": ROUND_HALF_EVEN, "down": ROUND_DOWN}


class Outcome(NamedTuple):
    """A complete hand as the bets see it: its lawful layout, and whether a side's first two cards are of one rank."""

    layout: Layout
    player_pair: bool
    banker_pair: bool


#: When each bet wins (the PAY rules). The insurance bets are settled by :func:`settle_insurance`.
WINS: Final[Mapping[str, Callable[[Outcome], bool]]] = {
    "player": lambda o: o.layout.winner == "player",
    "banker": lambda o: o.layout.winner == "banker",
    "tie": lambda o: o.layout.winner == "tie",
    "player_pair": lambda o: o.player_pair,
    "banker_pair": lambda o: o.banker_pair,
    "big": lambda o: o.layout.drawn in (5, 6),
    "small": lambda o: o.layout.drawn == 4,
    # A natural ends the drawing, so the final total is the two-card total.
    "player_natural_8": lambda o: o.layout.natural and o.layout.player == 8 and o.layout.winner == "player",
    "player_natural_9": lambda o: o.layout.natural and o.layout.player == 9 and o.layout.winner == "player",
    "banker_natural_8": lambda o: o.layout.natural and o.layout.banker == 8 and o.layout.winner == "banker",
    "banker_natural_9": lambda o: o.layout.natural and o.layout.banker == 9 and o.layout.winner == "banker",
    "super_6": lambda o: o.layout.winner == "banker" and o.layout.banker == 6,
}
#: Bets whose stake a tie returns.
PUSH_ON_TIE: Final = frozenset({"player", "banker"})
#: Insurance bets and the side they insure.
INSURANCE_BETS: Final[dict[str, str]] = {"insurance_player": "player", "insurance_banker": "banker"}

#: Bets that pay even money less a commission on the winnings; the commission is in their odds (PAY-banker).
WITH_COMMISSION: Final = frozenset({"banker"})

#: Every bet of the log.
BET_NAMES: Final[tuple[str, ...]] = (*WINS, *INSURANCE_BETS)


class BetOffer(NamedTuple):
    """A bet that a ruleset offers: its rule, odds to 1 (with a third Banker card where that differs), and its limit.

    ``first_hands`` is the number of hands of a shoe for which it is open (BET-60); None: always.
    """

    rule: str
    pays: Decimal
    pays_three: Decimal | None = None
    first_hands: int | None = None

    def odds(self, layout: Layout) -> Decimal:
        """The odds to 1 at which a win with this layout is paid."""
        return self.pays if self.pays_three is None or not layout.banker_drew else self.pays_three


class Money(NamedTuple):
    """How a table rounds what it pays: its smallest unit, and a ``decimal`` rounding mode."""

    unit: Decimal
    rounding: str

    def round(self, amount: Decimal) -> Decimal:
        """The nearest payable amount, with two decimals at least."""
        if self.unit == CENT:
            return amount.quantize(CENT, rounding=self.rounding)
        payable = (amount / self.unit).quantize(Decimal(1), rounding=self.rounding) * self.unit
        return payable.quantize(min(CENT, self.unit, key=lambda d: d.as_tuple().exponent))


def settle(bet: str, offer: BetOffer, stake: Decimal, outcome: Outcome, money: Money) -> tuple[Decimal, Decimal]:
    """What a bet is owed besides its stake, and how much of the stake goes back (all or nothing).

    Commission is in the odds: 0.95 to 1 is even money less 5 % of the winnings (PAY-banker).
    """
    if WINS[bet](outcome):
        return money.round(stake * offer.odds(outcome.layout)), stake
    if bet in PUSH_ON_TIE and outcome.layout.winner == "tie":
        return ZERO, stake
    return ZERO, ZERO


def settle_insurance(due: InsuranceDue, stake: Decimal, layout: Layout, money: Money) -> tuple[Decimal, Decimal]:
    """The same for an insurance bet bought at ``due`` (PAY-ins): it pays when the other side wins."""
    if due.tie_only:
        wins, pushes = layout.winner == "tie", False
    else:
        wins, pushes = layout.winner not in (due.side, "tie"), layout.winner == "tie"
    if wins:
        return money.round(stake * due.odds), stake
    return ZERO, stake if pushes else ZERO


def commission(bet: str, stake: Decimal, owed: Decimal) -> Decimal:
    """What of a win's even money stays with the house: nothing but for the bets with commission."""
    return stake - owed if bet in WITH_COMMISSION and ZERO < owed < stake else ZERO


def amount_text(amount: Decimal) -> str:
    """An amount as the log writes it: plain digits, two decimals at least."""
    text = str(amount)
    if text[-3:-2] == ".":
        return text
    exponent = amount.as_tuple().exponent
    return str(amount.quantize(CENT) if isinstance(exponent, int) and exponent > -2 else amount)

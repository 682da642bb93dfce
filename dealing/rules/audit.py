"""What the judge answers: findings, the felt as dealt and as the rules lay it, the result, what every bet is owed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec

from dealing.rules.bets import amount_text
from dealing.rules.findings import DISCRETION, RULINGS, State
from dealing.rules.insurance import InsuranceDue
from dealing.rules.rulesets import Ruling
from dealing.rules.tableau import PLACES, Layout, Place, Winner

Places = Mapping[Place, tuple[str, ...]]


class Finding(NamedTuple):
    """One thing that is wrong: its code, where in the log, which cards, and what the ruleset says of it.

    ``seq`` are positions at the table from 1; ``options`` what the manager may decide; ``measures`` what the cited rule
    lets management do to the shoe besides; ``case`` the variant of the code on which the ruling depends.
    """

    code: str
    seq: tuple[int, ...]
    cards: tuple[str, ...]
    state: State
    rules: tuple[str, ...]
    ruling: str
    options: tuple[str, ...]
    mandatory: bool
    measures: tuple[str, ...]
    case: str

    def as_dict(self) -> dict[str, object]:
        """The finding as ``audit_log`` prints it."""
        return {
            "code": self.code,
            "seq": list(self.seq),
            "cards": list(self.cards),
            "state": self.state,
            "rules": list(self.rules),
            "ruling": self.ruling,
            "options": list(self.options),
            "mandatory": self.mandatory,
        }


def ruled(
    code: str, seq: Iterable[int], cards: Iterable[str], corrected: bool, ruling: Ruling, case: str = ""
) -> Finding:
    """A finding with what the ruleset says of it."""
    return Finding(
        code,
        tuple(seq),
        tuple(cards),
        "corrected" if corrected else "open",
        ruling.rules,
        ruling.ruling,
        ruling.options,
        ruling.mandatory,
        ruling.measures,
        case,
    )


class Settlement(NamedTuple):
    """What one bet is owed besides its stake, and what of the stake goes back; None while the result is not known.

    How a win comes about: ``odds`` to 1 (None where nothing is won), and the ``commission`` that is in them.
    """

    seat: int
    bet: str
    stake: Decimal
    owed: Decimal | None
    returned: Decimal | None
    odds: Decimal | None = None
    commission: Decimal = Decimal("0.00")

    def as_dict(self) -> dict[str, object]:
        """The settlement as ``audit_log`` prints it."""
        return {
            "seat": self.seat,
            "bet": self.bet,
            "stake": amount_text(self.stake),
            "owed": None if self.owed is None else amount_text(self.owed),
            "returned": None if self.returned is None else amount_text(self.returned),
        }


class WrongPayout(NamedTuple):
    """What one seat was paid on one bet and what it is owed, where the two differ; each is one ``payout-wrong``.

    ``owed`` and ``paid`` exclude the stake. ``seq`` is the finding's: the payments, or where the hand was closed with
    nothing paid. ``payments`` are the positions of the payments that ``paid`` adds up. ``corrected``: it has been put
    right since the hand was closed; ``paid`` is then what had been paid until the hand was closed.
    """

    seat: int
    bet: str
    owed: Decimal
    paid: Decimal
    seq: tuple[int, ...]
    payments: tuple[int, ...]
    corrected: bool

    @property
    def difference(self) -> Decimal:
        """What is missing; negative where too much was paid."""
        return self.owed - self.paid


class Result(NamedTuple):
    """The result of a complete hand as the rules lay it."""

    player: int
    banker: int
    winner: Winner
    natural: bool

    def as_dict(self) -> dict[str, object]:
        """The result as ``audit_log`` prints it."""
        return self._asdict()


class Felt(msgspec.Struct, eq=False, gc=False):
    """Cards on the felt: each place's cards in order (a place may hold two for a moment), and those beside the hand."""

    _places: Places
    extra: tuple[str, ...] = ()

    @property
    def places(self) -> Places:
        """The cards by place, as the log writes them; a card not yet known is ``??``."""
        return self._places

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Felt):
            return NotImplemented
        return self.places == other.places and self.extra == other.extra

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.places.items())), self.extra))

    def __repr__(self) -> str:
        return f"Felt({self.places}, {self.extra})"

    def side(self, letter: str) -> list[str]:
        """The cards of ``P`` or ``B``, in the order of their places."""
        return _side(self.places, _SIDES[letter])

    def as_dict(self) -> dict[str, object]:
        """The felt as ``audit_log`` prints it."""
        places = self.places
        return {"P": _side(places, _SIDES["P"]), "B": _side(places, _SIDES["B"]), "extra": list(self.extra)}


_SIDES: Final = {letter: [place for place in PLACES if place[0] == letter] for letter in "PB"}


def _side(places: Places, side: Iterable[Place]) -> list[str]:
    return [card for place in side if place in places for card in places[place]]


class HandAudit(NamedTuple):
    """Everything the rules say of a hand as the log leaves it.

    ``wrong_payouts`` are the findings ``payout-wrong`` in figures, the first of them the first finding and so on. Until
    the hand is closed a bet on which nothing was paid is not among them: it is not yet paid.
    """

    table: str
    shoe: int
    hand: int
    status: str
    dealt: Felt
    correct: Felt
    next_due: Place | None
    layout: Layout
    result: Result | None
    findings: tuple[Finding, ...]
    ruling: str | None
    settlement: tuple[Settlement, ...]
    paid: Mapping[tuple[int, str], Decimal]
    insurance_due: InsuranceDue | None
    wrong_payouts: tuple[WrongPayout, ...]

    @property
    def totals(self) -> tuple[int, int]:
        """Player's and Banker's total of the cards so far, as the rules lay them."""
        return self.layout.player, self.layout.banker

    def as_dict(self) -> dict[str, object]:
        """The JSON object of a hand that ``audit_log`` prints."""
        dealt = self.dealt.as_dict()
        correct = dealt if self.correct is self.dealt else self.correct.as_dict()
        return {
            "table": self.table,
            "shoe": self.shoe,
            "hand": self.hand,
            "status": self.status,
            "dealt": dealt,
            "correct": {**correct, "next": self.next_due},
            "result": self.result and self.result.as_dict(),
            "findings": [finding.as_dict() for finding in self.findings],
            "ruling": self.ruling,
            "settlement": [line.as_dict() for line in self.settlement],
        }


def strongest(findings: Iterable[Finding]) -> str | None:
    """The ruling on a hand: its findings' strongest mandatory one, else discretion, else None (rulebook 7.3)."""
    rulings = {finding.ruling for finding in findings}
    return next((ruling for ruling in (*RULINGS, DISCRETION) if ruling in rulings), None)

"""The limits of a table: how much a seat may stake on a bet there. Master data of the house, no rule of the game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from dealing import rows, wording
from dealing.digits import read_digits
from dealing.models import BetLimit, Table
from dealing.rules import events as log
from dealing.rules.judge import effective


def amount(value: Decimal) -> str:
    """An amount as a person writes it: `5,000`, `2.50`, `12.345`."""
    return number_format(value, decimal_pos=decimals(value), force_grouping=True)


def decimals(value: Decimal) -> int:
    """How many digits after the point show an amount exactly: none, or two at least."""
    exponent = value.normalize().as_tuple().exponent
    return max(2, -exponent) if isinstance(exponent, int) and exponent < 0 else 0


class Limit(NamedTuple):
    """The least and the most of a seat's stake on one bet; None: no bound."""

    minimum: Decimal | None
    maximum: Decimal | None

    @property
    def words(self) -> str:
        """`100 to 5,000`."""
        if self.minimum is not None and self.maximum is not None:
            return _("%(least)s to %(most)s") % {"least": amount(self.minimum), "most": amount(self.maximum)}
        if self.maximum is not None:
            return _("up to %(most)s") % {"most": amount(self.maximum)}
        return _("from %(least)s") % {"least": amount(self.minimum or Decimal(0))}

    def broken_by(self, total: Decimal) -> str:
        """`under`, `over`, or empty for a stake within."""
        if self.minimum is not None and total < self.minimum:
            return "under"
        return "over" if self.maximum is not None and total > self.maximum else ""


@dataclass
class Limits:
    """A table's limits, by bet; `""` is every bet that has none of its own."""

    by_bet: Mapping[str, Limit] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table) -> Limits:
        """Read them, in one query; in none where the table is known to have none."""
        if not table.may_have_limits:
            return cls()
        found = rows.select_all(BetLimit, "WHERE table_id = %s", [table.pk])  # asked for every bet
        return cls({row.bet: Limit(row.minimum, row.maximum) for row in found})

    def __bool__(self) -> bool:
        return bool(self.by_bet)

    def get(self, bet: str) -> Limit | None:
        """The limit of a bet, None where it has none."""
        found = self.by_bet.get(bet) or self.by_bet.get("")
        return found if found and (found.minimum is not None or found.maximum is not None) else None

    def told(self, bet: str, stake: object, sofar: Decimal | None = None) -> str:
        """What is wrong with a stake on top of what the seat has on the bet, as a sentence; empty for nothing."""
        limit, value = self.get(bet), _decimal(stake)
        if limit is None or value is None:
            return ""
        total = value + (sofar or Decimal(0))
        broken = limit.broken_by(total)
        if not broken:
            return ""
        names = {"bet": wording.bet_name(bet), "limit": limit.words, "total": amount(total)}
        if sofar:
            return _("%(bet)s takes %(limit)s a seat here; with this the seat has %(total)s on it.") % names
        if broken == "under":
            return _("%(bet)s takes %(limit)s a seat here; this is less.") % names
        return _("%(bet)s takes %(limit)s a seat here; this is more.") % names


def seat_total(table: Table, data: Mapping[str, str], seat: object, bet: str) -> Decimal:
    """What the seat has on the bet already in the hand that the form is about."""
    shoe, hand = read_digits(data.get("shoe")), read_digits(data.get("hand"))
    total = Decimal(0)
    if shoe is not None and hand is not None:
        rows = table.events.filter(shoe_number=shoe, hand_number=hand, name__in=("bet", "amended"))
        parsed = [(row.seq, row.parse()) for row in rows.order_by("seq")]
        known = {seq for seq, _event in parsed}
        bets = [(seq, e) for seq, e in parsed if not isinstance(e, log.Amended) or e.seq in known]
        for _seq, event in effective(bets).events:
            if isinstance(event, log.Bet) and (event.seat, event.bet) == (seat, bet):
                total += event.stake
    return total


def _decimal(text: object) -> Decimal | None:
    try:
        value = Decimal(str(text))
    except InvalidOperation:
        return None
    return value if value.is_finite() else None

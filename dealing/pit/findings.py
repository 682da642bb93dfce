"""What was found in each dealer's hands: from the stored projections, in a fixed number of statements."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Q

from dealing.models import Dealer, DealerShift, Hand, Shoe, TableEvent, Venue
from dealing.pit.duty import Duty, Span

#: Rates are for so many hands.
PER: int = 1000


class Found(NamedTuple):
    """A hand in which something was found; `hand` 0: beside the hands of its shoe."""

    table: str
    shoe: int
    hand: int
    at: dt.datetime
    codes: tuple[str, ...]


@dataclass
class Record:
    """What is known of one dealer in the period; `dealer` None: of hands and times without a shift."""

    dealer: Dealer | None
    hands: int = 0
    found: list[Found] = field(default_factory=list)

    @property
    def codes(self) -> list[tuple[str, int]]:
        """How often each finding came, the most frequent first."""
        counted = Counter(code for one in self.found for code in one.codes)
        return sorted(counted.items(), key=lambda item: (-item[1], item[0]))

    @property
    def findings(self) -> int:
        """How many findings there are."""
        return sum(len(one.codes) for one in self.found)

    @property
    def rate(self) -> float | None:
        """Findings for every 1,000 hands; None where no hand was dealt."""
        return self.per(self.findings)

    def per(self, count: int) -> float | None:
        """So many findings for every 1,000 hands; None where no hand was dealt."""
        return round(count * PER / self.hands, 1) if self.hands else None

    @property
    def rates(self) -> list[tuple[str, int, float | None]]:
        """`codes`, each with its rate."""
        return [(code, count, self.per(count)) for code, count in self.codes]


@dataclass
class Report:
    """All dealers of a house in a period, in the order of their codes; `unknown`: what no shift accounts for."""

    records: list[Record]
    unknown: Record

    @property
    def house(self) -> Record:
        """Everybody together."""
        everybody = [*self.records, self.unknown]
        return Record(None, sum(one.hands for one in everybody), [found for one in everybody for found in one.found])


def load_report(venue: Venue, start: dt.datetime, end: dt.datetime) -> Report:
    """What began in the house from `start` on and before `end`, by who dealt when it began."""
    during = Q(ended_at=None) | Q(ended_at__gt=start)
    shifts = DealerShift.objects.filter(during, table__venue=venue, started_at__lt=end)
    duty = Duty(Span(*row) for row in shifts.values_list("table_id", "dealer_id", "started_at", "ended_at"))
    records = {dealer.pk: Record(dealer) for dealer in Dealer.objects.filter(venue=venue).order_by("code")}
    unknown = Record(None)

    def of(table: int, at: dt.datetime) -> Record:
        dealer = duty.dealer(table, at)
        return unknown if dealer is None else records[dealer]

    hands = Hand.objects.filter(shoe__table__venue=venue, started_at__gte=start, started_at__lt=end).order_by()
    for table, began in hands.values_list("shoe__table_id", "started_at").iterator(5000):
        of(table, began).hands += 1
    wrong = hands.filter(has_findings=True).values_list(
        "shoe__table_id", "shoe__table__code", "shoe__number", "number", "started_at", "audit"
    )
    for table, code, shoe, number, began, audit in wrong:
        codes = tuple(finding["code"] for finding in audit["findings"])
        of(table, began).found.append(Found(code, shoe, number, began, codes))
    for table, found in _beside_hands(venue, start, end):
        of(table, found.at).found.append(found)
    for record in (*records.values(), unknown):
        record.found.sort(key=lambda one: one.at, reverse=True)
    kept = [one for one in records.values() if one.hands or one.found or (one.dealer and one.dealer.is_active)]
    return Report(kept, unknown)


def _beside_hands(venue: Venue, start: dt.datetime, end: dt.datetime) -> list[tuple[int, Found]]:
    """What was found beside the hands of a shoe (the burn, a card dropped), at the time of the event that shows it."""
    lasting = Q(closed_at=None) | Q(closed_at__gte=start)
    shoes = list(
        Shoe.objects.filter(lasting, table__venue=venue, opened_at__lt=end, has_findings=True)
        .select_related("table")
        .only("number", "audit", "table__code")
    )
    places = {(shoe.table_id, finding["seq"][-1]) for shoe in shoes for finding in shoe.audit["findings"]}
    if not places:
        return []
    events = TableEvent.objects.filter(
        table__in={table for table, _seq in places}, seq__in={seq for _table, seq in places}, at__gte=start, at__lt=end
    )
    times = {(table, seq): at for table, seq, at in events.values_list("table_id", "seq", "at")}
    return [
        (shoe.table_id, Found(shoe.table.code, shoe.number, 0, at, (finding["code"],)))
        for shoe in shoes
        for finding in shoe.audit["findings"]
        if (at := times.get((shoe.table_id, finding["seq"][-1]))) is not None
    ]

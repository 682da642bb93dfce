"""What was decided in a house in some time: departures from the rules, money, how long it took, what the log lacks.

All of it is read in bulk: a thousand decisions take a few statements for every five hundred.
"""

from __future__ import annotations

import datetime as dt
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec
from django.db import connection
from django.db.models import F, OuterRef, QuerySet, Subquery

from dealing.models import Hand, TableEvent, Venue
from dealing.rules.bets import INSURANCE_BETS
from dealing.rules.events import EventError, Voided, parse_line
from dealing.rules.hand import HandContext, HandFold
from dealing.rules.judge import effective
from dealing.rules.rulesets import RulesetError
from incidents import rulings
from incidents.models import Decision, Incident, IncidentFinding

from .figures import LISTED, DecisionFigures, Departure, TableNote

#: Rows asked for in one statement.
BULK: Final = 500

Span = tuple[dt.datetime, dt.datetime]
T = TypeVar("T")


@dataclass
class Decided:
    """The decisions of the time: figures, and what wants attention (whole lists, the oldest first)."""

    figures: DecisionFigures = field(default_factory=DecisionFigures)
    departures: list[Departure] = field(default_factory=list)
    missing: list[TableNote] = field(default_factory=list)


def decided_in(venue: Venue, span: Span) -> Decided:
    """What was decided from the first time on and before the second."""
    decisions = list(_decisions(venue, span).select_related("incident__table"))
    out = Decided()
    out.figures.decisions = len(decisions)
    out.figures.actions = dict(Counter(action for one in decisions for action in one.actions).most_common())
    out.departures = [departure_of(one) for one in decisions if one.departs]
    out.missing = list(_not_in_the_log(decisions))
    _add_money(out.figures, decisions)
    set_times(out.figures, waits(venue, span))
    return out


def _decisions(venue: Venue, span: Span) -> QuerySet[Decision]:
    return Decision.objects.filter(
        incident__table__venue=venue, decided_at__gte=span[0], decided_at__lt=span[1]
    ).order_by("decided_at", "pk")


def waits(venue: Venue, span: Span) -> list[float]:
    """Seconds from each incident first decided in the time to that decision."""
    first = _decisions(venue, span).filter(number=1).values_list("decided_at", F("incident__opened_at"))
    return [max(0.0, (decided - opened).total_seconds()) for decided, opened in first]


def set_times(figures: DecisionFigures, seconds: Sequence[float]) -> None:
    """The median, what nine in ten took at most, and the longest; nothing is set where nothing was decided."""
    figures.timed = len(seconds)
    if seconds:
        in_order = sorted(seconds)
        figures.median = round(statistics.median(in_order), 1)
        figures.slowest_tenth = round(in_order[-(-9 * len(in_order) // 10) - 1], 1)
        figures.longest = round(in_order[-1], 1)


def departure_of(decision: Decision) -> Departure:
    """The decision with the mandatory rulings that it does not follow, and their rules."""
    findings = [
        IncidentFinding(**{name: value for name, value in one.items() if name != "citations"})
        for one in decision.rulings
    ]
    recommended = rulings.recommend(findings, {})
    left = rulings.departures(decision.actions, recommended) or recommended.mandatory
    rules = dict.fromkeys(rule for one in findings if one.mandatory and one.ruling in left for rule in one.rules)
    incident = decision.incident
    return Departure(
        incident=incident.pk,
        table=incident.table.code,
        shoe=incident.shoe_number,
        hand=incident.hand_number or 0,
        decided_at=decision.decided_at,
        decided_by=decision.decided_by_name,
        actions=list(decision.actions),
        rulings=list(left),
        rules=list(rules),
        reason=decision.reason,
    )


def _not_in_the_log(decisions: Iterable[Decision]) -> Iterator[TableNote]:
    """Decisions that name events which the log of their table does not have, or has of another shoe or hand."""
    for some in chunks([one for one in decisions if one.events]):
        asked = {(one.incident.table_id, seq) for one in some for seq in one.events}
        found = TableEvent.objects.filter(table__in={table for table, _ in asked}, seq__in={seq for _, seq in asked})
        there = {
            (table, seq): (shoe, hand)
            for table, seq, shoe, hand in found.values_list("table_id", "seq", "shoe_number", "hand_number")
        }
        for one in some:
            incident = one.incident
            # What closes the shoe stands beside its hands.
            places = {(incident.shoe_number, incident.hand_number), (incident.shoe_number, None)}
            lost = [seq for seq in one.events if there.get((incident.table_id, seq)) not in places]
            if lost:
                yield TableNote(
                    table=incident.table.code,
                    text=f"decision {one.number} was carried out with event {', '.join(map(str, lost))}, "
                    "and the log has no such event of this hand",
                    seq=lost[0],
                    shoe=incident.shoe_number,
                    hand=incident.hand_number,
                )


# The money.


def _add_money(figures: DecisionFigures, decisions: Iterable[Decision]) -> None:
    """The money of the decisions that void or correct, the last of the time of each incident."""
    last = {one.incident_id: one for one in decisions}
    acting = {rulings.VOID_HAND, rulings.VOID_INSURANCE, rulings.CORRECT}
    wanted = {pk: one for pk, one in last.items() if acting & set(one.actions) and one.incident.hand_number}
    for some in chunks(list(wanted)):
        for pk, fold in _folds(some):
            actions = set(wanted[pk].actions)
            if {rulings.VOID_HAND, rulings.VOID_INSURANCE} & actions:
                _add_voided(figures, fold, whole=rulings.VOID_HAND in actions)
            if rulings.CORRECT in actions:
                _add_corrected(figures, fold, wanted[pk].events)


def _add_voided(figures: DecisionFigures, fold: HandFold, *, whole: bool) -> None:
    voids = [seq for seq, event in fold.trail if isinstance(event, Voided)]
    stood = rulings.without(fold, voids).audit()
    figures.voided_hands += whole
    for line in stood.settlement:
        if not whole and line.bet not in INSURANCE_BETS:
            continue
        figures.void_returned += line.stake
        if line.owed is not None and line.returned is not None:
            figures.void_owed += line.owed
            figures.void_kept += line.stake - line.returned


def _add_corrected(figures: DecisionFigures, fold: HandFold, events: Sequence[int]) -> None:
    before, after = rulings.without(fold, set(events)).audit(), fold.audit()
    figures.corrected_hands += 1
    for line in rulings.money(before, after, fold.context.ruleset):
        if line.as_dealt is not None and line.owed_after is not None:
            figures.corrected += line.owed_after - line.as_dealt


_PLACE: Final = (
    "FROM incidents_incident i JOIN dealing_shoe s ON s.table_id = i.table_id AND s.number = i.shoe_number "
    "JOIN dealing_hand h ON h.shoe_id = s.id AND h.number = i.hand_number "
)


def _folds(incidents: Sequence[int]) -> Iterator[tuple[int, HandFold]]:
    """The hands of these incidents, folded from the log; those are left out that cannot be judged any more."""
    places = ", ".join(["%s"] * len(incidents))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT i.id, h.context {_PLACE}WHERE i.id IN ({places})", incidents)  # places
        contexts: dict[int, Any] = dict(cursor.fetchall())
        cursor.execute(
            "SELECT i.id, e.seq, e.payload FROM incidents_incident i "  # noqa: S608  # places only
            "JOIN dealing_tableevent e ON e.table_id = i.table_id AND e.shoe_number = i.shoe_number "
            f"AND e.hand_number = i.hand_number WHERE i.id IN ({places}) ORDER BY i.id, e.seq",
            incidents,
        )
        lines: dict[int, list[tuple[int, str]]] = {}
        for pk, seq, payload in cursor.fetchall():
            lines.setdefault(pk, []).append((seq, payload))
    for pk, context in contexts.items():
        try:
            yield pk, _fold(context, lines.get(pk, []))
        except (EventError, RulesetError):
            continue  # the report names the rows that cannot be read


def _fold(context: Any, lines: Sequence[tuple[int, str]]) -> HandFold:
    data: Mapping[str, Any] = msgspec.json.decode(context) if isinstance(context, str | bytes) else context
    events = effective((seq, parse_line(payload)) for seq, payload in lines).events
    return HandFold.of(HandContext.from_json(data), events)


def hand_starts(incidents: Sequence[int]) -> dict[int, dt.datetime]:
    """When the hand of each of these incidents began, as recorded; without those whose hand is not there."""
    hand = Hand.objects.filter(
        shoe__table=OuterRef("table"), shoe__number=OuterRef("shoe_number"), number=OuterRef("hand_number")
    )
    found: dict[int, dt.datetime] = {}
    for some in chunks(incidents):
        of_these = Incident.objects.filter(pk__in=some).annotate(began=Subquery(hand.values("started_at")[:1]))
        found |= {pk: began for pk, began in of_these.values_list("pk", "began") if began is not None}
    return found


def chunks(of: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items, so many at a time as one statement asks for."""
    for begin in range(0, len(of), BULK):
        yield of[begin : begin + BULK]


def listed(of: Sequence[T]) -> list[T]:
    """As many as a report lists."""
    return list(of[:LISTED])

"""Recording a shorthand log (`tests.rules_logs`) into the database, for the tests of incidents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from django.contrib.auth.models import User

from dealing.log import hand_fold, record
from dealing.models import Hand, Table, TableEvent
from dealing.rules.events import Event
from dealing.rules.judge import HandAudit
from incidents.models import Decision, Incident
from incidents.services import do_decide_incident
from tests.conftest import MakeTable, People
from tests.rules_logs import log

RECORDER = "somchai"


@dataclass
class House:
    """A table with its log, and the people around it."""

    table: Table
    people: People
    ruleset: str

    def record(self, text: str, prelude: bool = True, actor: str = RECORDER) -> list[TableEvent]:
        """Record the tokens, one transaction each, going on from the table's last event."""
        self.table.refresh_from_db()
        start = self.table.last_seq
        # Padding keeps the shorthand's numbers those of the log, so that `fix:9` means position 9.
        padding = "open " * start
        events, _ = log(f"hand:99 {padding} hand:1 {text}" if start else text, self.ruleset, prelude and not start)
        return [record(event, actor=actor).row for event in self._mine(events[start:])]

    def _mine(self, events: list[tuple[int, Event]]) -> Iterator[Event]:
        for _, event in events:
            yield event

    def incident(self, hand: int | None = 1) -> Incident:
        return Incident.objects.get(table=self.table, hand_number=hand)

    def manager(self, name: str = "nok") -> User:
        return self.people("manager", name)

    def decide(self, *actions: str, reason: str = "", hand: int | None = 1, by: User | None = None) -> Decision:
        return do_decide_incident(self.incident(hand), by or self.manager(), actions, reason)

    def audit(self, hand: int = 1) -> HandAudit:
        """The judge's answer from the log; the projection says the same."""
        row = Hand.objects.get(shoe__table=self.table, number=hand)
        audit = hand_fold(row).audit()
        assert row.audit == audit.as_dict()
        return audit

    def lines(self, decision: Decision) -> list[str]:
        """The events that a decision appended, in the order of the log, as `moved B3>P3`."""
        rows = TableEvent.objects.filter(table=self.table, seq__in=decision.events).order_by("seq")
        return [_short(row.parse()) for row in rows]


def _short(event: Event) -> str:
    for attributes in (
        ("source", "to"),
        ("seat", "bet", "amount"),
        ("winner",),
        ("scope",),
        ("place", "extra"),
        ("reason",),
    ):
        values = [getattr(event, name) for name in attributes if getattr(event, name, None) not in (None, False)]
        if values:
            return f"{event.name} {'>'.join(map(str, values))}"
    return event.name


class MakeHouse:
    """`house("insurance")`: a table of that ruleset."""

    def __init__(self, table: MakeTable, people: People) -> None:
        self._table, self._people, self._numbers = table, people, count(7)

    def __call__(self, ruleset: str = "commission") -> House:
        return House(self._table("B07", ruleset=ruleset), self._people, ruleset)

"""Recording a shorthand log (`tests.rules_logs`) into the database, for the tests of incidents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from dealing.log import hand_fold, record, record_many
from dealing.models import Hand, Table, TableEvent
from dealing.rules.audit import HandAudit
from dealing.rules.events import Event, event_as_dict
from incidents.models import Decision, Incident
from incidents.services import do_decide_incident
from tests.conftest import People
from tests.rules_logs import log

RECORDER = "somchai"


@dataclass
class House:
    """A table with its log, and the people around it."""

    table: Table
    people: People
    said: list[str] = field(default_factory=list)

    def record(
        self, text: str, prelude: bool = True, actor: str = RECORDER, together: bool = False
    ) -> list[TableEvent]:
        """Record the tokens, a transaction each (or all `together`), going on from what was recorded so before."""
        done = len(self._lines(prelude)) if self.said else 0
        self.said.append(text)
        lines = self._lines(prelude)[done:]
        if together:
            return [recorded.row for recorded in record_many(lines, actor=actor)]
        return [record(line, actor=actor).row for line in lines]

    def _lines(self, prelude: bool) -> list[dict[str, Any]]:
        # Without a time, so that the table's own clock stamps them: decisions are stamped so too.
        events, _ = log(" ".join(self.said), self.table.ruleset, prelude)
        lines = []
        for _, event in events:
            line: dict[str, Any] = {**event_as_dict(event), "table": self.table.code}
            del line["at"]
            if "entry" in line:
                line["entry"]["table"] = self.table.code
            lines.append(line)
        return lines

    def incident(self, hand: int | None = 1) -> Incident:
        """The incident of a hand of the first shoe, or of the shoe."""
        return Incident.objects.select_related("table__venue").get(table=self.table, shoe_number=1, hand_number=hand)

    def manager(self, name: str = "nok") -> User:
        """A manager who recorded nothing."""
        return self.people("manager", name)

    def decide(self, *actions: str, reason: str = "", hand: int | None = 1, by: str = "nok") -> Decision:
        """Decide the incident of a hand."""
        return do_decide_incident(self.incident(hand), self.manager(by), actions, reason)

    def audit(self, hand: int = 1) -> HandAudit:
        """The judge's answer from the log; the projection has to say the same."""
        row = Hand.objects.select_related("shoe").get(shoe__table=self.table, shoe__number=1, number=hand)
        audit = hand_fold(row).audit()
        assert row.audit == audit.as_dict()
        return audit

    def lines(self, decision: Decision) -> list[str]:
        """The events that a decision appended, in the order of the log, as `moved B3 P3`."""
        rows = TableEvent.objects.filter(table=self.table, seq__in=decision.events).order_by("seq")
        return [said(row.parse()) for row in rows]


def said(event: Event) -> str:
    """An event in short, as the shorthand's words."""
    told = (("seq",), ("source", "to"), ("seat", "bet", "amount"), ("winner",), ("scope",), ("place",), ("reason",))
    for attributes in told:
        values = [str(getattr(event, name)) for name in attributes if getattr(event, name, None) is not None]
        if values:
            return " ".join([event.name, *values])
    return event.name

"""Several people at once: connections of their own, as in real life."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from dealing.log import record
from dealing.models import TableEvent
from incidents.models import Decision
from incidents.selectors import load_case
from incidents.services import do_decide_incident
from tests.conftest import MakeTable, People
from tests.incident_logs import House

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def here(table: MakeTable, people: People) -> House:
    """A hand with a misplaced fifth card, still being dealt."""
    house = House(table("B07", ruleset="commission"), people)
    house.record("open close P1:2h B1:4s P2:3d B2:Kc B3:6h")
    return house


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """What each job gave or raised; they start together, each in a thread with its own connection."""
    gate = threading.Barrier(len(jobs))
    answers: list[Any] = [None] * len(jobs)

    def run(number: int, job: Callable[[], Any]) -> None:
        try:
            gate.wait(timeout=30)
            answers[number] = job()
        except Exception as error:  # noqa: BLE001  # what was raised is the answer
            answers[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=job) for job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return answers


def test_of_two_managers_at_once_one_decides_and_the_other_is_told(here: House) -> None:
    incident = here.incident()
    seen = load_case(incident).seen
    people = [here.manager(name) for name in ("nok", "dao")]
    answers = at_once(
        *(lambda user=user: do_decide_incident(incident, user, ["correct"], seen=seen) for user in people)
    )
    (refused,) = [answer for answer in answers if isinstance(answer, ValidationError)]
    assert "This changed while you were looking at it" in str(refused.messages)
    assert Decision.objects.count() == 1
    assert TableEvent.objects.filter(name="moved").count() == 1


def test_deciding_and_recording_at_once_wait_for_each_other(here: House) -> None:
    incident, user = here.incident(), here.manager()
    line = {"event": "exposed", "table": "B07", "shoe": 1, "hand": 1, "when": "drawing"}
    decision, *recorded = at_once(
        lambda: do_decide_incident(incident, user, ["correct"], reason="whatever joins"),
        *(lambda: record(line, actor="somchai") for _ in range(3)),
    )
    assert not [answer for answer in recorded if isinstance(answer, Exception)]
    seqs = list(TableEvent.objects.order_by("seq").values_list("seq", flat=True))
    if isinstance(decision, ValidationError):  # a finding came first that this decision says nothing of
        assert list(decision.message_dict) == ["actions"]
        assert seqs == list(range(1, 14))
        assert here.incident().status == "open"
        return
    assert isinstance(decision, Decision)
    assert seqs == list(range(1, 15))
    # Whatever came after the decision opened the incident again.
    late = TableEvent.objects.filter(name="exposed", seq__gt=decision.events[0]).exists()
    assert here.incident().status == ("open" if late else "decided")

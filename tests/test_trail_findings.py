"""Findings of incidents are a projection of the log: a change of them is found and named, and a rebuild mends it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from dealing.models import Hand
from dealing.tasks import verify_tables
from incidents.models import IncidentFinding
from incidents.reports import trail_words
from incidents.trail.models import TrailWalk
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.test_trail_tampering import MISPLACED, _places, run  # noqa: F401  # a fixture

pytestmark = pytest.mark.django_db
OF = "findings of table B07: "


@pytest.fixture
def house(table: MakeTable, people: People) -> House:
    """A table with an incident that is open."""
    house = House(table("B07"), people)
    house.record(MISPLACED, together=True)
    return house


def said(*options: str) -> list[str]:
    return [line.removeprefix(OF) for line in run(*options)[1] if line.startswith(OF)]


def rebuilt() -> str:
    out = io.StringIO()
    call_command("rebuild", stdout=out, no_color=True)
    return out.getvalue()


def sql(text: str, *params: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, params)


CHANGES = [
    ("UPDATE incidents_incidentfinding SET ruling = 'other', code = 'invented'", "was changed: code, ruling"),
    ("UPDATE incidents_incidentfinding SET closed_by_rule = 'S-99'", "was changed: closed_by_rule"),
    ("DELETE FROM incidents_incidentfinding", "is missing"),
    (
        "INSERT INTO incidents_incidentfinding (incident_id, position, code, seq, cards, rules, ruling, options, "
        "mandatory, state, closed_by_rule) SELECT incident_id, position + 40, 'invented', seq, cards, rules, ruling, "
        "options, mandatory, state, '' FROM incidents_incidentfinding",
        "(invented) was put in: the log has no such finding",
    ),
]


@pytest.mark.parametrize(("statement", "problem"), CHANGES)
def test_a_changed_finding_is_named_and_put_right(house: House, statement: str, problem: str) -> None:
    assert said() == said("--projections") == []
    incident = house.incident()
    before = [finding.as_dict() for finding in incident.findings.all()]
    sql(statement)
    for options in ((), ("--projections",)):
        assert run(*options)[0] == 1
        for line in said(*options):
            assert line.startswith(f"incident {incident.pk} (B07 shoe 1 hand 1): its finding ")
            assert line.endswith(problem)
            assert trail_words.words(line) != line
    assert verify_tables()["findings of table B07"] == OF + said()[0]
    assert f"incidents put right: {incident.pk}" in rebuilt()
    assert [finding.as_dict() for finding in incident.findings.all()] == before
    assert run("--projections")[0] == 0
    assert not TrailWalk.objects.exclude(count=0).exists()
    assert "put right" not in rebuilt()


def test_what_was_changed_with_the_hand_is_found_by_judging_again(house: House) -> None:
    IncidentFinding.objects.all().delete()
    hand = Hand.objects.get()
    hand.audit["findings"] = []
    hand.has_findings = False
    hand.save()
    assert said() == []
    deep = said("--projections")
    assert deep
    assert all("is missing" in line for line in deep)
    run()
    assert TrailWalk.objects.get(name="findings of table B07").count == len(deep)
    rebuilt()
    assert run("--projections")[0] == 0
    assert TrailWalk.objects.get(name="findings of table B07").count == 0


def test_a_deleted_incident_is_named(house: House) -> None:
    codes = ", ".join(house.incident().findings.values_list("code", flat=True))
    IncidentFinding.objects.all().delete()
    sql("DELETE FROM incidents_incident")
    line = f"the incident of shoe 1 hand 1 is missing: the log has findings there ({codes})"
    assert said() == said("--projections") == [line]
    assert trail_words.words(line) != line
    rebuilt()
    assert said("--projections") == []

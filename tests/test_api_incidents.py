"""Incidents and decisions through the API: what went wrong, what the rules say of it, what was decided."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from incidents.models import Decision, Incident
from incidents.selectors import load_case
from incidents.services import do_decide_incident
from tests.api_house import ApiHouse, read, read_all, standing_house

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: Any) -> Iterator[ApiHouse]:
    with standing_house(django_db_blocker) as house:
        yield house


@pytest.fixture
def reader(client: Client, house: ApiHouse) -> Client:
    client.force_login(house.people("recorder"))
    return client


def test_an_incident_says_what_its_page_says(reader: Client, house: ApiHouse) -> None:
    own = Incident.objects.filter(table__venue=house.venue).order_by("-opened_at", "-pk")
    listed = read_all(reader, "incidents/", page_size=4)
    assert [one["id"] for one in listed] == [incident.pk for incident in own]
    assert len(listed) > 8
    for incident, one in zip(own, listed, strict=True):
        case = load_case(incident)
        assert (one["status"], one["version"]) == (incident.status, incident.version)
        assert [finding["code"] for finding in one["findings"]] == [finding.code for finding in case.findings]
        assert one["recommendation"]["headline"] == case.recommendation.headline
        assert one["recommendation"]["mandatory"] == list(case.recommendation.mandatory)
        assert read(reader, one["links"]["self"]) == one
        if one["hand"] is not None:
            hand = read(reader, one["links"]["hand"])
            kept = [{name: found[name] for name in hand["findings"][0]} for found in one["findings"]]
            assert kept == hand["findings"]
    cited = [citation for one in listed for citation in one["recommendation"]["citations"]]
    assert all(citation["text"]["en"] and citation["text"]["th"] for citation in cited)
    assert cited


def test_a_decision_and_the_one_that_supersedes_it(reader: Client, house: ApiHouse) -> None:
    first = house.decision
    address = f"incidents/{first.incident_id}/decisions/1/"
    one = read(reader, address)
    assert (one["actions"], one["reason"], one["decided_by"]) == (["void hand"], "Nobody saw the card", "malee")
    assert one["in_force"]
    assert one["departs"] == first.departs
    assert dt.datetime.fromisoformat(one["decided_at"]) == first.decided_at
    assert [finding["code"] for finding in one["findings"]] == [finding["code"] for finding in first.rulings]
    assert one["findings"][0]["citations"][0]["text"]["th"]
    log = read_all(reader, "tables/B09/events/")
    assert [row["event"]["event"] for row in log if row["seq"] in one["events"]] == ["voided"]
    assert read(reader, one["links"]["incident"])["decision"] == one

    second = do_decide_incident(first.incident, house.people("manager", "malee"), ["correct"], "It was seen")
    assert not read(reader, address)["in_force"]
    incident = read(reader, one["links"]["incident"])
    assert incident["decision"]["number"] == 2
    assert [link.rsplit("/", 2)[1] for link in incident["links"]["decisions"]] == ["1", "2"]
    assert [one["number"] for one in read_all(reader, "decisions/")] == [2, 1]
    for query, numbers in (
        ({"in_force": "true"}, [2]),
        ({"in_force": "false"}, [1]),
        ({"departs": "true"}, [one.number for one in (second, first) if one.departs]),
        ({"incident": first.incident_id}, [2, 1]),
        ({"table": "B07"}, []),
        ({"from": second.decided_at.isoformat()}, [2]),
        ({"to": second.decided_at.isoformat()}, [1]),
    ):
        assert [one["number"] for one in read_all(reader, "decisions/", **query)] == numbers, query


def test_incidents_are_filtered(reader: Client, house: ApiHouse) -> None:
    everything = read_all(reader, "incidents/")
    code = everything[-1]["findings"][0]["code"]
    middle = everything[4]["opened_at"]
    for query, fits in (
        ({"status": "open"}, lambda one: one["status"] == "open"),
        ({"status": "decided"}, lambda one: one["status"] == "decided"),
        ({"table": "B07", "shoe": 2}, lambda one: (one["table"], one["shoe"]) == ("B07", 2)),
        ({"hand": 3}, lambda one: one["hand"] == 3),
        ({"code": code}, lambda one: code in [finding["code"] for finding in one["findings"]]),
        ({"from": middle}, lambda one: one["opened_at"] >= middle),
        ({"venue": "HILL"}, lambda one: False),
    ):
        expected = [one for one in everything if fits(one)]
        assert read_all(reader, "incidents/", **query) == expected, query
        assert len(expected) < len(everything)
    for query, field in (({"state": "open"}, "state"), ({"code": "fifth"}, "code"), ({"shoe": "0"}, "shoe")):
        assert list(read(reader, "incidents/", 400, **query)["errors"]) == [field]


def test_what_is_not_there_and_what_is_another_house_s(client: Client, reader: Client, house: ApiHouse) -> None:
    foreign = Incident.objects.filter(table=house.tables["X01"])[0]
    for address in (
        "incidents/999999/",
        f"incidents/{foreign.pk}/",
        f"incidents/{house.decision.incident_id}/decisions/7/",
        f"incidents/{foreign.pk}/decisions/1/",
    ):
        read(reader, address, 404)
    member = house.people("manager", "hill").staff_member
    member.venue = house.other
    member.save()
    client.force_login(member.user)
    assert {one["table"] for one in read_all(client, "incidents/")} == {"X01"}
    assert read_all(client, "decisions/") == []
    read(client, f"incidents/{house.decision.incident_id}/decisions/1/", 404)


@pytest.mark.parametrize(("address", "most"), [("incidents/", 5), ("decisions/", 3)])
def test_a_list_asks_the_database_a_fixed_number_of_times(
    reader: Client, house: ApiHouse, address: str, most: int, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(most):
        assert read(reader, address)["results"]
    assert Decision.objects.count() == 1

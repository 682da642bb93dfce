"""Replaying a hand: as of every event, the page says what the judge said then."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from dealing.models import Hand
from incidents.review.replay import replay
from incidents.selectors import load_case, log_of
from tests.conftest import MakeTable, People
from tests.incident_logs import House

pytestmark = pytest.mark.django_db

MISPLACED = "open bet:1:banker=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:player:0-0 end"


@pytest.fixture
def here(table: MakeTable, people: People) -> House:
    return House(table("B07", ruleset="insurance"), people)


@pytest.fixture
def reader(client: Client, people: People) -> Client:
    client.force_login(people("auditor"))
    return client


def said(response: Any) -> str:
    body = re.sub(r"<(script|style|svg).*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)))


def step(client: Client, here: House, number: object, hand: int | None = 1) -> Any:
    return client.get(f"/incidents/{here.incident(hand).pk}/step/?step={number}")


def as_of(here: House, number: object, hand: int = 1) -> Any:
    case = load_case(here.incident(hand))
    return replay(case, list(log_of(case.incident)), str(number))


def test_each_step_says_what_the_judge_said_live(here: House) -> None:
    """Recorded one by one, the live answers are the steps of the replay."""
    live = []
    for token in MISPLACED.split():
        here.record(token)
        live.append(Hand.objects.get().audit)
    shown = [as_of(here, number) for number in range(1, len(live) + 1)]
    assert [one.audit.as_dict() for one in shown] == live
    assert [one.step for one in shown] == list(range(1, 12))
    assert {one.steps for one in shown} == {11}
    assert [one.at_end for one in shown].index(True) == 10
    findings = [len(one.audit.findings) for one in shown]
    assert findings[:7] == [0] * 7
    assert findings[7] == 1, "the card dealt to the wrong side is found with it, and not before"


def test_the_page_shows_the_felt_and_findings_as_of_a_step(reader: Client, here: House) -> None:
    here.record(MISPLACED)
    seventh, eighth = (said(step(reader, here, number)) for number in (7, 8))
    assert "Card dealt → B2" in seventh
    assert "step 7 of 11" in seventh
    assert "Nothing was wrong by then." in seventh
    assert "due next: Player, third card" in seventh
    assert "Card dealt → B3" in eighth
    assert "What had gone wrong by then" in eighth
    assert "INS" not in eighth
    whole = reader.get(f"/incidents/{here.incident().pk}/?step=7")
    assert "Nothing was wrong by then." in said(whole)
    assert 'value="7"' in whole.content.decode()
    assert "step 11 of 11 · as it stands now" in said(reader.get(f"/incidents/{here.incident().pk}/"))


def test_it_works_by_links_alone(reader: Client, here: House) -> None:
    here.record(MISPLACED)
    address = f"/incidents/{here.incident().pk}/"
    seen = []
    query = "?step=1"
    for _ in range(20):
        page = reader.get(address + query).content.decode()
        seen.append(re.findall(r"step (\d+) of 11", page)[0])
        link = re.search(r'id="replay-on" rel="next" href="([^"]+)"( aria-disabled="true")?', page)
        assert link is not None
        if link.group(2):
            break
        query = link.group(1)
    assert seen == [str(n) for n in range(1, 12)]
    assert re.search(r'id="replay-back" rel="prev" href="\?step=10"', page)


@pytest.mark.parametrize("asked", ["", "0", "-3", "999", "x", "٣", "1e3", "9" * 50, "1;drop"])
def test_no_such_step_shows_one_that_is_there(reader: Client, here: House, asked: str) -> None:
    here.record(MISPLACED)
    response = step(reader, here, asked)
    assert response.status_code == 200
    assert ("step 1 of 11" if asked == "0" else "step 11 of 11") in said(response)


def test_the_address_follows(reader: Client, here: House) -> None:
    here.record(MISPLACED)
    address = f"/incidents/{here.incident().pk}/"
    assert step(reader, here, 4)["HX-Replace-Url"] == f"{address}?step=4"
    assert step(reader, here, 11)["HX-Replace-Url"] == address


def test_amended_entries_read_as_put_right(reader: Client, here: House) -> None:
    here.record("open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s end fix:6=P1:8h")
    third = said(step(reader, here, 3))
    assert "→ P1 (as put right)" in third
    assert as_of(here, 3).audit.dealt.side("P") == ["8h"]
    assert "as put right" not in said(step(reader, here, 4))


def test_a_decision_is_a_step_and_its_corrections_show(here: House) -> None:
    here.record(MISPLACED)
    before = as_of(here, "").steps
    here.decide("correct")
    steps = [as_of(here, number) for number in range(1, as_of(here, "").steps + 1)]
    assert len(steps) > before
    assert "B3" in steps[before - 1].audit.dealt.places
    assert [f.state for f in steps[before - 1].audit.findings][:1] == ["open"]
    assert steps[-1].audit == here.audit()
    assert {f.state for f in steps[-1].audit.findings if "card-misplaced" in f.code} == {"corrected"}


def test_a_hand_left_unfinished_has_a_last_step_of_its_own(reader: Client, here: House) -> None:
    here.record("open close P1:9h B1:4s hand:2 open")
    last = as_of(here, "")
    assert (last.steps, last.step, last.line.name) == (5, 5, "The table went on without closing this hand")
    assert [f.code for f in last.audit.findings] == ["hand-incomplete"]
    assert as_of(here, 4).audit.findings == ()
    assert last.audit == here.audit()


def test_a_late_decision_comes_after_the_table_went_on(here: House) -> None:
    here.record("open close P1:9h B1:4s hand:2 open")
    here.decide("void hand")
    steps = [as_of(here, number) for number in range(1, as_of(here, "").steps + 1)]
    assert [len(one.audit.findings) for one in steps] == [0, 0, 0, 0, 1]
    assert steps[-1].audit.status == "voided"


def test_a_shoe_has_nothing_to_replay(reader: Client, here: House) -> None:
    here.record("shoe-open:insurance burn:5h burned:4 hand:1 open close P1:9h B1:4s P2:Kd B2:3c end", prelude=False)
    incident = here.incident(None)
    page = reader.get(f"/incidents/{incident.pk}/")
    assert page.status_code == 200
    assert b"replay-slider" not in page.content
    assert step(reader, here, 1, None).status_code == 404


def test_who_may_not_read_sees_no_step(client: Client, here: House, people: People) -> None:
    here.record(MISPLACED)
    assert step(client, here, 1).status_code == 302
    client.force_login(people(None))
    assert step(client, here, 1).status_code == 403

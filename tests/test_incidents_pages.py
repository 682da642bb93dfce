"""The queue and the incident page: who sees what, what a choice would do, and what is said when it cannot be done."""

from __future__ import annotations

import datetime as dt
import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from dealing.models import TableEvent
from incidents.models import Decision, Incident
from incidents.selectors import load_case
from tests.conftest import MakeTable, People
from tests.incident_logs import RECORDER, House

pytestmark = pytest.mark.django_db

BOTH_DRAW = "open close P1:2h B1:4s P2:3d B2:Kc"
NATURAL = "open close P1:9h B1:4s P2:Kd B2:3c"
MISPLACED = f"{BOTH_DRAW} B3:6h P3:5s call:tie end"
RIGHTLY_CALLED = f"{BOTH_DRAW} B3:6h P3:5s call:banker end"  # so that nothing offers to void the hand
QUEUE = "/incidents/"


@pytest.fixture
def house(table: MakeTable, people: People) -> Any:
    """`house("insurance", "B08")`: a table of that ruleset."""

    def make(ruleset: str = "commission", code: str = "B07") -> House:
        return House(table(code, ruleset=ruleset), people)

    return make


@pytest.fixture
def as_(client: Client, people: People) -> Any:
    """`as_("manager")`: a client logged in as somebody of that group."""

    def login(group: str | None, name: str | None = None) -> Client:
        client.force_login(people(group, name))
        return client

    return login


def text(response: Any) -> str:
    """What the page says, without its markup."""
    body = re.sub(r"<(script|style|svg).*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)))


def page_of(here: House, hand: int | None = 1) -> str:
    return reverse("incidents:incident", args=[here.incident(hand).pk])


def decide(client: Client, here: House, *actions: str, reason: str = "", seen: str | None = None) -> Any:
    seen = load_case(here.incident()).seen if seen is None else seen
    return client.post(page_of(here), {"actions": actions, "reason": reason, "seen": seen})


# --- who sees it -------------------------------------------------------------------------------------------------


def test_nobody_sees_incidents_without_logging_in(client: Client, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    for address in (QUEUE, page_of(here), f"{page_of(here)}preview/", "/incidents/at/B07/1/1/"):
        response = client.get(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")
    assert client.post(page_of(here), {"actions": "correct"})["Location"].startswith("/login/")
    assert not Decision.objects.exists()


@pytest.mark.parametrize("group", ["recorder", "supervisor", "auditor"])
def test_whoever_has_a_role_reads_and_only_managers_decide(as_: Any, house: Any, group: str) -> None:
    here = house()
    here.record(MISPLACED)
    client = as_(group)
    assert client.get(QUEUE).status_code == 200
    page = client.get(page_of(here))
    assert page.status_code == 200
    assert "A manager decides this." in text(page)
    assert b'name="actions"' not in page.content
    assert decide(client, here, "correct").status_code == 403
    assert not Decision.objects.exists()


def test_somebody_without_a_role_sees_nothing(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    client = as_(None)
    assert [client.get(address).status_code for address in (QUEUE, page_of(here))] == [403, 403]


def test_the_recorder_of_the_hand_sees_why_he_may_not_decide(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    page = as_("manager", RECORDER).get(page_of(here))
    assert "nobody decides on what they recorded" in text(page)
    assert b'name="actions"' not in page.content
    refused = decide(as_("manager", RECORDER), here, "correct")
    assert refused.status_code == 422
    assert not Decision.objects.exists()


# --- the queue ---------------------------------------------------------------------------------------------------


@pytest.fixture
def full(house: Any) -> list[House]:
    """Three tables with incidents in every state; the oldest open one at B08."""
    second = house("insurance", "B08")
    second.record(f"{MISPLACED} hand:2 {NATURAL} x:6h end hand:3 {NATURAL} x:6h")
    first = house("commission", "B07")
    first.record(f"{MISPLACED} hand:2 open P1:9h- close")
    third = house("insurance", "B09")
    third.record("open close P1:2h B1:Ks P2:4d B2:5c ins:1 odds:player=4")
    second.decide("burn card", hand=2)
    return [first, second, third]


#: What waits for a decision there.
OPEN = ["B08 shoe 1 hand 1", "B08 shoe 1 hand 3", "B07 shoe 1 hand 1", "B07 shoe 1 hand 2"]


def shown(response: Any) -> list[str]:
    """The incidents a queue page lists, in order."""
    return re.findall(r'<th scope="row"><a href="/incidents/\d+/">([^<]+)</a>', response.content.decode())


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        ("", 4),
        ("under-1h", 1),
        ("over-1h", 3),
        ("over-8h", 2),
        ("over-24h", 1),
        ("over-168h", 0),
        ("over-9h", 4),
        ("older", 4),
    ],
)
def test_the_queue_by_age(as_: Any, full: list[House], age: str, expected: int) -> None:
    now = timezone.now()
    hours = iter((0, 2, 10, 30))
    for incident in Incident.objects.filter(status="open"):
        incident.opened_at = now - dt.timedelta(hours=next(hours), minutes=5)
        incident.save()
    page = as_("manager").get(QUEUE, {"age": age, "q": ""})
    assert len(shown(page)) == expected
    if expected != 4:
        assert f'<option value="{age}" selected>' in page.content.decode()
        assert len(shown(as_("manager").get(QUEUE, {"age": age, "table": "B09"}))) == 0


def test_the_queue_shows_what_waits_the_oldest_first(as_: Any, full: list[House]) -> None:
    page = as_("manager").get(QUEUE)
    assert shown(page) == OPEN
    said = text(page)
    assert "Fifth card on the wrong place" in said
    assert "Burn the card" in said
    assert "The manager decides" in said  # nothing mandatory at B07 hand 2
    assert "4 incidents" in said


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=decided", ["B08 shoe 1 hand 2"]),
        ("status=by-rule", ["B09 shoe 1 hand 1"]),
        ("status=withdrawn", []),
        ("table=B07", ["B07 shoe 1 hand 1", "B07 shoe 1 hand 2"]),
        ("status=all&table=B08", ["B08 shoe 1 hand 1", "B08 shoe 1 hand 3", "B08 shoe 1 hand 2"]),
        ("q=betting", ["B07 shoe 1 hand 2"]),
        ("q=FIFTH+b07", ["B07 shoe 1 hand 1"]),
        ("q=3", ["B08 shoe 1 hand 3"]),
        ("q=nothing-like-it", []),
        ("status=nonsense&table=B99", OPEN),
        ("page=99", OPEN),
        ("page=x&q=%00", OPEN),
    ],
)
def test_the_queue_is_filtered(as_: Any, full: list[House], query: str, expected: list[str]) -> None:
    page = as_("auditor").get(f"{QUEUE}?{query}")
    assert page.status_code == 200
    assert shown(page) == expected


def test_the_search_finds_reasons_and_names(as_: Any, house: Any) -> None:
    here = house()
    here.record(RIGHTLY_CALLED)
    here.decide("stand", reason="the lamp was broken", by="nok")
    client = as_("auditor")
    assert shown(client.get(f"{QUEUE}?status=all&q=lamp")) == ["B07 shoe 1 hand 1"]
    assert shown(client.get(f"{QUEUE}?status=all&q=nok")) == ["B07 shoe 1 hand 1"]
    assert shown(client.get(f"{QUEUE}?status=all&q=dao")) == []


def test_the_queue_has_pages(as_: Any, house: Any) -> None:
    here = house()
    here.record(" ".join(f"hand:{n} open P1:9h- close" for n in range(1, 28)), together=True)
    client = as_("manager")
    first, second = client.get(f"{QUEUE}?table=B07"), client.get(f"{QUEUE}?table=B07&page=2")
    assert len(shown(first)) == 25
    assert len(shown(second)) == 2
    assert "Page 1 of 2" in text(first)
    assert "?table=B07&amp;page=2" in first.content.decode()


def test_an_empty_queue_says_so(as_: Any) -> None:
    assert "Nothing waits for a decision." in text(as_("manager").get(QUEUE))


def queries(client: Client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_the_queue_asks_the_same_number_of_questions_however_long(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{MISPLACED} hand:2 {NATURAL} x:6h end")
    client = as_("manager")
    few = queries(client, QUEUE)
    here.record(" ".join(f"hand:{n} open P1:9h- close" for n in range(3, 20)), together=True)
    assert queries(client, QUEUE) == few <= 12


def test_the_page_asks_the_same_number_of_questions_however_long_the_hand(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h hand:2 open")
    client = as_("manager")
    few = queries(client, page_of(here))
    here.record(f"close P1:9h hand:3 {NATURAL} end hand:4 open")
    here.decide("correct")
    here.decide("void hand", reason="again")
    assert queries(client, page_of(here)) == few <= 22


def test_the_bar_counts_for_managers_only(as_: Any, full: list[House]) -> None:
    count = re.compile(r'class="nav-count">4<')
    assert count.search(as_("manager").get(QUEUE).content.decode())
    assert not count.search(as_("auditor").get(QUEUE).content.decode())


# --- the page ----------------------------------------------------------------------------------------------------


def test_the_page_tells_the_whole_story(as_: Any, house: Any) -> None:
    here = house("insurance")
    here.record("open bet:1:banker=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:player:0-0 end")
    page = as_("manager").get(page_of(here))
    said = text(page)
    for words in (
        "B07 shoe 1 hand 1",
        "As dealt",
        "As the rules lay it",
        "Banker wins Player 1, Banker 9",
        "Fifth card on the wrong place",
        "INC-order",
        "Insurance baccarat: rules and notes",
        # An adopted rule names the document and who adopted it.
        "from “Commission baccarat: rules, terms and conditions”, adopted by “Insurance baccarat”",
        "Card dealt → B3",
        "#11 · somchai",
        "Card moved: B3 → P3",
        "Paid: seat 1 · Banker · 95.00",
        "Management may also: Cancel the shoe",
    ):
        assert words in said, words


def test_the_page_speaks_thai(as_: Any, house: Any) -> None:
    here = house("insurance")
    here.record(f"{BOTH_DRAW} B3:6h")
    client = as_("manager")
    client.cookies.load({"django_language": "th"})
    said = text(client.get(page_of(here)))
    assert "ใบที่ 5 หรือ 6 ลงผิดตำแหน่ง" in said
    assert "กติกาและหมายเหตุ บาคาร่าแบบมีประกัน" in said


def test_where_no_rule_speaks_the_page_says_so(as_: Any, house: Any) -> None:
    here = house()
    here.record("open P1:9h- close")
    said = text(as_("manager").get(page_of(here)))
    assert "No documented rule covers this. The choice is the manager’s." in said


def test_a_finding_that_stands_names_the_rule_that_closed_it(as_: Any, house: Any) -> None:
    here = house("insurance")
    here.record("open close P1:2h B1:Ks P2:4d B2:5c ins:1 odds:player=4")
    said = text(as_("manager").get(page_of(here)))
    assert "Closed by itself: rule INS-rate lets it stand." in said
    assert "Decide otherwise" in said


def test_amended_lines_are_struck_and_both_are_shown(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    here.record("fix:10=B3:7h")
    page = as_("auditor").get(page_of(here))
    assert re.search(
        r'timeline-struck">\s*<time[^>]*>[^<]*</time>\s*<div[^>]*>\s*<p class="line-said">Card dealt',
        page.content.decode(),
    )
    said = text(page)
    assert "put right by #11" in said
    assert "It reads now: Card dealt → B3" in said


def test_an_incident_of_the_shoe(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"shoe-open:commission burn:5h burned:4 hand:1 {NATURAL} end", prelude=False)
    client = as_("manager", "nok")
    said = text(client.get(page_of(here, None)))
    assert "Wrong number of cards burned" in said
    assert "this belongs to the shoe, and no hand is concerned" in said
    response = client.post(
        page_of(here, None), {"actions": "replace shoe", "seen": load_case(here.incident(None)).seen}
    )
    assert response.status_code == 302
    assert here.lines(Decision.objects.get()) == ["shoe_closed replaced"]


def test_a_withdrawn_incident(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{NATURAL} end hand:2 x:6h")
    here.record("fix:11")
    said = text(as_("manager").get(page_of(here, 2)))
    assert "Nothing is left of this incident." in said


def test_an_incident_under_a_ruleset_that_is_gone_can_still_be_read(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    Incident.objects.update(ruleset="the-old-house")
    page = as_("manager").get(page_of(here))
    assert page.status_code == 200
    assert "Rule INC-order is not worded in the rulesets installed here." in text(page)
    assert as_("manager").get(QUEUE).status_code == 200


def test_to_the_incident_of_a_hand(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"shoe-open:commission burn:5h burned:4 hand:1 {MISPLACED}", prelude=False)
    client = as_("recorder")
    assert client.get(reverse("incidents:for_hand", args=["B07", 1, 1]))["Location"] == page_of(here)
    assert client.get(reverse("incidents:for_shoe", args=["B07", 1]))["Location"] == page_of(here, None)
    for address in ("/incidents/at/B07/1/2/", "/incidents/at/B99/1/1/", "/incidents/999999/", "/incidents/x/"):
        assert client.get(address).status_code == 404


def test_addresses_answer_to_the_right_methods_only(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    client = as_("manager")
    assert client.post(QUEUE).status_code == 405
    assert client.delete(page_of(here)).status_code == 405
    assert client.post(f"{page_of(here)}preview/").status_code == 405


# --- looking ahead -----------------------------------------------------------------------------------------------


def preview(client: Client, here: House, *actions: str) -> str:
    response = client.get(f"{page_of(here)}preview/", {"actions": actions}, HTTP_HX_REQUEST="true")
    assert response.status_code == 200
    return text(response)


def test_a_choice_says_what_it_would_do_and_does_nothing(as_: Any, house: Any) -> None:
    here = house()
    here.record("open bet:1:player=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:banker end")
    client = as_("manager")
    seq = TableEvent.objects.count()
    said = preview(client, here, "correct")
    assert "Card moved: B3 → P3" in said
    assert "After this decision" in said
    assert "Banker wins Player 1, Banker 9" in said
    voided = preview(client, here, "void hand")
    assert "Voided: the hand" in voided
    assert "departs from what the rules require" in voided
    assert "Required: Correct." in voided
    assert (TableEvent.objects.count(), Decision.objects.count()) == (seq, 0)


def test_a_choice_that_cannot_be_made_says_why(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{MISPLACED} hand:2 open")
    client = as_("manager")
    assert "“Void the hand” and “Correct” cannot both be done." in preview(client, here, "void hand", "correct")
    assert "hand 2 is being dealt from it" in preview(client, here, "correct", "cancel shoe")
    assert "Choose what is to be done" in preview(client, here)
    assert "Choose what is to be done" in preview(client, here, "nonsense")


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("stand", "the hand stays as it is"),
        ("void bet", "The log has no line that voids one bet"),
    ],
)
def test_an_action_without_a_line_says_so(as_: Any, house: Any, action: str, said: str) -> None:
    here = house()
    here.record("open close bet:1:tie=10")
    assert said in preview(as_("manager"), here, action)


def test_without_scripts_the_page_itself_says_it(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    response = as_("manager").post(page_of(here), {"actions": "void hand", "reason": "half a", "preview": "1"})
    assert response.status_code == 200
    assert "Voided: the hand" in text(response)
    assert ">half a</textarea>" in response.content.decode()
    assert not Decision.objects.exists()


# --- deciding ----------------------------------------------------------------------------------------------------


def test_deciding_leads_back_to_the_page_that_shows_it(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    client = as_("manager", "nok")
    response = decide(client, here, "correct")
    assert (response.status_code, response.url) == (302, page_of(here))
    said = text(client.get(page_of(here)))
    assert "Decided: Correct." in said
    assert "Decision 1 · nok" in said
    assert "decision 1, nok" in said  # at the lines it appended
    assert "Decide again" in said


def test_a_superseded_decision_stays_to_be_seen(as_: Any, house: Any) -> None:
    here = house()
    here.record(RIGHTLY_CALLED)
    here.decide("correct", by="nok")
    assert decide(as_("manager", "dao"), here, "void hand", reason="the camera says otherwise").status_code == 302
    said = text(as_("auditor").get(page_of(here)))
    assert "Superseded" in said
    assert "departs from the rules" in said
    assert "the camera says otherwise" in said
    assert "Decision 1 · nok" in said


def test_what_is_wrong_stands_at_its_field_and_nothing_is_lost(as_: Any, house: Any) -> None:
    here = house()
    here.record(RIGHTLY_CALLED)
    client = as_("manager")
    nothing = decide(client, here, reason="typed already")
    assert nothing.status_code == 422
    body = nothing.content.decode()
    assert re.search(
        r'id="decide-wrong".*?href="#actions-error".*?id="actions-error" tabindex="-1">.*?Choose what is to be done',
        body,
        re.DOTALL,
    )
    assert ">typed already</textarea>" in body

    no_reason = decide(client, here, "stand").content.decode()
    assert re.search(
        r'id="decide-wrong".*?href="#id_reason".*?id="id_reason_error">.*?Write down why', no_reason, re.DOTALL
    )
    assert re.search(r'value="stand" checked', no_reason)

    both = decide(client, here, "stand", "correct", reason="x").content.decode()
    assert re.search(r'id="actions-error".*?cannot both be done', both, re.DOTALL)
    long = decide(client, here, "stand", reason="x" * 501).content.decode()
    assert re.search(r'id="id_reason_error".*?500', long, re.DOTALL)
    assert not Decision.objects.exists()


def test_errors_speak_thai(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    client = as_("manager")
    client.cookies.load({"django_language": "th"})
    said = text(decide(client, here))
    assert "เลือกว่าจะทำอย่างไร" in said


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"actions": "fly"},
        {"actions": ["correct", "fly"]},
        {"actions": "correct", "seen": "nonsense"},
        {"actions": "stand", "reason": "a\x00b"},
        {"actions": "correct", "seen": "1-2\x00"},
    ],
)
def test_broken_forms_change_nothing(as_: Any, house: Any, data: dict[str, Any]) -> None:
    here = house()
    here.record(MISPLACED)
    assert as_("manager").post(page_of(here), data).status_code == 422
    assert not Decision.objects.exists()


def test_two_managers_at_once(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    seen = load_case(here.incident()).seen
    assert decide(as_("manager", "nok"), here, "correct", seen=seen).status_code == 302
    late = decide(as_("manager", "dao"), here, "void hand", reason="my reason", seen=seen)
    assert late.status_code == 422
    said = text(late)
    assert "This changed while you were looking at it." in said
    assert "Decision 1 · nok" in said, "the page shows what the other decided"
    assert ">my reason</textarea>" in late.content.decode()
    assert f'name="seen" value="{load_case(here.incident()).seen}"' in late.content.decode()
    assert Decision.objects.count() == 1


def test_a_double_click_decides_once(as_: Any, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    seen = load_case(here.incident()).seen
    client = as_("manager")
    assert [decide(client, here, "correct", seen=seen).status_code for _ in range(2)] == [302, 422]
    assert Decision.objects.count() == 1


def test_the_page_was_opened_before_another_card(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    seen = load_case(here.incident()).seen
    here.record("seen:drawing")
    assert "This changed while you were looking at it." in text(decide(as_("manager"), here, "correct", seen=seen))


def test_a_missing_token_is_answered_kindly(people: People, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    client = Client(enforce_csrf_checks=True)
    client.force_login(people("manager"))
    assert client.post(page_of(here), {"actions": "correct"}).status_code == 403
    assert not Decision.objects.exists()


# --- the admin ---------------------------------------------------------------------------------------------------


def test_the_admin_shows_and_changes_nothing(client: Client, house: Any) -> None:
    here = house()
    here.record(MISPLACED)
    decision = here.decide("correct")
    admin = User.objects.create_superuser("root")
    admin.user_permissions.set(Permission.objects.all())
    client.force_login(admin)
    for model, pk in (("incident", here.incident().pk), ("decision", decision.pk)):
        assert client.get(f"/admin/incidents/{model}/").status_code == 200
        assert client.get(f"/admin/incidents/{model}/{pk}/change/").status_code == 200
        assert client.post(f"/admin/incidents/{model}/{pk}/change/", {"status": "open"}).status_code == 403
        assert client.get(f"/admin/incidents/{model}/add/").status_code == 403
        assert client.post(f"/admin/incidents/{model}/{pk}/delete/", {"post": "yes"}).status_code == 403


# --- what is left to the manager -----------------------------------------------------------------------------------

BOTH_SIDES = "open bet:1:player=100 bet:1:banker=100 close P1:2h B1:4s P2:3d B2:Kc"
ASKED = "Say what happens with: One seat on both sides"


def ticked(response: Any) -> list[str]:
    return re.findall(r'name="actions" value="([^"]+)" checked', response.content.decode())


def test_a_decision_passes_over_nothing_that_the_manager_has_to_decide(as_: Any, house: Any) -> None:
    here = house("insurance")
    here.record(f"{BOTH_SIDES} B3:6h P3:5s call:tie end")
    client = as_("manager", "nok")
    page = client.get(page_of(here))
    assert f"{ASKED} Void the bet · Stand" in text(page)
    assert ticked(page) == ["correct"]

    refused = decide(client, here, "correct")
    assert refused.status_code == 422
    beside = re.search(r'id="actions-error".*?</div></div>', refused.content.decode(), re.DOTALL)
    assert beside
    assert ASKED in beside[0]
    assert ticked(refused) == ["correct"], "nothing is lost"
    assert not Decision.objects.exists()

    ahead = client.get(f"{page_of(here)}preview/", {"actions": ["correct"]})
    assert ASKED in text(ahead)
    ahead = client.get(f"{page_of(here)}preview/", {"actions": ["correct", "stand"]})
    assert ASKED not in text(ahead)
    assert "for what is let stand" in text(ahead)
    assert "cannot both be done" not in text(ahead)
    assert decide(client, here, "correct", "stand").status_code == 302
    kept = Decision.objects.get()
    assert (kept.actions, kept.departs) == (["correct", "stand"], False)
    assert here.incident().status == "decided"


def test_nothing_is_chosen_beforehand_that_does_nothing(as_: Any, house: Any) -> None:
    here = house("insurance")
    here.record(f"{BOTH_SIDES} B3:6h B3>P3 B3:5s")
    page = as_("manager", "nok").get(page_of(here))
    assert here.incident().findings.filter(code="fifth-card-misplaced", state="corrected").exists()
    assert ASKED in text(page)
    assert ticked(page) == []


def test_voiding_where_a_finding_offers_it_needs_no_reason(as_: Any, house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} seen:drawing:6h B3:6h P3:5s end")
    client = as_("manager", "nok")
    said = text(client.get(page_of(here)))
    assert "Instead of it the manager may choose: Void the hand" in said
    assert "departs from what" not in text(client.get(f"{page_of(here)}preview/", {"actions": ["void hand"]}))
    assert decide(client, here, "void hand").status_code == 302
    assert Decision.objects.values_list("departs", flat=True).get() is False


# --- a search that finds nothing, and the pit ----------------------------------------------------------------------


def test_a_search_that_finds_nothing_open_offers_the_rest(as_: Any, full: list[House]) -> None:
    client = as_("auditor")
    page = client.get(f"{QUEUE}?q=hand&table=B09&age=")
    assert "No incident with the status “Open” matches this choice." in text(page)
    assert 'href="?q=hand&amp;table=B09&amp;age=&amp;status=all"' in page.content.decode()
    assert "Search all statuses" in text(page)
    page = client.get(f"{QUEUE}?status=all&q=nothing-like-it")
    assert "No incident matches this choice." in text(page)
    assert "Search all statuses" not in text(page)
    page = client.get(f"{QUEUE}?table=B09")
    assert shown(page) == []
    rest = client.get(QUEUE + html.unescape(re.findall(r'href="(\?[^"]*status=all[^"]*)"', page.content.decode())[0]))
    assert shown(rest) == ["B09 shoe 1 hand 1"]


def test_the_pit_shows_what_waits_at_each_table(as_: Any, full: list[House]) -> None:
    client = as_("auditor")
    with CaptureQueriesContext(connection) as queries:
        page = client.get("/tables/")
    assert sum("incidents_incident" in query["sql"] for query in queries) == 1
    body = page.content.decode()
    found = re.findall(r'href="/incidents/\?table=(B\d+)"', body)
    assert sorted(found) == ["B07", "B08"], "nothing waits at B09"
    assert "2 incidents wait" in text(page)
    full[1].decide("correct", reason="so", hand=1)
    full[0].decide("correct", hand=1)
    assert "1 incident waits" in text(client.get("/tables/"))
    with CaptureQueriesContext(connection) as queries:
        client.get(QUEUE + "?q=nothing-like-it&table=B09")
    by_table = 'LEFT OUTER JOIN "incidents_incidentfinding"'
    assert not any(by_table in query["sql"] for query in queries), "asked only where it is shown"

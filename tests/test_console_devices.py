"""Two devices at one table: what another one recorded stops an entry only where it matters."""

from __future__ import annotations

import datetime as dt
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from dealing import log
from dealing.models import TableEvent
from tests.conftest import MakeTable, People
from tests.test_console import HTMX, Console, text

pytestmark = pytest.mark.django_db

DEVICE = {"device": "tablet1", "user": "sam"}


@pytest.fixture
def sam(client: Client, people: People, table: MakeTable) -> Console:
    """A supervisor with a hand in play: betting closed, one card."""
    client.force_login(people("supervisor", "sam"))
    return Console(client, table()).shoe().hand("9h")


def other(event: str, **keys: object) -> None:
    """Something that another device records at the table."""
    log.record({"event": event, "table": "B07", "shoe": 1, "hand": 1, "by": "RITA", **keys}, actor="rita")


CARD = {"to": "B1", "card": "4s"}
BET = {"seat": 3, "bet": "banker", "stake": "100"}
PAID = {"seat": 3, "bet": "banker", "amount": "95"}


def test_the_devices_own_entries_are_in_nobodys_way(sam: Console) -> None:
    seen = len(sam.lines)
    for n, (place, card) in enumerate((("B1", "4s"), ("P2", "Kd"), ("B2", "3c"))):
        sam.press("card", to=place, card=card, seq=seen, key=f"tablet1.k{n}", **DEVICE)
        assert sam.status == 200
        assert sam.headers["X-Recorded"] == f"tablet1.k{n}"
    assert [line["card"] for line in sam.lines[6:]] == ["4s", "Kd", "3c"]


def test_the_same_entries_of_another_device_are(sam: Console) -> None:
    seen = len(sam.lines)
    sam.press("card", to="B1", card="4s", seq=seen, key="tablet1.k", **DEVICE)
    sam.press("card", to="P2", card="Kd", seq=seen, key="phone.k", device="phone", user="sam")
    assert sam.status == 409
    assert len(sam.lines) == seen + 1


IN_THE_WAY = [
    pytest.param("bet", BET, "card", CARD, False, id="a bet and a card"),
    pytest.param("paid", PAID, "card", CARD, False, id="a pay and a card"),
    pytest.param("bet", BET, "betting_opened", {}, False, id="a bet and a control"),
    pytest.param("bet", BET, "bet", {**BET, "seat": 4}, False, id="bets of two seats"),
    pytest.param("bet", BET, "bet", {**BET, "bet": "tie"}, False, id="two bets of a seat"),
    pytest.param("bet", BET, "bet", BET, True, id="the same bet of the same seat"),
    pytest.param("bet", BET, "paid", PAID, True, id="a bet and its pay"),
    pytest.param("paid", PAID, "paid", PAID, True, id="the same pay"),
    pytest.param("paid", PAID, "paid_all", {"pay-3-banker": "95"}, True, id="the same pay in a sheet"),
    pytest.param("paid", PAID, "paid_all", {"pay-4-banker": "95"}, False, id="another pay in a sheet"),
    pytest.param("card", {"to": "B1", "card": "4s"}, "card", {"to": "P2", "card": "Kd"}, True, id="two cards"),
    pytest.param("card", {"to": "B1", "card": "4s"}, "bet", BET, True, id="a card and a bet"),
]


@pytest.mark.parametrize(("first", "keys", "event", "fields", "stops"), IN_THE_WAY)
def test_what_another_device_recorded_stops_only_where_it_matters(
    sam: Console, first: str, keys: dict[str, Any], event: str, fields: dict[str, Any], stops: bool
) -> None:
    seen = len(sam.lines)
    other(first, **keys)
    sam.press(event, seq=seen, key="tablet1.k", **DEVICE, **fields)
    if stops:
        assert sam.status == 409
        assert len(sam.lines) == seen + 1
        assert "RITA" in unquote(sam.headers["X-Refused"])
    else:
        assert sam.status in (200, 422)  # 422: the judge refuses it, whoever was first
        assert sam.status == 422 or len(sam.lines) > seen + 1


def test_the_entry_comes_behind_all_that_is_not_in_its_way(sam: Console) -> None:
    seen = len(sam.lines)
    sam.press("card", seq=seen, key="tablet1.1", **DEVICE, **CARD)
    other("bet", **BET)
    sam.press("card", seq=seen, key="tablet1.2", **DEVICE, to="P2", card="Kd")
    assert sam.status == 200
    assert [row.seq for row in TableEvent.objects.order_by("seq")] == list(range(1, seen + 4))


def test_a_writer_who_is_quicker_than_the_check_costs_another_try(
    sam: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, tries = len(sam.lines), []
    record_many = log.record_many

    def late(*args: Any, **kwargs: Any) -> Any:
        tries.append(kwargs["expected_seq"])
        if len(tries) == 1:
            monkeypatch.setattr(log, "record_many", record_many)
            other("bet", **BET)
            monkeypatch.setattr(log, "record_many", late)
        return record_many(*args, **kwargs)

    monkeypatch.setattr(log, "record_many", late)
    sam.press("card", seq=seen, key="tablet1.k", **DEVICE, **CARD)
    assert sam.status == 200
    assert tries == [seen, seen + 1]
    assert sam.lines[-1]["card"] == "4s"


def test_after_a_conflict_the_place_due_now_is_proposed_and_the_key_kept(sam: Console) -> None:
    seen = len(sam.lines)
    other("card", to="B1", card="4s")
    sam.press("card", seq=seen, key="tablet1.k", **DEVICE, to="B1", card="", card_rank="K", card_suit="d")
    assert sam.status == 409
    assert 'name="to" value="P2" checked' in sam.page
    assert 'name="to" value="B1" checked' not in sam.page
    assert 'name="card" value="Kd"' in sam.page
    assert sam.page.count('name="key" value="tablet1.k"') == 1


# What a device is told.


def test_why_and_where_to_change_it(sam: Console) -> None:
    sam.client.cookies["django_language"] = "th"
    sam.press("card", key="tablet1.k", **DEVICE, to="B1", card="zz")
    assert sam.status == 422
    assert "ไพ่" in unquote(sam.headers["X-Refused"])
    change = urlsplit(sam.headers["X-Change"])
    assert change.path == reverse("console:table", args=("B07",))
    assert parse_qs(change.query) == {
        "event": ["card"],
        "card": ["zz"],
        "to": ["B1"],
        "key": ["tablet1.k"],
    }
    page = sam.client.get(sam.headers["X-Change"], headers=HTMX).content.decode()
    assert 'name="card" value="zz"' in page
    assert page.count('name="key" value="tablet1.k"') == 1


def test_a_key_is_kept_through_a_refusal(sam: Console) -> None:
    """Brought over a log-in and refused, it is still the same press."""
    sam.press("card", key="first-press", card="zz")
    assert sam.page.count('name="key" value="first-press"') == 1
    sam.press("moved", sheet="moved", key="other-press", source="P1", to="P1")
    assert sam.status == 422
    assert sam.page.count('name="key" value="other-press"') == 1


def test_the_key_of_another_event_is_not_offered_again(sam: Console) -> None:
    sam.press("card", key="k1", **CARD)
    sam.press("card", key="k1", to="P2", card="Kd")
    assert sam.status == 422
    assert 'name="key" value="k1"' not in sam.page


def test_nobody_and_somebody_else_is_told_apart_from_a_refusal(sam: Console, people: People) -> None:
    before = len(sam.lines)
    rita = Console(Client(), sam.table)
    rita.client.force_login(people("recorder", "rita"))
    rita.press("card", key="tablet1.k", **DEVICE, **CARD)
    assert rita.status == 401
    assert rita.headers["X-User"] == "rita"
    sam.client.logout()
    sam.press("card", key="tablet1.k", **DEVICE, **CARD)
    assert sam.status == 401
    assert "X-Refused" not in sam.headers
    assert len(sam.lines) == before
    # And no heap of messages is left for the next log-in.
    assert "You were logged out" not in sam.client.get(reverse("login")).content.decode()


def test_whoever_may_not_record_is_refused_in_words(sam: Console, people: People) -> None:
    audit = Console(Client(), sam.table)
    audit.client.force_login(people("auditor", "ann"))
    audit.press("card", key="tablet1.k", device="tablet1", user="ann", **CARD)
    assert audit.status == 403
    assert unquote(audit.headers["X-Refused"]) == "Only people who record hands may do this."


@pytest.mark.parametrize(
    ("ago", "seconds"), [("60000", 60), ("0", 0), ("x", 0), ("-5", 0), ("9" * 30, 0), (str(10**10), 12 * 3600)]
)
def test_an_entry_that_waited_says_when_it_was_tapped(
    client: Client, people: People, table: MakeTable, ago: str, seconds: int
) -> None:
    client.force_login(people("supervisor", "sam"))
    console = Console(client, table())
    console.press("shoe_opened", shoe=1, ruleset="commission", key="tablet1.k", ago=ago, **DEVICE)
    row = TableEvent.objects.get()
    waited = row.recorded_at - row.at
    assert dt.timedelta(seconds=seconds) <= waited < dt.timedelta(seconds=seconds + 5)


def test_a_page_without_device_is_stamped_now(client: Client, people: People, table: MakeTable) -> None:
    client.force_login(people("supervisor", "sam"))
    Console(client, table()).press("shoe_opened", shoe=1, ruleset="commission", ago="600000")
    row = TableEvent.objects.get()
    assert row.recorded_at - row.at < dt.timedelta(seconds=5)


def test_a_card_without_a_known_place_goes_to_the_one_proposed(sam: Console) -> None:
    sam.press("card", key="tablet1.k", **DEVICE, to="proposed", down="", card="4s")
    assert sam.last["to"] == "B1"
    sam.press("card", card="x").press("card", card="x")
    sam.press("card", key="tablet1.l", **DEVICE, to="proposed", down="", card="Kd")
    assert sam.last == {"event": "opened", "hand": 1, "place": "P2", "card": "Kd"}


# Live.


def head(console: Console, seq: int | str) -> Any:
    return console.client.get(reverse("console:head", args=("B07",)), {"seq": seq}, headers=HTMX)


def test_the_head_is_asked_for_cheaply(sam: Console, django_assert_max_num_queries: Any) -> None:
    seq = len(sam.lines)
    head(sam, seq)
    with django_assert_max_num_queries(3):
        response = head(sam, seq)
    assert response.status_code == 204
    assert response.content == b""


def test_the_head_brings_the_console_once_it_moved_on(sam: Console) -> None:
    seq = len(sam.lines)
    other("card", **CARD)
    response = head(sam, seq)
    assert response.status_code == 200
    assert f'data-seq="{seq + 1}"' in response.content.decode()
    assert "4♠ to Banker, first card" in text(response.content.decode())
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.parametrize("seq", ["", "x", "-1", "9" * 40, "\x00"])
def test_rubbish_asks_for_the_console(sam: Console, seq: str) -> None:
    assert head(sam, seq).status_code == 200


def test_who_may_not_read_is_told_nothing(sam: Console, people: People) -> None:
    assert Client().get(reverse("console:head", args=("B07",))).status_code == 401
    visitor = Client()
    visitor.force_login(people(None, "vera"))
    assert visitor.get(reverse("console:head", args=("B07",))).status_code == 403
    assert sam.client.get(reverse("console:head", args=("Z99",))).status_code == 404


def test_a_table_of_another_house_is_not_there(sam: Console, people: People) -> None:
    from dealing.models import Venue

    sam.table.venue = Venue.objects.create(code="HILL", name="Hill House")
    sam.table.save()
    assert head(sam, 6).status_code == 404


def roads_version(page: str) -> str:
    return page.partition('data-roads="')[2].partition('"')[0]


def test_the_roads_are_drawn_again_when_they_may_look_otherwise_and_only_then(sam: Console, people: People) -> None:
    version = roads_version(sam.page)
    sam.press("card", card="4s").press("card", card="Kd").press("card", card="3c")
    assert roads_version(sam.page) == version
    sam.press("hand_closed")
    closed = roads_version(sam.page)
    assert closed != version
    sam.press("betting_opened")
    assert roads_version(sam.page) == closed
    sam.client.force_login(people("supervisor", "tim"))  # the hand is closed: somebody else than who recorded it
    sam.press("amended", entry=6, to="P1", card="2h", why="typo")
    amended = roads_version(sam.page)
    assert amended != closed
    other("voided", scope="hand", reason="seen")
    assert roads_version(sam.look()) != amended
    roads = sam.client.get(reverse("console:roads", args=("B07",)))
    assert "Roads of shoe 1" in roads.content.decode()
    assert "<html" not in roads.content.decode()

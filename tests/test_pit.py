"""The pit: what each table does, who waits, what has changed since, and how little it asks of the database."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dealing.log import record_many
from dealing.models import Dealer, Shoe, StaffMember, Table, Venue
from dealing.pit.selectors import STATES, facts_of
from dealing.shifts import do_change_dealer
from incidents.context import for_a_manager
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.table_logs import Lines

pytestmark = pytest.mark.django_db

CLEAN = "open close P1:9h B1:4s P2:Kd B2:3c"
#: A fifth card astray is for a manager to arrange; a card seen while betting was open voids the hand.
MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h"
PUT_RIGHT = f"{MISPLACED} B3>P3"
VOIDED = "open P1:9h close"
#: No documented rule covers it.
LEFT_TO_THE_MANAGER = "open P1:9h- close"


class Hall:
    """Makes tables with what happened there; logs in."""

    def __init__(self, client: Client, table: MakeTable, people: People) -> None:
        self.client, self.table, self.people = client, table, people

    def log(self, code: str, text: str, ruleset: str = "commission", **fields: Any) -> House:
        house = House(self.table(code, ruleset, **fields), self.people)
        if text:
            house.record(text)
        return house

    def enter(self, group: str) -> User:
        user = self.people(group)
        self.client.force_login(user)
        return user

    def page(self, query: str = "") -> str:
        response = self.client.get(f"/tables/{query}")
        assert response.status_code == 200
        return response.content.decode()

    def live(self, seen: str) -> Any:
        return self.client.get(f"/tables/live/?seen={seen}")


@pytest.fixture
def hall(client: Client, table: MakeTable, people: People) -> Hall:
    return Hall(client, table, people)


def stamp(page: str) -> str:
    found = re.search(r'data-stamp="(\w*)"', page)
    assert found is not None
    return found.group(1)


def tiles(page: str) -> dict[str, str]:
    """What stands on each tile, in the order of the page."""
    parts = re.split(r'<li class="panel pit-tile[^>]*id="tile-([\w-]+)"', page)
    return {code: said(part.split("</li>")[0]) for code, part in zip(parts[1::2], parts[2::2], strict=True)}


def said(text: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)))


# What a table does.


@pytest.mark.parametrize(
    ("text", "ruleset", "state", "says"),
    [
        ("", "commission", "no-shoe", "No shoe open"),
        ("hand:1", "commission", "open", "Shoe open Shoe 1"),
        ("open", "commission", "betting", "Betting Shoe 1 · Hand 1"),
        ("open close", "commission", "dealing", "Dealing"),
        ("open close P1:9h", "commission", "dealing", "Dealing"),
        (CLEAN, "commission", "complete", "Hand complete"),
        (f"{CLEAN} end", "commission", "over", "Hand over Shoe 1 · Hand 1 Hand 1 Player wins 9 to 7"),
        (f"{CLEAN} end hand:2 open", "commission", "betting", "Betting Shoe 1 · Hand 2 Hand 1 Player wins 9 to 7"),
        (f"{CLEAN} cut", "commission", "complete", "Hand complete Last hand"),
        (f"{CLEAN} cut end", "commission", "over", "Hand over Last hand"),
        (f"{CLEAN} void:hand", "commission", "over", "void, every stake goes back"),
        ("open close end", "commission", "over", "closed without a result"),
        ("open close P1:2h B1:7s P2:3d B2:Kc ins:1", "insurance", "insurance", "Insurance open"),
        ("open close P1:2h B1:7s P2:3d B2:Kc ins:1 /ins:1", "insurance", "dealing", "Dealing"),
        (f"{CLEAN} end shoe:1 shoe-end:finished", "commission", "closed", "Shoe closed Shoe 1"),
        # amended: betting had not been closed after all
        ("open close fix:5", "commission", "betting", "Betting"),
    ],
)
def test_what_a_table_does(hall: Hall, text: str, ruleset: str, state: str, says: str) -> None:
    table = hall.log("B07", text, ruleset).table
    table.refresh_from_db()
    assert facts_of([table])[table.pk].state == state
    hall.enter("auditor")
    tile = tiles(hall.page())["B07"]
    assert says in tile
    assert str(STATES[state][0]) in tile


def test_a_ruleset_that_is_gone_does_not_take_the_pit_away(hall: Hall) -> None:
    hall.log("B07", CLEAN)
    hall.log("B08", "open")
    Shoe.objects.filter(table__code="B07").update(ruleset="nobodys")
    for hand in Shoe.objects.get(table__code="B07").hand_set.all():
        hand.context["ruleset"] = "nobodys"
        hand.save()
    hall.enter("auditor")
    shown = tiles(hall.page())
    assert "Dealing" in shown["B07"]
    assert "Betting" in shown["B08"]


# Who waits.


def test_a_table_that_needs_a_manager_cannot_be_overlooked(hall: Hall) -> None:
    hall.log("B01", CLEAN)
    hall.log("B02", PUT_RIGHT)
    hall.log("B03", VOIDED)
    hall.log("B04", LEFT_TO_THE_MANAGER)
    hall.enter("manager")
    page = hall.page()
    assert list(tiles(page)) == ["B03", "B04", "B01", "B02"], "first, those that wait longest before the others"
    assert "<title>(2) Pit" in page
    assert "2 tables need a manager" in said(page)
    shown = tiles(page)
    assert "Manager needed" in shown["B03"]
    assert "Decide: Void the hand" in shown["B03"]
    assert "Decide" in shown["B04"]
    assert "Manager needed" not in shown["B02"], "it is put right"
    assert "1 incident waits" in shown["B02"]
    assert page.count("pit-needs") == 2


def test_without_one_there_is_no_alarm(hall: Hall) -> None:
    hall.log("B01", CLEAN)
    hall.log("B02", PUT_RIGHT)
    hall.enter("manager")
    page = hall.page()
    assert "<title>Pit" in page
    assert "needs a manager" not in page
    assert "pit-needs" not in page


def test_a_manager_is_called_until_a_card_astray_is_arranged(hall: Hall) -> None:
    house = hall.log("B02", MISPLACED)
    hall.enter("manager")
    shown = tiles(hall.page())["B02"]
    assert "Manager needed" in shown
    assert "Decide: Correct" in shown
    house.record("B3>P3")
    assert "Manager needed" not in tiles(hall.page())["B02"]
    assert "1 incident waits" in tiles(hall.page())["B02"]


@pytest.mark.parametrize(
    ("ruling", "mandatory", "state", "needs"),
    [
        ("void hand", True, "open", True),
        ("void insurance", True, "open", True),
        ("void bet", True, "open", True),
        ("discretion", False, "open", True),
        ("correct", False, "open", True),
        ("correct", True, "open", True),
        ("burn card", True, "open", True),
        ("stand", False, "open", True),
        ("stand", True, "open", False),
        ("correct", True, "corrected", False),
        ("void hand", True, "corrected", False),
        ("discretion", False, "corrected", False),
    ],
)
def test_what_a_manager_is_needed_for(ruling: str, mandatory: bool, state: str, needs: bool) -> None:
    assert for_a_manager(ruling, mandatory, state) is needs


def test_what_was_decided_needs_nobody(hall: Hall) -> None:
    house = hall.log("B03", VOIDED)
    hall.enter("manager")
    assert "pit-needs" in hall.page()
    house.decide("void hand")
    assert "pit-needs" not in hall.page()
    assert "incident waits" not in hall.page()


def test_each_is_led_to_what_is_theirs(hall: Hall) -> None:
    incident = hall.log("B03", VOIDED).incident()
    address = f'href="/incidents/{incident.pk}/"'
    for group, led in (("recorder", False), ("supervisor", True), ("manager", True), ("auditor", True)):
        hall.enter(group)
        page = hall.page()
        assert 'href="/tables/B03/"' in page
        assert (address in page) is led, group
        assert ("Decide: Void the hand" in said(page)) is (group == "manager")
        assert ('href="/tables/B03/dealer/?next=/tables/"' in page) is (group != "auditor")


def test_the_oldest_that_needs_a_manager_is_the_one_to_decide(hall: Hall) -> None:
    house = hall.log("B03", f"{PUT_RIGHT} B3:5s end hand:2 {VOIDED}")
    hall.enter("manager")
    page = hall.page()
    assert f'href="/incidents/{house.incident(2).pk}/"' in page
    assert f'href="/incidents/{house.incident(1).pk}/"' not in page
    assert "2 incidents wait" in tiles(page)["B03"]


@pytest.mark.parametrize(
    ("query", "show"), [("", "all"), ("?show=needs", "needs"), ("?show=busy", "busy"), ("?show=x", "all")]
)
def test_what_is_shown_can_be_chosen(hall: Hall, query: str, show: str) -> None:
    hall.log("B01", "")
    hall.log("B02", PUT_RIGHT)
    hall.enter("auditor")
    page = hall.page(query)
    assert f'id="pit" data-live="/tables/live/" data-show="{show}"' in page
    assert page.count('aria-current="true"') >= 1
    assert re.findall(r'id="tile-(B\d+)"[^>]*data-waits', page) == ["B02"]
    assert re.findall(r'id="tile-(B\d+)"[^>]*data-busy', page) == ["B02"]


# What has changed.


def test_nothing_new_is_no_answer(hall: Hall) -> None:
    hall.log("B01", CLEAN)
    hall.enter("auditor")
    seen = stamp(hall.page())
    response = hall.live(seen)
    assert (response.status_code, response.content) == (204, b"")


def test_only_what_has_changed_is_sent(hall: Hall) -> None:
    one, two = hall.log("B01", CLEAN), hall.log("B02", "open")
    hall.enter("manager")
    seen = stamp(hall.page())

    two.record("close")
    answer = hall.live(seen).content.decode()
    assert list(tiles(answer)) == ["B02"]
    assert "Dealing" in tiles(answer)["B02"]
    assert 'data-order="B01 B02"' in answer
    seen = stamp(answer)
    assert hall.live(seen).status_code == 204

    one.record("end hand:2 open P1:9h")
    answer = hall.live(seen).content.decode()
    assert list(tiles(answer)) == ["B01"]
    assert "1 table needs a manager" in said(answer)
    seen = stamp(answer)

    one.decide("stand", reason="seen by everybody", hand=2)  # writes nothing into the log
    answer = hall.live(seen).content.decode()
    assert list(tiles(answer)) == ["B01"]
    assert "needs a manager" not in answer
    seen = stamp(answer)

    lek = Dealer.objects.create(venue=one.table.venue, code="D01", name="Lek")
    do_change_dealer(two.table, lek, hall.people("recorder"))
    answer = hall.live(seen).content.decode()
    assert list(tiles(answer)) == ["B02"]
    assert "D01 Lek since" in tiles(answer)["B02"]
    assert hall.live(stamp(answer)).status_code == 204


def test_a_table_that_comes_or_goes_has_all_sent_anew(hall: Hall) -> None:
    hall.log("B01", CLEAN)
    hall.enter("auditor")
    seen = stamp(hall.page())
    hall.log("B02", "")
    answer = hall.live(seen).content.decode()
    assert list(tiles(answer)) == ["B01", "B02"]
    Table.objects.filter(code="B01").update(is_active=False)
    assert 'data-order="B02"' in hall.live(stamp(answer)).content.decode()


@pytest.mark.parametrize("seen", ["", "x", "%00", "0" * 4000, "ก"])
def test_a_stamp_that_is_none_has_all_sent(hall: Hall, seen: str) -> None:
    hall.log("B01", CLEAN)
    hall.enter("auditor")
    assert list(tiles(hall.live(seen).content.decode())) == ["B01"]


# Who may see it.


def test_another_houses_tables_are_not_there(hall: Hall) -> None:
    hall.log("B01", VOIDED)
    lake = Venue.objects.create(code="LAKE", name="Lake")
    Table.objects.create(code="L01", venue=lake, ruleset="standard")
    user = hall.enter("manager")
    assert list(tiles(hall.page())) == ["B01"]
    StaffMember.objects.filter(user=user).update(venue=lake)
    page = hall.page()
    assert list(tiles(page)) == ["L01"]
    assert "needs a manager" not in page
    assert list(tiles(hall.live("").content.decode())) == ["L01"]
    StaffMember.objects.filter(user=user).delete()
    assert list(tiles(hall.page())) == ["B01", "L01"], "somebody of no house sees all"


def test_an_auditor_sees_and_changes_nothing(hall: Hall) -> None:
    hall.log("B01", VOIDED)
    hall.enter("auditor")
    main = hall.page().split("<main", 1)[1]
    assert "<form" not in main
    assert 'href="/tables/B01/shifts/"' in main
    assert "Change dealer" not in main


@pytest.mark.parametrize("address", ["/tables/", "/tables/live/"])
def test_only_people_with_a_role_get_there(client: Client, people: People, address: str) -> None:
    assert client.get(address)["Location"].startswith("/login/?next=")
    client.force_login(people(None))
    assert client.get(address).status_code == 403


def test_in_thai(hall: Hall) -> None:
    hall.log("B01", VOIDED)
    hall.enter("manager")
    hall.client.cookies["django_language"] = "th"
    page = hall.page()
    assert "(1) ภาพรวมโต๊ะ" in page
    assert "ต้องการผู้จัดการ" in tiles(page)["B01"]


# How much it asks.


def fill(hall: Hall, numbers: range) -> None:
    for number in numbers:
        code = f"T{number:03}"
        hall.table(code)
        lines = Lines(code)
        log = [*lines.open(), *lines.hand(1), *lines.hand(2, closed=False)]
        if number % 5 == 0:
            log.insert(4, lines.line("exposed", 1, when="betting", at=log[3]["at"]))
        record_many(log, actor="test")
        do_change_dealer(
            Table.objects.get(code=code),
            Dealer.objects.create(venue=Venue.objects.get(), code=f"D{number:03}"),
            hall.people("recorder"),
        )


def test_a_hundred_tables_ask_no_more_than_two(hall: Hall) -> None:
    asked = []
    for numbers in (range(2), range(2, 100)):
        fill(hall, numbers)
        hall.enter("manager")
        counts = []
        for address in ("/tables/", "/tables/live/?seen="):
            facts_of.__globals__["_known"].clear()
            with CaptureQueriesContext(connection) as queries:
                page = hall.client.get(address).content.decode()
            counts.append(len(queries))
        with CaptureQueriesContext(connection) as queries:
            assert hall.live(stamp(page)).status_code == 204
        asked.append([*counts, len(queries)])
    assert len(tiles(page)) == 100
    assert asked[0] == asked[1]
    page_asks, all_anew, nothing_new = asked[1]
    assert page_asks <= 12
    assert all_anew <= 10
    assert nothing_new <= 6
    assert len(stamp(page)) < 1000, "it is sent with every request"

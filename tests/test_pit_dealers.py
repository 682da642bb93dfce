"""What was found in whose hands: assigning hands to shifts, periods of gaming days, and the pages."""

from __future__ import annotations

import datetime as dt
import html
import re
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from dealing.gaming_days import bounds, gaming_day
from dealing.log import record_many
from dealing.models import Dealer, DealerShift, Hand, StaffMember, Table, Venue
from dealing.pit.duty import Duty, Span, assign
from dealing.pit.findings import load_report
from tests.conftest import MakeTable, People
from tests.table_logs import START, Lines

MISPLACED = "P1:2h B1:4s P2:3d B2:Kc B3:6h"
DAY = "?first=2024-11-28&last=2024-11-28"


def at(minutes: float) -> dt.datetime:
    """So many minutes after the log begins: 2024-11-28 20:00 in the house."""
    return START + dt.timedelta(minutes=minutes)


# Assigning hands to shifts.


def test_a_shift_has_its_beginning_and_not_its_end() -> None:
    spans = [
        Span(1, 10, at(0), at(20)),
        Span(1, 11, at(20), at(40)),
        Span(1, 12, at(50), None),
        Span(2, 13, at(0), None),
    ]
    asked = [(1, -1), (1, 0), (1, 19.9), (1, 20), (1, 40), (1, 49), (1, 50), (1, 9999), (2, 45), (3, 5)]
    hands = [(table, at(minutes)) for table, minutes in asked]
    assert list(assign(hands, spans)) == [None, 10, 10, 11, None, None, 12, 12, 13, None]


def shifts_in_turn() -> Any:
    """Shifts of two tables without overlaps, in any order, with gaps."""
    lengths = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 5)), max_size=12)

    def laid(tables: dict[int, list[tuple[int, int, int]]]) -> list[Span]:
        spans = []
        for table, turns in tables.items():
            clock = 0
            for gap, length, dealer in turns:
                spans.append(Span(table, dealer, at(clock + gap), at(clock + gap + length)))
                clock += gap + length
        return spans

    return st.dictionaries(st.integers(1, 2), lengths).map(laid).flatmap(st.permutations)


@given(shifts_in_turn(), st.lists(st.tuples(st.integers(1, 3), st.integers(-1, 120)), max_size=30))
def test_every_hand_is_the_one_dealers_whose_shift_holds_it(spans: list[Span], asked: list[tuple[int, int]]) -> None:
    duty = Duty(spans)
    for table, minutes in asked:
        there: list[int | None] = [
            s.dealer for s in spans if s.table == table and s.end and s.start <= at(minutes) < s.end
        ]
        assert [duty.dealer(table, at(minutes))] == (there or [None])


# Gaming days.


@pytest.mark.parametrize(
    ("clock", "day"),
    [("2024-11-28T05:59", "2024-11-27"), ("2024-11-28T06:00", "2024-11-28"), ("2024-11-29T01:00", "2024-11-28")],
)
def test_a_gaming_day_begins_in_the_morning(clock: str, day: str) -> None:
    house = Venue(time_zone="Asia/Bangkok", day_starts=6)
    when = dt.datetime.fromisoformat(clock).replace(tzinfo=house.zone)
    assert gaming_day(house, when.astimezone(dt.UTC)) == dt.date.fromisoformat(day)
    start, end = bounds(house, gaming_day(house, when), gaming_day(house, when))
    assert start <= when < end


def test_a_day_may_have_twenty_five_hours() -> None:
    house = Venue(time_zone="Europe/Berlin", day_starts=1)
    start, end = bounds(house, dt.date(2026, 10, 25), dt.date(2026, 10, 25))
    assert end.astimezone(dt.UTC) - start.astimezone(dt.UTC) == dt.timedelta(hours=25)
    assert start.tzinfo == ZoneInfo("Europe/Berlin")


# The report.


class Night:
    """B07, on one evening: hands 1 to 4 a minute apart, the second and the fourth with a finding."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.venue = table.venue
        lines = Lines(table.code)
        log = lines.open()
        log[2]["count"] = 1  # the burn card asks for two
        for number in range(1, 5):
            lines.at = at(number * 10 - 1 / 60)
            log += lines.hand(number, MISPLACED if number % 2 == 0 else "P1:9h B1:4s P2:Kd B2:3c")
        record_many(log, actor="test")

    def shift(self, code: str, start: float, end: float | None, name: str = "") -> Dealer:
        dealer, _made = Dealer.objects.get_or_create(venue=self.venue, code=code, defaults={"name": name})
        DealerShift.objects.create(
            table=self.table,
            dealer=dealer,
            started_at=at(start),
            ended_at=None if end is None else at(end),
            recorded_by="nok",
        )
        return dealer


@pytest.fixture
def night(table: MakeTable) -> Night:
    return Night(table())


def evening(night: Night) -> Any:
    return load_report(night.venue, *bounds(night.venue, dt.date(2024, 11, 28), dt.date(2024, 11, 28)))


def test_hands_and_findings_by_who_dealt(night: Night) -> None:
    night.shift("D01", 0, 20)
    night.shift("D02", 20, 35)
    Dealer.objects.create(venue=night.venue, code="D03")
    Dealer.objects.create(venue=night.venue, code="D04", is_active=False)
    report = evening(night)
    told = [(one.dealer.code, one.hands, one.findings, one.rate) for one in report.records]
    assert told == [("D01", 1, 1, 1000.0), ("D02", 2, 2, 1000.0), ("D03", 0, 0, None)]
    assert (report.unknown.hands, report.unknown.findings) == (1, 2)
    assert (report.house.hands, report.house.findings) == (4, 5)
    first, second, _third = report.records
    assert first.codes == [("burn-count-wrong", 1)], "of the shoe, at the time of the event that shows it"
    assert [(one.table, one.shoe, one.hand) for one in first.found] == [("B07", 1, 0)]
    assert [one.hand for one in second.found] == [2]
    assert [one.hand for one in report.unknown.found] == [4]
    codes = sorted(code for one in report.house.found for code in one.codes)
    stored = [f["code"] for hand in Hand.objects.all() for f in hand.audit["findings"]]
    assert codes == sorted([*stored, "burn-count-wrong"]), "nothing is left out"


def test_a_shift_that_nobody_ended_holds_all_that_follows(night: Night) -> None:
    night.shift("D01", 15, None)
    report = evening(night)
    assert [(one.hands, one.findings) for one in report.records] == [(3, 4)]
    assert report.unknown.hands == 1


def test_the_next_day_is_another(night: Night) -> None:
    night.shift("D01", 0, None)
    report = load_report(night.venue, *bounds(night.venue, dt.date(2024, 11, 29), dt.date(2024, 12, 5)))
    assert [(one.hands, one.findings) for one in report.records] == [(0, 0)]
    assert (report.house.hands, report.house.rate) == (0, None)


def test_another_house_is_left_out(night: Night) -> None:
    lake = Venue.objects.create(code="LAKE", name="Lake")
    Dealer.objects.create(venue=lake, code="D01")
    report = load_report(lake, at(-60), at(600))
    assert (report.house.hands, report.house.findings, len(report.records)) == (0, 0, 1)


def test_it_takes_the_same_statements_for_a_night_and_for_many_dealers(night: Night) -> None:
    asked = []
    for more in (1, 20):
        for number in range(more):
            start = number + 100 * more
            night.shift(f"E{more}{number}", start, start + 0.5)
        with CaptureQueriesContext(connection) as queries:
            evening(night)
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 6


# The pages.


def said(response: Any) -> str:
    text = re.sub(r"<[^>]+>", " ", response.content.decode().split("<main", 1)[1])
    return html.unescape(re.sub(r"\s+", " ", text))


def enter(client: Client, people: People, group: str | None) -> User:
    user = people(group)
    client.force_login(user)
    return user


@pytest.mark.parametrize("group", ["supervisor", "manager", "auditor"])
def test_the_list_of_dealers(client: Client, night: Night, people: People, group: str) -> None:
    night.shift("D01", 0, 20, "Lek")
    night.shift("D02", 20, 35, "Dao")
    enter(client, people, group)
    response = client.get(f"/dealers/{DAY}")
    text = said(response)
    assert "D02 Dao 2 2 1,000.0 Card not drawn (1) Fifth card on the wrong place (1)" in text
    assert "No dealer recorded 1 2 2,000.0" in text
    assert "Gaming days 2024-11-28 to 2024-11-28; a day begins at 6:00." in text
    assert 'href="/dealers/D02/?first=2024-11-28&amp;last=2024-11-28"' in response.content.decode()
    assert 'href="/dealers/"' in response.content.decode().split("<main")[0], "it is in the navigation"
    assert "csrfmiddlewaretoken" not in response.content.decode().split("<main")[1]


def test_one_dealer(client: Client, night: Night, people: People) -> None:
    night.shift("D02", 15, 35, "Dao")
    enter(client, people, "manager")
    response = client.get(f"/dealers/D02/{DAY}")
    page, text = response.content.decode(), said(response)
    assert "Fifth card on the wrong place 1 500.0" in text
    assert 'href="/tables/B07/1/2/"' in page
    assert 'href="/incidents/at/B07/1/2/"' in page
    assert 'href="/tables/B07/1/4/"' not in page
    assert "2024-11-28 20:15:00" in text
    nobody = client.get(f"/dealers/-/{DAY}")
    assert 'href="/tables/B07/1/4/"' in nobody.content.decode()
    assert 'href="/tables/B07/1/"' in nobody.content.decode()
    assert "nobody was recorded as dealing" in said(nobody)


def test_the_usual_period_is_the_last_seven_days(client: Client, night: Night, people: People) -> None:
    night.shift("D01", 0, 20)
    enter(client, people, "manager")
    assert "Hands dealt 0" in said(client.get("/dealers/"))
    assert "Nothing was found in these days." in said(client.get("/dealers/D01/"))


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("?first=2024-11-28&last=2024-11-27", "last", "The last day is before the first."),
        ("?first=2024-11-28&last=2024-12-29", "last", "Choose 31 days at most."),
        ("?first=yesterday&last=2024-11-27", "first", "Write this day as 2026-07-31."),
        ("?first=2024-11-27", "last", "Write this day as 2026-07-31."),
        ("?first=0001-01-01&last=0001-01-02", "last", "Write this day as 2026-07-31."),
        ("?first=9999-12-31&last=9999-12-31", "last", "This day is still to come."),
        ("?first=9999-12-31&last=2024-11-28", "first", "This day is still to come."),
        ("?first=2567-11-28&last=2024-11-28", "first", "This day is still to come."),
    ],
)
def test_a_period_that_is_none_is_said_beside_its_field(
    client: Client, night: Night, people: People, query: str, field: str, says: str
) -> None:
    night.shift("D01", 0, 20)
    enter(client, people, "manager")
    for page in ("/dealers/", "/dealers/D01/", "/dealers/-/"):
        response = client.get(page + query)
        assert response.status_code == 422
        assert says in response.content.decode().split(f'id="id_{field}_error"')[1]


def test_recorders_do_not_look_at_how_dealers_do(client: Client, night: Night, people: People) -> None:
    enter(client, people, "recorder")
    assert 'href="/dealers/"' not in client.get("/tables/").content.decode()
    for page in ("/dealers/", "/dealers/D01/", "/dealers/-/"):
        assert client.get(page).status_code == 403
    client.logout()
    assert client.get("/dealers/")["Location"] == "/login/?next=/dealers/"


def test_the_dealers_of_another_house_are_not_there(client: Client, night: Night, people: People) -> None:
    night.shift("D01", 0, 20, "Lek")
    lake = Venue.objects.create(code="LAKE", name="Lake")
    user = enter(client, people, "manager")
    StaffMember.objects.filter(user=user).update(venue=lake)
    text = said(client.get(f"/dealers/{DAY}"))
    assert "Lek" not in text
    assert "Hands dealt 0" in text
    assert client.get(f"/dealers/{DAY}&house=RIVER").status_code == 404
    assert client.get("/dealers/D01/").status_code == 404
    assert client.get("/dealers/D01/?house=RIVER").status_code == 404
    StaffMember.objects.filter(user=user).delete()
    assert "Lek" in said(client.get(f"/dealers/{DAY}&house=RIVER")), "somebody of no house chooses one"
    assert "Lek" not in said(client.get(f"/dealers/{DAY}&house=LAKE"))
    assert client.get("/dealers/?house=NOWHERE").status_code == 404


@pytest.mark.parametrize("code", ["A/B", "ดาว 1", "?x=1", "a&b"])
def test_a_code_may_hold_anything(client: Client, night: Night, people: People, code: str) -> None:
    night.shift(code, 15, 35)
    enter(client, people, "auditor")
    assert f'href="/dealers/{quote(code, safe="/&=")}'.split("?")[0] in html.unescape(
        client.get(f"/dealers/{DAY}").content.decode()
    )
    page = client.get(f"/dealers/{quote(code)}/{DAY}")
    assert (page.status_code, code in said(page)) == (200, True)
    assert "Put right" not in said(page)

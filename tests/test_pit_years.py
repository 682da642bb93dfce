"""The years that a person chose, on every page; and the page on which they choose."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.management import call_command
from django.test import Client
from django.utils.translation import override

from dealing import dates
from dealing.log import LogError
from dealing.messages import explain
from dealing.models import StaffMember, TableEvent
from dealing.rules.events import format_time
from incidents.review.sheet import sheet
from incidents.selectors import load_case
from tests.conftest import MakeTable, People
from tests.incident_logs import House

pytestmark = pytest.mark.django_db

MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"
AT = dt.datetime(2026, 7, 12, 21, 4, 5, tzinfo=ZoneInfo("Asia/Bangkok"))


@pytest.fixture
def here(table: MakeTable, people: People) -> House:
    """Table B07 with one decided incident that has a review note."""
    house = House(table("B07"), people)
    house.record(MISPLACED)
    house.decide("correct")
    return house


def chooses(people: People, group: str, buddhist: bool, language: str = "th") -> User:
    user = people(group)
    StaffMember.objects.filter(user=user).update(buddhist_years=buddhist, language=language)
    return User.objects.get(pk=user.pk)


@pytest.mark.parametrize(
    ("language", "buddhist", "moment"),
    [
        ("th", True, "12 ก.ค. 2569 21:04:05"),
        ("th", False, "2026-07-12 21:04:05"),
        ("en", True, "2026-07-12 21:04:05"),
        ("en", False, "2026-07-12 21:04:05"),
    ],
)
def test_a_date_is_written_for_the_person(people: People, language: str, buddhist: bool, moment: str) -> None:
    user = chooses(people, "manager", buddhist)
    with override(language):
        with dates.years_of(lambda: user):
            assert dates.moment(AT) == moment
            assert dates.minute(AT) == moment[:-3]
            assert dates.day(AT.date()) == moment[:-9]
        assert dates.moment(AT) == "2026-07-12 21:04:05", "nobody asks any more"


def test_somebody_of_no_house_reads_common_years() -> None:
    with override("th"), dates.years_of(AnonymousUser):
        assert dates.day(AT.date()) == "2026-07-12"


@pytest.mark.parametrize("buddhist", [True, False])
def test_the_pages_show_the_years_that_the_person_chose(
    client: Client, here: House, people: People, buddhist: bool
) -> None:
    user = chooses(people, "auditor", buddhist)
    client.force_login(user)
    client.cookies["django_language"] = "th"
    incident = here.incident()
    raised = incident.opened_at.astimezone(here.table.venue.zone)
    with override("th"), dates.years_of(lambda: user):
        told = dates.moment(raised)
    assert (str(raised.year + 543) in told) is buddhist
    assert told in client.get(f"/incidents/{incident.pk}/").content.decode()
    assert told in client.get("/incidents/?status=all").content.decode()
    client.cookies["django_language"] = "en"
    assert f"{raised:%Y-%m-%d %H:%M:%S}" in client.get(f"/incidents/{incident.pk}/").content.decode()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2569-11-24", "2026-11-24"),
        ("2567-02-29T21:04:05", "2024-02-29T21:04:05"),  # a leap day of this era, and not of the other
        ("2400-01-01", "1857-01-01"),
        ("2399-12-31", "2399-12-31"),
        ("2026-11-24", "2026-11-24"),
        ("25691-11-24", "25691-11-24"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_year_is_typed_in_the_era_that_the_person_chose(people: People, typed: str, meant: str) -> None:
    user = chooses(people, "manager", True)
    with override("en"), dates.years_of(lambda: user):
        assert dates.typed(typed) == meant
    assert dates.typed(typed) == typed, "nobody asks any more"


@pytest.mark.parametrize("buddhist", [True, False])
def test_days_are_asked_for_in_the_era_too(client: Client, here: House, people: People, buddhist: bool) -> None:
    client.force_login(chooses(people, "manager", buddhist))
    client.cookies["django_language"] = "th"
    answer = client.get("/dealers/?first=2567-11-24&last=2567-11-28")
    page = answer.content.decode()
    assert answer.status_code == (200 if buddhist else 422)
    assert ("24 พ.ย. 2567" in page) is buddhist
    assert page.count("วันที่นี้ยังมาไม่ถึง") == (0 if buddhist else 2)


@pytest.mark.parametrize("buddhist", [True, False])
def test_the_time_of_a_video_is_typed_in_the_era_too(
    client: Client, here: House, people: People, buddhist: bool
) -> None:
    client.force_login(chooses(people, "manager", buddhist))
    incident = here.incident()
    said = {"after": incident.reviews.count(), "video_at": "2567-07-12T21:04:05", "note": "seen"}
    answer = client.post(f"/incidents/{incident.pk}/review/", said)
    assert answer.status_code == (302 if buddhist else 422)
    if buddhist:
        last = incident.reviews.order_by("number").last()
        assert last
        assert last.video_at
        assert last.video_at.astimezone(here.table.venue.zone).year == 2024


@pytest.mark.parametrize("buddhist", [True, False])
def test_the_sheet_to_sign_shows_them_too(here: House, people: People, buddhist: bool) -> None:
    user = chooses(people, "manager", buddhist)
    incident = here.incident()
    year = incident.opened_at.astimezone(here.table.venue.zone).year
    for language, era in (("th", 543 if buddhist else 0), ("en", 0)):
        with override(language), dates.years_of(lambda: user):
            data = sheet(load_case(incident))
        assert str(year + era) in data["facts"][1][1]
        assert str(year + era) in data["foot"]
        assert str(year + era) in data["decision"]["by"]


def test_the_pdf_is_made_with_them(client: Client, here: House, people: People) -> None:
    client.force_login(chooses(people, "manager", True))
    client.cookies["django_language"] = "th"
    response = client.get(f"/incidents/{here.incident().pk}/sheet.pdf")
    assert (response.status_code, response.content[:5]) == (200, b"%PDF-")


def test_logs_and_exports_never_do(here: House, people: People) -> None:
    user = chooses(people, "manager", True)
    year = TableEvent.objects.latest("at").at.year
    out = io.StringIO()
    with override("th"), dates.years_of(lambda: user):
        call_command("export_log", "B07", stdout=out)
    assert f'"at":"{year}-' in out.getvalue().replace('": "', '":"')
    assert str(year + 543) not in out.getvalue()


@pytest.mark.parametrize("code", ["at-future", "at-earlier"])
def test_a_message_with_a_time_shows_them_too(people: People, code: str) -> None:
    user = chooses(people, "recorder", True)
    error = LogError(
        "at", code, **{"at-future": {"now": format_time(AT)}, "at-earlier": {"last": format_time(AT)}}[code]
    )
    with override("th"):
        assert "2026-07-12T21:04:05" in explain(error)
        with dates.years_of(lambda: user):
            assert "12 ก.ค. 2569 21:04:05" in explain(error)
    with dates.years_of(lambda: user):
        assert "2026-07-12T21:04:05" in explain(error), "in English"


# Preferences.


def send(client: Client, **data: Any) -> Any:
    return client.post("/preferences/", data)


def test_everybody_chooses_for_themselves(client: Client, people: People) -> None:
    client.force_login(people("recorder"))
    page = client.get("/preferences/").content.decode()
    assert 'href="/preferences/"' in page, "it is in the menu of the account"
    assert "ไทย" in page
    answer = send(client, language="th", buddhist_years="on", theme="dark")
    assert answer["Location"] == "/preferences/"
    member = StaffMember.objects.get(user__username="recorder")
    assert (member.language, member.buddhist_years) == ("th", True)
    page = client.get("/preferences/").content.decode()
    assert '<html lang="th" data-theme="dark"' in page
    assert "บันทึกการตั้งค่าส่วนตัวแล้ว" in page
    assert 'name="buddhist_years" id="id_buddhist_years" checked' in page
    send(client, language="en", theme="")
    member.refresh_from_db()
    assert (member.language, member.buddhist_years) == ("en", False)
    assert '<html lang="en">' in client.get("/preferences/").content.decode()


def test_what_is_no_choice_is_refused_beside_its_field(client: Client, people: People) -> None:
    client.force_login(people("recorder"))
    answer = send(client, language="xx", buddhist_years="on", theme="pink")
    assert answer.status_code == 422
    assert answer.content.decode().count("Choose one of these.") == 2
    assert not StaffMember.objects.get(user__username="recorder").buddhist_years


def test_somebody_of_no_house_chooses_language_and_theme(client: Client, db: None) -> None:
    client.force_login(User.objects.create_superuser("root"))
    assert "buddhist_years" not in client.get("/preferences/").content.decode()
    assert send(client, language="th", theme="light").status_code == 302
    assert '<html lang="th" data-theme="light"' in client.get("/preferences/").content.decode()


def test_nobody_else_gets_there(client: Client, db: None) -> None:
    assert client.get("/preferences/")["Location"] == "/login/?next=/preferences/"

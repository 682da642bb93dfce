"""Review notes: what a dispute audit needs beside the log. Appended, never edited; the latest speaks."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from dealing import triggers
from dealing.models import StaffMember, Venue
from incidents.models import IncidentReview
from incidents.services import do_review_incident
from tests.conftest import MakeTable, People
from tests.incident_logs import House

pytestmark = pytest.mark.django_db

MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"
TABLE = IncidentReview._meta.db_table

#: Everything the form asks for, as a browser sends it.
FULL = {
    "error_by": "dealer",
    "camera": "C-14",
    "video_at": "2026-01-02T03:04:05",
    "money_lost": "1,500.50",
    "money_saved": "",
    "follow_up": "Retrain on the fifth card",
    "note": "Seen twice on the video.",
    "after": "0",
}


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    """A page in Thai leaves its language to the thread, and so to the next test."""
    with override("en"):
        yield


@pytest.fixture
def here(table: MakeTable, people: People) -> House:
    """Table B07 with one incident."""
    house = House(table("B07"), people)
    house.record(MISPLACED)
    return house


def staff(people: People, name: str, group: str | None = None) -> StaffMember:
    return StaffMember.objects.get(user=people(group, name))


def send(client: Client, here: House, who: Any, **data: Any) -> Any:
    client.force_login(who)
    return client.post(f"/incidents/{here.incident().pk}/review/", data)


def page(client: Client, here: House, who: Any) -> str:
    client.force_login(who)
    return client.get(f"/incidents/{here.incident().pk}/").content.decode()


def said(text: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)))


def field_error(response: Any, name: str) -> str:
    found = re.search(rf'id="id_{name}_error">(.*?)</div></div>', response.content.decode(), re.DOTALL)
    assert found, f"no error at {name}"
    return said(found.group(1)).strip()


# --- keeping -----------------------------------------------------------------------------------------------------


def test_a_note_keeps_everything_and_is_read_by_everybody(client: Client, here: House, people: People) -> None:
    dealer, second = staff(people, "lek", "recorder"), staff(people, "wan", "manager")
    boss = people("supervisor", "boon")
    response = send(
        client, here, boss, **FULL, dealer=dealer.pk, supervisor=staff(people, "boon").pk, second_reviewer=second.pk
    )
    assert (response.status_code, response["Location"]) == (302, f"/incidents/{here.incident().pk}/")
    note = IncidentReview.objects.get()
    assert (note.number, note.error_by, note.dealer, note.dealer_name) == (1, "dealer", dealer, "LEK")
    assert note.video_at == dt.datetime(2026, 1, 1, 20, 4, 5, tzinfo=dt.UTC), "the house's own clock (Asia/Bangkok)"
    assert (note.money_lost, note.money_saved) == (Decimal("1500.50"), None)
    assert (note.written_by, note.written_by_name) == (boss, "boon")
    for group in ("recorder", "supervisor", "manager", "auditor"):
        text = said(page(client, here, people(group)))
        for expected in ("The dealer’s", "LEK", "BOON", "WAN", "C-14", "2026-01-02 03:04:05", "1,500.50", "To do"):
            assert expected in text, (group, expected)


def test_the_latest_note_speaks_and_the_earlier_ones_are_shown(client: Client, here: House, people: People) -> None:
    boss = people("supervisor", "boon")
    send(client, here, boss, **FULL)
    form = page(client, here, boss)
    assert 'value="C-14"' in form, "a new note starts from the last one"
    assert 'value="2026-01-02T03:04:05"' in form
    assert "Seen twice" not in re.search(r'<textarea name="note".*?</textarea>', form, re.DOTALL).group(0)  # type: ignore[union-attr]  # it is there
    send(client, here, boss, **{**FULL, "error_by": "device", "follow_up_done": "on", "note": "", "after": "1"})
    first, second = IncidentReview.objects.order_by("number")
    assert (first.error_by, second.error_by) == ("dealer", "device")
    assert (first.follow_up_done, second.follow_up_done) == (False, True)
    text = page(client, here, boss)
    latest = re.search(r"data-review-latest>(.*?)<details", text, re.DOTALL)
    assert latest is not None
    assert "A device’s" in said(latest.group(1))
    assert "The dealer’s" not in said(latest.group(1))
    assert "1 earlier note" in said(text)
    assert "Seen twice on the video." in said(text)


def test_what_a_note_leaves_out_stays(here: House, people: People) -> None:
    boss = people("supervisor", "boon")
    do_review_incident(here.incident(), boss, {"camera": "C-14", "money_saved": Decimal(20), "note": "first"})
    note = do_review_incident(here.incident(), boss, {"error_by": "patron"})
    assert (note.number, note.camera, note.money_saved, note.error_by, note.note) == (
        2,
        "C-14",
        Decimal(20),
        "patron",
        "",
    )


@pytest.mark.parametrize("group", ["recorder", "auditor", None])
def test_only_supervisors_and_managers_write(client: Client, here: House, people: People, group: str | None) -> None:
    who = people(group, "other")
    assert send(client, here, who, **FULL).status_code == 403
    with pytest.raises(PermissionDenied):
        do_review_incident(here.incident(), who, {"camera": "C-14"})
    if group:
        assert 'name="error_by"' not in page(client, here, who)
    assert not IncidentReview.objects.exists()


def test_a_get_keeps_nothing(client: Client, here: House, people: People) -> None:
    client.force_login(people("manager"))
    assert client.get(f"/incidents/{here.incident().pk}/review/").status_code == 405
    client.logout()
    response = client.post(f"/incidents/{here.incident().pk}/review/", FULL)
    assert response["Location"].startswith("/login/")
    assert not IncidentReview.objects.exists()


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("error_by", "ghost", "Select a valid choice"),
        ("dealer", "99999", "Choose somebody from the list."),
        ("second_reviewer", "x", "Choose somebody from the list."),
        ("camera", "c" * 61, "at most 60"),
        ("video_at", "yesterday", "This is no date and time."),
        ("video_at", "2999-01-01T00:00:00", "This is still to come."),
        ("money_lost", "a lot", "This is no amount."),
        ("money_lost", "NaN", "This is no amount."),
        ("money_lost", "1,50", "This is no amount."),
        ("money_lost", "-5", "Write the amount without a sign."),
        ("money_saved", "1.005", "at most two digits"),
        ("money_saved", "1" * 15, "too large"),
        ("follow_up", "f" * 1001, "at most 1000"),
        ("note", "a\x00b", "Null characters"),
    ],
)
def test_bad_input_is_told_at_its_field_and_kept(
    client: Client, here: House, people: People, field: str, value: str, message: str
) -> None:
    response = send(client, here, people("supervisor"), **{**FULL, "note": "keep me", field: value})
    assert response.status_code == 422
    assert message in field_error(response, field)
    text = response.content.decode()
    assert "C-14" in text or field == "camera"
    assert "keep me" in text or field == "note"
    assert '<details class="again" open>' in text
    assert not IncidentReview.objects.exists()


def test_all_that_is_wrong_is_told_at_once(client: Client, here: House, people: People) -> None:
    wrong = {"money_lost": "a lot", "money_saved": "-5", "video_at": "2999-01-01T00:00:00", "follow_up_done": "on"}
    response = send(client, here, people("supervisor"), **{**FULL, **wrong, "follow_up": "", "after": "0"})
    assert response.status_code == 422
    assert "This is no amount." in field_error(response, "money_lost")
    assert "Write the amount without a sign." in field_error(response, "money_saved")
    assert "This is still to come." in field_error(response, "video_at")
    assert field_error(response, "follow_up") == "Write down what was done."
    assert 'value="-5"' in response.content.decode()
    only = send(client, here, people("supervisor"), money_lost="a lot", after="0")
    assert "This says nothing new." not in said(only.content.decode())
    assert not IncidentReview.objects.exists()


def test_done_needs_something_that_was_done(client: Client, here: House, people: People) -> None:
    response = send(client, here, people("manager"), camera="C-1", follow_up="  ", follow_up_done="on", after="0")
    assert field_error(response, "follow_up") == "Write down what was done."


def test_an_empty_note_is_refused(client: Client, here: House, people: People) -> None:
    boss = people("supervisor")
    assert "This says nothing new." in said(send(client, here, boss, after="0").content.decode())
    send(client, here, boss, **FULL)
    again = send(client, here, boss, **{**FULL, "note": "", "after": "1"})
    assert "This says nothing new." in said(again.content.decode())
    assert IncidentReview.objects.count() == 1
    assert send(client, here, boss, **{**FULL, "note": "", "money_saved": "0", "after": "1"}).status_code == 302


def test_two_writers_do_not_overwrite_each_other(client: Client, here: House, people: People) -> None:
    send(client, here, people("supervisor"), **FULL)
    late = send(client, here, people("manager"), **{**FULL, "camera": "C-15"})
    assert late.status_code == 422
    assert "Somebody else wrote a note meanwhile." in said(late.content.decode())
    assert 'value="C-15"' in late.content.decode()
    assert re.search(r'name="after" value="1"', late.content.decode()), "read now, so it can be sent"
    assert IncidentReview.objects.count() == 1


def test_the_second_reviewer_is_not_the_one_who_decided(client: Client, here: House, people: People) -> None:
    here.decide("correct", by="nok")
    response = send(client, here, people("manager", "wan"), **FULL, second_reviewer=staff(people, "nok").pk)
    assert field_error(response, "second_reviewer") == "nok decided this. The second reviewer is somebody else."
    assert not IncidentReview.objects.exists()


def test_the_second_reviewer_does_not_decide_afterwards(client: Client, here: House, people: People) -> None:
    wan = people("manager", "wan")
    do_review_incident(here.incident(), people("supervisor"), {"second_reviewer": staff(people, "wan")})
    with pytest.raises(ValidationError) as refused:
        here.decide("correct", by="wan")
    assert [error.code for error in refused.value.error_dict["__all__"]] == ["second-reviewer"]
    text = page(client, here, wan)
    assert "You are named as its second reviewer" in text
    assert 'name="actions"' not in text
    here.decide("correct", by="nok")


def test_a_second_reviewer_reviews_by_role(client: Client, here: House, people: People) -> None:
    """A recorder is no second reviewer, but may have dealt."""
    lek = staff(people, "lek", "recorder")
    response = send(client, here, people("supervisor"), **FULL, dealer=lek.pk, second_reviewer=lek.pk)
    assert field_error(response, "second_reviewer") == "Choose somebody from the list."
    assert 'id="id_dealer_error"' not in response.content.decode()


def test_people_of_another_house_are_not_offered(here: House, people: People) -> None:
    far = staff(people, "far", "manager")
    far.venue = Venue.objects.create(code="HILL", name="Hill House")
    far.save()
    for role in ("dealer", "supervisor", "second_reviewer"):
        with pytest.raises(ValidationError) as refused:
            do_review_incident(here.incident(), people("supervisor"), {role: far})
        assert list(refused.value.error_dict) == [role]


def test_somebody_who_left_stays_where_he_was_noted(client: Client, here: House, people: People) -> None:
    lek = staff(people, "lek", "recorder")
    boss = people("supervisor")
    send(client, here, boss, **FULL, dealer=lek.pk)
    lek.user.is_active = False
    lek.user.save()
    assert send(client, here, boss, **{**FULL, "camera": "C-2", "after": "1"}, dealer=lek.pk).status_code == 302
    assert IncidentReview.objects.get(number=2).dealer == lek


# --- append-only ---------------------------------------------------------------------------------------------------


def test_a_note_is_never_edited_or_deleted(here: House, people: People) -> None:
    note = do_review_incident(here.incident(), people("supervisor"), {"camera": "C-14"})
    note.camera = "C-15"
    with pytest.raises(TypeError):
        note.save()
    with pytest.raises(TypeError):
        note.delete()
    assert triggers.missing(TABLE) == []
    for statement in (f"UPDATE {TABLE} SET camera = 'X'", f"DELETE FROM {TABLE}"):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    assert IncidentReview.objects.get().camera == "C-14"


@pytest.mark.sqlite
def test_a_note_is_not_replaced_on_sqlite(here: House, people: People) -> None:
    do_review_incident(here.incident(), people("supervisor"), {"camera": "C-14"})
    columns = ", ".join(field.attname for field in IncidentReview._meta.concrete_fields)
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT OR REPLACE INTO {TABLE} ({columns}) SELECT {columns} FROM {TABLE}")


def test_the_database_knows_what_a_note_may_say(here: House, people: People) -> None:
    boss = people("supervisor")
    common = {"incident": here.incident(), "written_by": boss, "written_by_name": "x", "written_at": timezone.now()}
    for wrong in ({"money_lost": Decimal(-1)}, {"money_saved": Decimal(-1)}, {"follow_up_done": True}, {"number": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            IncidentReview.objects.create(**{"number": 1, **common, **wrong})


def test_what_was_typed_in_thai_is_kept_on_a_thai_page(client: Client, here: House, people: People) -> None:
    client.cookies["django_language"] = "th"
    response = send(client, here, people("manager"), **{**FULL, "money_lost": "มาก", "camera": "กล้องโต๊ะ 7"})
    text = response.content.decode()
    assert '<html lang="th"' in text
    assert 'value="มาก"' in text
    assert send(client, here, people("manager"), **{**FULL, "camera": "กล้องโต๊ะ 7"}).status_code == 302
    assert "กล้องโต๊ะ 7" in page(client, here, people("manager"))
    assert "1,500.50" in page(client, here, people("manager"))


def test_the_supervisor_on_duty_is_somebody_who_supervises(client: Client, here: House, people: People) -> None:
    boss = people("supervisor", "boon")
    others = [staff(people, *who) for who in (("mali", "manager"), ("rita", "recorder"), ("ada", "auditor"))]
    manager, recorder, auditor = others

    def offered() -> list[str]:
        select = re.search(r'<select name="supervisor".*?</select>', page(client, here, boss), re.DOTALL)
        assert select
        return re.findall(r'value="(\d+)"', select[0])

    assert set(offered()) >= {str(staff(people, "boon").pk), str(manager.pk)}
    assert not {str(recorder.pk), str(auditor.pk)} & set(offered())
    response = send(client, here, boss, **{**FULL, "supervisor": recorder.pk, "after": "0"})
    assert field_error(response, "supervisor") == "Choose somebody from the list."
    do_review_incident(here.incident(), boss, {"supervisor": auditor})
    assert str(auditor.pk) in offered(), "whom an earlier note names stays to be kept"

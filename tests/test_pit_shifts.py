"""Who deals where: changing the dealer, ending a shift, putting times right, and what others see of it."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connection
from django.test import Client
from django.utils import timezone

from dealing.models import Dealer, DealerShift, StaffMember, Table, Venue
from dealing.shifts import do_change_dealer, do_correct_shift, do_end_shift, shift_at, shift_now
from tests.conftest import MakeTable, People

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def dealers(venue: Venue) -> list[Dealer]:
    """D01 Lek, D02 Dao, D03 Ploy."""
    return [
        Dealer.objects.create(venue=venue, code=f"D0{number}", name=name)
        for number, name in enumerate(("Lek", "Dao", "Ploy"), 1)
    ]


@pytest.fixture
def nok(people: People) -> User:
    return people("recorder", "nok")


@pytest.fixture
def boss(people: People) -> User:
    return people("supervisor", "boon")


def ago(minutes: float) -> dt.datetime:
    return timezone.now() - dt.timedelta(minutes=minutes)


def past(table: Table, dealer: Dealer, start: float, end: float | None) -> DealerShift:
    """A shift from so many minutes ago until so many minutes ago."""
    return DealerShift.objects.create(
        table=table,
        dealer=dealer,
        started_at=ago(start),
        ended_at=None if end is None else ago(end),
        recorded_by="nok",
    )


# The services.


def test_a_change_ends_one_shift_and_begins_the_next_at_the_same_moment(
    table: MakeTable, dealers: list[Dealer], nok: User
) -> None:
    b07 = table()
    first = do_change_dealer(b07, dealers[0], nok, seen=0)
    second = do_change_dealer(b07, dealers[1], nok, seen=first.pk)
    first.refresh_from_db()
    assert first.ended_at == second.started_at
    assert (second.ended_at, second.recorded_by) == (None, "nok")
    assert shift_now(b07) == second
    assert shift_at(b07, first.started_at) == first
    assert shift_at(b07, second.started_at) == second
    assert shift_at(b07, first.started_at - dt.timedelta(seconds=1)) is None


def test_a_dealer_who_comes_from_another_table_ends_there(table: MakeTable, dealers: list[Dealer], nok: User) -> None:
    b07, b08 = table(), table("B08")
    there = do_change_dealer(b08, dealers[0], nok)
    do_change_dealer(b07, dealers[0], nok)
    there.refresh_from_db()
    assert there.ended_at is not None
    assert shift_now(b08) is None


def test_the_second_of_two_is_told_what_the_first_did(table: MakeTable, dealers: list[Dealer], nok: User) -> None:
    b07 = table()
    shown = do_change_dealer(b07, dealers[0], nok)
    do_change_dealer(b07, dealers[1], nok, seen=shown.pk)
    with pytest.raises(ValidationError) as refused:
        do_change_dealer(b07, dealers[2], nok, seen=shown.pk)
    assert refused.value.messages == ["Somebody else changed the dealer meanwhile: D02 Dao deals now."]
    with pytest.raises(ValidationError):
        do_end_shift(b07, nok, seen=shown.pk)
    assert DealerShift.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_of_two_devices_at_once_one_wins(table: MakeTable, dealers: list[Dealer], nok: User) -> None:
    b07 = table()
    shown = do_change_dealer(b07, dealers[0], nok)
    ready, told = threading.Barrier(2), []

    def press(dealer: Dealer) -> None:
        try:
            ready.wait(10)
            do_change_dealer(b07, dealer, nok, seen=shown.pk)
            told.append("changed")
        except ValidationError as error:
            told.append(error.messages[0])
        finally:
            connection.close()

    threads = [threading.Thread(target=press, args=(dealer,)) for dealer in dealers[1:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(told, key=len)[0] == "changed"
    assert told.count("changed") == 1
    now = shift_now(b07)
    assert now is not None
    assert any(f"{now.dealer} deals now." in text for text in told)
    assert DealerShift.objects.filter(ended_at=None).count() == 1


@pytest.mark.parametrize("code", ["same", "inactive", "other-house"])
def test_who_cannot_take_over(table: MakeTable, dealers: list[Dealer], nok: User, code: str) -> None:
    b07 = table()
    do_change_dealer(b07, dealers[0], nok)
    other = Dealer.objects.create(venue=Venue.objects.create(code="LAKE", name="Lake"), code="D01")
    gone = Dealer.objects.create(venue=b07.venue, code="D09", is_active=False)
    with pytest.raises(ValidationError) as refused:
        do_change_dealer(b07, {"same": dealers[0], "inactive": gone, "other-house": other}[code], nok)
    assert refused.value.code == code
    assert DealerShift.objects.count() == 1


def test_only_who_records_changes_the_dealer(table: MakeTable, dealers: list[Dealer], people: People) -> None:
    b07, auditor = table(), people("auditor")
    with pytest.raises(PermissionDenied):
        do_change_dealer(b07, dealers[0], auditor)
    with pytest.raises(PermissionDenied):
        do_end_shift(b07, auditor)
    with pytest.raises(PermissionDenied):
        do_correct_shift(b07, people("recorder"), dealers[0], ago(10), None)
    assert not DealerShift.objects.exists()


def test_ending_a_shift_that_nobody_has(table: MakeTable, dealers: list[Dealer], nok: User) -> None:
    b07 = table()
    with pytest.raises(ValidationError) as refused:
        do_end_shift(b07, nok)
    assert refused.value.code == "nobody"
    do_change_dealer(b07, dealers[0], nok)
    assert do_end_shift(b07, nok).ended_at is not None
    assert shift_now(b07) is None


# Putting right.


@pytest.mark.parametrize(
    ("start", "end", "field", "says"),
    [
        (60, 40, None, ""),
        (60, 30, None, ""),
        (60, 29, "ended_at", "D02 Dao dealt at B07 from"),
        (25, 20, "started_at", "D02 Dao dealt at B07 from"),
        (60, 5, "ended_at", "may not overlap"),
        (10, None, None, ""),
        (40, None, "ended_at", "may not overlap"),
        (40, 50, "ended_at", "The end is not after the beginning."),
        (-5, None, "started_at", "This is still to come."),
        (5, -5, "ended_at", "This is still to come."),
        (105, 95, "started_at", "D01 Lek dealt at B08 from"),
    ],
)
def test_shifts_do_not_overlap_at_the_table_nor_of_the_dealer(
    table: MakeTable, dealers: list[Dealer], boss: User, start: float, end: float | None, field: str, says: str
) -> None:
    b07, b08 = table(), table("B08")
    now = timezone.now()

    def at(minutes: float) -> dt.datetime:
        return now - dt.timedelta(minutes=minutes)

    for where, who, begun, over in ((b07, dealers[1], 30, 10), (b08, dealers[0], 110, 100)):
        DealerShift.objects.create(table=where, dealer=who, started_at=at(begun), ended_at=at(over), recorded_by="nok")
    if not field:
        assert do_correct_shift(b07, boss, dealers[0], at(start), None if end is None else at(end)).pk
        return
    with pytest.raises(ValidationError) as refused:
        do_correct_shift(b07, boss, dealers[0], at(start), None if end is None else at(end))
    assert list(refused.value.message_dict) == [field]
    assert says in refused.value.message_dict[field][0]
    assert DealerShift.objects.count() == 2


def test_what_was_put_right_says_what_it_said_before(table: MakeTable, dealers: list[Dealer], boss: User) -> None:
    b07 = table()
    shift = past(b07, dealers[0], 60, 30)
    do_correct_shift(b07, boss, dealers[1], ago(70), ago(20), shift=shift)
    shift.refresh_from_db()
    assert (shift.dealer, shift.recorded_by) == (dealers[1], "boon")
    (entry,) = LogEntry.objects.all()
    before, after = entry.change_message.split(" -> ")
    assert before.startswith("B07 D01 ")
    assert after.startswith("B07 D02 ")
    assert entry.user == boss


# The pages.


def test_the_list_offers_the_house_recent_first_and_the_change_is_recorded(
    client: Client, table: MakeTable, dealers: list[Dealer], nok: User
) -> None:
    b07, b08 = table(), table("B08")
    past(b07, dealers[2], 60, 30)
    past(b08, dealers[1], 20, None)
    Dealer.objects.create(venue=b07.venue, code="GONE", is_active=False)
    Dealer.objects.create(venue=Venue.objects.create(code="LAKE", name="Lake"), code="OTHER")
    client.force_login(nok)
    page = client.get("/tables/B07/dealer/?pick", headers=HTMX).content.decode()
    assert page.index("D03 Ploy") < page.index("D01 Lek") < page.index("D02 Dao")
    assert "now at B08, ends there" in page
    assert "GONE" not in page
    assert "OTHER" not in page
    answer = client.post("/tables/B07/dealer/", {"dealer": dealers[1].pk, "seen": "0"}, headers=HTMX)
    assert answer.status_code == 200
    assert "<dialog" not in answer.content.decode()
    assert "Dao" in answer.content.decode()
    now = shift_now(b07)
    assert now is not None
    assert (now.dealer, shift_now(b08)) == (dealers[1], None)
    assert client.get(f"/tables/B07/dealer/?seen={now.pk}", headers=HTMX).status_code == 204
    assert "Dao" in client.get("/tables/B07/dealer/?seen=0", headers=HTMX).content.decode()


def test_without_scripts_the_list_is_a_page(client: Client, table: MakeTable, dealers: list[Dealer], nok: User) -> None:
    table()
    client.force_login(nok)
    page = client.get("/tables/B07/dealer/?q=da").content.decode()
    assert "Dao" in page
    assert "Lek" not in page
    assert "Nobody of that code or name." in client.get("/tables/B07/dealer/?q=zz").content.decode()
    answer = client.post("/tables/B07/dealer/", {"dealer": dealers[0].pk, "seen": "0", "next": "/tables/"})
    assert (answer.status_code, answer["Location"]) == (302, "/tables/")
    elsewhere = client.post("/tables/B07/dealer/", {"end": "1", "next": "https://elsewhere.example/"})
    assert elsewhere["Location"] == "/tables/B07/"


@pytest.mark.parametrize("htmx", [True, False])
def test_a_page_that_is_behind_is_told_so_and_may_choose_again(
    client: Client, table: MakeTable, dealers: list[Dealer], nok: User, htmx: bool
) -> None:
    b07 = table()
    do_change_dealer(b07, dealers[0], nok)
    client.force_login(nok)
    sent: Any = {"headers": HTMX} if htmx else {}
    answer = client.post("/tables/B07/dealer/", {"dealer": dealers[1].pk, "seen": "0"}, **sent)
    assert answer.status_code == (200 if htmx else 409)
    page = answer.content.decode()
    assert "Somebody else changed the dealer meanwhile: D01 Lek deals now." in page
    now = shift_now(b07)
    assert now is not None
    assert f'name="seen" value="{now.pk}"' in page
    assert now.dealer == dealers[0]


@pytest.mark.parametrize("dealer", ["", "x", "999999", "²"])
def test_a_dealer_that_is_none_is_refused(client: Client, table: MakeTable, nok: User, dealer: str) -> None:
    table()
    client.force_login(nok)
    answer = client.post("/tables/B07/dealer/", {"dealer": dealer, "seen": "0"})
    assert answer.status_code == 409
    assert "Choose somebody from the list." in answer.content.decode()


def test_another_house_sees_nothing_of_it(client: Client, table: MakeTable, dealers: list[Dealer], nok: User) -> None:
    lake = Venue.objects.create(code="LAKE", name="Lake")
    Table.objects.create(code="L01", venue=lake, ruleset="standard")
    StaffMember.objects.filter(user=nok).update(venue=lake)
    b07 = table()
    shift = past(b07, dealers[0], 60, None)
    client.force_login(nok)
    for address in ("dealer/", "shifts/", f"shifts/{shift.pk}/"):
        assert client.get(f"/tables/B07/{address}").status_code in (403, 404)
    assert client.post("/tables/B07/dealer/", {"end": "1"}).status_code == 404
    # nor is a dealer of another house taken at a table of one's own
    assert client.post("/tables/L01/dealer/", {"dealer": dealers[0].pk}).status_code == 409
    shift.refresh_from_db()
    assert shift.ended_at is None


def test_an_auditor_sees_and_changes_nothing(
    client: Client, table: MakeTable, dealers: list[Dealer], people: People
) -> None:
    b07 = table()
    shift = past(b07, dealers[0], 60, None)
    client.force_login(people("auditor"))
    assert "D01 Lek" in client.get("/tables/B07/dealer/").content.decode()
    page = client.get("/tables/B07/shifts/").content.decode()
    assert "D01 Lek" in page
    assert "Put right" not in page
    assert "<form" not in page.split("<main", 1)[1]
    assert client.get("/tables/B07/dealer/?pick", headers=HTMX).status_code == 403
    assert client.post("/tables/B07/dealer/", {"end": "1"}).status_code == 403
    assert client.get(f"/tables/B07/shifts/{shift.pk}/").status_code == 403
    assert client.post("/tables/B07/shifts/new/", {}).status_code == 403


def test_a_supervisor_puts_times_right_in_the_houses_own_time(
    client: Client, table: MakeTable, dealers: list[Dealer], boss: User
) -> None:
    b07 = table()
    shift = past(b07, dealers[0], 60, 30)
    client.force_login(boss)
    address = f"/tables/B07/shifts/{shift.pk}/"
    local = shift.started_at.astimezone(b07.venue.zone)
    assert f'value="{local:%Y-%m-%dT%H:%M:%S}"' in client.get(address).content.decode()
    typed = {"dealer": dealers[0].pk, "started_at": "2024-11-28T20:00", "ended_at": "2024-11-28T19:00"}
    refused = client.post(address, typed)
    page = refused.content.decode()
    assert refused.status_code == 422
    assert "The end is not after the beginning." in page.split('id="id_ended_at_error"')[1]
    assert 'value="2024-11-28T19:00"' in page, "what was typed is kept"
    assert "This is no date and time." in client.post(address, typed | {"started_at": "noon"}).content.decode()
    assert client.post(address, typed | {"ended_at": "2024-11-28T21:00"})["Location"] == "/tables/B07/shifts/"
    shift.refresh_from_db()
    assert shift.started_at == dt.datetime(2024, 11, 28, 13, tzinfo=dt.UTC)
    forgotten = {"dealer": dealers[1].pk, "started_at": "2024-11-28T21:00:00", "ended_at": "2024-11-28T21:20:00"}
    client.post("/tables/B07/shifts/new/", forgotten)
    assert DealerShift.objects.get(dealer=dealers[1]).recorded_by == "boon"
    assert "2024-11-28 21:20:00" in client.get("/tables/B07/shifts/").content.decode()


def test_a_shift_of_another_table_is_not_put_right_here(
    client: Client, table: MakeTable, dealers: list[Dealer], boss: User
) -> None:
    table()
    shift = past(table("B08"), dealers[0], 60, 30)
    client.force_login(boss)
    assert client.get(f"/tables/B07/shifts/{shift.pk}/").status_code == 404

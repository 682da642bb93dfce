"""The review's suggestion: who was on duty when the hand was dealt, as far as the record knows."""

from __future__ import annotations

import datetime as dt
import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client

from dealing.log import record
from dealing.models import Dealer, DealerShift, Hand, StaffMember, Venue
from incidents.models import IncidentReview
from incidents.review.sheet import sheet
from incidents.selectors import load_case
from incidents.services import do_review_incident
from tests.conftest import MakeTable, People
from tests.incident_logs import House

pytestmark = pytest.mark.django_db

MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"


@pytest.fixture
def here(table: MakeTable, people: People) -> House:
    """Table B07 with one incident; the shoe was opened by the supervisor Boon."""
    people("supervisor", "boon")
    house = House(table("B07"), people)
    house.record(MISPLACED, actor="boon")
    return house


@pytest.fixture
def dealers(here: House) -> list[Dealer]:
    """D01 Lek dealt until the hand began, D02 Dao from then on."""
    began = Hand.objects.get().started_at
    lek, dao = (
        Dealer.objects.create(venue=here.table.venue, code=code, name=name)
        for code, name in (("D01", "Lek"), ("D02", "Dao"))
    )
    hour = dt.timedelta(hours=1)
    for dealer, start, end in ((lek, began - hour, began), (dao, began, began + hour)):
        DealerShift.objects.create(table=here.table, dealer=dealer, started_at=start, ended_at=end, recorded_by="nok")
    return [lek, dao]


def page(client: Client, here: House, who: User) -> str:
    client.force_login(who)
    return client.get(f"/incidents/{here.incident().pk}/").content.decode()


def field(text: str, name: str) -> str:
    """A field of the form with its label and hint."""
    found = re.search(rf'<label for="id_{name}">.*?</select>', text, re.DOTALL)
    assert found is not None
    return html.unescape(found.group(0))


def chosen(text: str, name: str) -> str:
    found = re.search(r"<option[^>]*selected[^>]*>([^<]*)<", field(text, name))
    return found.group(1).strip("–") if found else ""


def send(client: Client, here: House, **data: Any) -> Any:
    return client.post(f"/incidents/{here.incident().pk}/review/", {"after": "0", **data})


def test_the_form_suggests_who_was_on_duty(client: Client, here: House, dealers: list[Dealer], people: People) -> None:
    text = page(client, here, people("manager"))
    assert chosen(text, "dealer") == "D02 Dao"
    assert "By the record of shifts: D02 Dao, since " in field(text, "dealer")
    assert 'label="Staff"' in field(text, "dealer"), "somebody of the staff may have dealt"


def test_a_suggestion_is_kept_only_when_the_note_is(
    client: Client, here: House, dealers: list[Dealer], people: People
) -> None:
    page(client, here, people("manager"))
    assert not IncidentReview.objects.exists()
    response = send(client, here, dealer=f"d{dealers[1].pk}", error_by="dealer")
    assert response.status_code == 302
    note = IncidentReview.objects.get()
    assert (note.dealt_by, note.dealer, note.dealer_name) == (dealers[1], None, "D02 Dao")
    data = sheet(load_case(here.incident()))
    assert ["Dealer on duty", "D02 Dao"] in data["review_short"]
    assert ["Dealer", "D02 Dao"] in data["signatures"]


def test_it_can_be_changed_and_the_record_is_still_told(
    client: Client, here: House, dealers: list[Dealer], people: People
) -> None:
    client.force_login(people("manager"))
    send(client, here, dealer=f"d{dealers[0].pk}")
    text = page(client, here, people("manager"))
    assert chosen(text, "dealer") == "D01 Lek"
    assert "By the record of shifts: D02 Dao" in field(text, "dealer")
    send(client, here, dealer=str(StaffMember.objects.get(code="BOON").pk), after="1")
    note = IncidentReview.objects.latest("number")
    assert (note.dealt_by, note.dealer, note.dealer_name) == (None, StaffMember.objects.get(code="BOON"), "BOON")
    assert chosen(page(client, here, people("manager")), "dealer") == "BOON"


def test_a_note_that_leaves_the_dealer_out_keeps_the_one_before(
    here: House, dealers: list[Dealer], people: People
) -> None:
    boss = people("supervisor", "boon")
    do_review_incident(here.incident(), boss, {"dealer": dealers[0]})
    note = do_review_incident(here.incident(), boss, {"camera": "C-14"})
    assert (note.dealt_by, note.dealer_name) == (dealers[0], "D01 Lek")
    with pytest.raises(ValidationError, match="nothing new"):
        do_review_incident(here.incident(), boss, {"dealer": dealers[0]})


def test_the_supervisor_is_who_recorded_last_in_the_shoe(client: Client, here: House, people: People) -> None:
    # The log of the test names no `by`: nobody is known.
    assert chosen(page(client, here, people("manager")), "supervisor") == ""
    began = Hand.objects.get().started_at
    dealer = Dealer.objects.create(venue=here.table.venue, code="D01")
    DealerShift.objects.create(table=here.table, dealer=dealer, started_at=began, recorded_by="boon")
    text = page(client, here, people("manager"))
    assert chosen(text, "supervisor") == "BOON", "who changed the dealer was there"


def test_the_supervisor_by_the_log(client: Client, table: MakeTable, people: People) -> None:
    people("supervisor", "boon")
    people("recorder", "nok")
    house = House(table("B07"), people)
    house.said.append(MISPLACED)
    for number, line in enumerate(house._lines(True)):
        record({**line, "by": "BOON" if number == 0 else "NOK"}, actor="x")
    text = page(client, house, people("manager"))
    assert chosen(text, "supervisor") == "BOON"
    assert "By the log of this shoe: BOON." in field(text, "supervisor")


def test_where_nothing_is_known_nothing_is_suggested(client: Client, here: House, people: People) -> None:
    text = page(client, here, people("manager"))
    assert chosen(text, "dealer") == ""
    assert "No dealer is recorded for this time." in field(text, "dealer")


def test_a_dealer_of_another_house_is_refused_beside_the_field(client: Client, here: House, people: People) -> None:
    other = Dealer.objects.create(venue=Venue.objects.create(code="LAKE", name="Lake"), code="D01")
    client.force_login(people("manager"))
    response = send(client, here, dealer=f"d{other.pk}", camera="C-14")
    assert response.status_code == 422
    assert "Choose somebody from the list." in response.content.decode().split('id="id_dealer_error"')[1]
    assert not IncidentReview.objects.exists()
    with pytest.raises(ValidationError) as refused:
        do_review_incident(here.incident(), people("manager"), {"dealer": other})
    assert list(refused.value.message_dict) == ["dealer"]


def test_who_left_stays_in_the_notes_and_is_not_offered_elsewhere(
    client: Client, here: House, dealers: list[Dealer], people: People
) -> None:
    client.force_login(people("manager"))
    send(client, here, dealer=f"d{dealers[0].pk}")
    Dealer.objects.update(is_active=False)
    text = page(client, here, people("manager"))
    assert chosen(text, "dealer") == "D01 Lek"
    assert "Dao<" not in field(text, "dealer")

"""Whoever belongs to a house sees and decides the incidents of that house, and no others."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from dealing.models import StaffMember, Table, Venue
from incidents.evidence import do_attach_file
from incidents.models import Decision, IncidentAttachment, IncidentReview
from incidents.review.urls import urlpatterns
from incidents.selectors import load_case
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.media import PNG

pytestmark = pytest.mark.django_db

BURNT = "shoe-open:commission hand:1 "  # the shoe has an incident too: nothing was burned
MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"


@pytest.fixture
def here(table: MakeTable, people: People, settings: Any, tmp_path: Path) -> House:
    """A hand and a shoe with an incident, and a picture with that of the hand."""
    settings.VAR_DIR = tmp_path
    house = House(table("B07"), people)
    house.record(BURNT + MISPLACED, prelude=False)
    do_attach_file(house.incident(), people("supervisor", "pim"), SimpleUploadedFile("felt.png", PNG), "")
    return house


@pytest.fixture
def stranger(people: People) -> User:
    """A manager of another house."""
    user = people("manager", "stranger")
    elsewhere = Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    StaffMember.objects.filter(user=user).update(venue=elsewhere)
    return User.objects.get(pk=user.pk)


def addresses(here: House) -> dict[str, str]:
    """An address for each name in the namespace, all of the incident of the hand but the last."""
    pk = here.incident().pk
    known: dict[str, list[Any]] = {
        "queue": [],
        "attachment": [pk, IncidentAttachment.objects.earliest("pk").pk],
        "for_hand": ["B07", 1, 1],
        "for_shoe": ["B07", 1],
    }
    return {name: reverse(f"incidents:{name}", args=known.get(name, [pk])) for name in names()}


def names() -> list[str]:
    return [str(pattern.name) for pattern in urlpatterns]


def answer(client: Client, here: House, name: str) -> int:
    address = addresses(here)[name]
    if name == "review":
        return client.post(address, {"camera": "C-14", "after": "0"}).status_code
    if name == "attach":
        return client.post(address, {"file": SimpleUploadedFile("more.png", PNG), "caption": ""}).status_code
    return client.get(address).status_code


@pytest.mark.parametrize("name", [name for name in names() if name != "queue"])
def test_no_address_of_an_incident_answers_to_another_house(
    client: Client, here: House, stranger: User, people: People, name: str
) -> None:
    client.force_login(stranger)
    assert answer(client, here, name) == 404
    assert (IncidentReview.objects.count(), IncidentAttachment.objects.count()) == (0, 1)
    client.force_login(people("manager", "nok"))
    assert answer(client, here, name) in (200, 302), "the house's own manager"


def test_a_manager_of_another_house_decides_nothing(client: Client, here: House, stranger: User) -> None:
    client.force_login(stranger)
    sent = {"actions": "correct", "reason": "", "seen": load_case(here.incident()).seen}
    assert client.post(addresses(here)["incident"], sent).status_code == 404
    assert client.post(addresses(here)["incident"], {**sent, "preview": "1"}).status_code == 404
    assert not Decision.objects.exists()


def test_the_queue_and_its_counts_are_those_of_the_house(
    client: Client, here: House, stranger: User, people: People
) -> None:
    venue = stranger.staff_member.venue
    mine = House(Table.objects.create(code="H01", venue=venue, ruleset="commission"), people)
    mine.record(MISPLACED)
    client.force_login(stranger)
    for query in ("", "?status=all", "?q=B07", "?status=all&table=B07"):
        page = client.get(f"/incidents/{query}").content.decode()
        assert ">B07 shoe" not in page
        assert '<option value="B07"' not in page
        assert ' <span class="nav-count">1<' in page
    assert "H01 shoe 1 hand 1" in client.get("/incidents/").content.decode()
    own = client.get(reverse("incidents:incident", args=[mine.incident().pk])).content.decode()
    assert "more wait" not in own, "the queue of this house is otherwise empty"


def test_whoever_belongs_to_no_house_sees_all(client: Client, here: House) -> None:
    client.force_login(User.objects.create_superuser("root"))
    assert "B07 shoe 1 hand 1" in client.get("/incidents/").content.decode()
    for name in names():
        assert answer(client, here, name) in (200, 302), name
    picture = b"".join(client.get(addresses(here)["attachment"]).streaming_content)  # type: ignore[attr-defined]
    assert hashlib.sha256(picture).digest() == hashlib.sha256(PNG).digest()

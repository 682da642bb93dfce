"""A NUL in an address is nobody's name, on either database."""

from __future__ import annotations

import pytest
from django.test import Client

from dealing.models import Table
from dealing.permissions import MANAGER
from tests.conftest import MakeTable, People
from tests.test_devices_record import make_device

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(table: MakeTable) -> str:
    made: Table = table("B07")
    return make_device(made.venue, made)


@pytest.mark.parametrize("address", ["", "events/", "feed/", "shoes/1/", "shoes/1/hands/1/"])
def test_a_device_is_told_that_there_is_no_such_table(client: Client, key: str, address: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    answer = client.get(f"/api/v1/tables/%00/{address}", headers=headers)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    if address == "events/":
        answer = client.post(f"/api/v1/tables/%00/{address}", [], content_type="application/json", headers=headers)
        assert answer.status_code in (400, 404)


def test_pages_and_lists_have_nothing_there(client: Client, people: People) -> None:
    client.force_login(people(MANAGER))
    for address in ("/devices/%00/", "/tables/%00/", "/dealers/%00/", "/api/v1/reports/%00/2026-07-11/"):
        assert client.get(address).status_code in (403, 404), address

"""A small house for the tests of the API: what of it there is to read, and how it is asked."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from dealing.devices.keys import make_key
from dealing.devices.models import Device
from dealing.importer import import_log
from dealing.models import StaffMember, Table, Venue
from dealing.rules.events import Event
from incidents.models import Decision
from tests import reports_samples as samples
from tests.incident_logs import House
from tests.table_logs import simulated, written

API = "/api/v1/"
MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"


class Everybody:
    """`people("manager")`: a user of that group in the house; the same name again gives the same user."""

    def __init__(self, venue: Venue) -> None:
        self.venue = venue

    def __call__(self, group: str | None, name: str | None = None) -> User:
        name = name or group or "visitor"
        user, made = User.objects.get_or_create(username=name)
        if made:
            StaffMember.objects.create(user=user, code=name.upper(), venue=self.venue)
        if group:
            user.groups.add(Group.objects.get(name=group))
        return user


@dataclass
class ApiHouse:
    """Table B07 with findings of many kinds, B08 with few hands, B09 with a hand that was decided on, X01 of another
    house; a report of each house.
    """

    venue: Venue
    other: Venue
    tables: dict[str, Table]
    logs: dict[str, list[Event]]
    decision: Decision
    people: Everybody

    def device(self, *tables: str, supervises: bool = False) -> Client:
        """Somebody who asks with the key of a device of these tables."""
        device = Device.objects.create(
            venue=self.venue,
            code=f"SHOE-{Device.objects.count() + 1}",
            supervises=supervises,
            created_at=timezone.now(),
            created_by="kanya",
        )
        device.tables.set(self.tables[code] for code in tables)
        return Client(headers={"Authorization": f"Bearer {make_key(device, 'kanya')[1]}"})


def fill() -> ApiHouse:
    """Make it."""
    venue = Venue.objects.create(code="RIVER", name="River House", time_zone="Asia/Bangkok")
    other = Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    people = Everybody(venue)
    logs, tables = {}, {}
    for code, house, shoes, hands in (("B07", venue, 2, 8), ("B08", venue, 1, 2), ("X01", other, 1, 4)):
        tables[code] = Table.objects.create(code=code, venue=house, ruleset="insurance")
        logs[code] = simulated(code, shoes=shoes, hands=hands, seed=5)
        assert not import_log(io.BytesIO(written(logs[code]).encode()), actor="import").refusals
        tables[code].refresh_from_db()
    tables["B09"] = Table.objects.create(code="B09", venue=venue, ruleset="commission")
    decided = House(tables["B09"], people)
    decided.record(MISPLACED)
    decision = decided.decide("void hand", reason="Nobody saw the card", by="malee")
    for house in (venue, other):
        samples.save_report(house, samples.quiet(house.code, house.name))
    return ApiHouse(venue, other, tables, logs, decision, people)


@contextmanager
def standing_house(django_db_blocker: Any) -> Iterator[ApiHouse]:
    """The house for all tests of a module: each takes back what it changes, and the end takes back the house."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield fill()
        transaction.set_rollback(True)


def read(client: Client, address: str, status: int = 200, /, **query: Any) -> dict[str, Any]:
    """The JSON at an address, whole or beneath `/api/v1/`; of an error the problem that it is."""
    parts = urlsplit(address)
    path = parts.path if parts.path.startswith("/") else API + parts.path
    response = client.get(f"{path}?{parts.query}" if parts.query else path, query or None)
    assert response.status_code == status, response.content[:800]
    assert response["Content-Type"] == ("application/json" if status == 200 else "application/problem+json")
    data: dict[str, Any] = json.loads(response.content)
    if status != 200:
        assert data["status"] == status
        assert data["type"].startswith("/api/v1/problems/#")
        assert data["title"]
        assert data["detail"]
    return data


def read_all(client: Client, address: str, /, **query: Any) -> list[dict[str, Any]]:
    """All of a list, page by page."""
    found: list[dict[str, Any]] = []
    data = read(client, address, **query)
    while True:
        found += data["results"]
        if data["next"] is None:
            return found
        data = read(client, data["next"])

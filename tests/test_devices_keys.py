"""Keys of devices: which open the API, and what is said where one does not."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from dealing.devices import keys
from dealing.devices.authentication import DeviceKeyAuthentication
from dealing.devices.models import Device, DeviceKey
from dealing.models import Venue
from dealing.permissions import May, may, reaches, tables_of
from tests.conftest import MakeTable

pytestmark = pytest.mark.django_db


@pytest.fixture
def device(venue: Venue, table: MakeTable) -> Device:
    made = Device.objects.create(venue=venue, code="SHOE-1", created_at=timezone.now(), created_by="kanya")
    made.tables.set([table("B01"), table("B02")])
    table("B03")
    return made


def ask(client: Client, text: str) -> int:
    answer = client.get("/api/v1/reports/", headers={"Authorization": f"Bearer {text}"})
    if answer.status_code == 401:
        assert answer["Content-Type"] == "application/problem+json"
        assert answer["WWW-Authenticate"] == "Bearer"
        assert answer.json()["detail"] == "This device key is unknown, was revoked or has run out."
    return answer.status_code


def test_a_key_opens_the_api_until_it_is_revoked_runs_out_or_its_device_is_taken_out_of_use(
    client: Client, device: Device
) -> None:
    now = timezone.now()
    key, text = keys.make_key(device, "kanya")
    _, over = keys.make_key(device, "kanya", expires_at=now - dt.timedelta(seconds=1))
    assert ask(client, text) == 403  # known, and reports are not for devices
    assert [ask(client, bad) for bad in (text[:-1] + "~", text[:-1], "bka_x", "", over, "é", key.digest)] == [401] * 7
    other = f"{text[:-1]}{'A' if text[-1] != 'A' else 'B'}"
    assert ask(client, other) == 401
    keys.revoke(key, "kanya")
    assert ask(client, text) == 401
    _, text = keys.make_key(device, "kanya")
    Device.objects.update(is_active=False)
    assert ask(client, text) == 401


def test_who_has_a_key_is_known_by_one_statement(
    device: Device, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    key, text = keys.make_key(device, "kanya")
    request = Request(APIRequestFactory().post("/", headers={"Authorization": f"bearer {text}"}))
    with django_assert_num_queries(2):  # the second notes that it was used
        DeviceKeyAuthentication().authenticate(request)
    key.refresh_from_db()
    assert key.last_used_at is not None
    with django_assert_num_queries(1):
        found = DeviceKeyAuthentication().authenticate(request)
        assert found is not None
        user, auth = found
        assert auth == key
        assert user.get_username() == "device:SHOE-1"
        assert may(user, May.RECORD)
        assert not may(user, May.SUPERVISE)
    reached = {table.code: reaches(user, table) for table in device.venue.tables.all()}
    assert reached == {"B01": True, "B02": True, "B03": False}
    assert [table.code for table in tables_of(user)] == ["B01", "B02"]


def test_old_keys_run_on_for_a_while_after_a_rotation_and_no_longer_than_they_would_have(device: Device) -> None:
    now = timezone.now()
    _, endless = keys.make_key(device, "kanya")
    soon, _ = keys.make_key(device, "kanya", expires_at=now + dt.timedelta(hours=1))
    _, new = keys.rotate(device, "kanya", dt.timedelta(hours=24))
    assert keys.known(endless)
    assert keys.known(new)
    first = DeviceKey.objects.get(prefix=endless.split("_")[1])
    assert first.expires_at is not None
    assert dt.timedelta(hours=23) < first.expires_at - now <= dt.timedelta(hours=25)
    soon.refresh_from_db()
    assert soon.expires_at == now + dt.timedelta(hours=1)
    keys.rotate(device, "kanya", dt.timedelta())
    assert keys.known(endless) is None
    assert keys.known(new) is None

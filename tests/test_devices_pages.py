"""The pages of the devices: who may see them, a key shown once, rotated, revoked, a device out of use."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from dealing.devices import keys
from dealing.devices.models import Device, DeviceKey
from dealing.models import Table, Venue
from tests.conftest import MakeTable, People

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture
def malee(client: Client, people: People, table: MakeTable) -> Client:
    table("B07")
    table("B08")
    client.force_login(people("manager", "malee"))
    return client


def text(response: Any) -> str:
    page: str = response.content.decode()
    return page


def shown_key(response: Any) -> str:
    found = re.search(r"data-key>([^<]+)<", text(response))
    return found[1] if found else ""


def make(venue: Venue, code: str = "SHOE-1", *tables: Table) -> Device:
    made = Device.objects.create(venue=venue, code=code, created_at=timezone.now(), created_by="kanya")
    made.tables.set(tables)
    return made


def new_key(client: Client, seen: int, **fields: str) -> str:
    response = client.post("/devices/SHOE-1/keys/", {"seen": seen, **fields})
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    return shown_key(response)


@pytest.mark.parametrize("who", ["recorder", "supervisor", "auditor", None, "nobody"])
def test_only_managers_and_administrators(client: Client, people: People, venue: Venue, who: str | None) -> None:
    key, _ = keys.make_key(make(venue), "kanya")
    if who != "nobody":
        client.force_login(people(who))
    at = "/devices/SHOE-1/"
    pages = [("get", "/devices/"), ("get", "/devices/new/"), ("get", at), ("get", f"{at}edit/")]
    posts = [("post", "/devices/new/"), ("post", f"{at}edit/"), ("post", f"{at}keys/")]
    for method, address in [*pages, *posts, ("post", f"{at}keys/{key.prefix}/revoke/")]:
        response = getattr(client, method)(address)
        assert response.status_code == (302 if who == "nobody" else 403), address
    assert DeviceKey.objects.filter(revoked_at=None).count() == 1
    assert 'href="/devices/"' not in text(client.get("/tables/"))


def test_a_device_is_made_and_its_key_shown_once(malee: Client) -> None:
    assert 'href="/devices/"' in text(malee.get("/tables/"))
    assert "There are no devices yet." in text(malee.get("/devices/"))
    refused = malee.post("/devices/new/", {"code": "shoe 1", "tables": []})
    assert refused.status_code == 422
    assert "Use 1 to 32 of the characters" in text(refused)
    assert "Tick at least one table." in text(refused)
    given = {"code": "shoe-1", "name": "Angel Eye, pit 1", "tables": ["B07"], "supervises": "on"}
    page = malee.post("/devices/new/", given, follow=True)
    assert "It has no good key" in text(page)
    made = Device.objects.get()
    assert (made.code, made.name, made.supervises, made.created_by) == ("SHOE-1", "Angel Eye, pit 1", True, "malee")
    assert [table.code for table in made.tables.all()] == ["B07"]
    assert "There is a device of this code already." in text(malee.post("/devices/new/", given))
    secret = new_key(malee, 0)
    known = keys.known(secret)
    assert known is not None
    assert known.device == made
    page = malee.get("/devices/SHOE-1/")
    assert secret not in text(page)
    assert f"bka_{known.prefix}" in text(page)
    # The same answer asked for again, by a press of “reload”, makes no second key.
    again = malee.post("/devices/SHOE-1/keys/", {"seen": 0}, follow=True)
    assert "A key was made since this page was opened." in text(again)
    assert not shown_key(again)
    assert DeviceKey.objects.count() == 1
    stored = " ".join(str(value) for row in DeviceKey.objects.values_list() for value in row)
    assert secret.removeprefix(f"bka_{known.prefix}_") not in stored


def test_keys_are_rotated_and_revoked(malee: Client, venue: Venue) -> None:
    make(venue)
    first = new_key(malee, 0)
    second = new_key(malee, 1, others="stay")
    third = new_key(malee, 2, others="later")
    ends = DeviceKey.objects.exclude(expires_at=None)
    assert {key.prefix for key in ends} == {key.split("_")[1] for key in (first, second)}
    assert [bool(keys.known(key)) for key in (first, second, third)] == [True, True, True]
    page = text(malee.get("/devices/SHOE-1/"))
    assert page.count(">until ") == 2
    fourth = new_key(malee, 3, others="end")
    assert [bool(keys.known(key)) for key in (first, second, third, fourth)] == [False, False, False, True]
    prefix = fourth.split("_")[1]
    page = text(malee.post(f"/devices/SHOE-1/keys/{prefix}/revoke/", follow=True))
    assert "The key is revoked" in page
    assert keys.known(fourth) is None
    key = DeviceKey.objects.get(prefix=prefix)
    assert key.revoked_by == "malee"
    assert malee.post("/devices/SHOE-1/keys/none/revoke/").status_code == 404


def test_a_device_out_of_use_opens_nothing_and_can_come_back(malee: Client, venue: Venue) -> None:
    make(venue, "SHOE-1", *Table.objects.filter(code="B07"))
    secret = new_key(malee, 0)
    page = malee.post("/devices/SHOE-1/edit/", {"name": "", "tables": ["B07", "B08"]}, follow=True)
    assert "Out of use: none of its keys opens anything." in text(page)
    assert keys.known(secret) is None
    malee.post("/devices/SHOE-1/edit/", {"name": "x", "tables": ["B08"], "is_active": "on", "code": "OTHER"})
    known = keys.known(secret)
    assert known is not None
    assert [table.code for table in known.device.tables.all()] == ["B08"]
    assert known.device.code == "SHOE-1"
    assert "out of use" not in text(malee.get("/devices/"))


def test_of_other_houses_nothing_is_seen_and_nothing_ticked(malee: Client) -> None:
    hill = Venue.objects.create(code="HILL", name="Hill House")
    far = Table.objects.create(code="H01", venue=hill, ruleset="commission")
    key, _ = keys.make_key(make(hill, "FAR", far), "kanya")
    assert "FAR" not in text(malee.get("/devices/"))
    for method, address in (
        ("get", "/devices/FAR/"),
        ("get", "/devices/FAR/edit/"),
        ("post", "/devices/FAR/edit/"),
        ("post", "/devices/FAR/keys/"),
        ("post", f"/devices/FAR/keys/{key.prefix}/revoke/"),
    ):
        assert getattr(malee, method)(address).status_code == 404, address
    assert "H01" not in text(malee.get("/devices/new/"))
    refused = malee.post("/devices/new/", {"code": "NEAR", "tables": ["H01"]})
    assert refused.status_code == 422
    assert not Device.objects.filter(code="NEAR").exists()


def test_an_administrator_of_all_houses_says_of_which_a_device_is(malee: Client, people: People) -> None:
    hill = Venue.objects.create(code="HILL", name="Hill House")
    Table.objects.create(code="H01", venue=hill, ruleset="commission")
    kanya = people(None, "kanya")
    kanya.is_superuser = True
    kanya.save()
    kanya.staff_member.delete()
    malee.force_login(kanya)
    refused = malee.post("/devices/new/", {"code": "H-1", "house": "HILL", "tables": ["H01", "B07"]})
    assert "Tick tables of the house chosen above" in text(refused)
    page = malee.post("/devices/new/", {"code": "H-1", "house": "HILL", "tables": ["H01"]}, follow=True)
    assert "Hill House" in text(page)
    assert Device.objects.get(code="H-1").venue == hill


def test_from_the_command_line(venue: Venue, table: MakeTable, tmp_path: Path) -> None:
    table("B07")
    table("B08")

    def key(*arguments: str) -> str:
        out = StringIO()
        call_command("device_key", *arguments, stdout=out)
        return out.getvalue().strip()

    first = key("SHOE-9", "--table", "B07", "--supervises", "--name", "Shoe nine")
    made = Device.objects.get(code="SHOE-9")
    assert (made.venue, made.supervises, made.created_by) == (venue, True, "device_key")
    second = key("SHOE-9", "--table", "B08", "--rotate", "0")
    assert [table.code for table in made.tables.all()] == ["B07", "B08"]
    assert [bool(keys.known(one)) for one in (first, second)] == [False, True]
    Venue.objects.create(code="HILL", name="Hill House")
    for arguments, why in (
        (("SHOE-9", "--table", "X1"), r"there is no table X1 \(known: B07, B08\)"),
        (("shoe", "--table", "B07"), "Use 1 to 32"),
        (("SHOE-8",), r"name its house: --venue \(known: HILL, RIVER\)"),
        (("SHOE-8", "--venue", "HILL", "--table", "B07"), "of another house"),
        (("SHOE-9", "--venue", "HILL"), "belongs to house RIVER"),
    ):
        with pytest.raises(CommandError, match=why):
            key(*arguments)
    assert Device.objects.count() == 1
    into = tmp_path / "key"
    assert key("SHOE-9", "--table", "B07", "--output", str(into)) == ""
    assert keys.known(into.read_text().strip()) is not None
    assert into.stat().st_mode & 0o777 == 0o600
    into.chmod(0o644)
    before = into.read_text()
    for there in (into, tmp_path):
        with pytest.raises(CommandError, match="is there already, and others may read it"):
            key("SHOE-9", "--table", "B07", "--output", str(there))
    assert into.read_text() == before
    with pytest.raises(CommandError, match="no house NONE"):
        key("SHOE-8", "--venue", "NONE", "--output", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    for hours in ("nan", "inf", "1e300", "-5", "8761", "soon"):
        with pytest.raises(CommandError, match=f"hours from 0 to 8760 are wanted, not {hours}"):
            key("SHOE-9", "--rotate", hours)


@pytest.mark.django_db(transaction=True)
def test_the_log_of_the_process_tells_of_no_key_that_was_not_made(
    table: MakeTable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table("B08")
    caplog.set_level("INFO", "dealing.accounts.events")
    with pytest.raises(CommandError, match="No such file") as failed:
        call_command("device_key", "X9", "--table", "B08", "--output", str(tmp_path / "nope" / "f"))
    assert failed.value.returncode == 2
    assert caplog.messages == []
    call_command("device_key", "X9", "--table", "B08", "--output", str(tmp_path / "f"))
    assert caplog.messages == ["key made: device:X9 by device_key from None"]

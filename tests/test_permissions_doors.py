"""Every address, tried by everybody: let in or refused as the one table of rights says."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.signals import request_finished
from django.db import close_old_connections, transaction
from django.http import HttpResponseBase
from django.test import Client

from dealing.log import record
from dealing.models import Dealer, DealerShift, Table
from dealing.permissions import ADMINISTRATOR, AUDITOR, DEVICE, MANAGER, RECORDER, SUPERVISOR, May
from incidents.models import IncidentReview
from incidents.webhooks.models import Webhook
from tests.doors import (
    ADMIN_FOR_ALL,
    ANYBODY,
    DEVICES,
    DOORS,
    LOGGED_IN,
    NOWHERE,
    Door,
    Need,
    Place,
    Scene,
    addresses,
    admin_addresses,
    allowed,
    arrange,
    key_of,
    person,
)

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]


@pytest.fixture(scope="module")
def scene(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Made once for all tests here, and taken back."""
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        patch.setattr(settings, "VAR_DIR", tmp_path_factory.mktemp("var"))
        with transaction.atomic():
            yield arrange()
            transaction.set_rollback(True)


def asked(client: Client, method: str, address: str, **data: Any) -> HttpResponseBase:
    """The answer; what it changed is taken back, here and in the browser."""
    cookies = copy.deepcopy(client.cookies)
    with transaction.atomic():
        response = for_good(client, method, address, **data)
        transaction.set_rollback(True)
    client.cookies = cookies
    return response


def for_good(client: Client, method: str, address: str, **data: Any) -> HttpResponseBase:
    """The answer; what it changed stays."""
    ask = getattr(client, method.lower())
    response: HttpResponseBase = ask(address, **data)
    if response.streaming:  # whoever ends a stream closes the database too, and with it what the tests stand on
        request_finished.disconnect(close_old_connections)
        response.close()
        request_finished.connect(close_old_connections)
    return response


def came_in(response: HttpResponseBase) -> bool:
    """Whether the view itself answered, be it that something was wrong with what was asked."""
    return response.status_code < 500 and response.status_code not in (401, 403, 404, 405) and not sent_away(response)


def sent_away(response: HttpResponseBase) -> bool:
    """Whether they were sent to the log-in page."""
    return response.status_code == 302 and response.headers["Location"].startswith("/login/")


def refused_as(door: Door, who: str) -> set[int]:
    """How somebody is refused there: 302 is to the log-in page."""
    if door.hides:
        return {404}
    unknown = who == "nobody" or (who in DEVICES and not door.api)
    return {401} if unknown and (door.api or door.part) else {302} if unknown else {403}


def judged(door: Door, who: str, need: Need, response: HttpResponseBase) -> str:
    """What is wrong with an answer; empty for nothing."""
    told = f"{door.name} as {who}: {response.status_code} {response.headers.get('Location', '')}"
    if allowed(who, need, door.api):
        fine = (
            came_in(response)
            or (door.red and response.status_code == 503)
            or (door.sends_away and sent_away(response))
            or (door.hides and need == LOGGED_IN)
        )
        return "" if fine else f"{told}, and they may come in"
    if door.hides and need == LOGGED_IN:
        return "" if sent_away(response) else told
    right = response.status_code in refused_as(door, who) and (response.status_code != 302 or sent_away(response))
    return "" if right else f"{told}, and they may not come in"


def said(wrong: str) -> None:
    """Fail with what is wrong, and nothing else."""
    if wrong:
        pytest.fail(wrong, pytrace=False)


def sent(door: Door) -> dict[str, Any]:
    """What a POST brings: nothing that could be kept, for who may come in is asked first."""
    return {"data": {}, "content_type": "application/json"} if door.api else {}


def test_every_address_says_what_it_needs() -> None:
    names = [name for name, _path in addresses()]
    missing = [name for name in names if name not in DOORS and name != NOWHERE and not name.startswith("admin:")]
    assert not missing, "write down in tests/doors.py who may come in there"
    assert not set(DOORS) - set(names), "there is no such address any more"
    assert all(door.get or door.post for door in DOORS.values())


#: The doors by the part of the product that they belong to.
ROOMS: dict[str, list[Door]] = {}
for _door in DOORS.values():
    ROOMS.setdefault(_door.name.partition(":")[0] if ":" in _door.name else "", []).append(_door)


@pytest.mark.parametrize("room", ROOMS)
def test_who_comes_in(scene: Scene, room: str) -> None:
    wrong = []
    for door in ROOMS[room]:
        for who, client in scene.clients.items():
            if door.slow and who not in ("nobody", DEVICE):
                continue
            address = door.address(scene.here, scene.user(who))
            if door.get is not None:
                wrong.append(judged(door, who, door.get, asked(client, "GET", address)))
            if door.post is not None:
                wrong.append(judged(door, who, door.post, asked(client, "POST", address, **sent(door))))
    said("\n".join(filter(None, wrong)))


@pytest.mark.parametrize("room", ROOMS)
def test_other_methods_and_head(scene: Scene, room: str) -> None:
    client, wrong = scene.clients[ADMINISTRATOR], []
    for door in ROOMS[room]:
        address = door.address(scene.here, scene.user(ADMINISTRATOR))
        methods = ["PUT", "PATCH", "DELETE", *(["POST"] if door.post is None else [])]
        methods += ["GET", "HEAD"] if door.get is None else []
        for method in methods:
            status = asked(client, method, address).status_code
            # Django's own two views take every method and do nothing by it.
            if status != (302 if door.name in ("login", "set_language") else 405):
                wrong.append(f"{method} {door.name}: {status}")
        if door.get is None:
            continue
        for who in ("nobody", *([] if door.slow else [ADMINISTRATOR])):
            head = asked(scene.clients[who], "HEAD", door.address(scene.here, scene.user(who)))
            wrong.append(judged(door, who, door.get, head))
            if not head.streaming and head.content:  # type: ignore[attr-defined]
                wrong.append(f"HEAD {door.name} has a body")
    said("\n".join(filter(None, wrong)))


def everything() -> str:
    """All that the database holds, but for sessions and what is noted of people who come."""
    rows = {
        model._meta.label: [list(row) for row in model._default_manager.order_by("pk").values_list()]
        for model in apps.get_models()
        if model._meta.app_label not in ("sessions", "accounts", "axes", "otp_static", "otp_totp")
        and model._meta.label not in ("auth.User", "devices.DeviceKey")
    }
    return json.dumps(rows, default=str)


#: What names something of a house; the drawing rules are the same in every one.
NAMING = {
    room: named
    for room, doors in ROOMS.items()
    if (
        named := [
            door for door in doors if door.name != "console:tableau" and any(isinstance(a, str) for a in door.args)
        ]
    )
}


@pytest.mark.parametrize("room", NAMING)
def test_another_house_is_not_there(scene: Scene, room: str) -> None:
    wrong = []
    before = everything()
    for door in NAMING[room]:
        for who, client in scene.clients.items():
            address = door.address(_elsewhere(door, scene), None)
            for method, need in (("GET", door.get), ("POST", door.post)):
                if need is None:
                    continue
                cookies = copy.deepcopy(client.cookies)
                response = for_good(client, method, address, **(sent(door) if method == "POST" else {}))
                client.cookies = cookies
                hidden = response.status_code == 404 if allowed(who, need, door.api) else not came_in(response)
                if not hidden:
                    wrong.append(f"{method} {address} as {who}: {response.status_code}")
    said("\n".join(wrong))
    assert everything() == before


def _elsewhere(door: Door, scene: Scene) -> Place:
    if door.name != "reports:day":
        return scene.there
    place = Place(scene.there)  # a day is the same in both houses; the one asked for is named beside it
    place.venue = scene.there.venue
    place["day"] = "2020-01-01"
    return place


# What a form or a question names beside the address.


def _fields(scene: Scene) -> list[tuple[str, str, dict[str, Any]]]:
    """Addresses of this house with something of the other one in what is sent."""
    here, there = scene.here, scene.there
    dealer = Dealer.objects.get(code=there["dealer"]).pk
    stranger = User.objects.get(username="decider-HILL").staff_member.pk
    times = {"started_at": "2026-07-01T10:00", "ended_at": "2026-07-01T11:00"}
    return [
        (MANAGER, DOORS["pit:dealer"].address(here), {"dealer": dealer, "seen": here["shift"]}),
        (MANAGER, DOORS["pit:shift"].address(here), {"dealer": dealer, **times}),
        (MANAGER, DOORS["pit:new_shift"].address(here), {"dealer": dealer, **times}),
        (MANAGER, DOORS["incidents:review"].address(here), {"dealer": f"d{dealer}", "note": "x", "after": 0}),
        (MANAGER, DOORS["incidents:review"].address(here), {"supervisor": stranger, "note": "x", "after": 0}),
        (MANAGER, DOORS["reports:start"].address(here), {"house": there["venue"], "day": "2026-07-01"}),
        (MANAGER, DOORS["webhooks:new"].address(here), {"venue": there.venue.pk, "house": there["venue"]}),
        (SUPERVISOR, DOORS["sheets:start"].address(here), {"house": there.venue.pk}),
        (RECORDER, DOORS["console:record"].address(here), {"event": "betting_opened", "table": there["table"]}),
    ]


def test_what_is_sent_names_nothing_of_another_house(scene: Scene) -> None:
    def of_there() -> str:
        return json.dumps([row for row in everything().split("], [") if "HILL" in row or "C01" in row])

    before = of_there()
    rows = (
        Table.objects.get(code="C01").last_seq,
        DealerShift.objects.count(),
        Webhook.objects.filter(venue__code="HILL").count(),
    )
    for who, address, data in _fields(scene):
        for_good(scene.clients[who], "POST", address, data=data)
    assert of_there() == before
    now = (
        Table.objects.get(code="C01").last_seq,
        DealerShift.objects.count(),
        Webhook.objects.filter(venue__code="HILL").count(),
    )
    assert now == rows
    assert not IncidentReview.objects.exists()


@pytest.mark.parametrize("name", ["dealers:list", "dealers:nobody", "reports:list", "reports:status", "reports:day"])
def test_a_house_that_is_asked_for_beside_the_address_is_not_shown(scene: Scene, name: str) -> None:
    door = DOORS[name]
    for who in (SUPERVISOR, MANAGER, AUDITOR, ADMINISTRATOR):
        response = asked(scene.clients[who], "GET", door.address(scene.here), data={"house": "HILL"})
        assert response.status_code == 404 or b"HILL House" not in getattr(response, "content", b""), who


@pytest.mark.parametrize("name", [name for name, door in DOORS.items() if door.api and door.get and not door.args])
def test_the_lists_of_the_api_hold_ones_own_house_alone(scene: Scene, name: str) -> None:
    door = DOORS[name]
    for who, client in scene.clients.items():
        if name.startswith("api:schema") or not allowed(who, door.get or ANYBODY, api=True):
            continue
        content = b"".join(
            getattr(asked(client, "GET", door.address(scene.here), data=data), "content", b"")
            for data in ({}, {"venue": "HILL"} if name != "api:root" else {})
        )
        assert b"HILL" not in content.replace(b'"venue":["HILL', b"")
        assert b"C01" not in content


def test_head_office_sees_every_house(scene: Scene) -> None:
    client = Client()
    client.force_login(person("head office", MANAGER, None))
    for name in (
        "console:table",
        "incidents:incident",
        "reports:report",
        "webhooks:webhook",
        "api:table",
        "api:incident",
    ):
        for place in (scene.here, scene.there):
            assert came_in(asked(client, "GET", DOORS[name].address(place))), name


# Events: what somebody may record.

LINES = {
    "card": May.RECORD,
    "shoe_opened": May.SUPERVISE,
    "shoe_closed": May.SUPERVISE,
    "voided": May.SUPERVISE,
}
FIELDS: dict[str, dict[str, Any]] = {
    "card": {"hand": 1, "to": "B3", "card": "5s"},
    "shoe_opened": {"shoe": 2, "ruleset": "commission", "decks": 8},
    "shoe_closed": {"reason": "finished"},
    "voided": {"hand": 1, "scope": "hand", "reason": "seen"},
}


@pytest.mark.parametrize("event", LINES)
@pytest.mark.parametrize("way", ["page", "api"])
def test_who_records_what(scene: Scene, event: str, way: str) -> None:
    for who, client in scene.clients.items():
        line: dict[str, Any] = {"event": event, "shoe": 1, **FIELDS[event]}
        if way == "page":
            fields = line | {"sheet": event, "confirmed": 1, "seq": Table.objects.get(code="B07").last_seq}
            response = asked(client, "POST", DOORS["console:record"].address(scene.here), data=fields)
        else:
            address = DOORS["api:events"].address(scene.here)
            body = json.dumps([line | {"key": "k"}])
            response = asked(client, "POST", address, data=body, content_type="application/json")
        fine = allowed(who, LINES[event], api=way == "api")
        refused = response.status_code in (401, 403) or sent_away(response)
        assert refused is not fine, f"{who}: {response.status_code} {getattr(response, 'content', b'')[-600:]!r}"


@pytest.mark.parametrize("way", ["page", "api"])
def test_who_amends_a_closed_hand(scene: Scene, way: str) -> None:
    """Of somebody else: see test_permissions_amending.py for one's own."""
    record({"table": "B07", "shoe": 1, "event": "voided", "hand": 1, "scope": "hand", "reason": "x"}, actor="somchai")
    for who, client in scene.clients.items():
        if way == "page":
            fields = {"event": "amended", "entry": 5, "withdraw": 1, "why": "typo"}
            response = asked(client, "POST", DOORS["console:record"].address(scene.here), data=fields)
        else:
            line = {"event": "amended", "shoe": 1, "hand": 1, "seq": 5, "reason": "typo", "key": "k"}
            address = DOORS["api:events"].address(scene.here)
            response = asked(client, "POST", address, data=json.dumps([line]), content_type="application/json")
        refused = response.status_code in (401, 403) or sent_away(response)
        assert refused is not allowed(who, May.AMEND, api=way == "api"), f"{who}: {response.status_code}"


def test_each_right_is_tried_here_or_elsewhere() -> None:
    """Tables that a sheet names: test_sheets_pages.py."""
    needed = {need for door in DOORS.values() for need in (door.get, door.post) if isinstance(need, May)}
    assert needed | set(LINES.values()) | {May.AMEND, May.MAKE_TABLES} == set(May)


# The admin.


def test_the_admin_is_for_administrators(scene: Scene) -> None:
    wrong = []
    for address in admin_addresses():
        everybody = scene.clients if address == "/admin/" else ("nobody", MANAGER)
        # Each page as an administrator: test_security_injection.py.
        for who in everybody:
            response = asked(scene.clients[who], "GET", address)
            if who == ADMINISTRATOR:
                fine = response.status_code < 500 and not sent_away(response)
            elif who == "nobody" or who in DEVICES:
                fine = 300 <= response.status_code < 400 and "/login/" in response.headers["Location"]
            else:
                fine = response.status_code == 302 and "/admin/login/" in response.headers["Location"]
            if not fine:
                wrong.append(f"{address} as {who}: {response.status_code}")
    said("\n".join(wrong))
    for who in (MANAGER, "no role"):
        assert asked(scene.clients[who], "GET", "/admin/login/?next=/admin/").status_code == 403
    away = asked(scene.clients["nobody"], "GET", "/admin/login/?next=//elsewhere.example/")
    assert away.headers["Location"] == "/login/?next=/admin/"
    assert {name for name, _path in addresses()} >= ADMIN_FOR_ALL


def test_staff_without_the_role_of_an_administrator_stay_outside(scene: Scene) -> None:
    user = person("half an administrator", MANAGER, scene.here.venue)
    user.is_staff = True
    user.save()
    client = Client()
    client.force_login(user)
    assert client.get("/admin/", follow=True).status_code == 403


# Whose page it is that sends something.


def test_no_page_of_another_site_changes_anything(scene: Scene) -> None:
    wrong = []
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(scene.users[ADMINISTRATOR])
    for door in DOORS.values():
        if door.post is None:
            continue
        address = door.address(scene.here, scene.users[ADMINISTRATOR])
        body = sent(door) or {"data": {"csrfmiddlewaretoken": "a" * 64}}
        status = asked(strict, "POST", address, headers={"Origin": "https://elsewhere.example"}, **body).status_code
        if status != 403:
            wrong.append(f"{door.name}: {status}")
    said("\n".join(wrong))


def test_a_device_needs_no_token_and_a_session_does(scene: Scene) -> None:
    address = DOORS["api:events"].address(scene.here)
    event = {
        "data": json.dumps([{"event": "card", "shoe": 1, "key": "k", **FIELDS["card"]}]),
        "content_type": "application/json",
    }
    strict = Client(
        enforce_csrf_checks=True, headers={"Authorization": f"Bearer {key_of('another device', scene.here)}"}
    )
    assert asked(strict, "POST", address, **event).status_code == 201
    both = Client(enforce_csrf_checks=True)
    both.force_login(scene.users[MANAGER])
    refused = asked(both, "POST", address, **event)
    assert refused.status_code == 403
    assert json.loads(refused.content)["type"].endswith("csrf")  # type: ignore[attr-defined]
    token = both.get("/tables/").context["csrf_token"]
    assert asked(both, "POST", address, headers={"X-CSRFToken": str(token)}, **event).status_code == 201

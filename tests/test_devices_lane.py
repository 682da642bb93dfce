"""The short way in for devices answers as the long one does, to the letter; nobody else comes that way."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.conf import LazySettings
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.utils import translation

from baccarat_audit.lanes import DeviceHandler, Lanes
from baccarat_audit.wsgi import application
from dealing.devices.models import DeviceKey
from dealing.models import TableEvent, Venue
from tests.conftest import MakeTable
from tests.test_devices_record import HAND, SHOE, make_device

pytestmark = pytest.mark.django_db

EVENTS = "/api/v1/tables/B07/events/"
AT = "2025-01-01T20:00:00.000+07:00"
#: What differs from one request to the next, whichever way it takes.
OWN = {"X-Request-ID", "Expires"}


class Asked(NamedTuple):
    """A request, and the status that answers it."""

    status: int
    body: Any
    path: str = EVENTS
    headers: dict[str, str] = {}


ASKED = {
    "recorded": Asked(201, SHOE[0]),
    "recorded, with the settlement": Asked(201, SHOE + HAND, f"{EVENTS}?settlement=true"),
    "recorded, one of them twice": Asked(201, [*SHOE, SHOE[0]]),
    "recorded, for somebody who reads Thai": Asked(201, [*SHOE, *HAND], headers={"ACCEPT_LANGUAGE": "th,en;q=0.5"}),
    "refused": Asked(422, [*SHOE, {**SHOE[1], "key": "k-9"}]),
    "refused, in Thai": Asked(422, [*SHOE, {**SHOE[1], "key": "k-9"}], headers={"ACCEPT_LANGUAGE": "th"}),
    "refused, in the language of a cookie": Asked(422, [HAND[2]], headers={"COOKIE": "django_language=th"}),
    "no event": Asked(422, [1]),
    "no JSON": Asked(400, "{"),
    "nothing": Asked(400, []),
    "another type": Asked(415, SHOE, headers={"CONTENT_TYPE": "text/plain"}),
    "another answer asked for": Asked(406, SHOE, headers={"ACCEPT": "image/png"}),
    "a parameter that is none": Asked(400, SHOE, f"{EVENTS}?x=1"),
    "an unknown key": Asked(401, SHOE, headers={"AUTHORIZATION": "Bearer bka_x"}),
    "a token of another kind": Asked(401, SHOE, headers={"AUTHORIZATION": "bearer  "}),
    "another's table": Asked(404, SHOE, "/api/v1/tables/B08/events/"),
    "no table": Asked(404, SHOE, "/api/v1/tables/none such/events/"),
    "another host": Asked(400, SHOE, headers={"HOST": "evil.example"}),
    "no host at all": Asked(400, SHOE, headers={"HOST": "a b"}),
    "a number of its own": Asked(201, SHOE, headers={"X_REQUEST_ID": "mine-1"}),
}


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    for sent in (request_started, request_finished):
        sent.disconnect(close_old_connections)
    language = translation.get_language()
    yield application.application  # type: ignore[misc]  # what stands behind the door for bodies
    translation.activate(language)
    for sent in (request_started, request_finished):
        sent.connect(close_old_connections)


@pytest.fixture
def key(venue: Venue, table: MakeTable) -> str:
    table("B08")
    return make_device(venue, table("B07"))


def environ(key: str, asked: Asked, method: str = "POST") -> dict[str, Any]:
    path, _, query = asked.path.partition("?")
    if isinstance(asked.body, str):
        body = asked.body.encode()
    else:
        some = asked.body if isinstance(asked.body, list) else [asked.body]
        body = json.dumps([{**one, "at": AT} if isinstance(one, dict) else one for one in some]).encode()
    usual = {"HOST": "localhost", "AUTHORIZATION": f"Bearer {key}", "CONTENT_TYPE": "application/json"}
    headers = usual | asked.headers
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": headers.pop("CONTENT_TYPE"),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        **{f"HTTP_{name}": value for name, value in headers.items()},
    }


def answer(way: Any, asked: dict[str, Any]) -> tuple[str, list[tuple[str, str]], Any]:
    """Status, headers and body, without what is never twice the same. Nothing stays recorded."""
    told: list[Any] = []
    with transaction.atomic():
        response = way(asked, lambda *given: told.append(given))
        body = b"".join(response)
        response.close()
        transaction.set_rollback(True)
    status, headers = told[0]
    said = json.loads(body) if body else None
    if isinstance(said, dict):
        said.pop("request_id", None)
        for event in [*said.get("events", ()), *said.get("recorded", ())]:
            event.pop("hash")
    return status, sorted(header for header in headers if header[0] not in OWN), said


@pytest.mark.parametrize("name", ASKED)
def test_both_ways_answer_the_same(lanes: Lanes, key: str, name: str) -> None:
    asked = ASKED[name]
    short = answer(lanes.devices, environ(key, asked))
    long = answer(lanes.people, environ(key, asked))
    if "host" in name:  # refused before the views: the short way has set all of its headers by then
        assert set(short[1]) > set(long[1])
        short = (short[0], long[1], short[2])
    assert short == long
    assert short[0].startswith(str(asked.status))
    assert not TableEvent.objects.exists()


def test_https_is_asked_for_on_both_ways(key: str, settings: LazySettings, lanes: Lanes) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS = True, 3600
    device, people = DeviceHandler(), WSGIHandler()
    asked = ASKED["recorded"]
    for scheme, status in (("http", "301"), ("https", "201")):
        told = [answer(way, {**environ(key, asked), "wsgi.url_scheme": scheme}) for way in (device, people)]
        assert told[0] == told[1]
        assert told[0][0].startswith(status)
        assert ("Strict-Transport-Security" in dict(told[0][1])) is (scheme == "https")


def test_a_revoked_key_opens_neither_way(lanes: Lanes, key: str) -> None:
    DeviceKey.objects.update(revoked_at=AT, revoked_by="kanya")
    for way in (lanes.devices, lanes.people):
        assert answer(way, environ(key, ASKED["recorded"]))[0].startswith("401")


@pytest.mark.parametrize(
    ("method", "path", "authorization", "short"),
    [
        ("POST", EVENTS, "Bearer bka_a_b", True),
        ("POST", EVENTS, "bearer bka_a_b", True),
        ("GET", EVENTS, "Bearer bka_a_b", False),
        ("POST", EVENTS, "Basic YTpi", False),
        ("POST", EVENTS, "", False),
        ("POST", "/api/v1/tables/B07/events/3/", "Bearer bka_a_b", False),
        ("POST", "/api/v1/tables/B07/feed/", "Bearer bka_a_b", False),
        ("POST", "/login/", "Bearer bka_a_b", False),
        ("POST", f"/x{EVENTS}", "Bearer bka_a_b", False),
        ("POST", "/api/v1/tables/B07/events/\n", "Bearer bka_a_b", False),
    ],
)
def test_who_takes_the_short_way(method: str, path: str, authorization: str, short: bool) -> None:
    both = Lanes(lambda *_: [b"people"], lambda *_: [b"devices"])
    asked = environ("", Asked(200, [], path, {"AUTHORIZATION": authorization}), method)
    assert list(both(asked, lambda *_: None)) == [b"devices" if short else b"people"]

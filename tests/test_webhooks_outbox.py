"""Webhooks from the thing that happens to the program that is told: written down, signed, sent until taken over."""

from __future__ import annotations

import base64
import datetime as dt
import hmac
import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from dealing.gaming_days import begins, gaming_day
from dealing.log import record, record_many
from dealing.models import Venue
from dealing.rules.events import event_as_dict
from incidents.models import AuditReport
from incidents.webhooks import outbox, sealing, signing, telling, wire
from incidents.webhooks.models import Kind, Webhook, WebhookDelivery
from tests import reports_samples as samples
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.receiver import Handler, Receiver
from tests.servers import until
from tests.table_logs import Lines

pytestmark = pytest.mark.django_db

Status = WebhookDelivery.Status
MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


def make_hook(venue: Venue, url: str, name: str = "ticket system", **fields: Any) -> Webhook:
    """A webhook that is told everything; its secret in plain is `plain`."""
    now = timezone.now()
    secret = signing.make_secret()
    hook = Webhook.objects.create(
        **{
            "venue": venue,
            "name": name,
            "url": url,
            "kinds": Kind.values,
            "secret": sealing.seal(secret),
            "created_at": now,
            "created_by": "malee",
            "changed_at": now,
            "changed_by": "malee",
            **fields,
        }
    )
    hook.plain = secret  # type: ignore[attr-defined]  # for the tests
    return hook


@pytest.fixture
def hook(venue: Venue, receiver: Receiver) -> Webhook:
    return make_hook(venue, receiver.url)


@pytest.fixture
def house(table: MakeTable, people: People) -> House:
    return House(table("B07"), people)


def put(hook: Webhook, key: str = "k1", body: bytes = b'{"a":1}') -> WebhookDelivery:
    outbox.put(Kind.OPENED, hook.venue_id, key, body)
    return hook.deliveries.get(key=key)


def soon(**fields: Any) -> None:
    """Let what waits be due."""
    past = timezone.now() - dt.timedelta(seconds=1)
    WebhookDelivery.objects.filter(status=Status.WAITING).update(retry_at=past, lease_until=None, **fields)


def told(of: Webhook) -> list[dict[str, Any]]:
    return [json.loads(bytes(one.body)) for one in of.deliveries.order_by("pk")]


# What is told.


def test_an_incident_opens_is_decided_and_opens_again(hook: Webhook, house: House, client: Client) -> None:
    house.record(MISPLACED)
    (opened,) = told(hook)
    incident = house.incident()
    assert opened == {
        "type": "incident.opened",
        "timestamp": opened["timestamp"],
        "venue": "RIVER",
        "subject": f"incident/{incident.pk}",
        "sequence": 1,
        "data": {
            "incident": incident.pk,
            "table": "B07",
            "shoe": 1,
            "hand": 1,
            "status": "open",
            "ruleset": "commission",
            "opened_at": opened["data"]["opened_at"],
            "findings": [
                {"code": "fifth-card-misplaced", "state": "open", "ruling": "correct", "mandatory": True},
            ],
        },
        "links": {
            "page": f"http://localhost:8000/incidents/{incident.pk}/",
            "api": f"http://localhost:8000/api/v1/incidents/{incident.pk}/",
        },
    }
    assert dt.datetime.fromisoformat(opened["data"]["opened_at"]) == incident.opened_at
    decision = house.decide("correct")
    _opened, decided = told(hook)
    assert decided["type"] == "decision.made"
    assert decided["subject"] == opened["subject"]
    assert decided["sequence"] > opened["sequence"]
    data = decided["data"]
    assert (data["number"], data["actions"], data["departs"]) == (1, ["correct"], False)
    assert data["events"] == decision.events
    assert data["status"] == house.incident().status == "decided"
    client.force_login(house.manager())
    for message, number in ((opened, incident.pk), (decided, decision.number)):
        for link in message["links"].values():
            page = client.get(link.removeprefix("http://localhost:8000"))
            assert page.status_code == 200, "a link leads to what is told"
            assert str(number).encode() in page.content
    house.record("x:9c")  # a card is shown after it was decided
    again = told(hook)[2:]
    assert [one["type"] for one in again] == ["incident.reopened"]
    assert again[0]["data"]["status"] == house.incident().status == "open"
    assert len({one["sequence"] for one in told(hook)}) == 3


def test_nothing_personal_is_told(hook: Webhook, house: House) -> None:
    house.record(MISPLACED)
    house.decide("void hand", reason="Mr Somchai of seat 4 was shouting")
    text = b"".join(bytes(one.body) for one in hook.deliveries.all()).decode()
    assert "decision.made" in text
    for word in ("Somchai", "somchai", "shouting", "nok", "NOK"):
        assert word not in text


def test_what_is_decided_again_is_told_once_as_it_ends(hook: Webhook, house: House) -> None:
    """While a decision is carried out, the incident goes through other states: nobody hears of those."""
    house.record("open bet:1:player=100 close P1:9h B1:4s P2:Kd B2:3c x:6h call:player pay:1:player=100 end")
    house.decide("burn card", reason="nobody saw it")
    house.decide("void hand", reason="somebody did")
    kinds = [one["type"] for one in told(hook)]
    assert kinds == ["incident.opened", "decision.made", "decision.made"]
    assert [one["data"]["number"] for one in told(hook)[1:]] == [1, 2]


def test_amended_away_it_needs_nobody(hook: Webhook, house: House) -> None:
    (*_rows, wrong) = house.record(MISPLACED)
    entry = {**event_as_dict(wrong.parse()), "to": "P3", "key": "right"}
    common = {"table": "B07", "shoe": 1, "hand": 1, "key": "amend", "reason": "typed at the wrong side"}
    record({"event": "amended", **common, "seq": wrong.seq, "entry": entry}, actor="anan")
    assert [(one["type"], one["data"]["status"]) for one in told(hook)] == [
        ("incident.opened", "open"),
        ("incident.closed", "withdrawn"),
    ]


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (None, "open", "incident.opened"),
        (None, "by-rule", ""),
        ("by-rule", "open", "incident.opened"),
        ("decided", "open", "incident.reopened"),
        ("withdrawn", "open", "incident.reopened"),
        ("open", "by-rule", "incident.closed"),
        ("open", "decided", "incident.closed"),
        ("decided", "withdrawn", "incident.closed"),
        ("by-rule", "withdrawn", ""),
        ("withdrawn", "by-rule", ""),
        ("open", "open", ""),
    ],
)
def test_which_change_is_told_as_what(hook: Webhook, house: House, before: str | None, now: str, kind: str) -> None:
    house.record(MISPLACED)
    hook.deliveries.all().delete()
    incident = house.incident()
    incident.status = now
    telling.incident_changed(incident, before, [])
    assert [one["type"] for one in told(hook)] == ([kind] if kind else [])


def test_an_archive_floods_nobody(hook: Webhook, house: House) -> None:
    house.record(MISPLACED)
    hook.deliveries.all().delete()
    incident = house.incident()
    incident.opened_at -= dt.timedelta(days=4)
    telling.incident_changed(incident, None, [])
    assert not hook.deliveries.exists()
    telling.incident_changed(incident, "decided", [])
    assert hook.deliveries.exists(), "what becomes of an old one now is news"


def test_a_report_is_told(hook: Webhook, venue: Venue) -> None:
    day = gaming_day(venue, timezone.now()) - dt.timedelta(days=1)
    report = samples.save_report(venue, samples.figures(day=day), revision=2)
    telling.report_done(report)
    telling.report_done(report)
    (message,) = told(hook)
    assert message["type"] == "report.done"
    assert message["sequence"] == 2
    assert message["subject"] == f"report/RIVER/{day}"
    assert message["data"] == {
        "report": report.pk,
        "report_kind": "nightly",
        "day": str(day),
        "revision": 2,
        "cause": report.cause,
        "hands": report.hands,
        "events": report.events,
        "findings": report.findings,
        "attention": report.attention,
        "flags": report.flags,
        "chain_whole": report.chain_whole,
    }
    assert message["links"]["api"] == f"http://localhost:8000/api/v1/reports/RIVER/{day}/2/"
    old = samples.save_report(venue, samples.figures(day=day - dt.timedelta(days=9)))
    telling.report_done(old)
    assert len(told(hook)) == 1


def test_the_nightly_audit_tells_of_its_report(hook: Webhook, table: MakeTable) -> None:
    table("B07")
    day = gaming_day(hook.venue, timezone.now()) - dt.timedelta(days=1)
    lines = Lines("B07")
    lines.at = begins(hook.venue, day) + dt.timedelta(hours=1)
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    call_command("nightly_audit", date=day, venue="RIVER", stdout=io.StringIO())
    made = AuditReport.objects.order_by("pk")  # after the last night of a month that of the month, too
    assert (made[0].kind, made[0].day) == ("nightly", day)
    assert [one["data"]["report"] for one in told(hook) if one["type"] == "report.done"] == [one.pk for one in made]


def test_only_who_listens_is_told(venue: Venue, house: House, receiver: Receiver) -> None:
    other = Venue.objects.create(code="HILL", name="Hill House")
    far = make_hook(other, receiver.url)
    off = make_hook(venue, receiver.url, is_active=False)
    deaf = make_hook(venue, receiver.url, kinds=["report.done"])
    house.record(MISPLACED)
    assert not WebhookDelivery.objects.filter(webhook__in=[far, off, deaf]).exists()


def test_what_is_undone_is_told_to_nobody(hook: Webhook, house: House) -> None:
    class Undo(Exception):
        pass

    def undone() -> None:
        with transaction.atomic():
            house.record(MISPLACED)
            assert hook.deliveries.exists()
            raise Undo

    with pytest.raises(Undo):
        undone()
    assert not hook.deliveries.exists()


def test_the_same_thing_is_told_once(hook: Webhook) -> None:
    first = put(hook)
    put(hook)
    assert hook.deliveries.get().event == first.event
    first.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        first.save(force_insert=True)


# Signed and sent.


def check(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """As a receiver does, by the specification and by nothing of ours."""
    key = base64.b64decode(secret.split("_", 1)[1])
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = base64.b64encode(hmac.new(key, content, "sha256").digest()).decode()
    given = [one.split(",", 1) for one in headers["webhook-signature"].split(" ")]
    return ["v1", right] in given


def test_it_is_signed_and_sent(hook: Webhook, receiver: Receiver, house: House) -> None:
    house.record(MISPLACED)
    assert outbox.send_waiting() == outbox.Sent(sent=1)
    (got,) = receiver.got
    row = hook.deliveries.get()
    assert got.path == "/hook"
    assert got.body == bytes(row.body)
    assert got.headers["content-type"] == "application/json"
    assert got.headers["webhook-id"] == str(row.event)
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 10
    assert check(hook.plain, got.headers, got.body)  # type: ignore[attr-defined]
    assert not check(hook.plain, got.headers, got.body + b" ")  # type: ignore[attr-defined]
    assert (row.status, row.outcome, row.code, row.attempts, row.lease_until) == ("sent", "taken", 204, 1, None)
    assert outbox.send_waiting() == outbox.Sent()
    assert len(receiver.got) == 1


def test_the_example_of_the_specification() -> None:
    """The one that the specification itself gives."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    signed = signing.sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_after_a_rotation_both_secrets_sign_for_a_while(hook: Webhook, receiver: Receiver) -> None:
    new = signing.make_secret()
    hook.secret_before, hook.secret = hook.secret, sealing.seal(new)
    hook.before_until = timezone.now() + dt.timedelta(hours=1)
    hook.save()
    put(hook)
    outbox.send_waiting()
    (got,) = receiver.got
    assert check(new, got.headers, got.body)
    assert check(hook.plain, got.headers, got.body)  # type: ignore[attr-defined]
    Webhook.objects.update(before_until=timezone.now() - dt.timedelta(seconds=1))
    put(hook, "k2")
    outbox.send_waiting()
    assert check(new, receiver.got[1].headers, receiver.got[1].body)
    assert not check(hook.plain, receiver.got[1].headers, receiver.got[1].body)  # type: ignore[attr-defined]
    outbox.tidy()
    assert Webhook.objects.get().secret_before == ""


def test_secrets_are_sealed_and_open_with_keys_of_before(hook: Webhook, settings: Any, receiver: Receiver) -> None:
    assert hook.plain not in hook.secret  # type: ignore[attr-defined]
    assert hook.plain.removeprefix("whsec_") not in hook.secret  # type: ignore[attr-defined]
    old = settings.SECRET_KEY
    settings.WEBHOOK_KEYS = ["a new one"]
    assert sealing.open_sealed(hook.secret) == hook.plain  # type: ignore[attr-defined]
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [old]
    assert sealing.open_sealed(hook.secret) == hook.plain  # type: ignore[attr-defined]
    settings.SECRET_KEY_FALLBACKS = []
    put(hook)
    assert outbox.send_waiting() == outbox.Sent(later=1)
    assert hook.deliveries.get().outcome == "secret"
    assert not receiver.got


def test_it_is_tried_again_with_longer_and_longer_waits(hook: Webhook, receiver: Receiver) -> None:
    receiver.says(500, b"out of order\0")
    row = put(hook)
    ids, waits = set(), []
    for number in range(1, outbox.ATTEMPTS + 1):
        soon()
        outcome = outbox.send_waiting()
        row.refresh_from_db()
        assert (row.attempts, row.code, row.answer) == (number, 500, "out of order")
        if row.status == Status.WAITING:
            assert outcome == outbox.Sent(later=1)
            assert row.retry_at is not None
            waits.append((row.retry_at - timezone.now()).total_seconds() / 60)
    assert outcome == outbox.Sent(dead=1)
    assert (row.status, row.outcome, row.retry_at) == ("dead", "answered", None)
    for number, wait in enumerate(waits):
        about = min(360, 2**number)
        assert about * 0.75 < wait < about * 1.25
    ids = {got.headers["webhook-id"] for got in receiver.got}
    assert ids == {str(row.event)}
    assert {got.body for got in receiver.got} == {bytes(row.body)}
    assert len(receiver.got) == outbox.ATTEMPTS
    soon()
    assert outbox.send_waiting() == outbox.Sent(), "given up is given up"
    receiver.says(200)
    assert outbox.send_again(hook.deliveries.all()) == 1
    assert outbox.send_waiting() == outbox.Sent(sent=1)
    assert receiver.got[-1].headers["webhook-id"] == str(row.event)


def test_waits_differ_by_chance() -> None:
    assert len({outbox.back_off(5) for _n in range(20)}) > 10


def test_a_receiver_that_asks_for_time_gets_it(hook: Webhook, receiver: Receiver) -> None:
    receiver.says(503, Retry_After="1800")
    row = put(hook)
    outbox.send_waiting()
    row.refresh_from_db()
    assert row.retry_at is not None
    assert 1790 < (row.retry_at - timezone.now()).total_seconds() <= 1800


def test_one_that_fails_holds_up_its_own_alone(venue: Venue, hook: Webhook, receiver: Receiver) -> None:
    broken = make_hook(venue, "http://127.0.0.1:9/", "nobody listens")
    for number in range(3):
        put(hook, f"k{number}")
    assert outbox.send_waiting() == outbox.Sent(sent=3, later=1)
    tried = broken.deliveries.filter(attempts=1).get()
    assert tried.outcome == "broken"
    assert broken.deliveries.filter(attempts=0).count() == 2, "they wait until the receiver is well again"


def test_gone_for_good_switches_off(hook: Webhook, receiver: Receiver) -> None:
    receiver.says(410)
    put(hook)
    put(hook, "k2")
    assert outbox.send_waiting() == outbox.Sent(dead=1)
    hook.refresh_from_db()
    assert (hook.is_active, hook.off_because) == (False, "gone")
    assert sorted(hook.deliveries.values_list("status", "outcome")) == [("dead", "gone"), ("dead", "off")]
    assert outbox.put(Kind.OPENED, hook.venue_id, "k3", b"{}") == 0
    assert outbox.send_again(hook.deliveries.all()) == 0, "not while it is off"


def test_redirects_are_not_followed(hook: Webhook, receiver: Receiver) -> None:
    elsewhere = Receiver()
    try:
        receiver.says(307, Location=elsewhere.url)
        row = put(hook)
        assert outbox.send_waiting() == outbox.Sent(later=1)
        row.refresh_from_db()
        assert (row.code, row.outcome) == (307, "redirect")
        assert not elsewhere.got
    finally:
        elsewhere.stop()


def slowly(handler: Handler) -> None:
    """A byte now and then, each in time."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _byte in range(100):
        handler.wfile.write(b".")
        time.sleep(0.05)


@pytest.mark.parametrize("answering", [slowly, lambda handler: time.sleep(3)], ids=["drips", "says nothing"])
def test_a_slow_receiver_is_left(
    hook: Webhook, receiver: Receiver, answering: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "TOTAL", 0.4)
    receiver.answering = answering
    row = put(hook)
    began = time.monotonic()
    assert outbox.send_waiting() == outbox.Sent(later=1)
    assert time.monotonic() - began < 2
    row.refresh_from_db()
    assert (row.status, row.outcome) == ("waiting", "slow")


def test_a_receiver_that_never_finishes_its_handshake_is_left(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(wire, "TOTAL", 0.4)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        row = put(make_hook(venue, f"https://127.0.0.1:{silent.getsockname()[1]}/"))
        began = time.monotonic()
        outbox.send_waiting()
        assert time.monotonic() - began < 2
    row.refresh_from_db()
    assert row.outcome == "slow"


def test_a_big_answer_is_not_read_to_its_end(hook: Webhook, receiver: Receiver) -> None:
    written = []

    def big(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(50_000_000))
        handler.end_headers()
        for _part in range(500):
            written.append(handler.wfile.write(b"x" * 100_000))

    receiver.answering = big
    row = put(hook)
    assert outbox.send_waiting() == outbox.Sent(sent=1)
    row.refresh_from_db()
    assert row.answer == "x" * 1000
    assert sum(written) < 50_000_000


def test_without_encryption_that_holds_nothing_is_sent(venue: Venue, receiver: Receiver) -> None:
    row = put(make_hook(venue, receiver.url.replace("http://", "https://")))
    outbox.send_waiting()
    row.refresh_from_db()
    assert row.outcome == "tls"
    assert not receiver.got


# Where messages may go.


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.7", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:1::1", "fec0::1"),
    ],
)
def test_addresses_inside_are_refused(address: str, settings: Any) -> None:
    settings.WEBHOOK_PRIVATE_NETWORKS = []
    assert not wire.allowed(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "203.0.114.9", "2606:4700::1", "::ffff:1.1.1.1"])
def test_public_addresses_are_allowed(address: str, settings: Any) -> None:
    settings.WEBHOOK_PRIVATE_NETWORKS = []
    assert wire.allowed(address)


def test_networks_of_the_house_are_allowed(settings: Any) -> None:
    from baccarat_audit.settings import networks

    settings.WEBHOOK_PRIVATE_NETWORKS = networks(["10.20.0.0/16", "fd00:1::/64"])
    assert wire.allowed("10.20.3.4")
    assert wire.allowed("fd00:1::7")
    assert wire.allowed("::ffff:10.20.3.4")
    assert not wire.allowed("10.21.0.1")
    assert not wire.allowed("127.0.0.1")


def test_the_address_is_looked_at_when_it_is_sent(hook: Webhook, receiver: Receiver, settings: Any) -> None:
    settings.WEBHOOK_PRIVATE_NETWORKS = []
    row = put(hook)
    assert outbox.send_waiting() == outbox.Sent(later=1)
    row.refresh_from_db()
    assert (row.outcome, row.answer) == ("private", "127.0.0.1")
    assert not receiver.got


def test_a_name_is_resolved_once(
    venue: Venue, receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer is public and looked at; a second, asked for by the connection, would be inside."""
    asked: list[str] = []
    port = receiver.server.server_address[1]

    def resolve(host: str, *args: Any, **kwargs: Any) -> list[Any]:
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(wire.socket, "getaddrinfo", resolve)
    put(make_hook(venue, f"http://rebound.example:{port}/hook?x=1"))
    outbox.send_waiting()
    assert asked.count("rebound.example") == 1
    (got,) = receiver.got
    assert (got.path, got.headers["host"]) == ("/hook?x=1", f"rebound.example:{port}")


def test_a_name_that_leads_nowhere(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    row = put(make_hook(venue, "https://nowhere.invalid/"))
    outbox.send_waiting()
    row.refresh_from_db()
    assert row.outcome == "unknown"


# Nothing lost, whatever happens.


def test_killed_between_sending_and_saying_so(
    hook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = put(hook)

    class Killed(BaseException):
        pass

    def post(*args: Any) -> wire.Answer:
        really(*args)
        raise Killed

    really = wire.post
    with monkeypatch.context() as patch:
        patch.setattr(wire, "post", post)
        with pytest.raises(Killed):
            outbox.send_waiting()
    row.refresh_from_db()
    assert (row.status, row.attempts) == ("waiting", 1)
    assert outbox.send_waiting() == outbox.Sent(), "the lease runs"
    WebhookDelivery.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    assert outbox.send_waiting() == outbox.Sent(sent=1)
    assert [got.headers["webhook-id"] for got in receiver.got] == [str(row.event)] * 2


def test_a_lease_outlasts_the_slowest_receiver() -> None:
    assert outbox.LEASE.total_seconds() > 2 * (wire.CONNECT + wire.TOTAL)


def test_killed_each_time_it_is_given_up(hook: Webhook, receiver: Receiver) -> None:
    row = put(hook)
    soon(attempts=outbox.ATTEMPTS)
    assert outbox.send_waiting() == outbox.Sent()
    row.refresh_from_db()
    assert (row.status, row.outcome) == ("dead", "died")
    assert not receiver.got


@pytest.mark.django_db(transaction=True)
def test_without_workers_this_process_sends_beside_its_work(hook: Webhook, receiver: Receiver) -> None:
    held = threading.Event()

    def hold(handler: Handler) -> None:
        held.wait(10)
        handler.say(204)

    receiver.answering = hold
    with transaction.atomic():
        row = put(hook)
        time.sleep(0.1)
        assert not receiver.got, "not before it holds"
    assert row.status == Status.WAITING, "nobody has waited for the receiver"
    held.set()
    until(lambda: WebhookDelivery.objects.filter(pk=row.pk, status=Status.SENT).exists(), 5)
    row.refresh_from_db()
    assert (row.status, row.attempts, len(receiver.got)) == (Status.SENT, 1, 1)


@pytest.mark.django_db(transaction=True)
def test_two_senders_send_once(hook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "wake", lambda webhook: None)
    for number in range(12):
        put(hook, f"k{number}")
    ready = threading.Barrier(3)

    def send() -> None:
        try:
            ready.wait()
            outbox.send_waiting()
        finally:
            connection.close()

    senders = [threading.Thread(target=send) for _n in range(3)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert not hook.deliveries.exclude(status="sent").exists()
    ids = [got.headers["webhook-id"] for got in receiver.got]
    assert len(ids) == len(set(ids)) == 12


def test_days_without_success_end_it_and_what_is_done_is_forgotten(hook: Webhook) -> None:
    now = timezone.now()
    for key, status, attempts, days in [
        ("tried", "waiting", 3, 4),
        ("never", "waiting", 0, 9),
        ("young", "waiting", 3, 2),
        ("sent", "sent", 1, 31),
        ("fresh", "sent", 1, 29),
        ("dead", "dead", 12, 99),
        ("gone", "discarded", 12, 31),
    ]:
        put(hook, key)
        hook.deliveries.filter(key=key).update(
            status=status, attempts=attempts, queued_at=now - dt.timedelta(days=days)
        )
    outbox.tidy()
    assert dict(hook.deliveries.values_list("key", "status")) == {
        "tried": "dead",
        "never": "waiting",
        "young": "waiting",
        "fresh": "sent",
        "dead": "dead",
    }


def test_the_command_sends_and_says_how_it_went(
    hook: Webhook, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    put(hook)
    call_command("send_webhooks")
    assert "1 messages sent, 0 to be tried again, 0 given up" in capsys.readouterr().out
    receiver.says(500)
    put(hook, "k2")
    with pytest.raises(CommandError):
        call_command("send_webhooks")
    with pytest.raises(CommandError):
        call_command("send_webhooks", every=0)


# What the document says.


def test_the_document_verifies_as_it_stands(hook: Webhook, receiver: Receiver) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "webhooks.md").read_text(encoding="utf-8")
    code = page.split("```python\n", 1)[1].split("```", 1)[0]
    assert len(code.strip().splitlines()) <= 15
    space: dict[str, Any] = {}
    exec(code, space)
    verify = space["verify"]
    put(hook)
    outbox.send_waiting()
    (got,) = receiver.got
    secret = hook.plain  # type: ignore[attr-defined]
    assert verify(secret, got.headers, got.body) == {"a": 1}
    stamp = int(got.headers["webhook-timestamp"])
    for change in (
        {"webhook-timestamp": str(stamp - 1)},
        {"webhook-id": "another"},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": got.headers["webhook-signature"].replace("v1,", "v2,")},
    ):
        with pytest.raises(ValueError, match=r"."):
            verify(secret, {**got.headers, **change}, got.body)
    with pytest.raises(ValueError, match=r"."):
        verify(secret, got.headers, got.body + b" ")
    for seconds in (-400, 400):  # sent again by somebody who listened in, or by a clock that is wrong
        headers = signing.headers([secret], "m1", stamp + seconds, b"{}")
        with pytest.raises(ValueError, match=r"."):
            verify(secret, headers, b"{}")
    assert verify(secret, signing.headers([signing.make_secret(), secret], "m1", stamp, b"{}"), b"{}") == {}


def test_the_document_names_every_field(venue: Venue) -> None:
    import msgspec

    page = (Path(__file__).resolve().parent.parent / "docs" / "webhooks.md").read_text(encoding="utf-8")
    for struct in (telling.Message, telling.IncidentData, telling.DecisionData, telling.ReportData, telling.Finding):
        for field in msgspec.structs.fields(struct):
            assert f"`{field.name}`" in page, field.name
    for kind in (*Kind.values, "webhook.test"):
        assert f"`{kind}`" in page


def test_a_test_is_waited_for_a_few_seconds_only(
    hook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wire.OF_TEST <= 5
    monkeypatch.setattr(wire, "OF_TEST", 0.3)
    receiver.answering = slowly
    began = time.monotonic()
    row = outbox.send_test(hook, b"{}")
    assert time.monotonic() - began < 2
    assert (row.status, row.outcome, row.attempts) == ("discarded", "slow", 1)

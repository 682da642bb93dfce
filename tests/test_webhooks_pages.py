"""The pages of the webhooks: who may see them, the secret shown once, sending again, and where an address may lead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from dealing.accounts.models import SecurityEvent
from dealing.models import Venue
from incidents.webhooks import outbox
from incidents.webhooks.models import Kind, Webhook, WebhookDelivery
from tests.conftest import People
from tests.receiver import Receiver
from tests.test_webhooks_outbox import check, make_hook, put

pytestmark = pytest.mark.django_db

Status = WebhookDelivery.Status


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def malee(client: Client, people: People) -> Client:
    client.force_login(people("manager", "malee"))
    return client


def text(response: Any) -> str:
    page: str = response.content.decode()
    return page


def shown_secret(page: str) -> str:
    found = re.search(r"data-secret>([^<]+)<", page)
    return found[1] if found else ""


def given(url: str = "https://tickets.example/hook", **fields: Any) -> dict[str, Any]:
    return {"name": "Tickets", "url": url, "kinds": ["incident.opened", "report.done"], "is_active": "on", **fields}


def addresses(hook: Webhook, message: WebhookDelivery) -> list[tuple[str, str]]:
    """Every page and every button."""
    at, one = f"/webhooks/{hook.pk}/", f"/webhooks/messages/{message.pk}/"
    return [
        *(("get", where) for where in ("/webhooks/", "/webhooks/new/", at, f"{at}edit/", one, "/webhooks/given-up/")),
        *(("post", f"{at}{what}/") for what in ("edit", "test", "secret", "secret/alone")),
        *(("post", f"{one}{what}/") for what in ("again", "discard")),
        *(("post", where) for where in ("/webhooks/given-up/again/", "/webhooks/given-up/discard/", "/webhooks/new/")),
        ("post", f"{at}delete/"),
    ]


@pytest.mark.parametrize("who", ["recorder", "supervisor", "auditor", None, "nobody"])
def test_only_managers_and_administrators(client: Client, people: People, venue: Venue, who: str | None) -> None:
    hook = make_hook(venue, "https://tickets.example/")
    message = put(hook)
    if who != "nobody":
        client.force_login(people(who))
    for method, address in addresses(hook, message):
        response = getattr(client, method)(address)
        assert response.status_code == (302 if who == "nobody" else 403), address
    assert Webhook.objects.filter(pk=hook.pk, changed_at=hook.changed_at).exists()
    assert 'href="/webhooks/"' not in text(client.get("/tables/"))


def test_of_other_houses_nothing_is_seen_and_nothing_changed(malee: Client) -> None:
    hill = Venue.objects.create(code="HILL", name="Hill House")
    hook = make_hook(hill, "https://hill.example/", "the hill's")
    message = put(hook)
    WebhookDelivery.objects.update(status=Status.DEAD)
    for method, address in addresses(hook, message):
        if str(hook.pk) in address.split("/") or "messages" in address:
            assert getattr(malee, method)(address).status_code == 404, address
    for address in ("/webhooks/", "/webhooks/given-up/"):
        assert "the hill" not in text(malee.get(address))
    for address in ("/webhooks/given-up/again/", "/webhooks/given-up/discard/"):
        malee.post(address)
        assert malee.post(address, {"webhook": hook.pk}).status_code == 404
        assert malee.post(address, {"webhook": "x"}).status_code == 404
    message.refresh_from_db()
    assert message.status == Status.DEAD
    malee.post("/webhooks/new/", given(house="HILL"))
    assert Webhook.objects.exclude(pk=hook.pk).get().venue.code == "RIVER"


def test_who_belongs_to_no_house_chooses_one(client: Client, venue: Venue) -> None:
    Venue.objects.create(code="HILL", name="Hill House")
    client.force_login(User.objects.create_superuser("kanya"))
    assert 'name="house"' in text(client.get("/webhooks/new/"))
    response = client.post("/webhooks/new/", given())
    assert response.status_code == 422
    client.post("/webhooks/new/", given(house="HILL"))
    assert Webhook.objects.get().venue.code == "HILL"
    assert "Hill House" in text(client.get("/webhooks/"))


def test_made_shown_once_tested_and_rotated(malee: Client, receiver: Receiver) -> None:
    assert 'href="/webhooks/"' in text(malee.get("/tables/"))
    made = malee.post("/webhooks/new/", given(receiver.url), follow=True)
    hook = Webhook.objects.get()
    secret = shown_secret(text(made))
    assert secret.startswith("whsec_")
    assert "no-store" in made.headers["Cache-Control"]
    assert (hook.kinds, hook.created_by, hook.venue.code) == (["incident.opened", "report.done"], "malee", "RIVER")
    assert not shown_secret(text(malee.get(f"/webhooks/{hook.pk}/")))
    page = text(malee.post(f"/webhooks/{hook.pk}/test/", follow=True))
    assert "taken over (204)" in page
    (got,) = receiver.got
    assert b'"type":"webhook.test"' in got.body
    assert check(secret, got.headers, got.body)

    newer = shown_secret(text(malee.post(f"/webhooks/{hook.pk}/secret/", follow=True)))
    assert newer not in ("", secret)
    assert not shown_secret(text(malee.get(f"/webhooks/{hook.pk}/")))
    malee.post(f"/webhooks/{hook.pk}/test/")
    assert all(check(one, receiver.got[-1].headers, receiver.got[-1].body) for one in (secret, newer))
    malee.post(f"/webhooks/{hook.pk}/secret/alone/")
    malee.post(f"/webhooks/{hook.pk}/test/")
    assert not check(secret, receiver.got[-1].headers, receiver.got[-1].body)
    assert check(newer, receiver.got[-1].headers, receiver.got[-1].body)
    newest = shown_secret(text(malee.post(f"/webhooks/{hook.pk}/secret/", {"at-once": "on"}, follow=True)))
    malee.post(f"/webhooks/{hook.pk}/test/")
    assert [check(one, receiver.got[-1].headers, receiver.got[-1].body) for one in (newer, newest)] == [False, True]

    receiver.says(500, b"<script>alert(1)</script>")
    page = text(malee.post(f"/webhooks/{hook.pk}/test/", follow=True))
    assert "The test failed: the receiver did not take it (500)." in page
    failed = hook.deliveries.first()
    assert failed is not None
    assert (failed.status, failed.attempts) == (Status.DISCARDED, 1)
    assert "Test failed" in text(malee.get(f"/webhooks/{hook.pk}/"))
    page = text(malee.get(f"/webhooks/messages/{failed.pk}/"))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert str(failed.event) in page


def test_changed_and_switched_off(malee: Client, venue: Venue) -> None:
    hook = make_hook(venue, "https://tickets.example/")
    put(hook)
    malee.post(f"/webhooks/{hook.pk}/edit/", given("https://other.example/", name="Other", kinds=["decision.made"]))
    hook.refresh_from_db()
    assert (hook.name, hook.url, hook.kinds, hook.is_active) == (
        *("Other", "https://other.example/", ["decision.made"]),
        True,
    )
    assert hook.changed_by == "malee"
    assert hook.deliveries.get().status == Status.WAITING
    off = given()
    del off["is_active"]
    page = text(malee.post(f"/webhooks/{hook.pk}/edit/", off, follow=True))
    assert "Switched off: it is told nothing." in page
    assert hook.deliveries.get().status == Status.DEAD
    outbox.switch_off(hook, Webhook.Off.GONE)
    assert "gone for good (410)" in text(malee.get(f"/webhooks/{hook.pk}/"))
    malee.post(f"/webhooks/{hook.pk}/edit/", given())
    hook.refresh_from_db()
    assert (hook.is_active, hook.off_because) == (True, "")
    malee.post(f"/webhooks/{hook.pk}/delete/")
    assert not Webhook.objects.exists()


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[fd00::1]", "[::1]"])
def test_an_address_inside_is_refused_as_long_as_the_settings_do(malee: Client, host: str, settings: Any) -> None:
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    response = malee.post("/webhooks/new/", given(f"https://{host}/hook"))
    assert response.status_code == 422
    assert "WEBHOOK_PRIVATE_NETWORKS has to allow it first" in text(response)
    settings.WEBHOOK_PRIVATE_NETWORKS = tuple(map(ip_network, ("10.0.0.0/8", "169.254.0.0/16", "fd00::/8", "::1/128")))
    assert malee.post("/webhooks/new/", given(f"https://{host}/hook")).status_code == 302


@pytest.mark.parametrize(
    ("host", "address"),
    [
        *((host, "10.0.0.1") for host in ("167772161", "0xa000001", "0x0a.1", "012.0.0.1", "10.1", "10.0.0.1.")),
        *(("0", "0.0.0.0"), ("127.1", "127.0.0.1"), ("0XA9FEA9FE.", "169.254.169.254")),
    ],
)
def test_an_address_inside_in_an_old_form_is_refused_when_saved_and_when_sent(
    malee: Client, venue: Venue, host: str, address: str, settings: Any
) -> None:
    settings.WEBHOOK_PRIVATE_NETWORKS = ()
    response = malee.post("/webhooks/new/", given(f"https://{host}/hook"))
    assert response.status_code == 422
    assert f"Messages may not go to {address}, which is inside a network" in text(response)
    row = put(make_hook(venue, f"https://{host}/hook"))
    outbox.send_waiting()
    row.refresh_from_db()
    assert (row.outcome, row.answer) == ("private", address)


@pytest.mark.parametrize(
    "url",
    [
        *("http://tickets.example/", "ftp://tickets.example/", "//tickets.example", "https://", "tickets.example", ""),
        *("https://me:secret@tickets.example/", "https://tickets.example/#part", "https://tickets.example:0/"),
        *(
            "https://tickets.example:99999/",
            "https://tick ets.example/",
            "https://tickets.example/\r\nX: y",
            "https://[::1",
        ),
        *(
            "https://ตั๋ว.example/",
            "https://x.example/" + "a" * 500,
            "http://127.0.0.1.evil.example/",
            "javascript:alert(1)",
        ),
    ],
)
def test_addresses_that_are_none(malee: Client, url: str) -> None:
    response = malee.post("/webhooks/new/", given(url))
    assert response.status_code == 422
    assert "field-error" in text(response)
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "url", ["http://localhost:8080/x", "http://[::1]/", "https://tickets.example:8443/a?b=c", "https://1.1.1.1/"]
)
def test_addresses_that_will_do(malee: Client, url: str) -> None:
    malee.post("/webhooks/new/", given(url))
    assert Webhook.objects.get().url == url


def test_something_has_to_be_told(malee: Client) -> None:
    assert "Choose at least one." in text(malee.post("/webhooks/new/", given(kinds=[])))
    assert malee.post("/webhooks/new/", given(kinds=["everything"])).status_code == 422


def test_given_up_sent_again_one_or_all_or_discarded(malee: Client, venue: Venue, receiver: Receiver) -> None:
    hook, other = make_hook(venue, receiver.url, "one"), make_hook(venue, receiver.url, "two")
    for number in range(4):
        outbox.put(Kind.OPENED, venue.pk, f"k{number}", b"{}")
    WebhookDelivery.objects.update(status=Status.DEAD, outcome="answered", code=500, attempts=12)
    page = text(malee.get("/webhooks/"))
    assert "8 messages could not be delivered" in page
    page = text(malee.get("/webhooks/given-up/"))
    assert "Send all 8 again" in page
    assert "the receiver did not take it (500)" in page
    assert "Send all 4 again" in text(malee.get(f"/webhooks/given-up/?webhook={hook.pk}"))

    first, second = hook.deliveries.order_by("pk")[:2]
    malee.post(f"/webhooks/messages/{first.pk}/again/")
    malee.post(f"/webhooks/messages/{second.pk}/discard/")
    malee.post("/webhooks/given-up/discard/", {"webhook": other.pk})
    assert outbox.send_waiting() == outbox.Sent(sent=1)
    states = list(WebhookDelivery.objects.order_by("webhook", "pk").values_list("status", flat=True))
    assert states == ["sent", "discarded", "dead", "dead", *["discarded"] * 4]
    assert receiver.got[0].headers["webhook-id"] == str(first.event)
    page = text(malee.post("/webhooks/given-up/again/", follow=True))
    assert "2 messages are sent again." in page
    assert "Nothing was given up." in page
    assert outbox.send_waiting() == outbox.Sent(sent=2)
    malee.post(f"/webhooks/messages/{first.pk}/again/")
    assert outbox.send_waiting() == outbox.Sent(), "what was taken over is not sent again"

    WebhookDelivery.objects.filter(webhook=hook).update(status=Status.DEAD)
    outbox.switch_off(hook)
    page = text(malee.post("/webhooks/given-up/again/", follow=True))
    assert "switch the webhook on first" in page
    assert "switched off" in page


def test_the_list_of_messages(malee: Client, venue: Venue) -> None:
    hook = make_hook(venue, "https://tickets.example/")
    for number in range(30):
        put(hook, f"k{number}")
    hook.deliveries.filter(key="k3").update(status=Status.SENT, outcome="taken", code=204, sent_at=timezone.now())
    page = text(malee.get(f"/webhooks/{hook.pk}/"))
    assert "Page 1 of 2" in page
    assert "Waiting (29)" in page
    page = text(malee.get(f"/webhooks/{hook.pk}/?status=sent"))
    assert page.count("<code>incident.opened</code>") == 1
    assert "taken over (204)" in page
    assert malee.get(f"/webhooks/{hook.pk}/?status=nonsense&page=99").status_code == 200


@pytest.mark.sqlite
def test_in_thai(malee: Client, venue: Venue) -> None:
    put(make_hook(venue, "https://tickets.example/"))
    malee.cookies["django_language"] = "th"
    assert "เว็บฮุก" in text(malee.get("/webhooks/"))


def test_metrics_count_the_messages(malee: Client, venue: Venue) -> None:
    hook = make_hook(venue, "https://tickets.example/")
    put(hook)
    put(hook, "k2")
    hook.deliveries.filter(key="k2").update(status=Status.DEAD)
    page = text(malee.get("/metrics", headers={"Accept": "text/plain"}))
    (found,) = (one for one in text_string_to_metric_families(page) if one.name == "baccarat_webhook_deliveries")
    counts = {sample.labels["status"]: sample.value for sample in found.samples}
    assert counts == {"waiting": 1, "sent": 0, "dead": 1, "discarded": 0}


def test_what_is_done_to_a_webhook_is_a_security_event_that_administrators_see(malee: Client, venue: Venue) -> None:
    secrets = [shown_secret(text(malee.post("/webhooks/new/", given(), follow=True)))]
    hook = Webhook.objects.get()
    at = f"/webhooks/{hook.pk}/"
    malee.post(f"{at}edit/", given("https://other.example/hook?token=hush", is_active=""))
    for what in ({}, {"at-once": "1"}):
        secrets.append(shown_secret(text(malee.post(f"{at}secret/", what, follow=True))))
    malee.post(f"{at}secret/alone/")
    malee.post(f"{at}edit/", given("http://refused"))
    malee.post(f"{at}delete/")
    rows = SecurityEvent.objects.filter(person=f"webhook:{hook.pk}").order_by("pk")
    tickets = f"{venue.code}: Tickets, other.example"
    assert [(row.kind, row.by, row.detail) for row in rows] == [
        ("webhook made", "malee", f"{venue.code}: Tickets, tickets.example"),
        ("webhook changed", "malee", f"off; {tickets}"),
        ("webhook rekeyed", "malee", tickets),
        ("webhook rekeyed", "malee", f"the one before ends at once; {tickets}"),
        ("webhook changed", "malee", f"the secret before ends; {tickets}"),
        ("webhook deleted", "malee", tickets),
    ]
    assert all(row.address for row in rows)
    kept = str(list(rows.values()))
    assert not [one for one in (*secrets, "hush") if not one or one in kept]
    malee.force_login(User.objects.create_superuser("root"))
    page = text(malee.get("/admin/accounts/securityevent/", {"q": f"webhook:{hook.pk}"}))
    assert "webhook deleted" in page
    assert "other.example" in page

"""Webhooks with a real worker on Redis and PostgreSQL: sent at once, and never lost, whatever dies in between."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from celery import Celery
from django.utils import timezone

from dealing.models import Venue
from incidents.webhooks.models import WebhookDelivery
from tests.receiver import Handler, Receiver
from tests.servers import until
from tests.test_night_workers import ROOT, House, house, kill
from tests.test_webhooks_outbox import check, make_hook

__all__ = ["house"]  # the fixture

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql,
    pytest.mark.redis,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="Redis not found"),
]

#: What a request does, in a process as the server's are: something happens, and whoever waits for the answer goes on.
REQUEST = """
import sys, time, django
django.setup()
from django.db import transaction
from baccarat_audit import logs
from incidents.webhooks import outbox
from incidents.webhooks.models import Kind
logs.enter(logs.Context(sys.argv[1]))
began = time.monotonic()
for key in sys.argv[3:]:
    with transaction.atomic():
        outbox.put(Kind.OPENED, int(sys.argv[2]), key, b'{"key":"%s"}' % key.encode())
print(time.monotonic() - began, flush=True)
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


def happens(house: House, venue: Venue, number: str, *keys: str, dies: bool = False) -> float:
    """Something that is told; the seconds that took. `dies`: the server does, right after it has answered."""
    with subprocess.Popen(
        [sys.executable, "-c", REQUEST, number, str(venue.pk), *keys],
        cwd=ROOT,
        env=house.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        seconds = float(process.stdout.readline())
        if dies:
            process.kill()
    return seconds


def tick(house: House) -> None:
    """The scheduler's turn."""
    with Celery(broker=house.redis.url) as app:
        app.send_task("incidents.webhooks.tasks.send_webhooks")


def test_sent_at_once_and_nothing_lost(house: House, venue: Venue, receiver: Receiver) -> None:
    house.environment["LOG_FORMAT"] = "json"
    hook = make_hook(venue, receiver.url)
    worker = house.worker()

    happens(house, venue, "R-42", "k1")
    until(lambda: receiver.got)
    until(lambda: hook.deliveries.filter(status="sent").exists())
    row = hook.deliveries.get()
    assert check(hook.plain, receiver.got[0].headers, receiver.got[0].body)  # type: ignore[attr-defined]
    lines = [json.loads(line) for line in (house.folder / "one.log").read_text().splitlines() if line[:1] == "{"]
    sent = [line for line in lines if line["logger"] == "incidents.webhooks.outbox"]
    assert [(line["request_id"], line["task"]) for line in sent] == [
        ("R-42", "incidents.webhooks.tasks.send_webhook"),
    ], "the worker's lines bear the number of the request"
    assert str(row.event) in sent[0]["message"]

    # The worker dies while the receiver has the message and has not answered.
    held = threading.Event()

    def hold(handler: Handler) -> None:
        held.wait(20)
        handler.say(204)

    receiver.answering = hold
    happens(house, venue, "R-43", "k2")
    until(lambda: len(receiver.got) == 2)
    kill(worker)
    held.set()
    receiver.says(204)
    row = hook.deliveries.get(key="k2")
    assert (row.status, row.attempts) == ("waiting", 1)

    # And Redis with it. Whoever makes things happen does not wait for it.
    house.redis.kill()
    assert happens(house, venue, "R-44", "k3", "k4", "k5", dies=True) < 1
    house.redis.start()
    WebhookDelivery.objects.filter(key="k2").update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    house.worker("two")
    tick(house)
    tick(house)
    until(lambda: not hook.deliveries.exclude(status="sent").exists())
    time.sleep(0.5)
    ids = [got.headers["webhook-id"] for got in receiver.got]
    assert sorted(ids) == sorted([*map(str, hook.deliveries.values_list("event", flat=True)), str(row.event)])

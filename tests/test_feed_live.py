"""A table's live feed: every row once and in order, however often one comes again, and nobody is held up by it."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from django.db import connections
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import timezone

from dealing.api import feed, news
from dealing.devices import keys
from dealing.devices.models import Device
from dealing.log import record
from dealing.models import Table, Venue
from tests.conftest import MakeTable, People

#: What is not committed nobody hears of.
pytestmark = pytest.mark.django_db(transaction=True)

Message = tuple[int, str, dict[str, Any]]
_MESSAGE = re.compile(r"id: (\d+)\nevent: (\w+)\ndata: (.*)")


@pytest.fixture(autouse=True)
def _quiet_hub() -> Iterator[None]:
    """No thread of a test looks into the next one's database."""
    yield
    news.HUB.stop()


def messages(text: str) -> list[Message]:
    """The messages of a stream that came whole."""
    blocks = text.split("\n\n")
    found = [match for block in blocks[:-1] if (match := _MESSAGE.fullmatch(block))]
    return [(int(match[1]), match[2], json.loads(match[3])) for match in found]


class Listener:
    """A device that listens to B07, over the test client."""

    def __init__(self, venue: Venue, table: Table) -> None:
        made = Device.objects.create(venue=venue, code="EYE", created_at=timezone.now(), created_by="kanya")
        made.tables.set([table])
        self.headers = {"Authorization": f"Bearer {keys.make_key(made, 'kanya')[1]}", "Accept": "text/event-stream"}

    def open(self, query: str = "", code: str = "B07", **headers: str) -> Any:
        return Client().get(f"/api/v1/tables/{code}/feed/{query}", headers={**self.headers, **headers})

    def read(self, query: str = "", until: Callable[[str], bool] = lambda text: False, **headers: str) -> str:
        """What one connection brings, until something has come, or to its end."""
        answer = self.open(query, **headers)
        assert answer.status_code == 200, answer.content
        assert isinstance(answer, StreamingHttpResponse)
        text = ""
        for part in answer:
            assert isinstance(part, bytes)
            text += part.decode()
            if until(text):
                break
        answer.close()
        return text


@pytest.fixture
def b07(table: MakeTable) -> Table:
    return table("B07")


@pytest.fixture
def listener(venue: Venue, b07: Table, settings: Any) -> Listener:
    settings.FEED_SECONDS = 1
    return Listener(venue, b07)


def line(name: str, hand: int | None = None, **more: Any) -> dict[str, Any]:
    return {"event": name, "table": "B07", "shoe": 1, **({"hand": hand} if hand else {}), **more}


def deal() -> int:
    """A shoe with a hand whose fifth card goes wrong; how many events that are."""
    hand = [line("card", 1, to=to, card=card) for to, card in (("P1", "2h"), ("B1", "4s"), ("P2", "3d"), ("B2", "Kc"))]
    events = [
        line("shoe_opened", ruleset="commission"),
        line("burn_card", card="2h"),
        line("cards_burned", count=2),
        line("betting_closed", 1),
        *hand,
        line("card", 1, to="B3", card="6h"),
    ]
    for event in events:
        record(event, actor="nok")
    return len(events)


def test_the_log_from_a_position_on_with_what_each_row_raised(listener: Listener, b07: Table) -> None:
    n = deal()
    text = listener.read("?after=0")
    assert text.startswith("retry: 1000\nid: 0\n\n")
    assert text.endswith(": come again\nretry: 1000\n\n")
    rows = list(b07.events.order_by("seq"))
    found = messages(text)
    assert [seq for seq, _, _ in found] == [row.seq for row in rows] == list(range(1, n + 1))
    for (_seq, name, data), row in zip(found, rows, strict=True):
        assert name == row.name
        assert (data["line"], data["hash"], data["table"]) == (row.payload, row.hash, "B07")
        assert [one["code"] for one in data["raised"]] == (["fifth-card-misplaced"] if row.seq == n else [])
    assert found[-1][2]["raised"][0]["rules"]


@pytest.mark.sqlite
def test_one_comes_again_with_the_last_that_arrived(listener: Listener) -> None:
    n = deal()
    until = f"id: {n}\n"
    assert [seq for seq, _, _ in messages(listener.read("?after=5", until=lambda t: until in t))] == [6, 7, 8, 9]
    again = listener.read("?after=2", until=lambda t: until in t, **{"Last-Event-ID": "7"})
    assert [seq for seq, _, _ in messages(again)] == [8, 9]
    # Without a position it begins with what is still to come, and the client knows from where.
    text = listener.read()
    assert f"\nid: {n}\n\n" in text
    assert messages(text) == []


@pytest.mark.sqlite
def test_what_is_no_position(listener: Listener, b07: Table) -> None:
    deal()
    for query, headers, status, kind in (
        ("?after=x", {}, 400, "invalid"),
        ("?after=-1", {}, 400, "invalid"),
        ("", {"Last-Event-ID": "²"}, 400, "invalid"),
        ("?after=10", {}, 409, "conflict"),
    ):
        answer = listener.open(query, **headers)
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
        assert answer.json()["type"].endswith(f"#{kind}")


@pytest.mark.sqlite
def test_only_for_who_may_read_the_table(listener: Listener, table: MakeTable, people: People) -> None:
    table("B08")
    assert listener.open(code="B08").status_code == 404
    assert listener.open(code="NONE").status_code == 404
    assert Client().get("/api/v1/tables/B07/feed/").status_code == 401
    for group, status in (("auditor", 200), ("recorder", 200), (None, 403)):
        browser = Client()
        browser.force_login(people(group))
        answer = browser.get("/api/v1/tables/B07/feed/")
        assert answer.status_code == status
        answer.close()


@pytest.mark.sqlite
def test_as_many_as_the_process_can_bear(listener: Listener, settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.FEEDS_PER_PROCESS = 2
    held = []
    for _ in range(2):
        answer = listener.open()
        next(iter(answer))  # begun
        held.append(answer)
    full = listener.open()
    assert (full.status_code, full["Retry-After"]) == (503, "5")
    assert not [one for one in caplog.records if one.levelno > logging.INFO], "nothing is wrong with that"
    assert full.json()["type"].endswith("#unavailable")
    for answer in held:
        answer.close()
    assert news.HUB.listeners == 0
    again = listener.open()
    assert again.status_code == 200
    again.close()


@pytest.mark.sqlite
def test_silence_is_broken(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "HEARTBEAT", 0.2)
    assert listener.read().count(": still here\n\n") >= 2


@pytest.mark.sqlite
def test_more_than_is_kept_is_read_from_the_log(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "PAGE", 4)
    n = deal()
    seqs = [seq for seq, _, _ in messages(listener.read("?after=0", until=lambda t: f"id: {n}\n" in t))]
    assert seqs == list(range(1, n + 1))


@pytest.mark.sqlite
def test_what_is_kept_is_never_a_gap(b07: Table) -> None:
    watch = news.Watch(b07)
    hub = news.Hub()
    watch.add((n, b"%d" % n) for n in range(1, news.KEPT + 11))
    assert hub.since(watch, 9) is None, "what was dropped is to be read from the log"
    kept = hub.since(watch, 10)
    assert kept is not None
    assert [seq for seq, _ in kept] == list(range(11, news.KEPT + 11))
    watch.skip(9_000)
    assert hub.since(watch, 10) is None
    assert hub.since(watch, 9_000) == []


def test_every_row_once_while_two_write_and_one_comes_again_and_again(
    venue: Venue, table: MakeTable, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Connections break off in the middle of what they send, too: what has not arrived whole is sent again."""
    monkeypatch.setattr(news, "LOOK_UNTOLD", 0.05)
    settings.FEED_SECONDS = 1
    total = 60
    b07 = table("B07")
    record(line("shoe_opened", ruleset="commission"), actor="nok")
    listener = Listener(venue, b07)
    failed: list[BaseException] = []

    def write(who: str) -> None:
        try:
            for n in range(total // 2):
                record(line("exposed", when="burn", key=f"{who}-{n}"), actor=who)
                time.sleep(0.005)
        except BaseException as error:  # noqa: BLE001  # said by the test's own thread
            failed.append(error)
        finally:
            connections.close_all()

    writers = [threading.Thread(target=write, args=(who,)) for who in ("nok", "anan")]
    for thread in writers:
        thread.start()
    seen: list[Message] = []
    last, breaks = 0, 0
    limit = time.monotonic() + 20
    while last < total + 1:
        assert time.monotonic() < limit, (last, failed)
        breaks += 1
        wanted = min(1 + breaks % 7, total + 1 - last)
        text = listener.read(
            until=lambda t, wanted=wanted: t.count("\ndata: ") >= wanted,  # type: ignore[misc]
            **{"Last-Event-ID": str(last)},
        )
        arrived = messages(text[: -(breaks % 3) or None])[:wanted]  # what came after these got lost
        seen += arrived
        last = arrived[-1][0] if arrived else last
    for thread in writers:
        thread.join()
    assert not failed
    assert [seq for seq, _, _ in seen] == list(range(1, total + 2))
    assert [data["line"] for _, _, data in seen] == [row.payload for row in b07.events.order_by("seq")]
    assert breaks > 8
    news.HUB.stop()


@pytest.mark.redis
def test_redis_tells_at_once_and_without_it_nothing_is_lost(
    venue: Venue, table: MakeTable, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    b07 = table("B07")
    monkeypatch.setattr(news, "LOOK_TOLD", 60.0)
    monkeypatch.setattr(feed, "HEARTBEAT", 30.0)
    listener, shoes = Listener(venue, b07), count(1)

    def wait_for_the_next() -> float:
        answer = listener.open()
        parts = iter(answer)
        next(parts)
        time.sleep(1.0)  # it listens by now, and has looked once
        began = time.monotonic()
        record(line("shoe_opened", shoe=next(shoes), ruleset="commission"), actor="nok")
        next(parts)
        answer.close()
        return time.monotonic() - began

    assert wait_for_the_next() < 0.5
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nobody answers there
    news.HUB.stop()
    began = time.monotonic()
    record(line("shoe_opened", shoe=next(shoes), ruleset="commission"), actor="nok")
    assert time.monotonic() - began < 1.0, "nobody at a table waits for Redis"
    assert wait_for_the_next() < 2.0

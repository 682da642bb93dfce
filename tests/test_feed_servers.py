"""The live feed on real servers: under gunicorn it leaves room for recording, under ASGI a hundred listen at no cost.

Clients that read nothing and clients that go away are among them, and neither keeps a thread or a connection.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from django.db import connection
from django.utils import timezone

from dealing.api import news
from dealing.devices import keys
from dealing.devices.models import Device
from dealing.importer import import_log
from dealing.log import record
from dealing.models import Table, Venue
from dealing.rules.events import format_event
from dealing.simulator import simulate_shoe
from tests.conftest import MakeTable
from tests.servers import HOST, free_port, post, serving, until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def key(venue: Venue, table: MakeTable) -> str:
    made = Device.objects.create(
        venue=venue, code="EYE", supervises=True, created_at=timezone.now(), created_by="kanya"
    )
    made.tables.set([table("B07")])
    return keys.make_key(made, "kanya")[1]


def request(key: str, query: str = "") -> bytes:
    """What asks for the feed."""
    head = (f"GET /api/v1/tables/B07/feed/{query} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}", "", "")
    return "\r\n".join(head).encode()


def listen(port: int, key: str, query: str = "", buffer: int = 0) -> socket.socket:
    """A client that has asked for the feed and reads nothing yet."""
    client = socket.socket()
    if buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.settimeout(20)
    client.connect((HOST, port))
    client.sendall(request(key, query))
    return client


def read_head(client: socket.socket) -> str:
    """The head of an answer, and with it the beginning of the body that came along."""
    text = b""
    while b"\r\n\r\n" not in text:
        part = client.recv(4096)
        assert part, text
        text += part
    return text.decode()


def exposed(n: int) -> dict[str, Any]:
    return {"event": "exposed", "shoe": 9, "when": "burn", "key": f"k{n}"}


def fill(table: Table) -> None:
    """So long a log that no connection takes it in before it is read."""
    start = dt.datetime(2026, 1, 1, tzinfo=table.venue.zone)
    log = b""
    for shoe in range(1, 9):
        events = simulate_shoe(table.code, shoe, "commission", shoe, start + dt.timedelta(hours=3 * shoe))
        log += "".join(format_event(event) + "\n" for event in events).encode()
    import_log(io.BytesIO(log), actor="import")


@pytest.mark.sqlite
def test_gunicorn_has_threads_left_for_recording_and_loses_none_to_who_reads_nothing(key: str) -> None:
    fill(Table.objects.get(code="B07"))
    with serving(FEED_SECONDS="2", FEEDS_PER_PROCESS="2") as server:
        port = server.port
        deaf = [listen(port, key, "?after=0", buffer=4096) for _ in range(2)]
        for client in deaf:
            assert read_head(client).startswith("HTTP/1.1 200")  # and nothing more, ever
        full = read_head(listen(port, key))
        assert full.startswith("HTTP/1.1 503")
        assert "Retry-After: 5" in full
        began = time.monotonic()
        assert server.post(key, {"event": "shoe_opened", "shoe": 9, "ruleset": "commission", "key": "o"})[0] == 201
        assert [server.post(key, exposed(n))[0] for n in range(5)] == [201] * 5
        assert time.monotonic() - began < 3
        # Their threads are free again soon, and somebody who went away has one no longer either.
        limit = time.monotonic() + 10
        while not (again := read_head(gone := listen(port, key))).startswith("HTTP/1.1 200"):
            assert time.monotonic() < limit, again
            time.sleep(0.2)
        gone.close()
        assert server.post(key, exposed(9))[0] == 201


# In an event loop.


@contextmanager
def uvicorned() -> Iterator[int]:
    """The product on uvicorn, in a thread of this process."""
    from baccarat_audit.asgi import application

    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(application, host=HOST, port=port, log_level="critical", lifespan="off", loop="asyncio")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        yield port
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


async def hear(port: int, key: str, count: int, ready: list[int]) -> list[int]:
    """The positions of the next messages of the feed."""
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(request(key))
    text = ""
    begun = False
    while len(found := re.findall(r"id: (\d+)\nevent: ", text)) < count:
        part = await asyncio.wait_for(reader.read(65536), 30)
        assert part, text[-500:]
        text += part.decode()
        if not begun and "retry: " in text:
            begun = True
            ready.append(1)
    writer.close()
    return [int(seq) for seq in found]


def test_a_hundred_listen_in_one_event_loop(key: str) -> None:
    listeners, events = 100, 5
    record({"event": "shoe_opened", "table": "B07", "shoe": 9, "ruleset": "commission"}, actor="nok")
    threads = threading.active_count()
    ready: list[int] = []

    async def all_of_them(port: int) -> list[list[int]]:
        return await asyncio.gather(*(hear(port, key, events, ready) for _ in range(listeners)))

    heard: list[list[int]] = []
    with uvicorned() as port:
        crowd = threading.Thread(target=lambda: heard.extend(asyncio.run(all_of_them(port))))
        crowd.start()
        until(lambda: len(ready) == listeners, 30)
        time.sleep(0.2)
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()")
                assert cursor.fetchone()[0] <= 4  # who watches the log, ours, and what is just being closed
        began = time.monotonic()
        for n in range(events):
            assert post(port, key, exposed(n))[0] == 201
        crowd.join(30)
        assert time.monotonic() - began < 10
        until(lambda: not news.HUB.listeners, 10)  # all of them went away in the middle
    assert heard == [[2, 3, 4, 5, 6]] * listeners
    news.HUB.stop()
    until(lambda: threading.active_count() <= threads + 2, 5)  # the two that read what somebody missed may stay


@pytest.mark.sqlite
def test_an_event_loop_lets_go_of_who_reads_nothing(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from baccarat_audit import asgi

    monkeypatch.setattr(asgi, "SEND_TIMEOUT", 0.5)
    fill(Table.objects.get(code="B07"))
    with uvicorned() as port:
        deaf = listen(port, key, "?after=0", buffer=4096)
        assert read_head(deaf).startswith("HTTP/1.1 200")
        until(lambda: not news.HUB.listeners, 10)
        deaf.close()
    news.HUB.stop()

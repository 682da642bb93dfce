"""Whatever fails: what was confirmed is in the log once, what was not can be sent again, and the answer was clear."""

from __future__ import annotations

import datetime as dt
import glob
import http.client
import itertools
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from dealing.devices import keys
from dealing.devices.models import Device
from dealing.models import TableEvent, Venue
from dealing.verify import verify_table
from tests.conftest import MakeTable
from tests.servers import HOST, Server, database_url, free_port, serving, until

pytestmark = pytest.mark.django_db(transaction=True)

OPENED = {"event": "shoe_opened", "shoe": 1, "ruleset": "commission", "key": "open"}
PATIENCE = 30  # seconds


def seen(n: int) -> dict[str, Any]:
    """An event of which a shoe may have as many as one likes."""
    return {"event": "exposed", "shoe": 1, "when": "burn", "key": f"k{n}"}


@pytest.fixture
def key(venue: Venue, table: MakeTable) -> str:
    made = Device.objects.create(
        venue=venue, code="EYE", supervises=True, created_at=timezone.now(), created_by="kanya"
    )
    made.tables.set([table("B07")])
    return keys.make_key(made, "kanya")[1]


def logged() -> list[str]:
    """The keys of the log in its order, which is whole."""
    assert verify_table("B07").broken is None
    return [str(key) for key in TableEvent.objects.order_by("seq").values_list("key", flat=True)]


class Sender(threading.Thread):
    """A device: sends event after event, each until it is confirmed, in batches of three now and then."""

    def __init__(self, server: Server, key: str, unclear: list[str] | None = None) -> None:
        super().__init__(daemon=True)
        self.server, self.key = server, key
        self.confirmed: list[str] = []
        self.unanswered = 0
        #: Answers that were no confirmation, and did not say clearly that it is to be sent again.
        self.unclear = [] if unclear is None else unclear
        self.enough = threading.Event()
        self.start()

    def run(self) -> None:
        n = 0
        while not self.enough.is_set():
            size = 3 if n % 5 == 0 else 1
            events = [seen(n + one) for one in range(size)]
            if self._sent(events):
                self.confirmed += [event["key"] for event in events]
                n += size
            else:
                time.sleep(0.05)

    def _sent(self, events: list[dict[str, Any]]) -> bool:
        try:
            status, said = self.server.post(self.key, events, timeout=5)
        except (OSError, http.client.HTTPException):
            self.unanswered += 1
            return False
        if status in (200, 201):
            assert [one["key"] for one in said["events"]] == [event["key"] for event in events]
            return True
        if status != 503 or not said["type"].endswith("#unavailable"):
            self.unclear.append(json.dumps(said))
        self.unanswered += 1
        return False

    def more(self, count: int) -> None:
        """Wait until so many more have been confirmed."""
        goal = len(self.confirmed) + count
        until(lambda: len(self.confirmed) >= goal)

    def end(self) -> list[str]:
        """Stop; what was confirmed."""
        self.enough.set()
        self.join(PATIENCE)
        assert not self.unclear
        return self.confirmed


def test_the_server_is_killed_in_the_middle_of_requests(key: str) -> None:
    with serving() as server:
        assert server.post(key, OPENED)[0] == 201
        sender = Sender(server, key)
        for _ in range(2):
            sender.more(8)
            server.kill()
            server.start()
        sender.more(8)
        confirmed = sender.end()
    assert sender.unanswered
    assert logged() == ["open", *confirmed]


def test_two_servers_and_the_same_keys(key: str) -> None:
    with serving() as one, serving() as other:
        assert one.post(key, OPENED)[0] == 201
        answers: list[tuple[int, dict[str, Any]]] = []
        start = threading.Barrier(4)

        def send(server: Server) -> None:
            start.wait()
            for n in range(10):
                answers.append(server.post(key, [seen(n)]))

        threads = [threading.Thread(target=send, args=(server,)) for server in (one, other, one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    # Each key was new once, and three times there already: at the same place.
    assert sorted(status for status, _said in answers) == [200] * 30 + [201] * 10
    places = {(said["events"][0]["key"], said["events"][0]["seq"]) for _status, said in answers}
    assert len(places) == 10
    assert sorted(logged()) == sorted(["open", *(f"k{n}" for n in range(10))])


@pytest.mark.postgresql
def test_the_database_is_restarted(key: str) -> None:
    with own_postgresql() as database:
        database.copy_of_the_suite()
        with serving(DATABASE_URL=database.url) as server:
            assert server.post(key, OPENED)[0] == 201
            sender = Sender(server, key)
            sender.more(8)
            database.stop("immediate")
            failed = sender.unanswered
            until(lambda: sender.unanswered >= failed + 3)
            database.start()
            sender.more(8)
            database.stop("fast")
            database.start()
            sender.more(8)
            confirmed = sender.end()
        rows = database.ask("SELECT seq, key FROM dealing_tableevent ORDER BY seq")
    assert rows == [f"{seq}|{name}" for seq, name in enumerate(["open", *confirmed], 1)]


@pytest.mark.redis
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="Redis not found")
def test_redis_goes_and_comes_back(key: str, tmp_path: Path) -> None:
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", HOST, "--save", "", "--appendonly", "no"]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)

    redis = start()
    try:
        with serving(REDIS_URL=f"redis://{HOST}:{port}/0") as server:
            assert server.post(key, OPENED)[0] == 201
            sender = Sender(server, key)
            sender.more(6)
            redis.kill()
            redis.wait()
            sender.more(12)
            redis = start()
            sender.more(6)
            confirmed = sender.end()
    finally:
        redis.kill()
        redis.wait()
    # Nobody noticed.
    assert sender.unanswered == 0
    assert logged() == ["open", *confirmed]


def test_the_disk_is_full(key: str, client: Client) -> None:
    headers = {"Authorization": f"Bearer {key}"}

    def post(*events: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = client.post(
            "/api/v1/tables/B07/events/", list(events), content_type="application/json", headers=headers
        )
        return answer.status_code, answer.json()

    assert post(OPENED)[0] == 201
    with full_disk():
        # What still fits is confirmed; the first that does not is not, and says so.
        for n in itertools.count():
            assert n < 2000
            status, said = post(*(seen(10 * n + one) for one in range(10)))
            if status != 201:
                break
        assert status == 503
        assert said["type"].endswith("#unavailable")
        assert said["detail"]
        assert len(logged()) == 1 + 10 * n
    assert post(*(seen(10 * n + one) for one in range(10)))[0] == 201
    assert logged() == ["open", *(f"k{one}" for one in range(10 * (n + 1)))]


@contextmanager
def full_disk() -> Iterator[None]:
    """The database takes little more, and answers as it does where the disk is full."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA page_count")
            cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0] + 4}")
            try:
                yield
            finally:
                cursor.execute("PRAGMA max_page_count = 4294967294")
        else:
            cursor.execute(
                "CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "IF NEW.seq > 31 THEN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; "
                "END IF; RETURN NEW; END $$"
            )
            cursor.execute(
                "CREATE TRIGGER disk_is_full BEFORE INSERT ON dealing_tableevent "
                "FOR EACH ROW EXECUTE FUNCTION disk_is_full()"
            )
            try:
                yield
            finally:
                cursor.execute("DROP TRIGGER disk_is_full ON dealing_tableevent")
                cursor.execute("DROP FUNCTION disk_is_full()")


def test_the_clock_is_stepped_back(key: str, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"Authorization": f"Bearer {key}"}

    def post(event: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = client.post("/api/v1/tables/B07/events/", event, content_type="application/json", headers=headers)
        return answer.status_code, answer.json()

    assert post(OPENED)[0] == 201
    assert post(seen(0))[0] == 201
    clock = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: clock() - dt.timedelta(hours=1))
    status, said = post(seen(1))
    assert status == 201
    assert post(seen(1)) == (200, {**said, "events": [{**said["events"][0], "duplicate": True}]})
    monkeypatch.setattr(timezone, "now", clock)
    assert post(seen(2))[0] == 201
    assert logged() == ["open", "k0", "k1", "k2"]
    times = list(TableEvent.objects.order_by("seq").values_list("at", "recorded_at"))
    assert times == sorted(times)
    assert [at for _at, at in times] == sorted(at for _at, at in times)


# Clients that are slow, huge, or gone.


def head(key: str, length: int) -> bytes:
    lines = ("POST /api/v1/tables/B07/events/ HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}")
    return "\r\n".join((*lines, "Content-Type: application/json", f"Content-Length: {length}", "", "")).encode()


def answer_of(client: socket.socket) -> str:
    """All that a server says before it hangs up."""
    text = b""
    try:
        while part := client.recv(65536):
            text += part
    except ConnectionResetError:
        pass
    return text.decode()


@pytest.mark.sqlite
def test_clients_that_send_too_much_or_too_slowly_are_in_nobodys_way(key: str) -> None:
    with serving(BODY_SECONDS="2") as server:
        assert server.post(key, OPENED)[0] == 201
        # A hundred megabytes: told before they are sent, and nothing of them is kept.
        with socket.create_connection((HOST, server.port), timeout=10) as huge:
            huge.sendall(head(key, 100 * 1024 * 1024))
            said = answer_of(huge)
        assert said.startswith("HTTP/1.1 413")
        assert '"/api/v1/problems/#too-large"' in said
        # As many as there are threads send nothing more after the head, or a byte now and then.
        slow = [socket.create_connection((HOST, server.port), timeout=10) for _ in range(4)]
        for client in slow:
            client.sendall(head(key, 1000) + b"[")
        began = time.monotonic()
        dripping = threading.Event()

        def drip() -> None:
            while not dripping.wait(0.3):
                for client in slow[:2]:
                    try:
                        client.sendall(b" ")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            assert server.post(key, seen(0))[0] == 201
            assert time.monotonic() - began < 6
            for client in slow:
                said = answer_of(client)
                assert said.startswith("HTTP/1.1 408")
                assert '"/api/v1/problems/#too-slow"' in said
        finally:
            dripping.set()
            thread.join()
            for client in slow:
                client.close()
        # Somebody who does not wait for the answer: it may be there, and is there once.
        gone = socket.create_connection((HOST, server.port), timeout=10)
        body = json.dumps(seen(1)).encode()
        gone.sendall(head(key, len(body)) + body)
        gone.close()
        assert server.post(key, seen(1))[0] in (200, 201)
    assert logged() == ["open", "k0", "k1"]


# A PostgreSQL that may be stopped.


class OwnPostgreSQL:
    """A server of the test's own."""

    def __init__(self, folder: Path) -> None:
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [os.path.dirname(shutil.which("initdb") or "")]
        if not Path(found[-1], "initdb").exists():
            pytest.fail("the PostgreSQL server's own programs (initdb, pg_ctl) are not on this machine")
        self._programs, self.folder, self.port = Path(found[-1]), folder, free_port()
        self.url = f"postgres://postgres@{HOST}:{self.port}/postgres"
        self._user = "postgres" if os.geteuid() == 0 else None  # it does not run as root
        if self._user:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", str(folder), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments], check=True, cwd="/", user=self._user, stdout=subprocess.DEVNULL
        )

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses={HOST} -c unix_socket_directories= -c fsync=off"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.folder), "-l", log, "-w", "-o", options, "start")

    def stop(self, how: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder), "-w", "-m", how, "stop")

    def copy_of_the_suite(self) -> None:
        """Everything that the suite's database holds."""
        dump = subprocess.run(
            [self._programs / "pg_dump", "--no-owner", database_url()], check=True, capture_output=True
        ).stdout
        subprocess.run(
            [self._programs / "psql", "-qX", "-v", "ON_ERROR_STOP=1", self.url],
            check=True,
            input=dump,
            stdout=subprocess.DEVNULL,
        )

    def ask(self, question: str) -> list[str]:
        """Rows, their columns joined by a stroke."""
        asked = [str(self._programs / "psql"), "-qXAt", "-c", question, self.url]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()


@contextmanager
def own_postgresql() -> Iterator[OwnPostgreSQL]:
    # Not among the suite's own files: those may be read by whoever runs it alone.
    with tempfile.TemporaryDirectory(prefix="baccarat-postgresql-") as folder:
        server = OwnPostgreSQL(Path(folder))
        try:
            yield server
        finally:
            server.stop("immediate")

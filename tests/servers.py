"""The product on real servers of its own, on the suite's database."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
PATIENCE = 90  # seconds; a machine may be busy
T = TypeVar("T")


def until(asked: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Wait for the first answer that is true, and give it back."""
    end = time.monotonic() + seconds
    while not (answer := asked()):
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)
    return answer


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def database_url() -> str:
    """Of the database that the suite has made."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{quote(name)}"))


class Server:
    """The product as `make run` starts it."""

    def __init__(self, workers: int = 1, threads: int = 4, **environment: str) -> None:
        self.port = free_port()
        self._command = [
            *(sys.executable, "-m", "gunicorn", "baccarat_audit.wsgi", "--bind", f"{HOST}:{self.port}"),
            *("--workers", str(workers), "--threads", str(threads), "--log-level", "critical"),
        ]
        self._environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "SECRET_KEY": settings.SECRET_KEY,
            **environment,
        }
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start it (again), and wait until it answers."""
        self.process = subprocess.Popen(
            self._command, cwd=ROOT, env=self._environment, stderr=subprocess.DEVNULL, start_new_session=True
        )
        limit = time.monotonic() + 60
        while True:
            try:
                socket.create_connection((HOST, self.port), timeout=1).close()
                return self.process
            except OSError:
                assert time.monotonic() < limit
                assert self.process.poll() is None
                time.sleep(0.05)

    def kill(self) -> None:
        """As a power cut does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """As a person does."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def post(self, key: str, events: Any, table: str = "B07", timeout: float = 30) -> tuple[int, dict[str, Any]]:
        """`post` to this server."""
        return post(self.port, key, events, table, timeout)


def post(port: int, key: str, events: Any, table: str = "B07", timeout: float = 30) -> tuple[int, dict[str, Any]]:
    """Send events of a table with a device's key: the status and the answer. Raises OSError, HTTPException."""
    to = http.client.HTTPConnection(HOST, port, timeout=timeout)
    try:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        to.request("POST", f"/api/v1/tables/{table}/events/", json.dumps(events), headers)
        answer = to.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        to.close()


@contextmanager
def serving(workers: int = 1, threads: int = 4, **environment: str) -> Iterator[Server]:
    """A server, stopped in the end."""
    server = Server(workers, threads, **environment)
    try:
        yield server
    finally:
        server.stop()


def until_waiting() -> None:
    """Wait until somebody waits for a lock of PostgreSQL."""
    for _ in range(400):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.01)")
    raise AssertionError("nobody waits")

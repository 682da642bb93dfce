"""A product of its own to measure: a scratch database with the demo house, and the server as `make run` starts it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from benchmarks.logs import FOLDER

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = "baccarat_bench"


def databases() -> list[str]:
    """What can be measured here: SQLite always, PostgreSQL where DATABASE_URL names one."""
    named = os.environ.get("DATABASE_URL", "")
    return ["sqlite", *([named] if urlsplit(named).scheme.startswith("postgres") else [])]


@contextmanager
def scratch_database(url: str, folder: Path = FOLDER / "site") -> Iterator[dict[str, str]]:
    """An empty, migrated database beside the one that is named: the environment that leads to it.

    `folder` is emptied before and removed after; SQLite's file lies there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {**os.environ, "VAR_DIR": str(folder), "LOG_LEVEL": "WARNING"}
    environment.pop("ALLOWED_HOSTS", None)
    if url == "sqlite":
        environment["DATABASE_URL"] = f"sqlite:///{folder / 'db.sqlite3'}"
    else:
        _on_server(url, f'DROP DATABASE IF EXISTS "{SCRATCH}" WITH (FORCE)')
        _on_server(url, f"CREATE DATABASE \"{SCRATCH}\" ENCODING 'UTF8' TEMPLATE template0")
        environment["DATABASE_URL"] = urlunsplit(urlsplit(url)._replace(path=f"/{SCRATCH}"))
    try:
        manage(environment, "migrate", "--verbosity", "0")
        yield environment
    finally:
        if url != "sqlite":
            _on_server(url, f'DROP DATABASE IF EXISTS "{SCRATCH}" WITH (FORCE)')
        shutil.rmtree(folder, ignore_errors=True)


def _on_server(url: str, statement: str) -> None:
    with psycopg.connect(urlunsplit(urlsplit(url)._replace(path="/postgres")), autocommit=True) as connection:
        connection.execute(statement)  # a statement made here


def manage(environment: dict[str, str], *arguments: str) -> str:
    """Run a management command; what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


@contextmanager
def server(
    environment: dict[str, str], workers: int = 2, threads: int = 4
) -> Iterator[tuple[str, int, Callable[[], float]]]:
    """gunicorn as the Makefile starts it: host, port, and what tells the seconds of processor time it has used."""
    manage(environment, "collectstatic", "--no-input", "--verbosity", "0")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host, port = free.getsockname()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "baccarat_audit.wsgi", "--bind", f"{host}:{port}"),
            *("--workers", str(workers), "--threads", str(threads), "--log-level", "warning"),
        ],
        cwd=ROOT,
        env=environment,
    )
    try:
        _wait(f"http://{host}:{port}/health/", process)
        yield host, port, lambda: _cpu_seconds(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _cpu_seconds(parent: int) -> float:
    """Processor time used by the children of a process; 0 where the system does not say (it says it on Linux)."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server does not answer")

"""The night with real workers and a real scheduler on Redis and PostgreSQL: whatever happens, one right report.

Every test has a Redis server of its own, processes of its own, and the suite's own database. A lock on the table of
hands, held by the test, stops whoever judges in the middle of it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from celery import Celery
from django.db import connection
from django.utils import timezone

from baccarat_audit.health import redis_reachable
from dealing.gaming_days import begins, gaming_day
from dealing.log import record_many
from dealing.models import Table, Venue
from incidents.reports.models import AuditDay, AuditReport, AuditRun, ReportFile, TableAudit
from tests.servers import until
from tests.table_logs import Lines

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql,
    pytest.mark.redis,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="Redis not found"),
]

ROOT = Path(__file__).resolve().parent.parent
DAY = dt.timedelta(days=1)
HANDS = 3


class RedisServer:
    """A Redis that forgets everything when it is stopped."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
        )
        until(lambda: redis_reachable(self.url))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class House:
    """The processes of a night."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.redis = RedisServer(folder)
        at = connection.settings_dict
        user = quote(at["USER"] or "") + (f":{quote(at['PASSWORD'])}" if at["PASSWORD"] else "")
        self.database = f"postgres://{user}@{at['HOST'] or '127.0.0.1'}:{at['PORT'] or 5432}/{at['NAME']}"
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings",
            "DATABASE_URL": self.database,
            "REDIS_URL": self.redis.url,
            "VAR_DIR": str(folder),
            "SECRET_KEY": "only-for-the-suite-" + "x" * 40,
            "LOG_LEVEL": "INFO",
            "AUDIT_AFTER_CLOSE": "0",
            "AUDIT_TICK": "1",
            "AUDIT_LEASE": "2",
            "AUDIT_RESEND": "2",
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def celery(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "baccarat_audit", *arguments],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def worker(self, name: str = "one") -> subprocess.Popen[bytes]:
        more = ("--without-gossip", "--without-mingle", "--without-heartbeat")
        return self.celery(name, "worker", "--concurrency", "1", "--hostname", f"{name}@night", *more)

    def beat(self, name: str = "beat") -> subprocess.Popen[bytes]:
        return self.celery(name, "beat")

    def send(self, task: str, *arguments: Any) -> None:
        """Put a task into the queue, as often as this is called."""
        with Celery(broker=self.redis.url) as app:
            app.send_task(f"incidents.reports.tasks.{task}", args=arguments)

    @contextlib.contextmanager
    def standstill(self) -> Iterator[None]:
        """Nobody can read the stored hands: whoever judges stops there."""
        with psycopg.connect(self.database) as lock:
            lock.execute("LOCK TABLE dealing_hand IN ACCESS EXCLUSIVE MODE")
            yield

    def stop(self) -> None:
        for process in self.processes:
            kill(process)
        self.redis.process.send_signal(signal.SIGCONT)
        self.redis.kill()


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9, with all its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def house(transactional_db: None, tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    try:
        yield house
    finally:
        house.stop()
        for log in sorted(tmp_path.glob("*.log")):  # shown where the test fails
            print(f"== {log.name}\n{log.read_text()[-4000:]}")


@pytest.fixture
def day(venue: Venue) -> dt.date:
    """A night of three tables."""
    day = gaming_day(venue, timezone.now()) - DAY
    for code in ("B01", "B02", "B03"):
        Table.objects.create(code=code, venue=venue, ruleset="commission")
        lines = Lines(code)
        lines.at = begins(venue, day) + dt.timedelta(hours=1)
        record_many(lines.open(), actor="somchai")
        for number in range(1, HANDS + 1):
            record_many(lines.hand(number), actor="somchai")
    return day


def reports(day: dt.date) -> list[AuditReport]:
    return list(AuditReport.objects.filter(day=day, kind="nightly"))


def one_right_report(day: dt.date, hands: int = 3 * HANDS) -> AuditReport:
    """There is one, it is right, and nothing is left to be done."""
    until(lambda: reports(day))
    time.sleep(2.5)  # two more turns of the scheduler
    (report,) = reports(day)
    assert (report.revision, report.hands, report.chain_whole) == (1, hands, True)
    run = AuditRun.objects.get(of_day__day=day)
    assert (run.status, report.run) == ("done", run)
    assert set(run.tables.values_list("status", flat=True)) == {"done"}
    of_day = AuditDay.objects.get(day=day)
    assert of_day.changes == of_day.audited
    return report


def running() -> list[TableAudit]:
    return list(TableAudit.objects.filter(status="running"))


def test_two_schedulers_and_two_workers_make_one_report(house: House, day: dt.date) -> None:
    for name in ("one", "two"):
        house.worker(name)
        house.beat(f"beat-{name}")
    report = one_right_report(day)
    assert report.run is not None
    assert set(report.run.tables.values_list("attempts", flat=True)) == {1}
    until(lambda: ReportFile.objects.filter(report=report, error="").exists())


def test_a_worker_killed_in_the_middle(house: House, day: dt.date) -> None:
    with house.standstill():
        killed = house.worker()
        house.beat()
        (part,) = until(running)
        kill(killed)
        house.worker("two")
    one_right_report(day)
    part.refresh_from_db()
    assert part.attempts >= 2


def test_redis_stopped_and_started_with_nothing_left_in_it(house: House, day: dt.date) -> None:
    with house.standstill():
        house.worker()
        house.beat()
        until(running)
        house.redis.kill()
        time.sleep(1)
        house.redis.start()
    one_right_report(day)


def test_redis_that_does_not_answer_for_a_while(house: House, day: dt.date) -> None:
    house.worker()
    with house.standstill():
        house.beat()
        until(running)
        house.redis.process.send_signal(signal.SIGSTOP)
        time.sleep(3)
    time.sleep(1)
    house.redis.process.send_signal(signal.SIGCONT)
    one_right_report(day)


def test_every_task_delivered_three_times(house: House, day: dt.date) -> None:
    with house.standstill():
        house.worker("one")
        house.worker("two")
        for _twice in range(2):
            house.send("audit_nights")
        until(running)
        for part in TableAudit.objects.all():
            for _thrice in range(3):
                house.send("audit_table", part.pk)
        for run in AuditRun.objects.all():
            house.send("finish_run", run.pk)
    report = one_right_report(day)
    assert report.run is not None
    assert set(report.run.tables.values_list("attempts", flat=True)) == {1}


def test_the_nights_on_which_the_clock_changes(house: House, venue: Venue) -> None:
    venue.time_zone = "Europe/Berlin"
    venue.save()
    nights = {dt.date(2025, 10, 25): 25, dt.date(2026, 3, 28): 23}
    Table.objects.create(code="B01", venue=venue, ruleset="commission")
    lines = Lines("B01")
    for night, hours in nights.items():
        first = begins(venue, night).astimezone(dt.UTC)
        lines.at = first
        record_many(lines.open(), actor="somchai")
        for hour in range(hours):
            lines.at = first + dt.timedelta(hours=hour, minutes=30)
            record_many(lines.hand(hour + 1), actor="somchai")
    newer = gaming_day(venue, timezone.now())
    quiet = [AuditDay(venue=venue, day=newer - n * DAY, changes=0, audited=0) for n in range(1, 9)]
    AuditDay.objects.bulk_create(quiet)  # they come first, and are not what this is about
    house.worker()
    house.beat()
    for night, hours in nights.items():
        report = one_right_report(night, hours)
        assert [hour.hands for hour in report.nightly.hours] == [1] * hours

"""The night of a whole floor: so many tables and hands of one gaming day, audited by real workers on PostgreSQL.

    python -m benchmarks.bench_night [--floors 20x1500 200x1500] [--workers 1 2]

For each floor, so many tables by so many hands: the day is made (the same shoes at many tables, at other times), loaded
with `import_log` into a scratch database, and audited once by one Celery worker and once by two, each with one process.
The clock on the wall runs from the moment the run is opened until its report is there. Limits: 10 minutes with two
workers, 400 MB for each worker with its children (up to 300,000 hands), two workers at least 1.5 times as fast as one
(from 300,000 hands on), and the cost of a hand, in one worker's time at the tables, within 15 % over all floors.
1,000,000 hands are `200x5000`: some 15 GB of disk.

Needs DATABASE_URL to name a PostgreSQL, and redis-server.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.logs import FLOOR_RATES, FOLDER, TABLES, WITH_BETS
from benchmarks.site import ROOT, databases, manage, scratch_database
from dealing.rules.events import Amended, Event, format_event, format_time
from dealing.simulator import simulate_shoe

MINUTES = 10
MEGABYTES = 400
TWICE = 1.5
SPREAD = 1.15
WHOLE_FLOOR = 300_000
#: Different shoes that are dealt for each ruleset, with and without bets; every table plays them in another order.
DEALT = 12
ZONE = dt.timezone(dt.timedelta(hours=7))
#: The day is filled up to this: 24 hours less a margin for the shoes' ends.
FILLED = dt.timedelta(hours=23)
LONG_AGO = dt.datetime(2026, 1, 1, tzinfo=ZONE)

_PLACE = re.compile(r'"at": "[^"]+", "table": "[^"]+", "shoe": \d+')
_SEQ = re.compile(r'"seq": (\d+)')


class Template:
    """A shoe dealt once: of each event the text before and after time and place, when it was, and in which hand."""

    def __init__(self, events: list[Event]) -> None:
        first = events[0].at
        self.lines: list[tuple[str, str, float, int, bool]] = []
        for event in events:
            text = format_event(event)
            place = _PLACE.search(text)
            assert place is not None
            amended = isinstance(event, Amended)
            seconds = (event.at - first).total_seconds()
            self.lines.append((text[: place.start()], text[place.end() :], seconds, event.hand or 0, amended))
        self.hands = max(hand for *_, hand, _ in self.lines)
        self.seconds = self.lines[-1][2] + 600

    def write(self, code: str, shoe: int, start: dt.datetime, pace: float, base: int, hands: int) -> Iterator[str]:
        """The lines at another table and time, `pace` times as quick; as many `hands` of it."""
        for before, after, seconds, hand, amended in self.lines:
            if hand > hands:
                return
            at = format_time(start + dt.timedelta(seconds=seconds / pace))
            place = f'"at": "{at}", "table": "{code}", "shoe": {shoe}'
            if amended:  # it names a position, and holds a line of its own
                after = _PLACE.sub(place, _SEQ.sub(lambda found: f'"seq": {int(found[1]) + base}', after, count=1))
            yield f"{before}{place}{after}\n"


def templates() -> dict[tuple[str, bool], list[Template]]:
    return {
        (ruleset, bets): [
            Template(simulate_shoe("X", 1, ruleset, seed, LONG_AGO, FLOOR_RATES, bets=bets, face_down=0.0))
            for seed in range(DEALT)
        ]
        for _, ruleset in TABLES
        for bets in (False, True)
    }


def write_day(path: Path, numbers: range, hands: int, begins: dt.datetime) -> int:
    """The day of these tables as a log file; how many events that is."""
    shoes, events = templates(), 0
    with path.open("w", encoding="utf-8") as file:
        for number in numbers:
            of_table = shoes[TABLES[number % len(TABLES)][1], number % WITH_BETS == 0]
            left, plan = hands, []
            while left > 0:
                template = of_table[(number + len(plan)) % DEALT]
                plan.append((template, min(left, template.hands)))
                left -= template.hands
            pace = max(1.0, sum(template.seconds for template, _ in plan) / FILLED.total_seconds())
            at, position = begins + dt.timedelta(seconds=number % 60), 0
            for shoe, (template, some) in enumerate(plan, 1):
                lines = list(template.write(f"F{number:03}", shoe, at, pace, position, some))
                file.writelines(lines)
                position += len(lines)
                at += dt.timedelta(seconds=template.seconds / pace)
            events += position
    return events


# --- in the environment of the scratch database ----------------------------------------------------------------------


def start(day: str) -> None:
    """Open a run, as a person would; prints its number."""
    import django

    django.setup()
    from dealing.models import Venue
    from incidents.reports import runs

    print(runs.start_by_hand(Venue.objects.get(), dt.date.fromisoformat(day), by="benchmark").pk)


def wait(pk: int) -> None:
    """Until the run is over; prints what it came to."""
    import django

    django.setup()
    from django.db.models import Sum

    from incidents.reports.models import AuditReport, AuditRun

    while (run := AuditRun.objects.get(pk=pk)).status == "running":
        time.sleep(0.1)
    assert run.finished_at is not None
    report = AuditReport.objects.order_by("-pk").first()
    print(
        json.dumps(
            {
                "status": run.status,
                "error": run.error,
                "wall": (run.finished_at - run.started_at).total_seconds(),
                "work": run.tables.aggregate(all=Sum("seconds"))["all"],
                "hands": report.hands if report else 0,
                "events": report.events if report else 0,
                "findings": report.findings if report else 0,
                "chain": report is not None and report.chain_whole,
            }
        )
    )


# --- the processes ---------------------------------------------------------------------------------------------------


@contextmanager
def redis_server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
        cwd=FOLDER,
    )
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def workers(environment: dict[str, str], number: int) -> Iterator[list[int]]:
    """So many workers that are ready: their processes."""
    processes, logs = [], []
    for n in range(number):
        log = FOLDER / f"worker-{n}.log"
        logs.append(log)
        with log.open("wb") as out:
            processes.append(
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", "celery", "-A", "baccarat_audit", "worker", "--loglevel", "INFO"),
                        *("--concurrency", "1", "--hostname", f"w{n}@night", "--without-gossip", "--without-mingle"),
                    ],
                    cwd=ROOT,
                    env={**environment, "LOG_LEVEL": "INFO"},
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
    try:
        for process, log in zip(processes, logs, strict=True):
            while " ready." not in log.read_text(errors="replace"):
                if process.poll() is not None:
                    raise SystemExit(f"a worker ended: {log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.1)
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def peak_megabytes(pid: int) -> float:
    """The most memory that a process and its children have had so far, added up (Linux)."""
    kilobytes = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
        except OSError:
            continue
        parent = re.search(r"PPid:\s*(\d+)", status)
        if folder.name == str(pid) or (parent is not None and int(parent[1]) == pid):
            peak = re.search(r"VmHWM:\s*(\d+)", status)
            kilobytes += int(peak[1]) if peak else 0
    return kilobytes / 1024


def load(environment: dict[str, str], tables: int, hands: int, begins: dt.datetime) -> tuple[int, float]:
    """Make the day and store it; events, and seconds of the import (two processes)."""
    half = tables // 2 + 1
    paths, events = [], 0
    for n, numbers in enumerate((range(1, half), range(half, tables + 1))):
        path = FOLDER / f"night-{n}.jsonl"
        events += write_day(path, numbers, hands, begins)
        paths.append(path)
    started = time.perf_counter()
    imports = [
        subprocess.Popen(
            [sys.executable, "manage.py", "import_log", str(path), "--create-tables"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for path in paths
    ]
    for one in imports:
        said = one.communicate()[1]
        if one.returncode:
            raise SystemExit(f"import_log ended with {one.returncode}: {said.decode()[-2000:]}")
    seconds = time.perf_counter() - started
    for path in paths:
        path.unlink()
    return events, seconds


def main(floors: list[tuple[int, int]], numbers: list[int]) -> int:
    url = databases()[-1]
    if url == "sqlite" or shutil.which("redis-server") is None:
        print("skipped: this needs DATABASE_URL to name a PostgreSQL, and redis-server")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept, costs = True, {}
    this = [sys.executable, "-m", "benchmarks.bench_night"]
    print(f"{'night':<22}{'workers':>8}{'wall s':>9}{'us/hand':>9}{'work s':>9}{'us/hand':>9}{'MB':>12}")
    for tables, hands in floors:
        begins = (dt.datetime.now(ZONE) - dt.timedelta(days=2)).replace(hour=6, minute=0, second=0, microsecond=0)
        with redis_server() as redis, scratch_database(url) as environment:
            environment |= {"REDIS_URL": redis, "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings"}
            manage(environment, "shell", "-c", _VENUE)
            events, seconds = load(environment, tables, hands, begins)
            manage(environment, "shell", "-c", "from django.db import connection as c; c.cursor().execute('ANALYZE')")
            total = tables * hands
            print(f"{total:,} hands, {events:,} events, imported in {seconds:.0f} s", flush=True)
            walls = {}
            for number in numbers:
                with workers(environment, number) as pids:
                    day = begins.date().isoformat()
                    run = _python(environment, [*this, "--start", day])
                    done = json.loads(_python(environment, [*this, "--wait", run]))
                    peaks = [peak_megabytes(pid) for pid in pids]
                if done["status"] != "done" or done["hands"] != total or not done["chain"]:
                    raise SystemExit(f"the audit did not come out: {done}")
                walls[number] = done["wall"]
                costs.setdefault(number, {})[total] = done["work"] / total
                print(
                    f"{total:<22,}{number:>8}{done['wall']:>9.1f}{done['wall'] / total * 1e6:>9.0f}{done['work']:>9.1f}"
                    f"{done['work'] / total * 1e6:>9.0f}{' '.join(f'{peak:.0f}' for peak in peaks):>12}",
                    flush=True,
                )
                kept &= total > WHOLE_FLOOR or (max(peaks) < MEGABYTES and done["wall"] < MINUTES * 60)
            if {1, 2} <= set(walls):
                ratio = walls[1] / walls[2]
                print(f"two workers: {ratio:.2f} times as fast as one", flush=True)
                kept &= total < WHOLE_FLOOR or ratio >= TWICE
    if 1 in costs:
        spread = max(costs[1].values()) / min(costs[1].values())
        print(f"cost of a hand, one worker's time at the tables: within {(spread - 1) * 100:.0f} %")
        kept &= spread <= SPREAD
    return not kept


_VENUE = "from dealing.models import Venue; Venue.objects.create(code='BENCH', name='Benchmark')"


def _floor(text: str) -> tuple[int, int]:
    tables, hands = text.split("x")
    return int(tables), int(hands)


def _python(environment: dict[str, str], command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return done.stdout.strip().splitlines()[-1]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--start"]:
        start(sys.argv[2])
    elif sys.argv[1:2] == ["--wait"]:
        wait(int(sys.argv[2]))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--floors", type=_floor, nargs="+", default=[(20, 1500), (200, 1500)], metavar="TxH")
        parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
        chosen = parser.parse_args()
        sys.exit(main(chosen.floors, chosen.workers))

"""`manage.py import_log`: events a second into an empty database, and the same file again.

    python -m benchmarks.bench_import [EVENTS [TABLES [RUNS [JOBS]]]]        300,000 of 200 tables, 3 runs when left out

The log is that of a floor: the events of all tables as they come in. On SQLite, and on the server that DATABASE_URL
names where that is PostgreSQL. Seconds are on the clock, of the whole command but for the start of Django, which is
what the import of an empty file takes; the median of the runs counts. Beside them the seconds of processor time: of the
command, and of PostgreSQL's processes that serve it, where the server runs on this machine (on Linux; read ten times a
second, so that up to a tenth of a second of each is left out). Where the machine has other things to do, they say more
than the clock.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import psycopg

from benchmarks.logs import log_file
from benchmarks.site import databases, manage, scratch_database

VENUE = "from dealing.models import Venue; Venue.objects.create(code='BENCH', name='Benchmark')"
LIMIT = 20_000  # events a second into PostgreSQL


def main(events: int = 300_000, tables: int = 200, runs: int = 3, jobs: int | None = None) -> int:
    path = str(log_file(events, tables))
    options = ["--create-tables", *(() if jobs is None else ("--jobs", str(jobs)))]
    print(f"load {os.getloadavg()[0]:.1f}; {events:,} events of {tables} tables; {' '.join(options)}")
    print(f"{'import_log':<22}{'seconds':>9}{'cpu':>8}{'server':>8}{'us each':>9}{'events/s':>10}   of each run")
    kept = True
    for url in databases():
        name = "SQLite" if url == "sqlite" else "PostgreSQL"
        first, again = [], []
        for _ in range(runs):
            with scratch_database(url) as environment:
                manage(environment, "shell", "-c", VENUE)
                start = timed(environment, os.devnull, options)
                first.append(timed(environment, path, options, start))
                again.append(timed(environment, path, options, start))
        for what, measured in (("", first), (", again", again)):
            seconds, cpu, server = map(statistics.median, zip(*measured, strict=True))
            each = " ".join(f"{events / one:,.0f}" for one, _, _ in measured)
            an_event = (cpu + server) / events * 1e6
            print(
                f"{name + what:<22}{seconds:>9.1f}{cpu:>8.1f}{server:>8.1f}{an_event:>9.1f}{events / seconds:>10,.0f}"
                f"   {each}",
                flush=True,
            )
            kept &= name == "SQLite" or bool(what) or events / seconds >= LIMIT
    return 0 if kept else 1


def timed(
    environment: dict[str, str], path: str, options: list[str], start: tuple[float, float, float] = (0, 0, 0)
) -> tuple[float, float, float]:
    """Seconds on the clock, of processor time and of the server's that an import takes beyond `start`."""
    begin, cpu = time.perf_counter(), children_cpu()
    with served(environment["DATABASE_URL"]) as server:
        manage(environment, "import_log", path, *options)
    return time.perf_counter() - begin - start[0], children_cpu() - cpu - start[1], sum(server.values()) - start[2]


@contextmanager
def served(url: str) -> Iterator[dict[int, float]]:
    """Seconds of processor time that each of PostgreSQL's processes has used for the database, as far as is known."""
    used: dict[int, float] = {}
    if not url.startswith("postgres"):
        yield used
        return
    over = Event()

    def watch() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            own = connection.info.backend_pid
            while not over.wait(0.1):
                serving = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s"
                for (pid,) in connection.execute(serving, [own]):
                    with suppress(OSError):
                        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                        used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield used
    finally:
        over.set()
        watching.join()


def children_cpu() -> float:
    """Seconds of processor time of the commands run so far; the database's are not among them."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

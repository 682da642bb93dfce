"""`manage.py import_log`: events a second into an empty database, and the same file again.

    python -m benchmarks.bench_import [EVENTS [TABLES [RUNS [JOBS]]]]        300,000 of 200 tables, 3 runs when left out

The log is that of a floor: the events of all tables as they come in. On SQLite, and on the server that DATABASE_URL
names where that is PostgreSQL. Seconds are on the clock, of the whole command but for the start of Django, which is
what the import of an empty file takes; the median of the runs counts.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time

from benchmarks.logs import log_file
from benchmarks.site import databases, manage, scratch_database

VENUE = "from dealing.models import Venue; Venue.objects.create(code='BENCH', name='Benchmark')"
LIMIT = 20_000  # events a second into PostgreSQL


def main(events: int = 300_000, tables: int = 200, runs: int = 3, jobs: int | None = None) -> int:
    path = str(log_file(events, tables))
    options = ["--create-tables", *(() if jobs is None else ("--jobs", str(jobs)))]
    print(f"load {os.getloadavg()[0]:.1f}; {events:,} events of {tables} tables; {' '.join(options)}")
    print(f"{'import_log':<22}{'seconds':>9}{'cpu':>8}{'events/s':>10}   of each run")
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
            seconds, cpu = map(statistics.median, zip(*measured, strict=True))
            each = " ".join(f"{events / one:,.0f}" for one, _ in measured)
            print(f"{name + what:<22}{seconds:>9.1f}{cpu:>8.1f}{events / seconds:>10,.0f}   {each}", flush=True)
            kept &= name == "SQLite" or bool(what) or events / seconds >= LIMIT
    return 0 if kept else 1


def timed(
    environment: dict[str, str], path: str, options: list[str], start: tuple[float, float] = (0, 0)
) -> tuple[float, float]:
    """Seconds on the clock and of processor time that an import takes beyond `start`."""
    begin, cpu = time.perf_counter(), children_cpu()
    manage(environment, "import_log", path, *options)
    return time.perf_counter() - begin - start[0], children_cpu() - cpu - start[1]


def children_cpu() -> float:
    """Seconds of processor time of the commands run so far; the database's are not among them."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

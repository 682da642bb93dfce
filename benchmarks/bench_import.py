"""`manage.py import_log`: events a second into an empty database, and the same file again.

    python -m benchmarks.bench_import [EVENTS]        20,000 when left out

On SQLite, and on the server that DATABASE_URL names where that is PostgreSQL.
"""

from __future__ import annotations

import resource
import sys
import time

from benchmarks.logs import log_file
from benchmarks.site import databases, manage, scratch_database

VENUE = "from dealing.models import Venue; Venue.objects.create(code='BENCH', name='Benchmark')"


def main(events: int) -> int:
    path = str(log_file(events))
    print(f"{'import_log':<28}{'events':>10}{'seconds':>10}{'cpu':>8}{'events/s':>10}")
    for url in databases():
        with scratch_database(url) as environment:
            manage(environment, "shell", "-c", VENUE)
            for what in ("", ", again"):
                begin, cpu = time.perf_counter(), children_cpu()
                manage(environment, "import_log", path, "--create-tables")
                seconds, cpu = time.perf_counter() - begin, children_cpu() - cpu
                name = f"{'SQLite' if url == 'sqlite' else 'PostgreSQL'}{what}"
                print(f"{name:<28}{events:>10,}{seconds:>10.1f}{cpu:>8.1f}{events / seconds:>10,.0f}", flush=True)
    return 0


def children_cpu() -> float:
    """Seconds of processor time of the commands run so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))

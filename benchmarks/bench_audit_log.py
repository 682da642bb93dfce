"""`manage.py audit_log --json` on a big file: time, and memory that must not grow with the file.

    python -m benchmarks.bench_audit_log [EVENTS ...]      100,000 and 1,000,000 when left out

The command runs as it is run by hand, in a process of its own, its answer thrown away. The log of 1,000,000 events is
made once (it takes a minute) and kept under var/benchmarks/. The limit is held against the processor time, which is
what the command takes on a core of its own; the time on the clock is beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.logs import log_file

ROOT = Path(__file__).resolve().parent.parent
BIG = 1_000_000
LIMIT_SECONDS, LIMIT_MB = 60.0, 150.0
#: How much more memory ten times the events may take.
GROWTH_MB = 10.0


class Run(NamedTuple):
    """One run: seconds on the clock, seconds of processor, most memory held in MB."""

    seconds: float
    cpu: float
    peak: float


def audit(path: Path) -> Run:
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "audit_log", "--json", str(path)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 1 or said:  # 1: there are findings, as there should be
        raise SystemExit(f"audit_log ended with {process.returncode}: {said[-500:]}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main(sizes: list[int]) -> int:
    runs: dict[int, Run] = {}
    print(f"{'events':>10}  {'seconds':>8}  {'cpu':>8}  {'events/s':>9}  {'peak MB':>8}")
    for size in sizes:
        path = log_file(size)
        runs[size] = run = audit(path)
        print(f"{size:>10,}  {run.seconds:>8.1f}  {run.cpu:>8.1f}  {size / run.seconds:>9,.0f}  {run.peak:>8.1f}")
    too_much = []
    if BIG in runs:
        if runs[BIG].cpu > LIMIT_SECONDS:
            too_much.append(f"{runs[BIG].cpu:.1f} s is more than {LIMIT_SECONDS:.0f} s")
        if runs[BIG].peak > LIMIT_MB:
            too_much.append(f"{runs[BIG].peak:.1f} MB is more than {LIMIT_MB:.0f} MB")
    if len(runs) > 1 and (growth := runs[max(runs)].peak - runs[min(runs)].peak) > GROWTH_MB:
        too_much.append(f"memory grows with the file: {growth:.1f} MB more")
    for line in too_much:
        print(line)
    return bool(too_much)


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]] or [BIG // 10, BIG]))

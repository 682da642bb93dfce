"""`make bench`: all of them, one after the other; ends with 1 where a promise is not kept."""

import subprocess
import sys

JUDGE = ("pytest", "benchmarks/bench_judge.py", "--benchmark-only", "-s", "-q")
OTHERS = (
    *("bench_audit_log", "bench_import", "bench_http", "bench_floor"),
    *("bench_statistics", "bench_night", "bench_reports"),
)

#: Short of what is asked for `docs/benchmarks.md`, which takes ten minutes.
DEVICES = ("benchmarks.bench_devices", "--minutes", "1")

if __name__ == "__main__":
    failed = 0
    for arguments in (JUDGE, *((f"benchmarks.{name}",) for name in OTHERS), DEVICES):
        print(f"\n== {' '.join(arguments)}", flush=True)
        failed |= subprocess.run([sys.executable, "-m", *arguments], check=False).returncode
    sys.exit(failed != 0)

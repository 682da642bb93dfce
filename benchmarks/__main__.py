"""`make bench`: all of them, one after the other; ends with 1 where a promise is not kept."""

import subprocess
import sys

JUDGE = ("pytest", "benchmarks/bench_judge.py", "--benchmark-only", "-s", "-q")
OTHERS = (
    *("bench_audit_log", "bench_import", "bench_http", "bench_floor"),
    *("bench_statistics", "bench_night", "bench_reports"),
)

if __name__ == "__main__":
    failed = 0
    for arguments in (JUDGE, *((f"benchmarks.{name}",) for name in OTHERS)):
        print(f"\n== {' '.join(arguments)}", flush=True)
        failed |= subprocess.run([sys.executable, "-m", *arguments], check=False).returncode
    sys.exit(failed != 0)

"""The big log that benchmarks read: shoes of three tables in turn, with bets, pays and the usual mistakes.

python -m benchmarks.logs EVENTS        makes the file and prints its name
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from dealing.rules.events import format_event
from dealing.simulator import USUAL_RATES, simulate_shoe

START = dt.datetime(2026, 1, 1, 12, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))
TABLES = (("B01", "insurance"), ("B02", "standard"), ("B03", "commission"))
#: Kept between runs; belongs to nobody's data.
FOLDER = Path(__file__).resolve().parent.parent / "var" / "benchmarks"


def lines() -> Iterator[str]:
    """Lines of a log without end."""
    clocks = {table: START for table, _ in TABLES}
    positions = {table: 0 for table, _ in TABLES}
    chance = random.Random(1)
    shoe = 0
    while True:
        shoe += 1
        for table, ruleset in TABLES:
            events = simulate_shoe(
                table, shoe, ruleset, chance, clocks[table], USUAL_RATES, first_seq=positions[table] + 1
            )
            positions[table] += len(events)
            clocks[table] = events[-1].at + dt.timedelta(minutes=10)
            for event in events:
                yield format_event(event)


def log_file(events: int) -> Path:
    """A log of so many events; made when it is not there yet."""
    path = FOLDER / f"log-{events}.jsonl"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            for count, line in enumerate(lines(), 1):
                file.write(line + "\n")
                if count == events:
                    break
        part.rename(path)
    return path


if __name__ == "__main__":
    print(log_file(int(sys.argv[1])))

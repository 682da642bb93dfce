"""The big logs that benchmarks read: of three tables in turn, with bets, pays and the usual mistakes; and of a floor.

python -m benchmarks.logs EVENTS            makes the file of three tables and prints its name
python -m benchmarks.logs EVENTS TABLES     that of a floor: every table's events as they come in, in order of time
"""

from __future__ import annotations

import datetime as dt
import heapq
import itertools
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


#: On a floor a mistake is made in one hand of eighty.
FLOOR_RATES = {mistake: rate / 10 for mistake, rate in USUAL_RATES.items()}
#: One table of so many keeps its bets and pays in the log; the others record cards and calls.
WITH_BETS = 20


def floor_lines(tables: int, seed: int = 1) -> Iterator[str]:
    """Lines without end of a floor on which all tables are dealt at once."""
    started = heapq.merge(*(_table(number, random.Random(seed * 1000 + number)) for number in range(1, tables + 1)))
    return (line for _, _, line in started)


def _table(number: int, chance: random.Random) -> Iterator[tuple[dt.datetime, int, str]]:
    code, ruleset = f"F{number:03}", TABLES[number % 3][1]
    clock, position = START + dt.timedelta(seconds=chance.randrange(90)), 0
    for shoe in itertools.count(1):
        bets = number % WITH_BETS == 0
        events = simulate_shoe(
            code, shoe, ruleset, chance, clock, FLOOR_RATES, bets=bets, face_down=0.0, first_seq=position + 1
        )
        position += len(events)
        clock = events[-1].at + dt.timedelta(minutes=10)
        for event in events:
            yield event.at, number, format_event(event)


def log_file(events: int, tables: int | None = None) -> Path:
    """A log of so many events, of three tables or of a floor; made when it is not there yet."""
    path = FOLDER / (f"log-{events}.jsonl" if tables is None else f"floor-{tables}-{events}.jsonl")
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            for line in itertools.islice(lines() if tables is None else floor_lines(tables), events):
                file.write(line + "\n")
        part.rename(path)
    return path


if __name__ == "__main__":
    print(log_file(*map(int, sys.argv[1:])))

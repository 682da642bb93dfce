"""The statistics of a night: how often fair nights raise a flag, what is found on the first night, time and memory.

    python -m benchmarks.bench_statistics [NIGHTS]      1,000 when left out

Nights are dealt card by card by the judge's own layouts (`tests/game_nights.py`): 20 tables with 300 hands each, and
as many again with half the hands and with one great house. Ends with 1 where more fair nights are flagged than the
stated share, where something that must be found is found too seldom, or where a house of 200 tables takes too long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from dealing.night import TableNight
from incidents.reports.figures import Flag
from incidents.reports.statistics import SHARE, judge_game
from tests.game_nights import deal, fair_nights, shuffled

NIGHTS = 1_000
#: Of the nights with something wrong, this share must be found at once.
FOUND = 0.8
LIMIT_SECONDS, LIMIT_MB = 5.0, 200.0
TRIALS = 100

House = tuple[int, int]
SMALL: House = (20, 300)
LARGE: House = (200, 1_500)


def fair(arguments: tuple[int, int, House]) -> Counter[str]:
    """How many of so many fair nights are flagged, and by what."""
    seed, nights, (tables, hands) = arguments
    counts: Counter[str] = Counter()
    for night in fair_nights(
        np.random.default_rng(seed), nights, tables=tables, hands=hands, together=25_000 // hands // tables or 1
    ):
        flags = judge_game(night).flags
        counts["flagged"] += bool(flags)
        counts.update({f"{flag.test} {flag.subject}" for flag in flags})
    return counts


def count_fair(nights: int, house: House, workers: int) -> Counter[str]:
    part = -(-nights // (workers * 4))
    work = [(seed, min(part, nights - seed * part), house) for seed in range(-(-nights // part))]
    with ProcessPoolExecutor(workers) as pool:
        return sum(pool.map(fair, work), Counter())


def short(night: list[TableNight], rng: np.random.Generator, every: bool, missing: int = 8) -> None:
    table = night[3]
    for number, shoe in enumerate(deal(shuffled(rng, len(table.shoes), short_of={"9": missing})), 1):
        if every or number == 2:
            shoe.shoe = number
            table.shoes[number - 1] = shoe


def unpaid(night: list[TableNight]) -> None:
    paid = night[3].paid["banker"]
    paid.without_commission = paid.wrong = paid.won


def found(
    house: House,
    change: Callable[[list[TableNight], np.random.Generator], None],
    is_it: Callable[[Flag], bool],
    trials: int = TRIALS,
    mistakes: float = 0.02,
    careless: str = "",
) -> float:
    """The share of nights on which a flag names what is wrong."""
    rng = np.random.default_rng(20260711)
    hits = 0
    tables, hands = house
    for night in fair_nights(rng, trials, tables=tables, hands=hands, mistakes=mistakes, careless=careless, together=1):
        change(night, rng)
        hits += any(is_it(flag) for flag in judge_game(night).flags)
    return hits / trials


def nines(flag: Flag) -> bool:
    return flag.test == "ranks" and flag.table == "B004" and flag.detail["rank"] == "9"


def careless(flag: Flag) -> bool:
    return flag.test == "dealer" and flag.dealer == "D003"


def look(name: str, share: float, least: float | None) -> bool:
    kept = least is None or share >= least
    print(f"  {name:<66} {share:6.0%}{'' if kept else '   TOO SELDOM'}", flush=True)
    return kept


def find() -> bool:
    print("found on the first night:")
    one: Callable[[list[TableNight], np.random.Generator], None] = lambda night, rng: short(night, rng, every=False)  # noqa: E731
    kept = [
        look("one shoe of 80 short of eight 9s", found(SMALL, one, nines), FOUND),
        look("one shoe of 3,800 short of eight 9s (200 tables, 20 nights)", found(LARGE, one, nines, trials=20), FOUND),
        look("the shoes of a table short of eight 9s", found(SMALL, lambda n, r: short(n, r, True), nines), 1.0),
        look("the shoes of a table short of four 9s", found(SMALL, lambda n, r: short(n, r, True, 4), nines), None),
    ]
    for rate, least in ((0.02, None), (0.03, FOUND), (0.05, 1.0)):
        share = found(SMALL, lambda _n, _r: None, careless, mistakes=rate, careless="D003")
        name = f"a dealer (240 hands) with four times the mistakes, usual {rate:.0%} of hands"
        kept.append(look(name, share, least))
    is_unpaid = lambda flag: flag.test == "commission" and flag.table == "B004"  # noqa: E731
    kept.append(look("a table paying Banker without commission", found(SMALL, lambda n, _r: unpaid(n), is_unpaid), 1.0))
    return all(kept)


def measure() -> None:
    """One great night in this process; prints seconds and megabytes that judging it takes beside the night itself."""
    night = next(fair_nights(np.random.default_rng(1), 1, tables=LARGE[0], hands=LARGE[1], together=1))
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = memory("VmRSS")
    begin, cpu = time.perf_counter(), time.process_time()
    game = judge_game(night)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(f"{seconds:.2f} {cpu:.2f} {memory('VmHWM') - before:.0f} {game.tests} {game.shoes}")


def memory(which: str) -> float:
    """A line of Linux's figures of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) / 1024


def main(nights: int) -> int:
    workers = os.cpu_count() or 1
    kept = True
    for many, house in ((nights, SMALL), (nights, (20, 150)), (max(1, nights // 25), LARGE)):
        counts = count_fair(many, house, workers)
        flagged = counts.pop("flagged", 0)
        kept &= flagged <= SHARE * many
        print(f"{many} fair nights of {house[0]} tables, {house[1]} hands each: {flagged} flagged; stated {SHARE:.0%}")
        print(f"  {dict(counts.most_common())}", flush=True)
    kept &= find()
    out = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_statistics", "--measure"], check=True, capture_output=True, text=True
    )
    seconds, cpu, grown, tests, shoes = out.stdout.split()
    said = f"{seconds} s ({cpu} of processor), {grown} MB more; {tests} tests, {shoes} shoes"
    print(f"judging 200 tables x 1,500 hands: {said}")
    kept &= float(cpu) < LIMIT_SECONDS and float(grown) < LIMIT_MB
    return 0 if kept else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else NIGHTS))

"""How fast the judge is, against the least that any program must do for a hand.

The floor deals six values off a shuffled shoe, looks the third cards up in a table of its own and names the winner:
plain code, nothing recorded, checked or reported; about a million hands a second. The judge gets parsed events through
`TableFold` and answers each hand's audit. Both are timed in turns in one run, in processor time of this process, and
the least disturbed round of each counts: a busy machine slows single rounds and not the ratio.

    .venv/bin/pytest benchmarks/bench_judge.py --benchmark-only -s
"""

from __future__ import annotations

import datetime as dt
import random
import statistics
import time
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from dealing.rules.events import Event, format_event, parse_canonical, parse_line
from dealing.rules.judge import HandFold, TableFold, replay
from dealing.simulator import USUAL_RATES, Mistake, simulate_shoe

LIMIT = 8.0  # times the floor, a hand
ROUNDS = 25
START = dt.datetime(2026, 11, 28, 20, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))

#: Banker's total -> whether Banker draws, by the value of Player's third card.
BANKER_DRAWS = [[int(mark) for mark in row] for row in (
    "1111111111", "1111111111", "1111111111", "1111111101", "0011111100", "0000111100", "0000001100", "0000000000",
)]  # fmt: skip


def floor_hand(shoe: list[int]) -> str:
    """Deal six values and name the winner."""
    player, banker = [shoe.pop()], [shoe.pop()]
    player.append(shoe.pop())
    banker.append(shoe.pop())
    fifth, sixth = shoe.pop(), shoe.pop()
    player_total, banker_total = sum(player) % 10, sum(banker) % 10
    if player_total < 8 and banker_total < 8:
        if player_total < 6:
            player_total = (player_total + fifth) % 10
            if BANKER_DRAWS[banker_total][fifth]:
                banker_total = (banker_total + sixth) % 10
        elif banker_total < 6:
            banker_total = (banker_total + fifth) % 10
    return "player" if player_total > banker_total else "banker" if banker_total > player_total else "tie"


def floor(shoe: list[int]) -> int:
    """Decide hands until the shoe of values is nearly empty; returns how many."""
    winners = {"player": 0, "banker": 0, "tie": 0}
    while len(shoe) >= 6:
        winners[floor_hand(shoe)] += 1
    return sum(winners.values())


def floor_shoes(count: int) -> list[list[int]]:
    chance = random.Random(1)
    shoes = []
    for _ in range(count):
        shoe = [min(rank, 10) % 10 for rank in range(1, 14) for _ in range(32)]
        chance.shuffle(shoe)
        shoes.append(shoe)
    return shoes


def logs(count: int, ruleset: str, mistakes: dict[Mistake, float], *, bets: bool) -> list[list[tuple[int, Event]]]:
    """The logs of some shoes, events numbered from 1."""
    face_down = 0.0 if not bets else 0.2
    return [
        list(enumerate(simulate_shoe("B01", 1, ruleset, seed, START, mistakes, bets=bets, face_down=face_down), 1))
        for seed in range(count)
    ]


def judge(shoes: list[list[tuple[int, Event]]]) -> int:
    """Fold each shoe and ask the audit of every hand; returns how many hands."""
    hands = 0
    for events in shoes:
        for left in TableFold("B01").steps(events):
            left.audit()
            hands += isinstance(left, HandFold)
    return hands


def judge_live(shoes: list[list[tuple[int, Event]]]) -> int:
    """The same event by event, as live play does."""
    hands = 0
    for events in shoes:
        step = TableFold("B01").step
        for seq, event in events:
            for left in step(seq, event):
                left.audit()
                hands += isinstance(left, HandFold)
    return hands


def per_hand(work: Callable[[], int]) -> float:
    """Seconds of processor time a hand."""
    begin = time.process_time()
    hands = work()
    return (time.process_time() - begin) / hands


def test_clean_hands_against_the_floor(benchmark: BenchmarkFixture) -> None:
    """The promise: judging a clean hand takes at most 8 times the floor."""
    shoes = logs(12, "commission", {}, bets=False)
    judge(shoes)
    floors, judged = [], []

    def both() -> None:
        dealt = floor_shoes(40)
        floors.append(per_hand(lambda: sum(floor(shoe) for shoe in dealt)))
        judged.append(per_hand(lambda: judge(shoes)))

    benchmark.pedantic(both, rounds=ROUNDS, warmup_rounds=1)
    ratio = min(judged) / min(floors)
    median = statistics.median(hand / least for hand, least in zip(judged, floors, strict=True))
    benchmark.extra_info |= {
        "floor, hands a second": round(1 / min(floors)),
        "judged, hands a second": round(1 / min(judged)),
        "ratio": round(ratio, 2),
        "median ratio of the rounds": round(median, 2),
    }
    print(
        f"\nfloor {1 / min(floors):,.0f} hands/s, judged {1 / min(judged):,.0f} hands/s, ratio {ratio:.1f} "
        f"(best of {ROUNDS} rounds each; median of the rounds' ratios {median:.1f}; limit {LIMIT:.0f})"
    )
    assert ratio <= LIMIT


KINDS: dict[str, tuple[str, dict[Mistake, float], bool]] = {
    "clean": ("commission", {}, False),
    "clean, with bets and pays": ("commission", {}, True),
    "clean, with bets, pays and insurance": ("insurance", {}, True),
    "usual mistakes": ("commission", USUAL_RATES, True),
}


@pytest.mark.benchmark(timer=time.process_time, group="judging a shoe")
@pytest.mark.parametrize("kind", KINDS)
def test_judging_a_shoe(benchmark: BenchmarkFixture, kind: str) -> None:
    ruleset, mistakes, bets = KINDS[kind]
    shoes = logs(8, ruleset, mistakes, bets=bets)
    hands = benchmark.pedantic(lambda: judge_whole(shoes), rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, hands, "hands")


def judge_whole(shoes: list[list[tuple[int, Event]]]) -> int:
    """As `judge`, with amendments and late decisions."""
    hands = 0
    for events in shoes:
        for fold in replay("B01", events):
            fold.audit()
            hands += isinstance(fold, HandFold)
    return hands


@pytest.mark.benchmark(timer=time.process_time, group="judging a shoe")
def test_judging_a_clean_shoe_event_by_event(benchmark: BenchmarkFixture) -> None:
    shoes = logs(8, "commission", {}, bets=False)
    hands = benchmark.pedantic(lambda: judge_live(shoes), rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, hands, "hands")


@pytest.mark.benchmark(timer=time.process_time, group="a hand with a mistake")
@pytest.mark.parametrize(
    "mistake", [Mistake.FIFTH_CARD_MISPLACED, Mistake.EXPOSED_DURING_BETTING, Mistake.PAYOUT_WRONG]
)
def test_judging_a_mistake(benchmark: BenchmarkFixture, mistake: Mistake) -> None:
    shoes = [list(enumerate(simulate_shoe("B01", 1, "commission", 3, START, [mistake] * 60), 1))]
    hands = benchmark.pedantic(lambda: judge_whole(shoes), rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, hands, "hands")


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return [event for events in logs(6, "insurance", USUAL_RATES, bets=True) for _, event in events]


@pytest.mark.benchmark(timer=time.process_time, group="a line")
def test_reading_lines(benchmark: BenchmarkFixture, events: list[Event]) -> None:
    lines = [format_event(event).encode() for event in events]
    benchmark.pedantic(lambda: [parse_line(line) for line in lines], rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, len(lines), "lines")


@pytest.mark.benchmark(timer=time.process_time, group="a line")
def test_reading_lines_as_they_are_stored(benchmark: BenchmarkFixture, events: list[Event]) -> None:
    """With the proof that they are in the form in which lines are written."""
    lines = [format_event(event) for event in events]
    benchmark.pedantic(lambda: [parse_canonical(line) for line in lines], rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, len(lines), "lines")


@pytest.mark.benchmark(timer=time.process_time, group="a line")
def test_writing_lines(benchmark: BenchmarkFixture, events: list[Event]) -> None:
    benchmark.pedantic(lambda: [format_event(event) for event in events], rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, len(events), "lines")


def note_rate(benchmark: BenchmarkFixture, count: int, what: str) -> None:
    seconds = benchmark.stats.stats.min
    benchmark.extra_info[f"{what} a second"] = round(count / seconds)
    print(f"\n{benchmark.name}: {count / seconds:,.0f} {what}/s ({seconds / count * 1e6:.1f} us each)")

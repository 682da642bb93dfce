"""Whatever a file holds, an import ends with a report, a whole chain, and projections that are what the log says."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dealing.importer import import_log
from dealing.log import record
from dealing.logfile import LogFile
from dealing.models import Hand, Table, TableEvent, Venue
from dealing.projections import differences
from dealing.rules.events import EventError, parse_line
from dealing.rules.judge import HandFold
from dealing.verify import verify_table
from tests.table_logs import simulated, written

RULESETS = ("insurance", "standard", "commission")


def broken(text: str, chance: random.Random) -> str:
    """The lines, some of them lost, doubled, swapped, garbled, or of another hand."""
    lines = text.splitlines()
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                del lines[at : at + chance.randint(1, 3)]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = lines[at][: chance.randrange(len(lines[at]))]
            case 4:
                lines[at] = lines[at].replace('"hand": ', '"hand": 1', 1)
            case 5:
                lines[at] = lines[at].replace(chance.choice("123PB9"), chance.choice("123PB9"))
        if not lines:
            break
    return "\n".join(lines)


def store(text: str) -> tuple[int, int, int, int]:
    report = import_log(io.BytesIO(text.encode()), actor="import")
    return report.stored, report.skipped, report.refused, report.events


@contextmanager
def empty_table() -> Iterator[None]:
    """A table whose log is empty, for one example; gone after it."""
    with transaction.atomic():
        house = Venue.objects.create(code="RIVER", name="River House")
        Table.objects.create(code="B07", venue=house, ruleset="insurance")
        yield
        transaction.set_rollback(True)


def assert_sound() -> None:
    assert verify_table("B07").broken is None
    assert list(differences(Table.objects.get())) == []


def some_log(seed: int, shoes: int, hands: int) -> str:
    events = simulated(seed=seed % 997, ruleset=RULESETS[seed % 3], shoes=shoes, hands=hands)
    return broken(written(events), random.Random(seed))


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), cut=st.sampled_from([0, 0, 0.2, 0.5, 0.9]))
def test_any_file(db: None, seed: int, cut: float) -> None:
    text = some_log(seed, shoes=2, hands=4)
    lines = text.splitlines(True)
    with empty_table():
        store("".join(lines[: int(len(lines) * cut)]))
        assert_sound()
        store(text)
        assert_sound()
        with LogFile(io.BytesIO(text.encode())) as file:
            hands = [fold for fold in file.folds() if isinstance(fold, HandFold) and fold.spoiled]
        if cut == 0:
            unreadable = {(hand.context.shoe, hand.number) for hand in hands if hand.context.table == "B07"}
            assert not unreadable & set(Hand.objects.values_list("shoe__number", "number"))
        assert store(text)[3] == 0


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6))
def test_any_events(db: None, seed: int) -> None:
    taken = 0
    with empty_table():
        for line in some_log(seed, shoes=1, hands=3).splitlines():
            try:
                record(parse_line(line), actor="fuzz")
            except EventError:
                continue
            taken += 1
        assert TableEvent.objects.count() == taken
        assert_sound()


def test_the_fuzz_breaks_something(db: None) -> None:
    """Or the tests above would prove little."""
    text = written(simulated(seed=1, shoes=1, hands=3))
    refused = 0
    for seed in range(6):
        with empty_table():
            refused += store(broken(text, random.Random(seed)))[2] > 0
    assert refused >= 3

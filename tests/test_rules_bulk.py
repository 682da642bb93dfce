"""Judging in bulk is judging event by event: whole clean hands that are looked up come to what their events come to."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from dealing.rules import hand as hand_module
from dealing.rules.events import BurnCard, CardDealt, Event, EventError
from dealing.rules.judge import EventRefused, HandFold, ShoeFold, TableFold
from dealing.simulator import Mistake, simulate_shoe
from tests.rules_logs import log

START = dt.datetime(2026, 11, 28, 20, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))
Numbered = tuple[int, Event]


def state(table: TableFold) -> Any:
    """Everything that the next event depends on."""
    shoe, hand = table.shoe, table.hand
    return (
        shoe and shoe.to_json(),
        hand and (hand.context.to_json(), hand.counts, hand.open, list(hand.asked_from), hand.trail),
        hand is None or shoe is None or hand.counts is shoe.counts,
    )


def told(fold: HandFold | ShoeFold) -> Any:
    """What is to be known of something that the table has left."""
    if isinstance(fold, ShoeFold):
        return (fold.audit().as_dict(), fold.to_json())
    audit = fold.audit()
    return (audit, fold.context.to_json(), fold.context.left, fold.counts, fold.trail, fold.open, fold.misplaced())


def one_by_one(table: TableFold, events: Iterable[Numbered]) -> tuple[list[Any], Any]:
    left: list[HandFold | ShoeFold] = []
    error = None
    for seq, event in events:
        try:
            left += table.step(seq, event)
        except EventError as refused:
            error = (seq, type(refused), str(refused))
            break
    return [told(fold) for fold in left], error


def in_bulk(table: TableFold, events: Iterable[Numbered]) -> tuple[list[Any], Any]:
    left: list[HandFold | ShoeFold] = []
    error = None
    try:
        for fold in table.steps(events):
            left.append(fold)
    except EventError as refused:
        error = (refused.at_seq, type(refused), str(refused))
    return [told(fold) for fold in left], error


def assert_same(events: list[Numbered]) -> None:
    in_full = TableFold("B07", memo=False)
    wanted = one_by_one(in_full, events)
    for take in (one_by_one, in_bulk, in_bulk):  # the second time all of it is known
        table = TableFold("B07")
        assert take(table, events) == wanted
        assert state(table) == state(in_full)


@cache
def shoes(seed: int, rate: float, *, bets: bool, ranks: bool = False) -> list[Numbered]:
    """Two shoes, one after the other; `rate`: how often each mistake is made, a hand."""
    mistakes = dict.fromkeys(Mistake, rate) if rate else {}
    events: list[Event] = []
    for shoe in (1, 2):
        at = events[-1].at if events else START
        ruleset = ("commission", "insurance", "standard", "macau", "venezia")[seed % 5]
        events += simulate_shoe(
            "B07", shoe, ruleset, seed, at, mistakes, bets=bets, face_down=0.0, first_seq=len(events) + 1
        )
    if ranks:
        events = [
            structs.replace(event, card=event.card.bare)
            if isinstance(event, CardDealt | BurnCard) and event.card
            else event
            for event in events
        ]
    return list(enumerate(events, 1))


@pytest.mark.parametrize("bets", [False, True])
@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_shoes_dealt_right(seed: int, bets: bool, ranks: bool) -> None:
    assert_same(shoes(seed, 0, bets=bets, ranks=ranks))


@pytest.mark.parametrize("seed", range(6))
def test_shoes_with_mistakes(seed: int) -> None:
    assert_same([one for one in shoes(seed, 0.002, bets=seed % 2 == 0) if one[1].name != "amended"])


def test_a_clean_shoe_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one of its hands is folded in full, or this test would say nothing."""
    events = shoes(0, 0, bets=False)
    list(TableFold("B07").steps(events))
    full: list[object] = []
    monkeypatch.setattr(hand_module._HandState, "step", lambda *_: full.append(_))
    monkeypatch.setattr(HandFold, "step", lambda *_: full.append(_))
    clean = [one for one in events if one[1].name != "cut_card"]
    left = [fold for fold in TableFold("B07").steps(clean) if isinstance(fold, HandFold)]
    assert len(left) > 100
    assert full == []


CLEAN = "open close P1:9h B1:4s P2:Ks B2:3d call:player:9-7 end"


@pytest.mark.parametrize(
    "text",
    [
        f"{CLEAN} hand:2 {CLEAN} hand:2 {CLEAN}",
        f"{CLEAN} hand:3 {CLEAN} hand:2 {CLEAN}",
        f"{CLEAN} |cut hand:2 {CLEAN}",
        f"{CLEAN} hand:2 cut {CLEAN} hand:3 {CLEAN}",
        f"{CLEAN} hand:2 {CLEAN} cut hand:3 {CLEAN}",
        f"{CLEAN} end hand:2 {CLEAN}",
        f"{CLEAN} hand:2 open close hand:3 {CLEAN}",
        f"{CLEAN} hand:2 {CLEAN} late:1 void:hand",
        f"{CLEAN} shoe:1 shoe-end:finished hand:2 {CLEAN}",
        f"{CLEAN} shoe:2 shoe-open:standard hand:1 {CLEAN}",
        f"{CLEAN} shoe:2 hand:1 {CLEAN}",
        f"hand:2 {CLEAN} shoe:2 shoe-open:standard burn:5h burned:5 hand:1 {CLEAN}",
        f"{CLEAN} hand:2 {CLEAN.replace('player', 'banker')} hand:3 {CLEAN}",
        f"{CLEAN} hand:2 call:player {CLEAN}",
        " ".join(f"hand:{number} {CLEAN}" for number in range(1, 12)),  # nine of each card
        " ".join(f"hand:{number} open close P1:9 B1:4 P2:K B2:3 call:player end" for number in range(1, 40)),
    ],
)
def test_hands_in_a_row(text: str) -> None:
    assert_same(log(text)[0])


def test_without_a_shoe_or_a_burn() -> None:
    assert_same(log(f"hand:1 {CLEAN}", prelude=False)[0])
    assert_same(log(f"shoe-open:standard hand:1 {CLEAN} hand:2 {CLEAN}", prelude=False)[0])
    assert_same([])


@given(st.integers(0, 10**6), st.integers(0, 4), st.booleans())
def test_a_log_in_which_something_is_wrong(seed: int, wrongs: int, ranks: bool) -> None:
    """Lines of another hand or shoe, lost, doubled or swapped, and a shoe of fewer decks."""
    chance = random.Random(seed)
    events = [event for _, event in shoes(seed % 5, 0, bets=False, ranks=ranks)[: chance.randrange(300)]]
    for _ in range(wrongs if events else 0):
        at = chance.randrange(len(events))
        match chance.randrange(6):
            case 0 if (hand := events[at].hand) is not None:
                events[at] = structs.replace(events[at], hand=max(1, hand + chance.choice((-1, 1))))
            case 1:
                events[at] = structs.replace(events[at], shoe=3 - events[at].shoe)
            case 2:
                events.insert(at, events[at])
            case 3 if len(events) > 1:
                del events[at]
            case 4:
                other = chance.randrange(len(events))
                events[at], events[other] = events[other], events[at]
            case 5:
                events[0] = structs.replace(events[0], decks=1) if hasattr(events[0], "decks") else events[0]
    assert_same(list(enumerate(events, 1)))


def test_what_was_yielded_stays_as_it_was() -> None:
    """The fold runs ahead of what it yields; what was yielded is not changed by that."""
    events = shoes(4, 0, bets=False)
    told_at_once = [told(fold) for fold in TableFold("B07").steps(events)]
    assert told_at_once == in_bulk(TableFold("B07"), events)[0]


def test_the_error_comes_after_what_was_left_before_it() -> None:
    events = log(f"{CLEAN} hand:2 {CLEAN} hand:1 open")[0]
    left = TableFold("B07").steps(events)
    first = next(left)
    assert isinstance(first, HandFold)
    assert first.number == 1
    with pytest.raises(EventRefused) as caught:
        next(left)
    assert caught.value.at_seq == len(events)

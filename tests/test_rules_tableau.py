"""The drawing rules: against a second reading of the rule book, and against the known counts for eight decks."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import perm

import pytest

from dealing.rules.tableau import EMPTY, Layout, lay

# A second reading of rulebook section 2, card by card as a croupier's wall chart prints it: a row is Banker's two-card
# total, a column the points of Player's third card; D draws, S stands.
CHART = """
    0 1 2 3 4 5 6 7 8 9
0   D D D D D D D D D D
1   D D D D D D D D D D
2   D D D D D D D D D D
3   D D D D D D D D S D
4   S S D D D D D D S S
5   S S S S D D D D S S
6   S S S S S S D D S S
7   S S S S S S S S S S
"""
ROWS = [line.split() for line in CHART.strip().splitlines()[1:]]
DRAWS = {(int(row[0]), third) for row in ROWS for third, mark in enumerate(row[1:]) if mark == "D"}


def due_after_four(player: int, banker: int) -> str | None:
    if player >= 8 or banker >= 8:
        return None
    if player <= 5:
        return "P3"
    return "B3" if banker <= 5 else None


def opening(player: int, banker: int) -> list[list[int]]:
    """Every four opening cards (in the order drawn) that give these totals."""
    return [[p1, b1, (player - p1) % 10, (banker - b1) % 10] for p1, b1 in product(range(10), repeat=2)]


TOTALS = list(product(range(10), repeat=2))


@pytest.mark.parametrize(("player", "banker"), TOTALS)
def test_after_four_cards(player: int, banker: int) -> None:
    for values in opening(player, banker):
        layout, places = lay(values)
        assert places == ("P1", "B1", "P2", "B2")
        assert (layout.player, layout.banker) == (player, banker)
        assert layout.due == due_after_four(player, banker)
        assert layout.natural == (player >= 8 or banker >= 8)
        assert layout.complete == (layout.due is None)


@pytest.mark.parametrize(("player", "banker"), TOTALS)
def test_after_five_and_six_cards(player: int, banker: int) -> None:
    fifth_goes_to = due_after_four(player, banker)
    for fifth in range(10):
        layout, places = lay([*opening(player, banker)[0], fifth])
        assert places[4] == fifth_goes_to
        if fifth_goes_to == "P3":
            assert (layout.player, layout.banker, layout.third) == ((player + fifth) % 10, banker, fifth)
            assert layout.due == ("B3" if (banker, fifth) in DRAWS else None)
        elif fifth_goes_to == "B3":
            assert (layout.player, layout.banker, layout.third) == (player, (banker + fifth) % 10, None)
            assert layout.due is None
        else:
            assert (layout.player, layout.banker, layout.drawn) == (player, banker, 4)
        for sixth in range(10):
            after, after_places = lay([*opening(player, banker)[0], fifth, sixth])
            assert after_places[5] == layout.due
            assert after.due is None
            if layout.due == "B3":
                assert (after.player, after.banker) == (layout.player, (banker + sixth) % 10)
            else:
                assert after is layout


def test_who_wins() -> None:
    for player, banker in TOTALS:
        layout, _ = lay(opening(player, banker)[0])
        assert layout.winner == ("player" if player > banker else "banker" if banker > player else "tie")


def test_each_decision_names_its_rule() -> None:
    assert EMPTY.rule == "DEAL-1"
    assert lay([8, 0, 0, 3])[0].rule == "DEAL-4"
    assert lay([2, 0, 0, 3])[0].rule == "DRAW-P"
    assert lay([6, 0, 0, 3])[0].rule == "DRAW-B0"
    assert lay([2, 0, 0, 3, 8])[0].rule == "DRAW-B"
    assert lay([6, 0, 0, 3, 8])[0].rule == "DRAW-N"
    assert lay([2, 0, 0, 3, 7, 1])[0].rule == "DRAW-N"


def test_layouts_are_shared_and_few() -> None:
    seen: set[int] = set()
    waiting: list[Layout] = [EMPTY]
    while waiting:
        layout = waiting.pop()
        if id(layout) not in seen:
            seen.add(id(layout))
            assert len(layout.after) == (10 if layout.due else 0)
            waiting.extend(layout.after)
    assert len(seen) < 5000
    assert lay([1, 2, 3, 4])[0] is lay([3, 4, 1, 2])[0]


# --- Exact counts -----------------------------------------------------------------------------------------------------

SHOE = [128] + [32] * 9  # cards of each value in eight decks
SIX_CARD_ORDERINGS = 4_998_398_275_503_360


def orderings(drawn: int, values: tuple[int, ...] = (), ways: int = 1) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every ordering of ``drawn`` card values with the number of ways to draw it from eight decks."""
    for value in range(10):
        ways_now = ways * (SHOE[value] - values.count(value))
        if len(values) + 1 == drawn:
            yield (*values, value), ways_now
        else:
            yield from orderings(drawn, (*values, value), ways_now)


def test_exhaustive_count_of_eight_decks() -> None:
    counts: Counter[str] = Counter()
    for values, ways in orderings(6):
        counts[lay(values)[0].winner] += ways
    assert counts == {
        "banker": 2_292_252_566_437_888,
        "player": 2_230_518_282_592_256,
        "tie": 475_627_426_473_216,
    }
    assert counts.total() == SIX_CARD_ORDERINGS == perm(416, 6)


def test_exhaustive_count_agrees_with_the_second_reading() -> None:
    """The chart above alone, without the engine, gives the same counts: two readings, one answer."""
    counts: Counter[str] = Counter()

    def left(value: int, gone: tuple[int, ...]) -> int:
        return SHOE[value] - gone.count(value)

    for gone, ways in orderings(4):
        p1, b1, p2, b2 = gone
        player, banker = (p1 + p2) % 10, (b1 + b2) % 10
        due = due_after_four(player, banker)
        if due is None:
            counts[compare(player, banker)] += ways * perm(412, 2)
            continue
        for fifth in range(10):
            through = ways * left(fifth, gone)
            if due == "B3":
                counts[compare(player, (banker + fifth) % 10)] += through * 411
            elif (banker, fifth) not in DRAWS:
                counts[compare((player + fifth) % 10, banker)] += through * 411
            else:
                for sixth in range(10):
                    winner = compare((player + fifth) % 10, (banker + sixth) % 10)
                    counts[winner] += through * left(sixth, (*gone, fifth))
    assert counts == {
        "banker": 2_292_252_566_437_888,
        "player": 2_230_518_282_592_256,
        "tie": 475_627_426_473_216,
    }


def compare(player: int, banker: int) -> str:
    return "player" if player > banker else "banker" if banker > player else "tie"

"""The probabilities of a hand: exact, and of the judge's own layouts."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import perm

import pytest

from dealing.rules.tableau import lay
from incidents.reports.chance import DECKS, NAMES, chances, exact, orderings


def test_eight_decks_are_the_known_counts() -> None:
    counts = orderings(8)
    assert counts["banker"] == 2_292_252_566_437_888
    assert counts["player"] == 2_230_518_282_592_256
    assert counts["tie"] == 475_627_426_473_216
    assert sum(counts[name] for name in ("four_cards", "five_cards", "six_cards")) == perm(416, 6)


def test_one_deck_is_what_counting_every_ordering_gives() -> None:
    """Slowly and plainly: every four values, then every fifth and sixth, laid by the rules."""
    shoe = [16] + [4] * 9
    counts: Counter[str] = Counter()
    for values in product(range(10), repeat=4):
        ways = 1
        for at, value in enumerate(values):
            ways *= shoe[value] - values[:at].count(value)
        if not ways:
            continue
        layout = lay(values)[0]
        if layout.due is None:
            _count(counts, values, ways * perm(48, 2))
            continue
        for fifth in range(10):
            more = ways * (shoe[fifth] - values.count(fifth))
            five = (*values, fifth)
            if lay(five)[0].due is None:
                _count(counts, five, more * 47)
                continue
            for sixth in range(10):
                _count(counts, (*five, sixth), more * (shoe[sixth] - five.count(sixth)))
    assert counts == orderings(1)


def _count(counts: Counter[str], values: tuple[int, ...], ways: int) -> None:
    layout = lay(values)[0]
    for name in (layout.winner, {4: "four_cards", 5: "five_cards", 6: "six_cards"}[len(values)]):
        counts[name] += ways
    if layout.natural:
        counts["natural"] += ways


@pytest.mark.parametrize("decks", [1, 6, 8, 12])
def test_the_probabilities_add_up(decks: int) -> None:
    known = exact(decks)
    assert known["banker"] + known["player"] + known["tie"] == 1
    assert known["four_cards"] + known["five_cards"] + known["six_cards"] == 1
    assert known["player_pair"] == known["banker_pair"] == Fraction(4 * decks - 1, 52 * decks - 1)
    assert tuple(sorted(known)) == tuple(sorted(NAMES))
    assert chances(decks)["tie"] == float(known["tie"])


@pytest.mark.parametrize("decks", [0, -1, DECKS[-1] + 1])
def test_other_decks_are_refused(decks: int) -> None:
    with pytest.raises(ValueError, match="decks"):
        chances(decks)

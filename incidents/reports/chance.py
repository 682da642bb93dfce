"""What a fair shoe gives: exact probabilities of a hand, counted with the judge's own layouts. Pure.

The count walks `dealing.rules.tableau` card by card and keeps apart only what matters: the layout reached, and which
values have left the shoe. Every hand in the middle of a fair shoe has the probabilities of the first one, for nobody
knows the cards before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import perm
from types import MappingProxyType
from typing import Final

from dealing.rules.cards import RANKS, SUITS, VALUES
from dealing.rules.tableau import EMPTY, Layout

#: Shoes of so many decks can be asked for.
DECKS: Final = range(1, 13)

#: What is counted, in the order of a report.
NAMES: Final = (
    "banker",
    "player",
    "tie",
    "natural",
    "player_pair",
    "banker_pair",
    "four_cards",
    "five_cards",
    "six_cards",
)

_CARDS: Final = {4: "four_cards", 5: "five_cards", 6: "six_cards"}
_MOST: Final = 6


@cache
def orderings(decks: int) -> Mapping[str, int]:
    """How many of the orderings of six cards, of `decks` decks, give each winner, a natural, and four, five or six
    cards.

    Raises `ValueError` for decks outside `DECKS`.

    >>> orderings(8)["tie"]
    475627426473216
    """
    if decks not in DECKS:
        raise ValueError(f"decks: {decks} is not between {DECKS[0]} and {DECKS[-1]}")
    suits = len(SUITS)
    shoe = [0] * 10
    for rank in RANKS:
        shoe[VALUES[rank]] += suits * decks
    total = sum(shoe)
    counts: dict[str, int] = defaultdict(int)
    at: dict[tuple[Layout, tuple[int, ...]], int] = {(EMPTY, ()): 1}
    while at:
        following: dict[tuple[Layout, tuple[int, ...]], int] = defaultdict(int)
        for (layout, gone), ways in at.items():
            if layout.due is None:  # whatever lies behind the hand may come in any order
                ways *= perm(total - layout.drawn, _MOST - layout.drawn)
                counts[layout.winner] += ways
                counts[_CARDS[layout.drawn]] += ways
                if layout.natural:
                    counts["natural"] += ways
                continue
            for value, after in enumerate(layout.after):
                left = shoe[value] - gone.count(value)
                if left:
                    following[after, tuple(sorted((*gone, value)))] += ways * left
        at = following
    return MappingProxyType(dict(counts))


@cache
def exact(decks: int) -> Mapping[str, Fraction]:
    """The probability of each of `NAMES` in a hand from a fair shoe of `decks` decks, as an exact fraction.

    A pair is two first cards of one rank. Raises `ValueError` for decks outside `DECKS`.

    >>> exact(8)["player_pair"]
    Fraction(31, 415)
    """
    counts = orderings(decks)
    cards = len(RANKS) * len(SUITS) * decks
    pair = Fraction(len(SUITS) * decks - 1, cards - 1)
    out = {name: Fraction(counts[name], perm(cards, _MOST)) for name in NAMES if name in counts}
    return MappingProxyType(out | {"player_pair": pair, "banker_pair": pair})


@cache
def chances(decks: int) -> Mapping[str, float]:
    """`exact`, as floats."""
    return MappingProxyType({name: float(chance) for name, chance in exact(decks).items()})

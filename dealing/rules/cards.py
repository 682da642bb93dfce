"""Cards: notation, points and the 416 cards of a shoe (rulebook DEAL-1, DEAL-2).

A :class:`Card` is one of 65 shared objects: the 52 of a deck, and one for each rank whose suit was not recorded.
Compare them with ``is`` or ``==``, use them as keys, index arrays with ``card.index``. Nothing here depends on Django.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

RANKS: Final = "A23456789TJQK"
SUITS: Final = "shdc"

#: Points of each rank (DEAL-2).
VALUES: Final[dict[str, int]] = {rank: (i + 1 if i < 9 else 0) for i, rank in enumerate(RANKS)}

#: How many further cards are burned when this rank opens the shoe (SHOE-burn).
BURN_COUNTS: Final[dict[str, int]] = {rank: min(i + 1, 10) for i, rank in enumerate(RANKS)}

_SUITED: Final = len(RANKS) * len(SUITS)


class Card:
    """A card as it was recorded. Get one with ``Card.parse("9h")``; there is never a second object for the same card.

    ``rank`` is a letter of :data:`RANKS`, ``suit`` one of :data:`SUITS` or empty where only the rank was recorded,
    ``value`` its points 0–9 (DEAL-2), ``index`` its number: 0–51 (rank-major), by rank only 52–64. ``rank_index`` is
    the number of the card of the same rank that has no suit.
    """

    __slots__ = ("index", "rank", "rank_index", "suit", "text", "value")

    index: int
    rank: str
    rank_index: int
    suit: str
    text: str
    value: int

    def __init__(self, rank: str, suit: str) -> None:
        self.rank = rank
        self.suit = suit
        self.text = rank + suit
        self.value = VALUES[rank]
        self.rank_index = _SUITED + RANKS.index(rank)
        self.index = RANKS.index(rank) * len(SUITS) + SUITS.index(suit) if suit else self.rank_index

    @staticmethod
    def parse(text: str) -> Card:
        """Read ``9h``, ``Td``, ``10d``, ``KS``; a rank alone, ``9`` or ``10``, is a card whose suit was not recorded.

        Raises ``ValueError`` for anything else.

        >>> Card.parse("10d"), Card.parse("10")
        (Card('Td'), Card('T'))
        """
        card = _BY_TEXT.get(text)
        if card is None:
            raise ValueError(f"{text!r} is not a card")
        return card

    @property
    def bare(self) -> Card:
        """The card of this rank without its suit."""
        return ALL_CARDS[self.rank_index]

    def merged(self, again: Card) -> Card | None:
        """The same card recorded again: the better known of the two; None where they cannot be one card."""
        if again is self or (self.rank == again.rank and not again.suit):
            return self
        return again if self.rank == again.rank and not self.suit else None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Card({self.text!r})"

    def __copy__(self) -> Card:
        return self

    def __deepcopy__(self, memo: object) -> Card:
        return self

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Card.parse, (self.text,))


#: The 52 cards of a deck, by index.
CARDS: Final[tuple[Card, ...]] = tuple(Card(rank, suit) for rank in RANKS for suit in SUITS)
#: The 13 cards recorded by rank only.
RANK_CARDS: Final[tuple[Card, ...]] = tuple(Card(rank, "") for rank in RANKS)
#: Every card that a log can name, by index.
ALL_CARDS: Final[tuple[Card, ...]] = CARDS + RANK_CARDS
_TEXTS: Final = tuple(card.text for card in ALL_CARDS)

_NO_RANKS: Final = [0] * len(RANK_CARDS)


def _spellings(card: Card) -> set[str]:
    ranks = ["T", "10"] if card.rank == "T" else [card.rank]
    return {r + s for rank in ranks for r in (rank.upper(), rank.lower()) for s in (card.suit, card.suit.upper())}


_BY_TEXT: Final[dict[str, Card]] = {spelling: card for card in ALL_CARDS for spelling in _spellings(card)}


# --- how often each card was seen in a shoe --------------------------------------------------------------------------


def no_counts() -> list[int]:
    """Counts by card index for a new shoe."""
    return [0] * len(ALL_CARDS)


def counts_to_json(counts: Sequence[int]) -> dict[str, int]:
    """Counts by card index -> counts by card text, of the cards that were seen."""
    return {text: n for text, n in zip(_TEXTS, counts, strict=False) if n}


def counts_from_json(data: Mapping[str, int]) -> list[int]:
    """Counts by card text -> counts by card index."""
    counts = no_counts()
    for text, count in data.items():
        counts[Card.parse(text).index] = count
    return counts


def is_spent(card: Card, counts: Sequence[int], decks: int) -> bool:
    """Whether one more of a card cannot come: of its rank and suit, or of its rank, as many were seen as there are.

    Cards recorded by rank only may be of any suit. A card of which more were seen than there are takes no room from
    these: it was found impossible itself.
    """
    index, rank_index = card.index, card.rank_index
    bare = counts[rank_index]
    if index != rank_index and (counts[index] >= decks or not bare):
        return counts[index] >= decks
    first = (rank_index - _SUITED) * 4
    suited, room = counts[first : first + 4], 4 * decks - bare
    return sum(suited) >= room and sum(min(count, decks) for count in suited) >= room


def ask_from(counts: Sequence[int], decks: int) -> Sequence[int]:
    """Counts by card index below which a card cannot be spent: :func:`is_spent` has to be asked from there on only.

    Once a card was recorded by its rank only, every card depends on the others of its rank: it is :data:`ASK_FOR_ALL`.
    """
    return _ask_from(decks) if counts[_SUITED:] == _NO_RANKS else ASK_FOR_ALL


ASK_FOR_ALL: Final[Sequence[int]] = no_counts()


@cache
def _ask_from(decks: int) -> Sequence[int]:
    return [decks] * _SUITED + [0] * len(RANK_CARDS)

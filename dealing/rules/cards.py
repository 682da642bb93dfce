"""Cards: notation, points and the 416 cards of a shoe (rulebook DEAL-1, DEAL-2).

A :class:`Card` is one of 52 shared objects: compare them with ``is`` or ``==``, use them as keys, index arrays with
``card.index``. Nothing here depends on Django.
"""

from __future__ import annotations

from typing import Final

RANKS: Final = "A23456789TJQK"
SUITS: Final = "shdc"

#: Points of each rank (DEAL-2).
VALUES: Final[dict[str, int]] = {rank: (i + 1 if i < 9 else 0) for i, rank in enumerate(RANKS)}

#: How many further cards are burned when this rank opens the shoe (SHOE-burn).
BURN_COUNTS: Final[dict[str, int]] = {rank: min(i + 1, 10) for i, rank in enumerate(RANKS)}


class Card:
    """One of the 52 cards. Get one with ``Card.parse("9h")``; there is never a second object for the same card.

    ``rank`` is a letter of :data:`RANKS`, ``suit`` one of :data:`SUITS`, ``value`` its points 0–9 (DEAL-2) and
    ``index`` its number 0–51 (rank-major).
    """

    __slots__ = ("index", "rank", "suit", "text", "value")

    index: int
    rank: str
    suit: str
    text: str
    value: int

    def __init__(self, rank: str, suit: str) -> None:
        self.rank = rank
        self.suit = suit
        self.text = rank + suit
        self.value = VALUES[rank]
        self.index = RANKS.index(rank) * 4 + SUITS.index(suit)

    @staticmethod
    def parse(text: str) -> Card:
        """Read ``9h``, ``Td``, ``10d``, ``KS``.

        Raises ``ValueError`` for anything else.

        >>> Card.parse("10d")
        Card('Td')
        """
        card = _BY_TEXT.get(text)
        if card is None:
            raise ValueError(f"{text!r} is not a card")
        return card

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


#: All 52 cards by index.
CARDS: Final[tuple[Card, ...]] = tuple(Card(rank, suit) for rank in RANKS for suit in SUITS)


def _spellings(card: Card) -> set[str]:
    ranks = ["T", "10"] if card.rank == "T" else [card.rank]
    return {r + s for rank in ranks for r in (rank.upper(), rank.lower()) for s in (card.suit, card.suit.upper())}


_BY_TEXT: Final[dict[str, Card]] = {spelling: card for card in CARDS for spelling in _spellings(card)}

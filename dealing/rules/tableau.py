"""The drawing rules as a table, and the one function that lays cards where they put them.

``lay(values)`` takes the points of the cards *in the order drawn* and says where each belongs, the totals, and which
place is due next. Live play, correction and checking all use it. A hand has few distinguishable situations (about two
thousand), so a :class:`Layout` is one of a fixed set of shared objects, and dealing one more card is a table look-up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

Place = Literal["P1", "P2", "P3", "B1", "B2", "B3"]
Winner = Literal["player", "banker", "tie"]

PLACES: Final[tuple[Place, ...]] = ("P1", "P2", "P3", "B1", "B2", "B3")

#: Places of the first four cards, in order (DEAL-1).
OPENING: Final[tuple[Place, ...]] = ("P1", "B1", "P2", "B2")

#: DRAW-P: what Player does on each two-card total.
PLAYER_DRAWS: Final = frozenset({0, 1, 2, 3, 4, 5})
#: DEAL-4: a two-card total that ends the drawing at once.
NATURALS: Final = frozenset({8, 9})
#: DRAW-B0: Player stood; Banker draws on these two-card totals.
BANKER_DRAWS_IF_PLAYER_STOOD: Final = frozenset({0, 1, 2, 3, 4, 5})
#: DRAW-B: Player drew; Banker's two-card total -> points of Player's third card on which Banker draws.
BANKER_DRAWS: Final[dict[int, frozenset[int]]] = {
    0: frozenset({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
    1: frozenset({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
    2: frozenset({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
    3: frozenset({0, 1, 2, 3, 4, 5, 6, 7, 9}),
    4: frozenset({2, 3, 4, 5, 6, 7}),
    5: frozenset({4, 5, 6, 7}),
    6: frozenset({6, 7}),
    7: frozenset(),
}


class Layout:
    """A hand of 0–6 cards laid by the rules; shared and never changed.

    ``drawn`` is the number of cards laid, ``player``/``banker`` the totals 0–9, ``third`` the points of Player's third
    card or None, ``banker_drew`` whether Banker has a third card, ``due`` the place of the next card or None when the
    hand is complete, ``rule`` the id of the rule that says so, ``after`` the ten layouts that the next card leads to,
    by its points.
    """

    __slots__ = ("after", "banker", "banker_drew", "drawn", "due", "natural", "player", "rule", "third", "winner")

    drawn: int
    player: int
    banker: int
    third: int | None
    banker_drew: bool
    due: Place | None
    rule: str
    natural: bool
    winner: Winner
    after: tuple[Layout, ...]

    def __init__(
        self, drawn: int, player: int, banker: int, third: int | None, banker_drew: bool, natural: bool
    ) -> None:
        self.drawn = drawn
        self.player = player
        self.banker = banker
        self.third = third
        self.banker_drew = banker_drew
        self.natural = natural or (drawn == 4 and (player in NATURALS or banker in NATURALS))
        self.due, self.rule = self._due()
        self.winner = "player" if player > banker else "banker" if banker > player else "tie"  # DEAL-3
        self.after = ()

    def _due(self) -> tuple[Place | None, str]:
        if self.drawn < 4:
            return OPENING[self.drawn], "DEAL-1"
        if self.natural:
            return None, "DEAL-4"
        if self.banker_drew:
            return None, "DRAW-N"
        if self.third is not None:
            return ("B3" if self.third in BANKER_DRAWS[self.banker] else None), "DRAW-B"
        if self.player in PLAYER_DRAWS:
            return "P3", "DRAW-P"
        return ("B3" if self.banker in BANKER_DRAWS_IF_PLAYER_STOOD else None), "DRAW-B0"

    @property
    def complete(self) -> bool:
        """True when no card is due."""
        return self.due is None

    def __repr__(self) -> str:
        totals = f"player={self.player}, banker={self.banker}, third={self.third}"
        return f"Layout(drawn={self.drawn}, {totals}, due={self.due})"


def _tabulate() -> Layout:
    """Make every layout once, linked by the points of the next card."""
    known: dict[tuple[int, int, int, int | None, bool, bool], Layout] = {}

    def at(drawn: int, player: int, banker: int, third: int | None, banker_drew: bool, natural: bool) -> Layout:
        key = (drawn, player, banker, third, banker_drew, natural)
        layout = known.get(key)
        if layout is None:
            known[key] = layout = Layout(*key)
            if layout.due is not None:
                layout.after = tuple(follow(layout, value) for value in range(10))
        return layout

    def follow(layout: Layout, value: int) -> Layout:
        to_player = layout.due in ("P1", "P2", "P3")
        return at(
            layout.drawn + 1,
            (layout.player + value) % 10 if to_player else layout.player,
            layout.banker if to_player else (layout.banker + value) % 10,
            value if layout.due == "P3" else layout.third,
            layout.due == "B3",
            layout.natural,
        )

    return at(0, 0, 0, None, False, False)


#: The layout of a hand without cards. ``EMPTY.after[7].after[0]…`` deals on.
EMPTY: Final[Layout] = _tabulate()


def lay(values: Iterable[int]) -> tuple[Layout, tuple[Place | None, ...]]:
    """Lay the cards with these points (0–9), in the order drawn, where the rules put them.

    Returns the layout and the place of each card; None for a card beyond the hand.

    >>> lay([9, 4, 0, 3])
    (Layout(drawn=4, player=9, banker=7, third=None, due=None), ('P1', 'B1', 'P2', 'B2'))
    """
    layout = EMPTY
    places: list[Place | None] = []
    for value in values:
        places.append(layout.due)
        if layout.due is not None:
            layout = layout.after[value]
    return layout, tuple(places)

"""The five roads of a shoe: how tables have always drawn what came out.

Every grid is six rows high and grows to the right; columns and rows count from 0.

* The *bead plate* has a cell for each hand, down each column and then on to the next.
* The *big road* has a cell for each hand that Player or Banker won. Hands won by the same side make a *line*: it runs
  down from the top row, and where the next cell down is off the grid or occupied it turns and runs to the right (the
  dragon tail). The next line begins at the top, in the first free column to the right of where the last one began. A
  tie takes no cell: it is counted on the entry before it. Ties at the very start wait for the first entry and are
  counted on that.
* *Big eye boy*, *small road* and *cockroach pig* say of each big road entry whether the lines repeat each other. They
  look at the lines as they are, not at how the grid bends them, and compare with the line 1, 2 or 3 to the left. They
  begin with the second entry of the line that has as many lines before it, or, where it has only one, with the first
  of the line after. An entry that begins a line is red when the line just ended is as long as the one 1, 2 or 3
  before that; an entry further down is blue only where it passes the end of the line compared with, by one. Equal
  colours run down and turn as in the big road.

What appears: hands that have a result and are over. A hand that is void appears nowhere, as if it had not been dealt
(nor does one without a result), so that a hand voided later leaves all the roads. The result is that of the cards as
the rules lay them. Pairs and naturals are marked on their hand; a tie's only on the bead plate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, cast

from dealing.rules.audit import HandAudit
from dealing.rules.tableau import Winner

#: The height of every grid.
ROWS: Final = 6

#: How far to the left each derived road compares.
BIG_EYE: Final = 1
SMALL: Final = 2
COCKROACH: Final = 3


class RoadHand(NamedTuple):
    """A hand as the roads know it: its number in the shoe, who won, whether a natural ended it, whose cards paired."""

    number: int
    winner: Winner
    natural: bool = False
    player_pair: bool = False
    banker_pair: bool = False


class Spot(NamedTuple):
    """A place in a grid, from 0; ``row`` is less than ``ROWS``."""

    column: int
    row: int


class BeadCell(NamedTuple):
    """A hand on the bead plate."""

    spot: Spot
    hand: RoadHand


class BigCell(NamedTuple):
    """An entry of the big road: ``ties`` counted on it, and the ``line`` it belongs to, from 0."""

    spot: Spot
    hand: RoadHand
    ties: int
    line: int


class DerivedCell(NamedTuple):
    """An entry of a derived road: red where the lines repeat each other, blue where not."""

    spot: Spot
    red: bool


class Next(NamedTuple):
    """What an entry would show in each derived road (red or not); None while a road has not begun."""

    big_eye: bool | None
    small: bool | None
    cockroach: bool | None


class Roads(NamedTuple):
    """The roads of a shoe. ``waiting_ties``: ties with no entry of the big road before or after them yet.

    ``if_player`` and ``if_banker`` say what the derived roads would show if that side won the next hand.
    """

    bead: tuple[BeadCell, ...]
    big: tuple[BigCell, ...]
    waiting_ties: int
    big_eye: tuple[DerivedCell, ...]
    small: tuple[DerivedCell, ...]
    cockroach: tuple[DerivedCell, ...]
    if_player: Next
    if_banker: Next


def road_hand(audit: HandAudit | Mapping[str, Any], left: bool = False) -> RoadHand | None:
    """The hand of an audit (or of its ``as_dict()``) for the roads; None for a hand that does not appear in them.

    ``left``: the table has gone on, so that the hand is over even where nobody recorded its end.
    """
    told = audit.as_dict() if isinstance(audit, HandAudit) else audit
    result = cast("Mapping[str, Any] | None", told["result"])
    if result is None or told["status"] not in ("closed", "open") or (told["status"] == "open" and not left):
        return None
    felt = cast("Mapping[str, Sequence[str]]", told["correct"])
    return RoadHand(
        cast(int, told["hand"]),
        cast(Winner, result["winner"]),
        bool(result["natural"]),
        _pair(felt["P"]),
        _pair(felt["B"]),
    )


def _pair(cards: Sequence[str]) -> bool:
    """Whether a side's first two cards are of one rank; a card that nobody has seen (``??``) pairs with none."""
    return len(cards) > 1 and cards[0][0] == cards[1][0] != "?"


def make_roads(hands: Iterable[RoadHand | None]) -> Roads:
    """The roads of a shoe's hands in their order; None stands for a hand that does not appear."""
    counted = [hand for hand in hands if hand is not None]
    bead = tuple(BeadCell(Spot(*divmod(n, ROWS)), hand) for n, hand in enumerate(counted))
    lines: list[list[RoadHand]] = []
    ties: list[list[int]] = []
    waiting = 0
    for hand in counted:
        if hand.winner == "tie":
            if ties:
                ties[-1][-1] += 1
            else:
                waiting += 1
            continue
        if not lines or lines[-1][-1].winner != hand.winner:
            lines.append([])
            ties.append([])
        lines[-1].append(hand)
        ties[-1].append(waiting)
        waiting = 0
    lengths = [len(line) for line in lines]
    big = tuple(
        BigCell(spot, hand, count, number)
        for number, (spots, line, counts) in enumerate(zip(lay(lengths), lines, ties, strict=True))
        for spot, hand, count in zip(spots, line, counts, strict=True)
    )
    last = lines[-1][-1].winner if lines else None
    return Roads(
        bead,
        big,
        waiting,
        _derived(lengths, BIG_EYE),
        _derived(lengths, SMALL),
        _derived(lengths, COCKROACH),
        _next(lengths, last == "player"),
        _next(lengths, last == "banker"),
    )


def lay(lengths: Iterable[int]) -> list[list[Spot]]:
    """Where the entries of lines of these lengths (1 or more) stand, line by line.

    Once a line has turned, nothing can stand in its way: what occupies a cell to the right came from further left
    along the same row, and would have stopped the line from reaching that row.
    """
    taken: set[Spot] = set()
    lines: list[list[Spot]] = []
    start = 0
    for length in lengths:
        while Spot(start, 0) in taken:
            start += 1
        spot, turned = Spot(start, 0), False
        line = [spot]
        for _ in range(length - 1):
            below = Spot(spot.column, spot.row + 1)
            turned = turned or below.row == ROWS or below in taken
            spot = Spot(spot.column + 1, spot.row) if turned else below
            line.append(spot)
        taken.update(line)
        lines.append(line)
    return lines


def _derived(lengths: Sequence[int], back: int) -> tuple[DerivedCell, ...]:
    """A derived road, from the lengths of the big road's lines."""
    runs = [(red, len(list(run))) for red, run in groupby(_marks(lengths, back))]
    laid = lay(length for _, length in runs)
    return tuple(DerivedCell(spot, red) for (red, _), line in zip(runs, laid, strict=True) for spot in line)


def _marks(lengths: Sequence[int], back: int) -> Iterator[bool]:
    """Red or not for each entry of the big road that the derived road knows, in the order of the hands."""
    for line, length in enumerate(lengths):
        for depth in range(length):
            red = _red(lengths, back, line, depth)
            if red is not None:
                yield red


def _red(lengths: Sequence[int], back: int, line: int, depth: int) -> bool | None:
    """The colour of the entry at ``depth`` (from 0) of a line; None before the road's start. Asks of earlier lines."""
    if line < back or (line == back and depth == 0):
        return None
    if depth == 0:
        return lengths[line - 1] == lengths[line - 1 - back]
    return lengths[line - back] != depth


def _next(lengths: Sequence[int], goes_on: bool) -> Next:
    """The derived roads for one more entry, which either goes on with the last line or begins one."""
    line, depth = (len(lengths) - 1, lengths[-1]) if goes_on else (len(lengths), 0)
    return Next(*(_red(lengths, back, line, depth) for back in (BIG_EYE, SMALL, COCKROACH)))

"""What the roads and the table display show of a shoe, read from its stored hands in one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dealing.models import Hand, Shoe
from dealing.rules.roads import RoadHand, Roads, make_roads, road_hand


class Counts(NamedTuple):
    """How often each thing came in a shoe, of the hands that appear in the roads; ``void``: hands that were voided."""

    hands: int
    player: int
    banker: int
    tie: int
    player_pair: int
    banker_pair: int
    natural: int
    void: int


@dataclass(frozen=True, slots=True)
class Board:
    """A shoe's roads and counts; ``last``: its newest hand that is over; ``current``: the hand being played."""

    shoe: Shoe
    roads: Roads
    counts: Counts
    last: Hand | None
    current: Hand | None


def load_board(shoe: Shoe) -> Board:
    """Read a shoe's hands."""
    rows = list(
        shoe.hand_set.order_by("number").only("shoe_id", "number", "status", "winner", "player", "banker", "audit")
    )
    open_shoe = shoe.status == Shoe.Status.OPEN
    current = rows[-1] if rows and open_shoe and rows[-1].status == Hand.Status.OPEN else None
    over = rows[:-1] if current else rows
    hands = [road_hand(row.audit, left=True) for row in over]
    return Board(shoe, make_roads(hands), _count(hands, over), over[-1] if over else None, current)


def _count(hands: list[RoadHand | None], rows: list[Hand]) -> Counts:
    counted = [hand for hand in hands if hand is not None]
    won = [hand.winner for hand in counted]
    return Counts(
        len(counted),
        won.count("player"),
        won.count("banker"),
        won.count("tie"),
        sum(hand.player_pair for hand in counted),
        sum(hand.banker_pair for hand in counted),
        sum(hand.natural for hand in counted),
        sum(row.status == Hand.Status.VOIDED for row in rows),
    )

"""Fair and unfair nights by the thousand: the hands of many shoes dealt at once, by the judge's own layouts.

`deal` plays whole shoes in step with each other: what a card leads to is looked up in a table made of
`dealing.rules.tableau`, so there is no second reading of the rules. `tests/test_game_statistics.py` shows that it
comes to the same as `dealing.simulator` on the same cards.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dealing.night import DealerTally, Found, PaidTally, ShoeTally, TableNight
from dealing.rules.cards import BURN_COUNTS, RANKS, SUITS, VALUES
from dealing.rules.tableau import EMPTY, Layout
from dealing.simulator import CUT

Ints = NDArray[np.int64]

#: Points, rank and cards burned of each card, by its index (rank-major, as `Card.index`).
_VALUE: Final = np.array([VALUES[rank] for rank in RANKS for _suit in SUITS])
_BURNS: Final = np.array([BURN_COUNTS[rank] for rank in RANKS for _suit in SUITS])
_LETTERS: Final = np.array(["B", "P", "T"])

#: A dealer deals so many hands, then the next one comes.
BLOCK: Final = 20
AT: Final = dt.datetime(2026, 7, 11, 20, tzinfo=dt.UTC)


class _Table(NamedTuple):
    after: Ints
    due: NDArray[np.bool_]
    winner: Ints
    drawn: Ints
    natural: NDArray[np.bool_]


@cache
def _layouts() -> _Table:
    """Every layout as a row: where each value leads, whether a card is due, and what came of it."""
    known: dict[Layout, int] = {EMPTY: 0}
    waiting = [EMPTY]
    for layout in waiting:
        for after in layout.after:
            if after not in known:
                known[after] = len(known)
                waiting.append(after)
    return _Table(
        np.array([[known[after] for after in layout.after] or [0] * 10 for layout in waiting]),
        np.array([layout.due is not None for layout in waiting]),
        np.array([("banker", "player", "tie").index(layout.winner) for layout in waiting]),
        np.array([layout.drawn for layout in waiting]),
        np.array([layout.natural for layout in waiting]),
    )


def shuffled(rng: np.random.Generator, shoes: int, decks: int = 8, short_of: dict[str, int] | None = None) -> Ints:
    """Shoes in the order in which their cards come, a row each; without so many cards of the ranks in `short_of`."""
    deck = np.repeat(np.arange(len(RANKS) * len(SUITS)), decks)
    for rank, number in (short_of or {}).items():
        of_rank = np.flatnonzero(deck // len(SUITS) == RANKS.index(rank))
        deck = np.delete(deck, rng.choice(of_rank, number, replace=False))
    return rng.permuted(np.tile(deck, (shoes, 1)), axis=1)


def deal(orders: Ints, limits: Ints | None = None, decks: int = 8, first: int = 1) -> list[ShoeTally]:
    """Deal these shoes until the cut card is out, or `limits` hands of each."""
    table = _layouts()
    shoes, size = orders.shape
    rows = np.arange(shoes)
    burned = _BURNS[orders[:, 0]]
    at = 1 + burned
    hands = np.zeros(shoes, dtype=np.int64)
    limit = np.full(shoes, size) if limits is None else limits
    open_now = (at < size - CUT) & (limit > 0)
    ended = np.zeros(shoes, dtype=bool)
    counts = {name: np.zeros(shoes, dtype=np.int64) for name in ("natural", "pp", "bp", "five", "six")}
    winners: list[Ints] = []
    while open_now.any():
        state = np.zeros(shoes, dtype=np.int64)
        opening = []
        for number in range(6):
            drawing = open_now & table.due[state]
            card = orders[rows, np.minimum(at, size - 1)]
            state = np.where(drawing, table.after[state, _VALUE[card]], state)
            at = at + drawing
            if number < 4:
                opening.append(card // len(SUITS))
        counts["natural"] += open_now & table.natural[state]
        counts["pp"] += open_now & (opening[0] == opening[2])
        counts["bp"] += open_now & (opening[1] == opening[3])
        counts["five"] += open_now & (table.drawn[state] == 5)
        counts["six"] += open_now & (table.drawn[state] == 6)
        winners.append(np.where(open_now, table.winner[state], -1))
        hands += open_now
        ended |= open_now & (size - at <= CUT)
        open_now &= ~ended & (hands < limit)
    place = np.arange(size)
    seen = (place == 0) | ((place > burned[:, None]) & (place < at[:, None]))
    flat = (orders + rows[:, None] * 52)[seen]
    cards = np.bincount(flat, minlength=shoes * 52).reshape(shoes, len(RANKS), len(SUITS))
    ranks, suits = cards.sum(axis=2), cards.sum(axis=1)
    results = np.array(winners).T if winners else np.empty((shoes, 0), dtype=np.int64)
    return [
        ShoeTally(
            shoe=first,
            ruleset="commission",
            decks=decks,
            closed="finished" if ended[row] else "",
            hands=int(hands[row]),
            cards_seen=int(seen[row].sum()),
            ranks=dict(zip(RANKS, ranks[row].tolist(), strict=True)),
            suits=dict(zip(SUITS, suits[row].tolist(), strict=True)),
            winners="".join(_LETTERS[results[row, : hands[row]]]),
            naturals=int(counts["natural"][row]),
            player_pairs=int(counts["pp"][row]),
            banker_pairs=int(counts["bp"][row]),
            paired=int(hands[row]),
            six_cards=int(counts["six"][row]),
            five_cards=int(counts["five"][row]),
            burned=int(burned[row]),
        )
        for row in rows
    ]


def fair_nights(
    rng: np.random.Generator,
    count: int,
    *,
    tables: int = 20,
    hands: int = 300,
    mistakes: float = 0.02,
    forgotten: float = 0.004,
    careless: str = "",
    together: int = 25,
) -> Iterator[list[TableNight]]:
    """Nights of so many tables with so many hands each; `together` of them are dealt at once.

    A hand has a finding with chance `mistakes` (`careless`: a dealer with four times as many), a third of those two; a
    banker win is paid without commission with chance `forgotten`. Dealers go round the tables, `BLOCK` hands each.
    """
    while count > 0:
        batch = min(together, count)
        count -= batch
        left = np.full(batch * tables, hands)
        shoes: list[list[ShoeTally]] = [[] for _ in left]
        number = 0
        while (waiting := np.flatnonzero(left)).size:
            number += 1
            for place, tally in zip(
                waiting, deal(shuffled(rng, len(waiting)), left[waiting], first=number), strict=True
            ):
                shoes[place].append(tally)
                left[place] -= tally.hands
        for night in range(batch):
            of = shoes[night * tables : (night + 1) * tables]
            yield [
                _night(rng, place, tables, tallies, mistakes, forgotten, careless) for place, tallies in enumerate(of)
            ]


def _night(
    rng: np.random.Generator,
    place: int,
    tables: int,
    shoes: list[ShoeTally],
    mistakes: float,
    forgotten: float,
    careless: str,
) -> TableNight:
    staff = tables * 5 // 4
    hands = [(shoe.shoe, hand) for shoe in shoes for hand in range(1, shoe.hands + 1)]
    dealers = [f"D{(place + number // BLOCK) % staff:03}" for number in range(len(hands))]
    tallies: dict[str, DealerTally] = {}
    chance = rng.random(len(hands))
    findings = []
    for dealer in dealers:
        tallies.setdefault(dealer, DealerTally(dealer=dealer)).hands += 1
    rate = np.array([mistakes * (4 if dealer == careless else 1) for dealer in dealers])
    for number in np.flatnonzero(chance < rate):
        shoe, hand = hands[number]
        codes = ["card-not-drawn", "wrong-result-called"] if chance[number] < rate[number] / 3 else ["payout-wrong"]
        for code in codes:
            findings.append(
                Found(
                    shoe=shoe, hand=hand, at=AT, seq=0, code=code, rules=[], ruling="discretion", mandatory=False,
                    state="open", dealer=dealers[number],
                )
            )  # fmt: skip
            tallies[dealers[number]].codes[code] = tallies[dealers[number]].codes.get(code, 0) + 1
    won = int(1.5 * sum(shoe.winners.count("B") for shoe in shoes))
    without = int(rng.binomial(won, forgotten))
    return TableNight(
        table=f"B{place + 1:03}",
        ruleset="commission",
        hands=len(hands),
        findings=findings,
        dealers=list(tallies.values()),
        shoes=shoes,
        paid={"banker": PaidTally(won=won, wrong=without, without_commission=without)},
    )

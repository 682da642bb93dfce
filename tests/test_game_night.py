"""From the log to the verdict: the tallies that the nightly audit makes of stored shoes are those of `game_nights`."""

from __future__ import annotations

import datetime as dt
import io
from collections import Counter

import msgspec
import numpy as np
import pytest

from dealing.importer import import_log
from dealing.night import ShoeTally
from dealing.rejudge import rejudge_table
from dealing.rules.cards import CARDS
from dealing.rules.events import BurnCard, CardDealt, CardsBurned, Event
from dealing.simulator import simulate_shoe
from incidents.reports.statistics import judge_game
from tests.conftest import MakeTable
from tests.game_nights import deal
from tests.table_logs import START, written

pytestmark = pytest.mark.django_db


def dealt_again(log: list[Event], shoe: int) -> ShoeTally:
    """The fast dealing of the cards of a log; those nobody saw may lie in any order."""
    first = next(event.card for event in log if isinstance(event, BurnCard))
    burned = next(event.count for event in log if isinstance(event, CardsBurned))
    dealt = [event.card for event in log if isinstance(event, CardDealt) and event.card is not None]
    left = Counter(dict.fromkeys(CARDS, 8))
    left.subtract([first, *dealt])
    unseen = list(left.elements())
    order = [first, *unseen[:burned], *dealt, *unseen[burned:]]
    return deal(np.array([[card.index for card in order]]), first=shoe)[0]


def test_stored_shoes_are_tallied_as_they_were_dealt(table: MakeTable) -> None:
    stored = table("B07", "commission")
    start, seq, fast = START, 1, []
    for shoe in (1, 2):
        log = simulate_shoe("B07", shoe, "commission", 40 + shoe, start, bets=False, face_down=0, first_seq=seq)
        assert not import_log(io.BytesIO(written(log).encode()), actor="import").refusals
        fast.append(dealt_again(log, shoe))
        start, seq = log[-1].at + dt.timedelta(minutes=5), seq + len(log)
    night = rejudge_table(stored, START - dt.timedelta(days=1), START + dt.timedelta(days=5))
    assert [msgspec.structs.asdict(shoe) for shoe in night.shoes] == [msgspec.structs.asdict(shoe) for shoe in fast]
    game = judge_game([night])
    assert (game.shoes, game.left_out, game.flags) == (2, 0, [])
    assert game.tests > 50
    assert game.by_table["B07"] == game.frequencies

"""Closing a hand too early: it is asked first, may be done all the same, and be taken back at once."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.conftest import MakeTable, People
from tests.test_console import Console, text

pytestmark = pytest.mark.django_db

CLOSES_AT_ONCE = 'name="event" value="hand_closed"'


@pytest.fixture
def rita(people: People, table: MakeTable) -> Console:
    """A recorder at a table whose shoe is ready."""
    sam = Console(Client(), table())
    sam.client.force_login(people("supervisor", "sam"))
    sam.shoe()
    recorder = Console(Client(), sam.table)
    recorder.client.force_login(people("recorder", "rita"))
    return recorder


def test_while_a_card_is_due_closing_asks_first(rita: Console) -> None:
    rita.hand("9h", "4s")
    page = rita.look()
    assert 'data-phase="dealing"' in page
    before, _form, _after = page.partition(CLOSES_AT_ONCE)  # seen once no card is due, and not before
    assert before.rpartition("data-when=")[2].startswith('"complete called"')
    assert "?sheet=hand_closed" in page
    sheet = rita.look(sheet="hand_closed")
    assert "A card is due at P2." in text(sheet)
    assert "Close the hand all the same" in text(sheet)
    assert CLOSES_AT_ONCE in sheet
    assert rita.press("hand_closed", sheet="hand_closed").status == 200
    assert rita.last["event"] == "hand_closed"


def test_while_money_is_owed_closing_asks_first(rita: Console) -> None:
    rita.press("betting_opened")
    rita.press("bet", seat=3, bet="banker", stake="100")
    rita.press("betting_closed")
    rita.cards("2h", "4s", "Kd", "5c")
    rita.press("card", card="Kc")
    assert CLOSES_AT_ONCE not in rita.look()
    assert "Seat 3 is still owed 95.00 on" in text(rita.look(sheet="hand_closed"))
    rita.press("paid", seat=3, bet="banker", amount="95")
    assert CLOSES_AT_ONCE in rita.look()


def test_whoever_closed_the_hand_may_take_that_back_while_it_is_the_newest_entry(rita: Console, people: People) -> None:
    rita.hand("9h", "4s").press("hand_closed")
    assert 'id="undo-button"' in rita.page
    seq = len(rita.lines)
    other = Console(Client(), rita.table)
    other.client.force_login(people("recorder", "ron"))
    assert 'id="undo-button"' not in other.look()
    assert other.press("amended", entry=seq, withdraw=1, why="typo").status == 403
    assert rita.press("amended", entry=seq, to="P1", why="typo").status == 403
    assert rita.press("amended", entry=seq - 1, withdraw=1, why="typo").status == 403
    assert rita.press("amended", entry=seq, withdraw=1, why="typo").status == 200
    assert "Player\u2019s second card is next" in text(rita.page)
    rita.press("hand_closed")
    seq = len(rita.lines)
    rita.press("betting_opened")
    assert rita.press("amended", entry=seq, withdraw=1, why="typo").status == 403

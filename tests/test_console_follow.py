"""One press, several events: ranks alone, a call that ends its hand, a sheet of pays, and taking them back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from dealing.log import record
from dealing.models import Hand, Table
from tests.conftest import MakeTable, People
from tests.test_console import Console, text

pytestmark = pytest.mark.django_db

CALL = {"call": "player 9 7", "follow": "1"}


@pytest.fixture
def sam(client: Client, people: People, table: MakeTable) -> Console:
    client.force_login(people("supervisor", "sam"))
    return Console(client, table()).shoe()


@pytest.fixture
def rita(sam: Console, people: People) -> Console:
    """A recorder at the same table."""
    recorder = Console(Client(), sam.table)
    recorder.client.force_login(people("recorder", "rita"))
    return recorder


def names(console: Console, start: int = 0) -> list[str]:
    return [line["event"] for line in console.lines[start:]]


# Ranks alone.


def test_a_rank_key_records_the_card_where_ranks_alone_are_recorded(sam: Console) -> None:
    Table.objects.update(ranks_only=True)
    sam.hand()
    page = sam.look()
    assert 'name="card_rank" value="9" id="rank-9"' in page
    assert 'id="suit-h"' not in page
    assert 'id="face-down"' in page
    sam.press("card", card="", card_rank="9")
    assert sam.last == {"event": "card", "hand": 1, "to": "P1", "card": "9"}
    sam.press("card", card="10")
    assert sam.last["card"] == "T"
    sam.press("card", card="9h")
    assert sam.last["card"] == "9h"
    sam.press("card", card="", card_rank="K", face="down")
    assert sam.status == 200


@pytest.mark.parametrize("typed", [{"card": "9"}, {"card": "10"}, {"card": "", "card_rank": "K"}])
def test_elsewhere_a_rank_alone_is_asked_for_its_suit_at_the_field(sam: Console, typed: dict[str, str]) -> None:
    sam.hand()
    before = len(sam.lines)
    sam.press("card", **typed)
    assert sam.status == 422
    assert len(sam.lines) == before
    error = re.search(r'id="entry-error" role="alert">(.*?)</p>', sam.page, re.DOTALL)
    assert error
    assert "the suit is missing" in error[1]
    assert f'value="{typed["card"]}"' in sam.page
    sam.press("exposed", sheet="exposed", when="drawing", card="9")
    assert sam.status == 422
    assert "the suit is missing" in text(sam.page)


def test_an_amendment_needs_the_suit_too(sam: Console) -> None:
    sam.hand("9h")
    sam.press("amended", entry=6, sheet="amend", to="P1", card="8", why="typo")
    assert sam.status == 422
    assert "the suit is missing" in text(sam.page)


# The call that goes on.


def test_the_right_call_closes_the_hand_and_opens_betting_on_the_next(sam: Console) -> None:
    sam.hand("9h", "4s", "Kd", "3c")
    assert "and next hand" in text(sam.page)
    sam.press("called", key="k", **CALL)
    assert sam.status == 200
    assert names(sam, 9) == ["called", "hand_closed", "betting_opened"]
    assert [(line["hand"], line["key"], line["by"]) for line in sam.lines[9:]] == [
        (1, "k", "SAM"),
        (1, "k.2", "SAM"),
        (2, "k.3", "SAM"),
    ]
    assert 'data-phase="betting" data-shoe="1" data-hand="2"' in sam.page


def test_the_same_press_again_changes_nothing_and_answers_well(sam: Console) -> None:
    sam.hand("9h", "4s", "Kd", "3c")
    head = len(sam.lines)
    for _time in range(3):
        sam.press("called", key="k", hand=1, seq=head, **CALL)
        assert sam.status == 200
        assert sam.headers["X-Recorded"] == "k"
        assert len(sam.lines) == head + 3


@pytest.mark.parametrize(
    ("cards", "call", "words"),
    [
        (("9h", "4s", "Kd", "3c"), {"call": "banker", "follow": "1"}, "wrong call"),
        (("9h", "4s", "Kd", "3c"), {"call": "player 9 6", "follow": "1"}, "wrong total"),
        (("9h", "4s", "Kd", "3c"), {"call": "player 9 7"}, "not asked for"),
        (("9h", "4s", "Kd"), {"call": "player", "follow": "1"}, "a card is due"),
        (("9h", "4s", "Kd", "x"), {"call": "player", "follow": "1"}, "a card lies face down"),
    ],
)
def test_what_does_not_go_on(sam: Console, cards: tuple[str, ...], call: dict[str, str], words: str) -> None:
    sam.hand(*cards).press("called", **call)
    assert sam.status == 200
    assert names(sam)[-1] == "called", words


def test_a_table_whose_hands_do_not_follow_on(sam: Console) -> None:
    Table.objects.update(follow_on=False)
    sam.hand("9h", "4s", "Kd", "3c")
    assert 'name="follow"' not in sam.page
    sam.press("called", **CALL)
    assert names(sam)[-1] == "called"
    assert 'data-phase="called"' in sam.page


def test_an_open_finding_keeps_the_hand_open(sam: Console) -> None:
    sam.hand("9h", "4s").press("card", card="Kd", to="B2")
    sam.press("card", card="3c", to="P2")
    assert "and next hand" not in re.sub(r"<small data-then hidden>[^<]*</small>", "", sam.page)
    assert "The hand does not close by itself: “" in text(sam.page)
    sam.press("called", **CALL)
    assert names(sam)[-1] == "called"
    assert "The hand does not close by itself: “" in text(sam.page)


def standing(console: Console) -> None:
    """A finding that the rules let stand: a card was seen at the start of the shoe."""
    common = {"table": console.table.code, "shoe": 1, "hand": 1}
    record({**common, "event": "exposed", "when": "start", "card": "6h"}, actor="sam")


def test_a_finding_that_only_stands_holds_nothing(sam: Console) -> None:
    sam.hand("9h", "4s")
    standing(sam)
    sam.cards("Kd", "3c")
    assert 'data-finding="exposed-at-start"' in sam.page
    assert "and next hand" in re.sub(r"<small data-then hidden>[^<]*</small>", "", sam.page)
    assert "does not close by itself" not in sam.page
    sam.press("called", **CALL)
    assert names(sam)[-3:] == ["called", "hand_closed", "betting_opened"]


def test_a_wrong_call_says_that_it_keeps_the_hand_open(sam: Console) -> None:
    sam.hand("9h", "4s", "Kd", "3c").press("called", call="banker", follow="1")
    assert "The hand does not close by itself: “Wrong result called” is open." in text(sam.page)
    sam.press("called", **CALL)
    assert "does not close by itself" not in sam.page


def test_all_paid_goes_on_beside_a_finding_that_only_stands(sam: Console) -> None:
    sam.press("betting_opened").press("bet", seat=3, bet="player", stake="100").press("betting_closed")
    standing(sam)
    sam.cards("9h", "4s", "Kd", "3c").press("called", **CALL)
    assert "and next hand" in text(sam.page)
    sam.press("paid_all", **{"pay-3-player": "100"})
    assert names(sam)[-3:] == ["paid", "hand_closed", "betting_opened"]


def test_after_the_last_hand_of_the_shoe_nothing_is_opened(sam: Console) -> None:
    sam.hand("9h", "4s").press("cut_card", during="hand")
    sam.cards("Kd", "3c")
    assert "and close the hand" in text(sam.page)
    sam.press("called", **CALL)
    assert names(sam)[-2:] == ["called", "hand_closed"]
    assert "No further hand is dealt from it." in text(sam.page)


def test_while_money_is_owed_the_hand_waits_for_it(sam: Console) -> None:
    sam.press("betting_opened")
    sam.press("bet", seat=3, bet="player", stake="100").press("betting_closed")
    sam.cards("9h", "4s", "Kd", "3c").press("called", **CALL)
    assert names(sam)[-1] == "called"


def test_a_lost_bet_keeps_nothing_waiting(sam: Console) -> None:
    sam.press("betting_opened")
    sam.press("bet", seat=3, bet="banker", stake="100").press("betting_closed")
    sam.cards("9h", "4s", "Kd", "3c").press("called", **CALL)
    assert names(sam)[-3:] == ["called", "hand_closed", "betting_opened"]


# All pays at once.


def staked(console: Console) -> Console:
    """Two winning bets and a lost one, and the right call."""
    console.press("betting_opened")
    console.press("bet", seat=3, bet="player", stake="100").press("bet", seat=5, bet="player", stake="1500.50")
    console.press("bet", seat=4, bet="banker", stake="200").press("betting_closed")
    return console.cards("9h", "4s", "Kd", "3c").press("called", **CALL)


def test_all_pays_in_one_press_and_on_to_the_next_hand(sam: Console) -> None:
    head = len(staked(sam).lines)
    for _time in range(2):
        sam.press("paid_all", key="p", hand=1, seq=head, **{"pay-3-player": "100", "pay-5-player": "1,500.50"})
        assert sam.status == 200
        assert names(sam, head) == ["paid", "paid", "hand_closed", "betting_opened"]
    assert [(line["seat"], line["amount"], line["key"]) for line in sam.lines[head : head + 2]] == [
        (3, "100", "p"),
        (5, "1500.50", "p.2"),
    ]


def test_pays_that_differ_or_leave_something_owed_keep_the_hand_open(sam: Console) -> None:
    head = len(staked(sam).lines)
    sam.press("paid_all", **{"pay-3-player": "90", "pay-5-player": ""})
    assert names(sam, head) == ["paid"]
    sam.press("paid_all", **{"pay-5-player": "1500.50"})
    assert names(sam, head) == ["paid", "paid"]
    assert Hand.objects.get().status == "open"


def test_pays_of_a_closed_hand_only_pay(sam: Console) -> None:
    staked(sam).press("hand_closed")
    head = len(sam.lines)
    sam.press("paid_all", **{"pay-3-player": "100", "pay-5-player": "1500.50"})
    assert names(sam, head) == ["paid", "paid"]


@pytest.mark.parametrize("wrong", ["x", "-", "1e5", "9" * 700, "\x00"])
def test_a_wrong_amount_records_nothing(sam: Console, wrong: str) -> None:
    before = len(staked(sam).lines)
    sam.press("paid_all", **{"pay-3-player": "100", "pay-5-player": wrong})
    assert sam.status == 422
    assert len(sam.lines) == before
    assert sam.headers["X-Refused"]


@pytest.mark.parametrize("fields", [{}, {"pay-x-player": "1"}, {"pay-3-nonsense": "1"}, {"pay-3-player": " "}])
def test_a_pay_sheet_of_nothing_is_refused_in_words(sam: Console, fields: dict[str, str]) -> None:
    before = len(staked(sam).lines)
    sam.press("paid_all", **fields)
    assert sam.status == 422
    assert len(sam.lines) == before
    assert 'role="alert"' in sam.page or sam.headers["X-Refused"]


# Taken back.


def undo_of(page: str) -> dict[str, Any]:
    """What the undo button of the page sends."""
    form = page[: page.index('id="undo-button"')].rpartition("<form")[2]
    return dict(re.findall(r'name="([^"]*)" value="([^"]*)"', form))


def test_what_one_press_recorded_is_taken_back_with_one(sam: Console, rita: Console) -> None:
    rita.hand("9h", "4s", "Kd", "3c").press("called", key="k", **CALL)
    undo = undo_of(rita.page) | {"key": "u"}
    for _time in range(2):
        rita.press("amended", **{name: value for name, value in undo.items() if name != "event"})
        assert rita.status == 200, text(rita.page)
        assert [line.get("seq") for line in rita.lines[12:]] == [12, 11, 10]
    hand = Hand.objects.get()
    assert (hand.number, hand.status) == (1, "open")
    assert 'data-phase="complete"' in rita.page
    # And the next undo is of the card before.
    assert undo_of(rita.page)["entry"] == "9"
    rita.press("called", key="k2", **CALL)
    assert names(rita)[-3:] == ["called", "hand_closed", "betting_opened"]


def test_only_while_nothing_else_came_since(sam: Console, rita: Console) -> None:
    rita.hand("9h", "4s", "Kd", "3c").press("called", key="k", **CALL)
    seq = len(rita.lines)
    sam.press("bet", seat=1, bet="tie", stake="10")
    rita.press("amended", entry=seq, withdraw=1, undo=1, why="typo", seq=seq)
    assert [line["seq"] for line in rita.lines if line["event"] == "amended"] == [seq]
    assert Hand.objects.get(number=1).status == "closed"


def test_an_amendment_of_one_of_several_entries_takes_back_that_one(sam: Console) -> None:
    sam.hand("9h", "4s", "Kd", "3c").press("called", key="k", **CALL)
    sam.press("amended", entry=12, withdraw=1, why="not yet opened")
    assert [line.get("seq") for line in sam.lines[12:]] == [12]


def test_an_entry_that_its_device_knows_only_by_key_is_taken_back(sam: Console) -> None:
    sam.hand().press("card", card="9h", key="d1.one").press("card", card="4s", key="d1.two")
    sam.press("amended", entry="", entry_key="d1.two", withdraw=1, undo=1, why="typo")
    assert sam.last["seq"] == 7
    sam.press("amended", entry="", entry_key="d1.none", withdraw=1, undo=1, why="typo")
    assert sam.status == 422

"""The table console: what each press records, and what is said when it records nothing."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from dealing.console.forms import FORMS
from dealing.console.state import load
from dealing.log import record
from dealing.messages import reason
from dealing.models import Hand, Table, TableEvent
from dealing.rules.events import EVENTS, EventError
from tests.conftest import MakeTable, People

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@dataclass
class Console:
    """A person at a table, pressing what the page shows."""

    client: Client
    table: Table
    htmx: bool = True
    status: int = 0
    page: str = ""
    headers: Any = field(default_factory=dict)

    def press(self, event: str, /, **fields: object) -> Console:
        """Send a form with the hidden fields of the page as it is now; `fields` win."""
        state = load(Table.objects.get(pk=self.table.pk))
        hidden: dict[str, object] = {"event": event, "seq": state.table.last_seq}
        if state.shoe:
            hidden["shoe"] = state.shoe.number
        hand = state.hand.number if state.hand else ""
        begins = event in ("betting_opened", "betting_closed", "bet", "card", "opened")
        hidden["hand"] = state.next_hand if begins and not state.hand_open else hand
        if event == "card":
            hidden |= {"down": state.down, "to": state.due}
        response = self.client.post(
            reverse("console:record", args=(self.table.code,)),
            {name: value for name, value in (hidden | fields).items() if value is not None},
            headers=HTMX if self.htmx else None,
        )
        self.status, self.page, self.headers = response.status_code, response.content.decode(), response.headers
        return self

    def look(self, **query: str | int) -> str:
        """The console's part of the page."""
        response = self.client.get(reverse("console:table", args=(self.table.code,)), query, headers=HTMX)
        assert response.status_code == 200
        return response.content.decode()

    def shoe(self, ruleset: str = "commission") -> Console:
        """A shoe that is ready for its first hand."""
        self.press("shoe_opened", shoe=1, ruleset=ruleset, decks=8)
        self.press("burn_card", card="5h")
        return self.press("cards_burned", count=5)

    def hand(self, *cards: str) -> Console:
        """The next hand with betting closed and these cards dealt to the places due."""
        self.press("betting_opened")
        self.press("betting_closed")
        return self.cards(*cards)

    def cards(self, *cards: str) -> Console:
        for card in cards:
            self.press("card", card=card)
            assert self.status == 200, self.page
        return self

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The table's log."""
        return [json.loads(row.payload) for row in TableEvent.objects.filter(table=self.table).order_by("seq")]

    @property
    def last(self) -> dict[str, Any]:
        """The newest line without what every line has."""
        line = self.lines[-1]
        return {key: value for key, value in line.items() if key not in ("at", "table", "shoe", "by", "key")}


@pytest.fixture
def supervisor(client: Client, people: People, table: MakeTable) -> Console:
    client.force_login(people("supervisor", "sam"))
    return Console(client, table())


@pytest.fixture
def insured(client: Client, people: People, table: MakeTable) -> Console:
    client.force_login(people("supervisor", "sam"))
    return Console(client, table("B08", ruleset="insurance")).shoe("insurance")


def text(page: str) -> str:
    """The words of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


# What is recorded.


def test_every_event_of_the_log_has_a_form_but_the_amendment() -> None:
    assert set(FORMS) == set(EVENTS) - {"amended"}


def test_a_shoe_is_opened_in_three_steps_and_the_burn_is_worked_out(supervisor: Console) -> None:
    assert 'name="shoe" value="1"' in re.sub(r"\s+", " ", supervisor.look()).replace('id="shoe_opened-shoe" ', "")
    supervisor.press("shoe_opened", shoe=1, ruleset="commission", decks=8)
    supervisor.press("burn_card", card="", card_rank="J", card_suit="h")
    assert "Jack: burn 10 cards" in text(supervisor.page)
    assert 'name="count" value="10"' in supervisor.page
    supervisor.press("cards_burned", count=9)
    assert [line["event"] for line in supervisor.lines] == ["shoe_opened", "burn_card", "cards_burned"]
    assert supervisor.last == {"event": "cards_burned", "count": 9}
    assert 'data-finding="burn-count-wrong"' in supervisor.page


@pytest.mark.parametrize(
    ("card", "said"), [("5h", "Five: burn 5 cards"), ("As", "Ace: burn 1 card"), ("Tc", "Ten: burn 10 cards")]
)
def test_what_the_first_card_asks_for_is_a_sentence(supervisor: Console, card: str, said: str) -> None:
    supervisor.press("shoe_opened", shoe=1, ruleset="commission", decks=8)
    supervisor.press("burn_card", card=card)
    assert f"{said} " in text(supervisor.page)


def test_the_line_says_who_recorded_it_and_the_row_which_user(supervisor: Console) -> None:
    supervisor.shoe()
    row = TableEvent.objects.latest("seq")
    assert (row.by, row.actor) == ("SAM", "sam")


def test_a_card_goes_to_the_due_place_unless_another_is_chosen(supervisor: Console) -> None:
    supervisor.shoe().hand("9h", "4s", "3d")
    assert supervisor.last == {"event": "card", "hand": 1, "to": "P2", "card": "3d"}
    supervisor.press("card", card="Ac", to="B3")
    assert supervisor.last["to"] == "B3"
    assert 'data-finding="initial-card-misplaced"' in supervisor.page


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ({"card": "10d"}, {"to": "P1", "card": "Td"}),
        ({"card": "KS"}, {"to": "P1", "card": "Ks"}),
        ({"card": "b2 9h"}, {"to": "B2", "card": "9h"}),
        ({"card": "x"}, {"to": "P1", "face": "down"}),
        ({"card": "P3 x"}, {"to": "P3", "face": "down"}),
        ({"card": "", "card_rank": "T", "card_suit": "c"}, {"to": "P1", "card": "Tc"}),
        ({"card": "9", "card_suit": "c"}, {"to": "P1", "card": "9c"}),
        ({"card": "", "card_rank": "7", "face": "down"}, {"to": "P1", "face": "down"}),
    ],
)
def test_ways_to_enter_a_card(supervisor: Console, typed: dict[str, str], line: dict[str, str]) -> None:
    supervisor.shoe().hand()
    supervisor.press("card", **typed)
    assert supervisor.status == 200
    assert supervisor.last == {"event": "card", "hand": 1, **line}


def test_a_face_down_card_is_turned_up_at_its_own_place(supervisor: Console) -> None:
    supervisor.shoe().hand("x", "4s")
    assert 'value="open-P1"' in supervisor.page
    supervisor.press("card", card="9h", to="open-P1")
    assert supervisor.last == {"event": "opened", "hand": 1, "place": "P1", "card": "9h"}
    supervisor.press("card", card="P2 x").press("card", card="p2 3d")
    assert supervisor.last == {"event": "opened", "hand": 1, "place": "P2", "card": "3d"}


def test_face_down_cards_hide_their_faces_and_are_asked_for(supervisor: Console) -> None:
    supervisor.shoe().hand("x", "x", "x", "x")
    assert "Turn up the face-down cards" in text(supervisor.page)
    assert supervisor.page.count("card-down") == 4
    assert re.search(r'value="open-P1" checked', supervisor.page)


@pytest.mark.parametrize(
    ("event", "fields", "line"),
    [
        ("exposed", {"when": "drawing", "card": "9c", "place": "B1"}, {"when": "drawing", "card": "9c", "place": "B1"}),
        ("exposed", {"when": "drawing"}, {"when": "drawing"}),
        ("exposed", {"when": "start"}, {"when": "start", "hand": None}),
        ("extra", {"face": "up", "card_rank": "2", "card_suit": "s"}, {"card": "2s"}),
        ("extra", {"face": "down"}, {"face": "down"}),
        (
            "dropped",
            {"when": "opening", "opened": "true", "card": "3d"},
            {"when": "opening", "opened": True, "card": "3d"},
        ),
        ("dropped", {"when": "start", "opened": "false"}, {"when": "start", "opened": False, "hand": None}),
        ("moved", {"source": "P1", "to": "B2"}, {"from": "P1", "to": "B2"}),
        ("discarded", {"place": "P2"}, {"place": "P2"}),
        ("cut_card", {"during": "hand"}, {}),
        ("cut_card", {"during": "between"}, {"hand": None}),
        ("called", {"call": "banker 2 5"}, {"winner": "banker", "player": 2, "banker": 5}),
        ("called", {"call": "tie"}, {"winner": "tie"}),
        ("called", {"winner": "player", "player": "", "banker": "4"}, {"winner": "player", "banker": 4}),
        ("bet", {"seat": 7, "bet": "tie", "stake": "1,500"}, {"seat": 7, "bet": "tie", "stake": "1500"}),
        ("paid", {"seat": 7, "bet": "tie", "amount": "0"}, {"seat": 7, "bet": "tie", "amount": "0"}),
        ("voided", {"scope": "hand", "reason": "seen"}, {"scope": "hand", "reason": "seen"}),
        ("insurance_opened", {"window": 1}, {"window": 1}),
        ("hand_closed", {}, {}),
    ],
)
def test_each_form_records_its_event(supervisor: Console, event: str, fields: Any, line: dict[str, Any]) -> None:
    supervisor.shoe().hand("9h", "4s", "3d", "Ac")
    supervisor.press(event, **fields)
    assert supervisor.status == 200, text(supervisor.page)
    wanted = {"event": event, "hand": 1, **line}
    assert supervisor.last == {key: value for key, value in wanted.items() if value is not None}


def test_insurance_from_opening_to_closing(insured: Console) -> None:
    insured.hand("9h", "4s", "3d", "Ac")
    assert "Open insurance 1: Banker at 2" in text(insured.page)
    insured.press("insurance_opened", window=1)
    assert 'name="odds" value="2"' in insured.page
    insured.press("insurance_odds", side="banker", placed="player", odds="2")
    insured.press("bet", seat=1, bet="insurance_banker", stake="50")
    insured.press("insurance_closed", window=1)
    assert [line["event"] for line in insured.lines[-4:]] == [
        "insurance_opened",
        "insurance_odds",
        "bet",
        "insurance_closed",
    ]
    assert 'data-finding="insurance-odds-misplaced"' in insured.page
    assert "Open insurance" not in text(insured.page)


def test_insurance_is_offered_only_where_the_rules_know_it(supervisor: Console, insured: Console) -> None:
    supervisor.shoe().hand("9h", "4s", "3d", "Ac")
    assert "nsurance" not in text(supervisor.page)
    assert "Insurance" not in text(supervisor.look(sheet="wrong"))
    insured.hand("9h", "4s", "3d", "Ac")
    assert "Insurance odds put up" in text(insured.look(sheet="wrong"))


def test_pays_are_prefilled_with_what_is_owed(supervisor: Console) -> None:
    supervisor.shoe().press("betting_opened")
    supervisor.press("bet", seat=3, bet="banker", stake="500")
    supervisor.press("bet", seat=4, bet="player", stake="100")
    supervisor.press("betting_closed")
    supervisor.cards("2h", "4s", "Kd", "3c", "Ks")
    assert re.search(r'name="pay-3-banker" value="475.00"', supervisor.page)
    assert 'name="pay-4-player"' not in supervisor.page
    supervisor.press("paid", seat=3, bet="banker", amount="475.00")
    assert 'name="pay-3-banker"' not in supervisor.page
    assert "Everything is paid" in text(supervisor.page)


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        (("9h", "4s", "3d", "Ac"), "Player draws on 2"),
        (("9h", "4s", "Kd", "3c"), "Natural 9 for Player: no third card"),
        (("2h", "9s", "Kd", "Kc"), "Natural 9 for Banker: no third card"),
        (("9h", "8s", "Kd", "Kc"), "Naturals 9 and 8: no third card"),
        (("6h", "2s", "Kd", "3c"), "Player stands on 6, Banker draws on 5"),
        (("6h", "2s", "Kd", "5c"), "Both stand: Player on 6, Banker on 7"),
        (("2h", "2s", "Kd", "4c", "5d"), "Banker stands on 6 against 5"),
        (("2h", "2s", "Kd", "4c", "6d"), "Banker draws on 6 against 6"),
        (("2h", "2s", "Kd", "4c", "6d", "Ah"), "Both have drawn: the hand is complete"),
        (("6h", "2s", "Kd", "3c", "Ah"), "Banker has drawn: the hand is complete"),
    ],
)
def test_what_is_due_is_said_with_its_reason(supervisor: Console, cards: tuple[str, ...], words: str) -> None:
    supervisor.shoe().hand(*cards)
    assert words in text(supervisor.page)


def test_a_finding_is_shown_with_rule_and_ruling_and_the_way_to_its_incident(supervisor: Console) -> None:
    supervisor.shoe().hand("9h", "4s", "3d", "Ac")
    supervisor.press("card", card="Kd", to="B3")
    assert 'data-finding="fifth-card-misplaced"' in supervisor.page
    assert "INC-order" in supervisor.page
    assert reverse("incidents:for_hand", args=("B07", 1, 1)) in supervisor.page
    # The sheet for a move proposes the one that puts it right.
    sheet = supervisor.look(sheet="moved")
    assert re.search(r'name="source" value="B3" checked', sheet)
    assert re.search(r'name="to" value="P3" checked', sheet)


def test_the_console_works_without_script(supervisor: Console) -> None:
    supervisor.htmx = False
    supervisor.shoe().hand()
    supervisor.press("card", card="9h")
    assert supervisor.status == 302
    assert supervisor.headers["Location"] == reverse("console:table", args=("B07",))
    supervisor.press("card", card="1x")
    assert supervisor.status == 422
    assert "<html" in supervisor.page
    assert 'value="1x"' in supervisor.page


# Typing mistakes and dealer mistakes.


def test_a_typing_mistake_is_corrected_and_both_stay(supervisor: Console) -> None:
    supervisor.shoe().hand("9h", "4s", "Kd", "9c")
    seq = len(supervisor.lines)
    sheet = supervisor.look(sheet="amend", entry=seq)
    assert 'name="card" value="9c"' in sheet
    supervisor.press("amended", entry=seq, to="B2", card="3c", face="up", why="typed the wrong rank", correct=1)
    assert supervisor.last["seq"] == seq
    assert supervisor.last["reason"] == "typed the wrong rank"
    assert supervisor.last["entry"]["card"] == "3c"
    assert supervisor.last["entry"]["by"] == "SAM"
    assert "timeline-struck" in supervisor.page
    assert "now reads: 3♣ to Banker, second card" in text(supervisor.page)
    assert "9♣ to Banker, second card" in text(supervisor.page)
    # Once more, from what it says now.
    assert 'name="card" value="3c"' in supervisor.look(sheet="amend", entry=seq)


def test_undo_withdraws_the_last_entry_that_counts(supervisor: Console) -> None:
    supervisor.shoe().hand("9h", "4s")
    supervisor.press("amended", entry=len(supervisor.lines), withdraw=1, why="undone")
    assert "entry" not in supervisor.last
    assert re.search(r'name="to" value="B1" checked', supervisor.page)
    assert 'name="entry" value="6"' in supervisor.page  # 9h, for the next undo


def test_an_amendment_without_a_reason_is_refused_at_the_reason(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.press("amended", entry=6, sheet="amend", to="P1", card="8h", why=" ")
    assert supervisor.status == 422
    assert 'id="why"' in supervisor.page
    assert supervisor.page.count('role="alert"') == 1
    assert 'value="8h"' in supervisor.page
    assert len(supervisor.lines) == 6


def test_a_wrong_card_in_an_amendment_is_refused_at_the_card(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.press("amended", entry=6, sheet="amend", to="P1", card="8x", why="typo")
    assert supervisor.status == 422
    assert 'id="card-card" name="card" value="8x"' in supervisor.page
    assert 'id="card-card-error"' in supervisor.page


def test_withdrawing_what_later_entries_rest_on_is_refused_in_words(supervisor: Console) -> None:
    supervisor.shoe().hand("x")
    supervisor.press("card", card="9h", to="open-P1")
    supervisor.press("amended", entry=6, withdraw=1, why="typo")
    assert supervisor.status == 422
    assert len(supervisor.lines) == 7
    assert 'role="alert"' in supervisor.page


def test_an_entry_offers_both_ways_clearly_apart(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    sheet = supervisor.look(sheet="which", entry=6)
    assert "The record is wrong, the table is right." in sheet
    assert "The record is right, the table is wrong." in sheet
    assert "sheet=amend&amp;entry=6" in sheet
    assert "sheet=moved&amp;source=P1" in sheet


@pytest.mark.parametrize("entry", ["", "0", "99", "x", "9" * 30])
def test_an_entry_that_is_not_there_opens_no_sheet(supervisor: Console, entry: str) -> None:
    supervisor.shoe().hand("9h")
    assert "<dialog" not in supervisor.look(sheet="amend", entry=entry)
    supervisor.press("amended", entry=entry, withdraw=1, why="x")
    assert supervisor.status == 422
    assert len(supervisor.lines) == 6


# What is refused.


REFUSED = [
    pytest.param("card", {"card": "1x"}, "card", id="unknown card"),
    pytest.param("card", {"card": "", "card_suit": "h"}, "card", id="suit without rank"),
    pytest.param("card", {"card": ""}, "card", id="no card"),
    pytest.param("card", {"card": "9\x00h"}, "card", id="a null character"),
    pytest.param("card", {"card": "2c", "to": "P1"}, "to", id="occupied place"),
    pytest.param("card", {"card": "2c", "to": "Q9"}, "to", id="unknown place"),
]


@pytest.mark.parametrize("language", ["en", "th"])
@pytest.mark.parametrize(("event", "fields", "at"), REFUSED)
def test_a_refused_card_is_explained_at_its_field_and_kept(
    supervisor: Console, event: str, fields: dict[str, str], at: str, language: str
) -> None:
    supervisor.shoe().hand("9h")
    before = supervisor.lines
    supervisor.client.cookies["django_language"] = language
    supervisor.press(event, **fields)
    assert supervisor.status == 422
    assert supervisor.lines == before
    alerts = re.findall(r'<p class="field-error"( id="entry-error")? role="alert">', supervisor.page)
    assert alerts == ([' id="entry-error"'] if at == "card" else [""])
    assert f'name="card" value="{fields["card"]}"' in supervisor.page


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"card": "", "card_suit": "h"}, "Choose the rank first, then the suit."),
        ({"card": "h"}, "Choose the rank first, then the suit."),
        ({"card": "B7 9h"}, "There is no place B7."),
        ({"card": "p12"}, "There is no place P12."),
        ({"card": "B3"}, "Which card lies on B3?"),
        ({"card": "P1 9h"}, "P1 already holds 9♥"),
        ({"card": "B1 1x"}, "'1x' is not a card"),
    ],
)
def test_what_is_missing_in_a_card_is_said(supervisor: Console, typed: dict[str, str], said: str) -> None:
    supervisor.shoe().hand("9h")
    assert said in text(supervisor.press("card", **typed).page)
    assert supervisor.status == 422
    assert f'name="card" value="{typed["card"]}"' in supervisor.page
    assert text(unquote(supervisor.headers["X-Refused"])) == said


def test_a_card_in_two_pieces_is_one_card(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.press("card", card="4 s")
    supervisor.press("card", card="b3 K d")
    assert [(line["to"], line["card"]) for line in supervisor.lines[-2:]] == [("B1", "4s"), ("B3", "Kd")]


def test_a_card_is_written_as_on_the_felt_where_an_entry_rests_on_it(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.press("card", card="", card_suit="", face="down")
    supervisor.press("opened", card="4s", place="B1")
    supervisor.press("opened", card="5s", place="B1", sheet="opened")
    assert supervisor.status == 422
    assert "4s" not in text(supervisor.page)


def test_all_that_a_bet_lacks_is_said_at_once(supervisor: Console) -> None:
    supervisor.shoe().press("betting_opened")
    said = text(supervisor.press("bet").page)
    assert all(words in said for words in ("Choose the seat.", "Choose the bet.", "Enter the stake."))
    assert "is missing" not in said
    said = text(supervisor.press("bet", bet="player", stake="abc").page)
    assert "Choose the seat." in said
    assert "Choose the bet." not in said


def test_what_went_wrong_stands_under_what_it_is_about(insured: Console) -> None:
    insured.hand("9h")
    page = insured.look(sheet="wrong")
    groups = re.findall(r"<section><h3>(.*?)</h3>(.*?)</section>", page, re.DOTALL)
    assert [title for title, _keys in groups] == ["Cards", "Betting and insurance", "The hand and the shoe"]
    found = [re.findall(r'href="[^"]*[?]sheet=(\w+)', keys) for _title, keys in groups]
    assert found == [
        ["card", "opened", "exposed", "extra", "dropped", "moved", "discarded"],
        ["bet", "paid", "insurance_opened", "insurance_odds", "bet", "insurance_closed"],
        ["hand_closed", "called", "voided", "shoe_closed"],
    ]
    assert "Cut card in this hand" in groups[2][1]


@pytest.mark.parametrize("language", ["en", "th"])
def test_the_message_is_in_the_language_of_the_page(supervisor: Console, language: str) -> None:
    supervisor.shoe().hand("9h")
    supervisor.client.cookies["django_language"] = language
    supervisor.press("card", card="1x")
    with override(language):
        wanted = reason(EventError("card", "not-a-card", value="'1x'"))
    assert wanted in html.unescape(supervisor.page)


def test_an_event_out_of_turn_is_refused_in_words(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.press("betting_closed")
    assert supervisor.status == 422
    assert len(supervisor.lines) == 6
    assert 'class="notice notice-danger console-said" role="alert"' in supervisor.page


def test_a_closed_hand_takes_no_more_cards(supervisor: Console) -> None:
    supervisor.shoe().hand("9h", "4s", "Kd", "3c")
    supervisor.press("hand_closed")
    supervisor.press("card", card="2c", hand=1)
    assert supervisor.status == 422
    assert len(supervisor.lines) == 10


@pytest.mark.parametrize("event", ["hand_closed", "card"])
def test_what_is_wrong_with_no_field_is_a_sentence(supervisor: Console, event: str) -> None:
    supervisor.shoe().hand("9h", "4s", "Kd", "3c")
    supervisor.press("hand_closed")
    supervisor.press(event, hand=1, **({"card": "2c", "to": "P3"} if event == "card" else {}))
    assert supervisor.status == 422
    assert "Hand 1 is closed" in text(supervisor.page)
    assert "hand: " not in text(supervisor.page)


def test_a_second_writer_is_told_who_was_first_and_what(supervisor: Console, people: People) -> None:
    supervisor.shoe().hand("9h")
    seen = len(supervisor.lines)
    people("recorder", "rita")
    line = {"event": "card", "table": "B07", "shoe": 1, "hand": 1, "to": "B1", "card": "4s", "by": "RITA"}
    record(line, actor="rita")
    supervisor.press("card", card="4s", to="B1", seq=seen)
    assert supervisor.status == 409
    assert len(supervisor.lines) == seen + 1
    assert "RITA: 4♠ to Banker, first card" in text(supervisor.page)
    assert 'name="card" value="4s"' in supervisor.page  # what was typed
    assert f'name="seq" value="{seen + 1}"' in supervisor.page  # and the table as it is now


def test_a_second_writer_keeps_what_was_filled_into_a_sheet(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.press("voided", sheet="voided", scope="hand", reason="because", seq=2)
    assert supervisor.status == 409
    assert 'value="because"' in supervisor.page


def test_a_double_click_records_once(supervisor: Console) -> None:
    supervisor.shoe().hand()
    for _press in range(2):
        supervisor.press("card", card="9h", to="P1", key="the-same", seq=5)
        assert supervisor.status == 200
    assert [line["card"] for line in supervisor.lines if line["event"] == "card"] == ["9h"]


def test_the_same_key_for_something_else_is_refused(supervisor: Console) -> None:
    supervisor.shoe().hand()
    supervisor.press("card", card="9h", key="the-same")
    supervisor.press("card", card="8h", key="the-same")
    assert supervisor.status == 422
    assert len(supervisor.lines) == 6


def test_an_ended_session_leads_back_to_what_was_entered(supervisor: Console, people: People) -> None:
    supervisor.shoe().hand("9h")
    supervisor.client.logout()
    supervisor.press("card", card="b1 4s", key="k")
    login = supervisor.headers["HX-Redirect"]
    assert login.startswith(reverse("login"))
    supervisor.htmx = False
    assert supervisor.press("card", card="b1 4s", key="k").status == 302
    assert supervisor.headers["Location"] == login
    assert len(supervisor.lines) == 6
    response = supervisor.client.get(login)
    assert "You were logged out" in response.content.decode()
    back = supervisor.client.post(login, {"username": "sam", "password": "a-password-of-the-suite"}, follow=True)
    page = back.content.decode()
    assert 'name="card" value="b1 4s"' in page
    assert "This has not been recorded yet." in page
    assert len(supervisor.lines) == 6


def test_an_ended_session_keeps_a_sheet_too(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.client.logout()
    supervisor.press("voided", sheet="voided", scope="hand", reason="seen by a guest")
    login = supervisor.headers["HX-Redirect"]
    page = supervisor.client.post(
        login, {"username": "sam", "password": "a-password-of-the-suite"}, follow=True
    ).content.decode()
    assert 'value="seen by a guest"' in page


@pytest.mark.parametrize("event", ["", "nonsense", "amended", None])
def test_what_is_no_event_is_refused(supervisor: Console, event: str | None) -> None:
    supervisor.shoe()
    supervisor.press("card", event=event)
    assert supervisor.status == 422
    assert len(supervisor.lines) == 3


NOTHING_TO_FILL_IN = ("cut_card", "betting_opened", "betting_closed", "hand_closed")


@pytest.mark.parametrize("event", sorted(set(FORMS) - set(NOTHING_TO_FILL_IN)))
def test_rubbish_in_any_form_is_refused_where_it_stands(supervisor: Console, event: str) -> None:
    supervisor.shoe().hand("9h", "4s")
    before = len(supervisor.lines)
    for rubbish in ("", "x", "-1", "9" * 400, "🂡", "\x00", "<script>"):
        if event == "extra" and not rubbish:
            continue  # a card that nobody saw came out: that can be
        supervisor.press(event, **dict.fromkeys(FORMS[event].base_fields, rubbish))
        assert supervisor.status == 422
        assert len(supervisor.lines) == before
        assert "<script>" not in supervisor.page
        assert 'role="alert"' in supervisor.page


@pytest.mark.parametrize("name", ["shoe", "hand", "seq", "key"])
def test_rubbish_in_the_hidden_fields_is_never_an_error(supervisor: Console, name: str) -> None:
    supervisor.shoe().hand("9h")
    for rubbish in ("x", "-1", "9" * 400, "1.5"):
        supervisor.press("card", card="4s", **{name: rubbish})
        assert supervisor.status in (200, 409, 422)


@pytest.mark.parametrize("call", [" ", "\x00", "x y z", "player", "player x", "tie 7 " + "9" * 400])
@pytest.mark.parametrize("event", ["called", "card", "cards_burned", "amended"])
def test_rubbish_in_the_call_key_is_never_an_error(supervisor: Console, event: str, call: str) -> None:
    supervisor.shoe().hand("9h", "4s", "Kd", "3c")
    supervisor.press(event, call=call, count="x", card="")
    assert supervisor.status == (200 if event == "called" and call == "player" else 422)


@pytest.mark.parametrize("name", ["card", "card_rank", "card_suit", "to", "down", "face", "sheet", "entry", "withdraw"])
@pytest.mark.parametrize("event", ["card", "opened", "amended", "hand_closed"])
def test_rubbish_in_the_fields_beside_the_form_is_never_an_error(supervisor: Console, event: str, name: str) -> None:
    supervisor.shoe().hand("9h")
    for rubbish in (" ", "\x00", "9" * 400, "a b c d"):
        supervisor.press(event, key="\x00", **{name: rubbish})
        assert supervisor.status == 422


def test_an_unknown_table_is_not_found(supervisor: Console) -> None:
    for name in ("table", "record"):
        address = reverse(f"console:{name}", args=("Z99",))
        assert supervisor.client.post(address).status_code in (404, 405)
    assert supervisor.client.get(reverse("console:table", args=("Z99",))).status_code == 404
    assert supervisor.client.get(reverse("console:shoe", args=("B07", 9))).status_code == 404
    assert supervisor.client.get(reverse("console:hand", args=("B07", 9, 9))).status_code == 404


# Who may do what.


def test_a_recorder_records_but_neither_opens_nor_voids(supervisor: Console, people: People) -> None:
    rita = Console(Client(), supervisor.table)
    rita.client.force_login(people("recorder", "rita"))
    assert rita.press("shoe_opened", shoe=1, ruleset="commission").status == 403
    assert "A supervisor opens the next one" in rita.look()
    supervisor.shoe()
    assert rita.hand("9h").status == 200
    assert rita.press("voided", scope="hand", reason="no").status == 403
    assert rita.press("shoe_closed", reason="finished").status == 403
    assert "Only a supervisor or a manager may do this." in rita.page
    assert "Declare void" not in rita.look(sheet="wrong")
    assert 'name="reason"' not in rita.look(sheet="voided")
    assert rita.lines[-1]["by"] == "RITA"


def test_only_a_supervisor_amends_a_closed_hand(supervisor: Console, people: People) -> None:
    rita = Console(Client(), supervisor.table)
    rita.client.force_login(people("recorder", "rita"))
    supervisor.shoe().hand("9h", "4s", "Kd", "3c")
    rita.press("amended", entry=6, to="P1", card="9s", why="typo")
    assert rita.status == 200
    supervisor.press("hand_closed")
    rita.press("amended", entry=6, to="P1", card="9d", why="typo")
    assert rita.status == 403
    assert "sheet=which" not in rita.page
    assert supervisor.press("amended", entry=6, to="P1", card="9d", why="typo").status == 403, "it is her own entry"
    other = Console(Client(), supervisor.table)
    other.client.force_login(people("supervisor", "otto"))
    assert other.press("amended", entry=6, to="P1", card="9d", why="typo").status == 200


def test_an_auditor_sees_everything_and_has_nothing_to_press(supervisor: Console, people: People) -> None:
    supervisor.shoe().hand("9h", "4s", "3d", "Ac").press("card", card="Kd", to="B3")
    audit = Console(Client(), supervisor.table)
    audit.client.force_login(people("auditor"))
    for sheet in ("", "wrong", "voided", "amend"):
        page = audit.look(sheet=sheet, entry=6)
        assert 'data-finding="fifth-card-misplaced"' in page
        assert "<form" not in page
        assert "<button" not in page
        assert "<dialog" not in page
    assert audit.press("card", card="2c").status == 403
    assert (
        "<form" not in audit.client.get(reverse("console:hand", args=("B07", 1, 1))).content.decode().split("<main")[1]
    )


def test_somebody_without_a_role_sees_nothing(supervisor: Console, people: People) -> None:
    visitor = Client()
    visitor.force_login(people(None))
    assert visitor.get(reverse("console:tables")).status_code == 403
    assert visitor.post(reverse("console:record", args=("B07",)), {"event": "betting_opened"}).status_code == 403
    assert Client().get(reverse("console:table", args=("B07",))).status_code == 302


# Other pages.


def test_the_pit_shows_each_table_with_its_hand_result_and_findings(supervisor: Console, table: MakeTable) -> None:
    table("B09", ruleset="standard")
    supervisor.shoe().hand("9h", "4s", "Kd", "3c").press("hand_closed")
    supervisor.hand("9h", "4s", "3d", "Ac").press("card", card="Kd", to="B3")
    page = text(supervisor.client.get(reverse("console:tables")).content.decode())
    assert "Shoe 1 · Hand 2" in page
    assert "Player wins 9 to 7" in page
    assert "1 incident waits" in page
    assert "No shoe open" in page


def test_a_past_shoe_and_hand_can_be_read(supervisor: Console) -> None:
    supervisor.shoe().press("betting_opened")
    supervisor.press("bet", seat=3, bet="banker", stake="500").press("betting_closed")
    supervisor.cards("9h", "4s", "3d", "Ac").press("card", card="Kd", to="B3")
    supervisor.press("hand_closed").press("shoe_closed", reason="cancelled")
    assert Hand.objects.get().status == "closed"
    shoe = text(supervisor.client.get(reverse("console:shoe", args=("B07", 1))).content.decode())
    assert "Fifth card on the wrong place" in shoe
    assert "Banker wins 5 to 2" in shoe
    response = supervisor.client.get(reverse("console:hand", args=("B07", 1, 1)))
    hand = text(response.content.decode())
    assert "As dealt" in hand
    assert "As the rules lay it" in hand
    assert "475.00" in hand
    assert "K♦ to Banker, third card" in hand


def test_after_the_last_hand_closing_the_shoe_comes_first(supervisor: Console) -> None:
    supervisor.shoe().hand("9h", "4s").press("cut_card", during="hand")
    assert "this is the last hand of the shoe" in text(supervisor.page)
    supervisor.press("card", card="Kd").press("card", card="3c").press("hand_closed")
    page = text(supervisor.page)
    assert "No further hand is dealt from it." in page
    assert page.index("Close shoe 1") < page.index("Betting was opened all the same")
    supervisor.press("betting_opened", confirmed=1)
    assert supervisor.status == 200  # it should not have happened, but it could


# Speed.


def test_recording_a_card_asks_the_database_little(
    supervisor: Console, django_assert_max_num_queries: Any, settings: Any
) -> None:
    supervisor.shoe()
    for _hand in range(3):
        supervisor.hand("9h", "4s", "Kd", "3c").press("hand_closed")
    supervisor.hand("9h")
    address = reverse("console:record", args=("B07",))
    data = {"event": "card", "card": "4s", "to": "B1", "down": "", "shoe": 1, "hand": 4, "seq": 27, "key": "k"}
    with django_assert_max_num_queries(17):
        response = supervisor.client.post(address, data, headers=HTMX)
    assert response.status_code == 200

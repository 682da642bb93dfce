"""The shoe's life at the console: cards seen and left, the last hand, and the shoe that deals a void hand again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dealing.models import Shoe
from dealing.rules.rulesets import get_ruleset
from tests.conftest import MakeTable, People
from tests.test_console import Console
from tests.test_console_money import text

pytestmark = pytest.mark.django_db

NATURAL = ("9h", "4s", "Kd", "3c")


@pytest.fixture
def console(client: Client, people: People, table: MakeTable) -> Console:
    """A supervisor at B07 with a shoe that is ready for its first hand."""
    client.force_login(people("supervisor", "sam"))
    return Console(client, table(follow_on=False)).shoe()


def page_of(console: Console, name: str, *numbers: int) -> str:
    return text(console.client.get(reverse(f"console:{name}", args=("B07", *numbers))).content.decode())


# Cards.


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ((), "410 cards left 1 seen, 5 out unseen, of 416"),
        (NATURAL, "406 cards left 5 seen, 5 out unseen, of 416"),
        (("x", "x", "3d"), "407 cards left 2 seen, 7 out unseen, of 416"),
    ],
)
def test_cards_seen_and_left(console: Console, cards: tuple[str, ...], words: str) -> None:
    console.hand(*cards)
    assert words in text(console.page)


def test_the_shoe_page_counts_by_rank(console: Console) -> None:
    console.hand(*NATURAL)
    page = page_of(console, "shoe", 1)
    assert "406 cards left 5 seen, 5 out unseen, of 416" in page
    assert "A 0 of 32 2 0 of 32 3 1 of 32 4 1 of 32 5 1 of 32 6 0 of 32" in page
    assert "K 1 of 32" in page


# The last hand.


def test_the_last_hand_is_announced_while_it_is_dealt_and_when_it_is_over(console: Console) -> None:
    console.hand(*NATURAL[:2])
    assert "data-loud" not in console.page
    console.press("cut_card", during="hand")
    assert 'data-loud="now-1"' in console.page
    assert "this is the last hand of the shoe" in text(console.page)
    console.cards(*NATURAL[2:]).press("hand_closed")
    assert 'data-loud="done-1"' in console.page
    assert "Shoe finished: no further hand" in text(console.page)


def test_between_hands_none_may_follow(console: Console) -> None:
    console.hand(*NATURAL).press("hand_closed").press("cut_card", during="between")
    assert 'data-loud="done-1"' in console.page


BEGINNINGS: list[Any] = [
    pytest.param("betting_opened", {}, id="betting"),
    pytest.param("bet", {"seat": 3, "bet": "tie", "stake": "50"}, id="bet"),
    pytest.param("card", {"to": "P1", "card": "9h"}, id="card"),
    pytest.param("card", {"to": "B1", "card": "9h", "sheet": "card"}, id="card in a sheet"),
]


@pytest.mark.parametrize("language", ["en", "th"])
@pytest.mark.parametrize(("event", "fields"), BEGINNINGS)
def test_another_hand_is_asked_back_with_its_rules_and_can_be_recorded(
    console: Console, event: str, fields: dict[str, Any], language: str
) -> None:
    console.hand(*NATURAL).press("hand_closed").press("cut_card", during="between")
    before = console.lines
    console.client.cookies["django_language"] = language
    console.press(event, **fields)
    assert console.status == 422
    assert console.lines == before
    for rule in ("SHOE-last", "SHOE-after"):
        cited = get_ruleset("commission").cite(rule, language)
        assert cited is not None
        assert cited.text in text(console.page)
    assert ("Hand 1 was the last of this shoe" in text(console.page)) is (language == "en")
    # The way on sends the same again, and what makes it meant.
    form = next(form for form in re.findall(r"<form.*?</form>", console.page, re.S) if "confirmed" in form)
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    for name in ("csrfmiddlewaretoken", "key"):
        sent.pop(name)
    assert {"event": event, "hand": "2", "confirmed": "1"}.items() <= sent.items()
    console.press(sent.pop("event"), **sent, down=None)
    assert console.status == 200, text(console.page)
    assert console.last["event"] == event
    assert console.last["hand"] == 2


def test_a_hand_after_the_last_is_judged_like_any_other_record(console: Console) -> None:
    console.hand(*NATURAL).press("hand_closed").press("cut_card", during="between")
    console.press("betting_opened", confirmed=1).press("betting_closed").cards("9h")
    assert 'data-finding="hand-after-last"' in console.page


def test_the_last_hand_itself_is_not_asked_about(console: Console) -> None:
    console.hand("9h").press("cut_card", during="hand")
    console.cards("4s", "Kd", "3c")
    assert console.status == 200


def test_the_same_press_again_is_not_asked_about(console: Console) -> None:
    console.hand(*NATURAL).press("hand_closed").press("cut_card", during="between")
    seen = len(console.lines)
    assert console.press("betting_opened", key="the-same", seq=seen, hand=2, confirmed=1).status == 200
    assert console.press("betting_opened", key="the-same", seq=seen, hand=2).status == 200
    assert len(console.lines) == seen + 1


# Closing, and dealing again.


def test_the_reasons_for_closing_are_explained(console: Console) -> None:
    sheet = text(console.look(sheet="shoe_closed"))
    for words in ("Finished It was dealt to its end.", "Replaced It is taken out", "Cancelled Management", "Faulty"):
        assert words in sheet


def void_and_replace(console: Console, reason: str = "replaced") -> Console:
    console.hand(*NATURAL).press("hand_closed")
    console.hand(*NATURAL).press("dropped", when="opening", opened="true", card="3c")
    console.press("voided", scope="hand", reason="left the camera")
    return console.press("shoe_closed", reason=reason)


@pytest.mark.parametrize("reason", ["replaced", "faulty", "cancelled"])
def test_the_next_shoe_deals_the_void_hand_again_with_links_both_ways(console: Console, reason: str) -> None:
    void_and_replace(console, reason)
    words = "The first hand of this shoe deals hand 2 of shoe 1 again"
    # Replacing leads on to the next shoe, and says what it is for.
    assert words in text(console.page)
    assert 'value="shoe_opened"' in console.page
    console.press("shoe_opened", shoe=2, ruleset="commission", decks=8)
    console.press("burn_card", card="5h").press("cards_burned", count=5)
    assert words in text(console.page)
    assert reverse("console:hand", args=("B07", 1, 2)) in console.page
    assert "Dealt again as" not in page_of(console, "hand", 1, 2)  # not yet
    console.hand(*NATURAL)
    assert words in text(console.page)
    assert words in page_of(console, "shoe", 2)
    assert "Deals hand 2 of shoe 1 again" in page_of(console, "hand", 2, 1)
    assert "dealt again as hand 1 of shoe 2" in page_of(console, "shoe", 1)
    assert "Dealt again as hand 1 of shoe 2" in page_of(console, "hand", 1, 2)
    assert "Dealt again as" not in page_of(console, "hand", 1, 1)
    console.press("hand_closed")
    assert words not in text(console.page)


@pytest.mark.parametrize("reason", ["finished", "replaced"])
def test_a_shoe_that_ended_otherwise_is_followed_by_an_ordinary_one(console: Console, reason: str) -> None:
    if reason == "finished":
        void_and_replace(console, reason)
    else:
        console.hand(*NATURAL).press("hand_closed").press("shoe_closed", reason=reason)
    assert Shoe.objects.get().closed_reason == reason
    assert "again" not in text(console.page)


# What the console says of findings.


def test_findings_of_one_code_in_a_row_are_one_box(console: Console) -> None:
    console.press("betting_opened").cards(*NATURAL)
    assert console.page.count('data-finding="exposed-during-betting"') == 1
    box = console.page[console.page.index('data-finding="exposed-during-betting"') :]
    box = box[: box.index("</details>")]
    assert "4 times" in text(box)
    assert box.count("card-inline") == 4


def test_betting_that_was_only_not_recorded_as_closed_is_put_right_in_the_record(console: Console) -> None:
    console.press("betting_opened").cards(*NATURAL)
    assert "Was betting closed at the table, only not here?" in text(console.page)
    entry = re.search(r'<div class="slip">.*?name="entry" value="(\d+)"', console.page, re.S)
    assert entry
    console.press("amended", entry=entry[1], withdraw=1, why="not recorded in time")
    assert console.status == 200
    assert "data-finding" not in console.page
    assert "Player wins 9 to 7" in text(console.page)


def test_also_when_it_was_recorded_as_closed_too_late(console: Console) -> None:
    console.press("betting_opened").cards(*NATURAL).press("betting_closed")
    presses = 0
    while "data-finding" in console.page:
        entry = re.search(r'<div class="slip">.*?name="entry" value="(\d+)"', console.page, re.S)
        assert entry
        assert presses < 2
        console.press("amended", entry=entry[1], withdraw=1, why="not recorded in time")
        presses += 1
    assert presses == 2


def test_a_card_seen_during_betting_is_no_slip(console: Console) -> None:
    console.press("betting_opened").press("exposed", when="betting", card="9h")
    assert 'data-finding="exposed-during-betting"' in console.page
    assert 'class="slip"' not in console.page


@pytest.mark.parametrize(
    ("event", "fields", "line"),
    [
        ("card", {"card": "7d", "to": "B3"}, {"event": "discarded", "hand": 1, "place": "B3"}),
        ("extra", {"card": "7d", "face": "up"}, {"event": "discarded", "hand": 1, "extra": True}),
        ("exposed", {"when": "drawing", "card": "7d"}, {"event": "discarded", "hand": 1, "extra": True}),
    ],
)
def test_an_extra_card_is_burned_with_one_press(
    console: Console, event: str, fields: dict[str, str], line: dict[str, Any]
) -> None:
    console.hand(*NATURAL).press(event, **fields)
    form = console.page[: console.page.index('id="burn-button"')]
    place = re.findall(r'name="place" value="(\w+)"', form)[-1]
    assert "Burn 7♦" in text(console.page)
    console.press("discarded", place=place)
    assert console.last == line
    assert "Corrected" in text(console.page)
    assert "burn-button" not in console.page


def test_an_extra_card_face_down_is_not_burned_by_itself(console: Console) -> None:
    console.hand(*NATURAL).press("card", card="", to="B3", face="down")
    assert 'data-finding="card-overdrawn"' in console.page
    assert "burn-button" not in console.page

"""In a hurry, with a phone in one hand: what is seen while something is wrong, and what a tap too many does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from dealing.log import record_many
from tests.browser.floor import PHONE, call, device, lines, open_shoe, phase, press, recorded, tap, told
from tests.conftest import MakeTable, People

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

expect.set_options(timeout=15_000)

MISPLACED = ("2h", "4s", "3d", "Kc")


@pytest.fixture
def sam(live_server: Any, browser: Browser, people: People, table: MakeTable) -> Iterator[Page]:
    """A phone at a table, betting open on the first hand."""
    people("recorder", "sam")
    table()
    open_shoe()
    page = device(browser, live_server.url, viewport=PHONE, has_touch=True)
    yield page
    page.context.close()


def deal(*cards: str, hand: int = 1, **places: str) -> None:
    """Betting closed and these cards dealt to the places due; then those of `places`."""
    common: dict[str, object] = {"table": "B07", "shoe": 1, "hand": hand}
    due = zip(("P1", "B1", "P2", "B2"), cards, strict=False)
    dealt = [{**common, "event": "card", "to": to, "card": card} for to, card in (*due, *places.items())]
    record_many([{**common, "event": "betting_closed"}, *dealt], actor="sam")


def test_while_a_card_lies_wrong_a_phone_shows_all_cards_and_where_it_goes(sam: Page) -> None:
    deal(*MISPLACED, B3="6h")
    recorded(sam, 10)
    dock = sam.locator(".console-dock").bounding_box()
    assert dock
    seen = [*sam.locator(".felt .card").all(), *sam.locator(".felt-place-name:not([aria-hidden])").all()]
    assert len(seen) == 10
    for shown in (*seen, sam.locator(".felt-mark"), sam.locator(".finding-title"), sam.locator("#due")):
        box = shown.bounding_box()
        assert box
        assert box["y"] + box["height"] <= dock["y"], shown.inner_text()
    expect(sam.locator("#move-button")).to_be_in_viewport(ratio=1)
    # In one line; the rest is there when asked for.
    finding = sam.locator(".console-finding")
    line = finding.bounding_box()
    assert line
    assert line["height"] <= 50
    expect(finding.locator(".finding-facts")).to_be_hidden()
    finding.locator("summary").click()
    expect(finding.locator(".finding-facts")).to_contain_text("Correct")
    expect(finding.locator(".console-finding-more")).to_be_visible()
    incident = sam.get_by_role("link", name="Open the incident of this hand").bounding_box()
    assert incident
    assert min(incident["width"], incident["height"]) >= 44


def test_the_cut_card_comes_out_in_a_hand_with_one_tap(sam: Page) -> None:
    sam.get_by_role("button", name="Close betting").click()
    tap(sam, "9h")
    sam.context.set_offline(True)
    tap(sam, "4s")
    press(sam, "Cut card came out")
    for card in ("Kd", "3c"):
        tap(sam, card)
    phase(sam, "complete")
    expect(sam.locator(".call-right")).to_contain_text("and close the hand")
    sam.context.set_offline(False)
    recorded(sam, 10)
    assert told(6) == ["card B1 4s", "cut_card", "card P2 Kd", "card B2 3c"]
    assert lines()[7]["hand"] == 1
    call(sam)
    recorded(sam, 12)
    expect(sam.locator("#console")).to_contain_text("No further hand is dealt from it.")


def test_a_second_tap_counts_as_a_first_and_still_presses_nothing_new(sam: Page) -> None:
    """As browsers on phones report it: every tap is the first of its kind."""
    deal("9h", "4s", "Kd", "3c")
    recorded(sam, 9)
    expect(sam.locator(".call-right")).to_be_visible()
    # All at once, so that no time is lost between them: the call, and what has come into its place then.
    sam.evaluate(
        """() => {
            const at = { bubbles: true, cancelable: true, detail: 1, clientX: 90, clientY: 500 };
            const tap = (button) => button.dispatchEvent(new MouseEvent("click", at));
            const next = () => document.querySelector('[data-when="betting"] form button');
            tap(document.querySelector(".call-right"));
            tap(next());
            tap(next());
        }"""
    )
    recorded(sam, 12)
    sam.wait_for_timeout(400)
    assert told(9) == ["called", "hand_closed", "betting_opened"]
    # A little later it is meant.
    sam.get_by_role("button", name="Close betting").click()
    recorded(sam, 13)


def test_the_key_that_leads_to_the_field_is_no_text_in_it(sam: Page) -> None:
    deal("9h")
    recorded(sam, 6)
    field = sam.locator("#entry-card")
    sam.keyboard.press("/")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    sam.keyboard.type("/4/s/")
    expect(field).to_have_value("4s")
    sam.keyboard.press("Enter")
    recorded(sam, 7)
    assert told(6) == ["card B1 4s"]


def test_after_all_is_paid_nothing_is_said_to_be_due(sam: Page) -> None:
    bet = {"table": "B07", "shoe": 1, "hand": 1, "event": "bet", "seat": 3, "bet": "player", "stake": "100"}
    record_many([bet], actor="sam")
    deal("9h", "4s", "Kd", "3c")
    recorded(sam, 10)
    call(sam)
    recorded(sam, 11)
    held: list[Route] = []
    sam.route("**/record/", lambda route: held.append(route))
    sam.get_by_role("button", name=re.compile("All paid")).click()
    expect(sam.locator("#console")).to_have_attribute("data-ahead", "")
    expect(sam.locator("#due")).to_contain_text("Player wins 9 to 7")
    expect(sam.locator("#console")).not_to_contain_text("What is due is known")
    held[0].continue_()
    recorded(sam, 14)
    assert told(11) == ["paid", "hand_closed", "betting_opened"]


def strike_twice(page: Page, key: str, apart: int) -> None:
    """Two taps on one spot, by a finger that shakes."""
    box = page.locator(key).bounding_box()
    assert box
    for _n in range(2):
        page.touchscreen.tap(box["x"] + 20, box["y"] + 20)
        page.wait_for_timeout(apart)


def test_a_suit_struck_twice_at_once_is_one_card_and_no_error(sam: Page) -> None:
    deal("9h")
    recorded(sam, 6)
    sam.locator('#entry label.key:has(input[value="4"])').click()
    strike_twice(sam, "#suit-s", 40)
    recorded(sam, 7)
    sam.wait_for_timeout(400)
    expect(sam.locator("#entry .field-error")).to_have_count(0)
    assert told(6) == ["card B1 4s"]


def test_a_rank_that_is_a_whole_card_is_struck_twice_in_time_or_once(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    people("recorder", "sam")
    table(ranks_only=True)
    open_shoe()
    page = device(browser, live_server.url, viewport=PHONE, has_touch=True)
    press(page, "Close betting")
    recorded(page, 5)
    strike_twice(page, "#rank-7", 40)
    page.wait_for_timeout(400)
    recorded(page, 6)
    strike_twice(page, "#rank-7", 400)
    recorded(page, 8)
    assert told(5) == ["card P1 7", "card B1 7", "card P2 7"]


def test_what_comes_under_a_finger_is_not_unfolded_by_its_second_tap(sam: Page) -> None:
    deal("9h", "4s", "Kd")
    recorded(sam, 8)
    sam.evaluate(
        """() => {
            const at = { bubbles: true, cancelable: true, detail: 1, clientX: 90, clientY: 700 };
            const tap = (key) => document.querySelector(key).dispatchEvent(new MouseEvent("click", at));
            document.querySelector('#entry input[value="3"]').checked = true;
            tap("#suit-c");
            tap(".dock-more > summary");
        }"""
    )
    recorded(sam, 9)
    expect(sam.locator(".dock-more")).not_to_have_attribute("open", "")


def cards_are_seen(page: Page) -> None:
    """Nothing lies over the felt, and the keys reach to the lower edge of the screen or stand above it."""
    felt, dock = page.locator(".felt").bounding_box(), page.locator(".console-dock").bounding_box()
    assert felt
    assert dock
    assert felt["y"] + felt["height"] <= dock["y"]
    assert dock["y"] + dock["height"] <= PHONE["height"]
    expect(page.locator("#wrong-button")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("language", ["en", "th"])
def test_a_phone_shows_every_card_whatever_else_is_asked(
    live_server: Any, browser: Browser, people: People, table: MakeTable, language: str
) -> None:
    people("recorder", "sam")
    table(ruleset="insurance")
    open_shoe(ruleset="insurance")
    hand: dict[str, object] = {"table": "B07", "shoe": 1, "hand": 1}
    bets = [{**hand, "event": "bet", "seat": seat, "bet": "player", "stake": "100"} for seat in (1, 2, 3, 4)]
    record_many(bets, actor="sam")
    page = device(browser, live_server.url, viewport=PHONE, has_touch=True)
    page.locator(f'.languages [value="{language}"]').click()
    expect(page.locator("html")).to_have_attribute("lang", language)
    deal("3h", "4s", "Ac", "2d")  # Player draws, and Banker can be insured
    recorded(page, 13)
    expect(page.locator(".insurance-offer")).to_be_visible()
    cards_are_seen(page)
    expect(page.locator("#suit-c")).to_be_in_viewport(ratio=1)
    page.locator(".insurance-offer button").click()
    recorded(page, 14)
    cards_are_seen(page)
    expect(page.locator(".insurance-clock, #insurance-title").first).to_be_in_viewport(ratio=1)
    # What is wrong with a card is scrolled to, under the bets of insurance.
    page.fill("#entry-card", "P1 9h")
    page.press("#entry-card", "Enter")
    said = page.locator("#entry .field-error")
    expect(said).to_contain_text("P1")
    expect(said).to_be_in_viewport(ratio=1)
    foot, box = page.locator(".dock-foot").bounding_box(), said.bounding_box()
    assert foot
    assert box
    assert box["y"] + box["height"] <= foot["y"] + 1
    cards_are_seen(page)
    page.fill("#entry-card", "")
    page.locator(".insurance-close").click()
    recorded(page, 15)
    record_many([{**hand, "event": "card", "to": "P3", "card": "5h"}, {**hand, "event": "cut_card"}], actor="sam")
    recorded(page, 17)
    cards_are_seen(page)  # the result is asked for, and four bets are to be paid
    page.locator(".dock-more > summary").click()
    cards_are_seen(page)
    page.context.set_offline(True)
    call(page)
    expect(page.locator("#unsent")).to_be_visible()
    cards_are_seen(page)
    page.context.set_offline(False)


def test_the_keys_stay_where_they_are_when_a_third_card_is_due(sam: Page) -> None:
    deal("2h", "4s", "3d")
    recorded(sam, 8)
    key = sam.locator("#suit-s")
    before = key.bounding_box()
    sam.keyboard.type("Kc")
    sam.keyboard.press("Enter")
    recorded(sam, 9)
    expect(sam.locator("#console")).to_have_attribute("data-tight", "")
    after = key.bounding_box()
    assert before
    assert after
    assert abs(after["y"] - before["y"]) < before["height"] / 2
    cards_are_seen(sam)


def test_undo_says_all_that_it_takes_back(sam: Page) -> None:
    deal("9h", "4s", "Kd", "3c")
    recorded(sam, 9)
    call(sam)
    recorded(sam, 12)
    expect(sam.locator("#undo-button")).to_contain_text("Result called, Hand closed, Betting opened")
    press(sam, "Undo typing")
    recorded(sam, 15)
    expect(sam.locator("#undo-button")).to_contain_text("3♣ to Banker, second card")


def test_who_deals_stands_apart_from_what_opens_the_shoe(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    people("supervisor", "sam")
    table()
    page = device(browser, live_server.url, viewport=PHONE, has_touch=True)
    for size in (PHONE, ViewportSize(width=1180, height=820)):
        page.set_viewport_size(size)
        dock, dealer = page.locator(".console-dock").bounding_box(), page.locator("#dealer-now").bounding_box()
        assert dock
        assert dealer
        assert dealer["y"] - dock["y"] - dock["height"] >= 12

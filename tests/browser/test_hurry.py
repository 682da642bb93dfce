"""In a hurry, with a phone in one hand: what is seen while something is wrong, and what a tap too many does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

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

"""The console in a browser: a shoe from its first card, by finger and by keyboard, on a phone and on a desk."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, ViewportSize, expect

from dealing.models import TableEvent
from tests.browser.floor import PHONE, TABLET, let_in, pause
from tests.conftest import PASSWORD, MakeTable, People

# On the other database too: a shoe through, and a session that ends. Keys, sizes and haste are the page's own.
pytestmark = pytest.mark.django_db(transaction=True)

Enter = Callable[..., None]


@pytest.fixture
def console(live_server: Any, page: Page, people: People, table: MakeTable) -> Page:
    """A supervisor at the console of B07, no shoe open yet."""
    people("supervisor", "sam")
    table("B07", ruleset="commission")
    page.set_default_timeout(15_000)
    expect.set_options(timeout=15_000)
    let_in(page.context, live_server.url, "sam")
    page.goto(f"{live_server.url}/tables/B07/")
    expect(page.locator("#console")).to_be_visible()
    return page


def lines() -> list[dict[str, Any]]:
    return [json.loads(row.payload) for row in TableEvent.objects.order_by("seq")]


def recorded(page: Page, count: int) -> None:
    """Wait until the page shows the table after so many events."""
    expect(page.locator("#console")).to_have_attribute("data-seq", str(count))


def press(page: Page, name: str, count: int | None = None) -> None:
    """Press the button or link of this name."""
    pause(page)
    page.locator("#console").get_by_text(name, exact=False).locator("visible=true").first.click()
    if count is not None:
        recorded(page, count)


def tap(page: Page, rank: str, suit: str, count: int) -> None:
    page.locator(f'#entry label.key:has(input[value="{rank}"])').click()
    page.locator(f"#suit-{suit}").click()
    recorded(page, count)


def type_card(page: Page, text: str, count: int) -> None:
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    recorded(page, count)


def test_a_shoe_a_clean_hand_a_misplaced_fifth_card_and_a_typing_mistake(console: Page) -> None:
    press(console, "Open the shoe", 1)
    tap(console, "J", "h", 2)
    expect(console.get_by_role("heading", name="Jack: burn 10")).to_be_visible()
    press(console, "Record the burn", 3)
    # A clean hand.
    press(console, "Open betting", 4)
    press(console, "Close betting", 5)
    for n, (rank, suit) in enumerate((("9", "h"), ("4", "s"), ("K", "d"), ("3", "c"))):
        tap(console, rank, suit, 6 + n)
    expect(console.locator("#due")).to_contain_text("Player wins 9 to 7")
    expect(console.locator("#due")).to_contain_text("Natural 9 for Player: no third card")
    # The right call closes the hand and opens betting on the next.
    expect(console.locator(".call-right")).to_contain_text("and next hand")
    console.locator(".call-right").click()
    recorded(console, 12)
    # The fifth card on the wrong place, and moved where it belongs.
    press(console, "Close betting", 13)
    for n, (rank, suit) in enumerate((("9", "h"), ("4", "s"), ("3", "d"), ("A", "c"))):
        tap(console, rank, suit, 14 + n)
    expect(console.locator("#due")).to_contain_text("Player draws on 2")
    console.locator('#entry .place:has-text("B3")').click()
    tap(console, "K", "d", 18)
    finding = console.locator('[data-finding="fifth-card-misplaced"]')
    expect(finding).to_contain_text("INC-order")
    press(console, "Something went wrong")
    press(console, "Card moved")
    expect(console.locator("#console")).to_have_attribute("data-seq", "18")
    console.get_by_role("dialog").get_by_role("button", name="Record").click()
    recorded(console, 19)
    expect(console.get_by_role("dialog")).to_have_count(0)
    expect(finding).to_contain_text("Corrected")
    assert lines()[-1]["from"] == "B3"
    assert lines()[-1]["to"] == "P3"
    # A typing mistake: the table is right, the record is not.
    console.locator("#entry-17 .entry-fix").click()
    expect(console.get_by_text("The record is wrong, the table is right.")).to_be_visible()
    press(console, "Correct the record")
    dialog = console.get_by_role("dialog")
    dialog.locator('label.key:has(input[value="2"])').click()
    expect(dialog.locator("[name=card]")).to_have_value("2")
    dialog.locator('label.key:has(input[value="s"])').click()
    dialog.get_by_role("button", name="Correct the entry").click()
    recorded(console, 20)
    assert lines()[-1]["entry"]["card"] == "2s"
    expect(console.locator("#entry-17")).to_have_class(re.compile("timeline-struck"))


@pytest.mark.sqlite
def test_by_keyboard_alone(console: Page) -> None:
    keyboard = console.keyboard
    expect(console.get_by_role("button", name="Open the shoe")).to_be_focused()
    keyboard.press("Enter")
    recorded(console, 1)
    type_card(console, "5h", 2)
    keyboard.press("Enter")
    recorded(console, 3)
    keyboard.press("Enter")
    recorded(console, 4)
    keyboard.press("Enter")
    recorded(console, 5)
    expect(console.locator("#entry-card")).to_be_focused()
    for n, card in enumerate(("9h", "10d", "3d", "b3 ac")):
        type_card(console, card, 6 + n)
        expect(console.locator("#entry-card")).to_be_focused()
    assert [(line["to"], line["card"]) for line in lines()[5:]] == [
        ("P1", "9h"),
        ("B1", "Td"),
        ("P2", "3d"),
        ("B3", "Ac"),
    ]
    # What is wrong is said at the field, and what was typed is kept there.
    keyboard.type("zz")
    keyboard.press("Enter")
    expect(console.locator("#entry-error")).to_contain_text("zz")
    expect(console.locator("#entry-card")).to_have_value("zz")
    # The sheet opens, closes with Escape, and leaves the table as it was.
    console.locator("#wrong-button").focus()
    keyboard.press("Enter")
    expect(console.get_by_role("dialog")).to_be_visible()
    keyboard.press("Escape")
    expect(console.get_by_role("dialog")).to_have_count(0)
    recorded(console, 9)


@pytest.mark.sqlite
def test_cards_typed_faster_than_the_answers_come(console: Page) -> None:
    press(console, "Open the shoe", 1)
    tap(console, "5", "h", 2)
    press(console, "Record the burn", 3)
    press(console, "Open betting", 4)
    press(console, "Close betting", 5)

    # One answer is held back while the next card is typed and sent.
    def later(route: Route) -> None:
        time.sleep(0.3)
        route.continue_()

    console.route("**/record/", later)
    console.locator("#entry-card").focus()
    console.keyboard.type("9h")
    console.keyboard.press("Enter")
    console.keyboard.type("4s")
    console.keyboard.press("Enter")
    recorded(console, 7)
    assert [line["card"] for line in lines()[5:]] == ["9h", "4s"]
    expect(console.locator("#entry-card")).to_have_value("")


@pytest.mark.sqlite
def test_a_double_click_records_once(console: Page) -> None:
    console.get_by_role("button", name="Open the shoe").dblclick()
    recorded(console, 1)
    assert [line["event"] for line in lines()] == ["shoe_opened"]


def test_an_ended_session_keeps_the_card_and_sends_it_after_the_log_in(console: Page) -> None:
    press(console, "Open the shoe", 1)
    console.context.clear_cookies(name="sessionid")
    console.fill("#entry-card", "5h")
    console.press("#entry-card", "Enter")
    expect(console.locator("#unsent")).to_contain_text("You are logged out")
    expect(console.locator("#unsent")).to_contain_text("not sent: 1")
    console.locator("#unsent").get_by_role("link", name="Log in").click()
    console.fill("[name=username]", "sam")
    console.fill("[name=password]", PASSWORD)
    console.press("[name=password]", "Enter")
    recorded(console, 2)
    assert lines()[-1]["card"] == "5h"
    expect(console.locator("#unsent")).to_be_hidden()


@pytest.mark.sqlite
def test_nothing_that_matters_is_below_the_fold_while_dealing(console: Page) -> None:
    press(console, "Open the shoe", 1)
    tap(console, "5", "h", 2)
    press(console, "Record the burn", 3)
    press(console, "Open betting", 4)
    press(console, "Close betting", 5)
    for n, (rank, suit) in enumerate((("9", "h"), ("4", "s"), ("3", "d"), ("A", "c"))):
        tap(console, rank, suit, 6 + n)
    for language in ("en", "th"):
        console.locator(f'.languages [value="{language}"]').click()
        expect(console.locator("html")).to_have_attribute("lang", language)
        for size in (PHONE, TABLET):
            console.set_viewport_size(size)
            console.reload()
            recorded(console, 9)
            nothing_is_below_the_fold(console, size)


def nothing_is_below_the_fold(console: Page, size: ViewportSize) -> None:
    height = size["height"]
    console.evaluate("document.fonts.ready")
    for selector in (
        ".felt .card >> nth=3",
        "#due",
        "#entry-card",
        "#suit-c",
        "#face-down",
        "#wrong-button",
        "#undo-button",
    ):
        box = console.locator(selector).bounding_box()
        assert box is not None, selector
        assert box["y"] >= 0, selector
        assert box["y"] + box["height"] <= height, selector
    # The keys lie over neither what is due nor the four cards.
    dock = console.locator(".console-dock").bounding_box()
    assert dock is not None
    for selector in ("#due", ".felt .card >> nth=3"):
        box = console.locator(selector).bounding_box()
        assert box is not None, selector
        assert box["y"] + box["height"] <= dock["y"] + 1 or box["x"] + box["width"] <= dock["x"], selector
    keys = [key.bounding_box() for key in console.locator("#entry .pad .key").all()]
    assert len(keys) == 18
    assert all(box and box["width"] >= 56 and box["height"] >= 56 for box in keys)
    assert console.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.sqlite
def test_no_inline_style_or_script_is_asked_for(console: Page) -> None:
    said: list[str] = []
    console.on(
        "console", lambda message: said.append(message.text) if "Content Security Policy" in message.text else None
    )
    press(console, "Open the shoe", 1)
    tap(console, "5", "h", 2)
    press(console, "Something went wrong")
    expect(console.get_by_role("dialog")).to_be_visible()
    assert [words for words in said if "Content Security Policy" in words] == []

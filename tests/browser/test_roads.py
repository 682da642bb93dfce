"""The table display in a browser: it keeps itself up to date, and shows the newest end of a long road."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Response, expect

from dealing.log import record, record_many
from tests.browser.floor import let_in
from tests.conftest import MakeTable, People
from tests.table_logs import NATURAL, Lines

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

BANKER = "P1:2h B1:9s P2:Td B2:Kc"
#: A line of Player as long as this and its tail, and then the sides in turn.
LONG = [*[NATURAL] * 9, *[BANKER, NATURAL] * 15]


@pytest.fixture
def lines(table: MakeTable) -> Lines:
    """A table with a shoe of many columns."""
    table()
    lines = Lines()
    log = lines.open()
    for number, cards in enumerate(LONG, start=1):
        log += lines.hand(number, cards)
    record_many(log, actor="test")
    return lines


@pytest.fixture
def display(live_server: Any, page: Page, people: People, lines: Lines) -> Page:
    """An auditor before the display of B07."""
    people("auditor", "prasert")
    page.set_default_timeout(15_000)
    let_in(page.context, live_server.url, "prasert")
    page.goto(f"{live_server.url}/tables/B07/display/")
    expect(page.locator("#display")).to_be_visible()
    return page


def test_a_result_appears_by_itself_and_nothing_is_sent_meanwhile(display: Page, lines: Lines) -> None:
    errors: list[str] = []
    display.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    answers: list[int] = []

    def note(response: Response) -> None:
        if "/display/live/" in response.url:
            answers.append(response.status)

    display.on("response", note)
    *begun, end = lines.hand(len(LONG) + 1, BANKER)
    record_many(begun, actor="test")
    head = display.locator(".display-head")
    expect(head).to_contain_text(f"Hand {len(LONG) + 1}", timeout=15_000)
    expect(display.locator("#display-result")).to_contain_text("Player wins")
    display.wait_for_timeout(2500)
    record(end, actor="test")
    expect(display.locator("#display-result")).to_contain_text("Banker wins 9 to 2", timeout=15_000)
    display.wait_for_timeout(1500)
    assert answers.count(200) == 2
    assert 204 in answers
    assert not errors


def test_the_newest_columns_are_in_sight_on_a_phone(display: Page) -> None:
    display.set_viewport_size({"width": 390, "height": 844})
    display.reload()
    assert display.evaluate("document.documentElement.scrollWidth <= innerWidth")
    frame = display.locator(".road-of-big .road-scroll")
    wide, narrow = frame.evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert wide > narrow
    ends = frame.evaluate("e => e.getBoundingClientRect().right - e.firstElementChild.getBoundingClientRect().right")
    assert abs(ends) <= 2
    # The older ones are a swipe, or a press of the arrow key, away.
    frame.evaluate("e => e.scrollBy(-e.scrollWidth, 0)")
    starts = frame.evaluate("e => e.getBoundingClientRect().left - e.firstElementChild.getBoundingClientRect().left")
    assert abs(starts) <= 2

"""A device whose clock is of another part of the world: every time on the page is the house's all the same."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.floor import log_in, open_shoe, press
from tests.conftest import MakeTable, People

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

HOUSE = ZoneInfo("Asia/Bangkok")


def near(text: str) -> bool:
    """Whether a time of day is that of the house, to some minutes."""
    found = re.search(r"(\d\d):(\d\d):\d\d", text)
    assert found, text
    now = dt.datetime.now(HOUSE)
    apart = abs(now.hour * 60 + now.minute - int(found[1]) * 60 - int(found[2]))
    return min(apart, 24 * 60 - apart) < 5


def test_what_is_not_sent_bears_the_time_of_the_house(
    browser: Browser, live_server: Any, people: People, table: MakeTable
) -> None:
    people("supervisor", "sam")
    table()
    open_shoe()
    context = browser.new_context(
        locale="en-GB", timezone_id="Pacific/Auckland", viewport={"width": 390, "height": 844}
    )
    context.set_default_timeout(15_000)
    page = context.new_page()
    log_in(page, live_server.url, "sam")
    logged = page.locator("#entry-4 time")
    context.set_offline(True)
    press(page, "Close betting")
    page.locator("#unsent").get_by_role("button", name="Show").click()
    waiting = page.locator("#unsent-list li").first
    expect(waiting).to_contain_text("Close betting")
    assert near(waiting.inner_text())
    assert near(logged.text_content() or "")
    context.close()


def test_the_pit_tells_since_when_it_knows_nothing_in_the_time_of_the_house(
    browser: Browser, live_server: Any, people: People, table: MakeTable
) -> None:
    people("supervisor", "sam")
    table()
    open_shoe()
    context = browser.new_context(
        locale="en-GB", timezone_id="Pacific/Auckland", viewport={"width": 390, "height": 844}
    )
    page = context.new_page()
    log_in(page, live_server.url, "sam")
    page.goto(f"{live_server.url}/tables/")
    page.route("**/tables/live/**", lambda route: route.abort())
    expect(page.locator("[data-pit-stale]")).to_be_visible(timeout=15_000)
    assert near(page.locator("[data-pit-stale-since]").inner_text())
    context.close()

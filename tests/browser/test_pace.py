"""The pace of a table: how few presses a hand takes, by finger and by key, and what the page weighs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dealing.log import record_many
from tests.browser.floor import PHONE, Server, call, device, lines, log_in, open_shoe, phase, press, recorded, tap, told
from tests.conftest import MakeTable, People
from tests.table_logs import simulated

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

expect.set_options(timeout=15_000)

#: What the first view of a console may weigh as it goes over the wire, in bytes.
WEIGHT = 150_000
CLEAN = [
    "betting_closed",
    "card P1 9",
    "card B1 4",
    "card P2 K",
    "card B2 3",
    "called",
    "hand_closed",
    "betting_opened",
]


@pytest.fixture
def ranks(live_server: Any, browser: Browser, people: People, table: MakeTable) -> Iterator[Page]:
    """A phone at a table that records ranks alone, betting open on the first hand."""
    people("recorder", "sam")
    table(ranks_only=True)
    open_shoe()
    page = device(browser, live_server.url, viewport=PHONE, has_touch=True)
    yield page
    page.context.close()


def test_a_clean_hand_takes_six_taps(ranks: Page) -> None:
    ranks.evaluate("window.taps = 0; document.addEventListener('click', () => { window.taps += 1 }, true)")
    for hand in (1, 2):
        press(ranks, f"Close betting · hand {hand}")
        for card in ("9", "4", "K", "3"):
            tap(ranks, card)
        call(ranks)
        recorded(ranks, 4 + 8 * hand)
    assert ranks.evaluate("window.taps") == 12
    assert told(4) == CLEAN * 2
    assert [line["hand"] for line in lines()[4:12]] == [1] * 7 + [2]
    expect(ranks.locator("#console")).to_have_attribute("data-seq", "20")


def test_no_tap_waits_for_the_server(ranks: Page) -> None:
    """Six taps with no answer in between: all of them count."""
    held: list[Any] = []
    ranks.route("**/record/", lambda route: route.continue_() if held else held.append(route))
    press(ranks, "Close betting · hand 1")
    for card in ("9", "4", "K", "3"):
        tap(ranks, card)
    call(ranks)
    phase(ranks, "betting")
    expect(ranks.get_by_role("button", name="Close betting · hand 2")).to_be_visible()
    expect(ranks.locator("#unsent")).to_contain_text("not sent: 6")
    held[0].continue_()
    recorded(ranks, 12)
    assert told(4) == CLEAN


def test_a_whole_hand_by_keyboard_alone(live_server: Any, browser: Browser, people: People, table: MakeTable) -> None:
    people("recorder", "sam")
    table(ranks_only=True)
    open_shoe()
    page = device(browser, live_server.url)
    expect(page.get_by_role("button", name="Close betting")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#entry-card")).to_be_focused()
    for card in ("2", "4", "3", "a", "6", "k"):
        page.keyboard.type(card)
        page.keyboard.press("Enter")
    phase(page, "complete")
    expect(page.locator(".call-right")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Close betting · hand 2")).to_be_focused()
    recorded(page, 14)
    cards = ["card P1 2", "card B1 4", "card P2 3", "card B2 A", "card P3 6", "card B3 K"]
    assert told(4) == ["betting_closed", *cards, "called", "hand_closed", "betting_opened"]
    page.context.close()


def test_in_thai_on_a_phone_without_the_network(ranks: Page) -> None:
    ranks.locator('.languages [value="th"]').click()
    expect(ranks.locator("html")).to_have_attribute("lang", "th")
    ranks.wait_for_function("() => window.deviceQueue && window.tableConsole")
    expect(ranks.locator("#console")).to_have_attribute("data-layout", "0")
    ranks.context.set_offline(True)
    press(ranks, "ปิดรับเดิมพัน")
    for card in ("9", "4", "K", "3"):
        tap(ranks, card)
    expect(ranks.locator("#unsent")).to_contain_text("ยังไม่ส่ง: 5")
    expect(ranks.locator(".due-words")).to_contain_text("ผู้เล่นชนะ")
    assert not re.search(r"[A-Za-z]{4,}", ranks.locator("#unsent").inner_text())
    box = ranks.locator("#unsent").bounding_box()
    assert box
    assert box["y"] == 0
    assert box["width"] == PHONE["width"]
    call(ranks)
    ranks.context.set_offline(False)
    recorded(ranks, 12)
    assert told(4) == CLEAN


def test_the_first_view_weighs_little(
    db: None, browser: Browser, people: People, table: MakeTable, tmp_path: Path
) -> None:
    """All that a browser with an empty cache gets from the production server: page, styles, scripts, fonts, data."""
    people("recorder", "sam")
    table()
    record_many(simulated(shoes=1, hands=70), actor="sam")  # a whole shoe is in the roads
    server = Server(production=tmp_path)
    try:
        context = browser.new_context(locale="th-TH")
        page = device_of(context, server.address)
        page.locator('.languages [value="th"]').click()
        expect(page.locator("html")).to_have_attribute("lang", "th")
        state = context.storage_state()
        context.close()
        fresh = browser.new_context(storage_state=state)
        page = fresh.new_page()
        wire = fresh.new_cdp_session(page)
        sizes: dict[str, int] = {}
        addresses: dict[str, str] = {}
        wire.on("Network.responseReceived", lambda said: addresses.update({said["requestId"]: said["response"]["url"]}))
        wire.on(
            "Network.loadingFinished",
            lambda said: sizes.update({addresses.get(said["requestId"], "?"): int(said["encodedDataLength"])}),
        )
        wire.send("Network.enable")
        page.goto(f"{server.address}/tables/B07/")
        page.wait_for_function("() => window.deviceQueue && window.tableConsole")
        page.evaluate("document.fonts.ready")
        expect(page.locator("html")).to_have_attribute("lang", "th")
        page.wait_for_function("() => performance.getEntriesByType('resource').some((one) => /json$/.test(one.name))")
        page.locator("#console-roads .road-of-bead").wait_for()
        for kind in ("/tables/B07/", ".css", ".js", ".woff2", ".json"):
            assert any(kind in address for address in sizes), (kind, sizes)
        total = sum(sizes.values())
        fresh.close()
    finally:
        server.kill()
    heaviest = sorted(((size, address.rpartition("/")[2]) for address, size in sizes.items()), reverse=True)
    assert 40_000 < total < WEIGHT, heaviest


def device_of(context: Any, address: str) -> Page:
    page: Page = context.new_page()
    log_in(page, address, "sam")
    return page

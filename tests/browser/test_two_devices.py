"""Two devices at one table see each other's entries within a second, and neither takes anything from the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dealing.log import record
from tests.browser.floor import PHONE, TABLET, device, open_shoe, phase, press, recorded, tap, told
from tests.conftest import MakeTable, People

# On the other database too: who comes first, and how soon the other sees it. The rest is the page's own doing.
pytestmark = pytest.mark.django_db(transaction=True)

expect.set_options(timeout=15_000)

Pair = tuple[Page, Page]


@pytest.fixture
def pair(live_server: Any, browser: Browser, people: People, table: MakeTable) -> Iterator[Pair]:
    """Sam on a tablet and Rita on a phone at B07, betting open on the first hand."""
    people("supervisor", "sam")
    people("recorder", "rita")
    table()
    open_shoe()
    pages = (
        device(browser, live_server.url, "sam", viewport=TABLET),
        device(browser, live_server.url, "rita", viewport=PHONE, has_touch=True),
    )
    yield pages
    for page in pages:
        page.context.close()


def test_an_entry_is_seen_on_the_other_device_within_a_second(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    recorded(sam, 5)
    recorded(rita, 5)
    waits = []
    for n, card in enumerate(("9h", "4s", "Kd")):
        tap(sam, card)
        recorded(sam, 6 + n)
        began = time.monotonic()
        rita.locator(f'#console[data-seq="{6 + n}"]').wait_for()
        waits.append(time.monotonic() - began)
    # The page asks every 0.7 s; the best of three leaves a loaded machine out of it.
    assert min(waits) < 1.0, waits
    expect(rita.locator('[data-place="P2"] .card')).to_have_attribute("aria-label", "king of diamonds")


@pytest.mark.sqlite
def test_what_is_being_typed_stays_while_others_record(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    recorded(sam, 5)
    sam.locator("#entry-card").press_sequentially("4")
    sam.locator('#entry label.place:has-text("B3")').click()
    sam.locator("#entry-card").focus()
    recorded(rita, 5)
    tap(rita, "9h")
    recorded(sam, 6)
    expect(sam.locator("#entry-card")).to_have_value("4")
    expect(sam.locator("#entry-card")).to_be_focused()
    expect(sam.locator('#entry [name="to"][value="B3"]')).to_be_checked()
    # The next letter comes where the first one is.
    sam.keyboard.type("s")
    expect(sam.locator("#entry-card")).to_have_value("4s")


@pytest.mark.sqlite
def test_what_was_refused_and_stands_in_its_field_stays_too(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    recorded(sam, 5)
    recorded(rita, 5)
    sam.locator("#entry-card").fill("zz")
    sam.locator("#entry-card").press("Enter")
    expect(sam.locator("#entry-error")).to_be_visible()
    tap(rita, "9h")
    recorded(sam, 6)
    expect(sam.locator("#entry-card")).to_have_value("zz")
    expect(sam.locator("#entry-error")).to_contain_text("is not a card")
    expect(sam.locator('#entry [name="to"][value="B1"]')).to_be_checked()


@pytest.mark.sqlite
def test_an_open_sheet_stays_with_all_that_is_filled_in(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    recorded(rita, 5)
    rita.locator("#wrong-button").click()
    rita.get_by_role("dialog").get_by_text("Card exposed", exact=True).click()
    rita.get_by_role("dialog").get_by_text("While drawing").click()
    rita.get_by_role("dialog").locator("[name=card]").fill("7d")
    tap(sam, "9h")
    recorded(rita, 6)
    expect(rita.get_by_role("dialog").locator("[name=card]")).to_have_value("7d")
    expect(rita.get_by_role("dialog").get_by_label("While drawing")).to_be_checked()
    expect(rita.locator('[data-place="P1"] .card')).to_have_count(1)
    # She had not seen the card when she opened the sheet: it is asked back once, with all of it kept.
    rita.get_by_role("dialog").get_by_role("button", name="Record").click()
    expect(rita.locator("#console [role=alert]").first).to_contain_text("SAM: 9♥ to Player, first card")
    expect(rita.get_by_role("dialog").locator("[name=card]")).to_have_value("7d")
    rita.wait_for_timeout(400)  # less would be the second tap of a double one
    rita.get_by_role("dialog").get_by_role("button", name="Record").click()
    recorded(rita, 7)
    recorded(sam, 7)


def test_the_same_card_from_both_devices_is_recorded_once_and_asked_about(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    recorded(sam, 5)
    recorded(rita, 5)
    # Neither sees the other's: the answers of one are held back.
    rita.route("**/head/*", lambda route: route.abort())
    tap(sam, "9h")
    recorded(sam, 6)
    tap(rita, "9h")
    expect(rita.locator("#console [role=alert]").first).to_contain_text("SAM: 9♥ to Player, first card")
    # The place that is due now is proposed, and not the one that was.
    expect(rita.locator('#entry [name="to"][value="B1"]')).to_be_checked()
    expect(rita.locator("#entry-card")).to_have_value("9h")
    assert told(5) == ["card P1 9h"]


@pytest.mark.sqlite
def test_what_was_said_of_a_refused_card_stays_as_long_as_it_stands_there(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    recorded(sam, 5)
    recorded(rita, 5)
    rita.route("**/head/*", lambda route: route.abort())
    tap(sam, "9h")
    recorded(sam, 6)
    tap(rita, "2h")
    warning = rita.locator("#console .console-said[role=alert]")
    expect(warning).to_contain_text("SAM: 9♥ to Player, first card")
    rita.unroute("**/head/*")
    for seq, card in ((7, "4s"), (8, "Kd")):
        tap(sam, card)
        recorded(rita, seq)
        expect(rita.locator("#entry-card")).to_have_value("2h")
        expect(warning).to_have_count(1)
        expect(warning).to_contain_text("SAM: 9♥ to Player, first card")
    # Both go together.
    rita.locator("#entry-card").fill("")
    tap(sam, "3c")
    recorded(rita, 9)
    expect(warning).to_have_count(0)


def test_bets_on_one_device_and_cards_on_the_other_do_not_stop_each_other(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    recorded(sam, 5)
    sam.route("**/head/*", lambda route: route.abort())
    record(
        {"event": "bet", "table": "B07", "shoe": 1, "hand": 1, "seat": 3, "bet": "tie", "stake": "10", "by": "RITA"},
        actor="rita",
    )
    tap(sam, "9h")
    recorded(sam, 7)
    assert told(5) == ["bet", "card P1 9h"]
    recorded(rita, 7)


@pytest.mark.sqlite
def test_the_roads_beside_the_console_go_on_with_the_hands(pair: Pair) -> None:
    sam, rita = pair
    press(sam, "Close betting")
    for card in ("9h", "4s", "Kd", "3c"):
        tap(sam, card)
    phase(sam, "complete")
    before = rita.locator("#console-roads .road-of-bead").inner_html()
    sam.locator(".call-right").click()
    recorded(sam, 12)
    for page in pair:
        expect(page.locator("#console-roads")).to_have_attribute("data-roads", "1.1.0")
        assert page.locator("#console-roads .road-of-bead").inner_html() != before
    # On a phone they come last.
    roads, log = rita.locator("#console-roads").bounding_box(), rita.locator(".console-log").bounding_box()
    assert roads
    assert log
    assert roads["y"] >= log["y"] + log["height"]

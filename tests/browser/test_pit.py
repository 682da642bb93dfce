"""The pit in a browser: an incident appears by itself, focus and scrolling stay, and the dealer is changed by touch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Response, Route, expect

from dealing.log import record, record_many
from dealing.models import Dealer, DealerShift
from tests.conftest import MakeTable, People
from tests.table_logs import Lines

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

PHONE = {"width": 390, "height": 844}
Open = Callable[..., Page]


@pytest.fixture
def lines(table: MakeTable) -> Lines:
    """B07 with a natural on the felt, and a clean B08."""
    lines = Lines("B07")
    for of_table in (Lines("B08"), lines):
        table(of_table.table)
        record_many([*of_table.open(), *of_table.hand(1)[:-1]], actor="test")
    return lines


@pytest.fixture
def enter(lines: Lines, enter: Any) -> Any:
    """As everywhere, at a house whose tables have logs."""
    return enter


def tile(page: Page, code: str) -> Any:
    return page.locator(f"#tile-{code}")


def test_an_incident_opened_on_the_console_appears_at_the_managers_by_itself(enter: Open, lines: Lines) -> None:
    record_many([lines.line("hand_closed", 1), *lines.hand(2, "P1:9h B1:4s P2:Kd", closed=False)], actor="test")
    manager = enter("manager", "/tables/")
    loads: list[str] = []
    manager.on("load", lambda page: loads.append(page.url))
    expect(tile(manager, "B07")).to_contain_text("Dealing")
    expect(manager).to_have_title("Pit")

    console = enter("recorder", "/tables/B07/")
    expect(console.locator("#console")).to_be_visible()
    console.wait_for_timeout(300)
    console.keyboard.type("P3 6h")
    console.keyboard.press("Enter")
    expect(console.locator("#console")).to_contain_text("Opening card on the wrong place", timeout=15_000)

    # Within about a second: the page asks each second, and the machine may be busy.
    expect(tile(manager, "B07")).to_contain_text("Manager needed", timeout=5_000)
    expect(manager).to_have_title("(1) Pit")
    expect(manager.locator("[data-pit-banner]")).to_contain_text("1 table needs a manager")
    assert manager.locator(".pit-tile").first.get_attribute("id") == "tile-B07"
    assert not loads, "nothing was loaded again"

    tile(manager, "B07").get_by_role("link", name="Decide").click()
    expect(manager.locator("h1")).to_contain_text("B07")


def test_only_changes_are_sent_and_focus_and_scrolling_stay(enter: Open, lines: Lines) -> None:
    page = enter("auditor", "/tables/", viewport={"width": 390, "height": 500})
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    answers: list[int] = []

    def note(response: Response) -> None:
        if "/tables/live/" in response.url:
            answers.append(response.status)

    page.on("response", note)
    expect(tile(page, "B08")).to_be_visible()
    page.wait_for_timeout(2500)
    assert set(answers) == {204}
    page.locator("#open-B07").focus()
    page.evaluate("window.scrollTo(0, 150)")
    before = page.evaluate("window.scrollY")
    kept = page.evaluate("(window.keptTile = document.getElementById('tile-B08')).id")
    record(lines.line("hand_closed", 1), actor="test")
    expect(tile(page, "B07")).to_contain_text("Hand over", timeout=5_000)
    assert page.evaluate("document.activeElement.id") == "open-B07"
    assert page.evaluate("window.scrollY") == before
    assert page.evaluate("document.getElementById('tile-B08') === window.keptTile"), kept
    assert not errors


def test_times_tick_on_the_device(enter: Open) -> None:
    page = enter("auditor", "/tables/")
    record({"event": "hand_closed", "table": "B08", "shoe": 1, "hand": 1}, actor="test")
    time = tile(page, "B08").locator("time[data-ago]")
    expect(time).to_have_text(re.compile(r"^\d\d?.s$"), timeout=5_000)
    first = time.inner_text()
    page.wait_for_timeout(2200)
    assert int(time.inner_text()[:-2]) > int(first[:-2])


def test_a_server_that_does_not_answer_is_not_passed_over(enter: Open) -> None:
    page = enter("auditor", "/tables/")
    stale = page.locator("[data-pit-stale]")
    expect(stale).to_be_hidden()

    def broken(route: Route) -> None:
        route.abort()

    page.route("**/tables/live/**", broken)
    expect(stale).to_be_visible(timeout=10_000)
    page.unroute("**/tables/live/**")
    expect(stale).to_be_hidden(timeout=10_000)


def test_a_session_that_ends_leads_to_the_log_in_and_back(enter: Open) -> None:
    page = enter("auditor", "/tables/")
    page.context.clear_cookies(name="sessionid")
    page.wait_for_url("**/login/?next=/tables/", timeout=10_000)


def test_which_tables_are_shown_without_loading(enter: Open, lines: Lines) -> None:
    page = enter("manager", "/tables/")
    page.get_by_role("link", name="Needs attention").click()
    expect(tile(page, "B07")).to_be_hidden()
    expect(page.get_by_text("Nothing waits at any table.")).to_be_visible()
    assert page.url.endswith("?show=needs")
    record(lines.line("called", 1, winner="banker"), actor="test")
    expect(tile(page, "B07")).to_be_visible(timeout=5_000)
    expect(tile(page, "B08")).to_be_hidden()
    page.reload()
    expect(tile(page, "B08")).to_be_hidden()
    page.get_by_role("link", name="All", exact=True).click()
    expect(tile(page, "B08")).to_be_visible()


def test_the_sound_is_off_until_wanted_and_remembered(enter: Open, lines: Lines) -> None:
    page = enter("manager", "/tables/")
    button = page.locator("[data-pit-sound]")
    expect(button).to_have_attribute("aria-pressed", "false")
    record(lines.line("called", 1, winner="banker"), actor="test")
    expect(tile(page, "B07")).to_contain_text("Manager needed", timeout=5_000)
    assert button.get_attribute("data-sounded") is None
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_have_text("Sound is on", use_inner_text=True)
    heard = button.get_attribute("data-sounded")
    assert heard is not None, "once, so that everybody knows it"
    other = Lines("B08")
    other.shoe, other.at = 1, lines.at
    record(other.line("called", 1, winner="banker"), actor="test")
    expect(tile(page, "B08")).to_contain_text("Manager needed", timeout=5_000)
    assert int(button.get_attribute("data-sounded") or 0) > int(heard)
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()  # held back until a press: the press wakes it
    expect(button).to_have_text("Sound is on", use_inner_text=True)
    button.click()
    expect(button).to_have_text("Sound is off", use_inner_text=True)


@pytest.mark.parametrize("language", ["en", "th"])
def test_on_a_phone(enter: Open, lines: Lines, language: str) -> None:
    record(lines.line("called", 1, winner="banker"), actor="test")
    page = enter("manager", "/tables/", language, viewport=PHONE, has_touch=True)
    banner = page.locator("[data-pit-banner]")
    expect(banner).to_contain_text("1 table needs a manager" if language == "en" else "โต๊ะต้องการผู้จัดการ")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for link in page.locator("main a:visible, main button:visible").all():
        box = link.bounding_box()
        assert box is not None
        if link.get_attribute("class") != "pit-open":  # its whole tile can be pressed
            assert box["height"] >= 44, link.inner_text()
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    box = banner.bounding_box()
    assert box is not None
    assert box["y"] >= 0, "still in sight"
    # A press anywhere on the tile leads to the table.
    tile(page, "B08").click(position={"x": 300, "y": 60})
    page.wait_for_url("**/tables/B08/")


def test_the_dealer_is_changed_on_the_console(enter: Open, table: MakeTable, people: People) -> None:
    b09 = table("B09")
    for number, name in enumerate(("Lek", "Dao", "Ploy"), 1):
        Dealer.objects.create(venue=b09.venue, code=f"D0{number}", name=name)
    page = enter("recorder", "/tables/B09/", viewport=PHONE, has_touch=True)
    now = page.locator("#dealer-now")
    expect(now).to_contain_text("No dealer recorded")
    page.locator("#dealer-change").tap()
    sheet = page.locator("dialog[data-dealer-sheet]")
    expect(sheet).to_be_visible()
    sheet.get_by_label("Search by code or name").fill("da")
    expect(sheet.get_by_role("button", name="D01 Lek")).to_be_hidden()
    sheet.get_by_role("button", name="D02 Dao").tap()
    expect(now).to_contain_text("D02 Dao since")
    expect(sheet).to_have_count(0)
    assert [shift.dealer.name for shift in DealerShift.objects.filter(ended_at=None)] == ["Dao"]

    # Another device is first: the sheet stays, and says so.
    page.locator("#dealer-change").tap()
    expect(sheet).to_be_visible()
    other = enter("supervisor", "/tables/B09/dealer/")
    other.get_by_role("button", name="D03 Ploy").click()
    other.wait_for_url("**/tables/B09/")
    sheet.get_by_role("button", name="D01 Lek").tap()
    expect(sheet).to_contain_text("Somebody else changed the dealer meanwhile: D03 Ploy deals now.")
    sheet.get_by_role("button", name="D01 Lek").tap()
    expect(now).to_contain_text("D01 Lek since")
    assert DealerShift.objects.count() == 3
    page.locator("#dealer-change").tap()
    expect(sheet).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    assert page.evaluate("document.activeElement.id") == "dealer-change"

"""A spreadsheet read in by hand, in both languages, on a tablet and on a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from dealing.models import Hand, Shoe
from incidents.models import Incident
from tests.browser.floor import let_in
from tests.conftest import MakeTable, People
from tests.sheets import simulated_hands, xlsx_of
from tests.test_sheets import dealt

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

WORDS = {
    "en": {
        "link": "Hands from a spreadsheet",
        "send": "Send the file",
        "look": "Look at what is found",
        "order": "Say in which order the cards were dealt.",
        "ppbb": "Player, Player, Banker, Banker",
        "over": "Card drawn when none was due",
        "stale": "Player, third card: 4c is perhaps left over from row 3",
        "store": "Store 12 hands",
        "done": "12 hands are stored.",
    },
    "th": {
        "link": "นำเข้าตาจากตาราง",
        "send": "ส่งไฟล์",
        "look": "ดูผลการตรวจ",
        "order": "ระบุลำดับการแจกไพ่",
        "ppbb": "ผู้เล่น ผู้เล่น เจ้ามือ เจ้ามือ",
        "over": "จั่วไพ่เกิน",
        "stale": "ผู้เล่น ใบที่สาม: 4c อาจค้างมาจากแถวที่ 3",
        "store": "เก็บ 12 ตาเข้าบันทึก",
        "done": "เก็บแล้ว 12 ตา",
    },
}


def sheet() -> bytes:
    """Twelve hands dealt P P B B, the third with a card left over from the second; one row cannot be read."""
    rows = dealt("ppbb")(simulated_hands(8, 12))
    rows[2] = [2, "2h", "2d", "Ts", "7c", "4c", None, "P", 8, 7]  # four: Player draws a four; Banker stands on seven
    rows[3] = [3, "9h", "Kd", "4s", "2c", "4c", None, "P", 9, 6]
    return xlsx_of([*rows, [13, "9x", "Kd", "4s", "2c"]], Notes=[["kept by Anan"]])


@pytest.fixture
def visit(live_server: Any, browser: Browser, people: People, tmp_path: Path, settings: Any) -> Iterator[Any]:
    settings.VAR_DIR = tmp_path
    contexts = []

    def make(language: str, size: tuple[int, int], scheme: Any) -> Page:
        user = people("supervisor")
        viewport: Any = {"width": size[0], "height": size[1]}
        context = browser.new_context(
            locale="en-GB", timezone_id="Asia/Bangkok", viewport=viewport, color_scheme=scheme
        )
        contexts.append(context)
        context.set_default_timeout(15_000)
        let_in(context, live_server.url, user.username)
        context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
        page = context.new_page()
        page.goto(f"{live_server.url}/tables/")
        return page

    yield make
    for context in contexts:
        context.close()


def holds(page: Page) -> None:
    """Nothing sticks out sideways, what is pressed is large enough, and everybody can use the page."""
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    low = page.evaluate(
        "[...document.querySelectorAll('main :is(a.button, button, select, .segmented > label)')]"
        ".filter((one) => one.offsetParent && one.getBoundingClientRect().height < 43.5).map((one) => one.outerHTML)"
    )
    assert low == []
    violations = Axe().run(page).response["violations"]
    assert violations == [], [(one["id"], one["nodes"][0]["html"][:200]) for one in violations]


@pytest.mark.parametrize(
    ("language", "size", "scheme"), [("en", (1180, 820), "dark"), ("th", (390, 844), "light")], ids=["en", "th"]
)
def test_from_the_file_to_the_incident(
    visit: Any, table: MakeTable, language: str, size: tuple[int, int], scheme: str
) -> None:
    table("B07")
    words, page = WORDS[language], visit(language, size, scheme)
    complaints: list[str] = []
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type == "error" and "422" not in said.text else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.get_by_role("link", name=words["link"]).click()
    holds(page)
    page.set_input_files(
        "[name=file]", {"name": "มีนาคม.xlsx", "mimeType": "application/octet-stream", "buffer": sheet()}
    )
    page.get_by_role("button", name=words["send"]).click()

    expect(page.locator("[name=column-1]")).to_have_value("card1")
    expect(page.locator("[name=order]:checked")).to_have_count(0)
    holds(page)
    page.fill("[name=table]", "b07")
    page.fill("[name=date]", "2025-03-01")
    page.fill("[name=start]", "20:00")
    page.get_by_role("button", name=words["look"]).click()
    expect(page.get_by_text(words["order"]).first).to_be_visible()
    page.get_by_text(words["ppbb"]).click()
    page.get_by_role("button", name=words["look"]).click()

    row = page.locator("[data-row='4']")
    expect(row.locator(".felt")).to_be_visible()
    expect(row).to_contain_text(words["over"])
    expect(row).to_contain_text(words["stale"])
    expect(page.locator(".sheet-rows")).to_contain_text("“9x”")
    assert page.locator("[data-row]").count() == 10
    assert not Hand.objects.exists()
    holds(page)
    page.get_by_role("button", name=words["store"]).click()

    expect(page.get_by_role("status")).to_contain_text(words["done"])
    holds(page)
    assert Incident.objects.get().hand_number == 3
    shoe = Shoe.objects.get()
    page.get_by_role("link", name="B07", exact=False).last.click()
    expect(page.locator("h1")).to_contain_text("B07")
    assert (shoe.number, shoe.hands) == (1, 12)
    assert complaints == []

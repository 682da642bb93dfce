"""Every main page, in every state that matters, against WCAG 2.2 AA: axe finds nothing, and fingers find the keys."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.floor import let_in
from tests.scenes import PASSWORDS, SCENES, Scene, arrange

# What a page looks like has nothing to do with the database.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

ColorScheme = Literal["light", "dark"]
TABLET, PHONE = ViewportSize(width=1024, height=768), ViewportSize(width=390, height=844)
AXE = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
}
SMALLEST = 44  # px: a fingertip
#: What is pressed with a finger and smaller than that.
SMALL_KEYS = """(smallest) => {
  const keys = "button, .button, .bar-button, summary, input:not([type=hidden]), select, .place, .key";
  const sheet = document.querySelector("dialog[open]");
  const small = new Set();
  for (const key of document.querySelectorAll(keys)) {
    if (!key.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    if (sheet && !sheet.contains(key)) continue;
    // A choice inside its label is pressed through the label.
    const target = key.matches("input[type=radio], input[type=checkbox]") ? key.closest("label") || key : key;
    const { width, height } = target.getBoundingClientRect();
    if (!width || !height || (height > smallest - 0.5 && width > smallest - 0.5)) continue;
    const words = (target.textContent || target.name || "").trim().slice(0, 40);
    small.add(`${target.tagName} .${target.className} “${words}” ${Math.round(width)}×${Math.round(height)}`);
  }
  return [...small];
}"""


@cache
def _arranged() -> sqlite3.Connection:
    """The database with the scenes in it, made once and kept in memory."""
    arrange()
    kept = sqlite3.connect(":memory:")
    connection.connection.backup(kept)
    return kept


def scenes() -> None:
    """Arrange the scenes in the test's database, or copy them to it."""
    connection.ensure_connection()
    _arranged().backup(connection.connection)


def show(page: Page, base: str, scene: Scene) -> None:
    answer = page.goto(base + scene.address)
    assert answer is not None
    assert answer.status in scene.statuses, scene
    expect(page.locator(scene.waits_for).first).to_be_visible()


class Eyes:
    """A browser for each person of the scenes."""

    def __init__(self, browser: Browser, base: str, size: ViewportSize, scheme: ColorScheme, language: str) -> None:
        self.base, self.pages = base, dict[str, Page]()
        self.contexts: list[BrowserContext] = []
        for user in ("", *PASSWORDS):
            context = browser.new_context(viewport=size, color_scheme=scheme, has_touch=size is PHONE)
            if user:
                let_in(context, base, user)
            context.add_cookies([{"name": "django_language", "value": language, "url": base}])
            self.pages[user] = context.new_page()
            self.contexts.append(context)

    def look(self, scene: Scene) -> Page:
        page = self.pages[scene.user]
        show(page, self.base, scene)
        return page


@pytest.mark.parametrize(
    ("size", "scheme", "language"),
    [
        pytest.param(TABLET, "light", "th", id="tablet-light-thai"),
        pytest.param(PHONE, "dark", "en", id="phone-dark-english"),
    ],
)
def test_nobody_is_kept_out(
    live_server: Any, browser: Browser, size: ViewportSize, scheme: ColorScheme, language: str
) -> None:
    scenes()
    eyes = Eyes(browser, live_server.url, size, scheme, language)
    found: list[str] = []
    for scene in SCENES:
        page = eyes.look(scene)
        expect(page.locator("html")).to_have_attribute("lang", language)
        for violation in Axe().run(page, options=AXE).response["violations"]:
            found += [
                f"{scene.name}: {violation['id']}: {node['target']} {node['html'][:200]}" for node in violation["nodes"]
            ]
        found += [f"{scene.name}: smaller than a fingertip: {small}" for small in page.evaluate(SMALL_KEYS, SMALLEST)]
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wider > 0:
            found.append(f"{scene.name}: {wider} px wider than the screen")
    assert not found, "\n".join(found)

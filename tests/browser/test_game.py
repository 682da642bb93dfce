"""What a report says of the game itself, and its drawings, in a browser: readable, and nothing is blocked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ViewportSize, expect

from dealing.models import Venue
from incidents.reports import plots
from incidents.reports.models import AuditReport
from incidents.reports.statistics import judge_game
from tests import reports_samples
from tests.game_nights import deal, fair_nights, shuffled

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite, pytest.mark.urls("tests.game_page")]

PHONE = ViewportSize(width=390, height=844)
TABLET = ViewportSize(width=1180, height=820)
AXE = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}


def full_report(venue: Venue) -> AuditReport:
    """The full night of the samples, its game judged from tables of which three have something wrong."""
    rng = np.random.default_rng(4)
    night = next(fair_nights(rng, 1, tables=12, hands=280, careless="D003", mistakes=0.05, together=1))
    night[6].shoes[1] = deal(shuffled(rng, 1, short_of={"9": 12}), first=2)[0]
    night[7].paid["banker"].without_commission = night[7].paid["banker"].won
    figures = reports_samples.figures(venue.code, venue.name)
    figures.game = judge_game(night)
    assert {flag.test for flag in figures.game.flags} >= {"ranks", "dealer", "commission"}
    return reports_samples.save_report(venue, figures)


@pytest.mark.parametrize(
    ("size", "scheme", "language"),
    [
        pytest.param(TABLET, "light", "en", id="tablet-light-english"),
        pytest.param(TABLET, "dark", "th", id="tablet-dark-thai"),
        pytest.param(PHONE, "dark", "en", id="phone-dark-english"),
        pytest.param(PHONE, "light", "th", id="phone-light-thai"),
    ],
)
def test_the_game_and_its_drawings_can_be_read(
    live_server: Any,
    browser: Browser,
    venue: Venue,
    size: ViewportSize,
    scheme: Literal["light", "dark"],
    language: str,
) -> None:
    reports = {
        "full": full_report(venue),
        "quiet": reports_samples.save_report(venue, reports_samples.quiet(venue.code, venue.name), revision=2),
        "month": reports_samples.save_month(venue),
    }
    for report in reports.values():
        plots.draw(report)
    context = browser.new_context(viewport=size, color_scheme=scheme)
    context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    for name, report in reports.items():
        page.goto(f"{live_server.url}/game-page/{report.pk}/")
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("svg.plot").first).to_be_visible()
        violations = Axe().run(page, options=AXE).response["violations"]
        assert not violations, [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in violations]
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
        assert len(ids) == len(set(ids))
        # The stylesheet's colours, not the attributes': ink is light in the dark.
        fill = page.locator("svg.plot .plot-fill-ink").first.evaluate("one => getComputedStyle(one).fill")
        assert fill == ("rgb(233, 240, 236)" if scheme == "dark" else "rgb(19, 32, 26)")
        font = page.locator("svg.plot text").first.evaluate("one => getComputedStyle(one).fontFamily")
        assert font.startswith('"Noto Sans Thai"')
        if folder := os.environ.get("GAME_PICTURES"):
            page.evaluate("document.fonts.ready")
            page.screenshot(path=Path(folder) / f"{name}-{size['width']}-{language}.png", full_page=True)
    assert not said

"""Whole jobs, as people at a table do them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.floor import TABLET, device, open_shoe, press, recorded, told
from tests.conftest import MakeTable, People

pytestmark = pytest.mark.django_db(transaction=True)


def test_quick_taps_on_keys_beside_each_other_are_all_meant(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    """A touch screen may count them as a double press; only on the same spot the second one is none."""
    people("recorder", "sam")
    table()
    open_shoe()
    page = device(browser, live_server.url, viewport=TABLET)
    press(page, "Close betting")
    recorded(page, 5)
    keys = ('#entry label.key:has(input[value="6"])', "#suit-h", '#entry label.key:has(input[value="7"])', "#suit-s")
    expect(page.locator(keys[0])).to_be_visible()
    boxes = [page.locator(key).bounding_box() for key in keys]
    for number, box in enumerate(boxes):
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down(click_count=1 + number % 2)
        page.mouse.up(click_count=1 + number % 2)
    recorded(page, 7)
    assert told(5) == ["card P1 6h", "card B1 7s"]
    page.context.close()

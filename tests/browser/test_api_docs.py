"""The page on which the API is looked through and tried works under our content security policy."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.conftest import MakeTable


@pytest.mark.sqlite
def test_the_api_is_looked_through_and_tried(enter: Any, table: MakeTable, live_server: Any) -> None:
    table("B07")
    page = enter("manager", "/api/v1/problems/")
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{live_server.url}/api/v1/docs/")
    operation = page.locator("#operations-Tables-listTables")
    operation.locator("button.opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table")).to_contain_text('"code": "B07"')
    assert complaints == []
    assert [url for url in asked if not url.startswith((live_server.url, "data:", "blob:"))] == []

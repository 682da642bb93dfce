"""A real browser obeys the content security policy: what it refuses would show up here."""

from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Error, Page, Request, expect

from tests.conftest import PASSWORD, People


@pytest.mark.sqlite
def test_pages_need_nothing_that_the_policy_refuses(page: Page, live_server: Any, people: People) -> None:
    complaints: list[str] = []
    asked: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    def fail(error: Error) -> None:
        complaints.append(str(error))

    def see(request: Request) -> None:
        asked.append(request.url)

    page.on("console", hear)
    page.on("pageerror", fail)
    page.on("request", see)
    user = people("manager")

    page.goto("/login/?next=/look/")
    page.locator("input[name=username]").fill(user.username)
    page.locator("input[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_server.url}/look/")
    page.wait_for_load_state()

    assert page.evaluate("typeof htmx") == "object"
    assert complaints == []
    assert [url for url in asked if not url.startswith(live_server.url)] == []

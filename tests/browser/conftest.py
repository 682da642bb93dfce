"""What the tests in a browser share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.floor import let_in
from tests.conftest import People


@pytest.fixture(autouse=True)
def _nobody_stays(transactional_db: None, browser: Browser) -> Iterator[None]:
    """Close what a test leaves open: a page that is left asks the server every second, to the end of the run."""
    yield
    for context in browser.contexts:
        context.close()


@pytest.fixture
def enter(live_server: Any, browser: Browser, people: People) -> Any:
    """`enter("manager", "/reports/")`: somebody on a device of their own."""

    def make(group: str, address: str, language: str = "en", **options: Any) -> Page:
        user = people(group)
        context = browser.new_context(locale="en-GB", timezone_id="Asia/Bangkok", **options)
        context.set_default_timeout(15_000)
        let_in(context, live_server.url, user.username)
        context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
        page = context.new_page()
        page.goto(live_server.url + address)
        return page

    return make

"""What the tests in a browser share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser


@pytest.fixture(autouse=True)
def _nobody_stays(transactional_db: None, browser: Browser) -> Iterator[None]:
    """Close what a test leaves open: a page that is left asks the server every second, to the end of the run."""
    yield
    for context in browser.contexts:
        context.close()

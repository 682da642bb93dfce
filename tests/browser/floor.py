"""A table in a browser: people at their devices, and what stands in the log."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from dealing.log import record_many
from dealing.models import TableEvent
from tests.conftest import PASSWORD

PHONE = ViewportSize(width=390, height=844)
TABLET = ViewportSize(width=1024, height=768)


def open_shoe(table: str = "B07", ruleset: str = "commission", *, betting: bool = True) -> int:
    """A shoe with betting open on its first hand; how many events that are."""
    common = {"table": table, "shoe": 1}
    lines: list[dict[str, object]] = [
        {**common, "event": "shoe_opened", "ruleset": ruleset},
        {**common, "event": "burn_card", "card": "5h"},
        {**common, "event": "cards_burned", "count": 5},
    ]
    if betting:
        lines.append({**common, "event": "betting_opened", "hand": 1})
    record_many(lines, actor="sam")
    return len(lines)


def let_in(context: BrowserContext, address: str, user: str) -> None:
    """Log somebody in without the form, which the whole jobs go through."""
    session = Client()
    session.force_login(User.objects.get(username=user))
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": session.cookies[name].value, "url": address}])


def device(browser: Browser, address: str, user: str = "sam", table: str = "B07", **options: Any) -> Page:
    """Somebody's device at the console of a table, logged in already."""
    context = browser.new_context(locale="en-GB", timezone_id="Asia/Bangkok", **options)
    context.set_default_timeout(15_000)
    let_in(context, address, user)
    page = context.new_page()
    page.goto(f"{address}/tables/{table}/")
    _ready(page)
    return page


def log_in(page: Page, address: str, user: str, table: str = "B07") -> None:
    """Log in by the form, and go on to the console of a table."""
    page.goto(f"{address}/login/?next=/tables/{table}/")
    page.fill("[name=username]", user)
    page.fill("[name=password]", PASSWORD)
    page.press("[name=password]", "Enter")
    _ready(page)


def _ready(page: Page) -> None:
    expect(page.locator("#console")).to_be_visible()
    page.wait_for_function("() => window.deviceQueue && window.tableConsole")  # before that, a press is a plain form's


def lines() -> list[dict[str, Any]]:
    """The log as its lines."""
    return [json.loads(row.payload) for row in TableEvent.objects.order_by("seq")]


def told(start: int = 0) -> list[str]:
    """The log from a position on, a word an entry."""
    return [" ".join(filter(None, [one["event"], one.get("to"), one.get("card")])) for one in lines()[start:]]


def recorded(page: Page, count: int) -> None:
    """Wait until the page shows the table after so many events."""
    expect(page.locator("#console")).to_have_attribute("data-seq", str(count))


def phase(page: Page, name: str) -> None:
    """Wait until the page is in a phase of the hand."""
    expect(page.locator("#console")).to_have_attribute("data-phase", name)


def tap(page: Page, card: str) -> None:
    """Tap a card's keys: rank and suit, or the rank alone."""
    rank, suit = card[0], card[1:]
    if suit:
        page.locator(f'#entry label.key:has(input[value="{rank}"])').click()
        page.locator(f"#suit-{suit}").click()
    else:
        page.locator(f"#rank-{rank}").click()


def pause(page: Page) -> None:
    """As long as a hand takes to press what has come into the place of what it pressed before."""
    page.wait_for_timeout(360)


def press(page: Page, name: str) -> None:
    """Press the button of this name that is seen."""
    pause(page)
    page.locator("#console").get_by_role("button", name=name).locator("visible=true").first.click()


def call(page: Page) -> None:
    """Press the right result."""
    page.locator(".call-right").click()


class Server:
    """The product in a process of its own, on the test's database: it can be killed.

    With `production`, an empty folder, it is the production server with the static files collected there.
    """

    def __init__(self, production: Path | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        database = connection.settings_dict
        place = "/".join(quote(str(database[part]), safe="") for part in ("HOST", "NAME"))
        user = ":".join(quote(str(database[part]), safe="") for part in ("USER", "PASSWORD"))
        url = f"sqlite:///{database['NAME']}" if connection.vendor == "sqlite" else f"postgres://{user}@{place}"
        self.command = ["manage.py", "runserver", "--noreload", f"127.0.0.1:{self.port}"]
        self.env = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        if production is not None:
            self.command = [
                "-m",
                "gunicorn",
                "baccarat_audit.wsgi",
                "--bind",
                f"127.0.0.1:{self.port}",
                "--threads",
                "4",
            ]
            self.env |= {"DJANGO_SETTINGS_MODULE": "tests.settings_production", "STATIC_ROOT": str(production)}
            # Not what only other pages than the console load, and takes long to compress.
            left = [f"--ignore={name}" for name in ("admin", "drf_spectacular_sidecar", "rest_framework")]
            collect = [sys.executable, "manage.py", "collectstatic", "--no-input", "-v0", *left]
            subprocess.run(collect, cwd=settings.BASE_DIR, env=self.env, check=True)
        self.start()

    def start(self) -> None:
        """Start it (again), and wait until it answers."""
        self.process = subprocess.Popen(
            [sys.executable, *self.command],
            cwd=settings.BASE_DIR,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"{self.address}/login/", timeout=5).close()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("the server does not answer")

    def kill(self) -> None:
        """End it at once, with its workers and all its connections."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

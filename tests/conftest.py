"""What every test may ask for, and which services the suite runs on.

The suite runs on what the environment names. `make test` runs it whole on the embedded default (`--services=embedded`)
and then, where DATABASE_URL or REDIS_URL is set, what touches a service once more on those (`--services=configured`).
A missing service is said in one line at the end; with CI or REQUIRE_SERVICES set it is an error.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import TransactionTestCase
from django.utils import translation
from pytest_django.live_server_helper import LiveServer

from baccarat_audit.health import redis_reachable
from dealing import triggers
from dealing.models import StaffMember, Table, Venue

# Playwright keeps an event loop running in the test's thread, which makes Django refuse the database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

PASSWORD = "a-password-of-the-suite"
REQUIRED = any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in ("CI", "REQUIRE_SERVICES"))
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if REQUIRED else "default"))

# What runs where.

DATABASE_FIXTURES = {
    "db",
    "transactional_db",
    "django_db_reset_sequences",
    "django_db_serialized_rollback",
    "live_server",
}
BROWSER_FIXTURES = {"browser", "context", "page", "new_context"}


def on_postgresql() -> bool:
    return connection.vendor == "postgresql"


def chromium_found() -> bool:
    return CHROMIUM is not None and os.access(CHROMIUM, os.X_OK)


class Service:
    """Something a test may need that a bare machine lacks."""

    def __init__(self, name: str, variable: str, there: Callable[[], bool]) -> None:
        self.name = name
        self.variable = variable
        self.there = there

    @property
    def reason(self) -> str:
        return f"{self.name} not found"


POSTGRESQL = Service("PostgreSQL", "DATABASE_URL", on_postgresql)
REDIS = Service("Redis", "REDIS_URL", lambda: bool(settings.REDIS_URL))
BROWSER = Service("Chromium", "CHROMIUM", chromium_found)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--services",
        choices=("embedded", "configured"),
        help="one half of a double run: leave out what the other half runs",
    )


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or config.option.help or config.option.collectonly:
        return
    if settings.REDIS_URL and not redis_reachable(settings.REDIS_URL):
        raise pytest.UsageError("REDIS_URL is set, and Redis does not answer there.")
    other_half = config.getoption("services") == "embedded"
    needed = [BROWSER] if other_half else [POSTGRESQL, REDIS, BROWSER]
    if REQUIRED and (missing := [service for service in needed if not service.there()]):
        named = "; ".join(f"{service.reason}, set {service.variable}" for service in missing)
        raise pytest.UsageError(f"CI or REQUIRE_SERVICES is set: {named}.")


def needs_of(item: pytest.Item) -> Iterator[Service]:
    """The services without which this test cannot run."""
    if item.get_closest_marker("postgresql"):
        yield POSTGRESQL
    if item.get_closest_marker("redis"):
        yield REDIS
    if BROWSER_FIXTURES.intersection(getattr(item, "fixturenames", ())):
        yield BROWSER


def touches_services(item: pytest.Item) -> bool:
    """Whether this test can go otherwise on another database or cache."""
    cls = getattr(item, "cls", None)
    return bool(
        item.get_closest_marker("django_db")
        or any(service is not BROWSER for service in needs_of(item))
        or DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        or (cls and issubclass(cls, TransactionTestCase))
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    half = config.getoption("services")
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        elsewhere = (item.get_closest_marker("sqlite") and on_postgresql()) or (
            not touches_services(item)
            if half == "configured"
            else half == "embedded" and any(service is not BROWSER for service in needs_of(item))
        )
        (left_out if elsewhere else kept).append(item)
        for service in needs_of(item):
            if not service.there():
                item.add_marker(pytest.mark.skip(reason=service.reason))
    items[:] = kept
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line for each service that was not there."""
    half = config.getoption("services")
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    for service in (POSTGRESQL, REDIS, BROWSER):
        if service.there() or (half == "embedded" and service is not BROWSER):
            continue
        count = sum(service.reason in why for why in skipped)
        aside = ", and nothing ran on it" if service is POSTGRESQL else ""
        terminalreporter.write_line(
            f"{service.name} not found: {count} tests skipped{aside}; set {service.variable}", yellow=True
        )


# The database.


@pytest.fixture(scope="session", autouse=True)
def _flush_append_only_tables() -> Iterator[None]:
    """Let the flush after a transactional test empty the tables that otherwise refuse it."""
    flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # not in the stubs

    def teardown(self: TransactionTestCase) -> None:
        with ExitStack() as stack:
            for alias in self._databases_names(include_mirrors=False):  # type: ignore[attr-defined]  # not in the stubs
                stack.enter_context(triggers.suspended(alias))
            flush(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", teardown)
        yield


@pytest.fixture(autouse=True)
def _forget_signed_copies() -> Iterator[None]:
    """The copies of signed heads go with the rows they are of."""
    folder = settings.HEADS_DIR
    yield
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


class People(Protocol):
    """Makes a user of a group; the same name again gives the same user."""

    def __call__(self, group: str | None, name: str | None = None) -> User: ...


@pytest.fixture
def venue(db: None) -> Venue:
    """The house everything of a test belongs to."""
    return Venue.objects.create(code="RIVER", name="River House", time_zone="Asia/Bangkok")


@pytest.fixture
def people(venue: Venue) -> People:
    """`people("manager")`: a user of that group with a staff member of the same code; log in with PASSWORD."""

    def make(group: str | None, name: str | None = None) -> User:
        name = name or group or "visitor"
        user, made = User.objects.get_or_create(username=name)
        if made:
            user.set_password(PASSWORD)
            user.save()
            StaffMember.objects.create(user=user, code=name.upper(), venue=venue)
        if group:
            user.groups.add(Group.objects.get(name=group))
        return user

    return make


class MakeTable(Protocol):
    """Makes a table of the test's house."""

    def __call__(self, code: str = "B07", ruleset: str = "commission", **fields: Any) -> Table: ...


@pytest.fixture
def table(venue: Venue) -> MakeTable:
    """`table("B07", ruleset="insurance")`: a table whose log is empty."""

    def make(code: str = "B07", ruleset: str = "commission", **fields: Any) -> Table:
        return Table.objects.create(code=code, venue=venue, ruleset=ruleset, **fields)

    return make


# The browser.


#: What Chromium is to leave. Each window would load two pages for its address bar, which nobody sees here: a third of
#: what a test costs. The rest is Playwright's own list, which this one replaces: the last of two counts.
CHROMIUM_LEAVES = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay"),
    *("MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    *("TcpPortRandomizationWin", "ThirdPartyStoragePartitioning"),
)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The machine's own Chromium, quiet: it asks nothing of any network."""
    return {
        **browser_type_launch_args,
        "executable_path": CHROMIUM,
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--disable-quic",
            f"--disable-features={','.join(CHROMIUM_LEAVES)}",
        ],
    }


@pytest.fixture(scope="session")
def base_url(live_server: LiveServer) -> str:
    """So that `page.goto("/login/")` goes to the suite's own server."""
    return str(live_server.url)


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "locale": "en-GB", "timezone_id": "Asia/Bangkok"}


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """A page asked for in Thai leaves Thai active in this thread; no test is to find it so."""
    with translation.override("en"):
        yield

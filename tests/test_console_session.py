"""The table console when the session has ended: what was entered comes back, and is recorded once."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.conftest import MakeTable, People
from tests.test_console import HTMX, Console

pytestmark = pytest.mark.django_db


@pytest.fixture
def supervisor(client: Client, people: People, table: MakeTable) -> Console:
    client.force_login(people("supervisor", "sam"))
    return Console(client, table())


def test_an_address_that_is_none_leads_to_the_log_in_all_the_same(supervisor: Console) -> None:
    supervisor.client.logout()
    response = supervisor.client.get(
        reverse("console:table", args=("B07",)), headers=HTMX | {"HX-Current-URL": "http://[bad"}
    )
    assert response.status_code == 200
    assert response.headers["HX-Redirect"].startswith(reverse("login"))


def come_back(console: Console) -> tuple[str, str]:
    """Log in again: the address on which that ends, and the page there."""
    login = console.headers["HX-Redirect"]
    done = console.client.post(login, {"username": "sam", "password": "a-password-of-the-suite"})
    address = done.headers["Location"]
    return address, console.client.get(address).content.decode()


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("card", {"card": "4s"}),
        ("moved", {"sheet": "moved", "source": "P1", "to": "B1"}),
    ],
)
def test_what_a_log_in_interrupted_is_recorded_once(supervisor: Console, event: str, fields: dict[str, str]) -> None:
    supervisor.shoe().hand("9h")
    supervisor.client.logout()
    supervisor.press(event, key="first-press", **fields)
    address, page = come_back(supervisor)
    assert page.count('name="key" value="first-press"') == 1
    before = len(supervisor.lines)
    response = supervisor.client.post(
        reverse("console:record", args=("B07",)),
        {"event": event, "key": "first-press", "shoe": 1, "hand": 1, "to": "B1", "down": "", **fields},
        headers=HTMX | {"HX-Current-URL": f"http://testserver{address}"},
    )
    assert response.status_code == 200
    assert response.headers["HX-Replace-Url"] == reverse("console:table", args=("B07",))
    assert len(supervisor.lines) == before + 1
    again = supervisor.client.get(address)
    assert (again.status_code, again.headers["Location"]) == (302, reverse("console:table", args=("B07",)))
    supervisor.press(event, key="first-press", **{"to": "B1", **fields})
    assert len(supervisor.lines) == before + 1


def test_without_script_the_address_is_clean_after_recording(supervisor: Console) -> None:
    supervisor.shoe().hand("9h")
    supervisor.htmx = False
    supervisor.press("card", card="4s")
    assert supervisor.headers["Location"] == reverse("console:table", args=("B07",))


def test_an_address_without_a_query_stays_as_it_is(supervisor: Console) -> None:
    supervisor.shoe()
    assert "HX-Replace-Url" not in supervisor.headers

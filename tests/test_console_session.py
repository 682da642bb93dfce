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

"""The pages of a past shoe: readable on a phone."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests.conftest import MakeTable, People
from tests.test_console import Console

pytestmark = pytest.mark.django_db


def test_each_cell_of_a_shoe_says_what_it_is_where_the_table_is_folded(
    client: Client, people: People, table: MakeTable
) -> None:
    client.force_login(people("supervisor", "sam"))
    Console(client, table()).shoe().hand("9h", "4s", "Kd", "3c").press("hand_closed")
    page = client.get(reverse("console:shoe", args=("B07", 1))).content.decode()
    hands = page[page.index('class="list list-fold shoe-hands"') :]
    cells = re.findall(r"<td[^>]*>", hands[: hands.index("</table>")])
    assert len(cells) == 5
    assert all("data-label" in cell for cell in cells)

"""A card on the wrong place: what is to be done first is said, and recorded with one press."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from tests.conftest import MakeTable, People
from tests.test_console import Console, text

pytestmark = pytest.mark.django_db


def test_a_misplaced_card_is_moved_with_one_press_before_the_next_one(
    client: Client, people: People, table: MakeTable
) -> None:
    client.force_login(people("supervisor", "sam"))
    console = Console(client, table()).shoe().hand("2h", "3s", "Kd", "2c")
    assert 'id="move-button"' not in console.page
    console.press("card", card="6h", to="B3")
    assert re.search(r'class="due-words" data-say>Move 6♥ to P3 *<', console.page)
    form = console.page[: console.page.index('id="move-button"')].rpartition("<form")[2]
    fields = dict(re.findall(r'name="(event|source|to)" value="([^"]*)"', form))
    assert fields == {"event": "moved", "source": "B3", "to": "P3"}
    console.press(fields.pop("event"), **fields)
    assert console.last == {"event": "moved", "hand": 1, "from": "B3", "to": "P3"}
    assert "Move 6♥" not in text(console.page)
    assert "Banker draws" in text(console.page) or "Banker stands" in text(console.page)

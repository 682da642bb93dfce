"""The sheet that puts an entry right: what is wrong in it is found, and its own bet is no bet of another time."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from tests.conftest import MakeTable, People
from tests.test_console import Console, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def sam(client: Client, people: People, table: MakeTable) -> Console:
    client.force_login(people("supervisor", "sam"))
    return Console(client, table("B08", ruleset="insurance")).shoe("insurance")


def test_an_empty_reason_is_marked_at_its_field_for_the_focus_to_find(sam: Console) -> None:
    sam.hand("9h")
    sam.press("amended", entry=6, sheet="amend", to="P1", card="8h", why=" ")
    (field,) = re.findall(r'<input [^>]*id="why"[^>]*>', sam.page)
    assert 'aria-invalid="true" aria-describedby="why-error"' in field
    assert 'value=" "' in field, "what was sent stands in it"
    assert re.search(r'id="why-error" role="alert">.*?must not be empty', sam.page, re.DOTALL)
    assert "aria-invalid" not in sam.look(sheet="amend", entry=6).partition("<dialog")[2]


@pytest.mark.parametrize("bet", ["insurance_banker", "tie"])
def test_the_bet_of_an_amended_entry_is_among_the_first(sam: Console, bet: str) -> None:
    sam.press("betting_opened")
    sam.press("bet", seat=2, bet=bet, stake="100")
    seq = len(sam.lines)
    sam.press("betting_closed")
    sheet = sam.look(sheet="amend", entry=seq).partition("<dialog")[2]
    first, folded, rest = sheet.partition('class="bet-others"')
    assert folded
    (own,) = re.findall(rf'<label class="key key-bet"><input[^>]*value="{bet}".*?</label>', sheet, re.DOTALL)
    assert own in first
    assert " checked" in own
    assert "bet-mark" not in own
    assert 'data-warnings="{}"' in own
    assert "not now" in text(rest), "the others are folded as ever"


def test_a_stake_is_shown_to_its_last_digit(sam: Console) -> None:
    sam.press("betting_opened")
    sam.press("bet", seq=None, seat=2, bet="tie", stake="12.345")
    assert 'name="stake_quick" value="12.345">12.345</button>' in sam.page
    sam.press("bet", seat=3, bet="tie", stake="1500.50")
    assert 'name="stake_quick" value="1,500.50">1,500.50</button>' in sam.page

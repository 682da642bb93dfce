"""The other rulebooks in the database and at the console: recorded live, rebuilt and read again, all say the same."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.test import Client

from dealing.log import record
from dealing.models import Hand, Shoe
from dealing.projections import differences, rebuild_table
from dealing.rules.events import event_as_dict
from dealing.rules.judge import fold_all
from dealing.rules.rulesets import ruleset_names
from dealing.simulator import USUAL_RATES, simulate_shoe
from tests.conftest import MakeTable, People
from tests.test_console import Console
from tests.test_console_money import text

pytestmark = pytest.mark.django_db

START = dt.datetime(2026, 7, 1, 20, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))
OTHERS = ("macau", "melilla", "studio", "venezia")
NINE = ("9h", "2s", "Kd", "4d")


@pytest.mark.parametrize("ruleset", OTHERS)
def test_live_is_whole_is_rebuilt(table: MakeTable, ruleset: str) -> None:
    made = table("B07", ruleset=ruleset)
    rates = {mistake: min(0.5, rate * 20) for mistake, rate in USUAL_RATES.items()}
    events = simulate_shoe("B07", 1, ruleset, 5, START, rates, hands=7)
    for event in events:
        record(event_as_dict(event), actor="t")
    audits = [audit.as_dict() for audit in fold_all("B07", list(enumerate(events, 1))).audits]
    stored = [hand.audit for hand in Hand.objects.order_by("number")] + [shoe.audit for shoe in Shoe.objects.all()]
    for one, other in zip(audits, stored, strict=True):
        assert {key: other[key] for key in one if key in other} == {key: one[key] for key in one if key in other}
    assert list(differences(made)) == []
    assert rebuild_table(made.code).changed == 0


@pytest.fixture
def console(client: Client, people: People, table: MakeTable) -> Console:
    client.force_login(people("supervisor", "sam"))
    return Console(client, table(follow_on=False))


def test_all_rulesets_can_be_chosen(console: Console) -> None:
    offered = set(re.findall(r'value="(\w+)"', console.look()))
    assert set(ruleset_names()) <= offered


def test_the_burn_is_asked_for_as_the_rules_have_it(console: Console) -> None:
    console.press("shoe_opened", shoe=1, ruleset="macau", decks=6)
    page = text(console.page)
    assert "Burn 6 cards" in page
    assert "MO-burn" in page
    assert "first card, face up" not in page
    console.press("cards_burned", count=6)
    assert "Open betting" in text(console.page)
    assert console.last == {"event": "cards_burned", "count": 6}


def test_where_no_rule_burns_the_first_hand_may_begin(console: Console) -> None:
    console.press("shoe_opened", shoe=1, ruleset="melilla", decks=8)
    page = text(console.page)
    assert "Open betting · hand 1" in page
    assert "urn" not in re.sub(r"\b[Tt]urn\w*|[Rr]eturn\w*", "", page)


def free_hand(console: Console) -> None:
    sheet = console.look(sheet="card")
    assert re.search(r'<input[^>]*value="P1"[^>]*checked', sheet)
    console.press("card", card=NINE[0], to="P1", sheet="card").cards(*NINE[1:]).press("hand_closed")


def test_free_hands_are_offered_up_to_the_limit(console: Console) -> None:
    console.press("shoe_opened", shoe=1, ruleset="macau", decks=8).press("cards_burned", count=8)
    for number in (1, 2, 3):
        assert f"Free hand {number} of 3: deal without betting" in text(console.page)
        free_hand(console)
    assert "Free hand" not in text(console.page)
    free_hand(console)
    console.hand(*NINE).press("hand_closed")
    console.press("betting_opened")
    assert "Hand without betting too many" in text(console.page)


def test_free_hands_end_with_the_first_bet(console: Console) -> None:
    console.press("shoe_opened", shoe=1, ruleset="macau", decks=8).press("cards_burned", count=8)
    console.hand(*NINE).press("hand_closed")
    assert "Free hand" not in text(console.page)


def test_one_more_hand_after_the_cut_card(console: Console) -> None:
    console.press("shoe_opened", shoe=1, ruleset="macau", decks=8).press("cards_burned", count=8)
    console.hand(*NINE[:2]).press("cut_card", during="hand")
    assert "One more hand" in text(console.page)
    assert 'data-last="2" data-more="1"' in console.page
    console.cards(*NINE[2:]).press("hand_closed")
    assert "One more hand" in text(console.page)
    console.hand(*NINE[:2])
    assert "this is the last hand of the shoe" in text(console.page)
    console.cards(*NINE[2:]).press("hand_closed")
    assert "Shoe finished: no further hand" in text(console.page)
    console.press("betting_opened")
    assert "Hand 2 was the last of this shoe" in text(console.page)
    assert "MO-cut" in console.page


def test_a_kept_card_is_shown_until_it_is_dealt(console: Console) -> None:
    console.press("shoe_opened", shoe=1, ruleset="venezia", decks=8)
    console.hand(*NINE).press("extra", card="7c", face="up")
    assert "Kept as the first card of hand 2: 7♣" in text(console.page)
    assert "VE-seen" in console.page
    console.press("hand_closed")
    console.press("betting_opened")
    console.press("betting_closed")
    assert "Kept as the first card of hand 2: 7♣" in text(console.page)
    console.cards("7c")
    assert "Kept as" not in text(console.page)
    assert Hand.objects.get(number=2).audit["findings"] == []


def test_a_card_that_a_rule_takes_out_is_burned_in_one_press(console: Console) -> None:
    console.press("shoe_opened", shoe=1, ruleset="melilla", decks=8)
    console.hand("2h", "4s").press("exposed", when="drawing", card="3d").cards("3d")
    assert "Burn 3♦" in text(console.page)
    console.press("discarded", place="P2")
    assert console.last == {"event": "discarded", "hand": 1, "place": "P2"}
    assert "Burn 3♦" not in text(console.page)
    console.press("exposed", when="drawing", card="5d").press("extra", card="5d", face="up")
    assert "Burn 5♦" in text(console.page)


@pytest.mark.parametrize("ruleset", OTHERS)
def test_nothing_of_insurance_where_there_is_none(console: Console, ruleset: str) -> None:
    console.press("shoe_opened", shoe=1, ruleset=ruleset, decks=8)
    if ruleset == "macau":
        console.press("cards_burned", count=8)
    console.hand("2h", "4s", "3d", "Kc")
    assert "data-insured" not in console.page
    assert "nsurance" not in text(console.page)

"""Every code of the log and of the judge has words."""

from __future__ import annotations

import pytest

from dealing import wording
from dealing.people import GROUPS
from dealing.rules.bets import BET_NAMES
from dealing.rules.events import EVENTS, EventError, parse_event
from dealing.rules.findings import CATALOGUE, DISCRETION, RULINGS, SHOE_MEASURES
from dealing.rules.rulesets import get_ruleset, ruleset_names
from dealing.rules.tableau import PLACES


def test_findings() -> None:
    assert set(wording.FINDINGS) == set(CATALOGUE)
    titles = [wording.finding_title(code) for code in CATALOGUE]
    assert len(set(titles)) == len(titles)
    assert all(wording.finding_sentence(code).endswith(".") for code in CATALOGUE)


def test_actions() -> None:
    options = {option for kind in CATALOGUE.values() for option in kind.options}
    assert set(wording.ACTIONS) == {*RULINGS, *SHOE_MEASURES, DISCRETION} | options
    assert set(wording.ACTION_SENTENCES) == set(wording.ACTIONS)


def test_events() -> None:
    assert set(wording.EVENTS) == set(EVENTS)


def test_bets() -> None:
    assert set(wording.BETS) == set(BET_NAMES)
    assert {bet for name in ruleset_names() for bet in get_ruleset(name).bets} <= set(wording.BETS)


def test_places_and_roles() -> None:
    assert set(wording.PLACES) == {*PLACES, "extra"}
    assert set(wording.ROLES) == set(GROUPS)


def choices(event: str, key: str) -> set[str]:
    """What the vocabulary allows for a key of an event, read from the error for something else."""
    base: dict[str, object] = {"event": event, "at": "2026-11-28T20:00:01.250+07:00", "table": "B07", "shoe": 1}
    required: dict[str, dict[str, object]] = {
        "shoe_closed": {},
        "exposed": {"hand": 1},
        "dropped": {"hand": 1, "opened": False},
        "voided": {"hand": 1, "reason": "x"},
        "card": {"hand": 1, "to": "P1", "card": "9h"},
        "called": {"hand": 1},
    }
    with pytest.raises(EventError) as refused:
        parse_event({**base, **required[event], key: "no such thing"})
    assert refused.value.code == "not-a-choice"
    return set(str(refused.value.params["choices"]).split(", "))


@pytest.mark.parametrize(
    ("event", "key", "words"),
    [
        ("shoe_closed", "reason", wording.SHOE_REASONS),
        ("exposed", "when", wording.MOMENTS),
        ("dropped", "when", wording.MOMENTS),
        ("voided", "scope", wording.SCOPES),
        ("card", "face", wording.FACES),
        ("called", "winner", wording.WINNERS),
        ("called", "winner", wording.SIDES),
    ],
)
def test_choices_of_the_log(event: str, key: str, words: wording.Words) -> None:
    found = choices(event, key)
    assert len(found) > 1
    assert found <= set(words)


def test_ranks_and_suits() -> None:
    assert [wording.rank_name(rank) for rank in wording.RANKS] == (["ace", *"23456789", "10", "jack", "queen", "king"])
    assert wording.card_name("9", "h") == "9 of hearts"
    assert [wording.card_name(rank, "") for rank in "A9TJ"] == ["Ace", "Nine", "Ten", "Jack"]
    assert set(wording.LONE_RANKS) == set(wording.RANKS)


def test_an_unknown_code_is_given_back_readable() -> None:
    assert wording.bet_name("dragon_bonus") == "dragon bonus"
    assert wording.finding_title("dealer-asleep") == "dealer asleep"
    assert wording.finding_sentence("dealer-asleep") == ""
    assert wording.action_name("") == ""


def test_statuses_of_a_hand() -> None:
    """Those of the log's description; `corrected` is a finding's, the other two a decision's."""
    assert {"open", "closed", "voided", "unreadable", "corrected"} <= set(wording.STATUSES)

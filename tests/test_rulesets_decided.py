"""What a decision appends at a table of another rulebook: cards taken out, thrown away, or kept for the next hand."""

from __future__ import annotations

import pytest

from dealing.rules.judge import HandFold
from incidents.rulings import Outlook, ShoeNow, look_ahead, recommend
from tests.test_incidents_rulings import hand, planned

IN_USE = ShoeNow(open=True)
NATURAL = "open close P1:9h B1:4s P2:Kd B2:3c"


def after(fold: HandFold, *actions: str) -> Outlook:
    return look_ahead(actions, fold, IN_USE)


def test_a_card_that_was_seen_and_used_is_burned_and_its_place_due_again() -> None:
    text = "open close P1:2h B1:4s seen:drawing:3d P2:3d"
    assert planned(text, "burn card", ruleset="melilla") == ["discarded P2"]
    then = after(hand(text, "melilla"), "burn card").after
    assert then is not None
    assert then.next_due == "P2"
    assert [finding.state for finding in then.findings] == ["corrected"]


def test_cards_dealt_after_it_are_moved_when_that_is_decided_too() -> None:
    text = "open close P1:2h B1:4s seen:drawing:3d P2:3d B2:Kc P3:9h"
    assert planned(text, "burn card", "correct", ruleset="melilla") == ["discarded P2", "moved B2 P2", "moved P3 B2"]


@pytest.mark.parametrize(
    ("text", "ruleset"),
    [
        ("open close P1:2h B1:4s seen:drawing:3d x:3d", "melilla"),
        ("open close P1:2h B1:4s seen:drawing x:3d", "melilla"),
        (f"{NATURAL} x:7c", "melilla"),
        (f"{NATURAL} x:-", "melilla"),
        ("open x:7c", "studio"),
        (f"{NATURAL} x:7c", "macau"),
    ],
)
def test_a_card_beside_the_hand_is_burned(text: str, ruleset: str) -> None:
    assert planned(text, "burn card", ruleset=ruleset) == ["discarded True"]


def test_a_card_shown_before_bets_close_is_burned() -> None:
    assert planned("open P1:3h", "burn card", ruleset="studio") == ["discarded P1"]


@pytest.mark.parametrize("text", [f"{NATURAL} x:7c", f"{NATURAL} x:-", f"{NATURAL} P3:7c", f"{NATURAL} P3:-"])
def test_a_card_for_the_next_hand_is_left_where_it_lies(text: str) -> None:
    fold = hand(text, "venezia")
    assert recommend(fold.audit().findings).mandatory == ("reuse card",)
    assert planned(text, "reuse card", ruleset="venezia") == []
    assert len(fold.held) == 1


def test_the_card_of_a_standing_player_goes_to_banker_and_a_second_one_away() -> None:
    text = "open close P1:2h B1:2s P2:4d B2:Kc P3:9h B3:5h"
    assert recommend(hand(text, "melilla").audit().findings).mandatory == ("correct", "burn card")
    assert planned(text, "correct", "burn card", ruleset="melilla") == ["discarded B3", "moved P3 B3"]
    rejected = "open close P1:2h B1:7s P2:4d B2:Kc P3:9h"
    assert planned(rejected, "burn card", ruleset="melilla") == ["discarded P3"]


def test_a_rule_that_lets_a_face_up_card_stand_needs_nobody() -> None:
    findings = hand("open close P1:2h B1:4s seen:drawing:3d P2:3d", "macau").audit().findings
    assert (recommend(findings).mandatory, recommend(findings).options) == (("stand",), ())


def test_a_cancelled_draw_is_a_void_hand() -> None:
    text = "open close P1:9h- B1:4s- P2:Kd- B2:3c- up:P1:8h"
    assert recommend(hand(text, "studio").audit().findings).options == ("void hand", "stand")
    assert planned(text, "void hand", ruleset="studio") == ["voided hand because"]

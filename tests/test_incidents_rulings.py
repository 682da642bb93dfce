"""What the rules make of several findings together, and what stands in the way of an action."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import pytest

from dealing.rules.bets import ZERO
from dealing.rules.findings import CATALOGUE
from dealing.rules.judge import HandFold
from dealing.rules.rulesets import get_ruleset
from incidents import rulings
from incidents.rulings import ShoeNow, look_ahead, obstacle, recommend
from tests.rules_logs import log

NATURAL = "open close P1:9h B1:4s P2:Kd B2:3c"  # Player 9, Banker 7
BOTH_DRAW = "open close P1:2h B1:4s P2:3d B2:Kc"  # Player 5, Banker 4: the fifth card is P3
IN_USE = ShoeNow(open=True)


@dataclass(frozen=True)
class Found:
    """A finding with the ruling that a ruleset gives it."""

    code: str
    rules: tuple[str, ...]
    ruling: str
    options: tuple[str, ...]
    mandatory: bool
    state: str = "open"


def found(code: str, case: str = "", ruleset: str = "commission", state: str = "open") -> Found:
    ruling = get_ruleset(ruleset).ruling_for(code, case)
    return Found(code, ruling.rules, ruling.ruling, ruling.options, ruling.mandatory, state)


def hand(text: str, ruleset: str = "commission") -> HandFold:
    from dealing.rules.judge import replay

    return next(fold for fold in replay("B07", log(text, ruleset)[0]) if isinstance(fold, HandFold))


def planned(text: str, *actions: str, ruleset: str = "commission", shoe: ShoeNow = IN_USE) -> list[str]:
    """The lines that carry the actions out, as `moved B3 P3`."""
    ahead = look_ahead(actions, hand(text, ruleset), shoe, "because")
    return [" ".join(str(v) for k, v in line.items() if k != "hand") for line in ahead.events]


# --- joining -----------------------------------------------------------------------------------------------------


def test_the_strongest_ruling_leads() -> None:
    joined = recommend([found("card-overdrawn", "up"), found("fifth-card-misplaced"), found("insurance-not-due")])
    assert joined.mandatory == ("void insurance", "correct", "burn card")
    assert joined.headline == "void insurance"


def test_a_void_hand_leaves_nothing_to_correct_but_a_card_to_burn() -> None:
    joined = recommend([found("fifth-card-misplaced"), found("hand-after-last"), found("card-overdrawn", "up")])
    assert joined.mandatory == ("void hand", "burn card")


def test_discretion_stands_beside_what_is_mandatory() -> None:
    joined = recommend([found("fifth-card-misplaced"), found("exposed-during-draw")])
    assert joined.mandatory == ("correct",)
    assert joined.options == ("void hand", "burn card", "stand")


def test_discretion_alone_is_the_headline() -> None:
    joined = recommend([found("exposed-during-draw")])
    assert (joined.mandatory, joined.headline) == ((), "discretion")


def test_what_may_be_done_with_the_shoe_is_shown_as_well() -> None:
    measures = {rule.id: rule.measures for rule in get_ruleset("commission").rules.values()}
    assert recommend([found("card-overdrawn", "up")], measures).measures == ("cancel shoe",)
    dropped = recommend([found("card-dropped-opened")], measures)
    assert dropped.mandatory == ("void hand", "replace shoe")
    assert dropped.measures == ()


def test_a_finding_that_stands_does_not_weigh_beside_one_that_does_not() -> None:
    assert recommend([found("exposed-at-start"), found("dealt-during-betting")]).mandatory == ()
    assert recommend([found("exposed-at-start")]).mandatory == ("stand",)


def test_a_finding_without_a_rule_is_named() -> None:
    joined = recommend([found("dealt-during-betting"), found("fifth-card-misplaced")])
    assert joined.undocumented == ("dealt-during-betting",)


# --- departing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "left"),
    [
        (["correct", "burn card"], ()),
        (["correct"], ("burn card",)),
        (["stand"], ("correct", "burn card")),
        (["correct", "burn card", "cancel shoe"], ()),
        (["void hand", "burn card"], ("correct", "burn card")),
    ],
)
def test_departures(actions: list[str], left: tuple[str, ...]) -> None:
    joined = recommend([found("fifth-card-misplaced"), found("card-overdrawn", "up")])
    assert rulings.departures(actions, joined) == left


def test_nothing_departs_from_discretion() -> None:
    assert rulings.departures(["stand"], recommend([found("exposed-during-draw")])) == ()


def test_what_the_log_has_put_right_is_followed() -> None:
    joined = recommend([found("fifth-card-misplaced", state="corrected")])
    assert joined.done == {"correct"}
    assert rulings.departures(["stand"], joined) == ()
    assert rulings.departures(["void hand"], joined) == ("correct",)


def test_what_cannot_be_done_any_more_is_not_held_against_anybody() -> None:
    joined = recommend([found("card-dropped-opened")])
    assert rulings.departures(["void hand"], joined) == ("replace shoe",)
    assert rulings.departures(["void hand"], joined, impossible=["replace shoe"]) == ()


def test_a_void_that_another_finding_offers_includes_what_it_leaves_nothing_of() -> None:
    joined = recommend([found("fifth-card-misplaced"), found("exposed-during-draw")])
    assert (joined.instead, joined.beside) == (("void hand",), ("burn card", "stand"))
    assert rulings.departures(["void hand"], joined) == ()
    assert rulings.departures(["stand"], joined) == ("correct",)
    alone = recommend([found("fifth-card-misplaced"), found("opposing-bets", ruleset="insurance")])
    assert (alone.instead, alone.beside) == ((), ("void bet", "stand"))
    assert rulings.departures(["void hand"], alone) == ("correct",), "nothing offers it"


def test_a_void_that_is_offered_still_burns_the_card_that_has_to_be_burned() -> None:
    joined = recommend([found("card-overdrawn", "up"), found("wrong-result-called")])
    assert rulings.departures(["void hand"], joined) == ("burn card",)
    assert rulings.departures(["void hand", "burn card"], joined) == ()


def test_what_was_offered_for_something_put_right_is_offered_no_more() -> None:
    settled = found("exposed-during-draw", state="corrected")
    joined = recommend([found("fifth-card-misplaced"), settled])
    assert joined.options == ()
    assert rulings.departures(["void hand"], joined) == ("correct",)
    assert recommend([settled]).options == ("void hand", "burn card", "stand"), "nothing else is left to be said"


# --- leaving nothing out -----------------------------------------------------------------------------------------

BOTH_SIDES = found("opposing-bets", ruleset="insurance")


@pytest.mark.parametrize(
    ("actions", "left"),
    [
        (["correct"], ["opposing-bets"]),
        (["correct", "void bet"], []),
        (["correct", "stand"], []),
        (["correct", "burn card"], ["opposing-bets"]),
        (["void hand"], []),
    ],
)
def test_each_finding_left_to_the_manager_has_to_be_answered(actions: list[str], left: list[str]) -> None:
    assert [one.code for one in rulings.unanswered(actions, [found("fifth-card-misplaced"), BOTH_SIDES])] == left


def test_what_the_log_has_put_right_asks_nothing() -> None:
    assert rulings.unanswered(["correct"], [found("exposed-during-draw", state="corrected")]) == []


def test_one_finding_may_stand_while_another_is_put_right() -> None:
    misplaced = found("fifth-card-misplaced")
    assert rulings.contradictions(["correct", "stand"], [misplaced]) == [("correct", "stand")]
    assert rulings.contradictions(["correct", "stand"], [misplaced, BOTH_SIDES]) == []
    both = ["correct", "void bet", "stand"]
    assert ("correct", "stand") in rulings.contradictions(both, [misplaced, BOTH_SIDES]), "that bet is dealt with"
    assert ("void hand", "stand") in rulings.contradictions(["void hand", "stand"], [misplaced, BOTH_SIDES])


# --- contradictions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair", [("void hand", "correct"), ("void hand", "stand"), ("correct", "stand"), ("cancel shoe", "replace shoe")]
)
def test_some_choices_exclude_each_other(pair: tuple[str, str]) -> None:
    assert rulings.contradictions(pair) == [pair]


@pytest.mark.parametrize("pair", [("void hand", "replace shoe"), ("void hand", "burn card"), ("correct", "burn card")])
def test_others_go_together(pair: tuple[str, str]) -> None:
    assert rulings.contradictions(pair) == []


def test_the_same_card_is_not_both_burned_and_used() -> None:
    undocumented = Found("card-overdrawn", (), "discretion", CATALOGUE["card-overdrawn"].options, False)
    assert rulings.contradictions(["burn card", "reuse card"], [undocumented]) == [("burn card", "reuse card")]
    different = [found("card-overdrawn", "down"), found("extra-card-exposed")]
    assert rulings.contradictions(["burn card", "reuse card"], different) == []


# --- carrying out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "actions", "lines"),
    [
        (f"{BOTH_DRAW} B3:6h", ["correct"], ["moved B3 P3"]),
        (f"{BOTH_DRAW} B3:6h P3:5s end", ["correct"], ["moved B3 P3", "moved P3 B3"]),
        ("open close P1:9h P2:4s B1:Kd B2:3c end", ["correct"], ["moved P2 B1", "moved B1 P2"]),
        # a cycle of three
        ("open close B1:9h P2:4s P1:Kd B2:3c end", ["correct"], ["moved B1 P1", "moved P2 B1", "moved P1 P2"]),
        # two cards that look alike: it is the card's own place that counts
        (
            "open close P1:2h B1:4s P2:3d P3:Kc B2:Kc end",
            ["correct"],
            ["moved P3 B2", "moved B2 P3"],
        ),
        (f"{NATURAL} B3:6h end", ["burn card"], ["discarded B3"]),
        (f"{NATURAL} B3:6h end", ["correct"], ["discarded B3"]),
        (f"{NATURAL} B3:6h- end", ["reuse card"], []),
        (f"{NATURAL} B3:6h- end", ["correct"], []),
        (f"{NATURAL} B3:6h- x:5c end", ["burn card"], ["discarded True"]),
        (f"{NATURAL} x:6h x:5c end", ["burn card"], ["discarded True", "discarded True"]),
        (f"{NATURAL} x:6h out:x end", ["burn card"], []),
        (f"{NATURAL} end", ["void hand"], ["voided hand because"]),
        (f"{NATURAL} end void:hand", ["void hand"], []),
        (f"{NATURAL} end", ["stand"], []),
        (f"{NATURAL} end", ["void hand", "replace shoe"], ["voided hand because", "shoe_closed replaced"]),
        (f"{NATURAL} end", ["stand", "cancel shoe"], ["shoe_closed cancelled"]),
        (f"{NATURAL} call:banker", ["correct"], ["called player 9 7"]),
        (f"{NATURAL} call:banker end", ["correct"], []),
    ],
)
def test_the_lines_that_carry_it_out(text: str, actions: list[str], lines: list[str]) -> None:
    assert planned(text, *actions) == lines


@pytest.mark.parametrize(
    ("text", "actions", "lines"),
    [
        ("pay:1:player=50 end", ["correct"], ["paid 1 player 50.00"]),
        ("pay:1:player=150 end", ["correct"], ["paid 1 player -50.00"]),
        ("pay:2:banker=95 end", ["correct"], ["paid 1 player 100.00", "paid 2 banker -95.00"]),
        ("end", ["correct"], ["paid 1 player 100.00"]),
        # the dealer still pays by himself; only what is wrong already is put right
        ("pay:2:banker=95", ["correct"], ["paid 2 banker -95.00"]),
        ("pay:1:player=100 end", ["void hand"], ["voided hand because", "paid 1 player -100.00"]),
        ("pay:1:player=100 end", ["stand"], []),
        # paid to a seat that never bet
        ("pay:1:player=100 pay:9:tie=80 end", ["correct"], ["paid 9 tie -80.00"]),
    ],
)
def test_payments_are_put_right_by_the_difference(text: str, actions: list[str], lines: list[str]) -> None:
    bets = "open bet:1:player=100 bet:2:banker=100 close P1:9h B1:4s P2:Kd B2:3c"
    assert planned(f"{bets} {text}", *actions) == lines


def test_voiding_the_insurance_takes_back_what_it_paid_and_no_more() -> None:
    text = (
        "open bet:1:player=100 close P1:2h B1:Ks P2:3d B2:4c B3:9s ins:2 bet:2:insurance_banker=50 /ins:2 "
        "B3>P3 call:tie pay:2:insurance_banker=200 pay:1:player=100 end"
    )
    lines = planned(text, "void insurance", ruleset="insurance")
    assert lines == ["voided insurance because", "paid 2 insurance_banker -200.00"]


def test_looking_ahead_changes_nothing() -> None:
    fold = hand(f"{BOTH_DRAW} B3:6h P3:5s end")
    before = fold.audit()
    ahead = look_ahead(["correct"], fold, IN_USE)
    assert fold.audit() == before == ahead.before
    assert ahead.after is not None
    assert ahead.after.dealt.as_dict() == {"P": ["2h", "3d", "6h"], "B": ["4s", "Kc", "5s"], "extra": []}
    assert [finding.state for finding in ahead.after.findings] == ["corrected", "corrected"]


# --- obstacles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "action", "code"),
    [
        (f"{BOTH_DRAW} end", "correct", "card-missing"),
        (f"{BOTH_DRAW} call:player", "correct", None),
        (f"{BOTH_DRAW} B3:6h end", "correct", None),  # the misplaced card can still be moved
        (f"{NATURAL} end void:hand", "correct", "hand-void"),
        (f"{NATURAL} end void:hand", "void hand", None),
        (f"{NATURAL} end", "burn card", "nothing-to-burn"),
        (f"{NATURAL} x:6h end", "burn card", None),
        (f"{NATURAL} x:6h out:x end", "burn card", None),  # burned already
        (f"{NATURAL} end", "void insurance", "no-insurance"),
        (f"{NATURAL} end", "stand", None),
    ],
)
def test_obstacles_of_the_hand(text: str, action: str, code: str | None) -> None:
    assert obstacle(action, hand(text), IN_USE) == code


@pytest.mark.parametrize(
    ("shoe", "actions", "code"),
    [
        (ShoeNow(open=False), ["cancel shoe"], "shoe-closed"),
        (ShoeNow(open=True), ["cancel shoe"], None),
        (ShoeNow(open=True, playing=2), ["cancel shoe"], "hand-playing"),
        (ShoeNow(open=True, playing=1), ["cancel shoe"], "hand-unfinished"),
        (ShoeNow(open=True, playing=1), ["void hand", "cancel shoe"], None),
    ],
)
def test_obstacles_of_the_shoe(shoe: ShoeNow, actions: list[str], code: str | None) -> None:
    assert obstacle("cancel shoe", hand(f"{NATURAL} end"), shoe, actions) == code


def test_no_hand_is_voided_in_an_incident_of_the_shoe() -> None:
    assert obstacle("void hand", None, IN_USE) == "no-hand"
    assert obstacle("stand", None, IN_USE) is None
    assert obstacle("replace shoe", None, ShoeNow(open=True, playing=3)) == "hand-playing"


# --- money -------------------------------------------------------------------------------------------------------


def test_the_effect_on_each_bet() -> None:
    text = (
        "open bet:1:player=100 bet:1:player=50 bet:2:tie=10 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s "
        "call:tie pay:2:tie=80 end"
    )
    ahead = look_ahead(["correct"], hand(text), IN_USE)
    assert ahead.before is not None
    assert ahead.after is not None
    player, tie = rulings.money(ahead.before, ahead.after, get_ruleset("commission"))
    assert (player.seat, player.bet, player.stake) == (1, "player", Decimal(150))
    assert (player.as_dealt, player.owed, player.paid, player.change) == (ZERO, ZERO, None, ZERO)
    # As dealt it was 0 against 0, and the tie was paid; by the rules Banker has 9 against 1.
    assert (tie.as_dealt, tie.owed, tie.paid, tie.change) == (Decimal(80), ZERO, Decimal(80), Decimal(-80))


@pytest.mark.parametrize("text", ["open close P1:2h B1:4s P2:3d", f"{BOTH_DRAW} P3:- B3:5s"])
def test_an_unfinished_or_unknown_felt_pays_nothing_as_dealt(text: str) -> None:
    assert rulings.as_dealt(hand(text).audit().dealt) is None

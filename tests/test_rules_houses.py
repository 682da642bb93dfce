"""What houses do differently, as data that the judge reads: the tables of the rulesets make the difference, no name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dealing.rules.events import EventError
from dealing.rules.judge import HandAudit, HandContext, HandFold, Held, ShoeAudit, ShoeFold, TableFold, fold_all
from dealing.rules.rulesets import Ruleset, get_ruleset, load_ruleset
from tests.rules_logs import TABLE, Judged, judge, log

OPEN = "open close "
#: A hand that Player wins with a natural 9.
NINE = "P1:9h B1:2s P2:Kd B2:4d call:player:9-6 end"


def house(folder: Path, changes: str, adopts: str = "") -> Ruleset:
    """A ruleset with one rule, H-1, and what is written after it."""
    path = folder / "house.toml"
    path.write_text(
        f"""
name = "house"
unit = "1"
rounding = "down"
decks = 8
title = {{ en = "House", th = "บ้าน" }}
source = {{ document = "house", en = "House", th = "บ้าน" }}
{adopts}
[bets.player]
rule = "PAY-player"
pays = "1"
[rules.PAY-player]
section = 3
en = "Even money."
th = "หนึ่งต่อหนึ่ง"
[rules.H-1]
section = 5
en = "A rule."
th = "กติกา"
{changes}
""",
        encoding="utf-8",
    )
    return load_ruleset(path)


def by(ruleset: Ruleset, text: str) -> list[HandAudit | ShoeAudit]:
    """A shorthand log judged by a ruleset, with the memo, without it, and event by event: they must agree."""
    events, _ = log(f"shoe-open:standard {text}", prelude=False)
    answers = []
    for memo in (True, False):
        fold = TableFold(TABLE, memo=memo, ruleset=ruleset)
        left = list(fold.steps(events))
        answers.append([one.audit() for one in (*left, fold.hand, fold.shoe) if one is not None])
    fold = TableFold(TABLE, ruleset=ruleset)
    left = [one for seq, event in events for one in fold.step(seq, event)]
    answers.append([one.audit() for one in (*left, fold.hand, fold.shoe) if one is not None])
    plain = [[audit.as_dict() for audit in answer] for answer in answers]
    assert plain[0] == plain[1] == plain[2]
    return answers[0]


def codes(audits: list[HandAudit | ShoeAudit]) -> list[str]:
    return [finding.code for audit in audits for finding in audit.findings]


def macau(text: str, hand: int = 1) -> Judged:
    return judge(f"shoe-open:macau burned:8 hand:1 {text}", hand=hand, prelude=False)


def melilla(text: str, hand: int = 1) -> Judged:
    return judge(f"shoe-open:melilla hand:1 {text}", hand=hand, prelude=False)


def studio(text: str, hand: int = 1) -> Judged:
    return judge(f"shoe-open:studio hand:1 {text}", hand=hand, prelude=False)


def venezia(text: str, hand: int = 1) -> Judged:
    return judge(f"shoe-open:venezia hand:1 {text}", hand=hand, prelude=False)


# --- a card that is taken out of the hand -----------------------------------------------------------------------------


def test_a_card_seen_while_drawn_is_left_out_of_the_lawful_hand() -> None:
    used = melilla(OPEN + "P1:2h B1:4s *seen:drawing:3d P2:3d B2:Kc P3:9h")
    assert used.hand.correct.places == {"P1": ("2h",), "B1": ("4s",), "P2": ("Kc",), "B2": ("9h",)}
    assert used.hand.correct.extra == ("3d",)
    assert used.hand.next_due == "P3"
    finding = used.finding("exposed-during-draw")
    assert (finding["seq"], finding["state"], finding["ruling"]) == (used.marked, "open", "burn card")
    # that it was used is one mistake: the cards after it are none
    assert used.codes == ["exposed-during-draw"]


def test_taken_out_in_time_another_takes_its_place() -> None:
    removed = melilla(OPEN + "P1:2h B1:4s seen:drawing:3d P2:3d out:P2 P2:6d B2:Kc call:player:8-4 end")
    assert removed.hand.result is not None
    assert removed.hand.result.player == 8
    assert removed.finding("exposed-during-draw")["state"] == "corrected"
    assert removed.codes == ["exposed-during-draw"]


def test_a_card_that_was_seen_and_never_dealt_was_not_used() -> None:
    quiet = melilla(OPEN + "P1:2h B1:4s seen:drawing:3d P2:6d B2:Kc call:player:8-4 end")
    assert quiet.hand.correct.places["P2"] == ("6d",)
    assert quiet.finding("exposed-during-draw")["state"] == "corrected"


def test_an_unnamed_card_is_not_guessed() -> None:
    unknown = melilla(OPEN + "P1:2h B1:4s seen:drawing P2:6d B2:Kc call:player:8-4 end")
    assert unknown.hand.correct.places["P2"] == ("6d",)
    assert unknown.finding("exposed-during-draw")["state"] == "open"


def test_a_card_seen_where_it_lies_face_down_is_taken_out() -> None:
    down = melilla(OPEN + "P1:2h- B1:4s- seen:drawing:2h:P1 P2:6d- B2:Kc-")
    assert down.hand.correct.places == {"P1": ("4s",), "B1": ("6d",), "P2": ("Kc",)}
    assert down.hand.correct.extra == ("2h",)


def test_the_card_laid_aside_is_one_finding() -> None:
    aside = melilla(OPEN + "P1:2h B1:4s seen:drawing:3d x:3d P2:6d B2:Kc call:player:8-4 end")
    assert aside.codes == ["exposed-during-draw"]
    assert aside.finding("exposed-during-draw")["state"] == "open"  # it lies there
    assert aside.shoe.cards_seen == 5


def test_a_card_shown_before_bets_close_is_replaced() -> None:
    used = studio("open P1:3h close B1:2s P2:5d B2:4d")
    assert used.hand.correct.places == {"P1": ("2s",), "B1": ("5d",), "P2": ("4d",)}
    assert used.hand.next_due == "B2"
    replaced = studio("open P1:3h out:P1 close P1:9h B1:2s P2:Kd B2:4d end")
    assert replaced.codes == ["exposed-during-betting"]
    assert replaced.hand.result is not None


def test_where_the_rule_lets_it_stand_nothing_changes() -> None:
    stands = macau(OPEN + "P1:2h B1:4s seen:drawing:6d P2:6d B2:Kc call:player:8-4 end")
    assert stands.hand.correct == stands.hand.dealt
    assert stands.hand.ruling == "stand"


def test_bets_are_frozen_after_the_card_was_seen() -> None:
    frozen = melilla("open bet:1:player=100 seen:drawing:3d *bet:1:tie=50 close P1:9h B1:2s P2:Kd B2:4d end")
    finding = frozen.finding("bet-after-close")
    assert (finding["seq"], finding["rules"], finding["ruling"]) == (frozen.marked, ["ME-faceup"], "void bet")
    assert [str(line.returned) for line in frozen.hand.settlement] == ["100", "50"]
    late = melilla("open close bet:1:tie=50 P1:9h B1:2s P2:Kd B2:4d end")  # no card was seen
    assert late.finding("bet-after-close")["ruling"] == "discretion"


# --- a card for a Player who must stand -------------------------------------------------------------------------------


@pytest.mark.parametrize("banker", ["2s", "3s", "5s"])
def test_it_is_bankers_third_card_where_banker_draws(banker: str) -> None:
    dealt = melilla(OPEN + f"P1:2h B1:{banker} P2:4d B2:Kc P3:9h B3:5h")
    assert dealt.hand.correct.places["B3"] == ("9h",)
    assert dealt.hand.correct.extra == ("5h",)
    assert dealt.finding("fifth-card-misplaced")["rules"] == ["ME-stand"]
    second = dealt.finding("card-overdrawn")  # the second one drawn is discarded
    assert (second["rules"], second["ruling"]) == (["ME-stand"], "burn card")


@pytest.mark.parametrize("banker", ["6s", "7s"])
def test_it_is_rejected_where_banker_stands_too(banker: str) -> None:
    dealt = melilla(OPEN + f"P1:2h B1:{banker} P2:4d B2:Kc P3:9h")
    assert dealt.hand.correct.extra == ("9h",)
    assert dealt.finding("card-overdrawn")["rules"] == ["ME-stand"]


def test_a_natural_is_no_standing_player() -> None:
    assert melilla(OPEN + "P1:9h B1:2s P2:Kd B2:4d P3:2c").finding("card-overdrawn")["rules"] == ["ME-extra"]


def test_a_fifth_card_astray_otherwise_is_out_of_order() -> None:
    dealt = melilla(OPEN + "P1:2h B1:4s P2:3d B2:Kc B3:9h")
    assert dealt.finding("fifth-card-misplaced")["rules"] == ["ME-order"]


def test_a_house_may_reject_it_always(tmp_path: Path) -> None:
    ruleset = house(
        tmp_path,
        """
[rules.H-1.rulings]
"card-overdrawn:player-stands" = { ruling = "burn card", options = ["burn card"] }
[shoe.burn]
by = "none"
[draw]
standing_player = "rejected"
""",
    )
    audits = by(ruleset, "hand:1 open close P1:2h B1:2s P2:4d B2:Kc P3:9h out:P3 B3:5h call:tie:6-7 end")
    hand = audits[0]
    assert isinstance(hand, HandAudit)
    assert hand.correct.places["B3"] == ("5h",)
    assert codes(audits) == ["card-overdrawn", "wrong-result-called"]
    assert hand.findings[0].rules == ("H-1",)


# --- a card that is kept for the next hand ----------------------------------------------------------------------------


def test_the_next_hand_begins_with_the_card_that_was_kept() -> None:
    seen = venezia(OPEN + NINE.replace("call", "x:7c call") + f" hand:2 {OPEN} P1:7c B1:2c P2:As B2:5d end", hand=2)
    assert seen.codes == []
    assert seen.shoe.cards_seen == 8  # the 7c once
    other = venezia(OPEN + NINE.replace("call", "x:7c call") + f" hand:2 {OPEN} *P1:6c B1:2c P2:2d B2:5d end", hand=2)
    finding = other.finding("held-card-not-dealt")
    assert (finding["seq"], finding["cards"]) == (other.marked, ["7c"])


def test_a_kept_card_left_out_is_told_once() -> None:
    text = OPEN + NINE.replace("call", "x:7c call") + f" hand:2 {OPEN} {NINE} hand:3 {OPEN} {NINE}"
    assert venezia(text, hand=2).codes == ["held-card-not-dealt"]
    assert venezia(text, hand=3).codes == []


def test_an_unseen_card_is_any_card() -> None:
    text = OPEN + NINE.replace("call", "x:- call") + f" hand:2 {OPEN} {NINE}"
    assert venezia(text, hand=2).codes == []
    assert venezia(text).shoe.cards_seen == 8


def test_two_kept_cards_come_in_their_order() -> None:
    text = OPEN + "P1:2h B1:7s P2:4d B2:Kc P3:9h x:8c end"
    good = venezia(f"{text} hand:2 {OPEN} P1:9h B1:8c", hand=2)
    assert good.codes == []
    assert venezia(f"{text} hand:2 {OPEN} P1:8c B1:9h", hand=2).codes == ["held-card-not-dealt"]


def test_a_kept_card_waits_for_the_hand_in_which_cards_are_dealt() -> None:
    text = OPEN + NINE.replace("call", "x:7c call") + " hand:2 open void:hand hand:3 open close *P1:6c"
    assert venezia(text, hand=3).finding("held-card-not-dealt")["cards"] == ["7c"]


def test_a_kept_card_that_was_discarded_is_not_asked_for() -> None:
    text = OPEN + NINE.replace("call", "x:7c out:x call") + f" hand:2 {OPEN} {NINE}"
    assert venezia(text, hand=2).codes == []
    later = OPEN + NINE.replace("call", "x:7c call") + f" hand:2 open out:x close {NINE}"
    assert venezia(later, hand=2).codes == []


def test_dealt_face_down_it_is_told_when_it_is_opened() -> None:
    text = OPEN + NINE.replace("call", "x:7c call") + " hand:2 open close P1:- B1:2c- "
    assert venezia(text + "P2:2d- B2:5d- up:P1:7c", hand=2).codes == []
    wrong = venezia(text + "P2:2d- B2:5d- *up:P1:8c", hand=2)
    assert wrong.finding("held-card-not-dealt")["seq"] == wrong.marked
    assert wrong.shoe.cards_seen == 9


def test_a_house_that_burns_extra_cards_keeps_none() -> None:
    text = OPEN + NINE.replace("call", "x:7c call") + f" hand:2 {OPEN} {NINE}"
    assert melilla(text, hand=2).codes == []
    assert judge(text, hand=2).codes == []


def test_what_is_kept_is_stored_with_the_hand_and_old_rows_are_read() -> None:
    context = HandContext(TABLE, 1, 2, get_ruleset("venezia"), 8, False, [0] * 65, held=(Held(None, False),))
    again = HandContext.from_json(context.to_json())
    assert again.held == (Held(None, False),)
    context.held = ()
    assert "held" not in context.to_json()
    assert HandContext.from_json(context.to_json()).held == ()


# --- two cards at once, scans -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", ["x:7c", "x:-"])
def test_cards_stuck_together_void_the_hand(extra: str) -> None:
    stuck = melilla(f"open bet:1:banker=100 close P1:9h B1:2s {extra} P2:Kd B2:4d")
    assert stuck.hand.ruling == "void hand"
    assert [str(line.returned) for line in stuck.hand.settlement] == ["100"]
    beyond = melilla(f"open bet:1:banker=100 close P1:9h B1:2s P2:Kd B2:4d {extra}")
    assert beyond.hand.ruling == "burn card"


def test_a_scan_that_differs_is_refused_but_where_it_is_a_finding() -> None:
    text = OPEN + "P1:9h- B1:2s- P2:Kd- B2:4d- up:P1:8h"
    found = studio(text)
    assert found.finding("card-scan-differs")["cards"] == ["9h", "8h"]
    assert found.hand.correct.places["P1"] == ("8h",)
    assert found.shoe.cards_seen == 4
    with pytest.raises(EventError, match="recorded as 9h"):
        judge(text)


# --- the shoe ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "flagged"), [(0, [2, 3]), (1, [3]), (2, [])])
@pytest.mark.parametrize("cut", ["within", "between"])
def test_hands_after_the_cut_card(tmp_path: Path, more: int, flagged: list[int], cut: str) -> None:
    ruleset = house(tmp_path, f'[shoe]\nburn.by = "none"\ncut_card = {{ rule = "H-1", more_hands = {more} }}')
    first = f"cut {NINE}" if cut == "within" else f"{NINE} |cut"
    audits = by(ruleset, f"hand:1 open close {first} hand:2 open close {NINE} hand:3 open close {NINE}")
    late = [a.hand for a in audits if isinstance(a, HandAudit) and codes([a]) == ["hand-after-last"]]
    assert late == flagged


@pytest.mark.parametrize(
    ("burn", "started", "found"),
    [
        ('{ by = "first-card", rule = "H-1" }', "burn:5h burned:5", []),
        ('{ by = "first-card", rule = "H-1" }', "burn:5h burned:8", ["burn-count-wrong"]),
        ('{ by = "first-card", rule = "H-1" }', "burned:8", ["burn-missing"]),
        ('{ by = "decks", rule = "H-1" }', "burned:8", []),
        ('{ by = "decks", rule = "H-1" }', "burn:5h burned:8", []),
        ('{ by = "decks", rule = "H-1" }', "burned:5", ["burn-count-wrong"]),
        ('{ by = "decks", rule = "H-1" }', "burned:5 burned:3", ["burn-count-wrong"]),
        ('{ by = "decks", rule = "H-1" }', "", ["burn-missing"]),
        ('{ by = "fixed", count = 3, rule = "H-1" }', "burned:3", []),
        ('{ by = "fixed", count = 3, rule = "H-1" }', "burned:8", ["burn-count-wrong"]),
        ('{ by = "none" }', "", []),
        ('{ by = "none" }', "burn:5h burned:7", []),
    ],
)
def test_how_many_cards_are_burned(tmp_path: Path, burn: str, started: str, found: list[str]) -> None:
    audits = by(house(tmp_path, f"[shoe]\nburn = {burn}"), f"{started} hand:1 open close {NINE}")
    assert codes(audits) == found
    shoe = audits[-1]
    if "burned:5 " in started:
        assert shoe.findings[0].state == "corrected"


def test_by_decks_it_is_the_shoes_own_number_of_decks(tmp_path: Path) -> None:
    ruleset = house(tmp_path, '[shoe]\nburn = { by = "decks", rule = "H-1" }')
    events, _ = log(f"shoe-open:standard:6 burned:6 hand:1 open close {NINE}", prelude=False)
    fold = TableFold(TABLE, ruleset=ruleset)
    for seq, event in events:
        fold.step(seq, event)
    assert fold.shoe is not None
    assert fold.shoe.audit().findings == ()


FREE = NINE  # nobody could bet


@pytest.mark.parametrize(("free", "found"), [(0, 0), (3, 0), (4, 1), (6, 3)])
def test_free_hands_at_the_start_of_a_shoe(free: int, found: int) -> None:
    hands = " ".join(f"hand:{n} {FREE}" for n in range(1, free + 1))
    text = f"{hands} hand:{free + 1} open close {NINE} hand:{free + 2} open"
    shoe = macau(text).shoe
    assert [finding.code for finding in shoe.findings] == ["free-hand-over-limit"] * found
    # without a hand with betting nobody can tell: perhaps the betting is not recorded at this table
    assert macau(hands or "open").shoe.findings == ()


def test_a_free_hand_later_in_the_shoe_and_a_void_one() -> None:
    later = macau(f"{OPEN} {NINE} hand:2 {FREE} hand:3 open")
    assert [(f.code, f.seq) for f in later.shoe.findings] == [("free-hand-over-limit", (11,))]
    assert macau(f"{OPEN} {NINE} hand:2 P1:9h void:hand hand:3 open").shoe.findings == ()
    # a bet without a recorded betting time is a bet
    assert macau(f"{OPEN} {NINE} hand:2 bet:1:player=5 {FREE} hand:3 open").shoe.findings == ()
    assert judge(f"{OPEN} {NINE} hand:2 {FREE} hand:3 open").shoe.findings == ()


def test_free_hands_are_stored_with_the_shoe_and_old_rows_are_read() -> None:
    events, _ = log(f"shoe-open:macau burned:8 hand:1 {FREE} hand:2 {FREE} hand:3", prelude=False)
    shoe = next(fold for fold in fold_all(TABLE, events).folds if isinstance(fold, ShoeFold))
    data = shoe.to_json()
    assert data["free"] == [3]
    assert ShoeFold.from_json(data).to_json() == data
    old = {key: value for key, value in data.items() if key not in ("free", "bet_on")}
    assert ShoeFold.from_json(old).free == []


def test_many_hands_are_judged_in_bulk_as_one_by_one(tmp_path: Path) -> None:
    ruleset = house(
        tmp_path,
        """
[rules.H-1.rulings]
"extra-card-exposed" = { ruling = "reuse card", options = ["reuse card"] }
[shoe]
burn.by = "none"
free_hands = { rule = "H-1", most = 1 }
cut_card = { rule = "H-1", more_hands = 2 }
""",
    )
    nine = "P1:9 B1:2 P2:K B2:4 call:player:9-6 end"  # by ranks: there are enough of them
    text = f"hand:1 {nine} hand:2 {nine} "
    text += " ".join(f"hand:{n} open close {nine}" for n in range(3, 8))
    text += f" hand:8 open close {nine.replace('call', 'x:7 call')}"
    text += " ".join(f" hand:{n} open close {'cut ' if n == 10 else ''}{nine}" for n in range(9, 14))
    assert sorted(codes(by(ruleset, text))) == sorted(
        ["free-hand-over-limit", "extra-card-exposed", "held-card-not-dealt", "hand-after-last"]
    )


def test_a_hand_without_a_memo_is_the_same() -> None:
    context = HandContext(TABLE, 1, 2, get_ruleset("venezia"), 8, False, [0] * 65, held=(Held(None, False),))
    events, _ = log(f"hand:2 {OPEN} {NINE}", prelude=False)
    assert HandFold.of(context, events).audit().as_dict() == HandFold.of(context, events, memo=False).audit().as_dict()

"""The fold itself: what is refused, amended entries, late decisions, voids, and going on from stored state."""

import json
from typing import Any

import pytest

from dealing.rules.events import EventError, format_event, parse_event
from dealing.rules.judge import (
    LATE,
    REFUSALS,
    EventRefused,
    HandAudit,
    HandContext,
    HandFold,
    ShoeAudit,
    ShoeFold,
    TableFold,
    effective,
    fold_all,
)
from tests.rules_logs import TABLE, judge, log

NATURAL = "open close P1:9h B1:4s P2:Kd B2:3c"
BOTH_DRAW = "open close P1:2h B1:4s P2:3d B2:Kc"
SECOND = "hand:2 open close P1:8h B1:4h P2:Ks B2:3d end"


def run(text: str, ruleset: str = "commission", prelude: bool = True) -> TableFold:
    """A table fold that has taken all events of a shorthand text."""
    fold = TableFold(TABLE)
    for seq, event in log(text, ruleset, prelude)[0]:
        fold.step(seq, event)
    return fold


def state(fold: TableFold) -> Any:
    """Everything an outsider can see of a table fold."""
    shoe, hand = fold.shoe, fold.hand
    return (
        shoe and (json.dumps(shoe.to_json()), shoe.audit()),
        hand and (hand.audit().as_dict(), hand.context.to_json(), list(hand.counts), hand.audit().paid),
    )


# --- Refused: it cannot have happened ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "code"),
    [
        # the place is taken, or empty
        ("open close P1:9h P1:4s", "to", "occupied"),
        (f"{BOTH_DRAW} B3:6h B3:5s", "to", "occupied"),
        ("open close P1:9h B1:4s P2:Kd P2>P3 B2:3c P2:2c P2:4d", "to", "occupied"),
        ("open close P1:9h B1>P1", "from", "empty-place"),
        (f"{NATURAL} out:P3", "place", "empty-place"),
        (f"{NATURAL} P3:6h out:P3 out:P3", "place", "empty-place"),
        (f"{NATURAL} P3:6h out:P3 P3>B3", "from", "empty-place"),
        (f"{NATURAL} out:x", "extra", "no-extra"),
        (f"{NATURAL} x:6h out:x out:x", "extra", "no-extra"),
        # face-down cards
        ("open close up:P1:9h", "place", "empty-place"),
        ("open close P1:9h up:P1:9h", "place", "face-up"),
        ("open close P1:- up:P1:9h up:P1:9h", "place", "face-up"),
        ("open close P1:9h- up:P1:9s", "card", "other-card"),
        # betting
        ("open open", "event", "betting-opened"),
        ("open close close", "event", "betting-closed"),
        ("open close open", "event", "betting-closed"),
        ("close open", "event", "betting-closed"),
        # insurance
        ("open close ins:1 ins:2", "window", "window-open"),
        ("open close /ins:1", "window", "window-not-open"),
        ("open close ins:1 /ins:2", "window", "window-not-open"),
        ("open close ins:1 /ins:1 /ins:1", "window", "window-not-open"),
        ("open close odds:player=3", "event", "no-window"),
        # the hand is over
        (f"{NATURAL} end end", "hand", "hand-closed"),
        (f"{NATURAL} end P3:6h", "hand", "hand-closed"),
        (f"{NATURAL} end bet:1:player=10", "hand", "hand-closed"),
        (f"{NATURAL} end open", "hand", "hand-closed"),
        (f"{NATURAL} end up:P1:9h", "hand", "hand-closed"),
        (f"{NATURAL} end ins:1", "hand", "hand-closed"),
        ("open close P1:9h void:hand B1:4s", "hand", "hand-voided"),
        ("open void:hand bet:1:player=10", "hand", "hand-voided"),
        ("open void:hand void:hand", "scope", "void-already"),
        ("open void:insurance void:insurance", "scope", "void-already"),
        (f"{NATURAL} end {SECOND} hand:1 P3:6h", "hand", "hand-behind"),
        (f"{NATURAL} end {SECOND} hand:1 open", "hand", "hand-behind"),
        # the shoe
        ("|cut |cut", "event", "cut-card-out"),
        (f"{NATURAL} cut cut", "event", "cut-card-out"),
        (f"{NATURAL} cut end |cut", "event", "cut-card-out"),
        (f"{NATURAL} cut end hand:2 cut", "event", "cut-card-out"),
        ("burn:6h", "event", "burn-card-known"),
        (f"{NATURAL} end shoe-end:finished hand:2 open", "shoe", "shoe-closed"),
        (f"{NATURAL} end shoe-end:finished |cut", "shoe", "shoe-closed"),
        (f"{NATURAL} end shoe-end:finished shoe-end:finished", "shoe", "shoe-closed"),
        ("shoe-open:standard", "shoe", "shoe-opened"),
        ("shoe:2 hand:1 open", "shoe", "no-shoe"),
        ("shoe:2 burn:5h", "shoe", "no-shoe"),
        ("shoe:2 shoe-open:standard shoe:1 hand:1 open", "shoe", "shoe-left"),
        ("shoe:2 shoe-open:standard shoe:1 shoe-open:standard", "shoe", "shoe-behind"),
    ],
)
def test_what_cannot_have_happened_is_refused_and_changes_nothing(text: str, key: str, code: str) -> None:
    events, _ = log(text)
    fold = TableFold(TABLE)
    for seq, event in events[:-1]:
        fold.step(seq, event)
    before = state(fold)
    seq, event = events[-1]
    with pytest.raises(EventRefused) as caught:
        fold.step(seq, event)
    assert (caught.value.key, caught.value.code) == (key, code)
    assert code in REFUSALS
    assert str(caught.value).startswith(f"{key}: ")
    assert state(fold) == before


@pytest.mark.parametrize("text", ["hand:1 open", "burn:5h", "|cut", "shoe-end:finished"])
def test_nothing_happens_without_a_shoe(text: str) -> None:
    fold = TableFold(TABLE)
    ((seq, event),) = log(text, prelude=False)[0]
    with pytest.raises(EventRefused) as caught:
        fold.step(seq, event)
    assert caught.value.code == "no-shoe"
    assert fold.shoe is None


def test_burning_is_over_once_a_hand_was_dealt() -> None:
    events, _ = log("shoe-open:commission hand:1 open burn:5h", prelude=False)
    fold = TableFold(TABLE)
    for seq, event in events[:-1]:
        fold.step(seq, event)
    with pytest.raises(EventRefused, match="hands have been dealt"):
        fold.step(*events[-1])


def test_an_unknown_ruleset_is_refused() -> None:
    ((seq, event),) = log("shoe-open:roulette", prelude=False)[0]
    fold = TableFold(TABLE)
    with pytest.raises(EventError) as caught:
        fold.step(seq, event)
    assert caught.value.key == "ruleset"
    assert "commission" in str(caught.value)
    assert fold.shoe is None


def test_a_refused_first_event_begins_no_hand() -> None:
    fold = run(f"{NATURAL} end")
    events, _ = log(f"{NATURAL} end hand:2 out:P1")
    with pytest.raises(EventRefused):
        fold.step(*events[-1])
    assert fold.hand is not None
    assert fold.hand.number == 1
    assert fold.shoe is not None
    assert fold.shoe.hands == 1


def test_what_should_not_have_happened_is_taken() -> None:
    """Wrong, but possible: recorded and flagged, never refused."""
    run(f"{NATURAL} P3:6h B3:2c x:4d call:tie end hand:3 P1:9h end |cut hand:4 open P1:2c bet:1:player=10 end")


# --- Amended ----------------------------------------------------------------------------------------------------------


def test_an_amended_entry_is_read_in_its_corrected_form() -> None:
    judged = judge("open close P1:9h B1:4s P2:Kd B2:9c fix:9=B2:3c call:player:9-7 end")
    assert judged.codes == []
    assert judged.json["dealt"]["B"] == ["4s", "3c"]


def test_a_withdrawn_entry_is_not_read_at_all() -> None:
    judged = judge(f"{NATURAL} P3:6h fix:10 call:player:9-7 end")
    assert judged.codes == []
    assert judged.json["dealt"] == {"P": ["9h", "Kd"], "B": ["4s", "3c"], "extra": []}


def test_positions_still_count_every_line() -> None:
    judged = judge(f"open fix:4 {NATURAL} *x:6h end")
    assert judged.finding("extra-card-exposed")["seq"] == judged.marked


def test_the_last_amendment_of_an_entry_counts() -> None:
    judged = judge("open close P1:9h B1:4s P2:Kd B2:9c fix:9=B2:8c fix:9=B2:3c call:player:9-7 end")
    assert judged.codes == []


def test_an_amendment_may_come_when_the_table_is_long_past_the_hand() -> None:
    judged = judge(f"open close P1:9h B1:4s P2:Kd B2:9c call:player:9-7 end {SECOND} late:1 fix:9=B2:3c")
    assert judged.codes == []


def test_an_amendment_of_the_shoe() -> None:
    judged = judge(f"shoe-open:commission burn:9h burned:5 fix:2=burn:5h hand:1 {NATURAL} end", prelude=False)
    assert judged.shoe.findings == ()


def test_an_amendment_changes_what_later_hands_see_of_the_shoe() -> None:
    judged = judge(f"{NATURAL} cut end {SECOND} late:1 fix:10", hand=2)
    assert judged.codes == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{NATURAL} fix:99", "no-entry"),
        (f"{NATURAL} fix:9 fix:10", "entry-is-amendment"),
    ],
)
def test_an_amendment_of_nothing_is_refused(text: str, code: str) -> None:
    lines = log(text.replace("fix:99", "fix:9"))[0]
    if code == "no-entry":
        seq, event = lines[-1]
        lines[-1] = (seq, parse_event(json.loads(format_event(event)) | {"seq": 99}))
    with pytest.raises(EventRefused) as caught:
        effective(lines)
    assert (caught.value.key, caught.value.code) == ("seq", code)
    with pytest.raises(EventRefused):
        fold_all(TABLE, lines)


def test_an_amendment_of_what_comes_after_it_is_refused() -> None:
    events = dict(log(f"{NATURAL} fix:9 call:player end")[0])
    line = json.loads(format_event(events[10])) | {"seq": 11}
    events[10] = parse_event(line)
    with pytest.raises(EventRefused) as caught:
        effective(sorted(events.items()))
    assert caught.value.code == "no-entry"


def test_an_amendment_that_makes_the_log_impossible_is_refused() -> None:
    with pytest.raises(EventRefused) as caught:
        judge("open close P1:9h B1:4s P2:Kd fix:8=P1:Kd")
    assert caught.value.code == "occupied"


def test_a_fold_takes_no_amendment_by_itself() -> None:
    events, _ = log(f"{NATURAL} fix:9")
    fold = TableFold(TABLE)
    for seq, event in events[:-1]:
        fold.step(seq, event)
    with pytest.raises(EventRefused):
        fold.step(*events[-1])


# --- Late decisions ---------------------------------------------------------------------------------------------------


LATE_CASES = [
    (f"{BOTH_DRAW} B3:6h P3:5s end", "B3>P3 P3>B3", "corrected", ["fifth-card-misplaced", "sixth-card-misplaced"]),
    (f"{NATURAL} P3:6h end", "out:P3", "corrected", ["card-overdrawn"]),
    (f"{NATURAL} x:6h end", "out:x", "corrected", ["extra-card-exposed"]),
    (f"{NATURAL} P3:6h end", "void:hand", "corrected", ["card-overdrawn"]),
    (
        "open bet:1:player=10 close P1:9h B1:4s P2:Kd B2:3c end",
        "pay:1:player=10",
        "corrected",
        ["payout-wrong"],
    ),
    (
        "open bet:1:player=10 close P1:9h B1:4s P2:Kd B2:3c pay:1:player=11 end",
        "pay:1:player=-1",
        "corrected",
        ["payout-wrong"],
    ),
]


@pytest.mark.parametrize("between", ["", SECOND, "shoe-end:finished", f"{SECOND} shoe-end:finished"])
@pytest.mark.parametrize(("hand", "decision", "state", "codes"), LATE_CASES)
def test_a_late_decision_reaches_its_hand(hand: str, decision: str, state: str, codes: list[str], between: str) -> None:
    judged = judge(f"{hand} {between} late:1 {decision}")
    assert judged.codes == codes
    assert {finding.state for finding in judged.hand.findings} == {state}


def test_a_late_decision_after_the_next_shoe_was_opened() -> None:
    hand, decision, state, codes = LATE_CASES[0]
    next_shoe = "shoe-end:finished shoe:2 shoe-open:commission burn:5h burned:5 hand:1 open"
    judged = judge(f"{hand} {next_shoe} shoe:1 late:1 {decision}")
    assert judged.codes == codes
    assert {finding.state for finding in judged.hand.findings} == {state}


def test_a_late_decision_changes_no_other_hand() -> None:
    with_it = judge(f"{NATURAL} P3:6h end {SECOND} late:1 out:P3", hand=2).hand
    without = judge(f"{NATURAL} P3:6h end {SECOND}", hand=2).hand
    assert with_it.as_dict() == without.as_dict()


def test_only_decisions_may_be_late() -> None:
    assert {kind.name for kind in LATE} == {"moved", "discarded", "voided", "paid"}


def test_a_late_event_of_a_hand_that_never_was_is_refused() -> None:
    with pytest.raises(EventRefused):
        judge(f"hand:2 {NATURAL} end late:1 void:hand", hand=2)


def test_a_hand_is_folded_again_from_its_own_events() -> None:
    """What the database keeps of a hand, its context and its events, is enough: late decision included."""
    judged = judge(f"{BOTH_DRAW} B3:6h P3:5s {SECOND} late:1 B3>P3 P3>B3")
    (first, *_rest) = judged.table.folds
    assert isinstance(first, HandFold)
    context = HandContext.from_json(json.loads(json.dumps(first.context.to_json())))
    own = [(seq, event) for seq, event in judged.events if event.hand == 1]
    again = HandFold.of(context, own)
    assert again.audit().as_dict() == judged.json
    assert [f.code for f in again.audit().findings][-1] == "hand-incomplete"


# --- Voids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", [f"{NATURAL} x:6h void:hand", f"{NATURAL} x:6h end void:hand"])
def test_a_void_hand_puts_its_findings_right(when: str) -> None:
    judged = judge(when)
    assert judged.hand.status == "voided"
    assert judged.finding("extra-card-exposed")["state"] == "corrected"


def test_a_void_hand_can_still_be_closed() -> None:
    judged = judge("open close P1:9h void:hand end hand:2 open")
    assert judged.hand.status == "voided"
    assert judged.codes == []


def test_void_insurance_is_not_a_void_hand() -> None:
    judged = judge("open close P1:2h B1:Ks P2:3d B2:4c B3:9s ins:2 /ins:2 void:insurance", "insurance")
    assert judged.hand.status == "open"
    assert judged.finding("insurance-not-due")["state"] == "corrected"
    assert judged.finding("fifth-card-misplaced")["state"] == "open"


# --- Live, stored and whole -------------------------------------------------------------------------------------------


def test_what_a_step_leaves() -> None:
    fold = TableFold(TABLE)
    left: list[Any] = []
    for seq, event in log(f"{NATURAL} end {SECOND} shoe-end:finished")[0]:
        left += fold.step(seq, event)
    assert [x.number for x in left] == [1, 2, 1]  # hand 1, hand 2, shoe 1
    assert isinstance(left[-1], ShoeFold)


def test_audits_stand_in_the_order_of_the_log() -> None:
    second_shoe = f"shoe:2 shoe-open:standard burn:2h burned:2 hand:1 {NATURAL} hand:2 open"
    text = f"{NATURAL} end {SECOND} shoe-end:finished {second_shoe}"
    folded = fold_all(TABLE, log(text)[0])
    assert [(a.shoe, getattr(a, "hand", None)) for a in folded.audits] == [
        (1, 1),
        (1, 2),
        (1, None),
        (2, 1),
        (2, 2),
        (2, None),
    ]


@pytest.mark.parametrize("memo", [True, False])
def test_a_hand_left_open_for_one_that_begins_with_a_card(memo: bool) -> None:
    """The shoe has seen the cards of both, whichever way the first was folded."""
    folded = fold_all(TABLE, log("open close P1:9h B1:4s hand:2 P1:4s")[0], memo=memo)
    assert [audit.cards_seen for audit in folded.audits if isinstance(audit, ShoeAudit)] == [4]


LIVE = (
    f"open bet:1:banker=10 P1:2h close B1:4s drop:drawing P2:3d B2:Kc B3:6h B3>P3 cut B3:5s call:tie "
    f"pay:1:banker=10 end {SECOND} hand:3 open close P1:- B1:2c x:4d P2:3d B2:4d up:P1:9h call:player"
)


def test_going_on_from_stored_state_after_any_event() -> None:
    """The projections hold all that the fold needs: store and load after each event, and nothing changes."""
    events, _ = log(LIVE)
    straight = TableFold(TABLE)
    stored = TableFold(TABLE)
    for seq, event in events:
        straight.step(seq, event)
        stored.step(seq, event)
        shoe = stored.shoe and ShoeFold.from_json(json.loads(json.dumps(stored.shoe.to_json())))
        hand = None
        if stored.hand is not None:
            context = HandContext.from_json(json.loads(json.dumps(stored.hand.context.to_json())))
            hand = HandFold.of(context, stored.hand.trail)
        stored = TableFold.resume(TABLE, shoe, hand)
        assert state(stored) == state(straight)


def test_a_copy_goes_its_own_way() -> None:
    fold = run(f"{NATURAL} P3:6h")
    assert fold.hand is not None
    what_if = fold.hand.copy()
    events, _ = log(f"{NATURAL} P3:6h out:P3")
    what_if.step(*events[-1])
    assert [f.state for f in what_if.audit().findings] == ["corrected"]
    assert [f.state for f in fold.hand.audit().findings] == ["open"]


def test_every_moment_of_a_live_hand() -> None:
    """What the console shows after each card: totals and what is due."""
    fold = TableFold(TABLE)
    seen: list[tuple[tuple[int, int], str | None]] = []
    for seq, event in log(f"{BOTH_DRAW} P3:6h B3:5s call:banker:1-9 end")[0]:
        fold.step(seq, event)
        if fold.hand is not None:
            audit = fold.hand.audit()
            assert isinstance(audit, HandAudit)
            seen.append((audit.totals, audit.next_due))
    assert seen == [
        ((0, 0), "P1"),
        ((0, 0), "P1"),
        ((2, 0), "B1"),
        ((2, 4), "P2"),
        ((5, 4), "B2"),
        ((5, 4), "P3"),
        ((1, 4), "B3"),
        ((1, 9), None),
        ((1, 9), None),
        ((1, 9), None),
    ]


def test_nothing_is_due_that_depends_on_a_card_not_yet_open() -> None:
    assert judge("open close P1:2h B1:4s P2:3d B2:-").hand.next_due is None
    assert judge("open close P1:2h B1:- P2:3d").hand.next_due == "B2"
    assert judge(f"{BOTH_DRAW} P3:-").hand.next_due is None
    assert judge(f"{BOTH_DRAW} P3:- up:P3:6h").hand.next_due == "B3"


def test_cards_not_yet_known_lie_where_they_were_put() -> None:
    judged = judge("open close P1:2h B1:4s P2:3d B2:- P3:-")
    assert judged.json["correct"] == {"P": ["2h", "3d", "??"], "B": ["4s", "??"], "extra": [], "next": None}
    assert judged.hand.result is None


def test_the_audit_of_a_hand_is_one_json_object_as_the_log_page_shows_it() -> None:
    judged = judge("open bet:1:banker=100.00 close P1:9h B1:4s P2:3d B2:2c *B3:Kd")
    assert judged.json == {
        "table": "B07",
        "shoe": 1,
        "hand": 1,
        "status": "open",
        "dealt": {"P": ["9h", "3d"], "B": ["4s", "2c", "Kd"], "extra": []},
        "correct": {"P": ["9h", "3d", "Kd"], "B": ["4s", "2c"], "extra": [], "next": None},
        "result": {"player": 2, "banker": 6, "winner": "banker", "natural": False},
        "findings": [
            {
                "code": "fifth-card-misplaced",
                "seq": judged.marked,
                "cards": ["Kd"],
                "state": "open",
                "rules": ["INC-order"],
                "ruling": "correct",
                "options": ["correct"],
                "mandatory": True,
            }
        ],
        "ruling": "correct",
        "settlement": [{"seat": 1, "bet": "banker", "stake": "100.00", "owed": "95.00", "returned": "100.00"}],
    }
    json.dumps(judged.json)


def test_the_audit_of_a_shoe_is_one_json_object() -> None:
    judged = judge(f"{NATURAL} end {SECOND}")
    assert judged.shoe.as_dict() == {
        "table": "B07",
        "shoe": 1,
        "hand": None,
        "findings": [],
        "cards_seen": 9,
        "hands": 2,
    }

"""Every finding code: raised where the log says so, silent right beside it, and what the documents rule on it."""

import pytest

from dealing.rules.judge import ShoeAudit, TableFold, fold_all
from tests.rules_logs import TABLE, judge, log

NATURAL = "open close P1:9h B1:4s P2:Kd B2:3c"  # Player 9, Banker 7
BOTH_DRAW = "open close P1:2h B1:4s P2:3d B2:Kc"  # Player 5, Banker 4: the fifth card is P3
PLAYER_STANDS = "open close P1:7h B1:4s P2:Kd B2:Ac"  # Player 7, Banker 5: the fifth card is B3

CORRECT = {"ruling": "correct", "options": ["correct"], "mandatory": True}
CORRECT_OR_VOID = {"ruling": "discretion", "options": ["correct", "void hand"], "mandatory": False}
STAND = {"ruling": "stand", "options": ["stand"], "mandatory": True}
VOID_HAND = {"ruling": "void hand", "options": ["void hand"], "mandatory": True}
BURN = {"ruling": "burn card", "options": ["burn card"], "mandatory": True}


@pytest.mark.parametrize("ruleset", ["insurance", "standard", "commission"])
@pytest.mark.parametrize(
    "text",
    [
        f"{NATURAL} call:player:9-7 end",
        f"{NATURAL} call:player end",
        f"{NATURAL} end",
        f"{PLAYER_STANDS} B3:6h call:player:7-1 end",
        f"{BOTH_DRAW} P3:6h B3:5s call:banker:1-9 end",
        f"{BOTH_DRAW} P3:8h call:banker:3-4 end",
        "open close P1:9h- B1:4s- P2:Kd- B2:3c- up:P1:9h up:P2:Kd up:B1:4s up:B2:3c call:player:9-7 end",
        "open close P1:- B1:- P2:- B2:- up:B2:3c up:B1:4s up:P1:9h up:P2:Kd call:player:9-7 end",
        f"{BOTH_DRAW} P3:- up:P3:6h B3:- up:B3:5s call:banker:1-9 end",
        "open close P1:9h B1:4s cut P2:Kd B2:3c end",
    ],
)
def test_a_hand_dealt_right_has_no_finding(text: str, ruleset: str) -> None:
    judged = judge(text, ruleset)
    assert judged.codes == []
    assert judged.hand.ruling is None
    assert judged.hand.status == "closed"


# --- Misplaced cards --------------------------------------------------------------------------------------------------


def test_initial_card_misplaced() -> None:
    judged = judge("open close P1:9h *P2:4s B1:Kd B2:3c end")
    first, second = [f.as_dict() for f in judged.hand.findings]
    assert first == {
        "code": "initial-card-misplaced",
        "seq": judged.marked,
        "cards": ["4s"],
        "state": "open",
        "rules": ["INC-fix"],
        **CORRECT_OR_VOID,
    }
    assert (second["code"], second["cards"]) == ("initial-card-misplaced", ["Kd"])
    assert judged.json["dealt"] == {"P": ["9h", "4s"], "B": ["Kd", "3c"], "extra": []}
    assert judged.json["correct"] == {"P": ["9h", "Kd"], "B": ["4s", "3c"], "extra": [], "next": None}


@pytest.mark.parametrize(
    "text",
    ["open close *B1:9h", "open close *P3:9h", "open close P1:9h B1:4s *B2:Kd", "open close P1:9h B1:4s P2:Kd *P3:3c"],
)
def test_each_of_the_first_four_cards_has_its_place(text: str) -> None:
    judged = judge(text)
    assert judged.finding("initial-card-misplaced")["seq"] == judged.marked


def test_initial_cards_put_right_by_moving_them() -> None:
    judged = judge("open close P1:9h P2:4s B1:Kd P2>B1 B1>P2 B2:3c call:player:9-7 end")
    assert judged.codes == ["initial-card-misplaced"] * 2
    assert {f.state for f in judged.hand.findings} == {"corrected"}
    assert judged.json["dealt"] == {"P": ["9h", "Kd"], "B": ["4s", "3c"], "extra": []}


def test_an_initial_card_put_right_before_the_next() -> None:
    judged = judge("open close P1:9h P2:4s P2>B1 P2:Kd B2:3c call:player:9-7 end")
    assert judged.finding("initial-card-misplaced")["state"] == "corrected"


def test_fifth_card_misplaced() -> None:
    judged = judge(f"{BOTH_DRAW} *B3:6h")
    assert judged.finding("fifth-card-misplaced") == {
        "seq": judged.marked,
        "cards": ["6h"],
        "state": "open",
        "rules": ["INC-order"],
        **CORRECT,
    }
    assert judged.json["correct"] == {
        "P": ["2h", "3d", "6h"],
        "B": ["4s", "Kc"],
        "extra": [],
        "next": "B3",
    }
    assert judged.hand.next_due == "B3"
    assert judged.hand.result is None


def test_fifth_card_misplaced_on_player_who_stands() -> None:
    judged = judge(f"{PLAYER_STANDS} *P3:6h end")
    assert judged.codes == ["fifth-card-misplaced"]
    assert judged.finding("fifth-card-misplaced")["seq"] == judged.marked
    assert judged.hand.result is not None
    assert judged.hand.result.winner == "player"


def test_fifth_card_misplaced_face_down() -> None:
    judged = judge(f"{BOTH_DRAW} *B3:-")
    assert judged.finding("fifth-card-misplaced")["seq"] == judged.marked


@pytest.mark.parametrize(
    "after",
    ["B3>P3", "B3>P3 B3:5s call:banker:1-9 end", "B3>P3 B3:5s end hand:2 open close P1:9h B1:4s P2:Kd B2:3c end"],
)
def test_fifth_card_put_right_by_moving_it(after: str) -> None:
    judged = judge(f"{BOTH_DRAW} B3:6h {after}")
    assert judged.codes == ["fifth-card-misplaced"]
    assert judged.finding("fifth-card-misplaced")["state"] == "corrected"
    assert judged.hand.ruling == "correct"


def test_a_hidden_fifth_card_moved_before_anybody_knew() -> None:
    """Where it belonged is known only once card 4 is open; that it was put elsewhere remains true."""
    judged = judge("open close P1:2h B1:4s P2:3d B2:- *B3:- B3>P3 up:B2:Kc")
    assert judged.finding("fifth-card-misplaced")["seq"] == judged.marked
    assert judged.finding("fifth-card-misplaced")["state"] == "corrected"


def test_fifth_card_moved_back_again_is_not_put_right() -> None:
    judged = judge(f"{BOTH_DRAW} B3:6h B3>P3 P3>B3")
    assert judged.finding("fifth-card-misplaced")["state"] == "open"


def test_fifth_and_sixth_swapped_is_one_finding_each() -> None:
    judged = judge(f"{BOTH_DRAW} *B3:6h *P3:5s end")
    assert judged.codes == ["fifth-card-misplaced", "sixth-card-misplaced"]
    sixth = judged.finding("sixth-card-misplaced")
    assert sixth == {
        "seq": [judged.marked[1]],
        "cards": ["5s"],
        "state": "open",
        "rules": ["INC-order"],
        **CORRECT,
    }
    result = judged.json["result"]
    assert result == {"player": 1, "banker": 9, "winner": "banker", "natural": False}


@pytest.mark.parametrize("moves", ["B3>P3 P3>B3", "P3>B3 B3>P3"])
def test_fifth_and_sixth_swapped_back(moves: str) -> None:
    judged = judge(f"{BOTH_DRAW} B3:6h P3:5s {moves} end")
    assert [f.state for f in judged.hand.findings] == ["corrected", "corrected"]
    assert judged.json["dealt"] == {"P": ["2h", "3d", "6h"], "B": ["4s", "Kc", "5s"], "extra": []}


def test_half_a_swap_puts_one_card_right() -> None:
    judged = judge(f"{BOTH_DRAW} B3:6h P3:5s B3>P3 end")
    assert judged.finding("fifth-card-misplaced")["state"] == "corrected"
    assert judged.finding("sixth-card-misplaced")["state"] == "open"


# --- Cards too many, cards too few ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"{NATURAL} *P3:6h",
        f"{NATURAL} *B3:6h",
        f"{BOTH_DRAW} P3:8h *B3:6h",
        "open close P1:6h B1:4s P2:Kd B2:3c *P3:6h",  # both stand
        f"{PLAYER_STANDS} B3:2h *P3:6h",
    ],
)
def test_card_overdrawn(text: str) -> None:
    judged = judge(f"{text} end")
    assert judged.codes == ["card-overdrawn"]
    assert judged.finding("card-overdrawn") == {
        "seq": judged.marked,
        "cards": ["6h"],
        "state": "open",
        "rules": ["INC-extra"],
        **BURN,
    }
    assert judged.json["correct"]["extra"] == ["6h"]
    assert judged.hand.ruling == "burn card"


def test_card_overdrawn_face_down_is_the_next_hands_first() -> None:
    judged = judge(f"{NATURAL} *P3:6h-")
    finding = judged.finding("card-overdrawn")
    assert finding["seq"] == judged.marked
    assert finding["rules"] == ["INC-fix"]
    assert (finding["ruling"], finding["mandatory"]) == ("discretion", False)


def test_card_overdrawn_and_discarded_again() -> None:
    judged = judge(f"{NATURAL} P3:6h out:P3 call:player:9-7 end")
    assert judged.codes == ["card-overdrawn"]
    assert judged.finding("card-overdrawn")["state"] == "corrected"
    assert judged.json["dealt"]["P"] == ["9h", "Kd"]


def test_the_result_counts_without_the_overdrawn_card() -> None:
    assert judge(f"{NATURAL} B3:6h call:player:9-7 end").codes == ["card-overdrawn"]
    assert judge(f"{NATURAL} B3:2h call:tie:9-9 end").codes == ["card-overdrawn", "wrong-result-called"]


@pytest.mark.parametrize(
    "text",
    [
        "open close P1:9h B1:4s P2:Kd *call:player",
        f"{BOTH_DRAW} *call:player:5-4",
        f"{BOTH_DRAW} P3:6h *call:banker:1-4 end",
        f"{PLAYER_STANDS} *end",
        "open close P1:9h B1:4s *end",
    ],
)
def test_card_not_drawn(text: str) -> None:
    judged = judge(text)
    assert judged.codes == ["card-not-drawn"]
    finding = judged.finding("card-not-drawn")
    assert finding["seq"] == judged.marked
    assert finding["state"] == "open"
    assert finding["rules"] == ["INC-fix"]
    assert finding.items() >= CORRECT_OR_VOID.items()
    assert judged.hand.result is None


def test_card_not_drawn_put_right_by_drawing_it() -> None:
    judged = judge(f"{BOTH_DRAW} P3:6h call:banker:1-4 B3:5s call:banker:1-9 end")
    assert judged.finding("card-not-drawn")["state"] == "corrected"
    assert judged.hand.next_due is None


# --- Exposed, extra, dropped, opened out of turn ----------------------------------------------------------------------


def test_extra_card_exposed() -> None:
    judged = judge(f"{NATURAL} *x:6h end")
    assert judged.codes == ["extra-card-exposed"]
    assert judged.finding("extra-card-exposed") == {
        "seq": judged.marked,
        "cards": ["6h"],
        "state": "open",
        "rules": ["INC-extra"],
        **BURN,
    }
    assert judged.json["dealt"]["extra"] == ["6h"]


def test_extra_card_face_down_is_no_finding() -> None:
    assert judge(f"{NATURAL} x:- end").codes == []
    assert judge(f"{NATURAL} x:6h- end").codes == []


def test_extra_card_burned() -> None:
    judged = judge(f"{NATURAL} x:6h out:x end")
    assert judged.finding("extra-card-exposed")["state"] == "corrected"
    assert judged.json["dealt"]["extra"] == []


def test_exposed_during_betting() -> None:
    judged = judge("open bet:1:player=100 *P1:9h close B1:4s P2:Kd B2:3c end")
    assert judged.codes[0] == "exposed-during-betting"
    finding = judged.finding("exposed-during-betting")
    assert finding["seq"] == judged.marked
    assert finding["cards"] == ["9h"]
    assert finding["rules"] == ["INC-bet-exposed"]
    assert finding.items() >= VOID_HAND.items()
    assert judged.hand.ruling == "void hand"
    assert judged.json["settlement"] == [
        {"seat": 1, "bet": "player", "stake": "100.00", "owed": "0.00", "returned": "100.00"}
    ]


@pytest.mark.parametrize("early", ["P1:9h- *up:P1:9h", "*seen:betting", "*seen:betting:9h"])
def test_exposed_during_betting_in_other_ways(early: str) -> None:
    judged = judge(f"open {early} close")
    assert judged.finding("exposed-during-betting")["seq"] == judged.marked


@pytest.mark.parametrize("betting", ["open close", "close"])
def test_a_card_dealt_before_betting_was_opened(betting: str) -> None:
    judged = judge(f"*P1:9h {betting} B1:4s P2:Kd B2:3c end")
    assert judged.codes == ["exposed-during-betting"]
    assert judged.finding("exposed-during-betting")["seq"] == judged.marked
    assert judge(f"P1:9h- {betting} B1:4s").codes == ["dealt-during-betting"]


def test_nothing_is_exposed_once_betting_is_closed() -> None:
    assert "exposed-during-betting" not in judge(f"{NATURAL} end").codes


def test_dealt_during_betting() -> None:
    judged = judge("open *P1:9h- close B1:4s- P2:Kd- B2:3c- up:P1:9h up:B1:4s up:P2:Kd up:B2:3c end")
    assert judged.codes == ["dealt-during-betting"]
    assert judged.finding("dealt-during-betting") == {
        "seq": judged.marked,
        "cards": ["9h"],
        "state": "open",
        "rules": [],
        "ruling": "discretion",
        "options": ["stand", "void hand"],
        "mandatory": False,
    }


def test_exposed_during_draw() -> None:
    judged = judge(f"{BOTH_DRAW} *seen:drawing:6h P3:6h B3:5s end")
    assert judged.finding("exposed-during-draw") == {
        "seq": judged.marked,
        "cards": ["6h"],
        "state": "open",
        "rules": ["INC-draw-exposed"],
        "ruling": "discretion",
        "options": ["stand", "burn card", "void hand"],
        "mandatory": False,
    }


@pytest.mark.parametrize("when", ["start", "burn"])
def test_exposed_at_start_within_a_hand(when: str) -> None:
    judged = judge(f"open *seen:{when}:6h close P1:9h B1:4s P2:Kd B2:3c end")
    assert judged.codes == ["exposed-at-start"]
    assert judged.finding("exposed-at-start") == {
        "seq": judged.marked,
        "cards": ["6h"],
        "state": "open",
        "rules": ["INC-start-exposed"],
        **STAND,
    }


def shoe_findings(audit: ShoeAudit) -> list[dict[str, object]]:
    return [finding.as_dict() for finding in audit.findings]


def test_exposed_at_start_of_the_shoe() -> None:
    judged = judge(f"shoe-open:commission burn:5h *|seen:burn:6h burned:5 hand:1 {NATURAL} end hand:1", prelude=False)
    assert judged.codes == []
    assert shoe_findings(judged.shoe) == [
        {
            "code": "exposed-at-start",
            "seq": judged.marked,
            "cards": ["6h"],
            "state": "open",
            "rules": ["INC-start-exposed"],
            **STAND,
        }
    ]


@pytest.mark.parametrize(
    "opened",
    [
        "P3:- *up:P3:6h up:B2:Kc",  # the fifth before the fourth
        "up:B2:Kc P3:- B3:- *up:B3:5s up:P3:6h",  # the sixth before the fifth
    ],
)
def test_opened_out_of_turn(opened: str) -> None:
    judged = judge(f"open close P1:2h B1:4s P2:3d B2:- {opened}")
    assert judged.codes[0] == "opened-out-of-turn"
    finding = judged.finding("opened-out-of-turn")
    assert finding["seq"] == judged.marked
    assert finding["rules"] == ["INC-fix"]
    assert (finding["ruling"], finding["options"]) == ("discretion", ["stand", "correct"])


@pytest.mark.parametrize("order", ["P1 B1 P2 B2", "B2 P2 B1 P1", "P1 P2 B1 B2", "B1 B2 P1 P2", "P2 B1 B2 P1"])
def test_the_first_four_may_be_opened_in_any_order(order: str) -> None:
    cards = {"P1": "2h", "B1": "4s", "P2": "3d", "B2": "Kc"}
    opened = " ".join(f"up:{place}:{cards[place]}" for place in order.split())
    judged = judge(f"open close P1:- B1:- P2:- B2:- {opened} P3:- up:P3:6h B3:- up:B3:5s end")
    assert judged.codes == []


def test_card_dropped() -> None:
    judged = judge("open close P1:9h *drop:drawing:Kd B1:4s P2:Kd B2:3c call:player:9-7 end")
    assert judged.codes == ["card-dropped"]
    assert judged.finding("card-dropped") == {
        "seq": judged.marked,
        "cards": ["Kd"],
        "state": "open",
        "rules": ["INC-drop"],
        "ruling": "reuse card",
        "options": ["reuse card"],
        "mandatory": True,
    }


@pytest.mark.parametrize("when", ["drawing", "opening", "start", "discard"])
def test_card_dropped_opened(when: str) -> None:
    judged = judge(f"open bet:1:tie=10 close P1:9h B1:4s P2:Kd *drop!{when}:Kd B2:3c end")
    assert judged.finding("card-dropped-opened") == {
        "seq": judged.marked,
        "cards": ["Kd"],
        "state": "open",
        "rules": ["INC-drop-seen"],
        "ruling": "void hand",
        "options": ["void hand", "replace shoe"],
        "mandatory": True,
    }
    assert judged.hand.ruling == "void hand"


def test_card_dropped_outside_a_hand_is_a_finding_of_the_shoe() -> None:
    judged = judge(f"shoe-open:commission burn:5h *|drop:start burned:5 hand:1 {NATURAL} end", prelude=False)
    assert judged.codes == []
    (finding,) = shoe_findings(judged.shoe)
    assert (finding["code"], finding["seq"], finding["ruling"]) == ("card-dropped", judged.marked, "reuse card")


# --- Results, bets and pays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "called", ["banker", "tie", "banker:9-7", "player:8-7", "player:9-6", "banker:7-9", "player:7-9"]
)
def test_wrong_result_called(called: str) -> None:
    judged = judge(f"{NATURAL} *call:{called} end")
    assert judged.codes == ["wrong-result-called"]
    finding = judged.finding("wrong-result-called")
    assert finding["seq"] == judged.marked
    assert finding["rules"] == ["INC-fix"]
    assert finding["state"] == "open"
    assert finding.items() >= CORRECT_OR_VOID.items()


def test_wrong_result_called_and_called_again() -> None:
    judged = judge(f"{NATURAL} *call:banker call:player:9-7 end")
    assert judged.finding("wrong-result-called")["seq"] == judged.marked
    assert judged.finding("wrong-result-called")["state"] == "corrected"
    right_first = judge(f"{NATURAL} call:player:9-7 *call:banker end")
    assert right_first.finding("wrong-result-called")["seq"] == right_first.marked
    assert right_first.finding("wrong-result-called")["state"] == "open"


def test_wrong_result_called_because_a_card_lies_wrong() -> None:
    """The felt says 0 to 0, the cards in the order drawn say 1 to 9."""
    judged = judge(f"{BOTH_DRAW} B3:6h P3:5s *call:tie:0-4 end")
    assert judged.finding("wrong-result-called")["seq"] == judged.marked


def test_bet_after_close() -> None:
    judged = judge("open bet:1:player=10 close *bet:2:player=10 P1:9h B1:4s P2:Kd B2:3c end")
    finding = judged.finding("bet-after-close")
    assert finding == {
        "seq": judged.marked,
        "cards": [],
        "state": "open",
        "rules": [],
        "ruling": "discretion",
        "options": ["stand", "void bet"],
        "mandatory": False,
    }


@pytest.mark.parametrize("start", ["bet:1:player=10 open close", "bet:1:player=10 close", "open bet:1:player=10 close"])
def test_bets_before_the_close(start: str) -> None:
    assert judge(f"{start} P1:9h B1:4s P2:Kd B2:3c").codes == []


def test_opposing_bets() -> None:
    judged = judge(f"open bet:1:player=10 *bet:1:banker=10 close {NATURAL[11:]} pay:1:player=10 end", "insurance")
    assert judged.codes == ["opposing-bets"]
    finding = judged.finding("opposing-bets")
    assert judged.marked[0] in finding["seq"]
    assert finding["rules"] == ["BET-opp"]
    assert (finding["ruling"], finding["options"], finding["mandatory"]) == ("discretion", ["void bet", "stand"], False)


@pytest.mark.parametrize(
    ("bets", "ruleset"),
    [
        ("bet:1:player=10 bet:2:banker=10", "insurance"),  # two seats
        ("bet:1:player=10 bet:1:tie=10", "insurance"),
        ("bet:1:player=10 bet:1:player=10", "insurance"),
    ],
)
def test_bets_that_do_not_oppose(bets: str, ruleset: str) -> None:
    assert "opposing-bets" not in judge(f"open {bets} close {NATURAL[11:]}", ruleset).codes


@pytest.mark.parametrize("ruleset", ["standard", "commission"])
def test_opposing_bets_where_the_document_is_silent(ruleset: str) -> None:
    """Raised all the same, but no documented rule speaks (rulebook 7.2)."""
    finding = judge("open bet:1:player=10 *bet:1:banker=10 close", ruleset).finding("opposing-bets")
    assert finding["rules"] == []
    assert (finding["ruling"], finding["mandatory"]) == ("discretion", False)


LIMITED = [
    "player_pair",
    "banker_pair",
    "player_natural_8",
    "player_natural_9",
    "banker_natural_8",
    "banker_natural_9",
    "super_6",
]


def sixty_hands(then: str) -> str:
    return " ".join(f"hand:{n} open close end" for n in range(1, 61)) + f" hand:61 {then}"


@pytest.mark.parametrize("bet", LIMITED)
def test_side_bet_after_limit(bet: str) -> None:
    judged = judge(sixty_hands(f"open *bet:1:{bet}=10 close"), hand=61)
    assert judged.finding("side-bet-after-limit") == {
        "seq": judged.marked,
        "cards": [],
        "state": "open",
        "rules": ["BET-60"],
        "ruling": "void bet",
        "options": ["void bet"],
        "mandatory": True,
    }


def test_side_bets_within_the_limit_or_without_one() -> None:
    last = " ".join(f"hand:{n} open close end" for n in range(1, 60))
    assert judge(f"{last} hand:60 open bet:1:super_6=10 close", hand=60).codes == []
    for bet in ("player", "banker", "tie", "big", "small"):
        assert judge(sixty_hands(f"open bet:1:{bet}=10 close"), hand=61).codes == []
    assert judge(sixty_hands("open bet:1:player_pair=10 close"), "standard", hand=61).codes == []


@pytest.mark.parametrize(
    ("bet", "ruleset"),
    [
        ("big", "standard"),
        ("super_6", "standard"),
        ("player_natural_8", "insurance"),
        ("insurance_player", "standard"),
        ("insurance_banker", "commission"),
    ],
)
def test_bet_not_offered(bet: str, ruleset: str) -> None:
    judged = judge(f"open *bet:1:{bet}=10 close {NATURAL[11:]} end", ruleset)
    finding = judged.finding("bet-not-offered")
    assert finding["seq"] == judged.marked
    assert finding["rules"] == []
    assert (finding["ruling"], finding["options"]) == ("void bet", ["void bet"])
    assert judged.json["settlement"] == [{"seat": 1, "bet": bet, "stake": "10.00", "owed": "0.00", "returned": "10.00"}]


BETS = "open bet:1:player=100 bet:2:banker=100 bet:3:tie=5 close P1:9h B1:4s P2:Kd B2:3c call:player:9-7"


@pytest.mark.parametrize(
    ("paid", "rule"),
    [
        ("*pay:1:player=90 end", "PAY-player"),
        ("*pay:1:player=100.01 end", "PAY-player"),
        ("*pay:1:player=0.00 end", "PAY-player"),
        ("*end", "PAY-player"),  # a winner went away unpaid
        ("pay:1:player=100 *pay:2:banker=95 end", "PAY-banker"),  # a loser was paid
        ("pay:1:player=100 *pay:3:tie=40 end", "PAY-tie"),
    ],
)
def test_payout_wrong(paid: str, rule: str) -> None:
    judged = judge(f"{BETS} {paid}")
    finding = judged.finding("payout-wrong")
    assert finding["seq"] == judged.marked
    assert finding["cards"] == []
    assert finding["rules"] == [rule]
    assert finding["state"] == "open"
    assert finding.items() >= CORRECT.items()


def test_payout_right_or_not_yet_due() -> None:
    assert judge(f"{BETS} pay:1:player=100 end").codes == []
    assert judge(f"{BETS} pay:1:player=100.00 end").codes == []
    assert judge(BETS).codes == []


def test_a_pushed_stake_need_not_be_logged_but_may_be() -> None:
    tie = "open bet:1:player=100 close P1:9h B1:9s P2:Kd B2:Kc call:tie"
    assert judge(f"{tie} pay:1:player=0.00 end").codes == []
    judged = judge(f"{tie} *pay:1:player=100.00 end")
    assert judged.finding("payout-wrong")["seq"] == judged.marked


# --- The shoe ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("burn", ["", "burn:5h", "burned:5"])
def test_burn_missing(burn: str) -> None:
    judged = judge(f"shoe-open:commission {burn} hand:1 {NATURAL} end", prelude=False)
    assert judged.codes == []
    (finding,) = shoe_findings(judged.shoe)
    assert (finding["code"], finding["rules"], finding["state"]) == ("burn-missing", ["SHOE-start"], "open")
    assert (finding["ruling"], finding["options"], finding["mandatory"]) == (
        "discretion",
        ["stand", "replace shoe"],
        False,
    )


@pytest.mark.parametrize(
    ("card", "count"), [("Jc", 9), ("Ts", 0), ("As", 11), ("As", 0), ("9d", 10), ("Kd", 13), ("Qh", 12)]
)
def test_burn_count_wrong(card: str, count: int) -> None:
    start = f"shoe-open:commission burn:{card} *burned:{count}"
    judged = judge(f"{start} hand:1 {NATURAL} end", prelude=False)
    assert judged.codes == []
    (finding,) = shoe_findings(judged.shoe)
    assert finding["code"] == "burn-count-wrong"
    assert judged.marked[0] in finding["seq"]  # type: ignore[operator]  # a list
    assert finding["rules"] == ["SHOE-start"]
    assert (finding["ruling"], finding["options"]) == ("discretion", ["stand", "replace shoe"])


def test_a_burn_in_two_goes_is_put_right_before_the_first_hand() -> None:
    start = "shoe-open:commission burn:5h burned:3 *burned:2"
    judged = judge(f"{start} hand:1 {NATURAL} end", prelude=False)
    (finding,) = shoe_findings(judged.shoe)
    assert (finding["code"], finding["state"], finding["ruling"]) == ("burn-count-wrong", "corrected", "correct")


def test_before_the_first_hand_a_wrong_burn_is_simply_corrected() -> None:
    events, _ = log("shoe-open:commission burn:5h burned:4", prelude=False)
    (shoe,) = fold_all(TABLE, events).audits
    assert isinstance(shoe, ShoeAudit)
    (finding,) = shoe_findings(shoe)
    assert (finding["state"], finding["ruling"], finding["mandatory"]) == ("open", "correct", True)


@pytest.mark.parametrize(
    ("card", "count"),
    [("As", 1), ("2s", 2), ("5s", 5), ("9s", 9), ("Ts", 10), ("Js", 10), ("Qs", 10), ("Ks", 10)],
)
def test_burn_count_right(card: str, count: int) -> None:
    judged = judge(f"shoe-open:commission burn:{card} burned:{count} hand:1 {NATURAL} end", prelude=False)
    assert judged.shoe.findings == ()
    assert judged.shoe.cards_seen == 5  # of the burned cards only the first was seen, then the hand's four


@pytest.mark.parametrize(
    "before",
    [
        f"{NATURAL} end |cut hand:2",  # the cut card was next out: no further hand
        "open close P1:9h B1:4s cut P2:Kd B2:3c end hand:2",  # out within hand 1: hand 1 is the last
        f"{NATURAL} cut end hand:2",
    ],
)
def test_hand_after_last(before: str) -> None:
    judged = judge(f"{before} open bet:1:player=10 close P1:9h B1:4s P2:Kd B2:3c end", hand=2)
    assert judged.codes == ["hand-after-last"]
    finding = judged.finding("hand-after-last")
    assert finding["rules"] == ["SHOE-after"]
    assert finding.items() >= VOID_HAND.items()
    assert judged.json["settlement"] == [
        {"seat": 1, "bet": "player", "stake": "10.00", "owed": "0.00", "returned": "10.00"}
    ]


def test_the_hand_in_which_the_cut_card_came_out_counts() -> None:
    assert judge("open close P1:9h B1:4s cut P2:Kd B2:3c end").codes == []
    later = judge(f"{NATURAL} end hand:2 open close P1:9h cut B1:4s P2:Kd B2:3c end", hand=2)
    assert later.codes == []


def test_every_hand_after_the_last_is_one_too_many() -> None:
    two_more = "hand:2 open close P1:9h B1:4s P2:Kd B2:3c end hand:3 open close P1:9s B1:4h P2:Ks B2:3h end"
    text = f"{NATURAL} end |cut {two_more}"
    assert judge(text, hand=2).codes == ["hand-after-last"]
    assert judge(text, hand=3).codes == ["hand-after-last"]


def test_card_impossible() -> None:
    eight = " ".join(f"hand:{n} open close P1:9h B1:4s end" for n in range(1, 9))
    judged = judge(f"{eight} hand:9 open close *P1:9h", hand=9)
    assert judged.codes == ["card-impossible"]
    assert judged.finding("card-impossible") == {
        "seq": judged.marked,
        "cards": ["9h"],
        "state": "open",
        "rules": [],
        "ruling": "discretion",
        "options": ["void hand", "replace shoe"],
        "mandatory": False,
    }
    assert "card-impossible" not in judge(eight, hand=8).codes


def test_card_impossible_counts_the_decks_of_the_shoe_and_the_burn_card() -> None:
    text = "shoe-open:commission:1 burn:9h burned:9 hand:1 open close *P1:9h"
    judged = judge(text, prelude=False)
    assert judged.finding("card-impossible")["seq"] == judged.marked


def test_a_face_down_card_beyond_the_hand_may_come_again_as_the_next_hands_first() -> None:
    opening = "shoe-open:commission:1 burn:5h burned:5 hand:1 open close P1:9h B1:4s P2:Kd B2:3c"
    judged = judge(f"{opening} P3:6h- end hand:2 open close P1:6h", prelude=False, hand=2)
    assert judged.codes == []
    turned_up = judge(f"{opening} P3:6h- up:P3:6h end hand:2 open close P1:6h", prelude=False, hand=2)
    assert turned_up.codes == ["card-impossible"]


def one_deck(text: str) -> str:
    """A shoe of one deck whose burn card leaves the nines alone."""
    return f"shoe-open:commission:1 burn:5h burned:5 hand:1 open close {text}"


@pytest.mark.parametrize(
    ("text", "card"),
    [
        # the fifth nine of a deck, in every mixture
        ("P1:9 B1:9 P2:9 B2:9 end hand:2 open close *P1:9", "9"),
        ("P1:9h B1:9s P2:9d B2:9 end hand:2 open close *P1:9", "9"),
        ("P1:9h B1:9s P2:9d B2:9c end hand:2 open close *P1:9", "9"),
        ("P1:9 B1:9 P2:9 B2:9 end hand:2 open close *P1:9h", "9h"),
        # the second of one suit, where ranks alone were seen too
        ("P1:9 B1:9h *P2:9h", "9h"),
        # face down, when it is opened; as it is better known
        ("P1:9 B1:9 P2:9 B2:9 end hand:2 open close P1:- *up:P1:9", "9"),
        ("P1:9h B1:9- P2:2d B2:3c *up:B1:9h", "9h"),
        # one that would have been counted already says so once
        ("P1:9 B1:9 P2:9 B2:9 end hand:2 open close *P1:9- up:P1:9h", "9"),
        ("P1:9 B1:9 P2:9 B2:9 end hand:2 open close *P1:9h- up:P1:9", "9h"),
        ("P1:9 B1:9 P2:9 B2:9h end hand:2 open close *P1:9- up:P1:9h", "9"),
        # an extra card
        ("P1:9 B1:9 P2:9 B2:9 end hand:2 open close P1:2h B1:4s P2:3d B2:Kc *x:9", "9"),
    ],
)
def test_card_impossible_counts_ranks_where_suits_are_missing(text: str, card: str) -> None:
    judged = judge(one_deck(text), prelude=False, hand=2 if "hand:2" in text else 1)
    found = judged.finding("card-impossible")
    assert (found["seq"], found["cards"]) == (judged.marked, [card])
    assert found["options"] == ["void hand", "replace shoe"]


@pytest.mark.parametrize(
    "text",
    [
        "P1:9 B1:9 P2:9 B2:9 end",
        "P1:9 B1:9h P2:9 B2:9s end",
        "P1:9h B1:9s P2:9d B2:9c end hand:2 open close P1:8 B1:7",
        # a face-down card that is opened is one card, however well it was known before
        "P1:9- B1:9- P2:9- B2:9- up:P1:9h up:B1:9s up:P2:9d up:B2:9c end",
        "P1:9h- B1:9s- P2:9d- B2:9c- up:P1:9 up:B1:9 up:P2:9 up:B2:9 end",
        "P1:9- B1:9 P2:9- B2:9 up:P2:9 up:P1:9h end",
        "P1:9- up:P1:9h B1:9 P2:9 B2:9 end",
    ],
)
def test_what_a_deck_holds_is_possible(text: str) -> None:
    judged = judge(one_deck(text), prelude=False)
    assert "card-impossible" not in [f.code for audit in judged.table.audits for f in audit.findings]


def test_with_suits_only_a_rank_is_not_counted() -> None:
    """The second nine of hearts is impossible; the others, of which there is one each, are not."""
    judged = judge(one_deck("P1:9h *B1:9h P2:9s B2:9d end hand:2 open close P1:9c"), prelude=False)
    assert judged.finding("card-impossible")["seq"] == judged.marked
    assert [f.code for audit in judged.table.audits for f in audit.findings].count("card-impossible") == 1


@pytest.mark.parametrize(
    ("text", "dealt"),
    [
        ("P1:9- up:P1:9h", "9h"),
        ("P1:9h- up:P1:9", "9h"),
        ("P1:9- up:P1:9", "9"),
        ("P1:- up:P1:9", "9"),
        ("P1:10- up:P1:Ts", "Ts"),
    ],
)
def test_the_better_known_card_stands(text: str, dealt: str) -> None:
    judged = judge(f"open {text} close", "commission")
    assert judged.hand.dealt.places == {"P1": (dealt,)}
    exposed = judged.hand.findings[-1]
    assert (exposed.code, exposed.cards) == ("exposed-during-betting", (dealt,))


def test_the_finding_of_a_card_that_became_better_known_names_it_so_live_too() -> None:
    """Audited between the two records: what was answered then must not stick."""
    events = log("open P1:9- close up:P1:9h")[0]
    fold = TableFold(TABLE)
    for seq, event in events:
        fold.step(seq, event)
        if fold.hand is not None:
            fold.hand.audit()
    assert fold.hand is not None
    assert [finding.cards for finding in fold.hand.audit().findings] == [("9h",)]


def test_the_next_card_that_was_seen_is_the_extra_one() -> None:
    for hidden, seen in (("9h", "9"), ("9", "9h")):
        judged = judge(f"{NATURAL} x:{hidden}- seen:drawing:{seen}")
        assert judged.hand.dealt.extra == ("9h",)


@pytest.mark.parametrize(
    ("card", "burned"), [("A", 1), ("9", 9), ("10", 10), ("T", 10), ("J", 10), ("Q", 10), ("K", 10)]
)
def test_the_burn_goes_by_the_rank(card: str, burned: int) -> None:
    right = judge(f"shoe-open:commission burn:{card} burned:{burned} hand:1 {NATURAL} end", prelude=False)
    assert right.shoe.findings == ()
    assert right.shoe.burn_due == burned
    wrong = judge(f"shoe-open:commission burn:{card} burned:{burned - 1} hand:1 {NATURAL} end", prelude=False)
    assert [finding.code for finding in wrong.shoe.findings] == ["burn-count-wrong"]


def test_a_pair_goes_by_the_rank() -> None:
    bets = "open bet:1:player_pair=10 bet:1:banker_pair=10 close"
    assert [line.owed for line in judge(f"{bets} P1:7 B1:K P2:7h B2:Q P3:2 B3:5").hand.settlement] == [110, 0]
    assert [line.owed for line in judge(f"{bets} P1:T B1:Kh P2:J B2:K P3:3 B3:2").hand.settlement] == [0, 110]


def test_a_new_shoe_has_all_its_cards_again() -> None:
    eight = " ".join(f"hand:{n} open close P1:9h B1:4s end" for n in range(1, 9))
    second = "shoe-end:finished shoe:2 shoe-open:commission burn:5h burned:5 hand:1 open close P1:9h"
    assert judge(f"{eight} {second}", shoe=2).codes == []


@pytest.mark.parametrize("after", ["hand:2 open", "shoe-end:cancelled"])
def test_hand_incomplete(after: str) -> None:
    judged = judge(f"{NATURAL} {after}")
    finding = judged.finding("hand-incomplete")
    assert finding["rules"] == ["INC-fix"]
    assert finding["state"] == "open"
    assert finding.items() >= CORRECT_OR_VOID.items()


def test_hand_not_yet_incomplete() -> None:
    assert judge(NATURAL).codes == []
    assert judge(NATURAL).hand.status == "open"
    assert judge(f"{NATURAL} end hand:2 open").codes == []
    assert "hand-incomplete" not in judge(f"{NATURAL} void:hand hand:2 open").codes


# --- Several findings -------------------------------------------------------------------------------------------------


def test_findings_stand_in_the_order_of_the_log() -> None:
    judged = judge(
        "open bet:1:player=10 P1:2h close bet:2:tie=10 B1:4s drop:drawing P2:3d B2:Kc B3:6h x:9c P3:5s call:tie end"
    )
    firsts = [finding.seq[0] for finding in judged.hand.findings]
    assert firsts == sorted(firsts)
    assert judged.codes[0] == "exposed-during-betting"


@pytest.mark.parametrize(
    ("text", "ruling"),
    [
        (f"{NATURAL} x:6h drop:drawing end", "burn card"),  # before reuse card
        ("open seen:start close P1:9h drop:drawing B1:4s P2:Kd B2:3c end", "reuse card"),  # before stand
        (f"{BOTH_DRAW} B3:6h P3:5s x:2c end", "correct"),  # before burn card
        ("open P1:9h close B1:4s P2:Kd B2:3c x:2c end", "void hand"),  # before everything
        (f"{BOTH_DRAW} seen:drawing P3:6h B3:5s end", "discretion"),
        (f"{BOTH_DRAW} seen:drawing P3:6h B3:5s drop:drawing end", "reuse card"),  # discretion hides nothing
        (f"{NATURAL} end", None),
    ],
)
def test_which_ruling_the_hand_gets(text: str, ruling: str | None) -> None:
    assert judge(text).hand.ruling == ruling


def test_void_insurance_comes_before_correct() -> None:
    text = f"{BOTH_DRAW} B3:6h ins:2 bet:1:insurance_banker=10 /ins:2 B3>P3 B3:5s end"
    assert judge(text, "insurance").hand.ruling == "void insurance"


# --- Who says so ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", ["insurance", "standard", "commission"])
def test_adopted_rules_speak_in_every_ruleset(ruleset: str) -> None:
    assert judge(f"{BOTH_DRAW} B3:6h", ruleset).finding("fifth-card-misplaced")["rules"] == ["INC-order"]
    assert judge(f"{NATURAL} x:6h", ruleset).finding("extra-card-exposed")["rules"] == ["INC-extra"]


def test_a_card_beyond_the_hand_that_nobody_has_seen_leaves_the_result_as_it_is() -> None:
    judged = judge("open bet:1:banker=100 close P1:4h B1:Js P2:2d B2:2c B3:5s P3:- call:banker pay:1:banker=95 end")
    assert judged.codes == ["card-overdrawn"]
    assert judged.json["result"] == {"player": 6, "banker": 7, "winner": "banker", "natural": False}
    assert judged.json["correct"]["extra"] == ["??"]
    assert judged.json["settlement"][0]["owed"] == "95.00"

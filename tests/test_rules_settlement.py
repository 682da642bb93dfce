"""What every bet is owed (rulebook section 3), to the last unit, and what a void gives back."""

from decimal import Decimal
from typing import Any

import pytest

from tests.rules_logs import judge

# Hands by what they decide; cards only, betting is added around them.
PLAYER_7_6 = "P1:7h B1:6s P2:Kd B2:Qc"  # four cards, no natural
BANKER_7_6 = "P1:6h B1:7s P2:Kd B2:Qc"
TIE_6 = "P1:6h B1:6s P2:Kd B2:Qc"
FIVE_CARDS = "P1:2h B1:7s P2:3d B2:Qc P3:4h"  # Player 9, Banker 7
SIX_CARDS = "P1:2h B1:4s P2:3d B2:2c P3:6h B3:Ks"  # Player 1, Banker 6 on three
BANKER_6_ON_TWO = "P1:2h B1:4s P2:Kd B2:2c P3:3h"  # Player 5, Banker 6 on two
BANKER_DRAWS_TO_6 = "P1:6h B1:4s P2:Kd B2:Kc B3:2s"  # tie on 6
PLAYER_N8 = "P1:8h B1:4s P2:Kd B2:3c"
PLAYER_N9 = "P1:9h B1:4s P2:Kd B2:3c"
BANKER_N8 = "P1:4h B1:8s P2:3d B2:Kc"
BANKER_N9 = "P1:4h B1:9s P2:3d B2:Kc"
N8_BEATEN_BY_9 = "P1:8h B1:9s P2:Kd B2:Kc"
N9_BEATS_8 = "P1:9h B1:8s P2:Kd B2:Kc"
N8_TIE = "P1:8h B1:8s P2:Kd B2:Kc"
N9_TIE = "P1:9h B1:9s P2:Kd B2:Kc"
DRAWN_TO_8 = "P1:2h B1:7s P2:3d B2:Qc P3:3h"  # Player 8, but on three cards
DRAWN_TO_9 = "P1:2h B1:7s P2:3d B2:Qc P3:4h"
PAIR_OF_THREES = "P1:3h B1:7s P2:3d B2:Qc P3:2c"  # Player pair
PAIR_OF_KINGS = "P1:7h B1:Ks P2:Kd B2:Kc B3:2c"  # Banker pair
TEN_AND_KING = "P1:Th B1:7s P2:Kd B2:Kh P3:2c"  # no pair at all
BANKER_6_FROM_TEN = "P1:Th B1:6s P2:Kd B2:Tc P3:2c"

WON, LOST, PUSHED = "won", "lost", "pushed"


@pytest.mark.parametrize(
    ("bet", "cards", "owed", "outcome"),
    [
        ("player", PLAYER_7_6, "100.00", WON),
        ("player", BANKER_7_6, "0.00", LOST),
        ("player", TIE_6, "0.00", PUSHED),
        ("banker", PLAYER_7_6, "0.00", LOST),
        ("banker", BANKER_7_6, "95.00", WON),
        ("banker", SIX_CARDS, "95.00", WON),
        ("banker", TIE_6, "0.00", PUSHED),
        ("tie", TIE_6, "800.00", WON),
        ("tie", N9_TIE, "800.00", WON),
        ("tie", PLAYER_7_6, "0.00", LOST),
        ("tie", BANKER_7_6, "0.00", LOST),
        ("player_pair", PAIR_OF_THREES, "1100.00", WON),
        ("player_pair", PAIR_OF_KINGS, "0.00", LOST),
        ("player_pair", TEN_AND_KING, "0.00", LOST),
        ("player_pair", TIE_6, "0.00", LOST),
        ("banker_pair", PAIR_OF_KINGS, "1100.00", WON),
        ("banker_pair", PAIR_OF_THREES, "0.00", LOST),
        ("big", PLAYER_7_6, "0.00", LOST),
        ("big", PLAYER_N9, "0.00", LOST),
        ("big", FIVE_CARDS, "50.00", WON),
        ("big", SIX_CARDS, "50.00", WON),
        ("big", BANKER_DRAWS_TO_6, "50.00", WON),
        ("small", PLAYER_7_6, "150.00", WON),
        ("small", N8_TIE, "150.00", WON),
        ("small", FIVE_CARDS, "0.00", LOST),
        ("small", SIX_CARDS, "0.00", LOST),
        ("player_natural_8", PLAYER_N8, "800.00", WON),
        ("player_natural_8", PLAYER_N9, "0.00", LOST),
        ("player_natural_8", N8_BEATEN_BY_9, "0.00", LOST),
        ("player_natural_8", N8_TIE, "0.00", LOST),
        ("player_natural_8", DRAWN_TO_8, "0.00", LOST),
        ("player_natural_8", BANKER_N8, "0.00", LOST),
        ("player_natural_9", PLAYER_N9, "800.00", WON),
        ("player_natural_9", N9_BEATS_8, "800.00", WON),
        ("player_natural_9", N9_TIE, "0.00", LOST),
        ("player_natural_9", DRAWN_TO_9, "0.00", LOST),
        ("player_natural_9", PLAYER_N8, "0.00", LOST),
        ("banker_natural_8", BANKER_N8, "800.00", WON),
        ("banker_natural_8", N9_BEATS_8, "0.00", LOST),
        ("banker_natural_8", N8_TIE, "0.00", LOST),
        ("banker_natural_8", BANKER_N9, "0.00", LOST),
        ("banker_natural_9", BANKER_N9, "800.00", WON),
        ("banker_natural_9", N8_BEATEN_BY_9, "800.00", WON),
        ("banker_natural_9", N9_TIE, "0.00", LOST),
        ("banker_natural_9", PLAYER_N9, "0.00", LOST),
        ("super_6", BANKER_6_ON_TWO, "1200.00", WON),
        ("super_6", BANKER_6_FROM_TEN, "1200.00", WON),
        ("super_6", SIX_CARDS, "1800.00", WON),
        ("super_6", TIE_6, "0.00", LOST),
        ("super_6", BANKER_DRAWS_TO_6, "0.00", LOST),
        ("super_6", BANKER_7_6, "0.00", LOST),
        ("super_6", PLAYER_7_6, "0.00", LOST),
    ],
)
def test_what_a_bet_of_100_is_owed(bet: str, cards: str, owed: str, outcome: str) -> None:
    judged = judge(f"open bet:1:{bet}=100 close {cards}")
    assert judged.hand.next_due is None
    assert judged.json["settlement"] == [
        {
            "seat": 1,
            "bet": bet,
            "stake": "100.00",
            "owed": owed,
            "returned": "0.00" if outcome == LOST else "100.00",
        }
    ]


def owed_on(bet: str, stake: str, cards: str) -> str:
    (line,) = judge(f"open bet:1:{bet}={stake} close {cards}").json["settlement"]
    owed: str = line["owed"]
    return owed


@pytest.mark.parametrize(
    ("stake", "owed"),
    [
        ("33.33", "31.66"),  # 31.6635
        ("0.01", "0.01"),  # 0.0095
        ("0.10", "0.10"),  # 0.095: half up
        ("0.30", "0.29"),  # 0.285: half up, not to even
        ("0.50", "0.48"),  # 0.475
        ("0.20", "0.19"),
        ("10.00", "9.50"),
        ("999999999.99", "949999999.99"),
        ("99999999999.99", "94999999999.99"),
    ],
)
def test_commission_is_rounded_half_up_to_the_unit(stake: str, owed: str) -> None:
    assert owed_on("banker", stake, BANKER_7_6) == owed


@pytest.mark.parametrize(("stake", "owed"), [("0.01", "0.01"), ("0.03", "0.02"), ("0.05", "0.03"), ("0.02", "0.01")])
def test_half_pays_are_rounded_half_up_to_the_unit(stake: str, owed: str) -> None:
    assert owed_on("big", stake, FIVE_CARDS) == owed


def test_each_bet_is_settled_by_itself_in_the_order_of_the_log() -> None:
    judged = judge("open bet:2:banker=33.33 bet:1:player=50 bet:2:banker=33.33 close " + BANKER_7_6)
    assert [(b["seat"], b["bet"], b["owed"]) for b in judged.json["settlement"]] in (
        [(2, "banker", "31.66"), (1, "player", "0.00"), (2, "banker", "31.66")],
        [(2, "banker", "63.33"), (1, "player", "0.00")],
    )


def test_while_a_card_is_due_nothing_is_known() -> None:
    judged = judge("open bet:1:banker=100 close P1:2h B1:4s P2:3d B2:2c P3:6h")
    assert judged.json["settlement"] == [
        {"seat": 1, "bet": "banker", "stake": "100.00", "owed": None, "returned": None}
    ]


def test_the_cards_are_settled_as_they_should_lie() -> None:
    """On the felt 0 to 0, in the order drawn 1 to 9: Banker's bet wins."""
    judged = judge("open bet:1:banker=100 bet:2:tie=10 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s end")
    owed = [line["owed"] for line in judged.json["settlement"]]
    assert owed == ["95.00", "0.00"]


ALL_BETS = [
    "player", "banker", "tie", "player_pair", "banker_pair", "big", "small",
    "player_natural_8", "player_natural_9", "banker_natural_8", "banker_natural_9", "super_6",
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "{cards} void:hand",  # carried out
        "{cards} end void:hand",
        "drop!drawing:9h {cards} end",  # ruled
        "{cards} end",
    ],
)
def test_a_void_hand_owes_nothing_and_returns_every_stake(text: str) -> None:
    bets = " ".join(f"bet:{seat}:{bet}=10" for seat, bet in enumerate(ALL_BETS, start=1))
    judged = judge(f"open {bets} close {text.format(cards=PLAYER_N9)}")
    lines: list[dict[str, Any]] = judged.json["settlement"]
    assert len(lines) == len(ALL_BETS)
    void = "void" in text or "drop" in text
    assert ({line["owed"] for line in lines} == {"0.00"}) == void
    assert ({line["returned"] for line in lines} == {"10.00"}) == void
    assert (judged.hand.status == "voided") == ("void:hand" in text)


def test_a_void_hand_returns_stakes_although_a_card_is_due() -> None:
    judged = judge("open bet:1:player=10 close P1:2h B1:4s void:hand")
    assert judged.json["settlement"] == [
        {"seat": 1, "bet": "player", "stake": "10.00", "owed": "0.00", "returned": "10.00"}
    ]


def test_a_void_bet_returns_its_stake_only() -> None:
    judged = judge(f"open bet:1:big=10 bet:1:player=10 close {PLAYER_N9} end", "standard")
    assert [(line["owed"], line["returned"]) for line in judged.json["settlement"]] == [
        ("0.00", "10.00"),
        ("10.00", "10.00"),
    ]


def test_discretion_takes_no_stake_away() -> None:
    """A late bet is the manager's to judge: until then it settles like any other."""
    judged = judge(f"open close bet:1:player=10 {PLAYER_N9} end")
    assert judged.json["settlement"][0]["owed"] == "10.00"


def test_amounts_are_exact_decimals() -> None:
    judged = judge(f"open bet:1:banker=0.10 bet:2:banker=0.20 close {BANKER_7_6}")
    for line in judged.hand.settlement:
        assert isinstance(line.stake, Decimal)
        assert isinstance(line.owed, Decimal)
        assert line.owed == line.owed.quantize(Decimal("0.01"))


# --- Owed and paid ----------------------------------------------------------------------------------------------------

# Seat 1 is owed 100 on Player, seat 2 nothing on Banker.
TWO_SEATS = f"open bet:1:player=100 bet:2:banker=100 close {PLAYER_7_6} call:player"
TWICE = f"open bet:1:player=100 bet:1:player=50 close {PLAYER_7_6} call:player"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (f"{TWO_SEATS} pay:1:player=100 end", []),
        (f"{TWO_SEATS} pay:1:player=40 pay:1:player=60 end", []),
        # until the hand is closed an unpaid bet is not yet paid, then it was not paid
        (TWO_SEATS, []),
        (f"{TWO_SEATS} *end", [(1, "player", "100.00", "0.00", "100.00", [], False)]),
        # what is paid counts when it is paid
        (f"{TWO_SEATS} *pay:1:player=90", [(1, "player", "100.00", "90.00", "10.00", [1], False)]),
        (f"{TWO_SEATS} *pay:1:player=150 end", [(1, "player", "100.00", "150.00", "-50.00", [1], False)]),
        (f"{TWO_SEATS} *pay:1:player=30 *pay:1:player=30 end", [(1, "player", "100.00", "60.00", "40.00", [2], False)]),
        # a loser, and somebody who had no bet
        (
            f"{TWO_SEATS} pay:1:player=100 *pay:2:banker=95 *pay:3:tie=8 end",
            [(2, "banker", "0.00", "95.00", "-95.00", [1], False), (3, "tie", "0.00", "8.00", "-8.00", [1], False)],
        ),
        # put right after the hand was closed
        (f"{TWO_SEATS} *end pay:1:player=100", [(1, "player", "100.00", "0.00", "100.00", [], True)]),
        (
            f"{TWO_SEATS} *pay:1:player=90 end pay:1:player=10",
            [(1, "player", "100.00", "90.00", "10.00", [1], True)],
        ),
        # two bets of one kind are one debt
        (f"{TWICE} *pay:1:player=100 end", [(1, "player", "150.00", "100.00", "50.00", [1], False)]),
        # in the order of the log, not of the bets
        (
            f"{TWO_SEATS} *pay:2:banker=1 *pay:1:player=1 end",
            [(2, "banker", "0.00", "1.00", "-1.00", [1], False), (1, "player", "100.00", "1.00", "99.00", [1], False)],
        ),
        # a void hand owes nothing
        (f"{TWO_SEATS} *pay:1:player=100 void:hand", [(1, "player", "0.00", "100.00", "-100.00", [1], False)]),
        # cards are due: nothing is known to be wrong
        ("open bet:1:player=100 close P1:2h B1:4s pay:1:player=5", []),
    ],
)
def test_the_differences_between_owed_and_paid(text: str, wrong: list[tuple[Any, ...]]) -> None:
    judged = judge(text)
    payouts = judged.hand.wrong_payouts
    assert [
        (p.seat, p.bet, str(p.owed), str(p.paid.quantize(p.owed)), str(p.difference.quantize(p.owed)), p.corrected)
        for p in payouts
    ] == [(*line[:5], line[6]) for line in wrong]
    assert [len(p.payments) for p in payouts] == [sum(line[5]) for line in wrong]
    assert [seq for p in payouts for seq in p.seq] == judged.marked
    findings = [finding for finding in judged.hand.findings if finding.code == "payout-wrong"]
    assert [(f.seq, f.state) for f in findings] == [
        (p.seq, "corrected" if p.corrected else "open") for p in payouts
    ]  # the same truth, one by one


@pytest.mark.parametrize(
    ("bets", "cards", "worked"),
    [
        ("bet:1:banker=500", BANKER_7_6, [("0.95", "25.00")]),
        ("bet:1:banker=10.01", BANKER_7_6, [("0.95", "0.50")]),  # 9.5095, rounded half up: what is left is kept
        ("bet:1:player=500 bet:2:banker=500", PLAYER_7_6, [("1", "0.00"), (None, "0.00")]),
        ("bet:1:banker=500", TIE_6, [(None, "0.00")]),
        ("bet:1:super_6=100", BANKER_6_ON_TWO, [("12", "0.00")]),
        ("bet:1:super_6=100", SIX_CARDS, [("18", "0.00")]),
        ("bet:1:big=100", FIVE_CARDS, [("0.5", "0.00")]),  # pays less than even money, and still has no commission
    ],
)
def test_how_a_win_comes_about(bets: str, cards: str, worked: list[tuple[str | None, str]]) -> None:
    lines = judge(f"open {bets} close {cards}").hand.settlement
    assert [(line.odds and str(line.odds), str(line.commission)) for line in lines] == worked


def test_a_void_hand_wins_nothing() -> None:
    (line,) = judge(f"open bet:1:banker=500 close {BANKER_7_6} void:hand").hand.settlement
    assert line.odds is None
    assert [line.commission, line.owed, line.returned] == [Decimal(0), Decimal(0), Decimal(500)]

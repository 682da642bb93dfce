"""Insurance (rulebook section 6): when it is due, at which odds, how it settles, and its dealing mistakes."""

from decimal import Decimal
from itertools import product

import pytest

from dealing.rules.cards import RANKS, VALUES
from tests.rules_logs import Judged, judge

# The default odds, a line a row, as the page prints them: window, insured side, its total, the other's total, odds;
# * pays on a tie only.
PAGE = """
1 banker 4   0-3 1.5
1 banker 5   0-4 2
1 banker 6   0-5 3
1 banker 7   0-5 4
1 player 5   4   2
1 player 6   0-5 3
1 player 7   0-5 4
2 banker 1-6 0   9 *
2 banker 2-6 1   8
2 banker 3-6 2   4
2 banker 4   3   2
2 banker 5   4   2
2 player 4   0-3 1.5
2 player 5   0-4 2
2 player 6   0-5 3
2 player 7   0-6 4
2 player 8   0-6 8
2 player 9   0-6 9 *
"""


def spread(text: str) -> range:
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


#: (window, player total, banker total) -> (side, odds, on a tie only)
ODDS: dict[tuple[int, int, int], tuple[str, Decimal, bool]] = {}
for row in PAGE.split("\n"):
    if row:
        window_, side_, its, others, odds_, *star = row.split()
        for total, other in product(spread(its), spread(others)):
            key = (int(window_), total, other) if side_ == "player" else (int(window_), other, total)
            assert key not in ODDS, f"two rows for {key}"
            ODDS[key] = (side_, Decimal(odds_), bool(star))

RANK_OF = {value: rank for rank, value in reversed(VALUES.items())}
assert set(RANK_OF) == set(range(10))
assert RANK_OF[0] in RANKS


def four(player: int, banker: int) -> str:
    """Four opening cards with these totals."""
    return f"P1:{RANK_OF[player]}h B1:{RANK_OF[banker]}s P2:Kd B2:Qc"


def is_due(player: int, banker: int) -> bool:
    """After four cards, is a fifth due?"""
    return max(player, banker) < 8 and (player <= 5 or banker <= 5)


TOTALS = list(product(range(10), repeat=2))


@pytest.mark.parametrize(("player", "banker"), TOTALS)
def test_first_window(player: int, banker: int) -> None:
    judged = judge(f"open close {four(player, banker)} *ins:1", "insurance")
    row = ODDS.get((1, player, banker)) if is_due(player, banker) else None
    check_window(judged, 1, row)


DRAWS_ON = {0: "0123456789", 1: "0123456789", 2: "0123456789", 3: "012345679", 4: "234567", 5: "4567", 6: "67", 7: ""}


@pytest.mark.parametrize(("player", "banker"), [pair for pair in TOTALS if pair[0] <= 5 and pair[1] <= 7])
def test_second_window(player: int, banker: int) -> None:
    for third in range(10):
        judged = judge(f"open close {four(player, banker)} P3:{RANK_OF[third]}c *ins:2", "insurance")
        total = (player + third) % 10
        row = ODDS.get((2, total, banker)) if str(third) in DRAWS_ON[banker] else None
        check_window(judged, 2, row)


def check_window(judged: Judged, window: int, row: tuple[str, Decimal, bool] | None) -> None:
    due = judged.hand.insurance_due
    if row is None:
        assert due is None
        assert judged.finding("insurance-not-due")["seq"] == judged.marked
        return
    assert judged.codes == []
    assert due is not None
    assert (due.window, due.side, due.odds) == (window, row[0], row[1])


@pytest.mark.parametrize("cards", ["", "P1:2h B1:Ks P2:4d", "P1:6h B1:6s P2:Kd B2:Kc", "P1:9h B1:4s P2:Kd B2:3c"])
def test_no_window_is_due_before_four_cards_nor_when_nothing_is_left(cards: str) -> None:
    judged = judge(f"open close {cards} *ins:1 /ins:1", "insurance")
    assert judged.codes == ["insurance-not-due"]
    finding = judged.finding("insurance-not-due")
    assert finding == {
        "seq": judged.marked,
        "cards": [],
        "state": "open",
        "rules": ["INS-void"],
        "ruling": "void insurance",
        "options": ["void insurance"],
        "mandatory": True,
    }


def test_the_wrong_window_is_not_due() -> None:
    assert judge(f"open close {four(6, 5)} *ins:2", "insurance").codes == ["insurance-not-due"]
    # Player on 5 drew a 2: window 1 is past
    assert judge(f"open close {four(5, 4)} P3:2c *ins:1", "insurance").codes == ["insurance-not-due"]


def test_a_card_on_the_fifth_place_of_banker_opens_no_second_window() -> None:
    """Player stood, so the fifth card ends the hand."""
    assert judge(f"open close {four(6, 5)} B3:2c *ins:2", "insurance").codes == ["insurance-not-due"]


@pytest.mark.parametrize("ruleset", ["standard", "commission"])
def test_houses_without_insurance_never_have_it_due(ruleset: str) -> None:
    judged = judge(f"open close {four(6, 5)} *ins:1 /ins:1", ruleset)
    assert judged.codes == ["insurance-not-due"]
    assert judged.hand.insurance_due is None


def test_no_window_is_due_while_a_card_is_face_down() -> None:
    judged = judge("open close P1:2h B1:Ks P2:4d B2:- *ins:1", "insurance")
    assert judged.codes == ["insurance-not-due"]
    known = judge("open close P1:2h B1:Ks P2:4d B2:5c- *ins:1", "insurance")
    assert known.codes == ["insurance-not-due"]
    opened = judge("open close P1:2h B1:Ks P2:4d B2:- up:B2:5c ins:1 odds:player=3 /ins:1", "insurance")
    assert opened.codes == []


@pytest.mark.parametrize(
    "cards",
    [
        "P1:2h B1:Ks P2:3d B2:4c B3:9s *ins:2",  # the fifth lies wrong: window 2 is seen as due, but not yet put right
        "P1:2h P2:Ks B1:4d B2:5c *ins:1",  # the second and third lie wrong
    ],
)
def test_no_window_while_a_misplacement_stands(cards: str) -> None:
    judged = judge(f"open close {cards}", "insurance")
    finding = judged.finding("insurance-not-due")
    assert finding["seq"] == judged.marked
    assert finding["ruling"] == "void insurance"


def test_a_window_after_the_misplacement_was_put_right() -> None:
    text = "open close P1:2h B1:Ks P2:3d B2:4c B3:9s B3>P3 ins:2 odds:{side}={odds} /ins:2"
    # P 2+3+9 = 4, B 4: equal, so not due; with a 2 as fifth Player has 7 against 4
    text = text.replace("9s", "2s").format(side="player", odds="4")
    judged = judge(text, "insurance")
    assert judged.codes == ["fifth-card-misplaced"]


# --- Settlement -------------------------------------------------------------------------------------------------------


def settled(text: str) -> tuple[str, str]:
    (line,) = judge(text, "insurance").json["settlement"]
    return line["owed"], line["returned"]


#: Player 6, Banker 5, insured: player, 3 to 1. Then Banker draws.
P6_B5 = f"open close {four(6, 5)} ins:1 odds:player=3 bet:1:insurance_player=40 /ins:1"


@pytest.mark.parametrize(
    ("sixth", "owed", "returned"),
    [
        ("4", "120.00", "40.00"),  # Banker 9: the other side wins
        ("A", "0.00", "40.00"),  # 6 to 6
        ("K", "0.00", "0.00"),  # Banker stays on 5: Player wins
    ],
)
def test_insurance_pays_when_the_other_side_wins(sixth: str, owed: str, returned: str) -> None:
    assert settled(f"{P6_B5} B3:{sixth}d end") == (owed, returned)


#: Player 0 after a king, Banker 5... second window, Banker insured, 9 to 1 on a tie only.
STARRED = "open close P1:4h B1:5s P2:Kd B2:Qc P3:6c ins:2 odds:banker=9 bet:1:insurance_banker=10 /ins:2"


@pytest.mark.parametrize(
    ("sixth", "owed", "returned"),
    [
        ("5", "90.00", "10.00"),  # 0 to 0
        ("4", "0.00", "0.00"),  # Banker 9
        ("K", "0.00", "0.00"),
    ],
)
def test_starred_rows_pay_on_a_tie_only(sixth: str, owed: str, returned: str) -> None:
    assert settled(f"{STARRED} B3:{sixth}d end") == (owed, returned)


#: Player 9 on three against Banker 3, second window: Player insured, 9 to 1, on a tie only.
STARRED_PLAYER = "open close P1:4h B1:3s P2:Kd B2:Qc P3:5c ins:2 odds:player=9 bet:1:insurance_player=10 /ins:2"


@pytest.mark.parametrize(("sixth", "owed", "returned"), [("6", "90.00", "10.00"), ("5", "0.00", "0.00")])
def test_starred_rows_of_the_player(sixth: str, owed: str, returned: str) -> None:
    assert settled(f"{STARRED_PLAYER} B3:{sixth}d end") == (owed, returned)


@pytest.mark.parametrize("key", sorted(ODDS))
def test_every_row_settles_at_its_odds(key: tuple[int, int, int]) -> None:
    """Each row of the page, dealt and bet, once with every way the hand can go on."""
    window, player, banker = key
    side, odds, tie_only = ODDS[key]
    if window == 1:
        start = four(player, banker)
        draws = "P3" if player <= 5 else "B3"
        due = is_due(player, banker)
        p, b = player, banker
    else:
        # a third card v that brings Player to the total and lets Banker draw
        ways = [(v, (player - v) % 10) for v in range(10) if str(v) in DRAWS_ON[banker] and (player - v) % 10 <= 5]
        if not ways:
            return
        v, first = ways[0]
        start = f"{four(first, banker)} P3:{RANK_OF[v]}c"
        draws, due, p, b = "B3", True, player, banker
    if not due:
        return
    bet = f"ins:{window} odds:{side}={odds} bet:1:insurance_{side}=10 /ins:{window}"
    nothing, stake = Decimal(0), Decimal(10)
    for value in range(10):
        text = f"open close {start} {bet} {draws}:{RANK_OF[value]}d"
        total_p, total_b = ((p + value) % 10, b) if draws == "P3" else (p, (b + value) % 10)
        if draws == "P3" and str(value) in DRAWS_ON[banker]:
            text += " B3:Kd"
        winner = "player" if total_p > total_b else "banker" if total_b > total_p else "tie"
        owed, returned = settled(text)
        if winner == "tie":
            wanted = (10 * odds, stake) if tie_only else (nothing, stake)
        elif winner == side or tie_only:
            wanted = (nothing, nothing)
        else:
            wanted = (10 * odds, stake)
        assert (Decimal(owed), Decimal(returned)) == wanted, (text, winner)


def test_every_row_can_come_about() -> None:
    """Else the test above would pass it over in silence."""
    for window, player, banker in ODDS:
        if window == 1:
            assert is_due(player, banker)
    reachable = {
        (player, banker)
        for banker, thirds in DRAWS_ON.items()
        for third in thirds
        for first in range(6)
        for player in [(first + int(third)) % 10]
    }
    unreachable = {(p, b) for w, p, b in ODDS if w == 2} - reachable
    assert unreachable == set()


def test_insurance_settles_at_the_table_whatever_was_put_up() -> None:
    text = f"open close {four(6, 5)} ins:1 odds:player=8 bet:1:insurance_player=40 /ins:1 B3:4d end"
    assert settled(text) == ("120.00", "40.00")
    text = f"open close {four(6, 5)} ins:1 bet:1:insurance_player=40 /ins:1 B3:4d end"
    assert settled(text) == ("120.00", "40.00")


def test_insurance_of_the_side_that_is_not_insured() -> None:
    text = f"open close {four(6, 5)} ins:1 odds:player=3 *bet:1:insurance_banker=40 /ins:1 B3:4d end"
    judged = judge(text, "insurance")
    finding = judged.finding("insurance-not-due")
    assert finding["seq"] == judged.marked
    assert finding["ruling"] == "void insurance"
    assert settled(text) == ("0.00", "40.00")


@pytest.mark.parametrize(
    "mistake",
    ["ins:2 /ins:2", "ins:1 bet:2:insurance_banker=5 /ins:1"],  # a window too many; the side that is not insured
)
def test_one_mistake_voids_every_insurance_bet_of_the_hand(mistake: str) -> None:
    """Also the bet that was bought as it should be (INS-void), and nothing else."""
    bought = "bet:1:player=10 bet:1:insurance_player=40"
    text = f"open close {four(6, 5)} ins:1 odds:player=3 {bought} /ins:1 {mistake} B3:4d end"
    lines = judge(text, "insurance").json["settlement"]
    assert [(line["owed"], line["returned"]) for line in lines[:2]] == [("0.00", "0.00"), ("0.00", "40.00")]


@pytest.mark.parametrize("when", ["void:insurance", "end void:insurance"])
def test_void_insurance_returns_the_insurance_stakes_only(when: str) -> None:
    text = f"open bet:1:player=10 close {four(6, 5)} ins:1 odds:player=3 bet:1:insurance_player=40 /ins:1 B3:4d {when}"
    lines = judge(text, "insurance").json["settlement"]
    assert [(line["bet"], line["owed"], line["returned"]) for line in lines] == [
        ("player", "0.00", "0.00"),
        ("insurance_player", "0.00", "40.00"),
    ]


def test_insurance_in_both_windows() -> None:
    """Player 5 to 4 (insured player, 2 to 1), then 7 to 4 on a 2 (insured player, 4 to 1); Banker draws to 9."""
    first = "ins:1 odds:player=2 bet:1:insurance_player=10 /ins:1"
    second = "ins:2 odds:player=4 bet:2:insurance_player=10 /ins:2"
    text = f"open close {four(5, 4)} {first} P3:2c {second} B3:5d"
    judged = judge(f"{text} pay:1:insurance_player=20 pay:2:insurance_player=40 end", "insurance")
    assert judged.codes == []
    assert [line["owed"] for line in judged.json["settlement"]] == ["20.00", "40.00"]


# --- Dealing mistakes -------------------------------------------------------------------------------------------------

STAND = {"state": "open", "ruling": "stand", "options": ["stand"], "mandatory": True}


def test_insurance_dealt_early() -> None:
    judged = judge(f"open close {four(6, 5)} ins:1 odds:player=3 *B3:4d /ins:1 end", "insurance")
    assert judged.finding("insurance-dealt-early") == {
        "seq": judged.marked,
        "cards": ["4d"],
        "rules": ["INS-early"],
        **STAND,
    }
    assert judged.hand.ruling == "stand"


def test_insurance_odds_missing() -> None:
    judged = judge(f"open close {four(6, 5)} ins:1 *B3:4d".replace(" *B3:4d", " */ins:1 B3:4d end"), "insurance")
    assert judged.codes == ["insurance-odds-missing"]
    assert judged.finding("insurance-odds-missing") == {
        "seq": judged.marked,
        "cards": [],
        "rules": ["INS-none"],
        **STAND,
    }


def test_insurance_odds_missing_is_asked_of_due_windows_only() -> None:
    assert judge(f"open close {four(6, 6)} ins:1 /ins:1", "insurance").codes == ["insurance-not-due"]


@pytest.mark.parametrize("odds", ["player@banker=3", "banker@player=3", "banker@banker=3"])
def test_insurance_odds_misplaced(odds: str) -> None:
    judged = judge(f"open close {four(6, 5)} ins:1 *odds:{odds} /ins:1 B3:4d end", "insurance")
    assert judged.codes[0] == "insurance-odds-misplaced"
    assert judged.finding("insurance-odds-misplaced") == {
        "seq": judged.marked,
        "cards": [],
        "rules": ["INS-place"],
        **STAND,
    }


@pytest.mark.parametrize("odds", ["3.5", "2", "30"])
def test_insurance_odds_wrong(odds: str) -> None:
    judged = judge(f"open close {four(6, 5)} ins:1 *odds:player={odds} /ins:1 B3:4d end", "insurance")
    assert judged.codes == ["insurance-odds-wrong"]
    assert judged.finding("insurance-odds-wrong") == {
        "seq": judged.marked,
        "cards": [],
        "rules": ["INS-rate"],
        **STAND,
    }


def test_odds_put_right_before_the_time_is_over() -> None:
    text = f"open close {four(6, 5)} ins:1 *odds:player=8 odds:player=3 /ins:1 B3:4d end"
    judged = judge(text, "insurance")
    assert judged.codes == ["insurance-odds-wrong"]
    assert judged.finding("insurance-odds-wrong")["seq"] == judged.marked
    assert judged.finding("insurance-odds-wrong")["state"] == "corrected"


@pytest.mark.parametrize("odds", ["3", "3.0", "3.00"])
def test_insurance_odds_right(odds: str) -> None:
    assert judge(f"open close {four(6, 5)} ins:1 odds:player={odds} /ins:1 B3:4d end", "insurance").codes == []


@pytest.mark.parametrize(
    "text",
    [
        f"open close {four(6, 5)} *bet:1:insurance_player=10 ins:1",
        f"open close {four(6, 5)} ins:1 odds:player=3 /ins:1 *bet:1:insurance_player=10",
        f"open *bet:1:insurance_player=10 close {four(6, 5)}",
    ],
)
def test_insurance_late_bet(text: str) -> None:
    judged = judge(text, "insurance")
    assert judged.codes == ["insurance-late-bet"]
    assert judged.finding("insurance-late-bet") == {
        "seq": judged.marked,
        "cards": [],
        "state": "open",
        "rules": [],
        "ruling": "discretion",
        "options": ["stand", "void insurance"],
        "mandatory": False,
    }


@pytest.mark.parametrize(
    "text",
    [
        f"open close {four(6, 5)} bet:1:insurance_player=40 ins:1 odds:player=3 /ins:1 B3:4d",
        f"open close {four(6, 5)} ins:1 odds:player=3 /ins:1 bet:1:insurance_player=40 B3:4d",
    ],
)
def test_a_late_insurance_bet_that_stands_is_settled_at_the_odds_due(text: str) -> None:
    assert judge(text, "insurance").json["settlement"] == [
        {"seat": 1, "bet": "insurance_player", "stake": "40.00", "owed": "120.00", "returned": "40.00"}
    ]


def test_insurance_paid_wrong() -> None:
    judged = judge(f"{P6_B5} B3:4d *pay:1:insurance_player=100 end", "insurance")
    assert judged.codes == ["payout-wrong"]
    assert judged.finding("payout-wrong")["rules"] == ["PAY-ins"]
    assert judge(f"{P6_B5} B3:4d pay:1:insurance_player=120 end", "insurance").codes == []

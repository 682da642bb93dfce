"""The five roads against grids drawn by hand, and what must hold for every shoe.

A shoe is a word: ``P``, ``B``, ``T`` for each hand, ``v`` for one that does not appear; then ``n`` for a natural,
``p``/``b`` for a pair of Player/Banker may follow the hand. In the grids ``.`` is an empty cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dealing.rules.judge import fold_all
from dealing.rules.roads import (
    ROWS,
    DerivedCell,
    Next,
    RoadHand,
    Roads,
    Spot,
    lay,
    make_roads,
    road_hand,
)
from dealing.rules.tableau import Winner
from tests.rules_logs import log

WINNERS: dict[str, Winner] = {"P": "player", "B": "banker", "T": "tie"}


def hands(word: str) -> list[RoadHand | None]:
    return [
        None
        if token[0] == "v"
        else RoadHand(number, WINNERS[token[0]], "n" in token[1:], "p" in token[1:], "b" in token[1:])
        for number, token in enumerate(re.findall(r"[PBTv][npb]*", word.replace(" ", "")), start=1)
    ]


def roads(word: str) -> Roads:
    return make_roads(hands(word))


def drawn(cells: Iterable[tuple[Spot, str]]) -> str:
    """The grid as text, as wide as it needs to be, without empty rows at the bottom."""
    placed = dict(cells)
    columns = max((spot.column for spot in placed), default=-1) + 1
    rows = max((spot.row for spot in placed), default=-1) + 1
    return "\n".join("".join(placed.get(Spot(x, y), ".") for x in range(columns)) for y in range(rows))


def bead(word: str) -> str:
    return drawn((cell.spot, cell.hand.winner[0].upper()) for cell in roads(word).bead)


def big(word: str) -> str:
    return drawn((cell.spot, cell.hand.winner[0].upper()) for cell in roads(word).big)


def ties(word: str) -> str:
    return drawn((cell.spot, str(cell.ties)) for cell in roads(word).big)


def derived(cells: Sequence[DerivedCell]) -> str:
    return drawn((cell.spot, "r" if cell.red else "b") for cell in cells)


def grid(text: str) -> str:
    return dedent(text).strip()


# By hand.


def test_the_bead_plate_goes_down_six_and_on_to_the_right_with_ties_in_it() -> None:
    assert bead("PPBTB BPTBP PBB") == grid("""
        PPB
        PT.
        BB.
        TP.
        BP.
        BB.
    """)


def test_the_big_road_begins_a_column_whenever_the_winner_changes() -> None:
    assert big("PPBPPPBB") == grid("""
        PBPB
        P.PB
        ..P.
    """)


def test_ties_are_counted_on_the_entry_before_and_break_no_column() -> None:
    word = "PTP TT B T P"
    assert big(word) == grid("""
        PBP
        P..
    """)
    assert ties(word) == grid("""
        110
        2..
    """)


def test_ties_at_the_start_wait_for_the_first_entry() -> None:
    waiting = roads("TTT")
    assert (waiting.big, waiting.waiting_ties, len(waiting.bead)) == ((), 3, 3)
    begun = roads("TTT B T")
    assert begun.waiting_ties == 0
    assert [(cell.spot, cell.hand.winner, cell.ties) for cell in begun.big] == [(Spot(0, 0), "banker", 4)]


def test_a_column_turns_right_at_the_bottom() -> None:
    assert big("B PPPPPPPPP B") == grid("""
        BPB..
        .P...
        .P...
        .P...
        .P...
        .PPPP
    """)


def test_a_column_turns_where_an_earlier_tail_lies_and_the_next_above_that() -> None:
    # Eight, seven, five: the tails lie in rows 6, 5 and 4, one above the other.
    assert big("PPPPPPPP BBBBBBB PPPPP B") == grid("""
        PBPB
        PBP.
        PBP.
        PBPP
        PBBB
        PPP.
    """)


def test_a_line_that_cannot_go_down_at_all_runs_along_the_top_and_the_next_begins_after_it() -> None:
    # Tails in rows 6, 5, 4, 3, 2: the sixth line finds row 2 taken, turns at once, and pushes the seventh on.
    word = "P" * 12 + "B" * 10 + "P" * 8 + "B" * 6 + "P" * 4 + "BBB" + "P"
    assert big(word) == grid("""
        PBPBPBBBP
        PBPBPPP..
        PBPBBBB..
        PBPPPPP..
        PBBBBBB..
        PPPPPPP..
    """)


def test_void_hands_are_nowhere() -> None:
    # A void in the middle of a column, one where the winner changes, one at the start, one after a tie.
    with_voids, without = "v PP v P v B T v B v", "PPP B T B"
    assert [bead(with_voids), big(with_voids), ties(with_voids)] == [bead(without), big(without), ties(without)]
    assert [cell.hand.number for cell in roads(with_voids).bead] == [2, 3, 5, 7, 8, 10]
    assert bead(with_voids) == "P\nP\nP\nB\nT\nB"
    assert big(with_voids) == grid("""
        PB
        PB
        P.
    """)


def test_pairs_and_naturals_are_marked_on_their_hand() -> None:
    shoe = roads("Pn Bpb Tnb Bb")
    marks = [(hand.natural, hand.player_pair, hand.banker_pair) for _, hand in shoe.bead]
    assert marks == [(True, False, False), (False, True, True), (True, False, True), (False, False, True)]
    # The tie's pair is on the bead plate alone.
    assert [(cell.hand.number, cell.hand.banker_pair, cell.ties) for cell in shoe.big] == [
        (1, False, 0),
        (2, True, 1),
        (4, True, 0),
    ]


def test_no_hands_no_roads() -> None:
    assert make_roads([None, None]) == Roads((), (), 0, (), (), (), Next(None, None, None), Next(None, None, None))


# Lines of 3, 1, 2, 2, 1, 4 entries. For the big eye boy, entry by entry from line 2, row 2 (there is none) on:
#   3.1: 1 = 3? blue. 3.2: line 2 ends at row 1, blue. 4.1: 2 = 1? blue. 4.2: line 3 has row 2, red.
#   5.1: 2 = 2, red. 6.1: 1 = 2? blue. 6.2: line 5 ends at row 1, blue. 6.3: beyond its end and one, red. 6.4: red.
SIX_LINES = "PPP B PP BB P BBBB"


def test_big_eye_boy_compares_with_the_line_before() -> None:
    assert derived(roads(SIX_LINES).big_eye) == grid("""
        brbr
        brbr
        b...
    """)


def test_small_road_compares_with_the_line_two_before() -> None:
    # 4.1: 2 = 3? blue (from 3.2: line 1 has row 2, red). 4.2: line 2 ends at row 1, blue. 5.1: 2 = 1? blue.
    # 6.1: 1 = 2? blue. 6.2: line 4 has row 2, red. 6.3: it ends there, blue. 6.4: red.
    assert derived(roads(SIX_LINES).small) == grid("""
        rbrbr
        .b...
        .b...
        .b...
    """)


def test_cockroach_pig_compares_with_the_line_three_before() -> None:
    # 4.2: line 1 has row 2, red. 5.1: 2 = 3? blue. 6.1: 1 = 1, red. 6.2: line 3 has row 2, red. 6.3: blue. 6.4: red.
    assert derived(roads(SIX_LINES).cockroach) == grid("""
        rbrbr
        ..r..
    """)


def test_derived_roads_begin_in_the_second_row_where_there_is_one() -> None:
    assert derived(roads("P BB").big_eye) == "b"
    assert derived(roads("P B").big_eye) == ""
    assert derived(roads("P B P").big_eye) == "r"
    assert derived(roads("P B PP").small) == "b"
    assert derived(roads("P B P").small) == ""
    assert derived(roads("P B P B").small) == "r"
    assert derived(roads("P B P BB").cockroach) == "b"
    assert derived(roads("P B P B").cockroach) == ""
    assert derived(roads("P B P B P").cockroach) == "r"


def test_derived_roads_look_at_the_lines_and_not_at_the_bent_grid() -> None:
    # Lines of 8 and 9: in the grid the second turns a row earlier than the first; by the lines it follows it to row 8.
    shoe = roads("PPPPPPPP BBBBBBBBB")
    assert big("PPPPPPPP BBBBBBBBB").splitlines()[4:] == ["PBBBBB", "PPP..."]
    # Rows 2 to 8 red: seven, which turn at the bottom themselves; row 9 passes the end of the first line, blue.
    assert derived(shoe.big_eye) == grid("""
        rb
        r.
        r.
        r.
        r.
        rr
    """)


def test_a_shoe_that_alternates_to_the_end() -> None:
    shoe = roads("PB" * 35)
    assert big("PB" * 35) == "PB" * 35
    assert len(shoe.bead) == 70
    assert shoe.bead[-1].spot == Spot(11, 3)
    # Every line is as long as every other: all red, one long tail each (68, 67 and 66 entries).
    assert derived(shoe.big_eye) == "\n".join(["r" + "." * 62] * 5 + ["r" * 63])
    assert derived(shoe.small) == "\n".join(["r" + "." * 61] * 5 + ["r" * 62])
    assert derived(shoe.cockroach) == "\n".join(["r" + "." * 60] * 5 + ["r" * 61])


def test_a_long_shoe() -> None:
    word = "T BB P BBBBBBB PP B T PPP B P BB PPPPPPPPP T BBBBBBB P B v P BBBB PP B PP T T BBB P"
    assert big(word) == grid("""
        BPBPBPBPBPBPBPBPBPBP
        B.BP.P..BPB...BP.PB.
        ..B..P...PB...B...B.
        ..B......PB...B.....
        ..B......PBBB.......
        ..BB.....PPPP.......
    """)
    assert ties(word) == grid("""
        10001000000000000000
        0.00.0..000...00.20.
        ..0..0...00...0...0.
        ..0......00...0.....
        ..0......0000.......
        ..00.....0001.......
    """)
    assert roads(word).big[-1].line == 19


# What the derived roads would show next.


@pytest.mark.parametrize("word", ["", "T", "P", "PB", "PPB", SIX_LINES, "B" * 9, "PBPBPP BBB T P"])
@pytest.mark.parametrize("side", ["P", "B"])
def test_next_is_what_the_roads_show_once_it_has_come(word: str, side: str) -> None:
    now, then = roads(word), roads(word + side)
    said = now.if_player if side == "P" else now.if_banker
    for road in ("big_eye", "small", "cockroach"):
        before, after = colours(getattr(now, road)), colours(getattr(then, road))
        assert after == before + ([] if getattr(said, road) is None else [getattr(said, road)])


def colours(cells: Sequence[DerivedCell]) -> list[bool]:
    return [cell.red for cell in cells]


# For every shoe.

SHOES = st.lists(
    st.one_of(
        st.none(),
        st.builds(RoadHand, st.just(1), st.sampled_from(["player", "banker", "tie"]), st.booleans(), st.booleans()),
    ),
    max_size=90,
)
#: Long lines make tails; mixed by chance they would be rare.
STREAKS = st.lists(
    st.tuples(st.sampled_from("PBTv"), st.integers(1, 14)).map(lambda run: run[0] * run[1]), max_size=25
).map(lambda runs: hands("".join(runs)))
ANY_SHOE = st.one_of(SHOES, STREAKS)


@given(ANY_SHOE)
def test_as_many_cells_as_counted_hands(shoe: list[RoadHand | None]) -> None:
    made = make_roads(shoe)
    counted = [hand for hand in shoe if hand]
    assert [cell.hand for cell in made.bead] == counted
    assert [cell.hand for cell in made.big] == [hand for hand in counted if hand.winner != "tie"]
    assert sum(cell.ties for cell in made.big) + made.waiting_ties + len(made.big) == len(counted)
    assert not (made.big and made.waiting_ties)


@given(ANY_SHOE)
def test_nothing_overlaps_and_nothing_leaves_the_grid(shoe: list[RoadHand | None]) -> None:
    made = make_roads(shoe)
    for cells in (made.bead, made.big, made.big_eye, made.small, made.cockroach):
        spots = [cell.spot for cell in cells]
        assert len(set(spots)) == len(spots)
        assert all(0 <= spot.row < ROWS and spot.column >= 0 for spot in spots)


@given(ANY_SHOE)
def test_derived_roads_do_not_depend_on_ties_or_voids(shoe: list[RoadHand | None]) -> None:
    made = make_roads(shoe)
    bare = make_roads(hand for hand in shoe if hand and hand.winner != "tie")
    assert made[3:] == bare[3:]


@given(ANY_SHOE)
def test_a_derived_road_has_a_cell_for_each_entry_from_its_start_on(shoe: list[RoadHand | None]) -> None:
    made = make_roads(shoe)
    for back, cells in enumerate((made.big_eye, made.small, made.cockroach), start=1):
        first = next(
            (n for n, cell in enumerate(made.big) if cell.line > back or (cell.line == back and is_second(made, n))),
            len(made.big),
        )
        assert len(cells) == len(made.big) - first


def is_second(made: Roads, entry: int) -> bool:
    return entry > 0 and made.big[entry - 1].line == made.big[entry].line


@given(ANY_SHOE)
def test_derived_colours_are_those_of_the_rule_told_with_cells(shoe: list[RoadHand | None]) -> None:
    """The rule as players tell it, on a sheet with one unbent column for each line, counted from 1."""
    made = make_roads(shoe)
    sheet: set[tuple[int, int]] = set()
    order: list[tuple[int, int]] = []
    for number, cell in enumerate(made.big):
        row = order[-1][1] + 1 if is_second(made, number) else 1
        order.append((cell.line + 1, row))
        sheet.add(order[-1])
    for back, cells in enumerate((made.big_eye, made.small, made.cockroach), start=1):
        expected = []
        for column, row in order:
            if (column, row) < (back + 1, 2):
                continue
            if row == 1:
                lengths = [sum(x == one for x, _ in sheet) for one in (column - 1, column - 1 - back)]
                expected.append(lengths[0] == lengths[1])
            else:
                beside, above = ((column - back, y) in sheet for y in (row, row - 1))
                expected.append(beside or not above)
        assert colours(cells) == expected


@given(st.lists(st.integers(1, 20), max_size=30))
def test_a_line_never_breaks(lengths: list[int]) -> None:
    starts = []
    for length, line in zip(lengths, lay(lengths), strict=True):
        assert len(line) == length
        assert line[0].row == 0
        starts.append(line[0].column)
        steps = [(b.column - a.column, b.row - a.row) for a, b in pairwise(line)]
        assert set(steps) <= {(0, 1), (1, 0)}
        assert sorted(steps) == steps  # down first, then only to the right
    assert starts == sorted(set(starts))


# From the judge.


def judged(text: str, left: bool = False) -> RoadHand | None:
    audit = next(audit for audit in fold_all("B07", log(text)[0]).audits if getattr(audit, "hand", None) == 1)
    as_dict: Any = audit.as_dict()
    made = road_hand(as_dict, left)
    assert road_hand(audit, left) == made  # type: ignore[arg-type]  # a hand's audit, not a shoe's
    return made


NATURAL = "open close P1:9h B1:4s P2:9d B2:3c"
SIX_CARDS = "open close P1:Ah B1:Ts P2:2d B2:Tc P3:3h B3:3s"


@pytest.mark.parametrize(
    ("text", "hand"),
    [
        (f"{NATURAL} end", RoadHand(1, "player", natural=True, player_pair=True)),
        (f"{SIX_CARDS} end", RoadHand(1, "player", banker_pair=True)),
        ("open close P1:7h B1:7s P2:Kd B2:Qc end", RoadHand(1, "tie")),
        (f"{NATURAL} end late:1 void:hand", None),
        ("open close P1:9h B1:4s end", None),
        (NATURAL, None),
    ],
    ids=["natural and pair", "equal ranks only", "tie", "void", "no result", "not over"],
)
def test_a_hand_for_the_roads_is_made_from_its_audit(text: str, hand: RoadHand | None) -> None:
    assert judged(text) == hand


def test_a_hand_that_nobody_closed_counts_once_the_table_has_gone_on() -> None:
    assert judged(NATURAL, left=True) == RoadHand(1, "player", natural=True, player_pair=True)
    assert judged("open close P1:9h", left=True) is None


def test_a_misplaced_card_counts_where_it_belongs() -> None:
    # Banker's first card was put on Player's second place and the other way round: by the rules Banker has the pair.
    wrong = judged("open close P1:Th P2:4s B1:9d B2:4c P2>B1 end")
    assert wrong is not None
    assert (wrong.player_pair, wrong.banker_pair) == (False, True)

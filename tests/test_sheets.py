"""Sheets of each shape give the hands that were written into them, and say of each row what is wrong with it."""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dealing.rules.cards import Card
from dealing.rules.events import Called, CardDealt, ShoeClosed, ShoeOpened, format_event, parse_line
from dealing.rules.judge import HandAudit
from dealing.sheets import reading
from dealing.sheets.auditing import as_json, audit
from dealing.sheets.errors import FAULTS, LEFT_OUT, MESSAGES, UNREADABLE, SheetError
from dealing.sheets.making import KnownShoe, events, plan
from dealing.sheets.mapping import FIELDS, Mapping, field_of, from_dict, guess, letters
from dealing.sheets.reading import read_book
from tests.sheets import (
    BANGKOK,
    NOW,
    START,
    SUITS,
    Hand,
    bare,
    csv_of,
    hands_of,
    json_of,
    log_of,
    read,
    simulated_hands,
    xlsx_of,
)

Rows = list[list[Any]]
PLACES = ("P1", "P2", "P3", "B1", "B2", "B3")


def said(hand: Hand) -> list[Any]:
    return [hand.winner[0].upper(), hand.player, hand.banker]


def by_place(hands: Sequence[Hand]) -> Rows:
    """A column a card, with suits; hands and totals named."""
    heads = ["Hand", "P1", "P2", "P3", "B1", "B2", "B3", "Result", "P total", "B total"]
    return [heads, *([hand.number, *(hand.felt.get(place) for place in PLACES), *said(hand)] for hand in hands)]


def thai(hands: Sequence[Hand]) -> Rows:
    """A column a side, heads and outcomes in Thai, suits as signs."""
    words = {"player": "ผู้เล่น", "banker": "เจ้ามือ", "tie": "เสมอ"}
    rows = []
    for hand in hands:
        sides = [" ".join(card[0].replace("T", "10") + SUITS[card[1]] for card in hand.side(letter)) for letter in "PB"]
        rows.append([hand.number, *sides, words[hand.winner], hand.player, hand.banker])
    return [["ตาที่", "ไพ่ผู้เล่น", "ไพ่เจ้ามือ", "ผล", "แต้มผู้เล่น", "แต้มเจ้ามือ"], *rows]


def ranks_by_side(hands: Sequence[Hand]) -> Rows:
    """A column a side, ranks between commas."""
    rows = [[hand.number, ",".join(hand.side("P")), ",".join(hand.side("B")), *said(hand)] for hand in map(bare, hands)]
    return [["Hand", "Player", "Banker", "Winner", "Player total", "Banker total"], *rows]


def ranks_together(hands: Sequence[Hand]) -> Rows:
    """A column a side, ranks without anything between."""
    rows = [[hand.number, "".join(hand.side("P")), "".join(hand.side("B")), *said(hand)] for hand in map(bare, hands)]
    return [["No.", "Player", "Banker", "Winner", "Player score", "Banker score"], *rows]


def dealt(order: str) -> Callable[[Sequence[Hand]], Rows]:
    """Six columns in the order dealt."""

    def rows(hands: Sequence[Hand]) -> Rows:
        out: Rows = [["#", *(f"Card {n}" for n in range(1, 7)), "Outcome", "P points", "B points"]]
        for hand in hands:
            first, second, third, fourth, *rest = hand.dealt
            cards = [first, second, third, fourth] if order == "pbpb" else [first, third, second, fourth]
            out.append([hand.number, *(cards + rest + [None, None])[:6], *said(hand)])
        return out

    return rows


def in_one_cell(hands: Sequence[Hand]) -> Rows:
    """All cards of a hand in one cell, in the order dealt."""
    rows = [[hand.number, " ".join(hand.dealt), *said(hand)] for hand in hands]
    return [["Round", "Cards", "Result", "P total", "B total"], *rows]


SHAPES: dict[str, tuple[Callable[[Sequence[Hand]], Rows], str, str]] = {
    "by place": (by_place, "", "suits"),
    "Thai": (thai, "", "suits"),
    "ranks by side": (ranks_by_side, "", "ranks"),
    "ranks together": (ranks_together, "", "ranks"),
    "dealt P B P B": (dealt("pbpb"), "pbpb", "suits"),
    "dealt P P B B": (dealt("ppbb"), "ppbb", "suits"),
    "in one cell": (in_one_cell, "pbpb", "suits"),
}
FILES: dict[str, Callable[[Rows], tuple[bytes, str]]] = {
    "csv": lambda rows: (csv_of(rows), "a.csv"),
    "semicolons": lambda rows: (csv_of(rows, ";", "utf-8-sig"), "a.csv"),
    "tabs": lambda rows: (csv_of(rows, "\t", "utf-16"), "a.txt"),
    "xlsx": lambda rows: (xlsx_of(rows), "a.xlsx"),
    "json": lambda rows: (json_of(rows), "a.json"),
}


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), file=st.sampled_from(sorted(FILES)), hands=st.integers(3, 15))
def test_a_shoe_written_in_any_shape_and_file_comes_back(shape: str, seed: int, file: str, hands: int) -> None:
    rows, order, kind = SHAPES[shape]
    dealt_hands = simulated_hands(seed, hands)
    data, name = FILES[file](rows(dealt_hands))
    _, mapping, made = read(data, name, order)
    # Of a few hands all cards may lack a picture and a zero: what is guessed then is shown, and may be changed.
    if mapping.cards != kind:
        made = read(data, name, columns=Mapping(mapping.columns, mapping.head_row, kind, order))[2]  # type: ignore[arg-type]
    wanted = list(map(bare, dealt_hands)) if kind == "ranks" else dealt_hands
    assert hands_of(log_of(made)) == wanted
    found = audit(made)
    assert not found.codes, found.codes


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_points_alone_give_the_same_totals_and_no_impossible_card(seed: int) -> None:
    dealt_hands = simulated_hands(seed, 70)
    rows: Rows = [["Hand", *PLACES, "Result", "P total", "B total"]]
    for hand in dealt_hands:
        points = [Card.parse(hand.felt[place]).value if place in hand.felt else None for place in PLACES]
        rows.append([hand.number, *points, *said(hand)])
    _, mapping, made = read(xlsx_of(rows), "points.xlsx")
    assert mapping.cards == "values"
    log = log_of(made)
    opened = log[0]
    assert isinstance(opened, ShoeOpened)
    assert opened.by == "sheet:values:points.xlsx"
    found = audit(made)
    assert not found.codes
    again = hands_of(log)
    assert [(h.winner, h.player, h.banker) for h in again] == [(h.winner, h.player, h.banker) for h in dealt_hands]
    for hand in again:  # two zeros are not a pair by what stands in for them
        for letter in "PB":
            first, second = hand.side(letter)[:2]
            assert first != second or first not in "TJQK"


def test_more_cards_worth_nothing_than_the_shoe_holds_are_found_in_points_too() -> None:
    rows: Rows = [["P1", "P2", "P3", "B1", "B2", "B3"], *([0, 0, 0, 0, 0, 0] for _ in range(22))]
    found = audit(read(xlsx_of(rows), "zeros.xlsx")[2])
    assert found.codes == {"card-impossible": 1}  # 132 cards, of 128
    row = next(row for row in found.rows if row.findings)
    assert (row.told.row, len(row.findings)) == (23, 4)


# What is guessed.


@pytest.mark.parametrize(
    ("head", "field"),
    [
        ("P1", "P1"), ("Player 1", "P1"), ("Player card 3", "P3"), ("Player's third card", "P3"), ("ผู้เล่น 2", "P2"),
        ("เจ้ามือ ใบที่ 3", "B3"), ("Banker", "banker"), ("ไพ่เจ้ามือ", "banker"), ("Banker cards", "banker"),
        ("แต้มผู้เล่น", "player_total"), ("B score", "banker_total"), ("Total P", "player_total"), ("1st card", "card1"),
        ("Card 6", "card6"), ("Outcome", "outcome"), ("ผล", "outcome"), ("โต๊ะ", "table"), ("Table No.", "table"),
        ("ขอน", "shoe"), ("Shoe #", "shoe"), ("ตาที่", "hand"), ("#", "hand"), ("Date/Time", "at"), ("วันที่", "date"),
        ("เวลา", "time"), ("ดีลเลอร์", "dealer"), ("Remarks", None), ("", None),
    ],
)  # fmt: skip
def test_heads_in_both_languages(head: str, field: str | None) -> None:
    from dealing.sheets.cells import plain

    assert field_of(plain(head)) == field


def test_heads_may_stand_below_a_title_or_be_missing() -> None:
    hands = simulated_hands(4, 15)
    rows = by_place(hands)
    book = read_book(csv_of([["River House, March"], [], *rows]), "a.csv")
    found = guess(book)
    assert (found.head_row, found.columns["P1"], found.columns["banker_total"]) == (3, 1, 9)
    bare_rows = [[hand.dealt[n] if n < len(hand.dealt) else "" for n in range(6)] + [hand.winner[0]] for hand in hands]
    found = guess(read_book(csv_of(bare_rows), "a.csv"))
    assert (found.head_row, found.columns) == (0, {**{f"card{n}": n - 1 for n in range(1, 7)}, "outcome": 6})


def test_heads_in_two_rows() -> None:
    heads: Rows = [["Hand", "Player", "", "", "Banker", "", "", "ผล"], ["", 1, 2, 3, 1, 2, 3, ""]]
    hands = simulated_hands(6, 12)
    rows: Rows = [
        *heads,
        *([hand.number, *(hand.felt.get(place) for place in PLACES), hand.winner[0]] for hand in hands),
    ]
    for data, name in ((csv_of([["March"], *rows]), "a.csv"), (xlsx_of([["March"], *rows]), "a.xlsx")):
        _, mapping, made = read(data, name)
        assert (mapping.head_row, mapping.columns) == (
            3,
            {**dict(zip(PLACES, range(1, 7), strict=True)), "outcome": 7, "hand": 0},
        )
        assert [hand.felt for hand in hands_of(log_of(made))] == [hand.felt for hand in hands]


def test_a_row_of_cards_by_side_is_no_row_of_heads() -> None:
    data = csv_of([["9h 3d Kd", "4s 2c", "B"], ["9h 3d Kd", "4s 2c", "P"]])
    assert guess(read_book(data, "a.csv")).head_row == 0
    data = csv_of([["Player", "Banker"], ["9", "1"], ["3", "2"]])
    assert guess(read_book(data, "a.csv")).head_row == 1


def test_the_order_of_dealing_is_never_guessed() -> None:
    data = csv_of(dealt("pbpb")(simulated_hands(1, 5)))
    assert guess(read_book(data, "a.csv")).order == ""
    with pytest.raises(SheetError, match="P B P B or P P B B"):
        read(data)


def test_sheets_dealt_ppbb_raise_no_misplaced_card_and_the_other_order_is_heard_at_once() -> None:
    data = csv_of(dealt("ppbb")(simulated_hands(5, 30)))
    assert not audit(read(data, order="ppbb")[2]).codes
    wrong = audit(read(data, order="pbpb")[2])
    assert wrong.with_findings > 10
    assert "initial-card-misplaced" not in wrong.codes


def test_dates_in_the_order_that_only_one_can_be() -> None:
    def order(*dates: str) -> str:
        rows = [["Date", "Player", "Banker"], *([date, "9h 3d", "4s 2c"] for date in dates)]
        return guess(read_book(csv_of(rows), "a.csv")).dates

    assert [order("1/3/2026", "13/3/2026"), order("3/1/2026", "3/13/2026"), order("2026-03-01"), order("1/3/2026")] == [
        "dmy", "mdy", "ymd", "dmy",
    ]  # fmt: skip


def test_a_mapping_file_says_everything_by_head_or_letter() -> None:
    book = read_book(csv_of([["who", "a", "b", "won"], ["x", "9h 3d", "4s 2c", "1"]]), "a.csv")
    told = {"head_row": 1, "columns": {"player": "a", "banker": "C", "outcome": 4}, "outcomes": {"1": "banker"}}
    found = from_dict(book, told, Mapping())
    assert found.columns == {"player": 1, "banker": 2, "outcome": 3}
    assert from_dict(book, found.as_dict(book), Mapping()) == found
    for wrong, code in (
        ({"columns": {"colour": "a"}}, "no-such-field"),
        ({"columns": {"player": "zz"}}, "no-such-column"),
        ({"columns": {"player": "a", "banker": "1"}}, "column-twice"),
        ({"columns": ["a"]}, "mapping-broken"),
        ({"cards": "blue"}, "not-a-choice"),
        ({"outcomes": {"1": "house"}}, "not-a-choice"),
        ({"head_row": -1}, "fill-wrong"),
        ({"speed": 1}, "mapping-broken"),
        ([], "mapping-broken"),
    ):
        with pytest.raises(SheetError) as caught:
            from_dict(book, wrong, Mapping())
        assert caught.value.code == code
    assert [letters(at) for at in (0, 25, 26, 119)] == ["A", "Z", "AA", "DP"]


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({}, "no-cards"),
        ({"P1": 0, "P2": 1, "B1": 2}, "cards-missing"),
        ({"player": 0}, "cards-missing"),
        ({"P1": 0, "P2": 1, "B1": 2, "B2": 3, "player": 4}, "cards-mixed"),
        ({"card1": 0, "card2": 1, "card3": 2, "card4": 3}, "order-missing"),
        ({"cards": 0}, "order-missing"),
    ],
)
def test_a_mapping_that_will_not_do_says_why(columns: dict[str, int], code: str) -> None:
    with pytest.raises(SheetError) as caught:
        Mapping(columns=columns).check()
    assert caught.value.code == code


# What is found, row by row.

HEADS = ["Shoe", "Hand", *PLACES, "Outcome", "P total", "B total"]


def judged(*rows: Sequence[Any], heads: Sequence[str] = HEADS, **filled: Any) -> dict[int, list[str]]:
    """Row -> the codes of its findings and faults."""
    found = audit(read(csv_of([heads, *rows]), **filled)[2])
    return {
        row.told.row: [*(finding.code for finding in row.findings), *(fault.code for fault in row.faults)]
        for row in found.rows
    }


def hand(number: int, cards: str, outcome: str = "", player: Any = "", banker: Any = "", shoe: Any = 1) -> list[Any]:
    """A row of HEADS; `cards`: P1 P2 P3 B1 B2 B3 with - for none."""
    return [shoe, number, *("" if card == "-" else card for card in cards.split()), outcome, player, banker]


CLEAN = "9h 3d Kd 4s 2c -"  # 2 and 6: Banker stands on six against a court card


def test_each_row_is_named_with_what_is_wrong_in_it() -> None:
    assert judged(
        hand(1, CLEAN, "B", 2, 6),
        hand(2, "9h Kd Kd 4s 2c -", "P", 9, 6),  # a card after a natural, and the one of the row before
        hand(3, "9h Kc 5d 4s 2c -", "P", 9, 6),  # a card after a natural
        hand(4, "9h 3d Kd 4s 2c 7c", "B", 2, 3),  # Banker stands on six against a court card
        hand(5, CLEAN, "P", 2, 6),  # the outcome
        hand(6, CLEAN, "B", 3, 6),  # a total
        hand(7, "9h 3d - 4s 2c -", "B", 2, 6),  # Player was to draw
        hand(8, "9h - - 4s 2c -", "B"),  # a card is missing
        hand(9, "9x 3d Kd 4s 2c -", "B"),
        hand(11, CLEAN, "X"),
        hand(10, CLEAN, "B"),  # out of order
        hand(11, CLEAN, "B"),
        hand(1, CLEAN, "B", shoe=2),
        decks=16,
    ) == {
        2: [],
        3: ["card-overdrawn", "stale-third"],
        4: ["card-overdrawn"],
        5: ["card-overdrawn", "wrong-result-called"],
        6: ["wrong-result-called"],
        7: ["wrong-result-called"],
        8: ["card-not-drawn"],
        9: ["card-not-drawn", "missing-cards"],
        10: ["not-a-card"],
        11: ["not-an-outcome"],
        12: ["out-of-order"],
        13: ["hand-twice"],
        14: [],
    }


def test_a_third_card_on_the_wrong_side_is_the_judges_to_find() -> None:
    assert judged(
        hand(1, "9h 3d - 4s 2c Kd"),  # Player was to draw, Banker has the card
        hand(2, "9h 8d 5c 4s Kc -"),  # Player stood on seven: the card was Banker's
        hand(3, "9h 8d 6c 4s Kc 2d"),  # both have one: Banker's was due
    ) == {2: ["fifth-card-misplaced"], 3: ["fifth-card-misplaced"], 4: ["card-overdrawn"]}


def test_a_stale_card_is_named_with_its_row_and_not_where_it_was_due() -> None:
    made = read(csv_of([HEADS, hand(1, CLEAN), [], hand(2, "9h Kd Kd 4s 2c -"), hand(3, CLEAN)]))[2]
    found = audit(made)
    assert [[str(fault) for fault in row.faults] for row in found.rows] == [
        [], ["P3: Kd is perhaps left over from row 2"], [],
    ]  # fmt: skip
    assert [row.told.row for row in found.rows] == [2, 4, 5]


def test_the_fourth_card_of_a_row_in_the_order_dealt_may_not_come_after_a_gap() -> None:
    heads = ["Card 1", "Card 2", "Card 3", "Card 4", "Card 5", "Card 6"]
    rows: Rows = [
        ["9h", "4s", "3d", "2c", "Kd", ""],
        ["9h", "4s", "3d", "2c", "", "Kd"],
        ["9h", "4s", "3d", "", "", ""],
    ]
    assert judged(*rows, heads=heads, order="pbpb") == {
        2: [], 3: ["order-gap"], 4: ["card-not-drawn", "missing-cards"],
    }  # fmt: skip


def test_hands_are_numbered_by_row_and_a_new_shoe_begins_where_they_begin_anew() -> None:
    rows: Rows = [["Player", "Banker"], *[["9h 3d Kd", "4s 2c"]] * 3]
    _, _, made = read(csv_of(rows), shoe=4)
    assert [(told.shoe, told.hand) for told in made.rows] == [(4, 1), (4, 2), (4, 3)]
    numbered: Rows = [["Hand", "Player", "Banker"], *([n, "9h 3d Kd", "4s 2c"] for n in (1, 2, 3, 1, 2, 1))]
    _, _, made = read(csv_of(numbered), shoe=4)
    assert [(told.shoe, told.hand) for told in made.rows] == [(4, 1), (4, 2), (4, 3), (5, 1), (5, 2), (6, 1)]
    assert [type(event).__name__ for event in log_of(made)].count("ShoeClosed") == 3
    _, _, left = read(csv_of(numbered), shoe=4, more_to_come=True)
    assert sum(isinstance(event, ShoeClosed) for event in log_of(left)) == 2


def test_shoe_numbers_that_begin_anew_each_day_can_be_counted_on() -> None:
    rows = [hand(n, CLEAN, shoe=shoe) for shoe, n in ((1, 1), (1, 2), (2, 1), (1, 1), (1, 2))]
    assert judged(*rows)[5] == ["hand-twice"]
    _, _, made = read(csv_of([HEADS, *rows]), recount=True, shoe=7)
    assert [(told.shoe, told.hand) for told in made.rows] == [(7, 1), (7, 2), (8, 1), (9, 1), (9, 2)]
    assert not audit(made).codes


def test_several_tables_in_one_sheet_by_the_time_of_their_hands() -> None:
    heads = ["Table", "Shoe", "Hand", "Player", "Banker", "Time"]
    rows = [[table, 1, n, "9h 3d Kd", "4s 2c", f"20:{n:02}"] for n in (1, 2) for table in ("B07", "b 08")]
    _, _, made = read(csv_of([heads, *rows]))
    assert made.tables == ["B07", "B-08"]
    assert not audit(made).codes
    log = log_of(made)
    assert [event.table for event in log] == ["B07"] * (len(log) // 2) + ["B-08"] * (len(log) // 2)


# When.


def times(*cells: str, head: str = "Time", **filled: Any) -> list[str]:
    rows = [[head, "Player", "Banker"], *([cell, "9h 3d Kd", "4s 2c"] for cell in cells)]
    made = read(csv_of(rows), **filled)[2]
    events(made)
    return [f"{told.at:%d %H:%M:%S}" if told.at else "–" for told in made.rows]


def test_times_come_from_the_sheet_or_are_filled_in() -> None:
    assert times("23:58", "", "00:03", "01:00") == ["01 23:58:00", "01 23:58:00", "02 00:03:00", "02 01:00:00"]
    assert times("1/3/2025 23:58", "2/3/2025 0:03", head="Date and time") == ["01 23:58:00", "02 00:03:00"]
    assert times("3/3/2025", "3/3/2025", "4/3/2025", head="Date", seconds=90) == [
        "03 20:00:00", "03 20:01:30", "04 20:00:00",
    ]  # fmt: skip
    assert times("x", "y", head="Remark", seconds=30) == ["01 20:00:00", "01 20:00:30"]


def test_a_time_that_goes_back_is_named_and_the_log_never_goes_back() -> None:
    heads = ["Time", "Player", "Banker"]
    found = judged(
        ["20:10", "9h 3d Kd", "4s 2c"], ["20:05", "9h 3d Kd", "4s 2c"], ["20:11", "9h 3d Kd", "4s 2c"], heads=heads
    )
    assert found == {2: [], 3: ["time-back"], 4: []}
    rows = [heads, ["20:10", "9h 3d", "4s 2c"], ["20:05", "9h 3d", "4s 2c"]]
    log = log_of(read(csv_of(rows))[2])
    assert [event.at for event in log] == sorted(event.at for event in log)


def test_what_is_still_to_come_is_not_read() -> None:
    rows: Rows = [["Date", "Player", "Banker"], ["1/3/2027", "9h 3d Kd", "4s 2c"]]
    assert audit(read(csv_of(rows))[2]).codes == {"in-the-future": 1}


def test_a_night_in_which_the_clock_is_put_back_gives_times_that_only_grow() -> None:
    from zoneinfo import ZoneInfo

    rows: Rows = [["Player", "Banker"], *[["9h 3d Kd", "4s 2c"]] * 200]
    zone = ZoneInfo("Europe/Berlin")
    _, _, made = read(csv_of(rows), zone=zone, date=dt.date(2025, 10, 26), start=dt.time(1, 30))
    log = log_of(made)
    assert [event.at for event in log] == sorted(event.at for event in log)
    assert (log[-1].at - log[0].at) == dt.timedelta(minutes=199)
    assert "time-back" not in audit(made).codes
    heads = ["Time", "Player", "Banker"]
    clocks = ["02:10", "02:50", "02:05", "02:55", "03:05"]
    rows = [heads, *([clock, "9h 3d Kd", "4s 2c"] for clock in clocks)]
    _, _, made = read(csv_of(rows), zone=zone, date=dt.date(2025, 10, 26))
    assert not audit(made).codes
    log = log_of(made)
    assert (log[-1].at - log[0].at) == dt.timedelta(minutes=115)


# What goes into the log.


def test_the_log_of_a_hand_is_one_that_can_be_read_again() -> None:
    _, _, made = read(csv_of([HEADS, hand(1, "9h 3d Kd 4s 2c -", "B", 2, 6)]), ruleset="insurance", decks=6)
    log = log_of(made)
    assert [event.name for event in log] == [
        "shoe_opened", "betting_opened", "betting_closed", *["card"] * 5, "called", "hand_closed", "shoe_closed",
    ]  # fmt: skip
    assert [event.to for event in log if isinstance(event, CardDealt)] == ["P1", "B1", "P2", "B2", "P3"]
    assert [parse_line(format_event(event)) for event in log] == log
    assert {event.by for event in log} == {"sheet:cards:march.csv"}
    opened = log[0]
    assert isinstance(opened, ShoeOpened)
    assert (opened.ruleset, opened.decks) == ("insurance", 6)


def test_totals_without_an_outcome_say_who_won_and_no_word_says_nothing() -> None:
    called = [e for e in log_of(read(csv_of([HEADS, hand(1, CLEAN, "", 2, 6)]))[2]) if isinstance(e, Called)]
    assert [(event.winner, event.player, event.banker) for event in called] == [("banker", 2, 6)]
    assert not any(isinstance(event, Called) for event in log_of(read(csv_of([HEADS, hand(1, CLEAN)]))[2]))


def test_a_shoe_that_is_stored_keeps_the_name_it_was_opened_with() -> None:
    book, mapping, made = read(csv_of([HEADS, hand(1, CLEAN)]), "copy of march.csv")
    known = KnownShoe("sheet:cards:march.csv", "insurance", 6)
    again = log_of(plan(book, mapping, made.filling, known=lambda table, shoe: known))
    opened = again[0]
    assert isinstance(opened, ShoeOpened)
    assert (opened.by, opened.ruleset, opened.decks) == known
    other = log_of(plan(book, mapping, made.filling, known=lambda table, shoe: known._replace(by="sheet:values:x")))
    assert other[0].by == "sheet:cards:copy of march.csv"


def test_long_and_strange_names_fit_into_the_log() -> None:
    _, _, made = read(csv_of([HEADS, hand(1, CLEAN)]), "มีนาคม\n\x07" + "x" * 100 + ".csv")
    assert [parse_line(format_event(event)) for event in log_of(made)] == log_of(made)


def test_what_has_to_be_filled_in_is_said_by_name() -> None:
    data = csv_of([["Player", "Banker"], ["9h 3d Kd", "4s 2c"]])
    for name in ("table", "shoe", "date", "start"):
        with pytest.raises(SheetError) as caught:
            read(data, "march.csv", "", None, **{name: "" if name == "table" else None})
        assert (caught.value.code, caught.value.fill) == ("fill-missing", name)
    for name, value in (("table", "b 7"), ("shoe", 0), ("decks", 17), ("seconds", -1), ("ruleset", "house")):
        with pytest.raises(SheetError) as caught:
            read(data, "march.csv", "", None, **{name: value})
        assert caught.value.fill == name
    assert read(data, start=dt.time(0))[2].rows[0].at == dt.datetime.combine(START.date(), dt.time(0), BANGKOK)


# Files.


def test_characters_and_separators_are_found_out() -> None:
    rows = thai(simulated_hands(2, 4))
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        for separator in ",;\t|":
            book = read_book(csv_of(rows, separator, encoding), "a.csv")
            assert guess(book).columns.keys() == {"hand", "player", "banker", "outcome", "player_total", "banker_total"}
    cp874 = csv_of(
        [[str(cell).translate({9824: "s", 9829: "h", 9830: "d", 9827: "c"}) for cell in row] for row in rows],
        ",",
        "cp874",
    )
    book = read_book(cp874, "a.csv")
    assert (book.encoding, guess(book).columns["outcome"]) == ("cp874", 3)
    with pytest.raises(SheetError, match="not utf-8"):
        read_book(cp874, "a.csv", encoding="utf-8")
    assert read_book(b"sep=;\nPlayer;Banker\n9h 3d;4s 2c\n", "a.csv").rows[1].cells == ("9h 3d", "4s 2c")
    assert read_book(b"Player;Banker\n9,3,K;4,2\n9,3;4,5\n", "a.csv").separator == "semicolon"


def test_rows_are_numbered_as_a_spreadsheet_shows_them() -> None:
    data = b'Player,Banker\n\n"9h\n3d",4s 2c\n,\n9h 3d,4s 2c\n'
    assert [row.number for row in read_book(data, "a.csv").rows] == [1, 3, 5]
    book = read_book(xlsx_of([["Player", "Banker"], [], ["9h 3d", "4s 2c"]]), "a.xlsx")
    assert [row.number for row in book.rows] == [1, 3]


def test_numbers_dates_and_further_sheets_of_a_workbook() -> None:
    when = dt.datetime(2025, 3, 1, 20, 15)
    rows: Rows = [["Date", "Time", "P1", "P2", "B1", "B2"], [when.date(), when.time(), 9.0, 10.0, 4, 2]]
    data = xlsx_of([], Notes=[["nothing"]], March=rows)
    book = read_book(data, "a.xlsx")
    assert (book.sheets, book.sheet) == (("Hands", "Notes", "March"), "March")
    book = read_book(data, "a.xlsx", sheet="March")
    assert book.rows[1].cells[2:] == ("9", "10", "4", "2")
    mapping = guess(book)
    assert mapping.cards == "ranks"
    told = plan(book, mapping, read(csv_of(rows))[2].filling).rows[0]
    assert told.at == dt.datetime(2025, 3, 1, 20, 15, tzinfo=BANGKOK)
    with pytest.raises(SheetError, match="no sheet “April”; it has Hands, Notes, March"):
        read_book(data, "a.xlsx", sheet="April")


def test_json_in_lists_and_objects() -> None:
    hands = [
        {
            "player": {"cards": ["9h", "3d", "Kd"], "total": 2},
            "banker": {"cards": ["4s", "2c"], "total": 6},
            "winner": "banker",
        }
    ]
    for told in (hands, {"hands": hands}):
        _, mapping, made = read(json.dumps(told).encode(), "a.json")
        assert list(mapping.columns) == ["player", "banker", "outcome", "player_total", "banker_total"]
        assert hands_of(log_of(made)) == [
            Hand(1, {"P1": "9h", "B1": "4s", "P2": "3d", "B2": "2c", "P3": "Kd"}, "banker", 2, 6)
        ]


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (b"", "a.csv", "file-empty"),
        (b" \n\n", "a.csv", "file-empty"),
        (b",,\n,,\n", "a.csv", "no-rows"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "a.xls", "xls-old"),
        (b"PK\x03\x04 and nothing", "a.xlsx", "xlsx-broken"),
        (b"not packed", "a.xlsx", "xlsx-broken"),
        (b"%PDF-1.7", "a.pdf", "file-kind"),
        (b"text", "noending", "file-kind"),
        (b'[{"a": 1}', "a.json", "json-broken"),
        (b"[" * 100_000, "a.json", "json-broken"),
        (b"[" + b"9" * 10_000 + b"]", "a.json", "json-broken"),
        (b'{"rows": []}', "a.json", "json-shape"),
        (b"[1]", "a.json", "json-hand"),
        (b"[]", "a.json", "no-rows"),
        (b"Player,Banker\n9h \xff\x81\xfe\x90\xdb\xfc 3d,4s\n" + b"\x81\x9d", "a.csv", "encoding-unknown"),
        (b'Player,"' + b"x" * 200_000 + b'"\n', "a.csv", "csv-broken"),
    ],
)
def test_files_that_cannot_be_read_say_why(data: bytes, name: str, code: str) -> None:
    with pytest.raises(SheetError) as caught:
        read_book(data, name)
    assert caught.value.code == code


def test_size_rows_and_what_a_packed_file_comes_to_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SheetError, match="more than 3 rows"):
        read_book(csv_of([["Player", "Banker"], *[["9h 3d", "4s 2c"]] * 4]), "a.csv", rows=3)
    assert len(read_book(csv_of([["Player", "Banker"], *[["9h 3d", "4s 2c"]] * 3]), "a.csv", rows=3).rows) == 4
    with pytest.raises(SheetError, match="more than 3 rows"):
        read_book(json_of([["player", "banker"], *[["9h 3d", "4s 2c"]] * 4]), "a.json", rows=3)
    monkeypatch.setattr(reading, "MEGABYTES", 0)
    with pytest.raises(SheetError, match="larger than 0 MB"):
        read_book(b"Player,Banker", "a.csv")
    monkeypatch.undo()
    out = io.BytesIO(xlsx_of([["Player", "Banker"]]))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b"\0" * (reading.UNPACKED_MEGABYTES * 2**20))
    assert len(out.getvalue()) < 2**20
    with pytest.raises(SheetError, match="unpacked"):
        read_book(out.getvalue(), "bomb.xlsx")


def test_entities_that_grow_without_end_are_not_followed() -> None:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    source = zipfile.ZipFile(io.BytesIO(xlsx_of([["Player", "Banker"], ["9h 3d", "4s 2c"]])))
    sheet = source.read("xl/worksheets/sheet1.xml").decode()
    assert "Player" in sheet
    bomb = f'<!DOCTYPE worksheet [<!ENTITY l0 "lol">{lol}]>' + sheet.replace("Player", "&l9;")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member in source.namelist():
            archive.writestr(member, bomb if member.endswith("sheet1.xml") else source.read(member))
    with pytest.raises(SheetError) as caught:
        read_book(out.getvalue(), "a.xlsx")
    assert caught.value.code == "xlsx-broken"


# Whatever comes.

ODD = st.one_of(
    st.none(),
    st.integers(-5, 2000),
    st.sampled_from(
        [
            "9h",
            "K",
            "10",
            "0",
            "9x",
            "P",
            "เสมอ",
            "9h 3d Kd",
            "-",
            "20:15",
            "1/3/2569",
            "B07",
            "=A1",
            "#N/A",
            "\x00",
            "½",
        ]
    ),
    st.text(max_size=8),
)


SOME_HEADS = [
    *PLACES, "Player", "Banker", "Card 1", "Card 2", "Card 3", "Card 4", "Cards", "Result", "Table", "Shoe", "Hand",
    "Date", "Time", "P total", "x",
]  # fmt: skip


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(
    heads=st.lists(st.sampled_from(SOME_HEADS), min_size=1, max_size=14, unique=True),
    rows=st.lists(st.lists(ODD, max_size=14), min_size=1, max_size=8),
    order=st.sampled_from(["", "pbpb", "ppbb"]),
    kind=st.sampled_from(["csv", "json"]),
    recount=st.booleans(),
)  # fmt: skip
def test_a_broken_sheet_raises_nothing_but_what_is_wrong_with_it(
    heads: list[str], rows: list[list[Any]], order: str, kind: str, recount: bool
) -> None:
    data = csv_of([heads, *rows]) if kind == "csv" else json_of([heads, *rows])
    try:
        _, _, made = read(data, f"a.{kind}", order, recount=recount)
    except SheetError as error:
        assert str(error)  # noqa: PT017  # either may be
        return
    found = audit(made)
    assert len(found.rows) == found.hands + found.unreadable + found.left_out + found.blank
    kept = as_json(made, found)
    assert json.loads(json.dumps(kept)) == json.loads(json.dumps(kept))
    log = log_of(made)
    assert [parse_line(format_event(event)) for event in log] == log
    assert sum(isinstance(row.audit, HandAudit) for row in found.rows[:10]) == sum(told.kept for told in made.rows[:10])


@settings(max_examples=60)
@given(st.binary(max_size=400), st.sampled_from(["a.csv", "a.xlsx", "a.json", "a.txt"]))
def test_any_bytes_are_a_book_or_say_what_they_are_not(data: bytes, name: str) -> None:
    try:
        book = read_book(data, name)
    except SheetError as error:
        assert str(error)  # noqa: PT017
        return
    assert guess(book).head_row <= max(row.number for row in book.rows)


def test_every_code_has_its_words() -> None:
    from dealing.sheets import words

    assert set(words.ERRORS) == set(MESSAGES)
    assert set(words.FAULTS) == set(words.FAULT_TITLES) == set(FAULTS)
    assert set(FAULTS) >= UNREADABLE | LEFT_OUT
    assert set(FIELDS) <= set(words.FIELDS)
    assert [name for _, names in words.GROUPS for name in names] == list(FIELDS)
    for code, text in MESSAGES.items():
        assert _holes(text) == _holes(str(words.ERRORS[code])), code
    for code, text in FAULTS.items():
        assert _holes(text) == _holes(str(words.FAULTS[code])), code


def _holes(text: str) -> set[str]:
    import re

    return set(re.findall(r"(?<!\{)\{(\w+)\}", text))


def test_now_is_when_the_tests_think_it_is() -> None:
    assert NOW > START

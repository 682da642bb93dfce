"""What single cells say, and what they do not say."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dealing.rules.cards import CARDS, RANKS
from dealing.sheets import cells
from dealing.sheets.cells import CellError, Kind, read_cards, read_date, read_moment, read_number, read_table, read_time

TODAY = dt.date(2026, 11, 30)
BANGKOK = dt.timezone(dt.timedelta(hours=7))


@pytest.mark.parametrize(
    ("text", "kind", "limit", "cards"),
    [
        ("9h 3d Kd", "suits", 3, "9h 3d Kd"),
        ("9h3d10s", "suits", 3, "9h 3d Ts"),
        ("9♥, 3♦; K♠", "suits", 3, "9h 3d Ks"),
        ("♥9 ♦3 ♠K", "suits", 3, "9h 3d Ks"),
        ("H10D3", "suits", 3, "Th 3d"),
        ("9 ♥ K ♠", "suits", 3, "9h Ks"),
        ("9♥️", "suits", 1, "9h"),
        ("Nine of hearts".replace("Nine", "9"), "suits", 1, "9h"),
        ("Ace of spades, King of clubs", "suits", 3, "As Kc"),
        ("โพดำ 9", "suits", 1, "9s"),
        ("9 โพแดง / คิง ดอกจิก", "suits", 3, "9h Kc"),
        ("[9h, 3d]", "suits", 3, "9h 3d"),
        ("9,3,K", "ranks", 3, "9 3 K"),
        ("9/3/K", "ranks", 3, "9 3 K"),
        ("9-3-K", "ranks", 3, "9 3 K"),
        ("93K", "ranks", 3, "9 3 K"),
        ("103", "ranks", 3, "T 3"),
        ("1 9", "ranks", 3, "A 9"),
        ("12", "ranks", 1, "Q"),
        ("13 2", "ranks", 3, "K 2"),
        ("๙", "ranks", 1, "9"),
        ("９", "ranks", 1, "9"),
        ("930", "values", 3, "9 3 0"),
        ("9 10", "values", 3, "9 0"),
        ("K", "values", 1, "0"),
        ("1", "values", 1, "A"),
        ("–", "suits", 1, ""),
        ("", "suits", 3, ""),
        ("n/a", "values", 3, ""),
    ],
)
def test_cards_in_every_way_that_houses_write_them(text: str, kind: Kind, limit: int, cards: str) -> None:
    assert read_cards(text, kind, limit) == cards.split()


@pytest.mark.parametrize(
    ("text", "kind", "limit", "code"),
    [
        ("9x", "suits", 1, "not-a-card"),
        ("#REF!", "ranks", 1, "not-a-card"),
        ("0", "ranks", 1, "not-a-card"),
        ("9H3", "suits", 3, "not-a-card"),
        ("112", "ranks", 3, "ambiguous"),
        ("12", "ranks", 3, "ambiguous"),
        ("12 3", "values", 3, "ambiguous"),
        ("9h 3d", "suits", 1, "one-card"),
        ("9 3 4 5", "ranks", 3, "too-many-cards"),
        ("9.5x", "ranks", 3, "not-a-card"),
        ("h" * 500, "suits", 3, "not-a-card"),
    ],
)
def test_what_is_no_card_or_could_be_several_things_is_said(text: str, kind: Kind, limit: int, code: str) -> None:
    with pytest.raises(CellError) as caught:
        read_cards(text, kind, limit)
    assert caught.value.code == code


@given(st.lists(st.sampled_from(CARDS), min_size=1, max_size=3), st.sampled_from(["", " ", ",", "/", " | "]))
def test_any_cards_in_one_cell_come_back(cards: list[Any], between: str) -> None:
    written = between.join(card.text for card in cards)
    assert read_cards(written, "suits", 3) == [card.text for card in cards]
    assert read_cards(written.upper().replace("T", "10"), "suits", 3) == [card.text for card in cards]


@given(st.lists(st.sampled_from(RANKS), min_size=1, max_size=3))
def test_ranks_together_are_read_as_they_were_meant_or_refused(ranks: list[str]) -> None:
    assert read_cards("".join(ranks), "ranks", 3) == ranks
    with_tens = "".join("10" if rank == "T" else "1" if rank == "A" else rank for rank in ranks)
    if re.search("1[1-3]", with_tens):  # 1 and then 2 may be a queen
        with pytest.raises(CellError, match="ambiguous"):
            read_cards(with_tens, "ranks", 3)
    elif len(with_tens) > 1:
        assert read_cards(with_tens, "ranks", 3) == ranks


def test_no_way_of_writing_one_card_is_another_card() -> None:
    seen: dict[str, str] = {}
    suits = {"s": "♠", "h": "♥", "d": "♦", "c": "♣"}
    for card in CARDS:
        rank = "10" if card.rank == "T" else card.rank
        for text in (card.text, rank + card.suit, rank + suits[card.suit], f"{suits[card.suit]}{rank}"):
            assert read_cards(text, "suits", 1) == [card.text]
            assert seen.setdefault(text, card.text) == card.text


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("P", "player"), ("Player", "player"), ("player wins", "player"), ("ผู้เล่น", "player"), ("ผู้เล่นชนะ", "player"),
        ("ฝ่ายผู้เล่น", "player"), ("b", "banker"), ("Banker.", "banker"), ("B (natural)", "banker"), ("เจ้ามือ", "banker"),
        ("TIE", "tie"), ("เสมอ", "tie"), ("", None), ("-", None),
    ],
)  # fmt: skip
def test_outcomes(text: str, side: str | None) -> None:
    assert cells.read_outcome(text, {}) == side


def test_outcomes_in_figures_mean_what_the_mapping_says_and_nothing_else() -> None:
    assert cells.read_outcome("2", {"2": "banker"}) == "banker"
    with pytest.raises(CellError, match="not-an-outcome"):
        cells.read_outcome("2", {})
    assert cells.read_outcome("P", {"p": "banker"}) == "banker"  # somebody said so


@pytest.mark.parametrize("text", ["10", "-1", "x", "7.5", "IX", "99"])
def test_totals_are_from_0_to_9(text: str) -> None:
    assert [cells.read_total(str(n)) for n in range(10)] == list(range(10))
    with pytest.raises(CellError, match="not-a-total"):
        cells.read_total(text)


def test_numbers_and_tables() -> None:
    assert [read_number(text) for text in ("12", "#12", "Shoe 12", "ขอน 3", "")] == [12, 12, 12, 3, None]
    assert [read_table(text) for text in ("b07", "B 07", "Table 7", "โต๊ะที่ 7", "B_07")] == [
        "B07",
        "B-07",
        "7",
        "7",
        "B-07",
    ]
    for text in ("0", "1.5", "1/2", "x", "9999999"):
        with pytest.raises(CellError, match="not-a-number"):
            read_number(text)
    for text in ("บี", "x" * 17, "B+1"):
        with pytest.raises(CellError, match="not-a-table"):
            read_table(text)


@pytest.mark.parametrize(
    ("text", "order", "date"),
    [
        ("2026-03-01", "dmy", "2026-03-01"),
        ("2026/3/1", "mdy", "2026-03-01"),
        ("1/3/2026", "dmy", "2026-03-01"),
        ("3/1/2026", "mdy", "2026-03-01"),
        ("01.03.2569", "dmy", "2026-03-01"),
        ("2569-03-01", "dmy", "2026-03-01"),
        ("1/3/26", "dmy", "2026-03-01"),
        ("1/3/69", "dmy", "2026-03-01"),
        ("๑/๓/๒๕๖๙", "dmy", "2026-03-01"),
        ("26/3/1", "ymd", "2026-03-01"),
    ],
)
def test_dates_of_both_eras(text: str, order: cells.DateOrder, date: str) -> None:
    assert read_date(text, order, TODAY) == dt.date.fromisoformat(date)


@pytest.mark.parametrize("text", ["31/2/2026", "13/13/2026", "yesterday", "1/3", "1/3/026", "99999-1-1", "1/3/3000"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(CellError, match="not-a-date"):
        read_date(text, "dmy", TODAY)


def test_times_and_moments() -> None:
    assert [read_time(text) for text in ("20:15", "8:15 PM", "20.15 น.", "20:15:30.25", "12:00 am")] == [
        dt.time(20, 15), dt.time(20, 15), dt.time(20, 15), dt.time(20, 15, 30, 250_000), dt.time(0),
    ]  # fmt: skip
    at = dt.datetime(2026, 3, 1, 20, 15, tzinfo=BANGKOK)
    for cell in (
        "1/3/2569 20:15",
        "2026-03-01T20:15",
        "2026-03-01T13:15:00Z",
        "1/3/2026, 8:15 pm",
        dt.datetime(2026, 3, 1, 20, 15),
    ):
        assert read_moment(cell, "dmy", TODAY, BANGKOK) == at
    for text in ("25:00", "20:60", "noon", "13:00 pm", "20"):
        with pytest.raises(CellError, match="not-a-time"):
            read_time(text)
    for text in ("2026-03-01", "20:15", "1/3/2026 25:00", "2026-02-30T00:00:00Z"):
        with pytest.raises(CellError):
            read_moment(text, "dmy", TODAY, BANGKOK)


ANY_CELL = st.one_of(
    st.none(),
    st.text(max_size=30),
    st.text(alphabet="0123456789 TJQKAhdsc♥/,-:.+Zผู้เล่นชนะ–०²", max_size=20),
    st.datetimes(),
    st.dates(),
    st.times(),
)


@given(ANY_CELL)
def test_no_cell_raises_anything_but_a_cell_error(cell: cells.Cell) -> None:
    calls: list[Any] = [
        *(
            lambda kind=kind, limit=limit: read_cards(cell, kind, limit)
            for kind, limit in itertools.product(cells.KINDS, (1, 3, 6))
        ),
        lambda: cells.read_outcome(cell, {}),
        lambda: cells.read_total(cell),
        lambda: read_number(cell),
        lambda: read_table(cell),
        lambda: read_time(cell),
        *(lambda order=order: read_date(cell, order, TODAY) for order in cells.DATE_ORDERS),
        *(lambda order=order: read_moment(cell, order, TODAY, BANGKOK) for order in cells.DATE_ORDERS),
    ]
    for call in calls:
        with contextlib.suppress(CellError):
            call()

"""What is no hand in a sheet, how far a file is read, dates as people write them, and sheets that go backwards."""

from __future__ import annotations

import datetime as dt
import io
import re
import time
import zipfile
from typing import Any

import pytest

from dealing.sheets import reading
from dealing.sheets.auditing import SheetAudit, as_json, audit
from dealing.sheets.cells import CellError, read_cards, read_date, read_moment
from dealing.sheets.errors import SheetError
from dealing.sheets.making import Plan
from dealing.sheets.reading import EMPTY_ROWS, read_book
from tests.sheets import BANGKOK, csv_of, log_of, read, simulated_hands, xlsx_of
from tests.test_sheets import by_place

TODAY = dt.date(2026, 11, 30)
HEADS = ["Date", "Time", "Shoe", "Hand", "P1", "P2", "P3", "B1", "B2", "B3", "P total", "B total", "Winner"]
GOOD = ["2026-11-20", "10:00", 1, 1, "9h", "Ks", "", "6h", "Ac", "", 9, 7, "P"]


def row(hand: int, **other: Any) -> list[Any]:
    """A hand of the sheet, natural nine against seven, with other cells by the names of their heads."""
    out = list(GOOD)
    out[HEADS.index("Hand")] = hand
    out[HEADS.index("Time")] = f"10:{hand:02}"
    for name, value in other.items():
        out[HEADS.index(name.replace("_", " "))] = value
    return out


def faults(made: Plan | SheetAudit) -> list[tuple[int, str, str]]:
    """Rows, fields and codes of what is wrong with a sheet beside the rules."""
    rows = [one.told for one in made.rows] if isinstance(made, SheetAudit) else made.rows
    return [(told.row, fault.field, fault.code) for told in rows for fault in told.faults]


def patched(data: bytes, old: bytes, new: bytes, part: str = "xl/worksheets/sheet1.xml") -> bytes:
    """An .xlsx file with another text in one of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            content = archive.read(name)
            if name == part:
                assert old in content
                content = content.replace(old, new, 1)
            copy.writestr(name, content)
    return out.getvalue()


# How far a file is read.

END = b"</sheetData>"
SHEET = xlsx_of(by_place(simulated_hands(1, 4)))


@pytest.mark.parametrize(
    "more",
    [
        b'<row r="1048576"><c r="A1048576" t="inlineStr"><is><t> </t></is></c></row>',
        b'<row r="1048576"><c r="A1048576" t="inlineStr"><is><t>far</t></is></c></row>',
        b"<row><c/></row>" * 400_000,
    ],
)
def test_nothing_is_read_below_a_thousand_empty_rows(more: bytes) -> None:
    begun = time.monotonic()
    book = read_book(patched(SHEET, END, more + END), "a.xlsx")
    assert time.monotonic() - begun < 3
    assert (len(book.rows), book.ended) == (5, 5)


def test_rows_keep_their_numbers_over_gaps_that_are_read() -> None:
    far = f'<row r="{5 + EMPTY_ROWS}"><c r="B{5 + EMPTY_ROWS}" t="inlineStr"><is><t>9h</t></is></c></row>'.encode()
    book = read_book(patched(SHEET, END, far + END), "a.xlsx")
    assert (book.rows[-1].number, book.rows[-1].cells, book.ended) == (5 + EMPTY_ROWS, (None, "9h"), 0)
    text = csv_of(by_place(simulated_hands(1, 4))) + b"\r\n" * (EMPTY_ROWS + 1) + b"9,9h,9h\r\n"
    book = read_book(text, "a.csv")
    assert (len(book.rows), book.ended) == (5, 5)


def test_a_file_that_is_endless_in_another_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def code(data: bytes, **more: Any) -> str:
        with pytest.raises(SheetError) as error:
            read_book(data, "a.xlsx", **more)
        return error.value.code

    wide = b'<row r="9">' + b"<c/>" * 400_000 + b"</row>" + END
    assert code(patched(SHEET, END, wide)) == "xlsx-too-much"
    monkeypatch.setattr(reading, "_STRINGS", 1000)
    many = io.BytesIO(SHEET)
    with zipfile.ZipFile(many, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b"<sst>" + b"<si/>" * 2000 + b"</sst>")
    assert code(many.getvalue()) == "xlsx-too-much"
    monkeypatch.setattr(reading, "OTHER_MEGABYTES", 1)
    styles = patched(SHEET, b"</styleSheet>", b" " * 2**20 + b"</styleSheet>", "xl/styles.xml")
    assert code(styles) == "xlsx-too-much"
    assert code(SHEET, seconds=-1) == "xlsx-too-slow"


def test_of_several_sheets_the_one_with_the_hands_is_read() -> None:
    hands = by_place(simulated_hands(1, 4))
    data = xlsx_of([["Month", "Total"], ["March", "12"], *[["x", n] for n in range(50)]], Cards=hands, Notes=[["kept"]])
    book = read_book(data, "a.xlsx")
    assert (book.sheet, book.sheets) == ("Cards", ("Hands", "Cards", "Notes"))
    assert read_book(data, "a.xlsx", sheet="Notes").sheet == "Notes"


# Formulas.


def test_a_formula_that_nobody_worked_out_is_named_by_its_cell() -> None:
    rows = [HEADS, row(1), row(2, Winner="=1+1"), row(3, P_total="=LEN(E4)"), row(4, P1='="9"&"h"')]
    _, _, made = read(xlsx_of(rows), "a.xlsx")
    assert faults(made) == [
        (3, "outcome", "not-worked-out"),
        (4, "player_total", "not-worked-out"),
        (5, "P1", "not-worked-out"),
    ]
    assert [told.faults[0].params["value"] for told in made.rows[1:]] == ["M3", "K4", "E5"]
    assert [told.kept for told in made.rows] == [True, False, False, False]


def test_a_formula_whose_answer_is_an_empty_text_is_an_empty_cell() -> None:
    rows = [HEADS, row(1, P3="=1+1")]
    data = xlsx_of(rows)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        cell = archive.read("xl/worksheets/sheet1.xml").partition(b'<c r="G2"')[2].partition(b"</c>")[0]
    said = patched(data, b'<c r="G2"' + cell, b'<c r="G2" t="str"><f>""</f><v></v>')
    assert faults(read(said, "a.xlsx")[2]) == []
    said = patched(data, b'<c r="G2"' + cell, b'<c r="G2" t="str"><f>""</f><v>4d</v>')
    assert read(said, "a.xlsx")[2].rows[0].third("P3") == "4d"


# What is no hand.

NOTHING: dict[str, Any] = dict.fromkeys(["P1", "P2", "B1", "B2", "P_total", "B_total", "Winner"], "")


def test_a_row_without_cards_is_no_hand() -> None:
    rows = [HEADS, row(1), row(2, **NOTHING), row(3, **NOTHING), row(4, **NOTHING | {"Winner": "B", "B_total": 6})]
    _, _, made = read(csv_of(rows))
    found = audit(made)
    assert (found.hands, found.blank, found.left_out, found.unreadable) == (1, 2, 1, 0)
    assert faults(found) == [(5, "", "without-cards")]
    assert {event.hand for event in log_of(made)} == {None, 1}
    kept = as_json(made, found)
    assert (kept["blank"], [one["row"] for one in kept["first"]]) == (2, [2, 5])


def test_what_a_row_without_cards_says_of_the_rows_below_it_is_kept() -> None:
    rows = [HEADS, row(1), row(0, **NOTHING | {"Shoe": 2, "Date": "2026-11-21", "Hand": "", "Time": ""})]
    rows.append(row(1, Shoe="", Date=""))
    _, _, made = read(csv_of(rows))
    assert [(told.shoe, told.hand) for told in made.rows if told.kept] == [(1, 1), (2, 1)]
    assert made.rows[2].at == dt.datetime(2026, 11, 21, 10, 1, tzinfo=BANGKOK)


@pytest.mark.parametrize(
    "last",
    [
        {"Date": "Total", "P_total": 45, "B_total": 50},
        {"Date": "รวม", "Hand": "40 ตา"},
        {"Date": "ยอดรวม"},
        {"Date": "", "Time": "", "Shoe": "", "Hand": 40, "P_total": 145, "B_total": 9},
        {"Date": "", "Hand": "", "P_total": 6, "B_total": 5},
        {"Date": "Sum of day", "Winner": "20 B"},
    ],
)
def test_a_total_row_is_one_remark(last: dict[str, Any]) -> None:
    rows = [HEADS, row(1), row(2), row(3, **NOTHING | last)]
    _, _, made = read(csv_of(rows))
    found = audit(made)
    assert faults(found) == [(4, "", "total-row")]
    assert (found.hands, found.left_out, found.unreadable) == (2, 1, 0)


def test_a_card_in_one_cell_makes_a_hand_of_which_cards_are_missing() -> None:
    _, _, made = read(csv_of([HEADS, row(1), row(2, **NOTHING | {"B1": "6h", "Winner": "B"})]))
    assert [code for _, _, code in faults(made)] == ["missing-cards", "missing-cards"]
    assert made.rows[1].kept


# Totals.


def test_totals_of_other_cards_are_told_though_a_due_card_is_missing() -> None:
    rows = [HEADS, row(1, P1="3h", P_total=9, B_total=7), row(2, P1="3h", P_total=3, B_total=8, Winner="B"), row(3)]
    found = audit(read(csv_of(rows))[2])
    assert [finding.code for one in found.rows for finding in one.findings] == ["card-not-drawn"] * 2
    assert faults(found) == [(2, "player_total", "total-differs"), (3, "banker_total", "total-differs")]
    assert found.rows[0].faults[0].params == {"said": 9, "made": 3}


# Dates.


@pytest.mark.parametrize(
    "text",
    [
        "15 พ.ย. 2569", "15 พ.ย. 69", "๑๕ พฤศจิกายน ๒๕๖๙", "15 พฤศจิกายน พ.ศ. 2569", "15 Nov 2026", "15-Nov-26",
        "15 november 2026", "Nov 15, 2026", "46341", "46341.0",
    ],
)  # fmt: skip
def test_dates_with_the_name_of_the_month_or_as_a_spreadsheet_counts(text: str) -> None:
    assert read_date(text, "dmy", TODAY) == dt.date(2026, 11, 15)


@pytest.mark.parametrize("text", ["31 พ.ย. 2569", "15 Foo 2026", "15 Nov", "9999", "99999", "15 Nov 226"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(CellError):
        read_date(text, "dmy", TODAY)


@pytest.mark.parametrize("text", ["15 พ.ย. 2569 20:15", "15-Nov-26 8:15 PM", "46341.84375", "15/11/2569, 20.15 น."])
def test_moments_of_such_dates(text: str) -> None:
    assert read_moment(text, "dmy", TODAY, BANGKOK) == dt.datetime(2026, 11, 15, 20, 15, tzinfo=BANGKOK)


def test_every_thai_month_is_known() -> None:
    short = re.findall(r"\S+", "ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.")
    written = "มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม"
    whole = re.findall(r"\S+", written)
    for names in (short, whole):
        assert [read_date(f"2 {name} 2568", "dmy", TODAY) for name in names] == [
            dt.date(2025, month, 2) for month in range(1, 13)
        ]


def test_the_date_column_is_named_where_the_date_is_at_fault() -> None:
    rows = [HEADS, row(1), row(2, Date="31/02/2026"), row(3, Time="25:13"), row(4, Date="2027-01-01")]
    assert faults(read(csv_of(rows))[2]) == [
        (3, "date", "not-a-date"),
        (4, "time", "not-a-time"),
        (5, "date", "in-the-future"),
    ]


# The order of the rows, and a space in a card.


@pytest.mark.parametrize("numbered", [True, False])
def test_a_sheet_with_the_newest_first_is_told_once(numbered: bool) -> None:
    rows = [HEADS, *[row(n, Winner="P") for n in range(30, 0, -1)]]
    if not numbered:
        rows = [[*one[:3], *one[4:]] for one in rows]
    _, _, made = read(csv_of(rows))
    found = audit(made)
    assert faults(found) == [(2, "", "newest-first")]
    assert [told.row for told in made.rows] == list(range(2, 32)), "in the order of the file"
    assert (made.rows[0].hand, made.rows[-1].hand) == (30, 1)
    times = [event.at for event in log_of(made)]
    assert times == sorted(times)


def test_a_few_rows_out_of_order_are_told_one_by_one() -> None:
    rows = [HEADS, row(1), row(4), row(3), row(2), row(5), row(6)]
    assert [code for _, _, code in faults(read(csv_of(rows))[2])] == ["out-of-order", "out-of-order"]


@pytest.mark.parametrize("limit", [1, 3])
def test_a_space_before_the_suit_is_one_card(limit: int) -> None:
    assert read_cards("7 h", "suits", limit) == ["7h"]
    assert read_cards("10 S", "suits", limit) == ["Ts"]

"""`manage.py import_sheet`: what is printed, what is stored, and how it ends."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dealing.models import Dealer, DealerShift, Hand, Shoe, Table, TableEvent, Venue
from dealing.shifts import shift_at
from incidents.models import Incident
from tests.conftest import MakeTable
from tests.sheets import csv_of, simulated_hands, xlsx_of
from tests.test_sheets import by_place, dealt, ranks_by_side

pytestmark = pytest.mark.django_db


class Told:
    """What a run of the command printed, and its exit status."""

    def __init__(self, file: Path, *options: Any) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.status = 0
        try:
            call_command("import_sheet", str(file), *map(str, options), stdout=out, stderr=err)
        except SystemExit as ended:
            self.status = int(ended.code or 0)
        self.out, self.err = out.getvalue(), err.getvalue()


Put = Callable[[str, bytes], Path]
WHEN = ("--date", "2025-03-01", "--start", "20:00")
HERE = ("--table", "B07", "--shoe", 1, *WHEN)


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def write(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def test_a_clean_sheet_is_stored_once_whatever_its_name(put: Put, table: MakeTable) -> None:
    made = table("B07", ruleset="insurance", decks=8)
    data = csv_of(by_place(simulated_hands(1, 12)))
    first = Told(put("march.csv", data), *HERE)
    assert (first.status, first.err) == (0, "")
    assert "12 hands stored, 0 stored before, 0 refused" in first.out
    shoe = Shoe.objects.get(table=made)
    assert (shoe.ruleset, shoe.status, shoe.hands, shoe.has_findings) == ("insurance", "closed", 12, False)
    assert Hand.objects.filter(shoe=shoe, has_findings=True).count() == 0
    assert set(TableEvent.objects.values_list("by", flat=True)) == {"sheet:cards:march.csv"}
    assert not Incident.objects.exists()
    events = TableEvent.objects.count()
    for name in ("march.csv", "march (1).csv"):
        again = Told(put(name, data), *HERE)
        assert "0 hands stored, 12 stored before, 0 refused; 0 events stored" in again.out
        assert again.status == 0
    assert TableEvent.objects.count() == events
    call_command("verify_log", "--projections", stdout=io.StringIO())


def test_a_sheet_that_grows_stores_what_is_new(put: Put, table: MakeTable) -> None:
    table("B07")
    rows = by_place(simulated_hands(1, 12))
    assert "7 hands stored" in Told(put("a.csv", csv_of(rows[:8])), *HERE, "--more-to-come").out
    assert Shoe.objects.get().status == "open"
    assert "5 hands stored, 7 stored before, 0 refused" in Told(put("a.csv", csv_of(rows)), *HERE).out
    assert (Shoe.objects.get().hands, Shoe.objects.get().status) == (12, "closed")


def test_findings_become_incidents_and_are_printed_by_row(put: Put, table: MakeTable) -> None:
    table("B07")
    rows: list[list[object]] = [
        ["Hand", "P1", "P2", "P3", "B1", "B2", "B3", "Result"],
        [1, "9h", "3d", "Kd", "4s", "2c", "", "B"],
        [2, "9s", "Kh", "Kd", "4h", "2d", "", "P"],
        [3, "9s", "Kh", "", "4h", "2d", "", "B"],
    ]
    told = Told(put("a.xlsx", xlsx_of(rows)), *HERE)
    assert told.status == 1
    assert "row 3 (B07 shoe 1 hand 2): Card drawn when none was due (Kd) [card-overdrawn]" in told.out
    assert "row 3 (B07 shoe 1 hand 2): Player, third card: Kd is perhaps left over from row 2" in told.out
    assert "row 4 (B07 shoe 1 hand 3): Wrong result called: banker ?:?, the cards make player 9:6" in told.out
    assert set(Incident.objects.values_list("hand_number", flat=True)) == {2, 3}
    thai = Told(put("a.xlsx", xlsx_of(rows)), *HERE, "--lang", "th")
    assert "ผู้เล่น" in thai.out
    assert "Player, third card" not in thai.out


def test_an_unreadable_row_is_left_out_and_the_rest_stored(put: Put, table: MakeTable) -> None:
    table("B07")
    rows = by_place(simulated_hands(2, 6))
    rows[3][1] = "9x"
    told = Told(put("a.csv", csv_of(rows)), *HERE)
    assert told.status == 2
    assert told.err.strip() == "row 4 (B07 shoe 1 hand 3): Player, first card: “9x” is not a card [not-a-card]"
    assert list(Hand.objects.order_by("number").values_list("number", flat=True)) == [1, 2, 4, 5, 6]


def test_a_dry_run_with_its_time_zone_needs_no_database_and_stores_nothing(
    put: Put, django_assert_num_queries: Any
) -> None:
    file = put("a.csv", csv_of(by_place(simulated_hands(1, 12))))
    with django_assert_num_queries(0):
        told = Told(file, *HERE, "--dry-run", "--time-zone", "Asia/Bangkok")
    assert told.status == 0
    assert "nothing was stored" in told.out
    assert told.out.count("2025-03-01 20:") == 10
    assert not TableEvent.objects.exists()


def test_tables_are_made_only_when_asked_for(put: Put, venue: Venue) -> None:
    rows = [[("Table" if n == 0 else "c12"), *row] for n, row in enumerate(by_place(simulated_hands(1, 3)))]
    file = put("a.csv", csv_of(rows))
    with pytest.raises(CommandError, match="there is no table C12"):
        Told(file, "--shoe", 1, *WHEN)
    told = Told(file, "--shoe", 1, *WHEN, "--create-tables", "--ruleset", "commission", "--decks", 6)
    assert told.status == 0
    made = Table.objects.get()
    assert (made.code, made.venue, made.ruleset, made.decks) == ("C12", venue, "commission", 6)


def test_tables_of_another_house_are_refused(put: Put, venue: Venue) -> None:
    other = Venue.objects.create(code="HILL", name="Hill House")
    Table.objects.create(code="B07", venue=other, ruleset="standard")
    file = put("a.csv", csv_of(by_place(simulated_hands(1, 3))))
    with pytest.raises(CommandError, match="several venues"):
        Told(file, *HERE)
    with pytest.raises(CommandError, match="belong to another venue: B07"):
        Told(file, *HERE, "--venue", "RIVER")
    assert Told(file, *HERE, "--venue", "HILL").status == 0
    with pytest.raises(CommandError, match="no venue SEA"):
        Told(file, *HERE, "--venue", "SEA")


def test_the_order_of_dealing_has_to_be_said(put: Put, table: MakeTable) -> None:
    table("B07")
    file = put("a.csv", csv_of(dealt("ppbb")(simulated_hands(3, 10))))
    with pytest.raises(CommandError, match="in which order the cards were dealt"):
        Told(file, *HERE)
    assert Told(file, *HERE, "--order", "ppbb").status == 0


def test_columns_outcomes_and_a_mapping_file(put: Put, table: MakeTable) -> None:
    table("B07")
    rows = ranks_by_side(simulated_hands(3, 10))
    rows[0] = ["n", "left", "right", "code", "x", "y"]
    for row in rows[1:]:
        row[3] = {"P": 1, "B": 2, "T": 3}[row[3]]
    file = put("a.csv", csv_of(rows))
    with pytest.raises(CommandError, match="in which columns the cards are"):
        Told(file, *HERE)
    said = [
        *("--column", "player=left", "--column", "banker=C", "--column", "outcome=4", "--column", "hand=n"),
        *("--outcome", "1=player", "--outcome", "2=banker", "--outcome", "3=tie", "--cards", "ranks"),
    ]
    printed = Told(file, *said, "--print-mapping")
    mapping = put("mapping.json", printed.out.encode())
    assert json.loads(printed.out)["columns"] == {"hand": "n", "player": "left", "banker": "right", "outcome": "code"}
    told = Told(file, *HERE, "--mapping", mapping)
    assert told.status == 0
    assert "10 hands stored" in told.out
    assert set(TableEvent.objects.values_list("by", flat=True)) == {"sheet:ranks:a.csv"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--date", "2025-13-01"), "date: 2025-13-01 cannot be taken"),
        (("--start", "later"), "time of the first hand: later cannot be taken"),
        (("--time-zone", "Mars/Base"), "Mars/Base is not a time zone"),
        (("--ruleset", "house"), "is not a ruleset here"),
        (("--column", "P1"), "a pair with = is wanted"),
        (("--column", "colour=A"), "nothing that a column can hold"),
        (("--column", "P1=ZZ"), "There is no column"),
        (("--mapping", "/nowhere.json"), "No such file"),
        (("--table", "b 7"), "table: “b 7” cannot be taken"),
    ],
)
def test_what_cannot_be_taken_is_said_in_one_line(put: Put, venue: Venue, options: tuple[str, ...], said: str) -> None:
    file = put("a.csv", csv_of(by_place(simulated_hands(1, 3))))
    with pytest.raises(CommandError) as caught:
        Told(file, *HERE, *options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.returncode == 2


def test_files_that_are_none(put: Put, venue: Venue, tmp_path: Path) -> None:
    for file, said in (
        (tmp_path / "none.csv", "No such file"),
        (put("a.pdf", b"%PDF"), "no kind of file"),
        (put("b.csv", b""), "is empty"),
    ):
        with pytest.raises(CommandError, match=said):
            Told(file, *HERE)


def test_hands_from_before_what_is_stored_are_refused_by_row(put: Put, table: MakeTable) -> None:
    table("B07")
    rows = by_place(simulated_hands(1, 3))
    assert Told(put("a.csv", csv_of(rows)), *HERE).status == 0
    told = Told(put("b.csv", csv_of(rows)), "--table", "B07", "--shoe", 2, "--date", "2024-01-01", "--start", "20:00")
    assert told.status == 2
    assert "refused: row 2: The log of B07 goes to 2025-03-01T20:02:00+07:00 already" in told.err
    assert Shoe.objects.count() == 1


def test_dealers_are_written_down_as_shifts_once(put: Put, table: MakeTable) -> None:
    made = table("B07")
    for code in ("D1", "D2"):
        Dealer.objects.create(venue=made.venue, code=code)
    rows = by_place(simulated_hands(1, 12))
    rows = [[*row, "Dealer" if n == 0 else ("d1", "D2", "D9")[(n - 1) // 4]] for n, row in enumerate(rows)]
    file = put("a.csv", csv_of(rows))
    told = Told(file, *HERE)
    assert "dealers: 2 shifts written down, 0 there before, 0 left out" in told.out
    assert "not dealers of River House: D9" in told.err
    shifts = list(DealerShift.objects.order_by("started_at"))
    assert [(shift.dealer.code, f"{shift.started_at:%H:%M}", f"{shift.ended_at:%H:%M}") for shift in shifts] == [
        ("D1", "13:00", "13:04"),
        ("D2", "13:04", "13:08"),
    ]
    assert [shift_at(made, hand.started_at) for hand in Hand.objects.order_by("number")] == [
        *[shifts[0]] * 4, *[shifts[1]] * 4, *[None] * 4,
    ]  # fmt: skip
    Dealer.objects.create(venue=made.venue, code="D9")
    assert "dealers: 1 shifts written down, 2 there before, 0 left out" in Told(file, *HERE).out
    assert DealerShift.objects.count() == 3
    last = DealerShift.objects.order_by("started_at").last()
    assert last is not None
    assert shift_at(made, Hand.objects.order_by("number").last().started_at) == last  # type: ignore[union-attr]
    DealerShift.objects.all().delete()
    DealerShift.objects.create(
        table=made, dealer=shifts[1].dealer, started_at=shifts[0].started_at, ended_at=shifts[0].ended_at
    )
    assert "dealers: 2 shifts written down, 0 there before, 1 left out" in Told(file, *HERE).out
    DealerShift.objects.all().delete()
    assert "dealers: 2 shifts written down" in Told(file, *HERE, "--more-to-come").out, "the last one goes on"

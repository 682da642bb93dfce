"""What storing a sheet will refuse is said before it is stored, and is what is refused; the tables that it makes."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dealing.models import Shoe, StaffMember, Table, TableEvent, Venue
from dealing.sheets.storing import House, objections, store
from incidents.models import Incident
from tests.conftest import MakeTable, People
from tests.sheets import csv_of, read, simulated_hands, xlsx_of
from tests.test_sheets import by_place
from tests.test_sheets_command import HERE, WHEN, Told

pytestmark = pytest.mark.django_db


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


ROWS = by_place(simulated_hands(1, 12))


def other(rows: list[list[Any]], at: int, column: int, value: Any) -> list[list[Any]]:
    """The rows with one other cell."""
    out = [list(row) for row in rows]
    out[at][column] = value
    return out


def shoe_two(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows again, as those of a second shoe that comes first in the log of another sheet."""
    return [["Shoe", *row] if n == 0 else [5, *row] for n, row in enumerate(rows)]


LATER: dict[str, Any] = {"start": dt.time(21, 30)}


@pytest.mark.parametrize(
    ("rows", "filled", "codes", "refused"),
    [
        (ROWS, {}, set(), 0),
        (other(ROWS, 3, 1, "2c" if ROWS[3][1] != "2c" else "3c"), {}, {"stored-otherwise"}, 1),
        (ROWS, {"seconds": 30}, {"stored-otherwise"}, 11),
        (ROWS, {"ruleset": "commission"}, {"shoe-stored-otherwise"}, 12),
        (ROWS, {"start": dt.time(19)}, {"shoe-stored-otherwise"}, 12),
        (ROWS, {"shoe": 2, "start": dt.time(19)}, {"at-earlier"}, 12),
        (ROWS, LATER | {"shoe": 2}, set(), 0),
        ([*ROWS, [13, *ROWS[1][1:]]], {}, {"shoe-closed"}, 1),
        (shoe_two(ROWS), LATER | {"shoe": None}, set(), 0),
    ],
)
def test_what_is_said_beforehand_is_what_is_refused(
    table: MakeTable, rows: list[list[Any]], filled: dict[str, Any], codes: set[str], refused: int
) -> None:
    made = table("B07")
    store(read(csv_of(ROWS))[2], actor="x")
    house = House(made.venue)
    _, _, second = read(csv_of(rows), **filled)
    second.known, second.rules = house.shoe, house.rules
    said = objections(second)
    assert {one.code for one in said} == codes
    events = TableEvent.objects.count()
    objected = sum(len(one.hands) for one in said)
    done = store(second, actor="x")
    assert done.refused == objected == refused
    hands = {(told.table, told.shoe, told.hand) for told in second.rows if told.kept}
    assert done.stored + done.skipped == len(hands) - objected
    assert TableEvent.objects.count() - events == done.events


def test_shoes_and_hands_behind_the_log(table: MakeTable) -> None:
    table("B07")
    store(read(csv_of(ROWS[:6] + ROWS[7:]), shoe=5, more_to_come=True)[2], actor="x")
    house = House()
    for rows, shoe, code, hands in ((ROWS, 3, "shoe-behind", 12), (ROWS, 5, "at-earlier", 1)):
        filled: dict[str, Any] = {"shoe": shoe} | (LATER if shoe == 3 else {})
        _, _, made = read(csv_of(rows), **filled)
        made.known, made.rules = house.shoe, house.rules
        said = objections(made)
        assert [one.code for one in said if one.code == code] == [code]
        assert sum(len(one.hands) for one in said) >= hands
        assert store(made, actor="x").refused == sum(len(one.hands) for one in said)


# As the command says it.


def test_a_dry_run_says_what_storing_will_refuse(put: Any, table: MakeTable) -> None:
    table("B07")
    Told(put("a.csv", csv_of(ROWS)), *HERE)
    changed = other(ROWS, 3, 7, "T" if ROWS[3][7] != "T" else "B")
    more = [*changed, [13, *ROWS[1][1:]], [14, *ROWS[2][1:]]]
    file = put("a.csv", csv_of(more))
    dry, real = Told(file, *HERE, "--dry-run"), Told(file, *HERE)
    for told in (dry, real):
        assert told.status == 2
        assert "refused: row 4: B07, shoe 1, hand 3: the log has it otherwise: outcome is" in told.err
        assert "row 14: Shoe 1 of B07 is closed in the log: no more hands can be added to it (2 hands)" in told.err
        assert told.err.count("--more-to-come") == 1
        assert told.err.count("refused: ") == 2
    assert "11 stored before, 3 refused" in real.out
    early = Told(put("b.csv", csv_of(ROWS)), "--table", "B07", "--shoe", 9, "--date", "2024-01-01", "--start", "20:00")
    assert early.err.count("\n") == 1
    assert "The log of B07 goes to 2025-03-01T20:11:00+07:00 already" in early.err
    assert "(12 hands)" in early.err


def test_a_dry_run_says_that_a_table_is_missing_or_of_another_house(put: Any, venue: Venue) -> None:
    file = put("a.csv", csv_of(ROWS))
    told = Told(file, *HERE, "--dry-run")
    assert (told.status, told.err.strip()[:44]) == (2, "would not be stored: there is no table B07; ")
    told = Told(file, *HERE, "--dry-run", "--create-tables")
    assert told.status == 0
    assert "would be made, not in use: B07" in told.out
    other_house = Venue.objects.create(code="HILL", name="Hill House")
    Table.objects.create(code="B07", venue=other_house, ruleset="standard")
    told = Told(file, *HERE, "--dry-run", "--venue", venue.code)
    assert told.status == 2
    assert "these tables belong to another venue: B07" in told.err
    assert "asks no database" in Told(file, *HERE, "--dry-run", "--time-zone", "Asia/Bangkok").out


def test_tables_made_for_a_sheet_are_not_in_use(put: Any, venue: Venue) -> None:
    rows = [*ROWS, [13, "9s", "Kh", "Kd", "4h", "2d", "", "P"]]
    told = Told(put("a.csv", csv_of(rows)), *HERE, "--create-tables", "--ruleset", "commission", "--decks", 6)
    assert told.status == 1
    assert "tables made, not in use: B07" in told.out
    made = Table.objects.get()
    assert (made.is_active, made.ruleset, made.decks, made.venue) == (False, "commission", 6, venue)
    assert Shoe.objects.get().hands == 13
    assert Incident.objects.count() == 1
    more = [["Shoe", *row] if n == 0 else [2, *row] for n, row in enumerate(ROWS)]
    later = ("--table", "B07", "--date", "2025-03-02", "--start", "20:00")
    assert Told(put("b.csv", csv_of(more)), *later).status == 0
    assert Table.objects.get().is_active is False
    call_command("verify_log", "--projections", stdout=io.StringIO())


def test_a_table_in_use_stays_in_use(put: Any, table: MakeTable) -> None:
    table("B07")
    Told(put("a.csv", csv_of(ROWS)), *HERE, "--create-tables")
    assert Table.objects.get().is_active


def test_the_actor_is_somebody(put: Any, table: MakeTable, people: People) -> None:
    table("B07")
    user = people("manager")
    file = put("a.csv", csv_of(ROWS))
    with pytest.raises(CommandError, match="--actor nobody-here: nobody here has this user name or staff code"):
        Told(file, *HERE, "--actor", "nobody-here")
    assert not TableEvent.objects.exists()
    member = StaffMember.objects.filter(user=user).first() or StaffMember.objects.create(
        user=user, code="M77", venue=Venue.objects.get()
    )
    assert Told(file, *HERE, "--actor", member.code).status == 0
    assert set(TableEvent.objects.values_list("actor", flat=True)) == {user.username}


def test_the_sheet_that_is_read_and_rows_that_are_not_are_named(put: Any, table: MakeTable) -> None:
    table("B07")
    blank = [13, *[""] * 7]
    told = Told(put("a.xlsx", xlsx_of([["Month"], ["March"]], Cards=[*ROWS, blank], Old=[["x"]])), *HERE, "--dry-run")
    assert "a.xlsx [Cards, not Hands, Old; another one with --sheet]:" in told.out
    assert "13 rows: 12 hands" in told.out
    assert "1 without cards" in told.out
    text = csv_of(ROWS) + b"\r\n" * 1002 + b"13,9h"
    assert (
        "after row 13 come 1,000 empty rows: what lies below is not read"
        in Told(put("a.csv", text), "--table", "B07", "--shoe", 1, *WHEN, "--dry-run").out
    )

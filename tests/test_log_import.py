"""Files into the database and back: the same log, nothing twice, and no hand half stored."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from dealing import importer
from dealing.import_jobs import JobLostError
from dealing.importer import NoVenueError, Report, import_log
from dealing.log import record, record_many
from dealing.logfile import LogFile
from dealing.models import Hand, Shoe, Table, TableEvent, Venue
from dealing.projections import differences
from dealing.rules.events import Amended, Discarded, EventError, Moved, Paid, Voided, parse_event
from dealing.rules.judge import HandFold
from dealing.signals import event_recorded
from dealing.simulator import simulate_shoe
from dealing.triggers import suspended
from dealing.verify import verify_table
from tests.conftest import MakeTable
from tests.table_logs import RATES, START, Line, Lines, simulated, written

pytestmark = pytest.mark.django_db


def store(text: str | list[Line], **options: Any) -> Report:
    if not isinstance(text, str):
        text = "".join(json.dumps(line) + "\n" for line in text)
    return import_log(io.BytesIO(text.encode()), actor="import", **options)


def exported(*tables: str) -> str:
    out = io.StringIO()
    call_command("export_log", *tables, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def figures(report: Report) -> tuple[int, int, int, int]:
    return report.stored, report.skipped, report.refused, report.events


def sound(*codes: str) -> None:
    """The chain is whole and the projections are what the log says."""
    for code in codes:
        assert verify_table(code).broken is None
        assert list(differences(Table.objects.get(code=code))) == []


@pytest.fixture
def lines(table: MakeTable) -> Lines:
    table("B07")
    return Lines()


# The same log.


@pytest.mark.parametrize("ranks_only", [False, True], ids=["suits", "ranks"])
@pytest.mark.parametrize("seed", range(4))
def test_exported_and_imported_again_is_the_same_log(table: MakeTable, seed: int, ranks_only: bool) -> None:
    table("B07")
    text = written(simulated(seed=seed, shoes=3, ranks_only=ranks_only))
    assert ('"card": "9"' in text) == ranks_only
    report = store(text)
    assert not report.refusals
    assert report.events == len(text.splitlines())
    assert exported("B07") == text
    sound("B07")


@pytest.mark.parametrize("ranks_only", [False, True], ids=["suits", "ranks"])
def test_an_import_leaves_what_recording_leaves(table: MakeTable, ranks_only: bool) -> None:
    def judged(code: str) -> list[Any]:
        hands = Hand.objects.filter(shoe__table__code=code).order_by("shoe__number", "number")
        shoes = Shoe.objects.filter(table__code=code).order_by("number")
        kept = [{**row, "shoe_id": None, "table_id": None, "id": None} for row in [*hands.values(), *shoes.values()]]
        return json.loads(json.dumps(kept, default=str).replace(code, "TABLE"))

    table("B07")
    table("B08")
    store(written(simulated("B07", seed=9, hands=6, ranks_only=ranks_only)))
    for event in simulated("B08", seed=9, hands=6, ranks_only=ranks_only):
        record(event, actor="somchai")
    assert judged("B07") == judged("B08")


def test_tables_may_be_mixed_in_a_file(table: MakeTable) -> None:
    table("B07")
    table("B08")
    one, other = (written(simulated(code, seed=3)).splitlines(True) for code in ("B07", "B08"))
    mixed = "".join(line for pair in zip(one, other, strict=False) for line in pair)
    rest = "".join(max(one, other, key=len)[min(len(one), len(other)) :])
    report = store(mixed + rest)
    assert not report.refusals
    assert exported("B07", "B08") == "".join(one) + "".join(other)
    sound("B07", "B08")


def test_incidents_hear_of_imported_hands(lines: Lines) -> None:
    heard: list[dict[str, Any]] = []

    def receiver(**kwargs: Any) -> None:
        heard.append(kwargs)

    event_recorded.connect(receiver)
    try:
        store([*lines.open(), *lines.hand(1), *lines.hand(2), lines.close(), *lines.open(), *lines.hand(1)])
    finally:
        event_recorded.disconnect(receiver)
    assert [[(hand.shoe.number, hand.number) for hand in said["hands"]] for said in heard] == [
        [(1, 1), (1, 2)],
        [(2, 1)],
    ]
    assert [[shoe.number for shoe in said["shoes"]] for said in heard] == [[1], [2]]
    assert all(hand.pk for said in heard for hand in said["hands"])
    assert heard[1]["row"] == TableEvent.objects.last()
    assert heard[1]["hand"] == Hand.objects.get(shoe__number=2)


def test_what_fails_on_a_shoe_leaves_nothing_of_it(lines: Lines) -> None:
    def fails(**_: Any) -> None:
        raise RuntimeError("no incident today")

    event_recorded.connect(fails)
    try:
        with pytest.raises(RuntimeError):
            store([*lines.open(), *lines.hand(1)])
    finally:
        event_recorded.disconnect(fails)
    assert not TableEvent.objects.exists()
    assert not Hand.objects.exists()
    assert Table.objects.get().last_seq == 0


# What is decided on a shoe that the table has left.


def decided_late(lines: Lines) -> list[Line]:
    """Four shoes; each kind of late event, on hands of every earlier shoe, over several later shoes."""
    three = "P1:9c B1:2s P2:Kd B2:3c P3:4h"
    text = [*lines.open(), *lines.hand(1), *lines.hand(2), *lines.hand(3, three), lines.close()]
    first = {hand: [line.get("hand") for line in text].index(hand) + 3 for hand in (1, 2)}  # position of its first card
    text += [*lines.open(), *lines.hand(1), *lines.hand(2)]

    def late(event: str, shoe: int, hand: int, **keys: Any) -> None:
        text.append({**lines.line(event, hand, **keys), "shoe": shoe})

    late("moved", 1, 3, from_="P3", to="B3")
    text += [*lines.hand(3), lines.close(), *lines.open(), *lines.hand(1)]
    late("moved", 1, 3, from_="B3", to="P3")
    late("paid", 1, 3, seat=1, bet="player", amount="-100.00", key="late-1")
    late("voided", 2, 2, scope="hand", reason="by the manager")
    text += lines.hand(2)
    late("amended", 1, 1, seq=first[1], entry={**text[first[1] - 1], "card": "8h"}, reason="mistyped")
    text += [*lines.open(), *lines.hand(1)]
    late("discarded", 1, 3, place="P3")
    late("amended", 1, 2, seq=first[2], reason="no such card")
    late("voided", 3, 1, scope="hand", reason="by the manager")
    return [*text, *lines.hand(2)]


def test_late_decisions_on_earlier_shoes_come_back_as_they_were_recorded(lines: Lines) -> None:
    recorded = decided_late(lines)
    for line in recorded:
        record(line, actor="somchai")
    text = exported("B07").replace("B07", "B09")
    report = store(text, create_tables=True)
    assert not report.refusals
    assert figures(report) == (10, 0, 0, len(recorded))
    assert exported("B09") == text
    assert Hand.objects.get(shoe__table__code="B09", shoe__number=1, number=1).audit["dealt"]["P"] == ["8h", "Kd"]
    sound("B09")
    assert figures(store(text)) == (0, 10, 0, 0)
    assert figures(store(text.replace("B09", "B07"))) == (0, 10, 0, 0)
    assert Hand.objects.count() == 20


def test_a_file_with_late_decisions_goes_on_wherever_it_was_cut_off(lines: Lines) -> None:
    text = decided_late(lines)
    for end in range(1, len(text) + 1):
        assert not store(text[:end]).refusals
        assert TableEvent.objects.count() == end
    assert [json.loads(line)["event"] for line in exported("B07").splitlines()] == [line["event"] for line in text]
    sound("B07")


@pytest.mark.parametrize("seed", range(3))
def test_late_decisions_on_simulated_shoes(table: MakeTable, seed: int) -> None:
    table("B07")
    chance, start, late = random.Random(seed), START, 0
    for number in range(1, 5):
        first = Table.objects.get().last_seq + 1
        shoe = simulate_shoe("B07", number, "insurance", seed * 10 + number, start, RATES, hands=6, first_seq=first)
        record_many(shoe, actor="somchai")
        start = shoe[-1].at
        for hand in chance.sample(list(Hand.objects.filter(shoe__number__lt=number)), k=4 if number > 1 else 0):
            place: dict[str, Any] = {"at": start, "table": "B07", "shoe": hand.shoe.number, "hand": hand.number}
            event = chance.choice(
                [
                    Paid(**place, seat=1, bet="player", amount=Decimal("50.00")),
                    Moved(**place, source="P2", to="B3"),
                    Discarded(**place, place="B2"),
                    Voided(**place, scope="hand", reason="by the manager"),
                    Amended(**place, seq=hand.first_seq, entry=None, reason="noted twice"),
                ]
            )
            with contextlib.suppress(EventError):
                record(event, actor="somchai")
                late += 1
    assert late > 5
    text = exported("B07").replace("B07", "B09")
    report = store(text, create_tables=True)
    assert not report.refusals
    assert figures(report) == (24, 0, 0, len(text.splitlines()))
    assert exported("B09") == text
    sound("B09")
    assert figures(store(text)) == (0, 24, 0, 0)


def test_a_late_decision_that_cannot_be_added_says_that_its_hand_is_stored(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1), *lines.open(), *lines.hand(1)]
    decision = {**lines.line("paid", 1, seat=1, bet="player", amount="5.00"), "shoe": 1}
    store([*text, decision])
    report = store([*text, {**decision, "amount": "6.00"}])
    assert figures(report) == (0, 2, 0, 0)
    assert [str(refusal) for refusal in report.refusals] == [
        "line 21: event: position 21 of the log has this hand otherwise [B07 shoe 1 hand 1 is stored without it]"
    ]


def test_hands_of_a_table_that_is_not_there_are_counted_once(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1), *lines.hand(2), *lines.open(), *lines.hand(1)]
    text.append({**lines.line("voided", 2, scope="hand", reason="by the manager"), "shoe": 1})
    report = store([{**line, "table": "X01"} for line in text])
    assert figures(report) == (0, 0, 3, 0)


# Again, and on from where it ended.


def test_the_same_file_again_stores_nothing(lines: Lines) -> None:
    text = written(simulated(seed=5, shoes=3))
    first = store(text)
    again = store(text)
    assert figures(again) == (0, first.stored, 0, 0)
    assert not again.refusals
    assert exported("B07") == text


@pytest.mark.parametrize("part", [0.05, 0.3, 0.5, 0.81, 0.99])
def test_a_file_that_was_cut_off_goes_on(lines: Lines, part: float) -> None:
    text = written(simulated(seed=6, shoes=3))
    whole = text.splitlines(True)
    store("".join(whole[: int(len(whole) * part)]))
    report = store(text)
    assert not report.refusals
    assert report.events == len(whole) - int(len(whole) * part)
    assert exported("B07") == text
    sound("B07")
    assert figures(store("".join(whole[: int(len(whole) * part)])))[3] == 0


def test_a_file_cut_off_within_a_line(lines: Lines) -> None:
    text = written(simulated(seed=6, shoes=1))
    first = store(text[:4001])
    assert len(first.refusals) == 1
    assert first.refused == 1
    report = store(text)
    assert not report.refusals
    assert exported("B07") == text


def test_a_live_table_takes_a_file_that_goes_on(lines: Lines) -> None:
    start = [*lines.open(), *lines.hand(1), *lines.hand(2, "P1:9c B1:2s", closed=False)]
    record_many(start, actor="somchai")
    report = store([*start, lines.line("card", 2, to="P2", card="Kd"), *lines.hand(3)])
    assert figures(report) == (2, 1, 0, 8)
    sound("B07")
    assert Hand.objects.get(number=2).has_findings  # left incomplete


# What is refused.


def test_a_bad_line_refuses_its_hand_and_no_other(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1), *lines.hand(2), *lines.hand(3), lines.close()]
    text[12]["card"] = "1x"
    report = store(text)
    assert figures(report) == (2, 0, 1, 18)
    assert [str(refusal) for refusal in report.refusals] == [
        "line 13: card: '1x' is not a card [B07 shoe 1 hand 2 is not stored]"
    ]
    assert sorted(Hand.objects.values_list("number", flat=True)) == [1, 3]
    sound("B07")


def test_an_impossible_line_refuses_its_hand_even_if_it_comes_late(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1), *lines.hand(2)]
    text.append(lines.line("moved", 1, from_="P3", to="B3"))
    text += [*lines.hand(3), lines.close(), *lines.open(), *lines.hand(1)]
    report = store(text)
    assert figures(report) == (3, 0, 1, 3 + 7 + 7 + 1 + 3 + 7)
    assert [refusal.number for refusal in report.refusals] == [18]
    assert sorted(Hand.objects.values_list("shoe__number", "number")) == [(1, 2), (1, 3), (2, 1)]
    sound("B07")


def test_what_is_stored_otherwise_is_refused(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1), *lines.hand(2), *lines.hand(3)]
    store(text)
    other = [dict(line) for line in text]
    other[12] = {**other[12], "card": "9d"}
    report = store([*other, *lines.hand(4)])
    assert figures(report) == (1, 2, 1, 7)
    assert [str(refusal) for refusal in report.refusals] == [
        "line 13: event: position 13 of the log has this hand otherwise [B07 shoe 1 hand 2 is not stored]"
    ]
    sound("B07")


def test_another_shoe_of_the_same_number_is_refused_whole(lines: Lines) -> None:
    store([*lines.open(), *lines.hand(1)])
    lines.shoe = 0
    report = store([*lines.open(), *lines.hand(1), *lines.hand(2)])
    assert figures(report) == (0, 0, 2, 0)
    assert [refusal.number for refusal in report.refusals] == [1]
    assert TableEvent.objects.count() == 10


def test_a_shoe_that_comes_too_late_is_refused(lines: Lines) -> None:
    lines.shoe = 1
    store([*lines.open(), *lines.hand(1)])
    lines.shoe = 0
    report = store([*lines.open(), *lines.hand(1)])
    assert figures(report) == (0, 0, 1, 0)
    assert report.refusals[0].error.code == "shoe-behind"
    sound("B07")


def test_a_key_that_is_taken_refuses_the_hand(lines: Lines) -> None:
    opening = [*lines.open(), lines.line("exposed", when="burn", key="k1")]
    record_many(opening, actor="somchai")
    text = lines.hand(1)
    text[2]["key"] = "k1"
    report = store([*opening[:3], *text, *lines.hand(2)])
    assert figures(report) == (1, 0, 1, 7)
    assert report.refusals[0].error.code == "key-stored"
    sound("B07")


def test_an_earlier_time_than_the_log_is_refused(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1), *lines.hand(2)]
    lines.at = lines.at.replace(hour=22)
    record_many([*text[:3], lines.line("exposed", when="start")], actor="somchai")
    report = store(text)
    assert figures(report) == (0, 0, 2, 0)
    assert report.refusals[0].error.code == "at-earlier"


def test_a_hand_that_has_yet_to_be_dealt_is_refused(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1)]
    lines.at = lines.at.replace(year=2099)
    report = store([*text, *lines.hand(2)])
    assert figures(report) == (1, 0, 1, 10)
    assert [(refusal.number, refusal.error.code) for refusal in report.refusals] == [(11, "at-future")]
    sound("B07")


def test_positions_in_amendments_are_moved_along(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1), *lines.hand(2, "P1:9c B1:2s P2:Kd B2:3c")]
    text[5]["card"] = "1x"
    text.append(lines.line("amended", 2, seq=13, entry={**text[12], "card": "8c"}, reason="mistyped"))
    report = store(text)
    assert figures(report) == (1, 0, 1, 3 + 8)
    stored = TableEvent.objects.get(name="amended").parse()
    assert isinstance(stored, Amended)
    assert stored.seq == 6
    assert Hand.objects.get().audit["dealt"]["P"] == ["8c", "Kd"]
    sound("B07")
    assert figures(store(text)) == (0, 1, 1, 0)


def test_a_table_that_is_not_there(table: MakeTable) -> None:
    table("B07")
    text = written(simulated("X01", seed=2, shoes=2)) + written(simulated("B07", seed=2, shoes=1))
    report = store(text)
    assert [refusal.error.code for refusal in report.refusals] == ["unknown-table", "unknown-table"]
    assert (report.stored, report.refused) == (12, 24)
    made = store(text, create_tables=True)
    assert figures(made)[:3] == (24, 12, 0)
    assert Table.objects.get(code="X01").ruleset == "insurance"
    Venue.objects.create(code="LAKE", name="Lake House")
    with pytest.raises(NoVenueError):
        store(text, create_tables=True)


def test_the_same_key_twice_in_a_file_counts_once(lines: Lines) -> None:
    text = [*lines.open(), *lines.hand(1)]
    text[5]["key"] = "k1"
    report = store([*text[:6], text[5], *text[6:]])
    assert not report.refusals
    assert TableEvent.objects.count() == len(text)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "{}\n", "nonsense\n", "\x00\n", '{"event":"card","table":"B07"}\n', "[" * 99999]
)
def test_nonsense_is_refused_by_line(lines: Lines, text: str) -> None:
    report = store(text)
    assert figures(report) == (0, 0, 0, 0)
    assert len(report.refusals) == (1 if text.strip("\n") else 0)


# The commands.


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = 0
        try:
            call_command(*arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_the_commands(
    lines: Lines, tmp_path: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = written(simulated(seed=1, shoes=1, hands=3)).splitlines(True)
    last = len(whole)
    file = tmp_path / "log.jsonl"
    file.write_text("".join([*whole[:-1], "nonsense\n", whole[-1]]))
    code, out, err = run("import_log", str(file))
    assert code == 2
    assert f"line {last}: event: this is not a JSON object" in err
    assert "3 hands read: 2 stored, 0 skipped (stored before), 1 refused" in out
    assert f"refused because of line {last}" in out
    file.write_text("".join(whole))
    code, out, err = run("import_log", str(file))
    assert (code, err) == (0, "")
    assert out.startswith("3 hands read: 1 stored, 2 skipped (stored before), 0 refused; ")
    target = tmp_path / "again.jsonl"
    code, out, err = run("export_log", "B07", "--output", str(target))
    assert (code, out) == (0, "")
    assert sorted(target.read_text().splitlines()) == sorted(file.read_text().splitlines())
    assert run("export_log", "B07")[1] == target.read_text()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(target.read_bytes())))
    code, out, _ = run("import_log", "-")
    assert (code, out) == (0, "3 hands read: 0 stored, 3 skipped (stored before), 0 refused; 0 events stored\n")


def test_what_the_commands_cannot_find(lines: Lines, run: Callable[..., Any], tmp_path: Path) -> None:
    for arguments in (
        ("import_log", str(tmp_path / "nothing")),
        ("import_log", "-", "--create-tables", "--venue", "X"),
        ("export_log", "X99"),
        ("export_log", "B07", "--output", str(tmp_path / "no" / "folder")),
        ("rebuild", "X99"),
        ("verify_log", "X99"),
    ):
        with pytest.raises(CommandError):
            run(*arguments)


def test_what_is_parsed_is_what_is_stored(lines: Lines) -> None:
    """Spellings that mean the same are stored in one form."""
    text = [*lines.open(), *lines.hand(1)]
    text[1]["card"] = "10D"
    text[2]["count"] = 10
    store(text)
    assert TableEvent.objects.get(seq=2).parse() == parse_event(text[1])
    assert '"Td"' in TableEvent.objects.get(seq=2).payload


# Shared out among processes.


def house(*codes: str) -> None:
    venue = Venue.objects.create(code="RIVER", name="River House")
    for code in codes:
        Table.objects.create(code=code, venue=venue, ruleset="standard")


def several(seed: int) -> str:
    """The log of a small floor, in order of time, with lines that are broken, late, repeated or out of place."""
    chance = random.Random(seed)
    tables = [f"B{number:02}" for number in range(1, 6)]
    logs = [written(simulated(code, seed=seed + n, shoes=2, hands=4)).splitlines() for n, code in enumerate(tables)]
    lines = sorted((line for log in logs for line in log), key=lambda line: json.loads(line)["at"])
    for _ in range(12):
        at = chance.randrange(len(lines))
        match chance.randrange(4):
            case 0:
                lines[at] = lines[at][: chance.randrange(len(lines[at]))]
            case 1:
                lines.insert(at, lines[at].replace('"hand": ', '"hand": 9', 1))
            case 2:
                lines[at] = lines[at].replace("}", f', "key": "k-{chance.randrange(3)}"}}', 1)
            case 3:
                lines.insert(chance.randrange(at, len(lines)), lines[at])
    return "\n".join([*lines, lines[0].replace("B0", "X0"), ""])


def kept() -> Any:
    """All that an import leaves, but for what differs between two: primary keys, hashes, seals, times of storing."""
    hands = Hand.objects.order_by("shoe__table__code", "shoe__number", "number").values()
    shoes = Shoe.objects.order_by("table__code", "number").values()
    events = TableEvent.objects.order_by("table__code", "seq").values()
    out = ("id", "table_id", "shoe_id", "hash", "prev_hash", "recorded_at", "seal")
    return [[{**row, **dict.fromkeys(out)} for row in rows] for rows in (hands, shoes, events)]


def said(report: Report) -> Any:
    return [str(refusal) for refusal in report.refusals], figures(report), report.lines


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
def test_several_processes_say_and_store_what_one_does(seed: int) -> None:
    text = several(seed)
    cut = text[: len(text) * 2 // 3]
    codes = [f"B{number:02}" for number in range(1, 6)]
    came_to = []
    for jobs in (1, 3):
        house(*codes)
        reports = [store(part, jobs=jobs) for part in (cut, text, text)]
        sound(*codes)
        came_to.append(([said(report) for report in reports], kept()))
        with suspended():
            call_command("flush", interactive=False, verbosity=0)
    assert came_to[0] == came_to[1]
    assert came_to[0][0][0][0]  # something was refused, and in the same order


@pytest.mark.parametrize("keep", [0, 2_000, importer.KEPT])
@pytest.mark.parametrize("seed", range(6))
def test_an_import_refuses_what_the_judge_does_not_accept(
    monkeypatch: pytest.MonkeyPatch, seed: int, keep: int
) -> None:
    """Whatever of the file is kept from the first reading: what the judge says of it line by line."""
    monkeypatch.setattr(importer, "KEPT", keep)
    text = several(seed)
    with LogFile(io.BytesIO(text.encode())) as file:
        folds = list(file.folds())
        bad = sorted((line.number, str(line.error)) for line in file.bad)
        numbers = {number for number, _ in bad}
        of_bad = {(line.table, line.shoe, line.hand) for line in file.lines() if line.number in numbers}
    hands = [fold for fold in folds if isinstance(fold, HandFold)]
    good = {(fold.context.table, fold.shoe, fold.number) for fold in hands if not fold.spoiled}
    codes = [f"B{number:02}" for number in range(1, 6)]
    house(*codes)
    report = store(text)
    sound(*codes)
    assert bad
    refused = [(one.number, str(one.error)) for one in report.refusals if one.error.code != "unknown-table"]
    assert sorted(refused) == bad
    stored = Hand.objects.values_list("shoe__table__code", "shoe__number", "number")
    assert set(stored) == good - of_bad


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_what_a_process_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OperationalError("the disk is full")

    house("B07")
    monkeypatch.setattr("dealing.importer._flush", full)
    with pytest.raises(OperationalError, match="the disk is full"):
        store(written(simulated(seed=1)), jobs=2)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_killed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    house("B07", "B08")
    text = written(simulated("B07", seed=1)) + written(simulated("B08", seed=2))
    with monkeypatch.context() as patched:
        patched.setattr("dealing.importer._flush", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        with pytest.raises(JobLostError, match="-9"):
            store(text, jobs=2)
    assert store(text, jobs=2).events == len(text.splitlines())
    sound("B07", "B08")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_the_command_shares_a_file_out(tmp_path: Path) -> None:
    house("B07", "B08")
    file = tmp_path / "log.jsonl"
    text = written(simulated("B07", seed=1)) + written(simulated("B08", seed=2))
    file.write_text(text + "nonsense\n", encoding="utf-8")
    told = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("import_log", str(file), "--jobs", "2", stdout=told)
    assert ended.value.code == 2
    out = told.getvalue()
    assert f"{len(text.splitlines())} events stored" in out
    assert f"refused because of line {len(text.splitlines()) + 1}" in out
    assert exported("B07", "B08") == text


@pytest.mark.parametrize("jobs", ["0", "x", "-1", "1000"])
def test_so_many_processes_are_not_to_be_had(jobs: str) -> None:
    with pytest.raises(CommandError, match="--jobs"):
        call_command("import_log", "-", "--jobs", jobs)


@pytest.mark.sqlite
def test_on_sqlite_one_process_does_it(lines: Lines) -> None:
    text = written(simulated("B07", seed=1))
    assert store(text, jobs=4).events == len(text.splitlines())
    sound("B07")


def test_lines_in_another_form_are_stored_in_the_usual_one(table: MakeTable) -> None:
    table("B07")
    text = written(simulated("B07", seed=5, shoes=2))
    loose = [json.dumps(dict(reversed(json.loads(line).items())), separators=(",", ":")) for line in text.splitlines()]
    mixed = [
        chance.choice(pair) for chance in [random.Random(1)] for pair in zip(text.splitlines(), loose, strict=True)
    ]
    report = store("\r\n".join(mixed))
    assert not report.refusals
    assert exported("B07") == text
    sound("B07")
    assert store(text).events == 0


@pytest.mark.parametrize(
    "text", ["tab\there", "back\\slash", "line\nfeed", "\\N", "\\.", "return\r", "ไทย \u2028", 'quo"te']
)
def test_any_text_goes_through(lines: Lines, text: str) -> None:
    given = [*lines.open(), lines.line("betting_opened", hand=1, key=f"k{text}", by=text)]
    given.append(lines.line("voided", hand=1, scope="hand", reason=text))
    report = import_log(io.BytesIO("".join(json.dumps(line) + "\n" for line in given).encode()), actor=f"a{text}")
    assert not report.refusals
    row = TableEvent.objects.get(key=f"k{text}")
    assert (row.by, row.actor) == (text, f"a{text}")
    assert json.loads(row.payload)["by"] == text
    sound("B07")

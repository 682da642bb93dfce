"""Whoever has all rights on the database and not the key is found out, and what was done is named: hashes, positions,
heads and columns made to fit again.
"""

from __future__ import annotations

import datetime as dt
import hmac
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from dealing import seal_keys, sealing, seals, triggers
from dealing.importer import import_log
from dealing.log import record, record_many
from dealing.models import SealStart, Table, TableEvent
from dealing.rules.events import format_event, parse_line
from dealing.tampering import Trace, examine
from dealing.tasks import verify_tables
from dealing.verify import Row, verify_table
from tests.attacker import Attacker, Rows, earlier, read, write
from tests.conftest import MakeTable
from tests.table_logs import Lines, simulated, written

pytestmark = pytest.mark.django_db
HOUR = dt.timedelta(hours=1)


@pytest.fixture(autouse=True)
def _keys(settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIR = tmp_path / "keys"


@pytest.fixture
def log(table: MakeTable) -> Lines:
    """Twenty rows, recorded in two goes."""
    table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    record_many([*lines.hand(2), *lines.hand(3)][:10], actor="anan")
    assert Table.objects.get().last_seq == 20
    return lines


@pytest.fixture
def attacker(log: Lines) -> Attacker:
    return Attacker(Table.objects.get(code="B07"))


def found(code: str = "B07") -> list[str]:
    return [str(one).removeprefix(f"{code} ") for one in verify_table(code, name_all=True).problems]


def swap(rows: Rows, one: int, other: int) -> None:
    rows[one - 1], rows[other - 1] = rows[other - 1], rows[one - 1]


def other_card(rows: Rows, seq: int) -> None:
    """The row says something else, and its columns say the same."""
    row = rows[seq - 1]
    event = msgspec.structs.replace(parse_line(row["payload"]), by="ZZ")
    row["payload"], row["by"] = format_event(event), "ZZ"


def forged(rows: Rows, after: int) -> None:
    """A row put in, with the seal of another."""
    rows.insert(after, {**rows[after - 1], "key": None})
    other_card(rows, after + 1)


def set_(name: str, value: object) -> Callable[[Rows, int], None]:
    def change(rows: Rows, seq: int) -> None:
        rows[seq - 1][name] = value

    return change


CHANGED = "its line, or who recorded it, was changed"


def apply(*steps: Callable[[Rows], object]) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        for step in steps:
            step(rows)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (apply(lambda r: other_card(r, 17)), [f"position 17: {CHANGED}"]),
        (apply(lambda r: other_card(r, 1)), [f"position 1: {CHANGED}"]),
        (apply(lambda r: other_card(r, 20)), [f"position 20: {CHANGED}"]),
        (apply(lambda r: r[11].update(actor="nobody")), [f"position 12: {CHANGED}"]),
        (
            apply(lambda r: r.pop(16)),
            ["position 17: is missing: it stood between what are now positions 16 and 17"],
        ),
        (apply(lambda r: r.pop(0)), ["position 1: is missing: it stood before what is now position 1"]),
        (
            apply(lambda r: r.pop(4), lambda r: r.pop(4)),
            [
                "position 5: is missing: it stood between what are now positions 4 and 5",
                "position 6: is missing: it stood between what are now positions 4 and 5",
            ],
        ),
        (apply(lambda r: forged(r, 16)), ["position 17: was inserted: its seal is not genuine"]),
        (
            apply(lambda r: r.insert(16, {**r[3], "seal": None, "key": None})),
            ["position 17: was inserted: it has no seal"],
        ),
        (
            apply(lambda r: r.insert(16, {**r[3], "key": None})),
            ["position 17: was inserted: it is a copy of the row that was sealed as position 4"],
        ),
        (apply(lambda r: forged(r, 20)), ["position 21: was inserted: its seal is not genuine"]),
        (apply(lambda r: swap(r, 17, 18)), ["position 17: was swapped with position 18"]),
        (apply(lambda r: swap(r, 4, 15)), ["position 4: was swapped with position 15"]),
        (apply(lambda r: r.insert(5, r.pop(15))), ["position 6: was moved here: it was sealed as position 16"]),
        (apply(lambda r: set_("seal", None)(r, 9)), ["position 9: was replaced, and has no seal"]),
        (
            apply(lambda r: set_("seal", "0123abcd.9.1.00.00")(r, 9)),
            ["position 9: is sealed with key 0123abcd, which is not among the keys here"],
        ),
        (  # several at once: each is named
            apply(lambda r: other_card(r, 3), lambda r: r.pop(9), lambda r: forged(r, 14)),
            [
                f"position 3: {CHANGED}",
                "position 10: is missing: it stood between what are now positions 9 and 10",
                "position 15: was inserted: its seal is not genuine",
            ],
        ),
    ],
)
def test_what_was_done_is_named(attacker: Attacker, change: Callable[[Rows], None], said: list[str]) -> None:
    attacker.does(change)
    assert found() == said
    # And where nobody has a closer look, at night, it is found all the same.
    assert verify_tables() != {"B07": "whole"}


def test_a_back_dated_row_is_named(attacker: Attacker) -> None:
    was = read(attacker.table)[11]["recorded_at"].isoformat(timespec="microseconds")
    attacker.does(lambda rows: [*rows[:11], earlier(rows[11], HOUR), *rows[12:]])
    assert found() == [f"position 12: its time of recording was changed; it was recorded at {was}"]


def test_a_whole_log_that_was_back_dated_is_named(attacker: Attacker) -> None:
    attacker.does(lambda rows: [earlier(row, HOUR) for row in rows])
    assert len(found()) == 20
    assert all("its time of recording was changed" in one for one in found())


def test_the_same_of_many_rows_is_said_in_one_line(attacker: Attacker) -> None:
    attacker.does(lambda rows: [*rows, *({**rows[19], "actor": "nobody", "key": None} for _ in range(30))])
    assert found() == ["position 21: was inserted: its seal is not genuine; so it is with each up to position 50"]


def test_rows_of_another_table_are_not_rows_of_this_one(attacker: Attacker, table: MakeTable) -> None:
    other = table("B08")
    lines = Lines("B08")
    record_many(lines.open(), actor="somchai")
    theirs = read(other)[1]
    attacker.does(lambda rows: rows.insert(5, theirs))
    assert found()[0].startswith("position 6: ")
    assert "position 6: was inserted: its seal is not genuine" in found()


def test_rows_of_two_histories_do_not_fit_each_other(log: Lines) -> None:
    """The database is set back and gone on with, and then rows of the first history are put back: all are genuine."""
    table = Table.objects.get()
    first = read(table)
    write(table, first[:17])
    call_command("rebuild", stdout=io.StringIO(), stderr=io.StringIO())
    record(log.line("betting_opened", 3), actor="anan")
    second = read(Table.objects.get())
    assert verify_table("B07").broken is None  # only a signed head can tell
    write(Table.objects.get(), [*second, *first[18:]])
    assert found() == ["position 19: its seal was not made after the row before"]


# --- changed without making the rest fit ----------------------------------------------------------------------------


def alter(*positions: int, **columns: Any) -> None:
    connection.check_constraints()
    with triggers.suspended():
        TableEvent.objects.filter(seq__in=positions).update(**columns)


def gone(*positions: int) -> None:
    connection.check_constraints()
    with triggers.suspended():
        TableEvent.objects.filter(seq__in=positions).delete()


BESIDE = [
    "position 10: its column at is 2024-11-28T20:00:00.000250+07:00, and its line says {at}",
    "position 11: its column by is 'Mallory\\n', and its line says {by}",
    "position 12: its column key is 'twice', and its line says null",
    "position 13: its column hand_number is null, and its line says {hand}",
    "position 14: its column shoe_number is 9, and its line says 1",
    "position 14: its column name is 'voided', and its line says '{name}'",
]


def change_columns() -> list[str]:
    """Columns beside the line, which no seal covers; what is to be said of them."""
    rows = {row.seq: row for row in TableEvent.objects.all()}
    event = parse_line(rows[10].payload)
    alter(10, at=dt.datetime(2024, 11, 28, 13, 0, 0, 250, dt.UTC))
    alter(11, by="Mallory\n")
    alter(12, key="twice")
    alter(13, hand_number=None)
    alter(14, name="voided", shoe_number=9)
    values = {
        "at": event.at.isoformat(timespec="milliseconds"),
        "by": repr(rows[11].by),
        "hand": rows[13].hand_number,
        "name": rows[14].name,
    }
    return [one.format(**values) for one in BESIDE]


def test_each_row_is_named_whose_columns_are_not_as_its_line_says(log: Lines) -> None:
    said = change_columns()
    assert found() == said


def test_each_is_named_after_an_earlier_break_too_and_head_and_guards_are_looked_at(log: Lines) -> None:
    said = change_columns()
    alter(5, actor="nobody")
    Table.objects.update(last_at=timezone.now())
    assert found() == [f"position 5: {CHANGED}", *said, "position 20: its time is not the one at the table's head"]
    with triggers.suspended():
        last = found()[-1]
    assert last.startswith("B07: nothing guards its rows: append_only_dealing_tableevent_")
    assert last.endswith(" is missing, disabled or replaced")


def test_the_chain_alone_names_each_row_too(log: Lines) -> None:
    said = change_columns()
    alter(5, actor="nobody")
    alter(7, 9, seal=None)
    alter(8, hash="ff")
    _, out = run("--chain-only")
    assert out.splitlines()[:10] == [
        "B07 position 5: its hash does not match its content",
        "B07 position 7: has no seal",
        "B07 position 8: its hash does not match its content",
        "B07 position 9: has no seal",
        *(f"B07 {one}" for one in said),
    ]


@pytest.mark.parametrize("seq", [1, 7, 20])
def test_one_changed_row_is_named_by_its_seal(log: Lines, seq: int) -> None:
    row = TableEvent.objects.get(seq=seq)
    alter(seq, actor="nobody")
    assert found() == [f"position {seq}: {CHANGED}"]
    alter(seq, actor=row.actor, payload=row.payload.replace('"B07"', '"B70"'))
    assert found() == [
        f"position {seq}: its line names table B70: the table was renamed, or the row was moved here",
        f"position {seq}: {CHANGED}",
    ]


def test_back_dated_rows_are_named_with_their_time_of_recording(log: Lines) -> None:
    times = dict(TableEvent.objects.values_list("seq", "recorded_at"))
    for seq in (9, 12, 13):
        alter(seq, recorded_at=times[seq] - HOUR)
    assert found() == [
        f"position {seq}: its time of recording was changed; "
        f"it was recorded at {times[seq].isoformat(timespec='microseconds')}"
        for seq in (9, 12, 13)
    ]


def test_what_follows_from_something_is_not_said_beside_it(log: Lines) -> None:
    gone(17)
    missing = "position 17: is missing: it stood between what are now positions 16 and 18"
    assert found() == [missing]
    for seq in (18, 19, 20):  # numbered anew, and no more than that
        alter(seq, seq=seq - 1)
    Table.objects.update(last_seq=19)
    assert found() == ["position 17: is missing: it stood between what are now positions 16 and 17"]
    alter(18, hash="ff")  # which does not follow from it
    assert found()[1:] == ["position 18: its hash does not match its content"]


def test_rows_that_changed_places_are_all_that_is_named(log: Lines) -> None:
    alter(17, seq=99)
    alter(18, seq=17)
    alter(99, seq=18)
    assert found() == ["position 17: was swapped with position 18"]


def test_hashes_that_no_seal_covers_are_named(log: Lines) -> None:
    alter(6, hash="ff")
    alter(12, prev_hash="ff")
    assert found() == [
        "position 6: its hash does not match its content",
        "position 12: its previous hash is not the hash of the row before",
    ]


def test_rows_beyond_a_head_that_was_set_back_are_looked_at(log: Lines) -> None:
    alter(18, key="twice")
    eighth = TableEvent.objects.get(seq=8)
    Table.objects.update(last_seq=8, last_hash=eighth.hash, last_at=eighth.at)
    twice = "position 18: its column key is 'twice', and its line says null"
    assert found() == [twice, "position 9: stands beyond the table's head, which is 8"]
    Table.objects.update(last_seq=0, last_hash="", last_at=None)
    assert found() == [twice, "position 1: stands beyond the table's head, which is 0"]


def test_what_is_wrong_with_all_rows_is_said_in_few_lines(log: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    record_many([*log.hand(4), *log.hand(5)], actor="anan")
    every = Table.objects.get().last_seq
    alter(*range(1, every + 1), by="Mallory", name="voided")
    (first, second) = found()
    assert first.endswith(f"; so it is with each up to position {every}")
    assert second.endswith(f"; so it is with each up to position {every}")
    alter(*range(1, every + 1, 2), actor="nobody")
    monkeypatch.setattr("dealing.verify.MOST", 4)
    said = found()
    changed = 2 * every + (every + 1) // 2
    assert said[4:] == [f"B07: so much is wrong that {changed - sum_of(said[:4])} more problems are not named"]


def sum_of(said: list[str]) -> int:
    """Of how many rows it is said."""
    return sum(int(one.rpartition(" ")[2]) if "so it is" in one else 1 for one in said)


def test_a_whole_log_is_walked_once(log: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dealing.verify.examine", None)
    assert found() == []


# --- any of it, in any mixture ---------------------------------------------------------------------------------------

SCOPE = "table X"
KEY = seal_keys.Key(b"k" * 32)
RING = seal_keys.Ring([KEY])


def genuine(count: int) -> list[Row]:
    at, rows, previous = timezone.now(), [], "genesis"
    for seq in range(1, count + 1):
        payload = f"line {seq}"
        seal = seals.sealer(KEY, SCOPE, "somchai", at)(previous, seq, payload)
        rows.append(Row(seq, payload, "genesis", f"hash {seq}", "somchai", at, 1, None, "bet", at, None, "", seal))
        previous, at = seal, at + dt.timedelta(seconds=1)
    return rows


ROWS = genuine(12)
INDEX = st.integers(0, 11)
DONE = st.one_of(
    st.tuples(st.just("change"), INDEX, INDEX),
    st.tuples(st.just("take out"), INDEX, INDEX),
    st.tuples(st.just("put in"), INDEX, INDEX),
    st.tuples(st.just("copy"), INDEX, INDEX),
    st.tuples(st.just("move"), INDEX, INDEX),
    st.tuples(st.just("back-date"), INDEX, INDEX),
    st.tuples(st.just("unseal"), INDEX, INDEX),
)


@pytest.mark.sqlite
@how(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(DONE, min_size=1, max_size=5))
def test_no_mixture_of_changes_is_missed(steps: list[tuple[str, int, int]]) -> None:
    """All but the end: rows that are gone there are a matter of the signed heads."""
    rows = list(ROWS)
    for what, one, other in steps:
        at, to = one % len(rows), other % len(rows)
        if what == "change":
            rows[at] = rows[at]._replace(payload="another")
        elif what == "take out" and at < len(rows) - 1:
            del rows[at]
        elif what == "put in":
            rows.insert(at, rows[at]._replace(payload="forged"))
        elif what == "copy":
            rows.insert(at, rows[to])
        elif what == "move":
            rows.insert(at, rows.pop(to))
        elif what == "back-date":
            rows[at] = rows[at]._replace(recorded_at=rows[at].recorded_at - HOUR)
        elif what == "unseal":
            rows[at] = rows[at]._replace(seal=None)
    rows = [row._replace(seq=seq) for seq, row in enumerate(rows, 1)]
    traces = examine(SCOPE, rows, RING, seals.Start())
    walk = seals.SealWalk(SCOPE, RING, seals.Start())
    walked = [problem for row in rows if (problem := walk.problem(row))]
    same = rows == ROWS[: len(rows)]
    assert bool(traces) is not same
    assert bool(walked) is not same
    # Nothing is said of a row that is genuine, in its place, and follows on the one before it.
    for trace in traces:
        if trace.kind != Trace.MISSING and trace.kind != Trace.MOVED and "so it is" not in trace.text:
            now = rows[trace.seq - 1]
            fine = (
                now in ROWS and trace.seq > 1 and ROWS.index(now) and rows[trace.seq - 2] == ROWS[ROWS.index(now) - 1]
            )
            assert not fine or "copy" in trace.text


@pytest.mark.sqlite
def test_the_walk_sees_where_one_history_was_put_to_another() -> None:
    rows = [*genuine(8), *ROWS[8:]]
    walk = seals.SealWalk(SCOPE, RING, seals.Start())
    assert [walk.problem(row) for row in rows] == [*[None] * 8, seals.APART, *[None] * 3]
    assert examine(SCOPE, rows, RING, seals.Start()) == [Trace(9, Trace.APART, seals.APART)]


# --- genuine logs are never accused ----------------------------------------------------------------------------------


def test_a_log_that_was_amended_and_made_again_is_whole(log: Lines) -> None:
    card = json.loads(TableEvent.objects.get(seq=6).payload)
    record(log.line("amended", 1, seq=6, reason="mistyped", entry={**card, "card": "8h"}), actor="anan")
    call_command("rebuild", stdout=io.StringIO(), stderr=io.StringIO())
    Table.objects.update(name="Salon privé")
    assert verify_table("B07").broken is None
    assert len(set(TableEvent.objects.values_list("seal", flat=True))) == 21


@pytest.mark.django_db(transaction=True)
def test_an_import_by_several_jobs_seals_each_row(table: MakeTable) -> None:
    codes = [f"B0{n}" for n in range(1, 4)]
    text = "".join(written(simulated(code, shoes=1, seed=n, hands=3)) for n, code in enumerate(codes))
    report = import_log(io.BytesIO(text.encode()), actor="import", create_tables=True, venue=table().venue, jobs=2)
    assert report.events == TableEvent.objects.count() > 50
    for code in codes:
        result = verify_table(code)
        assert (result.broken, result.unchecked, result.older) == (None, 0, 0)
        assert Table.objects.get(code=code).last_seal == TableEvent.objects.filter(table__code=code).latest("seq").seal


def test_when_the_clock_is_put_back_recording_goes_on(log: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    last = TableEvent.objects.get(seq=20).recorded_at
    monkeypatch.setattr(timezone, "now", lambda: last - HOUR)
    card = log.line("card", 3, to="B1", card="4s")
    record(card, actor="anan")
    assert TableEvent.objects.get(seq=21).recorded_at == last
    text = json.dumps(log.line("card", 3, to="P2", card="Kd")) + "\n"
    monkeypatch.undo()
    whole = io.StringIO()
    call_command("export_log", "B07", stdout=whole, stderr=io.StringIO())
    monkeypatch.setattr(timezone, "now", lambda: last - 2 * HOUR)
    assert import_log(io.BytesIO((whole.getvalue() + text).encode()), actor="import").events == 1
    assert TableEvent.objects.get(seq=22).recorded_at == last
    assert found() == []


def test_a_new_key_seals_and_the_old_one_still_proves(log: Lines) -> None:
    old = seal_keys.sealing_key()
    new = seal_keys.make_key(another=True)
    record(log.line("card", 3, to="B1", card="4s"), actor="anan")
    assert old is not None
    assert {seal.split(".")[0] for seal in TableEvent.objects.values_list("seal", flat=True) if seal} == {
        old.id,
        new.id,
    }
    assert found() == []


def unseal(table: Table) -> None:
    """The log of a database from before there were seals."""
    with triggers.suspended():
        TableEvent.objects.filter(table=table).update(seal=None)
    Table.objects.filter(pk=table.pk).update(last_seal=None, last_recorded_at=None)


def test_a_log_from_before_the_seals_is_whole_up_to_where_they_began(log: Lines) -> None:
    unseal(Table.objects.get())
    assert sealing.begin_all("kanya") == [("B07", 20)]
    assert sealing.begin_all("kanya") == []
    record(log.line("card", 3, to="B1", card="4s"), actor="anan")
    result = verify_table("B07")
    assert (result.broken, result.older, result.events) == (None, 20, 21)


def test_who_makes_rows_look_older_than_the_seals_is_found_out(log: Lines) -> None:
    unseal(Table.objects.get())
    assert found() == [f"position {seq}: was inserted: it has no seal" for seq in range(1, 21)]
    SealStart.objects.create(
        table=Table.objects.get(), seq=20, hash=Table.objects.get().last_hash, recorded_at=timezone.now(), actor="x",
        seal="0.20.1.0.0",
    )  # fmt: skip
    assert verify_table("B07").broken is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            apply(lambda r: other_card(r, 4)),
            "position 20: the rows up to here are older than the seals, "
            "and not those that there were when sealing began",
        ),
        (apply(lambda r: r.pop(4)), "position 20: of 20 rows that are older than the seals there are 19"),
    ],
)
def test_rows_older_than_the_seals_cannot_be_changed_any_more(
    log: Lines, change: Callable[[Rows], None], said: str
) -> None:
    table = Table.objects.get()
    unseal(table)
    sealing.begin_all("kanya")
    record(log.line("card", 3, to="B1", card="4s"), actor="anan")
    Attacker(table).does(change)
    assert said in found()


# --- keys ------------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    out, code = io.StringIO(), 0
    try:
        call_command("verify_log", *arguments, stdout=out, no_color=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    return code, out.getvalue()


def test_the_key_is_made_once_and_read_by_its_owner_alone(log: Lines) -> None:
    path = seal_keys.key_file()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(path.read_text().split()) == 1
    assert path.read_text().strip() not in repr(seal_keys.ring())


def test_without_the_key_the_chain_is_checked_and_the_rest_is_said(log: Lines) -> None:
    key = seal_keys.key_file().read_text()
    seal_keys.key_file().unlink()
    head = Table.objects.get().last_hash
    assert run() == (
        2,
        f"B07: 20 events, whole; head {head}\nB07: 20 seals were not checked: there is no seal key here\n",
    )
    assert run("--chain-only") == (0, f"B07: 20 events, whole; head {head}\n")
    # Recording goes on without a key, no other is made in its place, and what has no seal is named.
    record(log.line("card", 3, to="B1", card="4s"), actor="anan")
    assert not seal_keys.key_file().exists()
    seal_keys.key_file().write_text(key)
    assert run() == (1, "B07 position 21: was inserted: it has no seal\n")


def test_keys_that_are_none_are_said_without_showing_them(log: Lines) -> None:
    seal_keys.key_file().write_text("secret-but-wrong\n")
    code, out = run()
    assert code == 2
    assert "seal.keys: line 1 is no key of 64 hex digits" in out
    assert "secret-but-wrong" not in out


def test_keys_may_come_from_the_environment(settings: Any, table: MakeTable) -> None:
    settings.SEAL_KEYS = f"{'ab' * 32},{'cd' * 32}"
    table("B07")
    record_many(Lines().open(), actor="somchai")
    seal = TableEvent.objects.get(seq=1).seal
    assert seal is not None
    assert seal.startswith(seal_keys.Key(bytes.fromhex("cd" * 32)).id + ".1.")
    assert found() == []
    with pytest.raises(seal_keys.KeyFileError, match="SEAL_KEYS"):
        seal_keys.make_key(another=True)


@pytest.mark.sqlite
def test_a_mac_is_hmac_sha256() -> None:
    for text in (b"", b"row", b"x" * 1000):
        assert KEY.mac(text) == hmac.digest(b"k" * 32, text, "sha256").hex()[:32]


def test_the_answer_as_json(attacker: Attacker) -> None:
    attacker.does(apply(lambda r: swap(r, 17, 18)))
    code, out = run("--json")
    answer = json.loads(out)
    assert (code, answer["whole"], answer["unchecked"]) == (1, False, [])
    assert answer["tables"][0]["problems"] == [{"of": "B07", "position": 17, "problem": "was swapped with position 18"}]

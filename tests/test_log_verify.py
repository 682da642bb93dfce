"""Whoever changes a stored log, past the triggers, is found out: the first broken row is named."""

from __future__ import annotations

import datetime as dt
import io
import logging
from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from dealing import triggers
from dealing.chain import row_hash
from dealing.log import record, record_many
from dealing.models import ChainWalk, Hand, Table, TableEvent, genesis_hash
from dealing.tasks import verify_tables
from dealing.verify import verify_table
from tests.conftest import MakeTable
from tests.table_logs import Lines

pytestmark = pytest.mark.django_db

ROWS = 10


@pytest.fixture
def log(table: MakeTable) -> Lines:
    table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    return lines


def tamper(sql: str, *params: str | int) -> None:
    connection.check_constraints()
    with triggers.suspended(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def rehash(seq: int) -> None:
    """Make a row's hash fit its content again, as somebody would who knows how."""
    row = TableEvent.objects.get(seq=seq)
    before = TableEvent.objects.filter(seq=seq - 1).first()
    previous = before.hash if before is not None else genesis_hash("B07")
    hashed = row_hash(previous, seq, row.payload, row.actor, row.recorded_at)
    tamper("UPDATE dealing_tableevent SET prev_hash = %s, hash = %s WHERE seq = %s", previous, hashed, seq)


def test_a_whole_log(log: Lines) -> None:
    result = verify_table("B07")
    assert (result.broken, result.events, result.head) == (None, ROWS, Table.objects.get().last_hash)
    Table.objects.create(code="B08", venue=Table.objects.get().venue, ruleset="standard")
    assert verify_table("B08").head == genesis_hash("B08")


@pytest.mark.parametrize(
    ("change", "seq", "problem"),
    [
        ("UPDATE dealing_tableevent SET payload = replace(payload, '9h', '8h') WHERE seq = 6", 6, "does not match"),
        ("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = 4", 4, "does not match"),
        ("UPDATE dealing_tableevent SET recorded_at = '2020-01-01 00:00:00' WHERE seq = 3", 3, "does not match"),
        ("UPDATE dealing_tableevent SET hash = 'ff' WHERE seq = 10", 10, "does not match"),
        ("UPDATE dealing_tableevent SET prev_hash = 'ff' WHERE seq = 5", 5, "previous hash"),
        ("DELETE FROM dealing_tableevent WHERE seq = 6", 6, "is missing; the next row is position 7"),
        ("DELETE FROM dealing_tableevent WHERE seq = 1", 1, "is missing; the next row is position 2"),
        ("DELETE FROM dealing_tableevent WHERE seq >= 9", 9, "there are 10 events"),
        ("DELETE FROM dealing_tableevent", 1, "there are 10 events"),
        ("UPDATE dealing_tableevent SET seq = 12 WHERE seq = 10", 10, "is missing"),
        ("UPDATE dealing_tableevent SET name = 'voided' WHERE seq = 6", 6, "its column name is 'voided'"),
        ("UPDATE dealing_tableevent SET hand_number = NULL WHERE seq = 6", 6, "its column hand_number is null"),
        ("UPDATE dealing_tableevent SET shoe_number = 2 WHERE seq = 2", 2, "its column shoe_number is 2"),
        ("UPDATE dealing_tableevent SET key = 'k' WHERE seq = 2", 2, "its column key is 'k'"),
        ("UPDATE dealing_tableevent SET at = '2020-01-01 00:00:00' WHERE seq = 7", 7, "its column at is"),
        ("UPDATE dealing_table SET last_hash = 'ff'", 10, "not the one at the table's head"),
        ("UPDATE dealing_table SET last_seq = 8", 9, "stands beyond the table's head, which is 8"),
        ("UPDATE dealing_table SET last_seq = 0, last_hash = '', last_at = NULL", 1, "beyond the table's head"),
        ("UPDATE dealing_table SET last_at = '2020-01-01 00:00:00'", 10, "its time is not the one"),
        ("UPDATE dealing_table SET code = 'B99'", 1, "its line names table B07"),
    ],
)
def test_tampering_is_found(log: Lines, change: str, seq: int, problem: str) -> None:
    tamper(change)
    broken = verify_table(Table.objects.get().code).broken
    assert broken is not None
    assert broken.seq == seq
    assert problem in broken.problem


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ("not json", "its line cannot be read: event: this is not a JSON object"),
        ('{"event": "burn_card"}', "its line cannot be read: at: is missing"),
        (None, "the form in which lines are written"),
    ],
)
def test_a_line_that_is_no_line(log: Lines, payload: str | None, problem: str) -> None:
    """Even where the hashes were made to fit again."""
    payload = payload or TableEvent.objects.get(seq=2).payload + " "
    tamper("UPDATE dealing_tableevent SET payload = %s WHERE seq = 2", payload)
    for seq in range(2, ROWS + 1):
        rehash(seq)
    tamper("UPDATE dealing_table SET last_hash = %s", TableEvent.objects.get(seq=ROWS).hash)
    broken = verify_table("B07").broken
    assert broken is not None
    assert broken.seq == 2
    assert problem in broken.problem


def test_one_row_rewritten_with_its_hash_breaks_the_next(log: Lines) -> None:
    tamper("UPDATE dealing_tableevent SET payload = replace(payload, '9h', '8h') WHERE seq = 6")
    rehash(6)
    broken = verify_table("B07").broken
    assert broken is not None
    assert str(broken) == "B07 position 6: its seal does not match its content"
    broken = verify_table("B07", seals=False).broken
    assert broken is not None
    assert str(broken) == "B07 position 7: its previous hash is not the hash of the row before"


def test_a_missing_guard_is_named(log: Lines) -> None:
    with triggers.suspended():
        broken = verify_table("B07").broken
    assert broken is not None
    assert broken.seq is None
    assert "append_only_dealing_tableevent" in broken.problem


@pytest.fixture
def run() -> Callable[..., tuple[int, str]]:
    def call(*arguments: str) -> tuple[int, str]:
        out, code = io.StringIO(), 0
        try:
            call_command("verify_log", *arguments, stdout=out, no_color=True)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        return code, out.getvalue()

    return call


def test_the_command(log: Lines, run: Callable[..., tuple[int, str]]) -> None:
    head = Table.objects.get().last_hash
    assert run() == (0, f"B07: 10 events, whole; head {head}\n")
    assert run("--projections") == (0, f"B07: 10 events, whole; head {head}\n")
    Hand.objects.update(winner="tie")
    assert run()[0] == 0
    code, out = run("B07", "--projections")
    assert code == 1
    assert "B07 shoe 1 hand 1: winner differ from what the log says" in out
    tamper("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = 4")
    assert run() == (1, "B07 position 4: its line, or who recorded it, was changed\n")


def test_shoes_and_hands_are_compared_where_nothing_guards_the_rows(
    log: Lines, run: Callable[..., tuple[int, str]]
) -> None:
    Hand.objects.update(winner="tie")
    with triggers.suspended():
        code, out = run("--projections")
    assert code == 1
    assert "nothing guards them" in out
    assert "B07 shoe 1 hand 1: winner differ from what the log says" in out


def test_a_house_without_tables(db: None, run: Callable[..., tuple[int, str]]) -> None:
    assert run() == (0, "no tables\n")


def rebuild(*arguments: str) -> tuple[int, str, str]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("rebuild", *arguments, stdout=out, stderr=err, no_color=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    return code, out.getvalue(), err.getvalue()


def test_a_broken_log_is_not_rebuilt_from(log: Lines) -> None:
    Hand.objects.update(winner="tie")
    tamper("UPDATE dealing_tableevent SET payload = replace(payload, '9h', '8h') WHERE seq = 6")
    code, out, err = rebuild()
    assert (code, out) == (1, "")
    assert err.startswith("B07 position 6: its hash does not match its content\nB07 is left as it is; --force ")
    assert Hand.objects.get().winner == "tie"
    code, out, err = rebuild("B07", "--force")
    assert (code, out) == (0, "B07: 1 shoes, 1 hands; 2 were different, 0 are gone\n")
    assert "B07 position 6" in err
    assert Hand.objects.get().winner == "player"


def test_a_log_that_cannot_have_happened_is_not_rebuilt_from(log: Lines) -> None:
    tamper("UPDATE dealing_tableevent SET payload = replace(payload, '\"P2\"', '\"P1\"') WHERE seq = 8")
    code, out, err = rebuild("--force")
    assert (code, out) == (1, "")
    assert "B07 is left as it is; its log cannot have happened: to: P1 already holds" in err


def test_rows_that_nothing_guards_are_rebuilt_from(log: Lines) -> None:
    Hand.objects.update(winner="tie")
    with triggers.suspended():
        code, _, err = rebuild()
    assert code == 0
    assert "nothing guards them" in err
    assert Hand.objects.get().winner == "player"


def test_the_nightly_task(log: Lines, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "dealing.tasks"):
        assert verify_tables() == {"B07": "whole"}
    assert Table.objects.get().last_hash in caplog.text
    tamper("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = 4")
    with caplog.at_level(logging.ERROR, "dealing.tasks"):
        assert verify_tables() == {"B07": "B07 position 4: its hash does not match its content"}
    assert "is broken" in caplog.text


def test_what_the_last_walk_found_is_kept(log: Lines, run: Callable[..., tuple[int, str]]) -> None:
    def kept() -> tuple[int, str, int | None, str]:
        walk = ChainWalk.objects.get()
        assert timezone.now() - walk.walked_at < dt.timedelta(minutes=1)
        return walk.last_seq, walk.head, walk.broken_at, walk.problem

    verify_tables()
    whole = (ROWS, Table.objects.get().last_hash, None, "")
    assert kept() == whole
    actor = TableEvent.objects.get(seq=4).actor
    tamper("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = 4")
    verify_tables()
    assert kept() == (3, TableEvent.objects.get(seq=3).hash, 4, "its hash does not match its content")
    tamper("UPDATE dealing_tableevent SET actor = %s WHERE seq = 4", actor)
    assert run()[0] == 0
    assert kept() == whole


def test_recording_goes_on_after_verifying(log: Lines) -> None:
    assert verify_table("B07").broken is None
    record(log.line("betting_opened", 2), actor="somchai")
    assert verify_table("B07").events == ROWS + 1

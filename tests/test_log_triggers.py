"""The log only grows: the database refuses everything else, whoever asks and however."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models.deletion import ProtectedError

from dealing import triggers
from dealing.models import Table, TableEvent
from tests.conftest import MakeTable

pytestmark = pytest.mark.django_db

LOG = TableEvent._meta.db_table


@pytest.fixture
def row(table: MakeTable) -> TableEvent:
    now = dt.datetime(2026, 11, 28, 13, tzinfo=dt.UTC)
    values = {"table": table(), "seq": 1, "shoe_number": 1, "name": "shoe_opened", "at": now, "payload": "{}"}
    hashes = {"prev_hash": "0" * 64, "hash": "1" * 64, "recorded_at": now, "actor": "somchai", "key": "k1"}
    return TableEvent.objects.bulk_create([TableEvent(**values, **hashes)])[0]


def refused(sql: str, *params: str | int) -> None:
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def test_an_update_is_refused(row: TableEvent) -> None:
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        TableEvent.objects.update(payload="{ }")
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        TableEvent.objects.bulk_update([row], ["actor"])
    refused(f"UPDATE {LOG} SET actor = %s WHERE seq = 1", "nobody")
    with pytest.raises(TypeError, match=r"dealing\.log"):
        row.save()
    assert TableEvent.objects.get().actor == "somchai"


def test_a_delete_is_refused(row: TableEvent) -> None:
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        TableEvent.objects.all().delete()
    refused(f"DELETE FROM {LOG}")
    with pytest.raises(TypeError):
        row.delete()
    with pytest.raises(ProtectedError):
        Table.objects.all().delete()
    assert TableEvent.objects.count() == 1


def test_an_upsert_is_refused(row: TableEvent) -> None:
    columns = "table_id, seq, shoe_number, name, at, by, payload, prev_hash, hash, recorded_at, actor"
    copy = (
        f"INSERT INTO {LOG} (id, {columns}) SELECT id, {columns.replace('actor', chr(39) + 'x' + chr(39))} FROM {LOG} "
    )
    refused(copy + "WHERE true ON CONFLICT (id) DO UPDATE SET actor = 'nobody'")


@pytest.mark.sqlite
@pytest.mark.parametrize("clash", ["id", "seq", "key"])
def test_sqlite_replaces_no_row(row: TableEvent, clash: str) -> None:
    """INSERT OR REPLACE deletes rows without firing delete triggers."""
    values = {
        "id": row.pk if clash == "id" else 999,
        "seq": 1 if clash == "seq" else 7,
        "key": "k1" if clash == "key" else "k9",
    }
    refused(
        f"INSERT OR REPLACE INTO {LOG} (id, table_id, seq, key, shoe_number, name, at, by, payload, prev_hash, hash, "
        "recorded_at, actor) SELECT %s, table_id, %s, %s, shoe_number, name, at, by, payload, prev_hash, hash, "
        f"recorded_at, 'nobody' FROM {LOG}",
        *values.values(),
    )


@pytest.mark.postgresql
def test_postgresql_truncates_nothing(row: TableEvent) -> None:
    connection.check_constraints()  # or the row's own foreign key, still unchecked, would refuse first
    refused(f"TRUNCATE {LOG} CASCADE")


def test_the_schema_refuses_a_second_row_at_a_position(row: TableEvent) -> None:
    row.pk = None
    row.key = None
    with pytest.raises(IntegrityError), transaction.atomic():
        TableEvent.objects.bulk_create([row])


def test_a_missing_guard_is_noticed(row: TableEvent) -> None:
    assert triggers.missing(LOG) == []
    with triggers.suspended():
        assert len(triggers.missing(LOG)) >= 2
    assert triggers.missing(LOG) == []
    refused(f"DELETE FROM {LOG}")


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("name", "another"),
    [
        ("update", f"BEFORE UPDATE ON {LOG} WHEN 0 BEGIN SELECT RAISE(ABORT, '{triggers.message(LOG)}'); END"),
        ("delete", f"BEFORE DELETE ON {LOG} BEGIN SELECT 1; END"),
        (
            "insert",
            f"BEFORE INSERT ON {LOG} WHEN EXISTS (SELECT 1 FROM {LOG} WHERE id = NEW.id) "
            f"BEGIN SELECT RAISE(ABORT, '{triggers.message(LOG)}'); END",
        ),
        ("insert", f"BEFORE INSERT ON {LOG} WHEN 0 BEGIN SELECT RAISE(ABORT, '{triggers.message(LOG)}'); END"),
    ],
)
def test_another_trigger_under_the_name_is_noticed_on_sqlite(row: TableEvent, name: str, another: str) -> None:
    full = f"append_only_{LOG}_{name}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {full}")
        cursor.execute(f"CREATE TRIGGER {full} {another}")
    assert triggers.missing(LOG) == [full]


@pytest.mark.postgresql
def test_another_trigger_under_the_name_is_noticed_on_postgresql(row: TableEvent) -> None:
    function = f"append_only_{LOG}"
    rows, truncate = f"{function}_row", f"{function}_truncate"

    def tried(*statements: str) -> list[str]:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            found = triggers.missing(LOG)
            transaction.set_rollback(True)
        return found

    connection.check_constraints()
    assert tried(f"ALTER TABLE {LOG} ENABLE REPLICA TRIGGER {rows}") == [rows]
    assert tried(f"ALTER TABLE {LOG} DISABLE TRIGGER {truncate}") == [truncate]
    assert tried(
        f"DROP TRIGGER {rows} ON {LOG}",
        f"CREATE TRIGGER {rows} BEFORE UPDATE OR DELETE ON {LOG} FOR EACH ROW WHEN (false) "
        f"EXECUTE FUNCTION {function}()",
    ) == [rows]
    assert tried(
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"
    ) == [rows, truncate]
    assert tried() == []


@pytest.mark.django_db(transaction=True)
def test_the_migration_goes_both_ways(table: MakeTable) -> None:
    call_command("migrate", "dealing", "0001", verbosity=0)
    try:
        assert len(triggers.missing(LOG)) >= 2
    finally:
        call_command("migrate", verbosity=0)
    assert triggers.missing(LOG) == []
    assert not MigrationExecutor(connection).loader.detect_conflicts()

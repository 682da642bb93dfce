"""Append-only tables, enforced by the database: UPDATE, DELETE, TRUNCATE and overwriting inserts are refused.

In a migration::

    migrations.RunPython(*triggers.operations("dealing_tableevent", unique=[("table_id", "seq"), ("table_id", "key")]))

A superuser of the database can drop a trigger; the hash chain (`manage.py verify_log`) shows what was done then. On
SQLite a later migration that rebuilds a table loses its triggers without a word: install them again in that migration.
`missing()` names the triggers that are not there; `verify_log` and the tests ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

PREFIX = "append_only"
Unique = Sequence[Sequence[str]]


def message(table: str) -> str:
    """What the database answers to whoever tries."""
    return f"{table} is append-only: rows are never changed or deleted"


def _sqlite(table: str, unique: Unique) -> list[str]:
    refuse = f"SELECT RAISE(ABORT, '{message(table)}'); END"
    # INSERT OR REPLACE deletes the rows in its way without firing delete triggers, so an insert may find none there.
    clashes = " OR ".join(
        f'EXISTS (SELECT 1 FROM "{table}" WHERE {" AND ".join(f"{c} = NEW.{c}" for c in columns)})'  # noqa: S608  # names of ours
        for columns in [["id"], *unique]
    )
    return [
        f'CREATE TRIGGER "{PREFIX}_{table}_update" BEFORE UPDATE ON "{table}" BEGIN {refuse}',
        f'CREATE TRIGGER "{PREFIX}_{table}_delete" BEFORE DELETE ON "{table}" BEGIN {refuse}',
        f'CREATE TRIGGER "{PREFIX}_{table}_insert" BEFORE INSERT ON "{table}" WHEN {clashes} BEGIN {refuse}',
    ]


def _postgresql(table: str) -> list[str]:
    function = f"{PREFIX}_{table}"
    return [
        f'CREATE OR REPLACE FUNCTION "{function}"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN '
        f"RAISE EXCEPTION '{message(table)}' USING ERRCODE = 'integrity_constraint_violation'; END $$",
        f'CREATE TRIGGER "{PREFIX}_{table}_row" BEFORE UPDATE OR DELETE ON "{table}" '
        f'FOR EACH ROW EXECUTE FUNCTION "{function}"()',
        f'CREATE TRIGGER "{PREFIX}_{table}_truncate" BEFORE TRUNCATE ON "{table}" '
        f'FOR EACH STATEMENT EXECUTE FUNCTION "{function}"()',
    ]


def install(schema_editor: BaseDatabaseSchemaEditor, table: str, unique: Unique = ()) -> None:
    """Make `table` append-only. `unique`: its unique column sets beside `id` (they matter on SQLite only)."""
    vendor = schema_editor.connection.vendor
    if vendor == "sqlite":
        statements = _sqlite(table, unique)
    elif vendor == "postgresql":
        statements = _postgresql(table)
    else:
        raise NotImplementedError(f"no append-only triggers are written for {vendor}")
    for statement in statements:
        schema_editor.execute(statement, params=None)


def remove(schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """Undo `install`."""
    if schema_editor.connection.vendor == "sqlite":
        for event in ("update", "delete", "insert"):
            schema_editor.execute(f'DROP TRIGGER IF EXISTS "{PREFIX}_{table}_{event}"', params=None)
    else:
        for event in ("row", "truncate"):
            schema_editor.execute(f'DROP TRIGGER IF EXISTS "{PREFIX}_{table}_{event}" ON "{table}"', params=None)
        schema_editor.execute(f'DROP FUNCTION IF EXISTS "{PREFIX}_{table}"()', params=None)


def operations(table: str, unique: Unique = ()) -> tuple[Callable[..., None], Callable[..., None]]:
    """Both directions, for `migrations.RunPython`."""

    def forwards(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
        install(schema_editor, table, unique)

    def backwards(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
        remove(schema_editor, table)

    return forwards, backwards


def _installed(connection: BaseDatabaseWrapper) -> list[tuple[str, str, str, bool]]:
    """(trigger, table, SQL, enabled) of every trigger made here."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
            rows = [(name, table, sql, True) for name, table, sql in cursor.fetchall()]
        else:
            cursor.execute(
                "SELECT t.tgname, c.relname, pg_get_triggerdef(t.oid), t.tgenabled <> 'D' FROM pg_trigger t "
                "JOIN pg_class c ON c.oid = t.tgrelid "
                "WHERE NOT t.tgisinternal AND pg_table_is_visible(c.oid) ORDER BY t.tgname"
            )
            rows = [(name, table, sql, bool(enabled)) for name, table, sql, enabled in cursor.fetchall()]
    return [row for row in rows if row[0].startswith(PREFIX)]


def missing(table: str, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """The triggers that should guard `table` and do not (dropped or disabled)."""
    connection = connections[using]
    events = ("update", "delete", "insert") if connection.vendor == "sqlite" else ("row", "truncate")
    there = {name for name, _, _, enabled in _installed(connection) if enabled}
    return [name for name in (f"{PREFIX}_{table}_{event}" for event in events) if name not in there]


@contextmanager
def suspended(using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """For tests only: let every append-only table be changed meanwhile (to flush, to tamper with a log)."""
    connection = connections[using]
    found = _installed(connection)
    with connection.cursor() as cursor:
        for name, table, _, _ in found:
            cursor.execute(
                f'DROP TRIGGER "{name}"' if connection.vendor == "sqlite" else f'DROP TRIGGER "{name}" ON "{table}"'
            )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for _, _, sql, _ in found:
                cursor.execute(sql)

"""Append-only tables, enforced by the database: UPDATE, DELETE, TRUNCATE and overwriting inserts are refused.

In a migration::

    migrations.RunPython(*triggers.operations("dealing_tableevent", unique=[("table_id", "seq"), ("table_id", "key")]))

A superuser of the database can drop a trigger; the hash chain (`manage.py verify_log`) shows what was done then. On
SQLite a later migration that rebuilds a table loses its triggers without a word: install them again in that migration.
`missing()` names the triggers that are not there or are not these; `verify_log` and the tests ask it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.apps import apps
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
    clashes = " OR ".join(_clash(table, columns) for columns in [["id"], *unique])
    return [
        f'CREATE TRIGGER "{PREFIX}_{table}_update" BEFORE UPDATE ON "{table}" BEGIN {refuse}',
        f'CREATE TRIGGER "{PREFIX}_{table}_delete" BEFORE DELETE ON "{table}" BEGIN {refuse}',
        f'CREATE TRIGGER "{PREFIX}_{table}_insert" BEFORE INSERT ON "{table}" WHEN {clashes} BEGIN {refuse}',
    ]


def _clash(table: str, columns: Sequence[str]) -> str:
    same = " AND ".join(f"{column} = NEW.{column}" for column in columns)
    return f'EXISTS (SELECT 1 FROM "{table}" WHERE {same})'  # noqa: S608  # names of ours


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
    """The triggers that should guard `table` and do not: dropped, disabled, or another one under the same name."""
    connection = connections[using]
    if connection.vendor == "sqlite":
        expected = {name: _sql(sql) for name, sql in zip(_names(table, _SQLITE), _sqlite(table, ()), strict=True)}
        guards = {name: _sql(sql) for name, _, sql, _ in _installed(connection)}
        return [name for name, sql in expected.items() if not _guards(guards.get(name), sql, table)]
    function, *statements = map(_sql, _postgresql(table))
    expected = dict(zip(_names(table, _POSTGRESQL), statements, strict=True))
    body = function.partition(" AS $$ ")[2].removesuffix(" $$")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.tgname, pg_get_triggerdef(t.oid), p.prosrc FROM pg_trigger t "
            "JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
            "WHERE c.relname = %s AND pg_table_is_visible(c.oid) AND t.tgenabled IN ('O', 'A')",
            [table],
        )
        there = {name: (_sql(_QUALIFIED.sub("", sql)), _sql(source)) for name, sql, source in cursor.fetchall()}
    return [name for name, sql in expected.items() if there.get(name) != (_ordered(sql), body)]


_SQLITE: Final = ("update", "delete", "insert")
_POSTGRESQL: Final = ("row", "truncate")
#: The schema that PostgreSQL puts before the names of the table and the function.
_QUALIFIED: Final = re.compile(r"(?<= )\w+\.(?=\w)")


def _names(table: str, events: Sequence[str]) -> list[str]:
    return [f"{PREFIX}_{table}_{event}" for event in events]


def _sql(text: str) -> str:
    """A statement without quotes around names, and with single spaces."""
    return " ".join(text.replace('"', "").split())


def _ordered(sql: str) -> str:
    """As PostgreSQL writes it."""
    return sql.replace("UPDATE OR DELETE", "DELETE OR UPDATE")


def _guards(there: str | None, due: str, table: str) -> bool:
    """Whether a trigger of SQLite is the one that is due; that on inserts may look for more than the id."""
    begins, _, ends = due.partition(" BEGIN ")
    if there is None or " WHEN " not in begins:
        return there == due
    if not there.startswith(begins) or not there.endswith(f" BEGIN {ends}"):
        return False
    more = there[len(begins) : -len(f" BEGIN {ends}")]
    one = r"\w+ = NEW\.\w+"
    clash = rf" OR EXISTS \(SELECT 1 FROM {table} WHERE {one}(?: AND {one})*\)"  # noqa: S608  # a pattern
    if not re.fullmatch(rf"(?:{clash})*", more):
        return False
    if any(left != right for left, right in re.findall(r"(\w+) = NEW\.(\w+)", more)):
        return False
    return all(_sql(_clash(table, columns)) in more for columns in _unique(table))


def _unique(table: str) -> Iterator[list[str]]:
    """The sets of columns that are unique in a table, beside its id."""
    for model in apps.get_models():
        if model._meta.db_table != table:
            continue
        columns = {field.name: str(field.column) for field in model._meta.local_fields}
        names = [[field.name] for field in model._meta.local_fields if field.unique and not field.primary_key]
        names += [list(one.fields) for one in model._meta.total_unique_constraints]
        for fields in names:
            yield [columns[name] for name in fields]


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

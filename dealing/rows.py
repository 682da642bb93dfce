"""Rows read and written by statements made once.

The ORM composes every statement anew, which costs more than running it; where an event is recorded, that is most of the
time. These helpers keep the models and their fields' conversions and leave the composing out.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections
from django.db.models import Field, Model

T = TypeVar("T")
M = TypeVar("M", bound=Model)
N = TypeVar("N", bound=Model)


@cache
def _fields(model: type[Model]) -> tuple[Field[Any, Any], ...]:
    return tuple(field for field in model._meta.local_concrete_fields if not field.primary_key)


@cache
def _columns(model: type[Model]) -> str:
    table = model._meta.db_table
    return ", ".join(f'"{table}"."{field.column}"' for field in model._meta.local_concrete_fields)


@cache
def _select(*models: type[Model]) -> str:
    columns = ", ".join(_columns(model) for model in models)
    return f'SELECT {columns} FROM "{models[0]._meta.db_table}" '  # noqa: S608  # names of our own


Converter = Callable[[Any, Any, Any], Any]


@cache
def _reading(model: type[Model], vendor: str) -> tuple[list[str], list[tuple[int, Any, list[Converter]]]]:
    """The attributes in the order of `_columns`, and what the database's values of some of them are turned with."""
    fields = model._meta.local_concrete_fields
    turned = []
    for index, field in enumerate(fields):
        column = field.get_col(model._meta.db_table)
        converters = [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]
        if converters:
            turned.append((index, column, converters))
    return [field.attname for field in fields], turned


def _row(model: type[M], values: Sequence[Any]) -> M:
    names, turned = _reading(model, connection.vendor)
    values = list(values)
    for index, column, converters in turned:
        for convert in converters:
            values[index] = convert(values[index], column, connection)
    return model.from_db(connection.alias, names, values)


@cache
def _insert(model: type[Model]) -> str:
    columns = ", ".join(f'"{field.column}"' for field in _fields(model))
    places = ", ".join(["%s"] * len(_fields(model)))
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES ({places})'  # noqa: S608


@cache
def _insert_where(model: type[Model], held: str) -> str:
    """As `_insert`, where the query `held` has a row: the values need their types then, which VALUES gives them."""
    columns = ", ".join(f'"{field.column}"' for field in _fields(model))
    # Without their lengths: a cast would cut a text where the column refuses it.
    types = [str(field.cast_db_type(connection)).partition("(")[0] for field in _fields(model)]
    places = ", ".join(f"%s::{name}" for name in types)
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) SELECT {places} FROM {held}'  # noqa: S608


@cache
def _update(model: type[Model], names: frozenset[str]) -> str:
    columns = ", ".join(f'"{field.column}" = %s' for field in _fields(model) if field.name in names)
    return f'UPDATE "{model._meta.db_table}" SET {columns} WHERE "id" = %s'  # noqa: S608


@cache
def _names(model: type[Model]) -> frozenset[str]:
    return frozenset(field.name for field in _fields(model))


def _values(row: Model, names: frozenset[str]) -> list[Any]:
    wire = connections[DEFAULT_DB_ALIAS]  # `connection` looks it up anew each time that it is asked for something
    return [
        field.get_db_prep_save(getattr(row, field.attname), wire) for field in _fields(type(row)) if field.name in names
    ]


def _first(
    models: tuple[type[Model], ...], rest: str, params: Sequence[Any], lock: bool = False, more: str = ""
) -> Sequence[Any] | None:
    if lock and connection.features.has_select_for_update:
        rest += f' FOR UPDATE OF "{models[0]._meta.db_table}"'
    select = _select(*models) if not more else _select(*models).replace(" FROM ", f", {more} FROM ", 1)
    with connection.cursor() as cursor:
        cursor.execute(select + rest, params)
        found: Sequence[Any] | None = cursor.fetchone()
    return found


def asked_first(ask: Callable[[], T]) -> T:
    """What the first statement of a request comes to, which may be run twice.

    It is the check whether a connection that was kept still works, so that none is made besides: where the database has
    gone meanwhile, it is asked once more.
    """
    wire = cast(Any, connection)
    unsure = wire.connection is not None and not wire.in_atomic_block and not wire.health_check_done
    wire.health_check_done = True
    try:
        return ask()
    except (OperationalError, InterfaceError):
        if not unsure:
            raise
        connection.close()
        return ask()


def select_one(model: type[M], rest: str, params: Sequence[Any], lock: bool = False) -> M | None:
    """The first row of `SELECT … FROM model <rest>`, or None. `lock`: keep others from it until the transaction ends.

    SQLite knows no row locks and needs none: a transaction here takes the lock on the whole file when it begins.
    """
    found = _first((model,), rest, params, lock)
    return None if found is None else _row(model, found)


def select_all(model: type[M], rest: str, params: Sequence[Any]) -> list[M]:
    """The rows of `SELECT … FROM model <rest>`."""
    with connection.cursor() as cursor:
        cursor.execute(_select(model) + rest, params)
        return [_row(model, values) for values in cursor.fetchall()]


def keys_by(model: type[Model], column: str, rest: str, params: Sequence[Any]) -> dict[Any, int]:
    """The primary keys of the rows of `SELECT … FROM model <rest>`, by the value of a column."""
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT "{column}", "id" FROM "{model._meta.db_table}" {rest}', params)  # noqa: S608  # our names
        return dict(cursor.fetchall())


def select_pair(
    model: type[M], other: type[N], rest: str, params: Sequence[Any], lock: bool = False
) -> tuple[M, N | None] | None:
    """As `select_one`, with the row of `other` that `rest` joins; None for it where a LEFT JOIN finds none.

    `lock` is about the row of `model` alone. Columns in `rest` are named with their table.
    """
    found = _first((model, other), rest, params, lock)
    return None if found is None else _pair(model, other, found)


def select_pair_and(
    model: type[M], other: type[N], more: str, rest: str, params: Sequence[Any], lock: bool = False
) -> tuple[M, N | None, Any] | None:
    """As `select_pair`, with the value of one further column, the SQL expression `more`; its parameters come first.

    `lock`: `more` may be from before the wait for the lock, while the rows never are.
    """
    found = _first((model, other), rest, params, lock, more)
    return None if found is None else (*_pair(model, other, found[:-1]), found[-1])


def _pair(model: type[M], other: type[N], found: Sequence[Any]) -> tuple[M, N | None]:
    size = len(model._meta.local_concrete_fields)
    return _row(model, found[:size]), None if found[size] is None else _row(other, found[size:])


#: A statement and its parameters.
Statement = tuple[str, Sequence[Any]]
#: A row to be saved and the names of the fields that changed; None: all of them.
Change = tuple[Model, Collection[str] | None]


def save(row: Model) -> None:
    """Insert a row without primary key, which it is given, or update all columns of one that has it."""
    save_all([(row, None)])


#: What a row is told apart by from what it was and will be, in PostgreSQL: its place and the transaction that wrote it.
_VERSION: Final = "{0}ctid::text || ' ' || {0}xmin::text"


def version(model: type[Model]) -> str:
    """The SQL expression for the stored version of a row, on PostgreSQL: another one after each change."""
    return _VERSION.format(f'"{model._meta.db_table}".')


def save_all(changed: Sequence[Change]) -> list[tuple[Model, str]]:
    """Save several rows: new ones whole, of others the named fields (None: all).

    PostgreSQL gets all of it as one statement: no row may come twice, or need the new primary key of another. It
    answers with the new version (see `version`) of each row that was written; SQLite with none.
    """
    statements, written = _statements(changed)
    if not statements:
        return []
    if connection.vendor == "postgresql":
        return _taken_in(written, _run_together(statements))
    keys = []
    with connection.cursor() as cursor:
        for sql, params in statements:
            if sql.startswith("INSERT"):
                cursor.execute(f'{sql} RETURNING "id"', params)
                keys.append(cursor.fetchone()[0])
            else:
                cursor.execute(sql, params)
    for row, key in zip([row for row in written if row.pk is None], keys, strict=True):
        _inserted(row, key)
    return []


def save_where(
    first: Model, names: Collection[str], where: Statement, changed: Sequence[Change]
) -> list[tuple[Model, str]] | None:
    """Update the row `first` where a condition holds, and only then save the others too; None: nothing was written.

    On PostgreSQL, as one statement, which needs no transaction around it. Of two that run at once the later one looks
    at the condition with the row as the other has left it. Otherwise as `save_all`.
    """
    fields = _names(type(first)).intersection(names)
    condition, params = where
    statements: list[Statement] = [
        (f"{_update(type(first), fields)} AND ({condition})", [*_values(first, fields), first.pk, *params])
    ]
    others, written = _statements(changed, held="w0")
    found = _run_together(statements + others)
    return None if found[0] is None else _taken_in([first, *written], found)


def _statements(changed: Sequence[Change], held: str = "") -> tuple[list[Statement], list[Model]]:
    """What saves the rows, and those that it will write. `held`: where the query of this name has a row."""
    statements: list[Statement] = []
    written: list[Model] = []
    for row, wanted in changed:
        model = type(row)
        if row.pk is None:
            statements.append((_insert_where(model, held) if held else _insert(model), _values(row, _names(model))))
            written.append(row)
            continue
        names = _names(model) if wanted is None else _names(model).intersection(wanted)
        if names:
            sql = _update(model, names) + (f" AND EXISTS (SELECT 1 FROM {held})" if held else "")  # noqa: S608
            statements.append((sql, [*_values(row, names), row.pk]))
            written.append(row)
    return statements, written


def _run_together(statements: Sequence[Statement]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(_together(tuple(sql for sql, _ in statements)), [one for _, some in statements for one in some])
        answer: list[Any] = cursor.fetchone()[0]
        return answer


def _taken_in(written: Sequence[Model], found: Sequence[str]) -> list[tuple[Model, str]]:
    """Give the new rows their primary keys; every row with its version."""
    for row, key in zip(written, found[::2], strict=True):
        if row.pk is None:
            _inserted(row, int(key))
    return list(zip(written, found[1::2], strict=True))


def _inserted(row: Model, key: int) -> None:
    row.pk = key
    row._state.adding, row._state.db = False, connection.alias


@lru_cache(maxsize=512)
def _together(statements: tuple[str, ...]) -> str:
    """One statement that does them all and answers with primary key and version of the row that each of them wrote."""
    returned = f'"id", {_VERSION.format("")} AS "version"'
    parts = [f"w{n} AS ({sql} RETURNING {returned})" for n, sql in enumerate(statements)]
    # One array: a row of an answer can have no more than 1664 columns.
    asked = ", ".join(
        f'(SELECT "id"::text FROM w{n}), (SELECT "version" FROM w{n})'  # noqa: S608
        for n in range(len(statements))
    )
    return f"WITH {', '.join(parts)} SELECT ARRAY[{asked}]"


def insert_values(model: type[Model], columns: Sequence[str], values: Sequence[Sequence[Any]]) -> None:
    """Insert many rows from values that are ready for the database (see `prepared_time`)."""
    names = ", ".join(f'"{column}"' for column in columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f'COPY "{model._meta.db_table}" ({names}) FROM STDIN') as copy:
                for row in values:
                    copy.write_row(row)
            return
        statement = f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES '  # noqa: S608
        cursor.executemany(f"{statement}({', '.join(['%s'] * len(columns))})", values)


def copy_lines(model: type[Model], columns: Sequence[str], lines: Iterable[str]) -> None:
    """Insert many rows from lines of PostgreSQL's text format for COPY (see `copy_text`), each with its line feed.

    The server takes the rows in while further lines are made.
    """
    names = ", ".join(f'"{column}"' for column in columns)
    rest = iter(lines)
    with connection.cursor() as cursor, cursor.copy(f'COPY "{model._meta.db_table}" ({names}) FROM STDIN') as copy:
        while block := "".join(islice(rest, 200)):
            copy.write(block)


_plain_for_copy = re.compile(r"[\\\t\n\r]").search
_COPY_ESCAPES: Final = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def copy_text(text: str | None) -> str:
    """A value as it stands in a line for `copy_lines`."""
    if text is None:
        return r"\N"
    return text if _plain_for_copy(text) is None else text.translate(_COPY_ESCAPES)


def prepared_time(at: dt.datetime) -> Any:
    """A time as `insert_values` wants it: what Django would write, an import's worth of times faster."""
    if connection.vendor != "sqlite":
        return at
    return at.astimezone(connection.timezone).replace(tzinfo=None).isoformat(" ")

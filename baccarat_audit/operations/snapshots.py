"""The database as one file, and back again: PostgreSQL by its own programs, SQLite by its own copying.

A snapshot is of one moment, while others go on writing. What stands in the manifest beside it (heads of the logs, rows
of each table, migrations) is read in that very moment: on PostgreSQL in the transaction whose snapshot pg_dump takes
over, on SQLite from the copy itself.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

#: A schema change holds a table for that long at most (see `migrating`); the dump waits for it, and no longer.
DUMP_WAITS: Final = "60s"
#: What a restore with --replace sets aside, on PostgreSQL a schema of this name and the time.
ASIDE: Final = "before_restore"

Head = dict[str, Any]


class SnapshotError(Exception):
    """Could not be made or put back; the text says why, for the person at the keyboard."""


@dataclass(frozen=True)
class Contents:
    """What is in a database at one moment."""

    migrations: list[tuple[str, str]]
    heads: dict[str, Head]  # of each table's log: events, head (hash of the last), last_at
    rows: dict[str, int]  # of each table of the database


_HEADS: Final = "SELECT code, last_seq, last_hash, last_at FROM dealing_table ORDER BY code"
_MIGRATIONS: Final = "SELECT app, name FROM django_migrations ORDER BY id"


def _contents(cursor: Any, tables: list[str]) -> Contents:
    if "dealing_table" not in tables or "django_migrations" not in tables:
        raise SnapshotError("there is nothing to back up: the database has no tables of this product")
    cursor.execute(_MIGRATIONS)
    migrations = [(app, name) for app, name in cursor.fetchall()]
    cursor.execute(_HEADS)
    heads = {
        code: {"events": seq, "head": head, "last_at": at and str(at)} for code, seq, head, at in cursor.fetchall()
    }
    rows = {}
    for table in sorted(tables):
        cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608  # a name that the database gave
        rows[table] = cursor.fetchone()[0]
    return Contents(migrations, heads, rows)


def counted() -> dict[str, int]:
    """The rows of each table of the database, now."""
    with connection.cursor() as cursor:
        return _contents(cursor, connection.introspection.table_names(cursor)).rows


# PostgreSQL.


def _program(name: str) -> str:
    """Where a program of PostgreSQL is. Raises `SnapshotError` where it is not there."""
    found = shutil.which(name)
    if found is None:
        raise SnapshotError(
            f"{name} is not installed. It comes with PostgreSQL's client programs, on Debian in postgresql-client-"
            f"{connection.pg_version // 10000}"  # type: ignore[attr-defined]  # of PostgreSQL's wrapper
        )
    return found


def _fitting(name: str) -> str:
    """The same, of a version that understands the server."""
    program, server = _program(name), connection.pg_version // 10000  # type: ignore[attr-defined]
    said = _run([program, "--version"]).strip()
    number = re.search(r"(\d+)", said)
    if number is None or int(number[1]) < server:
        raise SnapshotError(
            f"{name} is too old for the server, which is PostgreSQL {server}; it says {said!r}. "
            f"Install postgresql-client-{server}"
        )
    return program


def _run(command: list[str], env: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(  # noqa: S603  # our own programs, no shell
            command, env={**os.environ, **(env or {}), "LC_ALL": "C"}, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise SnapshotError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line]
        raise SnapshotError(f"{Path(command[0]).name}: {' / '.join(lines[:3]) or f'ended with {done.returncode}'}")
    return done.stdout


def _who_and_where(database: str | None = None) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment by which PostgreSQL's programs reach the database; no password among the arguments."""
    settings = {**connection.settings_dict, **({"NAME": database} if database else {})}
    (_, *arguments), env = connection.client_class.settings_to_cmd_args_env(settings, [])
    return ["--no-password", *arguments[:-1], f"--dbname={arguments[-1]}"], env or {}


@contextmanager
def _one_moment() -> Iterator[tuple[Any, str]]:
    """A cursor in a transaction that reads one moment, and the name by which pg_dump reads the same."""
    other: BaseDatabaseWrapper = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_export_snapshot()")
            yield cursor, cursor.fetchone()[0]
    finally:
        other.close()


def _dump_postgresql(file: Path) -> Contents:
    program = _fitting("pg_dump")
    arguments, env = _who_and_where()
    with _one_moment() as (cursor, snapshot):
        contents = _contents(cursor, connection.introspection.table_names(cursor))
        command = [
            program,
            *arguments,
            "--format=custom",
            f"--snapshot={snapshot}",
            f"--lock-wait-timeout={DUMP_WAITS}",
        ]
        _run([*command, f"--exclude-schema={ASIDE}_*", f"--file={file}"], env)
    return contents


def _empty_postgresql() -> bool:
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor)


def _set_aside_postgresql(stamp: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(nullif(application_name, ''), usename::text), host(client_addr) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        others = [name if address is None else f"{name} from {address}" for name, address in cursor.fetchall()]
        if others:
            raise SnapshotError(
                f"others are connected to this database ({', '.join(sorted(set(others)))}): stop the services first"
            )
        name = f"{ASIDE}_{stamp.lower().replace('-', '')}"
        cursor.execute(f'ALTER SCHEMA public RENAME TO "{name}"')
        cursor.execute("CREATE SCHEMA public")
    return name


def _bring_back_postgresql(name: str) -> None:
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute(f'ALTER SCHEMA "{name}" RENAME TO public')


def _load_postgresql(file: Path) -> None:
    program = _fitting("pg_restore")
    arguments, env = _who_and_where()
    command = [program, *arguments, "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    _run([*command, str(file)], env)
    connection.close()


# SQLite.


def _sqlite_file() -> Path:
    return Path(connection.settings_dict["NAME"])


def _dump_sqlite(file: Path) -> Contents:
    try:
        with (
            closing(sqlite3.connect(_sqlite_file(), timeout=20)) as source,
            closing(sqlite3.connect(file, isolation_level=None)) as copy,
        ):
            source.backup(copy)  # all pages in one step: of one moment, and writers go on
            copy.execute("PRAGMA journal_mode=DELETE")
            wrong = [line for (line,) in copy.execute("PRAGMA quick_check") if line != "ok"]
            if wrong:
                raise SnapshotError(f"the database is damaged: {'; '.join(wrong[:3])}")
            names = copy.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite#_%' ESCAPE '#'"
            )
            return _contents(copy.cursor(), [name for (name,) in names.fetchall()])
    except sqlite3.Error as error:
        raise SnapshotError(f"SQLite: {error}") from error


def _empty_sqlite() -> bool:
    if not _sqlite_file().exists():
        return True
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor)


def _set_aside_sqlite(stamp: str) -> str:
    file = _sqlite_file()
    connection.close()
    try:
        with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as alone:
            # Only who is alone can leave the mode in which readers and the writer share the file.
            alone.execute("PRAGMA journal_mode=DELETE").fetchall()
    except sqlite3.Error as error:
        raise SnapshotError(f"{file} is in use ({error}): stop the services first") from error
    aside = file.with_name(f"{file.name}.{ASIDE}_{stamp}")
    os.rename(file, aside)
    return str(aside)


def _bring_back_sqlite(name: str) -> None:
    connection.close()
    os.replace(name, _sqlite_file())


def _load_sqlite(file: Path) -> None:
    connection.close()
    target = _sqlite_file()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    try:
        shutil.copyfile(file, partial)
        with open(partial, "rb+") as written:
            os.fsync(written.fileno())
        for rest in ("-wal", "-shm"):  # of an empty database that was here: they would be read into the new one
            target.with_name(target.name + rest).unlink(missing_ok=True)
        os.replace(partial, target)
    except OSError as error:
        raise SnapshotError(f"{target}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


# Either.

_SUFFIX: Final = {"postgresql": ".dump", "sqlite": ".sqlite3"}


def vendor() -> str:
    """`postgresql` or `sqlite`. Raises `SnapshotError` for any other database."""
    if connection.vendor not in _SUFFIX:
        raise SnapshotError(f"no backup is written for {connection.vendor}")
    return str(connection.vendor)


def file_name() -> str:
    """What the database is called in a backup."""
    return f"database{_SUFFIX[vendor()]}"


def server_version() -> str:
    """What made the snapshot: `PostgreSQL 15`."""
    if vendor() == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    connection.ensure_connection()
    return f"PostgreSQL {connection.pg_version // 10000}"  # type: ignore[attr-defined]


def dump(file: Path) -> Contents:
    """Write the database of one moment into `file`, while others write. Raises `SnapshotError`."""
    if vendor() == "sqlite":
        return _dump_sqlite(file)
    connection.ensure_connection()
    return _dump_postgresql(file)


def is_empty() -> bool:
    """Whether there is nothing in the database yet, no table at all."""
    return _empty_sqlite() if vendor() == "sqlite" else _empty_postgresql()


def set_aside(stamp: str) -> str:
    """Make the database empty and keep what was in it; how that is called. Raises `SnapshotError`.

    On PostgreSQL it is a schema of the same database, on SQLite a file beside.
    """
    return _set_aside_sqlite(stamp) if vendor() == "sqlite" else _set_aside_postgresql(stamp)


def bring_back(name: str) -> None:
    """Undo `set_aside`."""
    (_bring_back_sqlite if vendor() == "sqlite" else _bring_back_postgresql)(name)


def load(file: Path) -> None:
    """Put a snapshot into the empty database: all of it or nothing. Raises `SnapshotError`."""
    (_load_sqlite if vendor() == "sqlite" else _load_postgresql)(file)


def address(name: str) -> str:
    """What DATABASE_URL would be for a database of that name on the same server; on SQLite `name` is a file."""
    if vendor() == "sqlite":
        return f"sqlite:///{quote(name)}"
    settings = connection.settings_dict
    user, password = quote(settings["USER"] or "", safe=""), quote(settings["PASSWORD"] or "", safe="")
    who = f"{user}:{password}" if password else user
    where = quote(settings["HOST"] or "", safe="") + (f":{settings['PORT']}" if settings["PORT"] else "")
    options = {key: value for key, value in settings["OPTIONS"].items() if isinstance(value, str)}
    return f"postgres://{who}@{where}/{quote(name)}" + (f"?{urlencode(options)}" if options else "")


@contextmanager
def scratch(folder: Path, stamp: str) -> Iterator[str]:
    """The address (as in DATABASE_URL) of an empty database that is gone afterwards; on SQLite it is in `folder`."""
    if vendor() == "sqlite":
        yield address(str(folder / "db.sqlite3"))
        return
    name = f"{str(connection.settings_dict['NAME'])[:30]}_verify_{stamp.lower().replace('-', '')}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user")
        if cursor.fetchone() != (True,):
            raise SnapshotError(
                "--verify needs a database of its own, and this role may make none: ALTER ROLE … CREATEDB, "
                "or restore the backup elsewhere"
            )
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # of a trial that was killed
        cursor.execute(f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'")
    try:
        yield address(name)
    finally:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

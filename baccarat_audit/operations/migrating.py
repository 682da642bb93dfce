"""Schema changes while people record, on PostgreSQL.

A statement that changes a table waits for everybody who is at it, and everybody who comes later waits behind it. So it
waits `MIGRATE_LOCK_SECONDS` at most, gives way, and the migration is tried again, for `MIGRATE_PATIENCE` in all. Which
statements may run at all on a table that grows with every hand is said by `tests/test_ops_migrations.py`.

One `migrate` at a time: a second one waits for the first, as when two containers start together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from django.conf import settings
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

#: Fixed for ever: what a `migrate` holds while it runs. Any number that no other program uses.
LOCK: Final = 0x62616363
LOCK_NOT_AVAILABLE: Final = "55P03"
FIRST_PAUSE: Final = 0.5  # seconds; then twice as long each time
LONGEST_PAUSE: Final = 15.0


class GaveUp(Exception):
    """The schema change could not be made in the time there was; nothing of that step was changed."""


def gave_way(error: OperationalError) -> bool:
    """Whether a statement failed because it had waited for a lock for as long as it may."""
    return getattr(error.__cause__, "sqlstate", None) == LOCK_NOT_AVAILABLE


@contextmanager
def _alone(connection: BaseDatabaseWrapper, until: float) -> Iterator[None]:
    # Asked again and again, never waited for: a waiting statement holds up CREATE INDEX CONCURRENTLY in the first.
    with connection.cursor() as cursor:
        while True:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
            if cursor.fetchone() == (True,):
                break
            if time.monotonic() >= until:
                raise GaveUp("another migrate is running; try again when it is done")
            time.sleep(FIRST_PAUSE)
    try:
        yield
    finally:
        if connection.connection is not None and not connection.connection.closed:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _drop_half_made(connection: BaseDatabaseWrapper) -> None:
    """Remove indexes whose concurrent making was given up: they are in the way of the next try, and of no use."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
            "WHERE NOT i.indisvalid AND pg_table_is_visible(c.oid)"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"')


def patiently(connection: BaseDatabaseWrapper, migrate: Callable[[], None], say: Callable[[str], None]) -> None:
    """Run `migrate` so that it never makes people wait for long. Raises `GaveUp`."""
    until = time.monotonic() + settings.MIGRATE_PATIENCE
    pause = FIRST_PAUSE
    with _alone(connection, until):
        try:
            while True:
                with connection.cursor() as cursor:
                    cursor.execute(f"SET lock_timeout = {int(settings.MIGRATE_LOCK_SECONDS * 1000)}")
                try:
                    _drop_half_made(connection)
                    migrate()
                    return
                except OperationalError as error:
                    if not gave_way(error):
                        raise
                    if time.monotonic() + pause >= until:
                        raise GaveUp(
                            f"others held a table for more than {settings.MIGRATE_LOCK_SECONDS:g} s each time, for "
                            f"{settings.MIGRATE_PATIENCE:g} s in all ({str(error.__cause__).strip()}). "
                            "What was done stays; look for long transactions in pg_stat_activity, and run migrate again"
                        ) from error
                    say(f"others are at a table: given way to them, again in {pause:g} s")
                    time.sleep(pause)
                    pause = min(pause * 2, LONGEST_PAUSE)
        finally:
            if connection.connection is not None and not connection.connection.closed:
                with connection.cursor() as cursor:
                    cursor.execute("RESET lock_timeout")

"""Putting a backup back, and finding out whether what came back is what was backed up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from . import snapshots
from .backups import FILES, FOLDERS, Backup, BackupError, damage, stamp
from .snapshots import ASIDE, SnapshotError

#: As many wrong things of a kind are named; the rest is counted.
NAMED: Final = 5


def check(backup: Backup, *, replace: bool) -> None:
    """Raise `BackupError` where this backup cannot be put back here. Nothing is changed."""
    wrong = damage(backup)
    if wrong:
        more = f", and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        raise BackupError(f"the backup is damaged: {'; '.join(wrong[:NAMED])}{more}")
    if backup.manifest.vendor != snapshots.vendor():
        raise BackupError(f"the backup is of {backup.manifest.server}, and DATABASE_URL names {snapshots.vendor()}")
    known = set(MigrationLoader(None).disk_migrations)
    newer = [f"{app} {name}" for app, name in backup.manifest.migrations if (app, name) not in known]
    if newer:
        raise BackupError(
            f"the backup was made by a newer version of the product, with migrations that are unknown here: "
            f"{', '.join(newer[:NAMED])}"
        )
    if not replace:
        _check_room()


def _check_room() -> None:
    if not snapshots.is_empty():
        raise BackupError("the database is not empty; --replace sets aside what is in it")
    for name in FOLDERS:
        folder = Path(settings.VAR_DIR) / name
        if folder.is_dir() and any(path.is_file() for path in folder.rglob("*")):
            raise BackupError(f"{folder} is not empty; --replace sets it aside")


def put_back(backup: Backup) -> list[str]:
    """The database and the files of a backup into place; what was there is set aside, and how that is called is told.

    Raises `BackupError`; then everything is as it was.
    """
    mark = stamp(timezone.now())
    undo: list[tuple[Path, Path]] = []
    database: str | None = None
    try:
        if not snapshots.is_empty():
            database = snapshots.set_aside(mark)
        snapshots.load(backup.database)
        rows = snapshots.counted()
        differing = [name for name, count in backup.manifest.rows.items() if rows.get(name) != count]
        if differing:
            raise BackupError(f"not all rows came back: {', '.join(differing[:NAMED])}")
        for name in FOLDERS:
            _put_folder(backup.folder / FILES / name, Path(settings.VAR_DIR) / name, mark, undo)
    except BaseException as error:
        for place, aside in reversed(undo):
            shutil.rmtree(place, ignore_errors=True)
            if aside.exists():
                os.rename(aside, place)
        if database is not None:
            snapshots.bring_back(database)
        if isinstance(error, (SnapshotError, DatabaseError)):
            raise BackupError(str(error)) from error
        if isinstance(error, OSError):
            raise BackupError(_why(error)) from error
        raise
    kept = [] if database is None else [_how_kept(database)]
    return kept + [f"{place} as it was is kept as {aside}" for place, aside in undo if aside.exists()]


def _why(error: OSError) -> str:
    if isinstance(error, shutil.Error):  # of a folder: (from, to, reason) of each file
        return "; ".join(f"{target}: {reason}" for _, target, reason in error.args[0][:NAMED])
    return f"{error.filename}: {error.strerror}"


def _how_kept(database: str) -> str:
    if connection.vendor == "sqlite":
        return f"the database as it was is kept as {database}"
    return f"the database as it was is kept in its schema {database}; remove it with DROP SCHEMA {database} CASCADE"


def _put_folder(source: Path, place: Path, mark: str, undo: list[tuple[Path, Path]]) -> None:
    aside = place.with_name(f"{place.name}.{ASIDE}_{mark}")
    undo.append((place, aside))
    if place.is_dir() and any(place.iterdir()):
        os.rename(place, aside)
    if source.is_dir():
        shutil.copytree(source, place, dirs_exist_ok=True)


def migrate() -> bool:
    """Bring an older schema up to date; whether it was older."""
    loader = MigrationLoader(connection)
    if set(loader.disk_migrations) <= set(loader.applied_migrations):
        return False
    call_command("migrate", verbosity=0, interactive=False)
    return True


def faults(backup: Backup) -> Iterator[str]:
    """What is not as the manifest says: the end of each table's log, and files that rows speak of.

    Whether the logs themselves are whole is for `verify_log` to say.
    """
    from dealing.models import Table
    from incidents.attachments import open_checked
    from incidents.models import IncidentAttachment

    heads = {table.code: (table.last_seq, table.last_hash) for table in Table.objects.all()}
    for code, said in backup.manifest.heads.items():
        events, head = heads.pop(code, (None, None))
        if (events, head) != (said["events"], said["head"]):
            expected = f"{said['events']}, hash {said['head']}"
            yield f"{code}: ends at event {events}, hash {head}; the backup was made at {expected}"
    for code in heads:
        yield f"{code}: is a table that the backup knows nothing of"
    for attachment in IncidentAttachment.objects.iterator():
        file = open_checked(attachment.stored, attachment.sha256)
        if file is None:
            yield f"attachment {attachment.stored} of an incident is missing or is not what was stored"
        else:
            file.close()

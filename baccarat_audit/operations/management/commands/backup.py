"""`manage.py backup FOLDER`: the database of one moment and the files kept beside it, while recording goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from baccarat_audit.operations.backups import NOT_IN_IT, BackupError, make, prune, rehearse
from dealing.management.streams import LogCommand


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


class Command(LogCommand):
    help = (
        "Make a backup in a folder of backups: the database of one moment, attachments and files of reports, and a "
        "manifest with the head of each table's log. Recording goes on meanwhile. Keys are not in it. "
        "Exit 0: done; 1: made, and --verify found something wrong; 2: not made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder of backups; each gets its own in it")
        parser.add_argument(
            "--keep", type=_count, metavar="N", help="remove all whole backups in FOLDER but the newest N"
        )
        parser.add_argument(
            "--verify", action="store_true", help="then restore it into a database that is thrown away, and verify that"
        )
        parser.add_argument(
            "--projections", action="store_true", help="with --verify, also judge the logs again, which takes longer"
        )

    def handle(
        self, *args: Any, folder: Path, keep: int | None, verify: bool, projections: bool, **options: Any
    ) -> None:
        try:
            backup = make(folder)
            manifest = backup.manifest
            events = sum(head["events"] for head in manifest.heads.values())
            self.stdout.write(
                f"{backup.folder}: {events} events of {len(manifest.heads)} tables, {len(manifest.files)} files, "
                f"{manifest.database['size']} bytes of {manifest.server}"
            )
            for code, head in manifest.heads.items():
                self.stdout.write(f"{code}: {head['events']} events; head {head['head']}")
            if verify:
                well, said = rehearse(backup, projections=projections)
                self.stdout.write(said)
                if not well:
                    raise SystemExit(1)
            # Nothing older is removed before the new one is known to be good.
            removed = [] if keep is None else prune(folder, keep)
        except BackupError as error:
            raise CommandError(str(error)) from error
        for old in removed:
            self.stdout.write(f"{old}: removed")
        self.stdout.write(NOT_IN_IT)

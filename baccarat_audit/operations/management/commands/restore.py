"""`manage.py restore FOLDER`: a backup into this database, verified."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from baccarat_audit.operations.backups import BackupError, find
from baccarat_audit.operations.restores import check, faults, migrate, put_back
from dealing.management.streams import LogCommand


class Command(LogCommand):
    help = (
        "Put a backup back into the database that DATABASE_URL names and the files into VAR_DIR, bring an older schema "
        "up to date, walk every log, compare with the manifest. Stop the services first. Exit 0: restored and clean; "
        "1: restored, and something is wrong (named); 2: not restored, everything is as it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="a backup, or a folder of backups: the newest")
        parser.add_argument("--replace", action="store_true", help="set aside what is in the database and in VAR_DIR")
        parser.add_argument("--projections", action="store_true", help="also judge the logs again, which takes longer")
        parser.add_argument(
            "--then-log",
            action="append",
            default=[],
            metavar="FILE",
            help="then store this log, of events since the backup; what is there already is not stored twice. "
            "May be given several times",
        )

    def handle(
        self, *args: Any, folder: Path, replace: bool, projections: bool, then_log: list[str], **options: Any
    ) -> None:
        missing = [name for name in then_log if not Path(name).is_file()]
        if missing:
            raise CommandError(f"there is no file {', '.join(missing)}")
        try:
            backup = find(folder)
            check(backup, replace=replace)
            kept = put_back(backup)
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{backup.folder}: restored, as it was at {backup.manifest.made_at}")
        for line in kept:
            self.stdout.write(line)
        if migrate():
            self.stdout.write("the schema of the backup was older, and is up to date now")
        wrong = list(faults(backup))
        for fault in wrong:
            self.stdout.write(self.style.ERROR(fault))
        clean = not wrong
        for name in then_log:
            clean = self._passes("import_log", name, "--actor", "restore") and clean
        clean = self._passes("verify_log", *(["--projections"] if projections else [])) and clean
        if not clean:
            self.stdout.write(self.style.ERROR("restored, and not all of it is as it should be"))
            sys.exit(1)
        self.stdout.write("clean")

    def _passes(self, *command: str) -> bool:
        try:
            call_command(*command, stdout=self.stdout, stderr=self.stderr)
        except SystemExit as left:
            return not left.code
        return True

"""`manage.py import_log FILE`: a log file into the database."""

from __future__ import annotations

import sys
import time
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser

from dealing.importer import NoVenueError, Report, import_log
from dealing.management.streams import FAILED, LogCommand, standard_input
from dealing.models import Venue

#: Seconds between two lines of progress.
PROGRESS = 2.0


class Command(LogCommand):
    help = (
        "Store a log file: each hand whole or not at all, nothing twice. Exit 0: all of it is stored; "
        "2: something was refused (named on standard error) and the rest is stored, or nothing could be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="JSON lines; - is standard input")
        parser.add_argument(
            "--actor", default="import", metavar="NAME", help="who stands as recorder (default: import)"
        )
        parser.add_argument("--create-tables", action="store_true", help="make tables that are not there")
        parser.add_argument("--venue", metavar="CODE", help="the venue of tables that are made (default: the only one)")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        if file == "-":
            self._import(standard_input(), **options)
            return
        try:
            stream = open(file, "rb")  # noqa: SIM115  # closed below; a failure to open is told apart from one to read
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error
        with stream:
            self._import(stream, **options)

    def _import(self, stream: BinaryIO, actor: str, create_tables: bool, venue: str | None, **options: Any) -> None:
        house = None
        if venue is not None:
            house = Venue.objects.filter(code=venue).first()
            if house is None:
                raise CommandError(f"there is no venue {venue}")
        started = last = time.monotonic()

        def progress(report: Report) -> None:
            nonlocal last
            if time.monotonic() - last >= PROGRESS:
                last = time.monotonic()
                rate = report.events / (last - started)
                self.stderr.write(f"line {report.lines}: {report.events} events stored, {rate:.0f} a second")

        try:
            report = import_log(stream, actor=actor, create_tables=create_tables, venue=house, progress=progress)
        except NoVenueError as error:
            raise CommandError("there are several venues: say with --venue in which the tables are made") from error
        for refusal in report.refusals:
            self.stderr.write(str(refusal))
        self.stdout.write(
            f"{report.read} hands read: {report.stored} stored, {report.skipped} skipped (stored before), "
            f"{report.refused} refused; {report.events} events stored"
        )
        if report.refusals:
            numbers = ", ".join(str(refusal.number) for refusal in report.refusals)
            self.stdout.write(f"refused because of line {numbers}")
            sys.exit(FAILED)

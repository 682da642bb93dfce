"""`manage.py import_log FILE`: a log file into the database."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser

from dealing.import_jobs import MOST_JOBS, JobLostError, processors
from dealing.importer import NoVenueError, Report, import_log
from dealing.management.streams import FAILED, LogCommand, standard_input
from dealing.models import Venue

#: Seconds between two lines of progress.
PROGRESS = 2.0

#: A file of so many bytes is shared out among the processors.
LARGE = 16 << 20


def _size(stream: BinaryIO) -> int:
    """How many bytes are to be read; 0 where that is not known."""
    if not stream.seekable():
        return 0
    here = stream.tell()
    size = stream.seek(0, os.SEEK_END) - here
    stream.seek(here)
    return size


def _jobs(text: str) -> int:
    jobs = int(text)
    if not 1 <= jobs <= MOST_JOBS:
        raise ValueError
    return jobs


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
        parser.add_argument(
            "--jobs",
            type=_jobs,
            metavar="N",
            help="share the tables of the file out among N processes; what is stored and said is the same, whatever N. "
            "Of use on PostgreSQL and up to the number of processors, which the database shares; on SQLite one process "
            "does it all. Left out: one process, and for a file of more than 16 MB one a processor",
        )
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

    def _import(
        self,
        stream: BinaryIO,
        actor: str,
        create_tables: bool,
        venue: str | None,
        jobs: int | None,
        **options: Any,
    ) -> None:
        house = None
        if venue is not None:
            house = Venue.objects.filter(code=venue).first()
            if house is None:
                raise CommandError(f"there is no venue {venue}")
        if jobs is None:
            jobs = processors() if _size(stream) > LARGE else 1
        started = last = time.monotonic()

        def progress(report: Report) -> None:
            nonlocal last
            if time.monotonic() - last >= PROGRESS:
                last = time.monotonic()
                rate = report.events / (last - started)
                self.stderr.write(f"line {report.lines}: {report.events} events stored, {rate:.0f} a second")

        try:
            report = import_log(
                stream, actor=actor, create_tables=create_tables, venue=house, progress=progress, jobs=jobs
            )
        except NoVenueError as error:
            raise CommandError("there are several venues: say with --venue in which the tables are made") from error
        except JobLostError as error:
            raise CommandError(f"a process of the import was lost: {error}. The same again stores the rest") from error
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

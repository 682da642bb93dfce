"""`manage.py nightly_audit`: the whole nightly audit here and now, without workers; for cron where there are none."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealing.gaming_days import last_closed
from dealing.management.streams import FAILED, LogCommand
from dealing.models import Venue
from incidents.reports import runs
from incidents.reports.models import AuditReport, AuditRun

ATTENTION: Final = 1
#: Who a run was started by, where the command was told which day.
COMMAND: Final = "nightly_audit"


def _day(text: str) -> dt.date:
    try:
        return dt.datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a day; write it as 2026-07-31") from None


class Command(LogCommand):
    help = (
        "Audit gaming days that are over and make their reports, all of it here and now: every table judged again from "
        "its log, the hash chain walked, drawings, files and mails. Left to itself: every day of the last week that "
        "was not audited yet, days that failed, and days to which entries came since; then whatever an earlier one "
        "left undone: drawings, files, mails, the month. Where workers audit, or another such command does, it may run "
        "beside them: what they are at it waits for. Exit 0: done, and nothing wants attention; 1: done, and something "
        "does; 2: not done."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--date",
            type=_day,
            metavar="D",
            help="audit this gaming day, such as 2026-07-31, also where it has been audited; a report that would say "
            "the same again is not made",
        )
        parser.add_argument("--venue", metavar="V", help="code of the house; default: all houses")

    def handle(self, *args: Any, date: dt.date | None, venue: str | None, **options: Any) -> None:
        venues = list(Venue.objects.order_by("code"))
        if venue is not None:
            venues = [one for one in venues if one.code == venue]
            if not venues:
                known = ", ".join(Venue.objects.order_by("code").values_list("code", flat=True)) or "none"
                raise CommandError(f"there is no house {venue} (known: {known})", returncode=FAILED)
        if not venues:
            self.stdout.write("no houses")
        status = 0
        for one in venues:
            status = max(status, self._of_day(one, date) if date is not None else self._due(one))
        runs.see_to_reports(timezone.now(), later=False)
        if status:
            sys.exit(status)

    def _of_day(self, venue: Venue, day: dt.date) -> int:
        now = timezone.now()
        last = last_closed(venue, now)
        if day > last:
            return self._cannot(venue, day, f"this gaming day is not over; the last one that is: {last}")
        first = runs.first_day(venue)
        if first is None or day < first:
            since = "its log is empty" if first is None else f"its log begins on {first}"
            return self._cannot(venue, day, f"nothing had been recorded by that day; {since}")
        return self._carry_out(runs.start_by_hand(venue, day, by=COMMAND, send=False))

    def _cannot(self, venue: Venue, day: dt.date, why: str) -> int:
        self.stderr.write(self.style.ERROR(f"{venue.code} {day}: {why}"))
        return FAILED

    def _due(self, venue: Venue) -> int:
        now = timezone.now()
        status, done = 0, 0
        runs.note_days(venue, now)
        for run in AuditRun.objects.filter(of_day__venue=venue).exclude(status=AuditRun.Status.DONE):
            runs.retry(run, send=False)
            run.refresh_from_db()
            status, done = max(status, self._carry_out(run)), done + 1
        for of_day in runs.due_days(venue, now):
            # Another such command may have begun it in between.
            opened = runs.open_run(of_day, now, send=False) or of_day.runs.order_by("number").last()
            if opened is not None:
                status, done = max(status, self._carry_out(opened)), done + 1
        if not done:
            self.stdout.write(f"{venue.code}: nothing is due; audited up to {runs.closed_day(venue, now)}")
        return status

    def _carry_out(self, run: AuditRun) -> int:
        """Do a run and say what it came to."""
        day = run.of_day
        where = f"{day.venue.code} {day.day}"

        def held(until: dt.datetime) -> None:
            at = f"{until.astimezone(day.venue.zone):%H:%M:%S}"
            self.stdout.write(
                f"{where}: somebody else is at it; waiting (where they have stopped, this goes on at {at})"
            )
            self.stdout.flush()

        made = runs.carry_out(run, held=held)
        if run.status == AuditRun.Status.FAILED:
            self.stderr.write(self.style.ERROR(f"{where}: failed: {run.error}"))
            return FAILED
        if run.status == AuditRun.Status.RUNNING:
            self.stderr.write(self.style.ERROR(f"{where}: broken off, for the database did not answer; run it again"))
            return FAILED
        reports = AuditReport.objects.filter(venue=day.venue, day=day.day, kind=AuditReport.Kind.NIGHTLY)
        report = made or reports.order_by("revision").last()
        if report is None:
            return FAILED
        new = f"report {report.pk}, revision {report.revision}" + ("" if made else ", says the same already")
        things = "1 thing wants" if report.attention == 1 else f"{report.attention} things want"
        wants = f"{things} attention" if report.attention else "nothing wants attention"
        if report.flags:
            wants += f"; beyond chance: {report.flags}"
        self.stdout.write(
            f"{where}: {report.hands:,} hands, {report.findings:,} findings; "
            f"{self.style.WARNING(wants) if report.attention or report.flags else wants}; {new}"
        )
        return ATTENTION if report.attention or report.flags else 0

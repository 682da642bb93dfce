"""`manage.py send_reports`: the mails that wait, sent here and now; for cron where there are no workers."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from incidents.reports import deliver, files


class Command(BaseCommand):
    help = (
        "Send the mails of reports that wait and are due, and try again to keep files for which there was no room. "
        "Workers do this by themselves each minute. Exit 0: nothing is left to be tried again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        kept = files.make_again()
        if kept:
            self.stdout.write(f"{kept} files kept")
        outcome = deliver.send_waiting()
        self.stdout.write(f"{outcome.sent} mails sent, {outcome.later} to be tried again, {outcome.failed} given up")
        if outcome.later or outcome.failed:
            raise CommandError("not all mails went out; the reports' pages say why")

"""`manage.py beat_alive`: has the scheduler ticked of late? For health checks."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from dealing.management.streams import LogCommand
from incidents.reports.selectors import beat_ticked

#: So many ticks may be missing: a scheduler that was just started, or a database that was away.
MISSING = 3


class Command(LogCommand):
    help = "Exit 0 where the scheduler ticked within three times AUDIT_TICK, else 2."

    def handle(self, *args: Any, **options: Any) -> None:
        ticked = beat_ticked()
        if ticked is None:
            raise CommandError("the scheduler has never ticked")
        seconds = (timezone.now() - ticked).total_seconds()
        if seconds > MISSING * settings.AUDIT_TICK:
            raise CommandError(f"the scheduler last ticked {seconds:.0f} s ago")
        self.stdout.write(f"ticked {seconds:.0f} s ago")

"""`manage.py sign_heads`: sign how far the logs and trails have come, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dealing.management.streams import LogCommand
from dealing.models import Venue
from dealing.seal_keys import KeyFileError
from incidents.trail import heads


class Command(LogCommand):
    help = "Sign the heads of all logs and trails of each house, keep that, and print it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--venue", metavar="CODE", help="only this house")

    def handle(self, *args: Any, venue: str | None, **options: Any) -> None:
        venues = Venue.objects.order_by("code")
        if venue is not None:
            venues = venues.filter(code=venue)
            if not venues:
                raise CommandError(f"there is no house {venue}")
        for one in venues:
            try:
                self.stdout.write(heads.sign(one).printed)
            except KeyFileError as error:
                raise CommandError(str(error)) from error

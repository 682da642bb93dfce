"""`manage.py reset_second_factor NAME --by YOU`: for somebody who lost their second factor and their recovery codes."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from dealing.accounts import factors, operators
from dealing.management.streams import LogCommand


class Command(LogCommand):
    """Takes the second factors and recovery codes of a person away and ends their sessions."""

    help = (
        "Takes the second factors and recovery codes of a person away and ends their sessions. They log in with their "
        "password then; who needs a second factor sets a new one up at once. It is written to the security events."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose, and who asked for it."""
        parser.add_argument("name", help="the person's user name")
        parser.add_argument(
            "--by", required=True, metavar="YOU", help="user name of who does this, for the security events"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it. Raises CommandError where nobody has one of the names."""
        by = operators.checked(options["by"])
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"Nobody is called “{options['name']}” here.")
        there = factors.take_away(user, by)
        said = "has no second factor any more" if there else "had no second factor"
        self.stdout.write(f"{user.username} {said}; their sessions have ended.")

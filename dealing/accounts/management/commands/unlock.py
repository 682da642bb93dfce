"""`manage.py unlock NAME`: let somebody try again who is locked out after wrong passwords."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dealing.accounts import limits


class Command(BaseCommand):
    """Forgets wrong passwords."""

    help = "Forgets the wrong passwords of a name, or of an address, so that they may be tried again at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose."""
        parser.add_argument("name", nargs="?", help="the person's user name")
        parser.add_argument("--address", help="an address, instead of a name")
        parser.add_argument("--by", default="manage.py", help="who does this, for the security events")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it. Raises CommandError without a name or an address."""
        name, address, by = options["name"], options["address"], options["by"]
        if bool(name) == bool(address):
            raise CommandError("Give a user name, or --address and an address.")
        done = limits.unlock(name, by) if name else limits.unlock_address(address, by)
        self.stdout.write(f"{name or address} {'may try again now' if done else 'was not locked out'}.")

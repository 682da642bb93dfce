"""`manage.py unlock NAME`: let somebody try again who is locked out after wrong passwords."""

from __future__ import annotations

from argparse import ArgumentParser
from ipaddress import ip_address
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from dealing.accounts import limits, operators
from dealing.management.streams import LogCommand


class Command(LogCommand):
    """Forgets wrong passwords."""

    help = "Forgets the wrong passwords of a name, or of an address, so that they may be tried again at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose."""
        parser.add_argument("name", nargs="?", help="the person's user name")
        parser.add_argument("--address", help="an address, instead of a name")
        parser.add_argument("--by", metavar="YOU", help="user name of who does this, for the security events")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it. Raises CommandError without a name or an address, or for one that cannot be locked out."""
        name, address = options["name"], options["address"]
        if bool(name) == bool(address):
            raise CommandError("Give a user name, or --address and an address.")
        by = "manage.py" if options["by"] is None else operators.checked(options["by"])
        if name:
            done = limits.unlock(name, by)
            # A name that nobody has can be locked out too, for so it looks from outside.
            if not done and not User.objects.filter(username=name).exists():
                raise CommandError(f"Nobody is called “{name}” here.")
        else:
            done = limits.unlock_address(_address(address), by)
        self.stdout.write(f"{name or address} {'may try again now' if done else 'was not locked out'}.")


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise CommandError(f"{text} is no address such as 10.20.0.31") from None

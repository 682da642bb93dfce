"""`manage.py seal_key [show|rotate|begin]`: the keys that seal the log. A key itself is never shown."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser

from dealing import seal_keys, sealing
from dealing.accounts import operators
from dealing.management.streams import LogCommand
from incidents.trail import adopting


class Command(LogCommand):
    help = (
        "show: the ids of the keys that seal the log, and where they lie. rotate: seal with a new key from now on; the "
        "ones before still prove what they sealed. begin: say that what is recorded without a seal so far is older "
        "than the seals, and take rows into the trail that are not in it; needed only where an upgrade could not do it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=["show", "rotate", "begin"], default="show")
        parser.add_argument("--by", metavar="NAME", help="begin: user name of who says so; kept with it")

    def handle(self, *args: Any, action: str, by: str | None, **options: Any) -> None:
        try:
            if action == "rotate":
                seal_keys.sealing_key()
                made = seal_keys.make_key(another=True)
                self.stdout.write(f"from now on key {made.id} seals; keep a copy of {seal_keys.key_file()} in a safe")
                return
            if action == "begin":
                if by is None:
                    raise CommandError("begin is kept with who says so: add --by NAME")
                self._begin(operators.checked(by))
                return
            self._show()
        except seal_keys.KeyFileError as error:
            raise CommandError(str(error)) from error

    def _show(self) -> None:
        ring = seal_keys.ring()
        if ring is None:
            self.stdout.write(f"there is no key yet at {seal_keys.key_file()}: the first event recorded makes one")
            return
        for key in ring.ids:
            self.stdout.write(f"key {key}{' seals' if key == ring.newest.id else ''}")

    def _begin(self, by: str) -> None:
        seal_keys.sealing_key()
        for code, seq in sealing.begin_all(by):
            self.stdout.write(f"{code}: rows up to position {seq} are older than the seals")
        count = adopting.adopt(apps.get_model, by)
        self.stdout.write(f"{count} rows were taken into the trail")

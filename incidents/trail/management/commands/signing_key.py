"""`manage.py signing_key [show|make|rotate]`: the key that signs heads; its public part and fingerprint."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dealing.management.streams import LogCommand
from dealing.seal_keys import KeyFileError
from incidents.trail import signing


class Command(LogCommand):
    help = (
        "show: the public keys and their fingerprints, the one that signs last. make: make the key, where there is "
        "none. rotate: sign with a new key from now on; the public part of the one before is kept."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=["show", "make", "rotate"], default="show")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        try:
            there = signing.private_key() is not None
            if action == "make" and there:
                raise CommandError("there is a key already: rotate makes another one")
            if action != "show":
                signing.make_key(another=action == "rotate")
            keys = signing.trusted()
        except KeyFileError as error:
            raise CommandError(str(error)) from error
        if not keys:
            raise CommandError("there is no key yet: the first report makes one, or signing_key make")
        for fingerprint, key in keys.items():
            self.stdout.write(f"fingerprint {fingerprint}\n{signing.pem(key)}", ending="")

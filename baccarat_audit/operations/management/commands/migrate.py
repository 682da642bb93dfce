"""Django's `migrate`, which on PostgreSQL gives way to people who record: see `baccarat_audit.operations.migrating`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import connections

from baccarat_audit.operations.migrating import GaveUp, patiently


class Command(Migrate):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if connection.vendor != "postgresql" or options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return

        def migrate() -> None:
            super(Command, self).handle(*args, **options)

        try:
            patiently(connection, migrate, self.stderr.write)
        except GaveUp as error:
            raise CommandError(str(error)) from error

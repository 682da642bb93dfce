"""`manage.py rebuild [TABLE…]`: shoes and hands, made again from the log."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dealing.management.streams import LogCommand
from dealing.models import Table
from dealing.projections import rebuild_table


class Command(LogCommand):
    help = "Throw the shoes and hands of each table away and make them again from its log, a transaction a table."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tables", nargs="*", metavar="TABLE", help="default: every table")

    def handle(self, *args: Any, tables: list[str], **options: Any) -> None:
        known = list(Table.objects.order_by("code").values_list("code", flat=True))
        unknown = [code for code in tables if code not in known]
        if unknown:
            raise CommandError(f"there is no table {', '.join(unknown)}")
        for code in dict.fromkeys(tables or known):
            rebuilt = rebuild_table(code)
            self.stdout.write(
                f"{code}: {rebuilt.shoes} shoes, {rebuilt.hands} hands; {rebuilt.changed} were different, "
                f"{rebuilt.deleted} are gone"
            )

"""`manage.py verify_log [TABLE…]`: is the log what was recorded?"""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dealing.management.streams import LogCommand
from dealing.models import Table
from dealing.projections import differences
from dealing.rules.events import EventError
from dealing.verify import keep_walk, verify_table


class Command(LogCommand):
    help = "Walk the hash chain of each table's log and name the first broken row. Exit 1 when one is broken."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tables", nargs="*", metavar="TABLE", help="default: every table")
        parser.add_argument(
            "--projections", action="store_true", help="also judge the log again and compare the shoes and hands stored"
        )

    def handle(self, *args: Any, tables: list[str], projections: bool, **options: Any) -> None:
        known = list(Table.objects.order_by("code").values_list("code", flat=True))
        unknown = [code for code in tables if code not in known]
        if unknown:
            raise CommandError(f"there is no table {', '.join(unknown)}")
        if not known:
            self.stdout.write("no tables")
        whole = True
        for code in dict.fromkeys(tables or known):
            result = verify_table(code)
            keep_walk(result)
            if result.broken is not None:
                whole = False
                self.stdout.write(self.style.ERROR(f"{result.broken}"))
                if not result.broken.unguarded:
                    continue
            else:
                self.stdout.write(f"{code}: {result.events} events, whole; head {result.head}")
            if projections:
                try:
                    for difference in differences(Table.objects.get(code=code)):
                        whole = False
                        self.stdout.write(self.style.ERROR(difference))
                except EventError as error:
                    whole = False
                    self.stdout.write(self.style.ERROR(f"{code}: the log cannot have happened: {error}"))
        if not whole:
            sys.exit(1)

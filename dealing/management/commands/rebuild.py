"""`manage.py rebuild [TABLE…]`: shoes and hands, made again from the log."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dealing.management.streams import LogCommand
from dealing.models import Table
from dealing.projections import rebuild_table
from dealing.rules.events import EventError
from dealing.verify import verify_table


class Command(LogCommand):
    help = (
        "Make the shoes, hands and incidents of each table again from its log, a transaction a table. "
        "Exit 1: a log is broken, and its table was left as it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tables", nargs="*", metavar="TABLE", help="default: every table")
        parser.add_argument("--force", action="store_true", help="rebuild from a log whose hash chain is broken, too")

    def handle(self, *args: Any, tables: list[str], force: bool, **options: Any) -> None:
        known = list(Table.objects.order_by("code").values_list("code", flat=True))
        unknown = [code for code in tables if code not in known]
        if unknown:
            raise CommandError(f"there is no table {', '.join(unknown)}")
        if not known:
            self.stdout.write("no tables")
        whole = True
        for code in dict.fromkeys(tables or known):
            broken = verify_table(code).broken
            if broken is not None:
                self.stderr.write(str(broken))
                if not (force or broken.unguarded):
                    whole = False
                    self.stderr.write(f"{code} is left as it is; --force rebuilds it all the same")
                    continue
            try:
                rebuilt = rebuild_table(code)
            except EventError as error:
                whole = False
                self.stderr.write(f"{code} is left as it is; its log cannot have happened: {error}")
                continue
            self.stdout.write(
                f"{code}: {rebuilt.shoes} shoes, {rebuilt.hands} hands; {rebuilt.changed} were different, "
                f"{rebuilt.deleted} are gone"
            )
            for said in rebuilt.beside:
                self.stdout.write(f"{code}: {said}")
        if not whole:
            sys.exit(1)

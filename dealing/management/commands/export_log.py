"""`manage.py export_log TABLE…`: whole table logs, as JSON lines."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dealing.exporter import export_table
from dealing.management.streams import LogCommand, utf8
from dealing.models import Table


class Command(LogCommand):
    help = "Write the whole log of one or more tables as JSON lines, table after table, in the order recorded."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tables", nargs="+", metavar="TABLE")
        parser.add_argument("--output", "-o", default="-", metavar="FILE", help="default: standard output")

    def handle(self, *args: Any, tables: list[str], output: str, **options: Any) -> None:
        found = {table.code: table for table in Table.objects.filter(code__in=tables)}
        unknown = [code for code in tables if code not in found]
        if unknown:
            raise CommandError(f"there is no table {', '.join(unknown)}")
        codes = list(dict.fromkeys(tables))
        if output == "-":
            utf8(sys.stdout)
            written = sum([export_table(found[code], self.stdout) for code in codes])
        else:
            try:
                with open(output, "w", encoding="utf-8", newline="\n") as file:
                    written = sum(export_table(found[code], file) for code in codes)
            except OSError as error:
                raise CommandError(f"{output}: {error.strerror}") from error
        self.stderr.write(f"{written} events written")

"""`manage.py export_chain TABLE`: the lines that a chain's hashes are made over, for whoever checks them elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dealing.chain import chained_line
from dealing.management.streams import LogCommand, utf8
from dealing.models import Table, Venue
from dealing.verify import read_rows
from incidents.trail.models import TrailEntry


class Command(LogCommand):
    help = (
        "Write a table's log, its trail (--trail) or the trail of a house (--house) as the lines that the hash chain "
        "is made over: docs/check_heads.py checks them against signed heads without this program."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("table", nargs="?", metavar="TABLE")
        parser.add_argument("--trail", action="store_true", help="the trail of the table's incidents, not its log")
        parser.add_argument("--house", metavar="CODE", help="the trail of this house's reports")

    def handle(self, *args: Any, table: str | None, trail: bool, house: str | None, **options: Any) -> None:
        if (table is None) == (house is None):
            raise CommandError("name a table, or a house with --house")
        utf8(sys.stdout)
        for line in self._lines(table, trail, house):
            self.stdout.write(line)

    def _lines(self, code: str | None, trail: bool, house: str | None) -> Iterator[str]:
        if house is not None:
            if not Venue.objects.filter(code=house).exists():
                raise CommandError(f"there is no house {house}")
            yield from self._entries(trail__venue__code=house, trail__table=None)
            return
        table = Table.objects.filter(code=code).first()
        if table is None:
            raise CommandError(f"there is no table {code}")
        if trail:
            yield from self._entries(trail__table=table)
            return
        for rows in read_rows(table.pk, 1, table.last_seq):
            for row in rows:
                yield chained_line(row.seq, row.payload, row.actor, row.recorded_at)

    def _entries(self, **where: Any) -> Iterator[str]:
        for entry in TrailEntry.objects.filter(**where).order_by("seq").iterator(chunk_size=2000):
            yield chained_line(entry.seq, entry.payload, entry.actor, entry.recorded_at)

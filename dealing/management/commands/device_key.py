"""`manage.py device_key CODE --table B07`: a device and a key for it, from the command line."""

from __future__ import annotations

import argparse
import datetime as dt
import os
from pathlib import Path
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from dealing.devices.keeping import save_device
from dealing.devices.keys import make_key, rotate
from dealing.devices.models import Device
from dealing.management.streams import LogCommand
from dealing.models import Table, Venue

ACTOR = "device_key"
#: Hours for which other keys may go on after a rotation: a year.
LONGEST: Final = 8760


def _hours(text: str) -> dt.timedelta:
    try:
        hours = float(text)
    except ValueError:
        hours = -1.0
    if not 0 <= hours <= LONGEST:
        raise argparse.ArgumentTypeError(f"hours from 0 to {LONGEST} are wanted, not {text}")
    return dt.timedelta(hours=hours)


class Command(LogCommand):
    help = (
        "Print a new key of a device, which is made where it is not there yet. The key alone goes to standard output; "
        "it cannot be shown again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("code", metavar="CODE", help="the device, such as SHOE-7")
        parser.add_argument(
            "--table", action="append", default=[], metavar="TABLE", help="a table that it is for; may be repeated"
        )
        parser.add_argument("--venue", default="", help="the code of its house; needed where tables name none")
        parser.add_argument("--name", default="", help="what it is called")
        parser.add_argument("--supervises", action="store_true", help="may open and close shoes and amend, too")
        parser.add_argument(
            "--output",
            metavar="FILE",
            help="write the key into this new file, which nobody else may read, instead of standard output",
        )
        parser.add_argument(
            "--rotate",
            type=_hours,
            metavar="HOURS",
            help="end its other keys after so many hours (0: at once); default: they stay",
        )

    @transaction.atomic
    def handle(
        self,
        *args: Any,
        code: str,
        table: list[str],
        venue: str,
        name: str,
        supervises: bool,
        output: str | None = None,
        **options: Any,
    ) -> None:
        device = Device.objects.filter(code=code).first()
        tables = list(Table.objects.filter(code__in=table))
        if missing := sorted(set(table) - {found.code for found in tables}):
            known = ", ".join(Table.objects.order_by("code").values_list("code", flat=True)) or "none"
            raise CommandError(f"there is no table {', '.join(missing)} (known: {known})")
        if device is None:
            house = self._house(venue, tables)
            device = Device(venue=house, code=code, name=name, supervises=supervises)
        elif venue and device.venue.code != venue:
            raise CommandError(f"{code} belongs to house {device.venue.code}")
        else:
            device.supervises = device.supervises or supervises
            device.name = name or device.name
            tables += list(device.tables.exclude(code__in=table))
        try:
            save_device(device, tables, ACTOR)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        if options["rotate"] is None:
            _row, text = make_key(device, ACTOR)
        else:
            _row, text = rotate(device, ACTOR, options["rotate"])
        if output is None:
            self.stdout.write(text)
            return
        _write(output, text)

    @staticmethod
    def _house(venue: str, tables: list[Table]) -> Venue:
        if not venue and tables:
            return tables[0].venue
        houses = Venue.objects.filter(code=venue) if venue else Venue.objects.all()
        if len(houses) != 1:
            known = ", ".join(Venue.objects.order_by("code").values_list("code", flat=True)) or "none"
            said = f"there is no house {venue}" if venue else "name its house: --venue"
            raise CommandError(f"{said} (known: {known})")
        return houses[0]


def _write(output: str, text: str) -> None:
    """Write the key into a file that is made for it: one that is there may be open to others already."""
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise CommandError(
            f"{output} is there already, and others may read it: remove it, or name a new file"
        ) from None
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror}") from error
    try:
        with open(handle, "w") as file:
            file.write(text + "\n")
    except OSError as error:
        Path(output).unlink(missing_ok=True)
        raise CommandError(f"{output}: {error.strerror}") from error

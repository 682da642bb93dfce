"""`manage.py replay_log FILE --url …`: a log file sent to the API as by a device; see `dealing.devices.replay`."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealing.devices.replay import Sender, Stopped, plan, replay
from dealing.management.streams import FAILED, standard_input

#: Where the key is looked for that is not named.
KEY_VARIABLE = "BACCARAT_KEY"


def _speed(text: str) -> float:
    speed = float(text)
    if not (math.isfinite(speed) and speed >= 0):
        raise argparse.ArgumentTypeError("0 or more is wanted")
    return speed


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds >= 0:
        raise argparse.ArgumentTypeError("0 or more is wanted")
    return seconds


def _batch(text: str) -> int:
    size = int(text)
    if not 1 <= size <= 500:
        raise argparse.ArgumentTypeError("1 to 500 is wanted")
    return size


def _lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """The lines of a file. Raises `Stopped` for one that is no text."""
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise Stopped(f"{name}: line {number} is no text in UTF-8") from None


class Command(BaseCommand):
    help = (
        "Send a log file to the API event by event, as a device does, with the file's distances of time. Broken off, "
        "it can be started again: what is there already is recognised. Exit status 1: it was stopped, and says by "
        "what; 2: it could not begin."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a log as JSON lines; - reads standard input")
        parser.add_argument("--url", required=True, help="the address of the site, such as https://audit.example")
        parser.add_argument(
            "--key-file", type=Path, metavar="FILE", help=f"a file with the device's key; default: ${KEY_VARIABLE}"
        )
        parser.add_argument(
            "--second-key-file",
            type=Path,
            metavar="FILE",
            help="a file with the key of a second device, which sends the amendments: of a hand that is over, an entry "
            "is put right by another than who recorded it",
        )
        parser.add_argument("--speed", type=_speed, default=1.0, help="10: ten times as fast; 0: as fast as it goes")
        parser.add_argument(
            "--longest-break",
            type=_seconds,
            default=math.inf,
            metavar="SECONDS",
            help="a longer break in the file, such as the day between two shoes, counts for so many seconds",
        )
        parser.add_argument("--table", default="", metavar="CODE", help="only the lines of this table")
        parser.add_argument("--to", default="", metavar="CODE", help="send them to this table instead")
        parser.add_argument("--batch", type=_batch, default=1, metavar="N", help="up to N events in a request, if due")
        parser.add_argument(
            "--times",
            choices=("now", "file"),
            default="now",
            help="now: the server stamps each event as it comes; file: with the times of the file, as an archive wants",
        )
        parser.add_argument(
            "--patience", type=float, default=300.0, metavar="SECONDS", help="how long to try without an answer"
        )

    def handle(
        self,
        *args: Any,
        file: str,
        url: str,
        key_file: Path | None,
        second_key_file: Path | None = None,
        **options: Any,
    ) -> None:
        key = self._key(key_file)
        second_key = None if second_key_file is None else self._key(second_key_file)
        try:
            stream = standard_input() if file == "-" else open(file, "rb")  # noqa: SIM115  # closed below
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}", returncode=FAILED) from error
        try:
            patience, say = options["patience"], self.stderr.write
            sender = Sender(url, key, patience=patience, say=say)
            second = Sender(url, second_key, patience=patience, say=say) if second_key else None
            planned = plan(
                _lines(stream, file),
                speed=options["speed"],
                longest=options["longest_break"],
                table=options["table"],
                to=options["to"],
                keep_times=options["times"] == "file",
            )
            new = replay(planned, sender, second, batch=options["batch"], say=self.stdout.write)
        except Stopped as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("broken off; started again it goes on where it was") from None
        finally:
            if file != "-":
                stream.close()
        self.stderr.write(f"{new} new events recorded")

    @staticmethod
    def _key(path: Path | None) -> str:
        if path is None:
            key = os.environ.get(KEY_VARIABLE, "")
        else:
            try:
                key = path.read_text()
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror}", returncode=FAILED) from error
            except UnicodeDecodeError:
                raise CommandError(f"{path} holds no key: it is no text in UTF-8", returncode=FAILED) from None
        if not key.strip():
            raise CommandError(
                f"no key: name a file with --key-file, or put it into ${KEY_VARIABLE}", returncode=FAILED
            )
        return key.strip()

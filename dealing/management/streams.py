"""What commands have in common.

Streams may be closed, full or not in UTF-8, a database missing, a house's ruleset wrong. None of these is a fault of
the program, so each ends a command with a message and exit status 2.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, Final, TextIO

from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.db import DatabaseError, OperationalError, ProgrammingError, connection

from dealing.models import Table
from dealing.rules.rulesets import RulesetError

#: Exit status of a command that could not do what it was asked.
FAILED: Final = 2


class Output(OutputWrapper):
    """A stream of a command. Where it cannot be written to, the command ends."""

    def __init__(self, out: TextIO, name: str) -> None:
        super().__init__(out)
        self._stream, self._name = out, name

    def write(  # type: ignore[override]  # Django's own signature is not that of a stream either
        self, msg: str = "", style_func: Callable[[str], str] | None = None, ending: str | None = None
    ) -> None:
        """Write a line. Raises `CommandError` or, where nobody would read it, `SystemExit`."""
        try:
            super().write(msg, style_func, ending)
        except OSError as error:
            self._lost(error)

    def flush(self) -> None:
        """As `write`."""
        try:
            super().flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        with contextlib.suppress(OSError, AttributeError):  # or what is still in the buffer fails again at the exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        if isinstance(error, BrokenPipeError) or self._name == "stderr":  # whoever read it has seen enough
            sys.exit(FAILED)
        raise CommandError(f"standard output: {error.strerror}", returncode=FAILED) from error


class LogCommand(BaseCommand):
    """A command that reads or writes logs, or what belongs to them. Exit status 2: it could not be done."""

    def __init__(
        self,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        no_color: bool = False,
        force_color: bool = False,
    ) -> None:
        super().__init__(stdout, stderr, no_color, force_color)
        self._set_output("stdout", stdout or sys.stdout)
        self._set_output("stderr", stderr or sys.stderr)

    def _set_output(self, name: str, stream: TextIO | None) -> None:
        if stream is None:  # closed by whoever started the program
            stream = open(os.devnull, "w")  # noqa: SIM115  # for as long as the program runs
        output = Output(stream, name)
        if name == "stderr":
            output.style_func = self.style.ERROR
        setattr(self, name, output)

    def run_from_argv(self, argv: list[str]) -> None:
        """The program's command line: its output is asked for, so it must be there, and takes any character."""
        if sys.stdout is None:
            self.stderr.write("CommandError: standard output is closed")
            sys.exit(FAILED)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        super().run_from_argv(argv)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; raises `CommandError` with exit status 2 for what it could not do."""
        for name in ("stdout", "stderr"):
            if options.get(name):
                self._set_output(name, options.pop(name))
        try:
            try:
                return super().execute(*args, **options)
            finally:
                self.stdout.flush()
        except CommandError as error:
            error.returncode = FAILED
            raise
        except RulesetError as error:  # of a ruleset that a log names
            raise CommandError(str(error), returncode=FAILED) from None
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(_database_trouble(error), returncode=FAILED) from error


def utf8(stream: object) -> None:
    """Write UTF-8 with plain line feeds, whatever the terminal's language: for lines that programs read."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", newline="\n")


def standard_input() -> BinaryIO:
    """Standard input as bytes. Raises `CommandError` where it is closed."""
    if sys.stdin is None:
        raise CommandError("standard input is closed", returncode=FAILED)
    return sys.stdin.buffer


def _database_trouble(error: DatabaseError) -> str:
    try:
        made = Table._meta.db_table in connection.introspection.table_names()
    except DatabaseError:
        made = True
    if not made:
        return "the database has no tables yet: run manage.py migrate"
    said = str(error).strip().partition("\n")[0]
    return f"the database could not be used: {said} (are its tables up to date? manage.py migrate brings them there)"

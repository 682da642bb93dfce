"""`manage.py verify_log [TABLE…]`: is the log what was recorded, and what is kept beside it?"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from dealing import seal_keys
from dealing.management.streams import LogCommand
from dealing.models import Table
from dealing.projections import differences
from dealing.rules.events import EventError
from dealing.verify import BESIDE, Asked, Broken, keep_walk, verify_table

#: Exit status: something is not what was recorded; or nothing is wrong, and not all could be checked.
WRONG: Final = 1
UNCHECKED: Final = 2


class Command(LogCommand):
    help = (
        "Walk the hash chain and the seals of each table's log, and check incidents, decisions, reports and signed "
        "heads; name all rows that are not what was recorded. Exit 1 when something is wrong, 2 when nothing is and "
        "not all could be checked (a key is missing)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tables", nargs="*", metavar="TABLE", help="default: every table")
        parser.add_argument(
            "--projections", action="store_true", help="also judge the log again and compare shoes, hands and incidents"
        )
        parser.add_argument("--json", action="store_true", help="answer with one JSON object")
        parser.add_argument("--chain-only", action="store_true", help="leave the seals out, where no key is at hand")
        parser.add_argument("--no-files", action="store_true", help="do not read the files attached to incidents")
        parser.add_argument(
            "--heads",
            metavar="FILE",
            default="",
            help="check against signed heads kept outside: a mail, a report's text",
        )
        parser.add_argument(
            "--public-key", metavar="FILE", default="", help="trust only this public key (PEM) for signed heads"
        )

    def handle(self, *args: Any, tables: list[str], projections: bool, **options: Any) -> None:
        known = list(Table.objects.order_by("code").values_list("code", flat=True))
        unknown = [code for code in tables if code not in known]
        if unknown:
            raise CommandError(f"there is no table {', '.join(unknown)}")
        self._json = options["json"]
        self._answer: dict[str, Any] = {"whole": True, "tables": [], "beside": [], "unchecked": []}
        if not known and not self._json:
            self.stdout.write("no tables")
        if not options["chain_only"]:
            self._keys()
        codes = tuple(dict.fromkeys(tables or known))
        for code in codes:
            self._table(code, projections, seals=not options["chain_only"])
        asked = Asked(
            tables=codes,
            keep=True,
            seals=not options["chain_only"],
            files=not options["no_files"],
            heads=options["heads"],
            public_key=options["public_key"],
            projections=projections,
        )
        for check in BESIDE:
            for found in check(asked):
                self._answer["beside"].append(
                    {"name": found.name, "problems": [self._problem(one) for one in found.problems]}
                )
                if found.summary and not found.problems:
                    self._say(f"{found.name}: {found.summary}")
                if found.unchecked:
                    self._unchecked(f"{found.name}: {found.unchecked}")
        if self._json:
            self.stdout.write(json.dumps(self._answer, ensure_ascii=False))
        if not self._answer["whole"]:
            sys.exit(WRONG)
        if self._answer["unchecked"]:
            sys.exit(UNCHECKED)

    def _keys(self) -> None:
        try:
            seal_keys.ring()
        except seal_keys.KeyFileError as error:
            self._unchecked(f"seals: the keys cannot be read: {error}")

    def _table(self, code: str, projections: bool, *, seals: bool) -> None:
        result = verify_table(code, name_all=True, seals=seals)
        if seals or result.broken is not None:  # who looks at less clears no log
            keep_walk(result)
        line: dict[str, Any] = {"table": code, "events": result.events, "head": result.head, "older": result.older}
        self._answer["tables"].append(line)
        if result.broken is None:
            self._say(f"{code}: {result.events} events, whole; head {result.head}")
        line["problems"] = [self._problem(one) for one in result.problems]
        if result.older:
            self._say(f"{code}: the rows up to position {result.older} are older than the seals")
        if seals and result.unchecked:
            self._unchecked(f"{code}: {result.unchecked} seals were not checked: there is no seal key here")
        if not projections or not (result.broken is None or result.broken.unguarded):
            return
        try:
            for difference in differences(Table.objects.get(code=code)):
                line["problems"].append(self._wrong(difference))
        except EventError as error:
            line["problems"].append(self._wrong(f"{code}: the log cannot have happened: {error}"))

    def _problem(self, broken: Broken) -> dict[str, Any]:
        self._wrong(str(broken))
        return {"of": broken.table, "position": broken.seq, "problem": broken.problem}

    def _wrong(self, text: str) -> dict[str, Any]:
        self._answer["whole"] = False
        if not self._json:
            self.stdout.write(self.style.ERROR(text))
        return {"problem": text}

    def _unchecked(self, text: str) -> None:
        self._answer["unchecked"].append(text)
        if not self._json:
            self.stdout.write(self.style.WARNING(text))

    def _say(self, text: str) -> None:
        if not self._json:
            self.stdout.write(text)

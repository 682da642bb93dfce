"""`manage.py audit_log`: judge a log file, without a database."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser

from dealing.logfile import LogFile
from dealing.management.streams import FAILED, LogCommand, standard_input, utf8
from dealing.rules.audit import Finding
from dealing.rules.judge import HandFold, ShoeFold
from dealing.rules.rulesets import LANGUAGES, Ruleset, RulesetError, UnknownRuleset, get_ruleset

CLEAN, FINDINGS, UNREADABLE = 0, 1, FAILED

_encode = json.JSONEncoder(ensure_ascii=False).encode


class Command(LogCommand):
    help = "Judges the hands of a log file and prints what is wrong. Exit 0: nothing, 1: findings, 2: unreadable."
    requires_system_checks: list[str] = []  # it needs no database and no site

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="log file, one JSON object a line; - reads standard input")
        parser.add_argument("--ruleset", metavar="NAME", help="judge by this ruleset, whatever the log names")
        parser.add_argument("--json", action="store_true", help="a JSON object a hand, then one a shoe, in log order")
        parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of the rules in the report")

    def handle(self, *args: Any, file: str, ruleset: str | None, json: bool, lang: str, **options: Any) -> None:
        try:
            rules = get_ruleset(ruleset) if ruleset is not None else None
        except (UnknownRuleset, RulesetError) as error:
            raise CommandError(str(error), returncode=UNREADABLE) from None
        if json:
            utf8(sys.stdout)
        try:
            if file == "-":
                status = self._audit(standard_input(), rules, json, lang)
            else:
                with Path(file).open("rb") as stream:
                    status = self._audit(stream, rules, json, lang)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}", returncode=UNREADABLE) from None
        if status != CLEAN:
            sys.exit(status)

    def _audit(self, stream: BinaryIO, rules: Ruleset | None, as_json: bool, lang: str) -> int:
        report = _Report(self, lang)
        with LogFile(stream, rules) as log:
            for fold in log.folds():
                report.empty = False
                self._say_bad(log, report)
                audit = fold.audit()
                report.found += len(audit.findings)
                if as_json:
                    self.stdout.write(_encode(audit.as_dict()))
                else:
                    report.add(fold, audit.findings)
            self._say_bad(log, report)
        if report.empty and not report.bad:
            self.stderr.write("there is no event in this log: nothing was judged")
        if not as_json:
            report.end()
        return UNREADABLE if report.bad else FINDINGS if report.found else CLEAN

    def _say_bad(self, log: LogFile, report: _Report) -> None:
        for line in log.bad:
            self.stderr.write(str(line))
        report.bad += len(log.bad)
        log.bad.clear()


class _Report:
    """The readable report: every finding with its rule, then the figures."""

    def __init__(self, command: Command, lang: str) -> None:
        self.out = command.stdout
        self.style = command.style
        self.lang = lang
        self.bad = 0
        self.found = 0
        self.empty = True
        self.hands = self.clean = self.unreadable = self.shoes = 0
        self.codes: Counter[str] = Counter()

    def add(self, fold: HandFold | ShoeFold, findings: tuple[Finding, ...]) -> None:
        if isinstance(fold, HandFold):
            place = f"{fold.context.table} shoe {fold.context.shoe} hand {fold.number}"
            ruleset = fold.context.ruleset
            self.hands += 1
            if fold.spoiled:
                self.unreadable += 1
                self.out.write(f"{place}: not judged, a line of it could not be read")
                return
            self.clean += not findings
        else:
            place, ruleset = f"{fold.table} shoe {fold.number}", fold.ruleset
            self.shoes += 1
        for finding in findings:
            self.codes[finding.code] += 1
            self._write(place, ruleset, finding)

    def _write(self, place: str, ruleset: Ruleset, finding: Finding) -> None:
        cards = f" ({' '.join(finding.cards)})" if finding.cards else ""
        state = ", put right in the log" if finding.state == "corrected" else ""
        at = ", ".join(map(str, finding.seq))
        self.out.write(self.style.WARNING(f"{place}: {finding.code}{cards} at {at}{state}"))
        if finding.mandatory:
            self.out.write(f"    ruling: {finding.ruling}")
        else:
            self.out.write(f"    ruling: the manager's discretion: {' or '.join(finding.options)}")
        for rule in finding.rules:
            citation = ruleset.cite(rule, self.lang)
            if citation is not None:
                by = f"{citation.document}, adopted by {citation.ruleset}" if citation.adopted else citation.document
                self.out.write(f"    {rule}: {citation.text} [{by}]")
        if not finding.rules:
            self.out.write("    no documented rule covers this")

    def end(self) -> None:
        hands = f"{self.hands} hands in {self.shoes} shoes: {self.clean} clean"
        self.out.write(f"{hands}, {self.unreadable} not judged; {self.bad} lines could not be read")
        for code, count in self.codes.most_common():
            self.out.write(f"  {count:6} {code}")

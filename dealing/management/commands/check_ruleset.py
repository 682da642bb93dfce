"""`manage.py check_ruleset`: what is wrong with a ruleset file, or what it rules on every finding; no database."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import override

from dealing import wording
from dealing.management.streams import FAILED, LogCommand, utf8
from dealing.rules.bets import INSURANCE_BETS
from dealing.rules.rulesets import LANGUAGES, Ruleset, RulesetError, get_ruleset, load_ruleset, ruleset_names
from dealing.rules.rulesets.table import Row, comparison, ruling_rows

RIGHT, WRONG = 0, 1

_encode = json.JSONEncoder(ensure_ascii=False, indent=1).encode


class Command(LogCommand):
    help = (
        "Says everything that is wrong with a ruleset file, or prints what it rules on every finding, with the rule. "
        "Exit 0: it can be used, 1: it is wrong, 2: it could not be read."
    )
    requires_system_checks: list[str] = []  # it needs no database and no site

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("file", metavar="FILE", nargs="?", help="ruleset file (docs/rulesets.md)")
        what.add_argument(
            "--compare", action="store_true", help="print all rulesets here side by side, as a table in Markdown"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
        parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of the findings and the rules")

    def handle(self, *args: Any, file: str | None, compare: bool, json: bool, lang: str, **options: Any) -> None:
        utf8(sys.stdout)
        if file is None:
            try:
                self.stdout.write(comparison(get_ruleset(name) for name in ruleset_names()), ending="")
            except RulesetError as error:
                raise CommandError(str(error), returncode=FAILED) from None
            return
        path = Path(file)
        try:
            path.read_bytes()
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}", returncode=FAILED) from None
        try:
            ruleset = load_ruleset(path)
        except RulesetError as error:
            self._say_wrong(error, json)
            sys.exit(WRONG)
        with override(lang):
            if json:
                self.stdout.write(_encode(_as_json(ruleset, lang)))
            else:
                self._say(path, ruleset, lang)

    def _say_wrong(self, error: RulesetError, as_json: bool) -> None:
        if as_json:
            problems = [problem._asdict() for problem in error.problems]
            self.stdout.write(_encode({"ok": False, "problems": problems}))
            return
        for problem in error.problems:
            self.stderr.write(str(problem))
        count = len(error.problems)
        self.stderr.write(f"{count} {'thing is' if count == 1 else 'things are'} wrong; the ruleset cannot be used")

    def _say(self, path: Path, ruleset: Ruleset, lang: str) -> None:
        write = self.stdout.write
        write(self.style.SUCCESS(f"{path.name}: {ruleset.title(lang)}, {ruleset.decks} decks"))
        for line in _deals(ruleset):
            write(f"  {line}")
        write("")
        rows = ruling_rows(ruleset)
        width = max(_width(row.key) for row in rows)
        words = [_ruling_words(row) for row in rows]
        wide = max(map(_width, words))
        cited = [", ".join(row.ruling.rules) if row.raised and row.key != "payout-wrong" else "" for row in rows]
        far, before = max(map(len, cited)), ""
        for row, said, rules in zip(rows, words, cited, strict=True):
            code = row.key.partition(":")[0]
            title = wording.finding_title(code) if code != before else ""
            write(f"{_padded(row.key, width)}  {_padded(said, wide)}  {_padded(rules, far)}  {title}".rstrip())
            before = code
        write("")
        for rule_id in _cited(ruleset, rows):
            citation = ruleset.cite(rule_id, lang)
            if citation is not None:
                by = f"{citation.document}, adopted by {citation.ruleset}" if citation.adopted else citation.document
                write(f"{rule_id}: {citation.text} [{by}]")


def _ruling_words(row: Row) -> str:
    if not row.raised:
        return "not raised"
    ruling = row.ruling
    if row.key == "payout-wrong":
        return f"{wording.action_name(ruling.ruling)} (the rule of the bet)"
    words = [wording.action_name(option) for option in ruling.options]
    if ruling.mandatory:
        said = wording.action_name(ruling.ruling)
    else:
        said = f"{wording.action_name(ruling.ruling)}: {' / '.join(words)}"
    if ruling.measures:
        said += f" (+ {' / '.join(map(wording.action_name, ruling.measures))})"
    return f"{said} (bets may not be changed)" if ruling.freezes_bets else said


def _deals(ruleset: Ruleset) -> list[str]:
    """How the house deals, and what it offers: a line each."""
    burn, cut, free = ruleset.procedure.burn, ruleset.procedure.cut_card, ruleset.procedure.free_hands
    counts = {"first-card": "as many as the first card shows", "decks": "one for each deck", "none": "no rule"}
    lines = [
        f"burn: {counts.get(burn.by, burn.fixed)}{_by(burn.rule)}",
        f"after the cut card: {('no further hand', 'one more hand')[cut.more_hands]}{_by(cut.rule)}"
        if cut.more_hands < 2
        else f"after the cut card: {cut.more_hands} more hands{_by(cut.rule)}",
        "hands without betting: " + (f"at most {free.most} at the start{_by(free.rule)}" if free else "no rule"),
        f"a card drawn for a Player who must stand, while Banker draws: {ruleset.procedure.standing_player}",
    ]
    for bet, offer in ruleset.bets.items():
        pays = "by the insurance table" if bet in INSURANCE_BETS else f"{offer.pays}:1"
        three = f", {offer.pays_three}:1 with a third Banker card" if offer.pays_three else ""
        limit = f", the first {offer.first_hands} hands only" if offer.first_hands else ""
        lines.append(f"bet {bet}: {pays}{three}{limit}{_by(offer.rule)}")
    return lines


def _by(rule: str) -> str:
    return f" ({rule})" if rule else ""


def _cited(ruleset: Ruleset, rows: list[Row]) -> list[str]:
    cited = {rule for row in rows for rule in row.ruling.rules}
    procedure = ruleset.procedure
    cited |= {procedure.burn.rule, procedure.cut_card.rule, procedure.free_hands.rule if procedure.free_hands else ""}
    return [rule_id for rule_id in ruleset.rules if rule_id in cited]


def _as_json(ruleset: Ruleset, lang: str) -> dict[str, object]:
    procedure, rows = ruleset.procedure, ruling_rows(ruleset)
    citations = {rule_id: ruleset.cite(rule_id, lang) for rule_id in _cited(ruleset, rows)}
    return {
        "ok": True,
        "name": ruleset.name,
        "title": ruleset.title(lang),
        "decks": ruleset.decks,
        "shoe": {
            "burn": procedure.burn._asdict(),
            "cut_card": procedure.cut_card._asdict(),
            "free_hands": procedure.free_hands and procedure.free_hands._asdict(),
        },
        "draw": {"standing_player": procedure.standing_player},
        "bets": {
            bet: {
                "rule": offer.rule,
                "pays": None if bet in INSURANCE_BETS else str(offer.pays),
                "pays_three": offer.pays_three and str(offer.pays_three),
                "first_hands": offer.first_hands,
            }
            for bet, offer in ruleset.bets.items()
        },
        "findings": [
            {
                "code": row.key.partition(":")[0],
                "case": row.key.partition(":")[2],
                "title": wording.finding_title(row.key.partition(":")[0]),
                "raised": row.raised,
                "rules": list(row.ruling.rules),
                "ruling": row.ruling.ruling,
                "options": list(row.ruling.options),
                "mandatory": row.ruling.mandatory,
                "measures": list(row.ruling.measures),
                "freezes_bets": row.ruling.freezes_bets,
            }
            for row in rows
        ],
        "rules": {
            rule_id: {"text": cited.text, "document": cited.document, "adopted": cited.adopted}
            for rule_id, cited in citations.items()
            if cited is not None
        },
    }


def _width(text: str) -> int:
    """Columns that a text takes: Thai vowels and tone marks stand above and below the letters."""
    return sum(unicodedata.category(letter) != "Mn" for letter in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))

"""What rulesets say of every finding, as rows: for whoever writes a ruleset, and for ``docs/rulesets.md``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dealing.rules.findings import CATALOGUE
from dealing.rules.rulesets.model import Ruleset, Ruling


class Row(NamedTuple):
    """A finding (``code`` or ``code:case``), the ruling on it, and whether it is raised at all."""

    key: str
    ruling: Ruling
    raised: bool


def ruling_rows(ruleset: Ruleset) -> list[Row]:
    """Every finding in the order of the catalogue, its cases where the ruleset tells them apart."""
    rows: list[Row] = []
    spoken_of = {key for rule in ruleset.rules.values() for key in rule.rulings}
    for code, kind in CATALOGUE.items():
        told_apart = [case for case in kind.cases if f"{code}:{case}" in spoken_of]
        for case in (*told_apart, *(kind.always or ("",))):
            key = f"{code}:{case}" if case else code
            if any(row.key == key for row in rows):
                continue
            ruling = ruleset.ruling_for(code, case)
            if code == "payout-wrong":
                cited = tuple(dict.fromkeys(offer.rule for offer in ruleset.bets.values()))
                ruling = Ruling(cited, "correct", ("correct",), ())
            rows.append(Row(key, ruling, ruleset.raises(code)))
    return rows


def comparison(rulesets: Iterable[Ruleset]) -> str:
    """A table in Markdown of what each ruleset says of each finding: the ruling with its rule, ``?`` for the manager's
    discretion, ``–`` for a finding that is not raised.
    """
    rulesets = list(rulesets)
    said = {ruleset.name: {row.key: row for row in ruling_rows(ruleset)} for ruleset in rulesets}
    keys = [
        key
        for code, kind in CATALOGUE.items()
        for key in (*(f"{code}:{case}" for case in kind.cases), code)
        if any(key in rows for rows in said.values())
    ]
    lines = [
        "| finding | " + " | ".join(ruleset.name for ruleset in rulesets) + " |",
        "|---" * (len(rulesets) + 1) + "|",
    ]
    for key in keys:
        cells = [_cell(said[ruleset.name].get(key)) for ruleset in rulesets]
        lines.append(f"| `{key}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if not row.raised:
        return "–"
    ruling, rules = row.ruling, row.ruling.rules
    word = ruling.ruling if ruling.mandatory else f"? {' / '.join(ruling.options)}"
    cited = "the bet's" if row.key == "payout-wrong" else ", ".join(rules)
    return f"{word} ({cited})" if rules else word

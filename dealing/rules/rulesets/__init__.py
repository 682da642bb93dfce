"""Rulesets: a house's rules as data. Each is a TOML file, checked when it is loaded (``docs/rulesets.md``).

A ruleset owns the rules of its document and may adopt rules of another ruleset's document. Which rule speaks on a
finding: the ruleset's own rules first, then the adopted ones in the order of the list (rulebook section 7).
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from dealing.rules.events import EventError
from dealing.rules.rulesets.model import (
    Burn,
    Citation,
    CutCardRule,
    FreeHands,
    Procedure,
    Rule,
    Ruleset,
    Ruling,
)
from dealing.rules.rulesets.reading import LANGUAGES, SHIPPED, Problem, RulesetError, load_ruleset

__all__ = [
    "HOUSE_FOLDER",
    "LANGUAGES",
    "Burn",
    "Citation",
    "CutCardRule",
    "FreeHands",
    "Problem",
    "Procedure",
    "Rule",
    "Ruleset",
    "RulesetError",
    "Ruling",
    "UnknownRuleset",
    "get_ruleset",
    "load_ruleset",
    "ruleset_names",
]

#: A folder with a house's own rulesets; its files come before the shipped ones of the same name.
HOUSE_FOLDER: Final = "BACCARAT_RULESETS"


class UnknownRuleset(EventError):
    """No ruleset of that name (key ``ruleset``)."""

    messages = {"unknown-ruleset": "{value} is not a ruleset here (known: {known})"}

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__("ruleset", "unknown-ruleset", value=f"'{name}'", known=", ".join(known))


def _files() -> dict[str, Path]:
    folders = [SHIPPED]
    if house := os.environ.get(HOUSE_FOLDER):
        folders.append(Path(house))
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.toml"))}


def ruleset_names() -> tuple[str, ...]:
    """The names of all rulesets here: the shipped ones and a house's own."""
    return tuple(sorted(_files()))


@cache
def get_ruleset(name: str) -> Ruleset:
    """The ruleset of that name.

    Raises :class:`UnknownRuleset` (an :class:`EventError`) where there is none, :class:`RulesetError` where its file is
    wrong.
    """
    path = _files().get(name)
    if path is None:
        raise UnknownRuleset(name, ruleset_names())
    return load_ruleset(path)

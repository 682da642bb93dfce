"""Reads a ruleset file and checks it: everything that is wrong is found at once, each with its place in the file."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from dealing.rules.bets import BET_NAMES, INSURANCE_BETS, ROUNDINGS, BetOffer, Money
from dealing.rules.findings import CATALOGUE, DISCRETION, KEPT, RULINGS, SHOE_MEASURES
from dealing.rules.insurance import InsuranceTable, OddsRow, tabulate
from dealing.rules.rulesets.model import (
    BURN_BY,
    STANDING_PLAYER,
    Burn,
    BurnBy,
    CutCardRule,
    FreeHands,
    Procedure,
    Rule,
    Ruleset,
    Said,
)

LANGUAGES: Final = ("en", "th")
SHIPPED: Final = Path(__file__).parent

#: The smallest and the largest that are taken, of odds to 1 and of the unit of payment. With them and with what the log
#: takes for a stake, every amount is exact in the 28 digits that `decimal` reckons with.
ODDS: Final = (Decimal("0.0001"), Decimal(1000))
UNITS: Final = (Decimal("0.0001"), Decimal(100000))
_PLAIN: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,4})?", re.ASCII)

_TOP: Final = (
    *("name", "unit", "rounding", "decks", "raises", "title", "source", "adopts", "bets"),
    *("rules", "insurance", "shoe", "draw"),
)


class Problem(NamedTuple):
    """One thing that is wrong with a ruleset file; ``place`` is the path of the key, empty for the file as a whole."""

    file: str
    place: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


class RulesetError(ValueError):
    """A ruleset file that cannot be used; the message names the file and the place of each of its ``problems``."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class _Place:
    """A table of a TOML file, and its place for messages. Every read checks; what is wrong is noted, and something
    harmless read in its stead, so that the rest can be checked too.
    """

    def __init__(self, file: str, path: str, data: object, problems: list[Problem]) -> None:
        self.file, self.path, self.problems = file, path, problems
        #: It is no table: that was said, and nothing of what it lacks is.
        self.broken = not isinstance(data, dict)
        if self.broken and (problem := Problem(file, path, "must be a table")) not in problems:
            problems.append(problem)
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}

    def wrong(self, message: str, key: str = "") -> None:
        if not self.broken:
            place = f"{self.path}.{key}" if self.path and key else self.path or key
            problem = Problem(self.file, place, message)
            if problem not in self.problems:  # a table, or a file that two adopt from, may be read twice
                self.problems.append(problem)

    def unknown(self, key: str, what: str, known: Collection[str]) -> None:
        self.wrong(f"{what}{_meant(key, known)}", key)

    def only(self, *keys: str) -> None:
        for key in self.data:
            if key not in keys:
                self.unknown(key, "is not a key here", keys)

    def text(self, key: str, otherwise: str = "") -> str:
        value = self.data.get(key)
        if isinstance(value, str) and value.strip():
            return value
        self.wrong("text is wanted", key)
        return otherwise

    def number(self, key: str, low: int, high: int) -> int:
        value = self.data.get(key)
        if type(value) is int and low <= value <= high:
            return value
        self.wrong(f"a whole number from {low} to {high} is wanted", key)
        return low

    def decimal(self, key: str, low: Decimal, high: Decimal) -> Decimal:
        value = self.data.get(key)
        if isinstance(value, str) and _PLAIN.fullmatch(value) and low <= (amount := Decimal(value)) <= high:
            return amount
        self.wrong(
            f'a decimal string from "{low}" to "{high}" is wanted, in plain digits with four decimals at most, such as '
            '"0.95"',
            key,
        )
        return Decimal(1)

    def choice(self, key: str, choices: Collection[str], default: str | None = None) -> str:
        if default is not None and key not in self.data:
            return default
        otherwise = next(iter(choices))
        value = self.text(key, otherwise)
        if value in choices:
            return value
        self.wrong(f"'{value}' is not one of {', '.join(choices)}{_meant(value, choices)}", key)
        return otherwise

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            self.wrong("true or false is wanted", key)
        return value is True

    def texts(self, key: str, choices: Collection[str] | None = None) -> tuple[str, ...]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.wrong("a list of texts is wanted", key)
            return ()
        for item in value:
            if choices is not None and item not in choices:
                self.wrong(f"'{item}' is not one of {', '.join(choices)}{_meant(item, choices)}", key)
        return tuple(value)

    def totals(self, key: str) -> tuple[int, ...]:
        value = self.data.get(key)
        if not isinstance(value, list) or not value or any(type(t) is not int or not 0 <= t <= 9 for t in value):
            self.wrong("a list of totals from 0 to 9 is wanted", key)
            return ()
        return tuple(value)

    def languages(self) -> dict[str, str]:
        return {lang: self.text(lang) for lang in LANGUAGES}

    def rule(self, key: str, rules: Collection[str]) -> str:
        """The id of a rule that is in force."""
        value = self.text(key)
        if value and value not in rules:
            self.wrong(f"rule {value} is not in force here{_meant(value, rules)}", key)
        return value

    def table(self, key: str) -> _Place:
        path = f"{self.path}.{key}" if self.path else key
        return _Place(self.file, path, self.data.get(key), [] if self.broken else self.problems)

    def optional(self, key: str) -> _Place | None:
        return self.table(key) if key in self.data else None

    def tables(self, key: str) -> list[_Place]:
        value = self.data.get(key, [])
        if not isinstance(value, list):
            self.wrong("a list of tables is wanted", key)
            return []
        path = f"{self.path}.{key}" if self.path else key
        return [_Place(self.file, f"{path}[{i}]", v, self.problems) for i, v in enumerate(value)]


def _meant(word: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" (is '{close[0]}' meant?)" if close else ""


def _read(path: Path, problems: list[Problem]) -> _Place:
    """Raises :class:`RulesetError` where the file is no TOML at all."""
    try:
        return _Place(path.name, "", tomllib.loads(path.read_text(encoding="utf-8")), problems)
    except OSError as error:
        raise RulesetError([Problem(path.name, "", f"cannot be read: {error.strerror}")]) from None
    except RecursionError:
        raise RulesetError([Problem(path.name, "", "is not TOML: it is nested too deeply")]) from None
    except ValueError as error:  # besides what TOML and UTF-8 refuse: a number of more digits than Python reads
        raise RulesetError([Problem(path.name, "", f"is not TOML: {error}")]) from None


def _rules(top: _Place, owner: str) -> dict[str, Rule]:
    document = top.table("source").languages()
    table, rules = top.table("rules"), {}
    for rule_id in table.data:
        place = table.table(rule_id)
        place.only("section", "rulings", "measures", *LANGUAGES)
        said, rulings = {}, place.optional("rulings")
        if rulings is not None:
            for code in rulings.data:
                known, ruling = _is_code(rulings, code), _said(rulings, code)
                if known:
                    said[code] = ruling
        rules[rule_id] = Rule(
            rule_id,
            owner,
            place.number("section", 1, 9),
            place.languages(),
            document,
            MappingProxyType(said),
            place.texts("measures", SHOE_MEASURES),
        )
    return rules


def _is_code(rulings: _Place, key: str) -> bool:
    code, _, case = key.partition(":")
    if code not in CATALOGUE:
        rulings.unknown(key, f"'{code}' is not a finding", CATALOGUE)
    elif case and case not in CATALOGUE[code].cases:
        rulings.wrong(f"'{case}' is not a case of {code}{_meant(case, CATALOGUE[code].cases)}", key)
    else:
        return True
    return False


def _said(rulings: _Place, key: str) -> Said:
    place = rulings.table(key)
    place.only("ruling", "options", "freezes_bets")
    ruling = place.choice("ruling", (DISCRETION, *RULINGS))
    options = place.texts("options", (*RULINGS, *SHOE_MEASURES))
    if not options or (ruling != DISCRETION and ruling not in options):
        place.wrong("the options must name the ruling", "options")
    return Said(ruling, options, place.flag("freezes_bets"))


def _adopt(top: _Place, folder: Path, rules: dict[str, Rule]) -> None:
    """Add the rules that are adopted from other rulesets; an own rule of the same id stays."""
    for adoption in top.tables("adopts"):
        adoption.only("from", "rules")
        owner = adoption.text("from")
        if f"{owner}.toml" == top.file:
            adoption.wrong("a ruleset cannot adopt itself: its own rules are in force already", "from")
            continue
        source = next((p for p in (folder / f"{owner}.toml", SHIPPED / f"{owner}.toml") if p.is_file()), None)
        if source is None:
            known = sorted(path.stem for path in SHIPPED.glob("*.toml"))
            adoption.wrong(f"there is no ruleset '{owner}'{_meant(owner, known)}", "from")
            continue
        theirs = _rules(_read(source, top.problems), owner)
        for rule_id in adoption.texts("rules"):
            if rule_id in theirs:
                rules.setdefault(rule_id, theirs[rule_id])
            else:
                adoption.wrong(f"'{owner}' has no rule {rule_id}{_meant(rule_id, theirs)}", "rules")


def _bets(top: _Place, rules: Mapping[str, Rule]) -> dict[str, BetOffer]:
    table, bets = top.table("bets"), {}
    for name in table.data:
        if name not in BET_NAMES:
            table.unknown(name, "is not a bet", BET_NAMES)
            continue
        place = table.table(name)
        if name in INSURANCE_BETS:
            place.only("rule")
            bets[name] = BetOffer(place.rule("rule", rules), Decimal(0))
            continue
        place.only("rule", "pays", "pays_three", "first_hands")
        bets[name] = BetOffer(
            place.rule("rule", rules),
            place.decimal("pays", *ODDS),
            place.decimal("pays_three", *ODDS) if "pays_three" in place.data else None,
            place.number("first_hands", 1, 999) if "first_hands" in place.data else None,
        )
    return bets


def _insurance(top: _Place, bets: Mapping[str, BetOffer]) -> InsuranceTable:
    place = top.optional("insurance")
    odds: InsuranceTable = {}
    if place is not None:
        place.only("rows")
        before = len(top.problems)
        rows = [_odds(row) for row in place.tables("rows")]
        if len(top.problems) == before:
            try:
                odds = tabulate(rows)
            except ValueError as error:
                place.wrong(str(error), "rows")
    for bet in INSURANCE_BETS:
        if (bet in bets) != (place is not None and bool(place.data.get("rows"))):
            top.wrong(f"insurance odds and the bet {bet} go together", "insurance")
    return odds


def _odds(row: _Place) -> OddsRow:
    row.only("window", "side", "total", "other", "odds", "tie_only")
    return OddsRow(
        row.number("window", 1, 2),
        row.choice("side", ("player", "banker")),
        row.totals("total"),
        row.totals("other"),
        row.decimal("odds", *ODDS),
        row.flag("tie_only"),
    )


def _procedure(top: _Place, rules: Mapping[str, Rule]) -> Procedure:
    optional = [code for code, kind in CATALOGUE.items() if kind.optional]
    raises = frozenset(top.texts("raises", optional))
    burn, cut_card, free_hands, standing = Burn(), CutCardRule(), None, STANDING_PLAYER[0]
    if (shoe := top.optional("shoe")) is not None:
        shoe.only("burn", "cut_card", "free_hands")
        if (place := shoe.optional("burn")) is not None:
            burn = _burn(place, rules)
        if (place := shoe.optional("cut_card")) is not None:
            place.only("rule", "more_hands")
            cut_card = CutCardRule(place.number("more_hands", 0, 9), place.rule("rule", rules))
        if (place := shoe.optional("free_hands")) is not None:
            place.only("rule", "most")
            free_hands = FreeHands(place.number("most", 0, 99), place.rule("rule", rules))
            raises |= {"free-hand-over-limit"}
    if any(
        said.ruling == "reuse card" and code.partition(":")[0] in KEPT
        for rule in rules.values()
        for code, said in rule.rulings.items()
    ):
        raises |= {"held-card-not-dealt"}
    if (draw := top.optional("draw")) is not None:
        draw.only("standing_player")
        standing = draw.choice("standing_player", STANDING_PLAYER, standing)
    return Procedure(burn, cut_card, free_hands, standing, raises)


def _burn(place: _Place, rules: Mapping[str, Rule]) -> Burn:
    by = cast(BurnBy, place.choice("by", BURN_BY))
    if by == "none":
        place.only("by")
        return Burn(by)
    place.only("by", "rule", *(["count"] if by == "fixed" else []))
    return Burn(by, place.number("count", 1, 52) if by == "fixed" else 0, place.rule("rule", rules))


def load_ruleset(path: Path) -> Ruleset:
    """Read and check one ruleset file; the files it adopts from stand beside it or are shipped ones.

    Raises :class:`RulesetError` with everything that is wrong, each with the file and the place.
    """
    problems: list[Problem] = []
    top = _read(path, problems)
    top.only(*_TOP)
    name = top.text("name")
    if name and name != path.stem:
        top.wrong(f"must be the file's name, '{path.stem}'", "name")
    source = top.table("source")
    source.only("document", *LANGUAGES)
    source.text("document")
    title = top.table("title")
    title.only(*LANGUAGES)
    rules = _rules(top, name)
    _adopt(top, path.parent, rules)
    bets = _bets(top, rules)
    ruleset = Ruleset(
        name,
        MappingProxyType(title.languages()),
        top.number("decks", 1, 16),
        Money(top.decimal("unit", *UNITS), ROUNDINGS[top.choice("rounding", tuple(ROUNDINGS))]),
        MappingProxyType(bets),
        MappingProxyType(dict(_insurance(top, bets))),
        MappingProxyType(rules),
        _procedure(top, rules),
    )
    if problems:
        raise RulesetError(problems)
    return ruleset

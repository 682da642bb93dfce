"""Rulesets: a house's rules as data. Each is a TOML file, checked when it is loaded.

A ruleset owns the rules of its document and may adopt rules of another ruleset's document. Which rule speaks on a
finding: the ruleset's own rules first, then the adopted ones in the order of the list (rulebook section 7).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dealing.rules.bets import BET_NAMES, INSURANCE_BETS, ROUNDINGS, BetOffer, Money
from dealing.rules.events import EventError
from dealing.rules.findings import CATALOGUE, DISCRETION, RULINGS, SHOE_MEASURES
from dealing.rules.insurance import InsuranceTable, OddsRow, tabulate

LANGUAGES: Final = ("en", "th")
_SHIPPED: Final = Path(__file__).parent
#: A folder with a house's own rulesets; its files come before the shipped ones of the same name.
HOUSE_FOLDER: Final = "BACCARAT_RULESETS"


class RulesetError(ValueError):
    """A ruleset file that cannot be used; the message names the file and the place in it."""


class UnknownRuleset(EventError):
    """No ruleset of that name (key ``ruleset``)."""

    messages = {"unknown-ruleset": "{value} is not a ruleset here (known: {known})"}

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__("ruleset", "unknown-ruleset", value=f"'{name}'", known=", ".join(known))


class Citation(NamedTuple):
    """A rule as it is shown: its id, its text, and where it stands.

    ``document`` is the name of the document the rule comes from; ``ruleset`` the title of the ruleset that applies it;
    ``adopted`` is True where the two differ, and then both are to be named.
    """

    rule: str
    text: str
    document: str
    ruleset: str
    adopted: bool


class Ruling(NamedTuple):
    """What a ruleset says of a finding: the rule ids cited, the ruling, the manager's options, and shoe measures
    allowed.
    """

    rules: tuple[str, ...]
    ruling: str
    options: tuple[str, ...]
    measures: tuple[str, ...]

    @property
    def mandatory(self) -> bool:
        """True where the rule leaves nothing to choose."""
        return self.ruling != DISCRETION


class Rule(NamedTuple):
    """One rule of a document, restated; ``text`` and ``document`` by language."""

    id: str
    owner: str
    section: int
    text: Mapping[str, str]
    document: Mapping[str, str]
    rulings: Mapping[str, tuple[str, tuple[str, ...]]]
    measures: tuple[str, ...]


class Ruleset:
    """A house's rules: what it offers, pays and rules. Get one with :func:`get_ruleset`."""

    __slots__ = ("_rulings", "bets", "decks", "insurance", "money", "name", "rules", "titles")

    def __init__(
        self,
        name: str,
        titles: Mapping[str, str],
        decks: int,
        money: Money,
        bets: Mapping[str, BetOffer],
        insurance: InsuranceTable,
        rules: Mapping[str, Rule],
    ) -> None:
        self.name = name
        self.titles = titles
        self.decks = decks
        self.money = money
        self.bets = bets
        self.insurance = insurance
        #: The rules in force by id: own ones first, then adopted ones.
        self.rules = rules
        self._rulings: dict[tuple[str, str], Ruling] = {}

    def title(self, lang: str = "en") -> str:
        """The ruleset's name for people."""
        return self.titles.get(lang, self.titles["en"])

    def cite(self, rule_id: str, lang: str = "en") -> Citation | None:
        """A rule with its text and document; None where the ruleset has no such rule."""
        rule = self.rules.get(rule_id)
        if rule is None:
            return None
        text = rule.text.get(lang, rule.text["en"])
        document = rule.document.get(lang, rule.document["en"])
        return Citation(rule_id, text, document, self.title(lang), rule.owner != self.name)

    def ruling_for(self, code: str, case: str = "") -> Ruling:
        """What the rules say of a finding ``code`` in its variant ``case`` (see :mod:`dealing.rules.findings`).

        Where none speaks the ruling is the catalogue's (``discretion``), with no rule to cite (rulebook 7.2).
        """
        ruling = self._rulings.get((code, case))
        if ruling is None:
            self._rulings[code, case] = ruling = self._find(code, case)
        return ruling

    def payout_ruling(self, bet: str) -> Ruling:
        """What the rules say of a wrong payout: the bet's own PAY rule is cited, the payout is put right."""
        offer = self.bets.get(bet)
        if offer is None:
            return Ruling((), DISCRETION, CATALOGUE["payout-wrong"].options, ())
        return Ruling((offer.rule,), "correct", ("correct",), ())

    def _find(self, code: str, case: str) -> Ruling:
        for key in ([f"{code}:{case}"] if case else []) + [code]:
            for rule in self.rules.values():
                if key in rule.rulings:
                    ruling, options = rule.rulings[key]
                    return Ruling((rule.id,), ruling, options, rule.measures)
        kind = CATALOGUE[code]
        return Ruling((), kind.unruled, kind.options, ())

    def __repr__(self) -> str:
        return f"<Ruleset {self.name}>"


# --- reading ---------------------------------------------------------------------------------------------------------


class _Place:
    """A table of a TOML file, and its place for messages: every read checks, and names what is wrong."""

    def __init__(self, file: str, path: str, data: object) -> None:
        self.file, self.path = file, path
        if not isinstance(data, dict):
            raise self.wrong("must be a table")
        self.data: dict[str, Any] = data

    def wrong(self, message: str, key: str = "") -> RulesetError:
        place = f"{self.path}.{key}" if self.path and key else self.path or key
        return RulesetError(f"{self.file}: {place}: {message}")

    def only(self, *keys: str) -> None:
        for key in self.data:
            if key not in keys:
                raise self.wrong("is not a key here", key)

    def text(self, key: str) -> str:
        value = self.data.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong("text is wanted", key)
        return value

    def number(self, key: str, low: int, high: int) -> int:
        value = self.data.get(key)
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(f"a whole number from {low} to {high} is wanted", key)
        return value

    def decimal(self, key: str) -> Decimal:
        try:
            value = Decimal(self.text(key))
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite() or value <= 0:
            raise self.wrong('a decimal string above 0, such as "0.95", is wanted', key)
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in choices:
            raise self.wrong(f"'{value}' is not one of {', '.join(choices)}", key)
        return value

    def texts(self, key: str, choices: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong("a list of texts is wanted", key)
        for item in value:
            if choices is not None and item not in choices:
                raise self.wrong(f"'{item}' is not one of {', '.join(choices)}", key)
        return tuple(value)

    def totals(self, key: str) -> tuple[int, ...]:
        value = self.data.get(key)
        if not isinstance(value, list) or not value or any(type(t) is not int or not 0 <= t <= 9 for t in value):
            raise self.wrong("a list of totals from 0 to 9 is wanted", key)
        return tuple(value)

    def languages(self) -> dict[str, str]:
        return {lang: self.text(lang) for lang in LANGUAGES}

    def table(self, key: str) -> _Place:
        return _Place(self.file, f"{self.path}.{key}" if self.path else key, self.data.get(key))

    def tables(self, key: str) -> list[_Place]:
        value = self.data.get(key, [])
        if not isinstance(value, list):
            raise self.wrong("a list of tables is wanted", key)
        return [
            _Place(self.file, f"{self.path}.{key}[{i}]" if self.path else f"{key}[{i}]", v) for i, v in enumerate(value)
        ]


def _rules(top: _Place, owner: str) -> dict[str, Rule]:
    document = top.table("source").languages()
    rules = {}
    for rule_id in top.table("rules").data:
        place = top.table("rules").table(rule_id)
        place.only("section", "rulings", "measures", *LANGUAGES)
        rulings = {}
        if "rulings" in place.data:
            for code in place.table("rulings").data:
                rulings[code] = _ruling(place.table("rulings"), code)
        rules[rule_id] = Rule(
            rule_id,
            owner,
            place.number("section", 1, 9),
            place.languages(),
            document,
            MappingProxyType(rulings),
            place.texts("measures", SHOE_MEASURES),
        )
    return rules


def _ruling(rulings: _Place, key: str) -> tuple[str, tuple[str, ...]]:
    code, _, case = key.partition(":")
    if code not in CATALOGUE:
        raise rulings.wrong(f"'{code}' is not a finding", key)
    if case and case not in CATALOGUE[code].cases:
        raise rulings.wrong(f"'{case}' is not a case of {code}", key)
    place = rulings.table(key)
    place.only("ruling", "options")
    ruling = place.choice("ruling", (DISCRETION, *RULINGS))
    options = place.texts("options", (*RULINGS, *SHOE_MEASURES))
    if not options or (ruling != DISCRETION and ruling not in options):
        raise place.wrong("the options must name the ruling", "options")
    return ruling, options


def _bets(top: _Place) -> dict[str, BetOffer]:
    bets = {}
    for name in top.table("bets").data:
        if name not in BET_NAMES:
            raise top.table("bets").wrong("is not a bet", name)
        place = top.table("bets").table(name)
        if name in INSURANCE_BETS:
            place.only("rule")
            bets[name] = BetOffer(place.text("rule"), Decimal(0))
            continue
        place.only("rule", "pays", "pays_three", "first_hands")
        bets[name] = BetOffer(
            place.text("rule"),
            place.decimal("pays"),
            place.decimal("pays_three") if "pays_three" in place.data else None,
            place.number("first_hands", 1, 999) if "first_hands" in place.data else None,
        )
    return bets


def _insurance(top: _Place) -> InsuranceTable:
    if "insurance" not in top.data:
        return {}
    place = top.table("insurance")
    place.only("rows")
    rows = []
    for row in place.tables("rows"):
        row.only("window", "side", "total", "other", "odds", "tie_only")
        tie_only = row.data.get("tie_only", False)
        if not isinstance(tie_only, bool):
            raise row.wrong("true or false is wanted", "tie_only")
        rows.append(
            OddsRow(
                row.number("window", 1, 2),
                row.choice("side", ("player", "banker")),
                row.totals("total"),
                row.totals("other"),
                row.decimal("odds"),
                tie_only,
            )
        )
    try:
        return tabulate(rows)
    except ValueError as error:
        raise place.wrong(str(error), "rows") from None


def _read(path: Path) -> _Place:
    try:
        return _Place(path.name, "", tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise RulesetError(f"{path.name}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RulesetError(f"{path.name}: is not TOML: {error}") from None


def load_ruleset(path: Path) -> Ruleset:
    """Read and check one ruleset file; the files it adopts from stand beside it or are shipped ones.

    Raises :class:`RulesetError` naming the file and the place.
    """
    top = _read(path)
    top.only("name", "unit", "rounding", "decks", "title", "source", "adopts", "bets", "rules", "insurance")
    name = top.text("name")
    if name != path.stem:
        raise top.wrong(f"must be the file's name, '{path.stem}'", "name")
    top.table("source").text("document")
    rules = _rules(top, name)
    for adoption in top.tables("adopts"):
        adoption.only("from", "rules")
        owner = adoption.text("from")
        source = next((p for p in (path.parent / f"{owner}.toml", _SHIPPED / f"{owner}.toml") if p.is_file()), None)
        if source is None:
            raise adoption.wrong(f"there is no ruleset '{owner}'", "from")
        theirs = _rules(_read(source), owner)
        for rule_id in adoption.texts("rules"):
            if rule_id not in theirs:
                raise adoption.wrong(f"'{owner}' has no rule {rule_id}", "rules")
            rules.setdefault(rule_id, theirs[rule_id])
    bets = _bets(top)
    for bet, offer in bets.items():
        if offer.rule not in rules:
            raise top.table("bets").wrong(f"rule {offer.rule} is not in force here", bet)
    insurance = _insurance(top)
    for bet in INSURANCE_BETS:
        if (bet in bets) != bool(insurance):
            raise top.wrong(f"insurance odds and the bet {bet} go together", "insurance")
    return Ruleset(
        name,
        MappingProxyType(top.table("title").languages()),
        top.number("decks", 1, 16),
        Money(top.decimal("unit"), ROUNDINGS[top.choice("rounding", tuple(ROUNDINGS))]),
        MappingProxyType(bets),
        MappingProxyType(dict(insurance)),
        MappingProxyType(rules),
    )


def _files() -> dict[str, Path]:
    folders = [_SHIPPED]
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

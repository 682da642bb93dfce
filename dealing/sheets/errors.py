"""What can be wrong with a sheet, each with a code: pages say it in the reader's language (`dealing.sheets.words`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

#: What is wrong with the file, the mapping or what was filled in: nothing can be made of the sheet.
MESSAGES: Final[dict[str, str]] = {
    "file-empty": "the file is empty",
    "file-too-large": "the file is larger than {limit} MB",
    "file-kind": "{value} is no kind of file that is read here: a .csv, .xlsx or .json file is wanted",
    "xls-old": "this is an old Excel file (.xls) or one with a password: save it as .xlsx without a password",
    "xlsx-broken": "this is not a readable .xlsx file",
    "xlsx-too-large": "unpacked the file is larger than {limit} MB",
    "xlsx-too-much": "the file holds far more than a sheet of hands: copy the hands into a new file",
    "xlsx-too-slow": "reading the file takes too long: copy the hands into a new file, without styles or other sheets",
    "no-such-sheet": "the file has no sheet {value}; it has {known}",
    "encoding-unknown": "the characters of the file are neither UTF-8 nor UTF-16 nor Thai (Windows-874)",
    "encoding-wrong": "the characters of the file are not {value}",
    "csv-broken": "row {row} of the file cannot be read: {detail}",
    "json-broken": "this is no JSON: line {line}, column {column}",
    "json-shape": 'a JSON list of hands is wanted, or {{"hands": [...]}}',
    "json-hand": "hand {row} of the file is not an object",
    "too-many-rows": "the sheet has more than {limit} rows",
    "too-many-here": "the sheet has more than {limit} rows, which is too much for the page",
    "no-rows": "the sheet has no rows",
    "no-such-column": "there is no column {value}",
    "no-such-field": "{value} is nothing that a column can hold; known are {known}",
    "column-twice": "{value} is said to hold two things: {first} and {second}",
    "field-twice": "two columns are said to hold the same: {field}",
    "no-cards": "say in which columns the cards are",
    "cards-missing": "the column for {field} is missing",
    "cards-mixed": "say where the cards are in one way only: by place, by side, or in the order dealt",
    "order-missing": "say in which order the cards were dealt: P B P B or P P B B",
    "not-a-choice": "{field}: {value} is not one of {choices}",
    "mapping-broken": "this is no mapping: {detail}",
    "fill-missing": "the sheet does not say it, so it has to be filled in: {field}",
    "fill-wrong": "{field}: {value} cannot be taken",
    "ruleset-unknown": "{value} is not a ruleset here; known are {known}",
    "zone-unknown": "{value} is not a time zone such as Asia/Bangkok",
}

#: What is wrong with one row. `unreadable` and `left out` rows are not in the log; of the others it is a note.
FAULTS: Final[dict[str, str]] = {
    "not-a-card": "{value} is not a card",
    "ambiguous": "{value} can be read in several ways: put a space between the cards",
    "one-card": "{value} is more than one card",
    "too-many-cards": "{value} is more than {limit} cards",
    "order-gap": "card {number} is there and the one before it is not, so that the order is not known",
    "not-an-outcome": "{value} is not a known outcome",
    "not-a-total": "{value} is not a total from 0 to 9",
    "not-a-number": "{value} is not a whole number from 1 to 999999",
    "not-a-table": "{value} is not a table code (A–Z, 0–9 and -, 16 characters at most)",
    "not-a-date": "{value} is not a date that can be read",
    "not-a-time": "{value} is not a time that can be read",
    "not-worked-out": "{value}: the formula is not worked out: open the file in Excel and save it",
    "missing": "is missing",
    "in-the-future": "{value} is still to come",
    "hand-twice": "hand {hand} of shoe {shoe} stands in row {other} already: this row is left out",
    "missing-cards": "{side} has fewer than two cards: the log has the cards before the gap",
    "out-of-order": "comes after row {other} though it is earlier: the log has it in its place",
    "time-back": "the time is before that of row {other}: the log has it at that row's time",
    "stale-third": "{card} is perhaps left over from row {other}",
    "total-row": "no hand: a total row?",
    "without-cards": "no hand: there are no cards",
    "total-differs": "the sheet says {said}, the cards in the row make {made}",
    "newest-first": "the rows stand newest first: the log has the oldest first",
}

#: Rows with these are not in the log.
UNREADABLE: Final = frozenset(
    {
        "not-a-card", "ambiguous", "one-card", "too-many-cards", "order-gap", "not-an-outcome", "not-a-total",
        "not-a-number", "not-a-table", "not-a-date", "not-a-time", "not-worked-out", "missing", "in-the-future",
    }
)  # fmt: skip
LEFT_OUT: Final = frozenset({"hand-twice", "total-row", "without-cards"})


class SheetError(ValueError):
    """Nothing can be made of the file as it is, or as it is mapped.

    `code` is a key of `MESSAGES`, `params` its parameters; `fill` names the thing to be filled in or put right, where
    it is one. `str()` is English.
    """

    def __init__(self, code: str, *, fill: str = "", **params: object) -> None:
        super().__init__(code, params)
        self.code = code
        self.fill = fill
        self.params = params

    def __str__(self) -> str:
        return MESSAGES[self.code].format_map(self.params)


class CellError(ValueError):
    """A cell that cannot be read: `code` is a key of `FAULTS`, `field` what the cell holds, where it is known."""

    def __init__(self, code: str, *, field: str = "", **params: object) -> None:
        super().__init__(code, params)
        self.code = code
        self.field = field
        self.params = params


class Fault(NamedTuple):
    """What is wrong with a row beside the rules: a key of `FAULTS`, the field it is about (or empty), details."""

    code: str
    field: str
    params: Mapping[str, Any]

    @property
    def unreadable(self) -> bool:
        """Whether the row is not in the log because a cell of it cannot be read."""
        return self.code in UNREADABLE

    def __str__(self) -> str:
        text = FAULTS[self.code].format_map(self.params)
        return f"{self.field}: {text}" if self.field else text


def shown(value: object) -> str:
    """A value as it may stand in a message: quoted, short and on one line."""
    text = str(value).replace("\u0e4d\u0e32", "\u0e33")  # Thai “am” is taken apart where texts are compared
    text = "".join(c if c.isprintable() else "?" for c in text)
    return f"“{text}”" if len(text) <= 40 else f"“{text[:40]}…”"

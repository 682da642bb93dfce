"""What each column of a sheet holds: guessed from the heads and the cells, changed by whoever knows better.

What is never guessed is the order of dealing. It matters only where the cards stand in the order dealt; there `order`
has to be said.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping as Map
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from dealing.sheets.cells import (
    DATE_ORDERS,
    DATE_PARTS,
    KINDS,
    WINNERS,
    Cell,
    CellError,
    DateOrder,
    Kind,
    known_outcome,
    outcome_key,
    plain,
    read_cards,
    read_moment,
    read_time,
)
from dealing.sheets.errors import SheetError, shown
from dealing.sheets.reading import Book, Row

PLACES: Final = ("P1", "P2", "P3", "B1", "B2", "B3")
SIDES: Final = ("player", "banker")
DEALT: Final = ("card1", "card2", "card3", "card4", "card5", "card6")
#: Everything that a column can hold, in the order of the page.
FIELDS: Final = (
    *PLACES, *SIDES, *DEALT, "cards",
    "outcome", "player_total", "banker_total",
    "table", "shoe", "hand", "at", "date", "time", "dealer",
)  # fmt: skip
ORDERS: Final = ("pbpb", "ppbb")
#: How many cards a column of each kind may hold.
CARD_LIMITS: Final[dict[str, int]] = {**dict.fromkeys((*PLACES, *DEALT), 1), "player": 3, "banker": 3, "cards": 6}


@dataclass(frozen=True, slots=True)
class Mapping:
    """How a sheet is to be read. `columns`: field -> index of its column from 0; `head_row`: the number of the row with
    the heads, 0 for none; `outcomes`: what words of the outcome column mean beside those that every house knows, by
    `cells.outcome_key`.
    """

    columns: Map[str, int] = field(default_factory=dict)
    head_row: int = 0
    cards: Kind = "suits"
    order: str = ""
    outcomes: Map[str, str] = field(default_factory=dict)
    dates: DateOrder = "dmy"

    @property
    def dealt(self) -> bool:
        """Whether the cards stand in the order dealt."""
        return any(name in self.columns for name in (*DEALT, "cards"))

    def check(self) -> None:
        """Raises SheetError where the cards cannot be found, or the order of dealing is needed and not said."""
        said = self.columns
        ways = [any(n in said for n in PLACES), any(n in said for n in SIDES), any(n in said for n in DEALT)]
        if sum(ways) + ("cards" in said) > 1:
            raise SheetError("cards-mixed", fill="columns")
        wanted = ("P1", "P2", "B1", "B2") if ways[0] else SIDES if ways[1] else DEALT[:4] if ways[2] else ()
        for name in wanted:
            if name not in said:
                raise SheetError("cards-missing", fill="columns", field=name)
        if not wanted and "cards" not in said:
            raise SheetError("no-cards", fill="columns")
        if self.dealt and self.order not in ORDERS:
            raise SheetError("order-missing", fill="order")

    def body(self, book: Book) -> list[Row]:
        """The rows below the heads."""
        return [row for row in book.rows if row.number > self.head_row] if not book.heads else list(book.rows)

    def cell(self, row: Row, name: str) -> Cell:
        """What a row holds for a field; None where the sheet has no such column."""
        at = self.columns.get(name)
        return row.cells[at] if at is not None and at < len(row.cells) else None

    def as_dict(self, book: Book) -> dict[str, Any]:
        """As a mapping file has it, columns by their heads where these are unlike."""
        return {
            "head_row": self.head_row,
            "columns": {name: name_of(book, self.head_row, at) for name, at in self.columns.items()},
            "cards": self.cards,
            "order": self.order,
            "outcomes": dict(self.outcomes),
            "dates": self.dates,
        }


def letters(at: int) -> str:
    """The letters of a column, as spreadsheets have them: 0 is A, 26 is AA."""
    text, at = "", at + 1
    while at:
        at, rest = divmod(at - 1, 26)
        text = chr(65 + rest) + text
    return text


def heads_of(book: Book, head_row: int) -> list[str]:
    """What stands above each column; empty where nothing does."""
    if book.heads:
        return list(book.heads)
    found = next((row.cells for row in book.rows if row.number == head_row), ()) if head_row else ()
    return [(plain(found[at]) if at < len(found) else "") for at in range(book.width)]


def column_of(book: Book, head_row: int, told: object) -> int:
    """The column that somebody means: its head, its letters, or its number from 1. Raises SheetError."""
    text = str(told).strip()
    heads = [head.casefold() for head in heads_of(book, head_row)]
    same = [at for at, head in enumerate(heads) if head and head == plain(text).casefold()]
    if len(same) == 1:
        return same[0]
    if re.fullmatch("[A-Za-z]{1,2}", text):
        at = 0
        for letter in text.upper():
            at = at * 26 + ord(letter) - 64
        if at <= book.width:
            return at - 1
    if re.fullmatch("[1-9][0-9]{0,2}", text, re.ASCII) and int(text) <= book.width:
        return int(text) - 1
    raise SheetError("no-such-column", fill="columns", value=shown(text))


def name_of(book: Book, head_row: int, at: int) -> str:
    """What `column_of` finds the column by: its head, or else its letters, or else its number."""
    for text in (heads_of(book, head_row)[at], letters(at)):
        try:
            if text and column_of(book, head_row, text) == at:
                return text
        except SheetError:
            continue
    return str(at + 1)


def from_dict(book: Book, told: object, start: Mapping) -> Mapping:
    """The mapping of a mapping file; what it does not name stays as in `start`. Raises SheetError."""
    if not isinstance(told, dict):
        raise SheetError("mapping-broken", detail="a JSON object is wanted")
    unknown = [key for key in told if key not in ("head_row", "columns", "cards", "order", "outcomes", "dates")]
    if unknown:
        raise SheetError("mapping-broken", detail=f"{shown(unknown[0])} is not a key of a mapping")
    head_row = told.get("head_row", start.head_row)
    if type(head_row) is not int or not 0 <= head_row <= 1000:
        raise SheetError("fill-wrong", fill="head_row", field="head_row", value=shown(head_row))
    out = replace(start, head_row=head_row)
    columns, outcomes = told.get("columns"), told.get("outcomes")
    for name, value in (("columns", columns), ("outcomes", outcomes)):
        if value is not None and not isinstance(value, dict):
            raise SheetError("mapping-broken", detail=f"{name} has to be an object")
    if columns is not None:
        out = replace(out, columns=read_columns(book, head_row, columns))
    if outcomes is not None:
        out = replace(out, outcomes=read_outcomes(outcomes))
    for name, choices in (("cards", KINDS), ("order", ("", *ORDERS)), ("dates", DATE_ORDERS)):
        if name in told:
            out = replace(out, **{name: choice(name, told[name], choices)})
    return out


def read_columns(book: Book, head_row: int, told: Map[Any, Any]) -> dict[str, int]:
    """Fields and their columns, as somebody wrote them. Raises SheetError."""
    out: dict[str, int] = {}
    for name, value in told.items():
        if name not in FIELDS:
            raise SheetError("no-such-field", fill="columns", value=shown(name), known=", ".join(FIELDS))
        if value is None or value == "":
            continue
        at = column_of(book, head_row, value)
        other = next((known for known, column in out.items() if column == at), None)
        if other is not None:
            raise SheetError("column-twice", fill="columns", value=shown(value), first=other, second=name)
        out[name] = at
    return out


def read_outcomes(told: Map[Any, Any]) -> dict[str, str]:
    """Words and what they mean, as somebody wrote them. Raises SheetError."""
    return {outcome_key(str(word)): choice("outcomes", side, WINNERS) for word, side in told.items() if side}


def choice(name: str, value: object, choices: tuple[str, ...]) -> Any:
    """One of the choices. Raises SheetError."""
    if value not in choices:
        raise SheetError(
            "not-a-choice", fill=name, field=name, value=shown(value), choices=", ".join(c for c in choices if c)
        )
    return value


# The guess.

_P: Final = "(?:players?|plyr|punto|p|ผู้เล่น|เพลเยอร์)"
_B: Final = "(?:bankers?|bank|banco|b|เจ้ามือ|แบงค์เกอร์|แบงเกอร์|แบงค์)"
_C: Final = "(?:cards?|ไพ่|ใบที่|ไพ่ใบที่|ใบ|c)"
_T: Final = "(?:total|score|points?|pts|sum|value|แต้มรวม|แต้ม|รวม|คะแนน)"
_NTH: Final = {
    1: "(?:1|1st|first|one|แรก|ที่หนึ่ง)",
    2: "(?:2|2nd|second|two|ที่สอง)",
    3: "(?:3|3rd|third|three|ที่สาม)",
}


def _patterns() -> dict[str, re.Pattern[str]]:
    out: dict[str, str] = {}
    for letter, side in (("P", _P), ("B", _B)):
        for n, nth in _NTH.items():
            out[f"{letter}{n}"] = f"{side}{_C}?{nth}{_C}?|{_C}?{nth}{side}|{_C}{side}{nth}|{nth}{_C}?{side}"
    for name, side in (("player", _P), ("banker", _B)):
        out[f"{name}_total"] = f"{side}(?:hand)?{_T}|{_T}{side}"
        out[name] = f"{side}(?:hand|cards?|ไพ่)?|(?:hand|cards?|ไพ่)(?:of|ของ)?{side}"
    for n in range(1, 7):
        nth = {1: "1|1st|first", 2: "2|2nd|second", 3: "3|3rd|third", 4: "4|4th", 5: "5|5th", 6: "6|6th"}[n]
        out[f"card{n}"] = f"(?:{_C}(?:no|ที่)?(?:{nth})|(?:{nth}){_C})"
    out |= {
        "cards": "cards|allcards|cardsdealt|dealt|sequence|ไพ่|ไพ่ทั้งหมด|ไพ่ที่แจก",
        "outcome": "outcome|results?|winners?|win|won|called|ผล|ผลลัพธ์|ผลการเล่น|ผลที่ออก|ผลตา|ผู้ชนะ|ชนะ|ฝ่ายชนะ",
        "table": "table(?:no|code|id|number|name)?|tbl|โต๊ะ(?:ที่)?|(?:หมายเลข|รหัส|เลขที่|เลข)โต๊ะ",
        "shoe": "shoe(?:no|id|number)?|boot|ขอน(?:ที่|ไพ่)?|(?:หมายเลข|เลขที่|เลข)ขอน|ซู|ชู",
        "hand": "hand(?:no|id|number)?|round(?:no|id|number)?|game(?:no|id|number)?|no|coup|ตา(?:ที่)?|มือ(?:ที่)?|รอบ(?:ที่)?"
        "|เกม(?:ที่)?|ลำดับ(?:ที่)?|(?:หมายเลข|เลขที่)ตา",
        "at": "datetime|timestamp|dateandtime|datetimeofhand|at|when|วันเวลา|วันที่เวลา|วันที่และเวลา|วันและเวลา",
        "date": "date|day|gamingday|วันที่|วัน",
        "time": "time|clock|hour|เวลา",
        "dealer": "dealer(?:no|id|code|name)?|croupier|ดีลเลอร์|(?:ชื่อ|รหัส)ดีลเลอร์|ผู้แจก(?:ไพ่)?|คนแจก(?:ไพ่)?",
    }
    return {name: re.compile(unicodedata.normalize("NFKC", pattern)) for name, pattern in out.items()}


_PATTERNS: Final = _patterns()
#: Rows that are looked at for a guess.
_LOOKED_AT: Final = 300


def _head_key(head: str) -> str:
    return re.sub(r"[\s_\-./#:()'’\[\]]+", "", head.casefold()) or ("no" if "#" in head else "")


def field_of(head: str) -> str | None:
    """What a column with this head holds, by the head alone."""
    key = _head_key(head)
    return next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(key)), None) if key else None


def guess(book: Book, head_row: int | None = None) -> Mapping:
    """The mapping that the heads and the cells suggest; `head_row`: where the heads stand, if somebody said so. The
    order of dealing is left open.
    """
    if head_row is None:
        head_row = _guess_head_row(book)
    columns: dict[str, int] = {}
    for at, name in enumerate(_fields_of(book, head_row)):
        if name is not None and name not in columns:
            columns[name] = at
    found = Mapping(columns=columns, head_row=head_row)
    body = found.body(book)[:_LOOKED_AT]
    columns = _by_content(columns, body, book.width)
    return replace(found, columns=columns, cards=_guess_cards(columns, body), dates=_guess_dates(columns, body))


def _guess_head_row(book: Book) -> int:
    """The row with the most heads that are known; the first one of nothing but words where none is."""
    if book.heads:
        return 0
    best, number = 0, 0
    for row in book.rows[:20]:
        known = {field_of(plain(cell)) for cell in row.cells if isinstance(cell, str)} - {None}
        if _is_hand(row):  # or else the second row of heads: 1 2 3 below Player and Banker
            known = set(_fields_of(book, row.number)) - {None}
            known = known if len(known & set(PLACES)) >= 4 else set()
        if len(known) > best:
            best, number = len(known), row.number
    if best >= 2:
        return number
    first = book.rows[0]
    words = [cell for cell in first.cells if isinstance(cell, str) and re.search(r"[^\W\d_]{3}", plain(cell))]
    return first.number if best == 1 or (len(words) >= 2 and not _is_hand(first)) else 0


def _fields_of(book: Book, head_row: int) -> list[str | None]:
    """What each column holds by its head; a bare number takes the head above it, or left of that, before it."""
    heads = heads_of(book, head_row)
    above = heads_of(book, head_row - 1) if head_row > 1 else []
    out: list[str | None] = []
    last = ""
    for at, head in enumerate(heads):
        over = above[at] if at < len(above) else ""
        last = over or last
        number = re.fullmatch("[1-6]", head) is not None
        out.append(field_of(f"{last} {head}") if number and last else field_of(head or over))
    return out


def _is_hand(row: Row) -> bool:
    """Whether a row looks like a hand: it has four cards."""
    cards = 0
    for cell in row.cells:
        try:
            cards += len(read_cards(cell, "suits", 6)) if isinstance(cell, str) else 0
        except CellError:
            continue
    return cards >= 4


def _looks(kind: Kind, cell: Cell, limit: int) -> bool:
    try:
        return bool(read_cards(cell, kind, limit))
    except CellError:
        return False


def _by_content(columns: dict[str, int], body: list[Row], width: int) -> dict[str, int]:
    """What the cells say against the heads or beyond them."""
    columns = dict(columns)
    taken = set(columns.values())

    def cells(at: int) -> list[Cell]:
        return [row.cells[at] for row in body if at < len(row.cells) and plain(row.cells[at])]

    for name in ("at", "date", "time"):
        at = columns.get(name)
        if at is None or not cells(at):
            continue
        dated = [_is_moment(cell) for cell in cells(at)]
        if name != "at" and sum(dated) * 2 > len(dated) and "at" not in columns:
            columns["at"] = columns.pop(name)
        elif name == "at" and sum(dated) * 2 <= len(dated):
            timed = [_is_time(cell) for cell in cells(at)]
            columns.pop(name)
            columns.setdefault("time" if sum(timed) * 2 > len(timed) else "date", at)
    columns = _without_doubt(columns)
    if "outcome" not in columns:
        for at in range(width):
            found = cells(at)
            if at not in taken and found and all(known_outcome(outcome_key(cell)) for cell in found):
                columns["outcome"] = at
                taken.add(at)
                break
    if not any(name in columns for name in CARD_LIMITS):
        by_itself = [
            at
            for at in range(width)
            if at not in taken and cells(at) and all(_looks("suits", cell, 1) for cell in cells(at))
        ]
        # Six columns of cards in a row and nothing that says whose they are: in the order dealt, or by side? Asked.
        if 4 <= len(by_itself) <= 6:
            columns |= {f"card{n}": at for n, at in enumerate(by_itself, 1)}
    return {name: columns[name] for name in FIELDS if name in columns}


def _without_doubt(columns: dict[str, int]) -> dict[str, int]:
    """Cards found in two ways: the finer one is the cards, and of a column a side beside it the head was its total."""
    out = dict(columns)
    places = sum(name in out for name in PLACES)
    if places >= 4:
        for side in SIDES:
            at = out.pop(side, None)
            if at is not None:
                out.setdefault(f"{side}_total", at)
    elif all(side in out for side in SIDES):
        for name in PLACES:
            out.pop(name, None)
    if places >= 4 or all(side in out for side in SIDES):
        for name in (*DEALT, "cards"):
            out.pop(name, None)
    elif sum(name in out for name in DEALT) >= 4:
        for name in ("cards", *SIDES, *PLACES):
            out.pop(name, None)
    return out


def _is_moment(cell: Cell) -> bool:
    if isinstance(cell, dt.datetime):
        return bool(cell.time() != dt.time(0))
    if not isinstance(cell, str):
        return False
    for order in DATE_ORDERS:
        try:
            return read_moment(cell, order, dt.date(2100, 1, 1), dt.UTC) is not None
        except CellError:
            continue
    return False


def _is_time(cell: Cell) -> bool:
    try:
        return read_time(cell) is not None
    except CellError:
        return False


def _guess_cards(columns: dict[str, int], body: list[Row]) -> Kind:
    """How the cards are written: suits where any cell has one; a zero and no picture cards: values."""
    at = [(column, CARD_LIMITS[name]) for name, column in columns.items() if name in CARD_LIMITS]
    texts = [plain(row.cells[column]).upper() for row in body for column, _ in at if column < len(row.cells)]
    if any((_looks("suits", text, 6) and not _looks("ranks", text, 6)) or _suited(text) for text in texts if text):
        return "suits"
    joined = " ".join(texts)
    alone = [token for text in texts for token in re.split(r"[^0-9A-Z]+", text) if token]
    pictures = bool(re.search("[ATJQK]", joined)) or any(token in ("10", "11", "12", "13") for token in alone)
    if not pictures and "0" in joined:
        return "values"
    return "ranks"


def _suited(text: str) -> bool:
    try:
        return any(len(card) == 2 for card in read_cards(text, "suits", 6))
    except CellError:
        return False


def _guess_dates(columns: dict[str, int], body: list[Row]) -> DateOrder:
    at = columns.get("date", columns.get("at"))
    votes: Counter[str] = Counter()
    for row in body:
        cell = row.cells[at] if at is not None and at < len(row.cells) else None
        found = DATE_PARTS.match(plain(cell)) if isinstance(cell, str) else None
        if found is None:
            continue
        first, second, third = found.groups()
        if len(first) >= 3:
            votes["ymd"] += 1
        elif int(first) > 12:
            votes["dmy" if len(third) == 4 or int(first) <= 31 else "ymd"] += 1
        elif int(second) > 12:
            votes["mdy"] += 1
    return cast(DateOrder, votes.most_common(1)[0][0]) if votes else "dmy"

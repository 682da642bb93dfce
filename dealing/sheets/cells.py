"""What the cells of a sheet say: cards, outcomes, totals, numbers, tables, dates and times. Each reader raises
`CellError` for what it cannot read, and guesses nothing: what can be read in two ways is an error.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from typing import Final, Literal

from dealing.rules.cards import Card
from dealing.sheets.errors import CellError, shown

#: A cell as it was read: numbers are text already (`9.0` is `9`); None is an empty one.
Cell = str | dt.datetime | dt.date | dt.time | None
#: A cell with a formula that nobody worked out: the file has no value of it.
UNWORKED: Final = "\ue001formula"

#: How the cards are written: with suits, as ranks only, or as their points only.
Kind = Literal["suits", "ranks", "values"]
KINDS: Final[tuple[Kind, ...]] = ("suits", "ranks", "values")
#: A card worth nothing of which the sheet does not say whether it is a ten, jack, queen or king.
ZERO: Final = "0"
#: So a house writes that there is no card.
EMPTY: Final = frozenset({"", "-", "--", "–", "—", ".", "*", "n/a", "na", "none", "null", "nan", "nil", "ไม่มี"})


_THAI: Final = re.compile("[\u0e00-\u0e7f]")


def plain(cell: Cell) -> str:
    """The text of a cell: one form for each character, western digits, no spaces around it; empty where it says so."""
    if cell is None or cell == UNWORKED:
        return ""
    text = cell if isinstance(cell, str) else cell.isoformat()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        digits = (str(unicodedata.digit(c)) if c.isdigit() and not c.isascii() else c for c in text)
        text = "".join(
            c for c in digits if unicodedata.category(c) not in ("Cf", "Mn") or (c >= "\u0e00" and c < "\u0e80")
        )
    text = text.strip()
    return "" if text.casefold() in EMPTY else text


# Cards.

_WORDS: Final = {
    "s": ("spades", "spade", "♠", "♤", "โพดำ", "黑桃"),
    "h": ("hearts", "heart", "♥", "♡", "❤", "โพแดง", "红心", "紅心"),
    "d": ("diamonds", "diamond", "♦", "♢", "◆", "ข้าวหลามตัด", "方块", "方塊"),
    "c": ("clubs", "club", "♣", "♧", "ดอกจิก", "梅花"),
}
_RANK_WORDS: Final = {
    "A": ("ace", "เอซ", "เอช"),
    "T": ("ten",),
    "J": ("jack", "แจ็ค", "แจ๊ค", "แจ็ก"),
    "Q": ("queen", "แหม่ม", "ควีน"),
    "K": ("king", "คิง"),
}
#: A suit that was a word or a sign stays beside its rank, whatever stood between them.
_JOIN: Final = "\ue000"
_REPLACE: Final = {
    unicodedata.normalize("NFKC", word): letter for letter, words in _RANK_WORDS.items() for word in words
} | {unicodedata.normalize("NFKC", word): _JOIN + letter for letter, words in _WORDS.items() for word in words}
_WORD: Final = re.compile("|".join(sorted(map(re.escape, _REPLACE), key=len, reverse=True)), re.IGNORECASE)
_BEFORE: Final = re.compile(rf"\s*\bof\b\s*(?={_JOIN})|\s*(?={_JOIN})", re.IGNORECASE)
_AFTER: Final = re.compile(rf"{_JOIN}([a-z])\s*")
_APART: Final = re.compile(r"[\s,;/|+&.:_()\[\]{}'\"→>-]+")
_RANK: Final = "(?:10|[2-9ATJQK1])"
_SUITED: Final = re.compile(f"(?:{_RANK}[SHDC])+", re.ASCII)
_SUIT_FIRST: Final = re.compile(f"(?:[SHDC]{_RANK})+", re.ASCII)
_BARE: Final = re.compile(f"(?:{_RANK})+", re.ASCII)
_SUITED_ONE: Final = re.compile(f"({_RANK})([SHDC])", re.ASCII)
_SUIT_FIRST_ONE: Final = re.compile(f"([SHDC])({_RANK})", re.ASCII)
_BARE_ONE: Final = re.compile(_RANK, re.ASCII)
_VALUES: Final = re.compile("[0-9ATJQK]+", re.ASCII)
_NUMBERED: Final = {"11": "J", "12": "Q", "13": "K", "1": "A"}
_SPACED: Final = re.compile(f"{_RANK}\\s+[SHDC]", re.ASCII | re.IGNORECASE)
#: Longer text is no cell of cards.
_LONGEST: Final = 200


def read_cards(cell: Cell, kind: Kind, limit: int) -> list[str]:
    """The cards of a cell that may hold up to `limit`: `9h`, `9`, `T`, or `ZERO`; none for an empty cell.

    Cards may stand apart (`9h 3d`, `9,3,K`, `9/3/K`) or together (`9h3d`, `93K`) where that can be read in one way
    only. Raises CellError.

    >>> read_cards("9h 3d 10s", "suits", 3), read_cards("93K", "ranks", 3), read_cards("930", "values", 3)
    (['9h', '3d', 'Ts'], ['9', '3', 'K'], ['9', '3', '0'])
    """
    text = plain(cell)
    if not text:
        return []
    if len(text) > _LONGEST:
        raise CellError("not-a-card", value=shown(text))
    if _SPACED.fullmatch(text):
        text = "".join(text.split())  # one card, with a space before its suit
    if limit == 1:
        one = _known(text, kind)
        if one is not None:
            return [one]
    marked = _WORD.sub(lambda found: _REPLACE.get(found[0].lower(), found[0]), text)
    if marked.startswith(_JOIN):  # the suit is written before the rank
        joined = _AFTER.sub(r"\1", marked).upper()
    else:
        joined = _BEFORE.sub("", marked).replace(_JOIN, "").upper()
    tokens = [token for token in _APART.split(joined) if token]
    cards = [card for token in tokens for card in _token(token, kind, len(tokens) > 1 or limit == 1, text)]
    if not cards:
        raise CellError("not-a-card", value=shown(text))
    if len(cards) > limit:
        raise (
            CellError("one-card", value=shown(text))
            if limit == 1
            else CellError("too-many-cards", value=shown(text), limit=limit)
        )
    return cards


def _known(text: str, kind: Kind) -> str | None:
    """The usual case, without looking further."""
    if kind == "values":
        return ("A" if text == "1" else text) if len(text) == 1 and text in "0123456789" else None
    try:
        return Card.parse(text).text
    except ValueError:
        return None


def _token(token: str, kind: Kind, apart: bool, text: str) -> list[str]:
    """The cards of a part of a cell; `apart`: it stands by itself, so that a number is one card."""
    for whole, one, first in ((_SUITED, _SUITED_ONE, True), (_SUIT_FIRST, _SUIT_FIRST_ONE, False)):
        if whole.fullmatch(token):
            pairs = one.findall(token)
            return [_rank(rank) + suit.lower() for rank, suit in (pairs if first else [(r, s) for s, r in pairs])]
    if kind == "values":
        if not _VALUES.fullmatch(token):
            raise CellError("not-a-card", value=shown(text))
        if apart:
            if len(token) > 1 and token != "10":  # noqa: S105  # a card
                raise CellError("ambiguous" if len(token) <= 3 else "not-a-card", value=shown(text))
            return [_value(token)]
        return [_value(letter) for letter in token]
    if apart and token in _NUMBERED:
        return [_NUMBERED[token]]
    if not _BARE.fullmatch(token):
        raise CellError("not-a-card", value=shown(text))
    if re.search("1[1-3]", token):
        raise CellError("ambiguous", value=shown(text))
    return [_rank(rank) for rank in _BARE_ONE.findall(token)]


def _rank(rank: str) -> str:
    return {"10": "T", "1": "A"}.get(rank, rank)


def _value(letter: str) -> str:
    return ZERO if letter in ("0", "10", "T", "J", "Q", "K") else "A" if letter == "1" else letter


# Outcomes and totals.

WINNERS: Final = ("player", "banker", "tie")
_OUTCOMES: Final[dict[str, str]] = {
    unicodedata.normalize("NFKC", word): side
    for side, words in {
        "player": ("p", "player", "punto", "plyr", "ผู้เล่น", "เพลเยอร์", "เพลย์เยอร์", "闲", "閒"),
        "banker": ("b", "banker", "bank", "banco", "เจ้ามือ", "แบงค์เกอร์", "แบงเกอร์", "แบงก์เกอร์", "แบงค์", "庄", "莊"),
        "tie": ("t", "tie", "standoff", "เสมอ", "和"),
    }.items()
    for word in words
}
_WINS: Final = re.compile(r"(?:\s*\b(?:wins?|won)\b|ชนะ)[\s.!]*$", re.IGNORECASE)
_BRACKETS: Final = re.compile(r"\s*[(\[].*$")


def outcome_key(cell: Cell) -> str:
    """What an outcome cell says, without what stands around it: what a mapping of outcomes is keyed by."""
    text = _WINS.sub("", _BRACKETS.sub("", plain(cell)))
    return re.sub(r"^ฝั่ง|^ฝ่าย", "", text.casefold().strip(" .!")).strip()


def known_outcome(key: str) -> str | None:
    """`player`, `banker` or `tie` for a word that says so in every house."""
    return _OUTCOMES.get(key)


def read_outcome(cell: Cell, further: dict[str, str]) -> str | None:
    """Who won; None for an empty cell. `further`: what else the mapping says, by `outcome_key`."""
    key = outcome_key(cell)
    if not key:
        if plain(cell):
            raise CellError("not-an-outcome", value=shown(plain(cell)))
        return None
    side = further.get(key) or known_outcome(key)
    if side is None:
        raise CellError("not-an-outcome", value=shown(plain(cell)))
    return side


def read_total(cell: Cell) -> int | None:
    """A side's total, 0 to 9; None for an empty cell."""
    text = plain(cell)
    if not text:
        return None
    if len(text) > 2 or not text.isascii() or not text.isdigit() or int(text) > 9:
        raise CellError("not-a-total", value=shown(text))
    return int(text)


# Where.

_NUMBER: Final = re.compile(r"[^0-9]*([0-9]{1,6})", re.ASCII)
_TABLE_WORD: Final = re.compile(r"^(?:table|tbl|โต๊ะ(?:ที่)?)\s*(?:no\.?|#)?\s*", re.IGNORECASE)
_TABLE: Final = re.compile(r"[A-Z0-9-]{1,16}", re.ASCII)


def read_number(cell: Cell) -> int | None:
    """A shoe's or a hand's number, `12`, `#12` or `Shoe 12`; None for an empty cell."""
    text = plain(cell)
    if not text:
        return None
    found = _NUMBER.fullmatch(text) if not isinstance(cell, dt.date | dt.time) else None
    if found is None or int(found[1]) < 1:
        raise CellError("not-a-number", value=shown(text))
    return int(found[1])


def read_table(cell: Cell) -> str | None:
    """A table's code, in capitals: `b 07` is `B-07`, `Table 7` is `7`; None for an empty cell."""
    text = plain(cell)
    if not text:
        return None
    code = re.sub(r"[\s_./]+", "-", _TABLE_WORD.sub("", text).strip()).upper()
    if isinstance(cell, dt.date | dt.time) or not _TABLE.fullmatch(code):
        raise CellError("not-a-table", value=shown(text))
    return code


# When.

#: In which order a date in figures is written.
DateOrder = Literal["dmy", "mdy", "ymd"]
DATE_ORDERS: Final[tuple[DateOrder, ...]] = ("dmy", "mdy", "ymd")
#: Years from here on are of the Buddhist era.
_FIRST_BUDDHIST: Final = 2400
_BUDDHIST: Final = 543
DATE_PARTS: Final = re.compile(r"([0-9]{1,4})[-/. ]([0-9]{1,2})[-/. ]([0-9]{1,4})", re.ASCII)
_CLOCK: Final = re.compile(
    r"([0-9]{1,2})[:.]([0-9]{2})(?:[:.]([0-9]{2})(?:[.,]([0-9]{1,6}))?)?\s*(am|pm|น\.?)?", re.ASCII | re.IGNORECASE
)
_ZONED: Final = re.compile(r".*[0-9]{2}:[0-9]{2}.*(?:Z|[+-][0-9]{2}:?[0-9]{2})", re.ASCII)


#: A month by its name, `15 Nov 2026`, `15-Nov-26`, `15 พ.ย. 2569`.
_DATE_NAMED: Final = re.compile(
    r"(?P<day>[0-9]{1,2})[\s\-/.]*(?P<month>[^\W\d_][^\d,\-/]*?)[\s\-/,.]*(?:พ\.?ศ\.?\s*)?(?P<year>[0-9]{4}|[0-9]{2})"
)
_MONTH_FIRST: Final = re.compile(r"(?P<month>[A-Za-z]{3,9})\.? (?P<day>[0-9]{1,2}),? (?P<year>[0-9]{4})")
_MONTH_NAMES: Final = (
    ("january", "jan", "มกราคม", "ม.ค.", "มกรา"),
    ("february", "feb", "กุมภาพันธ์", "ก.พ.", "กุมภา"),
    ("march", "mar", "มีนาคม", "มี.ค.", "มีนา"),
    ("april", "apr", "เมษายน", "เม.ย.", "เมษา"),
    ("may", "may", "พฤษภาคม", "พ.ค.", "พฤษภา"),
    ("june", "jun", "มิถุนายน", "มิ.ย.", "มิถุนา"),
    ("july", "jul", "กรกฎาคม", "ก.ค.", "กรกฎา"),
    ("august", "aug", "สิงหาคม", "ส.ค.", "สิงหา"),
    ("september", "sep", "sept", "กันยายน", "ก.ย.", "กันยา"),
    ("october", "oct", "ตุลาคม", "ต.ค.", "ตุลา"),
    ("november", "nov", "พฤศจิกายน", "พ.ย.", "พฤศจิกา"),
    ("december", "dec", "ธันวาคม", "ธ.ค.", "ธันวา"),
)
_MONTHS: Final = {
    unicodedata.normalize("NFKC", name.replace(".", "")): number
    for number, names in enumerate(_MONTH_NAMES, 1)
    for name in names
}
#: How Excel counts days, 1920 to 2119, where a cell that is a date was written out as the number that it is.
_SERIAL: Final = re.compile(r"(?:[1-7][0-9]{4}|80[0-3][0-9]{2})(?:\.[0-9]+)?", re.ASCII)
_FIRST_SERIAL: Final = dt.date(1899, 12, 30)


def read_date(cell: Cell, order: DateOrder, today: dt.date) -> dt.date | None:
    """A date, in figures, with the month's name (English, Thai) or as Excel counts days; None for an empty cell. Years
    of the Buddhist era are told by their size; a year of two figures is the last such year that is not still to come.
    """
    if isinstance(cell, dt.datetime):
        return _era(cell.year, cell.month, cell.day, today, plain(cell))
    if isinstance(cell, dt.date):
        return _era(cell.year, cell.month, cell.day, today, plain(cell))
    text = plain(cell)
    if not text:
        return None
    named = _DATE_NAMED.fullmatch(text) or _MONTH_FIRST.fullmatch(text)
    if named is not None:
        number = _MONTHS.get(re.sub(r"[\s.]", "", named["month"]).casefold())
        if number is None:
            raise CellError("not-a-date", value=shown(text))
        return _era(int(named["year"]), number, int(named["day"]), today, text, short=len(named["year"]) == 2)
    if _SERIAL.fullmatch(text):
        return _FIRST_SERIAL + dt.timedelta(days=int(text.partition(".")[0]))
    found = DATE_PARTS.fullmatch(text)
    if found is None:
        raise CellError("not-a-date", value=shown(text))
    first, second, third = found.groups()
    if len(first) >= 3:
        year, month, day = first, second, third
    elif order == "mdy":
        month, day, year = first, second, third
    elif order == "dmy" or len(third) == 4:
        day, month, year = first, second, third
    else:
        year, month, day = first, second, third
    if len(year) not in (2, 4):
        raise CellError("not-a-date", value=shown(text))
    return _era(int(year), int(month), int(day), today, text, short=len(year) == 2)


def _era(year: int, month: int, day: int, today: dt.date, text: str, short: bool = False) -> dt.date:
    if short:
        year += 2000
        if year > today.year:
            year += 500 - _BUDDHIST  # 69 is 2569
    elif year >= _FIRST_BUDDHIST:
        year -= _BUDDHIST
    try:
        found = dt.date(year, month, day)
    except ValueError:
        raise CellError("not-a-date", value=shown(text)) from None
    if not 1900 <= found.year < 2400:
        raise CellError("not-a-date", value=shown(text))
    return found


def read_time(cell: Cell) -> dt.time | None:
    """A time of day, to the millisecond; None for an empty cell."""
    if isinstance(cell, dt.datetime):
        return _to_the_millisecond(cell.time())
    if isinstance(cell, dt.time):
        return _to_the_millisecond(cell)
    text = plain(cell)
    if not text:
        return None
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise CellError("not-a-time", value=shown(text))
    hour, minute, second, rest, half = found.groups()
    hours = int(hour)
    if half and half.lower() in ("am", "pm"):
        if not 1 <= hours <= 12:
            raise CellError("not-a-time", value=shown(text))
        hours = hours % 12 + (12 if half.lower() == "pm" else 0)
    try:
        return dt.time(hours, int(minute), int(second or 0), int((rest or "").ljust(6, "0")[:3]) * 1000)
    except ValueError:
        raise CellError("not-a-time", value=shown(text)) from None


def _to_the_millisecond(time: dt.time) -> dt.time:
    return time.replace(microsecond=time.microsecond // 1000 * 1000, tzinfo=None)


_DATE_AND_TIME: Final = re.compile(r"(.+?)(?:T|[\s,]+)([0-9]{1,2}[:.][0-9]{2}.*)", re.ASCII)


def read_moment(cell: Cell, order: DateOrder, today: dt.date, zone: dt.tzinfo) -> dt.datetime | None:
    """A date with its time, in `zone` unless it says its own; None for an empty cell."""
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return cell
    if isinstance(cell, dt.datetime):
        day = read_date(cell, order, today)
        return None if day is None else dt.datetime.combine(day, _to_the_millisecond(cell.time()), zone)
    text = plain(cell)
    if not text:
        return None
    try:
        if _ZONED.fullmatch(text):
            at = dt.datetime.fromisoformat(text)
            if at.tzinfo is not None and 1900 <= at.year < 2400:
                return at.replace(microsecond=at.microsecond // 1000 * 1000)
        if "." in text and _SERIAL.fullmatch(text):
            days, _, part = text.partition(".")
            seconds = int(days) * 86_400 + round(float(f"0.{part}") * 86_400)
            return dt.datetime.combine(_FIRST_SERIAL, dt.time(), zone) + dt.timedelta(seconds=seconds)
        found = _DATE_AND_TIME.fullmatch(text)
        if found is None:
            raise CellError("not-a-time", value=shown(text))
        day, time = read_date(found[1], order, today), read_time(found[2].strip())
    except (ValueError, OverflowError):
        raise CellError("not-a-time", value=shown(text)) from None
    if day is None or time is None:
        raise CellError("not-a-time", value=shown(text))
    return dt.datetime.combine(day, time, zone)

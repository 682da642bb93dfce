"""What is wrong with a sheet, and what its columns hold, in the reader's language. A test walks every code there is."""

from __future__ import annotations

from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy

from dealing import wording
from dealing.sheets.errors import Fault, SheetError
from dealing.sheets.mapping import CARD_LIMITS
from dealing.sheets.storing import Objection

#: What a column can hold, and what can be filled in.
FIELDS: Final[dict[str, Promise]] = {
    "P1": _("Player, first card"),
    "P2": _("Player, second card"),
    "P3": _("Player, third card"),
    "B1": _("Banker, first card"),
    "B2": _("Banker, second card"),
    "B3": _("Banker, third card"),
    "player": _("Player, all cards"),
    "banker": _("Banker, all cards"),
    "card1": _("1st card dealt"),
    "card2": _("2nd card dealt"),
    "card3": _("3rd card dealt"),
    "card4": _("4th card dealt"),
    "card5": _("5th card dealt"),
    "card6": _("6th card dealt"),
    "cards": _("all cards, in the order dealt"),
    "outcome": _("outcome"),
    "player_total": _("Player's total"),
    "banker_total": _("Banker's total"),
    "table": _("table"),
    "shoe": _("shoe"),
    "hand": _("hand"),
    "at": _("date and time"),
    "date": _("date"),
    "time": _("time"),
    "dealer": _("dealer"),
    "columns": pgettext_lazy("sheet", "columns"),
    "head_row": _("row of the heads"),
    "order": _("order of dealing"),
    "outcomes": _("outcomes"),
    "dates": _("order of dates"),
    "start": _("time of the first hand"),
    "seconds": _("seconds from hand to hand"),
    "ruleset": _("ruleset"),
    "decks": _("decks"),
    "encoding": _("characters"),
    "separator": _("separator"),
    "by": _("name of the sheet"),
}

#: The fields that a column can hold, in groups, as the page offers them.
GROUPS: Final[tuple[tuple[Promise, tuple[str, ...]], ...]] = (
    (_("A column a card, by place"), ("P1", "P2", "P3", "B1", "B2", "B3")),
    (_("A column a side"), ("player", "banker")),
    (_("In the order dealt"), ("card1", "card2", "card3", "card4", "card5", "card6", "cards")),
    (pgettext_lazy("sheet", "Result"), ("outcome", "player_total", "banker_total")),
    (_("Where and when"), ("table", "shoe", "hand", "at", "date", "time", "dealer")),
)

#: One sentence a code of `errors.MESSAGES`.
ERRORS: Final[dict[str, Promise]] = {
    "file-empty": _("The file is empty."),
    "file-too-large": _("The file is larger than {limit} MB. Copy the hands alone into a new file, or divide it."),
    "file-kind": _("{value} is no kind of file that is read here. Choose a .csv, .xlsx or .json file."),
    "xls-old": _("This is an old Excel file (.xls) or one with a password. Save it as .xlsx without a password."),
    "xlsx-broken": _("This is not a readable .xlsx file. Open it in a spreadsheet program and save it again."),
    "xlsx-too-large": _("Unpacked the file is larger than {limit} MB."),
    "no-such-sheet": _("The file has no sheet {value}; it has {known}."),
    "encoding-unknown": _("The characters of the file are neither UTF-8 nor UTF-16 nor Thai (Windows-874)."),
    "encoding-wrong": _("The characters of the file are not {value}."),
    "csv-broken": _("Row {row} of the file cannot be read ({detail})."),
    "json-broken": _("This is no JSON: look at line {line}, column {column}."),
    "json-shape": _('A JSON list of hands is wanted, or {{"hands": [...]}}.'),
    "json-hand": _("Hand {row} of the file is not an object."),
    "too-many-rows": _("The sheet has more than {limit} rows. Divide it."),
    "too-many-here": _("The sheet has more than {limit} rows. Divide it, or use manage.py import_sheet."),
    "xlsx-too-much": _("The file holds far more than a sheet of hands. Copy the hands alone into a new file."),
    "xlsx-too-slow": _("Reading the file takes too long. Copy the hands alone into a new file."),
    "no-rows": _("The sheet has no rows."),
    "no-such-column": _("There is no column {value}."),
    "no-such-field": _("{value} is nothing that a column can hold; known are {known}."),
    "column-twice": _("{value} is said to hold two things: {first} and {second}."),
    "field-twice": _("Two columns are said to hold the same: {field}."),
    "no-cards": _("Say in which columns the cards are."),
    "cards-missing": _("Say which column holds this: {field}."),
    "cards-mixed": _("Say where the cards are in one way only: by place, by side, or in the order dealt."),
    "order-missing": _("Say in which order the cards were dealt."),
    "not-a-choice": _("{field}: {value} is not one of {choices}."),
    "mapping-broken": _("This is no mapping: {detail}."),
    "fill-missing": _("The sheet does not say it, so it has to be filled in: {field}."),
    "fill-wrong": _("{field}: {value} cannot be taken."),
    "ruleset-unknown": _("{value} is not a ruleset here (known: {known})."),
    "zone-unknown": _("{value} is not a time zone such as Asia/Bangkok."),
}

#: One sentence a code of `errors.FAULTS`.
FAULTS: Final[dict[str, Promise]] = {
    "not-a-card": _("{value} is not a card"),
    "ambiguous": _("{value} can be read in several ways: put a space between the cards"),
    "one-card": _("{value} is more than one card"),
    "too-many-cards": _("{value} is more than {limit} cards"),
    "order-gap": _("card {number} is there and the one before it is not, so that the order is not known"),
    "not-an-outcome": _("{value} is not a known outcome"),
    "not-a-total": _("{value} is not a total from 0 to 9"),
    "not-a-number": _("{value} is not a whole number from 1 to 999999"),
    "not-a-table": _("{value} is not a table code (A–Z, 0–9 and -, 16 characters at most)"),
    "not-a-date": _("{value} is not a date that can be read"),
    "not-a-time": _("{value} is not a time that can be read"),
    "not-worked-out": _("{value}: the formula is not worked out. Open the file in Excel and save it."),
    "missing": _("is missing"),
    "in-the-future": _("{value} is still to come"),
    "hand-twice": _("hand {hand} of shoe {shoe} stands in row {other} already: this row is left out"),
    "missing-cards": _("{side} has fewer than two cards: the log has the cards before the gap"),
    "out-of-order": _("comes after row {other} though it is earlier: the log has it in its place"),
    "time-back": _("the time is before that of row {other}: the log has it at that row's time"),
    "stale-third": _("{card} is perhaps left over from row {other}"),
    "total-row": _("no hand: a total row?"),
    "without-cards": _("no hand: there are no cards"),
    "total-differs": _("the sheet says {said}, the cards in the row make {made}"),
    "newest-first": _("the rows stand newest first: the log has the oldest first"),
}

#: What a fault is called where it is counted.
FAULT_TITLES: Final[dict[str, Promise]] = {
    "not-a-card": _("Not a card"),
    "ambiguous": _("Cards that can be read in several ways"),
    "one-card": _("More than one card"),
    "too-many-cards": _("Too many cards in one cell"),
    "order-gap": _("Gap in the order dealt"),
    "not-an-outcome": _("Unknown outcome"),
    "not-a-total": _("Not a total"),
    "not-a-number": _("Not a number"),
    "not-a-table": _("Not a table code"),
    "not-a-date": _("Not a date"),
    "not-a-time": _("Not a time"),
    "missing": _("Something is missing"),
    "in-the-future": _("Still to come"),
    "hand-twice": _("The same hand twice"),
    "missing-cards": _("Fewer than two cards"),
    "out-of-order": _("Row out of order"),
    "time-back": _("Time goes back"),
    "stale-third": _("Third card perhaps left over"),
    "not-worked-out": _("Formula not worked out"),
    "total-row": _("Total row"),
    "without-cards": _("Result without cards"),
    "total-differs": _("Total of other cards"),
    "newest-first": _("Newest first"),
}

KINDS: Final[dict[str, Promise]] = {
    "suits": _("with suits: 9h, K♠"),
    "ranks": _("ranks only: 9, K"),
    "values": _("points only: 0 to 9"),
}
ORDERS: Final[dict[str, Promise]] = {
    "pbpb": _("Player, Banker, Player, Banker"),
    "ppbb": _("Player, Player, Banker, Banker"),
}
DATES: Final[dict[str, Promise]] = {
    "dmy": _("day, month, year"),
    "mdy": _("month, day, year"),
    "ymd": _("year, month, day"),
}


#: Why the log will not take hands of a sheet, by `storing.Objection.code`.
OBJECTIONS: Final[dict[str, Promise]] = {
    "at-earlier": _(
        "The log of {table} goes to {last} already, and hands from before cannot be added to it ({hands})."
    ),
    "shoe-behind": _("Shoe {shoe} of {table} comes after shoe {last} in the log; shoe numbers only grow ({hands})."),
    "shoe-closed": _("Shoe {shoe} of {table} is closed in the log: no more hands can be added to it ({hands})."),
    "shoe-stored-otherwise": _("The log has shoe {shoe} of {table} otherwise ({hands}): {differs}."),
    "hand-behind": _("{table}, shoe {shoe}, hand {hand}: the log is at hand {last} of this shoe already."),
    "stored-otherwise": _("{table}, shoe {shoe}, hand {hand}: the log has it otherwise: {differs}."),
}


def objection(one: Objection, last: str = "") -> str:
    """Why the log will not take hands, as a sentence; `last`: the time of the table's last event, as it is shown."""
    items = (
        _("{field} is {stored} in the log, {told} in the sheet").format(
            field=field_name(name), stored=_value(name, stored), told=_value(name, told)
        )
        for name, stored, told in one.differs
    )
    return (
        str(OBJECTIONS[one.code])
        .replace("{hands}", ngettext("{n} hand", "{n} hands", len(one.hands)).replace("{n}", str(len(one.hands))))
        .format(
            table=one.table, shoe=one.shoe, hand=one.hands[0], last=last or one.last, differs="; ".join(items) or "–"
        )
    )


def _value(name: str, text: str) -> str:
    if name == "outcome" and text:
        return wording.side_name(text)
    if name in CARD_LIMITS and text[:1] == "T":
        return "10" + text[1:]
    return text or "–"


def field_name(name: str) -> str:
    """What a column can hold, or what can be filled in."""
    known = FIELDS.get(name)
    return str(known) if known is not None else name


def explain(error: SheetError) -> str:
    """What is wrong with the sheet as a whole, as a sentence."""
    params: dict[str, Any] = dict(error.params)
    for name in ("field", "first", "second"):
        if name in params:
            params[name] = field_name(str(params[name]))
    return str(ERRORS[error.code]).format_map(params)


def tell(fault: Fault) -> str:
    """What is wrong with a row, with the field it is about."""
    params: dict[str, Any] = dict(fault.params)
    if "side" in params:
        params["side"] = wording.side_name(params["side"])
    if "card" in params:
        params["card"] = "10" + params["card"][1:] if params["card"][:1] == "T" else params["card"]
    text = str(FAULTS[fault.code]).format_map(params)
    return f"{field_name(fault.field)}: {text}" if fault.field else text[:1].upper() + text[1:]


def title(code: str) -> str:
    """What a finding or a fault is called where it is counted."""
    known = FAULT_TITLES.get(code)
    return str(known) if known is not None else wording.finding_title(code)

"""What a refused event means, in the reader's language.

The judge's errors carry a code and parameters; here each code has its sentence. A test walks every code there is.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dealing.dates import buddhist, moment
from dealing.rules.events import EventError

#: What a key of a log line is called on a page.
KEYS: Final[dict[str, Promise]] = {
    "ago": _("how long ago"),
    "amount": _("amount"),
    "at": _("time"),
    "banker": _("Banker's total"),
    "bet": _("bet"),
    "by": _("by"),
    "card": _("card"),
    "count": _("count"),
    "decks": _("decks"),
    "entry": _("corrected entry"),
    "event": _("event"),
    "extra": _("extra card"),
    "face": _("face"),
    "from": _("from"),
    "hand": _("hand"),
    "key": _("key"),
    "odds": _("odds"),
    "opened": _("opened"),
    "place": _("place"),
    "placed": _("put on"),
    "player": _("Player's total"),
    "reason": _("reason"),
    "ruleset": _("ruleset"),
    "scope": _("scope"),
    "seat": _("seat"),
    "seq": _("position"),
    "shoe": _("shoe"),
    "side": _("side"),
    "stake": _("stake"),
    "table": _("table"),
    "to": _("to"),
    "when": _("when"),
    "window": _("insurance time"),
    "winner": _("winner"),
}

#: One sentence a code, with the parameters of the error in braces.
TEMPLATES: Final[dict[str, Promise]] = {
    # reading a line
    "not-json": _("this is not a JSON object ({detail})"),
    "not-an-object": _("one JSON object a line is wanted"),
    "repeated": _("stands there twice"),
    "missing": _("is missing"),
    "unknown-key": _("is not a key of {event}"),
    "unknown-event": _("{value} is not an event of the log"),
    "not-text": _("must be text"),
    "too-long": _("is longer than {limit} characters"),
    "empty": _("must not be empty"),
    "not-storable": _("holds a character that cannot be stored"),
    "not-a-card": _("{value} is not a card"),
    "not-a-choice": _("{value} is not one of {choices}"),
    "not-a-number": _("must be a whole number from {low} to {high}"),
    "not-true-or-false": _("must be true or false"),
    "not-money": _("{value} is not an amount. Write it as 1500 or 1500.50."),
    "not-positive": _("must be more than 0"),
    "not-a-time": _("{value} is not a time with its offset, to the millisecond, such as 2026-11-28T20:00:01.250+07:00"),
    "not-a-table": _("{value} is not a table code (A–Z, 0–9 and -, 16 characters at most)"),
    "hand-not-wanted": _("{event} belongs to the shoe, not to a hand"),
    "card-needed": _("a card dealt face up has to be named"),
    "same-place": _("is where the card is already"),
    "place-or-extra": _("name either a place or extra, not both"),
    "entry-amends": _("an amendment cannot be amended; amend the entry it corrected again"),
    "entry-elsewhere": _("belongs to another table, shoe or hand than the amendment"),
    "unknown-ruleset": _("{value} is not a ruleset here (known: {known})"),
    # what cannot have happened
    "no-shoe": _("shoe {shoe} is not open at this table"),
    "shoe-opened": _("shoe {shoe} was opened already"),
    "shoe-behind": _("shoe {shoe} comes after shoe {last} in the log; shoe numbers only grow"),
    "shoe-closed": _("shoe {shoe} is closed"),
    "shoe-left": _("shoe {shoe} is over: shoe {last} was opened after it"),
    "hand-behind": _("hand {hand} is over; the table is at hand {last}"),
    "no-hand": _("hand {hand} of shoe {shoe} was never dealt"),
    "hand-closed": _("hand {hand} is closed"),
    "hand-voided": _("hand {hand} is void"),
    "betting-opened": _("betting on this hand was opened already"),
    "betting-closed": _("betting on this hand was closed already"),
    "occupied": _("{place} already holds {card}"),
    "empty-place": _("there is no card at {place}"),
    "face-up": _("the card at {place} is face up already"),
    "other-card": _("{place} was recorded as {card}"),
    "no-extra": _("this hand has no extra card to discard"),
    "window-open": _("insurance time {window} is still open"),
    "window-not-open": _("insurance time {window} is not open"),
    "no-window": _("no insurance time is open"),
    "void-already": _("this was declared void already"),
    "burn-card-known": _("the burn card of this shoe is recorded already"),
    "hands-dealt": _("hands have been dealt from this shoe; the burn is over"),
    "cut-card-out": _("the cut card of this shoe is out already"),
    "amendment": _("an amendment is applied to the log, not to a hand"),
    "no-entry": _("there is no entry {seq} at this table before this one"),
    "entry-is-amendment": _("entry {seq} is itself an amendment; amend the entry it corrected"),
    "entry-of-other-hand": _("entry {seq} belongs to another shoe or hand"),
    "breaks-entry": _("with this, entry {seq} could not have happened ({detail})"),
    # what the log refuses
    "no-such-table": _("there is no table {value}"),
    "other-table": _("is {value}, and the events before it are of table {table}"),
    "key-needed": _("is missing; each event of a device has a key of its own, by which it can be sent again"),
    "key-stored": _("{value} is the key of another event, at position {seq}"),
    "ago-and-at": _("say either how long ago it was, or at what time"),
    "not-this-table": _("is {value}, and this is the address of table {table}"),
    "by-another": _("only a device may say that somebody else has recorded this"),
    "at-earlier": _("is before the table's last event, which was at {last}"),
    "at-future": _("is in the future; the clock here says {now}"),
    "table-moved-on": _(
        "somebody else has recorded meanwhile: the table is at position {seq} by now, not at {expected}"
    ),
    # what a file brings
    "line-too-long": _("the line is longer than {limit} bytes"),
    "key-used": _("{value} is the key of another event, on line {line}"),
    "unknown-table": _("there is no table {value}; make it, or import with --create-tables"),
    "stored-otherwise": _("position {seq} of the log has this hand otherwise"),
    "shoe-stored-otherwise": _("position {seq} of the log has this shoe otherwise"),
}

#: What is wrong with an amount that has nothing but digits: the log takes twelve before the point and four after it.
TOO_LARGE: Final = _("{value} is too large.")
TOO_FINE: Final = _("{value} has too many digits after the point.")

#: Messages of which every detail is a time.
OF_TIMES: Final = frozenset({"at-earlier", "at-future"})


def reason(error: EventError) -> str:
    """Why, without the key: for a message that stands at its field. In the active language."""
    cause = error.params.get("cause")
    params = {**error.params, "detail": explain(cause)} if isinstance(cause, EventError) else error.params
    if error.code in OF_TIMES and buddhist():
        params = {name: moment(dt.datetime.fromisoformat(str(value))) for name, value in params.items()}
    template = _of_amount(str(params.get("value", ""))) if error.code == "not-money" else TEMPLATES.get(error.code)
    return str(error.messages[error.code] if template is None else template).format_map(params)


def _of_amount(shown: str) -> Promise:
    """What to say of a value, as a refusal shows it, that the log does not take for an amount."""
    digits = re.fullmatch(r"'-?([0-9]+)(\.[0-9]*)?…?'", shown, re.ASCII)
    if not digits:
        return TEMPLATES["not-money"]
    if len(digits[1].lstrip("0")) > 12:
        return TOO_LARGE
    return TOO_FINE if len(digits[2] or "") > 5 else TEMPLATES["not-money"]


def explain(error: EventError) -> str:
    """Which key, and why, in the active language: what `str(error)` is in English."""
    label = ".".join(str(KEYS.get(key, key)) for key in error.key.split("."))
    return f"{label}: {reason(error)}"


#: Keys that no field of a page stands for: what is wrong with them is a sentence of its own.
OF_NO_FIELD: Final = frozenset({"shoe", "hand", "seq", "event", "key"})


def tell(error: EventError) -> str:
    """Why, for a person at a page where it stands at no field: with the key only where that says what is meant."""
    if error.key not in OF_NO_FIELD:
        return explain(error)
    text = reason(error)
    return text[:1].upper() + text[1:]


@cache
def _known() -> tuple[tuple[re.Pattern[str], type[EventError], str], ...]:
    """Every English message as a pattern with its parameters for groups, the one that says most first."""
    found: dict[str, tuple[re.Pattern[str], type[EventError], str]] = {}
    kinds: list[type[EventError]] = [EventError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        for code, template in kind.messages.items():
            parts = re.split(r"\{([a-z]+)\}", template)
            names = set(parts[1::2])
            pattern = "".join(f"(?P<{part}>.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
            if len(names) == len(parts) // 2:
                found.setdefault(template, (re.compile(pattern, re.DOTALL), kind, code))
    return tuple(found[template] for template in sorted(found, key=lambda one: -len(re.sub(r"\{[a-z]+\}", "", one))))


def again(text: str) -> str:
    """An error that was kept as its English message, in the active language; a text that is none stays as it is."""
    key, colon, said = text.partition(": ")
    if not colon or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", key):
        return text
    for pattern, kind, code in _known():
        found = pattern.fullmatch(said)
        if found is not None:
            params: dict[str, object] = dict(found.groupdict())
            if "detail" in params:
                params["detail"] = again(str(params["detail"]))
            error = kind.__new__(kind)
            EventError.__init__(error, key, code, **params)
            return explain(error)
    return text

"""The event vocabulary of a table log: one frozen struct a kind, read from and written as one JSON line.

``parse_line(text)`` and ``parse_event(mapping)`` give an :class:`Event` or raise :class:`EventError`, which names the
key of the line that is wrong; ``format_event(event)`` writes the canonical line, and parsing that gives an equal event.
``parse_canonical(text)`` is the quick way for lines that were written by ``format_event``.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import product
from typing import Any, ClassVar, Final, cast

import msgspec

from dealing.rules.bets import BET_NAMES
from dealing.rules.cards import ALL_CARDS, Card
from dealing.rules.tableau import PLACES, Place

#: What each error code says, in English. Other languages are made from the code and the same parameters.
MESSAGES: Final[dict[str, str]] = {
    "not-json": "this is not a JSON object ({detail})",
    "not-an-object": "one JSON object a line is wanted",
    "repeated": "stands there twice",
    "missing": "is missing",
    "unknown-key": "is not a key of {event}",
    "unknown-event": "{value} is not an event of the log",
    "not-text": "must be text",
    "too-long": "is longer than {limit} characters",
    "empty": "must not be empty",
    "not-storable": "holds a character that cannot be stored",
    "not-a-card": "{value} is not a card",
    "not-a-choice": "{value} is not one of {choices}",
    "not-a-number": "must be a whole number from {low} to {high}",
    "not-true-or-false": "must be true or false",
    "not-money": "{value} is not an amount; a decimal string such as 100.00 is wanted",
    "not-positive": "must be more than 0",
    "not-a-time": "{value} is not a time with its offset, to the millisecond, such as 2026-11-28T20:00:01.250+07:00",
    "not-a-table": "{value} is not a table code (A–Z, 0–9 and -, 16 characters at most)",
    "hand-not-wanted": "{event} belongs to the shoe, not to a hand",
    "card-needed": "a card dealt face up has to be named",
    "same-place": "is where the card is already",
    "place-or-extra": "name either a place or extra, not both",
    "entry-amends": "an amendment cannot be amended; amend the entry it corrected again",
    "entry-elsewhere": "belongs to another table, shoe or hand than the amendment",
}


class EventError(ValueError):
    """A log line that cannot be accepted.

    ``key`` names the key of the line, ``code`` the reason (a key of a message catalogue), ``params`` its parameters;
    ``str()`` is the English message, ``card: 1x is not a card``.
    """

    messages: ClassVar[Mapping[str, str]] = MESSAGES

    def __init__(self, key: str, code: str, **params: object) -> None:
        super().__init__(key, code, params)
        self.key = key
        self.code = code
        self.params = params
        #: Position of the event at fault, where a whole log is folded.
        self.at_seq: int | None = None

    def __str__(self) -> str:
        return f"{self.key}: {self.messages[self.code].format_map(self.params)}"

    def __reduce__(self) -> tuple[object, ...]:
        """An error may come from another process."""
        return (_error_again, (type(self), self.key, self.code, self.params, self.at_seq))


def _error_again(
    kind: type[EventError], key: str, code: str, params: dict[str, object], at_seq: int | None
) -> EventError:
    error = kind.__new__(kind)
    EventError.__init__(error, key, code, **params)
    error.at_seq = at_seq
    return error


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What every line has: when, at which table, of which shoe (from 1) and, for hand events, which hand (from 1)."""

    name: ClassVar[str]
    #: What the memo of the judge knows the event by; None: never memoised. See :data:`CARD_TOKENS`.
    token: ClassVar[int | None] = None

    at: dt.datetime
    table: str
    shoe: int
    hand: int | None = None
    key: str | None = None
    by: str | None = None


class ShoeOpened(Event, frozen=True, kw_only=True):
    """A shoe starts."""

    name = "shoe_opened"
    ruleset: str
    decks: int = 8


class BurnCard(Event, frozen=True, kw_only=True):
    """The first card of a new shoe, turned face up (SHOE-burn)."""

    name = "burn_card"
    card: Card


class CardsBurned(Event, frozen=True, kw_only=True):
    """``count`` cards were burned after the burn card (SHOE-burn)."""

    name = "cards_burned"
    count: int


class CutCard(Event, frozen=True, kw_only=True):
    """The cut card came out: in ``hand``, or between hands (SHOE-last)."""

    name = "cut_card"


class ShoeClosed(Event, frozen=True, kw_only=True):
    """The shoe is done: finished, cancelled, replaced or faulty."""

    name = "shoe_closed"
    reason: str


class BettingOpened(Event, frozen=True, kw_only=True):
    """The betting time of the hand starts."""

    name = "betting_opened"
    token = 401


class BettingClosed(Event, frozen=True, kw_only=True):
    """The betting time of the hand is over."""

    name = "betting_closed"
    token = 402


class Bet(Event, frozen=True, kw_only=True):
    """A bet placed: ``seat`` 1–99, ``bet`` a name of :data:`dealing.rules.bets.BET_NAMES`, ``stake`` more than 0."""

    name = "bet"
    seat: int
    bet: str
    stake: Decimal


class CardDealt(Event, frozen=True, kw_only=True):
    """The next card out of the shoe and where the dealer put it; face down, the card may be unknown (None)."""

    name = "card"
    to: Place
    card: Card | None = None
    face: str = "up"
    token: int | None = None  # type: ignore[misc]  # derived, so not part of the line; see __post_init__

    def __post_init__(self) -> None:
        if self.face == "up" and self.card is not None:
            msgspec.structs.force_setattr(self, "token", _CARD_TOKENS[self.to][self.card.index])
        elif self.token is not None:  # another card's, of which this one is a copy
            msgspec.structs.force_setattr(self, "token", None)


class Opened(Event, frozen=True, kw_only=True):
    """The face-down card at ``place`` is turned up."""

    name = "opened"
    place: Place
    card: Card


class Extra(Event, frozen=True, kw_only=True):
    """A card out of the shoe that belongs to no place of this hand."""

    name = "extra"
    card: Card | None = None
    face: str = "up"


class Exposed(Event, frozen=True, kw_only=True):
    """A card was seen that should not have been, without having been dealt or opened as such."""

    name = "exposed"
    when: str
    card: Card | None = None
    place: Place | None = None


class Moved(Event, frozen=True, kw_only=True):
    """A manager puts a card where it belongs."""

    name = "moved"
    source: Place
    to: Place


class Discarded(Event, frozen=True, kw_only=True):
    """A card is taken out of the hand as a discard: the one at ``place``, or an extra card."""

    name = "discarded"
    place: Place | None = None
    extra: bool = False


class Dropped(Event, frozen=True, kw_only=True):
    """A card left the camera's view; ``opened`` says whether it was face up before."""

    name = "dropped"
    when: str
    opened: bool
    card: Card | None = None


class InsuranceOpened(Event, frozen=True, kw_only=True):
    """Insurance time ``window`` (1 or 2) starts."""

    name = "insurance_opened"
    window: int


class InsuranceOdds(Event, frozen=True, kw_only=True):
    """The odds that the dealer put up, for which side, and on which side's spot."""

    name = "insurance_odds"
    side: str
    placed: str
    odds: Decimal


class InsuranceClosed(Event, frozen=True, kw_only=True):
    """Insurance time ``window`` is over."""

    name = "insurance_closed"
    window: int


class Called(Event, frozen=True, kw_only=True):
    """The result the dealer announced; totals where they were said."""

    name = "called"
    winner: str
    player: int | None = None
    banker: int | None = None
    token: int | None = None  # type: ignore[misc]  # derived, see CardDealt

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "token", _CALL_TOKENS.get((self.winner, self.player, self.banker)))


class Paid(Event, frozen=True, kw_only=True):
    """What was paid on a bet, stake not counted; "0.00" for a returned stake; negative where it was taken back."""

    name = "paid"
    seat: int
    bet: str
    amount: Decimal


class HandClosed(Event, frozen=True, kw_only=True):
    """The hand is over."""

    name = "hand_closed"
    token = 403


class Voided(Event, frozen=True, kw_only=True):
    """A decision carried out at the table: the hand, or its insurance bets, are void."""

    name = "voided"
    scope: str
    reason: str


class Amended(Event, frozen=True, kw_only=True):
    """A recording mistake put right: the entry at position ``seq`` reads ``entry``, or is withdrawn (None)."""

    name = "amended"
    seq: int
    entry: Event | None = None
    reason: str


#: Tokens below this are those of a card dealt face up: the index of its card is ``token % len(ALL_CARDS)``.
CARD_TOKENS: Final = len(PLACES) * len(ALL_CARDS)
_CARD_TOKENS: Final[dict[str, list[int]]] = {
    place: [number * len(ALL_CARDS) + card.index for card in ALL_CARDS] for number, place in enumerate(PLACES)
}
_TOTALS: Final = (None, *range(10))
#: Calls that can be right, by winner and totals.
_CALL_TOKENS: Final[dict[tuple[str, int | None, int | None], int]] = {
    call: 500 + number for number, call in enumerate(product(("player", "banker", "tie"), _TOTALS, _TOTALS))
}

# --- one reader a key: (key, value) -> the attribute, or EventError --------------------------------------------------

Reader = Callable[[str, Any], Any]


#: NUL and lone surrogates: legal in JSON text, but neither UTF-8 nor PostgreSQL can hold them.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _text(limit: int) -> Reader:
    def read(key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise EventError(key, "not-text")
        if not value.strip():
            raise EventError(key, "empty")
        if len(value) > limit:
            raise EventError(key, "too-long", limit=limit)
        if _UNSTORABLE.search(value):
            raise EventError(key, "not-storable")
        return value

    return read


def _choice(*choices: str) -> Reader:
    known = {choice: choice for choice in choices}

    def read(key: str, value: Any) -> str:
        try:
            return known[value]
        except (KeyError, TypeError):
            raise EventError(key, "not-a-choice", value=_shown(value), choices=", ".join(choices)) from None

    return read


def _number(low: int, high: int) -> Reader:
    def read(key: str, value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise EventError(key, "not-a-number", low=low, high=high)
        return value

    return read


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise EventError(key, "not-true-or-false")
    return value


def _true(key: str, value: Any) -> bool:
    if value is not True:
        raise EventError(key, "not-a-choice", value=_shown(value), choices="true")
    return True


def _card(key: str, value: Any) -> Card:
    if isinstance(value, Card):
        return value
    try:
        return Card.parse(value)
    except (ValueError, TypeError):
        raise EventError(key, "not-a-card", value=_shown(value)) from None


_MONEY = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,4})?", re.ASCII)


def _amount(key: str, value: Any) -> Decimal:
    if not isinstance(value, str) or not _MONEY.fullmatch(value):
        raise EventError(key, "not-money", value=_shown(value))
    return Decimal(value)


def _positive(key: str, value: Any) -> Decimal:
    amount = _amount(key, value)
    if amount <= 0:
        raise EventError(key, "not-positive")
    return amount


_TIME = re.compile(
    r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3}|\.[0-9]{3}0{1,3})?(Z|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)


def _time(key: str, value: Any) -> dt.datetime:
    try:
        if _TIME.fullmatch(value):
            return dt.datetime.fromisoformat(value)
    except (ValueError, TypeError):
        pass
    raise EventError(key, "not-a-time", value=_shown(value))


_TABLE = re.compile(r"[A-Z0-9-]{1,16}", re.ASCII)
#: Codes that were read before; a log has few.
_TABLES: set[object] = set()


def _table(key: str, value: Any) -> str:
    if isinstance(value, str) and (value in _TABLES or _TABLE.fullmatch(value)):
        if len(_TABLES) < 10_000:
            _TABLES.add(value)
        return value
    raise EventError(key, "not-a-table", value=_shown(value))


def _entry(key: str, value: Any) -> Event:
    if isinstance(value, Mapping) and value.get("event") == Amended.name:  # asked first: entries may nest without end
        raise EventError(key, "entry-amends")
    try:
        return parse_event(value)
    except EventError as error:
        raise EventError(f"{key}.{error.key}", error.code, **error.params) from None


def _shown(value: object, most: int = 40) -> str:
    """A value as it may stand in a message: short and on one line."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # an integer of thousands of digits, lists in lists in lists
        text = type(value).__name__
    text = "".join(c if c.isprintable() else "?" for c in text)
    return f"'{text}'" if len(text) <= most else f"'{text[:most]}…'"


_place = _choice(*PLACES)
_face = _choice("up", "down")
_side = _choice("player", "banker")
_reason = _text(500)

#: Hand numbers and shoe numbers stay far below this.
_COUNT = _number(1, 999_999)

_COMMON: Final[dict[str, Reader]] = {"at": _time, "table": _table, "shoe": _COUNT, "hand": _COUNT}
_LAST: Final[dict[str, Reader]] = {"key": _text(128), "by": _text(64)}

#: The keys of each event besides the common ones: reader, and whether it must be there.
_KEYS: Final[dict[type[Event], dict[str, tuple[Reader, bool]]]] = {
    ShoeOpened: {"ruleset": (_text(64), True), "decks": (_number(1, 16), False)},
    BurnCard: {"card": (_card, True)},
    CardsBurned: {"count": (_number(0, 999), True)},
    CutCard: {},
    ShoeClosed: {"reason": (_choice("finished", "cancelled", "replaced", "faulty"), True)},
    BettingOpened: {},
    BettingClosed: {},
    Bet: {"seat": (_number(1, 99), True), "bet": (_choice(*BET_NAMES), True), "stake": (_positive, True)},
    CardDealt: {"to": (_place, True), "card": (_card, False), "face": (_face, False)},
    Opened: {"place": (_place, True), "card": (_card, True)},
    Extra: {"card": (_card, False), "face": (_face, False)},
    Exposed: {
        "when": (_choice("betting", "drawing", "start", "burn"), True),
        "card": (_card, False),
        "place": (_place, False),
    },
    Moved: {"from": (_place, True), "to": (_place, True)},
    Discarded: {"place": (_place, False), "extra": (_true, False)},
    Dropped: {
        "when": (_choice("drawing", "opening", "start", "discard"), True),
        "opened": (_flag, True),
        "card": (_card, False),
    },
    InsuranceOpened: {"window": (_number(1, 2), True)},
    InsuranceOdds: {"side": (_side, True), "placed": (_side, True), "odds": (_positive, True)},
    InsuranceClosed: {"window": (_number(1, 2), True)},
    Called: {
        "winner": (_choice("player", "banker", "tie"), True),
        "player": (_number(0, 9), False),
        "banker": (_number(0, 9), False),
    },
    Paid: {"seat": (_number(1, 99), True), "bet": (_choice(*BET_NAMES), True), "amount": (_amount, True)},
    HandClosed: {},
    Voided: {"scope": (_choice("hand", "insurance"), True), "reason": (_reason, True)},
    Amended: {"seq": (_number(1, 10**12), True), "entry": (_entry, False), "reason": (_reason, True)},
}

#: Every event by its name in the log.
EVENTS: Final[dict[str, type[Event]]] = {kind.name: kind for kind in _KEYS}

#: Events of the shoe: they never name a hand.
SHOE_EVENTS: Final[frozenset[type[Event]]] = frozenset({ShoeOpened, BurnCard, CardsBurned, ShoeClosed})
#: Events that may stand in a hand or beside all hands.
EITHER_EVENTS: Final[frozenset[type[Event]]] = frozenset({CutCard, Exposed, Dropped, Amended})

#: A key of the line -> the attribute, where they differ.
_ATTRIBUTES: Final = {"from": "source"}

_READERS: Final[dict[type[Event], dict[str, tuple[str, Reader]]]] = {
    kind: {
        key: (_ATTRIBUTES.get(key, key), reader)
        for key, reader in {**_COMMON, **{k: r for k, (r, _) in keys.items()}, **_LAST}.items()
    }
    for kind, keys in _KEYS.items()
}
_REQUIRED: Final[dict[type[Event], tuple[str, ...]]] = {
    kind: (
        "at",
        "table",
        "shoe",
        *(() if kind in SHOE_EVENTS or kind in EITHER_EVENTS else ("hand",)),
        *(key for key, (_, required) in keys.items() if required),
    )
    for kind, keys in _KEYS.items()
}


def parse_event(obj: object) -> Event:
    """Make an event of one decoded JSON object.

    Raises :class:`EventError` naming the first key that is wrong; nothing else.
    """
    if not isinstance(obj, Mapping):
        raise EventError("event", "not-an-object")
    name = obj.get("event")
    if name is None:
        raise EventError("event", "missing")
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise EventError("event", "unknown-event", value=_shown(name))
    readers = _READERS[kind]
    values: dict[str, Any] = {}
    for key, value in obj.items():
        found = readers.get(key)
        if found is not None:
            values[found[0]] = found[1](key, value)
        elif key != "event":
            raise EventError(_shown_key(key), "unknown-key", event=kind.name)
    for key in _REQUIRED[kind]:
        if key not in obj:
            raise EventError(key, "missing")
    if kind in _CHECKS or kind in SHOE_EVENTS:
        _check(kind, values)
    return kind(**values)


def _shown_key(key: object) -> str:
    text = str(key)
    return text if re.fullmatch(r"[\w.-]{1,40}", text) else _shown(text)


def _check(kind: type[Event], values: dict[str, Any]) -> None:
    """What several keys of one line must agree on."""
    if kind in SHOE_EVENTS:
        if "hand" in values:
            raise EventError("hand", "hand-not-wanted", event=kind.name)
    elif kind is CardDealt:
        if values.get("face", "up") == "up" and "card" not in values:
            raise EventError("card", "card-needed")
    elif kind is Moved:
        if values["source"] == values["to"]:
            raise EventError("to", "same-place")
    elif kind is Discarded:
        if ("place" in values) == ("extra" in values):
            raise EventError("place", "place-or-extra")
    elif kind is Amended:
        entry = values.get("entry")
        if entry is not None and (entry.table, entry.shoe, entry.hand) != (
            values["table"],
            values["shoe"],
            values.get("hand"),
        ):
            raise EventError("entry", "entry-elsewhere")


_CHECKS: Final = frozenset({CardDealt, Moved, Discarded, Amended})

_decode = msgspec.json.Decoder().decode
_encode = json.JSONEncoder(ensure_ascii=False).encode


def parse_line(line: str | bytes) -> Event:
    """Read one line of a log. Raises :class:`EventError`, nothing else."""
    return parse_event(decode_line(line))


def decode_line(line: str | bytes) -> object:
    """Decode the JSON of one line. Raises :class:`EventError` (key ``event``) where it is none."""
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise EventError("event", "not-json", detail=_shown(str(error), 120).strip("'")) from None


def event_as_dict(event: Event) -> dict[str, object]:
    """The event as the JSON object of the log, keys in canonical order."""
    line: dict[str, object] = {
        "event": event.name,
        "at": format_time(event.at),
        "table": event.table,
        "shoe": event.shoe,
    }
    if event.hand is not None:
        line["hand"] = event.hand
    defaults = _DEFAULTS[type(event)]
    for key in _KEYS[type(event)]:
        value = getattr(event, _ATTRIBUTES.get(key, key))
        if key in defaults and value == defaults[key]:
            continue
        line[key] = _plain(value)
    if event.key is not None:
        line["key"] = event.key
    if event.by is not None:
        line["by"] = event.by
    return line


def format_event(event: Event) -> str:
    """The canonical JSON line (without a line end) of an event."""
    return _encode(event_as_dict(event))


def format_time(at: dt.datetime) -> str:
    """A time as the log writes it: ISO 8601, milliseconds, with its offset."""
    return at.isoformat(timespec="milliseconds")


def _plain(value: object) -> object:
    if isinstance(value, Card | Decimal):
        return str(value)
    if isinstance(value, Event):
        return event_as_dict(value)
    return value


def _defaults(kind: type[Event]) -> dict[str, object]:
    fields = {field.name: field.default for field in msgspec.structs.fields(cast(Any, kind))}
    return {
        key: fields[_ATTRIBUTES.get(key, key)]
        for key in _KEYS[kind]
        if fields[_ATTRIBUTES.get(key, key)] is not msgspec.NODEFAULT
    }


_DEFAULTS: Final[dict[type[Event], dict[str, object]]] = {kind: _defaults(kind) for kind in EVENTS.values()}

# --- the quick way for canonical lines -------------------------------------------------------------------------------

#: A canonical line: name, time, place (table, shoe, hand), and the keys of the event's own kind.
_CANONICAL: Final = re.compile(
    r'\{"event": "([a-z_]+)", '
    r'"at": "([12]\d{3}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d\.\d{3}(?:\+|-(?!00:00))(?:[01]\d|2[0-3]):[0-5]\d)", '
    r'("table": "[A-Z0-9-]{1,16}", "shoe": [1-9]\d{0,5}(?:, "hand": [1-9]\d{0,5})?)(.*)\}',
    re.ASCII,
).fullmatch
_PLACE: Final = re.compile(r'"table": "([^"]+)", "shoe": (\d+)(?:, "hand": (\d+))?', re.ASCII).fullmatch
#: An idempotency key in which nothing is escaped.
_PLAIN_KEY: Final = re.compile(r"[!#-\[\]-~]{1,128}", re.ASCII).fullmatch
_KEY: Final = ', "key": "'

#: What was read before is known again by its text. Neither grows beyond this: then it is forgotten and learned anew.
_REMEMBERED: Final = 20_000
_LONGEST_REMEMBERED: Final = 150

#: Text of a place -> table, shoe, hand.
_known_places: dict[str, tuple[str, int, int | None]] = {}
#: (name, text of the event's own keys but for the text of its idempotency key) -> an event that has them, None where
#: they are written in another form; one for those beside all hands, and one for those of a hand.
_known_of_shoe: dict[tuple[str, str], Event | None] = {}
_known_of_hand: dict[tuple[str, str], Event | None] = {}
_UNKNOWN: Final[Any] = object()

_set = msgspec.structs.force_setattr


def parse_canonical(payload: str) -> Event | None:
    """The event of a line that is written exactly as :func:`format_event` writes it; None for any other text.

    ``parse_canonical(p)`` is what ``parse_line(p)`` answers where ``format_event(parse_line(p)) == p``, several times
    as fast: nothing has to be written again to know that a stored line is in its form. What says None may still be a
    good line in another form, or a bad one: :func:`parse_line` tells. Raises nothing.

    What an event's own keys say is learned once, by reading a line in full, writing it and comparing; the same text
    with another time and place is then known. Amendments, which hold a line within a line, are read in full.
    """
    found = _CANONICAL(payload)
    if found is None:
        return None
    name, time, where, own = found.groups()
    place = _known_places.get(where)
    if place is None:
        place = _learn_place(where)
    known = _known_of_shoe if place[2] is None else _known_of_hand
    key = None
    like = known.get((name, own), _UNKNOWN)
    if like is _UNKNOWN:
        if _KEY in own:  # in a good line no text can hold this: its own quotes would be escaped
            before, _, rest = own.partition(_KEY)
            key, quote, by = rest.partition('"')
            own = before + _KEY + by  # told apart: where the key stood belongs to what is known
            if not quote or not _PLAIN_KEY(key):
                return _parse_in_full(payload)[0]
            like = known.get((name, own), _UNKNOWN)
        if like is _UNKNOWN:
            event, readable = _parse_in_full(payload)
            if readable and name != Amended.name and len(own) <= _LONGEST_REMEMBERED:
                if len(known) >= _REMEMBERED:
                    known.clear()
                known[name, own] = event
            return event
    if like is None:
        return None
    try:
        at = dt.datetime.fromisoformat(time)
    except ValueError:  # the 30th of February
        return None
    copied: Event = like.__copy__()
    _set(copied, "at", at)
    table, shoe, hand = place
    _set(copied, "table", table)
    _set(copied, "shoe", shoe)
    _set(copied, "hand", hand)
    if copied.key != key:
        _set(copied, "key", key)
    return copied


def _learn_place(where: str) -> tuple[str, int, int | None]:
    found = cast(re.Match[str], _PLACE(where))
    table, shoe, hand = found.groups()
    if len(_known_places) >= _REMEMBERED:
        _known_places.clear()
    _known_places[where] = place = (table, int(shoe), None if hand is None else int(hand))
    return place


def _parse_in_full(payload: str) -> tuple[Event | None, bool]:
    """The event of a line if it is canonical, and whether it could be read at all."""
    try:
        event = parse_line(payload)
    except EventError:
        return None, False
    return (event if format_event(event) == payload else None), True

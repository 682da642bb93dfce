"""Log lines: every kind is read and written, and whatever is wrong with a line is named by its key."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dealing.rules.bets import BET_NAMES
from dealing.rules.cards import ALL_CARDS, Card
from dealing.rules.events import EVENTS, MESSAGES, Event, EventError, format_event, parse_event, parse_line
from dealing.rules.tableau import PLACES

COMMON = {"at": "2026-11-28T20:00:01.250+07:00", "table": "B07", "shoe": 3}
HAND = {**COMMON, "hand": 12}

#: At least one complete line of every kind, as table-log.md writes it.
LINES: list[dict[str, Any]] = [
    {"event": "shoe_opened", **COMMON, "ruleset": "commission"},
    {"event": "shoe_opened", **COMMON, "ruleset": "house-6", "decks": 6},
    {"event": "burn_card", **COMMON, "card": "5h"},
    {"event": "cards_burned", **COMMON, "count": 5},
    {"event": "cut_card", **COMMON},
    {"event": "cut_card", **HAND},
    {"event": "shoe_closed", **COMMON, "reason": "finished"},
    {"event": "betting_opened", **HAND},
    {"event": "betting_closed", **HAND},
    {"event": "bet", **HAND, "seat": 1, "bet": "banker", "stake": "100.00"},
    {"event": "card", **HAND, "to": "P1", "card": "9h"},
    {"event": "card", **HAND, "to": "B2", "card": "Td", "face": "down"},
    {"event": "card", **HAND, "to": "B3", "face": "down"},
    {"event": "opened", **HAND, "place": "B2", "card": "Td"},
    {"event": "extra", **HAND},
    {"event": "extra", **HAND, "card": "Qs", "face": "down"},
    {"event": "exposed", **HAND, "when": "drawing", "card": "Qs", "place": "P3"},
    {"event": "exposed", **COMMON, "when": "burn"},
    {"event": "moved", **HAND, "from": "B3", "to": "P3"},
    {"event": "discarded", **HAND, "place": "B3"},
    {"event": "discarded", **HAND, "extra": True},
    {"event": "dropped", **HAND, "when": "opening", "opened": True, "card": "Kd"},
    {"event": "dropped", **COMMON, "when": "start", "opened": False},
    {"event": "insurance_opened", **HAND, "window": 1},
    {"event": "insurance_odds", **HAND, "side": "banker", "placed": "player", "odds": "1.5"},
    {"event": "insurance_closed", **HAND, "window": 2},
    {"event": "called", **HAND, "winner": "banker"},
    {"event": "called", **HAND, "winner": "tie", "player": 0, "banker": 0},
    {"event": "paid", **HAND, "seat": 99, "bet": "super_6", "amount": "0.00"},
    {"event": "hand_closed", **HAND},
    {"event": "voided", **HAND, "scope": "insurance", "reason": "the odds were never shown"},
    {"event": "amended", **HAND, "seq": 4, "reason": "เคาะผิด"},
    {
        "event": "amended",
        **HAND,
        "seq": 4,
        "entry": {"event": "card", **HAND, "to": "P1", "card": "8h"},
        "reason": "typed the wrong card",
        "key": "tablet-4:17",
        "by": "S014",
    },
]


def name_and_position(line: dict[str, Any]) -> str:
    return f"{line['event']}-{LINES.index(line)}"


@pytest.mark.parametrize("line", LINES, ids=name_and_position)
def test_a_line_survives_reading_and_writing(line: dict[str, Any]) -> None:
    event = parse_event(line)
    assert type(event) is EVENTS[line["event"]]
    assert event.name == line["event"]
    text = format_event(event)
    assert "\n" not in text
    assert parse_line(text) == event
    assert parse_line(text.encode()) == event
    assert format_event(parse_line(text)) == text
    assert hash(parse_line(text)) == hash(event)


def test_every_kind_is_tried() -> None:
    assert {line["event"] for line in LINES} == set(EVENTS)


@pytest.mark.parametrize("line", LINES, ids=name_and_position)
def test_what_is_written_says_the_same_as_what_was_read(line: dict[str, Any]) -> None:
    written = json.loads(format_event(parse_event(line)))
    defaults = {"face": "up", "decks": 8}
    assert {k: v for k, v in written.items() if defaults.get(k) != v} == line


@pytest.mark.parametrize("line", LINES, ids=name_and_position)
def test_the_order_of_keys_in_the_input_does_not_matter(line: dict[str, Any]) -> None:
    turned = dict(reversed(line.items()))
    assert format_event(parse_event(turned)) == format_event(parse_event(line))


@pytest.mark.parametrize("line", LINES, ids=name_and_position)
def test_an_unknown_key_is_refused_by_name(line: dict[str, Any]) -> None:
    with pytest.raises(EventError) as caught:
        parse_event({**line, "wager": 3})
    assert (caught.value.key, caught.value.code) == ("wager", "unknown-key")
    assert str(caught.value).startswith("wager: ")


OPTIONAL = {
    "shoe_opened": {"decks"},
    "cut_card": {"hand"},
    "card": {"face"},
    "extra": {"card", "face"},
    "exposed": {"card", "place", "hand"},
    "dropped": {"card", "hand"},
    "called": {"player", "banker"},
    "amended": {"entry", "key", "by", "hand"},
}


@pytest.mark.parametrize("line", LINES, ids=name_and_position)
def test_every_other_key_is_needed(line: dict[str, Any]) -> None:
    optional = OPTIONAL.get(line["event"], set()) | ({"card"} if line.get("face") == "down" else set())
    for key in line.keys() - optional - {"entry"}:
        if line["event"] == "card" and key == "face":
            continue
        with pytest.raises(EventError) as caught:
            parse_event({k: v for k, v in line.items() if k != key})
        # "discarded" wants one of two keys, so it may name either
        assert caught.value.key == key or line["event"] == "discarded"
    if line["event"] != "amended":  # the entry would then be of another hand
        for key in optional & line.keys() - {"face"}:
            parse_event({k: v for k, v in line.items() if k != key})


CARD_LINE = {"event": "card", **HAND, "to": "P1", "card": "9h"}
BET_LINE = {"event": "bet", **HAND, "seat": 1, "bet": "banker", "stake": "100.00"}


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("card", {**CARD_LINE, "card": "1x"}),
        ("card", {**CARD_LINE, "card": 9}),
        ("card", {**CARD_LINE, "card": None}),
        ("card", {**CARD_LINE, "card": ["9h"]}),
        ("card", {k: v for k, v in CARD_LINE.items() if k != "card"}),
        ("to", {**CARD_LINE, "to": "P4"}),
        ("to", {**CARD_LINE, "to": "p1"}),
        ("face", {**CARD_LINE, "face": "sideways"}),
        ("table", {**CARD_LINE, "table": ""}),
        ("table", {**CARD_LINE, "table": "b07"}),
        ("table", {**CARD_LINE, "table": "B07\n"}),
        ("table", {**CARD_LINE, "table": "B" * 17}),
        ("table", {**CARD_LINE, "table": 7}),
        ("shoe", {**CARD_LINE, "shoe": 0}),
        ("shoe", {**CARD_LINE, "shoe": True}),
        ("shoe", {**CARD_LINE, "shoe": "3"}),
        ("shoe", {**CARD_LINE, "shoe": 3.0}),
        ("hand", {**CARD_LINE, "hand": 0}),
        ("hand", {**CARD_LINE, "hand": -1}),
        ("hand", {**CARD_LINE, "hand": None}),
        ("hand", {"event": "burn_card", **HAND, "card": "5h"}),
        ("hand", {"event": "shoe_opened", **HAND, "ruleset": "standard"}),
        ("hand", {"event": "shoe_closed", **HAND, "reason": "finished"}),
        ("at", {**CARD_LINE, "at": "2026-11-28T20:00:01.250"}),
        ("at", {**CARD_LINE, "at": "2026-11-28"}),
        ("at", {**CARD_LINE, "at": "2026-13-28T20:00:01.250+07:00"}),
        ("at", {**CARD_LINE, "at": "2026-11-28T25:00:01.250+07:00"}),
        ("at", {**CARD_LINE, "at": "2026-11-28T20:00:01.2505+07:00"}),
        ("at", {**CARD_LINE, "at": 1796000000}),
        ("at", {**CARD_LINE, "at": None}),
        ("event", {**CARD_LINE, "event": "fold"}),
        ("event", {**CARD_LINE, "event": ["card"]}),
        ("event", {**CARD_LINE, "event": None}),
        ("seat", {**BET_LINE, "seat": 0}),
        ("seat", {**BET_LINE, "seat": 100}),
        ("bet", {**BET_LINE, "bet": "dragon_7"}),
        ("stake", {**BET_LINE, "stake": 100}),
        ("stake", {**BET_LINE, "stake": 100.0}),
        ("stake", {**BET_LINE, "stake": "0.00"}),
        ("stake", {**BET_LINE, "stake": "-5"}),
        ("stake", {**BET_LINE, "stake": "1e3"}),
        ("stake", {**BET_LINE, "stake": "NaN"}),
        ("stake", {**BET_LINE, "stake": "Infinity"}),
        ("stake", {**BET_LINE, "stake": "1,000.00"}),
        ("stake", {**BET_LINE, "stake": "1_000"}),
        ("stake", {**BET_LINE, "stake": "٣"}),
        ("stake", {**BET_LINE, "stake": ""}),
        ("key", {**BET_LINE, "key": 7}),
        ("key", {**BET_LINE, "key": ""}),
        ("by", {**BET_LINE, "by": ["S014"]}),
        ("ruleset", {"event": "shoe_opened", **COMMON, "ruleset": 1}),
        ("decks", {"event": "shoe_opened", **COMMON, "ruleset": "standard", "decks": 0}),
        ("decks", {"event": "shoe_opened", **COMMON, "ruleset": "standard", "decks": "8"}),
        ("count", {"event": "cards_burned", **COMMON, "count": -1}),
        ("reason", {"event": "shoe_closed", **COMMON, "reason": "bored"}),
        ("reason", {"event": "voided", **HAND, "scope": "hand", "reason": " "}),
        ("scope", {"event": "voided", **HAND, "scope": "shoe", "reason": "x"}),
        ("place", {"event": "opened", **HAND, "place": "C1", "card": "9h"}),
        ("when", {"event": "exposed", **HAND, "when": "later"}),
        ("when", {"event": "dropped", **HAND, "when": "burn", "opened": True}),
        ("opened", {"event": "dropped", **HAND, "when": "opening", "opened": 1}),
        ("from", {"event": "moved", **HAND, "from": "B9", "to": "P3"}),
        ("to", {"event": "moved", **HAND, "from": "B3", "to": "B3"}),
        ("extra", {"event": "discarded", **HAND, "extra": False}),
        ("place", {"event": "discarded", **HAND}),
        ("place", {"event": "discarded", **HAND, "place": "P3", "extra": True}),
        ("window", {"event": "insurance_opened", **HAND, "window": 3}),
        ("side", {"event": "insurance_odds", **HAND, "side": "tie", "placed": "player", "odds": "2"}),
        ("placed", {"event": "insurance_odds", **HAND, "side": "player", "placed": "tie", "odds": "2"}),
        ("odds", {"event": "insurance_odds", **HAND, "side": "player", "placed": "player", "odds": 2}),
        ("odds", {"event": "insurance_odds", **HAND, "side": "player", "placed": "player", "odds": "-2"}),
        ("winner", {"event": "called", **HAND, "winner": "P"}),
        ("player", {"event": "called", **HAND, "winner": "player", "player": 10}),
        ("banker", {"event": "called", **HAND, "winner": "player", "banker": "7"}),
        ("amount", {"event": "paid", **HAND, "seat": 1, "bet": "tie", "amount": 8}),
        ("seq", {"event": "amended", **HAND, "seq": 0, "reason": "x"}),
        ("entry", {"event": "amended", **HAND, "seq": 4, "entry": {**CARD_LINE, "hand": 11}, "reason": "x"}),
        ("entry", {"event": "amended", **HAND, "seq": 4, "entry": {**CARD_LINE, "table": "B08"}, "reason": "x"}),
        ("entry.card", {"event": "amended", **HAND, "seq": 4, "entry": {**CARD_LINE, "card": "1x"}, "reason": "x"}),
        ("entry.event", {"event": "amended", **HAND, "seq": 4, "entry": "9h", "reason": "x"}),
        ("entry", {"event": "amended", **HAND, "seq": 4, "entry": LINES[-2], "reason": "x"}),
    ],
)
def test_a_wrong_value_is_named_by_its_key(key: str, line: dict[str, Any]) -> None:
    with pytest.raises(EventError) as caught:
        parse_event(line)
    error = caught.value
    assert error.key == key
    assert error.code in MESSAGES
    assert str(error).startswith(f"{key}: ")
    assert "{" not in str(error).removeprefix(f"{key}: ").split("'")[0]  # every parameter of the message is filled in


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "card",
        "{",
        '{"event": "card"',
        "[]",
        "3",
        "null",
        "NaN",
        '"card"',
        "{}",
        "{'event': 'card'}",
        b"\xff\xfe",
        "\x00",
    ],
)
def test_a_line_that_is_no_json_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(EventError) as caught:
        parse_line(text)
    assert caught.value.key == "event"


def test_tens_and_letter_case_are_read_and_written_one_way() -> None:
    for spelling in ("10d", "10D", "td", "TD"):
        event = parse_event({**CARD_LINE, "card": spelling})
        assert json.loads(format_event(event))["card"] == "Td"


def test_times_keep_their_offset_and_milliseconds() -> None:
    event = parse_event(CARD_LINE)
    assert event.at.utcoffset() is not None
    assert json.loads(format_event(event))["at"] == "2026-11-28T20:00:01.250+07:00"
    zulu = parse_event({**CARD_LINE, "at": "2026-11-28T13:00:01.250Z"})
    assert zulu.at == event.at


def test_money_is_exact() -> None:
    event = parse_event({**BET_LINE, "stake": "0.10"})
    assert str(event.stake) == "0.10"  # type: ignore[attr-defined]  # a Bet
    assert isinstance(event.stake, Decimal)  # type: ignore[attr-defined]  # a Bet


def test_a_message_is_short_and_on_one_line_whatever_was_typed() -> None:
    for value in ("x" * 10_000, "a\nb", {"a": ["b"] * 1000}, 10**5000):
        with pytest.raises(EventError) as caught:
            parse_event({**CARD_LINE, "card": value})
        assert len(str(caught.value)) < 200
        assert "\n" not in str(caught.value)


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    for depth in (50, 300, 900, 100_000):
        for start, end in (("[", "]"), ('{"event": "amended", "entry": ', "}")):
            for text in (
                start * depth + "1" + end * depth,
                '{"event": "card", "card": ' + start * depth + "1" + end * depth + "}",
            ):
                with pytest.raises(EventError):
                    parse_line(text)


def test_numbers_too_big_are_refused_not_crashed_on() -> None:
    for number in ("9" * 5000, "1e999", "-" + "9" * 400, "1" + "0" * 30):
        for key in ("shoe", "hand", "card", "stake"):
            with pytest.raises(EventError):
                parse_line(f'{{"event": "card", "{key}": {number}}}')


@pytest.mark.parametrize("bad", ["\ud800", "a\x00b"])
@pytest.mark.parametrize("key", ["key", "by", "reason"])
def test_text_that_no_store_can_hold_is_refused(key: str, bad: str) -> None:
    line = {"event": "voided", **HAND, "scope": "hand", "reason": "x", key: bad}
    with pytest.raises(EventError) as caught:
        parse_event(line)
    assert caught.value.key == key


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00.000+07:00", "9999-12-31T23:59:59.999-07:00"])
def test_times_outside_the_calendar_are_refused(at: str) -> None:
    with pytest.raises(EventError) as caught:
        parse_event({**CARD_LINE, "at": at})
    assert caught.value.key == "at"


# --- Hypothesis -------------------------------------------------------------------------------------------------------

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([str(c) for c in ALL_CARDS]),
    st.sampled_from(list(PLACES)),
    st.sampled_from(list(BET_NAMES)),
    st.sampled_from(["up", "down", "player", "banker", "tie", "1.00", "2026-11-28T20:00:01.250+07:00", "B07"]),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
KEYS = sorted({key for line in LINES for key in line})


@given(st.one_of(values, st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), values, max_size=8)))
def test_any_object_is_an_event_or_an_event_error(obj: object) -> None:
    check_reads_or_refuses(obj)


@given(st.data(), st.sampled_from(LINES))
def test_a_line_with_something_changed_is_an_event_or_an_event_error(data: st.DataObject, line: dict[str, Any]) -> None:
    key = data.draw(st.sampled_from(sorted(line)) | st.sampled_from(KEYS))
    check_reads_or_refuses({**line, key: data.draw(values)})


def check_message(error: EventError) -> None:
    assert error.code in MESSAGES
    assert str(error).startswith(f"{error.key}: ")
    assert len(str(error)) < 300


def check_reads_or_refuses(obj: object) -> Event | None:
    try:
        event = parse_event(obj)
    except EventError as refused:
        check_message(refused)
        return None
    line = format_event(event)
    assert parse_line(line.encode()) == event
    return event


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_is_an_event_or_an_event_error(line: str | bytes) -> None:
    with pytest.raises(EventError):
        parse_line(line)


@given(st.data(), st.sampled_from(LINES))
def test_a_damaged_line_is_an_event_or_an_event_error(data: st.DataObject, line: dict[str, Any]) -> None:
    raw = bytearray(json.dumps(line).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(raw) - 1))
        raw[where : where + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=3))
    try:
        event = parse_line(bytes(raw))
    except EventError as refused:
        check_message(refused)
        return
    assert parse_line(format_event(event)) == event


@given(st.sampled_from(ALL_CARDS), st.sampled_from(PLACES))
def test_every_card_to_every_place(card: Card, place: str) -> None:
    event = parse_event({**CARD_LINE, "to": place, "card": str(card)})
    assert event.card is card  # type: ignore[attr-defined]  # a CardDealt
    assert parse_line(format_event(event)) == event

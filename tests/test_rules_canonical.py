"""`parse_canonical` says what `parse_line` and `format_event` say together, whatever it read before."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dealing.rules import events as module
from dealing.rules.events import Event, EventError, format_event, parse_canonical, parse_event, parse_line
from tests.test_rules_events import CARD_LINE, HAND, LINES, name_and_position

KEYED: list[dict[str, Any]] = [{**line, "key": "tablet-4:17", "by": "S014"} for line in LINES]
TEXTS = [format_event(parse_event(line)) for line in LINES + KEYED]


def in_full(text: str) -> Event | None:
    """The slow way: read, write, compare."""
    try:
        event = parse_line(text)
    except EventError:
        return None
    return event if format_event(event) == text else None


def assert_same(text: str) -> None:
    wanted = in_full(text)
    for _ in range(2):  # the first time it may be learned, the second time it is known
        event = parse_canonical(text)
        assert event == wanted
        if event is not None and wanted is not None:
            assert type(event) is type(wanted)
            assert event.token == wanted.token
            assert hash(event) == hash(wanted)
            assert format_event(event) == text
            assert event.at.utcoffset() == wanted.at.utcoffset()


@pytest.mark.parametrize("line", LINES + KEYED, ids=lambda line: line["event"])
def test_a_canonical_line_is_read(line: dict[str, Any]) -> None:
    text = format_event(parse_event(line))
    assert parse_canonical(text) == parse_event(line)
    assert_same(text)


@pytest.mark.parametrize("line", LINES, ids=name_and_position)
def test_a_known_line_is_read_at_another_time_and_place(line: dict[str, Any]) -> None:
    assert_same(format_event(parse_event(line)))
    for place in ({"table": "B08"}, {"shoe": 999_999}, {"hand": 13}):
        if line["event"] == "amended" or not place.keys() <= line.keys():
            continue
        assert_same(format_event(parse_event({**line, **place, "at": "2027-01-01T00:00:00.000-03:30"})))


@pytest.mark.parametrize(
    ("known", "text"),
    [
        # the same keys, and a hand that is wanted, or not wanted
        (HAND, '{"event": "hand_closed", "at": "2026-11-28T20:00:01.250+07:00", "table": "B07", "shoe": 3}'),
        (HAND, '{"event": "shoe_closed", "at": "2026-11-28T20:00:01.250+07:00", "table": "B07", "shoe": 3, "hand": 1}'),
    ],
)
def test_what_is_known_of_a_hand_is_not_of_a_shoe(known: dict[str, Any], text: str) -> None:
    assert_same(format_event(parse_event({"event": "hand_closed", **known})))
    assert_same(text)
    assert parse_canonical(text) is None


CARD = format_event(parse_event(CARD_LINE))
KEYED_CARD = format_event(parse_event({**CARD_LINE, "key": "k-1", "by": "S014"}))
VOID = format_event(parse_event({"event": "voided", **HAND, "scope": "hand", "reason": "foo", "key": "k-1"}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        CARD + "\n",
        " " + CARD,
        CARD + CARD,
        CARD.replace(", ", ","),
        CARD.replace("+07:00", "Z"),
        CARD.replace("+07:00", "+00:00"),
        CARD.replace("+07:00", "-00:00"),
        CARD.replace("+07:00", "+24:00"),
        CARD.replace("+07:00", "+07:60"),
        CARD.replace("T20:", "T24:"),
        CARD.replace("T20:", " 20:"),
        CARD.replace(":01.250", ":60.250"),
        CARD.replace(".250", ".2500"),
        CARD.replace(".250", ""),
        CARD.replace("11-28", "02-30"),
        CARD.replace("2026-", "0026-"),
        CARD.replace('"shoe": 3', '"shoe": 03'),
        CARD.replace('"shoe": 3', '"shoe": 0'),
        CARD.replace('"shoe": 3', '"shoe": 1234567'),
        CARD.replace('"hand": 12', '"hand": 12.0'),
        CARD.replace('"9h"', '"9H"'),
        CARD.replace('"9h"', '"9h", "face": "up"'),
        CARD.replace('"9h"', '"9h", "card": "9h"'),
        CARD.replace('"9h"', '"9h", "table": "B08"'),
        CARD.replace('"9h"', '"9h", "event": "opened"'),
        CARD.replace('"9h"', '"9h", "wager": 1'),
        CARD.replace("B07", "B๗"),
        KEYED_CARD.replace("k-1", ""),
        KEYED_CARD.replace("k-1", "k 1"),
        KEYED_CARD.replace("k-1", "k\\u0031"),
        KEYED_CARD.replace("k-1", 'k\\"1'),
        KEYED_CARD.replace("k-1", "ก"),
        KEYED_CARD.replace("k-1", "\ud800"),
        KEYED_CARD.replace("k-1", "k" * 128),
        KEYED_CARD.replace("k-1", "k" * 129),
        KEYED_CARD.replace('"key": "k-1", "by": "S014"', '"by": "S014", "key": "k-1"'),
        KEYED_CARD.replace('"key": "k-1"', '"key": "k-1", "key": "k-2"'),
        VOID.replace('foo", ', "foo, "),
        VOID.replace('foo", "key": "k-1"', 'fo, "key": "k-1"o"'),
        VOID.replace("foo", 'foo, \\"key\\": \\"k-2\\"'),
        VOID.replace("foo", "x" * 500),
        VOID.replace("foo", "x" * 501),
    ],
)
def test_near_misses(text: str) -> None:
    for known in (CARD, KEYED_CARD, VOID):
        assert_same(known)
    assert_same(text)


def test_what_is_remembered_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 50)
    for known in (module._known_places, module._known_of_hand):
        known.clear()
    for hand in range(1, 200):
        stake = f"{hand}.00"
        bet = {"event": "bet", **HAND, "hand": hand, "seat": 1, "bet": "banker", "stake": stake, "key": f"k{hand}"}
        assert_same(format_event(parse_event(bet)))
        assert len(module._known_places) <= 50
        assert len(module._known_of_hand) <= 50


def test_a_key_is_not_remembered() -> None:
    module._known_of_hand.clear()
    for number in range(100):
        assert_same(format_event(parse_event({**CARD_LINE, "key": f"k-{number}"})))
    assert len(module._known_of_hand) == 1


@given(st.data(), st.sampled_from(TEXTS))
def test_a_line_with_something_changed(data: st.DataObject, text: str) -> None:
    assert_same(text)
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(text) - 1))
        upto = where + data.draw(st.integers(0, 3))
        put = data.draw(st.sampled_from([*'"\\,: {}019ABPZ-+.\x00\x7f\u2028', text[:where], ", ", '"hand": ', '", "']))
        text = text[:where] + put + text[upto:]
    assert_same(text)


@given(st.data(), st.sampled_from(LINES + KEYED))
def test_keys_in_any_order_and_spacing(data: st.DataObject, line: dict[str, Any]) -> None:
    keys = data.draw(st.permutations(sorted(line)))
    separators = data.draw(st.sampled_from([(", ", ": "), (",", ":"), (",  ", ": ")]))
    assert_same(json.dumps({key: line[key] for key in keys}, separators=separators, ensure_ascii=False))


@given(st.sampled_from(LINES), st.text(max_size=20), st.text(max_size=20))
def test_any_key_and_person(line: dict[str, Any], key: str, by: str) -> None:
    assert_same(json.dumps({**line, "key": key, "by": by}, ensure_ascii=False))


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert_same(text)

"""Every reason to refuse an event has its sentence, in each language, with the right parameters."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest
from django.utils import translation

from dealing import importer, log, logfile
from dealing.messages import KEYS, TEMPLATES, explain, reason
from dealing.rules import events
from dealing.rules.events import EventError
from dealing.rules.judge import EventRefused
from dealing.rules.rulesets import UnknownRuleset


def kinds(kind: type[EventError] = EventError) -> Iterator[type[EventError]]:
    yield kind
    for sub in kind.__subclasses__():
        yield from kinds(sub)


ALL = {code: text for kind in kinds() for code, text in kind.messages.items()}


def parameters(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("code", sorted(ALL))
def test_a_code_has_a_template_with_the_same_parameters(code: str) -> None:
    assert parameters(str(TEMPLATES[code])) == parameters(ALL[code])


def test_no_template_is_left_over() -> None:
    assert {EventRefused, UnknownRuleset, log.Conflict, logfile.LineError, importer.ImportRefused} <= set(kinds())
    assert set(TEMPLATES) <= set(ALL)


def test_every_key_of_a_line_has_a_name() -> None:
    keys = {"event", "at", "table", "shoe", "hand", "key", "by", *(k for keys in events._KEYS.values() for k in keys)}
    assert keys <= set(KEYS)


def test_explain_names_the_key() -> None:
    error = EventError("card", "not-a-card", value="'1x'")
    assert explain(error) == str(error) == "card: '1x' is not a card"
    assert reason(error) == "'1x' is not a card"


def test_explain_explains_the_cause() -> None:
    cause = EventRefused("to", "occupied", place="P1", card="9h")
    error = EventRefused("seq", "breaks-entry", seq=7, detail=str(cause), cause=cause)
    with translation.override("en"):
        assert explain(error) == "position: with this, entry 7 could not have happened (to: P1 already holds 9h)"


def test_a_value_with_braces_is_shown_as_it_is() -> None:
    assert reason(EventError("card", "not-a-card", value="'{x}'")) == "'{x}' is not a card"


@pytest.mark.parametrize(
    ("typed", "en", "th"),
    [
        ("999999999999999999999", "'999999999999999999999' is too large.", "มากเกินไป"),
        ("1" * 80, f"'{'1' * 40}…' is too large.", "มากเกินไป"),
        ("1.23456", "'1.23456' has too many digits after the point.", "หลังจุดทศนิยมมากเกินไป"),
        ("1.", "'1.' is not an amount. Write it as 1500 or 1500.50.", "ไม่ใช่จำนวนเงิน"),
        ("12x", "'12x' is not an amount. Write it as 1500 or 1500.50.", "ไม่ใช่จำนวนเงิน"),
    ],
)
def test_what_is_wrong_with_an_amount_is_said_to_people_in_their_words(typed: str, en: str, th: str) -> None:
    with pytest.raises(EventError) as refused:
        events.parse_event(
            {
                "event": "bet",
                "at": "2026-11-28T20:00:01+07:00",
                "table": "B07",
                "shoe": 1,
                "hand": 1,
                "seat": 1,
                "bet": "tie",
                "stake": typed,
            }
        )
    assert refused.value.key == "stake"
    assert "a decimal string such as 100.00 is wanted" in str(refused.value), "the log's own word for files"
    with translation.override("en"):
        assert reason(refused.value) == en
    with translation.override("th"):
        assert th in reason(refused.value)

"""What is wrong with a record is said in the reader's language wherever it is shown, and never in names of columns."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from dealing import messages, rejudge, verify
from dealing.models import Hand, Shoe, Venue
from dealing.rules.events import EventError, parse_line
from incidents.reports import problem_words, telling
from incidents.reports.figures import TableNote
from tests import reports_samples as samples
from tests.conftest import People

#: A run of Latin letters that is no code, no name of a table and no value.
ENGLISH = re.compile(r"\b(the|is|not|its|row|log|says|hash|differ|missing|line|position|read)\b")


def said_by_the_walk() -> Iterator[str]:
    """Every text in the functions that name a problem of a chain, each value in it as 7."""
    for module in (verify, rejudge):
        tree = ast.parse(inspect.getsource(module))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in ("_problem", "ended", "end", "_column", "_read"):
                inner = {id(value) for one in ast.walk(node) if isinstance(one, ast.JoinedStr) for value in one.values}
                for one in ast.walk(node):
                    if isinstance(one, ast.JoinedStr):
                        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "7" for v in one.values)
                    elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in inner:
                        yield "" if one.value == ast.get_docstring(node) else one.value


SENTENCES = sorted({one for one in said_by_the_walk() if one.count(" ") > 1})


def test_the_walk_has_sentences() -> None:
    assert len(SENTENCES) >= 13


@pytest.mark.parametrize("said", SENTENCES)
def test_every_problem_of_a_chain_is_said_in_thai(said: str) -> None:
    # A column's name and its values stand where the walk has them.
    said = said.replace("column 7 is 7", "column shoe_number is 7")
    with override("th"):
        words = problem_words.chain_words(said)
        assert words != said
        assert not ENGLISH.search(words), words
        assert problem_words.language_of(said, words) == ""
    with override("en"):
        assert "shoe_number" not in problem_words.chain_words(said)


def test_every_stored_column_has_a_name() -> None:
    derived = {f.name for model in (Hand, Shoe) for f in model._meta.concrete_fields}
    compared = derived - {"id", "shoe", "number", "table"}
    assert compared <= set(problem_words.COLUMNS)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("is in the log and not stored", "The log has it, and the live records do not."),
        (
            "has_findings, audit differ from what the log says",
            "The live records have something else than the log: whether there are findings, what the judge says of it.",
        ),
        (
            "incident 4 has payout-wrong (open: correct); the log says nothing",
            "Incident 4 is about: Wrong payout (Open; Correct). The log says now: nothing.",
        ),
        (
            "decision 2 was carried out with event 14, 15, and the log has no such event of this hand",
            "Decision 2 was carried out with event 14, 15, which the log of this hand does not have.",
        ),
    ],
)
def test_what_differs_is_said_in_both_languages(text: str, english: str) -> None:
    with override("en"):
        assert problem_words.difference_words(text) == english
    with override("th"):
        words = problem_words.difference_words(text)
        assert not ENGLISH.search(words), words


def test_the_table_is_named_once() -> None:
    note = problem_words.placed(TableNote(table="B02", text="B02 shoe 2 hand 1: winner differ from what the log says"))
    assert (note.shoe, note.hand, note.text) == (2, 1, "winner differ from what the log says")
    of_shoe = problem_words.placed(TableNote(table="B02", text="B02 shoe 2: is in the log and not stored"))
    assert (of_shoe.shoe, of_shoe.hand) == (2, None)
    other = TableNote(table="B02", text="B03 shoe 2: is in the log and not stored")
    assert problem_words.placed(other) == other


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"event":"dealt"}',
        '{"event":"hand_opened","at":"2026-01-01","table":"B01","shoe":1,"hand":1}',
        '{"event":"card_dealt","at":"2026-01-01T10:00:00.000+07:00","table":"B01","shoe":1,"hand":1,"place":"P4"}',
        '{"event":"shoe_opened","at":"2026-01-01T10:00:00.000+07:00","table":"B01","shoe":0}',
    ],
)
def test_an_error_that_was_kept_as_text_is_said_again(line: str) -> None:
    with pytest.raises(EventError) as caught:
        parse_line(line)
    for language in ("en", "th"):
        with override(language):
            assert messages.again(str(caught.value)) == messages.explain(caught.value)


def test_a_text_that_is_not_known_stays_and_says_that_it_is_english() -> None:
    with override("th"):
        for words in (problem_words.chain_words, problem_words.difference_words, problem_words.unreadable_words):
            assert words("something: quite another") == "something: quite another"
        assert problem_words.language_of("quite another", "quite another") == "en"
    with override("en"):
        assert problem_words.language_of("quite another", "quite another") == ""


@pytest.mark.django_db
def test_page_and_mail_of_a_bad_night_are_thai(client: Client, venue: Venue, people: People) -> None:
    report = samples.save_full(venue)
    user = people("manager")
    client.force_login(user)
    client.cookies["django_language"] = "th"
    page = client.get(reverse("reports:report", args=[report.pk])).content.decode()
    with override("th"):
        told = telling.tell(report)
    grave = [
        line for group in told.groups if group.key in ("broken", "differences", "unreadable") for line in group.lines
    ]
    assert len(grave) == 4
    for line in grave:
        assert not ENGLISH.search(line.text), line.text
        assert line.language == ""
    for one in ("its hash does not match", "has_findings", "differ from what the log says", "one JSON object a line"):
        assert one not in page

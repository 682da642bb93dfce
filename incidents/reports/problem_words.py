"""What the chain's walk, the judge and the log's door said in English when a report was made, in the reader's language.

A report keeps their sentences as they were said. Here each known one is recognised and said again; a text that is not
known stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy, pgettext, pgettext_lazy
from django.utils.translation import gettext as _

from dealing import messages, wording

from .figures import TableNote

#: What the columns of a stored hand or shoe are called.
COLUMNS: Final[dict[str, Promise]] = {
    "at": pgettext_lazy("stored", "the time"),
    "audit": pgettext_lazy("stored", "what the judge says of it"),
    "banker": pgettext_lazy("stored", "Banker’s total"),
    "by": pgettext_lazy("stored", "who recorded it"),
    "cards_seen": pgettext_lazy("stored", "the number of cards seen"),
    "closed_at": pgettext_lazy("stored", "when it ended"),
    "closed_reason": pgettext_lazy("stored", "why it ended"),
    "context": pgettext_lazy("stored", "what was left of the shoe before it"),
    "decks": pgettext_lazy("stored", "the number of decks"),
    "first_seq": pgettext_lazy("stored", "its first event"),
    "fold": pgettext_lazy("stored", "the state of the shoe"),
    "hand_number": pgettext_lazy("stored", "the hand’s number"),
    "hands": pgettext_lazy("stored", "the number of hands"),
    "has_findings": pgettext_lazy("stored", "whether there are findings"),
    "key": pgettext_lazy("stored", "its key"),
    "last_seq": pgettext_lazy("stored", "its last event"),
    "name": pgettext_lazy("stored", "the kind of event"),
    "opened_at": pgettext_lazy("stored", "when it began"),
    "player": pgettext_lazy("stored", "Player’s total"),
    "ruleset": pgettext_lazy("stored", "the rules"),
    "shoe_number": pgettext_lazy("stored", "the shoe’s number"),
    "started_at": pgettext_lazy("stored", "when it began"),
    "status": pgettext_lazy("stored", "its status"),
    "table": pgettext_lazy("stored", "the table"),
    "winner": pgettext_lazy("stored", "the winner"),
}


@dataclass(frozen=True)
class Said:
    """A sentence known: as it was said, and what it says. Named groups of the first are the braces of the second."""

    pattern: re.Pattern[str]
    says: Promise
    words: Callable[[dict[str, str]], dict[str, str]] = dict

    def again(self, text: str) -> str | None:
        """The text in the language that is active; None where it is another sentence."""
        found = self.pattern.fullmatch(text)
        return None if found is None else str(self.says).format_map(self.words(found.groupdict()))


def said(pattern: str, says: Promise, words: Callable[[dict[str, str]], dict[str, str]] = dict) -> Said:
    return Said(re.compile(pattern, re.DOTALL), says, words)


def _column(found: dict[str, str]) -> dict[str, str]:
    return {**found, "column": column_name(found["column"])}


def _cause(found: dict[str, str]) -> dict[str, str]:
    return {**found, "cause": messages.again(found["cause"])}


def _columns(found: dict[str, str]) -> dict[str, str]:
    return {"what": ", ".join(dict.fromkeys(map(column_name, found["what"].split(", "))))}


def _both(found: dict[str, str]) -> dict[str, str]:
    return {**found, "then": _findings(found["then"]), "now": _findings(found["now"])}


#: What `dealing.verify` says of a broken chain.
CHAIN: Final = (
    said(
        r"is missing; the next row is position (?P<n>\d+)",
        gettext_lazy("The entry at this position is missing; the next one there is, is at {n}."),
    ),
    said(
        "its line names table (?P<table>.*): the table was renamed, or the row was moved here",
        gettext_lazy("The entry is one of table {table}: the table was renamed, or the entry was moved here."),
    ),
    said(
        "its previous hash is not the hash of the row before",
        gettext_lazy("The entry does not follow on the one before it: one was changed, taken out or put in here."),
    ),
    said(
        "its hash does not match its content",
        gettext_lazy("What the entry says was changed after it was recorded, or its hash was."),
    ),
    said(r"its line cannot be read: (?P<cause>.*)", gettext_lazy("The entry cannot be read: {cause}."), _cause),
    said(
        "its line is not in the form in which lines are written",
        gettext_lazy("The entry is not written as this system writes its entries: something else wrote it."),
    ),
    said(
        "its column (?P<column>[a-z_]+) is (?P<value>.*), and its line says (?P<line>.*)",
        gettext_lazy("The entry is filed under something else than it says ({column}: {value}; it says {line})."),
        _column,
    ),
    said(
        "its seal does not match its content",
        gettext_lazy(
            "What the entry says was changed after it was recorded, or it was put in: its seal is not genuine."
        ),
    ),
    said(
        r"was sealed as position (?P<n>\d+)",
        gettext_lazy("The entry stood at position {n}: it was moved, or entries before it were taken out or put in."),
    ),
    said(
        r"its time of recording was changed; it was recorded at (?P<at>\S+)",
        gettext_lazy("Its time of recording was changed afterwards; it was recorded at {at}."),
    ),
    said("has no seal", gettext_lazy("The entry has no seal: something else than this system put it in.")),
    said(
        "is sealed with key (?P<key>[^,]*), which is not among the keys here",
        gettext_lazy("The entry is sealed with key {key}, which is not known here."),
    ),
    said(
        "its seal was not made after the row before",
        gettext_lazy("The entry does not follow on the one before it, by its seal: one was put in or taken out here."),
    ),
    said(
        "its hash is not the one that it had when sealing began",
        gettext_lazy("The entries up to here are not those that there were when this system began to seal entries."),
    ),
    said(
        "was recorded earlier than the row before",
        gettext_lazy("The entry’s time of recording is earlier than that of the one before it."),
    ),
    said("is earlier than the row before", gettext_lazy("The entry has an earlier time than the one before it.")),
    said(
        r"is missing; the table's head says that there are (?P<n>\d+) events",
        gettext_lazy("The log ends before this entry; {n} were recorded."),
    ),
    said(
        r"stands beyond the table's head, which is (?P<n>\d+)",
        gettext_lazy("The log goes on after the last entry that was recorded, which is number {n}."),
    ),
    said(
        r"is missing; an earlier audit had come to position (?P<n>\d+)",
        gettext_lazy("The log ends before this entry; an earlier audit had come to number {n}."),
    ),
    said(
        "its hash is not the one that an earlier audit found there",
        gettext_lazy("The entry is not the one that an earlier audit found there: its hash is another."),
    ),
    said(
        "its hash is not the one at the table's head",
        gettext_lazy("The last entry is not the one that was recorded last: its hash is another."),
    ),
    said(
        "its time is not the one at the table's head",
        gettext_lazy("The last entry is not the one that was recorded last: its time is another."),
    ),
    said(
        "the rows are whole, but nothing guards them: (?P<what>.*) is missing(?: or disabled|, disabled or replaced)",
        gettext_lazy("The entries are whole, but the database does not guard them against changes now ({what})."),
    ),
)

#: What is said where things recorded live are not what the log says now.
DIFFERENCES: Final = (
    said("is in the log and not stored", gettext_lazy("The log has it, and the live records do not.")),
    said("is stored and not in the log", gettext_lazy("The live records have it, and the log does not.")),
    said(
        "(?P<what>[a-z_]+(?:, [a-z_]+)*) differ from what the log says",
        gettext_lazy("The live records have something else than the log: {what}."),
        _columns,
    ),
    said(
        r"incident (?P<n>\d+) has (?P<then>.*); the log says (?P<now>.*)",
        gettext_lazy("Incident {n} is about: {then}. The log says now: {now}."),
        _both,
    ),
    said(
        r"decision (?P<n>\d+) was carried out with event (?P<events>[\d, ]+), "
        "and the log has no such event of this hand",
        gettext_lazy("Decision {n} was carried out with event {events}, which the log of this hand does not have."),
    ),
)

#: Why a table could not be audited.
FAILED: Final = (
    said("its part of the audit was not done", gettext_lazy("Its part of the audit was not done.")),
    said(r"the worker vanished (?P<n>\d+) times", gettext_lazy("The server broke off its work on it {n} times.")),
)


def column_name(column: str) -> str:
    """What a column of the stored records is called."""
    return str(COLUMNS.get(column, column))


def _findings(text: str) -> str:
    """`fifth-card-misplaced (open: correct)`, several with commas between them."""
    if text == "nothing":
        return pgettext("finding", "nothing")
    parts = re.findall(r"([a-z0-9-]+) \(([a-z-]*): ([a-z -]*)\)", text)
    if ", ".join(f"{code} ({state}: {ruling})" for code, state, ruling in parts) != text:
        return text
    return ", ".join(
        _("%(finding)s (%(state)s; %(ruling)s)")
        % {
            "finding": wording.finding_title(code),
            "state": wording.status_name(state),
            "ruling": wording.action_name(ruling),
        }
        for code, state, ruling in parts
    )


def again(known: tuple[Said, ...], text: str) -> str:
    for one in known:
        words = one.again(text)
        if words is not None:
            return words
    return text


def chain_words(problem: str) -> str:
    """Why a chain is broken."""
    return again(CHAIN, problem)


def failed_words(reason: str) -> str:
    """Why a table could not be audited."""
    return again(FAILED, reason)


def unreadable_words(problem: str) -> str:
    """Why a row cannot be read, or its event cannot have happened."""
    return messages.again(problem)


def difference_words(text: str) -> str:
    """What is not the same."""
    return again(DIFFERENCES, text)


def language_of(text: str, words: str) -> str:
    """The language of words made of a text, where that is not the page's: `en` where nothing better was known."""
    return "en" if words == text and get_language() != "en" else ""


_PLACE: Final = re.compile(r"(?:(?P<table>\S+) )?shoe (?P<shoe>\d+)(?: hand (?P<hand>\d+))?: (?P<text>.*)", re.DOTALL)


def placed(note: TableNote) -> TableNote:
    """The note with the shoe and hand at which its text begins in their own fields, and the text without them."""
    found = _PLACE.fullmatch(note.text)
    if found is None or found["table"] not in (None, note.table):
        return note
    hand = int(found["hand"]) if found["hand"] else None
    return msgspec.structs.replace(note, text=found["text"], shoe=int(found["shoe"]), hand=hand)

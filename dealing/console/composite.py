"""One press that records several events: a call that ends its hand, a sheet of pays, and taking either back.

What follows on is asked of the judge: the hand is folded as it would be with the press and its closing, and only where
nothing is wrong with that does the table go on by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils import timezone
from django.utils.translation import gettext as _

from dealing import wording
from dealing.console.forms import FORMS
from dealing.console.state import State
from dealing.digits import read_digits
from dealing.messages import reason, tell
from dealing.models import Table, TableEvent
from dealing.rules import events as log
from dealing.rules.events import EventError, format_time, parse_event
from dealing.rules.judge import Finding, HandContext, HandFold

Line = dict[str, object]

#: The form that pays several bets at once; its fields are `pay-<seat>-<bet>`.
PAID_ALL: Final = "paid_all"
PAY: Final = "pay-"


def part_key(key: str, number: int) -> str:
    """The idempotency key of the press's event of this number (1, 2, …)."""
    return key if number == 1 else f"{key}.{number}"


def keyed(lines: Sequence[Line], key: str) -> list[Line]:
    """The lines with the press's key and those derived from it; as they are where the press has none."""
    return [line | {"key": part_key(key, n)} if key else line for n, line in enumerate(lines, 1)]


# What follows on.


def follows(state: State, *lines: Line) -> bool:
    """Whether the table goes on by itself after these: the right call stands, and closing the hand leaves nothing."""
    if not state.table.follow_on or not state.hand_open or not state.hand or not state.shoe or not state.fold:
        return False
    ends = {**_of_hand(state), "event": log.HandClosed.name}
    try:
        more = [_parsed(line) for line in (*lines, ends)]
        numbered = [*state.events, *enumerate(more, state.table.last_seq + 1)]
        audit = HandFold.of(HandContext.from_json(state.hand.context), numbered).audit()
    except EventError:
        return False
    called = any(isinstance(event, log.Called) for _seq, event in numbered)
    return called and audit.result is not None and not any(map(_holds, audit.findings))


def _holds(finding: Finding) -> bool:
    """Whether a finding keeps the hand open. Where the rules only let it stand, there is nothing to wait for."""
    return finding.state == "open" and not (finding.mandatory and finding.ruling == "stand")


def held_by(state: State) -> str:
    """Why the right call does not close the hand where it otherwise would; empty where it does.

    Pays that are still due are not said here: they stand on the pay sheet.
    """
    if not state.table.follow_on or state.phase != "complete":
        return ""
    holding = next((finding for finding in state.findings if _holds(finding)), None)
    if holding is None:
        return ""
    title = wording.finding_title(holding.code)
    return _("The hand does not close by itself: “%(finding)s” is open.") % {"finding": title}


def call_follows(state: State) -> bool:
    """Whether the right call, pressed now, would take the table on to the next hand."""
    return not state.called and bool(state.result) and follows(state, _right_call(state))


def _right_call(state: State) -> Line:
    return {**_of_hand(state), "event": log.Called.name, "winner": state.winner}


def follow_on(state: State, lines: Sequence[Line]) -> list[Line]:
    """The lines, with the hand closed and betting opened on the next where the table goes on by itself.

    After the shoe's last hand nothing is opened.
    """
    if not follows(state, *lines):
        return list(lines)
    common: Line = {name: value for name, value in lines[0].items() if name in ("table", "shoe", "hand", "by")}
    more: list[Line] = [{**common, "event": log.HandClosed.name}]
    if not is_last(state):
        more.append({**common, "event": log.BettingOpened.name, "hand": state.next_hand})
    return [*lines, *more]


def is_last(state: State) -> bool:
    """Whether no further hand is dealt from this shoe after the one that is being played."""
    last = state.shoe_fold.last_hand if state.shoe_fold else None
    return last is not None and state.next_hand > last


def _of_hand(state: State) -> Line:
    return {
        "table": state.table.code,
        "shoe": state.shoe.number if state.shoe else 0,
        "hand": state.hand.number if state.hand else 0,
    }


def _parsed(line: Line) -> log.Event:
    return parse_event({"at": format_time(timezone.now()), **line})


# All pays at once.


@dataclass
class Pays:
    """The pays of one form: their lines, and what is wrong with the fields, by field; "" is for the form as a whole."""

    lines: list[Line] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)


def read_pays(data: Mapping[str, str], common: Line) -> Pays:
    """The `paid` lines of every `pay-<seat>-<bet>` that holds an amount."""
    pays = Pays()
    for name, text in data.items():
        if not name.startswith(PAY) or not text.strip():
            continue
        seat, _dash, bet = name.removeprefix(PAY).partition("-")
        form = FORMS[log.Paid.name](data={"seat": seat, "bet": bet, "amount": text.strip()})
        if not form.is_valid():
            pays.errors[name] = " ".join(str(error) for errors in form.errors.values() for error in errors)
            continue
        line = common | {"event": log.Paid.name} | form.keys()
        try:
            _parsed(line)
        except EventError as error:
            pays.errors[name] = reason(error) if error.key == "amount" else tell(error)
            continue
        pays.lines.append(line)
    if not pays.lines and not pays.errors:
        pays.errors[""] = _("No amount was entered.")
    return pays


def pay_values(data: Mapping[str, Any]) -> dict[str, str]:
    """What was typed into the fields of the pay sheet."""
    return {name: str(text) for name, text in data.items() if name.startswith(PAY)}


# Taking back what one press did.


def taken_back(state: State) -> list[str]:
    """What "undo" would take back, in words: where one press recorded several events, each kind of them in order."""
    last = state.last_entry
    if last is None:
        return []
    alone = [last.now or last.text]
    _base, dot, number = (last.event.key or "").rpartition(".")
    if not dot or read_digits(number, 2) in (None, 1):
        return alone
    row = state.table.events.get(seq=last.seq)
    names = [wording.event_name(one.name) for one in reversed(pressed_with(state.table, row))]
    return list(dict.fromkeys(names)) if len(names) > 1 else alone


def pressed_with(table: Table, row: TableEvent) -> list[TableEvent]:
    """The rows that the same press recorded, newest first; only this one where something else came after it."""
    base, dot, number = (row.key or "").rpartition(".")
    last = read_digits(number, 2) if dot else None
    if last is None or last < 2:
        return [row]
    keys = [part_key(base, n) for n in range(1, last + 1)]
    rows = list(table.events.filter(key__in=keys, actor=row.actor).order_by("-seq"))
    if [one.key for one in rows] != keys[::-1] or rows[0].seq - rows[-1].seq != len(rows) - 1:
        return [row]
    later = list(table.events.filter(seq__gt=row.seq))
    amended = {event.seq for event in (one.parse() for one in later) if isinstance(event, log.Amended)}
    untouched = amended.isdisjoint(one.seq for one in rows)
    newest = all(one.name == log.Amended.name or one.seq in amended for one in later)
    return rows if untouched and newest else [row]

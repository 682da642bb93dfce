"""What the browser needs to go ahead of the server: the drawing rules as data, and where the hand stands in them.

The browser knows no rule. It looks up, state by state, what the judge's own layouts say: the place due, the totals, the
winner, and the state that the next card leads to. Layouts that no later card can tell apart are one state here.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import cache
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dealing.console import composite
from dealing.console.state import State
from dealing.rules.cards import VALUES
from dealing.rules.tableau import EMPTY, Layout

#: What a state says; see `tableau`.
Row = list[Any]


class Tableau(NamedTuple):
    """The data as sent, plain and zipped, with its name, and the number of each layout's state."""

    plain: bytes
    zipped: bytes
    name: str
    states: dict[Layout, int]


@cache
def tableau() -> Tableau:
    """The drawing rules as JSON.

    `values`: rank to points. `states`: for each state `[place due or "", Player's total, Banker's total, winner or "",
    the ten states after the next card by its points]`, the last left out where no card is due. State 0 has no cards.
    """
    rows: list[Row] = []
    known: dict[str, int] = {}
    states: dict[Layout, int] = {}

    def number(layout: Layout) -> int:
        if layout in states:
            return states[layout]
        row: Row = [layout.due or "", layout.player, layout.banker, "" if layout.due else layout.winner]
        if layout.due:
            row.append([number(after) for after in layout.after])
        text = json.dumps(row)
        if text not in known:
            known[text] = len(rows)
            rows.append(row)
        states[layout] = known[text]
        return known[text]

    number(EMPTY)
    # The hand without cards was found last; it is to be the first.
    last = len(rows) - 1
    rows = [rows[-1], *rows[:-1]]
    for row in rows:
        if row[0]:
            row[4] = [(one + 1) % len(rows) for one in row[4]]
    states = {layout: 0 if one == last else one + 1 for layout, one in states.items()}
    plain = json.dumps({"values": VALUES, "states": rows}, separators=(",", ":")).encode()
    name = hashlib.sha256(plain).hexdigest()[:16]
    return Tableau(plain, gzip.compress(plain, mtime=0), name, states)


def name() -> str:
    """The name of the data, made of its content."""
    return tableau().name


def address() -> str:
    """Where a browser gets it."""
    return reverse("console:tableau", args=(name(),))


def state_of(state: State) -> int | str:
    """Where the hand stands in the tableau; empty where anything is unusual and nothing is to be guessed."""
    if not state.hand_open:
        return 0
    audit = state.audit
    dealt = sum(len(cards) for cards in audit.dealt.places.values()) if audit else 0
    if audit is None or audit.findings or audit.dealt.extra or state.face_down or state.window_open:
        return ""
    return tableau().states[audit.layout] if dealt == audit.layout.drawn else ""


def beside(state: State) -> dict[str, Any]:
    """What the templates say to the browser beside the page itself."""
    last = state.shoe_fold.last_hand if state.shoe_fold else None
    phase = state.phase
    return {
        "shown_phase": "called" if phase == "complete" and state.called else phase,
        "layout": state_of(state),
        "last_hand": "" if last is None else last,
        "more_hands": state.ruleset.procedure.cut_card.more_hands,
        "call_follows": phase == "complete" and composite.call_follows(state),
        "held_by": composite.held_by(state),
        "call_is_last": composite.is_last(state),
        "hand_mark": _mark("hand", state.hand.number if state.hand and state.hand_open else state.next_hand),
        "next_mark": _mark("next", state.next_hand),
    }


def _mark(of: str, number: int) -> SafeString:
    """A hand's number within a sentence, where the browser can let it go on."""
    return format_html('<span data-number="{}">{}</span>', of, number)

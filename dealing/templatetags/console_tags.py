"""What the forms of the table console have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dealing import wording
from dealing.console.composite import PAID_ALL, taken_back
from dealing.console.state import Entry, Line, PlaceKey, State, fresh_key
from dealing.console.words import Said
from dealing.rules.cards import RANKS, SUITS
from dealing.rules.rulesets import Citation, Ruleset
from dealing.templatetags.kept_tags import gap
from dealing.templatetags.table_tags import suit

register = template.Library()

#: Events that begin the next hand when the last one is over.
BEGINS = frozenset({"betting_opened", "betting_closed", "bet", "card", "opened"})

#: Events that the entry line records; every other one that a log-in interrupted comes back in a sheet.
ENTRY_LINE = frozenset({"card", "burn_card"})


@lru_cache(maxsize=256)
def _keys(language: str, rank: str, face_down: bool, ranks_only: bool) -> SafeString:
    key = (
        '<button class="key" name="card_rank" value="{0}" id="rank-{0}" aria-label="{1}">{3}</button>'
        if ranks_only
        else '<label class="key"><input type="radio" name="card_rank" value="{0}" aria-label="{1}"{2}>{3}</label>'
    )
    ranks = [
        format_html(
            key,
            one,
            wording.rank_name(one),
            mark_safe(" checked") if one == rank else "",
            "10" if one == "T" else one,
        )
        for one in RANKS
    ]
    suits = [
        format_html(
            '<button class="key key-suit" name="card_suit" value="{0}" id="suit-{0}">{1}'
            '<span class="visually-hidden">{2}</span></button>',
            letter,
            suit(letter),
            wording.suit_name(letter),
        )
        for letter in ("" if ranks_only else SUITS)
    ]
    down = format_html(
        '<button class="key key-down" name="face" value="down" id="face-down"><span>{}</span></button>', _("Face down")
    )
    return format_html_join("", "{}", ((key,) for key in [*ranks, *suits, *([down] if face_down else [])]))


@register.simple_tag
def keys(rank: str = "", face_down: bool = False, ranks_only: bool = False) -> SafeString:
    """The rank and suit keys; the same on every page of one language, so they are made once.

    `ranks_only`: there are no suits, and a rank key records at once.
    """
    return _keys(_language(), rank, face_down, ranks_only)


@lru_cache(maxsize=64)
def _choices(language: str, name: str) -> SafeString:
    ranks = [
        format_html(
            '<label class="key"><input type="radio" name="{}_rank" value="{}" aria-label="{}">{}</label>',
            name,
            one,
            wording.rank_name(one),
            "10" if one == "T" else one,
        )
        for one in RANKS
    ]
    suits = [
        format_html(
            '<label class="key key-suit"><input type="radio" name="{}_suit" value="{}" aria-label="{}">{}</label>',
            name,
            letter,
            wording.suit_name(letter),
            suit(letter),
        )
        for letter in SUITS
    ]
    return format_html_join("", "{}", ((key,) for key in [*ranks, *suits]))


@register.simple_tag
def card_choices(name: str) -> SafeString:
    """Rank and suit of a card as choices of a form's field."""
    return _choices(_language(), name)


# What stays the same from one card to the next is drawn once. The arguments are all that the templates see, the active
# language among them, so an equal call gives an equal text.


def _language() -> str:
    return get_language() or "en"


@lru_cache(maxsize=256)
def _head(language: str, code: str, shoe: int, hand: int, rules: str, findings: int) -> SafeString:
    mark = format_html('<span data-number="shown">{}</span>', hand)
    shown = {"code": code, "shoe": shoe, "hand": hand, "hand_mark": mark, "rules": rules, "findings": findings}
    return render_to_string("console/head.html", shown)


@register.simple_tag
def console_head(state: State) -> SafeString:
    """Which table, shoe and hand this is."""
    shoe, hand = state.shoe.number if state.shoe else 0, state.hand.number if state.hand else 0
    return _head(_language(), state.table.code, shoe, hand, state.ruleset_title, state.open_findings)


@lru_cache(maxsize=512)
def _due(language: str, said: Said, result: str, citation: Citation | None) -> SafeString:
    return render_to_string("console/due.html", {"said": said, "result": result, "citation": citation})


@register.simple_tag
def due_line(state: State) -> SafeString:
    """What is due and why, with the rule; nothing where nothing is to be said."""
    result = "" if state.to_move else state.result_words
    return _due(_language(), state.said, result, state.citation) if state.said else SafeString()


@lru_cache(maxsize=4096)
def _line(language: str, address: str, live: bool, line: Line) -> SafeString:
    return render_to_string("console/timeline_line.html", {"entry": line, "address": address, "live": live})


@register.simple_tag
def timeline_lines(entries: Iterable[Entry], code: str, live: object = None) -> SafeString:
    """The entries of the log. `live`: on the console, where a dealer mistake can be recorded too."""
    language, address = _language(), reverse("console:table", args=(code,))
    lines = [_line(language, address, bool(live), entry.line) for entry in entries]
    return mark_safe("".join(lines))  # noqa: S308  # each of them is safe


@lru_cache(maxsize=512)
def _places(language: str, keys: tuple[PlaceKey, ...], chosen: str) -> SafeString:
    return render_to_string("console/place_keys.html", {"keys": keys, "chosen": chosen})


@register.simple_tag
def place_keys(keys: Sequence[PlaceKey], chosen: str) -> SafeString:
    """The row of places; `chosen` is the one that was pressed, empty for the one proposed."""
    return _places(_language(), tuple(keys), chosen)


@lru_cache(maxsize=512)
def _call_key(language: str, side: str, totals: tuple[int, int] | None, follows: bool, last: bool) -> SafeString:
    player, banker = totals or (0, 0)
    shown = {"side": side, "right": totals is not None, "player": player, "banker": banker}
    return render_to_string("console/call_key.html", {**shown, "follows": follows, "last": last})


@register.simple_tag
def call_key(side: str, state: State, follows: bool, last: bool) -> SafeString:
    """The key of one result. The right one says the totals, and what else its press does."""
    totals = (state.result.player, state.result.banker) if state.result and side == state.winner else None
    return _call_key(_language(), side, totals, follows, last)


def _fields(event: str, entry: object, places: Sequence[PlaceKey], down: str, ranks_only: bool) -> SafeString:
    shown = {"event": event, "entry": entry, "places": places, "down": down, "ranks_only": ranks_only}
    return render_to_string("console/entry_fields.html", shown)


@lru_cache(maxsize=256)
def _empty_fields(language: str, event: str, places: tuple[PlaceKey, ...], down: str, ranks_only: bool) -> SafeString:
    return _fields(event, None, places, down, ranks_only)


@register.simple_tag
def entry_fields(event: str, entry: Any, state: State) -> SafeString:
    """What is typed and pressed to record a card; with what was typed before, where that could not be recorded."""
    places, down = (tuple(state.places), state.down) if event == "card" else ((), "")
    if entry.typed or entry.place or entry.rank or entry.errors:
        return _fields(event, entry, places, down, state.table.ranks_only)
    return _empty_fields(_language(), event, places, down, state.table.ranks_only)


@register.simple_tag
def undone(state: State) -> list[str]:
    """What the undo button takes back."""
    return taken_back(state)


@register.filter
def cited(finding: Any, ruleset: Ruleset) -> list[Any]:
    """The citations of a finding's rules in the active language."""
    return [ruleset.cite(rule, _language()) for rule in finding.rules]


@lru_cache(maxsize=256)
def _sends(address: str) -> SafeString:
    return format_html('method="post" action="{0}" data-records', address)


@register.simple_tag(takes_context=True)
def sends(context: Context) -> SafeString:
    """The attributes of a form that records: by the device's queue where it runs, as a plain form where it does not."""
    return _sends(context["record_address"])


@register.simple_tag(takes_context=True)
def hidden(context: Context, event: str, sheet: str = "") -> SafeString:
    """The hidden fields of a form: the event, which hand it is about, a fresh idempotency key and the head seen."""
    return gap(f"{event} {sheet}") if context.get("drawn_to_keep") else hidden_fields(context, event, sheet)


def hidden_fields(context: Context, event: str, sheet: str = "") -> SafeString:
    """What `{% hidden %}` stands for now."""
    state: State = context["state"]
    hand: int | str = state.hand.number if state.hand else ""
    if event in BEGINS and not state.hand_open:
        hand = state.next_hand
    key = escape(carried) if (carried := _carried(context.get("answer"), event, sheet)) else fresh_key()
    # Several forms stand on every page. What else goes in are numbers, and names and tokens of our own.
    shoe = f'<input type="hidden" name="shoe" value="{state.shoe.number}">' if state.shoe else ""
    of_sheet = f'<input type="hidden" name="sheet" value="{escape(sheet)}">' if sheet else ""
    return mark_safe(  # noqa: S308
        f'<input type="hidden" name="csrfmiddlewaretoken" value="{context["form_token"]}">'
        f'<input type="hidden" name="event" value="{escape(event)}"><input type="hidden" name="key" value="{key}">'
        f'<input type="hidden" name="seq" value="{state.table.last_seq}">{shoe}'
        f'<input type="hidden" name="hand" value="{hand}">{of_sheet}'
    )


def _carried(answer: Any, event: str, sheet: str) -> str:
    """The key of a press that recorded nothing, for the form in which it stands again: it is the same press."""
    if not answer or not answer.key:
        return ""
    here = (
        bool(sheet)
        or (event in ENTRY_LINE and not answer.sheet)
        or (answer.form is not None and answer.form.event == event)
        or (event == PAID_ALL and bool(answer.pay_values))
    )
    return str(answer.key) if here else ""

"""What the forms of the table console have in common."""

from __future__ import annotations

from typing import Any

from django import template
from django.middleware.csrf import get_token
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from dealing.console.state import State, fresh_key
from dealing.rules.rulesets import Ruleset

register = template.Library()

#: Events that begin the next hand when the last one is over.
BEGINS = frozenset({"betting_opened", "betting_closed", "bet", "card", "opened"})


@register.filter
def cited(finding: Any, ruleset: Ruleset) -> list[Any]:
    """The citations of a finding's rules in the active language."""
    return [ruleset.cite(rule, get_language() or "en") for rule in finding.rules]


@register.simple_tag(takes_context=True)
def sends(context: Context) -> SafeString:
    """The attributes of a form that records: by htmx where it runs, as a plain form where it does not."""
    return format_html('method="post" action="{0}" hx-post="{0}"', context["record_address"])


@register.simple_tag(takes_context=True)
def hidden(context: Context, event: str, sheet: str = "") -> SafeString:
    """The hidden fields of a form: the event, which hand it is about, a fresh idempotency key and the head seen."""
    state: State = context["state"]
    hand: int | str = state.hand.number if state.hand else ""
    if event in BEGINS and not state.hand_open:
        hand = state.next_hand
    shoe = format_html('<input type="hidden" name="shoe" value="{}">', state.shoe.number) if state.shoe else ""
    return format_html(
        '<input type="hidden" name="csrfmiddlewaretoken" value="{}"><input type="hidden" name="event" value="{}">'
        '<input type="hidden" name="key" value="{}"><input type="hidden" name="seq" value="{}">{}'
        '<input type="hidden" name="hand" value="{}">{}',
        get_token(context["request"]),
        event,
        fresh_key(),
        state.table.last_seq,
        shoe,
        hand,
        format_html('<input type="hidden" name="sheet" value="{}">', sheet) if sheet else "",
    )

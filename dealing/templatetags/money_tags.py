"""What the pages of the money and of the shoe's life ask for beside the table's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

from django import template
from django.forms import BoundField
from django.template import Context
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from dealing.console import composite, money
from dealing.console.forms import EventForm
from dealing.console.limits import amount, decimals
from dealing.console.state import HandOf, State, redealt_by, redealt_from
from dealing.digits import read_digits
from dealing.models import Shoe, Table
from dealing.rules.audit import HandAudit
from dealing.rules.bets import amount_text
from dealing.rules.cards import RANKS
from dealing.rules.judge import ShoeFold

register = template.Library()

#: What closing a shoe for a reason means.
SHOE_REASON_SENTENCES: Final[Mapping[str, Promise]] = {
    "finished": _("It was dealt to its end. The next shoe is opened when the table goes on."),
    "replaced": _("It is taken out and another one put in at once, as after an opened card left the camera’s view."),
    "cancelled": _("Management ends it early. What was dealt from it counts, unless a hand is declared void."),
    "faulty": _("Something is wrong with its cards. It is kept aside to be looked at."),
}


@register.filter
def shoe_reason_sentence(reason: str) -> str:
    """What closing the shoe for this reason means; empty for an unknown one."""
    return str(SHOE_REASON_SENTENCES.get(reason, ""))


@register.filter
def plain_amount(value: Any) -> str:
    """An amount without a fraction that is nothing: `5,000`."""
    return amount(value)


# Seats, bets and what stands are much the same from one bet to the next: drawn once, kept by all that they show.


@register.simple_tag
def seat_keys(field: BoundField) -> SafeString:
    """The keys of a seat field with the seat chosen, or typed, so far, and the field for another seat."""
    value = str(field.value() or "").strip()
    described = f"{field.auto_id}-error" if field.errors else ""
    seats = tuple(getattr(field.field, "seats", ()))
    return _seat_keys(get_language() or "en", field.html_name, str(field.id_for_label), seats, value, described)


@lru_cache(maxsize=1024)
def _seat_keys(language: str, name: str, key: str, seats: tuple[int, ...], value: str, described: str) -> SafeString:
    keys = [(seat, str(seat) == value) for seat in seats]
    other = "" if any(down for _seat, down in keys) else value
    shown = {"name": name, "id": key, "keys": keys, "other": other, "described": described}
    return render_to_string("console/fields/seat_keys.html", shown)


@register.simple_tag
def bet_keys(field: BoundField, keys: Sequence[money.BetKey], chosen: str) -> SafeString:
    """Some keys of a bet field."""
    language, name = get_language() or "en", field.html_name
    return mark_safe("".join(_bet_key(language, name, key, key.name == chosen) for key in keys))  # noqa: S308  # safe each


@lru_cache(maxsize=2048)
def _bet_key(language: str, name: str, key: money.BetKey, chosen: bool) -> SafeString:
    # Not by a template: its warnings change with every bet.
    return format_html(
        '<label class="key key-bet"><input type="radio" name="{}" value="{}" data-warnings="{}"{}><span>{}</span>{}{}'
        "</label>",
        name,
        key.name,
        key.warnings,
        _CHECKED if chosen else "",
        key.words,
        format_html('<small class="bet-mark">{}</small>', key.mark) if key.mark else "",
        format_html("<small>{}</small>", key.limit) if key.limit else "",
    )


_CHECKED: Final = mark_safe(" checked")


@register.simple_tag
def quick_stakes(stakes: Sequence[Decimal]) -> SafeString:
    """The last stakes, each a press that records."""
    return _quick_stakes(get_language() or "en", tuple(stakes))


@lru_cache(maxsize=1024)
def _quick_stakes(language: str, stakes: tuple[Decimal, ...]) -> SafeString:
    return render_to_string("console/fields/quick_stakes.html", {"stakes": stakes})


@register.simple_tag(takes_context=True)
def standing_bets(context: Context, folded: object = False) -> SafeString:
    """The bets that stand on the hand; `folded` at first, or where they are many."""
    state: State = context["state"]
    bets = tuple(state.standing)
    return (
        _standing_bets(get_language() or "en", bets, state.staked, context["address"], bool(folded))
        if bets
        else SafeString()
    )


@lru_cache(maxsize=1024)
def _standing_bets(
    language: str, bets: tuple[money.StandingBet, ...], staked: Decimal, address: str, folded: bool
) -> SafeString:
    shown = {"bets": bets, "staked": staked, "address": address, "open": len(bets) < 7 and not folded}
    return render_to_string("console/bets_list.html", shown)


@register.simple_tag
def standing_bet(bet: money.StandingBet, address: str) -> SafeString:
    """A bet that stands on the hand, with the way to its entry."""
    return _standing_bet(get_language() or "en", bet, address)


@lru_cache(maxsize=4096)
def _standing_bet(language: str, bet: money.StandingBet, address: str) -> SafeString:
    return render_to_string("console/standing_bet.html", {"bet": bet, "address": address})


@register.simple_tag
def shoe_cards(state: State) -> SafeString:
    """How many cards of the shoe were seen, are out unseen, and are left."""
    return _shoe_cards(
        get_language() or "en",
        state.cards_total,
        state.cards_gone,
        state.cards_left,
        state.cards_seen,
        state.cards_unseen,
    )


@lru_cache(maxsize=4096)
def _shoe_cards(language: str, total: int, gone: int, left: int, seen: int, unseen: int) -> SafeString:
    shown = {"total": total, "gone": gone, "left": left, "seen": seen, "unseen": unseen}
    return render_to_string("console/shoe_cards.html", shown)


@register.filter
def names_bet(keys: Any, name: object) -> bool:
    """Whether a bet is among these keys."""
    return any(key.name == name for key in keys)


@register.filter
def marks(keys: Any) -> str:
    """Why these bets should not be placed now: each reason once."""
    return " · ".join(dict.fromkeys(key.mark for key in keys if key.mark))


@register.filter
def with_cents(value: Any) -> str:
    """An amount as it is typed: `2,375.00`; what is no amount comes back as it was typed."""
    if not isinstance(value, Decimal):
        return str(value)
    return number_format(value, decimal_pos=max(2, decimals(value)), force_grouping=True)


@register.simple_tag
def pay_sheet(audit: HandAudit) -> money.PaySheet:
    """What every seat of a hand is owed, was paid, and gets back."""
    return money.PaySheet(money.pay_rows(audit), audit.status == "voided")


@register.simple_tag
def pays_follow(state: State) -> str:
    """What follows once all waiting rows are paid as owed: `next`, `last` (the shoe's last hand closes), or nothing."""
    if not state.hand_open or not state.table.follow_on or not state.shoe or not state.hand:
        return ""
    common = {"table": state.table.code, "shoe": state.shoe.number, "hand": state.hand.number, "event": "paid"}
    rows = state.pay_sheet.waiting
    lines = [common | {"seat": row.seat, "bet": row.bet, "amount": amount_text(row.rest)} for row in rows]
    if not composite.follows(state, *lines):
        return ""
    return "last" if composite.is_last(state) else "next"


@register.simple_tag
def payout_of(audit: HandAudit, number: int) -> money.PayRow | None:
    """The seat, bet and figures of a finding of a wrong payout, by its place among the hand's findings."""
    return money.wrongly_paid(audit).get(number)


class PayField(NamedTuple):
    """The amount of a row of the pay sheet: what stands in the field, and what is wrong with it."""

    value: object
    error: str


@register.simple_tag
def pay_field(row: money.PayRow, answer: Any) -> PayField:
    """What was typed for a row where it could not be recorded, else what is still to be paid."""
    form = answer.form
    sent = form.data if form is not None and form.event == "paid" else {}
    if (sent.get("seat"), sent.get("bet")) == (str(row.seat), row.bet):
        errors = [str(error) for messages in form.errors.values() for error in messages]
        return PayField(sent.get("amount", ""), " ".join(errors))
    return PayField(answer.pay_values.get(row.name, row.rest), answer.pay_errors.get(row.name, ""))


@register.simple_tag
def payout_at(audit: HandAudit | None, seq: Sequence[int]) -> money.PayRow | None:
    """The same for a finding that is kept elsewhere, by its positions in the log."""
    found = money.wrongly_paid(audit) if audit else {}
    return next((row for n, row in found.items() if audit and list(audit.findings[n].seq) == list(seq)), None)


@register.simple_tag(takes_context=True)
def late_hand(context: Context, form: EventForm) -> HandOf | None:
    """The earlier hand that a pay is recorded for; None where it is for the hand at the table."""
    state = context["state"]
    asked = form.data if form.is_bound else form.initial
    shoe, hand = read_digits(asked.get("shoe")), read_digits(asked.get("hand"))
    if shoe is None or hand is None:
        return None
    now = (state.shoe.number if state.shoe else 0, state.hand.number if state.hand else 0)
    return HandOf(shoe, hand) if (shoe, hand) != now else None


class RankSeen(NamedTuple):
    """How many cards of a rank were seen, and how many the decks hold."""

    rank: str
    seen: int
    of: int


class Life(NamedTuple):
    """The cards of a shoe: all of them, those seen, those out and unseen, those left; and the ranks."""

    total: int
    seen: int
    unseen: int
    left: int
    ranks: list[RankSeen]

    @property
    def gone(self) -> int:
        """The cards that are out of the shoe."""
        return self.total - self.left


@register.simple_tag
def life_of(shoe: Shoe) -> Life:
    """The cards of a shoe as the judge counts them."""
    fold = ShoeFold.from_json(shoe.fold)
    by_rank: dict[str, int] = dict.fromkeys(RANKS, 0)
    for text, count in shoe.fold["counts"].items():
        by_rank[text[0]] += count
    total, unseen = shoe.decks * 52, fold.burned or 0
    ranks = [RankSeen("10" if rank == "T" else rank, seen, shoe.decks * 4) for rank, seen in by_rank.items()]
    return Life(total, shoe.cards_seen, unseen, max(0, total - shoe.cards_seen - unseen), ranks)


@register.simple_tag
def redeals(table: Table, shoe: Shoe, hand: int = 1) -> HandOf | None:
    """The hand of the shoe before that this shoe's first hand (if it is this one) deals again."""
    first = shoe.hand_set.order_by("number").values_list("number", flat=True).first()
    return redealt_from(table, shoe.number) if first in (None, hand) else None


@register.simple_tag
def dealt_again(table: Table, shoe: Shoe, hand: int | None = None) -> HandOf | None:
    """The hand of the next shoe that deals the last hand of this shoe (if it is this one) again."""
    return redealt_by(table, shoe, hand)

"""What the console says in sentences: what is due and why, and each entry of the log."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from dealing import wording
from dealing.rules import events as log
from dealing.rules.cards import SUITS, Card
from dealing.rules.events import Event, EventError
from dealing.rules.tableau import NATURALS, PLACES, Layout


class Said(NamedTuple):
    """A sentence for the person at the table, and the id of the rule behind it."""

    text: str
    rule: str
    place: str = ""


def due(layout: Layout, place: str | None) -> Said:
    """What the next card is, or why there is none, for the cards so far as the rules lay them."""
    if layout.drawn < 4:
        return Said(next_card(place or layout.due or ""), "DEAL-1", place or "")
    return Said(_reason(layout), layout.rule, layout.due or "")


def next_card(place: str) -> str:
    """Which card is next, by its place."""
    return {
        "P1": _("Player’s first card is next"),
        "B1": _("Banker’s first card is next"),
        "P2": _("Player’s second card is next"),
        "B2": _("Banker’s second card is next"),
        "P3": _("Player’s third card is next"),
        "B3": _("Banker’s third card is next"),
    }.get(place, "")


def _reason(layout: Layout) -> str:
    numbers = {"player": layout.player, "banker": layout.banker, "third": layout.third}
    if layout.rule == "DEAL-4":
        if layout.player in NATURALS and layout.banker in NATURALS:
            return _("Naturals %(player)d and %(banker)d: no third card") % numbers
        if layout.player in NATURALS:
            return _("Natural %(player)d for Player: no third card") % numbers
        return _("Natural %(banker)d for Banker: no third card") % numbers
    if layout.rule == "DRAW-P":
        return _("Player draws on %(player)d") % numbers
    if layout.rule == "DRAW-B0":
        if layout.due:
            return _("Player stands on %(player)d, Banker draws on %(banker)d") % numbers
        return _("Both stand: Player on %(player)d, Banker on %(banker)d") % numbers
    if layout.rule == "DRAW-B":
        if layout.due:
            return _("Banker draws on %(banker)d against %(third)d") % numbers
        return _("Banker stands on %(banker)d against %(third)d") % numbers
    if layout.third is None:
        return _("Banker has drawn: the hand is complete")
    return _("Both have drawn: the hand is complete")


def result(winner: str, player: int, banker: int) -> str:
    """`Banker wins 7 to 6`, `Tie at 6`."""
    if winner == "tie":
        return _("Tie at %(points)d") % {"points": player}
    if winner == "player":
        return _("Player wins %(high)d to %(low)d") % {"high": player, "low": banker}
    return _("Banker wins %(high)d to %(low)d") % {"high": banker, "low": player}


#: A card recorded by its rank only has no sign.
SUIT_SIGNS: Final = {"": "", "s": "♠", "h": "♥", "d": "♦", "c": "♣"}


def card(value: Card | None) -> str:
    """`9♥`, `9` where the suit was not recorded; a card nobody has seen is called that."""
    if value is None:
        return _("unseen card")
    return f"{'10' if value.rank == 'T' else value.rank}{SUIT_SIGNS[value.suit]}"


def read_card(text: str) -> Card | None:
    """The card that a text names, or None."""
    try:
        return Card.parse(text)
    except ValueError:
        return None


#: A place, or what was meant for one, and what stands after it.
_PLACED: Final = re.compile(r"([pb]\d+)(?:\s+(.*))?", re.IGNORECASE | re.ASCII)


def no_card(text: str) -> str:
    """What is missing in a text that names no card, as far as it can be told; else empty."""
    if text.lower() in SUITS:
        return _("Choose the rank first, then the suit.")
    placed = _PLACED.fullmatch(text)
    if placed is None:
        return ""
    place = placed[1].upper()
    if place not in PLACES:
        return _("There is no place %(place)s.") % {"place": place}
    return "" if placed[2] else _("Which card lies on %(place)s?") % {"place": place}


def refused(error: EventError) -> EventError:
    """The same refusal with its cards as a page shows them; the log's own way stays where programs read it."""
    shown = copy.copy(error)
    shown.params = {name: _shown(value) for name, value in error.params.items()}
    return shown


def _shown(value: object) -> object:
    if isinstance(value, EventError):
        return refused(value)
    found = read_card(value) if isinstance(value, str) else None
    return card(found) if found and found.suit else value


def burn(value: Card | None, count: int) -> str:
    """`Jack: burn 10 cards`; `Burn 8 cards` where no card says so."""
    if value is None:
        return ngettext("Burn %(count)d card", "Burn %(count)d cards", count) % {"count": count}
    told = ngettext("%(rank)s: burn %(count)d card", "%(rank)s: burn %(count)d cards", count)
    return told % {"rank": wording.card_name(value.rank, ""), "count": count}


def _amount(value: Decimal) -> str:
    return f"{value:,}"


def _named(name: str, detail: str) -> str:
    return f"{name}: {detail}" if detail else name


def _card_of(event: Any) -> str:
    return card(event.card) if event.card is not None else ""


def _dealt(event: log.CardDealt) -> str:
    names = {"card": card(event.card), "place": wording.place_name(event.to)}
    if event.face == "down":
        return _("%(card)s face down to %(place)s") % names
    return _("%(card)s to %(place)s") % names


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _odds(event: log.InsuranceOdds) -> str:
    names = {"side": wording.side_name(event.side), "odds": event.odds, "placed": wording.side_name(event.placed)}
    if event.placed == event.side:
        return _("%(side)s insured at %(odds)s") % names
    return _("%(side)s insured at %(odds)s, put on the spot of %(placed)s") % names


def _call(event: log.Called) -> str:
    totals = [
        f"{wording.side_name(side)} {total}"
        for side, total in (("player", event.player), ("banker", event.banker))
        if total is not None
    ]
    return _joined(wording.winner_name(event.winner), *totals)


def _seat(event: log.Bet | log.Paid, amount: Decimal) -> str:
    return _("seat %(seat)d, %(bet)s, %(amount)s") % {
        "seat": event.seat,
        "bet": wording.bet_name(event.bet),
        "amount": _amount(amount),
    }


#: What stands after the name of the event; events that are not here say enough with their name.
_DETAILS: Final[Mapping[type[Event], Callable[[Any], str]]] = {
    log.ShoeOpened: lambda e: ruleset(e.ruleset),
    log.BurnCard: _card_of,
    log.CardsBurned: lambda e: str(e.count),
    log.ShoeClosed: lambda e: wording.shoe_reason_name(e.reason),
    log.Bet: lambda e: _seat(e, e.stake),
    log.CardDealt: _dealt,
    log.Opened: lambda e: _joined(card(e.card), wording.place_name(e.place)),
    log.Extra: lambda e: _joined(_card_of(e), wording.face_name(e.face)),
    log.Exposed: lambda e: _joined(
        wording.moment_name(e.when), _card_of(e), wording.place_name(e.place) if e.place else ""
    ),
    log.Moved: lambda e: (
        _("from %(source)s to %(to)s") % {"source": wording.place_name(e.source), "to": wording.place_name(e.to)}
    ),
    log.Discarded: lambda e: wording.place_name(e.place or "extra"),
    log.Dropped: lambda e: _joined(
        wording.moment_name(e.when), _card_of(e), _("face up before") if e.opened else _("not opened")
    ),
    log.InsuranceOpened: lambda e: str(e.window),
    log.InsuranceOdds: _odds,
    log.InsuranceClosed: lambda e: str(e.window),
    log.Called: _call,
    log.Paid: lambda e: _seat(e, e.amount),
    log.Voided: lambda e: _joined(wording.scope_name(e.scope), wording.kept_reason(e.reason)),
}


def entry(event: Event) -> str:
    """An entry of the log as a line of the timeline."""
    return _entry(get_language() or "en", event)


@lru_cache(maxsize=8192)
def _entry(language: str, event: Event) -> str:
    detail = _DETAILS.get(type(event))
    text = detail(event) if detail else ""
    if type(event) is log.CardDealt:
        return text
    return _named(wording.event_name(event.name), text)


def amendment(event: log.Amended) -> str:
    """An amendment as one line."""
    if event.entry is None:
        return _("entry %(seq)d withdrawn") % {"seq": event.seq}
    return _("entry %(seq)d now reads: %(entry)s") % {"seq": event.seq, "entry": entry(event.entry)}


def ruleset(name: str) -> str:
    """The title of a ruleset in the active language; its name where it is not installed any more."""
    from dealing.rules.rulesets import get_ruleset

    try:
        return get_ruleset(name).title(get_language() or "en")
    except (LookupError, ValueError):
        return name

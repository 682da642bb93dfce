"""The words that a page needs to go ahead of the server, as data- attributes: the server's own, with their gaps."""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.forms.utils import flatatt
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dealing import wording
from dealing.console.words import SUIT_SIGNS, next_card
from dealing.rules.tableau import PLACES

register = template.Library()


@lru_cache(maxsize=16)
def _words(language: str) -> SafeString:
    words = {f"data-due-{place.lower()}": next_card(place) for place in PLACES}
    words |= {f"data-place-{place.lower()}": wording.place_name(place) for place in PLACES}
    words |= {f"data-suit-{letter}": sign for letter, sign in SUIT_SIGNS.items()}
    words["data-player"] = _("Player wins %(high)d to %(low)d")
    words["data-banker"] = _("Banker wins %(high)d to %(low)d")
    words["data-tie"] = _("Tie at %(points)d")
    words["data-face-down"] = _("Face down")
    words["data-pending"] = _("%(card)s to %(place)s, not confirmed yet")
    return flatatt(words)


@register.simple_tag
def ahead_words() -> SafeString:
    """What is due at each place, what a result is called, and how a card that is on its way is read out."""
    return _words(get_language() or "en")

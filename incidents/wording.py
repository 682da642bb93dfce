"""The words of incidents that the log and the judge have no code for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dealing.wording import finding_title

if TYPE_CHECKING:
    from .selectors import Case

#: Why an action cannot be carried out now (`rulings.obstacle`).
OBSTACLES: Final[dict[str, Promise]] = {
    "no-hand": _("this belongs to the shoe, and no hand is concerned"),
    "hand-void": _("the hand is void already"),
    "card-missing": _("the hand is over and the missing card can no longer be dealt"),
    "nothing-to-burn": _("the hand is over and no card lies beyond it"),
    "no-insurance": _("no insurance was bet on this hand"),
    "shoe-closed": _("this shoe is not in use any more"),
    "hand-playing": _("hand %(playing)s is being dealt from it; close or void that hand first"),
    "hand-unfinished": _("this hand is still being dealt; void it as well, or wait until it is closed"),
}

#: What the page says of actions for which the log has no line.
NO_LINE: Final[dict[str, Promise]] = {
    "stand": _(
        "Nothing is written to the table’s log: the hand stays as it is, "
        "and its judgement goes on saying what the rules say."
    ),
    "reuse card": _("Nothing is written to the table’s log: the card is recorded where it is used."),
    "void bet": _("The log has no line that voids one bet: give the stake back at the table."),
}

#: What it says of `stand` beside another ruling.
STAND_BESIDE: Final = _("Nothing is written to the table’s log for what is let stand.")


def obstacle_text(code: str, case: Case) -> str:
    """Why, in the language of the page."""
    return str(OBSTACLES[code]) % {"playing": case.playing}


def unanswered_text(code: str) -> str:
    """What is asked where a decision says nothing of a finding that the rules leave to the manager."""
    return gettext("Say what happens with: %(finding)s") % {"finding": finding_title(code)}

"""What is asked back before it is recorded: it should not happen, so it is to be meant.

The log takes it, because it may have happened; the page wants a second press, which sends `confirmed`. Nothing here is
a rule of the game: that a hand is the shoe's last is the judge's word, and what is recorded is judged like all else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dealing import rows
from dealing.console.limits import Limits, seat_total
from dealing.digits import read_digits
from dealing.models import Shoe, Table
from dealing.rules.rulesets import get_ruleset

if TYPE_CHECKING:
    from dealing.console.forms import EventForm

#: Events that begin a hand. Of cards only the one a hand starts with is looked at.
BEGINS: Final = frozenset({"betting_opened", "betting_closed", "bet", "card"})
#: Fields that a second press gets afresh.
_FRESH: Final = frozenset({"csrfmiddlewaretoken", "event", "key", "seq", "shoe", "hand", "sheet", "down", "confirmed"})


@dataclass
class Ask:
    """A question. `at`: the field it is about, empty where it stands by itself; `sent`: what a second press sends."""

    event: str
    text: str
    button: str
    at: str = ""
    citations: list[Any] = field(default_factory=list)
    sent: dict[str, str] = field(default_factory=dict)


def ask(table: Table, form: EventForm, data: Mapping[str, str]) -> Ask | None:
    """What is to be asked before the valid form is recorded; None for nothing, and for what is recorded already."""
    if data.get("confirmed") or form.event not in BEGINS:
        return None
    asked = after_last(table, form, data) or over_limit(table, form, data)
    if asked is None or (data.get("key") and table.events.filter(key=data["key"].replace("\0", "")).exists()):
        return None
    asked.sent = {name: value for name, value in data.items() if name not in _FRESH and value}
    return asked


def after_last(table: Table, form: EventForm, data: Mapping[str, str]) -> Ask | None:
    """Whether the event would begin a hand after the shoe's last (SHOE-after)."""
    if form.event == "card" and data.get("to") != "P1" and not data.get("sheet"):
        return None
    number = read_digits(data.get("hand"))
    if number is None or not table.may_be_at_the_last:
        return None
    shoe = rows.select_one(Shoe, "WHERE table_id = %s AND status = %s ORDER BY number DESC LIMIT 1", [table.pk, "open"])
    last = shoe.fold["last_hand"] if shoe else None
    if shoe is None or last is None or number <= max(last, shoe.fold["hand"]):
        return None
    ruleset, language = get_ruleset(shoe.ruleset), get_language() or "en"
    rules = (ruleset.procedure.cut_card.rule, *ruleset.ruling_for("hand-after-last").rules)
    cited = [ruleset.cite(rule, language) for rule in dict.fromkeys(rules)]
    return Ask(
        form.event,
        _("Hand %(last)d was the last of this shoe: hand %(hand)d must not be dealt from it. Nothing was recorded.")
        % {"last": last, "hand": number},
        _("Hand %(hand)d was dealt all the same: record it") % {"hand": number},
        citations=[cite for cite in cited if cite],
    )


def over_limit(table: Table, form: EventForm, data: Mapping[str, str]) -> Ask | None:
    """Whether a stake is outside the table's limit for the bet."""
    keys = form.keys()
    if form.event != "bet" or not {"seat", "bet", "stake"} <= set(keys):
        return None
    limits = Limits.of(table)
    sofar = seat_total(table, data, keys["seat"], str(keys["bet"])) if limits else None
    told = limits.told(str(keys["bet"]), keys["stake"], sofar)
    return Ask(form.event, told, _("Record it all the same"), at="stake") if told else None

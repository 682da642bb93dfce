"""Who may put a typing mistake right, and where it takes two people; `docs/permissions.md` says it for the house.

While the hand is played whoever records at the table may put an entry right. Once it is over it takes a supervisor, and
**four eyes**: somebody other than who recorded the entry. What somebody recorded last of all at the table is a slip
which they may take back themselves (`SLIPS`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django.utils.translation import gettext as _

from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.permissions import May, may, need_of, refusal
from dealing.rules.events import Amended
from dealing.signals import entry_decided

#: What whoever recorded it may take back although the hand is over, while nothing at all came since.
SLIPS: Final = frozenset({"hand_closed", "cut_card", "paid"})
#: A press records a few events, and takes them back newest first.
_A_PRESS: Final = 20


def why_not(user: Any, table: Table, row: TableEvent, *, withdraws: bool) -> str:
    """Why the user may not amend this entry, for them to read; empty where they may.

    `withdraws`: by taking it back, and not by saying what it should have been.
    """
    trusted = may(user, May.AMEND)
    if not trusted and (not may(user, May.RECORD) or need_of(row.name) is not May.RECORD or hasattr(user, "device")):
        return refusal(May.AMEND, user)
    if is_over(table, row) and not (withdraws and is_slip(table, row, user.get_username())):
        if not trusted:
            return _("This hand is closed: only a supervisor or a manager may amend it.")
        if row.hand_number is not None and row.actor == user.get_username():
            return _(
                "You recorded this yourself, and its hand is over: another supervisor or manager has to put it right."
            )
    return "" if trusted else decision_on(table, row.shoe_number, [row.seq])


def is_over(table: Table, row: TableEvent) -> bool:
    """Whether the entry belongs to a hand that is over, or to a shoe that is closed or has hands.

    A hand, or a shoe, that was left open is over as well once the table is at a later one.
    """
    shoes = Shoe.objects.filter(table=table)
    if (
        not shoes.filter(number=row.shoe_number, status=Shoe.Status.OPEN).exists()
        or shoes.filter(number__gt=row.shoe_number).exists()
    ):
        return True
    hands = Hand.objects.filter(shoe__table=table, shoe__number=row.shoe_number)
    if row.hand_number is None:
        return hands.exists()
    return (
        not hands.filter(number=row.hand_number, status=Hand.Status.OPEN).exists()
        or hands.filter(number__gt=row.hand_number).exists()
    )


def is_slip(table: Table, row: TableEvent, actor: str) -> bool:
    """Whether it is one of the actor's own `SLIPS`, and the newest that counts at the table.

    What the actor recorded after it and has taken back already is in nobody's way: a press is undone newest first.
    """
    if row.name not in SLIPS or row.actor != actor:
        return False
    later = list(table.events.filter(seq__gt=row.seq).order_by("-seq")[: 2 * _A_PRESS])
    if len(later) == 2 * _A_PRESS or any(one.actor != actor for one in later):
        return False
    amendments = [event for event in (one.parse() for one in later) if isinstance(event, Amended)]
    withdrawn = {event.seq for event in amendments if event.entry is None}
    return row.seq not in withdrawn and all(one.name == Amended.name or one.seq in withdrawn for one in later)


def decision_on(table: Table, shoe: int, seqs: Iterable[int]) -> str:
    """Why entries are not typing: they carry out a decision, says an app above. Empty where none says so."""
    said = entry_decided.send(sender=Table, table=table, shoe=shoe, seqs=frozenset(seqs))
    return next((answer for _receiver, answer in said if answer), "")

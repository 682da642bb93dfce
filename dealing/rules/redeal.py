"""A hand that is dealt again: after INC-drop-seen a void hand is redealt from a new shoe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

#: Reasons for which a shoe is taken off before it is finished; its void last hand is dealt again from the next shoe.
TAKEN_OFF: Final = frozenset({"replaced", "faulty", "cancelled"})


def redealt(closed: str | None, hands: Sequence[tuple[int, str]]) -> int | None:
    """The hand of a shoe that the first hand of the next shoe deals again; None where there is none.

    ``closed``: why the shoe was closed (None: it is open). ``hands``: number and status of its hands, in any order.
    """
    if closed not in TAKEN_OFF or not hands:
        return None
    number, status = max(hands)
    return number if status == "voided" else None

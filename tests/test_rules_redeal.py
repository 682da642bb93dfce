"""Which hand the first hand of a new shoe deals again."""

import pytest

from dealing.rules.judge import HandAudit, ShoeFold, fold_all
from dealing.rules.redeal import redealt
from tests.rules_logs import TABLE, log

HAND = "open close P1:9h B1:4s P2:Kd B2:3c"


def redealt_in(text: str) -> int | None:
    """What the judge's own folds of a log say of its first shoe."""
    events, _marked = log(text, "commission")
    folds = fold_all(TABLE, events).folds
    shoe = next(fold for fold in folds if isinstance(fold, ShoeFold))
    audits = [audit for fold in folds for audit in [fold.audit()] if isinstance(audit, HandAudit)]
    return redealt(shoe.closed, [(audit.hand, audit.status) for audit in audits if audit.shoe == shoe.number])


@pytest.mark.parametrize(
    ("closed", "hands", "hand"),
    [
        ("replaced", [(1, "closed"), (2, "voided")], 2),
        ("faulty", [(2, "voided"), (1, "voided")], 2),
        ("cancelled", [(1, "voided")], 1),
        ("finished", [(1, "voided")], None),
        (None, [(1, "voided")], None),
        ("replaced", [(1, "voided"), (2, "closed")], None),
        ("replaced", [(1, "open")], None),
        ("replaced", [], None),
    ],
)
def test_only_the_void_last_hand_of_a_shoe_taken_off(
    closed: str | None, hands: list[tuple[int, str]], hand: int | None
) -> None:
    assert redealt(closed, hands) == hand


def test_it_follows_from_the_log() -> None:
    assert redealt_in(f"{HAND} end hand:2 {HAND} drop!opening:3c void:hand shoe-end:replaced") == 2

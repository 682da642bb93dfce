"""A spreadsheet is no witness of the burn; a log that somebody kept at the table is."""

from __future__ import annotations

import datetime as dt

import pytest

from dealing.rules.cards import Card
from dealing.rules.events import BettingOpened, BurnCard, CardsBurned, Event, HandClosed, ShoeOpened
from dealing.rules.judge import ShoeAudit, ShoeFold, fold_all

AT = dt.datetime(2025, 3, 1, 20, tzinfo=dt.UTC)


def opened(by: str | None) -> Event:
    return ShoeOpened(at=AT, table="B07", shoe=1, ruleset="commission", by=by)


HAND: list[Event] = [BettingOpened(at=AT, table="B07", shoe=1, hand=1), HandClosed(at=AT, table="B07", shoe=1, hand=1)]
BURN_CARD = BurnCard(at=AT, table="B07", shoe=1, card=Card.parse("5h"))
BURNED = CardsBurned(at=AT, table="B07", shoe=1, count=4)


def codes(*events: Event) -> list[str]:
    shoe = fold_all("B07", enumerate(events, 1)).audits[-1]
    assert isinstance(shoe, ShoeAudit)
    return [finding.code for finding in shoe.findings]


@pytest.mark.parametrize(
    ("by", "found"), [("sheet:cards:march.xlsx", []), ("NOK", ["burn-missing"]), (None, ["burn-missing"])]
)
def test_only_a_record_of_the_table_says_that_the_burn_was_left_out(by: str | None, found: list[str]) -> None:
    assert codes(opened(by), *HAND) == found


def test_a_burn_that_a_sheet_does_name_is_judged() -> None:
    assert codes(opened("sheet:cards:x"), BURN_CARD, *HAND) == ["burn-missing"]
    assert codes(opened("sheet:cards:x"), BURN_CARD, BURNED, *HAND) == ["burn-count-wrong"]


def test_it_is_kept_with_a_stored_shoe() -> None:
    for by in ("sheet:ranks:x", "NOK"):
        fold = next(f for f in fold_all("B07", [(1, opened(by))]).folds if isinstance(f, ShoeFold))
        again = ShoeFold.from_json(fold.to_json())
        again.begin_hand(2, 1)
        assert [finding.code for finding in again.audit().findings] == ([] if by != "NOK" else ["burn-missing"])

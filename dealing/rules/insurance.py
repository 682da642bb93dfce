"""Insurance: when it is due, for which side, at what odds (rulebook section 6; the odds are the ruleset's data)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from dealing.rules.tableau import Layout


class InsuranceDue(NamedTuple):
    """An insurance that is due: in ``window`` 1 or 2, on ``side`` player/banker, paying ``odds`` to 1.

    It pays when the other side wins and is returned on a tie; with ``tie_only`` it pays on a tie and loses otherwise.
    """

    window: int
    side: str
    odds: Decimal
    tie_only: bool


#: (window, Player's total, Banker's total) -> what is due. No entry: nothing is.
InsuranceTable = Mapping[tuple[int, int, int], InsuranceDue]


class OddsRow(NamedTuple):
    """One row of a published odds table: the insured side's totals against the other side's."""

    window: int
    side: str
    totals: tuple[int, ...]
    others: tuple[int, ...]
    odds: Decimal
    tie_only: bool


def tabulate(rows: Iterable[OddsRow]) -> InsuranceTable:
    """Make the look-up table of published rows.

    Raises ``ValueError`` when a row insures a side that is not ahead, or two rows speak of the same totals.
    """
    table: dict[tuple[int, int, int], InsuranceDue] = {}
    for row in rows:
        for total in row.totals:
            for other in row.others:
                if other >= total:
                    raise ValueError(f"{row.side} with {total} against {other} is not ahead")
                totals = (total, other) if row.side == "player" else (other, total)
                if (row.window, *totals) in table:
                    raise ValueError(f"two rows for window {row.window}, Player {totals[0]}, Banker {totals[1]}")
                table[row.window, *totals] = InsuranceDue(row.window, row.side, row.odds, row.tie_only)
    return table


def insurance_due(table: InsuranceTable, layout: Layout) -> InsuranceDue | None:
    """The insurance due with exactly these cards open, laid by the rules; None when none is.

    Window 1: four cards are open and a card is due. Window 2: the fifth is Player's third and a sixth is due.
    """
    if layout.due is None:
        return None
    if layout.drawn == 4:
        return table.get((1, layout.player, layout.banker))
    if layout.drawn == 5:  # a card is due after five only when the fifth was Player's
        return table.get((2, layout.player, layout.banker))
    return None

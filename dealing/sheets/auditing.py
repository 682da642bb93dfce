"""Judges the log made of a sheet and tells of each row what was found: the rules' findings by the judge that judges
every log, and the sheet's own faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dealing.rules.audit import Finding, HandAudit
from dealing.rules.events import CardDealt
from dealing.rules.judge import HandFold, ShoeFold, TableFold
from dealing.sheets.errors import LEFT_OUT, Fault
from dealing.sheets.making import Plan, Told, events, worth

#: Findings that a card left over in its cell leads to.
_TOO_MANY: Final = frozenset({"card-overdrawn", "fifth-card-misplaced", "sixth-card-misplaced"})


@dataclass(slots=True)
class RowAudit:
    """What was found in a row. `audit` is the judge's answer on its hand; None where the log has none."""

    told: Told
    audit: HandAudit | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def faults(self) -> list[Fault]:
        """What is wrong with the row beside the rules."""
        return self.told.faults

    @property
    def clean(self) -> bool:
        """Whether nothing is to be said of it."""
        return not self.findings and not self.faults


@dataclass(slots=True)
class SheetAudit:
    """What was found in a sheet, row by row in the order of the file."""

    rows: list[RowAudit]
    #: What the judge says of the shoes themselves, with the row it belongs to.
    events: int = 0

    @property
    def hands(self) -> int:
        """Rows that are a hand in the log."""
        return sum(row.audit is not None for row in self.rows)

    @property
    def unreadable(self) -> int:
        """Rows that are not in the log because a cell cannot be read."""
        return sum(any(fault.unreadable for fault in row.faults) for row in self.rows)

    @property
    def blank(self) -> int:
        """Rows without cards or a result: kept ready for hands that were not played."""
        return sum(row.told.blank for row in self.rows)

    @property
    def left_out(self) -> int:
        """Rows in which something stands that could be read, and that are not in the log."""
        return sum(row.audit is None for row in self.rows) - self.unreadable - self.blank

    @property
    def with_findings(self) -> int:
        """Rows in the log of which something is to be said."""
        return sum(row.audit is not None and not row.clean for row in self.rows)

    @property
    def codes(self) -> Counter[str]:
        """How often each finding and each fault came up."""
        out: Counter[str] = Counter()
        for row in self.rows:
            out.update(sorted({finding.code for finding in row.findings} | {fault.code for fault in row.faults}))
        return out

    @property
    def told(self) -> list[RowAudit]:
        """The rows of which something is to be said."""
        return [row for row in self.rows if not row.clean]


def audit(plan: Plan, shown: int = 10) -> SheetAudit:
    """Judge the log of a sheet. `audit` is kept of the first `shown` rows and of those with findings; the others keep
    that they are a hand.
    """
    rows = {told.row: RowAudit(told) for told in plan.rows}
    out = SheetAudit(list(rows.values()))
    kept = {told.row for told in [told for told in plan.rows if not told.blank][:shown]}
    fold: TableFold | None = None
    seqs: dict[int, Told] = {}
    cards: dict[int, CardDealt] = {}
    seq = 0

    def take(left: tuple[HandFold | ShoeFold, ...]) -> None:
        for one in left:
            judged = one.audit()
            if isinstance(judged, HandAudit):
                told = hands[judged.shoe, judged.hand]
                row = rows[told.row]
                row.audit = judged if judged.findings or told.row in kept else _PLAIN
                row.findings += judged.findings
                for finding in judged.findings:
                    _stale(row, finding, cards)
                if judged.result is None:
                    _totals(row)
            else:
                for finding in judged.findings:
                    rows[seqs[finding.seq[0]].row].findings.append(finding)
                seqs.clear()
                cards.clear()

    hands: dict[tuple[int, int], Told] = {}
    for event, told in events(plan):
        if fold is None or fold.table != event.table:
            if fold is not None:
                take(_rest(fold))
            fold, seq = TableFold(event.table), 0
            hands.clear()
        seq += 1
        out.events += 1
        seqs[seq] = told
        if event.hand is not None:
            hands[event.shoe, event.hand] = told
        if isinstance(event, CardDealt) and event.to in ("P3", "B3"):
            cards[seq] = event
        take(fold.step(seq, event))
    if fold is not None:
        take(_rest(fold))
    return out


#: Of a hand without findings that is not shown nothing more is kept.
_PLAIN: Final[Any] = object()


def _rest(fold: TableFold) -> tuple[HandFold | ShoeFold, ...]:
    """What the end of a table's log leaves: the hand and the shoe that are not closed."""
    shoe = fold.shoe if fold.shoe is not None and fold.shoe.closed is None else None
    return tuple(one for one in (fold.hand, shoe) if one is not None)


def _totals(row: RowAudit) -> None:
    """The judge asks nothing of the totals of a hand in which a card is missing: the sheet is asked whether they are
    those of the cards that are there.
    """
    told = row.told
    for letter, name, said in (("P", "player_total", told.player), ("B", "banker_total", told.banker)):
        cards = [card for place, card in told.drawn if place[0] == letter]
        made = sum(worth(card) for card in cards) % 10
        if said is not None and len(cards) >= 2 and said != made:
            fault = Fault("total-differs", name, {"said": said, "made": made})
            if fault not in told.faults:
                told.faults.append(fault)


def _stale(row: RowAudit, finding: Finding, cards: dict[int, CardDealt]) -> None:
    """A third card too many that stands in the row before just so: perhaps it was left over."""
    if finding.code not in _TOO_MANY:
        return
    card = next((cards[seq] for seq in finding.seq if seq in cards), None)
    if card is not None and card.to in row.told.repeats:
        details = {"card": row.told.third(card.to), "other": row.told.row_before}
        row.told.faults.append(Fault("stale-third", card.to, details))


# What a page keeps of it between two steps, as JSON.


def as_json(plan: Plan, found: SheetAudit, shown: int = 10, limit: int = 500) -> dict[str, Any]:
    """The first rows, those with something to say (at most `limit`), and the figures. No words: codes."""
    return {
        "rows": len(found.rows),
        "hands": found.hands,
        "events": found.events,
        "unreadable": found.unreadable,
        "left_out": found.left_out,
        "blank": found.blank,
        "with_findings": found.with_findings,
        "clean": sum(row.clean and not row.told.blank for row in found.rows),
        "shoes": len({(told.table, told.shoe) for told in plan.rows if told.kept}),
        "tables": plan.tables,
        "codes": found.codes.most_common(),
        "first": [_row(row) for row in [row for row in found.rows if not row.told.blank][:shown]],
        "told": [_row(row) for row in found.told[:limit]],
        "more": max(0, len(found.told) - limit),
    }


def _row(row: RowAudit) -> dict[str, Any]:
    told = row.told
    audit = row.audit.as_dict() if isinstance(row.audit, HandAudit) else None
    return {
        "row": told.row,
        "table": told.table,
        "shoe": told.shoe,
        "hand": told.hand,
        "at": told.at.isoformat() if told.at else None,
        "dealer": told.dealer,
        "called": {"winner": told.winner, "player": told.player, "banker": told.banker},
        "cards": told.drawn,
        "audit": audit,
        "findings": [finding.as_dict() for finding in row.findings],
        "faults": [[fault.code, fault.field, dict(fault.params)] for fault in row.faults],
        "left_out": any(fault.code in LEFT_OUT for fault in row.faults),
        "blank": told.blank,
        "unreadable": any(fault.unreadable for fault in row.faults),
    }


def faults_of(row: dict[str, Any]) -> Iterator[Fault]:
    """The faults of a row as `as_json` keeps them."""
    for code, name, params in row["faults"]:
        yield Fault(code, name, params)

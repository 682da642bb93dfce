"""Shoes and hands as rows: how they are made from the judge's folds, and made again from the log.

A row's columns come from the fold alone, so that an event recorded live, an import and a rebuild leave the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Model

from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.rules.events import Event, EventError, HandClosed, ShoeClosed, ShoeOpened, parse_line
from dealing.rules.judge import LATE, EventRefused, HandAudit, HandFold, ShoeFold, TableFold, effective

Numbered = tuple[int, Event]
Fields = dict[str, Any]


def hand_fields(fold: HandFold, audit: HandAudit | None = None) -> Fields:
    """The columns of a hand, by name; `audit` is what the fold answers now, where the caller has asked it anyway."""
    audit = audit or fold.audit()
    result = audit.result
    (first_seq, first), (last_seq, _) = fold.trail[0], fold.trail[-1]
    closed = next((event.at for _, event in reversed(fold.trail) if type(event) is HandClosed), None)
    return {
        "status": audit.status,
        "context": fold.context.to_json(),
        "audit": audit.as_dict(),
        "winner": result.winner if result else "",
        "player": result.player if result else None,
        "banker": result.banker if result else None,
        "first_seq": first_seq,
        "last_seq": last_seq,
        "started_at": first.at,
        "closed_at": closed,
        "has_findings": bool(audit.findings),
    }


def shoe_fields(fold: ShoeFold) -> Fields:
    """The columns of a shoe that its fold knows; first and last event and the times are the caller's."""
    audit = fold.audit()
    return {
        "ruleset": fold.ruleset.name,
        "decks": fold.decks,
        "status": Shoe.Status.OPEN if fold.closed is None else Shoe.Status.CLOSED,
        "closed_reason": fold.closed or "",
        "hands": audit.hands,
        "cards_seen": audit.cards_seen,
        "fold": fold.to_json(),
        "audit": audit.as_dict(),
        "has_findings": bool(audit.findings),
    }


@dataclass(slots=True)
class Refolded:
    """A shoe folded from its events; `fields` are the columns of its row. No shoe: the log has none any more."""

    shoe: ShoeFold | None = None
    hands: list[HandFold] = field(default_factory=list)
    fields: Fields = field(default_factory=dict)


def refold_shoe(code: str, rows: Iterable[Numbered], following: int | None = None) -> Refolded:
    """Fold one shoe from its raw events, amendments and late decisions among them.

    `following`: position of the event that opened the next shoe. Raises `EventRefused` with `at_seq` at the position of
    the event that cannot have happened, or None where an amendment amends nothing.
    """
    log = effective(rows)
    late = log.late
    if following is not None:  # also late: what came after the next shoe was opened, with this one not closed
        for seq, event in log.events:
            if seq > following:
                late.setdefault((event.shoe, event.hand or 0), []).append((seq, event))
    table, out, times = TableFold(code), Refolded(), Fields(closed_at=None)
    last = 0
    for seq, event in log.events:
        if following is not None and seq > following:
            break
        with _at(seq):
            table.step(seq, event)
        last = seq
        if type(event) is ShoeOpened:
            out.shoe = table.shoe
            times.update(first_seq=seq, opened_at=event.at)
        elif type(event) is ShoeClosed:
            times["closed_at"] = event.at
        if table.hand is not None and (not out.hands or out.hands[-1] is not table.hand):
            out.hands.append(table.hand)
    if following is not None and table.hand is not None:
        table.hand.leave(following)
    for (shoe, number), events in late.items():
        fold = next((hand for hand in out.hands if hand.number == number), None)
        for seq, event in sorted(events, key=lambda numbered: numbered[0]):
            with _at(seq):
                if type(event) not in LATE:
                    raise EventRefused("shoe", "shoe-closed", shoe=shoe)
                if fold is None:
                    raise EventRefused("hand", "no-hand", shoe=shoe, hand=number)
                fold.step(seq, event)
            last = max(last, seq)
    if out.shoe is not None:
        out.fields = {**shoe_fields(out.shoe), **times, "last_seq": last}
    return out


@contextmanager
def _at(seq: int) -> Iterator[None]:
    """Note on a refusal which event was refused."""
    try:
        yield
    except EventError as error:
        error.at_seq = seq
        raise


@dataclass(slots=True)
class Saved:
    """What of a shoe's rows was made or changed. `gone`: numbers of hands that the log knows no longer."""

    shoe: Shoe | None
    shoe_changed: bool = False
    hands: list[Hand] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


def save_shoe(table: Table, number: int, refolded: Refolded) -> Saved:
    """Make the rows of shoe `number` what its fold says, keeping the primary keys of those that stay."""
    row = Shoe.objects.filter(table=table, number=number).first()
    stored = {hand.number: hand for hand in row.hand_set.all()} if row is not None else {}
    if row is None and refolded.shoe is None:
        return Saved(None)
    if row is None:
        row = Shoe(table=table, number=number)
    row.table = table
    saved = Saved(row, shoe_changed=bool(assign(row, refolded.fields)) or row.pk is None)
    if saved.shoe_changed and refolded.shoe is not None:
        row.save()
    new = []
    for fold in refolded.hands:
        hand = stored.pop(fold.number, None)
        if hand is None:
            new.append(Hand(shoe=row, number=fold.number, **hand_fields(fold)))
            saved.hands.append(new[-1])
        elif assign(hand, hand_fields(fold)):
            hand.shoe = row
            hand.save()
            saved.hands.append(hand)
    Hand.objects.bulk_create(new)
    saved.gone = sorted(stored)
    for hand in stored.values():
        hand.delete()
    if refolded.shoe is None:
        row.delete()
    return saved


def assign(row: Model, fields: Fields) -> set[str]:
    """Set the columns; the names of those that were different."""
    changed = {name for name, value in fields.items() if getattr(row, name) != value}
    for name in changed:
        setattr(row, name, fields[name])
    return changed


# --- the whole table -------------------------------------------------------------------------------------------------


def shoe_rows(table: Table, number: int) -> list[Numbered]:
    """The raw events of a shoe, parsed, in order."""
    rows = TableEvent.objects.filter(table=table, shoe_number=number).order_by("seq").values_list("seq", "payload")
    return [(seq, parse_line(payload)) for seq, payload in rows]


def _refolded(table: Table) -> Iterator[tuple[int, Refolded]]:
    """Every shoe number in the table's log with its fold, in order; a shoe at a time is held in memory."""
    numbers = TableEvent.objects.filter(table=table).order_by("shoe_number").values_list("shoe_number", flat=True)
    waiting: tuple[int, list[Numbered]] | None = None
    for number in list(numbers.distinct()):
        rows = shoe_rows(table, number)
        opened = next((seq for seq, event in effective(rows).events if type(event) is ShoeOpened), None)
        if opened is None:  # withdrawn: the table never left the shoe before it
            yield number, refold_shoe(table.code, rows)
            continue
        if waiting is not None:
            yield waiting[0], refold_shoe(table.code, waiting[1], opened)
        waiting = (number, rows)
    if waiting is not None:
        yield waiting[0], refold_shoe(table.code, waiting[1])


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild came to."""

    shoes: int = 0
    hands: int = 0
    changed: int = 0
    deleted: int = 0


def rebuild_table(code: str) -> Rebuilt:
    """Make the table's shoes and hands again from its log, in one transaction that holds the table's lock.

    Raises `EventRefused` where the log itself cannot have happened, and changes nothing then.
    """
    out = Rebuilt()
    with transaction.atomic():
        table = Table.objects.select_for_update().get(code=code)
        kept = []
        for number, refolded in _refolded(table):
            saved = save_shoe(table, number, refolded)
            if refolded.shoe is not None:
                kept.append(number)
            out.shoes += refolded.shoe is not None
            out.hands += len(refolded.hands)
            out.changed += saved.shoe_changed + len(saved.hands)
            out.deleted += len(saved.gone)
        vanished = Shoe.objects.filter(table=table).exclude(number__in=kept)
        out.deleted += Hand.objects.filter(shoe__in=vanished).delete()[0] + vanished.delete()[0]
    return out


def differences(table: Table) -> Iterator[str]:
    """How the stored shoes and hands differ from what the log says, a line each."""
    shoes = {shoe.number: shoe for shoe in Shoe.objects.filter(table=table)}
    for number, refolded in _refolded(table):
        shoe = shoes.pop(number, None)
        where = f"{table.code} shoe {number}"
        if refolded.shoe is None:
            if shoe is not None:
                yield f"{where}: is stored and not in the log"
            continue
        if shoe is None:
            yield f"{where}: is in the log and not stored"
            continue
        yield from _compare(where, shoe, refolded.fields)
        hands = {hand.number: hand for hand in shoe.hand_set.all()}
        for fold in refolded.hands:
            hand = hands.pop(fold.number, None)
            if hand is None:
                yield f"{where} hand {fold.number}: is in the log and not stored"
            else:
                yield from _compare(f"{where} hand {fold.number}", hand, hand_fields(fold))
        for extra in hands:
            yield f"{where} hand {extra}: is stored and not in the log"
    for number in shoes:
        yield f"{table.code} shoe {number}: is stored and not in the log"


def _compare(where: str, row: Model, fields: Fields) -> Iterator[str]:
    wrong = [name for name, value in fields.items() if getattr(row, name) != value]
    if wrong:
        yield f"{where}: {', '.join(wrong)} differ from what the log says"

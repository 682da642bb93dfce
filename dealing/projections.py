"""Shoes and hands as rows: how they are made from the judge's folds, and made again from the log.

A row's columns come from the fold alone, so that an event recorded live, an import and a rebuild leave the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from django.db import connection, transaction
from django.db.models import Model
from django.db.models.base import ModelState

from dealing import rows
from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.rules.events import Event, EventError, HandClosed, ShoeClosed, ShoeOpened, parse_line
from dealing.rules.judge import LATE, EventRefused, HandAudit, HandFold, ShoeFold, TableFold, effective
from dealing.signals import table_rebuilt

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


def refold_shoe(code: str, events: Iterable[Numbered], following: int | None = None) -> Refolded:
    """Fold one shoe from its raw events, amendments and late decisions among them.

    `following`: position of the event that opened the next shoe. Raises `EventRefused` with `at_seq` at the position of
    the event that cannot have happened, or None where an amendment amends nothing.
    """
    log = effective(events)
    late = log.late
    if following is not None:  # also late: what came after the next shoe was opened, with this one not closed
        for seq, event in log.events:
            if seq > following:
                late.setdefault((event.shoe, event.hand or 0), []).append((seq, event))
    table, out, times = TableFold(code), Refolded(), Fields(closed_at=None)
    taken = log.events
    if following is not None:
        taken = [one for one in taken if one[0] <= following]
    left = list(table.steps(taken))
    if table.hand is not None:
        left.append(table.hand)
    out.hands = [fold for fold in left if isinstance(fold, HandFold)]
    for seq, event in taken:
        if type(event) is ShoeOpened:
            out.shoe = table.shoe
            times.update(first_seq=seq, opened_at=event.at)
        elif type(event) is ShoeClosed:
            times["closed_at"] = event.at
    last = taken[-1][0] if taken else 0
    if following is not None and table.hand is not None:
        table.hand.leave(following)
    for (shoe, number), decided in late.items():
        fold = next((hand for hand in out.hands if hand.number == number), None)
        for seq, event in sorted(decided, key=lambda numbered: numbered[0]):
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
    """What of a shoe's rows was made or changed. `new`: there was none of it before. `gone`: numbers of hands that the
    log knows no longer.
    """

    shoe: Shoe | None
    shoe_changed: bool = False
    new: bool = False
    hands: list[Hand] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


def save_shoe(table: Table, number: int, refolded: Refolded) -> Saved:
    """Make the rows of shoe `number` what its fold says, keeping the primary keys of those that stay."""
    row = rows.select_one(Shoe, "WHERE table_id = %s AND number = %s", [table.pk, number])
    if row is None and refolded.shoe is None:
        return Saved(None)
    stored = {hand.number: hand for hand in row.hand_set.all()} if row is not None else {}
    new_shoe = row is None
    if row is None:
        row = Shoe(table=table, number=number)
    row.table = table
    saved = Saved(row, shoe_changed=bool(assign(row, refolded.fields)) or new_shoe, new=new_shoe)
    if saved.shoe_changed and refolded.shoe is not None:
        rows.save(row)
    new = []
    for fold in refolded.hands:
        hand = stored.pop(fold.number, None)
        if hand is None:
            hand = _new_hand(row, fold)
            new.append(hand)
            saved.hands.append(hand)
        elif assign(hand, hand_fields(fold)):
            hand.shoe = row
            rows.save(hand)
            saved.hands.append(hand)
    _insert_hands(row, new)
    saved.gone = sorted(stored)
    for hand in stored.values():
        hand.delete()
    if refolded.shoe is None:
        row.delete()
    return saved


_HAND_COLUMNS: Final = tuple(
    (str(field.column), field.attname) for field in Hand._meta.local_concrete_fields if not field.primary_key
)
_JSON: Final = frozenset({"context", "audit"})
_TIMES: Final = frozenset({"started_at", "closed_at"})


def _new_hand(shoe: Shoe, fold: HandFold) -> Hand:
    """The row of a hand, not inserted yet."""
    # As `Hand.from_db` would, for that is where it is going; Django's own loop takes several times as long.
    hand = Hand.__new__(Hand)
    state = hand._state = ModelState()
    state.adding, state.db = False, connection.alias
    state.fields_cache["shoe"] = shoe
    hand.__dict__.update(hand_fields(fold), id=None, shoe_id=shoe.pk, number=fold.number)
    return hand


def _insert_hands(shoe: Shoe, hands: Sequence[Hand]) -> None:
    """Insert the new hands of a shoe, and give them their primary keys."""
    if not hands:
        return
    columns = [column for column, _ in _HAND_COLUMNS]
    if connection.vendor == "postgresql":
        rows.copy_lines(Hand, columns, map(_copied, hands))
    else:
        rows.insert_values(Hand, columns, [[_prepared(hand, name) for _, name in _HAND_COLUMNS] for hand in hands])
    keys = rows.keys_by(Hand, "number", "WHERE shoe_id = %s", [shoe.pk])
    for hand in hands:
        hand.pk = keys[hand.number]


def _prepared(hand: Hand, name: str) -> Any:
    value = getattr(hand, name)
    if name in _JSON:
        return msgspec.json.encode(value).decode()
    return rows.prepared_time(value) if name in _TIMES and value is not None else value


def _copied(hand: Hand) -> str:
    """The row of a hand as a line for `rows.copy_lines`."""
    values = hand.__dict__
    return "\t".join([_AS_TEXT[name](values[name]) for _, name in _HAND_COLUMNS]) + "\n"


def _json_text(value: Any) -> str:
    return rows.copy_text(msgspec.json.encode(value).decode())


def _plain_text(value: Any) -> str:
    return rows.copy_text(None if value is None else str(value))


def _number_text(value: int | None) -> str:
    return rows.copy_text(None) if value is None else str(value)


_AS_TEXT: Final[dict[str, Callable[[Any], str]]] = {
    name: _json_text if name in _JSON else _plain_text if name in ("status", "winner") else _number_text
    for _, name in _HAND_COLUMNS
}


def assign(row: Model, fields: Fields) -> set[str]:
    """Set the columns; the names of those that were different."""
    changed = {name for name, value in fields.items() if getattr(row, name) != value}
    for name in changed:
        setattr(row, name, fields[name])
    return changed


# --- the whole table -------------------------------------------------------------------------------------------------


def shoe_rows(table: Table, number: int) -> list[Numbered]:
    """The raw events of a shoe, parsed, in order."""
    lines = TableEvent.objects.filter(table=table, shoe_number=number).order_by("seq").values_list("seq", "payload")
    return [(seq, parse_line(payload)) for seq, payload in lines]


def refolded_shoes(table: Table) -> Iterator[tuple[int, Refolded]]:
    """Every shoe number in the table's log with its fold, in order; a shoe at a time is held in memory."""
    numbers = TableEvent.objects.filter(table=table).order_by("shoe_number").values_list("shoe_number", flat=True)
    waiting: tuple[int, list[Numbered]] | None = None
    for number in list(numbers.distinct()):
        events = shoe_rows(table, number)
        opened = next((seq for seq, event in effective(events).events if type(event) is ShoeOpened), None)
        if opened is None:  # withdrawn: the table never left the shoe before it
            yield number, refold_shoe(table.code, events)
            continue
        if waiting is not None:
            yield waiting[0], refold_shoe(table.code, waiting[1], opened)
        waiting = (number, events)
    if waiting is not None:
        yield waiting[0], refold_shoe(table.code, waiting[1])


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild came to."""

    shoes: int = 0
    hands: int = 0
    changed: int = 0
    deleted: int = 0
    #: What the apps above put right with it, a line each.
    beside: list[str] = field(default_factory=list)


def rebuild_table(code: str) -> Rebuilt:
    """Make the table's shoes and hands again from its log, in one transaction that holds the table's lock.

    Raises `EventRefused` where the log itself cannot have happened, and changes nothing then.
    """
    out = Rebuilt()
    with transaction.atomic():
        table = Table.objects.select_for_update().get(code=code)
        kept = []
        for number, refolded in refolded_shoes(table):
            saved = save_shoe(table, number, refolded)
            if refolded.shoe is not None:
                kept.append(number)
            out.shoes += refolded.shoe is not None
            out.hands += len(refolded.hands)
            out.changed += saved.shoe_changed + len(saved.hands)
            out.deleted += len(saved.gone)
        vanished = Shoe.objects.filter(table=table).exclude(number__in=kept)
        out.deleted += Hand.objects.filter(shoe__in=vanished).delete()[0] + vanished.delete()[0]
        # So whoever waits for the lock sees that what they have seen of the table is old (`dealing.log.lock_table`).
        Table.objects.filter(pk=table.pk).update(last_seq=table.last_seq)
        out.beside = [said for _, said in table_rebuilt.send(Table, table=table, actor="rebuild") if said]
    return out


def differences(table: Table) -> Iterator[str]:
    """How the stored shoes and hands differ from what the log says, a line each."""
    shoes = {shoe.number: shoe for shoe in Shoe.objects.filter(table=table)}
    for number, refolded in refolded_shoes(table):
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

"""The one door into the log: `record()` appends an event, or refuses it and changes nothing.

The judge's fold of a table is taken up from the projections (`Shoe.fold`, `Hand.context` and that one hand's events):
recording costs the same at the first hand and at the ten-thousandth. Everything happens in one transaction that holds
the lock on the table's row, so two writers at one table take turns.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, cast

import msgspec
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.utils import timezone

from dealing import rows
from dealing.chain import row_hash
from dealing.kept import KEEPING, Kept, Versions, condition, copied, head_of
from dealing.models import Hand, Shoe, Table, TableEvent, Venue
from dealing.projections import (
    Fields,
    Numbered,
    Refolded,
    assign,
    hand_fields,
    refold_shoe,
    save_shoe,
    shoe_fields,
    shoe_rows,
)
from dealing.rules.events import (
    Amended,
    Event,
    EventError,
    ShoeClosed,
    format_event,
    format_time,
    parse_event,
    parse_line,
)
from dealing.rules.judge import (
    LATE,
    EventRefused,
    HandContext,
    HandFold,
    ShoeFold,
    TableFold,
    check_amendment,
    effective,
)
from dealing.sealing import not_before, seal_of
from dealing.signals import event_matters, event_recorded, event_written

#: What `LogError` says.
LOG_MESSAGES: Final[dict[str, str]] = {
    "no-such-table": "there is no table {value}",
    "other-table": "is {value}, and the events before it are of table {table}",
    "key-needed": "is missing; each event of a device has a key of its own, by which it can be sent again",
    "key-stored": "{value} is the key of another event, at position {seq}",
    "ago-and-at": "say either how long ago it was, or at what time",
    "not-this-table": "is {value}, and this is the address of table {table}",
    "by-another": "only a device may say that somebody else has recorded this",
    "at-earlier": "is before the table's last event, which was at {last}",
    "at-future": "is in the future; the clock here says {now}",
    "table-moved-on": "the table's log is at position {seq} by now, not at {expected}",
}


#: How far a recorder's clock may be ahead of ours.
CLOCKS_DIFFER: Final = dt.timedelta(minutes=5)

#: The longest that an entry is believed to have waited on a device before it reached us.
LONGEST_WAIT: Final = dt.timedelta(hours=12)
AT_ONCE: Final = dt.timedelta()

#: Asked of an event that is not in the log yet, with its table locked and all before it saved; raises what refuses it.
Check = Callable[[Table, Event], None]


class LogError(EventError):
    """An event that the log, and not the judge, refuses."""

    messages = LOG_MESSAGES


class Conflict(LogError):
    """Somebody else wrote first: the head of the table's log is not where the writer believed it to be."""

    def __init__(self, seq: int, expected: int) -> None:
        super().__init__("seq", "table-moved-on", seq=seq, expected=expected)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of an event. `duplicate`: it was in the log already, and nothing was changed.

    `trail`: the rows of the shoe's newest hand and what stands beside its hands since it began, in order, where the
    writer has read them anyway; see `Trailed`.
    """

    row: TableEvent
    shoe: Shoe
    hand: Hand | None
    duplicate: bool = False
    trail: list[Trailed] | None = None


class Trailed(NamedTuple):
    """A row of the log with its event, parsed once."""

    seq: int
    event: Event
    actor: str


def record(
    event: Event | Mapping[str, object],
    *,
    actor: str,
    expected_seq: int | None = None,
    ago: dt.timedelta = AT_ONCE,
) -> Recorded:
    """Append one event to its table's log and bring the projections up to date.

    `event` is an `Event` or the object of a log line; an object without `at` is stamped with the table's own clock
    (`next_at`) once the table is locked, and is then compared without `at` where its key is known already.
    `actor` is who recorded it: a user name or a device's code. `expected_seq` is the position of the table's last event
    as far as the writer knows. `ago`: how long the entry waited on a device; it is stamped with that time, see
    `next_at`.

    Raises `EventError` (a bad event), `EventRefused` (it cannot have happened) or `Conflict`; nothing is changed then.
    """
    return record_many([event], actor=actor, expected_seq=expected_seq, ago=ago)[0]


def record_many(
    events: Iterable[Event | Mapping[str, object]],
    *,
    actor: str,
    expected_seq: int | None = None,
    ago: dt.timedelta = AT_ONCE,
    check: Check | None = None,
) -> list[Recorded]:
    """Append several events of one table: all of them, or none. Otherwise as `record`; one signal is sent for all.

    `check` says whether the actor may: `dealing.permissions.check_event` for whoever sends a request.
    """
    given = [_parsed(event) for event in events]
    if not given:
        return []
    with transaction.atomic():
        writer = Writer.locking(given[0][0].table, actor, check, given[0][0].key)
        appended = []
        for event, stamped in given:
            appended.append(writer.append(event, expected_seq, stamp=stamped, ago=ago))
            if not appended[-1][1]:
                expected_seq = None
        writer.save()
        return [
            Recorded(
                row,
                writer.shoe(row.shoe_number),
                writer.hand(row.shoe_number, row.hand_number),
                duplicate,
                writer.trail(row.shoe_number),
            )
            for row, duplicate in appended
        ]


def _parsed(given: Event | Mapping[str, object]) -> tuple[Event, bool]:
    """The event, and whether its time is still to be set."""
    if isinstance(given, Event):
        return given, False
    return parse_event({"at": "2000-01-01T00:00:00.000+00:00", **given}), "at" not in given


def find_table(code: str) -> Table | None:
    """The table with its venue, or None."""
    found = rows.select_pair_and(Table, Venue, _BESIDE[connection.vendor], _WITH_VENUE, [code])
    if found is None:
        return None
    table, table.venue = found[0], cast(Venue, found[1])
    table.may_have_limits, table.may_be_at_the_last = bool(found[2] & 1), bool(found[2] & 2)
    return table


class Seen(NamedTuple):
    """What was seen with a table's lock: whether an event of it has the key, and the versions of its rows."""

    key: str | None
    known: bool
    venue: str
    versions: Versions


def lock_table(code: str, key: str | None) -> tuple[Table, Seen | None] | None:
    """The table with its venue, where nobody else records until the transaction ends; None where there is none.

    What PostgreSQL answers of other rows is as it was before the wait for the lock. Somebody who recorded meanwhile has
    changed the table's row, which is told by its version: nothing is `Seen` then.
    """
    if connection.vendor != "postgresql":
        locked = rows.select_pair(Table, Venue, _WITH_VENUE, [code], lock=True)
        if locked is None:
            return None
        table, table.venue = locked[0], cast(Venue, locked[1])
        return table, None
    found = rows.select_pair_and(Table, Venue, _SEEN, _WITH_VENUE, [key, code], lock=True)
    if found is None:
        return None
    table, table.venue = found[0], cast(Venue, found[1])
    known, now, then, venue, *newest = found[2]
    return table, Seen(key, known is not None, venue, Versions(now, *newest)) if now == then else None


def next_at(table: Table, ago: dt.timedelta = AT_ONCE) -> dt.datetime:
    """Now less `ago`, in the venue's time zone, to the millisecond, and never before the table's last event.

    `ago` counts for LONGEST_WAIT at most, and for nothing where it is negative.
    """
    now = timezone.now() - min(max(ago, AT_ONCE), LONGEST_WAIT)
    at = now.replace(microsecond=now.microsecond // 1000 * 1000)
    if table.last_at is not None and table.last_at > at:
        at = table.last_at
    return at.astimezone(table.venue.zone)


def check_not_ahead(at: dt.datetime, now: dt.datetime) -> None:
    """Raise `LogError` where `at` has yet to come, by more than clocks differ: after it the table would stand still."""
    if at - now > CLOCKS_DIFFER:
        raise LogError("at", "at-future", now=format_time(now.astimezone(at.tzinfo)))


def hand_events(hand: Hand) -> list[Numbered]:
    """The events of one hand as the audit reads them: amended, late decisions last."""
    shoe = hand.shoe
    return _hand_events(shoe.table_id, shoe.number, hand.number)


def hand_fold(hand: Hand) -> HandFold:
    """The judge's fold of one hand, from its own events."""
    return HandFold.of(HandContext.from_json(hand.context), hand_events(hand))


def _hand_events(table_id: int, shoe: int, hand: int) -> list[Numbered]:
    with connection.cursor() as cursor:
        cursor.execute(_HAND_EVENTS, [table_id, shoe, hand])
        return effective((seq, parse_line(payload)) for seq, payload in cursor.fetchall()).events


def read_trail(table: Table, shoe: int, hand: Hand | None) -> list[Trailed]:
    """The rows of a hand and, of its shoe beside the hands, what came since it began; all of that, without hand."""
    with connection.cursor() as cursor:
        cursor.execute(_TRAIL, [table.pk, shoe, *((hand.number, hand.first_seq) if hand else (0, 0))])
        return [Trailed(seq, parse_line(payload), actor) for seq, payload, actor in cursor.fetchall()]


#: 1 where the table has limits, and 2 where its newest shoe knows its last hand: asked for with the table.
_LIMITS_AND_LAST: Final = (
    "((CASE WHEN EXISTS (SELECT 1 FROM dealing_betlimit WHERE table_id = dealing_table.id) THEN 1 ELSE 0 END) + "
    "(CASE WHEN (SELECT LAST_HAND FROM dealing_shoe WHERE table_id = dealing_table.id "
    "ORDER BY number DESC LIMIT 1) IS NULL THEN 0 ELSE 2 END))"
)
_BESIDE: Final = {
    "postgresql": _LIMITS_AND_LAST.replace("LAST_HAND", "fold->>'last_hand'"),
    "sqlite": _LIMITS_AND_LAST.replace("LAST_HAND", "json_extract(fold, '$.last_hand')"),
}
_WITH_VENUE: Final = "JOIN dealing_venue ON dealing_venue.id = dealing_table.venue_id WHERE dealing_table.code = %s"
#: The fields of a table that each event changes.
_HEAD: Final = ("last_seq", "last_hash", "last_at", "last_recorded_at", "last_seal")
#: Of an event whose key is not in the table's log.
_NEW: Final = "NOT EXISTS (SELECT 1 FROM dealing_tableevent WHERE table_id = dealing_table.id AND key = ANY(%s))"
_HAND_EVENTS: Final = (
    "SELECT seq, payload FROM dealing_tableevent "
    "WHERE table_id = %s AND shoe_number = %s AND hand_number = %s ORDER BY seq"
)
_TRAIL: Final = (
    "SELECT seq, payload, actor FROM dealing_tableevent WHERE table_id = %s AND shoe_number = %s "
    "AND (hand_number = %s OR hand_number IS NULL AND seq > %s) ORDER BY seq"
)
#: The newest shoe of a table with its newest hand.
_NEWEST: Final = (
    "LEFT JOIN dealing_hand ON dealing_hand.id = "
    "(SELECT id FROM dealing_hand WHERE shoe_id = dealing_shoe.id ORDER BY number DESC LIMIT 1) "
    "WHERE dealing_shoe.table_id = %s ORDER BY dealing_shoe.number DESC LIMIT 1"
)
_KNOWN: Final = "(SELECT seq FROM dealing_tableevent WHERE table_id = %s AND key = %s)"
_VERSIONS: Final = f"{rows.version(Shoe)}, {rows.version(Hand)}"
#: With it, where there are any, the versions of these two rows.
_KNOWN_AND_VERSIONS: Final = {"postgresql": f"ARRAY[{_KNOWN}::text, {_VERSIONS}]", "sqlite": _KNOWN}
#: What `lock_table` sees beside the table: the position of the event with the key, the table's version as locked and as
#: it was when the statement began, and the versions of the venue and of the newest shoe and hand.
_SEEN: Final = (
    "(ARRAY[(SELECT seq::text FROM dealing_tableevent WHERE table_id = dealing_table.id AND key = %s), "  # noqa: S608
    f"{rows.version(Table)}, (SELECT {rows.version(Table).replace('dealing_table', 'old')} "
    f"FROM dealing_table AS old WHERE old.id = dealing_table.id), {rows.version(Venue)}] "
    f"|| COALESCE((SELECT ARRAY[{_VERSIONS}] FROM dealing_shoe {_NEWEST.replace('%s', 'dealing_table.id')}), "
    "ARRAY[NULL, NULL]::text[]))"
)


class NotAsKept(Exception):
    """Nothing was written: the table is not as it was kept, or what is to be recorded needs its lock."""


class Writer:
    """Appends to one table's log: `append`, and `save` once. After an exception it must be thrown away.

    `Writer.locking` takes the table's lock, inside a transaction, which must be rolled back after an exception.
    `Writer.as_kept` needs neither: it takes the table as this process has kept it, and writes, by one statement, only
    if all of that is still so when it is written. Where it is not, or more is to be done than to append to the newest
    hand, `append` or `save` raises `NotAsKept`.
    """

    @classmethod
    def locking(cls, code: str, actor: str, check: Check | None = None, key: str | None = None) -> Writer:
        """`key`: of the event that will be appended first, which is looked for at the same time."""
        locked = lock_table(code, key)
        if locked is None:
            raise LogError("table", "no-such-table", value=code)
        return cls(*locked, actor, check)

    @classmethod
    def as_kept(cls, code: str, actor: str, check: Check, only_if: rows.Statement) -> Writer:
        """`only_if`: what else has to hold of the row of `dealing_table`. Raises `NotAsKept`; in a transaction, too."""
        if connection.in_atomic_block or (kept := KEEPING.take(code)) is None:
            raise NotAsKept
        table = copied(kept.table)
        writer = cls(table, None, actor, check)
        writer._take_kept(kept, None)
        same, params = condition(kept)
        writer._only_if = f"{same} AND {only_if[0]}", [*params, *only_if[1]]
        writer._venue_version = kept.venue
        return writer

    def __init__(self, table: Table, seen: Seen | None, actor: str, check: Check | None) -> None:
        """See `locking` and `as_kept`."""
        self.table, self._seen = table, seen
        #: Without the lock: what must hold when it is written.
        self._only_if: rows.Statement | None = None
        self._venue_version = None if seen is None else seen.venue
        self.actor = actor
        self._check = check
        self._fold: TableFold | None = None
        self._rows: list[TableEvent] = []
        self._last: tuple[TableEvent, Event] | None = None
        #: A key that no event of the table has.
        self._free_key: str | None = None
        #: The shoe and what `Recorded.trail` says of it, as long as it is known.
        self._trail: tuple[int, list[Trailed]] | None = None
        #: Rows by number, and by shoe and hand number.
        self._shoes: dict[int, Shoe] = {}
        self._hands: dict[tuple[int, int], Hand] = {}
        #: The versions of shoes and hands as they are stored, where they are known, by model and primary key.
        self._versions: dict[tuple[type[Model], int], str | None] = {}
        if seen is not None:
            self._versions[Table, table.pk] = seen.versions.table
        #: Folds that are ahead of their rows.
        self._shoe_folds: dict[int, ShoeFold] = {}
        self._hand_folds: dict[tuple[int, int], HandFold] = {}
        self._dirty_shoes: set[int] = set()
        self._dirty_hands: set[tuple[int, int]] = set()
        #: For the receivers: what was saved, and the hands that an amendment took away.
        self._changed_shoes: set[int] = set()
        self._changed_hands: set[tuple[int, int]] = set()
        self._gone: set[tuple[int, int]] = set()
        self._same_findings = True
        #: The hands and (hand None) shoes that the last appended event said something of.
        self.touched: set[tuple[int, int | None]] = set()

    # -- reading

    @property
    def fold(self) -> TableFold:
        """The fold of the table, taken up from the newest shoe's row and the events of its newest hand."""
        return self._fold or self._take_up(None)

    def _take_up(self, key: str | None) -> TableFold:
        """Read what the fold is taken up from, and at the same time whether an event of the table has this key."""
        kept, seen = KEEPING.take(self.table.code), self._seen
        if kept is not None and seen is not None and key in (None, seen.key) and _still(kept, self.table, seen):
            return self._take_kept(kept, None if seen.known else key)
        asked = _KNOWN_AND_VERSIONS[connection.vendor]
        found = rows.select_pair_and(Shoe, Hand, asked, _NEWEST, [self.table.pk, key, self.table.pk])
        shoe = hand = None
        if found is not None:
            shoe_row, hand_row, known = found
            if connection.vendor == "postgresql":
                known, self._versions[Shoe, shoe_row.pk], hand_version = known
                if hand_row is not None:
                    self._versions[Hand, hand_row.pk] = hand_version
            if known is None:
                self._free_key = key
            self._keep_shoe(shoe_row)
            shoe = ShoeFold.from_json(shoe_row.fold)
            if hand_row is not None:
                hand_row.shoe = shoe_row
                self._hands[shoe.number, hand_row.number] = hand_row
            if shoe.closed is None:
                if shoe.hand and (hand_row is None or hand_row.number != shoe.hand):
                    raise Hand.DoesNotExist(f"{shoe_row} names hand {shoe.hand}, which has no row: run rebuild")
                trail = read_trail(self.table, shoe.number, hand_row)
                self._trail = (shoe.number, trail)
                if shoe.hand and hand_row is not None:
                    events = effective((row.seq, row.event) for row in trail if row.event.hand is not None).events
                    hand = HandFold.of(HandContext.from_json(hand_row.context), events)
        self._fold = TableFold.resume(self.table.code, shoe, hand)
        return self._fold

    def _take_kept(self, kept: Kept, free_key: str | None) -> TableFold:
        """Take the fold up from what this process has kept, which is what would be read."""
        self._free_key = free_key
        shoe = copied(kept.shoe)
        self._keep_shoe(shoe)
        self._versions[Shoe, shoe.pk] = kept.versions.shoe
        if kept.hand is not None:
            hand = copied(kept.hand)
            hand.shoe = shoe
            self._hands[shoe.number, hand.number] = hand
            self._versions[Hand, hand.pk] = kept.versions.hand
        self._trail = (shoe.number, list(kept.trail))
        self._fold = kept.fold
        return self._fold

    def _keep(self) -> None:
        """Keep the table as it is left here, once that is committed, where all that the next event needs is at hand."""
        fold, trail = self._fold, self._trail
        if fold is None or fold.shoe is None or trail is None or trail[0] != fold.shoe.number:
            return
        shoe = self._shoes.get(fold.shoe.number)
        hand = self._hands.get((fold.shoe.number, fold.hand.number)) if fold.hand is not None else None
        versions = Versions(
            *(None if row is None else self._versions.get((type(row), row.pk)) for row in (self.table, shoe, hand))
        )
        if shoe is None or self._venue_version is None or versions.table is None or versions.shoe is None:
            return
        if fold.hand is not None and versions.hand is None:
            return
        table, shoe, hand = copied(self.table), copied(shoe), None if hand is None else copied(hand)
        kept = Kept(table, self._venue_version, versions, fold, shoe, hand, list(trail[1]))
        transaction.on_commit(partial(KEEPING.keep, kept))

    def trail(self, shoe: int) -> list[Trailed] | None:
        """What `Recorded.trail` says of a shoe."""
        return self._trail[1] if self._trail and self._trail[0] == shoe else None

    def shoe(self, number: int) -> Shoe:
        """The row of a shoe. One that an amendment withdrew comes back as it was, without its primary key."""
        if number not in self._shoes:
            self._need_lock()
            row = rows.select_one(Shoe, "WHERE table_id = %s AND number = %s", [self.table.pk, number])
            if row is None:
                raise Shoe.DoesNotExist(f"{self.table} has no shoe {number}")
            self._keep_shoe(row)
        return self._shoes[number]

    def hand(self, shoe: int, number: int | None) -> Hand | None:
        """The row of a hand, or None without hand."""
        if number is None:
            return None
        if (shoe, number) not in self._hands:
            self._need_lock()
            found = rows.select_one(
                Hand,
                "WHERE number = %s AND shoe_id = (SELECT id FROM dealing_shoe WHERE table_id = %s AND number = %s)",
                [number, self.table.pk, shoe],
            )
            if found is None:
                return None
            found.shoe = self.shoe(shoe)
            self._hands[shoe, number] = found
        return self._hands[shoe, number]

    def audit_before(self, shoe: int, hand: int | None) -> Mapping[str, Any]:
        """What was stored of a hand or (hand None) of a shoe's own when the writer began; empty for a new one."""
        row = self._shoes.get(shoe) if hand is None else self.hand(shoe, hand)
        return {} if row is None else row.audit

    def audit_now(self, shoe: int, hand: int | None) -> Mapping[str, Any]:
        """What the judge says of a hand or (hand None) of a shoe's own with all that was appended; see `Hand.audit`."""
        fold = self._shoe_folds.get(shoe) if hand is None else self._hand_folds.get((shoe, hand))
        return self.audit_before(shoe, hand) if fold is None else fold.audit().as_dict()

    def _need_lock(self) -> None:
        """Raise `NotAsKept` where there is none."""
        if self._only_if is not None:
            raise NotAsKept

    def _keep_shoe(self, row: Shoe) -> None:
        row.table = self.table
        self._shoes[row.number] = row

    def _own_fold(self, row: Hand) -> HandFold:
        shoe = row.shoe.number
        events = _hand_events(self.table.pk, shoe, row.number)
        return HandFold.of(HandContext.from_json(row.context), events)

    # -- appending

    def append(
        self, event: Event, expected_seq: int | None = None, stamp: bool = False, ago: dt.timedelta = AT_ONCE
    ) -> tuple[TableEvent, bool]:
        """Append one event: its row, and whether it was there before. Raises as `record` does.

        `stamp`: with the time of now less `ago`, whatever the event says.
        """
        self.touched = set()
        if event.table != self.table.code:
            raise LogError("table", "other-table", value=event.table, table=self.table.code)
        known = None if event.key is None else self._by_key(event.key)
        if known is not None:
            before = msgspec.structs.replace(event, at=known.parse().at) if stamp else event
            if format_event(before) != known.payload:
                raise LogError("key", "key-stored", value=event.key, seq=known.seq)
            return known, True
        if expected_seq is not None and expected_seq != self.table.last_seq:
            raise Conflict(self.table.last_seq, expected_seq)
        if stamp:
            event = msgspec.structs.replace(event, at=next_at(self.table, ago))
        elif self.table.last_at is not None and event.at < self.table.last_at:
            last = self.table.last_at.astimezone(event.at.tzinfo)
            raise LogError("at", "at-earlier", last=format_time(last))
        else:
            check_not_ahead(event.at, timezone.now())
        seq = self.table.last_seq + 1
        if isinstance(event, Amended):
            self._need_lock()
            self._save_rows()  # the check and the folding look at all that came before
            self._save_projections()
        if self._check is not None:
            self._check(self.table, event)
        if isinstance(event, Amended):
            self._amend(seq, event)
            self.touched = {(event.shoe, event.hand), (event.shoe, None)}
            row = self._append_row(seq, event)
            self._save_rows()  # before the table's fold is taken up again from the log
            return row, False
        late = self._late_hand(event)
        if late is not None:
            late.step(seq, event)
            self._note(late)
            self.shoe(event.shoe).last_seq = seq
            self._dirty_shoes.add(event.shoe)
        else:
            self._step(seq, event)
        return self._append_row(seq, event), False

    def _by_key(self, key: str) -> TableEvent | None:
        if self._fold is None and not self._rows:
            self._take_up(key)
        if key == self._free_key:
            return None
        pending = next((row for row in self._rows if row.key == key), None)
        if self._only_if is not None:
            return pending
        return pending or rows.select_one(TableEvent, "WHERE table_id = %s AND key = %s", [self.table.pk, key])

    def _step(self, seq: int, event: Event) -> None:
        fold = self.fold
        for left in fold.step(seq, event):
            self._note(left)
        shoe = cast(ShoeFold, fold.shoe)  # no event but an opening is taken where no shoe is open
        if shoe.number not in self._shoes:
            self._keep_shoe(Shoe(number=shoe.number, opened_at=event.at, first_seq=seq))
        self._note(shoe)
        row = self._shoes[shoe.number]
        row.last_seq = seq
        if isinstance(event, ShoeClosed):
            row.closed_at = event.at
        if event.hand is not None and fold.hand is not None:
            self._note(fold.hand)

    def _note(self, fold: HandFold | ShoeFold) -> None:
        """The fold is ahead of its row."""
        if isinstance(fold, ShoeFold):
            self.touched.add((fold.number, None))
            self._shoe_folds[fold.number] = fold
            self._dirty_shoes.add(fold.number)
            return
        place = (fold.context.shoe, fold.number)
        self.touched.add(place)
        if place not in self._hands:  # the current hand was read with the table's fold, so this one is new
            self._hands[place] = Hand(shoe=self._shoes[place[0]], number=place[1])
        self._hand_folds[place] = fold
        self._dirty_hands.add(place)

    def _late_hand(self, event: Event) -> HandFold | None:
        """The fold of the hand that a late decision is about, where the table has left that hand."""
        if event.hand is None or type(event) not in LATE:
            return None
        place = (event.shoe, event.hand)
        current = self.fold.hand
        if current is not None and (current.context.shoe, current.number) == place:
            return None
        if place not in self._hand_folds:
            self._need_lock()
            row = self.hand(*place)
            if row is None:
                return None
            self._hand_folds[place] = self._own_fold(row)
        return self._hand_folds[place]

    def _amend(self, seq: int, event: Amended) -> None:
        """Fold the whole shoe again with the amendment, and see that all of it can still have happened."""
        target = TableEvent.objects.filter(table=self.table, seq=event.seq).first()
        check_amendment(seq, event, None if target is None else target.parse())
        following = Shoe.objects.filter(table=self.table, number__gt=event.shoe).order_by("number").first()
        try:
            refolded = self._refold(event.shoe, following, (seq, event))
        except EventError as error:
            if error.at_seq == event.seq:  # the corrected entry itself cannot have happened
                error.key = f"entry.{error.key}"
                raise
            raise EventRefused("seq", "breaks-entry", seq=error.at_seq, detail=str(error), cause=error) from error
        self._fold = self._trail = None  # taken up again from the new rows
        self._shoe_folds.clear()
        self._hand_folds.clear()
        self._put(event.shoe, refolded)
        if refolded.shoe is None:  # nothing left the shoe before, then, or another shoe did
            before = Shoe.objects.filter(table=self.table, number__lt=event.shoe).order_by("-number").first()
            if before is not None:
                self._put(before.number, self._refold(before.number, following))

    def _refold(self, shoe: int, following: Shoe | None, *more: Numbered) -> Refolded:
        events = [*shoe_rows(self.table, shoe), *more]
        return refold_shoe(self.table.code, events, None if following is None else following.first_seq)

    def _put(self, number: int, refolded: Refolded) -> None:
        """Make the rows of a shoe what its new fold says."""
        saved = save_shoe(self.table, number, refolded)
        if saved.shoe is not None:
            self._keep_shoe(saved.shoe)
        self._changed_shoes.add(number)
        self._same_findings = False  # for all that is known here
        for hand in saved.hands:
            self._hands[number, hand.number] = hand
            self._changed_hands.add((number, hand.number))
        for gone in saved.gone:
            self._hands.pop((number, gone), None)
            self._changed_hands.discard((number, gone))
            self._gone.add((number, gone))

    def _append_row(self, seq: int, event: Event) -> TableEvent:
        table, payload, now = self.table, format_event(event), not_before(self.table)
        row = TableEvent(
            table=table,
            seq=seq,
            shoe_number=event.shoe,
            hand_number=event.hand,
            name=event.name,
            at=event.at,
            key=event.key,
            by=event.by or "",
            payload=payload,
            prev_hash=table.head_hash,
            hash=row_hash(table.head_hash, seq, payload, self.actor, now),
            recorded_at=now,
            actor=self.actor,
            seal=seal_of(table, seq, payload, self.actor, now),
        )
        table.last_seq, table.last_hash, table.last_at = seq, row.hash, event.at
        table.last_recorded_at, table.last_seal = now, row.seal
        self._rows.append(row)
        self._last = (row, event)
        self._free_key = None
        self._follow(seq, event)
        return row

    def _follow(self, seq: int, event: Event) -> None:
        """Keep the trail as `read_trail` would read it now."""
        if self._trail is None:
            return
        shoe, trail = self._trail
        last = next((row.event.hand for row in reversed(trail) if row.event.hand is not None), None)
        if event.shoe != shoe or isinstance(event, Amended):
            self._trail = None
        elif event.hand is None or event.hand == last:
            trail.append(Trailed(seq, event, self.actor))
        elif last is None or event.hand > last:
            self._trail = (shoe, [Trailed(seq, event, self.actor)])

    # -- saving

    def save(self) -> None:
        """Write what was appended, and tell the receivers of `event_recorded` or `event_written`."""
        if self._last is None:
            return
        if self._only_if is not None:
            self._save_as_kept(self._only_if)
        else:
            self._save(self._changed_rows() + self._changed_projections())
            event_recorded.send(sender=TableEvent, **self._told())
        self._keep()

    def _save_as_kept(self, only_if: rows.Statement) -> None:
        _head, *new = self._changed_rows()
        projections = self._changed_projections()
        if any(matters for _receiver, matters in event_matters.send(sender=TableEvent, **self._told())):
            raise NotAsKept
        keys = [row.key for row, _ in new if isinstance(row, TableEvent) and row.key is not None]
        where = f"{_NEW} AND {only_if[0]}", [keys, *only_if[1]]
        try:
            written = rows.asked_first(lambda: rows.save_where(self.table, _HEAD, where, [*new, *projections]))
        except IntegrityError as error:
            raise NotAsKept from error
        if written is None:
            raise NotAsKept
        self._versions.update(((type(row), row.pk), version) for row, version in written)
        event_written.send(sender=TableEvent, table=self.table)

    def _told(self) -> dict[str, Any]:
        """What the receivers are told of; see `dealing.signals`."""
        row, event = cast(tuple[TableEvent, Event], self._last)
        return {
            "table": self.table,
            "row": row,
            "event": event,
            "shoe": self.shoe(event.shoe),
            "hand": self.hand(event.shoe, event.hand),
            "hands": [self._hands[place] for place in sorted(self._changed_hands)],
            "shoes": [self._shoes[number] for number in sorted(self._changed_shoes) if self._shoes[number].pk],
            "gone": sorted(self._gone),
            "same": self._same_findings,
        }

    def _save_rows(self) -> None:
        self._save(self._changed_rows())

    def _save_projections(self) -> None:
        self._save(self._changed_projections())

    def _save(self, changes: list[rows.Change]) -> None:
        self._versions.update(((type(row), row.pk), version) for row, version in rows.save_all(changes))

    def _changed_rows(self) -> list[rows.Change]:
        """The new events, and the table itself, where there are any."""
        new: list[rows.Change] = [(row, None) for row in self._rows]
        if new:
            new.insert(0, (self.table, _HEAD))
        self._rows = []
        return new

    def _changed_projections(self) -> list[rows.Change]:
        changed: list[rows.Change] = []
        for number in sorted(self._dirty_shoes):
            shoe = self._shoes[number]
            names = {"last_seq", "closed_at"}
            if number in self._shoe_folds:
                names |= self._assign(shoe, shoe_fields(self._shoe_folds[number]))
            if cast(Model, shoe).pk is None:
                self._need_lock()
                rows.save(shoe)  # at once: its hands need its primary key
            else:
                changed.append((shoe, names))
        for place in sorted(self._dirty_hands):
            hand = self._hands[place]
            hand.shoe = self._shoes[place[0]]  # again: it may have had no primary key before
            changed.append((hand, self._assign(hand, hand_fields(self._hand_folds[place]))))
        self._changed_shoes |= self._dirty_shoes
        self._changed_hands |= self._dirty_hands
        self._gone -= self._dirty_hands
        self._dirty_shoes.clear()
        self._dirty_hands.clear()
        return changed

    def _assign(self, row: Shoe | Hand, fields: Fields) -> set[str]:
        before = row.audit.get("findings", [])
        changed = assign(row, fields)
        self._same_findings &= "audit" not in changed or row.audit["findings"] == before
        return changed


def _still(kept: Kept, table: Table, seen: Seen) -> bool:
    """Whether a table, which is locked, stands where it was kept."""
    return head_of(table) == head_of(kept.table) and seen.versions[1:] == kept.versions[1:]

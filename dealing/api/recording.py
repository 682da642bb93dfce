"""Events as a device sends them, recorded in order: the first that is refused ends a batch, and nothing is lost.

What comes before the refused event is stored, in one transaction, and confirmed; what comes after it was not tried. So
an offline queue sends what it has, takes off what was confirmed, and never gets out of order.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Max

from dealing.log import AT_ONCE, LONGEST_WAIT, LogError, NotAsKept, Writer
from dealing.models import Hand, Table, TableEvent
from dealing.permissions import check_event, member_of, reaches
from dealing.rules.events import Amended, BurnCard, Event, EventError, ShoeOpened, format_time, parse_event

from .verdicts import Found, Raised, raised_by, verdict

#: Stands for the time of an event that has none, until the table is locked.
_NO_TIME: Final = "2000-01-01T00:00:00.000+00:00"
#: What an event is sent with that is no part of the log's line.
AGO: Final = "ago"
_LONGEST: Final = LONGEST_WAIT // dt.timedelta(milliseconds=1)

Refusal = EventError | PermissionDenied


class NoSuchTable(Exception):
    """The table is not there, or is none of the sender's."""


@dataclass(frozen=True, slots=True)
class Sent:
    """An event as it was read. `stamp`: it has no time of its own and is given that of now less `ago`.

    `as_before`: an amendment whose entry has none; it is given the time and the `by` of the entry that it puts right.
    """

    event: Event
    stamp: bool
    ago: dt.timedelta
    as_before: bool = False


@dataclass(slots=True)
class Refused:
    """The event of a batch that was refused, by its index, and why."""

    index: int
    error: Refusal


@dataclass(slots=True)
class Outcome:
    """What became of a batch: an answer for each event that is in the log now, and the one that was refused, if any."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    refused: Refused | None = None

    @property
    def new(self) -> bool:
        """Whether anything was recorded that was not there before."""
        return any(not answer["duplicate"] for answer in self.answers)


def read(item: Any, code: str, user: Any) -> Sent:
    """An event as it was sent: the object of a log line, of which `table`, `at` and `by` may be left out.

    A device's `key` may not. `by` is then the device's code, or that of the person who is logged in; only a device may
    name somebody else. `item` may be the error that reading it has met. Raises `EventError` naming the key.
    """
    if isinstance(item, EventError):
        raise item
    if not isinstance(item, Mapping):
        raise EventError("event", "not-an-object")
    device = getattr(user, "device", None)
    line = dict(item)
    ago = _ago(line)
    if device is not None and line.get("key") is None and "event" in line:
        raise LogError("key", "key-needed")
    table = line.setdefault("table", code)
    member = member_of(user)
    by = device.code if device is not None else member.code if member is not None else user.get_username()
    if line.setdefault("by", by) != by and device is None:
        raise LogError("by", "by-another")
    entry = line.get("entry")
    as_before = isinstance(entry, Mapping) and "at" not in entry
    if isinstance(entry, Mapping):
        line["entry"] = {"at": _NO_TIME, "table": table, **entry}
    event = parse_event({"at": _NO_TIME, **line})
    if event.table != code:
        raise LogError("table", "not-this-table", value=table, table=code)
    return Sent(event, "at" not in line, ago, as_before)


def _ago(line: dict[str, Any]) -> dt.timedelta:
    if AGO not in line:
        return AT_ONCE
    value = line.pop(AGO)
    if "at" in line:
        raise LogError(AGO, "ago-and-at")
    if type(value) is not int or not 0 <= value <= _LONGEST:
        raise EventError(AGO, "not-a-number", low=0, high=_LONGEST)
    return dt.timedelta(milliseconds=value)


def record_in_order(
    user: Any,
    code: str,
    items: Sequence[Any],
    *,
    expected_seq: int | None = None,
    settlement: bool = False,
    again: Callable[[], Any] | None = None,
) -> Outcome:
    """Record what was sent, up to the first event that is refused, in one transaction.

    `items` are objects of log lines (see `read`). `expected_seq`: where the table's log is to stand before the first
    event that is new. `settlement`: answer what each bet is owed, too. `again`: the user once more, asked for when the
    table is locked: who waited for that may have been shown the door meanwhile. Raises `NoSuchTable`.
    """
    sent, refused = _read_all(user, code, items)

    def check(table: Table, event: Event) -> None:
        check_event(user, table, event)

    while True:
        with transaction.atomic():
            try:
                writer = Writer.locking(code, user.get_username(), check, sent[0].event.key if sent else None)
            except EventError as error:
                raise NoSuchTable from error
            if again is not None:
                user = again()
            batch = _Batch(user, writer, settlement)
            answers = batch.record(sent, expected_seq)
            if batch.stopped is not None:
                # What a refused event leaves of a writer is not to be relied upon: once more, without it.
                transaction.set_rollback(True)
        if batch.stopped is None:
            return Outcome(answers, refused)
        refused = batch.stopped
        del sent[refused.index :]


def record_as_kept(
    user: Any, code: str, items: Sequence[Any], *, expected_seq: int | None = None, settlement: bool = False
) -> Outcome | None:
    """As `record_in_order`, by one statement, where all is new and well and all that it needs is kept here; or None.

    `user`: a device as it was kept; what is written is written only if it is still so.
    """
    still = getattr(user, "still", None)
    if still is None:
        return None
    sent, refused = _read_all(user, code, items)
    if refused is not None:
        return None
    try:
        writer = Writer.as_kept(code, user.get_username(), partial(check_event, user), still)
        batch = _Batch(user, writer, settlement)
        answers = batch.record(sent, expected_seq)
    except (NotAsKept, NoSuchTable):
        return None
    return Outcome(answers) if batch.stopped is None else None


def _read_all(user: Any, code: str, items: Sequence[Any]) -> tuple[list[Sent], Refused | None]:
    """What was sent, up to the first event that cannot be read, and that one."""
    sent: list[Sent] = []
    for index, item in enumerate(items):
        try:
            sent.append(read(item, code, user))
        except EventError as error:
            return sent, Refused(index, error)
    return sent, None


class _Batch:
    """One try at recording a batch."""

    def __init__(self, user: Any, writer: Writer, settlement: bool) -> None:
        self._writer = writer
        if not reaches(user, writer.table):
            raise NoSuchTable
        self._settlement = settlement
        self._rows: dict[int, TableEvent] = {}
        self.stopped: Refused | None = None

    def record(self, sent: Sequence[Sent], expected_seq: int | None) -> list[dict[str, Any]]:
        """Append the events and save; the answers. Where one is refused, `stopped` says which, and nothing is saved."""
        writer = self._writer
        raised, answers = Raised(writer), []
        for index, one in enumerate(sent):
            try:
                event = self._as_before(one.event) if one.as_before else one.event
                raised.before(event)
                row, duplicate = writer.append(event, expected_seq, stamp=one.stamp, ago=one.ago)
            except (EventError, PermissionDenied) as error:
                self.stopped = Refused(index, error)
                return []
            self._rows[row.seq] = row
            if not duplicate:
                expected_seq = None
            found = raised_by(writer.table, [row]).get(row.seq, []) if duplicate else raised.after()
            answers.append(self._answer(index, row, event, duplicate, found))
        writer.save()
        return answers

    def _as_before(self, event: Event) -> Event:
        """An amendment with the time and, where it names nobody, the `by` of the entry that it puts right."""
        if not isinstance(event, Amended) or event.entry is None:
            return event
        row = self._rows.get(event.seq) or self._writer.table.events.filter(seq=event.seq).first()
        if row is None:
            return event  # which is refused for that
        before = row.parse()
        entry = msgspec.structs.replace(event.entry, at=before.at, by=event.entry.by or before.by)
        return msgspec.structs.replace(event, entry=entry)

    def _skipped(self, row: TableEvent, duplicate: bool) -> list[int] | None:
        """The first and the last of the hands that were left out right before one that begins with this row."""
        place, writer = (row.shoe_number, row.hand_number), self._writer
        if place[1] is None:
            return None
        if duplicate:
            hand = writer.hand(*place)
            if hand is None or hand.first_seq != row.seq:
                return None
            before = Hand.objects.filter(shoe=hand.shoe, number__lt=hand.number)
            last = before.aggregate(last=Max("number"))["last"] or 0
        else:
            shoe, fold = writer.fold.shoe, writer.fold.hand
            if shoe is None or fold is None or fold.trail[0][0] != row.seq or shoe.hands >= fold.number:
                return None
            last = max((hand for _shoe, hand in writer.touched if hand is not None and hand < fold.number), default=0)
        return [last + 1, place[1] - 1] if last + 1 < place[1] else None

    def _answer(
        self, index: int, row: TableEvent, event: Event, duplicate: bool, raised: list[Found]
    ) -> dict[str, Any]:
        writer, table = self._writer, self._writer.table
        hand = writer.audit_now(row.shoe_number, row.hand_number) if row.hand_number is not None else {}
        shoe = {} if hand else writer.audit_now(row.shoe_number, None)
        answer = {
            "index": index,
            "key": row.key,
            "seq": row.seq,
            "hash": row.hash,
            "at": format_time(row.at.astimezone(table.venue.zone)),
            "duplicate": duplicate,
            **verdict(shoe, hand, raised, self._settlement),
        }
        if skipped := self._skipped(row, duplicate):
            answer["skipped"] = skipped
        if isinstance(event, BurnCard | ShoeOpened):
            opened = writer.fold.shoe
            if opened is not None and opened.number == row.shoe_number and opened.burn_due is not None:
                answer["burn_due"] = opened.burn_due
        return answer

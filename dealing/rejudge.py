"""One table's gaming day, judged again from its log: the same judge, the same walk along the chain, the stored shoes
and hands only to be compared with.

The log is read in bulk and each line is parsed once. Memory grows with the shoes of the day, never with the log.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import msgspec
from django.db import connection, transaction
from django.db.models import Case, Count, Max, Min, Q, TextField, When
from django.db.models.functions import Cast

from dealing.logfile import Head as LineHead
from dealing.logfile import Line, LineFolder
from dealing.logfile import read_head as read_line_head
from dealing.models import DealerShift, Hand, Shoe, Table, TableEvent
from dealing.night import (
    AmendedBy,
    ChainCheck,
    DealerTally,
    Found,
    Gap,
    HourTally,
    PaidTally,
    ShoeTally,
    TableNight,
    Unreadable,
    VoidedHand,
    WrongPaid,
)
from dealing.pit.duty import Duty, Span
from dealing.projections import Numbered, hand_fields, refold_shoe
from dealing.rules.audit import Finding, HandAudit, WrongPayout
from dealing.rules.bets import INSURANCE_BETS, ZERO
from dealing.rules.cards import ALL_CARDS, RANKS, SUITS
from dealing.rules.events import (
    Amended,
    Event,
    EventError,
    ShoeClosed,
    ShoeOpened,
    Voided,
    format_event,
    parse_canonical,
)
from dealing.rules.judge import FROM_SHEET, LATE, HandFold, ShoeFold
from dealing.rules.stood import settled_as_if_stood
from dealing.verify import Broken, Head, Row, Walk, read_head, read_rows, seal_walk

#: Where the audit of an earlier day had come to: a position and the hash of its row.
Checked = tuple[int, str]
#: A log of up to so many rows is walked from its beginning each night, whatever was walked before: a week of a busy
#: table, two seconds of a worker. Longer ones are walked whole by `verify_tables`, beside the night's work.
WHOLE_WALK: Final = 100_000
#: Who dealt at a time, as a code; empty for nobody that is known.
OnDuty = Callable[[dt.datetime], str]
#: Called with the rows read so far, and how many there are.
Progress = Callable[[int, int], None]

#: So begins the `by` of the opening of a shoe of which a sheet gave the values of the cards alone.
VALUES_ONLY: Final = f"{FROM_SHEET}values"
HOUR: Final = dt.timedelta(hours=1)
#: A number beyond that of any shoe.
_LAST_SHOE: Final = 10**9
_LETTER: Final = {"player": "P", "banker": "B", "tie": "T"}
_COMES_LATE: Final = [*(kind.name for kind in LATE), Amended.name]


def rejudge_table(
    table: Table,
    begins: dt.datetime,
    ends: dt.datetime,
    *,
    checked: Checked | None = None,
    anew: bool = True,
    duty: OnDuty | None = None,
    progress: Progress | None = None,
) -> TableNight:
    """Judge the hands that began at the table from `begins` on and before `ends`, as the log has them now.

    `checked`: how far the chain was found whole before. The chain is walked on from there; `anew`: a log of at most
    `WHOLE_WALK` rows from its beginning all the same, as is one of which nothing was checked. The hours of the answer
    are in the time zone of `begins`. `duty` left out: as the recorded shifts say. Whatever `progress` raises ends the
    work. Lines that cannot be read, and events that cannot have happened, are in the answer, never raised.
    """
    with _snapshot():
        stored = _read_stored(table, begins, ends)
    whole = checked is None or (anew and stored.head.seq <= WHOLE_WALK)
    return _Night(table, begins, ends, stored, checked, whole, duty or on_duty(table, begins, ends), progress).night()


def day_positions(table_id: int, begins: dt.datetime, ends: dt.datetime, last: int) -> tuple[int, int]:
    """The positions of a table's events from `begins` on and before `ends`: the first, and the one after the last.

    Times never decrease along the positions, so they are found by halving. `last`: the table's last position.
    """
    return first_from(table_id, begins, 1, last), first_from(table_id, ends, 1, last)


def first_from(table_id: int, at: dt.datetime, low: int, last: int) -> int:
    """The position of a table's first event from `at` on, not before `low`; `last` + 1 where there is none so far."""
    rows = TableEvent.objects.filter(table_id=table_id, seq__lte=last).order_by("seq").values_list("seq", "at")
    high = last + 1
    while low < high:
        middle = (low + high) // 2
        found = rows.filter(seq__gte=middle).first()  # rows may be missing
        if found is None or found[1] >= at:
            high = middle
        else:
            low = found[0] + 1
    return low


def on_duty(table: Table, begins: dt.datetime, ends: dt.datetime) -> OnDuty:
    """Who dealt at the table, by the shifts that touch the day."""
    shifts = DealerShift.objects.filter(Q(ended_at=None) | Q(ended_at__gt=begins), table=table, started_at__lt=ends)
    spans, codes = [], {}
    for dealer, code, start, end in shifts.values_list("dealer_id", "dealer__code", "started_at", "ended_at"):
        codes[dealer] = code
        spans.append(Span(table.pk, dealer, start, end))
    shifts_of = Duty(spans)

    def dealer_at(at: dt.datetime) -> str:
        dealer = shifts_of.dealer(table.pk, at)
        return "" if dealer is None else codes[dealer]

    return dealer_at


# --- what is stored, all of one moment -------------------------------------------------------------------------------


@contextmanager
def _snapshot() -> Iterator[None]:
    """Everything read inside is of one moment. Inside a transaction that is there already it is that one's."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


#: The columns of the stored rows that are compared, and of these the ones that hold JSON.
_HAND_COLUMNS: Final = (
    *("status", "winner", "player", "banker", "first_seq", "last_seq", "started_at", "closed_at", "has_findings"),
    *("context", "audit"),
)
_SHOE_COLUMNS: Final = (
    *("ruleset", "decks", "status", "closed_reason", "hands", "cards_seen", "has_findings"),
    *("first_seq", "last_seq", "opened_at", "closed_at", "fold", "audit"),
)
_JSON: Final = frozenset({"context", "audit", "fold"})
_STARTED_AT: Final = _HAND_COLUMNS.index("started_at")
_decode: Final = msgspec.json.Decoder().decode


class _Stored(NamedTuple):
    """The head of the log, the positions of the day (`first`, and `after` its last), its shoes, where these begin and
    where the next one does; and the rows of shoes and hands, columns by number.
    """

    head: Head
    first: int
    after: int
    shoes: list[int]
    begin: int
    following: int | None
    before: int | None
    shoe_rows: dict[int, tuple[Any, ...]]
    hand_rows: dict[int, dict[int, tuple[Any, ...]]]


def _read_stored(table: Table, begins: dt.datetime, ends: dt.datetime) -> _Stored:
    head = read_head(table.code)
    events = TableEvent.objects.filter(table=table, seq__lte=head.seq)
    first, after = day_positions(table.pk, begins, ends, head.seq)
    shoes: list[int] = []
    if first < after:
        own = Count(Case(When(name__in=_COMES_LATE, then=None), default="seq"))
        of_day = events.filter(seq__gte=first, seq__lt=after).order_by("shoe_number").values_list("shoe_number")
        shoes = [number for number, count in of_day.annotate(own=own) if count]
    begin, following, before = first, None, None
    wanted = Q(opened_at__gte=begins, opened_at__lt=ends)
    if shoes:
        begin = events.filter(shoe_number=shoes[0]).aggregate(first=Min("seq"))["first"]
        following = _following(events, shoes[-1])
        before = events.filter(shoe_number__lt=shoes[0]).aggregate(last=Max("shoe_number"))["last"]
        wanted |= Q(number__gte=shoes[0], number__lte=shoes[-1])
    shoe_rows: dict[int, tuple[Any, ...]] = {}
    hand_rows: dict[int, dict[int, tuple[Any, ...]]] = {}
    numbers: dict[int, int] = {}
    for pk, number, *values in _rows(Shoe.objects.filter(wanted, table=table), ("pk", "number"), _SHOE_COLUMNS):
        shoe_rows[number], hand_rows[number], numbers[pk] = tuple(values), {}, number
    hands = Hand.objects.filter(shoe__in=list(numbers)).order_by("shoe_id", "number")
    for shoe, number, *values in _rows(hands, ("shoe_id", "number"), _HAND_COLUMNS):
        hand_rows[numbers[shoe]][number] = tuple(values)
    return _Stored(head, first, after, shoes, begin, following, before, shoe_rows, hand_rows)


def _rows(rows: Any, keys: tuple[str, ...], columns: tuple[str, ...]) -> Any:
    """The rows as tuples; what is JSON as text, which is decoded when it is looked at."""
    texts = {f"{name}_text": Cast(name, TextField()) for name in columns if name in _JSON}
    names = (f"{name}_text" if name in _JSON else name for name in columns)
    return rows.annotate(**texts).values_list(*keys, *names)


def _following(events: Any, shoe: int) -> int | None:
    """Position of the event that opened the next shoe, one that was not withdrawn."""
    while True:
        rows = events.filter(shoe_number__gt=shoe)
        following = rows.aggregate(next=Min("shoe_number"))["next"]
        if following is None:
            return None
        shoe = following
        own = rows.filter(shoe_number=shoe).order_by("seq")
        beside = own.filter(hand_number=None, name__in=[ShoeOpened.name, Amended.name])
        numbered = list(beside.values_list("seq", "name", "payload"))
        opened = next((seq for seq, name, _ in numbered if name == ShoeOpened.name), None)
        if opened is None:  # its row is not there: the first that is
            first: int = own.values_list("seq", flat=True)[0]
            return first
        events_read = [(seq, parse_canonical(payload)) for seq, _, payload in numbered]
        if opened not in _withdrawn((seq, event) for seq, event in events_read if event is not None):
            return int(opened)


def _withdrawn(events: Iterable[Numbered]) -> set[int]:
    """Positions of the entries that were withdrawn for good."""
    entries = {event.seq: event.entry for _, event in events if type(event) is Amended}
    return {seq for seq, entry in entries.items() if entry is None}


# --- the day ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Lines:
    """The log of one shoe: its events in order, the rows that hold none, and what else is asked of the rows."""

    events: list[Numbered] = field(default_factory=list)
    unreadable: dict[int, tuple[Row, EventError]] = field(default_factory=dict)
    amended: dict[int, str] = field(default_factory=dict)  # who recorded the amendments, by position
    hands: dict[int, dt.datetime] = field(default_factory=dict)  # when the first row of each hand was
    began: dt.datetime | None = None  # when the first row beside the hands was

    def opened(self) -> int | None:
        """Position of the event that opened the shoe; None where it was withdrawn, or is not there."""
        if not self.events:
            return None
        opened = next((seq for seq, event in self.events if type(event) is ShoeOpened), None)
        if opened is not None and self.amended and opened in _withdrawn(self.events):
            return None
        return self.events[0][0] if opened is None else opened


@dataclass(slots=True)
class _Judged:
    """What the judge makes of a shoe. `whole`: every line of it counted, so that it can be compared."""

    shoe: ShoeFold | None
    hands: list[HandFold]
    whole: bool
    fields: dict[str, Any]


class _Night:
    """The work on one table's day; see `rejudge_table`."""

    def __init__(
        self,
        table: Table,
        begins: dt.datetime,
        ends: dt.datetime,
        stored: _Stored,
        checked: Checked | None,
        whole: bool,
        dealer_at: OnDuty,
        progress: Progress | None,
    ) -> None:
        self.table = table
        self.begins, self.ends = begins, ends
        self.stored = stored
        self.checked = checked
        self.whole = whole
        self.dealer_at = dealer_at
        self.progress = progress
        self.lines: dict[int, _Lines] = {number: _Lines() for number in stored.shoes}
        self.read = 0
        self.to_read = 0
        self.answer = TableNight(table=table.code, name=table.name, active=table.is_active, ruleset=table.ruleset)
        self.dealers: dict[str, DealerTally] = {}
        self.begins_utc = begins.astimezone(dt.UTC)
        self.hours = _hours(begins, ends)
        self.amenders: dict[str, AmendedBy] = {}
        self.statuses: Counter[str] = Counter()
        #: By shoe: the position of the event that opened the next one.
        self.following: dict[int, int | None] = {}

    def night(self) -> TableNight:
        """Do all of it."""
        answer = self.answer
        self._read()
        self._gaps()
        following = self.stored.following
        for number in reversed(self.stored.shoes):
            self.following[number] = following
            following = self.lines[number].opened() or following
        for number in self.stored.shoes:
            self._shoe(number)
            del self.lines[number]
            self._tell()
        for number in sorted(set(self.stored.shoe_rows) - set(self.stored.shoes)):
            if not (self.stored.shoes and self.stored.shoes[0] <= number <= self.stored.shoes[-1]):
                self._differs(f"shoe {number}", "is stored and not in the log")
        answer.hands = sum(self.statuses.values())
        answer.statuses = dict(sorted(self.statuses.items()))
        answer.unreadable.sort(key=lambda line: line.seq)
        answer.findings.sort(key=lambda found: found.seq)
        answer.payouts.sort(key=lambda payout: (payout.shoe, payout.hand))
        answer.dealers = [self.dealers[code] for code in sorted(self.dealers)]
        answer.hours = self.hours
        answer.amendments = [self.amenders[person] for person in sorted(self.amenders)]
        answer.paid = dict(sorted(answer.paid.items()))
        return answer

    # -- reading

    def _read(self) -> None:
        """Walk the chain, of a long log what was not walked before, and read the shoes of the day."""
        stored, head, code = self.stored, self.stored.head, self.table.code
        chain = self.answer.chain = ChainCheck(last_seq=head.seq, head=head.hash)
        seq, known = self.checked or (0, "")
        last = head.seq if stored.following is None else stored.following - 1
        day = (stored.begin, last) if stored.shoes else None
        broken: Broken | None = None
        if seq > head.seq:
            broken = Broken(code, head.seq + 1, f"is missing; an earlier audit had come to position {seq}")
            seq = head.seq
        elif seq and self._hash_at(seq) != known:
            broken = Broken(code, seq, "its hash is not the one that an earlier audit found there")
        if self.whole:
            seq = 0
        chain.checked_from = seq
        alone = day is not None and day[1] < seq  # the day lies wholly before what is to be checked
        start = min(seq + 1, day[0]) if day is not None and not alone else seq + 1
        late = self._late(last + 1, seq) if day is not None else []
        self.to_read = head.seq - start + 1 + (day[1] - day[0] + 1 if day is not None and alone else 0) + len(late)
        if day is not None and alone:
            walk = self._walk(*day)
            broken = broken or walk.broken
        walk = self._walk(start, head.seq)
        # Walked from the beginning, a row that does not fit is more exact than a hash that is another one than before.
        broken = (walk.broken if seq == 0 else None) or broken or walk.ended(head)
        reader = Walk(code)
        for row in late:
            self._keep(row, reader.take(row), reader)
        if broken is not None:
            chain.broken_at, chain.problem = broken.seq, broken.problem

    def _late(self, first: int, checked: int) -> list[Row]:
        """What came to the shoes of the day from position `first` on, as far as it is not walked anyway."""
        shoes = self.stored.shoes
        rows = TableEvent.objects.filter(table=self.table, shoe_number__gte=shoes[0], shoe_number__lte=shoes[-1])
        rows = rows.filter(seq__gte=first, seq__lte=min(checked, self.stored.head.seq)).order_by("seq")
        return list(map(Row._make, rows.values_list(*Row._fields)))

    def _hash_at(self, seq: int) -> str | None:
        found = TableEvent.objects.filter(table=self.table, seq=seq).values_list("hash", flat=True).first()
        return None if found is None else str(found)

    def _walk(self, first: int, last: int) -> Walk:
        before = None if first == 1 else self._hash_at(first - 1)
        walk = Walk(self.table.code, first - 1, before, seal_walk(self.table, first == 1))
        stored = self.stored
        of_day = range(stored.first, stored.after)
        for rows in read_rows(self.table.pk, first, last):
            for row in rows:
                event = walk.take(row)
                shoe = row.shoe_number if event is None else event.shoe
                if shoe in self.lines:
                    self._keep(row, event, walk)
            if rows[0].seq in of_day and rows[-1].seq in of_day:
                self.answer.events += len(rows)
            else:
                self.answer.events += sum(row.seq in of_day for row in rows)
            self.read += len(rows)
            self._tell()
        return walk

    def _keep(self, row: Row, event: Event | None, walk: Walk) -> None:
        shoe, hand, at = (
            (row.shoe_number, row.hand_number, row.at) if event is None else (event.shoe, event.hand, event.at)
        )
        lines = self.lines.get(shoe)
        if lines is None:
            return
        if event is None:
            lines.unreadable[row.seq] = (row, cast(EventError, walk.error))
        else:
            lines.events.append((row.seq, event))
            if type(event) is Amended:
                lines.amended[row.seq] = event.by or row.actor
        if hand is None:
            lines.began = lines.began or at
        elif hand not in lines.hands:
            lines.hands[hand] = at

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(self.read, max(self.to_read, self.read))

    # -- judging

    def _of_day(self, at: dt.datetime | None) -> bool:
        return at is not None and self.begins <= at < self.ends

    def _shoe(self, number: int) -> None:
        """Judge a shoe, count what it is worth to the day, and compare it with what is stored."""
        lines = self.lines[number]
        judged = self._judge(number, lines)
        stored = self.stored.hand_rows.get(number, {})
        count = None if judged.shoe is None else _ShoeCount(judged.shoe, lines)
        after: HandFold | None = None
        for fold in judged.hands:
            began = fold.trail[0][1].at if fold.trail else lines.hands[fold.number]
            if began >= self.ends:
                after = fold
                break
            audit, of_day = fold.audit(), began >= self.begins
            if count is not None:
                count.hand(audit, of_day)
            if of_day:
                self._hand(fold, audit, began)
                self._compare_hand(number, fold, audit, stored.get(fold.number), judged.whole)
        if judged.shoe is not None:
            self._shoe_findings(judged.shoe, lines)
        if count is not None:
            self.answer.shoes.append(count.tally(self.ends, after))
        self._compare_shoe(number, judged)
        known = {fold.number for fold in judged.hands}
        for hand, row in stored.items():
            if hand not in known and self._of_day(row[_STARTED_AT]):
                self._differs(f"shoe {number} hand {hand}", "is stored and not in the log")
        self._amended(lines)

    def _judge(self, number: int, lines: _Lines) -> _Judged:
        following = self.following[number]
        if not lines.unreadable:
            try:
                refolded = refold_shoe(self.table.code, lines.events, following)
            except EventError:
                pass  # said below, by the line that is at fault
            else:
                return _Judged(refolded.shoe, refolded.hands, True, refolded.fields)
        return self._judge_lines(number, lines, following)

    def _judge_lines(self, number: int, lines: _Lines, following: int | None) -> _Judged:
        """A shoe with lines that cannot be read or cannot have happened, as `audit_log` judges it."""
        code = self.table.code
        events: dict[int, tuple[Event | None, EventError | None]] = {seq: (event, None) for seq, event in lines.events}
        events |= {seq: (None, error) for seq, (_, error) in lines.unreadable.items()}
        if following is not None:
            later = ShoeOpened(at=self.ends, table=code, shoe=_LAST_SHOE, ruleset="standard")
            events[following] = (later, None)
        folder = LineFolder()
        every = []
        for seq in sorted(events):
            event, error = events[seq]
            if event is not None:
                head, raw = LineHead(event.name, code, event.shoe, event.hand), format_event(event).encode()
                shoe, hand = event.shoe, event.hand
            else:
                row = lines.unreadable[seq][0]
                raw = row.payload.encode()
                head, shoe, hand = read_line_head(raw), row.shoe_number, row.hand_number
            folder.look(seq, code, seq, head, raw)
            every.append(Line(seq, code, seq, shoe, hand, event, error))
        folder.looked(lambda seq, raw: events[seq])
        judged = _Judged(None, [], False, {})
        for fold in folder.folds(every):
            if isinstance(fold, HandFold):
                judged.hands.append(fold)
            elif fold.number == number:
                judged.shoe = fold
        places = {line.number: line for line in every}
        for seq, error in folder.bad:
            line = places[seq]
            at = lines.unreadable[seq][0].at if line.event is None else line.event.at
            if self._of_day(at if line.hand is None else lines.hands[line.hand]):
                self.answer.unreadable.append(Unreadable(seq=seq, problem=str(error), shoe=number, hand=line.hand))
        return judged

    def _hand(self, fold: HandFold, audit: HandAudit, began: dt.datetime) -> None:
        """Count a hand of the day."""
        self.statuses[audit.status] += 1
        code = self.dealer_at(began)
        dealer = self.dealers.get(code)
        if dealer is None:
            dealer = self.dealers[code] = DealerTally(dealer=code)
        hour = self.hours[self._hour(began)]
        dealer.hands += 1
        hour.hands += 1
        if audit.findings:
            times = {seq: event.at for seq, event in fold.trail}
            for finding in audit.findings:
                at = times.get(finding.seq[0], began)
                self._found(finding, fold.shoe, fold.number, at, dealer, hour)
            for wrong in audit.wrong_payouts:
                self._wrong_paid(fold, audit, wrong, times.get(wrong.seq[0], began), code)
        if audit.settlement:
            void = audit.status == "voided"
            for line in audit.settlement:
                if line.owed and not void:
                    self._paid(line.bet).won += 1
        if audit.status == "voided" or (audit.settlement and any(type(event) is Voided for _, event in fold.trail)):
            self._voided(fold, audit, code)

    def _hour(self, at: dt.datetime) -> int:
        return min(max(0, (at.astimezone(dt.UTC) - self.begins_utc) // HOUR), len(self.hours) - 1)

    def _found(
        self, finding: Finding, shoe: int, hand: int, at: dt.datetime, dealer: DealerTally, hour: HourTally
    ) -> None:
        found = Found(
            shoe=shoe,
            hand=hand,
            at=at,
            seq=finding.seq[0],
            code=finding.code,
            rules=list(finding.rules),
            ruling=finding.ruling,
            mandatory=finding.mandatory,
            state=finding.state,
            dealer=dealer.dealer,
        )
        self.answer.findings.append(found)
        dealer.codes[found.code] = dealer.codes.get(found.code, 0) + 1
        hour.codes[found.code] = hour.codes.get(found.code, 0) + 1

    def _paid(self, bet: str) -> PaidTally:
        return self.answer.paid.setdefault(bet, PaidTally())

    def _wrong_paid(self, fold: HandFold, audit: HandAudit, wrong: WrongPayout, at: dt.datetime, dealer: str) -> None:
        bets = [line for line in audit.settlement if (line.seat, line.bet) == (wrong.seat, wrong.bet)]
        kept = sum((line.commission for line in bets), ZERO)
        without = bool(kept) and wrong.paid == wrong.owed + kept
        paid = WrongPaid(
            shoe=fold.shoe,
            hand=fold.number,
            at=at,
            seat=wrong.seat,
            bet=wrong.bet,
            owed=wrong.owed,
            paid=wrong.paid,
            corrected=wrong.corrected,
            without_commission=without,
            dealer=dealer,
        )
        self.answer.payouts.append(paid)
        tally = self._paid(wrong.bet)
        tally.wrong += 1
        tally.without_commission += without
        tally.difference += wrong.paid - wrong.owed

    def _voided(self, fold: HandFold, audit: HandAudit, dealer: str) -> None:
        """What was declared void: the hand, else its insurance bets."""
        decided = [event for _, event in fold.trail if isinstance(event, Voided)]
        whole = [event for event in decided if event.scope == "hand"]
        void = (whole or decided)[-1]
        lines = [line for line in settled_as_if_stood(fold) if whole or line.bet in INSURANCE_BETS]
        known = all(line.owed is not None for line in lines)
        self.answer.voided.append(
            VoidedHand(
                shoe=fold.shoe,
                hand=fold.number,
                at=void.at,
                scope=void.scope,
                reason=void.reason,
                stakes=sum((line.stake for line in lines), ZERO),
                owed=sum((line.owed or ZERO for line in lines), ZERO) if known else None,
                lost=sum((line.stake - (line.returned or ZERO) for line in lines), ZERO) if known else None,
                dealer=dealer,
            )
        )

    def _shoe_findings(self, shoe: ShoeFold, lines: _Lines) -> None:
        for finding in shoe.audit().findings:
            at = _time_of(lines.events, finding.seq[0])
            if at is None or not self._of_day(at):
                continue
            code = self.dealer_at(at)
            dealer = self.dealers.setdefault(code, DealerTally(dealer=code))
            self._found(finding, shoe.number, 0, at, dealer, self.hours[self._hour(at)])

    def _amended(self, lines: _Lines) -> None:
        for seq, person in lines.amended.items():
            event = cast(Amended, _event_at(lines.events, seq))
            at = _time_of(lines.events, event.seq) if event.hand is None else lines.hands[event.hand]
            if self._of_day(at):
                tally = self.amenders.setdefault(person, AmendedBy(person=person))
                if event.entry is None:
                    tally.withdrawn += 1
                else:
                    tally.corrected += 1

    def _gaps(self) -> None:
        """Numbers that no row of the log has; one that was withdrawn is there."""
        before = self.stored.before
        for shoe, lines in self.lines.items():
            began = lines.began or min(lines.hands.values(), default=None)
            if before is not None and shoe > before + 1 and self._of_day(began):
                self.answer.gaps.append(Gap(first=before + 1, last=shoe - 1))
            before = shoe
            last = 0
            for hand in sorted(lines.hands):
                if hand > last + 1 and self._of_day(lines.hands[hand]):
                    self.answer.gaps.append(Gap(first=last + 1, last=hand - 1, shoe=shoe))
                last = hand

    # -- comparing with what was recorded live

    def _compare_hand(
        self, shoe: int, fold: HandFold, audit: HandAudit, stored: tuple[Any, ...] | None, whole: bool
    ) -> None:
        """`whole` False: what other hands left of the shoe is not compared."""
        where = f"shoe {shoe} hand {fold.number}"
        if stored is None:
            self.answer.compared += 1
            self._differs(where, "is in the log and not stored")
        elif not fold.spoiled:
            self.answer.compared += 1
            self._compare(where, hand_fields(fold, audit), _HAND_COLUMNS, stored, () if whole else ("context",))

    def _compare_shoe(self, number: int, judged: _Judged) -> None:
        stored = self.stored.shoe_rows.get(number)
        if judged.shoe is None:
            if stored is not None:
                self._differs(f"shoe {number}", "is stored and not in the log")
            return
        if stored is None:
            self.answer.compared += 1
            self._differs(f"shoe {number}", "is in the log and not stored")
        elif judged.whole:
            self.answer.compared += 1
            self._compare(f"shoe {number}", judged.fields, _SHOE_COLUMNS, stored)

    def _compare(
        self,
        where: str,
        fields: Mapping[str, Any],
        columns: tuple[str, ...],
        stored: tuple[Any, ...],
        but: tuple[str, ...] = (),
    ) -> None:
        wrong = [
            name
            for name, value in zip(columns, stored, strict=True)
            if (_decode(value) if name in _JSON else value) != fields[name] and name not in but
        ]
        if wrong:
            self._differs(where, f"{', '.join(wrong)} differ from what the log says")

    def _differs(self, where: str, what: str) -> None:
        self.answer.differences.append(f"{self.table.code} {where}: {what}")


def _hours(begins: dt.datetime, ends: dt.datetime) -> list[HourTally]:
    """The hours of the day on the clock of `begins`: they are counted in UTC, where every hour has sixty minutes."""
    at, end, hours = begins.astimezone(dt.UTC), ends.astimezone(dt.UTC), []
    while at < end:
        hours.append(HourTally(begins=at.astimezone(begins.tzinfo)))
        at += HOUR
    return hours


def _event_at(events: list[Numbered], seq: int) -> Event | None:
    index = bisect_left(events, seq, key=itemgetter(0))
    return events[index][1] if index < len(events) and events[index][0] == seq else None


def _time_of(events: list[Numbered], seq: int) -> dt.datetime | None:
    event = _event_at(events, seq)
    return None if event is None else event.at


class _ShoeCount:
    """Counts the hands of one shoe, in order."""

    def __init__(self, shoe: ShoeFold, lines: _Lines) -> None:
        opened = next((event for _, event in lines.events if type(event) is ShoeOpened), None)
        self._shoe = shoe
        self._lines = lines
        self._values_only = opened is not None and (opened.by or "").startswith(VALUES_ONLY)
        self._tally = ShoeTally(shoe=shoe.number, ruleset=shoe.ruleset.name, decks=shoe.decks, burned=shoe.burned)
        self._winners: list[str] = []

    def hand(self, audit: HandAudit, of_day: bool) -> None:
        """The next hand."""
        tally, result = self._tally, audit.result
        tally.hands += 1
        if result is None or audit.status == "voided":
            return
        self._winners.append(_LETTER[result.winner])
        if not of_day:
            tally.day_from += 1
        if result.natural:
            tally.naturals += 1
        drawn = audit.layout.drawn
        if drawn == 6:
            tally.six_cards += 1
        elif drawn == 5:
            tally.five_cards += 1
        if self._values_only:
            return
        places = audit.correct.places
        player, banker = places["P1"][0][0], places["B1"][0][0]
        tally.paired += 1  # the cards of a complete hand are known
        if player == places["P2"][0][0]:
            tally.player_pairs += 1
        if banker == places["B2"][0][0]:
            tally.banker_pairs += 1

    def tally(self, ends: dt.datetime, after: HandFold | None) -> ShoeTally:
        """What it comes to at the day's end. `after`: the first hand of a later day, if there is one."""
        tally, counts = self._tally, self._shoe.counts if after is None else after.context.counts
        tally.winners = "".join(self._winners)
        tally.cards_seen = sum(counts)
        if self._shoe.closed is not None:
            closed = next((event.at for _, event in reversed(self._lines.events) if type(event) is ShoeClosed), ends)
            if closed < ends:
                tally.closed = self._shoe.closed
        if not self._values_only:
            ranks, suits = dict.fromkeys(RANKS, 0), dict.fromkeys(SUITS, 0)
            bare = False
            for card, count in zip(ALL_CARDS, counts, strict=True):
                if count:
                    ranks[card.rank] += count
                    if card.suit:
                        suits[card.suit] += count
                    else:
                        bare = True
            tally.ranks, tally.suits = ranks, None if bare else suits
        return tally

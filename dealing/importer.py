"""Takes a log file into the database: each hand whole or not at all, and nothing twice.

A file is stored a shoe at a time, each in one transaction with its projections and what listens to the log. Lines that
are stored already are recognised hand by hand, so the same file again changes nothing and a file that was cut off goes
on where it ended. Every stored line keeps its order; where lines before it were left out, the positions that `amended`
lines name are moved along.
"""

from __future__ import annotations

import datetime as dt
import gc
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, cast

import msgspec
from django.db import connection, transaction
from django.utils import timezone

from dealing import rows
from dealing.chain import hasher
from dealing.log import LogError, check_not_ahead
from dealing.logfile import Line, LogFile, Survey, fold_lines
from dealing.models import Shoe, Table, TableEvent, Venue
from dealing.projections import Numbered, Refolded, refold_shoe, save_shoe, shoe_rows
from dealing.rules.events import Amended, Event, EventError, ShoeOpened, format_event, format_time, parse_line
from dealing.rules.hand import HandFold
from dealing.rules.judge import EventRefused
from dealing.sealing import Sealer, not_before, sealer_for
from dealing.signals import event_recorded

#: What an import says beside the messages of log, file and judge.
IMPORT_MESSAGES: Final[dict[str, str]] = {
    "unknown-table": "there is no table {value}; make it, or import with --create-tables",
    "stored-otherwise": "position {seq} of the log has this hand otherwise",
    "shoe-stored-otherwise": "position {seq} of the log has this shoe otherwise",
    "key-stored": "{value} is the key of another event, at position {seq}",
    "at-earlier": "is before the table's last event, which was at {last}",
}

#: Thresholds of the collector while importing.
_SELDOM: Final = (100_000, 20, 20)
#: So many bytes of a file are kept as events from the first reading to the second, in four times as many of memory.
KEPT: Final = 32 << 20

Place = tuple[str, int, int | None]
Group = tuple[int, int | None]


class ImportRefused(EventError):
    """A line that cannot be added to what is stored."""

    messages = IMPORT_MESSAGES


class NoVenueError(Exception):
    """Tables are to be made and it is not clear in which house."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Lines that were left out: the line that is to blame, why, and the hand that is not stored because of it."""

    number: int
    error: EventError
    place: Place | None
    #: The hand's lines before this one are stored: they came with an earlier shoe of the file.
    late: bool = False

    def __str__(self) -> str:
        if self.place is None or self.place[2] is None:
            return f"line {self.number}: {self.error}"
        table, shoe, hand = self.place
        if self.late:
            return f"line {self.number}: {self.error} [{table} shoe {shoe} hand {hand} is stored without it]"
        return f"line {self.number}: {self.error} [{table} shoe {shoe} hand {hand} is not stored]"


@dataclass(slots=True)
class Report:
    """What an import came to. `skipped` hands were stored before, with the same content."""

    stored: int = 0
    skipped: int = 0
    refused: int = 0
    events: int = 0
    lines: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def read(self) -> int:
        """Hands in the file."""
        return self.stored + self.skipped + self.refused


class _Positions:
    """Positions in the file -> positions in the log, as runs of consecutive ones."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._runs: list[list[int]] = []  # position, seq, length
        self._by_seq: list[tuple[int, int]] = []  # seq, index of its run

    def add(self, position: int, seq: int, lines: int = 1) -> None:
        if self._runs:
            start, first, length = self._runs[-1]
            if position == start + length and seq == first + length:
                self._runs[-1][2] += lines
                return
        self._starts.append(position)
        insort(self._by_seq, (seq, len(self._runs)))
        self._runs.append([position, seq, lines])

    def get(self, position: int) -> int | None:
        at = bisect_right(self._starts, position) - 1
        if at < 0:
            return None
        start, first, length = self._runs[at]
        return first + position - start if position < start + length else None

    def holds(self, seq: int) -> bool:
        """Whether a line of the file was found at this position of the log."""
        at = bisect_right(self._by_seq, (seq, len(self._runs))) - 1
        if at < 0:
            return False
        _, first, length = self._runs[self._by_seq[at][1]]
        return seq < first + length


@dataclass(slots=True)
class _Waiting:
    """What is known of a table while its lines are read."""

    shoe: int = 0
    lines: list[Line] = field(default_factory=list)
    positions: _Positions = field(default_factory=_Positions)
    out: set[Group] = field(default_factory=set)  # groups of lines that are refused


@dataclass(slots=True)
class _Attempt:
    """How the lines of one shoe would be added, if the judge has nothing against it."""

    new: list[tuple[int, Event, str, Line]] = field(default_factory=list)
    #: Positions in the file and in the log, and for how many lines on.
    known: list[tuple[int, int, int]] = field(default_factory=list)
    groups: set[Group] = field(default_factory=set)
    #: The groups that get new lines.
    grown: set[Group] = field(default_factory=set)
    #: All that waits is one new shoe.
    whole: bool = False


class _Blame(Exception):
    """Lines of `group` cannot be stored, because of `line`."""

    def __init__(self, line: Line, group: Group, error: EventError) -> None:
        super().__init__(line.number)
        self.line, self.group, self.error = line, group, error


def import_log(
    stream: BinaryIO,
    *,
    actor: str,
    create_tables: bool = False,
    venue: Venue | None = None,
    progress: Callable[[Report], None] | None = None,
    jobs: int = 1,
) -> Report:
    """Read a log file and store what is new in it.

    `create_tables`: make tables that are not there, in `venue` (default: the only one). `progress` is called after each
    shoe. `jobs`: share the tables out among so many processes (see `dealing.import_jobs`), which comes to the same.
    Raises `NoVenueError`; what is wrong with the file is in the report.
    """
    if create_tables and venue is None:
        venue = only_venue()
    with LogFile(stream) as file:
        if jobs > 1:
            from dealing.import_jobs import import_parts

            return import_parts(file, jobs, actor, venue if create_tables else None, progress)
        return import_file(file, actor, venue if create_tables else None, progress)


def import_file(
    file: LogFile, actor: str, venue: Venue | None, progress: Callable[[Report], None] | None = None
) -> Report:
    """Store what is new in an open log file. `venue`: where tables that are not there are made; None: they are not."""
    with _collecting_seldom():
        return _import_file(file, actor, venue, progress)


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Let the collector of cyclic garbage look less often: an import makes many objects that stay, and few cycles."""
    thresholds = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _import_file(file: LogFile, actor: str, venue: Venue | None, progress: Callable[[Report], None] | None) -> Report:
    report = Report()
    survey = file.survey(KEPT)
    refused = _refused_hands(file, survey.disordered, report)
    waiting: dict[str, _Waiting] = {}
    for line in file.lines():
        report.lines = line.number
        code, event = line.table, line.event
        if event is None or code is None or (refused and (code, line.shoe, line.hand) in refused):
            continue
        table = waiting.get(code)
        if table is None:
            waiting[code] = table = _Waiting()
        if event.shoe > table.shoe:
            _flush(code, table, survey, actor, venue, report, progress)
            table.shoe = event.shoe
        table.lines.append(line)
    for code, table in waiting.items():
        _flush(code, table, survey, actor, venue, report, progress)
    report.refusals.sort(key=lambda refusal: refusal.number)
    return report


def _refused_hands(file: LogFile, tables: set[str], report: Report) -> set[Place]:
    """Judge the lines of the tables that cannot be judged a shoe at a time, and what belongs to no table: which hands
    have a line that is bad or cannot have happened.
    """
    refused: set[Place] = set()
    for fold in file.folds(tables):
        if isinstance(fold, HandFold) and fold.spoiled:
            refused.add((fold.context.table, fold.context.shoe, fold.number))
    if file.bad:
        errors = {bad.number: bad.error for bad in file.bad}
        for line in file.lines():
            if line.number in errors:
                place = None
                if line.table is not None and line.shoe is not None:
                    place = (line.table, line.shoe, line.hand)
                    if line.hand is not None:
                        refused.add(place)
                report.refusals.append(Refusal(line.number, errors[line.number], place))
    report.refused = len(refused)
    return refused


def _judge(code: str, waiting: _Waiting, survey: Survey, report: Report) -> Refolded | None:
    """Judge the waiting lines of a shoe by themselves, and leave out the hands that have one that cannot have happened.

    Answers with the folded shoe where it holds all lines as they stand in the file.
    """
    if code in survey.disordered:
        return None  # judged before
    lines = waiting.lines
    if (code, waiting.shoe) not in survey.unusual:
        try:
            return refold_shoe(code, [(line.position, cast(Event, line.event)) for line in lines])
        except EventError:
            pass  # line by line
    folds, bad = fold_lines(lines)
    errors = {line.number: line.error for line in bad}
    out = {fold.number for fold in folds if isinstance(fold, HandFold) and fold.spoiled}
    for line in lines:
        if line.number in errors:
            if line.hand is not None:
                out.add(line.hand)
            place = (code, waiting.shoe, line.hand)
            report.refusals.append(Refusal(line.number, errors[line.number], place))
    report.refused += len(out)
    waiting.lines = [line for line in lines if line.hand not in out]
    return None


def _flush(
    code: str,
    waiting: _Waiting,
    survey: Survey,
    actor: str,
    venue: Venue | None,
    report: Report,
    progress: Callable[[Report], None] | None,
) -> None:
    """Store the waiting lines; a table that is not there is made in `venue`."""
    if not waiting.lines:
        return
    folded = _judge(code, waiting, survey, report)
    if not waiting.lines:
        return
    with transaction.atomic():
        table = rows.select_one(Table, "WHERE code = %s", [code], lock=True)
        if table is None and venue is not None:
            table = _make_table(code, waiting.lines, venue)
        if table is None:
            first = waiting.lines[0]
            report.refusals.append(Refusal(first.number, ImportRefused("table", "unknown-table", value=code), None))
            report.refused += len(
                {line.hand for line in waiting.lines if line.hand is not None and line.shoe == waiting.shoe}
            )
        else:
            _Adding(table, waiting, folded, actor, report).store()
    waiting.lines = []
    if progress is not None:
        progress(report)


def only_venue() -> Venue:
    """The only house, made where there is none. Raises `NoVenueError` where there are several."""
    venues = list(Venue.objects.all()[:2])
    if len(venues) > 1:
        raise NoVenueError
    return venues[0] if venues else Venue.objects.create(code="HOUSE", name="House")


def _make_table(code: str, lines: Iterable[Line], venue: Venue) -> Table:
    opened = next((line.event for line in lines if isinstance(line.event, ShoeOpened)), None)
    ruleset, decks = ("standard", 8) if opened is None else (opened.ruleset, opened.decks)
    return Table.objects.create(code=code, venue=venue, ruleset=ruleset, decks=decks)


class _Adding:
    """Adds the waiting lines of one shoe (and what came late for shoes before it) to a locked table."""

    def __init__(self, table: Table, waiting: _Waiting, folded: Refolded | None, actor: str, report: Report) -> None:
        """`folded`: the waiting lines' shoe folded at their positions in the file, where they are all of it."""
        self.table = table
        self.waiting = waiting
        self.folded = folded
        self.actor = actor
        self.report = report
        self.out = waiting.out
        self.out_lines: set[int] = set()
        shoes = {waiting.shoe} if folded is not None else {cast(int, line.shoe) for line in waiting.lines}
        self.newest = rows.select_one(Shoe, "WHERE table_id = %s ORDER BY number DESC LIMIT 1", [table.pk])
        self.stored: dict[int, list[tuple[int, str, int | None]]] = {}
        if table.last_seq:
            events = TableEvent.objects.filter(table=table, shoe_number__in=shoes).order_by("seq")
            for shoe, seq, payload, hand in events.values_list("shoe_number", "seq", "payload", "hand_number"):
                self.stored.setdefault(shoe, []).append((seq, payload, hand))
        keys = []
        if table.last_seq:
            keys = [line.event.key for line in waiting.lines if line.event is not None and line.event.key is not None]
        self.keys: dict[str, tuple[int, str]] = {}
        for start in range(0, len(keys), 500):
            found = TableEvent.objects.filter(table=table, key__in=keys[start : start + 500])
            self.keys.update(
                {cast(str, key): (seq, text) for key, seq, text in found.values_list("key", "seq", "payload")}
            )

    def store(self) -> None:
        """Find what can be stored, leaving out hand after hand that cannot, and store it."""
        while True:
            try:
                attempt = self._attempt()
                folded = self._fold(attempt)
                break
            except _Blame as blame:
                self._refuse(blame)
        for position, seq, lines in attempt.known:
            self.waiting.positions.add(position, seq, lines)
        hands = {group for group in attempt.groups if group[1] is not None and group[0] == self.waiting.shoe}
        stored = attempt.grown & hands
        self.report.stored += len(stored)
        self.report.skipped += len(hands - stored)
        if attempt.new:
            self._write(attempt, folded)

    def _refuse(self, blame: _Blame) -> None:
        place = (self.table.code, *blame.group)
        shoe, hand = blame.group
        self.report.refusals.append(Refusal(blame.line.number, blame.error, place, late=shoe != self.waiting.shoe))
        if hand is None and not isinstance(blame.line.event, ShoeOpened):
            self.out_lines.add(blame.line.number)
            return
        groups = (
            [blame.group]
            if hand is not None
            else [group for group in {(line.shoe, line.hand) for line in self.waiting.lines} if group[0] == shoe]
        )
        for group in groups:
            if group[1] is not None and group not in self.out and group[0] == self.waiting.shoe:
                self.report.refused += 1
            self.out.add(cast(Group, group))

    def _attempt(self) -> _Attempt:
        """Tell new lines from stored ones and number the new ones. Raises `_Blame`."""
        attempt = self._whole_shoe()
        if attempt is not None:
            return attempt
        attempt = _Attempt()
        here: dict[int, int] = {}
        behind: dict[Group, Iterator[tuple[int, str]]] = {}
        for shoe, events in self.stored.items():
            if shoe != self.waiting.shoe:  # what came with that shoe's own lines is behind us
                events = [stored for stored in events if not self.waiting.positions.holds(stored[0])]
            for hand in {hand for _, _, hand in events}:
                behind[shoe, hand] = iter([(seq, payload) for seq, payload, h in events if h == hand])
        seq, last_at, now = self.table.last_seq, self.table.last_at, timezone.now()
        out, out_lines, groups, stored_keys = self.out, self.out_lines, attempt.groups, self.keys
        for line in self.waiting.lines:
            event = cast(Event, line.event)
            group = (event.shoe, event.hand)
            if group in out or line.number in out_lines:
                continue
            payload = line.text
            if type(event) is Amended:
                target = here.get(event.seq) or self.waiting.positions.get(event.seq)
                if target is None:
                    raise _Blame(line, group, EventRefused("seq", "no-entry", seq=event.seq))
                if target != event.seq:
                    event, payload = msgspec.structs.replace(event, seq=target), None
            if payload is None:
                payload = format_event(event)
            groups.add(group)
            known = next(behind[group], None) if group in behind else None
            if known is None and event.key is not None and event.key in stored_keys:
                known = stored_keys[event.key]
                if known[1] != payload:
                    error = ImportRefused("key", "key-stored", value=f"'{event.key}'", seq=known[0])
                    raise _Blame(line, group, error)
            if known is not None:
                if known[1] != payload:
                    code = "stored-otherwise" if event.hand is not None else "shoe-stored-otherwise"
                    raise _Blame(line, group, ImportRefused("event", code, seq=known[0]))
                here[line.position] = known[0]
                attempt.known.append((line.position, known[0], 1))
                continue
            at = event.at
            if last_at is not None and at < last_at:
                shown = format_time(last_at.astimezone(at.tzinfo))
                raise _Blame(line, group, ImportRefused("at", "at-earlier", last=shown))
            if at > now:
                try:
                    check_not_ahead(at, now)
                except LogError as error:
                    raise _Blame(line, group, error) from error
            seq, last_at = seq + 1, at
            here[line.position] = seq
            attempt.known.append((line.position, seq, 1))
            attempt.grown.add(group)
            attempt.new.append((seq, event, payload, line))
        return attempt

    def _whole_shoe(self) -> _Attempt | None:
        """All lines that wait, numbered, where they are a shoe that was judged as a whole, and all new."""
        folded, lines, last_at = self.folded, self.waiting.lines, self.table.last_at
        if folded is None or self.stored or self.keys or self.out_lines:
            return None
        if any(shoe == self.waiting.shoe for shoe, _ in self.out):
            return None
        first, last = cast(Event, lines[0].event), cast(Event, lines[-1].event)
        if type(first) is not ShoeOpened or last.at > timezone.now() or (last_at is not None and first.at < last_at):
            return None
        groups: set[Group] = {(first.shoe, hand.number) for hand in folded.hands}
        seq = self.table.last_seq + 1
        attempt = _Attempt(known=[(lines[0].position, seq, len(lines))], groups=groups, grown=groups, whole=True)
        attempt.new = [
            (seq, cast(Event, line.event), line.text or format_event(cast(Event, line.event)), line)
            for seq, line in enumerate(lines, seq)
        ]
        return attempt

    def _fold(self, attempt: _Attempt) -> dict[int, Refolded]:
        """Judge every shoe that gets new lines, with them. Raises `_Blame`."""
        new: dict[int, list[tuple[int, Event, str, Line]]] = {}
        if attempt.whole:
            new[self.waiting.shoe] = attempt.new
            opened = {self.waiting.shoe: attempt.new[0][0]}
        else:
            for added in attempt.new:
                new.setdefault(added[1].shoe, []).append(added)
            withdrawn = {
                event.seq for _, event, _, _ in attempt.new if isinstance(event, Amended) and event.entry is None
            }
            opened = {
                event.shoe: seq
                for seq, event, _, _ in reversed(attempt.new)
                if isinstance(event, ShoeOpened) and seq not in withdrawn
            }
        newest = self.newest
        if newest is not None and opened and newest.number not in new and newest.status == Shoe.Status.OPEN:
            new[newest.number] = []  # it is left for the next, and so is its last hand
        folded = {}
        for shoe in sorted(new):
            if newest is not None and shoe < newest.number and shoe not in self.stored:
                _, event, _, line = new[shoe][0]
                error = EventRefused("shoe", "shoe-behind", shoe=shoe, last=newest.number)
                raise _Blame(line, (event.shoe, event.hand), error)
            following = self._following(shoe, opened)
            if self.folded is not None and following is None and self._is_as_judged(shoe, new[shoe]):
                folded[shoe] = self.folded
                continue
            try:
                folded[shoe] = refold_shoe(
                    self.table.code,
                    [*self._stored_events(shoe), *((seq, event) for seq, event, _, _ in new[shoe])],
                    following,
                )
            except EventError as error:
                raise self._blame(error, new[shoe]) from error
        return folded

    def _is_as_judged(self, shoe: int, new: list[tuple[int, Event, str, Line]]) -> bool:
        """Whether the shoe is new, and all of its lines are added at the positions that they have in the file."""
        lines = self.waiting.lines
        return (
            shoe == self.waiting.shoe
            and shoe not in self.stored
            and (self.newest is None or shoe > self.newest.number)
            and len(new) == len(lines)
            and new[0][0] == lines[0].position
            and new[-1][0] == lines[-1].position
        )

    def _stored_events(self, shoe: int) -> Iterator[Numbered]:
        if shoe in self.stored:
            return ((seq, parse_line(payload)) for seq, payload, _ in self.stored[shoe])
        if self.newest is not None and shoe <= self.newest.number:
            return iter(shoe_rows(self.table, shoe))
        return iter(())

    def _following(self, shoe: int, opened: dict[int, int]) -> int | None:
        """Position of the event that opened the shoe after this one."""
        after = None
        if self.newest is not None and self.newest.number > shoe:
            after = Shoe.objects.filter(table=self.table, number__gt=shoe).order_by("number").first()
        if after is not None:
            return after.first_seq
        return next((opened[number] for number in sorted(opened) if number > shoe), None)

    def _blame(self, error: EventError, new: list[tuple[int, Event, str, Line]]) -> _Blame:
        """Which of the new lines is to blame that the event at `error.at_seq` cannot have happened."""
        lines = {seq: line for seq, _, _, line in new}
        line = lines.get(error.at_seq or 0)
        if line is None:  # a stored event: then an amendment of it, or some other amendment, or the newest line
            amended = [(event.seq == error.at_seq, seq) for seq, event, _, _ in new if isinstance(event, Amended)]
            line = lines[max(amended)[1]] if amended else new[-1][3]
        event = cast(Event, line.event)
        return _Blame(line, (event.shoe, event.hand), error)

    def _write(self, attempt: _Attempt, folded: dict[int, Refolded]) -> None:
        table = self.table
        now = not_before(table)  # both before the rows go out: while they do, the database can be asked nothing else
        sealed = sealer_for(table, self.actor, now)
        if connection.vendor == "postgresql":
            rows.copy_lines(TableEvent, _COLUMNS, self._copied(attempt, now, sealed))
        else:
            rows.insert_values(TableEvent, _COLUMNS, list(self._values(attempt, now, sealed)))
        seq, event, _, _ = attempt.new[-1]
        rows.save_all([(table, ("last_seq", "last_hash", "last_at", "last_recorded_at", "last_seal"))])
        saved = [save_shoe(table, shoe, fold) for shoe, fold in sorted(folded.items())]
        own = next((s.shoe for s in saved if s.shoe is not None and s.shoe.number == event.shoe), None)
        hands = [hand for s in saved for hand in s.hands]
        event_recorded.send(
            sender=TableEvent,
            table=table,
            row=rows.select_one(TableEvent, "WHERE table_id = %s AND seq = %s", [table.pk, seq]),
            event=event,
            shoe=own,
            hand=next((h for h in hands if (h.shoe.number, h.number) == (event.shoe, event.hand)), None),
            hands=hands,
            shoes=[s.shoe for s in saved if s.shoe is not None and s.shoe_changed and s.shoe.pk],
            gone=[(shoe, number) for shoe, s in zip(sorted(folded), saved, strict=True) for number in s.gone],
            same=all(s.new and not (s.shoe and s.shoe.has_findings) for s in saved)
            and not any(hand.has_findings for hand in hands),
        )
        self.report.events += len(attempt.new)

    def _values(self, attempt: _Attempt, now: dt.datetime, sealed: Sealer) -> Iterator[tuple[Any, ...]]:
        """The new rows, as `_COLUMNS` says. The table's head goes along."""
        table, actor, recorded_at = self.table, self.actor, rows.prepared_time(now)
        previous, hashed = table.head_hash, hasher(actor, now)
        seal = table.last_seal
        for seq, event, payload, _ in attempt.new:
            before, previous = previous, hashed(previous, seq, payload)
            seal = sealed(seal or before, seq, payload)
            yield (
                table.pk,
                seq,
                event.shoe,
                event.hand,
                event.name,
                rows.prepared_time(event.at),
                event.key,
                event.by or "",
                payload,
                before,
                previous,
                recorded_at,
                actor,
                seal,
            )
        self._head(seq, previous, event.at, now, seal)

    def _copied(self, attempt: _Attempt, now: dt.datetime, sealed: Sealer) -> Iterator[str]:
        """The new rows as lines for `rows.copy_lines`. The table's head goes along."""
        text = rows.copy_text
        table, start, end = self.table, f"{self.table.pk}\t", f"\t{now.isoformat()}\t{text(self.actor)}\t"
        previous, hashed = table.head_hash, hasher(self.actor, now)
        seal = table.last_seal
        for seq, event, payload, _ in attempt.new:
            before, previous = previous, hashed(previous, seq, payload)
            seal = sealed(seal or before, seq, payload)
            name, hand, key, by = event.name, event.hand, event.key, event.by
            at = _BEFORE_TIME + len(name)  # a canonical line: the time is where it always is
            yield (
                f"{start}{seq}\t{event.shoe}\t{NULL if hand is None else hand}\t{name}\t{payload[at : at + _TIME]}\t"
                f"{NULL if key is None else text(key)}\t{text(by) if by else ''}\t"
                f"{text(payload) if _ESCAPE in payload else payload}\t{before}\t{previous}{end}{seal or NULL}\n"
            )
        self._head(seq, previous, event.at, now, seal)

    def _head(self, seq: int, last_hash: str, at: dt.datetime, recorded_at: dt.datetime, seal: str | None) -> None:
        table = self.table
        table.last_seq, table.last_hash, table.last_at = seq, last_hash, at
        table.last_recorded_at, table.last_seal = recorded_at, seal


#: Where the time stands in a canonical line, after the name, and how long it is.
_BEFORE_TIME: Final = len('{"event": "", "at": "')
_TIME: Final = len("2026-11-28T20:00:01.250+07:00")
NULL: Final = rows.copy_text(None)
#: Without it a line of JSON holds nothing that COPY wants written otherwise: control characters are escaped with it.
_ESCAPE: Final = "\\"

_COLUMNS: Final = (
    "table_id",
    "seq",
    "shoe_number",
    "hand_number",
    "name",
    "at",
    "key",
    "by",
    "payload",
    "prev_hash",
    "hash",
    "recorded_at",
    "actor",
    "seal",
)

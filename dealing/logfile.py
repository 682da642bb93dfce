"""Reading log files: streaming, line by line, without a database and without Django.

A file is read twice. The first pass finds what a line can mean for earlier ones: amendments, decisions that came when
the table was already at a later hand, and repeated keys. The second gives every line to the judge. Memory grows with
those, and with the number of tables, not with the number of hands. :meth:`LogFile.survey` is a first pass that reads
the lines in full; what it read it keeps for the second, up to a limit.

Positions (``seq``) count a table's lines from 1; a line whose key was there before with the same content does not
count.
"""

from __future__ import annotations

import datetime as dt
import re
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple, cast

import msgspec

from dealing.rules.events import (
    EVENTS,
    Amended,
    Event,
    EventError,
    format_event,
    format_time,
    parse_canonical,
    parse_line,
)
from dealing.rules.judge import LATE, EventRefused, HandFold, ShoeFold, TableFold, check_amendment
from dealing.rules.rulesets import Ruleset

#: A longer line is no event of a table.
LINE_LIMIT: Final = 1_000_000

#: What is wrong with a line besides its own content.
LINE_MESSAGES: Final[dict[str, str]] = {
    "line-too-long": "the line is longer than {limit} bytes",
    "key-used": "{value} is the key of another event, on line {line}",
    "at-earlier": "is before the table's last event, which was at {last}",
}


class LineError(EventError):
    """A line that does not go with the lines before it."""

    messages = LINE_MESSAGES


class Line(NamedTuple):
    """One line of a file that is an event, or should be.

    ``position`` is its position at ``table``; ``shoe`` and ``hand`` are what it says of itself, readable or not. Just
    one of ``event`` and ``error`` is there. ``text`` is the event's canonical line, where the line is known to be that.
    """

    number: int
    table: str | None
    position: int
    shoe: int | None
    hand: int | None
    event: Event | None
    error: EventError | None
    text: str | None = None


class BadLine(NamedTuple):
    """A line that was not accepted: its number from 1, and why."""

    number: int
    error: EventError

    def __str__(self) -> str:
        return f"line {self.number}: {self.error}"


class Head(msgspec.Struct):
    """What the first pass looks at."""

    event: str | None = None
    table: str | None = None
    shoe: int | None = None
    hand: int | None = None
    key: str | None = None


_decode_head = msgspec.json.Decoder(Head).decode
#: Events that can mean something for earlier lines.
_LOOKED_AT: Final[frozenset[type[Event]]] = LATE | {Amended}
_LATE_NAMES: Final = frozenset(kind.name for kind in LATE)
_LOOKS: Final = {
    "table": re.compile(rb'"table"\s*:\s*"([A-Z0-9-]{1,16})"'),
    "shoe": re.compile(rb'"shoe"\s*:\s*([0-9]{1,6})\b'),
    "hand": re.compile(rb'"hand"\s*:\s*([0-9]{1,6})\b'),
}


def read_head(raw: bytes) -> Head:
    """What a line says of itself; of a broken one, what can still be made out."""
    try:
        return _decode_head(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        found = {name: look.search(raw) for name, look in _LOOKS.items()}
        table, shoe, hand = (match and match[1].decode() for match in found.values())
        return Head(None, table, int(shoe) if shoe else None, int(hand) if hand else None)


class _Keys:
    """Every key seen, on disk: the number and place of the line that first had it."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("")
        self._db.execute("CREATE TABLE seen (key TEXT PRIMARY KEY, number INT, offset INT) WITHOUT ROWID")

    def first(self, table: str, key: str, number: int, offset: int) -> tuple[int, int] | None:
        """Keep a key; where it is known already, the number and offset of its first line."""
        text = f"{table} {key}"
        done = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", (text, number, offset))
        if done.rowcount:
            return None
        number, offset = self._db.execute("SELECT number, offset FROM seen WHERE key = ?", (text,)).fetchone()
        return number, offset

    def close(self) -> None:
        self._db.close()


class Survey(NamedTuple):
    """What :meth:`LogFile.survey` found.

    ``disordered``: tables that have a line which is bad, or belongs to an earlier shoe than the line before it, or
    amends an entry of an earlier shoe. All others have their shoes one after the other, and each can be judged by
    itself. ``unusual``: shoes of the others, as (table, number), with amendments or decisions on earlier hands: these
    have to be judged line by line, by :func:`fold_lines`.
    """

    disordered: set[str]
    unusual: set[tuple[str, int]]


class LineFolder:
    """What the judge makes of lines, whatever they are read from: broken lines spoil their hand and are put into `bad`.

    First tell it every line (:meth:`look`), then :meth:`looked`, then give the lines to :meth:`folds`.
    """

    def __init__(self, ruleset: Ruleset | None = None) -> None:
        self._ruleset = ruleset
        self._amendments: dict[tuple[str, int], tuple[int, int, Amended]] = {}
        self._late: dict[tuple[str, int, int], list[Line]] = {}
        self._late_numbers: set[int] = set()
        self._at: dict[str, tuple[int, int]] = {}
        self._seen_late: list[tuple[int, str, int, bytes]] = []
        self._seen_amended: list[tuple[int, str, int, bytes]] = []
        #: Lines that were not accepted, as they come up; taken from here by whoever reports them.
        self.bad: list[BadLine] = []

    # -- the first pass

    def look(self, number: int, table: str, position: int, head: Head, raw: bytes) -> None:
        """Take notice of a line that is an amendment, or comes late: when the table was already at a later hand."""
        place = (head.shoe or 0, head.hand or 0)
        if head.event == Amended.name:
            self._seen_amended.append((number, table, position, raw))
        elif head.event in _LATE_NAMES and head.hand and place < self._at.get(table, (0, 0)):
            self._seen_late.append((number, table, position, raw))
        elif head.event in EVENTS:
            self._at[table] = max(self._at.get(table, (0, 0)), place)

    def looked(self, parse: Callable[[int, bytes], tuple[Event | None, EventError | None]]) -> None:
        """All lines have been seen. ``parse`` answers with the event of a line, or what is wrong with it."""
        for number, where, position, raw in self._seen_amended:
            event, _ = parse(number, raw)
            if isinstance(event, Amended):
                self._amendments[where, event.seq] = (number, position, event)
        for number, where, position, raw in self._seen_late:
            event, error = parse(number, raw)
            entry = self._amendments.get((where, position))
            if entry is not None and event is not None and entry[2].seq < entry[1]:
                event = entry[2].entry
                if type(event) not in LATE:
                    continue
            head = read_head(raw)
            if head.shoe is not None and head.hand is not None:
                line = Line(number, where, position, head.shoe, head.hand, event, error)
                self._late.setdefault((where, head.shoe, head.hand), []).append(line)
                self._late_numbers.add(number)
        self._seen_amended.clear()
        self._seen_late.clear()

    # -- the second

    def reached(self, table: str, shoe: int, hand: int) -> None:
        """What :meth:`look` notes of an ordinary line."""
        self._at[table] = max(self._at.get(table, (0, 0)), (shoe, hand))

    def folds(self, lines: Iterable[Line], only: Container[str] | None = None) -> Iterator[HandFold | ShoeFold]:
        """Every hand, then its shoe, in log order; what was not accepted is put into :attr:`bad` as it comes up.

        ``only``: ``lines`` are those of these tables.
        """
        tables: dict[str, TableFold] = {}
        applied: set[int] = set()
        for line in lines:
            if line.table is None:
                self.bad.append(BadLine(line.number, line.error or EventError("table", "missing")))
                continue
            fold = tables.get(line.table)
            if fold is None:
                tables[line.table] = fold = TableFold(line.table, ruleset=self._ruleset)
            left = self._take(fold, line, applied)
            if left:
                yield from self._finish(line.table, left)
        for table, fold in tables.items():
            rest: list[HandFold | ShoeFold] = [] if fold.hand is None else [fold.hand]
            if fold.shoe is not None and fold.shoe.closed is None:
                rest.append(fold.shoe)
            yield from self._finish(table, rest)
        for (table, _, _), late in self._late.items():
            for line in late:
                if line.error is None and (only is None or table in only):
                    error = EventRefused("hand", "no-hand", shoe=line.shoe, hand=line.hand)
                    self.bad.append(BadLine(line.number, error))

    def _take(self, fold: TableFold, line: Line, applied: set[int]) -> tuple[HandFold | ShoeFold, ...]:
        """Give one line to its table's fold; returns what the table left with it."""
        event, error = line.event, line.error
        if isinstance(event, Amended):
            problem = self._unusable(line, event, applied)
            if problem is not None:
                self.bad.append(BadLine(line.number, problem))
                return fold.spoil(line.position, line.shoe, line.hand)
            return ()
        amendment = self._amendments.get((fold.table, line.position))
        if amendment is not None and amendment[1] > line.position:
            number, position, amended = amendment
            try:
                if event is not None:
                    check_amendment(position, amended, event)
            except EventRefused:
                pass  # said at the amendment's own line
            else:
                applied.add(number)
                if error is not None:
                    self.bad.append(BadLine(line.number, error))
                event, error = amended.entry, None
                if event is None:
                    return ()
        if line.number in self._late_numbers:
            if error is not None:
                self.bad.append(BadLine(line.number, error))
            return ()
        if error is None and event is not None:
            try:
                return fold.step(line.position, event)
            except EventError as refused:
                error = refused
        if error is not None:
            self.bad.append(BadLine(line.number, error))
        return fold.spoil(line.position, line.shoe, line.hand)

    def _unusable(self, line: Line, amended: Amended, applied: set[int]) -> EventRefused | None:
        """Why an amendment could not be applied, at its own line."""
        if line.number in applied:
            return None
        last = self._amendments.get((amended.table, amended.seq))
        if last is not None and last[0] != line.number and last[0] > line.number and last[1] > amended.seq:
            return None  # amended again later
        if amended.seq >= line.position:
            return EventRefused("seq", "no-entry", seq=amended.seq)
        return EventRefused("seq", "entry-of-other-hand", seq=amended.seq)

    def _finish(self, table: str, left: Iterable[HandFold | ShoeFold]) -> Iterator[HandFold | ShoeFold]:
        """Let late decisions come to the hands that are left."""
        for fold in left:
            if isinstance(fold, HandFold):
                for line in self._late.pop((table, fold.context.shoe, fold.number), ()):
                    if line.event is None:
                        fold.spoil()
                        continue
                    try:
                        fold.step(line.position, line.event)
                    except EventError as refused:
                        self.bad.append(BadLine(line.number, refused))
                        fold.spoil()
            yield fold


def fold_lines(lines: Sequence[Line]) -> tuple[list[HandFold | ShoeFold], list[BadLine]]:
    """What the judge makes of one whole shoe of a table, all of whose lines are events, and which it did not accept."""
    folder = LineFolder()
    events = {}
    for line in lines:
        event = cast(Event, line.event)
        events[line.number] = (event, None)
        text = format_event(event) if line.text is None else line.text
        head = Head(event.name, event.table, event.shoe, event.hand)
        folder.look(line.number, event.table, line.position, head, text.encode())
    folder.looked(lambda number, raw: events[number])
    return list(folder.folds(lines)), folder.bad


class _Seen:
    """What has been read of a table: how many lines that count, and the time of the last good one."""

    __slots__ = ("at", "position")

    def __init__(self, position: int, at: dt.datetime | None) -> None:
        self.position = position
        self.at = at


class _Reader:
    """How far a file has been read: the number and offset of the last line (once copied: the offset of the next)."""

    __slots__ = ("done", "number", "offset", "table", "tables")

    def __init__(self, offset: int) -> None:
        self.number = 0
        self.offset = offset
        #: The table of the last line.
        self.table: str | None = None
        self.tables: dict[str, _Seen] = {}
        self.done = False

    def copy(self, offset: int) -> _Reader:
        """From here, where the next line is at ``offset``."""
        copy = _Reader(offset)
        copy.number, copy.table = self.number, self.table
        copy.tables = {table: _Seen(seen.position, seen.at) for table, seen in self.tables.items()}
        return copy


class LogFile:
    """A log file, to be read as lines or as what the judge makes of it.

    ``stream`` is a binary file; one that cannot be rewound (standard input) is spooled to disk first. ``ruleset``
    judges by that one whatever the log names. Use as a context manager.
    """

    def __init__(self, stream: BinaryIO, ruleset: Ruleset | None = None) -> None:
        self._spool: BinaryIO | None = None
        if stream.seekable():
            self._file = stream
        else:
            self._spool = self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
            shutil.copyfileobj(stream, self._spool, 1 << 20)
        self._start = 0 if self._spool is not None else stream.tell()
        self._folder = LineFolder(ruleset)
        self._repeated: dict[int, str] = {}  # number of a line that was there before -> its table
        self._keys_reused: dict[int, LineError] = {}
        self._indexed = False
        self._kept: list[Line] = []  # the first lines, read already
        self._after_kept = _Reader(self._start)
        #: Lines that were not accepted, as they come up; taken from here by whoever reports them.
        self.bad = self._folder.bad

    def __enter__(self) -> LogFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the spool, if there is one."""
        if self._spool is not None:
            self._spool.close()

    # -- lines

    def _raw(self, offset: int | None = None, number: int = 0) -> Iterator[tuple[int, int, bytes]]:
        """Each line that is not blank: number, offset in the file, bytes (cut off where it is far too long).

        ``offset``, ``number``: go on from there, after the line of that number.
        """
        offset = self._start if offset is None else offset
        self._file.seek(offset)
        readline = self._file.readline
        while raw := readline(LINE_LIMIT + 1):
            number += 1
            here, size = offset, len(raw)
            offset += size
            if size > LINE_LIMIT:
                while not raw.endswith(b"\n") and (more := self._file.readline(LINE_LIMIT)):
                    offset += len(more)
                    if more.endswith(b"\n"):
                        break
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            if raw[:1] == b"{" or not raw.isspace():
                yield number, here, raw

    def lines(self) -> Iterator[Line]:
        """Every line that counts, in order: repeated ones are left out. Times are checked, the judge is not asked."""
        self._index()
        yield from self._kept
        if not self._after_kept.done:
            yield from self._read(self._after_kept.copy(self._after_kept.offset), None)

    def _read(self, at: _Reader, keys: _Keys | None) -> Iterator[Line]:
        """The lines from ``at`` on, which goes along. With ``keys`` this is the first pass: notice is taken of the
        lines that :meth:`_look` is about.
        """
        tables, repeated, reused = at.tables, self._repeated, self._keys_reused
        for number, offset, raw in self._raw(at.offset, at.number):
            event, error, text = _canonical(raw)
            if event is None or event.key is not None or type(event) in _LOOKED_AT:
                if keys is not None:
                    head = read_head(raw)
                    at.table = _table_of(head, at.table)
                    if at.table is not None:
                        position = tables[at.table].position + 1 if at.table in tables else 1
                        self._look(number, offset, raw, head, at.table, position, keys)
                if number in repeated:
                    at.table = repeated[number]
                    continue
                if event is None or number in reused:
                    (event, error), text = self._parse(number, raw), None
            shoe: int | None
            if event is not None:
                table, shoe, hand, moment = event.table, event.shoe, event.hand, event.at
                at.table = table
                seen = tables.get(table)
                if seen is None:
                    tables[table] = seen = _Seen(0, moment)
                last = seen.at
                if last is None or moment >= last:
                    seen.at = moment
                else:
                    if keys is not None and type(event) not in _LOOKED_AT:
                        self._folder.reached(table, shoe, hand or 0)
                    error = LineError("at", "at-earlier", last=format_time(last.astimezone(moment.tzinfo)))
                    event = None
                seen.position = position = seen.position + 1
            else:
                head = read_head(raw)
                at.table = _table_of(head, at.table)
                shoe, hand, position = head.shoe, head.hand, 0
                if at.table is not None:
                    seen = tables.setdefault(at.table, _Seen(0, None))
                    seen.position = position = seen.position + 1
            at.number, at.offset = number, offset
            yield _line(Line, (number, at.table, position, shoe, hand, event, error, text))
        at.done = True

    def _parse(self, number: int, raw: bytes) -> tuple[Event | None, EventError | None]:
        """The event of a line, or what is wrong with the line by itself."""
        if len(raw) > LINE_LIMIT:
            return None, LineError("event", "line-too-long", limit=LINE_LIMIT)
        if number in self._keys_reused:
            return None, self._keys_reused[number]
        try:
            return parse_line(raw), None
        except EventError as error:
            return None, error

    # -- the first pass

    def _index(self) -> None:
        """Find amendments, late decisions and repeated keys."""
        if self._indexed:
            return
        self._indexed = True
        keys = _Keys()
        positions: dict[str, int] = {}
        table: str | None = None
        for number, offset, raw in self._raw():
            head = read_head(raw)
            table = _table_of(head, table)
            if table is not None:
                position = positions.get(table, 0) + 1
                if self._look(number, offset, raw, head, table, position, keys):
                    positions[table] = position
        keys.close()
        self._folder.looked(self._parse)

    def _look(self, number: int, offset: int, raw: bytes, head: Head, table: str, position: int, keys: _Keys) -> bool:
        """Take notice of a line, unless it is a repeated one: False then."""
        if head.key is not None and head.event in EVENTS:
            first = keys.first(table, head.key, number, offset)
            if first is not None:
                if self._same_as(raw, first[1]):
                    self._repeated[number] = table
                    return False
                self._keys_reused[number] = LineError("key", "key-used", value=f"'{head.key}'", line=first[0])
        self._folder.look(number, table, position, head, raw)
        return True

    def survey(self, keep: int) -> Survey:
        """The first pass, of lines read in full: which tables and shoes cannot be judged shoe by shoe, in bulk.

        To be called before anything else. The lines of the first ``keep`` bytes stay in memory, in four times as many;
        those after them are read again.
        """
        self._indexed = True
        disordered: set[str] = set()
        unusual: set[tuple[str, int]] = set()
        shoes: dict[str, tuple[int, int]] = {}  # the shoe a table is at, and the position of its first line
        hands: dict[str, int] = {}
        keys, reader, keeping = _Keys(), _Reader(self._start), True
        limit = self._start + keep
        for line in self._read(reader, keys):
            if keeping:
                self._kept.append(line)
                if reader.offset >= limit:
                    keeping = False
                    self._after_kept = reader.copy(self._file.tell())
            table, shoe, event = line.table, line.shoe, line.event
            if table is None:
                continue
            if event is None or shoe is None:
                disordered.add(table)
                continue
            at, hand = shoes.get(table), line.hand or 0
            if at is None or shoe != at[0]:
                if at is not None and shoe < at[0]:
                    disordered.add(table)
                shoes[table] = at = (shoe, line.position)
                hands[table] = -1
            if type(event) is Amended:
                unusual.add((table, shoe))
                if event.seq < at[1]:
                    disordered.add(table)
            elif hand > hands[table]:
                hands[table] = hand
                self._folder.reached(table, shoe, hand)
            elif hand < hands[table] and type(event) in LATE:
                unusual.add((table, shoe))
        if keeping:
            self._after_kept = reader
        keys.close()
        self._folder.looked(self._parse)
        return Survey(disordered, unusual)

    def _same_as(self, raw: bytes, offset: int) -> bool:
        """Whether a line says the same as the one at ``offset``."""
        here = self._file.tell()
        self._file.seek(offset)
        first = self._read_line()
        self._file.seek(here)
        try:
            return parse_line(first) == parse_line(raw)
        except EventError:
            return first.strip() == raw.strip()

    def _read_line(self) -> bytes:
        """The line that begins where the file stands."""
        return self._file.readline(LINE_LIMIT + 1)

    # -- what the judge makes of it

    def folds(self, only: Container[str] | None = None) -> Iterator[HandFold | ShoeFold]:
        """Every hand, then its shoe, in log order; what was not accepted is put into :attr:`bad` as it comes up.

        ``only``: of these tables, and what belongs to none.
        """
        self._index()
        lines = self.lines()
        if only is not None:
            lines = (line for line in lines if line.table is None or line.table in only)
        return self._folder.folds(lines, only)

    # -- in parts

    def split(self, parts: Sequence[BinaryIO]) -> None:
        """Write every line into one of ``parts``, all of a table into the same: files for :class:`LogPart`, rewound.

        Each part says of its tables what the whole file would.
        """
        part_of: dict[str, int] = {}
        table: str | None = None
        for number, _, raw in self._raw():
            table = _table_of(read_head(raw), table)
            part = 0 if table is None else part_of.setdefault(table, len(part_of) % len(parts))
            parts[part].write(_FRAME.pack(number, len(raw)) + raw)
        for file in parts:
            file.seek(0)


class LogPart(LogFile):
    """Some tables' lines of a log file, as :meth:`LogFile.split` wrote them, numbered as in the whole."""

    def _raw(self, offset: int | None = None, number: int = 0) -> Iterator[tuple[int, int, bytes]]:
        offset = self._start if offset is None else offset
        self._file.seek(offset)
        read, frame_size, unpack = self._file.read, _FRAME.size, _FRAME.unpack
        while frame := read(frame_size):
            number, size = unpack(frame)
            yield number, offset, read(size)
            offset += frame_size + size

    def _read_line(self) -> bytes:
        _, size = _FRAME.unpack(self._file.read(_FRAME.size))
        return self._file.read(size)


#: What stands before a line in a part: its number in the whole file, and its length in bytes.
_FRAME: Final = struct.Struct("<QL")


def _canonical(raw: bytes) -> tuple[Event | None, None, str | None]:
    """The event and the text of a line that ends as a canonical one does, and is one; else none."""
    if raw[-2:] != b"}\n" or len(raw) > LINE_LIMIT:
        return _NOT_CANONICAL
    try:
        text = raw[:-1].decode()
    except UnicodeDecodeError:
        return _NOT_CANONICAL
    event = parse_canonical(text)
    return _NOT_CANONICAL if event is None else (event, None, text)


_NOT_CANONICAL: Final = (None, None, None)
#: A `Line` of its fields: what calling it comes to, in half the time.
_line = cast(Callable[[type[Line], tuple[object, ...]], Line], tuple.__new__)
_is_table = re.compile(r"[A-Z0-9-]{1,16}").fullmatch


def _table_of(head: Head, before: str | None) -> str | None:
    """The table a line belongs to: the one it names, else that of the line before it."""
    named = head.table
    if named is not None and _is_table(named):
        return named
    return before

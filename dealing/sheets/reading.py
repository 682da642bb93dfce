"""Reads a file into rows of cells: .csv of any usual dialect and characters, .xlsx, .json. Bounded in every direction.

`read_book(data, name)` gives a `Book`, or raises `SheetError`. Row numbers are those that a spreadsheet program shows;
for JSON the place in the list. Numbers become text (`9.0` is `9`), dates and times stay what they are, formulas give
the value last worked out.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final, NamedTuple

from defusedxml import DTDForbidden
from defusedxml.ElementTree import ParseError, iterparse

from dealing.sheets.cells import UNWORKED, Cell
from dealing.sheets.errors import SheetError, shown

#: The largest file, and what it may come to when unpacked.
MEGABYTES: Final = 20
UNPACKED_MEGABYTES: Final = 300
STRINGS_MEGABYTES: Final = 60
#: Everything of an .xlsx file beside its sheets and their texts: styles, names and the like.
OTHER_MEGABYTES: Final = 20
_STRINGS: Final = 1_000_000
#: Rows that hold something; a sheet for people has fewer.
ROWS: Final = 200_000
#: After so many empty rows in a row nothing more is read: a stray cell far below, or a column of styles, is no hand.
EMPTY_ROWS: Final = 1_000
#: Rows that are looked at, empty ones too, and columns.
_ROWS_SEEN: Final = 1_100_000
#: Tags of one row of an .xlsx file: 16,384 cells with a formula and a value have fewer.
_ROW_TAGS: Final = 200_000
#: How long reading may take, in seconds.
SECONDS: Final = 300.0
COLUMNS: Final = 120
#: A longer cell is cut: no cell that is read here is.
_CELL: Final = 500

ENCODINGS: Final = {"utf-8": "utf-8-sig", "utf-16": "utf-16", "cp874": "cp874", "cp1252": "cp1252"}
SEPARATORS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}


class Row(NamedTuple):
    """A row that holds something: its number in the file, from 1, and its cells."""

    number: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Book:
    """One sheet of a file, with what was found out about the file."""

    name: str
    kind: str
    rows: tuple[Row, ...]
    #: The sheets of the file, and which one this is; for .xlsx.
    sheets: tuple[str, ...] = ()
    sheet: str = ""
    #: How it was read; for .csv, names of `ENCODINGS` and `SEPARATORS`.
    encoding: str = ""
    separator: str = ""
    #: Names of the columns where the file itself gives them (JSON).
    heads: tuple[str, ...] = field(default=())
    #: The last row before so many empty ones that what lies below was not read; 0 where everything was.
    ended: int = 0

    @property
    def width(self) -> int:
        """How many columns there are."""
        return max([len(self.heads), *(len(row.cells) for row in self.rows)], default=0)


def read_book(
    data: bytes,
    name: str,
    *,
    sheet: str = "",
    encoding: str = "",
    separator: str = "",
    rows: int = ROWS,
    seconds: float = SECONDS,
) -> Book:
    """Read a file. `sheet`: which sheet of an .xlsx file (default: the one that looks most like hands); `encoding`,
    `separator`: as which a .csv file is to be read (default: found out); `rows`, `seconds`: how many rows may hold
    something, and how long reading an .xlsx file may take. Raises SheetError.
    """
    if not data.strip():
        raise SheetError("file-empty")
    if len(data) > MEGABYTES * 2**20:
        raise SheetError("file-too-large", limit=MEGABYTES)
    ending = name.lower().rpartition(".")[2] if "." in name else ""
    if data[:4] == b"PK\x03\x04":
        book = _read_xlsx(data, name, sheet, rows, time.monotonic() + seconds)
    elif data[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise SheetError("xls-old")
    elif ending == "json":
        book = _read_json(data, name, rows)
    elif ending in ("csv", "tsv", "txt"):
        book = _read_csv(data, name, encoding, separator, rows)
    elif ending == "xlsx":
        raise SheetError("xlsx-broken")
    else:
        raise SheetError("file-kind", value=shown(name))
    if not book.rows:
        raise SheetError("no-rows")
    return book


def _kept(rows: Iterable[tuple[int, Iterable[Cell]]], limit: int) -> tuple[tuple[Row, ...], int]:
    """The rows that hold something, and the last of them where what lies below was not read, or else 0. Raises
    SheetError where there are too many.
    """
    out: list[Row] = []
    for number, cells in rows:
        if number - (out[-1].number if out else 0) > EMPTY_ROWS + 1:
            return tuple(out), out[-1].number if out else number
        kept = tuple(cells)
        while kept and (kept[-1] is None or kept[-1] == ""):
            kept = kept[:-1]
        if not kept:
            continue
        if len(out) > limit:  # one more than hands: the heads
            raise _too_many(limit)
        out.append(Row(number, kept))
    return tuple(out), 0


def _too_many(limit: int) -> SheetError:
    return SheetError("too-many-rows" if limit >= ROWS else "too-many-here", limit=f"{limit:,}")


def _cell(value: object) -> Cell:
    """A value as a cell."""
    if value is None or isinstance(value, dt.datetime | dt.date | dt.time):
        return value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 10**15:
            return str(int(value))
        return repr(value)
    if isinstance(value, int) and abs(value) >= 10**15:
        return "?"  # longer than any cell that is read here; Python refuses to write very long ones
    if isinstance(value, dt.timedelta):  # how a spreadsheet keeps a time of day that was added up
        seconds = int(value.total_seconds())
        return dt.time(seconds // 3600 % 24, seconds // 60 % 60, seconds % 60) if seconds >= 0 else str(value)[:_CELL]
    if value == UNWORKED:
        return UNWORKED
    return str(value).replace("\0", " ").strip()[:_CELL]


# CSV.


def _decoded(data: bytes, encoding: str) -> tuple[str, str]:
    """The text of a file and what it was read as."""
    if encoding:
        if encoding not in ENCODINGS:
            raise SheetError("not-a-choice", field="encoding", value=shown(encoding), choices=", ".join(ENCODINGS))
        if encoding == "utf-16" and not _marked(data):
            raise SheetError("encoding-wrong", value=encoding)
        try:
            return data.decode(ENCODINGS[encoding]), encoding
        except UnicodeError:
            raise SheetError("encoding-wrong", value=encoding) from None
    # UTF-16 only where it says so: any bytes are some text in it.
    tries = ["utf-16"] if _marked(data) else ["utf-8", "cp874", "cp1252"]
    for name in tries:
        try:
            return data.decode(ENCODINGS[name]), name
        except UnicodeError:
            continue
    raise SheetError("encoding-unknown")


def _marked(data: bytes) -> bool:
    """Whether it begins with the mark of UTF-16."""
    return data[:2] in (b"\xff\xfe", b"\xfe\xff")


#: What no text has in it.
_CONTROL: Final = re.compile("[\0-\x08\x0e-\x1f\x7f]")


def _read_csv(data: bytes, name: str, encoding: str, separator: str, limit: int) -> Book:
    text, encoding = _decoded(data, encoding)
    if _is_something_else(text):
        raise SheetError("file-kind", value=shown(name))
    text = text.rstrip("\x1a")  # by which old programs end a file
    if (control := _CONTROL.search(text)) is not None:
        row = len(text[: control.start()].splitlines()) or 1
        raise SheetError("csv-broken", row=row, detail=f"U+{ord(control[0]):04X}")
    if text.startswith("sep=") and len(text) > 4:  # a line by which Excel is told the separator
        first, _, rest = text.partition("\n")
        mark = first[4:].strip("\r") or "\t"
        separator = separator or next((known for known, c in SEPARATORS.items() if c == mark), "")
        text = "\n" + rest
    if separator and separator not in SEPARATORS:
        raise SheetError("not-a-choice", field="separator", value=shown(separator), choices=", ".join(SEPARATORS))
    separator = separator or _separator_of(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=SEPARATORS[separator])

    def rows() -> Iterator[tuple[int, Iterable[Cell]]]:
        number = 0
        try:
            for number, cells in enumerate(reader, 1):
                if number > _ROWS_SEEN:
                    raise _too_many(limit)
                yield number, (_cell(cell) for cell in cells[:COLUMNS])
        except csv.Error as error:
            raise SheetError("csv-broken", row=number + 1, detail=str(error)) from None

    found, ended = _kept(rows(), limit)
    return Book(name, "csv", found, encoding=encoding, separator=separator, ended=ended)


def _is_something_else(text: str) -> bool:
    """Whether it is a web page, a document, a picture or a program, whatever it is called: any bytes are some text."""
    start = text[:4000].lstrip()
    return start.startswith(("<", "%PDF-")) or sum(c < " " and c not in "\t\n\v\f\r" for c in start) > 8


def _separator_of(text: str) -> str:
    """Which separator makes the most even rows; where none does, what the standard library thinks."""
    sample = "".join(text[:60_000].splitlines(keepends=True)[:200])
    best: tuple[float, int] = (0.0, 0)
    found = ""
    for name, mark in SEPARATORS.items():
        try:
            widths = Counter(
                len(cells) for cells in csv.reader(io.StringIO(sample, newline=""), delimiter=mark) if cells
            )
        except csv.Error:
            continue
        if not widths:
            continue
        width, times = widths.most_common(1)[0]
        # Rows of three cells separated by ; may each hold “9,3,K”: the more even separator is the one.
        score = (round(times / widths.total(), 2), width)
        if width > 1 and score > best:
            best, found = score, name
    if best[0] >= 0.5:
        return found
    try:
        mark = csv.Sniffer().sniff(sample, "".join(SEPARATORS.values())).delimiter
        return next(name for name, known in SEPARATORS.items() if known == mark)
    except (csv.Error, StopIteration):
        return found or "comma"


# XLSX.


def _read_xlsx(data: bytes, name: str, sheet: str, limit: int, until: float) -> Book:
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # A packed file is read up to the sizes that its table of contents names, and no further.
            sizes = {member.filename.lower(): member.file_size for member in archive.infolist()}
            strings = sizes.get("xl/sharedstrings.xml", 0)
            if sum(sizes.values()) > UNPACKED_MEGABYTES * 2**20 or strings > STRINGS_MEGABYTES * 2**20:
                raise SheetError("xlsx-too-large", limit=UNPACKED_MEGABYTES)
            others = (
                size
                for part, size in sizes.items()
                if part.endswith((".xml", ".rels")) and not part.startswith(("xl/worksheets/", "xl/sharedstrings."))
            )
            if sum(others) > OTHER_MEGABYTES * 2**20 or _strings_of(archive) > _STRINGS:
                raise SheetError("xlsx-too-much")
            if _declares(archive, until):
                raise SheetError("xlsx-broken")
    except SheetError:
        raise
    except Exception:  # noqa: BLE001  # as below
        raise SheetError("xlsx-broken") from None
    try:
        workbook = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        try:
            return _sheet_of(workbook, name, sheet, limit, until)
        finally:
            workbook.close()
    except SheetError:
        raise
    except Exception:  # noqa: BLE001  # a file made by hand can break the library anywhere: it is not readable
        raise SheetError("xlsx-broken") from None


def _declares(archive: zipfile.ZipFile, until: float) -> bool:
    """Whether any part declares a document type: no program writes one, and entities come with it."""
    for member in archive.infolist():
        if time.monotonic() > until:
            raise SheetError("xlsx-too-slow")
        with archive.open(member) as stream:
            try:
                # As far as the first element: nothing is declared after it.
                next(iter(iterparse(stream, ("start",), forbid_dtd=True)), None)
            except DTDForbidden:
                return True
            except ParseError:
                continue  # a picture, say; whether a sheet can be read is seen where it is read
    return False


def _strings_of(archive: zipfile.ZipFile) -> int:
    """How many texts the sheets of a file share, as fast as it can be told."""
    part = next((one for one in archive.namelist() if one.lower() == "xl/sharedstrings.xml"), None)
    if part is None:
        return 0
    count, before = 0, b""
    with archive.open(part) as stream:
        while block := stream.read(1 << 20):
            count += (before + block).count(b"<si")
            before = block[-2:]
    return count


def _sheet_of(workbook: Any, name: str, asked: str, limit: int, until: float) -> Book:
    known = tuple(one.title for one in workbook.worksheets)
    if asked and asked not in known:
        raise SheetError("no-such-sheet", value=shown(asked), known=", ".join(known))
    first: Book | None = None
    best: tuple[int, Book] | None = None
    error: SheetError | None = None
    for title in (asked,) if asked else known[:SHEETS]:
        try:
            rows, ended = _kept(_rows_of(workbook[title], until), limit)
        except SheetError as wrong:
            if wrong.code == "xlsx-too-slow":
                raise
            error = error or wrong
            continue
        book = Book(name, "xlsx", rows, sheets=known, sheet=title, ended=ended)
        if not rows:
            first = first or book
            continue
        score = likeness(book) if len(known) > 1 else 0
        if best is None or score > best[0]:
            best = score, book
    if best is not None:
        return best[1]
    if error is not None:
        raise error
    if first is None:
        raise SheetError("no-rows")
    return first


#: So many sheets of a file are looked at for the one with the hands.
SHEETS: Final = 50


def likeness(book: Book) -> int:
    """How much a sheet looks like hands: the more rows with cards the more, and known heads before everything."""
    from dealing.sheets.mapping import guess  # it knows books

    found = guess(book)
    try:
        found.check()
        whole = True
    except SheetError as error:
        whole = error.code == "order-missing"
    return whole * 1_000_000 + len(found.columns) * 1_000 + min(len(found.body(book)), 999)


class _Watched:
    """A part of a packed file that is read only as long as no row of it is endless and the time is not over."""

    def __init__(self, stream: IO[bytes], until: float) -> None:
        self.stream, self.until = stream, until
        self.tags = 0

    def read(self, size: int = -1) -> bytes:
        """As a file reads. Raises SheetError."""
        block = self.stream.read(size)
        self.tags += block.count(b"<")
        if self.tags > _ROW_TAGS:
            raise SheetError("xlsx-too-much")
        if time.monotonic() > self.until:
            raise SheetError("xlsx-too-slow")
        return block


def _rows_of(sheet: Any, until: float) -> Iterator[tuple[int, Iterable[Cell]]]:
    """The rows that a sheet's part of the file has, with their own numbers: the library's own walk makes up every row
    between them.
    """
    from openpyxl.worksheet._reader import FORMULA_TAG, VALUE_TAG, WorkSheetParser

    class Parser(WorkSheetParser):
        """Tells a formula that nobody worked out from an empty cell."""

        def parse_cell(self, element: Any) -> dict[str, Any]:
            cell: dict[str, Any] = super().parse_cell(element)
            # One whose answer is an empty text has a value, and says that it is a text.
            empty_text = element.get("t") == "str" and element.find(VALUE_TAG) is not None
            if cell["value"] is None and not empty_text and element.find(FORMULA_TAG) is not None:
                cell["value"] = UNWORKED
            return cell

    book = sheet.parent
    with sheet._get_source() as source:  # there is no other way to the rows that are there
        watched = _Watched(source, until)
        parser = Parser(
            watched,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        last = 0
        for seen, (number, found) in enumerate(parser.parse(), 1):
            watched.tags = 0
            if seen > _ROWS_SEEN or number > _ROWS_SEEN:
                return
            if number <= last:  # a row that is there twice: the first counts
                continue
            last = number
            cells: dict[int, Cell] = {
                cell["column"]: _cell(cell["value"])
                for cell in found
                if cell["column"] <= COLUMNS and cell["value"] is not None
            }
            yield number, [cells.get(at) for at in range(1, max(cells, default=0) + 1)]


# JSON.


def _read_json(data: bytes, name: str, limit: int) -> Book:
    text, _ = _decoded(data, "")
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise SheetError("json-broken", line=error.lineno, column=error.colno) from None
    except (RecursionError, ValueError):
        raise SheetError("json-broken", line=1, column=1) from None
    if isinstance(told, dict):
        told = told.get("hands")
    if not isinstance(told, list):
        raise SheetError("json-shape")
    if len(told) > limit:
        raise _too_many(limit)
    heads: dict[str, int] = {}
    rows = []
    for number, hand in enumerate(told, 1):
        if not isinstance(hand, dict):
            raise SheetError("json-hand", row=number)
        cells: dict[int, Cell] = {}
        for key, value in _flat(hand):
            at = heads.setdefault(key, len(heads))
            if at < COLUMNS:
                cells[at] = value
        rows.append((number, [cells.get(at) for at in range(max(cells, default=-1) + 1)]))
    found, ended = _kept(rows, limit)
    return Book(name, "json", found, heads=tuple(heads)[:COLUMNS], ended=ended)


def _flat(hand: dict[str, Any], before: str = "", depth: int = 0) -> Iterator[tuple[str, Cell]]:
    """The keys of an object, those of objects within it too (`player.cards`); a list of cards is one cell."""
    for key, value in hand.items():
        name = f"{before}{key}"[:100]
        if isinstance(value, dict) and depth < 3:
            yield from _flat(value, f"{name}.", depth + 1)
        elif isinstance(value, list):
            parts = ("-" if one is None else _cell(one) for one in value[:50])
            yield name, " ".join(str(part) for part in parts if part != "-")[:_CELL]
        elif isinstance(value, dict):
            yield name, "?"
        else:
            yield name, _cell(value)

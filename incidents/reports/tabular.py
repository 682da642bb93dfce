"""A report as spreadsheet and as CSV: every finding and payment of the tables' own figures, not the cut lists.

Numbers and times are real ones, times in the house's own. Text stays text: what people typed is never a formula, in
the spreadsheet by its cell's type, in the CSV by an apostrophe before it.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, BinaryIO, Final, cast
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter

from dealing import wording
from dealing.night import Found, TableNight, WrongPaid
from incidents.models import Incident

from . import telling
from .figures import Figures, MonthFigures
from .models import AuditReport, TableAudit

#: Rows that a sheet of a spreadsheet may have, and characters that a cell may hold.
ROWS: Final = 1_048_576
CHARACTERS: Final = 32_767
#: What a spreadsheet takes for the beginning of a formula when it reads a CSV.
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

Cell = str | int | float | Decimal | dt.datetime | dt.date | None
#: A column: its heading, its width in characters, and the number format of its cells where that matters.
Column = tuple[str, int, str]
DATE: Final = "yyyy-mm-dd"
TIME: Final = "yyyy-mm-dd hh:mm:ss"
MONEY: Final = "#,##0.00"
RATE: Final = "0.00"

Night = tuple[dt.date, TableNight]


def nights_of(report: AuditReport) -> Iterator[Night]:
    """The tables' own figures behind the report, one at a time: of a month, those of the reports it was made of."""
    if report.kind == AuditReport.Kind.NIGHTLY:
        runs = [(report.day, report.run_id)]
    else:
        revisions = {line.day: line.revision for line in report.monthly.days}
        found = AuditReport.objects.filter(
            venue=report.venue_id, kind=AuditReport.Kind.NIGHTLY, day__in=list(revisions)
        ).order_by("day")
        runs = [
            (day, run)
            for day, revision, run in found.values_list("day", "revision", "run_id")
            if revisions[day] == revision
        ]
    for day, run in runs:
        if run is None:
            continue
        parts = TableAudit.objects.filter(run=run, night__isnull=False).order_by("table__code")
        for part in parts.only("night").iterator(chunk_size=8):
            yield day, part.read_night()


def _words(text: str) -> str:
    return ILLEGAL_CHARACTERS_RE.sub("", " ".join(text.split()))


# The CSV: one line a finding.


def write_csv(report: AuditReport, file: BinaryIO) -> None:
    """All findings, UTF-8 with the mark by which spreadsheets know it."""
    zone = ZoneInfo(_figures(report).time_zone)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=False)
    out = csv.writer(text)
    out.writerow([heading for heading, _width, _format in _finding_columns()])
    for row in _finding_rows(report):
        out.writerow([_csv_cell(cell, zone) for cell in row])
    text.flush()
    text.detach()


def _csv_cell(cell: Cell, zone: ZoneInfo) -> Any:
    if isinstance(cell, dt.datetime):
        return cell.astimezone(zone).isoformat()
    if isinstance(cell, str) and cell.startswith(FORMULA):
        return "'" + cell
    return cell


def _figures(report: AuditReport) -> Figures | MonthFigures:
    return report.nightly if report.kind == AuditReport.Kind.NIGHTLY else report.monthly


def _finding_columns() -> list[Column]:
    return [
        (_("Gaming day"), 12, DATE),
        (_("Table"), 9, ""),
        (_("Name"), 16, ""),
        (_("Shoe"), 7, ""),
        (_("Hand"), 7, ""),
        (_("Time"), 20, TIME),
        (_("Event"), 10, ""),
        (_("Code"), 24, ""),
        (_("Finding"), 36, ""),
        (_("Rules"), 22, ""),
        (_("Ruling"), 18, ""),
        (_("Mandatory"), 11, ""),
        (_("Put right at the table"), 12, ""),
        (_("What became of it"), 18, ""),
        (_("Decision"), 26, ""),
        (_("Dealer"), 12, ""),
    ]


def yes_no(value: bool) -> str:
    """The word."""
    return pgettext("answer", "yes") if value else pgettext("answer", "no")


@dataclass
class Outcome:
    """What has become of an incident by now: its status, and the actions of the decision that speaks."""

    status: str
    actions: Sequence[str] = ()


#: The incidents of some shoes of a table by shoe and hand (0: of the shoe), with the codes that each knows.
Outcomes = dict[tuple[int, int], tuple[Outcome, set[str]]]


def outcomes_of(night: TableNight) -> Outcomes:
    """What has become of a table's findings, as of now; three statements."""
    shoes = {one.shoe for one in night.findings}
    if not shoes:
        return {}
    kept = Incident.objects.filter(
        table__code=night.table, shoe_number__gte=min(shoes), shoe_number__lte=max(shoes)
    ).prefetch_related("findings", "decisions")
    out: Outcomes = {}
    for one in kept:
        last = max(one.decisions.all(), key=lambda decision: decision.number, default=None)
        outcome = Outcome(one.status, () if last is None else list(last.actions))
        out[one.shoe_number, one.hand_number or 0] = outcome, {found.code for found in one.findings.all()}
    return out


def _became(found: Found, outcomes: Outcomes) -> list[Cell]:
    """The status of the finding's incident and what was decided; nothing is decided of what no incident knows."""
    outcome, codes = outcomes.get((found.shoe, found.hand), (None, set()))
    if outcome is None or found.code not in codes:
        return [_("No incident"), None]
    decided = outcome.status == Incident.Status.DECIDED
    actions = " + ".join(map(wording.action_name, outcome.actions)) if decided else ""
    return [str(Incident.Status(outcome.status).label), actions or None]


def _finding_rows(report: AuditReport) -> Iterator[list[Cell]]:
    for day, night in nights_of(report):
        outcomes = outcomes_of(night)
        for found in night.findings:
            yield _finding_row(day, night, found, outcomes)


def _finding_row(day: dt.date, night: TableNight, found: Found, outcomes: Outcomes) -> list[Cell]:
    return [
        day,
        night.table,
        _words(night.name),
        found.shoe,
        found.hand or None,
        found.at,
        found.seq,
        found.code,
        wording.finding_title(found.code),
        ", ".join(found.rules),
        wording.action_name(found.ruling),
        yes_no(found.mandatory),
        yes_no(found.state == "corrected"),
        *_became(found, outcomes),
        _words(found.dealer),
    ]


# The spreadsheet.


def write_xlsx(report: AuditReport, file: BinaryIO) -> None:
    """All sheets. The file is written from beginning to end, a table's figures at a time."""
    book = _Book(ZoneInfo(_figures(report).time_zone))
    try:
        _sheets(book, report)
        book.book.save(file)
    except BaseException:
        book.abandon()
        raise


def _sheets(book: _Book, report: AuditReport) -> None:
    figures = _figures(report)
    told = telling.tell(report)
    book.sheet(_("Summary"), [("", 44, ""), ("", 24, "")], _summary_rows(report, figures, told))
    if isinstance(figures, Figures):
        _attention(book, told)
    else:
        _days(book, figures)
    kept = book.sheet(
        _("Findings"),
        _finding_columns(),
        _finding_rows(report),
    )
    if kept < figures.findings:
        book.notes.append(
            _("The sheet of findings holds %(kept)s of %(all)s.")
            % {"kept": telling.number(kept), "all": telling.number(figures.findings)}
        )
    book.sheet(
        _("Payouts"),
        _payout_columns(),
        (_payout_row(day, night, wrong) for day, night in nights_of(report) for wrong in night.payouts),
    )
    _tables(book, figures)
    _dealers(book, figures)
    if isinstance(figures, Figures):
        book.sheet(
            _("Hours"),
            [(_("Hour"), 20, TIME), (_("Hands"), 10, ""), (_("Findings"), 10, "")],
            ([hour.begins, hour.hands, hour.findings] for hour in figures.hours),
        )
    _rates(book, figures)
    if book.notes:
        book.sheet(_("Notes"), [(_("Notes"), 100, "")], ([note] for note in book.notes))


class _Book:
    """A workbook that is written row by row, its times on the clocks of `zone`."""

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone
        self.book = Workbook(write_only=True)
        self.notes: list[str] = []
        self._head = Font(bold=True)
        self._fill = PatternFill("solid", start_color="DDE8E1")

    def sheet(self, title: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> int:
        """Another sheet; how many rows it took. Rows beyond what a sheet may have are left out."""
        sheet = self.book.create_sheet(title[:31])
        for at, (_heading, width, _format) in enumerate(columns, 1):
            sheet.column_dimensions[get_column_letter(at)].width = width
        taken = 0
        if any(heading for heading, _width, _format in columns):
            sheet.freeze_panes = "A2"
            sheet.append([self._heading(sheet, heading) for heading, _width, _format in columns])
        formats = [form for _heading, _width, form in columns]
        for row in rows:
            if taken == ROWS - 1:
                break
            sheet.append([self._cell(sheet, cell, form) for cell, form in zip(row, formats, strict=True)])
            taken += 1
        return taken

    def _heading(self, sheet: Any, text: str) -> Any:
        cell = WriteOnlyCell(sheet, text)
        cell.data_type = "s"
        cell.font, cell.fill, cell.alignment = self._head, self._fill, Alignment(wrap_text=True, vertical="top")
        return cell

    def _cell(self, sheet: Any, value: Cell, form: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, str):
            if isinstance(value, int) and not form:
                return value
            if isinstance(value, dt.datetime):  # a spreadsheet knows no zones
                value = value.astimezone(self.zone).replace(tzinfo=None)
            cell = WriteOnlyCell(sheet, cast(Any, value))
            cell.number_format = form or (MONEY if isinstance(value, Decimal) else cell.number_format)
            return cell
        if not value.startswith(("=", "#", "+", "-", "@")):
            return value[:CHARACTERS]
        cell = WriteOnlyCell(sheet, value[:CHARACTERS])
        # What is written as text is text; the mark keeps it so when somebody edits the cell.
        cell.data_type, cell.quotePrefix = "s", True
        return cell

    def abandon(self) -> None:
        """End the sheets, which otherwise complain when they are collected."""
        for sheet in self.book.worksheets:
            with suppress(Exception):
                sheet.close()


def _summary_rows(report: AuditReport, figures: Figures | MonthFigures, told: telling.Told) -> Iterator[list[Cell]]:
    yield [told.title, told.house]
    yield [_("Gaming day") if report.kind == AuditReport.Kind.NIGHTLY else _("Month"), report.day]
    yield [_("Time zone"), figures.time_zone]
    yield [_("Revision"), report.revision]
    yield [_("Made"), report.made_at]
    yield [_("What became of the findings is as of"), timezone.now()]
    yield [told.summary, report.attention]
    for label, value in (
        (_("Hands"), figures.hands),
        (_("Events"), figures.events),
        (_("Findings"), figures.findings),
        (_("Void hands"), figures.voided),
        (_("Tests that say that something is not chance"), report.flags),
    ):
        yield [label, value]
    money = figures.attention if isinstance(figures, Figures) else figures
    yield [_("Paid too much, still"), money.overpaid]
    yield [_("Paid too little, still"), money.underpaid]
    yield [_("Paid wrongly, put right since"), money.overpaid_corrected + money.underpaid_corrected]
    for note in told.notes:
        yield [note, None]
    yield [None, None]
    yield [_("Findings by kind"), None]
    for code, count in sorted(figures.codes.items(), key=lambda pair: (-pair[1], pair[0])):
        yield [wording.finding_title(code), count]
    yield [None, None]
    yield [_("Decisions and their money"), None]
    decided = figures.decisions
    for label, amount in (
        (_("Decisions"), decided.decisions),
        (_("Hands declared void"), decided.voided_hands),
        (_("Stakes given back on them"), decided.void_returned),
        (_("What had been owed on them"), decided.void_owed),
        (_("What the house would have kept of them"), decided.void_kept),
        (_("Hands corrected"), decided.corrected_hands),
        (_("What correcting changed of what was owed"), decided.corrected),
        (_("From incident to decision, half of them within (seconds)"), decided.median),
        (_("Nine of ten within (seconds)"), decided.slowest_tenth),
        (_("The longest (seconds)"), decided.longest),
    ):
        yield [label, amount]
    yield [None, None]
    yield [_("Entries put right, by person"), None]
    for one in figures.amenders:
        yield [_words(f"{one.person} {one.name}"), one.corrected + one.withdrawn]


def _attention(book: _Book, told: telling.Told) -> None:
    def rows() -> Iterator[list[Cell]]:
        for group in (*told.groups, told.flags):
            for line in group.lines:
                yield [group.title, _words(line.where), _words(line.text), _words(line.aside)]
            if group.more:
                yield [group.title, None, group.more, None]

    book.sheet(
        _("Attention"), [(_("What"), 44, ""), (_("Where"), 24, ""), (_("Which"), 80, ""), (_("More"), 24, "")], rows()
    )


def _days(book: _Book, figures: MonthFigures) -> None:
    book.sheet(
        _("Days"),
        [
            (_("Day"), 12, DATE),
            (_("Revision"), 9, ""),
            (_("Hands"), 10, ""),
            (_("Events"), 10, ""),
            (_("Findings"), 10, ""),
            (_("Wants attention"), 12, ""),
            (_("Paid too much"), 16, MONEY),
            (_("Paid too little"), 16, MONEY),
            (_("Hash chain"), 12, ""),
        ],
        (
            [
                line.day,
                line.revision,
                line.hands,
                line.events,
                line.findings,
                line.attention,
                line.overpaid,
                line.underpaid,
                telling.chain_word(line.chain_whole),
            ]
            for line in figures.days
        ),
    )


def _payout_columns() -> list[Column]:
    return [
        (_("Gaming day"), 12, DATE),
        (_("Table"), 9, ""),
        (_("Shoe"), 7, ""),
        (_("Hand"), 7, ""),
        (_("Time"), 20, TIME),
        (_("Seat"), 7, ""),
        (_("Bet"), 18, ""),
        (_("Owed"), 14, MONEY),
        (_("Paid"), 14, MONEY),
        (_("Difference"), 14, MONEY),
        (_("Corrected since"), 11, ""),
        (_("Without commission"), 12, ""),
        (_("Dealer"), 12, ""),
    ]


def _payout_row(day: dt.date, night: TableNight, wrong: WrongPaid) -> list[Cell]:
    return [
        day,
        night.table,
        wrong.shoe,
        wrong.hand,
        wrong.at,
        wrong.seat,
        wording.bet_name(wrong.bet),
        wrong.owed,
        wrong.paid,
        wrong.paid - wrong.owed,
        yes_no(wrong.corrected),
        yes_no(wrong.without_commission),
        _words(wrong.dealer),
    ]


def _per_thousand(count: int, hands: int) -> float | None:
    return count / hands * 1000 if hands else None


def _tables(book: _Book, figures: Figures | MonthFigures) -> None:
    book.sheet(
        _("Tables"),
        [
            (_("Table"), 9, ""),
            (_("Name"), 18, ""),
            (_("In use"), 8, ""),
            (_("Ruleset"), 16, ""),
            (_("Events"), 10, ""),
            (_("Hands"), 10, ""),
            (_("Findings"), 10, ""),
            (_("For 1,000 hands"), 12, RATE),
            (_("Void hands"), 10, ""),
            (_("Unreadable"), 11, ""),
            (_("Hash chain"), 12, ""),
            (_("Last event"), 11, ""),
            (_("Hash"), 68, ""),
        ],
        (
            [
                line.code,
                _words(line.name),
                yes_no(line.active),
                line.ruleset,
                line.events,
                line.hands,
                line.findings,
                _per_thousand(line.findings, line.hands),
                line.voided,
                line.unreadable,
                telling.chain_word(line.chain_whole),
                line.last_seq,
                line.head,
            ]
            for line in figures.tables
        ),
    )


def _dealers(book: _Book, figures: Figures | MonthFigures) -> None:
    codes = list(figures.codes)
    book.sheet(
        _("Dealers"),
        [
            (_("Dealer"), 12, ""),
            (_("Name"), 20, ""),
            (_("Hands"), 10, ""),
            (_("Findings"), 10, ""),
            (_("For 1,000 hands"), 12, RATE),
            *((wording.finding_title(code), 14, "") for code in codes),
        ],
        (
            [
                _words(line.dealer),
                _words(line.name) if line.dealer else _("not known"),
                line.hands,
                line.findings,
                _per_thousand(line.findings, line.hands),
                *(line.codes.get(code, 0) for code in codes),
            ]
            for line in figures.dealers
        ),
    )


def _rates(book: _Book, figures: Figures | MonthFigures) -> None:
    names = {line.dealer: line.name for line in figures.dealers}
    book.sheet(
        _("Rates"),
        [
            (_("Findings"), 40, ""),
            (_("Number"), 10, ""),
            (_("Hands"), 10, ""),
            (_("For 1,000 hands"), 12, RATE),
            (_("Number before"), 10, ""),
            (_("Hands before"), 10, ""),
            (_("For 1,000 hands before"), 12, RATE),
            (_("Ratio"), 10, RATE),
            (_("Lower end of the 95 % interval"), 12, RATE),
            (_("Upper end of the 95 % interval"), 12, RATE),
            (pgettext("rate", "Change"), 16, ""),
        ],
        (
            [
                _words(telling.rate_subject(one, names)),
                one.count,
                one.hands,
                one.rate,
                one.before_count,
                one.before_hands,
                one.before_rate,
                one.ratio,
                one.low,
                one.high,
                telling.change_word(one),
            ]
            for one in figures.rates
        ),
    )

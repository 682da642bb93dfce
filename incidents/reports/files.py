"""A report's files for the office: PDF, XLSX and CSV, kept under `VAR_DIR/reports`.

A file is written aside, brought onto the disk and given its name only when it is whole; its row holds SHA-256 and size.
One that cannot be kept (a full disk) leaves nothing behind but a row that says why; it is tried again later, and asked
for meanwhile it is made in memory. Files can be thrown away: a missing one is made again when it is asked for.
"""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import io
import logging
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import get_language, override, pgettext
from django.utils.translation import gettext_lazy as _

from dealing.dates import years_of
from dealing.models import StaffMember
from incidents.paper import make_pdf, plain
from incidents.trail import heads

from . import tabular, telling
from .game_wording import game_words
from .models import AuditReport, ReportFile, ReportPlot
from .plots import svg_for_print

logger = logging.getLogger(__name__)

TEMPLATE: Final = Path(settings.BASE_DIR) / "templates" / "reports" / "report.typ"
KIND: Final = ReportFile.Kind
MEDIA_TYPES: Final[dict[str, str]] = {
    KIND.PDF: "application/pdf",
    KIND.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    KIND.CSV: "text/csv; charset=utf-8",
}
#: A file that could not be kept is tried again after so long, for so many days.
AGAIN: Final = dt.timedelta(minutes=15)
GIVE_UP: Final = dt.timedelta(days=7)
#: A PDF asked for before the drawings are there is kept only once they have had so long to come.
DRAWN_BY: Final = dt.timedelta(hours=1)
#: What a writer that was killed leaves is cleared away after so many seconds.
STALE: Final = 24 * 60 * 60

#: Why a file could not be kept, by what stands in `ReportFile.error`: the system's name of the error.
PROBLEMS: Final[dict[str, Promise]] = {
    "ENOSPC": _("no space left"),
    "EDQUOT": _("no space left"),
    "EFBIG": _("no space left"),
    "EACCES": _("the folder may not be written to"),
    "EPERM": _("the folder may not be written to"),
    "EROFS": _("the folder may not be written to"),
    "EIO": _("the disk failed"),
}
#: So many lines of each kind stand in the PDF; the spreadsheet has them all.
LINES: Final = 15
#: Stands there where the file could not even be made.
NOT_MADE: Final = "not made"


class NotMade(Exception):
    """The file cannot be made now, not even in memory."""


def problem_of(file: ReportFile) -> str:
    """`The PDF could not be kept: no space left`; empty where nothing is wrong."""
    if not file.error:
        return ""
    if file.error == NOT_MADE:
        return str(_("The %(kind)s could not be made; the server’s log says why.")) % {"kind": file.get_kind_display()}
    why = PROBLEMS.get(file.error) or os.strerror(getattr(errno, file.error, 0))
    return str(_("The %(kind)s could not be kept: %(why)s")) % {"kind": file.get_kind_display(), "why": why}


def folder() -> Path:
    """Where the files lie."""
    return Path(settings.VAR_DIR) / "reports"


def download_name(report: AuditReport, ending: str) -> str:
    """What a person's copy is called: `RIVER-2026-07-11-r1.pdf`."""
    return f"{report.venue.code}-{telling.day_slug(report)}-r{report.revision}.{ending}"


# Making.


def _write_pdf(report: AuditReport, file: BinaryIO) -> None:
    file.write(make_pdf(TEMPLATE, pdf_data(report)))


WRITERS: Final[dict[str, Callable[[AuditReport, BinaryIO], None]]] = {
    KIND.PDF: _write_pdf,
    KIND.XLSX: tabular.write_xlsx,
    KIND.CSV: tabular.write_csv,
}


def pdf_data(report: AuditReport) -> dict[str, Any]:
    """Everything that stands in the PDF, in words, with the drawings."""
    told = telling.tell(report)
    return {
        "lang": get_language() or "en",
        "title": told.title,
        "house": plain(told.house),
        "period": told.period,
        "revision": told.revision,
        "summary": told.summary,
        "calm": not report.attention and not report.flags,
        "facts": [list(fact) for fact in told.facts],
        "notes": [plain(note) for note in told.notes],
        "attention_title": str(_("What needs attention")),
        "attention_none": str(_("Nothing.")),
        "groups": [_group(group.first(LINES)) for group in told.groups],
        "flags": _group(told.flags),
        "flags_none": str(_("No test says that anything is not chance.")),
        **_game(report),
        "plots": _plots(report),
        "sheets": [_sheet(sheet) for sheet in told.sheets if sheet.rows],
        "heads": _sheet(told.heads),
        "signed": _signed(report),
        "page": pgettext("of a document", "Page {n} of {all}"),
        "foot-house": plain(told.house),
        "foot": f"· {telling.day_slug(report)} · {told.revision} ·",
    }


def _signed(report: AuditReport) -> dict[str, Any] | None:
    """The signed heads, as the page has them."""
    head = heads.of_report(report)
    if head is None:
        return None
    note = _(
        "Whoever keeps these lines outside this house, in a mail or on paper, can prove later that no entry before "
        "them was changed, taken out or put in. They are signed with a key that is not in the database; compare its "
        "fingerprint with the one that the house handed over."
    )
    return {"title": str(_("Signed heads of the logs")), "note": str(note), "lines": head.printed.splitlines()}


def _game(report: AuditReport) -> dict[str, Any]:
    """The verdict, how it was judged, and the frequencies; a month has flags alone."""
    if report.kind == AuditReport.Kind.MONTHLY:
        return {"verdict": "", "small": "", "frequencies": None}
    said = game_words(report.nightly.game)
    table = telling.Sheet(
        "frequencies",
        pgettext("heading", "Results against a fair shoe"),
        [
            pgettext("heading", "Result"),
            pgettext("heading", "Seen"),
            pgettext("heading", "Share"),
            pgettext("heading", "Expected"),
            pgettext("heading", "95 of 100 nights"),
        ],
        [False, True, True, True, True],
        [[row.name, f"{row.count} / {row.of}", row.share, row.expected, row.band] for row in said.rows],
    )
    return {
        "verdict": said.verdict,
        "small": f"{said.small} {said.method}".strip(),
        "frequencies": _sheet(table) if said.rows else None,
    }


def _group(group: telling.Group) -> dict[str, Any]:
    return {
        "title": group.title,
        "count": telling.number(group.count),
        "lines": [[plain(line.where), plain(line.text), plain(line.aside)] for line in group.lines],
        "more": group.more,
    }


def _sheet(sheet: telling.Sheet) -> dict[str, Any]:
    return {
        "title": sheet.title,
        "head": list(sheet.head),
        "numbers": list(sheet.numbers),
        "rows": [[plain(cell) for cell in row] for row in sheet.rows],
        "note": sheet.note,
        "mono": sheet.key == "heads",
    }


def _plots(report: AuditReport) -> list[dict[str, str]]:
    plots = ReportPlot.objects.filter(report=report, language=get_language() or "en").order_by("pk")
    return [{"name": plot.name, "svg": svg_for_print(plot.svg)} for plot in plots]


def _make(report: AuditReport, kind: str, language: str, file: BinaryIO) -> None:
    # One file for everybody: its years are of the common era, whoever asks for it first.
    with override(language), years_of(lambda: None):
        WRITERS[kind](report, file)


# Keeping.


def _keep(report: AuditReport, kind: str, language: str) -> tuple[str, int, str]:
    """Write the file; its name, size and SHA-256. Raises what went wrong, and leaves nothing behind then."""
    # A name of its own each time: of two that write at once, each row speaks of its own file.
    name = f"{report.venue.code}/{report.kind}-{report.day}-r{report.revision}-{language}-{secrets.token_hex(4)}.{kind}"
    path = folder() / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _clear(path.parent)
    aside = path.with_name(f".{path.name}.new")
    try:
        with open(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            _make(report, kind, language, file)
            file.flush()
            os.fsync(file.fileno())
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.replace(aside, path)
        _sync(path.parent)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    return name, size, digest


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _clear(directory: Path) -> None:
    """Take away what a killed writer left."""
    for path in directory.glob(".*.new"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - STALE:
                path.unlink()


def make(report: AuditReport, kind: str, language: str) -> ReportFile:
    """Make and keep one file anew; its row says how it went. Raises nothing for what a disk or a file can do."""
    fields: dict[str, Any] = {"stored": "", "size": 0, "sha256": "", "error": ""}
    try:
        fields["stored"], fields["size"], fields["sha256"] = _keep(report, kind, language)
    except OSError as error:
        fields["error"] = errno.errorcode.get(error.errno or 0, NOT_MADE)
        logger.error("%s of report %s cannot be kept: %s", kind, report, error)
    except Exception:
        # One file that cannot be made is not to take the others with it, nor the mails that go without it.
        fields["error"] = NOT_MADE
        logger.exception("%s of report %s cannot be made", kind, report)
    with transaction.atomic():
        row, _made = ReportFile.objects.select_for_update().get_or_create(
            report=report, kind=kind, language=language, defaults={"made_at": timezone.now()}
        )
        before = row.stored
        for name, value in fields.items():
            setattr(row, name, value)
        row.made_at = timezone.now()
        row.save()
    if before and before != row.stored:
        with suppress(OSError):
            (folder() / before).unlink(missing_ok=True)
    return row


def languages_for(report: AuditReport) -> list[str]:
    """The languages in which somebody of the house reads: what the files are made in before anybody asks."""
    spoken = set(StaffMember.objects.filter(venue=report.venue_id).values_list("language", flat=True))
    spoken |= set(report.deliveries.values_list("language", flat=True))
    return [code for code, _name in settings.LANGUAGES if code in spoken] or [settings.LANGUAGE_CODE]


def make_all(report: AuditReport) -> list[ReportFile]:
    """Make what is not kept yet: all kinds, in the languages of the house."""
    out = []
    for language in languages_for(report):
        for kind in KIND.values:
            row = ReportFile.objects.filter(report=report, kind=kind, language=language).first()
            if row is None or _read(row) is None:
                row = make(report, kind, language)
            out.append(row)
    return out


def make_again(now: dt.datetime | None = None) -> int:
    """Try again what could not be kept; how many are kept now."""
    now = now or timezone.now()
    failed = ReportFile.objects.exclude(error="").filter(made_at__lt=now - AGAIN, report__made_at__gt=now - GIVE_UP)
    rows = failed.select_related("report__venue").order_by("made_at")[:20]
    return sum(not make(row.report, row.kind, row.language).error for row in rows)


# Reading.


def _read(row: ReportFile) -> bytes | None:
    """The file as it was kept; None where it is missing, or is not that any more."""
    if not row.stored:
        return None
    try:
        content = (folder() / row.stored).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest() != row.sha256:
        logger.error("file %s of report %s was changed: it is made again", row.stored, row.report_id)
        return None
    return content


def content_of(report: AuditReport, kind: str, language: str) -> bytes:
    """The file: as kept, made now and kept, or where it cannot be kept made in memory. NotMade: not even that."""
    row = ReportFile.objects.filter(report=report, kind=kind, language=language).first()
    content = _read(row) if row is not None else None
    if content is not None:
        return content
    waiting = row is not None and row.error and row.made_at > timezone.now() - AGAIN
    if not waiting and _drawn(report, kind, language):
        content = _read(make(report, kind, language))
        if content is not None:
            return content
    file = io.BytesIO()
    try:
        _make(report, kind, language, file)
    except Exception as error:
        logger.exception("%s of report %s cannot be made", kind, report)
        raise NotMade from error
    return file.getvalue()


def _drawn(report: AuditReport, kind: str, language: str) -> bool:
    """Whether what the file needs is there, or will not come any more."""
    if kind != KIND.PDF or report.made_at < timezone.now() - DRAWN_BY:
        return True
    return ReportPlot.objects.filter(report=report, language=language).exists()


def file_of(report: AuditReport, kind: str, language: str) -> bytes | None:
    """As `content_of`; None where the file cannot be made."""
    try:
        return content_of(report, kind, language)
    except NotMade:
        return None

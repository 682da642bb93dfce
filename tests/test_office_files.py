"""A report as PDF, XLSX and CSV: what stands in them, who gets them, and what a full disk does."""

from __future__ import annotations

import csv
import datetime as dt
import errno
import hashlib
import io
import os
import resource
import signal
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import override
from openpyxl import load_workbook
from pypdf import PdfReader
from pytest_django import Settings

from dealing.models import Table, Venue
from dealing.night import TableNight
from incidents.models import Decision, Incident, IncidentFinding
from incidents.reports import files, plots, tabular
from incidents.reports.models import AuditReport, ReportFile
from tests import reports_samples as samples
from tests.conftest import People
from tests.test_incidents_sheet import bare

pytestmark = pytest.mark.django_db

KIND = ReportFile.Kind


@pytest.fixture(autouse=True)
def _here(settings: Settings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path


@pytest.fixture
def full(venue: Venue) -> AuditReport:
    return samples.save_full(venue)


def kept(tmp_path: Path) -> list[str]:
    """The names of all files kept, those on their way included."""
    return sorted(path.name for path in (tmp_path / "reports").rglob("*") if path.is_file())


def pages_of(report: AuditReport, language: str = "en") -> list[str]:
    content = files.content_of(report, KIND.PDF, language)
    return [bare(page.extract_text()) for page in PdfReader(io.BytesIO(content)).pages]


def book_of(report: AuditReport, language: str = "en") -> Any:
    return load_workbook(io.BytesIO(files.content_of(report, KIND.XLSX, language)))


def lines_of(report: AuditReport, language: str = "en") -> list[list[str]]:
    content = files.content_of(report, KIND.CSV, language)
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


# The PDF.


def test_the_pdf_says_what_wants_attention_before_any_figure(full: AuditReport) -> None:
    pages = pages_of(full)
    text = "".join(pages)
    said = [
        "Nightly report",
        "River House",
        "Revision 1",
        "74 things want attention",
        "What needs attention",
        "Hash chain broken",
        "What the entry says was changed after it was recorded, or its hash was.",
        "The live records have something else than the log: the winner",
        "Rows that cannot be read",
        "hands 31 to 33 are missing",
        "Tables without a log",
        "Open incidents",
        "Decisions that departed from a mandatory rule",
        "decided: Void the hand; required: Correct (INC-order)",
        "Findings that nobody decided",
        "Wrong payouts",
        "Still open from before",
        "open for 1 d 11 h",
        "Is the game itself right?",
        "Findings by kind",
        "By table",
        "By dealer",
        "By hour",
        "Rates against the 30 days before",
        "Decisions and their money",
        "Entries put right",
        "Heads of the logs",
    ]
    at = 0
    for one in said:
        found = text.find(bare(one), at)
        assert found >= 0, one
        at = found
    for line in full.nightly.tables:
        assert line.head in text, "each table's head is printed whole"
    for number, page in enumerate(pages, 1):
        assert bare(f"Page {number} of {len(pages)}") in page
        assert bare("River House · 2026-07-11 · Revision 1") in page


def test_the_pdf_in_thai(full: AuditReport) -> None:
    text = "".join(pages_of(full, "th"))
    for said in ("รายงานประจ", "ตรวจ", "โมฆะ", "เวลา"):  # plain letters, which the reader of PDFs finds
        assert said in text, said
    for english in ("Nightlyreport", "Whatneedsattention", "Hands", "Wrongpay"):
        assert english not in text, english
    assert "2026-07-11" in text
    assert samples.head_of("B01") in text


def test_the_drawings_and_what_is_said_of_the_game_are_in_it(full: AuditReport) -> None:
    before = "".join(pages_of(full))
    assert bare("Results seen against") not in before
    plots.draw(full)
    files.make(full, KIND.PDF, "en")
    text = "".join(pages_of(full))
    for said in (
        "Chance does not explain 3 things.",
        "Cards of rank 9",
        "Results against a fair shoe",
        "Findings and hands by hour",
        "Findings by table and hour",
        "Results seen against a fair shoe",
    ):
        assert bare(said) in text, said


def test_a_pdf_without_its_drawings_is_not_kept_while_they_may_come(full: AuditReport, tmp_path: Path) -> None:
    assert files.content_of(full, KIND.PDF, "en").startswith(b"%PDF")
    assert kept(tmp_path) == []
    assert not ReportFile.objects.exists()
    plots.draw(full)
    files.content_of(full, KIND.PDF, "en")
    assert len(kept(tmp_path)) == 1


def test_long_lists_say_how_much_they_leave_out(full: AuditReport) -> None:
    """The 48 findings that nobody decided are in the spreadsheet."""
    assert bare("and 33 more") in "".join(pages_of(full))
    rows = [row for row in book_of(full)["Attention"].iter_rows(values_only=True) if "nobody decided" in row[0]]
    assert len(rows) == 48


def test_a_quiet_night_says_so(venue: Venue) -> None:
    quiet = samples.save_report(venue, samples.quiet(), tables=samples.quiet_nights())
    text = "".join(pages_of(quiet))
    assert bare("Nothing wants attention") in text
    assert bare("Nothing here that chance does not explain.") in text
    assert bare("Open incidents") not in text


def test_a_month(venue: Venue) -> None:
    samples.save_report(venue, samples.figures(), tables=samples.nights())
    month = samples.save_month(venue)
    text = "".join(pages_of(month))
    for said in ("Monthly report", "2026-07 (Asia/Bangkok)", "Days without a report: 2026-07-19, 2026-07-20", "By day"):
        assert bare(said) in text, said
    days = list(book_of(month)["Days"].iter_rows(min_row=2, values_only=True))
    assert len(days) == 29
    assert days[0][0] == dt.datetime(2026, 7, 1)
    # Its findings are those of the nights it was made of; here one night is stored.
    assert len(lines_of(month)) == 1 + samples.figures().findings


def test_a_month_leaves_out_the_nights_of_other_revisions(venue: Venue) -> None:
    samples.save_full(venue, revision=1)
    samples.save_full(venue, revision=2)
    month = samples.save_month(venue)
    assert len(lines_of(month)) == 1 + samples.figures().findings


def test_what_people_typed_is_not_read_as_markup(venue: Venue) -> None:
    figures = samples.figures(name='#panic("x") *House*')
    figures.tables[0].name = "$x$ <label> @ref"
    text = "".join(pages_of(samples.save_report(venue, figures)))
    assert bare('#panic("x") *House*') in text
    assert bare("$x$ <label> @ref") in text


# The spreadsheet and the CSV.


def test_every_finding_is_in_the_spreadsheet_with_real_times_and_numbers(full: AuditReport) -> None:
    book = book_of(full)
    assert book.sheetnames == [
        "Summary",
        "Attention",
        "Findings",
        "Payouts",
        "Tables",
        "Dealers",
        "Hours",
        "Rates",
    ]
    sheet = book["Findings"]
    assert sheet.freeze_panes == "A2"
    assert sheet.column_dimensions["I"].width == 36
    head, *rows = sheet.iter_rows(values_only=True)
    assert head[:3] == ("Gaming day", "Table", "Name")
    assert len(rows) == samples.figures().findings == 94
    first = samples.nights()[0].findings[0]
    row = dict(zip(head, rows[0], strict=True))
    assert row["Time"] == first.at.replace(tzinfo=None), "the house's own clock"
    assert row["Gaming day"] == dt.datetime(2026, 7, 11)
    assert (row["Shoe"], row["Event"]) == (first.shoe, first.seq)
    assert row["Finding"] == "Card drawn when none was due" or row["Code"] == first.code
    payouts = list(book["Payouts"].iter_rows(values_only=True))
    wrong = [one for night in samples.nights() for one in night.payouts]
    assert len(payouts) == 1 + len(wrong)
    assert [row[9] for row in payouts[1:]] == [float(one.paid - one.owed) for one in wrong]
    assert book["Payouts"]["J2"].number_format == "#,##0.00"
    heads = [row[-1] for row in book["Tables"].iter_rows(min_row=2, values_only=True)]
    assert heads[0] == samples.head_of("B01")
    hours = list(book["Hours"].iter_rows(min_row=2, values_only=True))
    assert hours[0][0] == dt.datetime(2026, 7, 11, 6)
    assert len(hours) == 24
    assert len(list(book["Rates"].iter_rows(min_row=2))) == len(samples.figures().rates)


def test_the_spreadsheet_in_thai(full: AuditReport) -> None:
    english, thai = book_of(full), book_of(full, "th")
    assert len(thai.sheetnames) == len(english.sheetnames)
    assert not set(thai.sheetnames) & set(english.sheetnames)


HOSTILE = [
    "=1+1",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    '=HYPERLINK("http://evil")',
    "#N/A",
    "'quoted",
    "a\x07b\x00",
]


def with_names(venue: Venue, names: list[str]) -> AuditReport:
    nights = []
    figures = samples.figures()
    for at, name in enumerate(names):
        night = TableNight(table=f"T{at}", name=name, hands=1, findings=samples.nights()[0].findings[:1])
        night.findings[0].dealer = name
        nights.append(night)
    figures.tables[0].name = names[0]
    return samples.save_report(venue, figures, tables=nights)


def test_no_text_becomes_a_formula_in_the_spreadsheet(venue: Venue) -> None:
    report = with_names(venue, [name for name in HOSTILE if "\x00" not in name])
    book = book_of(report)
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert not [cell for cell in cells if cell.data_type in "fe"]
    names = [row[2].value for row in book["Findings"].iter_rows(min_row=2)]
    assert names == ["=1+1", "+1", "-1+1", "@SUM(A1)", "=1", "=1", '=HYPERLINK("http://evil")', "#N/A", "'quoted"]
    quoted = [row[2].quotePrefix for row in book["Findings"].iter_rows(min_row=2)]
    assert quoted[0], "it stays text when somebody edits the cell"
    assert not quoted[-1]


def test_no_text_becomes_a_formula_in_the_csv(venue: Venue) -> None:
    report = with_names(venue, [name for name in HOSTILE if "\x00" not in name])
    _head, *rows = lines_of(report)
    assert [row[2] for row in rows][:4] == ["'=1+1", "'+1", "'-1+1", "'@SUM(A1)"]
    assert not [cell for row in rows for cell in row if cell.startswith(tabular.FORMULA)]


def test_the_csv_has_one_line_a_finding(full: AuditReport) -> None:
    head, *rows = lines_of(full)
    assert len(rows) == 94
    assert all(len(row) == len(head) for row in rows)
    found = samples.nights()[0].findings[0]
    row = dict(zip(head, rows[0], strict=True))
    assert dt.datetime.fromisoformat(row["Time"]) == found.at
    assert row["Time"].endswith("+07:00")
    assert row["Gaming day"] == "2026-07-11"
    assert {row["Dealer"] for row in (dict(zip(head, row, strict=True)) for row in rows)} >= {"D104", ""}
    assert "มังกรทอง" in {row[2] for row in rows}


def test_a_sheet_that_is_too_long_says_so(full: AuditReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "ROWS", 41)
    book = book_of(full)
    assert book["Findings"].max_row == 41
    assert book["Notes"]["A2"].value == "The sheet of findings holds 40 of 94."


def test_years_in_files_are_of_the_common_era(full: AuditReport, client: Client, people: People) -> None:
    """A file is kept for everybody; who counts by the Buddhist era and asks first does not decide for all."""
    user = people("manager")
    user.staff_member.buddhist_years = True
    user.staff_member.save()
    client.force_login(user)
    client.cookies["django_language"] = "th"
    response = client.get(f"/reports/{full.pk}/report.pdf")
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(response.content)).pages)
    assert "2026-07-11" in text
    assert "2569" not in text


# Keeping them.


def test_each_is_kept_once_and_readable_by_its_owner_only(full: AuditReport, people: People, tmp_path: Path) -> None:
    member = people("manager").staff_member
    member.language = "th"
    member.save()
    rows = files.make_all(full)
    assert {(row.kind, row.language) for row in rows} == {("pdf", "th"), ("xlsx", "th"), ("csv", "th")}
    assert len(kept(tmp_path)) == 3
    for row in rows:
        path = tmp_path / "reports" / row.stored
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_size == row.size
        assert hashlib.sha256(path.read_bytes()).hexdigest() == row.sha256
    made = [row.made_at for row in rows]
    assert [row.made_at for row in files.make_all(full)] == made, "what is kept is not made again"


def test_a_missing_or_changed_file_is_made_again(full: AuditReport, tmp_path: Path) -> None:
    row = files.make(full, KIND.CSV, "en")
    content = files.content_of(full, KIND.CSV, "en")
    (tmp_path / "reports" / row.stored).write_bytes(b"somebody's own figures")
    assert files.content_of(full, KIND.CSV, "en") == content
    again = ReportFile.objects.get()
    assert again.stored != row.stored
    assert len(kept(tmp_path)) == 1, "the changed one is gone"
    (tmp_path / "reports" / again.stored).unlink()
    assert files.content_of(full, KIND.CSV, "en") == content
    assert len(kept(tmp_path)) == 1


def test_what_a_killed_writer_left_is_cleared_away(full: AuditReport, tmp_path: Path) -> None:
    directory = tmp_path / "reports" / full.venue.code
    directory.mkdir(parents=True)
    old, fresh = directory / ".a.pdf.new", directory / ".b.pdf.new"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    files.make(full, KIND.CSV, "en")
    assert not old.exists()
    assert fresh.exists(), "somebody may be writing it"


def full_disk(*_args: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_half_file_and_is_written_down(
    full: AuditReport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, client: Client, people: People
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        row = files.make(full, KIND.PDF, "en")
        assert (row.error, row.stored, row.size, row.sha256) == ("ENOSPC", "", 0, "")
        assert files.problem_of(row) == "The PDF could not be kept: no space left"
        with override("th"):
            assert "PDF" in files.problem_of(row)
            assert "no space" not in files.problem_of(row)
        assert kept(tmp_path) == []
        # Asked for meanwhile it is made in memory.
        client.force_login(people("manager"))
        response = client.get(f"/reports/{full.pk}/report.pdf")
        assert response.status_code == 200
        assert response.content.startswith(b"%PDF")
        assert kept(tmp_path) == []
    # Not at once: a disk stays full for a while. Later it is kept.
    assert files.make_again() == 0
    assert files.make_again(timezone.now() + 2 * files.AGAIN) == 1
    row.refresh_from_db()
    assert (row.error, files.problem_of(row)) == ("", "")
    assert len(kept(tmp_path)) == 1


def test_the_other_files_are_made_where_one_cannot_be(
    full: AuditReport, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_args: Any) -> None:
        raise RuntimeError("no such glyph")

    monkeypatch.setitem(files.WRITERS, KIND.PDF, broken)
    rows = {row.kind: row.error for row in files.make_all(full)}
    assert rows == {"pdf": files.NOT_MADE, "xlsx": "", "csv": ""}
    assert "no such glyph" in caplog.text
    assert files.file_of(full, KIND.PDF, "en") is None
    row = ReportFile.objects.get(kind=KIND.PDF)
    assert files.problem_of(row) == "The PDF could not be made; the server’s log says why."


def test_a_file_that_cannot_be_made_at_all_answers_with_a_page(
    full: AuditReport, monkeypatch: pytest.MonkeyPatch, client: Client, people: People
) -> None:
    monkeypatch.setitem(files.WRITERS, KIND.XLSX, full_disk)
    client.force_login(people("manager"))
    response = client.get(f"/reports/{full.pk}/report.xlsx")
    assert response.status_code == 503
    assert "The XLSX cannot be made now" in response.content.decode()


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit of file sizes here")
def test_a_real_limit_of_the_system(full: AuditReport, tmp_path: Path) -> None:
    """The system itself refuses to write on: as on a full disk, in the middle of the file."""
    code = """
        import io, os, resource, sys
        from pathlib import Path
        from incidents.reports import files
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        class Report: revision, kind, day, pk = 1, "nightly", "2026-07-11", 1
        class House: code = "RIVER"
        Report.venue = House
        files.WRITERS["csv"] = lambda report, file: file.write(b"x" * 100_000)
        try:
            files._keep(Report, "csv", "en")
        except OSError as error:
            print(error.errno)
        print([path.name for path in Path(files.folder()).rglob("*") if path.is_file()])
    """
    assert resource.RLIMIT_FSIZE
    done = subprocess.run(
        [sys.executable, "-c", "import django; django.setup()\n" + textwrap.dedent(code)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "VAR_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [str(errno.EFBIG), "[]"]


@pytest.mark.sqlite
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_disk_that_is_really_full(
    full: AuditReport, settings: Settings, tmp_path: Path, client: Client, people: People
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        settings.VAR_DIR = disk
        assert files.make(full, KIND.CSV, "en").error == "", "this one has room"
        row = files.make(full, KIND.PDF, "en")
        assert row.error == "ENOSPC"
        assert sorted(Path(name).suffix for name in kept(disk)) == [".csv"]
        client.force_login(people("manager"))
        assert client.get(f"/reports/{full.pk}/report.pdf").content.startswith(b"%PDF")
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        assert files.make_again(timezone.now() + 2 * files.AGAIN) == 1
        assert client.get(f"/reports/{full.pk}/report.pdf").content.startswith(b"%PDF")
        assert sorted(Path(name).suffix for name in kept(disk)) == [".csv", ".pdf"]
    finally:
        subprocess.run(["umount", disk], check=True)


# Taking them away.


@pytest.mark.parametrize(
    ("ending", "media_type", "begins"),
    [
        ("pdf", "application/pdf", b"%PDF"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", b"PK"),
        ("csv", "text/csv; charset=utf-8", b"\xef\xbb\xbf"),
        ("json", "application/json", b"{"),
    ],
)
def test_downloads(
    full: AuditReport, client: Client, people: People, ending: str, media_type: str, begins: bytes
) -> None:
    address = f"/reports/{full.pk}/report.{ending}"
    assert client.get(address).status_code == 302
    for group, status in (("recorder", 403), ("supervisor", 200), ("auditor", 200), ("manager", 200)):
        client.force_login(people(group))
        response = client.get(address)
        assert response.status_code == status, group
    assert response["Content-Type"] == media_type
    assert response["X-Content-Type-Options"] == "nosniff"
    assert f'filename="RIVER-2026-07-11-r1.{ending}"' in response["Content-Disposition"]
    assert response["Content-Disposition"].startswith("inline" if ending == "pdf" else "attachment")
    assert "no-store" in response["Cache-Control"]
    assert response.content.startswith(begins)


def test_another_house_is_not_found(full: AuditReport, client: Client, people: People) -> None:
    other = people("manager", "stranger").staff_member
    other.venue = Venue.objects.create(code="HILL", name="Hill House")
    other.save()
    client.force_login(other.user)
    for ending in ("pdf", "json"):
        assert client.get(f"/reports/{full.pk}/report.{ending}").status_code == 404
    client.force_login(people("manager"))
    assert client.get(f"/reports/{full.pk}/report.exe").status_code == 404
    assert client.get("/reports/999999/report.pdf").status_code == 404


def test_the_language_is_the_page_s_or_what_is_asked_for(full: AuditReport, client: Client, people: People) -> None:
    client.force_login(people("manager"))
    client.cookies["django_language"] = "th"

    def decode(query: str) -> str:
        return client.get(f"/reports/{full.pk}/report.csv{query}").content.decode()

    assert "Gaming day" not in decode("")
    assert "Gaming day" in decode("?lang=en")
    assert "Gaming day" not in decode("?lang=xx")


def test_decimals_survive_the_way_into_the_spreadsheet(full: AuditReport) -> None:
    """An amount is exact to the hundredth."""
    paid = [row[8] for row in book_of(full)["Payouts"].iter_rows(min_row=2, values_only=True)]
    assert [Decimal(str(one)) for one in paid] == [one.paid for night in samples.nights() for one in night.payouts]


def test_what_became_of_each_finding_stands_beside_it(venue: Venue, people: People) -> None:
    report = samples.save_full(venue)
    night = samples.nights()[0]
    found = [one for one in night.findings if one.hand]
    user = people("manager")
    table = Table.objects.get(code=night.table)
    by_hand: dict[tuple[int, int], list[str]] = {}
    for one in found:
        by_hand.setdefault((one.shoe, one.hand), []).append(one.code)
    cases = [("open", []), ("decided", ["stand"]), ("by-rule", []), ("withdrawn", [])]
    expected = {}
    for ((shoe, hand), codes), (status, actions) in zip(by_hand.items(), cases, strict=False):
        incident = Incident.objects.create(
            table=table,
            shoe_number=shoe,
            hand_number=hand,
            ruleset="commission",
            status=status,
            opened_at=timezone.now(),
            opened_seq=1,
        )
        for at, code in enumerate(codes):
            IncidentFinding.objects.create(
                incident=incident, position=at, code=code, ruling="correct", mandatory=False, state="open"
            )
        if actions:
            Decision.objects.create(
                incident=incident,
                number=1,
                actions=actions,
                departs=False,
                rulings=[],
                decided_by=user,
                decided_by_name="Malee",
                decided_at=timezone.now(),
                events=[],
            )
        expected[shoe, hand] = str(Incident.Status(status).label)
    head, *rows = book_of(report)["Findings"].iter_rows(values_only=True)
    lines = [dict(zip(head, row, strict=True)) for row in rows]
    here = [one for one in lines if one["Table"] == night.table and (one["Shoe"], one["Hand"]) in expected]
    assert {(one["Shoe"], one["Hand"]): one["What became of it"] for one in here} == expected
    assert set(expected.values()) == {"Open", "Decided", "Closed by rule", "Withdrawn"}
    assert {one["Decision"] for one in here if one["What became of it"] == "Decided"} == {"Stand"}
    assert {one["Decision"] for one in here if one["What became of it"] != "Decided"} == {None}
    # What no incident knows is to be done too, and says so.
    assert {one["What became of it"] for one in lines if one["Table"] != night.table} == {"No incident"}
    states = [one.state for each in samples.nights() for one in each.findings]
    assert [one["Put right at the table"] for one in lines] == ["yes" if one == "corrected" else "no" for one in states]

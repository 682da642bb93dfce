"""The reports' pages: what a manager reads, who may read it, an audit on its way, and whether last night is done."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from dealing.gaming_days import bounds, gaming_day
from dealing.log import record_many
from dealing.models import StaffMember, Table, Venue
from dealing.verify import Broken, Verified, keep_walk
from incidents.models import Incident
from incidents.reports import runs, selectors, telling
from incidents.reports.files import pdf_data
from incidents.reports.models import AuditDay, AuditReport, AuditRun, ReportDelivery, TableAudit
from incidents.reports.selectors import last_closed
from incidents.reports.urls import urlpatterns
from tests import reports_samples as samples
from tests.conftest import MakeTable, People
from tests.table_logs import START, Lines

pytestmark = pytest.mark.django_db


@pytest.fixture
def night(venue: Venue) -> dt.date:
    return last_closed(venue, timezone.now())


@pytest.fixture
def manager(client: Client, people: People) -> Client:
    client.force_login(people("manager"))
    return client


def words(answer: Any) -> str:
    """The text of a page as it is read."""
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", answer.content.decode(), flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("&quot;", '"').replace("&#x27;", "'").split())


def run_of(venue: Venue, day: dt.date, status: str, **fields: Any) -> AuditRun:
    of_day, _made = AuditDay.objects.get_or_create(venue=venue, day=day)
    fields.setdefault("started_at", timezone.now() - dt.timedelta(seconds=60))
    if status != "running":
        fields.setdefault("finished_at", timezone.now())
    return AuditRun.objects.create(of_day=of_day, number=1, status=status, cause="close", changes=0, **fields)


# The report.


def test_what_wants_attention_comes_first_with_links(manager: Client, venue: Venue, night: dt.date) -> None:
    report = samples.save_full(venue, night)
    answer = manager.get(reverse("reports:report", args=[report.pk]))
    text = words(answer)
    assert answer.status_code == 200
    body = answer.content.decode()
    groups = ["broken", "differences", "unreadable", "gaps", "no-log", "open", "departures", "undecided", "payouts"]
    groups.append("older")
    assert re.findall(r'<h3 id="group-([a-z-]+)"', body) == groups
    assert re.findall(r'<a href="#group-([a-z-]+)"', body) == groups
    order = ["things want attention", "What needs attention", "Against the days before", "By table", "By dealer"]
    places = [text.index(said) for said in order]
    assert places == sorted(places)
    assert f'href="{reverse("incidents:incident", args=[5])}">B01 shoe 1 hand 15</a>' in body
    assert 'href="/tables/B04/2/"' in body  # the shoe whose hands are missing
    assert 'href="/tables/B06/"' in body  # a table without a log
    assert re.search(r'href="/tables/B0\d/\d/\d+/">B0\d shoe \d hand \d+</a>', body)  # a hand paid wrongly
    assert "waiting for 35 hours" in text
    assert "Still open from before" in text
    assert "875.00 put right since" in text
    assert "not put right" in text
    assert "hands 31 to 33 are missing" in text
    assert "Void the hand" in text
    assert "1 table in use had no event on this day: B05" in text
    assert text.count("What the entry says was changed after it was recorded, or its hash was.") == 1


def test_a_line_leads_to_a_hand_only_where_there_is_one(manager: Client, venue: Venue, night: dt.date) -> None:
    report = samples.save_full(venue, night)
    page = reverse("reports:report", args=[report.pk])
    unreadable = '<a href="/tables/B04/">B04 shoe 2 hand 15</a>'
    assert unreadable in manager.get(page).content.decode()
    table = Table.objects.get(code="B04")
    lines = Lines("B04")
    record_many([*lines.open(), *lines.hand(1)], actor="test")
    shoe = table.shoes.get()
    shoe.number = 2
    shoe.save()
    shoe.hand_set.update(number=15)
    assert '<a href="/tables/B04/2/15/">B04 shoe 2 hand 15</a>' in manager.get(page).content.decode()


def test_an_incident_that_was_decided_since_says_so(manager: Client, venue: Venue, night: dt.date) -> None:
    report = samples.save_full(venue, night)
    incident = samples.open_incident(Table.objects.get(code="B01"), 15)
    Incident.objects.filter(pk=incident.pk).update(id=5, status=Incident.Status.DECIDED)
    text = words(manager.get(reverse("reports:report", args=[report.pk])))
    assert "B01 shoe 1 hand 15 Decided" in text


def test_from_where_the_chains_were_walked_is_said(manager: Client, venue: Venue, night: dt.date) -> None:
    """On the page and in the PDF, and nothing more than was done."""
    at = dt.datetime(2026, 7, 11, 23, 30, tzinfo=venue.zone)

    def said(*lines: tuple[int | None, dt.datetime | None]) -> str:
        figures = samples.quiet(venue.code, venue.name, night)
        figures.tables = [
            msgspec.structs.replace(figures.tables[0], code=f"B{n}", checked_from=of, walked_at=walked)
            for n, (of, walked) in enumerate(lines)
        ]
        report = samples.save_report(venue, figures, revision=AuditReport.objects.count() + 1)
        walked = telling.chain_walked(figures.tables)
        page = words(manager.get(reverse("reports:report", args=[report.pk])))
        assert f"no hash chain was found broken. {walked}" in page
        assert pdf_data(report)["heads"]["note"].endswith(walked)
        return walked

    assert said((None, None), (0, at)) == ""
    assert said((0, at), (0, at)) == "Every log’s hash chain was walked from its beginning."
    assert said((0, at), (9, at)) == (
        "The hash chain of 1 long log was walked from where an earlier audit had come to. "
        "The whole of it was last walked at 2026-07-11 23:30."
    )
    assert said((8, at + dt.timedelta(hours=1)), (9, at), (7, None)) == (
        "The hash chains of 3 long logs were walked from where an earlier audit had come to. "
        "The whole of each was last walked at 2026-07-11 23:30 or later. Never walked as a whole: B2."
    )


def test_a_quiet_night_is_said_calmly(manager: Client, venue: Venue, night: dt.date) -> None:
    report = samples.save_report(venue, samples.quiet(venue.code, venue.name, night))
    answer = manager.get(reverse("reports:report", args=[report.pk]))
    text = words(answer)
    assert "Nothing wants attention" in text
    assert "120 hands were judged again, and no hash chain was found broken." in text
    assert "What needs attention" not in text
    assert "There are no reports of days before to compare with yet." in text
    assert "notice-danger" not in answer.content.decode()


def test_rates_are_said_in_words(manager: Client, venue: Venue, night: dt.date) -> None:
    report = samples.save_full(venue, night)
    text = words(manager.get(reverse("reports:report", args=[report.pk])))
    assert "more than usual Table B04 214.3 for 1,000 hands, before 5.0 (25.7 to 72.9 times as often)" in text
    figures = samples.figures(venue.code, venue.name, night)
    for rate in figures.rates:
        rate.change = ""
    calm = samples.save_report(venue, figures, revision=2)
    text = words(manager.get(reverse("reports:report", args=[calm.pk])))
    assert "As usual: no finding, table or dealer stands out." in text
    assert "more than usual" not in text


def test_revisions_lead_to_each_other_and_say_what_changed(manager: Client, venue: Venue, night: dt.date) -> None:
    first = samples.save_full(venue, night)
    figures = samples.figures(venue.code, venue.name, night)
    figures.hands += 2
    figures.findings += 1
    second = samples.save_report(venue, figures, revision=2)
    old = manager.get(reverse("reports:report", args=[first.pk]))
    assert "This is revision 1. A later one speaks now." in words(old)
    assert f'href="{reverse("reports:report", args=[second.pk])}"' in old.content.decode()
    new = words(manager.get(reverse("reports:report", args=[second.pk])))
    assert "Against the revision before: hands +2 · findings +1" in new
    day = manager.get(reverse("reports:day", args=[night.isoformat()]))
    assert day.headers["Location"] == reverse("reports:report", args=[second.pk])
    assert manager.get(reverse("reports:day", args=["2020-01-01"])).status_code == 404
    assert manager.get("/reports/2020-13-45/").status_code == 404


def test_the_page_says_who_gets_it(manager: Client, venue: Venue, night: dt.date, people: People) -> None:
    report = samples.save_full(venue, night)
    member = people("supervisor", "pim").staff_member
    ReportDelivery.objects.create(
        report=report, member=member, address="pim@example.org", language="th", message_id="<1@x>", status="sent"
    )
    text = words(manager.get(reverse("reports:report", args=[report.pk])))
    assert "Who gets it by e-mail Sent PIM" in text
    for ending in ("pdf", "xlsx", "csv", "json"):
        assert reverse("reports:file", args=[report.pk, ending])


def test_buddhist_years_and_thai(client: Client, venue: Venue, night: dt.date, people: People) -> None:
    user = people("manager")
    StaffMember.objects.filter(user=user).update(buddhist_years=True, language="th")
    report = samples.save_full(venue, night)
    client.force_login(User.objects.get(pk=user.pk))
    client.cookies["django_language"] = "th"
    text = words(client.get(reverse("reports:report", args=[report.pk])))
    assert str(night.year + 543) in text
    assert "รายงานของวันที่" in text
    assert "What needs attention" not in text
    listed = words(client.get(reverse("reports:list")))
    assert str(night.year + 543) in listed


def test_a_report_of_200_tables_is_read_with_few_statements(manager: Client, venue: Venue, night: dt.date) -> None:
    figures = samples.figures(venue.code, venue.name, night)
    table = figures.tables[0]
    figures.tables = [type(table)(**{**as_dict(table), "code": f"T{n:03}"}) for n in range(200)]
    report = samples.save_report(venue, figures)
    page = reverse("reports:report", args=[report.pk])
    manager.get(page)
    with CaptureQueriesContext(connection) as asked:
        answer = manager.get(page)
    assert answer.content.count(b'href="/tables/T1') == 100
    assert len(asked) <= 20
    assert len(answer.content) < 600_000


def as_dict(line: Any) -> dict[str, Any]:
    return {name: getattr(line, name) for name in line.__struct_fields__}


# The list.


def test_the_list_shows_a_month_and_reads_no_figures(
    manager: Client, venue: Venue, night: dt.date, table: MakeTable
) -> None:
    days = [night - dt.timedelta(days=n) for n in range(40)]
    for day in days:
        samples.save_report(venue, samples.quiet(venue.code, venue.name, day))
    figures = samples.figures(venue.code, venue.name, night)
    samples.save_report(venue, figures, revision=2)
    manager.get(reverse("reports:list"))
    with CaptureQueriesContext(connection) as asked:
        answer = manager.get(reverse("reports:list"))
    assert not any('"figures"' in one["sql"] for one in asked.captured_queries)
    text = words(answer)
    of_month = [day for day in days if day.replace(day=1) == night.replace(day=1)]
    assert answer.content.count(b'class="report-weekday"') == len(of_month)
    assert text.count("revision 2") == 1
    assert "chain broken" in text
    before = f"{night.replace(day=1) - dt.timedelta(days=1):%Y-%m}"
    earlier = manager.get(reverse("reports:list"), {"month": before})
    assert earlier.content.count(b"badge-ok") == sum(f"{day:%Y-%m}" == before for day in days)
    for nonsense in ("x", "2026-99", "9999-12", "0000-00"):
        assert manager.get(reverse("reports:list"), {"month": nonsense}).status_code == 200


def test_a_day_without_a_report_stands_in_the_list(manager: Client, venue: Venue, table: MakeTable) -> None:
    table()
    lines = Lines("B07")
    record_many([*lines.open(), *lines.hand(1)], actor="test")
    first = Table.objects.get(code="B07").events.earliest("seq").at
    day = last_closed(venue, timezone.now())
    answer = manager.get(reverse("reports:list"))
    expected = bounds(venue, day, day)[1] > first
    assert ("No report of this day" in words(answer)) == expected


def test_an_empty_house_says_what_will_come(manager: Client) -> None:
    assert "its report appears here by itself" in words(manager.get(reverse("reports:list")))


# Who may see what.


def addresses(report: AuditReport, run: AuditRun) -> dict[str, str]:
    known: dict[str, list[Any]] = {
        "list": [],
        "status": [],
        "start": [],
        "run": [run.pk],
        "progress": [run.pk],
        "retry": [run.pk],
        "day": [report.day.isoformat()],
        "file": [report.pk, "csv"],
        "send_again": [report.pk, 1],
    }
    return {
        str(one.name): reverse(f"reports:{one.name}", args=known.get(str(one.name), [report.pk])) for one in urlpatterns
    }


def test_another_houses_reports_are_not_there(client: Client, venue: Venue, night: dt.date, people: People) -> None:
    report = samples.save_full(venue, night)
    run = run_of(venue, night - dt.timedelta(days=1), "failed", error="out of reach")
    stranger = people("manager", "stranger")
    elsewhere = Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    StaffMember.objects.filter(user=stranger).update(venue=elsewhere)
    client.force_login(User.objects.get(pk=stranger.pk))
    for name, address in addresses(report, run).items():
        if name in ("list", "status", "start"):
            continue
        answer = client.post(address) if name in ("retry", "send_again") else client.get(address)
        assert answer.status_code == 404, name
    assert str(report.pk) not in re.findall(r"/reports/(\d+)/", client.get("/reports/").content.decode())
    assert "River House" not in words(client.get("/reports/status/"))


@pytest.mark.parametrize(
    ("group", "seen"), [("supervisor", True), ("auditor", True), ("recorder", False), (None, False)]
)
def test_who_oversees_may_read(
    client: Client, venue: Venue, night: dt.date, people: People, group: str | None, seen: bool
) -> None:
    report = samples.save_full(venue, night)
    run = run_of(venue, night - dt.timedelta(days=1), "failed", error="out of reach")
    assert client.get(reverse("reports:report", args=[report.pk])).status_code == 302  # to the log-in page
    client.force_login(people(group, "somebody"))
    for name, address in addresses(report, run).items():
        if name in ("start", "retry", "send_again"):
            assert client.post(address).status_code == 403, name
        elif name == "status":
            assert client.get(address).status_code in ((200, 503) if seen else (403,))
        else:
            assert client.get(address).status_code in ((200, 302) if seen else (403,)), name
    assert (b'href="/reports/"' in client.get("/tables/").content) is seen
    run.refresh_from_db()
    assert run.status == "failed"


def test_somebody_of_no_house_chooses_one(client: Client, venue: Venue, night: dt.date) -> None:
    Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    samples.save_full(venue, night)
    client.force_login(User.objects.create_superuser("root"))
    assert b'<option value="RIVER" selected>' in client.get("/reports/?house=RIVER").content
    assert b"No reports in this month" in client.get("/reports/?house=HILL").content
    assert client.get("/reports/?house=NOWHERE").status_code == 404


# An audit on its way.


def test_progress_is_shown_table_by_table(manager: Client, venue: Venue, night: dt.date, table: MakeTable) -> None:
    run = run_of(venue, night, "running")
    for code, status, events, done in (
        ("B01", "done", 600, 600),
        ("B02", "running", 300, 150),
        ("B03", "waiting", 100, 0),
    ):
        TableAudit.objects.create(
            run=run,
            table=table(code),
            status=status,
            events=events,
            events_done=done,
            night={} if status == "done" else None,
        )
    page = manager.get(reverse("reports:run", args=[run.pk]))
    text = words(page)
    assert "75 % of the events, 1 of 3 tables done" in text
    assert "About 20 s left." in text
    assert "B02 Running 150 / 300" in text
    assert b'hx-trigger="every 2s"' in page.content
    part = manager.get(reverse("reports:progress", args=[run.pk]))
    assert part.content.decode().strip().startswith('<div class="stack" id="progress" hx-get=')
    run.status, run.finished_at = "done", timezone.now()
    run.save()
    report = samples.save_report(venue, samples.quiet(venue.code, venue.name, night))
    over = manager.get(reverse("reports:progress", args=[run.pk]))
    assert b"hx-trigger" not in over.content
    assert f'href="{reverse("reports:report", args=[report.pk])}"'.encode() in over.content


def test_a_failed_audit_says_why_and_is_tried_again(
    manager: Client, venue: Venue, night: dt.date, table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(venue, night, "failed", error="B01: out of reach", retry_at=timezone.now(), attempts=3)
    TableAudit.objects.create(run=run, table=table("B01"), status="failed", error="out of reach")
    text = words(manager.get(reverse("reports:run", args=[run.pk])))
    assert "The audit failed. B01: out of reach It was tried 3 times." in text
    assert "is tried again by itself at" in text
    assert "Try again now" in text
    assert "B01: out of reach" in words(manager.get(reverse("reports:list")))
    asked: list[tuple[AuditRun, str]] = []
    monkeypatch.setattr("incidents.reports.runs.retry", lambda run, by: asked.append((run, by)))
    answer = manager.post(reverse("reports:retry", args=[run.pk]))
    assert answer.headers["Location"] == reverse("reports:run", args=[run.pk])
    assert asked == [(run, "manager")]
    AuditRun.objects.update(status="done")
    manager.post(reverse("reports:retry", args=[run.pk]))
    assert len(asked) == 1


def test_a_closed_day_is_audited_by_hand(
    manager: Client, venue: Venue, table: MakeTable, settings: Any, tmp_path: Path
) -> None:
    """From the form to the report, with a hand whose fifth card lay at the wrong side."""
    settings.VAR_DIR = tmp_path
    table()
    lines = Lines("B07")
    cards = "P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s"
    record_many([*lines.open(), *lines.hand(1), *lines.hand(2, cards)], actor="test")
    day = gaming_day(venue, START)
    begun = manager.post(reverse("reports:start"), {"day": day.isoformat()})
    run = AuditRun.objects.get()
    assert begun.headers["Location"] == reverse("reports:run", args=[run.pk])
    assert (run.cause, run.asked_by) == ("hand", "manager")
    assert "0 % of the events, 0 of 1 tables done" in words(manager.get(begun.headers["Location"]))
    runs.carry_out(run)
    report = AuditReport.objects.get(kind="nightly")
    done = manager.get(begun.headers["Location"])
    assert f'href="{reverse("reports:report", args=[report.pk])}"' in done.content.decode()
    page = manager.get(reverse("reports:report", args=[report.pk]))
    incident = Incident.objects.get()
    assert f'href="{reverse("incidents:incident", args=[incident.pk])}">B07 shoe 1 hand 2</a>' in page.content.decode()
    text = words(page)
    assert "1 thing wants attention" in text
    assert "Hands dealt 2" in text
    assert "Fifth card on the wrong place" in text
    month = manager.get(reverse("reports:day", args=["2024-11"]), follow=True)
    assert "Report of November 2024" in words(month)
    assert "29 days without a report" in words(month)
    # Once more: it comes to the same, and there is no other revision.
    again = manager.post(reverse("reports:start"), {"day": day.isoformat()})
    runs.carry_out(AuditRun.objects.latest("number"))
    assert "there is no other revision" in words(manager.get(again.headers["Location"]))
    assert AuditReport.objects.filter(kind="nightly").count() == 1


def test_a_day_that_cannot_be_audited_is_refused(manager: Client, venue: Venue, table: MakeTable) -> None:
    table()
    lines = Lines("B07")
    record_many([*lines.open(), *lines.hand(1)], actor="test")
    newest = last_closed(venue, timezone.now())
    ahead = manager.post(reverse("reports:start"), {"day": (newest + dt.timedelta(days=1)).isoformat()})
    assert ahead.status_code == 422
    assert "This day is not over." in words(ahead)
    assert manager.post(reverse("reports:start"), {"day": "nonsense"}).status_code == 422
    early = manager.post(reverse("reports:start"), {"day": "1999-12-31"})
    assert "Nothing had been recorded by that day." in words(early)
    assert AuditRun.objects.count() == 0
    assert manager.get(reverse("reports:start")).status_code == 200  # after the language was changed there


def test_the_day_that_is_started_is_the_one_asked_for(
    manager: Client, venue: Venue, night: dt.date, table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incidents.reports.views._first_day", lambda venue: night - dt.timedelta(days=400))
    begun = run_of(venue, night, "running")
    asked: list[Any] = []

    def start(venue: Venue, day: dt.date, *, by: str) -> AuditRun:
        asked.append((venue.code, day, by))
        return begun

    monkeypatch.setattr("incidents.reports.runs.start_by_hand", start)
    Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    for other in ("HILL", "NOWHERE", "river"):  # one's own house is not audited in place of another
        answer = manager.post(reverse("reports:start"), {"day": night.isoformat(), "house": other})
        assert (answer.status_code, asked) == (404, [])
    answer = manager.post(reverse("reports:start"), {"day": night.isoformat(), "house": "RIVER"})
    assert answer.headers["Location"] == reverse("reports:run", args=[begun.pk])
    assert asked == [("RIVER", night, "manager")]


# Whether last night is done.


def state_of(venue: Venue, now: dt.datetime) -> str:
    return selectors.last_nights([venue], now)[0].state


def test_last_night_is_done_running_late_failed_or_missing(
    manager: Client, venue: Venue, table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    day = last_closed(venue, now) - dt.timedelta(days=1)  # whatever the hour, all of this is over by now
    closed = bounds(venue, day, day)[1]
    soon, late = closed + dt.timedelta(minutes=20), closed + dt.timedelta(minutes=90)
    assert state_of(venue, late) == "nothing"
    AuditDay.objects.create(venue=venue, day=day)
    assert (state_of(venue, soon), state_of(venue, late)) == ("waiting", "missing")
    run = run_of(venue, day, "running")
    assert (state_of(venue, soon), state_of(venue, late)) == ("running", "late")
    AuditRun.objects.update(status="failed", finished_at=now, retry_at=now)
    assert (state_of(venue, soon), state_of(venue, late)) == ("failed", "failed")
    samples.save_report(venue, samples.quiet(venue.code, venue.name, day))
    assert state_of(venue, late) == "done"  # a revision failed, and is tried again by itself
    AuditRun.objects.update(retry_at=None)
    assert state_of(venue, late) == "failed"
    run.refresh_from_db()
    AuditRun.objects.update(status="done")
    assert state_of(venue, late) == "done"


def test_health_is_red_when_last_night_is_missing(client: Client, people: People, venue: Venue, night: dt.date) -> None:
    assert client.get("/health/night/").json() == {
        "status": "ok",
        "houses": {"nothing": 1},
        "chains": "whole",
        "beat": None,
    }
    run_of(venue, night, "failed", error="out of reach")
    answer = client.get("/health/night/")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unavailable",
        "houses": {"failed": 1},
        "chains": "whole",
        "beat": None,
    }
    assert "River" not in answer.content.decode()
    client.force_login(people("manager"))
    page = client.get("/reports/status/")
    assert page.status_code == 503
    assert "No: somebody has to see to the audit of 1 house." in words(page)
    assert "River House" in words(page)
    AuditRun.objects.update(status="done")
    samples.save_report(venue, samples.quiet(venue.code, venue.name, night))
    page = client.get("/reports/status/")
    assert page.status_code == 200
    assert "Yes: last night is audited." in words(page)
    assert client.get("/health/night/").json()["status"] == "ok"


def test_a_broken_chain_is_told(client: Client, people: People, venue: Venue, night: dt.date, table: MakeTable) -> None:
    """The audit is done, and says so; the chain is no matter of the status, and shows all the same."""
    table("B07")
    report = samples.save_report(venue, samples.quiet(venue.code, venue.name, night))
    client.force_login(people("manager"))
    assert "broken" not in words(client.get("/reports/status/"))
    keep_walk(Verified("B07", 3, "", Broken("B07", 4, "its hash does not match its content")))
    answer = client.get("/health/night/")
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["chains"]) == ("ok", "broken")
    page = client.get("/reports/status/")
    assert page.status_code == 200
    assert "River House: the hash chain of 1 log is broken, it is not what was recorded: B07." in words(page)
    assert reverse("reports:report", args=[report.pk]) in page.content.decode()
    keep_walk(Verified("B07", 3, "", None))
    assert client.get("/health/night/").json()["chains"] == "whole"
    samples.save_full(venue, night, revision=2)
    assert client.get("/health/night/").json()["chains"] == "broken"
    assert "last night’s report says that a hash chain is broken" in words(client.get("/reports/status/"))


def test_a_run_that_nobody_is_at_is_told(
    manager: Client, venue: Venue, night: dt.date, table: MakeTable, settings: Any
) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = False
    now, told = timezone.now(), "No worker has taken this up"
    run = run_of(venue, night, "running", started_at=now - selectors.STUCK_AFTER / 2)
    part = TableAudit.objects.create(run=run, table=table("B07"))
    page = reverse("reports:run", args=[run.pk])

    def stuck() -> bool:
        said = told in words(manager.get(page))
        assert (state_of(venue, timezone.now()) == "stuck") == said
        assert (manager.get("/health/night/").json()["houses"] == {"stuck": 1}) == said
        return said

    assert not stuck()
    AuditRun.objects.update(started_at=now - 2 * selectors.STUCK_AFTER)
    assert stuck()
    assert manager.get("/health/night/").status_code == 503
    assert "stuck: nobody is at it" in words(manager.get("/reports/status/"))
    # Somebody works on it; or on another one, and this waits for its turn.
    minute = dt.timedelta(minutes=1)
    TableAudit.objects.update(status="running", lease_until=now + minute)
    assert not stuck()
    other = run_of(venue, night - dt.timedelta(days=1), "running")
    TableAudit.objects.update(status="waiting", lease_until=None)
    busy = TableAudit.objects.create(run=other, table=part.table, status="running", lease_until=now + minute)
    assert not stuck()
    # The last of them left a moment ago, and then long ago.
    busy.delete()
    TableAudit.objects.update(status="running", lease_until=now - minute)
    assert not stuck()
    TableAudit.objects.update(lease_until=now - 2 * selectors.STUCK_AFTER)
    assert stuck()
    settings.CELERY_TASK_ALWAYS_EAGER = True
    assert "Run the command nightly_audit" in words(manager.get(page))
    AuditRun.objects.update(status="failed", finished_at=now)
    runs.retry(run, send=False)
    assert "Run the command nightly_audit" not in words(manager.get(page))


def test_a_scheduler_that_stands_still_is_told(manager: Client, venue: Venue, night: dt.date) -> None:
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    assert "No scheduler has started an audit here" in words(manager.get("/reports/status/"))
    every = IntervalSchedule.objects.create(every=1, period=IntervalSchedule.MINUTES)
    ticked = timezone.now() - dt.timedelta(hours=3)
    PeriodicTask.objects.create(
        name="nights", task="incidents.reports.tasks.audit_nights", interval=every, last_run_at=ticked
    )
    text = words(manager.get("/reports/status/"))
    assert "last did so 3 hours ago. It should do so every minute" in text
    assert manager.get("/health/night/").json()["beat"] == ticked.isoformat()


def test_money_that_was_put_right_stands_beside_what_is_still_wrong(
    manager: Client, venue: Venue, night: dt.date
) -> None:
    figures = samples.quiet(venue.code, venue.name, night)
    figures.attention.overpaid_corrected, figures.attention.corrected_count = Decimal("650.00"), 2
    report = samples.save_report(venue, figures)
    text = words(manager.get(reverse("reports:report", args=[report.pk])))
    assert "Nothing wants attention" in text
    assert "Paid too much 0.00 650.00 put right since Paid too little 0.00" in text


def test_what_came_after_the_day_is_named_where_its_number_stands_on_every_page(
    manager: Client, venue: Venue, night: dt.date, table: MakeTable
) -> None:
    report = samples.save_report(venue, samples.quiet(venue.code, venue.name, night))
    samples.open_incident(table())
    text = words(manager.get(reverse("reports:report", args=[report.pk])))
    assert "1 open incident came after this day and is not in this report." in text

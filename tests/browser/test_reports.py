"""The reports in a browser: read in three minutes, an audit watched to its end, and one started again, by touch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealing.log import record_many
from dealing.models import Venue
from incidents.models import Incident
from incidents.reports import plots
from incidents.reports.models import AuditDay, AuditRun, TableAudit
from incidents.reports.selectors import last_closed
from tests import reports_samples as samples
from tests.browser.test_access import AXE, SMALL_KEYS, SMALLEST
from tests.conftest import MakeTable
from tests.table_logs import Lines

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

PHONE = {"width": 390, "height": 844}
TABLET = {"width": 1180, "height": 820}
Open = Callable[..., Page]


def check(page: Page) -> None:
    """Nobody is kept out: axe finds nothing, fingers find the keys, and the page is no wider than the screen."""
    found = Axe().run(page, options=AXE).response["violations"]
    assert [f"{one['id']}: {node['target']}" for one in found for node in one["nodes"]] == []
    assert page.evaluate(SMALL_KEYS, SMALLEST) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def run_of(venue: Venue, day: dt.date, status: str, **fields: Any) -> AuditRun:
    of_day, _made = AuditDay.objects.get_or_create(venue=venue, day=day)
    return AuditRun.objects.create(
        of_day=of_day, number=1, status=status, cause="close", changes=0, started_at=timezone.now(), **fields
    )


@pytest.mark.parametrize(
    ("size", "scheme", "language", "said"),
    [
        pytest.param(TABLET, "light", "en", ("things want attention", "Open incidents"), id="tablet-english"),
        pytest.param(PHONE, "dark", "th", ("เรื่องที่ต้องดูแล", "เหตุการณ์ที่ยังเปิดอยู่"), id="phone-thai"),
    ],
)
def test_a_manager_sees_first_what_wants_attention(
    enter: Open, venue: Venue, size: dict[str, int], scheme: str, language: str, said: tuple[str, str]
) -> None:
    night = last_closed(venue, timezone.now())
    report = samples.save_full(venue, night)
    plots.draw(report)
    page = enter("manager", "/reports/", language, viewport=size, color_scheme=scheme)
    page.get_by_role("region").get_by_role("link").first.click()
    summary = page.locator(".report-summary")
    expect(summary).to_contain_text(said[0])
    expect(summary).to_be_in_viewport()
    expect(page.locator(".plot-box svg").first).to_be_visible()
    check(page)

    # A press on the summary leads to the list, the list to the thing itself.
    summary.get_by_role("link", name=said[1]).click()
    group = page.locator(".report-group").filter(has=page.locator("#group-open"))
    expect(group).to_be_in_viewport()
    expect(group.locator("a")).to_have_count(3)

    # What is folded away opens by keyboard too.
    payouts = page.locator(".report-group").filter(has=page.locator("#group-payouts"))
    expect(payouts.locator(".report-item:visible")).to_have_count(3)
    payouts.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(payouts.locator(".report-item:visible")).to_have_count(15)
    check(page)


def test_an_open_incident_is_one_press_away(enter: Open, venue: Venue, table: MakeTable) -> None:
    table()
    lines = Lines("B07")
    record_many([*lines.open(), *lines.hand(1, "P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s", closed=False)], actor="test")
    incident = Incident.objects.get()
    figures = samples.figures(venue.code, venue.name, last_closed(venue, timezone.now()))
    figures.attention.open_incidents = figures.attention.open_incidents[:1]
    figures.attention.open_incidents[0].incident = incident.pk
    report = samples.save_report(venue, figures)
    page = enter("manager", f"/reports/{report.pk}/", viewport=TABLET)
    page.locator("[data-kind=open] a").first.click()
    page.wait_for_url(f"**/incidents/{incident.pk}/")


def test_an_audit_is_watched_to_its_end(enter: Open, venue: Venue, table: MakeTable) -> None:
    night = last_closed(venue, timezone.now())
    run = run_of(venue, night, "running")
    part = TableAudit.objects.create(run=run, table=table("B01"), status="running", events=200, events_done=20)
    page = enter("manager", f"/reports/runs/{run.pk}/", viewport=PHONE)
    expect(page.get_by_role("status")).to_contain_text("10 % of the events, 0 of 1 tables done")
    check(page)
    loads: list[str] = []
    page.on("load", lambda page: loads.append(page.url))
    TableAudit.objects.filter(pk=part.pk).update(events_done=150)
    expect(page.get_by_role("status")).to_contain_text("75 % of the events", timeout=6_000)
    TableAudit.objects.filter(pk=part.pk).update(status="done", events_done=200, night={})
    AuditRun.objects.filter(pk=run.pk).update(status="done", finished_at=timezone.now())
    report = samples.save_report(venue, samples.quiet(venue.code, venue.name, night))
    page.get_by_role("link", name="Open the report").click(timeout=6_000)
    page.wait_for_url(f"**/reports/{report.pk}/")
    expect(page.locator(".report-summary")).to_contain_text("Nothing wants attention")
    assert len(loads) == 1  # the report: watching needed none


@pytest.mark.parametrize(("language", "again"), [("en", "Try again now"), ("th", "ลองใหม่ตอนนี้")])
def test_a_failed_audit_is_tried_again(
    enter: Open,
    venue: Venue,
    table: MakeTable,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    again: str,
) -> None:
    night = last_closed(venue, timezone.now())
    run = run_of(venue, night, "failed", error="B01: the disk is full", finished_at=timezone.now())
    TableAudit.objects.create(run=run, table=table("B01"), status="failed", error="the disk is full")

    def retry(run: AuditRun, by: str) -> None:
        AuditRun.objects.filter(pk=run.pk).update(status="running", finished_at=None, error="")
        TableAudit.objects.filter(run=run).update(status="waiting", error="")

    monkeypatch.setattr("incidents.reports.runs.retry", retry)
    page = enter("manager", "/reports/", language, viewport=TABLET)
    expect(page.locator(".notice-danger").first).to_contain_text("the disk is full")
    check(page)
    page.locator(".notice-danger a").first.click()
    page.get_by_role("button", name=again).click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    check(page)


def test_whoever_may_not_decide_is_offered_no_keys(enter: Open, venue: Venue, table: MakeTable) -> None:
    run = run_of(
        venue, last_closed(venue, timezone.now()), "failed", error="B01: out of reach", finished_at=timezone.now()
    )
    page = enter("auditor", f"/reports/runs/{run.pk}/", viewport=TABLET)
    expect(page.get_by_text("A manager can try it again.")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
    page.goto(page.url.replace(f"runs/{run.pk}/", "status/"))
    expect(page.get_by_role("main")).to_contain_text("No: somebody has to see to the audit of 1 house.")
    check(page)

"""The month: its nightly reports added up, and made again where one of them is made again."""

from __future__ import annotations

import datetime as dt
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import msgspec
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from dealing.gaming_days import bounds
from dealing.models import Venue

from .decided import set_times, waits
from .figures import (
    LISTED,
    AmenderLine,
    DayLine,
    DealerLine,
    DecisionFigures,
    Figures,
    Flag,
    MonthFigures,
    TableLine,
)
from .gather import added_pays, compared_rates
from .models import AuditDay, AuditReport, AuditRun
from .selectors import MONTHLY, NIGHTLY, days_of, first_of_next_month, latest

logger = logging.getLogger(__name__)


def after(report: AuditReport) -> list[AuditReport]:
    """Bring the monthly reports up to date with a nightly report that was just made; the new ones.

    The month of its day is made (again) when it is over; so is the month before, where that was left without one. While
    other days of the month are still to be audited, the last of them sees to it.
    """
    if report.kind != NIGHTLY:
        return []
    venue, month = report.venue, report.day.replace(day=1)
    before = (month - dt.timedelta(days=1)).replace(day=1)
    new = []
    for of in (before, month):
        kept = AuditReport.objects.filter(venue=venue, kind=MONTHLY, day=of).exists()
        if (of == month or not kept) and _over(venue, of) and not _going_on(venue, of, report):
            made = make_month(venue, of)
            if made is not None:
                new.append(made)
    for one in new:
        _dress(one)
    return new


def _over(venue: Venue, month: dt.date) -> bool:
    """Whether all its days are closed."""
    days = days_of(month)
    return timezone.now() >= bounds(venue, days[0], days[-1])[1]


def _going_on(venue: Venue, month: dt.date, report: AuditReport) -> bool:
    """Whether other days of the month are being audited, or are to be: what they come to is added up with theirs.

    A day whose audit was given up is not waited for.
    """
    days = AuditDay.objects.filter(venue=venue, day__gte=month, day__lt=first_of_next_month(month))
    others = days.exclude(day=report.day)
    runs = AuditRun.objects.filter(of_day=OuterRef("pk"))
    running = Exists(runs.filter(status=AuditRun.Status.RUNNING))
    given_up = Exists(runs.filter(status=AuditRun.Status.FAILED, retry_at=None))
    due = Q(audited=None) | ~Q(changes=F("audited"))
    return others.filter(running | due & ~given_up).exists()


def make_month(venue: Venue, month: dt.date) -> AuditReport | None:
    """Store what the month's nightly reports come to, as the next revision of its report, and put it into the post.

    None where there is nothing to add up, or where the last revision says the same.
    """
    month = month.replace(day=1)
    with transaction.atomic():
        # One at a time: two nights that end together must not both make the same revision.
        venue = Venue.objects.select_for_update(no_key=True).get(pk=venue.pk)
        figures = add_up(venue, month)
        if figures is None:
            return None
        last = AuditReport.objects.filter(venue=venue, kind=MONTHLY, day=month).order_by("-revision").first()
        if last is not None and last.figures == figures.as_json():
            return None
        made = AuditReport.objects.create(
            venue=venue,
            kind=MONTHLY,
            day=month,
            revision=1 if last is None else last.revision + 1,
            cause=AuditRun.Cause.CLOSE if last is None else AuditRun.Cause.LATE,
            made_at=timezone.now(),
            figures=figures.as_json(),
            hands=figures.hands,
            events=figures.events,
            findings=figures.findings,
            attention=figures.attention or 0,
            flags=len(figures.flags),
            chain_whole=all(line.chain_whole for line in figures.days),
        )
        from incidents.trail.writing import note_report
        from incidents.webhooks.telling import report_done

        from .deliver import enqueue

        note_report(made)
        enqueue(made)
        report_done(made)
    return made


def _dress(report: AuditReport) -> None:
    """Draw its plots and write its files: a failure of these takes nothing from the report."""
    from incidents.trail import heads

    from . import files, plots

    for step in (heads.sign_report, plots.draw, files.make_all):
        try:
            step(report)
        except Exception:
            logger.exception("monthly report %s: %s failed", report, step.__module__)


def add_up(venue: Venue, month: dt.date) -> MonthFigures | None:
    """The latest revisions of the month's nightly reports, added up; None where there are none."""
    days = days_of(month)
    nightly = AuditReport.objects.filter(venue=venue, kind=NIGHTLY)
    reports = list(latest(nightly.filter(day__gte=days[0], day__lte=days[-1])).order_by("day"))
    if not reports:
        return None
    nights = [report.nightly for report in reports]
    made = {report.day for report in reports}
    tables, dealers = _tables(nights), _dealers(nights)
    codes = _added(night.codes for night in nights)
    hands = sum(night.hands for night in nights)
    before = days[0] - dt.timedelta(days=1)
    month_before = nightly.filter(day__gte=before.replace(day=1), day__lte=before)
    departures = [one for night in nights for one in night.attention.departures]
    last = nights[-1].attention
    waiting = sorted((*last.older, *last.open_incidents), key=lambda one: (one.opened_at, one.incident))
    open_count = last.older_count + last.open_count
    return MonthFigures(
        venue=venue.code,
        venue_name=venue.name,
        time_zone=venue.time_zone,
        month=days[0],
        days=[_day_line(report) for report in reports],
        missing=[day for day in days if day not in made],
        hands=hands,
        events=sum(night.events for night in nights),
        findings=sum(night.findings for night in nights),
        voided=sum(night.voided for night in nights),
        codes=codes,
        tables=tables,
        dealers=dealers,
        rates=compared_rates(month_before, hands, codes, tables, dealers),
        decisions=_decisions(venue, days, nights),
        departures=departures[:LISTED],
        departure_count=sum(night.attention.departure_count for night in nights),
        overpaid=sum((night.attention.overpaid for night in nights), Decimal("0.00")),
        underpaid=sum((night.attention.underpaid for night in nights), Decimal("0.00")),
        overpaid_corrected=sum((night.attention.overpaid_corrected for night in nights), Decimal("0.00")),
        underpaid_corrected=sum((night.attention.underpaid_corrected for night in nights), Decimal("0.00")),
        corrected_count=sum(night.attention.corrected_count for night in nights),
        # An incident that waits for nights is one thing to see to: it is counted as it stood at the month's end.
        attention=open_count + sum(night.attention.count - night.attention.open_count for night in nights),
        open_incidents=waiting[:LISTED],
        open_count=open_count,
        amenders=_amenders(nights),
        paid=added_pays(night.paid for night in nights),
        flags=[_of_day(flag, night) for night in nights for flag in night.game.flags],
    )


def _of_day(flag: Flag, night: Figures) -> Flag:
    return msgspec.structs.replace(flag, day=night.day)


def _day_line(report: AuditReport) -> DayLine:
    attention = report.nightly.attention
    return DayLine(
        day=report.day,
        revision=report.revision,
        hands=report.hands,
        events=report.events,
        findings=report.findings,
        attention=report.attention,
        overpaid=attention.overpaid,
        underpaid=attention.underpaid,
        chain_whole=report.chain_whole,
    )


def _added(of: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The counts of each name, added up; the highest first."""
    total: Counter[str] = Counter()
    for one in of:
        total.update(one)
    return dict(total.most_common())


def _tables(nights: Sequence[Figures]) -> list[TableLine]:
    """Each table's rows added up; name, rules and the head of the log are those of its last night."""
    lines: dict[str, list[TableLine]] = {}
    for line in (line for night in nights for line in night.tables):
        lines.setdefault(line.code, []).append(line)
    return [
        msgspec.structs.replace(
            of[-1],
            events=sum(line.events for line in of),
            hands=sum(line.hands for line in of),
            findings=sum(line.findings for line in of),
            codes=_added(line.codes for line in of),
            voided=sum(line.voided for line in of),
            unreadable=sum(line.unreadable for line in of),
            chain_whole=all(line.chain_whole for line in of),
        )
        for _code, of in sorted(lines.items())
    ]


def _dealers(nights: Sequence[Figures]) -> list[DealerLine]:
    lines: dict[str, list[DealerLine]] = {}
    for line in (line for night in nights for line in night.dealers):
        lines.setdefault(line.dealer, []).append(line)
    added = [
        msgspec.structs.replace(
            of[-1],
            hands=sum(line.hands for line in of),
            findings=sum(line.findings for line in of),
            codes=_added(line.codes for line in of),
        )
        for of in lines.values()
    ]
    return sorted(added, key=lambda line: (-line.findings, line.dealer))


def _amenders(nights: Sequence[Figures]) -> list[AmenderLine]:
    lines: dict[str, list[AmenderLine]] = {}
    for line in (line for night in nights for line in night.amenders):
        lines.setdefault(line.person, []).append(line)
    added = [
        msgspec.structs.replace(
            of[-1],
            corrected=sum(line.corrected for line in of),
            withdrawn=sum(line.withdrawn for line in of),
        )
        for of in lines.values()
    ]
    return sorted(added, key=lambda line: (-line.corrected - line.withdrawn, line.person))


def _decisions(venue: Venue, days: Sequence[dt.date], nights: Sequence[Figures]) -> DecisionFigures:
    """The nights' figures added up. Medians cannot be added: the times are those of the month’s own decisions."""
    of = [night.decisions for night in nights]
    out = DecisionFigures(
        decisions=sum(one.decisions for one in of),
        actions=_added(one.actions for one in of),
        voided_hands=sum(one.voided_hands for one in of),
        void_returned=sum((one.void_returned for one in of), Decimal("0.00")),
        void_owed=sum((one.void_owed for one in of), Decimal("0.00")),
        void_kept=sum((one.void_kept for one in of), Decimal("0.00")),
        corrected_hands=sum(one.corrected_hands for one in of),
        corrected=sum((one.corrected for one in of), Decimal("0.00")),
    )
    if any(one.timed for one in of):
        set_times(out, waits(venue, bounds(venue, days[0], days[-1])))
    return out

"""Which reports and runs there are, for whom, and whether last night's audit is as it should be."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from dealing.gaming_days import bounds, gaming_day
from dealing.models import TableEvent, Venue
from dealing.people import User
from dealing.pit.access import member_of

from .models import AuditDay, AuditReport, AuditRun

#: How long after it was due the audit of a day may take before it is late.
GRACE: Final = dt.timedelta(minutes=60)
NIGHTLY, MONTHLY = AuditReport.Kind.NIGHTLY, AuditReport.Kind.MONTHLY


def latest(reports: QuerySet[AuditReport]) -> QuerySet[AuditReport]:
    """Of each venue, kind and day the revision that speaks."""
    newer = AuditReport.objects.filter(
        venue=OuterRef("venue"), kind=OuterRef("kind"), day=OuterRef("day"), revision__gt=OuterRef("revision")
    )
    return reports.filter(~Exists(newer))


def reports_of(user: User) -> QuerySet[AuditReport]:
    """The reports that the person may see, the figures left unread: those of their house, else all."""
    member = member_of(user)
    found = AuditReport.objects.defer("figures")
    return found.filter(venue=member.venue_id) if member else found


def runs_of(user: User) -> QuerySet[AuditRun]:
    """The runs that the person may see, each with its day and house."""
    member = member_of(user)
    found = AuditRun.objects.select_related("of_day__venue")
    return found.filter(of_day__venue=member.venue_id) if member else found


def first_of_next_month(month: dt.date) -> dt.date:
    """The first day of the month after."""
    return (month.replace(day=1) + dt.timedelta(days=32)).replace(day=1)


def days_of(month: dt.date) -> list[dt.date]:
    """The days of the month."""
    first, after = month.replace(day=1), first_of_next_month(month)
    return [first + dt.timedelta(days=n) for n in range((after - first).days)]


def last_closed(venue: Venue, now: dt.datetime) -> dt.date:
    """The last gaming day of the house that is over."""
    return gaming_day(venue, now) - dt.timedelta(days=1)


def due_at(venue: Venue, day: dt.date) -> dt.datetime:
    """When the audit of the day is to begin."""
    return bounds(venue, day, day)[1] + dt.timedelta(minutes=settings.AUDIT_AFTER_CLOSE)


# Last night.

DONE, RUNNING, WAITING, FAILED, LATE, MISSING, NOTHING = (
    *("done", "running", "waiting", "failed", "late", "missing", "nothing"),
)
#: What somebody has to see to.
RED: Final = frozenset({FAILED, LATE, MISSING})


@dataclass(frozen=True, slots=True)
class LastNight:
    """Where the audit of a house's last closed day stands: `state` is DONE, RUNNING, WAITING (due, or soon; nobody has
    begun yet), FAILED, LATE, MISSING, or NOTHING where the house had no log yet.
    """

    venue: Venue
    day: dt.date
    due: dt.datetime
    state: str
    report: AuditReport | None = None
    run: AuditRun | None = None

    @property
    def red(self) -> bool:
        """Whether somebody has to see to it."""
        return self.state in RED

    @property
    def kind(self) -> str:
        """The kind of badge: ok, due, danger, or none."""
        return {DONE: "ok", RUNNING: "due", WAITING: "due", NOTHING: ""}.get(self.state, "danger")


def last_nights(venues: Iterable[Venue], now: dt.datetime | None = None) -> list[LastNight]:
    """Where last night's audit of each house stands. A fixed number of statements, however many houses."""
    now = now or timezone.now()
    venues = list(venues)
    days = {venue.pk: last_closed(venue, now) for venue in venues}
    reports = {
        (report.venue_id, report.day): report
        for report in latest(
            AuditReport.objects.defer("figures").filter(kind=NIGHTLY, venue__in=venues, day__in=set(days.values()))
        )
    }
    runs: dict[tuple[int, dt.date], AuditRun] = {}
    asked = AuditRun.objects.filter(of_day__venue__in=venues, of_day__day__in=set(days.values()))
    for one in asked.select_related("of_day").order_by("number"):
        runs[one.of_day.venue_id, one.of_day.day] = one  # the last of the day
    begun = _with_a_log(venues, days)
    begun |= set(AuditDay.objects.filter(venue__in=venues).order_by().values_list("venue", flat=True).distinct())
    out = []
    for venue in venues:
        day = days[venue.pk]
        report, run = reports.get((venue.pk, day)), runs.get((venue.pk, day))
        due = due_at(venue, day)
        state = _state(report, run, late=now > due + GRACE, begun=venue.pk in begun)
        out.append(LastNight(venue, day, due, state, report, run))
    return out


def _state(report: AuditReport | None, run: AuditRun | None, *, late: bool, begun: bool) -> str:
    if run is not None and run.status == AuditRun.Status.FAILED and (report is None or run.retry_at is None):
        return FAILED
    if report is not None:
        return DONE
    if run is not None and run.status == AuditRun.Status.RUNNING:
        return LATE if late else RUNNING
    if not begun:
        return NOTHING
    return MISSING if late else WAITING


def _with_a_log(venues: Iterable[Venue], days: dict[int, dt.date]) -> set[int]:
    """The houses in whose log something happened before the end of the day in question."""
    first = TableEvent.objects.filter(table__venue__in=list(venues), seq=1).order_by()
    ends = {venue.pk: bounds(venue, days[venue.pk], days[venue.pk])[1] for venue in venues}
    return {venue for venue, at in first.values_list("table__venue", "at") if at < ends[venue]}


def beat_ticked() -> dt.datetime | None:
    """When the scheduler last sent a task to begin the night's audits; None where it never has, or is not used."""
    from django_celery_beat.models import PeriodicTask

    found: Any = PeriodicTask.objects.filter(task="incidents.reports.tasks.audit_nights", enabled=True)
    ticked: dt.datetime | None = found.order_by("-last_run_at").values_list("last_run_at", flat=True).first()
    return ticked

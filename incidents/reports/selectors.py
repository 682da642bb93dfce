"""Which reports and runs there are, for whom, and whether last night's audit is as it should be."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils import timezone

from dealing.gaming_days import bounds, last_closed
from dealing.models import ChainWalk, TableEvent, Venue
from dealing.people import User
from dealing.permissions import member_of
from incidents.trail.walks import broken_names

from .models import AuditDay, AuditReport, AuditRun, TableAudit

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


def due_at(venue: Venue, day: dt.date) -> dt.datetime:
    """When the audit of the day is to begin."""
    return bounds(venue, day, day)[1] + dt.timedelta(minutes=settings.AUDIT_AFTER_CLOSE)


# Last night.

DONE, RUNNING, WAITING, FAILED, LATE, STUCK, MISSING, NOTHING = (
    *("done", "running", "waiting", "failed", "late", "stuck", "missing", "nothing"),
)
#: What somebody has to see to.
RED: Final = frozenset({FAILED, LATE, STUCK, MISSING})
#: A run that nobody is at for so long is stuck: the scheduler had two turns to hand its tables out again.
STUCK_AFTER: Final = dt.timedelta(seconds=150)


@dataclass(frozen=True, slots=True)
class LastNight:
    """Where the audit of a house's last closed day stands: `state` is DONE, RUNNING, WAITING (due, or soon; nobody has
    begun yet), FAILED, LATE, STUCK (begun, and nobody is at it), MISSING, or NOTHING where the house had no log yet.

    `broken`: codes of the house's tables at which the last whole walk found the hash chain broken.
    """

    venue: Venue
    day: dt.date
    due: dt.datetime
    state: str
    report: AuditReport | None = None
    run: AuditRun | None = None
    broken: tuple[str, ...] = ()
    #: Names of the trails and signed heads in which the last walk found something.
    trails: tuple[str, ...] = ()

    @property
    def chain_broken(self) -> bool:
        """Whether a log of the house is not what was recorded, or a trail or signed head not what was written, as far
        as last night's audit and the last walk say.
        """
        return bool(self.broken or self.trails) or (self.report is not None and not self.report.chain_whole)

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
    stuck = stuck_runs(runs.values(), now)
    broken: dict[int, list[str]] = {}
    walks = ChainWalk.objects.exclude(problem="").filter(table__venue__in=venues).order_by("table__code")
    for owner, code in walks.values_list("table__venue", "table__code"):
        broken.setdefault(owner, []).append(code)
    trails = broken_names(venues)
    out = []
    for venue in venues:
        day = days[venue.pk]
        report, run = reports.get((venue.pk, day)), runs.get((venue.pk, day))
        due = due_at(venue, day)
        is_stuck = run is not None and run.pk in stuck
        state = _state(report, run, late=now > due + GRACE, stuck=is_stuck, begun=venue.pk in begun)
        out.append(LastNight(venue, day, due, state, report, run, tuple(broken.get(venue.pk, ())), trails[venue.pk]))
    return out


def _state(report: AuditReport | None, run: AuditRun | None, *, late: bool, stuck: bool, begun: bool) -> str:
    if run is not None and run.status == AuditRun.Status.FAILED and (report is None or run.retry_at is None):
        return FAILED
    if report is not None:
        return DONE
    if run is not None and run.status == AuditRun.Status.RUNNING:
        return STUCK if stuck else LATE if late else RUNNING
    if not begun:
        return NOTHING
    return MISSING if late else WAITING


def stuck_runs(runs: Iterable[AuditRun], now: dt.datetime) -> set[int]:
    """The runs that go on, and that nobody is at: no worker has shown itself at any audit for `STUCK_AFTER`."""
    going = {run.pk: run.started_at for run in runs if run.status == AuditRun.Status.RUNNING}
    if not going:
        return set()
    # A run whose tables wait while others are read waits for its turn.
    if TableAudit.objects.filter(status=TableAudit.Status.RUNNING, lease_until__gte=now).exists():
        return set()
    seen = TableAudit.objects.filter(run__in=going).order_by().values_list("run")
    last = {run: at for run, at in seen.annotate(last=Max("lease_until")) if at is not None}
    return {pk for pk, begun in going.items() if now - max(begun, last.get(pk, begun)) > STUCK_AFTER}


def _with_a_log(venues: Iterable[Venue], days: dict[int, dt.date]) -> set[int]:
    """The houses in whose log something happened before the end of the day in question."""
    first = TableEvent.objects.filter(table__venue__in=list(venues), seq=1).order_by()
    ends = {venue.pk: bounds(venue, days[venue.pk], days[venue.pk])[1] for venue in venues}
    return {venue for venue, at in first.values_list("table__venue", "at") if at < ends[venue]}


def beat_ticked() -> dt.datetime | None:
    """When the scheduler last sent a task to begin the night's audits; None where it never has, or is not used."""
    from django_celery_beat.models import PeriodicTask

    found: Any = PeriodicTask.objects.filter(task="incidents.reports.tasks.audit_nights", enabled=True)
    ticked: dt.datetime | None = (
        found.exclude(last_run_at=None).order_by("-last_run_at").values_list("last_run_at", flat=True).first()
    )
    return ticked

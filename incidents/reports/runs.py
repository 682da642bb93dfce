"""The nightly audit as work: what is due, beginning a run, doing a table's part of it, finishing, trying again.

Rows say what is done. Whatever calls these functions (a worker, a second worker with the same task, the scheduler
twice, a person, a command) finds in the rows what is left to do, and every change is made only where it is still to be
made: one run of a day at a time, one holder of a table's part, one report of a run. Nothing depends on a task arriving.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError as BrokerError

from dealing.gaming_days import begins, bounds, gaming_day, last_closed
from dealing.models import Hand, Shoe, Table, TableEvent, Venue
from dealing.night import TableNight
from dealing.rejudge import Checked, day_positions, rejudge_table
from dealing.rules.events import Amended, Event
from dealing.verify import Broken, Verified, keep_walk

from .models import AuditDay, AuditReport, AuditRun, ReportFile, TableAudit

logger = logging.getLogger(__name__)

#: Days that are looked at whether anything is known of them or not.
DAYS_BACK: Final = 7
#: A run is tried so often; after the first failure a minute later, then two, four and so on.
ATTEMPTS: Final = 6
#: So many workers may vanish with a table's part before an attempt of the run is given up.
VANISHED: Final = 3
#: Runs of one house at a time: an archive that comes in with a thousand days waits for its turn.
AT_ONCE: Final = 2
#: How far back the dressing of reports is seen to.
DRESS_DAYS: Final = 2
#: The newest parts of a table in which the end of the last whole walk is looked for.
_LOOKED_AT: Final = 5
#: Seconds between two looks at what somebody else is at.
_WAIT: Final = 1.0

Part = TableAudit.Status
Run = AuditRun.Status
_DUE: Final = Q(audited__isnull=True) | ~Q(changes=F("audited"))


class ClaimLost(Exception):
    """Somebody else works on this part by now, or the run is over."""


def _lease() -> dt.timedelta:
    return dt.timedelta(seconds=settings.AUDIT_LEASE)


# --- what is due -----------------------------------------------------------------------------------------------------


def closed_day(venue: Venue, now: dt.datetime) -> dt.date:
    """The last gaming day of the house whose audit may begin: over for AUDIT_AFTER_CLOSE minutes."""
    return last_closed(venue, now - dt.timedelta(minutes=settings.AUDIT_AFTER_CLOSE))


def first_day(venue: Venue) -> dt.date | None:
    """The day of the first event of the house; None where nothing was recorded yet."""
    at = TableEvent.objects.filter(table__venue=venue, seq=1).order_by("at").values_list("at", flat=True).first()
    return None if at is None else gaming_day(venue, at)


def note_days(venue: Venue, now: dt.datetime) -> None:
    """Make the rows of the days that nobody audited and nothing came late to: those of the last week.

    None before the first event of the house; of a house without any, only the last closed day.
    """
    last = closed_day(venue, now)
    first = max(first_day(venue) or last, last - dt.timedelta(days=DAYS_BACK - 1))
    days = {first + dt.timedelta(days=n) for n in range((last - first).days + 1)}
    days -= set(AuditDay.objects.filter(venue=venue, day__in=days).values_list("day", flat=True))
    AuditDay.objects.bulk_create([AuditDay(venue=venue, day=day) for day in sorted(days)], ignore_conflicts=True)


def due_days(venue: Venue, now: dt.datetime) -> list[AuditDay]:
    """The days to be audited that have no unfinished run: those of the last week first, then older ones, by date."""
    last = closed_day(venue, now)
    unfinished = AuditRun.objects.filter(of_day=OuterRef("pk")).exclude(status=Run.DONE)
    due = AuditDay.objects.filter(_DUE, ~Exists(unfinished), venue=venue, day__lte=last).order_by("day")
    return sorted(due, key=lambda one: (one.day <= last - dt.timedelta(days=DAYS_BACK), one.day))


def is_late(*, table: Table, row: TableEvent, event: Event, hands: Sequence[Hand], shoe: Shoe, **_signal: Any) -> bool:
    """Whether an event may touch a day that is closed, and `note_late_entries` has something to count."""
    return bool(_late_times(_today(table.venue), row, event, hands)) or isinstance(event, Amended)


def _today(venue: Venue) -> dt.datetime:
    return begins(venue, gaming_day(venue, timezone.now()))


def _late_times(today: dt.datetime, row: TableEvent, event: Event, hands: Sequence[Hand]) -> list[dt.datetime]:
    """When the hands began that an event touches, or it was itself, if that was before today."""
    times = [one.started_at for one in hands if one.started_at < today]
    if event.hand is None and row.at < today:
        times.append(row.at)
    return times


def note_late_entries(
    *,
    table: Table,
    row: TableEvent,
    event: Event,
    hand: Hand | None,
    hands: Sequence[Hand],
    shoe: Shoe,
    **_signal: Any,
) -> None:
    """Count, on each closed day that an event touches, that its log has changed; in the transaction that appends.

    A hand belongs to the day it began in, whatever stands beside the hands to the day of its own event. Where all of it
    is of the current day, nothing is asked of the database.
    """
    venue = table.venue
    today = _today(venue)
    times = _late_times(today, row, event, hands)
    if isinstance(event, Amended) and shoe.opened_at < today:
        if hand is not None:
            times.append(hand.started_at)
        else:  # beside the hands, or of a hand that is no more
            times += TableEvent.objects.filter(table=table, seq=event.seq).values_list("at", flat=True)
    # Many hands of a shoe are of one quarter of an hour, and within it no day of any time zone begins.
    quarters = {at.replace(minute=at.minute // 15 * 15, second=0, microsecond=0) for at in times if at < today}
    for day in sorted({gaming_day(venue, at) for at in quarters}):
        changed = AuditDay.objects.filter(venue=venue, day=day)
        if not changed.update(changes=F("changes") + 1):
            AuditDay.objects.get_or_create(venue=venue, day=day)
            changed.update(changes=F("changes") + 1)


# --- beginning a run -------------------------------------------------------------------------------------------------


def open_run(
    of_day: AuditDay, now: dt.datetime, *, by: str = "", anyway: bool = False, send: bool = True
) -> AuditRun | None:
    """Begin an audit of a day that is due (`anyway`: or not); None where there is one, or nothing to be done.

    `send`: have the workers do it.
    """
    with transaction.atomic():
        of_day = AuditDay.objects.select_for_update().get(pk=of_day.pk)
        if of_day.runs.exclude(status=Run.DONE).exists():
            return None
        if not anyway and of_day.changes == of_day.audited:
            return None
        cause = AuditRun.Cause.CLOSE if of_day.audited is None else AuditRun.Cause.LATE
        run = AuditRun.objects.create(
            of_day=of_day,
            number=(of_day.runs.aggregate(last=Max("number"))["last"] or 0) + 1,
            cause=AuditRun.Cause.HAND if by else cause,
            asked_by=by,
            changes=of_day.changes,
            started_at=now,
        )
        tables = tables_of(of_day.venue, of_day.day)
        TableAudit.objects.bulk_create([TableAudit(run=run, table=table) for table in tables])
        logger.info("audit of %s: %d tables", run, len(tables))
        if send:
            _send_all(run)
    return run


def tables_of(venue: Venue, day: dt.date) -> list[Table]:
    """The tables of the house that are in use, and those not in use any more that have events in the day."""
    span = bounds(venue, day, day)
    tables = Table.objects.filter(Q(is_active=True) | Q(last_at__gte=span[0]), venue=venue)
    return [one for one in tables.order_by("code") if one.is_active or _has_events(one, span)]


def _has_events(table: Table, span: tuple[dt.datetime, dt.datetime]) -> bool:
    first, after = day_positions(table.pk, *span, table.last_seq)
    return first < after


def start_by_hand(venue: Venue, day: dt.date, *, by: str, send: bool = True) -> AuditRun:
    """Audit a day now, whether it is due or not; a run that goes on is the answer, one that failed is taken up again.

    `by` is the person's name. ValidationError for a day that is not over yet.
    """
    now = timezone.now()
    if day > last_closed(venue, now):
        raise ValidationError(_("This gaming day is not over yet."), code="not-over")
    of_day, _made = AuditDay.objects.get_or_create(venue=venue, day=day)
    run = open_run(of_day, now, by=by, anyway=True, send=send)
    if run is None:
        run = of_day.runs.order_by("number").last()
        if run is None:  # not reached: a day without runs has one opened
            raise AuditRun.DoesNotExist
        retry(run, by=by, send=send)
        run.refresh_from_db()
    return run


def retry(run: AuditRun, *, by: str = "", send: bool = True) -> bool:
    """Take a failed run up again: what is done stays done. False where it has not failed (any more).

    By hand (`by`) the attempts are counted from the beginning.
    """
    with transaction.atomic():
        run = AuditRun.objects.select_for_update().get(pk=run.pk)
        if run.status != Run.FAILED:
            return False
        run.status, run.finished_at, run.retry_at, run.error = Run.RUNNING, None, None, ""
        run.attempts = 1 if by else run.attempts + 1
        if by:
            run.asked_by = by
        run.save()
        run.tables.filter(status=Part.FAILED).update(status=Part.WAITING, attempts=0, claim=None, sent_at=None)
        run.tables.update(lease_until=timezone.now())  # from now on somebody is expected to take it up
        if send:
            _send_all(run)
    return True


def _send_all(run: AuditRun) -> None:
    """Once this is committed, have workers do what waits; of a run where nothing does, the end."""
    waiting = list(run.tables.filter(status=Part.WAITING).order_by("-table__last_seq").values_list("pk", flat=True))
    if waiting:
        transaction.on_commit(lambda: send(waiting))
    else:
        transaction.on_commit(lambda: _send_finish(run.pk))


def send(parts: Iterable[int]) -> None:
    """Give parts to the workers. Where the broker does not answer, the next tick sends what was not sent."""
    from .tasks import audit_table

    for pk in parts:
        try:
            audit_table.delay(pk)
        except BrokerError as error:
            logger.warning("the broker does not answer: %s", error)
            return
        TableAudit.objects.filter(pk=pk).update(sent_at=timezone.now())


def _send_finish(run: int) -> None:
    from .tasks import finish_run

    try:
        finish_run.delay(run)
    except BrokerError as error:
        logger.warning("the broker does not answer: %s", error)


# --- a table's part --------------------------------------------------------------------------------------------------


def work(pk: int, *, later: bool = True) -> bool:
    """Do a table's part of a run, if it is still to be done and nobody else is at it; whether it was done here.

    The last part of a run finishes it; `later`: its report is dressed by a worker.
    """
    return _do(pk, later=later)[0]


def _do(pk: int, *, later: bool) -> tuple[bool, AuditReport | None]:
    """`work`, and the report that this finished, where there is a new one."""
    part = claim(pk)
    if part is None:
        return False, None
    table, of_day = part.table, part.run.of_day
    started = time.perf_counter()
    try:
        night = rejudge_table(
            table,
            *bounds(of_day.venue, of_day.day, of_day.day),
            checked=checked_before(table),
            anew=_anew(part.run),
            progress=_Keeper(part),
        )
        done = _part_done(part, night, time.perf_counter() - started)
    except ClaimLost:
        logger.warning("audit of %s: somebody else does it", part)
        return False, None
    except (OperationalError, InterfaceError) as error:  # the database went away: nothing is wrong with the table
        logger.warning("audit of %s: %s", part, error)
        _let_go(part)
        return False, None
    except Exception as error:
        logger.exception("audit of %s failed", part)
        done = _held(part).update(status=Part.FAILED, claim=None, lease_until=timezone.now(), error=_said(error)) > 0
    return (True, finish(part.run_id, later=later)) if done else (False, None)


def claim(pk: int) -> TableAudit | None:
    """Take a part that waits, or whose holder has vanished; None where there is nothing to take."""
    now, mine = timezone.now(), uuid.uuid4()
    free = Q(status=Part.WAITING) | Q(status=Part.RUNNING, lease_until__lt=now)
    # Conditions on the row itself, without a join: two that come at once are told apart by the database.
    running = AuditRun.objects.filter(status=Run.RUNNING).values("pk")
    taken = TableAudit.objects.filter(free, pk=pk, run_id__in=running).update(
        status=Part.RUNNING,
        claim=mine,
        lease_until=now + _lease(),
        attempts=F("attempts") + 1,
        events_done=0,
        error="",
    )
    if not taken:
        return None
    return TableAudit.objects.select_related("table__venue", "run__of_day__venue").get(pk=pk, claim=mine)


def _held(part: TableAudit) -> QuerySet[TableAudit]:
    """The part, as long as it is ours."""
    return TableAudit.objects.filter(pk=part.pk, claim=part.claim, status=Part.RUNNING)


class _Keeper:
    """Keeps the claim while the work goes on, and the counts of the progress page up to date."""

    def __init__(self, part: TableAudit) -> None:
        self._part = part
        self._every = min(2.0, settings.AUDIT_LEASE / 4)
        self._told = 0.0

    def __call__(self, done: int, of: int) -> None:
        if time.monotonic() - self._told < self._every:
            return
        self._told = time.monotonic()
        if not _held(self._part).update(lease_until=timezone.now() + _lease(), events_done=done, events=of):
            raise ClaimLost
        self._part.events = of


def _part_done(part: TableAudit, night: TableNight, seconds: float) -> bool:
    events = part.events or night.events
    with transaction.atomic():
        done = _held(part).update(
            status=Part.DONE,
            claim=None,
            lease_until=timezone.now(),
            night=night.as_json(),
            events=events,
            events_done=events,
            seconds=round(seconds, 3),
        )
        if not done:
            raise ClaimLost
        _keep_walk(night)
    return True


def _keep_walk(night: TableNight) -> None:
    """Where the whole of the log was walked, this is the last such walk."""
    chain = night.chain
    if chain.checked_from:
        return
    if chain.whole:
        keep_walk(Verified(night.table, chain.last_seq, chain.head, None))
    else:
        whole = chain.last_seq if chain.broken_at is None else min(chain.last_seq, chain.broken_at - 1)
        keep_walk(Verified(night.table, whole, "", Broken(night.table, chain.broken_at, chain.problem)))


def _let_go(part: TableAudit) -> None:
    """Give a claim back; where the database does not answer, it runs out by itself."""
    connection.close()
    try:
        waiting = {"status": Part.WAITING, "claim": None, "lease_until": timezone.now(), "sent_at": None}
        _held(part).update(**waiting, attempts=F("attempts") - 1)
    except (OperationalError, InterfaceError):
        connection.close()


def checked_before(table: Table) -> Checked | None:
    """How far the table's chain was found whole by an audit before."""
    newest = TableAudit.objects.filter(table=table, status=Part.DONE).order_by("-pk").values_list("pk", flat=True)
    whole = TableAudit.objects.filter(pk__in=list(newest[:_LOOKED_AT]), night__chain__problem="")
    found = whole.values_list("night__chain__last_seq", "night__chain__head")
    return max(((int(seq), str(head)) for seq, head in found if seq), default=None)


def _anew(run: AuditRun) -> bool:
    """Whether logs that are not long are walked from their beginning: not for each of the days of an old archive."""
    day = run.of_day
    recent = day.day > closed_day(day.venue, timezone.now()) - dt.timedelta(days=DAYS_BACK)
    return recent or run.cause == AuditRun.Cause.HAND


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:2000].strip().rstrip(":")


# --- the end of a run ------------------------------------------------------------------------------------------------


def finish(pk: int, *, later: bool = True) -> AuditReport | None:
    """Finish a run whose parts are all done, or have failed: the new report, where there is one."""
    parts = TableAudit.objects.filter(run=pk)
    if parts.filter(status__in=[Part.WAITING, Part.RUNNING]).exists():
        return None
    try:
        with transaction.atomic():
            run = AuditRun.objects.select_for_update(of=("self",)).select_related("of_day__venue").get(pk=pk)
            if run.status != Run.RUNNING or parts.filter(status__in=[Part.WAITING, Part.RUNNING]).exists():
                return None
            failed = parts.filter(status=Part.FAILED).select_related("table").order_by("table__code")
            reasons = [f"{part.table.code}: {part.error}" for part in failed]
            if reasons:
                _fail(run, "\n".join(reasons))
                return None
            report = _report(run)
            run.status, run.finished_at, run.error = Run.DONE, timezone.now(), ""
            run.save()
            AuditDay.objects.filter(pk=run.of_day_id).update(audited=run.changes)
            if report is not None and later:
                made = report.pk
                transaction.on_commit(lambda: _send_dress(made))
    except Exception as error:
        logger.exception("audit run %d: its report could not be made", pk)
        with transaction.atomic():
            run = AuditRun.objects.select_for_update().get(pk=pk)
            if run.status == Run.RUNNING:
                _fail(run, _said(error))
        return None
    if report is not None:
        logger.info("audit of %s: report %d, revision %d", run, report.pk, report.revision)
    return report


def _fail(run: AuditRun, reason: str) -> None:
    now = timezone.now()
    run.status, run.finished_at, run.error = Run.FAILED, now, reason
    again = run.attempts < ATTEMPTS
    run.retry_at = now + dt.timedelta(minutes=2 ** (run.attempts - 1)) if again else None
    run.save()
    logger.error("audit of %s failed (attempt %d): %s", run, run.attempts, reason)


def _report(run: AuditRun) -> AuditReport | None:
    """Make the report of a run; None where the last revision says the same."""
    from incidents.trail.writing import note_report
    from incidents.webhooks.telling import report_done

    from .deliver import enqueue
    from .gather import gather

    figures = gather(run)
    data = json.loads(json.dumps(figures.as_json()))  # as it will be read again
    venue, day = run.of_day.venue, run.of_day.day
    before = AuditReport.objects.filter(venue=venue, kind=AuditReport.Kind.NIGHTLY, day=day)
    last = before.order_by("-revision").first()
    if last is not None and _alike(_lasting(last.figures), _lasting(data)):
        return None
    report = AuditReport.objects.create(
        venue=venue,
        kind=AuditReport.Kind.NIGHTLY,
        day=day,
        revision=1 if last is None else last.revision + 1,
        run=run,
        cause=run.cause,
        made_at=timezone.now(),
        figures=data,
        hands=figures.hands,
        events=figures.events,
        findings=figures.findings,
        attention=figures.attention.count,
        flags=len(figures.game.flags),
        chain_whole=not figures.attention.broken,
    )
    note_report(report)
    enqueue(report)
    report_done(report)
    return report


def _lasting(figures: Any) -> dict[str, Any]:
    """What of a report's figures is about its day, and not about the moment or the days around it."""
    attention = figures["attention"]
    incidents = [
        {key: value for key, value in one.items() if key != "age"}
        for one in attention["open_incidents"]
        if one["of_this_day"]
    ]
    tables = [
        {key: value for key, value in line.items() if key not in ("last_seq", "head", "checked_from", "walked_at")}
        for line in figures["tables"]
    ]
    left_out = {"open_count", "open_incidents"}
    return {
        **{key: value for key, value in figures.items() if key not in ("seconds", "rates")},
        "attention": {key: value for key, value in attention.items() if key not in left_out},
        "incidents": incidents,
        "tables": tables,
    }


def _alike(one: Any, other: Any) -> bool:
    """Whether figures are the same; fractions up to what the order of adding them up can do."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def _send_dress(report: int) -> None:
    from .tasks import dress_report

    try:
        dress_report.delay(report)
    except BrokerError as error:
        logger.warning("the broker does not answer: %s", error)


def dress(report: AuditReport) -> None:
    """Make what hangs on a report: drawings, the month's report, files, mails. What fails holds up nothing else."""
    from incidents.trail import heads

    from . import deliver, files, monthly, plots

    # Signed before its files are made: what these print is the evidence that leaves the house.
    for step in (heads.sign_report, plots.draw, monthly.after, files.make_all):
        try:
            step(report)
        except Exception:
            logger.exception("report %s: %s failed", report, step.__module__)
    deliver.send_waiting()


# --- the scheduler's turn --------------------------------------------------------------------------------------------


def tick(now: dt.datetime | None = None) -> None:
    """Begin what is due, and see to what was left: failed runs, lost tasks, vanished workers, unsent mails."""
    now = now or timezone.now()
    for venue in Venue.objects.order_by("code"):
        note_days(venue, now)
        running = AuditRun.objects.filter(of_day__venue=venue, status=Run.RUNNING).count()
        for of_day in due_days(venue, now)[: max(0, AT_ONCE - running)]:
            open_run(of_day, now)
    for run in AuditRun.objects.filter(status=Run.FAILED, retry_at__lte=now):
        retry(run)
    see_to_parts(now)
    see_to_reports(now)


def see_to_parts(now: dt.datetime) -> None:
    """Give up parts with which too many workers vanished, send others again, finish runs where nothing is left."""
    again = now - dt.timedelta(seconds=settings.AUDIT_RESEND)
    unsent = Q(sent_at__isnull=True) | Q(sent_at__lt=again)
    for run in AuditRun.objects.filter(status=Run.RUNNING):
        parts = run.tables
        vanished = parts.filter(status=Part.RUNNING, lease_until__lt=now)
        reason = f"the worker vanished {VANISHED} times"
        vanished.filter(attempts__gte=VANISHED).update(status=Part.FAILED, claim=None, lease_until=None, error=reason)
        lost = parts.filter(unsent, status=Part.WAITING).values_list("pk", flat=True)
        # A lease that ran out after the part was last sent: nobody has been told yet.
        dead = vanished.filter(Q(sent_at__isnull=True) | Q(sent_at__lt=F("lease_until"))).values_list("pk", flat=True)
        send([*lost, *dead])
        if not parts.filter(status__in=[Part.WAITING, Part.RUNNING]).exists():
            _send_finish(run.pk)


def see_to_reports(now: dt.datetime, *, later: bool = True) -> None:
    """Dress reports that were left undressed, make months that were left out, and files that could not be kept.

    `later`: workers dress them; else it is done here, and where there are no workers at once: nobody else will.
    """
    from . import deliver, files

    patience = 0 if settings.CELERY_TASK_ALWAYS_EAGER and not later else settings.AUDIT_RESEND
    recent = AuditReport.objects.filter(
        made_at__gte=now - dt.timedelta(days=DRESS_DAYS), made_at__lte=now - dt.timedelta(seconds=patience)
    )
    bare = recent.filter(~Exists(ReportFile.objects.filter(report=OuterRef("pk")))).order_by("pk")
    if later:
        for pk in bare.values_list("pk", flat=True)[:AT_ONCE]:
            _send_dress(pk)
    else:
        for report in bare.select_related("venue"):
            dress(report)
    _see_to_months(recent, now)
    files.make_again(now)
    if not later:
        deliver.send_waiting()


def _see_to_months(recent: QuerySet[AuditReport], now: dt.datetime) -> None:
    """Make the reports of months that are over and have none, though a night of theirs was reported on lately."""
    from . import monthly

    for venue in Venue.objects.order_by("code"):
        month = gaming_day(venue, now).replace(day=1)
        nightly = recent.filter(venue=venue, kind=AuditReport.Kind.NIGHTLY, day__lt=month).select_related("venue")
        last_of = {report.day.replace(day=1): report for report in nightly.defer("figures").order_by("day", "pk")}
        if not last_of:
            continue
        of_months = AuditReport.objects.filter(venue=venue, kind=AuditReport.Kind.MONTHLY, day__in=last_of)
        made = set(of_months.values_list("day", flat=True))
        for month, report in last_of.items():
            if month not in made:
                try:
                    monthly.after(report)
                except Exception:
                    logger.exception("the month of report %s could not be made", report)


# --- in line, without workers ----------------------------------------------------------------------------------------

#: Called with until when somebody else holds a table's part.
Held = Callable[[dt.datetime], None]


def carry_out(run: AuditRun, *, held: Held | None = None) -> AuditReport | None:
    """Do what is left of a run here and now: its new report, where there is one. The run says how it went.

    What somebody else is at is waited for, and taken over where the claim on it runs out. `held` is called each time
    another such claim is seen. A report that was made here is dressed here.
    """
    made: AuditReport | None = None
    told: set[int] = set()
    while True:
        for pk in run.tables.filter(status__in=[Part.WAITING, Part.RUNNING]).values_list("pk", flat=True):
            made = _do(pk, later=False)[1] or made
        made = finish(run.pk, later=False) or made
        run.refresh_from_db()
        others = run.tables.filter(status=Part.RUNNING).order_by("lease_until").values_list("pk", "lease_until")
        if run.status != Run.RUNNING or not others:
            break
        for pk, until in others:
            if pk not in told and until is not None and held is not None:
                held(until)
            told.add(pk)
        time.sleep(min(_WAIT, settings.AUDIT_LEASE / 4))
    if made is not None:
        dress(made)
        return made
    return AuditReport.objects.filter(run=run).first()

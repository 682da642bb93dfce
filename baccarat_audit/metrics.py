"""`/metrics`: what Prometheus watches. Every value is read when it is asked for, from the database and Redis.

Nothing is counted in a process, so it does not matter which of the server's processes answers. Redis or the database
away: `baccarat_up` says so, the values that need it are left out, and the page answers all the same.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dealing.models import Venue
from dealing.people import AUDITOR, MANAGER, roles

logger = logging.getLogger(__name__)

TIMEOUT: Final = 2.0  # seconds; a scrape that hangs tells nobody anything
#: The broker's queue, and the tasks that a worker has taken and not finished.
QUEUE, TAKEN = "celery", "unacked"


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All of them. 404 for who may not see them: nobody learns that there is anything here."""
    if not _may_see(request):
        raise Http404
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Rows())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def _may_see(request: HttpRequest) -> bool:
    """The bearer of the token; a manager or an auditor who is logged in."""
    token, given = settings.METRICS_TOKEN, request.headers.get("Authorization", "")
    if token and secrets.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return True
    try:
        return bool(roles(request.user) & {MANAGER, AUDITOR})
    except DatabaseError:
        return False


class Rows(Collector):
    """Reads what there is to say."""

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        up = GaugeMetricFamily("baccarat_up", "1 where the service answers", labels=["service"])
        found = list(_guarded("database", _database, up))
        if settings.REDIS_URL:
            found += _guarded("redis", _redis, up)
        yield up
        yield from found


def _guarded(service: str, read: Callable[[], Iterator[Metric]], up: GaugeMetricFamily) -> list[Metric]:
    try:
        out = list(read())
    except (DatabaseError, redis.RedisError, OSError, ValueError):
        logger.exception("metrics: %s does not answer", service)
        up.add_metric([service], 0)
        return []
    up.add_metric([service], 1)
    return out


def _redis() -> Iterator[Metric]:
    with (
        redis.Redis.from_url(settings.REDIS_URL, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT) as client,
        client.pipeline(transaction=False) as pipe,
    ):
        pipe.llen(QUEUE)
        pipe.hlen(TAKEN)
        waiting, taken = pipe.execute()
    yield GaugeMetricFamily("baccarat_queue_length", "Tasks that wait for a worker", value=waiting)
    yield GaugeMetricFamily("baccarat_queue_taken", "Tasks that a worker has taken and not finished", value=taken)


def _database() -> Iterator[Metric]:
    yield from _runs()
    yield from _reports()
    yield from _office()
    yield from _incidents()


def _runs() -> Iterator[Metric]:
    from incidents.reports.models import AuditRun, TableAudit

    runs = GaugeMetricFamily("baccarat_audit_runs", "Nightly audits by status", labels=["venue", "status"])
    counted = AuditRun.objects.order_by().values_list("of_day__venue__code", "status").annotate(n=Count("pk"))
    numbers = {(venue, status): n for venue, status, n in counted}
    venues = list(Venue.objects.order_by("code").values_list("code", flat=True))
    for venue in venues:
        for status in AuditRun.Status.values:
            runs.add_metric([venue, status], numbers.get((venue, status), 0))
    yield runs

    took = GaugeMetricFamily("baccarat_audit_last_run_seconds", "How long the last audit took", labels=["venue"])
    ended = GaugeMetricFamily(
        "baccarat_audit_last_run_timestamp_seconds", "When the last audit was finished", labels=["venue"]
    )
    done = AuditRun.objects.filter(status=AuditRun.Status.DONE)
    for venue in venues:
        # By the index of its days: a look at the newest rows and not at all of them.
        last = (
            done.filter(of_day__venue__code=venue)
            .order_by("-finished_at")
            .values_list("started_at", "finished_at")
            .first()
        )
        if last is not None and last[1] is not None:
            took.add_metric([venue], (last[1] - last[0]).total_seconds())
            ended.add_metric([venue], last[1].timestamp())
    yield took
    yield ended

    parts = GaugeMetricFamily("baccarat_audit_tables", "Tables of unfinished audits by status", labels=["status"])
    going = TableAudit.objects.exclude(run__status=AuditRun.Status.DONE).order_by().values_list("status")
    counts = dict(going.annotate(n=Count("pk")))
    for status in TableAudit.Status.values:
        parts.add_metric([status], counts.get(status, 0))
    yield parts


def _reports() -> Iterator[Metric]:
    from incidents.reports.models import AuditReport
    from incidents.reports.selectors import last_nights, latest

    nightly = AuditReport.objects.filter(kind=AuditReport.Kind.NIGHTLY).order_by()
    hands = CounterMetricFamily("baccarat_hands_judged", "Hands that reports were made of", labels=["venue"])
    revisions = CounterMetricFamily("baccarat_reports", "Reports made, revisions among them", labels=["venue"])
    for venue, judged, made in nightly.values_list("venue__code").annotate(Sum("hands"), Count("pk")):
        hands.add_metric([venue], judged)
        revisions.add_metric([venue], made)
    yield hands
    yield revisions

    last = {
        "hands": GaugeMetricFamily("baccarat_report_hands", "Hands of the last report", labels=["venue"]),
        "attention": GaugeMetricFamily("baccarat_report_attention", "Things that want attention", labels=["venue"]),
        "flags": GaugeMetricFamily("baccarat_report_flags", "Tests that something is not chance", labels=["venue"]),
        "whole": GaugeMetricFamily("baccarat_report_chain_whole", "1: no hash chain is broken", labels=["venue"]),
    }
    findings = GaugeMetricFamily(
        "baccarat_report_findings", "Findings of the last report by kind", labels=["venue", "kind"]
    )
    missing = GaugeMetricFamily(
        "baccarat_report_missing", "1: last night's report is missing, late or failed", labels=["venue"]
    )
    venues = list(Venue.objects.order_by("code"))
    for night in last_nights(venues, timezone.now()):
        missing.add_metric([night.venue.code], int(night.red))
    for venue_row in venues:
        newest = latest(nightly.filter(venue=venue_row)).order_by("-day").values_list("pk", flat=True).first()
        if newest is None:
            continue
        # By its key, so that no database takes the figures of a year apart to give one day's.
        row = nightly.values_list("hands", "attention", "flags", "chain_whole", "figures__codes").get(pk=newest)
        for metric, value in zip(last.values(), row[:4], strict=True):
            metric.add_metric([venue_row.code], int(value))
        for kind, count in sorted((row[4] or {}).items()):
            findings.add_metric([venue_row.code, kind], count)
    yield from last.values()
    yield findings
    yield missing


def _office() -> Iterator[Metric]:
    from incidents.reports.models import ReportDelivery, ReportFile

    mails = GaugeMetricFamily("baccarat_report_mails", "Mails of reports by status", labels=["status"])
    counts = dict(ReportDelivery.objects.order_by().values_list("status").annotate(n=Count("pk")))
    for status in ReportDelivery.Status.values:
        mails.add_metric([status], counts.get(status, 0))
    yield mails
    unkept = ReportFile.objects.exclude(error="").count()
    yield GaugeMetricFamily("baccarat_report_files_failed", "Files of reports that could not be kept", value=unkept)


def _incidents() -> Iterator[Metric]:
    from incidents.models import Incident

    waiting = GaugeMetricFamily(
        "baccarat_open_incidents", "Incidents that wait for a decision", labels=["venue", "table"]
    )
    found = Incident.objects.filter(status=Incident.Status.OPEN).order_by()
    for venue, table, number in found.values_list("table__venue__code", "table__code").annotate(n=Count("pk")):
        waiting.add_metric([venue, table], number)
    yield waiting

"""`/metrics`: what Prometheus watches. Every value is read when it is asked for, from the database and Redis.

Nothing is counted in a process, so it does not matter which of the server's processes answers. Redis or the database
away: `baccarat_up` says so, the values that need it are left out, and the page answers all the same.

Who has the token sees every house. A person who is logged in sees their own, as everywhere; who belongs to none, all.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, QuerySet, Sum
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
from dealing.permissions import May, house_of, may

logger = logging.getLogger(__name__)

TIMEOUT: Final = 2.0  # seconds; a scrape that hangs tells nobody anything
#: The broker's queue, and the tasks that a worker has taken and not finished.
QUEUE, TAKEN = "celery", "unacked"


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Those of the houses that are theirs. 404 for who may not see any: nobody learns that there is anything here."""
    if _has_token(request):
        house = None
    elif _oversees(request):
        house = house_of(request.user)
    else:
        raise Http404
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Rows(house))
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def _has_token(request: HttpRequest) -> bool:
    token, given = settings.METRICS_TOKEN, request.headers.get("Authorization", "")
    return bool(token) and secrets.compare_digest(given.encode(), f"Bearer {token}".encode())


def _oversees(request: HttpRequest) -> bool:
    """Whether somebody is logged in who may see them."""
    try:
        return may(request.user, May.MEASURE)
    except DatabaseError:
        return False


class Rows(Collector):
    """Reads what there is to say of a house; of all where none is given."""

    def __init__(self, house: int | None = None) -> None:
        self.house = house

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        up = GaugeMetricFamily("baccarat_up", "1 where the service answers", labels=["service"])
        found = list(_guarded("database", lambda: _database(Venue.objects.order_by("code"), self.house), up))
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


def _database(venues: QuerySet[Venue], house: int | None) -> Iterator[Metric]:
    if house is not None:
        venues = venues.filter(pk=house)
    yield from _runs(venues)
    yield from _reports(venues)
    yield from _chains(venues)
    yield from _trails(venues)
    yield from _office(venues)
    yield from _webhooks(venues)
    yield from _incidents(venues)


def _runs(of: QuerySet[Venue]) -> Iterator[Metric]:
    from incidents.reports.models import AuditRun, TableAudit

    runs = GaugeMetricFamily("baccarat_audit_runs", "Nightly audits by status", labels=["venue", "status"])
    of_these = AuditRun.objects.filter(of_day__venue__in=of.order_by())
    counted = of_these.order_by().values_list("of_day__venue__code", "status").annotate(n=Count("pk"))
    numbers = {(venue, status): n for venue, status, n in counted}
    venues = list(of.values_list("code", flat=True))
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
    going = TableAudit.objects.filter(run__in=of_these.exclude(status=AuditRun.Status.DONE)).order_by()
    counts = dict(going.values_list("status").annotate(n=Count("pk")))
    for status in TableAudit.Status.values:
        parts.add_metric([status], counts.get(status, 0))
    yield parts


def _reports(of: QuerySet[Venue]) -> Iterator[Metric]:
    from incidents.reports.models import AuditReport
    from incidents.reports.selectors import last_nights, latest

    nightly = AuditReport.objects.filter(kind=AuditReport.Kind.NIGHTLY, venue__in=of.order_by()).order_by()
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
    venues = list(of)
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


def _chains(of: QuerySet[Venue]) -> Iterator[Metric]:
    from dealing.models import ChainWalk

    labels = ["venue", "table"]
    whole = GaugeMetricFamily(
        "baccarat_log_chain_whole", "1: the last walk along the whole of the log found nothing broken", labels=labels
    )
    walked = GaugeMetricFamily("baccarat_log_walked_timestamp_seconds", "When that walk was", labels=labels)
    walks = ChainWalk.objects.filter(table__venue__in=of.order_by()).order_by("table__code")
    for venue, table, at, problem in walks.values_list("table__venue__code", "table__code", "walked_at", "problem"):
        whole.add_metric([venue, table], int(not problem))
        walked.add_metric([venue, table], at.timestamp())
    yield whole
    yield walked


def _trails(of: QuerySet[Venue]) -> Iterator[Metric]:
    from incidents.trail.models import TrailWalk

    whole = GaugeMetricFamily(
        "baccarat_trail_whole",
        "1: the last walks found incidents, reports and signed heads to be what was written",
        labels=["venue"],
    )
    walked = GaugeMetricFamily(
        "baccarat_trail_walked_timestamp_seconds", "When the first of those walks was", labels=["venue"]
    )
    walks = list(TrailWalk.objects.order_by().values_list("venue", "walked_at", "count"))
    for venue in of:
        found = [(at, count) for owner, at, count in walks if owner in (None, venue.pk)]
        if found:
            whole.add_metric([venue.code], int(not any(count for _at, count in found)))
            walked.add_metric([venue.code], min(at for at, _count in found).timestamp())
    yield whole
    yield walked


def _office(of: QuerySet[Venue]) -> Iterator[Metric]:
    from incidents.reports.models import ReportDelivery, ReportFile

    mails = GaugeMetricFamily("baccarat_report_mails", "Mails of reports by status", labels=["status"])
    posted = ReportDelivery.objects.filter(report__venue__in=of.order_by()).order_by()
    counts = dict(posted.values_list("status").annotate(n=Count("pk")))
    for status in ReportDelivery.Status.values:
        mails.add_metric([status], counts.get(status, 0))
    yield mails
    unkept = ReportFile.objects.filter(report__venue__in=of.order_by()).exclude(error="").count()
    yield GaugeMetricFamily("baccarat_report_files_failed", "Files of reports that could not be kept", value=unkept)


def _webhooks(of: QuerySet[Venue]) -> Iterator[Metric]:
    from incidents.webhooks.models import WebhookDelivery

    messages = GaugeMetricFamily("baccarat_webhook_deliveries", "Messages of webhooks by status", labels=["status"])
    found = WebhookDelivery.objects.filter(webhook__venue__in=of.order_by()).order_by()
    counts = dict(found.values_list("status").annotate(n=Count("pk")))
    for status in WebhookDelivery.Status.values:
        messages.add_metric([status], counts.get(status, 0))
    yield messages


def _incidents(of: QuerySet[Venue]) -> Iterator[Metric]:
    from incidents.models import Incident

    waiting = GaugeMetricFamily(
        "baccarat_open_incidents", "Incidents that wait for a decision", labels=["venue", "table"]
    )
    found = Incident.objects.filter(status=Incident.Status.OPEN, table__venue__in=of.order_by()).order_by()
    for venue, table, number in found.values_list("table__venue__code", "table__code").annotate(n=Count("pk")):
        waiting.add_metric([venue, table], number)
    yield waiting

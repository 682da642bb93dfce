"""What workers do for the nightly audit. Each task may come twice, late, or not at all: the rows say what is left."""

from __future__ import annotations

import logging

from celery import shared_task
from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from . import runs
from .models import AuditReport

logger = logging.getLogger(__name__)

_TICKING = "incidents.reports.ticking"


@shared_task
def audit_nights() -> None:
    """The scheduler's turn, every minute. While one is at it a second one leaves at once."""
    try:
        if not cache.add(_TICKING, True, timeout=max(5, settings.AUDIT_TICK)):
            return
    except (RedisError, OSError) as error:  # two at a time do no harm
        logger.warning("the cache does not answer: %s", error)
    try:
        runs.tick()
    finally:
        try:
            cache.delete(_TICKING)
        except (RedisError, OSError):
            pass


@shared_task
def audit_table(pk: int) -> None:
    """A table's part of a run."""
    runs.work(pk)


@shared_task
def finish_run(pk: int) -> None:
    """The end of a run whose parts are done."""
    runs.finish(pk)


@shared_task
def dress_report(pk: int) -> None:
    """Drawings, the month's report, files and mails of a report."""
    runs.dress(AuditReport.objects.select_related("venue").get(pk=pk))


@shared_task
def send_reports() -> None:
    """Send the mails that wait, and try again to keep files that could not be kept."""
    from . import deliver, files

    files.make_again()
    deliver.send_waiting()

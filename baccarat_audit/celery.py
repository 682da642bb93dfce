"""The Celery application (`celery -A baccarat_audit worker`); the broker is REDIS_URL."""

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

from . import request_ids  # noqa: F401 - its signals carry the number of a request into the tasks it leaves

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")

app = Celery("baccarat_audit")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["incidents.reports"])


@setup_logging.connect
def _log_as_the_pages_do(**_signal: Any) -> None:
    """Workers and the scheduler log as everything else does, by LOG_LEVEL; Celery would begin at warnings."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)
    logging.captureWarnings(True)

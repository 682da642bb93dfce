"""The Celery application (`celery -A baccarat_audit worker`); the broker is REDIS_URL."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")

app = Celery("baccarat_audit")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["incidents.reports"])

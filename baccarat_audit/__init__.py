"""The project package: settings, URL map, servers' entry points."""

from .celery import app as celery_app

# Loaded with the package so that every `shared_task` finds the broker of the settings.
__all__ = ["celery_app"]

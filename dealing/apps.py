"""The app that keeps the table log: what happened at the tables, and the judge's word on it."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class DealingConfig(AppConfig):
    """Tables, their append-only logs and the projections made from them."""

    name = "dealing"
    verbose_name = _("Dealing")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the four groups made after each `migrate`."""
        post_migrate.connect(_make_groups, sender=self, dispatch_uid="dealing.groups")


def _make_groups(using: str, **kwargs: Any) -> None:
    from dealing.people import ensure_groups

    ensure_groups(using)

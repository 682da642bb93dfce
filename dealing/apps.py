"""The app that keeps the table log: what happened at the tables, and the judge's word on it."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DealingConfig(AppConfig):
    """Tables, their append-only logs and the projections made from them."""

    name = "dealing"
    verbose_name = _("Dealing")
    default_auto_field = "django.db.models.BigAutoField"

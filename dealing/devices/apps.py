"""The devices' own app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DevicesConfig(AppConfig):
    """Devices and their keys."""

    name = "dealing.devices"
    label = "devices"
    verbose_name = _("Devices")
    default_auto_field = "django.db.models.BigAutoField"

"""The devices' own app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DevicesConfig(AppConfig):
    """Devices and their keys."""

    name = "dealing.devices"
    label = "devices"
    verbose_name = _("Devices")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have those who listen to a table told when it moves on."""
        from dealing.api.news import announce
        from dealing.signals import event_recorded, event_written

        event_recorded.connect(announce, dispatch_uid="devices.feed")
        event_written.connect(announce, dispatch_uid="devices.feed")

"""The app that keeps incidents and decisions: what went wrong, what the rules say of it, what a manager decided."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class IncidentsConfig(AppConfig):
    """Incidents raised by the log of `dealing`, and the managers' decisions on them."""

    name = "incidents"
    verbose_name = _("Incidents")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the log: an event and the incident it opens are committed together. And add to the preferences."""
        from dealing.people_views import PREFERENCES_PARTS
        from dealing.signals import entry_decided, event_matters, event_recorded

        from . import services
        from .reports import runs
        from .reports.preferences import subscription_part

        event_recorded.connect(services.sync_incidents, dispatch_uid="incidents.sync")
        event_recorded.connect(runs.note_late_entries, dispatch_uid="incidents.reports.late")
        event_matters.connect(services.changes_incidents, dispatch_uid="incidents.sync")
        event_matters.connect(runs.is_late, dispatch_uid="incidents.reports.late")
        entry_decided.connect(services.say_decided, dispatch_uid="incidents.decided")
        PREFERENCES_PARTS.append(subscription_part)

"""The app of the trail: what was done with incidents and reports, chained and sealed; and signed heads of it all."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TrailConfig(AppConfig):
    """Trails and signed heads."""

    name = "incidents.trail"
    label = "trail"
    verbose_name = _("Trail")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have `verify_log` look at these too."""
        from dealing.signals import shifts_changed, table_rebuilt
        from dealing.verify import BESIDE

        from .checking import check_heads, check_trails
        from .findings import check_findings, restore
        from .writing import note_shifts

        BESIDE.extend([check_trails, check_findings, check_heads])
        shifts_changed.connect(note_shifts, dispatch_uid="incidents.trail.shifts")
        table_rebuilt.connect(restore, dispatch_uid="incidents.trail.restore")

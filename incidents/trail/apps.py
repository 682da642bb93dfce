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
        from dealing.verify import BESIDE

        from .checking import check_heads, check_trails

        BESIDE.extend([check_trails, check_heads])

"""The accounts' own app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    """Sessions, second factors and the log of security events."""

    name = "dealing.accounts"
    label = "accounts"
    verbose_name = _("Accounts")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Hear of log-ins, and of what has to end sessions."""
        from dealing.accounts import receivers

        receivers.connect()

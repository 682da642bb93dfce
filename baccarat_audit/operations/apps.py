"""The app that carries the commands and checks of whoever runs the product."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Checks, backup, restore, and a `migrate` that lets people go on recording."""

    name = "baccarat_audit.operations"
    label = "operations"

    def ready(self) -> None:
        """Have the settings checked."""
        from . import checks  # noqa: F401  # registers them

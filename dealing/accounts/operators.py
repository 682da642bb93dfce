"""Who says so, where something is done from the command line."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.management.base import CommandError


def checked(name: str) -> str:
    """The user name given with `--by`. Raises CommandError where it is nobody's who may still log in."""
    if not User.objects.filter(username=name, is_active=True).exists():
        raise CommandError(f"--by: nobody is called “{name}” here; give the user name of who does this")
    return name

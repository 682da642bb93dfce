"""What every page may ask about incidents."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest

from dealing.people import can_decide

from .models import Incident


def open_incidents(request: HttpRequest) -> dict[str, Callable[[], int | None]]:
    """`open_incidents`: how many wait for a decision, counted only where a page shows it; None for who decides none."""

    def count() -> int | None:
        user = getattr(request, "user", None)
        if user is None or not can_decide(user):
            return None
        return Incident.objects.filter(status=Incident.Status.OPEN).count()

    return {"open_incidents": count}

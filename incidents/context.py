"""What every page may ask about incidents."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest

from dealing.people import can_decide

from .models import Incident
from .selectors import incidents_of


def open_incidents(request: HttpRequest) -> dict[str, Callable[[], int | None]]:
    """`open_incidents`: how many wait for a decision of those a manager may see, counted only where a page shows it.

    None for somebody who decides none.
    """

    def count() -> int | None:
        user = getattr(request, "user", None)
        if user is None or not can_decide(user):
            return None
        return incidents_of(user).filter(status=Incident.Status.OPEN).count()

    return {"open_incidents": count}

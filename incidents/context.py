"""What every page may ask about incidents."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from dealing.people import User, can_decide, can_read

from .models import Incident
from .selectors import incidents_of


def open_incidents(request: HttpRequest) -> dict[str, Any]:
    """What waits for a decision, of what the person may see; counted only where a page shows it.

    `open_incidents`: how many; None for somebody who decides none. `open_incidents_by_table`: how many at each table
    (its pk) where any wait; empty for somebody who reads none.
    """

    def count() -> int | None:
        user = getattr(request, "user", None)
        if user is None or not can_decide(user):
            return None
        return _waiting(user).count()

    def by_table() -> dict[int, int]:
        user = getattr(request, "user", None)
        if user is None or not can_read(user):
            return {}
        found = _waiting(user).order_by().values("table").annotate(n=Count("pk"))
        return dict(found.values_list("table", "n"))

    return {"open_incidents": count, "open_incidents_by_table": SimpleLazyObject(by_table)}


def _waiting(user: User) -> QuerySet[Incident]:
    return incidents_of(user).filter(status=Incident.Status.OPEN)

"""Sessions of a person: which there are, and their end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from dealing.accounts.models import Session


def of(user: Any) -> QuerySet[Session]:
    """The sessions of the person that are good, the one used last first."""
    return Session.objects.filter(user_id=user.pk, expire_date__gt=timezone.now()).order_by("-last_seen_at", "pk")


def end(user: Any, but: str | None = None) -> int:
    """End all sessions of the person, or all but one; how many that were."""
    found = Session.objects.filter(user_id=user.pk)
    return found.exclude(pk=but).delete()[0] if but else found.delete()[0]


def end_some(user: Any, keys: Iterable[str]) -> int:
    """End those sessions of the person; how many there were."""
    return Session.objects.filter(user_id=user.pk, pk__in=list(keys)).delete()[0]


def end_oldest(user: Any, current: str | None) -> int:
    """End what is more than a person may have, the one used longest ago first; how many that were."""
    others = of(user).exclude(pk=current).values_list("pk", flat=True)
    return end_some(user, others[max(settings.SESSIONS_PER_PERSON - 1, 0) :])


def sweep() -> None:
    """Forget sessions that are over."""
    Session.objects.filter(expire_date__lte=timezone.now()).delete()

"""The log of security events: one door."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from dealing.accounts.addresses import address_of, browser_of
from dealing.accounts.models import SecurityEvent

logger = logging.getLogger(__name__)
Kind = SecurityEvent.Kind


def record(kind: Kind, person: Any, request: HttpRequest | None = None, by: str = "", detail: str = "") -> None:
    """Write that something happened to an account. `person`: the user, or a name; `by`: who did it, if another.

    The line in the log of the process comes with the row: none of what is rolled back.
    """
    name = person if isinstance(person, str) else person.get_username()
    address = address_of(request) if request is not None else None
    SecurityEvent.objects.create(
        at=timezone.now(),
        kind=kind,
        person=name[:150],
        by="" if by == name else by[:150],
        address=address,
        browser=browser_of(request) if request is not None else "",
        detail=detail[:200],
    )
    said = (kind.value, name or "(nobody of that name)", f" by {by}" if by else "", address)
    transaction.on_commit(partial(logger.info, "%s: %s%s from %s", *said), robust=True)

"""How often somebody may try a password: django-axes counts, this says when it is enough.

Three counts of wrong passwords, each forgotten LOCKOUT_MINUTES after the last of them:

* of one name at one address: `PAIR`. That is the lock that people meet.
* of one name, wherever: `NAME`. Does not keep the person out where they have logged in before, or else anybody could
  keep anybody from working.
* of one address, whatever the names: `ADDRESS`. Does not keep out who has logged in there before, or else one person
  could keep a whole floor from a shared tablet.

Where a count is full, a wrong password is answered by the same page whether anybody has that name or not.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.db.models import Max, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import ngettext

from dealing.accounts import events
from dealing.accounts.models import SecurityEvent

PAIR: Final = 5
NAME: Final = 20
ADDRESS: Final = 50
#: For how long an address where somebody logged in is one of theirs.
KNOWN: Final = dt.timedelta(days=30)


def cool_off() -> dt.timedelta:
    """How long a lock lasts."""
    from django.conf import settings

    lasts: dt.timedelta = settings.AXES_COOLOFF_TIME
    return lasts


def _wrong(**which: Any) -> int:
    since = timezone.now() - cool_off()
    counted = AccessAttempt.objects.filter(attempt_time__gt=since, **which).aggregate(n=Sum("failures_since_start"))
    return int(counted["n"] or 0)


def _known(name: str, address: str | None) -> bool:
    """Whether the person logged in there lately."""
    return SecurityEvent.objects.filter(
        person=name, address=address, kind=events.Kind.LOGGED_IN, at__gt=timezone.now() - KNOWN
    ).exists()


class Limits(AxesDatabaseHandler):
    """What django-axes asks. It writes the counts; a full one is `PAIR` for it, whichever it is."""

    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """How many wrong passwords count against the request, once one was wrong."""
        name, address = get_client_username(request, credentials) or "", request.axes_ip_address
        count = _wrong(username=name, ip_address=address)
        if count >= PAIR or _wrong(username=name) >= NAME or _wrong(ip_address=address) >= ADDRESS:
            return max(count, PAIR)
        return count

    def is_locked(self, request: Any, credentials: dict[str, Any] | None = None) -> bool:
        """Whether no password is looked at at all."""
        name, address = get_client_username(request, credentials) or "", request.axes_ip_address
        if _wrong(username=name, ip_address=address) >= PAIR:
            return True
        full = _wrong(username=name) >= NAME or _wrong(ip_address=address) >= ADDRESS
        return full and not _known(name, address)


def waits(name: str, address: str | None) -> dt.timedelta:
    """How long until the name may be tried again at the address; nothing where it may be now."""
    now, last = timezone.now(), None
    for limit, which in (
        (PAIR, {"username": name, "ip_address": address}),
        (NAME, {"username": name}),
        (ADDRESS, {"ip_address": address}),
    ):
        if _wrong(**which) >= limit:
            newest = AccessAttempt.objects.filter(**which).aggregate(at=Max("attempt_time"))["at"]
            last = max(last or newest, newest)
    return max(last + cool_off() - now, dt.timedelta(0)) if last else dt.timedelta(0)


def locked_page(request: HttpRequest, response: HttpResponse | None, credentials: Any) -> HttpResponse:
    """What somebody reads who is locked out: when they may try again. Never whether the name exists."""
    name = get_client_username(request, credentials) or ""
    left = waits(name, getattr(request, "axes_ip_address", None))
    minutes = max(1, -(-int(left.total_seconds()) // 60))
    words = ngettext("Try again in %(minutes)s minute.", "Try again in %(minutes)s minutes.", minutes) % {
        "minutes": minutes
    }
    answer = render(request, "accounts/locked.html", {"when": words}, status=429)
    answer["Retry-After"] = str(minutes * 60)
    return answer


def note_lock(request: HttpRequest, username: str | None) -> None:
    """Write that a log-in was locked, once for each lock: refused tries while it lasts are not written again."""
    name = username or ""
    if not User.objects.filter(username=name).exists():
        name = ""  # what was typed may be anything, a password too
    since = timezone.now() - cool_off()
    address = getattr(request, "axes_ip_address", None)
    if not SecurityEvent.objects.filter(kind=events.Kind.LOCKED, person=name, address=address, at__gt=since).exists():
        events.record(events.Kind.LOCKED, name, request)


def locked_names(names: list[str]) -> set[str]:
    """Which of the names are locked at some address, or everywhere."""
    since = timezone.now() - cool_off()
    counted = (
        AccessAttempt.objects.filter(username__in=names, attempt_time__gt=since)
        .values("username", "ip_address")
        .annotate(n=Sum("failures_since_start"))
    )
    by_name: dict[str, int] = {}
    found = set()
    for row in counted:
        name = row["username"]
        by_name[name] = by_name.get(name, 0) + row["n"]
        if row["n"] >= PAIR or by_name[name] >= NAME:
            found.add(name)
    return found


def unlock(name: str, by: str, request: HttpRequest | None = None) -> bool:
    """Forget the wrong passwords of a name; whether there were any."""
    forgotten = AxesProxyHandler.reset_attempts(username=name) > 0
    if forgotten:
        events.record(events.Kind.UNLOCKED, name, request, by=by)
    return forgotten


def unlock_address(address: str, by: str) -> bool:
    """Forget the wrong passwords that came from an address; whether there were any."""
    forgotten = AxesProxyHandler.reset_attempts(ip_address=address) > 0
    if forgotten:
        events.record(events.Kind.UNLOCKED, "", by=by, detail=address)
    return forgotten

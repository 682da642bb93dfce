"""From where a request comes: the address and the browser."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str | None:
    """The address of whoever asks; None where the server does not know it (a local socket).

    Behind PROXIES proxies each adds the address it was asked from to X-Forwarded-For, so that so many from the right
    are true; what stands further left anybody can have written.
    """
    found = request.META.get("REMOTE_ADDR", "")
    if settings.PROXIES:
        named = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
        if named:
            found = named[-min(settings.PROXIES, len(named))]
    try:
        return str(ipaddress.ip_address(found.removeprefix("[").rstrip("]")))
    except ValueError:
        return None


def browser_of(request: HttpRequest) -> str:
    """What the browser calls itself, cut to what is kept."""
    return request.META.get("HTTP_USER_AGENT", "").replace("\0", "")[:200]

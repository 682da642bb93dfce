"""Names on the account pages."""

from __future__ import annotations

import datetime as dt

from django import template
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dealing import dates

register = template.Library()
_MINUTE = dt.timedelta(minutes=1)

# What a browser calls itself holds the names of older ones too: the first that fits is it.
_BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser": "Samsung Internet",
    "Firefox": "Firefox",
    "FxiOS": "Firefox",
    "CriOS": "Chrome",
    "Chrome": "Chrome",
    "Safari": "Safari",
}
_SYSTEMS = {
    "Windows": "Windows",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "CrOS": "ChromeOS",
    "Macintosh": "Mac",
    "Linux": "Linux",
}


@register.filter
def ago(then: dt.datetime) -> str:
    """How long ago that was, roughly: `3 hours ago`."""
    return dates.ago(then) if timezone.now() - then >= _MINUTE else _("just now")


@register.filter
def until_then(then: dt.datetime) -> str:
    """How long until then, roughly: `in 9 hours`."""
    minutes = max(1, int((then - timezone.now()).total_seconds() // 60))
    if minutes < 120:
        return ngettext("in %(n)d minute", "in %(n)d minutes", minutes) % {"n": minutes}
    return ngettext("in %(n)d hour", "in %(n)d hours", minutes // 60) % {"n": minutes // 60}


@register.filter
def browser_name(text: str) -> str:
    """A browser and the system it is on, from what it calls itself; the beginning of that where neither is known."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in text), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in text), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or text[:40] or _("a browser")

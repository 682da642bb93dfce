"""Names on the account pages."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

register = template.Library()

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
def browser_name(text: str) -> str:
    """A browser and the system it is on, from what it calls itself; the beginning of that where neither is known."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in text), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in text), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or text[:40] or _("a browser")

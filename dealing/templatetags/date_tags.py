"""Dates on pages: `{{ incident.opened_at|moment }}`, in the active time zone and in the years that the person chose."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import template

from dealing import dates

register = template.Library()


@register.filter(expects_localtime=True)
def moment(value: Any) -> str:
    """Day and time to the second; empty for no time."""
    return dates.moment(value) if isinstance(value, dt.datetime) else ""


@register.filter(expects_localtime=True)
def minute(value: Any) -> str:
    """Day and time to the minute; empty for no time."""
    return dates.minute(value) if isinstance(value, dt.datetime) else ""


@register.filter(expects_localtime=True)
def day(value: Any) -> str:
    """The day; empty for none."""
    return dates.day(value) if isinstance(value, dt.date) else ""

"""Dates as people read them: one place, so that years are everywhere of the era that the person chose.

Buddhist years (543 more) are written on Thai pages only, with the month in words, so that nobody takes 2569 for a year
of the other era. Logs, exports and JSON know nothing of this: they are ISO 8601 always.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.dateformat import format as format_date
from django.utils.translation import get_language, ngettext

#: How much more a year of the Buddhist era is.
BUDDHIST_ERA: Final = 543
#: From this year on, a year that somebody types who chose Buddhist years is of that era.
FIRST_BUDDHIST: Final = 2400

_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("buddhist_years", default=None)


@contextmanager
def years_of(user: Callable[[], Any]) -> Iterator[None]:
    """Within it, dates are written for the person that `user` gives, who is asked for only where a date is written."""
    token = _wanted.set(lambda: wants_buddhist_years(user()))
    try:
        yield
    finally:
        _wanted.reset(token)


def wants_buddhist_years(user: Any) -> bool:
    """Whether the person chose Buddhist years."""
    member = getattr(user, "staff_member", None)  # a missing one-to-one reads as a missing attribute
    return bool(member and member.buddhist_years)


def buddhist() -> bool:
    """Whether years are written in the Buddhist era now."""
    wanted = _wanted.get()
    return wanted is not None and (get_language() or "").startswith("th") and wanted()


def day(date: dt.date) -> str:
    """`2026-07-12`, or `12 ก.ค. 2569`."""
    if not buddhist():
        return f"{date:%Y-%m-%d}"
    return f"{format_date(date, 'j M')} {date.year + BUDDHIST_ERA}"


def moment(at: dt.datetime) -> str:
    """The day and the time to the second, in the time zone of `at`: `2026-07-12 21:04:05`, `12 ก.ค. 2569 21:04:05`."""
    return f"{day(at)} {at:%H:%M:%S}"


def minute(at: dt.datetime) -> str:
    """As `moment`, without seconds."""
    return f"{day(at)} {at:%H:%M}"


def typed(text: str) -> str:
    """A date as the person means it, in years of the common era: `2569-11-24` is 2026-11-24 for one who counts so."""
    wanted = _wanted.get()
    year = re.match(r"\s*([0-9]{4})-", text, re.ASCII)
    if year is None or int(year[1]) < FIRST_BUDDHIST or wanted is None or not wanted():
        return text
    return f"{int(year[1]) - BUDDHIST_ERA:04}{text[year.end(1) :]}"


class DayField(forms.DateField):
    """A day, in a year of the era that the person counts by."""

    def to_python(self, value: Any) -> Any:
        """The day. ValidationError where it is none."""
        return super().to_python(typed(value) if isinstance(value, str) else value)


class MomentField(forms.DateTimeField):
    """A day and a time, in a year of the era that the person counts by."""

    def to_python(self, value: Any) -> Any:
        """The time. ValidationError where it is none."""
        return super().to_python(typed(value) if isinstance(value, str) else value)


def ago(then: dt.datetime) -> str:
    """How long ago that was, in the largest unit that fits: `3 hours ago`."""
    minutes = max(0, int((timezone.now() - then).total_seconds() // 60))
    if minutes < 60:
        return ngettext("%(n)d minute ago", "%(n)d minutes ago", minutes) % {"n": minutes}
    if minutes < 48 * 60:
        return ngettext("%(n)d hour ago", "%(n)d hours ago", minutes // 60) % {"n": minutes // 60}
    days = minutes // (24 * 60)
    return ngettext("%(n)d day ago", "%(n)d days ago", days) % {"n": days}

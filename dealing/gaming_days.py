"""The gaming day of a house: it begins at `Venue.day_starts` o'clock of the house's own time, and has its date."""

from __future__ import annotations

import datetime as dt

from dealing.models import Venue


def gaming_day(venue: Venue, at: dt.datetime) -> dt.date:
    """The day to which a time belongs: before the hour at which days begin it is still the one before."""
    local = at.astimezone(venue.zone)
    return local.date() if local.hour >= venue.day_starts else local.date() - dt.timedelta(days=1)


def last_closed(venue: Venue, now: dt.datetime) -> dt.date:
    """The last gaming day of the house that is over."""
    return gaming_day(venue, now) - dt.timedelta(days=1)


def begins(venue: Venue, day: dt.date) -> dt.datetime:
    """When the day begins. The next one begins where it ends: some days of some zones have 23 hours, some 25."""
    return dt.datetime.combine(day, dt.time(venue.day_starts), tzinfo=venue.zone)


def bounds(venue: Venue, first: dt.date, last: dt.date) -> tuple[dt.datetime, dt.datetime]:
    """From when until before when the days from `first` to `last` run."""
    return begins(venue, first), begins(venue, last + dt.timedelta(days=1))

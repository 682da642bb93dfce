"""The dealers of a house: how many hands they dealt, and what was found in them."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dealing.dates import DayField
from dealing.gaming_days import bounds, gaming_day
from dealing.models import Dealer, DealerShift, Venue
from dealing.people import overseer_required
from dealing.permissions import May, may, member_of
from dealing.pit.access import venue_of
from dealing.pit.findings import load_report

#: The longest period, in gaming days.
LONGEST: Final = 31
#: What is offered with one press: the name, and how many days back it begins and ends.
PERIODS: Final = (
    (_("Today"), 0, 0),
    (_("Yesterday"), 1, 1),
    (_("7 days"), 6, 0),
    (_("30 days"), 29, 0),
)
#: Hands on a page of one dealer.
PAGE: Final = 50


class PeriodForm(forms.Form):
    """From which gaming day to which; the last seven where nothing is said."""

    first = DayField(label=_("From"), widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}))
    last = DayField(label=_("To the end of"), widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}))

    def __init__(self, data: Any, today: dt.date, newest: dt.date) -> None:
        self.newest = newest
        usual = {"first": (today - dt.timedelta(days=6)).isoformat(), "last": today.isoformat()}
        given = {name: data.get(name, "") for name in usual}
        super().__init__(given if any(given.values()) else usual)
        for name in usual:
            field = self.fields[name]
            wrong = _("Write this day as 2026-07-31.")
            field.error_messages |= {"invalid": wrong, "required": wrong}

    def clean(self) -> dict[str, Any]:
        """The two days together."""
        said = super().clean() or {}
        first, last = said.get("first"), said.get("last")
        ahead = [name for name, day in said.items() if day > self.newest]
        for name in ahead:
            self.add_error(name, _("This day is still to come."))
        if first and last and not ahead:
            if last < first:
                self.add_error("last", _("The last day is before the first."))
            elif (last - first).days >= LONGEST:
                self.add_error(
                    "last",
                    ngettext_lazy("Choose %(n)d day at most.", "Choose %(n)d days at most.", LONGEST) % {"n": LONGEST},
                )
            elif first.year < 1900:
                self.add_error("last", _("Write this day as 2026-07-31."))
        return said


def _context(request: HttpRequest, venue: Venue) -> dict[str, Any]:
    """The period that was asked for, what else is offered, and what to send along with a link."""
    today = gaming_day(venue, timezone.now())
    # In the small hours the calendar's day is one on from the gaming day.
    form = PeriodForm(request.GET, today, max(today, timezone.localdate(timezone=venue.zone)))
    house = {} if member_of(request.user) else {"house": venue.code}
    offered = []
    for name, begins, ends in PERIODS:
        days = {"first": today - dt.timedelta(days=begins), "last": today - dt.timedelta(days=ends)}
        chosen = form.is_valid() and all(form.cleaned_data[key] == day for key, day in days.items())
        offered.append((name, urlencode(days | house), chosen))
    context: dict[str, Any] = {"venue": venue, "form": form, "periods": offered, "house": house.get("house", "")}
    if not member_of(request.user):
        context["houses"] = list(Venue.objects.order_by("code"))
    if form.is_valid():
        first, last = form.cleaned_data["first"], form.cleaned_data["last"]
        start, end = bounds(venue, first, last)
        kept = urlencode({"first": first, "last": last} | house)
        context |= {"first": first, "last": last, "start": start, "end": end, "kept": kept}
    return context


@require_safe
@never_cache
@overseer_required
def dealers(request: HttpRequest) -> HttpResponse:
    """Every dealer of the house in a period, and the hands for which none is recorded."""
    venue = venue_of(request)
    context = _context(request, venue)
    if "start" in context:
        report = load_report(venue, context["start"], context["end"])
        context |= {"records": report.records, "unknown": report.unknown, "all": report.house}
    return render(request, "pit/dealers.html", context, status=200 if "start" in context else 422)


@require_safe
@never_cache
@overseer_required
def dealer(request: HttpRequest, code: str) -> HttpResponse:
    """One dealer in a period: hands, findings by kind, the hands themselves, the shifts."""
    venue = venue_of(request)
    found = Dealer.objects.filter(venue=venue, code=code.replace("\0", "")).first()
    if found is None:
        raise Http404
    return _one(request, venue, found)


@require_safe
@never_cache
@overseer_required
def nobody(request: HttpRequest) -> HttpResponse:
    """The hands for which no dealer is recorded."""
    return _one(request, venue_of(request), None)


def _one(request: HttpRequest, venue: Venue, dealer: Dealer | None) -> HttpResponse:
    context = _context(request, venue) | {"dealer": dealer, "may_correct": may(request.user, May.SUPERVISE)}
    if "start" in context:
        report = load_report(venue, context["start"], context["end"])
        record = next((one for one in report.records if dealer and one.dealer == dealer), None)
        context["record"] = record = report.unknown if record is None and dealer is None else record
        context["page"] = Paginator(record.found if record else [], PAGE).get_page(request.GET.get("page"))
        if dealer is not None:
            during = Q(ended_at=None) | Q(ended_at__gt=context["start"])
            shifts = DealerShift.objects.filter(during, dealer=dealer, started_at__lt=context["end"])
            context["shifts"] = list(shifts.select_related("dealer", "table__venue").order_by("-started_at"))
    return render(request, "pit/one_dealer.html", context, status=200 if "start" in context else 422)

"""The pit: every table at a glance, kept up to date by one small request a second."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from dealing.people import reader_required
from dealing.pit.selectors import ALL, SHOWS, Pit


@require_safe
@reader_required
def pit(request: HttpRequest) -> HttpResponse:
    """The page. `?show=`: all tables, those that need attention, or those in use."""
    asked = request.GET.get("show", "")
    shown = Pit(request.user, show=asked if asked in SHOWS else ALL)
    response = render(request, "pit/pit.html", {"pit": shown})
    response.headers["Cache-Control"] = "no-store"
    return response


@require_safe
@reader_required
def live(request: HttpRequest) -> HttpResponse:
    """The tables that have changed since the page with the stamp `?seen=`; 204 where none has."""
    changed = render_to_string("pit/live.html", {"pit": Pit(request.user, request.GET.get("seen", ""))}, request)
    response = HttpResponse(changed) if changed.strip() else HttpResponse(status=204)
    response.headers["Cache-Control"] = "no-store"
    return response

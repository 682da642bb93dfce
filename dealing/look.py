"""The design system's own page, and the choice between the light and the dark theme."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from dealing.people import reader_required

THEME_COOKIE = "theme"
THEME_AGE = 365 * 24 * 60 * 60  # seconds
THEMES = ("light", "dark")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the chosen theme in a cookie; any other value means the device's own preference again."""
    page = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure()):
        page = resolve_url(settings.LOGIN_REDIRECT_URL)
    response = HttpResponseRedirect(page)
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=THEME_AGE, samesite="Lax", secure=request.is_secure())
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response


@require_safe
@reader_required
def look(request: HttpRequest) -> HttpResponse:
    """Every token and component in all its states."""
    return render(request, "components/catalogue.html", {})

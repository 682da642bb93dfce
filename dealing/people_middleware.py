"""A session that ends under an open page: the whole page goes to the log-in, not only the fragment that asked. And the
years in which dates are written for the person who asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect

from dealing.dates import years_of

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails


class LoginRedirectMiddleware:
    """Turn a redirect to the log-in page, asked for by htmx, into one that the browser's window follows.

    After logging in the person is back on the page that was open, not on the fragment's address. To stand after
    `django_htmx.middleware.HtmxMiddleware`.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        response = self.get_response(request)
        htmx: HtmxDetails | None = getattr(request, "htmx", None)
        if not htmx or response.status_code != 302:
            return response
        if urlsplit(response.headers["Location"]).path != resolve_url(settings.LOGIN_URL):
            return response
        # The address comes from the browser: only one on this site is a place to come back to.
        try:
            open_page = htmx.current_url_abs_path
        except ValueError:  # no address at all
            open_page = None
        page = open_page or resolve_url(settings.LOGIN_REDIRECT_URL)
        return HttpResponseClientRedirect(redirect_to_login(page).headers["Location"])


class YearsMiddleware:
    """Have the dates of the answer written in the years that the person chose (`dealing.dates`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        with years_of(lambda: getattr(request, "user", None)):
            return self.get_response(request)

"""Addresses that nothing can be at."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase


class NoNulMiddleware:
    """Read a NUL in an address as the sign for what cannot be read: nothing is called so, and the answer is 404.

    PostgreSQL takes no NUL in a text: looking for such a name would fail instead.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        if "\0" in request.path_info:
            request.path = request.path.replace("\0", "\ufffd")
            request.path_info = request.path_info.replace("\0", "\ufffd")
        return self.get_response(request)

"""The short way in for devices that record: what the pages' middlewares do for people is not done for them.

A request to record that brings a key knows no session, no form, no messages, no second factor: half of `MIDDLEWARE`
looks for them in vain, a fifth of the time that an event takes. Such a request is answered by the same view behind
`DEVICE_MIDDLEWARE`, and by the same answer to the letter (`tests/test_devices_lane.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, Final, cast

from csp.constants import HEADER as POLICY
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponseBase
from django.utils.module_loading import import_string

from dealing.accounts.middleware import keep_to_itself

from .bodies import Application, StartResponse

#: Where devices record.
_RECORDS: Final = re.compile(r"/api/v1/tables/[^/]+/events/").fullmatch


class DeviceHeaders:
    """The headers that the middlewares left out set on each answer, worked out once."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        nothing = cast(Any, SimpleNamespace())
        parts = CSPMiddleware(cast(Any, get_response)).get_policy_parts(request=nothing, response=nothing)
        self._policy = build_policy(**asdict(parts))

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        response = self.get_response(request)
        headers = response.headers
        headers.setdefault("X-Frame-Options", settings.X_FRAME_OPTIONS)
        keep_to_itself(response)
        headers.setdefault(POLICY, self._policy)
        return response


class DeviceHandler(WSGIHandler):
    """The application behind `DEVICE_MIDDLEWARE`, none of which has a hook but being called."""

    def load_middleware(self, is_async: bool = False) -> None:
        """The chain, from the inside out."""
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        handler = convert_exception_to_response(cast(Any, self)._get_response)
        for name in reversed(settings.DEVICE_MIDDLEWARE):
            handler = convert_exception_to_response(import_string(name)(handler))
        self._middleware_chain = handler


class Lanes:
    """The WSGI application that leads each request to the one of the two that it is for."""

    def __init__(self, people: Application, devices: Application) -> None:
        self.people = people
        self.devices = devices

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        return (self.devices if _records(environ) else self.people)(environ, start_response)


def _records(environ: dict[str, Any]) -> bool:
    """Whether somebody with a key wants to record: anybody else is asked for a session."""
    return (
        environ.get("REQUEST_METHOD") == "POST"
        and str(environ.get("HTTP_AUTHORIZATION", ""))[:7].lower() == "bearer "
        and _RECORDS(environ.get("PATH_INFO", "")) is not None
    )

"""The number of a request, from its first line to the last task that it leaves to a worker."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from celery.signals import before_task_publish, task_postrun, task_prerun
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from . import logs

HEADER: Final = "X-Request-ID"
#: What a message to a worker carries it in.
_CARRIED: Final = "request_id"
#: Asked so often, and of so little interest where all is well, that only DEBUG shows them.
_QUIET: Final = ("/health/", "/metrics")

access = logging.getLogger("baccarat_audit.access")


class RequestIdMiddleware:
    """Give the request its number and write a line when it is answered. To stand before all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        given = request.headers.get(HEADER, "")
        number = given if logs.REQUEST_ID.fullmatch(given) else logs.make_request_id()
        request.request_id = number  # type: ignore[attr-defined]  # ours, for pages and problems
        before = logs.enter(logs.Context(number, request))
        began = time.perf_counter()
        try:
            response = self.get_response(request)
            response.headers[HEADER] = number
            self._line(request, response, time.perf_counter() - began)
        finally:
            logs.enter(before)
        return response

    def _line(self, request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
        quiet = response.status_code < 400 and request.path.startswith((settings.STATIC_URL, *_QUIET))
        level = logging.DEBUG if quiet else logging.INFO
        if not access.isEnabledFor(level):
            return
        ms = round(seconds * 1000, 1)
        who = logs.asker(request)
        named = next(iter(who.values()), "-")
        access.log(
            level,
            "%s %s %d %s ms %s",
            request.method,
            request.path,
            response.status_code,
            ms,
            named,
            extra={"details": {"status": response.status_code, "ms": ms}},
        )


# Tasks. A task that a request leaves behind has the request's number, one that the scheduler sends a number of its own.


@before_task_publish.connect
def _carry(headers: dict[str, Any] | None = None, **_signal: Any) -> None:
    context = logs.current()
    if headers is not None and context is not None:
        headers.setdefault(_CARRIED, context.request_id)


@task_prerun.connect
def _take_up(task_id: str = "", task: Any = None, **_signal: Any) -> None:
    if logs.current() is not None:
        return  # run where it was called, within a request
    carried = getattr(task.request, _CARRIED, None)
    number = carried if isinstance(carried, str) and logs.REQUEST_ID.fullmatch(carried) else logs.make_request_id()
    logs.enter(logs.Context(number, task=task.name))


@task_postrun.connect
def _put_down(**_signal: Any) -> None:
    context = logs.current()
    if context is not None and context.task:
        logs.enter(None)

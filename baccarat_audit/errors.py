"""The pages for what went wrong, and the problems that programs get: nobody ever sees a stack trace."""

import logging
import sys

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from .api import problem_answer

logger = logging.getLogger(__name__)

#: What a program is told, by status.
PROBLEMS = {400: "invalid", 403: "not-allowed", 404: "not-found", 500: "failed"}


def _page(request: HttpRequest, status: int, reason: str = "") -> HttpResponse:
    if request.path.startswith("/api/"):
        down = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
        return problem_answer(request, "unavailable" if down else PROBLEMS[status], reason)
    number = getattr(request, "request_id", "")
    try:
        about = {"reason": reason, "request_id": number}
        return render(request, f"errors/{status}.html", about, status=status)
    except Exception:
        # The page itself may need what is broken (the database, say); plain words need nothing.
        logger.exception("error page %s could not be rendered", status)
        return HttpResponse(
            _("Something went wrong here (error %(status)s). Please go back and try again.") % {"status": status}
            + (f"\n{number}\n" if number else ""),
            status=status,
            content_type="text/plain; charset=utf-8",
        )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400; 413 for what is larger than anything that is read."""
    if isinstance(exception, RequestDataTooBig):
        response = _page(request, 400, str(exception))
        response.status_code = 413
        return response
    return _page(request, 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403; the reason given to `PermissionDenied` is shown."""
    return _page(request, 403, str(exception))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return _page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500."""
    return _page(request, 500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form whose token is missing or old: mostly a session that has ended."""
    logger.warning("CSRF check failed at %s: %s", request.path, reason)
    return _page(request, 403, _("This page was open too long or from before you logged in. Load it again and repeat."))

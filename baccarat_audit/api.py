"""What all of the JSON API shares: who is asking, and how an error is said. The addresses are in `api_urls.py`.

Each part of the product brings its own views. Errors are problem details (RFC 9457):
`application/problem+json` with `title`, `status`, `detail`, and for a refused question `errors`, one list a field.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

logger = logging.getLogger(__name__)

PROBLEM = "application/problem+json"


class PageSession(SessionAuthentication):
    """Who is logged in on the pages. Nobody: 401, and not 403, for logging in would help."""

    def authenticate_header(self, request: Request) -> str:
        """Names the way in."""
        return "Session"


def problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer for an error: a problem in JSON, whatever went wrong; no stack trace leaves the house."""
    from rest_framework.views import set_rollback  # not above: that module is made with what this one brings

    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if not isinstance(error, exceptions.APIException):
        if settings.DEBUG:
            return None
        logger.exception("the API failed")
        error = exceptions.APIException(_("Something went wrong here; the server’s log says what."))
    set_rollback()
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(error.status_code).phrase,
        "status": error.status_code,
    }
    if isinstance(error, exceptions.ValidationError):
        body["detail"] = _("The question cannot be answered as it was put.")
        body["errors"] = error.detail if isinstance(error.detail, dict) else {"": error.detail}
    else:
        body["detail"] = str(error.detail)
    headers: dict[str, str] = {}
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        headers["WWW-Authenticate"] = getattr(error, "auth_header", "")
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return Response(body, status=error.status_code, headers=headers, content_type=PROBLEM)

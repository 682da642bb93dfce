"""What all of the JSON API shares: who is asking, and how an error is said. The addresses are in
`api_urls.py`, the views with what they are about; `dealing.api` has what these derive from.

Errors are problem details (RFC 9457): `application/problem+json` with `type`, `title`, `status`, `detail`, and for a
refused question `errors`, one list a field. `dealing.api.problems` has every kind.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.authentication import CSRFCheck, SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from dealing.api.problems import KINDS, Kind, Problem, kind_of

logger = logging.getLogger(__name__)

PROBLEM = "application/problem+json"


def _no_view(_request: HttpRequest) -> HttpResponse:
    """Stands where the check of the token wants a view."""
    return HttpResponse()


class PageSession(SessionAuthentication):
    """Who is logged in on the pages. Nobody: 401, and not 403, for logging in would help."""

    def authenticate_header(self, request: Request) -> str:
        """Names the way in."""
        return "Session"

    def enforce_csrf(self, request: Request) -> None:
        """Raise a problem of its own kind where the session's token is not sent with what is written."""
        check = CSRFCheck(_no_view)
        check.process_request(request)
        if check.process_view(request, _no_view, (), {}):
            raise Problem("csrf")


def problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer for an error: a problem in JSON, whatever went wrong; no stack trace leaves the house."""
    from rest_framework.settings import api_settings
    from rest_framework.views import set_rollback  # not above: that module is made with what this one brings

    error = _known(error, str(context["request"].method))
    if not isinstance(error, exceptions.APIException):
        if settings.DEBUG:
            return None
        logger.exception("the API failed")
        error = Problem("failed", _("Something went wrong here; the server’s log says what."))
    set_rollback()
    more: dict[str, Any] = {}
    detail = str(error.detail)
    if isinstance(error, exceptions.ValidationError):
        more["errors"] = error.detail if isinstance(error.detail, dict) else {"": error.detail}
    if isinstance(error, Problem):
        more = error.more
    if errors := more.get("errors"):
        name, why = next(iter(errors.items()))
        why = str(why[0] if isinstance(why, list) else why)
        detail = f"{name}: {why}" if name and name != api_settings.NON_FIELD_ERRORS_KEY else why
    headers: dict[str, str] = {}
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        headers["WWW-Authenticate"] = getattr(error, "auth_header", "")
    if isinstance(error, exceptions.MethodNotAllowed):
        headers["Allow"] = ", ".join(context["view"].allowed_methods)
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    body = _body(_kind(error), detail, context["request"], more)
    answer = Response(body, status=error.status_code, headers=headers, content_type=PROBLEM)
    if isinstance(error, Problem) and wait:  # as it should be: Django would call it an error of ours
        logger.info("%s: %s", context["request"].path, detail)
        setattr(answer, "_has_been_logged", True)  # noqa: B010 - an attribute of Django's
    return answer


def problem_answer(request: HttpRequest, name: str, detail: str = "") -> HttpResponse:
    """A problem of the named kind where no view of the API answers: Django itself has refused the request."""
    kind = KINDS[name]
    body = json.dumps(_body(kind, detail or str(kind.title), request, {}), ensure_ascii=False)
    return HttpResponse(body, status=kind.status, content_type=PROBLEM, headers={"Cache-Control": "no-store"})


def _known(error: Exception, method: str) -> Exception:
    """What Django raises, as one of the API's own errors."""
    if isinstance(error, Http404):
        return exceptions.NotFound()
    if isinstance(error, PermissionDenied):
        return exceptions.PermissionDenied(str(error) or None)
    if isinstance(error, OperationalError | InterfaceError):
        logger.error("the database does not answer the API: %s", error)
        return Problem("unavailable", _("The database does not answer. Try again in a moment."))
    if isinstance(error, exceptions.NotAuthenticated):
        named = exceptions.NotAuthenticated(
            _("Nobody is known. A device sends its key: “Authorization: Bearer bka_…”; a person logs in on the pages.")
        )
        named.auth_header = getattr(error, "auth_header", "")  # type: ignore[attr-defined]  # DRF puts it there
        return named
    if isinstance(error, exceptions.MethodNotAllowed):
        error.detail = _("%(method)s cannot be done with this address.") % {"method": method}  # type: ignore[assignment]
        return error
    if isinstance(error, exceptions.ParseError):
        return Problem("malformed", _("The body is not JSON: %(reason)s") % {"reason": error.detail})
    return error


def _kind(error: exceptions.APIException) -> Kind:
    return error.kind if isinstance(error, Problem) else kind_of(error.status_code)


def _body(kind: Kind, detail: str, request: Any, more: dict[str, Any]) -> dict[str, Any]:
    body = {"type": kind.type, "title": str(kind.title), "status": kind.status, "detail": detail, **more}
    if number := getattr(request, "request_id", None):
        body["request_id"] = number
    return body

"""What every request passes: the second factor, the note that somebody is there, and headers for the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject

from dealing.accounts import factors
from dealing.accounts.standing import Standing, State

#: What pages may do with the device they are on: sound an alarm, keep the screen on, use passkeys.
PERMISSIONS: Final = ", ".join(
    (
        *(f"{name}=()" for name in ("accelerometer", "camera", "display-capture", "geolocation", "gyroscope")),
        *(f"{name}=()" for name in ("magnetometer", "microphone", "midi", "payment", "usb")),
        *(f"{name}=(self)" for name in ("publickey-credentials-create", "publickey-credentials-get")),
    )
)


class SecondFactorMiddleware:
    """Somebody who still owes the second factor is nobody, on every page, in every part of one and for the API.

    Only the views that take the factor ask for `pending_user`. To stand after `AuthenticationMiddleware`.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        whole = request.user

        def known() -> Any:
            return _as_known(request, whole)

        async def known_async() -> Any:
            return await sync_to_async(known)()  # roles may have to be read

        request.user = SimpleLazyObject(known)  # type: ignore[assignment]  # as Django's own middleware does
        request.auser = known_async
        response = self.get_response(request)
        if _somebody_acts(request):
            request.session.seen()  # type: ignore[attr-defined]  # our own store
        return response


def _as_known(request: HttpRequest, user: Any) -> Any:
    if not user.is_authenticated:
        return user
    standing = Standing.of(request.session)
    if standing is None:  # nobody logged in to this session by any of the ways there are
        return AnonymousUser()
    state = standing.state
    if state is State.IN and not standing.factor and factors.required(user):
        state = State.ENROLS
    if state is State.IN:
        return user
    request.pending = (user, state)  # type: ignore[attr-defined]
    return AnonymousUser()


def pending(request: HttpRequest) -> tuple[Any, State] | None:
    """Who gave the right password and owes the second factor, and whether it has to be set up first; or None."""
    if request.user.is_authenticated:
        return None
    found: tuple[Any, State] | None = getattr(request, "pending", None)
    return found


def _somebody_acts(request: HttpRequest) -> bool:
    """Whether a person did something. What an open page asks for by itself does not keep a session alive."""
    session = request.session
    if not session.accessed or SESSION_KEY not in session:
        return False
    if request.method not in ("GET", "HEAD"):
        return True
    return "HX-Request" not in request.headers and "text/html" in request.headers.get("Accept", "text/html")


class HeadersMiddleware:
    """Headers that Django does not set: nothing of a page behind the log-in is kept by browsers or proxies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        response = self.get_response(request)
        keep_to_itself(response)
        if request.session.accessed and SESSION_KEY in request.session:
            response.headers.setdefault("Cache-Control", "no-store, private")
        return response


def keep_to_itself(response: HttpResponseBase) -> None:
    """Say what a page may do with the device it is on, and that no other site shows it."""
    response.headers.setdefault("Permissions-Policy", PERMISSIONS)
    response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")

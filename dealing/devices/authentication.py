"""Devices of the API: who asks is known by the key in `Authorization: Bearer bka_…`."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from . import keys

BEARER: Final = b"bearer"


def known(token: str | None) -> tuple[keys.DeviceUser, keys.DeviceKey]:
    """The device of a key as it is now. Raises AuthenticationFailed."""
    key = keys.known(token)
    if key is None:
        raise AuthenticationFailed(_("This device key is unknown, was revoked or has run out."))
    return keys.DeviceUser(key.device), key


def token_of(request: Request) -> str | None:
    """The bearer token that comes with a request."""
    scheme, _space, token = get_authorization_header(request).partition(b" ")
    return token.strip().decode("latin-1") if scheme.lower() == BEARER else None


class DeviceKeyAuthentication(BaseAuthentication):
    """`request.user` is the `keys.DeviceUser` of the key's device, `request.auth` the `DeviceKey`.

    A request without a bearer token is left to others; one with a token that opens nothing is answered 401.
    """

    def authenticate(self, request: Request) -> tuple[keys.DeviceUser, keys.DeviceKey] | None:
        """One statement, and once a minute another that notes the use; none for a view that confirms keys itself."""
        token = token_of(request)
        if token is None:
            return None
        view = request.parser_context.get("view")
        if request.method == "POST" and view is not None and hasattr(view, "as_kept"):
            kept = keys.kept(token)
            if kept is not None:
                view.as_kept = True
                return keys.DeviceUser(kept[0].device, kept[1]), kept[0]
        return known(token)

    def authenticate_header(self, request: Request) -> str:
        """Names the way in."""
        return "Bearer"

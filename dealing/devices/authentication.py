"""Devices of the API: who asks is known by the key in `Authorization: Bearer bka_…`."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from . import keys

BEARER: Final = b"bearer"


class DeviceKeyAuthentication(BaseAuthentication):
    """`request.user` is the `keys.DeviceUser` of the key's device, `request.auth` the `DeviceKey`.

    A request without a bearer token is left to others; one with a token that opens nothing is answered 401.
    """

    def authenticate(self, request: Request) -> tuple[keys.DeviceUser, keys.DeviceKey] | None:
        """One statement, and once a minute another that notes when the key was last used."""
        scheme, _space, token = get_authorization_header(request).partition(b" ")
        if scheme.lower() != BEARER:
            return None
        key = keys.known(token.strip().decode("latin-1"))
        if key is None:
            raise AuthenticationFailed(_("This device key is unknown, was revoked or has run out."))
        return keys.DeviceUser(key.device), key

    def authenticate_header(self, request: Request) -> str:
        """Names the way in."""
        return "Bearer"

"""Passkeys (WebAuthn): what the browser is asked, and whether what it answers is true.

They are bound to the host of SITE_URL. On this machine they work as http://localhost, whatever SITE_URL says.
"""

from __future__ import annotations

import ipaddress
import json
import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import webauthn
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from dealing.accounts.models import Passkey

#: Passkeys of one person.
MOST: Final = 10
_ASKED: Final = "passkey"
_SECONDS: Final = 300
#: The longest answer of a browser that is looked at, in characters.
_ANSWER: Final = 20_000


class Refused(Exception):
    """The answer is none to what was asked; says why, for people to read. `user`: whose passkey it was, where known."""

    def __init__(self, why: str, user: User | None = None) -> None:
        super().__init__(why)
        self.user = user


@dataclass(frozen=True)
class Place:
    """Where passkeys are for: the host they are bound to and the origin that browsers give."""

    host: str
    origin: str


def place_of(request: HttpRequest) -> Place:
    """Where the person is. Raises Refused where browsers allow no passkeys."""
    name = urlsplit(f"//{request.get_host()}").hostname or ""
    if name == "localhost":
        return Place(name, f"{request.scheme}://{request.get_host()}")
    site = urlsplit(settings.SITE_URL)
    if not request.is_secure():
        raise Refused(
            _("Passkeys work only where this site is opened by https, or as http://localhost on the server itself.")
        )
    try:
        ipaddress.ip_address(name)
    except ValueError:
        if name == site.hostname:
            return Place(name, f"https://{request.get_host()}")
    raise Refused(_("Passkeys work only where this site is opened as %(address)s.") % {"address": settings.SITE_URL})


def work(request: HttpRequest) -> bool:
    """Whether browsers allow passkeys where the person is."""
    try:
        place_of(request)
    except Refused:
        return False
    return True


def elsewhere(request: HttpRequest) -> str:
    """Where passkeys work, for somebody who is where they do not, and can go there; else empty."""
    if work(request) or not Passkey.objects.exists():
        return ""
    if settings.SITE_URL.startswith("https:"):
        return str(settings.SITE_URL)
    here = urlsplit(f"//{request.get_host()}")
    try:
        this_machine = ipaddress.ip_address(here.hostname or "").is_loopback
    except ValueError:
        return ""
    return f"http://localhost:{here.port or 80}" if this_machine else ""


def _ask(request: HttpRequest, purpose: str, options: Any) -> str:
    challenge = bytes_to_base64url(options.challenge)
    request.session[_ASKED] = {"for": purpose, "challenge": challenge, "at": time.time()}
    return webauthn.options_to_json(options)


def _asked(request: HttpRequest, purpose: str) -> bytes:
    """The challenge of what was asked; it is good once."""
    asked = request.session.pop(_ASKED, None)
    if asked is None or asked["for"] != purpose or not 0 <= time.time() - asked["at"] <= _SECONDS:
        raise Refused(_("This was asked too long ago. Please try again."))
    return base64url_to_bytes(asked["challenge"])


def _told(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text[:_ANSWER])
    except ValueError:
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("id"), str):
        raise Refused(_("The browser’s answer cannot be read. Please try again."))
    return told


def _known(user: User) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(key.credential_id)) for key in user.passkeys.all()]


def ask_new(request: HttpRequest, user: User) -> str:
    """What the browser is asked to make a passkey, as JSON. Raises Refused."""
    options = webauthn.generate_registration_options(
        rp_id=place_of(request).host,
        rp_name=_("Baccarat audit"),
        user_name=user.get_username(),
        user_display_name=user.get_full_name() or user.get_username(),
        # The same for all keys of a person; tells nothing of who it is.
        user_id=salted_hmac("dealing.accounts.passkeys", str(user.pk), algorithm="sha256").digest(),
        exclude_credentials=_known(user),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED, user_verification=UserVerificationRequirement.PREFERRED
        ),
    )
    return _ask(request, f"new {user.pk}", options)


def add(request: HttpRequest, user: User, answer: str, name: str) -> Passkey:
    """Keep the passkey that the browser made. Raises Refused."""
    place, challenge = place_of(request), _asked(request, f"new {user.pk}")
    try:
        made = webauthn.verify_registration_response(
            credential=_told(answer),
            expected_challenge=challenge,
            expected_rp_id=place.host,
            expected_origin=place.origin,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError):
        raise Refused(_("This passkey cannot be taken. Please try again, or try another one.")) from None
    identity = bytes_to_base64url(made.credential_id)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        if Passkey.objects.filter(user=user).count() >= MOST:
            raise Refused(_("There are as many passkeys as there can be. Remove one first."))
        if Passkey.objects.filter(credential_id=identity).exists():
            raise Refused(_("This passkey is known already."))
        return Passkey.objects.create(
            user=user,
            name=name,
            credential_id=identity,
            public_key=made.credential_public_key,
            sign_count=made.sign_count,
            created_at=timezone.now(),
        )


def ask_factor(request: HttpRequest, user: User) -> str:
    """What the browser is asked for one of the person's passkeys as a second factor, as JSON. Raises Refused."""
    options = webauthn.generate_authentication_options(
        rp_id=place_of(request).host,
        allow_credentials=_known(user),
        user_verification=UserVerificationRequirement.PREFERRED,
    )
    return _ask(request, f"factor {user.pk}", options)


def ask_anybody(request: HttpRequest) -> str:
    """What the browser is asked for a passkey instead of name and password, as JSON. Raises Refused."""
    options = webauthn.generate_authentication_options(
        rp_id=place_of(request).host, user_verification=UserVerificationRequirement.REQUIRED
    )
    return _ask(request, "log in", options)


def check_factor(request: HttpRequest, user: User, answer: str) -> Passkey:
    """The person's passkey that the browser used. Raises Refused."""
    return _check(request, f"factor {user.pk}", answer, Passkey.objects.filter(user=user), whole=False)


def check_anybody(request: HttpRequest, answer: str) -> Passkey:
    """The passkey that somebody used instead of name and password. Raises Refused."""
    return _check(request, "log in", answer, Passkey.objects.filter(user__is_active=True), whole=True)


def _check(request: HttpRequest, purpose: str, answer: str, among: Any, whole: bool) -> Passkey:
    place, challenge, told = place_of(request), _asked(request, purpose), _told(answer)
    words = _("This passkey is not known here, or was not used rightly.")
    with transaction.atomic():
        key: Passkey | None = among.select_for_update().filter(credential_id=told["id"].rstrip("=")).first()
        if key is None:
            raise Refused(words)
        try:
            done = webauthn.verify_authentication_response(
                credential=told,
                expected_challenge=challenge,
                expected_rp_id=place.host,
                expected_origin=place.origin,
                credential_public_key=bytes(key.public_key),
                # One that counts backwards was copied: refused.
                credential_current_sign_count=key.sign_count,
                require_user_verification=whole,
            )
        except (WebAuthnException, ValueError, KeyError, TypeError):
            raise Refused(words, key.user) from None
        key.sign_count, key.last_used_at = done.new_sign_count, timezone.now()
        key.save(update_fields=["sign_count", "last_used_at"])
    return key

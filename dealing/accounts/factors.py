"""The second factor: who needs one, who has one, and whether what was typed is it.

A person has at most one authenticator app (TOTP), any number of passkeys, and recovery codes beside them. A code of the
app is good once, within half a minute of its time on either side (the app's clock is followed where it drifts); wrong
ones make the next try wait, twice as long each time (django-otp's throttling).
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import segno
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dealing.accounts import events, sealing, sessions
from dealing.accounts.models import Authenticator, Passkey, RecoveryCodes
from dealing.permissions import needs_second_factor

CODES: Final = 10
_APP_CODE: Final = re.compile(r"[0-9]{6}")


class Given(StrEnum):
    """What was typed."""

    APP = "app"
    RECOVERY = "recovery"


@dataclass(frozen=True)
class Answer:
    """What a code came to. `wait`: seconds until another one is looked at at all."""

    given: Given | None
    wait: int = 0


def required(user: Any) -> bool:
    """Whether the person gets nothing without a second factor."""
    return settings.SECOND_FACTOR_REQUIRED and needs_second_factor(user)


def app_of(user: Any) -> Authenticator | None:
    """The person's authenticator app, set up."""
    return Authenticator.objects.filter(user_id=user.pk, confirmed=True).first()


def codes_left(user: Any) -> int:
    """How many recovery codes of the person were not used."""
    return sum(device.token_set.count() for device in RecoveryCodes.objects.filter(user_id=user.pk))


def has(user: Any) -> bool:
    """Whether the person has a second factor. Recovery codes alone are none."""
    return (
        Authenticator.objects.filter(user_id=user.pk, confirmed=True).exists()
        or Passkey.objects.filter(user_id=user.pk).exists()
    )


def begin_app(user: User) -> Authenticator:
    """The authenticator app that the person is setting up: the same one until it is done, or a new one."""
    begun = Authenticator.objects.filter(user=user, confirmed=False).first()
    if begun is not None:
        try:
            _ = begun.bin_key
        except sealing.Unreadable:
            begun.delete()
        else:
            return begun
    sealed = sealing.seal(os.urandom(20), str(user.pk))
    return Authenticator.objects.create(user=user, name="app", confirmed=False, key=sealed)


def finish_app(user: User, code: str) -> Answer:
    """Take the app that is being set up into use, in place of an earlier one, if the code is its."""
    with transaction.atomic():
        begun = Authenticator.objects.select_for_update().filter(user=user, confirmed=False).first()
        if begun is None:
            return Answer(None)
        answer = _try(begun, _plain(code), Given.APP)
        if answer.given:
            Authenticator.objects.filter(user=user, confirmed=True).delete()
            begun.confirmed = True
            begun.save(update_fields=["confirmed"])
    return answer


def is_app_code(code: str) -> bool:
    """Whether it can be the code of an app at all."""
    return _APP_CODE.fullmatch(_plain(code)) is not None


def _plain(code: str) -> str:
    return re.sub(r"[\s-]", "", code).lower()


def _try(device: Any, code: str, given: Given) -> Answer:
    allowed, told = device.verify_is_allowed()
    if not allowed:
        wait = (told["locked_until"] - timezone.now()).total_seconds() if told else 1
        return Answer(None, max(1, round(wait)))
    try:
        return Answer(given if device.verify_token(code) else None)
    except sealing.Unreadable:
        return Answer(None)


def check(user: Any, code: str) -> Answer:
    """Whether it is the app's code of now, or a recovery code. It is used up by that."""
    plain = _plain(code)
    # Tried one at a time: of two who send the same code at once one is let in.
    with transaction.atomic():
        if is_app_code(plain):
            app = Authenticator.objects.select_for_update().filter(user_id=user.pk, confirmed=True).first()
            return Answer(None) if app is None else _try(app, plain, Given.APP)
        codes = RecoveryCodes.objects.select_for_update().filter(user_id=user.pk).first()
        return Answer(None) if codes is None else _try(codes, plain, Given.RECOVERY)


def new_codes(user: User) -> list[str]:
    """Recovery codes in place of earlier ones. They can be had now and never again."""
    codes = [base64.b32encode(os.urandom(10)).decode().lower()[:12] for _ in range(CODES)]
    with transaction.atomic():
        RecoveryCodes.objects.filter(user=user).delete()
        device = RecoveryCodes.objects.create(user=user, name="codes")
        for code in codes:
            device.token_set.create(token=sealing.digest(code))
    return ["-".join(re.findall("....", code)) for code in codes]


def remove_app(user: User) -> bool:
    """Take the person's app away; whether there was one."""
    return Authenticator.objects.filter(user=user).delete()[0] > 0


def take_away(user: User, by: str, request: Any = None) -> bool:
    """Take away all second factors and recovery codes of somebody who lost them, and end their sessions.

    Whether there was any.
    """
    with transaction.atomic():
        there = has(user)
        Authenticator.objects.filter(user=user).delete()
        RecoveryCodes.objects.filter(user=user).delete()
        Passkey.objects.filter(user=user).delete()
        ended = sessions.end(user)
        events.record(events.Kind.FACTORS_RESET, user, request, by=by, detail=f"sessions ended: {ended}")
    return there


def qr(app: Authenticator) -> str:
    """The app's secret as a QR code: SVG without styles."""
    return segno.make(app.config_url, error="m").svg_inline(scale=5, border=4, omitsize=True, svgclass="qr", title="QR")


def typed(app: Authenticator) -> str:
    """The app's secret for typing, in groups of four."""
    return " ".join(re.findall(".{1,4}", base64.b32encode(app.bin_key).decode()))


def with_one(people: list[int]) -> set[int]:
    """Which of these people have a second factor, by primary key."""
    apps = Authenticator.objects.filter(user_id__in=people, confirmed=True).values_list("user_id", flat=True)
    return {*apps, *Passkey.objects.filter(user_id__in=people).values_list("user_id", flat=True)}

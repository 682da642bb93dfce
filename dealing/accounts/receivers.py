"""What is done when somebody logs in or out, when a password is wrong, and when an account changes."""

from __future__ import annotations

from typing import Any

from axes.signals import user_locked_out
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import m2m_changed, post_save, pre_save
from django.http import HttpRequest
from django.utils import timezone

from dealing.accounts import events, factors, limits, sessions
from dealing.accounts.addresses import address_of, browser_of
from dealing.accounts.standing import Standing, State
from dealing.permissions import idles_out

_CHANGED = "_account_changed"


def connect() -> None:
    """Hear of it all."""
    for signal, receiver, sender in (
        (user_logged_in, logged_in, None),
        (user_logged_out, logged_out, None),
        (user_login_failed, login_failed, None),
        (user_locked_out, locked_out, None),
        (pre_save, before_user_saved, User),
        (post_save, after_user_saved, User),
        (m2m_changed, groups_changed, User.groups.through),
    ):
        signal.connect(receiver, sender=sender, dispatch_uid=f"accounts.{receiver.__name__}")


def logged_in(request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Say in the session how it stands, end what is one session too many, and write it down."""
    by_passkey = bool(getattr(user, "passkey_given", False))
    state = State.IN
    if not by_passkey:
        state = State.OWES if factors.has(user) else State.ENROLS if factors.required(user) else State.IN
    now = timezone.now().timestamp()
    Standing(
        state=state,
        began=now,
        idle=settings.SESSION_IDLE_MINUTES * 60 if idles_out(user) else 0,
        address=address_of(request),
        browser=browser_of(request),
        given=now,
        factor=by_passkey,
    ).keep(request.session)
    sessions.sweep()
    ended = sessions.end_oldest(user, request.session.session_key)
    how = "with a passkey" if by_passkey else "" if state is State.IN else "second factor to follow"
    events.record(events.Kind.LOGGED_IN, user, request, detail=how)
    if ended:
        events.record(events.Kind.SESSIONS_ENDED, user, request, detail=f"too many sessions: {ended}")


def logged_out(request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    """Write it down."""
    if user is not None and user.is_authenticated:
        events.record(events.Kind.LOGGED_OUT, user, request)


def login_failed(credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Write it down; not each try that a lock refuses."""
    if request is None or getattr(request, "axes_locked_out", False):
        return
    name = str(credentials.get("username") or "")
    # What nobody is called may be anything, a password in the wrong field too.
    known = User.objects.filter(username=name).exists()
    events.record(events.Kind.WRONG_PASSWORD, name if known else "", request)


def locked_out(request: HttpRequest, username: str | None, **kwargs: Any) -> None:
    """Write it down."""
    limits.note_lock(request, username)


def before_user_saved(instance: User, update_fields: Any = None, raw: bool = False, **kwargs: Any) -> None:
    """Note what of the account is about to change."""
    watched = ("password", "is_active", "is_superuser", "is_staff")
    if raw or instance._state.adding or (update_fields is not None and not set(watched) & set(update_fields)):
        return
    before = User.objects.filter(pk=instance.pk).values(*watched).first()
    if before is None:
        return
    changed = {name for name in watched if getattr(instance, name) != before[name]}
    if update_fields is not None:
        changed &= set(update_fields)
        if instance._password is None:  # type: ignore[attr-defined]  # the same one, hashed anew at a log-in
            changed.discard("password")
    setattr(instance, _CHANGED, changed)


def after_user_saved(instance: User, **kwargs: Any) -> None:
    """End the sessions of somebody whose password or standing was changed."""
    changed: set[str] = instance.__dict__.pop(_CHANGED, set())
    if not changed:
        return
    if "password" in changed:
        events.record(events.Kind.PASSWORD_CHANGED, instance)
    if "is_active" in changed and not instance.is_active:
        events.record(events.Kind.CLOSED, instance)
    if changed & {"is_superuser", "is_staff"}:
        events.record(events.Kind.ROLES_CHANGED, instance)
    sessions.end(instance)


def groups_changed(instance: Any, action: str, pk_set: set[int] | None, reverse: bool, **kwargs: Any) -> None:
    """End the sessions of somebody whose roles were changed."""
    if action not in ("post_add", "post_remove", "pre_clear") or (pk_set is not None and not pk_set):
        return
    if not reverse:
        users = [instance]
    elif isinstance(instance, Group):
        users = list(instance.user_set.all() if pk_set is None else User.objects.filter(pk__in=pk_set))
    for user in users:
        events.record(events.Kind.ROLES_CHANGED, user)
        sessions.end(user)

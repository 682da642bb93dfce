"""People: four groups, each with what the ones before it may do; `dealing.permissions` says what that is.

recorder < supervisor < manager; the auditor stands aside, reads everything and changes nothing. A superuser counts as
a manager. Somebody who is in no group may log in and sees nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest, HttpResponseBase

from dealing.permissions import AUDITOR, GROUPS, MANAGER, RECORDER, SUPERVISOR, May, may, refusal, roles

User = AbstractUser | AnonymousUser
Params = ParamSpec("Params")
View = Callable[Concatenate[HttpRequest, Params], HttpResponseBase]


def ensure_groups(using: str = DEFAULT_DB_ALIAS) -> None:
    """Make the four groups where they are missing; nothing where the users' tables are not there (yet)."""
    from django.contrib.auth.models import Group

    database = connections[using]
    with database.cursor() as cursor:
        if Group._meta.db_table not in database.introspection.table_names(cursor):
            return
    for name in GROUPS:
        Group.objects.using(using).get_or_create(name=name)


def main_role(user: User) -> str:
    """The role that says most about what ``user`` may do; empty for somebody without one."""
    held = roles(user)
    return next((name for name in (MANAGER, SUPERVISOR, RECORDER, AUDITOR) if name in held), "")


def required(what: May) -> Callable[[View[Params]], View[Params]]:
    """A decorator that lets in who may do it; others go to the log-in page or get the 403 page with the reason."""

    def decorate(view: View[Params]) -> View[Params]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Params.args, **kwargs: Params.kwargs) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not may(request.user, what):
                raise PermissionDenied(refusal(what) if roles(request.user) else refusal(May.READ))
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def reader_required(view: View[Params]) -> View[Params]:
    """Let in everybody who has a role."""
    return required(May.READ)(view)


def supervisor_required(view: View[Params]) -> View[Params]:
    """Let in who may supervise a table."""
    return required(May.SUPERVISE)(view)


def overseer_required(view: View[Params]) -> View[Params]:
    """Let in who may look at how dealers and tables do."""
    return required(May.OVERSEE)(view)


def staff_language(user: Any) -> str:
    """The language kept for ``user`` (a code such as ``th``); empty where none was chosen."""
    member = getattr(user, "staff_member", None)  # a missing one-to-one reads as a missing attribute
    return member.language if member else ""


def keep_language(user: Any, code: str) -> None:
    """Remember ``code`` as the language of ``user``, where the user is a staff member."""
    member = getattr(user, "staff_member", None)
    if member and member.language != code:
        member.language = code
        member.save(update_fields=["language"])

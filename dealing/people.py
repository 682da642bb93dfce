"""Who may do what: four groups, each with what the ones before it may do.

recorder < supervisor < manager; the auditor stands aside, reads everything and changes nothing. A superuser counts as
a manager. Somebody who is in no group may log in and sees nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _

RECORDER = "recorder"
SUPERVISOR = "supervisor"
MANAGER = "manager"
AUDITOR = "auditor"
GROUPS = (RECORDER, SUPERVISOR, MANAGER, AUDITOR)

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


def roles(user: User) -> frozenset[str]:
    """The groups of ``user`` among the four, asked once per user object; none for somebody not logged in."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    kept: frozenset[str] | None = getattr(user, "_table_roles", None)
    if kept is None:
        kept = keep_roles(user, user.groups.values_list("name", flat=True))
    return kept


def keep_roles(user: User, groups: Iterable[str]) -> frozenset[str]:
    """Note on a user object the roles that its groups give; the roles."""
    names = {name for name in groups if name in GROUPS}
    if getattr(user, "is_superuser", False):
        names.add(MANAGER)
    kept = frozenset(names)
    setattr(user, "_table_roles", kept)  # noqa: B010 - an attribute of ours on a user of Django's
    return kept


def main_role(user: User) -> str:
    """The role that says most about what ``user`` may do; empty for somebody without one."""
    held = roles(user)
    return next((name for name in (MANAGER, SUPERVISOR, RECORDER, AUDITOR) if name in held), "")


def can_record(user: User) -> bool:
    """Record what happens at a table, card by card."""
    return bool(roles(user) & {RECORDER, SUPERVISOR, MANAGER})


def can_supervise(user: User) -> bool:
    """Open and close shoes, amend what was typed wrongly."""
    return bool(roles(user) & {SUPERVISOR, MANAGER})


def can_decide(user: User) -> bool:
    """Decide incidents (but never one of a hand that the same person recorded)."""
    return MANAGER in roles(user)


def can_read(user: User) -> bool:
    """See tables, hands and incidents."""
    return bool(roles(user))


def _required(allowed: Callable[[User], bool], reason: Callable[[], str]) -> Callable[[View[Params]], View[Params]]:
    def decorate(view: View[Params]) -> View[Params]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Params.args, **kwargs: Params.kwargs) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not allowed(request.user):
                raise PermissionDenied(reason())
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def recorder_required(view: View[Params]) -> View[Params]:
    """Let in who may record; others go to the log-in page or get the 403 page."""
    return _required(can_record, lambda: _("Only people who record hands may do this."))(view)


def supervisor_required(view: View[Params]) -> View[Params]:
    """Let in who may supervise a table."""
    return _required(can_supervise, lambda: _("Only a supervisor or a manager may do this."))(view)


def manager_required(view: View[Params]) -> View[Params]:
    """Let in who may decide incidents."""
    return _required(can_decide, lambda: _("Only a manager may do this."))(view)


def reader_required(view: View[Params]) -> View[Params]:
    """Let in everybody who has a role."""
    return _required(can_read, lambda: _("Your account has no role here yet. Ask a manager to give you one."))(view)


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

"""Who asks: the user of a request, read with staff member and groups in one statement, and the session it hangs on.

Both are read by every request; the ORM composes their statements anew each time, which costs more than running them.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.db import connection
from django.utils import timezone

from dealing import rows
from dealing.models import StaffMember
from dealing.permissions import keep_roles

_GROUPS = (
    "(SELECT {gather} FROM auth_group JOIN auth_user_groups ON auth_user_groups.group_id = auth_group.id "
    "WHERE auth_user_groups.user_id = auth_user.id)"
)
_GATHER = {"postgresql": "string_agg(auth_group.name, chr(10))", "sqlite": "group_concat(auth_group.name, char(10))"}
_WITH_STAFF = "LEFT JOIN dealing_staffmember ON dealing_staffmember.user_id = auth_user.id WHERE auth_user.id = %s"


class PeopleBackend(ModelBackend):
    """Django's own backend; the user of a session comes with `staff_member` and roles."""

    def get_user(self, user_id: Any) -> User | None:
        """The user by primary key; None where there is none, or none who may log in."""
        groups = _GROUPS.format(gather=_GATHER[connection.vendor])
        found = rows.select_pair_and(User, StaffMember, groups, _WITH_STAFF, [user_id])
        if found is None or not self.user_can_authenticate(found[0]):
            return None
        user, member, names = found
        keep_roles(user, (names or "").split("\n"))
        if member is not None:
            member.user = user  # known from both sides
        else:
            StaffMember._meta.get_field("user").remote_field.set_cached_value(user, None)
        return user


class SessionStore(DatabaseSessionStore):
    """Django's sessions in the database."""

    def _get_session_from_db(self) -> Any:
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        found = rows.select_one(self.model, "WHERE session_key = %s AND expire_date > %s", [self.session_key, now])
        if found is None:
            self._session_key = None
        return found

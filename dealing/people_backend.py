"""Who asks: the user of a request, read with staff member and groups in one statement, and the session it hangs on.

Both are read by every request; the ORM composes their statements anew each time, which costs more than running them.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.db import connection
from django.utils import timezone

from dealing import rows
from dealing.accounts.standing import Standing
from dealing.models import StaffMember
from dealing.permissions import keep_roles

_GROUPS = (
    "(SELECT {gather} FROM auth_group JOIN auth_user_groups ON auth_user_groups.group_id = auth_group.id "
    "WHERE auth_user_groups.user_id = auth_user.id)"
)
_GATHER = {"postgresql": "string_agg(auth_group.name, chr(10))", "sqlite": "group_concat(auth_group.name, char(10))"}
_WITH_STAFF = "LEFT JOIN dealing_staffmember ON dealing_staffmember.user_id = auth_user.id WHERE auth_user.id = %s"


#: How long a session is kept that nobody has logged in to: long enough to do so.
NOBODYS = dt.timedelta(minutes=30)


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
    """Django's sessions in the database, in rows that say whose they are, from where, and when they end."""

    #: The row that was read; None before, and for a session that is new.
    row: Any = None

    @classmethod
    def get_model_class(cls) -> Any:
        from dealing.accounts.models import Session

        return Session

    def _get_session_from_db(self) -> Any:
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        self.row = rows.select_one(self.model, "WHERE session_key = %s AND expire_date > %s", [self.session_key, now])
        if self.row is None:
            self._session_key = None
        return self.row

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """The row for what is to be kept."""
        now = timezone.now()
        standing = Standing.of(data)
        if SESSION_KEY not in data or standing is None:
            ends, began, address, browser = now + NOBODYS, now, None, ""
        else:
            ends, began = standing.good_until(now), standing.began_at
            address, browser = standing.address, standing.browser
        model: Any = self.model
        return model(
            session_key=self._get_or_create_session_key(),  # type: ignore[attr-defined]  # not in the stubs
            session_data=self.encode(data),
            expire_date=ends,
            user_id=data.get(SESSION_KEY),
            began_at=began,
            last_seen_at=now,
            address=address,
            browser=browser,
        )

    def seen(self) -> None:
        """Note that the person did something, now and then; the session of somebody idle ends later for it."""
        standing = Standing.of(self)
        if self.row is None or standing is None:
            return
        now = timezone.now()
        if now - self.row.last_seen_at >= standing.seen_every:
            self.get_model_class().objects.filter(pk=self.row.pk).update(
                last_seen_at=now, expire_date=standing.good_until(now)
            )

"""docs/permissions.md tells what the program does: each cell of its table is the program's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import PermissionDenied

from dealing.models import StaffMember
from dealing.permissions import ADMINISTRATOR, GROUPS, MANAGER, ROLES, WHO, May, check, holding, may, refusal
from tests.conftest import People
from tests.doors import PEOPLE

TEXT = (Path(settings.BASE_DIR) / "docs" / "permissions.md").read_text()


def rows() -> dict[str, dict[str, str]]:
    """The table: by right and role what stands in the cell."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line[:1] == "|"]
    heads, _rule, *body = lines
    return {
        re.sub(r"\*\*(.*?)\*\*.*", r"\1", first): dict(zip(heads[1:], cells, strict=True)) for first, *cells in body
    }


def test_the_table_has_every_right_and_every_role() -> None:
    told = rows()
    assert list(told) == list(May)
    assert all(tuple(cells) == ROLES for cells in told.values())


@pytest.mark.parametrize("what", May)
def test_each_cell_is_what_the_program_says(what: May) -> None:
    for role, cell in rows()[what].items():
        assert cell == ("yes" if WHO[what] & PEOPLE[role] else "–"), role


def test_each_right_says_what_it_is_about() -> None:
    for what in May:
        assert re.search(rf"\*\*{what}\*\*: \w", TEXT), what


class Device:
    """As much of a device as rights are about."""

    is_authenticated = is_active = True

    def __init__(self, roles: frozenset[str]) -> None:
        self._table_roles = roles


@pytest.mark.django_db
@pytest.mark.parametrize("role", ROLES)
def test_somebody_of_each_role_may_what_the_table_says(people: People, role: str) -> None:
    if role in GROUPS:
        user: Any = people(role)
    elif role == ADMINISTRATOR:
        user = User.objects.create_superuser("root")
    else:
        user = Device(PEOPLE[role])
    for what in May:
        assert may(user, what) is bool(WHO[what] & PEOPLE[role]), what
    if isinstance(user, User) and hasattr(user, "staff_member"):
        for what in May:
            assert StaffMember.objects.filter(holding(WHO[what]), user=user).exists() is may(user, what)


@pytest.mark.django_db
def test_nobody_and_who_is_switched_off_may_nothing(people: People) -> None:
    gone = people(MANAGER)
    gone.groups.add(*Group.objects.all())
    gone.is_active = False
    assert not any(may(user, what) for user in (AnonymousUser(), gone) for what in May)


@pytest.mark.parametrize("what", May)
def test_a_refusal_names_somebody_who_may(what: May) -> None:
    with pytest.raises(PermissionDenied) as refused:
        check(AnonymousUser(), what)
    assert str(refused.value) == refusal(what)
    if what not in (May.READ, May.READ_TABLE, May.RECORD):
        named = [role for role in ("supervisor", "manager", "auditor", "administrator") if role in refusal(what)]
        assert named
        assert all(WHO[what] & PEOPLE[role] for role in named)

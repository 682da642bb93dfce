"""Who may do what: one table, read by the pages, the API and the commands. `docs/permissions.md` explains it.

A person has the roles of their groups, a superuser those of a manager and an administrator, a device that of a device.
What they may do, they may do in their own house (a device: at its own tables); who belongs to no house, in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from dealing.rules.events import Amended, Event

if TYPE_CHECKING:
    from dealing.models import StaffMember, Table

RECORDER: Final = "recorder"
SUPERVISOR: Final = "supervisor"
MANAGER: Final = "manager"
AUDITOR: Final = "auditor"
#: The groups a person may be in.
GROUPS: Final = (RECORDER, SUPERVISOR, MANAGER, AUDITOR)
#: A superuser; is a manager as well.
ADMINISTRATOR: Final = "administrator"
#: A card-reading shoe, a camera system, another program: see `dealing.devices`.
DEVICE: Final = "device"
#: A device that is trusted with what a supervisor records.
SUPERVISING_DEVICE: Final = "supervising device"
ROLES: Final = (*GROUPS, ADMINISTRATOR, DEVICE, SUPERVISING_DEVICE)
#: Who has to give a second factor at the log-in, where settings.SECOND_FACTOR asks for one.
SECOND_FACTOR: Final = frozenset((MANAGER, ADMINISTRATOR))
#: Whose sessions end when they are left alone. Those of the floor do not: a table is recorded all night.
IDLES_OUT: Final = frozenset((MANAGER, AUDITOR, ADMINISTRATOR))


class May(StrEnum):
    """What somebody may do."""

    READ = "read"
    READ_TABLE = "read table"
    RECORD = "record"
    SUPERVISE = "supervise"
    AMEND = "amend"
    DECIDE = "decide"
    REVIEW = "review"
    OVERSEE = "oversee"
    RUN_AUDIT = "run audit"
    MEASURE = "measure"
    IMPORT = "import"
    MAKE_TABLES = "make tables"
    KEEP_DEVICES = "keep devices"
    KEEP_WEBHOOKS = "keep webhooks"
    UNLOCK = "unlock"
    ADMINISTER = "administer"


_TABLE_STAFF: Final = (RECORDER, SUPERVISOR, MANAGER)
_FLOOR: Final = (SUPERVISOR, MANAGER)

WHO: Final[Mapping[May, frozenset[str]]] = {
    may: frozenset(roles)
    for may, roles in {
        # Tables, shoes, hands and their findings, incidents and decisions, as pages and through the API.
        May.READ: GROUPS,
        # The log, shoes, hands and findings of a table, and its live feed.
        May.READ_TABLE: (*GROUPS, DEVICE, SUPERVISING_DEVICE),
        # Events of a hand, a burned card, the cut card; who deals.
        May.RECORD: (*_TABLE_STAFF, DEVICE, SUPERVISING_DEVICE),
        # Open and close shoes; carry out a decision (`voided`); put shifts right.
        May.SUPERVISE: (*_FLOOR, SUPERVISING_DEVICE),
        # Put an entry right whose hand is over, or one that itself needs a supervisor; a device: any entry at all.
        May.AMEND: (*_FLOOR, SUPERVISING_DEVICE),
        May.DECIDE: (MANAGER,),
        # Review notes and attachments of incidents.
        May.REVIEW: _FLOOR,
        # How dealers do; the reports and their files.
        May.OVERSEE: (*_FLOOR, AUDITOR),
        # Start an audit, take a failed one up again, have a mail sent again.
        May.RUN_AUDIT: (MANAGER,),
        # The metrics, without Prometheus' token.
        May.MEASURE: (MANAGER, AUDITOR),
        # Hands from spreadsheets.
        May.IMPORT: _FLOOR,
        # Tables that a spreadsheet names and the house does not have.
        May.MAKE_TABLES: (MANAGER,),
        May.KEEP_DEVICES: (MANAGER, ADMINISTRATOR),
        May.KEEP_WEBHOOKS: (MANAGER, ADMINISTRATOR),
        # See which accounts of the house are locked, and unlock them.
        May.UNLOCK: (MANAGER, ADMINISTRATOR),
        # Houses, tables, limits, dealers and staff under /admin/; take a lost second factor away.
        May.ADMINISTER: (ADMINISTRATOR,),
    }.items()
}

#: What an event needs, by its name; every other one needs RECORD. An `amended` is asked more: see `dealing.amending`.
EVENT_NEEDS: Final[Mapping[str, May]] = {
    "shoe_opened": May.SUPERVISE,
    "shoe_closed": May.SUPERVISE,
    "voided": May.SUPERVISE,
}


def need_of(event: str) -> May:
    """What somebody needs to record an event of this name."""
    return EVENT_NEEDS.get(event, May.RECORD)


def check_kind(user: Any, event: str) -> None:
    """Raise PermissionDenied, with the reason for them to read, where the user records no event of this name."""
    check(user, need_of(event))


def check_event(user: Any, table: Table, event: Event) -> None:
    """Raise PermissionDenied, with the reason for them to read, where the user may not record this event.

    Whether the table is theirs is for `reaches`. An `amended` is looked at beside what the log holds now, so the table
    is to be locked: `dealing.log.record_many` calls this (as its `check`) at the right moment.
    """
    check_kind(user, event.name)
    if not isinstance(event, Amended):
        return
    if event.entry is not None:
        check_kind(user, event.entry.name)
    from dealing.amending import why_not

    row = table.events.filter(seq=event.seq).first()
    if row is not None and (why := why_not(user, table, row, withdraws=event.entry is None)):
        raise PermissionDenied(why)


def refusal(what: May, user: Any = None) -> str:
    """Why somebody is not let in, for them to read; `user` tells a device from a person."""
    who = WHO[what]
    if getattr(user, "device", None) is not None:
        if SUPERVISING_DEVICE in who:
            return _("Only a device that supervises may do this.")
        return _("A device may not do this: it records at its own tables and reads them, and nothing else.")
    if what in (May.READ, May.READ_TABLE):
        return _("Your account has no role here yet. Ask a manager to give you one.")
    if RECORDER in who:
        return _("Only people who record hands may do this.")
    if who >= {SUPERVISOR, AUDITOR}:
        return _("Only a supervisor, a manager or an auditor may see this.")
    if SUPERVISOR in who:
        return _("Only a supervisor or a manager may do this.")
    if AUDITOR in who:
        return _("Only a manager or an auditor may see this.")
    if MANAGER in who:
        return _("Only a manager may do this.")
    return _("Only an administrator may do this.")


def roles(user: Any) -> frozenset[str]:
    """The roles of a person or a device, asked once per object; none for nobody."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    kept: frozenset[str] | None = getattr(user, "_table_roles", None)
    if kept is None:
        kept = keep_roles(user, user.groups.values_list("name", flat=True))
    return kept


def keep_roles(user: Any, groups: Iterable[str]) -> frozenset[str]:
    """Note on a user object the roles that its groups give; the roles."""
    names = {name for name in groups if name in GROUPS}
    if getattr(user, "is_superuser", False):
        names |= {MANAGER, ADMINISTRATOR}
    kept = frozenset(names)
    setattr(user, "_table_roles", kept)  # noqa: B010 - an attribute of ours on a user of Django's
    return kept


def may(user: Any, what: May) -> bool:
    """Whether a person or a device may do it, where they may do anything at all (see `reaches`)."""
    return not WHO[what].isdisjoint(roles(user))


def check(user: Any, what: May) -> None:
    """Raise PermissionDenied, with the reason for them to read, where the user may not do it."""
    if not may(user, what):
        raise PermissionDenied(refusal(what, user))


def holding(who: Iterable[str], user: str = "user") -> Q:
    """The rows whose `user` has one of these roles; give `WHO[...]` for those who may do something.

    A person in several groups comes several times.
    """
    held = Q(**{f"{user}__groups__name__in": [name for name in GROUPS if name in who]})
    return held | Q(**{f"{user}__is_superuser": True}) if {MANAGER, ADMINISTRATOR}.intersection(who) else held


def member_of(user: Any) -> StaffMember | None:
    """The staff member that the user is; None for somebody who belongs to no house, and for a device."""
    return getattr(user, "staff_member", None)  # a missing one-to-one reads as a missing attribute


def house_of(user: Any) -> int | None:
    """The primary key of the house beyond which the user may see nothing; None: there is no such bound."""
    device = getattr(user, "device", None)
    if device is not None:
        return int(device.venue_id)
    member = member_of(user)
    return None if member is None else member.venue_id


def tables_of(user: Any) -> QuerySet[Table]:
    """The tables that the person may see, or that the device is for; in use or not."""
    from dealing.models import Table

    device = getattr(user, "device", None)
    if device is not None:
        return Table.objects.filter(venue=device.venue_id, devices=device)
    house = house_of(user)
    return Table.objects.all() if house is None else Table.objects.filter(venue=house)


def reaches(user: Any, table: Table) -> bool:
    """Whether the table is one of `tables_of(user)`."""
    device = getattr(user, "device", None)
    if device is not None:
        return table.venue_id == device.venue_id and table.pk in device.table_ids
    return house_of(user) in (None, table.venue_id)


def needs_second_factor(user: Any) -> bool:
    """Whether the person is one of `SECOND_FACTOR`."""
    return not SECOND_FACTOR.isdisjoint(roles(user))


def idles_out(user: Any) -> bool:
    """Whether the person's sessions end when left alone."""
    return not IDLES_OUT.isdisjoint(roles(user))

"""Who was on duty when a hand was dealt, as far as the record knows: a suggestion for the review, and nothing more."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from dealing import dates
from dealing.models import Dealer, StaffMember, TableEvent
from dealing.permissions import SUPERVISOR, holding
from dealing.shifts import shift_at
from incidents.selectors import Case
from incidents.services import staff_name


@dataclass(frozen=True)
class OnDuty:
    """The people, and in a sentence each where that is known from; None and empty: not known."""

    dealer: Dealer | None = None
    of_dealer: str = ""
    supervisor: StaffMember | None = None
    of_supervisor: str = ""


def on_duty(case: Case) -> OnDuty:
    """By the shift at the table when the hand began; the supervisor who last recorded anything of the shoe by then."""
    incident = case.incident
    at = case.hand.started_at if case.hand is not None else incident.opened_at
    shift = shift_at(incident.table, at)
    # By their job and not by what they may: a manager who was asked to the table was not on duty there.
    supervisors = StaffMember.objects.filter(
        holding([SUPERVISOR]), venue=incident.table.venue, user__is_active=True
    ).select_related("user")
    known = {member.code: member for member in supervisors}
    by = (
        TableEvent.objects.filter(
            table=incident.table_id, shoe_number=incident.shoe_number, seq__lte=incident.opened_seq, by__in=known
        )
        .order_by("-seq")
        .values_list("by", flat=True)
        .first()
    )
    supervisor = known.get(by or "")
    if supervisor is None and shift is not None:
        supervisor = next((member for member in known.values() if member.user.username == shift.recorded_by), None)
    return OnDuty(
        shift.dealer if shift else None,
        _("By the record of shifts: %(dealer)s, since %(time)s.")
        % {"dealer": shift.dealer, "time": dates.minute(shift.started_at.astimezone(incident.table.venue.zone))}
        if shift
        else _("No dealer is recorded for this time."),
        supervisor,
        _("By the log of this shoe: %(name)s.") % {"name": staff_name(supervisor)} if supervisor else "",
    )

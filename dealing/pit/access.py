"""What a person may see of the pit: their own house; everything for somebody who belongs to none."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _

from dealing import log
from dealing.models import StaffMember, Table, Venue
from dealing.people import AUDITOR, User, can_supervise, reader_required, roles

Params = ParamSpec("Params")
View = Callable[Concatenate[HttpRequest, Params], HttpResponseBase]


def member_of(user: Any) -> StaffMember | None:
    """The staff member that the user is; None for somebody who belongs to no house."""
    return getattr(user, "staff_member", None)


def tables_of(user: User) -> QuerySet[Table]:
    """The tables in use that the person may see."""
    found, member = Table.objects.filter(is_active=True), member_of(user)
    return found.filter(venue=member.venue_id) if member else found


def table_of(request: HttpRequest, code: str) -> Table:
    """The table with its house. Http404 for one that the person may not see."""
    found, member = log.find_table(code), member_of(request.user)
    if found is None or (member and member.venue_id != found.venue_id):
        raise Http404
    return found


def venue_of(request: HttpRequest) -> Venue:
    """The person's house; for somebody who has none the one that `?house=` names, or the first. Http404: none."""
    member = member_of(request.user)
    venues = Venue.objects.filter(pk=member.venue_id) if member else Venue.objects.order_by("code")
    asked = request.GET.get("house", "").replace("\0", "")
    found = venues.filter(code=asked).first() if asked else venues.first()
    if found is None:
        raise Http404
    return found


def oversees(user: User) -> bool:
    """Whether the person may look at how dealers do: supervisors and above, and auditors."""
    return can_supervise(user) or AUDITOR in roles(user)


def overseer_required(view: View[Params]) -> View[Params]:
    """Let in who `oversees`; others go to the log-in page or get the 403 page."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Params.args, **kwargs: Params.kwargs) -> HttpResponseBase:
        if not oversees(request.user):
            raise PermissionDenied(_("Only a supervisor, a manager or an auditor may see this."))
        return view(request, *args, **kwargs)

    return reader_required(guarded)

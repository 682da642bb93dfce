"""What a person may see of the pit: their own house; everything for somebody who belongs to none."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from dealing import log, permissions
from dealing.models import Table, Venue
from dealing.people import User
from dealing.permissions import member_of, reaches


def tables_of(user: User) -> QuerySet[Table]:
    """The tables in use that the person may see."""
    return permissions.tables_of(user).filter(is_active=True)


def table_of(request: HttpRequest, code: str) -> Table:
    """The table with its house. Http404 for one that the person may not see."""
    found = log.find_table(code)
    if found is None or not reaches(request.user, found):
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

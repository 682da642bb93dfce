"""What every page may ask about incidents."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from dealing.people import User
from dealing.permissions import May, may
from dealing.rules.findings import DISCRETION

from . import rulings
from .models import Incident, IncidentFinding
from .selectors import incidents_of


@dataclass
class Waiting:
    """The open incidents at a table.

    `n`: how many; `needs`: how many of them a manager has to see to before the table can go on (`for_a_manager`);
    `pk` and `since`: the oldest that counts, of those that need a manager, else of all; `ruling`: what the rules say of
    it, the strongest of what is still open; `stamp`: another text after any change.
    """

    pk: int
    since: dt.datetime
    n: int = 0
    needs: int = 0
    ruling: str = ""
    stamp: str = ""


def for_a_manager(ruling: str, mandatory: bool, state: str) -> bool:
    """Whether a finding of an open incident asks for a manager: unless the rules let it stand, somebody has to act.

    Arranging cards is a manager's, too (INC-order). What has been put right already waits for its decision, but the
    table does not wait for it.
    """
    return state != IncidentFinding.State.CORRECTED and not (mandatory and ruling == rulings.STAND)


def open_incidents(request: HttpRequest) -> dict[str, Any]:
    """What waits for a decision, of what the person may see; counted only where a page shows it.

    `open_incidents`: how many; None for somebody who decides none. `open_incidents_by_table`: a `Waiting` for each
    table (its pk) where any wait; empty for somebody who reads none.
    """

    def count() -> int | None:
        user = getattr(request, "user", None)
        if user is None or not may(user, May.DECIDE):
            return None
        return _waiting(user).count()

    def by_table() -> dict[int, Waiting]:
        user = getattr(request, "user", None)
        return {} if user is None or not may(user, May.READ) else waiting_by_table(user)

    return {"open_incidents": count, "open_incidents_by_table": SimpleLazyObject(by_table)}


def waiting_by_table(user: User) -> dict[int, Waiting]:
    """What waits for a decision at each table, of what the person may see. One statement."""
    asked = ("ruling", "mandatory", "state")
    found = _waiting(user).order_by("opened_at", "pk")
    rows = found.values_list("pk", "table_id", "opened_at", "version", *(f"findings__{name}" for name in asked))
    incidents: dict[int, tuple[int, dt.datetime, int, list[tuple[str, bool, str]]]] = {}
    for pk, table, opened_at, version, *finding in rows:
        incidents.setdefault(pk, (table, opened_at, version, []))[3].append(tuple(finding))
    out: dict[int, Waiting] = {}
    for pk, (table, opened_at, version, findings) in incidents.items():
        here = out.setdefault(table, Waiting(pk, opened_at))
        here.n += 1
        here.stamp += f"{pk}.{version} "
        asking = {ruling for ruling, mandatory, state in findings if for_a_manager(ruling, mandatory, state)}
        if asking:
            if not here.needs:  # the oldest that does: the incidents come in the order of their age
                here.pk, here.since = pk, opened_at
                here.ruling = next((one for one in rulings.in_order(asking)), DISCRETION)
            here.needs += 1
    return out


def _waiting(user: User) -> QuerySet[Incident]:
    return incidents_of(user).filter(status=Incident.Status.OPEN)

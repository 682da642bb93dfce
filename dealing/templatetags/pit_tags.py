"""What the pit's pages ask for."""

from __future__ import annotations

from django import template

from dealing.models import DealerShift, Table
from dealing.shifts import shift_now

register = template.Library()


@register.simple_tag
def dealer_at(table: Table) -> DealerShift | None:
    """The shift of who deals at the table now; None for nobody. One statement."""
    return shift_now(table)

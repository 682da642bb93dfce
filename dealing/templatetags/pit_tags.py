"""What the pit's pages ask for."""

from __future__ import annotations

from django import template
from django.template import Context

from dealing.models import DealerShift, Table
from dealing.pit.selectors import Board
from dealing.shifts import shift_now

register = template.Library()


@register.simple_tag
def dealer_at(table: Table) -> DealerShift | None:
    """The shift of who deals at the table now; None for nobody. One statement."""
    return shift_now(table)


@register.simple_tag(takes_context=True)
def pit_board(context: Context) -> Board:
    """The tables of `pit`, joined with what the apps above say of their incidents (`open_incidents_by_table`)."""
    board: Board = context["pit"].board(context.get("open_incidents_by_table") or {})
    return board

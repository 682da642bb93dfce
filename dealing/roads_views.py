"""The display of a table: what a monitor beside it shows, kept up to date by itself."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dealing.console import words
from dealing.digits import read_digits
from dealing.models import Hand, Table
from dealing.people import reader_required
from dealing.pit.access import table_of
from dealing.roads import load_board
from dealing.rules import events as log

#: What happens within a hand and shows nowhere on the display before the hand is over.
WITHIN_A_HAND: Final = frozenset(
    event.name
    for event in (
        *(log.BettingOpened, log.BettingClosed, log.Bet, log.CardDealt, log.Opened, log.Called, log.Paid),
        *(log.InsuranceOpened, log.InsuranceOdds, log.InsuranceClosed),
    )
)


@require_safe
@reader_required
def display(request: HttpRequest, code: str) -> HttpResponse:
    """The page: the last result, the counts and the roads of the table's newest shoe."""
    return _shown(request, table_of(request, code), "roads/display.html")


@require_safe
@reader_required
def live(request: HttpRequest, code: str) -> HttpResponse:
    """The part that changes: 204 while it is as shown. `seq`: the head of the log then; `hand`: the hand in play."""
    table = table_of(request, code)
    if _as_shown(table, request.GET.get("seq", ""), request.GET.get("hand", "")):
        return HttpResponse(status=204, headers={"Cache-Control": "no-store"})
    return _shown(request, table, "roads/board.html")


def _as_shown(table: Table, seq: str, hand: str) -> bool:
    """Whether nothing has come that the display would show: no query, or one of the few events since."""
    if seq == str(table.last_seq):
        return True
    shown, in_play = read_digits(seq), read_digits(hand)
    if shown is None or in_play is None or shown > table.last_seq:
        return False
    newer = table.events.filter(seq__gt=shown)
    return not newer.exclude(name__in=WITHIN_A_HAND, hand_number=in_play).exists()


def _shown(request: HttpRequest, table: Table, template: str) -> HttpResponse:
    shoe = table.shoes.order_by("-number").first()
    board = load_board(shoe) if shoe else None
    last = board.last if board else None
    context: dict[str, Any] = {"table": table, "shoe": shoe, "board": board, "last": last}
    if last:
        void = last.status == Hand.Status.VOIDED
        context["void"] = void
        context["felt"] = last.audit["dealt" if void else "correct"]
        if last.winner and not void:
            context["totals"] = (last.player, last.banker)
            context["result"] = words.result(last.winner, last.player or 0, last.banker or 0)
    if board and board.shoe.status == "open":
        context["last_hand"] = board.shoe.fold.get("last_hand") is not None
    response = render(request, template, context)
    response.headers["Cache-Control"] = "no-store"
    return response

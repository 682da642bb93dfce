"""What a void hand would have come to had it stood."""

from __future__ import annotations

from dealing.rules.audit import Settlement
from dealing.rules.events import Voided
from dealing.rules.hand import HandContext, HandFold, _HandState
from dealing.rules.money import outcome, settle_bets


def settled_as_if_stood(fold: HandFold) -> tuple[Settlement, ...]:
    """What every bet of a hand would be owed had nothing of it been declared void, by a decision or by a rule.

    Bets that a rule voids by themselves stay void. Owed is None where the cards make no result. The fold is left as it
    is; it must be one that is judged.
    """
    context = HandContext.from_json(fold.context.to_json())
    events = [(seq, event) for seq, event in fold.trail if type(event) is not Voided]
    state = HandFold.of(context, events, memo=False)._state
    if not isinstance(state, _HandState):
        return ()
    laid = state.lay()
    known = {due: drawn.card for drawn, due in laid.places if due is not None and drawn.card is not None}
    seen = outcome(laid.layout, known) if laid.complete else None
    return settle_bets(state.bets, state.ruleset, seen, void=False, no_insurance=False)

"""The words for everything the log and the judge have a code for, in the language of the page.

One place, so that the console, the incident page and the reports call a thing by one name. Each function takes a code
and gives text; an unknown code (a house's own ruleset may bring bets of its own) comes back readable, never as an
error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override, pgettext_lazy

Words = Mapping[str, Promise]


@dataclass(frozen=True, slots=True)
class FindingWords:
    """A finding in plain words: the title says what happened, the sentence says what that means."""

    title: Promise
    sentence: Promise


def _finding(title: Promise, sentence: Promise) -> FindingWords:
    return FindingWords(title, sentence)


FINDINGS: Final[Mapping[str, FindingWords]] = {
    "initial-card-misplaced": _finding(
        gettext_lazy("Opening card on the wrong place"),
        gettext_lazy("The first four cards go to Player, Banker, Player, Banker. This one was put elsewhere."),
    ),
    "fifth-card-misplaced": _finding(
        gettext_lazy("Fifth card on the wrong place"),
        gettext_lazy("A fifth card was due, but it was put on another place than the one the rules give it."),
    ),
    "sixth-card-misplaced": _finding(
        gettext_lazy("Sixth card on the wrong place"),
        gettext_lazy("A sixth card was due, but it was put on another place than the one the rules give it."),
    ),
    "card-overdrawn": _finding(
        gettext_lazy("Card drawn when none was due"),
        gettext_lazy("The hand was complete. This card belongs to no place of it."),
    ),
    "card-not-drawn": _finding(
        gettext_lazy("Card not drawn"),
        gettext_lazy("The hand was called or closed while a card was still due."),
    ),
    "extra-card-exposed": _finding(
        gettext_lazy("Extra card turned face up"),
        gettext_lazy("A card that belongs to no place of this hand was seen."),
    ),
    "extra-card-unseen": _finding(
        gettext_lazy("Extra card drawn, unseen"),
        gettext_lazy("A card that belongs to no place of this hand was drawn. Nobody saw its face."),
    ),
    "held-card-not-dealt": _finding(
        gettext_lazy("Card kept for this hand not dealt"),
        gettext_lazy("The hand before left a card to be this hand's first. Another one was dealt."),
    ),
    "exposed-during-betting": _finding(
        gettext_lazy("Card seen while betting was open"),
        gettext_lazy("A card of the hand lay face up before betting was closed."),
    ),
    "dealt-during-betting": _finding(
        gettext_lazy("Card dealt while betting was open"),
        gettext_lazy("A card was dealt face down before betting was closed."),
    ),
    "exposed-during-draw": _finding(
        gettext_lazy("Card seen while being drawn"),
        gettext_lazy("A card was exposed during the draw. When it happened and how many cards were seen both count."),
    ),
    "exposed-at-start": _finding(
        gettext_lazy("Card seen at the start of the shoe"),
        gettext_lazy("A card was exposed while the shoe was started or among the burned cards."),
    ),
    "opened-out-of-turn": _finding(
        gettext_lazy("Card opened out of turn"),
        gettext_lazy("A card was turned up while one drawn before it still lay face down."),
    ),
    "insurance-not-due": _finding(
        gettext_lazy("Insurance offered when none was due"),
        gettext_lazy("Insurance could be bet though the cards, laid and opened correctly, did not call for it."),
    ),
    "insurance-dealt-early": _finding(
        gettext_lazy("Card dealt before insurance was closed"),
        gettext_lazy("Dealing went on while the insurance time was still running."),
    ),
    "insurance-odds-missing": _finding(
        gettext_lazy("Insurance odds not put up"),
        gettext_lazy("An insurance time passed without odds on the table."),
    ),
    "insurance-odds-misplaced": _finding(
        gettext_lazy("Insurance odds on the wrong side"),
        gettext_lazy("The odds were put on the wrong spot, or up for the side that is not ahead."),
    ),
    "insurance-odds-wrong": _finding(
        gettext_lazy("Wrong insurance odds"),
        gettext_lazy("The odds put up differ from those of the ruleset for these cards."),
    ),
    "insurance-late-bet": _finding(
        gettext_lazy("Insurance bet outside its time"),
        gettext_lazy("An insurance bet was placed while no insurance time was open."),
    ),
    "wrong-result-called": _finding(
        gettext_lazy("Wrong result called"),
        gettext_lazy("The winner or the totals that were called differ from those of the cards."),
    ),
    "bet-after-close": _finding(
        gettext_lazy("Bet after betting was closed"),
        gettext_lazy("A bet was placed when the betting time was over."),
    ),
    "opposing-bets": _finding(
        gettext_lazy("One seat on both sides"),
        gettext_lazy("The same seat bet on Player and on Banker in one hand."),
    ),
    "side-bet-after-limit": _finding(
        gettext_lazy("Side bet after its last hand"),
        gettext_lazy("This side bet is open only for the first hands of a shoe, and they are over."),
    ),
    "bet-not-offered": _finding(
        gettext_lazy("Bet that is not offered"),
        gettext_lazy("The rules of this table do not know this bet."),
    ),
    "payout-wrong": _finding(
        gettext_lazy("Wrong payout"),
        gettext_lazy("What was paid differs from what is owed, or a winning bet was not paid."),
    ),
    "card-dropped": _finding(
        gettext_lazy("Card dropped, unseen"),
        gettext_lazy("A card left the camera's view before it was opened."),
    ),
    "card-dropped-opened": _finding(
        gettext_lazy("Open card dropped"),
        gettext_lazy("A card had been opened and then left the camera's view."),
    ),
    "card-scan-differs": _finding(
        gettext_lazy("Scan and card differ"),
        gettext_lazy("The card that was turned up is another one than the shoe had read."),
    ),
    "burn-missing": _finding(
        gettext_lazy("Burn left out"),
        gettext_lazy("The first hand began without the burn that the rules ask for."),
    ),
    "burn-count-wrong": _finding(
        gettext_lazy("Wrong number of cards burned"),
        gettext_lazy("The number of burned cards differs from what the rules ask for."),
    ),
    "free-hand-over-limit": _finding(
        gettext_lazy("Hand without betting too many"),
        gettext_lazy(
            "Hands without betting may be dealt at the start of a shoe, up to a number. This one was beyond it."
        ),
    ),
    "hand-after-last": _finding(
        gettext_lazy("Hand dealt after the last"),
        gettext_lazy("The cut card had ended the shoe; this hand should not have been dealt."),
    ),
    "card-impossible": _finding(
        gettext_lazy("More of one card than the shoe holds"),
        gettext_lazy("This card has now come out more often than the decks hold it."),
    ),
    "hand-incomplete": _finding(
        gettext_lazy("Hand not finished"),
        gettext_lazy("The hand was left without being closed."),
    ),
}

#: Rulings, options and what a manager decides: one vocabulary.
ACTIONS: Final[Words] = {
    "stand": pgettext_lazy("ruling", "Stand"),
    "correct": pgettext_lazy("ruling", "Correct"),
    "void hand": pgettext_lazy("ruling", "Void the hand"),
    "void insurance": pgettext_lazy("ruling", "Void the insurance bets"),
    "void bet": pgettext_lazy("ruling", "Void the bet"),
    "burn card": pgettext_lazy("ruling", "Burn the card"),
    "reuse card": pgettext_lazy("ruling", "Use the card"),
    "cancel shoe": pgettext_lazy("ruling", "Cancel the shoe"),
    "replace shoe": pgettext_lazy("ruling", "Replace the shoe"),
    "discretion": pgettext_lazy("ruling", "The manager decides"),
}

ACTION_SENTENCES: Final[Words] = {
    "stand": gettext_lazy("Everything stays as it is; the hand counts."),
    "correct": gettext_lazy("Put it as the rules have it; the hand goes on and counts."),
    "void hand": gettext_lazy("The hand does not count; every stake goes back."),
    "void insurance": gettext_lazy("Insurance stakes go back; the hand goes on and counts."),
    "void bet": gettext_lazy("This bet does not count; its stake goes back."),
    "burn card": gettext_lazy("The card is discarded unused."),
    "reuse card": gettext_lazy("The card is picked up and used where it was due."),
    "cancel shoe": gettext_lazy("The shoe ends here."),
    "replace shoe": gettext_lazy("The shoe is taken out and a new one is used."),
    "discretion": gettext_lazy("The rules leave the choice open."),
}

PLACES: Final[Words] = {
    "P1": gettext_lazy("Player, first card"),
    "P2": gettext_lazy("Player, second card"),
    "P3": gettext_lazy("Player, third card"),
    "B1": gettext_lazy("Banker, first card"),
    "B2": gettext_lazy("Banker, second card"),
    "B3": gettext_lazy("Banker, third card"),
    "extra": gettext_lazy("Extra card"),
}

SIDES: Final[Words] = {
    "player": gettext_lazy("Player"),
    "banker": gettext_lazy("Banker"),
    "tie": gettext_lazy("Tie"),
}

WINNERS: Final[Words] = {
    "player": gettext_lazy("Player wins"),
    "banker": gettext_lazy("Banker wins"),
    "tie": pgettext_lazy("result", "Tie"),
}

BETS: Final[Words] = {
    "player": gettext_lazy("Player"),
    "banker": gettext_lazy("Banker"),
    "tie": gettext_lazy("Tie"),
    "player_pair": gettext_lazy("Player pair"),
    "banker_pair": gettext_lazy("Banker pair"),
    "big": pgettext_lazy("bet", "Big"),
    "small": pgettext_lazy("bet", "Small"),
    "player_natural_8": gettext_lazy("Player natural 8"),
    "player_natural_9": gettext_lazy("Player natural 9"),
    "banker_natural_8": gettext_lazy("Banker natural 8"),
    "banker_natural_9": gettext_lazy("Banker natural 9"),
    "super_6": gettext_lazy("Super 6"),
    "insurance_player": gettext_lazy("Insurance on Player"),
    "insurance_banker": gettext_lazy("Insurance on Banker"),
}

EVENTS: Final[Words] = {
    "shoe_opened": gettext_lazy("Shoe opened"),
    "burn_card": gettext_lazy("First card of the shoe"),
    "cards_burned": gettext_lazy("Cards burned"),
    "cut_card": gettext_lazy("Cut card"),
    "shoe_closed": gettext_lazy("Shoe closed"),
    "betting_opened": gettext_lazy("Betting opened"),
    "betting_closed": gettext_lazy("Betting closed"),
    "bet": gettext_lazy("Bet"),
    "card": gettext_lazy("Card dealt"),
    "opened": gettext_lazy("Card turned up"),
    "extra": gettext_lazy("Extra card"),
    "exposed": gettext_lazy("Card exposed"),
    "moved": gettext_lazy("Card moved"),
    "discarded": gettext_lazy("Card discarded"),
    "dropped": gettext_lazy("Card dropped"),
    "insurance_opened": gettext_lazy("Insurance opened"),
    "insurance_odds": gettext_lazy("Insurance odds"),
    "insurance_closed": gettext_lazy("Insurance closed"),
    "called": gettext_lazy("Result called"),
    "paid": gettext_lazy("Paid"),
    "hand_closed": gettext_lazy("Hand closed"),
    "voided": gettext_lazy("Voided"),
    "amended": gettext_lazy("Entry amended"),
}

STATUSES: Final[Words] = {
    "open": pgettext_lazy("status", "Open"),
    "closed": pgettext_lazy("status", "Closed"),
    "voided": pgettext_lazy("status", "Voided"),
    "unreadable": pgettext_lazy("status", "Unreadable"),
    "corrected": pgettext_lazy("status", "Corrected"),
    "decided": pgettext_lazy("status", "Decided"),
    "superseded": pgettext_lazy("status", "Superseded"),
}

#: Why a shoe was closed.
SHOE_REASONS: Final[Words] = {
    "finished": pgettext_lazy("shoe", "Finished"),
    "cancelled": pgettext_lazy("shoe", "Cancelled"),
    "replaced": pgettext_lazy("shoe", "Replaced"),
    "faulty": pgettext_lazy("shoe", "Faulty"),
}

#: When a card was exposed or dropped.
MOMENTS: Final[Words] = {
    "betting": gettext_lazy("during betting"),
    "drawing": gettext_lazy("while drawing"),
    "opening": gettext_lazy("while opening"),
    "start": gettext_lazy("at the start of the shoe"),
    "burn": gettext_lazy("among the burned cards"),
    "discard": gettext_lazy("while discarding"),
}

SCOPES: Final[Words] = {"hand": gettext_lazy("the hand"), "insurance": gettext_lazy("the insurance bets")}

FACES: Final[Words] = {"up": gettext_lazy("face up"), "down": gettext_lazy("face down")}

#: The ranks with a name; the others are their number.
NAMED_RANKS: Final[Words] = {
    "A": pgettext_lazy("rank", "ace"),
    "J": pgettext_lazy("rank", "jack"),
    "Q": pgettext_lazy("rank", "queen"),
    "K": pgettext_lazy("rank", "king"),
}

#: A card that was recorded by its rank only.
LONE_RANKS: Final[Words] = {
    "A": pgettext_lazy("card", "Ace"),
    "2": pgettext_lazy("card", "Two"),
    "3": pgettext_lazy("card", "Three"),
    "4": pgettext_lazy("card", "Four"),
    "5": pgettext_lazy("card", "Five"),
    "6": pgettext_lazy("card", "Six"),
    "7": pgettext_lazy("card", "Seven"),
    "8": pgettext_lazy("card", "Eight"),
    "9": pgettext_lazy("card", "Nine"),
    "T": pgettext_lazy("card", "Ten"),
    "J": pgettext_lazy("card", "Jack"),
    "Q": pgettext_lazy("card", "Queen"),
    "K": pgettext_lazy("card", "King"),
}

RANKS: Final = "A23456789TJQK"

SUITS: Final[Words] = {
    "s": gettext_lazy("spades"),
    "h": gettext_lazy("hearts"),
    "d": gettext_lazy("diamonds"),
    "c": gettext_lazy("clubs"),
}

ROLES: Final[Words] = {
    "recorder": gettext_lazy("Recorder"),
    "supervisor": gettext_lazy("Supervisor"),
    "manager": gettext_lazy("Manager"),
    "auditor": gettext_lazy("Auditor"),
}


def _word(words: Words, code: object) -> str:
    text = "" if code is None else str(code)
    known = words.get(text)
    return str(known) if known is not None else text.replace("_", " ").replace("-", " ")


def finding_title(code: str) -> str:
    """What happened, in a few words: ``Fifth card on the wrong place``."""
    words = FINDINGS.get(code)
    return str(words.title) if words else code.replace("-", " ")


def finding_sentence(code: str) -> str:
    """What happened, as a sentence; empty for an unknown code."""
    words = FINDINGS.get(code)
    return str(words.sentence) if words else ""


def action_name(action: str) -> str:
    """A ruling, option or decision: ``Void the hand``."""
    return _word(ACTIONS, action)


def action_sentence(action: str) -> str:
    """What the action does; empty for an unknown one."""
    known = ACTION_SENTENCES.get(action)
    return str(known) if known is not None else ""


def place_name(place: str) -> str:
    """A place of the felt: ``P3`` is ``Player, third card``."""
    return _word(PLACES, place)


def side_name(side: str) -> str:
    """``player``, ``banker``, ``tie`` as a noun; also ``P`` and ``B``."""
    return _word(SIDES, {"P": "player", "B": "banker"}.get(side, side))


def winner_name(winner: str) -> str:
    """The result as a sentence: ``Banker wins``."""
    return _word(WINNERS, winner)


def bet_name(bet: str) -> str:
    """A bet: ``player_pair`` is ``Player pair``."""
    return _word(BETS, bet)


def event_name(event: str) -> str:
    """An event kind of the log: ``hand_closed`` is ``Hand closed``."""
    return _word(EVENTS, event)


def status_name(status: str) -> str:
    """A status of a hand, shoe, finding or incident."""
    return _word(STATUSES, status)


def shoe_reason_name(reason: str) -> str:
    """Why a shoe was closed."""
    return _word(SHOE_REASONS, reason)


def moment_name(when: str) -> str:
    """When a card was exposed or dropped."""
    return _word(MOMENTS, when)


def scope_name(scope: str) -> str:
    """What was voided."""
    return _word(SCOPES, scope)


def face_name(face: str) -> str:
    """``up`` and ``down``."""
    return _word(FACES, face)


def rank_name(rank: str) -> str:
    """A rank: ``ace``, ``9``, ``10``, ``king``."""
    return "10" if rank == "T" else _word(NAMED_RANKS, rank)


def suit_name(suit: str) -> str:
    """A suit, ``s h d c``."""
    return _word(SUITS, suit)


def card_name(rank: str, suit: str) -> str:
    """A card: ``9 of hearts``; recorded by its rank only, ``Nine``."""
    if not suit:
        return _word(LONE_RANKS, rank)
    return _("%(rank)s of %(suit)s") % {"rank": rank_name(rank), "suit": suit_name(suit)}


def role_name(role: str) -> str:
    """A group of people; empty for none."""
    return _word(ROLES, role)


#: Reasons that the pages offer ready-made: the log keeps one in the language of whoever pressed it.
STANDARD_REASONS: Final = (
    gettext_lazy("Typing mistake"),
    gettext_lazy("Typing mistake: undone at once"),
    gettext_lazy("Betting was closed before the cards came; it was not recorded in time"),
    gettext_lazy("Card exposed during betting"),
    gettext_lazy("Wrong hand that cannot be corrected"),
    gettext_lazy("Dealt after the last hand"),
)


@lru_cache(maxsize=1)
def _standard_reasons() -> Mapping[str, Promise]:
    known: dict[str, Promise] = {}
    for code, _name in settings.LANGUAGES:
        with override(code):
            known |= {str(words): words for words in STANDARD_REASONS}
    return known


def kept_reason(text: str) -> str:
    """A reason as the log keeps it; a ready-made one in the reader's language, whatever it was pressed in."""
    return str(_standard_reasons().get(text, text))

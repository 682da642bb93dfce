"""The fold of one hand: what happened, event by event, and what the rules say of it.

:class:`HandFold` is the state that live play keeps and everything else folds from the log; :meth:`HandFold.audit`
answers what is due, what went wrong, the result and what every bet is owed.

Most hands are clean and alike, so the fold memoises its own step: while nothing unusual has happened a hand is in one
of a few thousand shared situations (:class:`_Clean`), and each event leads from one to the next. A situation is learned
by taking the step in full (:class:`_HandState`), so there is one implementation of every rule; the first event that
leads out of the clean situations makes the fold take the hand's steps again in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, cast

import msgspec

from dealing.rules.audit import Felt, Finding, HandAudit, Result, Settlement, WrongPayout, ruled, strongest
from dealing.rules.bets import INSURANCE_BETS
from dealing.rules.cards import (
    ALL_CARDS,
    ASK_FOR_ALL,
    Card,
    ask_from,
    counts_from_json,
    counts_to_json,
    is_spent,
)
from dealing.rules.events import (
    CARD_TOKENS,
    Bet,
    BettingClosed,
    BettingOpened,
    Called,
    CardDealt,
    CutCard,
    Discarded,
    Dropped,
    Event,
    EventError,
    Exposed,
    Extra,
    HandClosed,
    InsuranceClosed,
    InsuranceOdds,
    InsuranceOpened,
    Moved,
    Opened,
    Paid,
    Voided,
)
from dealing.rules.findings import KEPT, SPOILS_INSURANCE
from dealing.rules.insurance import InsuranceDue, insurance_due
from dealing.rules.money import (
    Placed,
    bet_codes,
    outcome,
    paid_in_all,
    settle_bets,
    wrong_payouts,
)
from dealing.rules.rulesets import Ruleset, Ruling, get_ruleset
from dealing.rules.tableau import EMPTY, OPENING, PLACES, Layout, Place

#: What an event that cannot have happened is refused with.
REFUSALS: Final[dict[str, str]] = {
    "no-shoe": "shoe {shoe} is not open at this table",
    "shoe-opened": "shoe {shoe} was opened already",
    "shoe-behind": "shoe {shoe} comes after shoe {last} in the log; shoe numbers only grow",
    "shoe-closed": "shoe {shoe} is closed",
    "shoe-left": "shoe {shoe} is over: shoe {last} was opened after it",
    "hand-behind": "hand {hand} is over; the table is at hand {last}",
    "no-hand": "hand {hand} of shoe {shoe} was never dealt",
    "hand-closed": "hand {hand} is closed",
    "hand-voided": "hand {hand} is void",
    "betting-opened": "betting on this hand was opened already",
    "betting-closed": "betting on this hand was closed already",
    "occupied": "{place} already holds {card}",
    "empty-place": "there is no card at {place}",
    "face-up": "the card at {place} is face up already",
    "other-card": "{place} was recorded as {card}",
    "no-extra": "this hand has no extra card to discard",
    "window-open": "insurance time {window} is still open",
    "window-not-open": "insurance time {window} is not open",
    "no-window": "no insurance time is open",
    "void-already": "this was declared void already",
    "burn-card-known": "the burn card of this shoe is recorded already",
    "hands-dealt": "hands have been dealt from this shoe; the burn is over",
    "cut-card-out": "the cut card of this shoe is out already",
    "amendment": "an amendment is applied to the log, not to a hand",
    "no-entry": "there is no entry {seq} at this table before this one",
    "entry-is-amendment": "entry {seq} is itself an amendment; amend the entry it corrected",
    "entry-of-other-hand": "entry {seq} belongs to another shoe or hand",
    "breaks-entry": "with this, entry {seq} could not have happened ({detail})",
}

UNKNOWN_CARD: Final = "??"
_CARDS: Final = len(ALL_CARDS)


class EventRefused(EventError):
    """The event cannot have happened: the fold is as it was before."""

    messages: ClassVar[Mapping[str, str]] = REFUSALS


# --- what a hand needs of its shoe -----------------------------------------------------------------------------------


class Held(NamedTuple):
    """A card that the rules keep from one hand for the next; ``card`` is None where nobody saw it, ``counted`` tells
    whether it is among the cards seen already.
    """

    card: Card | None
    counted: bool


class HandContext(msgspec.Struct, eq=False, gc=False):
    """What the judgement of a hand takes from its shoe; kept beside the hand so that it can be folded again by itself.

    ``after_last``: the shoe's last hand was over before (SHOE-last). ``counts``: how often each card was seen in the
    shoe before this hand, by its index. ``left``: position of the event that left the hand for the next, or None while
    it is current. ``held``: the cards that the hands before left for this one, in order.
    """

    table: str
    shoe: int
    hand: int
    ruleset: Ruleset
    decks: int
    after_last: bool
    counts: list[int]
    left: int | None = None
    held: tuple[Held, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data that :meth:`from_json` reads."""
        return {
            "table": self.table,
            "shoe": self.shoe,
            "hand": self.hand,
            "ruleset": self.ruleset.name,
            "decks": self.decks,
            "after_last": self.after_last,
            "counts": counts_to_json(self.counts),
            "left": self.left,
            **({"held": [[held.card and held.card.text, held.counted] for held in self.held]} if self.held else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HandContext:
        """The context that :meth:`to_json` wrote."""
        return cls(
            data["table"],
            data["shoe"],
            data["hand"],
            get_ruleset(data["ruleset"]),
            data["decks"],
            data["after_last"],
            counts_from_json(data["counts"]),
            data["left"],
            tuple(Held(text and Card.parse(text), counted) for text, counted in data.get("held", ())),
        )


# --- the state of a hand in full -------------------------------------------------------------------------------------


class _Drawn:
    """A card drawn to a place of the hand. ``place`` is where it is now (None: discarded); ``lawful`` where it belonged
    when it was drawn (None: nowhere); ``judged`` whether that is known yet; ``counted`` as which card it was counted.
    ``out``: a rule takes it out of the hand; ``held``: it is the card that was kept for this hand.
    """

    __slots__ = ("card", "counted", "held", "judged", "lawful", "out", "place", "put", "seq", "up")

    def __init__(self, seq: int, put: Place, card: Card | None, up: bool) -> None:
        self.seq = seq
        self.put = put
        self.place: Place | None = put
        self.card = card
        self.up = up
        self.lawful: Place | None = None
        self.judged = False
        self.counted: Card | None = None
        self.out = False
        self.held: _Extra | None = None

    @property
    def text(self) -> str:
        return self.card.text if self.card is not None else UNKNOWN_CARD


class _Extra:
    """A card beside the hand; ``on_felt`` is False for the shoe's next card that was only seen.

    ``seq``: where it came out. ``held``: the hand before left it for this one. ``taken``: it has been dealt since.
    """

    __slots__ = ("card", "counted", "discarded", "held", "on_felt", "seq", "taken", "up")

    def __init__(self, seq: int, card: Card | None, up: bool, on_felt: bool, held: Held | None = None) -> None:
        self.seq = seq
        self.card = card
        self.up = up
        self.on_felt = on_felt
        self.discarded = False
        self.held = held is not None
        self.counted = held is not None and held.counted
        self.taken = False


class _Window:
    """An open insurance time; ``due`` is what is insured, None where the window was not due."""

    __slots__ = ("dealt_early", "due", "number", "odds_up", "wrong_odds")

    def __init__(self, number: int, due: InsuranceDue | None) -> None:
        self.number = number
        self.due = due
        self.odds_up = False
        self.wrong_odds: list[_Raised] = []
        self.dealt_early = False


class _Raised:
    """A finding as it was raised; the ruleset's word on it is added when the hand is audited.

    ``drawn`` is the card it is about, ``extra`` the extra card, ``upto`` the number of cards laid when one was not
    drawn; ``out`` the card that the ruling takes out of the hand.
    """

    __slots__ = ("cards", "case", "code", "corrected", "drawn", "extra", "out", "seq", "upto")

    def __init__(self, code: str, *seq: int, cards: tuple[str, ...] = (), case: str = "") -> None:
        self.code = code
        self.seq = seq
        self.cards = cards
        self.case = case
        self.corrected = False
        self.drawn: _Drawn | None = None
        self.extra: _Extra | None = None
        self.upto: int | None = None
        self.out: _Drawn | None = None

    def finding(self, ruling: Ruling, corrected: bool) -> Finding:
        cards = self.cards
        if not cards and self.drawn is not None and self.drawn.card is not None:
            cards = (self.drawn.card.text,)
        return ruled(self.code, self.seq, cards, corrected, ruling, self.case)


class _Laid(NamedTuple):
    """The cards in the order drawn, laid by the rules: as far as they are known."""

    layout: Layout
    places: tuple[tuple[_Drawn, Place | None], ...]
    unknown: bool
    number: int

    @property
    def due(self) -> Place | None:
        """The place of the next card; None when none is due or it depends on a card not yet known."""
        if self.number < 4:
            return OPENING[self.number]
        return None if self.unknown else self.layout.due

    @property
    def complete(self) -> bool:
        return self.number >= 4 and not self.unknown and self.layout.due is None


#: What may still happen to a hand that is closed (the first four also when the table is at a later hand).
LATE: Final[frozenset[type[Event]]] = frozenset({Moved, Discarded, Voided, Paid})
_AFTER_CLOSE: Final = LATE | {Dropped, Exposed, Extra, CutCard}
_AFTER_VOID: Final = _AFTER_CLOSE | {HandClosed, Called}

_CleanKey = tuple[str | None, Layout, int | None, bool]


class _HandState:
    """The state of a hand, every detail of it. ``counts`` is the shoe's, and is updated."""

    def __init__(self, context: HandContext, counts: list[int]) -> None:
        self.context = context
        self.ruleset = context.ruleset
        self.counts = counts
        self.betting: str | None = None  # None, "open", "closed"
        self.drawn: list[_Drawn] = []
        self._laid: _Laid | None = None  # forgotten whenever a card comes, is opened, moved, discarded or taken out
        self.extras = [_Extra(0, held.card, held.card is not None, False, held) for held in context.held]
        #: Another card was dealt than the one held for this hand: what was held is given up.
        self.held_missed = False
        #: A rule takes a card out of the hand.
        self.some_out = False
        #: A card was seen that a rule takes out of the hand when it comes: its finding, and which card it was.
        self.awaited: tuple[_Raised, Card | None] | None = None
        #: A card was seen with which bets may not be changed any more.
        self.frozen = False
        self.bets: list[Placed] = []
        self.paid: list[tuple[int, Paid]] = []
        self.calls: list[tuple[int, Called]] = []
        self.window: _Window | None = None
        self.insured: list[InsuranceDue] = []
        self.raised: list[_Raised] = []
        self.closed: int | None = None
        self.void: int | None = None
        self.insurance_void = False

    # -- the cards as the rules lay them

    def lay(self) -> _Laid:
        """Lay the cards that are still in the hand, in the order drawn (rulebook section 2)."""
        if self._laid is None:
            self._laid = self._lay(self.some_out)
        return self._laid

    def lay_as_used(self) -> _Laid:
        """The same as the dealer takes the cards to be: one that a rule takes out is in the hand while it lies there.

        Cards dealt after it are not misplaced because of it; that it was used is one finding.
        """
        return self._lay(False) if self.some_out else self.lay()

    def _lay(self, without_out: bool) -> _Laid:
        layout, unknown, number = EMPTY, False, 0
        places: list[tuple[_Drawn, Place | None]] = []
        for drawn in self.drawn:
            if drawn.place is None:
                continue
            if without_out and drawn.out:
                places.append((drawn, None))
                continue
            due: Place | None
            if number < 4:
                due = OPENING[number]
            else:
                due = drawn.place if unknown else layout.due
                if due == "B3" and drawn.put == "P3" and layout.third is None and not unknown and self._rejects():
                    due = None
            number += 1
            places.append((drawn, due))
            if due is None:
                continue  # beyond the hand: whatever it is, it changes nothing
            if drawn.card is None:
                unknown = True
            elif not unknown:
                layout = layout.after[drawn.card.value]
        return _Laid(layout, tuple(places), unknown, number)

    def _rejects(self) -> bool:
        """Whether a card drawn for a Player who must stand is no card of the hand."""
        return self.ruleset.procedure.standing_player == "rejected"

    def judge_places(self) -> None:
        """Raise what can be said now about cards put where they do not belong."""
        before, unknown = 0, False
        for n, (drawn, due) in enumerate((self.lay_as_used() if self.some_out else self.lay()).places):
            if not drawn.judged:
                drawn.judged, drawn.lawful = True, due
                if drawn.put != due:
                    self._misplaced(before, drawn, due)
            unknown = unknown or (drawn.card is None and due is not None)
            if n >= 3 and unknown:
                return  # where later cards belong depends on this one
            before += due is not None

    def _misplaced(self, before: int, drawn: _Drawn, due: Place | None) -> None:
        """A card that belongs at ``due``, after ``before`` cards that belong to the hand, was put elsewhere."""
        if due is None:
            code = "card-overdrawn"
        elif before < 4:
            code = "initial-card-misplaced"
        else:
            code = "fifth-card-misplaced" if before == 4 else "sixth-card-misplaced"
        raised = self._raise(code, drawn.seq, drawn=drawn)
        again = any(earlier.case == "player-stands" for earlier in self.raised)
        if before >= 4 and (drawn.put == "P3" or again) and self._player_stood():
            raised.case = "player-stands"

    def _player_stood(self) -> bool:
        layout = self.lay_as_used().layout
        return layout.drawn >= 4 and not layout.natural and layout.third is None and layout.due != "P3"

    # -- the step

    def step(self, seq: int, event: Event) -> None:
        """Take one event. Raises :class:`EventRefused` before anything is changed."""
        kind = type(event)
        if self.void is not None and kind not in _AFTER_VOID:
            raise EventRefused("hand", "hand-voided", hand=self.context.hand)
        if self.closed is not None and kind not in _AFTER_CLOSE:
            raise EventRefused("hand", "hand-closed", hand=self.context.hand)
        handler = _HANDLERS.get(kind)
        if handler is None:
            raise EventRefused("event", "amendment")
        handler(self, seq, event)

    def betting_opened(self, seq: int, event: BettingOpened) -> None:
        if self.betting is not None:
            raise EventRefused("event", "betting-opened" if self.betting == "open" else "betting-closed")
        self.betting = "open"
        for drawn in self.drawn:  # dealt before anybody could bet: seen, or lying there, while bets are taken
            self._during_betting(drawn.seq, drawn)

    def betting_closed(self, seq: int, event: BettingClosed) -> None:
        if self.betting == "closed":
            raise EventRefused("event", "betting-closed")
        if self.betting is None:  # nobody recorded the opening, but betting was open until now
            for drawn in self.drawn:
                self._during_betting(drawn.seq, drawn)
        self.betting = "closed"

    def _during_betting(self, seq: int, drawn: _Drawn) -> None:
        if drawn.up:
            self._seen(self._raise("exposed-during-betting", seq, drawn=drawn), drawn, None)
        else:
            self._raise("dealt-during-betting", seq, drawn=drawn)

    def _seen(self, raised: _Raised, drawn: _Drawn | None, card: Card | None) -> None:
        """A card was seen too early, which may take it out of the hand: ``drawn``, or the next to come if it is
        ``card``. One that nobody named can only be told where it is laid beside the hand.
        """
        ruling = self._ruling(raised)
        self.frozen = self.frozen or ruling.freezes_bets
        if ruling.ruling != "burn card":
            return
        if drawn is not None:
            self._take_out(raised, drawn)
        else:
            self.awaited = raised, card

    def _take_out(self, raised: _Raised, drawn: _Drawn) -> None:
        raised.out, drawn.out, self.some_out = drawn, True, True
        self._laid = None

    def _came(self, card: Card | None, beside: bool) -> _Raised | None:
        """A card came out of the shoe: the finding on the one that was seen before, if it is that one."""
        if self.awaited is None:
            return None
        (raised, seen), self.awaited = self.awaited, None
        if seen is None:
            return raised if beside else None
        if card is None or seen.merged(card) is not None:
            return raised
        raised.corrected = True  # the card that was seen was not used
        return None

    def bet(self, seq: int, event: Bet) -> None:
        placed = Placed(event)
        codes = bet_codes(event, self.ruleset, self.context.hand, self.betting, self.bets)
        if event.bet in INSURANCE_BETS:
            codes = codes or self._insurance_bet(placed, INSURANCE_BETS[event.bet])
        elif self.frozen and not {"bet-not-offered", "bet-after-close"} & set(codes):
            codes.insert(0, "bet-after-close")
        raised = [self._raise(code, seq) for code in codes]
        for finding in raised:
            if finding.code == "bet-after-close" and self.frozen:
                finding.case = "frozen"
        placed.void = any(self._ruling(finding).ruling == "void bet" for finding in raised)
        self.bets.append(placed)

    def _insurance_bet(self, placed: Placed, side: str) -> list[str]:
        if self.window is None:  # it can stand at the odds due now, or else at those of the time that is over
            now = self.insurance_due()
            dues = [*self.insured, *([] if now is None else [now])]
            placed.due = next((due for due in reversed(dues) if due.side == side), None)
            return ["insurance-late-bet"]
        due = self.window.due
        if due is not None and due.side != side:
            return ["insurance-not-due"]
        placed.due = due
        return []

    def card(self, seq: int, event: CardDealt) -> None:
        there = next((d for d in self.drawn if d.place == event.to), None)
        if there is not None:
            raise EventRefused("to", "occupied", place=event.to, card=there.text)
        up = event.face == "up"
        drawn = _Drawn(seq, event.to, event.card, up)
        if self.context.after_last and not self.drawn:
            self._raise("hand-after-last", seq)
        if self.betting == "open":
            self._during_betting(seq, drawn)
        if self.window is not None and not self.window.dealt_early:
            self.window.dealt_early = True
            self._raise("insurance-dealt-early", seq, drawn=drawn)
        self.drawn.append(drawn)
        self._laid = None
        if self.awaited is not None and (early := self._came(event.card, beside=False)) is not None:
            self._take_out(early, drawn)
        if self.extras and not self.held_missed:
            self._take_held(seq, drawn)
        self.judge_places()
        if up:
            self._open_in_turn(seq, drawn)
        if drawn.up or drawn.lawful is not None or not drawn.judged:
            self._count(seq, drawn)

    def opened(self, seq: int, event: Opened) -> None:
        here = [d for d in self.drawn if d.place == event.place]
        drawn = next((d for d in here if not d.up), None)
        if drawn is None:
            raise EventRefused("place", "face-up" if here else "empty-place", place=event.place)
        card = event.card if drawn.card is None else drawn.card.merged(event.card)
        if card is None:
            if not self.ruleset.raises("card-scan-differs"):
                raise EventRefused("card", "other-card", place=event.place, card=drawn.text)
            card = event.card  # what is seen is the card
            self._raise("card-scan-differs", seq, cards=(drawn.text, card.text))
        drawn.card, drawn.up = card, True
        if drawn.held is not None:
            self._is_the_held(seq, drawn)
        self._laid = None
        if self.betting == "open":
            self._during_betting(seq, drawn)
        self._open_in_turn(seq, drawn)
        self.judge_places()
        self._count(seq, drawn)

    def _take_held(self, seq: int, drawn: _Drawn) -> None:
        """The hand's first cards are those that the hand before left for it."""
        held = next((e for e in self.extras if e.held and not (e.discarded or e.taken)), None)
        if held is None:
            return
        held.taken, drawn.held = True, held
        if held.counted:
            drawn.counted = held.card
        self._is_the_held(seq, drawn)

    def _is_the_held(self, seq: int, drawn: _Drawn) -> None:
        """Whether a card that should be the one held for this hand is; what cannot be told is taken to be."""
        held = drawn.held
        if held is None or held.card is None or drawn.card is None or held.card.merged(drawn.card) is not None:
            return
        held.taken, drawn.held = False, None
        if held.counted:
            drawn.counted = None
        if not self.held_missed:
            self.held_missed = True
            self._raise("held-card-not-dealt", seq, cards=(held.card.text,)).extra = held

    def _open_in_turn(self, seq: int, drawn: _Drawn) -> None:
        """Cards 1–4 may be opened in any order, later ones only when all before them are open."""
        order = [d for d in self.drawn if d.place is not None]
        n = order.index(drawn)
        if n >= 4 and any(not before.up for before in order[:n]):
            self._raise("opened-out-of-turn", seq, drawn=drawn)

    def _count(self, seq: int, drawn: _Drawn) -> None:
        """Count a drawn card, once. One beyond the hand, face down, is not: it may be the next hand's first card."""
        card, before = drawn.card, drawn.counted
        if card is None or card is before:
            return
        drawn.counted = card
        if before is None:
            self._see(seq, card, drawn)
            return
        # Counted by its rank, and now its suit is seen.
        self.counts[before.index] -= 1
        self.counts[card.index] += 1
        found = any(r.drawn is drawn and r.code == "card-impossible" for r in self.raised)
        if self.counts[card.index] > self.context.decks and not found:
            self._raise("card-impossible", seq, cards=(card.text,), drawn=drawn)

    def _see(self, seq: int, card: Card, drawn: _Drawn | None = None) -> None:
        """Count a card of the shoe: no more can come than the decks hold."""
        spent = is_spent(card, self.counts, self.context.decks)
        self.counts[card.index] += 1
        if spent:
            self._raise("card-impossible", seq, cards=(card.text,), drawn=drawn)

    def extra(self, seq: int, event: Extra) -> None:
        extra = _Extra(seq, event.card, event.face == "up", True)
        early = self._came(event.card, beside=True)
        self.extras.append(extra)
        code = "extra-card-exposed" if extra.up else "extra-card-unseen"
        if early is not None:  # the card that was seen before: that finding is this one's too
            early.extra = extra
        elif self.ruleset.raises(code):
            cards = () if event.card is None else (event.card.text,)
            raised = self._raise(code, seq, cards=cards)
            raised.extra, raised.case = extra, self._extra_case()
        if extra.up and event.card is not None:
            self._see(seq, event.card)
            extra.counted = True

    def _extra_case(self) -> str:
        """A card beside the hand while one of the hand is still due can only have come out with another."""
        if self.betting == "open":
            return "betting"
        dealing = self.betting == "closed" or bool(self.drawn)
        return "together" if dealing and self.lay_as_used().due is not None else ""

    def exposed(self, seq: int, event: Exposed) -> None:
        drawn = next((d for d in self.drawn if d.place == event.place), None) if event.place else None
        if event.card is not None:
            cards: tuple[str, ...] = (event.card.text,)
        else:
            cards = (drawn.card.text,) if drawn is not None and drawn.card is not None else ()
        if event.when == "betting":
            self._seen(self._raise("exposed-during-betting", seq, cards=cards), drawn, event.card)
        elif event.when in ("start", "burn"):
            self._raise("exposed-at-start", seq, cards=cards)
        else:
            hidden = next((e for e in self.extras if e.on_felt and not e.up and not e.discarded), None)
            if event.place is None and (hidden is not None or self.lay().complete):
                # No card of this hand is left to be drawn: what was seen is the next hand's card (INC-extra).
                if hidden is None:
                    hidden = _Extra(seq, event.card, True, False)
                    self.extras.append(hidden)
                if hidden.card is not None and event.card is not None:
                    hidden.card = hidden.card.merged(event.card) or event.card
                hidden.up, hidden.card = True, hidden.card or event.card
                self._raise("extra-card-exposed", seq, cards=cards).extra = hidden
            else:
                self._seen(self._raise("exposed-during-draw", seq, cards=cards), drawn, event.card)

    def moved(self, seq: int, event: Moved) -> None:
        self._pick(event.source, "from").place = event.to
        self._laid = None

    def discarded(self, seq: int, event: Discarded) -> None:
        if event.place is not None:
            self._pick(event.place, "place").place = None
            self._laid = None
            return
        extra = next((e for e in self.extras if not (e.discarded or e.taken)), None)
        if extra is None:
            raise EventRefused("extra", "no-extra")
        extra.discarded = True

    def _pick(self, place: Place, key: str) -> _Drawn:
        """The card that is meant at a place: the one that does not belong there, where the place holds two."""
        here = [(drawn, due) for drawn, due in self.lay().places if drawn.place == place]
        if not here:
            raise EventRefused(key, "empty-place", place=place)
        return next((drawn for drawn, due in here if due != place), here[0][0])

    def dropped(self, seq: int, event: Dropped) -> None:
        cards = () if event.card is None else (event.card.text,)
        self._raise("card-dropped-opened" if event.opened else "card-dropped", seq, cards=cards)

    def insurance_opened(self, seq: int, event: InsuranceOpened) -> None:
        if self.window is not None:
            raise EventRefused("window", "window-open", window=self.window.number)
        due = self.insurance_due()
        if due is None or due.window != event.window or self._spoiled_for_insurance():
            self._raise("insurance-not-due", seq)
            due = None
        else:
            self.insured.append(due)
        self.window = _Window(event.window, due)

    def insurance_due(self) -> InsuranceDue | None:
        """The insurance that the cards on the table, all open, make due."""
        laid = self.lay()
        if laid.unknown or any(not drawn.up for drawn, _ in laid.places):
            return None
        return insurance_due(self.ruleset.insurance, laid.layout)

    def _spoiled_for_insurance(self) -> bool:
        return any(raised.code in SPOILS_INSURANCE and not self._corrected(raised) for raised in self.raised)

    def insurance_odds(self, seq: int, event: InsuranceOdds) -> None:
        window = self.window
        if window is None:
            raise EventRefused("event", "no-window")
        wrong = []
        if event.placed != event.side or (window.due is not None and event.side != window.due.side):
            wrong.append(self._raise("insurance-odds-misplaced", seq))
        if window.due is not None and event.odds != window.due.odds:
            wrong.append(self._raise("insurance-odds-wrong", seq))
        if not wrong:  # put right before the time was over
            for raised in window.wrong_odds:
                raised.corrected = True
        window.odds_up = True
        window.wrong_odds += wrong

    def insurance_closed(self, seq: int, event: InsuranceClosed) -> None:
        if self.window is None or self.window.number != event.window:
            raise EventRefused("window", "window-not-open", window=event.window)
        self._end_window(seq)

    def _end_window(self, seq: int) -> None:
        if self.window is not None and self.window.due is not None and not self.window.odds_up:
            self._raise("insurance-odds-missing", seq)
        self.window = None

    def called(self, seq: int, event: Called) -> None:
        self.calls.append((seq, event))
        self._not_drawn(seq)

    def _not_drawn(self, seq: int) -> None:
        laid = self.lay_as_used()
        if laid.due is None or self.void is not None or any(r.upto == laid.number for r in self.raised):
            return
        self._raise("card-not-drawn", seq).upto = laid.number

    def paid_out(self, seq: int, event: Paid) -> None:
        self.paid.append((seq, event))

    def hand_closed(self, seq: int, event: HandClosed) -> None:
        self._end_window(seq)
        self._not_drawn(seq)
        self.closed = seq

    def voided(self, seq: int, event: Voided) -> None:
        if event.scope == "hand":
            if self.void is not None:
                raise EventRefused("scope", "void-already")
            self.void = seq
            for raised in self.raised:
                raised.corrected = True
        else:
            if self.insurance_void:
                raise EventRefused("scope", "void-already")
            self.insurance_void = True
            for raised in self.raised:
                if "void insurance" in self._ruling(raised).options:
                    raised.corrected = True

    def cut_card(self, seq: int, event: CutCard) -> None:
        """The shoe keeps that this hand is the last (SHOE-last); the hand itself is as it was."""

    def leave(self, seq: int) -> None:
        """The table went on to something else without closing this hand."""
        if self.closed is None and self.void is None:
            self._end_window(seq)
            self._raise("hand-incomplete", seq)

    def _raise(self, code: str, seq: int, cards: tuple[str, ...] = (), drawn: _Drawn | None = None) -> _Raised:
        raised = _Raised(code, seq, cards=cards)
        raised.drawn = drawn
        self.raised.append(raised)
        return raised

    # -- what it comes to

    def held(self) -> tuple[Held, ...]:
        """The cards that the rules keep for the next hand, in the order in which they came out."""
        if not self.extras and all(raised.code not in KEPT for raised in self.raised):
            return ()
        kept: dict[int, tuple[int, Held]] = {}
        for left in self.extras:
            if left.held and not (left.discarded or left.taken or self.held_missed):
                kept[id(left)] = left.seq, Held(left.card, left.counted)
        for raised in self.raised:
            if raised.code not in KEPT or self._ruling(raised).ruling != "reuse card":
                continue
            extra, drawn = raised.extra, raised.drawn
            if extra is not None and not (extra.discarded or extra.taken):
                kept[id(extra)] = extra.seq, Held(extra.card, extra.counted)
            elif drawn is not None and drawn.place is not None and drawn.lawful is None:
                kept[id(drawn)] = drawn.seq, Held(drawn.card, drawn.counted is not None)
        return tuple(held for _, held in sorted(kept.values(), key=lambda one: one[0]))

    def extra_to_burn(self) -> _Extra | None:
        """The first extra card that lies there and that the rules burn, or let a manager burn."""
        burnt = [raised.extra for raised in self.raised if "burn card" in self._ruling(raised).options]
        return next((extra for extra in burnt if extra is not None and not (extra.discarded or extra.taken)), None)

    @property
    def free(self) -> bool:
        """Whether the hand was dealt without anybody betting, or being able to."""
        return bool(self.drawn) and self.betting is None and not self.bets and self.void is None

    def clean_key(self) -> _CleanKey | None:
        """The shared situation this state is one of; None where anything unusual is in it.

        Money is beside the situation: bets that raised nothing, and payments, change nothing for the cards.
        """
        if self.raised or self.extras or self.window or self.insured or self.void:
            return None
        if any(placed.bet in INSURANCE_BETS for placed in self.bets):
            return None
        laid = self.lay()
        if any(not drawn.up or drawn.place != due for drawn, due in laid.places):
            return None
        call = self.calls[-1][1].token if self.calls else None
        if (self.calls and call is None) or not all(self._call_right(called, laid) for _, called in self.calls):
            return None
        return self.betting, laid.layout, call, self.closed is not None

    @staticmethod
    def _call_right(call: Called, laid: _Laid) -> bool:
        layout = laid.layout
        return (
            call.winner == layout.winner
            and call.player in (None, layout.player)
            and call.banker in (None, layout.banker)
        )

    def _ruling(self, raised: _Raised) -> Ruling:
        if raised.code == "card-overdrawn" and raised.drawn is not None:
            return self.ruleset.ruling_for(raised.code, raised.case, "up" if raised.drawn.up else "down")
        return self.ruleset.ruling_for(raised.code, raised.case)

    def _corrected(self, raised: _Raised) -> bool:
        """Whether the log itself has put a finding right."""
        if raised.corrected:
            return True
        drawn = raised.drawn
        if raised.out is not None:
            return raised.out.place is None
        if raised.code in ("initial-card-misplaced", "fifth-card-misplaced", "sixth-card-misplaced", "card-overdrawn"):
            if drawn is None or drawn.place is None:
                return True
            return drawn.place == next(due for card, due in self.lay().places if card is drawn)
        if raised.upto is not None:
            return self.lay_as_used().number > raised.upto
        if raised.extra is not None:
            return raised.extra.discarded and raised.code != "held-card-not-dealt"
        return False

    def audit(self) -> HandAudit:
        laid = self.lay()
        result = _result(laid.layout) if laid.complete else None
        found = [self._finding(raised) for raised in self.raised]
        found += self._call_findings(laid, result)
        settlement = self._settle(laid, result, found)
        wrong = self._wrong_payouts(result, settlement)
        found += payout_findings(self.ruleset, wrong)
        found.sort(key=lambda finding: finding.seq[0])
        status = "voided" if self.void is not None else "closed" if self.closed is not None else "open"
        return HandAudit(
            self.context.table,
            self.context.shoe,
            self.context.hand,
            status,
            self._dealt(),
            _correct(laid, self._on_felt()),
            laid.due,
            laid.layout,
            result,
            tuple(found),
            strongest(found),
            settlement,
            paid_in_all(self.paid),
            self.insurance_due() if self.window is None else self.window.due,
            wrong,
        )

    def _finding(self, raised: _Raised) -> Finding:
        return raised.finding(self._ruling(raised), self._corrected(raised))

    def _on_felt(self) -> tuple[str, ...]:
        return tuple(
            e.card.text if e.card is not None else UNKNOWN_CARD for e in self.extras if e.on_felt and not e.discarded
        )

    def _dealt(self) -> Felt:
        places: dict[Place, tuple[str, ...]] = {}
        for drawn in self.drawn:
            if drawn.place is not None:
                places[drawn.place] = (*places.get(drawn.place, ()), drawn.text)
        return Felt(places, self._on_felt())

    def _call_findings(self, laid: _Laid, result: Result | None) -> list[Finding]:
        """The announced result against the right one: the last word counts, an earlier wrong one was put right."""
        if result is None:
            return []
        wrong = [(seq, call) for seq, call in self.calls if not self._call_right(call, laid)]
        last_right = bool(self.calls) and self._call_right(self.calls[-1][1], laid)
        found = []
        for seq, _ in wrong[-1:]:
            raised = _Raised("wrong-result-called", seq)
            corrected = last_right or (self.void is not None and seq < self.void)
            found.append(raised.finding(self._ruling(raised), corrected))
        return found

    def _settle(self, laid: _Laid, result: Result | None, found: list[Finding]) -> tuple[Settlement, ...]:
        if not self.bets:
            return ()
        mandatory = {finding.ruling for finding in found}
        void = self.void is not None or "void hand" in mandatory
        no_insurance = self.insurance_void or "void insurance" in mandatory
        known = {due: drawn.card for drawn, due in laid.places if due is not None and drawn.card is not None}
        seen = None if result is None else outcome(laid.layout, known)
        return settle_bets(self.bets, self.ruleset, seen, void, no_insurance)

    def _wrong_payouts(self, result: Result | None, settlement: tuple[Settlement, ...]) -> tuple[WrongPayout, ...]:
        if result is None and not any(line.owed is not None for line in settlement):
            return ()
        return wrong_payouts(settlement, self.paid, self.closed)


def payout_findings(ruleset: Ruleset, wrong: Iterable[WrongPayout]) -> list[Finding]:
    """Wrong payouts as findings: the bet's own rule is cited."""
    return [
        _Raised("payout-wrong", *payout.seq).finding(ruleset.payout_ruling(payout.bet), payout.corrected)
        for payout in wrong
    ]


def _result(layout: Layout) -> Result:
    return Result(layout.player, layout.banker, layout.winner, layout.natural)


def _correct(laid: _Laid, extras: tuple[str, ...]) -> Felt:
    places: dict[Place, tuple[str, ...]] = {}
    beyond = []
    for drawn, due in laid.places:
        if due is None:
            beyond.append(drawn.text)
        else:
            places[due] = (*places.get(due, ()), drawn.text)
    return Felt(places, (*beyond, *extras))


_HANDLERS: Final[dict[type[Event], Any]] = {
    BettingOpened: _HandState.betting_opened,
    BettingClosed: _HandState.betting_closed,
    Bet: _HandState.bet,
    CardDealt: _HandState.card,
    Opened: _HandState.opened,
    Extra: _HandState.extra,
    Exposed: _HandState.exposed,
    Moved: _HandState.moved,
    Discarded: _HandState.discarded,
    Dropped: _HandState.dropped,
    InsuranceOpened: _HandState.insurance_opened,
    InsuranceOdds: _HandState.insurance_odds,
    InsuranceClosed: _HandState.insurance_closed,
    Called: _HandState.called,
    Paid: _HandState.paid_out,
    HandClosed: _HandState.hand_closed,
    Voided: _HandState.voided,
    CutCard: _HandState.cut_card,
}

# --- the memo --------------------------------------------------------------------------------------------------------


class _Clean:
    """A situation that many hands share: nothing went wrong and no money is on the table.

    ``after`` is what was learned: the token of an event -> the ``after`` of the situation it leads to, None where that
    is no clean one; and under ``ITSELF`` the situation, so that walking a whole hand is a chain of look-ups.
    ``by_points`` says where a card leads by its place and points, which is all that matters of it here.
    """

    __slots__ = ("after", "betting", "by_points", "closed", "layout", "result", "status")

    def __init__(self, betting: str | None, layout: Layout, closed: bool) -> None:
        self.betting = betting
        self.layout = layout
        self.closed = closed
        self.status = "closed" if closed else "open"
        self.result = _result(layout) if layout.due is None else None
        self.after = _After({ITSELF: self})
        self.by_points: dict[tuple[Place, int], _After | None] = {}


class _After(dict[int | None, Any]):
    """Where the events lead; a card that was not seen in this situation yet leads where another of its points led."""

    __slots__ = ()

    def __missing__(self, token: int | None) -> Any:
        if token is None or not 0 <= token < CARD_TOKENS:
            raise KeyError(token)
        place, index = divmod(token, _CARDS)
        self[token] = after = self[ITSELF].by_points[PLACES[place], ALL_CARDS[index].value]
        return after


ITSELF: Final = -1
#: The cut card has no token, for the shoe has to hear of it: a hand is not looked up whole with it.
_CUT: Final = -2
START: Final = _Clean(None, EMPTY, False)
_CLEAN: Final[dict[_CleanKey, _Clean]] = {(None, EMPTY, None, False): START}


class HandFold:
    """One hand, folded event by event.

    ``step(seq, event)`` takes the next event of the hand (``seq``: its position at the table); ``audit()`` answers at
    any time. ``memo=False`` takes every step in full, for tests that compare the two.
    """

    __slots__ = (
        "_ask_from",
        "_bets",
        "_clean",
        "_learning",
        "_paid",
        "_state",
        "context",
        "counts",
        "number",
        "shoe",
        "spoiled",
        "trail",
    )

    def __init__(
        self,
        context: HandContext,
        memo: bool = True,
        counts: list[int] | None = None,
        asked_from: Sequence[int] | None = None,
    ) -> None:
        self.context = context
        self.shoe = context.shoe
        #: The hand's number in its shoe.
        self.number = context.hand
        #: How often each card was seen in the shoe, this hand included; the shoe's own list where it is given. Empty
        #: once the hand is left.
        self.counts = context.counts.copy() if counts is None else counts
        self._ask_from = ask_from(self.counts, context.decks) if asked_from is None else asked_from
        #: A line of the hand could not be read: it is not judged.
        self.spoiled = False
        #: The events that were taken.
        self.trail: list[tuple[int, Event]] = []
        #: The money beside a clean situation.
        self._bets: tuple[Placed, ...] = ()
        self._paid: tuple[tuple[int, Paid], ...] = ()
        self._clean: _Clean | None = START if memo and not context.after_last and not context.held else None
        self._state: _HandState | None = None if self._clean is not None else _HandState(context, self.counts)
        #: While the memo is learning: the state in full after so many events of the trail.
        self._learning: tuple[_HandState, int] | None = None

    @classmethod
    def of(cls, context: HandContext, events: Iterable[tuple[int, Event]], memo: bool = True) -> HandFold:
        """Fold a hand from its own events, late ones included. Raises :class:`EventRefused`."""
        left, context.left = context.left, None
        fold = cls(context, memo)
        for seq, event in events:
            if left is not None and seq > left and context.left is None:
                fold.leave(left)
            fold.step(seq, event)
        if left is not None and context.left is None:
            fold.leave(left)
        return fold

    @classmethod
    def of_clean(
        cls,
        context: HandContext,
        counts: list[int],
        asked_from: Sequence[int],
        trail: list[tuple[int, Event]],
        clean: _Clean,
    ) -> HandFold:
        """The fold of a hand whose events, ``trail``, led from one clean situation to the next, up to ``clean``.

        ``counts`` are the shoe's, with its cards; ``asked_from`` is as in :attr:`asked_from`.
        """
        fold = _new(cls)
        fold.context = context
        fold.shoe = context.shoe
        fold.number = context.hand
        fold.counts = counts
        fold._ask_from = asked_from
        fold.spoiled = False
        fold.trail = trail
        fold._bets = fold._paid = ()
        fold._clean = clean
        fold._state = fold._learning = None
        return fold

    def step(self, seq: int, event: Event) -> None:
        """Take the next event. Raises :class:`EventRefused` and leaves the fold as it was."""
        clean = self._clean
        if clean is not None:
            token = event.token
            if token is None and type(event) is CutCard:
                token = _CUT
            if token is not None:
                if token not in clean.after:
                    self._learn(clean, token, seq, event)
                after = clean.after.get(token)
                if after is not None and self._is_here(event):
                    self.trail.append((seq, event))
                    self._clean = after[ITSELF]
                    return
            elif self._take_money(clean, seq, event):
                return
        self._step_in_full(seq, event)

    def _is_here(self, event: Event) -> bool:
        """Whether an event with a token is of this hand and, if it is a card, one that can still come: it is counted
        then.
        """
        if event.hand != self.number or event.shoe != self.shoe:
            return False
        if type(event) is CardDealt:
            index, counts = event.card.index, self.counts  # type: ignore[union-attr]  # a card with a token is known
            if counts[index] >= self._ask_from[index]:
                card = ALL_CARDS[index]
                if is_spent(card, counts, self.context.decks):
                    return False
                if not card.suit:
                    self._ask_from = ASK_FOR_ALL
            counts[index] += 1
        return True

    def _take_money(self, clean: _Clean, seq: int, event: Event) -> bool:
        """Take a payment, or a bet that raises nothing, beside a clean situation; False for anything else."""
        if isinstance(event, Paid):
            self._paid += ((seq, event),)
        elif isinstance(event, Bet) and not clean.closed and event.bet not in INSURANCE_BETS:
            if bet_codes(event, self.context.ruleset, self.number, clean.betting, self._bets):
                return False
            self._bets += (Placed(event),)
        else:
            return False
        self.trail.append((seq, event))
        return True

    def _step_in_full(self, seq: int, event: Event) -> None:
        if self.spoiled:
            card = event.card if isinstance(event, CardDealt | Opened) else None
            if card is not None:
                self.counts[card.index] += 1
            return
        if self._state is None:
            self._state, self._clean = self._in_full(), None
        self._state.step(seq, event)
        self.trail.append((seq, event))

    def _in_full(self) -> _HandState:
        """The state in full, from the hand's own events."""
        if self.context.left is None:
            self.counts[:] = self.context.counts
        return self._replayed(self.counts or self.context.counts.copy())

    def _replayed(self, counts: list[int]) -> _HandState:
        state = _HandState(self.context, counts)
        for seq, event in self.trail:
            state.step(seq, event)
        return state

    def _learn(self, clean: _Clean, token: int, seq: int, event: Event) -> None:
        """Take the step in full once, and remember where it leads if that is a clean situation again."""
        points = None
        if type(event) is CardDealt and event.card is not None:
            points = (event.to, event.card.value)
            if points in clean.by_points:
                clean.after[token] = clean.by_points[points]
                return
        if self._learning is None:
            self._learning = (_HandState(self.context, self.context.counts.copy()), 0)
        state, known = self._learning
        for taken in self.trail[known:]:
            state.step(*taken)
        self._learning = None  # and kept below if the step can be taken: the hand then takes it too, or learns no more
        if points is not None and is_spent(ALL_CARDS[token % _CARDS], state.counts, state.context.decks):
            return  # the shoe holds no such card any more: true of this hand, not of the situation
        try:
            state.step(seq, event)
            key = state.clean_key()
            self._learning = (state, len(self.trail) + 1)
        except EventRefused:
            key = None
        following = None
        if key is not None:
            following = _CLEAN.get(key)
            if following is None:
                _CLEAN[key] = following = _Clean(key[0], key[1], key[3])
        clean.after[token] = after = None if following is None else following.after
        if points is not None:
            clean.by_points[points] = after

    def leave(self, seq: int) -> None:
        """The table went on, with the event at ``seq``, to the next hand or closed the shoe."""
        context, clean = self.context, self._clean
        if context.left is not None:
            return
        context.left, self._learning = seq, None
        self.counts = []  # they are the next hand's now
        if (clean is None or not clean.closed) and not self.spoiled:
            if self._state is None:
                self._state, self._clean = self._in_full(), None
            self._state.leave(self.trail[-1][0] if self.trail else seq)

    def spoil(self) -> None:
        """A line of this hand cannot be read: from now on it is kept, not judged."""
        if self._state is None:
            self._state, self._clean = self._in_full(), None
        self.spoiled = True

    def copy(self) -> HandFold:
        """An independent fold in the same state (of a hand that is judged), for what-if questions."""
        return HandFold.of(HandContext.from_json(self.context.to_json()), self.trail)

    def misplaced(self) -> tuple[tuple[int, Place, Place | None], ...]:
        """The cards that do not lie where the rules lay them, in the order drawn.

        Each as the position of the event that dealt it, where it lies, and where it belongs (None: beyond the hand).
        """
        if self._state is None:
            return ()
        cards = self._state.lay().places
        return tuple((drawn.seq, drawn.place, due) for drawn, due in cards if drawn.place and drawn.place != due)

    @property
    def held(self) -> tuple[Held, ...]:
        """The cards that the rules keep for the next hand."""
        return () if self._state is None or self.spoiled else self._state.held()

    @property
    def extra_to_burn(self) -> bool:
        """Whether an extra card lies there that the rules burn, or let a manager burn."""
        return self._state is not None and self._state.extra_to_burn() is not None

    @property
    def free(self) -> bool:
        """Whether the hand was dealt without betting."""
        if self._state is not None:
            return self._state.free and not self.spoiled
        clean = self._clean
        return clean is not None and clean.betting is None and not self._bets and clean.layout.drawn > 0

    @property
    def taken_out(self) -> tuple[Place, ...]:
        """Where cards still lie that a rule takes out of the hand."""
        if self._state is None:
            return ()
        return tuple(drawn.place for drawn in self._state.drawn if drawn.out and drawn.place is not None)

    @property
    def asked_from(self) -> Sequence[int]:
        """What :func:`~dealing.rules.cards.ask_from` says of the counts now."""
        return self._ask_from if self._state is None else ask_from(self.counts, self.context.decks)

    @property
    def open(self) -> bool:
        """True until the hand is closed or void."""
        if self._state is not None:
            return self._state.closed is None and self._state.void is None
        return self._clean is not None and not self._clean.closed

    def audit(self) -> HandAudit:
        """What the rules say of the hand as the log leaves it."""
        clean = self._clean
        if clean is not None:
            if self._bets or self._paid:
                return self._audit_with_money(clean)
            context, trail, layout = self.context, self.trail, clean.layout
            insurance = context.ruleset.insurance
            felt = _CleanFelt(_NOWHERE, (), trail, len(trail))
            return _make_audit(
                HandAudit,
                (
                    context.table,
                    context.shoe,
                    context.hand,
                    clean.status,
                    felt,
                    felt,
                    layout.due,
                    layout,
                    clean.result,
                    (),
                    None,
                    (),
                    {},
                    insurance_due(insurance, layout) if insurance else None,
                    (),
                ),
            )
        audit = cast(_HandState, self._state).audit()
        if self.spoiled:
            return audit._replace(
                status="unreadable",
                next_due=None,
                result=None,
                findings=(),
                ruling=None,
                settlement=(),
                insurance_due=None,
                wrong_payouts=(),
            )
        return audit

    def _audit_with_money(self, clean: _Clean) -> HandAudit:
        """The audit of a clean situation with bets or payments beside it."""
        ruleset, trail = self.context.ruleset, self.trail
        cards = {e.to: e.card for _, e in trail if type(e) is CardDealt and e.card is not None}
        seen = None if clean.result is None else outcome(clean.layout, cards)
        settlement = settle_bets(self._bets, ruleset, seen, void=False, no_insurance=False)
        findings: tuple[Finding, ...] = ()
        wrong: tuple[WrongPayout, ...] = ()
        if clean.result is not None:
            closed = next((seq for seq, e in reversed(trail) if type(e) is HandClosed), None)
            wrong = wrong_payouts(settlement, self._paid, closed)
            findings = tuple(payout_findings(ruleset, wrong))
        felt = _CleanFelt(_NOWHERE, (), trail, len(trail))
        return HandAudit(
            self.context.table,
            self.context.shoe,
            self.context.hand,
            clean.status,
            felt,
            felt,
            clean.layout.due,
            clean.layout,
            clean.result,
            findings,
            strongest(findings) if findings else None,
            settlement,
            paid_in_all(self._paid) if self._paid else {},
            insurance_due(ruleset.insurance, clean.layout) if ruleset.insurance else None,
            wrong,
        )


_new = cast(Callable[[type[HandFold]], HandFold], object.__new__)
_make_audit = cast(Callable[[type[HandAudit], tuple[object, ...]], HandAudit], tuple.__new__)


_NOWHERE: Final[Mapping[Place, tuple[str, ...]]] = {}


class _CleanFelt(Felt, eq=False, gc=False):
    """The cards of a clean hand, as far as the first ``upto`` events of its trail go: looked up when somebody looks."""

    trail: list[tuple[int, Event]] = []
    upto: int = 0

    @property
    def places(self) -> Mapping[Place, tuple[str, ...]]:
        """As :attr:`Felt.places`."""
        trail = self.trail[: self.upto]
        return {event.to: (str(event.card),) for _, event in trail if type(event) is CardDealt}

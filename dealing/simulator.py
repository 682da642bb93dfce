"""Deals shoes that never were: a seeded chance, real drawing rules, bets, and dealers who make mistakes.

``simulate_shoe`` gives the log of one shoe as a list of events. What is due, what insurance is offered and what a bet
is owed are asked of :mod:`dealing.rules` while it deals; the simulator knows no rule of its own. Every mistake that
the judge has a finding for can be made here by name (:class:`Mistake`), and may be put right in the log at once,
after the hand was closed, or when the next hand has begun.

Used by the demo data, the benchmarks and the property tests. No Django.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import msgspec

from dealing.rules.bets import BET_NAMES, INSURANCE_BETS
from dealing.rules.cards import CARDS, RANK_CARDS, Card
from dealing.rules.events import (
    Amended,
    Bet,
    BettingClosed,
    BettingOpened,
    BurnCard,
    Called,
    CardDealt,
    CardsBurned,
    CutCard,
    Discarded,
    Dropped,
    Event,
    Exposed,
    Extra,
    HandClosed,
    InsuranceClosed,
    InsuranceOdds,
    InsuranceOpened,
    Moved,
    Opened,
    Paid,
    ShoeClosed,
    ShoeOpened,
    Voided,
)
from dealing.rules.insurance import insurance_due
from dealing.rules.judge import HandFold, TableFold
from dealing.rules.rulesets import get_ruleset
from dealing.rules.tableau import EMPTY, OPENING, PLACES, Layout, Place, lay


class Mistake(StrEnum):
    """What can go wrong at a table.

    A dealer's mistake has the code of the finding it is meant to raise. The two typing mistakes are of the one who
    keeps the log, put right by ``amended``; they raise nothing. The last four are none but where a ruleset says so.
    """

    INITIAL_CARD_MISPLACED = "initial-card-misplaced"
    FIFTH_CARD_MISPLACED = "fifth-card-misplaced"
    SIXTH_CARD_MISPLACED = "sixth-card-misplaced"
    CARD_OVERDRAWN = "card-overdrawn"
    CARD_NOT_DRAWN = "card-not-drawn"
    EXTRA_CARD_EXPOSED = "extra-card-exposed"
    EXPOSED_DURING_BETTING = "exposed-during-betting"
    DEALT_DURING_BETTING = "dealt-during-betting"
    EXPOSED_DURING_DRAW = "exposed-during-draw"
    EXPOSED_AT_START = "exposed-at-start"
    OPENED_OUT_OF_TURN = "opened-out-of-turn"
    INSURANCE_NOT_DUE = "insurance-not-due"
    INSURANCE_DEALT_EARLY = "insurance-dealt-early"
    INSURANCE_ODDS_MISSING = "insurance-odds-missing"
    INSURANCE_ODDS_MISPLACED = "insurance-odds-misplaced"
    INSURANCE_ODDS_WRONG = "insurance-odds-wrong"
    INSURANCE_LATE_BET = "insurance-late-bet"
    WRONG_RESULT_CALLED = "wrong-result-called"
    BET_AFTER_CLOSE = "bet-after-close"
    OPPOSING_BETS = "opposing-bets"
    SIDE_BET_AFTER_LIMIT = "side-bet-after-limit"
    BET_NOT_OFFERED = "bet-not-offered"
    PAYOUT_WRONG = "payout-wrong"
    CARD_DROPPED = "card-dropped"
    CARD_DROPPED_OPENED = "card-dropped-opened"
    BURN_MISSING = "burn-missing"
    BURN_COUNT_WRONG = "burn-count-wrong"
    HAND_AFTER_LAST = "hand-after-last"
    CARD_IMPOSSIBLE = "card-impossible"
    HAND_INCOMPLETE = "hand-incomplete"
    TYPED_WRONG = "typed-wrong"
    TYPED_TWICE = "typed-twice"
    EXTRA_CARD_UNSEEN = "extra-card-unseen"
    HELD_CARD_NOT_DEALT = "held-card-not-dealt"
    CARD_SCAN_DIFFERS = "card-scan-differs"
    FREE_HAND_OVER_LIMIT = "free-hand-over-limit"


#: Mistakes made while a shoe is started: made once a shoe, wherever in a list of mistakes they stand.
AT_START: Final = frozenset(
    {Mistake.BURN_MISSING, Mistake.BURN_COUNT_WRONG, Mistake.EXPOSED_AT_START, Mistake.FREE_HAND_OVER_LIMIT}
)
#: Mistakes of the log keeper, amended in the log; the table did nothing wrong.
RECORDING: Final = frozenset({Mistake.TYPED_WRONG, Mistake.TYPED_TWICE})

#: How often things go wrong, a hand (a shoe for those at its start): a bad night, for demo data and tests.
USUAL_RATES: Final[dict[Mistake, float]] = dict.fromkeys(Mistake, 0.004) | {
    Mistake.CARD_IMPOSSIBLE: 0.0005,
    Mistake.CARD_DROPPED_OPENED: 0.0005,
    Mistake.HAND_AFTER_LAST: 0.05,
    Mistake.BURN_MISSING: 0.02,
    Mistake.BURN_COUNT_WRONG: 0.05,
    Mistake.EXPOSED_AT_START: 0.05,
    Mistake.FREE_HAND_OVER_LIMIT: 0.02,
}

#: Chances a hand, or what goes wrong in hand 1, 2, 3 ….
Mistakes = Mapping[Mistake, float] | Sequence[Mistake | None]

#: The cut card lies in front of so many cards.
CUT: Final = 14

_STAKES: Final = tuple(Decimal(stake) for stake in ("100.00", "200.00", "300.00", "500.00", "1000.00", "2500.00"))
_SIDE_STAKES: Final = tuple(Decimal(stake) for stake in ("20.00", "50.00", "100.00", "200.00"))
_ODDS: Final = tuple(Decimal(odds) for odds in ("1.5", "2", "3", "4", "8", "9"))
#: Side -> the bet that insures it.
_INSURANCE: Final = {side: bet for bet, side in INSURANCE_BETS.items()}
_THIRDS: Final[tuple[Place, Place]] = ("P3", "B3")

#: Seconds that an event takes, at least and at most; a hand comes to about half a minute.
_SECONDS: Final[dict[type[Event], tuple[float, float]]] = {
    ShoeOpened: (1, 2),
    BurnCard: (2, 4),
    CardsBurned: (6, 14),
    BettingOpened: (2, 3),
    Bet: (0.2, 2.0),
    BettingClosed: (1.5, 4),
    CardDealt: (0.7, 1.4),
    Opened: (0.6, 1.2),
    InsuranceOpened: (0.5, 1),
    InsuranceOdds: (0.5, 1.5),
    InsuranceClosed: (3, 5),
    Called: (0.8, 1.6),
    Paid: (0.4, 1.2),
    HandClosed: (1, 2),
    Amended: (2, 6),
    Moved: (3, 8),
    Discarded: (3, 8),
    Voided: (5, 20),
    ShoeClosed: (5, 20),
}


def simulate_shoe(
    table: str,
    shoe: int,
    ruleset: str,
    seed: int | random.Random,
    start: dt.datetime,
    mistakes: Mistakes = (),
    *,
    bets: bool = True,
    hands: int | None = None,
    decks: int = 8,
    first_seq: int = 1,
    by: str | None = None,
    repairs: float = 0.6,
    late: float = 0.4,
    face_down: float = 0.2,
    ranks_only: bool = False,
) -> list[Event]:
    """The log of one shoe, from ``shoe_opened`` to ``shoe_closed``.

    ``seed`` is a number, or a ``random.Random`` (Hypothesis' one too) that is drawn from. ``start`` must be aware;
    the times of the log have its offset and whole milliseconds. ``mistakes`` are either chances a hand, or a list:
    the mistake of hand 1, of hand 2 and so on (None: none). For a list the cards are shuffled again until the mistake
    fits the hand (a sixth card can go astray only where one is due); where it cannot fit at all, such as a limited
    side bet placed too late in the first hand, the hand is clean.

    ``hands`` ends the log after so many hands and leaves the shoe open. ``first_seq`` is the position of the first
    event in the log of the table, which amendments refer to. ``repairs`` is the share of mistakes that the log puts
    right itself, ``late`` the share of these that is put right only when the hand is closed; ``face_down`` the share
    of hands dealt face down. ``ranks_only`` records the cards by their rank, without their suit.
    """
    chance = seed if isinstance(seed, random.Random) else random.Random(seed)
    dealer = _Dealer(
        table, shoe, ruleset, chance, start, bets, decks, first_seq, by, repairs, late, face_down, ranks_only
    )
    return dealer.deal_shoe(mistakes, hands)


#: Records an event: its kind and its own keys.
_Note = Callable[..., None]
#: Puts something right, recording through what it is given.
_Act = Callable[[_Note], None]


class _Dealer:
    """One shoe being dealt and its log being kept."""

    def __init__(
        self,
        table: str,
        shoe: int,
        ruleset: str,
        chance: random.Random,
        start: dt.datetime,
        bets: bool,
        decks: int,
        first_seq: int,
        by: str | None,
        repairs: float,
        late: float,
        face_down: float,
        ranks_only: bool,
    ) -> None:
        self.table, self.shoe, self.by, self.decks, self.bets = table, shoe, by, decks, bets
        self.chance, self.repairs, self.late, self.face_down = chance, repairs, late, face_down
        self.ruleset = get_ruleset(ruleset)
        self.procedure = self.ruleset.procedure
        self.now = start.replace(microsecond=start.microsecond // 1000 * 1000)
        self.first_seq = first_seq
        self.log: list[Event] = []
        self.fold = TableFold(table)
        self.kinds = RANK_CARDS if ranks_only else CARDS
        self.copies = decks * (len(CARDS) // len(self.kinds))
        self.cards = [card for card in self.kinds for _ in range(self.copies)]
        chance.shuffle(self.cards)  # the next card out is the last of the list
        #: The cut card lies in front of so many cards: enough for the hands after it.
        self.cut = CUT + 6 * self.procedure.cut_card.more_hands
        self.cut_out = False
        self.last_hand: int | None = None  # once the cut card is out
        self.kept = 0  # cards that the rules keep for the next hand
        self.free_hands = 0  # how many are dealt without betting before the game begins
        self.seen: Counter[Card] = Counter()
        self.number: int | None = None
        self.closed_because = ""
        self.void_hands: set[int | None] = set()
        self.waiting: list[tuple[_Act, _Note]] = []  # what is decided when the next hand has begun

    # the log

    def _make(self, kind: type[Event], hand: int | None, values: Mapping[str, Any]) -> Event:
        low, high = _SECONDS.get(kind, (0.5, 1.5))
        self.now += dt.timedelta(milliseconds=self.chance.randint(int(low * 1000), int(high * 1000)))
        make: Callable[..., Event] = kind
        return make(at=self.now, table=self.table, shoe=self.shoe, hand=hand, by=self.by, **values)

    def _append(self, event: Event) -> int:
        self.log.append(event)
        return self.first_seq + len(self.log) - 1

    def _note(self, kind: type[Event], **values: Any) -> None:
        """It happened and was recorded."""
        event = self._make(kind, self.number, values)
        self.fold.step(self._append(event), event)

    def _note_on_left_hand(self, fold: HandFold, hand: int) -> _Note:
        """Like :meth:`_note`, for a hand that is over."""

        def note(kind: type[Event], **values: Any) -> None:
            event = self._make(kind, hand, values)
            seq = self._append(event)
            if kind is not Amended:  # the fold was told what really happened
                fold.step(seq, event)

        return note

    def _note_mistyped(self, wrong: Mapping[str, Any], kind: type[Event], *, at_once: bool, **values: Any) -> None:
        """It happened, but the recorder typed ``wrong``; amended at once, or when the hand is over."""
        right = self._make(kind, self.number, values)
        seq = self._append(msgspec.structs.replace(right, **wrong))
        self.fold.step(seq, right)
        amendment = {"seq": seq, "entry": right, "reason": "typed wrong"}
        if at_once:
            self._append(self._make(Amended, self.number, amendment))
        else:
            self.later.append(lambda note: note(Amended, **amendment))

    # the shoe

    def deal_shoe(self, mistakes: Mistakes, hands: int | None) -> list[Event]:
        """Deal until the cut card is out, ``hands`` are dealt, or the shoe is taken away."""
        at_start = self._start_mistakes(mistakes)
        self._start_shoe(at_start)
        if self.procedure.free_hands is not None:
            most = self.procedure.free_hands.most
            if Mistake.FREE_HAND_OVER_LIMIT in at_start:
                self.free_hands = most + 1
            elif isinstance(mistakes, Mapping) or not mistakes:  # a list says of each hand what is to happen in it
                self.free_hands = self.chance.randint(0, most)
        number = 0
        while not self.closed_because and (hands is None or number < hands):
            number += 1
            wanted = self._wanted(mistakes, number)
            if Mistake.HAND_AFTER_LAST in wanted and not self.cut_out:
                self._show_cut_card(None)
                while self.last_hand is not None and number <= self.last_hand:
                    self._deal_hand(number, set())
                    number += 1
            self._deal_hand(number, wanted)
            if not self.cut_out and len(self.cards) <= self.cut:
                self._show_cut_card(None)
            if self.last_hand is not None and number >= self.last_hand and not self.closed_because:
                if isinstance(mistakes, Mapping) and self._happens(mistakes.get(Mistake.HAND_AFTER_LAST, 0)):
                    self._deal_hand(number + 1, set())
                self.closed_because = "finished"
        self.number = None
        self._decide_waiting()
        if self.closed_because:
            self._note(ShoeClosed, reason=self.closed_because)
        return self.log

    def _start_mistakes(self, mistakes: Mistakes) -> set[Mistake]:
        if isinstance(mistakes, Mapping):
            rates = [(mistake, mistakes.get(mistake, 0)) for mistake in Mistake if mistake in AT_START]
            made = {mistake for mistake, rate in rates if self._known(mistake) and self._happens(rate)}
        else:
            made = {mistake for mistake in mistakes if mistake in AT_START}
        return {mistake for mistake in made if self._fits(mistake, 0)}

    def _known(self, mistake: Mistake) -> bool:
        """Whether the mistake is one by this ruleset."""
        return mistake in RECORDING or self.ruleset.raises(mistake)

    def _wanted(self, mistakes: Mistakes, number: int) -> set[Mistake]:
        """The mistakes to be made in this hand; it is one in which they can be made."""
        if isinstance(mistakes, Mapping):
            drawn = {mistake for mistake, rate in mistakes.items() if self._known(mistake) and self._happens(rate)}
            return {m for m in drawn if m not in AT_START | {Mistake.HAND_AFTER_LAST} and self._fits(m, number)}
        mistake = mistakes[number - 1] if number <= len(mistakes) else None
        if mistake is None or mistake in AT_START:
            return set()
        for _ in range(300):
            if self._fits(mistake, number):
                return {mistake}
            self.chance.shuffle(self.cards)
        return set()

    def _start_shoe(self, mistakes: set[Mistake]) -> None:
        self._note(ShoeOpened, ruleset=self.ruleset.name, decks=self.decks)
        burn, card = self.procedure.burn, None
        exposed = self.chance.choice(("start", "burn")) if Mistake.EXPOSED_AT_START in mistakes else None
        if exposed == "start" or (exposed and burn.by == "none"):
            self._note(Exposed, when="start")
        if Mistake.BURN_MISSING in mistakes or burn.by == "none":
            return
        if burn.by == "first-card":
            card = self._draw()
            self._note(BurnCard, card=card)
        count = burn.due(card, self.decks) or 0
        if Mistake.BURN_COUNT_WRONG in mistakes:
            count += self.chance.choice((-1, 1))
        if exposed == "burn":
            self._note(Exposed, when="burn", card=self.cards[-1])
        del self.cards[len(self.cards) - count :]
        self._note(CardsBurned, count=count)

    def _draw(self) -> Card:
        """The next card out, face up."""
        card = self.cards.pop()
        self.seen[card] += 1
        return card

    def _show_cut_card(self, hand: int | None) -> None:
        self.number = hand
        self._note(CutCard)
        self.cut_out = True
        self.last_hand = self.fold.shoe.last_hand if self.fold.shoe else None

    # chance and what it leads to

    def _happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def _course(self) -> list[Layout]:
        """The layouts of the coming hand after 0, 1, 2 … cards."""
        course = [EMPTY]
        for card in reversed(self.cards[-6:]):
            if course[-1].due is None:
                break
            course.append(course[-1].after[card.value])
        return course

    def _fits(self, mistake: Mistake, number: int) -> bool:
        """Whether the coming hand gives the occasion for a mistake."""
        course = self._course()
        drawn = course[-1].drawn
        match mistake:
            case Mistake.FIFTH_CARD_MISPLACED | Mistake.CARD_NOT_DRAWN | Mistake.OPENED_OUT_OF_TURN:
                return drawn >= 5
            case Mistake.SIXTH_CARD_MISPLACED:
                return drawn == 6
            case Mistake.CARD_OVERDRAWN:
                return drawn < 6
            case Mistake.INSURANCE_NOT_DUE:
                # Either no insurance is due with four cards, or it is opened on a misplaced fifth.
                return bool(self.ruleset.insurance)
            case (
                Mistake.INSURANCE_DEALT_EARLY
                | Mistake.INSURANCE_ODDS_MISSING
                | Mistake.INSURANCE_ODDS_MISPLACED
                | Mistake.INSURANCE_ODDS_WRONG
            ):
                return self._insures(course)
            case Mistake.INSURANCE_LATE_BET:
                return self.bets and self._insures(course)
            case Mistake.OPPOSING_BETS:
                return self.bets and "BET-opp" in self.ruleset.rules
            case Mistake.SIDE_BET_AFTER_LIMIT:
                return self.bets and bool(self._limited(number))
            case Mistake.BET_NOT_OFFERED | Mistake.BET_AFTER_CLOSE | Mistake.PAYOUT_WRONG | Mistake.TYPED_TWICE:
                return self.bets
            case Mistake.CARD_IMPOSSIBLE:
                return bool(self._spent())
            case Mistake.BURN_MISSING | Mistake.BURN_COUNT_WRONG:
                return self.procedure.burn.by != "none"
            case Mistake.FREE_HAND_OVER_LIMIT:
                return self.procedure.free_hands is not None
            case Mistake.HELD_CARD_NOT_DEALT | Mistake.CARD_SCAN_DIFFERS | Mistake.EXTRA_CARD_UNSEEN:
                return self._known(mistake)
            case _:
                return True

    def _insures(self, course: list[Layout]) -> bool:
        """Whether an insurance will be due when four cards are open."""
        return insurance_due(self.ruleset.insurance, course[4]) is not None

    def _offered(self, number: int) -> list[str]:
        """The bets that may be placed in this hand, insurance aside."""
        limited = self._limited(number)
        return [name for name in self.ruleset.bets if name not in limited and name not in INSURANCE_BETS]

    def _limited(self, number: int) -> list[str]:
        """The bets that this hand comes too late for."""
        return [name for name, bet in self.ruleset.bets.items() if bet.first_hands and number > bet.first_hands]

    def _spent(self) -> list[Card]:
        """The cards of which all copies have been seen."""
        return [card for card, seen in self.seen.items() if seen >= self.copies]

    def _makes(self, mistake: Mistake) -> bool:
        """Whether the mistake is made, now; each is made once a hand."""
        if mistake not in self.wanted:
            return False
        self.wanted.remove(mistake)
        return True

    def _put_right(self, act: _Act) -> None:
        """Put a mistake right at once, after the hand, or not at all."""
        if self._happens(self.repairs):
            if self._happens(self.late):
                self.later.append(self._unless_void(act))
            else:
                self._unless_void(act)(self._note)

    def _unless_void(self, act: _Act) -> _Act:
        """Nothing is put right any more in a hand that is void."""
        hand = self.number

        def act_unless_void(note: _Note) -> None:
            if hand not in self.void_hands:
                act(note)

        return act_unless_void

    # a hand

    def _deal_hand(self, number: int, wanted: set[Mistake]) -> None:
        self.number = number
        self.wanted = set(wanted)
        self.felt: dict[Place, list[int]] = {place: [] for place in PLACES}  # numbers of cards; the first to come first
        self.drawn: list[Card] = []  # the cards by their numbers
        self.face_down_now: list[int] = []
        self.layout = EMPTY
        self.main_bets: dict[int, str] = {}
        self.payments: list[tuple[int, str, Decimal]] = []
        self.later: list[_Act] = []
        self.after_last = self.last_hand is not None and number > self.last_hand
        self.insuring = False  # an insurance time is on
        self.is_over = False  # nothing more is dealt or paid
        if self._makes(Mistake.CARD_IMPOSSIBLE):
            self.cards[-self.chance.randint(1, 4) - self.kept] = self.chance.choice(self._spent())
        self.kept = 0
        self.mistyped_card = self.chance.randint(0, 3) if Mistake.TYPED_WRONG in wanted else -1
        self.mishandled_card = self.chance.randint(0, 3)
        self.scanned_wrong = self.mishandled_card if Mistake.CARD_SCAN_DIFFERS in wanted else -1
        steps = (
            self._take_bets,
            self._deal_opening,
            self._deal_thirds,
            self._deal_too_many,
            self._announce,
            self._pay,
        )
        for step in steps:
            step()
            if self.is_over:
                break
        self._close_hand()

    def _close_hand(self) -> None:
        fold = self.fold.hand
        if fold is None or self.number is None:  # cannot be: betting was opened
            raise RuntimeError("no hand to close")
        note_later = self._note_on_left_hand(fold, self.number)
        left_open = self._makes(Mistake.HAND_INCOMPLETE)
        if not left_open:
            self._note(HandClosed)
        for act in self.later:
            if left_open or self._happens(0.5):
                self.waiting.append((act, note_later))
            else:
                act(note_later)

    def _decide_waiting(self) -> None:
        """Decide what was left open of the hand before."""
        for act, note in self.waiting:
            act(note)
        self.waiting.clear()

    def _void(self, reason: str, *, replace_shoe: bool = False) -> _Act:
        """A decision: the hand is void, and what was paid is taken back."""
        hand, payments = self.number, self.payments

        def act(note: _Note) -> None:
            self.void_hands.add(hand)
            note(Voided, scope="hand", reason=reason)
            for seat, bet, amount in payments:
                if amount > 0:
                    note(Paid, seat=seat, bet=bet, amount=-amount)
            if hand == self.number:
                self.is_over = True
                if replace_shoe:
                    self.closed_because = "replaced"

        return act

    # betting

    def _take_bets(self) -> None:
        if (self.number or 0) <= self.free_hands:
            return
        self._note(BettingOpened)
        self._decide_waiting()
        if self.bets:
            for _ in range(self.chance.choice((1, 2, 2, 3, 3, 4, 6))):
                self._take_bet()
            self._take_wrong_bets()
        void = None
        if Mistake.EXPOSED_DURING_BETTING in self.wanted and self._rules("exposed-during-betting", "burn card"):
            self.wanted.remove(Mistake.EXPOSED_DURING_BETTING)
            self._show_and_burn()
        elif self._makes(Mistake.EXPOSED_DURING_BETTING):
            if self._happens(0.5):
                self._note(Exposed, when="betting", card=self.cards[-1])
            else:
                self._deal("P1")
            void = self._void("a card was seen while bets were taken")
        elif self._makes(Mistake.DEALT_DURING_BETTING):
            self._deal("P1", face="down")
        self._note(BettingClosed)
        if self._makes(Mistake.BET_AFTER_CLOSE):
            self._bet(self.chance.randint(1, 7), "tie")
        if void is not None:
            self._put_right(void)

    def _rules(self, code: str, ruling: str, *cases: str) -> bool:
        """Whether the rules demand this of a finding."""
        return self.ruleset.ruling_for(code, *cases).ruling == ruling

    def _show_and_burn(self) -> None:
        """A card is seen while bets are taken, and burned; another one takes its place."""
        if self._happens(0.5):
            self._note(Exposed, when="betting", card=self.cards[-1])
            self._burn_next()
        else:
            self._deal("P1")
            self._note(Discarded, place="P1")
            self.felt["P1"].clear()
            self.drawn.clear()
            self.layout = EMPTY

    def _burn_next(self) -> None:
        """The next card out is taken out of the game."""
        self._note(Extra, card=self._draw())
        self._note(Discarded, extra=True)

    def _keep(self, card: Card) -> None:
        """A card that came out is the next hand's first."""
        self.seen[card] -= 1
        self.cards.append(card)
        self.kept = 1

    def _take_bet(self) -> None:
        offered = self._offered(self.number or 0)
        seat = self.chance.randint(1, 7)
        if seat not in self.main_bets:
            self.main_bets[seat] = self.chance.choice(("player", "banker"))
            self._bet(seat, self.main_bets[seat])
        side_bets = [name for name in offered if name not in ("player", "banker")]
        if self._happens(0.3):
            self._bet(seat, self.chance.choice(side_bets))
        if isinstance(self.log[-1], Bet) and self._makes(Mistake.TYPED_TWICE):
            self._note_twice()

    def _note_twice(self) -> None:
        """The last bet is recorded twice, and the second entry withdrawn."""
        seq = self._append(msgspec.structs.replace(self.log[-1], key=None))
        self._append(self._make(Amended, self.number, {"seq": seq, "reason": "recorded twice"}))

    def _take_wrong_bets(self) -> None:
        if self._makes(Mistake.OPPOSING_BETS):
            seat, bet = next(iter(self.main_bets.items()))
            self._bet(seat, "banker" if bet == "player" else "player")
        if self._makes(Mistake.SIDE_BET_AFTER_LIMIT):
            self._bet(self.chance.randint(1, 7), self.chance.choice(self._limited(self.number or 0)))
        if self._makes(Mistake.BET_NOT_OFFERED):
            self._bet(
                self.chance.randint(1, 7),
                self.chance.choice([name for name in BET_NAMES if name not in self.ruleset.bets]),
            )
        if Mistake.PAYOUT_WRONG in self.wanted:
            winner = self._course()[-1].winner
            seat = next((seat for seat, bet in self.main_bets.items() if bet == winner), 9)
            self._bet(seat, winner)

    def _bet(self, seat: int, bet: str) -> None:
        stakes = _STAKES if bet in ("player", "banker") else _SIDE_STAKES
        self._note(Bet, seat=seat, bet=bet, stake=self.chance.choice(stakes))

    # cards

    def _deal(self, place: Place, face: str = "up") -> None:
        """The next card that belongs to this hand goes to ``place``."""
        if not self.cut_out and len(self.cards) <= self.cut:
            self._show_cut_card(self.number)
        card = self._draw()
        number = len(self.drawn)
        self.drawn.append(card)
        self.felt[place].append(number)
        self.layout = self.layout.after[card.value]
        if face == "down":
            self.face_down_now.append(number)
            if number == self.scanned_wrong and self._makes(Mistake.CARD_SCAN_DIFFERS):
                other = self.chance.choice([c for c in self.kinds if c.rank != card.rank])
                self._note(CardDealt, to=place, face="down", card=other)
            else:
                self._note(CardDealt, to=place, face="down")
        elif number == self.mistyped_card:
            self._note_mistyped_card(place, card)
        else:
            self._note(CardDealt, to=place, card=card)

    def _note_mistyped_card(self, place: Place, card: Card) -> None:
        self.wanted.discard(Mistake.TYPED_WRONG)
        alike = [c for c in self.kinds if c.rank == card.rank and c is not card]
        if self._happens(0.5) or not alike:
            other = self.chance.choice([c for c in self.kinds if c is not card])
            self._note_mistyped({"card": other}, CardDealt, at_once=True, to=place, card=card)
        else:  # the suit only: nobody sees it at once
            self._note_mistyped({"card": self.chance.choice(alike)}, CardDealt, at_once=False, to=place, card=card)

    def _open(self, number: int) -> None:
        """Turn up a card that lies face down."""
        self.face_down_now.remove(number)
        place = next(place for place, cards in self.felt.items() if number in cards)
        self._note(Opened, place=place, card=self.drawn[number])

    def _deal_opening(self) -> None:
        down = bool({Mistake.OPENED_OUT_OF_TURN, Mistake.CARD_SCAN_DIFFERS} & self.wanted) or (
            Mistake.TYPED_WRONG not in self.wanted and self._happens(self.face_down)
        )
        astray = self.chance.randint(1, 2) if self._makes(Mistake.INITIAL_CARD_MISPLACED) else None
        for number in range(len(self.drawn), 4):
            if number == self.mishandled_card and self._makes(Mistake.EXPOSED_DURING_DRAW):
                self._note(Exposed, when="drawing", card=self.cards[-1])
                if self._rules("exposed-during-draw", "burn card") and self._happens(self.repairs):
                    self._burn_next()
            if number == self.mishandled_card and self._makes(Mistake.CARD_DROPPED):
                self._note(Dropped, when="drawing", opened=False)
            free = [place for place in OPENING if not self.felt[place]]
            self._deal(free[1] if number == astray else free[0], face="down" if down else "up")
            if number == astray and self._happens(0.5):
                self._put_right(self._straighten())
                astray = None
        if astray is not None:
            self._put_right(self._straighten())
        turn = list(self.face_down_now)
        self.chance.shuffle(turn)
        if Mistake.OPENED_OUT_OF_TURN in self.wanted:
            turn.pop()
        for number in turn:
            self._open(number)
        if self._makes(Mistake.CARD_DROPPED_OPENED):
            self._note(Dropped, when="opening", opened=True, card=self.drawn[self.mishandled_card])
            self._put_right(self._void("an open card left the camera's view", replace_shoe=True))

    def _deal_thirds(self) -> None:
        self._insure(1)
        if self.layout.drawn == 4 and self.layout.due:
            self._deal_third()
        if self.layout.drawn == 5 and self.layout.due:
            self._insure(2)
        if self.layout.drawn == 5 and self.layout.due:
            self._deal_third()

    def _deal_third(self) -> None:
        """The fifth or the sixth card, if the dealer does not forget it."""
        due = self.layout.due
        if due is None:
            return
        last = self.layout.after[self.cards[-1].value].due is None
        if last and Mistake.CARD_NOT_DRAWN in self.wanted:
            return
        fifth = self.layout.drawn == 4
        uninsurable = fifth and not self.insuring and self._makes(Mistake.INSURANCE_NOT_DUE)
        swaps = fifth and self._makes(Mistake.SIXTH_CARD_MISPLACED)
        astray = (fifth and self._makes(Mistake.FIFTH_CARD_MISPLACED)) or uninsurable or swaps
        place = next((p for p in _THIRDS if (p == due) is not astray and not self.felt[p]), None)
        place = place or next((p for p in _THIRDS if not self.felt[p]), None)
        if place is None:
            return
        if self._makes(Mistake.OPENED_OUT_OF_TURN):
            self._deal(place, face="down")
            self._open(len(self.drawn) - 1)
            for number in tuple(self.face_down_now):
                self._open(number)
        else:
            self._deal(place)
        if uninsurable:
            self._sell_insurance(2, "banker")
        if place != due and not swaps:  # who swaps the fifth and the sixth has not noticed yet
            self._put_right(self._straighten())

    def _straighten(self) -> _Act:
        """A manager puts every card of the hand where it belongs."""
        felt, drawn = self.felt, self.drawn

        def act(note: _Note) -> None:
            for source, to in _moves(felt, drawn):
                note(Moved, source=source, to=to)

        return act

    def _deal_too_many(self) -> None:
        for number in tuple(self.face_down_now):
            self._open(number)
        free = [place for place in _THIRDS if not self.felt[place]]
        if self.layout.due is None and free and self._makes(Mistake.CARD_OVERDRAWN):
            place = self.chance.choice(free)
            if self._happens(0.3):  # unseen, it stays the first card of the next hand, unless a rule burns it
                self._note(CardDealt, to=place, face="down")
                if self._rules("card-overdrawn", "burn card", "down"):
                    self.cards.pop()
                    self._put_right(lambda note: note(Discarded, place=place))
                self.kept = int(self._rules("card-overdrawn", "reuse card", "down"))
            else:
                card = self._draw()
                self._note(CardDealt, to=place, card=card)
                if self._rules("card-overdrawn", "reuse card", "up"):
                    self._keep(card)
                else:
                    self._put_right(lambda note: note(Discarded, place=place))
        if not self.kept and self._makes(Mistake.EXTRA_CARD_EXPOSED):
            card = self._draw()
            self._note(Extra, card=card)
            if self._rules("extra-card-exposed", "reuse card"):
                self._keep(card)
            else:
                self._put_right(lambda note: note(Discarded, extra=True))
        if not self.kept and self._makes(Mistake.EXTRA_CARD_UNSEEN):
            self._note(Extra, face="down")
            if self._rules("extra-card-unseen", "burn card"):
                self.cards.pop()
                self._put_right(lambda note: note(Discarded, extra=True))
            self.kept = int(self._rules("extra-card-unseen", "reuse card"))
        if not self.kept and self._makes(Mistake.HELD_CARD_NOT_DEALT):
            self._forget_held()
        if self.after_last:
            self._put_right(self._void("dealt after the last hand of the shoe"))

    def _forget_held(self) -> None:
        """An extra card is to be kept for the next hand, and forgotten."""
        card = self._draw()
        self._note(Extra, card=card)
        other = next((n for n in range(len(self.cards) - 1, -1, -1) if self.cards[n].rank != card.rank), None)
        if other is not None:
            self.cards[-1], self.cards[other] = self.cards[other], self.cards[-1]
        self.kept = 1

    # insurance

    def _insure(self, window: int) -> None:
        due = insurance_due(self.ruleset.insurance, self.layout)
        if due is not None and due.window == window:
            if not self._is_spoiled():
                self._sell_insurance(window, due.side, due.odds)
        elif window == 1 and self.layout.drawn == 4 and self._makes(Mistake.INSURANCE_NOT_DUE):
            self._sell_insurance(1, "player")

    def _is_spoiled(self) -> bool:
        """Cards lie wrong: nobody sells insurance on them but by mistake."""
        return bool(_moves({place: list(numbers) for place, numbers in self.felt.items()}, self.drawn))

    def _sell_insurance(self, window: int, side: str, odds: Decimal | None = None) -> None:
        """One insurance time; ``odds`` are those due."""
        self._note(InsuranceOpened, window=window)
        self.insuring = True
        if odds is not None and not self._makes(Mistake.INSURANCE_ODDS_MISSING):
            other = "banker" if side == "player" else "player"
            placed = other if self._makes(Mistake.INSURANCE_ODDS_MISPLACED) else side
            if self._makes(Mistake.INSURANCE_ODDS_WRONG):
                odds = self.chance.choice([o for o in _ODDS if o != odds])
            self._note(InsuranceOdds, side=side, placed=placed, odds=odds)
        if self.bets and self.main_bets and self._happens(0.5):
            self._bet(self.chance.choice(list(self.main_bets)), _INSURANCE[side])
        if odds is not None and self._makes(Mistake.INSURANCE_DEALT_EARLY):
            self._deal_third()
        self._note(InsuranceClosed, window=window)
        self.insuring = False
        if odds is not None and self.bets and self._makes(Mistake.INSURANCE_LATE_BET):
            self._bet(self.chance.choice(list(self.main_bets)), _INSURANCE[side])

    # the result

    def _announce(self) -> None:
        layout = self.layout
        if self._makes(Mistake.WRONG_RESULT_CALLED):
            wrong = self.chance.choice([winner for winner in ("player", "banker", "tie") if winner != layout.winner])
            self._note(Called, winner=wrong)
            self._put_right(self._void("the wrong result was announced"))
            return
        self._call()
        if layout.due is not None and self._makes(Mistake.CARD_NOT_DRAWN) and self._happens(self.repairs):
            if self._happens(self.late):
                self.later.append(self._unless_void(self._void("a card was not drawn")))
            else:
                self._deal_third()
                self._call()

    def _call(self) -> None:
        self._note(Called, winner=self.layout.winner, player=self.layout.player, banker=self.layout.banker)

    def _pay(self) -> None:
        hand = self.fold.hand
        if hand is None:
            return
        for line in hand.audit().settlement:
            if not line.owed and not (line.returned and self._happens(0.5)):
                continue
            amount = line.owed or Decimal("0.00")
            if amount and self._makes(Mistake.PAYOUT_WRONG):
                self._pay_wrong(line.seat, line.bet, amount)
            else:
                self._pay_out(line.seat, line.bet, amount)

    def _pay_wrong(self, seat: int, bet: str, owed: Decimal) -> None:
        """Too little, too much, or nothing; the difference may follow."""
        paid = owed + self.chance.choice((-owed, Decimal("-5.00"), Decimal("50.00")))
        if paid:
            self._pay_out(seat, bet, paid)
        if self._happens(self.repairs):
            self.later.append(self._unless_void(lambda note: note(Paid, seat=seat, bet=bet, amount=owed - paid)))

    def _pay_out(self, seat: int, bet: str, amount: Decimal) -> None:
        self._note(Paid, seat=seat, bet=bet, amount=amount)
        self.payments.append((seat, bet, amount))


def _moves(felt: dict[Place, list[int]], drawn: Sequence[Card]) -> list[tuple[Place, Place]]:
    """Put the cards on the felt where the rules lay them: the moves (from, to) in order; ``felt`` is changed.

    ``felt`` names the cards by their position in ``drawn``. Whoever lay at a place first is the next to leave it, so
    two cards are swapped by two moves.
    """
    right = lay(card.value for card in drawn)[1]
    moves: list[tuple[Place, Place]] = []

    def target(place: Place) -> Place | None:
        to = right[felt[place][0]] if felt[place] else None
        return None if to == place else to

    source: Place | None = next((place for place in PLACES if target(place)), None)
    while source is not None:
        to = target(source)
        if to is None:
            source = next((place for place in PLACES if target(place)), None)
            continue
        felt[to].append(felt[source].pop(0))
        moves.append((source, to))
        source = to
    return moves

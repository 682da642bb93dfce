"""The judge: folds a table's log into hands and shoes, one event at a time.

``TableFold.step`` is what live play calls; ``replay`` folds a whole log with its amendments and late decisions; both
come to the same. Positions (``seq``) count the events of the table from 1.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec

from dealing.rules.audit import Finding, HandAudit, Result, Settlement, ruled, strongest
from dealing.rules.cards import (
    ALL_CARDS,
    ASK_FOR_ALL,
    Card,
    ask_from,
    counts_from_json,
    counts_to_json,
    is_spent,
    no_counts,
)
from dealing.rules.events import (
    CARD_TOKENS,
    Amended,
    BurnCard,
    CardsBurned,
    CutCard,
    Dropped,
    Event,
    EventError,
    Exposed,
    HandClosed,
    ShoeClosed,
    ShoeOpened,
)
from dealing.rules.hand import ITSELF, LATE, REFUSALS, START, EventRefused, HandContext, HandFold, Held
from dealing.rules.rulesets import Ruleset, get_ruleset

__all__ = [
    "FROM_SHEET",
    "LATE",
    "REFUSALS",
    "Effective",
    "EventRefused",
    "Finding",
    "FoldedTable",
    "HandAudit",
    "HandContext",
    "HandFold",
    "Held",
    "Result",
    "Settlement",
    "ShoeAudit",
    "ShoeFold",
    "TableFold",
    "effective",
    "fold_all",
    "replay",
    "strongest",
]


#: So begins the `by` of a shoe's opening that was read from a spreadsheet. A sheet of hands has no column for the burn,
#: and is no witness that it was left out: the burn of such a shoe is not judged, unless it is recorded.
FROM_SHEET: Final = "sheet:"


class ShoeAudit(NamedTuple):
    """What the rules say of a shoe beside its hands.

    ``cards_seen``: cards whose face was seen. ``hands``: hands begun. ``burn_due``: how many cards the burn card asks
    for.
    """

    table: str
    shoe: int
    findings: tuple[Finding, ...]
    ruling: str | None
    cards_seen: int
    hands: int
    burn_due: int | None

    def as_dict(self) -> dict[str, object]:
        """The JSON object of a shoe that ``audit_log`` prints."""
        return {
            "table": self.table,
            "shoe": self.shoe,
            "hand": None,
            "findings": [finding.as_dict() for finding in self.findings],
            "cards_seen": self.cards_seen,
            "hands": self.hands,
        }


class _ShoeFinding(msgspec.Struct):
    """A finding of the shoe as it was raised."""

    code: str
    seq: list[int]
    cards: list[str] = []
    case: str = ""
    corrected: bool = False


class ShoeFold:
    """One shoe of one table: the burn, the cut card, the cards seen, and which hands were dealt from it (section 4)."""

    def __init__(self, table: str, number: int, ruleset: Ruleset, decks: int) -> None:
        self.table = table
        self.number = number
        self.ruleset = ruleset
        self.decks = decks
        #: How often each card was seen, by its index.
        self.counts = no_counts()
        self.burn_card: Card | None = None
        self.burned: int | None = None
        #: The number of the newest hand; 0 before the first.
        self.hand = 0
        self.hands = 0
        #: The number of the last hand that may be dealt, once the cut card is out (SHOE-last).
        self.last_hand: int | None = None
        #: Why the shoe was closed; None while it is open.
        self.closed: str | None = None
        #: The line that opened the shoe could not be read: its hands are not judged.
        self.spoiled = False
        #: A line of the shoe before its first hand could not be read: the burn is not judged.
        self.burn_spoiled = False
        #: Whoever kept the record would not have noted the burn or the betting: what is missing means nothing.
        self.burn_unwitnessed = False
        #: Where the house limits hands without betting: whether one with betting was dealt, and where the hands before
        #: that began.
        self.bet_on = False
        self.free: list[int] = []
        self._raised: list[_ShoeFinding] = []

    @property
    def burn_due(self) -> int | None:
        """How many cards are to be burned (SHOE-burn); None while it is not known, or where no rule says."""
        return self.ruleset.procedure.burn.due(self.burn_card, self.decks)

    def context(self, hand: int, held: tuple[Held, ...] = ()) -> HandContext:
        """What a hand begun now takes from the shoe; ``held`` are the cards that the hand before left for it."""
        after_last = self.last_hand is not None and hand > self.last_hand
        counts = self.counts.copy()
        return HandContext(self.table, self.number, hand, self.ruleset, self.decks, after_last, counts, held=held)

    def begin_hand(self, seq: int, hand: int) -> None:
        """A hand begins with the event at ``seq``."""
        if self.hands == 0 and not self.spoiled:
            missing = self.ruleset.procedure.burn.missing(self.burn_card, self.burned)
            unwitnessed = self.burn_unwitnessed and self.burn_card is None and self.burned is None
            if missing and not unwitnessed and not self.burn_spoiled:
                self._raised.append(_ShoeFinding("burn-missing", [seq]))
            for raised in self._raised:
                if not raised.corrected:
                    raised.case = ""
        self.hand = hand
        self.hands += 1

    def leave_hand(self, hand: HandFold) -> None:
        """The table left a hand: where hands without betting are limited, those too many are found."""
        limit = self.ruleset.procedure.free_hands
        if limit is None or hand.spoiled or self.burn_unwitnessed:
            return
        if hand.free:
            began = hand.trail[0][0]
            if self.bet_on:  # no longer at the start of the shoe
                self._raised.append(_ShoeFinding("free-hand-over-limit", [began]))
            else:
                self.free.append(began)
        elif not self.bet_on:
            self.bet_on = True
            self._raised += [_ShoeFinding("free-hand-over-limit", [began]) for began in self.free[limit.most :]]

    def cut(self, hand: int | None) -> None:
        """The cut card came out, in a hand or (None) after the newest (SHOE-last)."""
        self.last_hand = (self.hand if hand is None else hand) + self.ruleset.procedure.cut_card.more_hands

    def step(self, seq: int, event: Event) -> None:
        """Take an event of the shoe. Raises :class:`EventRefused` and leaves the fold as it was."""
        if isinstance(event, BurnCard):
            if self.burn_card is not None:
                raise EventRefused("event", "burn-card-known")
            if self.hands:
                raise EventRefused("event", "hands-dealt")
            self.burn_card = event.card
            self._see(seq, event.card)
            self._check_burn(seq)
        elif isinstance(event, CardsBurned):
            self.burned = (self.burned or 0) + event.count
            if not self.hands:
                self._check_burn(seq)
        elif isinstance(event, CutCard):
            if self.last_hand is not None:
                raise EventRefused("event", "cut-card-out")
            self.cut(event.hand)
        elif isinstance(event, Exposed):
            code = {"betting": "exposed-during-betting", "drawing": "extra-card-exposed"}.get(
                event.when, "exposed-at-start"
            )
            self._raise(code, seq, event.card)
        elif isinstance(event, Dropped):
            self._raise("card-dropped-opened" if event.opened else "card-dropped", seq, event.card)
        elif isinstance(event, ShoeClosed):
            self.closed = event.reason
        else:
            raise EventRefused("event", "amendment")

    def _raise(self, code: str, seq: int, card: Card | None) -> None:
        self._raised.append(_ShoeFinding(code, [seq], [] if card is None else [card.text]))

    def _see(self, seq: int, card: Card) -> None:
        spent = is_spent(card, self.counts, self.decks)
        self.counts[card.index] += 1
        if spent:
            self._raise("card-impossible", seq, card)

    def _check_burn(self, seq: int) -> None:
        """The cards burned against the burn card (SHOE-burn); more burned before the first hand puts a short burn
        right.
        """
        if self.burn_due is None or self.burned is None or self.burn_spoiled:
            return
        raised = next((r for r in self._raised if r.code == "burn-count-wrong"), None)
        if raised is not None:
            raised.seq.append(seq)
            raised.corrected = self.burned == self.burn_due
        elif self.burned != self.burn_due:
            self._raised.append(_ShoeFinding("burn-count-wrong", [seq], case="before-first-hand"))

    def audit(self) -> ShoeAudit:
        """What the rules say of the shoe as the log leaves it."""
        findings = [
            ruled(
                raised.code,
                raised.seq,
                raised.cards,
                raised.corrected,
                self.ruleset.ruling_for(raised.code, raised.case),
                raised.case,
            )
            for raised in self._raised
        ]
        findings.sort(key=lambda finding: finding.seq[0])
        return ShoeAudit(
            self.table, self.number, tuple(findings), strongest(findings), sum(self.counts), self.hands, self.burn_due
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data that :meth:`from_json` reads: everything the fold needs to go on."""
        return {
            "table": self.table,
            "number": self.number,
            "ruleset": self.ruleset.name,
            "decks": self.decks,
            "counts": counts_to_json(self.counts),
            "burn_card": self.burn_card and self.burn_card.text,
            "burned": self.burned,
            "hand": self.hand,
            "hands": self.hands,
            "last_hand": self.last_hand,
            "closed": self.closed,
            "raised": msgspec.to_builtins(self._raised),
            **({"burn_unwitnessed": True} if self.burn_unwitnessed else {}),
            **({"bet_on": True} if self.bet_on else {}),
            **({"free": self.free.copy()} if self.free else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ShoeFold:
        """The fold that :meth:`to_json` wrote."""
        shoe = cls(data["table"], data["number"], get_ruleset(data["ruleset"]), data["decks"])
        shoe.counts = counts_from_json(data["counts"])
        shoe.burn_card = Card.parse(data["burn_card"]) if data["burn_card"] else None
        shoe.burned = data["burned"]
        shoe.hand = data["hand"]
        shoe.hands = data["hands"]
        shoe.last_hand = data["last_hand"]
        shoe.closed = data["closed"]
        shoe._raised = msgspec.convert(data["raised"], list[_ShoeFinding])
        shoe.burn_unwitnessed = data.get("burn_unwitnessed", False)
        shoe.bet_on = data.get("bet_on", False)
        shoe.free = list(data.get("free", ()))
        return shoe


_CARDS: Final = len(ALL_CARDS)
_CLOSES: Final = HandClosed.token
#: A hand number beyond all.
_AFTER_ALL_HANDS: Final = 10**9

Left = tuple[HandFold | ShoeFold, ...]
_NOTHING: Final[Left] = ()


class TableFold:
    """The fold of one table's log: the current shoe and the current hand.

    A closed hand stays current until the next begins or its shoe is closed. ``memo=False`` takes every step of every
    hand in full. ``ruleset`` judges by that one whatever the log names.
    """

    __slots__ = ("hand", "memo", "ruleset", "shoe", "table")

    def __init__(self, table: str, memo: bool = True, ruleset: Ruleset | None = None) -> None:
        self.table = table
        self.memo = memo
        self.ruleset = ruleset
        self.shoe: ShoeFold | None = None
        self.hand: HandFold | None = None

    @classmethod
    def resume(cls, table: str, shoe: ShoeFold | None, hand: HandFold | None) -> TableFold:
        """Go on from a stored shoe and hand. The hand's counts are the shoe's from here on."""
        fold = cls(table)
        fold.shoe, fold.hand = shoe, hand
        if shoe is not None and hand is not None:
            shoe.counts = hand.counts
        return fold

    def step(self, seq: int, event: Event) -> Left:
        """Take the next event of the table; returns the hand, or hand and shoe, that the table has left with it.

        Raises :class:`EventRefused` where the event cannot have happened, and :class:`EventError` where the ruleset it
        names is unknown; the fold is then as it was. Times are not compared here: see ``dealing.log`` and
        ``dealing.logfile``, which see the lines as they were written.
        """
        number, hand, shoe = event.hand, self.hand, self.shoe
        if number is None:
            return self._shoe_event(seq, event)
        if shoe is None or event.shoe != shoe.number:
            raise self._no_shoe(event)
        if type(event) is CutCard and shoe.last_hand is not None:
            raise EventRefused("event", "cut-card-out")
        left = _NOTHING
        if hand is not None and hand.number == number:
            hand.step(seq, event)
        else:
            left = self._begin(seq, event, shoe, number)
        if type(event) is CutCard:
            shoe.cut(number)
        return left

    def steps(self, events: Iterable[tuple[int, Event]]) -> Iterator[HandFold | ShoeFold]:
        """:meth:`step` for many events: yields what the table leaves, as it leaves it.

        A clean hand is looked up as a whole; the fold may then be a hand ahead of what was yielded. Raises as
        :meth:`step` does, with ``at_seq`` set to the position of the event at fault.
        """
        log = list(events)
        at, end = 0, len(log)
        while at < end:
            hand = self.hand
            if self.memo and (hand is None or not hand.open):
                at = yield from self._clean_hands(log, at)
                if at == end:
                    return
            seq, event = log[at]
            at += 1
            try:
                left = self.step(seq, event)
            except EventError as error:
                raise _at(seq, error) from None
            yield from left

    def _clean_hands(self, log: list[tuple[int, Event]], at: int) -> Generator[HandFold, None, int]:
        """Take the hands that ``log`` holds one after the other from index ``at`` on, as long as each is whole and
        clean: each of its events leads from one known clean situation to the next, until it is closed.

        Yields what the table leaves for them, and returns the index of the first event that was not taken.
        """
        shoe, fold, start = self.shoe, self.hand, START.after
        if shoe is None or shoe.closed is not None or shoe.spoiled or (fold is not None and fold.held):
            return at
        number, ruleset, decks, behind, counts = shoe.number, shoe.ruleset, shoe.decks, shoe.hand, shoe.counts
        limited = ruleset.procedure.free_hands is not None
        upto = _AFTER_ALL_HANDS if shoe.last_hand is None else shoe.last_hand
        asked_from = ask_from(counts, decks) if fold is None else fold.asked_from
        rest: Any = iter(log)
        rest.__setstate__(at)  # what unpickling a list's iterator does
        left, size, of_clean = rest.__length_hint__, len(log), HandFold.of_clean
        while True:
            before, hand, situation = counts.copy(), 0, start
            try:
                for _, event in rest:
                    token = event.token
                    situation = situation[token]  # KeyError: not known, or no event of a clean hand
                    if event.hand != hand:
                        if hand or not behind < event.hand <= upto:
                            raise KeyError
                        hand = event.hand
                    if event.shoe != number:
                        raise KeyError
                    if token < CARD_TOKENS:
                        index = token % _CARDS
                        seen = counts[index]
                        if seen >= asked_from[index]:
                            if is_spent(ALL_CARDS[index], counts, decks):
                                raise KeyError
                            if not ALL_CARDS[index].suit:
                                asked_from = ASK_FOR_ALL
                        counts[index] = seen + 1
                    elif token == _CLOSES:
                        clean = situation[ITSELF]
                        break
                else:
                    raise KeyError
            except (KeyError, TypeError):  # TypeError: known to lead out of the clean situations
                counts[:] = before
                return at
            seq, was, stop = log[at][0], fold, size - left()
            context = HandContext(self.table, number, hand, ruleset, decks, False, before)
            self.hand = fold = of_clean(context, counts, asked_from, log[at:stop], clean)
            shoe.begin_hand(seq, hand)
            at, behind = stop, hand
            if was is not None:
                was.leave(seq)
                if limited:
                    shoe.leave_hand(was)
                yield was

    def _no_shoe(self, event: Event) -> EventRefused:
        if self.shoe is not None and event.shoe < self.shoe.number:
            return EventRefused("shoe", "shoe-left", shoe=event.shoe, last=self.shoe.number)
        return EventRefused("shoe", "no-shoe", shoe=event.shoe)

    def _begin(self, seq: int, event: Event, shoe: ShoeFold, number: int) -> Left:
        if shoe.closed is not None:
            raise EventRefused("shoe", "shoe-closed", shoe=shoe.number)
        if number <= shoe.hand:
            raise EventRefused("hand", "hand-behind", hand=number, last=shoe.hand)
        before = self.hand  # in the same shoe
        asked_from, held = (None, ()) if before is None else (before.asked_from, before.held)
        hand = HandFold(shoe.context(number, held), self.memo, shoe.counts, asked_from)
        if shoe.spoiled:
            hand.spoil()
        hand.step(seq, event)
        left = self._leave(seq)
        shoe.begin_hand(seq, number)
        self.hand = hand
        return left

    def _leave(self, seq: int) -> Left:
        hand, self.hand = self.hand, None
        if hand is None:
            return _NOTHING
        hand.leave(seq)
        if self.shoe is not None and self.shoe.ruleset.procedure.free_hands is not None:
            self.shoe.leave_hand(hand)
        return (hand,)

    def _shoe_event(self, seq: int, event: Event) -> Left:
        shoe = self.shoe
        if isinstance(event, ShoeOpened):
            left = self._open(seq, event.shoe, self.ruleset or get_ruleset(event.ruleset), event.decks)
            cast(ShoeFold, self.shoe).burn_unwitnessed = event.by is not None and event.by.startswith(FROM_SHEET)
            return left
        if shoe is None or event.shoe != shoe.number:
            raise self._no_shoe(event)
        if shoe.closed is not None:
            raise EventRefused("shoe", "shoe-closed", shoe=shoe.number)
        shoe.step(seq, event)
        if not isinstance(event, ShoeClosed):
            return _NOTHING
        return (*self._leave(seq), shoe)

    def _open(self, seq: int, number: int, ruleset: Ruleset, decks: int) -> Left:
        shoe = self.shoe
        if shoe is not None and number <= shoe.number:
            code = "shoe-opened" if number == shoe.number else "shoe-behind"
            raise EventRefused("shoe", code, shoe=number, last=shoe.number)
        left: Left = _NOTHING
        if shoe is not None and shoe.closed is None:
            left = (*self._leave(seq), shoe)
        self.shoe, self.hand = ShoeFold(self.table, number, ruleset, decks), None
        return left

    def spoil(self, seq: int, shoe: int | None, hand: int | None) -> Left:
        """A line could not be read: the hand it belongs to is not judged (status ``unreadable``).

        ``shoe`` and ``hand`` are what the line says of itself; where it names no shoe it is taken to be of the current
        hand. A shoe that was never opened readably is begun unjudged. Returns what was left, as :meth:`step` does.
        """
        left: Left = _NOTHING
        if shoe is not None and (self.shoe is None or shoe > self.shoe.number):
            left = self._open(seq, shoe, self.ruleset or get_ruleset("standard"), 8)
            cast(ShoeFold, self.shoe).spoiled = True
        current = self.shoe
        if current is None or (shoe is not None and shoe < current.number):
            return left
        if hand is None or current.closed is not None:
            if shoe is None and self.hand is not None and self.hand.open:
                self.hand.spoil()
            elif current.hands == 0:
                current.burn_spoiled = True
            return left
        if self.hand is not None and self.hand.context.hand == hand:
            self.hand.spoil()
        elif hand > current.hand:
            fold = HandFold(current.context(hand), self.memo, current.counts)
            fold.spoil()
            left = (*left, *self._leave(seq))
            current.begin_hand(seq, hand)
            self.hand = fold
        return left


# --- whole logs ------------------------------------------------------------------------------------------------------


class Effective(NamedTuple):
    """A log as the audit reads it: ``events`` with amendments applied, and the ``late`` ones by (shoe, hand)."""

    events: list[tuple[int, Event]]
    late: dict[tuple[int, int], list[tuple[int, Event]]]


def check_amendment(seq: int, amended: Amended, target: Event | None) -> None:
    """Whether an amendment at position ``seq`` may replace the entry ``target`` (None: there is none at its ``seq``).

    Raises :class:`EventRefused`.
    """
    if target is None or amended.seq >= seq:
        raise EventRefused("seq", "no-entry", seq=amended.seq)
    if isinstance(target, Amended):
        raise EventRefused("seq", "entry-is-amendment", seq=amended.seq)
    if (target.shoe, target.hand) != (amended.shoe, amended.hand):
        raise EventRefused("seq", "entry-of-other-hand", seq=amended.seq)


def effective(events: Iterable[tuple[int, Event]]) -> Effective:
    """Apply the amendments of a table's (or one whole shoe's) events, and set late decisions apart.

    An event is late when the table was already at a later hand, or the shoe was closed. Raises :class:`EventRefused`
    for an amendment of nothing.
    """
    raw = list(events)
    kinds = {type(event) for _, event in raw}
    if Amended in kinds:
        raw = _amended(raw)
    elif kinds.isdisjoint(LATE):
        return Effective(raw, {})
    out = Effective([], {})
    keep = out.events.append
    at_shoe = at_hand = 0
    for numbered in raw:
        event = numbered[1]
        shoe, hand, kind = event.shoe, event.hand or 0, type(event)
        if kind is ShoeClosed:
            hand = _AFTER_ALL_HANDS
        if shoe > at_shoe or (shoe == at_shoe and hand >= at_hand):
            at_shoe, at_hand = shoe, hand
        elif kind in LATE and event.hand is not None:
            out.late.setdefault((shoe, event.hand), []).append(numbered)
            continue
        keep(numbered)
    return out


def _amended(raw: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    """The events with their amendments applied, and without these."""
    by_seq = dict(raw)
    entries: dict[int, Event | None] = {}
    for seq, event in raw:
        if isinstance(event, Amended):
            check_amendment(seq, event, by_seq.get(event.seq))
            entries[event.seq] = event.entry
    out = []
    for seq, event in raw:
        entry = entries.get(seq, event)
        if entry is not None and type(event) is not Amended:
            out.append((seq, entry))
    return out


def replay(table: str, events: Iterable[tuple[int, Event]], memo: bool = True) -> Iterator[HandFold | ShoeFold]:
    """Fold all events of a table, or of whole shoes of it: yields each hand and each shoe in log order, the current
    last.

    Raises :class:`EventRefused` (with ``at_seq`` set to the position of the event that cannot have happened).
    """
    log = effective(events)
    fold = TableFold(table, memo)
    yield from _with_late(fold.steps(log.events), log.late)
    rest: list[HandFold | ShoeFold] = [] if fold.hand is None else [fold.hand]
    if fold.shoe is not None and fold.shoe.closed is None:
        rest.append(fold.shoe)
    yield from _with_late(rest, log.late)
    for (shoe, hand), late in log.late.items():
        raise _at(late[0][0], EventRefused("hand", "no-hand", shoe=shoe, hand=hand))


def _with_late(
    folds: Iterable[HandFold | ShoeFold], late: dict[tuple[int, int], list[tuple[int, Event]]]
) -> Iterator[HandFold | ShoeFold]:
    for fold in folds:
        if isinstance(fold, HandFold):
            for seq, event in late.pop((fold.context.shoe, fold.context.hand), ()):
                try:
                    fold.step(seq, event)
                except EventError as error:
                    raise _at(seq, error) from None
        yield fold


def _at(seq: int, error: EventError) -> EventError:
    error.at_seq = seq
    return error


class FoldedTable(NamedTuple):
    """A whole table folded: hands and shoes in log order."""

    folds: tuple[HandFold | ShoeFold, ...]

    @property
    def audits(self) -> list[HandAudit | ShoeAudit]:
        """What the rules say of each hand and shoe, in log order."""
        return [fold.audit() for fold in self.folds]


def fold_all(table: str, events: Iterable[tuple[int, Event]], memo: bool = True) -> FoldedTable:
    """Fold a table's events in memory. Raises :class:`EventRefused` as :func:`replay` does."""
    return FoldedTable(tuple(replay(table, events, memo)))

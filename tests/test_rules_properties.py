"""What holds for every log, however the dealer dealt: live = whole = read again, with the memo and without it.

Two sources of logs: the simulator (real shoes with a dealer's mistakes), and a table where almost anything happens that
can happen (:func:`tables`), which reaches combinations no dealer would.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from dealing.rules.bets import BET_NAMES, INSURANCE_BETS
from dealing.rules.cards import ALL_CARDS, Card
from dealing.rules.events import (
    EVENTS,
    SHOE_EVENTS,
    Amended,
    BurnCard,
    CardDealt,
    Event,
    EventError,
    Opened,
    format_event,
    parse_event,
    parse_line,
)
from dealing.rules.findings import CATALOGUE
from dealing.rules.judge import (
    LATE,
    EventRefused,
    FoldedTable,
    HandAudit,
    HandContext,
    HandFold,
    Settlement,
    ShoeAudit,
    ShoeFold,
    TableFold,
    effective,
    fold_all,
    strongest,
)
from dealing.rules.rulesets import get_ruleset
from dealing.rules.tableau import PLACES, lay
from dealing.simulator import USUAL_RATES, Mistake, simulate_shoe

TABLE = "B07"
START = dt.datetime(2026, 11, 28, 20, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))
RULESETS = ["insurance", "standard", "commission", "macau", "melilla", "studio", "venezia"]
Numbered = tuple[int, Event]


# --- A table where almost anything happens ----------------------------------------------------------------------------


class Live:
    """A table as it is recorded: one event at a time, late decisions on their own hand, amendments by folding again.

    ``stored``: everything is put away as plain data and taken up again after each event, as a database does.
    """

    def __init__(self, stored: bool = False) -> None:
        self.stored = stored
        self.events: list[Numbered] = []
        self.fold = TableFold(TABLE)
        self.left: list[HandFold | ShoeFold] = []

    def take(self, event: Event) -> None:
        """Record an event; raises EventError and changes nothing where that cannot be."""
        seq = len(self.events) + 1
        if event.name == "amended":
            self._again([*self.events, (seq, event)])
        elif (hand := self._late(event)) is not None:
            hand.step(seq, event)
        else:
            self.left += self.fold.step(seq, event)
        self.events.append((seq, event))
        if self.stored:
            self._store()

    def _late(self, event: Event) -> HandFold | None:
        if type(event) not in LATE:
            return None
        hands = (fold for fold in self.left if isinstance(fold, HandFold))
        return next((h for h in hands if (h.context.shoe, h.context.hand) == (event.shoe, event.hand)), None)

    def _again(self, events: list[Numbered]) -> None:
        """Fold everything again, as the log reads now."""
        log = effective(events)
        fold, left = TableFold(TABLE), list[HandFold | ShoeFold]()
        for seq, event in log.events:
            left += fold.step(seq, event)
        hands = [f for f in (*left, fold.hand) if isinstance(f, HandFold)]
        for (shoe, number), late in log.late.items():
            hand = next((h for h in hands if (h.context.shoe, h.context.hand) == (shoe, number)), None)
            if hand is None:
                raise EventRefused("hand", "no-hand", shoe=shoe, hand=number)
            for seq, event in late:
                hand.step(seq, event)
        self.fold, self.left = fold, left

    def _store(self) -> None:
        shoe = self.fold.shoe and ShoeFold.from_json(through_json(self.fold.shoe.to_json()))
        hand = None if self.fold.hand is None else folded_again(self.fold.hand)
        self.fold = TableFold.resume(TABLE, shoe, hand)
        self.left = [folded_again(fold) if isinstance(fold, HandFold) else fold for fold in self.left]

    def audits(self) -> list[HandAudit | ShoeAudit]:
        now: list[HandFold | ShoeFold] = [] if self.fold.hand is None else [self.fold.hand]
        if self.fold.shoe is not None and self.fold.shoe.closed is None:
            now.append(self.fold.shoe)
        return [fold.audit() for fold in (*self.left, *now)]


def through_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


def folded_again(hand: HandFold) -> HandFold:
    """The hand from what is kept of it: its context and its own events, as text."""
    context = HandContext.from_json(through_json(hand.context.to_json()))
    return HandFold.of(context, [(seq, parse_line(format_event(event))) for seq, event in hand.trail])


cards = st.sampled_from(ALL_CARDS)  # with their suit mostly, and by their rank only
few_cards = st.sampled_from([Card.parse(text) for text in ("9h", "Ks", "2d", "6c", "As")])
places = st.sampled_from(PLACES)
sides = st.sampled_from(["player", "banker"])
money = st.sampled_from(["0.01", "0.10", "5", "33.33", "100.00", "2500"])
#: The keys of each kind, at random.
KEYS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "bet": {"seat": st.integers(1, 3), "bet": st.sampled_from(BET_NAMES), "stake": money},
    "card": {"to": places, "card": cards, "face": st.sampled_from(["up", "up", "down"])},
    "opened": {"place": places, "card": cards},
    "extra": {"card": cards, "face": st.sampled_from(["up", "down"])},
    "exposed": {"when": st.sampled_from(["betting", "drawing", "start", "burn"]), "card": cards, "place": places},
    "moved": {"from": places, "to": places},
    "discarded": {"place": places},
    "dropped": {
        "when": st.sampled_from(["drawing", "opening", "start", "discard"]),
        "opened": st.booleans(),
        "card": cards,
    },
    "insurance_opened": {"window": st.integers(1, 2)},
    "insurance_odds": {
        "side": sides,
        "placed": sides,
        "odds": st.sampled_from(["1.5", "2", "3", "4", "8", "9"]),
    },
    "insurance_closed": {"window": st.integers(1, 2)},
    "called": {
        "winner": st.sampled_from(["player", "banker", "tie"]),
        "player": st.integers(0, 9),
        "banker": st.integers(0, 9),
    },
    "paid": {
        "seat": st.integers(1, 3),
        "bet": st.sampled_from(BET_NAMES),
        "amount": st.sampled_from(["0.00", "5", "100.00", "95.00", "-5"]),
    },
    "voided": {"scope": st.sampled_from(["hand", "insurance"]), "reason": st.just("so decided")},
    "cards_burned": {"count": st.integers(0, 11)},
    "burn_card": {"card": cards},
    "shoe_closed": {"reason": st.sampled_from(["finished", "cancelled", "replaced", "faulty"])},
    "shoe_opened": {"ruleset": st.sampled_from(RULESETS), "decks": st.sampled_from([1, 8, 8])},
}
#: Keys that may be left out.
LEFT_OUT = {
    ("extra", "card"),
    ("exposed", "card"),
    ("exposed", "place"),
    ("dropped", "card"),
    ("called", "player"),
    ("called", "banker"),
}
HAND_KINDS = sorted({kind.name for kind in EVENTS.values() if kind not in SHOE_EVENTS} - {"amended"})
DECISIONS = sorted(kind.name for kind in LATE)


@st.composite
def contents(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """An event's own keys."""
    keys: dict[str, Any] = {}
    for key, strategy in KEYS.get(name, {}).items():
        value = draw(strategy)
        if (name, key) not in LEFT_OUT or draw(st.booleans()):
            keys[key] = str(value) if isinstance(value, Card) else value
    if name == "card" and keys["face"] == "down" and draw(st.booleans()):
        del keys["card"]
    if name == "discarded" and draw(st.booleans()):
        return {"extra": True}
    return keys


def common(live: Live) -> dict[str, Any]:
    at = START + dt.timedelta(seconds=len(live.events))
    return {"at": at.isoformat(timespec="milliseconds"), "table": TABLE}


def as_dealt_right(live: Live, draw: st.DrawFn) -> dict[str, Any]:
    """The event that a good dealer would go on with."""
    shoe, hand = live.fold.shoe, live.fold.hand
    assert shoe is not None
    if shoe.hand == 0 and shoe.burn_card is None and draw(st.integers(0, 5)):
        return {"event": "burn_card", "shoe": shoe.number, "card": str(draw(cards))}
    if shoe.hand == 0 and shoe.burn_card is not None and shoe.burned is None:
        return {"event": "cards_burned", "shoe": shoe.number, "count": shoe.burn_due or 0}
    if hand is None or not hand.open:
        return {"event": "betting_opened", "shoe": shoe.number, "hand": shoe.hand + 1}
    line: dict[str, Any] = {"shoe": shoe.number, "hand": hand.context.hand}
    names = [event.name for _, event in hand.trail]
    audit = hand.audit()
    if "betting_opened" in names and "betting_closed" not in names:
        if names.count("bet") < 3 and draw(st.booleans()):
            offered = sorted(get_ruleset(shoe.ruleset.name).bets)
            return {"event": "bet", **line, **draw(contents("bet")), "bet": draw(st.sampled_from(offered))}
        return {"event": "betting_closed", **line}
    if "insurance_opened" in names and names.count("insurance_closed") < names.count("insurance_opened"):
        opened = next(event for _, event in reversed(hand.trail) if event.name == "insurance_opened")
        if names[-1] == "insurance_opened" and audit.insurance_due is not None:
            due = audit.insurance_due
            return {
                "event": "insurance_odds",
                **line,
                "side": due.side,
                "placed": due.side,
                "odds": str(due.odds),
            }
        if names[-1] == "insurance_odds" and draw(st.booleans()):
            bet = draw(st.sampled_from(sorted(INSURANCE_BETS)))
            return {"event": "bet", **line, "seat": 1, "bet": bet, "stake": draw(money)}
        return {"event": "insurance_closed", **line, "window": opened.window}  # type: ignore[attr-defined]
    waiting = audit.insurance_due
    if waiting is not None and names.count("insurance_opened") < waiting.window and draw(st.booleans()):
        return {"event": "insurance_opened", **line, "window": waiting.window}
    down = [event for _, event in hand.trail if isinstance(event, CardDealt) and event.face == "down"]
    opened_places = [event.place for _, event in hand.trail if isinstance(event, Opened)]
    hidden = next((event for event in down if event.to not in opened_places), None)
    if hidden is not None and len(audit.dealt.places) >= 4:
        return {"event": "opened", **line, "place": hidden.to, "card": str(hidden.card or draw(cards))}
    if audit.next_due is not None:
        face = draw(st.sampled_from(["up", "up", "up", "down"]))
        return {"event": "card", **line, "to": audit.next_due, "card": str(draw(cards)), "face": face}
    result = audit.result
    if result is not None and "called" not in names:
        return {
            "event": "called",
            **line,
            "winner": result.winner,
            "player": result.player,
            "banker": result.banker,
        }
    for settled in audit.settlement:
        if settled.owed and (settled.seat, settled.bet) not in audit.paid:
            return {
                "event": "paid",
                **line,
                "seat": settled.seat,
                "bet": settled.bet,
                "amount": str(settled.owed),
            }
    return {"event": "hand_closed", **line}


def as_it_may_happen(live: Live, draw: st.DrawFn) -> dict[str, Any]:
    """Any event at all, of the current hand mostly."""
    shoe = live.fold.shoe
    assert shoe is not None
    what = draw(st.integers(0, 19))
    if what == 0 and draw(st.booleans()):
        name = draw(st.sampled_from(["shoe_closed", "burn_card", "cards_burned"]))
        return {"event": name, "shoe": shoe.number, **draw(contents(name))}
    if what == 1:
        name = draw(st.sampled_from(["cut_card", "exposed", "dropped"]))
        return {"event": name, "shoe": shoe.number, **draw(contents(name))}
    if what == 2 and draw(st.booleans()):
        return {"event": "shoe_opened", "shoe": shoe.number + 1, **draw(contents("shoe_opened"))}
    if what in (3, 4) and live.events:
        seq, old = draw(st.sampled_from(live.events))
        line: dict[str, Any] = {"event": "amended", "shoe": old.shoe, "seq": seq, "reason": "typed wrong"}
        if old.hand is not None:
            line["hand"] = old.hand
        if draw(st.booleans()):
            entry = {"event": old.name, **common(live), "shoe": old.shoe, **draw(contents(old.name))}
            line["entry"] = entry | ({} if old.hand is None else {"hand": old.hand})
        return line
    if what in (5, 6):
        name = draw(st.sampled_from(DECISIONS))
        hand = draw(st.integers(1, max(1, shoe.hand)))
        return {"event": name, "shoe": draw(st.integers(1, shoe.number)), "hand": hand, **draw(contents(name))}
    if what < 14 and live.fold.hand is not None:
        return as_it_lies(live.fold.hand, draw)
    name = draw(st.sampled_from(HAND_KINDS))
    new = what == 19
    return {"event": name, "shoe": shoe.number, "hand": shoe.hand + new or 1, **draw(contents(name))}


def as_it_lies(hand: HandFold, draw: st.DrawFn) -> dict[str, Any]:
    """Something that touches the cards on the felt: dealt to any free place, opened, moved, discarded."""
    audit = hand.audit()
    free = [place for place in PLACES if place not in audit.dealt.places]
    held = [place for place in PLACES if place in audit.dealt.places]
    line: dict[str, Any] = {"shoe": hand.context.shoe, "hand": hand.context.hand}
    names = [name for name, there in (("card", free), ("opened", held), ("moved", held), ("discarded", held)) if there]
    name = draw(st.sampled_from(names))
    line |= {"event": name, **draw(contents(name))}
    if name == "card":
        return line | {"to": draw(st.sampled_from(free))}
    place = draw(st.sampled_from(held))
    if name == "opened":
        (text, *_) = audit.dealt.places[place]
        if text != "??" and draw(st.booleans()):  # recorded better or worse than before
            text = text[0] if text[1:] else text + draw(st.sampled_from("shdc"))
        return line | {"place": place} | ({} if text == "??" else {"card": text})
    if name == "moved":
        return line | {"from": place}
    return line if "extra" in line else line | {"place": place}


@st.composite
def tables(draw: st.DrawFn, most: int = 60) -> Live:
    """A table at which up to ``most`` things happened, most of them right, and all of them possible.

    What is refused on the way is asked of the same fold that goes on: it must not leave a trace there.
    """
    live = Live()
    opened = {"event": "shoe_opened", "shoe": 1, **draw(contents("shoe_opened"))}
    live.take(parse_event({**opened, **common(live)}))
    wildness = draw(st.integers(0, 10))
    for _ in range(draw(st.integers(0, most))):
        shoe = live.fold.shoe
        if shoe is None or (shoe.closed is not None and draw(st.booleans())):  # None: its opening was withdrawn
            number = 1 if shoe is None else shoe.number + 1
            line = {"event": "shoe_opened", "shoe": number, **draw(contents("shoe_opened"))}
        elif shoe.closed is None and draw(st.integers(0, 10)) >= wildness:
            line = as_dealt_right(live, draw)
        else:
            line = as_it_may_happen(live, draw)
        try:
            live.take(parse_event({**line, **common(live)}))
        except EventError:
            continue
    return live


def simulated(
    seed: int, ruleset: str, hands: int | None, bets: bool, decks: int = 8, ranks_only: bool = False
) -> list[Numbered]:
    rates = {mistake: min(1.0, rate * 25) for mistake, rate in USUAL_RATES.items()}
    rates[Mistake.HAND_AFTER_LAST] = 0.1
    events = simulate_shoe(
        TABLE, 1, ruleset, seed, START, rates, bets=bets, hands=hands, decks=decks, ranks_only=ranks_only
    )
    return list(enumerate(events, start=1))


shoes = st.builds(
    simulated, st.integers(0, 10**9), st.sampled_from(RULESETS), hands=st.integers(1, 6), bets=st.booleans()
)
#: A deck or two, so that cards run out.
small_shoes = st.builds(
    simulated,
    st.integers(0, 10**9),
    st.sampled_from(RULESETS),
    hands=st.one_of(st.none(), st.integers(1, 6)),
    bets=st.booleans(),
    decks=st.integers(1, 2),
)
ranks_only_shoes = st.builds(
    simulated,
    st.integers(0, 10**9),
    st.sampled_from(RULESETS),
    hands=st.integers(1, 8),
    bets=st.booleans(),
    decks=st.sampled_from([1, 8]),
    ranks_only=st.just(True),
)


# --- What holds -------------------------------------------------------------------------------------------------------


def plain(audits: Iterable[HandAudit | ShoeAudit]) -> list[Any]:
    return [(audit.as_dict(), getattr(audit, "paid", None), audit.findings) for audit in audits]


def read_again(events: list[Numbered]) -> list[Numbered]:
    return [(seq, parse_line(format_event(event).encode())) for seq, event in events]


@settings(max_examples=250)
@given(tables())
def test_live_is_whole_is_read_again_with_the_memo_and_without(live: Live) -> None:
    folded = fold_all(TABLE, live.events)
    whole = plain(folded.audits)
    assert plain(live.audits()) == whole
    again = read_again(live.events)
    assert again == live.events
    assert plain(fold_all(TABLE, again).audits) == whole
    without = fold_all(TABLE, live.events, memo=False)
    assert plain(without.audits) == whole
    assert counts_of(folded) == counts_of(without)
    check_all(folded, live.events)


def counts_of(folded: FoldedTable) -> list[list[int]]:
    return [fold.counts for fold in folded.folds]


@settings(max_examples=80)
@given(tables(most=40))
def test_stored_and_taken_up_again_after_every_event(live: Live) -> None:
    stored = Live(stored=True)
    for _, event in live.events:
        stored.take(event)
    assert plain(stored.audits()) == plain(live.audits())


@settings(max_examples=60)
@given(st.one_of(shoes, ranks_only_shoes))
def test_simulated_shoes_live_whole_and_read_again(events: list[Numbered]) -> None:
    whole = plain(fold_all(TABLE, events).audits)
    assert plain(fold_all(TABLE, events, memo=False).audits) == whole
    assert plain(fold_all(TABLE, read_again(events)).audits) == whole
    live = Live()
    for _, event in events:
        live.take(event)
    assert plain(live.audits()) == whole
    check_all(fold_all(TABLE, events), events)


#: Mistakes by which a hand leaves something to the next, or after which it is folded again.
LEAVES = (
    *(Mistake.EXTRA_CARD_EXPOSED, Mistake.EXTRA_CARD_UNSEEN, Mistake.HELD_CARD_NOT_DEALT, Mistake.CARD_OVERDRAWN),
    *(Mistake.TYPED_WRONG, Mistake.HAND_INCOMPLETE, Mistake.OPENED_OUT_OF_TURN),
)
#: Shoes of the rulesets in which a hand leaves something to the next.
shoes_with_more = st.builds(
    lambda seed, ruleset: list(
        enumerate(
            simulate_shoe(
                TABLE,
                1,
                ruleset,
                seed,
                START,
                dict.fromkeys(LEAVES, 0.25) | {Mistake.FREE_HAND_OVER_LIMIT: 0.5},
                hands=6,
                bets=False,
            ),
            start=1,
        )
    ),
    st.integers(0, 10**9),
    st.sampled_from(["macau", "venezia"]),
)


@settings(max_examples=25)
@given(shoes_with_more)
def test_what_a_hand_leaves_to_the_next_is_stored_and_taken_up_again(events: list[Numbered]) -> None:
    stored = Live(stored=True)
    for _, event in events:
        stored.take(event)
    assert plain(stored.audits()) == plain(fold_all(TABLE, events).audits)
    assert plain(stored.audits()) == plain(fold_all(TABLE, events, memo=False).audits)


# --- Cards recorded by their rank only --------------------------------------------------------------------------------


def without_suit(event: Event, chance: random.Random | None = None) -> Event:
    """The event with its card recorded by its rank only; with ``chance`` one card in two is."""
    if isinstance(event, Amended):
        return event if event.entry is None else structs.replace(event, entry=without_suit(event.entry, chance))
    card = getattr(event, "card", None)
    if card is None or (chance is not None and chance.random() < 0.5):
        return event
    # An event's token is made of its card, and the same: replaced with the card it would be passed on twice.
    return parse_line(format_event(event).replace(f'"{card.text}"', f'"{card.rank}"'))


def without_suits(events: Iterable[Numbered], chance: random.Random | None = None) -> list[Numbered]:
    return [(seq, without_suit(event, chance)) for seq, event in events]


def by_rank(audits: Iterable[HandAudit | ShoeAudit]) -> list[Any]:
    """The audits with their cards by rank, and without what says that there are too many of one card."""
    plain = []
    for audit in audits:
        found = [finding for finding in audit.findings if finding.code != "card-impossible"]
        told: dict[str, Any] = audit._replace(findings=tuple(found), ruling=strongest(found)).as_dict()
        for finding in told["findings"]:
            finding["cards"] = [text.replace("??", "?")[0] for text in finding["cards"]]
        for felt in (told.get("dealt", {}), told.get("correct", {})):
            for part in ("P", "B", "extra"):
                if part in felt:
                    felt[part] = [text[0] for text in felt[part]]
        plain.append((told, getattr(audit, "paid", None), getattr(audit, "wrong_payouts", None)))
    return plain


@settings(max_examples=80)
@given(st.one_of(shoes, small_shoes), st.randoms(use_true_random=False))
def test_without_suits_everything_is_the_same_but_for_the_cards_that_cannot_be(
    events: list[Numbered], chance: random.Random
) -> None:
    suited = fold_all(TABLE, events)
    for log in (without_suits(events), without_suits(events, chance)):
        folded = fold_all(TABLE, log)
        assert by_rank(folded.audits) == by_rank(suited.audits)
        assert [sum(counts) for counts in counts_of(folded)] == [sum(counts) for counts in counts_of(suited)]
        without = fold_all(TABLE, log, memo=False)
        assert plain(without.audits) == plain(folded.audits)
        assert counts_of(without) == counts_of(folded)


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.integers(1, 2), st.randoms(use_true_random=False))
def test_a_card_is_impossible_when_there_are_too_many_of_it_or_of_its_rank(
    seed: int, decks: int, chance: random.Random
) -> None:
    """Shoes in which every card is dealt face up and counted, and too many of some: the findings counted once more."""
    rates = {Mistake.CARD_IMPOSSIBLE: 0.5}
    shoe = simulate_shoe(TABLE, 1, "standard", seed, START, rates, bets=False, decks=decks, face_down=0.0)
    events = list(enumerate(shoe, start=1))
    for log in (events, without_suits(events), without_suits(events, chance)):
        seen: Counter[str] = Counter()
        impossible = []
        for seq, event in log:
            if isinstance(event, BurnCard | CardDealt) and event.card is not None:
                of_rank = sum(seen[event.card.rank + suit] for suit in ("", *"shdc"))
                if of_rank == 4 * decks or (event.card.suit and seen[event.card.text] == decks):
                    impossible.append((seq, event.card.text))
                else:
                    seen[event.card.text] += 1
        audits = fold_all(TABLE, log).audits
        found = [f for audit in audits for f in audit.findings if f.code == "card-impossible"]
        assert sorted((f.seq[0], *f.cards) for f in found) == impossible
        assert plain(fold_all(TABLE, log, memo=False).audits) == plain(audits)


# --- No input breaks it -----------------------------------------------------------------------------------------------


@st.composite
def any_event(draw: st.DrawFn, seqs: int) -> Event:
    """Any readable event, of any shoe and hand, in any order of time."""
    name = draw(st.sampled_from(sorted(EVENTS)))
    kind = EVENTS[name]
    line: dict[str, Any] = {
        "event": name,
        "at": f"2026-11-{draw(st.integers(10, 28))}T20:00:01.250+07:00",
        "table": TABLE,
        "shoe": draw(st.integers(1, 3)),
    }
    if kind not in SHOE_EVENTS and (name in KEYS or draw(st.booleans())):
        line["hand"] = draw(st.integers(1, 4))
    line |= draw(contents(name))
    if name == "amended":
        line |= {"seq": draw(st.integers(1, seqs + 2)), "reason": "x"}
        if draw(st.booleans()):
            entry = draw(any_event(seqs))
            if entry.name != "amended":
                line["entry"] = json.loads(format_event(entry))
    try:
        return parse_event(line)
    except EventError:
        return draw(any_event(seqs))


@settings(max_examples=150)
@given(st.lists(any_event(25), max_size=25))
def test_any_events_in_any_order_are_judged_or_refused(events: list[Event]) -> None:
    numbered = list(enumerate(events, start=1))
    fold = TableFold(TABLE)
    for seq, event in numbered:
        try:
            fold.step(seq, event)
        except EventError as refused:
            check_refusal(refused)
    for folded in (fold.hand, fold.shoe):
        if folded is not None:
            json.dumps(folded.audit().as_dict())
    try:
        check_all(fold_all(TABLE, numbered), numbered)
    except EventError as refused:
        check_refusal(refused)


def check_refusal(error: EventError) -> None:
    text = str(error)
    assert text.startswith(f"{error.key}: ")
    assert "\n" not in text


# --- The promises, checked without the engine's help -----------------------------------------------------------------


def check_all(folded: FoldedTable, events: list[Numbered]) -> None:
    of_hand: dict[tuple[int, int], list[Numbered]] = {}
    for seq, event in effective(events).events:
        if event.hand is not None:
            of_hand.setdefault((event.shoe, event.hand), []).append((seq, event))
    rulesets = {event.shoe: event.ruleset for _, event in effective(events).events if event.name == "shoe_opened"}  # type: ignore[attr-defined]  # a ShoeOpened
    for audit in folded.audits:
        json.dumps(audit.as_dict())
        check_findings(audit, len(events), rulesets[audit.shoe])
        if isinstance(audit, HandAudit):
            check_cards(audit)
            check_settlement(audit, rulesets[audit.shoe])


def check_findings(audit: HandAudit | ShoeAudit, lines: int, ruleset: str) -> None:
    firsts = [finding.seq[0] for finding in audit.findings]
    assert firsts == sorted(firsts)
    assert audit.ruling == strongest(audit.findings)
    for finding in audit.findings:
        assert finding.code in CATALOGUE
        assert finding.seq
        assert all(1 <= seq <= lines for seq in finding.seq)
        assert finding.state in ("open", "corrected")
        assert finding.mandatory == (finding.ruling != "discretion")
        assert finding.options
        if finding.mandatory:
            assert finding.ruling in finding.options
        for rule in finding.rules:
            assert get_ruleset(ruleset).cite(rule) is not None


def check_cards(audit: HandAudit) -> None:
    """``correct`` is the same cards as ``dealt``, laid in the order drawn."""
    dealt, correct = audit.dealt.as_dict(), audit.correct.as_dict()
    assert Counter(all_of(dealt)) == Counter(all_of(correct))
    if "??" in all_of(dealt):
        return
    in_order = [correct["P"][:1], correct["B"][:1], correct["P"][1:2], correct["B"][1:2]]  # type: ignore[index]
    values = [Card.parse(text).value for place in in_order for text in place]
    thirds = [Card.parse(text).value for side in ("P", "B") for text in correct[side][2:]]  # type: ignore[index]
    layout, laid_at = lay([*values, *thirds])
    assert None not in laid_at
    assert (layout.player, layout.banker) == audit.totals
    assert layout.due == audit.next_due
    assert (audit.result is not None) == layout.complete
    if audit.result is not None:
        assert audit.result.winner == layout.winner


def all_of(felt: dict[str, Any]) -> list[str]:
    return [*felt["P"], *felt["B"], *felt["extra"]]


PAYS = {
    "player": "1",
    "banker": "0.95",
    "tie": "8",
    "player_pair": "11",
    "banker_pair": "11",
    "big": "0.5",
    "small": "1.5",
    "player_natural_8": "8",
    "player_natural_9": "8",
    "banker_natural_8": "8",
    "banker_natural_9": "8",
}


def wins(bet: str, audit: HandAudit) -> bool:
    """Section 3 once more, from the printed audit."""
    result, correct = audit.result, audit.correct.as_dict()
    assert result is not None
    player: Any = correct["P"]
    banker: Any = correct["B"]
    match bet:
        case "player" | "banker" | "tie":
            return result.winner == bet
        case "player_pair":
            return bool(player[0][0] == player[1][0])
        case "banker_pair":
            return bool(banker[0][0] == banker[1][0])
        case "big":
            return len(player) + len(banker) > 4
        case "small":
            return len(player) + len(banker) == 4
        case "super_6":
            return result.winner == "banker" and result.banker == 6
    side, _, points = bet.partition("_natural_")
    own = player if side == "player" else banker
    two = sum(Card.parse(card).value for card in own[:2]) % 10
    return two == int(points) and result.winner == side


def check_settlement(audit: HandAudit, ruleset: str) -> None:
    voided = audit.status == "voided" or audit.ruling == "void hand"
    insurance_voided = any(finding.ruling == "void insurance" for finding in audit.findings)
    for line in audit.settlement:
        if line.owed is None or line.returned is None:
            assert audit.result is None
            assert line.owed is line.returned is None
            assert not voided
            continue
        assert line.owed >= 0
        assert line.owed == line.owed.quantize(Decimal("0.01"))
        assert line.returned in (Decimal(0), line.stake)
        if line.owed > 0:
            assert line.returned == line.stake
        if voided or (insurance_voided and line.bet in INSURANCE_BETS):
            assert money_back(line)
            continue
        if line.bet not in get_ruleset(ruleset).bets:
            assert money_back(line)
            continue
        if line.bet in INSURANCE_BETS:
            continue
        assert audit.result is not None or line.returned == line.stake
        if audit.result is None or money_back(line):
            # void by BET-60, or pushed
            limited = any(finding.code == "side-bet-after-limit" for finding in audit.findings)
            tie = audit.result is not None and audit.result.winner == "tie"
            assert limited or (tie and line.bet in ("player", "banker")) or small(line)
            continue
        if wins(line.bet, audit):
            correct: Any = audit.correct.as_dict()
            six = "18" if len(correct["B"]) == 3 else "12"
            exact = line.stake * Decimal(PAYS.get(line.bet, six))
            assert line.owed == exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
            assert line.returned == line.stake
        else:
            assert not line.owed
            assert not line.returned
    check_conservation(audit, voided)


def money_back(line: Settlement) -> bool:
    return line.owed == 0 and line.returned == line.stake


def small(line: Settlement) -> bool:
    """Too small a stake: its winnings round to nothing."""
    return line.stake * Decimal(PAYS.get(line.bet, "12")) < Decimal("0.005")


def check_conservation(audit: HandAudit, voided: bool) -> None:
    """No money comes from nowhere: what the house wins on one of two opposite bets it cannot win on the other too."""
    if voided or audit.result is None:
        return
    won = {line.bet for line in audit.settlement if line.owed}
    assert len(won & {"player", "banker", "tie"}) <= 1
    assert not {"big", "small"} <= won
    if "super_6" in won:
        assert not won & {"player", "tie"}
    staked = sum((line.stake for line in audit.settlement), Decimal(0))
    back = sum((line.returned or Decimal(0) for line in audit.settlement), Decimal(0))
    assert back <= staked

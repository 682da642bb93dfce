"""What the rules make of the findings of a hand, and the events that carry a decision out. Pure: no Django, no
database.

`recommend` joins the rulings of all findings by rulebook 7.3; `departures` says which mandatory rulings a choice does
not follow; `obstacle` what stands in the way of an action now; `look_ahead` turns the chosen actions into events for
the table's log and judges the hand as it would stand after them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Protocol

from dealing.rules.audit import Felt, HandAudit
from dealing.rules.bets import INSURANCE_BETS, ZERO, Outcome, amount_text, settle
from dealing.rules.cards import Card
from dealing.rules.events import Called, Voided, parse_event
from dealing.rules.findings import DISCRETION, RULINGS, SHOE_MEASURES
from dealing.rules.hand import HandContext, HandFold
from dealing.rules.money import owed_in_all
from dealing.rules.rulesets import Ruleset
from dealing.rules.tableau import Layout

VOID_HAND: Final = "void hand"
VOID_INSURANCE: Final = "void insurance"
VOID_BET: Final = "void bet"
CORRECT: Final = "correct"
BURN_CARD: Final = "burn card"
REUSE_CARD: Final = "reuse card"
STAND: Final = "stand"
CANCEL_SHOE: Final = "cancel shoe"
REPLACE_SHOE: Final = "replace shoe"

#: What can be decided, strongest first (rulebook 7.3); the measures on the shoe stand beside the rulings on the hand.
ACTIONS: Final = (*RULINGS, *SHOE_MEASURES)

#: A void hand leaves nothing for these to act on.
MOOT_WHEN_VOID: Final = frozenset({VOID_INSURANCE, CORRECT, REUSE_CARD, VOID_BET, STAND})

#: Pairs that cannot both be done.
CONTRADICTIONS: Final = (
    *((VOID_HAND, action) for action in RULINGS if action in MOOT_WHEN_VOID),
    *((action, STAND) for action in RULINGS if action not in (VOID_HAND, STAND)),
    (CANCEL_SHOE, REPLACE_SHOE),
)

#: Why the log closes a shoe, by the decision that does.
CLOSES: Final = {CANCEL_SHOE: "cancelled", REPLACE_SHOE: "replaced"}

#: The log's limit for the reason of a `voided` line, in characters.
REASON_LIMIT: Final = 500


class Found(Protocol):
    """A finding, as the judge gives it or as the incident keeps it."""

    @property
    def code(self) -> str: ...
    @property
    def rules(self) -> Sequence[str]: ...
    @property
    def ruling(self) -> str: ...
    @property
    def options(self) -> Sequence[str]: ...
    @property
    def mandatory(self) -> bool: ...
    @property
    def state(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What the rules say of a whole hand.

    `mandatory`: what the rules require, strongest first; `options`: what they leave to the manager, of findings that
    the log has not put right already; `measures`: what management may do with the shoe besides; `done`: mandatory
    rulings that the log itself has carried out already;
    `undocumented`: codes of the findings that no documented rule covers.
    """

    mandatory: tuple[str, ...]
    options: tuple[str, ...]
    measures: tuple[str, ...]
    done: frozenset[str]
    undocumented: tuple[str, ...]

    @property
    def offered(self) -> tuple[str, ...]:
        """Everything the rules speak of, strongest first."""
        return in_order({*self.mandatory, *self.options, *self.measures})

    @property
    def instead(self) -> tuple[str, ...]:
        """The options that take the place of what is mandatory: voiding the hand leaves nothing of it to be done."""
        return (VOID_HAND,) if VOID_HAND in self.options and MOOT_WHEN_VOID & set(self.mandatory) else ()

    @property
    def beside(self) -> tuple[str, ...]:
        """The options that go together with what is mandatory."""
        return tuple(option for option in self.options if option not in self.instead)

    @property
    def headline(self) -> str:
        """The one word for lists: the strongest mandatory ruling, else `discretion`."""
        return self.mandatory[0] if self.mandatory else DISCRETION


def in_order(actions: Iterable[str]) -> tuple[str, ...]:
    """The actions once each, strongest first, those on the shoe last."""
    wanted = set(actions)
    return tuple(action for action in ACTIONS if action in wanted)


def closes_itself(finding: Found) -> bool:
    """Whether the rule lets everything stand, so that nobody has to decide."""
    return finding.mandatory and finding.ruling == STAND


def recommend(findings: Sequence[Found], measures: Mapping[str, Sequence[str]] | None = None) -> Recommendation:
    """Join the rulings of all findings (rulebook 7.3). `measures`: rule id -> what the rule allows with the shoe."""
    # Findings with which the rules let the hand stand say nothing where another finding asks for something.
    weighing = [finding for finding in findings if not closes_itself(finding)] or list(findings)
    required: set[str] = set()
    outstanding: set[str] = set()
    options: set[str] = set()
    settled: set[str] = set()
    beside: set[str] = set()
    for finding in weighing:
        if finding.mandatory:
            ruled = {finding.ruling, *finding.options}
            required |= ruled
            if finding.state != "corrected":
                outstanding |= ruled
        elif finding.state != "corrected":
            options |= set(finding.options)
        else:
            settled |= set(finding.options)
        for rule in finding.rules:
            beside |= set((measures or {}).get(rule, ()))
    done = required - outstanding
    if not required and not options:
        options = settled  # nothing else is left to be said
    if VOID_HAND in required:
        required -= MOOT_WHEN_VOID
    return Recommendation(
        mandatory=in_order(required),
        options=in_order(options - required),
        measures=in_order(beside - required - options),
        done=frozenset(done & required),
        undocumented=tuple(dict.fromkeys(f.code for f in weighing if not f.rules)),
    )


def contradictions(actions: Collection[str], findings: Iterable[Found] = ()) -> list[tuple[str, str]]:
    """The pairs among the chosen actions that cannot both be done.

    A card may be burned and another one used, but not where both are offered for the same card. One finding may be
    let stand while another is dealt with, where the rules leave that to the manager.
    """
    findings = list(findings)
    pairs = list(CONTRADICTIONS)
    others = set(actions) - {STAND}
    if any(STAND in finding.options for finding in unanswered(others, findings)):
        pairs = [pair for pair in pairs if STAND not in pair]
    if any({BURN_CARD, REUSE_CARD} <= set(finding.options) for finding in findings):
        pairs.append((BURN_CARD, REUSE_CARD))
    return [pair for pair in pairs if pair[0] in actions and pair[1] in actions]


def unanswered(actions: Collection[str], findings: Iterable[Found]) -> list[Found]:
    """The findings that the rules leave to the manager and of which these actions say nothing.

    A void hand answers for everything that it leaves nothing of.
    """
    voided = MOOT_WHEN_VOID if VOID_HAND in actions else frozenset()
    return [
        finding
        for finding in findings
        if finding.ruling == DISCRETION
        and finding.state != "corrected"
        and not set(finding.options) & {*actions, *voided}
    ]


def departures(
    actions: Collection[str], recommendation: Recommendation, impossible: Collection[str] = ()
) -> tuple[str, ...]:
    """The mandatory rulings that these actions do not follow, strongest first; a decision with any needs a reason
    (7.4).

    A ruling that the log has carried out is followed already, and one that cannot be carried out any more
    (`impossible`) is not held against anybody. Voiding the hand overrides every milder ruling; where the rules offer
    it for another finding, it includes those it leaves nothing of (7.3).
    """
    chosen = set(actions)
    if VOID_HAND in chosen and VOID_HAND in recommendation.options:
        chosen |= MOOT_WHEN_VOID
    overridden = VOID_HAND in chosen and VOID_HAND not in (*recommendation.mandatory, *recommendation.options)
    return tuple(
        ruling
        for ruling in recommendation.mandatory
        if (overridden and ruling in RULINGS)
        or (ruling not in chosen and ruling not in recommendation.done and ruling not in impossible)
    )


# --- carrying a decision out ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShoeNow:
    """The incident's shoe: whether it is the table's open one, and the number of the hand being dealt from it."""

    open: bool
    playing: int | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a decision would do: the lines it appends, and the hand before and after (None for a shoe's incident)."""

    events: tuple[dict[str, Any], ...]
    before: HandAudit | None
    after: HandAudit | None


def obstacle(action: str, hand: HandFold | None, shoe: ShoeNow, with_actions: Collection[str] = ()) -> str | None:
    """Why an action cannot be carried out now, together with the others chosen; None where nothing stands in its way.

    `no-hand`: the incident is one of the shoe; `hand-void`: nothing is left to act on; `card-missing`: the hand is
    over and a card was not dealt; `nothing-to-burn`: the hand is over and no card lies beyond it; `no-insurance`: no
    insurance was bet; `shoe-closed`: the shoe is not in use any more; `hand-playing`: another hand is being dealt
    from it; `hand-unfinished`: this one is, and would be cut off.
    """
    if action in CLOSES:
        if not shoe.open:
            return "shoe-closed"
        if shoe.playing is None:
            return None
        if hand is None or shoe.playing != hand.context.hand:
            return "hand-playing"
        return None if VOID_HAND in with_actions else "hand-unfinished"
    if hand is None:
        return "no-hand" if action in (VOID_HAND, VOID_INSURANCE, VOID_BET) else None
    audit = hand.audit()
    if action in (VOID_HAND, STAND):
        return None
    if audit.status == "voided":
        return "hand-void" if action in MOOT_WHEN_VOID else None
    if action == VOID_INSURANCE and not any(line.bet in INSURANCE_BETS for line in audit.settlement):
        # An insurance time that was open may still bring bets while the hand goes on.
        return None if _going_on(hand) else "no-insurance"
    if action in (CORRECT, BURN_CARD) and not _going_on(hand) and not _lines((action,), hand, ""):
        if action == BURN_CARD:
            return None if _burned_already(audit) else "nothing-to-burn"
        return "card-missing" if audit.next_due else None
    return None


def _going_on(hand: HandFold) -> bool:
    return hand.open and hand.context.left is None


def _burned_already(audit: HandAudit) -> bool:
    return any(finding.ruling == BURN_CARD and finding.state == "corrected" for finding in audit.findings)


def look_ahead(actions: Collection[str], hand: HandFold | None, shoe: ShoeNow, reason: str = "") -> Outlook:
    """The lines that carry the actions out, and the hand as it would stand after them.

    `reason` is what a `voided` line says. The lines lack `at` and `by`. Actions for which the log has no line (stand,
    reuse card, void bet) append none. Nothing is changed: `hand` is copied first.
    """
    events: list[dict[str, Any]] = []
    before = after = None
    if hand is not None:
        before = hand.audit()
        ahead = _Ahead(hand)
        ahead.carry_out(actions, reason)
        events, after = ahead.lines, ahead.fold.audit()
    for action in CLOSES:
        if action in actions and shoe.open:
            events.append({"event": "shoe_closed", "reason": CLOSES[action]})
    return Outlook(tuple(events), before, after)


def to_take_back(actions: Collection[str], hand: HandFold, decided: Collection[int]) -> tuple[int, ...]:
    """The `voided` lines of earlier decisions (`decided`: positions of their events) that these actions do away with.

    A decision says all that is to be done: where it does not void any more, what an earlier one voided counts again.
    """
    kept = {"hand": {VOID_HAND}, "insurance": {VOID_HAND, VOID_INSURANCE}}
    return tuple(
        seq
        for seq, event in hand.trail
        if isinstance(event, Voided) and seq in decided and not kept[event.scope] & set(actions)
    )


def without(hand: HandFold, seqs: Collection[int]) -> HandFold:
    """The hand as it would stand with these of its lines withdrawn."""
    context = HandContext.from_json(hand.context.to_json())
    return HandFold.of(context, [(seq, event) for seq, event in hand.trail if seq not in seqs])


def _lines(actions: Collection[str], hand: HandFold, reason: str) -> list[dict[str, Any]]:
    ahead = _Ahead(hand)
    ahead.carry_out(actions, reason)
    return ahead.lines


class _Ahead:
    """A copy of a hand to which a decision's lines are applied as they are made."""

    def __init__(self, hand: HandFold) -> None:
        self.fold = hand.copy()
        self.lines: list[dict[str, Any]] = []
        seq, last = hand.trail[-1]
        self._seq = max(seq, hand.context.left or 0)
        self._at = last.at

    def append(self, name: str, **keys: Any) -> None:
        context = self.fold.context
        line = {"event": name, "hand": context.hand, **keys}
        self._seq += 1
        self.fold.step(
            self._seq, parse_event({"at": _stamp(self._at), "table": context.table, "shoe": context.shoe, **line})
        )
        self.lines.append(line)

    def carry_out(self, actions: Collection[str], reason: str) -> None:
        going_on = _going_on(self.fold)
        if BURN_CARD in actions or CORRECT in actions:
            self._burn_overdrawn()
        if BURN_CARD in actions:
            self._burn_extras()
        if CORRECT in actions:
            for _seq, place, due in self.fold.misplaced():
                if due is not None:
                    self.append("moved", **{"from": place, "to": due})
            if going_on:
                self._call_again()
        if VOID_INSURANCE in actions and not self._voided("insurance"):
            self.append("voided", scope="insurance", reason=reason or VOID_INSURANCE)
        if VOID_HAND in actions and not self._voided("hand"):
            self.append("voided", scope="hand", reason=reason or VOID_HAND)
        if CORRECT in actions or VOID_HAND in actions:
            self._put_payments_right(None)
        elif VOID_INSURANCE in actions:
            self._put_payments_right(INSURANCE_BETS)

    def _voided(self, scope: str) -> bool:
        return any(isinstance(event, Voided) and event.scope == scope for _, event in self.fold.trail)

    def _burn_overdrawn(self) -> None:
        """Discard the cards that a rule takes out of the hand, and those beyond it, but for one that the rules keep
        for the next.
        """
        for place in self.fold.taken_out:
            self.append("discarded", place=place)
        to_burn = {
            f.seq[0] for f in self.fold.audit().findings if f.code == "card-overdrawn" and BURN_CARD in f.options
        }
        for seq, place, due in self.fold.misplaced():
            if due is None and seq in to_burn:
                self.append("discarded", place=place)

    def _burn_extras(self) -> None:
        """Discard the extra cards that may be burned; the log takes extra cards in the order they came out."""
        while self.fold.extra_to_burn:
            self.append("discarded", extra=True)

    def _call_again(self) -> None:
        """Announce the right result where a wrong one was called and the hand is not closed yet."""
        audit = self.fold.audit()
        called = any(isinstance(event, Called) for _, event in self.fold.trail)
        wrong = any(f.code == "wrong-result-called" and f.state == "open" for f in audit.findings)
        if called and wrong and audit.result is not None:
            result = audit.result
            self.append("called", winner=result.winner, player=result.player, banker=result.banker)

    def _put_payments_right(self, bets: Collection[str] | None) -> None:
        """Pay what is missing and take back what is too much (a negative amount), where the payout is judged wrong."""
        audit = self.fold.audit()
        closed = not _going_on(self.fold)
        owed = owed_in_all(audit.settlement)
        for key in dict.fromkeys((*owed, *audit.paid)):
            due = owed.get(key, ZERO)
            if due is None or (bets is not None and key[1] not in bets) or not (closed or key in audit.paid):
                continue
            missing = due - audit.paid.get(key, ZERO)
            if missing:
                self.append("paid", seat=key[0], bet=key[1], amount=amount_text(missing))


def _stamp(at: dt.datetime) -> str:
    return at.isoformat(timespec="milliseconds")


# --- the money --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MoneyLine:
    """All bets of one kind of one seat: what they come to as the felt lies, by the rules, in the log and after a
    decision.

    Amounts exclude the stake; None where there is no answer (the result is not known, nothing was paid). `change` is
    what is still to be paid, or to be taken back (negative), to carry the decision out.
    """

    seat: int
    bet: str
    stake: Decimal
    as_dealt: Decimal | None
    owed: Decimal | None
    returned: Decimal | None
    paid: Decimal | None
    owed_after: Decimal | None
    returned_after: Decimal | None
    change: Decimal


def money(before: HandAudit, after: HandAudit, ruleset: Ruleset) -> list[MoneyLine]:
    """The effect on each seat's bets, in the order they were placed; then payments on bets that were never placed."""
    dealt = as_dealt(before.dealt)
    lines = []
    keys = dict.fromkeys((*((line.seat, line.bet) for line in before.settlement), *before.paid))
    for key in keys:
        mine = [line for line in before.settlement if (line.seat, line.bet) == key]
        then = [line for line in after.settlement if (line.seat, line.bet) == key]
        offer = ruleset.bets.get(key[1])
        stake = sum((line.stake for line in mine), ZERO)
        paid_as_dealt: Decimal | None = None
        if dealt is not None and offer is not None and key[1] not in INSURANCE_BETS:
            paid_as_dealt = sum((settle(key[1], offer, line.stake, dealt, ruleset.money)[0] for line in mine), ZERO)
        lines.append(
            MoneyLine(
                key[0],
                key[1],
                stake,
                paid_as_dealt,
                _total(line.owed for line in mine),
                _total(line.returned for line in mine),
                before.paid.get(key),
                _total(line.owed for line in then),
                _total(line.returned for line in then),
                after.paid.get(key, ZERO) - before.paid.get(key, ZERO),
            )
        )
    return lines


def _total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    total = ZERO
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def as_dealt(felt: Felt) -> Outcome | None:
    """What the cards come to as they lie; None unless each side has two or three known cards, one a place."""
    if any(len(cards) != 1 for cards in felt.places.values()):
        return None
    try:
        cards = {place: Card.parse(texts[0]) for place, texts in felt.places.items()}
    except ValueError:
        return None
    if not {"P1", "P2", "B1", "B2"} <= set(cards):
        return None
    player = sum(card.value for place, card in cards.items() if place[0] == "P") % 10
    banker = sum(card.value for place, card in cards.items() if place[0] == "B") % 10
    # The cards as they lie may be no hand the rules know, so the layout is told its third card only as "Banker drew".
    layout = Layout(len(cards), player, banker, None, "B3" in cards, False)
    return Outcome(layout, cards["P1"].rank == cards["P2"].rank, cards["B1"].rank == cards["B2"].rank)

"""What the console knows of a table: read with few queries, folded once, asked by the templates."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dealing import wording
from dealing.amending import SLIPS, decision_on
from dealing.console import money, words
from dealing.console.arrival import MONEY
from dealing.console.limits import Limits
from dealing.log import Recorded, Trailed, read_trail
from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.rules import events as log
from dealing.rules.bets import BET_NAMES
from dealing.rules.cards import Card
from dealing.rules.events import Event
from dealing.rules.findings import DISCRETION
from dealing.rules.insurance import InsuranceDue
from dealing.rules.judge import Finding, HandAudit, HandContext, HandFold, ShoeFold, effective
from dealing.rules.money import owed_in_all
from dealing.rules.redeal import redealt
from dealing.rules.rulesets import Ruleset, get_ruleset
from dealing.rules.tableau import PLACES

#: What a decision on an incident may be carried out with.
DECIDING = frozenset({"moved", "discarded", "voided", "called", "paid", "shoe_closed"})

#: Findings that come of betting that was never recorded as closed, too.
DURING_BETTING = frozenset({"exposed-during-betting", "dealt-during-betting"})

#: The page that the apps above may offer for a hand's incident: arguments table code, shoe and hand number.
INCIDENT_PAGE = "incidents:for_hand"


class Line(NamedTuple):
    """What a line of the timeline shows.

    ``amended``: position of the amendment that replaced or withdrew the entry, 0 for none; ``now``: what it says since,
    empty when withdrawn. For an amendment itself, ``about`` is the position it is about and ``why`` its reason.
    """

    seq: int
    at: dt.datetime
    by: str
    text: str
    amended: int
    now: str
    about: int
    why: str
    wrong: bool
    can_amend: bool

    @property
    def iso(self) -> str:
        """The time as the log writes it."""
        return log.format_time(self.at)

    @property
    def clock(self) -> str:
        """The time of day."""
        return f"{self.at:%H:%M:%S}"


@dataclass(slots=True)
class Entry:
    """An entry of the log on its way to the timeline; see `Line`."""

    seq: int
    at: dt.datetime
    by: str
    event: Event
    actor: str = ""
    text: str = ""
    amended: int = 0
    now: str = ""
    about: int = 0
    why: str = ""
    wrong: bool = False
    can_amend: bool = False

    @property
    def line(self) -> Line:
        """What is shown of it."""
        return Line(
            self.seq,
            self.at,
            self.by,
            self.text,
            self.amended,
            self.now,
            self.about,
            self.why,
            self.wrong,
            self.can_amend,
        )


class Pay(NamedTuple):
    """A bet that is owed money which is not recorded as paid."""

    seat: int
    bet: str
    amount: Decimal


class Move(NamedTuple):
    """A card that is to be moved: where it lies, where it belongs, and that in words."""

    source: str
    to: str
    text: str


class Burn(NamedTuple):
    """A card beyond the hand that the ruling burns: where it lies (`extra`: beside the hand), and that in words."""

    place: str
    text: str


class Told(NamedTuple):
    """Findings of one code that follow on each other, told once: their cards, and how to put a slip of typing right."""

    found: dict[str, Any]
    times: int
    code: str
    rules: tuple[str, ...]
    payouts: tuple[money.PayRow, ...]
    slip: Line | None


class HandOf(NamedTuple):
    """A hand by its numbers."""

    shoe: int
    hand: int


class PlaceKey(NamedTuple):
    """A key of the place row: what pressing a card now would do there."""

    place: str
    value: str
    name: str
    due: bool
    chosen: bool
    turn: bool
    taken: bool


def redealt_from(table: Table, shoe: int) -> HandOf | None:
    """The hand of the shoe before that the first hand of a shoe deals again."""
    before = table.shoes.filter(number__lt=shoe).order_by("-number").only("number", "closed_reason").first()
    if before is None:
        return None
    hand = redealt(before.closed_reason or None, list(before.hand_set.values_list("number", "status")))
    return HandOf(before.number, hand) if hand else None


def redealt_by(table: Table, shoe: Shoe, hand: int | None = None) -> HandOf | None:
    """The hand that deals a void last hand of a shoe again; `hand`: only if that is it. None while there is none."""
    after = table.shoes.filter(number__gt=shoe.number).order_by("number").only("number").first()
    found = redealt_from(table, after.number) if after else None
    first = after.hand_set.order_by("number").values_list("number", flat=True).first() if after and found else None
    if not after or not found or first is None or (hand is not None and hand != found.hand):
        return None
    return HandOf(after.number, first)


def incident_page(table: str, shoe: int, hand: int) -> str:
    """The address of the hand's incident; empty where no app offers one."""
    try:
        return reverse(INCIDENT_PAGE, args=(table, shoe, hand))
    except NoReverseMatch:
        return ""


def fresh_key() -> str:
    """An idempotency key: two presses of the same button carry the same one."""
    return secrets.token_urlsafe(12)


def timeline(
    rows: Iterable[Trailed], zone: dt.tzinfo, wrong: frozenset[int] = frozenset(), can_amend: bool = False
) -> list[Entry]:
    """The entries of these rows, newest first, both readings of an amended one kept."""
    entries: dict[int, Entry] = {}
    for row in rows:
        event = row.event
        shown = Entry(row.seq, event.at.astimezone(zone), event.by or row.actor, event, row.actor)
        if isinstance(event, log.Amended):
            told = entries.get(event.seq)
            shown.about, shown.why = event.seq, wording.kept_reason(event.reason)
            shown.now = words.entry(event.entry) if event.entry else ""
            if told:
                shown.text = told.now or told.text
                told.amended, told.now = row.seq, shown.now
                told.can_amend = can_amend and event.entry is not None
        else:
            shown.text = words.entry(event)
            shown.can_amend = can_amend
            shown.wrong = row.seq in wrong
        entries[row.seq] = shown
    return list(reversed(entries.values()))


def laid_out(audit: HandAudit | None, down: Iterable[str] = ()) -> dict[str, list[str | None]]:
    """The cards by place for the felt; those that lie face down are None."""
    hidden = set(down)
    felt: dict[str, list[str | None]] = {}
    if audit:
        for place, cards in audit.dealt.places.items():
            felt[place] = [None if place in hidden and n == len(cards) - 1 else card for n, card in enumerate(cards)]
        felt["extra"] = list(audit.dealt.extra)
    return felt


@dataclass
class State:
    """The table as the console shows it. `shoe` is the one open now, `hand` the shoe's last hand."""

    table: Table
    shoe: Shoe | None
    hand: Hand | None
    last_shoe: int
    rows: list[Trailed]
    can_record: bool = False
    can_supervise: bool = False
    actor: str = ""
    #: Effective events of the current hand, and of the shoe outside its hands.
    events: list[tuple[int, Event]] = field(default_factory=list)
    beside: list[tuple[int, Event]] = field(default_factory=list)
    fold: HandFold | None = None
    audit: HandAudit | None = None

    def __post_init__(self) -> None:
        if not self.shoe:
            return
        for seq, event in effective((row.seq, row.event) for row in self.rows).events:
            (self.events if event.hand is not None else self.beside).append((seq, event))
        if self.hand:
            self.fold = HandFold.of(HandContext.from_json(self.hand.context), self.events)
            self.audit = self.fold.audit()

    # The shoe.

    @cached_property
    def ruleset(self) -> Ruleset:
        """The rules of the open shoe, else those that the next one is opened with."""
        return get_ruleset(self.shoe.ruleset if self.shoe else self.table.ruleset)

    @property
    def ruleset_title(self) -> str:
        """The rules in words."""
        return words.ruleset(self.ruleset.name)

    @property
    def next_shoe(self) -> int:
        """The number proposed for a new shoe."""
        return self.last_shoe + 1

    @cached_property
    def shoe_fold(self) -> ShoeFold | None:
        """The judge's state of the open shoe."""
        return ShoeFold.from_json(self.shoe.fold) if self.shoe else None

    @cached_property
    def burn_card(self) -> Card | None:
        """The first card of the shoe."""
        return next((event.card for _seq, event in self.beside if isinstance(event, log.BurnCard)), None)

    @property
    def burn_due(self) -> int | None:
        """How many cards are to be burned, as far as it is known."""
        return self.ruleset.procedure.burn.due(self.burn_card, self.shoe.decks) if self.shoe else None

    @property
    def burn_words(self) -> str:
        """`Jack: burn 10 cards`."""
        due = self.burn_due
        return "" if due is None else words.burn(self.burn_card if self.burns_by_card else None, due)

    @property
    def burns_by_card(self) -> bool:
        """Whether the first card of the shoe says how many are burned."""
        return self.ruleset.procedure.burn.by == "first-card"

    @property
    def burn_citation(self) -> Any:
        """The rule of the burn, in the active language."""
        rule = self.ruleset.procedure.burn.rule
        return self.ruleset.cite(rule, get_language() or "en") if rule else None

    @cached_property
    def burned(self) -> bool:
        """Whether the burned cards were counted."""
        return any(isinstance(event, log.CardsBurned) for _seq, event in self.beside)

    @cached_property
    def shoe_findings(self) -> list[dict[str, Any]]:
        """The findings on the shoe itself."""
        return list(self.shoe.audit.get("findings", ())) if self.shoe else []

    # The shoe's life.

    @property
    def cards_total(self) -> int:
        """The cards that the shoe held."""
        return self.shoe.decks * 52 if self.shoe else 0

    @property
    def cards_seen(self) -> int:
        """The cards that the judge has counted: those whose face was seen."""
        return self.shoe.cards_seen if self.shoe else 0

    @property
    def cards_unseen(self) -> int:
        """The cards that are out of the shoe and were not seen: burned, or face down on the felt."""
        return (self.shoe_fold.burned or 0 if self.shoe_fold else 0) + len(self.face_down)

    @property
    def cards_left(self) -> int:
        """The cards that the shoe still holds."""
        return max(0, self.cards_total - self.cards_seen - self.cards_unseen)

    @property
    def cards_gone(self) -> int:
        """The cards that are out of the shoe, seen or not."""
        return self.cards_total - self.cards_left

    @property
    def cut_card_out(self) -> bool:
        """Whether the cut card has come."""
        return bool(self.shoe_fold and self.shoe_fold.last_hand is not None)

    @cached_property
    def redeals(self) -> HandOf | None:
        """The hand that this shoe's first hand deals again, while that is the hand at the table or still to come."""
        if self.hand and (self.hand.number > 1 or not self.hand_open):
            return None
        number = self.shoe.number if self.shoe else self.next_shoe
        return redealt_from(self.table, number) if number > 1 else None

    # Where the hand is.

    @cached_property
    def hand_open(self) -> bool:
        """Whether a hand is being played."""
        return self.audit is not None and self.audit.status == "open"

    @property
    def next_hand(self) -> int:
        """The number of the next hand."""
        return self.hand.number + 1 if self.hand else 1

    @cached_property
    def betting(self) -> str:
        """`open`, `closed`, or empty where nothing was recorded."""
        names = {event.name for _seq, event in self.events}
        return "closed" if "betting_closed" in names else "open" if "betting_opened" in names else ""

    @cached_property
    def phase(self) -> str:
        """no-shoe, burn, count, ready, betting, dealing, complete (no card due), over (closed or void)."""
        if not self.shoe:
            return "no-shoe"
        if not self.hand:
            if self.burns_by_card and not self.burn_card:
                return "burn"
            return "ready" if self.burned or self.ruleset.procedure.burn.by == "none" else "count"
        if not self.hand_open:
            return "over"
        if self.betting == "open" and not self.drawn:
            return "betting"
        return "complete" if self.result else "dealing"

    @property
    def forms_here(self) -> tuple[str, ...]:
        """The forms that stand on the console itself now; every other one comes in a sheet."""
        if self.phase in ("no-shoe", "count"):
            return ("shoe_opened",) if self.phase == "no-shoe" else ("cards_burned",)
        taking = ("bet",) if self.phase == "betting" or self.window_open else ()
        return (*taking, "paid") if self.pay_sheet.waiting else taking

    @property
    def last_hand_done(self) -> bool:
        """Whether the cut card has ended the shoe: no further hand is dealt."""
        last = self.shoe_fold.last_hand if self.shoe_fold else None
        return last is not None and not self.hand_open and self.next_hand > last

    @property
    def last_hand_now(self) -> bool:
        """Whether the cut card has made the hand that is being played the last."""
        last = self.shoe_fold.last_hand if self.shoe_fold else None
        return last is not None and self.hand_open and self.next_hand == last + 1

    @property
    def hands_to_come(self) -> int:
        """How many hands are still dealt after this one, or after the last one that was, once the cut card is out."""
        last = self.shoe_fold.last_hand if self.shoe_fold else None
        return 0 if last is None else max(0, last + 1 - self.next_hand)

    # What the hands before leave to the next.

    @property
    def kept(self) -> list[str]:
        """The cards that the rules keep for a hand: the next one, or this one while it has none of its own."""
        return [words.card(held.card) for held in self.fold.held] if self.fold else []

    @property
    def kept_citation(self) -> Any:
        """The rule by which the first of them is kept."""
        held = self.fold.held if self.fold else ()
        code = "extra-card-exposed" if held and held[0].card is not None else "extra-card-unseen"
        cited = self.ruleset.ruling_for(code).rules
        return self.ruleset.cite(cited[0], get_language() or "en") if cited else None

    @property
    def kept_for(self) -> int:
        """The number of the hand that they are kept for."""
        return self.hand.number if self.hand and self.hand_open and not self.drawn else self.next_hand

    @property
    def free_hand(self) -> tuple[int, int] | None:
        """Which of how many hands without betting the next one may be; None where it may not be one."""
        allowed = self.ruleset.procedure.free_hands
        if allowed is None or self.shoe_fold is None or self.shoe_fold.bet_on or self.hand_open:
            return None
        if self.fold is not None and not self.fold.free:
            return None
        number = len(self.shoe_fold.free) + (self.fold is not None) + 1
        return (number, allowed.most) if number <= allowed.most else None

    # The cards.

    @property
    def drawn(self) -> bool:
        """Whether any card lies on the felt."""
        return bool(self.audit and self.audit.dealt.places)

    @cached_property
    def face_down(self) -> dict[str, None]:
        """The places that hold a face-down card, in the order dealt."""
        down: dict[str, None] = {}
        for _seq, event in self.events:
            if isinstance(event, log.CardDealt) and event.face == "down":
                down[event.to] = None
            elif isinstance(event, log.Opened):
                down.pop(event.place, None)
            elif isinstance(event, log.Moved) and event.source in down:
                del down[event.source]
                down[event.to] = None
            elif isinstance(event, log.Discarded) and event.place:
                down.pop(event.place, None)
        return down

    @property
    def felt(self) -> dict[str, list[str | None]]:
        """The cards as they lie."""
        return laid_out(self.audit, self.face_down)

    @property
    def lawful_felt(self) -> dict[str, list[str]] | None:
        """The same cards where they belong; None while all of them lie there."""
        if not self.audit or not self.misplaced:
            return None
        correct = self.audit.correct
        return {**{place: list(cards) for place, cards in correct.places.items()}, "extra": list(correct.extra)}

    @property
    def totals(self) -> tuple[int | None, int | None]:
        """The totals of the cards so far, laid by the rules; None before a side has cards."""
        if not self.audit or not self.audit.layout.drawn:
            return None, None
        player, banker = self.audit.totals
        return player, banker if self.audit.layout.drawn > 1 else None

    @cached_property
    def due(self) -> str:
        """The place of the next card; empty when none is due or it depends on a card not yet seen."""
        return (self.audit.next_due if self.audit and self.hand_open else None) or ("P1" if not self.hand else "")

    @property
    def result(self) -> Any:
        """The judge's result of the hand, None while cards are due or unseen."""
        return self.audit.result if self.audit else None

    @property
    def winner(self) -> str:
        """The winner, empty while there is none."""
        return self.result.winner if self.result else ""

    @cached_property
    def said(self) -> words.Said | None:
        """What is due next and why."""
        if not self.audit or not self.hand_open:
            return None
        if self.to_move:
            return words.Said(self.to_move.text, "", self.to_move.to)
        if self.audit.next_due is None and self.audit.result is None and self.face_down:
            return words.Said(_("Turn up the face-down cards: what is due depends on them"), "")
        return words.due(self.audit.layout, self.audit.next_due)

    @property
    def citation(self) -> Any:
        """The rule behind what is due, in the active language."""
        rule = self.said.rule if self.said else ""
        return self.ruleset.cite(rule, get_language() or "en") if rule else None

    @property
    def result_words(self) -> str:
        """`Banker wins 7 to 6`."""
        return words.result(self.result.winner, self.result.player, self.result.banker) if self.result else ""

    @cached_property
    def places(self) -> list[PlaceKey]:
        """The place row. `to` is preselected: the due place, else the first face-down card.

        Between hands a card can only be the next hand's first.
        """
        on = self.audit.dealt.places if self.audit and self.hand_open else {}
        hidden = self.face_down if self.hand_open else {}
        due = self.due if self.hand_open else "P1"
        preset = due if due and due not in on else ""
        turning = not preset and next(iter(hidden), "")
        keys = []
        for place in PLACES:
            turn = place in hidden
            chosen = place == (turning or preset)
            value = f"open-{place}" if turn else place
            keys.append(PlaceKey(place, value, wording.place_name(place), place == due, chosen, turn, place in on))
        return keys

    @property
    def lying(self) -> dict[str, str]:
        """What lies on each place, in a word."""
        hidden = self.face_down
        return {
            place: _("face down") if place in hidden else " ".join(words.card(words.read_card(card)) for card in cards)
            for place, cards in (self.audit.dealt.places.items() if self.audit else ())
        }

    @property
    def down(self) -> str:
        """The places with face-down cards, as the entry form sends them back."""
        return ",".join(self.face_down)

    @property
    def has_extra(self) -> bool:
        """Whether a card lies beside the hand."""
        return bool(self.audit and self.audit.dealt.extra)

    @cached_property
    def misplaced(self) -> tuple[str, str] | None:
        """The first card that lies where it does not belong: where it is, and where it goes."""
        if not self.audit:
            return None
        for to, cards in self.audit.correct.places.items():
            for card in cards:
                if card not in self.audit.dealt.places.get(to, ()):
                    source = next(
                        (
                            place
                            for place, there in self.audit.dealt.places.items()
                            if card in there and card not in self.audit.correct.places.get(place, ())
                        ),
                        None,
                    )
                    if source:
                        return source, to
        return None

    @cached_property
    def to_move(self) -> Move | None:
        """The first card to be put where it belongs, unless the rules ask for another ruling than that."""
        if not self.fold or not self.hand_open:
            return None
        rulings = {seq: finding.ruling for finding in self.findings for seq in finding.seq if finding.state == "open"}
        for seq, source, to in self.fold.misplaced():
            if to and rulings.get(seq) in ("correct", DISCRETION):
                dealt = next((event for at, event in self.events if at == seq), None)
                seen = dealt.card if isinstance(dealt, log.CardDealt) and source not in self.face_down else None
                return Move(source, to, _("Move %(card)s to %(place)s") % {"card": words.card(seen), "place": to})
        return None

    @cached_property
    def to_burn(self) -> Burn | None:
        """The first card beyond the hand that is to be burned: the ruling's act, in one press."""
        if not self.fold or not self.audit or not self.hand_open:
            return None
        burned = [found for found in self.findings if found.state == "open" and found.ruling == "burn card"]
        for seq, source, to in self.fold.misplaced():
            if to is None and any(seq in found.seq for found in burned):
                dealt = next((event for at, event in self.events if at == seq), None)
                card = dealt.card if isinstance(dealt, log.CardDealt) else None
                return Burn(source, _("Burn %(card)s") % {"card": words.card(card)})
        for place in self.fold.taken_out:
            card = None if place in self.face_down else words.read_card(self.audit.dealt.places[place][0])
            return Burn(place, _("Burn %(card)s") % {"card": words.card(card)})
        if burned and self.fold.extra_to_burn:
            named = self.audit.dealt.extra or burned[0].cards
            return Burn(
                "extra", _("Burn %(card)s") % {"card": words.card(words.read_card(named[0]) if named else None)}
            )
        return None

    # Findings.

    @cached_property
    def told_findings(self) -> list[Told]:
        """The findings of the hand; several of one code in a row, all open or all put right, are told once."""
        groups: list[list[tuple[int, Finding]]] = []
        for n, found in enumerate(self.findings):
            last = groups[-1][-1][1] if groups else None
            if last and (found.code, found.state, found.ruling) == (last.code, last.state, last.ruling):
                groups[-1].append((n, found))
            else:
                groups.append([(n, found)])
        wrong = money.wrongly_paid(self.audit) if self.audit else {}
        told = []
        for group in groups:
            first = group[0][1]
            cards = [card for _n, found in group for card in found.cards]
            payouts = tuple(wrong[n] for n, _found in group if n in wrong)
            slip = self.betting_slip if first.code in DURING_BETTING and first.state == "open" else None
            shown = {**first.as_dict(), "cards": cards}
            told.append(Told(shown, len(group), first.code, first.rules, payouts, slip))
        return told

    @cached_property
    def betting_slip(self) -> Line | None:
        """The entry to take back where only the record has betting open while cards came; None where none would help.

        Betting that was closed at the table and not in the record reads as cards dealt during betting.
        """
        if not self.hand_open:
            return None
        cards = [seq for seq, event in self.events if isinstance(event, log.CardDealt)]
        if not cards or any(isinstance(e, log.Exposed) and e.when == "betting" for _seq, e in self.events):
            return None
        spoiled = {
            seq
            for seq, event in self.events
            if (isinstance(event, log.BettingOpened) and seq < max(cards))
            or (isinstance(event, log.BettingClosed) and seq > min(cards))
        }
        return next((entry.line for entry in self.entries if entry.seq in spoiled and entry.can_amend), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on the hand."""
        return self.audit.findings if self.audit else ()

    @cached_property
    def open_findings(self) -> int:
        """How many findings of the hand and its shoe are not put right."""
        return sum(finding.state == "open" for finding in self.findings) + sum(
            finding["state"] == "open" for finding in self.shoe_findings
        )

    @property
    def wrong(self) -> frozenset[int]:
        """The positions that findings are about."""
        seqs = [seq for finding in self.findings for seq in finding.seq]
        return frozenset(seqs + [seq for finding in self.shoe_findings for seq in finding["seq"]])

    @property
    def incident(self) -> str:
        """The address of the hand's incident page, empty where there is none."""
        if not self.shoe or not self.hand or not self.findings:
            return ""
        return incident_page(self.table.code, self.shoe.number, self.hand.number)

    # Bets and money.

    @property
    def bet_choices(self) -> list[tuple[str, str]]:
        """The bets of the ruleset first; then those it does not offer, for somebody may have taken one."""
        offered = [name for name in BET_NAMES if name in self.ruleset.bets]
        others = [name for name in BET_NAMES if name not in self.ruleset.bets]
        return [(name, wording.bet_name(name)) for name in (*offered, *others)]

    @cached_property
    def limits(self) -> Limits:
        """The table's limits, read once where they are asked for."""
        return Limits.of(self.table)

    @cached_property
    def placed(self) -> list[log.Bet]:
        """The bets of the hand as they were recorded; none before the next hand has begun."""
        return [event for _seq, event in self.events if isinstance(event, log.Bet)] if self.hand_open else []

    @cached_property
    def bet_keys(self) -> tuple[list[money.BetKey], list[money.BetKey]]:
        """The keys of the bets that may be placed now, and those of all others."""
        hand = self.hand.number if self.hand and self.hand_open else self.next_hand
        betting = self.betting if self.hand_open else ""
        return money.bet_keys(self.ruleset, hand, betting, bool(self.window_open), self.placed, self.limits)

    @cached_property
    def recent(self) -> tuple[list[Decimal], list[int]]:
        """The stakes used last at the table, and the seats beyond the usual ones."""
        return money.recent(self.table)

    @cached_property
    def standing(self) -> list[money.StandingBet]:
        """The bets on the hand, each with its entry and what is to be remarked of it."""
        return money.standing(self.events, self.findings, self.limits)

    @property
    def staked(self) -> Decimal:
        """What stands on the hand in all."""
        return sum((bet.stake for bet in self.standing), Decimal(0))

    @property
    def last_bet(self) -> log.Bet | None:
        """The bet recorded last: the next one is often of the same seat or stake."""
        return next((event for _seq, event in reversed(self.events) if isinstance(event, log.Bet)), None)

    @cached_property
    def pay_sheet(self) -> money.PaySheet:
        """What every seat is owed, was paid, and gets back."""
        audit = self.audit
        return money.PaySheet(money.pay_rows(audit) if audit else [], bool(audit and audit.status == "voided"))

    @cached_property
    def pays(self) -> list[Pay]:
        """What is owed on winning bets and not yet paid, by seat and bet."""
        if not self.audit:
            return []
        owed, paid = owed_in_all(self.audit.settlement), self.audit.paid
        rest = {key: amount - paid.get(key, Decimal(0)) for key, amount in owed.items() if amount}
        return [Pay(seat, bet, amount) for (seat, bet), amount in rest.items() if amount > 0]

    @property
    def unfinished(self) -> list[str]:
        """What closing the hand now would leave undone, in sentences."""
        told = []
        if self.hand_open and not self.result:
            place = self.audit.next_due if self.audit else None
            told.append(
                _("A card is due at %(place)s.") % {"place": place} if place else _("The hand has no result yet.")
            )
        for pay in self.pays:
            told.append(
                _("Seat %(seat)d is still owed %(amount)s on %(bet)s.")
                % {"seat": pay.seat, "amount": f"{pay.amount:,}", "bet": wording.bet_name(pay.bet)}
            )
        return told

    @property
    def called(self) -> log.Called | None:
        """The last result that the dealer called."""
        return next((event for _seq, event in reversed(self.events) if isinstance(event, log.Called)), None)

    # Insurance.

    @property
    def insured(self) -> bool:
        """Whether the rules of the table know insurance."""
        return bool(self.ruleset.insurance)

    @cached_property
    def window_open(self) -> int:
        """The insurance time that is open, 0 for none."""
        opened = 0
        for _seq, event in self.events:
            if isinstance(event, log.InsuranceOpened):
                opened = event.window
            elif isinstance(event, log.InsuranceClosed | log.HandClosed):
                opened = 0
        return opened

    @property
    def insurance_clock(self) -> tuple[str, str, int, int] | None:
        """The countdown of the open time: when it was opened, now, how many seconds it runs, and how many are left."""
        seconds = self.table.insurance_seconds
        opened = next((e for _seq, e in reversed(self.events) if isinstance(e, log.InsuranceOpened)), None)
        if not self.window_open or not opened or not seconds:
            return None
        now = timezone.now().astimezone(opened.at.tzinfo)
        left = seconds - int((now - opened.at).total_seconds())
        return log.format_time(opened.at), log.format_time(now), seconds, max(0, min(seconds, left))

    @property
    def insurance_due(self) -> InsuranceDue | None:
        """The insurance that the open cards make due."""
        return self.audit.insurance_due if self.audit and self.hand_open else None

    @property
    def window(self) -> int:
        """The insurance time that is open or due."""
        return self.window_open or (self.insurance_due.window if self.insurance_due else 0) or 1

    @property
    def insurance_offered(self) -> InsuranceDue | None:
        """An insurance that is due and whose time has not been opened yet."""
        due = self.insurance_due
        opened = {event.window for _seq, event in self.events if isinstance(event, log.InsuranceOpened)}
        return due if due and due.window not in opened else None

    @property
    def odds_up(self) -> log.InsuranceOdds | None:
        """The odds that were put up in the open time."""
        found = None
        for _seq, event in self.events:
            if isinstance(event, log.InsuranceOpened):
                found = None
            elif isinstance(event, log.InsuranceOdds):
                found = event
        return found if self.window_open else None

    # The timeline.

    @cached_property
    def entries(self) -> list[Entry]:
        """This hand's entries and the shoe's own, newest first."""
        may = self.can_record if self.hand_open or not self.hand else self.can_supervise
        return timeline(self.rows, self.table.venue.zone, self.wrong, may)

    @property
    def last_entry(self) -> Entry | None:
        """What "undo" would withdraw: the person's own newest entry that still counts.

        None where somebody else recorded since, other than bets and pays, or where the entry carries out a decision.
        """
        entry = next((one for one in self.entries if self._stops_undo(one)), None)
        if not entry or entry.about or entry.actor != self.actor or entry.event.name == "shoe_opened":
            return None
        if entry.event.name in DECIDING and decision_on(self.table, entry.event.shoe, [entry.seq]):
            return None
        over = entry.event.hand is not None and not self.hand_open
        mine = entry.can_amend and not over
        return entry if mine or (self.can_record and self.slipped(self.actor)) else None

    def _stops_undo(self, entry: Entry) -> bool:
        """Whether undo looks no further than this entry: it is to be taken back, or somebody else's in the way."""
        if entry.about:
            return entry.actor != self.actor
        withdrawn = bool(entry.amended and not entry.now)
        return not withdrawn and (entry.actor == self.actor or entry.event.name not in MONEY)

    @property
    def has_fixable(self) -> bool:
        """Whether there is an entry on the page that the person may open to put it right."""
        return any(entry.can_amend for entry in self.entries)

    def slipped(self, actor: str) -> bool:
        """Whether the newest entry of the whole table is this person's, and one of those that may be taken back."""
        last = self.rows[-1] if self.rows else None
        return last is not None and last.event.name in SLIPS and (last.seq, last.actor) == (self.table.last_seq, actor)

    @property
    def key(self) -> str:
        """A new idempotency key for every form of the page."""
        return fresh_key()


def load(
    table: Table,
    done: Recorded | None = None,
    *,
    can_record: bool = False,
    can_supervise: bool = False,
    actor: str = "",
) -> State:
    """The table as it is now, in three queries; in one right after something of its newest hand was recorded."""
    shoe = done.shoe if done and done.shoe.pk and not done.duplicate else None
    last = shoe if shoe and shoe.status == Shoe.Status.OPEN else table.shoes.order_by("-number").first()
    current = last if last and last.status == Shoe.Status.OPEN else None
    hand: Hand | None = None
    rows: list[Trailed] = []
    if current:
        hand = done.hand if done and current is shoe else None
        if hand is None or not hand.pk or hand.number != current.fold["hand"]:
            hand = current.hand_set.order_by("-number").first()
        known = done.trail if done and current is shoe else None
        rows = read_trail(table, current.number, hand) if known is None else known
    return State(table, current, hand, last.number if last else 0, rows, can_record, can_supervise, actor)


def read_rows(rows: QuerySet[TableEvent]) -> list[Trailed]:
    """The rows in order, each parsed once."""
    found = rows.order_by("seq").values_list("seq", "payload", "actor")
    return [Trailed(seq, log.parse_line(payload), actor) for seq, payload, actor in found]

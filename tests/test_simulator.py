"""The simulator: repeatable, true to the shoe, clean where nothing is to go wrong, and wrong exactly as asked."""

import datetime as dt
import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dealing.rules.events import (
    Amended,
    BurnCard,
    CardDealt,
    CardsBurned,
    CutCard,
    Event,
    Exposed,
    Extra,
    HandClosed,
    Opened,
    ShoeClosed,
    ShoeOpened,
    format_event,
    parse_line,
)
from dealing.rules.findings import CATALOGUE
from dealing.rules.judge import HandAudit, ShoeAudit, effective, fold_all
from dealing.rules.rulesets import get_ruleset
from dealing.simulator import AT_START, CUT, RECORDING, USUAL_RATES, Mistake, simulate_shoe

START = dt.datetime(2026, 11, 28, 20, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))
RULESETS = ("insurance", "standard", "commission", "macau", "melilla", "studio", "venezia")

#: A ruleset in which the mistake can be made.
RULESET_OF = {
    Mistake.OPPOSING_BETS: "insurance",
    Mistake.SIDE_BET_AFTER_LIMIT: "commission",
    **{mistake: "insurance" for mistake in Mistake if mistake.startswith("insurance")},
    Mistake.EXTRA_CARD_UNSEEN: "melilla",
    Mistake.HELD_CARD_NOT_DEALT: "venezia",
    Mistake.CARD_SCAN_DIFFERS: "studio",
    Mistake.FREE_HAND_OVER_LIMIT: "macau",
}
#: Mistakes that are possible only late in a shoe.
LATE_IN_SHOE = {Mistake.SIDE_BET_AFTER_LIMIT: 61, Mistake.CARD_IMPOSSIBLE: 66}
#: What may come with a mistake: insurance is not due because a card lies wrong, what was paid on a hand that is void
#: later should not have been, and the like.
BESIDES = {
    Mistake.FIFTH_CARD_MISPLACED: {"sixth-card-misplaced"},
    Mistake.SIXTH_CARD_MISPLACED: {"fifth-card-misplaced"},
    Mistake.INSURANCE_NOT_DUE: {"fifth-card-misplaced", "sixth-card-misplaced"},
    Mistake.CARD_NOT_DRAWN: {"wrong-result-called"},
    Mistake.WRONG_RESULT_CALLED: {"payout-wrong"},
    Mistake.HELD_CARD_NOT_DEALT: {"extra-card-exposed"},
}


def shoe_with(mistake: Mistake | None, seed: int, **options: Any) -> list[Event]:
    """A few hands, one of them with the mistake."""
    before = LATE_IN_SHOE.get(mistake, 2) - 1 if mistake else 0
    ruleset = RULESET_OF.get(mistake, "commission") if mistake else "commission"
    mistakes = [*[None] * before, mistake]
    hands = 6 if mistake is Mistake.FREE_HAND_OVER_LIMIT else before + 2
    return simulate_shoe("B07", 3, ruleset, seed, START, mistakes, **{"hands": hands, **options})


def audits_of(events: list[Event]) -> list[HandAudit | ShoeAudit]:
    return fold_all(events[0].table, list(enumerate(events, 1))).audits


def codes_of(events: list[Event]) -> list[str]:
    return [finding.code for audit in audits_of(events) for finding in audit.findings]


def test_the_same_seed_deals_the_same_shoe() -> None:
    one, two, other = (simulate_shoe("B01", 1, "insurance", seed, START, USUAL_RATES) for seed in (7, 7, 8))
    assert one == two
    assert one != other
    assert simulate_shoe("B01", 1, "insurance", random.Random(7), START, USUAL_RATES) == one


@pytest.mark.parametrize("ruleset", RULESETS)
@pytest.mark.parametrize("seed", range(3))
def test_a_clean_shoe_gives_no_finding(ruleset: str, seed: int) -> None:
    events = simulate_shoe("B01", 1, ruleset, seed, START)
    assert codes_of(events) == []
    audits = audits_of(events)
    hands = [audit for audit in audits if isinstance(audit, HandAudit)]
    assert 65 <= len(hands) <= 95
    assert all(hand.status == "closed" and hand.result is not None for hand in hands)
    assert any(line.owed for hand in hands for line in hand.settlement)
    assert isinstance(audits[-1], ShoeAudit)


@pytest.mark.parametrize("ruleset", RULESETS)
def test_the_shoe_holds_its_cards_and_ends_at_the_cut_card(ruleset: str) -> None:
    events = simulate_shoe("B01", 1, ruleset, 11, START)
    assert isinstance(events[0], ShoeOpened)
    assert isinstance(events[-1], ShoeClosed)
    shown = Counter(
        event.card for event in events if isinstance(event, CardDealt | Opened | Extra) and event.card is not None
    )
    assert max(shown.values()) <= 8
    dealt = [event for event in events if isinstance(event, CardDealt)]
    burned = sum(event.count for event in events if isinstance(event, CardsBurned))
    burned += sum(isinstance(event, BurnCard) for event in events)
    assert bool(burned) == (get_ruleset(ruleset).procedure.burn.by != "none")
    more = get_ruleset(ruleset).procedure.cut_card.more_hands
    cut = next(index for index, event in enumerate(events) if isinstance(event, CutCard))
    before_cut = sum(isinstance(event, CardDealt) for event in events[:cut])
    assert burned + before_cut == 416 - CUT - 6 * more
    assert len(dealt) <= 416 - burned
    last_hand = max(event.hand or 0 for event in events)
    began = max(event.hand or 0 for event in events[:cut])
    assert events[cut].hand in (None, began)
    assert last_hand == began + more


def test_times_go_forward_in_milliseconds_with_their_offset() -> None:
    events = simulate_shoe("B01", 1, "insurance", 5, START, USUAL_RATES)
    assert all(one.at <= two.at for one, two in pairwise(events))
    assert all(event.at.utcoffset() == dt.timedelta(hours=7) and event.at.microsecond % 1000 == 0 for event in events)
    assert all(parse_line(format_event(event)) == event for event in events)
    hands = max(event.hand or 0 for event in events)
    assert 20 <= (events[-1].at - events[0].at).total_seconds() / hands <= 45


def test_every_finding_has_a_mistake_that_makes_it() -> None:
    assert {mistake.value for mistake in Mistake} - {mistake.value for mistake in RECORDING} == set(CATALOGUE)


@pytest.mark.parametrize("repairs", [0.0, 1.0])
@pytest.mark.parametrize("mistake", [mistake for mistake in Mistake if mistake not in RECORDING])
def test_a_mistake_gives_its_finding_and_no_other(mistake: Mistake, repairs: float) -> None:
    for seed in range(6):
        events = shoe_with(mistake, seed, repairs=repairs)
        codes = set(codes_of(events))
        assert mistake.value in codes, f"seed {seed}: {codes}"
        assert codes <= {mistake.value} | BESIDES.get(mistake, set()), f"seed {seed}"


@pytest.mark.parametrize("ranks_only", [False, True], ids=["suits", "ranks"])
@pytest.mark.parametrize("mistake", sorted(RECORDING))
def test_a_recording_mistake_is_amended_and_gives_nothing(mistake: Mistake, ranks_only: bool) -> None:
    for seed in range(6):
        events = shoe_with(mistake, seed, ranks_only=ranks_only)
        assert any(isinstance(event, Amended) for event in events)
        assert codes_of(events) == []


def test_amendments_name_positions_at_the_table() -> None:
    events = shoe_with(Mistake.TYPED_WRONG, 1, first_seq=1001)
    amended = next(event for event in events if isinstance(event, Amended))
    assert amended.entry is not None
    assert type(events[amended.seq - 1001]) is type(amended.entry)
    assert effective(list(enumerate(events, 1001))).events


@pytest.mark.parametrize(
    "mistake",
    [
        Mistake.INITIAL_CARD_MISPLACED,
        Mistake.FIFTH_CARD_MISPLACED,
        Mistake.SIXTH_CARD_MISPLACED,
        Mistake.CARD_NOT_DRAWN,
        Mistake.EXPOSED_DURING_BETTING,
        Mistake.PAYOUT_WRONG,
        Mistake.CARD_DROPPED_OPENED,
    ],
)
def test_what_the_log_puts_right_is_corrected_even_when_the_next_hand_has_begun(mistake: Mistake) -> None:
    seen = set()
    for seed in range(40):
        events = shoe_with(mistake, seed, repairs=1.0, late=0.7, hands=4)
        findings = [finding for audit in audits_of(events) for finding in audit.findings]
        assert all(finding.state == "corrected" for finding in findings), (seed, findings)
        closed = next(i for i, event in enumerate(events) if isinstance(event, HandClosed) and event.hand == 2)
        after = [event for event in events[closed + 1 :] if event.hand == 2]
        begun = [event for event in events[closed + 1 :] if event.hand == 2 and event.at > _begin(events, 3)]
        seen.add("next" if begun else "after" if after else "at once")
    assert seen == {"next", "after", "at once"} - ({"at once"} if mistake is Mistake.PAYOUT_WRONG else set())


def _begin(events: list[Event], hand: int) -> dt.datetime:
    return next((event.at for event in events if event.hand == hand), dt.datetime.max.replace(tzinfo=dt.UTC))


def test_an_uncorrected_mistake_stays_open() -> None:
    events = shoe_with(Mistake.EXPOSED_DURING_BETTING, 3, repairs=0.0)
    assert [finding.state for audit in audits_of(events) for finding in audit.findings] == ["open"]


def test_an_open_shoe_is_left_open() -> None:
    events = simulate_shoe("B01", 1, "standard", 2, START, hands=5)
    assert isinstance(events[-1], HandClosed)
    assert events[-1].hand == 5


def test_a_smaller_shoe_and_no_bets() -> None:
    events = simulate_shoe("B01", 1, "standard", 2, START, bets=False, decks=1, face_down=0.0)
    assert not [event for event in events if event.name in ("bet", "paid")]
    shown = Counter(event.card for event in events if isinstance(event, CardDealt))
    assert set(shown.values()) == {1}


def test_cards_may_be_recorded_by_their_rank_only() -> None:
    events = simulate_shoe("B01", 1, "insurance", 4, START, ranks_only=True)
    cards = [event.card for event in events if isinstance(event, BurnCard | CardDealt | Opened) and event.card]
    assert {card.suit for card in cards} == {""}
    assert len(set(cards)) == 13
    assert max(Counter(cards).values()) <= 32
    assert codes_of(events) == []
    assert 65 <= sum(isinstance(audit, HandAudit) for audit in audits_of(events)) <= 95


@pytest.mark.parametrize("mistake", [m for m in Mistake if m not in RECORDING | {Mistake.CARD_IMPOSSIBLE}])
def test_a_mistake_gives_its_finding_by_ranks_too(mistake: Mistake) -> None:
    for seed in range(3):
        codes = set(codes_of(shoe_with(mistake, seed, ranks_only=True)))
        assert mistake.value in codes, f"seed {seed}: {codes}"
        assert codes <= {mistake.value} | BESIDES.get(mistake, set()), f"seed {seed}"


def test_too_many_cards_of_a_rank_are_made_by_ranks() -> None:
    rates = {Mistake.CARD_IMPOSSIBLE: 1.0}
    codes = {
        code
        for seed in range(5)
        for code in codes_of(simulate_shoe("B01", 1, "standard", seed, START, rates, decks=1, ranks_only=True, hands=8))
    }
    assert codes == {"card-impossible"}


def test_mistakes_at_the_start_are_findings_of_the_shoe() -> None:
    for mistake in AT_START:
        audits = audits_of(shoe_with(mistake, 4))
        shoe = audits[-1]
        assert isinstance(shoe, ShoeAudit)
        assert [finding.code for finding in shoe.findings] == [mistake.value]


def test_exposed_at_the_start_names_no_hand() -> None:
    events = shoe_with(Mistake.EXPOSED_AT_START, 4)
    assert [event.hand for event in events if isinstance(event, Exposed)] == [None]


@given(
    chance=st.randoms(use_true_random=False),
    ruleset=st.sampled_from(RULESETS),
    mistakes=st.lists(st.sampled_from([None, *Mistake]), max_size=4),
    repairs=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=30, deadline=None)
def test_any_mixture_is_a_log_that_can_have_happened(
    chance: random.Random, ruleset: str, mistakes: list[Mistake | None], repairs: float
) -> None:
    events = simulate_shoe("B01", 1, ruleset, chance.randrange(2**32), START, mistakes, hands=4, repairs=repairs)
    assert len(audits_of(events)) >= 2


@pytest.mark.parametrize("ruleset", RULESETS)
def test_many_mistakes_at_once_are_a_log_that_can_have_happened(ruleset: str) -> None:
    for seed in range(25):
        rates = dict.fromkeys(Mistake, 0.15)
        events = simulate_shoe("B01", 1, ruleset, seed, START, rates, hands=30, late=0.5, face_down=0.5)
        assert len(audits_of(events)) >= 2

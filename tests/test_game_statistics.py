"""Is the game right? Quiet on fair nights, and what is wrong is found on the first night."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from itertools import pairwise, product

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from dealing.night import DealerTally, Found, PaidTally, ShoeTally, TableNight
from dealing.rules.cards import CARDS, RANKS, SUITS
from dealing.rules.events import BurnCard, Called, CardDealt, CardsBurned, ShoeClosed
from dealing.rules.tableau import lay
from dealing.simulator import simulate_shoe
from incidents.reports import statistics
from incidents.reports.chance import chances
from incidents.reports.figures import Flag, Game
from incidents.reports.game_wording import flag_words
from incidents.reports.statistics import SHARE, TESTS, judge_game
from tests.game_nights import AT, deal, fair_nights, shuffled


def a_night(seed: int = 1, tables: int = 6, hands: int = 150) -> list[TableNight]:
    return next(fair_nights(np.random.default_rng(seed), 1, tables=tables, hands=hands, together=1))


def flags_of(game: Game, test: str) -> list[Flag]:
    return [flag for flag in game.flags if flag.test == test]


# --- the nights of the tests ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_shoes_dealt_at_once_are_those_of_the_simulator(seed: int) -> None:
    start = dt.datetime(2026, 7, 11, 20, tzinfo=dt.UTC)
    log = simulate_shoe("B01", 1, "commission", seed, start, bets=False, face_down=0)
    first = next(event.card for event in log if isinstance(event, BurnCard))
    burned = next(event.count for event in log if isinstance(event, CardsBurned))
    dealt = [event.card for event in log if isinstance(event, CardDealt) and event.card is not None]
    left = Counter(dict.fromkeys(CARDS, 8))
    left.subtract([first, *dealt])
    never_seen = list(left.elements())
    order = [first, *never_seen[:burned], *dealt, *never_seen[burned:]]
    tally = deal(np.array([[card.index for card in order]]))[0]

    called = [event for event in log if isinstance(event, Called)]
    assert tally.winners == "".join(event.winner[0].upper() for event in called)
    assert tally.closed == next(event.reason for event in log if isinstance(event, ShoeClosed)) == "finished"
    seen = Counter(card.rank for card in [first, *dealt])
    assert tally.ranks == {rank: seen[rank] for rank in RANKS}
    assert tally.suits == {suit: sum(card.suit == suit for card in [first, *dealt]) for suit in SUITS}
    hands: dict[int | None, list[CardDealt]] = {}
    for event in log:
        if isinstance(event, CardDealt):
            hands.setdefault(event.hand, []).append(event)
    cards = [[event.card for event in hand if event.card is not None] for hand in hands.values()]
    laid = [lay(card.value for card in hand)[0] for hand in cards]
    assert (tally.hands, tally.naturals) == (len(laid), sum(layout.natural for layout in laid))
    assert tally.five_cards == sum(layout.drawn == 5 for layout in laid)
    assert tally.six_cards == sum(layout.drawn == 6 for layout in laid)
    assert tally.player_pairs == sum(hand[0].rank == hand[2].rank for hand in cards)
    assert tally.banker_pairs == sum(hand[1].rank == hand[3].rank for hand in cards)


# --- fair nights ------------------------------------------------------------------------------------------------------


def test_fair_nights_are_quiet() -> None:
    """A hundred of them; more flagged than this would come once in a thousand times if the share held exactly."""
    nights = 100
    flagged = sum(bool(judge_game(night).flags) for night in fair_nights(np.random.default_rng(20260711), nights))
    assert flagged <= binom.ppf(0.999, nights, SHARE)


def test_each_kind_of_test_errs_no_more_often_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(p <= a) <= a for each kind, over two dozen nights, with what the numbers of the sample leave open."""
    seen: dict[str, list[np.ndarray]] = {}
    real = statistics._flags

    def spy(families: list[statistics._Family]) -> list[Flag]:
        for family in families:
            seen.setdefault(family.budget, []).append(family.p)
        return real(families)

    monkeypatch.setattr(statistics, "_flags", spy)
    nights = 24
    for night in fair_nights(np.random.default_rng(3), nights):
        judge_game(night)
    assert set(seen) == set(statistics.BUDGET)
    assert sum(statistics.BUDGET.values()) == pytest.approx(1)
    for budget, of in seen.items():
        p = np.concatenate(of)
        for level in (0.1, 0.01):
            # Ranks of a shoe, results of a table lean on each other: a few of them count as one.
            independent = len(p) / 3
            assert (p <= level).mean() <= level + 4 * (level * (1 - level) / independent) ** 0.5, (budget, level)


# --- what is wrong is found on the first night ------------------------------------------------------------------------


def short_shoe(seed: int, *, every: bool, tables: int = 20, hands: int = 300) -> list[Flag]:
    """The second shoe of table B004 (or all of its shoes) lacks eight nines; what the first night says of it."""
    rng = np.random.default_rng(seed)
    night = next(fair_nights(rng, 1, tables=tables, hands=hands, together=1))
    table = night[3]
    wrong = deal(shuffled(rng, len(table.shoes), short_of={"9": 8}))
    for number, shoe in enumerate(wrong, 1):
        shoe.shoe = number
        if every or number == 2:
            table.shoes[number - 1] = shoe
    return [flag for flag in judge_game(night).flags if flag.test == "ranks" and flag.table == "B004"]


def test_a_shoe_short_of_eight_nines_is_found() -> None:
    """One shoe of eighty: in nine nights of ten; the tenth has so few nines among the unseen cards that fair shoes look
    the same.
    """
    found = [any(f.shoe == 2 and f.detail["rank"] == "9" for f in short_shoe(seed, every=False)) for seed in range(20)]
    assert sum(found) >= 15
    assert found[0]


def test_a_shoe_short_of_eight_nines_is_found_in_a_large_house() -> None:
    flags = short_shoe(1, every=False, tables=60, hands=600)
    assert [(flag.subject, flag.shoe, flag.detail["rank"]) for flag in flags] == [("shoe", 2, "9")]
    assert flags[0].observed < flags[0].detail["low"] <= flags[0].expected <= flags[0].detail["high"]


def test_cards_used_all_night_without_the_nines_are_found_every_time() -> None:
    for seed in range(6):
        flags = short_shoe(seed, every=True)
        assert any(flag.subject == "table" and flag.detail["rank"] == "9" for flag in flags)


def test_a_shoe_without_twenty_nines_is_beyond_doubt() -> None:
    night = a_night()
    shoe = night[2].shoes[0]
    assert shoe.ranks is not None
    shoe.ranks["9"] -= 20
    shoe.cards_seen -= 20
    flag = judge_game(night).flags[0]
    assert (flag.test, flag.subject, flag.table, flag.shoe) == ("ranks", "shoe", "B003", shoe.shoe)
    assert flag.detail["rank"] == "9"
    assert flag.p < 1e-10
    assert flag.q < SHARE


def test_nines_that_came_too_often_are_found_and_one_slip_is_not() -> None:
    night = a_night()
    shoe = night[0].shoes[0]
    assert shoe.ranks is not None
    shoe.ranks["9"], shoe.ranks["8"] = 33, shoe.ranks["8"] + shoe.ranks["9"] - 33
    assert not flags_of(judge_game(night), "ranks")
    shoe.ranks["9"], shoe.ranks["8"] = 38, shoe.ranks["8"] - 5
    flag = flags_of(judge_game(night), "ranks")[0]
    assert (flag.subject, flag.table, flag.shoe, flag.detail["rank"], flag.observed) == ("shoe", "B001", 1, "9", 38.0)


def test_a_suit_that_does_not_come_is_found() -> None:
    night = a_night()
    suits = night[0].shoes[0].suits
    assert suits is not None
    suits["h"], suits["s"] = suits["h"] - 20, suits["s"] + 20
    assert {flag.detail["suit"] for flag in flags_of(judge_game(night), "suits")} == {"h", "s"}


@pytest.mark.parametrize(("mistakes", "least"), [(0.03, 8), (0.08, 10)])
def test_a_dealer_with_four_times_the_mistakes_is_found(mistakes: float, least: int) -> None:
    nights = fair_nights(np.random.default_rng(7), 10, careless="D003", mistakes=mistakes)
    found = 0
    for night in nights:
        flags = flags_of(judge_game(night), "dealer")
        found += any(flag.dealer == "D003" for flag in flags)
        assert all(flag.dealer == "D003" for flag in flags)
    assert found >= least


def test_a_dealer_is_compared_under_the_same_rules() -> None:
    """Insurance has more to go wrong: who deals it all night is not careless for that."""
    quiet = a_night(1, tables=6, hands=300)
    busy = next(fair_nights(np.random.default_rng(2), 1, tables=6, hands=300, mistakes=0.2, together=1))
    for night in busy:
        night.table, night.ruleset = f"I{night.table}", "insurance"
        for tally in night.dealers:
            tally.dealer = f"I{tally.dealer}"
        for found in night.findings:
            found.dealer = f"I{found.dealer}"
    assert not judge_game([*quiet, *busy]).flags
    for night in busy:
        night.ruleset = "commission"
    assert flags_of(judge_game([*quiet, *busy]), "findings")


def test_findings_at_one_table_are_found() -> None:
    calm = a_night(4, tables=8, hands=300)
    wild = next(fair_nights(np.random.default_rng(5), 1, tables=8, hands=300, mistakes=0.12, together=1))
    calm[5].findings, calm[5].dealers = wild[5].findings, wild[5].dealers
    assert "B006" in {flag.table for flag in flags_of(judge_game(calm), "findings")}


def test_a_table_that_pays_banker_without_commission_is_found() -> None:
    night = a_night(1, tables=20, hands=300)
    paid = night[7].paid["banker"]
    paid.without_commission = paid.wrong = paid.won
    flags = judge_game(night).flags
    assert [(flag.test, flag.table, flag.detail["bet"]) for flag in flags] == [("commission", "B008", "banker")]
    assert flags[0].p < 1e-100


def test_a_commission_forgotten_now_and_then_is_not() -> None:
    night = a_night(1, tables=20, hands=300)
    for table in night:
        table.paid["banker"] = PaidTally(won=200, wrong=3, without_commission=3)
    assert not flags_of(judge_game(night), "commission")


def test_results_that_take_turns_are_found() -> None:
    night = a_night()
    for shoe in night[0].shoes:
        shoe.winners = "BP" * (len(shoe.winners) // 2)
    flags = judge_game(night).flags
    assert {(flag.test, flag.table) for flag in flags} >= {("runs", "B001")}
    assert flags_of(judge_game(night), "runs")[0].observed > flags_of(judge_game(night), "runs")[0].expected


def test_a_streak_of_forty_is_found() -> None:
    night = a_night()
    shoe = night[1].shoes[0]
    shoe.winners = "P" * 40 + shoe.winners[40:]
    flag = flags_of(judge_game(night), "streak")[0]
    assert (flag.table, flag.shoe, flag.detail["side"]) == ("B002", shoe.shoe, "player")
    assert flag.observed >= 40


def test_too_many_ties_are_found_at_the_table() -> None:
    night = a_night(2, tables=6, hands=300)
    for shoe in night[3].shoes:
        shoe.winners = shoe.winners.replace("BP", "TP")
    found = {
        (flag.subject, flag.table) for flag in flags_of(judge_game(night), "frequency") if flag.detail["name"] == "tie"
    }
    assert ("table", "B004") in found


# --- small and odd nights ---------------------------------------------------------------------------------------------


def test_nothing_to_judge() -> None:
    assert judge_game([]) == Game(share=SHARE, method="Benjamini-Hochberg")
    game = judge_game([TableNight(table="B01"), TableNight(table="B02", ruleset="commission")])
    assert (game.tests, game.flags, game.frequencies, game.by_table) == (0, [], [], {"B01": [], "B02": []})


def test_one_hand_is_no_test_but_has_its_frequencies() -> None:
    night = TableNight(
        table="B01", ruleset="commission", hands=1,
        shoes=[ShoeTally(shoe=1, ruleset="commission", decks=8, hands=1, cards_seen=5, ranks={"9": 5}, suits={"h": 5},
                         winners="B", paired=1, five_cards=1)],
        dealers=[DealerTally(dealer="D1", hands=1)],
    )  # fmt: skip
    game = judge_game([night])
    assert (game.tests, game.flags, game.shoes, game.left_out) == (0, [], 1, 1)
    banker = game.frequencies[0]
    assert (banker.name, banker.count, banker.of, banker.low, banker.high) == ("banker", 1, 1, 0.0, 1.0)


def test_values_without_ranks_and_impossible_shoes_are_left_out_of_the_cards() -> None:
    night = a_night(1, tables=3)
    night[0].shoes[0].ranks = night[0].shoes[0].suits = None
    night[1].shoes[0].decks = 0
    game = judge_game(night)
    assert game.left_out == 2
    assert not game.flags


def test_more_cards_than_the_shoe_holds_raise_no_error() -> None:
    night = a_night(1, tables=3)
    ranks = night[0].shoes[0].ranks
    assert ranks is not None
    ranks["K"] += 100
    assert flags_of(judge_game(night), "ranks")[0].detail["rank"] == "K"


def test_shoes_of_six_decks_have_their_own_chances() -> None:
    rng = np.random.default_rng(3)
    shoes = deal(shuffled(rng, 3, decks=6), decks=6)
    game = judge_game([TableNight(table="B01", ruleset="commission", shoes=shoes)])
    assert {f.name: f.probability for f in game.frequencies}["player_pair"] == pytest.approx(chances(6)["player_pair"])
    assert not game.flags


def test_a_dealer_alone_in_the_house_is_compared_with_nobody() -> None:
    night = a_night(1, tables=1)
    for tally in night[0].dealers:
        tally.dealer = "D1"
    assert not judge_game(night).flags


def test_the_order_of_the_tables_makes_no_difference() -> None:
    night = a_night()
    ranks = night[2].shoes[0].ranks
    assert ranks is not None
    ranks["9"] -= 20
    assert judge_game(night) == judge_game(night[::-1])
    assert judge_game(night).flags


def test_what_is_found_can_be_kept() -> None:
    night = a_night()
    ranks = night[2].shoes[0].ranks
    assert ranks is not None
    ranks["9"] = 0
    game = judge_game(night)
    assert {flag.test for flag in game.flags} <= set(TESTS)
    assert msgspec.json.decode(msgspec.json.encode(game), type=Game) == game


def test_bands_hold_what_they_say() -> None:
    game = judge_game(a_night(1, tables=6, hands=300))
    for of in (game.frequencies, *game.by_table.values()):
        for one in of:
            low, high = round(one.low * one.of), round(one.high * one.of)
            assert binom.cdf(high, one.of, one.probability) - binom.cdf(low - 1, one.of, one.probability) >= 0.95
            assert one.low <= one.probability <= one.high
    assert [one.name for one in game.frequencies][:3] == ["banker", "player", "tie"]


COUNT = st.integers(0, 500)
SHOES = st.builds(
    ShoeTally,
    shoe=st.integers(1, 9),
    ruleset=st.just("commission"),
    decks=st.integers(0, 14),
    closed=st.sampled_from(["", "finished", "replaced"]),
    ranks=st.none() | st.dictionaries(st.sampled_from(RANKS), COUNT),
    suits=st.none() | st.dictionaries(st.sampled_from(SUITS), COUNT),
    winners=st.text("BPT", max_size=120),
    naturals=COUNT,
    player_pairs=COUNT,
    banker_pairs=COUNT,
    paired=COUNT,
    six_cards=COUNT,
    five_cards=COUNT,
    burned=st.none() | st.integers(0, 12),
)
NIGHTS = st.builds(
    TableNight,
    table=st.sampled_from(["B01", "B02", "B03"]),
    ruleset=st.sampled_from(["", "commission", "insurance"]),
    shoes=st.lists(SHOES, max_size=3),
    dealers=st.lists(st.builds(DealerTally, dealer=st.sampled_from(["", "D1", "D2"]), hands=COUNT), max_size=3),
    findings=st.lists(
        st.builds(
            Found, shoe=st.integers(1, 3), hand=st.integers(0, 90), at=st.just(AT), seq=st.just(1), code=st.just("x"),
            rules=st.just([]), ruling=st.just("stand"), mandatory=st.booleans(), state=st.just("open"),
            dealer=st.sampled_from(["", "D1", "D2", "D3"]),
        ),
        max_size=30,
    ),
    paid=st.dictionaries(
        st.sampled_from(["banker", "player"]), st.builds(PaidTally, won=COUNT, without_commission=COUNT), max_size=2
    ),
)  # fmt: skip


@given(st.lists(NIGHTS, max_size=4, unique_by=lambda night: night.table))
@settings(max_examples=40)
def test_whatever_the_tables_say_there_is_an_answer(nights: list[TableNight]) -> None:
    """Figures of a broken log must not take the night's report with them: no error, and only numbers."""
    game = judge_game(nights)
    assert all(0 <= flag.p <= 1 and 0 <= flag.q <= SHARE for flag in game.flags)
    assert msgspec.json.decode(msgspec.json.encode(game), type=Game) == game
    for flag in game.flags:
        assert flag_words(flag).sentence


# --- the arithmetic ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("full", "marked", "drawn"), [(416, 32, 398), (416, 104, 30), (52, 4, 52), (300000, 9000, 400)]
)
def test_hypergeometric_chances(full: int, marked: int, drawn: int) -> None:
    mine = statistics._hypergeometric(full, marked, drawn)
    assert np.allclose(mine, hypergeom.pmf(np.arange(len(mine)), full, marked, drawn), rtol=1e-6, atol=1e-200)
    assert mine.sum() == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("seen", [60, 250, 390, 405, 416])
@pytest.mark.parametrize("slips", [0.0, 0.02, 0.2])
def test_p_values_of_cards_are_safe(seen: int, slips: float) -> None:
    """Summed over every count, with and without slips: P(p <= a) <= a."""
    pmf = hypergeom.pmf(np.arange(33), 416, 32, seen)
    tails = statistics._Tails.of(pmf, slips)
    for level in (0.2, 0.05, 1e-3, 1e-5):
        assert pmf[tails.at(range(33)) <= level].sum() <= level * (1 + 1e-9)
        shifted = (1 - slips) * pmf + slips * np.append(pmf[1:], 0)  # one card of the rank taken for another
        assert shifted[tails.at(range(33)) <= level].sum() <= level / 0.95 * (1 + 1e-9)


def test_runs_are_counted_exactly() -> None:
    """All 792 orders of five Banker and seven Player wins, by hand."""
    orders = [text for text in map("".join, product("BP", repeat=12)) if text.count("B") == 5]
    numbers = Counter(1 + sum(a != b for a, b in pairwise(text)) for text in orders)
    for text in ("B" * 5 + "P" * 7, "PBPBPBPBPBPP", "BPBPBPBPBPPP"):
        p, number, mean, of = statistics._runs(text)
        few = sum(times for runs, times in numbers.items() if runs <= number) / len(orders)
        many = sum(times for runs, times in numbers.items() if runs >= number) / len(orders)
        assert p == pytest.approx(min(1, 2 * min(few, many)))
        assert mean == pytest.approx(sum(runs * times for runs, times in numbers.items()) / len(orders))
        assert of == 12
    assert statistics._runs("BBBB")[0] == 1.0


def test_the_bound_of_a_streak_is_never_too_small() -> None:
    shoe = ShoeTally(shoe=1, ruleset="commission", decks=8)
    chance = chances(8)
    banker = chance["banker"] / (chance["banker"] + chance["player"])
    weight: dict[int, float] = {}
    for text in map("".join, product("BP", repeat=12)):
        probability = banker ** text.count("B") * (1 - banker) ** text.count("P")
        _p, length, *_rest = statistics._streak([(shoe, text)])
        weight[length] = weight.get(length, 0) + probability
    for length in range(4, 13):
        bound = statistics._streak([(shoe, "B" * length + "PB" * ((12 - length) // 2) + "P" * ((12 - length) % 2))])[0]
        exact = sum(probability for longest, probability in weight.items() if longest >= length)
        assert exact * (1 - 1e-9) <= bound <= 2.5 * exact


def test_weights_have_mean_one_and_point_at_what_is_missing() -> None:
    shoes = [statistics._Cards("B01", shoe) for shoe in deal(shuffled(np.random.default_rng(1), 30))]
    short = deal(shuffled(np.random.default_rng(2), 1, short_of={"9": 8}))[0]
    weights = statistics._suspicion([*shoes, statistics._Cards("B01", short)])
    assert weights.mean() == pytest.approx(1)
    assert weights.argmax() == 30
    assert weights.min() > 0.1
    assert statistics._suspicion([]).size == 0

"""Is the game itself right? Every test of a night, made at once. Pure: numbers in, `Game` out; no Django.

**One bound for the whole night.** A house of two hundred tables makes a hundred thousand comparisons, so a small p
means nothing by itself. All p-values of a night go through one Benjamini-Hochberg control of the false discovery rate
at `SHARE`. On a fair night everything flagged is false, so there that rate is the chance of any flag at all: at most
`SHARE`. Benjamini-Hochberg and not -Yekutieli: the latter would divide the share by twelve at such numbers, against a
dependence that is not here. Tests on one subject are positively related (a shoe and its table), for which the bound is
proven, or like the ranks of one shoe weakly negatively, where less is missed than the exact tests of counts leave over.
`benchmarks/bench_statistics.py` counts the flags of simulated fair nights.

**Weights.** `BUDGET` deals the share out over the kinds of tests, so that four thousand shoes do not drown twenty
dealers: p is divided by the test's weight (mean 1) first, as in Genovese, Roeder and Wasserman's weighted procedure.
Within the ranks of shoes, a shoe that ended with more cards unaccounted for than others of the house weighs more: cards
that were taken out of a shoe are cards that never come. The weight looks only at *how many* cards came, and the p-value
holds for whatever that number is, so the bound stays.

**Counts move in steps.** A shoe cannot lack half a nine: where the bound is 1 in 10,000, the next count that can be
reached may have 1 in 50,000, and the rest of the share would be given away. For cards and people, p is therefore
replaced by what a whole family of such tests really reaches at that level (after Heyse), about half of it.

**Fair means fairly recorded, too.** A recorder who types 8 for 9 once in a thousand cards must not accuse a shoe: the
tests of cards allow for slips (`RANK_SLIPS`, `SUIT_SLIPS`), the test of commission for what is forgotten (`FORGOTTEN`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import gammaln
from scipy.stats import binom, false_discovery_control

from dealing.night import ShoeTally, TableNight
from dealing.rules.bets import WITH_COMMISSION
from dealing.rules.cards import RANKS, SUITS
from incidents.reports.chance import DECKS, NAMES, chances
from incidents.reports.figures import Flag, Frequency, Game

Floats: TypeAlias = NDArray[np.float64]

#: The share of fair nights that may raise any flag.
SHARE: Final = 0.02
METHOD: Final = "Benjamini-Hochberg"

#: The kinds of tests, each with its part of `SHARE`; what a night has no occasion for goes to the others.
BUDGET: Final[Mapping[str, float]] = {
    "ranks-shoe": 0.50,
    "ranks-table": 0.08,
    "suits-shoe": 0.02,
    "suits-table": 0.02,
    "frequency-house": 0.02,
    "frequency-table": 0.05,
    "frequency-shoe": 0.02,
    "runs": 0.02,
    "streak": 0.01,
    "dealer": 0.20,
    "findings": 0.04,
    "commission": 0.02,
}

#: The names that `Flag.test` may have.
TESTS: Final = ("ranks", "suits", "frequency", "runs", "streak", "dealer", "findings", "commission")

#: What is tested of the results: its name, and the results among which it is counted.
TESTED: Final = ("banker", "tie", "natural", "player_pair", "banker_pair")

#: Nothing is tested below these numbers: results of a shoe or table, cards seen of a shoe, hands of a dealer or table,
#: bets won.
LEAST_RESULTS: Final = 30
LEAST_CARDS: Final = 26
LEAST_HANDS: Final = 30
LEAST_WON: Final = 5

#: How many cards of one rank (suit) of a shoe may be recorded as another: one or more with this chance, two or more
#: with its square.
RANK_SLIPS: Final = 0.02
SUIT_SLIPS: Final = 0.2

#: Of the winning bets that owe a commission, so many may be paid without it by mistake.
FORGOTTEN: Final = 0.02

#: Above this level p-values are taken as they are.
_LOW: Final = 0.05

#: Of a test of cards, so much goes to cards that are missing. Cards too many need no more: they betray themselves as
#: soon as the shoe has shown more of them than it holds.
_TO_SHORT: Final = 0.95


def judge_game(nights: Sequence[TableNight]) -> Game:
    """Every test of a night over all its tables. Shoes count whole, with their hands of the day before.

    The answer is the same whatever the order of `nights`. Nothing to test: a `Game` of 0 tests.
    """
    nights = sorted(nights, key=lambda night: night.table)
    results = {night.table: sum((_Results.of(shoe) for shoe in night.shoes), _Results()) for night in nights}
    cards = [_Cards(night.table, shoe) for night in nights for shoe in night.shoes]
    families = [
        *_test_ranks(cards),
        *_test_suits(cards),
        *_test_frequencies(nights, results),
        *_test_sequences(nights),
        *_test_findings(nights),
        *_test_commission(nights),
    ]
    whole = sum(results.values(), _Results())
    return Game(
        tests=sum(len(family.p) for family in families),
        share=SHARE,
        method=METHOD,
        flags=_flags(families),
        frequencies=_frequencies([whole])[0],
        by_table=dict(zip(results, _frequencies(list(results.values())), strict=True)),
        shoes=len(cards),
        left_out=sum(not one.counts for one in cards),
    )


class _Stairs(NamedTuple):
    """The p-values that some tests can have at all: ascending, of each way to be unusual, with the way's part of the
    test; the weight of these tests, and how many they are.
    """

    ways: Sequence[tuple[Floats, float]]
    weight: float = 1.0
    number: int = 1


class _Family(NamedTuple):
    """Tests of one kind: p-values, what makes the flag of one of them, weights of mean 1 (None: all alike), and the
    p-values that they can have (None: taken as they are).
    """

    budget: str
    p: Floats
    flag: Callable[[int], Flag]
    weights: Floats | None = None
    stairs: Sequence[_Stairs] | None = None

    def levels(self) -> Floats:
        """The p-values weighted, and where the stairs are known, the mean chance that a test of the family reaches
        each.
        """
        weighted: Floats = self.p if self.weights is None else self.p / self.weights
        low = np.flatnonzero(weighted < _LOW)
        if self.stairs is None or not low.size:
            return weighted
        reached = np.zeros(low.size)
        for stairs in self.stairs:
            level = weighted[low] * stairs.weight * (1 + 1e-9)
            for steps, part in stairs.ways:
                under = np.searchsorted(steps, level, side="right")
                reached += stairs.number * part * np.where(under, steps[np.maximum(under - 1, 0)], 0.0)
        weighted = weighted.copy()
        weighted[low] = np.minimum(reached / len(self.p), weighted[low])
        return weighted


def _flags(families: Iterable[_Family]) -> list[Flag]:
    """The one control of the night: the flags, the least probable first."""
    families = [family for family in families if len(family.p)]
    if not families:
        return []
    total = sum(len(family.p) for family in families)
    budget = sum(BUDGET[name] for name in {family.budget for family in families})
    sizes: Counter[str] = Counter()
    for family in families:
        sizes[family.budget] += len(family.p)
    weighted = np.concatenate(
        [family.levels() * budget / BUDGET[family.budget] * sizes[family.budget] / total for family in families]
    )
    adjusted = false_discovery_control(np.minimum(weighted, 1.0), method="bh")
    flags = []
    start = 0
    for family in families:
        for place in np.flatnonzero(adjusted[start : start + len(family.p)] <= SHARE):
            flag = family.flag(int(place))
            flag.p, flag.q = float(family.p[place]), float(adjusted[start + place])
            flags.append(flag)
        start += len(family.p)
    return sorted(flags, key=lambda flag: (flag.q, flag.p, flag.test, flag.table, flag.shoe or 0, flag.dealer))


# --- cards ------------------------------------------------------------------------------------------------------------


@dataclass
class _Cards:
    """The cards of a shoe, where enough of them are known: `counts` by rank, `unseen` left of the full shoe."""

    table: str
    tally: ShoeTally
    counts: list[int] = field(init=False)
    suits: list[int] = field(init=False)
    unseen: int = field(init=False)

    def __post_init__(self) -> None:
        tally = self.tally
        full = tally.decks * len(RANKS) * len(SUITS)
        self.counts = [(tally.ranks or {}).get(rank, 0) for rank in RANKS]
        self.suits = [(tally.suits or {}).get(suit, 0) for suit in SUITS]
        if tally.decks not in DECKS or sum(self.counts) < LEAST_CARDS:
            self.counts = []
        if tally.decks not in DECKS or sum(self.suits) < LEAST_CARDS:
            self.suits = []
        self.unseen = max(0, full - sum(self.counts or self.suits))


class _Kind(NamedTuple):
    """Ranks or suits: their signs, and how often one is recorded as another."""

    test: str
    signs: str
    slips: float

    def each(self, decks: int) -> int:
        """How many of one sign a shoe holds."""
        return decks * len(RANKS) * len(SUITS) // len(self.signs)


_BY_RANK: Final = _Kind("ranks", RANKS, RANK_SLIPS)
_BY_SUIT: Final = _Kind("suits", SUITS, SUIT_SLIPS)


class _Tails(NamedTuple):
    """The p-value of each count, its stairs, and the band that holds 95 % of fair shoes."""

    p: Floats
    stairs: _Stairs
    mean: float
    low: int
    high: int

    @classmethod
    def of(cls, pmf: Floats, slips: float, shoes: int = 1) -> _Tails:
        """`slips` may have been made in each of so many shoes, in either direction."""
        pmf = np.concatenate([pmf, np.zeros(8)])  # counts that cannot be, but for slips
        fewer, more = np.cumsum(pmf), np.cumsum(pmf[::-1])[::-1]
        low, high = int(np.searchsorted(fewer, 0.025)), int(np.searchsorted(-more, -0.025, side="right")) - 1
        mean = float(np.arange(len(pmf)) @ pmf)
        for _shoe in range(shoes):  # recorded = dealt less a geometric number of slips, or plus one
            fewer = lfilter([1 - slips], [1, -slips], fewer[::-1], zi=[slips])[0][::-1]
            more = lfilter([1 - slips], [1, -slips], more, zi=[slips])[0]
        ways = [(np.maximum(fewer, 0) / _TO_SHORT, _TO_SHORT), (np.maximum(more, 0) / (1 - _TO_SHORT), 1 - _TO_SHORT)]
        p = np.minimum(1.0, np.minimum(ways[0][0], ways[1][0]))
        return cls(p, _Stairs([(np.sort(steps), part) for steps, part in ways]), mean, low, high)

    def at(self, counts: Sequence[int]) -> Floats:
        """The p-values of these counts; beyond what is tabulated there is no chance left."""
        places = np.asarray(counts)
        inside = np.minimum(places, len(self.p) - 1)
        return np.where(places < len(self.p), self.p[inside], self.p[-1])


def _hypergeometric(full: int, marked: int, drawn: int) -> Floats:
    """The chances of 0, 1, 2 … marked ones among `drawn` of `full`: right to seven digits at least, and much faster
    than `scipy.stats.hypergeom`, with which the tests compare it.
    """
    count = np.arange(min(marked, drawn) + 1)
    rest = full - marked
    possible = drawn - count <= rest
    logs = _choose(marked, count) + _choose(rest, np.minimum(drawn - count, rest)) - _choose(full, np.array(drawn))
    return np.where(possible, np.exp(logs), 0.0)


def _choose(n: int, k: NDArray[np.int64]) -> Floats:
    """The logarithms of the binomial coefficients; minus infinity where k is not within 0 … n."""
    inside = np.clip(k, 0, n)
    logs = gammaln(n + 1) - gammaln(inside + 1) - gammaln(n - inside + 1)
    return np.where((k >= 0) & (k <= n), logs, -np.inf)


@lru_cache(maxsize=4096)
def _pmf(decks: int, seen: int, each: int) -> Floats:
    """How many of the `each` alike cards of a fair shoe are among `seen` of its cards."""
    full = decks * len(RANKS) * len(SUITS)
    return _hypergeometric(full, each, min(seen, full))


@lru_cache(maxsize=4096)
def _shoe_tails(decks: int, seen: int, kind: _Kind) -> _Tails:
    return _Tails.of(_pmf(decks, seen, kind.each(decks)), kind.slips)


def _test_ranks(cards: Sequence[_Cards]) -> Iterable[_Family]:
    known = [one for one in cards if one.counts]
    yield _of_shoes(_BY_RANK, known, [one.counts for one in known], np.repeat(_suspicion(known), len(RANKS)))
    yield _of_tables(_BY_RANK, [(one, one.counts) for one in known])


def _test_suits(cards: Sequence[_Cards]) -> Iterable[_Family]:
    known = [one for one in cards if one.suits]
    yield _of_shoes(_BY_SUIT, known, [one.suits for one in known], None)
    yield _of_tables(_BY_SUIT, [(one, one.suits) for one in known])


def _of_shoes(kind: _Kind, shoes: Sequence[_Cards], counts: Sequence[Sequence[int]], weights: Floats | None) -> _Family:
    """Each rank or suit of each shoe, against drawing without replacement."""
    width = len(kind.signs)
    tails = [_shoe_tails(one.tally.decks, sum(row), kind) for one, row in zip(shoes, counts, strict=True)]
    p = [tail.at(row) for tail, row in zip(tails, counts, strict=True)]

    def flag(place: int) -> Flag:
        at, sign = divmod(place, width)
        made = _card_flag(kind, sign, counts[at], tails[at], kind.each(shoes[at].tally.decks))
        made.subject, made.table, made.shoe = "shoe", shoes[at].table, shoes[at].tally.shoe
        return made

    alike: Counter[tuple[int, int, float]] = Counter()
    for at, (one, row) in enumerate(zip(shoes, counts, strict=True)):
        alike[one.tally.decks, sum(row), 1.0 if weights is None else float(weights[at * width])] += width
    stairs = [
        _shoe_tails(decks, seen, kind).stairs._replace(weight=weight, number=number)
        for (decks, seen, weight), number in alike.items()
    ]
    return _Family(f"{kind.test}-shoe", np.concatenate(p) if p else np.empty(0), flag, weights, stairs)


def _of_tables(kind: _Kind, shoes: Sequence[tuple[_Cards, Sequence[int]]]) -> _Family:
    """The shoes of a table together: the same few cards missing from each of them. Tables of one shoe are left out."""
    width = len(kind.signs)
    tables: list[tuple[str, list[int], _Tails, int, int]] = []
    for table, group in groupby(shoes, key=lambda pair: pair[0].table):
        of = list(group)
        if len(of) < 2:
            continue
        pmf = np.ones(1)
        for one, row in of:
            pmf = np.convolve(pmf, _pmf(one.tally.decks, sum(row), kind.each(one.tally.decks)))
        totals = [sum(column) for column in zip(*(row for _one, row in of), strict=True)]
        held = sum(kind.each(one.tally.decks) for one, _row in of)
        tables.append((table, totals, _Tails.of(pmf, kind.slips, len(of)), len(of), held))

    def flag(place: int) -> Flag:
        at, sign = divmod(place, width)
        table, totals, tails, number, held = tables[at]
        made = _card_flag(kind, sign, totals, tails, held)
        made.subject, made.table = "table", table
        made.detail["shoes"] = number
        return made

    p = [tails.at(totals) for _table, totals, tails, _number, _held in tables]
    stairs = [tails.stairs._replace(number=width) for _table, _totals, tails, _number, _held in tables]
    return _Family(f"{kind.test}-table", np.concatenate(p) if p else np.empty(0), flag, None, stairs)


def _card_flag(kind: _Kind, sign: int, counts: Sequence[int], tails: _Tails, held: int) -> Flag:
    detail = {
        kind.test.removesuffix("s"): kind.signs[sign],
        "low": tails.low,
        "high": tails.high,
        "seen": sum(counts),
        "held": held,
    }
    return _flag(kind.test, counts[sign], tails.mean, detail)


def _suspicion(shoes: Sequence[_Cards]) -> Floats:
    """Weights of mean 1 for shoes, by how many cards never came: high for finished shoes that have many unaccounted
    for, low for shoes that are not finished, whose unseen cards need no explanation.
    """
    if not shoes:
        return np.empty(0)
    left = np.array([one.unseen - (one.tally.burned or 0) if one.tally.closed == "finished" else -1.0 for one in shoes])
    order = np.argsort(-left, kind="stable")
    weights = np.empty(len(shoes))
    weights[order] = 1 / np.arange(1, len(shoes) + 1) ** 2.5
    for value in np.unique(left):  # who has as many left weighs as much
        alike = left == value
        weights[alike] = weights[alike].mean()
    # A part is dealt out evenly: in a house that cuts its shoes anyhow, many have more left than the one to be found.
    mixed: Floats = 0.88 * weights / weights.mean() + 0.12
    return mixed


# --- results ----------------------------------------------------------------------------------------------------------


@dataclass
class _Results:
    """Results counted: how often each of `NAMES` came, among how many, and how often it had come on the average."""

    counts: Counter[str] = field(default_factory=Counter)
    among: Counter[str] = field(default_factory=Counter)
    expected: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, shoe: ShoeTally) -> _Results:
        """Nothing where the number of decks is none that can be."""
        results = len(shoe.winners)
        if shoe.decks not in DECKS or not results:
            return cls()
        counts = Counter(
            banker=shoe.winners.count("B"),
            player=shoe.winners.count("P"),
            tie=shoe.winners.count("T"),
            natural=shoe.naturals,
            player_pair=shoe.player_pairs,
            banker_pair=shoe.banker_pairs,
            four_cards=results - shoe.five_cards - shoe.six_cards,
            five_cards=shoe.five_cards,
            six_cards=shoe.six_cards,
        )
        among = Counter({name: shoe.paired if name.endswith("_pair") else results for name in NAMES})
        expected = {name: among[name] * chance for name, chance in chances(shoe.decks).items()}
        return cls(counts, among, expected)

    def __add__(self, other: _Results) -> _Results:
        expected = {name: self.expected.get(name, 0.0) + other.expected.get(name, 0.0) for name in NAMES}
        return _Results(self.counts + other.counts, self.among + other.among, expected)

    def tested(self, name: str) -> tuple[int, int, float]:
        """Count, among how many, and chance. Banker is counted among the hands that somebody won."""
        if name == "banker":
            decided = self.counts["banker"] + self.counts["player"]
            expected = self.expected.get("banker", 0.0) + self.expected.get("player", 0.0)
            return self.counts["banker"], decided, self.expected["banker"] / expected if expected else 0.0
        among = self.among[name]
        return self.counts[name], among, self.expected[name] / among if among else 0.0


def _frequencies(results: Sequence[_Results]) -> list[list[Frequency]]:
    """The frequencies of each, with the band that holds 95 % of fair nights."""
    rows = [(place, name) for place, one in enumerate(results) for name in NAMES if one.among[name]]
    among = np.array([results[place].among[name] for place, name in rows], dtype=float)
    chance = np.array([results[place].expected[name] for place, name in rows]) / np.maximum(among, 1)
    low, high = binom.ppf(0.025, among, chance), binom.ppf(0.975, among, chance)
    out: list[list[Frequency]] = [[] for _ in results]
    for at, (place, name) in enumerate(rows):
        of = results[place].among[name]
        out[place].append(
            Frequency(
                name=name,
                count=results[place].counts[name],
                of=of,
                probability=float(chance[at]),
                low=float(low[at]) / of,
                high=float(high[at]) / of,
            )
        )
    return out


def _test_frequencies(nights: Sequence[TableNight], by_table: Mapping[str, _Results]) -> Iterable[_Family]:
    house = sum(by_table.values(), _Results())
    yield _of_results("house", [("", None, house)])
    yield _of_results("table", [(table, None, of) for table, of in by_table.items()])
    yield _of_results("shoe", [(night.table, shoe.shoe, _Results.of(shoe)) for night in nights for shoe in night.shoes])


def _of_results(subject: str, results: Sequence[tuple[str, int | None, _Results]]) -> _Family:
    """Exact binomial tests, both ways. In a shoe the hands share its cards, which makes the counts spread a little
    less than the binomial has it: the test errs to the safe side.
    """
    rows: list[tuple[str, int | None, str, int, int, float]] = []
    for table, shoe, of in results:
        for name in TESTED:
            count, among, chance = of.tested(name) if of.among[name] else (0, 0, 0.0)
            if among >= LEAST_RESULTS:
                rows.append((table, shoe, name, count, among, chance))
    counts, among_all = np.array([row[3] for row in rows]), np.array([row[4] for row in rows])
    chance_all = np.array([row[5] for row in rows])
    few, many = binom.cdf(counts, among_all, chance_all), binom.sf(counts - 1, among_all, chance_all)

    def flag(place: int) -> Flag:
        table, shoe, name, count, among, chance = rows[place]
        low, high = binom.ppf([0.025, 0.975], among, chance)
        detail = {"name": name, "of": among, "probability": chance, "low": int(low), "high": int(high)}
        made = _flag("frequency", count, among * chance, detail)
        made.subject, made.table, made.shoe = subject, table, shoe
        return made

    return _Family(f"frequency-{subject}", np.minimum(1.0, 2 * np.minimum(few, many)), flag)


# --- the order of the results -----------------------------------------------------------------------------------------


def _test_sequences(nights: Sequence[TableNight]) -> Iterable[_Family]:
    """Banker and Player in turn: too few or too many changes at a table, and a streak that is too long."""
    decided = [
        (night.table, [(shoe, shoe.winners.replace("T", "")) for shoe in night.shoes if shoe.decks in DECKS])
        for night in nights
    ]
    decided = [(table, of) for table, of in decided if sum(len(text) for _shoe, text in of) >= LEAST_RESULTS]
    runs = [_runs("".join(text for _shoe, text in of)) for _table, of in decided]

    def runs_flag(place: int) -> Flag:
        number, mean, of = runs[place][1:]
        made = _flag("runs", number, mean, {"of": of})
        made.subject, made.table = "table", decided[place][0]
        return made

    streaks = [_streak(of) for _table, of in decided]

    def streak_flag(place: int) -> Flag:
        length, usual, shoe, side = streaks[place][1:]
        made = _flag("streak", length, usual, {"side": side, "of": sum(len(text) for _s, text in decided[place][1])})
        made.subject, made.table, made.shoe = "table", decided[place][0], shoe
        return made

    yield _Family("runs", np.array([run[0] for run in runs]), runs_flag)
    yield _Family("streak", np.array([streak[0] for streak in streaks]), streak_flag)


def _runs(text: str) -> tuple[float, int, float, int]:
    """The exact two-sided p of the number of runs, given how often each side won; the number, its mean, the length."""
    banker, player = text.count("B"), text.count("P")
    number = 1 + sum(one != other for one, other in pairwise(text))
    if not banker or not player:
        return 1.0, number, float(number), len(text)
    pairs = np.arange(1, min(banker, player) + 1)

    whole = gammaln(len(text) + 1) - gammaln(banker + 1) - gammaln(player + 1)
    even = 2 * np.exp(_choose(banker - 1, pairs - 1) + _choose(player - 1, pairs - 1) - whole)
    odd = np.exp(_choose(banker - 1, pairs) + _choose(player - 1, pairs - 1) - whole) + np.exp(
        _choose(banker - 1, pairs - 1) + _choose(player - 1, pairs) - whole
    )
    pmf = np.zeros(2 * len(pairs) + 2)
    pmf[2 * pairs], pmf[2 * pairs + 1] = even, odd
    few, many = float(pmf[: number + 1].sum()), float(pmf[number:].sum())
    mean = 1 + 2 * banker * player / len(text)
    return min(1.0, 2 * min(few, many)), number, mean, len(text)


def _streak(shoes: Sequence[tuple[ShoeTally, str]]) -> tuple[float, int, float, int, str]:
    """A bound of the chance that any shoe of the table has so long a streak; its length, a usual one, shoe, side."""
    length, number, side = 0, 0, "B"
    for shoe, text in shoes:
        for letter, group in groupby(text):
            size = sum(1 for _one in group)
            if size > length:
                length, number, side = size, shoe.shoe, letter
    bound = 0.0
    for shoe, text in shoes:
        chance = chances(shoe.decks)
        banker = chance["banker"] / (chance["banker"] + chance["player"])
        if len(text) >= length:  # each place at which it may begin: the first, or one after the other side has won
            for win in (banker, 1 - banker):
                bound += win**length * (1 + (len(text) - length) * (1 - win))
    hands = sum(len(text) for _shoe, text in shoes)
    return min(1.0, bound), length, float(np.log2(hands)), number, "banker" if side == "B" else "player"


# --- people and money -------------------------------------------------------------------------------------------------


def _test_findings(nights: Sequence[TableNight]) -> Iterable[_Family]:
    """Hands with findings, by dealer and by table, against the rest of the house under the same rules.

    Counted are hands, not findings: one mistake may raise three. Given how many hands of the house have findings, a
    dealer's share of them is hypergeometric if all are alike; rules of their own (insurance has more to go wrong) are
    compared among themselves.
    """
    hands: dict[str, Counter[str]] = {"dealer": Counter(), "findings": Counter()}
    dealt: dict[str, dict[str, Counter[str]]] = {kind: defaultdict(Counter) for kind in hands}
    flawed: dict[str, dict[str, Counter[str]]] = {kind: defaultdict(Counter) for kind in hands}
    totals: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for night in nights:
        rules = night.ruleset
        of_dealer = {tally.dealer: tally.hands for tally in night.dealers if tally.hands}
        known = sum(of_dealer.values())
        by_hand = {(found.shoe, found.hand): found.dealer for found in night.findings if found.hand}
        totals[rules] += known
        wrong[rules] += min(len(by_hand), known)
        dealt["findings"][night.table][rules] += known
        flawed["findings"][night.table][rules] += min(len(by_hand), known)
        for dealer, number in of_dealer.items():
            dealt["dealer"][dealer][rules] += number
        for dealer in by_hand.values():
            flawed["dealer"][dealer][rules] += 1
    dealt["dealer"].pop("", None)
    yield _of_shares("dealer", dealt["dealer"], flawed["dealer"], totals, wrong)
    yield _of_shares("findings", dealt["findings"], flawed["findings"], totals, wrong)


def _of_shares(
    test: str,
    dealt: Mapping[str, Counter[str]],
    flawed: Mapping[str, Counter[str]],
    totals: Counter[str],
    wrong: Counter[str],
) -> _Family:
    """Exact conditional tests, one way (more than the others)."""
    rows: list[tuple[str, int, int, float, int, int]] = []
    p: list[float] = []
    stairs: list[_Stairs] = []
    for name, by_rules in sorted(dealt.items()):
        pmf = np.ones(1)
        count = hands = others = others_wrong = 0
        mean = 0.0
        for rules, number in by_rules.items():
            if number >= totals[rules]:
                continue  # nobody to compare with
            found = min(flawed[name][rules] if name in flawed else 0, number, wrong[rules])
            pmf = np.convolve(pmf, _hypergeometric(totals[rules], wrong[rules], number))
            mean += number * wrong[rules] / totals[rules]
            count, hands = count + found, hands + number
            others, others_wrong = others + totals[rules] - number, others_wrong + wrong[rules] - found
        if hands >= LEAST_HANDS:
            rows.append((name, count, hands, mean, others, others_wrong))
            many = np.minimum(1.0, np.cumsum(pmf[::-1])[::-1])
            p.append(float(many[count]))
            stairs.append(_Stairs([(many[::-1], 1.0)]))

    def flag(place: int) -> Flag:
        name, count, hands, mean, others, others_wrong = rows[place]
        detail = {"hands": hands, "others": others, "others_found": others_wrong}
        made = _flag(test, count, mean, detail)
        if test == "dealer":
            made.subject, made.dealer = "dealer", name
        else:
            made.subject, made.table = "table", name
        return made

    return _Family(test, np.array(p), flag, None, stairs)


def _test_commission(nights: Sequence[TableNight]) -> Iterable[_Family]:
    """Bets paid without the commission they owe, at each table, against what may be forgotten.

    Whoever never takes it leaves nothing to chance: then p is as good as 0, and no other test of the night matters.
    """
    rows = [
        (night.table, bet, night.paid[bet].without_commission, night.paid[bet].won)
        for night in nights
        for bet in sorted(WITH_COMMISSION)
        if bet in night.paid and night.paid[bet].won >= LEAST_WON
    ]
    counts, won = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])

    def flag(place: int) -> Flag:
        table, bet, count, of = rows[place]
        made = _flag("commission", count, of * FORGOTTEN, {"bet": bet, "of": of, "forgotten": FORGOTTEN})
        made.subject, made.table = "table", table
        return made

    yield _Family("commission", binom.sf(counts - 1, won, FORGOTTEN), flag)


def _flag(test: str, observed: float, expected: float, detail: dict[str, Any]) -> Flag:
    return Flag(test=test, subject="", observed=float(observed), expected=float(expected), p=1.0, q=1.0, detail=detail)

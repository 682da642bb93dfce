"""Rates against the days before: exact intervals, and silence on quiet nights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, poisson

from incidents.reports.rates import FEWER, MORE, SHARE, Counted, compare, intervals, per_thousand

counts = st.integers(0, 5000)
hands = st.integers(1, 2_000_000)
levels = st.floats(1e-9, 0.5)


def line(count: int, of: int, before: int, of_before: int, kind: str = "all", name: str = "") -> Counted:
    return Counted(kind, name, count, of, before, of_before)


@given(counts, hands, counts, hands, levels)
def test_the_ends_are_those_of_the_exact_test(count: int, of: int, before: int, of_before: int, level: float) -> None:
    one = line(count, of, before, of_before)
    if not one.comparable:
        return
    low, high = intervals([one], [level])[0]
    # The shares of all that fell into this period, at either end, which a test would just not refuse.
    scale = of / of_before
    if count:
        share = low * scale / (1 + low * scale)
        assert binom.sf(count - 1, count + before, share) == pytest.approx(level / 2, rel=1e-4)
    else:
        assert low == 0
    if high is not None:
        share = 1 / (1 + high * scale)  # of the period before
        assert binom.sf(before - 1, count + before, share) == pytest.approx(level / 2, rel=1e-4)
    else:
        assert before == 0


@given(st.integers(1, 300), hands, st.integers(1, 300), hands)
def test_it_agrees_with_the_interval_of_the_library(count: int, of: int, before: int, of_before: int) -> None:
    low, high = intervals([line(count, of, before, of_before)], [0.05])[0]
    ends = binomtest(count, count + before).proportion_ci(0.95, method="exact")
    assert low == pytest.approx(ends.low / (1 - ends.low) * of_before / of, rel=1e-6)
    assert high == pytest.approx(ends.high / (1 - ends.high) * of_before / of, rel=1e-6)


@given(counts, hands, counts, hands, levels, levels)
def test_more_certainty_is_wider_and_the_ratio_lies_within(
    count: int, of: int, before: int, of_before: int, one_level: float, other_level: float
) -> None:
    one = line(count, of, before, of_before)
    if not one.comparable:
        return
    (low, high), (lower, higher) = intervals([one, one], sorted((one_level, other_level), reverse=True))
    assert lower <= low * (1 + 1e-12)
    assert (high is None) == (higher is None)
    if high is not None and higher is not None:
        assert higher >= high * (1 - 1e-12)
        ratio = count / of / (before / of_before)
        assert low * (1 - 1e-9) <= ratio <= high * (1 + 1e-9)


@given(st.integers(1, 5000), hands, st.integers(1, 5000), hands, levels)
def test_changing_the_two_periods_over_turns_it_round(
    count: int, of: int, before: int, of_before: int, level: float
) -> None:
    (low, high), (other_low, other_high) = intervals(
        [line(count, of, before, of_before), line(before, of_before, count, of)], [level, level]
    )
    assert high is not None
    assert other_high is not None
    assert low * other_high == pytest.approx(1)
    assert high * other_low == pytest.approx(1)


@given(st.lists(st.tuples(counts, st.integers(0, 10**6), counts, st.integers(0, 10**6)), max_size=30))
def test_every_line_is_answered_and_nothing_is_divided_by_nothing(
    given_lines: list[tuple[int, int, int, int]],
) -> None:
    lines = [line(*one, kind="code", name=str(at)) for at, one in enumerate(given_lines)]
    rates = compare(lines)
    assert [(rate.name, rate.count, rate.hands) for rate in rates] == [
        (one.name, one.count, one.hands) for one in lines
    ]
    for rate, one in zip(rates, lines, strict=True):
        assert (rate.rate is None) == (one.hands == 0)
        assert (rate.before_rate is None) == (one.before_hands == 0)
        if not one.comparable:
            assert (rate.low, rate.high, rate.change) == (None, None, "")
        if rate.change == MORE:
            assert rate.low is not None
            assert rate.low > 1
        if rate.change == FEWER:
            assert rate.high is not None
            assert rate.high < 1
        assert all(value is None or math.isfinite(value) for value in (rate.rate, rate.ratio, rate.low, rate.high))


def test_nothing_is_said_without_days_before() -> None:
    (rate,) = compare([line(40, 1000, 0, 0)])
    assert rate.rate == 40
    assert (rate.before_rate, rate.ratio, rate.low, rate.high, rate.change) == (None, None, None, None, "")
    assert per_thousand(3, 0) is None
    assert compare([]) == []


def test_what_is_new_has_no_upper_end() -> None:
    (rate,) = compare([line(12, 10_000, 0, 300_000)])
    assert rate.change == MORE
    assert rate.ratio is None
    assert rate.low is not None
    assert rate.low > 1
    assert rate.high is None


def test_a_house_with_three_times_as_many_findings_is_told() -> None:
    usual = [line(20, 10_000, 600, 300_000, "table", f"B{n:02}") for n in range(40)]
    rates = compare([line(60 + 39 * 20, 400_000, 24_000, 12_000_000), line(60, 10_000, 600, 300_000), *usual])
    assert [rate.change for rate in rates] == ["", MORE, *[""] * 40]
    (fewer,) = compare([line(0, 10_000, 600, 300_000)])
    assert (fewer.change, fewer.low) == (FEWER, 0)


def test_quiet_nights_say_nothing() -> None:
    """Of 1,000 simulated nights of a house in which nothing changes no more than the stated share says anything."""
    chance = np.random.default_rng(7)
    per_table = poisson(3.0)
    loud = 0
    for _night in range(1000):
        now = per_table.rvs(60, random_state=chance)
        before = poisson(90.0).rvs(60, random_state=chance)
        tables = [
            line(int(a), 1500, int(b), 45_000, "table", str(n))
            for n, (a, b) in enumerate(zip(now, before, strict=True))
        ]
        house = line(int(now.sum()), 90_000, int(before.sum()), 2_700_000)
        loud += any(rate.change for rate in compare([house, *tables]))
    assert loud <= 1000 * SHARE + 3 * (1000 * SHARE) ** 0.5

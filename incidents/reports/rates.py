"""How often things came for 1,000 hands, against the days before, and whether a change means anything. Pure.

Counts are taken as Poisson, in proportion to the hands dealt. Given how many there were in both periods together, how
many of them fell into this one is binomial; its exact interval (Clopper and Pearson) is one of the ratio of the two
rates. A line says "more" or "fewer" only where an interval wide enough for all lines of the report together leaves out
1: of a hundred nights on which nothing has changed, at most one (`SHARE`) has any such line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .figures import Rate

#: Rates are for so many hands.
PER: Final = 1000
#: The share of unchanged nights that may have a line with a change, all lines of the report together.
SHARE: Final = 0.01
#: What the interval that is shown leaves out.
SHOWN: Final = 0.05
MORE: Final = "more"
FEWER: Final = "fewer"


@dataclass(frozen=True, slots=True)
class Counted:
    """What is compared: so many in so many hands, and so many in so many hands before. `of`, `name`: as in `Rate`."""

    of: str
    name: str
    count: int
    hands: int
    before_count: int
    before_hands: int

    @property
    def comparable(self) -> bool:
        """Whether there is anything to compare: hands in both periods, and something that came in one of them."""
        return self.hands > 0 and self.before_hands > 0 and self.count + self.before_count > 0


def per_thousand(count: int, hands: int) -> float | None:
    """So many for 1,000 hands; None without hands."""
    return count * PER / hands if hands > 0 else None


def intervals(lines: Sequence[Counted], left_out: Sequence[float]) -> list[tuple[float, float | None]]:
    """For each comparable line the interval of the ratio of its rate to that before; `left_out`: each line's share
    of chance that it leaves out, half on either side. No upper end (None) where nothing came before.
    """
    import numpy as np
    from scipy.stats import beta  # here: the pages, which draw only what is stored, do without it

    if not lines:
        return []
    now = np.array([line.count for line in lines], float)
    before = np.array([line.before_count for line in lines], float)
    scale = np.array([line.before_hands / line.hands for line in lines])
    half = np.asarray(left_out, float) / 2
    # Where the count is 0 the quantile has no meaning and the end is known; 1 stands in for it.
    low = np.where(now > 0, beta.ppf(half, np.maximum(now, 1), before + 1), 0.0)
    # The upper end from the other side, as 1 - p: near 1 a float cannot tell p from 1.
    beyond = np.where(before > 0, beta.ppf(half, np.maximum(before, 1), now + 1), 0.0)
    lows = low / (1 - low) * scale
    return [
        (float(lows[at]), float((1 - q) / q * scale[at]) if (q := beyond[at]) > 0 else None) for at in range(len(lines))
    ]


def compare(lines: Sequence[Counted]) -> list[Rate]:
    """The lines with their rates and intervals, in the same order.

    The share of chance is split evenly among the kinds of lines (`of`), then among the comparable lines of each: what
    the house as a whole does is not drowned in its hundreds of dealers.
    """
    said = [line for line in lines if line.comparable]
    of_kind = Counter(line.of for line in said)
    together = [SHARE / len(of_kind) / of_kind[line.of] for line in said]
    shown = dict(zip(said, intervals(said, [SHOWN] * len(said)), strict=True))
    wide = dict(zip(said, intervals(said, together), strict=True))
    return [_rate(line, shown.get(line), wide.get(line)) for line in lines]


def _rate(line: Counted, shown: tuple[float, float | None] | None, wide: tuple[float, float | None] | None) -> Rate:
    rate, before = per_thousand(line.count, line.hands), per_thousand(line.before_count, line.before_hands)
    low, high = shown or (None, None)
    change = ""
    if wide is not None:
        change = MORE if wide[0] > 1 else FEWER if wide[1] is not None and wide[1] < 1 else ""
    return Rate(
        of=line.of,
        name=line.name,
        count=line.count,
        hands=line.hands,
        rate=rate,
        before_count=line.before_count,
        before_hands=line.before_hands,
        before_rate=before,
        ratio=rate / before if rate is not None and before else None,
        low=low,
        high=high,
        change=change,
    )

"""Whose hands they are: assigns times at tables to shifts. Pure: no database, no clock."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """A shift: who deals at a table from `start` on and until before `end`; None: without an end so far."""

    table: int
    dealer: int
    start: dt.datetime
    end: dt.datetime | None


class Duty:
    """Who dealt when, by table. Shifts of one table do not overlap; where they do, the one that began last counts."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans: dict[int, list[Span]] = {}
        for span in spans:
            self._spans.setdefault(span.table, []).append(span)
        self._starts: dict[int, list[dt.datetime]] = {}
        for table, of_table in self._spans.items():
            of_table.sort(key=lambda span: span.start)
            self._starts[table] = [span.start for span in of_table]

    def dealer(self, table: int, at: dt.datetime) -> int | None:
        """Who dealt at the table at that time; None for nobody that is known."""
        before = bisect_right(self._starts.get(table, ()), at)
        if not before:
            return None
        span = self._spans[table][before - 1]
        return span.dealer if span.end is None or at < span.end else None


def assign(hands: Iterable[tuple[int, dt.datetime]], spans: Iterable[Span]) -> Iterator[int | None]:
    """The dealer of each hand (its table, and when it began), in their order; None where no shift is known."""
    duty = Duty(spans)
    for table, began in hands:
        yield duty.dealer(table, began)

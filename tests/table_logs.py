"""Log lines for tests of the stored log: a line maker that keeps the clock, and simulated shoes."""

from __future__ import annotations

import datetime as dt
from typing import Any

from dealing.rules.events import Event, format_event, format_time
from dealing.simulator import USUAL_RATES, simulate_shoe

BANGKOK = dt.timezone(dt.timedelta(hours=7))
START = dt.datetime(2024, 11, 28, 20, tzinfo=BANGKOK)
NATURAL = "P1:9h B1:4s P2:Kd B2:3c"
#: What a table with mistakes of every kind may do, more often than any house would bear.
RATES = {mistake: min(0.03, rate * 12) for mistake, rate in USUAL_RATES.items()}
Line = dict[str, Any]


class Lines:
    """Makes the objects of log lines of one table, a second apart."""

    def __init__(self, table: str = "B07", ruleset: str = "commission") -> None:
        self.table, self.ruleset = table, ruleset
        self.shoe = 0
        self.at = START

    def line(self, event: str, hand: int | None = None, **keys: Any) -> Line:
        """One line; keys named `from_` and the like lose the underscore."""
        self.at += dt.timedelta(seconds=1)
        line = {"event": event, "at": format_time(self.at), "table": self.table, "shoe": self.shoe}
        if hand is not None:
            line["hand"] = hand
        return {**line, **{key.rstrip("_"): value for key, value in keys.items()}}

    def open(self) -> list[Line]:
        """The next shoe with its burn."""
        self.shoe += 1
        return [
            self.line("shoe_opened", ruleset=self.ruleset),
            self.line("burn_card", card="2h"),
            self.line("cards_burned", count=2),
        ]

    def hand(self, number: int, cards: str = NATURAL, closed: bool = True) -> list[Line]:
        """A hand without bets, from `betting_opened` to `hand_closed`; `cards` as in NATURAL."""
        lines = [self.line("betting_opened", number), self.line("betting_closed", number)]
        for card in cards.split():
            place, name = card.split(":")
            lines.append(self.line("card", number, to=place, card=name))
        return [*lines, self.line("hand_closed", number)] if closed else lines

    def close(self) -> Line:
        return self.line("shoe_closed", reason="finished")


def simulated(
    table: str = "B07",
    shoes: int = 2,
    seed: int = 1,
    hands: int = 12,
    ruleset: str = "insurance",
    ranks_only: bool = False,
) -> list[Event]:
    """A log with dealers' and log keepers' mistakes; no shoe is closed, and the next is opened all the same."""
    events: list[Event] = []
    start = START
    for shoe in range(1, shoes + 1):
        events += simulate_shoe(
            table,
            shoe,
            ruleset,
            seed * 1000 + shoe,
            start,
            RATES,
            hands=hands,
            first_seq=len(events) + 1,
            ranks_only=ranks_only,
        )
        start = events[-1].at + dt.timedelta(minutes=2)
    return events


def written(events: list[Event]) -> str:
    """The events as the text of a log file."""
    return "".join(f"{format_event(event)}\n" for event in events)

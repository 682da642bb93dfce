"""What a report says, as plain structs kept as JSON in `AuditReport.figures`: worked out once, only drawn afterwards.

Money is a Decimal in the house's currency, times are aware, spans are seconds, rates are for 1,000 hands. Lists that
could be long are cut to `LISTED` and say in a `…_count` how many there are; the whole of them is in the tables' own
figures (`dealing.night.TableNight`), from which the files for the office are written.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Final

import msgspec

from dealing.night import Gap, Kept, PaidTally

#: Longer lists are cut.
LISTED: Final = 50


class OpenIncident(msgspec.Struct, kw_only=True):
    """An incident that nobody had decided when the report was made. `hand` 0: of the shoe. `age` in seconds."""

    incident: int
    table: str
    shoe: int
    hand: int
    opened_at: dt.datetime
    age: int
    codes: list[str]
    of_this_day: bool


class Departure(msgspec.Struct, kw_only=True):
    """A decision of the day that departed from a mandatory ruling, with the reason given."""

    incident: int
    table: str
    shoe: int
    hand: int
    decided_at: dt.datetime
    decided_by: str
    actions: list[str]
    rulings: list[str]
    rules: list[str]
    reason: str


class Undecided(msgspec.Struct, kw_only=True):
    """A finding of the day that has no incident, or whose incident does not know it."""

    table: str
    shoe: int
    hand: int
    code: str
    at: dt.datetime


class Payout(msgspec.Struct, kw_only=True):
    """A wrong payment. `difference` is paid less owed: positive where the house paid too much."""

    table: str
    shoe: int
    hand: int
    at: dt.datetime
    seat: int
    bet: str
    owed: Decimal
    paid: Decimal
    difference: Decimal
    corrected: bool
    dealer: str = ""


class BrokenChain(msgspec.Struct, kw_only=True):
    """A table whose log is not what was recorded; `seq` None: no single row is to blame."""

    table: str
    seq: int | None
    problem: str


class BrokenTrail(msgspec.Struct, kw_only=True):
    """What is wrong with incidents, reports or signed heads, in English as `verify_log` says it.

    `of`: a trail, a house's signed heads, or the log they speak of; `seq` None: no single entry is to blame.
    """

    of: str
    seq: int | None
    problem: str


class TableNote(msgspec.Struct, kw_only=True):
    """Something about one table in English, as the judge or the log says it (a difference, a row that cannot be
    read).
    """

    table: str
    text: str
    seq: int | None = None
    shoe: int | None = None
    hand: int | None = None


class TableGap(msgspec.Struct, kw_only=True):
    """Hand or shoe numbers missing at a table."""

    table: str
    gap: Gap


class Attention(msgspec.Struct, kw_only=True):
    """What somebody has to look at today, the worst first in each list; see `LISTED` for the counts.

    `open_incidents` are those of the day, `older` those of days before that still wait; reports of before `older` had
    both in the first. `overpaid` and `underpaid` is the money of `payouts`, which nobody put right; what was put right
    since is in the `…_corrected` ones.
    """

    open_incidents: list[OpenIncident] = []
    open_count: int = 0
    older: list[OpenIncident] = []
    older_count: int = 0
    departures: list[Departure] = []
    departure_count: int = 0
    undecided: list[Undecided] = []
    undecided_count: int = 0
    payouts: list[Payout] = []
    payout_count: int = 0
    overpaid: Decimal = Decimal("0.00")
    underpaid: Decimal = Decimal("0.00")
    overpaid_corrected: Decimal = Decimal("0.00")
    underpaid_corrected: Decimal = Decimal("0.00")
    corrected_count: int = 0
    broken: list[BrokenChain] = []
    trails: list[BrokenTrail] = []
    trail_count: int = 0
    unreadable: list[TableNote] = []
    unreadable_count: int = 0
    differences: list[TableNote] = []
    difference_count: int = 0
    gaps: list[TableGap] = []
    gap_count: int = 0
    #: Codes of tables in use without any event of the day, and of those without any event ever.
    silent: list[str] = []
    no_log: list[str] = []
    #: Tables that could not be audited at all, and why.
    failed: list[TableNote] = []

    @property
    def count(self) -> int:
        """How many things of this day want attention; 0 on a quiet night.

        What waits since before was counted on its own day. Silent tables are worth a line, not an alarm.
        """
        return (
            self.open_count
            + self.departure_count
            + self.undecided_count
            + self.payout_count
            + len(self.broken)
            + self.trail_count
            + self.unreadable_count
            + self.difference_count
            + self.gap_count
            + len(self.no_log)
            + len(self.failed)
        )


class TableLine(msgspec.Struct, kw_only=True):
    """A table's row in the report.

    `last_seq` and `head` are the end of its log. The audit walked its hash chain from after position `checked_from`
    (0: from the beginning; None: was not kept); the whole of it was last walked at `walked_at` (None: never).
    """

    code: str
    name: str
    active: bool
    ruleset: str
    events: int
    hands: int
    findings: int
    codes: dict[str, int]
    voided: int
    unreadable: int
    last_seq: int
    head: str
    chain_whole: bool
    checked_from: int | None = None
    walked_at: dt.datetime | None = None


class DealerLine(msgspec.Struct, kw_only=True):
    """A dealer's row, all tables together; `dealer` empty: hands without a known dealer."""

    dealer: str
    name: str
    hands: int
    findings: int
    codes: dict[str, int]


class HourLine(msgspec.Struct, kw_only=True):
    """An hour of the gaming day, the whole house; `begins` in the house's time."""

    begins: dt.datetime
    hands: int
    findings: int


class Rate(msgspec.Struct, kw_only=True):
    """How often something came, for 1,000 hands, against the 30 days before.

    `of`: "all", "code", "table" or "dealer", with its `name`. `low` and `high`: the 95 % interval of the ratio of this
    day's rate to the rate before; None where nothing can be said. `change`: "more", "fewer", or "" where the interval
    (widened for how many such lines there are) holds 1.
    """

    of: str
    name: str
    count: int
    hands: int
    rate: float | None
    before_count: int
    before_hands: int
    before_rate: float | None
    ratio: float | None
    low: float | None
    high: float | None
    change: str = ""


class DecisionFigures(msgspec.Struct, kw_only=True):
    """The decisions of the day: how many of each action, and the money of void and correct ones.

    `void_returned`: stakes that went back; `void_owed`: what had been owed on them had the hands stood; `corrected`:
    what correcting changed of what was owed (by the rules less as dealt). Spans in seconds from the incident to its
    first decision, of incidents decided on this day; None where none was.
    """

    decisions: int = 0
    actions: dict[str, int] = {}
    voided_hands: int = 0
    void_returned: Decimal = Decimal("0.00")
    void_owed: Decimal = Decimal("0.00")
    void_kept: Decimal = Decimal("0.00")
    corrected_hands: int = 0
    corrected: Decimal = Decimal("0.00")
    timed: int = 0
    median: float | None = None
    slowest_tenth: float | None = None
    longest: float | None = None


class AmenderLine(msgspec.Struct, kw_only=True):
    """Who put entries right, all tables together."""

    person: str
    name: str
    corrected: int
    withdrawn: int


class Flag(msgspec.Struct, kw_only=True):
    """A test that says that something is not chance. `p` as tested, `q` adjusted for all tests of the night.

    `test` names the test (`statistics.TESTS`); `subject` is "house", "table", "shoe" or "dealer". `detail` holds what
    the test's sentence needs, plain numbers and names. `day`: in a monthly report, the night that raised it.
    """

    test: str
    subject: str
    table: str = ""
    shoe: int | None = None
    dealer: str = ""
    observed: float
    expected: float
    p: float
    q: float
    detail: dict[str, Any] = {}
    day: dt.date | None = None


class Frequency(msgspec.Struct, kw_only=True):
    """How often something came among so many hands, against its exact probability; the band holds 95 % of fair
    nights.
    """

    name: str
    count: int
    of: int
    probability: float
    low: float
    high: float


class Game(msgspec.Struct, kw_only=True):
    """Whether the game itself looks right: tests made, the share of fair nights that may raise any flag, what was
    flagged.
    """

    tests: int = 0
    share: float = 0.0
    method: str = ""
    flags: list[Flag] = []
    frequencies: list[Frequency] = []
    #: By table: the same frequencies.
    by_table: dict[str, list[Frequency]] = {}
    shoes: int = 0
    left_out: int = 0


class Figures(Kept, kw_only=True):
    """A whole nightly report. `begins` and `ends` are in the house's time; `seconds` of the audit's work on the
    clock.
    """

    venue: str
    venue_name: str
    time_zone: str
    day: dt.date
    begins: dt.datetime
    ends: dt.datetime
    hands: int = 0
    events: int = 0
    findings: int = 0
    voided: int = 0
    seconds: float = 0.0
    codes: dict[str, int] = {}
    attention: Attention = msgspec.field(default_factory=Attention)
    tables: list[TableLine] = []
    dealers: list[DealerLine] = []
    hours: list[HourLine] = []
    #: Findings by table (rows, as in `tables`) and hour (columns, as in `hours`).
    heat: list[list[int]] = []
    rates: list[Rate] = []
    decisions: DecisionFigures = msgspec.field(default_factory=DecisionFigures)
    amenders: list[AmenderLine] = []
    paid: dict[str, PaidTally] = {}
    game: Game = msgspec.field(default_factory=Game)


class DayLine(msgspec.Struct, kw_only=True):
    """A day's row in a monthly report; `revision` is the report it was taken from."""

    day: dt.date
    revision: int
    hands: int
    events: int
    findings: int
    attention: int
    overpaid: Decimal
    underpaid: Decimal
    chain_whole: bool


class MonthFigures(Kept, kw_only=True):
    """A monthly report: the nightly ones added up. `missing`: days of the month without a report.

    `attention` has each open incident once: those that were open at the month's end, `open_incidents` the oldest of
    them; None in reports of before it was kept.
    """

    venue: str
    venue_name: str
    time_zone: str
    month: dt.date
    days: list[DayLine] = []
    missing: list[dt.date] = []
    hands: int = 0
    events: int = 0
    findings: int = 0
    voided: int = 0
    codes: dict[str, int] = {}
    tables: list[TableLine] = []
    dealers: list[DealerLine] = []
    rates: list[Rate] = []
    decisions: DecisionFigures = msgspec.field(default_factory=DecisionFigures)
    departures: list[Departure] = []
    departure_count: int = 0
    overpaid: Decimal = Decimal("0.00")
    underpaid: Decimal = Decimal("0.00")
    overpaid_corrected: Decimal = Decimal("0.00")
    underpaid_corrected: Decimal = Decimal("0.00")
    corrected_count: int = 0
    attention: int | None = None
    open_incidents: list[OpenIncident] = []
    open_count: int = 0
    amenders: list[AmenderLine] = []
    paid: dict[str, PaidTally] = {}
    flags: list[Flag] = []

"""A table's day judged again from its log: the answers are those that `audit_log` gives on the exported log, whatever
was done to the rows.
"""

from __future__ import annotations

import datetime as dt
import io
import random
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dealing import rejudge, triggers
from dealing.chain import row_hash
from dealing.exporter import export_table
from dealing.gaming_days import bounds
from dealing.importer import import_log
from dealing.log import record, record_many
from dealing.logfile import LogFile
from dealing.models import Dealer, DealerShift, Hand, Shoe, Table, TableEvent, Venue
from dealing.night import AmendedBy, Gap, TableNight
from dealing.rejudge import rejudge_table
from dealing.rules.audit import Finding
from dealing.rules.events import Event
from dealing.rules.judge import HandFold, ShoeFold
from dealing.simulator import Mistake, simulate_shoe
from tests.conftest import MakeTable
from tests.table_logs import START, Lines, simulated, written

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
#: More hours than a day has: the whole log of a test is in it.
WIDE = (START - 30 * DAY, START + 30 * DAY)


def tamper(sql: str, *params: Any) -> None:
    connection.check_constraints()
    with triggers.suspended(), connection.cursor() as cursor:
        cursor.execute(sql, params)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every log counts as a long one: it is walked from where an earlier audit had come to."""
    monkeypatch.setattr(rejudge, "WHOLE_WALK", 0)


def store(events: list[Event]) -> None:
    report = import_log(io.BytesIO(written(events).encode()), actor="import")
    assert not report.refusals


def audit_log(table: Table) -> list[HandFold | ShoeFold]:
    """What `audit_log` makes of the exported log."""
    out = io.StringIO()
    export_table(table, out)
    with LogFile(io.BytesIO(out.getvalue().encode())) as log:
        return list(log.folds())


def began(fold: HandFold) -> dt.datetime:
    return fold.trail[0][1].at


def told(shoe: int, hand: int, finding: Finding) -> tuple[Any, ...]:
    return shoe, hand, finding.code, finding.seq[0], finding.state, finding.ruling, finding.rules, finding.mandatory


def expected(table: Table, begins: dt.datetime, ends: dt.datetime) -> tuple[Counter[str], set[tuple[Any, ...]]]:
    """Statuses and findings of the hands of a day, and of what stands beside the hands in it."""
    times = dict(TableEvent.objects.filter(table=table).values_list("seq", "at"))
    statuses: Counter[str] = Counter()
    findings = set()
    for fold in audit_log(table):
        audit = fold.audit()
        if isinstance(fold, HandFold):
            if not begins <= began(fold) < ends:
                continue
            statuses[fold.audit().status] += 1
            findings |= {told(fold.shoe, fold.number, finding) for finding in audit.findings}
        else:
            own = [finding for finding in audit.findings if begins <= times[finding.seq[0]] < ends]
            findings |= {told(fold.number, 0, finding) for finding in own}
    return statuses, findings


def found(night: TableNight) -> set[tuple[Any, ...]]:
    return {(f.shoe, f.hand, f.code, f.seq, f.state, f.ruling, tuple(f.rules), f.mandatory) for f in night.findings}


def check(table: Table, begins: dt.datetime, ends: dt.datetime, **options: Any) -> TableNight:
    """The night of a table is what the oracle says, and adds up."""
    table.refresh_from_db()
    night = rejudge_table(table, begins, ends, **options)
    assert (Counter(night.statuses), found(night)) == expected(table, begins, ends)
    assert night.hands == sum(hour.hands for hour in night.hours) == sum(dealer.hands for dealer in night.dealers)
    for tallies in (night.hours, night.dealers):
        counted: Counter[str] = Counter()
        for tally in tallies:
            counted.update(tally.codes)
        assert counted == Counter(f.code for f in night.findings)
    assert TableNight.from_json(night.as_json()).as_json() == night.as_json()
    return night


# The same judge, on every hand, wherever the days are cut.


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    shoes=st.integers(1, 4),
    cuts=st.lists(st.floats(0, 1), max_size=3),
    checked=st.floats(0, 1),
    ranks_only=st.booleans(),
    whole_walk=st.sampled_from([0, 200_000]),
)
def test_every_hand_is_judged_as_audit_log_judges_it(
    venue: Venue,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    shoes: int,
    cuts: list[float],
    checked: float,
    ranks_only: bool,
    whole_walk: int,
) -> None:
    monkeypatch.setattr(rejudge, "WHOLE_WALK", whole_walk)
    code = f"H{TableEvent.objects.count()}"
    table = Table.objects.create(code=code, venue=venue, ruleset="insurance")
    store(simulated(code, shoes=shoes, seed=seed, hands=6, ranks_only=ranks_only))
    table.refresh_from_db()
    events = list(TableEvent.objects.filter(table=table).order_by("seq"))
    position = events[int(checked * (len(events) - 1))]
    start, end = events[0].at, events[-1].at + dt.timedelta(seconds=1)
    edges = sorted({start, end, *(start + (end - start) * cut for cut in cuts)})
    nights = [check(table, *day, checked=(position.seq, position.hash)) for day in pairwise(edges)]
    for night in nights:
        assert (night.differences, night.unreadable, night.gaps) == ([], [], [])
        assert (night.chain.whole, night.chain.last_seq, night.chain.head) == (True, table.last_seq, table.last_hash)
        assert night.chain.checked_from == (0 if whole_walk else position.seq)
    assert sum(night.events for night in nights) == len(events)
    assert sum(night.hands for night in nights) == Hand.objects.filter(shoe__table=table).count()
    # Every result is of one day alone, and the last day of a shoe has it whole.
    winners = {"player": "P", "banker": "B", "tie": "T"}
    for shoe in Shoe.objects.filter(table=table):
        tallies = [tally for night in nights for tally in night.shoes if tally.shoe == shoe.number]
        rows = shoe.hand_set.exclude(winner="").exclude(status="voided").order_by("number")
        results = "".join(winners[hand.winner] for hand in rows)
        assert tallies[-1].winners == "".join(tally.winners[tally.day_from :] for tally in tallies) == results
        assert (tallies[-1].hands, tallies[-1].cards_seen) == (shoe.hands, shoe.cards_seen)
        assert sum((tallies[-1].ranks or {}).values()) == shoe.cards_seen
        assert (tallies[-1].suits is None) == ranks_only


def test_a_day_of_nothing_and_a_day_of_one_hand(table: MakeTable) -> None:
    empty = rejudge_table(table("B07", name="Seven", is_active=False), *WIDE)
    assert (empty.table, empty.name, empty.active, empty.ruleset) == ("B07", "Seven", False, "commission")
    assert (empty.events, empty.hands, empty.statuses, empty.shoes, empty.findings) == (0, 0, {}, [], [])
    assert empty.chain.whole
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    night = check(Table.objects.get(), *WIDE)
    assert (night.events, night.hands, night.statuses, night.compared) == (10, 1, {"closed": 1}, 2)
    (shoe,) = night.shoes
    assert (shoe.shoe, shoe.hands, shoe.winners, shoe.naturals, shoe.closed) == (1, 1, "P", 1, "")
    assert (shoe.paired, shoe.player_pairs, shoe.banker_pairs, shoe.six_cards, shoe.burned) == (1, 0, 0, 0, 2)
    assert shoe.ranks is not None
    assert shoe.suits is not None
    assert {rank: count for rank, count in shoe.ranks.items() if count} == {"2": 1, "9": 1, "4": 1, "K": 1, "3": 1}
    assert {suit: count for suit, count in shoe.suits.items() if count} == {"h": 2, "s": 1, "d": 1, "c": 1}
    other = check(Table.objects.get(), START + DAY, START + 2 * DAY)
    assert (other.events, other.hands, other.shoes, other.chain.whole) == (0, 0, [], True)


# Days.


def test_a_hand_over_the_boundary_is_of_the_day_it_began_in(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1), *lines.hand(2)[:3]], actor="somchai")
    boundary = lines.at + dt.timedelta(milliseconds=500)
    lines.at += dt.timedelta(seconds=1)
    for line in Lines().hand(2)[3:]:
        kept = {key: value for key, value in line.items() if key not in ("at", "shoe", "event", "hand", "table")}
        record(lines.line(line["event"], 2, **kept), actor="somchai")
    record_many([*lines.hand(3), lines.close()], actor="somchai")
    before = check(row, boundary - DAY, boundary)
    after = check(row, boundary, boundary + DAY)
    assert (before.hands, after.hands) == (2, 1)
    assert (before.statuses, before.findings, before.differences) == ({"closed": 2}, [], [])
    assert [(shoe.hands, shoe.winners, shoe.day_from, shoe.closed) for shoe in (*before.shoes, *after.shoes)] == [
        (2, "PP", 0, ""),
        (3, "PPP", 2, "finished"),
    ]
    # The same figures later on: what the next day adds to the shoe does not change the day before.
    assert before.shoes[0].cards_seen == 9
    assert after.shoes[0].cards_seen == 13


def test_a_shoe_that_is_only_closed_on_the_next_day_is_looked_at_there(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    lines.at += DAY
    record(lines.close(), actor="somchai")
    night = check(row, START + DAY, START + 2 * DAY)
    assert (night.hands, night.events) == (0, 1)
    assert [(shoe.shoe, shoe.hands, shoe.closed, shoe.day_from) for shoe in night.shoes] == [(1, 1, "finished", 1)]


@pytest.mark.parametrize(("day", "hours"), [("2024-03-30", 23), ("2024-10-26", 25), ("2024-06-01", 24)])
def test_days_of_23_and_of_25_hours(table: MakeTable, day: str, hours: int) -> None:
    row = table("B07")
    house = row.venue
    house.time_zone = "Europe/Berlin"
    house.save()
    begins, ends = bounds(house, dt.date.fromisoformat(day), dt.date.fromisoformat(day))
    lines = Lines()
    first = begins.astimezone(dt.UTC)
    lines.at = first - dt.timedelta(minutes=40)
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    for hour in range(hours):
        lines.at = first + dt.timedelta(hours=hour, minutes=59)
        record_many(lines.hand(hour + 2), actor="somchai")
    lines.at = ends.astimezone(dt.UTC)
    record_many(lines.hand(hours + 2), actor="somchai")
    night = check(row, begins, ends)
    assert night.hands == len(night.hours) == hours
    assert {hour.hands for hour in night.hours} == {1}
    assert night.hours[0].begins == begins
    assert [hour.begins.hour for hour in night.hours][-1] == 5  # the clock on the wall, before and after it was put on
    assert night.hours[-1].begins + dt.timedelta(hours=1) == ends.astimezone(dt.UTC)


def test_late_decisions_count_on_the_day_of_their_hand(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    opened = lines.open()
    hand = [
        lines.line("betting_opened", 1),
        lines.line("bet", 1, seat=3, bet="player", stake="100.00"),
        *lines.hand(1)[1:],
    ]
    record_many([*opened, *hand, lines.close()], actor="somchai")
    first = check(row, START, START + DAY)
    assert first.voided == []
    assert [payout.owed for payout in first.payouts] == [Decimal("100.00")]
    lines.at += DAY
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    lines.shoe = 1
    record(lines.line("voided", 1, scope="hand", reason="by the manager"), actor="malee")
    late = check(row, START, START + DAY)
    (void,) = late.voided
    assert (void.shoe, void.hand, void.scope, void.reason) == (1, 1, "hand", "by the manager")
    assert (void.stakes, void.owed, void.lost) == (Decimal("100.00"), Decimal("100.00"), Decimal(0))
    assert (late.statuses, late.differences) == ({"voided": 1}, [])
    assert late.shoes[0].winners == ""
    # The second day has its own hand only, and the shoe of yesterday is not its business.
    second = check(row, START + DAY, START + 2 * DAY, checked=(first.chain.last_seq, first.chain.head))
    assert (second.hands, [shoe.shoe for shoe in second.shoes], second.voided) == (1, [2], [])
    # Where everything was walked before, what came late is read by itself.
    table_row = Table.objects.get()
    again = check(row, START, START + DAY, checked=(table_row.last_seq, table_row.last_hash))
    assert again.voided == late.voided


def test_amendments_count_for_who_made_them(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    hand = lines.hand(2)
    record_many(hand, actor="somchai")
    target = TableEvent.objects.get(hand_number=2, name="card", seq=13)
    entry = {**hand[2], "card": "8h"}
    record(lines.line("amended", 2, seq=target.seq, entry=entry, reason="typed wrong"), actor="anan")
    record(lines.line("cut_card", 2), actor="anan")
    record(lines.line("amended", 2, seq=19, reason="not yet", by="NOK"), actor="anan")
    lines.at += DAY
    record(lines.line("amended", seq=3, entry={**Lines().open()[2], "shoe": 1}, reason="as it was"), actor="prasert")
    night = check(row, START, START + DAY)
    assert night.amendments == [
        AmendedBy(person="NOK", withdrawn=1),
        AmendedBy(person="anan", corrected=1),
        AmendedBy(person="prasert", corrected=1),
    ]
    assert night.differences == []
    assert check(row, START + DAY, START + 2 * DAY).amendments == []


def test_a_shoe_opened_by_mistake_and_withdrawn(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1), lines.line("betting_opened", 2)], actor="somchai")
    lines.shoe = 2
    record(lines.line("shoe_opened", ruleset="commission"), actor="somchai")
    opened = Table.objects.get().last_seq
    record(lines.line("amended", seq=opened, reason="not yet"), actor="somchai")
    lines.shoe = 1
    record_many([*lines.hand(2)[1:], lines.close()], actor="somchai")
    night = check(row, *WIDE)
    assert [shoe.shoe for shoe in night.shoes] == [1]
    assert (night.hands, night.findings, night.differences, night.gaps) == (2, [], [], [])
    assert night.amendments == [AmendedBy(person="somchai", withdrawn=1)]


# Who dealt, and what was paid.


def test_dealers_hours_and_money(table: MakeTable) -> None:
    row = table("B07")
    events = simulate_shoe("B07", 1, "commission", 5, START, [None, Mistake.PAYOUT_WRONG, None], repairs=0.0)
    store(events)
    hands = list(Hand.objects.order_by("number"))
    lek = Dealer.objects.create(venue=row.venue, code="D01", name="Lek")
    dao = Dealer.objects.create(venue=row.venue, code="D02", name="Dao")
    DealerShift.objects.create(
        table=row, dealer=lek, started_at=START - DAY, ended_at=hands[2].started_at, recorded_by="x"
    )
    DealerShift.objects.create(
        table=row, dealer=dao, started_at=hands[2].started_at, ended_at=hands[5].started_at, recorded_by="x"
    )
    night = check(row, START, START + DAY)
    assert [(dealer.dealer, dealer.hands) for dealer in night.dealers] == [("", len(hands) - 5), ("D01", 2), ("D02", 3)]
    (wrong,) = night.payouts
    assert (wrong.hand, wrong.dealer, wrong.corrected) == (2, "D01", False)
    assert night.dealers[1].codes == {"payout-wrong": 1}
    assert night.paid[wrong.bet].wrong == 1
    assert night.paid[wrong.bet].difference == wrong.paid - wrong.owed
    audits = [hand.audit for hand in hands]
    won = Counter(line["bet"] for audit in audits for line in audit["settlement"] if line["owed"] not in (None, "0.00"))
    assert {bet: tally.won for bet, tally in night.paid.items() if tally.won} == dict(won)
    assert night.shoes[0].closed == "finished"


def test_banker_paid_without_its_commission(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    record_many(lines.open(), actor="somchai")
    for number, paid in ((1, "95.00"), (2, "100.00"), (3, "90.00")):
        cards = lines.hand(number, "P1:2h B1:4s P2:Kd B2:5c")
        lines.at = START + dt.timedelta(minutes=number)
        hand = [
            lines.line("betting_opened", number),
            lines.line("bet", number, seat=1, bet="banker", stake="100.00"),
            *(
                lines.line(line["event"], number, **{k: line[k] for k in ("to", "card") if k in line})
                for line in cards[1:-1]
            ),
            lines.line("paid", number, seat=1, bet="banker", amount=paid),
            lines.line("hand_closed", number),
        ]
        record_many(hand, actor="somchai")
    night = check(row, *WIDE)
    tally = night.paid["banker"]
    assert (tally.won, tally.wrong, tally.without_commission, tally.difference) == (3, 2, 1, Decimal("0.00"))
    assert [(p.hand, p.without_commission, p.owed, p.paid) for p in night.payouts] == [
        (2, True, Decimal("95.00"), Decimal("100.00")),
        (3, False, Decimal("95.00"), Decimal("90.00")),
    ]


def test_what_a_sheet_gave_without_ranks_has_none(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    opened = lines.line("shoe_opened", ruleset="commission", by="sheet:values kanya")
    lines.shoe = opened["shoe"] = 1
    record_many([opened, *lines.hand(1, "P1:9 B1:4 P2:T B2:T")], actor="kanya")
    (shoe,) = check(row, *WIDE).shoes
    assert (shoe.ranks, shoe.suits, shoe.paired, shoe.winners, shoe.naturals) == (None, None, 0, "P", 1)


# What somebody did to the rows.


@pytest.fixture
def log(table: MakeTable) -> Lines:
    table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1), *lines.hand(2), *lines.hand(3), lines.close()], actor="somchai")
    return lines


@pytest.mark.parametrize(
    ("change", "seq", "problem"),
    [
        ("UPDATE dealing_tableevent SET payload = replace(payload, '9h', '8h') WHERE seq = 13", 13, "does not match"),
        ("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = 4", 4, "does not match"),
        ("UPDATE dealing_tableevent SET prev_hash = 'ff' WHERE seq = 15", 15, "previous hash"),
        ("DELETE FROM dealing_tableevent WHERE seq = 16", 16, "is missing; the next row is position 17"),
        ("DELETE FROM dealing_tableevent WHERE seq = 25", 25, "there are 25 events"),
        ("UPDATE dealing_tableevent SET name = 'voided' WHERE seq = 6", 6, "its column name is 'voided'"),
        ("UPDATE dealing_tableevent SET at = '2020-01-01 00:00:00' WHERE seq = 7", 7, "its column at is"),
        ("UPDATE dealing_table SET last_hash = 'ff'", 25, "not the one at the table's head"),
        ("UPDATE dealing_table SET last_seq = 8", 9, "stands beyond the table's head, which is 8"),
    ],
)
def test_the_first_broken_row_is_named_and_the_rest_judged(log: Lines, change: str, seq: int, problem: str) -> None:
    tamper(change)
    row = Table.objects.get()
    night = rejudge_table(row, *WIDE)
    assert not night.chain.whole
    assert night.chain.broken_at == seq
    assert problem in night.chain.problem
    if row.last_seq == 25:
        assert night.hands == 3


@pytest.mark.usefixtures("long")
def test_a_row_changed_after_it_was_checked_is_found_where_it_is_read_again(log: Lines) -> None:
    row = Table.objects.get()
    first = rejudge_table(row, *WIDE)
    checked = (first.chain.last_seq, first.chain.head)
    assert rejudge_table(row, *WIDE, checked=checked).chain.whole
    tamper("UPDATE dealing_tableevent SET hash = 'ff' WHERE seq = 25")
    night = rejudge_table(row, START + DAY, START + 2 * DAY, checked=checked)
    assert (night.chain.broken_at, night.chain.checked_from) == (25, 25)
    assert night.chain.problem == "its hash is not the one that an earlier audit found there"


def test_a_row_changed_after_it_was_checked_is_found_in_a_log_that_is_not_long(log: Lines) -> None:
    row = Table.objects.get()
    checked = (row.last_seq, row.last_hash)
    tamper("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = 4")
    night = rejudge_table(row, START + DAY, START + 2 * DAY, checked=checked)
    assert (night.chain.broken_at, night.chain.checked_from) == (4, 0)
    assert night.chain.problem == "its hash does not match its content"


def test_a_log_written_anew_from_a_row_on_is_found(log: Lines, tmp_path: Path) -> None:
    """Every hash fits, and the head's: only the seal does not, and the hash that an earlier audit saw."""
    row = Table.objects.get()
    before = TableEvent.objects.get(seq=row.last_seq)
    hashed = row_hash(before.prev_hash, before.seq, before.payload, "nobody", before.recorded_at)
    tamper("UPDATE dealing_tableevent SET actor = 'nobody', hash = %s WHERE seq = %s", hashed, before.seq)
    tamper("UPDATE dealing_table SET last_hash = %s", hashed)
    chain = rejudge_table(row, *WIDE).chain
    assert (chain.broken_at, chain.problem) == (before.seq, "its seal does not match its content")
    with override_settings(KEYS_DIR=tmp_path):  # without the key
        assert rejudge_table(row, *WIDE).chain.whole
        night = rejudge_table(row, *WIDE, checked=(before.seq, before.hash))
    assert night.chain.broken_at == before.seq
    assert night.chain.problem == "its hash is not the one that an earlier audit found there"


@pytest.mark.parametrize("whole_walk", [0, 200_000])
def test_a_log_cut_short_together_with_its_head_is_found(
    log: Lines, monkeypatch: pytest.MonkeyPatch, whole_walk: int
) -> None:
    monkeypatch.setattr(rejudge, "WHOLE_WALK", whole_walk)
    row = Table.objects.get()
    checked = (row.last_seq, row.last_hash)
    head = TableEvent.objects.get(seq=24)
    tamper("DELETE FROM dealing_tableevent WHERE seq = 25")
    tamper("UPDATE dealing_table SET last_seq = 24, last_hash = %s, last_at = %s", head.hash, str(head.at))
    night = rejudge_table(Table.objects.get(), *WIDE, checked=checked)
    assert night.chain.broken_at == 25
    assert night.chain.problem == "is missing; an earlier audit had come to position 25"


def test_missing_triggers_are_told(log: Lines) -> None:
    with triggers.suspended():
        chain = rejudge_table(Table.objects.get(), *WIDE).chain
    assert chain.broken_at is None
    assert "nothing guards them" in chain.problem


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ("not json", "event: this is not a JSON object"),
        ('{"event": "card", "at": "2024-11-28T20:00:13.000+07:00", "table": "B07", "shoe": 1, "hand": 2}', "to: is"),
    ],
)
def test_unreadable_rows_spoil_their_hand_alone(log: Lines, payload: str, problem: str) -> None:
    tamper("UPDATE dealing_tableevent SET payload = %s WHERE seq = 13", payload)
    night = check(Table.objects.get(), *WIDE)
    assert night.statuses == {"closed": 2, "unreadable": 1}
    (line,) = night.unreadable
    assert (line.seq, line.shoe, line.hand) == (13, 1, 2)
    assert line.problem.startswith(problem)
    assert night.shoes[0].winners == "PP"
    assert night.differences == []  # of what can be compared
    assert rejudge_table(Table.objects.get(), START + DAY, START + 2 * DAY).unreadable == []


def test_a_hand_whose_first_row_cannot_be_read(log: Lines) -> None:
    tamper("UPDATE dealing_tableevent SET payload = 'x' WHERE hand_number = 2")
    night = rejudge_table(Table.objects.get(), *WIDE)
    assert night.statuses == {"closed": 2, "unreadable": 1}
    assert [line.seq for line in night.unreadable] == list(range(11, 18))
    assert night.gaps == []


def test_an_opening_that_cannot_be_read(log: Lines) -> None:
    tamper("UPDATE dealing_tableevent SET payload = 'x' WHERE seq = 1")
    night = rejudge_table(Table.objects.get(), *WIDE)
    assert night.statuses == {"unreadable": 3}
    assert [(line.seq, line.shoe, line.hand) for line in night.unreadable] == [(1, 1, None)]


def test_an_event_that_cannot_have_happened(log: Lines) -> None:
    tamper("UPDATE dealing_tableevent SET payload = replace(payload, '\"P2\"', '\"P1\"') WHERE seq = 15")
    night = check(Table.objects.get(), *WIDE)
    assert night.statuses == {"closed": 2, "unreadable": 1}
    assert [(line.seq, line.hand, line.problem) for line in night.unreadable] == [(15, 2, "to: P1 already holds 9h")]
    assert night.chain.broken_at == 15


@pytest.mark.parametrize("seed", range(6))
def test_broken_logs_are_judged_as_audit_log_judges_them(table: MakeTable, seed: int) -> None:
    row = table("B07", ruleset="insurance")
    store(simulated(shoes=3, seed=seed, hands=8))
    chance = random.Random(seed)
    of_hands = list(TableEvent.objects.exclude(hand_number=None).values_list("seq", flat=True))
    for seq in chance.sample(of_hands, 5):
        place = TableEvent.objects.get(seq=seq)
        broken = f'{{"event": "card", "table": "B07", "shoe": {place.shoe_number}, "hand": {place.hand_number}'
        tamper("UPDATE dealing_tableevent SET payload = %s WHERE seq = %s", broken, seq)
    row.refresh_from_db()
    out = io.StringIO()
    export_table(row, out)
    with LogFile(io.BytesIO(out.getvalue().encode())) as file:
        hands = {(fold.shoe, fold.number): fold.audit() for fold in file.folds() if isinstance(fold, HandFold)}
        bad = {line.number for line in file.bad}
    night = rejudge_table(row, *WIDE)
    assert {line.seq for line in night.unreadable} == bad
    assert Counter(audit.status for audit in hands.values()) == Counter(night.statuses)
    told_of = {(f.shoe, f.hand, f.code, f.seq) for f in night.findings if f.hand}
    assert told_of == {(*place, f.code, f.seq[0]) for place, audit in hands.items() for f in audit.findings}


# What is missing, and what is stored otherwise.


def test_gaps_in_the_numbers(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    lines.shoe = 4  # a house may begin its log anywhere
    record_many([*lines.open(), *lines.hand(2), *lines.hand(3), *lines.hand(7), lines.close()], actor="somchai")
    lines.shoe = 7
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    lines.at += DAY
    record_many([*lines.hand(5)], actor="somchai")
    night = check(row, START, START + DAY)
    assert night.gaps == [Gap(first=1, last=1, shoe=5), Gap(first=4, last=6, shoe=5), Gap(first=6, last=7)]
    assert check(row, START + DAY, START + 2 * DAY).gaps == [Gap(first=2, last=4, shoe=8)]


def test_a_hand_taken_back_is_no_gap(table: MakeTable) -> None:
    row = table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1), lines.line("betting_opened", 2)], actor="somchai")
    record(lines.line("amended", 2, seq=11, reason="not yet"), actor="somchai")
    record_many(lines.hand(3), actor="somchai")
    night = check(row, *WIDE)
    assert (night.hands, night.gaps) == (2, [])


def test_what_is_stored_otherwise_is_named(log: Lines) -> None:
    row = Table.objects.get()
    Hand.objects.filter(number=1).update(winner="tie", started_at=START - DAY)
    Shoe.objects.update(hands=7)
    assert rejudge_table(row, *WIDE).differences == [
        "B07 shoe 1 hand 1: winner, started_at differ from what the log says",
        "B07 shoe 1: hands differ from what the log says",
    ]
    Hand.objects.filter(number=2).delete()
    extra = Hand.objects.get(number=1)
    extra.pk, extra.number, extra.started_at = None, 9, START + dt.timedelta(minutes=1)
    extra.save()
    night = rejudge_table(row, START, START + DAY)
    assert night.compared == 4
    assert night.differences == [
        "B07 shoe 1 hand 1: winner, started_at differ from what the log says",
        "B07 shoe 1 hand 2: is in the log and not stored",
        "B07 shoe 1: hands differ from what the log says",
        "B07 shoe 1 hand 9: is stored and not in the log",
    ]
    Hand.objects.all().delete()
    Shoe.objects.update(number=5, opened_at=START)
    assert rejudge_table(row, START, START + DAY).differences[-2:] == [
        "B07 shoe 1: is in the log and not stored",
        "B07 shoe 5: is stored and not in the log",
    ]


def test_progress_is_told_and_may_end_the_work(log: Lines) -> None:
    told_of: list[tuple[int, int]] = []
    rejudge_table(Table.objects.get(), *WIDE, progress=lambda done, of: told_of.append((done, of)))
    assert told_of[-1] == (25, 25)

    def stop(done: int, of: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        rejudge_table(Table.objects.get(), *WIDE, progress=stop)


def test_a_day_long_past_reads_its_own_rows_and_no_more(table: MakeTable) -> None:
    """Where all was walked before, an old day costs what is in it."""
    row = table("B07", ruleset="insurance")
    lines: list[Event] = simulated(shoes=2, hands=5)
    for day in range(1, 4):
        for shoe in (1, 2):
            lines += simulate_shoe(
                *("B07", 2 * day + shoe, "insurance", day * 10 + shoe),
                START + day * DAY + shoe * dt.timedelta(hours=3),
                hands=5,
                first_seq=len(lines) + 1,
            )
    store(lines)
    row.refresh_from_db()
    sizes: list[int] = []
    options = {"checked": (row.last_seq, row.last_hash), "progress": lambda done, of: sizes.append(of)}
    check(row, START, START + DAY, anew=False, **options)
    first_day = TableEvent.objects.filter(shoe_number__lte=2).count()
    assert sizes[-1] == first_day
    check(row, START, START + DAY, **options)
    assert sizes[-1] == row.last_seq

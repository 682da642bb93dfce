"""What a night's report says, from tables judged again, incidents and decisions."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dealing import triggers
from dealing.gaming_days import bounds, gaming_day
from dealing.models import Dealer, Table, Venue
from dealing.night import (
    AmendedBy,
    ChainCheck,
    DealerTally,
    Found,
    Gap,
    HourTally,
    PaidTally,
    ShoeTally,
    TableNight,
    Unreadable,
    WrongPaid,
)
from dealing.rejudge import rejudge_table
from incidents.models import Decision, Incident, IncidentFinding
from incidents.reports.figures import LISTED, Figures
from incidents.reports.gather import gather
from incidents.reports.models import AuditDay, AuditReport, AuditRun, TableAudit
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.reports_samples import quiet, save_report

pytestmark = pytest.mark.django_db

#: A hand as the rules want it, and one whose fifth card lies at the wrong side.
RIGHT = "open close P1:9h B1:4s P2:Kd B2:2c call:player:9-6 end"
MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"
MONEY = "open bet:1:banker=100 bet:2:player=200 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"


@pytest.fixture
def house(table: MakeTable, people: People) -> House:
    return House(table("B07"), people)


def today(venue: Venue) -> dt.date:
    return gaming_day(venue, timezone.now())


def open_run(venue: Venue, day: dt.date | None = None) -> AuditRun:
    of_day, _made = AuditDay.objects.get_or_create(venue=venue, day=day or today(venue))
    return AuditRun.objects.create(
        of_day=of_day, number=1, cause=AuditRun.Cause.CLOSE, changes=0, started_at=timezone.now()
    )


def add_night(run: AuditRun, night: TableNight) -> None:
    table = Table.objects.get(code=night.table)
    TableAudit.objects.create(run=run, table=table, status=TableAudit.Status.DONE, night=night.as_json())


def judged(run: AuditRun, table: Table) -> TableNight:
    """The table's day, judged again from its log."""
    return rejudge_table(
        Table.objects.select_related("venue").get(pk=table.pk),
        *bounds(run.of_day.venue, run.of_day.day, run.of_day.day),
    )


def audit(house: House, **changed: Any) -> Figures:
    """The report of today, the table judged again; `changed`: what the night says otherwise."""
    run = open_run(house.table.venue)
    night = judged(run, house.table)
    for name, value in changed.items():
        setattr(night, name, value)
    add_night(run, night)
    return gather(run)


def test_a_clean_day_wants_nothing(house: House) -> None:
    house.record(RIGHT)
    figures = audit(house)
    assert figures.attention.count == 0
    assert (figures.hands, figures.findings, figures.codes) == (1, 0, {})
    assert [(line.code, line.hands, line.chain_whole) for line in figures.tables] == [("B07", 1, True)]
    assert sum(hour.hands for hour in figures.hours) == 1
    assert len(figures.heat) == 1
    assert len(figures.heat[0]) == len(figures.hours) == 24
    assert figures.begins.utcoffset() == dt.timedelta(hours=7)
    assert Figures.from_json(figures.as_json()) == figures


def test_an_empty_house_has_an_empty_report(venue: Venue) -> None:
    figures = gather(open_run(venue))
    assert (figures.hands, figures.tables, figures.rates[0].rate, figures.attention.count) == (0, [], None, 0)


def test_what_waits_stands_with_its_age_the_oldest_first(house: House) -> None:
    house.record(f"{MISPLACED} hand:2 {MISPLACED}")
    old = house.incident(2)
    Incident.objects.filter(pk=old.pk).update(opened_at=timezone.now() - dt.timedelta(days=3))
    figures = audit(house)
    (new,), (older,) = figures.attention.open_incidents, figures.attention.older
    assert (new.incident, new.hand, new.of_this_day) == (house.incident(1).pk, 1, True)
    assert (older.incident, older.hand, older.of_this_day) == (old.pk, 2, False)
    assert 3 * 86400 <= older.age < 3 * 86400 + 600
    assert "fifth-card-misplaced" in new.codes
    assert (figures.attention.open_count, figures.attention.older_count) == (1, 1)
    assert figures.attention.count == 1  # what waits since before was counted on its own day
    assert figures.codes["fifth-card-misplaced"] == 2


def test_an_empty_night_does_not_count_what_waits_since_before(house: House) -> None:
    house.record(f"{MISPLACED} hand:2 {MISPLACED}")
    Incident.objects.update(opened_at=timezone.now() - dt.timedelta(days=3))
    Incident.objects.filter(hand_number=2).update(opened_at=timezone.now() - dt.timedelta(days=4))
    attention = audit(house).attention
    assert (attention.count, attention.open_count, attention.older_count) == (0, 0, 2)
    assert [one.hand for one in attention.older] == [2, 1]  # the oldest first


def test_what_came_after_the_day_is_not_of_it(house: House) -> None:
    house.record(MISPLACED)
    Incident.objects.update(opened_at=timezone.now() + dt.timedelta(days=2))
    assert audit(house).attention.open_incidents == []


def test_a_decision_that_follows_the_rules_is_counted_with_its_time(house: House) -> None:
    house.record(MISPLACED)
    Incident.objects.update(opened_at=timezone.now() - dt.timedelta(seconds=90))
    house.decide("correct")
    figures = audit(house)
    assert figures.attention.count == 0
    decisions = figures.decisions
    assert (decisions.decisions, decisions.actions, decisions.timed) == (1, {"correct": 1}, 1)
    assert decisions.median == decisions.longest == decisions.slowest_tenth == pytest.approx(90, abs=20)
    assert decisions.corrected_hands == 1


def test_a_departure_stands_with_its_reason_and_rule(house: House) -> None:
    house.record(MISPLACED.replace("call:tie", "call:banker:1-9"))
    house.decide("stand", reason="The whole table had seen it.")
    (departure,) = audit(house).attention.departures
    assert departure.reason == "The whole table had seen it."
    assert departure.actions == ["stand"]
    assert "correct" in departure.rulings
    assert departure.rules
    assert (departure.table, departure.shoe, departure.hand) == ("B07", 1, 1)
    assert departure.incident == house.incident().pk


def test_the_money_of_a_void_hand(house: House) -> None:
    """As the rules lay them the cards are a tie: both stakes had gone back, so voiding keeps nothing from the house."""
    house.record(f"{MONEY} hand:2 {MONEY.replace('P3:5s', 'P3:2d').replace('call:tie', 'call:banker')}")
    incident = house.incident(2)
    assert incident.status == Incident.Status.OPEN
    house.decide("void hand", reason="Seen by everybody", hand=2)
    figures = audit(house)
    stood = {line.bet: line for line in judge_without_void(house, 2)}
    assert figures.decisions.voided_hands == 1
    assert figures.decisions.void_returned == Decimal("300.00")
    assert figures.decisions.void_owed == sum(line.owed or 0 for line in stood.values())
    assert figures.decisions.void_kept == sum(line.stake - (line.returned or 0) for line in stood.values())
    assert figures.decisions.void_owed + figures.decisions.void_kept > 0
    assert figures.voided == 1


def judge_without_void(house: House, hand: int) -> Any:
    """The settlement of the hand had it stood, from the log before the decision."""
    from dealing.log import hand_fold
    from dealing.models import Hand
    from dealing.rules.events import Voided
    from dealing.rules.hand import HandContext, HandFold

    fold = hand_fold(Hand.objects.select_related("shoe").get(shoe__table=house.table, number=hand))
    kept = [(seq, event) for seq, event in fold.trail if not isinstance(event, Voided)]
    return HandFold.of(HandContext.from_json(fold.context.to_json()), kept).audit().settlement


def test_the_money_of_a_correction_is_by_the_rules_less_as_dealt(house: House) -> None:
    house.record(MONEY.replace("P3:5s", "P3:2d").replace("call:tie", "call:banker"))
    before = house.audit()
    house.decide("correct")
    figures = audit(house)
    after = house.audit()
    from incidents import rulings
    from incidents.selectors import ruleset_of

    ruleset = ruleset_of("commission")
    assert ruleset is not None
    lines = rulings.money(before, after, ruleset)
    expected = sum((line.owed_after or 0) - (line.as_dealt or 0) for line in lines)
    assert expected != 0
    assert figures.decisions.corrected == expected
    assert figures.decisions.corrected_hands == 1


def test_a_finding_without_an_incident_is_told(house: House) -> None:
    house.record(MISPLACED)
    Incident.objects.all().delete()
    attention = audit(house).attention
    assert {(one.table, one.shoe, one.hand, one.code) for one in attention.undecided} == {
        ("B07", 1, 1, found) for found in codes_of(house)
    }
    assert attention.open_count == 0


def codes_of(house: House, hand: int = 1) -> set[str]:
    return {finding.code for finding in house.audit(hand).findings}


def test_an_incident_that_does_not_know_a_finding_is_told(house: House) -> None:
    house.record(MISPLACED)
    IncidentFinding.objects.filter(code="fifth-card-misplaced").delete()
    attention = audit(house).attention
    assert [(one.hand, one.code) for one in attention.undecided] == [(1, "fifth-card-misplaced")]
    assert attention.difference_count == 0


def test_an_incident_with_a_finding_that_the_log_does_not_show_is_told(house: House) -> None:
    house.record(f"{RIGHT} hand:2 {MISPLACED}")
    moved = house.incident(2)
    Incident.objects.filter(pk=moved.pk).update(hand_number=1)
    attention = audit(house).attention
    assert {one.hand for one in attention.undecided} == {2}
    (note,) = attention.differences
    assert (note.table, note.shoe, note.hand) == ("B07", 1, 1)
    assert f"incident {moved.pk} has " in note.text
    assert note.text.endswith("the log says nothing")


def test_a_finding_recorded_with_another_ruling_is_told(house: House) -> None:
    house.record(MISPLACED)
    IncidentFinding.objects.filter(code="fifth-card-misplaced").update(ruling="stand")
    (note,) = audit(house).attention.differences
    assert "fifth-card-misplaced (open: stand)" in note.text


def test_hands_of_the_day_before_are_left_to_its_report(house: House) -> None:
    """A shoe that went on past the hour: its first hand, with an incident, is of yesterday."""
    house.record(MISPLACED)
    run = open_run(house.table.venue, today(house.table.venue) + dt.timedelta(days=1))
    night = TableNight(
        table="B07", shoes=[ShoeTally(shoe=1, ruleset="commission", decks=8, hands=2)], events=5, hands=1
    )
    add_night(run, night)
    attention = gather(run).attention
    assert (attention.difference_count, attention.undecided_count) == (0, 0)


def test_what_is_found_beside_the_hands_is_compared_too(house: House) -> None:
    house.record(f"shoe-open:commission hand:1 {RIGHT}", prelude=False)
    assert codes_beside(house) == {"burn-missing"}
    assert audit(house).attention.undecided == []
    AuditRun.objects.all().delete()
    IncidentFinding.objects.filter(incident=house.incident(None)).update(code="burn-count-wrong")
    attention = audit(house).attention
    assert [(one.hand, one.code) for one in attention.undecided] == [(0, "burn-missing")]
    assert "burn-count-wrong" in attention.differences[0].text


def codes_beside(house: House) -> set[str]:
    return {finding.code for finding in house.incident(None).findings.all()}


def test_a_decision_whose_events_are_not_in_the_log_is_told(house: House) -> None:
    house.record(MISPLACED)
    decision = house.decide("correct")
    with triggers.suspended("default"):
        Decision.objects.filter(pk=decision.pk).update(events=[9001])
    (note,) = audit(house).attention.differences
    assert (note.seq, note.hand) == (9001, 1)
    assert "decision 1 was carried out with event 9001" in note.text


def test_what_the_tables_say_is_put_together(house: House, table: MakeTable, venue: Venue) -> None:
    at = timezone.now()
    house.record(RIGHT)
    for code in ("B01", "B02", "B03"):
        table(code)
    table("B99", is_active=False)
    Dealer.objects.create(venue=venue, code="D1", name="Somchai")
    house.people("supervisor", "lek")
    run = open_run(venue)
    begins = bounds(venue, run.of_day.day, run.of_day.day)[0]
    found = Found(
        shoe=1, hand=3, at=at, seq=9, code="payout-wrong", rules=[], ruling="correct", mandatory=True, state="open"
    )

    def wrong(paid: int, corrected: bool) -> WrongPaid:
        return WrongPaid(
            shoe=1, hand=3, at=at, seat=1, bet="banker", owed=Decimal(95), paid=Decimal(paid), corrected=corrected
        )

    add_night(
        run,
        TableNight(
            table="B01",
            events=50,
            hands=4,
            statuses={"closed": 3, "voided": 1},
            findings=[found],
            payouts=[wrong(100, False), wrong(45, False), wrong(1, True)],
            paid={"banker": PaidTally(won=3, wrong=3, difference=Decimal("-139.00"))},
            chain=ChainCheck(last_seq=50, head="ab", broken_at=7, problem="the hash is another"),
            unreadable=[Unreadable(seq=8, problem="no JSON", shoe=1, hand=2)],
            differences=["B01 shoe 1 hand 1: otherwise"],
            gaps=[Gap(shoe=1, first=2, last=3)],
            dealers=[DealerTally(dealer="D1", hands=3, codes={"payout-wrong": 1}), DealerTally(dealer="", hands=1)],
            hours=[HourTally(begins=begins + dt.timedelta(hours=5), hands=4, codes={"payout-wrong": 1})],
            amendments=[AmendedBy(person="LEK", corrected=2), AmendedBy(person="nobody", withdrawn=1)],
        ),
    )
    add_night(run, TableNight(table="B02"))
    TableAudit.objects.create(
        run=run, table=Table.objects.get(code="B03"), status=TableAudit.Status.FAILED, error="out of reach"
    )
    figures = gather(run)
    attention = figures.attention
    assert [one.difference for one in attention.payouts] == [Decimal(-50), Decimal(5)]
    assert (attention.overpaid, attention.underpaid) == (Decimal(5), Decimal(50))
    put_right = (attention.corrected_count, attention.overpaid_corrected, attention.underpaid_corrected)
    assert put_right == (1, Decimal(0), Decimal(94))
    assert [(one.table, one.seq) for one in attention.broken] == [("B01", 7)]
    assert attention.unreadable[0].text == "no JSON"
    difference = attention.differences[0]
    assert (difference.shoe, difference.hand, difference.text) == (1, 1, "otherwise")
    assert attention.gaps[0].gap == Gap(shoe=1, first=2, last=3)
    assert attention.no_log == ["B02"]
    assert attention.silent == ["B07"]
    assert [(one.table, one.text) for one in attention.failed] == [("B03", "out of reach")]
    assert [(line.code, line.chain_whole) for line in figures.tables] == [("B01", False), ("B02", True)]
    assert [(line.dealer, line.name, line.hands, line.findings) for line in figures.dealers] == [
        ("D1", "Somchai", 3, 1),
        ("", "", 1, 0),
    ]
    assert figures.heat == [[0] * 5 + [1] + [0] * 18, [0] * 24]
    assert (figures.hours[5].hands, figures.hours[5].findings) == (4, 1)
    assert figures.hours[5].begins.hour == 11
    assert [(one.person, one.corrected, one.withdrawn) for one in figures.amenders] == [("LEK", 2, 0), ("nobody", 0, 1)]
    assert figures.paid["banker"].difference == Decimal("-139.00")
    assert figures.voided == 1


def test_long_lists_are_cut_and_counted(house: House, venue: Venue) -> None:
    house.record(RIGHT)
    at = timezone.now()
    night = TableNight(
        table="B07",
        events=1,
        unreadable=[Unreadable(seq=n, problem="no JSON") for n in range(LISTED + 20)],
        payouts=[
            WrongPaid(shoe=1, hand=1, at=at, seat=1, bet="tie", owed=Decimal(0), paid=Decimal(n + 1), corrected=False)
            for n in range(LISTED + 5)
        ],
    )
    run = open_run(venue)
    add_night(run, night)
    attention = gather(run).attention
    assert (len(attention.unreadable), attention.unreadable_count) == (LISTED, LISTED + 20)
    assert (len(attention.payouts), attention.payout_count) == (LISTED, LISTED + 5)
    assert attention.payouts[0].difference == LISTED + 5
    assert attention.overpaid == sum(range(1, LISTED + 6))


def test_a_day_of_25_hours_has_25(table: MakeTable, venue: Venue) -> None:
    Venue.objects.update(time_zone="Europe/Berlin")
    venue.refresh_from_db()
    table("B07")
    run = open_run(venue, dt.date(2026, 10, 24))
    begins, ends = bounds(venue, dt.date(2026, 10, 24), dt.date(2026, 10, 24))
    assert ends.astimezone(dt.UTC) - begins.astimezone(dt.UTC) == dt.timedelta(hours=25)
    hours = [
        HourTally(begins=(begins.astimezone(dt.UTC) + dt.timedelta(hours=n)).astimezone(venue.zone), hands=n)
        for n in range(25)
    ]
    add_night(run, TableNight(table="B07", events=9, hours=hours))
    figures = gather(run)
    assert [hour.hands for hour in figures.hours] == list(range(25))
    assert [f"{hour.begins:%H%z}" for hour in figures.hours][20:23] == ["02+0200", "02+0100", "03+0100"]


def test_rates_are_compared_with_the_latest_revisions_of_30_days_in_one_statement(house: House, venue: Venue) -> None:
    day = today(venue)
    house.record(RIGHT)
    for back, revision, findings in ((31, 1, 500), (30, 1, 10), (2, 1, 400), (2, 2, 20), (1, 1, 0)):
        figures = quiet(venue.code, venue.name, day - dt.timedelta(days=back))
        figures.hands, figures.codes = 1000, {"payout-wrong": findings}
        figures.tables[0].code, figures.tables[0].hands, figures.tables[0].findings = "B07", 700, findings
        save_report(venue, figures, revision=revision)
    run = open_run(venue)
    night = judged(run, house.table)
    at = timezone.now()
    night.hands = 500
    night.findings = [
        Found(shoe=1, hand=1, at=at, seq=9, code="payout-wrong", rules=[], ruling="", mandatory=False, state="open")
    ] * 90
    add_night(run, night)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        figures = gather(run)
    assert sum("incidents_auditreport" in one["sql"] for one in asked.captured_queries) == 1
    whole, code, table, *_rest = figures.rates
    assert (whole.of, whole.before_count, whole.before_hands) == ("all", 30, 3000)
    assert (code.name, code.before_count, code.change) == ("payout-wrong", 30, "more")
    assert (table.name, table.before_hands, table.before_count) == ("B07", 2100, 30)
    assert whole.ratio == pytest.approx(18)


def test_a_night_of_many_decisions_takes_a_fixed_number_of_statements(house: House) -> None:
    def decide(hand: int) -> None:
        of_a_suit = re.sub(r"(:[2-9K])[a-z]", rf"\1{'shdc'[hand % 4]}", MISPLACED)
        house.record(f"hand:{hand} {of_a_suit}" if hand > 1 else of_a_suit)
        house.decide("correct", hand=hand)

    for hand in range(1, 4):
        decide(hand)

    def statements() -> int:
        AuditRun.objects.all().delete()
        run = open_run(house.table.venue)
        add_night(run, judged(run, house.table))
        with CaptureQueriesContext(connection) as asked:
            figures = gather(run)
        assert figures.decisions.corrected_hands == figures.decisions.decisions
        return len(asked)

    few = statements()
    for hand in range(4, 10):
        decide(hand)
    assert statements() == few


def test_other_houses_are_left_out(house: House, venue: Venue) -> None:
    house.record(MISPLACED)
    other = Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    Table.objects.create(code="H01", venue=other, ruleset="commission")
    figures = gather(open_run(other))
    assert figures.attention.open_count == 0
    assert figures.attention.no_log == ["H01"]
    assert AuditReport.objects.count() == 0

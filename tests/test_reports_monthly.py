"""The month: its nights added up, made when the month is over, and again where a night is made again."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from dealing.gaming_days import gaming_day
from dealing.models import Venue
from incidents.models import Decision, Incident
from incidents.reports import deliver, files, monthly, plots
from incidents.reports.figures import Attention, MonthFigures
from incidents.reports.models import AuditDay, AuditReport, AuditRun, ReportDelivery, ReportSubscription
from incidents.reports.monthly import add_up, after, make_month
from tests import reports_samples as samples
from tests.conftest import MakeTable, People

pytestmark = pytest.mark.django_db

JULY = dt.date(2025, 7, 1)


@pytest.fixture(autouse=True)
def undressed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Drawings and files take their time and are tested elsewhere: here it is noted that they were asked for."""
    asked: list[str] = []
    monkeypatch.setattr(plots, "draw", lambda report: asked.append(f"draw {report.kind} r{report.revision}"))
    monkeypatch.setattr(files, "make_all", lambda report: asked.append(f"files {report.kind} r{report.revision}"))
    return asked


def save(venue: Venue, day: dt.date, *, full: bool = False, revision: int = 1, **changed: Any) -> AuditReport:
    figures = (samples.figures if full else samples.quiet)(venue.code, venue.name, day)
    for name, value in changed.items():
        setattr(figures, name, value)
    return samples.save_report(venue, figures, revision=revision)


def monthlies(venue: Venue) -> list[tuple[dt.date, int]]:
    found = AuditReport.objects.filter(venue=venue, kind="monthly").order_by("day", "revision")
    return list(found.values_list("day", "revision"))


def test_the_latest_revisions_are_added_up(venue: Venue) -> None:
    save(venue, JULY, full=True)
    one = save(venue, JULY, full=True, revision=2).nightly
    other = save(venue, dt.date(2025, 7, 31)).nightly
    save(venue, dt.date(2025, 8, 1), full=True)
    figures = add_up(venue, dt.date(2025, 7, 15))
    assert figures is not None
    assert (figures.month, figures.venue, figures.venue_name) == (JULY, "RIVER", "River House")
    assert [(line.day.day, line.revision) for line in figures.days] == [(1, 2), (31, 1)]
    assert figures.missing == [dt.date(2025, 7, n) for n in range(2, 31)]
    assert figures.hands == one.hands + other.hands
    assert figures.findings == one.findings
    assert figures.codes == one.codes
    assert figures.overpaid == one.attention.overpaid
    assert figures.departure_count == len(figures.departures) == 1
    by_code = {line.code: line for line in figures.tables}
    assert by_code["B01"].hands == 280 + 60
    assert by_code["B01"].head == samples.head_of("B01", dt.date(2025, 7, 31))
    assert by_code["B04"].chain_whole is False
    assert {line.dealer: line.hands for line in figures.dealers}["D101"] == 56 + 120
    assert figures.paid["banker"].won == one.paid["banker"].won + 56
    assert figures.paid["banker"].difference == one.paid["banker"].difference
    assert [flag.day for flag in figures.flags] == [JULY] * len(one.game.flags)
    assert figures.decisions.void_returned == Decimal("18000.00")
    assert [(line.person, line.corrected) for line in figures.amenders] == [("NOK", 12), ("@lek", 4)]
    assert MonthFigures.from_json(figures.as_json()) == figures


def test_a_month_counts_each_incident_once(venue: Venue) -> None:
    """It waits for three nights: on the first it is new, then it stands apart; the month has it as it ends."""
    first = samples.figures(venue.code, venue.name, JULY)
    new = first.attention.open_incidents[0]
    for number, day in enumerate((JULY, dt.date(2025, 7, 2), dt.date(2025, 7, 3))):
        attention = Attention(payout_count=2)
        if number:
            attention.older, attention.older_count = [new], 1
        else:
            attention.open_incidents, attention.open_count = [new], 1
        save(venue, day, attention=attention)
    figures = add_up(venue, JULY)
    assert figures is not None
    assert [line.attention for line in figures.days] == [3, 2, 2]
    assert (figures.attention, figures.open_count, figures.open_incidents) == (7, 1, [new])
    save(venue, dt.date(2025, 7, 4))  # by the last night it is decided
    figures = add_up(venue, JULY)
    assert figures is not None
    assert (figures.attention, figures.open_count) == (6, 0)


def test_there_is_nothing_to_add_up_in_an_empty_month(venue: Venue) -> None:
    assert make_month(venue, JULY) is None
    assert monthlies(venue) == []


def test_a_month_is_made_once_and_again_only_when_it_says_something_else(venue: Venue) -> None:
    save(venue, JULY)
    first = make_month(venue, JULY)
    assert first is not None
    assert (first.revision, first.cause, first.hands) == (1, "close", 120)
    assert make_month(venue, JULY) is None
    save(venue, JULY, revision=2, hands=121)
    again = make_month(venue, JULY)
    assert again is not None
    assert (again.revision, again.cause, again.hands) == (2, "late", 121)
    assert make_month(venue, JULY) is None


def test_rates_are_against_the_month_before(venue: Venue) -> None:
    save(venue, dt.date(2025, 6, 30), full=True)
    save(venue, JULY, full=True)
    figures = add_up(venue, JULY)
    assert figures is not None
    whole = figures.rates[0]
    assert (whole.count, whole.before_count) == (whole.before_count, sum(figures.codes.values()))
    assert whole.ratio == pytest.approx(1)
    assert whole.change == ""


def test_times_are_those_of_the_months_decisions(venue: Venue, table: MakeTable, people: People) -> None:
    at = dt.datetime(2025, 7, 10, 12, tzinfo=dt.UTC)
    user = people("manager")
    for minutes in (1, 2, 30):
        incident = samples.open_incident(table(f"T{minutes}"))
        Incident.objects.filter(pk=incident.pk).update(opened_at=at)
        decide(incident, user, at + dt.timedelta(minutes=minutes))
    elsewhere = samples.open_incident(table("T99"))
    decide(elsewhere, user, at + dt.timedelta(days=40))
    figures_of_day = samples.quiet(venue.code, venue.name, dt.date(2025, 7, 10))
    figures_of_day.decisions.decisions = figures_of_day.decisions.timed = 3
    samples.save_report(venue, figures_of_day)
    figures = add_up(venue, JULY)
    assert figures is not None
    decisions = figures.decisions
    assert (decisions.timed, decisions.median, decisions.slowest_tenth, decisions.longest) == (3, 120, 1800, 1800)


def decide(incident: Incident, user: User, at: dt.datetime) -> Decision:
    return Decision.objects.create(
        incident=incident,
        number=1,
        actions=["stand"],
        departs=False,
        rulings=[],
        decided_by=user,
        decided_by_name="M",
        decided_at=at,
        events=[],
    )


def test_the_last_night_of_a_month_makes_it(venue: Venue, undressed: list[str]) -> None:
    made = after(save(venue, JULY))
    assert [one.day for one in made] == [JULY]
    assert undressed == ["draw monthly r1", "files monthly r1"]
    assert after(save(venue, dt.date(2025, 7, 2)))[0].revision == 2
    assert after(made[0]) == []


def test_a_month_that_goes_on_is_left_alone(venue: Venue) -> None:
    assert after(save(venue, gaming_day(venue, timezone.now()))) == []
    assert monthlies(venue) == []


def test_a_month_left_without_its_report_gets_it_with_the_next_night(venue: Venue) -> None:
    save(venue, JULY)
    after(save(venue, dt.date(2025, 8, 5)))
    assert monthlies(venue) == [(JULY, 1), (dt.date(2025, 8, 1), 1)]
    after(save(venue, dt.date(2025, 8, 6)))
    assert monthlies(venue) == [(JULY, 1), (dt.date(2025, 8, 1), 1), (dt.date(2025, 8, 1), 2)]


def test_other_days_that_are_still_to_come_are_waited_for(venue: Venue) -> None:
    due = AuditDay.objects.create(venue=venue, day=dt.date(2025, 7, 5))
    assert after(save(venue, JULY)) == []
    run = AuditRun.objects.create(of_day=due, number=1, cause="close", changes=0, started_at=timezone.now())
    assert after(save(venue, dt.date(2025, 7, 2))) == []
    run.status, run.finished_at = "failed", timezone.now()
    run.retry_at = timezone.now()
    run.save()
    assert after(save(venue, dt.date(2025, 7, 3))) == []
    run.retry_at = None  # given up
    run.save()
    (made,) = after(save(venue, dt.date(2025, 7, 4)))
    assert len(made.monthly.days) == 4


def test_another_houses_days_are_not_waited_for(venue: Venue) -> None:
    other = Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    AuditDay.objects.create(venue=other, day=dt.date(2025, 7, 5))
    save(other, JULY)
    (made,) = after(save(venue, JULY))
    assert (made.venue, len(made.monthly.days)) == (venue, 1)


def test_subscribers_are_written_to(venue: Venue, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    user = people("manager")
    user.email = "malee@example.org"
    user.save()
    ReportSubscription.objects.create(member=user.staff_member, nightly=False, monthly=True)
    assert after(save(venue, JULY)) != []
    assert not ReportDelivery.objects.exists()  # an archive that comes in is no news
    last_day = timezone.now().date().replace(day=1) - dt.timedelta(days=1)
    monkeypatch.setattr(monthly.timezone, "now", lambda: dt.datetime.now(dt.UTC) + dt.timedelta(days=1))
    (made,) = after(save(venue, last_day))
    assert list(ReportDelivery.objects.values_list("report", "address")) == [(made.pk, "malee@example.org")]


def test_nothing_is_kept_where_the_mail_cannot_be_noted(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(report: AuditReport) -> None:
        raise RuntimeError("no room")

    save(venue, JULY)
    monkeypatch.setattr(deliver, "enqueue", fail)
    with pytest.raises(RuntimeError, match="no room"):
        make_month(venue, JULY)
    assert monthlies(venue) == []


def test_what_fails_in_dressing_it_takes_nothing_from_the_report(
    venue: Venue, monkeypatch: pytest.MonkeyPatch, undressed: list[str]
) -> None:
    def fail(report: AuditReport) -> None:
        raise OSError("no room")

    monkeypatch.setattr(plots, "draw", fail)
    after(save(venue, JULY))
    assert monthlies(venue) == [(JULY, 1)]
    assert undressed == ["files monthly r1"]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_nights_that_end_together_make_one_revision(venue: Venue) -> None:
    from concurrent.futures import ThreadPoolExecutor

    save(venue, JULY)

    def make(_number: int) -> int:
        try:
            made = make_month(Venue.objects.get(pk=venue.pk), JULY)
            return 0 if made is None else made.revision
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [0, 0, 0, 1]
    assert monthlies(venue) == [(JULY, 1)]
    assert monthly.add_up(venue, JULY) is not None

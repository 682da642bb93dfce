"""The nightly audit's rows: what is due, who does it, what becomes of failures, and one right report in the end."""

from __future__ import annotations

import datetime as dt
import io
import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from dealing import rejudge, triggers
from dealing.gaming_days import begins, gaming_day
from dealing.importer import import_log
from dealing.log import record, record_many
from dealing.models import ChainWalk, Hand, Table, Venue
from dealing.rejudge import rejudge_table
from dealing.tasks import verify_tables
from incidents.reports import runs, tasks
from incidents.reports.models import AuditDay, AuditReport, AuditRun, ReportFile, TableAudit
from tests import reports_samples as samples
from tests.conftest import MakeTable
from tests.table_logs import Lines, simulated, written

pytestmark = pytest.mark.django_db

Part = TableAudit.Status
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)


@pytest.fixture(autouse=True)
def dressed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Reports that were dressed; what that means is tested elsewhere."""
    done: list[int] = []

    def dress(report: AuditReport) -> None:
        done.append(report.pk)
        ReportFile.objects.get_or_create(report=report, kind="csv", language="en", made_at=timezone.now())

    monkeypatch.setattr(runs, "dress", dress)
    return done


@pytest.fixture
def day(venue: Venue) -> dt.date:
    """The last gaming day that is over."""
    return gaming_day(venue, timezone.now()) - DAY


@pytest.fixture
def lines(venue: Venue, day: dt.date) -> Lines:
    """Lines of that day, from an hour after its beginning on."""
    lines = Lines()
    lines.at = begins(venue, day) + HOUR
    return lines


@pytest.fixture
def log(table: MakeTable, lines: Lines) -> Lines:
    table("B07")
    record_many([*lines.open(), *lines.hand(1), *lines.hand(2)], actor="somchai")
    return lines


Commit = Callable[..., Any]


@pytest.fixture
def commit(django_capture_on_commit_callbacks: Any) -> Commit:
    """Call something, and what it wants done once it is committed."""

    def call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with django_capture_on_commit_callbacks(execute=True):
            return function(*args, **options)

    return call


def night(venue: Venue, day: dt.date) -> list[AuditReport]:
    return list(AuditReport.objects.filter(venue=venue, day=day, kind="nightly").order_by("revision"))


def begin(venue: Venue, day: dt.date) -> AuditRun:
    """A run of the day that nobody has been told of."""
    of_day, _made = AuditDay.objects.get_or_create(venue=venue, day=day)
    run = runs.open_run(of_day, timezone.now(), send=False)
    assert run is not None
    return run


def changes(day: dt.date) -> int:
    found = AuditDay.objects.filter(day=day).first()
    return 0 if found is None else found.changes


def late(lines: Lines, event: str = "voided", hand: int = 1) -> None:
    """Something comes to a hand of the day when the day is over."""
    keys: dict[str, Any] = {
        "voided": {"scope": "hand", "reason": "late"},
        "paid": {"seat": 1, "bet": "tie", "amount": "0.00"},
    }
    line = lines.line(event, hand, **keys[event])
    line.pop("at")
    record(line, actor="malee")


# What is due.


def test_the_last_week_is_due_and_nothing_before_the_first_event(venue: Venue, table: MakeTable) -> None:
    now = timezone.now()
    last = runs.closed_day(venue, now)
    runs.note_days(venue, now)
    assert [one.day for one in runs.due_days(venue, now)] == [last]  # a house without a log: last night alone
    AuditDay.objects.all().delete()
    row = table("B07")
    lines = Lines()
    lines.at = begins(venue, last - 2 * DAY) + HOUR
    record_many(lines.open(), actor="somchai")
    runs.note_days(venue, now)
    runs.note_days(venue, now)
    assert [one.day for one in runs.due_days(venue, now)] == [last - 2 * DAY, last - DAY, last]
    AuditDay.objects.all().delete()
    runs.note_days(venue, now + 30 * DAY)
    assert [one.day for one in runs.due_days(venue, now + 30 * DAY)] == [last + n * DAY for n in range(24, 31)]
    assert row.last_seq == 0


def test_a_house_whose_first_day_is_not_over_has_nothing_due(venue: Venue, table: MakeTable) -> None:
    table("B07")
    lines = Lines()
    lines.at = timezone.now() - HOUR / 60
    record_many(lines.open(), actor="somchai")
    now = lines.at
    runs.note_days(venue, now)
    assert runs.due_days(venue, now) == []


def test_a_day_is_due_some_minutes_after_its_end(log: Lines, venue: Venue, day: dt.date, settings: Any) -> None:
    settings.AUDIT_AFTER_CLOSE = 5
    end = begins(venue, day + DAY)
    runs.tick(end + dt.timedelta(minutes=4, seconds=59))
    assert not AuditRun.objects.filter(of_day__day=day).exists()
    runs.tick(end + dt.timedelta(minutes=5))
    assert AuditRun.objects.filter(of_day__day=day).count() == 1


@pytest.mark.parametrize("day", ["2026-03-28", "2026-10-24"])
def test_nights_on_which_the_clock_changes(venue: Venue, table: MakeTable, commit: Commit, day: str) -> None:
    """The night on which Berlin's clocks are changed is one day, with all its hours, and due at its own end."""
    row = table("B07")
    venue.time_zone, venue.day_starts = "Europe/Berlin", 6
    venue.save()
    date = dt.date.fromisoformat(day)
    hours = {3: 23, 10: 25}[date.month]
    first = begins(venue, date).astimezone(dt.UTC)
    lines = Lines()
    lines.at = first
    record_many(lines.open(), actor="somchai")
    for hour in range(hours):
        lines.at = first + hour * HOUR + HOUR / 2
        record_many(lines.hand(hour + 1), actor="somchai")
    end = first + hours * HOUR
    assert end == begins(venue, date + DAY)
    AuditDay.objects.all().delete()
    commit(runs.tick, end + dt.timedelta(minutes=4))
    assert night(venue, date) == []
    for _twice in range(2):
        commit(runs.tick, end + dt.timedelta(minutes=6))
    (report,) = night(venue, date)
    assert (report.hands, len(report.nightly.hours)) == (hours, hours)
    assert row.pk == TableAudit.objects.get(run=report.run).table_id


# One run, one report.


def test_a_night_from_the_scheduler_to_the_report(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, dressed: list[int]
) -> None:
    commit(runs.tick)
    run = AuditRun.objects.get(of_day__day=day)
    assert (run.status, run.cause, run.number, run.attempts, run.error) == ("done", "close", 1, 1, "")
    (report,) = night(venue, day)
    assert (report.run, report.revision, report.cause) == (run, 1, "close")
    assert (report.hands, report.events, report.chain_whole) == (2, 17, True)
    assert dressed == [report.pk]
    part = run.tables.get()
    assert (part.status, part.attempts, part.claim, part.events_done) == (Part.DONE, 1, None, part.events)
    assert part.read_night().hands == 2
    audited = AuditDay.objects.get(day=day)
    assert audited.audited == audited.changes
    for _again in range(3):
        commit(runs.tick)
    assert AuditRun.objects.filter(of_day__day=day).count() == len(night(venue, day)) == 1


def test_tables_in_use_and_those_that_were_used_on_the_day(
    log: Lines, table: MakeTable, venue: Venue, day: dt.date, commit: Commit
) -> None:
    table("B08")
    table("B09", is_active=False)
    Table.objects.filter(code="B07").update(is_active=False, name="Closed in the night")
    commit(runs.tick)
    (report,) = night(venue, day)
    assert [(line.code, line.name, line.active) for line in report.nightly.tables] == [
        ("B07", "Closed in the night", False),
        ("B08", "", True),
    ]
    other = AuditRun.objects.exclude(of_day__day=day).order_by("of_day__day").first()
    assert other is None or [part.table.code for part in other.tables.all()] == ["B08"]


def test_a_house_without_tables_has_a_report(venue: Venue, day: dt.date, commit: Commit) -> None:
    commit(runs.tick)
    (report,) = night(venue, runs.closed_day(venue, timezone.now()))
    assert (report.hands, report.attention, report.nightly.tables) == (0, 0, [])


def test_houses_do_not_meet(log: Lines, venue: Venue, day: dt.date, commit: Commit) -> None:
    tokyo = Venue.objects.create(code="TOKYO", name="Tokyo", time_zone="Asia/Tokyo", day_starts=12)
    Table.objects.create(code="T01", venue=tokyo, ruleset="standard")
    commit(runs.tick)
    assert {report.venue.code: report.hands for report in AuditReport.objects.all()}["TOKYO"] == 0
    assert night(venue, day)[0].hands == 2


def test_a_task_that_comes_twice_finds_nothing_to_do(log: Lines, venue: Venue, day: dt.date) -> None:
    begin(venue, day)
    part = TableAudit.objects.get(run__of_day__day=day)
    assert runs.work(part.pk)
    assert not runs.work(part.pk)
    assert runs.finish(part.run_id) is None
    assert not runs.work(10**9)
    assert len(night(venue, day)) == 1


def test_a_part_is_its_holders_until_the_lease_runs_out(log: Lines, venue: Venue, day: dt.date) -> None:
    begin(venue, day)
    pk = TableAudit.objects.get(run__of_day__day=day).pk
    first = runs.claim(pk)
    assert first is not None
    assert runs.claim(pk) is None
    TableAudit.objects.filter(pk=pk).update(lease_until=timezone.now() - HOUR)
    second = runs.claim(pk)
    assert second is not None
    assert second.attempts == 2
    # The first comes back to life: what it has to say is not taken, and it stops.
    answer = rejudge_table(first.table, timezone.now() - DAY, timezone.now())
    with pytest.raises(runs.ClaimLost):
        runs._part_done(first, answer, 1.0)
    with pytest.raises(runs.ClaimLost):
        runs._Keeper(first)(1, 2)
    runs._Keeper(second)(5, 17)
    part = TableAudit.objects.get(pk=pk)
    assert (part.events_done, part.events, part.status, part.claim) == (5, 17, Part.RUNNING, second.claim)
    assert part.lease_until is not None
    assert part.lease_until > timezone.now()


def test_a_worker_whose_part_was_taken_while_it_worked_leaves_it(
    log: Lines, venue: Venue, day: dt.date, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(venue, day)
    pk = TableAudit.objects.get(run__of_day__day=day).pk

    def taken(*args: Any, progress: Callable[[int, int], None], **options: Any) -> Any:
        TableAudit.objects.filter(pk=pk).update(claim=uuid.uuid4())
        progress(1, 2)

    monkeypatch.setattr(runs, "rejudge_table", taken)
    assert not runs.work(pk)
    assert TableAudit.objects.get(pk=pk).status == Part.RUNNING


def test_vanished_workers(log: Lines, venue: Venue, day: dt.date, commit: Commit) -> None:
    begin(venue, day)
    pk = TableAudit.objects.get(run__of_day__day=day).pk
    for _worker in range(runs.VANISHED - 1):
        assert runs.claim(pk) is not None
        TableAudit.objects.filter(pk=pk).update(lease_until=timezone.now() - HOUR)
    commit(runs.tick)  # sends it again
    assert len(night(venue, day)) == 1
    TableAudit.objects.filter(pk=pk).update(status=Part.RUNNING, attempts=3, lease_until=timezone.now() - HOUR)
    run = AuditRun.objects.get(of_day__day=day)
    AuditRun.objects.filter(pk=run.pk).update(status="running", finished_at=None)
    commit(runs.see_to_parts, timezone.now())
    run.refresh_from_db()
    assert (run.status, run.error) == ("failed", "B07: the worker vanished 3 times")


def test_what_was_not_sent_or_got_lost_is_sent_again(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    def dead(*args: Any) -> None:
        raise BrokerError("nobody there")

    with monkeypatch.context() as patch:
        patch.setattr(tasks.audit_table, "delay", dead)
        commit(runs.tick)
        part = TableAudit.objects.get(run__of_day__day=day)
        assert (part.status, part.sent_at) == (Part.WAITING, None)
    sent: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(tasks.audit_table, "delay", sent.append)
        commit(runs.tick)
        assert part.pk in sent
        sent.clear()
        commit(runs.tick)
        assert sent == []  # it was sent a moment ago
        commit(runs.tick, timezone.now() + dt.timedelta(seconds=settings.AUDIT_RESEND + 1))
        assert part.pk in sent
    runs.work(part.pk)
    assert len(night(venue, day)) == 1


def test_a_run_whose_last_worker_died_before_finishing_it_is_finished(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(runs, "finish", lambda pk, later: None)
        commit(runs.tick)
        assert TableAudit.objects.get(run__of_day__day=day).status == Part.DONE
        assert night(venue, day) == []
    commit(runs.tick)
    assert len(night(venue, day)) == 1


def test_a_report_that_was_left_undressed_is_dressed(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, dressed: list[int], settings: Any
) -> None:
    commit(runs.tick)
    (report,) = night(venue, day)
    dressed.clear()
    soon = timezone.now() + dt.timedelta(seconds=settings.AUDIT_RESEND + 1)
    commit(runs.see_to_reports, soon)
    assert dressed == []
    ReportFile.objects.all().delete()
    commit(runs.see_to_reports, timezone.now())
    assert dressed == []
    commit(runs.see_to_reports, soon)
    assert report.pk in dressed


# Entries that come late.


def test_a_late_entry_makes_another_revision(log: Lines, venue: Venue, day: dt.date, commit: Commit) -> None:
    commit(runs.tick)
    late(log)
    of_day = AuditDay.objects.get(day=day)
    assert of_day.changes == (of_day.audited or 0) + 1
    commit(runs.tick)
    first, second = night(venue, day)
    assert (first.revision, second.revision, second.cause) == (1, 2, "late")
    assert (first.nightly.voided, second.nightly.voided) == (0, 1)
    of_day.refresh_from_db()
    assert of_day.changes == of_day.audited
    commit(runs.tick)
    assert len(night(venue, day)) == 2


def test_a_late_entry_that_changes_nothing_makes_no_revision(
    log: Lines, venue: Venue, day: dt.date, commit: Commit
) -> None:
    commit(runs.tick)
    late(log, "paid")
    commit(runs.tick)
    run = AuditRun.objects.filter(of_day__day=day).order_by("number").last()
    assert run is not None
    assert (run.number, run.status, run.cause) == (2, "done", "late")
    assert len(night(venue, day)) == 1
    of_day = AuditDay.objects.get(day=day)
    assert of_day.audited == of_day.changes


def test_an_entry_while_the_audit_goes_on_is_not_forgotten(
    log: Lines, venue: Venue, day: dt.date, commit: Commit
) -> None:
    begin(venue, day)
    before = changes(day)
    late(log)
    part = TableAudit.objects.get(run__of_day__day=day)
    runs.work(part.pk)
    of_day = AuditDay.objects.get(day=day)
    assert (of_day.changes, of_day.audited) == (before + 1, before)
    commit(runs.tick)
    of_day.refresh_from_db()
    assert of_day.audited == before + 1
    assert len(night(venue, day)) == 1  # the run that was under way had seen it already


def test_an_amendment_counts_for_the_day_of_what_it_amends(log: Lines, day: dt.date) -> None:
    before = changes(day)
    line = log.line("amended", 2, seq=13, entry={**Lines().line("card", 2, to="P1", card="8h"), "shoe": 1}, reason="x")
    line.pop("at")
    record(line, actor="anan")
    assert AuditDay.objects.get().day == day
    assert changes(day) == before + 1
    burned = {**log.line("cards_burned", count=3)}
    line = log.line("amended", seq=3, entry=burned, reason="counted again")
    line.pop("at")
    record(line, actor="anan")
    assert changes(day) == before + 2


def test_a_hand_taken_back_counts_for_its_day(log: Lines, day: dt.date) -> None:
    record_many([log.line("betting_opened", 3)], actor="somchai")
    AuditDay.objects.all().delete()
    seq = Table.objects.get().last_seq
    line = log.line("amended", 3, seq=seq, reason="never was")
    line.pop("at")
    record(line, actor="anan")
    assert not Hand.objects.filter(number=3).exists()
    assert changes(day) == 1


def test_play_of_the_current_day_asks_nothing_of_the_database(
    table: MakeTable, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    table("B07")
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr("dealing.log.event_recorded.send", lambda **signal: asked.append(signal))
    lines = Lines()
    for line in [*lines.open(), *lines.hand(1)]:
        line.pop("at")
        record(line, actor="somchai")
    record({**{k: v for k, v in lines.line("cut_card", 2).items() if k != "at"}}, actor="somchai")
    seq = Table.objects.get().last_seq
    record({k: v for k, v in lines.line("amended", 2, seq=seq, reason="x").items() if k != "at"}, actor="somchai")
    assert len(asked) == 12
    with django_assert_num_queries(0):
        for signal in asked:
            runs.note_late_entries(**{key: value for key, value in signal.items() if key != "sender"})
    assert not AuditDay.objects.exists()


def test_an_imported_archive_is_audited_however_old_it_is(table: MakeTable, venue: Venue, commit: Commit) -> None:
    table("B07", ruleset="insurance")
    import_log(io.BytesIO(written(simulated(shoes=1, hands=3)).encode()), actor="import")
    (of_day,) = AuditDay.objects.all()
    assert of_day.day == dt.date(2024, 11, 28)
    assert of_day.audited is None
    commit(runs.tick)  # last night's first, two at a time
    commit(runs.tick)
    for _minute in range(5):
        commit(runs.tick)
    (report,) = night(venue, of_day.day)
    assert report.hands == 3


def test_figures_are_alike_up_to_how_fractions_are_added_up() -> None:
    one = {"q": 0.002288724282092889, "of": [1, 2.5, "x"], "none": None}
    assert runs._alike(one, {**one, "q": 0.0022887242820928888})
    for other in ({**one, "q": 0.0022887}, {**one, "of": [1, 2.5]}, {**one, "of": [2, 2.5, "x"]}, {"q": one["q"]}):
        assert not runs._alike(one, other)
    assert not runs._alike(one, {**one, "none": 0.0})


# Failures.


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """While the list holds an exception, no table can be judged."""
    errors: list[Exception] = [ValueError("a fault of ours")]

    def judge(*args: Any, **options: Any) -> Any:
        if errors:
            raise errors[0]
        return rejudge_table(*args, **options)

    monkeypatch.setattr(runs, "rejudge_table", judge)
    return errors


def only_run(day: dt.date) -> AuditRun:
    return AuditRun.objects.get(of_day__day=day)


def test_a_failure_is_told_and_tried_again_later_and_later(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, broken: list[Exception]
) -> None:
    waits = []
    due: dt.datetime | None = None
    for attempt in range(1, runs.ATTEMPTS + 1):
        commit(runs.tick, due)
        run = only_run(day)
        due = run.retry_at
        assert (run.status, run.attempts) == ("failed", attempt)
        assert run.error == "B07: ValueError: a fault of ours"
        assert run.finished_at is not None
        waits.append(run.retry_at and round((run.retry_at - run.finished_at) / dt.timedelta(minutes=1)))
    assert waits == [1, 2, 4, 8, 16, None]
    broken.clear()
    commit(runs.tick, timezone.now() + DAY / 2)
    assert only_run(day).status == "failed"  # only by hand now
    assert commit(runs.retry, only_run(day), by="Malee Wong")
    run = only_run(day)
    assert (run.status, run.attempts, run.asked_by, run.error) == ("done", 1, "Malee Wong", "")
    assert len(night(venue, day)) == 1
    assert not runs.retry(run)


def test_what_is_done_stays_done_when_a_run_is_taken_up_again(
    log: Lines, table: MakeTable, venue: Venue, day: dt.date, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    table("B08")

    def judge(row: Table, *args: Any, **options: Any) -> Any:
        if row.code == "B08" and only_run(day).attempts == 1:
            raise RuntimeError
        return rejudge_table(row, *args, **options)

    monkeypatch.setattr(runs, "rejudge_table", judge)
    commit(runs.tick)
    run = only_run(day)
    assert (run.status, run.error) == ("failed", "B08: RuntimeError")
    assert dict(run.tables.values_list("table__code", "status")) == {"B07": "done", "B08": "failed"}
    commit(runs.tick, run.retry_at)
    assert only_run(day).status == "done"
    assert dict(run.tables.values_list("table__code", "attempts")) == {"B07": 1, "B08": 1}
    assert len(night(venue, day)) == 1


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OperationalError("disk full")])
def test_a_report_that_cannot_be_made(
    log: Lines,
    venue: Venue,
    day: dt.date,
    commit: Commit,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def gather(run: AuditRun) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("incidents.reports.gather.gather", gather)
        commit(runs.tick)
        run = only_run(day)
        assert run.status == "failed"
        assert str(error) in run.error
        assert night(venue, day) == []
    commit(runs.tick, run.retry_at)
    assert only_run(day).status == "done"
    assert len(night(venue, day)) == 1


def test_a_database_that_went_away_is_no_fault_of_the_table(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, broken: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "close", lambda: None)  # the test's own transaction is in it
    broken[:] = [OperationalError("server closed the connection")]
    commit(runs.tick)
    part = TableAudit.objects.get(run__of_day__day=day)
    assert part.run.status == "running"
    assert (part.status, part.attempts, part.claim, part.error) == (Part.WAITING, 0, None, "")
    broken.clear()
    TableAudit.objects.update(sent_at=None)
    commit(runs.tick)
    assert len(night(venue, day)) == 1


# By hand.


def test_started_by_hand(log: Lines, venue: Venue, day: dt.date, commit: Commit) -> None:
    run = commit(runs.start_by_hand, venue, day, by="Malee Wong")
    run.refresh_from_db()
    assert (run.status, run.cause, run.asked_by) == ("done", "hand", "Malee Wong")
    assert [report.cause for report in night(venue, day)] == ["hand"]
    again = commit(runs.start_by_hand, venue, day, by="Malee Wong")
    assert again.number == 2
    assert len(night(venue, day)) == 1  # it says the same
    with pytest.raises(ValidationError):
        runs.start_by_hand(venue, day + DAY, by="Malee Wong")


def test_by_hand_what_goes_on_is_left_alone_and_what_failed_taken_up(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, broken: list[Exception]
) -> None:
    assert begin(venue, day) == runs.start_by_hand(venue, day, by="Malee Wong")
    commit(runs.tick)
    assert only_run(day).status == "failed"
    broken.clear()
    commit(runs.start_by_hand, venue, day, by="Malee Wong")
    assert only_run(day).status == "done"


# Two at once.


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one_run_and_one_report(log: Lines, venue: Venue, day: dt.date) -> None:
    barrier = threading.Barrier(4)

    def at_once(function: Callable[[], Any]) -> None:
        def one() -> None:
            try:
                barrier.wait(10)
                function()
            finally:
                connection.close()

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        barrier.reset()

    at_once(runs.tick)
    at_once(lambda: late(log, "paid"))
    at_once(runs.tick)
    for run in AuditRun.objects.filter(of_day__day=day):
        for part in run.tables.all():
            at_once(lambda part=part: runs.work(part.pk))  # type: ignore[misc]  # bound now
        at_once(lambda run=run: runs.finish(run.pk))  # type: ignore[misc]  # bound now
    assert [report.revision for report in night(venue, day)] == [1]
    assert sorted(AuditRun.objects.filter(of_day__day=day).values_list("number", flat=True)) in ([1], [1, 2])
    assert changes(day) == 5  # the log itself came late


def test_the_scheduler_takes_one_turn_at_a_time(venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []

    def tick() -> None:
        turns.append(1)
        tasks.audit_nights()  # comes while the first is at it

    monkeypatch.setattr(runs, "tick", tick)
    tasks.audit_nights()
    tasks.audit_nights()
    assert len(turns) == 2


def test_a_receiver_that_fails_undoes_the_entry(log: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted and what is recorded are one transaction."""
    seq = Table.objects.get().last_seq

    def fail(*args: Any, **options: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(AuditDay.objects, "filter", fail)
    with pytest.raises(RuntimeError), transaction.atomic():
        late(log)
    assert Table.objects.get().last_seq == seq


# A row of an earlier night that was changed since.


@pytest.fixture
def two_nights(table: MakeTable, venue: Venue, day: dt.date, commit: Commit) -> Lines:
    """The night before last is audited; last night has been played and is to be audited."""
    table("B07")
    lines = Lines()
    lines.at = begins(venue, day - DAY) + HOUR
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    commit(runs.start_by_hand, venue, day - DAY, by="Malee")
    (report,) = night(venue, day - DAY)
    assert report.chain_whole
    lines.at = begins(venue, day) + HOUR
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    return lines


def tamper(seq: int) -> None:
    with triggers.suspended(), connection.cursor() as cursor:
        cursor.execute("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = %s", [seq])


def broken_of(report: AuditReport) -> list[tuple[str, int | None, str]]:
    return [(one.table, one.seq, one.problem) for one in report.nightly.attention.broken]


BROKEN = [("B07", 4, "its hash does not match its content")]


def test_a_row_changed_after_its_night_is_in_the_next_report(
    two_nights: Lines, venue: Venue, day: dt.date, commit: Commit
) -> None:
    tamper(4)
    commit(runs.tick)
    (report,) = night(venue, day)
    assert broken_of(report) == BROKEN
    (line,) = report.nightly.tables
    assert (report.chain_whole, line.chain_whole, line.checked_from) == (False, False, 0)
    walk = ChainWalk.objects.get()
    assert (walk.last_seq, walk.broken_at, walk.problem) == (3, 4, BROKEN[0][2])
    assert line.walked_at == walk.walked_at


def test_of_a_long_log_it_is_in_the_report_once_the_whole_was_walked(
    two_nights: Lines, venue: Venue, day: dt.date, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejudge, "WHOLE_WALK", 1)
    whole = ChainWalk.objects.get()
    assert whole.problem == ""
    tamper(4)
    commit(runs.tick)
    (report,) = night(venue, day)
    (line,) = report.nightly.tables
    # Nobody has seen it, and the report says how much of the log it speaks of.
    assert (broken_of(report), line.checked_from, line.walked_at) == ([], whole.last_seq, whole.walked_at)
    verify_tables()
    commit(runs.start_by_hand, venue, day, by="Malee")
    _, again = night(venue, day)
    assert broken_of(again) == BROKEN
    assert (again.chain_whole, again.nightly.tables[0].chain_whole) == (False, False)
    assert again.attention == report.attention + 1
    commit(runs.start_by_hand, venue, day, by="Malee")
    assert len(night(venue, day)) == 2  # another walk at another time says nothing else


def test_the_days_of_an_archive_are_not_each_walked_from_the_beginning(
    table: MakeTable, venue: Venue, day: dt.date, commit: Commit
) -> None:
    table("B07")
    lines = Lines()
    for ago in (30, 29):
        lines.at = begins(venue, day - ago * DAY) + HOUR
        record_many([*(lines.open() if ago == 30 else ()), *lines.hand(31 - ago)], actor="somchai")
    for _ in range(8):
        commit(runs.tick)
    assert night(venue, day)[0].nightly.tables[0].checked_from == 0
    for ago in (30, 29):
        (report,) = night(venue, day - ago * DAY)
        assert report.nightly.tables[0].checked_from == Table.objects.get().last_seq


# The command.


def command(*arguments: str) -> tuple[int, str, str]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("nightly_audit", *arguments, stdout=out, stderr=err, no_color=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 99
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return code, out.getvalue(), err.getvalue()


def test_the_command_does_all_of_it(log: Lines, venue: Venue, day: dt.date, dressed: list[int]) -> None:
    code, out, err = command()
    (report,) = night(venue, day)
    wants = {0: "nothing wants", 1: "1 thing wants"}.get(report.attention, f"{report.attention} things want")
    assert (
        f"RIVER {day}: 2 hands, {report.findings} findings; {wants} attention; report {report.pk}, revision 1\n" in out
    )
    assert (code, err) == (1 if report.attention else 0, "")
    assert report.pk in dressed
    dressed.clear()
    code, out, _ = command()
    assert out == f"RIVER: nothing is due; audited up to {runs.closed_day(venue, timezone.now())}\n"
    assert code == 0
    code, out, _ = command("--date", str(day), "--venue", "RIVER")
    assert out.endswith(f"report {report.pk}, revision 1, says the same already\n")
    assert dressed == []
    late(log)
    command()
    assert [one.revision for one in night(venue, day)] == [1, 2]


def test_the_command_and_a_failed_night(log: Lines, venue: Venue, day: dt.date, broken: list[Exception]) -> None:
    code, _, err = command("--date", str(day))
    assert code == 2
    assert err == f"RIVER {day}: failed: B07: ValueError: a fault of ours\n"
    broken.clear()
    code, out, _ = command()
    assert code < 2
    assert f"RIVER {day}: 2 hands" in out


def test_what_the_command_cannot_do(log: Lines, venue: Venue, day: dt.date) -> None:
    code, _, err = command("--date", "31/07/2026")
    assert code != 0
    assert "'31/07/2026' is not a day; write it as 2026-07-31" in err
    assert command("--venue", "NOWHERE") == (2, "", "there is no house NOWHERE (known: RIVER)")
    code, out, err = command("--date", str(day + DAY))
    assert (code, out) == (2, "")
    assert err == f"RIVER {day + DAY}: this gaming day is not over; the last one that is: {day}\n"
    code, out, err = command("--date", "2001-01-01")
    assert (code, out) == (2, "")
    assert err == f"RIVER 2001-01-01: nothing had been recorded by that day; its log begins on {day}\n"
    assert not AuditRun.objects.exists()


def test_what_a_vanished_holder_left_is_waited_for_and_taken_over(
    log: Lines, venue: Venue, day: dt.date, settings: Any
) -> None:
    settings.AUDIT_LEASE = 1
    begin(venue, day)
    (part,) = TableAudit.objects.all()
    claimed = runs.claim(part.pk)
    assert claimed is not None
    assert claimed.lease_until is not None
    until = f"{claimed.lease_until.astimezone(venue.zone):%H:%M:%S}"
    code, out, err = command("--date", str(day))
    first, second = out.splitlines()
    assert first == (f"RIVER {day}: somebody else is at it; waiting (where they have stopped, this goes on at {until})")
    assert second.startswith(f"RIVER {day}: 2 hands")
    assert (code < 2, err) == (True, "")
    part.refresh_from_db()
    assert (part.status, part.attempts) == (Part.DONE, 2)


def test_what_another_does_is_waited_for_and_told(
    log: Lines, venue: Venue, day: dt.date, dressed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other finishes while this one waits: this says what it came to, and does nothing a second time."""
    begin(venue, day)
    (part,) = TableAudit.objects.all()
    claimed = runs.claim(part.pk)
    assert claimed is not None

    def other(seconds: float) -> None:
        TableAudit.objects.filter(pk=part.pk).update(status=Part.WAITING)
        monkeypatch.undo()
        monkeypatch.setattr(runs, "dress", lambda report: dressed.append(report.pk))
        assert runs.work(part.pk)

    monkeypatch.setattr(runs.time, "sleep", other)
    assert command("--date", str(day))[0] < 2
    (report,) = night(venue, day)
    assert report.revision == 1
    assert set(dressed) == {report.pk}


def test_a_day_that_another_command_has_just_begun_is_its_day_too(
    log: Lines, venue: Venue, day: dt.date, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = runs.due_days(venue, timezone.now()) or [AuditDay.objects.create(venue=venue, day=day)]
    monkeypatch.setattr(runs, "due_days", lambda *_: due)
    opened = runs.open_run

    def late(of_day: AuditDay, *arguments: Any, **options: Any) -> None:
        assert opened(of_day, *arguments, **options) is not None

    monkeypatch.setattr(runs, "open_run", late)
    code, out, _ = command()
    assert f"RIVER {day}: 2 hands" in out
    assert code < 2


def test_a_command_that_died_is_made_up_for_by_the_next(
    log: Lines, venue: Venue, day: dt.date, dressed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def died(report: AuditReport) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(runs, "dress", died)
        with pytest.raises(KeyboardInterrupt):
            command("--date", str(day))
    (report,) = night(venue, day)
    assert command()[1].startswith("RIVER: nothing is due")
    assert dressed == [report.pk]


def test_a_month_that_was_left_out_is_made(
    table: MakeTable, venue: Venue, day: dt.date, commit: Commit, settings: Any
) -> None:
    table("B07")
    last_of_month = day.replace(day=1) - DAY
    lines = Lines()
    lines.at = begins(venue, last_of_month) + HOUR
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    commit(runs.start_by_hand, venue, last_of_month, by="Malee")
    months = AuditReport.objects.filter(kind="monthly")
    AuditDay.objects.filter(day__lt=day.replace(day=1)).exclude(day=last_of_month).delete()
    soon = timezone.now() + dt.timedelta(seconds=settings.AUDIT_RESEND + 1)
    commit(runs.see_to_reports, timezone.now())
    assert not months.exists()
    commit(runs.see_to_reports, soon)
    (month,) = months
    assert month.day == last_of_month.replace(day=1)
    assert {plot.language for plot in month.plots.all()} == {"en", "th"}
    commit(runs.see_to_reports, soon)
    assert months.count() == 1


def test_a_month_left_undressed_is_dressed(venue: Venue, dressed: list[int], commit: Commit, settings: Any) -> None:
    month = samples.save_month(venue)
    commit(runs.see_to_reports, timezone.now() + dt.timedelta(seconds=settings.AUDIT_RESEND + 1))
    assert dressed == [month.pk]


def test_the_rows_are_in_the_admin_to_be_read(
    log: Lines, venue: Venue, day: dt.date, commit: Commit, admin_client: Client
) -> None:
    commit(runs.tick)
    for model in (AuditDay, AuditRun, AuditReport):
        address = f"/admin/incidents/{model.__name__.lower()}/"
        assert day.isoformat() in admin_client.get(address).content.decode() or model is AuditDay
        row = model.objects.order_by("pk").last()
        assert row is not None
        page = admin_client.get(f"{address}{row.pk}/change/")
        assert page.status_code == 200
        assert 'name="_save"' not in page.content.decode()
        assert admin_client.get(f"{address}add/").status_code == 403

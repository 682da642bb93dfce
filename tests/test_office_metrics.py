"""`/metrics`: what Prometheus reads, who may read it, and that it answers when something is away."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from baccarat_audit import metrics
from dealing import triggers
from dealing.gaming_days import gaming_day
from dealing.log import record_many
from dealing.models import Table, Venue
from dealing.tasks import verify_tables
from dealing.verify import Verified, keep_walk
from incidents.reports.models import AuditDay, AuditRun, ReportDelivery, ReportFile, TableAudit
from tests import reports_samples as samples
from tests.conftest import MakeTable, People
from tests.table_logs import Lines

pytestmark = pytest.mark.django_db

TOKEN = "a-token-of-the-suite"
Values = dict[tuple[str, ...], float]


@pytest.fixture
def scrape(client: Client, settings: Any) -> Callable[[], Values]:
    """Every sample by its name and the values of its labels in their order."""
    settings.METRICS_TOKEN = TOKEN

    def read() -> Values:
        response = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert response.status_code == 200
        assert response["Content-Type"].startswith("text/plain")
        assert "no-store" in response["Cache-Control"]
        found: Values = {}
        for family in text_string_to_metric_families(response.content.decode()):
            assert family.documentation, family.name
            for sample in family.samples:
                found[(sample.name, *(sample.labels[name] for name in sorted(sample.labels)))] = sample.value
        return found

    return read


def test_an_empty_house(scrape: Callable[[], Values], venue: Venue) -> None:
    found = scrape()
    assert found["baccarat_up", "database"] == 1
    assert found["baccarat_audit_runs", "running", "RIVER"] == 0
    assert found["baccarat_report_missing", "RIVER"] == 0
    assert found["baccarat_report_mails", "waiting"] == 0
    assert found["baccarat_report_files_failed",] == 0


def test_everything_that_is_watched(
    scrape: Callable[[], Values], venue: Venue, people: People, table: MakeTable
) -> None:
    # Last night has been over for hours, whatever the hour is.
    venue.day_starts = (timezone.now().astimezone(venue.zone).hour - 5) % 24
    venue.save()
    first = samples.save_full(venue)
    samples.save_full(venue, revision=2)
    samples.save_report(venue, samples.quiet(day=samples.DAY - dt.timedelta(days=1)))
    run = AuditRun.objects.create(
        of_day=AuditDay.objects.create(venue=venue, day=samples.DAY + dt.timedelta(days=1)),
        number=1,
        cause=AuditRun.Cause.CLOSE,
        changes=0,
        started_at=timezone.now(),
    )
    b07 = table("B07")
    TableAudit.objects.create(run=run, table=b07)
    samples.open_incident(b07)
    samples.open_incident(b07, hand=2)
    ReportFile.objects.create(report=first, kind="pdf", language="en", error="ENOSPC", made_at=timezone.now())
    member = people("manager").staff_member
    ReportDelivery.objects.create(
        report=first, member=member, address="m@house.example", language="en", message_id="<1@x>", status="failed"
    )
    found = scrape()
    assert found["baccarat_audit_runs", "done", "RIVER"] == 2
    assert found["baccarat_audit_runs", "running", "RIVER"] == 1
    assert found["baccarat_audit_runs", "failed", "RIVER"] == 0
    assert found["baccarat_audit_last_run_seconds", "RIVER"] == pytest.approx(42, abs=1)
    age = timezone.now().timestamp() - found["baccarat_audit_last_run_timestamp_seconds", "RIVER"]
    assert 0 <= age < 60
    assert found["baccarat_audit_tables", "waiting"] == 1
    assert found["baccarat_hands_judged_total", "RIVER"] == 1120 + 1120 + 120
    assert found["baccarat_reports_total", "RIVER"] == 3
    codes = samples.figures().codes
    assert {key[1]: value for key, value in found.items() if key[0] == "baccarat_report_findings"} == codes
    assert found["baccarat_report_hands", "RIVER"] == 1120
    assert found["baccarat_report_attention", "RIVER"] == 74
    assert found["baccarat_report_flags", "RIVER"] == 3
    assert found["baccarat_report_chain_whole", "RIVER"] == 0
    assert found["baccarat_report_missing", "RIVER"] == 1, "the house has a log, and last night no report"
    assert found["baccarat_report_mails", "failed"] == 1
    assert found["baccarat_report_mails", "sent"] == 0
    assert found["baccarat_report_files_failed",] == 1
    assert found["baccarat_open_incidents", "B07", "RIVER"] == 2


def test_a_report_of_last_night_is_not_missing(scrape: Callable[[], Values], venue: Venue) -> None:
    day = gaming_day(venue, timezone.now()) - dt.timedelta(days=1)
    samples.save_report(venue, samples.quiet(day=day), tables=samples.quiet_nights(day))
    assert scrape()["baccarat_report_missing", "RIVER"] == 0


def test_who_may_read_it(client: Client, people: People, settings: Any, venue: Venue) -> None:
    def status(token: str | None = None) -> int:
        return client.get("/metrics", headers={"Authorization": token} if token else {}).status_code

    settings.METRICS_TOKEN = ""
    assert status() == 404
    assert status("Bearer ") == 404, "no token is not an empty one"
    for group, expected in ((None, 404), ("recorder", 404), ("supervisor", 404), ("auditor", 200), ("manager", 200)):
        client.force_login(people(group))
        assert status() == expected, group
    client.logout()
    settings.METRICS_TOKEN = TOKEN
    assert status(f"Bearer {TOKEN}") == 200
    for wrong in (None, TOKEN, f"Bearer {TOKEN}x", "Bearer", "Bearer ไทย", f"Basic {TOKEN}"):
        assert status(wrong) == 404, wrong
    assert client.post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405


def test_a_broken_chain_shows(scrape: Callable[[], Values], table: MakeTable) -> None:
    table("B07")
    record_many(Lines().open(), actor="somchai")
    assert ("baccarat_log_chain_whole", "B07", "RIVER") not in scrape(), "nobody has walked it"
    verify_tables()
    found = scrape()
    assert found["baccarat_log_chain_whole", "B07", "RIVER"] == 1
    assert timezone.now().timestamp() - found["baccarat_log_walked_timestamp_seconds", "B07", "RIVER"] < 60
    with triggers.suspended(), connection.cursor() as cursor:
        cursor.execute("UPDATE dealing_tableevent SET actor = 'nobody' WHERE seq = 1")
    verify_tables()
    assert scrape()["baccarat_log_chain_whole", "B07", "RIVER"] == 0


def test_a_person_sees_the_lines_of_their_house(
    client: Client, scrape: Callable[[], Values], people: People, table: MakeTable, venue: Venue
) -> None:
    hill = Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    for house, code in ((venue, "B07"), (hill, "H01")):
        report = samples.save_full(house)
        TableAudit.objects.all().delete()
        row = Table.objects.filter(code=code).first() or Table.objects.create(
            code=code, venue=house, ruleset="commission"
        )
        samples.open_incident(row)
        keep_walk(Verified(code, 0, "", None))
        ReportFile.objects.create(report=report, kind="pdf", language="en", error="EIO", made_at=timezone.now())
    every = scrape()
    assert {key[-1] for key in every if key[0] == "baccarat_log_chain_whole"} == {"HILL", "RIVER"}
    assert every["baccarat_report_files_failed",] == 2
    whole = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    client.force_login(people("auditor"))
    own = client.get("/metrics").content.decode()
    assert "HILL" in whole
    assert "HILL" not in own
    assert "H01" not in own
    assert "baccarat_report_files_failed 1.0" in own
    assert {line.split("{")[0] for line in own.splitlines()} == {line.split("{")[0] for line in whole.splitlines()} - {
        "baccarat_report_files_failed 2.0"
    } | {"baccarat_report_files_failed 1.0"}
    nobody = people("manager", "owner")
    nobody.staff_member.delete()
    client.force_login(User.objects.get(pk=nobody.pk))
    assert client.get("/metrics").content.decode() == whole, "who belongs to no house has them all"


def test_redis_away(scrape: Callable[[], Values], venue: Venue, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    found = scrape()
    assert (found["baccarat_up", "database"], found["baccarat_up", "redis"]) == (1, 0)
    assert ("baccarat_queue_length",) not in found
    assert ("baccarat_report_files_failed",) in found


def test_the_database_away(scrape: Callable[[], Values], venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise OperationalError("the connection is closed")

    monkeypatch.setattr(metrics, "_runs", broken)
    found = scrape()
    assert found["baccarat_up", "database"] == 0
    assert ("baccarat_report_files_failed",) not in found


@pytest.mark.redis
def test_the_queue(scrape: Callable[[], Values], venue: Venue, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker's own keys, under names of the suite."""
    monkeypatch.setattr(metrics, "QUEUE", "suite-of-metrics")
    monkeypatch.setattr(metrics, "TAKEN", "suite-of-metrics-taken")
    with redis.Redis.from_url(configured.REDIS_URL) as server:
        try:
            server.rpush("suite-of-metrics", "a", "b", "c")
            server.hset("suite-of-metrics-taken", "d", "x")
            found = scrape()
        finally:
            server.delete("suite-of-metrics", "suite-of-metrics-taken")
    assert found["baccarat_up", "redis"] == 1
    assert found["baccarat_queue_length",] == 3
    assert found["baccarat_queue_taken",] == 1


def test_it_is_cheap(
    scrape: Callable[[], Values], venue: Venue, django_assert_max_num_queries: Any, people: People
) -> None:
    for number in range(20):
        samples.save_report(venue, samples.quiet(day=samples.DAY + dt.timedelta(days=number)))
    with django_assert_max_num_queries(20) as seen:
        scrape()
    taken_apart = [one["sql"] for one in seen.captured_queries if '"figures"' in one["sql"]]
    assert len(taken_apart) == 1
    assert '"incidents_auditreport"."id" = ' in taken_apart[0], "the figures of one report, and not of a year's"


@pytest.mark.sqlite
def test_the_address_answers_without_https(client: Client, settings: Any, venue: Venue) -> None:
    """Prometheus asks from inside, where no proxy ends TLS."""
    settings.METRICS_TOKEN = TOKEN
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200

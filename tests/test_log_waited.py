"""An entry that waited on a device is stamped with the time of its tap, within what the log allows."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from dealing.log import LONGEST_WAIT, record, record_many
from dealing.models import Table
from tests.conftest import MakeTable

pytestmark = pytest.mark.django_db

NOW = dt.datetime(2026, 11, 28, 20, 0, 0, tzinfo=dt.UTC)
OPENED = {"event": "shoe_opened", "table": "B07", "shoe": 1, "ruleset": "commission"}
BURNED = {"event": "burn_card", "table": "B07", "shoe": 1, "card": "5h"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, table: MakeTable) -> list[dt.datetime]:
    """The time that it is; put another into it."""
    table("B07")
    now = [NOW]
    monkeypatch.setattr(timezone, "now", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("ago", "at"),
    [
        (dt.timedelta(seconds=90), NOW - dt.timedelta(seconds=90)),
        (dt.timedelta(), NOW),
        (dt.timedelta(seconds=-90), NOW),
        (dt.timedelta(days=3), NOW - LONGEST_WAIT),
    ],
)
def test_the_time_is_that_of_the_tap(clock: list[dt.datetime], ago: dt.timedelta, at: dt.datetime) -> None:
    assert record(OPENED, actor="nok", ago=ago).row.at == at


def test_the_time_is_never_before_the_last_event(clock: list[dt.datetime]) -> None:
    record(OPENED, actor="nok")
    clock[0] = NOW + dt.timedelta(seconds=10)
    assert record(BURNED, actor="nok", ago=dt.timedelta(minutes=5)).row.at == NOW
    table = Table.objects.get()
    assert table.last_at == NOW


def test_several_events_of_one_press_have_one_time(clock: list[dt.datetime]) -> None:
    done = record_many([OPENED, BURNED], actor="nok", ago=dt.timedelta(seconds=30))
    assert {one.row.at for one in done} == {NOW - dt.timedelta(seconds=30)}


def test_a_time_in_the_line_itself_stands(clock: list[dt.datetime]) -> None:
    said = NOW - dt.timedelta(hours=1)
    line = {**OPENED, "at": said.isoformat(timespec="milliseconds")}
    assert record(line, actor="nok", ago=dt.timedelta(minutes=5)).row.at == said

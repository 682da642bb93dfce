"""Redis is told that a table has moved on only while somebody listens, and who begins to listen misses nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.conf import LazySettings

from dealing.api import news


class Broker:
    """What is asked of Redis."""

    def __init__(self) -> None:
        self.listening = 0
        self.told: list[int] = []

    def publish(self, _channel: str, table: int) -> int:
        self.told.append(table)
        return self.listening

    def pubsub(self, **_options: Any) -> Broker:
        return self

    def subscribe(self, _channel: str) -> None:
        self.listening += 1

    def get_message(self, timeout: float) -> None:
        return None


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Broker:
    settings.REDIS_URL = "redis://nowhere"
    found = Broker()
    monkeypatch.setattr(news, "_redis", lambda: found)
    return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(news.time, "monotonic", lambda: now[0])
    return now


def test_nobody_is_told_again_and_again_while_nobody_listens(broker: Broker, clock: list[float]) -> None:
    telling = news._Telling()
    for table in (1, 2, 3):
        telling.tell(table)
    assert broker.told == [1]
    clock[0] += news.NOBODY_REST + 0.01
    telling.tell(4)
    assert broker.told == [1, 4]


def test_who_listens_is_told_each_time(broker: Broker) -> None:
    broker.listening = 1
    telling = news._Telling()
    for table in (1, 2, 3):
        telling.tell(table)
    assert broker.told == [1, 2, 3]


def test_who_begins_to_listen_looks_again_after_what_may_not_have_been_told(broker: Broker, clock: list[float]) -> None:
    told, stopping = news._Told(), threading.Event()
    assert told.wait(stopping) is None  # look at all tables: from here on one listens
    assert told.wait(stopping) == set()
    clock[0] += news.NOBODY_REST + 0.01  # nobody rests for longer
    assert told.wait(stopping) == set()
    clock[0] += news.NOBODY_REST
    assert told.wait(stopping) is None
    assert told.wait(stopping) == set()

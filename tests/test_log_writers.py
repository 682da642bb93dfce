"""Several writers at one table take turns: no gap, no double, no lost event."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from dealing.log import Conflict, record, record_many
from dealing.models import Table, TableEvent
from dealing.projections import differences
from dealing.verify import verify_table
from tests.conftest import MakeTable
from tests.table_logs import Lines

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*jobs: Callable[[], object]) -> list[object]:
    """Run the jobs in threads that start together; what each gave or raised."""
    barrier = Barrier(len(jobs))

    def run(job: Callable[[], object]) -> object:
        try:
            barrier.wait(timeout=30)
            return job()
        except Exception as error:  # noqa: BLE001  # it is the answer
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def bets(seat: int, count: int) -> Callable[[], object]:
    def job() -> int:
        for _ in range(count):
            line = {
                "event": "bet",
                "table": "B07",
                "shoe": 1,
                "hand": 1,
                "seat": seat,
                "bet": "banker",
                "stake": "10.00",
            }
            record(line, actor=f"seat-{seat}")
        return count

    return job


@pytest.fixture
def lines(table: MakeTable) -> Lines:
    table("B07")
    lines = Lines()
    record_many([*lines.open(), lines.line("betting_opened", 1)], actor="somchai")
    return lines


def test_writers_at_one_table_take_turns(lines: Lines) -> None:
    assert at_once(*(bets(seat, 12) for seat in (1, 2, 3, 4))) == [12, 12, 12, 12]
    assert list(TableEvent.objects.order_by("seq").values_list("seq", flat=True)) == list(range(1, 4 + 48 + 1))
    assert verify_table("B07").broken is None
    assert list(differences(Table.objects.get())) == []
    for seat in (1, 2, 3, 4):
        assert TableEvent.objects.filter(actor=f"seat-{seat}").count() == 12


def test_of_two_who_saw_the_same_head_one_is_told(lines: Lines) -> None:
    def card(name: str) -> Callable[[], object]:
        line = {"event": "card", "table": "B07", "shoe": 1, "hand": 1, "to": "P1", "card": name}
        return lambda: record(line, actor=name, expected_seq=4).row.seq

    answers = at_once(card("9h"), card("8h"))
    assert sorted(str(answer) for answer in answers) == ["5", "seq: the table's log is at position 5 by now, not at 4"]
    assert sum(isinstance(answer, Conflict) for answer in answers) == 1
    assert TableEvent.objects.count() == 5


def test_the_same_key_from_two_sides_at_once(lines: Lines) -> None:
    line = lines.line("betting_closed", 1, key="k1")
    answers = at_once(*[lambda: record(line, actor="d").duplicate] * 4)
    assert sorted(map(str, answers)) == ["False", "True", "True", "True"]
    assert TableEvent.objects.count() == 5


def test_writers_at_different_tables(lines: Lines, table: MakeTable) -> None:
    table("B08")

    def other() -> int:
        own = Lines("B08")
        for line in [*own.open(), *own.hand(1)]:
            record(line, actor="other")
        return 10

    assert at_once(bets(1, 10), other) == [10, 10]
    assert verify_table("B07").broken is None
    assert verify_table("B08").broken is None

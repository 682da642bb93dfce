"""What a process keeps of a table between two events comes to the same as reading it again, whoever wrote meanwhile."""

from __future__ import annotations

import random
import threading
from itertools import islice
from typing import Any

import pytest
from django.db import connection, transaction

from dealing import kept, log
from dealing.log import Writer, record, record_many
from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.projections import differences, rebuild_table
from dealing.rules.events import Event, EventError, event_as_dict
from dealing.simulator import simulate_shoe
from tests.conftest import MakeTable
from tests.servers import until_waiting
from tests.table_logs import START, simulated

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


class Processes:
    """Two processes, as far as what each keeps is concerned."""

    def __init__(self) -> None:
        self.taken = 0
        self._both = (kept.Keeping(), kept.Keeping())
        self.now = self._both[0]

    def change_to(self, number: int) -> None:
        self.now = self._both[number]

    def take(self, code: str) -> kept.Kept | None:
        return self.now.take(code)

    def keep(self, one: kept.Kept) -> None:
        self.now.keep(one)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    two = Processes()
    monkeypatch.setattr(log, "KEEPING", two)
    take_kept = Writer._take_kept

    def counted(self: Writer, *given: Any) -> Any:
        two.taken += 1
        return take_kept(self, *given)

    monkeypatch.setattr(Writer, "_take_kept", counted)
    return two


def dealt(code: str, shoes: int, seed: int) -> list[Event]:
    return simulated(code, shoes, seed, hands=6, ruleset="commission")


def test_what_is_kept_is_what_would_be_read(processes: Processes, table: MakeTable) -> None:
    at = table("K01")
    events = dealt("K01", 2, 7)
    for event in events:
        record(event, actor="nok")
    # All but what comes after an amendment, and the first events of a shoe and of a hand that is new.
    assert processes.taken > len(events) * 0.8
    assert not list(differences(at))


@pytest.mark.parametrize("seed", [1, 2])
def test_two_processes_that_take_turns(processes: Processes, table: MakeTable, seed: int) -> None:
    made, left, chance = table("K03"), iter(dealt("K03", 2, seed)), random.Random(seed)
    for _ in range(40):
        processes.change_to(chance.randrange(2))
        some = list(islice(left, chance.randrange(1, 6)))
        if chance.random() < 0.3:
            record_many(some, actor="nok")
        else:
            for event in some:
                record(event, actor="nok")
    assert processes.taken > 20
    assert not list(differences(made))


@pytest.fixture
def begun(processes: Processes, table: MakeTable) -> tuple[Table, list[Event]]:
    """A table whose last event this process has kept, in the middle of a hand; and what comes next."""
    made, events = table("K02"), simulate_shoe("K02", 1, "commission", 3, START, {})
    for event in events[:9]:
        record(event, actor="nok")
    assert processes.taken
    processes.taken = 0
    return made, events[9:]


def test_nothing_that_was_rolled_back_is_kept(processes: Processes, begun: tuple[Table, list[Event]]) -> None:
    table, events = begun
    with transaction.atomic():
        record(events[0], actor="nok")
        transaction.set_rollback(True)
    with pytest.raises(EventError):
        record_many([events[0], events[0]], actor="nok")
    taken = processes.taken
    record(events[0], actor="nok")
    assert processes.taken == taken
    record(events[1], actor="nok")
    assert processes.taken == taken + 1
    assert not list(differences(table))


@pytest.mark.parametrize("model", [Shoe, Hand])
def test_rows_that_somebody_changed_are_read_again(
    processes: Processes, begun: tuple[Table, list[Event]], model: type[Shoe | Hand]
) -> None:
    table, events = begun
    for row in model.objects.all():
        type(row).objects.filter(pk=row.pk).update(has_findings=row.has_findings)  # another version, though the same
    record(events[0], actor="nok")
    assert not processes.taken
    # A rebuild that finds the rows wrong puts them right under what is kept.
    model.objects.update(audit={})
    processes.change_to(1)
    rebuild_table(table.code)
    processes.change_to(0)
    record(events[1], actor="nok")
    assert not processes.taken
    assert not list(differences(table))


def test_an_answer_that_is_held_does_not_change_with_the_next_event(
    processes: Processes, begun: tuple[Table, list[Event]]
) -> None:
    _table, events = begun
    first = record(events[0], actor="nok")
    assert first.hand is not None
    assert first.trail is not None
    before = (first.hand.last_seq, first.shoe.last_seq, first.hand.audit, len(first.trail))
    record(events[1], actor="nok")
    assert processes.taken == 2
    assert (first.hand.last_seq, first.shoe.last_seq, first.hand.audit, len(first.trail)) == before


def test_who_waited_for_the_lock_does_not_believe_what_was_before(
    processes: Processes, begun: tuple[Table, list[Event]]
) -> None:
    """The key is there by the time that the lock is had, and so is another version of the shoe."""
    table, events = begun
    seen: list[Any] = []

    def wait() -> None:
        try:
            with transaction.atomic():
                seen.append(log.lock_table(table.code, "the-key"))
        finally:
            connection.close()

    with transaction.atomic():
        found = log.lock_table(table.code, "the-key")
        assert found is not None
        assert found[1] is not None
        assert not found[1].known
        waiting = threading.Thread(target=wait)
        waiting.start()
        until_waiting()
        record({**_line(events[0]), "key": "the-key"}, actor="nok")
    waiting.join(20)
    locked, beside = seen[0]
    assert (locked.last_seq, beside) == (10, None)
    with transaction.atomic():
        found = log.lock_table(table.code, "the-key")
        assert found is not None
        assert found[1] is not None
        assert found[1].known


def _line(event: Event) -> dict[str, Any]:
    return dict(event_as_dict(event))


def test_the_tables_used_last_are_kept(processes: Processes, table: MakeTable) -> None:
    few = kept.Keeping(most=2)
    processes.now = few
    for code in ("K11", "K12", "K13"):
        table(code)
        events = simulate_shoe(code, 1, "commission", 3, START, {})
        record_many(events[:2], actor="nok")
        record(events[2], actor="nok")
    assert len(few) == 2
    assert few.take("K11") is None
    assert few.take("K13") is not None
    assert TableEvent.objects.count() == 9

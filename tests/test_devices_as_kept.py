"""What a device records by one statement, on the strength of what this process has kept, comes to the same as ever."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DataError, connection, connections, transaction
from django.test import Client
from django.utils import timezone

from dealing import kept, log, rows
from dealing.devices import keys
from dealing.devices.models import Device, DeviceKey
from dealing.log import NotAsKept, Writer, record
from dealing.models import Hand, Shoe, Table, TableEvent, Venue
from dealing.projections import differences, rebuild_table
from dealing.rules.events import event_as_dict
from dealing.signals import event_matters, event_recorded, event_written
from dealing.simulator import USUAL_RATES, Mistakes, simulate_shoe
from dealing.verify import verify_table
from incidents.models import Incident
from tests.conftest import MakeTable
from tests.servers import until_waiting
from tests.table_logs import START

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

Line = dict[str, Any]


class House:
    """A table with a device, and how many of its events were written by one statement alone."""

    def __init__(self, table: Table, device: Device, key: DeviceKey, text: str) -> None:
        self.table, self.device, self.key, self.text = table, device, key, text
        self.client = Client()
        self.written = 0

    def post(self, line: Line | str, client: Client | None = None) -> tuple[int, Any]:
        answer = (client or self.client).post(
            f"/api/v1/tables/{self.table.code}/events/",
            line,
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.text}"},
        )
        return answer.status_code, answer.json()

    def by_one_statement(self, line: Line) -> bool:
        before = self.written
        status, said = self.post(line)
        assert status == 201, said
        return self.written > before


def make_device(table: Table, code: str) -> Device:
    device = Device.objects.create(
        venue=table.venue, code=code, supervises=True, created_at=timezone.now(), created_by="kanya"
    )
    device.tables.set([table])
    return device


@pytest.fixture
def house(table: MakeTable, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr(log, "KEEPING", kept.Keeping())
    made = table("B07")
    device = make_device(made, "SHOE-1")
    key, text = keys.make_key(device, "kanya")
    here = House(made, device, key, text)

    def count(**_signal: object) -> None:
        here.written += 1

    event_written.connect(count)
    yield here
    event_written.disconnect(count)


def dealt(seed: int = 1, mistakes: Mistakes = ()) -> list[Line]:
    events = simulate_shoe("B07", 1, "commission", seed, START, mistakes, hands=8)
    lines = [dict(event_as_dict(event)) for event in events]
    for n, line in enumerate(lines, 1):
        del line["at"]
        line["key"] = f"k-{n}"
    return lines


@pytest.fixture
def begun(house: House) -> tuple[House, Iterator[Line]]:
    """In the middle of a hand, with everything kept."""
    lines = iter(dealt())
    for _ in range(9):
        assert house.post(next(lines))[0] == 201
    assert house.by_one_statement(next(lines))
    return house, lines


def whole(house: House, events: int) -> None:
    table = Table.objects.get(pk=house.table.pk)
    assert table.last_seq == TableEvent.objects.filter(table=table).count() == events
    assert not list(differences(table))
    assert verify_table("B07").broken is None


def test_a_shoe_goes_in_by_one_statement_an_event(house: House) -> None:
    lines = dealt()
    for line in lines:
        assert house.post(line)[0] == 201
    # All but the opening of the shoe, what comes right after it, and what ends it.
    assert house.written >= len(lines) - 8
    whole(house, len(lines))


def test_an_event_costs_one_statement(begun: tuple[House, Iterator[Line]], django_assert_num_queries: Any) -> None:
    house, lines = begun
    with django_assert_num_queries(1):
        assert house.post(next(lines))[0] == 201


def test_a_shoe_with_mistakes_raises_what_it_raises_the_long_way(house: House) -> None:
    rates = {name: 0.2 for name in USUAL_RATES if not name.startswith("typed")}
    lines = dealt(5, rates)
    for line in lines:
        assert house.post(line)[0] == 201
    assert len(lines) * 0.5 < house.written < len(lines)
    whole(house, len(lines))
    found = {
        (hand.shoe.number, hand.number): len(hand.audit["findings"])
        for hand in Hand.objects.select_related("shoe")
        if hand.audit["findings"]
    }
    assert found
    incidents = Incident.objects.exclude(hand_number=None).exclude(status=Incident.Status.WITHDRAWN)
    assert {(one.shoe_number, one.hand_number): one.findings.count() for one in incidents} == found


# --- a key that is no good any more ----------------------------------------------------------------------------------


def revoked(house: House) -> int:
    keys.revoke(house.key, "kanya")
    return 401


def over(house: House) -> int:
    DeviceKey.objects.filter(pk=house.key.pk).update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    return 401


def out_of_use(house: House) -> int:
    Device.objects.filter(pk=house.device.pk).update(is_active=False)
    return 401


def gone(house: House) -> int:
    house.device.delete()
    return 401


def off_the_table(house: House) -> int:
    house.device.tables.clear()
    return 404


def moved(house: House) -> int:
    other = Venue.objects.create(code="OTHER", name="Other", time_zone="Asia/Bangkok")
    Device.objects.filter(pk=house.device.pk).update(venue=other)
    return 404


CHANGES: list[Callable[[House], int]] = [revoked, over, out_of_use, gone, off_the_table, moved]


def test_what_opens_nothing_any_more_records_nothing(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    recorded = 10
    for change in CHANGES:
        status = change(house)
        written, line = house.written, next(lines)
        assert [house.post(line)[0], house.post(line)[0]] == [status, status], change.__name__
        if status == 401:  # which is said before anything else
            assert house.post("{")[0] == status
        assert house.written == written
        whole(house, recorded)
        house.device = make_device(house.table, f"SHOE-{change.__name__.upper().replace('_', '-')}")
        house.key, house.text = keys.make_key(house.device, "kanya")
        assert house.post(line)[0] == 201
        recorded += 1
        assert house.post("{")[0] == 400


def test_a_device_that_supervises_no_longer_voids_nothing(begun: tuple[House, Iterator[Line]]) -> None:
    house, _lines = begun
    Device.objects.filter(pk=house.device.pk).update(supervises=False)
    void = {"event": "voided", "shoe": 1, "hand": 1, "scope": "hand", "reason": "x", "key": "v-1"}
    status, said = house.post(void)
    assert status == 403, said
    Device.objects.filter(pk=house.device.pk).update(supervises=True)
    assert house.post(void)[0] == 201  # what was kept says it may not, and is not believed
    whole(house, 11)


def test_the_use_of_a_key_is_noted_once_a_minute(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    long_ago = timezone.now() - keys.USED_EVERY * 2
    DeviceKey.objects.filter(pk=house.key.pk).update(last_used_at=long_ago)
    assert not house.by_one_statement(next(lines))
    house.key.refresh_from_db()
    assert house.key.last_used_at is not None
    assert house.key.last_used_at > long_ago
    assert house.by_one_statement(next(lines))


# --- a table that has moved on ---------------------------------------------------------------------------------------


def test_what_another_process_recorded_comes_first(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setattr(log, "KEEPING", kept.Keeping())
        record(next(lines), actor="nok")
    assert not house.by_one_statement(next(lines))
    assert house.by_one_statement(next(lines))
    whole(house, 13)


def test_the_same_key_again_is_the_same_event(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    line = next(lines)
    assert house.by_one_statement(line)
    status, said = house.post(line)
    assert (status, said["events"][0]["duplicate"], said["events"][0]["seq"]) == (200, True, 11)
    assert house.post({**line, "key": "k-1"})[0] == 409
    whole(house, 11)


def test_a_refused_event_is_refused_and_nothing_is_lost(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    status, said = house.post({"event": "betting_opened", "shoe": 5, "hand": 1, "key": "x"})
    assert (status, said["key"]) == (422, "x")
    assert house.post(next(lines))[0] == 201
    whole(house, 11)


def test_rows_that_somebody_changed_are_read_again(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    models: list[Any] = [Shoe, Hand, Table, Venue]
    for model in models:
        row = model.objects.last()
        model.objects.filter(pk=row.pk).update(id=row.pk)  # another version, though the same
        assert not house.by_one_statement(next(lines)), model
        assert house.by_one_statement(next(lines)), model
    rebuild_table("B07")
    assert not house.by_one_statement(next(lines))
    whole(house, 19)


def test_the_time_is_that_of_the_zone_that_the_house_has_now(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    Venue.objects.update(time_zone="Asia/Tokyo")
    _status, said = house.post(next(lines))
    assert said["events"][0]["at"].endswith("+09:00")


def test_of_two_that_believe_the_same_one_goes_the_long_way(begun: tuple[House, Iterator[Line]]) -> None:
    """Who comes later waits for the row that the other has changed, and sees that it is not what was kept."""
    house, lines = begun
    line, still = next(lines), keys.kept(house.text)
    assert still is not None
    writer = Writer.as_kept("B07", "device:SHOE-1", lambda *_any: None, still[1])
    writer.append(log.parse_event({"at": "2026-01-01T00:00:00.000+07:00", **line}), stamp=True)
    held, waiting = connections.create_connection("default"), []
    try:
        held.set_autocommit(False)
        with held.cursor() as cursor:
            cursor.execute("UPDATE dealing_table SET name = 'changed' WHERE code = 'B07'")

        def save() -> None:
            try:
                writer.save()
                waiting.append("written")
            except NotAsKept:
                waiting.append("not as kept")
            finally:
                connection.close()

        thread = threading.Thread(target=save)
        thread.start()
        until_waiting()
        held.commit()
        thread.join(20)
    finally:
        held.close()
    assert waiting == ["not as kept"]
    assert TableEvent.objects.count() == 10
    assert house.post(line)[0] == 201
    whole(house, 11)


# --- what has to be written with it ----------------------------------------------------------------------------------


def test_what_matters_to_somebody_goes_the_long_way(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    told: list[Any] = []

    def matters(**signal: Any) -> bool:
        return bool(signal["row"].seq == 11)

    def receive(**signal: Any) -> None:
        told.append(signal["row"].seq)

    event_matters.connect(matters)
    event_recorded.connect(receive)
    try:
        assert not house.by_one_statement(next(lines))
        assert house.by_one_statement(next(lines))
    finally:
        event_matters.disconnect(matters)
        event_recorded.disconnect(receive)
    assert told == [11]
    whole(house, 12)


def test_a_connection_that_broke_meanwhile_is_made_again(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    other = connections.create_connection("default")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    finally:
        other.close()
    connection.health_check_done = False  # type: ignore[attr-defined]  # as at the beginning of a request
    assert house.by_one_statement(next(lines))
    whole(house, 11)


def test_in_a_transaction_it_is_recorded_the_long_way(begun: tuple[House, Iterator[Line]]) -> None:
    house, lines = begun
    with transaction.atomic():
        assert not house.by_one_statement(next(lines))
        transaction.set_rollback(True)
    whole(house, 10)


# --- rows.save_where -------------------------------------------------------------------------------------------------


def test_nothing_is_written_where_the_condition_does_not_hold(house: House) -> None:
    table = house.table
    table.name = "Dragon"
    new = Shoe(table=table, number=1, ruleset="commission", decks=8, opened_at=START, first_seq=1, last_seq=1)
    assert rows.save_where(table, ["name"], ("code = %s", ["X"]), [(new, None)]) is None
    assert not Shoe.objects.exists()
    assert Table.objects.get().name != "Dragon"
    written = rows.save_where(table, ["name"], ("code = %s", ["B07"]), [(new, None)])
    assert written is not None
    assert [row for row, _version in written] == [table, new]
    assert Shoe.objects.get() == new
    assert Table.objects.get().name == "Dragon"


def test_what_is_too_long_is_refused_and_not_cut(house: House) -> None:
    new = Shoe(table=house.table, number=1, ruleset="r" * 65, decks=8, opened_at=START, first_seq=1, last_seq=1)
    with pytest.raises(DataError):
        rows.save_where(house.table, ["name"], ("TRUE", []), [(new, None)])
    assert not Shoe.objects.exists()

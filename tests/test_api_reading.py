"""Reading tables, shoes, hands, the log and findings through the API: what the log says, in pages, for who may."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from dealing.chain import row_hash
from dealing.log import record
from dealing.models import Hand, Shoe, TableEvent
from dealing.rules.events import format_event
from dealing.verify import verify_table
from tests.api_house import ApiHouse, read, read_all, standing_house
from tests.table_logs import written

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: Any) -> Iterator[ApiHouse]:
    with standing_house(django_db_blocker) as house:
        yield house


@pytest.fixture
def reader(client: Client, house: ApiHouse) -> Client:
    client.force_login(house.people("auditor"))
    return client


def audited(house: ApiHouse, code: str, tmp_path: Any) -> list[dict[str, Any]]:
    """What `audit_log --json` prints of the table's log."""
    file = tmp_path / "log.jsonl"
    file.write_text(written(house.logs[code]))
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("audit_log", str(file), json=True, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


# What is answered.


def test_a_hand_is_what_audit_log_prints_and_when_it_was(reader: Client, house: ApiHouse, tmp_path: Any) -> None:
    printed = audited(house, "B07", tmp_path)
    hands = [one for one in printed if one["hand"] is not None]
    shoes = [one for one in printed if one["hand"] is None]
    assert sum(bool(one["findings"]) for one in hands) > 3
    for one in hands:
        answer = read(reader, f"tables/B07/shoes/{one['shoe']}/hands/{one['hand']}/")
        assert {name: answer[name] for name in one} == one
        row = Hand.objects.get(shoe__table__code="B07", shoe__number=one["shoe"], number=one["hand"])
        assert dt.datetime.fromisoformat(answer["started_at"]) == row.started_at
        assert answer["started_at"].endswith("+07:00"), "the clock of the house"
        assert (answer["first_seq"], answer["last_seq"]) == (row.first_seq, row.last_seq)
    for one in shoes:
        answer = read(reader, f"tables/B07/shoes/{one['shoe']}/")
        assert {name: answer[name] for name in one} == one
    listed = read_all(reader, "hands/", table="B07")
    assert [(one["shoe"], one["hand"]) for one in listed] == [(one["shoe"], one["hand"]) for one in hands[::-1]]
    assert listed[0] == read(reader, listed[0]["links"]["self"])


def test_the_log_is_answered_as_it_is_exported_and_can_be_checked(reader: Client, house: ApiHouse) -> None:
    rows = read_all(reader, "tables/B07/events/", page_size=30)
    assert [row["line"] for row in rows] == [format_event(event) for event in house.logs["B07"]]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    before = sha256(b"baccarat-audit table log 1\nB07").hexdigest()
    for row in rows:
        assert row["prev_hash"] == before
        at = dt.datetime.fromisoformat(row["recorded_at"])
        before = row_hash(before, row["seq"], row["line"], row["actor"], at)
        assert row["hash"] == before
        assert row["event"] == json.loads(row["line"])
    head = read(reader, "tables/B07/")["head"]
    assert (head["seq"], head["hash"]) == (len(rows), before)
    assert read(reader, "tables/B07/events/7/") == rows[6]


def test_every_finding_is_listed_once_the_newest_first(reader: Client, house: ApiHouse, tmp_path: Any) -> None:
    expected = [
        (one["shoe"], one["hand"], finding) for one in audited(house, "B07", tmp_path) for finding in one["findings"]
    ]
    names = expected[0][2].keys()
    for size in (1, 3, 200):
        found = read_all(reader, "findings/", table="B07", page_size=size)
        said = [(one["shoe"], one["hand"], {name: one[name] for name in names}) for one in found]
        assert sorted(said, key=repr) == sorted(expected, key=repr)
        assert said == [(one["shoe"], one["hand"], {name: one[name] for name in names}) for one in found]
    began = [one["hand"] for one in found if one["shoe"] == 2 and one["hand"]]
    assert began == sorted(began, reverse=True)
    times = {event.seq: event.at for event in TableEvent.objects.filter(table__code="B07")}
    for one in found:
        assert dt.datetime.fromisoformat(one["at"]) == times[one["seq"][0]]
        if one["hand"]:
            assert one["code"] in [finding["code"] for finding in read(reader, one["links"]["hand"])["findings"]]
        else:
            assert one["links"]["hand"] is None


def test_pages_of_findings_lead_back_as_they_led_on(reader: Client, house: ApiHouse) -> None:
    pages, data = [], read(reader, "findings/", page_size=3)
    assert data["previous"] is None
    while True:
        pages.append(data["results"])
        if data["next"] is None:
            break
        data = read(reader, data["next"])
    assert len(pages) > 2
    for page in pages[-2::-1]:
        data = read(reader, data["previous"])
        assert data["results"] == page
    assert data["previous"] is None or read(reader, data["previous"])["results"] == []


@pytest.mark.parametrize("chunk", [2, 3])
def test_findings_that_few_hands_have_are_found_all_the_same(
    reader: Client, house: ApiHouse, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    everything = read_all(reader, "findings/")
    monkeypatch.setattr("dealing.api.findings.CHUNK", chunk)
    monkeypatch.setattr("dealing.api.findings.ROUNDS", 2)
    assert read_all(reader, "findings/") == everything
    for name in ("code", "state", "ruling"):
        value = everything[-1][name]
        expected = [one for one in everything if one[name] == value]
        assert read_all(reader, "findings/", **{name: value}) == expected
        assert 0 < len(expected) < len(everything)
    rule = next(one["rules"][0] for one in everything if one["rules"])
    assert read_all(reader, "findings/", rule=rule) == [one for one in everything if rule in one["rules"]]


def test_a_table_says_what_it_is_doing(reader: Client, house: ApiHouse) -> None:
    tables = read(reader, "tables/")["results"]
    assert [one["code"] for one in tables] == ["B07", "B08", "B09"]
    shoe = Shoe.objects.filter(table__code="B07").order_by("-number")[0]
    assert tables[0]["now"]["shoe"] == shoe.number
    assert tables[0]["now"]["hand"] == shoe.hand_set.order_by("-number")[0].number
    assert read(reader, "tables/B07/") == tables[0]
    for name, address in tables[0]["links"].items():
        if name != "page":
            read(reader, address)


# Filters.


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ({"winner": "banker"}, lambda one: one["result"] is not None and one["result"]["winner"] == "banker"),
        ({"status": "closed"}, lambda one: one["status"] == "closed"),
        ({"has_findings": "true"}, lambda one: bool(one["findings"])),
        ({"has_findings": "false"}, lambda one: not one["findings"]),
        ({"table": "B08"}, lambda one: one["table"] == "B08"),
        ({"table": "B07", "shoe": 2}, lambda one: (one["table"], one["shoe"]) == ("B07", 2)),
        ({"venue": "RIVER"}, lambda one: True),
        ({"venue": "HILL"}, lambda one: False),
        ({"table": "X01"}, lambda one: False),
    ],
)
def test_hands_are_filtered(reader: Client, house: ApiHouse, query: dict[str, Any], fits: Any) -> None:
    everything = read_all(reader, "hands/")
    assert read_all(reader, "hands/", **query) == [one for one in everything if fits(one)]


def test_times_bound_a_list(reader: Client, house: ApiHouse) -> None:
    hands = read_all(reader, "hands/", table="B07")
    first, last = hands[-3]["started_at"], hands[2]["started_at"]
    assert read_all(reader, "hands/", table="B07", **{"from": first, "to": last}) == hands[3:-2]
    rows = read_all(reader, "tables/B07/events/")
    start, end = rows[20]["event"]["at"], rows[90]["event"]["at"]
    expected = [row for row in rows if start <= row["event"]["at"] < end]
    assert read_all(reader, "tables/B07/events/", **{"from": start, "to": end}) == expected
    assert read_all(reader, "tables/B07/events/", to="2000-01-01T00:00:00Z") == []
    assert read_all(reader, "tables/B07/events/", **{"from": "2100-01-01T00:00:00Z"}) == []


def test_events_are_filtered(reader: Client, house: ApiHouse) -> None:
    rows = read_all(reader, "tables/B07/events/")
    for query, name, value in (
        ({"shoe": 2}, "shoe", 2),
        ({"shoe": 1, "hand": 3}, "hand", 3),
        ({"event": "card"}, "event", "card"),
    ):
        found = read_all(reader, "tables/B07/events/", **query)
        assert found
        assert found == [
            row
            for row in rows
            if row["event"].get(name) == value and row["event"]["shoe"] == query.get("shoe", row["event"]["shoe"])
        ]
    assert read_all(reader, "tables/B07/events/", after=10, before=14) == rows[10:13]


@pytest.mark.parametrize(
    ("address", "query", "field"),
    [
        ("hands/", {"tabel": "B07"}, "tabel"),
        ("hands/", {"table": "b07"}, "table"),
        ("hands/", {"winner": "house"}, "winner"),
        ("hands/", {"has_findings": "perhaps"}, "has_findings"),
        ("hands/", {"from": "yesterday"}, "from"),
        ("hands/", {"from": "2026-07-12T00:00:00Z", "to": "2026-07-11T00:00:00Z"}, "to"),
        ("hands/", {"page_size": "0"}, "page_size"),
        ("hands/", {"cursor": "x"}, "cursor"),
        ("hands/", {"cursor": "WzAsIngiLDFd"}, "cursor"),
        ("hands/?table=B07&table=B08", {}, "table"),
        ("shoes/", {"status": "voided"}, "status"),
        ("tables/", {"in_use": "1"}, "in_use"),
        ("tables/B07/events/", {"event": "card_dealt"}, "event"),
        ("tables/B07/events/", {"format": "xml"}, "format"),
        ("findings/", {"code": "fifth"}, "code"),
        ("findings/", {"cursor": "WzAsIngiLDFd"}, "cursor"),
    ],
)
def test_a_filter_that_will_not_do_is_named(
    reader: Client, house: ApiHouse, address: str, query: dict[str, Any], field: str
) -> None:
    data = read(reader, address, 400, **query)
    assert data["type"] == "/api/v1/problems/#invalid"
    assert list(data["errors"]) == [field]
    assert data["errors"][field][0]


# Pages.


def test_pages_lead_on_and_back_and_stay_right_while_hands_come(reader: Client, house: ApiHouse) -> None:
    everything = read_all(reader, "hands/")
    data = read(reader, "hands/", page_size=3)
    seen = [data]
    number = 0
    while data["next"]:
        number += 1
        record(
            {"event": "shoe_opened", "table": "B08", "shoe": 10 + number, "ruleset": "insurance"}
            if number % 2
            else {"event": "betting_opened", "table": "B08", "shoe": 9 + number, "hand": 1},
            actor="nok",
        )
        data = read(reader, data["next"])
        seen.append(data)
    assert number > 3
    assert [one for page in seen for one in page["results"]] == everything
    for page in seen[-2::-1]:
        data = read(reader, data["previous"])
        assert data["results"] == page["results"]
    newer = read(reader, data["previous"])
    assert [one["table"] for one in newer["results"]] == ["B08"] * len(newer["results"])
    assert newer["results"], "what was recorded since stands before the first page"


# Who may.


ADDRESSES = (
    "tables/",
    "tables/B07/",
    "tables/B07/events/",
    "tables/B07/events/1/",
    "tables/B07/shoes/1/",
    "tables/B07/shoes/1/hands/1/",
    "shoes/",
    "hands/",
    "findings/",
)
LATER = ("incidents/", "decisions/")


def test_everybody_with_a_role_reads_and_nobody_else(client: Client, house: ApiHouse) -> None:
    for address in ("", *ADDRESSES, *LATER):
        assert read(client, address, 401)["type"] == "/api/v1/problems/#not-logged-in"
    for group, status in ((None, 403), ("recorder", 200), ("supervisor", 200), ("manager", 200), ("auditor", 200)):
        client.force_login(house.people(group))
        for address in ("", *ADDRESSES, *LATER):
            read(client, address, status)


def test_another_house_is_not_there(client: Client, house: ApiHouse) -> None:
    member = house.people("manager", "hill").staff_member
    member.venue = house.other
    member.save()
    client.force_login(member.user)
    for address in ADDRESSES:
        if "B07" in address:
            missing = read(client, address.replace("B07", "NONE"), 404)["detail"]
            assert read(client, address, 404)["detail"] == missing.replace("NONE", "B07")
    assert [one["code"] for one in read_all(client, "tables/")] == ["X01"]
    for address in ("shoes/", "hands/", "findings/"):
        assert {one["table"] for one in read_all(client, address)} == {"X01"}
        assert read_all(client, address, table="B07") == []
        assert read_all(client, address, venue="RIVER") == []


def test_a_device_reads_its_own_tables_and_nothing_else(house: ApiHouse) -> None:
    client = house.device("B07", "X01")
    for address in ADDRESSES:
        read(client, address)
        if "B07" in address:
            read(client, address.replace("B07", "B08"), 404)
            read(client, address.replace("B07", "X01"), 404)
    assert [one["code"] for one in read_all(client, "tables/")] == ["B07"]
    for address in ("shoes/", "hands/", "findings/"):
        assert {one["table"] for one in read_all(client, address)} == {"B07"}
        assert read_all(client, address, table="B08") == []
    for address in ("incidents/", "decisions/", "reports/", f"incidents/{house.decision.incident_id}/"):
        assert read(client, address, 403)["type"] == "/api/v1/problems/#not-allowed"


# What it costs.


@pytest.mark.parametrize(
    ("address", "most"),
    [
        ("tables/", 7),
        ("tables/B07/", 7),
        ("tables/B07/events/", 4),
        ("tables/B07/shoes/1/hands/1/", 4),
        ("shoes/", 3),
        ("hands/", 3),
        ("findings/", 5),
    ],
)
def test_a_question_asks_the_database_a_fixed_number_of_times(
    reader: Client, house: ApiHouse, address: str, most: int, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(most) as seen:
        data = read(reader, address)
    assert "results" not in data or len(data["results"]) > 2
    if address in ("hands/", "findings/"):
        asked = " ".join(query["sql"] for query in seen.captured_queries)
        assert '"fold"' not in asked, "the judge's own state is large and is not read"
        assert '"context"' not in asked


def test_positions_by_time_are_found_by_halving(
    reader: Client, house: ApiHouse, django_assert_max_num_queries: Any
) -> None:
    last = house.tables["B07"].last_seq
    with django_assert_max_num_queries(4 + 2 * last.bit_length()):
        read(reader, "tables/B07/events/", **{"from": "2024-11-28T13:10:00Z", "to": "2024-11-28T13:20:00Z"})


def test_the_house_of_these_tests_is_sound(house: ApiHouse) -> None:
    assert all(verify_table(code).broken is None for code in house.tables)

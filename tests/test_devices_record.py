"""Devices record through the API: one event or many, each once, in order, with the judge's word on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dealing.devices import keys
from dealing.devices.models import Device
from dealing.log import Writer, record
from dealing.models import Table, TableEvent, Venue
from dealing.rules.events import Amended
from tests.conftest import MakeTable, People

pytestmark = pytest.mark.django_db

Line = dict[str, Any]
Post = Callable[..., tuple[int, dict[str, Any]]]

PROBLEMS = "/api/v1/problems/#"


def line(name: str, n: int, *, hand: int | None = 1, shoe: int = 1, **keys: Any) -> Line:
    found: Line = {"event": name, "shoe": shoe, **({} if hand is None else {"hand": hand}), **keys}
    return {**found, "key": f"k-{n}"}


SHOE = [
    line("shoe_opened", 1, hand=None, ruleset="commission"),
    line("burn_card", 2, hand=None, card="2h"),
    line("cards_burned", 3, hand=None, count=2),
]
HAND = [
    line("betting_opened", 11),
    line("betting_closed", 12),
    line("card", 13, to="P1", card="2h"),
    line("card", 14, to="B1", card="4s"),
    line("card", 15, to="P2", card="3d"),
    line("card", 16, to="B2", card="Kc"),
]
MISTAKE = line("card", 17, to="B3", card="6h")


@pytest.fixture
def b07(table: MakeTable) -> Table:
    return table("B07")


def make_device(venue: Venue, *tables: Table, supervises: bool = True, code: str = "SHOE-1") -> str:
    made = Device.objects.create(
        venue=venue, code=code, supervises=supervises, created_at=timezone.now(), created_by="kanya"
    )
    made.tables.set(tables)
    return keys.make_key(made, "kanya")[1]


@pytest.fixture
def key(venue: Venue, b07: Table) -> str:
    return make_device(venue, b07)


@pytest.fixture
def post(client: Client, key: str) -> Post:
    def send(
        body: Any, *, key: str = key, query: str = "", code: str = "B07", kind: str = "application/json", **headers: str
    ) -> tuple[int, dict[str, Any]]:
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        answer = client.post(
            f"/api/v1/tables/{code}/events/{query}",
            data,
            content_type=kind,
            headers={"Authorization": f"Bearer {key}", **headers},
        )
        wanted = "application/json" if answer.status_code < 400 else "application/problem+json"
        assert answer["Content-Type"] == wanted
        said = answer.json()
        if answer.status_code >= 400:
            assert said["status"] == answer.status_code
            assert said["type"].startswith(PROBLEMS)
        return answer.status_code, said

    return send


def test_a_hand_event_by_event(post: Post, b07: Table) -> None:
    for n, event in enumerate([*SHOE, *HAND], 1):
        status, said = post(event)
        assert status == 201
        (answer,) = said["events"]
        row = TableEvent.objects.get(table=b07, seq=n)
        assert (answer["key"], answer["seq"], answer["hash"], answer["duplicate"]) == (event["key"], n, row.hash, False)
        assert (row.actor, row.by) == ("device:SHOE-1", "SHOE-1")
        assert not answer["raised"]
        if event["event"] == "burn_card":
            assert answer["burn_due"] == 2
    assert answer["next"] == "P3"
    status, said = post(MISTAKE, query="?settlement=true")
    assert status == 201
    (answer,) = said["events"]
    (found,) = answer["raised"]
    assert found["code"] == "fifth-card-misplaced"
    assert (found["shoe"], found["hand"], found["seq"], found["cards"]) == (1, 1, [10], ["6h"])
    assert found["rules"]
    assert found["ruling"] == answer["ruling"] == "correct"
    assert found["options"] == ["correct"]
    assert found["title"] == "Fifth card on the wrong place"
    assert answer["findings"] == answer["raised"]
    assert (answer["result"], answer["settlement"]) == (None, [])


def test_the_same_again_is_answered_as_the_first_time(post: Post, b07: Table) -> None:
    events = [*SHOE, *HAND, MISTAKE]
    _, first = post(events)
    status, again = post(events)
    assert status == 200
    assert b07.events.count() == len(events)
    assert [answer["duplicate"] for answer in again["events"]] == [True] * len(events)
    for before, now in zip(first["events"], again["events"], strict=True):
        for name in ("index", "key", "seq", "hash", "at", "raised"):
            assert before[name] == now[name]
    # What is new beside what was there.
    status, more = post([MISTAKE, line("called", 20, winner="banker")])
    assert status == 201
    assert [answer["duplicate"] for answer in more["events"]] == [True, False]


def test_a_batch_says_of_each_event_what_it_would_have_been_told_alone(
    post: Post, b07: Table, table: MakeTable
) -> None:
    events = [
        *SHOE,
        *HAND,
        MISTAKE,
        {**line("moved", 18, to="P3"), "from": "B3"},
        line("card", 19, to="B3", card="9h"),
        line("bet", 21, hand=2, seat=3, bet="banker", stake="100"),  # hand 1 was left as it was
    ]
    _, batch = post(events)
    other = table("B08")
    Device.objects.get(code="SHOE-1").tables.add(other)
    alone = [post(event, code="B08")[1]["events"][0] for event in events]
    timely = {"at", "hash", "index"}
    for one, of_batch in zip(alone, batch["events"], strict=True):
        assert {k: v for k, v in one.items() if k not in timely} == {
            k: v for k, v in of_batch.items() if k not in timely
        }
    raised = {n: [found["code"] for found in answer["raised"]] for n, answer in enumerate(batch["events"])}
    assert {n: codes for n, codes in raised.items() if codes} == {
        9: ["fifth-card-misplaced"],
        12: ["hand-incomplete"],
    }
    left = batch["events"][12]
    assert (left["raised"][0]["hand"], left["findings"]) == (1, [])


def test_a_finding_that_comes_up_with_a_card_turned_later_is_raised_by_that(post: Post, b07: Table) -> None:
    events = [
        *SHOE,
        *HAND[:2],
        line("card", 13, to="P1", face="down"),
        line("card", 14, to="B1", card="4s"),
        line("card", 15, to="P2", card="3d"),
        line("card", 16, to="B2", card="Kc"),
        line("card", 17, to="B3", card="6h"),
        line("opened", 18, place="P1", card="2h"),
    ]
    _, said = post(events)
    _, again = post(events)
    for answers in (said["events"], again["events"]):
        assert [found["code"] for found in answers[9]["raised"]] == ["opened-out-of-turn"]
        assert [found["code"] for found in answers[10]["raised"]] == ["fifth-card-misplaced"]


def test_the_first_refused_event_ends_a_batch_and_what_came_before_is_stored(post: Post, b07: Table) -> None:
    twice = line("card", 99, to="P1", card="9h")
    status, said = post([*SHOE, *HAND[:3], twice, *HAND[3:]], **{"Accept-Language": "en"})
    assert status == 422
    assert said["type"] == f"{PROBLEMS}refused"
    assert (said["index"], said["key"], said["field"], said["code"]) == (6, "k-99", "to", "occupied")
    assert said["reason"] == "P1 already holds 2h"
    assert said["detail"] == "to: P1 already holds 2h"
    assert said["not_tried"] == 3
    assert [answer["seq"] for answer in said["recorded"]] == [1, 2, 3, 4, 5, 6]
    assert [row.key for row in b07.events.order_by("seq")] == ["k-1", "k-2", "k-3", "k-11", "k-12", "k-13"]
    # Taken off or put right, the queue goes on where it was.
    status, said = post(HAND[2:])
    assert status == 201
    assert [answer["seq"] for answer in said["events"]] == [6, 7, 8, 9]


def test_an_event_that_is_none_names_its_key_in_the_readers_language(post: Post, b07: Table) -> None:
    post(SHOE)
    bad: list[tuple[Any, str, str]] = [
        ({**HAND[0], "event": "dance"}, "event", "unknown-event"),
        ({**HAND[0], "key": None}, "key", "key-needed"),
        ({k: v for k, v in HAND[0].items() if k != "key"}, "key", "key-needed"),
        ({**HAND[0], "key": "x" * 129}, "key", "too-long"),
        ({**HAND[0], "key": "nul\0"}, "key", "not-storable"),
        ({**HAND[2], "card": "1x"}, "card", "not-a-card"),
        ({**HAND[0], "table": "B08"}, "table", "not-this-table"),
        ({**HAND[0], "ago": 5, "at": "2026-11-28T20:00:01.250+07:00"}, "ago", "ago-and-at"),
        ({**HAND[0], "ago": -1}, "ago", "not-a-number"),
        ({**HAND[0], "ago": "5"}, "ago", "not-a-number"),
        ({**HAND[0], "at": "2126-11-28T20:00:01.250+07:00"}, "at", "at-future"),
        ({**HAND[0], "at": "2000-11-28T20:00:01.250+07:00"}, "at", "at-earlier"),
        ({**HAND[0], "shoe": 10**400}, "shoe", "not-a-number"),
        (17, "event", "not-an-object"),
        ("text", "event", "not-an-object"),
    ]
    for event, field, code in bad:
        body = json.dumps([event])
        status, said = post(body, **{"Accept-Language": "en"})
        assert (status, said["field"], said["code"], said["index"]) == (422, field, code, 0), event
        assert said["recorded"] == []
    assert b07.events.count() == 3
    _, said = post({**HAND[2], "card": "1x"}, **{"Accept-Language": "th"})
    assert said["detail"] == "ไพ่: '1x' ไม่ใช่ไพ่"


def test_another_event_under_the_same_key_is_a_conflict(post: Post, b07: Table) -> None:
    post(SHOE)
    status, said = post(line("burn_card", 2, hand=None, card="3h"))
    assert status == 409
    assert (said["type"], said["key"], said["field"]) == (f"{PROBLEMS}key-used", "k-2", "key")
    assert b07.events.count() == 3


def test_the_writer_may_say_where_the_log_is_to_stand(post: Post, b07: Table) -> None:
    assert post(SHOE, query="?expected_seq=0")[0] == 201
    assert post(SHOE, query="?expected_seq=0")[0] == 200, "sent again it is there already"
    record({"event": "exposed", "table": "B07", "shoe": 1, "when": "burn"}, actor="nok")
    status, said = post(HAND, query="?expected_seq=3")
    assert status == 409
    assert (said["type"], said["seq"], said["index"], said["key"]) == (f"{PROBLEMS}conflict", 4, 0, "k-11")
    assert post(HAND, query="?expected_seq=4")[0] == 201
    status, said = post(HAND, query="?expected_seq=x")
    assert (status, list(said["errors"])) == (400, ["expected_seq"])
    status, said = post(HAND, query="?settlement=1&expect=4")
    assert (status, list(said["errors"])) == (400, ["expect"])


def test_lines_of_a_log_file(post: Post, b07: Table) -> None:
    lines = "\n".join(json.dumps(event) for event in [*SHOE, *HAND]) + "\n\n"
    status, said = post(lines, kind="application/x-ndjson")
    assert (status, len(said["events"])) == (201, 9)
    broken = json.dumps(line("card", 17, to="P3", card="6h")) + "\n{not json\n" + json.dumps(line("called", 18))
    status, said = post(broken.encode(), kind="application/x-ndjson")
    assert (status, said["index"], said["key"], said["code"], said["not_tried"]) == (422, 1, None, "not-json", 1)
    assert [answer["seq"] for answer in said["recorded"]] == [10]


def test_what_cannot_be_read_is_said_and_changes_nothing(post: Post, b07: Table, client: Client, key: str) -> None:
    for body in ("{", "", "[]", b"\xff", "[" * 100_000):
        status, said = post(body)
        assert (status, said["type"]) == (400, f"{PROBLEMS}malformed"), body[:10]
    assert post("a=b", kind="application/x-www-form-urlencoded")[0] == 415
    status, said = post([HAND[0]] * 501)
    assert (status, said["events"]) == (413, 500)
    status, said = post(b" " * (1024 * 1024 + 1))
    assert (status, said["type"]) == (413, f"{PROBLEMS}too-large")
    status, said = post("", **{"Transfer-Encoding": "chunked"})
    assert status == 411
    assert b07.events.count() == 0


def test_when_it_happened(post: Post, b07: Table) -> None:
    before = timezone.now()
    at = before.astimezone(b07.venue.zone).isoformat(timespec="milliseconds")
    post([{**SHOE[0], "ago": 60_000}, {**SHOE[1], "ago": 30_000}, {**SHOE[2], "at": at}])
    first, second, third = b07.events.order_by("seq")
    assert 59 < (before - first.at).total_seconds() < 61
    assert 29 < (second.at - first.at).total_seconds() < 31
    assert json.loads(third.payload)["at"] == at


def test_whose_hand_it_was(post: Post, b07: Table, client: Client, people: People) -> None:
    post([SHOE[0], {**SHOE[1], "by": "NOK"}])
    assert [(row.actor, row.by) for row in b07.events.order_by("seq")] == [
        ("device:SHOE-1", "SHOE-1"),
        ("device:SHOE-1", "NOK"),
    ]
    # A person with a session of the pages; the key may be left out.
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(people("recorder"))
    address = "/api/v1/tables/B07/events/"
    event = {k: v for k, v in HAND[0].items() if k != "key"}
    refused = browser.post(address, json.dumps(event), content_type="application/json")
    assert refused.status_code == 403
    assert refused.json()["type"] == f"{PROBLEMS}csrf"
    client.force_login(people("recorder"))
    answer = client.post(address, json.dumps(event), content_type="application/json")
    assert answer.status_code == 201
    row = b07.events.get(seq=3)
    assert (row.actor, row.by, row.key) == ("recorder", "RECORDER", None)
    other = client.post(address, json.dumps({**HAND[1], "by": "NOK"}), content_type="application/json")
    assert (other.status_code, other.json()["code"]) == (422, "by-another")


def test_what_a_device_may_not(
    post: Post, venue: Venue, table: MakeTable, b07: Table, client: Client, people: People
) -> None:
    plain = make_device(venue, b07, supervises=False, code="SHOE-2")
    status, said = post([SHOE[0]], key=plain)
    assert (status, said["type"], said["key"]) == (403, f"{PROBLEMS}not-allowed", "k-1")
    assert b07.events.count() == 0
    post(SHOE)
    assert post(HAND, key=plain)[0] == 201
    # The first that is not allowed ends a batch as any other refusal does.
    status, said = post([MISTAKE, line("voided", 30, scope="hand", reason="x")], key=plain)
    assert (status, said["index"], [answer["key"] for answer in said["recorded"]]) == (403, 1, ["k-17"])
    table("B09")
    for code in ("B09", "NONE", "b07"):
        status, said = post(HAND[0], code=code)
        assert (status, said["type"]) == (404, f"{PROBLEMS}not-found")
    assert post(HAND[0], key="bka_none")[0] == 401
    for group, wanted in (("auditor", 403), (None, 403)):
        client.force_login(people(group))
        answer = client.post("/api/v1/tables/B07/events/", json.dumps(HAND[0]), content_type="application/json")
        assert answer.status_code == wanted
    client.logout()
    answer = client.post("/api/v1/tables/B07/events/", json.dumps(HAND[0]), content_type="application/json")
    assert answer.status_code == 401


def test_an_amendment_says_what_it_changed(post: Post, b07: Table) -> None:
    post([*SHOE, *HAND])
    entry = {"event": "card", "shoe": 1, "hand": 1, "to": "P3", "card": "Kc"}
    wrong = {"event": "amended", "shoe": 1, "hand": 1, "seq": 9, "reason": "misread", "key": "k-40"}
    at = json.loads(b07.events.get(seq=9).payload)["at"]
    status, said = post({**wrong, "entry": {**entry, "table": "B07", "at": at}})
    assert status == 201, said
    (answer,) = said["events"]
    assert [found["code"] for found in answer["raised"]] == ["initial-card-misplaced"]
    _, again = post({**wrong, "entry": {**entry, "table": "B07", "at": at}})
    assert again["events"][0]["raised"] == answer["raised"]


def test_an_event_costs_few_statements(post: Post, b07: Table) -> None:
    post([*SHOE, *HAND[:3]])
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert post(HAND[3])[0] == 201
    statements = [one["sql"].split()[0] for one in asked.captured_queries if "SAVEPOINT" not in one["sql"]]
    # The key, the table, the key once more, shoe and hand with the idempotency key, the hand's events, and what is
    # written: on PostgreSQL one statement, on SQLite one a row.
    assert len(statements) == (6 if connection.vendor == "postgresql" else 9), asked.captured_queries
    with CaptureQueriesContext(connection) as asked:
        assert post(HAND[4:])[0] == 201
    statements = [one["sql"].split()[0] for one in asked.captured_queries if "SAVEPOINT" not in one["sql"]]
    assert len(statements) <= 12, asked.captured_queries


def test_who_waited_for_the_table_is_looked_at_again(
    post: Post, b07: Table, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key revoked, or a table taken away, while a batch waits for the table's lock: nothing of it is recorded."""
    post(SHOE)
    locking, device = Writer.locking, Device.objects.get()
    meanwhile: list[Callable[[], object]] = [device.tables.clear, lambda: keys.revoke(device.keys.get(), "kanya")]

    def after_a_wait(*given: Any) -> Writer:
        writer = locking(*given)
        meanwhile.pop(0)()
        return writer

    monkeypatch.setattr(Writer, "locking", after_a_wait)
    assert post(HAND)[0] == 404
    device.tables.set([b07])
    assert post(HAND)[0] == 401
    assert not meanwhile
    assert b07.events.count() == 3


def test_hands_that_were_left_out_are_told_and_taken(post: Post) -> None:
    post(SHOE)
    begins = [{**line("betting_opened", 100 + n, hand=n)} for n in (1, 2, 4, 99)]
    _, said = post(begins[:3])
    assert [answer.get("skipped") for answer in said["events"]] == [None, None, [3, 3]]
    _, said = post(begins[3])
    assert said["events"][0]["skipped"] == [5, 98]
    _, said = post(line("betting_closed", 200, hand=99))
    assert "skipped" not in said["events"][0]
    _, said = post([*begins[:3], begins[3]])
    assert [answer.get("skipped") for answer in said["events"]] == [None, None, [3, 3], [5, 98]]
    post(line("shoe_opened", 300, hand=None, shoe=2, ruleset="commission"))
    _, said = post(line("betting_opened", 301, shoe=2, hand=3))
    assert said["events"][0]["skipped"] == [1, 2]


def test_an_entry_put_right_keeps_its_time_and_who_saw_it_where_none_is_given(post: Post, b07: Table) -> None:
    post([*SHOE, *HAND, {**MISTAKE, "by": "LEK"}])
    entry = {"event": "card", "shoe": 1, "hand": 1, "to": "P3", "card": "6h"}
    change = line("amended", 30, seq=10, reason="typo", entry=entry)
    status, said = post([change, {**change, "key": "k-31", "seq": 999}])
    assert (status, said["code"]) == (422, "no-entry")
    before, kept = (b07.events.get(seq=seq).parse() for seq in (10, 11))
    assert isinstance(kept, Amended)
    assert kept.entry is not None
    assert kept.entry.at == before.at
    assert (kept.entry.by, kept.entry.table) == ("LEK", "B07")
    assert post(change)[0] == 200, "sent again it is the same"


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ('{"event": "card", "shoe" 1}', 400, "(byte "),
        ("17", 400, "The body is neither a JSON object nor an array of such."),
        ("[17]", 422, "event: one JSON object a line is wanted"),
        ('{"event": "cut_card", "shoe": 1, "key": "x", "shoe": 2}', 400, "shoe: stands there twice"),
        ('[{"event": "amended", "entry": {"to": "P1", "to": "P2"}}]', 400, "to: stands there twice"),
    ],
)
def test_what_is_wrong_with_a_body_is_said_whole(post: Post, body: str, status: int, detail: str) -> None:
    found, said = post(body, **{"Accept-Language": "en"})
    assert found == status
    assert detail in said["detail"]


def test_a_line_with_a_member_twice_ends_the_batch_there(post: Post, b07: Table) -> None:
    lines = [json.dumps(SHOE[0]), '{"event": "burn_card", "shoe": 1, "card": "2h", "card": "3h", "key": "b"}']
    status, said = post("\n".join(lines), kind="application/x-ndjson")
    assert (status, said["code"], said["field"], len(said["recorded"])) == (422, "repeated", "card", 1)
    assert b07.events.count() == 1


def test_a_shoe_left_behind_is_told_with_the_one_that_came_after(post: Post) -> None:
    post([*SHOE, line("shoe_opened", 20, hand=None, shoe=7, ruleset="commission")])
    status, said = post(line("betting_opened", 21))
    assert (status, said["detail"]) == (422, "shoe: shoe 1 is over: shoe 7 was opened after it")


def test_a_packed_body_is_not_taken(post: Post) -> None:
    status, said = post(SHOE, **{"Content-Encoding": "gzip"})
    assert status == 415
    assert "Content-Encoding: gzip" in said["detail"]
    assert post(SHOE, **{"Content-Encoding": "identity"})[0] == 201


def test_devices_are_told_that_they_are_devices(client: Client, key: str, venue: Venue, post: Post, b07: Table) -> None:
    for address in ("incidents/", "decisions/", "reports/"):
        answer = client.get(f"/api/v1/{address}", headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == 403
        assert answer.json()["detail"].startswith("A device may not do this")
    plain = make_device(venue, b07, supervises=False, code="SHOE-2")
    assert post(SHOE, key=plain)[1]["detail"] == "Only a device that supervises may do this."
    read = client.get("/api/v1/tables/B99/", headers={"Authorization": f"Bearer {key}"})
    assert post(SHOE, code="B99")[1]["detail"] == read.json()["detail"] == "There is no table B99 here."

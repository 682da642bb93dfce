"""A day of one table, recorded through the API, on the console, and by an import: the exports are the same bytes.

All three ways write the same line for the same event. What a way does not let one choose is brought about:

* the console stamps with the server's clock, so the clock is set to each event's time; the API and an import take `at`
  as it is given, and the API would stamp the same way without it;
* the console writes the code of who is logged in as `by`, so this is that person's shift; a device may name them;
* each press, event and line carries its `key`.

Typing is put right by somebody else, for in a hand that is over it takes four eyes: another person, another device.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable
from itertools import count, groupby
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from dealing import log
from dealing.console.forms import FORMS
from dealing.devices import keys
from dealing.devices.models import Device
from dealing.exporter import export_table
from dealing.importer import import_log
from dealing.models import Table, Venue
from dealing.rules.events import Amended, Event, event_as_dict, parse_event
from dealing.simulator import USUAL_RATES, Mistake, simulate_shoe
from tests.conftest import MakeTable, People

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

HANDS = 70
START = dt.datetime(2026, 7, 11, 20, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))
Line = dict[str, Any]


def day() -> list[Line]:
    """70 hands with bets, insurance and every so often a mistake, each event with its key."""
    rates = dict.fromkeys(USUAL_RATES, 0.02) | {Mistake.CARD_IMPOSSIBLE: 0.0}
    events: list[Event] = []
    for shoe in count(1):
        left = HANDS - len({(event.shoe, event.hand) for event in events if event.hand is not None})
        if not left:
            break
        events += simulate_shoe(
            "B07",
            shoe,
            "insurance",
            26 + shoe,
            events[-1].at + dt.timedelta(minutes=5) if events else START,
            rates,
            hands=left,
            first_seq=len(events) + 1,
            late=0.0,
        )
    return [_signed(event_as_dict(event), f"d-{n}") for n, event in enumerate(events, 1)]


def _signed(line: Line, key: str) -> Line:
    """With its key, and who saw it; an entry that is put right stays theirs who made it."""
    if line["event"] != "amended":
        return {**line, "key": key, "by": "ANAN"}
    if "entry" in line:
        line = {**line, "entry": {**line["entry"], "by": "ANAN"}}
    return {**line, "key": key, "by": "MALEE"}


def exported() -> str:
    out = io.StringIO()
    export_table(Table.objects.get(code="B07"), out)
    return out.getvalue()


def values(event: Event) -> dict[str, str]:
    """What stands in the fields of the event's form."""
    return FORMS[event.name].values_of(event)


def on_the_console(lines: list[Line], people: dict[str, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    """As the console's forms post it, press by press."""
    at = START
    clock = SimpleNamespace(now=lambda: at)
    with monkeypatch.context() as patch:
        patch.setattr(log, "timezone", clock)
        for seq, line in enumerate(lines):
            event = parse_event(line)
            at = event.at
            sent: dict[str, Any] = {
                "event": event.name,
                "shoe": event.shoe,
                "key": event.key,
                "seq": seq,
                "confirmed": 1,
            }
            if event.hand is not None:
                sent["hand"] = event.hand
            if isinstance(event, Amended):
                sent |= {"entry": event.seq, "why": event.reason}
                sent |= {"withdraw": 1} if event.entry is None else values(event.entry)
            else:
                sent |= values(event)
            answer = people[line["by"]].post(
                "/tables/B07/record/", urlencode(sent), content_type="application/x-www-form-urlencoded"
            )
            assert answer.status_code == 302, (line, answer.status_code, answer.content.decode()[-3000:])


def through_the_api(lines: list[Line], devices: dict[str, str]) -> None:
    """In batches, as an offline queue does."""
    client = Client()
    for by, some in groupby(lines, key=lambda line: line["by"]):
        answer = client.post(
            "/api/v1/tables/B07/events/",
            json.dumps(list(some)),
            content_type="application/json",
            headers={"Authorization": f"Bearer {devices[by]}"},
        )
        assert answer.status_code == 201, answer.json()["detail"]


def by_an_import(lines: list[Line]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    report = import_log(io.BytesIO(text.encode()), actor="anan")
    assert report.events == len(lines)


def test_a_day_is_the_same_bytes_whichever_way_it_came(
    venue: Venue, table: MakeTable, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    b07 = table("B07", ruleset="insurance")
    devices, clients = {}, {}
    for name in ("ANAN", "MALEE"):
        made = Device.objects.create(
            venue=venue, code=f"SHOE-{name}", supervises=True, created_at=timezone.now(), created_by="kanya"
        )
        made.tables.set([b07])
        devices[name] = keys.make_key(made, "kanya")[1]
        clients[name] = Client()
        clients[name].force_login(people("supervisor", name.lower()))
    lines = day()
    assert len({(line["shoe"], line["hand"]) for line in lines if "hand" in line}) == HANDS
    kinds = {line["event"] for line in lines}
    assert {"bet", "paid", "insurance_opened", "insurance_odds", "amended", "moved", "exposed", "opened"} <= kinds
    ways: list[Callable[[], None]] = [
        lambda: on_the_console(lines, clients, monkeypatch),
        lambda: through_the_api(lines, devices),
        lambda: by_an_import(lines),
    ]
    exports = []
    for record in ways:
        with transaction.atomic():
            record()
            exports.append(exported())
            transaction.set_rollback(True)  # the next one begins with an empty log
    wanted = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    for export in exports:
        assert export.splitlines() == wanted.splitlines()  # told line by line where they are not
        assert export.encode() == wanted.encode()

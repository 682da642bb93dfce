"""What docs/devices.md tells a programmer is so: its commands, its answers, and its thirty lines of Python."""

from __future__ import annotations

import email.message
import http.client
import io
import json
import os
import re
import shlex
import subprocess
import sys
import urllib.error
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from dealing.api.problems import KINDS
from dealing.api.write import MOST_BYTES, MOST_EVENTS
from dealing.devices import keys
from dealing.devices.models import Device
from dealing.models import Table, TableEvent, Venue
from tests.conftest import MakeTable

TEXT = (Path(__file__).resolve().parent.parent / "docs" / "devices.md").read_text()


def make_key(venue: Venue, table: Table) -> str:
    made = Device.objects.create(
        venue=venue, code="SHOE-7", supervises=True, created_at=timezone.now(), created_by="kanya"
    )
    made.tables.set([table])
    return keys.make_key(made, "kanya")[1]


def commands() -> list[list[str]]:
    """The curl commands, as a shell reads them."""
    found = re.findall(r"^    (curl (?:.*\\\n)*.*)$", TEXT, re.MULTILINE)
    return [shlex.split(command.replace("\\\n", " ")) for command in found]


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_the_thirty_lines_record_a_hand_and_say_what_is_wrong(
    venue: Venue, table: MakeTable, live_server: LiveServer, tmp_path: Path
) -> None:
    b07 = table("B07")
    (program,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    environment = {**os.environ, "BACCARAT_URL": live_server.url, "BACCARAT_KEY": make_key(venue, b07)}

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program],
            timeout=30,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = run()
    assert "hand 1: Fifth card on the wrong place, correct\n" in said
    assert TableEvent.objects.filter(table=b07).count() == 8
    assert int((tmp_path / "sent").read_text()) == (tmp_path / "queue.jsonl").stat().st_size
    assert run() == said, "sent again it is the same, and nothing is recorded twice"
    assert TableEvent.objects.filter(table=b07).count() == 8


def test_the_thirty_lines_lose_nothing_whatever_becomes_of_the_wire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACCARAT_URL", "http://audit.example")
    monkeypatch.setenv("BACCARAT_KEY", "bka_any")
    shoe: dict[str, Any] = {}
    exec(program.partition('\nrecord(event="shoe_opened"')[0], shoe)
    monkeypatch.setattr(shoe["time"], "sleep", lambda _seconds: None)
    took: list[str] = []
    broken: list[Any] = [
        http.client.IncompleteRead(b""),
        io.BytesIO(b'{"events"'),
        io.BytesIO(b"<html>"),
        ConnectionResetError(),
        urllib.error.HTTPError("", 503, "", email.message.Message(), None),
    ]

    def answered(request: Any, timeout: float) -> Any:
        keys = [event["key"] for event in json.loads(request.data)]
        if broken:
            shoe["record"](event="card", key=f"while {len(broken)} is to come")
            if isinstance(one := broken.pop(0), Exception):
                raise one
            return one
        took.extend(keys)
        shoe["record"](event="card", key="while it is confirmed") if len(took) < 7 else None
        return io.BytesIO(json.dumps({"events": [{"raised": []} for _ in keys]}).encode())

    monkeypatch.setattr(shoe["urllib"].request, "urlopen", answered)
    shoe["record"](event="card", key="first")
    with Path("queue.jsonl").open("a") as queue:
        queue.write('{"event": "card", "key": "torn')
    while shoe["send"]():
        pass
    assert took == ["first", *(f"while {n} is to come" for n in (5, 4, 3, 2, 1)), "while it is confirmed"]


@pytest.mark.sqlite
@pytest.mark.django_db
def test_the_commands_are_answered_as_it_says(venue: Venue, table: MakeTable, client: Client) -> None:
    key = make_key(venue, table("B07"))
    posted: list[Any] = []
    for command in commands():
        address = re.sub(r"^https://audit\.example", "", next(part for part in command if part.startswith("https://")))
        headers = dict(command[n + 1].split(": ", 1) for n, part in enumerate(command) if part == "-H")
        assert headers["Authorization"] == "Bearer $BACCARAT_KEY"
        headers["Authorization"] = f"Bearer {key}"
        if "-d" in command:
            event = json.loads(command[command.index("-d") + 1])
            kind = headers.pop("Content-Type")
            answer = client.post(address, json.dumps(event), content_type=kind, headers=headers)
            assert answer.status_code == 201, answer.content
            posted += answer.json()["events"]
        elif "--data-binary" in command:
            body = json.dumps({"event": "cut_card", "shoe": 1, "hand": 1, "key": "x"})
            answer = client.post(address, body, content_type=headers.pop("Content-Type"), headers=headers)
            assert answer.status_code == 201, answer.content
        else:
            answer = client.get(address, headers=headers)
            assert answer.status_code == 200
            if answer.streaming:  # the feed, which is the last of them
                answer.close()
    assert len(posted) == 6
    names = ("key", "seq", "next", "status", "result", "ruling", "raised", "findings")
    shown = json.loads(re.findall(r"The answer, 201:\n\n(.*?)\n\n", TEXT, re.DOTALL)[0])
    assert set(shown["events"][0]) == set(posted[3])
    assert {name: shown["events"][0][name] for name in names} == {name: posted[3][name] for name in names}


@pytest.mark.sqlite
@pytest.mark.django_db
def test_the_refusal_is_the_one_it_shows(venue: Venue, table: MakeTable, client: Client) -> None:
    key = make_key(venue, table("B07"))
    opened = {"event": "shoe_opened", "shoe": 1, "ruleset": "commission", "key": "1"}
    card = {"event": "card", "shoe": 1, "hand": 1, "to": "P1", "card": "9h"}
    answer = client.post(
        "/api/v1/tables/B07/events/",
        json.dumps([opened, {**card, "key": "2"}, {**card, "card": "8h", "key": "3"}]),
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}", "Accept-Language": "en"},
    )
    (shown,) = (
        json.loads(text) for text in re.findall(r"^    (\{\n      \"type\".*?^    \})", TEXT, re.DOTALL | re.MULTILINE)
    )
    told = answer.json()
    for name in ("instance", "request_id"):
        told.pop(name, None)
    assert set(shown) == set(told)
    for name in ("type", "title", "status", "detail", "field", "code", "reason"):
        assert shown[name] == told[name], name


def test_every_kind_of_problem_and_every_limit_is_the_real_one() -> None:
    table = TEXT.partition("| status | type |")[2].partition("\n\n")[0]
    for row in table.splitlines()[2:]:
        statuses, kinds = row.split("|")[1:3]
        for name in re.findall(r"`([a-z-]+)`", kinds):
            assert str(KINDS[name].status) in statuses, name
    assert f"{MOST_EVENTS} events and {MOST_BYTES // 2**20} MiB at most" in TEXT

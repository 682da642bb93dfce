"""`replay_log`, the reference device: in order, each once, whatever becomes of server and wire."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from dealing.devices import keys, replay
from dealing.devices.models import Device
from dealing.exporter import export_table
from dealing.models import Table, Venue
from dealing.rules.events import format_event
from dealing.simulator import Mistake, simulate_shoe
from tests.conftest import MakeTable

ZONE = dt.timezone(dt.timedelta(hours=7))
START = dt.datetime(2026, 7, 11, 20, 0, tzinfo=ZONE)


def log_lines(table: str = "B07", hands: int = 6) -> list[str]:
    events = simulate_shoe(
        table, 1, "commission", 11, START, {Mistake.FIFTH_CARD_MISPLACED: 0.5}, hands=hands, by="SHOE-1"
    )
    return [format_event(event) for event in events]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "b07.jsonl"
    path.write_text("\n".join(log_lines()) + "\n")
    return path


@contextmanager
def scripted(*script: Any) -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
    """A server that answers by script, and confirms everything after it: its address, and the bodies that came."""
    answers, bodies = list(script), list[list[dict[str, Any]]]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            answer = answers.pop(0) if answers else 201
            if answer == "hang up":
                self.close_connection = True
                return
            status, headers = answer if isinstance(answer, tuple) else (answer, {})
            seqs = range(1, len(bodies[-1]) + 1)
            said: dict[str, Any] = {"events": [{"seq": n, "duplicate": status == 200, "raised": []} for n in seqs]}
            if status >= 400:
                said = {"detail": "card: '1x' is not a card", "key": bodies[-1][0]["key"]}
            text = json.dumps(said).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the program has slept, without sleeping."""
    found: list[float] = []
    monkeypatch.setattr(replay.time, "sleep", found.append)
    return found


def run(file: Path, url: str, **options: Any) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("replay_log", str(file), url=url, stdout=out, stderr=err, **{"speed": 0.0, **options})
    return out.getvalue(), err.getvalue()


@pytest.fixture
def key_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACCARAT_KEY", "bka_any")


@pytest.mark.usefixtures("key_in_place")
def test_no_answer_and_not_now_are_tried_again_with_the_same_keys(log: Path, slept: list[float]) -> None:
    lines = log_lines()[:9]
    log.write_text("\n".join(lines) + "\n")
    with scripted("hang up", (503, {"Retry-After": "7"}), 429, "hang up") as (url, bodies):
        _, said = run(log, url)
    assert [body[0]["key"] for body in bodies[:5]] == [bodies[0][0]["key"]] * 5
    assert len(bodies) == 4 + len(lines)
    assert len({body[0]["key"] for body in bodies}) == len(lines)
    assert 0.8 * 7 <= slept[1] <= 1.2 * 7, "as long as the server asks for"
    assert slept[3] > slept[2] > slept[0], "longer each time"
    assert said.count("again in") == 4
    assert f"{len(lines)} new events recorded" in said


@pytest.mark.usefixtures("key_in_place")
def test_a_refusal_stops_it_and_says_what_is_wrong(log: Path) -> None:
    with scripted(201, 422) as (url, bodies), pytest.raises(CommandError) as stopped:
        run(log, url)
    assert len(bodies) == 2
    key = bodies[1][0]["key"]
    assert str(stopped.value) == f"line 2: refused (event {key}): card: '1x' is not a card"


@pytest.mark.usefixtures("key_in_place")
def test_who_has_no_patience_left_says_so(log: Path, slept: list[float], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be reached"):
        run(log, "http://127.0.0.1:1", patience=-1.0)
    assert not slept
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"event": "card"}\n')
    for file, url, why in (
        (broken, "http://x", "line 1 is no line"),
        (log, "ftp://x", "no address"),
        (tmp_path, "", ""),
    ):
        with pytest.raises(CommandError, match=why):
            run(file, url)


def test_the_key_comes_from_a_file_or_the_environment(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BACCARAT_KEY", raising=False)
    with pytest.raises(CommandError, match="no key"):
        run(log, "http://127.0.0.1:1")
    with pytest.raises(CommandError, match="No such file"):
        run(log, "http://127.0.0.1:1", key_file=tmp_path / "none")


@pytest.mark.usefixtures("key_in_place")
def test_a_file_that_is_no_text_is_named_with_the_line(log: Path, tmp_path: Path) -> None:
    first = log.read_bytes().splitlines(keepends=True)[0]
    log.write_bytes(first + b"\x89PNG\r\n\xff\n")
    with scripted() as (url, _):
        with pytest.raises(CommandError, match=r"b07\.jsonl: line 2 is no text in UTF-8"):
            run(log, url)
        key = tmp_path / "key"
        key.write_bytes(b"\xff")
        with pytest.raises(CommandError, match="holds no key: it is no text in UTF-8") as failed:
            run(log, url, key_file=key)
        assert failed.value.returncode == 2
        with pytest.raises(CommandError, match="No such file") as failed:
            run(tmp_path / "nothing", url)
        assert failed.value.returncode == 2


def test_distances_of_time_are_kept_divided_by_the_speed() -> None:
    lines = log_lines()
    times = [dt.datetime.fromisoformat(json.loads(line)["at"]) for line in lines]
    apart = [at - times[0] for at in times]
    due = [one.due for one in replay.plan(lines, speed=10.0)]
    assert due == [pytest.approx(since.total_seconds() / 10) for since in apart]
    assert {one.due for one in replay.plan(lines, speed=0.0)} == {0.0}
    lines[5:] = [line.replace("2026-07-11", "2026-07-12") for line in lines[5:]]
    due = [one.due for one in replay.plan(lines, speed=10.0, longest=30.0)]
    assert due[5] - due[4] == pytest.approx(3.0), "a day counts for as much as was allowed"


def test_keys_are_the_same_each_time_and_an_events_own_stays() -> None:
    lines = [*log_lines()[:3], '{"event": "cut_card", "at": "2026-07-11T20:00:00+07:00", "table": "B07", "key": "own"}']
    first, second = ([one.line["key"] for one in replay.plan(lines, speed=0.0)] for _ in range(2))
    assert first == second
    assert len(set(first)) == 4
    assert first[3] == "own"
    assert first[0] != next(replay.plan(lines, speed=0.0, to="B08")).line["key"]


def test_batches_hold_what_is_due_of_one_table_in_order() -> None:
    def planned(*of: tuple[str, str, float]) -> Iterator[replay.Planned]:
        for number, (table, event, due) in enumerate(of, 1):
            yield replay.Planned(number, table, due, {"event": event})

    many = [("B07", "card", 0.0)] * 3 + [("B08", "card", 0.0), ("B08", "amended", 0.0), ("B08", "card", 0.0)]
    many += [("B08", "card", 9.0)]
    found = [[one.number for one in some] for some in replay._batches(planned(*many), 2, lambda: 1.0)]
    assert found == [[1, 2], [3], [4], [5], [6], [7]]


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_log_replayed_in_two_goes_is_the_file(
    log: Path, tmp_path: Path, venue: Venue, table: MakeTable, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Device.objects.create(
        venue=venue, code="SHOE-1", supervises=True, created_at=timezone.now(), created_by="kanya"
    )
    made.tables.set([table("B07"), table("B08")])
    key = tmp_path / "key"
    key.write_text(keys.make_key(made, "kanya")[1] + "\n")
    half = tmp_path / "half.jsonl"
    half.write_text("\n".join(log_lines()[:20]) + "\n")
    _, said = run(half, live_server.url, key_file=key, times="file", batch=7)
    assert "20 new events" in said
    found, said = run(log, live_server.url, key_file=key, times="file", batch=7)
    assert f"{len(log_lines()) - 20} new events" in said
    assert "B07 shoe 1 hand " in found
    assert "Fifth card on the wrong place" in found
    # But for the keys it is the file, to the byte.
    exported = StringIO()
    export_table(Table.objects.get(code="B07"), exported)
    lines = [json.loads(line) for line in exported.getvalue().splitlines()]
    given = [line.pop("key") for line in lines]
    assert [json.dumps(line, ensure_ascii=False) for line in lines] == log_lines()
    assert len(set(given)) == len(lines)
    # As a demonstration: at another table, with the times of now.
    began = timezone.now()
    run(log, live_server.url, key_file=key, to="B08", batch=50)
    b08 = Table.objects.get(code="B08")
    assert b08.events.count() == len(lines)
    assert b08.events.filter(at__lt=began - dt.timedelta(seconds=1)).count() == 0


@pytest.mark.usefixtures("key_in_place")
def test_what_is_there_already_is_sent_without_waiting(log: Path, slept: list[float]) -> None:
    known, lines = 12, log_lines()[:14]
    log.write_text("\n".join(lines) + "\n")
    times = [dt.datetime.fromisoformat(json.loads(line)["at"]) for line in lines]
    with scripted(*[200] * known) as (url, bodies):
        run(log, url, speed=1.0)
    assert len(bodies) == len(lines)
    assert len(slept) == 1, "the first that is new goes at once, and the time runs from there"
    assert slept[0] == pytest.approx((times[known + 1] - times[known]).total_seconds(), abs=1.0)


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_amendments_of_hands_that_are_over_are_sent_by_a_second_device(
    tmp_path: Path, venue: Venue, table: MakeTable, live_server: LiveServer
) -> None:
    b07 = table("B07")
    files = []
    for code in ("SHOE-1", "SHOE-2"):
        made = Device.objects.create(
            venue=venue, code=code, supervises=True, created_at=timezone.now(), created_by="kanya"
        )
        made.tables.set([b07])
        files.append(tmp_path / code)
        files[-1].write_text(keys.make_key(made, "kanya")[1] + "\n")
    lines = [json.loads(line) for line in log_lines(hands=1)]
    card = next(n for n, line in enumerate(lines, 1) if line["event"] == "card")
    seen = {name: lines[card - 1][name] for name in ("at", "table", "shoe", "hand")}
    lines.append({**seen, "event": "amended", "at": lines[-1]["at"], "seq": card, "reason": "typo"})
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(CommandError, match=rf"^line {len(lines)}: refused(.|\n)*--second-key-file"):
        run(log, live_server.url, key_file=files[0])
    run(log, live_server.url, key_file=files[0], second_key_file=files[1])
    assert b07.events.order_by("-seq").values_list("name", "actor")[0] == ("amended", "device:SHOE-2")

"""Recording a card on the console over HTTP: the page's own request, from the press to the answer.

    python -m benchmarks.bench_http [CARDS]        400 cards when left out

One writer records whole shoes, event by event, on the server that `make run` starts, over one kept connection, with
the demo house in the database; on SQLite, and on the server that DATABASE_URL names where that is PostgreSQL. Only
the cards are counted. `record()` is what of it is the log's own: the same events through dealing.log alone, in a
process of its own.

The last column is processor time of the process that answers: what is left of the other columns on a busy machine.
"""

from __future__ import annotations

import datetime as dt
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from urllib.parse import urlencode

from benchmarks.site import ROOT, databases, manage, scratch_database, server
from dealing.rules.events import CardDealt, Event, event_as_dict
from dealing.simulator import simulate_shoe

LIMIT_MEDIAN, LIMIT_95 = 30.0, 80.0  # ms
TABLE, RULESET = "B03", "commission"
USER, PASSWORD = "anan", "anan-walks-the-pit"
START = dt.datetime(2026, 1, 1, 12, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))


def shoes(first: int, cards: int) -> list[Event]:
    """Clean shoes with so many cards, as a recorder at the table types them in."""
    events: list[Event] = []
    for shoe in count(first):
        for event in simulate_shoe(TABLE, shoe, RULESET, shoe, START, bets=False, face_down=0.0):
            events.append(event)
            cards -= isinstance(event, CardDealt)
            if not cards:
                return events
    return events


class Console:
    """A browser at the console of one table, so far as the server can tell."""

    def __init__(self, host: str, port: int) -> None:
        self.connection = http.client.HTTPConnection(host, port)
        self.cookies: dict[str, str] = {}
        page = self.ask("GET", "/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None
        self.ask("POST", "/login/", {"username": USER, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}, 302)
        self.seq = self.seen(self.ask("GET", f"/tables/{TABLE}/"))

    @staticmethod
    def seen(page: str) -> str:
        """The position of the last event that the page knows."""
        found = re.search(r'data-seq="(\d+)"', page)
        assert found is not None, page[:500]
        return found[1]

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None, status: int = 200) -> str:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["X-CSRFToken"] = self.cookies["csrftoken"]
            if path.startswith("/tables/"):
                headers["HX-Request"] = "true"
        self.connection.request(method, path, urlencode(fields) if fields is not None else None, headers)
        answer = self.connection.getresponse()
        page = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, rest = cookie.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        if answer.status != status:
            raise SystemExit(f"{method} {path} {fields}: {answer.status}\n{page[:3000]}")
        return page

    def record(self, event: Event) -> None:
        line = {key: value for key, value in event_as_dict(event).items() if key not in ("at", "table", "by")}
        fields = {key: str(value) for key, value in line.items()} | {"seq": self.seq, "key": f"bench-{self.seq}"}
        page = self.ask("POST", f"/tables/{TABLE}/record/", fields)
        self.seq = self.seen(page)


def timed(events: list[Event], record: Callable[[Event], None], cpu: Callable[[], float]) -> tuple[list[float], float]:
    """Milliseconds of each card, and milliseconds of processor time an event (cards and others are much alike)."""
    times = []
    for warm, event in enumerate(events):
        if warm == 20:  # the first ones pay for what a server loads once
            begin_cpu = cpu()
        begin = time.perf_counter()
        record(event)
        if isinstance(event, CardDealt) and warm >= 20:
            times.append((time.perf_counter() - begin) * 1000)
    return times, (cpu() - begin_cpu) * 1000 / (len(events) - 20)


def show(what: str, times: list[float], cpu: float) -> tuple[float, float]:
    median, high = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{what:<28}{len(times):>6}{median:>10.1f}{high:>10.1f}{max(times):>10.1f}{cpu:>10.1f}", flush=True)
    return median, high


def record_alone(cards: int) -> None:
    """The log without the web; run in the environment of a scratch database. Prints the times as JSON."""
    import django

    django.setup()
    from dealing.log import record
    from dealing.models import Shoe

    def put(event: Event) -> None:
        line = event_as_dict(event)
        del line["at"]
        record(line, actor=USER)

    last = Shoe.objects.filter(table__code=TABLE).order_by("number").last()
    print(json.dumps(timed(shoes((last.number if last else 0) + 1, cards), put, time.process_time)))


def main(cards: int) -> int:
    os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
    too_slow = []
    print(f"{'one card, milliseconds':<28}{'cards':>6}{'median':>10}{'95th':>10}{'longest':>10}{'cpu':>10}")
    for url in databases():
        name = "SQLite" if url == "sqlite" else "PostgreSQL"
        with scratch_database(url) as environment:
            manage(environment, "demo")
            command = [sys.executable, "-m", "benchmarks.bench_http", "--record", str(cards)]
            alone = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            show(f"{name}, record() alone", *json.loads(alone.stdout))
            with server(environment) as (host, port, cpu):
                console = Console(host, port)
                first = 4 + cards // 300 + 1  # after the shoes that were just recorded
                median, high = show(f"{name}, over HTTP", *timed(shoes(first, cards), console.record, cpu))
        if median > LIMIT_MEDIAN or high > LIMIT_95:
            too_slow.append(
                f"{name}: {median:.1f} ms, 95th {high:.1f} ms; limits {LIMIT_MEDIAN:.0f} and {LIMIT_95:.0f}"
            )
    for line in too_slow:
        print(line)
    return bool(too_slow)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
        record_alone(int(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))

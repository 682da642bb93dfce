"""A whole floor: 100 tables record one event a second each, on one process of the production server and PostgreSQL.

    python -m benchmarks.bench_floor [SECONDS [TABLES [bets]]]        60 seconds, 100 tables, no bets when left out

Every table is a console of its own, with its own person, session and kept connection, and the page's own requests, as
its keys make them: the right call takes the closing of the hand and the opening of the next along, one press pays all.
An event is due at a fixed moment whatever became of the one before (a press with several: when the first of them is),
and its time counts from that moment, so a server that falls behind cannot hide it. Afterwards the log is read: every
event is there once, in order, and the chain holds.

In the same run, on the same PostgreSQL and at the same rate, `pgbench` inserts rows of the same size and nothing else.
What recording costs beside that is the ratio in the last column. Needs DATABASE_URL to name a PostgreSQL.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count, takewhile
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit

from benchmarks.site import ROOT, databases, manage, scratch_database, server
from dealing.rules.events import Called, Event, Paid, event_as_dict
from dealing.simulator import simulate_shoe

LIMIT_95 = 150.0  # ms
THREADS = 3
#: Whether the tables record bets and pays too; told to the processes of this benchmark by the environment.
WITH_BETS = bool(os.environ.get("BENCH_WITH_BETS"))
WARM = 10  # seconds that are not counted: the first requests pay for what a server loads once
AHEAD = 20  # events beyond the last second: a press may take some along
START = dt.datetime(2026, 1, 1, 12, 0, tzinfo=dt.UTC)


def code_of(number: int) -> str:
    return f"T{number:03}"


def events_of(number: int, wanted: int) -> list[Event]:
    """Clean shoes, as the people at a table type them in; nobody types that nothing was paid."""
    events: list[Event] = []
    for shoe in count(1):
        dealt = simulate_shoe(
            code_of(number), shoe, "commission", number * 1000 + shoe, START, face_down=0.0, bets=WITH_BETS
        )
        events += [event for event in dealt if not (isinstance(event, Paid) and not event.amount)]
        if len(events) >= wanted:
            return events[:wanted]
    return events


def prepare(tables: int) -> None:
    """In the environment of a scratch database: a house with so many tables. Prints a session key for each."""
    import django

    django.setup()
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import Group, User

    from dealing.accounts.standing import Standing, State
    from dealing.models import StaffMember, Table, Venue
    from dealing.people import SUPERVISOR, ensure_groups
    from dealing.people_backend import SessionStore

    ensure_groups()
    venue = Venue.objects.create(code="FLOOR", name="Floor")
    group = Group.objects.get(name=SUPERVISOR)
    keys = []
    for number in range(tables):
        code = code_of(number)
        Table.objects.create(code=code, venue=venue, ruleset="commission")
        user = User.objects.create(username=code.lower(), password="!")
        user.groups.add(group)
        StaffMember.objects.create(user=user, code=code.lower(), venue=venue)
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "dealing.people_backend.PeopleBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        now = time.time()
        Standing(State.IN, began=now, idle=0, address=None, browser="benchmark", given=now).keep(session)
        session.create()
        keys.append(session.session_key)
    print(json.dumps(keys))


def check(wanted: dict[str, int]) -> None:
    """In the same environment, afterwards: every event is there once and in order."""
    import django

    django.setup()
    from dealing.models import TableEvent

    lost = {}
    for code, sent in wanted.items():
        rows = TableEvent.objects.filter(table__code=code).order_by("seq")
        told = [_told(event_as_dict(row.parse())) for row in rows]
        if told != [_told(event_as_dict(event)) for event in events_of(int(code[1:]), sent)]:
            lost[code] = f"{len(told)} of {sent}, or other ones"
    sizes = [len(payload) for payload in TableEvent.objects.values_list("payload", flat=True)]
    print(json.dumps({"lost": lost, "payload": statistics.mean(sizes)}))


def _told(line: dict[str, object]) -> dict[str, str]:
    """What happened, without the times, keys and names that the server sets."""
    return {key: str(value) for key, value in line.items() if key not in ("at", "table", "by", "key")}


def press(events: list[Event]) -> dict[str, str]:
    """What the page sends for the first of these events, and perhaps for those that follow on."""
    first = events[0]
    fields = _told(event_as_dict(first))
    if isinstance(first, Called):
        return fields | {"call": f"{first.winner} {first.player} {first.banker}", "follow": "1"}
    if isinstance(first, Paid):
        pays = list(takewhile(lambda event: isinstance(event, Paid), events))
        amounts = {f"pay-{pay.seat}-{pay.bet}": str(pay.amount) for pay in pays if isinstance(pay, Paid)}
        if len(amounts) == len(pays):
            return {"event": "paid_all", "shoe": fields["shoe"], "hand": fields["hand"]} | amounts
    return fields


async def console(host: str, port: int, number: int, session: str, begin: float, seconds: int) -> list[float]:
    """One table for so long: milliseconds of each event, from the moment it was due."""
    reader, writer = await asyncio.open_connection(host, port)
    token = "a" * 32
    head = (
        f"POST /tables/{code_of(number)}/record/ HTTP/1.1\r\nHost: {host}:{port}\r\nHX-Request: true\r\n"
        f"Cookie: sessionid={session}; csrftoken={token}\r\nX-CSRFToken: {token}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
    )
    phase = random.Random(number).random()
    events = events_of(number, seconds + AHEAD)
    times: list[float] = []
    while (done := len(times)) < seconds:
        fields = press(events[done:])
        body = urlencode(fields | {"seq": str(done), "key": f"{code_of(number)}-{done}"})
        due = begin + phase + done
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        for attempt in (1, 2):
            try:
                writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
                answer = await reader.readuntil(b"\r\n\r\n")
                break
            except (asyncio.IncompleteReadError, ConnectionError):  # a kept connection that the server has let go
                if attempt == 2:
                    raise
                reader, writer = await asyncio.open_connection(host, port)
        status = int(answer[9:12])
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        page = await reader.readexactly(int(length[1])) if length else b""
        seq = re.search(rb'data-seq="(\d+)"', page)
        if status != 200 or seq is None:
            raise SystemExit(f"{fields}: {status}\n{page.decode()[:600]}")
        times += [(time.perf_counter() - due) * 1000] * (int(seq[1]) - done)
    writer.close()
    return times


async def floor(host: str, port: int, sessions: list[str], seconds: int) -> list[list[float]]:
    begin = time.perf_counter() + 1
    return await asyncio.gather(
        *(console(host, port, n, session, begin, seconds) for n, session in enumerate(sessions))
    )


def pgbench(url: str, rate: int, seconds: int, payload: int) -> list[float]:
    """Milliseconds of each insert of a row as wide as a log's, one transaction each, at a fixed rate."""
    parts = urlsplit(url)
    environment = {
        **os.environ,
        "PGHOST": parts.hostname or "",
        "PGPORT": str(parts.port or 5432),
        "PGUSER": unquote(parts.username or ""),
        "PGPASSWORD": unquote(parts.password or ""),
    }
    name = parts.path.removeprefix("/")
    columns = (
        "id bigserial PRIMARY KEY, owner int, seq bigint, payload text, before char(64), hash char(64), at timestamptz"
    )
    subprocess.run(
        ["psql", "-qX", "-d", name, "-c", f"CREATE TABLE raw ({columns}); CREATE UNIQUE INDEX ON raw (owner, seq, id)"],
        env=environment,
        check=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "insert.sql"
        script.write_text(
            f"\\set owner random(1, {rate})\n\\set seq random(1, 1000000000)\n"
            "INSERT INTO raw (owner, seq, payload, before, hash, at) VALUES "
            f"(:owner, :seq, repeat('x', {payload}), repeat('a', 64), repeat('b', 64), now());\n"
        )
        subprocess.run(
            [
                *("pgbench", "-n", "-f", str(script), "-c", str(THREADS), "-j", "1", "-R", str(rate)),
                *("-T", str(seconds), "-l", "--log-prefix", f"{folder}/log", name),
            ],
            env=environment,
            check=True,
            capture_output=True,
        )
        lines = [line.split() for file in Path(folder).glob("log*") for line in file.read_text().splitlines()]
    # The third column is microseconds from the moment the transaction was due.
    return [int(line[2]) / 1000 for line in lines]


def show(what: str, times: list[float]) -> tuple[float, float, float]:
    cuts = statistics.quantiles(times, n=100)
    figures = statistics.median(times), cuts[94], cuts[98]
    print(f"{what:<34}{len(times):>8}" + "".join(f"{figure:>10.1f}" for figure in (*figures, max(times))), flush=True)
    return figures


def main(seconds: int, tables: int) -> int:
    url = databases()[-1]
    if url == "sqlite" or shutil.which("pgbench") is None:
        print("skipped: this needs DATABASE_URL to name a PostgreSQL, and pgbench")
        return 0
    os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
    print(
        f"{'milliseconds from when it was due':<34}{'events':>8}{'median':>10}{'95th':>10}{'99th':>10}{'longest':>10}"
    )
    with scratch_database(url) as environment:
        this = [sys.executable, "-m", "benchmarks.bench_floor"]
        made = subprocess.run(
            [*this, "--prepare", str(tables)], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        with server(environment, workers=1, threads=THREADS) as (host, port, cpu):
            before = cpu()
            times = asyncio.run(floor(host, port, json.loads(made.stdout), seconds))
            used = cpu() - before
        counted = [one for table in times for one in table[WARM:]]
        ours = show(f"{tables} tables, one event a second", counted)
        wanted = {code_of(n): len(table) for n, table in enumerate(times)}
        checked = subprocess.run(
            [*this, "--check", json.dumps(wanted)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(checked.stdout)
        verified = manage(environment, "verify_log").strip().splitlines()[-1]
        raw = show(
            "pgbench, one row an event", pgbench(environment["DATABASE_URL"], tables, seconds, int(found["payload"]))
        )
    print(f"times pgbench{'':<29}" + "".join(f"{a / b:>10.1f}" for a, b in zip(ours, raw, strict=True)))
    sent = sum(wanted.values())
    print(f"processor time of the server: {used * 1000 / sent:.1f} ms an event, {used / seconds:.2f} of one core")
    print(f"lost, doubled or out of order: {found['lost'] or 'none'} of {sent}; verify_log: {verified}")
    return bool(found["lost"]) or ours[1] > LIMIT_95


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prepare"]:
        os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
        prepare(int(sys.argv[2]))
    elif sys.argv[1:2] == ["--check"]:
        os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
        check(json.loads(sys.argv[2]))
    else:
        if sys.argv[3:] == ["bets"]:
            os.environ["BENCH_WITH_BETS"] = "1"
            WITH_BETS = True
        seconds, tables = ([int(one) for one in sys.argv[1:3]] + [60, 100][len(sys.argv[1:3]) :])[:2]
        sys.exit(main(seconds, tables))

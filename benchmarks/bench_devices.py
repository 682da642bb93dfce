"""Devices on the API: 100 of them, each at its own table, 300 events a second together, against gunicorn.

    python -m benchmarks.bench_devices [--minutes 10] [--devices 100] [--rate 300] [--batch 1] [--catch-up] …

On the PostgreSQL that DATABASE_URL names, else on SQLite. Each device keeps one connection, plays whole shoes with
bets, and sends each event at its time: where the server is behind, an event waits, and its time counts from when it
was due. With `--catch-up` what came due while it waited goes with the next request, as the queue of a device sends it.
Every twentieth device loses an answer now and then, and sends the same again. At the end the log of each table is
compared with what was sent: none lost, doubled or reordered, and the chain whole.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.site import ROOT, databases, manage, scratch_database, server
from dealing.rules.events import event_as_dict
from dealing.simulator import USUAL_RATES, simulate_shoe

LIMIT_95 = 250.0  # ms
START = dt.datetime(2026, 1, 1, 12, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))
#: Of so many devices one loses answers.
LOSES_EVERY = 20
#: How many events a device sends at most in one request.
MOST = 100
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_SETUP = """
import django
django.setup()
from django.utils import timezone
from dealing.devices.keys import make_key
from dealing.devices.models import Device
from dealing.models import Table, Venue
venue = Venue.objects.create(code="BENCH", name="Bench", time_zone="Asia/Bangkok")
for n in range({devices}):
    table = Table.objects.create(code=f"D{{n:03}}", venue=venue, ruleset="insurance")
    device = Device.objects.create(
        venue=venue, code=f"DEV-{{n:03}}", supervises=True, created_at=timezone.now(), created_by="bench")
    device.tables.set([table])
    print(make_key(device, "bench")[1])
"""

_CHECK = """
import sys
import django
django.setup()
from dealing.models import Table
sent = {}
for line in sys.stdin:
    table, _, keys = line.rstrip("\\n").partition(" ")
    sent[table] = keys.split(" ") if keys else []
wrong = 0
for table in Table.objects.filter(venue__code="BENCH").order_by("code"):
    stored = list(table.events.order_by("seq").values_list("seq", "key"))
    keys = [key for _, key in stored]
    if [seq for seq, _ in stored] != list(range(1, len(stored) + 1)) or keys != sent[table.code]:
        wrong += 1
        lost, more = set(sent[table.code]) - set(keys), len(keys) - len(set(keys))
        print(f"{table.code}: sent {len(sent[table.code])}, stored {len(keys)}, lost {len(lost)}, doubled {more}")
print(f"{wrong} tables differ from what was sent")
sys.exit(bool(wrong))
"""


class How(NamedTuple):
    """How events go into requests."""

    batch: int
    catch_up: bool


@dataclass
class Device:
    """One device: what it sends next, and how long each event took from when it was due to its confirmation."""

    number: int
    key: str
    made: list[bytes] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)
    again: int = 0
    requests: int = 0

    @property
    def table(self) -> str:
        return f"D{self.number:03}"

    def make(self, most: int) -> None:
        """Deal before the clock runs: what that costs is no device's time."""
        self.made = [_encode(event) for event in islice(self.events(), most)]

    def events(self) -> Iterator[dict[str, Any]]:
        """Its shoes, one after the other, without end."""
        number = count(1)
        seq = 1
        for shoe in count(1):
            dealt = simulate_shoe(
                self.table, shoe, "insurance", 1000 * self.number + shoe, START, _rates(), first_seq=seq
            )
            seq += len(dealt)
            for event in dealt:
                line = event_as_dict(event)
                del line["at"]
                yield {**line, "key": f"{self.table}-{next(number)}"}


def _rates() -> dict[Any, float]:
    # Without typing mistakes: who recorded an entry does not put it right once the hand is over.
    return {mistake: rate for mistake, rate in USUAL_RATES.items() if not mistake.startswith("typed")}


class Wire:
    """A kept HTTP connection, as little of it as a device needs."""

    def __init__(self, host: str, port: int, device: Device) -> None:
        self.host, self.port = host, port
        self.head = (
            f"POST /api/v1/tables/{device.table}/events/ HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {device.key}\r\nContent-Type: application/json\r\nContent-Length: "
        )
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer. Raises OSError or EOFError where there is none."""
        if self.writer is None or self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        try:
            self.writer.write(f"{self.head}{len(body)}\r\n\r\n".encode() + body)
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(
                int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")
            )
            answer = await self.reader.readexactly(length)
        except (OSError, EOFError):
            self.close()
            raise
        if "\r\nconnection: close" in head.lower():
            self.close()
        return int(head.split(" ", 2)[1]), answer

    def close(self) -> None:
        """The next request opens it anew."""
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def play(device: Device, host: str, port: int, begin: float, end: float, every: float, how: How) -> None:
    """Send the device's events, `batch` in a request, one event every so many seconds, until the end.

    `catch_up`: what has come due while an answer was waited for goes with the next request, as a queue sends it.
    """
    wire, n = Wire(host, port, device), 0
    while True:
        dues = [begin + (n + one) * every for one in range(how.batch)]
        if dues[-1] > end:
            break
        await asyncio.sleep(max(0.0, dues[-1] - time.monotonic()))
        while (
            how.catch_up and len(dues) < MOST and (due := begin + (n + len(dues)) * every) <= min(end, time.monotonic())
        ):
            dues.append(due)
        body = b"[%s]" % b",".join(device.made[n : n + len(dues)])
        loses = device.number % LOSES_EVERY == 0 and device.requests % 25 == 0
        device.requests += 1
        while True:
            try:
                status, answer = await wire.post(body)
            except (OSError, EOFError):
                device.again += 1
                await asyncio.sleep(0.1)
                continue
            if loses:  # the answer was lost on its way: the same again
                loses = False
                device.again += 1
                continue
            break
        if status not in (200, 201):
            raise SystemExit(f"{device.table}: {status} {answer.decode()[:1000]}\n{body.decode()}")
        now = time.monotonic()
        device.took += [(now - due) * 1000 for due in dues]
        device.confirmed += [one["key"] for one in _decode(answer)["events"]]
        n += len(dues)
    wire.close()


async def play_all(devices: list[Device], host: str, port: int, asked: argparse.Namespace) -> float:
    """All devices at once, evenly spread; the seconds it took."""
    every = asked.devices / asked.rate  # seconds between two events of a device
    how = How(asked.batch, asked.catch_up)
    begin = time.monotonic() + 0.5
    end = begin + asked.minutes * 60
    await asyncio.gather(
        *(
            play(device, host, port, begin + every * device.number / asked.devices, end, every, how)
            for device in devices
        )
    )
    return time.monotonic() - begin


def postgresql_seconds() -> float:
    """Processor time that PostgreSQL on this machine has used so far; 0 where it is elsewhere."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition(" (")[2].rpartition(") ")
        except OSError:
            continue
        if name.startswith("postgres"):
            fields = rest.split()
            ticks += sum(int(one) for one in fields[11:15])  # its own, and that of sessions that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


def run_in(environment: dict[str, str], code: str, text: str = "") -> str:
    """What a piece of code prints that runs beside the product; SystemExit where it fails."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr[-3000:])
    return done.stdout


def main(asked: argparse.Namespace) -> int:
    url = databases()[-1]
    name = "SQLite" if url == "sqlite" else "PostgreSQL"
    with scratch_database(url) as environment:
        environment["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
        made = run_in(environment, _SETUP.format(devices=asked.devices)).split()
        devices = [Device(number, key) for number, key in enumerate(made)]
        for device in devices:
            device.make(int(asked.rate * asked.minutes * 60 / asked.devices) + 1)
        with server(environment, asked.workers, asked.threads) as (host, port, cpu):
            before = (cpu(), postgresql_seconds(), time.process_time())
            seconds = asyncio.run(play_all(devices, host, port, asked))
            used = [
                now - then for now, then in zip((cpu(), postgresql_seconds(), time.process_time()), before, strict=True)
            ]
        took = sorted(one for device in devices for one in device.took)
        sent = len(took)
        cuts = statistics.quantiles(took, n=100)
        print(f"{name}, {asked.devices} devices, {asked.rate:g} events/s wanted for {asked.minutes:g} minutes")
        again = sum(device.again for device in devices)
        print(f"{sent} events in {seconds:.1f} s: {sent / seconds:.1f} events/s; {again} requests sent again")
        print(f"{'milliseconds from due to confirmed':<40}{'median':>8}{'95th':>8}{'99th':>8}{'longest':>9}")
        print(f"{'':<40}{cuts[49]:>8.1f}{cuts[94]:>8.1f}{cuts[98]:>8.1f}{took[-1]:>9.1f}")
        per_event = [f"{one * 1000 / sent:.2f}" for one in used]
        print("processor time, ms an event: server {}, PostgreSQL {}, devices {}".format(*per_event))
        print(f"{sent / sum(device.requests for device in devices):.2f} events a request")
        lines = "".join(f"{device.table} {' '.join(device.confirmed)}\n" for device in devices)
        print(run_in(environment, _CHECK, lines), end="")
        manage(environment, "verify_log")
        print("the chains are whole")
    if url == "sqlite":  # where one event after the other is written: it promises nothing at this rate
        return 0
    if cuts[94] > LIMIT_95:
        print(f"95th percentile: {cuts[94]:.1f} ms; limit {LIMIT_95:.0f}")
        return 1
    if sent < 0.98 * asked.rate * asked.minutes * 60:
        print("fewer events than wanted")
        return 1
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_devices")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--devices", type=int, default=100)
    parser.add_argument("--rate", type=float, default=300.0, help="events a second, of all devices together")
    parser.add_argument("--batch", type=int, default=1, help="events in a request")
    parser.add_argument(
        "--catch-up", action="store_true", help="send what came due meanwhile with the next request, as a queue does"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=8)
    return parser.parse_args()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
    sys.exit(main(arguments()))

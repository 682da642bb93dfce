"""The reference device: a program that sends the lines of a log file to the API, as a card-reading shoe would.

Written to be read by whoever programs a device. It needs nothing but Python's standard library and nothing of this
product. What a device has to do right stands in `Sender`: keep an event until it is confirmed, send it again with the
same key when no answer came, keep the order, wait longer each time, and stop where the server refuses.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

#: Seconds to wait for an answer, and between two tries: at first, and at most.
ANSWER_SECONDS = 10.0
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
#: Answers that mean "not now": the same again, later.
NOT_NOW = frozenset({408, 425, 429, 500, 502, 503, 504})

Line = dict[str, Any]


class Stopped(Exception):
    """Sending has ended before the end: the text says why, for a person. `status`: of the answer that ended it."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


@dataclass
class Planned:
    """A line that is to be sent: where it stood in the file, at which table, when it is due, and as what it is sent."""

    number: int
    table: str
    due: float
    line: Line


def plan(
    lines: Iterable[str],
    *,
    speed: float,
    longest: float = math.inf,
    table: str = "",
    to: str = "",
    keep_times: bool = False,
) -> Iterator[Planned]:
    """The lines of a log file as they are to be sent, `due` in seconds after the first; `speed` 0: all of them at once.

    `longest`: a break in the file, such as the day between two shoes, counts for so many seconds at most.
    `table`: only this one's lines. `to`: send them to that table instead. `keep_times`: with the times of the file, as
    an archive wants it; else the server stamps each as it comes. A line without key gets one that is made of what it
    says and where it stands, so that the same file sent again is recognised. Raises `Stopped` for a line that is none.
    """
    before: datetime | None = None
    due = 0.0
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            at = datetime.fromisoformat(line["at"])
            own = line["table"]
        except (ValueError, KeyError, TypeError) as error:
            raise Stopped(f"line {number} is no line of a log ({error})") from error
        if table and own != table:
            continue
        if "key" not in line:
            said = f"{to}\n{number}\n{json.dumps(line, sort_keys=True)}"
            line["key"] = f"replay-{hashlib.sha256(said.encode()).hexdigest()[:24]}"
        line["table"] = to or own
        if not keep_times:
            del line["at"]
        if before is not None and speed:
            due += min((at - before).total_seconds(), longest) / speed
        before = at
        yield Planned(number, line["table"], due, line)


class Sender:
    """Sends events in order, each until it is confirmed. One connection, kept open."""

    def __init__(self, url: str, key: str, *, patience: float, say: Callable[[str], None]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Stopped(f"{url} is no address such as https://audit.example")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=ANSWER_SECONDS)
        self._path = parts.path.rstrip("/")
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self._patience = patience
        self._say = say

    def send(self, table: str, lines: list[Line]) -> list[dict[str, Any]]:
        """Send events of one table; the server's answer for each.

        Raises `Stopped` where it refuses one, or cannot be reached for longer than we have patience.
        """
        address = f"{self._path}/api/v1/tables/{quote(table)}/events/"
        body = json.dumps(lines).encode()
        since, wait = time.monotonic(), FIRST_WAIT
        while True:
            status, answer, told = self._ask(address, body)
            if status in (200, 201):
                return list(answer["events"])
            if status and status not in NOT_NOW:
                raise Stopped(_why(status, answer), status)
            if time.monotonic() - since > self._patience:
                raise Stopped("the server cannot be reached; what was not confirmed is sent when this is started again")
            pause = min(max(wait, told), LONGEST_WAIT)
            self._say(f"no answer ({status or 'not reached'}); again in {pause:.1f} s")
            time.sleep(pause * random.uniform(0.8, 1.2))  # not all devices at the same moment
            wait *= 2

    def _ask(self, address: str, body: bytes) -> tuple[int, dict[str, Any], float]:
        """Status (0: no answer), the answer, and how long the server wants to be left alone."""
        try:
            self._connection.request("POST", address, body, self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()  # the next request opens it anew
            return 0, {}, 0.0
        told = answer.headers.get("Retry-After", "")
        try:
            said = json.loads(text)
        except ValueError:
            said = {}
        return answer.status, said if isinstance(said, dict) else {}, float(told) if told.isdigit() else 0.0


def _why(status: int, problem: dict[str, Any]) -> str:
    said = problem.get("detail") or problem.get("title") or f"the server answered {status}"
    key = f" (event {problem['key']})" if problem.get("key") else ""
    return f"refused{key}: {said}"


def replay(
    planned: Iterable[Planned], sender: Sender, second: Sender | None = None, *, batch: int, say: Callable[[str], None]
) -> int:
    """Send what is planned when it is due, `batch` events at most in one request; how many were new.

    What the server has already is sent without waiting: the time runs from the first event that is new. An amendment
    names a position in the file's own log: it is sent with the position that the server gave that entry, and by
    `second` where there is one, as an entry of a hand that is over is put right by somebody else than who recorded it.
    """
    begun = time.monotonic()
    given: dict[str, list[int]] = {}
    new = 0

    def since() -> float:
        return time.monotonic() - begun

    for some in _batches(planned, batch, since):
        if not new:
            begun = time.monotonic() - some[0].due
        pause = begun + some[0].due - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        seqs = given.setdefault(some[0].table, [])
        lines = [_renumbered(one.line, seqs) for one in some]
        amends = lines[0]["event"] == "amended"
        try:
            answers = (second if second and amends else sender).send(some[0].table, lines)
        except Stopped as stopped:
            raise Stopped(
                f"{_lines(some)}: {stopped}{_FOUR_EYES if stopped.status == 403 and amends else ''}"
            ) from stopped
        for answer in answers:
            seqs.append(answer["seq"])
            new += not answer["duplicate"]
            for found in answer["raised"]:
                say(told(some[0].table, found))
    return new


#: What helps where an amendment is not allowed.
_FOUR_EYES = (
    "\nAn entry of a hand that is over is put right by another device than the one that recorded it, and both have to "
    "supervise. Make a second one for the table and name its key with --second-key-file; what is there already is kept."
)


def _lines(some: list[Planned]) -> str:
    first, last = some[0].number, some[-1].number
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _renumbered(line: Line, seqs: list[int]) -> Line:
    if line["event"] != "amended":
        return line
    sent = {**line, "seq": seqs[line["seq"] - 1] if 0 < line["seq"] <= len(seqs) else line["seq"]}
    if isinstance(entry := line.get("entry"), dict):
        sent["entry"] = {**entry, "table": line["table"]}
    return sent


def _batches(planned: Iterable[Planned], size: int, now: Callable[[], float]) -> Iterator[list[Planned]]:
    """Events of one table that follow each other and are due; an amendment alone, as it needs the answers before."""
    some: list[Planned] = []
    for one in planned:
        alone = one.line["event"] == "amended" or (some and some[-1].line["event"] == "amended")
        if some and (len(some) >= size or one.table != some[0].table or alone or one.due > now()):
            yield some
            some = []
        some.append(one)
    if some:
        yield some


def told(table: str, found: dict[str, Any]) -> str:
    """A finding in a line."""
    where = f"{table} shoe {found['shoe']}" + (f" hand {found['hand']}" if found["hand"] else "")
    rules = f" ({', '.join(found['rules'])})" if found["rules"] else ""
    return f"{where}, entry {found['seq'][-1]}: {found['title']}. {found['ruling']}{rules}"

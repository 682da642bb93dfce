"""How an entry comes from a device: when it was tapped, and whether what others recorded meanwhile is in its way.

A device sends its entries in order, each with the head that its page showed when it was tapped. By then the table may
be further on: by the device's own entries, which are in nobody's way, or by another's. Only what the person should have
seen before stops an entry.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dealing import log
from dealing.digits import read_digits
from dealing.models import Table
from dealing.rules.events import Bet, Event, Paid, parse_line

Line = Mapping[str, object]

#: Money goes its own way beside the cards: these disturb each other at the same seat and bet, and nothing else.
MONEY: Final = frozenset({Bet.name, Paid.name})
#: How often another head is tried before the press is given back.
TRIES: Final = 5
#: More than this by others was certainly not seen.
FAR: Final = 200

_DEVICE: Final = re.compile(r"[A-Za-z0-9_-]{4,40}")


def device_of(data: Mapping[str, Any]) -> str:
    """The device that sends; empty for a page without script. Its keys begin with it and a dot."""
    device = str(data.get("device", ""))
    return device if _DEVICE.fullmatch(device) else ""


def waited(data: Mapping[str, Any]) -> dt.timedelta:
    """How long ago the entry was tapped (`ago`, milliseconds); at once where nothing sensible is said."""
    ago = read_digits(data.get("ago"), 11)
    return log.AT_ONCE if ago is None else dt.timedelta(milliseconds=ago)


def record(
    compose: Callable[[], Sequence[Line]],
    *,
    table: Table,
    actor: str,
    seen: int | None,
    device: str = "",
    ago: dt.timedelta = log.AT_ONCE,
    check: log.Check | None = None,
) -> list[log.Recorded]:
    """Record the lines of one press behind what is in nobody's way. Raises as `log.record_many` does.

    `compose` makes the lines for the table as it is; it is asked again where somebody was quicker.
    """
    for left in range(TRIES, -1, -1):
        lines = compose()
        head = _head(table, lines, seen, device)
        try:
            return log.record_many(lines, actor=actor, expected_seq=head, ago=ago, check=check)
        except log.Conflict as conflict:
            now = int(str(conflict.params["seq"]))
            if not left or now == table.last_seq:
                raise
            table.last_seq = now
    raise AssertionError("the last try raises")


def _head(table: Table, lines: Sequence[Line], seen: int | None, device: str) -> int | None:
    """The head to record behind: the table's, where nothing since `seen` is in the way, else `seen`."""
    if seen is None or seen >= table.last_seq:
        return seen
    newer = list(
        table.events.filter(seq__gt=seen, seq__lte=table.last_seq)
        .order_by("seq")
        .values_list("name", "key", "payload")[: FAR + 1]
    )
    if len(newer) > FAR:
        return seen
    for name, key, payload in newer:
        own = bool(device) and (key or "").startswith(f"{device}.")
        if not own and any(_disturbs(name, payload, line) for line in lines):
            return seen
    return table.last_seq


def _disturbs(name: str, payload: str, line: Line) -> bool:
    if name not in MONEY:
        return True
    if line.get("event") not in MONEY:
        return False
    event: Event = parse_line(payload)
    return isinstance(event, Bet | Paid) and (event.seat, event.bet) == (line.get("seat"), line.get("bet"))

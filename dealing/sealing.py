"""Sealing what is recorded at a table: the key, the time of recording, and where the seals of its log begin."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from dealing import seal_keys, seals
from dealing.models import SealStart, Table, TableEvent

#: A row's seal: of the seal (or hash) of the row before, the position and the payload; None where there is no key.
Sealer = Callable[[str, int, str], str | None]


def scope_of(code: str) -> str:
    """What the seals of a table's log are made for."""
    return f"table {code}"


def not_before(table: Table) -> dt.datetime:
    """Now, and never before the table's last row was recorded, also where the server's clock was put back."""
    now, last = timezone.now(), table.last_recorded_at
    if last is None and table.last_seq:  # a row from before this was kept at the table
        row = TableEvent.objects.filter(table=table, seq=table.last_seq).values_list("recorded_at").first()
        last = None if row is None else row[0]
    return now if last is None else max(now, last)


def sealer_for(table: Table, actor: str, recorded_at: dt.datetime) -> Sealer:
    """What seals the rows of a table that are recorded together."""
    key = seal_keys.sealing_key()
    return _no_seal if key is None else seals.sealer(key, scope_of(table.code), actor, recorded_at)


def _no_seal(_previous: str, _seq: int, _payload: str) -> None:
    return None


def seal_of(table: Table, seq: int, payload: str, actor: str, recorded_at: dt.datetime) -> str | None:
    """The seal of the table's next row."""
    return sealer_for(table, actor, recorded_at)(table.last_seal or table.head_hash, seq, payload)


def start_of(table: Table, ring: seal_keys.Ring | None) -> seals.Start:
    """Up to where the table's rows are older than the seals."""
    return seals.read_start(ring, scope_of(table.code), table.seal_starts.all())


def begin(tables: Any, starts: Any, key: seal_keys.Key, actor: str) -> list[tuple[str, int]]:
    """Begin the seals of the logs whose last row has none: table codes, and up to where rows stay without.

    `tables`, `starts`: the managers of `Table` and `SealStart`, those of a migration too.
    """
    begun = []
    waiting: Sequence[int] = list(
        tables.filter(last_seq__gt=0, last_seal=None).order_by("code").values_list("pk", flat=True)
    )
    for pk in waiting:
        with transaction.atomic():
            table = tables.select_for_update().filter(pk=pk, last_seq__gt=0, last_seal=None).first()
            if table is None or starts.filter(table_id=pk, seq=table.last_seq).exists():
                continue
            at, scope = timezone.now(), scope_of(table.code)
            seal = seals.seal_start(key, scope, table.last_seq, table.last_hash, actor, at)
            starts.create(table_id=pk, seq=table.last_seq, hash=table.last_hash, recorded_at=at, actor=actor, seal=seal)
            begun.append((table.code, table.last_seq))
    return begun


def begin_all(actor: str) -> list[tuple[str, int]]:
    """As `begin`, for every table. Raises `KeyFileError` where there is no key."""
    keys = seal_keys.ring()
    if keys is None:
        raise seal_keys.KeyFileError("there is no seal key yet")
    return begin(Table.objects, SealStart.objects, keys.newest, actor)

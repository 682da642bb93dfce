"""A database from before the seals: columns are added without making tables anew; what is there is bound as it is."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from dealing import triggers
from dealing.models import SealStart, Table, TableEvent
from dealing.verify import verify_table
from incidents.models import Decision
from incidents.trail.models import TrailEntry
from tests.attacker import Attacker
from tests.conftest import MakeTable, People
from tests.incident_logs import House

LOG = TableEvent._meta.db_table


def statements(*target: str) -> str:
    out = io.StringIO()
    call_command("sqlmigrate", *target, stdout=out)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_the_log_is_not_written_anew() -> None:
    said = statements("dealing", "0006")
    log = [line for line in said.splitlines() if f'"{LOG}"' in line or '"dealing_table"' in line]
    altered = [line for line in log if not line.startswith(("--", "CREATE TABLE", 'ALTER TABLE "dealing_sealstart"'))]
    assert len(altered) == 3
    assert all(
        line.startswith("ALTER TABLE") and " ADD COLUMN " in line and line.endswith(" NULL;") for line in altered
    )
    assert "new__" not in said


@pytest.mark.django_db(transaction=True)
def test_an_older_database_is_bound_as_it_is(table: MakeTable, people: People, settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIR = tmp_path / "keys"
    house = House(table("B07"), people)
    house.record("open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end", together=True)
    house.decide("correct", reason="as the rules say")
    count = TableEvent.objects.count()
    with triggers.suspended():  # a trail that holds entries cannot be taken away otherwise
        TrailEntry.objects.all().delete()
    try:
        call_command("migrate", "trail", "zero", verbosity=0)
        call_command("migrate", "dealing", "0005", verbosity=0)
        assert triggers.missing(LOG) == []
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT id FROM {LOG} ORDER BY seq")
            ids = [pk for (pk,) in cursor.fetchall()]
    finally:
        call_command("migrate", verbosity=0)
    assert triggers.missing(LOG) == triggers.missing("dealing_sealstart") == []
    assert [row.pk for row in TableEvent.objects.order_by("seq")] == ids
    start = SealStart.objects.get()
    assert (start.seq, start.hash, start.actor) == (count, Table.objects.get().last_hash, "migration")
    house.record("hand:2 open close P1:9h")
    result = verify_table("B07")
    assert (result.broken, result.older) == (None, count)
    entries = TrailEntry.objects.order_by("seq")
    assert [entry.kind for entry in entries] == ["incident", "decision"]
    assert all('"adopted":true' in entry.payload for entry in entries)
    out = io.StringIO()
    call_command("verify_log", stdout=out)
    assert f"B07: the rows up to position {count} are older than the seals" in out.getvalue()
    # From now on the older rows are bound as well.
    Attacker(Table.objects.get()).does(lambda rows: rows[1].update(actor="nobody"))
    assert verify_table("B07").broken is not None
    assert Decision.objects.count() == 1

"""`python -m tests.upgrades.load FILE`: an older database into the empty one that DATABASE_URL names, then up to date.

Prints as JSON what is to be the same before and after (rows of the record, shoes, hands, incidents, decisions), what
`verify_log` says, and how the pages answer. `--fill FILE` stops before anything is migrated.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import lzma
import os
import sys
from pathlib import Path
from typing import Any

import django

#: What must be as it was, whatever columns were added.
KEPT = (
    *("dealing_tableevent", "dealing_shoe", "dealing_hand", "dealing_table", "dealing_dealershift"),
    *("incidents_incident", "incidents_incidentfinding", "incidents_decision"),
    *("incidents_auditreport", "incidents_auditrun", "incidents_tableaudit"),
)


def value_of(field: Any, stored: Any) -> Any:
    """What SQLite stored, as the field's own type."""
    from django.db import models

    if stored is None:
        return None
    if isinstance(field, models.BooleanField):
        return bool(stored)
    if isinstance(field, models.JSONField):
        return json.loads(stored)
    if isinstance(field, models.DateTimeField):
        return dt.datetime.fromisoformat(stored).replace(tzinfo=dt.UTC)
    return field.to_python(stored)


def fill(path: Path) -> dict[str, Any]:
    """Fill the database, of the schema of that time, with what a file holds; its tables."""
    from django.db import connection, transaction
    from django.db.migrations.executor import MigrationExecutor

    kept = json.loads(lzma.decompress(path.read_bytes()))
    applied = [(app, name) for app, name in kept["migrations"]]
    executor = MigrationExecutor(connection)
    executor.migrate([node for node in applied if node in executor.loader.graph.nodes])
    executor = MigrationExecutor(connection)
    state = executor.loader.project_state([node for node in applied if node in executor.loader.graph.nodes])
    models = {model._meta.db_table: model for model in state.apps.get_models(include_auto_created=True)}
    with transaction.atomic(), connection.constraint_checks_disabled():
        for table, content in kept["tables"].items():
            columns = {field.column: field for field in models[table]._meta.concrete_fields}
            fields = [columns[name] for name in content["columns"]]
            models[table]._base_manager.all().delete()
            models[table]._base_manager.bulk_create(
                [
                    models[table](**{f.attname: value_of(f, v) for f, v in zip(fields, row, strict=True)})
                    for row in content["rows"]
                ],
                batch_size=500,
            )
        if connection.vendor == "postgresql":
            for model in models.values():
                if model._meta.auto_field is not None:
                    _count_on(connection, model)
    return dict(kept["tables"])


def load(path: Path) -> dict[str, Any]:
    """The same, migrated to the schema of today; the rows of `KEPT` before and after."""
    from django.core.management import call_command

    tables = fill(path)
    before = rows(tables)
    call_command("migrate", verbosity=0)
    after = rows(tables)
    same = {table: _only(after[table], before[table]) for table in before}
    return {"before": before, "after": same, "after_whole": {"incidents_decision": after["incidents_decision"]}}


def _count_on(connection: Any, model: Any) -> None:
    table, column = model._meta.db_table, model._meta.pk.column
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence('\"{table}\"', '{column}'), "
            f'coalesce((SELECT max("{column}") FROM "{table}"), 0) + 1, false)'
        )


def rows(tables: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Each row of the tables of `KEPT` that the file has, every value as text."""
    from django.db import connection

    found = {}
    with connection.cursor() as cursor:
        for table in KEPT:
            if table in tables:
                key = "id" if "id" in tables[table]["columns"] else tables[table]["columns"][0]
                cursor.execute(f'SELECT * FROM "{table}" ORDER BY "{key}"')
                names = [column[0] for column in cursor.description]
                found[table] = [dict(zip(names, map(str, row), strict=True)) for row in cursor.fetchall()]
    return found


def _only(rows: list[dict[str, str]], like: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows with the columns that there were before."""
    columns = like[0].keys() if like else ()
    return [{name: row.get(name, "(gone)") for name in columns} for row in rows]


def told(*command: str) -> list[str]:
    """What a command says."""
    from django.core.management import call_command

    out = io.StringIO()
    with contextlib.suppress(SystemExit):
        call_command(*command, stdout=out, stderr=out)
    return out.getvalue().splitlines()


def pages() -> dict[str, int]:
    """Each page of the record, opened by an auditor of that time: address -> status."""
    from django.contrib.auth.models import User
    from django.test import Client

    from incidents.models import Incident
    from incidents.reports.models import AuditReport

    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(groups__name="auditor"), backend="dealing.people_backend.PeopleBackend")
    addresses = ["/tables/", "/incidents/", "/reports/"]
    addresses += [f"/incidents/{one.pk}/" for one in Incident.objects.order_by("pk")]
    addresses += [f"/reports/{one.pk}/" for one in AuditReport.objects.order_by("pk")]
    return {address: client.get(address, follow=True).status_code for address in addresses}


def main(path: Path) -> dict[str, Any]:
    """Upgrade, and everything that is to be said of what came of it."""
    found = load(path)
    found["judged"] = told("verify_log", "--projections")
    found["pages"] = pages()
    told("rebuild")
    found["rebuilt"] = told("verify_log", "--projections")
    found["decided"] = rows({"incidents_decision": {"columns": ["id"]}})
    return found


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")
    django.setup()
    if sys.argv[1] == "--fill":
        fill(Path(sys.argv[2]))
    else:
        json.dump(main(Path(sys.argv[1])), sys.stdout)

"""Migrations hold up nobody who records: what a new one may do to a large table, and how `migrate` gives way."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, migrations, models
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState

from baccarat_audit.operations import migrating, snapshots
from baccarat_audit.operations.migrating import GaveUp, patiently
from dealing import schema

ROOT = Path(settings.BASE_DIR)
#: These grow with every hand, incident or night.
LARGE = {
    *("dealing_tableevent", "dealing_hand", "dealing_shoe"),
    *("incidents_incident", "incidents_incidentfinding", "incidents_decision", "incidents_incidentreview"),
    *("incidents_auditday", "incidents_auditrun", "incidents_tableaudit", "incidents_auditreport"),
}
#: Up to here tables were made while nobody recorded; every migration since is looked at.
BASE = {"dealing": "0005_chain_walks", "incidents": "0009_reports_append_only"}
#: Python that runs in a migration cannot be read as SQL. Who adds some looks at it and says here why it is short.
LOOKED_AT = {
    ("dealing", "0006_seals"): "one row for each table, and one look at its head",
    ("accounts", "0002_append_only"): "sessions: some hundred rows",
    ("trail", "0003_adopt"): "in batches, each a transaction of its own",
    ("trail", "0005_shifts_and_signed"): "in batches, each a transaction of its own",
}
#: In this order recording takes them. A migration that took two of them the other way round and recording would wait
#: for each other, and the migration would give way again and again.
TAKEN = ["dealing_table", "dealing_tableevent", "dealing_shoe", "dealing_hand", "incidents_incident"]
#: What squawk says that is no matter here: `migrate` sets the time that a statement may wait; the rest is taste, or is
#: about a moment's lock.
NO_MATTER = (
    *("require-lock-timeout", "require-statement-timeout", "prefer-bigint-over-int", "prefer-bigint-over-smallint"),
    *("prefer-text-field", "prefer-identity", "prefer-robust-stmts", "prefer-timestamp-tz", "ban-drop-default"),
    *("require-concurrent-index-deletion", "require-timeout-settings"),
)
#: An empty column that refers to another table: PostgreSQL knows that there is nothing to look at.
EMPTY_REFERENCE = re.compile(r'\AALTER TABLE "\w+" ADD COLUMN "\w+" \w+ NULL CONSTRAINT "\w+" REFERENCES ')
TARGET = re.compile(
    r"\A(?:ALTER TABLE(?: ONLY)?|UPDATE|DELETE FROM|DROP TABLE|TRUNCATE|LOCK TABLE|INSERT INTO|"
    r'CREATE (?:UNIQUE )?INDEX(?: CONCURRENTLY)?(?: IF NOT EXISTS)? "\w+" ON)\s+"?(\w+)"?',
    re.IGNORECASE,
)


def what_holds_people_up(statements: list[str]) -> list[str]:
    """Of the statements of a migration, those that block a large table for long, and why."""
    about = [text for text in statements if (found := TARGET.match(text)) and found[1] in LARGE]
    wrong = [f"{text}  [rewrites many rows at once]" for text in about if re.match(r"UPDATE|DELETE|INSERT", text, re.I)]
    about = [text for text in about if not EMPTY_REFERENCE.match(text)]
    if about:
        command = [str(Path(sys.executable).with_name("squawk")), "--reporter=json", "--pg-version=13"]
        command.append(f"--exclude={','.join(NO_MATTER)}")
        text = "".join(f"{one.replace(chr(10), ' ')};\n" for one in about)  # a line each: that is how answers are named
        said = subprocess.run(command, input=text, capture_output=True, text=True)
        for one in json.loads(said.stdout):
            wrong.append(f"{about[one['line']]}  [{one['rule_name']}: {one['message']}]")
    return wrong


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE INDEX "x" ON "dealing_hand" ("winner")',
        'CREATE UNIQUE INDEX "x" ON "dealing_tableevent" ("hash")',
        'ALTER TABLE "dealing_tableevent" ADD COLUMN "x" varchar(3) NOT NULL',
        'ALTER TABLE "dealing_tableevent" ADD CONSTRAINT "x" CHECK ("seq" >= 1)',
        'ALTER TABLE "incidents_incident" ADD CONSTRAINT "x" UNIQUE ("opened_seq")',
        'ALTER TABLE "incidents_incident" ADD CONSTRAINT "x" FOREIGN KEY ("by_id") REFERENCES "auth_user" ("id")',
        'ALTER TABLE "dealing_hand" ALTER COLUMN "winner" TYPE varchar(20)',
        'ALTER TABLE "dealing_hand" ALTER COLUMN "winner" SET NOT NULL',
        'ALTER TABLE "dealing_hand" RENAME COLUMN "winner" TO "won_by"',
        'ALTER TABLE "dealing_hand" DROP COLUMN "winner" CASCADE',
        'ALTER TABLE "dealing_hand" RENAME TO "dealing_deal"',
        'DROP TABLE "dealing_hand" CASCADE',
        "UPDATE dealing_hand SET winner = ''",
    ],
)
def test_what_would_hold_people_up_is_found(statement: str) -> None:
    assert what_holds_people_up(["SELECT 1", statement, "SELECT 2"]) != []


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE INDEX CONCURRENTLY "x" ON "dealing_hand" ("winner")',
        'CREATE INDEX "x" ON "dealing_venue" ("name")',
        'ALTER TABLE "dealing_tableevent" ADD COLUMN "x" text NULL',
        'ALTER TABLE "dealing_tableevent" ADD COLUMN "x" integer DEFAULT 3 NOT NULL',
        'ALTER TABLE "dealing_tableevent" ADD CONSTRAINT "x" CHECK ("seq" >= 1) NOT VALID',
        'ALTER TABLE "dealing_tableevent" VALIDATE CONSTRAINT "x"',
        'ALTER TABLE "dealing_hand" ADD COLUMN "d_id" bigint NULL CONSTRAINT "x" REFERENCES "d"("id") DEFERRABLE',
        'ALTER TABLE "small" ADD CONSTRAINT "x" FOREIGN KEY ("hand_id") REFERENCES "dealing_hand" ("id")',
    ],
)
def test_what_holds_nobody_up_may_be_done(statement: str) -> None:
    assert what_holds_people_up([statement]) == []


def new_migrations() -> Iterator[Migration]:
    """Those of the product that came after BASE, in the order in which they are applied."""
    loader = MigrationLoader(connection, replace_migrations=False)
    ours = {
        app.label for app in apps.get_app_configs() if Path(app.path).is_relative_to(ROOT) and ".venv" not in app.path
    }
    done: set[tuple[str, str]] = set()
    for app, name in BASE.items():
        done |= set(loader.graph.forwards_plan((app, name)))
    for leaf in loader.graph.leaf_nodes():
        for node in loader.graph.forwards_plan(leaf):
            if node not in done and node[0] in ours:
                done.add(node)
                yield loader.graph.nodes[node]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_no_new_migration_holds_people_up() -> None:
    wrong = []
    loader = MigrationLoader(connection, replace_migrations=False)
    for migration in new_migrations():
        statements = [text.strip().rstrip(";") for text in loader.collect_sql([(migration, False)])]
        wrong += [f"{migration}: {problem}" for problem in what_holds_people_up(statements)]
        taken = [TAKEN.index(found[1]) for text in statements if (found := TARGET.match(text)) and found[1] in TAKEN]
        if taken != sorted(taken):
            wrong.append(f"{migration}: takes tables in another order than recording, which is {', '.join(TAKEN)}")
        concurrent = any("CONCURRENTLY" in text for text in statements)
        if concurrent and (migration.atomic or len(migration.operations) > 1):
            wrong.append(f"{migration}: an index made concurrently wants a migration of its own, with atomic = False")
    assert wrong == []


@pytest.mark.django_db
def test_python_in_new_migrations_was_looked_at() -> None:
    unseen = [
        str(migration)
        for migration in new_migrations()
        for operation in migration.operations
        if isinstance(operation, (migrations.RunPython, migrations.RunSQL))
        and getattr(getattr(operation, "code", None), "__module__", "") != "dealing.triggers"
        and (migration.app_label, migration.name) not in LOOKED_AT
    ]
    assert unseen == [], "look how long it takes on a large table, and say so in LOOKED_AT"


# The operations that hold nobody up, on either database.


@pytest.mark.django_db(transaction=True)
def test_an_index_and_a_check_are_made_and_taken_back() -> None:
    fields: list[tuple[str, models.Field[Any, Any]]] = [
        ("id", models.BigAutoField(primary_key=True)),
        ("number", models.IntegerField()),
    ]
    state = ProjectState()
    state.add_model(ModelState("dealing", "Thing", fields, options={"indexes": [], "constraints": []}))
    with connection.schema_editor() as editor:
        editor.create_model(state.apps.get_model("dealing", "Thing"))
    check = models.CheckConstraint(condition=models.Q(number__gte=1), name="thing_positive")
    steps: list[Any] = [
        schema.AddIndex("thing", models.Index(fields=["number"], name="thing_number")),
        schema.AddConstraint("thing", check),
        schema.ValidateConstraint("thing", "thing_positive"),
        schema.RemoveIndex("thing", "thing_number"),
    ]
    seen = []
    try:
        for step in steps:
            after = state.clone()
            step.state_forwards("dealing", after)
            with connection.schema_editor(atomic=False) as editor:
                step.database_forwards("dealing", editor, state, after)
            state = after
            with connection.cursor() as cursor:
                seen.append(set(connection.introspection.get_constraints(cursor, "dealing_thing")))
        assert "thing_number" in seen[0]
        assert "thing_positive" in seen[1] & seen[2]
        assert "thing_number" not in seen[3]
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(state.apps.get_model("dealing", "Thing"))


# `migrate` gives way.


@pytest.fixture
def ground() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE ops_ground (n integer)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE ops_ground")


@pytest.fixture
def others() -> Iterator[psycopg.Connection[Any]]:
    """Somebody else at the same database."""
    with psycopg.connect(snapshots.address(str(connection.settings_dict["NAME"]))) as found:
        yield found


def widen() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ops_ground ADD COLUMN m integer")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_migrate_gives_way_and_tries_again(
    ground: None, others: psycopg.Connection[Any], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MIGRATE_LOCK_SECONDS, settings.MIGRATE_PATIENCE = 0.1, 60
    monkeypatch.setattr(time, "sleep", lambda _seconds: others.rollback())
    others.execute("INSERT INTO ops_ground VALUES (1)")
    said: list[str] = []
    patiently(connection, widen, said.append)
    assert said == ["others are at a table: given way to them, again in 0.5 s"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT m FROM ops_ground")
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_migrate_says_when_it_gives_up(ground: None, others: psycopg.Connection[Any], settings: Any) -> None:
    settings.MIGRATE_LOCK_SECONDS, settings.MIGRATE_PATIENCE = 0.1, 0.2
    others.execute("INSERT INTO ops_ground VALUES (1)")
    with pytest.raises(GaveUp, match=r"more than 0\.1 s each time.*pg_stat_activity"):
        patiently(connection, widen, print)
    others.rollback()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_one_migrate_at_a_time(others: psycopg.Connection[Any], settings: Any) -> None:
    settings.MIGRATE_PATIENCE = 0
    others.execute("SELECT pg_advisory_lock(%s)", [migrating.LOCK])
    with pytest.raises(CommandError, match="another migrate is running"):
        call_command("migrate", verbosity=0)
    others.execute("SELECT pg_advisory_unlock_all()")
    call_command("migrate", verbosity=0)
    assert others.execute("SELECT pg_try_advisory_lock(%s)", [migrating.LOCK]).fetchone() == (True,)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_half_an_index_is_made_anew(ground: None, settings: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO ops_ground VALUES (1), (1)")
        with pytest.raises(Exception, match="could not create unique index"):
            cursor.execute("CREATE UNIQUE INDEX CONCURRENTLY ops_once ON ops_ground (n)")
        cursor.execute("DELETE FROM ops_ground")

    def make() -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE UNIQUE INDEX CONCURRENTLY ops_once ON ops_ground (n)")

    patiently(connection, make, print)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_other_troubles_of_the_database_are_not_waited_for(settings: Any) -> None:
    def broken() -> None:
        raise OperationalError("the server closed the connection")

    with pytest.raises(OperationalError, match="the server closed"):
        patiently(connection, broken, print)


class OldVersion(threading.Thread):
    """Records as the version before does: by the columns that it knows, until told to stop."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url, self.stop, self.waits, self.trouble = url, threading.Event(), [0.0], ""

    def run(self) -> None:
        try:
            with psycopg.connect(self.url) as database:
                while not self.stop.is_set():
                    began = time.monotonic()
                    self.record(database)
                    self.waits.append(time.monotonic() - began)
        except psycopg.Error as error:
            self.trouble = str(error)

    def record(self, database: psycopg.Connection[Any]) -> None:
        found = database.execute("SELECT id, last_seq FROM dealing_table ORDER BY id LIMIT 1 FOR UPDATE").fetchone()
        assert found is not None
        table, seq = found[0], found[1] + 1
        database.execute(
            "INSERT INTO dealing_tableevent (table_id, seq, shoe_number, hand_number, name, at, key, by, payload, "
            "prev_hash, hash, recorded_at, actor) "
            "VALUES (%s, %s, 9, 1, 'note', now(), %s, '', '{}', 'p', 'h', now(), 'somchai')",
            [table, seq, f"key-{seq}"],
        )
        database.execute("UPDATE dealing_hand SET last_seq = last_seq WHERE id = (SELECT min(id) FROM dealing_hand)")
        database.execute(
            "UPDATE dealing_table SET last_seq = %s, last_hash = 'h', last_at = now() WHERE id = %s", [seq, table]
        )
        database.commit()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_people_record_while_the_newest_migrations_run(tmp_path: Path) -> None:
    older = ROOT / "tests" / "upgrades" / "dealing-0005-incidents-0009.json.xz"
    with snapshots.scratch(tmp_path, "20261130T111111Z") as url:
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings", "LOG_LEVEL": "ERROR"}
        environment |= {"DATABASE_URL": url, "VAR_DIR": str(tmp_path), "MIGRATE_LOCK_SECONDS": "0.3"}
        environment["MIGRATE_PATIENCE"] = "45"

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, *arguments]
            return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)

        assert run("-m", "tests.upgrades.load", "--fill", str(older)).returncode == 0
        writer = OldVersion(url)
        with psycopg.connect(url) as reader:
            reader.execute("SELECT count(*) FROM dealing_tableevent")  # a report that somebody is making
            threading.Timer(3.0, reader.rollback).start()
            writer.start()
            done = run("manage.py", "migrate")
            recorded = len(writer.waits)
            writer.stop.set()
            writer.join()
        assert done.returncode == 0, done.stderr
        assert writer.trouble == ""
        assert recorded > 10
        assert max(writer.waits) < 5, "somebody at a table waited for the schema"
        with psycopg.connect(url) as database:
            found = database.execute(
                "SELECT count(*), count(DISTINCT key) FROM dealing_tableevent WHERE hash = 'h'"
            ).fetchone()
        assert found == (len(writer.waits) - 1, len(writer.waits) - 1)

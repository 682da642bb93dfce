"""Backup while people record, restore, and what is said where either cannot be done."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings as configured
from django.core.management import CommandError, call_command
from django.db import connection

from baccarat_audit.operations import backups, restores, snapshots
from baccarat_audit.operations.backups import BackupError
from dealing.log import record, record_many
from dealing.models import Table, TableEvent
from incidents import attachments
from incidents.models import Incident, IncidentAttachment
from tests.conftest import MakeTable, People
from tests.table_logs import Lines, simulated, written

ROOT = Path(configured.BASE_DIR)
#: Seconds that a writer at a table may take to get somewhere, on a machine that is busy.
PATIENCE = 30

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A trial is made by a process of its own, which is to find what whoever runs the product has.
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    return Path(settings.VAR_DIR)


def manage(*arguments: str, url: str, var: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as whoever runs the product does."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings", "LOG_LEVEL": "ERROR"}
    environment |= {"DATABASE_URL": url, "VAR_DIR": str(var), "KEYS_DIR": str(configured.KEYS_DIR)}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def here() -> str:
    """The address of the suite's own database."""
    return snapshots.address(str(connection.settings_dict["NAME"]))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The address of an empty database."""
    with snapshots.scratch(tmp_path, "20261130T000000Z") as url:
        yield url


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """A connection of the database's own driver."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as found:
            yield found
    else:
        with psycopg.connect(url) as found:
            yield found


def rows_in(url: str) -> list[tuple[str, int, str, str]]:
    """(table, position, key, hash) of every row of the log."""
    with opened(url) as database:
        return list(
            database.execute(
                "SELECT t.code, e.seq, e.key, e.hash FROM dealing_tableevent e "
                "JOIN dealing_table t ON t.id = e.table_id ORDER BY t.code, e.seq"
            ).fetchall()
        )


class Recording:
    """People at several tables who record until told to stop, each entry with its key."""

    def __init__(self, codes: list[str]) -> None:
        self.confirmed: dict[str, list[str]] = {code: [] for code in codes}
        self.errors: list[Exception] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._record, args=(code,)) for code in codes]

    def _record(self, code: str) -> None:
        try:
            for number, line in enumerate(written(simulated(code, shoes=40, seed=len(code))).splitlines()):
                if self._stop.is_set():
                    return
                key = f"{code}-{number}"
                record({**json.loads(line), "key": key}, actor="somchai")
                self.confirmed[code].append(key)
        except Exception as error:  # noqa: BLE001  # shown by the test
            self.errors.append(error)
        finally:
            connection.close()

    def so_far(self) -> dict[str, list[str]]:
        return {code: list(keys) for code, keys in self.confirmed.items()}

    def wait_for(self, count: int) -> None:
        """Until each has recorded so many more."""
        wanted = {code: len(keys) + count for code, keys in self.so_far().items()}
        for _ in range(PATIENCE * 20):
            if self.errors or all(len(self.confirmed[code]) >= number for code, number in wanted.items()):
                return
            threading.Event().wait(0.05)
        pytest.fail(f"nobody records: {wanted}, {[len(keys) for keys in self.confirmed.values()]}")

    def __enter__(self) -> Recording:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)


def test_what_was_confirmed_before_a_backup_is_in_it_and_what_came_later_can_be_added(
    table: MakeTable, tmp_path: Path, elsewhere: str
) -> None:
    codes = ["B01", "B02", "B03"]
    for code in codes:
        table(code)
    with Recording(codes) as people:
        people.wait_for(15)
        before = people.so_far()
        done = manage("backup", str(tmp_path / "backups"), url=here(), var=tmp_path / "var")
        people.wait_for(5)
    assert people.errors == []
    assert done.returncode == 0, done.stderr
    [folder] = backups.whole(tmp_path / "backups")

    done = manage("restore", str(tmp_path / "backups"), url=elsewhere, var=tmp_path / "other")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "clean"), done.stdout + done.stderr
    restored, live = rows_in(elsewhere), rows_in(here())
    heads = backups.find(folder).manifest.heads
    for code in codes:
        mine, all_of_it = [row for row in restored if row[0] == code], [row for row in live if row[0] == code]
        assert mine == all_of_it[: len(mine)]  # of one moment: nothing in between is missing, nothing is doubled
        assert {row[2] for row in mine} >= set(before[code])
        assert (heads[code]["events"], heads[code]["head"]) == (len(mine), mine[-1][3])
        assert len(all_of_it) > len(mine)  # people did go on

    since = tmp_path / "since.jsonl"
    call_command("export_log", *codes, output=str(since))
    options = ["--replace", "--then-log", str(since), "--projections"]
    done = manage("restore", str(folder), *options, url=elsewhere, var=tmp_path / "other")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kept" in done.stdout
    assert [row[:3] for row in rows_in(elsewhere)] == [row[:3] for row in live]


def test_a_backup_is_rehearsed_before_older_ones_are_removed(
    table: MakeTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    for name in ("20260101T000000Z", "20260102T000000Z"):
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / backups.MANIFEST).write_text("{}")
    (tmp_path / "all" / "holiday-pictures").mkdir()
    call_command("backup", str(tmp_path / "all"), verify=True, keep=2)
    said = capsys.readouterr().out
    assert f"B07: {Table.objects.get().last_seq} events, whole; head {Table.objects.get().last_hash}" in said
    assert "20260101T000000Z: removed" in said
    assert len(backups.whole(tmp_path / "all")) == 2
    assert (tmp_path / "all" / "holiday-pictures").is_dir()


def test_a_log_that_was_changed_before_the_backup_is_found_by_the_rehearsal(
    table: MakeTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dealing import triggers

    table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")
    with triggers.suspended():
        TableEvent.objects.filter(seq=3).update(payload=TableEvent.objects.get(seq=2).payload)
    with pytest.raises(SystemExit) as left:
        call_command("backup", str(tmp_path / "all"), verify=True, keep=1)
    assert left.value.code == 1
    assert "B07 position 3" in capsys.readouterr().out


# One backup, and all that can be wrong with it.


@pytest.fixture
def attached(table: MakeTable, people: People, var: Path) -> IncidentAttachment:
    """A house with a hand, an incident and a picture."""
    table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1, "P1:2h B1:4s P2:Kd B2:3c P3:2d B3:5d")], actor="somchai")
    incident = Incident.objects.get()
    stored = attachments.store([b"\x89PNG\r\n\x1a\n....IHDR", b"..."], attachments.PNG)
    user = people("manager")
    return IncidentAttachment.objects.create(
        incident=incident, name="felt", media_type="image/png", size=stored.size, sha256=stored.sha256,
        stored=stored.name, added_by=user, added_by_name="Malee", added_at=incident.opened_at,
    )  # fmt: skip


@pytest.fixture
def backup(attached: IncidentAttachment, tmp_path: Path) -> backups.Backup:
    return backups.make(tmp_path / "all")


def test_attachments_are_in_a_backup_for_its_owner_only(backup: backups.Backup, attached: IncidentAttachment) -> None:
    name = f"media/incidents/{attached.stored}"
    assert backup.manifest.files == {name: {"size": attached.size, "sha256": attached.sha256}}
    assert (backup.folder / "files" / name).read_bytes().startswith(b"\x89PNG")
    assert backup.manifest.rows["incidents_incidentattachment"] == 1
    files = [path for path in backup.folder.rglob("*") if path.is_file()]
    assert [path.name for path in (backup.folder, *files) if path.stat().st_mode & 0o077] == []
    assert backups.damage(backup) == []


def test_a_changed_backup_is_not_put_back(backup: backups.Backup) -> None:
    picture = next((backup.folder / "files").rglob("*.png"))
    picture.write_bytes(picture.read_bytes()[:-1] + b"!")
    backup.database.unlink()
    with pytest.raises(BackupError, match=r"damaged: database\.\w+: No such file.*\.png: is not what was backed up"):
        restores.check(backup, replace=True)


def test_nothing_is_put_over_what_is_there(backup: backups.Backup) -> None:
    with pytest.raises(BackupError, match="the database is not empty; --replace"):
        restores.check(backup, replace=False)


def test_files_that_are_there_are_in_the_way_too(
    backup: backups.Backup, var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "is_empty", lambda: True)
    with pytest.raises(BackupError, match="media is not empty"):
        restores.check(backup, replace=False)


def rewritten(backup: backups.Backup, **changes: Any) -> backups.Backup:
    path = backup.folder / backups.MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return backups.find(backup.folder)


def test_a_backup_of_a_newer_version_is_refused_by_name(backup: backups.Backup) -> None:
    newer = rewritten(backup, migrations=[*backup.manifest.migrations, ["dealing", "9999_later"]])
    with pytest.raises(BackupError, match=r"newer version.*dealing 9999_later"):
        restores.check(newer, replace=True)


def test_a_backup_of_another_kind_of_database_is_refused(backup: backups.Backup) -> None:
    other = "sqlite" if connection.vendor == "postgresql" else "postgresql"
    with pytest.raises(BackupError, match=r"the backup is of .*, and DATABASE_URL names"):
        restores.check(rewritten(backup, vendor=other), replace=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no manifest"),
        ("[]", "is no manifest"),
        ('{"format": 1}', "is no manifest"),
        ('{"format": 7, "migrations": []}', "is of format 7"),
    ],
)
def test_what_is_no_manifest_is_said(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / backups.MANIFEST).write_text(content)
    with pytest.raises(CommandError, match=said):
        call_command("restore", str(tmp_path))


def test_a_folder_without_backups_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no backup in it"):
        call_command("restore", str(tmp_path))
    with pytest.raises(CommandError, match="is no folder"):
        call_command("restore", str(tmp_path / "nowhere"))
    with pytest.raises(CommandError, match=r"there is no file since\.jsonl"):
        call_command("restore", str(tmp_path), then_log=["since.jsonl"])


def test_a_restore_that_fails_changes_nothing(backup: backups.Backup, var: Path) -> None:
    before = rows_in(here())
    assert before
    backup.database.write_bytes(b"this is no database, whatever its manifest says" * 99)
    with pytest.raises(BackupError):
        restores.put_back(backup)
    assert rows_in(here()) == before
    assert Table.objects.get().last_seq == len(before)
    assert [path.name for path in var.iterdir()] == ["media"]


def test_files_that_cannot_be_put_back_bring_everything_back(
    backup: backups.Backup, var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, copytree = rows_in(here()), shutil.copytree

    def full(*arguments: Any, **options: Any) -> None:
        copytree(*arguments, **options)
        raise OSError(28, "No space left on device", str(arguments[1]))

    monkeypatch.setattr("shutil.copytree", full)
    with pytest.raises(BackupError, match="No space left on device"):
        restores.put_back(backup)
    assert rows_in(here()) == before
    assert [path.name for path in var.iterdir()] == ["media"]
    assert list(restores.faults(backup)) == []


def test_nothing_is_set_aside_while_somebody_is_connected(backup: backups.Backup) -> None:
    with opened(here()) as someone:
        someone.execute("SELECT count(*) FROM dealing_table").fetchone()
        with pytest.raises(BackupError, match="stop the services first"):
            restores.put_back(backup)
    assert Table.objects.get().last_seq == len(rows_in(here()))


def test_what_did_not_come_back_is_named(backup: backups.Backup, attached: IncidentAttachment, var: Path) -> None:
    lines = Lines()
    lines.open()
    lines.hand(1, "P1:2h B1:4s P2:Kd B2:3c P3:2d B3:5d")
    assert list(restores.faults(backup)) == []
    record_many(lines.hand(2), actor="somchai")
    (var / "media" / "incidents" / attached.stored).unlink()
    found = list(restores.faults(backup))
    assert len(found) == 2
    assert found[0].startswith(f"B07: ends at event {Table.objects.get().last_seq}")
    assert attached.stored in found[1]


# What keeps a backup from being made.


def test_a_full_disk_leaves_no_half_backup(
    attached: IncidentAttachment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/backups/x")

    monkeypatch.setattr(backups, "_copy", full)
    with pytest.raises(CommandError, match="/backups/x: No space left on device"):
        call_command("backup", str(tmp_path / "all"))
    assert [path.name for path in (tmp_path / "all").iterdir()] == [".lock"]


def test_two_backups_at_once_are_one(attached: IncidentAttachment, tmp_path: Path) -> None:
    with backups._alone(tmp_path), pytest.raises(CommandError, match="another backup is being made"):
        call_command("backup", str(tmp_path))


def test_what_a_killed_backup_left_is_swept(attached: IncidentAttachment, tmp_path: Path) -> None:
    (tmp_path / "20260101T000000Z.partial").mkdir()
    (tmp_path / "mine.partial").mkdir()
    (tmp_path / ".verify-1").mkdir()
    made = backups.make(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*")) == sorted(
        [".lock", "mine.partial", "var", made.folder.name]
    )


def test_pg_dump_that_is_missing_or_too_old_is_said(
    table: MakeTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL's programs")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match=r"pg_dump is not installed.*postgresql-client-\d+"):
        call_command("backup", str(tmp_path / "all"))
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24'\n")
    old.chmod(0o755)
    with pytest.raises(CommandError, match=r"too old for the server.*9\.6\.24"):
        call_command("backup", str(tmp_path / "all"))


@pytest.mark.sqlite
def test_a_damaged_database_is_no_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "db.sqlite3"
    broken.write_bytes(b"SQLite format 3\0" + b"\x01" * 5000)
    monkeypatch.setattr(snapshots, "_sqlite_file", lambda: broken)
    with pytest.raises(CommandError, match="SQLite: "):
        call_command("backup", str(tmp_path / "all"))
    assert backups.whole(tmp_path / "all") == []

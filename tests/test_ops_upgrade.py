"""What houses stored under older schemas is there after an upgrade, whole, and can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from baccarat_audit.operations import snapshots

ROOT = Path(settings.BASE_DIR)
OLDER = sorted((ROOT / "tests" / "upgrades").glob("*.json.xz"))
#: Hands of which the judge of today says more than the judge of that time did; `rebuild` writes that down.
JUDGED_OTHERWISE = {"dealing-0002-incidents-0006": ["B02 shoe 3 hand 3"], "dealing-0005-incidents-0009": []}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "older",
    # The older goes through every migration there is; the other, which has reports, is tried on PostgreSQL alone.
    [OLDER[0], *(pytest.param(one, marks=pytest.mark.postgresql) for one in OLDER[1:])],
    ids=lambda path: path.name.partition(".")[0],
)
def test_an_older_database_is_whole_after_the_upgrade(older: Path, tmp_path: Path) -> None:
    name = older.name.partition(".")[0]
    with snapshots.scratch(tmp_path, f"{OLDER.index(older):08}T000000Z") as url:
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings", "LOG_LEVEL": "ERROR"}
        environment |= {"DATABASE_URL": url, "VAR_DIR": str(tmp_path), "DEBUG": "1"}  # 1: no static files collected
        done = subprocess.run(
            [sys.executable, "-m", "tests.upgrades.load", str(older)],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=180,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    before, after = found["before"], found["after"]
    assert len(before["dealing_tableevent"]) > 2000
    assert len(before["incidents_decision"]) > 3
    for table, rows in before.items():
        assert after[table] == rows, table
    assert found["decided"]["incidents_decision"] == found["after_whole"]["incidents_decision"]

    chains = [line for line in found["judged"] if " events, whole; head " in line]
    assert len(chains) == len(before["dealing_table"])
    otherwise = [line.partition(":")[0] for line in found["judged"] if " differ from what the log says" in line]
    assert otherwise == JUDGED_OTHERWISE[name]
    # Incidents are judged otherwise with their hands, and noted in the trail once they are put right.
    left = [line for line in found["judged"] if "differ" not in line and not line.startswith("findings of table ")]
    assert [_subject(line) for line in left] == [_subject(line) for line in found["rebuilt"]]
    assert [line for line in found["rebuilt"] if "broken" in line or "missing" in line] == []

    assert len(found["pages"]) > 10
    assert {page: status for page, status in found["pages"].items() if status != 200} == {}


def _subject(line: str) -> str:
    """A line; of a trail only whose it is."""
    return line.partition(":")[0] if line.startswith("trail of table ") else line


def test_there_are_older_databases() -> None:
    assert [path.name.partition(".")[0] for path in OLDER] == sorted(JUDGED_OTHERWISE)

"""Commands on logs where a stream is closed, full or not UTF-8, or a database is not made: one line, no traceback."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from dealing.importer import import_log
from tests.conftest import MakeTable
from tests.table_logs import simulated, written

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("log") / "log.jsonl"
    file.write_text(written(simulated(seed=1, shoes=1)), encoding="utf-8")
    return file


def manage(
    arguments: str, tmp_path: Path, status: int, *, stderr: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """`manage.py` in a shell, on a database without tables; it must end with `status` and say no more than `stderr`."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}", **environment}
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" manage.py {arguments}; exit "${{PIPESTATUS[0]}}"'],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr == (f"CommandError: {stderr}\n" if stderr else "")
    return done


@pytest.mark.parametrize("command", ["audit_log", "import_log"])
def test_closed_standard_input(command: str, tmp_path: Path) -> None:
    manage(f"{command} - <&-", tmp_path, 2, stderr="standard input is closed")


def test_closed_standard_output(log: Path, tmp_path: Path) -> None:
    manage(f"audit_log '{log}' >&-", tmp_path, 2, stderr="standard output is closed")


def test_full_standard_output(log: Path, tmp_path: Path) -> None:
    manage(f"audit_log '{log}' >/dev/full", tmp_path, 2, stderr="standard output: No space left on device")


def test_standard_output_that_nobody_reads(log: Path, tmp_path: Path) -> None:
    manage(f"audit_log '{log}' --json | true", tmp_path, 2)


def test_closed_standard_error(log: Path, tmp_path: Path) -> None:
    done = manage(f"audit_log '{log}' 2>&-", tmp_path, 1)
    assert "hands in 1 shoes" in done.stdout


def test_thai_on_an_ascii_terminal(log: Path, tmp_path: Path) -> None:
    done = manage(f"audit_log '{log}' --lang th", tmp_path, 1, PYTHONIOENCODING="ascii")
    assert "\\u0e44" in done.stdout


def test_json_is_utf_8_on_any_terminal(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    line = '{"event": "shoe_opened", "at": "2026-11-28T20:00:00.000+07:00", "table": "B07", "shoe": 1, '
    file.write_text(f'{line}"ruleset": "standard", "by": "สมชาย"}}\n', encoding="utf-8")
    manage(f"audit_log '{file}' --json", tmp_path, 0, PYTHONIOENCODING="ascii")


@pytest.mark.parametrize("command", ["import_log '{log}'", "export_log B07", "verify_log", "rebuild"])
def test_a_database_without_tables(command: str, log: Path, tmp_path: Path) -> None:
    manage(command.format(log=log), tmp_path, 2, stderr="the database has no tables yet: run manage.py migrate")


class Lost(io.StringIO):
    """Takes a few lines, and then no more."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str, /) -> int:
        if self.tell() > 1000:
            raise self.error
        return super().write(text)


@pytest.mark.django_db
def test_export_ends_where_its_reader_does(table: MakeTable) -> None:
    table("B07")
    import_log(io.BytesIO(written(simulated(seed=1, shoes=1)).encode()), actor="import")
    with pytest.raises(SystemExit) as ended:
        call_command("export_log", "B07", stdout=Lost(BrokenPipeError()), stderr=io.StringIO())
    assert ended.value.code == 2
    with pytest.raises(CommandError, match="standard output: it is full") as failed:
        call_command("export_log", "B07", stdout=Lost(OSError(28, "it is full")), stderr=io.StringIO())
    assert failed.value.returncode == 2


@pytest.mark.parametrize("text", ["", "\n\n"])
@pytest.mark.parametrize("option", ["--json", "--lang=en"])
def test_a_log_without_events_is_said(text: str, option: str, tmp_path: Path) -> None:
    log, out, err = tmp_path / "empty.jsonl", io.StringIO(), io.StringIO()
    log.write_text(text)
    call_command("audit_log", str(log), option, stdout=out, stderr=err)
    assert out.getvalue().startswith("" if option == "--json" else "0 hands in 0 shoes")
    assert (option == "--json") == (not out.getvalue())
    assert err.getvalue() == "there is no event in this log: nothing was judged\n"


def test_a_log_that_names_a_ruleset_which_is_wrong(log: Path, tmp_path: Path) -> None:
    (tmp_path / "insurance.toml").write_text('name = "insurance"\nunit = "1E-400000"\n')
    done = subprocess.run(
        [sys.executable, "manage.py", "audit_log", str(log)],
        cwd=ROOT,
        env={**os.environ, "BACCARAT_RULESETS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert 'insurance.toml: unit: a decimal string from "0.0001" to "100000" is wanted' in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.django_db
def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for command in ("import_log", "audit_log"):
        with pytest.raises(CommandError, match="nothing: No such file") as failed:
            call_command(command, str(tmp_path / "nothing"))
        assert failed.value.returncode == 2

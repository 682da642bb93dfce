"""The example of the environment file says every setting that is read, and nothing else; bad values are named."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

from baccarat_audit.environment import Environment, _Values
from dealing.models import Table
from tests.conftest import MakeTable

ROOT = Path(configured.BASE_DIR)
EXAMPLE = ROOT / "deploy" / "baccarat-audit.env.example"
#: Read by these files from the environment, beside settings.py.
OTHERS = ("gunicorn.conf.py", "dealing/rules/rulesets/__init__.py")
#: In the environment for other reasons.
NO_SETTINGS = {"DJANGO_SETTINGS_MODULE", "MPLCONFIGDIR", "BACCARAT_AUDIT_KEY", "BACCARAT_DEVICE_KEY"}


def read_by(path: Path, objects: tuple[str, ...]) -> set[str]:
    """Names that a file reads, as `env.str("NAME")` or `os.environ["NAME"]`; constants of the file are looked up."""
    tree = ast.parse(path.read_text())
    constants = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            of, key = node.func.value, node.args[0]
        elif isinstance(node, ast.Subscript):
            of, key = node.value, node.slice
        else:
            continue
        if ast.unparse(of) in objects:
            value = key.value if isinstance(key, ast.Constant) else constants.get(getattr(key, "id", ""))
            if isinstance(value, str):
                found.add(value)
    return found


def read_settings() -> set[str]:
    found = read_by(ROOT / "baccarat_audit" / "settings.py", ("env",))
    for name in OTHERS:
        found |= read_by(ROOT / name, ("os.environ",))
    return found - NO_SETTINGS


def explained() -> dict[str, str]:
    """Each setting of the example with the comment above it."""
    found, comment = {}, ""
    for line in EXAMPLE.read_text().splitlines():
        if setting := re.match(r"#?([A-Z][A-Z_]+)=", line):
            found[setting[1]] = comment
        elif line.startswith("# "):
            comment = f"{comment} {line[2:]}"
        elif not line:
            comment = ""
    return found


def compose_settings() -> set[str]:
    """Those that compose.yaml and the entry point put in themselves."""
    texts = (ROOT / "compose.yaml").read_text() + (ROOT / "deploy" / "entrypoint").read_text()
    return set(re.findall(r"\$\{([A-Z_]+)", texts)) - {"BIND"}  # of the units and the image


def test_the_example_says_every_setting() -> None:
    assert read_settings() - explained().keys() == set()


def test_the_example_says_no_setting_that_nobody_reads() -> None:
    assert explained().keys() - read_settings() - compose_settings() == set()


def test_compose_uses_no_setting_that_the_example_does_not_say() -> None:
    assert compose_settings() - explained().keys() == set()


def test_every_setting_is_explained() -> None:
    assert [name for name, comment in explained().items() if len(comment) < 12] == []


def test_settings_py_says_what_it_reads() -> None:
    """The list at the head of the file is the one that developers read."""
    head = ast.get_docstring(ast.parse((ROOT / "baccarat_audit" / "settings.py").read_text())) or ""
    said = set(re.findall(r"^([A-Z_]+) {2,}", head, re.MULTILINE)) | set(
        re.findall(r"^([A-Z_]{24,})", head, re.MULTILINE)
    )
    assert read_by(ROOT / "baccarat_audit" / "settings.py", ("env",)) - said == set()


# Bad values.


def problems() -> list[str]:
    return [f"{problem.id} {problem.msg}" for problem in run_checks() if (problem.id or "").startswith("operations.")]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AUDIT_TICK", 0, "operations.E003 AUDIT_TICK is 0"),
        ("AUDIT_AFTER_CLOSE", -1, "operations.E003 AUDIT_AFTER_CLOSE is -1"),
        ("REDIS_URL", "localhost:6379", "operations.E002 REDIS_URL begins with localhost"),
        ("SITE_URL", "audit.example", "operations.E002 SITE_URL is 'audit.example', which is no address"),
        ("CSRF_TRUSTED_ORIGINS", ["audit.example"], "operations.E002 CSRF_TRUSTED_ORIGINS has 'audit.example'"),
        ("LOG_FORMAT", "xml", "operations.E004 LOG_FORMAT is 'xml'"),
        ("LOGGING", {"root": {"level": "LOUD"}}, "operations.E004 LOG_LEVEL is 'LOUD'"),
    ],
)
def test_a_bad_value_is_named(settings: Any, name: str, value: Any, said: str) -> None:
    setattr(settings, name, value)
    found = problems()
    assert len(found) == 1
    assert found[0].startswith(said)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SECRET_KEY", "short", "SECRET_KEY is too short or too plain"),
        ("PUBLISHED_HOSTS", ["*"], "ALLOWED_HOSTS lets every host name in"),
        ("METRICS_TOKEN", "token", "METRICS_TOKEN is shorter than 16 characters"),
    ],
)
def test_what_is_dangerous_once_published(settings: Any, name: str, value: Any, said: str) -> None:
    settings.PUBLISHED_HOSTS = ["audit.example"]
    settings.SECRET_KEY = "k7Jm2-QdW9xZr4_TnB8vYc3Lf6HsPg5EaUo1RiDtXeKwMqNzVbCyGhJ"
    assert problems() == []
    setattr(settings, name, value)
    [found] = problems()
    assert found.startswith(f"operations.E005 {said}")


def test_a_houses_rulesets_are_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BACCARAT_RULESETS", str(tmp_path / "none"))
    assert problems() == [f"operations.E006 BACCARAT_RULESETS names {tmp_path}/none, which is no folder"]
    monkeypatch.setenv("BACCARAT_RULESETS", str(tmp_path))
    assert problems() == []
    (tmp_path / "broken.toml").write_text("name = ")
    (tmp_path / "thin.toml").write_text('name = "thin"')
    [broken, thin] = problems()
    said = "operations.E006 BACCARAT_RULESETS has "
    assert broken.startswith(f"{said}broken.toml, which cannot be used: broken.toml: is not TOML")
    assert thin.startswith(f"{said}thin.toml, which cannot be used: thin.toml: ")
    assert " more" in thin


@pytest.mark.django_db
def test_a_table_whose_ruleset_is_not_installed_is_named(table: MakeTable) -> None:
    table("B07")
    assert run_checks(databases=["default"], tags=["database"]) == []
    Table.objects.update(ruleset="gone")
    [problem] = run_checks(databases=["default"], tags=["database"])
    assert (problem.id, problem.msg) == (
        "operations.E007", "table B07 deals by ruleset 'gone', which is not installed"
    )  # fmt: skip
    Table.objects.update(is_active=False)
    assert run_checks(databases=["default"], tags=["database"]) == []


def test_a_folder_that_is_a_file_is_named(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "var").write_text("")
    settings.VAR_DIR = tmp_path / "var" / "audit"
    assert problems() == [f"operations.W001 VAR_DIR names {tmp_path}/var/audit, and {tmp_path}/var is a file"]


def test_the_password_of_the_example_is_not_for_use(settings: Any) -> None:
    settings.DATABASES = {
        "default": {"ENGINE": "django.db.backends.postgresql", "NAME": "audit", "PASSWORD": "change-me"}
    }
    assert problems() == ["operations.E002 DATABASE_URL has the password of the example"]


def check(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, capture_output=True, text=True, timeout=60,
        env={"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), **environment},
    )  # fmt: skip


def test_the_example_itself_passes_but_for_its_password(tmp_path: Path) -> None:
    given = dict(line.split("=", 1) for line in EXAMPLE.read_text().splitlines() if re.match(r"[A-Z]", line))
    (tmp_path / "secret").write_text("k7Jm2-QdW9xZr4_TnB8vYc3Lf6HsPg5EaUo1RiDtXeKwMqNzVbCyGhJ\n")
    folders = {"VAR_DIR": str(tmp_path), "KEYS_DIR": str(tmp_path / "keys")}
    done = check(tmp_path, **{**given, **folders, "SECRET_KEY_FILE": str(tmp_path / "secret")})
    assert "DATABASE_URL has the password of the example" in done.stderr
    assert "1 issue" in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AUDIT_TICK", "a minute"),
        ("MIGRATE_LOCK_SECONDS", "soon"),
        ("DATABASE_URL", "postgres://audit:pa:ss@db.example:port/audit"),
        ("EMAIL_URL", "pigeon://user:secret@mail.example"),
    ],
)
def test_a_value_that_cannot_be_read_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(Environment, "ENVIRON", _Values())
    env = Environment()
    readers = {"AUDIT_TICK": env.int, "MIGRATE_LOCK_SECONDS": env.float, "DATABASE_URL": env.db_url}
    with pytest.raises(ImproperlyConfigured, match=f"^{name}: ") as refused:
        readers.get(name, env.email_url)(name)
    assert "secret" not in str(refused.value)


# Values in files.


def test_a_value_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    monkeypatch.setenv("OPS_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("OPS_TOKEN", "from-the-environment")
    monkeypatch.setattr(Environment, "ENVIRON", _Values())
    assert Environment().str("OPS_TOKEN", default="") == "from-a-file"


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_TOKEN_FILE", "/no/such/file")
    monkeypatch.setattr(Environment, "ENVIRON", _Values())
    with pytest.raises(ImproperlyConfigured, match="OPS_TOKEN_FILE: /no/such/file: No such file"):
        Environment().str("OPS_TOKEN", default="")

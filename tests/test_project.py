"""The house itself: walls, settings, health page, packages, what the pages load."""

import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test import Client, TransactionTestCase
from django.utils import timezone
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from baccarat_audit import celery_app
from baccarat_audit import settings as project
from dealing import triggers
from dealing.models import TableEvent

ROOT = project.BASE_DIR
PUBLISHED = {
    "ALLOWED_HOSTS": "audit.example",
    "SECRET_KEY": "k7Jm2-QdW9xZr4_TnB8vYc3Lf6HsPg5EaUo1RiDtXeKwMqNzVbCyGhJ",
    "DATABASE_URL": "postgres://nobody@db.example/audit",
}


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the project's folder as a server would, with nothing of this suite's environment."""
    names = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={name: os.environ[name] for name in names if name in os.environ} | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def setting(expression: str, **environment: str) -> str:
    done = python("-c", f"from baccarat_audit import settings as s; print(({expression}))", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Walls.


def test_the_walls_stand() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_the_rules_load_without_django() -> None:
    done = python(
        "-c",
        "import sys, dealing.rules.judge; print([m for m in sys.modules if m.split('.')[0] in ('django', 'celery')])",
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    out = StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=out)
    assert "No changes detected" in out.getvalue()


# Settings.


def test_a_published_site_needs_a_secret_key() -> None:
    done = python("manage.py", "check", ALLOWED_HOSTS="audit.example")
    assert done.returncode != 0
    assert "Set SECRET_KEY" in done.stderr


def test_the_kept_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"
    key = project.kept_secret_key(path)
    assert len(key) >= 50
    assert project.kept_secret_key(path) == key
    assert path.stat().st_mode & 0o077 == 0
    assert list(path.parent.iterdir()) == [path]


def test_no_key_where_none_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("a file where the folder should be")
    assert project.kept_secret_key(tmp_path / "var" / "secret_key") == ""


def test_nothing_is_published_unless_asked(tmp_path: Path) -> None:
    assert setting("s.ALLOWED_HOSTS, s.DEBUG, s.HTTPS", VAR_DIR=str(tmp_path)) == str(
        (["localhost", "127.0.0.1", "[::1]"], False, False)
    )


def test_a_published_site_is_https_only() -> None:
    assert setting("s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE", **PUBLISHED) == str(
        (True, True, True)
    )


def test_the_environment_chooses_the_services(tmp_path: Path) -> None:
    engine = "s.DATABASES['default']['ENGINE'].rsplit('.')[-1], bool(s.REDIS_URL), s.CELERY_TASK_ALWAYS_EAGER"
    assert setting(engine, VAR_DIR=str(tmp_path)) == str(("sqlite3", False, True))
    services = {"DATABASE_URL": "postgres://u@h/d", "REDIS_URL": "redis://h/1"}
    assert setting(engine, VAR_DIR=str(tmp_path), **services) == str(("postgresql", True, False))


def test_the_deployment_check_is_clean() -> None:
    done = python("manage.py", "check", "--deploy", "--fail-level", "WARNING", **PUBLISHED)
    assert done.returncode == 0, done.stderr
    # The browsers' preload list, and nothing else: the settings say why.
    assert setting("s.SILENCED_SYSTEM_CHECKS", **PUBLISHED) == str(["security.W021"])


def test_a_log_is_audited_without_any_service(tmp_path: Path) -> None:
    done = python(
        "manage.py",
        "audit_log",
        "--json",
        "tests/cases/clean-natural.jsonl",
        DATABASE_URL="postgres://nobody@127.0.0.1:1/nothing",
        VAR_DIR=str(tmp_path / "not" / "there"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["hand"] == 1


@pytest.mark.sqlite
@pytest.mark.django_db
def test_sqlite_writers_wait_at_the_start() -> None:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        assert cursor.fetchone() == ("wal",)
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (20_000,)
    assert settings.DATABASES["default"]["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.django_db(transaction=True)
def test_the_suite_empties_the_log_after_itself_and_guards_it_again(table: Any) -> None:
    """Else a transactional test would leave its rows to the next, or the log unguarded."""
    row = TableEvent(
        table=table(), seq=1, shoe_number=1, name="cut_card", at=timezone.now(), recorded_at=timezone.now(), hash="h"
    )
    TableEvent.objects.bulk_create([row])
    TransactionTestCase()._fixture_teardown()  # type: ignore[attr-defined]  # not in the stubs
    assert not TableEvent.objects.exists()
    assert triggers.missing("dealing_tableevent") == []


@pytest.mark.postgresql
@pytest.mark.django_db
def test_postgresql_is_the_database_asked_for() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT version()")
        assert cursor.fetchone()[0].startswith("PostgreSQL")


def test_what_runs_by_the_clock_exists() -> None:
    celery_app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in celery_app.conf.beat_schedule.values()}
    assert scheduled
    assert scheduled <= set(celery_app.tasks)


def test_workers_log_by_the_level_that_is_set() -> None:
    """Celery's own way begins at warnings: nothing would be said of the nights that go well."""
    script = (
        "import django; django.setup()\n"
        "from baccarat_audit.celery import app\n"
        "app.log.setup('WARNING')\n"
        "import logging; logging.getLogger('incidents.reports.runs').info('said')\n"
        "logging.getLogger('celery.worker').debug('not said')\n"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings", "LOG_LEVEL": "INFO"}
    told = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    ).stderr
    assert "INFO incidents.reports.runs said" in told
    assert "not said" not in told


def test_the_scheduler_stores_at_once_that_it_ticked() -> None:
    assert celery_app.conf.beat_sync_every == 1


def test_tasks_survive_their_worker() -> None:
    assert celery_app.conf.task_acks_late
    assert celery_app.conf.task_reject_on_worker_lost
    assert celery_app.conf.worker_prefetch_multiplier == 1


@pytest.mark.redis
def test_redis_keeps_the_cache() -> None:
    from django.core.cache import cache

    cache.set("shoe", 3, timeout=10)
    assert cache.get("shoe") == 3
    assert type(cache).__name__ != "LocMemCache"
    cache.delete("shoe")


# Health.


@pytest.mark.django_db
def test_healthy(client: Client, settings: Any) -> None:
    settings.REDIS_URL = ""
    answer = client.get("/health/")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok"}
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.redis
@pytest.mark.django_db
def test_healthy_with_redis(client: Client) -> None:
    assert client.get("/health/").json() == {"status": "ok", "database": "ok", "redis": "ok"}


@pytest.mark.django_db
def test_redis_gone(client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/health/")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "database": "ok", "redis": "unreachable"}


def test_database_gone(client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise DatabaseError("the password is wrong for admin@db.example")

    monkeypatch.setattr(connection, "cursor", refuse)
    settings.REDIS_URL = ""
    answer = client.get("/health/")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "database": "unreachable"}


def test_health_takes_no_post(client: Client) -> None:
    assert client.post("/health/").status_code == 405


# Errors and headers.


@pytest.mark.django_db
def test_every_page_carries_the_policy(client: Client) -> None:
    policy = client.get("/login/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.django_db
def test_a_missing_page_is_a_page(client: Client) -> None:
    answer = client.get("/no/such/page/")
    assert answer.status_code == 404
    assert "<html" in answer.content.decode()


@pytest.mark.django_db
def test_an_error_shows_no_trace(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> bool:
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr("baccarat_audit.health.database_reachable", broken)
    client.raise_request_exception = False
    answer = client.get("/health/")
    assert answer.status_code == 500
    page = answer.content.decode()
    assert "<html" in page
    assert "secret of the machine" not in page
    assert "Traceback" not in page


def test_an_error_while_the_database_is_gone_is_still_said_in_words(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **named: Any) -> None:
        raise DatabaseError("a secret of the machine")

    monkeypatch.setattr("baccarat_audit.health.database_reachable", broken)
    monkeypatch.setattr("baccarat_audit.errors.render", broken)
    client.raise_request_exception = False
    answer = client.get("/health/")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.content.decode()
    assert "secret" not in answer.content.decode()


@pytest.mark.django_db
def test_a_form_without_its_token_is_refused_in_words() -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"})
    assert answer.status_code == 403
    assert "open too long" in answer.content.decode()


# Packages and pages.


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_package_is_pinned(name: str) -> None:
    lines = [line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    loose = [
        line
        for line in lines
        if line and line != "-r requirements.txt" and not re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+( ; .+)?", line)
    ]
    assert not loose


def test_what_a_package_needs_is_pinned_too() -> None:
    pinned = {
        canonicalize_name(Requirement(line).name)
        for name in ("requirements.txt", "requirements-dev.txt")
        for line in (ROOT / name).read_text().splitlines()
        if "==" in line
    }
    loose = set()
    for name in pinned:
        try:
            needed = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # its marker leaves it out on this Python
        for requirement in map(Requirement, needed):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                loose.add(canonicalize_name(requirement.name))
    with_every_environment = {"pip", "setuptools"}
    assert loose - pinned - with_every_environment == set()


def test_vendored_files_are_what_they_are_said_to_be() -> None:
    vendor = ROOT / "dealing" / "static" / "vendor"
    said = dict(re.findall(r"^(\S+\.js) ([0-9a-f]{64})$", (vendor / "VERSIONS.txt").read_text(), re.MULTILINE))
    assert said == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in vendor.glob("*.js")}


def test_pages_load_nothing_from_elsewhere() -> None:
    """No page and no style sheet of ours asks another server for anything, and no page has a script or style within.

    Mails have styles at their elements, for mail programs know no other; scripts they have none either.
    """
    ours = [
        path
        for folder in ("templates", "dealing", "incidents", "baccarat_audit")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".html", ".css", ".js", ".svg") and "vendor" not in path.parts
    ]
    assert ours
    loads = re.compile(
        r"""(?:src|href|action|hx-\w+)\s*=\s*["'](?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import|"""
        r"""(?:import|fetch|importScripts)\s*\(?\s*["'](?:https?:)?//"""
    )
    scripts = r"""<script(?![^>]*\bsrc=)|\son[a-z]+\s*=\s*["']|javascript:"""
    inline = re.compile(rf"""<style|\sstyle\s*=\s*["']|{scripts}""")
    in_mails = re.compile(rf"<style|<script|<link|<img|{scripts}")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in ours
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if loads.search(line)
        or (path.suffix == ".html" and (in_mails if path.parent.name == "mail" else inline).search(line))
    ]
    assert not wrong, "\n".join(wrong)

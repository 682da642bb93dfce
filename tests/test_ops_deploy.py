"""The container file, compose.yaml, the units and the proxy's configuration name only what is there, and hold together.

No container engine is asked: the files are read, and what they run is run here as it stands.
"""

from __future__ import annotations

import configparser
import datetime as dt
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import connection
from django.urls import resolve
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from baccarat_audit.operations import snapshots
from tests.servers import free_port

ROOT = Path(settings.BASE_DIR)
DEPLOY = ROOT / "deploy"
ENTRYPOINT = DEPLOY / "entrypoint"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
UNITS = sorted((DEPLOY / "systemd").glob("*"))
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
#: What the entry point knows itself; anything else is a command of manage.py.
RUNS = {"web", "feed", "worker", "beat", "migrate"}


def runs(command: list[str]) -> bool:
    """Whether the entry point knows this: a part of the product, or a command of manage.py that takes these options."""
    name, *arguments = command
    if name in RUNS:
        return True
    found: Any = get_commands().get(name)
    if found is None:
        return False
    loaded = load_command_class(found, name) if isinstance(found, str) else found
    loaded.create_parser("manage.py", name).parse_args(arguments)
    return True


# compose.yaml.


def test_every_process_of_the_product_is_there() -> None:
    assert COMPOSE["services"].keys() == {
        *("web", "feed", "worker", "beat", "migrate", "backup"), *("database", "redis", "proxy"),
    }  # fmt: skip
    for name, service in COMPOSE["services"].items():
        if service.get("image", "").startswith("${IMAGE"):
            assert runs(service["command"]), name


def test_what_compose_names_is_declared() -> None:
    for name, service in COMPOSE["services"].items():
        assert set(service.get("secrets", [])) <= COMPOSE["secrets"].keys(), name
        assert set(service.get("networks", [])) <= COMPOSE["networks"].keys(), name
        assert set(service.get("depends_on", [])) <= COMPOSE["services"].keys(), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0] if not volume.startswith("${") else "."
            assert source in COMPOSE["volumes"] or (ROOT / source).exists(), f"{name}: {volume}"
        for key, value in service.get("environment", {}).items():
            if key.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"], f"{name}: {key}"


def test_every_service_is_watched_limited_and_started_again() -> None:
    for name, service in COMPOSE["services"].items():
        once = name in ("migrate", "backup")
        assert service["restart"] == ("no" if once else "unless-stopped"), name
        assert once or "test" in service["healthcheck"], name
        assert once or "disable" not in service["healthcheck"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert name == "backup" or service["deploy"]["resources"]["limits"]["memory"], name
        assert name == "database" or service["read_only"] is True, name
        assert ":latest" not in service["image"], name


def test_nothing_but_the_proxy_is_reached_from_outside() -> None:
    assert [name for name, service in COMPOSE["services"].items() if "ports" in service] == ["proxy"]


def test_no_secret_stands_in_the_files() -> None:
    for path in (ROOT / "compose.yaml", ROOT / "Containerfile", *UNITS):
        for line in path.read_text().splitlines():
            assert not re.search(r"(password|secret|token)\w*\s*[:=]\s*[\"']?\w{12,}", line, re.I), (
                f"{path.name}: {line}"
            )


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_the_secrets_are_made_once(tmp_path: Path) -> None:
    command = [str(DEPLOY / "make-secrets"), "audit.example", str(tmp_path / "secrets")]
    subprocess.run(command, check=True, capture_output=True)
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert made.keys() == COMPOSE["secrets"].keys()
    assert all(made.values())
    assert made["postgres_password"] in made["database_url"]
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    again = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "made" not in again
    assert made == {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    for name, secret in COMPOSE["secrets"].items():
        assert secret["file"] == f"deploy/secrets/{name}"


# The container file.


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", (ROOT / "Containerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def test_the_image_holds_what_the_product_needs_and_runs_as_nobody_special() -> None:
    found = instructions()
    assert [what for name, what in found if name == "USER"] == ["audit"]
    assert found.index(("USER", "audit")) > max(n for n, (name, _) in enumerate(found) if name == "RUN")
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    copied = set()
    for name, what in found:
        if name == "COPY" and not what.startswith("--from"):
            copied |= set(what.split()[:-1])
    for path in copied:
        assert (ROOT / path).exists(), path
        assert f"!{path}" in ignored, path
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert packages <= copied
    assert "HEALTHCHECK" in dict(found)


def test_the_image_is_of_a_python_that_the_product_runs_on() -> None:
    bases = [what for name, what in instructions() if name == "FROM"]
    assert len({base.split()[0] for base in bases}) == 1
    version = re.search(r"python:3\.(\d+)-slim", bases[0])
    assert version is not None
    assert int(version[1]) >= 11


def test_the_client_programs_are_of_the_servers_version() -> None:
    server = re.search(r"postgres:(\d+)", COMPOSE["services"]["database"]["image"])
    client = re.search(r"postgresql-client-(\d+)", (ROOT / "Containerfile").read_text())
    assert server is not None
    assert client is not None
    assert int(client[1]) >= int(server[1])


# systemd.


def parsed(unit: Path) -> configparser.RawConfigParser:
    found = configparser.RawConfigParser(strict=False)
    found.optionxform = str  # type: ignore[assignment,method-assign]  # keys as they are written
    found.read_string(unit.read_text())
    return found


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.stem)
def test_a_unit_runs_what_is_there(unit: Path) -> None:
    service = parsed(unit)["Service"]
    program, *arguments = service["ExecStart"].split()
    assert program == "/opt/baccarat-audit/deploy/entrypoint"
    assert runs(arguments)
    assert service["EnvironmentFile"] == "/etc/baccarat-audit/baccarat-audit.env"
    for hardening in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "PrivateDevices", "LockPersonality"):
        assert service[hardening] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["User"] == "baccarat-audit"
    assert service["StateDirectory"] == "baccarat-audit"


def test_every_timer_has_its_service_and_every_part_its_unit() -> None:
    names = {unit.name for unit in UNITS}
    timers = [unit for unit in UNITS if unit.suffix == ".timer"]
    assert {timer.stem for timer in timers} == {"baccarat-audit-night", "baccarat-audit-backup"}
    assert {f"{timer.stem}.service" for timer in timers} <= names
    assert {f"baccarat-audit-{run}.service" for run in RUNS - {"migrate"}} <= names
    assert "baccarat-audit.target" in names


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        text = unit.read_text().replace("/opt/baccarat-audit/", f"{ROOT}/")
        (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / unit.name) for unit in UNITS)],
        capture_output=True, text=True,
    )  # fmt: skip
    about_ours = [line for line in done.stderr.splitlines() if "baccarat-audit" in line and "postgresql" not in line]
    assert about_ours == []


# The entry point, run as it stands.


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    names = ("HOME", "LANG", "DATABASE_URL", "REDIS_URL")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "VAR_DIR": str(tmp_path), "LOG_LEVEL": "WARNING", "WEB_CONCURRENCY": "1", **more}


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server of the product as the entry point starts it: its address and its process."""
    port = free_port()
    process = subprocess.Popen(
        ["sh", str(ENTRYPOINT), request.param], cwd=tmp_path, stderr=subprocess.PIPE,
        env=environment(tmp_path, BIND=f"127.0.0.1:{port}"),
    )  # fmt: skip
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, process.stderr and process.stderr.read().decode()
                time.sleep(0.1)
        else:
            pytest.fail(f"{request.param} does not answer")
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


@pytest.mark.sqlite
@pytest.mark.parametrize("served", ["web", "feed"], indirect=True)
def test_a_server_starts_answers_and_stops(served: tuple[str, subprocess.Popen[bytes]]) -> None:
    address, process = served
    with urllib.request.urlopen(f"{address}/health/", timeout=10) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{address}/api/v1/tables/B01/feed/", timeout=10)
    assert refused.value.code in (401, 403)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) in (0, -signal.SIGTERM)


def test_nothing_starts_with_a_wrong_setting(tmp_path: Path) -> None:
    wrong = environment(tmp_path, REDIS_URL="localhost:6379", BIND=f"127.0.0.1:{free_port()}")
    done = subprocess.run(["sh", str(ENTRYPOINT), "web"], env=wrong, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "REDIS_URL begins with localhost" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_entry_point_runs_commands(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", str(ENTRYPOINT), "audit_log", str(ROOT / "tests" / "cases" / "clean-natural.jsonl")],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wrong = subprocess.run(["sh", str(ENTRYPOINT), "healthy", "what"], env=environment(tmp_path), capture_output=True)
    assert wrong.returncode == 2


@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("run", "said"), [("worker", "ready."), ("beat", "Schedule changed")])
def test_what_works_in_the_background_starts_and_stops(run: str, said: str, tmp_path: Path) -> None:
    url = snapshots.address(str(connection.settings_dict["NAME"]))
    process = subprocess.Popen(
        ["sh", str(ENTRYPOINT), run], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        env=environment(tmp_path, DATABASE_URL=url, LOG_LEVEL="INFO"),
    )  # fmt: skip
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if said in line:
                break
        assert said in lines[-1], "".join(lines)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        watchdog.cancel()
    # The scheduler writes what it has sent when it is told to stop, and waits for itself if that comes in the middle of
    # a query: units and compose end it after ten seconds, and nothing is lost by that.
    assert code == 0 or run == "beat"


@pytest.mark.django_db
def test_a_scheduler_that_stands_still_is_no_healthy_one(settings: Any) -> None:
    with pytest.raises(CommandError, match="never ticked"):
        call_command("beat_alive")
    every = IntervalSchedule.objects.create(every=60, period=IntervalSchedule.SECONDS)
    task = PeriodicTask.objects.create(
        name="n", task="incidents.reports.tasks.audit_nights", interval=every, last_run_at=timezone.now()
    )
    call_command("beat_alive")
    PeriodicTask.objects.filter(pk=task.pk).update(last_run_at=timezone.now() - dt.timedelta(seconds=200))
    with pytest.raises(CommandError, match="last ticked 200 s ago"):
        call_command("beat_alive")


def test_the_handbook_names_commands_and_metrics_that_are_there() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    commands = set(re.findall(r"manage\.py ([a-z_]+)", text))
    assert {"backup", "restore", "migrate", "verify_log"} <= commands
    assert commands - get_commands().keys() == set()
    metrics = set(re.findall(r"\b(baccarat_[a-z_]+)\b", text)) - {"baccarat_audit"}
    known = (ROOT / "baccarat_audit" / "metrics.py").read_text()
    assert {name for name in metrics if f'"{name}"' not in known} == set()


# The proxy.


def proxy() -> str:
    return (DEPLOY / "nginx" / "baccarat-audit.conf").read_text()


def test_the_proxy_leads_feeds_to_the_service_for_them() -> None:
    [feed] = re.findall(r"location ~ (\S+) \{", proxy())
    address = "/api/v1/tables/B01/feed/"
    assert re.match(feed, address)
    assert resolve(address).url_name == "feed"
    assert not re.match(feed, "/api/v1/tables/B01/events/")
    servers = dict(re.findall(r"upstream baccarat_(\w+) \{\s+server (\w+:\d+);", proxy()))
    assert servers == {"web": "web:8000", "feed": "feed:8001"}
    assert {name for name in servers if name in COMPOSE["services"]} == {"web", "feed"}


def test_the_proxy_takes_as_much_as_the_product_and_no_more() -> None:
    from baccarat_audit.uploads import LIMIT

    assert re.findall(r"client_max_body_size (\w+);", proxy()) == [f"{LIMIT >> 20}m", "1k"]


def test_the_proxy_sets_what_the_product_believes() -> None:
    for header in (
        "X-Forwarded-Proto $scheme",
        "X-Forwarded-For $remote_addr",
        "X-Request-ID $request_id",
        "Host $host",
    ):
        assert f"proxy_set_header {header};" in proxy()
    assert "proxy_next_upstream off;" in proxy()


NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_nginx_refuses_a_large_body_before_it_is_sent_and_lets_a_slow_one_go(tmp_path: Path) -> None:
    """The file as it stands, but for addresses and certificates, before a server that would take anything."""
    http, https, behind = free_port(), free_port(), free_port()
    subprocess.run(
        [str(DEPLOY / "make-secrets"), "audit.example", str(tmp_path / "secrets")], check=True, capture_output=True
    )
    text = proxy().replace("/run/secrets/", f"{tmp_path}/secrets/").replace("http2 on;", "")  # the directive is of 1.25
    text = text.replace("8080 default", f"127.0.0.1:{http} default").replace("8443 ssl", f"127.0.0.1:{https} ssl")
    text = text.replace("server web:8000", f"server 127.0.0.1:{behind}").replace(
        "server feed:8001", "server 127.0.0.1:9"
    )
    text = text.replace("client_body_timeout 10s", "client_body_timeout 1s")
    places = "".join(
        f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {places} {text} }}"
    )
    command = [str(NGINX), "-p", str(tmp_path), "-e", "stderr", "-c", str(tmp_path / "nginx.conf")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        context = ssl._create_unverified_context()

        def ask(head: str) -> bytes:
            for _ in range(50):
                try:
                    plain = socket.create_connection(("127.0.0.1", https), timeout=10)
                    break
                except OSError:
                    time.sleep(0.1)
            with context.wrap_socket(plain, server_hostname="audit.example") as tls:
                tls.sendall(head.encode())
                return bytes(tls.recv(200))

        start = "POST /api/v1/tables/B01/events/ HTTP/1.1\r\nHost: audit.example\r\nContent-Length: "
        assert b" 413 " in ask(f"{start}{100 * 1024 * 1024}\r\n\r\n")
        assert ask(f"{start}100\r\n\r\nslow")[:12] in (b"", b"HTTP/1.1 408")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"https://127.0.0.1:{https}/metrics", context=context, timeout=10)
        assert refused.value.code == 404
    finally:
        process.terminate()
        process.wait(10)

"""Starting the product where something else answers already, and where workers are wanted beside it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings


@pytest.mark.skipif(shutil.which("make") is None, reason="make not found")
def test_a_busy_port_is_said_before_anything_else() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        started = subprocess.run(
            ["make", "run", f"PORT={port}", f"BIN={Path(sys.executable).parent}", "-o", ".venv/.product"],
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert started.returncode != 0
    assert f"Port {port} of 127.0.0.1 cannot be used" in started.stderr
    assert "Demo log-ins" not in started.stdout
    assert "Traceback" not in started.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="make not found")
@pytest.mark.parametrize("redis", ["", "redis://127.0.0.1:6379/9"])
def test_where_redis_is_named_the_command_of_a_worker_is_said(redis: str) -> None:
    recipe = subprocess.run(
        ["make", "--dry-run", "run", f"REDIS_URL={redis}", "BIN=bin", "-o", ".venv/.product"],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert ("bin/celery -A baccarat_audit worker --beat" in recipe) == bool(redis)


@pytest.mark.skipif(shutil.which("make") is None, reason="make not found")
@pytest.mark.parametrize(("site", "said"), [("", "http://127.0.0.1:8123/"), ("http://pit:8123", "http://pit:8123/")])
def test_the_address_that_is_set_is_printed(site: str, said: str) -> None:
    def told(*command: str) -> str:
        return subprocess.run(
            command,
            cwd=settings.BASE_DIR,
            env={**os.environ, "SITE_URL": site},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout

    recipe = told("make", "--dry-run", "run", "PORT=8123", "-o", ".venv/.product")
    step = next(line for line in recipe.splitlines() if line.startswith('echo "Open'))
    assert f"Open {said} " in told("sh", "-c", step)

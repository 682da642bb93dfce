"""The process's own log: its two forms, the number of a request wherever it goes, and no secret in it."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import include, path
from django.utils.functional import SimpleLazyObject, empty

from baccarat_audit import logs, request_ids
from dealing.devices import keys
from dealing.models import Venue
from incidents.webhooks.models import Webhook
from tests.conftest import MakeTable, People

ROOT = Path(__file__).resolve().parent.parent
MADE = re.compile(r"[2-9A-HJ-NP-Z]{4}(-[2-9A-HJ-NP-Z]{4}){2}")


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("it broke: password=hunter2hunter2")


def suspicious(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation("no")


urlpatterns = [
    path("broken/", broken),
    path("suspicious/", suspicious),
    path("", include("baccarat_audit.urls")),
]
handler400 = "baccarat_audit.errors.bad_request"
handler403 = "baccarat_audit.errors.permission_denied"
handler404 = "baccarat_audit.errors.page_not_found"
handler500 = "baccarat_audit.errors.server_error"


class Written:
    """What was written, as text and as objects."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    def of(self, logger: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["logger"] == logger]

    @property
    def access(self) -> dict[str, Any]:
        """The one line of a request."""
        (line,) = self.of("baccarat_audit.access")
        return line


@pytest.fixture
def written() -> Iterator[Written]:
    """What the process writes meanwhile, as JSON."""
    out = Written()
    handler = logging.StreamHandler(out.stream)
    handler.setFormatter(logs.JsonFormatter())
    loggers = [logging.getLogger(), logging.getLogger("django")]
    for logger in loggers:
        logger.addHandler(handler)
    yield out
    for logger in loggers:
        logger.removeHandler(handler)


def record(message: str, *args: object, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("a.b", logging.WARNING, __file__, 1, message, args, fields.pop("exc_info", None))
    made.created = 1783882800.5
    vars(made).update(fields)
    return made


# The two forms.


def test_a_line() -> None:
    line = logs.LineFormatter().format(record("%d cards of %s", 3, "B01"))
    assert line == "2026-07-12T19:00:00.500+00:00 WARNING a.b 3 cards of B01"


def test_an_object() -> None:
    before = logs.enter(logs.Context("R-1", task="a.task"))
    try:
        text = logs.JsonFormatter().format(record("“%s”\nบ่อน", "x", details={"status": 200}))
        line = logs.LineFormatter().format(record("x"))
    finally:
        logs.enter(before)
    assert "\n" not in text
    assert json.loads(text) == {
        "time": "2026-07-12T19:00:00.500+00:00",
        "level": "WARNING",
        "logger": "a.b",
        "message": "“x”\nบ่อน",
        "request_id": "R-1",
        "task": "a.task",
        "status": 200,
    }
    assert line.endswith("a.b [R-1] x")


def test_a_stack_trace() -> None:
    try:
        raise ValueError("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    except ValueError:
        failed = record("it failed", exc_info=sys.exc_info())
    said = json.loads(logs.JsonFormatter().format(failed))
    assert said["trace"].startswith("Traceback")
    assert said["trace"].endswith("ValueError: whsec_***")
    line = logs.LineFormatter().format(failed)
    assert line.splitlines()[0].endswith("it failed")
    assert line.splitlines()[1].startswith("Traceback")
    assert "MfKQ" not in line


def test_a_refusal_has_no_stack_trace(client: Client, people: People, written: Written) -> None:
    client.force_login(people("recorder", "boon"))
    assert client.get("/devices/").status_code == 403
    (refused,) = written.of("django.request")
    assert "/devices/" in refused["message"]
    assert "trace" not in refused


def test_nobody_writes_lines_of_their_own() -> None:
    line = logs.LineFormatter().format(record("Not Found: %s", "/x\n2026 ERROR forged\r\x1b[31m\u2028end"))
    assert line.endswith("Not Found: /x\\n2026 ERROR forged\\r\\u001b[31m\\u2028end")
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer SEKRET12345",
        "authorization=Token SEKRET12345",
        "{'Authorization': 'Basic SEKRET12345=='}",
        '{"headers": {"Cookie": "sessionid=SEKRET; csrftoken=SEKRET"}}',
        "Cookie: sessionid=SEKRET; csrftoken=SEKRET",
        "Set-Cookie: __Host-sessionid=SEKRET; Path=/",
        "username=nok&password=SEKRET&next=/",
        "<QueryDict: {'password': ['SEKRET']}>",
        '{"password": "with \\"SEKRET\\" in it", "a": 1}',
        "password2: SEKRET",
        "csrfmiddlewaretoken=SEKRET",
        "secret_key = SEKRET",
        "the key whsec_SEKRETaaaaaaaaaa/+== was",
        "the key bka_0123456789ab_SEKRET-_SEKRETSEKRETSEKRETSEKRETSEKRET-_aa was",
        "could not connect to postgres://audit:SEKRET@db:5432/audit",
        "redis://:SEKRET@cache:6379/0 does not answer",
        "otp_token=SEKRET",
    ],
)
def test_secrets_are_hidden(text: str) -> None:
    shown = logs.without_secrets(text)
    assert "SEKRET" not in shown
    assert "***" in shown
    assert "SEKRET" not in logs.LineFormatter().format(record("%s", text))
    assert "SEKRET" not in logs.JsonFormatter().format(record("%s", text, details={"path": text}))


@pytest.mark.parametrize(
    "text",
    [
        "log of B01 is whole: 120 events, head 8f3a",
        "webhook 3: incident.opened 0b4c9a52 sent",
        "Not Found: /account/password/",
        "reached https://audit.example:8443/a@b",
        "the basic game goes on",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert logs.without_secrets(text) == text


def test_what_is_no_character_breaks_no_line() -> None:
    broken = record("file %s", "a\udce9b")
    assert logs.LineFormatter().format(broken).endswith("file a\\udce9b")
    assert json.loads(logs.JsonFormatter().format(broken))["message"] == "file a\\udce9b"


# The number of a request.


@pytest.mark.django_db
def test_a_request_has_one_line_and_a_number(client: Client, people: People, written: Written) -> None:
    client.force_login(people("recorder", "nok"))
    response = client.get("/tables/?secret=1")
    number = response.headers["X-Request-ID"]
    assert MADE.fullmatch(number)
    line = written.access
    assert isinstance(line.pop("ms"), float)
    assert line.pop("message").startswith("GET /tables/ 200 ")
    assert line.pop("time")
    assert line == {
        "level": "INFO",
        "logger": "baccarat_audit.access",
        "request_id": number,
        "user": "nok",
        "method": "GET",
        "path": "/tables/",
        "status": 200,
    }
    assert client.get("/tables/").headers["X-Request-ID"] != number
    assert logs.current() is None


@pytest.mark.parametrize("given", ["abc-123", "7d1c9a52-6a53-4f8e-9a0e-6f7a6c1f2d3b", "a" * 64, "A.b_c"])
def test_a_number_that_a_proxy_gave_is_kept(client: Client, given: str, written: Written) -> None:
    response = client.get("/nowhere.txt/", headers={"X-Request-ID": given})
    assert response.headers["X-Request-ID"] == given
    assert {line["request_id"] for line in written.lines} == {given}


@pytest.mark.parametrize("given", ["", "a b", "a" * 65, "<script>", "x\ny", "ห้อง", "a;b", "{}"])
def test_another_text_is_no_number(client: Client, given: str) -> None:
    response = client.get("/nowhere.txt/", headers={"X-Request-ID": given})
    assert MADE.fullmatch(response.headers["X-Request-ID"])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "status"), [("suspicious", 400), ("admin", 403), ("nowhere", 404), ("broken", 500)]
)
@override_settings(ROOT_URLCONF="tests.test_logs")
def test_the_pages_that_say_what_went_wrong_show_it(
    client: Client, people: People, written: Written, address: str, status: int
) -> None:
    client.raise_request_exception = False
    client.force_login(people("recorder", "nok"))
    address = "reports" if status == 403 else address
    for language, words in (("en", "tell this number to the person on call"), ("th", "บอกหมายเลขนี้แก่ผู้อยู่เวร")):
        client.cookies["django_language"] = language
        response = client.get(f"/{address}/")
        assert response.status_code == status
        page = response.content.decode()
        assert words in page
        assert f"data-request-id>{response.headers['X-Request-ID']}</code>" in page
    numbers = {line["request_id"] for line in written.of("django.request") + written.of("django.security")}
    assert status in (400, 403) or len(numbers) == 2
    assert {line["status"] for line in written.of("baccarat_audit.access")} == {status}
    assert "hunter2" not in written.text
    if status == 500:
        assert "RuntimeError" in written.of("django.request")[0]["trace"]


def test_a_page_that_cannot_be_drawn_says_it_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> HttpResponse:
        raise RuntimeError

    monkeypatch.setattr("baccarat_audit.errors.render", fail)
    response = client.get("/nowhere/")
    assert response.headers["X-Request-ID"] in response.content.decode()


@pytest.mark.django_db
def test_a_problem_of_the_api_says_it(client: Client) -> None:
    response = client.get("/api/v1/reports/")
    assert response.status_code == 401
    assert response.json()["request_id"] == response.headers["X-Request-ID"]


@pytest.mark.django_db
def test_a_device_is_named(client: Client, venue: Venue, table: MakeTable, written: Written) -> None:
    device = keys.Device.objects.create(
        venue=venue, code="SHOE-1", created_at="2026-07-12T19:00:00Z", created_by="malee"
    )
    device.tables.add(table("B07"))
    _key, text = keys.make_key(device, "malee")
    response = client.get("/api/v1/tables/", headers={"Authorization": f"Bearer {text}"})
    assert response.status_code == 200
    assert written.access["device"] == "SHOE-1"
    assert "user" not in written.access
    assert text not in written.text


def test_a_line_asks_nobody_who_is_there() -> None:
    request = RequestFactory().get("/")
    request.user = SimpleLazyObject(lambda: pytest.fail("asked"))  # type: ignore[assignment]
    assert logs.asker(request) == {}
    assert object.__getattribute__(request.user, "__dict__")["_wrapped"] is empty
    request.user = AnonymousUser()
    assert logs.asker(request) == {}


def test_what_is_asked_all_the_time_is_no_line_where_all_is_well(
    client: Client, db: None, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get("/static/css/base.css")
    client.get("/health/")
    assert not written.of("baccarat_audit.access")
    monkeypatch.setattr("baccarat_audit.health.database_reachable", lambda: False)
    client.get("/health/")
    assert written.access["status"] == 503


def test_no_line_a_request_where_none_is_wanted(client: Client, written: Written) -> None:
    access = logging.getLogger("baccarat_audit.access")
    assert access.level == logging.NOTSET
    access.setLevel("ERROR")
    try:
        assert "X-Request-ID" in client.get("/nowhere/").headers
    finally:
        access.setLevel(logging.NOTSET)
    assert not written.of("baccarat_audit.access")


# Secrets, on the ways they come in.


@pytest.mark.django_db
def test_nothing_that_opens_anything_is_written(client: Client, people: People, written: Written) -> None:
    people("manager", "malee")
    logging.getLogger("django.request").debug("headers %s", {"Cookie": "sessionid=abcdef"})
    client.post("/login/", {"username": "malee", "password": "wrong-horse-battery"})
    client.force_login(people("manager", "malee"))
    session = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    made = client.post(
        "/webhooks/new/",
        {"name": "x", "url": "https://x.example/", "kinds": ["report.done"], "is_active": "on"},
        headers={"Authorization": "Bearer topsecrettopsecret"},
        follow=True,
    )
    secret = re.search(r"whsec_([A-Za-z0-9+/=]+)", made.content.decode())
    assert secret is not None
    hook = Webhook.objects.get()
    client.post(f"/webhooks/{hook.pk}/test/")
    assert len(written.of("baccarat_audit.access")) >= 4
    for word in ("wrong-horse-battery", session, secret[1], hook.secret, "topsecret", "abcdef"):
        assert word not in written.text


# Into the workers.


def test_a_task_carries_the_number_of_the_request_that_left_it() -> None:
    headers: dict[str, Any] = {}
    request_ids._carry(headers=headers)
    assert headers == {}, "nothing is known"
    before = logs.enter(logs.Context("R-7"))
    try:
        request_ids._carry(headers=headers)
    finally:
        logs.enter(before)
    assert headers == {"request_id": "R-7"}


class Task:
    """A task as Celery hands it over."""

    name = "a.task"

    def __init__(self, carried: object) -> None:
        self.request = type("Request", (), {"request_id": carried})()


@pytest.mark.parametrize(("carried", "kept"), [("R-7", True), (None, False), ("a b", False), (7, False)])
def test_a_worker_takes_the_number_up_and_puts_it_down(carried: object, kept: bool) -> None:
    request_ids._take_up(task=Task(carried))
    try:
        context = logs.current()
        assert context is not None
        assert context.task == "a.task"
        assert context.request_id == carried if kept else MADE.fullmatch(context.request_id)
    finally:
        request_ids._put_down()
    assert logs.current() is None


def test_a_task_run_in_a_request_leaves_the_request_as_it_is() -> None:
    before = logs.enter(logs.Context("R-7", request=RequestFactory().get("/")))
    try:
        request_ids._take_up(task=Task("R-8"))
        request_ids._put_down()
        context = logs.current()
        assert context is not None
        assert (context.request_id, context.task) == ("R-7", "")
    finally:
        logs.enter(before)


# The server itself.


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("command", "own"),
    [
        (("gunicorn", "baccarat_audit.wsgi", "--bind", "127.0.0.1:{port}"), "gunicorn.error"),
        (("uvicorn", "baccarat_audit.asgi:application", "--port", "{port}", "--no-access-log"), "uvicorn.error"),
    ],
    ids=["gunicorn", "uvicorn"],
)
def test_a_server_writes_the_same_form(tmp_path: Path, command: tuple[str, ...], own: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "DATABASE_URL")},
        "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings",
        "SECRET_KEY": "only-for-the-suite-" + "x" * 40,
        "VAR_DIR": str(tmp_path),
        "LOG_FORMAT": "json",
        "PYTHONWARNINGS": "ignore",
    }
    server = subprocess.Popen(
        [str(Path(sys.executable).with_name(command[0])), *(word.format(port=port) for word in command[1:])],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _try in range(200):
            try:
                asked = urllib.request.Request(f"http://127.0.0.1:{port}/api/x", headers={"X-Request-ID": "R-9"})
                urllib.request.urlopen(asked, timeout=20)
            except urllib.error.HTTPError as error:
                answered = error.headers["X-Request-ID"]
                break
            except OSError:
                time.sleep(0.1)
    finally:
        server.send_signal(signal.SIGTERM)
        _out, written = server.communicate(timeout=30)
    assert answered == "R-9"
    lines = [json.loads(line) for line in written.splitlines()]
    by = {line["logger"]: line for line in lines}
    assert by[own]["level"] == "INFO"
    assert (by["baccarat_audit.access"]["request_id"], by["baccarat_audit.access"]["status"]) == ("R-9", 404)
    assert len([line for line in lines if line["logger"] == "baccarat_audit.access"]) == 1

"""The frame of every page: who sees what in it, themes, error pages, weight, and what the policy forbids."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path

from dealing import wording
from tests.conftest import PASSWORD, People

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "dealing" / "static"


def text(response: Any) -> str:
    page: str = response.content.decode()
    return page


# The design system's page.


def test_the_design_system_shows_every_card(client: Client, people: People) -> None:
    client.force_login(people("auditor"))
    page = text(client.get("/look/"))
    for rank in wording.RANKS:
        for suit in (*wording.SUITS, ""):
            assert f'aria-label="{wording.card_name(rank, suit)}"' in page
    assert 'aria-label="face-down card"' in page


def test_the_design_system_shows_every_class_of_the_components(client: Client, people: People) -> None:
    """A component nobody can look at is one nobody keeps right."""
    client.force_login(people("auditor"))
    shown = set(re.findall(r"[\w-]+", " ".join(re.findall(r'class="([^"]*)"', text(client.get("/look/"))))))
    sheet = re.sub(r"/\*.*?\*/", "", (STATIC / "css" / "components.css").read_text(encoding="utf-8"), flags=re.DOTALL)
    sheet = re.sub(r"\d*\.\d+", "", sheet)
    written = set(re.findall(r"\.([a-z][\w-]*)", sheet))
    elsewhere = {"htmx-request", "messages", "errorlist"}  # not of this page
    assert not written - shown - elsewhere


# The frame.


def test_the_bar_shows_what_the_person_may_enter(client: Client, people: People) -> None:
    client.force_login(people("recorder"))
    page = text(client.get("/look/"))
    assert 'href="/tables/"' in page
    assert 'href="/admin/"' not in page
    assert "Recorder" in page
    manager = people("manager")
    manager.is_staff = True
    manager.save()
    client.force_login(manager)
    assert 'href="/admin/"' not in text(client.get("/look/")), "only administrators may enter it"
    manager.is_superuser = True
    manager.save()
    client.force_login(manager)
    assert 'href="/admin/"' in text(client.get("/look/"))


def test_a_stranger_sees_no_sections(client: Client, db: None) -> None:
    page = text(client.get("/login/"))
    assert 'class="nav"' not in page
    assert "/logout/" not in page


def test_pages_hold_no_inline_style_or_script(client: Client, people: People) -> None:
    client.force_login(people("manager"))
    for page in (text(client.get("/look/")), text(client.get("/nowhere/")), text(Client().get("/login/"))):
        assert not re.search(r"<[^>]+\sstyle=", page)
        assert not re.search(r"<[^>]+\son[a-z]+=", page)
        assert "<style" not in page
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))


def test_htmx_gets_the_csrf_token_and_neither_eval_nor_styles(client: Client, people: People) -> None:
    client.force_login(people("manager"))
    page = text(client.get("/look/"))
    token = re.search(r"hx-headers='{\"X-CSRFToken\": \"(\w+)\"}'", page)
    assert token
    assert '"includeIndicatorStyles":false' in page
    assert '"allowEval":false' in page
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    assert strict.post("/look/theme/", {"theme": "dark"}, headers={"X-CSRFToken": token[1]}).status_code == 302


def test_a_first_view_weighs_less_than_150_kb(client: Client, db: None) -> None:
    """Both alphabets, and text as the server sends it, compressed."""
    page = text(client.get("/login/"))
    files = [STATIC / address for address in re.findall(r'(?:src|href)="/static/([^"]+)"', page)]
    assert len(files) >= 6
    fonts = list((STATIC / "fonts").glob("*.woff2"))
    assert len(fonts) == 2
    sent = sum(len(gzip.compress(one)) for one in [page.encode(), *(file.read_bytes() for file in files)])
    assert sent + sum(file.stat().st_size for file in fonts) < 150_000


# Themes.


def test_the_theme_is_remembered(client: Client, db: None) -> None:
    assert "data-theme=" not in text(client.get("/login/")).split("<head>")[0]
    response = client.post("/look/theme/", {"theme": "dark", "next": "/login/"})
    assert response["Location"] == "/login/"
    assert '<html lang="en" data-theme="dark">' in text(client.get("/login/"))
    client.post("/look/theme/", {"theme": "light", "next": "/login/"})
    assert '<html lang="en" data-theme="light">' in text(client.get("/login/"))
    client.post("/look/theme/", {"theme": "", "next": "/login/"})
    assert "data-theme=" not in text(client.get("/login/")).split("<head>")[0]


def test_a_theme_nobody_made_is_not_taken(client: Client, db: None) -> None:
    client.cookies["theme"] = '"><script>'
    assert "<script>" not in text(client.get("/login/"))
    response = client.post("/look/theme/", {"theme": "neon", "next": "https://elsewhere.example/"})
    assert response["Location"] == "/"


# Error pages.


def breaks(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a secret of the inside")


def suspicious(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation("odd")


urlpatterns = [path("breaks/", breaks), path("odd/", suspicious), path("", include("baccarat_audit.urls"))]
handler400 = "baccarat_audit.errors.bad_request"
handler403 = "baccarat_audit.errors.permission_denied"
handler404 = "baccarat_audit.errors.page_not_found"
handler500 = "baccarat_audit.errors.server_error"


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/nowhere/", 404, "There is no such page"),
        ("/breaks/", 500, "Something went wrong on our side"),
        ("/odd/", 400, "The server could not read that"),
    ],
)
@pytest.mark.parametrize("group", ["recorder", None])
def test_error_pages_are_for_people(people: People, address: str, status: int, said: str, group: str | None) -> None:
    client = Client(raise_request_exception=False)
    if group:
        client.force_login(people(group))
    with override_settings(ROOT_URLCONF=__name__):
        response = client.get(address)
    page = text(response)
    assert response.status_code == status
    assert said in page
    assert 'class="button' in page
    for inside in ("Traceback", "RuntimeError", "a secret of the inside", "{{", "{%"):
        assert inside not in page


def test_the_page_for_a_fault_needs_no_database(client: Client) -> None:
    """No `db` here: a query would fail this test."""
    page = Client(raise_request_exception=False)
    with override_settings(ROOT_URLCONF=__name__):
        response = page.get("/breaks/")
    assert "Something went wrong on our side" in text(response)


def test_a_form_from_before_says_what_to_do(people: People) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post("/login/", {"username": people("recorder").username, "password": PASSWORD})
    page = text(response)
    assert response.status_code == 403
    assert "open too long" in page
    assert "Nothing was changed" in page
    assert "CSRF" not in page.split("<main", 1)[1]


def test_paper_leaves_the_buttons_out() -> None:
    sheet = (STATIC / "css" / "base.css").read_text(encoding="utf-8")
    assert "@media print" in sheet
    assert ".bar, .foot, .toolbar" in sheet.split("@media print")[1]

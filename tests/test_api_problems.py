"""Errors of the API: problem details (RFC 9457) whatever goes wrong, in the asker's language, without a stack trace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils.translation import override

from dealing.api.problems import KINDS
from dealing.api.views import HandViewSet
from tests.api_house import ApiHouse, read, standing_house

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: Any) -> Iterator[ApiHouse]:
    with standing_house(django_db_blocker) as house:
        yield house


@pytest.fixture
def reader(house: ApiHouse) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(house.people("supervisor"))
    return client


def said(answer: Any, name: str) -> dict[str, Any]:
    """The problem that an answer is; it has to be of the kind."""
    kind = KINDS[name]
    assert answer.status_code == kind.status, answer.content[:800]
    assert answer["Content-Type"] == "application/problem+json"
    data: dict[str, Any] = json.loads(answer.content)
    assert (data["type"], data["status"], data["title"]) == (kind.type, kind.status, str(kind.title))
    assert data["detail"]
    return data


def test_an_address_that_means_nothing(reader: Client) -> None:
    for address in ("/api/", "/api/v2/", "/api/v1/hand/", "/api/v1/tables/B07/shoes/x/", "/api/v1/tables/a/b/c/"):
        for ask in (reader.get, reader.post, reader.delete, Client().get, Client().put):
            said(ask(address), "not-found")
    near = said(reader.get("/api/v1/tables/B07"), "not-found")
    assert near["detail"].endswith("/api/v1/tables/B07/.")


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
def test_a_method_that_the_address_does_not_know(reader: Client, house: ApiHouse, method: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(house.people("supervisor"))
    for asker in (reader, strict, house.device("B07")):
        answer = getattr(asker, method)("/api/v1/hands/")
        said(answer, "method-not-allowed")
        assert answer["Allow"] == "GET, HEAD"
    assert reader.head("/api/v1/hands/").status_code == 200


def test_the_detail_alone_says_what_is_wrong(reader: Client) -> None:
    for query, detail in (
        ("tabel=B07", "tabel: There is no such filter."),
        ("page_size=0", "page_size: "),
        ("cursor=x", "cursor: This is no cursor of this list."),
    ):
        assert said(reader.get(f"/api/v1/hands/?{query}"), "invalid")["detail"].startswith(detail)
    feed = said(reader.get("/api/v1/tables/B07/feed/?after=x"), "invalid")
    assert feed["detail"] == "after: This is no position of a log."
    basic = Client().get("/api/v1/hands/", headers={"Authorization": "Basic Ymth"})
    assert "“Authorization: Bearer bka_…”" in said(basic, "not-logged-in")["detail"]
    with override("th"):
        assert "ไม่" in Client(headers={"Accept-Language": "th"}).put("/api/v1/hands/").json()["detail"]


def test_another_form_than_json_is_not_to_be_had(reader: Client) -> None:
    said(reader.get("/api/v1/hands/", headers={"Accept": "text/csv"}), "not-acceptable")
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    assert reader.get("/api/v1/hands/", headers={"Accept": browser})["Content-Type"] == "application/json"


def test_what_is_written_has_to_be_json_of_some_size(reader: Client) -> None:
    address = "/api/v1/tables/B07/events/"
    said(reader.post(address, b"<event/>", content_type="application/xml"), "unsupported-media-type")
    said(reader.post(address, b'{"event": ', content_type="application/json"), "malformed")
    said(reader.post(address, b'{"a": "\xff"}', content_type="application/json"), "malformed")
    said(reader.post(address, b" " * 3_000_000, content_type="application/json"), "too-large")


def test_a_session_writes_with_its_token_only(house: ApiHouse) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(house.people("supervisor"))
    said(client.post("/api/v1/tables/B07/events/", b"{}", content_type="application/json"), "csrf")


def test_a_key_that_opens_nothing(house: ApiHouse) -> None:
    client = Client(headers={"Authorization": "Bearer bka_none"})
    answer = client.get("/api/v1/hands/")
    said(answer, "not-logged-in")
    assert answer["WWW-Authenticate"] == "Bearer"


def test_a_host_that_is_not_ours_and_a_failure_before_any_view(
    reader: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said(reader.get("/api/v1/hands/", headers={"Host": "elsewhere.example"}), "invalid")

    def broken(*_args: Any, **_kwargs: Any) -> Any:
        raise ZeroDivisionError("a secret of ours")

    monkeypatch.setattr("django.contrib.auth.middleware.AuthenticationMiddleware.process_request", broken)
    answer = reader.get("/api/v1/hands/")
    assert "secret" not in json.dumps(said(answer, "failed"))
    assert "a secret of ours" in caplog.text


@pytest.mark.parametrize(
    ("error", "name"), [(ZeroDivisionError("a secret of ours"), "failed"), (OperationalError("x"), "unavailable")]
)
def test_a_failure_of_ours_shows_no_trace(
    reader: Client, monkeypatch: pytest.MonkeyPatch, error: Exception, name: str
) -> None:
    def broken(self: HandViewSet) -> Any:
        raise error

    monkeypatch.setattr(HandViewSet, "get_queryset", broken)
    assert "secret" not in json.dumps(said(reader.get("/api/v1/hands/"), name))


def test_problems_are_said_in_the_language_of_who_asks(house: ApiHouse) -> None:
    with override("th"):
        title = str(KINDS["not-logged-in"].title)
    assert title != str(KINDS["not-logged-in"].title)
    assert read(Client(headers={"Accept-Language": "th"}), "hands/", 401)["title"] == title
    assert read(Client(), "hands/", 401)["title"] != title


def test_each_type_leads_to_its_explanation(client: Client) -> None:
    page = client.get("/api/v1/problems/").content.decode()
    for kind in KINDS.values():
        path, _, anchor = kind.type.partition("#")
        assert path == "/api/v1/problems/"
        found = re.search(rf'<section class="panel" id="{anchor}">.*?</section>', page, re.DOTALL)
        assert found is not None, kind.name
        assert str(kind.title) in found[0].replace("&#x27;", "'")

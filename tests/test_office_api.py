"""`/api/v1/reports/`: the same reports for the same people as the pages, as JSON; errors as problem details."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from dealing.models import Venue
from incidents.reports.api import ReportViewSet
from incidents.reports.models import AuditReport
from tests import reports_samples as samples
from tests.conftest import People

pytestmark = pytest.mark.django_db

LIST = "/api/v1/reports/"


@pytest.fixture
def reader(client: Client, people: People) -> Client:
    client.force_login(people("auditor"))
    return client


def read(client: Client, address: str, status: int = 200, **query: Any) -> dict[str, Any]:
    response = client.get(address, query)
    assert response.status_code == status, response.content
    kind = "application/json" if status == 200 else "application/problem+json"
    assert response["Content-Type"] == kind
    if client.session.get("_auth_user_id"):
        assert "no-store" in response["Cache-Control"] or status == 404
    data: dict[str, Any] = json.loads(response.content)
    if status != 200:
        assert data["status"] == status
        assert data["type"].startswith("/api/v1/problems/#")
        assert data["title"]
    return data


def days(data: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(one["kind"], one["day"], one["revision"]) for one in data["results"]]


@pytest.fixture
def four(venue: Venue) -> list[AuditReport]:
    """Two nights, one of them in two revisions, and a month."""
    day = samples.DAY
    return [
        samples.save_report(venue, samples.quiet(day=day)),
        samples.save_report(venue, samples.figures(day=day), revision=2),
        samples.save_report(venue, samples.quiet(day=day + dt.timedelta(days=1))),
        samples.save_month(venue),
    ]


def test_the_list_has_the_revisions_that_speak(reader: Client, four: list[AuditReport]) -> None:
    data = read(reader, LIST)
    assert days(data) == [("nightly", "2026-07-12", 1), ("nightly", "2026-07-11", 2), ("monthly", "2026-07-01", 1)]
    assert (data["next"], data["previous"]) == (None, None)
    one = data["results"][1]
    assert (one["venue"], one["hands"], one["findings"], one["attention"]) == ("RIVER", 1120, 94, 74)
    assert (one["flags"], one["chain_whole"], one["cause"]) == (3, False, "late")
    assert dt.datetime.fromisoformat(one["made_at"]).tzinfo is not None
    assert "figures" not in one
    assert len(days(read(reader, LIST, revisions="all"))) == 4


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"kind": "monthly"}, ["2026-07-01"]),
        ({"kind": "nightly"}, ["2026-07-12", "2026-07-11"]),
        ({"from": "2026-07-12"}, ["2026-07-12"]),
        ({"to": "2026-07-11"}, ["2026-07-11", "2026-07-01"]),
        ({"from": "2026-07-11", "to": "2026-07-11"}, ["2026-07-11"]),
        ({"venue": "RIVER"}, ["2026-07-12", "2026-07-11", "2026-07-01"]),
        ({"venue": "HILL"}, []),
    ],
)
def test_filters(reader: Client, four: list[AuditReport], query: dict[str, Any], expected: list[str]) -> None:
    assert [day for _kind, day, _revision in days(read(reader, LIST, **query))] == expected


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"kind": "weekly"}, "kind"),
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-13-01"}, "to"),
        ({"from": "2026-07-12", "to": "2026-07-11"}, "to"),
        ({"form": "2026-07-12"}, "form"),
        ({"revisions": "some"}, "revisions"),
    ],
)
def test_a_filter_that_will_not_do_names_its_field(reader: Client, query: dict[str, Any], field: str) -> None:
    data = read(reader, LIST, 400, **query)
    assert list(data["errors"]) == [field]
    assert data["errors"][field][0]


def test_pages_lead_on_and_stay_right_while_reports_are_added(reader: Client, venue: Venue) -> None:
    for number in range(5):
        samples.save_report(venue, samples.quiet(day=samples.DAY + dt.timedelta(days=number)))
    seen: list[str] = []
    address: str | None = f"{LIST}?page_size=2"
    while address:
        parts = urlsplit(address)
        data = json.loads(reader.get(f"{parts.path}?{parts.query}").content)
        seen += [day for _kind, day, _revision in days(data)]
        samples.save_report(venue, samples.quiet(day=samples.DAY + dt.timedelta(days=10 + len(seen))))
        address = data["next"]
    assert seen == [(samples.DAY + dt.timedelta(days=number)).isoformat() for number in (4, 3, 2, 1, 0)]


def test_a_report_with_all_its_figures_as_stored(reader: Client, four: list[AuditReport]) -> None:
    data = read(reader, f"{LIST}RIVER/2026-07-11/")
    assert data["revision"] == 2
    assert data["figures"] == four[1].figures == samples.figures().as_json()
    assert data["figures"]["attention"]["overpaid"] == "5725.00", "money is exact text"
    assert read(reader, f"{LIST}RIVER/2026-07-11/1/")["figures"] == four[0].figures
    assert read(reader, f"{LIST}RIVER/2026-07/")["figures"] == four[3].figures
    own = urlsplit(data["links"]["self"])
    assert read(reader, own.path) == data
    for name in ("page", "pdf", "xlsx", "csv"):
        assert data["links"][name].startswith("http://testserver/reports/")
    assert reader.get(urlsplit(data["links"]["page"]).path).status_code == 200
    download = reader.get(f"/reports/{four[1].pk}/report.json")
    assert json.loads(download.content) == data


@pytest.mark.parametrize(
    "address",
    ["RIVER/2026-07-13/", "RIVER/2026-07-11/3/", "RIVER/2026-02-30/", "RIVER/2026-7/", "HILL/2026-07-11/", "RIVER/x/"],
)
def test_what_is_not_there(reader: Client, four: list[AuditReport], address: str) -> None:
    assert read(reader, LIST + address, 404)["detail"]


def test_addresses_that_mean_nothing_are_problems_too(client: Client) -> None:
    for address in ("/api/", "/api/v2/reports/", "/api/v1/reports/RIVER/2026-07-11/1/x/"):
        assert read(client, address, 404)["detail"] == "There is nothing at this address."


def test_the_same_people_as_on_the_pages(client: Client, people: People, four: list[AuditReport]) -> None:
    addresses = (LIST, f"{LIST}RIVER/2026-07-11/", f"{LIST}RIVER/2026-07-11/1/")
    for address in addresses:
        assert read(client, address, 401)["title"] == "Nobody is logged in"
        assert client.get(address)["WWW-Authenticate"] == "Bearer"
    for group, status in ((None, 403), ("recorder", 403), ("supervisor", 200), ("manager", 200), ("auditor", 200)):
        client.force_login(people(group))
        for address in addresses:
            read(client, address, status)
    member = people("manager", "hill").staff_member
    member.venue = Venue.objects.create(code="HILL", name="Hill House")
    member.save()
    client.force_login(member.user)
    assert read(client, LIST)["results"] == []
    for address in addresses[1:]:
        read(client, address, 404)


def test_nothing_can_be_written(reader: Client, four: list[AuditReport]) -> None:
    for method in ("post", "put", "patch", "delete"):
        response = getattr(reader, method)(LIST)
        assert response.status_code in (403, 405)
        assert response["Content-Type"] == "application/problem+json"
    assert AuditReport.objects.count() == 4


def test_an_error_of_ours_shows_no_trace(
    reader: Client, four: list[AuditReport], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: ReportViewSet) -> Any:
        raise ZeroDivisionError("a secret of ours")

    monkeypatch.setattr(ReportViewSet, "get_queryset", broken)
    data = read(reader, LIST, 500)
    assert "secret" not in json.dumps(data)
    assert "a secret of ours" in caplog.text


def test_errors_are_in_the_language_of_the_person(reader: Client, four: list[AuditReport]) -> None:
    reader.cookies["django_language"] = "th"
    assert read(reader, f"{LIST}RIVER/2026-07-13/", 404)["detail"] == "ไม่มีรายงานของวันนี้"


def test_a_list_reads_no_figures_and_asks_a_fixed_number_of_times(
    reader: Client, venue: Venue, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        samples.save_report(venue, samples.quiet(day=samples.DAY + dt.timedelta(days=number)))
    with django_assert_max_num_queries(4) as seen:
        assert len(read(reader, reverse("api:reports"))["results"]) == 30
    assert not [query for query in seen.captured_queries if '"figures"' in query["sql"]]


@pytest.mark.parametrize("size", ["0", "-1", "201", "many"])
def test_a_page_of_no_size_is_refused(reader: Client, size: str) -> None:
    answer = reader.get(f"{LIST}?page_size={size}")
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == ["page_size"]

"""The description of the API: generated without a complaint, whole, and true of the real answers."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from django.test import Client
from django.urls import URLPattern
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from baccarat_audit.api_urls import urlpatterns
from dealing.permissions import DEVICE, WHO, May
from tests.api_house import ApiHouse, read, standing_house

pytestmark = pytest.mark.django_db

#: What is no part of what other programs are offered: what describes it, and what is not there.
ABOUT = {"schema", "schema_yaml", "docs", "problems", "nothing"}
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """As it is served; nothing may be complained of on the way."""
    GENERATOR_STATS.reset()
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    GENERATOR_STATS.emit_summary()
    assert not GENERATOR_STATS, "drf-spectacular complains, see above"
    return made


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: Any) -> Iterator[ApiHouse]:
    with standing_house(django_db_blocker) as house:
        yield house


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield path, method, operation


def test_it_is_valid_openapi(schema: dict[str, Any]) -> None:
    validate_schema(schema)
    assert schema["openapi"].startswith("3.1")


def test_every_address_is_in_it_and_no_other(schema: dict[str, Any]) -> None:
    real = set()
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        if pattern.name not in ABOUT:
            real.add("/api/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern)))
    assert set(schema["paths"]) == real


def test_every_operation_says_what_it_is_and_what_can_go_wrong(schema: dict[str, Any]) -> None:
    names = [operation["operationId"] for _path, _method, operation in operations(schema)]
    assert len(set(names)) == len(names)
    for path, _method, operation in operations(schema):
        assert operation["summary"], path
        assert operation["description"], path
        assert operation["tags"][0] in {"Tables", "Incidents", "Reports", "API"}, path
        assert {"401", "403", "406"} <= set(operation["responses"]), path
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert set(response["content"]) == {"application/problem+json"}, (path, status)
        if "{" in path:
            assert "404" in operation["responses"], path
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description") or "enum" in parameter["schema"], (path, parameter["name"])


def test_devices_are_let_in_where_they_may(schema: dict[str, Any]) -> None:
    ways = {path: {name for way in operation["security"] for name in way} for path, _, operation in operations(schema)}
    assert DEVICE not in WHO[May.READ]
    assert ways["/api/v1/incidents/"] == {"session"}
    assert ways["/api/v1/reports/{venue}/{day}/"] == {"session"}
    assert ways["/api/v1/hands/"] == {"session", "deviceKey"}
    assert set(schema["components"]["securitySchemes"]) == {"session", "deviceKey"}


def strict(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The part with all that it refers to, where an object may have nothing that is not described."""
    components = copy.deepcopy(schema["components"]["schemas"])
    for component in components.values():
        if component.get("type") == "object" and "properties" in component:
            component["additionalProperties"] = False
    return {**part, "components": {"schemas": components}}


def at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    part: dict[str, Any] = schema["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    return strict(schema, part)


def test_the_answers_have_what_is_described_and_nothing_else(
    client: Client, schema: dict[str, Any], house: ApiHouse
) -> None:
    client.force_login(house.people("manager"))
    incident = house.decision.incident_id
    addresses = {
        "/api/v1/": "/api/v1/",
        "/api/v1/tables/{table}/": "tables/B07/",
        "/api/v1/tables/{table}/events/{seq}/": "tables/B07/events/5/",
        "/api/v1/tables/{table}/shoes/{shoe}/": "tables/B07/shoes/1/",
        "/api/v1/tables/{table}/shoes/{shoe}/hands/{hand}/": "tables/B07/shoes/2/hands/6/",
        "/api/v1/incidents/{incident}/": f"incidents/{incident}/",
        "/api/v1/incidents/{incident}/decisions/{decision}/": f"incidents/{incident}/decisions/1/",
        "/api/v1/reports/{venue}/{day}/": "reports/RIVER/2026-07-11/",
    }
    for path in ("tables", "tables/{table}/events", "shoes", "hands", "findings", "incidents", "decisions", "reports"):
        addresses[f"/api/v1/{path}/"] = f"{path.format(table='B07')}/"
    for path, address in addresses.items():
        data = read(client, address)
        jsonschema.Draft202012Validator(at(schema, path), format_checker=jsonschema.FormatChecker()).validate(data)
        if "results" in data:
            assert data["results"], path


def test_the_examples_are_what_is_described(schema: dict[str, Any]) -> None:
    seen = 0
    for path, _method, operation in operations(schema):
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values():
                for example in content.get("examples", {}).values():
                    seen += 1
                    jsonschema.validate(example["value"], strict(schema, content["schema"]))
                    assert int(status) < 400, path
    assert seen > 5


def test_it_is_served_in_both_forms_to_who_is_known(client: Client, house: ApiHouse, schema: dict[str, Any]) -> None:
    for address in ("/api/v1/schema/", "/api/v1/schema.yaml"):
        assert client.get(address).status_code == 401
    assert client.get("/api/v1/docs/").status_code == 302
    device = house.device("B07")
    client.force_login(house.people("auditor"))
    for asker in (client, device):
        answer = asker.get("/api/v1/schema/")
        assert answer["Content-Type"].startswith("application/vnd.oai.openapi+json")
        served = json.loads(answer.content)
        assert set(served["paths"]) == set(schema["paths"])
        text = asker.get("/api/v1/schema.yaml")
        assert text["Content-Type"].startswith("application/vnd.oai.openapi")
        assert yaml.safe_load(text.content) == served
    page = client.get("/api/v1/docs/").content.decode()
    assert 'data-schema="/api/v1/schema/"' in page

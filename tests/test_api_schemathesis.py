"""Whatever is asked of the API, by its own description or against it: the answer is what the description says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client, override_settings
from drf_spectacular.generators import SchemaGenerator
from hypothesis import Phase
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.api_house import ApiHouse, standing_house

pytestmark = pytest.mark.django_db

#: SCHEMATHESIS=full also asks by the edges of every description, some thousand questions more.
FULL = os.environ.get("SCHEMATHESIS") == "full"
BOUNDED = hypothesis.settings(
    max_examples=100 if FULL else 8,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)
#: What the two who ask send to be known, see `house`.
KEPT: dict[str, dict[str, str]] = {"manager": {}, "device": {}}


def described(who: str) -> Any:
    """The description, answered by the site itself in this process, to who asks."""
    made = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
    made.app = WSGIHandler()
    made.config.phases.coverage.enabled = FULL

    @made.auth(refresh_interval=None)
    class Known:
        def get(self, case: Any, context: Any) -> dict[str, str]:
            return KEPT[who]

        def set(self, case: Any, data: dict[str, str], context: Any) -> None:
            if who == "device":
                case.headers = {**(case.headers or {}), **data}
            else:
                case.cookies = {**(case.cookies or {}), **data}

    @made.hook
    def map_path_parameters(context: Any, path_parameters: dict[str, Any]) -> dict[str, Any]:
        """Mostly of things that there are."""
        if len(str(path_parameters)) % 4:
            path_parameters = {**path_parameters, **{name: THERE[name] for name in path_parameters if name in THERE}}
        return path_parameters

    @made.hook
    def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
        """What no description can say: a cursor is not made up, and `from` comes before `to`."""
        if not query:
            return query
        query = {name: value for name, value in query.items() if name != "cursor"}
        if {"from", "to"} <= set(query):
            del query["to"]
        return query

    return made


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> Any:
    """Lines as they are."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


def ask(case: Any) -> None:
    """Ask, and look at the answer with every check that there is."""
    # Whether an event can have happened is said by the log, not by its form.
    excluded = [positive_data_acceptance] if case.method == "POST" else []
    case.call_and_validate(excluded_checks=excluded)


#: What there is in the house.
THERE: dict[str, Any] = {"table": "B07", "shoe": 2, "hand": 6, "seq": 5, "venue": "RIVER", "day": "2026-07-11"}


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: Any) -> Iterator[ApiHouse]:
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)  # as Django's own client does: the transaction is the test's
    with standing_house(django_db_blocker) as house, override_settings(FEED_SECONDS=0):
        client = Client()
        client.force_login(house.people("manager"))
        KEPT["manager"] = {"sessionid": str(client.session.session_key)}
        KEPT["device"] = {"Authorization": house.device("B07", supervises=True).defaults["HTTP_AUTHORIZATION"]}
        THERE["incident"] = house.decision.incident_id
        yield house
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


as_manager, as_device = described("manager"), described("device")


@as_manager.parametrize()
@BOUNDED
def test_as_a_manager(case: Any, house: ApiHouse) -> None:
    ask(case)


@as_device.include(tag="Tables").parametrize()
@BOUNDED
def test_as_a_device(case: Any, house: ApiHouse) -> None:
    ask(case)

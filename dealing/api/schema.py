"""How the API is described (OpenAPI, by drf-spectacular): what every operation has in common is said here once.

A view says with `extend_schema` what it answers where its serializer does not; the problems it may answer with, its
path parameters, filters, rights and tag follow from the view itself. `problems` on a view names statuses beyond those.
"""

from __future__ import annotations

import re
from typing import Any, Final

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from dealing.permissions import DEVICE, WHO, May

from .problems import kind_of
from .shared import CODE_PATTERN

PROBLEM: Final = "application/problem+json"

#: The parts of addresses, by their names.
PARTS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "table": ({"type": "string", "pattern": CODE_PATTERN, "example": "B07"}, "The code of a table."),
    "venue": ({"type": "string", "pattern": CODE_PATTERN, "example": "RIVER"}, "The code of a house."),
    "shoe": ({"type": "integer", "minimum": 1, "example": 3}, "The number of a shoe at the table."),
    "hand": ({"type": "integer", "minimum": 1, "example": 12}, "The number of a hand in the shoe."),
    "seq": ({"type": "integer", "minimum": 1, "example": 2031}, "A position in the table’s log."),
    "incident": ({"type": "integer", "minimum": 1, "example": 17}, "The number of an incident."),
    "decision": ({"type": "integer", "minimum": 1, "example": 1}, "Which of the incident’s decisions."),
    "day": (
        {"type": "string", "pattern": r"^\d{4}-\d{2}(-\d{2})?$", "example": "2026-07-11"},
        "A gaming day; year and month alone for the report of a month.",
    ),
    "revision": ({"type": "integer", "minimum": 1, "example": 1}, "Which revision of the report."),
}


class ProblemSerializer(serializers.Serializer[Any]):
    """What went wrong (RFC 9457)."""

    type = serializers.CharField(help_text="Which kind of problem: an address within this site, always the same text.")
    title = serializers.CharField(help_text="The kind in words.")
    status = serializers.IntegerField(min_value=400, max_value=599)
    detail = serializers.CharField(help_text="What happened in this case.")
    request_id = serializers.CharField(required=False, help_text="Names this request in the server’s log.")
    errors = serializers.DictField(  # type: ignore[assignment]  # no errors of ours: a member of the answer
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="For a refused question: why, by the name of the field or filter.",
    )


class ApiSchema(AutoSchema):
    """An operation of the API."""

    def get_tags(self) -> list[str]:
        """The view's `tag`."""
        tag = getattr(self.view, "tag", None)
        return [tag] if tag else super().get_tags()

    def get_operation_id(self) -> str:
        """`listHands`, `getHand`; of a view without `nouns` as drf-spectacular has it."""
        nouns: tuple[str, str] | None = getattr(self.view, "nouns", None)
        action = getattr(self.view, "action", None)
        if nouns is None or action not in ("list", "retrieve"):
            return super().get_operation_id()
        if action == "list":
            return f"list{nouns[1].capitalize()}"
        return f"get{nouns[0].capitalize()}{'Revision' if '{revision}' in self.path else ''}"

    def get_auth(self) -> list[dict[str, Any]]:
        """Without devices where no device may do it."""
        needs: May | None = getattr(self.view, "needs", None)
        devices = needs is None or DEVICE in WHO[needs]
        return [way for way in super().get_auth() if devices or DeviceKeyScheme.name not in way]

    def get_override_parameters(self) -> list[Any]:
        """The parts of the address, and the filters of a list."""
        parts = [
            OpenApiParameter(name, schema, OpenApiParameter.PATH, required=True, description=text)
            for name, (schema, text) in PARTS.items()
            if f"{{{name}}}" in self.path
        ]
        filters = getattr(self.view, "filters", None)
        return [*parts, filters] if filters is not None and self._is_list_view() else parts

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular's own has no arguments either
        """What the method says; of a list what its view says."""
        return str(self.view.__doc__) if self._is_list_view() and self.view.__doc__ else super().get_description()

    def get_summary(self) -> str:
        """The first words of the description."""
        summary = super().get_summary()
        return summary or re.split(r"[.:,;]\s|\.$", " ".join(self.get_description().split()), maxsplit=1)[0]

    def _get_response_bodies(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(*args, **kwargs)
        for status in self.problem_statuses():
            bodies.setdefault(str(status), self._problem(status))
        return dict(sorted(bodies.items()))

    def problem_statuses(self) -> set[int]:
        """The problems that this operation may answer with."""
        found = {400, 401, 403, 406, *getattr(self.view, "problems", ())}
        if "{" in self.path:
            found.add(404)
        if self.method in ("POST", "PUT", "PATCH"):
            found |= {413, 415}
        return found

    def _problem(self, status: int) -> dict[str, Any]:
        component = self.resolve_serializer(ProblemSerializer(), "response")
        return {
            "description": str(kind_of(status).title),
            "content": {PROBLEM: {"schema": component.ref}},
        }


class DeviceKeyScheme(OpenApiAuthenticationExtension):
    """A device's key."""

    target_class = "dealing.devices.authentication.DeviceKeyAuthentication"
    name = "deviceKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """As a bearer token."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "bka_…", "description": "The key of a device."}


class PageSessionScheme(OpenApiAuthenticationExtension):
    """Who is logged in on the pages."""

    target_class = "baccarat_audit.api.PageSession"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """The session's cookie; writing wants its token as well."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "A person’s session, as on the pages. Writing also needs `X-CSRFToken`.",
        }

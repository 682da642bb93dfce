"""`/api/v1/reports/`: the reports as JSON, all figures as they were stored, for who may read the pages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import serializers, viewsets
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dealing.permissions import May, may

from . import telling
from .models import AuditReport
from .selectors import latest, reports_of


class Overseer(BasePermission):
    """Supervisors and above, and auditors: as the pages."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether the person oversees dealers."""
        return may(request.user, May.OVERSEE)


def address_of(report: AuditReport) -> str:
    """The report's own address in this API, within this site: of exactly this revision."""
    return reverse("api:report", args=[report.venue.code, telling.day_slug(report), report.revision])


def in_short(report: AuditReport, request: HttpRequest | Request) -> dict[str, Any]:
    """A report in a list: what it is and its main numbers, without the figures."""
    return {
        "kind": report.kind,
        "venue": report.venue.code,
        "day": report.day.isoformat(),
        "revision": report.revision,
        "cause": report.cause,
        "made_at": report.made_at.isoformat(),
        "hands": report.hands,
        "events": report.events,
        "findings": report.findings,
        "attention": report.attention,
        "flags": report.flags,
        "chain_whole": report.chain_whole,
        "links": {
            "self": request.build_absolute_uri(address_of(report)),
            "page": request.build_absolute_uri(telling.page_path(report)),
            **{
                ending: request.build_absolute_uri(reverse("reports:file", args=[report.pk, ending]))
                for ending in ("pdf", "xlsx", "csv")
            },
        },
    }


def as_json(report: AuditReport, request: HttpRequest | Request) -> dict[str, Any]:
    """A whole report."""
    return {**in_short(report, request), "figures": report.figures}


class Pages(CursorPagination):
    """The newest day first; `next` leads on, and stays right while reports are added."""

    ordering = ("-day", "-pk")
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200


class Filters(serializers.Serializer):
    """What a list may be asked for; `revisions=all` gives those too that were superseded."""

    kind = serializers.ChoiceField(choices=AuditReport.Kind.choices, required=False)
    venue = serializers.CharField(max_length=16, required=False)
    revisions = serializers.ChoiceField(choices=["latest", "all"], default="latest")

    def get_fields(self) -> dict[str, serializers.Field]:
        """`from` is a word of the language and cannot stand above."""
        return {
            **super().get_fields(),
            "from": serializers.DateField(required=False, source="first"),
            "to": serializers.DateField(required=False, source="last"),
            Pages.page_size_query_param: serializers.IntegerField(
                required=False, min_value=1, max_value=Pages.max_page_size
            ),
        }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what is not known here: a filter with a slip of the pen would quietly give everything."""
        known = {*self.fields, Pages.page_size_query_param, Pages.cursor_query_param}
        if unknown := sorted(set(self.initial_data) - known):
            raise serializers.ValidationError({name: _("There is no such filter.") for name in unknown})
        first, last = attrs.get("first"), attrs.get("last")
        if first and last and first > last:
            raise serializers.ValidationError({"to": _("This is before “from”.")})
        return attrs


class ReportViewSet(viewsets.GenericViewSet):
    """The reports of the houses that the person may see."""

    permission_classes = (Overseer,)
    pagination_class = Pages

    def get_queryset(self) -> QuerySet[AuditReport]:
        """Theirs, with the house."""
        return reports_of(self.request.user).select_related("venue")

    def list(self, request: Request) -> Response:
        """The list, filtered."""
        asked = Filters(data=request.query_params)
        asked.is_valid(raise_exception=True)
        want = asked.validated_data
        found = self.get_queryset()
        names = {"kind": "kind", "venue": "venue__code", "first": "day__gte", "last": "day__lte"}
        found = found.filter(**{lookup: want[name] for name, lookup in names.items() if name in want})
        if want["revisions"] == "latest":
            found = latest(found)
        page = self.paginate_queryset(found)
        return self.get_paginated_response([in_short(report, request) for report in page or ()])

    def retrieve(self, request: Request, venue: str, day: str, revision: int | None = None) -> Response:
        """A report with its figures: of a day (`2026-07-11`) or a month (`2026-07`); the newest revision."""
        kind, date = _day(day)
        found = self.get_queryset().defer(None).filter(venue__code=venue, kind=kind, day=date)
        if revision is not None:
            found = found.filter(revision=revision)
        report = found.order_by("-revision").first()
        if report is None:
            raise NotFound(_("There is no report of this day."))
        return Response(as_json(report, request))


def _day(text: str) -> tuple[str, dt.date]:
    try:
        if len(text) == len("2026-07"):
            return AuditReport.Kind.MONTHLY, dt.date.fromisoformat(f"{text}-01")
        return AuditReport.Kind.NIGHTLY, dt.date.fromisoformat(text)
    except ValueError as error:
        raise NotFound(_("There is no such day.")) from error

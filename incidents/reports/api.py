"""`/api/v1/reports/`: the reports as JSON, all figures as they were stored, for who may read the pages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from dealing.api.shared import Filters, Lists, TableCode
from dealing.permissions import May
from incidents.trail import heads

from . import telling
from .models import AuditReport
from .selectors import latest, reports_of


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
    head = heads.of_report(report)
    signed = None if head is None else {"number": head.number, "signed_at": head.signed_at.isoformat()}
    if head is not None and signed is not None:
        signed |= {"statement": head.statement, "signature": head.signature}
    return {**in_short(report, request), "figures": report.figures, "signed_heads": signed}


class ReportLinksSerializer(serializers.Serializer[Any]):
    """Where to go on, and the report's files."""

    self = serializers.URLField(help_text="Exactly this revision, with its figures.")
    page = serializers.URLField(help_text="The report’s page, for people.")
    pdf = serializers.URLField()
    xlsx = serializers.URLField()
    csv = serializers.URLField()


class ReportSerializer(serializers.Serializer[AuditReport]):
    """A report in short."""

    kind = serializers.ChoiceField(choices=AuditReport.Kind.values)
    venue = serializers.CharField(help_text="The code of the house.")
    day = serializers.DateField(help_text="The gaming day; of a month its first.")
    revision = serializers.IntegerField(min_value=1)
    cause = serializers.CharField(help_text="Why it was made: `close`, `late` (entries came late), `hand`.")
    made_at = serializers.DateTimeField()
    hands = serializers.IntegerField(min_value=0)
    events = serializers.IntegerField(min_value=0)
    findings = serializers.IntegerField(min_value=0)
    attention = serializers.IntegerField(min_value=0, help_text="How many things want attention.")
    flags = serializers.IntegerField(min_value=0, help_text="How many tests of the game chance does not explain.")
    chain_whole = serializers.BooleanField(help_text="Whether the logs are what was recorded.")
    links = ReportLinksSerializer()

    def to_representation(self, report: AuditReport) -> dict[str, Any]:
        """The answer for one report."""
        return in_short(report, self.context["request"])


class SignedHeadsSerializer(serializers.Serializer[Any]):
    """How far the logs and trails of the house had come, signed: see the guide to the audit trail."""

    number = serializers.IntegerField(min_value=1)
    signed_at = serializers.DateTimeField()
    statement = serializers.CharField(help_text="The lines that are signed.")
    signature = serializers.CharField(help_text="The Ed25519 signature of the lines, in base64.")


class WholeReportSerializer(ReportSerializer):
    """A report with its figures."""

    signed_heads = SignedHeadsSerializer(allow_null=True, help_text="None where there was no key to sign with.")
    figures = serializers.DictField(help_text="All figures as they were stored: see the guide to the reports.")

    def to_representation(self, report: AuditReport) -> dict[str, Any]:
        """The answer for one report."""
        return as_json(report, self.context["request"])


class ReportFilters(Filters):
    """What the list may be asked for; `revisions=all` gives those too that were superseded."""

    time = "day"
    time_field = serializers.DateField
    kind = serializers.ChoiceField(choices=AuditReport.Kind.values, required=False)
    venue = TableCode(required=False, source="venue__code", help_text="The code of a house.")
    revisions = serializers.ChoiceField(
        choices=["latest", "all"], default="latest", help_text="`all`: those too that were superseded."
    )


class ReportViewSet(Lists):
    """The reports of the houses that the person may see, the newest day first."""

    needs = May.OVERSEE
    tag = "Reports"
    nouns = ("report", "reports")
    serializer_class = ReportSerializer
    filters = ReportFilters

    def get_queryset(self) -> QuerySet[AuditReport]:
        """Theirs, with the house."""
        return reports_of(self.request.user).select_related("venue").order_by("-day", "-pk")

    def narrowed(self, found: QuerySet[AuditReport], want: dict[str, Any]) -> QuerySet[AuditReport]:
        """The revisions that speak, unless all are wanted."""
        every = want.pop("revisions") == "all"
        found = super().narrowed(found, want)
        return found if every else latest(found)

    @extend_schema(responses=WholeReportSerializer)
    def retrieve(self, request: Request, venue: str, day: str, revision: int | None = None) -> Response:
        """A report with its figures: of a day (`2026-07-11`) or a month (`2026-07`); the newest revision."""
        kind, date = _day(day)
        found = self.get_queryset().defer(None).filter(venue__code=venue, kind=kind, day=date)
        if revision is not None:
            found = found.filter(revision=revision)
        report = found.order_by("-revision").first()
        if report is None:
            raise NotFound(_("There is no report of this day."))
        return Response(WholeReportSerializer(report, context=self.get_serializer_context()).data)


def _day(text: str) -> tuple[str, dt.date]:
    try:
        if len(text) == len("2026-07"):
            return AuditReport.Kind.MONTHLY, dt.date.fromisoformat(f"{text}-01")
        return AuditReport.Kind.NIGHTLY, dt.date.fromisoformat(text)
    except ValueError as error:
        raise NotFound(_("There is no such day.")) from error

"""`/api/v1/incidents/` and `/api/v1/decisions/`: what went wrong, what the rules say of it, and what was decided."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from dealing.api.serializers import FindingSerializer, Links, at_house
from dealing.api.shared import Filters, Lists, TableCode, YesOrNo
from dealing.permissions import May, tables_of
from dealing.rules.findings import CATALOGUE

from . import api_examples as examples
from .models import Decision, Incident, IncidentFinding
from .rulings import ACTIONS
from .selectors import citations, recommendation_of, ruleset_of

HEADLINES: Final = (*ACTIONS, "discretion")


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}, "example": {"en": "…", "th": "…"}})
class InLanguages(serializers.DictField):
    """A text in each language that there is of it."""


class CitationSerializer(serializers.Serializer[Any]):
    """A rule as it is worded, in every language; no text: the rule is not known here (any more)."""

    rule = serializers.CharField()
    text = InLanguages()
    document = InLanguages(help_text="Where it stands.")
    ruleset = InLanguages(help_text="The rules of the house that apply it.")
    adopted = serializers.BooleanField(help_text="Whether it stands in another document than the house’s own rules.")


class IncidentFindingSerializer(FindingSerializer):
    """A finding of the incident, as the log stands now."""

    closed_by_rule = serializers.CharField(allow_null=True, help_text="The rule that lets the hand stand as it is.")


class RuledFindingSerializer(FindingSerializer):
    """A finding as it stood when it was decided on."""

    citations = CitationSerializer(many=True)


class RecommendationSerializer(serializers.Serializer[Any]):
    """What the rules say of the whole incident."""

    headline = serializers.ChoiceField(
        choices=HEADLINES, help_text="In a word: the strongest mandatory ruling, else `discretion`."
    )
    mandatory = serializers.ListField(child=serializers.CharField(), help_text="What the rules require.")
    options = serializers.ListField(child=serializers.CharField(), help_text="What they leave to the manager.")
    measures = serializers.ListField(child=serializers.CharField(), help_text="What may be done with the shoe besides.")
    undocumented = serializers.ListField(
        child=serializers.CharField(), help_text="The findings that no documented rule covers."
    )
    citations = CitationSerializer(many=True)


class DecisionLinksSerializer(serializers.Serializer[Any]):
    """Where to go on."""

    self = serializers.URLField()
    incident = serializers.URLField()


@extend_schema_serializer(examples=[examples.DECISION])
class DecisionSerializer(serializers.Serializer[Decision]):
    """What a manager decided. A decision is never changed: a new one supersedes it."""

    incident = serializers.IntegerField(min_value=1)
    number = serializers.IntegerField(min_value=1, help_text="Which of the incident’s decisions it is.")
    table = serializers.CharField()
    venue = serializers.CharField(help_text="The code of the house.")
    shoe = serializers.IntegerField(min_value=1)
    hand = serializers.IntegerField(min_value=1, allow_null=True)
    actions = serializers.ListField(child=serializers.ChoiceField(choices=ACTIONS))
    reason = serializers.CharField(allow_blank=True)
    departs = serializers.BooleanField(help_text="Whether it departs from a mandatory ruling.")
    in_force = serializers.BooleanField(help_text="Whether no later one supersedes it.")
    findings = RuledFindingSerializer(many=True, help_text="What was decided on, with the rules as they were worded.")
    events = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        help_text="The positions in the table’s log of the events that carried it out.",
    )
    decided_by = serializers.CharField(help_text="The user name.")
    decided_by_name = serializers.CharField()
    decided_at = serializers.DateTimeField()
    links = DecisionLinksSerializer()

    def to_representation(self, decision: Decision) -> dict[str, Any]:
        """The answer for one decision."""
        incident, link = decision.incident, Links(self.context["request"])
        venue = incident.table.venue
        return {
            "incident": incident.pk,
            "number": decision.number,
            "table": incident.table.code,
            "venue": venue.code,
            "shoe": incident.shoe_number,
            "hand": incident.hand_number,
            "actions": decision.actions,
            "reason": decision.reason,
            "departs": decision.departs,
            "in_force": not hasattr(decision, "superseded_by"),
            "findings": decision.rulings,
            "events": decision.events,
            "decided_by": decision.decided_by.get_username(),
            "decided_by_name": decision.decided_by_name,
            "decided_at": at_house(decision.decided_at, venue),
            "links": {
                "self": link("api:decision", incident.pk, decision.number),
                "incident": link("api:incident", incident.pk),
            },
        }


class IncidentLinksSerializer(serializers.Serializer[Any]):
    """Where to go on."""

    self = serializers.URLField()
    table = serializers.URLField()
    shoe = serializers.URLField()
    hand = serializers.URLField(allow_null=True)
    decisions = serializers.ListField(child=serializers.URLField(), help_text="The last one is in force.")
    page = serializers.URLField(help_text="The incident’s page, for people.")


@extend_schema_serializer(examples=[examples.INCIDENT])
class IncidentSerializer(serializers.Serializer[Incident]):
    """Everything that went wrong in one hand, or in one shoe beside its hands."""

    id = serializers.IntegerField(min_value=1)
    table = serializers.CharField()
    venue = serializers.CharField(help_text="The code of the house.")
    shoe = serializers.IntegerField(min_value=1)
    hand = serializers.IntegerField(min_value=1, allow_null=True)
    ruleset = serializers.CharField()
    status = serializers.ChoiceField(choices=Incident.Status.values)
    opened_at = serializers.DateTimeField(help_text="When the event that raised it happened at the table.")
    opened_seq = serializers.IntegerField(min_value=1, help_text="The position of that event.")
    version = serializers.IntegerField(min_value=1, help_text="Counts every change.")
    findings = IncidentFindingSerializer(many=True)
    recommendation = RecommendationSerializer()
    decision = DecisionSerializer(allow_null=True, help_text="The one in force.")
    links = IncidentLinksSerializer()

    def to_representation(self, incident: Incident) -> dict[str, Any]:
        """The answer for one incident."""
        link, table = Links(self.context["request"]), incident.table
        decisions = list(incident.decisions.all())
        for decision in decisions:
            decision.incident = incident
        where = (table.code, incident.shoe_number)
        hand = incident.hand_number
        last = decisions[-1] if decisions else None
        return {
            "id": incident.pk,
            "table": table.code,
            "venue": table.venue.code,
            "shoe": incident.shoe_number,
            "hand": hand,
            "ruleset": incident.ruleset,
            "status": incident.status,
            "opened_at": at_house(incident.opened_at, table.venue),
            "opened_seq": incident.opened_seq,
            "version": incident.version,
            "findings": [
                {**finding.as_dict(), "closed_by_rule": finding.closed_by_rule or None}
                for finding in incident.findings.all()
            ],
            "recommendation": _recommendation(incident),
            "decision": None if last is None else DecisionSerializer(last, context=self.context).data,
            "links": {
                "self": link("api:incident", incident.pk),
                "table": link.table(table.code),
                "shoe": link.shoe(*where),
                "hand": None if hand is None else link.hand(*where, hand),
                "decisions": [link("api:decision", incident.pk, decision.number) for decision in decisions],
                "page": link("incidents:incident", incident.pk),
            },
        }


def _recommendation(incident: Incident) -> dict[str, Any]:
    findings: list[IncidentFinding] = list(incident.findings.all())
    ruleset = ruleset_of(incident.ruleset)
    said = recommendation_of(findings, ruleset)
    rules = list(dict.fromkeys(rule for finding in findings for rule in finding.rules))
    return {
        "headline": said.headline,
        "mandatory": list(said.mandatory),
        "options": list(said.options),
        "measures": list(said.measures),
        "undocumented": list(said.undocumented),
        "citations": citations(ruleset, rules),
    }


class IncidentFilters(Filters):
    """What the list of incidents may be asked for; `from` and `to` are about when it was opened."""

    time = "opened_at"
    table = TableCode(required=False, source="table__code", help_text="The code of a table.")
    venue = TableCode(required=False, source="table__venue__code", help_text="The code of a house.")
    shoe = serializers.IntegerField(required=False, min_value=1, source="shoe_number", help_text="Of this shoe.")
    hand = serializers.IntegerField(
        required=False, min_value=1, source="hand_number", help_text="Of the hand with this number."
    )
    status = serializers.ChoiceField(choices=Incident.Status.values, required=False)
    code = serializers.ChoiceField(
        choices=list(CATALOGUE), required=False, help_text="With a finding of this kind, as the log stands now."
    )


class IncidentViewSet(Lists):
    """The incidents, those opened last first."""

    needs = May.READ
    tag = "Incidents"
    nouns = ("incident", "incidents")
    serializer_class = IncidentSerializer
    filters = IncidentFilters

    def get_queryset(self) -> QuerySet[Incident]:
        """Of the houses that the person may see, with all that an answer needs."""
        decisions = Decision.objects.select_related("decided_by", "superseded_by").order_by("number")
        found = Incident.objects.filter(table__in=tables_of(self.request.user)).select_related("table__venue")
        found = found.prefetch_related("findings", Prefetch("decisions", decisions))
        return found.order_by("-opened_at", "-pk")

    def narrowed(self, found: QuerySet[Incident], want: dict[str, Any]) -> QuerySet[Incident]:
        """By the kind of finding as one that is there, however often."""
        code = want.pop("code", None)
        if code is not None:
            found = found.filter(pk__in=IncidentFinding.objects.filter(code=code).values("incident"))
        return super().narrowed(found, want)

    def retrieve(self, request: Request, incident: int) -> Response:
        """One incident with its findings, what the rules recommend, and the decision in force."""
        found = self.get_queryset().filter(pk=incident).first()
        if found is None:
            raise NotFound(_("There is no incident %(number)d here.") % {"number": incident})
        return self.answer(found)


class DecisionFilters(Filters):
    """What the list of decisions may be asked for; `from` and `to` are about when it was decided."""

    time = "decided_at"
    table = TableCode(required=False, source="incident__table__code", help_text="The code of a table.")
    venue = TableCode(required=False, source="incident__table__venue__code", help_text="The code of a house.")
    incident = serializers.IntegerField(required=False, min_value=1, help_text="On this incident.")
    departs = YesOrNo(required=False, help_text="Whether it departs from a mandatory ruling.")
    in_force = YesOrNo(required=False, help_text="Whether no later one supersedes it.")


class DecisionViewSet(Lists):
    """The decisions, the newest first."""

    needs = May.READ
    tag = "Incidents"
    nouns = ("decision", "decisions")
    serializer_class = DecisionSerializer
    filters = DecisionFilters

    def get_queryset(self) -> QuerySet[Decision]:
        """Of the houses that the person may see."""
        found = Decision.objects.filter(incident__table__in=tables_of(self.request.user))
        found = found.select_related("incident__table__venue", "decided_by", "superseded_by")
        return found.order_by("-decided_at", "-pk")

    def narrowed(self, found: QuerySet[Decision], want: dict[str, Any]) -> QuerySet[Decision]:
        """A decision in force is one that none supersedes."""
        in_force = want.pop("in_force", None)
        if in_force is not None:
            found = found.filter(superseded_by__isnull=in_force)
        return super().narrowed(found, want)

    def retrieve(self, request: Request, incident: int, decision: int) -> Response:
        """One of the decisions on an incident."""
        found = self.get_queryset().filter(incident=incident, number=decision).first()
        if found is None:
            raise NotFound(_("There is no such decision here."))
        return self.answer(found)

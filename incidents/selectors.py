"""Reading incidents: everything that is known about one, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet

from dealing.log import hand_fold
from dealing.models import Hand, Shoe, TableEvent
from dealing.rules.judge import HandFold
from dealing.rules.rulesets import LANGUAGES, Ruleset, RulesetError, UnknownRuleset, get_ruleset

from . import rulings
from .models import Decision, Incident, IncidentFinding, IncidentReview


def ruleset_of(name: str) -> Ruleset | None:
    """The ruleset; None where it is not installed here (any more)."""
    try:
        return get_ruleset(name)
    except (UnknownRuleset, RulesetError):
        return None


def measures_of(ruleset: Ruleset | None) -> Mapping[str, Sequence[str]]:
    """What each rule lets management do with the shoe besides."""
    return {} if ruleset is None else {rule.id: rule.measures for rule in ruleset.rules.values()}


def recommendation_of(findings: Sequence[IncidentFinding], ruleset: Ruleset | None) -> rulings.Recommendation:
    """What the rules make of these findings together."""
    return rulings.recommend(findings, measures_of(ruleset))


def citations(ruleset: Ruleset | None, rules: Sequence[str]) -> list[dict[str, Any]]:
    """The rules as they are worded now, in every language, for keeping; only the id where a rule is not known here."""
    out: list[dict[str, Any]] = []
    for rule in rules:
        cited = {lang: ruleset.cite(rule, lang) for lang in LANGUAGES} if ruleset is not None else {}
        texts = {lang: cite for lang, cite in cited.items() if cite is not None}
        out.append(
            {
                "rule": rule,
                "text": {lang: cite.text for lang, cite in texts.items()},
                "document": {lang: cite.document for lang, cite in texts.items()},
                "ruleset": {lang: cite.ruleset for lang, cite in texts.items()},
                "adopted": any(cite.adopted for cite in texts.values()),
            }
        )
    return out


def incidents_of(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Incident]:
    """The incidents a person may see: those of their house, all of them for somebody who belongs to none."""
    member = getattr(user, "staff_member", None)
    return Incident.objects.all() if member is None else Incident.objects.filter(table__venue=member.venue_id)


def log_of(incident: Incident) -> QuerySet[TableEvent]:
    """The log lines of the incident's hand, or of its shoe outside all hands; amended ones and amendments included."""
    return TableEvent.objects.filter(
        table_id=incident.table_id, shoe_number=incident.shoe_number, hand_number=incident.hand_number
    ).order_by("seq")


@dataclass
class Case:
    """An incident with its findings, its decisions, and the hand and shoe as the log leaves them now.

    `hand` and `shoe` are None where an amendment has taken them out of the log.
    """

    incident: Incident
    findings: list[IncidentFinding]
    decisions: list[Decision]
    reviews: list[IncidentReview]
    shoe: Shoe | None
    hand: Hand | None
    playing: int | None
    ruleset: Ruleset | None = field(init=False)

    def __post_init__(self) -> None:
        self.ruleset = ruleset_of(self.incident.ruleset)

    @cached_property
    def fold(self) -> HandFold | None:
        """The judge's fold of the hand; None for a shoe's incident, and where the ruleset is not installed."""
        if self.hand is None or self.ruleset is None:
            return None
        return hand_fold(self.hand)

    @property
    def shoe_now(self) -> rulings.ShoeNow:
        """What the measures on the shoe have to know."""
        return rulings.ShoeNow(self.shoe is not None and self.shoe.status == Shoe.Status.OPEN, self.playing)

    @cached_property
    def recommendation(self) -> rulings.Recommendation:
        """What the rules say of the whole incident."""
        return recommendation_of(self.findings, self.ruleset)

    @property
    def decision(self) -> Decision | None:
        """The one in force."""
        return self.decisions[-1] if self.decisions else None

    @property
    def review(self) -> IncidentReview | None:
        """The review note that speaks."""
        return self.reviews[-1] if self.reviews else None

    @property
    def seen(self) -> str:
        """Names the state of things that a page shows; another value later means that the page is out of date."""
        return f"{self.incident.version}-{self.hand.last_seq if self.hand else 0}"

    def _taken_back(self, actions: Sequence[str]) -> tuple[int, ...]:
        decided = {seq for decision in self.decisions for seq in decision.events}
        return rulings.to_take_back(actions, self.fold, decided) if self.fold is not None and actions else ()

    def _hand_for(self, actions: Sequence[str]) -> HandFold | None:
        """The hand on which the actions would act: without what an earlier decision voided and this one does not."""
        taken_back = self._taken_back(actions)
        return rulings.without(self.fold, taken_back) if self.fold is not None and taken_back else self.fold

    def obstacle(self, action: str, actions: Sequence[str]) -> str | None:
        """Why the action cannot be carried out now, as one of these (a code of `rulings.obstacle`)."""
        return rulings.obstacle(action, self._hand_for(actions), self.shoe_now, actions)

    def look_ahead(self, actions: Sequence[str], reason: str = "") -> rulings.Outlook:
        """What deciding so would do."""
        ahead = rulings.look_ahead(actions, self._hand_for(actions), self.shoe_now, reason or self._because())
        if not (taken_back := self._taken_back(actions)) or self.fold is None:
            return ahead
        why = f"decision {len(self.decisions) + 1} supersedes decision {len(self.decisions)}"
        hand = self.incident.hand_number
        amendments = [{"event": "amended", "hand": hand, "seq": seq, "reason": reason or why} for seq in taken_back]
        return rulings.Outlook((*amendments, *ahead.events), self.fold.audit(), ahead.after)

    def _because(self) -> str:
        """What a `voided` line says where the manager gave no reason: the rules that speak of voiding."""
        voiding = [f for f in self.findings if {rulings.VOID_HAND, rulings.VOID_INSURANCE} & set(f.options)]
        rules = dict.fromkeys(rule for finding in voiding for rule in finding.rules)
        return ", ".join(rules) or ", ".join(dict.fromkeys(finding.code for finding in voiding))

    def _findings_for(self, actions: Sequence[str]) -> Sequence[rulings.Found]:
        """The findings on which the actions would act."""
        if self._taken_back(actions) and (hand := self._hand_for(actions)) is not None:
            # Voiding had settled all findings; without it the open ones are open again.
            return hand.audit().findings
        return self.findings

    def contradictions(self, actions: Sequence[str]) -> list[tuple[str, str]]:
        """The pairs among the actions that cannot both be done."""
        return rulings.contradictions(actions, self._findings_for(actions))

    def unanswered(self, actions: Sequence[str]) -> list[rulings.Found]:
        """The findings left to the manager of which the actions say nothing, though something could still be done."""
        return [
            finding
            for finding in rulings.unanswered(actions, self._findings_for(actions))
            if any(not self.obstacle(option, (*actions, option)) for option in finding.options)
        ]

    def departures(self, actions: Sequence[str]) -> tuple[str, ...]:
        """The mandatory rulings that these actions do not follow."""
        recommendation = self.recommendation
        if (findings := self._findings_for(actions)) is not self.findings:
            recommendation = rulings.recommend(findings, measures_of(self.ruleset))
        impossible = [action for action in recommendation.mandatory if self.obstacle(action, actions)]
        return rulings.departures(actions, recommendation, impossible)


def load_case(incident: Incident) -> Case:
    """Everything about an incident, in a fixed number of queries."""
    shoe = Shoe.objects.filter(table_id=incident.table_id, number=incident.shoe_number).first()
    hand = latest = None
    if shoe is not None:
        latest = shoe.hand_set.order_by("-number").first()
        if incident.hand_number is not None:
            here = latest is not None and latest.number == incident.hand_number
            hand = latest if here else shoe.hand_set.filter(number=incident.hand_number).first()
    for known in (hand, latest):
        if known is not None and shoe is not None:
            shoe.table = incident.table
            known.shoe = shoe
    going_on = shoe is not None and shoe.status == Shoe.Status.OPEN and latest is not None
    playing = latest.number if going_on and latest is not None and latest.status == Hand.Status.OPEN else None
    return Case(
        incident,
        list(incident.findings.all()),
        list(incident.decisions.select_related("decided_by").order_by("number")),
        list(incident.reviews.select_related("dealer", "dealt_by", "second_reviewer").order_by("number")),
        shoe,
        hand,
        playing,
    )


def recorded_by(incident: Incident, user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the user recorded anything of the incident's hand, decisions on this incident aside."""
    mine = Q(actor=user.get_username())
    member = getattr(user, "staff_member", None)
    if member is not None:
        mine |= Q(by=member.code)
    carried_out = [seq for events in incident.decisions.values_list("events", flat=True) for seq in events]
    return log_of(incident).filter(mine).exclude(seq__in=carried_out).exists()

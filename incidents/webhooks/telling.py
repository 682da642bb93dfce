"""What is told, as the receiver reads it: one JSON object, described field by field in `docs/webhooks.md`.

No names of people, no free text, no money: whoever needs them follows a link and shows who they are. Called inside the
transaction of the thing that is told.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from incidents.models import AuditReport, Decision, Incident

from . import outbox
from .models import TEST, Kind, Webhook, WebhookDelivery

Status = Incident.Status
#: An incident of a hand further back opens unheard: an archive that is imported floods nobody.
RECENT: Final = dt.timedelta(days=3)


class Finding(msgspec.Struct, frozen=True):
    """What the judge found: its kind, `open` or `corrected` at the table, and the ruling that a rule asks for."""

    code: str
    state: str
    ruling: str
    mandatory: bool


class IncidentData(msgspec.Struct, frozen=True):
    """An incident as it stands now. `hand` null: it is of the shoe as a whole. `opened_at`: at the table."""

    incident: int
    table: str
    shoe: int
    hand: int | None
    status: str
    ruleset: str
    opened_at: dt.datetime
    findings: list[Finding]


class DecisionData(msgspec.Struct, frozen=True):
    """A decision: what is done, whether against a mandatory ruling, and the events of the log that carry it out.

    `number` counts the decisions of the incident, of which the last is in force.
    """

    incident: int
    table: str
    shoe: int
    hand: int | None
    status: str
    number: int
    actions: list[str]
    departs: bool
    events: list[int]
    decided_at: dt.datetime


class ReportData(msgspec.Struct, frozen=True):
    """A report: `nightly` or `monthly`, of which day, and its main numbers."""

    report: int
    report_kind: str
    day: dt.date
    revision: int
    cause: str
    hands: int
    events: int
    findings: int
    attention: int
    flags: int
    chain_whole: bool


class TestData(msgspec.Struct, frozen=True):
    """Nothing happened; somebody pressed a button."""

    webhook: int


Data = IncidentData | DecisionData | ReportData | TestData


class Message(msgspec.Struct, frozen=True):
    """The body. Of two messages with the same `subject` the one with the higher `sequence` is the newer."""

    type: str
    timestamp: dt.datetime
    venue: str
    subject: str
    sequence: int
    data: Data
    links: dict[str, str]


def _absolute(name: str, *args: Any) -> str:
    return str(settings.SITE_URL) + reverse(name, args=args)


def _tell(kind: Kind, venue: int, code: str, subject: str, sequence: int, data: Data, links: dict[str, str]) -> None:
    message = Message(kind, timezone.now(), code, subject, sequence, data, links)
    outbox.put(kind, venue, f"{kind}:{subject}:{sequence}", msgspec.json.encode(message))


def _tell_of(incident: Incident, kind: Kind, data: Data, api: str) -> None:
    venue = incident.table.venue
    links = {"page": _absolute("incidents:incident", incident.pk), "api": api}
    _tell(kind, venue.pk, venue.code, f"incident/{incident.pk}", incident.version, data, links)


def incident_changed(incident: Incident, before: str | None, findings: Sequence[Mapping[str, Any]]) -> None:
    """Tell what became of an incident without a decision; `before`: its status before, None for a new one."""
    now = incident.status
    if now == before:
        return
    if now == Status.OPEN:
        if before in (None, Status.BY_RULE):
            if incident.opened_at < timezone.now() - RECENT:
                return
            kind = Kind.OPENED
        else:
            kind = Kind.REOPENED
    elif before in (Status.OPEN, Status.DECIDED):
        kind = Kind.CLOSED
    else:
        return
    hooks = outbox.listening(incident.table.venue_id, kind)
    if not hooks:
        return
    table = incident.table
    data = IncidentData(
        incident=incident.pk,
        table=table.code,
        shoe=incident.shoe_number,
        hand=incident.hand_number,
        status=now,
        ruleset=incident.ruleset,
        opened_at=incident.opened_at,
        findings=[Finding(one["code"], one["state"], one["ruling"], one["mandatory"]) for one in findings],
    )
    _tell_of(incident, kind, data, _absolute("api:incident", incident.pk))


def decision_made(decision: Decision, incident: Incident) -> None:
    """Tell that a decision was made; `incident` as it stands after it."""
    table = incident.table
    if not outbox.listening(table.venue_id, Kind.DECIDED):
        return
    data = DecisionData(
        incident=incident.pk,
        table=table.code,
        shoe=incident.shoe_number,
        hand=incident.hand_number,
        status=incident.status,
        number=decision.number,
        actions=list(decision.actions),
        departs=decision.departs,
        events=list(decision.events),
        decided_at=decision.decided_at,
    )
    _tell_of(incident, Kind.DECIDED, data, _absolute("api:decision", incident.pk, decision.number))


def report_done(report: AuditReport) -> None:
    """Tell that a report, or a revision of one, is stored; old days as with mails are passed over."""
    from incidents.reports import telling as reports
    from incidents.reports.deliver import recent

    venue = report.venue
    if not recent(report) or not outbox.listening(venue.pk, Kind.REPORT):
        return
    day = reports.day_slug(report)
    data = ReportData(
        report=report.pk,
        report_kind=report.kind,
        day=report.day,
        revision=report.revision,
        cause=report.cause,
        hands=report.hands,
        events=report.events,
        findings=report.findings,
        attention=report.attention,
        flags=report.flags,
        chain_whole=report.chain_whole,
    )
    links = {
        "page": str(settings.SITE_URL) + reports.page_path(report),
        "api": _absolute("api:report", venue.code, day, report.revision),
    }
    _tell(Kind.REPORT, venue.pk, venue.code, f"report/{venue.code}/{day}", report.revision, data, links)


def test_message(webhook: Webhook) -> WebhookDelivery:
    """Send one message that tells nothing, now and once; what came of it."""
    number = webhook.deliveries.filter(kind=TEST).count() + 1
    message = Message(
        TEST,
        timezone.now(),
        webhook.venue.code,
        f"webhook/{webhook.pk}",
        number,
        TestData(webhook.pk),
        {"page": _absolute("webhooks:webhook", webhook.pk)},
    )
    return outbox.send_test(webhook, msgspec.json.encode(message))

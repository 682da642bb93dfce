"""Incidents and what managers decided on them.

An `Incident` belongs to one hand (or to a shoe, for findings of the shoe) and names it by table, shoe and hand
*number*: the projections in `dealing` may be thrown away and made again without touching it. `IncidentFinding` rows
follow the log, whatever it says now. `Decision`, `IncidentReview` and `IncidentAttachment` rows are append-only
(`dealing.triggers`): a new decision supersedes the one before, and the latest review note speaks.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from dealing.append_only import AppendOnly
from dealing.models import Dealer, StaffMember, Table


class Incident(models.Model):
    """Everything that went wrong in one hand, or in one shoe outside its hands."""

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("status", "Open")
        DECIDED = "decided", pgettext_lazy("status", "Decided")
        BY_RULE = "by-rule", pgettext_lazy("status", "Closed by rule")
        WITHDRAWN = "withdrawn", pgettext_lazy("status", "Withdrawn")

    table = models.ForeignKey(
        Table, verbose_name=_("table"), on_delete=models.PROTECT, related_name="incidents", db_index=False
    )
    shoe_number = models.PositiveIntegerField(_("shoe"))
    hand_number = models.PositiveIntegerField(_("hand"), null=True, blank=True)
    ruleset = models.CharField(_("ruleset"), max_length=64)
    status = models.CharField(_("status"), max_length=12, choices=Status.choices, default=Status.OPEN)
    opened_at = models.DateTimeField(
        _("opened at"), help_text=_("When the event that raised it happened at the table.")
    )
    opened_seq = models.PositiveBigIntegerField(_("raised by event"))
    version = models.PositiveIntegerField(
        _("version"),
        default=1,
        help_text=_("Counts every change, so that nobody decides on a page that is out of date."),
    )

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        ordering = ("opened_at", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("table", "shoe_number", "hand_number"),
                condition=Q(hand_number__isnull=False),
                name="incident_once_a_hand",
            ),
            models.UniqueConstraint(
                fields=("table", "shoe_number"), condition=Q(hand_number__isnull=True), name="incident_once_a_shoe"
            ),
            models.CheckConstraint(
                condition=Q(shoe_number__gte=1, opened_seq__gte=1, version__gte=1)
                & (Q(hand_number__isnull=True) | Q(hand_number__gte=1)),
                name="incident_numbers_positive",
            ),
        )
        indexes = (
            models.Index(fields=("opened_at",), condition=Q(status="open"), name="incident_open"),
            models.Index(fields=("status", "opened_at"), name="incident_status"),
            models.Index(fields=("table", "shoe_number"), name="incident_of_shoe"),
        )

    def __str__(self) -> str:
        where = {"table": self.table.code, "shoe": self.shoe_number, "hand": self.hand_number}
        if self.hand_number is None:
            return _("%(table)s shoe %(shoe)d") % where
        return _("%(table)s shoe %(shoe)d hand %(hand)d") % where


class IncidentFinding(models.Model):
    """Projection: one finding of the judge on the incident's hand or shoe, as the log stands now."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("status", "Open")
        CORRECTED = "corrected", pgettext_lazy("status", "Corrected")

    incident = models.ForeignKey(
        Incident, verbose_name=_("incident"), on_delete=models.CASCADE, related_name="findings", db_index=False
    )
    position = models.PositiveSmallIntegerField(_("position"))
    code = models.CharField(_("code"), max_length=40)
    seq = models.JSONField(_("events"), default=list)
    cards = models.JSONField(_("cards"), default=list)
    rules = models.JSONField(_("rules"), default=list)
    ruling = models.CharField(_("ruling"), max_length=20)
    options = models.JSONField(_("options"), default=list)
    mandatory = models.BooleanField(_("mandatory"))
    state = models.CharField(_("state"), max_length=12, choices=State.choices)
    closed_by_rule = models.CharField(
        _("closed by rule"), max_length=20, blank=True, help_text=_("The rule that lets the hand stand as it is.")
    )

    class Meta:
        verbose_name = _("finding")
        verbose_name_plural = _("findings")
        ordering = ("incident_id", "position")
        constraints = (models.UniqueConstraint(fields=("incident", "position"), name="finding_position_once"),)
        indexes = (models.Index(fields=("code",), name="finding_code"),)

    def __str__(self) -> str:
        return self.code

    def as_dict(self) -> dict[str, Any]:
        """The finding as the judge's answer has it (`Finding.as_dict()`)."""
        return {
            "code": self.code,
            "seq": self.seq,
            "cards": self.cards,
            "state": self.state,
            "rules": self.rules,
            "ruling": self.ruling,
            "options": self.options,
            "mandatory": self.mandatory,
        }


class Decision(AppendOnly):
    """What a manager decided, and on which rulings. Never changed, never deleted; the database itself refuses to.

    `rulings` holds the findings as they stood, each with its citations as they were worded then; `events` the
    positions in the table's log of the events that carried the decision out (none for a decision that changes nothing
    at the table).
    """

    instead = "a new decision supersedes it"

    incident = models.ForeignKey(
        Incident, verbose_name=_("incident"), on_delete=models.PROTECT, related_name="decisions", db_index=False
    )
    number = models.PositiveIntegerField(_("number"))
    actions = models.JSONField(_("actions"))
    reason = models.TextField(_("reason"), blank=True)
    departs = models.BooleanField(_("departs from a mandatory ruling"))
    rulings = models.JSONField(_("rulings at that time"))
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("decided by"), on_delete=models.PROTECT, related_name="decisions"
    )
    decided_by_name = models.TextField(_("name of who decided"))
    decided_at = models.DateTimeField(_("decided at"))
    supersedes = models.OneToOneField(
        "self",
        verbose_name=_("supersedes"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="superseded_by",
    )
    events = models.JSONField(_("events appended"))

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ("incident_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("incident", "number"), name="decision_number_once"),
            models.CheckConstraint(
                condition=Q(number=1, supersedes__isnull=True) | Q(number__gt=1, supersedes__isnull=False),
                name="decision_supersedes_the_one_before",
            ),
            models.CheckConstraint(condition=Q(departs=False) | ~Q(reason=""), name="decision_departs_with_reason"),
        )
        indexes = (models.Index(fields=("decided_at",), name="decision_decided"),)

    def __str__(self) -> str:
        return _("%(incident)s, decision %(number)d") % {"incident": self.incident, "number": self.number}


class IncidentReview(AppendOnly):
    """What is known about an incident beside the log, as it stood at one time: a note repeats everything it keeps.

    Never changed, never deleted; the database itself refuses to. The note with the highest number speaks. People stand
    as a reference and as text: the text says who it was even where a code changes later. Money in the table's currency.
    """

    instead = "another note is written"

    class ErrorBy(models.TextChoices):
        NONE = "none", pgettext_lazy("whose error", "Nobody’s")
        DEALER = "dealer", pgettext_lazy("whose error", "The dealer’s")
        SUPERVISOR = "supervisor", pgettext_lazy("whose error", "The supervisor’s")
        PATRON = "patron", pgettext_lazy("whose error", "A patron’s")
        DEVICE = "device", pgettext_lazy("whose error", "A device’s")

    incident = models.ForeignKey(
        Incident, verbose_name=_("incident"), on_delete=models.PROTECT, related_name="reviews", db_index=False
    )
    number = models.PositiveIntegerField(_("number"))
    error_by = models.CharField(
        _("whose error"), max_length=12, choices=ErrorBy.choices, blank=True, help_text=_("Empty: not known yet.")
    )
    dealer = models.ForeignKey(
        StaffMember, verbose_name=_("dealer"), on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    dealt_by = models.ForeignKey(
        Dealer,
        verbose_name=_("dealer"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Where the dealer is one of the house’s list of dealers; else “dealer” names a member of staff."),
    )
    dealer_name = models.TextField(_("name of the dealer"), blank=True)
    supervisor = models.ForeignKey(
        StaffMember, verbose_name=_("supervisor"), on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    supervisor_name = models.TextField(_("name of the supervisor"), blank=True)
    camera = models.CharField(_("camera"), max_length=60, blank=True)
    video_at = models.DateTimeField(_("time of the video"), null=True, blank=True)
    second_reviewer = models.ForeignKey(
        StaffMember,
        verbose_name=_("second reviewer"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
    )
    second_reviewer_name = models.TextField(_("name of the second reviewer"), blank=True)
    money_lost = models.DecimalField(_("money lost"), max_digits=14, decimal_places=2, null=True, blank=True)
    money_saved = models.DecimalField(_("money saved"), max_digits=14, decimal_places=2, null=True, blank=True)
    follow_up = models.TextField(_("follow-up"), blank=True)
    follow_up_done = models.BooleanField(_("follow-up done"), default=False)
    note = models.TextField(_("note"), blank=True)
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("written by"),
        on_delete=models.PROTECT,
        related_name="incident_reviews",
    )
    written_by_name = models.TextField(_("name of who wrote it"))
    written_at = models.DateTimeField(_("written at"))

    class Meta:
        verbose_name = _("review note")
        verbose_name_plural = _("review notes")
        ordering = ("incident_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("incident", "number"), name="review_number_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="review_number_positive"),
            models.CheckConstraint(
                condition=(Q(money_lost__isnull=True) | Q(money_lost__gte=Decimal(0)))
                & (Q(money_saved__isnull=True) | Q(money_saved__gte=Decimal(0))),
                name="review_money_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(follow_up_done=False) | ~Q(follow_up=""), name="review_done_is_something"
            ),
        )
        indexes = (models.Index(fields=("written_at",), name="review_written"),)

    @property
    def who_dealt(self) -> Dealer | StaffMember | None:
        """The dealer on duty, of either kind."""
        return self.dealt_by or self.dealer

    def __str__(self) -> str:
        return _("%(incident)s, review note %(number)d") % {"incident": self.incident, "number": self.number}


class IncidentAttachment(AppendOnly):
    """A picture or a short clip kept with an incident (`incidents.attachments` has the file). Never changed or deleted;
    the database itself refuses to.

    `name` is what it was called where it came from; `stored` what it is called here. `size` in bytes.
    """

    incident = models.ForeignKey(
        Incident, verbose_name=_("incident"), on_delete=models.PROTECT, related_name="attachments"
    )
    name = models.CharField(_("name"), max_length=120)
    caption = models.CharField(_("what it shows"), max_length=200, blank=True)
    media_type = models.CharField(_("kind"), max_length=40)
    size = models.PositiveBigIntegerField(_("size"))
    sha256 = models.CharField("SHA-256", max_length=64)
    stored = models.CharField(_("stored as"), max_length=60, unique=True)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("added by"),
        on_delete=models.PROTECT,
        related_name="incident_attachments",
    )
    added_by_name = models.TextField(_("name of who added it"))
    added_at = models.DateTimeField(_("added at"))

    class Meta:
        verbose_name = _("attachment")
        verbose_name_plural = _("attachments")
        ordering = ("incident_id", "id")

    def __str__(self) -> str:
        return self.name


# The reports' own models; Django looks for them here.
from .reports.models import (  # noqa: E402  # they need nothing of the above
    AuditDay,
    AuditReport,
    AuditRun,
    ReportDelivery,
    ReportFile,
    ReportPlot,
    ReportSubscription,
    TableAudit,
)

__all__ = [
    "AuditDay",
    "AuditReport",
    "AuditRun",
    "Decision",
    "Incident",
    "IncidentAttachment",
    "IncidentFinding",
    "IncidentReview",
    "ReportDelivery",
    "ReportFile",
    "ReportPlot",
    "ReportSubscription",
    "TableAudit",
]

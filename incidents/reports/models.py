"""The nightly audit's own rows: what is to be done, what is done, and what it came to.

Rows in the database say what is done, never the broker: a task that comes twice, late or not at all finds here what is
left to do. `AuditDay` is one house's gaming day; `AuditRun` one audit of it, `TableAudit` a table's part of that;
`AuditReport` what it came to, append-only: a day whose log grew afterwards gets another run and, where that says
something else, another revision of its report.
"""

from __future__ import annotations

from functools import cached_property

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from dealing.append_only import AppendOnly
from dealing.models import StaffMember, Table, Venue, languages
from dealing.night import TableNight

from .figures import Figures, MonthFigures


class AuditDay(models.Model):
    """A house's gaming day. `changes` counts what came to its log after it was over; `audited` how far the last
    finished run had counted (empty: never audited). The day is to be audited (again) while the two differ.
    """

    venue = models.ForeignKey(
        Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="audit_days", db_index=False
    )
    day = models.DateField(_("gaming day"))
    changes = models.PositiveBigIntegerField(_("late changes"), default=0)
    audited = models.PositiveBigIntegerField(_("changes audited"), null=True, blank=True)

    class Meta:
        verbose_name = _("audited day")
        verbose_name_plural = _("audited days")
        ordering = ("venue_id", "day")
        constraints = (models.UniqueConstraint(fields=("venue", "day"), name="audit_day_once"),)
        indexes = (
            models.Index(
                fields=("day",), condition=Q(audited__isnull=True) | ~Q(changes=F("audited")), name="audit_day_due"
            ),
        )

    def __str__(self) -> str:
        return f"{self.venue.code} {self.day.isoformat()}"


class AuditRun(models.Model):
    """One audit of a day, the tables' parts of it in `tables`. One run of a day at a time.

    `changes` is `AuditDay.changes` when the run began to read. A failed run says why in `error` and is taken up again
    at `retry_at`, or by hand; without `retry_at` only by hand.
    """

    class Status(models.TextChoices):
        RUNNING = "running", pgettext_lazy("audit", "Running")
        FAILED = "failed", pgettext_lazy("audit", "Failed")
        DONE = "done", pgettext_lazy("audit", "Done")

    class Cause(models.TextChoices):
        CLOSE = "close", pgettext_lazy("audit", "The day was over")
        LATE = "late", pgettext_lazy("audit", "Entries came late")
        HAND = "hand", pgettext_lazy("audit", "Started by hand")

    of_day = models.ForeignKey(
        AuditDay, verbose_name=_("gaming day"), on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    number = models.PositiveIntegerField(_("number"))
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.RUNNING)
    cause = models.CharField(_("cause"), max_length=8, choices=Cause.choices)
    asked_by = models.TextField(_("started by"), blank=True)
    changes = models.PositiveBigIntegerField(_("late changes"))
    started_at = models.DateTimeField(_("started at"))
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=1)
    retry_at = models.DateTimeField(_("tried again at"), null=True, blank=True)
    error = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("audit run")
        verbose_name_plural = _("audit runs")
        ordering = ("of_day_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("of_day", "number"), name="audit_run_number_once"),
            models.UniqueConstraint(fields=("of_day",), condition=~Q(status="done"), name="audit_run_one_at_a_time"),
            models.CheckConstraint(
                condition=Q(status="running", finished_at__isnull=True)
                | Q(~Q(status="running"), finished_at__isnull=False),
                name="audit_run_finished_whole",
            ),
        )

    def __str__(self) -> str:
        return f"{self.of_day} #{self.number}"


class TableAudit(models.Model):
    """A table's part of a run. Whoever works on it holds `claim` until `lease_until` and moves that on while working;
    the result is taken from the holder of the claim only. Counts of events for the progress page.
    """

    class Status(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("audit", "Waiting")
        RUNNING = "running", pgettext_lazy("audit", "Running")
        FAILED = "failed", pgettext_lazy("audit", "Failed")
        DONE = "done", pgettext_lazy("audit", "Done")

    run = models.ForeignKey(
        AuditRun, verbose_name=_("audit run"), on_delete=models.CASCADE, related_name="tables", db_index=False
    )
    table = models.ForeignKey(Table, verbose_name=_("table"), on_delete=models.PROTECT, related_name="audits")
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    claim = models.UUIDField(_("claim"), null=True, blank=True)
    lease_until = models.DateTimeField(_("claimed until"), null=True, blank=True)
    sent_at = models.DateTimeField(_("sent to the workers at"), null=True, blank=True)
    events_done = models.PositiveBigIntegerField(_("events done"), default=0)
    events = models.PositiveBigIntegerField(_("events"), default=0)
    seconds = models.FloatField(_("seconds"), null=True, blank=True)
    night = models.JSONField(_("figures"), null=True, blank=True)
    error = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("audit of a table")
        verbose_name_plural = _("audits of tables")
        ordering = ("run_id", "table_id")
        constraints = (
            models.UniqueConstraint(fields=("run", "table"), name="table_audit_once"),
            models.CheckConstraint(condition=~Q(status="done") | Q(night__isnull=False), name="table_audit_done_whole"),
        )

    def __str__(self) -> str:
        return f"{self.run} {self.table}"

    def read_night(self) -> TableNight:
        """The figures. Raises where there are none yet."""
        return TableNight.from_json(self.night)


class AuditReport(AppendOnly):
    """What the audit of a day, or a month, came to. Never changed, never deleted; the database itself refuses to.

    `day` is the gaming day, or the first of the month. The revision with the highest number speaks. The columns beside
    `figures` repeat parts of it for lists.
    """

    instead = "a late entry makes another revision"

    class Kind(models.TextChoices):
        NIGHTLY = "nightly", pgettext_lazy("report", "Nightly")
        MONTHLY = "monthly", pgettext_lazy("report", "Monthly")

    venue = models.ForeignKey(
        Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="audit_reports", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    day = models.DateField(_("gaming day"))
    revision = models.PositiveIntegerField(_("revision"))
    run = models.OneToOneField(
        AuditRun, verbose_name=_("audit run"), on_delete=models.PROTECT, null=True, blank=True, related_name="report"
    )
    cause = models.CharField(_("cause"), max_length=8, choices=AuditRun.Cause.choices)
    made_at = models.DateTimeField(_("made at"))
    figures = models.JSONField(_("figures"))
    hands = models.PositiveBigIntegerField(_("hands"))
    events = models.PositiveBigIntegerField(_("events"))
    findings = models.PositiveBigIntegerField(_("findings"))
    attention = models.PositiveIntegerField(_("wants attention"))
    flags = models.PositiveIntegerField(_("flags"), default=0)
    chain_whole = models.BooleanField(_("chain whole"))

    class Meta:
        verbose_name = _("report")
        verbose_name_plural = _("reports")
        ordering = ("-day", "venue_id", "-revision")
        constraints = (
            models.UniqueConstraint(fields=("venue", "kind", "day", "revision"), name="report_revision_once"),
            models.CheckConstraint(condition=Q(revision__gte=1), name="report_revision_positive"),
        )

    def __str__(self) -> str:
        return f"{self.venue.code} {self.day.isoformat()} r{self.revision}"

    @cached_property
    def nightly(self) -> Figures:
        """The figures of a nightly report."""
        return Figures.from_json(self.figures)

    @cached_property
    def monthly(self) -> MonthFigures:
        """The figures of a monthly report."""
        return MonthFigures.from_json(self.figures)


class ReportPlot(models.Model):
    """A drawing of a report, made once: SVG in one language."""

    report = models.ForeignKey(
        AuditReport, verbose_name=_("report"), on_delete=models.CASCADE, related_name="plots", db_index=False
    )
    name = models.CharField(_("name"), max_length=40)
    language = models.CharField(_("language"), max_length=8, choices=languages)
    svg = models.TextField(_("drawing"))

    class Meta:
        verbose_name = _("drawing")
        verbose_name_plural = _("drawings")
        ordering = ("report_id", "name")
        constraints = (models.UniqueConstraint(fields=("report", "name", "language"), name="plot_once"),)

    def __str__(self) -> str:
        return f"{self.report} {self.name}"


class ReportFile(models.Model):
    """A report as a file for the office, kept under `VAR_DIR/reports`; or why it could not be written (`error`).

    `stored` is its name there, `size` in bytes.
    """

    class Kind(models.TextChoices):
        PDF = "pdf", "PDF"
        XLSX = "xlsx", "XLSX"
        CSV = "csv", "CSV"

    report = models.ForeignKey(
        AuditReport, verbose_name=_("report"), on_delete=models.CASCADE, related_name="files", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    language = models.CharField(_("language"), max_length=8, choices=languages)
    stored = models.CharField(_("stored as"), max_length=120, blank=True)
    size = models.PositiveBigIntegerField(_("size"), default=0)
    sha256 = models.CharField("SHA-256", max_length=64, blank=True)
    error = models.TextField(_("reason"), blank=True)
    made_at = models.DateTimeField(_("made at"))

    class Meta:
        verbose_name = _("file of a report")
        verbose_name_plural = _("files of reports")
        ordering = ("report_id", "kind", "language")
        constraints = (models.UniqueConstraint(fields=("report", "kind", "language"), name="report_file_once"),)

    def __str__(self) -> str:
        return f"{self.report} {self.kind} {self.language}"


class ReportSubscription(models.Model):
    """Who gets a house's reports by e-mail: to the person's own address, in the person's own language."""

    member = models.OneToOneField(
        StaffMember, verbose_name=_("staff member"), on_delete=models.CASCADE, related_name="report_subscription"
    )
    nightly = models.BooleanField(_("nightly reports"), default=True)
    monthly = models.BooleanField(_("monthly reports"), default=True)

    class Meta:
        verbose_name = _("subscription")
        verbose_name_plural = _("subscriptions")

    def __str__(self) -> str:
        return str(self.member)


class ReportDelivery(models.Model):
    """A report on its way to one person: a row is written with the report, and sent until it has been taken over.

    The `message_id` is fixed, so that a mail sent twice because its worker died in between is recognised as the same
    one.
    """

    class Status(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("mail", "Waiting")
        SENT = "sent", pgettext_lazy("mail", "Sent")
        FAILED = "failed", pgettext_lazy("mail", "Failed")

    report = models.ForeignKey(
        AuditReport, verbose_name=_("report"), on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    member = models.ForeignKey(
        StaffMember, verbose_name=_("staff member"), on_delete=models.CASCADE, related_name="report_deliveries"
    )
    address = models.EmailField(_("address"))
    language = models.CharField(_("language"), max_length=8, choices=languages)
    message_id = models.CharField(_("message id"), max_length=200)
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    lease_until = models.DateTimeField(_("claimed until"), null=True, blank=True)
    retry_at = models.DateTimeField(_("tried again at"), null=True, blank=True)
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    error = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ("report_id", "id")
        constraints = (models.UniqueConstraint(fields=("report", "member"), name="delivery_once"),)
        indexes = (models.Index(fields=("retry_at",), condition=Q(status="waiting"), name="delivery_waiting"),)

    def __str__(self) -> str:
        return f"{self.report} {self.address}"

    @property
    def reason(self) -> str:
        """Why it has not gone out, in the language of the page; the mail server's own words as they came."""
        from .deliver import reason_of

        return reason_of(self)

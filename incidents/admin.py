"""Incidents in the admin: to be read, never to be changed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule

from dealing.admin import StaffMemberAdmin
from dealing.models import StaffMember

from .models import Decision, Incident, IncidentAttachment, IncidentFinding, IncidentReview
from .reports.models import AuditDay, AuditReport, AuditRun, ReportDelivery, ReportSubscription, TableAudit


class ReadOnly:
    """Nobody adds, changes or deletes here, whoever it is: incidents follow the log, decisions are kept."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


class FindingInline(ReadOnly, admin.TabularInline):
    """The findings of an incident."""

    model = IncidentFinding
    fields = ("code", "seq", "cards", "rules", "ruling", "mandatory", "state", "closed_by_rule")
    extra = 0


class DecisionInline(ReadOnly, admin.TabularInline):
    """The decisions on an incident."""

    model = Decision
    fields = ("number", "actions", "reason", "departs", "decided_by_name", "decided_at", "events")
    extra = 0


class ReviewInline(ReadOnly, admin.TabularInline):
    """The review notes of an incident."""

    model = IncidentReview
    fields = (
        "number",
        "error_by",
        "dealer_name",
        "supervisor_name",
        "camera",
        "video_at",
        "second_reviewer_name",
        "money_lost",
        "money_saved",
        "follow_up",
        "follow_up_done",
        "note",
        "written_by_name",
        "written_at",
    )
    extra = 0


class AttachmentInline(ReadOnly, admin.TabularInline):
    """The files of an incident."""

    model = IncidentAttachment
    fields = ("name", "caption", "media_type", "size", "sha256", "added_by_name", "added_at")
    extra = 0


@admin.register(Incident)
class IncidentAdmin(ReadOnly, admin.ModelAdmin):
    """Incidents with their findings and decisions."""

    list_display = ("__str__", "status", "ruleset", "opened_at")
    list_filter = ("status", "table", "ruleset")
    list_select_related = ("table",)
    date_hierarchy = "opened_at"
    inlines = (FindingInline, DecisionInline, ReviewInline, AttachmentInline)


@admin.register(Decision)
class DecisionAdmin(ReadOnly, admin.ModelAdmin):
    """Decisions, the newest first."""

    list_display = ("__str__", "actions", "departs", "decided_by_name", "decided_at")
    list_filter = ("departs",)
    list_select_related = ("incident__table",)
    search_fields = ("reason", "decided_by_name")
    ordering = ("-decided_at",)


class SubscriptionInline(admin.StackedInline):
    """Which reports the person gets by e-mail."""

    model = ReportSubscription
    extra = 0


admin.site.unregister(StaffMember)


@admin.register(StaffMember)
class SubscriberAdmin(StaffMemberAdmin):
    """Staff, with what they subscribed to."""

    inlines = (SubscriptionInline,)


@admin.register(ReportDelivery)
class ReportDeliveryAdmin(ReadOnly, admin.ModelAdmin):
    """Mails of reports, to look at; they are sent again from the report's page."""

    list_display = ("report", "address", "language", "status", "attempts", "sent_at", "error")
    list_filter = ("status", "report__venue")
    list_select_related = ("report__venue",)
    search_fields = ("address", "message_id")
    ordering = ("-pk",)


@admin.register(AuditDay)
class AuditDayAdmin(ReadOnly, admin.ModelAdmin):
    """Gaming days and how far they are audited."""

    list_display = ("venue", "day", "changes", "audited")
    list_filter = ("venue",)
    list_select_related = ("venue",)
    date_hierarchy = "day"
    ordering = ("-day",)


class TableAuditInline(ReadOnly, admin.TabularInline):
    """The tables of a run."""

    model = TableAudit
    fields = ("table", "status", "attempts", "events_done", "events", "seconds", "error")
    extra = 0


@admin.register(AuditRun)
class AuditRunAdmin(ReadOnly, admin.ModelAdmin):
    """Audits of days, the newest first."""

    list_display = ("__str__", "status", "cause", "asked_by", "started_at", "finished_at", "attempts", "retry_at")
    list_filter = ("status", "cause", "of_day__venue")
    list_select_related = ("of_day__venue",)
    inlines = (TableAuditInline,)
    ordering = ("-pk",)


@admin.register(AuditReport)
class AuditReportAdmin(ReadOnly, admin.ModelAdmin):
    """Reports with their figures."""

    list_display = ("__str__", "kind", "cause", "made_at", "hands", "findings", "attention", "flags", "chain_whole")
    list_filter = ("kind", "venue", "chain_whole")
    list_select_related = ("venue",)
    date_hierarchy = "day"


# The schedule is made of the settings: what would be changed here, the next start of the scheduler changes back.
for model in (PeriodicTask, ClockedSchedule, CrontabSchedule, IntervalSchedule, SolarSchedule):
    admin.site.unregister(model)


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(ReadOnly, admin.ModelAdmin):
    """What the scheduler sends, and when it did so last."""

    list_display = ("name", "task", "enabled", "last_run_at", "total_run_count")

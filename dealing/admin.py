"""Master data in Django's admin. The log and its projections can be looked at there, and by nobody changed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.text import capfirst

from dealing.console import words
from dealing.models import BetLimit, Dealer, DealerShift, Hand, Shoe, StaffMember, Table, TableEvent, Venue
from dealing.rules.rulesets import ruleset_names


class ReadOnlyAdmin(admin.ModelAdmin):
    """Shows rows, whoever asks; adds, changes and deletes none, not even for a superuser."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Venue)
class VenueAdmin(admin.ModelAdmin):
    """Houses."""

    list_display = ("code", "name", "time_zone", "day_starts")
    search_fields = ("code", "name")


class BetLimitInline(admin.TabularInline):
    """What may be staked at the table."""

    model = BetLimit
    extra = 0


@admin.register(Table)
class TableAdmin(admin.ModelAdmin):
    """Tables. The code is fixed once the log has a line: every hash of the log covers it."""

    list_display = ("code", "name", "venue", "ruleset", "decks", "is_active", "last_seq")
    list_filter = ("venue", "ruleset", "is_active")
    list_select_related = ("venue",)
    search_fields = ("code", "name")
    readonly_fields = ("last_seq", "last_at", "last_hash")
    inlines = (BetLimitInline,)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The ruleset is one of those that are installed."""
        if db_field.name != "ruleset":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        names = [("", "---------"), *((name, words.ruleset(name)) for name in ruleset_names())]
        return forms.ChoiceField(label=capfirst(db_field.verbose_name), choices=names)

    def get_readonly_fields(self, request: HttpRequest, obj: Table | None = None) -> Any:
        return (*self.readonly_fields, "code") if obj is not None and obj.last_seq else self.readonly_fields

    def save_model(self, request: HttpRequest, obj: Table, form: Any, change: bool) -> None:
        # The head of the log may have moved since the form was shown: write what was changed and nothing else.
        if not change:
            super().save_model(request, obj, form, change)
        elif form.changed_data:
            obj.save(update_fields=form.changed_data)


@admin.register(StaffMember)
class StaffMemberAdmin(admin.ModelAdmin):
    """Staff: which user goes by which code in the log."""

    list_display = ("code", "user", "venue", "language", "buddhist_years")
    list_filter = ("venue",)
    list_select_related = ("user", "venue")
    search_fields = ("code", "user__username", "user__first_name", "user__last_name")
    autocomplete_fields = ("user",)


@admin.register(Dealer)
class DealerAdmin(admin.ModelAdmin):
    """Dealers."""

    list_display = ("code", "name", "venue", "is_active")
    list_filter = ("venue", "is_active")
    search_fields = ("code", "name")


@admin.register(DealerShift)
class DealerShiftAdmin(ReadOnlyAdmin):
    """Who dealt where and when, to look at; the pages about dealers put it right, and say who did."""

    list_display = ("table", "dealer", "started_at", "ended_at", "recorded_by")
    list_filter = ("table",)
    list_select_related = ("table", "dealer")
    search_fields = ("dealer__code", "dealer__name")


@admin.register(Shoe)
class ShoeAdmin(ReadOnlyAdmin):
    """Shoes, to look at."""

    list_display = ("table", "number", "ruleset", "status", "hands", "cards_seen", "opened_at", "has_findings")
    list_filter = ("table", "status", "ruleset", "has_findings")
    list_select_related = ("table",)


@admin.register(Hand)
class HandAdmin(ReadOnlyAdmin):
    """Hands, to look at."""

    list_display = ("shoe", "number", "status", "winner", "player", "banker", "started_at", "has_findings")
    list_filter = ("status", "winner", "has_findings", "shoe__table")
    list_select_related = ("shoe__table",)
    show_full_result_count = False


@admin.register(TableEvent)
class TableEventAdmin(ReadOnlyAdmin):
    """The log, to look at."""

    list_display = ("table", "seq", "at", "name", "shoe_number", "hand_number", "by", "actor")
    list_filter = ("table", "name")
    list_select_related = ("table",)
    search_fields = ("key", "by", "actor")
    show_full_result_count = False

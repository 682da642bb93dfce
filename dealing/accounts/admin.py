"""People, who are never deleted, and the log of security events, to look at.

Second factors are not: the library's pages would show them.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from dealing.accounts.models import SecurityEvent
from dealing.admin import ReadOnlyAdmin

for _model in (User, StaticDevice, TOTPDevice):
    if admin.site.is_registered(_model):
        admin.site.unregister(_model)


@admin.register(User)
class PersonAdmin(UserAdmin):
    """People. Who has left is switched off (not active): what they recorded and decided goes by their name."""

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:
        """Never."""
        return False


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    """What happened to accounts."""

    list_display = ("at", "kind", "person", "by", "address", "detail", "browser")
    list_filter = ("kind",)
    search_fields = ("person", "by", "address")
    date_hierarchy = "at"
    show_full_result_count = False

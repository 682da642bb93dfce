"""Subscribing to reports: a part of everybody's own preferences, shown to who may read reports."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealing.models import StaffMember
from dealing.permissions import May, may

from .models import ReportSubscription


class SubscriptionForm(forms.Form):
    """Which reports the person gets by e-mail, and to which address."""

    template = "reports/_subscription.html"

    nightly = forms.BooleanField(label=gettext_lazy("Every nightly report"), required=False)
    monthly = forms.BooleanField(label=gettext_lazy("Every monthly report"), required=False)
    email = forms.EmailField(
        label=gettext_lazy("E-mail address"),
        required=False,
        max_length=254,
        error_messages={"invalid": gettext_lazy("This is no e-mail address.")},
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    def __init__(self, data: Any, member: StaffMember) -> None:
        self.member = member
        kept = ReportSubscription.objects.filter(member=member).first()
        super().__init__(
            data,
            prefix="reports",
            initial={
                "nightly": kept is not None and kept.nightly,
                "monthly": kept is not None and kept.monthly,
                "email": member.user.email,
            },
        )

    def clean(self) -> dict[str, Any]:
        """Refuse to send to nowhere."""
        data = super().clean() or {}
        if (data.get("nightly") or data.get("monthly")) and not data.get("email") and "email" not in self.errors:
            self.add_error("email", _("Say where to send them."))
        return data

    def keep(self) -> None:
        """Keep the choice, and the address with the person's log-in."""
        data = self.cleaned_data
        ReportSubscription.objects.update_or_create(
            member=self.member, defaults={"nightly": data["nightly"], "monthly": data["monthly"]}
        )
        user = self.member.user
        if user.email != data["email"]:
            user.email = data["email"]
            user.save(update_fields=["email"])


def subscription_part(data: Any, request: HttpRequest, member: StaffMember | None) -> SubscriptionForm | None:
    """The part of the preferences page; None for who may not read reports, or is of no house."""
    return SubscriptionForm(data, member) if member is not None and may(request.user, May.OVERSEE) else None

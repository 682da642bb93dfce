"""What a device is made of, as a person ticks it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealing.models import Table, Venue

from .models import Device


class DeviceForm(forms.ModelForm):
    """A device. `house` is asked for only where a new one may belong to one of several."""

    tables = forms.ModelMultipleChoiceField(
        Table.objects.none(),
        label=gettext_lazy("Tables"),
        widget=forms.CheckboxSelectMultiple,
        to_field_name="code",
        error_messages={"required": gettext_lazy("Tick at least one table.")},
    )

    class Meta:
        model = Device
        fields = ("code", "name", "supervises", "is_active")
        labels = {"name": gettext_lazy("Name"), "code": gettext_lazy("Code")}
        widgets = {
            "code": forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "SHOE-7"})
        }

    def __init__(self, *args: Any, venues: QuerySet[Venue], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        device = self.instance
        tables = Table.objects.filter(Q(is_active=True) | Q(devices=device) if device.pk else Q(is_active=True))
        if device.pk:
            del self.fields["code"]  # it stands in the log
            tables = tables.filter(venue=device.venue_id)
            self.initial["tables"] = list(device.tables.values_list("code", flat=True))
        else:
            del self.fields["is_active"]
            tables = tables.filter(venue__in=venues.order_by())
            self.fields["code"].help_text = _("Stands in the log as who recorded; it cannot be changed later.")
            if len(venues) != 1:
                self.fields["house"] = forms.ModelChoiceField(
                    venues, label=_("House"), to_field_name="code", empty_label=None
                )
        self.fields["name"].help_text = _("What it is and where it stands, so that others know.")
        choices: Any = self.fields["tables"]
        choices.queryset = tables.distinct().order_by("code")

    def clean_code(self) -> str:
        """In capitals, whatever was typed."""
        code: str = self.cleaned_data["code"].strip().upper()
        if Device.objects.filter(code=code).exists():
            raise forms.ValidationError(_("There is a device of this code already."))
        return code

    def clean(self) -> dict[str, Any]:
        """The tables are of the device's own house."""
        found: dict[str, Any] = super().clean() or {}
        house = found.get("house")
        tables = found.get("tables") or ()
        if house is not None and any(table.venue_id != house.pk for table in tables):
            self.add_error("tables", _("Tick tables of the house chosen above, and no others."))
        return found

"""What the incident pages ask for."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dealing.wording import ACTIONS as ACTION_WORDS
from incidents import rulings
from incidents.models import Incident


class DecisionForm(forms.Form):
    """A decision: one or more actions, and the reason where it departs from the rules. `services` checks the rest."""

    actions = forms.MultipleChoiceField(
        label=_("Decision"),
        choices=[(action, ACTION_WORDS[action]) for action in rulings.ACTIONS],
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": _("Choose what is to be done."),
            "invalid_choice": _("One of the choices is not known here. Choose again."),
        },
    )
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=rulings.REASON_LIMIT,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Needed where you depart from a ruling that the rules require. It is kept with the decision."),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)


class QueueForm(forms.Form):
    """Which incidents the list shows."""

    OPEN, ALL = "open", "all"

    status = forms.ChoiceField(
        label=_("Status"), choices=[*Incident.Status.choices, (ALL, _("All"))], required=False, initial=OPEN
    )
    table = forms.ChoiceField(required=False)
    q = forms.CharField(
        label=_("Search"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": _("finding, hand, reason")}),
    )

    def __init__(self, data: Any, tables: list[str]) -> None:
        super().__init__(data)
        self.fields["table"] = forms.ChoiceField(
            label=_("Table"), required=False, choices=[("", _("All")), *((code, code) for code in tables)]
        )

    def value(self, name: str) -> str:
        """What was chosen; the default where nothing usable was."""
        chosen = self.cleaned_data.get(name, "") if self.is_valid() or self.is_bound else ""
        return chosen or (self.OPEN if name == "status" else "")

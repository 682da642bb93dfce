"""What the incident pages ask for."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dealing.dates import MomentField
from dealing.models import Dealer, StaffMember, Venue
from dealing.permissions import WHO, May, holding
from dealing.wording import ACTIONS as ACTION_WORDS
from incidents import rulings
from incidents.models import Incident, IncidentReview
from incidents.services import REVIEW_FIELDS, TEXT_LIMIT, kept_of, staff_name

from .duty import OnDuty


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


class StaffField(forms.ModelChoiceField):
    """Somebody of the house."""

    def label_from_instance(self, obj: Any) -> str:
        """Code and name."""
        return staff_name(obj)


class DealerField(forms.ChoiceField):
    """The dealer on duty: one of the house's dealers (`d5`: by primary key), or a member of staff (`12`)."""

    def __init__(self, label: Any) -> None:
        super().__init__(label=label, required=False)
        self.known: dict[str, Dealer | StaffMember] = {}

    def offer(self, dealers: Iterable[Dealer], staff: Iterable[StaffMember]) -> None:
        """Have these to choose from."""
        of_house = {f"d{dealer.pk}": dealer for dealer in dealers}
        others = {str(member.pk): member for member in staff}
        self.known = {**of_house, **others}
        groups: list[Any] = [
            (name, [(key, staff_name(who)) for key, who in found.items()])
            for name, found in ((_("Dealers"), of_house), (_("Staff"), others))
            if found
        ]
        self.choices = [("", "–"), *groups]

    def prepare_value(self, value: Any) -> Any:
        """The key of a person; what was typed as it was."""
        if isinstance(value, Dealer | StaffMember):
            return f"d{value.pk}" if isinstance(value, Dealer) else str(value.pk)
        return value

    def clean(self, value: Any) -> Any:
        """The person; None for nobody."""
        return self.known.get(super().clean(value))


class AmountField(forms.DecimalField):
    """An amount of money as people write it: with or without a comma between thousands."""

    def __init__(self, label: Any) -> None:
        wrong = _("This is no amount. Write it as 1500 or 1500.50.")
        super().__init__(
            label=label,
            required=False,
            max_digits=14,
            decimal_places=2,
            # A number input drops what is wrong before anybody can say why.
            widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", "class": "amount"}),
            error_messages={
                "invalid": wrong,
                "max_digits": _("This amount is too large."),
                "max_whole_digits": _("This amount is too large."),
                "max_decimal_places": _("Use at most two digits after the point."),
            },
        )

    def to_python(self, value: Any) -> Any:
        """The amount. ValidationError where it is none."""
        if isinstance(value, str) and re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d*)?", value.strip()):
            value = value.replace(",", "")
        return super().to_python(value)


class ReviewForm(forms.Form):
    """A review note: what a dispute audit needs beside the log. `services.check_review` checks the rest."""

    error_by = forms.ChoiceField(
        label=_("Whose error was it?"),
        choices=[("", _("Not known yet")), *IncidentReview.ErrorBy.choices],
        required=False,
    )
    dealer = DealerField(_("Dealer on duty"))
    supervisor = StaffField(label=_("Supervisor on duty"), queryset=StaffMember.objects.none(), required=False)
    camera = forms.CharField(
        label=_("Camera"), max_length=60, required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    video_at = MomentField(
        label=_("Time of the video"),
        required=False,
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": "1"}),
        input_formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"],
        error_messages={"invalid": _("This is no date and time.")},
    )
    second_reviewer = StaffField(
        label=_("Second reviewer"),
        queryset=StaffMember.objects.none(),
        required=False,
        help_text=_("Somebody else than the manager who decides."),
    )
    money_lost = AmountField(_("Money lost to the house"))
    money_saved = AmountField(_("Money saved for the house"))
    follow_up = forms.CharField(
        label=_("Follow-up"), max_length=TEXT_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    follow_up_done = forms.BooleanField(label=_("Done"), required=False)
    note = forms.CharField(
        label=_("Note"), max_length=TEXT_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    after = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=0)

    def __init__(self, data: Any, venue: Venue, last: IncidentReview | None, on_duty: OnDuty | None = None) -> None:
        known = kept_of(last)
        duty = on_duty or OnDuty()
        # Who was on duty as far as the record knows: filled in where no note says so yet, and said beside the field.
        for role, person in (("dealer", duty.dealer), ("supervisor", duty.supervisor)):
            if person is not None and not known.get(role):
                known[role] = person
        super().__init__(data, initial={**known, "after": 0 if last is None else last.number})
        self.fields["dealer"].help_text = duty.of_dealer
        self.fields["supervisor"].help_text = duty.of_supervisor
        people = [getattr(last, f"{role}_id") for role in ("dealer", "supervisor", "second_reviewer")] if last else []
        staff = StaffMember.objects.filter(venue=venue).select_related("user").order_by("code")
        here = staff.filter(Q(user__is_active=True) | Q(pk__in=[pk for pk in people if pk]))
        supervising, reviewing = holding(WHO[May.SUPERVISE]), holding(WHO[May.OVERSEE])
        on_list = Q(is_active=True) | Q(pk__in=[one.pk for one in (known.get("dealer"),) if isinstance(one, Dealer)])
        dealer = self.fields["dealer"]
        assert isinstance(dealer, DealerField)  # noqa: S101  # for the type checker
        dealer.offer(Dealer.objects.filter(on_list, venue=venue), here)
        dealer.error_messages["invalid_choice"] = _("Choose somebody from the list.")
        for role, who in (
            ("supervisor", here.filter(supervising | Q(pk=last.supervisor_id if last else None)).distinct()),
            ("second_reviewer", here.filter(reviewing | Q(pk__in=[pk for pk in people if pk])).distinct()),
        ):
            field = self.fields[role]
            assert isinstance(field, StaffField)  # noqa: S101  # for the type checker
            field.queryset, field.empty_label = who, "–"
            field.error_messages["invalid_choice"] = _("Choose somebody from the list.")

    @property
    def said(self) -> dict[str, Any]:
        """What the note says, for `do_review_incident`."""
        return {name: self.cleaned_data[name] for name in REVIEW_FIELDS}


class AttachmentForm(forms.Form):
    """A picture or a short clip. `evidence.check_file` looks at its content."""

    file = forms.FileField(
        label=_("Picture or short video clip"),
        help_text=_("JPEG, PNG or WebP up to 10 MB; MP4, MOV or WebM up to 60 MB."),
        allow_empty_file=True,
        widget=forms.FileInput(
            attrs={"accept": "image/jpeg,image/png,image/webp,video/mp4,video/quicktime,video/webm"}
        ),
        error_messages={"required": _("Choose a file.")},
    )
    caption = forms.CharField(
        label=_("What it shows"), max_length=200, required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )


class QueueForm(forms.Form):
    """Which incidents the list shows."""

    OPEN, ALL = "open", "all"

    status = forms.ChoiceField(
        label=_("Status"), choices=[*Incident.Status.choices, (ALL, _("All"))], required=False, initial=OPEN
    )
    table = forms.ChoiceField(required=False)
    age = forms.ChoiceField(
        label=_("Age"),
        required=False,
        choices=[
            ("", _("All")),
            ("under-1h", _("under an hour")),
            ("over-1h", _("over an hour")),
            ("over-8h", _("over a shift (8 hours)")),
            ("over-24h", _("over a day")),
            ("over-168h", _("over a week")),
        ],
    )
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

    @property
    def age_bounds(self) -> tuple[dt.datetime | None, dt.datetime | None]:
        """Raised after this, and before that; None where it does not matter."""
        side, _sep, hours = self.value("age").rstrip("h").partition("-")
        if not hours:
            return None, None
        then = timezone.now() - dt.timedelta(hours=int(hours))
        return (then, None) if side == "under" else (None, then)

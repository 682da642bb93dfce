"""What a webhook is made of, as a person types it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealing.models import Venue

from .models import Kind, Webhook, WebhookDelivery
from .wire import THIS_MACHINE, allowed, in_numbers


class WebhookForm(forms.ModelForm):
    """A receiver. `house` is asked for only where the person may choose among several."""

    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("What is told"),
        choices=Kind.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one.")},
    )

    class Meta:
        model = Webhook
        fields = ("name", "url", "kinds", "is_active")
        labels = {"name": gettext_lazy("Name"), "url": gettext_lazy("Address")}
        widgets = {
            "url": forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off", "spellcheck": "false"})
        }

    def __init__(self, *args: Any, venues: QuerySet[Venue], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance.pk and len(venues) != 1:
            self.fields["house"] = forms.ModelChoiceField(
                venues, label=_("House"), to_field_name="code", empty_label=None
            )
        self.fields["name"].help_text = _("What it is for, so that others know.")
        self.fields["url"].help_text = _("Where the messages are sent; it begins with https://")

    def clean_url(self) -> str:
        """An address that messages can safely go to. Where its name leads is looked at each time one is sent."""
        url = str(self.cleaned_data["url"]).strip()
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
            host and host.encode("idna")
        except (ValueError, UnicodeError):
            host, port = None, None
        if not host or port == 0 or any(c.isspace() or not c.isprintable() for c in url):
            raise forms.ValidationError(_("This is no address. It looks like https://audit.example/hook"))
        if not url.isascii():
            raise forms.ValidationError(_("Write the address with plain letters (names as xn--…, the rest as %XX)."))
        if parts.scheme != "https" and not (parts.scheme == "http" and (settings.DEBUG or host in THIS_MACHINE)):
            raise forms.ValidationError(_("Messages leave this machine encrypted only: begin with https://"))
        if parts.username is not None or parts.password is not None:
            raise forms.ValidationError(_("Leave out name and password: messages are signed instead."))
        address = in_numbers(host)
        if address is not None and not allowed(address):
            told = _(
                "Messages may not go to %(address)s, which is inside a network: WEBHOOK_PRIVATE_NETWORKS has to allow "
                "it first."
            )
            raise forms.ValidationError(told % {"address": address})
        if parts.fragment:
            raise forms.ValidationError(_("Leave out what follows the “#”: it is never sent."))
        return url


class MessagesForm(forms.Form):
    """Which messages of a webhook are listed."""

    status = forms.ChoiceField(required=False, choices=[("", ""), *WebhookDelivery.Status.choices])

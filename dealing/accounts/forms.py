"""What is typed on the account pages."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy


class OwnPasswordForm(PasswordChangeForm):
    """A new password. Wrong old ones count as wrong ones of a log-in do."""

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        self.request = request
        super().__init__(cast(User, request.user), data)
        for field in self.fields.values():
            field.widget.attrs = {**field.widget.attrs, "class": "input"}
            field.widget.attrs.pop("autofocus", None)
        self.fields["new_password2"].help_text = ""

    def clean_old_password(self) -> str:
        """The old password, tried as a log-in would try it."""
        old: str = self.cleaned_data["old_password"]
        if authenticate(self.request, username=self.user.get_username(), password=old) is None:
            raise ValidationError(_("This is not your password."))
        return old


class NameForm(forms.Form):
    """The name of a passkey."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=64, required=False)

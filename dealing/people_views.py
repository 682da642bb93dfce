"""Logging in, choosing a language, and everybody's own preferences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import check_for_language, get_language, gettext_lazy, override
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django.views.i18n import LANGUAGE_QUERY_PARAMETER
from django.views.i18n import set_language as django_set_language

from dealing.accounts import passkeys
from dealing.accounts.owing import owing
from dealing.look import THEME_COOKIE, THEMES, keep_theme
from dealing.models import StaffMember
from dealing.people import keep_language, staff_language


class LogIn(LoginView):
    """The log-in page. It gives the person the language that was kept for them, and leads on to the second factor."""

    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; who owes the second factor alone is led to it from whichever page wanted a log-in."""
        if request.method in ("GET", "HEAD") and (owes := owing(request)) is not None:
            return owes
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """What the page draws."""
        return {
            **super().get_context_data(**kwargs),
            "with_passkey": passkeys.work(self.request),
            "passkeys_at": passkeys.elsewhere(self.request),
        }

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log the person in and set their language."""
        response = super().form_valid(form)
        set_language_of(response, form.get_user())
        return response


def set_language_of(response: HttpResponse, user: Any) -> None:
    """Have the answer's cookie say the language that was kept for the person."""
    language = staff_language(user)
    if language and check_for_language(language):
        _set_language_cookie(response, language)


def _set_language_cookie(response: HttpResponse, language: str) -> None:
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        path=settings.LANGUAGE_COOKIE_PATH,
        domain=settings.LANGUAGE_COOKIE_DOMAIN,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite=cast(Any, settings.LANGUAGE_COOKIE_SAMESITE),
    )


def set_language(request: HttpRequest) -> HttpResponseBase:
    """Django's own view, and the choice kept with the staff member for the next log-in."""
    response = django_set_language(request)
    code = request.POST.get(LANGUAGE_QUERY_PARAMETER, "")
    if request.method == "POST" and request.user.is_authenticated and code in dict(settings.LANGUAGES):
        keep_language(request.user, code)
    return response


class PreferencesForm(forms.Form):
    """What everybody chooses for themselves. `member` None: somebody of no house, for whom nothing can be kept."""

    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        widget=forms.RadioSelect,
        error_messages={"invalid_choice": gettext_lazy("Choose one of these.")},
    )
    buddhist_years = forms.BooleanField(label=gettext_lazy("Years of the Buddhist era on Thai pages"), required=False)
    theme = forms.ChoiceField(
        label=gettext_lazy("Light or dark"),
        required=False,
        widget=forms.RadioSelect,
        choices=[
            ("", gettext_lazy("As this device has it")),
            ("light", gettext_lazy("Light")),
            ("dark", gettext_lazy("Dark")),
        ],
        help_text=gettext_lazy("Kept on this device."),
        error_messages={"invalid_choice": gettext_lazy("Choose one of these.")},
    )

    def __init__(self, data: Any, request: HttpRequest, member: StaffMember | None) -> None:
        theme = request.COOKIES.get(THEME_COOKIE, "")
        super().__init__(
            data,
            initial={
                "language": get_language(),
                "buddhist_years": member is not None and member.buddhist_years,
                "theme": theme if theme in THEMES else "",
            },
        )
        # Each in its own language, so that somebody who reads no other finds it.
        own = {"en": "English", "th": "ไทย"}
        field = cast(forms.ChoiceField, self.fields["language"])
        field.choices = [(code, own.get(code, name)) for code, name in settings.LANGUAGES]
        if member is None:
            del self.fields["buddhist_years"]


class PreferencesPart(Protocol):
    """A form that another room adds to the page: `template` draws it (as `part`), `keep` keeps what was chosen."""

    template: str

    @property
    def is_bound(self) -> bool: ...

    def is_valid(self) -> bool: ...

    def keep(self) -> None: ...


#: What other rooms add (see `PreferencesPart`); None: nothing for this person.
PREFERENCES_PARTS: list[Callable[[Any, HttpRequest, StaffMember | None], PreferencesPart | None]] = []


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def preferences(request: HttpRequest) -> HttpResponse:
    """The person's own page: language, years, theme, and what other rooms add."""
    member: StaffMember | None = getattr(request.user, "staff_member", None)
    data = request.POST or None
    form = PreferencesForm(data, request, member)
    parts = [part for make in PREFERENCES_PARTS if (part := make(data, request, member)) is not None]
    # Each is asked, so that all that is wrong is said at once.
    valid = all([form.is_valid(), *(part.is_valid() for part in parts)])
    if request.method != "POST" or not valid:
        context = {"form": form, "parts": parts}
        return render(request, "registration/preferences.html", context, status=422 if form.is_bound else 200)
    for part in parts:
        part.keep()
    language = form.cleaned_data["language"]
    if member is not None:
        member.language, member.buddhist_years = language, form.cleaned_data["buddhist_years"]
        member.save(update_fields=["language", "buddhist_years"])
    response = HttpResponseRedirect(reverse("preferences"))
    _set_language_cookie(response, language)
    keep_theme(request, response, form.cleaned_data["theme"])
    with override(language):
        messages.success(request, _("Your preferences are kept."))
    return response

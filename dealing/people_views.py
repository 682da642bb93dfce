"""Logging in and choosing a language."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import check_for_language
from django.views.i18n import LANGUAGE_QUERY_PARAMETER
from django.views.i18n import set_language as django_set_language

from dealing.people import keep_language, staff_language


class LogIn(LoginView):
    """The log-in page. It gives the person the language that was kept for them."""

    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log the person in and set their language."""
        response = super().form_valid(form)
        language = staff_language(form.get_user())
        if language and check_for_language(language):
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
        return response


def set_language(request: HttpRequest) -> HttpResponseBase:
    """Django's own view, and the choice kept with the staff member for the next log-in."""
    response = django_set_language(request)
    code = request.POST.get(LANGUAGE_QUERY_PARAMETER, "")
    if request.method == "POST" and request.user.is_authenticated and code in dict(settings.LANGUAGES):
        keep_language(request.user, code)
    return response

"""The design system's own page, and the choice between the light and the dark theme."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from dealing import wording
from dealing.people import reader_required
from dealing.rules.tableau import PLACES
from dealing.templatetags.shapes import ICONS

THEME_COOKIE = "theme"
THEME_AGE = 365 * 24 * 60 * 60  # seconds
THEMES = ("light", "dark")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the chosen theme in a cookie; any other value means the device's own preference again."""
    page = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure()):
        page = resolve_url(settings.LOGIN_REDIRECT_URL)
    response = HttpResponseRedirect(page)
    keep_theme(request, response, request.POST.get("theme", ""))
    return response


def keep_theme(request: HttpRequest, response: HttpResponse, chosen: str) -> None:
    """Have the answer's cookie say the theme; anything but `light` and `dark` is the device's own preference."""
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=THEME_AGE, samesite="Lax", secure=request.is_secure())
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")


class SampleForm(forms.Form):
    """The fields of the page; never sent anywhere."""

    table = forms.CharField(label=_("Table"), max_length=16, initial="B07")
    stake = forms.DecimalField(label=_("Stake"), help_text=_("A decimal amount, as 100.00"))
    reason = forms.CharField(label=_("Reason"), widget=forms.Textarea, required=False)


#: A fifth card that went to Banker though Player was due, as the judge gives it.
SAMPLE: dict[str, Any] = {
    "dealt": {"P": ["9h", "3d"], "B": ["4s", "2c", "Kd"], "extra": ["7s"]},
    "correct": {"P": ["9h", "3d", "Kd"], "B": ["4s", "2c"], "extra": ["7s"], "next": None},
    "totals": (2, 6),
    "next": {"P": ["Qs", "3h"], "B": [None, None], "extra": []},
    "next_totals": (3, None),
    "done": {"P": ["5c", "Ah", "7d"], "B": ["Jc", "2h", "6s"], "extra": []},
    "done_totals": (3, 8),
    "tie": {"P": ["4d", "2s"], "B": ["Kh", "6c"], "extra": []},
    "tie_totals": (6, 6),
    "findings": [
        {
            "code": "fifth-card-misplaced",
            "seq": [231],
            "cards": ["Kd"],
            "state": "open",
            "rules": ["INC-order"],
            "ruling": "correct",
            "options": ["correct"],
            "mandatory": True,
        },
        {
            "code": "exposed-during-draw",
            "seq": [232],
            "cards": ["7s"],
            "state": "open",
            "rules": ["INC-draw-exposed"],
            "ruling": "discretion",
            "options": ["stand", "burn card", "void hand"],
            "mandatory": False,
        },
        {
            "code": "insurance-dealt-early",
            "seq": [233],
            "cards": [],
            "state": "open",
            "rules": ["INS-early"],
            "ruling": "stand",
            "options": ["stand"],
            "mandatory": True,
        },
        {
            "code": "bet-after-close",
            "seq": [234],
            "cards": [],
            "state": "open",
            "rules": [],
            "ruling": "discretion",
            "options": ["stand", "void bet"],
            "mandatory": False,
        },
        {
            "code": "initial-card-misplaced",
            "seq": [235],
            "cards": ["4s"],
            "state": "corrected",
            "rules": ["INC-fix"],
            "ruling": "discretion",
            "options": ["correct", "void hand"],
            "mandatory": False,
        },
    ],
}

COLOURS = (
    "ground",
    "surface",
    "sunken",
    "line",
    "line-strong",
    "ink",
    "ink-quiet",
    "accent",
    "accent-press",
    "accent-soft",
    "due",
    "due-soft",
    "due-line",
    "danger",
    "danger-soft",
    "danger-line",
    "danger-fill",
    "ok",
    "ok-soft",
    "ok-line",
    "info",
    "info-soft",
    "info-line",
    "player",
    "banker",
    "focus",
    "bar",
    "bar-raised",
    "felt",
    "felt-deep",
    "felt-line",
    "felt-due",
    "felt-wrong",
    "card-face",
    "card-red",
    "card-back",
)


@require_safe
@reader_required
def look(request: HttpRequest) -> HttpResponse:
    """Every token and component in all its states."""
    wrong = SampleForm({"table": "B07", "stake": "-", "reason": ""})
    wrong.full_clean()
    return render(
        request,
        "components/catalogue.html",
        {
            "colours": COLOURS,
            "suits": [[f"{rank}{suit}" for rank in wording.RANKS] for suit in (*wording.SUITS, "")],
            "sample": SAMPLE,
            "form": SampleForm(),
            "wrong": wrong,
            "statuses": list(wording.STATUSES),
            "actions": list(wording.ACTIONS),
            "icons": ICONS,
            "places": list(PLACES),
            "winners": list(wording.SIDES),
            "steps": range(1, 8),
        },
    )

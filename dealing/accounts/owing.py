"""Where somebody is led who gave the password and owes the second factor."""

from __future__ import annotations

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from dealing.accounts.middleware import pending
from dealing.accounts.standing import State


def next_of(request: HttpRequest) -> str:
    """Where the person wanted to go; a page of this site, or none."""
    page = request.POST.get("next", request.GET.get("next", ""))
    ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if ours and page.startswith("/") else ""  # any other text would be taken for the name of a view


def to(name: str, page: str = "") -> HttpResponseRedirect:
    """To a page, and from there on to another."""
    return redirect_to_login(page, reverse(name)) if page else HttpResponseRedirect(reverse(name))


def owing(request: HttpRequest) -> HttpResponseRedirect | None:
    """Where somebody is led who gave the password and owes the second factor; None for everybody else."""
    who = pending(request)
    if who is None:
        return None
    return to("account:set_up" if who[1] is State.ENROLS else "account:factor", next_of(request))

"""The account pages: the second factor at the log-in, everybody's own account, and the accounts of a house."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth import authenticate, login, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealing.accounts import events, factors, limits, passkeys, sessions
from dealing.accounts.forms import NameForm, OwnPasswordForm
from dealing.accounts.middleware import pending
from dealing.accounts.models import Passkey, SecurityEvent
from dealing.accounts.owing import next_of, owing, to
from dealing.accounts.standing import WRONG, Standing, State
from dealing.people import required
from dealing.people_views import set_language_of
from dealing.permissions import May, house_of, may, refusal

View = Callable[..., HttpResponse]
Kind = events.Kind
BACKEND = "dealing.people_backend.PeopleBackend"


def _standing(request: HttpRequest) -> Standing:
    standing = Standing.of(request.session)
    if standing is None:
        raise PermissionDenied(_("Log in first."))
    return standing


def for_owner(view: View) -> View:
    """Let in who may change the second factor: somebody who has to set one up, or who gave it (or, without one, the
    password) just now. `request.owner` is the person.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        who = pending(request)
        if who is not None and who[1] is State.ENROLS:
            request.owner = who[0]  # type: ignore[attr-defined]
            return view(request, *args, **kwargs)
        if who is not None or not request.user.is_authenticated:
            return owing(request) or to("login", request.get_full_path() if request.method == "GET" else "")
        if not _standing(request).fresh:
            if request.method != "GET":
                messages.info(request, _("Nothing was changed yet: show that it is you, and press again."))
            return to("account:confirm", request.get_full_path() if request.method == "GET" else "")
        request.owner = request.user  # type: ignore[attr-defined]
        return view(request, *args, **kwargs)

    return guarded


def _let_in(request: HttpRequest, user: User) -> None:
    """The second factor was given: the session owes nothing, and goes by another key from now on."""
    standing = _standing(request)
    standing.state, standing.factor, standing.wrong = State.IN, True, 0
    standing.given = timezone.now().timestamp()
    standing.keep(request.session)
    request.session.cycle_key()
    request.user = user


def _wrong(request: HttpRequest, user: User, detail: str) -> bool:
    """A wrong factor was given; whether the session is over for that."""
    events.record(Kind.WRONG_FACTOR, user, request, detail=detail)
    standing = _standing(request)
    standing.wrong += 1
    standing.keep(request.session)
    if standing.wrong < WRONG:
        return False
    request.session.flush()
    return True


def _not_right(answer: factors.Answer) -> str:
    if answer.wait:
        return ngettext(
            "Too many wrong codes. Wait %(n)s second before the next.",
            "Too many wrong codes. Wait %(n)s seconds before the next.",
            answer.wait,
        ) % {"n": answer.wait}
    return _("This code is not right, or was used already. Wait for the next one, and look at the device’s clock.")


def _ask(request: HttpRequest, make: Callable[..., str], *args: Any) -> tuple[str, str]:
    """What the browser is asked for a passkey, or why there can be none."""
    try:
        return make(request, *args), ""
    except passkeys.Refused as why:
        return "", str(why)


# At the log-in.


@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def give_factor(request: HttpRequest) -> HttpResponse:
    """The second factor after the password."""
    who = pending(request)
    if who is None or who[1] is not State.OWES:
        return owing(request) or redirect(next_of(request) or "home")
    user = who[0]
    error = _factor_given(request, user) if request.method == "POST" else None
    if request.method == "POST" and error is None:
        _let_in(request, user)
        events.record(Kind.FACTOR_GIVEN, user, request)
        if request.POST.get("code") and not factors.codes_left(user):
            messages.warning(request, _("You have no recovery codes any more. Make new ones under Account."))
        response = redirect(next_of(request) or "home")
        set_language_of(response, user)
        return response
    if Standing.of(request.session) is None:
        messages.error(request, _("Too many wrong codes. Log in again."))
        return to("login", next_of(request))
    return _factor_page(request, user, error, "accounts/factor.html")


def _factor_given(request: HttpRequest, user: User) -> str | None:
    """Take the factor that was sent; None where it is right, or else what is wrong."""
    if credential := request.POST.get("credential"):
        try:
            passkeys.check_factor(request, user, credential)
        except passkeys.Refused as why:
            _wrong(request, user, "passkey")
            return str(why)
        return None
    answer = factors.check(user, request.POST.get("code", ""))
    if answer.given is None:
        if not answer.wait:
            _wrong(request, user, "code")
        return _not_right(answer)
    if answer.given is factors.Given.RECOVERY:
        events.record(Kind.CODE_USED, user, request, detail=f"left: {factors.codes_left(user)}")
    return None


def _factor_page(request: HttpRequest, user: User, error: str | None, template: str) -> HttpResponse:
    has_keys = Passkey.objects.filter(user=user).exists()
    options, why_not = _ask(request, passkeys.ask_factor, user) if has_keys else ("", "")
    context = {
        "error": error,
        "next": next_of(request),
        "has_app": factors.app_of(user) is not None,
        "has_keys": has_keys,
        "has_codes": factors.codes_left(user) > 0,
        "options": options,
        "why_not": why_not,
    }
    return render(request, template, context, status=422 if error else 200)


@require_safe
@never_cache
def set_up(request: HttpRequest) -> HttpResponse:
    """Which second factor somebody sets up who needs one and has none."""
    who = pending(request)
    if who is None or who[1] is not State.ENROLS:
        return owing(request) or redirect("account:account")
    _options, why_not = _ask(request, passkeys.ask_new, who[0])
    return render(request, "accounts/set_up.html", {"next": next_of(request), "why_not": why_not})


@require_POST
@never_cache
def ask_passkey(request: HttpRequest) -> HttpResponse:
    """For the log-in page: what the browser is asked for a passkey instead of name and password."""
    options, why_not = _ask(request, passkeys.ask_anybody)
    return JsonResponse({"error": why_not}, status=400) if why_not else HttpResponse(options, "application/json")


@require_POST
@never_cache
def log_in_by_passkey(request: HttpRequest) -> HttpResponse:
    """Log in with a passkey that itself asked for a finger, a face or a PIN: both factors in one."""
    try:
        key = passkeys.check_anybody(request, request.POST.get("credential", ""))
    except passkeys.Refused as why:
        if why.user is not None:  # else anybody could fill the log
            events.record(Kind.WRONG_FACTOR, why.user, request, detail="passkey")
        messages.error(request, str(why))
        return to("login", next_of(request))
    user = key.user
    user.passkey_given = True  # type: ignore[attr-defined]  # for `receivers.logged_in`
    login(request, user, backend=BACKEND)
    response = redirect(next_of(request) or "home")
    set_language_of(response, user)
    return response


# One's own account.


def _mark(key: str) -> str:
    """What a session is called on the page: its key would open it."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


@require_safe
@never_cache
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """One's own account: password, second factor, sessions, what happened lately."""
    user = cast(User, request.user)
    no_passkeys = ""
    try:
        passkeys.place_of(request)
    except passkeys.Refused as why:
        no_passkeys = str(why)
    found = [
        {"row": row, "mark": _mark(row.pk), "current": row.pk == request.session.session_key}
        for row in sessions.of(user)
    ]
    context = {
        "app": factors.app_of(user),
        "passkeys": list(Passkey.objects.filter(user=user)),
        "no_passkeys": no_passkeys,
        "codes_left": factors.codes_left(user),
        "has_factor": factors.has(user),
        "required": factors.required(user),
        "sessions": sorted(found, key=lambda one: not one["current"]),
        "zone": _zone(user),
        "events": SecurityEvent.objects.filter(person=user.get_username())[:10],
        "may_unlock": may(user, May.UNLOCK),
    }
    return render(request, "accounts/account.html", context)


def _zone(user: Any) -> Any:
    member = getattr(user, "staff_member", None)
    return member.venue.zone if member is not None else timezone.get_default_timezone()


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def password(request: HttpRequest) -> HttpResponse:
    """A new password. All other sessions end."""
    form = OwnPasswordForm(request, request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = form.save()
        update_session_auth_hash(request, user)
        messages.success(request, _("Your password is changed. All your other sessions have ended."))
        return redirect("account:account")
    return render(request, "accounts/password.html", {"form": form}, status=422 if form.is_bound else 200)


@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def confirm(request: HttpRequest) -> HttpResponse:
    """Show that it is you: the second factor once more, or the password of somebody without one."""
    user = cast(User, request.user)
    if not factors.has(user):
        error = None
        if request.method == "POST":
            given = request.POST.get("password", "")
            if authenticate(request, username=user.get_username(), password=given) is not None:
                return _confirmed(request)
            error = _("This is not your password.")
        context = {"error": error, "next": next_of(request), "password": True}
        return render(request, "accounts/confirm.html", context, status=422 if error else 200)
    error = _factor_given(request, user) if request.method == "POST" else None
    if request.method == "POST" and error is None:
        return _confirmed(request)
    if Standing.of(request.session) is None:
        messages.error(request, _("Too many wrong codes. Log in again."))
        return to("login", next_of(request))
    return _factor_page(request, user, error, "accounts/confirm.html")


def _confirmed(request: HttpRequest) -> HttpResponse:
    standing = _standing(request)
    standing.given, standing.wrong = timezone.now().timestamp(), 0
    standing.keep(request.session)
    return redirect(next_of(request) or "account:account")


def _added(request: HttpRequest, user: User, first: bool, detail: str) -> HttpResponse:
    """A factor was added: other sessions end; with the first one come recovery codes, shown now and never again."""
    _let_in(request, user)
    sessions.end(user, but=request.session.session_key)
    events.record(Kind.FACTOR_ADDED, user, request, detail=detail)
    if first:
        return _show_codes(request, user)
    messages.success(request, _("The second factor is added. All your other sessions have ended."))
    return redirect(next_of(request) or "account:account")


def _show_codes(request: HttpRequest, user: User) -> HttpResponse:
    made = factors.new_codes(user)
    events.record(Kind.CODES_MADE, user, request)
    context = {"codes": made, "next": next_of(request) or reverse("account:account")}
    return render(request, "accounts/codes.html", context)


@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_owner
def app(request: HttpRequest) -> HttpResponse:
    """Set up an authenticator app, in place of an earlier one."""
    user = cast(User, request.owner)  # type: ignore[attr-defined]
    if request.method == "POST":
        code = request.POST.get("code", "")
        if not factors.is_app_code(code):
            messages.error(request, _("The code of an app is six digits."))
            return redirect(request.get_full_path())
        first = not factors.has(user)
        answer = factors.finish_app(user, code)
        if answer.given:
            return _added(request, user, first, "authenticator app")
        messages.error(request, _not_right(answer))
        # Shown by a page of its own: the browser keeps no answer to a form, and could not come back to it.
        return redirect(request.get_full_path())
    begun = factors.begin_app(user)
    context = {
        "qr": factors.qr(begun),
        "secret": factors.typed(begun),
        "typing": "typing" in request.GET,
        "replaces": factors.app_of(user) is not None,
    }
    return render(request, "accounts/app.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_owner
def new_passkey(request: HttpRequest) -> HttpResponse:
    """Set up a passkey."""
    user = cast(User, request.owner)  # type: ignore[attr-defined]
    error = None
    if request.method == "POST":
        form = NameForm(request.POST)
        name = form.cleaned_data["name"] if form.is_valid() else ""
        first = not factors.has(user)
        try:
            key = passkeys.add(request, user, request.POST.get("credential", ""), name or _("Passkey"))
        except passkeys.Refused as why:
            error = str(why)
        else:
            return _added(request, user, first, f"passkey {key.name}")
    options, why_not = _ask(request, passkeys.ask_new, user)
    context = {"options": options, "why_not": why_not, "error": error, "next": next_of(request)}
    return render(request, "accounts/passkey.html", context, status=422 if error else 200)


@require_POST
@never_cache
@for_owner
def codes(request: HttpRequest) -> HttpResponse:
    """Recovery codes in place of the earlier ones."""
    user = cast(User, request.owner)  # type: ignore[attr-defined]
    if not factors.has(user):
        messages.error(request, _("Set up a second factor first."))
        return redirect("account:account")
    return _show_codes(request, user)


def _last_one(request: HttpRequest, user: User, left: bool) -> bool:
    """Whether it is the last factor of somebody who needs one; says so."""
    if left or not factors.required(user):
        return False
    messages.error(request, _("You need a second factor: set up another one before you remove this one."))
    return True


def _removed(request: HttpRequest, user: User, detail: str) -> HttpResponse:
    events.record(Kind.FACTOR_REMOVED, user, request, detail=detail)
    sessions.end(user, but=request.session.session_key)
    messages.success(request, _("The second factor is removed. All your other sessions have ended."))
    return redirect("account:account")


@require_POST
@never_cache
@for_owner
def remove_app(request: HttpRequest) -> HttpResponse:
    """Do without the authenticator app."""
    user = cast(User, request.owner)  # type: ignore[attr-defined]
    if factors.app_of(user) is None or _last_one(request, user, Passkey.objects.filter(user=user).exists()):
        return redirect("account:account")
    factors.remove_app(user)
    return _removed(request, user, "authenticator app")


@require_POST
@never_cache
@for_owner
def remove_passkey(request: HttpRequest, pk: int) -> HttpResponse:
    """Do without a passkey."""
    user = cast(User, request.owner)  # type: ignore[attr-defined]
    key = get_object_or_404(Passkey, user=user, pk=pk)
    others = Passkey.objects.filter(user=user).exclude(pk=pk).exists() or factors.app_of(user) is not None
    if _last_one(request, user, others):
        return redirect("account:account")
    key.delete()
    return _removed(request, user, f"passkey {key.name}")


@require_POST
@never_cache
@login_required
def end_sessions(request: HttpRequest) -> HttpResponse:
    """End one of one's own sessions, or all others."""
    user = cast(User, request.user)
    current = request.session.session_key
    mark = request.POST.get("session", "")
    if mark:
        keys = [row.pk for row in sessions.of(user) if _mark(row.pk) == mark and row.pk != current]
        ended = sessions.end_some(user, keys)
    else:
        ended = sessions.end(user, but=current)
    if ended:
        events.record(Kind.SESSIONS_ENDED, user, request, detail=str(ended))
    words = ngettext("%(n)s session has ended.", "%(n)s sessions have ended.", ended)
    messages.success(request, words % {"n": ended})
    return redirect("account:account")


# The accounts of a house.


def _people_of(user: Any) -> Any:
    """Who is in the person's house; everybody for somebody of no house."""
    house = house_of(user)
    found = User.objects.select_related("staff_member").filter(is_active=True)
    return found if house is None else found.filter(staff_member__venue=house)


@require_safe
@never_cache
@required(May.UNLOCK)
def people(request: HttpRequest) -> HttpResponse:
    """Who is locked out, and who has a second factor."""
    found = list(_people_of(request.user).order_by("username"))
    names = [one.username for one in found]
    locked = limits.locked_names(names)
    with_factor = set(factors.with_one([one.pk for one in found]))
    rows = [
        {
            "user": one,
            "locked": one.username in locked,
            "factor": one.pk in with_factor,
            "missing": one.pk not in with_factor and factors.required(one),
        }
        for one in found
    ]
    rows.sort(key=lambda row: not row["locked"])
    context = {"rows": rows, "may_reset": may(request.user, May.ADMINISTER), "zone": _zone(request.user)}
    return render(request, "accounts/people.html", context)


@require_POST
@never_cache
@required(May.UNLOCK)
def unlock(request: HttpRequest, pk: int) -> HttpResponse:
    """Let somebody try again who is locked out."""
    one = get_object_or_404(_people_of(request.user), pk=pk)
    if limits.unlock(one.username, request.user.get_username(), request):
        messages.success(request, _("%(name)s may try again now.") % {"name": one.username})
    else:
        messages.info(request, _("%(name)s is not locked out.") % {"name": one.username})
    return redirect("account:people")


@require_POST
@never_cache
@required(May.UNLOCK)
@for_owner
def reset(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the second factors of somebody away who lost them. Nobody does it for themselves."""
    if not may(request.user, May.ADMINISTER):
        raise PermissionDenied(refusal(May.ADMINISTER))
    one = get_object_or_404(_people_of(request.user), pk=pk)
    if one.pk == request.user.pk:
        raise PermissionDenied(_("Your own second factor is on the page of your account."))
    factors.take_away(one, request.user.get_username(), request)
    messages.success(
        request,
        _("%(name)s has no second factor any more, and sets one up at the next log-in.") % {"name": one.username}
        if factors.required(one)
        else _("%(name)s has no second factor any more.") % {"name": one.username},
    )
    return redirect("account:people")

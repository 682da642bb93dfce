"""The pages of the devices: for which tables each is, and its keys. A new key is shown in one answer, once."""

from __future__ import annotations

import datetime as dt
from typing import Final

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealing.models import Venue
from dealing.people import required
from dealing.permissions import May, house_of

from . import keys
from .forms import DeviceForm
from .keeping import save_device
from .models import Device, DeviceKey

AT_ONCE: Final = dt.timedelta()
keeper_required = required(May.KEEP_DEVICES)


def venues_of(request: HttpRequest) -> QuerySet[Venue]:
    """The houses whose devices the person keeps."""
    house = house_of(request.user)
    venues = Venue.objects.order_by("code")
    return venues if house is None else venues.filter(pk=house)


def devices_of(request: HttpRequest) -> QuerySet[Device]:
    """Their devices."""
    return Device.objects.filter(venue__in=venues_of(request).order_by()).select_related("venue")


@require_safe
@never_cache
@keeper_required
def devices(request: HttpRequest) -> HttpResponse:
    """All of them: for which tables, with how many keys, last heard of when."""
    now = timezone.now()
    found = devices_of(request).annotate(last_used=Max("keys__last_used_at")).prefetch_related("tables", "keys")
    rows = [(device, [key for key in device.keys.all() if is_good(key, now)]) for device in found.order_by("code")]
    return render(request, "devices/list.html", {"rows": rows, "several": len(venues_of(request)) > 1})


def is_good(key: DeviceKey, now: dt.datetime) -> bool:
    """Whether the key itself opens the API at this time; its device has to be in use, too."""
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > now)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@keeper_required
def new(request: HttpRequest) -> HttpResponse:
    """Make one. Its first key is made on its page."""
    venues = venues_of(request)
    form = DeviceForm(request.POST or None, venues=venues)
    if request.method == "POST" and form.is_valid():
        device: Device = form.save(commit=False)
        device.venue = form.cleaned_data.get("house") or venues.get()
        if _saved(request, form, device):
            messages.success(request, _("The device is made. Now make a key for it."))
            return redirect("devices:device", device.code)
    return render(request, "devices/edit.html", {"form": form}, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@keeper_required
def edit(request: HttpRequest, code: str) -> HttpResponse:
    """Change its name, its tables and what it may do; take it out of use, and into use again."""
    device = get_object_or_404(devices_of(request), code=code)
    form = DeviceForm(request.POST or None, instance=device, venues=venues_of(request))
    if request.method == "POST" and form.is_valid() and _saved(request, form, form.save(commit=False)):
        messages.success(request, _("The change is kept."))
        return redirect("devices:device", device.code)
    return render(request, "devices/edit.html", {"form": form, "device": device}, status=422 if form.errors else 200)


def _saved(request: HttpRequest, form: DeviceForm, device: Device) -> bool:
    try:
        save_device(device, form.cleaned_data["tables"], request.user.get_username())
    except ValidationError as error:
        form.add_error(None, error.messages)
        return False
    return True


@require_safe
@never_cache
@keeper_required
def device(request: HttpRequest, code: str) -> HttpResponse:
    """One of them, with its keys."""
    return _page(request, get_object_or_404(devices_of(request), code=code))


@sensitive_variables("secret")
def _page(request: HttpRequest, device: Device, secret: str = "") -> HttpResponse:
    now = timezone.now()
    listed = [(key, is_good(key, now)) for key in device.keys.all()]
    return render(
        request,
        "devices/device.html",
        {
            "device": device,
            "tables": device.tables.order_by("code"),
            "listed": listed,
            "good": sum(good for _key, good in listed),
            "secret": secret,
            "several": len(venues_of(request)) > 1,
        },
    )


@require_POST
@never_cache
@keeper_required
@sensitive_variables("secret")
def make_key(request: HttpRequest, code: str) -> HttpResponse:
    """Make a key and show it: this answer is the only place where it ever stands.

    `others`: what becomes of those it has: `stay`, `later` (24 hours) or `end`. The page says how many keys it showed
    (`seen`), so that the same answer asked for again makes no second key.
    """
    with transaction.atomic():
        device = get_object_or_404(devices_of(request).select_for_update(of=("self",)), code=code)
        if request.POST.get("seen") != str(device.keys.count()):
            messages.warning(request, _("A key was made since this page was opened. Look before you make another."))
            return redirect("devices:device", device.code)
        by, others = request.user.get_username(), request.POST.get("others")
        if others == "end":
            _row, secret = keys.rotate(device, by, AT_ONCE)
        elif others == "later":
            _row, secret = keys.rotate(device, by)
        else:
            _row, secret = keys.make_key(device, by)
    return _page(request, device, secret)


@require_POST
@never_cache
@keeper_required
def revoke_key(request: HttpRequest, code: str, prefix: str) -> HttpResponse:
    """From now on the key opens nothing."""
    key = get_object_or_404(DeviceKey, device__in=devices_of(request).order_by(), device__code=code, prefix=prefix)
    keys.revoke(key, request.user.get_username())
    messages.success(request, _("The key is revoked: it opens nothing any more."))
    return redirect("devices:device", code)

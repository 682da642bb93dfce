"""The pages of the webhooks: who is told, what was sent, what was given up."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealing.accounts import events
from dealing.digits import BIG_INTEGER, read_digits
from dealing.models import Venue
from dealing.people import required
from dealing.permissions import May, house_of

from . import outbox, sealing, signing, telling
from .forms import MessagesForm, WebhookForm
from .models import Kind, Webhook, WebhookDelivery

logger = logging.getLogger(__name__)

PAGE: Final = 25
#: For so long after a new secret was made, messages are signed with the one before too.
OVERLAP: Final = dt.timedelta(hours=24)
#: The session keeps a new secret (sealed) until the page that shows it, once.
_SHOWN: Final = "webhook-secret"

Status = WebhookDelivery.Status
keeper_required = required(May.KEEP_WEBHOOKS)


def venues_of(request: HttpRequest) -> QuerySet[Venue]:
    """The houses whose webhooks the person keeps."""
    house = house_of(request.user)
    venues = Venue.objects.order_by("code")
    return venues if house is None else venues.filter(pk=house)


def webhooks_of(request: HttpRequest) -> QuerySet[Webhook]:
    """Their webhooks."""
    return Webhook.objects.filter(venue__in=venues_of(request).order_by()).select_related("venue")


def deliveries_of(request: HttpRequest) -> QuerySet[WebhookDelivery]:
    """Their messages."""
    return WebhookDelivery.objects.filter(webhook__venue__in=venues_of(request).order_by()).select_related(
        "webhook__venue"
    )


def _by(request: HttpRequest) -> str:
    return request.user.get_username()


def _keep(request: HttpRequest, hook: Webhook, kind: events.Kind, what: str = "") -> None:
    """Write into the log of security events what was done to one: no secret, and of its address the host alone."""
    detail = f"{hook.venue.code}: {hook.name[:40]}, {urlsplit(hook.url).hostname}"
    events.record(kind, f"webhook:{hook.pk}", request, by=_by(request), detail=f"{what}; {detail}" if what else detail)


def _kinds(hook: Webhook) -> list[str]:
    return [str(kind.label) for kind in Kind if kind in hook.kinds]


@require_safe
@never_cache
@keeper_required
def webhooks(request: HttpRequest) -> HttpResponse:
    """All of them, and how much was given up."""
    counted = webhooks_of(request).annotate(
        waiting=Count("deliveries", filter=Q(deliveries__status=Status.WAITING)),
        dead=Count("deliveries", filter=Q(deliveries__status=Status.DEAD)),
        last_sent=Max("deliveries__sent_at"),
    )
    rows = [(hook, _kinds(hook)) for hook in counted]
    return render(
        request,
        "webhooks/list.html",
        {"rows": rows, "dead": sum(hook.dead for hook, _words in rows), "several": len(venues_of(request)) > 1},
    )


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@keeper_required
def new(request: HttpRequest) -> HttpResponse:
    """Make one; its secret is shown on the next page, once."""
    venues = venues_of(request)
    form = WebhookForm(request.POST or None, venues=venues, initial={"kinds": Kind.values, "is_active": True})
    if request.method == "POST" and form.is_valid():
        hook: Webhook = form.save(commit=False)
        hook.venue = form.cleaned_data.get("house") or venues.get()
        hook.secret = sealing.seal(signing.make_secret())
        hook.created_at = hook.changed_at = timezone.now()
        hook.created_by = hook.changed_by = _by(request)
        with transaction.atomic():
            hook.save()
            _keep(request, hook, events.Kind.WEBHOOK_MADE)
        _show_next(request, hook)
        messages.success(request, _("The webhook is made. Keep its secret now: it is shown this once."))
        return redirect("webhooks:webhook", hook.pk)
    return render(request, "webhooks/edit.html", {"form": form}, status=422 if form.errors else 200)


def _show_next(request: HttpRequest, hook: Webhook) -> None:
    request.session[_SHOWN] = [hook.pk, hook.secret]


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@keeper_required
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change one, or switch it off and on."""
    hook = get_object_or_404(webhooks_of(request), pk=pk)
    was_on = hook.is_active
    form = WebhookForm(request.POST or None, instance=hook, venues=venues_of(request))
    if request.method == "POST" and form.is_valid():
        hook.changed_at, hook.changed_by = timezone.now(), _by(request)
        with transaction.atomic():
            hook.off_because = "" if hook.is_active else hook.off_because
            hook.save(update_fields=["name", "url", "kinds", "is_active", "off_because", "changed_at", "changed_by"])
            if was_on and not hook.is_active:
                outbox.switch_off(hook)
            _keep(request, hook, events.Kind.WEBHOOK_CHANGED, "on" if hook.is_active else "off")
        messages.success(request, _("The change is kept."))
        return redirect("webhooks:webhook", hook.pk)
    status = 422 if form.errors else 200
    return render(request, "webhooks/edit.html", {"form": form, "hook": hook}, status=status)


@require_safe
@never_cache
@keeper_required
@sensitive_variables("secret")
def webhook(request: HttpRequest, pk: int) -> HttpResponse:
    """One of them, with its messages; a new secret, the first time."""
    hook = get_object_or_404(webhooks_of(request), pk=pk)
    form = MessagesForm(request.GET)
    status = form.cleaned_data["status"] if form.is_valid() else ""
    found = hook.deliveries.defer("body").order_by("-pk")
    page = Paginator(found.filter(status=status) if status else found, PAGE).get_page(request.GET.get("page"))
    secret = ""
    shown = request.session.get(_SHOWN)
    if request.method == "GET" and shown is not None and shown[0] == hook.pk:
        del request.session[_SHOWN]
        secret = sealing.open_sealed(shown[1])
    counts: dict[str, int] = dict(hook.deliveries.order_by().values_list("status").annotate(n=Count("pk")))
    return render(
        request,
        "webhooks/webhook.html",
        {
            "hook": hook,
            "kinds": _kinds(hook),
            "page": page,
            "status": status,
            "statuses": [(one.value, one.label, counts.get(one.value, 0)) for one in Status],
            "kept": f"status={status}" if status else "",
            "secret": secret,
            "overlaps": hook.overlaps(timezone.now()),
            "zone": hook.venue.zone,
            "dead": counts.get(Status.DEAD, 0),
            "several": len(venues_of(request)) > 1,
            "alone": settings.CELERY_TASK_ALWAYS_EAGER and bool(counts.get(Status.WAITING)),
        },
    )


@require_POST
@keeper_required
def test(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a message that tells nothing, now, and say how it went."""
    hook = get_object_or_404(webhooks_of(request), pk=pk)
    sent = telling.test_message(hook)
    logger.info("webhook %s of %s tested by %s", hook.pk, hook.venue.code, _by(request))
    if sent.status == Status.SENT:
        messages.success(request, _("The test was taken over (%(code)d).") % {"code": sent.code})
    else:
        messages.error(request, _("The test failed: %(why)s.") % {"why": why(sent)})
    return redirect("webhooks:webhook", hook.pk)


def why(delivery: WebhookDelivery) -> str:
    """What came of the last attempt, in words, with the status of the answer where there was one."""
    words = delivery.get_outcome_display()
    return f"{words} ({delivery.code})" if delivery.code else words


@require_POST
@keeper_required
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a new secret, shown on the next page; the one before signs along for a day, unless it is to stop at once."""
    with transaction.atomic():
        hook = get_object_or_404(webhooks_of(request).select_for_update(of=("self",)), pk=pk)
        at_once = "at-once" in request.POST
        hook.secret_before = "" if at_once else hook.secret
        hook.before_until = None if at_once else timezone.now() + OVERLAP
        hook.secret = sealing.seal(signing.make_secret())
        hook.changed_at, hook.changed_by = timezone.now(), _by(request)
        hook.save(update_fields=["secret", "secret_before", "before_until", "changed_at", "changed_by"])
        _keep(request, hook, events.Kind.WEBHOOK_REKEYED, "the one before ends at once" if at_once else "")
    _show_next(request, hook)
    messages.success(request, _("There is a new secret. Keep it now: it is shown this once."))
    return redirect("webhooks:webhook", hook.pk)


@require_POST
@keeper_required
def end_overlap(request: HttpRequest, pk: int) -> HttpResponse:
    """Sign with the new secret alone from now on."""
    hook = get_object_or_404(webhooks_of(request), pk=pk)
    with transaction.atomic():
        webhooks_of(request).filter(pk=hook.pk).update(
            secret_before="", before_until=None, changed_at=timezone.now(), changed_by=_by(request)
        )
        _keep(request, hook, events.Kind.WEBHOOK_CHANGED, "the secret before ends")
    messages.success(request, _("Messages are signed with the new secret alone."))
    return redirect("webhooks:webhook", hook.pk)


@require_POST
@keeper_required
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Take it away, with the list of its messages."""
    hook = get_object_or_404(webhooks_of(request), pk=pk)
    name = hook.name
    with transaction.atomic():
        _keep(request, hook, events.Kind.WEBHOOK_DELETED)
        hook.delete()
    messages.success(request, _("“%(name)s” is deleted.") % {"name": name})
    return redirect("webhooks:list")


@require_safe
@never_cache
@keeper_required
def message(request: HttpRequest, pk: int) -> HttpResponse:
    """One message: what was sent, and what the receiver said."""
    delivery = get_object_or_404(deliveries_of(request), pk=pk)
    return render(
        request,
        "webhooks/message.html",
        {"one": delivery, "hook": delivery.webhook, "why": why(delivery), "zone": delivery.webhook.venue.zone},
    )


# What was given up.


def _dead(request: HttpRequest, given: QueryDict) -> tuple[QuerySet[WebhookDelivery], Webhook | None]:
    """What was given up, of all or of the one webhook that is named. 404 for one that is not theirs."""
    asked = given.get("webhook", "")
    found = outbox.dead_of(venues_of(request).order_by())
    if not asked:
        return found, None
    hook = get_object_or_404(webhooks_of(request), pk=read_digits(asked, BIG_INTEGER) or 0)
    return found.filter(webhook=hook), hook


@require_safe
@never_cache
@keeper_required
def given_up(request: HttpRequest) -> HttpResponse:
    """The messages that could not be delivered."""
    found, hook = _dead(request, request.GET)
    rows = found.select_related("webhook__venue").defer("body").order_by("-pk")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "webhooks/given_up.html",
        {
            "page": page,
            "hook": hook,
            "kept": f"webhook={hook.pk}" if hook else "",
            "off": found.filter(webhook__is_active=False).exists(),
        },
    )


def _back(request: HttpRequest, hook: Webhook | None) -> HttpResponse:
    return redirect(reverse("webhooks:given_up") + (f"?webhook={hook.pk}" if hook else ""))


def _said_again(request: HttpRequest, count: int) -> None:
    if count:
        words = ngettext("%(n)d message is sent again.", "%(n)d messages are sent again.", count)
        messages.success(request, words % {"n": count})
    else:
        messages.error(request, _("Nothing was put in line: switch the webhook on first."))


def _said_discarded(request: HttpRequest, count: int) -> None:
    words = ngettext("%(n)d message is discarded.", "%(n)d messages are discarded.", count)
    messages.success(request, words % {"n": count})


@require_POST
@keeper_required
def again(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Put one, or all of them, in line again."""
    found, hook = _dead(request, request.POST)
    if pk is not None:
        get_object_or_404(deliveries_of(request), pk=pk)
        found = found.filter(pk=pk)
    _said_again(request, outbox.send_again(found))
    return _back(request, hook)


@require_POST
@keeper_required
def discard(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Let one, or all of them, be."""
    found, hook = _dead(request, request.POST)
    if pk is not None:
        get_object_or_404(deliveries_of(request), pk=pk)
        found = found.filter(pk=pk)
    _said_discarded(request, outbox.discard(found))
    return _back(request, hook)

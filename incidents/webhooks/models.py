"""Who is told what, and every message on its way.

A `WebhookDelivery` holds the very bytes that are sent. It is written in the transaction of the thing it tells, so that
none is forgotten and none tells of something that did not happen.
"""

from __future__ import annotations

import datetime as dt

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from dealing.models import Venue

from . import sealing


class Kind(models.TextChoices):
    """What is told. `docs/webhooks.md` says what stands in each."""

    OPENED = "incident.opened", _("An incident opens")
    REOPENED = "incident.reopened", _("An incident opens again")
    CLOSED = "incident.closed", _("An incident needs no decision any more")
    DECIDED = "decision.made", _("A decision is made")
    REPORT = "report.done", _("A report is done")


#: What the test button sends; it is nobody's to choose.
TEST = "webhook.test"


class Webhook(models.Model):
    """A receiver: its address, what it is told, and the secret its messages are signed with (sealed).

    After a rotation messages are signed with `secret_before` too, until `before_until`.
    """

    class Off(models.TextChoices):
        GONE = "gone", _("The receiver answered that it is gone for good (410).")

    venue = models.ForeignKey(Venue, verbose_name=_("house"), on_delete=models.PROTECT, related_name="webhooks")
    name = models.CharField(_("name"), max_length=80)
    url = models.CharField(_("address"), max_length=500)
    kinds = models.JSONField(_("what is told"), default=list)
    is_active = models.BooleanField(_("switched on"), default=True)
    off_because = models.CharField(_("why it is off"), max_length=8, choices=Off.choices, blank=True)
    secret = models.TextField(_("secret, sealed"))
    secret_before = models.TextField(_("secret before, sealed"), blank=True)
    before_until = models.DateTimeField(_("secret before is used until"), null=True, blank=True)
    created_at = models.DateTimeField(_("made at"))
    created_by = models.TextField(_("made by"))
    changed_at = models.DateTimeField(_("changed at"))
    changed_by = models.TextField(_("changed by"))

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ("venue_id", "name", "pk")

    def __str__(self) -> str:
        return self.name

    def overlaps(self, now: dt.datetime) -> bool:
        """Whether the secret before the last rotation is still signed with."""
        return bool(self.secret_before) and self.before_until is not None and self.before_until > now

    def secrets(self, now: dt.datetime) -> list[str]:
        """What to sign with now, the newest first. Raises `sealing.Unreadable`."""
        sealed = [self.secret, *([self.secret_before] if self.overlaps(now) else [])]
        return [sealing.open_sealed(one) for one in sealed]


class WebhookDelivery(models.Model):
    """A message to one receiver. `event` names what happened, is the same for every receiver and each attempt.

    Whoever sends it holds it until `lease_until`. `key` keeps a receiver from being told the same thing twice.
    """

    class Status(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("message", "Waiting")
        SENT = "sent", pgettext_lazy("message", "Sent")
        DEAD = "dead", pgettext_lazy("message", "Given up")
        DISCARDED = "discarded", pgettext_lazy("message", "Discarded")

    class Outcome(models.TextChoices):
        TAKEN = "taken", _("taken over")
        ANSWERED = "answered", _("the receiver did not take it")
        REDIRECT = "redirect", _("the receiver pointed to another address; redirects are not followed")
        GONE = "gone", _("the receiver is gone for good")
        PRIVATE = "private", _("the address is inside a network that is not allowed here (WEBHOOK_PRIVATE_NETWORKS)")
        UNKNOWN = "unknown", _("the name of the receiver leads nowhere")
        SLOW = "slow", _("the receiver took too long")
        TLS = "tls", _("no safe connection: the certificate does not hold")
        BROKEN = "broken", _("no connection, or it broke off")
        SECRET = "secret", _("the secret cannot be read with the key of this site: make a new one")
        OFF = "off", _("the webhook was switched off")
        DIED = "died", _("sending it was interrupted each time")
        EXPIRED = "expired", _("it could not be delivered for days")

    webhook = models.ForeignKey(
        Webhook, verbose_name=_("webhook"), on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    event = models.UUIDField(_("event"))
    kind = models.CharField(_("kind"), max_length=32)
    key = models.CharField(_("key"), max_length=100)
    body = models.BinaryField(_("body"))
    made_at = models.DateTimeField(_("made at"))
    queued_at = models.DateTimeField(_("waits since"))
    status = models.CharField(_("status"), max_length=9, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    lease_until = models.DateTimeField(_("claimed until"), null=True, blank=True)
    retry_at = models.DateTimeField(_("tried again at"), null=True, blank=True)
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    tried_at = models.DateTimeField(_("last tried at"), null=True, blank=True)
    seconds = models.FloatField(_("seconds"), null=True, blank=True)
    outcome = models.CharField(_("what came of it"), max_length=9, choices=Outcome.choices, blank=True)
    code = models.PositiveSmallIntegerField(_("status of the answer"), null=True, blank=True)
    answer = models.TextField(_("answer"), blank=True)

    class Meta:
        verbose_name = _("webhook message")
        verbose_name_plural = _("webhook messages")
        ordering = ("-pk",)
        constraints = (models.UniqueConstraint(fields=("webhook", "key"), name="webhook_told_once"),)
        indexes = (
            models.Index(fields=("webhook", "status", "-id"), name="webhook_delivery_list"),
            models.Index(fields=("retry_at",), condition=Q(status="waiting"), name="webhook_delivery_due"),
            models.Index(
                fields=("queued_at",), condition=Q(status__in=("sent", "discarded")), name="webhook_delivery_old"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.event}"

    @property
    def text(self) -> str:
        """The body as text."""
        return bytes(self.body).decode()

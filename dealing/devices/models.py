"""A device, the tables it is for, and its keys. What stands here of a key opens nothing: its secret is not kept."""

from __future__ import annotations

from functools import cached_property

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from dealing.models import Table, Venue

DEVICE_CODE = RegexValidator(r"\A[A-Z0-9-]{1,32}\Z", _("Use 1 to 32 of the characters A–Z, 0–9 and “-”."))


class Device(models.Model):
    """Something that posts events to the API, for the tables named and no others."""

    venue = models.ForeignKey(Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="devices")
    code = models.CharField(_("code"), max_length=32, unique=True, validators=[DEVICE_CODE])
    name = models.CharField(_("name"), max_length=100, blank=True)
    tables = models.ManyToManyField(Table, verbose_name=_("tables"), related_name="devices", blank=True)
    supervises = models.BooleanField(
        _("supervises"),
        default=False,
        help_text=_("May also open and close shoes, amend entries and carry out decisions, as a supervisor may."),
    )
    is_active = models.BooleanField(_("in use"), default=True)
    created_at = models.DateTimeField(_("made at"))
    created_by = models.TextField(_("made by"))

    class Meta:
        verbose_name = _("device")
        verbose_name_plural = _("devices")
        ordering = ("code",)

    def __str__(self) -> str:
        return self.code

    @cached_property
    def table_ids(self) -> frozenset[int]:
        """The primary keys of its tables."""
        return frozenset(self.tables.values_list("pk", flat=True))


class DeviceKey(models.Model):
    """A key of a device. `prefix` finds it, `digest` is the SHA-256 of its secret (256 random bits) as 64 hex digits.

    It is good until `expires_at` (empty: for ever) unless it was revoked.
    """

    device = models.ForeignKey(Device, verbose_name=_("device"), on_delete=models.CASCADE, related_name="keys")
    prefix = models.CharField(_("begins with"), max_length=16, unique=True)
    digest = models.CharField(_("digest"), max_length=64)
    created_at = models.DateTimeField(_("made at"))
    created_by = models.TextField(_("made by"))
    expires_at = models.DateTimeField(_("good until"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    revoked_by = models.TextField(_("revoked by"), blank=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)

    class Meta:
        verbose_name = _("device key")
        verbose_name_plural = _("device keys")
        ordering = ("device_id", "-created_at", "-pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=True, revoked_by="") | (Q(revoked_at__isnull=False) & ~Q(revoked_by="")),
                name="device_key_revoked_whole",
            ),
        )

    def __str__(self) -> str:
        return self.prefix

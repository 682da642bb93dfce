"""Devices made and changed: what the pages and `manage.py device_key` share."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from dealing.models import Table

from .models import Device


@transaction.atomic
def save_device(device: Device, tables: Iterable[Table], by: str) -> Device:
    """Store a new or changed device with its tables. Raises ValidationError, naming the field, and stores nothing."""
    tables = list(tables)
    if others := sorted(table.code for table in tables if table.venue_id != device.venue_id):
        raise ValidationError({"tables": _("%(tables)s: of another house.") % {"tables": ", ".join(others)}})
    if device._state.adding:
        device.created_at, device.created_by = timezone.now(), by
    device.full_clean()
    device.save()
    device.tables.set(tables)
    return device

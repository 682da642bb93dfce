"""Keys of devices: made, shown once, known again, rotated and revoked.

A key reads ``bka_<prefix>_<secret>``. The secret has 256 random bits, so that its plain SHA-256 gives nothing away and
no slow hash is needed; it is shown when the key is made and kept nowhere.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from hashlib import sha256
from typing import Any, Final, cast

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from dealing import rows
from dealing.accounts import events
from dealing.permissions import DEVICE, SUPERVISING_DEVICE

from .models import Device, DeviceKey

SCHEME: Final = "bka"
_KEY: Final = re.compile(rf"{SCHEME}_([a-z0-9]{{12}})_([A-Za-z0-9_-]{{43}})")
#: `last_used_at` is written no more often than this.
USED_EVERY: Final = dt.timedelta(minutes=1)
#: How long the keys before go on working after a rotation, unless somebody says otherwise.
OVERLAP: Final = dt.timedelta(hours=24)


class DeviceUser:
    """A device as the user of a request: what `dealing.permissions` and DRF ask of one."""

    is_authenticated = True
    is_active = True
    is_anonymous = False
    is_staff = False
    is_superuser = False
    pk = None
    id = None
    staff_member = None

    def __init__(self, device: Device) -> None:
        self.device = device
        self._table_roles = frozenset({DEVICE, SUPERVISING_DEVICE} if device.supervises else {DEVICE})

    def get_username(self) -> str:
        """What stands as the actor in the log; no person can be called so, for the colon."""
        return f"device:{self.device.code}"

    def get_full_name(self) -> str:
        """For pages."""
        return self.device.name or self.device.code

    def __str__(self) -> str:
        return self.get_username()


def make_key(device: Device, by: str, expires_at: dt.datetime | None = None) -> tuple[DeviceKey, str]:
    """A new key: its row, and its text, which can be had now and never again."""
    prefix = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32)
    key = DeviceKey.objects.create(
        device=device,
        prefix=prefix,
        digest=sha256(secret.encode()).hexdigest(),
        created_at=timezone.now(),
        created_by=by,
        expires_at=expires_at,
    )
    events.record(events.Kind.KEY_MADE, f"device:{device.code}", by=by, detail=prefix)
    return key, f"{SCHEME}_{prefix}_{secret}"


def rotate(device: Device, by: str, overlap: dt.timedelta = OVERLAP) -> tuple[DeviceKey, str]:
    """A new key as `make_key`; the others stop working after `overlap` (or earlier, where they would have anyway)."""
    ends = timezone.now() + overlap
    old = device.keys.filter(revoked_at=None)
    old.filter(expires_at=None).update(expires_at=ends)
    old.filter(expires_at__gt=ends).update(expires_at=ends)
    return make_key(device, by)


def revoke(key: DeviceKey, by: str) -> None:
    """From now on the key opens nothing. Again: nothing changes."""
    if DeviceKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now(), revoked_by=by):
        events.record(events.Kind.KEY_REVOKED, f"device:{key.device.code}", by=by, detail=key.prefix)
    key.refresh_from_db()


def known(text: Any) -> DeviceKey | None:
    """The key with its device and that one's tables; None for one that is none, or is no longer good."""
    found = _KEY.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    key = _read(found[1])
    if key is None or not secrets.compare_digest(key.digest, sha256(found[2].encode()).hexdigest()):
        return None
    now = timezone.now()
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        return None
    if not key.device.is_active:
        return None
    if key.last_used_at is None or now - key.last_used_at >= USED_EVERY:
        DeviceKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key


_TABLES: Final = (
    "(SELECT {gather} FROM devices_device_tables WHERE devices_device_tables.device_id = devices_device.id)"
)
_GATHER: Final = {
    "postgresql": "string_agg(devices_device_tables.table_id::text, ',')",
    "sqlite": "group_concat(devices_device_tables.table_id)",
}
_WITH_DEVICE: Final = (
    "JOIN devices_device ON devices_device.id = devices_devicekey.device_id WHERE devices_devicekey.prefix = %s"
)


def _read(prefix: str) -> DeviceKey | None:
    """The key with its device and that one's tables, by one statement: every request of a device begins with it."""
    wire = cast(Any, connection)
    unsure = wire.connection is not None and not wire.in_atomic_block and not wire.health_check_done
    wire.health_check_done = True  # this is one: where the database has gone meanwhile, it is asked once more
    try:
        found = _found(prefix)
    except (OperationalError, InterfaceError):
        if not unsure:
            raise
        connection.close()
        found = _found(prefix)
    if found is None:
        return None
    key, device, tables = found
    if device is None:
        return None
    device.table_ids = frozenset(map(int, tables.split(","))) if tables else frozenset()
    key.device = device
    return key


def _found(prefix: str) -> tuple[DeviceKey, Device | None, Any] | None:
    tables = _TABLES.format(gather=_GATHER[connection.vendor])
    return rows.select_pair_and(DeviceKey, Device, tables, _WITH_DEVICE, [prefix])

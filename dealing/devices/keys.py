"""Keys of devices: made, shown once, known again, rotated and revoked.

A key reads ``bka_<prefix>_<secret>``. The secret has 256 random bits, so that its plain SHA-256 gives nothing away and
no slow hash is needed; it is shown when the key is made and kept nowhere.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
import threading
from collections import OrderedDict
from hashlib import sha256
from typing import Any, Final, NamedTuple

from django.db import connection
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

    def __init__(self, device: Device, still: rows.Statement | None = None) -> None:
        """`still`: the device is as this process has kept it, and what is true, of a table's row, as long as it is so
        and the table is one of its own. None: it was read with the request.
        """
        self.device = device
        self.still = still
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
    _KEPT.forget(found[1])
    read = _read(found[1])
    if read is None:
        return None
    key, now = read.key, timezone.now()
    if not _opens(key, found[2], now):
        return None
    if _was_long_ago(key, now):
        DeviceKey.objects.filter(pk=key.pk).update(last_used_at=now)  # which makes it another version
    elif read.versions is not None:
        _KEPT.keep(found[1], read)
    return key


def kept(text: Any) -> tuple[DeviceKey, rows.Statement] | None:
    """As `known`, the key as this process has kept it, without a look into the database; None where it has not.

    With it comes what is true, of the row of a table, as long as the key opens that table: nothing may be done, and
    nothing answered but that the key is no good, unless this is true (see `confirmed`).
    """
    found = _KEY.fullmatch(text) if isinstance(text, str) else None
    read = None if found is None else _KEPT.get(found[1])
    if found is None or read is None or read.versions is None:
        return None
    key, now = read.key, timezone.now()
    if not _opens(key, found[2], now) or _was_long_ago(key, now):
        return None
    return key, (_STILL, [key.pk, key.device_id, *read.versions])


def _opens(key: DeviceKey, secret: str, now: dt.datetime) -> bool:
    if not secrets.compare_digest(key.digest, sha256(secret.encode()).hexdigest()):
        return False
    over = key.expires_at is not None and key.expires_at <= now
    return key.revoked_at is None and not over and key.device.is_active


def _was_long_ago(key: DeviceKey, now: dt.datetime) -> bool:
    return key.last_used_at is None or now - key.last_used_at >= USED_EVERY


_TABLES: Final = (
    "(SELECT {gather} FROM devices_device_tables WHERE devices_device_tables.device_id = devices_device.id)"
)
_GATHER: Final = {
    "postgresql": "string_agg(devices_device_tables.table_id::text, ',')",
    "sqlite": "group_concat(devices_device_tables.table_id)",
}
#: With the tables, where the database has such, the versions of key and device.
_VERSIONS: Final = {
    "postgresql": f"ARRAY[{{}}, {rows.version(DeviceKey)}, {rows.version(Device)}]",
    "sqlite": "{}",
}
_WITH_DEVICE: Final = (
    "JOIN devices_device ON devices_device.id = devices_devicekey.device_id WHERE devices_devicekey.prefix = %s"
)
#: Of a table's row: it is one of the device's, and key and device are those versions.
_STILL: Final = (
    "EXISTS (SELECT 1 FROM devices_devicekey "  # noqa: S608  # names of our own
    "JOIN devices_device ON devices_device.id = devices_devicekey.device_id "
    "JOIN devices_device_tables ON devices_device_tables.device_id = devices_device.id "
    "WHERE devices_devicekey.id = %s AND devices_device.id = %s AND devices_device_tables.table_id = dealing_table.id "
    f"AND devices_device.venue_id = dealing_table.venue_id AND {rows.version(DeviceKey)} = %s "
    f"AND {rows.version(Device)} = %s)"
)


class _Read(NamedTuple):
    """A key with its device and that one's tables, and the stored versions of both rows, where there are such."""

    key: DeviceKey
    versions: tuple[str, str] | None


def _read(prefix: str) -> _Read | None:
    """A key by one statement: every request of a device that this process has not kept begins with it."""
    gathered = _TABLES.format(gather=_GATHER[connection.vendor])
    asked = _VERSIONS[connection.vendor].format(gathered)
    found = rows.asked_first(lambda: rows.select_pair_and(DeviceKey, Device, asked, _WITH_DEVICE, [prefix]))
    if found is None:
        return None
    key, device, tables = found
    if device is None:
        return None
    versions = None
    if connection.vendor == "postgresql":
        tables, *both = tables
        versions = (both[0], both[1])
    device.table_ids = frozenset(map(int, tables.split(","))) if tables else frozenset()
    key.device = device
    return _Read(key, versions)


class _Keeping:
    """Keys as they were read last, by database and prefix, those used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Read] = OrderedDict()

    def get(self, prefix: str) -> _Read | None:
        with self._lock:
            return self._kept.get(_place(prefix))

    def forget(self, prefix: str) -> None:
        with self._lock:
            self._kept.pop(_place(prefix), None)

    def keep(self, prefix: str, read: _Read) -> None:
        with self._lock:
            self._kept[_place(prefix)] = read
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


def _place(prefix: str) -> tuple[str, str]:
    return str(connection.settings_dict["NAME"]), prefix


_KEPT: Final = _Keeping(1024)

"""The keys that seal rows: outside the database, so that who can write there cannot seal.

The file `seal.keys` in KEYS_DIR, or the setting SEAL_KEYS, holds one key a line, 64 hex digits, the newest last: that
one seals, the ones before still prove what they sealed. A key is named by its id, the first eight hex digits of SHA-256
over it, which may be shown; the key itself never is.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from django.conf import settings

logger = logging.getLogger(__name__)

_KEY: Final = re.compile(r"[0-9a-f]{64}")
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


class KeyFileError(Exception):
    """The keys cannot be read or written, or are no keys; says which line, and never what stands there."""


class Key:
    """One key. `mac(text)`: HMAC-SHA256 of the text under it, its first 128 bits as 32 hex digits."""

    def __init__(self, secret: bytes) -> None:
        self.id = sha256(b"baccarat-audit seal key\n" + secret).hexdigest()[:8]
        # HMAC by RFC 2104 with both of its beginnings hashed once: twice as fast as making it anew for each row.
        block = secret.ljust(64, b"\0")
        self._inner, self._outer = sha256(block.translate(_INNER)), sha256(block.translate(_OUTER))

    def mac(self, text: bytes) -> str:
        """See the class."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return outer.hexdigest()[:32]

    def __repr__(self) -> str:
        return f"<Key {self.id}>"


class Ring:
    """All keys there are, the newest last. Never empty."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self.newest = keys[-1]
        self._keys = {key.id: key for key in keys}

    def get(self, key: str) -> Key | None:
        """The key of this id, where it is here."""
        return self._keys.get(key)

    @property
    def ids(self) -> list[str]:
        """The ids of the keys, the newest last."""
        return list(self._keys)


def read(text: str, where: str) -> Ring | None:
    """The keys in a text; None where it holds none. Raises `KeyFileError`."""
    keys = []
    for number, line in enumerate(text.replace(",", "\n").splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            if _KEY.fullmatch(line) is None:
                raise KeyFileError(f"{where}: line {number} is no key of 64 hex digits")
            keys.append(Key(bytes.fromhex(line)))
    return Ring(keys) if keys else None


@lru_cache(maxsize=8)
def _read_file(path: str, _changed: int, _size: int) -> Ring | None:
    return read(Path(path).read_text(), path)


def key_file() -> Path:
    """Where the keys lie, if the setting SEAL_KEYS does not hold them."""
    return Path(settings.KEYS_DIR) / "seal.keys"


def ring() -> Ring | None:
    """The keys; None where there are none yet. Raises `KeyFileError` where they cannot be read."""
    if settings.SEAL_KEYS:
        return read(settings.SEAL_KEYS, "SEAL_KEYS")
    path = str(key_file())
    try:
        stat = os.stat(path)
        return _read_file(path, stat.st_mtime_ns, stat.st_size)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{path}: {error}") from error


def ring_or_none() -> Ring | None:
    """As `ring`; keys that cannot be read are told of in the log of the server."""
    try:
        return ring()
    except KeyFileError as error:
        logger.error("seal keys: %s", error)
        return None


def sealing_key() -> Key | None:
    """The key to seal with, made where there has never been one; None where there is none to be had.

    Recording at the tables goes on without: `verify_log` then names the rows that have no seal.
    """
    try:
        keys = ring()
        if keys is None:
            if _sealed_before():
                raise KeyFileError(f"rows are sealed with a key that is not at {key_file()}")
            make_key()
            keys = ring()
    except KeyFileError as error:
        logger.error("events are recorded without a seal: %s", error)
        return None
    return None if keys is None else keys.newest


def _sealed_before() -> bool:
    """Whether a key that was made now would be another one than rows are sealed with: then somebody must bring it."""
    from dealing.models import Table

    return Table.objects.filter(last_seal__isnull=False).exists()


def make_key(*, another: bool = False) -> Key:
    """Write a new key to the end of the key file; only where there is no file yet, unless `another`.

    Raises `KeyFileError`: the file cannot be written, or the keys come from the environment.
    """
    if settings.SEAL_KEYS:
        raise KeyFileError("the keys are in SEAL_KEYS: put a new one at its end there")
    path, secret = key_file(), secrets.token_bytes(32)
    try:
        if another:
            before = path.read_text() if path.exists() else ""
            with written_aside(
                path, before + ("" if before.endswith("\n") or not before else "\n") + secret.hex()
            ) as new:
                os.replace(new, path)
        else:
            # Of two first starts one wins, and none reads half a key.
            with written_aside(path, secret.hex()) as new:
                try:
                    os.link(new, path)
                except FileExistsError:
                    pass
    except OSError as error:
        raise KeyFileError(f"{path}: {error}") from error
    return Key(secret)


@contextmanager
def written_aside(path: Path, text: str) -> Iterator[str]:
    """A file beside `path`, readable by its owner alone and on the disk; gone afterwards, where it was not renamed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with open(handle, "w") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        yield name
    finally:
        Path(name).unlink(missing_ok=True)

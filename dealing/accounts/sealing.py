"""Secrets of second factors, kept so that whoever reads the database (or a backup of it) cannot use them.

The secret of an authenticator app is encrypted (AES-GCM) with a key made from SECRET_KEY, and bound to its person, so
that it cannot be moved to another account. Of a recovery code only a keyed digest is kept. Where SECRET_KEY changes,
the old one goes into SECRET_KEY_FALLBACKS, or the apps have to be set up again; recovery codes are made anew.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_NONCE: Final = 12


class Unreadable(Exception):
    """What was kept cannot be read with any of the keys of now."""


def _keys(purpose: str) -> Iterator[bytes]:
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        info = f"baccarat-audit {purpose}".encode()
        yield HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret.encode())


def seal(secret: bytes, owner: str) -> str:
    """The secret encrypted for its owner, as text."""
    nonce = os.urandom(_NONCE)
    sealed = AESGCM(next(_keys("second factor"))).encrypt(nonce, secret, owner.encode())
    return base64.b64encode(nonce + sealed).decode()


def unseal(text: str, owner: str) -> bytes:
    """What `seal` was given. Raises Unreadable."""
    try:
        kept = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable from None
    for key in _keys("second factor"):
        try:
            return AESGCM(key).decrypt(kept[:_NONCE], kept[_NONCE:], owner.encode())
        except (InvalidTag, ValueError):
            continue
    raise Unreadable


def digest(code: str) -> str:
    """What is kept of a recovery code: 80 bits, in 16 characters."""
    mac = hmac.digest(next(_keys("recovery code")), code.encode(), sha256)
    return base64.b32encode(mac[:10]).decode()

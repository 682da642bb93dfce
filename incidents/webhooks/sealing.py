"""Secrets that have to be read again (signing needs them) are kept sealed: a copy of the database gives none away."""

from __future__ import annotations

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(Exception):
    """It was sealed with a key that this site does not have (any more)."""


@lru_cache(maxsize=8)
def _with(keys: tuple[str, ...]) -> MultiFernet:
    def derived(key: str) -> Fernet:
        bits = HKDF(SHA256(), 32, salt=None, info=b"baccarat-audit: secrets of webhooks").derive(key.encode())
        return Fernet(base64.urlsafe_b64encode(bits))

    return MultiFernet([derived(key) for key in keys])


def _keys() -> tuple[str, ...]:
    """The first seals; all of them open."""
    return (*settings.WEBHOOK_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


def seal(text: str) -> str:
    """The text as it may be kept."""
    return _with(_keys()).encrypt(text.encode()).decode()


def open_sealed(sealed: str) -> str:
    """The text that was sealed. Raises `Unreadable`."""
    try:
        return _with(_keys()).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise Unreadable from error

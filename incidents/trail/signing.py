"""The Ed25519 key that signs heads: the private part outside the database, the public part for everybody.

`signing_key.pem` in KEYS_DIR (or the setting SIGNING_KEY) is the private key; `signing_keys.pub` beside it holds the
public keys of all that ever signed here, the newest last, as PEM. A key's fingerprint is SHA-256 over its public part
in DER, as hex: what `openssl pkey -pubin -in key.pem -outform DER | sha256sum` prints.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

from dealing.seal_keys import KeyFileError, written_aside

logger = logging.getLogger(__name__)

_PEM: Final = re.compile(r"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)


def private_file() -> Path:
    """Where the private key lies, if the setting SIGNING_KEY does not hold it."""
    return Path(settings.KEYS_DIR) / "signing_key.pem"


def public_file() -> Path:
    """Where the public keys lie."""
    return Path(settings.KEYS_DIR) / "signing_keys.pub"


def fingerprint(key: Ed25519PublicKey) -> str:
    """See above."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def pem(key: Ed25519PublicKey) -> str:
    """The public key as PEM."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def private_key() -> Ed25519PrivateKey | None:
    """The key to sign with; None where there is none. Raises `KeyFileError` where it cannot be read."""
    if settings.SIGNING_KEY:
        return _private(settings.SIGNING_KEY.replace("\\n", "\n"), "SIGNING_KEY")
    try:
        return _private(private_file().read_text(), str(private_file()))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{private_file()}: {error}") from error


def _private(text: str, where: str) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"{where}: this is no private key in PEM without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{where}: this is no Ed25519 key")
    return key


def signing_key() -> Ed25519PrivateKey:
    """The key to sign with, made where nothing was ever signed. Raises `KeyFileError` where there is none to be had."""
    key = private_key()
    if key is None:
        if _signed_before():
            raise KeyFileError(f"heads were signed with a key that is not at {private_file()}")
        make_key()
        key = private_key()
    if key is None:  # not reached: it was just made
        raise KeyFileError(f"{private_file()}: cannot be read")
    return key


def _signed_before() -> bool:
    from .models import SignedHead

    return SignedHead.objects.exists()


def make_key(*, another: bool = False) -> Ed25519PublicKey:
    """Make a private key, and add its public part to those that are known; its public part.

    Only where there is none yet, unless `another`. Raises `KeyFileError`.
    """
    if settings.SIGNING_KEY:
        raise KeyFileError("the key is in SIGNING_KEY: make another one there")
    remember()  # the one before, while it can still be read
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    path = private_file()
    try:
        with written_aside(path, text.rstrip("\n")) as new:
            if another:
                os.replace(new, path)
            else:
                try:
                    os.link(new, path)
                except FileExistsError:
                    pass
    except OSError as error:
        raise KeyFileError(f"{path}: {error}") from error
    remember()
    found = private_key()
    return (key if found is None else found).public_key()


def remember() -> None:
    """Add the public part of the key that signs now to the file of those that are known. Raises `KeyFileError`."""
    key = private_key()
    if key is None:
        return
    known, path = _read_public(), public_file()
    own = fingerprint(key.public_key())
    if own in known:
        return
    text = "".join(f"{pem(one)}" for one in [*known.values(), key.public_key()])
    try:
        with written_aside(path, text.rstrip("\n")) as new:
            os.replace(new, path)
    except OSError as error:
        raise KeyFileError(f"{path}: {error}") from error


def _read_public() -> dict[str, Ed25519PublicKey]:
    try:
        return public_keys(public_file().read_text(), str(public_file()))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{public_file()}: {error}") from error


def public_keys(text: str, where: str) -> dict[str, Ed25519PublicKey]:
    """The public keys in a text, by fingerprint. Raises `KeyFileError`."""
    found = {}
    for block in _PEM.findall(text):
        try:
            key = serialization.load_pem_public_key(block.encode())
        except (ValueError, UnsupportedAlgorithm) as error:
            raise KeyFileError(f"{where}: this is no public key in PEM") from error
        if not isinstance(key, Ed25519PublicKey):
            raise KeyFileError(f"{where}: this is no Ed25519 key")
        found[fingerprint(key)] = key
    if not found:
        raise KeyFileError(f"{where}: there is no public key in it")
    return found


def trusted() -> dict[str, Ed25519PublicKey]:
    """The public keys that signatures are checked with: those outside the database. Raises `KeyFileError`."""
    known = _read_public()
    key = private_key()
    if key is not None:
        known.setdefault(fingerprint(key.public_key()), key.public_key())
    return known


def verified(key: Ed25519PublicKey, signature: bytes, statement: bytes) -> bool:
    """Whether the key signed the statement."""
    try:
        key.verify(signature, statement)
    except InvalidSignature:
        return False
    return True

"""Signatures of messages as the Standard Webhooks specification (version 1, symmetric) has them."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Sequence
from typing import Final

PREFIX: Final = "whsec_"


def make_secret() -> str:
    """A new secret of 256 random bits."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def sign(secret: str, message: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the HMAC-SHA256 over `message.timestamp.body` in base64."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = b".".join((message.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def headers(with_secrets: Sequence[str], message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """What goes with the body; one signature for each secret."""
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(sign(secret, message, timestamp, body) for secret in with_secrets),
    }

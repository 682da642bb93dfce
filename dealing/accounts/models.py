"""Sessions, passkeys, authenticator apps and recovery codes of people, and the log of security events."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from dealing.accounts import sealing
from dealing.append_only import AppendOnly


class Session(AbstractBaseSession):
    """A session, with whose it is and from where. Good until `expire_date`, which moves on where it ends when idle."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("person"), null=True, on_delete=models.CASCADE, related_name="sessions"
    )
    began_at = models.DateTimeField(_("began at"))
    last_seen_at = models.DateTimeField(_("last seen at"))
    address = models.GenericIPAddressField(_("address"), null=True)
    browser = models.CharField(_("browser"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")

    @classmethod
    def get_session_store_class(cls) -> Any:
        """The store of these rows."""
        from dealing.people_backend import SessionStore

        return SessionStore


class Authenticator(TOTPDevice):
    """An authenticator app of a person. Its secret is kept encrypted, with a key that is not in the database."""

    class Meta:
        proxy = True
        verbose_name = _("authenticator app")
        verbose_name_plural = _("authenticator apps")

    @property
    def bin_key(self) -> bytes:
        """The secret. Raises `sealing.Unreadable` where SECRET_KEY is another one now."""
        return sealing.unseal(self.key, str(self.user_id))


class RecoveryCodes(StaticDevice):
    """The recovery codes of a person, each good once. What is kept of them opens nothing."""

    class Meta:
        proxy = True
        verbose_name = _("recovery codes")
        verbose_name_plural = _("recovery codes")

    def verify_token(self, token: str) -> bool:
        """Whether it is one of the codes that are left; it is none any more."""
        return bool(super().verify_token(sealing.digest(token)))


class Passkey(models.Model):
    """A passkey (WebAuthn credential) of a person: its public half."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("person"), on_delete=models.CASCADE, related_name="passkeys"
    )
    name = models.CharField(_("name"), max_length=64)
    credential_id = models.TextField(_("credential"), unique=True)
    public_key = models.BinaryField(_("public key"))
    sign_count = models.PositiveBigIntegerField(_("times used"), default=0)
    created_at = models.DateTimeField(_("made at"))
    last_used_at = models.DateTimeField(_("last used at"), null=True)

    class Meta:
        verbose_name = _("passkey")
        verbose_name_plural = _("passkeys")
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name


class SecurityEvent(AppendOnly):
    """One thing that happened to an account. Rows are neither changed nor deleted; names are kept as they were."""

    class Kind(models.TextChoices):
        """What happened."""

        LOGGED_IN = "logged in", _("logged in")
        LOGGED_OUT = "logged out", _("logged out")
        WRONG_PASSWORD = "wrong password", _("wrong name or password")
        LOCKED = "locked", _("locked out")
        UNLOCKED = "unlocked", _("unlocked")
        FACTOR_GIVEN = "factor given", _("second factor given")
        WRONG_FACTOR = "wrong factor", _("wrong second factor")
        CODE_USED = "code used", _("recovery code used")
        FACTOR_ADDED = "factor added", _("second factor added")
        FACTOR_REMOVED = "factor removed", _("second factor removed")
        CODES_MADE = "codes made", _("recovery codes made")
        FACTORS_RESET = "factors reset", _("second factors taken away")
        SESSIONS_ENDED = "sessions ended", _("sessions ended")
        PASSWORD_CHANGED = "password changed", _("password changed")
        ROLES_CHANGED = "roles changed", _("roles changed")
        CLOSED = "closed", _("account closed")
        KEY_MADE = "key made", _("device key made")
        KEY_REVOKED = "key revoked", _("device key revoked")
        WEBHOOK_MADE = "webhook made", _("webhook made")
        WEBHOOK_CHANGED = "webhook changed", _("webhook changed")
        WEBHOOK_REKEYED = "webhook rekeyed", _("webhook given a new secret")
        WEBHOOK_DELETED = "webhook deleted", _("webhook deleted")

    at = models.DateTimeField(_("at"), db_index=True)
    kind = models.CharField(_("what"), max_length=24, choices=Kind)
    #: Whose account it is (a device's code for its keys, a webhook's number); empty for a name that nobody has.
    person = models.CharField(_("person"), max_length=150, blank=True, db_index=True)
    #: Who did it, where it was somebody else.
    by = models.CharField(_("by"), max_length=150, blank=True)
    address = models.GenericIPAddressField(_("address"), null=True)
    browser = models.CharField(_("browser"), max_length=200, blank=True)
    detail = models.CharField(_("detail"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("security event")
        verbose_name_plural = _("security events")
        ordering = ("-pk",)
        indexes = (models.Index(fields=("person", "address", "kind"), name="security_known_address"),)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.kind} {self.person}"

"""What was done with incidents, reports and dealers' shifts, as rows that only grow; and the heads of all logs, signed.

A table has one `Trail`, of its incidents and shifts; a house has one, of its reports and signed heads. A `TrailEntry`
holds what a row was when it was made or changed, chained and sealed as the rows of a table's log are (`dealing.chain`,
`dealing.seals`). A `SignedHead` says how far every log and trail of a house had come, signed with a key outside the
database. A `TrailWalk` is what the last look at one of these found.
"""

from __future__ import annotations

import hashlib
from typing import Final

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from dealing.append_only import AppendOnly
from dealing.models import Table, Venue
from incidents.models import AuditReport

#: Fixed for ever: the first entry of every trail hangs on it.
GENESIS: Final = "baccarat-audit trail 1"


class Trail(models.Model):
    """A trail and its head. The trail of a table is written under the lock of the table."""

    venue = models.ForeignKey(Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="trails")
    table = models.OneToOneField(
        Table, verbose_name=_("table"), on_delete=models.PROTECT, null=True, blank=True, related_name="trail"
    )
    last_seq = models.PositiveBigIntegerField(_("entries"), default=0)
    last_hash = models.CharField(_("hash of the last entry"), max_length=64, blank=True)
    last_seal = models.TextField(_("seal of the last entry"), blank=True)
    last_recorded_at = models.DateTimeField(_("last recorded at"), null=True, blank=True)

    class Meta:
        verbose_name = _("trail")
        verbose_name_plural = _("trails")
        ordering = ("venue_id", "table_id")
        constraints = (
            models.UniqueConstraint(fields=("venue",), condition=Q(table__isnull=True), name="trail_once_a_house"),
        )

    def __str__(self) -> str:
        return self.scope

    @property
    def scope(self) -> str:
        """What its seals are made for, and what it is called."""
        return scope_of(self.venue.code, None if self.table is None else self.table.code)


def scope_of(venue: str, table: str | None) -> str:
    """The name of a trail: of a table, or of a house's reports."""
    return f"trail of house {venue}" if table is None else f"trail of table {table}"


def genesis_hash(scope: str) -> str:
    """The "previous hash" of a trail's first entry: SHA-256 of GENESIS, a line feed and the trail's name, as hex."""
    return hashlib.sha256(f"{GENESIS}\n{scope}".encode()).hexdigest()


class TrailEntry(AppendOnly):
    """One entry. Never changed, never deleted; the database itself refuses to.

    `payload` is canonical JSON: what the row `reference` of the kind was then (`incidents.trail.contents`).
    """

    sole_writer = "incidents.trail.writing"

    class Kind(models.TextChoices):
        INCIDENT = "incident", _("incident")
        DECISION = "decision", _("decision")
        REVIEW = "review", _("review note")
        ATTACHMENT = "attachment", _("attachment")
        REPORT = "report", _("report")
        SHIFT = "shift", _("dealer shift")
        SIGNED = "signed", _("signed heads")

    trail = models.ForeignKey(
        Trail, verbose_name=_("trail"), on_delete=models.PROTECT, related_name="entries", db_index=False
    )
    seq = models.PositiveBigIntegerField(_("position"))
    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    reference = models.PositiveBigIntegerField(_("row"))
    payload = models.TextField(_("content"))
    prev_hash = models.CharField(_("previous hash"), max_length=64)
    hash = models.CharField(_("hash"), max_length=64)
    recorded_at = models.DateTimeField(_("recorded at"))
    actor = models.TextField(_("recorded by"))
    seal = models.TextField(_("seal"), null=True, blank=True)  # noqa: DJ001  # NULL: recorded without one

    class Meta:
        verbose_name = _("entry of a trail")
        verbose_name_plural = _("entries of trails")
        ordering = ("trail_id", "seq")
        constraints = (models.UniqueConstraint(fields=("trail", "seq"), name="trail_seq_once"),)
        indexes = (models.Index(fields=("kind", "reference"), name="trail_of_row"),)

    def __str__(self) -> str:
        return f"{self.trail} #{self.seq}"


class SignedHead(AppendOnly):
    """How far the logs and trails of a house had come, signed. Never changed, never deleted.

    `statement` is the text that is signed, `signature` in base64; `report` the report that it was made with, if any.
    """

    venue = models.ForeignKey(
        Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="signed_heads", db_index=False
    )
    number = models.PositiveBigIntegerField(_("number"))
    signed_at = models.DateTimeField(_("signed at"))
    report = models.OneToOneField(
        AuditReport,
        verbose_name=_("report"),
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="signed_head",
    )
    statement = models.TextField(_("statement"))
    signature = models.CharField(_("signature"), max_length=100)

    class Meta:
        verbose_name = _("signed heads")
        verbose_name_plural = _("signed heads")
        ordering = ("venue_id", "number")
        constraints = (models.UniqueConstraint(fields=("venue", "number"), name="signed_head_once"),)

    def __str__(self) -> str:
        return f"{self.venue.code} {self.number}"

    @property
    def printed(self) -> str:
        """What is shown and kept elsewhere: the statement with its signature."""
        return f"{self.statement}signature {self.signature}\n"


class TrailWalk(models.Model):
    """What the last walk found in a trail, in files attached to incidents, in signed heads or in what guards them all.

    `name`: which of them, as `verify_log` calls it. `venue` empty: it concerns every house. `problems`: the first of
    them, as lists of what is wrong, its position (null: no single one) and why; `count`: how many there are.
    """

    name = models.CharField(_("name"), max_length=200, primary_key=True)
    venue = models.ForeignKey(
        Venue, verbose_name=_("venue"), on_delete=models.CASCADE, null=True, blank=True, related_name="trail_walks"
    )
    table = models.ForeignKey(
        Table, verbose_name=_("table"), on_delete=models.CASCADE, null=True, blank=True, related_name="trail_walks"
    )
    walked_at = models.DateTimeField(_("walked at"))
    count = models.PositiveIntegerField(_("problems"))
    problems = models.JSONField(_("reasons"), default=list)

    class Meta:
        verbose_name = _("walk along a trail")
        verbose_name_plural = _("walks along trails")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

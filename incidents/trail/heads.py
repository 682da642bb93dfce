"""Signing the heads of a house's logs and trails: with each report, and whenever somebody asks."""

from __future__ import annotations

import base64
import logging
import os
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from dealing.models import Table, Venue
from dealing.seal_keys import KeyFileError, written_aside
from incidents.models import AuditReport

from . import contents, signing
from .models import SignedHead, Trail
from .statement import HOUSE_TRAIL, Statement, digest
from .writing import note_signed

logger = logging.getLogger(__name__)


def sign_report(report: AuditReport) -> SignedHead | None:
    """Sign the heads with a report, once; None where there is no key to sign with, which the server's log then says."""
    there = of_report(report)
    if there is not None:
        return there
    try:
        return sign(report.venue, report)
    except KeyFileError as error:
        logger.error("the heads of %s are not signed: %s", report, error)
        return None


def sign(venue: Venue, report: AuditReport | None = None) -> SignedHead:
    """Sign how far the logs and trails of a house have come, and keep a copy outside the database.

    Raises `KeyFileError` where there is no key.
    """
    key = signing.signing_key()
    signing.remember()
    with transaction.atomic():
        # One at a time: each names the one before.
        venue = Venue.objects.select_for_update(no_key=True).get(pk=venue.pk)
        if report is not None and (there := of_report(report)):
            return there
        last = SignedHead.objects.filter(venue=venue).order_by("number").last()
        now = timezone.now()
        statement = Statement(
            house=venue.code,
            number=1 if last is None else last.number + 1,
            previous="none" if last is None else digest(last.statement),
            signed=now.isoformat(timespec="microseconds"),
            key=signing.fingerprint(key.public_key()),
            tables={
                code: (seq, hashed)
                for code, seq, hashed in Table.objects.filter(venue=venue, last_seq__gt=0)
                .order_by("code")
                .values_list("code", "last_seq", "last_hash")
            },
            trails={
                code or HOUSE_TRAIL: (seq, hashed)
                for code, seq, hashed in Trail.objects.filter(venue=venue, last_seq__gt=0)
                .order_by("table__code")
                .values_list("table__code", "last_seq", "last_hash")
            },
        )
        if report is not None:
            figures = AuditReport.objects.values_list("figures", flat=True).get(pk=report.pk)
            statement.reports.append((report.kind, report.day.isoformat(), report.revision, contents.digest(figures)))
        text = statement.text()
        made = SignedHead.objects.create(
            venue=venue,
            number=statement.number,
            signed_at=now,
            report=report,
            statement=text,
            signature=base64.b64encode(key.sign(text.encode())).decode(),
        )
        note_signed(made)
        transaction.on_commit(lambda: keep_copy(made))
    logger.info("heads of %s signed: number %d, %s", venue.code, made.number, digest(text))
    return made


def of_report(report: AuditReport) -> SignedHead | None:
    """The heads that were signed with a report."""
    return SignedHead.objects.filter(report=report).first()


def copies(venue: Venue) -> Path:
    """Where the copies of a house's signed heads lie, outside the database."""
    return Path(settings.HEADS_DIR) / venue.code


def keep_copy(head: SignedHead) -> None:
    """Write signed heads to a file of their own; one that is there is never written over."""
    path = copies(head.venue) / f"{head.number:06}.txt"
    try:
        with written_aside(path, head.printed.rstrip("\n")) as new:
            os.link(new, path)
    except FileExistsError:
        pass
    except OSError as error:
        logger.error("no copy of signed heads %s could be kept: %s", head, error)

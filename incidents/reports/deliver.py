"""Reports by e-mail: who gets one, the mail itself, and sending it until it has been taken over.

A delivery is a row, written in the transaction of its report, so that none is forgotten and none is sent of a report
that does not exist. Whoever sends claims the row for a while (`LEASE`). A worker that dies between sending and saying
so makes the mail go twice, under one Message-ID: mail programs show it once.
"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import smtplib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from celery import current_app
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from kombu.exceptions import OperationalError

from dealing import dates
from dealing.dates import years_of
from dealing.gaming_days import gaming_day
from dealing.models import StaffMember
from dealing.permissions import May, may
from incidents.trail import heads

from . import files, telling
from .models import AuditReport, ReportDelivery, ReportFile, ReportSubscription

logger = logging.getLogger(__name__)

STATUS: Final = ReportDelivery.Status
#: Reports of days and months further back are not sent: an archive that is imported floods nobody.
DAYS: Final = 3
MONTHS: Final = 2
#: How long a mail is somebody's to send: longer than making its PDF and talking to the slowest server.
LEASE: Final = dt.timedelta(minutes=10)
#: A mail waits so long for its report's files, and goes without them then.
HOLD: Final = dt.timedelta(minutes=10)
#: Tried so often; after the first failure a minute later, then two, four, up to an hour.
ATTEMPTS: Final = 10
LONGEST: Final = dt.timedelta(hours=1)
#: Lines of each kind in the mail, and the largest PDF that goes with it, in bytes.
LINES: Final = 5
LARGEST: Final = 8 * 1024 * 1024

#: What stands in `ReportDelivery.error` of our own; anything else is what the mail server said.
NOT_ENTITLED: Final = "not entitled"
DIED: Final = "died"
REASONS: Final[dict[str, Promise]] = {
    NOT_ENTITLED: gettext_lazy("this person may not read the reports of this house any more"),
    DIED: gettext_lazy("sending it was interrupted each time"),
}


def reason_of(delivery: ReportDelivery) -> str:
    """Why the mail has not gone out, in the language of the page; the mail server's own words as they came."""
    return str(REASONS.get(delivery.error, delivery.error))


# Who gets one.


def enqueue(report: AuditReport) -> int:
    """Write a delivery for each subscriber of the report's house, inside the caller's transaction; how many."""
    if not recent(report):
        return 0
    wanted = {"nightly": True} if report.kind == AuditReport.Kind.NIGHTLY else {"monthly": True}
    subscribed = ReportSubscription.objects.filter(
        member__venue=report.venue_id, member__user__is_active=True, **wanted
    ).exclude(member__user__email="")
    members = [one.member for one in subscribed.select_related("member__user").order_by("member__code")]
    now = timezone.now()
    made = [
        ReportDelivery(
            report=report,
            member=member,
            address=member.user.email,
            language=_language(member),
            message_id=_message_id(report),
            retry_at=now,
        )
        for member in members
        if entitled(member, report)
    ]
    ReportDelivery.objects.bulk_create(made, ignore_conflicts=True)
    return len(made)


def entitled(member: StaffMember, report: AuditReport) -> bool:
    """Whether the person may read the report: an overseer of that house."""
    return member.venue_id == report.venue_id and may(member.user, May.OVERSEE)


def _language(member: StaffMember) -> str:
    return member.language or settings.LANGUAGE_CODE


def recent(report: AuditReport) -> bool:
    """Whether its day is not so long ago that nobody waits to hear of it."""
    today = gaming_day(report.venue, timezone.now())
    if report.kind == AuditReport.Kind.NIGHTLY:
        return report.day >= today - dt.timedelta(days=DAYS)
    months = (today.year - report.day.year) * 12 + today.month - report.day.month
    return months <= MONTHS


def _message_id(report: AuditReport) -> str:
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    return f"<report-{report.pk}-{secrets.token_hex(12)}@{host}>"


# Sending.


@dataclass
class Sent:
    """What came of one turn: mails sent, mails to be tried again, mails given up."""

    sent: int = 0
    later: int = 0
    failed: int = 0


def send_waiting(limit: int = 200) -> Sent:
    """Send what waits and is due. Raises nothing for what a mail server can do; each row says how it went."""
    outcome = Sent()
    connection = None
    for _turn in range(limit):
        delivery = claim()
        if delivery is None:
            break
        try:
            if connection is None:
                connection = get_connection(fail_silently=False)
                connection.open()  # and kept open for all that follow
            done = _deliver(delivery, connection)
        except Exception as error:  # noqa: BLE001 - whatever a mail server or a template does, the others are to go out
            logger.warning("mail of %s not sent, attempt %d: %s", delivery, delivery.attempts, error)
            done = _put_off(delivery, error)
            if connection is not None:
                _close(connection)
            connection = None
        outcome.sent += done == STATUS.SENT
        outcome.later += done == STATUS.WAITING
        outcome.failed += done == STATUS.FAILED
    if connection is not None:
        _close(connection)
    return outcome


def _close(connection: Any) -> None:
    try:
        connection.close()
    except (OSError, smtplib.SMTPException):
        logger.info("the mail server did not say goodbye", exc_info=True)


def _free(now: dt.datetime) -> QuerySet[ReportDelivery]:
    """What waits, is due, and is nobody's to send. Of the row's own columns alone: see `claim`."""
    return ReportDelivery.objects.filter(
        Q(retry_at__isnull=True) | Q(retry_at__lte=now),
        Q(lease_until__isnull=True) | Q(lease_until__lte=now),
        status=STATUS.WAITING,
    )


def due(now: dt.datetime) -> QuerySet[ReportDelivery]:
    """The mails that are to go out now, the longest waiting first."""
    filed = ReportFile.objects.filter(report=OuterRef("report"), kind=ReportFile.Kind.PDF)
    return _free(now).filter(Q(Exists(filed)) | Q(report__made_at__lte=now - HOLD)).order_by("retry_at", "pk")


def claim() -> ReportDelivery | None:
    """Take one mail to send; None where none is due. Nobody else gets it before the lease is over."""
    now = timezone.now()
    for pk in list(due(now).values_list("pk", flat=True)[:50]):
        # Asked again in the statement that takes it. It names no other table: the database then looks at the row once
        # more when it had to wait for it, and of two at once one finds the lease taken.
        if not _free(now).filter(pk=pk).update(lease_until=now + LEASE, attempts=F("attempts") + 1):
            continue
        delivery = ReportDelivery.objects.select_related("report__venue", "member__user", "member__venue").get(pk=pk)
        if delivery.attempts <= ATTEMPTS:
            return delivery
        _mark(delivery, status=STATUS.FAILED, error=DIED)
    return None


def _mark(delivery: ReportDelivery, **fields: Any) -> bool:
    """Write how it went, unless somebody else has the mail by now."""
    mine = ReportDelivery.objects.filter(pk=delivery.pk, status=STATUS.WAITING, lease_until=delivery.lease_until)
    return bool(mine.update(lease_until=None, **fields))


def _deliver(delivery: ReportDelivery, connection: Any) -> str:
    """Send one mail; the status it came to."""
    if not delivery.member.user.is_active or not entitled(delivery.member, delivery.report):
        _mark(delivery, status=STATUS.FAILED, error=NOT_ENTITLED)
        return STATUS.FAILED
    message = compose(delivery)
    message.connection = connection
    message.send()
    # Taken over is taken over, whoever holds the lease by now.
    ReportDelivery.objects.filter(pk=delivery.pk).exclude(status=STATUS.SENT).update(
        status=STATUS.SENT, sent_at=timezone.now(), lease_until=None, retry_at=None, error=""
    )
    return STATUS.SENT


def _put_off(delivery: ReportDelivery, error: Exception) -> str:
    """Note why, and when to try again; given up where that is of no use. The status."""
    final = delivery.attempts >= ATTEMPTS or _refused_for_good(error)
    status = STATUS.FAILED if final else STATUS.WAITING
    _mark(
        delivery,
        status=status,
        error=_said(error),
        retry_at=None if final else timezone.now() + back_off(delivery.attempts),
    )
    return status


def back_off(attempts: int) -> dt.timedelta:
    """How long to wait after so many attempts: a minute, two, four, up to an hour."""
    return min(LONGEST, dt.timedelta(minutes=2 ** (attempts - 1)))


def _refused_for_good(error: Exception) -> bool:
    """Whether the server said that it will never take a mail to this address."""
    return isinstance(error, smtplib.SMTPRecipientsRefused) and all(
        code >= 500 for code, _words in error.recipients.values()
    )


def _said(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        answers = [f"{code} {_text(words)}" for code, words in error.recipients.values()]
        return "; ".join(answers)[:500]
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_text(error.smtp_error)}"[:500]
    return f"{type(error).__name__}: {error}"[:500]


def _text(words: Any) -> str:
    return words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)


def send_again(delivery: ReportDelivery) -> None:
    """Let a mail that was given up, or still waits, go out at the next turn, to the address that the person has now."""
    address = delivery.member.user.email or delivery.address
    ReportDelivery.objects.filter(pk=delivery.pk).exclude(status=STATUS.SENT).update(
        status=STATUS.WAITING, attempts=0, lease_until=None, retry_at=timezone.now(), error="", address=address
    )


# The mail.


def absolute(path: str) -> str:
    """The address under which a page is reached from outside."""
    return settings.SITE_URL.rstrip("/") + path


def subject_of(report: AuditReport, told: telling.Told) -> str:
    """`River House: nightly report 2026-07-11, revision 2 – 3 things want attention`."""
    parts = {
        "house": told.house,
        "day": dates.day(report.day) if report.kind == AuditReport.Kind.NIGHTLY else telling.month_name(report.day),
        "summary": told.summary,
        "revision": report.revision,
    }
    if report.kind == AuditReport.Kind.NIGHTLY:
        first = _("%(house)s: nightly report %(day)s – %(summary)s")
        again = _("%(house)s: nightly report %(day)s, revision %(revision)d – %(summary)s")
    else:
        first = _("%(house)s: monthly report %(day)s – %(summary)s")
        again = _("%(house)s: monthly report %(day)s, revision %(revision)d – %(summary)s")
    return " ".join(((again if report.revision > 1 else first) % parts).split())


def compose(delivery: ReportDelivery) -> EmailMultiAlternatives:
    """The mail, in the person's language and years, with the PDF where it could be made."""
    report = delivery.report
    language = delivery.language
    with override(language), years_of(lambda: delivery.member.user):
        told = telling.tell(report)
        preferences = absolute(reverse("preferences"))
        context = {
            "lang": language,
            "told": told,
            "groups": _linked(told.groups),
            "flags": told.flags.first(LINES),
            "calm": not report.attention and not report.flags,
            "report": report,
            "signed": heads.of_report(report),
            "page": absolute(telling.page_path(report)),
            "preferences": preferences,
        }
        message = EmailMultiAlternatives(
            subject=subject_of(report, told),
            body=render_to_string("mail/report.txt", context),
            to=[delivery.address],
            headers={
                "Message-ID": delivery.message_id,
                "Auto-Submitted": "auto-generated",
                "List-Unsubscribe": f"<{preferences}>",
            },
        )
        message.attach_alternative(render_to_string("mail/report.html", context), "text/html")
    pdf = files.file_of(report, ReportFile.Kind.PDF, language)
    if pdf is not None and len(pdf) <= LARGEST:
        message.attach(files.download_name(report, "pdf"), pdf, "application/pdf")
    return message


def _linked(groups: Iterable[telling.Group]) -> list[dict[str, Any]]:
    out = []
    for group in groups:
        first = group.first(LINES)
        lines = [
            {
                "line": line,
                "href": absolute(reverse("incidents:incident", args=[line.incident])) if line.incident else "",
            }
            for line in first.lines
        ]
        out.append({"group": first, "lines": lines})
    return out


def send_soon() -> None:
    """Have what waits sent now: by a worker, or without one right here."""
    if settings.CELERY_TASK_ALWAYS_EAGER:
        send_waiting()
        return
    try:
        current_app.send_task("incidents.reports.tasks.send_reports")
    except OperationalError:
        logger.warning("the broker does not answer: the mails go out when the scheduler comes by", exc_info=True)

"""Reports by e-mail: who gets one, what it says, and that it goes out once whatever happens in between."""

from __future__ import annotations

import ast
import datetime as dt
import email
import email.policy
import io
import os
import re
import smtplib
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pypdf import PdfReader

from dealing.gaming_days import gaming_day
from dealing.models import StaffMember, Venue
from incidents.reports import deliver, files
from incidents.reports.models import AuditReport, ReportDelivery, ReportFile, ReportSubscription
from tests import reports_samples as samples
from tests.conftest import MakeTable, People

pytestmark = pytest.mark.django_db

STATUS = ReportDelivery.Status


@pytest.fixture(autouse=True)
def _here(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    settings.SITE_URL = "https://audit.example"
    settings.DEFAULT_FROM_EMAIL = "Audit <audit@audit.example>"


class Subscribe:
    """`subscribe("malee", "manager", language="th")`: somebody who gets the reports."""

    def __init__(self, people: People) -> None:
        self.people = people

    def __call__(
        self, name: str, group: str = "manager", *, nightly: bool = True, monthly: bool = True, **fields: Any
    ) -> StaffMember:
        user = self.people(group, name)
        user.email = fields.pop("address", f"{name}@house.example")
        user.save()
        member = user.staff_member
        for key, value in fields.items():
            setattr(member, key, value)
        member.save()
        ReportSubscription.objects.create(member=member, nightly=nightly, monthly=monthly)
        return member


@pytest.fixture
def subscribe(people: People) -> Subscribe:
    return Subscribe(people)


def last_night(venue: Venue) -> dt.date:
    return gaming_day(venue, timezone.now()) - dt.timedelta(days=1)


def report_of(venue: Venue, day: dt.date | None = None, *, revision: int = 1, quiet: bool = False) -> AuditReport:
    """A report as the audit leaves it: its mails wait, its files are made."""
    day = day or last_night(venue)
    figures = samples.quiet(day=day) if quiet else samples.figures(day=day)
    report = samples.save_report(venue, figures, revision=revision)
    deliver.enqueue(report)
    for row in report.deliveries.all():
        files.make(report, ReportFile.Kind.PDF, row.language)
    return report


def ahead(report: AuditReport, **by: Any) -> None:
    """Let what waits be due, as if the time had passed."""
    report.deliveries.filter(retry_at__isnull=False).update(retry_at=timezone.now() - dt.timedelta(seconds=1))
    report.deliveries.filter(lease_until__isnull=False).update(lease_until=timezone.now() - dt.timedelta(seconds=1))


def parts_of(message: Any) -> tuple[str, str, dict[str, bytes]]:
    """The text, the HTML, and what is attached, of a mail as it goes over the wire."""
    raw = message if isinstance(message, bytes) else message.message().as_bytes()
    parsed = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(parsed, EmailMessage)
    plain, html = parsed.get_body(["plain"]), parsed.get_body(["html"])
    assert plain is not None
    assert html is not None
    attached = {str(one.get_filename()): one.get_payload(decode=True) for one in parsed.iter_attachments()}
    return plain.get_content(), html.get_content(), attached  # type: ignore[return-value]  # bytes, being attached


# Who gets one.


def test_subscribers_of_the_house_get_it(venue: Venue, subscribe: Subscribe, people: People) -> None:
    subscribe("malee", "manager", language="th")
    subscribe("prasert", "auditor")
    subscribe("boon", "supervisor", nightly=False)
    subscribe("somsri", "manager", address="")
    subscribe("nok", "recorder")
    subscribe("gone", "manager").user.groups.clear()
    inactive = subscribe("away", "manager").user
    inactive.is_active = False
    inactive.save()
    hill = Venue.objects.create(code="HILL", name="Hill House")
    subscribe("hill", "manager", venue=hill)
    people("manager", "unsubscribed")
    report = report_of(venue)
    assert list(report.deliveries.values_list("address", "language").order_by("address")) == [
        ("malee@house.example", "th"),
        ("prasert@house.example", "en"),
    ]
    assert deliver.enqueue(report) == 2, "asked again nothing is doubled"
    assert report.deliveries.count() == 2
    month = samples.save_month(venue, samples.month(of=last_night(venue)))
    deliver.enqueue(month)
    assert sorted(month.deliveries.values_list("member__code", flat=True)) == ["BOON", "MALEE", "PRASERT"]


@pytest.mark.parametrize(("back", "sent"), [(1, 1), (3, 1), (4, 0), (400, 0)])
def test_an_archive_floods_nobody(venue: Venue, subscribe: Subscribe, back: int, sent: int) -> None:
    subscribe("malee")
    day = gaming_day(venue, timezone.now()) - dt.timedelta(days=back)
    assert report_of(venue, day, quiet=True).deliveries.count() == sent


@pytest.mark.parametrize(("back", "sent"), [(1, 1), (2, 1), (3, 0), (15, 0)])
def test_nor_do_its_months(venue: Venue, subscribe: Subscribe, back: int, sent: int) -> None:
    subscribe("malee")
    today = gaming_day(venue, timezone.now())
    months = today.year * 12 + today.month - 1 - back
    first = dt.date(months // 12, months % 12 + 1, 1)
    report = samples.save_month(venue, samples.month(of=first))
    assert deliver.enqueue(report) == sent == report.deliveries.count()


def test_no_mail_of_a_report_that_was_rolled_back(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee")

    def roll_back() -> None:
        with transaction.atomic():
            report_of(venue)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        roll_back()
    assert deliver.send_waiting() == deliver.Sent()
    assert not ReportDelivery.objects.exists()


# What it says.


def test_the_mail_in_english(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee")
    report = report_of(venue)
    assert deliver.send_waiting() == deliver.Sent(sent=1)
    (message,) = mail.outbox
    day = report.day.isoformat()
    assert message.subject == f"River House: nightly report {day} – 74 things want attention"
    assert message.to == ["malee@house.example"]
    assert message.from_email == "Audit <audit@audit.example>"
    text, html, attached = parts_of(message)
    page = f"https://audit.example/reports/{report.pk}/"
    for said in (text, html):
        assert page in said
        assert "https://audit.example/preferences/" in said
        assert "https://audit.example/incidents/5/" in said, "an open incident is a link"
        assert "What the entry says was changed after it was recorded, or its hash was." in said
        assert "hands 31 to 33 are missing" in said
        assert "and 43 more" in said, "long lists are cut"
        assert "1,120" in said
        assert "5,725.00" in said
        assert "ผู้เล่นเห็นไพ่แล้วทั้งโต๊ะ" in said
    assert text.index("Hash chain broken") < text.index("Open incidents") < text.index("Hands: 1,120")
    (name,) = attached
    assert name == f"RIVER-{day}-r1.pdf"
    assert len(PdfReader(io.BytesIO(attached[name])).pages) > 1
    delivery = report.deliveries.get()
    assert (delivery.status, delivery.error, delivery.attempts) == (STATUS.SENT, "", 1)
    assert delivery.sent_at is not None
    assert delivery.lease_until is None
    sent = message.message()
    assert sent["Message-ID"] == delivery.message_id
    assert delivery.message_id.endswith("@audit.example>")
    assert sent["Auto-Submitted"] == "auto-generated"
    assert sent["List-Unsubscribe"] == "<https://audit.example/preferences/>"


def test_the_mail_in_thai_with_years_of_the_buddhist_era(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee", language="th", buddhist_years=True)
    subscribe("boon", language="th")
    report = report_of(venue)
    deliver.send_waiting()
    by_person = {message.to[0]: message for message in mail.outbox}
    year = report.day.year
    _text, html, attached = parts_of(by_person["malee@house.example"])
    assert 'lang="th"' in html
    assert "เหตุการณ์ที่ยังเปิดอยู่" in html
    assert "Open incidents" not in html
    assert str(year + 543) in by_person["malee@house.example"].subject
    assert str(year + 543) in html
    assert f"{year}-" not in re.sub(r"https?://\S+", "", html)
    assert list(attached) == [f"RIVER-{report.day}-r1.pdf"]
    _text, html, _attached = parts_of(by_person["boon@house.example"])
    assert str(year + 543) not in html
    assert str(report.day) in html


def test_a_quiet_night_and_a_month(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee")
    report_of(venue, quiet=True)
    month = samples.save_month(venue, samples.month(of=last_night(venue)))
    deliver.enqueue(month)
    files.make(month, ReportFile.Kind.PDF, "en")
    assert deliver.send_waiting().sent == 2
    subjects = [message.subject for message in mail.outbox]
    assert subjects[0].endswith("– Nothing wants attention")
    days = month.monthly.days
    assert subjects[1] == (
        f"River House: monthly report {month.day:%Y-%m} – "
        f"Something wanted attention on {sum(line.attention > 0 for line in days)} nights of {len(days)}"
    )
    assert "Days without a report" in parts_of(mail.outbox[1])[0]


def test_a_later_revision_says_so(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee")
    report = report_of(venue, revision=2)
    deliver.send_waiting()
    assert f"nightly report {report.day}, revision 2 – " in mail.outbox[0].subject
    assert "Revision 2 (Entries came late)" in parts_of(mail.outbox[0])[0]


def test_what_people_typed_cannot_break_the_mail(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee")
    figures = samples.figures(name="River\r\nBcc: thief@example.com <b>House</b>", day=last_night(venue))
    figures.attention.departures[0].reason = "<script>alert(1)</script><img src=http://evil/x.png>"
    report = samples.save_report(venue, figures)
    deliver.enqueue(report)
    files.make(report, ReportFile.Kind.PDF, "en")
    assert deliver.send_waiting() == deliver.Sent(sent=1)
    (message,) = mail.outbox
    assert message.recipients() == ["malee@house.example"]
    assert "\n" not in message.subject
    _text, html, _attached = parts_of(message)
    for tag in ("<script", "<img", "<b>House", "<link", "<style", "url(", "onclick"):
        assert tag not in html
    assert "&lt;script&gt;" in html


def test_without_a_pdf_it_goes_all_the_same(
    venue: Venue, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: Any) -> None:
        raise OSError(28, "No space left on device")

    subscribe("malee")
    monkeypatch.setitem(files.WRITERS, ReportFile.Kind.PDF, broken)
    report_of(venue)
    assert deliver.send_waiting().sent == 1
    assert parts_of(mail.outbox[0])[2] == {}


def test_it_waits_for_the_files_but_not_for_ever(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee")
    report = samples.save_report(venue, samples.quiet(day=last_night(venue)))
    deliver.enqueue(report)
    assert deliver.send_waiting() == deliver.Sent(), "its PDF is being made"
    assert not deliver.due(timezone.now()).exists()
    assert deliver.due(timezone.now() + deliver.HOLD).exists()


# Once, whatever happens.


class Moody(EmailBackend):
    """Takes a mail or does not, as `mood` says."""

    mood: Any = None
    closed = 0

    def send_messages(self, messages: Any) -> int:
        if callable(Moody.mood):
            Moody.mood()
        if Moody.mood is not None and not callable(Moody.mood):
            raise Moody.mood
        return super().send_messages(messages)

    def close(self) -> None:
        Moody.closed += 1


@pytest.fixture
def moody(settings: Any) -> Iterator[type[Moody]]:
    settings.EMAIL_BACKEND = f"{__name__}.Moody"
    Moody.mood = None
    yield Moody
    Moody.mood = None


def test_a_failure_is_kept_and_tried_again_later_and_later(
    venue: Venue, subscribe: Subscribe, moody: type[Moody]
) -> None:
    subscribe("malee")
    report = report_of(venue)
    moody.mood = smtplib.SMTPServerDisconnected("Connection unexpectedly closed")
    waits = []
    for attempt in range(1, deliver.ATTEMPTS + 1):
        before = timezone.now()
        outcome = deliver.send_waiting()
        row = report.deliveries.get()
        assert row.attempts == attempt
        assert row.error == "SMTPServerDisconnected: Connection unexpectedly closed"
        assert deliver.send_waiting() == deliver.Sent(), "not before its time"
        if attempt < deliver.ATTEMPTS:
            assert outcome == deliver.Sent(later=1)
            assert row.retry_at is not None
            waits.append(round((row.retry_at - before).total_seconds() / 60))
            ahead(report)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert outcome == deliver.Sent(failed=1)
    row = report.deliveries.get()
    assert (row.status, row.retry_at) == (STATUS.FAILED, None)
    moody.mood = None
    assert deliver.send_waiting() == deliver.Sent()
    assert mail.outbox == []


def test_it_goes_out_when_the_server_is_back(venue: Venue, subscribe: Subscribe, moody: type[Moody]) -> None:
    subscribe("malee")
    report = report_of(venue)
    moody.mood = ConnectionRefusedError(111, "Connection refused")
    deliver.send_waiting()
    ahead(report)
    moody.mood = None
    assert deliver.send_waiting() == deliver.Sent(sent=1)
    row = report.deliveries.get()
    assert (row.status, row.error, row.attempts) == (STATUS.SENT, "", 2)


def test_an_address_that_is_refused_for_good_is_not_tried_again(
    venue: Venue, subscribe: Subscribe, moody: type[Moody]
) -> None:
    subscribe("malee")
    report = report_of(venue)
    moody.mood = smtplib.SMTPRecipientsRefused({"malee@house.example": (550, b"no such user")})
    assert deliver.send_waiting() == deliver.Sent(failed=1)
    assert report.deliveries.get().error == "550 no such user"
    report.deliveries.update(status=STATUS.WAITING, retry_at=timezone.now(), attempts=0)
    moody.mood = smtplib.SMTPRecipientsRefused({"malee@house.example": (451, b"greylisted")})
    assert deliver.send_waiting() == deliver.Sent(later=1), "this one may be taken later"


def test_one_that_fails_does_not_hold_up_the_others(
    venue: Venue, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        subscribe(name)
    report_of(venue)
    compose = deliver.compose

    def moody(delivery: ReportDelivery) -> Any:
        if delivery.address.startswith("b@"):
            raise ValueError("no such template")
        return compose(delivery)

    monkeypatch.setattr(deliver, "compose", moody)
    assert deliver.send_waiting() == deliver.Sent(sent=2, later=1)
    assert ReportDelivery.objects.get(status=STATUS.WAITING).error == "ValueError: no such template"


def test_a_worker_that_dies_before_it_says_so_sends_it_again_under_the_same_id(
    venue: Venue, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """As SIGKILL: nothing of ours runs after it."""

    subscribe("malee")
    report = report_of(venue)
    send = mail.EmailMultiAlternatives.send

    def send_and_die(self: Any, *args: Any, **kwargs: Any) -> int:
        send(self, *args, **kwargs)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(mail.EmailMultiAlternatives, "send", send_and_die)
        with pytest.raises(Killed):
            deliver.send_waiting()
    assert report.deliveries.get().status == STATUS.WAITING
    assert deliver.send_waiting() == deliver.Sent(), "it is claimed: it may be on its way"
    ahead(report)
    assert deliver.send_waiting() == deliver.Sent(sent=1)
    first, second = (message.message()["Message-ID"] for message in mail.outbox)
    assert first == second == report.deliveries.get().message_id


def test_one_that_kills_its_worker_each_time_is_given_up(venue: Venue, subscribe: Subscribe) -> None:
    subscribe("malee")
    report = report_of(venue)
    for _attempt in range(deliver.ATTEMPTS):
        assert deliver.claim() is not None
        ahead(report)
    assert deliver.claim() is None
    row = report.deliveries.get()
    assert (row.status, deliver.reason_of(row)) == (STATUS.FAILED, "sending it was interrupted each time")


def test_a_claim_that_ran_out_does_not_speak_for_the_mail_any_more(
    venue: Venue, subscribe: Subscribe, moody: type[Moody]
) -> None:
    """Somebody slow fails when another has sent the mail already: it stays sent."""
    subscribe("malee")
    report = report_of(venue)
    slow = deliver.claim()
    assert slow is not None
    ahead(report)
    assert deliver.send_waiting() == deliver.Sent(sent=1)
    deliver._put_off(slow, OSError("too late"))
    row = report.deliveries.get()
    assert (row.status, row.error) == (STATUS.SENT, "")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_senders_at_once_send_each_mail_once(venue: Venue, subscribe: Subscribe) -> None:
    for number in range(12):
        subscribe(f"m{number}")
    report_of(venue, quiet=True)
    barrier = threading.Barrier(3)
    totals: list[deliver.Sent] = []

    def send() -> None:
        barrier.wait()
        try:
            totals.append(deliver.send_waiting())
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.sent for one in totals) == 12
    assert len({message.to[0] for message in mail.outbox}) == len(mail.outbox) == 12


def test_who_may_not_read_it_any_more_gets_none(venue: Venue, subscribe: Subscribe) -> None:
    member = subscribe("malee")
    report = report_of(venue)
    member.user.groups.clear()
    assert deliver.send_waiting() == deliver.Sent(failed=1)
    row = report.deliveries.get()
    assert deliver.reason_of(row) == "this person may not read the reports of this house any more"
    assert mail.outbox == []


# A real conversation.


class MailServer(socketserver.ThreadingTCPServer):
    """As much SMTP as it takes; keeps what was sent, refuses nobody@, breaks off for rude@."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailSession)
        self.taken: list[bytes] = []
        self.sessions = 0


class MailSession(socketserver.StreamRequestHandler):
    server: MailServer

    def say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")

    def handle(self) -> None:
        self.server.sessions += 1
        self.say("220 ready")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.say("354 go on")
                lines = []
                while (line := self.rfile.readline()) != b".\r\n":
                    lines.append(line[1:] if line.startswith(b".") else line)
                self.server.taken.append(b"".join(lines))
                self.say("250 taken")
            elif word == b"RCPT" and b"nobody" in line:
                self.say("550 no such user here")
            elif word == b"RCPT" and b"rude" in line:
                return
            elif word == b"QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 fine")


@pytest.fixture
def server(settings: Any) -> Iterator[MailServer]:
    with MailServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address[:2]
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        yield server
        server.shutdown()


def test_a_real_mail_server(venue: Venue, subscribe: Subscribe, server: MailServer) -> None:
    subscribe("a-nobody")
    subscribe("b-rude")
    subscribe("malee", language="th")
    subscribe("prasert")
    report = report_of(venue)
    assert deliver.send_waiting() == deliver.Sent(sent=2, later=1, failed=1)
    assert server.sessions == 3, "one for each that broke, one for all that went well"
    errors = dict(report.deliveries.values_list("member__code", "error"))
    assert errors["A-NOBODY"] == "550 no such user here"
    assert errors["B-RUDE"].startswith("SMTPServerDisconnected")
    assert (errors["MALEE"], errors["PRASERT"]) == ("", "")
    for raw in server.taken:
        text, html, attached = parts_of(raw)
        assert "74" in text
        assert "74" in html
        (pdf,) = attached.values()
        assert PdfReader(io.BytesIO(pdf)).pages
        parsed = email.message_from_bytes(raw, policy=email.policy.default)
        assert parsed["Message-ID"] in set(report.deliveries.values_list("message_id", flat=True))


def test_no_server_at_all(venue: Venue, subscribe: Subscribe, server: MailServer, settings: Any) -> None:
    subscribe("malee")
    report = report_of(venue)
    server.shutdown()
    server.server_close()
    assert deliver.send_waiting() == deliver.Sent(later=1)
    assert "refused" in report.deliveries.get().error


def test_the_embedded_default_keeps_mails_as_files(
    venue: Venue, subscribe: Subscribe, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path / "mail")
    subscribe("malee")
    report_of(venue)
    assert deliver.send_waiting().sent == 1
    (file,) = (tmp_path / "mail").iterdir()
    assert b"malee@house.example" in file.read_bytes()


# Sent again by hand.


def test_a_manager_sends_it_again(
    venue: Venue, subscribe: Subscribe, people: People, client: Client, moody: type[Moody]
) -> None:
    member = subscribe("malee")
    report = report_of(venue)
    moody.mood = smtplib.SMTPRecipientsRefused({"malee@house.example": (550, b"no such user")})
    deliver.send_waiting()
    row = report.deliveries.get()
    address = f"/reports/{report.pk}/mails/{row.pk}/again/"
    for group in ("recorder", "supervisor", "auditor"):
        client.force_login(people(group))
        assert client.post(address).status_code == 403
    client.force_login(people("manager"))
    assert client.get(address).status_code == 405
    response = client.post(address, follow=True)
    assert "550 no such user" in response.content.decode()
    moody.mood = None
    member.user.email = "malee@new.example"
    member.user.save()
    response = client.post(address, follow=True)
    assert "The mail to malee@new.example is sent." in response.content.decode()
    assert mail.outbox[0].to == ["malee@new.example"]
    assert client.post(address).status_code == 404, "it is sent"
    hill = people("manager", "hill").staff_member
    hill.venue = Venue.objects.create(code="HILL", name="Hill House")
    hill.save()
    client.force_login(hill.user)
    assert client.post(address).status_code == 404


# Subscribing.


def test_an_overseer_subscribes_under_preferences(people: People, client: Client, venue: Venue) -> None:
    user = people("manager")
    client.force_login(user)
    page = client.get("/preferences/").content.decode()
    assert "Reports by e-mail" in page
    assert 'name="reports-nightly" id="id_reports-nightly" checked' not in page
    choice = {"language": "en", "theme": "", "reports-nightly": "on", "reports-email": "Boss@House.example"}
    assert client.post("/preferences/", choice).status_code == 302
    kept = ReportSubscription.objects.get()
    assert (kept.member.user, kept.nightly, kept.monthly) == (user, True, False)
    user.refresh_from_db()
    assert user.email == "Boss@House.example"
    assert 'value="Boss@House.example"' in client.get("/preferences/").content.decode()
    assert report_of(venue).deliveries.get().address == "Boss@House.example"
    client.post("/preferences/", {**choice, "reports-nightly": "", "reports-email": ""})
    kept.refresh_from_db()
    assert not kept.nightly
    assert ReportSubscription.objects.count() == 1


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("address", "said"), [("", "Say where to send them."), ("no address", "This is no e-mail address.")]
)
def test_an_address_that_will_not_do(people: People, client: Client, address: str, said: str) -> None:
    user = people("manager")
    client.force_login(user)
    choice = {"language": "th", "theme": "dark", "reports-monthly": "on", "reports-email": address}
    response = client.post("/preferences/", choice)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert not ReportSubscription.objects.exists()
    user.staff_member.refresh_from_db()
    assert user.staff_member.language == "", "nothing of the page is kept while something is wrong"


@pytest.mark.sqlite
def test_who_may_not_read_reports_is_not_asked(people: People, client: Client) -> None:
    choice = {"language": "en", "theme": "", "reports-nightly": "on", "reports-email": "nok@house.example"}
    client.force_login(people("recorder"))
    assert "reports-nightly" not in client.get("/preferences/").content.decode()
    assert client.post("/preferences/", choice).status_code == 302
    assert not ReportSubscription.objects.exists()


@pytest.mark.sqlite
def test_subscriptions_and_mails_in_the_admin(
    venue: Venue, people: People, client: Client, subscribe: Subscribe, table: MakeTable
) -> None:
    member = subscribe("malee")
    report = report_of(venue)
    admin = people("manager", "kanya")
    admin.is_staff = admin.is_superuser = True
    admin.save()
    client.force_login(admin)
    assert "report_subscription" in client.get(f"/admin/dealing/staffmember/{member.pk}/change/").content.decode()
    page = client.get("/admin/incidents/reportdelivery/").content.decode()
    assert "malee@house.example" in page
    assert str(report) in page


def test_the_command_sends_what_waits(
    venue: Venue, subscribe: Subscribe, moody: type[Moody], capsys: pytest.CaptureFixture[str]
) -> None:
    subscribe("malee")
    report = report_of(venue)
    moody.mood = ConnectionRefusedError(111, "Connection refused")
    with pytest.raises(CommandError, match="not all mails"):
        call_command("send_reports")
    ahead(report)
    moody.mood = None
    call_command("send_reports")
    assert "1 mails sent, 0 to be tried again, 0 given up" in capsys.readouterr().out


def test_the_page_says_why_a_mail_has_not_gone_out(
    venue: Venue, subscribe: Subscribe, people: People, client: Client
) -> None:
    member = subscribe("malee")
    report = report_of(venue)
    member.user.groups.clear()
    deliver.send_waiting()
    client.force_login(people("manager"))
    page = client.get(f"/reports/{report.pk}/").content.decode()
    assert "this person may not read the reports of this house any more" in page
    assert f"/reports/{report.pk}/mails/{report.deliveries.get().pk}/again/" in page
    client.force_login(people("auditor"))
    assert "/again/" not in client.get(f"/reports/{report.pk}/").content.decode()


def test_the_task_tries_files_again_too(venue: Venue, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch) -> None:
    from incidents.reports import tasks

    subscribe("malee")
    report = report_of(venue)
    report.files.update(error="ENOSPC", stored="", made_at=timezone.now() - 2 * files.AGAIN)
    tasks.send_reports()
    assert report.files.get().error == ""
    assert len(mail.outbox) == 1


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            {},
            [
                "django.core.mail.backends.filebased.EmailBackend",
                "http://localhost:8000",
                "Baccarat audit <audit@localhost>",
            ],
        ),
        (
            {"ALLOWED_HOSTS": ".wild.example,audit.example", "SECRET_KEY": "x" * 60},
            [
                "django.core.mail.backends.filebased.EmailBackend",
                "https://audit.example",
                "Baccarat audit <audit@audit.example>",
            ],
        ),
        (
            {
                "EMAIL_URL": "smtp+tls://us%40er:p%40ss@mail.example:587",
                "SITE_URL": "https://a.example/",
                "DEFAULT_FROM_EMAIL": "me@a.example",
            },
            ["django.core.mail.backends.smtp.EmailBackend", "https://a.example", "me@a.example"],
        ),
    ],
)
def test_settings_of_the_mail_come_from_the_environment(
    environment: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    names = ("EMAIL_BACKEND", "SITE_URL", "DEFAULT_FROM_EMAIL", "EMAIL_HOST", "EMAIL_PORT", "EMAIL_USE_TLS")
    people_of_mail = ("EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD")
    code = f"""
from django.conf import settings
print([getattr(settings, name, None) for name in {(*names, *people_of_mail)!r}])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "baccarat_audit.settings",
            "VAR_DIR": str(tmp_path),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    said = ast.literal_eval(done.stdout)
    assert said[:3] == expected
    if "EMAIL_URL" in environment:
        assert said[3:] == ["mail.example", 587, True, "us@er", "p@ss"]


@pytest.mark.sqlite
def test_the_scheduler_sends_each_minute(settings: Any) -> None:
    from baccarat_audit.celery import app

    app.loader.import_default_modules()
    task = settings.CELERY_BEAT_SCHEDULE["send-reports"]["task"]
    assert task in app.tasks

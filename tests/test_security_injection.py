"""Hostile text in all that a person, a device, a log line or a spreadsheet can give: it is shown, and does nothing.

Each text carries a mark of its own, so that where one is never seen the test says which.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import openpyxl
import pypdf
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from dealing.devices.models import Device
from dealing.log import record
from dealing.models import Dealer, DealerShift, StaffMember, Table, Venue
from dealing.sheets import kept
from incidents.evidence import do_attach_file
from incidents.models import Incident
from incidents.reports import deliver, files
from incidents.reports.models import AuditReport, ReportDelivery
from incidents.reports.tabular import FORMULA
from incidents.services import do_decide_incident, do_review_incident
from incidents.webhooks.models import Webhook, WebhookDelivery
from tests.doors import DOORS, PNG, Door, Scene, admin_addresses, arrange, person
from tests.test_permissions_doors import asked

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]

#: An element, an end of an attribute, a template's braces, typst's commands.
MARKUP = "<zx>\"'><img src=zx onerror=zx>{{7*7}}#zx[$"
SHORT = "<zx a='\"{{7*7}}"
#: What a spreadsheet takes for a formula; what turns the direction of reading; Thai with more marks than it can carry.
OTHERS = ('=HYPERLINK("zx")', "+cmd|' /C calc'!A0", "@SUM(1)", '#import "zx"', "\u202etxt.exe", "ก" + "่" * 40)


def text(mark: str, limit: int = 120) -> str:
    """Hostile text that begins like a formula and says which field it was in."""
    return f"={mark} {MARKUP if limit > 60 else SHORT}"[:limit]


#: The mark of each field that somebody can fill.
MARKS = {
    *("house", "tablename", "dealercode", "dealername", "first", "last", "by", "reason", "why", "decision"),
    *("camera", "follow", "note", "filename", "caption", "hook", "answer", "device", "shiftby", "maker", "mailerror"),
}


class Page(HTMLParser):
    """Reads a page as a browser would, and notes what should not be on it."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _value in attrs]
        if tag in ("zx", "style") or any(name.startswith("on") or name in ("a'", "style") for name in names):
            self.wrong.append(self.get_starttag_text() or tag)
        elif tag == "img" and ("src", "zx") in attrs:
            self.wrong.append("an image of theirs")
        elif tag == "script" and "src" not in names and ("type", "application/json") not in attrs:
            self.wrong.append("a script in the page")
        self.words += [value or "" for name, value in attrs if name in ("value", "title", "aria-label", "placeholder")]
        if any((value or "").strip().lower().startswith(("javascript:", "data:text")) for _name, value in attrs):
            self.wrong.append("an address that runs")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def look(content: str) -> Page:
    """The page, read."""
    page = Page()
    page.feed(content)
    page.close()
    return page


LINES: tuple[dict[str, Any], ...] = (
    {"event": "shoe_opened", "ruleset": "commission", "decks": 8},
    {"event": "burn_card", "card": "5h"},
    {"event": "cards_burned", "count": 5},
    {"event": "betting_opened", "hand": 1},
    {"event": "bet", "hand": 1, "seat": 1, "bet": "player", "stake": "100"},
    {"event": "betting_closed", "hand": 1},
    *({"event": "card", "hand": 1, "to": to, "card": card} for to, card in (("P1", "2h"), ("B1", "4s"), ("P2", "3d"))),
    {"event": "card", "hand": 1, "to": "B2", "card": "Kc"},
    {"event": "card", "hand": 1, "to": "B3", "card": "6h"},
    {"event": "amended", "hand": 1, "seq": 5, "reason": text("why")},
    {"event": "betting_opened", "hand": 2},
    {"event": "betting_closed", "hand": 2},
    {"event": "card", "hand": 2, "to": "P1", "card": "2h"},
    {"event": "card", "hand": 2, "to": "B3", "card": "3h"},
    {"event": "voided", "hand": 2, "scope": "hand", "reason": text("reason")},
)


def poison(scene: Scene) -> None:
    """Fill every field of the house with hostile text; the night of it audited."""
    venue, code = scene.here.venue, scene.here["table"]
    day = timezone.now() - dt.timedelta(days=2)
    Venue.objects.filter(pk=venue.pk).update(name=text("house", 100))
    table = Table.objects.create(code="X-1", venue=venue, ruleset="commission", name=text("tablename", 100))
    hostile = person("decider", "manager", venue)
    hostile.first_name, hostile.last_name = text("first", 150), text("last", 150)
    hostile.save()
    nightly(table, day)
    incident = Incident.objects.get(table=table, hand_number=1)
    do_decide_incident(incident, hostile, ["correct"], text("decision"))
    dealer = Dealer.objects.get(code=scene.here["dealer"])
    Dealer.objects.filter(pk=dealer.pk).update(code=text("dealercode", 64), name=text("dealername", 100))
    said = {"camera": text("camera", 60), "follow_up": text("follow"), "note": text("note"), "dealer": dealer}
    do_review_incident(incident, hostile, said)
    name = text("filename").replace("/", "") + ".png"
    kept = do_attach_file(incident, hostile, SimpleUploadedFile(name, PNG), text("caption"))
    DealerShift.objects.create(
        table=table,
        dealer=dealer,
        started_at=day,
        ended_at=day + dt.timedelta(hours=5),
        recorded_by=text("shiftby", 100),
    )
    Webhook.objects.filter(pk=scene.here["webhook"]).update(name=text("hook", 80), created_by=text("maker"))
    WebhookDelivery.objects.filter(pk=scene.here["message"]).update(answer=text("answer"), outcome="answered", code=500)
    Device.objects.filter(code=scene.here["device"]).update(name=text("device", 100), created_by=text("maker"))
    with pytest.raises(SystemExit, match="1"):  # something wants attention, and the night is done
        call_command("nightly_audit", venue=venue.code, date=day.astimezone(venue.zone).date(), stdout=io.StringIO())
    report = AuditReport.objects.get(venue=venue, day=day.astimezone(venue.zone).date())
    delivery = ReportDelivery.objects.create(
        report=report, member=hostile.staff_member, address="a@example.com", language="en", message_id="<a@b>",
        status=ReportDelivery.Status.FAILED, error=text("mailerror"),
    )  # fmt: skip
    scene.here.update(
        table=table.code, incident=incident.pk, attachment=kept.pk, report=report.pk, run=report.run_id,
        dealer=text("dealercode", 64), delivery=delivery.pk, day=report.day.isoformat(), first=code,
    )  # fmt: skip


def nightly(table: Table, day: dt.datetime) -> None:
    """Record the hostile hands at noon of that day."""
    at = day.astimezone(table.venue.zone).replace(hour=12, minute=0, second=0, microsecond=0)
    for number, line in enumerate(LINES):
        when = (at + dt.timedelta(seconds=number)).isoformat(timespec="milliseconds")
        more = {"at": when, "table": table.code, "shoe": 1, "by": text("by", 64), "key": f"{SHORT}{number}"}
        record(line | more, actor=f"{SHORT} somchai")


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A house full of hostile text."""
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        patch.setattr(settings, "VAR_DIR", tmp_path_factory.mktemp("var"))
        with transaction.atomic():
            scene = arrange()
            poison(scene)
            yield scene
            transaction.set_rollback(True)


@pytest.fixture
def root(house: Scene) -> Client:
    """Who sees everything, of head office."""
    user = User.objects.create_superuser("<zx>\"'root")
    client = Client()
    client.force_login(user)
    house.users["root"] = user
    return client


PAGES = [door for door in DOORS.values() if door.get is not None and not door.slow]
#: What pages are asked beside their address.
ASKED = (
    *("q", "next", "house", "month", "step", "lang", "event", "key", "card", "sheet", "entry", "page", "first", "last"),
    *("day", "venue", "from", "to", "why", "typed", "place", "reason", "seat", "status", "table", "actions", "seq"),
)


def addresses_of(door: Door, house: Scene) -> Iterator[tuple[str, dict[str, str]]]:
    """The page itself, with hostile questions, and the sheets of the console."""
    address = door.address(house.here, house.users["root"])
    yield address, {}
    yield address, dict.fromkeys(ASKED, MARKUP)
    if door.name == "console:table":
        for sheet in ("amend", "which"):
            yield address, {"sheet": sheet, "entry": "7", "why": MARKUP}
        yield address, {"event": "voided", "reason": MARKUP, "key": MARKUP}
    if door.name == "console:hand":
        yield address.replace("/1/1/", "/1/2/"), {}
    if door.name == "incidents:queue":
        yield address, {"status": "all"}


def test_every_page_shows_it_and_runs_none_of_it(house: Scene, root: Client) -> None:
    wrong, seen = [], ""
    for door in PAGES:
        for address, data in addresses_of(door, house):
            response = asked(root, "GET", address, data=data)
            kind = response.headers.get("Content-Type", "")
            assert response.status_code < 500 or door.red, address
            if response.streaming or not kind.startswith("text/html"):
                if MARKUP in str(data) and response.status_code == 200:
                    assert "html" not in kind
                continue
            page = look(response.content.decode())  # type: ignore[attr-defined]
            wrong += [f"{address} {data}: {one}" for one in page.wrong]
            seen += "\n".join(page.words)
            assert "49#zx" not in "".join(page.words), "a template has read it"
    assert not wrong
    missing = {mark for mark in MARKS if f"={mark} <zx" not in seen}
    assert not missing


def test_the_admin_too_shows_it_and_has_nothing_that_the_policy_refuses(house: Scene, root: Client) -> None:
    wrong, seen = [], ""
    for address in admin_addresses():
        response = asked(root, "GET", address)
        assert response.status_code < 500, address
        if response.status_code == 200 and response.headers["Content-Type"].startswith("text/html"):
            page = look(response.content.decode())  # type: ignore[attr-defined]
            wrong += [f"{address}: {one}" for one in page.wrong]
            seen += "".join(page.words)
    assert not wrong
    for mark in ("house", "tablename", "dealername", "mailerror"):
        assert f"={mark} <zx" in seen


def test_no_form_runs_what_it_is_sent(house: Scene, root: Client) -> None:
    wrong = []
    for door in DOORS.values():
        if door.post is None or door.api or door.name in ("logout", "account:end_sessions"):
            continue
        address = door.address(house.here, house.users["root"])
        page = asked(root, "GET", DOORS[door.name].address(house.here, house.users["root"]))
        names = set(re.findall(r'name="([\w-]+)"', getattr(page, "content", b"").decode()))
        names |= {"event", "why", "reason", "card", "entry", "note", "caption", "username", "password", "name", "url"}
        for value in (MARKUP, "\0", "x" * 5000):
            data = dict.fromkeys(names - {"csrfmiddlewaretoken"}, value)
            if door.name == "console:record":
                data |= {"event": "voided", "scope": "hand", "shoe": "1", "hand": "2"}
            response = asked(root, "POST", address, data=data)
            assert response.status_code < 500, (door.name, value[:20])
            if response.headers.get("Content-Type", "").startswith("text/html"):
                shown = look(response.content.decode())  # type: ignore[attr-defined]
                wrong += [f"{address} {value[:20]!r}: {one}" for one in shown.wrong]
            if response.status_code in (301, 302):
                assert response.headers["Location"].startswith(("/", "?")), door.name
                assert not response.headers["Location"].startswith("//"), door.name
    assert not wrong


def test_pdfs_print_it(house: Scene, root: Client) -> None:
    sheet = asked(root, "GET", DOORS["incidents:sheet"].address(house.here)).content  # type: ignore[attr-defined]
    report = AuditReport.objects.get(pk=house.here["report"])
    printed = {}
    for name, content in (("sheet", sheet), ("report", files.content_of(report, "pdf", "en"))):
        pages = pypdf.PdfReader(io.BytesIO(content)).pages
        printed[name] = re.sub(r"\s+", "", "".join(page.extract_text() for page in pages))
        assert "#zx[$" in printed[name], "typst has read none of it"
        assert "{{7*7}}" in printed[name]
    assert f"={'decision'}<zx>" in printed["sheet"]


def test_spreadsheets_hold_no_formula(house: Scene) -> None:
    report = AuditReport.objects.get(pk=house.here["report"])
    book = openpyxl.load_workbook(io.BytesIO(files.content_of(report, "xlsx", "en")))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert any("<zx" in str(cell.value) for cell in cells)
    assert not [cell for cell in cells if cell.data_type == "f"]
    rows = list(csv.reader(io.StringIO(files.content_of(report, "csv", "en").decode("utf-8-sig"))))
    hostile = [cell for row in rows for cell in row if "<zx" in cell]
    assert hostile
    assert not [cell for cell in hostile if cell.startswith(FORMULA)]


def test_mails_show_it_and_have_no_more_heads_than_ours(house: Scene) -> None:
    Venue.objects.filter(pk=house.here.venue.pk).update(name="=x\r\nBcc: zx@example.com <zx>")
    mail = deliver.compose(ReportDelivery.objects.get(pk=house.here["delivery"]))
    sent = mail.message()
    assert sent["Bcc"] is None
    assert sent["To"] == "a@example.com"
    (alternative,) = mail.alternatives
    page = Page()
    page.feed(str(alternative[0]))
    assert not [one for one in page.wrong if "zx" in one or "theirs" in one]
    assert "<zx>" in "".join(page.words)


def test_the_api_says_it_as_json(house: Scene, root: Client) -> None:
    said = ""
    for name in ("tables", "shoes", "hands", "events", "incidents", "decisions", "reports", "incident", "table"):
        response = asked(root, "GET", DOORS[f"api:{name}"].address(house.here))
        assert response.headers["Content-Type"].startswith("application/json"), name
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        said += json.dumps(json.loads(response.content), ensure_ascii=False)  # type: ignore[attr-defined]
    for mark in ("reason", "decision", "by"):
        assert f"={mark} <zx" in said
    for value in (MARKUP, "\u202e", *OTHERS):
        response = asked(root, "GET", "/api/v1/hands/", data={"table": value, "from": value, value: "x"})
        assert response.status_code == 400
        json.loads(response.content)  # type: ignore[attr-defined]


def test_a_sheet_of_hostile_cells(house: Scene, root: Client) -> None:
    cells = (MARKUP, *OTHERS, "\0", "x" * 3000)
    rows = [[f"{cell}{n}" for n, cell in enumerate(cells)], list(cells), ["2026-07-01", *cells[1:]]]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    user = house.users["root"]
    seen = ""
    as_json = json.dumps([dict(zip(rows[0], row, strict=True)) for row in rows[1:]])
    for ending, data in (("csv", out.getvalue()), ("json", as_json)):
        sheet = kept.keep(user.pk, house.here.venue.pk, f"{text('sheet')}.{ending}", data.encode())
        for page in ("", "store/", "preview/"):
            shown = look(root.get(f"/sheets/{sheet.token}/{page}", follow=True).content.decode())
            assert not shown.wrong
            seen += "".join(shown.words)
    shown = look(root.get("/sheets/").content.decode())
    assert not shown.wrong
    assert "=sheet <zx>" in seen + "".join(shown.words)
    assert MARKUP in seen


def test_metrics_stay_metrics(house: Scene, root: Client) -> None:
    Venue.objects.filter(pk=house.here.venue.pk).update(code='R"} 1\nzx{a="')
    response = asked(root, "GET", "/metrics")
    names = {family.name for family in text_string_to_metric_families(response.content.decode())}  # type: ignore[attr-defined]
    assert names
    assert all(name.startswith("baccarat") for name in names), names


def test_the_code_of_a_member_of_staff_and_a_user_name_too(house: Scene, root: Client) -> None:
    user = person("<zx onclick=zx>{{7*7}}", "supervisor", house.here.venue)
    StaffMember.objects.filter(user=user).update(code="<zx>\"'{{7*7}}")
    client = Client()
    client.force_login(user)
    for name in ("console:table", "incidents:incident", "preferences", "account:account"):
        page = look(client.get(DOORS[name].address(house.here)).content.decode())
        assert not page.wrong, name
        assert "<zx onclick=zx>" in "".join(page.words) or "<zx>" in "".join(page.words), name
    people = look(root.get("/account/people/").content.decode())
    assert not people.wrong


def test_the_readers_of_this_test_see_what_they_look_for() -> None:
    for bad in (
        "<zx>",
        "<img src=zx>",
        '<b onerror="x">',
        "<script>1</script>",
        '<a href="javascript:x">',
        "<p style=x>",
    ):
        assert look(f"<p>{bad}</p>").wrong, bad
    assert not look("<p>&lt;zx&gt; <a href='/x'>x</a></p>").wrong

"""A link of a camera where people write a word: no page grows wider than its screen for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from playwright.sync_api import Browser, Page, ViewportSize, expect

from dealing.devices.models import Device
from dealing.log import record
from dealing.models import Dealer, Table, TableEvent
from dealing.shifts import do_change_dealer
from incidents.evidence import do_attach_file
from incidents.models import Incident
from incidents.services import do_decide_incident, do_review_incident
from incidents.webhooks.models import Webhook, WebhookDelivery
from tests.browser.floor import let_in
from tests.browser.test_access import PHONE, scenes
from tests.media import PNG
from tests.scenes import HAND, MANAGER, NIGHT

# What a page looks like has nothing to do with the database.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

TABLET = ViewportSize(width=1180, height=820)
LINK = "https://cameras.example/clip/" + "0123456789abcdef" * 28


def write_everywhere() -> list[str]:
    """Have the link stand in every text that people write, as long as the text may be; the pages that show it."""
    manager = User.objects.get(username=MANAGER)
    table, incident = Table.objects.get(code="C03"), Incident.objects.get(table__code="C03")
    void = {"event": "voided", "scope": "hand", "reason": LINK, "table": "C02", "shoe": 1, "hand": HAND}
    row = record(void, actor="anan").row
    wrong = TableEvent.objects.get(table__code="C01", shoe_number=1, hand_number=HAND, name="betting_opened")
    amended = {"event": "amended", "seq": wrong.seq, "reason": LINK, "table": "C01", "shoe": 1, "hand": HAND}
    assert row.seq
    record(amended, actor="anan")
    dealer = Dealer.objects.create(venue=table.venue, code=LINK[:64], name=LINK[:100])
    do_change_dealer(table, dealer, manager)
    do_review_incident(incident, manager, {"camera": LINK[:60], "follow_up": LINK, "note": LINK, "dealer": dealer})
    do_attach_file(incident, manager, SimpleUploadedFile(f"{LINK[40:150]}.png", PNG), LINK[:200])
    do_decide_incident(incident, manager, ["void hand"], LINK)
    Table.objects.update(name=LINK[:100])
    Device.objects.update(name=LINK[:100], created_by=LINK[:64])
    Webhook.objects.update(name=LINK[:80], url=LINK, created_by=LINK[:64], changed_by=LINK[:64])
    WebhookDelivery.objects.update(answer=LINK)
    User.objects.update(first_name=LINK[:60], last_name=LINK[:60])
    message = WebhookDelivery.objects.earliest("pk")
    return [
        *("/tables/", "/tables/C01/", "/tables/C02/", "/tables/C03/", "/tables/C03/1/", f"/tables/C01/1/{HAND}/"),
        *(f"/tables/C02/1/{HAND}/", f"/tables/C03/1/{HAND}/", "/tables/C03/display/", "/tables/C03/dealer/"),
        *("/tables/C03/shifts/", "/tables/C03/shifts/new/", "/incidents/", "/incidents/?status=all"),
        *(f"/incidents/{incident.pk}/", f"/incidents/{incident.pk}/?step=2", f"/incidents/?q={LINK}"),
        *("/dealers/", f"/dealers/{dealer.code}/", "/devices/", "/devices/SHOE-C01/", "/devices/SHOE-C01/edit/"),
        *("/devices/new/", "/webhooks/", "/webhooks/1/", "/webhooks/1/edit/", f"/webhooks/messages/{message.pk}/"),
        *("/webhooks/given-up/", "/account/", "/account/people/", "/preferences/", f"/reports/{NIGHT}/", "/sheets/"),
    ]


def wider(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_no_page_is_wider_than_its_screen(live_server: Any, browser: Browser, settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    scenes()
    pages = write_everywhere()
    found: list[str] = []
    for size, language in ((PHONE, "th"), (TABLET, "en")):
        context = browser.new_context(viewport=size)
        let_in(context, live_server.url, MANAGER)
        context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
        page = context.new_page()
        for address in pages:
            answer = page.goto(live_server.url + address)
            assert answer is not None
            assert answer.status == 200, address
            expect(page.locator("h1, #console").first).to_be_visible()
            if os.environ.get("SHOTS"):
                page.screenshot(path=f"{os.environ['SHOTS']}/{language}{address.replace('/', '_')[:60]}.png")
            if (more := wider(page)) > 0:
                found.append(f"{address[:60]} {size['width']}: {more} px wider than the screen")
        context.close()
    assert not found, "\n".join(found)

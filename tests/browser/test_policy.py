"""A real browser obeys the content security policy: what it refuses would show up here."""

from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import ConsoleMessage, Error, Page, Request, expect

from tests.conftest import PASSWORD, People


@pytest.mark.sqlite
def test_pages_need_nothing_that_the_policy_refuses(page: Page, live_server: Any, people: People) -> None:
    complaints: list[str] = []
    asked: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    def fail(error: Error) -> None:
        complaints.append(str(error))

    def see(request: Request) -> None:
        asked.append(request.url)

    page.on("console", hear)
    page.on("pageerror", fail)
    page.on("request", see)
    user = people("manager")

    page.goto("/login/?next=/look/")
    page.locator("input[name=username]").fill(user.username)
    page.locator("input[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_server.url}/look/")
    page.wait_for_load_state()

    assert page.evaluate("typeof htmx") == "object"
    assert complaints == []
    assert [url for url in asked if not url.startswith(live_server.url)] == []


#: Pages with scripts of their own beside the floor's, which their own tests go through.
SCRIPTED = (
    *(
        "/api/v1/docs/",
        "/account/",
        "/account/confirm/",
        "/devices/",
        "/devices/new/",
        "/webhooks/",
        "/webhooks/new/",
        "/webhooks/given-up/",
        "/account/people/",
        "/dealers/",
        "/incidents/",
        "/reports/",
    ),
    *("/admin/", "/admin/auth/user/add/", "/admin/dealing/table/", "/admin/dealing/table/add/"),
    *("/admin/dealing/staffmember/add/", "/admin/dealing/dealershift/", "/admin/incidents/auditday/"),
)


@pytest.mark.sqlite
def test_no_page_with_scripts_does_what_the_policy_refuses(page: Page, live_server: Any, people: People) -> None:
    complaints: list[str] = []
    asked: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # What is not there is heard of below; the icon that the browser looks for by itself is nobody's.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', event => "
        "console.error(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}`))"
    )
    user = people("manager")
    user.is_staff = user.is_superuser = True
    user.save()
    client = Client()
    client.force_login(user)
    page.context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}]
    )
    for address in SCRIPTED:
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        page.wait_for_load_state("networkidle" if "docs" in address else "load")
        assert complaints == [], address
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy, address
        assert "'none'" in policy
    assert [url for url in asked if not url.startswith((live_server.url, "data:"))] == []

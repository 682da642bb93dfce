"""Passkeys in a real browser, with an authenticator that the browser itself plays."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dealing.accounts.models import Passkey, SecurityEvent
from tests.conftest import PASSWORD, People


def authenticator(page: Page) -> tuple[Any, str]:
    """A built-in authenticator that always finds the right finger."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return cdp, made["authenticatorId"]


def type_password(page: Page) -> None:
    page.fill("[name=username]", "manager")
    page.fill("[name=password]", PASSWORD)
    page.press("[name=password]", "Enter")


@pytest.mark.sqlite
def test_a_manager_sets_one_up_and_comes_in_with_it_in_both_ways(
    live_server: Any, browser: Browser, people: People, settings: Any
) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    people("manager")
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(15_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    cdp, device = authenticator(page)

    # The first time: a passkey is made, recovery codes are shown, and then the page that was wanted.
    page.goto(f"{live_server.url}/login/?next=/look/")
    type_password(page)
    page.click("text=Set up a passkey")
    page.fill("[name=name]", "my phone")
    page.click("text=Make the passkey")
    expect(page.locator(".codes li")).to_have_count(10)
    page.click("text=I have kept them")
    page.wait_for_url(f"{live_server.url}/look/")
    assert Passkey.objects.get().name == "my phone"
    assert complaints == []

    # As a second factor, after the password.
    def leave() -> None:
        page.goto(f"{live_server.url}/account/")
        page.click("[data-menu] summary")
        page.click("text=Log out")
        page.wait_for_url(f"{live_server.url}/login/")

    leave()
    page.goto(f"{live_server.url}/login/?next=/look/")
    type_password(page)
    page.click("text=Use my passkey")
    page.wait_for_url(f"{live_server.url}/look/")

    # Instead of name and password.
    leave()
    page.goto(f"{live_server.url}/login/?next=/look/")
    page.click("text=Log in with a passkey")
    page.wait_for_url(f"{live_server.url}/look/")
    assert SecurityEvent.objects.filter(kind="logged in", detail="with a passkey").count() == 1

    # A finger that is not the right one lets nobody in.
    leave()
    cdp.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    page.click("text=Log in with a passkey")
    expect(page.locator("[data-passkey-said] p")).to_have_text(
        "The browser gave no passkey. Try again, or use another way."
    )
    cdp.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": True})

    # One that counts backwards was copied.
    Passkey.objects.update(sign_count=1_000_000)
    page.click("text=Log in with a passkey")
    expect(page.locator("#messages")).to_contain_text("not known here, or was not used rightly")
    assert SecurityEvent.objects.filter(kind="wrong factor", person="manager").count() == 1
    page.goto(f"{live_server.url}/look/")
    expect(page.locator("[name=username]")).to_be_visible()

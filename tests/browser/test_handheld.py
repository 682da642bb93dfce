"""What a phone and a tablet have little room for: the bar at the top, what scrolls sideways, filters, long texts; and
what is asked before it is done.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize, expect

from dealing.accounts.models import Authenticator, Passkey
from tests.browser.test_access import PHONE
from tests.conftest import MakeTable, People
from tests.incident_logs import House

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

TABLET = ViewportSize(width=1180, height=820)
MISPLACED = "open bet:1:banker=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:banker:1-9 end"
Open = Callable[..., Page]

#: Whether the right edge of the last child is in sight, and nothing of it has faded.
ALL_IN_SIGHT = """row => row.lastElementChild.getBoundingClientRect().right <= innerWidth + 0.5
  && row.scrollWidth <= row.clientWidth"""


def misdeals(table: MakeTable, people: People, count: int = 1) -> list[House]:
    houses = [House(table(f"B{number:02}", ruleset="insurance"), people) for number in range(1, count + 1)]
    for house in houses:
        house.record(MISPLACED)
    return houses


@pytest.mark.parametrize("language", ["en", "th"])
def test_all_sections_are_in_sight(enter: Open, table: MakeTable, people: People, language: str) -> None:
    misdeals(table, people)
    page = enter("manager", "/tables/", language, viewport=PHONE, has_touch=True)
    expect(page.locator(".nav > li")).to_have_count(4)
    assert page.locator(".nav").evaluate(ALL_IN_SIGHT)


@pytest.mark.parametrize("language", ["en", "th"])
def test_a_long_name_leaves_the_sections_their_room(enter: Open, people: People, language: str) -> None:
    people("manager")
    User.objects.update(first_name="Wilhelmina" * 6)
    page = enter("manager", "/tables/", language, viewport=TABLET, has_touch=True)
    assert page.locator(".nav").evaluate(ALL_IN_SIGHT)
    assert page.locator(".bar-tools").evaluate("tools => tools.getBoundingClientRect().right <= innerWidth")


def test_a_row_that_scrolls_fades_where_more_of_it_is(enter: Open, table: MakeTable, people: People) -> None:
    misdeals(table, people, 6)
    page = enter("manager", "/tables/", viewport=PHONE, has_touch=True)
    row = page.locator("[data-pit-banner] ul")
    fade = "row => getComputedStyle(row).getPropertyValue('--fade')"
    assert row.evaluate("row => row.scrollWidth > row.clientWidth")
    assert float(row.evaluate(fade).removesuffix("px")) > 20
    row.evaluate("row => row.scrollTo(row.scrollWidth, 0)")
    page.wait_for_timeout(200)
    assert float(row.evaluate(fade).removesuffix("px")) < 1
    assert page.locator(".nav").evaluate(fade) == "0px", "it does not scroll"


def test_the_filters_of_the_queue_are_folded_on_a_phone(enter: Open, table: MakeTable, people: People) -> None:
    misdeals(table, people)
    page = enter("manager", "/incidents/", viewport=PHONE, has_touch=True)
    choose = page.locator(".toolbar")
    expect(choose).to_be_hidden()
    first = page.locator(".incident-list a").first.bounding_box()
    assert first is not None
    assert first["y"] < PHONE["height"] / 3
    page.locator(".fold > summary").tap()
    expect(choose).to_be_visible()
    page.locator("#id_status").select_option("all")
    page.get_by_role("button", name="Show").tap()
    page.wait_for_url("**status=all**")
    expect(choose, "what was chosen is in sight").to_be_visible()

    wide = enter("manager", "/incidents/", viewport=TABLET, has_touch=True)
    expect(wide.locator(".toolbar")).to_be_visible()
    expect(wide.locator(".fold > summary")).to_be_hidden()


@pytest.mark.parametrize("size", [PHONE, TABLET], ids=["phone", "tablet"])
def test_a_long_reason_leaves_the_felt_its_place(
    enter: Open, table: MakeTable, people: People, size: ViewportSize
) -> None:
    here = misdeals(table, people)[0]
    before = enter("manager", f"/incidents/{here.incident().pk}/", viewport=size)
    usual = before.locator(".replay-now").bounding_box()
    here.decide("void hand", reason="It was so. " * 45)
    page = enter("manager", f"/incidents/{here.incident().pk}/", viewport=size)
    caption = page.locator(".replay-now")
    expect(caption).to_contain_text("It was so.")
    now = caption.bounding_box()
    assert usual is not None
    assert now is not None
    assert now["height"] < usual["height"] + 80
    assert "It was so. " * 44 in page.locator(".incident-log").inner_text(), "all of it stands in the log"


def test_a_second_factor_goes_only_after_a_question(enter: Open, people: People) -> None:
    page = enter("recorder", "/account/", viewport=PHONE, has_touch=True)
    user = people("recorder")
    Authenticator.objects.create(user=user, name="app", confirmed=True, key="x")
    Passkey.objects.create(user=user, name="k", credential_id="x", public_key=b"x", created_at=timezone.now())
    page.reload()
    really = page.get_by_role("button", name="Remove the app now")
    expect(really).to_be_hidden()
    page.locator("summary", has_text="Authenticator app").tap()
    expect(really).to_be_visible()
    assert Authenticator.objects.exists()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("button", name="Remove the passkey now")).to_be_hidden()
    expect(page.get_by_role("button", name="Make them now")).to_be_hidden()


def test_the_key_stays_after_a_wrong_code_and_the_browser_comes_back(enter: Open, people: People) -> None:
    page = enter("recorder", "/account/app/", viewport=PHONE, has_touch=True)
    secret = page.locator(".secret")
    expect(secret).to_have_count(0)
    page.get_by_role("link", name="I cannot scan it").tap()
    expect(secret).to_be_visible()
    for code, words in (("12345", "six digits"), ("000000", "This code is not right")):
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Finish").tap()
        expect(page.locator("#messages")).to_contain_text(words)
        expect(secret).to_be_visible()
    page.goto(page.url.split("/account/")[0] + "/account/")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Authenticator app")


def test_the_sound_button_tells_a_state_in_thai_too(enter: Open, table: MakeTable) -> None:
    table("B07")
    button = enter("manager", "/tables/", "th").locator("[data-pit-sound]")
    expect(button).to_have_text("เสียงเตือนปิดอยู่", use_inner_text=True)
    button.click()
    expect(button).to_have_text("เสียงเตือนเปิดอยู่", use_inner_text=True)

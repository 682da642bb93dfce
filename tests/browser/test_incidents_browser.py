"""A manager at work in a real browser: looks ahead, decides, sees what follows; on a phone, and without a mouse."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dealing.accounts.models import Session
from incidents.models import Decision
from tests.browser.floor import let_in
from tests.conftest import PASSWORD, MakeTable, People
from tests.incident_logs import House

MISPLACED = "open bet:1:banker=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:banker:1-9 end"

# On the other database too: a decision from queue to log, and one whose session ends. The rest is about the page.
Enter = Callable[[], House]


@pytest.fixture
def enter(page: Page, live_server: Any, table: MakeTable, people: People) -> Enter:
    """Record a misplaced fifth card, log in as a manager and open the queue."""

    def start() -> House:
        here = House(table("B07", ruleset="insurance"), people)
        here.record(MISPLACED)
        here.manager("nok")
        let_in(page.context, live_server.url, "nok")
        page.goto(f"{live_server.url}/incidents/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Incidents")
        return here

    return start


def look_ahead(page: Page) -> Any:
    return page.locator("#outlook")


def nothing_is_cut_off(page: Page) -> bool:
    page.wait_for_load_state()  # a link may just have been pressed: the next page is not there at once
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def decided(page: Page, here: House) -> None:
    """The page and the log both say that the cards were put right."""
    expect(page.get_by_text("Decided: Correct.")).to_be_visible()
    felt = page.get_by_label("As dealt")
    expect(felt.locator(".felt-total").first).to_have_text("Total 1")
    expect(felt.locator(".felt-total").last).to_have_text("Total 9")
    expect(felt.locator(".felt-wrong")).to_have_count(0)
    expect(page.locator(".decision-actions")).to_have_text("Correct")
    assert here.audit().dealt.as_dict() == {"P": ["2h", "3d", "6h"], "B": ["4s", "Kc", "5s"], "extra": []}


def test_a_manager_looks_ahead_and_decides(page: Page, enter: Enter) -> None:
    here = enter()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    expect(page.locator(".nav-count")).to_contain_text("1")
    page.get_by_role("link", name="B07 shoe 1 hand 1").click()

    # What the rules require is chosen already, and what it would do is said.
    expect(page.get_by_role("checkbox", name="Correct")).to_be_checked()
    expect(look_ahead(page)).to_contain_text("Card moved: B3 → P3")

    # Another choice shows another future, without leaving the page.
    page.get_by_role("checkbox", name="Correct").uncheck()
    expect(look_ahead(page)).to_contain_text("Choose what is to be done")
    page.get_by_text("Something the rules do not offer here").click()
    page.get_by_role("checkbox", name="Void the hand").check()
    expect(look_ahead(page)).to_contain_text("Voided: the hand")
    expect(look_ahead(page)).to_contain_text("This departs from what the rules require.")
    assert here.audit().status == "closed", "looking ahead changes nothing"

    # A reason typed meanwhile is kept.
    page.get_by_label("Reason").fill("half a thought")
    page.get_by_role("checkbox", name="Correct").check()
    expect(look_ahead(page)).to_contain_text("cannot both be done")
    page.get_by_role("checkbox", name="Void the hand").uncheck()
    expect(look_ahead(page)).to_contain_text("Banker wins")
    expect(look_ahead(page)).to_contain_text("Paid: seat 1 · Banker · 95.00")
    expect(page.get_by_label("Reason")).to_have_value("half a thought")

    page.get_by_role("button", name="Decide", exact=True).click()
    decided(page, here)
    expect(page.locator(".nav-count")).to_have_count(0)
    assert complaints == []


@pytest.mark.sqlite
def test_a_departure_without_a_reason_is_told_at_the_field(page: Page, enter: Enter) -> None:
    enter()
    page.get_by_role("link", name="B07 shoe 1 hand 1").click()
    page.get_by_role("checkbox", name="Correct").uncheck()
    page.get_by_text("Something the rules do not offer here").click()
    page.get_by_role("checkbox", name="Void the hand").check()
    expect(look_ahead(page)).to_contain_text("This departs from what the rules require.")
    page.get_by_role("button", name="Decide", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="Write down why")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Void the hand")).to_be_checked()
    page.get_by_label("Reason").fill("the camera shows it")
    page.get_by_role("button", name="Decide", exact=True).click()
    expect(page.get_by_text("Decided: Void the hand.")).to_be_visible()


@pytest.mark.sqlite
@pytest.mark.parametrize("scripts", [True, False])
def test_a_refused_decision_opens_at_what_is_wrong(page: Page, enter: Enter, scripts: bool) -> None:
    enter()
    page.get_by_role("link", name="B07 shoe 1 hand 1").click()
    reader = page
    if not scripts:
        assert page.context.browser
        bare = page.context.browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
        reader = bare.new_page()
        reader.goto(page.url)
    reader.set_viewport_size({"width": 390, "height": 844})
    reader.get_by_role("checkbox", name="Correct").uncheck()
    reader.get_by_role("button", name="Decide", exact=True).click()
    summary = reader.locator("#decide-wrong")
    expect(summary).to_be_in_viewport()
    expect(summary).to_be_focused()
    summary.get_by_role("link", name="Choose what is to be done").click()
    expect(reader.locator("#actions-error")).to_be_in_viewport()
    reader.get_by_text("Something the rules do not offer here").click()
    reader.get_by_role("checkbox", name="Void the hand").check()
    reader.get_by_role("button", name="Decide", exact=True).click()
    summary.get_by_role("link", name="Write down why").click()
    expect(reader.get_by_label("Reason")).to_be_focused()
    reader.keyboard.type("the camera shows it")
    reader.get_by_role("button", name="Decide", exact=True).click()
    expect(reader.get_by_text("Decided: Void the hand.")).to_be_in_viewport()
    if not scripts:
        reader.context.close()


def test_a_session_that_ends_meanwhile_loses_nothing(page: Page, enter: Enter) -> None:
    here = enter()
    page.get_by_role("link", name="B07 shoe 1 hand 1").click()
    address = page.url

    def choose_and_send() -> None:
        page.get_by_role("checkbox", name="Correct").uncheck()
        page.get_by_text("Something the rules do not offer here").click()
        page.get_by_role("checkbox", name="Void the hand").check()
        expect(look_ahead(page)).to_contain_text("Voided: the hand")
        page.get_by_label("Reason").fill("the camera shows it")
        Session.objects.all().delete()
        page.get_by_role("button", name="Decide", exact=True).click()

    def log_in(name: str) -> None:
        page.locator("input[name=username]").fill(name)
        page.locator("input[name=password]").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(re.escape(address)))

    told = page.get_by_text("Nothing was decided yet.")
    choose_and_send()
    log_in("nok")
    expect(told).to_be_visible()
    expect(page.get_by_role("checkbox", name="Void the hand")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Correct")).not_to_be_checked()
    expect(page.get_by_label("Reason")).to_have_value("the camera shows it")
    expect(look_ahead(page)).to_contain_text("Voided: the hand")
    assert not Decision.objects.exists()
    page.reload()
    expect(page.get_by_role("checkbox", name="Correct")).to_be_checked()
    expect(told).to_be_hidden()

    # What one manager wrote does not come back to another.
    here.manager("dao")
    choose_and_send()
    log_in("dao")
    expect(page.get_by_role("checkbox", name="Correct")).to_be_checked()
    expect(told).to_be_hidden()

    # Nor does what was decided.
    page.get_by_role("button", name="Decide", exact=True).click()
    decided(page, here)
    expect(told).to_be_hidden()


@pytest.mark.sqlite
def test_on_a_phone(page: Page, enter: Enter) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    here = enter()
    assert nothing_is_cut_off(page)
    page.get_by_role("link", name="B07 shoe 1 hand 1").click()
    page.wait_for_url("**/incidents/*/")
    assert nothing_is_cut_off(page)
    page.get_by_role("link", name="To the decision").click()
    button = page.get_by_role("button", name="Decide", exact=True)
    for target in (*page.locator(".option:visible").all(), button):
        box = target.bounding_box()
        assert box is not None
        assert box["height"] >= 44
    button.click()
    decided(page, here)
    assert nothing_is_cut_off(page)


@pytest.mark.sqlite
def test_without_a_mouse(page: Page, enter: Enter) -> None:
    here = enter()

    def tab_to(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            said = page.evaluate("(document.activeElement.closest('label') || document.activeElement).innerText")
            if said.strip().startswith(name):
                return
        raise AssertionError(f"Tab never comes to {name}")

    tab_to("B07 shoe 1 hand 1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("B07 shoe 1 hand 1")
    tab_to("Correct")
    page.keyboard.press("Space")
    expect(look_ahead(page)).to_contain_text("Choose what is to be done")
    page.keyboard.press("Space")
    expect(look_ahead(page)).to_contain_text("Card moved: B3 → P3")
    tab_to("Something the rules do not offer here")
    page.keyboard.press("Enter")
    expect(page.get_by_role("checkbox", name="Stand")).to_be_visible()
    tab_to("Decide")
    page.keyboard.press("Enter")
    decided(page, here)


@pytest.mark.sqlite
def test_a_hand_is_replayed_with_buttons_keys_and_slider(page: Page, enter: Enter) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    enter()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    # htmx itself notes a step that a newer one replaced; that is how it should be.
    replaced = ("htmx:sendAbort", "htmx:afterRequest")
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text)
            if message.type == "error" and not message.text.startswith(replaced)
            else None
        ),
    )
    page.get_by_role("link", name="B07 shoe 1 hand 1").click()
    now, felt, slider = page.locator(".replay-now"), page.get_by_label("As dealt"), page.locator("#replay-slider")
    expect(now).to_contain_text("step 11 of 11")
    expect(felt.locator(".card")).to_have_count(6)

    # Arrow keys, several at once: none is lost, and the answer to the last one stays.
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(now).to_contain_text("step 7 of 11")
    expect(felt.locator(".card")).to_have_count(4)
    expect(page.locator("[data-finding]")).to_have_count(0)
    expect(slider).to_have_value("7")

    page.get_by_role("link", name="Step on").click()
    expect(now).to_contain_text("step 8 of 11")
    expect(felt.locator(".card")).to_have_count(5)
    expect(page.locator("[data-finding=fifth-card-misplaced]")).to_have_count(1)
    expect(page.get_by_role("link", name="Step on")).to_be_focused()
    page.get_by_role("link", name="Step back").click()
    expect(now).to_contain_text("step 7 of 11")

    slider.focus()
    page.keyboard.press("Home")
    expect(now).to_contain_text("step 1 of 11")
    expect(page.get_by_role("link", name="Step back")).to_have_attribute("aria-disabled", "true")
    assert nothing_is_cut_off(page)
    for name in ("Step back", "Step on"):
        box = page.get_by_role("link", name=name).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44

    # The same step again after loading the page; and typing moves the text cursor, not the hand.
    page.reload()
    expect(now).to_contain_text("step 1 of 11")
    page.get_by_label("Reason").fill("ab")
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="to how it stands now").click()
    expect(now).to_contain_text("step 11 of 11")
    expect(page.get_by_label("Reason")).to_have_value("ab")
    assert complaints == []


@pytest.mark.sqlite
def test_a_review_note_is_written_beside_the_decision(page: Page, enter: Enter) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    enter()
    page.get_by_role("link", name="B07 shoe 1 hand 1").click()
    page.get_by_text("Add to the review").click()
    page.get_by_label("Whose error was it?").select_option(label="The dealer’s")
    page.get_by_label("Dealer on duty").select_option(label="NOK")
    page.get_by_label("Camera").fill("C-14")
    page.get_by_label("Money lost to the house").fill("much")
    assert nothing_is_cut_off(page)
    page.get_by_role("button", name="Keep this note").click()
    field = page.get_by_label("Money lost to the house")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("much")
    expect(page.locator("#id_money_lost_error")).to_contain_text("This is no amount.")
    field.fill("1,200")
    page.get_by_role("button", name="Keep this note").click()
    latest = page.locator("[data-review-latest]")
    expect(latest).to_contain_text("The dealer’s")
    expect(latest).to_contain_text("1,200.00")

    page.get_by_text("Attach a file").click()
    picture = {"name": "felt.png", "mimeType": "image/png", "buffer": b"<html>"}
    page.get_by_label("Picture or short video clip").set_input_files(picture)  # type: ignore[arg-type]  # a payload
    page.get_by_role("button", name="Keep this file").click()
    expect(page.locator("#id_file_error")).to_contain_text("This is no picture")
    assert nothing_is_cut_off(page)


@pytest.mark.sqlite
def test_the_queue_is_walked_without_a_mouse(page: Page, enter: Enter) -> None:
    here = enter()
    here.record("hand:2 open close P1:9h B1:4s P2:Kd B2:3c x:6h end hand:3 open close P1:9h B1:4s P2:Kd B2:3c x:7h end")
    page.reload()
    rows = [page.get_by_role("link", name=f"B07 shoe 1 hand {n}") for n in (1, 2, 3)]
    expect(page.locator("[data-queue-keys]")).to_be_visible()
    page.keyboard.press("j")
    expect(rows[0]).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(rows[2]).to_be_focused()
    page.keyboard.press("k")
    expect(rows[1]).to_be_focused()

    # What is typed into the search is typed, and does not walk.
    page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    page.keyboard.type("jk/")
    expect(search).to_have_value("jk/")
    search.fill("extra")
    page.keyboard.press("Enter")
    expect(rows[0]).to_have_count(0)
    expect(search).to_have_value("extra")
    page.keyboard.press("k")
    expect(rows[2]).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("B07 shoe 1 hand 3")

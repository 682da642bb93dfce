"""Bets, insurance and pays in a browser: whole hands by finger and by keyboard, on a tablet and on a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from dealing.models import BetLimit, Table, TableEvent
from tests.browser.floor import PHONE, TABLET, call, device, lines, open_shoe, press, recorded, tap
from tests.conftest import MakeTable, People

# About the page; on the other database it is the same.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

#: What the buttons are called.
WORDS = {
    "en": {
        "close": "Close betting", "record": "Record the bet", "odds": "Odds put up", "offer": "Open insurance",
        "end": "Close insurance", "all": "All paid", "same": "Record it all the same", "over": "time is over",
    },
    "th": {
        "close": "ปิดรับเดิมพัน", "record": "บันทึกเดิมพัน", "odds": "วางอัตราแล้ว", "offer": "เปิดรับประกัน",
        "end": "ปิดรับประกัน", "all": "จ่ายครบแล้ว", "same": "บันทึกตามจริง", "over": "หมดเวลา",
    },
}  # fmt: skip
AXE = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]},
}


def at(people: People, table: MakeTable, browser: Browser, address: str, ruleset: str, **options: Any) -> Page:
    people("supervisor", "sam")
    options.setdefault("viewport", TABLET)
    fields = options.pop("fields", {})
    made = table("B07", ruleset=ruleset, **fields)
    BetLimit.objects.create(table=made, bet="", minimum=50, maximum=5000)
    open_shoe(ruleset=ruleset)
    return device(browser, address, **options)


def count() -> int:
    return Table.objects.get().last_seq


def bet(page: Page, seat: int, name: str, stake: str | None = None) -> None:
    """A bet by finger: seat, bet, and one of the last stakes or a typed one."""
    seen = count()
    form = page.locator("#bets")
    if form.locator(f'[name=seat][value="{seat}"]').count():
        form.locator(f'label:has([name=seat][value="{seat}"])').click()
    else:
        form.locator("[name=seat_other]").fill(str(seat))
    form.locator(f'label:has([name=bet][value="{name}"])').click()
    quick = form.locator(f'[name=stake_quick][value="{stake}"]')
    if stake and quick.count():
        quick.click()
    else:
        if stake:
            form.locator("[name=stake]").fill(stake)
        form.locator("button.button-primary").click()
    recorded(page, seen + 1)


def no_violation(page: Page) -> None:
    found = Axe().run(page, options=AXE)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(("size", "language"), [(PHONE, "th"), (TABLET, "en")], ids=["phone-th", "tablet-en"])
def test_a_hand_with_bets_insurance_and_pays(
    live_server: Any, browser: Browser, people: People, table: MakeTable, size: Any, language: str
) -> None:
    words = WORDS[language]
    page = at(people, table, browser, live_server.url, "insurance", viewport=size, has_touch=True)
    if language == "th":
        page.locator('.languages [value="th"]').click()
        expect(page.locator("html")).to_have_attribute("lang", "th")
    # Bets: the same seat goes on without being chosen again, a last stake is one tap.
    bet(page, 3, "banker", "1000")
    page.locator('#bets label:has([name=bet][value="banker_pair"])').click()
    page.locator('#bets [name=stake_quick][value="1,000"]').click()
    recorded(page, 6)
    bet(page, 5, "player", "500")
    bet(page, 14, "tie", "100")
    assert [(one["seat"], one["bet"], one["stake"]) for one in lines()[4:]] == [
        (3, "banker", "1000"),
        (3, "banker_pair", "1000"),
        (5, "player", "500"),
        (14, "tie", "100"),
    ]
    expect(page.locator(".bets-standing > summary")).to_contain_text("2,600.00")
    # Outside the limit: said beside the field, kept, and recorded with one more press.
    page.locator('#bets label:has([name=seat][value="1"])').click()
    page.locator('#bets label:has([name=bet][value="player"])').click()
    page.locator("#bets [name=stake]").fill("9000")
    press(page, words["record"])
    expect(page.locator("#bets [name=stake]")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#bets [name=stake]")).to_have_value("9000")
    no_violation(page)
    press(page, words["same"])
    recorded(page, 9)
    expect(page.locator(".bets-remarked")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    # Insurance is offered when it is due.
    press(page, words["close"])
    recorded(page, 10)
    for n, card in enumerate(("9h", "4s", "3d", "Ac")):
        tap(page, card)
        recorded(page, 11 + n)
    offer = page.locator(".insurance-offer button")
    expect(offer).to_contain_text(words["offer"])
    offer.click()
    recorded(page, 15)
    clock = page.locator("[data-left]")
    expect(clock).to_have_text(re.compile(r"^(1[0-5]|\d)$"))
    press(page, words["odds"])
    recorded(page, 16)
    expect(page.locator('#bets [name=bet][value="insurance_banker"]')).to_be_checked()
    bet(page, 3, "insurance_banker", "500")
    no_violation(page)
    press(page, words["end"])
    recorded(page, 18)
    # The rest of the hand: Player 8, Banker 5.
    tap(page, "6d")
    recorded(page, 19)
    tap(page, "Ks")
    recorded(page, 20)
    call(page)
    recorded(page, 21)
    # Every seat's pay is worked out; one differs, and is said to at once.
    amounts = {one.get_attribute("name"): one.input_value() for one in page.locator(".pay-amount").all()}
    assert amounts == {"pay-1-player": "9,000.00", "pay-3-insurance_banker": "1,000.00", "pay-5-player": "500.00"}
    page.locator('[name="pay-5-player"]').fill("450")
    expect(page.locator("#pay-5-player-said")).to_contain_text("−50.00")
    expect(page.locator(".pay-differs")).to_have_count(1)
    page.locator('[name="pay-5-player"]').fill("500")
    expect(page.locator(".pay-differs")).to_have_count(0)
    no_violation(page)
    keys = [key.bounding_box() for key in page.locator("#pays button").all()]
    assert all(box and box["height"] >= 44 and box["width"] >= 44 for box in keys)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    press(page, words["all"])
    # Paid, closed, and betting open on the next hand: nothing was left to do. But the limit's bet stands as it was.
    recorded(page, 26)
    assert [one["event"] for one in lines()[21:]] == ["paid", "paid", "paid", "hand_closed", "betting_opened"]
    expect(page.locator("#console")).to_have_attribute("data-phase", "betting")
    expect(page.locator('#bets [name=stake_quick][value="9,000"]')).to_be_visible()


def test_bets_by_keyboard_alone(live_server: Any, browser: Browser, people: People, table: MakeTable) -> None:
    page = at(people, table, browser, live_server.url, "commission")
    keyboard = page.keyboard
    page.locator("#bets [name=seat_other]").focus()
    keyboard.type("3")
    keyboard.press("Enter")
    keyboard.press("ArrowRight")  # Banker
    keyboard.press("Enter")
    expect(page.locator("#bets [name=stake]")).to_be_focused()
    keyboard.type("500")
    keyboard.press("Enter")
    recorded(page, 5)
    # The focus is back at the bets, the seat and the stake stand.
    expect(page.locator("#bets [name=bet]:focus")).to_have_count(1)
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")  # Tie
    keyboard.press("Enter")
    keyboard.press("Enter")
    recorded(page, 6)
    # A digit at the bets is another seat.
    expect(page.locator("#bets [name=bet]:focus")).to_have_count(1)
    keyboard.press("7")
    expect(page.locator('#bets [name=seat][value="7"]')).to_be_checked()
    keyboard.press("Enter")
    keyboard.type("200")
    keyboard.press("Enter")
    recorded(page, 7)
    assert [(one["seat"], one["bet"], one["stake"]) for one in lines()[4:]] == [
        (3, "banker", "500"),
        (3, "tie", "500"),
        (7, "player", "200"),
    ]


def test_a_seat_on_both_sides_is_warned_before_the_press(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    page = at(people, table, browser, live_server.url, "commission")
    bet(page, 3, "banker", "100")
    warning = page.locator("#bets [data-warning]")
    page.locator('#bets label:has([name=bet][value="player"])').click()
    expect(warning).to_contain_text("One seat on both sides")
    page.locator('#bets label:has([name=seat][value="4"])').click()
    expect(warning).to_be_empty()


def test_several_bets_while_the_network_is_down(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    page = at(people, table, browser, live_server.url, "commission")
    page.route("**/record/", lambda route: route.abort())
    for seat in (1, 2, 3):
        page.locator(f'#bets label:has([name=seat][value="{seat}"])').click()
        page.locator('#bets label:has([name=bet][value="banker"])').click()
        page.locator("#bets [name=stake]").fill(f"{seat}00")
        page.locator("#bets button.button-primary").click()
    expect(page.locator("#unsent")).to_contain_text("3")
    assert TableEvent.objects.filter(name="bet").count() == 0
    page.unroute("**/record/")
    recorded(page, 7)
    assert [(one["seat"], one["stake"]) for one in lines()[4:]] == [(1, "100"), (2, "200"), (3, "300")]


def test_one_row_is_paid_with_enter_in_its_amount(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    page = at(people, table, browser, live_server.url, "commission", fields={"follow_on": False})
    bet(page, 1, "banker", "100")
    bet(page, 2, "banker", "200")
    press(page, "Close betting")
    recorded(page, 7)
    for n, card in enumerate(("2h", "4s", "Kd", "3c", "Ks")):
        tap(page, card)
        recorded(page, 8 + n)
    page.locator('[name="pay-2-banker"]').fill("180")
    page.keyboard.press("Enter")
    recorded(page, 13)
    assert (lines()[-1]["seat"], lines()[-1]["amount"]) == (2, "180")
    expect(page.locator("#pays")).to_contain_text("Seat 2 · Banker: paid 180.00, owed 190.00, difference −10.00")
    expect(page.locator('[name="pay-2-banker"]')).to_have_value("10.00")
    expect(page.locator('[name="pay-1-banker"]')).to_have_value("95.00")


def test_the_countdown_says_when_it_is_over_and_closes_nothing(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    page = at(people, table, browser, live_server.url, "insurance", fields={"insurance_seconds": 3})
    press(page, "Close betting")
    recorded(page, 5)
    for n, card in enumerate(("9h", "4s", "3d", "Ac")):
        tap(page, card)
        recorded(page, 6 + n)
    page.locator(".insurance-offer button").click()
    recorded(page, 10)
    expect(page.locator("#said")).to_contain_text("seconds of insurance time left")
    expect(page.locator(".insurance-over")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("Insurance time is over: close it")
    expect(page.locator(".insurance-late")).to_be_visible()
    recorded(page, 10)
    # Another answer does not start it again.
    press(page, "Odds put up")
    recorded(page, 11)
    expect(page.locator(".insurance-over")).to_be_visible()
    press(page, "Close insurance")
    recorded(page, 12)
    expect(page.locator(".insurance")).to_have_count(0)


def test_the_last_hand_is_announced_and_another_needs_a_second_press(
    live_server: Any, browser: Browser, people: People, table: MakeTable
) -> None:
    page = at(people, table, browser, live_server.url, "commission", fields={"follow_on": False})
    press(page, "Close betting")
    recorded(page, 5)
    for n, card in enumerate(("9h", "4s", "Kd", "3c")):
        tap(page, card)
        recorded(page, 6 + n)
    page.locator("#wrong-button").click()
    page.get_by_role("button", name="Cut card in this hand").click()
    recorded(page, 10)
    expect(page.locator(".last-hand")).to_contain_text("Last hand")
    expect(page.locator("#said-loud")).to_contain_text("this is the last hand of the shoe")
    call(page)
    recorded(page, 11)
    press(page, "Close hand 1")
    recorded(page, 12)
    expect(page.locator("#said-loud")).to_contain_text("no further hand")
    no_violation(page)
    press(page, "Betting was opened all the same")
    expect(page.locator(".ask")).to_contain_text("SHOE-after")
    no_violation(page)
    assert count() == 12
    press(page, "Hand 2 was dealt all the same")
    recorded(page, 13)
    assert lines()[-1]["event"] == "betting_opened"

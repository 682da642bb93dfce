"""Whole jobs, as people at a table do them: a shoe from its first card to the manager's decisions and its close.

Everything is done by what can be seen and pressed. Afterwards the log alone is judged, and says what happened.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import gettext
from playwright.sync_api import Browser, Locator, Page, Request, TimeoutError, expect

from dealing.exporter import export_table
from dealing.log import record
from dealing.logfile import LogFile
from dealing.models import Table
from dealing.projections import differences, rebuild_table
from dealing.rules.events import BettingClosed, Called, CardDealt
from dealing.rules.judge import HandFold
from dealing.simulator import simulate_shoe
from dealing.verify import verify_table
from tests.browser.floor import PHONE, TABLET, lines, open_shoe, pause, phase, recorded, tap, told
from tests.conftest import PASSWORD, MakeTable, People
from tests.table_logs import START

# On the other database too: one shoe through, in one language. The others are about fingers, keys and Thai.
pytestmark = pytest.mark.django_db(transaction=True)

expect.set_options(timeout=15_000)


@dataclass
class Worker:
    """Somebody at a device of their own, working in a language."""

    page: Page
    language: str = "en"
    loads: list[str] = field(default_factory=list)

    def say(self, text: str, **values: object) -> str:
        """What a text of the pages is in this person's language."""
        with translation.override(self.language):
            told = gettext(text)
        return told % values if values else told

    def press(self, what: Locator) -> None:
        """A finger where the device has a touch screen, else the mouse."""
        what = what.locator("visible=true").first
        if self.page.evaluate("navigator.maxTouchPoints"):
            what.tap()
        else:
            what.click()

    def button(self, text: str, **values: object) -> None:
        """Press the button or link of the page that is called so."""
        name = re.compile(re.escape(self.say(text, **values)))
        main = self.page.locator("#main")
        self.press(main.get_by_role("button", name=name).or_(main.get_by_role("link", name=name)))

    def on_to(self, name: str, text: str, **values: object) -> None:
        """Press what leads to this phase. Two taps on one spot within 300 ms are one: then it is pressed again."""
        there = f"#console[data-phase={name}]"
        for _press in range(5):
            self.button(text, **values)
            with suppress(TimeoutError):
                self.page.wait_for_selector(there, timeout=1_000)
                return
        raise AssertionError(f"{text} leads to no {name}")

    def choose(self, form: Locator, name: str, value: str) -> None:
        """Press the key of this choice."""
        self.press(form.locator(f'label:has([name="{name}"][value="{value}"])'))

    def cards(self, cards: str) -> None:
        """Tap cards' keys, rank and suit."""
        for card in cards.split():
            self.press(self.page.locator(f'#entry label.key:has(input[value="{card[0]}"])'))
            self.press(self.page.locator(f"#suit-{card[1]}"))

    def bet(self, seat: int, bet: str, stake: str) -> None:
        """A bet: seat, bet and stake, or one of the last stakes."""
        form = self.page.locator("#bets")
        self.choose(form, "seat", str(seat))
        self.choose(form, "bet", bet)
        form.locator("[name=stake]").fill(stake)
        self.press(form.get_by_role("button", name=self.say("Record the bet")))

    def call(self) -> None:
        """Press the result that is right."""
        self.press(self.page.locator(".call-right"))

    def sheet(self) -> Locator:
        """The sheet over the page."""
        return self.page.get_by_role("dialog")


Enter = Callable[..., Worker]


@pytest.fixture
def enter(live_server: Any, browser: Browser, people: People) -> Iterator[Enter]:
    """`enter("recorder", "/tables/B07/", "th", viewport=PHONE)`: somebody logs in on a device of their own."""
    contexts = []

    def make(group: str, address: str, language: str = "en", **options: Any) -> Worker:
        user = people(group)
        context = browser.new_context(locale="en-GB", timezone_id="Asia/Bangkok", **options)
        contexts.append(context)
        context.set_default_timeout(15_000)
        page = context.new_page()
        worker = Worker(page, language)
        page.goto(f"{live_server.url}/login/?next={address}")
        if language != "en":
            worker.press(page.locator(f'.languages [value="{language}"]'))
            expect(page.locator("html")).to_have_attribute("lang", language)
        page.fill("[name=username]", user.username)
        page.fill("[name=password]", PASSWORD)
        page.press("[name=password]", "Enter")
        page.wait_for_url(f"**{address}")
        page.wait_for_load_state()
        if page.locator("#console").count():
            page.wait_for_function("() => window.deviceQueue && window.tableConsole")
        page.on("load", lambda loaded: worker.loads.append(loaded.url))
        return worker

    yield make
    for context in contexts:
        context.close()


def log_agrees() -> list[tuple[int | None, str, str]]:
    """Hand, code and state of every finding of the exported log; the stored shoes and hands have to say the same."""
    table = Table.objects.get()
    assert verify_table(table.code).broken is None
    assert list(differences(table)) == []
    rebuilt = rebuild_table(table.code)
    assert (rebuilt.changed, rebuilt.deleted) == (0, 0)
    text = io.StringIO()
    assert export_table(table, text) == table.last_seq
    found: list[tuple[int | None, str, str]] = []
    with LogFile(io.BytesIO(text.getvalue().encode())) as log:
        for fold in log.folds():
            hand = fold.audit().hand if isinstance(fold, HandFold) else None
            found += [(hand, finding.code, finding.state) for finding in fold.audit().findings]
        assert log.bad == []
    return found


def decide(manager: Worker, code: str, action: str, preview: str) -> None:
    """From the pit page to the decision: the required option is chosen already; what it would do is looked at."""
    page = manager.page
    manager.press(page.locator("#incident-B07"))
    expect(page.locator(f'[data-finding="{code}"]').first).to_be_visible()
    option = page.locator(f'#decide [name=actions][value="{action}"]')
    expect(option).to_be_checked()
    manager.press(page.locator(f'#decide label:has([value="{action}"])'))
    expect(option).not_to_be_checked()
    expect(page.locator("#outlook [data-outlook]")).to_have_count(0)
    manager.press(page.locator(f'#decide label:has([value="{action}"])'))
    expect(page.locator("#outlook [data-outlook]")).to_contain_text(preview)
    manager.press(page.locator("#decide").get_by_role("button", name=manager.say("Decide"), exact=True))
    expect(page.locator("#decisions-head")).to_be_visible()


@pytest.mark.parametrize(
    ("ruleset", "language", "size"),
    [
        pytest.param("insurance", "en", TABLET, id="insurance-tablet-en"),
        pytest.param("commission", "th", PHONE, id="commission-phone-th", marks=pytest.mark.sqlite),
    ],
)
def test_a_shoe_with_two_misdeals_through_to_the_decisions(
    enter: Enter, table: MakeTable, ruleset: str, language: str, size: Any
) -> None:
    table("B07", ruleset=ruleset)
    supervisor, recorder = (
        enter(group, "/tables/B07/", language, viewport=size, has_touch=True) for group in ("supervisor", "recorder")
    )
    manager = enter("manager", "/tables/", language, viewport=size, has_touch=True)
    page, pit = recorder.page, manager.page

    # The supervisor starts the shoe; the recorder sees it come.
    supervisor.button("Open the shoe")
    recorded(supervisor.page, 1)
    supervisor.cards("5h")
    recorded(supervisor.page, 2)
    supervisor.button("Record the burn")
    recorded(page, 3)

    # A clean hand.
    recorder.on_to("betting", "Open betting · hand %(number)s", number=1)
    recorder.on_to("dealing", "Close betting · hand %(number)s", number=1)
    recorder.cards("9h 4s Kd 3c")
    recorder.call()
    recorded(page, 12)

    # Two seats bet; the pays are worked out and confirmed with one press.
    recorder.bet(3, "banker", "1000")
    recorder.bet(5, "player", "500")
    recorded(page, 14)
    recorder.on_to("dealing", "Close betting · hand %(number)s", number=2)
    recorder.cards("6h 7s Kd Kc")
    recorder.call()
    recorded(page, 20)
    expect(page.locator(".pay-amount")).to_have_value("950.00")
    recorder.button("All paid")
    recorded(page, 23)

    # The fifth card on the wrong side: said at once, with its rule.
    recorder.bet(3, "banker", "1000")
    recorded(page, 24)
    recorder.on_to("dealing", "Close betting · hand %(number)s", number=3)
    recorder.cards("2h Kc 3d Ad")
    recorded(page, 29)
    recorder.choose(page.locator("#entry"), "to", "B3")
    recorder.cards("6h")
    recorded(page, 30)
    finding = page.locator('[data-finding="fifth-card-misplaced"]')
    expect(finding).to_contain_text("INC-order")

    # The manager sees it in the pit, looks ahead and decides; the recorder's table is put right by itself.
    expect(pit.locator("#incident-B07")).to_be_visible()
    assert manager.loads == []
    decide(manager, "fifth-card-misplaced", "correct", "B3 → P3")
    recorded(page, 31)
    expect(page.locator('[data-place="P3"] .card')).to_have_count(1)
    expect(page.locator('[data-place="B3"] .card')).to_have_count(0)
    expect(finding).to_have_class(re.compile("finding-corrected"))
    expect(page.locator('#entry [name="to"][value="B3"]')).to_be_checked()
    recorder.cards("4c")
    recorded(page, 32)
    recorder.call()
    recorded(page, 33)
    recorder.button("All paid")
    recorded(page, 36)

    # A card before betting was closed: the hand is void, and the stake goes back.
    manager.press(pit.locator('.nav a[href="/tables/"]'))
    expect(pit.locator("#tile-B07")).to_be_visible()
    expect(pit.locator("#incident-B07")).to_have_count(0)
    pit.wait_for_load_state()
    manager.loads.clear()
    recorder.bet(5, "player", "500")
    recorded(page, 37)
    recorder.button("A card was dealt already")
    recorder.choose(recorder.sheet(), "card_rank", "8")
    recorder.choose(recorder.sheet(), "card_suit", "s")
    recorder.press(recorder.sheet().get_by_role("button", name=recorder.say("Record")))
    recorded(page, 38)
    expect(page.locator('[data-finding="exposed-during-betting"]')).to_contain_text("INC-bet-exposed")
    expect(page.locator("#console > .notice-danger")).to_have_count(0)  # nothing else was shown before
    expect(pit.locator("#tile-B07")).to_contain_text(manager.say("Manager needed"))
    assert manager.loads == []
    decide(manager, "exposed-during-betting", "void hand", manager.say("Voided"))
    recorded(page, 39)
    phase(page, "over")
    expect(page.locator(".due-words")).to_contain_text(recorder.say("void, every stake goes back"))
    assert recorder.loads == []

    # Insurance with odds put up wrong; without insurance, two bets of their own kind.
    recorder.on_to("betting", "Open betting · hand %(number)s", number=5)
    recorded(page, 40)
    if ruleset == "insurance":
        recorder.bet(3, "banker", "1000")
        recorded(page, 41)
        recorder.on_to("dealing", "Close betting · hand %(number)s", number=5)
        recorder.cards("9h 4s 3d Ac")
        recorded(page, 46)
        recorder.press(page.locator(".insurance-offer button"))
        recorded(page, 47)
        recorder.button("Other odds or spot")
        sheet = recorder.sheet()
        sheet.locator("[name=odds]").fill("3")
        recorder.press(sheet.get_by_role("button", name=recorder.say("Record the odds")))
        recorded(page, 48)
        expect(page.locator('[data-finding="insurance-odds-wrong"]')).to_contain_text("INS-rate")
        recorder.bet(3, "insurance_banker", "500")
        recorded(page, 49)
        recorder.button("Close insurance")
        recorded(page, 50)
        recorder.cards("8d")  # Player 0, Banker 5: the banker's bet wins, the insurance is lost
        recorded(page, 51)
        recorder.call()
        recorded(page, 52)
        expect(page.locator(".pay-amount")).to_have_value("950.00")
        recorder.button("All paid")
        count = 55  # a finding that only stands holds nothing: closed, and betting is open on the next
    else:
        recorder.bet(3, "big", "200")
        recorded(page, 41)
        recorder.bet(7, "super_6", "100")
        recorded(page, 42)
        recorder.on_to("dealing", "Close betting · hand %(number)s", number=5)
        recorder.cards("2h 6s 3d Kh 8d")
        recorded(page, 48)
        recorder.call()
        recorded(page, 49)
        amounts = {one.get_attribute("name"): one.input_value() for one in page.locator(".pay-amount").all()}
        assert amounts == {"pay-3-big": "100.00", "pay-7-super_6": "1,200.00"}
        recorder.button("All paid")
        count = 53
    recorded(page, count)

    # The cut card comes out while a hand is dealt: the last hand is announced, and another is refused.
    recorder.on_to("dealing", "Close betting · hand %(number)s", number=6)
    recorder.cards("8h 3s")
    recorded(page, count + 3)
    recorder.button("Cut card came out")
    recorded(page, count + 4)
    for person in (recorder, supervisor):
        expect(person.page.locator(".last-hand")).to_be_visible()
        expect(person.page.locator("#said-loud")).not_to_be_empty()
    recorder.cards("Kd 2c")
    recorded(page, count + 6)
    recorder.call()
    recorded(page, count + 8)
    expect(page.locator(".last-hand-done")).to_be_visible()
    recorder.button("Betting was opened all the same")
    expect(page.locator(".ask")).to_contain_text("SHOE-after")
    recorder.button("Go back: nothing was dealt")
    expect(page.locator(".ask")).to_have_count(0)
    recorded(page, count + 8)

    # The supervisor closes the shoe.
    supervisor.button("Close shoe %(number)s", number=1)
    sheet = supervisor.sheet()
    expect(sheet.locator('[name=reason][value="finished"]')).to_be_checked()
    supervisor.press(sheet.get_by_role("button", name=supervisor.say("Close the shoe")))
    recorded(page, count + 9)
    phase(page, "no-shoe")
    assert recorder.loads == supervisor.loads == []

    wrong = [(3, "fifth-card-misplaced", "corrected"), (4, "exposed-during-betting", "corrected")]
    odds = [(5, "insurance-odds-wrong", "open")] if ruleset == "insurance" else []
    assert log_agrees() == wrong + odds
    assert [line["event"] for line in lines()].count("betting_opened") == 6
    assert lines()[-1] | {"reason": "finished"} == lines()[-1]


# Without a mouse.


def tab_to(page: Page, words: str, key: str = "Tab") -> None:
    """Press Tab until what is called so has the focus."""
    for _press in range(80):
        page.keyboard.press(key)
        said = page.evaluate("(document.activeElement.closest('label') || document.activeElement).innerText || ''")
        if said.strip().startswith(words):
            return
    raise AssertionError(f"Tab never comes to {words}")


def type_cards(page: Page, *cards: str) -> None:
    for card in cards:
        expect(page.locator("#entry-card")).to_be_focused()
        page.keyboard.type(card)
        page.keyboard.press("Enter")


def enter_on(page: Page, words: str) -> None:
    """The focus comes to what is next by itself: Enter presses it."""
    expect(page.locator("#console").get_by_role("button", name=words)).to_be_focused()
    page.keyboard.press("Enter")


@pytest.mark.sqlite
def test_a_shoe_with_a_misdeal_without_a_mouse(enter: Enter, table: MakeTable) -> None:
    table()
    page = enter("supervisor", "/tables/B07/").page
    pit = enter("manager", "/tables/").page
    enter_on(page, "Open the shoe")
    recorded(page, 1)
    type_cards(page, "5h")
    recorded(page, 2)
    enter_on(page, "Record the burn")
    recorded(page, 3)
    enter_on(page, "Open betting · hand 1")
    recorded(page, 4)
    enter_on(page, "Close betting · hand 1")
    type_cards(page, "9h", "4s", "kd", "3c")
    expect(page.locator(".call-right")).to_be_focused()
    page.keyboard.press("Enter")
    recorded(page, 12)

    # The fifth card on the wrong side, and the manager's decision.
    enter_on(page, "Close betting · hand 2")
    type_cards(page, "2h", "kc", "3d", "ad", "b3 6h")
    recorded(page, 18)
    expect(page.locator('[data-finding="fifth-card-misplaced"]')).to_contain_text("INC-order")
    expect(pit.locator("#incident-B07")).to_be_visible()
    for _press in range(40):
        pit.keyboard.press("Tab")
        if pit.evaluate("document.activeElement.id") == "incident-B07":
            break
    pit.keyboard.press("Enter")
    expect(pit.get_by_role("heading", level=1)).to_have_text("B07 shoe 1 hand 2")
    tab_to(pit, "Correct")
    pit.keyboard.press("Space")
    expect(pit.locator("#outlook")).to_contain_text("Choose what is to be done")
    pit.keyboard.press("Space")
    expect(pit.locator("#outlook")).to_contain_text("Card moved: B3 → P3")
    tab_to(pit, "Decide")
    pit.keyboard.press("Enter")
    expect(pit.get_by_text("Decided: Correct.")).to_be_visible()

    # It is put right under the hands of the one who records; the sheet for what is unusual is opened and closed.
    recorded(page, 19)
    expect(page.locator('[data-place="P3"] .card')).to_have_count(1)
    tab_to(page, "Something went wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#entry-card")).to_be_focused()  # the next card can be typed at once
    tab_to(page, "Something went wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    tab_to(page, "Cut card in this hand")
    page.keyboard.press("Enter")
    recorded(page, 20)
    expect(page.locator(".last-hand")).to_be_visible()
    type_cards(page, "4c")
    expect(page.locator(".call-right")).to_be_focused()
    page.keyboard.press("Enter")
    recorded(page, 23)

    # The shoe is over.
    expect(page.get_by_role("link", name="Close shoe 1")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Finished")).to_be_focused()
    tab_to(page, "Close the shoe")
    page.keyboard.press("Enter")
    recorded(page, 24)
    phase(page, "no-shoe")
    assert log_agrees() == [(2, "fifth-card-misplaced", "corrected")]
    assert told(18) == ["moved P3", "cut_card", "card B3 4c", "called", "hand_closed", "shoe_closed"]


# Faster than the server.


@pytest.mark.sqlite
def test_twelve_hands_tapped_while_the_server_answers_slowly(enter: Enter, table: MakeTable) -> None:
    table(ranks_only=True)
    open_shoe()
    page = enter("recorder", "/tables/B07/", viewport=PHONE).page
    shoe = simulate_shoe("B07", 1, "commission", 7, START, bets=False, hands=12, face_down=0, ranks_only=True)
    hands = [event for event in shoe if event.hand is not None][1:]  # betting is open already
    answered: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/record/"):
            answered.append(request.url)

    page.on("requestfinished", note)
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    network = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    wire.send("Network.emulateNetworkConditions", {**network, "latency": 400})
    expect(page.locator("#console")).to_have_attribute("data-layout", "0")
    page.wait_for_function("() => performance.getEntriesByType('resource').some((one) => one.name.endsWith('.json'))")
    taps, before = 0, ""
    for event in hands:
        if isinstance(event, BettingClosed):
            page.get_by_role("button", name=f"Close betting · hand {event.hand}").click()
        elif isinstance(event, CardDealt):
            if str(event.card) == before:
                pause(page)
            tap(page, before := str(event.card))
        elif isinstance(event, Called):
            page.locator(".call-right").click()
        else:
            continue
        taps += 1
    behind = taps - len(answered)
    assert behind > taps / 3, f"{behind} of {taps} taps are still on their way: the page waited for no answer"
    expect(page.locator("#unsent")).to_contain_text("not sent:")
    wire.send("Network.emulateNetworkConditions", {**network, "latency": 0})
    recorded(page, 4 + len(hands) + 1)  # and betting is open on the next
    expect(page.locator("#unsent")).to_be_hidden()
    assert len(answered) == taps
    dealt = [" ".join(filter(None, [one.name, getattr(one, "to", ""), str(getattr(one, "card", ""))])) for one in hands]
    assert told(4) == [*dealt, "betting_opened"]
    assert [line["hand"] for line in lines()[4:]] == [*(event.hand for event in hands), 13]
    assert log_agrees() == []


@pytest.mark.sqlite
def test_quick_taps_on_keys_beside_each_other_are_all_meant(enter: Enter, table: MakeTable) -> None:
    """A touch screen may count them as a double press; only on the same spot the second one is none."""
    table()
    open_shoe()
    page = enter("recorder", "/tables/B07/", viewport=TABLET).page
    page.get_by_role("button", name="Close betting").click()
    recorded(page, 5)
    keys = ('#entry label.key:has(input[value="6"])', "#suit-h", '#entry label.key:has(input[value="7"])', "#suit-s")
    expect(page.locator(keys[0])).to_be_visible()
    boxes = [page.locator(key).bounding_box() for key in keys]
    for number, box in enumerate(boxes):
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down(click_count=1 + number % 2)
        page.mouse.up(click_count=1 + number % 2)
    recorded(page, 7)
    assert told(5) == ["card P1 6h", "card B1 7s"]


def test_a_key_is_not_taken_away_from_under_a_finger(enter: Enter, table: MakeTable) -> None:
    """What another device recorded arrives between the press and the letting go."""
    table()
    open_shoe()
    page = enter("recorder", "/tables/B07/", viewport=TABLET).page
    page.get_by_role("button", name="Close betting").click()
    recorded(page, 5)
    key = page.locator('#entry label.key:has(input[value="7"])')
    box = key.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    late = {"event": "bet", "table": "B07", "shoe": 1, "hand": 1, "seat": 1, "bet": "tie", "stake": "10.00"}
    record(late, actor="other")
    page.wait_for_timeout(900)  # the page asks more often
    page.mouse.up()
    page.locator("#suit-s").click()
    recorded(page, 7)
    assert told(6) == ["card P1 7s"]

"""Insurance at the console: when it is offered, its time, and each of the six things that can go wrong with it."""

from __future__ import annotations

import datetime as dt
import html
import re
from typing import Any

import pytest
from django.test import Client

from dealing.console.state import load
from dealing.log import record
from dealing.models import Table
from dealing.rules.rulesets import get_ruleset
from tests.conftest import MakeTable, People
from tests.test_console import Console
from tests.test_console_money import text

pytestmark = pytest.mark.django_db

DUE = ("9h", "4s", "3d", "Ac")  # Player 2, Banker 5: insurance on Banker at 2
SECOND = ("2h", "3s", "2d", "2c", "6h")  # Player drew to 0, Banker has 5 and draws
NOT_DUE = ("9h", "4s", "Kd", "3c")  # a natural: no card is due


@pytest.fixture
def console(client: Client, people: People, table: MakeTable) -> Console:
    """A supervisor at a table with insurance, the shoe ready."""
    client.force_login(people("supervisor", "sam"))
    return Console(client, table("B08", ruleset="insurance", follow_on=False)).shoe("insurance")


def forms(page: str) -> list[dict[str, str]]:
    """What each form of the page would send, its hidden fields, by the text of its first button."""
    found = []
    for form in re.findall(r"<form[^>]*data-records.*?</form>", page, re.S):
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
        found.append(fields | {"button": text(re.sub(r".*?<button[^>]*>(.*?)</button>.*", r"\1", form, flags=re.S))})
    return found


def press(console: Console, words: str) -> Console:
    """Press the button of the page whose text has these words: exactly what its form sends."""
    page = console.look()
    (form,) = [form for form in forms(page) if words in form["button"]]
    fields = {name: html.unescape(value) for name, value in form.items() if name not in ("button", "event")}
    console.press(form["event"], **fields)
    assert console.status == 200, text(console.page)
    return console


def open_window(console: Console, *cards: str) -> Console:
    return press(console.hand(*cards), "Open insurance")


def ruled(console: Console, code: str, rule: str, ruling: str) -> None:
    """The finding is on the page with its ruling and the rule cited."""
    page = console.page
    assert page.count(f'data-finding="{code}"') == 1
    box = page[page.index(f'data-finding="{code}"') :]
    box = text(box[: box.index("</details>")])
    assert ruling in box
    if rule:
        assert rule in box
        cited = get_ruleset("insurance").cite(rule, "en")
        assert cited is not None
        assert cited.text in box
    else:
        assert "No documented rule" in box


def codes(console: Console) -> set[str]:
    return set(re.findall(r'data-finding="([^"]+)"', console.page))


# Offered.


def test_it_is_offered_when_it_is_due_with_side_and_odds(console: Console) -> None:
    console.hand(*DUE[:3])
    assert "Open insurance" not in text(console.page)
    console.cards(DUE[3])
    assert "Insurance is due before the next card" in text(console.page)
    assert "Open insurance 1: Banker at 2" in text(console.page)


def test_the_second_time_is_offered_after_the_first(console: Console) -> None:
    open_window(console, *SECOND[:4])
    press(console, "Close insurance")
    console.cards(SECOND[4])
    assert "Open insurance 2: Banker" in text(console.page)


@pytest.mark.parametrize("cards", [NOT_DUE, DUE[:2]])
def test_it_is_not_offered_when_it_is_not_due(console: Console, cards: tuple[str, ...]) -> None:
    console.hand(*cards)
    assert "Insurance is due" not in text(console.page)


def test_a_whole_insurance_time_raises_nothing(console: Console) -> None:
    open_window(console, *DUE)
    assert "Insured: Banker, pays 2: 1" in text(console.page)
    press(console, "Odds put up: Banker 2")
    assert "Odds up: Banker 2, on the spot of Banker" in text(console.page)
    console.press("bet", seat=3, bet="insurance_banker", stake="100")
    assert console.status == 200
    press(console, "Close insurance")
    console.cards("6d", "Ks")  # Player wins 8 to 5
    assert codes(console) == set()
    assert re.findall(r'name="(pay-[^"]+)" value="([^"]+)"', console.page) == [("pay-3-insurance_banker", "200.00")]
    assert "100.00 × 2 · stake back" in text(console.page)


def test_insurance_bets_are_entered_by_the_same_keys_and_nothing_else_is_offered(console: Console) -> None:
    open_window(console, *DUE)
    form = console.page[console.page.index('id="bets"') :]
    first = re.findall(r'name="bet" value="(\w+)"', form[: form.index("<details")])
    assert first == ["insurance_player", "insurance_banker"]
    assert re.search(r'value="insurance_banker"[^>]* checked', form)


# The time.


def test_the_countdown_starts_with_the_entry_by_the_servers_clock(console: Console) -> None:
    console.hand(*DUE)
    now = Table.objects.get(pk=console.table.pk).last_at
    assert now is not None
    opened = now + dt.timedelta(milliseconds=1)
    line = {
        "event": "insurance_opened",
        "table": "B08",
        "shoe": 1,
        "hand": 1,
        "window": 1,
        "at": opened.isoformat("T", "milliseconds"),
    }
    record(line, actor="sam")
    page = console.look()
    data = dict(re.findall(r'data-(opened|now|seconds)="([^"]+)"', page))
    assert dt.datetime.fromisoformat(data["opened"]) == opened.replace(microsecond=opened.microsecond // 1000 * 1000)
    assert dt.datetime.fromisoformat(data["now"]) >= dt.datetime.fromisoformat(data["opened"]) - dt.timedelta(seconds=1)
    assert data["seconds"] == "15"
    assert re.search(r"data-left>1[0-5]<", page)


def test_a_time_that_is_over_says_so_and_stays_open(console: Console) -> None:
    Table.objects.filter(pk=console.table.pk).update(insurance_seconds=1)
    open_window(console, *DUE)
    state = load(Table.objects.select_related("venue").get(pk=console.table.pk))
    (seq, opened) = next((seq, e) for seq, e in state.events if e.name == "insurance_opened")
    early = opened.at - dt.timedelta(seconds=30)
    state.events = [(n, type(e)(**{**_fields(e), "at": early}) if n == seq else e) for n, e in state.events]
    clock = state.insurance_clock
    assert clock is not None
    assert clock[3] == 0
    assert state.window_open == 1
    assert "Close insurance" in text(console.look())


def _fields(event: Any) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


def test_a_table_without_a_time_counts_nothing(console: Console) -> None:
    Table.objects.filter(pk=console.table.pk).update(insurance_seconds=0)
    open_window(console, *DUE)
    assert "data-insurance" not in console.page
    assert "seconds" not in text(console.page)


# The six findings, each by the presses that make it.


def test_not_due(console: Console) -> None:
    console.hand("9h", "4s", "3d")
    assert "Insurance time opened" in text(console.look(sheet="wrong"))
    assert 'name="window"' in console.look(sheet="insurance_opened")
    console.press("insurance_opened", window=1)
    ruled(console, "insurance-not-due", "INS-void", "Void the insurance bets")
    assert "No insurance is due for these cards." in text(console.page)


def test_dealt_early(console: Console) -> None:
    press(open_window(console, *DUE), "Odds put up")
    console.cards("6d")
    ruled(console, "insurance-dealt-early", "INS-early", "Stand")


def test_odds_missing(console: Console) -> None:
    press(open_window(console, *DUE), "Close insurance")
    ruled(console, "insurance-odds-missing", "INS-none", "Stand")


def test_odds_misplaced(console: Console) -> None:
    open_window(console, *DUE)
    sheet = console.look(sheet="insurance_odds")
    assert re.search(r'name="side" value="banker" checked', sheet)
    assert re.search(r'name="placed" value="banker" checked', sheet)
    assert 'name="odds" value="2"' in sheet
    console.press("insurance_odds", side="banker", placed="player", odds="2")
    ruled(console, "insurance-odds-misplaced", "INS-place", "Stand")
    assert "Odds up: Banker 2, on the spot of Player" in text(console.page)


def test_odds_wrong(console: Console) -> None:
    open_window(console, *DUE)
    console.press("insurance_odds", side="banker", placed="banker", odds="3")
    ruled(console, "insurance-odds-wrong", "INS-rate", "Stand")
    # Put right before the time is over.
    console.press("insurance_odds", side="banker", placed="banker", odds="2")
    assert "Corrected" in text(console.page)


def test_late_bet(console: Console) -> None:
    press(press(open_window(console, *DUE), "Odds put up"), "Close insurance")
    assert re.search(
        r'sheet=bet&amp;bet=insurance_banker&amp;from=wrong"[^>]*>Insurance bet<', console.look(sheet="wrong")
    )
    sheet = console.look(sheet="bet", bet="insurance_banker")
    sheet = sheet[sheet.index("<dialog") :]
    assert re.search(r'value="insurance_banker"[^>]* checked', sheet)
    assert '<details class="bet-others" open>' in sheet
    console.press("bet", seat=3, bet="insurance_banker", stake="50")
    ruled(console, "insurance-late-bet", "", "The manager decides")


# The sheets.


def test_back_leads_to_where_the_sheet_was_opened(console: Console) -> None:
    open_window(console, *DUE)

    def back(**query: str) -> str:
        page = console.look(**query)
        foot = page[page.index('class="sheet-foot"') :]
        return re.sub(r'.*?<a class="button" href="([^"]+)".*', r"\1", foot, flags=re.S)

    assert back(sheet="insurance_odds") == "/tables/B08/"
    assert back(**{"sheet": "insurance_odds", "from": "wrong"}) == "/tables/B08/?sheet=wrong"
    # And still after something in it could not be read.
    console.press("insurance_odds", **{"sheet": "insurance_odds", "from": "wrong", "odds": "x"})
    assert console.status == 422
    assert 'href="/tables/B08/?sheet=wrong"' in console.page[console.page.index('class="sheet-foot"') :]


@pytest.mark.parametrize("language", ["en", "th"])
@pytest.mark.parametrize(
    ("event", "fields", "wrong"),
    [
        ("insurance_odds", {"side": "banker", "placed": "banker", "odds": "two"}, "odds"),
        ("insurance_odds", {"side": "", "placed": "banker", "odds": "2"}, "side"),
        ("insurance_odds", {"side": "banker", "placed": "tie", "odds": "2"}, "placed"),
        ("insurance_opened", {"window": "3"}, "window"),
        ("insurance_closed", {"window": "2"}, "window"),
    ],
)
def test_what_cannot_be_read_is_said_at_its_field(
    console: Console, event: str, fields: dict[str, str], wrong: str, language: str
) -> None:
    open_window(console, *DUE)
    before = len(console.lines)
    console.client.cookies["django_language"] = language
    console.press(event, sheet=event, **fields)
    assert console.status == 422
    assert len(console.lines) == before
    assert f'id="{event}-{wrong}-error"' in console.page
    if wrong == "odds":
        assert 'name="odds" value="two"' in console.page

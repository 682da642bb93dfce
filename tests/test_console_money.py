"""Bets and pays at the console: what is offered, what is asked back, what is owed and what was paid."""

from __future__ import annotations

import html
import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dealing.console.state import load
from dealing.log import record
from dealing.models import BetLimit, Table
from tests.conftest import MakeTable, People
from tests.test_console import Console
from tests.test_console import text as spaced

pytestmark = pytest.mark.django_db

BANKER_WINS = ("2h", "4s", "Kd", "3c", "Ks")  # Player 2, Banker 7
TIE = ("2h", "7s", "Kd", "Kc", "5s")


@pytest.fixture
def console(client: Client, people: People, table: MakeTable) -> Console:
    """A supervisor at B07, which plays by the commission rules and whose hands do not follow on by themselves."""
    client.force_login(people("supervisor", "sam"))
    return Console(client, table(follow_on=False)).shoe()


def text(page: str) -> str:
    """The words of a page; what a tag sets apart from its comma is put together again."""
    return re.sub(r" (?=[,:.])", "", spaced(page))


def betting(console: Console, *bets: tuple[int, str, str], confirmed: bool = True) -> Console:
    console.press("betting_opened")
    for seat, bet, stake in bets:
        console.press("bet", seat=seat, bet=bet, stake=stake, confirmed=1 if confirmed else None)
        assert console.status == 200, text(console.page)
    return console


def played(console: Console, *bets: tuple[int, str, str], cards: tuple[str, ...] = BANKER_WINS) -> Console:
    return betting(console, *bets).press("betting_closed").cards(*cards)


def state_of(console: Console) -> Any:
    return load(Table.objects.get(pk=console.table.pk))


def limit(console: Console, bet: str, least: int | None, most: int | None) -> None:
    BetLimit.objects.create(table=console.table, bet=bet, minimum=least, maximum=most)


def keys(page: str) -> tuple[list[str], list[str]]:
    """The bets with a key of their own, and those folded away."""
    form = page[page.index('id="bets"') : page.index("</form>", page.index('id="bets"'))]
    first, _, folded = form.partition("<details")
    names = [re.findall(r'name="bet" value="(\w+)"', part) for part in (first, folded)]
    return names[0], names[1]


# What is offered.


def test_the_bets_of_the_rules_have_keys_and_all_others_are_folded(console: Console) -> None:
    offered, folded = keys(betting(console).page)
    assert offered == [
        "player", "banker", "tie", "player_pair", "banker_pair", "big", "small",
        "player_natural_8", "player_natural_9", "banker_natural_8", "banker_natural_9", "super_6",
    ]  # fmt: skip
    assert folded == ["insurance_player", "insurance_banker"]
    assert "2 more: not on this layout" in text(console.page)


def test_a_bet_that_is_not_on_the_layout_can_be_recorded_all_the_same(
    client: Client, people: People, table: MakeTable
) -> None:
    client.force_login(people("supervisor", "sam"))
    console = betting(Console(client, table("B09", ruleset="standard")).shoe("standard"))
    assert "super_6" in keys(console.page)[1]
    console.press("bet", seat=1, bet="super_6", stake="50")
    assert console.status == 200
    assert 'data-finding="bet-not-offered"' in console.page
    assert "Bet that is not offered" in text(console.page[console.page.index("bets-standing") :])


@pytest.mark.parametrize(("hand", "closed"), [(60, False), (61, True)])
def test_limited_side_bets_are_marked_after_hand_60_and_can_be_recorded(
    console: Console, hand: int, closed: bool
) -> None:
    record({"event": "betting_opened", "table": "B07", "shoe": 1, "hand": hand}, actor="sam")
    page = console.look()
    assert ("super_6" in keys(page)[1]) is closed
    assert ("closed since hand 60" in text(page)) is closed
    assert "big" in keys(page)[0]
    console.press("bet", seat=1, bet="super_6", stake="50")
    assert console.status == 200
    assert ('data-finding="side-bet-after-limit"' in console.page) is closed


# Limits.


def test_the_limit_stands_beside_the_bet(console: Console) -> None:
    limit(console, "", 100, 5000)
    limit(console, "tie", None, 500)
    limit(console, "big", 10, None)
    shown = {key.name: key.limit for key in state_of(betting(console)).bet_keys[0]}
    assert (shown["banker"], shown["tie"], shown["big"]) == ("100 to 5,000", "up to 500", "from 10")
    assert "100 to 5,000" in text(console.page)


@pytest.mark.parametrize(
    ("bet", "stake", "words"),
    [
        ("banker", "5,000.01", "Banker takes 100 to 5,000 a seat here; this is more."),
        ("banker", "99.99", "Banker takes 100 to 5,000 a seat here; this is less."),
        ("tie", "501", "Tie takes up to 500 a seat here; this is more."),
        ("banker", "5000", ""),
        ("banker", "100", ""),
        ("tie", "0.50", ""),
    ],
)
def test_a_stake_outside_the_limit_is_asked_back_and_kept(console: Console, bet: str, stake: str, words: str) -> None:
    limit(console, "", 100, 5000)
    limit(console, "tie", None, 500)
    betting(console)
    console.press("bet", seat=4, bet=bet, stake=stake)
    if not words:
        assert console.status == 200
        return
    assert console.status == 422
    assert words in text(console.page)
    assert [line["event"] for line in console.lines if line["event"] == "bet"] == []
    form = console.page[console.page.index('id="bets"') :]
    assert f'name="stake" value="{stake}"' in form
    assert 'name="seat" value="4" checked' in form
    assert re.search(rf'name="bet" value="{bet}"[^>]* checked', form)
    assert 'aria-invalid="true"' in form
    assert "<dialog" not in console.page
    # The way on: one press, and it is marked in the list with the limit.
    assert 'name="confirmed"' in form
    console.press("bet", seat=4, bet=bet, stake=stake, confirmed=1)
    assert console.status == 200
    assert (console.last["seat"], console.last["bet"]) == (4, bet)
    limits = "up to 500" if bet == "tie" else "100 to 5,000"
    assert f"limit {limits}" in text(console.page[console.page.index("bets-standing") :])
    assert "data-finding" not in console.page


def test_the_limit_is_for_the_seat_and_not_for_the_chip(console: Console) -> None:
    limit(console, "banker", 100, 500)
    betting(console, (1, "banker", "300"), (2, "banker", "300"))
    console.press("bet", seat=1, bet="banker", stake="201")
    assert console.status == 422
    assert "with this the seat has 501 on it" in text(console.page)
    console.press("bet", seat=1, bet="banker", stake="50")  # less than the least, on top of enough
    assert console.status == 200


def test_an_entry_put_right_counts_as_it_reads_now(console: Console) -> None:
    limit(console, "banker", None, 500)
    betting(console, (1, "banker", "50"))
    console.press("amended", entry=len(console.lines), seat=1, bet="banker", stake="450", why="typed wrong")
    assert console.status == 200
    assert console.press("bet", seat=1, bet="banker", stake="60").status == 422


def test_the_same_press_again_is_not_asked_about(console: Console) -> None:
    limit(console, "banker", None, 500)
    betting(console)
    seen = len(console.lines)
    fields = {"seat": 1, "bet": "banker", "stake": "600", "key": "the-same", "seq": seen}
    assert console.press("bet", **fields, confirmed=1).status == 200
    assert console.press("bet", **fields).status == 200
    assert len(console.lines) == seen + 1


def test_in_thai_too(console: Console) -> None:
    limit(console, "banker", None, 500)
    betting(console)
    console.client.cookies["django_language"] = "th"
    console.press("bet", seat=1, bet="banker", stake="600")
    assert "ไม่เกิน 500" in html.unescape(console.page)
    assert "a seat here" not in console.page


# Entering.


def test_a_bet_is_kept_beside_its_fields_when_it_cannot_be_read(console: Console) -> None:
    betting(console)
    for fields, wrong in (
        ({"seat": "0", "bet": "tie", "stake": "5"}, "seat"),
        ({"seat": "1", "bet": "", "stake": "5"}, "bet"),
        ({"seat": "1", "bet": "tie", "stake": "five"}, "stake"),
        ({"seat_other": "100", "seat": "1", "bet": "tie", "stake": "5"}, "seat"),
    ):
        console.press("bet", **fields)
        assert console.status == 422
        assert "<dialog" not in console.page
        assert f'id="here-bet-{wrong}-error"' in console.page
        for name in ("stake", "seat_other"):
            if name in fields:
                assert f'name="{name}" value="{fields[name]}"' in console.page


def test_a_typed_seat_and_a_tapped_stake_count(console: Console) -> None:
    betting(console)
    console.press("bet", seat="3", seat_other="14", bet="tie", stake="5", stake_quick="1,000")
    assert console.last == {"event": "bet", "hand": 1, "seat": 14, "bet": "tie", "stake": "1000"}
    # It stands in the form for the next one, and has a key of its own now.
    assert 'name="seat" value="14" checked' in console.page
    assert 'name="stake_quick" value="1,000"' in console.page


def test_the_last_stakes_of_the_table_are_offered(console: Console) -> None:
    played(console, *((1, "banker", str(stake)) for stake in (100, 700, 20, 100, 300, 50, 900)))
    console.press("hand_closed")
    betting(console)
    offered = re.findall(r'name="stake_quick" value="([\d,]+)"', console.page)
    assert offered == ["20", "50", "100", "300", "900"]


def test_what_would_be_flagged_is_known_before_it_is_pressed(console: Console) -> None:
    page = betting(console, (3, "banker", "100")).page
    warnings = dict(re.findall(r'name="bet" value="(\w+)" data-warnings="([^"]*)"', page))
    assert html.unescape(warnings["player"]) == '{"3": "One seat on both sides"}'
    assert html.unescape(warnings["banker"]) == "{}"
    console.press("bet", seat=3, bet="player", stake="100")
    assert 'data-finding="opposing-bets"' in console.page
    assert "One seat on both sides" in text(console.page[console.page.index("bets-standing") :])


def test_the_bets_stand_in_a_list_with_their_sum_and_can_be_put_right_there(console: Console) -> None:
    betting(console, (3, "banker", "100"), (3, "tie", "20.50"))
    shown = console.page[console.page.index("bets-standing") :]
    assert "2 bets stand" in text(shown)
    assert "120.50" in text(shown)
    entry = re.findall(r'href="[^"]+sheet=amend&amp;entry=(\d+)"', shown)[1]
    sheet = console.look(sheet="amend", entry=entry)
    assert 'name="stake" value="20.50"' in sheet[sheet.index("<dialog") :]
    ids = re.findall(r'\bid="([^"]+)"', sheet)
    assert len(ids) == len(set(ids))
    console.press("amended", entry=entry, seat=3, bet="tie", stake="25", why="typed wrong")
    assert "125.00" in text(console.page[console.page.index("bets-standing") :])


# Paying.


def row(page: str, name: str) -> str:
    start = page.rindex('<div class="pay', 0, page.index(f'id="{name}"'))
    return page[start : page.index("</div>", start)]


def test_the_pay_sheet_works_out_what_every_seat_is_owed(console: Console) -> None:
    played(
        console,
        (3, "banker", "500"),
        (3, "banker", "100"),
        (4, "player", "200"),
        (5, "big", "30"),
        (1, "banker", "10.01"),
    )
    three = row(console.page, "pay-3-banker")
    assert 'value="570.00"' in three
    assert "600.00 × 0.95 · commission 30.00 · stake back" in text(three)
    assert 'value="9.51"' in row(console.page, "pay-1-banker")
    assert "10.01 × 0.95 · commission 0.50" in text(row(console.page, "pay-1-banker"))
    assert "30.00 × 0.5 · stake back" in text(row(console.page, "pay-5-big"))
    assert "Lost: Seat 4 · Player 200.00" in text(console.page)
    assert "All paid 594.51" in text(console.page)
    order = re.findall(r'name="(pay-[^"]+)"', console.page)
    assert order == ["pay-1-banker", "pay-3-banker", "pay-5-big"]


def test_a_tie_gives_stakes_back_and_pays_the_tie(console: Console) -> None:
    played(console, (1, "player", "100"), (2, "banker", "50"), (2, "tie", "10"), cards=TIE)
    assert "Stake back: Seat 1 · Player 100.00, Seat 2 · Banker 50.00" in text(console.page)
    assert re.findall(r'name="(pay-[^"]+)" value="([^"]+)"', console.page) == [("pay-2-tie", "80.00")]


def test_nothing_to_pay_says_so(console: Console) -> None:
    played(console, (1, "player", "100"))
    assert "Nothing is to be paid" in text(console.page)
    assert 'value="paid_all"' not in console.page


def test_all_are_paid_with_one_press(console: Console) -> None:
    played(console, (3, "banker", "500"), (5, "big", "30"))
    console.press("paid_all", **{"pay-3-banker": "475.00", "pay-5-big": "15.00"})
    assert console.status == 200
    assert [(line["seat"], line["amount"]) for line in console.lines[-2:]] == [(3, "475.00"), (5, "15.00")]
    assert "Everything is paid 490.00" in text(console.page)
    assert state_of(console).pays == []


def test_one_row_is_paid_by_its_own_key(console: Console) -> None:
    played(console, (3, "banker", "500"), (5, "big", "30"))
    console.press("paid_all", **{"pay-3-banker": "475.00", "pay-5-big": "15.00"}, pay="5 big")
    assert console.status == 200
    assert console.last == {"event": "paid", "hand": 1, "seat": 5, "bet": "big", "amount": "15.00"}
    assert re.findall(r'name="(pay-[^"]+)"', console.page) == ["pay-3-banker"]
    assert "Paid: Seat 5 · Big 15.00" in text(console.page)


@pytest.mark.parametrize("pay", [None, "3 banker"])
@pytest.mark.parametrize("language", ["en", "th"])
def test_an_amount_that_is_none_is_refused_beside_its_row_and_kept(
    console: Console, pay: str | None, language: str
) -> None:
    played(console, (3, "banker", "500"), (5, "big", "30"))
    before = len(console.lines)
    console.client.cookies["django_language"] = language
    console.press("paid_all", **{"pay-3-banker": "47x", "pay-5-big": "15.00"}, pay=pay)
    assert console.status == 422
    assert len(console.lines) == before
    wrong = row(console.page, "pay-3-banker")
    assert 'value="47x"' in wrong
    assert 'role="alert"' in wrong
    assert ("is not an amount" in text(wrong)) is (language == "en")
    assert 'role="alert"' not in row(console.page, "pay-5-big")


@pytest.mark.parametrize(
    ("paid", "told", "rest"),
    [
        ("450", "Seat 3 · Banker: paid 450.00, owed 475.00, difference −25.00", "25.00"),
        ("500", "Seat 3 · Banker: paid 500.00, owed 475.00, difference +25.00", "-25.00"),
    ],
)
def test_a_difference_is_told_with_seat_bet_and_amounts(console: Console, paid: str, told: str, rest: str) -> None:
    played(console, (3, "banker", "500")).press("paid", seat=3, bet="banker", amount=paid)
    assert 'data-finding="payout-wrong"' in console.page
    assert text(console.page).count(told) == 2  # at the finding, and on the pay sheet
    assert f'value="{rest}"' in row(console.page, "pay-3-banker")
    hand = console.client.get(reverse("console:hand", args=("B07", 1, 1))).content.decode()
    assert told in text(hand)
    incident = console.client.get(reverse("incidents:for_hand", args=("B07", 1, 1)), follow=True)
    assert told in text(incident.content.decode())
    # Put right, and the finding is.
    console.press("paid", seat=3, bet="banker", amount=rest)
    assert 'data-finding="payout-wrong"' not in console.page
    assert "Everything is paid" in text(console.page)


def test_a_bet_that_nobody_placed_and_somebody_was_paid_for(console: Console) -> None:
    played(console, (3, "player", "500")).press("paid", seat=9, bet="banker", amount="95")
    assert "Seat 9 · Banker: paid 95.00, owed 0.00, difference +95.00" in text(console.page)
    assert 'value="-95.00"' in row(console.page, "pay-9-banker")


def test_a_void_hand_gives_every_stake_back_and_wants_back_what_was_paid(console: Console) -> None:
    played(console, (3, "banker", "500"), (4, "player", "100"))
    console.press("paid", seat=3, bet="banker", amount="475")
    console.press("voided", scope="hand", reason="seen")
    assert "difference +475.00" in text(console.page)
    assert 'value="-475.00"' in row(console.page, "pay-3-banker")
    assert "Stake back: Seat 4 · Player 100.00" in text(console.page)
    console.press("paid", seat=3, bet="banker", amount="-475")
    assert "Stakes go back 600.00" in text(console.page)


def test_a_closed_hand_can_be_paid_late(console: Console) -> None:
    played(console, (3, "banker", "500")).press("called", call="banker 2 7").press("hand_closed")
    assert 'value="475.00"' in row(console.page, "pay-3-banker")
    console.press("betting_opened")
    hand = console.client.get(reverse("console:hand", args=("B07", 1, 1))).content.decode()
    link = re.search(r'href="([^"]+sheet=paid[^"]+)"', hand)
    assert link
    page = console.client.get(html.unescape(link[1])).content.decode()
    sheet = page[page.index("<dialog") :]
    assert "For hand 1 of shoe 1, afterwards." in text(sheet)
    assert 'name="amount" value="475.00"' in sheet
    fields = dict(re.findall(r'<input type="hidden" name="(shoe|hand)" value="(\d+)">', sheet))
    assert fields == {"shoe": "1", "hand": "1"}
    console.press("paid", **fields, seat=3, bet="banker", amount="475.00")
    assert console.status == 200, text(console.page)
    hand = console.client.get(reverse("console:hand", args=("B07", 1, 1))).content.decode()
    assert "sheet=paid" not in hand
    assert "Corrected" in text(hand)


def test_the_hand_page_shows_the_whole_settlement(console: Console) -> None:
    played(console, (3, "banker", "500"), (4, "player", "100")).press("paid", seat=3, bet="banker", amount="475")
    page = text(console.client.get(reverse("console:hand", args=("B07", 1, 1))).content.decode())
    assert "Seat 3 · Banker 500.00 475.00 × 0.95 · commission 25.00 475.00 – 500.00" in page
    assert "Seat 4 · Player 100.00 0.00 – – lost" in page


def test_rubbish_on_the_pay_sheet_is_never_an_error(console: Console) -> None:
    played(console, (3, "banker", "500"))
    before = len(console.lines)
    for pay in ("", " ", "x", "3", "3 ", "99999 banker", "\x00 \x00", "3 nothing"):
        console.press("paid_all", pay=pay, **{"pay-3-banker": "x"})
        assert console.status == 422
    assert len(console.lines) == before


def test_amounts_are_exact(console: Console) -> None:
    played(console, (3, "banker", "0.03"))
    (line,) = state_of(console).pay_sheet.rows
    assert (line.owed, line.commission) == (Decimal("0.03"), Decimal("0.00"))


@pytest.mark.parametrize("called", [True, False])
def test_the_key_says_that_the_next_hand_follows(
    client: Client, people: People, table: MakeTable, called: bool
) -> None:
    client.force_login(people("supervisor", "sam"))
    console = played(Console(client, table("B09")).shoe(), (3, "banker", "500"))
    if called:
        console.press("called", call="banker 2 7")
    assert ("All paid 475.00 and next hand" in text(console.page)) is called
    console.press("paid_all", **{"pay-3-banker": "475.00"})
    assert (console.last["event"] == "betting_opened") is called


def test_the_bets_can_be_looked_up_while_cards_are_dealt(console: Console) -> None:
    played(console, (3, "banker", "500"), cards=BANKER_WINS[:3])
    assert '<details class="bets-standing" >' in console.page
    assert "1 bet stands 500.00" in text(console.page)

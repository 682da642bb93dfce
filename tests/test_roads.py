"""The roads and the table display, as pages."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dealing.log import record, record_many
from dealing.models import Hand, Shoe, Table, Venue
from dealing.roads import load_board
from dealing.templatetags.road_tags import roads
from tests.conftest import MakeTable, People
from tests.table_logs import NATURAL, Lines

pytestmark = pytest.mark.django_db

BANKER = "P1:2h B1:9s P2:Td B2:Kc"
TIE = "P1:7h B1:7s P2:Kd B2:Qc"
#: Player, a tie, Banker twice, Player: the hand in the middle is voided where a test says so.
HANDS = (NATURAL, TIE, BANKER, BANKER, NATURAL)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def dealt(table: MakeTable, lines: Lines) -> Table:
    """A table with five hands in its first shoe."""
    made = table()
    log = lines.open()
    for number, cards in enumerate(HANDS, start=1):
        log += lines.hand(number, cards)
    record_many(log, actor="test")
    return Table.objects.get(pk=made.pk)


@pytest.fixture
def monitor(client: Client, people: People) -> Client:
    client.force_login(people("auditor"))
    return client


def page(client: Client, **query: Any) -> str:
    response = client.get(reverse("roads:display", args=("B07",)), query)
    assert response.status_code == 200
    return response.content.decode()


def live(client: Client, seq: int | str, hand: int | str = "") -> Any:
    return client.get(reverse("roads:live", args=("B07",)), {"seq": seq, "hand": hand}, headers=HTMX)


def words(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def tallies(page: str) -> list[int]:
    return [int(number) for number in re.findall(r"<dd>(\d+)</dd>", page)]


def drawing(page: str, road: str) -> str:
    found = re.search(rf'<svg class="road-svg"[^>]*data-road="{road}">.*?</svg>', page, re.S)
    assert found
    return found[0]


def letters(page: str, road: str) -> str:
    """The letters of a road's cells in the order of their columns and rows."""
    cells = re.findall(r'<text x="(\d+)" y="(\d+)">([PBT])</text>', drawing(page, road))
    return "".join(letter for _x, _y, letter in sorted(cells, key=lambda cell: (int(cell[0]), int(cell[1]))))


# The page.


@pytest.mark.parametrize("role", ["recorder", "supervisor", "manager", "auditor"])
def test_everybody_with_a_role_sees_the_display(client: Client, people: People, dealt: Table, role: str) -> None:
    client.force_login(people(role))
    assert "Player wins 9 to 7" in words(page(client))


def test_nobody_else_does(client: Client, people: People, dealt: Table) -> None:
    for name in ("roads:display", "roads:live"):
        address = reverse(name, args=("B07",))
        client.logout()
        assert client.get(address).headers["Location"] == f"/login/?next={address}"
        client.force_login(people(None))
        assert client.get(address).status_code == 403


def test_a_table_of_another_house_is_not_there(client: Client, people: People, dealt: Table) -> None:
    user = people("manager")
    elsewhere = Venue.objects.create(code="HILL", name="Hill House")
    user.staff_member.venue = elsewhere
    user.staff_member.save()
    client.force_login(user)
    assert client.get(reverse("roads:display", args=("B07",))).status_code == 404
    user.staff_member.delete()
    assert client.get(reverse("roads:display", args=("B07",))).status_code == 200


def test_the_last_result_the_cards_the_counts_and_the_roads(monitor: Client, dealt: Table) -> None:
    shown = page(monitor)
    said = words(shown)
    assert "Shoe 1" in said
    assert "Hand 5 Player wins 9 to 7" in said
    assert 'aria-label="9 of hearts"' in shown
    assert tallies(shown) == [2, 2, 1, 0, 0, 4]  # Player, Banker, tie, Player pair, Banker pair, naturals
    assert letters(shown, "bead") == "PTBBP"
    assert letters(shown, "big") == "PBBP"
    assert "Hands: 5. Newest first: Player, Banker, Banker, Tie, Player." in said
    assert "Columns: 3. The last: Player, hands: 1. Ties counted: 1." in said
    assert "Red: 0, blue: 2. The last is blue." in said  # big eye boy: lines of 1, 2, 1
    assert said.count("Not begun yet.") == 2


def test_every_drawing_is_named_and_described_once(monitor: Client, dealt: Table) -> None:
    shown = page(monitor)
    ids = re.findall(r'\bid="([^"]+)"', shown)
    assert len(ids) == len(set(ids))
    named = re.findall(r'<svg class="road-svg"[^>]*role="img" aria-labelledby="([^"]+)"', shown)
    assert len(named) == 5
    for one in named:
        assert set(one.split()) <= set(ids)


def test_nothing_on_the_page_is_styled_or_scripted_in_line(monitor: Client, dealt: Table) -> None:
    shown = page(monitor)
    assert " style=" not in shown
    assert "<style" not in shown
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", shown))


def test_a_hand_in_play_is_named_and_counts_when_it_is_over(monitor: Client, dealt: Table, lines: Lines) -> None:
    *begun, end = lines.hand(6, BANKER)
    record_many(begun, actor="test")
    shown = page(monitor)
    assert "Shoe 1 Hand 6" in words(shown)
    assert "Hand 5 Player wins" in words(shown)
    assert letters(shown, "bead") == "PTBBP"
    record(end, actor="test")
    shown = page(monitor)
    assert "Hand 6 Banker wins 9 to 2" in words(shown)
    assert letters(shown, "bead") == "PTBBPB"


def test_a_hand_left_open_counts_when_the_next_begins(monitor: Client, dealt: Table, lines: Lines) -> None:
    record_many(lines.hand(6, BANKER, closed=False), actor="test")
    assert letters(page(monitor), "bead") == "PTBBP"
    record(lines.line("betting_opened", 7), actor="test")
    assert letters(page(monitor), "bead") == "PTBBPB"


def test_a_void_in_the_middle_is_in_no_road(monitor: Client, dealt: Table, lines: Lines) -> None:
    record(lines.line("voided", 3, scope="hand", reason="decided at the table"), actor="test")
    shown = page(monitor)
    assert letters(shown, "bead") == "PTBP"
    assert letters(shown, "big") == "PBP"
    assert tallies(shown) == [2, 1, 1, 0, 0, 3, 1]
    assert "Void hands 1" in words(shown)


def test_the_last_hand_void_shows_its_cards_and_no_winner(monitor: Client, dealt: Table, lines: Lines) -> None:
    record(lines.line("voided", 5, scope="hand", reason="decided at the table"), actor="test")
    shown = page(monitor)
    assert "Hand 5 void, every stake goes back" in words(shown)
    assert 'aria-label="9 of hearts"' in shown
    assert "felt-won" not in shown


def test_pairs_and_naturals_are_marked(monitor: Client, table: MakeTable, lines: Lines) -> None:
    table()
    record_many([*lines.open(), *lines.hand(1, "P1:4h B1:3s P2:4d B2:3c"), *lines.hand(2, TIE)], actor="test")
    shown = page(monitor)
    assert tallies(shown)[3:] == [1, 1, 1]
    for road in ("bead", "big"):
        drawn = drawing(shown, road)
        assert re.findall(r'class="road-pair (road-[PB])"', drawn) == ["road-P", "road-B"]
        assert drawn.count('class="road-natural"') == 1
    assert drawing(shown, "big").count('class="road-tie"') == 1


def test_ties_before_the_first_entry_are_drawn_with_their_number(
    monitor: Client, table: MakeTable, lines: Lines
) -> None:
    table()
    record_many([*lines.open(), *lines.hand(1, TIE), *lines.hand(2, TIE)], actor="test")
    drawn = drawing(page(monitor), "big")
    assert 'class="road-tie"' in drawn
    assert re.findall(r">(\d+)</text>", drawn) == ["2"]
    assert "No hand won yet. Ties counted: 2." in words(drawn)


def test_the_cut_card_announces_the_last_hand(monitor: Client, dealt: Table, lines: Lines) -> None:
    assert "Last hand of the shoe" not in words(page(monitor))
    record_many([lines.line("betting_opened", 6), lines.line("cut_card", 6)], actor="test")
    assert "Last hand of the shoe" in words(page(monitor))


def test_no_shoe(monitor: Client, table: MakeTable) -> None:
    table()
    shown = page(monitor)
    assert "No shoe has been opened at this table." in words(shown)
    assert "road-svg" not in shown
    assert live(monitor, 0).status_code == 204


def test_a_shoe_without_hands(monitor: Client, table: MakeTable, lines: Lines) -> None:
    table()
    record_many(lines.open(), actor="test")
    said = words(page(monitor))
    assert "No result yet" in said
    assert "No hand yet." in said


def test_a_closed_shoe_stays_up_until_the_next_is_opened(monitor: Client, dealt: Table, lines: Lines) -> None:
    record(lines.close(), actor="test")
    said = words(page(monitor))
    assert "Shoe 1 Finished" in said
    assert "Hand 5 Player wins" in said
    record_many(lines.open(), actor="test")
    assert "No result yet" in words(page(monitor))


def test_in_thai(monitor: Client, dealt: Table) -> None:
    monitor.cookies["django_language"] = "th"
    shown = page(monitor)
    assert '<html lang="th"' in shown
    assert "ผู้เล่นชนะ 9 ต่อ 7" in words(shown)
    # The letters on the discs are the same in both languages; the words beside them are not.
    assert letters(shown, "bead") == "PTBBP"
    assert re.search(r"<dt>.*?ผู้เล่น</dt><dd>2</dd>", shown, re.S)


# Live.


def test_unchanged_costs_nothing(monitor: Client, dealt: Table) -> None:
    page(monitor)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = live(monitor, dealt.last_seq)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["Cache-Control"] == "no-store"
    # The session, the user with the roles, and the head of the table.
    assert len(queries) == 3, [query["sql"] for query in queries]


def test_the_page_asks_for_what_came_after_it(monitor: Client, dealt: Table, lines: Lines) -> None:
    asked = re.search(r'hx-get="([^"]+)"', page(monitor))
    assert asked
    address = html.unescape(asked[1])
    assert address == f"/tables/B07/display/live/?seq={dealt.last_seq}&hand="
    record(lines.line("betting_opened", 6), actor="test")
    response = monitor.get(address, headers=HTMX)
    assert response.status_code == 200
    part = response.content.decode()
    assert part.lstrip().startswith('<div class="display"')
    assert f"?seq={dealt.last_seq + 1}&amp;hand=6" in part


def test_what_happens_within_a_hand_is_not_sent_again(monitor: Client, dealt: Table, lines: Lines) -> None:
    opened, *rest, end = lines.hand(6, BANKER)
    record(opened, actor="test")
    seen = dealt.last_seq + 1
    for line in rest:
        record(line, actor="test")
        assert live(monitor, seen, 6).status_code == 204
    record(end, actor="test")
    response = live(monitor, seen, 6)
    assert response.status_code == 200
    assert letters(response.content.decode(), "bead") == "PTBBPB"


@pytest.mark.parametrize(
    ("event", "hand", "keys"),
    [
        ("voided", 2, {"scope": "hand", "reason": "decided at the table"}),
        ("cut_card", 6, {}),
        ("betting_opened", 7, {}),
        ("shoe_closed", None, {"reason": "cancelled"}),
    ],
)
def test_what_changes_the_display_is_sent(
    monitor: Client, dealt: Table, lines: Lines, event: str, hand: int | None, keys: dict[str, Any]
) -> None:
    record(lines.line("betting_opened", 6), actor="test")
    seen = dealt.last_seq + 1
    assert live(monitor, seen, 6).status_code == 204
    record(lines.line(event, hand, **keys), actor="test")
    assert live(monitor, seen, 6).status_code == 200


def test_an_amended_card_is_sent(monitor: Client, dealt: Table, lines: Lines) -> None:
    first = Hand.objects.get(shoe__table=dealt, number=1).first_seq + 2
    entry = lines.line("card", 1, to="P1", card="2h")
    record(lines.line("amended", 1, seq=first, entry=entry, reason="typed wrongly"), actor="test")
    response = live(monitor, dealt.last_seq)
    assert response.status_code == 200
    assert letters(response.content.decode(), "bead") != "PTBBP"


@pytest.mark.parametrize(
    ("seq", "hand"), [("", ""), ("x", ""), ("9" * 30, ""), ("1", "x"), ("๑", "๑"), ("99999", "1"), ("1", "9" * 30)]
)
def test_nonsense_is_answered_with_the_display(monitor: Client, dealt: Table, seq: str, hand: str) -> None:
    assert live(monitor, seq, hand).status_code == 200


def test_a_session_that_is_over_sends_the_whole_page_to_the_log_in(client: Client, dealt: Table) -> None:
    response = live(client, 1)
    assert response.headers["HX-Redirect"].startswith("/login/")


def test_only_reading(monitor: Client, dealt: Table) -> None:
    for name in ("roads:display", "roads:live"):
        assert monitor.post(reverse(name, args=("B07",))).status_code == 405


def test_a_full_display_is_three_queries_more_than_nothing(monitor: Client, dealt: Table) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert live(monitor, 0).status_code == 200
    # As for nothing, and the shoe with its hands.
    assert len(queries) == 5, [query["sql"] for query in queries]


# Beside other pages.


def test_the_roads_of_a_past_shoe_stand_on_its_page(monitor: Client, dealt: Table) -> None:
    shown = monitor.get(reverse("console:shoe", args=("B07", 1))).content.decode()
    assert letters(shown, "bead") == "PTBBP"
    assert reverse("roads:display", args=("B07",)) in shown


def test_the_tag_asks_one_query_and_none_with_a_board(dealt: Table) -> None:
    shoe = Shoe.objects.get(table=dealt)
    with CaptureQueriesContext(connection) as queries:
        alone = roads(shoe)
    assert len(queries) == 1
    board = load_board(shoe)
    with CaptureQueriesContext(connection) as queries:
        assert roads(shoe, board) == alone
    assert len(queries) == 0


def test_what_a_side_would_bring_next(dealt: Table) -> None:
    # Lines 1, 2, 1. Player again: passes the end of... the line before has a second row: red. Banker: 1 is not 2: blue.
    coming = {winner: marks for winner, _words, marks in roads(Shoe.objects.get(table=dealt))["coming"]}
    assert 'aria-label="red"' in coming["player"][0][1]
    assert 'aria-label="blue"' in coming["banker"][0][1]
    # Cockroach pig begins with the second of line 4: not yet.
    assert "road-none" in coming["player"][2][1]

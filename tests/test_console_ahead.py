"""What the browser looks ahead with is what the judge says, state by state."""

from __future__ import annotations

import gzip
import json
import re
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dealing.console import ahead
from dealing.rules.cards import RANKS, SUITS, Card
from dealing.rules.tableau import EMPTY, Layout, lay
from tests.conftest import MakeTable, People
from tests.test_console import Console

#: The zipped size beyond which something has gone wrong, in bytes.
LIMIT = 6_000


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(ahead.tableau().plain)
    return loaded


def said(data: dict[str, Any], values: tuple[int, ...]) -> list[Any]:
    """The row that the browser ends at with these cards."""
    state = 0
    for value in values:
        state = data["states"][state][4][value]
    row: list[Any] = data["states"][state]
    return row


def test_every_path_through_a_hand_says_what_the_judge_says(data: dict[str, Any]) -> None:
    """All hands there are, by points: compared pair by pair of judge's layout and browser's state."""
    todo: list[tuple[Layout, int]] = [(EMPTY, 0)]
    seen: set[tuple[Layout, int]] = set()
    while todo:
        layout, state = todo.pop()
        if (layout, state) in seen:
            continue
        seen.add((layout, state))
        row = data["states"][state]
        assert row[0] == (layout.due or "")
        assert (row[1], row[2]) == (layout.player, layout.banker)
        assert row[3] == ("" if layout.due else layout.winner)
        assert ahead.tableau().states[layout] == state
        assert len(row) == (5 if layout.due else 4)
        if layout.due:
            assert len(row[4]) == 10
            todo += zip(layout.after, row[4], strict=True)
    assert len({layout for layout, _state in seen}) > 1000
    assert {state for _layout, state in seen} == set(range(len(data["states"])))


def test_the_first_five_cards_by_the_public_way_of_laying(data: dict[str, Any]) -> None:
    for values in product(range(0, 10, 3), range(1, 10, 2), range(0, 10, 2), range(0, 10, 3), range(10)):
        layout, places = lay(values)
        drawn = values[: sum(place is not None for place in places)]
        row = said(data, drawn)
        assert row[:3] == [layout.due or "", layout.player, layout.banker]


def test_the_points_are_the_judges(data: dict[str, Any]) -> None:
    assert data["values"] == {rank: Card.parse(rank + SUITS[0]).value for rank in RANKS}


def test_it_is_small_and_kept_for_good(client: Client) -> None:
    response = client.get(ahead.address(), headers={"Accept-Encoding": "gzip, br"})
    assert response.status_code == 200
    assert response.headers["Content-Encoding"] == "gzip"
    assert "immutable" in response.headers["Cache-Control"]
    assert "max-age=31536000" in response.headers["Cache-Control"]
    assert len(response.content) < LIMIT
    plain = client.get(ahead.address())
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(response.content) == plain.content == ahead.tableau().plain
    assert client.get(reverse("console:tableau", args=("0" * 16,))).status_code == 404


# Where the hand stands.


@pytest.fixture
def sam(client: Client, people: People, table: MakeTable, db: None) -> Console:
    client.force_login(people("supervisor", "sam"))
    return Console(client, table()).shoe()


def layout_of(console: Console) -> str:
    found = re.search(r'data-layout="([^"]*)"', console.look())
    assert found
    return found[1]


@pytest.mark.django_db
def test_the_page_says_where_the_hand_stands(sam: Console) -> None:
    assert layout_of(sam) == "0"
    values: tuple[int, ...] = ()
    sam.hand()
    for card in ("9h", "4s", "3d", "Ac", "Kd"):
        sam.cards(card)
        values = (*values, Card.parse(card).value)
        assert layout_of(sam) == str(ahead.tableau().states[lay(values)[0]])
    sam.press("hand_closed")
    assert layout_of(sam) == "0"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("event", "fields"),
    [
        pytest.param("card", {"to": "B2", "card": "4s"}, id="a card on the wrong place"),
        pytest.param("card", {"card": "x"}, id="a card face down"),
        pytest.param("extra", {"face": "up", "card": "2s"}, id="a card beside the hand"),
        pytest.param("exposed", {"when": "drawing"}, id="a finding"),
    ],
)
def test_where_anything_is_unusual_nothing_is_guessed(sam: Console, event: str, fields: dict[str, str]) -> None:
    sam.hand("9h").press(event, **fields)
    assert sam.status == 200
    assert layout_of(sam) == ""


@pytest.mark.django_db
def test_everything_of_the_clean_path_stands_in_every_answer(sam: Console) -> None:
    wanted = ("betting_opened", "betting_closed", "card", "called", "hand_closed")
    pages = [sam.page, sam.press("betting_opened").page, sam.press("betting_closed").page]
    for card in ("9h", "4s", "Kd", "3c"):
        pages.append(sam.cards(card).page)
    pages.append(sam.press("called", call="player 9 7").page)
    pages.append(sam.press("hand_closed").page)
    assert [re.findall(r'data-phase="(\w+)"', page) for page in pages] == [
        [phase]
        for phase in ("ready", "betting", "dealing", "dealing", "dealing", "dealing", "complete", "called", "over")
    ]
    for page in pages:
        for event in wanted:
            assert f'name="event" value="{event}"' in page

"""Cards: notation and points (DEAL-1, DEAL-2) and the burn count each card shows (SHOE-burn)."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dealing.rules.cards import BURN_COUNTS, CARDS, Card

RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K"]


def test_a_deck_is_52_different_cards() -> None:
    assert len(CARDS) == 52
    assert {str(card) for card in CARDS} == {rank + suit for rank in RANKS for suit in "shdc"}
    assert [card.index for card in CARDS] == list(range(52))


@pytest.mark.parametrize(
    ("rank", "value", "burned"),
    [
        ("A", 1, 1),
        ("2", 2, 2),
        ("3", 3, 3),
        ("4", 4, 4),
        ("5", 5, 5),
        ("6", 6, 6),
        ("7", 7, 7),
        ("8", 8, 8),
        ("9", 9, 9),
        ("T", 0, 10),
        ("J", 0, 10),
        ("Q", 0, 10),
        ("K", 0, 10),
    ],
)
def test_what_each_rank_counts(rank: str, value: int, burned: int) -> None:
    for suit in "shdc":
        card = Card.parse(rank + suit)
        assert (card.rank, card.suit, card.value) == (rank, suit, value)
        assert BURN_COUNTS[card.rank] == burned


@pytest.mark.parametrize("text", ["Td", "td", "TD", "tD", "10d", "10D"])
def test_ten_is_written_in_several_ways(text: str) -> None:
    assert Card.parse(text) is Card.parse("Td")
    assert str(Card.parse(text)) == "Td"


@pytest.mark.parametrize(
    "text", ["", "9", "h", "h9", "1h", "0h", "11h", "9x", " 9h", "9h ", "9hh", "10", "1Td", "9♥", "٩h"]
)
def test_what_is_no_card_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a card"):
        Card.parse(text)


@given(st.sampled_from(CARDS))
def test_there_is_one_object_a_card(card: Card) -> None:
    assert Card.parse(str(card)) is card
    assert Card.parse(str(card).lower()) is card
    assert Card.parse(str(card).upper()) is card
    assert copy.copy(card) is card
    assert copy.deepcopy(card) is card
    assert pickle.loads(pickle.dumps(card)) is card


@given(st.text(max_size=4))
def test_reading_a_card_either_works_or_raises_value_error(text: str) -> None:
    try:
        card = Card.parse(text)
    except ValueError:
        return
    assert card.text.lower() == text.lower().replace("10", "t")

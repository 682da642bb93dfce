"""Cards: notation and points (DEAL-1, DEAL-2), the burn count each card shows (SHOE-burn), and how many there are."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dealing.rules.cards import (
    ALL_CARDS,
    BURN_COUNTS,
    CARDS,
    RANK_CARDS,
    Card,
    counts_from_json,
    counts_to_json,
    is_spent,
    no_counts,
)

RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K"]


def test_a_deck_is_52_different_cards() -> None:
    assert len(CARDS) == 52
    assert {str(card) for card in CARDS} == {rank + suit for rank in RANKS for suit in "shdc"}
    assert [card.index for card in CARDS] == list(range(52))


def test_a_card_may_be_known_by_its_rank_only() -> None:
    assert [str(card) for card in RANK_CARDS] == RANKS
    assert [card.index for card in RANK_CARDS] == list(range(52, 65))
    assert {card.suit for card in RANK_CARDS} == {""}
    assert [ALL_CARDS[card.index] for card in ALL_CARDS] == list(ALL_CARDS)


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
    for suit in ("s", "h", "d", "c", ""):
        card = Card.parse(rank + suit)
        assert (card.rank, card.suit, card.value) == (rank, suit, value)
        assert BURN_COUNTS[card.rank] == burned


@pytest.mark.parametrize("text", ["Td", "td", "TD", "tD", "10d", "10D"])
def test_ten_is_written_in_several_ways(text: str) -> None:
    assert Card.parse(text) is Card.parse("Td")
    assert str(Card.parse(text)) == "Td"


@pytest.mark.parametrize(("text", "rank"), [("T", "T"), ("t", "T"), ("10", "T"), ("9", "9"), ("k", "K"), ("A", "A")])
def test_a_rank_alone_is_a_card(text: str, rank: str) -> None:
    assert Card.parse(text) is Card.parse(rank)
    assert str(Card.parse(text)) == rank


@pytest.mark.parametrize(
    "text",
    [
        *("", "h", "h9", "1h", "0h", "11h", "9x", " 9h", "9h ", "9hh", "1Td", "9♥", "٩h"),
        *("1", "0", "11", "99", "9 ", " 9", "X", "?", "-", "9-", "100", "٩", "1T", "AK"),
    ],
)
def test_what_is_no_card_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a card"):
        Card.parse(text)


@given(st.sampled_from(ALL_CARDS))
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


def test_the_same_card_recorded_twice_is_as_well_known_as_the_better_record() -> None:
    for one in ALL_CARDS:
        for two in ALL_CARDS:
            known = one.merged(two)
            if one.rank != two.rank or (one.suit and two.suit and one.suit != two.suit):
                assert known is None
            else:
                assert known is max(one, two, key=lambda card: card.suit)
            assert known is two.merged(one)


@given(st.dictionaries(st.sampled_from(ALL_CARDS), st.integers(1, 40)))
def test_counts_are_kept_by_the_names_of_the_cards(seen: dict[Card, int]) -> None:
    counts = no_counts()
    for card, count in seen.items():
        counts[card.index] = count
    kept = counts_to_json(counts)
    assert kept == {card.text: count for card, count in seen.items()}
    assert counts_from_json(kept) == counts


def test_counts_that_were_kept_before_ranks_alone_were_known_are_read() -> None:
    counts = counts_from_json({"9h": 8, "As": 1})
    assert len(counts) == len(ALL_CARDS) == 65
    assert [(ALL_CARDS[i].text, n) for i, n in enumerate(counts) if n] == [("As", 1), ("9h", 8)]


def possible(counts: list[int], decks: int) -> bool:
    """Whether a shoe of so many decks can hold these nines: each card without a suit is dealt the suit with most room
    left, one by one."""
    room = [decks - counts[Card.parse(f"9{suit}").index] for suit in "shdc"]
    if min(room) < 0:
        return False
    for _ in range(counts[Card.parse("9").index]):
        if max(room) == 0:
            return False
        room[room.index(max(room))] -= 1
    return True


@given(st.integers(1, 3), st.lists(st.sampled_from(["9s", "9h", "9d", "9c", "9", "9"]), max_size=16))
def test_a_card_is_spent_when_no_shoe_can_hold_one_more(decks: int, texts: list[str]) -> None:
    counts = no_counts()
    counts[Card.parse("8h").index] = 100  # others have no part in it
    counts[Card.parse("8").index] = 100
    for card in map(Card.parse, texts):
        spent = is_spent(card, counts, decks)
        counts[card.index] += 1
        assert spent is not possible(counts, decks)
        if spent:  # as if it had been read wrong
            counts[card.index] -= 1


@given(st.integers(1, 3), st.lists(st.sampled_from(["9s", "9h", "9d", "9c"]), max_size=30))
def test_with_suits_each_card_is_counted_by_itself(decks: int, texts: list[str]) -> None:
    counts = no_counts()
    for card in map(Card.parse, texts):
        assert is_spent(card, counts, decks) == (counts[card.index] >= decks)
        counts[card.index] += 1


@pytest.mark.parametrize(
    ("seen", "card", "spent"),
    [
        (["9"] * 3, "9", False),
        (["9"] * 4, "9", True),
        (["9"] * 4, "9h", True),
        (["9s", "9h", "9d", "9c"], "9", True),
        (["9s", "9h", "9d"], "9", False),
        (["9", "9", "9s", "9h"], "9d", True),
        (["9", "9", "9s"], "9s", True),
        (["9", "9", "9s"], "9h", False),
        # one that was impossible itself leaves the others their room
        (["9h", "9h", "9", "9"], "9", False),
        (["9h", "9h", "9", "9", "9"], "9", True),
        (["9", "9", "9", "9"], "8", False),
    ],
)
def test_what_one_deck_still_holds(seen: list[str], card: str, spent: bool) -> None:
    counts = no_counts()
    for text in seen:
        counts[Card.parse(text).index] += 1
    assert is_spent(Card.parse(card), counts, 1) is spent

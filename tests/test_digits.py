"""Whole numbers as requests say them."""

from __future__ import annotations

import pytest

from dealing.digits import BIG_INTEGER, read_digits


@pytest.mark.parametrize(("said", "number"), [("0", 0), ("007", 7), ("999999999", 999_999_999), (12, 12)])
def test_digits_are_a_number(said: object, number: int) -> None:
    assert read_digits(said) == number


@pytest.mark.parametrize("said", [None, "", "-1", "+1", "1.0", "1e3", " 1", "1_0", "²", "๓", "٣", "1\n", "9" * 10])
def test_anything_else_is_none(said: object) -> None:
    assert read_digits(said) is None


def test_no_more_digits_are_read_than_may_be() -> None:
    assert read_digits("9" * 18, BIG_INTEGER) == 10**18 - 1
    assert read_digits("9" * 19, BIG_INTEGER) is None
    assert read_digits("9" * 5000, BIG_INTEGER) is None

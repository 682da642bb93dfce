"""Whole numbers as a request, an address or a form says them: read in one place."""

from __future__ import annotations

from typing import Final

#: As many digits as a column of 32 and of 64 bits surely holds.
INTEGER: Final = 9
BIG_INTEGER: Final = 18


def read_digits(text: object, most: int = INTEGER) -> int | None:
    """The number that the text is, of up to `most` digits 0 to 9; None where it is anything else."""
    said = str(text)
    return int(said) if said.isascii() and said.isdigit() and len(said) <= most else None

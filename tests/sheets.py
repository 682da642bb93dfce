"""Sheets for tests: the hands of simulated shoes, written in each shape that houses use."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from openpyxl import Workbook

from dealing.rules.cards import Card
from dealing.rules.events import Called, CardDealt, Event
from dealing.rules.judge import HandAudit, fold_all
from dealing.sheets.making import Filling, Plan, events, plan
from dealing.sheets.mapping import Mapping as Columns
from dealing.sheets.mapping import guess
from dealing.sheets.reading import Book, read_book
from dealing.simulator import simulate_shoe

BANGKOK = dt.timezone(dt.timedelta(hours=7))
NOW = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
START = dt.datetime(2025, 3, 1, 20, tzinfo=BANGKOK)
SUITS = {"s": "♠", "h": "♥", "d": "♦", "c": "♣"}


class Hand(NamedTuple):
    """A hand as a house writes it down: cards by place, who won, the totals."""

    number: int
    felt: Mapping[str, str]
    winner: str
    player: int
    banker: int

    @property
    def dealt(self) -> list[str]:
        """The cards as dealt P B P B."""
        return [self.felt[place] for place in ("P1", "B1", "P2", "B2", "P3", "B3") if place in self.felt]

    def side(self, letter: str) -> list[str]:
        """The cards of a side."""
        return [self.felt[place] for place in (f"{letter}1", f"{letter}2", f"{letter}3") if place in self.felt]


def simulated_hands(seed: int, hands: int = 20) -> list[Hand]:
    """The hands of a shoe without mistakes."""
    log = simulate_shoe("B07", 1, seed=seed, ruleset="commission", hands=hands, start=START)
    out = []
    for audit in fold_all("B07", enumerate(log, 1)).audits:
        if isinstance(audit, HandAudit) and audit.result is not None:
            felt = {str(place): cards[0] for place, cards in audit.dealt.places.items()}
            out.append(Hand(audit.hand, felt, audit.result.winner, audit.result.player, audit.result.banker))
    return out


def csv_of(rows: Iterable[Sequence[object]], separator: str = ",", encoding: str = "utf-8") -> bytes:
    """Rows as a .csv file."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue().encode(encoding)


def xlsx_of(rows: Iterable[Sequence[Any]], **more: Iterable[Sequence[Any]]) -> bytes:
    """Rows as an .xlsx file; `more`: further sheets by title."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for title, content in {"Hands": rows, **more}.items():
        sheet = book["Sheet"] if title == "Hands" else book.create_sheet(title)
        sheet.title = title
        for row in content:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def json_of(rows: Sequence[Sequence[object]]) -> bytes:
    """Rows, the first of them the keys, as a list of objects."""
    heads, *hands = rows
    return json.dumps([dict(zip(heads, hand, strict=False)) for hand in hands], ensure_ascii=False).encode()


def read(
    data: bytes, name: str = "march.csv", order: str = "", columns: Columns | None = None, **filled: Any
) -> tuple[Book, Columns, Plan]:
    """A sheet read with what is guessed of it; `filled`: what it does not say."""
    book = read_book(data, name)
    mapping = columns or guess(book)
    if order:
        mapping = Columns(mapping.columns, mapping.head_row, mapping.cards, order, mapping.outcomes, mapping.dates)
    said: dict[str, Any] = {
        "name": name,
        "zone": BANGKOK,
        "now": NOW,
        "table": "B07",
        "shoe": 1,
        "date": START.date(),
        "start": START.time(),
    }
    return book, mapping, plan(book, mapping, Filling(**said | filled))


def hands_of(log: Iterable[Event]) -> list[Hand]:
    """The hands that a log tells of."""
    felts: dict[int, dict[str, str]] = {}
    called: dict[int, Called] = {}
    for event in log:
        if isinstance(event, CardDealt) and event.hand is not None and event.card is not None:
            felts.setdefault(event.hand, {})[event.to] = event.card.text
        if isinstance(event, Called) and event.hand is not None:
            called[event.hand] = event
    return [
        Hand(number, felt, called[number].winner, called[number].player or 0, called[number].banker or 0)
        for number, felt in felts.items()
    ]


def log_of(made: Plan) -> list[Event]:
    """The log of a sheet."""
    return [one.event for one in events(made)]


def bare(hand: Hand) -> Hand:
    """The hand by its ranks."""
    return hand._replace(felt={place: Card.parse(card).rank for place, card in hand.felt.items()})

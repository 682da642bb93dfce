"""The findings of all hands and shoes as one list, the newest hand first.

They lie in the stored judgements of hands and shoes. The list goes from one of these to the next, newest first, and
reads no more of them than its page needs.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.utils.dateparse import parse_datetime
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.permissions import May, tables_of
from dealing.rules.findings import CATALOGUE, DISCRETION, RULINGS

from .paging import CURSOR, PAGE_SIZE, CursorPages, no_cursor, read_cursor, write_cursor
from .serializers import FoundSerializer, Links, at_house
from .shared import Filters, Lists, TableCode

#: Hands and shoes that are read at once, and how often for one page: with filters that little passes, a page has less
#: than its size, and its `next` leads on all the same.
CHUNK: Final = 100
ROUNDS: Final = 10


class FindingFilters(Filters):
    """What the list of findings may be asked for; `from` and `to` are about when the hand began, or the shoe."""

    time = "began"
    table = TableCode(required=False, help_text="The code of a table.")
    venue = TableCode(required=False, help_text="The code of a house.")
    shoe = serializers.IntegerField(required=False, min_value=1, help_text="The number of a shoe.")
    hand = serializers.IntegerField(required=False, min_value=1, help_text="The number of a hand.")
    code = serializers.ChoiceField(choices=list(CATALOGUE), required=False, help_text="What was found.")
    state = serializers.ChoiceField(choices=["open", "corrected"], required=False)
    ruling = serializers.ChoiceField(choices=[*RULINGS, DISCRETION], required=False)
    rule = serializers.RegexField(
        r"^[A-Za-z0-9-]+$", max_length=40, required=False, help_text="A rule that speaks of it, by its id."
    )


class _Place(NamedTuple):
    """Where a finding is. Findings stand in the order of these, from the highest on.

    `kind` 1: in a hand, 0: in a shoe beside its hands; `turned`: its position there, negative.
    """

    began: dt.datetime
    kind: int
    pk: int
    turned: int


#: Stand in for `_Place.turned` beyond all findings of a hand or shoe, the way the list goes and back.
_ALL: Final = -1_000_000
_ALL_BACK: Final = 1
_IN_HAND: Final = 1
_IN_SHOE: Final = 0
#: Filters on the findings themselves.
_OWN: Final = ("code", "state", "ruling", "rule")


class _Found(NamedTuple):
    """A finding of a hand, or of a shoe beside its hands."""

    place: _Place
    shoe: Shoe
    hand: Hand | None
    finding: dict[str, Any]


class _Walk:
    """From one hand or shoe with findings to the next, of the tables that the user may see."""

    def __init__(self, user: Any, want: dict[str, Any], back: bool) -> None:
        self._back = back
        self._own = {name: want.pop(name) for name in _OWN if name in want}
        hands = Hand.objects.select_related("shoe__table__venue").defer("context", "shoe__fold", "shoe__audit")
        shoes = Shoe.objects.select_related("table__venue").defer("fold")
        self._hands = self._narrowed(hands, user, want, "shoe__table", "shoe__number", "started_at")
        self._shoes = self._narrowed(shoes, user, want, "table", "number", "opened_at")
        if "hand" in want:
            self._hands = self._hands.filter(number=want["hand"])
            self._shoes = self._shoes.none()

    def _narrowed(
        self, found: QuerySet[Any], user: Any, want: dict[str, Any], table: str, shoe: str, began: str
    ) -> QuerySet[Any]:
        lookups = {
            "table": f"{table}__code",
            "venue": f"{table}__venue__code",
            "shoe": shoe,
            "began__gte": f"{began}__gte",
            "began__lt": f"{began}__lt",
        }
        found = found.filter(
            has_findings=True,
            **{f"{table}__in": tables_of(user)},
            **{lookup: want[name] for name, lookup in lookups.items() if name in want},
        )
        if self._own:
            # Lets through all that is asked for and little else: the rest is looked at one by one.
            found = found.alias(found=KeyTextTransform("findings", "audit"))
            for value in self._own.values():
                found = found.filter(found__contains=f'"{value}"')
        way = "" if self._back else "-"
        return found.order_by(f"{way}{began}", f"{way}pk")

    def findings(self, start: _Place | None, count: int) -> tuple[list[_Found], _Place | None]:
        """Up to `count` findings beyond `start`, and where the walk left off, if it is not over and has not as many."""
        out: list[_Found] = []
        for _round in range(ROUNDS):
            rows = self._rows(start)
            for row in rows:
                for found in self._of(row):
                    if start is None or (found.place > start if self._back else found.place < start):
                        out.append(found)
                        if len(out) == count:
                            return out, None
            if len(rows) < CHUNK:
                return out, None
            start = _place(rows[-1], _ALL_BACK if self._back else _ALL)
        return out, start

    def _rows(self, start: _Place | None) -> list[Hand | Shoe]:
        hands = self._from(self._hands, start, _IN_HAND, "started_at")
        shoes = self._from(self._shoes, start, _IN_SHOE, "opened_at")
        return sorted([*hands[:CHUNK], *shoes[:CHUNK]], key=_place, reverse=not self._back)[:CHUNK]

    def _from(self, found: QuerySet[Any], start: _Place | None, kind: int, began: str) -> QuerySet[Any]:
        """From the place on, its own hand or shoe included."""
        if start is None:
            return found
        way = "gt" if self._back else "lt"
        beyond = Q(**{f"{began}__{way}": start.began})
        if kind == start.kind:
            beyond |= Q(**{f"pk__{way}e": start.pk})
        elif (kind > start.kind) == self._back:
            beyond |= Q(**{began: start.began})
        return found.filter(beyond, **{f"{began}__{way}e": start.began})

    def _of(self, row: Hand | Shoe) -> list[_Found]:
        shoe, hand = (row.shoe, row) if isinstance(row, Hand) else (row, None)
        found = [
            _Found(_place(row, -position), shoe, hand, finding)
            for position, finding in enumerate(row.audit["findings"])
            if self._asked_for(finding)
        ]
        return found[::-1] if self._back else found

    def _asked_for(self, finding: dict[str, Any]) -> bool:
        own = dict(self._own)
        rule = own.pop("rule", None)
        return (rule is None or rule in finding["rules"]) and all(finding[name] == own[name] for name in own)


def _place(row: Hand | Shoe, turned: int = 0) -> _Place:
    if isinstance(row, Hand):
        return _Place(row.started_at, _IN_HAND, row.pk, turned)
    return _Place(row.opened_at, _IN_SHOE, row.pk, turned)


def _read_place(values: list[Any]) -> _Place:
    """The place that a cursor names. Raises DRF's ValidationError for one that is none."""
    try:
        began, kind, pk, turned = values
        at = parse_datetime(began)
        if at is None or at.tzinfo is None or any(type(value) is not int for value in (kind, pk, turned)):
            raise ValueError(values)
        return _Place(at, kind, pk, turned)
    except (ValueError, TypeError) as error:
        raise no_cursor() from error


class FindingViewSet(Lists):
    """What the judge finds wrong, of the newest hand first. A page may hold fewer findings than its size though others
    follow: where `next` is null it is the last.
    """

    needs = May.READ_TABLE
    tag = "Tables"
    nouns = ("finding", "findings")
    serializer_class = FoundSerializer
    filters = FindingFilters

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of the findings."""
        want = self.asked(request)
        size = int(request.query_params.get(PAGE_SIZE, CursorPages.page_size))
        cursor = request.query_params.get(CURSOR)
        back, start = False, None
        if cursor is not None:
            back, values = read_cursor(cursor)
            start = _read_place(values)
        found, left_off = _Walk(request.user, want, back).findings(start, size + 1)
        page = found[:size]
        far = page[-1].place if len(found) > size else left_off
        near = page[0].place if page else start
        if cursor is None:
            near = None
        if back:
            page.reverse()
        ahead, behind = (near, far) if back else (far, near)
        context = {**self.get_serializer_context(), "times": _times(page)}
        pages = CursorPages()
        pages.request = request
        pages.next = None if ahead is None else write_cursor(False, list(ahead))
        pages.previous = None if behind is None else write_cursor(True, list(behind))
        return pages.get_paginated_response([found_as_json(one, context) for one in page])


def _times(page: list[_Found]) -> dict[tuple[int, int], dt.datetime]:
    """When the events happened that show the findings first, by table and position: one statement."""
    seqs: defaultdict[int, set[int]] = defaultdict(set)
    for found in page:
        seqs[found.shoe.table_id].update(found.finding["seq"][:1])
    which = Q(pk__in=())
    for table, positions in seqs.items():
        which |= Q(table_id=table, seq__in=positions)
    rows = TableEvent.objects.filter(which).values_list("table_id", "seq", "at")
    return {(table, seq): at for table, seq, at in rows}


def found_as_json(found: _Found, context: dict[str, Any]) -> dict[str, Any]:
    """A finding as the API answers it."""
    shoe, hand, link = found.shoe, found.hand, Links(context["request"])
    table: Table = shoe.table
    at = next((context["times"].get((table.pk, seq)) for seq in found.finding["seq"]), None) or found.place.began
    return {
        **found.finding,
        "table": table.code,
        "venue": table.venue.code,
        "shoe": shoe.number,
        "hand": None if hand is None else hand.number,
        "at": at_house(at, table.venue),
        "links": {
            "table": link.table(table.code),
            "shoe": link.shoe(table.code, shoe.number),
            "hand": None if hand is None else link.hand(table.code, shoe.number, hand.number),
        },
    }

"""Rows that are older than the trail are taken into it as they are: from then on no change of them goes unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from . import contents
from .models import scope_of
from .writing import Book, Kind, write

_BATCH: Final = 500
#: The app and the model of the rows of each kind.
_MODELS: Final = {
    Kind.INCIDENT: ("incidents", "Incident"),
    Kind.DECISION: ("incidents", "Decision"),
    Kind.REVIEW: ("incidents", "IncidentReview"),
    Kind.ATTACHMENT: ("incidents", "IncidentAttachment"),
    Kind.REPORT: ("incidents", "AuditReport"),
    Kind.SHIFT: ("dealing", "DealerShift"),
    Kind.SIGNED: ("trail", "SignedHead"),
}


def adopt(model: Callable[[str, str], Any], actor: str) -> int:
    """Add an entry for each row that has none, in batches; how many. `model`: `apps.get_model`, or a migration's."""
    adopter = _Adopter(model, actor)
    tables = model("dealing", "Table").objects.order_by("code")
    for pk, code, venue, venue_code in tables.values_list("pk", "code", "venue_id", "venue__code"):
        book = Book(venue, pk, scope_of(venue_code, code))
        adopter.rows(book, Kind.INCIDENT, {"table_id": pk})
        for kind in (Kind.DECISION, Kind.REVIEW, Kind.ATTACHMENT):
            adopter.rows(book, kind, {"incident__table_id": pk})
        adopter.rows(book, Kind.SHIFT, {"table_id": pk})
    for pk, code in model("dealing", "Venue").objects.order_by("code").values_list("pk", "code"):
        for kind in (Kind.REPORT, Kind.SIGNED):
            adopter.rows(Book(pk, None, scope_of(code, None)), kind, {"venue_id": pk})
    return adopter.count


class _Adopter:
    def __init__(self, model: Callable[[str, str], Any], actor: str) -> None:
        self.model = model
        self.actor = actor
        self.count = 0
        self._own = {"trail_model": model("trail", "Trail"), "entry_model": model("trail", "TrailEntry")}

    def rows(self, book: Book, kind: Kind, where: dict[str, int]) -> None:
        for batch in self._batches(kind, self.model(*_MODELS[kind]).objects.filter(**where)):
            given = [(kind.value, row.pk, contents.payload(kind, row, adopted=True)) for row in batch]
            write(book, given, self.actor, **self._own)
            self.count += len(batch)

    def _batches(self, kind: Kind, rows: Any) -> Iterator[list[Any]]:
        last = 0
        while batch := list(rows.filter(pk__gt=last).order_by("pk")[:_BATCH]):
            last = batch[-1].pk
            known = self.model("trail", "TrailEntry").objects.filter(kind=kind, reference__in=[row.pk for row in batch])
            there = set(known.values_list("reference", flat=True))
            if left := [row for row in batch if row.pk not in there]:
                yield left

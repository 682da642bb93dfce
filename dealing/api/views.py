"""Tables, shoes, hands and the log: what people with a role may read, and devices of their own tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.permissions import May, tables_of
from dealing.pit.selectors import facts_of
from dealing.rejudge import first_from
from dealing.rules.events import EVENTS

from .serializers import EventSerializer, HandSerializer, ShoeSerializer, TableSerializer
from .shared import Filters, Lists, TableCode, YesOrNo
from .write import RecordsEvents


def table_seen(request: Request, code: str) -> Table:
    """The table with its house. NotFound for one that the asker may not see, as for one that is none."""
    found = tables_of(request.user).select_related("venue").filter(code=code).first()
    if found is None:
        raise NotFound(_("There is no table %(code)s here.") % {"code": code})
    return found


class OfTables(Lists):
    """Lists of what happened at tables; `path` leads from a row to its table."""

    needs = May.READ_TABLE
    tag = "Tables"
    path: ClassVar[str]

    def get_queryset(self) -> QuerySet[Any]:
        """Of the tables that the asker may see."""
        return self.rows().filter(**{f"{self.path}__in": tables_of(self.request.user)})

    def rows(self) -> QuerySet[Any]:
        """All rows, in the order of the list, with what an answer needs of others."""
        raise NotImplementedError


# Tables.


class TableFilters(Filters):
    """What the list of tables may be asked for."""

    venue = TableCode(required=False, source="venue__code", help_text="The code of a house.")
    in_use = YesOrNo(required=False, source="is_active", help_text="Whether the table is in use.")


class TableViewSet(Lists):
    """The tables, by their codes."""

    needs = May.READ_TABLE
    tag = "Tables"
    nouns = ("table", "tables")
    serializer_class = TableSerializer
    filters = TableFilters

    def get_queryset(self) -> QuerySet[Table]:
        """With their houses."""
        return tables_of(self.request.user).select_related("venue").order_by("code")

    def page_context(self, page: Sequence[Table]) -> dict[str, Any]:
        """What each table is doing, read for all of them at once."""
        return {"facts": facts_of(page)}

    def retrieve(self, request: Request, table: str) -> Response:
        """One table: its rules, the head of its log, and what it is doing now."""
        return self.answer(table_seen(request, table))


# Shoes.


class ShoeFilters(Filters):
    """What the list of shoes may be asked for."""

    time = "opened_at"
    table = TableCode(required=False, source="table__code", help_text="The code of a table.")
    venue = TableCode(required=False, source="table__venue__code", help_text="The code of a house.")
    status = serializers.ChoiceField(choices=Shoe.Status.values, required=False)
    has_findings = YesOrNo(required=False, help_text="Whether something was found beside the shoe’s hands.")


class ShoeViewSet(OfTables):
    """The shoes, the newest first."""

    nouns = ("shoe", "shoes")
    serializer_class = ShoeSerializer
    filters = ShoeFilters
    path = "table"

    def rows(self) -> QuerySet[Shoe]:
        """Without the judge's own state."""
        return Shoe.objects.select_related("table__venue").defer("fold").order_by("-opened_at", "-pk")

    def retrieve(self, request: Request, table: str, shoe: int) -> Response:
        """One shoe: what was found beside its hands, how many hands it had, and what became of it."""
        of = table_seen(request, table)
        found = self.rows().filter(table=of, number=shoe).first()
        if found is None:
            raise NotFound(_("Table %(table)s has no shoe %(shoe)d.") % {"table": table, "shoe": shoe})
        return self.answer(found)


# Hands.


class HandFilters(Filters):
    """What the list of hands may be asked for."""

    time = "started_at"
    table = TableCode(required=False, source="shoe__table__code", help_text="The code of a table.")
    venue = TableCode(required=False, source="shoe__table__venue__code", help_text="The code of a house.")
    shoe = serializers.IntegerField(
        required=False, min_value=1, source="shoe__number", help_text="The number of a shoe."
    )
    winner = serializers.ChoiceField(choices=Hand.Winner.values, required=False)
    status = serializers.ChoiceField(choices=Hand.Status.values, required=False)
    has_findings = YesOrNo(required=False, help_text="Whether something was found in the hand.")


class HandViewSet(OfTables):
    """The hands, those that began last first."""

    nouns = ("hand", "hands")
    serializer_class = HandSerializer
    filters = HandFilters
    path = "shoe__table"

    def rows(self) -> QuerySet[Hand]:
        """Without what only the judge reads."""
        found = Hand.objects.select_related("shoe__table__venue").defer("context", "shoe__fold", "shoe__audit")
        return found.order_by("-started_at", "-pk")

    def retrieve(self, request: Request, table: str, shoe: int, hand: int) -> Response:
        """One hand: the cards as dealt and as the rules lay them, findings, ruling, and what each bet is owed."""
        of = table_seen(request, table)
        found = self.rows().filter(shoe__table=of, shoe__number=shoe, number=hand).first()
        if found is None:
            where = {"table": table, "shoe": shoe, "hand": hand}
            raise NotFound(_("Table %(table)s has no hand %(hand)d in shoe %(shoe)d.") % where)
        return self.answer(found)


# The log.


class EventFilters(Filters):
    """What a table's log may be asked for. Times never decrease along a log."""

    time = "at"
    after = serializers.IntegerField(
        required=False, min_value=0, source="seq__gt", help_text="Only what comes after this position."
    )
    before = serializers.IntegerField(
        required=False, min_value=1, source="seq__lt", help_text="Only what comes before this position."
    )
    shoe = serializers.IntegerField(required=False, min_value=1, source="shoe_number", help_text="Of this shoe.")
    hand = serializers.IntegerField(
        required=False, min_value=1, source="hand_number", help_text="Of the hand with this number."
    )
    event = serializers.ChoiceField(
        choices=list(EVENTS), required=False, source="name", help_text="Events of this kind."
    )
    key = serializers.RegexField(
        r"^[^\x00]*$", required=False, max_length=128, trim_whitespace=False, help_text="The event with this key."
    )


class EventViewSet(RecordsEvents, Lists):
    """A table's log, in its order. What is given once never changes."""

    needs = May.READ_TABLE
    tag = "Tables"
    nouns = ("event", "events")
    serializer_class = EventSerializer
    filters = EventFilters

    def get_queryset(self) -> QuerySet[TableEvent]:
        """Of the table that the address names."""
        self.table = table_seen(self.request, self.kwargs["table"])
        return TableEvent.objects.filter(table=self.table).order_by("seq")

    def narrowed(self, found: QuerySet[TableEvent], want: dict[str, Any]) -> QuerySet[TableEvent]:
        """Times as the positions that they come to, so that a long log is not read through."""
        for bound, lookup in (("at__gte", "seq__gte"), ("at__lt", "seq__lt")):
            if (at := want.pop(bound, None)) is not None:
                found = found.filter(**{lookup: first_from(self.table.pk, at, 1, self.table.last_seq)})
        return found.filter(**want)

    def get_serializer_context(self) -> dict[str, Any]:
        """With the table of the rows."""
        return {**super().get_serializer_context(), "table": self.table}

    def retrieve(self, request: Request, table: str, seq: int) -> Response:
        """One event of a table's log, by its position."""
        found = self.get_queryset().filter(seq=seq).first()
        if found is None:
            raise NotFound(_("The log of table %(table)s has no position %(seq)d.") % {"table": table, "seq": seq})
        return self.answer(found)

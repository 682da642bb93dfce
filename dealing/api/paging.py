"""The one pager: pages of a list that stay right while the list grows.

A page's end is named by the values of its last row, not by how many rows came before: nothing is left out or given
twice, whatever is added, and the thousandth page costs what the first does.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
from typing import Any, ClassVar, Final

from django.core.exceptions import FieldError, ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

CURSOR: Final = "cursor"
PAGE_SIZE: Final = "page_size"


def write_cursor(back: bool, values: list[Any]) -> str:
    """The text of a cursor: what comes after the row with these values, or before it."""
    plain = [value.isoformat() if isinstance(value, dt.date) else value for value in values]
    text = json.dumps([int(back), *plain], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def read_cursor(text: str) -> tuple[bool, list[Any]]:
    """What `write_cursor` was given, times as text. Raises DRF's ValidationError naming the filter."""
    try:
        raw = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), b"-_", validate=True)
        back, *values = json.loads(raw)
    except (binascii.Error, ValueError, TypeError) as error:
        raise no_cursor() from error
    if back not in (0, 1) or not values or any(type(value) not in (int, str) for value in values):
        raise no_cursor()
    return bool(back), values


def no_cursor() -> serializers.ValidationError:
    """What is said of a cursor that none of our answers gave."""
    return serializers.ValidationError({CURSOR: [_("This is no cursor of this list. Begin at its first page.")]})


class CursorPages(BasePagination):
    """Pages of a query set in the order that it has been given; `next` leads on.

    The fields of the order have together to be unique, and none of them may be empty.
    """

    page_size: ClassVar[int] = 50
    max_page_size: ClassVar[int] = 200

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """The rows of the page that is asked for. Raises DRF's ValidationError for a cursor that is none."""
        self.request = request
        size = int(request.query_params.get(PAGE_SIZE, self.page_size))  # the list's filters have looked at it
        cursor = request.query_params.get(CURSOR)
        self.order = [str(name) for name in queryset.query.order_by]
        back = False
        if cursor is not None:
            back, values = read_cursor(cursor)
            queryset = self._beyond(queryset, back, values)
        if back:
            queryset = queryset.order_by(*map(_turned, self.order))
        found = list(queryset[: size + 1])
        more = len(found) > size
        page = found[:size]
        if back:
            page.reverse()
        self.next = write_cursor(False, self._values(page[-1])) if page and (more or back) else None
        self.previous = write_cursor(True, self._values(page[0])) if page and (more if back else cursor) else None
        return page

    def _beyond(self, queryset: QuerySet[Any], back: bool, values: list[Any]) -> QuerySet[Any]:
        if len(values) != len(self.order):
            raise no_cursor()
        ways = [(name.lstrip("-"), "lt" if name.startswith("-") != back else "gt") for name in self.order]
        beyond = Q()
        for (name, way), value in reversed(list(zip(ways, values, strict=True))):
            beyond = (
                Q(**{f"{name}__{way}": value}) | Q(beyond, **{name: value})
                if beyond
                else Q(**{f"{name}__{way}": value})
            )
        (name, way), first = ways[0], values[0]
        try:
            # Said apart, so that an index on the first field is walked from there.
            return queryset.filter(Q(**{f"{name}__{way}e": first}) & beyond)
        except (ValueError, TypeError, ValidationError, FieldError) as error:
            raise no_cursor() from error

    def _values(self, row: Any) -> list[Any]:
        values = []
        for name in self.order:
            value = row
            for part in name.lstrip("-").split("__"):
                value = getattr(value, part)
            values.append(value)
        return values

    def get_paginated_response(self, data: Any) -> Response:
        """The page with the addresses of the next and the one before."""
        return Response({"next": self._link(self.next), "previous": self._link(self.previous), "results": data})

    def _link(self, cursor: str | None) -> str | None:
        if cursor is None:
            return None
        here = remove_query_param(self.request.build_absolute_uri(), CURSOR)
        return replace_query_param(here, CURSOR, cursor)

    # What the description of the API says of it.

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A page of what `schema` describes."""
        link = {"type": ["string", "null"], "format": "uri", "example": None}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {
                "next": {**link, "description": "The next page; null at the end."},
                "previous": {**link, "description": "The page before; null at the beginning."},
                "results": schema,
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """The parameters of every list; `page_size` is among its filters."""
        return [
            {
                "name": CURSOR,
                "in": "query",
                "required": False,
                "description": "Where the page begins: taken from `next` or `previous`, never made up.",
                "schema": {"type": "string"},
            }
        ]


def _turned(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"

"""What the views of the API derive from: rights, filters, lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar, Final

from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers, viewsets
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dealing.models import TABLE_CODE
from dealing.permissions import May, may, refusal, roles

from .paging import CURSOR, PAGE_SIZE, CursorPages
from .problems import Problem

#: The characters of a table's code, as the description of the API writes them.
CODE_PATTERN: Final = r"^[A-Z0-9-]{1,16}$"


class Needs(BasePermission):
    """Lets in who may do what the view `needs`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """By the one table of `dealing.permissions`."""
        what: May = view.needs
        self.message = refusal(what, request.user) if roles(request.user) else refusal(May.READ)
        return may(request.user, what)


class _Guarded(APIView):
    """`needs` says what one must be allowed to do, `tag` under which heading the description of the API has it.

    A method that the address does not know is 405 for everybody.
    """

    needs: ClassVar[May]
    tag: ClassVar[str]
    #: What one thing and several are called in the names of operations: `getHand`, `listHands`.
    nouns: ClassVar[tuple[str, str]]
    #: What may be asked for behind the `?`, by method or by action of a view set; of lists their filters say it.
    params: Mapping[str, Set[str]] = {}
    permission_classes = (Needs,)
    http_method_names = [name for name in APIView.http_method_names if name != "options"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse an unknown method before anything else is asked for, a session's token above all."""
        if str(request.method) not in self.allowed_methods:
            raise MethodNotAllowed(str(request.method))
        super().initial(request, *args, **kwargs)
        if (packed := request.headers.get("Content-Encoding", "identity").lower()) != "identity":
            detail = _("What is sent is read as it is: leave out “Content-Encoding: %(kind)s”, and do not pack it.")
            raise Problem("unsupported-media-type", detail % {"kind": packed[:20]})
        asked = getattr(self, "action", None) or str(request.method).lower()
        if asked != "list" and (unknown := sorted(set(request.query_params) - self.params.get(asked, set()))):
            raise serializers.ValidationError({name: [_("There is no such parameter here.")] for name in unknown})


class ApiView(_Guarded):
    """A view of the API that is no list."""


class YesOrNo(serializers.BooleanField):
    """`true` or `false`, and nothing else."""

    TRUE_VALUES = {"true"}
    FALSE_VALUES = {"false"}
    NULL_VALUES: set[Any] = set()
    default_empty_html = serializers.empty


class TableCode(serializers.RegexField):
    """A table's code."""

    def __init__(self, **options: Any) -> None:
        super().__init__(CODE_PATTERN, max_length=16, error_messages={"invalid": TABLE_CODE.message}, **options)


class Filters(serializers.Serializer):
    """What a list may be asked for: each field's `source` is the lookup that it stands for.

    A filter that the list does not know is refused by its name: a slip of the pen would quietly give everything.
    """

    #: The lookup on the time that `from` and `to` are about; empty: the list has none. A day counts as a whole.
    time: ClassVar[str] = ""
    time_field: ClassVar[type[serializers.Field]] = serializers.DateTimeField

    def get_fields(self) -> dict[str, serializers.Field]:
        """`from` is a word of the language and cannot stand in a class."""
        fields = super().get_fields()
        if self.time:
            first, last = self._bounds()
            whole = self.time_field is serializers.DateField
            fields["from"] = self.time_field(
                required=False,
                source=first,
                help_text="Not before this day." if whole else "Not before this time; without an offset it is UTC.",
            )
            fields["to"] = self.time_field(
                required=False, source=last, help_text="Not after this day." if whole else "Before this time."
            )
        fields[PAGE_SIZE] = serializers.IntegerField(
            required=False, min_value=1, max_value=CursorPages.max_page_size, help_text="How many a page has; 50."
        )
        return fields

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what is not known here, and times in the wrong order."""
        if unknown := sorted(set(self.initial_data) - {*self.fields, CURSOR}):
            raise serializers.ValidationError({name: _("There is no such filter.") for name in unknown})
        if self.time:
            first, last = (attrs.get(bound) for bound in self._bounds())
            if first and last and first > last:
                raise serializers.ValidationError({"to": _("This is before “from”.")})
        attrs.pop(PAGE_SIZE, None)
        return attrs

    def _bounds(self) -> tuple[str, str]:
        return f"{self.time}__gte", f"{self.time}__{'lte' if self.time_field is serializers.DateField else 'lt'}"


class Lists(_Guarded, viewsets.GenericViewSet):
    """A list of the API, filtered and in pages; every row in the form in which it is answered alone."""

    pagination_class = CursorPages
    serializer_class: type[serializers.BaseSerializer[Any]]
    filters: ClassVar[type[Filters]]

    def asked(self, request: Request) -> dict[str, Any]:
        """The lookups that the question's filters come to. Raises DRF's ValidationError."""
        params = request.query_params
        if twice := sorted(name for name in params if len(params.getlist(name)) > 1):
            raise serializers.ValidationError({name: [_("This filter stands there twice.")] for name in twice})
        asked = self.filters(data=params.dict())
        asked.is_valid(raise_exception=True)
        want: dict[str, Any] = asked.validated_data
        return want

    def narrowed(self, found: QuerySet[Any], want: dict[str, Any]) -> QuerySet[Any]:
        """The rows that the lookups leave."""
        return found.filter(**want)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of the list."""
        want = self.asked(request)
        page = self.paginate_queryset(self.narrowed(self.get_queryset(), want)) or []
        context = {**self.get_serializer_context(), **self.page_context(page)}
        return self.get_paginated_response(self.serializer_class(page, many=True, context=context).data)

    def page_context(self, page: Sequence[Any]) -> dict[str, Any]:
        """What the rows of a page need besides, read for all of them at once."""
        return {}

    def answer(self, row: Model) -> Response:
        """One row."""
        return Response(self.get_serializer(row).data)


def read_position(text: str, name: str) -> int:
    """A position of a log as a parameter has it. Raises `Problem` naming the parameter."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Problem("invalid", errors={name: [_("This is no position of a log.")]})
    return int(text)

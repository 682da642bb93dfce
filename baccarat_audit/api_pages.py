"""What of `/api/` is about the API itself: its beginning, its description, its problems, and whatever is not there."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dealing.api.problems import KINDS
from dealing.api.shared import ApiView
from dealing.permissions import May

#: The lists that the beginning names.
LISTS = ("tables", "shoes", "hands", "findings", "incidents", "decisions", "reports")


class RootSerializer(serializers.Serializer[Any]):
    """The addresses of the lists, and of what describes them."""

    def get_fields(self) -> dict[str, serializers.Field]:
        """One for each list."""
        return {name: serializers.URLField() for name in (*LISTS, "schema", "docs", "problems")}


class Root(ApiView):
    """Where to begin: the addresses of the lists."""

    needs = May.READ_TABLE
    tag = "API"

    @extend_schema(operation_id="root", responses=RootSerializer)
    def get(self, request: Request) -> Response:
        """Where to begin: the addresses of the lists. The log of a table is beneath the table."""
        names = (*LISTS, "schema", "docs", "problems")
        return Response({name: request.build_absolute_uri(reverse(f"api:{name}")) for name in names})


class Nothing(APIView):
    """Whatever the API has no answer for."""

    permission_classes = (AllowAny,)
    metadata_class = None
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """404, whatever was asked, by which method and by whom."""
        raise NotFound(self._said(request.path_info))

    def _said(self, path: str) -> str:
        if not path.endswith("/"):
            try:
                if resolve(f"{path}/").view_name != "api:nothing":
                    return _("There is nothing at this address; there is at %(address)s.") % {"address": f"{path}/"}
            except Resolver404:
                pass
        return _("There is nothing at this address.")


@require_safe
@never_cache
@login_required
def docs(request: HttpRequest) -> HttpResponse:
    """The page on which the API can be looked through and tried."""
    return render(request, "api/docs.html")


@require_safe
def problems(request: HttpRequest) -> HttpResponse:
    """Every kind of problem, with what to do about it: where `type` leads."""
    return render(request, "api/problems.html", {"kinds": KINDS.values()})

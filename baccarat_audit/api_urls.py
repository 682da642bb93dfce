"""`/api/v1/`: the addresses of the JSON API. A table is named by its code, a shoe and a hand by their numbers there."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponseBase
from django.urls import path, re_path
from django.views.decorators.cache import never_cache
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularYAMLAPIView

from dealing.api.feed import FeedView
from dealing.api.findings import FindingViewSet
from dealing.api.views import EventViewSet, HandViewSet, ShoeViewSet, TableViewSet
from incidents.api import DecisionViewSet, IncidentViewSet
from incidents.reports.api import ReportViewSet

from .api_pages import Nothing, Root, docs, problems

View = Callable[..., HttpResponseBase]


def listed(views: type[Any]) -> View:
    """The list of what a view set is about."""
    return never_cache(views.as_view({"get": "list"}))


def one(views: type[Any]) -> View:
    """A single one of them."""
    return never_cache(views.as_view({"get": "retrieve"}))


app_name = "api"

urlpatterns = [
    path("v1/", never_cache(Root.as_view()), name="root"),
    path("v1/tables/", listed(TableViewSet), name="tables"),
    path("v1/tables/<str:table>/", one(TableViewSet), name="table"),
    path(
        "v1/tables/<str:table>/events/",
        never_cache(EventViewSet.as_view({"get": "list", "post": "record"})),
        name="events",
    ),
    path("v1/tables/<str:table>/feed/", FeedView.as_view(), name="feed"),
    path("v1/tables/<str:table>/events/<int:seq>/", one(EventViewSet), name="event"),
    path("v1/tables/<str:table>/shoes/<int:shoe>/", one(ShoeViewSet), name="shoe"),
    path("v1/tables/<str:table>/shoes/<int:shoe>/hands/<int:hand>/", one(HandViewSet), name="hand"),
    path("v1/shoes/", listed(ShoeViewSet), name="shoes"),
    path("v1/hands/", listed(HandViewSet), name="hands"),
    path("v1/findings/", listed(FindingViewSet), name="findings"),
    path("v1/incidents/", listed(IncidentViewSet), name="incidents"),
    path("v1/incidents/<int:incident>/", one(IncidentViewSet), name="incident"),
    path("v1/incidents/<int:incident>/decisions/<int:decision>/", one(DecisionViewSet), name="decision"),
    path("v1/decisions/", listed(DecisionViewSet), name="decisions"),
    path("v1/reports/", listed(ReportViewSet), name="reports"),
    path("v1/reports/<str:venue>/<str:day>/", one(ReportViewSet), name="newest_report"),
    path("v1/reports/<str:venue>/<str:day>/<int:revision>/", one(ReportViewSet), name="report"),
    path("v1/schema/", never_cache(SpectacularJSONAPIView.as_view()), name="schema"),
    path("v1/schema.yaml", never_cache(SpectacularYAMLAPIView.as_view()), name="schema_yaml"),
    path("v1/docs/", docs, name="docs"),
    path("v1/problems/", problems, name="problems"),
    re_path("", Nothing.as_view(), name="nothing"),
]

"""`/api/v1/`: the addresses of the JSON API."""

from typing import Any

from django.urls import path, re_path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from incidents.reports.api import ReportViewSet


class Nothing(APIView):
    """Whatever the API has no answer for."""

    permission_classes = (AllowAny,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """404, whatever was asked and by which method."""
        super().initial(request, *args, **kwargs)
        raise NotFound(_("There is nothing at this address."))


reports = never_cache(ReportViewSet.as_view({"get": "list"}))
report = never_cache(ReportViewSet.as_view({"get": "retrieve"}))

app_name = "api"

urlpatterns = [
    path("v1/reports/", reports, name="reports"),
    path("v1/reports/<str:venue>/<str:day>/", report, name="newest_report"),
    path("v1/reports/<str:venue>/<str:day>/<int:revision>/", report, name="report"),
    re_path("", Nothing.as_view(), name="nothing"),
]

"""`/tables/`."""

from django.urls import path

from dealing.console import views
from dealing.pit.views import pit

app_name = "console"

urlpatterns = [
    path("", pit, name="tables"),
    path("<slug:code>/", views.table, name="table"),
    path("<slug:code>/record/", views.record, name="record"),
    path("<slug:code>/<int:number>/", views.shoe, name="shoe"),
    path("<slug:code>/<int:shoe>/<int:hand>/", views.hand, name="hand"),
]

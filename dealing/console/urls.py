"""`/tables/`."""

from django.urls import path

from dealing.console import views
from dealing.pit.views import pit

app_name = "console"

urlpatterns = [
    path("", pit, name="tables"),
    path("<slug:code>/", views.table, name="table"),
    path("tableau/<str:name>.json", views.tableau, name="tableau"),
    path("<slug:code>/head/", views.head, name="head"),
    path("<slug:code>/roads/", views.roads, name="roads"),
    path("<slug:code>/record/", views.record, name="record"),
    path("<slug:code>/<int:number>/", views.shoe, name="shoe"),
    path("<slug:code>/<int:shoe>/<int:hand>/", views.hand, name="hand"),
]

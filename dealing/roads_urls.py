"""`/tables/<code>/display/`."""

from django.urls import path

from dealing import roads_views

app_name = "roads"

urlpatterns = [
    path("<slug:code>/display/", roads_views.display, name="display"),
    path("<slug:code>/display/live/", roads_views.live, name="live"),
]

"""`/look/`."""

from django.urls import path

from dealing import look

urlpatterns = [
    path("", look.look, name="look"),
    path("theme/", look.theme, name="theme"),
]

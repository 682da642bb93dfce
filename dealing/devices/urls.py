"""`/devices/`: which devices may record and read, and their keys."""

from django.urls import path

from . import views

app_name = "devices"

urlpatterns = [
    path("", views.devices, name="list"),
    path("new/", views.new, name="new"),
    path("<str:code>/", views.device, name="device"),
    path("<str:code>/edit/", views.edit, name="edit"),
    path("<str:code>/keys/", views.make_key, name="make_key"),
    path("<str:code>/keys/<str:prefix>/revoke/", views.revoke_key, name="revoke_key"),
]

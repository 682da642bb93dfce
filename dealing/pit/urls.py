"""`/tables/`: the pit, and who deals at a table. No table's code has small letters: `live/` is no table."""

from django.urls import path

from dealing.pit import dealer_views, views

app_name = "pit"

urlpatterns = [
    path("live/", views.live, name="live"),
    path("<slug:code>/dealer/", dealer_views.dealer, name="dealer"),
    path("<slug:code>/shifts/", dealer_views.shifts, name="shifts"),
    path("<slug:code>/shifts/new/", dealer_views.shift, name="new_shift"),
    path("<slug:code>/shifts/<int:pk>/", dealer_views.shift, name="shift"),
]

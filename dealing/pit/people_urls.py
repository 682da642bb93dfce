"""`/dealers/`. A code may hold anything, a slash too, so it stands last."""

from django.urls import path

from dealing.pit import people_views

app_name = "dealers"

urlpatterns = [
    path("", people_views.dealers, name="list"),
    path("-/", people_views.nobody, name="nobody"),
    path("<path:code>/", people_views.dealer, name="dealer"),
]

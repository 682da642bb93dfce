"""`/webhooks/`: who is told what happens here, what was sent, what was given up."""

from django.urls import path

from . import views

app_name = "webhooks"

urlpatterns = [
    path("", views.webhooks, name="list"),
    path("new/", views.new, name="new"),
    path("<int:pk>/", views.webhook, name="webhook"),
    path("<int:pk>/edit/", views.edit, name="edit"),
    path("<int:pk>/test/", views.test, name="test"),
    path("<int:pk>/secret/", views.rotate, name="rotate"),
    path("<int:pk>/secret/alone/", views.end_overlap, name="end_overlap"),
    path("<int:pk>/delete/", views.delete, name="delete"),
    path("messages/<int:pk>/", views.message, name="message"),
    path("messages/<int:pk>/again/", views.again, name="again"),
    path("messages/<int:pk>/discard/", views.discard, name="discard"),
    path("given-up/", views.given_up, name="given_up"),
    path("given-up/again/", views.again, name="all_again"),
    path("given-up/discard/", views.discard, name="discard_all"),
]

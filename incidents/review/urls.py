"""The addresses of the incident pages."""

from django.urls import path

from . import views

app_name = "incidents"

urlpatterns = [
    path("", views.queue, name="queue"),
    path("<int:pk>/", views.incident, name="incident"),
    path("<int:pk>/preview/", views.preview, name="preview"),
    path("<int:pk>/step/", views.step, name="step"),
    path("<int:pk>/sheet.pdf", views.sheet, name="sheet"),
    path("<int:pk>/attach/", views.attach, name="attach"),
    path("<int:pk>/attachments/<int:number>/", views.attachment, name="attachment"),
    path("<int:pk>/review/", views.review, name="review"),
    path("at/<str:table>/<int:shoe>/<int:hand>/", views.for_hand, name="for_hand"),
    path("at/<str:table>/<int:shoe>/", views.for_hand, name="for_shoe"),
]

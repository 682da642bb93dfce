"""`/sheets/`: hands out of spreadsheets, step by step."""

from django.urls import path

from dealing.sheets import views

app_name = "sheets"

urlpatterns = [
    path("", views.start, name="start"),
    path("<str:token>/", views.columns, name="columns"),
    path("<str:token>/preview/", views.preview, name="preview"),
    path("<str:token>/store/", views.store, name="store"),
    path("<str:token>/done/", views.done, name="done"),
    path("<str:token>/discard/", views.discard, name="discard"),
]

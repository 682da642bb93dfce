"""The addresses of the product, and a page of what a report says of the game itself with its drawings."""

from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

from baccarat_audit.urls import urlpatterns as of_the_product
from incidents.reports.models import AuditReport

PAGE = """{% extends "base.html" %}{% load static %}
{% block styles %}<link rel="stylesheet" href="{% static 'css/reports.css' %}">
<link rel="stylesheet" href="{% static 'css/plots.css' %}">{% endblock %}
{% block main %}<div class="page-head"><h1>River House</h1></div><div class="stack">
{% if game %}<section class="stack stack-close" id="game">{% include "reports/_game.html" %}</section>{% endif %}
{% include "reports/_plots.html" %}</div>{% endblock %}"""


def game_page(request: HttpRequest, pk: int) -> HttpResponse:
    report = AuditReport.objects.get(pk=pk)
    nightly = report.kind == AuditReport.Kind.NIGHTLY
    context = {"report": report, "game": report.nightly.game if nightly else None}
    return HttpResponse(engines["django"].from_string(PAGE).render(context, request))


urlpatterns = [*of_the_product, path("game-page/<int:pk>/", game_page)]

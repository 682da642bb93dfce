"""What a report's page says of the game itself, and its drawings."""

from __future__ import annotations

from django import template

from incidents.reports import game_wording, plots
from incidents.reports.figures import Game
from incidents.reports.game_wording import GameWords
from incidents.reports.models import AuditReport
from incidents.reports.plots import Shown

register = template.Library()


@register.simple_tag
def game_words(game: Game) -> GameWords:
    """The verdict, the flags and the frequencies in words."""
    return game_wording.game_words(game)


@register.simple_tag
def report_plots(report: AuditReport) -> list[Shown]:
    """The drawings of a report in the page's language; none while they are not made."""
    return plots.shown(report)

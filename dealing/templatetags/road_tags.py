"""`{% roads shoe %}`: the five roads of a shoe, with their key. The page has to bring `css/roads.css`."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dealing import roads_svg
from dealing.models import Shoe
from dealing.roads import Board, load_board
from dealing.rules.tableau import Winner

register = template.Library()


@register.inclusion_tag("roads/roads.html")
def roads(shoe: Shoe, board: Board | None = None, key: bool = True, prefix: str = "") -> dict[str, Any]:
    """Draw the roads of ``shoe``; one query, none where its ``board`` is given.

    ``key``: explain the marks, and say what the derived roads would show next. ``prefix``: of the ids in the page,
    where a shoe stands on it twice.
    """
    made = (board or load_board(shoe)).roads
    prefix = prefix or f"shoe-{shoe.number}"
    drawn = [
        ("bead", _("Bead plate"), roads_svg.bead_plate(made, prefix)),
        ("big", _("Big road"), roads_svg.big_road(made, prefix)),
        ("eye", _("Big eye boy"), roads_svg.big_eye_boy(made, prefix)),
        ("small", _("Small road"), roads_svg.small_road(made, prefix)),
        ("cockroach", _("Cockroach pig"), roads_svg.cockroach_pig(made, prefix)),
    ]
    coming = [
        (
            winner,
            words,
            [
                (title, roads_svg.derived_mark(name, red))
                for (name, red), title in zip(
                    said._asdict().items(), (_("Big eye boy"), _("Small road"), _("Cockroach pig")), strict=True
                )
            ],
        )
        for winner, words, said in (
            ("player", _("If Player wins next"), made.if_player),
            ("banker", _("If Banker wins next"), made.if_banker),
        )
    ]
    return {"drawn": drawn, "coming": coming, "key": key}


@register.simple_tag
def road_sample(name: str) -> SafeString:
    """A mark of the roads for a key; see `roads_svg.sample`."""
    return roads_svg.sample(name)


@register.simple_tag
def road_disc(winner: Winner) -> SafeString:
    """The disc of a result."""
    return roads_svg.disc(winner)

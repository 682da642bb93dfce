"""The roads drawn as SVG.

No colour says anything alone: results carry their letter, marks their place in the cell, and blue entries of the
derived roads another shape than red ones. Like shapes are one path, so that a full shoe stays a few kilobytes. All
looks are in ``roads.css``; a cell is 20 units wide and high, one of a derived road 10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from dealing import wording
from dealing.rules.roads import ROWS, DerivedCell, Roads, Spot
from dealing.rules.tableau import Winner

CELL: Final = 20
SMALL_CELL: Final = 10
LETTERS: Final[dict[Winner, str]] = {"player": "P", "banker": "B", "tie": "T"}
#: How many of the newest hands the description of the bead plate tells.
TOLD: Final = 12

Draw = Callable[[int, int], str]


def bead_plate(roads: Roads, prefix: str) -> SafeString:
    """Discs with the letter of the result."""
    cells = [(_corner(cell.spot), cell.hand) for cell in roads.bead]
    drawing = []
    for winner, letter in LETTERS.items():
        spots = [at for at, hand in cells if hand.winner == winner]
        drawing.append(_group(f"road-{letter}", _path("road-disc", spots, _disc), _letters(letter, spots)))
    drawing.append(_path("road-natural", [at for at, hand in cells if hand.natural], _bar))
    drawing += _pairs([at for at, hand in cells if hand.player_pair], [at for at, hand in cells if hand.banker_pair])
    newest = [wording.side_name(cell.hand.winner) for cell in roads.bead[: -TOLD - 1 : -1]]
    told = (
        _("Hands: %(count)d. Newest first: %(results)s.") % {"count": len(cells), "results": ", ".join(newest)}
        if cells
        else _("No hand yet.")
    )
    return _svg(prefix, "bead", _("Bead plate"), told, CELL, (cell.spot for cell in roads.bead), drawing)


def big_road(roads: Roads, prefix: str) -> SafeString:
    """Rings with the letter of the side, a stroke and a number for the ties after it."""
    cells = [(_corner(cell.spot), cell) for cell in roads.big]
    drawing = []
    sides: tuple[Winner, ...] = ("player", "banker")
    for winner in sides:
        spots = [at for at, cell in cells if cell.hand.winner == winner]
        drawing.append(_path(f"road-disc road-{LETTERS[winner]}", spots, _disc))
    drawing.append(_path("road-within", [at for at, _cell in cells], _disc))
    ties = [(at, cell.ties) for at, cell in cells if cell.ties]
    if roads.waiting_ties:
        ties.append(((0, 0), roads.waiting_ties))
    drawing.append(_path("road-tie", [at for at, _count in ties], _stroke))
    for winner in sides:
        spots = [at for at, cell in cells if cell.hand.winner == winner]
        drawing.append(_group(f"road-{LETTERS[winner]}", _letters(LETTERS[winner], spots)))
    drawing.append(_path("road-natural", [at for at, cell in cells if cell.hand.natural], _bar))
    drawing += _pairs(
        [at for at, cell in cells if cell.hand.player_pair], [at for at, cell in cells if cell.hand.banker_pair]
    )
    several = (((x + 16, y + 8), count) for (x, y), count in ties if count > 1)
    drawing.append(
        _group(
            "road-ties",
            format_html_join("", '<text x="{}" y="{}">{}</text>', ((x, y, count) for (x, y), count in several)),
        )
    )
    told = _("No hand won yet.")
    if cells:
        last = roads.big[-1]
        length = sum(cell.line == last.line for cell in roads.big)
        told = _("Columns: %(columns)d. The last: %(side)s, hands: %(length)d.") % {
            "columns": last.line + 1,
            "side": wording.side_name(last.hand.winner),
            "length": length,
        }
    counted = roads.waiting_ties + sum(cell.ties for cell in roads.big)
    if counted:
        told += " " + _("Ties counted: %(ties)d.") % {"ties": counted}
    return _svg(prefix, "big", _("Big road"), told, CELL, (cell.spot for cell in roads.big), drawing)


def big_eye_boy(roads: Roads, prefix: str) -> SafeString:
    """Small rings; the blue ones have a dot in them."""
    return _derived(prefix, "big_eye", _("Big eye boy"), roads.big_eye)


def small_road(roads: Roads, prefix: str) -> SafeString:
    """Small discs; the blue ones have a hole."""
    return _derived(prefix, "small", _("Small road"), roads.small)


def cockroach_pig(roads: Roads, prefix: str) -> SafeString:
    """Strokes; the blue ones lean the other way."""
    return _derived(prefix, "cockroach", _("Cockroach pig"), roads.cockroach)


def derived_mark(road: str, red: bool | None) -> SafeString:
    """One entry of a derived road (``big_eye``, ``small``, ``cockroach``) by itself, named; a dash for None."""
    if red is None:
        return format_html('<span class="road-none">{}</span>', "–")
    return format_html(
        '<svg class="road-mark" viewBox="0 0 10 10" role="img" aria-label="{}">{}</svg>',
        _("red") if red else _("blue"),
        _marks(road, [(0, 0)] if red else [], [] if red else [(0, 0)]),
    )


def sample(name: str) -> SafeString:
    """A cell for the key that explains the marks: ``tie``, ``natural``, ``player_pair``, ``banker_pair``."""
    spot = [(0, 0)]
    mark = {
        "tie": lambda: _path("road-tie", spot, _stroke),
        "natural": lambda: _path("road-natural", spot, _bar),
        "player_pair": lambda: _path("road-pair road-P", spot, _pair_player),
        "banker_pair": lambda: _path("road-pair road-B", spot, _pair_banker),
    }[name]()
    return format_html(
        '<svg class="road-sample" viewBox="0 0 20 20" aria-hidden="true">{}{}{}</svg>',
        _path("road-disc road-faint", spot, _disc),
        _path("road-within", spot, _disc),
        mark,
    )


def disc(winner: Winner) -> SafeString:
    """A result's disc with its letter, as on the bead plate; the words have to stand beside it."""
    return format_html(
        '<svg class="road-sample" viewBox="0 0 20 20" aria-hidden="true">{}</svg>',
        _group(
            f"road-{LETTERS[winner]}",
            _path("road-disc", [(0, 0)], _disc),
            _letters(LETTERS[winner], [(0, 0)]),
        ),
    )


def _derived(prefix: str, name: str, title: str, cells: Sequence[DerivedCell]) -> SafeString:
    spots = [(_corner(cell.spot, SMALL_CELL), cell.red) for cell in cells]
    red, blue = ([at for at, is_red in spots if is_red is colour] for colour in (True, False))
    told = _("Not begun yet.")
    if cells:
        told = _("Red: %(red)d, blue: %(blue)d. The last is %(last)s.") % {
            "red": len(red),
            "blue": len(blue),
            "last": _("red") if cells[-1].red else _("blue"),
        }
    drawing = [_marks(name, red, blue)]
    return _svg(prefix, name, title, told, SMALL_CELL, (cell.spot for cell in cells), drawing)


def _marks(road: str, red: Sequence[tuple[int, int]], blue: Sequence[tuple[int, int]]) -> SafeString:
    if road == "big_eye":
        return format_html(
            "{}{}{}{}",
            _path("road-spot road-red", red, _dot),
            _path("road-spot road-blue", blue, _dot),
            _path("road-inside", [*red, *blue], _dot),
            _path("road-dot road-blue", blue, _dot),
        )
    if road == "small":
        return format_html(
            "{}{}{}",
            _path("road-spot road-red", red, _dot),
            _path("road-spot road-blue", blue, _dot),
            _path("road-hole", blue, _dot),
        )
    return format_html(
        "{}{}", _path("road-slash road-red", red, _slash), _path("road-slash road-blue", blue, _backslash)
    )


# Shapes, by the upper left corner of their cell. A disc is a line of no length with round ends, as thick as the style
# sheet says: a tenth of the bytes of a circle.


def _disc(x: int, y: int) -> str:
    return f"M{x + 10} {y + 10}h0"


def _bar(x: int, y: int) -> str:
    return f"M{x + 7.2:g} {y + 15.2:g}h5.6"


def _stroke(x: int, y: int) -> str:
    return f"M{x + 2} {y + 18}l16-16"


def _pair_banker(x: int, y: int) -> str:
    return f"M{x + 3.6:g} {y + 3.6:g}h0"


def _pair_player(x: int, y: int) -> str:
    return f"M{x + 16.4:g} {y + 16.4:g}h0"


def _dot(x: int, y: int) -> str:
    return f"M{x + 5} {y + 5}h0"


def _slash(x: int, y: int) -> str:
    return f"M{x + 2} {y + 8}l6-6"


def _backslash(x: int, y: int) -> str:
    return f"M{x + 2} {y + 2}l6 6"


# Putting it together.


def _corner(spot: Spot, cell: int = CELL) -> tuple[int, int]:
    return spot.column * cell, spot.row * cell


def _path(name: str, spots: Sequence[tuple[int, int]], draw: Draw) -> SafeString:
    """The same shape at each spot; nothing for no spot."""
    if not spots:
        return mark_safe("")
    return format_html('<path class="{}" d="{}"/>', name, "".join(draw(x, y) for x, y in spots))


def _letters(letter: str, spots: Iterable[tuple[int, int]]) -> SafeString:
    return format_html_join("", '<text x="{}" y="{}">{}</text>', ((x + 10, y + 10, letter) for x, y in spots))


def _pairs(player: Sequence[tuple[int, int]], banker: Sequence[tuple[int, int]]) -> list[SafeString]:
    return [
        _path("road-pair-edge", player, _pair_player),
        _path("road-pair-edge", banker, _pair_banker),
        _path("road-pair road-P", player, _pair_player),
        _path("road-pair road-B", banker, _pair_banker),
    ]


def _group(name: str, *parts: SafeString) -> SafeString:
    inner = format_html_join("", "{}", ((part,) for part in parts))
    return format_html('<g class="{}">{}</g>', name, inner) if inner else inner


def _svg(
    prefix: str,
    name: str,
    title: str,
    told: str,
    cell: int,
    spots: Iterable[Spot],
    drawing: Iterable[SafeString],
) -> SafeString:
    """The frame: one free column stands at the right, where the next entry may come."""
    columns = max((spot.column for spot in spots), default=-1) + 2
    return format_html(
        '<svg class="road-svg" viewBox="0 0 {0} {1}" preserveAspectRatio="xMinYMin meet" role="img"'
        ' aria-labelledby="{2}-{3}-title {2}-{3}-told" data-road="{3}">'
        '<title id="{2}-{3}-title">{4}</title><desc id="{2}-{3}-told">{5}</desc>{6}</svg>',
        columns * cell,
        ROWS * cell,
        prefix,
        name,
        title,
        told,
        format_html_join("", "{}", ((part,) for part in drawing)),
    )

"""The drawings of a report, made once by matplotlib and kept as SVG in each language.

What matplotlib writes is rewritten so that it can stand in a page: no style attributes or elements (the page's policy
forbids them), text as text, every colour a class that `plots.css` binds to the theme (the attribute beside it serves
the PDF and whoever opens the file alone), ids of its own, and a title and description in words. The same report gives
the same bytes.
"""

from __future__ import annotations

import io
import os
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from django.conf import settings
from django.db import transaction
from django.utils.formats import number_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, ngettext, override, pgettext

from . import game_wording
from .figures import DayLine, Figures, Frequency, HourLine, MonthFigures, TableLine
from .models import AuditReport, ReportPlot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: So many tables have a row in the heat map.
HEAT_ROWS: Final = 30

#: The width of a drawing in its own units, and the size of its letters.
WIDTH: Final = 560
LETTERS: Final = 12

#: Colours by name, with what they are without a stylesheet: the tokens of the light theme.
INK: Final = "#13201a"
QUIET: Final = "#4a5a51"
LINE: Final = "#d3dbd4"
BAR: Final = "#0b5d43"
CALM: Final = "#5a8ccb"
ALARM: Final = "#a81e17"
BAND: Final = "#dcebe3"
_CLASSES: Final = {INK: "ink", QUIET: "quiet", LINE: "line", BAR: "bar", CALM: "calm", ALARM: "alarm", BAND: "band"}

#: How strong the colour of a cell is, by its share of the highest: one way of drawing for each step.
_STEPS: Final = (0.12, 0.22, 0.32, 0.42, 0.52)

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_FONT: Final = '"Noto Sans Thai", "Libertinus Serif", sans-serif'
_MOVED: Final = ("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity")
#: A Thai ำ with the tone mark before it.
_SARA_AM: Final = re.compile("([\u0e48-\u0e4b]?)\u0e33")
_LOCK: Final = threading.Lock()


@dataclass(frozen=True)
class Shown:
    """A drawing for a page; `title` and `told` are those within it."""

    name: str
    title: str
    told: str
    svg: SafeString


def draw(report: AuditReport) -> None:
    """Draw a report in every language and keep the drawings, in place of any made before."""
    with transaction.atomic():
        for language, _name in settings.LANGUAGES:
            with override(language):
                for name, svg in drawings(report):
                    ReportPlot.objects.update_or_create(
                        report=report, name=name, language=language, defaults={"svg": svg}
                    )


def drawings(report: AuditReport) -> Iterator[tuple[str, str]]:
    """Name and SVG of each drawing that the figures give occasion for, in the language that is active."""
    if report.kind == AuditReport.Kind.MONTHLY:
        yield from _monthly(report.monthly)
    else:
        yield from _nightly(report.nightly)


def shown(report: AuditReport, language: str | None = None) -> list[Shown]:
    """The drawings kept of a report in a language (the active one); empty while none are made."""
    kept = ReportPlot.objects.filter(report=report, language=language or get_language() or "en").order_by("pk")
    return [_shown(plot) for plot in kept]


def svg_for_print(svg: str) -> str:
    """A kept drawing for paper. Its colours stand beside the classes, so that it needs nothing else.

    Typst's reader of SVG sets what follows a Thai ำ over it, for it takes both of its glyphs to be as wide as one; the
    same letter written as its two parts (the ring goes before a tone mark) comes out right.
    """
    return _SARA_AM.sub("\u0e4d\\1\u0e32", svg)


def _shown(plot: ReportPlot) -> Shown:
    root = ET.fromstring(plot.svg)  # noqa: S314 - our own drawing
    title, told = root.find(f"{{{_SVG}}}title"), root.find(f"{{{_SVG}}}desc")
    return Shown(
        plot.name,
        (title.text or "") if title is not None else "",
        (told.text or "") if told is not None else "",
        mark_safe(plot.svg),  # noqa: S308 - drawn here, its texts escaped by the writer
    )


# --- what is drawn ----------------------------------------------------------------------------------------------------


def _nightly(figures: Figures) -> Iterator[tuple[str, str]]:
    if figures.hours and figures.hands:
        yield "hours", _hours(figures.hours)
    worst = sorted(
        (
            (table, row)
            for table, row in zip(figures.tables, figures.heat, strict=False)
            if sum(row)
        ),
        key=lambda pair: (-sum(pair[1]), pair[0].code),
    )  # fmt: skip
    if worst and figures.hours:
        yield "heat", _heat(worst, figures.hours)
    if figures.game.frequencies:
        yield "frequencies", _frequencies(figures.game.frequencies)


def _monthly(figures: MonthFigures) -> Iterator[tuple[str, str]]:
    if figures.days:
        yield "days", _days(figures)


def _hours(hours: Sequence[HourLine]) -> str:
    labels = [f"{hour.begins:%H}" for hour in hours]
    findings, hands = [hour.findings for hour in hours], [hour.hands for hour in hours]
    most = max(range(len(hours)), key=lambda place: findings[place])
    told = _so_many(sum(findings), sum(hands))
    if findings[most]:
        words = pgettext("plot", "Most findings in the hour from %(hour)s: %(n)s.")
        told += " " + words % {"hour": f"{hours[most].begins:%H:%M}", "n": _number(findings[most])}
    return _over_time(
        "hours", pgettext("plot", "Findings and hands by hour"), told, labels, findings, hands, pgettext("plot", "Hour")
    )


def _days(figures: MonthFigures) -> str:
    by_day: dict[int, DayLine] = {line.day.day: line for line in figures.days}
    last = max([*by_day, *(day.day for day in figures.missing)])
    numbers = range(1, last + 1)
    findings = [by_day[day].findings if day in by_day else 0 for day in numbers]
    hands = [by_day[day].hands if day in by_day else 0 for day in numbers]
    told = _so_many(sum(findings), sum(hands))
    most = max(numbers, key=lambda day: findings[day - 1])
    if findings[most - 1]:
        words = pgettext("plot", "Most findings on day %(day)d: %(n)s.")
        told += " " + words % {"day": most, "n": _number(findings[most - 1])}
    missing = [day for day in numbers if day not in by_day]
    if missing:
        words = ngettext(
            "Day %(days)s has no report and is marked ×.",
            "Days %(days)s have no report and are marked ×.",
            len(missing),
        )
        told += " " + words % {"days": ", ".join(map(str, missing))}
    labels = [str(day) if day in by_day else "×" for day in numbers]
    return _over_time(
        "days", pgettext("plot", "Findings and hands by day"), told, labels, findings, hands, pgettext("plot", "Day")
    )


def _so_many(findings: int, hands: int) -> str:
    dealt = ngettext("%(n)s hand", "%(n)s hands", hands) % {"n": _number(hands)}
    said = ngettext("%(n)s finding in %(hands)s.", "%(n)s findings in %(hands)s.", findings)
    return said % {"n": _number(findings), "hands": dealt}


def _over_time(
    name: str, title: str, told: str, labels: Sequence[str], findings: Sequence[int], hands: Sequence[int], unit: str
) -> str:
    """Findings above, hands below, over the same hours or days."""
    with _figure(330) as figure:
        _title(figure, 330, title)
        places = range(len(labels))
        for values, colour, what, bottom, height in (
            (findings, BAR, pgettext("plot", "Findings"), 170, 108),
            (hands, CALM, pgettext("plot", "Hands"), 48, 80),
        ):
            axes = _axes(figure, 330, left=52, bottom=bottom, width=WIDTH - 64, height=height)
            axes.set_xlim(-0.6, len(labels) - 0.4)
            axes.set_ylim(0, max([*values, 1]) * 1.08)
            _counts(axes, max(values, default=0))
            axes.bar(places, values, width=0.72, color=colour, linewidth=0)
            axes.text(0, 1.05, what, transform=axes.transAxes, color=INK, va="bottom")
            axes.set_xticks([])
            axes.plot([-0.6, len(labels) - 0.4], [0, 0], color=QUIET, linewidth=1)
        for place, label in zip(places, labels, strict=True):
            axes.text(
                place, -0.06, label, transform=axes.get_xaxis_transform(), color=QUIET, ha="center", va="top", size=11
            )
        figure.text(0.5 + 20 / WIDTH, 8 / 330, unit, color=QUIET, ha="center", va="bottom")
        return _written(figure, name, title, told)


def _heat(worst: Sequence[tuple[TableLine, list[int]]], hours: Sequence[HourLine]) -> str:
    """A row a table, a column an hour; the number is in the cell and its colour grows with it."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rows, rest = worst[:HEAT_ROWS], worst[HEAT_ROWS:]
    high = max(max(row) for _table, row in rows)
    size = 22
    height = size * len(rows) + 68
    title = pgettext("plot", "Findings by table and hour")
    told = pgettext("plot", "Most findings in one hour: %(n)s.") % {"n": _number(high)}
    named = ", ".join(f"{table.code} ({_number(sum(row))})" for table, row in rows[:3])
    told = pgettext("plot", "Tables with the most findings: %(tables)s.") % {"tables": named} + " " + told
    if rest:
        words = ngettext(
            "The %(rows)d tables with the most are drawn; %(n)s more table has %(findings)s findings.",
            "The %(rows)d tables with the most are drawn; %(n)s more tables have %(findings)s findings together.",
            len(rest),
        )
        told += " " + words % {
            "rows": len(rows),
            "n": _number(len(rest)),
            "findings": _number(sum(sum(row) for _table, row in rest)),
        }
    with _figure(height) as figure:
        _title(figure, height, title)
        axes = _axes(figure, height, left=80, bottom=34, width=WIDTH - 118, height=size * len(rows))
        axes.set_xlim(0, len(hours))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks([])
        axes.set_yticks([])
        cells: dict[int, list[tuple[int, int]]] = {}
        for down, (_table, row) in enumerate(rows):
            for across, number in enumerate(row):
                if number:
                    step = min(len(_STEPS) - 1, (number - 1) * len(_STEPS) // high)
                    cells.setdefault(step, []).append((across, down))
                    axes.text(across + 0.5, down + 0.53, _number(number), color=INK, ha="center", va="center", size=11)
        for step, spots in sorted(cells.items()):
            squares = [Path([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y)], closed=True) for x, y in spots]
            path = Path.make_compound_path(*squares)
            axes.add_patch(PathPatch(path, facecolor=BAR, alpha=_STEPS[step], linewidth=0, zorder=0.5))
        for down in range(len(rows) + 1):
            axes.plot([0, len(hours)], [down, down], color=LINE, linewidth=1, clip_on=False, zorder=0.8)
        for down, (table, row) in enumerate(rows):
            axes.text(-0.25, down + 0.53, _cut(table.code, 11), color=INK, ha="right", va="center")
            axes.text(len(hours) + 0.3, down + 0.53, _number(sum(row)), color=QUIET, ha="left", va="center", size=11)
        for across, hour in enumerate(hours):
            axes.text(across + 0.5, len(rows) + 0.15, f"{hour.begins:%H}", color=QUIET, ha="center", va="top", size=11)
        axes.text(len(hours) + 0.3, len(rows) + 0.15, "Σ", color=QUIET, ha="left", va="top", size=11)
        return _written(figure, "heat", title, told)


def _frequencies(frequencies: Sequence[Frequency]) -> str:
    """What was seen less what is expected, in points of per cent, within the band of fair nights."""
    from matplotlib.patches import Rectangle

    seen = [one.count / one.of - one.probability if one.of else 0.0 for one in frequencies]
    reach = 115 * max(max(abs(apart), one.high - one.probability, one.probability - one.low)
                      for apart, one in zip(seen, frequencies, strict=True)) or 1.0  # fmt: skip
    size = 24
    height = size * len(frequencies) + 86
    out = [one for one in frequencies if game_wording.outside(one)]
    title = pgettext("plot", "Results seen against a fair shoe")
    told = pgettext("plot", "Bands hold 95 of 100 fair nights; marks are what was seen.") + " "
    if out:
        names = ", ".join(game_wording.frequency_name(one.name) for one in out)
        told += pgettext("plot", "Outside the band: %(names)s.") % {"names": names}
    else:
        told += pgettext("plot", "Everything lies within its band.")
    with _figure(height) as figure:
        _title(figure, height, title)
        axes = _axes(figure, height, left=140, bottom=52, width=WIDTH - 206, height=size * len(frequencies))
        axes.set_xlim(-reach, reach)
        axes.set_ylim(len(frequencies), 0)
        axes.set_yticks([])
        axes.set_xticks([])
        for down, (one, apart) in enumerate(zip(frequencies, seen, strict=True)):
            low, high = (one.low - one.probability) * 100, (one.high - one.probability) * 100
            axes.add_patch(
                Rectangle((low, down + 0.2), high - low, 0.6, facecolor=BAND, edgecolor=QUIET, linewidth=0.8)
            )
            strange = game_wording.outside(one)
            axes.plot(
                [apart * 100], [down + 0.5], marker="D" if strange else "o", markersize=7,
                color=ALARM if strange else BAR, markeredgewidth=0, linestyle="none", zorder=5,
            )  # fmt: skip
            name = game_wording.frequency_name(one.name)
            axes.text(
                -0.02, down + 0.53, name, transform=axes.get_yaxis_transform(), color=INK, ha="right", va="center"
            )
            share = game_wording.percent(one.count / one.of if one.of else 0.0)
            axes.text(1.02, down + 0.53, share, transform=axes.get_yaxis_transform(), color=INK, ha="left", va="center")
        axes.plot([0, 0], [0, len(frequencies)], color=QUIET, linewidth=1, zorder=2)
        step = _step(reach)
        for place in range(-3, 4):
            if abs(place * step) <= reach:
                text = ("+" if place > 0 else "") + _number(place * step, 2 if step < 0.1 else 1 if step < 1 else 0)
                text = text.replace("-", "−")
                axes.text(place * step, len(frequencies) + 0.15, text, color=QUIET, ha="center", va="top", size=11)
        words = pgettext("plot", "Points of per cent more or fewer than expected")
        figure.text((140 + (WIDTH - 206) / 2) / WIDTH, 8 / height, words, color=QUIET, ha="center", va="bottom")
        return _written(figure, "frequencies", title, told)


def _step(reach: float) -> float:
    """A round distance of which two or three fit on each side."""
    for power in (0.001, 0.01, 0.1, 1.0, 10.0):
        for step in (1, 2, 5):
            if reach / (step * power) < 4:
                return step * power
    return 50.0


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _number(value: float, digits: int = 0) -> str:
    return number_format(round(value, digits), decimal_pos=digits, use_l10n=True, force_grouping=True)


# --- matplotlib -------------------------------------------------------------------------------------------------------


@contextmanager
def _figure(height: int) -> Iterator[Figure]:
    """An empty drawing of so many units; a unit is a point. One at a time: matplotlib's settings are the process's."""
    os.environ.setdefault("MPLCONFIGDIR", str(settings.VAR_DIR / "matplotlib"))
    import matplotlib
    from matplotlib.figure import Figure

    set_to: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "baccarat-audit",
        "text.parse_math": False,
        "font.family": ["DejaVu Sans"],  # measures only: it comes with matplotlib, what is drawn is the page's font
        "font.size": LETTERS,
        "path.simplify": False,
    }
    with _LOCK, matplotlib.rc_context(set_to), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support Thai", category=UserWarning)
        yield Figure(figsize=(WIDTH / 72, height / 72), dpi=72, frameon=False)


def _axes(figure: Figure, full: int, *, left: int, bottom: int, width: int, height: int) -> Axes:
    axes = figure.add_axes((left / WIDTH, bottom / full, width / WIDTH, height / full), frameon=False)
    axes.tick_params(length=0, colors=QUIET, labelcolor=QUIET, labelsize=11, pad=4)
    return axes


def _title(figure: Figure, height: int, title: str) -> None:
    figure.text(0, 1 - 4 / height, title, color=INK, ha="left", va="top", size=14, weight="bold")


def _counts(axes: Axes, most: int) -> None:
    """Round whole numbers up the side, with a line across at each."""
    step = 1
    while most / step > 4:
        step = next(more for more in (step * 2, step * 5 // 2, step * 5) if more > step and str(more)[0] in "125")
    ticks = list(range(0, most + 1, step))
    axes.set_yticks(ticks, [_number(tick) for tick in ticks])
    for tick in ticks[1:]:
        axes.axhline(tick, color=LINE, linewidth=1, zorder=0)


def _written(figure: Figure, name: str, title: str, told: str) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return tidy(out.getvalue(), name, title, told)


# --- into a page ------------------------------------------------------------------------------------------------------


def tidy(drawn: str, name: str, title: str, told: str) -> str:
    """What matplotlib wrote, as it may stand in a page (see the module). `name` is its own on the page."""
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _LINK[1:].partition("}")[0])
    source = ET.fromstring(drawn)  # noqa: S314 - drawn above
    used = {link[1:] for node in source.iter() if (link := node.get(_LINK))}
    box = source.get("viewBox", "")
    _x, _y, width, height = box.split()
    root = ET.Element(
        f"{{{_SVG}}}svg",
        {
            "viewBox": box,
            "width": width,
            "height": height,
            "class": "plot",
            "role": "img",
            "aria-labelledby": f"plot-{name}-title plot-{name}-desc",
            "font-family": _FONT,
            "font-size": str(LETTERS),
            "data-plot": name,
        },
    )
    ET.SubElement(root, f"{{{_SVG}}}title", {"id": f"plot-{name}-title"}).text = title
    ET.SubElement(root, f"{{{_SVG}}}desc", {"id": f"plot-{name}-desc"}).text = told
    root.extend(_grouped(kept for child in source for kept in _tidied(child, name, used)))
    return ET.tostring(root, encoding="unicode")


def _grouped(nodes: Iterable[ET.Element]) -> Iterator[ET.Element]:
    """Texts that follow each other and look alike share a group that says how: a heat map has hundreds."""
    for looks, run in groupby(nodes, key=_looks):
        of = list(run)
        if looks is None or len(of) < 3:
            yield from of
            continue
        group = ET.Element(f"{{{_SVG}}}g", dict(looks))
        for node in of:
            for key, _value in looks:
                del node.attrib[key]
        group.extend(of)
        yield group


def _looks(node: ET.Element) -> tuple[tuple[str, str], ...] | None:
    if node.tag != f"{{{_SVG}}}text":
        return None
    return tuple(pair for pair in node.attrib.items() if pair[0] not in ("x", "y", "transform"))


def _tidied(node: ET.Element, name: str, used: set[str]) -> list[ET.Element]:
    """The node without what a page may not have; groups that say nothing are taken apart."""
    kind = node.tag.rpartition("}")[2]
    if kind in ("style", "metadata", "clipPath"):
        return []
    children = [kept for child in node for kept in _tidied(child, name, used)]
    kept = ET.Element(node.tag)
    style = dict(_declarations(node.get("style", "")))
    for key in ("d", "x", "y", "transform"):
        if value := node.get(key):
            kept.set(key, _shorter(value))
    if (own := node.get("id")) in used:
        kept.set("id", f"plot-{name}-{own}")
    if link := node.get(_LINK):
        kept.set(_LINK, f"#plot-{name}-{link[1:]}")
    if kind == "text":
        _set_text(kept, node, style)
    for key in _MOVED:
        value = style.get(key, node.get(key))
        if (
            value
            and not (key == "stroke" and value == "none")
            and not (key == "stroke-width" and "stroke" not in style)
        ):
            kept.set(key, value)
    _set_classes(kept)
    kept.extend(children)
    if kind in ("g", "defs") and not kept.attrib:
        return children if kind == "g" else [kept] if children else []
    return [kept]


def _set_text(kept: ET.Element, node: ET.Element, style: dict[str, str]) -> None:
    kept.text = node.text
    font = style.get("font", "")
    size = re.search(r"([\d.]+)px", style.get("font-size", font))
    if size and float(size[1]) != LETTERS:
        kept.set("font-size", f"{float(size[1]):g}")
    weight = style.get("font-weight", "bold" if re.search(r"\b(bold|700)\b", font) else "")
    if weight:
        kept.set("font-weight", weight)
    if "text-anchor" in style:
        kept.set("text-anchor", style["text-anchor"])
    # Where it stands is said twice, by x, y and by a turn of no degrees.
    if kept.get("transform", "").startswith("rotate(-0") or kept.get("transform", "").startswith("rotate(0"):
        del kept.attrib["transform"]
    if "fill" not in style:
        kept.set("fill", INK)


def _set_classes(kept: ET.Element) -> None:
    classes = [
        f"plot-{part}-{_CLASSES[colour]}"
        for part in ("fill", "stroke")
        if (colour := kept.get(part, "").lower()) in _CLASSES
    ]
    if classes:
        kept.set("class", " ".join(classes))


def _declarations(style: str) -> Iterator[tuple[str, str]]:
    for declaration in style.split(";"):
        key, colon, value = declaration.partition(":")
        if colon:
            yield key.strip(), value.strip()


def _shorter(value: str) -> str:
    """Hundredths of a unit are enough; spaces and line ends within a path are not."""
    value = re.sub(r"-?\d+\.\d+", lambda number: f"{round(float(number[0]), 2):g}", value)
    return " ".join(value.split())

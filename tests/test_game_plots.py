"""The drawings of a report: fit for a page under the policy, for paper, and the same on every run."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import override

from dealing.models import Venue
from incidents import paper
from incidents.reports import plots
from incidents.reports.figures import Figures, HourLine, TableLine
from incidents.reports.models import AuditReport, ReportPlot
from tests import reports_samples

SVG = "{http://www.w3.org/2000/svg}"


def nightly(figures: Figures) -> dict[str, str]:
    return dict(plots._nightly(figures))


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.fixture
def full(venue: Venue) -> AuditReport:
    return reports_samples.save_report(venue, reports_samples.figures(venue.code, venue.name))


def test_each_report_has_its_drawings_in_both_languages(venue: Venue, full: AuditReport) -> None:
    plots.draw(full)
    month = reports_samples.save_month(venue)
    plots.draw(month)
    kept = set(ReportPlot.objects.values_list("report", "name", "language"))
    assert kept == {(full.pk, name, lang) for name in ("hours", "heat", "frequencies") for lang in ("en", "th")} | {
        (month.pk, "days", lang) for lang in ("en", "th")
    }
    assert [one.name for one in plots.shown(full)] == ["hours", "heat", "frequencies"]
    assert "ข้อผิดพลาดและจำนวนตารายชั่วโมง" in plots.shown(full, "th")[0].svg
    assert plots.shown(full, "en")[0].title == "Findings and hands by hour"


def test_drawn_again_is_drawn_the_same_and_kept_once(full: AuditReport) -> None:
    plots.draw(full)
    before = list(ReportPlot.objects.order_by("pk").values_list("pk", "name", "language", "svg"))
    plots.draw(full)
    assert list(ReportPlot.objects.order_by("pk").values_list("pk", "name", "language", "svg")) == before


@pytest.mark.parametrize("language", ["en", "th"])
def test_nothing_that_the_policy_forbids(language: str) -> None:
    with override(language):
        drawn = {**nightly(reports_samples.figures()), **dict(plots._monthly(reports_samples.month()))}
    assert set(drawn) == {"hours", "heat", "frequencies", "days"}
    ids: list[str] = []
    for name, svg in drawn.items():
        assert len(svg) < 60_000
        root = ET.fromstring(svg)
        assert root.get("role") == "img"
        for node in root.iter():
            assert "style" not in node.attrib
            assert not any(key.startswith("on") for key in node.attrib)
            assert node.tag in {f"{SVG}{kind}" for kind in ("svg", "title", "desc", "g", "defs", "path", "use", "text")}
            for part in ("fill", "stroke"):  # every colour is one of the theme's
                colour = node.get(part)
                assert colour in (None, "none") or f"plot-{part}-" in node.get("class", ""), (name, node.attrib)
        named = [node.get("id", "") for node in root.iter() if node.get("id")]
        assert all(one.startswith(f"plot-{name}-") for one in named)
        ids += named
        title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None
        assert desc is not None
        assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert title.text
        assert desc.text
        for node in root.iter(f"{SVG}use"):
            assert node.get("{http://www.w3.org/1999/xlink}href", "")[1:] in named
    assert len(ids) == len(set(ids))


def test_the_classes_are_in_the_stylesheet_and_the_colours_in_the_tokens() -> None:
    css = (settings.BASE_DIR / "incidents/static/css/plots.css").read_text(encoding="utf-8")
    tokens = (settings.BASE_DIR / "dealing/static/css/tokens.css").read_text(encoding="utf-8")
    light = tokens[tokens.index(":root {") : tokens.index(":root:lang")]
    for colour, name in plots._CLASSES.items():
        for part in ("fill", "stroke"):
            variable = re.search(rf"\.plot-{part}-{name} {{ {part}: var\((--[a-z-]+)\); }}", css)
            assert variable, (part, name)
            assert f"{variable[1]}: {colour};" in light


def test_names_are_only_text() -> None:
    figures = reports_samples.figures()
    figures.tables[0].code = "<b>&$x$"
    figures.heat[0][0] = 99
    svg = nightly(figures)["heat"]
    assert "<b>" not in svg
    assert "<b>&$x$" in texts(svg)
    assert "<b>&$x$" in (ET.fromstring(svg).findtext(f"{SVG}desc") or "")


def house(tables: int, start: dt.datetime, hours: int = 24) -> Figures:
    figures = reports_samples.figures()
    figures.tables = [
        TableLine(
            code=f"B{number:03}", name="", active=True, ruleset="commission", events=1, hands=100, findings=number,
            codes={}, voided=0, unreadable=0, last_seq=1, head="", chain_whole=True,
        )
        for number in range(tables)
    ]  # fmt: skip
    figures.hours = [
        HourLine(begins=start + dt.timedelta(hours=hour), hands=tables * 60, findings=tables) for hour in range(hours)
    ]
    figures.heat = [[1 + number // 24 + (hour < number % 24) for hour in range(hours)] for number in range(tables)]
    return figures


def test_two_hundred_tables_stay_readable() -> None:
    svg = nightly(house(200, reports_samples.begin()))["heat"]
    shown = [text for text in texts(svg) if text.startswith("B")]
    assert len(shown) == plots.HEAT_ROWS
    assert shown[0] == "B199"
    assert len(svg) < 90_000
    told = ET.fromstring(svg).findtext(f"{SVG}desc") or ""
    assert "The 30 tables with the most are drawn; 170 more tables" in told


def test_an_hour_that_comes_twice_has_two_columns() -> None:
    from zoneinfo import ZoneInfo

    begins = dt.datetime(2026, 10, 24, 22, tzinfo=dt.UTC)
    figures = house(2, begins, 25)
    for hour in figures.hours:
        hour.begins = hour.begins.astimezone(ZoneInfo("Europe/Berlin"))
    assert texts(nightly(figures)["hours"]).count("02") == 2


def test_nothing_to_draw() -> None:
    empty = reports_samples.quiet()
    empty.hands, empty.game.frequencies = 0, []
    assert nightly(empty) == {}
    month = reports_samples.month()
    month.days = []
    assert list(plots._monthly(month)) == []


def test_results_outside_their_band_are_marked_and_told() -> None:
    figures = reports_samples.figures()
    tie = next(one for one in figures.game.frequencies if one.name == "tie")
    tie.count = 0
    svg = nightly(figures)["frequencies"]
    assert "plot-fill-alarm" in svg
    assert "Outside the band: Tie." in (ET.fromstring(svg).findtext(f"{SVG}desc") or "")
    tie.count = round(tie.of * tie.probability)
    assert "plot-fill-alarm" not in nightly(figures)["frequencies"]


def test_one_hand_and_a_thousand_findings_an_hour_have_round_numbers_up_the_side() -> None:
    figures = house(3, reports_samples.begin())
    for most, wanted in ((1, ["0", "1"]), (7, ["0", "2", "4", "6"]), (1234, ["0", "500", "1,000"])):
        figures.hours[0].findings = most
        for hour in figures.hours[1:]:
            hour.findings = 0
        up = [text for text in texts(nightly(figures)["hours"]) if text in {"0", "1", "2", "4", "6", "500", "1,000"}]
        assert up[: len(wanted)] == wanted


@pytest.mark.parametrize("language", ["en", "th"])
def test_paper_takes_them(language: str, tmp_path: Any) -> None:
    """Typst sets each with the product's own fonts, and its text is text."""
    with override(language):
        drawn = nightly(reports_samples.figures())
    template = tmp_path / "page.typ"
    template.write_text(
        '#let d = json(bytes(sys.inputs.data))\n#for svg in d.plots { image(bytes(svg), format: "svg", width: 100%) }'
    )
    pdf = paper.make_pdf(template, {"plots": [plots.svg_for_print(svg) for svg in drawn.values()]})
    assert pdf.startswith(b"%PDF")
    assert b"NotoSansThai" in pdf


def test_a_thai_letter_of_two_glyphs_is_written_as_two_on_paper() -> None:
    assert plots.svg_for_print("<text>จำนวน น้ำ กา</text>") == "<text>จ\u0e4d\u0e32นวน น\u0e4d\u0e49\u0e32 กา</text>"


def test_a_report_without_drawings_says_so(full: AuditReport) -> None:
    said = render_to_string("reports/_plots.html", {"report": full})
    assert "being made" in said
    assert "<svg" not in said
    plots.draw(full)
    said = render_to_string("reports/_plots.html", {"report": full})
    assert said.count("<svg") == said.count("<figcaption") == 3
    assert "being made" not in said


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = (
        "import os, sys, django; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'tests.settings'); django.setup()\n"
        "import incidents.reports.plots, incidents.templatetags.game_tags\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, check=False).returncode == 0

"""The colours: readable in both themes (WCAG 2.2 AA), and the two copies of the dark theme equal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = Path(__file__).resolve().parent.parent / "dealing" / "static" / "css"
TOKENS = (CSS / "tokens.css").read_text(encoding="utf-8")

#: Text colour and the grounds it stands on: 4.5 to 1.
TEXT = {
    "ink": ("ground", "surface", "sunken", "key", "accent-soft", "due-soft", "danger-soft", "ok-soft", "info-soft"),
    "ink-quiet": ("ground", "surface", "sunken", "key", "due-soft", "danger-soft", "ok-soft", "info-soft"),
    "accent": ("ground", "surface", "sunken"),
    "accent-press": ("ground", "surface", "sunken", "accent-soft"),
    "accent-ink": ("accent", "accent-press"),
    "danger": ("ground", "surface", "sunken", "danger-soft", "key"),
    "danger-ink": ("danger-fill", "danger-press"),
    "due": ("surface", "due-soft"),
    "ok": ("surface", "ok-soft"),
    "info": ("surface", "info-soft"),
    "player": ("surface", "ground"),
    "banker": ("surface", "ground"),
    "bar-ink": ("bar", "bar-raised"),
    "bar-quiet": ("bar", "bar-raised"),
    "bar": ("bar-ink",),
    "felt-ink": ("felt", "felt-deep"),
    "felt-quiet": ("felt", "felt-deep"),
    "felt-due": ("felt", "felt-deep"),
    "felt-player": ("felt", "felt-deep"),
    "felt-banker": ("felt", "felt-deep"),
    "felt-deep": ("felt-due",),
    "felt-due-ink": ("felt-due",),
    "felt-wrong-ink": ("felt-wrong",),
    "card-black": ("card-face",),
    "card-red": ("card-face",),
}
#: Borders that say where a control or a state is, and the focus ring: 3 to 1.
SHAPES = {
    "line-strong": ("ground", "surface", "sunken"),
    "danger-line": ("ground", "surface"),
    "ok-line": ("surface",),
    "info-line": ("surface",),
    "focus": ("ground", "surface", "sunken"),
    "felt-due": ("bar", "felt", "felt-deep"),
    "felt-wrong": ("felt", "felt-deep"),
    "felt-line": ("felt", "felt-deep"),
}


def block(selector: str) -> dict[str, str]:
    """The custom properties of the block that begins with ``selector``."""
    start = TOKENS.index(selector) + len(selector)
    return dict(re.findall(r"--([a-z0-9-]+):\s*([^;]+);", TOKENS[start : TOKENS.index("}", start)]))


LIGHT = block("\n:root {")
CHOSEN = block('\n:root[data-theme="dark"] {')
PREFERRED = block(':root:not([data-theme="light"]) {')
THEMES = {"light": LIGHT, "dark": {**LIGHT, **CHOSEN}}


def luminance(colour: str) -> float:
    channels = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_the_standard_says() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_the_dark_theme_is_the_same_chosen_or_preferred() -> None:
    assert CHOSEN == PREFERRED
    assert len(CHOSEN) > 30
    assert set(CHOSEN) <= set(LIGHT)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("wanted", "pairs"), [(4.5, TEXT), (3.0, SHAPES)], ids=["text", "shapes"])
def test_pairs_are_readable(theme: str, wanted: float, pairs: dict[str, tuple[str, ...]]) -> None:
    tokens = THEMES[theme]
    low = {
        f"{front} on {ground}": round(ratio, 2)
        for front, grounds in pairs.items()
        for ground in grounds
        if (ratio := contrast(tokens[front], tokens[ground])) < wanted
    }
    assert not low


@pytest.mark.parametrize("name", ["base", "components", "look"])
def test_colours_have_their_names_in_tokens_only(name: str) -> None:
    """Elsewhere a colour is a token; paper has its own."""
    sheet = (CSS / f"{name}.css").read_text(encoding="utf-8").split("@media print")[0]
    assert not re.findall(r"#[0-9a-f]{3,8}\b", sheet)


def test_every_token_used_exists() -> None:
    named = set(LIGHT) | {"card-width", "pip", "swatch", "fade"}
    for name in ("base", "components", "look"):
        used = set(re.findall(r"var\(--([a-z0-9-]+)", (CSS / f"{name}.css").read_text(encoding="utf-8")))
        assert used <= named, name


def test_fonts_are_ours_and_licensed() -> None:
    addresses = re.findall(r'url\("([^"]+)"\)', TOKENS)
    assert addresses
    for address in addresses:
        assert (CSS / address).resolve().is_file()
    assert "SIL Open Font License" in (CSS.parent / "fonts" / "OFL.txt").read_text(encoding="utf-8")

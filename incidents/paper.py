"""What is printed: Typst makes PDFs of templates and data, with the fonts that come with the product.

Every text goes to a template as data (JSON), never as source: what people typed cannot be read as markup.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typst import Fonts


def make_pdf(template: Path, data: Mapping[str, Any]) -> bytes:
    """The PDF that the template makes of the data. RuntimeError: it can make none."""
    import typst  # here and not above: it is large, and few pages need it

    return typst.compile(
        template,
        root=template.parent,
        font_paths=_fonts(),
        ignore_system_fonts=True,  # the same page on every machine
        sys_inputs={"data": json.dumps(data, ensure_ascii=False)},
        format="pdf",
    )


@cache
def _fonts() -> Fonts:
    import fontpkg  # type: ignore[import-untyped]  # it has no types
    import typst

    return typst.Fonts(
        include_system_fonts=False,
        include_embedded_fonts=True,
        font_paths=[fontpkg.path("Noto Sans Thai").parent],
    )


#: Pictures that none of the fonts has, and what only changes how the one before is drawn.
_PICTURE: Final = re.compile("[\u2705\u274c\u274e\u2753-\u2755\u2795-\u2797\u27b0\u27bf\U0001f000-\U0001faff]")
_VARIANT: Final = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|(?<=[\u2600-\U0001faff])\u200d")
#: So many pictures of a text are named; a text of nothing else does not fill the page.
PICTURES: Final = 4


def _named(text: str) -> str:
    """The text with the names of pictures in place of empty boxes: `[thumbs up sign]`."""
    text = _VARIANT.sub("", text)
    return _PICTURE.sub(lambda found: f"[{unicodedata.name(found[0], 'picture').lower()}]", text, count=PICTURES)


def plain(text: str) -> str:
    """Running text: lines that people typed follow each other, and words no line would hold may be broken."""
    return re.sub(r"([!-~]{40})(?=[!-~])", "\\1\u200b", _named(" ".join(text.split())))

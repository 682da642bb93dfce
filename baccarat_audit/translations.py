"""The Thai catalogue: gather every marked text, see what is missing, compile. For developers; needs Babel.

python -m baccarat_audit.translations            gather, keep what is translated, write both files, say what is missing
python -m baccarat_audit.translations --merge F  the same, and take over the translations of the .po file F
"""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import django
from babel.messages import Catalog, pofile
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from django.utils.translation.template import templatize

ROOT: Final = Path(__file__).resolve().parent.parent
CATALOGUE: Final = ROOT / "baccarat_audit" / "locale" / "th" / "LC_MESSAGES" / "django.po"
FOLDERS: Final = ("baccarat_audit", "dealing", "incidents", "templates")
KEYWORDS: Final = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop")),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}


def marked() -> Iterator[tuple[str, str | tuple[str, ...], str | None]]:
    """Every text marked for translation: the file it stands in, its id (singular and plural), and its context."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".py", ".html", ".txt") or "migrations" in path.parts or not path.is_file():
                continue
            source = path.read_text(encoding="utf-8")
            if path.suffix != ".py":
                source = templatize(source, origin=str(path))
            found = extract("python", io.BytesIO(source.encode()), KEYWORDS, options={"encoding": "utf-8"})
            for _, message, _, context in found:
                if message and message != ("", ""):
                    yield path.relative_to(ROOT).as_posix(), message, context


def read(path: Path = CATALOGUE) -> Catalog:
    """A catalogue; an empty one where the file is not there yet."""
    if not path.exists():
        return _new()
    with path.open("rb") as file:
        return pofile.read_po(file, locale="th", domain="django")


def gather(*others: Catalog) -> Catalog:
    """The catalogue as it should be: exactly the marked texts, each with the translation known for it."""
    known = (read(), *others)
    catalogue = _new()
    for _, message, context in marked():
        singular = message if isinstance(message, str) else message[0]
        string = ""
        for source in known:
            entry = source.get(singular, context)
            if entry is not None and not entry.fuzzy:
                string = next((text for text in texts_of(entry.string) if text), string)
        catalogue.add(message, string if isinstance(message, str) else (string,), context=context)
    return catalogue


def _new() -> Catalog:
    """An empty catalogue, with a header that does not change from day to day."""
    when = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return Catalog(
        locale="th",
        domain="django",
        project="baccarat-audit",
        version="1",
        header_comment="# Thai texts of baccarat-audit.",
        msgid_bugs_address="",
        last_translator="",
        language_team="",
        charset="utf-8",
        creation_date=when,
        revision_date=when,
        fuzzy=False,
    )


def texts_of(texts: str | Iterable[str] | None) -> list[str]:
    """One text or several, as a list."""
    return [texts] if isinstance(texts, str) else list(texts or ())


def missing(catalogue: Catalog) -> list[str]:
    """What is wrong with the catalogue: texts without a translation, marked fuzzy, or with other placeholders."""
    out = []
    for entry in catalogue:
        if not entry.id:
            continue
        ids, strings = texts_of(entry.id), texts_of(entry.string)
        if not all(strings) or entry.fuzzy:
            out.append(f"not translated: {ids[0]!r}")
        elif all(_holes(strings[0]) != _holes(text) for text in ids):
            out.append(f"other placeholders: {ids[0]!r} -> {strings[0]!r}")
    return out


def _holes(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)[sd]|\{\w*\}|%[sd]", text))


def compiled(catalogue: Catalog) -> bytes:
    """The .mo file of a catalogue."""
    out = io.BytesIO()
    write_mo(out, catalogue)
    return out.getvalue()


def main(arguments: list[str]) -> int:
    others = [read(Path(name)) for name in arguments if name != "--merge"]
    catalogue = gather(*others)
    CATALOGUE.parent.mkdir(parents=True, exist_ok=True)
    with CATALOGUE.open("wb") as file:
        pofile.write_po(file, catalogue, sort_output=True, omit_header=False, width=100)
    CATALOGUE.with_suffix(".mo").write_bytes(compiled(read()))
    problems = missing(read())
    print("\n".join(problems))
    print(f"{len(catalogue)} texts, {len(problems)} to do")
    return bool(problems)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")
    django.setup()
    sys.exit(main(sys.argv[1:]))

"""The Thai catalogue is complete, exact and compiled."""

from __future__ import annotations

from baccarat_audit import translations


def test_every_marked_text_has_its_thai() -> None:
    assert translations.missing(translations.gather()) == []


def test_the_catalogue_holds_nothing_that_is_not_used() -> None:
    used = {m if isinstance(m, str) else m[0] for _, m, _ in translations.marked()}
    kept = {translations.texts_of(entry.id)[0] for entry in translations.read() if entry.id}
    assert kept - used == set()


def test_the_compiled_catalogue_is_the_one_in_the_source() -> None:
    assert translations.CATALOGUE.with_suffix(".mo").read_bytes() == translations.compiled(translations.read())

"""The Thai catalogue is complete, exact and compiled."""

from __future__ import annotations

from babel.messages.catalog import Message

from baccarat_audit import translations
from dealing.rules.rulesets import get_ruleset, ruleset_names


def test_every_marked_text_has_its_thai() -> None:
    assert translations.missing(translations.gather()) == []


def test_the_catalogue_holds_nothing_that_is_not_used() -> None:
    used = {m if isinstance(m, str) else m[0] for _, m, _ in translations.marked()}
    kept = {translations.texts_of(entry.id)[0] for entry in translations.read() if entry.id}
    assert kept - used == set()


def test_the_compiled_catalogue_is_the_one_in_the_source() -> None:
    assert translations.CATALOGUE.with_suffix(".mo").read_bytes() == translations.compiled(translations.read())


def test_the_floor_has_one_word_for_the_cut_card_and_one_for_the_call() -> None:
    """As the house's rules say it (SHOE-last): the blue card. The dealer calls a result and announces none."""
    thai = {translations.texts_of(one.id)[0]: " ".join(translations.texts_of(one.string)) for one in _entries()}
    cited = [get_ruleset(name).cite("SHOE-last", "th") for name in ruleset_names()]
    thai |= {f"cut card: {one.document}": one.text for one in cited if one}
    of_the_cut = [said for text, said in thai.items() if "cut card" in text.lower()]
    assert len(of_the_cut) >= 10
    assert [said for said in of_the_cut if said and "ไพ่สีน้ำเงิน" not in said] == []
    for other in ("ไพ่ตัด", "ไพ่คัท", "ประกาศผล", "แต้มที่ประกาศ"):
        assert [said for said in thai.values() if other in said] == []
    assert "ขานผล" in thai["Result called"]


def _entries() -> list[Message]:
    return [entry for entry in translations.read() if entry.id]

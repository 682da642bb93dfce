"""The same pages in Thai: the catalogue holds every word of the tables."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import translation

from dealing import wording
from dealing.templatetags import table_tags
from tests.conftest import People

TABLES = {
    "actions": wording.ACTIONS,
    "action sentences": wording.ACTION_SENTENCES,
    "places": wording.PLACES,
    "sides": wording.SIDES,
    "winners": wording.WINNERS,
    "bets": wording.BETS,
    "events": wording.EVENTS,
    "statuses": wording.STATUSES,
    "shoe reasons": wording.SHOE_REASONS,
    "moments": wording.MOMENTS,
    "scopes": wording.SCOPES,
    "faces": wording.FACES,
    "ranks": wording.NAMED_RANKS,
    "lone ranks": wording.LONE_RANKS,
    "suits": wording.SUITS,
    "roles": wording.ROLES,
    "finding titles": {code: words.title for code, words in wording.FINDINGS.items()},
    "finding sentences": {code: words.sentence for code, words in wording.FINDINGS.items()},
}


@pytest.mark.parametrize("name", TABLES)
def test_every_word_is_translated(name: str) -> None:
    with translation.override("th"):
        assert not [code for code, word in TABLES[name].items() if str(word).isascii()]


def test_terms_of_the_floor() -> None:
    with translation.override("th"):
        assert wording.side_name("player") == "ผู้เล่น"
        assert wording.side_name("banker") == "เจ้ามือ"
        assert wording.winner_name("tie") == "เสมอ"
        assert "ขอน" in wording.event_name("shoe_opened")
        assert table_tags.card_name("9h") == "9 โพแดง"
        assert table_tags.card_name("9") == "เก้า"


def test_the_log_in_page(client: Client, db: None) -> None:
    client.cookies["django_language"] = "th"
    page = client.get("/login/").content.decode()
    assert '<html lang="th"' in page
    assert "รหัสผ่าน" in page


def test_the_design_system(client: Client, people: People) -> None:
    client.force_login(people("recorder"))
    client.cookies["django_language"] = "th"
    page = client.get("/look/").content.decode()
    assert "วางไพ่ใบที่ห้าผิดตำแหน่ง" in page
    assert "Fifth card" not in page

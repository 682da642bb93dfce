"""The incident on one page of paper: both languages, everything on it, and nothing that people typed read as markup."""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override
from pypdf import PdfReader

from dealing.models import StaffMember
from incidents.review import sheet as sheets
from incidents.selectors import load_case
from incidents.services import do_review_incident
from tests.conftest import MakeTable, People
from tests.incident_logs import House

pytestmark = pytest.mark.django_db

MISPLACED = "open bet:1:banker=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:banker end"
A4 = (595, 842)  # points


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    """A page in Thai leaves its language to the thread, and so to the next test."""
    with override("en"):
        yield


@pytest.fixture
def here(table: MakeTable, people: People) -> House:
    house = House(table("B07", ruleset="insurance"), people)
    house.record(MISPLACED)
    return house


def bare(text: str) -> str:
    """Without spaces, vowel signs and tone marks: of these the reader of PDFs knows little, so only plain Thai words
    can be looked for on the page."""
    kept = (char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char)[0] not in "MCZ")
    return "".join(kept)


def said(pdf: bytes) -> str:
    """The text of the one page."""
    pages = PdfReader(io.BytesIO(pdf)).pages
    assert len(pages) == 1
    assert (round(pages[0].mediabox.width), round(pages[0].mediabox.height)) == A4
    return bare(pages[0].extract_text())


def get(client: Client, here: House, query: str = "", hand: int | None = 1) -> bytes:
    response = client.get(f"/incidents/{here.incident(hand).pk}/sheet.pdf{query}")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/pdf"
    return bytes(response.content)


def fonts(pdf: bytes) -> set[str]:
    resources: Any = PdfReader(io.BytesIO(pdf)).pages[0]["/Resources"]
    return {str(font.get_object()["/BaseFont"]) for font in resources["/Font"].values()}


def test_it_says_everything_in_english(client: Client, here: House, people: People) -> None:
    people("recorder", "lek")
    member = StaffMember.objects.get(user__username="lek")
    do_review_incident(
        here.incident(),
        people("supervisor", "boon"),
        {"dealer": member, "error_by": "dealer", "camera": "C-14", "money_lost": Decimal("1500.50")},
    )
    here.decide("void hand", reason="The camera shows it.")
    client.force_login(people("auditor"))
    text = said(get(client, here))
    for expected in (
        "Incident report",
        "B07 shoe 1 hand 1",
        "River House",
        "As dealt",
        "As the rules lay it",
        "Fifth card on the wrong place",
        "INC-order",
        "Void the hand",
        "The camera shows it.",
        "departs from the rules",
        "nok",
        "seat 1 · Banker",
        "100.00",
        "The dealer’s",
        "C-14",
        "1,500.50",
        "LEK",
        "Dealer",
        "Supervisor",
        "Manager",
    ):
        assert bare(expected) in text, expected


def test_pictures_that_no_font_has_are_named(client: Client, here: House, people: People) -> None:
    here.decide(
        "void hand", reason="Dealer agreed \U0001f44d\U0001f3fd, \u2705 by camera, \u2665 stays " + "\U0001f600" * 90
    )
    client.force_login(people("auditor"))
    text = said(get(client, here))
    for expected in ("Dealer agreed [thumbs up sign], [white heavy check mark] by camera,", "[grinning face]"):
        assert bare(expected) in text, expected
    assert text.count(bare("[grinning face]")) == 2, "a text of pictures leaves the rest of the page its place"


@pytest.mark.parametrize("language", ["en", "th"])
def test_cards_recorded_by_their_rank_only(client: Client, table: MakeTable, people: People, language: str) -> None:
    """On the page and on the sheet: the rank stands there, and no suit."""
    here = House(table("B07", ruleset="insurance"), people)
    here.record("open bet:1:player_pair=10 close P1:T B1:4 P2:T B2:K B3:6 P3:5 call:banker end")
    client.force_login(people("manager"))
    client.cookies["django_language"] = language
    page = client.get(f"/incidents/{here.incident().pk}/").content.decode()
    for name in ("Ten", "King", "Six") if language == "en" else ("สิบ", "คิง", "หก"):
        assert f'aria-label="{name}"' in page
    text = said(get(client, here, f"?lang={language}"))
    for rank in ("10", "4", "K", "6", "5"):
        assert rank in text


def test_it_says_it_in_thai_in_a_thai_font(client: Client, here: House, people: People) -> None:
    client.force_login(people("auditor"))
    pdf = get(client, here, "?lang=th")
    text = said(pdf)
    for expected in ("ขอน1ตา1", "สถานะ", "ตามกฎ"):
        assert expected in text, expected
    with override("th"):
        data = sheets.sheet(load_case(here.incident()))
    assert data["findings"][0]["title"] == "วางไพ่ใบที่ห้าผิดตำแหน่ง"
    assert [side["name"] for side in data["felts"][0]["sides"]] == ["ผู้เล่น", "เจ้ามือ"]
    assert data["findings"][0]["citations"][0]["text"].startswith("ใบที่")
    assert any("NotoSansThai" in name for name in fonts(pdf))
    client.cookies["django_language"] = "th"
    assert "สถานะ" in said(get(client, here)), "the page's own language"
    assert "Manager" in said(get(client, here, "?lang=en"))
    assert "สถานะ" in said(get(client, here, "?lang=xx"))


def test_the_felt_is_shown_as_dealt_before_the_decision_moved_it(here: House) -> None:
    here.decide("correct")
    with override("en"):
        dealt, laid = sheets.sheet(load_case(here.incident()))["felts"]

    def cards(felt: Any, side: int) -> list[list[str]]:
        return [[card["rank"] + card["suit"] for card in place["cards"]] for place in felt["sides"][side]["places"]]

    assert cards(dealt, 0) == [["2h"], ["3d"], ["5s"]]
    assert cards(dealt, 1) == [["4s"], ["Kc"], ["6h"]]
    assert cards(laid, 0) == [["2h"], ["3d"], ["6h"]]
    assert cards(laid, 1) == [["4s"], ["Kc"], ["5s"]]
    assert [card["where"] for place in dealt["sides"][1]["places"] for card in place["cards"]] == ["", "", "→ P3"]
    assert (dealt["sides"][0]["total"], laid["sides"][1]["total"]) == ("0", "9")


def test_what_people_typed_is_not_read_as_markup(client: Client, here: House, people: People) -> None:
    typed = '#read("/etc/passwd") *bold* $x$ \\ #panic("no") <label> @ref </svg> `code` "quote"'
    do_review_incident(
        here.incident(), people("supervisor"), {"note": typed, "camera": "#emph[C]", "follow_up": "= no"}
    )
    here.decide("void hand", reason=typed)
    client.force_login(people("auditor"))
    text = said(get(client, here))
    assert text.count(bare(typed)) == 2
    assert "#emph[C]" in text


@pytest.mark.parametrize("language", ["en", "th", "unbroken"])
def test_the_fullest_sheet_is_still_one_page(here: House, people: People, language: str) -> None:
    long = {"en": "word\nand ", "th": "ที่นี่ฝั่งผู้เล่น", "unbroken": "w"}[language] * 1000
    do_review_incident(
        here.incident(), people("supervisor"), {"note": long[:999], "follow_up": long[:999], "camera": "C" * 60}
    )
    here.decide("void hand", reason=long[:500])
    case = load_case(here.incident())
    case.findings = case.findings[:1] * 20
    with override("th" if language == "th" else "en"):
        data = sheets.sheet(case)
    data["money"] = data["money"][:1] * sheets.BETS
    data["findings"] = [{**one, "citations": one["citations"] * 3} for one in data["findings"]]
    for one in data["findings"]:
        one["citations"] = [{**cited, "text": sheets._cut(long)} for cited in one["citations"]][:2]
    assert "15" in data["findings_more"]
    # Marks in plain letters, which the reader of PDFs finds on a Thai page too.
    data |= {"findings_more": "MORE-FINDINGS", "signatures": [["SIGN", ""], *data["signatures"][1:]]}
    data["review_long"][-1][0] = "LAST-NOTE"
    pdf = sheets.render(json.loads(json.dumps(data)))
    text = said(pdf)
    for mark in ("MORE-FINDINGS", "LAST-NOTE", "SIGN", "nok"):
        assert mark in text
    # The last words of the body stand above the place to sign, and nothing stands beyond the edges.
    drawn: list[tuple[float, float, str]] = []
    PdfReader(io.BytesIO(pdf)).pages[0].extract_text(
        visitor_text=lambda part, cm, tm, *_: drawn.append(
            (cm[0] * tm[4] + cm[4], cm[3] * tm[5] + cm[5], bare(part).replace("\u200b", ""))
        )
    )
    rows = [(y, part) for _x, y, part in drawn if part]
    place = next(at for at, (_y, part) in enumerate(rows) if part == "SIGN")
    assert rows[place][0] < 842 / 4
    assert all(y > rows[place][0] for y, _part in rows[:place]), "the body comes first, and higher"
    assert all(0 < x < 595 for x, _y, part in drawn if part)
    assert all(y > 0 for y, _part in rows)


@pytest.mark.parametrize(
    "log",
    [
        "open close P1:9h- close",
        "open close P1:2h B1:4s P2:3d B2:- P3:6h",
        "open close P1:9h B1:4s P2:Kd B2:3c x:6h x:7h end",
        "open close P1:9h B1:4s P2:Kd B2:3c P3:6h end",
    ],
    ids=["face-down", "unopened", "extra", "overdrawn"],
)
def test_every_kind_of_felt_is_drawn(table: MakeTable, people: People, log: str) -> None:
    house = House(table("B08", ruleset="commission"), people)
    house.record(log.replace("close P1:9h- close", "P1:9h- close"))
    assert "B08" in said(sheets.make_sheet(load_case(house.incident())))


def test_an_incident_of_the_shoe_and_one_amended_away(client: Client, table: MakeTable, people: People) -> None:
    house = House(table("B08"), people)
    house.record("shoe-open:commission burn:5h burned:4 hand:1 open close P1:9h B1:4s P2:Kd B2:3c end", prelude=False)
    client.force_login(people("auditor"))
    text = said(get(client, house, hand=None))
    assert "Asdealt" not in text
    assert "B08shoe1" in text


def test_who_may_not_read_gets_no_sheet(client: Client, here: House, people: People) -> None:
    address = f"/incidents/{here.incident().pk}/sheet.pdf"
    assert client.get(address).status_code == 302
    client.force_login(people(None))
    assert client.get(address).status_code == 403
    client.force_login(people("recorder"))
    assert address in client.get(f"/incidents/{here.incident().pk}/").content.decode()
    assert client.get("/incidents/999999/sheet.pdf").status_code == 404

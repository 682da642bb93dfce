"""What is said of the game: a verdict first, a sentence for each flag, in both languages."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest
from django.template.loader import render_to_string
from django.utils.translation import override

from incidents.reports import game_wording
from incidents.reports.figures import Flag, Frequency, Game
from incidents.reports.statistics import TESTS
from tests import reports_samples


def flag(test: str, subject: str, observed: float, expected: float, p: float = 3e-9, **more: Any) -> Flag:
    return Flag(test=test, subject=subject, observed=observed, expected=expected, p=p, q=p * 100, **more)


SHORT = flag(
    "ranks", "shoe", 22, 30.4, table="B07", shoe=3, detail={"rank": "9", "low": 28, "high": 32, "seen": 395, "held": 32}
)
FLAGS = [
    (
        SHORT,
        "B07 shoe 3: Cards of rank 9 seen: 22, expected: 28 to 32. "
        "Chance of that in a fair shoe: less than 1 in 10 million.",
        "B07 ขอน 3: เห็นไพ่หน้า 9 จำนวน 22 ใบ ควรเป็น 28 ถึง 32 โอกาสที่จะเกิดในขอนที่ยุติธรรม: น้อยกว่า 1 ใน 10 ล้าน",
    ),
    (
        flag(
            "ranks", "table", 90, 121.5, p=4e-6, table="B07", detail={"rank": "T", "low": 118, "high": 125, "shoes": 4}
        ),
        "B07: Cards of rank 10 seen: 90, expected: 118 to 125. In 4 shoes together. "
        "Chance of that at a fair table: about 1 in 250,000.",
        "รวม 4 ขอน",
    ),
    (
        flag("suits", "shoe", 60, 98.7, table="B07", shoe=1, detail={"suit": "h", "low": 95, "high": 102}),
        "B07 shoe 1: Cards of suit hearts seen: 60, expected: 95 to 102. "
        "Chance of that in a fair shoe: less than 1 in 10 million.",
        "จำนวน 60 ใบ",
    ),
    (
        flag("frequency", "house", 700, 571.0, detail={"name": "tie", "of": 6000, "low": 527, "high": 616}),
        "The house: Tie: 700 of 6,000 hands, expected: 527 to 616. "
        "Chance of that on a fair night: less than 1 in 10 million.",
        "ทั้งคาสิโน: เสมอ: 700 จาก 6,000 ตา",
    ),
    (
        flag(
            "frequency", "table", 70, 137.2, table="B07", detail={"name": "banker", "of": 271, "low": 121, "high": 153}
        ),
        "B07: Banker wins: 70 of 271 hands without ties, expected: 121 to 153. "
        "Chance of that at a fair table: less than 1 in 10 million.",
        "เจ้ามือชนะ: 70 จาก 271",
    ),
    (
        flag("runs", "table", 60, 135.4, table="B07", detail={"of": 271}),
        "B07: Banker and Player take turns too seldom: 60 streaks in 271 hands, expected: 135. "
        "Chance of that at a fair table: less than 1 in 10 million.",
        "น้อยเกินไป",
    ),
    (
        flag("runs", "table", 260, 135.4, table="B07", detail={"of": 271}),
        "B07: Banker and Player take turns too often: 260 streaks in 271 hands, expected: 135. "
        "Chance of that at a fair table: less than 1 in 10 million.",
        "บ่อยเกินไป",
    ),
    (
        flag("streak", "table", 40, 8.1, table="B07", shoe=2, detail={"side": "player", "of": 271}),
        "B07 shoe 2: Player won 40 hands in a row (271 hands without ties). "
        "Chance of that at a fair table: less than 1 in 10 million.",
        "ชนะติดต่อกัน 40 ตา",
    ),
    (
        flag(
            "dealer",
            "dealer",
            31,
            12.44,
            p=0.00043,
            dealer="D103",
            detail={"hands": 300, "others": 5700, "others_found": 210},
        ),
        "Dealer D103: Hands with findings: 31 of 300, expected: 12.4. The rest of the house: 210 of 5,700. "
        "Chance of that if all deal alike: about 1 in 2,300.",
        "ดีลเลอร์ D103: ตาที่พบข้อผิดพลาด: 31 จาก 300",
    ),
    (
        flag("findings", "table", 31, 12.44, table="B07", detail={"hands": 300, "others": 0}),
        "B07: Hands with findings: 31 of 300, expected: 12.4. "
        "Chance of that at a fair table: less than 1 in 10 million.",
        "31 จาก 300",
    ),
    (
        flag("commission", "table", 190, 3.8, p=0.0, table="B07", detail={"bet": "banker", "of": 190}),
        "B07: Winning bets on Banker paid without commission: 190 of 190; forgetting explains 3.8. "
        "Chance of that at a fair table: less than 1 in 10 million.",
        "190 จาก 190",
    ),
]


@pytest.mark.parametrize(("one", "english", "thai"), FLAGS)
def test_a_flag_is_a_sentence(one: Flag, english: str, thai: str) -> None:
    assert game_wording.flag_words(one).sentence == english
    with override("th"):
        assert thai in game_wording.flag_words(one).sentence


def test_every_test_has_its_words() -> None:
    assert set(TESTS) == set(game_wording.TESTS) == set(game_wording._SAID) == {one.test for one, *_words in FLAGS}
    assert all(str(words) for words in game_wording.TESTS.values())
    assert game_wording.test_name("other") == "other"


def test_a_flag_of_an_older_report_lacks_details() -> None:
    for test in (*TESTS, "unheard-of"):
        words = game_wording.flag_words(flag(test, "table", 9, 0.5, table="B03"))
        assert words.where == "B03"
        assert "9" in words.said
    assert game_wording.flag_words(reports_samples.figures().game.flags[0]).said == (
        "Cards of rank 9 seen: 0, expected: 26.6."
    )


def test_a_flag_of_a_month_names_its_day() -> None:
    one = flag("commission", "table", 9, 0.5, table="B03", day=dt.date(2026, 7, 4))
    assert game_wording.flag_words(one).where == "2026-07-04 B03"


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.0, "less than 1 in 10 million"),
        (9e-8, "less than 1 in 10 million"),
        (2.4e-7, "about 1 in 4,200,000"),
        (0.00043, "about 1 in 2,300"),
        (0.04, "about 1 in 25"),
        (0.4, "about 1 in 2"),
    ],
)
def test_chances_are_rounded(p: float, said: str) -> None:
    assert game_wording.chance(p) == said


def test_the_verdict_comes_first() -> None:
    quiet = Game(tests=2310, share=0.02, method="Benjamini-Hochberg", shoes=80)
    assert game_wording.verdict(quiet) == "Nothing here that chance does not explain."
    assert game_wording.game_words(quiet).clear
    assert "of 100 nights of honest play, at most 2 would show" in game_wording.small_print(quiet)
    assert "Benjamini" not in game_wording.small_print(quiet), "plain words first"
    assert game_wording.method_words(quiet).startswith("2,310 tests of 80 shoes, judged together (Benjamini-Hochberg).")
    few = msgspec.structs.replace(quiet, tests=35, shoes=1)
    assert game_wording.method_words(few).startswith("35 tests of 1 shoe,")
    quiet.left_out = 1
    assert game_wording.small_print(quiet).endswith("The cards of 1 shoe were too few or not known.")
    quiet.share = 0.005
    assert "at most 0.5 would" in game_wording.small_print(quiet)
    loud = Game(tests=10, share=0.02, flags=[SHORT])
    assert game_wording.verdict(loud) == "Chance does not explain 1 thing."
    nothing = Game()
    assert game_wording.verdict(nothing) == "Too little was dealt to say whether the game is right."
    assert (game_wording.small_print(nothing), game_wording.game_words(nothing).clear) == ("", False)


def test_frequencies_in_a_table() -> None:
    rows = [
        Frequency(name="tie", count=12, of=120, probability=0.095156, low=0.05, high=0.15),
        Frequency(name="banker", count=90, of=120, probability=0.458597, low=0.367, high=0.55),
    ]
    words = game_wording.game_words(Game(tests=5, frequencies=rows, by_table={"B02": rows, "B01": rows, "B03": []}))
    tie, banker = words.rows
    assert (tie.name, tie.count, tie.of, tie.share, tie.expected, tie.band, tie.outside) == (
        "Tie", "12", "120", "10.0\xa0%", "9.52\xa0%", "5.0–15.0\xa0%", False,
    )  # fmt: skip
    assert banker.outside
    assert [code for code, _hands, _shares in words.tables] == ["B01", "B02"]
    assert words.tables[0][1:] == ("120", ["75.0\xa0%", "–", "10.0\xa0%", "–", "–", "–"])


@pytest.mark.parametrize("language", ["en", "th"])
def test_the_page_says_it(language: str) -> None:
    with override(language):
        said = render_to_string("reports/_game.html", {"game": reports_samples.figures().game})
        assert said.index(game_wording.verdict(reports_samples.figures().game)) < said.index("B02")
        calm = render_to_string("reports/_game.html", {"game": reports_samples.quiet().game})
        assert "notice-ok" in calm
        assert "game-flags" not in calm
        nothing = render_to_string("reports/_game.html", {"game": Game()})
        assert "<table" not in nothing
        assert "notice-ok" not in nothing

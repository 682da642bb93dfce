"""What the template tags draw."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django import forms
from django.template import Context, Template

from dealing.rules.audit import Felt
from dealing.rules.cards import Card
from dealing.templatetags import table_tags
from dealing.templatetags.shapes import ICONS, SUITS


def render(source: str, **context: Any) -> str:
    return Template("{% load table_tags %}" + source).render(Context(context))


def words(html: str) -> str:
    """The text of a page, as it is read out."""
    html = re.sub(r'<(\w+)[^>]*aria-hidden="true"[^>]*>.*?</\1>', " ", html, flags=re.DOTALL)
    html = re.sub(r'<svg[^>]*aria-label="([^"]*)".*?</svg>', r" \1 ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


# Cards.


@pytest.mark.parametrize(
    ("card", "name", "shown"),
    [
        ("9h", "9 of hearts", "9"),
        ("Td", "10 of diamonds", "10"),
        ("10D", "10 of diamonds", "10"),
        ("As", "ace of spades", "A"),
    ],
)
def test_card(card: str, name: str, shown: str) -> None:
    drawn = render("{% card one %}", one=card)
    assert f'role="img" aria-label="{name}"' in drawn
    assert drawn.count(f">{shown}</text>") == 2  # two corners
    assert drawn.count(SUITS[card[-1].lower()]) == 3  # two corners and the pip


def test_card_of_the_judge() -> None:
    assert render("{% card one %}", one=Card.parse("kc")) == render('{% card "Kc" %}')


def test_suits_differ_by_shape() -> None:
    assert len(set(SUITS.values())) == 4


def test_card_face_down() -> None:
    drawn = render("{% card None 'small' %}")
    assert drawn == render("{% card '??' 'small' %}")
    assert 'aria-label="face-down card"' in drawn
    assert "card-small" in drawn
    assert "<text" not in drawn


@pytest.mark.parametrize(
    ("card", "name", "shown"), [("7", "Seven", "7"), ("A", "Ace", "A"), ("T", "Ten", "10"), ("10", "Ten", "10")]
)
def test_card_recorded_by_its_rank_only(card: str, name: str, shown: str) -> None:
    drawn = render("{% card one %}", one=card)
    assert drawn == render("{% card one %}", one=Card.parse(card))
    assert f'role="img" aria-label="{name}"' in drawn
    assert drawn.count(f">{shown}</text>") == 1  # in the middle, large
    assert "card-down" not in drawn
    assert not any(path in drawn for path in SUITS.values())


def test_what_is_no_card_is_shown_escaped() -> None:
    assert "<b>" not in render("{% card one %}", one="<b>")


def test_nothing_needs_inline_style_or_script() -> None:
    """The pages' policy forbids both."""
    drawn = render(
        "{% card '9h' %}{% card None %}{% felt d due='P3' %}{% icon 'alert' %}", d={"P": ["9h"], "B": [None]}
    )
    assert "style=" not in drawn
    assert "<script" not in drawn


def test_every_icon_is_drawn_and_silent() -> None:
    for name in ICONS:
        assert 'aria-hidden="true"' in render("{% icon name %}", name=name)
    with pytest.raises(KeyError):
        render("{% icon 'no-such-icon' %}")


# The felt.

DEALT = {"P": ["9h", "3d"], "B": ["4s", "2c", "Kd"], "extra": []}
CORRECT = {"P": ["9h", "3d", "Kd"], "B": ["4s", "2c"], "extra": [], "next": "B3"}


def test_felt_has_both_sides_totals_and_the_place_due() -> None:
    text = words(
        render('{% felt d due="P3" totals=t %}', d={"P": ["9h", "3d"], "B": ["4s", "2c"], "extra": []}, t=(2, 6))
    )
    assert text.index("Player") < text.index("9 of hearts") < text.index("3 of diamonds") < text.index("Banker")
    assert "Total 2" in text
    assert "Total 6" in text
    assert "Player, third card: the next card belongs here" in text
    assert "Banker, third card" not in text


def test_felt_says_who_won() -> None:
    assert "Banker wins" in words(render('{% felt d winner="banker" %}', d=DEALT))
    assert "Player wins" not in words(render('{% felt d winner="banker" %}', d=DEALT))
    assert words(render('{% felt d winner="tie" %}', d=DEALT)).endswith("Tie")


def test_felt_without_totals_shows_none() -> None:
    assert "Total" not in words(render("{% felt d totals=t %}", d=DEALT, t=(None, None)))
    assert "Total 0" in words(render("{% felt d totals=t %}", d=DEALT, t={"player": 0, "banker": None}))


def test_felt_marks_what_lies_wrong_and_where_it_belongs() -> None:
    drawn = render("{% felt d compare=c %}", d=DEALT, c=CORRECT)
    assert drawn.count('class="felt-card felt-wrong"') == 1
    assert "belongs to: Player, third card" in words(drawn)


def test_felt_pair_marks_both_sides() -> None:
    drawn = render("{% felt_pair d c totals=t %}", d=DEALT, c=CORRECT, t=(2, 6))
    text = words(drawn)
    assert text.index("As dealt") < text.index("belongs to: Player, third card") < text.index("As the rules lay it")
    assert "moved from: Banker, third card" in text
    assert "Banker, third card: the next card belongs here" in text


def test_felt_pair_says_what_both_come_to() -> None:
    drawn = words(render("{% felt_pair d c totals=t %}", d=DEALT, c=CORRECT, t=(2, 6)))
    dealt, correct = drawn.split("As the rules lay it")
    assert re.findall(r"Total (\d)", dealt) == ["2", "6"]
    assert re.findall(r"Total (\d)", correct) == ["2", "6"]
    for unclear in ({"P1": "9h"}, {"P1": "9h", "P2": None, "B1": "4s", "B2": "2c"}, {"P": ["9h", "3d"], "B": []}):
        assert "Total" not in words(render("{% felt_pair d d %}", d=unclear))


def test_felt_by_places_and_two_cards_on_one() -> None:
    felt = table_tags.felt_cards({"P1": ["9h", "3d"], "B1": "4s", "B2": None, "extra": ["2c"]})
    assert felt == {"P1": ["9h", "3d"], "P2": [], "P3": [], "B1": ["4s"], "B2": [], "B3": [], "extra": ["2c"]}


def test_felt_of_the_judge() -> None:
    felt = Felt({"P1": ("9h",), "B1": ("??",), "B3": ("Kd", "2c")}, ("??",))
    assert table_tags.felt_cards(felt) == {
        "P1": ["9h"],
        "P2": [],
        "P3": [],
        "B1": [None],
        "B2": [],
        "B3": ["Kd", "2c"],
        "extra": [None],
    }
    assert words(render("{% felt d %}", d=felt)).count("face-down card") == 2


def test_felt_keeps_a_fourth_card_of_a_side_in_sight() -> None:
    drawn = words(render("{% felt d %}", d={"P": ["9h", "3d", "2c", "5s"], "B": []}))
    assert "5 of spades" in drawn


def test_equal_cards_are_paired_where_they_lie() -> None:
    """Eight decks: of two equal cards only the one that lies wrong is marked."""
    here = table_tags.felt_cards({"P": ["9h", "2c"], "B": ["9h"], "extra": ["9h"]})
    there = table_tags.felt_cards({"P": ["9h", "2c"], "B": ["9h", "9h"], "extra": []})
    laid = table_tags.compare_felts(here, there)
    assert [one.elsewhere for one in laid["P1"]] == [""]
    assert [one.elsewhere for one in laid["B1"]] == [""]
    assert [one.elsewhere for one in laid["extra"]] == ["B2"]


def test_an_empty_felt() -> None:
    assert "Player, first card: no card" in words(render("{% felt None %}"))


def test_card_slot() -> None:
    assert "Banker, third card: the next card belongs here" in words(render('{% card_slot "B3" due=True %}'))
    assert "card-slot-due" not in render('{% card_slot "B3" %}')


# Findings.

FINDING = {
    "code": "fifth-card-misplaced",
    "seq": [231],
    "cards": ["Kd"],
    "state": "open",
    "rules": ["INC-order"],
    "ruling": "correct",
    "options": ["correct"],
    "mandatory": True,
}


def test_finding_says_what_happened_which_rule_and_what_to_do() -> None:
    text = words(render("{% finding f %}", f=FINDING))
    assert "Fifth card on the wrong place" in text
    assert "king of diamonds" in text
    assert "Ruling: Correct" in text
    assert "INC-order" in text


def test_finding_cites_the_ruleset() -> None:
    from dealing.rules.rulesets import get_ruleset

    cited = get_ruleset("insurance").cite("INC-order", "en")
    assert cited
    text = words(render('{% finding f ruleset="insurance" %}', f=FINDING))
    assert cited.text in text
    assert "adopted by" not in text
    assert "adopted by: Commission baccarat" in words(render('{% finding f ruleset="commission" %}', f=FINDING))


def test_finding_cites_in_the_language_asked_for() -> None:
    from dealing.rules.rulesets import get_ruleset

    cited = get_ruleset("insurance").cite("INC-order", "th")
    assert cited
    assert cited.text in render('{% finding f lang="th" ruleset=r %}', f=FINDING, r=get_ruleset("insurance"))


def test_finding_with_an_unknown_ruleset_or_rule_still_shows() -> None:
    assert "INC-order" in words(render('{% finding f ruleset="nowhere" %}', f=FINDING))
    odd = {**FINDING, "rules": ["INC-order", "HOUSE-7"]}
    assert "HOUSE-7" in words(render('{% finding f ruleset="insurance" %}', f=odd))


def test_finding_without_a_rule_says_so_and_offers_the_choices() -> None:
    free = {**FINDING, "rules": [], "ruling": "discretion", "options": ["stand", "void hand"], "mandatory": False}
    text = words(render('{% finding f ruleset="commission" %}', f=free))
    assert "No documented rule" in text
    assert "The manager decides" in text
    assert "Stand · Void the hand" in text


def test_finding_corrected_and_minor_look_and_say_otherwise() -> None:
    corrected = render("{% finding f %}", f={**FINDING, "state": "corrected"})
    assert "finding-corrected" in corrected
    assert "Corrected" in words(corrected)
    assert "finding-minor" in render("{% finding f %}", f={**FINDING, "ruling": "stand"})
    assert "finding-" not in render("{% finding f %}", f=FINDING).replace("finding-title", "").replace(
        "finding-body", ""
    ).replace("finding-facts", "")


def test_finding_compact() -> None:
    text = words(render('{% finding f ruleset="insurance" compact=True %}', f=FINDING))
    assert "Ruling: Correct" in text
    assert "A fifth card was due" not in text


def test_finding_as_an_object() -> None:
    made = type("Made", (), FINDING)()
    assert render("{% finding f %}", f=made) == render("{% finding f %}", f=FINDING)


# Small things.


def test_badge_has_an_icon_and_words() -> None:
    drawn = render('{% badge "void hand" %}')
    assert "<svg" in drawn
    assert words(drawn) == "Void the hand"
    assert "badge-danger" in drawn
    assert words(render("{% badge 'x' text=t kind='info' %}", t="<b>")) == "&lt;b&gt;"


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("12345.5", "12,345.50"),
        (Decimal("0.00"), "0.00"),
        ("-95.00", "−95.00"),
        ("0.125", "0.125"),
        ("1E+3", "1,000.00"),
        (None, "–"),
        ("much", "much"),
    ],
)
def test_money(amount: object, shown: str) -> None:
    assert words(render("{% money m %}", m=amount)) == shown


def test_money_with_a_sign() -> None:
    assert words(render("{% money '5' sign=True %}")) == "+5.00"
    assert words(render("{% money '0' sign=True %}")) == "0.00"


def test_field_has_its_error_beside_it() -> None:
    class Form(forms.Form):
        stake = forms.DecimalField(help_text="as 100.00")

    form = Form({"stake": ""})
    drawn = render("{% field_row f.stake %}", f=form)
    assert "This field is required." in drawn
    described = re.search(r'aria-describedby="([^"]+)"', drawn)
    assert described
    for name in described[1].split():
        assert f'id="{name}"' in drawn
    assert 'aria-invalid="true"' in drawn
    assert "field-error" not in render("{% field_row f.stake %}", f=Form())

"""The shipped rulesets: complete, cited in both languages, and refused with a clear message where a file is wrong."""

import tomllib
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dealing.rules import rulesets
from dealing.rules.bets import BET_NAMES
from dealing.rules.findings import CATALOGUE
from dealing.rules.rulesets import RulesetError, UnknownRuleset, get_ruleset, load_ruleset, reading, ruleset_names
from tests.test_rules_insurance import ODDS

SHIPPED = ("insurance", "standard", "commission")

# The finding codes of the log page: code (and case) -> the rule that speaks, the ruling, the manager's options.
# No rule: none of the documents speaks.
CORRECT = ("correct", ["correct"])
STAND = ("stand", ["stand"])
VOID_HAND = ("void hand", ["void hand"])
BURN = ("burn card", ["burn card"])
CORRECT_OR_VOID = ("discretion", ["correct", "void hand"])
RULINGS: dict[tuple[str, str], tuple[str | None, tuple[str, list[str]]]] = {
    ("initial-card-misplaced", ""): ("INC-fix", CORRECT_OR_VOID),
    ("fifth-card-misplaced", ""): ("INC-order", CORRECT),
    ("fifth-card-misplaced", "player-stands"): ("INC-order", CORRECT),
    ("sixth-card-misplaced", ""): ("INC-order", CORRECT),
    ("card-overdrawn", "up"): ("INC-extra", BURN),
    ("card-overdrawn", "down"): ("INC-fix", ("discretion", ["reuse card", "void hand"])),
    ("card-not-drawn", ""): ("INC-fix", CORRECT_OR_VOID),
    ("extra-card-exposed", ""): ("INC-extra", BURN),
    ("extra-card-exposed", "betting"): ("INC-extra", BURN),
    ("extra-card-exposed", "together"): ("INC-extra", BURN),
    ("exposed-during-betting", ""): ("INC-bet-exposed", VOID_HAND),
    ("dealt-during-betting", ""): (None, ("discretion", ["stand", "void hand"])),
    ("exposed-during-draw", ""): ("INC-draw-exposed", ("discretion", ["stand", "burn card", "void hand"])),
    ("exposed-at-start", ""): ("INC-start-exposed", STAND),
    ("opened-out-of-turn", ""): ("INC-fix", ("discretion", ["stand", "correct"])),
    ("insurance-not-due", ""): ("INS-void", ("void insurance", ["void insurance"])),
    ("insurance-dealt-early", ""): ("INS-early", STAND),
    ("insurance-odds-missing", ""): ("INS-none", STAND),
    ("insurance-odds-misplaced", ""): ("INS-place", STAND),
    ("insurance-odds-wrong", ""): ("INS-rate", STAND),
    ("insurance-late-bet", ""): (None, ("discretion", ["stand", "void insurance"])),
    ("wrong-result-called", ""): ("INC-fix", CORRECT_OR_VOID),
    ("bet-after-close", ""): (None, ("discretion", ["stand", "void bet"])),
    ("bet-after-close", "frozen"): (None, ("discretion", ["stand", "void bet"])),
    ("opposing-bets", ""): ("BET-opp", ("discretion", ["void bet", "stand"])),
    ("side-bet-after-limit", ""): ("BET-60", ("void bet", ["void bet"])),
    ("bet-not-offered", ""): (None, ("void bet", ["void bet"])),
    ("card-dropped", ""): ("INC-drop", ("reuse card", ["reuse card"])),
    ("card-dropped-opened", ""): ("INC-drop-seen", ("void hand", ["void hand", "replace shoe"])),
    ("burn-missing", ""): ("SHOE-start", ("discretion", ["stand", "replace shoe"])),
    ("burn-missing", "before-first-hand"): ("SHOE-start", CORRECT),
    ("burn-count-wrong", ""): ("SHOE-start", ("discretion", ["stand", "replace shoe"])),
    ("burn-count-wrong", "before-first-hand"): ("SHOE-start", CORRECT),
    ("hand-after-last", ""): ("SHOE-after", VOID_HAND),
    ("card-impossible", ""): (None, ("discretion", ["void hand", "replace shoe"])),
    ("hand-incomplete", ""): ("INC-fix", CORRECT_OR_VOID),
}
#: Limits on betting are each document's own: no house adopts them.
NOT_ADOPTED = {"BET-opp": "insurance", "BET-60": "commission"}

BASE = ["DEAL-1", "DEAL-2", "DEAL-3", "DEAL-4", "DRAW-P", "DRAW-B0", "DRAW-B", "DRAW-N"]
BASE += ["PAY-player", "PAY-banker", "PAY-tie", "PAY-ppair", "PAY-bpair"]
INSURANCE = ["INC-order", "INS-early", "INS-none", "INS-place", "INS-rate", "INS-void"]
COMMISSION = ["SHOE-burn", "SHOE-start", "SHOE-last", "SHOE-after", "INC-fix", "INC-bet-exposed", "INC-extra"]
COMMISSION += ["INC-draw-exposed", "INC-start-exposed", "INC-drop", "INC-drop-seen"]
SIDE_PAYS = ["PAY-big", "PAY-small", "PAY-pn8", "PAY-pn9", "PAY-bn8", "PAY-bn9", "PAY-s6"]
OWN = {
    "insurance": {*BASE, *INSURANCE, "PAY-ins", "BET-opp"},
    "standard": {*BASE},
    "commission": {*BASE, *COMMISSION, *SIDE_PAYS, "BET-60"},
}
IN_FORCE = {name: own | set(INSURANCE) | set(COMMISSION) for name, own in OWN.items()}


def test_the_three_documents_are_there() -> None:
    assert set(SHIPPED) <= set(ruleset_names())
    for name in SHIPPED:
        assert get_ruleset(name).name == name
        assert get_ruleset(name).decks == 8


def test_every_finding_of_the_catalogue_is_ruled_here() -> None:
    asked_for = {code for code, kind in CATALOGUE.items() if kind.optional}
    assert {code for code, _ in RULINGS} | {"payout-wrong"} == set(CATALOGUE) - asked_for
    for code, kind in CATALOGUE.items():
        for case in kind.cases if code not in asked_for else ():
            # a card overdrawn for a standing Player lies up or down: that says which rule speaks in these three
            assert (code, case) in RULINGS or (code, case) == ("card-overdrawn", "player-stands")


@pytest.mark.parametrize("name", SHIPPED)
def test_what_only_other_houses_ask_for_is_not_raised_here(name: str) -> None:
    raised = {code for code in CATALOGUE if get_ruleset(name).raises(code)}
    assert set(CATALOGUE) - raised == {
        "extra-card-unseen",
        "held-card-not-dealt",
        "card-scan-differs",
        "free-hand-over-limit",
    }


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("case", ["up", "down"])
def test_a_card_overdrawn_for_a_standing_player_is_like_any_other(name: str, case: str) -> None:
    ruleset = get_ruleset(name)
    assert ruleset.ruling_for("card-overdrawn", "player-stands", case) == ruleset.ruling_for("card-overdrawn", case)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(("code", "case"), RULINGS)
def test_what_the_rules_say_of_each_finding(name: str, code: str, case: str) -> None:
    rule, (word, options) = RULINGS[code, case]
    found = get_ruleset(name).ruling_for(code, case)
    if rule in NOT_ADOPTED and NOT_ADOPTED[rule] != name:
        assert found.rules == ()
        assert found.ruling == "discretion"
        return
    assert found.rules == (() if rule is None else (rule,))
    assert (found.ruling, list(found.options)) == (word, options)
    assert found.mandatory == (word != "discretion")


MEASURES = {
    "SHOE-start": ("replace shoe",),
    "INC-fix": ("cancel shoe",),
    "INC-bet-exposed": ("cancel shoe",),
    "INC-extra": ("cancel shoe",),
    "INC-drop-seen": ("replace shoe",),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_management_may_do_to_the_shoe(name: str) -> None:
    for rule_id, rule in get_ruleset(name).rules.items():
        assert rule.measures == MEASURES.get(rule_id, ())
    assert get_ruleset(name).ruling_for("exposed-during-betting").measures == ("cancel shoe",)


@pytest.mark.parametrize("name", SHIPPED)
def test_which_rules_are_in_force(name: str) -> None:
    ruleset = get_ruleset(name)
    assert set(ruleset.rules) == IN_FORCE[name]
    for rule_id in ruleset.rules:
        citation = ruleset.cite(rule_id)
        assert citation is not None
        assert citation.adopted == (rule_id not in OWN[name])


@pytest.mark.parametrize("name", SHIPPED)
def test_every_rule_can_be_cited_in_both_languages(name: str) -> None:
    ruleset = get_ruleset(name)
    assert ruleset.title("en") != ruleset.title("th")
    for rule_id in ruleset.rules:
        english, thai = ruleset.cite(rule_id, "en"), ruleset.cite(rule_id, "th")
        assert english is not None
        assert thai is not None
        assert english.rule == thai.rule == rule_id
        assert len(english.text) > 20
        assert english.text.isascii() or "–" in english.text
        assert any("\u0e00" <= letter <= "\u0e7f" for letter in thai.text)
        assert english.document != thai.document
        assert english.ruleset == ruleset.title("en")
        assert thai.ruleset == ruleset.title("th")


def test_an_adopted_rule_names_both_house_and_document() -> None:
    citation = get_ruleset("standard").cite("INC-order")
    assert citation is not None
    assert citation.adopted
    assert citation.ruleset == get_ruleset("standard").title("en")
    own = get_ruleset("insurance").cite("INC-order")
    assert own is not None
    assert own.document == citation.document
    assert not own.adopted


def test_no_rule_no_citation() -> None:
    assert get_ruleset("standard").cite("BET-60") is None
    assert get_ruleset("standard").cite("PAY-s6") is None


# --- Bets -------------------------------------------------------------------------------------------------------------

PAYS = {"player": "1", "banker": "0.95", "tie": "8", "player_pair": "11", "banker_pair": "11"}
SIDE_BETS = {
    "big": "0.5",
    "small": "1.5",
    "player_natural_8": "8",
    "player_natural_9": "8",
    "banker_natural_8": "8",
    "banker_natural_9": "8",
    "super_6": "12",
}
OFFERED: dict[str, dict[str, str]] = {
    "insurance": PAYS | {"insurance_player": "0", "insurance_banker": "0"},
    "standard": PAYS,
    "commission": PAYS | SIDE_BETS,
}
SIXTY = {"player_pair", "banker_pair", "super_6", *(bet for bet in SIDE_BETS if "natural" in bet)}


@pytest.mark.parametrize("name", SHIPPED)
def test_bets_offered_and_what_they_pay(name: str) -> None:
    bets = get_ruleset(name).bets
    assert {bet: offer.pays for bet, offer in bets.items()} == {b: Decimal(p) for b, p in OFFERED[name].items()}
    for bet, offer in bets.items():
        assert offer.first_hands == (60 if name == "commission" and bet in SIXTY else None)
        assert offer.pays_three == (Decimal(18) if bet == "super_6" else None)
        assert offer.rule in get_ruleset(name).rules
    assert set().union(*(OFFERED[n] for n in SHIPPED)) == set(BET_NAMES)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_wrong_payout_cites_the_bets_own_rule(name: str) -> None:
    ruleset = get_ruleset(name)
    for bet, offer in ruleset.bets.items():
        ruling = ruleset.payout_ruling(bet)
        assert (ruling.rules, ruling.ruling, ruling.options) == ((offer.rule,), "correct", ("correct",))


def test_insurance_odds_are_those_of_the_page() -> None:
    table = get_ruleset("insurance").insurance
    for window, player, banker in product((1, 2), range(10), range(10)):
        due = table.get((window, player, banker))
        wanted = ODDS.get((window, player, banker))
        assert (due and (due.side, due.odds, due.tie_only)) == wanted
    assert not get_ruleset("standard").insurance
    assert not get_ruleset("commission").insurance


# --- Files ------------------------------------------------------------------------------------------------------------

HOUSE: dict[str, Any] = {
    "name": "house",
    "unit": "1",
    "rounding": "half-up",
    "decks": 6,
    "title": {"en": "House", "th": "บ้าน"},
    "source": {"document": "house", "en": "House rules", "th": "กติกาบ้าน"},
    "adopts": [{"from": "commission", "rules": ["INC-fix"]}],
    "bets": {"player": {"rule": "PAY-player", "pays": "1"}},
    "rules": {"PAY-player": {"section": 3, "en": "Even money.", "th": "หนึ่งต่อหนึ่ง"}},
}


def toml(value: Any) -> str:
    """Enough TOML for the files here: a table in one line is a table too."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {toml(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def write(folder: Path, data: dict[str, Any], name: str = "house") -> Path:
    path = folder / f"{name}.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in data.items()), encoding="utf-8")
    tomllib.loads(path.read_text(encoding="utf-8"))
    return path


def test_a_house_may_write_its_own(tmp_path: Path) -> None:
    house = load_ruleset(write(tmp_path, HOUSE))
    assert house.decks == 6
    assert house.money.round(Decimal("2.5")) == Decimal("3.00")
    assert house.ruling_for("card-not-drawn").rules == ("INC-fix",)
    # what the house did not adopt, no rule speaks on
    assert house.ruling_for("fifth-card-misplaced").rules == ()
    assert house.ruling_for("fifth-card-misplaced").ruling == "discretion"
    citation = house.cite("INC-fix")
    assert citation is not None
    assert citation.adopted


def test_the_largest_and_smallest_numbers_that_are_taken_settle_exactly(tmp_path: Path) -> None:
    stakes = (Decimal("999999999999.9999"), Decimal("0.0001"))
    for unit, pays, stake in product(map(str, reading.UNITS), map(str, reading.ODDS), stakes):
        data = changed("bets.player.pays", pays) | {"unit": unit, "rounding": "half-even"}
        house = load_ruleset(write(tmp_path, data))
        exact = Fraction(stake) * Fraction(pays) / Fraction(unit)
        assert house.money.round(stake * house.bets["player"].pays) == round(exact) * Decimal(unit)


def test_a_houses_own_rule_comes_before_an_adopted_one(tmp_path: Path) -> None:
    mine = {
        "section": 5,
        "en": "A card not drawn voids the hand here.",
        "th": "โมฆะ",
        "rulings": {"card-not-drawn": {"ruling": "void hand", "options": ["void hand"]}},
    }
    house = load_ruleset(write(tmp_path, HOUSE | {"rules": HOUSE["rules"] | {"HOUSE-1": mine}}))
    assert house.ruling_for("card-not-drawn").rules == ("HOUSE-1",)
    assert house.ruling_for("wrong-result-called").rules == ("INC-fix",)


def changed(path: str, value: Any) -> dict[str, Any]:
    """The house's data with one thing changed; None takes it away."""
    data = {k: dict(v) if isinstance(v, dict) else v for k, v in HOUSE.items()}
    at: Any = data
    *way, last = path.split(".")
    for step in way:
        at[step] = dict(at.get(step, {}))
        at = at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("name", "other", "name"),
        ("unit", "-1", "unit"),
        ("unit", "0", "unit"),
        ("unit", 1, "unit"),
        ("unit", "NaN", "unit"),
        *(
            ("unit", value, "house.toml: unit: a decimal string")
            for value in ("1E-400000", "0.00001", "100001", "1e2", "+1", "1_0")
        ),
        *(
            ("bets.player.pays", value, "house.toml: bets.player.pays: a decimal string")
            for value in ("1e999999", "9" * 37, "1000.0001", "0", "0.00001", " 1", "1\\n", "๑")
        ),
        ("bets.player.pays_three", "1e9", "house.toml: bets.player.pays_three: a decimal string"),
        ("bets.player.first_hands", 1000, "bets.player.first_hands"),
        ("adopts", [{"from": "house", "rules": ["PAY-player"]}], "adopts[0].from: a ruleset cannot adopt itself"),
        ("rounding", "up-a-bit", "rounding"),
        ("decks", 0, "decks"),
        ("decks", "8", "decks"),
        ("title.th", None, "title.th"),
        ("title.en", " ", "title.en"),
        ("source", None, "source"),
        ("rules.PAY-player.th", None, "rules.PAY-player.th"),
        ("rules.PAY-player.colour", "red", "colour"),
        ("colour", "red", "colour"),
        ("bets.dragon_7", {"rule": "PAY-player", "pays": "40"}, "dragon_7"),
        ("bets.tie", {"rule": "PAY-tie", "pays": "8"}, "PAY-tie"),
        ("bets.player", {"rule": "PAY-player", "pays": 1}, "pays"),
        ("bets.player", {"rule": "PAY-player", "pays": "0.9x"}, "pays"),
        ("bets.insurance_player", {"rule": "PAY-player"}, "insurance"),
        ("adopts", [{"from": "nobody", "rules": []}], "nobody"),
        ("adopts", [{"from": "commission", "rules": ["INC-none"]}], "INC-none"),
        ("adopts", "commission", "adopts"),
        ("rules.PAY-player.rulings", {"no-such-code": {"ruling": "stand", "options": ["stand"]}}, "no-such-code"),
        (
            "rules.PAY-player.rulings",
            {"card-overdrawn:sideways": {"ruling": "stand", "options": ["stand"]}},
            "sideways",
        ),
        ("rules.PAY-player.rulings", {"card-not-drawn": {"ruling": "shrug", "options": ["stand"]}}, "shrug"),
        ("rules.PAY-player.rulings", {"card-not-drawn": {"ruling": "stand", "options": []}}, "options"),
        ("rules.PAY-player.rulings", {"card-not-drawn": {"ruling": "stand", "options": ["correct"]}}, "options"),
        ("rules.PAY-player.measures", ["burn the shoe"], "burn the shoe"),
        ("shoe", {"colour": "red"}, "shoe.colour"),
        ("shoe", {"burn": {"rule": "PAY-player"}}, "shoe.burn.by"),
        ("shoe", {"burn": {"by": "weight", "rule": "PAY-player"}}, "weight"),
        ("shoe", {"burn": {"by": "decks", "rule": "SHOE-burn"}}, "SHOE-burn"),
        ("shoe", {"burn": {"by": "decks"}}, "shoe.burn.rule"),
        ("shoe", {"burn": {"by": "fixed", "rule": "PAY-player"}}, "shoe.burn.count"),
        ("shoe", {"burn": {"by": "decks", "count": 8, "rule": "PAY-player"}}, "shoe.burn.count"),
        ("shoe", {"burn": {"by": "none", "rule": "PAY-player"}}, "shoe.burn.rule"),
        ("shoe", {"cut_card": {"rule": "PAY-player", "more_hands": -1}}, "shoe.cut_card.more_hands"),
        ("shoe", {"free_hands": {"rule": "PAY-player"}}, "shoe.free_hands.most"),
        ("draw", {"standing_player": "player"}, "draw.standing_player"),
        ("raises", ["card-not-drawn"], "card-not-drawn"),
        (
            "rules.PAY-player.rulings",
            {"card-not-drawn": {"ruling": "stand", "options": ["stand"], "freezes_bets": 1}},
            "freezes_bets",
        ),
    ],
)
def test_a_wrong_file_is_refused_by_name_and_place(tmp_path: Path, path: str, value: Any, said: str) -> None:
    with pytest.raises(RulesetError) as caught:
        load_ruleset(write(tmp_path, changed(path, value)))
    assert "house.toml" in str(caught.value)
    assert said in str(caught.value)


ROW = {"window": 1, "side": "banker", "total": [4], "other": [0], "odds": "2"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ROW | {"other": [4]}], "not ahead"),
        ([ROW, ROW], "two rows"),
        ([ROW | {"odds": 2}], "odds"),
        ([ROW | {"odds": "1e9"}], r"insurance\.rows\[0\]\.odds: a decimal string"),
        ([ROW | {"window": 3}], "window"),
        ([ROW | {"total": [10]}], "total"),
        ([ROW | {"tie_only": "yes"}], "tie_only"),
        ([ROW | {"side": "tie"}], "side"),
    ],
)
def test_wrong_insurance_odds_are_refused(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    bets = HOUSE["bets"] | {bet: {"rule": "PAY-player"} for bet in ("insurance_player", "insurance_banker")}
    assert load_ruleset(write(tmp_path, HOUSE | {"bets": bets, "insurance": {"rows": [ROW]}})).insurance
    with pytest.raises(RulesetError, match=said):
        load_ruleset(write(tmp_path, HOUSE | {"bets": bets, "insurance": {"rows": rows}}))


def test_everything_that_is_wrong_is_said_at_once_with_what_was_meant(tmp_path: Path) -> None:
    data = HOUSE | {
        "decks": 0,
        "tittle": "House",
        "bets": {"playr": {"rule": "PAY-player", "pays": "1"}},
        "adopts": [{"from": "commision", "rules": ["INC-fix"]}, {"from": "commission", "rules": ["INC-fx"]}],
        "rules": HOUSE["rules"]
        | {"H-1": {"section": 5, "en": "x", "th": "x", "rulings": {"card-not-drwn": {"ruling": "stand"}}}},
        "shoe": {"burn": {"by": "deks", "rule": "H-2"}},
    }
    with pytest.raises(RulesetError) as caught:
        load_ruleset(write(tmp_path, data))
    said = {problem.place: problem.message for problem in caught.value.problems}
    assert set(said) == {
        *("tittle", "decks", "bets.playr", "adopts[0].from", "adopts[1].rules"),
        *("rules.H-1.rulings.card-not-drwn", "rules.H-1.rulings.card-not-drwn.options"),
        *("shoe.burn.by", "shoe.burn.rule"),
    }
    for place, meant in {
        "tittle": "title",
        "bets.playr": "player",
        "adopts[0].from": "commission",
        "adopts[1].rules": "INC-fix",
        "rules.H-1.rulings.card-not-drwn": "card-not-drawn",
        "shoe.burn.by": "decks",
        "shoe.burn.rule": "H-1",
    }.items():
        assert f"(is '{meant}' meant?)" in said[place]
    assert {problem.file for problem in caught.value.problems} == {"house.toml"}


def test_a_table_that_is_none_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(RulesetError) as caught:
        load_ruleset(write(tmp_path, HOUSE | {"title": "House"}))
    assert [str(problem) for problem in caught.value.problems] == ["house.toml: title: must be a table"]


def test_what_is_wrong_in_an_adopted_file_is_said_of_that_file(tmp_path: Path) -> None:
    write(tmp_path, HOUSE | {"name": "other", "rules": {"X-1": {"section": 1, "en": "x"}}}, "other")
    with pytest.raises(RulesetError) as caught:
        load_ruleset(write(tmp_path, HOUSE | {"adopts": [{"from": "other", "rules": ["X-1"]}]}))
    assert [str(problem) for problem in caught.value.problems] == ["other.toml: rules.X-1.th: text is wanted"]


@pytest.mark.parametrize(
    "content",
    [b"name = ", b"\xff\xfe", b"name = 'house'", b"name=" + b"[" * 5000, b"decks = " + b"9" * 5000],
    ids=["unfinished", "not UTF-8", "too little", "deep", "long number"],
)
def test_a_file_that_is_no_ruleset_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "house.toml"
    path.write_bytes(content)
    with pytest.raises(RulesetError, match=r"house\.toml"):
        load_ruleset(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RulesetError, match=r"house\.toml"):
        load_ruleset(tmp_path / "house.toml")


@pytest.mark.parametrize("name", ["", "roulette", "../commission", "Commission"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UnknownRuleset) as caught:
        get_ruleset(name)
    assert caught.value.key == "ruleset"
    assert "standard" in str(caught.value)


def test_a_houses_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, HOUSE)
    monkeypatch.setenv(rulesets.HOUSE_FOLDER, str(tmp_path))
    assert "house" in ruleset_names()
    assert get_ruleset("house").decks == 6
    get_ruleset.cache_clear()

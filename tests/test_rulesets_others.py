"""The rulesets beside the three documents: what each rules, cited, and where it is silent."""

from __future__ import annotations

import pytest

from dealing.rules.findings import CATALOGUE
from dealing.rules.rulesets import Burn, CutCardRule, FreeHands, get_ruleset

NAMES = ("macau", "melilla", "studio", "venezia")

Said = tuple[str, str, list[str]]
CORRECT_OR_VOID = ["correct", "void hand"]
#: Everything that a source says of a finding: ruleset -> code and case -> rule, ruling, options.
RULINGS: dict[str, dict[str, Said]] = {
    "macau": {
        "exposed-during-draw": ("MO-faceup", "stand", ["stand"]),
        "hand-after-last": ("MO-cut", "discretion", ["stand", "void hand"]),
        "burn-missing": ("MO-burn", "discretion", ["stand", "replace shoe"]),
        "burn-missing:before-first-hand": ("MO-burn", "discretion", ["correct", "stand", "replace shoe"]),
        "burn-count-wrong": ("MO-burn", "discretion", ["stand", "replace shoe"]),
        "burn-count-wrong:before-first-hand": ("MO-burn", "discretion", ["correct", "stand", "replace shoe"]),
        "free-hand-over-limit": ("MO-free", "discretion", ["stand"]),
    },
    "melilla": {
        "exposed-during-draw": ("ME-faceup", "burn card", ["burn card"]),
        "bet-after-close:frozen": ("ME-faceup", "void bet", ["void bet"]),
        "fifth-card-misplaced:player-stands": ("ME-stand", "correct", ["correct"]),
        "card-overdrawn:player-stands": ("ME-stand", "burn card", ["burn card"]),
        "card-overdrawn": ("ME-extra", "burn card", ["burn card"]),
        "extra-card-exposed": ("ME-extra", "burn card", ["burn card"]),
        "extra-card-unseen": ("ME-extra", "burn card", ["burn card"]),
        "extra-card-exposed:together": ("ME-stuck", "void hand", ["void hand"]),
        "extra-card-unseen:together": ("ME-stuck", "void hand", ["void hand"]),
        "initial-card-misplaced": ("ME-order", "discretion", CORRECT_OR_VOID),
        "fifth-card-misplaced": ("ME-order", "discretion", CORRECT_OR_VOID),
        "sixth-card-misplaced": ("ME-order", "discretion", CORRECT_OR_VOID),
        "card-dropped": ("ME-floor", "reuse card", ["reuse card"]),
        "card-dropped-opened": ("ME-floor", "reuse card", ["reuse card"]),
        "card-not-drawn": ("ME-other", "discretion", CORRECT_OR_VOID),
        "exposed-during-betting": ("ME-other", "discretion", CORRECT_OR_VOID),
        "dealt-during-betting": ("ME-other", "discretion", CORRECT_OR_VOID),
        "opened-out-of-turn": ("ME-other", "discretion", CORRECT_OR_VOID),
        "wrong-result-called": ("ME-other", "discretion", CORRECT_OR_VOID),
        "hand-incomplete": ("ME-other", "discretion", CORRECT_OR_VOID),
    },
    "studio": {
        "exposed-during-draw": ("ST-faceup", "discretion", ["stand", "void hand"]),
        "exposed-during-betting": ("ST-early", "burn card", ["burn card"]),
        "extra-card-exposed:betting": ("ST-early", "burn card", ["burn card"]),
        "fifth-card-misplaced:player-stands": ("ST-stand", "discretion", CORRECT_OR_VOID),
        "card-overdrawn:player-stands": ("ST-stand", "discretion", ["burn card", "void hand"]),
        "initial-card-misplaced": ("ST-order", "discretion", CORRECT_OR_VOID),
        "fifth-card-misplaced": ("ST-order", "discretion", CORRECT_OR_VOID),
        "sixth-card-misplaced": ("ST-order", "discretion", CORRECT_OR_VOID),
        "card-dropped": ("ST-view", "discretion", ["reuse card", "void hand"]),
        "card-dropped-opened": ("ST-view", "discretion", ["reuse card", "void hand"]),
        "card-scan-differs": ("ST-scan", "discretion", ["stand", "void hand"]),
    },
    "venezia": {
        "card-overdrawn:down": ("VE-unseen", "reuse card", ["reuse card"]),
        "extra-card-unseen": ("VE-unseen", "reuse card", ["reuse card"]),
        "held-card-not-dealt": ("VE-unseen", "discretion", ["stand", "void hand"]),
        "card-overdrawn:up": ("VE-seen", "reuse card", ["reuse card"]),
        "extra-card-exposed": ("VE-seen", "reuse card", ["reuse card"]),
        "fifth-card-misplaced:player-stands": ("VE-stand", "correct", ["correct"]),
        "initial-card-misplaced": ("VE-order", "correct", ["correct"]),
        "fifth-card-misplaced": ("VE-order", "correct", ["correct"]),
        "sixth-card-misplaced": ("VE-order", "correct", ["correct"]),
    },
}
KEYS = [key for code, kind in CATALOGUE.items() for key in (code, *(f"{code}:{case}" for case in kind.cases))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", [key for key in KEYS if key != "payout-wrong"])
def test_what_each_says_of_a_finding_and_nothing_where_it_is_silent(name: str, key: str) -> None:
    code, _, case = key.partition(":")
    found = get_ruleset(name).ruling_for(code, case)
    said = RULINGS[name].get(key) or RULINGS[name].get(code)
    if said is None:
        assert (found.rules, found.ruling, found.options) == ((), CATALOGUE[code].unruled, CATALOGUE[code].options)
    else:
        assert (found.rules, found.ruling, list(found.options)) == ((said[0],), said[1], said[2])
    assert found.measures == ()


@pytest.mark.parametrize("name", NAMES)
def test_its_own_rules_are_cited_in_both_languages_and_only_the_game_is_adopted(name: str) -> None:
    ruleset = get_ruleset(name)
    adopted = {rule_id for rule_id in ruleset.rules if (cited := ruleset.cite(rule_id)) and cited.adopted}
    assert {rule_id.split("-")[0] for rule_id in adopted} == {"DEAL", "DRAW", "PAY"}
    assert set(ruleset.rules) - adopted == {said[0] for said in RULINGS[name].values()}
    for rule_id in set(ruleset.rules) - adopted:
        english, thai = ruleset.cite(rule_id, "en"), ruleset.cite(rule_id, "th")
        assert english is not None
        assert thai is not None
        assert len(english.text) > 20
        assert english.text.isascii() or "–" in english.text
        assert any("\u0e00" <= letter <= "\u0e7f" for letter in thai.text)
        assert not english.adopted


def test_each_cites_its_own_document() -> None:
    parts = {
        "macau": ("55/2004", "83/2011"),
        "melilla": ("BOME", "358"),
        "studio": ("5.1–5.3",),
        "venezia": ("art. 1",),
    }
    for name, named in parts.items():
        rule_id = next(iter(RULINGS[name].values()))[0]
        citation = get_ruleset(name).cite(rule_id)
        assert citation is not None
        assert all(part in citation.document for part in named)


@pytest.mark.parametrize("name", NAMES)
def test_every_finding_is_raised_where_the_sources_differ(name: str) -> None:
    not_raised = {code for code in CATALOGUE if not get_ruleset(name).raises(code)}
    # nothing is held, limited or burned but where a rule says so
    said_only = {"held-card-not-dealt", "free-hand-over-limit", "burn-missing", "burn-count-wrong"}
    assert not_raised == said_only - set(RULINGS[name])


def test_how_they_deal() -> None:
    macau = get_ruleset("macau").procedure
    assert (macau.burn, macau.cut_card) == (Burn("decks", 0, "MO-burn"), CutCardRule(1, "MO-cut"))
    assert macau.free_hands == FreeHands(3, "MO-free")
    for name in ("melilla", "studio", "venezia"):
        procedure = get_ruleset(name).procedure
        assert (procedure.burn.by, procedure.cut_card, procedure.free_hands) == ("none", CutCardRule(), None)
    assert get_ruleset("melilla").ruling_for("exposed-during-draw").freezes_bets


@pytest.mark.parametrize("name", NAMES)
def test_bets_and_pays(name: str) -> None:
    assert {bet: str(offer.pays) for bet, offer in get_ruleset(name).bets.items()} == {
        "player": "1",
        "banker": "0.95",
        "tie": "8",
    }
    assert not get_ruleset(name).insurance

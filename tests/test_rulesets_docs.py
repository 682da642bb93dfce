"""`docs/rulesets.md` is true: its example is loaded and judged with, its table is what the rulesets say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from dealing.rules.findings import CATALOGUE
from dealing.rules.judge import HandAudit, ShoeAudit, TableFold
from dealing.rules.rulesets import Ruleset, get_ruleset, load_ruleset
from dealing.rules.rulesets.reading import SHIPPED
from dealing.rules.rulesets.table import comparison
from tests.rules_logs import TABLE, log

DOC = (Path(__file__).parent.parent / "docs" / "rulesets.md").read_text(encoding="utf-8")


@pytest.fixture
def harbour(tmp_path: Path) -> Ruleset:
    example = re.search(r"```toml\n(.*?)```", DOC, re.DOTALL)
    assert example is not None
    path = tmp_path / "harbour.toml"
    path.write_text(example[1], encoding="utf-8")
    return load_ruleset(path)


def judged(ruleset: Ruleset, text: str) -> list[HandAudit | ShoeAudit]:
    events, _ = log(f"shoe-open:standard {text}", prelude=False)
    fold = TableFold(TABLE, ruleset=ruleset)
    left = list(fold.steps(events))
    return [one.audit() for one in (*left, fold.hand, fold.shoe) if one is not None]


def test_the_example_judges(harbour: Ruleset) -> None:
    stands = "hand:1 open bet:1:tie=10 close P1:2h B1:2s P2:4d B2:Kc P3:9h out:P3 B3:4h call:tie:6-6 pay:1:tie=90 end"
    audits = judged(harbour, f"burned:3 {stands} hand:2 open close P1:9h B1:2s P2:Kd B2:4d x:- end hand:3 open close")
    first, second, shoe = audits[0], audits[1], audits[-1]
    assert isinstance(first, HandAudit)
    assert [(finding.code, finding.rules) for finding in first.findings] == [("card-overdrawn", ("HB-stand",))]
    assert first.correct.places["B3"] == ("4h",)
    assert str(first.settlement[0].owed) == "90.00"
    assert [(finding.code, finding.ruling) for finding in second.findings] == [("extra-card-unseen", "reuse card")]
    assert shoe.findings == ()


def test_the_example_cites_its_own_and_adopted_rules(harbour: Ruleset) -> None:
    own, adopted = harbour.cite("HB-extra"), harbour.cite("MO-faceup", "th")
    assert own is not None
    assert not own.adopted
    assert adopted is not None
    assert adopted.adopted
    assert adopted.ruleset == "บาคาร่าท่าเรือ"
    assert harbour.ruling_for("extra-card-exposed").measures == ("replace shoe",)
    assert harbour.procedure.burn.due(None, 8) == 3


def test_the_table_is_what_the_rulesets_say() -> None:
    table = re.search(r"<!-- check_ruleset --compare -->\n(.*?)<!-- end -->", DOC, re.DOTALL)
    assert table is not None
    names = sorted(path.stem for path in SHIPPED.glob("*.toml"))
    assert table[1] == comparison(map(get_ruleset, names)), "make it anew: manage.py check_ruleset --compare"


def test_every_key_and_every_case_is_explained() -> None:
    text = DOC.split("## A worked example")[1]
    for path in SHIPPED.glob("*.toml"):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        keys = {*data, *data.get("shoe", {}), *data.get("draw", {})}
        keys |= {key for bet in data["bets"].values() for key in bet}
        keys |= {key for rule in data["rules"].values() for key in rule}
        keys |= {key for rule in data["rules"].values() for said in rule.get("rulings", {}).values() for key in said}
        assert {key for key in keys if key not in text} == set()
    for code, kind in CATALOGUE.items():
        assert not kind.optional or f"| `{code}` |" in text
        assert all(f"`:{case}`" in text for case in kind.cases), code

"""`manage.py check_ruleset`: everything that is wrong, or what a ruleset says of every finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import load_command_class

from dealing.rules.findings import CATALOGUE
from dealing.rules.rulesets.reading import SHIPPED


def check(*arguments: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run the command: exit status, output, standard error."""
    status = 0
    try:
        load_command_class("dealing", "check_ruleset").run_from_argv(["manage.py", "check_ruleset", *arguments])
    except SystemExit as stop:
        status = int(stop.code or 0)
    out, err = capfd.readouterr()
    return status, out, err


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_ruleset_is_right_and_every_finding_printed(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, out, err = check(str(path), capfd=capfd)
    assert (status, err) == (0, "")
    printed = {line.split()[0].partition(":")[0] for line in out.splitlines() if line and not line.startswith(" ")}
    assert set(CATALOGUE) <= printed


def test_rulings_with_their_rule_and_its_source(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = check(str(SHIPPED / "melilla.toml"), capfd=capfd)
    line = next(line for line in out.splitlines() if line.startswith("extra-card-exposed:together"))
    assert "Void the hand" in line
    assert "ME-stuck" in line
    assert any(line.startswith("ME-stuck: Two cards") and "BOME" in line for line in out.splitlines())
    assert "burn-missing" in out
    assert "adopted by Punto y banca" in out
    _, thai, _ = check(str(SHIPPED / "melilla.toml"), "--lang", "th", capfd=capfd)
    assert "โมฆะตานี้" in next(line for line in thai.splitlines() if line.startswith("extra-card-exposed:together"))


def test_for_programs(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = check(str(SHIPPED / "macau.toml"), "--json", capfd=capfd)
    data: dict[str, Any] = json.loads(out)
    assert (status, data["ok"], data["name"]) == (0, True, "macau")
    stands = next(finding for finding in data["findings"] if finding["code"] == "exposed-during-draw")
    assert (stands["ruling"], stands["rules"], stands["mandatory"]) == ("stand", ["MO-faceup"], True)
    assert data["shoe"]["cut_card"] == {"more_hands": 1, "rule": "MO-cut"}
    assert "55/2004" in data["rules"]["MO-faceup"]["document"]


def test_all_that_is_wrong_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "house.toml"
    text = (SHIPPED / "venezia.toml").read_text(encoding="utf-8")
    text = text.replace('by = "none"', 'by = "nun"').replace("extra-card-unseen", "extra-card-unsen")
    path.write_text(text.replace("decks = 8", "deks = 8"), encoding="utf-8")
    status, out, err = check(str(path), capfd=capfd)
    assert (status, out) == (1, "")
    lines = err.splitlines()
    assert len(lines) == 7
    assert "house.toml: deks: is not a key here (is 'decks' meant?)" in lines
    assert any(line.startswith("house.toml: shoe.burn.by: 'nun'") for line in lines)
    assert lines[-1] == "6 things are wrong; the ruleset cannot be used"
    status, out, err = check(str(path), "--json", capfd=capfd)
    data = json.loads(out)
    assert (status, err, data["ok"]) == (1, "", False)
    assert {"file": "house.toml", "place": "decks", "message": "a whole number from 1 to 16 is wanted"} in data[
        "problems"
    ]


def test_what_is_wrong_is_said_once_and_behind_an_unknown_finding_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "house.toml"
    text = (SHIPPED / "venezia.toml").read_text(encoding="utf-8").replace('name = "venezia"', 'name = "house"')
    head, _, rest = text.partition("[source]")
    text = f'source = "a book"\n{head}[{rest.partition("[")[2]}'
    text += '\n[rules.X-1]\nsection = 1\nen = "x"\nth = "x"\nrulings.no-finding = {ruling = "burn it"}\n'
    path.write_text(text, encoding="utf-8")
    status, _, err = check(str(path), capfd=capfd)
    lines = err.splitlines()
    assert status == 1
    assert lines.count("house.toml: source: must be a table") == 1
    assert any("'no-finding' is not a finding" in line for line in lines)
    assert any(line.startswith("house.toml: rules.X-1.rulings.no-finding.ruling: 'burn it'") for line in lines)


def test_no_toml_and_no_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "house.toml"
    path.write_text("name = \n")
    status, _, err = check(str(path), capfd=capfd)
    assert status == 1
    assert "house.toml: is not TOML" in err
    assert "line 1" in err
    status, _, err = check(str(tmp_path / "none.toml"), capfd=capfd)
    assert status == 2
    assert "No such file" in err


def test_side_by_side(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    house = (SHIPPED / "venezia.toml").read_text(encoding="utf-8").replace('name = "venezia"', 'name = "lido"')
    (tmp_path / "lido.toml").write_text(house, encoding="utf-8")
    monkeypatch.setenv("BACCARAT_RULESETS", str(tmp_path))
    status, out, _ = check("--compare", capfd=capfd)
    assert status == 0
    assert out.startswith("| finding | commission | insurance | lido | macau |")

"""The given cases: a table log each, and what the audit of it must say (`tests/cases/`).

An expectation names only what matters to its case. In it, `codes` is the exact list of a hand's finding codes in order
and `codes_include` codes that must be among them; lists must match item by item, objects only in the keys named.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import load_command_class

CASES = sorted((Path(__file__).parent / "cases").glob("*.jsonl"))


def differences(want: Any, got: Any, where: str) -> Iterator[str]:
    """Where `got` does not say what `want` asks for."""
    if isinstance(want, dict) and isinstance(got, dict):
        codes = [finding["code"] for finding in got.get("findings", [])]
        for key, value in want.items():
            if key == "codes":
                if codes != value:
                    yield f"{where}: finding codes {codes}, not {value}"
            elif key == "codes_include":
                if absent := set(value) - set(codes):
                    yield f"{where}: no finding {sorted(absent)} among {codes}"
            elif key not in got:
                yield f"{where}.{key}: missing"
            else:
                yield from differences(value, got[key], f"{where}.{key}")
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield f"{where}: {len(got)} items, not {len(want)}: {got}"
        for position, (wanted, item) in enumerate(zip(want, got, strict=False)):
            yield from differences(wanted, item, f"{where}[{position}]")
    elif want != got or type(want) is not type(got):
        yield f"{where}: {got!r}, not {want!r}"


def audit(log: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]], str]:
    """Run `audit_log --json`: exit status, printed objects, standard error."""
    command = load_command_class("dealing", "audit_log")
    status = 0
    try:
        command.run_from_argv(["manage.py", "audit_log", "--json", str(log)])
    except SystemExit as stop:
        status = int(stop.code or 0)
    out, err = capfd.readouterr()
    return status, [json.loads(line) for line in out.splitlines()], err


def test_there_are_cases() -> None:
    assert len(CASES) >= 22


@pytest.mark.parametrize("log", CASES, ids=lambda log: log.stem)
def test_case(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    want = json.loads(log.with_name(f"{log.stem}.expected.json").read_text())
    status, objects, err = audit(log, capfd)
    found = {
        "hands": {f"{o['shoe']}/{o['hand']}": o for o in objects if o["hand"] is not None},
        "shoes": {str(o["shoe"]): o for o in objects if o["hand"] is None},
    }
    wrong = [
        *differences({key: want[key] for key in found}, found, "audit"),
        *(f"standard error names no line {line}" for line in want.get("errors", []) if f"line {line}:" not in err),
    ]
    assert not wrong, "\n".join([*wrong, err])
    assert status == want["exit"]


CARD = re.compile(r'"(10|[2-9TJQKA])[shdc]"', re.IGNORECASE)


@pytest.mark.parametrize("log", CASES, ids=lambda log: log.stem)
def test_case_with_its_cards_recorded_by_their_rank_only(
    log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same findings, results and money. (None of the cases has too many of one card.)"""
    bare = tmp_path / log.name
    text = log.read_text()
    bare.write_text(CARD.sub(lambda card: f'"{card[1]}"', text))
    assert CARD.search(text)
    status, objects, errors = audit(log, capfd)
    by_rank = json.loads(CARD.sub(lambda card: f'"{card[1]}"', json.dumps(objects)))
    assert audit(bare, capfd) == (status, by_rank, errors)


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ({"codes": ["a"]}, {"findings": [{"code": "a"}, {"code": "b"}]}),
        ({"codes_include": ["c"]}, {"findings": [{"code": "a"}]}),
        ({"result": {"player": 2}}, {"result": {"player": 3}}),
        ({"result": None}, {"result": False}),
        ({"settlement": []}, {"settlement": [{}]}),
        ({"next": None}, {}),
        ({"result": {"player": 2}}, {"result": None}),
    ],
)
def test_the_comparison_sees_a_difference(want: Any, got: Any) -> None:
    assert list(differences(want, got, "audit"))

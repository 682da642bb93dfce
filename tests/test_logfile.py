"""Reading log files: positions, broken lines, repeated keys, amendments, late decisions; the audit_log command."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from dealing.logfile import LogFile
from dealing.rules.hand import HandFold

BASE_DIR = Path(__file__).resolve().parent.parent

Line = dict[str, Any]


def at(n: int) -> str:
    return f"2026-11-28T20:{n // 60:02}:{n % 60:02}.000+07:00"


class Log:
    """Writes lines with growing times."""

    def __init__(self, table: str = "B07") -> None:
        self.table, self.lines = table, []  # type: ignore[var-annotated]  # lines and raw text

    def add(self, event: str, hand: int | None = 1, shoe: int = 1, **keys: Any) -> Log:
        line: Line = {"event": event, "at": at(len(self.lines)), "table": self.table, "shoe": shoe}
        if hand is not None:
            line["hand"] = hand
        self.lines.append(json.dumps({**line, **keys}))
        return self

    def raw(self, text: str) -> Log:
        self.lines.append(text)
        return self

    def shoe(self, ruleset: str = "commission") -> Log:
        self.add("shoe_opened", None, ruleset=ruleset)
        return self.add("burn_card", None, card="5h").add("cards_burned", None, count=5)

    def clean_hand(self, hand: int, close: bool = True) -> Log:
        self.add("betting_opened", hand).add("betting_closed", hand)
        for to, card in (("P1", "9h"), ("B1", "4s"), ("P2", "Kd"), ("B2", "3c")):
            self.add("card", hand, to=to, card=card)
        return self.add("hand_closed", hand) if close else self

    def bytes(self) -> bytes:
        return ("\n".join(self.lines) + "\n").encode()


def judged(log: Log | bytes) -> tuple[dict[str, Line], list[str]]:
    """Objects by shoe/hand, and the bad lines."""
    data = log if isinstance(log, bytes) else log.bytes()
    with LogFile(io.BytesIO(data)) as file:
        audits = [fold.audit().as_dict() for fold in file.folds()]
        return {f"{a['shoe']}/{a['hand']}": a for a in audits}, [str(bad) for bad in file.bad]


def codes(audit: Line) -> list[tuple[str, str]]:
    return [(f["code"], f["state"]) for f in audit["findings"]]


def test_hands_then_their_shoe_in_log_order() -> None:
    log = Log().shoe().clean_hand(1).clean_hand(2).add("shoe_closed", None, reason="finished")
    audits, bad = judged(log)
    assert list(audits) == ["1/1", "1/2", "1/None"]
    assert audits["1/None"]["hands"] == 2
    assert audits["1/None"]["cards_seen"] == 9
    assert not bad


def test_a_broken_line_makes_its_hand_unreadable_and_no_other() -> None:
    log = Log().shoe().clean_hand(1, close=False).raw('{"event": "card", "at": ').add("hand_closed").clean_hand(2)
    audits, bad = judged(log)
    assert audits["1/1"]["status"] == "unreadable"
    assert (audits["1/1"]["findings"], audits["1/1"]["result"], audits["1/1"]["settlement"]) == ([], None, [])
    assert audits["1/2"]["status"] == "closed"
    assert bad[0].startswith("line 10: event: this is not a JSON object")


def test_a_broken_line_that_still_names_its_hand_goes_there() -> None:
    log = Log().shoe().clean_hand(1).raw('{"table": "B07", "shoe": 1, "hand": 2, "event": "betting_op')
    audits, _ = judged(log)
    assert audits["1/1"]["status"] == "closed"
    assert audits["1/2"]["status"] == "unreadable"


def test_an_impossible_event_is_an_error_of_its_hand() -> None:
    log = Log().shoe().add("betting_opened").add("betting_closed")
    log.add("card", to="P1", card="9h").add("card", to="P1", card="4s").add("hand_closed").clean_hand(2)
    audits, bad = judged(log)
    assert bad == ["line 7: to: P1 already holds 9h"]
    assert audits["1/1"]["status"] == "unreadable"
    assert audits["1/2"]["findings"] == []


def test_unreadable_burn_lines_raise_no_burn_finding() -> None:
    log = Log().add("shoe_opened", None, ruleset="commission").add("burn_card", None, card="1x")
    log.add("cards_burned", None, count=5).clean_hand(1)
    audits, bad = judged(log)
    assert audits["1/None"]["findings"] == []
    assert bad == ["line 2: card: '1x' is not a card"]


def test_an_unknown_ruleset_leaves_the_whole_shoe_unjudged_with_one_error() -> None:
    audits, bad = judged(Log().shoe("house").clean_hand(1).clean_hand(2))
    assert len(bad) == 1
    assert bad[0].startswith("line 1: ruleset: 'house' is not a ruleset here")
    assert [audits[hand]["status"] for hand in ("1/1", "1/2")] == ["unreadable", "unreadable"]


def test_a_repeated_key_is_ignored_and_does_not_count_as_a_position() -> None:
    log = Log().shoe()
    log.add("betting_opened", key="a").raw(log.lines[-1]).add("betting_closed")
    log.add("card", to="B1", card="9h").add("hand_closed")
    audits, bad = judged(log)
    assert not bad
    assert audits["1/1"]["findings"][0]["seq"] == [6]


def test_a_key_used_again_for_something_else_is_refused() -> None:
    log = Log().shoe().add("betting_opened", key="a").add("betting_closed", key="a")
    audits, bad = judged(log)
    assert bad == ["line 5: key: 'a' is the key of another event, on line 4"]
    assert audits["1/1"]["status"] == "unreadable"


def test_time_may_stand_still_but_not_go_back() -> None:
    log = Log().shoe().add("betting_opened")
    earlier = json.loads(log.lines[-1]) | {"event": "betting_closed", "at": at(0)}
    audits, bad = judged(log.raw(json.dumps(earlier)))
    assert bad == ["line 5: at: is before the table's last event, which was at 2026-11-28T20:00:03.000+07:00"]
    assert audits["1/1"]["status"] == "unreadable"


def test_an_amendment_reaches_back_over_hands_and_shoes() -> None:
    log = Log().shoe().clean_hand(1)
    wrong = json.loads(log.lines[8])
    assert wrong["to"] == "B2"
    log.clean_hand(2).add("shoe_closed", None, reason="finished")
    entry = wrong | {"card": "5c"}
    log.add("amended", 1, seq=9, entry=entry, reason="typed the wrong rank")
    audits, bad = judged(log)
    assert not bad
    assert audits["1/1"]["dealt"]["B"] == ["4s", "5c"]
    assert audits["1/1"]["result"]["winner"] == "tie"


def test_an_amendment_puts_an_unreadable_line_right_but_the_error_stays() -> None:
    log = Log().shoe().clean_hand(1)
    good = log.lines[8]
    log.lines[8] = good.replace("3c", "3x")
    log.add("amended", 1, seq=9, entry=json.loads(good), reason="misprint")
    audits, bad = judged(log)
    assert audits["1/1"]["status"] == "closed"
    assert audits["1/1"]["dealt"]["B"] == ["4s", "3c"]
    assert bad == ["line 9: card: '3x' is not a card"]


@pytest.mark.parametrize(
    ("seq", "said"),
    [
        (99, "seq: there is no entry 99 at this table before this one"),
        (2, "seq: entry 2 belongs to another shoe or hand"),
    ],
)
def test_an_amendment_of_nothing_is_an_error(seq: int, said: str) -> None:
    log = Log().shoe().clean_hand(1).add("amended", 1, seq=seq, reason="no")
    _, bad = judged(log)
    assert bad == [f"line 11: {said}"]


def test_the_last_amendment_of_an_entry_counts_and_a_withdrawn_entry_is_gone() -> None:
    log = Log().shoe().clean_hand(1, close=False).add("called", winner="banker")
    entry = json.loads(log.lines[-1])
    log.add("amended", 1, seq=10, entry=entry | {"winner": "tie"}, reason="misheard")
    log.add("amended", 1, seq=10, entry=entry | {"winner": "player"}, reason="misheard again").add("hand_closed")
    audits, bad = judged(log)
    assert not bad
    assert audits["1/1"]["findings"] == []
    withdrawn = Log().shoe().clean_hand(1, close=False).add("called", winner="banker")
    audits, _ = judged(withdrawn.add("amended", 1, seq=10, reason="nothing was called").add("hand_closed"))
    assert audits["1/1"]["findings"] == []


def test_a_late_decision_comes_to_its_hand() -> None:
    log = Log().shoe().add("betting_opened").add("card", to="P1", card="9h").add("betting_closed").add("hand_closed")
    log.clean_hand(2).add("voided", 1, scope="hand", reason="card seen during betting").clean_hand(3)
    audits, bad = judged(log)
    assert not bad
    assert audits["1/1"]["status"] == "voided"
    assert codes(audits["1/1"])[0] == ("exposed-during-betting", "corrected")
    assert list(audits) == ["1/1", "1/2", "1/3", "1/None"]


def test_a_late_decision_on_a_hand_that_never_was_is_an_error() -> None:
    log = Log().shoe().clean_hand(1).clean_hand(3).add("voided", 2, scope="hand", reason="which?")
    _, bad = judged(log)
    assert bad == ["line 18: hand: hand 2 of shoe 1 was never dealt"]


def test_tables_interleaved_are_judged_apart() -> None:
    one, two = Log("A1").shoe().clean_hand(1), Log("A2").shoe().clean_hand(1)
    mixed = [line for pair in zip(one.lines, two.lines, strict=True) for line in pair]
    _, bad = judged(("\n".join(mixed) + "\n").encode())
    assert not bad
    with LogFile(io.BytesIO(("\n".join(mixed) + "\n").encode())) as file:
        assert [fold.context.table for fold in file.folds() if isinstance(fold, HandFold)] == ["A1", "A2"]


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n", b"\xff\xfe\x00", b"null\n[]\n7\n", b'{"event": "card"}\n', b"[" * 100_000 + b"\n", b"x" * 1_500_000],
)
def test_no_file_however_broken_breaks_the_reader(data: bytes) -> None:
    _, bad = judged(data)
    assert all(line.startswith("line ") for line in bad)


def test_a_rank_alone_is_read_and_what_is_no_card_is_still_named() -> None:
    cards = {"P1": "9", "B1": "4s", "P2": "10", "B2": "1"}
    log = Log().shoe().add("betting_opened", 1).add("betting_closed", 1)
    for place, card in cards.items():
        log.add("card", 1, to=place, card=card)
    _, bad = judged(log.bytes())
    assert bad == ["line 9: card: '1' is not a card"]
    log = Log().shoe().clean_hand(1)
    text = re.sub(rb'"card": "(.)[shdc]"', rb'"card": "\1"', log.bytes())
    audits, bad = judged(text)
    assert text != log.bytes()
    assert not bad
    assert (audits["1/1"]["status"], audits["1/1"]["findings"]) == ("closed", [])
    assert {len(card) for card in audits["1/1"]["dealt"]["P"]} == {1}


def test_windows_line_ends_and_a_byte_order_mark_are_read() -> None:
    data = b"\xef\xbb\xbf" + Log().shoe().clean_hand(1).bytes().replace(b"\n", b"\r\n")
    audits, bad = judged(data)
    assert not bad
    assert audits["1/1"]["status"] == "closed"


def test_exit_status_and_readable_report(tmp_path: Path) -> None:
    clean, wrong = tmp_path / "clean.jsonl", tmp_path / "wrong.jsonl"
    clean.write_bytes(Log().shoe().clean_hand(1).bytes())
    wrong.write_bytes(Log().shoe().clean_hand(1, close=False).add("called", winner="tie").bytes())
    out = io.StringIO()
    call_command("audit_log", str(clean), stdout=out)
    assert "1 hands in 1 shoes: 1 clean" in out.getvalue()
    out = io.StringIO()
    with pytest.raises(SystemExit) as exit_:
        call_command("audit_log", str(wrong), "--lang", "th", stdout=out)
    assert exit_.value.code == 1
    assert "wrong-result-called" in out.getvalue()
    assert "INC-fix" in out.getvalue()
    with pytest.raises(CommandError, match="No such file"):
        call_command("audit_log", str(tmp_path / "none.jsonl"))
    with pytest.raises(CommandError, match="not a ruleset"):
        call_command("audit_log", str(clean), "--ruleset", "none")


def test_ruleset_overrides_what_the_log_names(tmp_path: Path) -> None:
    log = (
        Log().shoe("house").add("betting_opened").add("bet", seat=1, bet="super_6", stake="10.00").add("betting_closed")
    )
    file = tmp_path / "log.jsonl"
    file.write_bytes(log.bytes())
    out = io.StringIO()
    with pytest.raises(SystemExit) as exit_:
        call_command("audit_log", str(file), "--json", "--ruleset", "standard", stdout=out)
    assert exit_.value.code == 1
    assert '"bet-not-offered"' in out.getvalue()


def test_standard_input_needs_no_database(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "manage.py", "audit_log", "-", "--json"],
        input=Log().shoe().clean_hand(1).bytes(),
        capture_output=True,
        cwd=BASE_DIR,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert [json.loads(line)["hand"] for line in done.stdout.splitlines()] == [1, None]

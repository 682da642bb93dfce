"""Undo is for one's own slip: nothing of somebody else's is offered, and no decision is taken back in passing."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from dealing.console.state import load
from incidents.models import Decision
from incidents.services import do_decide_incident
from tests.conftest import MakeTable, People
from tests.test_console import Console, text

pytestmark = pytest.mark.django_db

MISPLACED = ("2h", "3s", "Kd", "2c")


@pytest.fixture
def sam(people: People, table: MakeTable) -> Console:
    """A supervisor at a table whose shoe is ready."""
    sam = Console(Client(), table())
    sam.client.force_login(people("supervisor", "sam"))
    return sam.shoe()


@pytest.fixture
def rita(sam: Console, people: People) -> Console:
    return at(sam, people, "recorder", "rita")


def at(other: Console, people: People, group: str, name: str) -> Console:
    """Somebody else at the same table."""
    person = Console(Client(), other.table)
    person.client.force_login(people(group, name))
    return person


def offered(console: Console) -> str:
    """The entry that the page offers to undo; empty for none."""
    page = console.look()
    if 'id="undo-button"' not in page:
        return ""
    form = page[: page.index('id="undo-button"')].rpartition("<form")[2]
    found = re.search(r'name="entry" value="(\d*)"', form)
    assert found
    assert (" hidden" in form.partition(">")[0]) is not found[1].isdigit()
    return found[1]


def undo(console: Console, entry: int) -> Console:
    return console.press("amended", entry=entry, withdraw=1, undo=1, why="Typing mistake: undone at once")


def test_the_burn_that_a_supervisor_counted_is_not_offered_to_the_recorder(sam: Console, rita: Console) -> None:
    assert offered(sam) == "3"
    assert offered(rita) == ""
    assert undo(rita, 3).status == 403
    assert "Somebody else recorded this" in text(rita.page)
    assert len(rita.lines) == 3


def test_each_is_offered_their_own_until_somebody_else_goes_on(sam: Console, rita: Console) -> None:
    rita.hand("9h")
    assert (offered(rita), offered(sam)) == ("6", "")
    sam.press("card", card="4s")
    assert (offered(rita), offered(sam)) == ("", "7")
    assert undo(rita, 6).status == 403
    assert "Somebody else has recorded since" in text(rita.page)
    assert undo(sam, 7).status == 200
    assert offered(rita) == "", "what was taken back was somebody else's doing too"
    rita.press("card", card="5s")
    assert offered(rita) == "9"


def test_bets_of_somebody_else_are_in_nobodys_way(sam: Console, rita: Console) -> None:
    rita.press("betting_opened")
    sam.press("bet", seat=1, bet="player", stake="100")
    assert offered(rita) == "4"
    rita.press("betting_closed")
    assert undo(rita, 6).status == 200
    assert rita.last["seq"] == 6


def test_what_somebody_else_amended_is_not_undone(sam: Console, rita: Console) -> None:
    rita.hand("9h")
    sam.press("amended", entry=6, to="P1", card="9s", why="misread")
    assert offered(rita) == ""
    assert undo(rita, 6).status == 403


def decided(console: Console, people: People) -> tuple[Console, Decision]:
    """A fifth card on the wrong place, put right by a manager's decision."""
    console.hand(*MISPLACED).press("card", card="6h", to="B3")
    manager = at(console, people, "manager", "mali")
    incident = console.table.incidents.get()
    return manager, do_decide_incident(incident, people("manager", "mali"), ["correct"])


def test_a_decision_is_not_undone_in_passing_by_anybody(rita: Console, people: People) -> None:
    mali, decision = decided(rita, people)
    (moved,) = decision.events
    assert rita.last == {"event": "moved", "hand": 1, "from": "B3", "to": "P3"}
    before = len(rita.lines)
    for person in (rita, mali):
        assert offered(person) == ""
        assert undo(person, moved).status == 403
    assert "This carries out a manager’s decision" in text(mali.page)
    assert len(rita.lines) == before


def test_a_recorder_changes_no_decision_at_its_entry_either(sam: Console, rita: Console, people: People) -> None:
    _mali, decision = decided(rita, people)
    (moved,) = decision.events
    for fields in ({"withdraw": 1}, {"source": "B3", "to": "B2"}):
        assert rita.press("amended", entry=moved, why="typo", **fields).status == 403
        assert "This carries out a manager’s decision" in text(rita.page)
    assert rita.last["event"] == "moved"
    assert sam.press("amended", entry=moved, withdraw=1, why="decided otherwise").status == 200
    assert sam.last["seq"] == moved


def test_a_recorder_withdraws_nothing_that_only_a_supervisor_records(sam: Console, rita: Console) -> None:
    assert rita.press("amended", entry=1, withdraw=1, why="typo").status == 403
    assert "Only a supervisor or a manager may do this." in text(rita.page)
    sam.hand("9h").press("voided", scope="insurance", reason="no odds")
    assert rita.press("amended", entry=7, withdraw=1, why="typo").status == 403
    assert len(rita.lines) == 7


def test_the_same_undo_once_more_answers_well(sam: Console, rita: Console) -> None:
    rita.hand("9h")
    fields = {"entry": 6, "withdraw": 1, "undo": 1, "why": "typo", "key": "u"}
    assert rita.press("amended", **fields).status == 200
    sam.press("card", card="8s")
    assert rita.press("amended", **fields).status == 200
    assert [line["event"] for line in rita.lines[6:]] == ["amended", "card"]


def test_a_cut_card_between_hands_is_taken_back_by_whoever_recorded_it(rita: Console, people: People) -> None:
    rita.hand("9h", "4s", "Kd", "3c").press("hand_closed")
    rita.press("cut_card", during="between")
    seq = len(rita.lines)
    told = "A supervisor closes the shoe, or puts it right where the cut card did not come."
    assert told in text(rita.page)
    assert offered(rita) == str(seq)
    ron = at(rita, people, "recorder", "ron")
    assert offered(ron) == ""
    assert undo(ron, seq).status == 403
    assert undo(rita, seq).status == 200
    assert rita.last == {"event": "amended", "seq": seq, "reason": "Typing mistake: undone at once"}
    assert not load(rita.table).cut_card_out


def test_after_the_last_hand_a_supervisor_is_named(rita: Console) -> None:
    rita.hand("9h", "4s").press("cut_card", during="hand")
    rita.cards("Kd", "3c").press("hand_closed")
    assert "A supervisor closes the shoe, or puts it right where the cut card did not come." in text(rita.page)


def test_a_pay_on_a_closed_hand_is_taken_back_while_nothing_came_since(rita: Console) -> None:
    rita.press("betting_opened")
    rita.press("bet", seat=1, bet="player", stake="100")
    rita.press("betting_closed")
    rita.cards("9h", "4s", "Kd", "3c").press("hand_closed")
    closed = len(rita.lines)
    rita.press("paid", seat=1, bet="player", amount="10")
    assert offered(rita) == str(closed + 1)
    assert rita.press("amended", entry=closed, withdraw=1, why="typo").status == 403, "it is not the newest any more"
    assert undo(rita, closed + 1).status == 200
    rita.press("paid", seat=1, bet="player", amount="100")
    rita.press("betting_opened")
    assert rita.press("amended", entry=closed + 3, withdraw=1, why="typo").status == 403


def test_entries_are_said_to_be_opened_only_where_one_can_be(sam: Console, rita: Console) -> None:
    hint = "Something wrong in it? Open the entry."
    rita.hand("9h", "4s", "Kd", "3c")
    assert hint in rita.look()
    rita.press("hand_closed")
    assert hint not in rita.look()
    assert hint in sam.look()


@pytest.mark.parametrize(
    ("pressed", "read", "shown"),
    [
        ("Typing mistake: undone at once", "th", "พิมพ์ผิด ยกเลิกทันที"),
        ("พิมพ์ผิด ยกเลิกทันที", "en", "Typing mistake: undone at once"),
        ("the dealer said so", "th", "the dealer said so"),
    ],
)
def test_a_ready_made_reason_is_read_in_the_readers_language(
    sam: Console, people: People, pressed: str, read: str, shown: str
) -> None:
    sam.hand("2h", "3s", "Kd", "2c").press("card", card="6h", to="B3")
    sam.press("card", card="8s")
    sam.press("amended", entry=len(sam.lines), withdraw=1, undo=1, why=pressed)
    assert sam.last["reason"] == pressed, "the log keeps what was pressed"
    reader = at(sam, people, "auditor", "ada")
    reader.client.cookies["django_language"] = read
    incident = sam.table.incidents.get()
    pages = reader.look(), reader.client.get(f"/incidents/{incident.pk}/").content.decode()
    for page in pages:
        assert shown in text(page)
        assert (pressed in text(page)) is (pressed == shown)


def test_a_ready_made_reason_of_a_void_hand_too(sam: Console, people: People) -> None:
    sam.hand("2h").press("voided", scope="hand", reason="Card exposed during betting")
    reader = at(sam, people, "auditor", "ada")
    reader.client.cookies["django_language"] = "th"
    assert "Card exposed during betting" not in text(reader.look())

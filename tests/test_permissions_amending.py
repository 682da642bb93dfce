"""Four eyes on a hand that is over: what somebody recorded there, somebody else puts right. The log holds to it."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from dealing.devices.keys import DeviceUser
from dealing.devices.models import Device
from dealing.log import Conflict, record_many
from dealing.models import Table
from dealing.permissions import check_event
from tests.conftest import MakeTable, People
from tests.test_console import Console, text

pytestmark = pytest.mark.django_db

YOURS = "You recorded this yourself, and its hand is over: another supervisor or manager has to put it right."
P1 = 6  # the position of the first card of the first hand


def console(table: Table, people: People, group: str, name: str) -> Console:
    person = Console(Client(), table)
    person.client.force_login(people(group, name))
    return person


@pytest.fixture
def sam(people: People, table: MakeTable) -> Console:
    return console(table(), people, "supervisor", "sam").shoe()


def amend(person: Console, entry: int = P1, **fields: Any) -> int:
    if "withdraw" not in fields:
        fields = {"to": "P1", "card": "8h"} | fields
    return person.press("amended", entry=entry, why="typo", **fields).status


@pytest.mark.parametrize("group", ["supervisor", "manager"])
@pytest.mark.parametrize("ended", ["closed", "void"])
def test_who_recorded_an_entry_puts_it_right_only_while_the_hand_is_played(
    sam: Console, people: People, group: str, ended: str
) -> None:
    mia = console(sam.table, people, group, "mia")
    mia.hand("9h", "4s", "Kd", "3c")
    assert amend(mia, card="7h", call="") == 200
    if ended == "closed":
        mia.press("hand_closed").press("betting_opened")
    else:
        mia.press("voided", scope="hand", reason="seen")
    before = len(mia.lines)
    for fields in ({}, {"withdraw": 1}):
        assert amend(mia, **fields) == 403
        assert YOURS in text(mia.page)
    assert len(mia.lines) == before
    assert amend(sam) == 200
    assert amend(mia) == 403, "also after somebody else put it right: it is still mia's entry"


@pytest.mark.parametrize("later", [{"shoe": 1, "hand": 2}, {"shoe": 2, "hand": 1}])
def test_a_hand_that_was_left_open_is_over_too(sam: Console, people: People, later: dict[str, int]) -> None:
    sam.hand("9h", "4s")
    assert amend(sam) == 200
    events: list[dict[str, Any]] = [{"event": "betting_opened", **later}]
    if later["shoe"] == 2:
        events.insert(0, {"event": "shoe_opened", "shoe": 2, "ruleset": "commission"})
    record_many([{"table": sam.table.code, **event} for event in events], actor="sam")
    seen = len(sam.lines)
    change = {"event": "amended", "table": sam.table.code, "shoe": 1, "hand": 1, "seq": P1, "reason": "typo"}
    user = people("supervisor", "sam")
    with pytest.raises(PermissionDenied, match="You recorded this yourself"):
        record_many([change], actor="sam", check=lambda table, event: check_event(user, table, event))
    assert len(sam.lines) == seen
    other = console(sam.table, people, "supervisor", "mia")
    assert amend(other, shoe=1, hand=1) == 200


def test_a_void_hand_is_not_taken_back_by_whoever_voided_it(sam: Console, people: People) -> None:
    sam.hand("9h").press("voided", scope="hand", reason="seen")
    seq = len(sam.lines)
    assert amend(sam, seq, withdraw=1) == 403
    assert amend(sam, seq, withdraw=1, undo=1) == 403
    assert 'id="undo-button"' not in sam.look()
    mia = console(sam.table, people, "supervisor", "mia")
    assert amend(mia, seq, withdraw=1) == 200


def test_a_hand_closed_too_early_opens_again_for_who_closed_it_until_somebody_goes_on(
    sam: Console, people: People
) -> None:
    sam.hand("9h", "4s", "Kd", "3c").press("hand_closed")
    seq = len(sam.lines)
    assert amend(sam, withdraw=1) == 403, "the slip is the closing, not a card"
    mia = console(sam.table, people, "manager", "mia")
    assert amend(sam, seq, withdraw=1) == 200
    sam.press("hand_closed")
    mia.press("betting_opened")
    assert amend(sam, len(sam.lines) - 1, withdraw=1) == 403


def test_the_page_says_beforehand_who_has_to_do_it(sam: Console, people: People) -> None:
    sam.hand("9h", "4s", "Kd", "3c")
    assert YOURS not in text(sam.look(sheet="amend", entry=P1))
    sam.press("hand_closed")
    for sheet in ("amend", "which"):
        shown = sam.look(sheet=sheet, entry=P1).partition("<dialog")[2]
        assert YOURS in text(shown)
        assert 'name="withdraw"' not in shown
        assert "sheet=amend" not in shown
    sam.client.cookies["django_language"] = "th"
    with override("th"):
        shown = text(sam.look(sheet="amend", entry=P1))
    assert "ต้องให้ซูเปอร์ไวเซอร์หรือผู้จัดการคนอื่นเป็นผู้แก้บันทึก" in shown
    mia = console(sam.table, people, "supervisor", "mia")
    assert 'name="withdraw"' in mia.look(sheet="amend", entry=P1)
    rita = console(sam.table, people, "recorder", "rita")
    assert "only a supervisor or a manager may amend it" in text(rita.look(sheet="amend", entry=P1))


def test_a_pay_that_may_only_be_taken_back_shows_no_way_to_correct_it(sam: Console) -> None:
    sam.press("betting_opened")
    sam.press("bet", seat=1, bet="player", stake="100").press("betting_closed")
    sam.cards("9h", "4s", "Kd", "3c").press("hand_closed").press("paid", seat=1, bet="player", amount="10")
    seq = len(sam.lines)
    shown = sam.look(sheet="amend", entry=seq).partition("<dialog")[2]
    assert "You may take it back while it is the newest entry." in text(shown)
    assert 'name="correct"' not in shown
    assert amend(sam, seq, seat=1, bet="player", amount="100") == 403
    assert amend(sam, seq, withdraw=1) == 200


# At the door of the log: whatever was looked at before, the locked log decides.


def line(table: Table, event: str, **keys: Any) -> dict[str, Any]:
    return {"event": event, "table": table.code, "shoe": 1, **keys}


def checked(user: Any, *lines: dict[str, Any]) -> None:
    record_many(lines, actor=user.get_username(), check=lambda table, event: check_event(user, table, event))


def device(table: Table, code: str, supervises: bool) -> DeviceUser:
    made = Device.objects.create(
        venue=table.venue, code=code, supervises=supervises, created_at=timezone.now(), created_by="mia"
    )
    made.tables.add(table)
    return DeviceUser(made)


def test_a_batch_that_closes_the_hand_first_gains_nothing(sam: Console, people: People) -> None:
    sam.hand("9h", "4s", "Kd", "3c")
    before = len(sam.lines)
    user = people("supervisor", "sam")
    away = line(sam.table, "amended", hand=1, seq=P1, reason="typo")
    closing = line(sam.table, "hand_closed", hand=1)
    going_on = line(sam.table, "betting_opened", hand=2)
    with pytest.raises(PermissionDenied, match="another supervisor or manager"):
        checked(user, closing, going_on, away)
    assert len(sam.lines) == before


def test_a_device_amends_only_what_is_trusted_to_it_and_not_its_own_in_a_closed_hand(
    sam: Console, people: People
) -> None:
    shoe, camera = device(sam.table, "SHOE-1", supervises=False), device(sam.table, "CAMERA-1", supervises=True)
    sam.press("betting_opened").press("betting_closed")
    for user, place, card in ((shoe, "P1", "9h"), (camera, "B1", "4s"), (shoe, "P2", "Kd"), (shoe, "B2", "3c")):
        checked(user, line(sam.table, "card", hand=1, to=place, card=card))

    def put_right(user: Any, seq: int, to: str, card: str) -> None:
        entry = line(sam.table, "card", hand=1, to=to, card=card, at="2026-01-01T00:00:00.000+07:00")
        checked(user, line(sam.table, "amended", hand=1, seq=seq, entry=entry, reason="misread"))

    with pytest.raises(PermissionDenied, match="Only a device that supervises"):
        put_right(shoe, 6, "P1", "9s")
    put_right(camera, 6, "P1", "9s")
    put_right(camera, 7, "B1", "4d")
    checked(shoe, line(sam.table, "hand_closed", hand=1))
    put_right(camera, 6, "P1", "9h")
    with pytest.raises(PermissionDenied, match="You recorded this yourself"):
        put_right(camera, 7, "B1", "4s")
    put_right(people("manager", "mia"), 7, "B1", "4s")


def test_an_entry_is_not_turned_into_one_that_needs_more(sam: Console, people: People) -> None:
    sam.hand("9h")
    at = "2026-01-01T00:00:00.000+07:00"
    void = line(sam.table, "voided", hand=1, scope="hand", reason="seen", at=at)
    turned = line(sam.table, "amended", hand=1, seq=P1, entry=void, reason="typo")
    with pytest.raises(PermissionDenied, match="Only a supervisor or a manager"):
        checked(people("recorder", "rita"), turned)
    checked(people("supervisor", "mia"), turned)


def test_what_is_in_the_log_already_is_answered_again_and_not_judged_anew(sam: Console, people: People) -> None:
    user = people("supervisor", "sam")
    sam.hand("9h", "4s", "Kd", "3c")
    away = line(sam.table, "amended", hand=1, seq=9, reason="typo", key="k")
    checked(user, away)
    sam.press("card", card="3c").press("hand_closed").press("betting_opened")
    before = len(sam.lines)
    checked(user, away)
    assert len(sam.lines) == before


def test_who_was_overtaken_hears_that_first(sam: Console, people: People) -> None:
    user = people("recorder", "rita")
    with pytest.raises(Conflict):
        record_many(
            [line(sam.table, "shoe_closed", reason="finished")],
            actor="rita",
            expected_seq=1,
            check=lambda table, event: check_event(user, table, event),
        )

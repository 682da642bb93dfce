"""From the log to the incident, from the incident to the decision, and from the decision back into the log."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models.deletion import ProtectedError

from dealing import triggers
from dealing.log import record
from dealing.models import Shoe, TableEvent
from dealing.rules.findings import CATALOGUE
from dealing.rules.judge import EventRefused
from dealing.signals import event_recorded
from incidents import rulings
from incidents.models import Decision, Incident, IncidentFinding
from incidents.selectors import load_case
from incidents.services import do_decide_incident
from tests.conftest import MakeTable, People
from tests.incident_logs import RECORDER, House

pytestmark = pytest.mark.django_db

NATURAL = "open close P1:9h B1:4s P2:Kd B2:3c"  # Player 9, Banker 7
BOTH_DRAW = "open close P1:2h B1:4s P2:3d B2:Kc"  # Player 5, Banker 4: the fifth card is P3
AHEAD = "open close P1:2h B1:Ks P2:4d B2:5c"  # Player 6, Banker 5: insurance on Player at 3, then B3
SIXTY = " ".join(f"hand:{n} {NATURAL} end" for n in range(1, 61))
EIGHT = " ".join(f"hand:{n} open close P1:9h B1:4s P2:Kd B2:3c end" for n in range(1, 9))


@pytest.fixture
def house(table: MakeTable, people: People) -> Any:
    """`house("insurance")`: table B07 of that ruleset."""

    def make(ruleset: str = "commission") -> House:
        return House(table("B07", ruleset=ruleset), people)

    return make


# --- every finding, all the way ----------------------------------------------------------------------------------

#: code, ruleset, log, hand (None: the shoe), what is decided, the lines it appends, the finding's state after it.
WALKS: list[tuple[str, str, str, int | None, list[str], list[str], str]] = [
    (
        "initial-card-misplaced",
        "commission",
        "open close P1:9h P2:4s B1:Kd B2:3c end",
        1,
        ["correct"],
        ["moved P2 B1", "moved B1 P2"],
        "corrected",
    ),
    ("fifth-card-misplaced", "insurance", f"{BOTH_DRAW} B3:6h", 1, ["correct"], ["moved B3 P3"], "corrected"),
    (
        "sixth-card-misplaced",
        "standard",
        f"{BOTH_DRAW} B3:6h P3:5s call:banker end",
        1,
        ["correct"],
        ["moved B3 P3", "moved P3 B3"],
        "corrected",
    ),
    ("card-overdrawn", "commission", f"{NATURAL} P3:6h end", 1, ["burn card"], ["discarded P3"], "corrected"),
    ("card-not-drawn", "commission", f"{BOTH_DRAW} end", 1, ["void hand"], ["voided hand"], "corrected"),
    ("extra-card-exposed", "commission", f"{NATURAL} x:6h end", 1, ["burn card"], ["discarded"], "corrected"),
    (
        "exposed-during-betting",
        "commission",
        "open bet:1:player=100 P1:9h close B1:4s P2:Kd B2:3c pay:1:player=100 end",
        1,
        ["void hand"],
        ["voided hand", "paid 1 player -100.00"],
        "corrected",
    ),
    ("dealt-during-betting", "commission", "open P1:9h- close", 1, ["stand"], [], "open"),
    ("exposed-during-draw", "commission", f"{BOTH_DRAW} seen:drawing:6h P3:6h", 1, ["stand"], [], "open"),
    ("exposed-at-start", "commission", "open seen:start:6h close P1:9h", 1, ["stand"], [], "open"),
    (
        "opened-out-of-turn",
        "commission",
        "open close P1:2h B1:4s P2:3d B2:- P3:6h",
        1,
        ["stand"],
        [],
        "open",
    ),
    (
        "insurance-not-due",
        "insurance",
        "open close P1:2h B1:Ks P2:3d B2:4c B3:9s ins:2 bet:2:insurance_banker=50 /ins:2",
        1,
        ["void insurance", "correct"],
        ["moved B3 P3", "voided insurance"],
        "corrected",
    ),
    ("insurance-dealt-early", "insurance", f"{AHEAD} ins:1 odds:player=3 B3:4d", 1, ["stand"], [], "open"),
    ("insurance-odds-missing", "insurance", f"{AHEAD} ins:1 /ins:1", 1, ["stand"], [], "open"),
    ("insurance-odds-misplaced", "insurance", f"{AHEAD} ins:1 odds:player@banker=3", 1, ["stand"], [], "open"),
    ("insurance-odds-wrong", "insurance", f"{AHEAD} ins:1 odds:player=4", 1, ["stand"], [], "open"),
    (
        "insurance-late-bet",
        "insurance",
        f"{AHEAD} bet:1:insurance_player=50",
        1,
        ["void insurance"],
        ["voided insurance"],
        "corrected",
    ),
    ("wrong-result-called", "commission", f"{NATURAL} call:banker", 1, ["correct"], ["called player"], "corrected"),
    ("bet-after-close", "commission", "open close bet:1:tie=10", 1, ["void bet"], [], "open"),
    ("opposing-bets", "insurance", "open bet:1:player=10 bet:1:banker=10", 1, ["void bet"], [], "open"),
    ("side-bet-after-limit", "commission", f"{SIXTY} hand:61 open bet:1:super_6=10", 61, ["void bet"], [], "open"),
    ("bet-not-offered", "standard", "open bet:1:big=10", 1, ["void bet"], [], "open"),
    (
        "payout-wrong",
        "commission",
        f"open bet:1:player=100 close {NATURAL[11:]} pay:1:player=50 end",
        1,
        ["correct"],
        ["paid 1 player 50.00"],
        "corrected",
    ),
    ("card-dropped", "commission", "open close P1:9h drop:drawing", 1, ["reuse card"], [], "open"),
    (
        "card-dropped-opened",
        "commission",
        f"open bet:1:tie=10 close {NATURAL[11:]} drop!opening:9h",
        1,
        ["void hand", "replace shoe"],
        ["voided hand", "shoe_closed replaced"],
        "corrected",
    ),
    (
        "hand-after-last",
        "commission",
        f"{NATURAL} end |cut hand:2 {NATURAL} end",
        2,
        ["void hand"],
        ["voided hand"],
        "corrected",
    ),
    (
        "card-impossible",
        "commission",
        f"{EIGHT} hand:9 open close P1:9h",
        9,
        ["void hand"],
        ["voided hand"],
        "corrected",
    ),
    ("hand-incomplete", "commission", f"{NATURAL} hand:2 open", 1, ["correct"], [], "open"),
    ("burn-missing", "commission", f"shoe-open:commission hand:1 {NATURAL} end", None, ["stand"], [], "open"),
    (
        "burn-count-wrong",
        "commission",
        f"shoe-open:commission burn:5h burned:4 hand:1 {NATURAL} end",
        None,
        ["replace shoe"],
        ["shoe_closed replaced"],
        "open",
    ),
    (
        "extra-card-unseen",
        "melilla",
        f"shoe-open:melilla hand:1 {NATURAL} x:-",
        1,
        ["burn card"],
        ["discarded"],
        "corrected",
    ),
    (
        "held-card-not-dealt",
        "venezia",
        f"shoe-open:venezia hand:1 {NATURAL} x:7c end hand:2 open close P1:6c",
        2,
        ["void hand"],
        ["voided hand"],
        "corrected",
    ),
    (
        "card-scan-differs",
        "studio",
        "shoe-open:studio hand:1 open close P1:9h- up:P1:8h",
        1,
        ["void hand"],
        ["voided hand"],
        "corrected",
    ),
    (
        "free-hand-over-limit",
        "macau",
        f"shoe-open:macau burned:8 hand:1 {NATURAL} end hand:2 P1:9h B1:4s P2:Kd B2:3c end hand:3 open",
        None,
        ["stand"],
        [],
        "open",
    ),
]


def test_every_finding_is_walked() -> None:
    assert {walk[0] for walk in WALKS} == set(CATALOGUE)


@pytest.mark.parametrize(
    ("code", "ruleset", "text", "hand", "actions", "lines", "state"), WALKS, ids=[walk[0] for walk in WALKS]
)
def test_from_the_log_to_the_decision_and_back(
    house: Any, code: str, ruleset: str, text: str, hand: int | None, actions: list[str], lines: list[str], state: str
) -> None:
    here: House = house(ruleset)
    here.record(text, prelude="shoe-open" not in text, together=hand in (9, 61))
    incident = here.incident(hand)
    finding = incident.findings.filter(code=code)[0]
    closes_itself = finding.mandatory and finding.ruling == "stand"
    assert incident.status == ("by-rule" if closes_itself else "open")
    assert finding.closed_by_rule == (finding.rules[0] if closes_itself else "")

    case = load_case(incident)
    assert set(finding.options) <= set(case.recommendation.offered)
    if finding.mandatory:
        assert finding.ruling in case.recommendation.mandatory
        assert not case.departures(actions), "these are what the rules require"

    decision = here.decide(*actions, hand=hand)
    assert here.lines(decision) == lines
    assert decision.actions == list(rulings.in_order(actions))
    assert code in {ruling["code"] for ruling in decision.rulings}

    incident = here.incident(hand)
    assert incident.status == "decided"
    assert {f.state for f in incident.findings.filter(code=code)} == {state}
    if hand is not None:
        audit = here.audit(hand)
        assert audit.status == "voided" if "void hand" in actions else audit.status != "voided"
        # The judged result follows: nothing that was decided is still to be paid, moved or burned.
        assert load_case(incident).look_ahead(actions).events == ()
    if {"replace shoe", "cancel shoe"} & set(actions):
        assert Shoe.objects.get(table=here.table, number=1).status == "closed"


# --- opening, joining, closing -----------------------------------------------------------------------------------


def test_a_clean_hand_opens_nothing(house: Any) -> None:
    house().record(f"{NATURAL} call:player:9-7 end hand:2 {NATURAL} end")
    assert not Incident.objects.exists()


def test_findings_of_one_hand_join_one_incident(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    first = here.incident()
    assert (first.opened_seq, first.ruleset, first.status, first.version) == (10, "commission", "open", 1)
    assert first.opened_at == TableEvent.objects.get(seq=10).at
    here.record("P3:5s call:tie end")
    joined = here.incident()
    assert joined.pk == first.pk
    assert [finding.code for finding in joined.findings.all()] == [
        "fifth-card-misplaced",
        "sixth-card-misplaced",
        "wrong-result-called",
    ]
    assert (joined.opened_seq, joined.version) == (10, 3)


def test_the_findings_are_those_of_the_judge(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s call:tie end")
    audit = here.audit()
    assert [row.as_dict() for row in here.incident().findings.all()] == audit.as_dict()["findings"]


def test_hands_and_the_shoe_have_their_own_incidents(house: Any) -> None:
    here = house()
    here.record(f"shoe-open:commission burn:5h burned:4 hand:1 {BOTH_DRAW} B3:6h hand:2 {NATURAL} x:5c", prelude=False)
    assert {(i.shoe_number, i.hand_number) for i in Incident.objects.all()} == {(1, None), (1, 1), (1, 2)}
    assert [f.code for f in here.incident(1).findings.all()] == ["fifth-card-misplaced", "hand-incomplete"]


def test_a_finding_that_stands_is_recorded_beside_another(house: Any) -> None:
    here = house("insurance")
    here.record(f"{AHEAD} ins:1 odds:player=3 P3:4d")
    incident = here.incident()
    assert incident.status == "open"
    assert {f.code: f.closed_by_rule for f in incident.findings.all()} == {
        "insurance-dealt-early": "INS-early",
        "fifth-card-misplaced": "",
    }


def test_an_incident_closed_by_rule_opens_when_something_worse_joins(house: Any) -> None:
    here = house("insurance")
    here.record(f"{AHEAD} ins:1 odds:player=4")
    assert here.incident().status == "by-rule"
    here.record("/ins:1 P3:4d")
    assert here.incident().status == "open"


def test_a_mistake_that_the_table_puts_right_stays_to_be_decided(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h B3>P3")
    incident = here.incident()
    assert (incident.status, incident.findings.get().state) == ("open", "corrected")
    decision = here.decide("correct")
    assert (decision.events, decision.departs) == ([], False)


def test_a_new_finding_opens_a_decided_incident_again(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    here.decide("correct")
    assert here.incident().status == "decided"
    here.said.append("B3>P3")  # what the decision appended
    here.record("B3:5s call:player")
    assert here.incident().status == "open"


def test_an_amendment_that_leaves_no_finding_withdraws_the_incident(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    here.record("fix:10=P3:6h")
    incident = here.incident()
    assert (incident.status, incident.findings.count()) == ("withdrawn", 0)
    with pytest.raises(ValidationError, match="amended"):
        here.decide("correct")
    # And when the amendment was itself a mistake, it is back.
    here.record("fix:10=B3:6h")
    assert here.incident().status == "open"


def test_an_amendment_that_takes_the_whole_hand_away_withdraws_the_incident(house: Any) -> None:
    here = house()
    here.record(f"{NATURAL} end hand:2 x:6h")
    assert here.incident(2).status == "open"
    here.record("fix:11")
    assert here.incident(2).status == "withdrawn"
    case = load_case(here.incident(2))
    assert (case.hand, case.fold) == (None, None)


def test_an_amendment_elsewhere_leaves_an_incident_alone(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end hand:2 {NATURAL} x:6h end")
    before = {i.hand_number: i.version for i in Incident.objects.all()}
    here.record("fix:20")
    assert {i.hand_number: i.version for i in Incident.objects.all()} == before


def test_rebuilding_the_projections_leaves_incidents_alone(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    here.decide("correct")
    before = list(Incident.objects.values())
    call_command("rebuild")
    assert list(Incident.objects.values()) == before
    assert load_case(here.incident()).fold is not None


# --- together or not at all --------------------------------------------------------------------------------------


def test_the_event_and_its_incident_are_one_transaction(house: Any) -> None:
    here = house()
    here.record(BOTH_DRAW)
    seq = TableEvent.objects.count()

    def fail(**_signal: Any) -> None:
        assert Incident.objects.count() == 1, "the incident was there, inside the transaction"
        raise RuntimeError("the disk is full")

    event_recorded.connect(fail)
    try:
        with pytest.raises(RuntimeError):
            here.record("B3:6h")
    finally:
        event_recorded.disconnect(fail)
    assert (TableEvent.objects.count(), Incident.objects.count()) == (seq, 0)
    here.said.pop()
    here.record("B3:6h")
    assert Incident.objects.count() == 1


def test_a_listener_that_fails_takes_the_event_with_it(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = house()
    here.record(BOTH_DRAW)

    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("no incident today")

    monkeypatch.setattr(IncidentFinding.objects, "bulk_create", fail)
    with pytest.raises(RuntimeError):
        here.record("B3:6h")
    assert not TableEvent.objects.filter(seq=10).exists()
    assert not Incident.objects.exists()


def test_a_decision_and_its_events_are_one_transaction(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    seq = TableEvent.objects.count()

    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("no decision today")

    monkeypatch.setattr(Decision.objects, "create", fail)
    with pytest.raises(RuntimeError):
        here.decide("correct")
    assert (TableEvent.objects.count(), Decision.objects.count()) == (seq, 0)
    assert here.incident().findings.get().state == "open"


# --- deciding ----------------------------------------------------------------------------------------------------


def refused(decide: Any) -> dict[str, list[str]]:
    """The messages by field; nothing may have been changed."""
    before = (TableEvent.objects.count(), Decision.objects.count(), list(Incident.objects.values()))
    with pytest.raises(ValidationError) as caught:
        decide()
    assert before == (TableEvent.objects.count(), Decision.objects.count(), list(Incident.objects.values()))
    return caught.value.message_dict


def codes(decide: Any) -> set[str | None]:
    with pytest.raises(ValidationError) as caught:
        decide()
    return {error.code for errors in caught.value.error_dict.values() for error in errors}


def test_what_a_decision_keeps(house: Any) -> None:
    here = house("insurance")
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    manager = here.manager()
    manager.first_name, manager.last_name = "Nok", "Srisai"
    manager.save()
    decision = do_decide_incident(here.incident(), manager, ["correct"], "  the camera agrees  ")
    assert (decision.number, decision.supersedes, decision.reason) == (1, None, "the camera agrees")
    assert (decision.decided_by, decision.decided_by_name) == (manager, "Nok Srisai")
    assert decision.events == [13, 14]
    first = decision.rulings[0]
    assert (first["code"], first["state"], first["ruling"]) == ("fifth-card-misplaced", "open", "correct")
    (citation,) = first["citations"]
    assert citation["rule"] == "INC-order"
    assert set(citation["text"]) == {"en", "th"}
    assert citation["adopted"] is False
    rows = TableEvent.objects.filter(seq__in=decision.events)
    assert {(row.actor, row.by) for row in rows} == {("nok", "NOK")}


def test_an_adopted_rule_is_kept_with_the_document_it_comes_from(house: Any) -> None:
    here = house("standard")
    here.record(f"{BOTH_DRAW} B3:6h")
    (citation,) = here.decide("correct").rulings[0]["citations"]
    assert citation["adopted"] is True
    assert citation["document"]["en"].startswith("Insurance baccarat")
    assert citation["ruleset"]["en"].startswith("Standard")


def test_the_result_follows_the_decision(house: Any) -> None:
    here = house()
    here.record("open bet:1:player=100 bet:2:banker=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end")
    decision = here.decide("correct")
    assert here.lines(decision) == ["moved B3 P3", "moved P3 B3", "paid 2 banker 95.00"]
    audit = here.audit()
    assert audit.dealt.as_dict() == {"P": ["2h", "3d", "6h"], "B": ["4s", "Kc", "5s"], "extra": []}
    assert audit.result is not None
    assert audit.result.winner == "banker"
    assert not [f for f in audit.findings if f.code == "payout-wrong" and f.state == "open"]


def test_a_late_decision_on_a_hand_long_left(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end hand:2 {NATURAL} end hand:3 open")
    decision = here.decide("correct")
    assert here.lines(decision) == ["moved B3 P3", "moved P3 B3"]
    assert {f.state for f in here.audit(1).findings} == {"corrected"}
    assert here.audit(3).status == "open"


def test_payments_taken_back_by_the_decision_need_no_decision_of_their_own(house: Any) -> None:
    here = house()
    here.record(f"open bet:1:player=100 close {NATURAL[11:]} x:6h pay:1:player=100 end")
    decision = here.decide("void hand", reason="two cards lay on each other")
    assert here.lines(decision) == ["voided hand", "paid 1 player -100.00"]
    incident = here.incident()
    assert {f.code for f in incident.findings.all()} == {"extra-card-exposed", "payout-wrong"}
    assert incident.status == "decided"


def test_only_a_manager_decides(house: Any, people: People) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    for group in ("recorder", "supervisor", "auditor", None):
        with pytest.raises(PermissionDenied):
            do_decide_incident(here.incident(), people(group, f"a-{group}"), ["correct"])
    assert not Decision.objects.exists()


def test_whoever_recorded_the_hand_does_not_decide_it(house: Any) -> None:
    here = house()
    here.record("open", actor="dao")
    here.record("close P1:2h B1:4s P2:3d B2:Kc B3:6h")
    assert "another manager" in refused(lambda: here.decide("correct", by="dao"))["__all__"][0]
    here.decide("correct", by="nok")


def test_whoever_recorded_another_hand_may(house: Any) -> None:
    here = house()
    here.record("open close P1:9h", actor="dao")
    here.record(f"hand:2 {BOTH_DRAW} B3:6h")
    here.decide("correct", hand=2, by="dao")


def test_a_line_that_a_device_sent_for_somebody_counts_as_theirs(house: Any) -> None:
    here = house()
    here.record(BOTH_DRAW)
    line = {"event": "card", "table": "B07", "shoe": 1, "hand": 1, "to": "B3", "card": "6h", "by": "DAO"}
    record(line, actor="console-7")
    assert codes(lambda: here.decide("correct", by="dao")) == {"four-eyes"}


def test_an_amended_line_still_counts_as_recorded_by_who_wrote_it(house: Any) -> None:
    here = house()
    here.record("open close P1:2h B1:4s P2:3d", actor=RECORDER)
    here.record("B2:Qc", actor="dao")
    here.record("fix:9=B2:Kc B3:6h", actor=RECORDER)
    assert codes(lambda: here.decide("correct", by="dao")) == {"four-eyes"}


def test_whoever_decided_may_decide_again(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    here.decide("correct", by="nok")
    second = here.decide("void hand", reason="seen again on the camera", by="nok")
    assert second.number == 2


def test_departing_needs_a_reason(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    for reason in ("", "   \n"):
        assert "Correct" in refused(lambda reason=reason: here.decide("stand", reason=reason))["reason"][0]
    decision = here.decide("stand", reason="the cards were taken away before anybody saw it")
    assert (decision.departs, decision.events) == (True, [])
    assert here.incident().status == "decided"


def test_following_needs_none(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    assert here.decide("correct").departs is False


def test_the_database_refuses_a_departure_without_a_reason(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    fields: dict[str, Any] = {
        "incident": here.incident(),
        "number": 1,
        "actions": ["stand"],
        "departs": True,
        "rulings": [],
        "decided_by": here.manager(),
        "decided_by_name": "nok",
        "decided_at": here.incident().opened_at,
        "events": [],
    }
    with pytest.raises(IntegrityError), transaction.atomic():
        Decision.objects.create(**fields)
    Decision.objects.create(**fields, reason="because")


@pytest.mark.parametrize(
    ("actions", "field", "code"),
    [
        ([], "actions", "required"),
        (["fly"], "actions", "required"),
        (["correct", "fly"], "actions", "unknown"),
        (["correct", "stand"], "actions", "contradiction"),
        (["void hand", "correct"], "actions", "contradiction"),
        (["correct", "void insurance"], "actions", "impossible"),
        (["correct", "cancel shoe"], "actions", "impossible"),
    ],
)
def test_choices_that_cannot_be_decided(house: Any, actions: list[str], field: str, code: str) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end hand:2 open")
    assert set(refused(lambda: here.decide(*actions, reason="because"))) == {field}
    assert code in codes(lambda: here.decide(*actions, reason="because"))


def test_a_reason_that_the_log_cannot_hold(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    assert "500" in refused(lambda: here.decide("void hand", reason="x" * 501))["reason"][0]
    here.decide("void hand", reason="x" * 500)


@pytest.mark.parametrize("action", ["stand", "void hand"])
def test_a_reason_that_no_database_can_hold(house: Any, action: str) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    assert "cannot be stored" in refused(lambda: here.decide(action, reason="a\x00b"))["reason"][0]


def test_what_only_the_log_refuses_is_said_and_changes_nothing(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise EventRefused("from", "empty-place", place="B3")

    monkeypatch.setattr("incidents.services.record_many", refuse)
    message = refused(lambda: here.decide("correct"))
    assert "log does not take this" in message["__all__"][0]


def test_a_page_out_of_date_decides_nothing(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    seen = load_case(here.incident()).seen
    here.record("P3:5s")

    def decide() -> None:
        do_decide_incident(here.incident(), here.manager(), ["correct"], seen=seen)

    assert "Read it again" in refused(decide)["__all__"][0]
    do_decide_incident(here.incident(), here.manager(), ["correct"], seen=load_case(here.incident()).seen)


def test_of_two_managers_at_once_the_second_is_told(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    incident = here.incident()
    seen = load_case(incident).seen
    do_decide_incident(incident, here.manager("nok"), ["correct"], seen=seen)
    assert codes(lambda: do_decide_incident(incident, here.manager("dao"), ["correct"], seen=seen)) == {"stale"}
    assert Decision.objects.count() == 1


# --- superseding -------------------------------------------------------------------------------------------------


def test_a_new_decision_supersedes_the_one_before(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    first = here.decide("correct", by="nok")
    kept = Decision.objects.filter(pk=first.pk).values().get()
    second = here.decide("void hand", reason="a third person saw the card fall", by="dao")
    assert (second.number, second.supersedes) == (2, first)
    assert Decision.objects.filter(pk=first.pk).values().get() == kept
    assert here.audit().status == "voided"
    assert here.incident().status == "decided"
    third = here.decide("void hand", reason="and so it stays", by="nok")
    assert (third.number, third.supersedes, third.events) == (3, second, [])


def test_a_new_decision_takes_back_what_the_one_before_voided(house: Any) -> None:
    here = house()
    here.record(
        "open bet:1:player=100 bet:2:banker=100 close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:player "
        "pay:1:player=100 end hand:2 open"
    )
    here.decide("void hand", reason="it seemed the right thing")
    assert here.audit().status == "voided"
    second = here.decide("correct", by="dao")
    assert here.lines(second) == ["amended 18", "moved B3 P3", "moved P3 B3", "paid 2 banker 95.00"]
    assert second.departs is False
    audit = here.audit()
    assert (audit.status, audit.result and audit.result.winner) == ("closed", "banker")
    assert {key: total for key, total in audit.paid.items() if total} == {(2, "banker"): Decimal("95.00")}
    assert here.incident().status == "decided"
    assert TableEvent.objects.filter(name="voided").count() == 1, "nothing is taken out of the log"


def test_without_the_void_the_rulings_are_open_again(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    here.decide("void hand", reason="it seemed the right thing")
    assert set(refused(lambda: here.decide("stand"))) == {"reason"}
    third = here.decide("stand", reason="leave it as it lies")
    assert third.departs is True
    assert (here.audit().status, here.lines(third)) == ("closed", ["amended 13"])


def test_what_the_table_voided_itself_is_not_taken_back(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h void:hand")
    assert codes(lambda: here.decide("correct")) == {"impossible"}
    assert here.decide("void hand", reason="the table has done so").events == []


def test_a_decision_supersedes_only_once(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end")
    first = here.decide("correct")
    second = here.decide("stand")
    fields = Decision.objects.filter(pk=second.pk).values().get() | {"id": None, "number": 3}
    with pytest.raises(IntegrityError), transaction.atomic():
        Decision.objects.create(**fields)
    assert first.superseded_by == second


# --- the decision is kept ----------------------------------------------------------------------------------------


def test_the_database_refuses_to_change_or_delete_a_decision(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    decision = here.decide("correct")
    attempts = [
        lambda: Decision.objects.update(reason="never"),
        lambda: Decision.objects.all().delete(),
        lambda: Decision.objects.bulk_update([decision], ["reason"]),
    ]
    for attempt in attempts:
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            attempt()
    for sql in ("UPDATE incidents_decision SET departs = departs", "DELETE FROM incidents_decision"):
        with (
            pytest.raises(IntegrityError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
    with pytest.raises(TypeError):
        decision.save()
    with pytest.raises(TypeError):
        decision.delete()
    with pytest.raises(ProtectedError):
        here.incident().delete()
    with pytest.raises(ProtectedError):
        here.manager().delete()
    assert Decision.objects.values_list("reason", "departs").get() == ("", False)


def test_the_triggers_are_there() -> None:
    assert triggers.missing("incidents_decision") == []


@pytest.mark.sqlite
def test_an_insert_does_not_overwrite_a_decision(house: Any) -> None:
    here = house()
    here.record(f"{BOTH_DRAW} B3:6h")
    here.decide("correct")
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("INSERT OR REPLACE INTO incidents_decision SELECT * FROM incidents_decision")


# --- what it costs -----------------------------------------------------------------------------------------------


def test_recording_a_clean_card_does_not_ask_for_incidents(
    house: Any, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from incidents import services

    here = house()
    here.record(f"{BOTH_DRAW} B3:6h P3:5s end hand:2 open close P1:9h")
    seen: dict[str, Any] = {}
    event_recorded.connect(lambda **signal: seen.update(signal), weak=False, dispatch_uid="spy")
    try:
        here.record("B1:4s")
    finally:
        event_recorded.disconnect(dispatch_uid="spy")
    seen = {name: value for name, value in seen.items() if name not in ("signal", "sender")}
    with django_assert_num_queries(0):
        services.sync_incidents(**seen)

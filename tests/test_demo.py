"""The demo house: everything there is to see, true to the log, made once, never where real people can reach it."""

import datetime as dt
import io
import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import timezone

from dealing.models import BetLimit, DealerShift, Hand, Shoe, Table, TableEvent, Venue
from dealing.permissions import May, may
from dealing.rules.findings import CATALOGUE
from dealing.shifts import overlapping, shift_at
from incidents.management.commands import demo
from incidents.models import Decision, Incident, IncidentFinding
from incidents.services import do_decide_incident


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("demo", *arguments, stdout=out)
    return out.getvalue()


def contents() -> list[Any]:
    """What a second run might change."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Venue, Table, Shoe, Hand, TableEvent, Incident, IncidentFinding, Decision, User)
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo of one short shoe, where its size does not matter."""
    shoe = demo.Shoe(None, {2: demo.Mistake.FIFTH_CARD_MISPLACED}, hands=4, cards=3, repairs=0.0)
    monkeypatch.setattr(demo, "PITS", (demo.PITS[0]._replace(shoes=(shoe,)),))


@pytest.mark.parametrize("hour", [0, 14])
def test_the_whole_demo(db: None, monkeypatch: pytest.MonkeyPatch, hour: int) -> None:
    # Shortly after the house's midnight, too: the evening before is then a few hours old.
    ahead = dt.datetime(2026, 7, 12, hour, 40, tzinfo=ZoneInfo("Asia/Bangkok")) - timezone.now()
    clock = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: clock() + ahead)
    first = run()

    # One table of each ruleset, one of ranks alone; one in the middle of a hand, two between hands, one without a shoe.
    assert {table.ruleset for table in Table.objects.all()} == {"insurance", "standard", "commission"}
    playing = Hand.objects.get(status=Hand.Status.OPEN, shoe__status=Shoe.Status.OPEN)
    assert playing.shoe.table.code == "B01"
    assert 0 < len(playing.audit["dealt"]["P"]) + len(playing.audit["dealt"]["B"]) < 4
    assert playing.audit["findings"] == []
    assert {shoe.table.code for shoe in Shoe.objects.filter(status=Shoe.Status.OPEN)} == {"B01", "B02", "B04"}

    # B04 takes ranks alone, B02 has limits. The dealers take turns: one deals wherever there is a shoe, none twice at
    # a time, and one turn nobody wrote down.
    assert [table.code for table in Table.objects.filter(ranks_only=True)] == ["B04"]
    cards = TableEvent.objects.filter(table__code="B04", name="card").values_list("payload", flat=True)
    assert cards
    assert all(len(json.loads(line).get("card", "9")) == 1 for line in cards)
    assert BetLimit.objects.filter(table__code="B02").count() == 2
    assert {shift.table.code for shift in DealerShift.objects.filter(ended_at=None)} == {"B01", "B02", "B04"}
    assert not any(overlapping(shift).exists() for shift in DealerShift.objects.all())
    unknown = [hand for hand in Hand.objects.all() if shift_at(hand.shoe.table, hand.started_at) is None]
    assert {hand.shoe.number for hand in unknown} == {1}
    assert {hand.shoe.table.code for hand in unknown} == {"B02"}

    # Every kind of finding; some incidents open, others decided or closed by a rule.
    asked_for = {code for code, kind in CATALOGUE.items() if kind.optional}  # by other houses than the demo's
    assert set(IncidentFinding.objects.values_list("code", flat=True)) == set(CATALOGUE) - asked_for
    statuses = list(Incident.objects.values_list("status", flat=True))
    assert statuses.count(Incident.Status.DECIDED) >= 10
    assert 5 <= statuses.count(Incident.Status.OPEN) <= 15
    assert statuses.count(Incident.Status.BY_RULE) >= 3

    # Of the last days, in the order of the log, and nothing that has yet to happen.
    now = timezone.now()
    times = list(TableEvent.objects.values_list("at", flat=True))
    assert max(times) <= now
    assert min(times) >= now - dt.timedelta(days=4)
    assert now - times[-1] < dt.timedelta(hours=1)

    # What is stored is what the log says.
    call_command("verify_log", "--projections", stdout=io.StringIO())

    # The people, their roles and what is printed of them.
    asked = (May.RECORD, May.SUPERVISE, May.DECIDE)
    they = {user.username: tuple(may(user, what) for what in asked) for user in User.objects.all()}
    assert they["nok"] == (True, False, False)
    assert they["anan"] == (True, True, False)
    assert they["malee"] == they["wichai"] == (True, True, True)
    assert they["prasert"] == (False, False, False)
    for person in demo.PEOPLE:
        assert person.name in first
        assert person.password in first
        assert User.objects.get(username=person.name).check_password(person.password)

    # Malee kept the log of one hand with an incident: Wichai has to decide it.
    own = Incident.objects.get(table__code="B03", shoe_number=3, hand_number=29)
    with pytest.raises(ValidationError):
        do_decide_incident(own, User.objects.get(username="malee"), ["correct"])
    assert do_decide_incident(own, User.objects.get(username="wichai"), ["correct"]).number == 1

    # Again: the same log-ins, and nothing changes.
    before = contents()
    assert run() == first
    assert contents() == before


def test_a_password_that_was_changed_is_not_printed_and_not_set_back(db: None, small: None) -> None:
    run()
    nok = User.objects.get(username="nok")
    nok.set_password("something else")
    nok.save()
    out = run()
    assert "nok-writes-it-down" not in out
    assert "(changed)" in out
    nok.refresh_from_db()
    assert nok.check_password("something else")


def test_a_published_site_gets_no_people_with_known_passwords(db: None, small: None, settings: Any) -> None:
    settings.PUBLISHED_HOSTS = ["pit.example"]
    with pytest.raises(CommandError, match=r"pit\.example"):
        run()
    assert not User.objects.exists()
    run("--force")
    assert User.objects.count() == len(demo.PEOPLE)


def test_somebody_elses_database_is_left_alone(venue: Venue, small: None) -> None:
    assert "River House" in run()
    assert not User.objects.exists()
    with pytest.raises(CommandError, match="River House"):
        run("--reset")
    with pytest.raises(CommandError, match="River House"):
        run("--reset", "--force")


def test_a_demo_that_fails_half_way_leaves_nothing(db: None, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(demo, "_decide_older", fail)
    with pytest.raises(RuntimeError):
        run()
    assert not Venue.objects.exists()
    assert not TableEvent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_reset_begins_again(small: None) -> None:
    run()
    table = Table.objects.get(code="B01")
    events, head = table.last_seq, table.last_hash
    run("--reset")
    table = Table.objects.get(code="B01")
    assert (table.last_seq, Venue.objects.count()) == (events, 1)
    assert table.last_hash != head  # dealt anew, at another time
    call_command("verify_log", stdout=io.StringIO())
    row = TableEvent.objects.first()
    assert row is not None
    with pytest.raises(Exception, match="append-only"):
        TableEvent.objects.filter(pk=row.pk).update(actor="somebody")

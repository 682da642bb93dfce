"""`manage.py demo`: a house with people, dealers, four tables and a few nights of shoes, to look at and play with.

It lives beside the incidents because it has some of them decided, and `dealing` knows nothing of incidents.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import cycle, groupby, islice
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from dealing.log import record_many
from dealing.models import BetLimit, Dealer, DealerShift, StaffMember, Table, Venue
from dealing.models import Shoe as ShoeRow
from dealing.people import AUDITOR, MANAGER, RECORDER, SUPERVISOR, ensure_groups
from dealing.rules.events import CardDealt, Event
from dealing.rules.rulesets import get_ruleset
from dealing.shifts import tell
from dealing.simulator import Mistake, simulate_shoe
from incidents.models import Incident
from incidents.selectors import Case, load_case
from incidents.services import do_decide_incident

VENUE: Final = "RIVERSIDE"


class Person(NamedTuple):
    """Somebody of the demo house; `group` None: a superuser."""

    name: str
    first: str
    last: str
    group: str | None
    password: str
    language: str
    task: str


PEOPLE: Final = (
    Person("nok", "Nok", "Srisuk", RECORDER, "nok-writes-it-down", "th", "go on at B01; B04 takes ranks alone"),
    Person("anan", "Anan", "Chaiyo", SUPERVISOR, "anan-walks-the-pit", "en", "open a shoe at B03, put shifts right"),
    Person("malee", "Malee", "Wong", MANAGER, "malee-decides-it", "en", "decide the open incidents"),
    Person("wichai", "Wichai", "Thongdee", MANAGER, "wichai-decides-too", "th", "decide what Malee may not (B03)"),
    Person("prasert", "Prasert", "Boonmee", AUDITOR, "prasert-only-reads", "en", "read everything, change nothing"),
    Person("kanya", "Kanya", "Suwan", None, "kanya-keeps-the-house", "en", "tables and staff under /admin/"),
)


class Shoe(NamedTuple):
    """A shoe to be dealt: `days` ago in the evening, or None for just now.

    `mistakes` by hand. `hands`: it is still on the table after so many; `cards`: the last has so many cards out.
    """

    days: int | None
    mistakes: Mapping[int, Mistake]
    hands: int | None = None
    cards: int | None = None
    repairs: float = 0.5


class Pit(NamedTuple):
    """A table of the demo house, the person who keeps its log, its shoes in order, and the dealers who take turns.

    `ranks_only`: nobody records suits or bets there. `limits`: least and most by bet.
    """

    code: str
    name: str
    ruleset: str
    recorder: str
    shoes: Sequence[Shoe]
    dealers: Sequence[str]
    ranks_only: bool = False
    limits: Mapping[str, tuple[int, int]] = {}


PITS: Final = (
    Pit(
        "B01",
        "Riverside 1",
        "insurance",
        "nok",
        (
            Shoe(
                2,
                {
                    6: Mistake.INSURANCE_ODDS_WRONG,
                    13: Mistake.FIFTH_CARD_MISPLACED,
                    21: Mistake.TYPED_WRONG,
                    30: Mistake.INSURANCE_DEALT_EARLY,
                    41: Mistake.OPPOSING_BETS,
                    55: Mistake.WRONG_RESULT_CALLED,
                },
            ),
            Shoe(
                1,
                {
                    5: Mistake.INSURANCE_NOT_DUE,
                    12: Mistake.INSURANCE_ODDS_MISSING,
                    22: Mistake.CARD_DROPPED,
                    34: Mistake.INSURANCE_LATE_BET,
                    48: Mistake.SIXTH_CARD_MISPLACED,
                    60: Mistake.TYPED_TWICE,
                },
            ),
            Shoe(
                None,
                {
                    4: Mistake.PAYOUT_WRONG,
                    9: Mistake.INSURANCE_ODDS_MISPLACED,
                    13: Mistake.EXPOSED_DURING_BETTING,
                    16: Mistake.FIFTH_CARD_MISPLACED,
                },
                hands=19,
                cards=3,
                repairs=0.0,
            ),
        ),
        ("D01", "D02", "D03"),
    ),
    Pit(
        "B02",
        "Riverside 2",
        "standard",
        "nok",
        (
            Shoe(
                2,
                {
                    1: Mistake.BURN_COUNT_WRONG,
                    9: Mistake.INITIAL_CARD_MISPLACED,
                    18: Mistake.EXTRA_CARD_EXPOSED,
                    27: Mistake.BET_AFTER_CLOSE,
                    36: Mistake.OPENED_OUT_OF_TURN,
                    50: Mistake.HAND_INCOMPLETE,
                },
            ),
            Shoe(
                1,
                {
                    7: Mistake.CARD_NOT_DRAWN,
                    16: Mistake.DEALT_DURING_BETTING,
                    25: Mistake.EXPOSED_DURING_DRAW,
                    38: Mistake.BET_NOT_OFFERED,
                    66: Mistake.CARD_IMPOSSIBLE,
                },
            ),
            Shoe(
                None,
                {3: Mistake.CARD_OVERDRAWN, 8: Mistake.WRONG_RESULT_CALLED, 11: Mistake.TYPED_WRONG},
                hands=14,
                repairs=0.0,
            ),
        ),
        ("D04", "D05", "D06"),
        limits={"": (100, 20_000), "tie": (100, 2_000)},
    ),
    Pit(
        "B03",
        "Riverside 3",
        "commission",
        "anan",
        (
            Shoe(
                2,
                {
                    1: Mistake.BURN_MISSING,
                    11: Mistake.CARD_OVERDRAWN,
                    24: Mistake.PAYOUT_WRONG,
                    40: Mistake.EXPOSED_DURING_BETTING,
                    62: Mistake.SIDE_BET_AFTER_LIMIT,
                },
            ),
            Shoe(
                1,
                {1: Mistake.EXPOSED_AT_START, 20: Mistake.CARD_NOT_DRAWN, 33: Mistake.CARD_DROPPED_OPENED},
                repairs=1.0,
            ),
            Shoe(
                None,
                {
                    15: Mistake.EXTRA_CARD_EXPOSED,
                    29: Mistake.FIFTH_CARD_MISPLACED,
                    61: Mistake.HAND_AFTER_LAST,
                },
                repairs=0.0,
            ),
        ),
        ("D07", "D08", "D09"),
    ),
    Pit("B04", "Riverside 4", "standard", "nok", (Shoe(None, {}, hands=9),), ("D10", "D11"), ranks_only=True),
)

#: In the newest shoe of B03 Malee stood in at the log for these hands: she may not decide on them.
STAND_IN: Final = ("B03", range(28, 31), "malee")
#: The dealers; the last two deal at no table yet.
DEALERS: Final = {
    "D01": "Lek",
    "D02": "Dao",
    "D03": "Ploy",
    "D04": "Somsak",
    "D05": "Fah",
    "D06": "Chai",
    "D07": "Mali",
    "D08": "Ton",
    "D09": "Pim",
    "D10": "Arthit",
    "D11": "Nan",
    "D12": "Bua",
    "D13": "Wit",
}
#: How long a dealer stays at a table.
TURN: Final = dt.timedelta(minutes=20)
#: A turn that nobody wrote down: table, shoe, and which turn of the shoe.
FORGOTTEN: Final = ("B02", 1, 1)
#: Seconds from the last event of a shoe dealt "just now" to now.
JUST_NOW: Final = {"B01": 20, "B02": 75, "B03": 1500, "B04": 10}


class Command(BaseCommand):
    help = (
        "Fill an empty database with a demo house: people, dealers, four tables, shoes with mistakes, incidents. "
        "Once it is there nothing is changed; the log-ins are printed each time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--reset", action="store_true", help="empty the tables of the log and the incidents first, and begin again"
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="even where the site is published, or holds other houses than the demo's",
        )

    def handle(self, *args: Any, reset: bool, force: bool, **options: Any) -> None:
        others = list(Venue.objects.exclude(code=VENUE).values_list("name", flat=True))
        if settings.PUBLISHED_HOSTS and not force:
            hosts = ", ".join(settings.PUBLISHED_HOSTS)
            raise CommandError(
                f"This site is published as {hosts}, and the demo's passwords are known to everybody. "
                "Start the server without the demo, or add --force."
            )
        if others and reset:
            raise CommandError(f"This database holds more than the demo ({', '.join(others)}): it is not emptied.")
        if others and not force:
            self.stdout.write(f"No demo: this database belongs to {', '.join(others)}.")
            return
        if reset:
            self._empty()
        new: set[str] = set()
        if not Venue.objects.filter(code=VENUE).exists():
            with transaction.atomic():
                new = make_demo()
        self._print_people(new)

    def _empty(self) -> None:
        """Drop the tables of both apps and make them again: the rows of a log cannot be deleted, and shall not be."""
        for app in ("incidents", "dealing"):
            call_command("migrate", app, "zero", verbosity=0)
        call_command("migrate", verbosity=0)

    def _print_people(self, new: Collection[str]) -> None:
        """Who may log in; checking a password takes its time, so those just made are not."""
        self.stdout.write("")
        self.stdout.write("Demo log-ins")
        known = {user.username: user for user in User.objects.filter(username__in=[p.name for p in PEOPLE])}
        for person in PEOPLE:
            user = known.get(person.name)
            if user is None:
                continue
            right = person.name in new or user.check_password(person.password)
            password = person.password if right else "(changed)"
            role = person.group or "administrator"
            self.stdout.write(f"  {person.name:<9}{password:<24}{role:<15}{person.task}")
        self.stdout.write("")


def make_demo() -> set[str]:
    """The whole house, in an empty database; returns the names of the users that are new."""
    there = set(User.objects.values_list("username", flat=True))
    venue = Venue.objects.create(code=VENUE, name="Riverside Club", time_zone="Asia/Bangkok", day_starts=6)
    users = {person.name: _make_person(person, venue) for person in PEOPLE}
    dealers = {code: Dealer.objects.create(venue=venue, code=code, name=name) for code, name in DEALERS.items()}
    now = timezone.now().astimezone(venue.zone)
    tonight = now
    for pit in PITS:
        table = Table.objects.create(
            code=pit.code, name=pit.name, venue=venue, ruleset=pit.ruleset, ranks_only=pit.ranks_only
        )
        for bet, (least, most) in pit.limits.items():
            BetLimit.objects.create(table=table, bet=bet, minimum=Decimal(least), maximum=Decimal(most))
        for number, shoe in enumerate(pit.shoes, 1):
            table.refresh_from_db()
            events = _deal(pit, number, shoe, table.last_seq + 1, now)
            _record(pit, events)
            if shoe.days is None:
                tonight = min(tonight, events[0].at)
        _take_turns(pit, table, [dealers[code] for code in pit.dealers])
    _decide_older(users["malee"], before=tonight)
    return set(users) - there


def _make_person(person: Person, venue: Venue) -> User:
    ensure_groups()
    user = User.objects.filter(username=person.name).first()
    if user is None:
        user = User.objects.create_user(person.name, password=person.password)
    user.first_name, user.last_name = person.first, person.last
    if person.group is None:
        user.is_staff = user.is_superuser = True
    else:
        user.groups.add(Group.objects.get(name=person.group))
    user.save()
    StaffMember.objects.create(user=user, code=person.name.upper(), venue=venue, language=person.language)
    return user


def _deal(pit: Pit, number: int, shoe: Shoe, first_seq: int, now: dt.datetime) -> list[Event]:
    """The log of a shoe, placed in time."""
    mistakes = [shoe.mistakes.get(hand) for hand in range(1, max(shoe.mistakes, default=0) + 1)]

    def dealt(start: dt.datetime) -> list[Event]:
        events = simulate_shoe(
            pit.code,
            number,
            pit.ruleset,
            number * 1000 + ord(pit.code[-1]),
            start,
            mistakes,
            hands=shoe.hands,
            decks=get_ruleset(pit.ruleset).decks,
            first_seq=first_seq,
            by=pit.recorder.upper(),
            repairs=shoe.repairs,
            bets=not pit.ranks_only,
            ranks_only=pit.ranks_only,
        )
        return events if shoe.cards is None else _cut_short(events, shoe.cards)

    if shoe.days is not None:
        evening = now.replace(hour=19, minute=40 + number * 5, second=0, microsecond=0) - dt.timedelta(days=shoe.days)
        return dealt(evening)
    # The times follow from the start, so that the same shoe dealt again takes exactly as long.
    events = dealt(now)
    end = now - dt.timedelta(seconds=JUST_NOW[pit.code])
    return dealt(now - (events[-1].at - end))


def _cut_short(events: list[Event], cards: int) -> list[Event]:
    """Leave the last hand when so many of its cards are dealt."""
    dealt = [
        index for index, event in enumerate(events) if isinstance(event, CardDealt) and event.hand == events[-1].hand
    ]
    return events[: dealt[cards - 1] + 1]


def _record(pit: Pit, events: Iterable[Event]) -> None:
    """Through the one door, whatever one person kept at a time."""
    table, hands, stand_in = STAND_IN

    def keeper(event: Event) -> str:
        newest = event.shoe == len(pit.shoes)
        return stand_in if pit.code == table and newest and event.hand in hands else pit.recorder

    for actor, group in groupby(events, key=keeper):
        record_many(group, actor=actor)


def _take_turns(pit: Pit, table: Table, dealers: Sequence[Dealer]) -> None:
    """Write down who dealt when: the dealers in turn, as long as there was a shoe; who deals now has not ended."""
    shifts = []
    for shoe in ShoeRow.objects.filter(table=table).order_by("number"):
        over = shoe.closed_at or timezone.now()
        turns = max(1, -(-(over - shoe.opened_at) // TURN))
        for turn, dealer in enumerate(islice(cycle(dealers), shoe.number, shoe.number + turns)):
            if (pit.code, shoe.number, turn) == FORGOTTEN:
                continue
            last = turn == turns - 1
            began = shoe.opened_at + turn * TURN
            ended = (shoe.closed_at if last else began + TURN) if shoe.closed_at or not last else None
            shifts.append(
                DealerShift(table=table, dealer=dealer, started_at=began, ended_at=ended, recorded_by=pit.recorder)
            )
    with transaction.atomic():
        Table.objects.select_for_update().get(pk=table.pk)
        tell(DealerShift.objects.bulk_create(shifts), pit.recorder)


def _decide_older(user: User, before: dt.datetime) -> None:
    """The incidents of the earlier nights have been decided: as the rules say, or the first thing that can be done.

    All but two, the newest and one about money: the reports have something to say.
    """
    older = Incident.objects.filter(status=Incident.Status.OPEN, opened_at__lt=before).order_by("-opened_at")
    left = {incident.pk for incident in (*older[:1], *older.filter(findings__code="payout-wrong")[:1])}
    for incident in older.exclude(pk__in=left).order_by("opened_at"):
        for actions in _choices(load_case(incident)):
            try:
                do_decide_incident(incident, user, actions)
            except ValidationError:
                continue
            break


def _choices(case: Case) -> list[list[str]]:
    """What a manager would try, in order."""
    ruled = list(case.recommendation.mandatory)
    feasible = [action for action in ruled if not case.obstacle(action, ruled)]
    answers = [
        next(option for option in finding.options if not case.obstacle(option, (*feasible, option)))
        for finding in case.unanswered(feasible)
    ]
    return [ruled, feasible, [*feasible, *answers], *([action] for action in case.recommendation.options), ["stand"]]

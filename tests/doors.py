"""Every address of the product, and what each asks of who comes: the table that the tests of rights go through.

A URL that stands here with nothing, or nowhere, fails `test_permissions_doors.py`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse
from django.utils import timezone

from dealing.console import ahead
from dealing.devices.keys import make_key
from dealing.devices.models import Device
from dealing.models import Dealer, DealerShift, StaffMember, Table, Venue
from dealing.permissions import (
    ADMINISTRATOR,
    AUDITOR,
    DEVICE,
    MANAGER,
    RECORDER,
    SUPERVISING_DEVICE,
    SUPERVISOR,
    WHO,
    May,
)
from dealing.sheets import kept
from incidents.evidence import do_attach_file
from incidents.models import Incident
from incidents.reports.models import ReportDelivery
from incidents.services import do_decide_incident
from incidents.webhooks import sealing
from incidents.webhooks.models import Kind, Webhook, WebhookDelivery
from tests import reports_samples as samples
from tests.incident_logs import House
from tests.media import PNG

SHEET: Final = b"date,hand,player,banker\n2026-07-01,1,9h Kd,4s 3c\n"

#: Needs of a door beside those of `May`.
ANYBODY: Final = "anybody"
LOGGED_IN: Final = "logged in"
#: Logged in, or with the key of a device.
KNOWN: Final = "known"
Need = May | str


@dataclass(frozen=True)
class Door:
    """An address by its name: what GET and POST need there (None: 405), and what its arguments are called in a `Place`.

    `hides`: answers 404 to who may not come in. `sends_away`: also who may come in may be sent to the log-in page.
    """

    name: str
    get: Need | None = None
    post: Need | None = None
    args: tuple[str | int, ...] = ()
    hides: bool = False
    sends_away: bool = False
    #: 503 is an answer too: it tells how the night stands.
    red: bool = False
    #: Takes long to answer: tried by two only.
    slow: bool = False
    #: A part of a page: who is not logged in is answered 401 and sent nowhere.
    part: bool = False

    @property
    def api(self) -> bool:
        """Whether it answers in JSON, and to devices."""
        return self.name.startswith("api:") and self.name not in ("api:docs", "api:problems")

    def address(self, place: Place, user: User | None = None) -> str:
        """Its path at a place; `user`: whose sheet, where it is about one."""
        args = [
            place.sheet(user) if one == "sheet" else place[one] if isinstance(one, str) else one for one in self.args
        ]
        return reverse(self.name, args=args)


def _doors() -> Iterator[Door]:
    for name in ("roads:display", "roads:live", "pit:shifts", "console:table"):
        yield Door(name, May.READ, args=("table",))
    yield Door("home", ANYBODY)  # to the pit, which asks
    yield Door("pit:live", May.READ)
    yield Door("pit:dealer", May.READ, May.RECORD, ("table",))
    yield Door("pit:new_shift", May.SUPERVISE, May.SUPERVISE, ("table",))
    yield Door("pit:shift", May.SUPERVISE, May.SUPERVISE, ("table", "shift"))
    yield Door("console:tables", May.READ)
    yield Door("console:tableau", ANYBODY, args=("tableau",))
    yield Door("console:head", May.READ, args=("table",), part=True)
    yield Door("console:roads", May.READ, args=("table",))
    yield Door("console:record", None, May.RECORD, ("table",))
    yield Door("console:shoe", May.READ, args=("table", 1))
    yield Door("console:hand", May.READ, args=("table", 1, 1))
    yield Door("dealers:list", May.OVERSEE)
    yield Door("dealers:nobody", May.OVERSEE)
    yield Door("dealers:dealer", May.OVERSEE, args=("dealer",))
    yield Door("incidents:queue", May.READ)
    yield Door("incidents:incident", May.READ, May.DECIDE, ("incident",))
    for name in ("preview", "step", "sheet"):
        yield Door(f"incidents:{name}", May.READ, args=("incident",))
    yield Door("incidents:attachment", May.READ, args=("incident", "attachment"))
    for name in ("attach", "review"):
        yield Door(f"incidents:{name}", None, May.REVIEW, ("incident",))
    yield Door("incidents:for_hand", May.READ, args=("table", 1, 1))
    yield Door("incidents:for_shoe", May.READ, args=("table", 1))
    yield Door("sheets:start", May.IMPORT, May.IMPORT)
    yield Door("sheets:columns", May.IMPORT, May.IMPORT, ("sheet",))
    yield Door("sheets:store", May.IMPORT, May.IMPORT, ("sheet",))
    yield Door("sheets:preview", May.IMPORT, args=("sheet",))
    yield Door("sheets:done", May.IMPORT, args=("sheet",))
    yield Door("sheets:discard", May.IMPORT, May.IMPORT, ("sheet",))  # GET: back to the sheet
    yield Door("reports:list", May.OVERSEE)
    yield Door("reports:status", May.OVERSEE, red=True)
    yield Door("reports:start", May.RUN_AUDIT, May.RUN_AUDIT)
    yield Door("reports:run", May.OVERSEE, args=("run",))
    yield Door("reports:progress", May.OVERSEE, args=("run",))
    yield Door("reports:retry", None, May.RUN_AUDIT, ("run",))
    yield Door("reports:report", May.OVERSEE, args=("report",))
    yield Door("reports:file", May.OVERSEE, args=("report", "ending"))
    yield Door("reports:send_again", None, May.RUN_AUDIT, ("report", "delivery"))
    yield Door("reports:day", May.OVERSEE, args=("day",))
    yield Door("webhooks:list", May.KEEP_WEBHOOKS)
    yield Door("webhooks:new", May.KEEP_WEBHOOKS, May.KEEP_WEBHOOKS)
    yield Door("webhooks:webhook", May.KEEP_WEBHOOKS, args=("webhook",))
    yield Door("webhooks:edit", May.KEEP_WEBHOOKS, May.KEEP_WEBHOOKS, ("webhook",))
    for name in ("test", "rotate", "end_overlap", "delete"):
        yield Door(f"webhooks:{name}", None, May.KEEP_WEBHOOKS, ("webhook",))
    yield Door("webhooks:message", May.KEEP_WEBHOOKS, args=("message",))
    yield Door("webhooks:again", None, May.KEEP_WEBHOOKS, ("message",))
    yield Door("webhooks:discard", None, May.KEEP_WEBHOOKS, ("message",))
    yield Door("webhooks:given_up", May.KEEP_WEBHOOKS)
    yield Door("webhooks:all_again", None, May.KEEP_WEBHOOKS)
    yield Door("webhooks:discard_all", None, May.KEEP_WEBHOOKS)
    yield Door("devices:list", May.KEEP_DEVICES)
    yield Door("devices:new", May.KEEP_DEVICES, May.KEEP_DEVICES)
    yield Door("devices:device", May.KEEP_DEVICES, args=("device",))
    yield Door("devices:edit", May.KEEP_DEVICES, May.KEEP_DEVICES, ("device",))
    yield Door("devices:make_key", None, May.KEEP_DEVICES, ("device",))
    yield Door("devices:revoke_key", None, May.KEEP_DEVICES, ("device", "prefix"))
    yield Door("look", May.READ)
    yield Door("theme", None, ANYBODY)
    yield Door("login", ANYBODY, ANYBODY)
    yield Door("logout", None, ANYBODY, sends_away=True)
    yield Door("preferences", LOGGED_IN, LOGGED_IN)
    yield Door("set_language", ANYBODY, ANYBODY)
    # One's own account. Who gave the password and owes the second factor is let in to some of it: see its own tests.
    yield Door("account:account", LOGGED_IN)
    yield Door("account:password", LOGGED_IN, LOGGED_IN)
    yield Door("account:confirm", LOGGED_IN, LOGGED_IN)
    for name in ("app", "new_passkey"):
        yield Door(f"account:{name}", LOGGED_IN, LOGGED_IN)
    for name in ("codes", "remove_app", "end_sessions"):
        yield Door(f"account:{name}", None, LOGGED_IN)
    yield Door("account:remove_passkey", None, LOGGED_IN, (1,), hides=True)
    yield Door("account:factor", ANYBODY, ANYBODY, sends_away=True)
    yield Door("account:set_up", ANYBODY, sends_away=True)
    yield Door("account:ask_passkey", None, ANYBODY)
    yield Door("account:log_in_by_passkey", None, ANYBODY, sends_away=True)
    yield Door("account:people", May.UNLOCK)
    yield Door("account:unlock", None, May.UNLOCK, ("person",))
    yield Door("account:reset", None, May.ADMINISTER, ("person",))
    yield Door("health", ANYBODY)
    yield Door("health_night", ANYBODY, red=True)
    yield Door("metrics", May.MEASURE, hides=True)
    yield Door("api:root", May.READ_TABLE)
    yield Door("api:tables", May.READ_TABLE)
    yield Door("api:table", May.READ_TABLE, args=("table",))
    yield Door("api:events", May.READ_TABLE, May.RECORD, ("table",))
    yield Door("api:feed", May.READ_TABLE, args=("table",))
    yield Door("api:event", May.READ_TABLE, args=("table", 1))
    yield Door("api:shoe", May.READ_TABLE, args=("table", 1))
    yield Door("api:hand", May.READ_TABLE, args=("table", 1, 1))
    for name in ("shoes", "hands", "findings"):
        yield Door(f"api:{name}", May.READ_TABLE)
    yield Door("api:incidents", May.READ)
    yield Door("api:incident", May.READ, args=("incident",))
    yield Door("api:decision", May.READ, args=("incident", 1))
    yield Door("api:decisions", May.READ)
    yield Door("api:reports", May.OVERSEE)
    yield Door("api:newest_report", May.OVERSEE, args=("venue", "day"))
    yield Door("api:report", May.OVERSEE, args=("venue", "day", 1))
    for name in ("schema", "schema_yaml"):
        yield Door(f"api:{name}", KNOWN, slow=True)
    yield Door("api:docs", LOGGED_IN)
    yield Door("api:problems", ANYBODY)


DOORS: Final = {door.name: door for door in _doors()}
#: Whatever the API has no answer for: 404 for everybody, by every method.
NOWHERE: Final = "api:nothing"
#: The pages of Django's admin that are not for administrators alone.
ADMIN_FOR_ALL: Final = frozenset({"admin:login", "admin:logout"})


def addresses(
    resolver: URLResolver | None = None, names: tuple[str, ...] = (), path: str = "/"
) -> Iterator[tuple[str, str]]:
    """Every URL pattern: its name with its namespaces, and its path with the places of arguments."""
    for pattern in (resolver or get_resolver()).url_patterns:
        whole = f"{path}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, (*names, pattern.namespace) if pattern.namespace else names, whole)
        else:
            yield ":".join((*names, str(pattern.name))), whole


def admin_addresses() -> Iterator[str]:
    """An address for every pattern of Django's admin that is for administrators."""
    for name, path in addresses():
        if name.startswith("admin:") and name not in ADMIN_FOR_ALL:
            path = re.sub(r"<[^>]*>", "1", path.replace("(?P<url>.*)$", "nowhere/"))
            yield re.sub(r"\^\(\?P1(\w+)[^)]*\)/\$", r"\1/", path)


# Who comes.

#: Everybody who may come, with the roles they have.
PEOPLE: Final[dict[str, frozenset[str]]] = {
    "nobody": frozenset(),
    "no role": frozenset(),
    RECORDER: frozenset({RECORDER}),
    SUPERVISOR: frozenset({SUPERVISOR}),
    MANAGER: frozenset({MANAGER}),
    AUDITOR: frozenset({AUDITOR}),
    ADMINISTRATOR: frozenset({MANAGER, ADMINISTRATOR}),
    DEVICE: frozenset({DEVICE}),
    SUPERVISING_DEVICE: frozenset({DEVICE, SUPERVISING_DEVICE}),
}
DEVICES: Final = frozenset({DEVICE, SUPERVISING_DEVICE})


def allowed(who: str, need: Need, api: bool = False) -> bool:
    """Whether the table of rights lets them in. A device's key opens the API and no page."""
    if need == ANYBODY:
        return True
    roles = PEOPLE[who] if api or who not in DEVICES else frozenset()
    if need == LOGGED_IN:
        return who != "nobody" and who not in DEVICES
    if need == KNOWN:
        return who != "nobody"
    return not WHO[May(need)].isdisjoint(roles)


# Where they come to.


class Place(dict[str, Any]):
    """A house and all that an address can name of it: primary keys and codes."""

    venue: Venue

    def sheet(self, user: User | None) -> str:
        """A sheet of the house that the person is reading in."""
        return kept.keep(0 if user is None else user.pk, self.venue.pk, "hands.csv", SHEET).token


@dataclass
class Scene:
    """Two houses of the same kind, and the people of the first."""

    here: Place
    there: Place
    clients: dict[str, Client] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)

    def user(self, who: str) -> User | None:
        """The user, for people who are one."""
        return self.users.get(who)


def person(name: str, group: str | None, venue: Venue | None) -> User:
    """A user of that group, of that house."""
    user, made = User.objects.get_or_create(username=name, defaults={"email": f"{name}@example.com".replace(" ", "-")})
    if made and venue is not None:
        StaffMember.objects.create(user=user, code=name.upper()[:16], venue=venue)
    if group:
        user.groups.add(Group.objects.get(name=group))
    return user


def furnish(code: str, table_code: str) -> Place:
    """A house with one of everything that an address can name."""
    place = Place()
    venue = place.venue = Venue.objects.create(code=code, name=f"{code} House", time_zone="Asia/Bangkok")
    table = Table.objects.create(code=table_code, venue=venue, ruleset="commission")
    somebody = person(f"decider-{code}", MANAGER, venue)
    house = House(table, lambda group, name=None: somebody)
    house.record("shoe-open:commission hand:1 open close P1:2h B1:4s P2:3d B2:Kc B3:6h", prelude=False)
    incident = Incident.objects.get(table=table, hand_number=1)
    do_decide_incident(incident, somebody, ["correct"])
    attached = do_attach_file(incident, somebody, SimpleUploadedFile("felt.png", PNG), "the felt")
    dealer = Dealer.objects.create(venue=venue, code=f"D-{code}", name="Dao")
    now = timezone.now()
    shift = DealerShift.objects.create(
        table=table, dealer=dealer, started_at=now - dt.timedelta(hours=1), recorded_by="anan"
    )
    report = samples.save_report(venue, samples.quiet(venue.code, venue.name), tables=[])
    run = report.run
    assert run is not None
    delivery = ReportDelivery.objects.create(
        report=report,
        member=somebody.staff_member,
        address="a@example.com",
        language="en",
        message_id=f"<{code}@example.com>",
        status=ReportDelivery.Status.FAILED,
    )
    by = {"created_at": now, "created_by": "anan", "changed_at": now, "changed_by": "anan"}
    webhook = Webhook.objects.create(
        venue=venue,
        name=f"hook of {code}",
        url="http://127.0.0.1:9/",
        kinds=[Kind.OPENED],
        secret=sealing.seal("a secret of the suite"),
        **by,
    )
    message = WebhookDelivery.objects.create(
        webhook=webhook,
        event="6c5f1a0e-0000-4000-8000-000000000001",
        kind=Kind.OPENED,
        key="k",
        body=b"{}",
        made_at=now,
        queued_at=now,
        status=WebhookDelivery.Status.DEAD,
    )
    device = device_for(place, table, f"SHOE-{code}")
    place.update(
        device=device.code,
        prefix=make_key(device, "anan")[0].prefix,
        venue=venue.code,
        table=table.code,
        incident=incident.pk,
        attachment=attached.pk,
        dealer=dealer.code,
        shift=shift.pk,
        report=report.pk,
        run=run.pk,
        delivery=delivery.pk,
        day=report.day.isoformat(),
        webhook=webhook.pk,
        message=message.pk,
        person=person(f"locked-{code}", RECORDER, venue).pk,
        tableau=ahead.name(),
        ending="json",
    )
    return place


def arrange() -> Scene:
    """The two houses and everybody. Needs a migrated, empty database."""
    here, there = furnish("RIVER", "B07"), furnish("HILL", "C01")
    scene = Scene(here, there)
    scene.clients["nobody"] = Client()
    for who in PEOPLE:
        if who in DEVICES:
            scene.clients[who] = Client(headers={"Authorization": f"Bearer {key_of(who, here)}"})
        elif who != "nobody":
            user = scene.users[who] = person(who, None if who in ("no role", ADMINISTRATOR) else who, here.venue)
            if who == ADMINISTRATOR:
                user.is_staff = user.is_superuser = True
                user.save()
            scene.clients[who] = Client()
            scene.clients[who].force_login(user)
    return scene


def key_of(who: str, place: Place) -> str:
    """A key of a device for the place's table."""
    table = Table.objects.get(code=place["table"])
    device = device_for(place, table, who.upper().replace(" ", "-"), supervises=who == SUPERVISING_DEVICE)
    return make_key(device, "anan")[1]


def device_for(place: Place, table: Table, code: str, *, supervises: bool = False) -> Device:
    """A device of the house, for that table."""
    device = Device.objects.create(
        venue=place.venue, code=code, supervises=supervises, created_at=timezone.now(), created_by="anan"
    )
    device.tables.add(table)
    return device

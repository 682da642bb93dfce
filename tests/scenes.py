"""What the product looks like in use: tables in every state, and the pages to look at them with.

The pictures in docs/ and the accessibility tests show the same scenes. `arrange()` needs a migrated, empty database.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from django.core.management import call_command
from django.utils import timezone

from dealing.simulator import simulate_shoe

#: Hands played at each table before the scene begins.
PLAYED: Final = 23
HAND: Final = PLAYED + 1

Line = dict[str, Any]


class Scene(NamedTuple):
    """A page in some state: whose eyes it is seen with (empty: nobody's), its address, what to wait for on it, and with
    what status it may be answered.
    """

    name: str
    user: str
    address: str
    waits_for: str = "main h1"
    statuses: tuple[int, ...] = (200,)


FLOOR, MANAGER = "anan", "malee"
#: The log-ins of the demo house that the scenes need.
PASSWORDS: Final = {"anan": "anan-walks-the-pit", "malee": "malee-decides-it"}

#: The day of the reports that the scenes show.
NIGHT: Final = dt.date(2026, 7, 11)

SCENES: Final = (
    Scene("log-in", "", "/login/", "[name=username]"),
    Scene("pit", MANAGER, "/tables/"),
    Scene("betting", FLOOR, "/tables/C01/", "#console"),
    Scene("dealing", FLOOR, "/tables/C02/", "#console"),
    Scene("misdeal", FLOOR, "/tables/C03/", "#findings"),
    Scene("pay", FLOOR, "/tables/C04/", "#console"),
    Scene("insurance", FLOOR, "/tables/C05/", "#console"),
    Scene("last-hand", FLOOR, "/tables/C06/", "#console"),
    Scene("ranks-only", FLOOR, "/tables/C07/", "#console"),
    Scene("wrong", FLOOR, "/tables/C02/?sheet=wrong", "dialog[open]"),
    Scene("display", FLOOR, "/tables/C02/display/", "#display"),
    Scene("shoe", FLOOR, "/tables/C02/1/"),
    Scene("hand", FLOOR, f"/tables/C03/1/{HAND}/"),
    Scene("queue", MANAGER, "/incidents/"),
    Scene("incident", MANAGER, f"/incidents/at/C03/1/{HAND}/"),
    Scene("dealers", MANAGER, "/dealers/"),
    Scene("reports", MANAGER, f"/reports/?month={NIGHT:%Y-%m}"),
    Scene("report", MANAGER, f"/reports/{NIGHT}/"),
    Scene("quiet-report", MANAGER, f"/reports/{NIGHT - dt.timedelta(days=1)}/"),
    Scene("month", MANAGER, f"/reports/{NIGHT:%Y-%m}/"),
    Scene("preferences", FLOOR, "/preferences/"),
    Scene("account", MANAGER, "/account/"),
    Scene("accounts", MANAGER, "/account/people/"),
    Scene("app", MANAGER, "/account/app/", ".qr"),
    # Whether last night is missing depends on the hour.
    Scene("status", MANAGER, "/reports/status/", statuses=(200, 503)),
    Scene("devices", MANAGER, "/devices/"),
    Scene("device", MANAGER, "/devices/SHOE-C01/"),
    Scene("webhooks", MANAGER, "/webhooks/"),
    Scene("webhook", MANAGER, "/webhooks/1/"),
    Scene("new-webhook", MANAGER, "/webhooks/new/"),
)

#: The pages that docs/ shows.
MAIN: Final = (
    *("pit", "betting", "dealing", "misdeal", "pay"),
    *("insurance", "display", "queue", "incident", "dealers", "report"),
    *("devices", "account", "app", "webhooks"),
)

BETS: Final = (
    (1, "player", "500.00"),
    (2, "banker", "1000.00"),
    (2, "banker_pair", "100.00"),
    (5, "banker", "20000.00"),
    (7, "tie", "300.00"),
)
#: Player 5, Banker 6: Player's third card is due.
FOUR: Final = (("P1", "3h"), ("B1", "4d"), ("P2", "2s"), ("B2", "2c"))


def arrange() -> None:
    """Make the demo house, and in it tables that are left in the middle of something."""
    from dealing.log import record, record_many  # here: the names of the scenes are wanted without Django too
    from dealing.models import Table, Venue

    call_command("demo", verbosity=0)
    venue = Venue.objects.get(code="RIVERSIDE")
    begin = timezone.now().replace(microsecond=0) - dt.timedelta(minutes=50)
    for number, (code, ruleset) in enumerate(RULESETS.items(), start=1):
        Table.objects.create(code=code, venue=venue, ruleset=ruleset, ranks_only=code == "C07")
        played = simulate_shoe(
            code, 1, ruleset, number, begin.astimezone(venue.zone), hands=PLAYED, bets=False, ranks_only=code == "C07"
        )
        record_many(played, actor="demo")
        for line in _scene(code):
            record({"table": code, "shoe": 1, "hand": HAND, **line}, actor="demo")
    _arrange_reports(venue)
    _arrange_connections(venue)


def _arrange_reports(venue: Any) -> None:
    """A night on which everything happened, with a revision, the quiet one before it, and their month."""
    from incidents.reports import plots
    from tests import reports_samples as samples

    calm = samples.quiet(venue.code, venue.name, NIGHT - dt.timedelta(days=1))
    samples.save_full(venue, NIGHT)
    shown = (
        samples.save_report(venue, calm),
        samples.save_report(venue, samples.figures(venue.code, venue.name, NIGHT), revision=2),
        samples.save_month(venue, samples.month(venue.code, venue.name, NIGHT)),
    )
    for report in shown:
        plots.draw(report)


def _arrange_connections(venue: Any) -> None:
    """Devices with keys and without, a receiver of webhooks that is told and one that is not there, a broken trail."""
    from dealing.devices.keys import make_key, revoke
    from dealing.devices.models import Device
    from dealing.models import Table
    from incidents.trail.models import TrailWalk
    from incidents.webhooks import sealing, signing
    from incidents.webhooks.models import Kind, Webhook, WebhookDelivery

    now = timezone.now()
    made = {"created_at": now - dt.timedelta(days=40), "created_by": MANAGER}
    for device_code, name, tables, keys in (
        ("SHOE-C01", "Shoe of C01", ["C01"], 2),
        ("CAM-PIT", "Camera over the pit", ["C01", "C02", "C03"], 1),
        ("SPARE", "", [], 0),
    ):
        device = Device.objects.create(venue=venue, code=device_code, name=name, is_active=bool(keys), **made)
        device.tables.set(Table.objects.filter(code__in=tables))
        for _ in range(keys):
            key, _secret = make_key(device, MANAGER)
        if keys > 1:
            revoke(key, MANAGER)
        device.keys.update(last_used_at=now - dt.timedelta(minutes=2))
    told = (
        ("Ticket system", WebhookDelivery.Status.SENT, WebhookDelivery.Outcome.TAKEN, 204),
        ("Surveillance", WebhookDelivery.Status.DEAD, WebhookDelivery.Outcome.ANSWERED, 500),
    )
    for pk, (receiver, status, outcome, code) in enumerate(told, 1):
        hook = Webhook.objects.create(
            pk=pk,
            venue=venue,
            name=receiver,
            url=f"https://{receiver.lower().replace(' ', '-')}.example/hooks/baccarat",
            kinds=Kind.values,
            secret=sealing.seal(signing.make_secret()),
            changed_at=now,
            changed_by=MANAGER,
            **made,
        )
        for number in range(3):
            WebhookDelivery.objects.create(
                webhook=hook,
                event=uuid.uuid4(),
                kind=Kind.OPENED,
                key=f"incident {number}",
                body=b"{}",
                made_at=now,
                queued_at=now,
                tried_at=now,
                sent_at=now if status == WebhookDelivery.Status.SENT else None,
                attempts=1,
                seconds=0.2,
                status=status,
                outcome=outcome,
                code=code,
            )
    TrailWalk.objects.create(
        name="trail of table C03",
        venue=venue,
        walked_at=now,
        count=1,
        problems=[["trail of table C03", 3, "decision 1 (C03) was changed: reason"]],
    )


RULESETS: Final = {
    "C01": "commission",
    "C02": "commission",
    "C03": "commission",
    "C04": "commission",
    "C05": "insurance",
    "C06": "commission",
    "C07": "commission",
}


def _scene(code: str) -> Iterable[Line]:
    yield {"event": "betting_opened"}
    if code in ("C01", "C04"):
        for seat, bet, stake in BETS:
            yield {"event": "bet", "seat": seat, "bet": bet, "stake": stake}
    if code == "C01":
        return
    yield {"event": "betting_closed"}
    for place, card in FOUR:
        yield {"event": "card", "to": place, "card": card[0] if code == "C07" else card}
    if code == "C03":
        yield {"event": "card", "to": "B3", "card": "7h"}
    elif code == "C04":
        yield {"event": "card", "to": "P3", "card": "9c"}
        yield {"event": "called", "winner": "banker", "player": 4, "banker": 6}
    elif code == "C05":
        yield {"event": "insurance_opened", "window": 1}
    elif code == "C06":
        yield {"event": "cut_card"}

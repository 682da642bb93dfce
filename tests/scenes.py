"""What the product looks like in use: tables in every state, and the pages to look at them with.

The pictures in docs/ and the accessibility tests show the same scenes. `arrange()` needs a migrated, empty database.
"""

from __future__ import annotations

import datetime as dt
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
    """A page in some state: whose eyes it is seen with (empty: nobody's), its address, and what to wait for on it."""

    name: str
    user: str
    address: str
    waits_for: str = "main h1"


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
)

#: The pages that docs/ shows.
MAIN: Final = (
    *("pit", "betting", "dealing", "misdeal", "pay"),
    *("insurance", "display", "queue", "incident", "dealers", "report"),
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

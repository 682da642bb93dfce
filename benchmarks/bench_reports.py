"""Opening the reports over HTTP: a house of 200 tables and 300,000 hands a day, with a year of reports.

    python -m benchmarks.bench_reports [TIMES]        each page 30 times when left out

On the server that `make run` starts, with SQLite, and on the server that DATABASE_URL names where that is PostgreSQL.
The newest report is a bad night (every list full), drawn as the audit draws it. The gathering of a night's report from
the tables' parts is timed beside it, with a thousand decisions in the day.
"""

from __future__ import annotations

import datetime as dt
import os
import statistics
import subprocess
import sys
import time
from decimal import Decimal
from typing import Any

from benchmarks.bench_http import Console
from benchmarks.site import ROOT, databases, manage, scratch_database, server

LIMIT = 300.0  # ms
TABLES, HANDS, DEALERS, DAYS = 200, 1500, 400, 365
USER, PASSWORD = "malee", "malee-decides-it"


def large(day: dt.date) -> Any:
    """A night of the whole floor on which every list is full."""
    from incidents.reports import figures as of
    from tests.reports_samples import figures

    night: Any = figures("RIVERSIDE", "Riverside Club", day)
    template, codes = night.tables[0], night.codes
    night.hands = TABLES * HANDS
    night.events = night.hands * 10
    night.tables = [
        of.TableLine(
            **{name: getattr(template, name) for name in template.__struct_fields__}
            | {"code": f"T{n:03}", "hands": HANDS, "findings": 15 + n % 7, "codes": dict(codes)}
        )
        for n in range(TABLES)
    ]
    night.dealers = [
        of.DealerLine(dealer=f"D{n:03}", name=f"Dealer {n}", hands=750, findings=n % 20, codes=dict(codes))
        for n in range(DEALERS)
    ]
    night.heat = [[(n + hour) % 5 for hour in range(24)] for n in range(TABLES)]
    night.findings = sum(line.findings for line in night.tables)
    rate = night.rates[1]
    for kind, names in (("table", (t.code for t in night.tables)), ("dealer", (d.dealer for d in night.dealers))):
        for name in names:
            night.rates.append(
                of.Rate(
                    **{field: getattr(rate, field) for field in rate.__struct_fields__}
                    | {"of": kind, "name": name, "change": ""}
                )
            )
    attention = night.attention
    for name in ("open_incidents", "departures", "undecided", "payouts", "unreadable", "differences", "gaps"):
        lines = getattr(attention, name)
        setattr(attention, name, (lines * of.LISTED)[: of.LISTED])
    attention.overpaid = Decimal("123456.00")
    frequencies = night.game.frequencies
    night.game.by_table = {line.code: frequencies for line in night.tables}
    return night


def fill() -> None:
    """A year of reports; run in the environment of a scratch database with the demo house."""
    import django

    django.setup()
    from django.utils import timezone

    from dealing.models import Table, Venue
    from incidents.reports import plots
    from incidents.reports.selectors import last_closed
    from tests.reports_samples import save_report

    venue = Venue.objects.get(code="RIVERSIDE")
    Table.objects.bulk_create(Table(code=f"T{n:03}", venue=venue, ruleset="commission") for n in range(TABLES))
    newest = last_closed(venue, timezone.now())
    for back in range(DAYS, -1, -1):
        report = save_report(venue, large(newest - dt.timedelta(days=back)))
    plots.draw(report)
    print(newest.isoformat(), report.pk)


def timed_gather(decisions: int) -> None:
    """Gather the report of a day with so many decided incidents; prints seconds and statements."""
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test.utils import CaptureQueriesContext
    from django.utils import timezone

    from dealing.gaming_days import bounds, gaming_day
    from dealing.log import record_many
    from dealing.models import Table, Venue
    from dealing.rejudge import rejudge_table
    from incidents.models import Incident
    from incidents.reports.gather import gather
    from incidents.reports.models import AuditDay, AuditRun, TableAudit
    from incidents.services import do_decide_incident

    venue = Venue.objects.get(code="RIVERSIDE")
    user = User.objects.get(username=USER)
    table = Table.objects.create(code="G01", venue=venue, ruleset="commission")
    places = ("P1:2", "B1:4", "P2:3", "B2:K", "B3:6", "P3:5")
    hand = 0
    for shoe in range(1, -(-decisions // 25) + 1):
        lines: list[dict[str, Any]] = [{"event": "shoe_opened", "shoe": shoe, "decks": 8, "ruleset": "commission"}]
        lines += [{"event": "burn_card", "card": "5h"}, {"event": "cards_burned", "count": 5}]
        for number in range(1, 26):
            hand += 1
            lines += [{"event": "betting_opened", "hand": number}]
            lines += [{"event": "bet", "hand": number, "seat": 1, "bet": "banker", "stake": "100.00"}]
            lines += [{"event": "betting_closed", "hand": number}]
            for place in places:
                to, rank = place.split(":")
                lines.append({"event": "card", "hand": number, "to": to, "card": rank + "shdc"[number % 4]})
            lines += [{"event": "called", "hand": number, "winner": "banker", "player": 1, "banker": 9}]
            lines += [{"event": "hand_closed", "hand": number}]
        lines.append({"event": "shoe_closed", "reason": "finished"})
        record_many([{"table": "G01", "shoe": shoe, **line} for line in lines], actor="bench")
    open_ones = Incident.objects.filter(table=table, status="open", hand_number__isnull=False)
    for number, incident in enumerate(open_ones.order_by("pk")[:decisions]):
        do_decide_incident(incident, user, ["correct"] if number % 2 else ["void hand"], "seen by the whole table")
    day = gaming_day(venue, timezone.now())
    of_day, _made = AuditDay.objects.get_or_create(venue=venue, day=day)
    run = AuditRun.objects.create(of_day=of_day, number=99, cause="hand", changes=0, started_at=timezone.now())
    night = rejudge_table(Table.objects.select_related("venue").get(pk=table.pk), *bounds(venue, day, day))
    TableAudit.objects.create(run=run, table=table, status="done", night=night.as_json())
    begin = time.perf_counter()
    with CaptureQueriesContext(connection) as asked:
        figures = gather(run)
    spent = time.perf_counter() - begin
    print(f"{figures.decisions.decisions} decisions gathered in {spent:.2f} s, {len(asked)} statements")


class Reader(Console):
    """A manager who opens pages."""

    def __init__(self, host: str, port: int) -> None:
        import http.client
        import re

        self.connection = http.client.HTTPConnection(host, port)
        self.cookies = {}
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.ask("GET", "/login/"))
        assert token is not None
        self.ask("POST", "/login/", {"username": USER, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}, 302)


def main(times: int) -> int:
    too_slow = []
    print(f"{'a page, milliseconds':<34}{'median':>10}{'95th':>10}{'longest':>10}{'kB':>8}")
    for url in databases():
        name = "SQLite" if url == "sqlite" else "PostgreSQL"
        with scratch_database(url) as environment:
            manage(environment, "demo")
            run = [sys.executable, "-m", "benchmarks.bench_reports"]
            filled = subprocess.run(
                [*run, "--fill"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            if filled.returncode:
                raise SystemExit(filled.stderr[-2000:])
            newest, report = filled.stdout.split()[-2:]
            earlier = dt.date.fromisoformat(newest) - dt.timedelta(days=40)
            with server(environment) as (host, port, _cpu):
                reader = Reader(host, port)
                pages = {
                    "last night's report": f"/reports/{report}/",
                    "the list, this month": "/reports/",
                    "the list, a full month": f"/reports/?month={earlier:%Y-%m}",
                    "is last night done": "/reports/status/",
                }
                for words, address in pages.items():
                    page = reader.ask("GET", address)
                    spent = []
                    for _ in range(times):
                        begin = time.perf_counter()
                        page = reader.ask("GET", address)
                        spent.append((time.perf_counter() - begin) * 1000)
                    median, high = statistics.median(spent), statistics.quantiles(spent, n=20)[-1]
                    size = len(page.encode()) / 1000
                    print(
                        f"{name + ', ' + words:<34}{median:>10.1f}{high:>10.1f}{max(spent):>10.1f}{size:>8.0f}",
                        flush=True,
                    )
                    if high > LIMIT:
                        too_slow.append(f"{name}, {words}: 95th {high:.1f} ms; limit {LIMIT:.0f}")
            gathered = subprocess.run(
                [*run, "--gather", "1000"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            if gathered.returncode:
                raise SystemExit(gathered.stderr[-2000:])
            print(f"{name}, {gathered.stdout.strip()}", flush=True)
    for line in too_slow:
        print(line)
    return bool(too_slow)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "baccarat_audit.settings"
    if sys.argv[1:2] == ["--fill"]:
        fill()
    elif sys.argv[1:2] == ["--gather"]:
        timed_gather(int(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 30))

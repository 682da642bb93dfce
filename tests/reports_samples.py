"""Reports built by hand: a night on which everything happened, a quiet one, a month. The same figures on every call.

`nights()` are the tables' own figures, `figures()` what the house's report says of them; both fit each other.
`save_report()` and `save_month()` store them as the nightly audit would.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from django.utils import timezone

from dealing.models import Table, Venue
from dealing.night import (
    AmendedBy,
    ChainCheck,
    DealerTally,
    Found,
    Gap,
    HourTally,
    PaidTally,
    ShoeTally,
    TableNight,
    Unreadable,
    VoidedHand,
    WrongPaid,
)
from incidents.models import Incident
from incidents.reports.figures import (
    LISTED,
    AmenderLine,
    Attention,
    BrokenChain,
    DayLine,
    DealerLine,
    DecisionFigures,
    Departure,
    Figures,
    Flag,
    Frequency,
    Game,
    HourLine,
    MonthFigures,
    OpenIncident,
    Payout,
    Rate,
    TableGap,
    TableLine,
    TableNote,
    Undecided,
)
from incidents.reports.models import AuditDay, AuditReport, AuditRun, TableAudit

DAY: Final = dt.date(2026, 7, 11)
ZONE: Final = "Asia/Bangkok"
CODES: Final = ("B01", "B02", "B03", "B04", "B05", "B06")
DEALERS: Final = {"D101": "Somchai", "D102": "Ploy", "D103": "=Arthit", "D104": "สมหญิง", "D105": "Niran", "": ""}
#: What is found on this night, with rule, ruling and whether it is mandatory; often first.
KINDS: Final[tuple[tuple[str, list[str], str, bool], ...]] = (
    ("wrong-result-called", ["RES-wrong"], "correct", True),
    ("payout-wrong", ["PAY-wrong"], "correct", True),
    ("fifth-card-misplaced", ["INC-order"], "correct", True),
    ("card-overdrawn", ["INC-overdrawn"], "reuse card", False),
    ("bet-after-close", ["BET-close"], "void bet", False),
    ("exposed-during-draw", [], "discretion", False),
)
_EXACT: Final = {
    "banker": 0.458597,
    "player": 0.446247,
    "tie": 0.095156,
    "player_pair": 0.074699,
    "banker_pair": 0.074699,
    "natural": 0.342,
}


def begin(day: dt.date = DAY) -> dt.datetime:
    """When the gaming day begins, in the house's time."""
    return dt.datetime.combine(day, dt.time(6), tzinfo=ZoneInfo(ZONE))


def head_of(code: str, day: dt.date = DAY) -> str:
    """A head hash as the log would have it."""
    return hashlib.sha256(f"{code} {day}".encode()).hexdigest()


def _shoe(chance: random.Random, number: int, hands: int, short_of: str = "") -> ShoeTally:
    winners = "".join(chance.choices("BPT", (0.4586, 0.4462, 0.0952), k=hands))
    seen = round(hands * 4.94)
    ranks = Counter(chance.choices("A23456789TJQK", k=seen))
    if short_of:
        ranks["T"] += ranks.pop(short_of)
        ranks[short_of] = 0
    return ShoeTally(
        shoe=number,
        ruleset="commission",
        decks=8,
        closed="finished",
        hands=hands,
        cards_seen=seen,
        ranks={rank: ranks[rank] for rank in "A23456789TJQK"},
        suits=dict(Counter(chance.choices("shdc", k=seen))),
        winners=winners,
        naturals=round(hands * 0.34),
        player_pairs=round(hands * 0.075),
        banker_pairs=round(hands * 0.075),
        paired=hands,
        six_cards=round(hands * 0.31),
        five_cards=round(hands * 0.31),
    )


def _night(code: str, day: dt.date) -> TableNight:
    """A table's day: B03 pays without commission, B04 has a broken chain and gaps, B05 nothing, B06 no log at all."""
    chance = random.Random(code)
    start = begin(day)
    name = {"B01": "Dragon", "B02": "Phoenix", "B03": "มังกรทอง", "B05": "+High limit"}.get(code, "")
    night = TableNight(table=code, name=name, active=code != "B02", ruleset="commission")
    if code in ("B05", "B06"):
        if code == "B05":
            night.chain = ChainCheck(last_seq=5120, head=head_of(code, day), checked_from=5120)
        return night
    night.shoes = [_shoe(chance, shoe, 70, short_of="9" if (code, shoe) == ("B02", 3) else "") for shoe in range(1, 5)]
    night.hands = 280
    night.events = 280 * 11
    night.compared = 284
    night.statuses = {"closed": 277, "voided": 2, "unreadable": 1}
    night.chain = ChainCheck(checked_from=4000, last_seq=4000 + night.events, head=head_of(code, day))
    dealers = ["D101", "D102", "D103", "D104", ""] if code == "B01" else ["D102", "D103", "D104", "D105"]
    for number in range({"B01": 9, "B02": 4, "B03": 21, "B04": 60}[code]):
        kind, rules, ruling, mandatory = chance.choices(KINDS, (5, 4, 3, 2, 1, 1))[0]
        at = start + dt.timedelta(minutes=chance.randrange(24 * 60), seconds=chance.randrange(60))
        found = Found(
            shoe=1 + number % 4,
            hand=1 + chance.randrange(70) if number else 0,
            at=at,
            seq=4001 + number * 40,
            code=kind,
            rules=list(rules),
            ruling=ruling,
            mandatory=mandatory,
            state="corrected" if number % 5 == 4 else "open",
            dealer=chance.choice(dealers),
        )
        night.findings.append(found)
        if kind == "payout-wrong":
            stake = Decimal(chance.randrange(1, 40) * 500)
            night.payouts.append(
                WrongPaid(
                    shoe=found.shoe,
                    hand=found.hand or 1,
                    at=at,
                    seat=1 + number % 7,
                    bet="banker",
                    owed=stake * Decimal("0.95"),
                    paid=stake if code == "B03" or number % 2 else stake * Decimal("0.90"),
                    corrected=number % 4 == 0,
                    without_commission=code == "B03",
                    dealer=found.dealer,
                )
            )
    night.findings.sort(key=lambda one: one.at)
    night.payouts.sort(key=lambda one: one.at)
    night.paid = {
        "banker": PaidTally(
            won=240,
            wrong=len(night.payouts),
            without_commission=sum(one.without_commission for one in night.payouts),
            difference=sum((one.paid - one.owed for one in night.payouts), Decimal("0.00")),
        ),
        "player": PaidTally(won=231),
    }
    night.voided = [
        VoidedHand(
            shoe=2,
            hand=17,
            at=start + dt.timedelta(hours=5),
            scope="hand",
            reason="Cards seen by seat 3; =HYPERLINK was typed here",
            stakes=Decimal("4500.00"),
            owed=Decimal("1900.00"),
            lost=Decimal("2500.00"),
            dealer=dealers[0],
        ),
        VoidedHand(
            shoe=3,
            hand=40,
            at=start + dt.timedelta(hours=9),
            scope="insurance",
            reason="INS-void",
            stakes=Decimal("800.00"),
        ),
    ]
    per_dealer: dict[str, Counter[str]] = {dealer: Counter() for dealer in dealers}
    per_hour: list[Counter[str]] = [Counter() for _ in range(24)]
    for one in night.findings:
        per_dealer[one.dealer][one.code] += 1
        per_hour[int((one.at - start).total_seconds() // 3600)][one.code] += 1
    share = night.hands // len(dealers)
    night.dealers = [DealerTally(dealer=dealer, hands=share, codes=dict(codes)) for dealer, codes in per_dealer.items()]
    night.hours = [
        HourTally(begins=start + dt.timedelta(hours=hour), hands=11 + (hour < 16), codes=dict(codes))
        for hour, codes in enumerate(per_hour)
    ]
    night.amendments = [AmendedBy(person="NOK", corrected=3, withdrawn=1), AmendedBy(person="@lek", corrected=1)]
    if code == "B04":
        night.chain.broken_at = 4711
        night.chain.problem = "its hash does not match its content"
        night.gaps = [Gap(shoe=2, first=31, last=33), Gap(first=5, last=5)]
        night.differences = ["B04 shoe 2 hand 14: winner, has_findings, audit differ from what the log says"]
        night.unreadable = [
            Unreadable(seq=4802, problem="place: 'P4' is not one of P1, B1, P2, B2, P3, B3", shoe=2, hand=15),
            Unreadable(seq=4803, problem="event: one JSON object a line is wanted"),
        ]
    return night


def nights(day: dt.date = DAY) -> list[TableNight]:
    """The six tables' own figures."""
    return [_night(code, day) for code in CODES]


def _table_lines(of: Sequence[TableNight]) -> list[TableLine]:
    return [
        TableLine(
            code=night.table,
            name=night.name,
            active=night.active,
            ruleset=night.ruleset,
            events=night.events,
            hands=night.hands,
            findings=len(night.findings),
            codes=dict(Counter(one.code for one in night.findings).most_common()),
            voided=night.statuses.get("voided", 0),
            unreadable=len(night.unreadable),
            last_seq=night.chain.last_seq,
            head=night.chain.head,
            chain_whole=night.chain.whole,
        )
        for night in of
    ]


def _dealer_lines(of: Sequence[TableNight]) -> list[DealerLine]:
    hands: Counter[str] = Counter()
    codes: dict[str, Counter[str]] = {}
    for tally in (tally for night in of for tally in night.dealers):
        hands[tally.dealer] += tally.hands
        codes.setdefault(tally.dealer, Counter()).update(tally.codes)
    return [
        DealerLine(dealer=one, name=DEALERS[one], hands=hands[one], findings=codes[one].total(), codes=dict(codes[one]))
        for one in sorted(hands, key=lambda one: -codes[one].total())
    ]


def _frequencies(hands: int, lean: int = 0) -> list[Frequency]:
    out = []
    for name, probability in _EXACT.items():
        spread = 1.96 * (probability * (1 - probability) / hands) ** 0.5
        count = round(hands * probability) + (lean if name == "tie" else 0)
        low, high = probability - spread, probability + spread
        out.append(Frequency(name=name, count=count, of=hands, probability=probability, low=low, high=high))
    return out


def _rates(tables: Sequence[TableLine], dealers: Sequence[DealerLine], codes: dict[str, int]) -> list[Rate]:
    hands, findings = sum(one.hands for one in tables), sum(one.findings for one in tables)
    lines = [
        Rate(
            of="all",
            name="",
            count=findings,
            hands=hands,
            rate=findings / hands * 1000,
            before_count=1512,
            before_hands=33600,
            before_rate=45.0,
            ratio=findings / hands * 1000 / 45,
            low=1.55,
            high=2.3,
            change="more",
        )
    ]
    for of, name, count, among in (
        *(("code", code, n, hands) for code, n in codes.items()),
        *(("table", one.code, one.findings, one.hands) for one in tables if one.hands),
        *(("dealer", one.dealer, one.findings, one.hands) for one in dealers),
    ):
        rate = count / among * 1000
        lines.append(
            Rate(
                of=of,
                name=name,
                count=count,
                hands=among,
                rate=rate,
                before_count=among // 10,
                before_hands=among * 20,
                before_rate=5.0,
                ratio=rate / 5,
                low=rate / 5 * 0.6,
                high=rate / 5 * 1.7,
                change="more" if rate / 5 * 0.6 > 3 else "",
            )
        )
    lines.append(
        Rate(
            of="dealer",
            name="D109",
            count=0,
            hands=0,
            rate=None,
            before_count=0,
            before_hands=0,
            before_rate=None,
            ratio=None,
            low=None,
            high=None,
        )
    )
    return lines


def _flags() -> list[Flag]:
    return [
        Flag(
            test="ranks",
            subject="shoe",
            table="B02",
            shoe=3,
            observed=0,
            expected=26.6,
            p=3e-12,
            q=9e-10,
            detail={"rank": "9"},
        ),
        Flag(test="commission", subject="table", table="B03", observed=9, expected=0.5, p=1e-8, q=2e-6),
        Flag(test="dealer", subject="dealer", dealer="D103", observed=31, expected=12.4, p=4e-6, q=3e-4),
    ]


def _decisions() -> DecisionFigures:
    return DecisionFigures(
        decisions=12,
        actions={"correct": 6, "void hand": 4, "stand": 2},
        voided_hands=4,
        void_returned=Decimal("18000.00"),
        void_owed=Decimal("7600.00"),
        void_kept=Decimal("10000.00"),
        corrected_hands=6,
        corrected=Decimal("-1250.50"),
        timed=12,
        median=214.0,
        slowest_tenth=1830.0,
        longest=7421.0,
    )


def _departures(day: dt.date) -> list[Departure]:
    at = begin(day) + dt.timedelta(hours=13, minutes=5)
    return [
        Departure(
            incident=4,
            table="B03",
            shoe=2,
            hand=17,
            decided_at=at,
            decided_by="Malee",
            actions=["void hand"],
            rulings=["correct"],
            rules=["INC-order"],
            reason="ผู้เล่นเห็นไพ่แล้วทั้งโต๊ะ จึงยกเลิกตานี้ (the whole table had seen the card)",
        )
    ]


def figures(venue: str = "RIVER", name: str = "River House", day: dt.date = DAY, *, audited: float = 41.5) -> Figures:
    """The night on which everything happened, of the tables of `nights(day)`."""
    of = nights(day)
    start = begin(day)
    ends = start + dt.timedelta(days=1)
    found = [(night.table, one) for night in of for one in night.findings]
    paid_wrongly = [(night.table, one) for night in of for one in night.payouts]
    wrong = sorted(
        (pair for pair in paid_wrongly if not pair[1].corrected),
        key=lambda pair: -abs(pair[1].paid - pair[1].owed),
    )
    put_right = [one.paid - one.owed for _table, one in paid_wrongly if one.corrected]
    differences = [one.paid - one.owed for _table, one in wrong]
    codes = dict(Counter(one.code for _table, one in found).most_common())
    tables, dealers = _table_lines(of), _dealer_lines(of)
    open_incidents = [
        OpenIncident(
            incident=number,
            table=code,
            shoe=1,
            hand=0 if number == 1 else 10 + number,
            opened_at=ends - dt.timedelta(hours=7 * number),
            age=7 * 3600 * number + 300,
            codes=["burn-missing"] if number == 1 else ["fifth-card-misplaced", "wrong-result-called"],
            of_this_day=number < 4,
        )
        for number, code in ((5, "B01"), (3, "B04"), (2, "B04"), (1, "B02"))
    ]
    undecided = [
        Undecided(table=code, shoe=one.shoe, hand=one.hand, code=one.code, at=one.at)
        for code, one in found
        if one.state == "open" and code == "B04"
    ]
    attention = Attention(
        open_incidents=[one for one in open_incidents if one.of_this_day],
        open_count=sum(one.of_this_day for one in open_incidents),
        older=[one for one in open_incidents if not one.of_this_day],
        older_count=sum(not one.of_this_day for one in open_incidents),
        departures=_departures(day),
        departure_count=1,
        undecided=undecided[:LISTED],
        undecided_count=len(undecided),
        payouts=[
            Payout(
                table=code,
                shoe=one.shoe,
                hand=one.hand,
                at=one.at,
                seat=one.seat,
                bet=one.bet,
                owed=one.owed,
                paid=one.paid,
                difference=one.paid - one.owed,
                corrected=one.corrected,
                dealer=one.dealer,
            )
            for code, one in wrong[:LISTED]
        ],
        payout_count=len(wrong),
        overpaid=sum((one for one in differences if one > 0), Decimal("0.00")),
        underpaid=-sum((one for one in differences if one < 0), Decimal("0.00")),
        overpaid_corrected=sum((one for one in put_right if one > 0), Decimal("0.00")),
        underpaid_corrected=-sum((one for one in put_right if one < 0), Decimal("0.00")),
        corrected_count=len(put_right),
        broken=[BrokenChain(table="B04", seq=4711, problem=of[3].chain.problem)],
        unreadable=[
            TableNote(table="B04", text=one.problem, seq=one.seq, shoe=one.shoe, hand=one.hand)
            for one in of[3].unreadable
        ],
        unreadable_count=2,
        differences=[TableNote(table="B04", text=text) for text in of[3].differences],
        difference_count=1,
        gaps=[TableGap(table="B04", gap=gap) for gap in of[3].gaps],
        gap_count=2,
        silent=["B05"],
        no_log=["B06"],
    )
    hours = [
        HourLine(
            begins=start + dt.timedelta(hours=hour),
            hands=sum(night.hours[hour].hands for night in of if night.hours),
            findings=sum(sum(night.hours[hour].codes.values()) for night in of if night.hours),
        )
        for hour in range(24)
    ]
    hands = sum(night.hands for night in of)
    paid: dict[str, PaidTally] = {}
    for bet, tally in (pair for night in of for pair in night.paid.items()):
        kept = paid.setdefault(bet, PaidTally())
        kept.won += tally.won
        kept.wrong += tally.wrong
        kept.without_commission += tally.without_commission
        kept.difference += tally.difference
    return Figures(
        venue=venue,
        venue_name=name,
        time_zone=ZONE,
        day=day,
        begins=start,
        ends=ends,
        hands=hands,
        events=sum(night.events for night in of),
        findings=len(found),
        voided=sum(one.voided for one in tables),
        seconds=audited,
        codes=codes,
        attention=attention,
        tables=tables,
        dealers=dealers,
        hours=hours,
        heat=[
            [sum(tally.codes.values()) for tally in night.hours] if night.hours else [0] * len(hours) for night in of
        ],
        rates=_rates(tables, dealers, codes),
        decisions=_decisions(),
        amenders=[
            AmenderLine(person="NOK", name="Nok", corrected=12, withdrawn=4),
            AmenderLine(person="@lek", name="", corrected=4, withdrawn=0),
        ],
        paid=paid,
        game=Game(
            tests=96,
            share=0.01,
            method="Benjamini-Hochberg",
            flags=_flags(),
            frequencies=_frequencies(hands, lean=9),
            by_table={night.table: _frequencies(night.hands) for night in of if night.hands},
            shoes=16,
        ),
    )


def quiet_nights(day: dt.date = DAY) -> list[TableNight]:
    """Two tables on which nothing went wrong."""
    start = begin(day)
    out = []
    for code in CODES[:2]:
        out.append(
            TableNight(
                table=code,
                ruleset="commission",
                events=660,
                hands=60,
                statuses={"closed": 60},
                compared=61,
                chain=ChainCheck(last_seq=660, head=head_of(code, day)),
                paid={"banker": PaidTally(won=28)},
                dealers=[DealerTally(dealer="D101", hands=60)],
                hours=[HourTally(begins=start + dt.timedelta(hours=h), hands=60 * (h == 3)) for h in range(24)],
                shoes=[_shoe(random.Random(code), 1, 60)],
            )
        )
    return out


def quiet(venue: str = "RIVER", name: str = "River House", day: dt.date = DAY) -> Figures:
    """The night on which nothing happened, of the tables of `quiet_nights(day)`."""
    of = quiet_nights(day)
    start = begin(day)
    return Figures(
        venue=venue,
        venue_name=name,
        time_zone=ZONE,
        day=day,
        begins=start,
        ends=start + dt.timedelta(days=1),
        hands=120,
        events=1320,
        seconds=2.0,
        tables=_table_lines(of),
        dealers=[DealerLine(dealer="D101", name="Somchai", hands=120, findings=0, codes={})],
        hours=[HourLine(begins=start + dt.timedelta(hours=h), hands=120 * (h == 3), findings=0) for h in range(24)],
        heat=[[0] * 24 for _ in of],
        paid={"banker": PaidTally(won=56)},
        game=Game(tests=24, share=0.01, method="Benjamini-Hochberg", frequencies=_frequencies(120), shoes=2),
    )


def month(venue: str = "RIVER", name: str = "River House", of: dt.date = DAY) -> MonthFigures:
    """A month: every day full or quiet in turn, two days missing."""
    first = of.replace(day=1)
    following = (first + dt.timedelta(days=31)).replace(day=1)
    full, calm = figures(venue, name, first), quiet(venue, name, first)
    dates = [first + dt.timedelta(days=n) for n in range((following - first).days)]
    missing = dates[18:20]
    lines = []
    for number, date in enumerate(date for date in dates if date not in missing):
        one = full if number % 2 else calm
        lines.append(
            DayLine(
                day=date,
                revision=2 if number == 3 else 1,
                hands=one.hands,
                events=one.events,
                findings=one.findings,
                attention=one.attention.count,
                overpaid=one.attention.overpaid,
                underpaid=one.attention.underpaid,
                chain_whole=not one.attention.broken,
            )
        )
    busy = sum(line.findings > 0 for line in lines)
    return MonthFigures(
        venue=venue,
        venue_name=name,
        time_zone=ZONE,
        month=first,
        days=lines,
        missing=missing,
        hands=sum(line.hands for line in lines),
        events=sum(line.events for line in lines),
        findings=sum(line.findings for line in lines),
        voided=full.voided * busy,
        codes={code: n * busy for code, n in full.codes.items()},
        tables=full.tables,
        dealers=full.dealers,
        rates=full.rates,
        decisions=full.decisions,
        departures=full.attention.departures,
        departure_count=full.attention.departure_count,
        overpaid=sum((line.overpaid for line in lines), Decimal("0.00")),
        underpaid=sum((line.underpaid for line in lines), Decimal("0.00")),
        overpaid_corrected=full.attention.overpaid_corrected * busy,
        underpaid_corrected=full.attention.underpaid_corrected * busy,
        corrected_count=full.attention.corrected_count * busy,
        attention=sum(line.attention for line in lines),
        open_incidents=[*full.attention.older, *full.attention.open_incidents],
        open_count=full.attention.older_count + full.attention.open_count,
        amenders=full.amenders,
        paid=full.paid,
        flags=full.game.flags,
    )


def save_run(venue: Venue, of: Sequence[TableNight], day: dt.date = DAY, *, number: int = 1) -> AuditRun:
    """A finished run of the day with these tables' figures; tables that the house lacks are made."""
    now = timezone.now()
    of_day, _made = AuditDay.objects.get_or_create(venue=venue, day=day, defaults={"audited": 0})
    run = AuditRun.objects.create(
        of_day=of_day,
        number=number,
        status=AuditRun.Status.DONE,
        cause=AuditRun.Cause.CLOSE if number == 1 else AuditRun.Cause.LATE,
        changes=of_day.changes,
        started_at=now - dt.timedelta(seconds=42),
        finished_at=now,
    )
    for night in of:
        table, _made = Table.objects.get_or_create(
            code=night.table, defaults={"venue": venue, "ruleset": "commission", "name": night.name}
        )
        TableAudit.objects.create(
            run=run,
            table=table,
            status=TableAudit.Status.DONE,
            attempts=1,
            events=night.events,
            events_done=night.events,
            seconds=7.0,
            night=night.as_json(),
        )
    return run


def save_report(
    venue: Venue,
    of: Figures | None = None,
    *,
    revision: int = 1,
    tables: Sequence[TableNight] | None = None,
) -> AuditReport:
    """Store a nightly report (without `of`: the full one); with its run where the tables' figures are given."""
    of = of or figures(venue.code, venue.name)
    run = save_run(venue, tables, of.day, number=revision) if tables is not None else None
    return AuditReport.objects.create(
        venue=venue,
        kind=AuditReport.Kind.NIGHTLY,
        day=of.day,
        revision=revision,
        run=run,
        cause=AuditRun.Cause.CLOSE if revision == 1 else AuditRun.Cause.LATE,
        made_at=timezone.now(),
        figures=of.as_json(),
        hands=of.hands,
        events=of.events,
        findings=of.findings,
        attention=of.attention.count,
        flags=len(of.game.flags),
        chain_whole=not of.attention.broken,
    )


def save_full(venue: Venue, day: dt.date = DAY, *, revision: int = 1) -> AuditReport:
    """The full night with its run and tables."""
    return save_report(venue, figures(venue.code, venue.name, day), revision=revision, tables=nights(day))


def save_month(venue: Venue, of: MonthFigures | None = None, *, revision: int = 1) -> AuditReport:
    """Store a monthly report."""
    of = of or month(venue.code, venue.name)
    return AuditReport.objects.create(
        venue=venue,
        kind=AuditReport.Kind.MONTHLY,
        day=of.month,
        revision=revision,
        cause=AuditRun.Cause.CLOSE,
        made_at=timezone.now(),
        figures=of.as_json(),
        hands=of.hands,
        events=of.events,
        findings=of.findings,
        attention=of.attention or 0,
        flags=len(of.flags),
        chain_whole=all(line.chain_whole for line in of.days),
    )


def open_incident(table: Table, hand: int = 1) -> Incident:
    """An incident that waits, for what counts them."""
    return Incident.objects.create(
        table=table, shoe_number=1, hand_number=hand, ruleset="commission", opened_at=timezone.now(), opened_seq=1
    )

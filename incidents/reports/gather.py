"""What a house's report says: the tables' nights put together, with the incidents and decisions beside them.

Everything is read in bulk. What was recorded and decided live is compared with what the log says now: a finding without
an incident, an incident with other findings than the judge's, a decision whose events the log lacks.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from dealing.gaming_days import bounds
from dealing.models import ChainWalk, Dealer, StaffMember, Table, TableEvent
from dealing.night import Found, PaidTally, TableNight
from incidents.models import Incident
from incidents.trail.walks import broken_of

from .decided import Decided, chunks, decided_in, hand_starts, listed
from .figures import (
    LISTED,
    AmenderLine,
    Attention,
    BrokenChain,
    BrokenTrail,
    DealerLine,
    Figures,
    HourLine,
    OpenIncident,
    Payout,
    Rate,
    TableGap,
    TableLine,
    TableNote,
    Undecided,
)
from .models import AuditReport, AuditRun, TableAudit
from .problem_words import placed
from .rates import Counted, compare
from .selectors import NIGHTLY, latest

HOUR: Final = dt.timedelta(hours=1)
#: Rates are compared with so many days before.
DAYS_BEFORE: Final = 30
#: Conditions joined in one statement: SQLite takes no deeper ones.
JOINED: Final = 100

#: A hand by its table's primary key, its shoe's and its own number; `None` beside the hands.
Place = tuple[int, int, int | None]


def gather(run: AuditRun) -> Figures:
    """The report of a run whose tables' parts are done, or have failed for good. Reads only."""
    return _Gathered(run).figures()


@dataclass
class _Gathered:
    run: AuditRun

    def __post_init__(self) -> None:
        self.now = timezone.now()
        self.day, self.venue = self.run.of_day.day, self.run.of_day.venue
        begins, ends = bounds(self.venue, self.day, self.day)
        self.span = begins, ends
        # Between times of one zone Python takes the clock's word for it: a day of 25 hours would have 24.
        self.begins = begins.astimezone(dt.UTC)
        self.hours = max(1, -(-(ends.astimezone(dt.UTC) - self.begins) // HOUR))
        self.parts = list(self.run.tables.select_related("table").order_by("table__code"))
        self.nights: dict[int, TableNight] = {
            part.table_id: part.read_night()
            for part in self.parts
            if part.status == TableAudit.Status.DONE and part.night is not None
        }
        walks = ChainWalk.objects.filter(table__venue=self.venue).select_related("table").order_by("table__code")
        self.walks = {walk.table.code: walk for walk in walks}

    def figures(self) -> Figures:
        from .statistics import judge_game

        nights = list(self.nights.values())
        tables, dealers, hours, heat = self._tables(), self._dealers(), self._hours(), self._heat()
        codes = _most_common(one.code for night in nights for one in night.findings)
        hands = sum(night.hands for night in nights)
        decided = decided_in(self.venue, self.span)
        return Figures(
            venue=self.venue.code,
            venue_name=self.venue.name,
            time_zone=self.venue.time_zone,
            day=self.day,
            begins=self.span[0],
            ends=self.span[1],
            hands=hands,
            events=sum(night.events for night in nights),
            findings=sum(codes.values()),
            voided=sum(line.voided for line in tables),
            seconds=round(max(0.0, (self.now - self.run.started_at).total_seconds()), 1),
            codes=codes,
            attention=self._attention(decided),
            tables=tables,
            dealers=dealers,
            hours=hours,
            heat=heat,
            rates=rates_before(self.run, hands, codes, tables, dealers),
            decisions=decided.figures,
            amenders=self._amenders(),
            paid=added_pays(night.paid for night in nights),
            game=judge_game(nights),
        )

    # Figures.

    @cached_property
    def shown(self) -> list[TableNight]:
        """The tables that have a row: those in use, and those on which something happened."""
        return [night for night in self.nights.values() if night.active or night.events]

    def _tables(self) -> list[TableLine]:
        broken = {one.table for one in self._broken()}
        return [
            TableLine(
                code=night.table,
                name=night.name,
                active=night.active,
                ruleset=night.ruleset,
                events=night.events,
                hands=night.hands,
                findings=len(night.findings),
                codes=_most_common(one.code for one in night.findings),
                voided=night.statuses.get("voided", 0),
                unreadable=len(night.unreadable),
                last_seq=night.chain.last_seq,
                head=night.chain.head,
                chain_whole=night.table not in broken,
                checked_from=night.chain.checked_from,
                walked_at=self._walked_at(night.table),
            )
            for night in self.shown
        ]

    def _walked_at(self, table: str) -> dt.datetime | None:
        walk = self.walks.get(table)
        return None if walk is None else walk.walked_at.astimezone(self.venue.zone)

    def _dealers(self) -> list[DealerLine]:
        hands: Counter[str] = Counter()
        codes: dict[str, Counter[str]] = {}
        for tally in (tally for night in self.nights.values() for tally in night.dealers):
            hands[tally.dealer] += tally.hands
            codes.setdefault(tally.dealer, Counter()).update(tally.codes)
        names = dict(Dealer.objects.filter(venue=self.venue).values_list("code", "name"))
        lines = [
            DealerLine(
                dealer=dealer,
                name=names.get(dealer, ""),
                hands=hands[dealer],
                findings=found.total(),
                codes=dict(found.most_common()),
            )
            for dealer, found in codes.items()
        ]
        return sorted(lines, key=lambda line: (-line.findings, line.dealer))

    def _hours(self) -> list[HourLine]:
        hands, findings = [0] * self.hours, [0] * self.hours
        for night in self.nights.values():
            for tally in night.hours:
                at = self._hour(tally.begins)
                hands[at] += tally.hands
                findings[at] += sum(tally.codes.values())
        return [
            HourLine(
                begins=(self.begins + at * HOUR).astimezone(self.venue.zone), hands=hands[at], findings=findings[at]
            )
            for at in range(self.hours)
        ]

    def _heat(self) -> list[list[int]]:
        rows = []
        for night in self.shown:
            row = [0] * self.hours
            for tally in night.hours:
                row[self._hour(tally.begins)] += sum(tally.codes.values())
            rows.append(row)
        return rows

    def _hour(self, at: dt.datetime) -> int:
        """Which hour of the day; what lies outside counts to the nearest."""
        return min(max((at.astimezone(dt.UTC) - self.begins) // HOUR, 0), self.hours - 1)

    def _amenders(self) -> list[AmenderLine]:
        corrected: Counter[str] = Counter()
        withdrawn: Counter[str] = Counter()
        for one in (one for night in self.nights.values() for one in night.amendments):
            corrected[one.person] += one.corrected
            withdrawn[one.person] += one.withdrawn
        people = set(corrected) | set(withdrawn)
        names = names_of(people)
        lines = [
            AmenderLine(
                person=person, name=names.get(person, ""), corrected=corrected[person], withdrawn=withdrawn[person]
            )
            for person in people
        ]
        return sorted(lines, key=lambda line: (-line.corrected - line.withdrawn, line.person))

    # What wants attention.

    def _attention(self, decided: Decided) -> Attention:
        waiting = self._open_incidents()
        undecided, otherwise = self._compared()
        every = self._payouts()
        payouts = [one for one in every if not one.corrected]
        put_right = [one.difference for one in every if one.corrected]
        differences = [
            *(
                placed(TableNote(table=night.table, text=text))
                for night in self.nights.values()
                for text in night.differences
            ),
            *otherwise,
            *decided.missing,
        ]
        unreadable = [
            TableNote(table=night.table, text=one.problem, seq=one.seq, shoe=one.shoe, hand=one.hand)
            for night in self.nights.values()
            for one in night.unreadable
        ]
        gaps = [TableGap(table=night.table, gap=gap) for night in self.nights.values() for gap in night.gaps]
        silent, no_log = self._silent()
        apart = [one.difference for one in payouts]
        trails = [BrokenTrail(of=of, seq=seq, problem=problem) for of, seq, problem in broken_of(self.venue)]
        of_this_day, before = waiting.filter(opened_at__gte=self.span[0]), waiting.filter(opened_at__lt=self.span[0])
        return Attention(
            open_incidents=self._listed_incidents(of_this_day),
            open_count=of_this_day.count(),
            older=self._listed_incidents(before),
            older_count=before.count(),
            departures=listed(decided.departures),
            departure_count=len(decided.departures),
            undecided=listed(undecided),
            undecided_count=len(undecided),
            payouts=listed(payouts),
            payout_count=len(payouts),
            overpaid=_too_much(apart),
            underpaid=_too_much(-one for one in apart),
            overpaid_corrected=_too_much(put_right),
            underpaid_corrected=_too_much(-one for one in put_right),
            corrected_count=len(put_right),
            broken=self._broken(),
            trails=listed(trails),
            trail_count=len(trails),
            unreadable=listed(unreadable),
            unreadable_count=len(unreadable),
            differences=listed(differences),
            difference_count=len(differences),
            gaps=listed(gaps),
            gap_count=len(gaps),
            silent=silent,
            no_log=no_log,
            failed=[
                TableNote(table=part.table.code, text=part.error or "its part of the audit was not done")
                for part in self.parts
                if part.table_id not in self.nights
            ],
        )

    def _broken(self) -> list[BrokenChain]:
        """The breaks that this audit found, and those that the last whole walk did, at any table of the house."""
        found = [
            BrokenChain(table=night.table, seq=night.chain.broken_at, problem=night.chain.problem)
            for night in self.nights.values()
            if not night.chain.whole
        ]
        known = {(one.table, one.seq) for one in found}
        return found + [
            BrokenChain(table=table, seq=walk.broken_at, problem=walk.problem)
            for table, walk in self.walks.items()
            if walk.problem and (table, walk.broken_at) not in known
        ]

    def _open_incidents(self) -> QuerySet[Incident]:
        """What waits for a decision, of this day and of those before, the oldest first."""
        return Incident.objects.filter(
            table__venue=self.venue, status=Incident.Status.OPEN, opened_at__lt=self.span[1]
        ).order_by("opened_at", "pk")

    def _listed_incidents(self, waiting: QuerySet[Incident]) -> list[OpenIncident]:
        shown = waiting.select_related("table").prefetch_related("findings")[:LISTED]
        return [
            OpenIncident(
                incident=one.pk,
                table=one.table.code,
                shoe=one.shoe_number,
                hand=one.hand_number or 0,
                opened_at=one.opened_at.astimezone(self.venue.zone),
                age=max(0, int((self.now - one.opened_at).total_seconds())),
                codes=list(dict.fromkeys(found.code for found in one.findings.all())),
                of_this_day=one.opened_at >= self.span[0],
            )
            for one in shown
        ]

    def _payouts(self) -> list[Payout]:
        """Wrong payments, put right since or not, the most money first."""
        wrong = [
            Payout(
                table=night.table,
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
            for night in self.nights.values()
            for one in night.payouts
        ]
        return sorted(wrong, key=lambda one: (-abs(one.difference), one.at))

    def _silent(self) -> tuple[list[str], list[str]]:
        """Tables in use without an event of the day, and those without any; a table that came later is neither."""
        failed = {part.table_id for part in self.parts} - set(self.nights)
        busy = {pk for pk, night in self.nights.items() if night.events}
        tables = Table.objects.filter(venue=self.venue, is_active=True).exclude(pk__in=failed)
        still = [table for table in tables.order_by("code") if table.pk not in busy]
        first = dict(TableEvent.objects.filter(table__in=still, seq=1).values_list("table", "at"))
        without = [table.code for table in still if table.pk not in first]
        quiet = [table.code for table in still if table.pk in first and first[table.pk] < self.span[1]]
        return quiet, without

    # What was recorded live, against what the log says now.

    def _compared(self) -> tuple[list[Undecided], list[TableNote]]:
        """Findings that no incident knows, and incidents that know other ones than the judge finds."""
        judged: dict[Place, list[Found]] = {}
        for pk, night in self.nights.items():
            for one in night.findings:
                judged.setdefault((pk, one.shoe, one.hand or None), []).append(one)
        kept = {incident.place: incident for incident in self._recorded(judged)}
        undecided: list[Undecided] = []
        otherwise: list[TableNote] = []
        for place, findings in judged.items():
            known = Counter(kept[place].codes) if place in kept else Counter()
            for one in findings:
                if known[one.code]:
                    known[one.code] -= 1
                else:
                    undecided.append(
                        Undecided(
                            table=self.nights[place[0]].table, shoe=one.shoe, hand=one.hand, code=one.code, at=one.at
                        )
                    )
        doubtful = [one for one in kept.values() if one.more_than(judged.get(one.place, ()))]
        for incident in (*self._of_the_day(doubtful), *self._worded_otherwise(kept, judged)):
            otherwise.append(self._note(incident, judged.get(incident.place, ())))
        undecided.sort(key=lambda one: (one.at, one.table))
        return undecided, otherwise

    def _recorded(self, judged: Mapping[Place, Sequence[Found]]) -> Iterator[_Recorded]:
        """The incidents of the shoes that were dealt from on the day, with their findings."""
        shoes: dict[int, set[int]] = {pk: {one.shoe for one in night.shoes} for pk, night in self.nights.items()}
        for table, shoe, _hand in judged:
            shoes[table].add(shoe)
        conditions = [
            Q(table=table, shoe_number__range=(min(numbers), max(numbers)))
            for table, numbers in shoes.items()
            if numbers
        ]
        names = ("code", "state", "ruling", "mandatory", "rules", "seq")
        for begin in range(0, len(conditions), JOINED):
            some = Q()
            for condition in conditions[begin : begin + JOINED]:
                some |= condition
            rows = Incident.objects.filter(some).order_by("pk", "findings__position")
            asked = ("pk", "table_id", "shoe_number", "hand_number", "opened_at")
            incident: _Recorded | None = None
            for pk, table, shoe, hand, at, *finding in rows.values_list(*asked, *(f"findings__{n}" for n in names)):
                if incident is None or incident.pk != pk:
                    if incident is not None:
                        yield incident
                    incident = _Recorded(pk, (table, shoe, hand), at, [])
                if finding[0] is not None:
                    incident.findings.append(dict(zip(names, finding, strict=True)))
            if incident is not None:
                yield incident

    def _of_the_day(self, doubtful: Sequence[_Recorded]) -> Iterator[_Recorded]:
        """Those of them that belong to the day: a shoe can have begun on the day before."""
        begins, ends = self.span
        began = hand_starts([one.pk for one in doubtful if one.place[2] is not None])
        beside = [one for one in doubtful if one.place[2] is None]
        seqs = {(one.place[0], finding["seq"][-1]) for one in beside for finding in one.findings if finding["seq"]}
        times: dict[tuple[int, int], dt.datetime] = {}
        for some in chunks(sorted(seqs)):
            found = TableEvent.objects.filter(table__in={t for t, _ in some}, seq__in={seq for _, seq in some})
            times |= {(table, seq): at for table, seq, at in found.values_list("table_id", "seq", "at")}
        for one in doubtful:
            if one.place[2] is None:
                here = [
                    finding
                    for finding in one.findings
                    if finding["seq"] and begins <= times.get((one.place[0], finding["seq"][-1]), ends) < ends
                ]
                one.findings[:] = here
                if one.more_than(self._beside(one.place)):
                    yield one
            elif begins <= began.get(one.pk, one.opened_at) < ends:
                yield one

    def _beside(self, place: Place) -> list[Found]:
        return [one for one in self.nights[place[0]].findings if one.shoe == place[1] and not one.hand]

    @staticmethod
    def _worded_otherwise(
        kept: Mapping[Place, _Recorded], judged: Mapping[Place, Sequence[Found]]
    ) -> Iterator[_Recorded]:
        """Incidents of hands with the same findings of which something else is said: their state, rules or ruling."""
        for place, findings in judged.items():
            incident = kept.get(place)
            if incident is None or place[2] is None or Counter(incident.codes) != Counter(one.code for one in findings):
                continue
            now = sorted((one.code, one.state, one.ruling, one.mandatory, tuple(one.rules)) for one in findings)
            then = sorted(
                (one["code"], one["state"], one["ruling"], one["mandatory"], tuple(one["rules"]))
                for one in incident.findings
            )
            if now != then:
                yield incident

    def _note(self, incident: _Recorded, findings: Sequence[Found]) -> TableNote:
        def told(given: Iterable[tuple[str, str, str]]) -> str:
            return ", ".join(f"{code} ({state}: {ruling})" for code, state, ruling in given) or "nothing"

        table, shoe, hand = incident.place
        kept = told((one["code"], one["state"], one["ruling"]) for one in incident.findings)
        now = told((one.code, one.state, one.ruling) for one in findings)
        return TableNote(
            table=self.nights[table].table,
            text=f"incident {incident.pk} has {kept}; the log says {now}",
            shoe=shoe,
            hand=hand,
        )


@dataclass
class _Recorded:
    """An incident as it was recorded live."""

    pk: int
    place: Place
    opened_at: dt.datetime
    findings: list[dict[str, Any]]

    @property
    def codes(self) -> list[str]:
        return [one["code"] for one in self.findings]

    def more_than(self, judged: Iterable[Found]) -> bool:
        """Whether it has findings that the judge does not (any more) make."""
        return bool(Counter(self.codes) - Counter(one.code for one in judged))


def _too_much(of: Iterable[Decimal]) -> Decimal:
    """The positive ones, added up."""
    return sum((one for one in of if one > 0), Decimal("0.00"))


def _most_common(codes: Iterable[str]) -> dict[str, int]:
    return dict(Counter(codes).most_common())


def added_pays(of: Iterable[Mapping[str, PaidTally]]) -> dict[str, PaidTally]:
    """The pays of each bet, added up."""
    out: dict[str, PaidTally] = {}
    for bet, tally in (pair for paid in of for pair in paid.items()):
        kept = out.setdefault(bet, PaidTally())
        kept.won += tally.won
        kept.wrong += tally.wrong
        kept.without_commission += tally.without_commission
        kept.difference += tally.difference
    return out


def names_of(people: Iterable[str]) -> dict[str, str]:
    """The names of people as the log writes them: a staff code, else a log-in."""
    people = set(people)
    staff = StaffMember.objects.filter(code__in=people).select_related("user")
    names = {member.code: member.user.get_full_name() for member in staff}
    log_ins = User.objects.filter(username__in=people - set(names))
    return names | {user.username: user.get_full_name() for user in log_ins}


# Against the days before.


def rates_before(
    run: AuditRun,
    hands: int,
    codes: Mapping[str, int],
    tables: Sequence[TableLine],
    dealers: Sequence[DealerLine],
) -> list[Rate]:
    """The rates against those of the 30 days before, from their latest reports; one statement."""
    day = run.of_day.day
    reports = AuditReport.objects.filter(
        venue=run.of_day.venue, kind=NIGHTLY, day__gte=day - dt.timedelta(days=DAYS_BEFORE), day__lt=day
    )
    return compared_rates(reports, hands, codes, tables, dealers)


def compared_rates(
    reports: QuerySet[AuditReport],
    hands: int,
    codes: Mapping[str, int],
    tables: Sequence[TableLine],
    dealers: Sequence[DealerLine],
) -> list[Rate]:
    """The rates of the house, of each finding, table and dealer against those of the reports' latest revisions."""
    before_hands = 0
    before_codes: Counter[str] = Counter()
    per_table: dict[str, list[int]] = {}
    per_dealer: dict[str, list[int]] = {}
    asked = ("hands", "figures__codes", "figures__tables", "figures__dealers")
    for dealt, found, of_tables, of_dealers in latest(reports).order_by().values_list(*asked):
        before_hands += dealt
        before_codes.update(found)
        for kept, lines, name in ((per_table, of_tables, "code"), (per_dealer, of_dealers, "dealer")):
            for line in lines:
                total = kept.setdefault(line[name], [0, 0])
                total[0] += line["findings"]
                total[1] += line["hands"]
    lines = [Counted("all", "", sum(codes.values()), hands, before_codes.total(), before_hands)]
    for code in sorted({*codes, *before_codes}, key=lambda code: (-codes.get(code, 0), code)):
        lines.append(Counted("code", code, codes.get(code, 0), hands, before_codes[code], before_hands))
    for table in tables:
        lines.append(Counted("table", table.code, table.findings, table.hands, *per_table.get(table.code, (0, 0))))
    for dealer in dealers:
        if dealer.dealer:
            before = per_dealer.get(dealer.dealer, (0, 0))
            lines.append(Counted("dealer", dealer.dealer, dealer.findings, dealer.hands, *before))
    return compare(lines)

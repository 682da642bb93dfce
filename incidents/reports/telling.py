"""A report in words, in the language that is active: what the PDF, the sheets and the mail all say of its figures.

Nothing is worked out here. `tell(report)` gives groups of what wants attention and tables of figures; each of the
three only sets them in its own way. Times are of the house, in the years of the person they are written for.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from dealing import dates, wording
from dealing.night import PaidTally

from . import problem_words, trail_words
from .figures import (
    Attention,
    DealerLine,
    DecisionFigures,
    Departure,
    Figures,
    Flag,
    MonthFigures,
    OpenIncident,
    Payout,
    Rate,
    TableLine,
    TableNote,
)
from .game_wording import flag_words
from .models import AuditReport

DASH: Final = "–"


@dataclass(frozen=True)
class Line:
    """One thing that wants attention: where it was, what it is, and an amount or an age. `language`: of the text, where
    that is not the page's.
    """

    where: str
    text: str
    aside: str = ""
    incident: int | None = None
    language: str = ""


@dataclass(frozen=True)
class Group:
    """Things of one kind that want attention; `count` of them, of which `lines` names the first.

    `waiting`: they wait since before the day, and are not among what the day's report counts.
    """

    key: str
    title: str
    count: int
    lines: Sequence[Line]
    waiting: bool = False

    @property
    def more(self) -> str:
        """How many are not named; empty for none."""
        return more_text(self.count - len(self.lines))

    def first(self, number: int) -> Group:
        """The same with so many lines at most."""
        return replace(self, lines=self.lines[:number])


@dataclass(frozen=True)
class Sheet:
    """A table of figures; `numbers`: which columns stand to the right."""

    key: str
    title: str
    head: Sequence[str]
    numbers: Sequence[bool]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Told:
    """A report in words. `flags`: what is said of the game itself; `heads`: the end of each table's log."""

    title: str
    house: str
    period: str
    revision: str
    summary: str
    facts: Sequence[tuple[str, str]]
    groups: Sequence[Group]
    flags: Group
    sheets: Sequence[Sheet]
    heads: Sheet
    notes: Sequence[str] = field(default_factory=tuple)


def more_text(number: int) -> str:
    """`and 3 more`; empty for none."""
    return ngettext("and %(n)d more", "and %(n)d more", number) % {"n": number} if number > 0 else ""


def number(value: float | Decimal, digits: int = 0) -> str:
    """A number with its thousands apart: `12,345`, `4.50`."""
    rounded = round(Decimal(value), digits)
    sign = "−" if rounded < 0 else ""
    return sign + number_format(abs(rounded), decimal_pos=digits, use_l10n=True, force_grouping=True)


def amount(value: Decimal | None, *, signed: bool = False) -> str:
    """Money, to the hundredth: `1,250.50`; `signed` writes the plus too."""
    if value is None:
        return DASH
    plus = "+" if signed and value > 0 else ""
    return plus + number(value, 2)


def span(seconds: float | None) -> str:
    """How long, in its two largest units: `3 d 4 h`, `2 h 5 min`, `40 s`; a dash for None."""
    if seconds is None:
        return DASH
    whole = round(seconds)
    if whole < 60:
        return _("%(n)d s") % {"n": whole}
    minutes, hours, days = whole // 60 % 60, whole // 3600 % 24, whole // 86400
    if days:
        return _("%(days)d d %(hours)d h") % {"days": days, "hours": hours}
    if hours:
        return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}
    return _("%(n)d min") % {"n": minutes}


def place(table: str, shoe: int | None = None, hand: int | None = None) -> str:
    """`B01 shoe 2 hand 14`, `B01 shoe 2`, `B01`."""
    if shoe is None:
        return table
    if not hand:
        return _("%(table)s shoe %(shoe)d") % {"table": table, "shoe": shoe}
    return _("%(table)s shoe %(shoe)d hand %(hand)d") % {"table": table, "shoe": shoe, "hand": hand}


def day_slug(report: AuditReport) -> str:
    """The day as it stands in addresses: `2026-07-11`, or `2026-07` for a month."""
    return f"{report.day:%Y-%m}" if report.kind == AuditReport.Kind.MONTHLY else report.day.isoformat()


def page_path(report: AuditReport) -> str:
    """The address of the report's page, within this site."""
    return reverse("reports:report", args=[report.pk])


def month_name(first: dt.date) -> str:
    """`2026-07`, or `2569-07` for a person who counts so."""
    year = first.year + (dates.BUDDHIST_ERA if dates.buddhist() else 0)
    return f"{year}-{first:%m}"


def titles(codes: Iterable[str]) -> str:
    """The findings with these codes by their titles, each once."""
    return " · ".join(dict.fromkeys(map(wording.finding_title, codes)))


def dealer_name(code: str, name: str = "") -> str:
    """`D101 Somchai`; words for nobody known."""
    return f"{code} {name}".rstrip() if code else _("not known")


def tell(report: AuditReport) -> Told:
    """The report in words."""
    if report.kind == AuditReport.Kind.MONTHLY:
        return _monthly(report, report.monthly)
    return _nightly(report, report.nightly)


def revision_text(report: AuditReport) -> str:
    """`Revision 2: entries came late`; the first one says only its number."""
    said = _("Revision %(number)d") % {"number": report.revision}
    return said if report.revision == 1 else f"{said} ({report.get_cause_display()})"


def summary(report: AuditReport) -> str:
    """The report in one line; a month counts its nights, for what wanted attention then may long be done."""
    if report.kind == AuditReport.Kind.MONTHLY and report.attention:
        days = report.monthly.days
        busy = sum(1 for line in days if line.attention)
        return ngettext(
            "Something wanted attention on %(n)d night of %(all)d",
            "Something wanted attention on %(n)d nights of %(all)d",
            busy,
        ) % {"n": busy, "all": len(days)}
    if report.attention:
        return ngettext("%(n)s thing wants attention", "%(n)s things want attention", report.attention) % {
            "n": number(report.attention)
        }
    if report.flags:
        return ngettext(
            "%(n)s test says that something is not chance",
            "%(n)s tests say that something is not chance",
            report.flags,
        ) % {"n": number(report.flags)}
    if not report.hands:
        return _("No hand was dealt")
    return _("Nothing wants attention")


def period_text(figures: Figures) -> str:
    """`2026-07-11, from 2026-07-11 06:00 to 2026-07-12 06:00 (Asia/Bangkok)`."""
    zone = ZoneInfo(figures.time_zone)
    return _("%(day)s, from %(begins)s to %(ends)s (%(zone)s)") % {
        "day": dates.day(figures.day),
        "begins": dates.minute(figures.begins.astimezone(zone)),
        "ends": dates.minute(figures.ends.astimezone(zone)),
        "zone": figures.time_zone,
    }


def page_sheets(figures: Figures | MonthFigures, rates: Sequence[Rate]) -> list[Sheet]:
    """The sheets that a page takes over as they are, of the rates only these; the heads of the logs come last."""
    return [
        _decided(figures.decisions),
        _paid(figures.paid),
        _amenders(figures),
        _rates(rates, figures.dealers, monthly=isinstance(figures, MonthFigures)),
        _heads(figures.tables),
    ]


def put_right(money: Decimal) -> str:
    """`650.00 put right since`: of wrong payments."""
    return _("%(amount)s put right since") % {"amount": amount(money)}


def _facts(figures: Figures | MonthFigures, report: AuditReport, zone: ZoneInfo) -> list[tuple[str, str]]:
    money = figures.attention if isinstance(figures, Figures) else figures
    corrected = money.overpaid_corrected + money.underpaid_corrected
    return [
        (_("Hands"), number(figures.hands)),
        (_("Findings"), number(figures.findings)),
        (_("Findings for 1,000 hands"), _per_thousand(figures.findings, figures.hands)),
        (_("Void hands"), number(figures.voided)),
        (_("Paid too much, still"), amount(money.overpaid)),
        (_("Paid too little, still"), amount(money.underpaid)),
        *([(_("Paid wrongly, put right since"), amount(corrected))] if money.corrected_count else []),
        (_("Events"), number(figures.events)),
        (_("Made"), dates.minute(report.made_at.astimezone(zone))),
    ]


def _per_thousand(count: int, hands: int) -> str:
    return number(count / hands * 1000, 2) if hands else DASH


def _nightly(report: AuditReport, figures: Figures) -> Told:
    zone = ZoneInfo(figures.time_zone)
    attention = figures.attention
    facts = _facts(figures, report, zone)
    facts.append((_("Audited in"), span(figures.seconds)))
    notes = []
    if attention.silent:
        notes.append(
            _("Tables in use without an event of this day: %(tables)s") % {"tables": ", ".join(attention.silent)}
        )
    return Told(
        title=_("Nightly report"),
        house=figures.venue_name,
        period=period_text(figures),
        revision=revision_text(report),
        summary=summary(report),
        facts=facts,
        groups=[group for group in attention_groups(attention, zone) if group.count],
        flags=flag_group(figures.game.flags),
        sheets=[
            _codes(figures.codes, figures.hands),
            _tables(figures.tables),
            _dealers(figures.dealers),
            Sheet(
                "hours",
                _("By hour"),
                [_("Hour"), _("Hands"), _("Findings"), _("For 1,000 hands")],
                [False, True, True, True],
                [
                    [
                        f"{hour.begins.astimezone(zone):%H:%M}",
                        number(hour.hands),
                        number(hour.findings),
                        _per_thousand(hour.findings, hour.hands),
                    ]
                    for hour in figures.hours
                ],
            ),
            _rates(figures.rates, figures.dealers),
            _decided(figures.decisions),
            _paid(figures.paid),
            _amenders(figures),
        ],
        heads=_heads(figures.tables),
        notes=notes,
    )


def _monthly(report: AuditReport, figures: MonthFigures) -> Told:
    zone = ZoneInfo(figures.time_zone)
    notes = []
    if figures.missing:
        notes.append(_("Days without a report: %(days)s") % {"days": ", ".join(map(dates.day, figures.missing))})
    return Told(
        title=_("Monthly report"),
        house=figures.venue_name,
        period=f"{month_name(figures.month)} ({figures.time_zone})",
        revision=revision_text(report),
        summary=summary(report),
        facts=_facts(figures, report, zone),
        groups=[group for group in month_groups(figures) if group.count],
        flags=flag_group(figures.flags),
        sheets=[
            Sheet(
                "days",
                _("By day"),
                [
                    _("Day"),
                    _("Revision"),
                    _("Hands"),
                    _("Findings"),
                    _("Wants attention"),
                    _("Paid too much"),
                    _("Paid too little"),
                    _("Hash chain"),
                ],
                [False, True, True, True, True, True, True, False],
                [
                    [
                        dates.day(line.day),
                        number(line.revision),
                        number(line.hands),
                        number(line.findings),
                        number(line.attention),
                        amount(line.overpaid),
                        amount(line.underpaid),
                        chain_word(line.chain_whole),
                    ]
                    for line in figures.days
                ],
            ),
            _codes(figures.codes, figures.hands),
            _tables(figures.tables),
            _dealers(figures.dealers),
            _rates(figures.rates, figures.dealers, monthly=True),
            _decided(figures.decisions),
            _paid(figures.paid),
            _amenders(figures),
        ],
        heads=_heads(figures.tables),
        notes=notes,
    )


def chain_word(whole: bool) -> str:
    """Whether the hash chain is whole, in a word."""
    return pgettext("chain", "whole") if whole else pgettext("chain", "broken")


def departures_title() -> str:
    """What decisions that departed from a mandatory ruling are called."""
    return _("Decisions that departed from a mandatory rule")


def month_groups(figures: MonthFigures) -> list[Group]:
    """What of a month wants attention as a whole; the rest is in the reports of its nights."""
    departures = [_departure(one, ZoneInfo(figures.time_zone)) for one in figures.departures]
    return [
        Group("open", _("Incidents open at the month’s end"), figures.open_count, _waiting(figures.open_incidents)),
        Group("departures", departures_title(), figures.departure_count, departures),
    ]


def _waiting(incidents: Sequence[OpenIncident]) -> list[Line]:
    return [
        Line(
            place(one.table, one.shoe, one.hand),
            titles(one.codes),
            _("open for %(span)s") % {"span": span(one.age)},
            one.incident,
        )
        for one in incidents
    ]


def attention_groups(attention: Attention, zone: ZoneInfo) -> list[Group]:
    """Everything that wants attention, the worst first, and what waits since before; groups without anything among
    them.
    """
    return [
        Group(
            "failed",
            _("Tables that could not be audited"),
            len(attention.failed),
            _notes(attention.failed, problem_words.failed_words),
        ),
        Group(
            "broken",
            _("Hash chain broken: the log is not what was recorded"),
            len(attention.broken),
            [
                Line(
                    one.table,
                    problem_words.chain_words(one.problem),
                    "" if one.seq is None else _("event %(seq)s") % {"seq": number(one.seq)},
                    language=problem_words.language_of(one.problem, problem_words.chain_words(one.problem)),
                )
                for one in attention.broken
            ],
        ),
        Group(
            "trails",
            _("Incidents, reports or signed heads are not what was written"),
            attention.trail_count,
            [
                Line(
                    trail_words.where(one.of),
                    trail_words.words(one.problem),
                    trail_words.position(one.of, one.seq),
                    language=problem_words.language_of(one.problem, trail_words.words(one.problem)),
                )
                for one in attention.trails
            ],
        ),
        Group(
            "differences",
            _("Recorded live otherwise than the log says now"),
            attention.difference_count,
            _notes(attention.differences, problem_words.difference_words),
        ),
        Group(
            "unreadable",
            _("Rows that cannot be read"),
            attention.unreadable_count,
            _notes(attention.unreadable, problem_words.unreadable_words),
        ),
        Group(
            "gaps",
            _("Missing hands and shoes"),
            attention.gap_count,
            [
                Line(place(one.table, one.gap.shoe), gap_text(one.gap.shoe, one.gap.first, one.gap.last))
                for one in attention.gaps
            ],
        ),
        Group(
            "no-log",
            _("Tables without a log"),
            len(attention.no_log),
            [Line(one, _("has no event at all")) for one in attention.no_log],
        ),
        Group(
            "open",
            _("Open incidents"),
            attention.open_count,
            _waiting(attention.open_incidents),
        ),
        Group(
            "departures",
            departures_title(),
            attention.departure_count,
            [_departure(one, zone) for one in attention.departures],
        ),
        Group(
            "undecided",
            _("Findings that nobody decided"),
            attention.undecided_count,
            [
                Line(
                    place(one.table, one.shoe, one.hand),
                    wording.finding_title(one.code),
                    dates.minute(one.at.astimezone(zone)),
                )
                for one in attention.undecided
            ],
        ),
        Group(
            "payouts",
            _("Wrong payouts"),
            attention.payout_count,
            [
                Line(
                    place(one.table, one.shoe, one.hand),
                    payout_text(one),
                    amount(one.difference, signed=True),
                )
                for one in attention.payouts
            ],
        ),
        Group(
            "older",
            _("Still open from before"),
            attention.older_count,
            _waiting(attention.older),
            waiting=True,
        ),
    ]


def _notes(notes: Sequence[TableNote], words: Callable[[str], str]) -> list[Line]:
    return [
        Line(
            place(one.table, one.shoe, one.hand),
            words(one.text),
            "" if one.seq is None else _("event %(seq)s") % {"seq": number(one.seq)},
            language=problem_words.language_of(one.text, words(one.text)),
        )
        for one in map(problem_words.placed, notes)
    ]


def gap_text(shoe: int | None, first: int, last: int) -> str:
    """`hands 31 to 33 are missing`."""
    numbers = {"first": first, "last": last}
    if shoe is None:
        if first == last:
            return _("shoe %(first)d is missing") % numbers
        return _("shoes %(first)d to %(last)d are missing") % numbers
    if first == last:
        return _("hand %(first)d is missing") % numbers
    return _("hands %(first)d to %(last)d are missing") % numbers


def payout_text(one: Payout) -> str:
    """`seat 3 · Banker: owed 950.00, paid 1,000.00, corrected since`."""
    said = _("seat %(seat)d · %(bet)s: owed %(owed)s, paid %(paid)s") % {
        "seat": one.seat,
        "bet": wording.bet_name(one.bet),
        "owed": amount(one.owed),
        "paid": amount(one.paid),
    }
    return ", ".join((said, _("corrected since"))) if one.corrected else said


def _departure(one: Departure, zone: ZoneInfo) -> Line:
    said = _("decided: %(actions)s; required: %(rulings)s (%(rules)s). Reason: %(reason)s") % {
        "actions": " + ".join(map(wording.action_name, one.actions)),
        "rulings": " + ".join(map(wording.action_name, one.rulings)),
        "rules": ", ".join(one.rules) or DASH,
        "reason": one.reason or DASH,
    }
    aside = f"{one.decided_by}, {dates.minute(one.decided_at.astimezone(zone))}"
    return Line(place(one.table, one.shoe, one.hand), said, aside, one.incident)


def flag_group(flags: Sequence[Flag]) -> Group:
    """What the tests of the game say."""
    return Group(
        "flags",
        _("Is the game itself right?"),
        len(flags),
        [Line(said.where, f"{said.said} {said.chance}") for said in map(flag_words, flags)],
    )


def _codes(codes: Mapping[str, int], hands: int) -> Sheet:
    return Sheet(
        "codes",
        _("Findings by kind"),
        [_("Finding"), _("Number"), _("For 1,000 hands")],
        [False, True, True],
        [
            [wording.finding_title(code), number(count), _per_thousand(count, hands)]
            for code, count in sorted(codes.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
    )


def _tables(tables: Sequence[TableLine]) -> Sheet:
    return Sheet(
        "tables",
        _("By table"),
        [
            _("Table"),
            _("Hands"),
            _("Findings"),
            _("For 1,000 hands"),
            _("Void hands"),
            _("Unreadable"),
            _("Hash chain"),
        ],
        [False, True, True, True, True, True, False],
        [
            [
                f"{line.code} {line.name}".rstrip() + ("" if line.active else " (" + _("not in use") + ")"),
                number(line.hands),
                number(line.findings),
                _per_thousand(line.findings, line.hands),
                number(line.voided),
                number(line.unreadable),
                chain_word(line.chain_whole),
            ]
            for line in tables
        ],
    )


def _dealers(dealers: Sequence[DealerLine]) -> Sheet:
    return Sheet(
        "dealers",
        _("By dealer"),
        [_("Dealer"), _("Hands"), _("Findings"), _("For 1,000 hands"), _("Most often")],
        [False, True, True, True, False],
        [
            [
                dealer_name(line.dealer, line.name),
                number(line.hands),
                number(line.findings),
                _per_thousand(line.findings, line.hands),
                wording.finding_title(max(line.codes, key=line.codes.__getitem__)) if line.codes else "",
            ]
            for line in dealers
        ],
    )


def rate_subject(one: Rate, dealers: Mapping[str, str]) -> str:
    """What a rate is of: all findings, a kind, a table, a dealer."""
    if one.of == "all":
        return _("All findings")
    if one.of == "code":
        return wording.finding_title(one.name)
    if one.of == "table":
        return _("Table %(table)s") % {"table": one.name}
    return _("Dealer %(dealer)s") % {"dealer": dealer_name(one.name, dealers.get(one.name, ""))}


def change_word(one: Rate) -> str:
    """Whether the change means anything, in a word."""
    if one.change == "more":
        return pgettext("rate", "more")
    if one.change == "fewer":
        return pgettext("rate", "fewer")
    return pgettext("rate", "within chance") if one.low is not None else DASH


def _rates(rates: Sequence[Rate], dealers: Sequence[DealerLine], *, monthly: bool = False) -> Sheet:
    names = {line.dealer: line.name for line in dealers}
    return Sheet(
        "rates",
        _("Rates against the month before") if monthly else _("Rates against the 30 days before"),
        [
            _("Findings"),
            _("Number"),
            _("For 1,000 hands"),
            _("Before"),
            _("Ratio"),
            _("95 % interval"),
            pgettext("rate", "Change"),
        ],
        [False, True, True, True, True, True, False],
        [
            [
                rate_subject(one, names),
                number(one.count),
                DASH if one.rate is None else number(one.rate, 2),
                DASH if one.before_rate is None else number(one.before_rate, 2),
                DASH if one.ratio is None else number(one.ratio, 2),
                DASH if one.low is None or one.high is None else f"{number(one.low, 2)}–{number(one.high, 2)}",
                change_word(one),
            ]
            for one in rates
        ],
        note=_(
            "“More” and “fewer” are said where the change is larger than chance explains, with so many lines looked at."
        ),
    )


def _decided(figures: DecisionFigures) -> Sheet:
    rows = [[_("Decisions"), number(figures.decisions)]]
    rows += [[f"  {wording.action_name(action)}", number(count)] for action, count in figures.actions.items()]
    rows += [
        [_("Hands declared void"), number(figures.voided_hands)],
        [_("Stakes given back on them"), amount(figures.void_returned)],
        [_("What had been owed on them"), amount(figures.void_owed)],
        [_("What the house would have kept of them"), amount(figures.void_kept)],
        [_("Hands corrected"), number(figures.corrected_hands)],
        [_("What correcting changed of what was owed"), amount(figures.corrected, signed=True)],
        [_("From incident to decision, half of them within"), span(figures.median)],
        [_("Nine of ten within"), span(figures.slowest_tenth)],
        [_("The longest"), span(figures.longest)],
    ]
    return Sheet(
        "decisions",
        _("Decisions and their money"),
        ["", ""],
        [False, True],
        rows,
        note=_("A decision counts on the day on which it is made, whichever day its incident is of."),
    )


def _paid(paid: Mapping[str, PaidTally]) -> Sheet:
    return Sheet(
        "paid",
        _("Payouts by bet"),
        [_("Bet"), _("Winning bets"), _("Paid wrongly"), _("Without commission"), _("Difference")],
        [False, True, True, True, True],
        [
            [
                wording.bet_name(bet),
                number(tally.won),
                number(tally.wrong),
                number(tally.without_commission),
                amount(tally.difference, signed=True),
            ]
            for bet, tally in paid.items()
        ],
        note=_("Payments that were put right since are among those paid wrongly."),
    )


def _amenders(figures: Figures | MonthFigures) -> Sheet:
    return Sheet(
        "amenders",
        _("Entries put right, by person"),
        [_("Person"), _("Corrected"), _("Withdrawn")],
        [False, True, True],
        [
            [
                one.person if one.name in ("", one.person) else f"{one.name} ({one.person})",
                number(one.corrected),
                number(one.withdrawn),
            ]
            for one in figures.amenders
        ],
    )


def chain_walked(tables: Sequence[TableLine]) -> str:
    """From where the audit walked the hash chains; of those not walked from their beginning when the whole was last.

    Empty where the report did not keep it.
    """
    if not tables or any(line.checked_from is None for line in tables):
        return ""
    later = [line for line in tables if line.checked_from]
    if not later:
        return _("Every log’s hash chain was walked from its beginning.")
    said = [
        ngettext(
            "The hash chain of %(n)s long log was walked from where an earlier audit had come to.",
            "The hash chains of %(n)s long logs were walked from where an earlier audit had come to.",
            len(later),
        )
        % {"n": number(len(later))}
    ]
    times = [line.walked_at for line in later if line.walked_at is not None]
    if times:
        said.append(
            ngettext(
                "The whole of it was last walked at %(at)s.",
                "The whole of each was last walked at %(at)s or later.",
                len(times),
            )
            % {"at": dates.minute(min(times))}
        )
    never = [line.code for line in later if line.walked_at is None]
    if never:
        said.append(_("Never walked as a whole: %(tables)s.") % {"tables": ", ".join(never)})
    return " ".join(said)


def _heads(tables: Sequence[TableLine]) -> Sheet:
    proof = _(
        "The hash of a table’s last audited event stands for its whole log up to there: "
        "who keeps this page can prove later that nothing before it was changed."
    )
    return Sheet(
        "heads",
        _("Heads of the logs"),
        [_("Table"), _("Last event"), _("Hash")],
        [False, True, False],
        [[line.code, number(line.last_seq), line.head or DASH] for line in tables],
        note=f"{proof} {chain_walked(tables)}".rstrip(),
    )

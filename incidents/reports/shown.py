"""A report as its page shows it: what wants attention with links, rates in words, rows with bars. Works nothing out.

The words that the page shares with the files for the office are `telling`'s.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.urls import reverse
from django.utils.dateformat import format as format_date
from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext, pgettext
from django.utils.translation import gettext as _

from dealing import dates, wording
from dealing.models import Hand
from incidents.models import Incident

from . import telling
from .figures import Attention, DealerLine, Figures, MonthFigures, OpenIncident, Rate, TableLine
from .models import AuditReport
from .problem_words import placed

#: Lines of a group that are seen without unfolding it.
FIRST: Final = 3
#: Rows of tables and dealers that are seen without unfolding the rest.
ROWS: Final = 12
#: Those that nobody can set right by deciding: something is wrong with the record itself.
GRAVE: Final = frozenset({"failed", "broken", "trails", "differences", "unreadable"})


@dataclass(frozen=True)
class Item:
    """One thing that wants attention. `href` empty: there is no page of it. `aside`: age, time or money; `since`: what
    has become of it since the report was made.
    """

    where: str
    text: str
    aside: str = ""
    href: str = ""
    since: str = ""
    told: tuple[tuple[str, str], ...] = ()
    language: str = ""


@dataclass(frozen=True)
class Group:
    """Things of one kind: `count` of them, the first ones named."""

    key: str
    title: str
    hint: str
    count: int
    items: Sequence[Item]
    waiting: bool = False

    @property
    def first(self) -> Sequence[Item]:
        """What is seen at once."""
        return self.items[:FIRST]

    @property
    def rest(self) -> Sequence[Item]:
        """What is folded away."""
        return self.items[FIRST:]

    @property
    def unnamed(self) -> int:
        """How many the report does not name."""
        return self.count - len(self.items)

    @property
    def grave(self) -> bool:
        """Whether the record itself is in doubt."""
        return self.key in GRAVE


def month_words(month: dt.date) -> str:
    """`July 2026`, `กรกฎาคม 2569`."""
    year = month.year + (dates.BUDDHIST_ERA if dates.buddhist() else 0)
    return f"{format_date(month, 'F')} {year}"


def age(seconds: int) -> str:
    """How long, in the largest unit that fits: `20 minutes`, `5 hours`, `3 days`."""
    minutes = seconds // 60
    if minutes < 60:
        return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
    if minutes < 48 * 60:
        return ngettext("%(n)d hour", "%(n)d hours", minutes // 60) % {"n": minutes // 60}
    return ngettext("%(n)d day", "%(n)d days", minutes // 1440) % {"n": minutes // 1440}


# What wants attention.


def hint(key: str) -> str:
    """What to do about a group, in a sentence."""
    said = {
        "failed": _("The audit could not read these tables. Their hands are not in this report."),
        "broken": _("Somebody or something changed stored entries. Keep a copy, and tell whoever runs the database."),
        "trails": _(
            "Somebody or something changed what was written down. Keep a copy, and tell whoever runs the database."
        ),
        "open": _("A manager decides each of these."),
        "older": _("From days before, the oldest first. Each was counted on its own day, and still has to be decided."),
        "departures": _("The rules asked for something else. Read whether the reason is good enough."),
        "undecided": _("The judge finds these in the log, and no incident knows of them. Look at the hands."),
        "payouts": _("Paid otherwise than owed, and not put right so far."),
        "differences": _("What was recorded or decided live and what the log says now are not the same."),
        "unreadable": _("These rows of the log could not be judged."),
        "gaps": _("Numbers are left out: either nothing was dealt under them, or it was not recorded."),
        "no-log": _("In use according to the master data, and nothing was ever recorded."),
    }
    return said.get(key, "")


def groups_of(attention: Attention, zone: ZoneInfo) -> list[Group]:
    """What wants attention, the worst first. Two statements."""
    return _groups(telling.attention_groups(attention, zone), attention, zone)


def _groups(told: Iterable[telling.Group], attention: Attention, zone: ZoneInfo) -> list[Group]:
    links, since = _Links(attention), _since(attention)
    out = []
    for group in told:
        key = group.key
        if not group.count:
            continue
        items = [
            Item(line.where, line.text, line.aside, href, became, facts, line.language)
            for line, href, became, facts in zip(
                group.lines, links.of(key), _became(key, attention, since), _facts(key, attention, zone), strict=True
            )
        ]
        if key in ("open", "older"):
            items = [
                replace(item, aside=_("waiting for %(age)s") % {"age": age(one.age)})
                for item, one in zip(items, _incidents(key, attention), strict=True)
            ]
        out.append(Group(key, group.title, hint(key), group.count, items, group.waiting))
    return out


def _incidents(key: str, attention: Attention) -> Sequence[OpenIncident]:
    return attention.older if key == "older" else attention.open_incidents


def month_groups(figures: MonthFigures) -> list[Group]:
    """What is still to be decided of a month, and its departures, where there are any."""
    attention = Attention(
        open_incidents=figures.open_incidents,
        open_count=figures.open_count,
        departures=figures.departures,
        departure_count=figures.departure_count,
    )
    return _groups(telling.month_groups(figures), attention, ZoneInfo(figures.time_zone))


def _since(attention: Attention) -> dict[int, str]:
    """What the listed incidents are now, where that is no longer open."""
    listed = {one.incident for one in (*attention.open_incidents, *attention.older)}
    if not listed:
        return {}
    found = Incident.objects.filter(pk__in=listed).exclude(status=Incident.Status.OPEN).values_list("pk", "status")
    return {pk: str(Incident.Status(status).label) for pk, status in found}


def _became(key: str, attention: Attention, since: Mapping[int, str]) -> list[str]:
    if key in ("open", "older"):
        return [since.get(one.incident, "") for one in _incidents(key, attention)]
    return [""] * len(_lines(key, attention))


def _facts(key: str, attention: Attention, zone: ZoneInfo) -> list[tuple[tuple[str, str], ...]]:
    """A departure in its parts: what was decided, what the rules asked for, the reason, by whom."""
    if key != "departures":
        return [()] * len(_lines(key, attention))
    return [
        (
            (_("Decided"), " + ".join(map(wording.action_name, one.actions))),
            (_("The rules say"), " + ".join(map(wording.action_name, one.rulings)) + _cited(one.rules)),
            (_("Reason"), one.reason),
        )
        for one in attention.departures
    ]


def _cited(rules: Sequence[str]) -> str:
    return f" ({', '.join(rules)})" if rules else ""


def _lines(key: str, attention: Attention) -> Sequence[object]:
    lines: dict[str, Sequence[object]] = {
        "failed": attention.failed,
        "broken": attention.broken,
        "trails": attention.trails,
        "open": attention.open_incidents,
        "older": attention.older,
        "departures": attention.departures,
        "undecided": attention.undecided,
        "payouts": attention.payouts,
        "differences": attention.differences,
        "unreadable": attention.unreadable,
        "gaps": attention.gaps,
        "no-log": attention.no_log,
    }
    return lines[key]


class _Links:
    """Where each line leads; to a hand only where there is one."""

    def __init__(self, attention: Attention) -> None:
        self.attention = attention
        notes = list(map(placed, (*attention.differences, *attention.unreadable)))
        self.there = _hands_there((one.table, one.shoe, one.hand) for one in notes if one.shoe and one.hand)

    def of(self, key: str) -> list[str]:
        attention = self.attention
        if key in ("open", "older"):
            return [reverse("incidents:incident", args=[one.incident]) for one in _incidents(key, attention)]
        if key == "departures":
            return [reverse("incidents:incident", args=[one.incident]) for one in attention.departures]
        if key == "undecided":
            return [_place(one.table, one.shoe, one.hand) for one in attention.undecided]
        if key == "payouts":
            return [_place(one.table, one.shoe, one.hand) for one in attention.payouts]
        if key == "gaps":
            return [_place(one.table, one.gap.shoe) for one in attention.gaps]
        if key == "no-log":
            return [_place(code) for code in attention.no_log]
        if key == "broken":
            return [_place(one.table) for one in attention.broken]
        if key == "trails":
            return [""] * len(attention.trails)
        notes = {
            "failed": attention.failed,
            "differences": attention.differences,
            "unreadable": attention.unreadable,
        }[key]
        return [
            _place(one.table, one.shoe, one.hand)
            if one.shoe and one.hand and (one.table, one.shoe, one.hand) in self.there
            else _place(one.table)
            for one in map(placed, notes)
        ]


def _place(table: str, shoe: int | None = None, hand: int | None = None) -> str:
    if not shoe:
        return reverse("console:table", args=[table])
    if not hand:
        return reverse("console:shoe", args=[table, shoe])
    return reverse("console:hand", args=[table, shoe, hand])


def _hands_there(places: Iterable[tuple[str, int | None, int | None]]) -> set[tuple[str, int, int]]:
    wanted = Q()
    for table, shoe, hand in set(places):
        wanted |= Q(shoe__table__code=table, shoe__number=shoe, number=hand)
    if not wanted:
        return set()
    return set(Hand.objects.filter(wanted).order_by().values_list("shoe__table__code", "shoe__number", "number"))


# Figures.


# Rows are set together here and not by a template: a floor of 200 tables and 400 dealers takes a tenth of the time.

_ROW: Final = (
    '<tr><th scope="row">{name}{{}}</th><td class="number" data-label="{hands}">{{}}</td>'
    '<td class="number" data-label="{findings}">{{}}</td><td class="number" data-label="{rate}">{{}}</td>'
    '<td class="report-bar-cell"><svg class="report-bar" viewBox="0 0 100 8" preserveAspectRatio="none" '
    'aria-hidden="true"><rect width="{{}}" height="8"/></svg><span class="report-codes">{{}}</span></td></tr>'
)


@lru_cache(maxsize=8192)
def _number(language: str, value: float, digits: int) -> str:
    return telling.number(value, digits)


@dataclass(frozen=True)
class Row:
    """A row with a bar: `share` of the longest, 0 to 100. `rate`: findings for 1,000 hands, None without hands."""

    name: str
    hands: int
    findings: int
    share: float
    aside: str = ""
    href: str = ""
    marks: tuple[tuple[str, str], ...] = ()
    codes: str = ""

    @property
    def rate(self) -> float | None:
        """Findings for 1,000 hands; None without hands."""
        return self.findings * 1000 / self.hands if self.hands else None


@dataclass(frozen=True)
class Folded:
    """Rows of which the first are seen, and the rest unfolded."""

    rows: Sequence[Row]

    @property
    def seen(self) -> int:
        """How many are seen: one row alone is not worth folding away."""
        return ROWS if len(self.rows) > ROWS + 1 else len(self.rows)

    @property
    def more(self) -> int:
        """How many are folded away."""
        return len(self.rows) - self.seen

    @property
    def first(self) -> SafeString:
        """The rows that are seen, drawn."""
        return _drawn(self.rows[: self.seen])

    @property
    def rest(self) -> SafeString:
        """The others, drawn."""
        return _drawn(self.rows[self.seen :])


def _drawn(rows: Sequence[Row]) -> SafeString:
    language = get_language() or "en"
    labels = {
        "hands": escape(_("Hands")),
        "findings": escape(_("Findings")),
        "rate": escape(_("For every 1,000 hands")),
    }
    linked = _ROW.format(name='<a href="{}">{} <span class="report-name">{}</span></a>', **labels)

    def cells() -> Iterator[tuple[object, ...]]:
        for row in rows:
            marks = _drawn_marks(row.marks) if row.marks else ""
            rate = telling.DASH if row.rate is None else _number(language, round(row.rate, 1), 1)
            hands, findings = _number(language, row.hands, 0), _number(language, row.findings, 0)
            yield row.href, row.name, row.aside, marks, hands, findings, rate, row.share, row.codes

    return format_html_join("", linked, cells())


def _drawn_marks(marks: Sequence[tuple[str, str]]) -> SafeString:
    return format_html_join(
        "", ' <span class="badge{}">{}</span>', ((f" badge-{kind}" if kind else "", words) for kind, words in marks)
    )


def _share(value: int, most: int) -> float:
    return round(100 * value / most, 1) if most else 0.0


def table_rows(tables: Sequence[TableLine]) -> Folded:
    """Each table, those with a broken chain first, then the one with most findings."""
    in_order = sorted(tables, key=lambda line: (line.chain_whole, -line.findings, line.code))
    most = max((line.findings for line in tables), default=0)
    address, said = _Addresses("console:table"), _Codes()
    return Folded(
        [
            Row(
                line.code,
                line.hands,
                line.findings,
                _share(line.findings, most),
                line.name,
                address.of(line.code),
                _marks(line),
                said.text(line.codes),
            )
            for line in in_order
        ]
    )


def _marks(line: TableLine) -> tuple[tuple[str, str], ...]:
    marks = []
    if not line.chain_whole:
        marks.append(("danger", _("chain broken")))
    if line.unreadable:
        words = ngettext("%(n)d unreadable row", "%(n)d unreadable rows", line.unreadable) % {"n": line.unreadable}
        marks.append(("danger", words))
    if not line.active:
        marks.append(("", _("not in use")))
    return tuple(marks)


def dealer_rows(dealers: Sequence[DealerLine], query: str) -> Folded:
    """Each dealer, as the report has them; `query`: the days, for the links."""
    most = max((line.findings for line in dealers), default=0)
    address, said = _Addresses("dealers:dealer"), _Codes()
    return Folded(
        [
            Row(
                line.dealer or _("No dealer recorded"),
                line.hands,
                line.findings,
                _share(line.findings, most),
                line.name,
                (address.of(line.dealer) if line.dealer else reverse("dealers:nobody")) + query,
                (),
                said.text(line.codes),
            )
            for line in dealers
        ]
    )


class _Addresses:
    """The addresses of many pages of one kind, looked up once."""

    def __init__(self, name: str) -> None:
        self.before, _, self.after = reverse(name, args=["X"]).rpartition("X")

    def of(self, code: str) -> str:
        return f"{self.before}{quote(code, safe='')}{self.after}"


class _Codes:
    """The most frequent findings of many rows in words, each title looked up once."""

    def __init__(self) -> None:
        self.language = get_language() or "en"
        self.titles: dict[str, str] = {}

    def text(self, codes: Mapping[str, int]) -> str:
        """The three most frequent."""
        parts = []
        for code, count in sorted(codes.items(), key=lambda item: (-item[1], item[0]))[:3]:
            title = self.titles.get(code) or self.titles.setdefault(code, wording.finding_title(code))
            parts.append(f"{title} {_number(self.language, count, 0)}")
        return ", ".join(parts)


def code_rows(codes: Mapping[str, int], hands: int) -> list[Row]:
    """Each kind of finding, the most frequent first."""
    most = max(codes.values(), default=0)
    in_order = sorted(codes.items(), key=lambda item: (-item[1], item[0]))
    return [Row(wording.finding_title(code), hands, count, _share(count, most)) for code, count in in_order]


def hour_rows(figures: Figures) -> list[Row]:
    """Each hour of the day in the house's time."""
    zone = ZoneInfo(figures.time_zone)
    most = max((line.findings for line in figures.hours), default=0)
    return [
        Row(f"{line.begins.astimezone(zone):%H:%M}", line.hands, line.findings, _share(line.findings, most))
        for line in figures.hours
    ]


@dataclass(frozen=True)
class SheetShown:
    """A table of figures, each cell with whether it stands to the right."""

    key: str
    title: str
    head: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[tuple[str, bool]]]
    note: str


def sheet_of(sheet: telling.Sheet) -> SheetShown:
    """The sheet for the page; without a head where that says nothing."""
    head = list(zip(sheet.head, sheet.numbers, strict=True)) if any(sheet.head) else []
    rows = [list(zip(row, sheet.numbers, strict=True)) for row in sheet.rows]
    return SheetShown(sheet.key, sheet.title, head, rows, sheet.note)


@dataclass(frozen=True)
class Change:
    """A rate that is not as usual, in words."""

    subject: str
    more: bool
    text: str


@dataclass(frozen=True)
class Rates:
    """What the rates say. `compared`: lines that could be compared; none: there are no days before to compare with."""

    house: str
    changes: Sequence[Change]
    compared: int


def rates_of(figures: Figures | MonthFigures) -> Rates:
    """The rates in words."""
    names = {line.dealer: line.name for line in figures.dealers}
    whole = next((one for one in figures.rates if one.of == "all"), None)
    house = "" if whole is None or whole.low is None else change_words(whole)
    changes = [
        Change(telling.rate_subject(one, names), one.change == "more", _usual(one))
        for one in figures.rates
        if one.change
    ]
    return Rates(house, changes, sum(one.low is not None for one in figures.rates))


def change_words(one: Rate) -> str:
    """`more than usual`, `fewer than usual`, `as usual`."""
    if one.change == "more":
        return pgettext("rate", "more than usual")
    if one.change == "fewer":
        return pgettext("rate", "fewer than usual")
    return pgettext("rate", "as usual")


def _usual(one: Rate) -> str:
    values = {
        "now": telling.number(one.rate or 0, 1),
        "before": telling.number(one.before_rate or 0, 1),
        "low": telling.number(one.low or 0, 1),
        "high": telling.number(one.high or 0, 1),
    }
    if one.high is None:
        return _("%(now)s for 1,000 hands; it did not come before (at least %(low)s times as often)") % values
    return _("%(now)s for 1,000 hands, before %(before)s (%(low)s to %(high)s times as often)") % values


@dataclass(frozen=True)
class Revision:
    """Another revision of the report, and what this one has more or less than the one before."""

    report: AuditReport
    changed: Sequence[str]


def revisions_of(reports: Sequence[AuditReport]) -> list[Revision]:
    """All revisions, the newest first; each with what it says otherwise than the one before it."""
    in_order = sorted(reports, key=lambda one: one.revision)
    out = []
    for at, one in enumerate(in_order):
        out.append(Revision(one, _changed(in_order[at - 1], one) if at else []))
    return out[::-1]


def _changed(before: AuditReport, now: AuditReport) -> list[str]:
    parts = []
    for name, words in (("hands", _("hands")), ("findings", _("findings")), ("attention", _("wants attention"))):
        more = getattr(now, name) - getattr(before, name)
        if more:
            parts.append(f"{words} {'+' if more > 0 else ''}{telling.number(more)}")
    if before.chain_whole != now.chain_whole:
        parts.append(_("the chain is whole again") if now.chain_whole else _("the chain is broken"))
    return parts or [_("details only")]

"""The reports' pages: the list by month, a night, a month, a run on its way, and whether last night is done."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Min
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy, pgettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealing import dates
from dealing.dates import DayField
from dealing.gaming_days import gaming_day
from dealing.models import TableEvent, Venue
from dealing.people import overseer_required, required
from dealing.permissions import May, may, member_of
from dealing.pit.access import venue_of
from incidents.models import Incident

from . import shown, telling, trail_words
from .figures import Attention, Figures, MonthFigures
from .models import AuditReport, AuditRun, ReportDelivery, TableAudit
from .selectors import (
    FAILED,
    LATE,
    MISSING,
    MONTHLY,
    NIGHTLY,
    NOTHING,
    RUNNING,
    STUCK,
    WAITING,
    LastNight,
    beat_ticked,
    days_of,
    first_of_next_month,
    last_closed,
    last_nights,
    latest,
    reports_of,
    runs_of,
    stuck_runs,
)

#: The scheduler ticks once a minute; silent for longer than this it is said to stand still.
BEAT_LATE: Final = dt.timedelta(minutes=10)


# The list.


@dataclass(frozen=True)
class DayRow:
    """A day of the list; `report` None: none so far."""

    day: dt.date
    report: AuditReport | None

    @property
    def rate(self) -> float | None:
        """Findings for 1,000 hands."""
        return self.report.findings * 1000 / self.report.hands if self.report and self.report.hands else None


@require_safe
@never_cache
@overseer_required
def reports(request: HttpRequest) -> HttpResponse:
    """The reports of a month (`?month=2026-07`), the newest on top; above them what is being audited."""
    venue = venue_of(request)
    now = timezone.now()
    newest = last_closed(venue, now)
    first_day = _first_day(venue)
    month = _month_asked(request.GET.get("month", ""), newest.replace(day=1))
    found = reports_of(request.user).filter(venue=venue)
    here = latest(found.filter(day__gte=month, day__lt=first_of_next_month(month)))
    nightly = {one.day: one for one in here if one.kind == NIGHTLY}
    rows = [
        DayRow(day, nightly.get(day))
        for day in reversed(days_of(month))
        if day in nightly or (first_day is not None and first_day <= day <= newest)
    ]
    years = _months(first_day, newest, month)
    return render(
        request,
        "reports/list.html",
        {
            "venue": venue,
            "month": month,
            "month_words": shown.month_words(month),
            "year_words": f"{month.year + (dates.BUDDHIST_ERA if dates.buddhist() else 0)}",
            "months": years,
            "before": _month_link(request, (month - dt.timedelta(days=1)).replace(day=1))
            if first_day is not None and month > first_day.replace(day=1)
            else "",
            "after": _month_link(request, first_of_next_month(month)) if first_of_next_month(month) <= newest else "",
            "rows": rows,
            "monthly": next((one for one in here if one.kind == MONTHLY), None),
            "night": last_nights([venue], now)[0],
            "unfinished": [
                _Run(run)
                for run in runs_of(request.user)
                .filter(of_day__venue=venue)
                .exclude(status=AuditRun.Status.DONE)
                .order_by("-of_day__day")[:10]
            ],
            "may_start": may(request.user, May.RUN_AUDIT),
            "form": StartForm(None, venue, newest, first_day),
            "kept": _kept(request, venue),
            **_houses(request),
        },
    )


def _houses(request: HttpRequest) -> dict[str, Any]:
    """What the choice of a house needs, for somebody who belongs to none."""
    return {} if member_of(request.user) else {"houses": Venue.objects.order_by("code")}


def _kept(request: HttpRequest, venue: Venue) -> str:
    """What to send along so that the same house is shown."""
    return "" if member_of(request.user) else urlencode({"house": venue.code})


def _month_link(request: HttpRequest, month: dt.date) -> str:
    query = request.GET.copy()
    query["month"] = f"{month:%Y-%m}"
    return f"?{query.urlencode()}"


def _month_asked(text: str, usual: dt.date) -> dt.date:
    given = re.fullmatch(r"([0-9]{4})-([0-9]{2})", text, re.ASCII)
    if given is None:
        return usual
    try:
        return min(dt.date(int(given[1]), int(given[2]), 1), usual)
    except ValueError:
        return usual


def _months(first: dt.date | None, newest: dt.date, month: dt.date) -> list[tuple[dt.date, str, bool]]:
    """The months of the year that is shown, as far as anything was recorded: the day, its query, whether it is this."""
    earliest = (first or newest).replace(day=1)
    every = [dt.date(month.year, number, 1) for number in range(1, 13)]
    return [(one, f"{one:%Y-%m}", one == month) for one in every if earliest <= one <= newest]


def _first_day(venue: Venue) -> dt.date | None:
    """The gaming day of the house's first event; None for a house without any."""
    first = TableEvent.objects.filter(table__venue=venue, seq=1).aggregate(at=Min("at"))["at"]
    return None if first is None else gaming_day(venue, first)


# A report.


@require_safe
@never_cache
@overseer_required
def report(request: HttpRequest, pk: int) -> HttpResponse:
    """A report: what wants attention first, then figures. A monthly one has its own page."""
    found = get_object_or_404(reports_of(request.user).defer(None).select_related("venue"), pk=pk)
    zone = ZoneInfo(found.figures["time_zone"])
    others = reports_of(request.user).filter(venue=found.venue_id, kind=found.kind, day=found.day)
    revisions = shown.revisions_of(list(others))
    common = {
        "report": found,
        "venue": found.venue,
        "zone": zone,
        "revisions": revisions,
        "newest": revisions[0].report,
        "changed": next((one.changed for one in revisions if one.report.pk == found.pk), []),
        "files": _files(found),
        "deliveries": list(
            ReportDelivery.objects.filter(report=found).select_related("member__user").order_by("member__code")
        ),
        "may_start": may(request.user, May.RUN_AUDIT),
        "summary": telling.summary(found),
        "kept": _kept(request, found.venue),
        "month_query": f"{found.day:%Y-%m}",
    }
    if found.kind == MONTHLY:
        return render(request, "reports/month.html", {**common, **_monthly(request, found)})
    return render(request, "reports/report.html", {**common, **_nightly(request, found, zone)})


#: The drawn parts of the reports opened last, by all that they depend on. A report never changes.
_drawn: dict[tuple[object, ...], SafeString] = {}
#: So many are kept: the two parts of last night's report in both languages, and of some others.
DRAWN: Final = 16


def _part(found: AuditReport, template: str, links: str, context: Callable[[], dict[str, Any]]) -> SafeString:
    """A part of the page that says nothing but what the report says, drawn once; `links`: what its links send along."""
    key = (found.pk, found.made_at, template, links, get_language(), dates.buddhist())
    kept = _drawn.get(key)
    if kept is None:
        kept = render_to_string(template, context())
        while len(_drawn) >= DRAWN:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[key] = kept
    return kept


def _nightly(request: HttpRequest, found: AuditReport, zone: ZoneInfo) -> dict[str, Any]:
    figures = found.nightly
    attention = figures.attention
    day = figures.day.isoformat()
    query = "?" + urlencode({"first": day, "last": day} | _house(request, found))
    neighbours = (
        reports_of(request.user)
        .filter(venue=found.venue_id, kind=NIGHTLY)
        .filter(day__in=[found.day - dt.timedelta(days=1), found.day + dt.timedelta(days=1)])
    )
    beside = {one.day: one for one in neighbours.order_by("revision")}
    return {
        "figures": figures,
        "attention": attention,
        "game_drawn": _part(found, "reports/_game.html", "", lambda: {"game": figures.game}),
        "flags": telling.flag_group(figures.game.flags),
        "period": telling.period_text(figures),
        "groups": shown.groups_of(attention, zone),
        "put_right": _put_right(attention),
        "came_after": 0 if found.day + dt.timedelta(days=1) in beside else _came_after(found, figures),
        "rates": shown.rates_of(figures),
        "rate": _per_thousand(figures.findings, figures.hands),
        "figures_drawn": _part(
            found,
            "reports/_figures.html",
            query,
            lambda: _figures(figures, query) | {"hours": shown.hour_rows(figures)},
        ),
        "walked": telling.chain_walked(figures.tables),
        "busy": sum(1 for line in figures.tables if line.events),
        "day_before": beside.get(found.day - dt.timedelta(days=1)),
        "day_after": beside.get(found.day + dt.timedelta(days=1)),
    }


def _came_after(found: AuditReport, figures: Figures) -> int:
    """How many incidents are open now that came after the report's day: they are counted beside it on every page."""
    later = Incident.objects.filter(
        table__venue=found.venue_id, status=Incident.Status.OPEN, opened_at__gte=figures.ends
    )
    return later.count()


def _figures(figures: Figures | MonthFigures, query: str) -> dict[str, Any]:
    """What the tables of figures are drawn from."""
    return {
        "rates": shown.rates_of(figures),
        "tables": shown.table_rows(figures.tables),
        "dealers": shown.dealer_rows(figures.dealers, query),
        "codes": shown.code_rows(figures.codes, figures.hands),
        "sheets": _sheets(figures),
    }


def _sheets(figures: Figures | MonthFigures) -> list[shown.SheetShown]:
    """The sheets of which the page makes nothing of its own; of the rates those of tables and dealers are left to the
    files, unless they say something.
    """
    rates = [one for one in figures.rates if one.of in ("all", "code") or one.change]
    return [shown.sheet_of(sheet) for sheet in telling.page_sheets(figures, rates) if sheet.rows]


def _put_right(of: Attention | MonthFigures) -> dict[str, str]:
    """What was put right since of each kind of wrong payment, in words; without those of which nothing was."""
    said = {"over": of.overpaid_corrected, "under": of.underpaid_corrected}
    return {kind: telling.put_right(value) for kind, value in said.items() if value}


def _house(request: HttpRequest, found: AuditReport) -> dict[str, str]:
    return {} if member_of(request.user) else {"house": found.venue.code}


def _per_thousand(findings: int, hands: int) -> float | None:
    return findings * 1000 / hands if hands else None


def _monthly(request: HttpRequest, found: AuditReport) -> dict[str, Any]:
    figures = found.monthly
    flags = telling.flag_group(figures.flags)
    flags = replace(
        flags,
        lines=[
            replace(line, aside="" if flag.day is None else dates.day(flag.day))
            for line, flag in zip(flags.lines, figures.flags, strict=True)
        ],
    )
    days = [line.day for line in figures.days]
    nightly = AuditReport.objects.defer("figures").filter(venue=found.venue_id, kind=NIGHTLY, day__in=days)
    by_day = {(one.day, one.revision): one.pk for one in nightly}
    span = {"first": figures.month.isoformat(), "last": days_of(figures.month)[-1].isoformat()}
    query = "?" + urlencode(span | _house(request, found))
    most = max((line.findings for line in figures.days), default=0)
    return {
        "figures": figures,
        "month_words": shown.month_words(figures.month),
        "groups": shown.month_groups(figures),
        "put_right": _put_right(figures),
        "flags": flags,
        "days": [
            (line, by_day.get((line.day, line.revision)), round(100 * line.findings / most, 1) if most else 0)
            for line in figures.days
        ],
        "rate": _per_thousand(figures.findings, figures.hands),
        "rates": shown.rates_of(figures),
        "figures_drawn": _part(found, "reports/_figures.html", query, lambda: _figures(figures, query)),
    }


@dataclass(frozen=True)
class FileLink:
    """A file for the office; `problem`: why it could not be kept."""

    name: str
    href: str
    problem: str


def _files(found: AuditReport) -> list[FileLink]:
    from .files import problem_of

    problems = {one.kind: problem_of(one) for one in found.files.exclude(error="")}
    return [
        FileLink(kind.upper(), reverse("reports:file", args=[found.pk, kind]), problems.get(kind, ""))
        for kind in ("pdf", "xlsx", "csv", "json")
    ]


@require_safe
@never_cache
@overseer_required
def of_day(request: HttpRequest, day: str) -> HttpResponse:
    """To the newest revision of a day's report, or of a month's (`2026-07`). `?house=` as everywhere."""
    kind, text = (MONTHLY, f"{day}-01") if len(day) == len("2026-07") else (NIGHTLY, day)
    try:
        date = dt.date.fromisoformat(text)
    except ValueError as error:
        raise Http404(_("There is no such day.")) from error
    found = reports_of(request.user).filter(venue=venue_of(request), kind=kind, day=date).order_by("-revision").first()
    if found is None:
        raise Http404(_("There is no report of this day."))
    return redirect("reports:report", found.pk)


# A run on its way.


@dataclass
class _Run:
    """A run with how far it is: counts of tables, per cent of events, seconds left (None: nobody can tell)."""

    run: AuditRun
    parts: Sequence[TableAudit] | None = None

    def __post_init__(self) -> None:
        if self.parts is None:
            self.parts = list(self.run.tables.defer("night").select_related("table").order_by("table__code"))
        done = [part for part in self.parts if part.status == TableAudit.Status.DONE]
        self.done, self.tables = len(done), len(self.parts)
        events = sum(part.events for part in self.parts)
        read = sum(part.events if part.status == TableAudit.Status.DONE else part.events_done for part in self.parts)
        share = read / events if events else self.done / self.tables if self.tables else 0.0
        finished = self.run.status == AuditRun.Status.DONE
        self.events, self.read = events, min(read, events)
        self.percent = 100 if finished else min(99, int(100 * share))
        self.left: int | None = None
        if self.run.status == AuditRun.Status.RUNNING and self.run.attempts == 1 and share > 0.02:
            spent = (timezone.now() - self.run.started_at).total_seconds()
            self.left = max(1, round(spent * (1 - share) / share))

    @property
    def left_words(self) -> str:
        """How long it will take still, in words."""
        return "" if self.left is None else telling.span(self.left)

    @property
    def counts(self) -> Counter[str]:
        """Tables by what has become of them."""
        return Counter(part.status for part in self.parts or ())

    @property
    def going_on(self) -> list[TableAudit]:
        """The tables that are being read, and those that failed, which come first."""
        shown_first = {TableAudit.Status.FAILED: 0, TableAudit.Status.RUNNING: 1}
        return sorted(
            (part for part in self.parts or () if part.status in shown_first),
            key=lambda part: (shown_first[TableAudit.Status(part.status)], part.table.code),
        )

    @property
    def others(self) -> list[TableAudit]:
        """The tables that are done, and those that wait."""
        return [part for part in self.parts or () if part.status in (TableAudit.Status.DONE, TableAudit.Status.WAITING)]


def _run_context(request: HttpRequest, pk: int) -> dict[str, Any]:
    run = get_object_or_404(runs_of(request.user), pk=pk)
    made = AuditReport.objects.defer("figures").filter(run=run).first()
    if made is None and run.status == AuditRun.Status.DONE:
        # A run that came to what its day's report says already made no other revision.
        made = (
            AuditReport.objects.defer("figures")
            .filter(venue=run.of_day.venue_id, kind=NIGHTLY, day=run.of_day.day)
            .order_by("-revision")
            .first()
        )
    return {
        "run": run,
        "progress": _Run(run),
        "venue": run.of_day.venue,
        "report": made,
        "own_report": made is not None and made.run_id == run.pk,
        "stuck": bool(stuck_runs([run], timezone.now())),
        "workers": not settings.CELERY_TASK_ALWAYS_EAGER,
        "may_start": may(request.user, May.RUN_AUDIT),
        "kept": _kept(request, run.of_day.venue),
    }


@require_safe
@never_cache
@overseer_required
def run(request: HttpRequest, pk: int) -> HttpResponse:
    """How far a run is, table by table; the page keeps itself up to date."""
    return render(request, "reports/run.html", _run_context(request, pk))


@require_safe
@never_cache
@overseer_required
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that changes."""
    return render(request, "reports/_run.html", _run_context(request, pk))


@require_POST
@never_cache
@required(May.RUN_AUDIT)
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a failed run up again now, without waiting for its next turn: the tables that are done stay so."""
    from . import runs

    found = get_object_or_404(runs_of(request.user), pk=pk)
    if found.status == AuditRun.Status.FAILED:
        runs.retry(found, by=_name(request))
        messages.success(request, _("The audit goes on."))
    else:
        messages.info(request, _("This audit goes on already, or is done."))
    return redirect("reports:run", pk)


class StartForm(forms.Form):
    """Which day to audit: one that is over, and not before anything was recorded."""

    day = DayField(label=gettext_lazy("Gaming day"), widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}))

    def __init__(self, data: Any, venue: Venue, newest: dt.date, first: dt.date | None) -> None:
        super().__init__(data, initial={"day": newest})
        self.newest, self.first, self.venue = newest, first, venue
        wrong = gettext_lazy("Write this day as 2026-07-31.")
        self.fields["day"].error_messages |= {"invalid": wrong, "required": wrong}

    def clean_day(self) -> dt.date:
        """The day. ValidationError where nothing can be audited."""
        day: dt.date = self.cleaned_data["day"]
        if day > self.newest:
            raise ValidationError(
                _("This day is not over. The last one that is: %(day)s.") % {"day": dates.day(self.newest)}
            )
        if self.first is None or day < self.first:
            raise ValidationError(_("Nothing had been recorded by that day."))
        return day


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@required(May.RUN_AUDIT)
def start(request: HttpRequest) -> HttpResponse:
    """Audit a day that is over, once more where it has been audited already. GET: the form alone."""
    from . import runs

    posted = request.method == "POST"
    venue = _venue_posted(request) if posted else venue_of(request)
    form = StartForm(request.POST if posted else None, venue, last_closed(venue, timezone.now()), _first_day(venue))
    if posted and form.is_valid():
        begun = runs.start_by_hand(venue, form.cleaned_data["day"], by=_name(request))
        return redirect("reports:run", begun.pk)
    context = {"venue": venue, "form": form, "kept": _kept(request, venue)}
    return render(request, "reports/start.html", context, status=422 if posted else 200)


def _venue_posted(request: HttpRequest) -> Venue:
    """The house that the form names, for somebody who has one that one alone. Http404: another, or none."""
    member = member_of(request.user)
    code = request.POST.get("house", "").replace("\0", "")
    if member is None:
        return get_object_or_404(Venue, code=code)
    if code not in ("", member.venue.code):
        raise Http404(_("There is no such house."))
    return member.venue


def _name(request: HttpRequest) -> str:
    return request.user.get_full_name() or request.user.get_username()  # type: ignore[union-attr]  # a manager


# Whether last night is done.


@dataclass(frozen=True)
class NightShown:
    """Where last night's audit of a house stands, in words."""

    night: LastNight

    @property
    def words(self) -> str:
        """The state in a few words."""
        return {
            RUNNING: _("being audited"),
            WAITING: _("due, not begun yet"),
            FAILED: _("failed"),
            LATE: _("late: still being audited"),
            STUCK: _("stuck: nobody is at it"),
            MISSING: _("missing: nobody has begun"),
            NOTHING: _("nothing recorded so far"),
        }.get(self.night.state, pgettext("audit", "done"))

    @property
    def trails(self) -> list[str]:
        """In what the last walk along trails and signed heads found something, in words."""
        return [trail_words.where(name) for name in self.night.trails]

    @property
    def icon(self) -> str:
        """Its drawing, by a code that `badge` knows."""
        return {"ok": "decided", "due": "open", "danger": "unreadable"}.get(self.night.kind, "closed")


@require_safe
@never_cache
@overseer_required
def status(request: HttpRequest) -> HttpResponse:
    """Whether last night's audit of the person's houses is done; 503 where somebody has to see to one."""
    member = member_of(request.user)
    now = timezone.now()
    venues = Venue.objects.filter(pk=member.venue_id) if member else Venue.objects.order_by("code")
    nights = [NightShown(night) for night in last_nights(venues, now)]
    ticked = beat_ticked()
    return render(
        request,
        "reports/status.html",
        {
            "nights": nights,
            "red": [one for one in nights if one.night.red],
            "going_on": [one for one in nights if one.night.state in (RUNNING, WAITING)],
            "chain_broken": [one for one in nights if one.night.chain_broken],
            "ticked": ticked,
            "ticked_age": shown.age(int((now - ticked).total_seconds())) if ticked else "",
            "beat_late": ticked is not None and now - ticked > BEAT_LATE,
            "may_start": may(request.user, May.RUN_AUDIT),
        },
        status=503 if any(one.night.red for one in nights) else 200,
    )

"""The queue of incidents, the page of one, and what a choice would do before it is decided."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Case as When_
from django.db.models import IntegerField, Q, QuerySet, Value, When
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import replace_url

from dealing import dates, wording
from dealing.digits import read_digits
from dealing.models import Table
from dealing.people import reader_required, required
from dealing.permissions import May, may
from dealing.rules.rulesets import Citation
from incidents import attachments, rulings
from incidents.evidence import do_attach_file
from incidents.models import Decision, Incident, IncidentAttachment, IncidentFinding, IncidentReview
from incidents.selectors import Case, incidents_of, load_case, log_of, recommendation_of, recorded_by, ruleset_of
from incidents.services import check_review, do_decide_incident, do_review_incident, finding_rows, kept_of
from incidents.wording import NO_LINE, STAND_BESIDE, obstacle_text, unanswered_text

from .duty import on_duty
from .forms import AttachmentForm, DecisionForm, QueueForm, ReviewForm
from .lines import places, tell_planned, timeline
from .replay import Replay, replay
from .sheet import make_sheet

logger = logging.getLogger(__name__)

PAGE = 25

# --- the queue ------------------------------------------------------------------------------------------------------


@require_safe
@never_cache
@reader_required
def queue(request: HttpRequest) -> HttpResponse:
    """The incidents, those to be decided first, the oldest of them on top."""
    seen = incidents_of(request.user)
    tables = list(Table.objects.filter(pk__in=seen.values("table")).values_list("code", flat=True))
    form = QueueForm(request.GET or None, tables)
    found = _search(seen, form).select_related("table__venue").prefetch_related("findings", "decisions")
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    rows = [_queue_row(incident) for incident in page]
    kept = request.GET.copy()
    kept.pop("page", None)
    everywhere = kept.copy()
    everywhere["status"] = QueueForm.ALL
    status = form.value("status")
    return render(
        request,
        "incidents/queue.html",
        {
            "form": form,
            "page": page,
            "rows": rows,
            "kept": kept.urlencode(),
            "everywhere": everywhere.urlencode(),
            "status": status,
            "status_name": dict(form.fields["status"].choices)[status],  # type: ignore[attr-defined]  # a choice field
        },
    )


def _search(found: QuerySet[Incident], form: QueueForm) -> QuerySet[Incident]:
    if (status := form.value("status")) != QueueForm.ALL:
        found = found.filter(status=status)
    if table := form.value("table"):
        found = found.filter(table__code=table)
    after, before = form.age_bounds
    if after is not None:
        found = found.filter(opened_at__gt=after)
    if before is not None:
        found = found.filter(opened_at__lte=before)
    for word in form.value("q").split():
        found = found.filter(_matches(word))
    waiting = When_(When(status=Incident.Status.OPEN, then=Value(0)), default=Value(1), output_field=IntegerField())
    return found.order_by(waiting, "opened_at", "pk")


def _matches(word: str) -> Q:
    """What a word of the search may be: a table, a hand's or shoe's number, a finding, or part of a reason or name."""
    titles = [code for code in wording.FINDINGS if word.casefold() in wording.finding_title(code).casefold()]
    matches = (
        Q(table__code__icontains=word)
        | Q(pk__in=IncidentFinding.objects.filter(Q(code__in=titles) | Q(code=word)).values("incident"))
        | Q(
            pk__in=Decision.objects.filter(Q(reason__icontains=word) | Q(decided_by_name__icontains=word)).values(
                "incident"
            )
        )
    )
    number = read_digits(word, 6)
    if number is not None:
        matches |= Q(hand_number=number) | Q(shoe_number=number)
    return matches


@dataclass(frozen=True)
class QueueRow:
    """An incident as the list shows it."""

    incident: Incident
    titles: list[str]
    headline: str
    decision: Decision | None

    @property
    def age(self) -> str:
        """How long ago it was raised, in the largest unit that fits."""
        return dates.ago(self.incident.opened_at)

    @property
    def more(self) -> int:
        """How many titles the list leaves out."""
        return len(self.titles) - 3


def _queue_row(incident: Incident) -> QueueRow:
    findings = list(incident.findings.all())
    recommendation = recommendation_of(findings, ruleset_of(incident.ruleset))
    decisions = sorted(incident.decisions.all(), key=lambda one: one.number)
    return QueueRow(
        incident,
        list(dict.fromkeys(wording.finding_title(finding.code) for finding in findings)),
        recommendation.headline if findings else "",
        decisions[-1] if decisions else None,
    )


# --- one incident ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An action that can be chosen, or the reason why it cannot be now."""

    action: str
    required: bool
    chosen: bool
    obstacle: str
    no_line: str


@dataclass(frozen=True)
class FindingShown:
    """A finding with the rules that speak of it, in the language of the page."""

    finding: IncidentFinding
    citations: list[Citation]
    unknown_rules: list[str]


def _get_incident(request: HttpRequest, pk: int) -> Incident:
    """The incident, if the person may see it. Http404 for another."""
    return get_object_or_404(incidents_of(request.user).select_related("table__venue"), pk=pk)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@reader_required
def incident(request: HttpRequest, pk: int) -> HttpResponse:
    """The page of an incident; POST decides it."""
    found = _get_incident(request, pk)
    form = None
    if request.method == "POST":
        if not may(request.user, May.DECIDE):
            raise PermissionDenied(_("Only a manager may do this."))
        if "preview" in request.POST:  # without scripts: the page again, saying what the choice would do
            return render(request, "incidents/incident.html", _page(request, load_case(found), None))
        form = DecisionForm(request.POST)
        if form.is_valid():
            try:
                decision = do_decide_incident(
                    found,
                    request.user,  # type: ignore[arg-type]  # a manager is no anonymous user
                    form.cleaned_data["actions"],
                    form.cleaned_data["reason"],
                    seen=form.cleaned_data["seen"],
                )
            except ValidationError as error:
                form.add_error(None, error)
                found = _get_incident(request, pk)
            else:
                messages.success(
                    request,
                    _("Decided: %(actions)s.") % {"actions": " + ".join(map(wording.action_name, decision.actions))},
                )
                return redirect("incidents:incident", pk)
    context = _page(request, load_case(found), form)
    return render(request, "incidents/incident.html", context, status=422 if form else 200)


def _page(
    request: HttpRequest,
    case: Case,
    form: DecisionForm | None,
    review_form: ReviewForm | None = None,
    attachment_form: AttachmentForm | None = None,
) -> dict[str, Any]:
    user = request.user
    asked = request.method == "POST" and review_form is None and attachment_form is None
    if asked:
        chosen = rulings.in_order(request.POST.getlist("actions"))
    elif case.decision is None:
        chosen = tuple(
            action
            for action in case.recommendation.mandatory
            if not case.obstacle(action, case.recommendation.mandatory)
        )
        if case.unanswered(()) and not case.look_ahead(chosen).events:
            chosen = ()  # a press on "Decide" must not pass over what the manager has to decide
    else:
        chosen = ()
    recorder = may(user, May.DECIDE) and recorded_by(case.incident, user)
    second = case.review.second_reviewer if case.review is not None else None
    is_second = second is not None and second.user_id == user.pk
    may_decide = may(user, May.DECIDE) and not recorder and not is_second
    rows = list(log_of(case.incident))
    shown = replay(case, rows, request.GET.get("step"))
    lines = timeline(rows, case.findings, case.decisions)
    steps = {seq: number for number, seq in enumerate(shown.seqs, 1)} if shown is not None else {}
    for line in lines:
        line.step = steps.get(line.seq, 0)
    return {
        "incident": case.incident,
        "case": case,
        "recommendation": case.recommendation,
        "timeline": lines,
        "decisions": list(reversed(case.decisions)),
        "may_decide": may_decide and case.incident.status != Incident.Status.WITHDRAWN,
        "is_manager": may(user, May.DECIDE),
        "is_recorder": recorder,
        "is_second_reviewer": may(user, May.DECIDE) and is_second,
        "form": form or DecisionForm(initial={"reason": request.POST.get("reason", "")}),
        "may_review": may(user, May.REVIEW),
        "review_form": review_form or ReviewForm(None, case.incident.table.venue, case.review, on_duty(case))
        if may(user, May.REVIEW)
        else None,
        "reviews": list(reversed(case.reviews)),
        "attachment_form": attachment_form or AttachmentForm(),
        "attachments": list(case.incident.attachments.order_by("pk")),
        "options": _options(case, _offered(case.recommendation), chosen),
        "questions": list({finding.code: finding for finding in case.unanswered(())}.values()),
        "others": _options(case, [a for a in rulings.ACTIONS if a not in case.recommendation.offered], chosen),
        "decide_open": asked or case.incident.status == Incident.Status.OPEN,
        "queue_left": incidents_of(user).filter(status=Incident.Status.OPEN).exclude(pk=case.incident.pk).count(),
        "money": _money(case),
        **_replayed(case, shown),
        **_outlook(case, chosen),
    }


@require_POST
@never_cache
@required(May.REVIEW)
def review(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a review note; where it cannot be kept, the page again with what was typed."""
    found = _get_incident(request, pk)
    venue = found.table.venue
    last = found.reviews.order_by("number").last()
    form = ReviewForm(request.POST, venue, last, on_duty(load_case(found)))
    with timezone.override(venue.zone):  # the form's times are the house's
        valid = form.is_valid()
    if valid:
        try:
            do_review_incident(
                found,
                request.user,  # type: ignore[arg-type]  # a supervisor is no anonymous user
                form.said,
                seen=form.cleaned_data["after"],
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("The note is kept."))
            return redirect("incidents:incident", pk)
    else:
        _add_what_else_is_wrong(form, found, last)
    if form.has_error(NON_FIELD_ERRORS, "stale"):
        # The newer note is on the page now: what was typed can be sent again after it.
        typed = request.POST.copy()
        typed["after"] = str(found.reviews.count())
        form.data = typed
    context = _page(request, load_case(found), None, form)
    return render(request, "incidents/incident.html", context, status=422)


def _add_what_else_is_wrong(form: ReviewForm, found: Incident, last: IncidentReview | None) -> None:
    """Add to the errors of the form those that its other fields would meet once it is kept: all are told at once."""
    try:
        check_review(found, last, kept_of(last) | form.cleaned_data, seen=form.cleaned_data.get("after"))
    except ValidationError as error:
        for field, wrong in error.error_dict.items():
            others = [one for one in wrong if one.code != "nothing-new"]
            if field not in form.errors and others:
                form.add_error(None if field == NON_FIELD_ERRORS else field, others)


@require_POST
@never_cache
@required(May.REVIEW)
def attach(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep a file with the incident; where it is not taken, the page again with the reason."""
    found = _get_incident(request, pk)
    form = AttachmentForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            do_attach_file(
                found,
                request.user,  # type: ignore[arg-type]  # a supervisor is no anonymous user
                form.cleaned_data["file"],
                form.cleaned_data["caption"],
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("The file is kept."))
            return redirect("incidents:incident", pk)
    context = _page(request, load_case(found), None, None, form)
    return render(request, "incidents/incident.html", context, status=422)


@require_safe
@never_cache
@reader_required
def attachment(request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
    """A file of the incident, to be saved: never shown by the browser as a page of this site."""
    kept = get_object_or_404(IncidentAttachment, pk=number, incident=_get_incident(request, pk))
    file = attachments.open_checked(kept.stored, kept.sha256)
    if file is None:
        logger.error("attachment %d of incident %d is missing or was changed: %s", kept.pk, pk, kept.stored)
        raise Http404(_("This file is missing, or it is not any more what was attached."))
    response = FileResponse(file, as_attachment=True, filename=kept.name, content_type=kept.media_type)
    response["X-Content-Type-Options"] = "nosniff"
    # Whatever a browser makes of it: it runs nothing, loads nothing and is of no site.
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


def _shown(case: Case, finding: IncidentFinding) -> FindingShown:
    language = get_language() or "en"
    cited = {rule: case.ruleset.cite(rule, language) if case.ruleset else None for rule in finding.rules}
    return FindingShown(
        finding,
        [citation for citation in cited.values() if citation is not None],
        [rule for rule, citation in cited.items() if citation is None],
    )


def _replayed(case: Case, shown: Replay | None) -> dict[str, Any]:
    """The felt, the result and the findings as of the step that is shown."""
    if shown is None:
        return {"audit": None, "replay": None, "findings": [_shown(case, finding) for finding in case.findings]}
    audit = shown.audit
    # At the end they are the incident's own; before it the judge's, in the same form.
    findings = case.findings if shown.at_end else finding_rows(case.incident, [f.as_dict() for f in audit.findings])
    return {
        "audit": audit,
        "replay": shown,
        "findings": [_shown(case, finding) for finding in findings],
        "dealt": places(audit.dealt),
        "correct": {**places(audit.correct), "next": audit.next_due},
        "totals": audit.totals if audit.layout.drawn else None,
        "winner": audit.result.winner if audit.result and audit.status != "voided" else None,
    }


def _money(case: Case) -> list[rulings.MoneyLine]:
    if case.fold is None or case.ruleset is None:
        return []
    audit = case.fold.audit()
    return rulings.money(audit, audit, case.ruleset)


def _offered(recommendation: rulings.Recommendation) -> tuple[str, ...]:
    """What the rules speak of, what they require first."""
    return (*recommendation.mandatory, *recommendation.options, *recommendation.measures)


def _options(case: Case, actions: Sequence[str], chosen: Sequence[str]) -> list[Option]:
    out = []
    for action in actions:
        # What another choice would clear the way for (voiding the hand) must stay to be chosen.
        why = case.obstacle(action, (action, rulings.VOID_HAND) if action in rulings.CLOSES else (action,))
        out.append(
            Option(
                action,
                action in case.recommendation.mandatory,
                action in chosen,
                obstacle_text(why, case) if why else "",
                str(NO_LINE.get(action, "")),
            )
        )
    return out


def _outlook(case: Case, chosen: Sequence[str]) -> dict[str, Any]:
    """What the chosen actions would do; problems instead, where they cannot be done."""
    clashes = [
        _("“%(one)s” and “%(other)s” cannot both be done.")
        % {"one": wording.action_name(one), "other": wording.action_name(other)}
        for one, other in case.contradictions(chosen)
    ]
    for action in chosen:
        if why := case.obstacle(action, chosen):
            clashes.append(f"{wording.action_name(action)}: {obstacle_text(why, case)}")
    shown: dict[str, Any] = {
        "chosen": chosen,
        "problems": clashes,
        "departs": case.departures(chosen) if chosen else (),
        "unanswered": list(dict.fromkeys(unanswered_text(f.code) for f in case.unanswered(chosen))) if chosen else [],
    }
    if not chosen or clashes:
        return shown
    ahead = case.look_ahead(chosen)
    shown["planned"] = tell_planned(ahead.events, case.incident.table.code, case.incident.shoe_number)
    shown["no_lines"] = [_no_line(action, chosen) for action in chosen if action in NO_LINE]
    if ahead.before is not None and ahead.after is not None:
        moved = ahead.before.dealt != ahead.after.dealt
        shown |= {
            "before": ahead.before,
            "after": ahead.after,
            "felt_after": places(ahead.after.dealt) if moved else None,
            "felt_before": places(ahead.before.dealt),
            "after_due": ahead.after.next_due if ahead.after.status == "open" else None,
            "result_after": ahead.after.result if ahead.after.status != "voided" else None,
            "money_after": rulings.money(ahead.before, ahead.after, case.ruleset) if case.ruleset else [],
        }
    return shown


def _no_line(action: str, chosen: Sequence[str]) -> str:
    return str(
        STAND_BESIDE if action == rulings.STAND and set(chosen) & set(rulings.RULINGS) - {action} else NO_LINE[action]
    )


@require_safe
@never_cache
@reader_required
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that says what the chosen actions would do."""
    chosen = rulings.in_order(request.GET.getlist("actions"))
    case = load_case(_get_incident(request, pk))
    return render(
        request, "incidents/_outlook.html", {"case": case, "incident": case.incident, **_outlook(case, chosen)}
    )


@require_safe
@never_cache
@reader_required
def step(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that replays the hand: `?step=` says as of which event."""
    found = _get_incident(request, pk)
    case = load_case(found)
    shown = replay(case, list(log_of(found)), request.GET.get("step"))
    if shown is None:
        raise Http404(_("There is no hand to replay here."))
    response = render(request, "incidents/_replay.html", {"incident": found, **_replayed(case, shown)})
    # Loading the page again, or sending its address to somebody, shows the same step.
    address = reverse("incidents:incident", args=[pk])
    return replace_url(response, address if shown.at_end else f"{address}?step={shown.step}")


@require_safe
@never_cache
@reader_required
def sheet(request: HttpRequest, pk: int) -> HttpResponse:
    """The incident on one page to be signed, as PDF; `?lang=` asks for another language than the page's."""
    found = _get_incident(request, pk)
    asked = request.GET.get("lang", "")
    with override(asked if asked in dict(settings.LANGUAGES) else get_language()):
        made = make_sheet(load_case(found))
    name = "-".join(str(part) for part in (found.table.code, found.shoe_number, found.hand_number) if part is not None)
    return HttpResponse(
        made, content_type="application/pdf", headers={"Content-Disposition": f'inline; filename="incident-{name}.pdf"'}
    )


@require_safe
@reader_required
def for_hand(request: HttpRequest, table: str, shoe: int, hand: int | None = None) -> HttpResponse:
    """To the incident of a hand, or of a shoe."""
    found = incidents_of(request.user).filter(table__code=table, shoe_number=shoe, hand_number=hand).first()
    if found is None:
        raise Http404(_("There is no incident here."))
    return redirect("incidents:incident", found.pk)

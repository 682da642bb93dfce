"""What changes incidents: the log, which raises them, and managers, who decide them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dealing import permissions
from dealing.log import record_many
from dealing.messages import explain
from dealing.models import Dealer, Hand, Shoe, StaffMember, Table, TableEvent
from dealing.permissions import May
from dealing.rules.events import Amended, EventError
from dealing.wording import action_name

from . import rulings
from .models import Decision, Incident, IncidentFinding, IncidentReview
from .selectors import Case, citations, load_case, recorded_by
from .trail.writing import Kind, note, note_incidents
from .webhooks import telling
from .wording import obstacle_text, unanswered_text

Finding = Mapping[str, Any]
Place = tuple[int, int | None]
#: By shoe and hand (None: the shoe outside its hands): the ruleset and the findings.
Judged = dict[Place, tuple[str, Sequence[Finding]]]
#: What a finding is held against the log by.
FINDING_COLUMNS: Final = (
    *("position", "code", "seq", "cards", "state", "rules", "ruling", "options", "mandatory", "closed_by_rule"),
)

#: The incident that is being decided: what becomes of it on the way is not told, what it comes to is.
_being_decided: ContextVar[int | None] = ContextVar("being_decided", default=None)

# --- from the log to the incident -----------------------------------------------------------------------------------


def sync_incidents(
    *,
    table: Table,
    row: TableEvent,
    hands: Sequence[Hand],
    shoes: Sequence[Shoe],
    gone: Sequence[tuple[int, int]] = (),
    same: bool = False,
    **_signal: Any,
) -> None:
    """Bring the incidents of the changed hands and shoes up to date; called inside the transaction that appends.

    `same`: each has the findings that it had before, so that its incident stands as it is.
    """
    if not changes_incidents(row=row, gone=gone, same=same):
        return  # the usual card
    found: Judged = {}
    for shoe in shoes:
        # A shoe that an amendment took out of the log has no row any more.
        found[shoe.number, None] = (shoe.ruleset, shoe.audit["findings"] if shoe.pk else ())
    for hand in hands:
        found[hand.shoe.number, hand.number] = (hand.shoe.ruleset, hand.audit["findings"])
    known = Incident.objects.filter(table=table, shoe_number__in={shoe for shoe, _hand in found} | {row.shoe_number})
    hand_of_it = Hand.objects.filter(
        shoe__table=OuterRef("table"), shoe__number=OuterRef("shoe_number"), number=OuterRef("hand_number")
    )
    incidents = {}
    changed: list[Incident] = []
    for incident in known.annotate(hand_there=Exists(hand_of_it)):
        place = (incident.shoe_number, incident.hand_number)
        incidents[place] = incident
        if place[1] is not None and place not in found and not incident.hand_there:
            found[place] = (incident.ruleset, ())  # an amendment took the whole hand out of the log
    for place, (ruleset, findings) in found.items():
        if findings or place in incidents:
            changed += _sync(table, place, ruleset, findings, incidents.get(place))
    note_incidents(table, changed, row.actor)


def changes_incidents(*, row: TableEvent, gone: Sequence[tuple[int, int]], same: bool, **_signal: Any) -> bool:
    """Whether incidents may have to be changed with an event."""
    return not same or bool(gone) or row.name == Amended.name


def resync_incidents(table: Table, judged: Judged, actor: str) -> list[Incident]:
    """Make all incidents of a table, which is locked, what was judged; those that were different."""
    known = {(one.shoe_number, one.hand_number): one for one in Incident.objects.filter(table=table)}
    changed: list[Incident] = []
    for place, incident in known.items():
        ruleset, findings = judged.get(place, (incident.ruleset, ()))
        changed += _sync(table, place, ruleset, findings, incident)
    for place in sorted(judged.keys() - known.keys(), key=lambda place: (place[0], place[1] or 0)):
        changed += _sync(table, place, *judged[place], None)
    note_incidents(table, changed, actor)
    return changed


def _sync(
    table: Table, place: Place, ruleset: str, findings: Sequence[Finding], incident: Incident | None
) -> list[Incident]:
    """Bring one incident up to date; the incident, where that changed it."""
    if incident is None:
        raised_by = TableEvent.objects.only("seq", "at").get(table=table, seq=findings[0]["seq"][-1])
        incident = Incident(
            table=table,
            shoe_number=place[0],
            hand_number=place[1],
            opened_at=raised_by.at,
            opened_seq=raised_by.seq,
            version=0,
        )
        rows: list[IncidentFinding] = []
    else:
        rows = list(incident.findings.all())
    before = incident.status if incident.pk else None
    decision = incident.decisions.order_by("number").last() if incident.pk else None
    status = status_of(findings, decision)
    due = finding_rows(incident, findings)
    same = [_columns(row) for row in rows] == [_columns(row) for row in due]
    if same and (incident.status, incident.ruleset) == (status, ruleset):
        return []
    incident.status, incident.ruleset = status, ruleset
    incident.version += 1
    incident.save()
    if not same:
        if rows:
            incident.findings.all().delete()
        IncidentFinding.objects.bulk_create(due)
    if incident.pk != _being_decided.get():
        telling.incident_changed(incident, before, findings)
    return [incident]


def _columns(row: IncidentFinding) -> list[Any]:
    return [getattr(row, name) for name in FINDING_COLUMNS]


def finding_rows(incident: Incident, findings: Iterable[Finding]) -> list[IncidentFinding]:
    """The findings as rows of the incident, not saved."""
    rows = []
    for position, finding in enumerate(findings):
        row = IncidentFinding(incident=incident, position=position, **finding)
        if rulings.closes_itself(row):
            row.closed_by_rule = next(iter(row.rules), "")
        rows.append(row)
    return rows


def _key(finding: Finding) -> tuple[str, int]:
    """What makes it the same finding later on: its kind and the event that raised it first."""
    return finding["code"], finding["seq"][0]


def status_of(findings: Sequence[Finding], decision: Decision | None) -> Incident.Status:
    """The status of an incident with these findings, of which `decision` is in force.

    Findings that joined after the decision open the incident again; findings amended away withdraw it; with those
    that a rule lets stand nobody has to do anything.
    """
    if not findings:
        return Incident.Status.WITHDRAWN
    weighing = [f for f in findings if not (f["mandatory"] and f["ruling"] == rulings.STAND)]
    if decision is not None:
        decided = Counter(map(_key, decision.rulings))
        joined = Counter(map(_key, weighing)) - decided
        return Incident.Status.OPEN if joined else Incident.Status.DECIDED
    return Incident.Status.OPEN if weighing else Incident.Status.BY_RULE


# --- from the manager to the log ------------------------------------------------------------------------------------


def do_decide_incident(
    incident: Incident, user: User, actions: Iterable[str], reason: str = "", *, seen: str | None = None
) -> Decision:
    """Decide an incident: keep the decision and append the events that carry it out to the log; all or nothing.

    `seen` is `Case.seen` of the page on which the manager decided; None: whatever stands now is decided on.

    Raises PermissionDenied for somebody who is no manager, and ValidationError by field (`actions`, `reason`, or
    none) where the decision cannot be made: nothing is changed then. A decision made before is superseded, never
    changed.
    """
    permissions.check(user, May.DECIDE)
    with transaction.atomic():
        # The table first, as whoever records does: the two can never wait for each other.
        Table.objects.select_for_update().get(pk=incident.table_id)
        incident = Incident.objects.select_related("table__venue").get(pk=incident.pk)
        case = load_case(incident)
        chosen = check_decision(case, user, actions, reason, seen=seen)
        reason = reason.strip()
        departs = bool(case.departures(chosen))
        before = _snapshot(case)
        deciding = _being_decided.set(incident.pk)
        try:
            events = _carry_out(case, user, chosen, reason)
        finally:
            _being_decided.reset(deciding)
        case = load_case(Incident.objects.select_related("table__venue").get(pk=incident.pk))
        after = _snapshot(case)
        # What only carrying it out brought about and put right at once (a payment taken back) is decided with it.
        settled = Counter(map(_key, before))
        for finding in after:
            if settled[_key(finding)]:
                settled[_key(finding)] -= 1
            elif finding["state"] == IncidentFinding.State.CORRECTED:
                before.append(finding)
        decision = Decision.objects.create(
            incident=incident,
            number=len(case.decisions) + 1,
            actions=list(chosen),
            reason=reason,
            departs=departs,
            rulings=before,
            decided_by=user,
            decided_by_name=user.get_full_name() or user.get_username(),
            decided_at=timezone.now(),
            supersedes=case.decision,
            events=events,
        )
        incident = case.incident
        incident.status = status_of(after, decision)
        incident.version += 1
        incident.save(update_fields=["status", "version"])
        note(incident, Kind.DECISION, decision, user.get_username())
        note_incidents(incident.table, [incident], user.get_username())
        telling.decision_made(decision, incident)
    return decision


def say_decided(*, table: Table, shoe: int, seqs: frozenset[int], **_signal: object) -> str:
    """Why these entries are not to be taken back as typing: a decision was carried out with one of them. Else empty."""
    made = Decision.objects.filter(incident__table=table, incident__shoe_number=shoe)
    if all(seqs.isdisjoint(events) for events in made.values_list("events", flat=True)):
        return ""
    return _(
        "This carries out a manager’s decision. Only a supervisor or a manager may change it, at the entry itself."
    )


def check_decision(
    case: Case, user: User, actions: Iterable[str], reason: str, *, seen: str | None = None
) -> tuple[str, ...]:
    """The chosen actions, strongest first. Raises ValidationError by field where this cannot be decided now."""
    given = list(actions)
    chosen = rulings.in_order(given)
    errors: dict[str, list[ValidationError]] = {}

    def refuse(field: str, message: str, code: str) -> None:
        errors.setdefault(field, []).append(ValidationError(message, code=code))

    if seen is not None and seen != case.seen:
        refuse(NON_FIELD_ERRORS, _("This changed while you were looking at it. Read it again, then decide."), "stale")
    if case.incident.status == Incident.Status.WITHDRAWN:
        refuse(NON_FIELD_ERRORS, _("The record was amended and nothing is left to decide."), "withdrawn")
    if recorded_by(case.incident, user):
        refuse(
            NON_FIELD_ERRORS,
            _("You recorded events of this yourself, so another manager has to decide."),
            "four-eyes",
        )
    second = case.review.second_reviewer if case.review is not None else None
    if second is not None and second.user_id == user.pk:
        refuse(
            NON_FIELD_ERRORS,
            _("You are named as the second reviewer of this, so another manager has to decide."),
            "second-reviewer",
        )
    if not chosen:
        refuse("actions", _("Choose what is to be done."), "required")
    if len(chosen) != len(set(given)):
        refuse("actions", _("One of the choices is not known here. Choose again."), "unknown")
    for one, other in case.contradictions(chosen):
        refuse(
            "actions",
            _("“%(one)s” and “%(other)s” cannot both be done.")
            % {"one": action_name(one), "other": action_name(other)},
            "contradiction",
        )
    for action in chosen:
        if why := case.obstacle(action, chosen):
            refuse("actions", f"{action_name(action)}: {obstacle_text(why, case)}", "impossible")
    if chosen:
        for code in dict.fromkeys(finding.code for finding in case.unanswered(chosen)):
            refuse("actions", unanswered_text(code), "unanswered")
    if len(reason.strip()) > rulings.REASON_LIMIT:
        limit = rulings.REASON_LIMIT
        refuse(
            "reason",
            ngettext("Use at most %(limit)d character.", "Use at most %(limit)d characters.", limit) % {"limit": limit},
            "too-long",
        )
    if "\x00" in reason:  # PostgreSQL keeps no such character
        refuse("reason", _("This holds a character that cannot be stored."), "not-storable")
    if chosen and not errors and not reason.strip() and (left := case.departures(chosen)):
        refuse(
            "reason",
            _("The rules require “%(rulings)s”. Write down why you decide otherwise.")
            % {"rulings": "”, “".join(map(action_name, left))},
            "departs",
        )
    if errors:
        raise ValidationError(dict(errors))
    return chosen


def _carry_out(case: Case, user: User, chosen: Sequence[str], reason: str) -> list[int]:
    """Append the events of the decision; their positions in the log."""
    incident = case.incident
    common = {"table": incident.table.code, "shoe": incident.shoe_number}
    member = getattr(user, "staff_member", None)
    by = {} if member is None else {"by": member.code}
    try:
        lines = [{**common, **line, **by} for line in case.look_ahead(chosen, reason).events]
        return [recorded.row.seq for recorded in record_many(lines, actor=user.get_username())]
    except EventError as error:
        message = _("The table's log does not take this: %(why)s") % {"why": explain(error)}
        raise ValidationError({NON_FIELD_ERRORS: [ValidationError(message, code="refused")]}) from error


def _snapshot(case: Case) -> list[dict[str, Any]]:
    """The findings and what the rules say of them, as worded now."""
    return [{**finding.as_dict(), "citations": citations(case.ruleset, finding.rules)} for finding in case.findings]


# --- what is known beside the log -----------------------------------------------------------------------------------

#: What a review note says; a new note takes over whatever it does not change.
REVIEW_FIELDS: Final = (
    "error_by",
    "dealer",
    "supervisor",
    "camera",
    "video_at",
    "second_reviewer",
    "money_lost",
    "money_saved",
    "follow_up",
    "follow_up_done",
    "note",
)
#: Those that stay true from one note to the next; a `note` is said once.
KEPT_FIELDS: Final = REVIEW_FIELDS[:-1]
TEXT_LIMIT: Final = 1000


def do_review_incident(
    incident: Incident, user: User, said: Mapping[str, Any], *, seen: int | None = None
) -> IncidentReview:
    """Add a review note. `said`: values of REVIEW_FIELDS; what is left out stays as the last note has it. `dealer`:
    one of the house's dealers, or a member of staff.

    `seen` is the number of the note that the writer read last (0: none); None: whatever was written last is taken over.

    Raises PermissionDenied for somebody below a supervisor, and ValidationError by field; nothing is kept then.
    """
    permissions.check(user, May.REVIEW)
    if unknown := set(said) - set(REVIEW_FIELDS):
        raise TypeError(f"a review note has no {', '.join(sorted(unknown))}")
    with transaction.atomic():
        # As for a decision: whoever is named second reviewer and whoever decides must not become the same person.
        Table.objects.select_for_update().get(pk=incident.table_id)
        incident = Incident.objects.select_related("table__venue").get(pk=incident.pk)
        last = incident.reviews.order_by("number").last()
        values = kept_of(last)
        values |= {name: value.strip() if isinstance(value, str) else value for name, value in said.items()}
        check_review(incident, last, values, seen=seen)
        written = IncidentReview.objects.create(
            incident=incident,
            number=1 if last is None else last.number + 1,
            written_by=user,
            written_by_name=user.get_full_name() or user.get_username(),
            written_at=timezone.now(),
            **{f"{role}_name": staff_name(values.get(role)) for role in ("dealer", "supervisor", "second_reviewer")},
            **{"dealt_by" if isinstance(value, Dealer) else name: value for name, value in values.items()},
        )
        note(incident, Kind.REVIEW, written, user.get_username())
    return written


def kept_of(last: IncidentReview | None) -> dict[str, Any]:
    """What stays true of the last note: values of KEPT_FIELDS."""
    if last is None:
        return {}
    return {name: last.who_dealt if name == "dealer" else getattr(last, name) for name in KEPT_FIELDS}


def staff_name(member: StaffMember | Dealer | None) -> str:
    """A member of staff, or a dealer, as text: the code, and the name where there is one; empty for nobody."""
    if member is None:
        return ""
    if isinstance(member, Dealer):
        return str(member)
    name = member.user.get_full_name()
    return f"{member.code} {name}" if name else member.code


def check_review(
    incident: Incident, last: IncidentReview | None, values: Mapping[str, Any], *, seen: int | None = None
) -> None:
    """Raises ValidationError by field where this note cannot be kept."""
    errors: dict[str, ValidationError] = {}
    if seen is not None and seen != (0 if last is None else last.number):
        errors[NON_FIELD_ERRORS] = ValidationError(
            _("Somebody else wrote a note meanwhile. Read it, then add yours."), code="stale"
        )
    for role in ("dealer", "supervisor", "second_reviewer"):
        member = values.get(role)
        if member is not None and member.venue_id != incident.table.venue_id:
            errors[role] = ValidationError(_("This person does not work in this house."), code="other-house")
    reviewer = values.get("second_reviewer")
    decision = incident.decisions.order_by("number").last()
    if reviewer is not None and decision is not None and reviewer.user_id == decision.decided_by_id:
        errors["second_reviewer"] = ValidationError(
            _("%(name)s decided this. The second reviewer is somebody else."),
            code="four-eyes",
            params={"name": decision.decided_by_name},
        )
    for field in ("money_lost", "money_saved"):
        amount = values.get(field)
        if amount is not None and amount < 0:
            errors[field] = ValidationError(_("Write the amount without a sign."), code="negative")
    video_at = values.get("video_at")
    if video_at is not None and video_at > timezone.now():
        errors["video_at"] = ValidationError(_("This is still to come."), code="future")
    if values.get("follow_up_done") and not values.get("follow_up"):
        errors["follow_up"] = ValidationError(_("Write down what was done."), code="required")
    for field in ("camera", "follow_up", "note"):
        if "\x00" in values.get(field, ""):  # PostgreSQL keeps no such character
            errors[field] = ValidationError(_("This holds a character that cannot be stored."), code="not-storable")
    before = kept_of(last)
    same = all((before.get(name) or None) == (values.get(name) or None) for name in KEPT_FIELDS if name[:5] != "money")
    same &= all(before.get(name) == values.get(name) for name in ("money_lost", "money_saved"))
    if not errors and same and not values.get("note"):
        errors[NON_FIELD_ERRORS] = ValidationError(_("This says nothing new."), code="nothing-new")
    if errors:
        raise ValidationError(dict(errors))

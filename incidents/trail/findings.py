"""Findings of incidents are a projection of the log: held against what the judge says, and made right again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.db import transaction

from dealing.models import Hand, Shoe, Table
from dealing.projections import hand_fields, refolded_shoes
from dealing.rules.events import EventError
from dealing.verify import Asked, Beside, Broken
from incidents.models import Incident
from incidents.services import FINDING_COLUMNS, Judged, finding_rows, resync_incidents

from . import walks

PREFIX: Final = "findings of table "


def check_findings(asked: Asked) -> Iterator[Beside]:
    """Hold the incidents of the tables asked for against the judgement stored with their hands and shoes.

    With `asked.projections` against the log itself, judged again.
    """
    for table in Table.objects.filter(code__in=asked.tables).select_related("venue").order_by("code"):
        try:
            problems = _problems(table, judge_again=asked.projections)
        except EventError:
            continue  # said of the log
        found = Beside(PREFIX + table.code, "", tuple(Broken(PREFIX + table.code, None, one) for one in problems))
        # What was stored may have been changed with the incident: who looks at less clears no table.
        if asked.keep and (problems or asked.projections):
            walks.keep(found, table.venue, table)
        yield found


def restore(*, table: Table, actor: str, **_signal: Any) -> str:
    """Make the incidents of a table what its shoes and hands, just made again, say; what that came to, in a line."""
    changed = resync_incidents(table, _stored(table), actor)
    walks.keep(Beside(PREFIX + table.code, ""), table.venue, table)
    return f"incidents put right: {', '.join(str(one.pk) for one in changed)}" if changed else ""


def _problems(table: Table, *, judge_again: bool) -> list[str]:
    judged = _from_log if judge_again else _stored
    if not list(_differences(table, judged(table))):
        return []
    with transaction.atomic():  # once more, with nobody recording meanwhile
        Table.objects.select_for_update().get(pk=table.pk)
        return list(_differences(table, judged(table)))


def _stored(table: Table) -> Judged:
    found: Judged = {}
    for shoe in Shoe.objects.filter(table=table, has_findings=True):
        found[shoe.number, None] = (shoe.ruleset, shoe.audit["findings"])
    for hand in Hand.objects.filter(shoe__table=table, has_findings=True).select_related("shoe"):
        found[hand.shoe.number, hand.number] = (hand.shoe.ruleset, hand.audit["findings"])
    return found


def _from_log(table: Table) -> Judged:
    found: Judged = {}
    for number, refolded in refolded_shoes(table):
        if refolded.shoe is None:
            continue
        ruleset = refolded.fields["ruleset"]
        found[number, None] = (ruleset, refolded.fields["audit"]["findings"])
        for fold in refolded.hands:
            found[number, fold.number] = (ruleset, hand_fields(fold)["audit"]["findings"])
    return {place: (ruleset, findings) for place, (ruleset, findings) in found.items() if findings}


def _differences(table: Table, judged: Judged) -> Iterator[str]:
    """How the incidents stored differ from what was judged, a line each; their own columns are held by the trail."""
    left = dict(judged)
    stored = Incident.objects.filter(table=table).select_related("table").prefetch_related("findings")
    for incident in stored.order_by("pk"):
        _, findings = left.pop((incident.shoe_number, incident.hand_number), ("", ()))
        name = f"incident {incident.pk} ({incident})"
        rows = {row.position: row for row in incident.findings.all()}
        for due in finding_rows(incident, findings):
            row = rows.pop(due.position, None)
            if row is None:
                yield f"{name}: its finding {due.position + 1} ({due.code}) is missing"
            elif wrong := [column for column in FINDING_COLUMNS if getattr(row, column) != getattr(due, column)]:
                yield f"{name}: its finding {due.position + 1} ({due.code}) was changed: {', '.join(wrong)}"
        for row in rows.values():
            yield f"{name}: its finding {row.position + 1} ({row.code}) was put in: the log has no such finding"
    for (shoe, hand), (_, findings) in sorted(left.items(), key=lambda one: (one[0][0], one[0][1] or 0)):
        where = f"shoe {shoe}" if hand is None else f"shoe {shoe} hand {hand}"
        codes = ", ".join(finding["code"] for finding in findings)
        yield f"the incident of {where} is missing: the log has findings there ({codes})"

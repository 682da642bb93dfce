"""Writing the trail, in the transaction that changes what it is about.

Trails are locked last: the table (or the run or house of a report) is locked before, and whoever holds a trail waits
for nobody's table. The usual card touches no incident, and no trail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from dealing import seal_keys, seals
from dealing.chain import row_hash
from dealing.models import DealerShift, Table
from incidents.models import AuditReport, Incident

from . import contents
from .models import SignedHead, Trail, TrailEntry, genesis_hash, scope_of

Kind = TrailEntry.Kind


def note_incidents(table: Table, incidents: Sequence[Incident], actor: str) -> None:
    """Incidents of a table, which is locked, were opened or changed."""
    given = [(Kind.INCIDENT, one.pk, contents.payload(Kind.INCIDENT, one)) for one in incidents]
    write(Book.of_table(table), given, actor)


def note(incident: Incident, kind: str, row: Any, actor: str) -> None:
    """A decision, a review note or a file was added to an incident, whose table is locked."""
    # As the database has it: what was rounded or cut there is what there is to be proved.
    row = type(row).objects.get(pk=row.pk)
    write(Book.of_table(incident.table), [(kind, row.pk, contents.payload(kind, row))], actor)


def note_report(report: AuditReport) -> None:
    """A report was made."""
    report = AuditReport.objects.select_related("venue").get(pk=report.pk)
    book = Book(report.venue_id, None, scope_of(report.venue.code, None))
    write(book, [(Kind.REPORT, report.pk, contents.payload(Kind.REPORT, report))], "audit")


def note_shifts(*, table: Table, shifts: Sequence[DealerShift], actor: str, **_signal: Any) -> None:
    """Shifts at a table, which is locked, were made or changed."""
    kept = DealerShift.objects.filter(pk__in=[shift.pk for shift in shifts]).order_by("pk")
    write(Book.of_table(table), [(Kind.SHIFT, one.pk, contents.payload(Kind.SHIFT, one)) for one in kept], actor)


def note_signed(head: SignedHead) -> None:
    """Heads of a house, which is locked, were signed: that they were is in the trail, wherever they are then."""
    head = SignedHead.objects.select_related("venue").get(pk=head.pk)
    book = Book(head.venue_id, None, scope_of(head.venue.code, None))
    write(book, [(Kind.SIGNED, head.pk, contents.payload(Kind.SIGNED, head))], "audit")


class Book(NamedTuple):
    """Which trail: ids of the house and of the table, and its name."""

    venue_id: int
    table_id: int | None
    scope: str

    @classmethod
    def of_table(cls, table: Table) -> Book:
        """The trail of a table's incidents."""
        return cls(table.venue_id, table.pk, scope_of(table.venue.code, table.code))


def write(
    book: Book,
    given: Sequence[tuple[str, int, str]],
    actor: str,
    *,
    trail_model: Any = Trail,
    entry_model: Any = TrailEntry,
) -> None:
    """Append entries (kind, row, payload) to a trail; all or none of them. The models: a migration has its own."""
    if not given:
        return
    with transaction.atomic():
        found, _made = trail_model.objects.get_or_create(venue_id=book.venue_id, table_id=book.table_id)
        trail = trail_model.objects.select_for_update().get(pk=found.pk)
        now = timezone.now() if trail.last_recorded_at is None else max(timezone.now(), trail.last_recorded_at)
        key = seal_keys.sealing_key()
        sealed = None if key is None else seals.sealer(key, book.scope, actor, now)
        entries = []
        for kind, reference, payload in given:
            seq, before = trail.last_seq + 1, trail.last_hash or genesis_hash(book.scope)
            seal = None if sealed is None else sealed(trail.last_seal or before, seq, payload)
            trail.last_seq, trail.last_seal = seq, seal or ""
            trail.last_hash = row_hash(before, seq, payload, actor, now)
            entries.append(
                entry_model(
                    trail_id=trail.pk,
                    seq=seq,
                    kind=kind,
                    reference=reference,
                    payload=payload,
                    prev_hash=before,
                    hash=trail.last_hash,
                    recorded_at=now,
                    actor=actor,
                    seal=seal,
                )
            )
        trail.last_recorded_at = now
        entry_model.objects.bulk_create(entries, batch_size=500)
        trail.save()

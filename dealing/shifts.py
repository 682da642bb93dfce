"""What changes who deals where: `do_change_dealer`, `do_end_shift`, and putting the times right afterwards.

At a table one dealer deals at a time, and a dealer deals at one table at a time. Shifts are half-open: one may begin at
the very moment another ends. Every change locks the dealer's row and then those of the tables it touches, in order.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dealing import dates
from dealing.models import Dealer, DealerShift, Table
from dealing.permissions import May, check
from dealing.signals import shifts_changed


def shift_now(table: Table) -> DealerShift | None:
    """Who deals at the table now; None where nobody is recorded."""
    return DealerShift.objects.select_related("dealer").filter(table=table, ended_at=None).first()


def shift_at(table: Table, at: dt.datetime) -> DealerShift | None:
    """Who dealt at the table at that time."""
    begun = DealerShift.objects.select_related("dealer").filter(table=table, started_at__lte=at)
    return begun.filter(Q(ended_at=None) | Q(ended_at__gt=at)).order_by("-started_at").first()


def do_change_dealer(table: Table, dealer: Dealer, user: User, *, seen: int | None = None) -> DealerShift:
    """`dealer` deals at the table from now on: the shift before ends, and the one the dealer had elsewhere.

    `seen` is the primary key of the shift that the page showed (0: none); None takes whatever stands now.

    Raises PermissionDenied for somebody who may not record, and ValidationError where this cannot be: with code
    `stale` where somebody else changed the dealer first. Nothing is changed then.
    """
    check(user, May.RECORD)
    with transaction.atomic():
        dealer = Dealer.objects.select_for_update().get(pk=dealer.pk)
        elsewhere = list(DealerShift.objects.filter(dealer=dealer, ended_at=None).exclude(table=table))
        _lock([table.pk, *(shift.table_id for shift in elsewhere)])
        current = shift_now(table)
        _check_seen(current, seen)
        if dealer.venue_id != table.venue_id:
            raise ValidationError(_("This dealer does not work in this house."), code="other-house")
        if not dealer.is_active:
            raise ValidationError(_("%(dealer)s does not work here any more.") % {"dealer": dealer}, code="inactive")
        if current is not None and current.dealer_id == dealer.pk:
            raise ValidationError(_("%(dealer)s deals at this table already.") % {"dealer": dealer}, code="same")
        now = timezone.now()
        for shift in elsewhere:
            shift.refresh_from_db(fields=["ended_at"])  # its table's own people may have ended it meanwhile
        ended = [shift for shift in (current, *elsewhere) if shift is not None and shift.ended_at is None]
        _end(ended, now)
        made = DealerShift.objects.create(
            table=table, dealer=dealer, started_at=_not_before(table, dealer, now), recorded_by=user.get_username()
        )
        tell([*ended, made], user.get_username())
        return made


def do_end_shift(table: Table, user: User, *, seen: int | None = None) -> DealerShift:
    """Nobody deals at the table from now on. Raises as `do_change_dealer`; with code `nobody` where nobody does."""
    check(user, May.RECORD)
    with transaction.atomic():
        _lock([table.pk])
        current = shift_now(table)
        _check_seen(current, seen)
        if current is None:
            raise ValidationError(_("No dealer is recorded at this table."), code="nobody")
        _end([current], timezone.now())
        tell([current], user.get_username())
        return current


def do_correct_shift(
    table: Table,
    user: User,
    dealer: Dealer,
    started_at: dt.datetime,
    ended_at: dt.datetime | None,
    *,
    shift: DealerShift | None = None,
) -> DealerShift:
    """Put a shift right, or (without `shift`) write down one that was forgotten; `ended_at` None: still dealing.

    What it said before stays to be read in the history of the master data. Raises PermissionDenied for somebody below
    a supervisor, and ValidationError by field (`dealer`, `started_at`, `ended_at`); nothing is changed then.
    """
    check(user, May.SUPERVISE)
    with transaction.atomic():
        dealer = Dealer.objects.select_for_update().get(pk=dealer.pk)
        _lock([table.pk])
        if shift is not None:
            shift = DealerShift.objects.select_related("dealer").get(pk=shift.pk, table=table)
        before = "" if shift is None else _told(shift)
        kept = shift or DealerShift(table=table)
        kept.dealer, kept.started_at, kept.ended_at = dealer, started_at, ended_at
        kept.recorded_by = user.get_username()
        _check(kept)
        kept.save()
        said = _told(kept) if shift is None else f"{before} -> {_told(kept)}"
        tell([kept], user.get_username())
        LogEntry.objects.log_actions(user.pk, [kept], ADDITION if shift is None else CHANGE, said, single_object=True)
        return kept


def tell(shifts: Iterable[DealerShift], actor: str) -> None:
    """Announce shifts that were made or changed, inside the transaction that holds the locks of their tables."""
    by_table: dict[int, list[DealerShift]] = {}
    for shift in shifts:
        by_table.setdefault(shift.table_id, []).append(shift)
    for table in Table.objects.filter(pk__in=by_table).select_related("venue").order_by("pk"):
        shifts_changed.send(DealerShift, table=table, shifts=by_table[table.pk], actor=actor)


def overlapping(shift: DealerShift) -> QuerySet[DealerShift]:
    """The other shifts at the same table, and those of the same dealer, of which some time is in this one too."""
    begun = Q() if shift.ended_at is None else Q(started_at__lt=shift.ended_at)
    lasting = Q(ended_at=None) | Q(ended_at__gt=shift.started_at)
    mine = Q(table=shift.table_id) | Q(dealer=shift.dealer_id)
    return DealerShift.objects.select_related("dealer", "table").filter(mine, begun, lasting).exclude(pk=shift.pk)


def _check(shift: DealerShift) -> None:
    now, errors = timezone.now(), {}
    zone = shift.table.venue.zone
    if shift.dealer.venue_id != shift.table.venue_id:
        errors["dealer"] = ValidationError(_("This dealer does not work in this house."), code="other-house")
    if shift.started_at > now:
        errors["started_at"] = ValidationError(_("This is still to come."), code="future")
    if shift.ended_at is not None and shift.ended_at > now:
        errors["ended_at"] = ValidationError(_("This is still to come."), code="future")
    elif shift.ended_at is not None and shift.ended_at <= shift.started_at:
        errors["ended_at"] = ValidationError(_("The end is not after the beginning."), code="order")
    if not errors and (other := overlapping(shift).order_by("started_at").first()) is not None:
        until = dates.minute(other.ended_at.astimezone(zone)) if other.ended_at else _("now")
        names = {
            "dealer": other.dealer,
            "table": other.table.code,
            "from": dates.minute(other.started_at.astimezone(zone)),
            "until": until,
        }
        # At the field whose change would end it: the other shift lies around the beginning, or comes after it.
        field = "started_at" if other.started_at <= shift.started_at else "ended_at"
        message = _("%(dealer)s dealt at %(table)s from %(from)s until %(until)s: the two may not overlap.") % names
        errors[field] = ValidationError(message, code="overlap")
    if errors:
        raise ValidationError(errors)


def _lock(tables: Iterable[int]) -> None:
    """Keep others from the tables until the transaction ends; in one order, so that no two wait for each other."""
    list(Table.objects.select_for_update().filter(pk__in=set(tables)).order_by("pk").values_list("pk", flat=True))


def _check_seen(current: DealerShift | None, seen: int | None) -> None:
    if seen is None or seen == (current.pk if current else 0):
        return
    if current is None:
        message = _("Somebody else ended the shift meanwhile: nobody is recorded at this table now.")
    else:
        message = _("Somebody else changed the dealer meanwhile: %(dealer)s deals now.") % {"dealer": current.dealer}
    raise ValidationError({NON_FIELD_ERRORS: [ValidationError(message, code="stale")]})


def _end(shifts: Iterable[DealerShift], now: dt.datetime) -> None:
    for shift in shifts:
        shift.ended_at = max(now, shift.started_at)
        shift.save(update_fields=["ended_at"])


def _not_before(table: Table, dealer: Dealer, now: dt.datetime) -> dt.datetime:
    """Now; where a clock went back, not before what is written down already."""
    ends = DealerShift.objects.filter(Q(table=table) | Q(dealer=dealer), ended_at__gt=now).values_list("ended_at")
    return max([now, *(end for (end,) in ends if end)])


def _told(shift: DealerShift) -> str:
    """The shift as the history keeps it: ISO, whoever reads it."""
    ended = shift.ended_at.isoformat(timespec="seconds") if shift.ended_at else "now"
    return f"{shift.table.code} {shift.dealer.code} {shift.started_at.isoformat(timespec='seconds')}/{ended}"

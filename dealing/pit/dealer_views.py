"""Who deals at a table: the line on the console, the list to choose from, and the shifts with their times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.paginator import Paginator
from django.db import IntegrityError
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dealing.dates import MomentField
from dealing.digits import BIG_INTEGER, read_digits
from dealing.models import Dealer, DealerShift, Table
from dealing.people import reader_required, supervisor_required
from dealing.permissions import May, check, may
from dealing.pit.access import table_of
from dealing.shifts import do_change_dealer, do_correct_shift, do_end_shift, shift_now

#: Shifts on a page of the list.
PAGE: Final = 50


# Who deals now.


@dataclass
class Picker:
    """The list to choose the next dealer from, and what was wrong with the last choice."""

    dealers: list[Dealer] = field(default_factory=list)
    search: str = ""
    error: str = ""


def choices(table: Table, search: str = "") -> QuerySet[Dealer]:
    """The house's dealers, those who dealt at this table last first; `here`: the code of the table they deal at now."""
    found = Dealer.objects.filter(venue=table.venue_id, is_active=True)
    for word in search.split():
        found = found.filter(code__icontains=word) | found.filter(name__icontains=word)
    at = DealerShift.objects.filter(dealer=OuterRef("pk"), ended_at=None).values("table__code")[:1]
    last = (
        DealerShift.objects.filter(dealer=OuterRef("pk"), table=table).order_by("-started_at").values("started_at")[:1]
    )
    return found.annotate(here=Subquery(at), recent=Subquery(last)).order_by(F("recent").desc(nulls_last=True), "code")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@reader_required
def dealer(request: HttpRequest, code: str) -> HttpResponse:
    """Who deals at the table now. GET: the line of the console (asked by htmx; 204 while it is the shift `?seen=`),
    with `?pick` the list too; else the list on a page of its own. POST `dealer` (or `end`), `seen`: change it.
    """
    table = table_of(request, code)
    if request.method == "POST":
        return _change(request, table)
    search = request.GET.get("q", "").replace("\0", "")[:64]
    if not getattr(request, "htmx", False):
        return _shown(request, table, Picker(list(choices(table, search)), search))
    if "pick" in request.GET:
        check(request.user, May.RECORD)
        return _shown(request, table, Picker(list(choices(table))))
    now = shift_now(table)
    if request.GET.get("seen") == str(now.pk if now else 0):
        return HttpResponse(status=204)
    return _shown(request, table, None)


def _change(request: HttpRequest, table: Table) -> HttpResponse:
    check(request.user, May.RECORD)
    told, seen = request.POST, read_digits(request.POST.get("seen"), BIG_INTEGER)
    user: Any = request.user  # who may record is no anonymous user
    try:
        if "end" in told:
            do_end_shift(table, user, seen=seen)
        else:
            number = read_digits(told.get("dealer"), BIG_INTEGER) or 0
            chosen = Dealer.objects.filter(pk=number, venue=table.venue_id).first()
            if chosen is None:
                raise ValidationError(_("Choose somebody from the list."), code="unknown")
            do_change_dealer(table, chosen, user, seen=seen)
    except ValidationError as error:
        picker = Picker(list(choices(table)), error=" ".join(error.messages))
        # htmx shows what comes with 200; whoever asked for the page gets to know by the status too.
        return _shown(request, table, picker, status=200 if getattr(request, "htmx", False) else 409)
    except IntegrityError:
        picker = Picker(list(choices(table)), error=_("Somebody else changed this meanwhile. Look, and choose again."))
        return _shown(request, table, picker, status=200 if getattr(request, "htmx", False) else 409)
    if getattr(request, "htmx", False):
        return _shown(request, table, None)
    page = told.get("next", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure()):
        page = reverse("console:table", args=(table.code,))
    return HttpResponseRedirect(page)


def _shown(request: HttpRequest, table: Table, picker: Picker | None, status: int = 200) -> HttpResponse:
    template = "pit/dealer_now.html" if getattr(request, "htmx", False) else "pit/dealer.html"
    return render(request, template, {"table": table, "picker": picker}, status=status)


# The shifts.


class ShiftForm(forms.Form):
    """A shift as a supervisor writes it down; the times are the house's own."""

    dealer = forms.ModelChoiceField(
        label=gettext_lazy("Dealer"),
        queryset=Dealer.objects.none(),
        empty_label="–",
        error_messages={
            "required": gettext_lazy("Choose somebody from the list."),
            "invalid_choice": gettext_lazy("Choose somebody from the list."),
        },
    )
    started_at = MomentField(label=gettext_lazy("From"))
    ended_at = MomentField(
        label=gettext_lazy("Until"), required=False, help_text=gettext_lazy("Left empty: still dealing.")
    )

    def __init__(self, data: Any, table: Table, shift: DealerShift | None) -> None:
        initial = {} if shift is None else {name: getattr(shift, name) for name in ("dealer", "started_at", "ended_at")}
        super().__init__(data, initial=initial)
        dealers = Dealer.objects.filter(venue=table.venue_id, is_active=True)
        if shift is not None:
            dealers |= Dealer.objects.filter(pk=shift.dealer_id)
        of = self.fields["dealer"]
        assert isinstance(of, forms.ModelChoiceField)  # noqa: S101  # for the type checker
        of.queryset = dealers
        for name in ("started_at", "ended_at"):
            times = self.fields[name]
            assert isinstance(times, forms.DateTimeField)  # noqa: S101  # for the type checker
            times.widget = forms.DateTimeInput(
                format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": "1"}
            )
            times.input_formats = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"]
            times.error_messages |= {
                "invalid": _("This is no date and time."),
                "required": _("Write down when it began."),
            }


@require_safe
@never_cache
@reader_required
def shifts(request: HttpRequest, code: str) -> HttpResponse:
    """Who dealt at the table and when, the newest first."""
    table = table_of(request, code)
    found = DealerShift.objects.filter(table=table).select_related("dealer").order_by("-started_at", "-pk")
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    context = {"table": table, "page": page, "may_correct": may(request.user, May.SUPERVISE)}
    return render(request, "pit/shifts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@supervisor_required
def shift(request: HttpRequest, code: str, pk: int | None = None) -> HttpResponse:
    """Put the dealer and the times of a shift right; without `pk`: write down one that was forgotten."""
    table = table_of(request, code)
    found = None if pk is None else get_object_or_404(DealerShift.objects.select_related("dealer"), pk=pk, table=table)
    with timezone.override(table.venue.zone):
        form = ShiftForm(request.POST or None, table, found)
        if request.method == "POST" and form.is_valid():
            user: Any = request.user  # a supervisor is no anonymous user
            said = form.cleaned_data
            try:
                do_correct_shift(table, user, said["dealer"], said["started_at"], said["ended_at"], shift=found)
            except ValidationError as error:
                form.add_error(None, error)
            except IntegrityError:
                form.add_error(NON_FIELD_ERRORS, _("Somebody else changed this meanwhile. Look, and choose again."))
            else:
                messages.success(request, _("The shift is kept."))
                return HttpResponseRedirect(reverse("pit:shifts", args=(table.code,)))
        status = 422 if form.is_bound else 200
        return render(request, "pit/shift.html", {"table": table, "shift": found, "form": form}, status=status)

"""The pages on which somebody reads hands in from a spreadsheet: send it, say what the columns hold, look, store."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from functools import wraps
from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dealing import messages as log_messages
from dealing.dates import moment
from dealing.models import Table, Venue
from dealing.people import required
from dealing.permissions import May, may, member_of
from dealing.pit.access import tables_of
from dealing.sheets import auditing, kept, words
from dealing.sheets import storing as storing_sheets
from dealing.sheets.errors import SheetError
from dealing.sheets.forms import ColumnsForm, ReadingForm, UploadForm
from dealing.sheets.kept import Kept
from dealing.sheets.making import Filling, Plan, plan
from dealing.sheets.mapping import Mapping, guess
from dealing.sheets.reading import MEGABYTES, Book, read_book
from dealing.sheets.storing import House, Objection, next_shoe, objections, shoe_of_sheet

#: Rows that the page takes: judged and stored while somebody waits. `manage.py import_sheet` takes more.
ROWS: Final = 10_000
#: How long reading the file may take, in seconds, while somebody waits.
SECONDS: Final = 20
#: Rows shown as the felt before anything is stored, and rows with findings listed.
SHOWN: Final = 10
LISTED: Final = 200


# Sending it.


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@required(May.IMPORT)
def start(request: HttpRequest) -> HttpResponse:
    """Choose a file. POST `file`: it is kept, and the next page asks about its columns."""
    member = member_of(request.user)
    houses = None if member else Venue.objects.order_by("code")
    form = UploadForm(houses, request.POST or None, request.FILES or None)
    if request.method == "POST":
        form = UploadForm(houses, request.POST, request.FILES)
        if form.is_valid():
            file = form.cleaned_data["file"]
            venue = member.venue_id if member else form.cleaned_data["house"].pk
            try:
                if file.size > MEGABYTES * 2**20:
                    raise SheetError("file-too-large", limit=MEGABYTES)
                data = file.read()
                read_book(data, file.name, rows=ROWS, seconds=SECONDS)
                one = kept.keep(_pk(request), venue, file.name, data)
            except SheetError as error:
                form.add_error("file", words.explain(error))
            except OSError:
                form.add_error("file", _("The file could not be kept: there is no room on the server."))
            else:
                return HttpResponseRedirect(reverse("sheets:columns", args=(one.token,)))
    waiting = kept.of_person(_pk(request))
    status = 422 if form.is_bound and form.errors else 200
    context = {"form": form, "waiting": waiting, "megabytes": MEGABYTES, "rows": ROWS}
    return render(request, "sheets/start.html", context, status=status)


def _pk(request: HttpRequest) -> int:
    assert request.user.pk is not None, "somebody who is logged in"  # noqa: S101
    return int(request.user.pk)


def _of_the_person(view: Any) -> Any:
    """Give the view the person's own sheet; Http404 for another's, and where it was forgotten."""

    @wraps(view)
    def found(request: HttpRequest, token: str) -> HttpResponse:
        one = kept.find(_pk(request), token)
        member = member_of(request.user)
        if one is None or (member and member.venue_id != one.venue):
            raise Http404
        return view(request, one)

    return never_cache(required(May.IMPORT)(found))


# What the columns hold.


def _book(one: Kept) -> Book:
    return _read(one, one.reading)


def _read(one: Kept, reading: dict[str, str]) -> Book:
    told = {name: reading.get(name, "") for name in ("sheet", "encoding", "separator")}
    return read_book(
        one.data(),
        one.name,
        sheet=told["sheet"],
        encoding=told["encoding"],
        separator=told["separator"],
        rows=ROWS,
        seconds=SECONDS,
    )


def _mapping(one: Kept, book: Book) -> Mapping:
    """As it was said, or else as it is guessed."""
    return Mapping(**one.mapping) if one.mapping else guess(book)


@require_http_methods(["GET", "HEAD", "POST"])
@_of_the_person
def columns(request: HttpRequest, one: Kept) -> HttpResponse:
    """What each column holds. POST with `again`: the file is read otherwise; else: look at what is found."""
    try:
        book = _book(one)
    except (SheetError, OSError):  # it could be read when it was sent
        raise Http404 from None
    mapping = _mapping(one, book)
    reading = ReadingForm(book, mapping)
    form = ColumnsForm(book, mapping, one.filling)
    status = 200
    if request.method == "POST" and "again" in request.POST:
        reading = ReadingForm(book, mapping, request.POST)
        if reading.is_valid() and _read_again(one, book, mapping, reading):
            return HttpResponseRedirect(reverse("sheets:columns", args=(one.token,)))
        status = 422
    elif request.method == "POST":
        form = ColumnsForm(book, mapping, one.filling, request.POST)
        if form.is_valid() and _look(request, one, book, form):
            return HttpResponseRedirect(reverse("sheets:preview", args=(one.token,)))
        status = 422
    context = {
        "one": one,
        "book": book,
        "reading": reading,
        "form": form,
        "tables": tables_of(request.user).filter(venue=one.venue).order_by("code"),
        "may_make": may(request.user, May.MAKE_TABLES),
        "data_rows": len(mapping.body(book)),
    }
    return render(request, "sheets/columns.html", context, status=status)


def _read_again(one: Kept, book: Book, mapping: Mapping, form: ReadingForm) -> bool:
    """Read the file as the form says, and guess anew; False with an error at the form where it cannot be read so."""
    said = form.cleaned_data
    wanted = {str(name): str(said[name]) for name in ("sheet", "encoding", "separator") if name in said}
    try:
        again = _read(one, wanted)
        same = all(getattr(again, name) == getattr(book, name) for name in wanted)
        head_row = said.get("head_row", mapping.head_row)
        found = guess(again, head_row if same or head_row != mapping.head_row else None)
        if not found.body(again):
            raise SheetError("no-rows")
    except SheetError as error:
        form.add_error(None, words.explain(error))
        return False
    one.reading = wanted
    one.mapping = _as_data(found)
    one.forget_found()
    one.save()
    return True


def _as_data(mapping: Mapping) -> dict[str, Any]:
    return {
        "columns": dict(mapping.columns),
        "head_row": mapping.head_row,
        "cards": mapping.cards,
        "order": mapping.order,
        "outcomes": dict(mapping.outcomes),
        "dates": mapping.dates,
    }


def _filling(one: Kept, venue: Venue, said: dict[str, Any]) -> Filling:
    return Filling(
        name=one.name,
        zone=venue.zone,
        now=timezone.now(),
        table=said["table"],
        shoe=said["shoe"],
        recount=said["recount"],
        ruleset=said["ruleset"] or "",
        decks=said["decks"] or 0,
        date=dt.date.fromisoformat(said["date"]) if said["date"] else None,
        start=dt.time.fromisoformat(said["start"]) if said["start"] else None,
        seconds=said["seconds"],
        more_to_come=said["more_to_come"],
    )


def _plan(one: Kept, book: Book, house: House) -> Plan:
    """The plan of a sheet as it was mapped and filled in. Raises SheetError."""
    assert house.venue is not None, "a sheet is of a house"  # noqa: S101
    filling = _filling(one, house.venue, one.filling)
    return plan(book, Mapping(**one.mapping), filling, known=house.shoe, rules=house.rules)


def _look(request: HttpRequest, one: Kept, book: Book, form: ColumnsForm) -> bool:
    """Judge the sheet and keep what was found; False with an error at the form where it cannot be."""
    mapping, said = form.cleaned_data["mapping"], form.filled
    venue = Venue.objects.get(pk=one.venue)
    house = House(venue)
    wanted = "shoe" not in mapping.columns or said["recount"]
    try:
        if wanted and not said["shoe"]:
            said["shoe"] = _first_shoe(one, book, mapping, said, venue)
        one.mapping, one.filling = _as_data(mapping), said
        made = _plan(one, book, house)
        found = auditing.audit(made, SHOWN)
    except SheetError as error:
        form.add_error(error.fill if error.fill in form.fields else None, words.explain(error))
        return False
    told = auditing.as_json(made, found, SHOWN, LISTED)
    told["unknown"] = house.unknown(made.tables)
    told["elsewhere"] = house.elsewhere(made.tables)
    told["ended"] = book.ended
    refused = objections(made)
    told["refused"] = sum(len(one.hands) for one in refused)
    told["objections"] = [one.as_json() for one in refused[:LISTED]]
    told["more_objections"] = max(0, len(refused) - LISTED)
    told["shoe"] = said["shoe"] if wanted else None
    try:
        one.save()
        one.save_found(told)
    except OSError:
        form.add_error(None, _("This could not be kept: there is no room on the server."))
        return False
    return True


def _first_shoe(one: Kept, book: Book, mapping: Mapping, said: dict[str, Any], venue: Venue) -> int:
    """The number of the first shoe where nobody says it: as when a sheet of this name was stored before, else the
    table's next. Raises SheetError where the sheet is of several tables.
    """
    made = plan(book, mapping, _filling(one, venue, {**said, "shoe": 1}))
    if len(made.tables) > 1:
        raise SheetError("fill-missing", fill="shoe", field="shoe")
    if not made.tables:
        return 1
    return shoe_of_sheet(made.tables[0], made.by) or next_shoe(made.tables[0])


# Looking, and storing.


def _found_of(one: Kept) -> dict[str, Any] | None:
    found = one.found()
    if found is None or "objections" not in found:  # as an older version kept it
        return None
    for row in (*found["first"], *found["told"]):
        row["words"] = [words.tell(fault) for fault in auditing.faults_of(row)]
        row["at"] = dt.datetime.fromisoformat(row["at"]) if row["at"] else None
        totals = [row["called"]["player"], row["called"]["banker"]]
        row["said"] = (
            " : ".join("?" if total is None else str(total) for total in totals) if totals != [None, None] else ""
        )
    found["counted"] = [(words.title(code), count) for code, count in found["codes"]]
    venue = Venue.objects.get(pk=one.venue)
    found["objections"] = [_objection(told, venue) for told in found["objections"]]
    found["growing"] = any(objection.code == "shoe-closed" for objection, _text in found["objections"])
    found["objections"] = [(objection.row, text) for objection, text in found["objections"]]
    return found


def _objection(told: list[Any], venue: Venue) -> tuple[Objection, str]:
    """Why hands will be refused, and how the page says so."""
    code, row, table, shoe, hands, last, differs = told
    one = Objection(code, row, table, shoe, tuple(hands), last, tuple(tuple(d) for d in differs))
    at = moment(dt.datetime.fromisoformat(last).astimezone(venue.zone)) if code == "at-earlier" else ""
    return one, words.objection(one, at)


@require_safe
@_of_the_person
def preview(request: HttpRequest, one: Kept) -> HttpResponse:
    """The first rows as hands, what was found in the whole sheet, and the button that stores it."""
    found = _found_of(one)
    if found is None:
        return HttpResponseRedirect(reverse("sheets:columns", args=(one.token,)))
    context = {
        "one": one,
        "found": found,
        "venue": Venue.objects.get(pk=one.venue),
        "mapping": Mapping(**one.mapping),
        "filling": one.filling,
        "may_make": may(request.user, May.MAKE_TABLES),
        "may_store": found["hands"] > found["refused"]
        and not found["elsewhere"]
        and (not found["unknown"] or may(request.user, May.MAKE_TABLES)),
        "ruleset": one.filling["ruleset"] or _ruleset_of(found["tables"]),
    }
    return render(request, "sheets/preview.html", context)


def _ruleset_of(tables: list[str]) -> str:
    found = Table.objects.filter(code__in=tables).values_list("ruleset", flat=True).distinct()
    return found[0] if len(found) == 1 else "standard"


def _post(view: Any) -> Any:
    """POST only; whoever comes with GET, as after logging in again, goes to the step where the sheet stands."""

    @wraps(view)
    def found(request: HttpRequest, one: Kept) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return HttpResponseRedirect(reverse(f"sheets:{_step(one)}", args=(one.token,)))
        return view(request, one)

    return require_http_methods(["GET", "HEAD", "POST"])(_of_the_person(found))


def _step(one: Kept) -> str:
    return "done" if one.stored is not None else "preview" if one.found() is not None else "columns"


@_post
def store(request: HttpRequest, one: Kept) -> HttpResponse:
    """Store the hands; the tables that are not there are made where a manager says so with `make`."""
    back = HttpResponseRedirect(reverse("sheets:preview", args=(one.token,)))
    if one.stored is not None:
        return HttpResponseRedirect(reverse("sheets:done", args=(one.token,)))
    if one.found() is None:
        return back
    venue = Venue.objects.get(pk=one.venue)
    house = House(venue)
    try:
        made = _plan(one, _book(one), house)
    except (SheetError, OSError):
        raise Http404 from None
    unknown, elsewhere = house.unknown(made.tables), house.elsewhere(made.tables)
    make = bool(unknown) and may(request.user, May.MAKE_TABLES) and "make" in request.POST
    if elsewhere or (unknown and not make):
        missing = ", ".join(elsewhere + unknown)
        messages.error(request, _("Nothing was stored: these tables are not there: %(tables)s") % {"tables": missing})
        return back
    against = objections(made)
    done = storing_sheets.store(made, actor=request.user.get_username(), venue=venue, create_tables=make)
    shifts = None
    if "dealer" in made.mapping.columns:
        written = storing_sheets.write_shifts(made, venue, request.user.get_username())
        shifts = {"written": written.written, "unknown": written.unknown, "overlapping": written.overlapping}
    one.stored = {
        "shifts": shifts,
        "stored": done.stored,
        "skipped": done.skipped,
        "refused": done.refused,
        "events": done.events,
        "refusals": [
            [row, table, shoe, hand, text] for row, table, shoe, hand, text in _refusals(done.refusals, against, venue)
        ],
        "made": unknown if make else [],
        "shoes": sorted({(told.table, told.shoe) for told in made.rows if told.kept}),
    }
    one.save()
    return HttpResponseRedirect(reverse("sheets:done", args=(one.token,)))


def _refusals(
    refusals: list[storing_sheets.RefusedRow], against: list[Objection], venue: Venue
) -> Iterator[tuple[int, str, int, int | None, str]]:
    """What was refused, a reason once for all the hands that it holds for."""
    for one in against:
        hand = one.hands[0] if len(one.hands) == 1 else None
        yield one.row, one.table, one.shoe, hand, _objection(one.as_json(), venue)[1]
    known = {(one.table, one.shoe, hand) for one in against for hand in one.hands}
    tables = {table for table, _shoe, _hand in known}
    for refused in refusals:
        if (refused.table, refused.shoe, refused.hand) in known or (refused.hand is None and refused.table in tables):
            continue
        yield refused.row, refused.table, refused.shoe, refused.hand, log_messages.tell(refused.error)


@require_safe
@_of_the_person
def done(request: HttpRequest, one: Kept) -> HttpResponse:
    """What storing came to, with the ways to the shoes and the incidents."""
    if one.stored is None:
        return HttpResponseRedirect(reverse("sheets:preview", args=(one.token,)))
    found = _found_of(one)
    there = set(Table.objects.filter(venue=one.venue).values_list("code", flat=True))
    shoes = [(table, shoe) for table, shoe in one.stored["shoes"] if table in there]
    tables = list(dict.fromkeys(table for table, _shoe in shoes))
    context = {"one": one, "stored": one.stored, "found": found, "shoes": shoes[:60], "more": len(shoes) - 60}
    return render(request, "sheets/done.html", context | {"tables": tables})


@_post
def discard(request: HttpRequest, one: Kept) -> HttpResponse:
    """Forget a sheet. What was stored of it stays stored."""
    one.discard()
    return HttpResponseRedirect(reverse("sheets:start"))

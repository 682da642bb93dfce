"""The console of a table, its past shoes and hands, and the one address that records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, replace_url

from dealing import log
from dealing.amending import decision_on, why_not
from dealing.console import ahead, arrival, composite, words
from dealing.console.asks import Ask, ask
from dealing.console.forms import FORMS, CardField, EventForm
from dealing.console.state import (
    State,
    incident_page,
    laid_out,
    load,
    read_rows,
    timeline,
)
from dealing.digits import BIG_INTEGER, read_digits
from dealing.messages import reason, tell
from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.people import User, reader_required
from dealing.permissions import May, check_event, check_kind, house_of, may, member_of, refusal
from dealing.pit.access import table_of
from dealing.rules.events import Amended, Called, Event, EventError, format_time
from dealing.rules.judge import HandContext, HandFold, effective
from dealing.rules.tableau import PLACES

#: Fields of a form that are about the page and not about the event.
OF_THE_PAGE: Final = frozenset(
    {"csrfmiddlewaretoken", "key", "seq", "shoe", "hand", "down", "device", "user", "ago", "follow", "undo"}
)

#: The sheet that lists everything that can go wrong, and those that ask about one entry.
WRONG_SHEET: Final = "wrong"
AMEND_SHEET: Final = "amend"
WHICH_SHEET: Final = "which"

#: What the forms of the entry line itself are about; their errors stand at the line and not in a sheet.
ENTRY_EVENTS: Final = frozenset({"card", "opened", "burn_card"})
#: The place of a card that a device sends where it could not know yet which one the page would propose.
PROPOSED: Final = "proposed"
#: The phases in which the entry line is on the page.
WITH_ENTRY: Final = frozenset({"burn", "dealing", "complete"})


@dataclass
class Sheet:
    """What lies over the console: the list of what can go wrong, or one form."""

    name: str
    form: EventForm | None = None
    entry: int = 0
    why: str = ""
    why_error: str = ""
    told: str = ""
    place: str = ""
    #: Why the person may not say what the entry should have been, and why not even take it back.
    not_corrected: str = ""
    not_withdrawn: str = ""


@dataclass
class Entry:
    """The entry line: what was typed and what was wrong with it."""

    typed: str = ""
    place: str = ""
    rank: str = ""
    errors: dict[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    """What is said beside the table's state."""

    sheet: Sheet | None = None
    entry: Entry = field(default_factory=Entry)
    form: EventForm | None = None
    ask: Ask | None = None
    error: str = ""
    kept: bool = False
    #: The idempotency key under which what stands in the form was to be recorded: it is the same press.
    key: str = ""
    status: int = 200
    #: What was typed into the pay sheet, and what is wrong with it, by field.
    pay_values: dict[str, str] = field(default_factory=dict)
    pay_errors: dict[str, str] = field(default_factory=dict)


# The console.


@require_safe
@gzip_page
@reader_required
def table(request: HttpRequest, code: str) -> HttpResponse:
    """The console of a table, or (asked by htmx) the part of it that changes."""
    table = table_of(request, code)
    answer = Answer()
    data = request.GET
    name = data.get("event", "")
    answer.key = data.get("key", "")
    if name and answer.key and table.events.filter(key=answer.key.replace("\0", "")).exists():
        # It has been recorded since: nothing is waiting here any more.
        return HttpResponseRedirect(reverse("console:table", args=(table.code,)))
    if name in FORMS:
        # Back from the log-in page with what could not be recorded.
        answer.kept = True
        if name in ENTRY_EVENTS:
            answer.entry = _entry(data)
        else:
            answer.sheet = Sheet(name, FORMS[name](initial={key: data[key] for key in data}))
    elif name == Amended.name:
        answer.kept = True
        answer.sheet = _amend_sheet(request.user, table, data)
    elif name == composite.PAID_ALL:
        answer.kept = True
        answer.pay_values = composite.pay_values(data)
    if not answer.kept:
        answer.key = ""
    sheet = data.get("sheet", "")
    if sheet == WRONG_SHEET:
        answer.sheet = Sheet(WRONG_SHEET)
    elif sheet == WHICH_SHEET:
        answer.sheet = _which_sheet(request.user, table, data)
    elif sheet == AMEND_SHEET:
        answer.sheet = _amend_sheet(request.user, table, data)
    elif sheet in FORMS:
        answer.sheet = Sheet(sheet, FORMS[sheet](initial={key: data[key] for key in data if key != "sheet"}))
    return _console(request, table, answer)


def _console(request: HttpRequest, table: Table, answer: Answer, done: log.Recorded | None = None) -> HttpResponse:
    """Show the table as it is now, with what is to be said about the last press."""
    user = request.user
    state = load(
        table,
        done,
        can_record=may(user, May.RECORD),
        can_supervise=may(user, May.SUPERVISE),
        actor=user.get_username(),
    )
    if not state.can_record:
        answer.sheet = None
    if answer.form and answer.form.event not in state.forms_here:
        answer.sheet, answer.form = Sheet(answer.form.event, answer.form), None
    if answer.entry.errors and state.phase not in WITH_ENTRY:
        answer.error = " ".join(answer.entry.errors.values())
    if answer.sheet and answer.sheet.form:
        answer.sheet.form.amends = answer.sheet.name == AMEND_SHEET
    for form in (answer.sheet and answer.sheet.form, answer.form):
        if form:
            form.prepare(state)
    forms: dict[str, EventForm] = {}
    for name in state.forms_here if state.can_record else ():
        forms[name] = answer.form if answer.form and answer.form.event == name else FORMS[name]()
        forms[name].prepare(state)
        if name == "bet":  # the same form may lie in a sheet over it
            forms[name].auto_id = f"here-{name}-%s"
    context = {
        "state": state,
        "table": table,
        "answer": answer,
        "entry": answer.entry,
        "sheet": answer.sheet,
        "forms": forms,
        "call_sides": ("player", "tie", "banker"),
        "wrong_groups": _wrong_groups(state) if answer.sheet and answer.sheet.name == WRONG_SHEET else (),
        "form_token": get_token(request),  # masked once a page and not once a form
        "address": reverse("console:table", args=(table.code,)),
        "record_address": reverse("console:record", args=(table.code,)),
    }
    context |= ahead.beside(state) | {
        "roads_version": "" if done and _within_a_hand(done) else _roads_version(table, state)
    }
    if getattr(request, "htmx", False):
        template = "console/console.html"
    else:
        template = "console/table.html"
        context |= {"tableau": ahead.address(), "roads_shoe": state.shoe or table.shoes.order_by("-number").first()}
    response = render(request, template, context, status=answer.status)
    patch_vary_headers(response, ["HX-Request"])
    response.headers["Cache-Control"] = "no-store"
    if answer.status >= 400:
        response.headers["X-Refused"] = quote(_why(answer)[:600])
    return response


#: What changes nothing beside the hand that it belongs to.
WITHIN_A_HAND: Final = frozenset({"betting_closed", "bet", "card", "opened", "insurance_odds"})


def _within_a_hand(done: log.Recorded) -> bool:
    begins = done.hand is None or done.hand.first_seq == done.row.seq  # and so leaves the one before
    return done.row.name in WITHIN_A_HAND and not begins and not done.duplicate


def _roads_version(table: Table, state: State) -> str:
    """Another text whenever the roads beside the console may look otherwise: a hand ended, or was amended or voided.

    The page takes an empty one for "as before".
    """
    if not state.shoe:
        return f"{state.last_shoe}."
    over = (state.hand.number - state.hand_open) if state.hand else 0
    with connection.cursor() as cursor:
        cursor.execute(_ROADS, [table.pk, state.shoe.number])
        changed = cursor.fetchone()[0]
    return f"{state.shoe.number}.{over}.{changed or 0}"


_ROADS: Final = (
    "SELECT MAX(seq) FROM dealing_tableevent WHERE table_id = %s AND shoe_number = %s AND name IN ('amended', 'voided')"
)


def _why(answer: Answer) -> str:
    """Why nothing was recorded, in one text."""
    forms = [answer.form, answer.sheet.form if answer.sheet else None]
    told = [
        answer.error,
        answer.ask.text if answer.ask else "",
        *answer.entry.errors.values(),
        *answer.pay_errors.values(),
    ]
    told += [answer.sheet.why_error] if answer.sheet else []
    told += [str(error) for form in forms if form for errors in form.errors.values() for error in errors]
    return " ".join(dict.fromkeys(filter(None, told)))


def _wrong_groups(state: State) -> list[dict[str, Any]]:
    """Everything that can go wrong, by what a person at the table looks for: cards, money, the hand and its shoe."""
    insurance = ("insurance_opened", "insurance_odds", "insurance_closed") if state.insured else ()
    ends = ("voided", "shoe_closed") if state.can_supervise else ()
    money = _("Betting and insurance") if insurance else _("Bets and pays")
    groups: list[tuple[str, tuple[str, ...]]] = [
        (_("Cards"), ("card", "opened", "exposed", "extra", "dropped", "moved", "discarded")),
        (money, ("bet", "paid", *insurance)),
        (_("The hand and the shoe"), ("called", *ends)),
    ]
    of_shoe = ("exposed", "dropped", "shoe_closed")
    return [
        {
            "title": title,
            "cut": "called" in names,
            "forms": [
                {"sheet": name, "title": FORMS[name].title}
                for name in names
                if state.hand or name in of_shoe or name == "card"
            ],
        }
        for title, names in groups
        if state.hand or "called" in names or set(names) & set(of_shoe)
    ]


def _entry(data: Mapping[str, Any]) -> Entry:
    """The entry line as it was sent."""
    place = str(data.get("to", data.get("place", ""))).removeprefix("open-")
    return Entry(
        typed=str(data.get("card", "")),
        place="" if place == PROPOSED else place,
        rank=str(data.get("card_rank", "")),
    )


def _row(table: Table, seq: object) -> TableEvent | None:
    number = read_digits(seq, BIG_INTEGER)
    return None if number is None else table.events.filter(seq=number).first()


def _which_sheet(user: User, table: Table, data: Mapping[str, Any]) -> Sheet | None:
    """The sheet that asks what is wrong: the entry of the log, or the table."""
    sheet = _amend_sheet(user, table, data)
    if sheet is None or sheet.form is None:
        return None
    sheet.name = WHICH_SHEET
    sheet.place = sheet.form.initial.get("to" if sheet.form.event == "card" else "place", "")
    if sheet.form.event not in ("card", "opened"):
        sheet.place = ""
    return sheet


def _amend_sheet(user: User, table: Table, data: Mapping[str, Any]) -> Sheet | None:
    """The sheet for a typing mistake in one entry, filled in with what the entry says now."""
    row = _row(table, data.get("entry", ""))
    if row is None or row.name not in FORMS:
        return None
    event: Event | None = row.parse()
    for later in table.events.filter(
        shoe_number=row.shoe_number, hand_number=row.hand_number, name=Amended.name, seq__gt=row.seq
    ).order_by("seq"):
        amended = later.parse()
        if isinstance(amended, Amended) and amended.seq == row.seq:
            event = amended.entry
    if event is None:
        return None
    kind = FORMS[row.name]
    form = kind(initial=kind.values_of(event) | {key: data[key] for key in data if key in kind.base_fields})
    form.fields.pop("shoe", None)
    return Sheet(
        AMEND_SHEET,
        form,
        row.seq,
        str(data.get("why", "")),
        told=words.entry(event),
        not_corrected=why_not(user, table, row, withdraws=False),
        not_withdrawn=why_not(user, table, row, withdraws=True),
    )


# Recording.


@require_POST
def record(request: HttpRequest, code: str) -> HttpResponseBase:
    """Record one press: `event` and its fields, `key` (idempotency), `seq` (the head that the page has seen).

    A device adds which it is (`device`), whose entry it is (`user`) and how long ago it was tapped (`ago`, ms).

    Answers with the console as it is then: 200, 422 with the message at its field, 409 when what somebody else recorded
    is in the way. For the device: `X-Recorded` is the key that the log holds now, `X-Refused` why it holds none
    (percent-encoded), `X-Change` the address where the entry stands filled in; 401 where another person or nobody is
    logged in.
    """
    device = arrival.device_of(request.POST)
    if not request.user.is_authenticated:
        return HttpResponse(status=401) if device else _logged_out(request, code)
    if device and request.POST.get("user", request.user.get_username()) != request.user.get_username():
        return HttpResponse(status=401, headers={"X-User": quote(request.user.get_username())})
    if not may(request.user, May.RECORD):
        why = refusal(May.RECORD if may(request.user, May.READ) else May.READ)
        if not device or not may(request.user, May.READ):
            raise PermissionDenied(why)
        return _console(request, table_of(request, code), Answer(error=why, status=403))
    table = table_of(request, code)
    data = _told(request.POST.dict(), table)
    response = _recorded(request, table, data, device)
    key = data.get("key", "").replace("\0", "")
    if response.status_code < 400 and key:
        response.headers["X-Recorded"] = quote(key)
    elif response.status_code >= 400 and _can_change(data):
        response.headers["X-Change"] = _page_with(request, code)
    return response


def _recorded(request: HttpRequest, table: Table, data: dict[str, str], device: str) -> HttpResponseBase:
    form = FORMS[data["event"]](data=data) if data.get("event") in FORMS else None
    member, key = member_of(request.user), data.get("key", "")
    seen = read_digits(data.get("seq"), BIG_INTEGER)
    # A press that is in the log already went on then, or did not.
    several = data.get("event") == Amended.name or _goes_on(data)
    known = several and bool(key) and table.events.filter(key=key.replace("\0", "")).exists()
    try:
        if form is not None:
            check_kind(request.user, form.event)
            if not _valid(form, table):
                return _refused(request, table, data, form, None)
            asked = ask(table, form, data)
            if asked:
                return _asked(request, table, data, form, asked)
            lines = [_line(table, data, form)]
        elif data.get("event") == Amended.name:
            form, lines = _amendment(request.user, table, data, known)
        elif data.get("event") == composite.PAID_ALL:
            pays = composite.read_pays(data, _common(table, data))
            if pays.errors:
                return _refused_pays(request, table, data, pays.errors)
            lines = pays.lines
        else:
            raise EventError("event", "unknown-event", value=repr(data.get("event", ""))[:40])
        if member:
            lines = [line | {"by": member.code} for line in lines]

        def compose() -> list[dict[str, object]]:
            going_on = not known and _goes_on(data)
            return composite.keyed(composite.follow_on(load(table), lines) if going_on else lines, key)

        done = arrival.record(
            compose,
            table=table,
            actor=request.user.get_username(),
            seen=seen,
            device=device,
            ago=arrival.waited(data) if device else log.AT_ONCE,
            check=lambda locked, event: check_event(request.user, locked, event),
        )[-1]
    except log.Conflict:
        return _overtaken(request, table, data)
    except PermissionDenied as refused:
        return _console(request, table, Answer(error=str(refused), status=403))
    except EventError as error:
        if data.get("event") == composite.PAID_ALL:
            return _refused_pays(request, table, data, {"": tell(error)})
        return _refused(request, table, data, form, words.refused(error))
    table.last_seq = done.shoe.table.last_seq
    if not getattr(request, "htmx", False):
        return HttpResponseRedirect(reverse("console:table", args=(table.code,)))
    shown = _console(request, table, Answer(), done)
    if "?" in request.headers.get("HX-Current-URL", ""):
        # What the address carried over a log-in is recorded: opened again, it must not offer it once more.
        replace_url(shown, reverse("console:table", args=(table.code,)))
    return shown


def _goes_on(data: Mapping[str, str]) -> bool:
    """Whether the press asks to go on to the next hand where nothing is left to do in this one."""
    return data.get("event") == composite.PAID_ALL or (data.get("event") == Called.name and bool(data.get("follow")))


def _can_change(data: Mapping[str, str]) -> bool:
    """Whether there is a form in which the entry could stand again."""
    event = data.get("event", "")
    if event == Amended.name:
        return "withdraw" not in data
    return event == composite.PAID_ALL or event in FORMS


def _valid(form: EventForm, table: Table) -> bool:
    """Whether the fields hold what a line can say. Only a table that records ranks alone takes a card without suit."""
    if form.is_valid() and not table.ranks_only:
        for name, field in form.fields.items():
            card = words.read_card(form.cleaned_data.get(name, "")) if isinstance(field, CardField) else None
            if card is not None and not card.suit:
                form.add_error(name, _("the suit is missing"))
    form.remark()
    return not form.errors


def _told(data: dict[str, str], table: Table) -> dict[str, str]:
    """What was sent, with the entry line's shorthand written out.

    A call key names the winner and, where the call is right, the totals; the key of a row of the pay sheet its seat and
    bet. `B3 9h` puts the card on B3 whatever place was chosen; `x` is a card face down; a card for a place that holds a
    face-down one turns that up.
    """
    if data.get("call"):
        winner, *totals = data["call"].split() or [""]
        return data | {"winner": winner} | dict(zip(("player", "banker"), totals, strict=False))
    if data.get("pay"):
        seat, _space, bet = data["pay"].partition(" ")
        return data | {"event": "paid", "seat": seat, "bet": bet, "amount": data.get(f"pay-{seat}-{bet}", "")}
    if table.ranks_only and data.get("card_rank") and not data.get("card_suit"):
        data = data | {"card": data["card_rank"], "card_rank": ""}
    if data.get("event") != "card" or "down" not in data:
        return data
    if data.get("to") == PROPOSED:
        state = load(table)
        proposed = next((key.value for key in state.places if key.chosen), "")
        data = data | {"to": proposed, "down": state.down}
    parts = data.get("card", "").split()
    to = data.get("to", "")
    if len(parts) > 1 and parts[0].upper() in PLACES:
        to, parts = parts[0].upper(), parts[1:]
        if to in data["down"].split(","):
            to = f"open-{to}"
    joint = " " if words.no_card(" ".join(parts)) else ""
    card = joint.join(parts)
    if card.lower() in ("x", "?"):
        card, data = "", data | {"face": "down"}
    if not card and not data.get("card_suit") and data.get("face") == "down":
        data = data | {"card_rank": ""}
    # A rank that was typed and a suit that was tapped make a card too.
    if data.get("card_suit") and not data.get("card_rank"):
        data, card = data | {"card_rank": card}, ""
    typed = data.get("card", "")
    if data.get("card_suit"):
        card = f"{data.get('card_rank', '')}{data['card_suit']}"
        typed = card if data.get("card_rank") else typed
    data = data | {"card": card, "to": to, "typed": typed}
    if to.startswith("open-"):
        data = data | {"event": "opened", "place": to.removeprefix("open-")}
        for name in ("to", "face"):
            data.pop(name, None)
    return data


def _line(table: Table, data: Mapping[str, str], form: EventForm) -> dict[str, object]:
    """The log line that a form stands for."""
    keys = form.keys()
    line = _common(table, data) | {"event": form.event}
    if not form.of_hand(keys):
        line.pop("hand", None)
    return line | keys


def _common(table: Table, data: Mapping[str, str]) -> dict[str, object]:
    """Which table, shoe and hand the page was about."""
    line: dict[str, object] = {"table": table.code}
    shoe, hand = read_digits(data.get("shoe"), BIG_INTEGER), read_digits(data.get("hand"), BIG_INTEGER)
    if shoe is not None:
        line["shoe"] = shoe
    if hand:
        line["hand"] = hand
    return line


def _amendment(
    user: User, table: Table, data: Mapping[str, str], known: bool
) -> tuple[EventForm | None, list[dict[str, object]]]:
    """The lines that put a typing mistake right, and the form of the entry they are about.

    `entry` is the entry's position; `entry_key` its key, where the device did not know the position yet. `undo` takes
    back all that the entry's press recorded. `known`: it is in the log, and this is the same press once more.
    """
    row = _row(table, data.get("entry", "")) or _row_of_key(table, data.get("entry_key", ""))
    if row is None or row.name not in FORMS:
        raise EventError("seq", "not-a-number", low=1, high=table.last_seq)
    quick = bool(data.get("withdraw") and data.get("undo"))
    rows = composite.pressed_with(table, row) if quick else [row]
    if not known:
        if quick:
            _check_undo(user, table, rows)
        if why := why_not(user, table, rows[0], withdraws=bool(data.get("withdraw"))):
            raise PermissionDenied(why)
    if data.get("withdraw"):
        return None, [_amending(one) | {"reason": data.get("why", "")} for one in rows]
    form = FORMS[row.name](data=data)
    form.fields.pop("shoe", None)
    _valid(form, table)
    told = row.parse()
    entry = {"event": row.name, "at": format_time(told.at), "table": table.code, "shoe": row.shoe_number}
    if row.hand_number is not None:
        entry["hand"] = row.hand_number
    entry |= form.keys()
    if told.by:
        entry["by"] = told.by
    return form, [_amending(row) | {"entry": entry, "reason": data.get("why", "")}]


def _check_undo(user: User, table: Table, rows: list[TableEvent]) -> None:
    """Raise PermissionDenied for what undo, which is for one's own slip and nothing else, does not take back.

    The rows are the press's, newest first.
    """
    actor = user.get_username()
    since = table.events.filter(seq__gt=rows[-1].seq).exclude(actor=actor).exclude(name__in=arrival.MONEY)
    if any(row.actor != actor for row in rows):
        raise PermissionDenied(_("Somebody else recorded this. Undo takes back only what you recorded yourself."))
    if since.exists():
        raise PermissionDenied(_("Somebody else has recorded since. Open the entry in the log to put it right."))
    if decided := decision_on(table, rows[0].shoe_number, [row.seq for row in rows]):
        raise PermissionDenied(decided)


def _amending(row: TableEvent) -> dict[str, object]:
    line: dict[str, object] = {"event": Amended.name, "table": row.table.code, "shoe": row.shoe_number, "seq": row.seq}
    if row.hand_number is not None:
        line["hand"] = row.hand_number
    return line


def _row_of_key(table: Table, key: str) -> TableEvent | None:
    """The newest row that the press of this key recorded."""
    key = key.replace("\0", "")
    if not key:
        return None
    keys = [composite.part_key(key, n) for n in range(1, 20)]
    return table.events.filter(key__in=keys).order_by("-seq").first()


# When it did not work.


def _refused(
    request: HttpRequest, table: Table, data: Mapping[str, str], form: EventForm | None, error: EventError | None
) -> HttpResponse:
    """Nothing was recorded: say why at the field, with what was typed kept."""
    answer = Answer(status=422, key="" if error and error.code == "key-stored" else data.get("key", ""))
    name = data.get("event", "")
    sheet = data.get("sheet", "")
    if name == Amended.name:
        answer.sheet = _amend_sheet(request.user, table, data)
        if answer.sheet and error:
            if form is not None:
                answer.sheet.form = form
            if error.key == "reason" or (form is None and error.key != "seq"):
                answer.sheet.why_error = reason(error)
            elif form is not None:
                form.refuse(error)
            else:
                answer.error = tell(error)
        elif error:
            answer.error = tell(error)
    elif name in ENTRY_EVENTS and not sheet:
        answer.entry = _entry({**data, "card": data.get("typed", data.get("card", ""))})
        if error:
            answer.entry.errors[_entry_field(error)] = reason(error) if error.key in _ENTRY_FIELDS else tell(error)
        elif form is not None:
            for errors in form.errors.values():
                answer.entry.errors["card"] = " ".join(map(str, errors))
    elif form is not None and form.fields:
        if error:
            form.refuse(error)
        if sheet:
            answer.sheet = Sheet(name, form)
        else:
            answer.form = form
    elif error:
        answer.error = tell(error)
    return _console(request, table, answer)


def _asked(request: HttpRequest, table: Table, data: Mapping[str, str], form: EventForm, asked: Ask) -> HttpResponse:
    """Nothing was recorded yet: a second press is to say that it is meant."""
    if not asked.at:
        return _console(request, table, Answer(status=422, ask=asked))
    form.ask = asked
    form.add_error(asked.at, asked.text)
    return _refused(request, table, data, form, None)


_ENTRY_FIELDS: Final = {"card": "card", "to": "to", "place": "to"}


def _entry_field(error: EventError) -> str:
    return _ENTRY_FIELDS.get(error.key, "card")


def _refused_pays(request: HttpRequest, table: Table, data: Mapping[str, str], errors: dict[str, str]) -> HttpResponse:
    """Nothing was paid: say why beside each amount, with all that was typed kept."""
    values = composite.pay_values(data)
    key = data.get("key", "")
    answer = Answer(status=422, key=key, pay_values=values, pay_errors=errors, error=errors.get("", ""))
    return _console(request, table, answer)


def _overtaken(request: HttpRequest, table: Table, data: Mapping[str, str]) -> HttpResponse:
    """Somebody else recorded at this table: show what, and keep what was typed. The place due now is proposed."""
    seen, device = read_digits(data.get("seq"), BIG_INTEGER) or 0, arrival.device_of(data)
    newer = table.events.filter(seq__gt=seen).order_by("seq")
    if device:
        newer = newer.exclude(key__startswith=f"{device}.")
    told = "; ".join(_("%(who)s: %(what)s") % {"who": row.by or row.actor, "what": _told_by(row)} for row in newer[:3])
    answer = Answer(status=409, key=data.get("key", ""))
    answer.error = _("Someone else recorded at this table (%(told)s). Look at the table and press again.") % {
        "told": told
    }
    name = data.get("event", "")
    if name in ENTRY_EVENTS and not data.get("sheet"):
        answer.entry = _entry({**data, "card": data.get("typed", data.get("card", ""))})
        answer.entry.place = ""
    elif name == composite.PAID_ALL:
        answer.pay_values = composite.pay_values(data)
    elif name in FORMS and FORMS[name].base_fields:
        answer.sheet = Sheet(name, FORMS[name](initial=dict(data)))
    return _console(request, table, answer)


def _told_by(row: TableEvent) -> str:
    event = row.parse()
    if isinstance(event, Amended):
        return words.amendment(event)
    return words.entry(event)


def _logged_out(request: HttpRequest, code: str) -> HttpResponse:
    """The session is over: to the log-in page, and from there back to the console with what was typed."""
    page = _page_with(request, code)
    messages.warning(
        request, _("You were logged out, so this was not recorded. Log in: what you entered is waiting for you.")
    )
    answer = redirect_to_login(page)
    if getattr(request, "htmx", False):
        return HttpResponseClientRedirect(answer.headers["Location"])
    return answer


def _page_with(request: HttpRequest, code: str) -> str:
    """The address of the console with what was sent filled in, and its key: pressed there, it is the same press."""
    kept = {name: value for name, value in request.POST.items() if value and (name not in OF_THE_PAGE or name == "key")}
    return reverse("console:table", args=(code,)) + (f"?{urlencode(kept)}" if kept else "")


# Kept up to date.


@require_safe
def head(request: HttpRequest, code: str) -> HttpResponseBase:
    """204 while the table's log is at `seq`, else the console as it is now. Asked every moment by every open page."""
    if not may(request.user, May.READ):
        return HttpResponse(status=401 if not request.user.is_authenticated else 403)
    with connection.cursor() as cursor:
        cursor.execute(_HEAD, [code, house_of(request.user)])
        found = cursor.fetchone()
    if found is None:
        raise Http404
    if request.GET.get("seq") == str(found[0]):
        return HttpResponse(status=204, headers={"Cache-Control": "no-store"})
    return _console(request, table_of(request, code), Answer())


_HEAD: Final = "SELECT last_seq FROM dealing_table WHERE code = %s AND venue_id = COALESCE(%s, venue_id)"


@require_safe
@reader_required
def roads(request: HttpRequest, code: str) -> HttpResponse:
    """The roads beside the console: of the shoe that is open, else of the last one."""
    table = table_of(request, code)
    shoe = table.shoes.order_by("-number").first()
    response = render(request, "console/roads.html", {"table": table, "roads_shoe": shoe})
    response.headers["Cache-Control"] = "no-store"
    return response


@require_safe
def tableau(request: HttpRequest, name: str) -> HttpResponse:
    """The drawing rules as data, for good: another rule would have another address."""
    if name != ahead.name():
        raise Http404
    data = ahead.tableau()
    zipped = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(data.zipped if zipped else data.plain, content_type="application/json")
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


# What has been.


@require_safe
@reader_required
def shoe(request: HttpRequest, code: str, number: int) -> HttpResponse:
    """A shoe: its hands with results and findings, and its own log."""
    table = table_of(request, code)
    shoe = get_object_or_404(Shoe, table=table, number=number)
    hands = [
        {
            "hand": hand,
            "result": words.result(hand.winner, hand.player or 0, hand.banker or 0) if hand.winner else "",
            "cards": hand.audit.get("dealt", {}),
            "findings": hand.audit.get("findings", []),
        }
        for hand in shoe.hand_set.order_by("number").only(
            "number", "status", "winner", "player", "banker", "audit", "started_at", "shoe_id"
        )
    ]
    beside = read_rows(table.events.filter(shoe_number=number, hand_number=None))
    context = {
        "table": table,
        "shoe": shoe,
        "hands": hands,
        "entries": timeline(beside, table.venue.zone, can_amend=may(request.user, May.AMEND)),
        "ruleset": shoe.ruleset,
        "ruleset_title": words.ruleset(shoe.ruleset),
        "findings": shoe.audit.get("findings", []),
        "previous": table.shoes.filter(number__lt=number).order_by("-number").first(),
        "next": table.shoes.filter(number__gt=number).order_by("number").first(),
    }
    return render(request, "console/shoe.html", context)


@require_safe
@reader_required
def hand(request: HttpRequest, code: str, shoe: int, hand: int) -> HttpResponse:
    """A hand: as dealt beside as laid, its findings, its money, its log."""
    table = table_of(request, code)
    found = get_object_or_404(Hand.objects.select_related("shoe"), shoe__table=table, shoe__number=shoe, number=hand)
    rows = read_rows(table.events.filter(shoe_number=shoe, hand_number=hand))
    events = effective((row.seq, row.event) for row in rows).events
    audit = HandFold.of(HandContext.from_json(found.context), events).audit()
    wrong = frozenset(seq for finding in audit.findings for seq in finding.seq)
    siblings = found.shoe.hand_set
    context = {
        "table": table,
        "hand": found,
        "audit": audit,
        "dealt": laid_out(audit),
        "correct": {
            **{str(place): cards for place, cards in audit.correct.places.items()},
            "extra": audit.correct.extra,
            "next": audit.next_due,
        },
        "totals": audit.totals if audit.layout.drawn > 1 else None,
        "result": words.result(audit.result.winner, audit.result.player, audit.result.banker) if audit.result else "",
        "entries": timeline(rows, table.venue.zone, wrong, may(request.user, May.AMEND)),
        "ruleset_title": words.ruleset(found.shoe.ruleset),
        "incident": incident_page(table.code, shoe, hand) if audit.findings else "",
        "previous": siblings.filter(number__lt=hand).order_by("-number").first(),
        "next": siblings.filter(number__gt=hand).order_by("number").first(),
    }
    return render(request, "console/hand.html", context)

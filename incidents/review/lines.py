"""Log lines in words: the timeline of an incident, and what a decision would append."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from dealing import wording
from dealing.console.limits import decimals
from dealing.models import TableEvent
from dealing.rules import events as ev
from dealing.rules.audit import Felt
from incidents.models import Decision, IncidentFinding


@dataclass
class Line:
    """One line of the log as the page tells it."""

    name: str
    card: str = ""
    detail: str = ""
    seq: int = 0
    at: dt.datetime | None = None
    actor: str = ""
    by: str = ""
    #: What the line was put right by: the amending line, for one that counts no more as it stands.
    amended_by: Line | None = None
    #: For an amendment: what the line reads now; None where it was withdrawn.
    entry: Line | None = None
    findings: list[IncidentFinding] = field(default_factory=list)
    decision: Decision | None = None
    #: Which step of the replay it is; 0 for a line that does not count by itself.
    step: int = 0

    #: The date, on the first line of another day than the line before.
    day: dt.date | None = None

    @property
    def clock(self) -> str:
        """The time of day at the table, to the second: the log keeps the table's own offset."""
        return f"{self.at:%H:%M:%S}" if self.at else ""


def _money(amount: Decimal) -> str:
    return number_format(abs(amount), decimal_pos=max(2, decimals(amount)), use_l10n=True, force_grouping=True)


def _seat(event: Any) -> str:
    return _("seat %(seat)d · %(bet)s") % {"seat": event.seat, "bet": wording.bet_name(event.bet)}


def _called(event: ev.Called) -> str:
    said = wording.winner_name(event.winner)
    if event.player is not None and event.banker is not None:
        said += " · " + _("Player %(player)d, Banker %(banker)d") % {"player": event.player, "banker": event.banker}
    return said


def _dealt(event: ev.CardDealt) -> str:
    return f"→ {event.to}" if event.face == "up" else f"→ {event.to}, {wording.face_name('down')}"


def _odds(event: ev.InsuranceOdds) -> str:
    text = _("%(odds)s to 1 on %(side)s") % {"odds": event.odds, "side": wording.side_name(event.side)}
    if event.placed != event.side:
        text += ", " + _("put on %(side)s’s spot") % {"side": wording.side_name(event.placed)}
    return text


def _dropped(event: ev.Dropped) -> str:
    seen = _("already open") if event.opened else _("unseen")
    return f"{wording.moment_name(event.when)}, {seen}"


_DETAILS: Final[Mapping[type[ev.Event], Callable[[Any], str]]] = {
    ev.ShoeOpened: lambda e: e.ruleset,
    ev.CardsBurned: lambda e: str(e.count),
    ev.ShoeClosed: lambda e: wording.shoe_reason_name(e.reason),
    ev.Bet: lambda e: f"{_seat(e)} · {_money(e.stake)}",
    ev.CardDealt: _dealt,
    ev.Opened: lambda e: e.place,
    ev.Extra: lambda e: wording.face_name(e.face),
    ev.Exposed: lambda e: wording.moment_name(e.when) + (f" · {e.place}" if e.place else ""),
    ev.Moved: lambda e: f"{e.source} → {e.to}",
    ev.Discarded: lambda e: e.place or wording.place_name("extra"),
    ev.Dropped: _dropped,
    ev.InsuranceOpened: lambda e: _("time %(window)d") % {"window": e.window},
    ev.InsuranceClosed: lambda e: _("time %(window)d") % {"window": e.window},
    ev.InsuranceOdds: _odds,
    ev.Called: _called,
    ev.Paid: lambda e: f"{_seat(e)} · {_money(e.amount)}",
    ev.Voided: lambda e: f"{wording.scope_name(e.scope)} · {wording.kept_reason(e.reason)}",
}


def places(felt: Felt) -> dict[str, Any]:
    """The felt as it is drawn: an unknown card lies face down."""
    cards: dict[str, Any] = {
        place: [None if text == "??" else text for text in texts] for place, texts in felt.places.items()
    }
    return {**cards, "extra": [None if text == "??" else text for text in felt.extra]}


def tell(event: ev.Event) -> Line:
    """An event in words."""
    detail = _DETAILS.get(type(event), lambda e: "")(event)
    card = getattr(event, "card", None)
    name = wording.event_name(event.name)
    if isinstance(event, ev.Paid) and event.amount < 0:
        name = _("Taken back")
    return Line(name, "" if card is None else str(card), detail)


def tell_planned(lines: Iterable[Mapping[str, Any]], table: str, shoe: int) -> list[Line]:
    """The lines a decision would append, in words."""
    common = {"at": "2000-01-01T00:00:00.000+00:00", "table": table, "shoe": shoe}
    return [tell(ev.parse_event({**common, **line})) for line in lines]


def timeline(
    rows: Sequence[TableEvent], findings: Sequence[IncidentFinding], decisions: Sequence[Decision]
) -> list[Line]:
    """The log lines in order, with what was found wrong, who recorded them, and which decision appended them."""
    lines: dict[int, Line] = {}
    day = None
    for row in rows:
        event = row.parse()
        line = tell(event)
        line.seq, line.at, line.actor, line.by = row.seq, event.at, row.actor, row.by
        line.findings = [finding for finding in findings if row.seq in finding.seq]
        line.decision = next((one for one in decisions if row.seq in one.events), None)
        if isinstance(event, ev.Amended):
            said = wording.kept_reason(event.reason)
            line.detail = _("entry %(seq)d: %(reason)s") % {"seq": event.seq, "reason": said}
            line.entry = tell(event.entry) if event.entry is not None else None
            if event.seq in lines:
                lines[event.seq].amended_by = line
        if day is not None and event.at.date() != day:
            line.day = event.at.date()
        day = event.at.date()
        lines[row.seq] = line
    return list(lines.values())

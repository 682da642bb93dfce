"""The hand of an incident as it stood after each of its events, by the same fold that judges it live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from dealing.digits import read_digits
from dealing.models import TableEvent
from dealing.projections import Numbered
from dealing.rules.audit import HandAudit
from dealing.rules.events import Amended, Event
from dealing.rules.judge import HandContext, HandFold
from incidents.selectors import Case

from .lines import Line, tell


@dataclass(frozen=True)
class Replay:
    """One step of a hand: `step` of `steps` (from 1), the event that made it, and what the judge says then."""

    step: int
    steps: int
    line: Line
    audit: HandAudit
    #: The log position of every step that is an event.
    seqs: tuple[int, ...]

    @property
    def at_end(self) -> bool:
        """Whether this is how the log leaves the hand."""
        return self.step == self.steps

    @property
    def before(self) -> int:
        """The step before; the first has itself."""
        return max(1, self.step - 1)

    @property
    def after(self) -> int:
        """The step after; the last has itself."""
        return min(self.steps, self.step + 1)


def replay(case: Case, rows: Sequence[TableEvent], asked: str | None) -> Replay | None:
    """The step that was asked for; the last where that is no step. None where the incident has no hand to be judged.

    The events are those that count: amended entries read as they were put right, withdrawn ones left out. Where the
    next hand began and so left this one unfinished, that is a step of its own.
    """
    if case.hand is None or case.fold is None or not case.fold.trail:
        return None
    events = case.fold.trail
    left = HandContext.from_json(case.hand.context).left
    end = case.fold.audit()
    # Leaving a hand says something only where it was unfinished.
    went_on = left is not None and left > events[-1][0] and _as_of(case, events, None).findings != end.findings
    steps = len(events) + went_on
    number = read_digits(asked)
    number = steps if number is None else min(max(number, 1), steps)
    seqs = tuple(seq for seq, _event in events)
    if number > len(events):
        return Replay(number, steps, Line(_("The table went on without closing this hand")), end, seqs)
    seq, event = events[number - 1]
    line = tell(event)
    line.seq, line.at = seq, event.at
    if any(isinstance(amendment, Amended) and amendment.seq == seq for amendment in _amendments(rows)):
        line.detail = f"{line.detail} ({_('as put right')})" if line.detail else _("as put right")
    return Replay(
        number,
        steps,
        line,
        end if number == steps else _as_of(case, events[:number], left if seq > (left or seq) else None),
        seqs,
    )


def _amendments(rows: Iterable[TableEvent]) -> Iterator[Event]:
    return (row.parse() for row in rows if row.name == Amended.name)


def _as_of(case: Case, events: Sequence[Numbered], left: int | None) -> HandAudit:
    """The judge's answer after these events. `left`: the event that left the hand, if one did by the hand's end."""
    assert case.hand is not None  # noqa: S101  # for the type checker; the caller looked
    context = HandContext.from_json(case.hand.context)
    context.left = left
    return HandFold.of(context, events).audit()

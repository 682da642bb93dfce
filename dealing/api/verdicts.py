"""What the judge says of an event: what is due next, and the findings that the event brought up.

A finding names the events that are wrong, and may come up later than these (a card that lay face down is turned up):
an event *raises* the findings that were not there before it. While events are recorded they are compared with what was
stored (`Raised`); of rows that stand in the log the hand is folded once more (`raised_by`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dealing.log import Writer
from dealing.models import Hand, Shoe, Table, TableEvent
from dealing.rules.events import Amended, Event, EventError, parse_line
from dealing.rules.judge import HandContext, HandFold, effective
from dealing.wording import finding_title

#: A hand by the numbers of shoe and hand; hand None: the shoe beside its hands.
Place = tuple[int, int | None]
Findings = Sequence[Mapping[str, Any]]
Found = dict[str, Any]


def _keys(findings: Findings) -> Counter[tuple[str, int]]:
    """What makes a finding the same one later on: its kind, and the event it is about first."""
    return Counter((finding["code"], finding["seq"][0]) for finding in findings)


def _new(before: Counter[tuple[str, int]], findings: Findings) -> list[Mapping[str, Any]]:
    """The findings that were not there before."""
    left = before.copy()
    found = []
    for finding in findings:
        key = (finding["code"], finding["seq"][0])
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(finding)
    return found


def _placed(findings: Iterable[Mapping[str, Any]], place: Place) -> list[Found]:
    """Findings as the API says them: where, what, and what the ruleset says of it."""
    return [{"shoe": place[0], "hand": place[1], **finding} for finding in findings]


def _titled(findings: Iterable[Found]) -> list[Found]:
    """With what it is called in the reader's language."""
    return [{**finding, "title": finding_title(finding["code"])} for finding in findings]


class Raised:
    """What each event raises while a writer appends one after the other."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._known: dict[Place, Counter[tuple[str, int]]] = {}

    def before(self, event: Event) -> None:
        """To be told of an event before it is appended."""
        if isinstance(event, Amended):  # which makes all of the shoe anew: what was stored of it is gone afterwards
            place = (event.shoe, event.hand)
            self._known.setdefault(place, _keys(self._writer.audit_now(*place).get("findings", ())))

    def after(self) -> list[Found]:
        """What the event appended last has raised."""
        raised: list[Found] = []
        for place in sorted(self._writer.touched, key=lambda place: (place[0], place[1] or 0)):
            findings = self._writer.audit_now(*place).get("findings", ())
            before = self._known.get(place)
            if before is None:
                before = _keys(self._writer.audit_before(*place).get("findings", ()))
            self._known[place] = _keys(findings)
            raised += _placed(_new(before, findings), place)
        return raised


def raised_by(table: Table, rows: Sequence[TableEvent]) -> dict[int, list[Found]]:
    """By its position what each of these rows of the table's log raises; rows that raise nothing are left out.

    Asks the database once for hands and once for shoes that have findings, and once for the log of each such hand.
    """
    out: dict[int, list[Found]] = {}
    if not rows:
        return out
    wanted = {row.seq: row for row in rows}
    shoes = {row.shoe_number for row in rows}
    hands = Hand.objects.select_related("shoe").filter(shoe__table=table, shoe__number__in=shoes, has_findings=True)
    places = {(row.shoe_number, row.hand_number) for row in rows}
    for hand in hands.order_by("shoe__number", "number"):
        place = (hand.shoe.number, hand.number)
        if place in places:
            for seq, findings in _along(table, hand, wanted).items():
                out.setdefault(seq, []).extend(_placed(findings, place))
        # That the table left the hand as it was is raised by an event of another hand, or of the shoe.
        for finding in hand.audit.get("findings", ()):
            row = wanted.get(finding["seq"][-1])
            if row is not None and (row.shoe_number, row.hand_number) != place:
                out.setdefault(row.seq, []).extend(_placed([finding], place))
    for shoe in Shoe.objects.filter(table=table, number__in=shoes, has_findings=True).order_by("number"):
        for finding in shoe.audit.get("findings", ()):  # of a shoe each is about the event that raised it
            if finding["seq"][-1] in wanted:
                out.setdefault(finding["seq"][-1], []).extend(_placed([finding], (shoe.number, None)))
    return out


def _along(table: Table, hand: Hand, wanted: Mapping[int, TableEvent]) -> dict[int, list[Mapping[str, Any]]]:
    """What each wanted row raises in one hand: its log is taken step by step, and begun anew with each amendment."""
    context = HandContext.from_json(hand.context)
    log = table.events.filter(shoe_number=hand.shoe.number, hand_number=hand.number).order_by("seq")
    taken: list[tuple[int, Event]] = []
    fold = HandFold(context)
    known: Counter[tuple[str, int]] = Counter()
    out: dict[int, list[Mapping[str, Any]]] = {}
    for seq, payload in log.values_list("seq", "payload"):
        try:
            event = parse_line(payload)
            taken.append((seq, event))
            if isinstance(event, Amended):
                fold = HandFold.of(context, effective(taken).events)
            else:
                fold.step(seq, event)
        except EventError:  # somebody has changed the stored line: for `verify_log` to say
            return out
        findings = [finding.as_dict() for finding in fold.audit().findings]
        if seq in wanted and (new := _new(known, findings)):
            out[seq] = new
        known = _keys(findings)
    return out


def verdict(shoe: Mapping[str, Any], hand: Mapping[str, Any], raised: list[Found], settlement: bool) -> dict[str, Any]:
    """What is answered for an event beside its place in the log. `hand` is empty for an event of the shoe."""
    over = hand.get("status", "") != "open"
    said = {
        "raised": _titled(raised),
        "next": None if over else hand["correct"]["next"],
        "status": hand.get("status"),
        "ruling": hand.get("ruling"),
        "result": hand.get("result"),
        "findings": _titled(_placed((hand or shoe).get("findings", ()), ((hand or shoe)["shoe"], hand.get("hand")))),
    }
    if settlement:
        said["settlement"] = hand.get("settlement", [])
    return said

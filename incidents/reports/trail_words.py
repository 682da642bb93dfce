"""What the walk along trails and signed heads said in English when it was kept, in the reader's language.

As in `problem_words`: each known sentence is recognised and said again; one that is not known stays as it is.
"""

from __future__ import annotations

from typing import Final

from django.core.exceptions import FieldDoesNotExist
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from dealing.models import DealerShift
from dealing.wording import finding_title
from incidents.models import AuditReport, Decision, Incident, IncidentAttachment, IncidentFinding, IncidentReview
from incidents.trail.models import SignedHead

from .problem_words import CHAIN, Said, again, column_name
from .problem_words import said as _said

#: What rows are called, and whose columns theirs are.
_ROWS: Final[dict[str, tuple[Promise, type]]] = {
    "incident": (gettext_lazy("incident"), Incident),
    "decision": (gettext_lazy("decision"), Decision),
    "review note": (gettext_lazy("review note"), IncidentReview),
    "attachment": (gettext_lazy("attachment"), IncidentAttachment),
    "report": (gettext_lazy("report"), AuditReport),
    "shift": (gettext_lazy("dealer shift"), DealerShift),
    "signed statement": (gettext_lazy("signed heads"), SignedHead),
}
_KINDS: Final[dict[str, Promise]] = {
    "nightly": pgettext_lazy("kind of report", "nightly"),
    "monthly": pgettext_lazy("kind of report", "monthly"),
}
_ROW: Final = rf"(?P<row>{'|'.join(_ROWS)}) (?P<n>\d+)(?: \(.*\))?"
_FINDING: Final = r"incident (?P<n>\d+)(?: \(.*\))?: its finding (?P<position>\d+) \((?P<code>[\w-]+)\)"
_HEADS: Final = r"the signed heads (?P<number>\d+) of (?P<day>\S+)"


def _row(found: dict[str, str]) -> dict[str, str]:
    return {**found, "row": str(_ROWS[found["row"]][0])}


def _columns(found: dict[str, str]) -> dict[str, str]:
    model = _ROWS[found["row"]][1]
    return {**_row(found), "what": ", ".join(_column(model, name) for name in found["what"].split(", "))}


def _column(model: type, name: str) -> str:
    try:
        return str(model._meta.get_field(name).verbose_name)  # type: ignore[attr-defined]
    except FieldDoesNotExist:
        return column_name(name)


def _finding(found: dict[str, str]) -> dict[str, str]:
    names = [_column(IncidentFinding, name) for name in found.get("what", "").split(", ")]
    return {**found, "code": str(finding_title(found["code"])), "what": ", ".join(names)}


def _report(found: dict[str, str]) -> dict[str, str]:
    return {**found, "kind": str(_KINDS.get(found["kind"], found["kind"]))}


def _each(found: dict[str, str]) -> dict[str, str]:
    return {**found, "each": again((*TRAIL, *CHAIN), found["each"])}


#: What `incidents.trail.checking` says, and `dealing.tampering` of trails.
TRAIL: Final[tuple[Said, ...]] = (
    _said(
        rf"{_ROW} was changed: (?P<what>.*)",
        gettext_lazy("The {row} {n} was changed afterwards: {what}."),
        _columns,
    ),
    _said(
        rf"{_ROW} was put in: the trail knows nothing of it",
        gettext_lazy("The {row} {n} was put in by something else than this system."),
        _row,
    ),
    _said(rf"{_ROW} was deleted", gettext_lazy("The {row} {n} was deleted."), _row),
    _said(
        rf"the file of {_ROW} is missing: (?P<path>.*)",
        gettext_lazy("The file of {row} {n} is missing: {path}."),
        _row,
    ),
    _said(
        rf"the file of {_ROW} was changed: (?P<path>.*)",
        gettext_lazy("The file of {row} {n} was changed afterwards: {path}."),
        _row,
    ),
    _said(
        r"is missing; the next entry is position (?P<n>\d+)",
        gettext_lazy("The entry at this position is missing; the next one there is, is at {n}."),
    ),
    _said(
        "its previous hash is not the hash of the entry before",
        gettext_lazy("The entry does not follow on the one before it: one was changed, taken out or put in here."),
    ),
    _said("its content cannot be read", gettext_lazy("What the entry says cannot be read.")),
    _said(
        "it is filed under another row than it says",
        gettext_lazy("The entry is filed under something else than it says."),
    ),
    _said(
        r"its head says that there are (?P<n>\d+) entries, and there are (?P<there>\d+)",
        gettext_lazy("{n} entries were written, and there are {there}."),
    ),
    _said(
        "nothing guards its rows: (?P<what>.*) is missing(?: or disabled|, disabled or replaced)",
        gettext_lazy("The database does not guard what was written against changes now ({what})."),
    ),
    # Findings, which follow from the log.
    _said(
        rf"{_FINDING} is missing",
        gettext_lazy("Finding {position} ({code}) of the incident {n} was deleted."),
        _finding,
    ),
    _said(
        rf"{_FINDING} was changed: (?P<what>.*)",
        gettext_lazy("Finding {position} ({code}) of the incident {n} is not what the log says: {what}."),
        _finding,
    ),
    _said(
        rf"{_FINDING} was put in: the log has no such finding",
        gettext_lazy("Finding {position} ({code}) of the incident {n} is not in the log."),
        _finding,
    ),
    _said(
        r"the incident of shoe (?P<shoe>\d+) is missing: the log has findings there \((?P<codes>.*)\)",
        gettext_lazy("The log has findings on shoe {shoe} ({codes}), and the incident is not there."),
    ),
    _said(
        r"the incident of shoe (?P<shoe>\d+) hand (?P<hand>\d+) is missing: "
        r"the log has findings there \((?P<codes>.*)\)",
        gettext_lazy("The log has findings on shoe {shoe}, hand {hand} ({codes}), and the incident is not there."),
    ),
    # Signed heads.
    _said(
        r"is missing; the next is number (?P<n>\d+)",
        gettext_lazy("These are missing; the next there are, are number {n}."),
    ),
    _said(
        r"is missing in the database; it is kept in (?P<path>.*)",
        gettext_lazy("These are missing in the database; they are kept in {path}."),
    ),
    _said(
        "is not in the database what is kept in (?P<path>.*)",
        gettext_lazy("What the database has is not what is kept in {path}."),
    ),
    _said("(?P<path>/.*): cannot be read: (?P<cause>.*)", gettext_lazy("{path} cannot be read ({cause}).")),
    _said("cannot be read: (?P<cause>.*)", gettext_lazy("These cannot be read ({cause}).")),
    _said(
        r"was signed as number (?P<n>\d+) of (?P<house>.*)",
        gettext_lazy("These were signed as number {n} of {house}."),
    ),
    _said(
        "does not follow on the one before, which was changed or replaced",
        gettext_lazy("These do not follow on those before them, which were changed or replaced."),
    ),
    _said(
        "is signed with key (?P<key>[^, ]*), which is not among the keys here(?: in (?P<path>.*))?",
        gettext_lazy("These are signed with key {key}, which is not known here."),
    ),
    _said("its signature is not genuine(?: in (?P<path>.*))?", gettext_lazy("The signature is not genuine.")),
    _said(
        r"the (?P<kind>\w+) report of (?P<day>\S+), revision (?P<n>\d+), is not there any more",
        gettext_lazy("The {kind} report of {day}, revision {n}, is not there any more."),
        _report,
    ),
    _said(
        r"the (?P<kind>\w+) report of (?P<day>\S+), revision (?P<n>\d+), has other figures than were signed",
        gettext_lazy("The {kind} report of {day}, revision {n}, has other figures than were signed."),
        _report,
    ),
    _said(
        rf"is missing: the log was cut short; {_HEADS} say (?P<n>\d+) events",
        gettext_lazy("The end is missing: {n} entries were signed with number {number} of {day}."),
    ),
    _said(
        rf"is not what {_HEADS} say: something up to here was changed(?:; up to position \d+ it is as it was signed)?",
        gettext_lazy("Something up to here was changed after it was signed with number {number} of {day}."),
    ),
    # What the seals show.
    _said(
        r"(?P<each>.*); so it is with each up to position (?P<n>\d+)",
        gettext_lazy("{each} So it is with each up to number {n}."),
        _each,
    ),
    _said(
        r"was inserted: it is a copy of the row that was sealed as position (?P<n>\d+)",
        gettext_lazy("The entry was put in: it is a copy of the one that stood at {n}."),
    ),
    _said(
        "was inserted: (?:it has no seal|its seal is not genuine)",
        gettext_lazy("The entry was put in by something else than this system: it has no genuine seal."),
    ),
    _said(
        r"was swapped with position (?P<n>\d+)",
        gettext_lazy("The entry changed places with the one at {n}."),
    ),
    _said(
        r"was moved here: it was sealed as position (?P<n>\d+)",
        gettext_lazy("The entry was moved here: it stood at {n}."),
    ),
    _said(
        r"(?:was replaced, and has no seal|its line, or who recorded it, was changed)(?: \(it was position \d+\))?",
        gettext_lazy("What the entry says, or who recorded it, was changed afterwards."),
    ),
    _said(r"is missing: it stood .*", gettext_lazy("The entry at this position is missing.")),
    _said(
        r"of (?P<n>\d+) rows that are older than the seals there are (?P<there>\d+)",
        gettext_lazy("Of {n} entries that are older than the seals there are {there}."),
    ),
    _said(
        "the rows up to here are older than the seals, and not those that there were when sealing began",
        gettext_lazy("The entries up to here are not those that there were when this system began to seal entries."),
    ),
)

_TABLE, _FILES, _FINDINGS = "trail of table ", "files of table ", "findings of table "
_HOUSE, _SIGNED = "trail of house ", "signed heads of "


def words(problem: str) -> str:
    """What is wrong."""
    return again((*TRAIL, *CHAIN), problem)


def where(of: str) -> str:
    """What it is wrong with; a table's log by the code of the table."""
    if of.startswith(_TABLE):
        return _("Incidents of %(table)s") % {"table": of.removeprefix(_TABLE)}
    if of.startswith(_FINDINGS):
        return _("Findings of %(table)s") % {"table": of.removeprefix(_FINDINGS)}
    if of.startswith(_FILES):
        return _("Files of %(table)s") % {"table": of.removeprefix(_FILES)}
    if of.startswith(_HOUSE):
        return _("Reports of %(house)s") % {"house": of.removeprefix(_HOUSE)}
    if of.startswith(_SIGNED):
        return _("Signed heads of %(house)s") % {"house": of.removeprefix(_SIGNED)}
    return _("Database") if of == "the database" else of


def position(of: str, seq: int | None) -> str:
    """Where in it; empty where no single place is to blame."""
    if seq is None:
        return ""
    if of.startswith(_SIGNED):
        return _("number %(n)s") % {"n": seq}
    return _("entry %(n)s") % {"n": seq}

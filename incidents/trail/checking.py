"""What `verify_log` says of trails and signed heads: are they what was written, and are the rows what they say?"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.core.management.base import CommandError
from django.db.models import QuerySet

from dealing import seal_keys, seals, triggers
from dealing.chain import row_hash
from dealing.models import DealerShift, Table, TableEvent, Venue
from dealing.tampering import GAP, HASH, LINK, NEVER, Closer, Trace, examine, runs
from dealing.verify import Asked, Beside, Broken
from incidents import attachments
from incidents.models import AuditReport, Decision, Incident, IncidentAttachment, IncidentReview

from . import contents, heads, signing, walks
from .models import SignedHead, Trail, TrailEntry, genesis_hash, scope_of
from .statement import HOUSE_TRAIL, Statement, StatementError, read, read_all

Kind = TrailEntry.Kind
_MODELS: Final[dict[str, Any]] = {
    Kind.INCIDENT: Incident,
    Kind.DECISION: Decision,
    Kind.REVIEW: IncidentReview,
    Kind.ATTACHMENT: IncidentAttachment,
    Kind.REPORT: AuditReport,
    Kind.SHIFT: DealerShift,
    Kind.SIGNED: SignedHead,
}
#: What is in the trail of a table, and what in that of a house.
_OF_TABLE: Final = (Kind.INCIDENT, Kind.DECISION, Kind.REVIEW, Kind.ATTACHMENT, Kind.SHIFT)
_OF_HOUSE: Final = (Kind.REPORT, Kind.SIGNED)
_GUARDED: Final = (
    *("trail_trailentry", "trail_signedhead", "incidents_decision", "incidents_incidentreview"),
    *("incidents_incidentattachment", "incidents_auditreport", "accounts_securityevent"),
)
_BATCH: Final = 500


def check_trails(asked: Asked) -> Iterator[Beside]:
    """The trails of the tables asked for, with the files of their incidents, and of their houses."""
    keep = asked.keep and asked.seals
    tables = list(Table.objects.filter(code__in=asked.tables).select_related("venue").order_by("code"))
    for venue, table in [*((one.venue, one) for one in tables), *((venue, None) for venue in _houses(tables))]:
        checked = _Checked(asked, scope_of(venue.code, None if table is None else table.code), venue, table)
        for found in checked.found():
            if keep:
                walks.keep(found, venue, table)
            yield found
    lost = [name for table in _GUARDED for name in triggers.missing(table)]
    problem = f"nothing guards its rows: {', '.join(lost)} is missing, disabled or replaced"
    guards = (Broken("the database", None, problem, unguarded=True),) if lost else ()
    database = Beside("the database", "", guards)
    if asked.keep:
        walks.keep(database)
    yield database


def _houses(tables: Sequence[Table]) -> list[Venue]:
    return sorted({table.venue for table in tables}, key=lambda venue: venue.code)


class _Checked:
    """The check of one trail."""

    def __init__(self, asked: Asked, scope: str, venue: Venue, table: Table | None) -> None:
        self.asked = asked
        self.scope = scope
        self.venue, self.table = venue, table
        self.problems: list[Broken] = []
        #: Of attached files; these are not read each time, and what was found in them is told apart.
        self.files: list[Broken] = []
        self.unchecked = 0
        #: Entries of rows that are older than the trail, and when the last of them was taken in.
        self.adopted = 0
        self.adopted_at: dt.datetime | None = None

    def found(self) -> Iterator[Beside]:
        """What is to be said of the trail, and of the files where they were read."""
        yield self._beside()
        if self.table is not None and self.asked.files:
            yield Beside(f"files of table {self.table.code}", "", tuple(self.files))

    def _beside(self) -> Beside:
        trail = Trail.objects.filter(venue=self.venue, table=self.table).first()
        entries = TrailEntry.objects.filter(trail=trail).order_by("seq")
        newest = self._walk(trail, entries)
        for kind in _OF_TABLE if self.table else _OF_HOUSE:
            self._rows(kind, newest.get(kind, {}))
        count = 0 if trail is None else trail.last_seq
        summary = f"{count} entries, whole; head {trail.last_hash}" if trail is not None and count else ""
        if summary and self.adopted_at is not None:
            summary += f"; {self.adopted} of rows older than it, taken in up to {self.adopted_at.date()}"
        unchecked = f"{self.unchecked} seals were not checked: there is no seal key here" if self.unchecked else ""
        return Beside(self.scope, summary, tuple(self.problems), unchecked)

    def _say(self, seq: int | None, problem: str) -> None:
        self.problems.append(Broken(self.scope, seq, problem))

    def _walk(self, trail: Trail | None, entries: QuerySet[TrailEntry]) -> dict[str, dict[int, TrailEntry]]:
        """Go along the entries: the newest of each row, by kind."""
        ring = seal_keys.ring_or_none() if self.asked.seals else None
        walk = seals.SealWalk(self.scope, ring, seals.Start())
        newest: dict[str, dict[int, TrailEntry]] = {}
        chain, wrong = _Chain(self.scope), False
        for entry in entries.iterator(chunk_size=2000):
            newest.setdefault(entry.kind, {})[entry.reference] = entry
            if entry.payload.startswith(contents.ADOPTED):
                self.adopted, self.adopted_at = self.adopted + 1, entry.recorded_at
            broken, unsealed = chain.look(entry), walk.problem(entry)
            wrong = wrong or bool(broken) or (ring is not None and unsealed is not None)
        if wrong:
            self._closer(entries, ring)
        self.unchecked = walk.unchecked if self.asked.seals else 0
        head = (trail.last_seq, trail.last_hash or chain.previous) if trail is not None else (0, chain.previous)
        if head[0] != chain.seq or (not wrong and head[1] != chain.previous):
            self._say(None, f"its head says that there are {head[0]} entries, and there are {chain.seq}")
        return newest

    def _closer(self, entries: QuerySet[TrailEntry], ring: seal_keys.Ring | None) -> None:
        """Name all entries that are not what was written: what the seals say of each, then the rest."""
        traces: list[Trace] = []
        if ring is not None:
            traces = examine(self.scope, entries.iterator(chunk_size=2000), ring, seals.Start())
        closer = Closer(_Chain(self.scope), traces, NEVER if ring is None else 0)
        others = runs(one for entry in entries.iterator(chunk_size=2000) for one in closer.look(entry))
        for found in sorted([*traces, *others], key=lambda one: one.seq):
            self._say(found.seq, found.text)

    def _rows(self, kind: Kind, newest: dict[int, TrailEntry]) -> None:
        """Hold the rows of now against the newest entry of each."""
        rows = _MODELS[kind].objects.order_by("pk")
        if kind in _OF_HOUSE:
            rows = rows.filter(venue=self.venue).select_related("venue")
        elif kind == Kind.INCIDENT:
            rows = rows.filter(table=self.table).select_related("table")
        elif kind == Kind.SHIFT:
            rows = rows.filter(table=self.table).select_related("table", "dealer")
        else:
            rows = rows.filter(incident__table=self.table).select_related("incident__table")
        seen = set()
        for row in rows.iterator(chunk_size=_BATCH):
            seen.add(row.pk)
            entry = newest.get(row.pk)
            name = f"{_NAMES[kind]} {row.pk} ({row})"
            if entry is None:
                self._say(None, f"{name} was put in: the trail knows nothing of it")
                continue
            changed = _differences(kind, row, entry)
            if changed:
                self._say(entry.seq, f"{name} was changed: {', '.join(changed)}")
            if kind == Kind.ATTACHMENT and self.asked.files:
                self._file(row, entry, name)
        for pk in sorted(set(newest) - seen):
            self._say(newest[pk].seq, f"{_NAMES[kind]} {pk} was deleted")

    def _file(self, row: IncidentAttachment, entry: TrailEntry, name: str) -> None:
        path = attachments.folder() / row.stored
        try:
            with path.open("rb") as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == row.sha256
        except OSError:
            self.files.append(Broken(self.scope, entry.seq, f"the file of {name} is missing: {path.name}"))
            return
        if not same:
            self.files.append(Broken(self.scope, entry.seq, f"the file of {name} was changed: {path.name}"))


_NAMES: Final[dict[str, str]] = {
    Kind.INCIDENT: "incident",
    Kind.DECISION: "decision",
    Kind.REVIEW: "review note",
    Kind.ATTACHMENT: "attachment",
    Kind.REPORT: "report",
    Kind.SHIFT: "shift",
    Kind.SIGNED: "signed statement",
}


class _Chain:
    """Goes along the entries of a trail, each held against the one before as that is stored."""

    def __init__(self, scope: str) -> None:
        self.seq, self.previous = 0, genesis_hash(scope)

    def look(self, entry: TrailEntry) -> list[tuple[str, str]]:
        """All that is wrong with the next entry but its seal, in kinds and words."""
        found = list(_chain_problems(entry, self.seq, self.previous))
        self.seq, self.previous = entry.seq, entry.hash
        return found


def _chain_problems(entry: TrailEntry, seq: int, previous: str) -> Iterator[tuple[str, str]]:
    if entry.seq != seq + 1:
        problem = f"is missing; the next entry is position {entry.seq}"
        yield GAP, problem
    elif entry.prev_hash != previous:
        problem = "its previous hash is not the hash of the entry before"
        yield LINK, problem
    if entry.hash != row_hash(entry.prev_hash, entry.seq, entry.payload, entry.actor, entry.recorded_at):
        problem = "its hash does not match its content"
        yield HASH, problem
    try:
        held = json.loads(entry.payload)
        same = (held["kind"], held["row"]) == (entry.kind, entry.reference)
    except (ValueError, KeyError, TypeError):
        problem = "its content cannot be read"
        yield "line", problem
        return
    if not same:
        problem = "it is filed under another row than it says"
        yield "filed", problem


def _differences(kind: str, row: Any, entry: TrailEntry) -> list[str]:
    """The columns in which a row is not what its entry says."""
    try:
        held = json.loads(entry.payload)["columns"].items()
    except (ValueError, KeyError, AttributeError):
        return []  # said by the walk
    now = json.loads(contents.canonical(contents.columns(kind, row)))
    return [name.removesuffix("_id") for name, value in held if now.get(name) != value]


# --- signed heads ----------------------------------------------------------------------------------------------------


def check_heads(asked: Asked) -> Iterator[Beside]:
    """The signed heads of the houses of the tables asked for, those kept outside the database too."""
    tables = list(Table.objects.filter(code__in=asked.tables).select_related("venue").order_by("code"))
    try:
        keys = (
            signing.public_keys(_text_of(asked.public_key), asked.public_key) if asked.public_key else signing.trusted()
        )
    except seal_keys.KeyFileError as error:
        if asked.public_key:
            raise CommandError(str(error)) from error
        keys = {}
        yield Beside("signed heads", "", (), f"the keys cannot be read: {error}")
    outside = _Outside(asked.heads) if asked.heads else None
    for venue in _houses(tables):
        found = _Heads(venue, asked.tables, keys, outside).beside()
        # What is wrong with tables that were not asked for would not be in it.
        whole = not Table.objects.filter(venue=venue).exclude(code__in=asked.tables).exists()
        if asked.keep and whole and not (asked.heads or asked.public_key):
            walks.keep(found, venue)
        yield found
    if outside is not None and (strange := outside.left()):
        problems = tuple(Broken(asked.heads, None, f"there is no house {house} here") for house in strange)
        yield Beside(asked.heads, "", problems)


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {getattr(error, 'strerror', None) or 'is no text in UTF-8'}") from error


class _Outside:
    """Signed heads in a file that somebody brings."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._found = list(read_all(_text_of(path)))
        except StatementError as error:
            raise CommandError(f"{path}: {error}") from error
        if not self._found:
            raise CommandError(f"{path}: there are no signed heads in it")
        self._taken: set[str] = set()

    def of(self, venue: Venue) -> list[tuple[Statement, bytes, str]]:
        self._taken.add(venue.code)
        return [(said, signature, self.path) for said, signature in self._found if said.house == venue.code]

    def left(self) -> list[str]:
        return sorted({said.house for said, _ in self._found} - self._taken)


class _Heads:
    """The check of one house's signed heads."""

    def __init__(
        self, venue: Venue, codes: Sequence[str], keys: dict[str, Ed25519PublicKey], outside: _Outside | None
    ) -> None:
        self.venue = venue
        self.name = f"signed heads of {venue.code}"
        self.codes = set(codes)
        self.keys = keys
        self.outside = outside
        self.problems: list[Broken] = []
        self.without_key = 0
        #: What genuine statements say: by table or trail, position -> (hash, which statement said so).
        self.tables: dict[str, dict[int, tuple[str, str]]] = {}
        self.trails: dict[str, dict[int, tuple[str, str]]] = {}

    def beside(self) -> Beside:
        count, kept = self._stored()
        brought = self._kept_outside(kept)
        for code in sorted(set(self.tables) & self.codes):
            log = TableEvent.objects.filter(table__code=code, table__venue=self.venue)
            self._held(code, self.tables[code], log)
        for code in sorted(self.trails):
            if code == HOUSE_TRAIL or code in self.codes:
                trail = {"trail__table": None} if code == HOUSE_TRAIL else {"trail__table__code": code}
                rows = TrailEntry.objects.filter(trail__venue=self.venue, **trail)
                name = scope_of(self.venue.code, None if code == HOUSE_TRAIL else code)
                self._held(name, self.trails[code], rows)
        summary = f"{count} signed, the log goes on from each" if count else ""
        if self.outside is not None:
            summary = f"{summary}; {brought} of {self.outside.path} hold" if summary else f"{brought} hold"
        unchecked = f"{self.without_key} signatures were not checked: no public key is here" if self.without_key else ""
        return Beside(self.name, summary, tuple(self.problems), unchecked)

    def _say(self, number: int | None, problem: str) -> None:
        self.problems.append(Broken(self.name, number, problem))

    def _stored(self) -> tuple[int, dict[int, str]]:
        """Those in the database: how many, and their statements by number."""
        kept: dict[int, str] = {}
        number, previous = 0, "none"
        for head in SignedHead.objects.filter(venue=self.venue).order_by("number").iterator(chunk_size=_BATCH):
            if head.number != number + 1:
                self._say(number + 1, f"is missing; the next is number {head.number}")
                previous = ""
            kept[head.number] = head.statement
            try:
                said = read(head.statement)
                signature = base64.b64decode(head.signature, validate=True)
            except (StatementError, binascii.Error) as error:
                self._say(head.number, f"cannot be read: {error}")
                number, previous = head.number, ""
                continue
            if self._genuine(said, head.statement, signature, head.number):
                if (said.number, said.house) != (head.number, self.venue.code):
                    self._say(head.number, f"was signed as number {said.number} of {said.house}")
                elif previous and said.previous != previous:
                    self._say(head.number, "does not follow on the one before, which was changed or replaced")
                else:
                    self._note(said)
                self._report(said, head)
            number, previous = head.number, hashlib.sha256(head.statement.encode()).hexdigest()
        return len(kept), kept

    def _genuine(self, said: Statement, text: str, signature: bytes, number: int | None) -> bool:
        if not self.keys:
            self.without_key += 1
            return True
        key = self.keys.get(said.key)
        if key is None:
            self._say(number, f"is signed with key {said.key}, which is not among the keys here")
            return False
        if not signing.verified(key, signature, text.encode()):
            self._say(number, "its signature is not genuine")
            return False
        return True

    def _note(self, said: Statement) -> None:
        which = f"the signed heads {said.number} of {said.signed[:10]}"
        for code, (seq, hashed) in said.tables.items():
            self.tables.setdefault(code, {}).setdefault(seq, (hashed, which))
        for code, (seq, hashed) in said.trails.items():
            self.trails.setdefault(code, {}).setdefault(seq, (hashed, which))

    def _report(self, said: Statement, head: SignedHead) -> None:
        for kind, day, revision, digest in said.reports:
            found = AuditReport.objects.filter(venue=self.venue, kind=kind, day=day, revision=revision).first()
            name = f"the {kind} report of {day}, revision {revision},"
            if found is None:
                self._say(head.number, f"{name} is not there any more")
            elif contents.digest(found.figures) != digest:
                self._say(head.number, f"{name} has other figures than were signed")

    def _kept_outside(self, kept: dict[int, str]) -> int:
        """The copies that the application keeps in files, and what somebody brought: how many of the latter hold."""
        found: list[tuple[Statement, bytes, str]] = []
        folder = heads.copies(self.venue)
        for path in sorted(folder.glob("*.txt")) if folder.is_dir() else []:
            try:
                found += [(said, signature, str(path)) for said, signature in read_all(path.read_text())]
            except (OSError, UnicodeDecodeError, StatementError) as error:
                self._say(None, f"{path}: cannot be read: {error}")
        brought = self.outside.of(self.venue) if self.outside is not None else []
        hold = 0
        for said, signature, where in [*found, *brought]:
            before = len(self.problems)
            if self._genuine(said, said.text(), signature, said.number):
                if said.number not in kept:
                    self._say(said.number, f"is missing in the database; it is kept in {where}")
                elif kept[said.number] != said.text():
                    self._say(said.number, f"is not in the database what is kept in {where}")
                self._note_first(said)
            else:
                last = self.problems.pop()
                self._say(last.seq, f"{last.problem} in {where}")
            hold += (said, signature, where) in brought and len(self.problems) == before
        return hold

    def _note_first(self, said: Statement) -> None:
        """What is kept outside speaks before what the database says."""
        which = f"the signed heads {said.number} of {said.signed[:10]}"
        for held, ends in ((self.tables, said.tables), (self.trails, said.trails)):
            for code, (seq, hashed) in ends.items():
                held.setdefault(code, {})[seq] = (hashed, which)

    def _held(self, name: str, said: dict[int, tuple[str, str]], rows: QuerySet[Any]) -> None:
        """Hold a log against what was signed of it: the first position that is not as it was, and a lost end."""
        positions = sorted(said)
        last = rows.order_by("seq").values_list("seq", flat=True).last() or 0
        good = 0
        for at in range(0, len(positions), _BATCH):
            now = dict(rows.filter(seq__in=positions[at : at + _BATCH]).values_list("seq", "hash"))
            for seq in positions[at : at + _BATCH]:
                hashed, which = said[seq]
                if seq > last:
                    top = positions[-1]
                    self.problems.append(
                        Broken(name, last + 1, f"is missing: the log was cut short; {said[top][1]} say {top} events")
                    )
                    return
                if now.get(seq) != hashed:
                    upto = f"; up to position {good} it is as it was signed" if good else ""
                    self.problems.append(
                        Broken(name, seq, f"is not what {which} say: something up to here was changed{upto}")
                    )
                    if positions[-1] > last:
                        top = positions[-1]
                        text = f"is missing: the log was cut short; {said[top][1]} say {top} events"
                        self.problems.append(Broken(name, last + 1, text))
                    return
                good = seq

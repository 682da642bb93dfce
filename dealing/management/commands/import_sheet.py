"""`manage.py import_sheet FILE`: hands out of a spreadsheet into the log."""

from __future__ import annotations

import datetime as dt
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone, translation

from dealing.importer import NoVenueError, Report
from dealing.management.streams import FAILED, LogCommand, utf8
from dealing.models import StaffMember, Table, Venue
from dealing.rules.audit import HandAudit
from dealing.rules.rulesets import RulesetError
from dealing.sheets.auditing import RowAudit, SheetAudit, audit
from dealing.sheets.cells import DATE_ORDERS, KINDS, CellError, read_date, read_time
from dealing.sheets.errors import SheetError
from dealing.sheets.making import Filling, Plan, plan
from dealing.sheets.mapping import FIELDS, ORDERS, Mapping, from_dict, guess, heads_of, letters, name_of, read_columns
from dealing.sheets.reading import EMPTY_ROWS, ENCODINGS, MEGABYTES, SEPARATORS, Book, read_book
from dealing.sheets.storing import House, Objection, objections, store, write_shifts
from dealing.sheets.words import explain, field_name, objection, tell, title

CLEAN, FINDINGS, UNREADABLE = 0, 1, FAILED
#: Rows of the preview, and rows of which findings are printed.
PREVIEW: Final = 10
#: Who stands as recorder where nobody is named.
NOBODY: Final = "import"
#: Seconds between two lines of progress.
PROGRESS: Final = 2.0


class Command(LogCommand):
    help = (
        "Reads hands out of a spreadsheet, judges them and stores them as table logs; the same sheet again stores "
        "nothing. Exit 0: no finding, 1: findings, 2: rows that could not be read or were refused, or nothing could be "
        "done. docs/sheets.md says how cells are read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("file", metavar="FILE", help=".csv, .xlsx or .json")
        add("--dry-run", action="store_true", help="print the first rows and what was found, store nothing")
        reading = parser.add_argument_group("how the file is read (default: found out)")
        reading.add_argument("--sheet", default="", metavar="NAME", help="which sheet of an .xlsx file")
        reading.add_argument("--encoding", default="", choices=["", *ENCODINGS], help="of a .csv file")
        reading.add_argument("--separator", default="", choices=["", *SEPARATORS], help="of a .csv file")
        mapping = parser.add_argument_group("what the columns hold (default: guessed from heads and cells)")
        mapping.add_argument("--mapping", metavar="FILE.json", help="as --print-mapping writes it")
        mapping.add_argument("--print-mapping", action="store_true", help="print the mapping as JSON and do nothing")
        mapping.add_argument(
            "--column",
            action="append",
            default=[],
            metavar="FIELD=COLUMN",
            help=f"a column by its head, letters or number; empty: none. FIELD: {', '.join(FIELDS)}",
        )
        mapping.add_argument("--head-row", type=int, metavar="N", help="the row with the heads; 0: there is none")
        mapping.add_argument("--cards", choices=KINDS, help="cards are written with suits, as ranks, or as points")
        mapping.add_argument("--order", choices=ORDERS, help="of dealing; needed where cards stand in the order dealt")
        mapping.add_argument(
            "--outcome", action="append", default=[], metavar="WORD=SIDE", help="1=player; player, banker or tie"
        )
        mapping.add_argument("--date-order", choices=DATE_ORDERS, help="of dates in figures")
        filling = parser.add_argument_group("what the sheet does not say")
        filling.add_argument("--table", default="", metavar="CODE", help="of rows that name none")
        filling.add_argument("--shoe", type=int, metavar="N", help="number of the first shoe")
        filling.add_argument(
            "--recount-shoes", action="store_true", help="each change of the shoe is the next one, from --shoe on"
        )
        filling.add_argument("--ruleset", default="", metavar="NAME", help="default: the table's own, else standard")
        filling.add_argument("--decks", type=int, default=0, metavar="N", help="default: the table's own, else 8")
        filling.add_argument("--date", metavar="DATE", help="of the first hand")
        filling.add_argument("--start", metavar="TIME", help="of day, of the first hand (of each day)")
        filling.add_argument("--seconds", type=int, default=60, metavar="N", help="from hand to hand (default: 60)")
        filling.add_argument("--time-zone", metavar="ZONE", help="of times that name none (default: the venue's)")
        filling.add_argument("--more-to-come", action="store_true", help="leave each table's last shoe open")
        storing = parser.add_argument_group("storing")
        storing.add_argument("--venue", metavar="CODE", help="whose tables they are (default: the only venue)")
        storing.add_argument("--create-tables", action="store_true", help="make tables that are not there, not in use")
        storing.add_argument(
            "--actor",
            default=NOBODY,
            metavar="NAME",
            help=f"who stands as recorder: a user name or staff code (default: {NOBODY})",
        )
        add("--lang", choices=("en", "th"), default="en", help="language of what is printed")

    def handle(self, *args: Any, file: str, lang: str, **options: Any) -> None:
        utf8(sys.stdout)
        with translation.override(lang):
            try:
                status = self._run(Path(file), **options)
            except SheetError as error:
                raise CommandError(explain(error)) from error
            except RulesetError as error:
                raise CommandError(str(error)) from error
        if status != CLEAN:
            sys.exit(status)

    def _run(self, file: Path, **options: Any) -> int:
        try:
            with file.open("rb") as stream:
                data = stream.read(MEGABYTES * 2**20 + 1)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error
        book = read_book(
            data, file.name, sheet=options["sheet"], encoding=options["encoding"], separator=options["separator"]
        )
        mapping = _mapping(book, options)
        if options["print_mapping"]:
            self.stdout.write(json.dumps(mapping.as_dict(book), ensure_ascii=False, indent=2))
            return CLEAN
        venue = self._venue(options)
        filling = _filling(file.name, mapping, venue, options)
        house = House(venue) if venue is not None or not options["dry_run"] else None
        made = (
            plan(book, mapping, filling)
            if house is None
            else plan(book, mapping, filling, known=house.shoe, rules=house.rules)
        )
        found = audit(made, PREVIEW)
        self._say_mapping(book, mapping)
        self._say(made, found)
        status = UNREADABLE if found.unreadable else FINDINGS if found.codes else CLEAN
        if options["dry_run"]:
            if house is None:
                self.stdout.write("not compared with what is stored: --time-zone without --venue asks no database")
            elif self._tables_missing(made, house, options) or self._objections(made):
                status = UNREADABLE
            self.stdout.write("nothing was stored (--dry-run)")
            return status
        return self._store(made, house or House(), status, venue, options)

    def _tables_missing(self, made: Plan, house: House, options: dict[str, Any]) -> bool:
        """Say why the tables will not do, if they will not."""
        said = _tables_wrong(made, house, options)
        if said:
            self.stderr.write(f"would not be stored: {said}")
        elif unknown := house.unknown(made.tables):
            self.stdout.write(f"would be made, not in use: {', '.join(unknown)}")
        return bool(said)

    def _objections(self, made: Plan) -> list[Objection]:
        """Say what the log will not take."""
        out = objections(made)
        for one in out:
            hint = " A sheet that grows is stored with --more-to-come." if one.code == "shoe-closed" else ""
            self.stderr.write(f"refused: row {one.row}: {objection(one)}{hint} [{one.code}]")
        return out

    # -- who and where

    def _venue(self, options: dict[str, Any]) -> Venue | None:
        """The venue; none where nothing is stored and the time zone is said, so that no database is needed."""
        if options["venue"]:
            venue = Venue.objects.filter(code=options["venue"]).first()
            if venue is None:
                raise CommandError(f"there is no venue {options['venue']}")
            return venue
        if options["dry_run"] and options["time_zone"]:
            return None
        venues = list(Venue.objects.all()[:2])
        if len(venues) > 1:
            raise CommandError("there are several venues: say with --venue whose tables they are")
        if not venues and not options["time_zone"]:
            raise CommandError("there is no venue yet: say with --time-zone of which zone the times are")
        return venues[0] if venues else None

    # -- what is printed

    def _say_mapping(self, book: Book, mapping: Mapping) -> None:
        heads = heads_of(book, mapping.head_row)
        others = [title for title in book.sheets if title != book.sheet]
        more = f", not {', '.join(others)}; another one with --sheet" if others else ""
        self.stdout.write(f"{book.name}{f' [{book.sheet}{more}]' if book.sheet else ''}:")
        for name, at in mapping.columns.items():
            self.stdout.write(f"  {letters(at):>2} {heads[at] or '–'} = {name} ({field_name(name)})")
        order = f", {mapping.order}" if mapping.dealt else ""
        self.stdout.write(f"  {mapping.cards}{order}; {mapping.dates}")
        if book.ended:
            self.stdout.write(f"  after row {book.ended} come {EMPTY_ROWS:,} empty rows: what lies below is not read")

    def _say(self, made: Plan, found: SheetAudit) -> None:
        self.stdout.write("")
        for row in [row for row in found.rows if not row.told.blank][:PREVIEW]:
            self.stdout.write(_line(row))
        told = found.told
        if told:
            self.stdout.write("")
        for row in told:
            where = f"row {row.told.row}"
            if row.told.hand:
                where += f" ({row.told.table} shoe {row.told.shoe} hand {row.told.hand})"
            for finding in row.findings:
                cards = f" ({' '.join(finding.cards)})" if finding.cards else ""
                extra = _against(row) if finding.code == "wrong-result-called" else ""
                self.stdout.write(self.style.WARNING(f"{where}: {title(finding.code)}{cards}{extra} [{finding.code}]"))
            for fault in row.faults:
                write = self.stderr if fault.unreadable else self.stdout
                write.write(f"{where}: {tell(fault)} [{fault.code}]")
        self.stdout.write("")
        self.stdout.write(
            f"{len(found.rows)} rows: {found.hands} hands, {found.with_findings} of them with findings; "
            f"{found.unreadable} rows unreadable, {found.left_out} left out, {found.blank} without cards; "
            f"{found.events} events; "
            f"tables {', '.join(made.tables) or '–'}"
        )
        for code, count in found.codes.most_common():
            self.stdout.write(f"  {count:6} {code}: {title(code)}")

    # -- storing

    def _store(self, made: Plan, house: House, status: int, venue: Venue | None, options: dict[str, Any]) -> int:
        if said := _tables_wrong(made, house, options):
            raise CommandError(said)
        unknown = house.unknown(made.tables)
        actor = _actor(options["actor"])
        told = {(one.table, one.shoe, hand) for one in self._objections(made) for hand in one.hands}
        early = {table for table, _, _ in told}
        started = last = time.monotonic()

        def progress(report: Report) -> None:
            nonlocal last
            if time.monotonic() - last >= PROGRESS:
                last = time.monotonic()
                self.stderr.write(f"{report.events} events stored, {report.events / (last - started):.0f} a second")

        try:
            done = store(made, actor=actor, venue=venue, create_tables=options["create_tables"], progress=progress)
        except NoVenueError as error:
            raise CommandError("there are several venues: say with --venue in which the tables are made") from error
        for refused in done.refusals:
            if (refused.hand is None and refused.table in early) or (refused.table, refused.shoe, refused.hand) in told:
                continue  # said above
            self.stderr.write(f"row {refused.row} ({refused.table} shoe {refused.shoe}): {refused.error}")
        if unknown:
            self.stdout.write(f"tables made, not in use: {', '.join(unknown)} (put into use under master data)")
        self.stdout.write(
            f"{done.stored} hands stored, {done.skipped} stored before, {done.refused} refused; "
            f"{done.events} events stored"
        )
        if "dealer" in made.mapping.columns:
            self._write_shifts(made, actor)
        return UNREADABLE if done.refusals else status

    def _write_shifts(self, made: Plan, actor: str) -> None:
        table = Table.objects.select_related("venue").filter(code__in=made.tables).first()
        if table is None:
            return
        shifts = write_shifts(made, table.venue, actor)
        self.stdout.write(
            f"dealers: {shifts.written} shifts written down, {shifts.known} there before, "
            f"{shifts.overlapping} left out because they overlap others"
        )
        if shifts.unknown:
            self.stderr.write(f"not dealers of {table.venue}: {', '.join(shifts.unknown)}; add them and import again")


def _tables_wrong(made: Plan, house: House, options: dict[str, Any]) -> str:
    """Why the tables will not do; empty where they do."""
    if elsewhere := house.elsewhere(made.tables):
        return f"these tables belong to another venue: {', '.join(elsewhere)}"
    unknown = house.unknown(made.tables)
    if unknown and not options["create_tables"]:
        return f"there is no table {', '.join(unknown)}; make it, or import with --create-tables"
    return ""


def _actor(name: str) -> str:
    """Who stands as recorder: a user name, for a staff code that of the person, so that it is known whose it is."""
    users = get_user_model().objects
    if name == NOBODY or users.filter(username=name).exists():
        return name
    member = StaffMember.objects.select_related("user").filter(code=name).first()
    if member is None:
        raise CommandError(f"--actor {name}: nobody here has this user name or staff code")
    return str(member.user.get_username())


def _line(row: RowAudit) -> str:
    """A row of the preview."""
    told = row.told
    sides = {"P": "", "B": ""}
    for place, card in told.drawn:
        sides[place[0]] += f" {card}"
    result = "–"
    if isinstance(row.audit, HandAudit) and row.audit.result is not None:
        result = f"{row.audit.result.winner} {row.audit.result.player}:{row.audit.result.banker}"
    at = f"{told.at:%Y-%m-%d %H:%M}" if told.at else "–"
    where = f"{told.table or '–'} {told.shoe or '–'}/{told.hand or '–'}"
    codes = ", ".join([*(finding.code for finding in row.findings), *(fault.code for fault in row.faults)])
    return f"{told.row:6} {at} {where:14} P{sides['P']:10} B{sides['B']:10} {result:12} {codes}".rstrip()


def _against(row: RowAudit) -> str:
    """What the sheet says beside what the cards make."""
    told = row.told
    if not isinstance(row.audit, HandAudit) or row.audit.result is None:
        return ""
    right = row.audit.result
    said = ":".join("?" if total is None else str(total) for total in (told.player, told.banker))
    return f": {told.winner} {said}, the cards make {right.winner} {right.player}:{right.banker}"


def _mapping(book: Book, options: dict[str, Any]) -> Mapping:
    found = guess(book, options["head_row"])
    if options["mapping"]:
        try:
            told = json.loads(Path(options["mapping"]).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise CommandError(f"{options['mapping']}: {error.strerror}") from error
        except ValueError as error:
            raise CommandError(f"{options['mapping']}: this is no JSON ({error})") from error
        found = from_dict(book, told, found)
    if options["column"]:
        columns: dict[str, Any] = {name: name_of(book, found.head_row, at) for name, at in found.columns.items()}
        given = dict(_pair("--column", text) for text in options["column"])
        named = {name: value or None for name, value in given.items()}
        taken = set(read_columns(book, found.head_row, named).values())
        columns = {name: at for name, at in columns.items() if found.columns[name] not in taken} | named
        found = replace(found, columns=read_columns(book, found.head_row, columns))
    if options["outcome"]:
        words = dict(_pair("--outcome", text) for text in options["outcome"])
        found = from_dict(book, {"outcomes": {**found.outcomes, **words}}, found)
    given = {"cards": options["cards"], "order": options["order"], "dates": options["date_order"]}
    return from_dict(book, {name: value for name, value in given.items() if value}, found)


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"{option} {text}: a pair with = is wanted")
    return name.strip(), value.strip()


def _filling(name: str, mapping: Mapping, venue: Venue | None, options: dict[str, Any]) -> Filling:
    zone_name = options["time_zone"] or (venue.time_zone if venue else "UTC")
    if zone_name not in available_timezones():
        raise SheetError("zone-unknown", fill="zone", value=zone_name)
    now = timezone.now()
    try:
        date = read_date(options["date"], mapping.dates if options["date"] else "dmy", dt.date.today())  # noqa: DTZ011
        start = read_time(options["start"])
    except CellError as error:
        field = "date" if error.code == "not-a-date" else "start"
        raise SheetError("fill-wrong", fill=field, field=field, value=options[field]) from error
    return Filling(
        name=name,
        zone=ZoneInfo(zone_name),
        now=now,
        table=options["table"],
        shoe=options["shoe"],
        recount=options["recount_shoes"],
        ruleset=options["ruleset"],
        decks=options["decks"],
        date=date,
        start=start,
        seconds=options["seconds"],
        more_to_come=options["more_to_come"],
    )

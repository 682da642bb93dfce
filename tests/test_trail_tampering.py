"""Incidents, decisions, notes, files and reports that somebody changed in the database, trails and signed heads made to
fit or taken away, are found and named; and nobody else is accused.
"""

from __future__ import annotations

import base64
import datetime as dt
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as project
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from PIL import Image

from dealing import seal_keys, triggers
from dealing.chain import row_hash
from dealing.models import Dealer, DealerShift, Table, TableEvent, Venue
from dealing.shifts import do_change_dealer, do_correct_shift
from incidents import attachments
from incidents.evidence import do_attach_file
from incidents.models import AuditReport, Decision, Incident, IncidentAttachment, IncidentReview
from incidents.reports import runs, trail_words
from incidents.services import do_decide_incident, do_review_incident
from incidents.trail import adopting, heads, signing
from incidents.trail.models import SignedHead, Trail, TrailEntry, genesis_hash
from tests.attacker import Attacker
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.test_log_writers import at_once

pytestmark = pytest.mark.django_db

MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (2, 2)).save(out, "PNG")
    return out.getvalue()


PNG = picture()


@pytest.fixture(autouse=True)
def _places(settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIR = tmp_path / "keys"
    settings.HEADS_DIR = tmp_path / "heads"
    settings.VAR_DIR = tmp_path


@pytest.fixture
def house(table: MakeTable, people: People) -> House:
    """A table with an incident that was decided, noted on and documented."""
    house = House(table("B07"), people)
    house.record(MISPLACED, together=True)
    house.decide("correct", reason="as the rules say")
    incident = house.incident()
    do_review_incident(incident, people("supervisor"), {"note": "seen on the video", "money_lost": None})
    do_attach_file(incident, people("supervisor"), SimpleUploadedFile("felt.png", PNG), "The felt")
    return house


@pytest.fixture
def night(house: House) -> AuditReport:
    """The report of the day, signed."""
    of_day = runs.AuditDay.objects.create(venue=house.table.venue, day=timezone.localdate() - dt.timedelta(days=1))
    run = runs.open_run(of_day, timezone.now(), send=False)
    assert run is not None
    for part in run.tables.all():
        runs.work(part.pk, later=False)
    report = AuditReport.objects.get()
    assert heads.sign_report(report) is not None
    return report


def run(*arguments: str) -> tuple[int, list[str]]:
    out, code = io.StringIO(), 0
    try:
        call_command("verify_log", *arguments, stdout=out, no_color=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    return code, out.getvalue().splitlines()


def wrong() -> list[str]:
    code, lines = run()
    assert code == 1, lines
    return [line for line in lines if ", whole; head " not in line and "the log goes on from each" not in line]


def sql(text: str, *params: Any) -> None:
    connection.check_constraints()
    with triggers.suspended(), connection.cursor() as cursor:
        cursor.execute(text, params)


def rechained(scope: str = "trail of table B07") -> None:
    """Number and chain the entries of a trail anew, with the head to fit."""
    trail = next(one for one in Trail.objects.select_related("venue", "table") if one.scope == scope)
    connection.check_constraints()
    with triggers.suspended():
        rows = list(TrailEntry.objects.filter(trail=trail).order_by("seq").values())
        TrailEntry.objects.filter(trail=trail).delete()
        previous = genesis_hash(scope)
        for seq, row in enumerate(rows, 1):
            row |= {"seq": seq, "prev_hash": previous}
            previous = row["hash"] = row_hash(previous, seq, row["payload"], row["actor"], row["recorded_at"])
        TrailEntry.objects.bulk_create([TrailEntry(**row) for row in rows])
        Trail.objects.filter(pk=trail.pk).update(last_seq=len(rows), last_hash=previous, last_seal=rows[-1]["seal"])


# --- nobody is accused -----------------------------------------------------------------------------------------------


def test_what_the_application_wrote_is_whole(night: AuditReport) -> None:
    code, lines = run()
    assert code == 0
    assert [line.split(": ")[0] for line in lines] == [
        "B07",
        "trail of table B07",
        "trail of house RIVER",
        "signed heads of RIVER",
    ]
    kinds = list(TrailEntry.objects.filter(trail__table__code="B07").order_by("seq").values_list("kind", flat=True))
    assert kinds[-4:] == ["decision", "incident", "review", "attachment"]
    assert kinds[0] == "incident"
    assert set(TrailEntry.objects.values_list("actor", flat=True)) == {"somchai", "nok", "supervisor", "audit"}
    assert run("B07")[0] == run("--json")[0] == 0


def test_the_usual_card_writes_no_trail(house: House) -> None:
    before = TrailEntry.objects.count()
    house.record("hand:2 open close P1:9h B1:4s P2:Kd B2:3c")
    assert TrailEntry.objects.count() == before


def test_nothing_is_written_where_the_change_fails(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    before = TrailEntry.objects.count(), IncidentReview.objects.count()

    def fail(*_given: Any, **_named: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(TrailEntry.objects, "bulk_create", fail)
    with pytest.raises(RuntimeError):
        do_review_incident(house.incident(), house.people("supervisor"), {"note": "another"})
    assert (TrailEntry.objects.count(), IncidentReview.objects.count()) == before


# --- rows of now -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE incidents_decision SET reason = 'another'", r"decision {decision} \(.*\) was changed: reason"),
        (
            "UPDATE incidents_decision SET decided_at = '2026-01-01 00:00:00', decided_by_name = 'x'",
            r"decision {decision} \(.*\) was changed: decided_at, decided_by_name",
        ),
        ("UPDATE incidents_incidentreview SET money_lost = 5", r"review note {review} \(.*\) was changed: money_lost"),
        (
            "UPDATE incidents_incidentattachment SET caption = ''",
            r"attachment {attachment} \(.*\) was changed: caption",
        ),
        ("UPDATE incidents_incident SET status = 'withdrawn'", r"incident {incident} \(.*\) was changed: status"),
        ("UPDATE incidents_incident SET opened_at = '2026-01-01 00:00:00'", r"incident .* was changed: opened_at"),
        ("DELETE FROM incidents_incidentreview", r"review note {review} was deleted"),
        ("DELETE FROM incidents_incidentattachment", r"attachment {attachment} was deleted"),
    ],
)
def test_a_row_that_was_changed_or_deleted_is_named(house: House, change: str, said: str) -> None:
    ids = {
        "decision": Decision.objects.get().pk,
        "review": IncidentReview.objects.get().pk,
        "attachment": IncidentAttachment.objects.get().pk,
        "incident": Incident.objects.get().pk,
    }
    sql(change)
    found = wrong()
    assert len(found) == 1
    assert re.fullmatch(r"trail of table B07 position \d+: " + said.format(**ids), found[0]), found


def test_a_decision_that_was_put_in_is_named(house: House) -> None:
    first = Decision.objects.get()
    connection.check_constraints()
    values = {field.attname: getattr(first, field.attname) for field in Decision._meta.concrete_fields}
    del values["id"]
    forged = Decision.objects.create(**{**values, "number": 2, "supersedes_id": first.pk, "reason": "so"})
    assert wrong() == [f"trail of table B07: decision {forged.pk} ({forged}) was put in: the trail knows nothing of it"]


def test_a_file_that_was_changed_or_lost_is_named(house: House) -> None:
    row = IncidentAttachment.objects.get()
    path = attachments.folder() / row.stored
    path.write_bytes(PNG + b"!")
    assert f"the file of attachment {row.pk} ({row}) was changed: {row.stored}" in wrong()[0]
    assert run("--no-files")[0] == 0
    path.unlink()
    assert f"the file of attachment {row.pk} ({row}) is missing: {row.stored}" in wrong()[0]


def test_a_report_that_was_changed_is_named(night: AuditReport) -> None:
    sql("UPDATE incidents_auditreport SET findings = 7, attention = 7")
    assert wrong() == [f"trail of house RIVER position 1: report {night.pk} ({night}) was changed: attention, findings"]


def test_figures_of_a_report_that_were_changed_are_named_twice(night: AuditReport) -> None:
    figures = {**night.figures, "hands": 99}
    sql("UPDATE incidents_auditreport SET figures = %s", json.dumps(figures))
    found = wrong()
    assert f"trail of house RIVER position 1: report {night.pk} ({night}) was changed: figures" in found
    day = night.day.isoformat()
    assert (
        f"signed heads of RIVER position 1: the nightly report of {day}, revision 1, has other figures than were signed"
        in found
    )


def test_unguarded_rows_are_said(house: House) -> None:
    with triggers.suspended():
        assert any("append_only_incidents_decision" in line for line in wrong())


# --- the trail itself ------------------------------------------------------------------------------------------------


def test_who_makes_the_trail_fit_is_found_by_its_seals(house: House) -> None:
    """A decision is changed, with its entry, and everything after it chained anew."""
    decision = Decision.objects.get()
    entry = TrailEntry.objects.get(kind="decision")
    sql("UPDATE incidents_decision SET reason = 'another'")
    sql(
        "UPDATE trail_trailentry SET payload = %s WHERE id = %s",
        entry.payload.replace("as the rules say", "another"),
        entry.pk,
    )
    rechained()
    assert decision.reason == "as the rules say"
    assert wrong() == [f"trail of table B07 position {entry.seq}: its line, or who recorded it, was changed"]


def test_who_takes_a_decision_out_with_its_entry_is_found(house: House) -> None:
    entry = TrailEntry.objects.get(kind="review")
    sql("DELETE FROM incidents_incidentreview")
    sql("DELETE FROM trail_trailentry WHERE id = %s", entry.pk)
    rechained()
    at = entry.seq
    assert wrong() == [
        f"trail of table B07 position {at}: is missing: it stood between what are now positions {at - 1} and {at}"
    ]


def test_an_entry_without_the_rest_made_to_fit_is_found(house: House) -> None:
    sql("UPDATE trail_trailentry SET actor = 'x' WHERE seq = 2")
    assert wrong() == ["trail of table B07 position 2: its line, or who recorded it, was changed"]
    _, chain_only = run("--chain-only")
    assert "trail of table B07 position 2: its hash does not match its content" in chain_only
    sql("DELETE FROM trail_trailentry WHERE seq = 2")
    assert "trail of table B07 position 2: is missing: it stood between what are now positions 1 and 3" in wrong()


def test_every_entry_is_named_also_after_an_earlier_one(house: House) -> None:
    sql("UPDATE trail_trailentry SET hash = 'ff' WHERE seq = 1")
    sql("UPDATE trail_trailentry SET reference = 99 WHERE seq IN (2, 3)")
    said = [line for line in wrong() if line.startswith("trail of table B07 position ")]
    assert said[:3] == [
        "trail of table B07 position 1: its hash does not match its content",
        "trail of table B07 position 2: it is filed under another row than it says",
        "trail of table B07 position 3: it is filed under another row than it says",
    ]


# --- signed heads ----------------------------------------------------------------------------------------------------


def cut(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows[:-3]


def test_a_log_that_was_cut_short_is_found_by_signed_heads(night: AuditReport) -> None:
    events = TableEvent.objects.count()
    Attacker(Table.objects.get()).does(cut)
    day = SignedHead.objects.get().signed_at.date()
    assert wrong() == [
        f"B07 position {events - 2}: is missing: the log was cut short; the signed heads 1 of {day} say {events} events"
    ]


def test_the_heads_taken_away_too_are_found_outside_the_database(night: AuditReport) -> None:
    heads.keep_copy(SignedHead.objects.get())  # as is done once the transaction is committed
    assert run()[0] == 0
    events = TableEvent.objects.count()
    Attacker(Table.objects.get()).does(cut)
    sql("DELETE FROM trail_signedhead")
    kept = heads.copies(Venue.objects.get()) / "000001.txt"
    found = wrong()
    assert f"signed heads of RIVER position 1: is missing in the database; it is kept in {kept}" in found
    assert any(f"say {events} events" in line for line in found)


@pytest.fixture
def mail(night: AuditReport, tmp_path: Path) -> Path:
    """A mail that somebody kept, with its lines broken and quoted into a reply."""
    head = SignedHead.objects.get()
    words = head.printed.split()
    text = "On Monday you wrote:\n\n" + "\n".join(" ".join(words[at : at + 3]) for at in range(0, len(words), 3))
    path = tmp_path / "mail.txt"
    path.write_text(text + "\n\nRegards")
    return path


def test_a_mail_kept_elsewhere_proves_what_was_signed(mail: Path) -> None:
    assert run("--heads", str(mail))[0] == 0
    public = mail.with_name("key.pem")
    public.write_text(signing.public_file().read_text())
    assert run("--heads", str(mail), "--public-key", str(public))[0] == 0
    # The log is rewritten and everything signed is taken out of the database: the mail remains.
    Attacker(Table.objects.get()).does(cut)
    sql("DELETE FROM trail_signedhead")
    code, lines = run("--heads", str(mail), "--public-key", str(public))
    assert code == 1
    assert any("is missing in the database" in line for line in lines)
    assert any("the log was cut short" in line for line in lines)


@pytest.mark.sqlite
def test_a_mail_that_was_changed_proves_nothing(mail: Path) -> None:
    events = TableEvent.objects.count()
    mail.write_text(
        mail.read_text().replace(f"B07 {events}", f"B07 {events - 1}").replace(f"\n{events} ", f"\n{events - 1} ")
    )
    code, lines = run("--heads", str(mail))
    assert code == 1
    assert any(f"its signature is not genuine in {mail}" in line for line in lines)


def test_heads_of_another_key_are_not_trusted(night: AuditReport) -> None:
    """The attacker makes a key of his own, and signs what he likes."""
    head = SignedHead.objects.get()
    own = signing.Ed25519PrivateKey.generate()
    text = head.statement.replace(
        signing.fingerprint(next(iter(signing.trusted().values()))), signing.fingerprint(own.public_key())
    )
    sql(
        "UPDATE trail_signedhead SET statement = %s, signature = %s",
        text,
        base64.b64encode(own.sign(text.encode())).decode(),
    )
    assert any("which is not among the keys here" in line for line in wrong())
    sql("UPDATE trail_signedhead SET statement = %s", head.statement)
    assert "signed heads of RIVER position 1: its signature is not genuine" in wrong()


def test_signed_heads_follow_on_each_other(night: AuditReport) -> None:
    venue = Venue.objects.get()
    heads.sign(venue)
    heads.sign(venue)
    assert run()[0] == 0
    sql("DELETE FROM trail_signedhead WHERE number = 2")
    assert "signed heads of RIVER position 2: is missing; the next is number 3" in wrong()


@pytest.mark.sqlite
def test_a_new_signing_key_leaves_the_old_heads_proved(night: AuditReport) -> None:
    old = signing.trusted()
    call_command("signing_key", "rotate", stdout=io.StringIO())
    heads.sign(Venue.objects.get())
    assert len(signing.trusted()) == 2
    assert set(old) < set(signing.trusted())
    assert run()[0] == 0
    assert signing.private_file().stat().st_mode & 0o777 == 0o600
    out = io.StringIO()
    call_command("signing_key", stdout=out)
    assert out.getvalue().count("BEGIN PUBLIC KEY") == 2
    assert "PRIVATE" not in out.getvalue()


@pytest.mark.sqlite
def test_without_the_public_key_the_rest_is_checked_and_that_is_said(night: AuditReport) -> None:
    signing.private_file().unlink()
    signing.public_file().unlink()
    code, lines = run()
    assert code == 2
    assert "signed heads of RIVER: 1 signatures were not checked: no public key is here" in lines
    # And no other key is made in its place.
    with pytest.raises(CommandError, match="signed with a key that is not at"):
        call_command("sign_heads")
    with pytest.raises(CommandError, match="there is no house XX") as failed:
        call_command("sign_heads", "--venue", "XX")
    assert failed.value.returncode == 2


@pytest.mark.sqlite
def test_a_statement_that_says_nothing_is_refused(house: House, tmp_path: Path) -> None:
    path = tmp_path / "nothing.txt"
    path.write_text("Dear all")
    with pytest.raises(CommandError, match="no signed heads in it"):
        call_command("verify_log", "--heads", str(path))
    path.write_text("baccarat-audit signed heads 1 house RIVER number")
    with pytest.raises(CommandError, match="ends before its signature does"):
        call_command("verify_log", "--heads", str(path))
    with pytest.raises(CommandError, match="No such file"):
        call_command("verify_log", "--heads", str(tmp_path / "no.txt"))


# --- without this program --------------------------------------------------------------------------------------------


def exported(*arguments: str) -> str:
    out = io.StringIO()
    call_command("export_chain", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.sqlite
def test_a_regulator_checks_it_alone(mail: Path) -> None:
    files = {"table:B07": ("B07",), "trail:B07": ("B07", "--trail"), "trail:house": ("--house", "RIVER")}
    public = mail.with_name("key.pem")
    public.write_text(signing.public_file().read_text())
    given = []
    for name, arguments in files.items():
        path = mail.with_name(name.replace(":", "-"))
        path.write_text(exported(*arguments))
        given.append(f"{name}={path}")
    script = str(Path(project.BASE_DIR) / "docs" / "check_heads.py")

    def check() -> tuple[int, str]:
        command = [sys.executable, "-I", script, "--public-key", str(public), str(mail), *given]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    code, out = check()
    assert code == 0, out
    assert "the signature is genuine" in out
    assert out.count(": as signed heads 1 say up to position") == 3
    assert f"fingerprint {next(iter(signing.trusted()))}" in out
    changed = Path(given[0].partition("=")[2])
    changed.write_text(changed.read_text().replace("2h", "3h", 1))
    code, out = check()
    assert code == 1
    assert "table:B07: NOT AS signed heads 1 say" in out


@pytest.mark.parametrize("quoted", ["> ", ">> ", "> > "])
def test_a_mail_that_was_quoted_and_broken_can_be_checked(night: AuditReport, tmp_path: Path, quoted: str) -> None:
    heads.sign(night.venue)
    text = "".join(head.printed for head in SignedHead.objects.order_by("number"))
    lines = [line[at : at + 60] for line in text.splitlines() for at in range(0, len(line), 60)]
    mail, key = tmp_path / "mail.txt", tmp_path / "key.pem"
    mail.write_text("They wrote:\n" + "".join(f"{quoted}{line}\n" for line in lines) + quoted.strip() + "\n")
    key.write_text("".join(map(signing.pem, signing.trusted().values())))
    code, said = run("--heads", str(mail))
    assert code == 0, said
    assert said[-1].endswith(f"; 2 of {mail} hold")
    command = [sys.executable, str(project.BASE_DIR / "docs" / "check_heads.py"), "--public-key", str(key), str(mail)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the signature is genuine") == 2


# --- databases from before -------------------------------------------------------------------------------------------


def test_what_is_there_already_is_taken_into_the_trail(house: House) -> None:
    before = TrailEntry.objects.count()
    sql("DELETE FROM trail_trailentry")
    Trail.objects.all().delete()
    assert all("the trail knows nothing of it" in line for line in wrong())
    assert adopting.adopt(apps.get_model, "kanya") == 4
    assert adopting.adopt(apps.get_model, "kanya") == 0
    assert before > 4
    code, lines = run()
    assert code == 0
    assert lines[1].endswith(f"; 4 of rows older than it, taken in up to {timezone.now().date()}")
    sql("UPDATE incidents_decision SET reason = 'another'")
    assert "was changed: reason" in wrong()[0]


def test_seals_and_trail_begin_by_a_command(house: House, people: People) -> None:
    sql("DELETE FROM trail_trailentry")
    Trail.objects.all().delete()
    sql("UPDATE dealing_tableevent SET seal = NULL")
    Table.objects.update(last_seal=None)
    seal_keys.key_file().unlink()
    out = io.StringIO()
    for arguments, why in (((), "add --by NAME"), (("--by", "nobody"), "nobody is called “nobody”")):
        with pytest.raises(CommandError, match=why):
            call_command("seal_key", "begin", *arguments)
    people(None, "kanya")
    call_command("seal_key", "begin", "--by", "kanya", stdout=out)
    events = TableEvent.objects.count()
    assert out.getvalue() == (
        f"B07: rows up to position {events} are older than the seals\n4 rows were taken into the trail\n"
    )
    house.record("hand:2 open close P1:9h")
    assert run()[0] == 0
    out = io.StringIO()
    call_command("seal_key", stdout=out)
    assert out.getvalue().endswith(" seals\n")
    assert seal_keys.key_file().read_text().strip() not in out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_trails_of_tables_are_in_nobodys_way(table: MakeTable, people: People) -> None:
    """Misdeals at two tables, a decision and signing at once: nobody waits for ever, and all of it is whole."""
    houses = [House(table(code), people) for code in ("B07", "B08", "B09")]
    houses[0].record(MISPLACED, together=True)
    manager = houses[0].manager()
    venue = houses[0].table.venue

    def decide() -> str:
        incident = houses[0].incident()
        return do_decide_incident(incident, manager, ["correct"], "as the rules say").incident.table.code

    def sign() -> int:
        return [heads.sign(venue).number for _ in range(3)][-1]

    said = at_once(
        decide,
        lambda: len(houses[1].record(MISPLACED, together=True)),
        lambda: len(houses[2].record(MISPLACED, together=True)),
        sign,
    )
    assert (said[0], said[1], said[3]) == ("B07", said[2], 3), said
    assert run()[0] == 0
    assert TrailEntry.objects.values("trail").distinct().count() == 4


# --- dealers' shifts, and that heads were signed --------------------------------------------------------------------


@pytest.fixture
def shift(house: House, people: People) -> DealerShift:
    """A dealer's shift at the table, put right once."""
    dealer = Dealer.objects.create(venue=house.table.venue, code="D7", name="Dao")
    made = do_change_dealer(house.table, dealer, people("recorder", "rung"))
    began = made.started_at - dt.timedelta(hours=1)
    return do_correct_shift(house.table, people("supervisor"), dealer, began, None, shift=made)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE dealing_dealershift SET started_at = '2026-01-01 00:00:00'", "was changed: started_at"),
        ("UPDATE dealing_dealershift SET recorded_by = 'nobody'", "was changed: recorded_by"),
        ("DELETE FROM dealing_dealershift", "was deleted"),
    ],
)
def test_a_shift_that_was_changed_is_named(shift: DealerShift, change: str, said: str) -> None:
    assert run()[0] == 0
    sql(change)
    (line,) = wrong()
    assert re.match(rf"trail of table B07 position \d+: shift {shift.pk} .*{said}$|.*{said}$", line)
    assert f"shift {shift.pk}" in line
    problem = line.partition(": ")[2]
    assert trail_words.words(problem) != problem


def test_that_heads_were_signed_outlives_them(night: AuditReport) -> None:
    """All signed heads are gone, and the copies too: the trail still says that there were."""
    (head,) = SignedHead.objects.all()
    sql("DELETE FROM trail_signedhead")
    shutil.rmtree(heads.copies(night.venue), ignore_errors=True)
    assert wrong() == [f"trail of house RIVER position 2: signed statement {head.pk} was deleted"]
    assert "signed heads" in trail_words.words(f"signed statement {head.pk} was deleted")

"""What the last walk along trails and signed heads found is kept, and shown where broken chains are: the next report,
the page of last night, the metrics, the health of the night.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone, translation
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from dealing import seals, tampering, triggers
from dealing.gaming_days import last_closed
from dealing.models import ChainWalk, Venue
from dealing.tasks import verify_tables
from incidents import attachments
from incidents.evidence import do_attach_file
from incidents.models import AuditReport, IncidentAttachment
from incidents.reports import runs, telling, trail_words
from incidents.trail import checking, heads, walks
from incidents.trail.models import TrailWalk
from tests.conftest import MakeTable, People
from tests.incident_logs import House
from tests.test_reports_words import ENGLISH

MISPLACED = "open close P1:2h B1:4s P2:3d B2:Kc B3:6h P3:5s call:tie end"
TRAIL, HEADS, FILES = "trail of table B07", "signed heads of RIVER", "files of table B07"
CHANGED = "decision {n} ({what}) was changed: reason"


@pytest.fixture(autouse=True)
def _places(settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIR, settings.HEADS_DIR, settings.VAR_DIR = tmp_path / "keys", tmp_path / "heads", tmp_path


@pytest.fixture
def house(table: MakeTable, people: People) -> House:
    """A table with an incident that was decided."""
    house = House(table("B07"), people)
    house.record(MISPLACED, together=True)
    house.decide("correct", reason="as the rules say")
    return house


def sql(text: str) -> None:
    connection.check_constraints()
    with triggers.suspended(), connection.cursor() as cursor:
        cursor.execute(text)


def changed(reason: str = "as I say") -> None:
    sql(f"UPDATE incidents_decision SET reason = '{reason}'")


def verify(*arguments: str) -> None:
    try:
        call_command("verify_log", *arguments, stdout=io.StringIO())
    except SystemExit:
        pass


def count_of(name: str) -> int:
    return TrailWalk.objects.get(name=name).count


def nightly(venue: Venue) -> AuditReport:
    run = runs.start_by_hand(venue, last_closed(venue, timezone.now()), by="Malee", send=False)
    for part in run.tables.all():
        runs.work(part.pk, later=False)
    return AuditReport.objects.latest("pk")


def words(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page.content.decode()))


def metric(client: Client, name: str) -> float | None:
    for family in text_string_to_metric_families(client.get("/metrics").content.decode()):
        for sample in family.samples:
            if sample.name == name:
                return sample.value
    return None


@pytest.mark.django_db
def test_a_changed_decision_is_shown_where_broken_chains_are(client: Client, house: House, people: People) -> None:
    venue = house.table.venue
    client.force_login(people("manager"))
    assert metric(client, "baccarat_trail_whole") is None  # nobody has walked them
    verify_tables()
    before = nightly(venue)
    assert metric(client, "baccarat_trail_whole") == 1
    assert client.get("/health/night/").json()["chains"] == "whole"
    changed()
    answer = verify_tables()
    assert "was changed: reason" in answer[TRAIL]
    assert metric(client, "baccarat_trail_whole") == 0
    assert timezone.now().timestamp() - (metric(client, "baccarat_trail_walked_timestamp_seconds") or 0) < 60
    assert client.get("/health/night/").json()["chains"] == "broken"
    page = words(client.get("/reports/status/"))
    assert "River House: incidents, reports or signed heads are not what was written: Incidents of B07." in page
    assert "hash chain" not in page
    report = nightly(venue)
    assert (report.attention, report.chain_whole) == (before.attention + 1, True)
    page = words(client.get(f"/reports/{report.pk}/"))
    assert "Incidents, reports or signed heads are not what was written" in page
    assert "was changed afterwards: reason." in page
    with translation.override("th"):
        (group,) = [one for one in telling.tell(report).groups if one.key == "trails"]
        (line,) = group.lines
        assert (line.where, line.language) == ("เหตุการณ์ของ B07", "")
        assert not ENGLISH.search(line.text), line.text
    # Of the kinds of trouble, it stands before what is wrong with no record.
    keys = [one.key for one in telling.attention_groups(report.nightly.attention, venue.zone)]
    assert keys[:3] == ["failed", "broken", "trails"]
    changed("as the rules say")
    verify()
    assert metric(client, "baccarat_trail_whole") == 1
    assert client.get("/health/night/").json()["chains"] == "whole"
    assert nightly(venue).attention == before.attention


@pytest.mark.django_db
def test_it_is_of_its_own_house_alone(client: Client, house: House, people: People) -> None:
    hill = Venue.objects.create(code="HILL", name="Hill House", time_zone="Asia/Bangkok")
    changed()
    verify_tables()
    assert walks.broken_names([hill, house.table.venue]) == {hill.pk: (), house.table.venue.pk: (TRAIL,)}
    client.force_login(people("manager"))
    user = people("manager")
    user.staff_member.venue = hill
    user.staff_member.save()
    assert "not what was written" not in words(client.get("/reports/status/"))
    # What guards the rows guards those of all.
    TrailWalk.objects.filter(name="the database").update(
        count=1, problems=[["the database", None, "nothing guards its rows: some is missing or disabled"]]
    )
    assert "Hill House: incidents, reports or signed heads are not what was written: Database." in words(
        client.get("/reports/status/")
    )


@pytest.mark.django_db
def test_a_walk_that_looks_at_less_leaves_what_was_found(house: House, people: People, table: MakeTable) -> None:
    table("B08")
    out = io.BytesIO()
    Image.new("RGB", (2, 2)).save(out, "PNG")
    do_attach_file(house.incident(), people("supervisor"), SimpleUploadedFile("felt.png", out.getvalue()), "The felt")
    genuine = heads.sign(house.table.venue).signature
    (attachments.folder() / IncidentAttachment.objects.get().stored).write_bytes(b"another")
    changed()
    sql("UPDATE trail_signedhead SET signature = 'AAAA'")
    verify()
    found = {TRAIL: 1, FILES: 1, HEADS: 1}

    def kept() -> dict[str, int]:
        return {name: TrailWalk.objects.get(name=name).count for name in found}

    assert kept() == found
    verify_tables()  # reads no files
    assert kept() == found
    changed("as the rules say")
    sql(f"UPDATE trail_signedhead SET signature = '{genuine}'")
    verify("B07", "--chain-only", "--no-files")
    assert kept() == found
    verify("B07", "--no-files")  # not all that the heads of the house speak of
    assert kept() == found | {TRAIL: 0}
    verify("--no-files")
    assert kept() == {TRAIL: 0, FILES: 1, HEADS: 0}


@pytest.mark.django_db
def test_who_cannot_check_all_clears_nobody(house: House) -> None:
    heads.sign(house.table.venue)
    sql("UPDATE trail_signedhead SET signature = 'AAAA'")
    verify()
    assert count_of(HEADS) == 1
    for path in Path(project.KEYS_DIR).iterdir():
        path.unlink()
    verify()
    assert count_of(HEADS) == 1


@pytest.mark.django_db
def test_more_is_counted_than_is_kept(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incidents.trail.walks.KEPT", 1)
    changed()
    sql("UPDATE incidents_incident SET ruleset = 'studio'")
    verify()
    walk = TrailWalk.objects.get(name=TRAIL)
    assert (walk.count, len(walk.problems)) == (2, 1)


@pytest.mark.django_db
def test_a_walk_along_the_chain_alone_does_not_clear_a_log(house: House) -> None:
    sql("UPDATE dealing_tableevent SET seal = (SELECT seal FROM dealing_tableevent WHERE seq = 3) WHERE seq = 2")
    verify()
    assert ChainWalk.objects.get().problem
    verify("--chain-only")
    assert ChainWalk.objects.get().problem


# Words.


def sentences() -> Iterator[str]:
    """What checks and the closer look say, with each value in it as one that there can be."""
    values = {
        "name": "incident 7 (7)",
        "_NAMES[kind]": "decision",
        "which": "the signed heads 7 of 2026-11-30",
        "said[top][1]": "the signed heads 7 of 2026-11-30",
        "upto": "; up to position 7 it is as it was signed",
        "path": "/keep/7.txt",
        "where": "/keep/7.txt",
        "', '.join(changed)": "reason, rulings",
        "why": "it has no seal",
        "first.text": "was inserted: its seal is not genuine",
        "last.problem": "its signature is not genuine",
    }
    wanted = {"_say", "Broken", "Trace", "append"}
    for module in (checking, tampering, seals):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            of_a_call = (
                isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in wanted
            )
            of_a_name = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("text", "problem")
            returned = isinstance(node, ast.Return)
            if not (of_a_call or of_a_name or returned):
                continue
            inner: set[int] = set()
            for one in ast.walk(node):
                if isinstance(one, ast.JoinedStr):
                    inner |= {id(part) for value in one.values for part in ast.walk(value)}
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else values.get(ast.unparse(part.value), "7")  # type: ignore[attr-defined]
                        for part in one.values
                    )
                elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in inner:
                    yield one.value


#: Parts of sentences, those of reports (below), and what is said of a file that somebody brings, which is not kept.
NO_SENTENCE = (
    "after ",
    "before ",
    "between ",
    " (",
    "incident 7 (7) has other",
    "incident 7 (7) is not",
    "there is no house",
)
SENTENCES = sorted(
    {one for one in sentences() if one.count(" ") > 1 and not one.startswith(NO_SENTENCE)}
    | {
        "the nightly report of 2026-11-30, revision 7, is not there any more",
        "the monthly report of 2026-11-01, revision 7, has other figures than were signed",
        "is missing: it stood between what are now positions 7 and 8",
        "was replaced, and has no seal (it was position 7)",
    }
)


def test_there_are_sentences() -> None:
    assert len(SENTENCES) > 30


@pytest.mark.parametrize("said", SENTENCES)
def test_every_problem_of_a_trail_is_said_in_thai(said: str) -> None:
    with translation.override("th"):
        told = trail_words.words(said)
        assert told != said
        told = re.sub(r"/keep/\S+", "", told)
        assert not ENGLISH.search(told), told
    with translation.override("en"):
        told = trail_words.words(said)
        assert told != said
        assert told.endswith((".", ").")), told


def test_what_it_is_wrong_with_has_a_name() -> None:
    names = [TRAIL, FILES, HEADS, "trail of house RIVER", "the database", "B07"]
    with translation.override("en"):
        assert [trail_words.where(one) for one in names] == [
            *("Incidents of B07", "Files of B07", "Signed heads of RIVER", "Reports of RIVER", "Database", "B07"),
        ]
        assert trail_words.position(HEADS, 3) == "number 3"
        assert trail_words.position(TRAIL, 3) == "entry 3"
        assert trail_words.position(TRAIL, None) == ""

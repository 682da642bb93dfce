"""The pages that read a spreadsheet in: who may, each step, and what is kept between two of them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dealing.log import record_many
from dealing.models import Hand, Shoe, Table, TableEvent, Venue
from dealing.sheets import kept, reading, views
from incidents.models import Incident
from tests.conftest import MakeTable, People
from tests.sheets import csv_of, simulated_hands, xlsx_of
from tests.table_logs import Lines
from tests.test_sheets import by_place, dealt

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

FILLED = {
    "cards": "suits", "dates": "dmy", "table": "b07", "shoe": "", "date": "2024-03-01", "start": "20:00",
    "seconds": "60", "ruleset": "", "decks": "",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Any) -> None:
    settings.VAR_DIR = tmp_path


class Person:
    """Somebody at the pages."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.token = ""

    def send(self, data: bytes, name: str = "march.csv") -> Any:
        answer = self.client.post(reverse("sheets:start"), {"file": SimpleUploadedFile(name, data)})
        if answer.status_code == 302:
            self.token = answer["Location"].rstrip("/").rpartition("/")[2]
        return answer

    def page(self, step: str = "columns", language: str = "en") -> str:
        answer = self.client.get(
            reverse(f"sheets:{step}", args=(self.token,)), HTTP_ACCEPT_LANGUAGE=language, follow=True
        )
        assert answer.status_code == 200
        return str(answer.content.decode())

    def say(self, columns: dict[int, str], **said: Any) -> Any:
        filled = FILLED | {f"column-{at}": name for at, name in columns.items()} | said
        return self.client.post(reverse("sheets:columns", args=(self.token,)), filled)

    def store(self, **said: Any) -> str:
        answer = self.client.post(reverse("sheets:store", args=(self.token,)), said, follow=True)
        assert answer.status_code == 200
        return str(answer.content.decode())


@pytest.fixture
def person(people: People) -> Any:
    def enter(group: str = "supervisor", name: str | None = None) -> Person:
        client = Client()
        client.force_login(people(group, name))
        return Person(client)

    return enter


BY_PLACE = dict(enumerate(["hand", "P1", "P2", "P3", "B1", "B2", "B3", "outcome", "player_total", "banker_total"]))
ROWS: list[list[Any]] = [
    ["Hand", "P1", "P2", "P3", "B1", "B2", "B3", "Result", "P total", "B total"],
    [1, "9h", "3d", "Kd", "4s", "2c", "", "B", 2, 6],
    [2, "9s", "Kh", "Kd", "4h", "2d", "", "P", 9, 6],
    [3, "9x", "Kh", "", "4h", "2d", "", "P", 9, 6],
]


def test_only_supervisors_and_managers_may(person: Any, people: People) -> None:
    for group, status in (("recorder", 403), ("auditor", 403), ("supervisor", 200), ("manager", 200)):
        assert person(group).client.get(reverse("sheets:start")).status_code == status
        seen = person(group).client.get(reverse("console:tables")).content.decode()
        assert (reverse("sheets:start") in seen) == (status == 200)
    assert Client().get(reverse("sheets:start")).status_code == 302


def test_step_by_step_into_the_log(person: Any, table: MakeTable) -> None:
    table("B07")
    one = person()
    assert one.send(csv_of(ROWS)).status_code == 302
    seen = one.page()
    assert 'value="P1" selected' in seen
    assert 'value="banker_total" selected' in seen
    answer = one.say(BY_PLACE)
    assert answer.status_code == 302
    assert not TableEvent.objects.exists(), "nothing is stored before somebody has looked"
    seen = one.page("preview")
    assert "Card drawn when none was due" in seen
    assert "Player, third card: Kd is perhaps left over from row 2" in seen
    assert "Player, first card: “9x” is not a card" in seen
    assert "1 row cannot be read and is left out" in seen
    assert "The first shoe gets the number 1." in seen
    assert "Store 2 hands" in seen
    thai = one.page("preview", "th")
    assert "Player, first card" not in thai
    assert "“9x” ไม่ใช่ไพ่" in thai or "9x" in thai
    done = one.store()
    assert "2 hands are stored." in done
    assert reverse("console:shoe", args=("B07", 1)) in done
    assert Hand.objects.count() == 2
    assert Incident.objects.get().hand_number == 2
    assert set(TableEvent.objects.values_list("actor", "by")) == {("supervisor", "sheet:cards:march.csv")}
    assert "2 hands are stored." in one.store(), "a second press stores nothing and says what the first did"
    assert Hand.objects.count() == 2


def test_the_same_file_again_is_recognised_though_nobody_says_the_number(person: Any, table: MakeTable) -> None:
    table("B07")
    for said in ("2 hands are stored.", "2 were stored before, just as they are here."):
        one = person()
        one.send(csv_of(ROWS))
        one.say(BY_PLACE)
        assert said in one.store()
    assert Shoe.objects.count() == 1
    other = person()
    other.send(csv_of(ROWS), "april.csv")
    other.say(BY_PLACE, date="2024-04-01")
    assert "The first shoe gets the number 2." in other.page("preview")


def test_the_order_of_dealing_is_a_choice_that_has_to_be_made(person: Any, table: MakeTable) -> None:
    table("B07")
    one = person()
    one.send(xlsx_of(dealt("ppbb")(simulated_hands(3, 12))), "a.xlsx")
    names = ["hand", *(f"card{n}" for n in range(1, 7)), "outcome", "player_total", "banker_total"]
    columns = dict(enumerate(names))
    assert "checked" not in one.page().split('name="order"')[1].split(">")[0]
    answer = one.say(columns)
    assert answer.status_code == 422
    assert "Say in which order the cards were dealt." in answer.content.decode()
    assert one.say(columns, order="ppbb").status_code == 302
    assert "Nothing is wrong with any row." in one.page("preview")


def test_outcomes_in_figures_are_asked_for(person: Any, table: MakeTable) -> None:
    table("B07")
    rows = [[*row] for row in by_place(simulated_hands(4, 15))]
    rows[0][7] = "Code"
    for row in rows[1:]:
        row[7] = {"P": 1, "B": 2, "T": 3}[row[7]]
    one = person()
    one.send(csv_of(rows))
    assert 'name="outcome-0"' not in one.page()
    answer = one.say(BY_PLACE)
    assert answer.status_code == 422
    seen = answer.content.decode()
    assert "Say what each word of the outcome column means." in seen
    said: dict[str, str] = {}
    for number in range(3):
        word = seen.split(f'name="outcome-{number}-word" value="')[1].split('"')[0]
        said |= {f"outcome-{number}-word": word, f"outcome-{number}": {"1": "player", "2": "banker", "3": "tie"}[word]}
        if f'name="outcome-{number + 1}-word"' not in seen:
            break
    assert one.say(BY_PLACE, **said).status_code == 302
    assert "Nothing is wrong with any row." in one.page("preview")


@pytest.mark.parametrize(
    ("columns", "said", "error"),
    [
        ({}, {}, "Say in which columns the cards are."),
        ({1: "P1", 2: "P1"}, {}, "Two columns are said to hold the same: Player, first card."),
        ({1: "P1", 2: "P2", 4: "B1"}, {}, "Say which column holds this: Banker, second card."),
        (BY_PLACE, {"table": ""}, "has to be filled in: table"),
        (BY_PLACE, {"table": "b_7!"}, "Use 1 to 16 of the characters"),
        (BY_PLACE, {"date": ""}, "has to be filled in: date"),
        (BY_PLACE, {"date": "1.3.24"}, "Write this day as"),
        (BY_PLACE, {"start": ""}, "has to be filled in: time of the first hand"),
        (BY_PLACE, {"start": "eight"}, "Write this time as"),
        (BY_PLACE, {"seconds": "-1"}, "greater than or equal to 0"),
        (BY_PLACE, {"cards": "blue"}, "Choose one from the list."),
        (BY_PLACE, {"column-0": "colour"}, "Choose one from the list."),
        (BY_PLACE, {"ruleset": "house"}, "Choose one from the list."),
    ],
)
def test_what_is_wrong_is_said_where_it_is(
    person: Any, table: MakeTable, columns: dict[int, str], said: dict[str, str], error: str
) -> None:
    table("B07")
    one = person()
    one.send(csv_of(ROWS))
    answer = one.say(columns, **said)
    assert answer.status_code == 422
    assert error in answer.content.decode()


def test_sheets_heads_and_characters_can_be_chosen_anew(person: Any, table: MakeTable) -> None:
    table("B07")
    one = person()
    one.send(xlsx_of(ROWS, March=[["March"], [], *ROWS]), "book.xlsx")
    again = reverse("sheets:columns", args=(one.token,))
    assert one.client.post(again, {"again": "1", "sheet": "March", "head_row": "1"}).status_code == 302
    seen = one.page()
    assert "book.xlsx" in seen
    assert 'name="head_row" value="3"' in seen
    assert one.client.post(again, {"again": "1", "sheet": "March", "head_row": "0"}).status_code == 302
    assert 'name="head_row" value="0"' in one.page()
    assert one.client.post(again, {"again": "1", "sheet": "April", "head_row": "1"}).status_code == 422
    answer = one.client.post(again, {"again": "1", "sheet": "March", "head_row": "900"})
    assert answer.status_code == 422
    assert "The sheet has no rows." in answer.content.decode()
    thai = person()
    thai.send("โต๊ะ;ผู้เล่น;เจ้ามือ\nB07;9h 3d Kd;4s 2c\n".encode("cp874"))
    assert 'value="cp874" selected' in thai.page()
    again = reverse("sheets:columns", args=(thai.token,))
    answer = thai.client.post(again, {"again": "1", "encoding": "utf-8", "separator": "comma", "head_row": "1"})
    assert "The characters of the file are not utf-8." in answer.content.decode()


@pytest.mark.parametrize(
    ("data", "name", "error"),
    [
        (b"", "a.csv", "The file is empty."),
        (b"%PDF", "a.pdf", "no kind of file that is read here"),
        (b"PK\x03\x04", "a.xlsx", "not a readable .xlsx file"),
        (b"[{]", "a.json", "This is no JSON"),
        (csv_of([["Player", "Banker"], *[["9h", "3d"]] * 5]), "a.csv", "more than 3 rows"),
        (b"Player,Banker\n" + b"x" * 2**20, "a.csv", "larger than 1 MB"),
        (b"Player,Banker\n9h,3d", "x" * 201 + ".csv", "The name of the file is too long."),
    ],
)
def test_files_that_cannot_be_read_are_refused_at_once(
    person: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes, name: str, error: str
) -> None:
    monkeypatch.setattr(views, "ROWS", 3)
    monkeypatch.setattr(views, "MEGABYTES", 1)
    monkeypatch.setattr(reading, "MEGABYTES", 1)
    answer = person().send(data, name)
    assert answer.status_code == 422
    assert error in answer.content.decode()
    assert not list(tmp_path.glob("sheets/*"))


def test_no_file_and_no_room(person: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = person()
    assert "Choose a file." in one.client.post(reverse("sheets:start"), {}).content.decode()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept, "_write", full)
    answer = one.send(csv_of(ROWS))
    assert "there is no room on the server" in answer.content.decode()


# Tables.


def test_a_manager_makes_tables_and_a_supervisor_does_not(person: Any, venue: Venue) -> None:
    one = person("supervisor")
    one.send(csv_of(ROWS))
    one.say(BY_PLACE)
    seen = one.page("preview")
    assert "A manager can make them" in seen
    assert "Store 2 hands" not in seen
    assert "these tables are not there: B07" in one.store(make="1")
    assert not Table.objects.exists()
    manager = person("manager")
    manager.send(csv_of(ROWS))
    manager.say(BY_PLACE, ruleset="insurance")
    assert "Make these tables, which are not there: B07" in manager.page("preview")
    assert "these tables are not there: B07" in manager.store()
    assert "Tables made: B07" in manager.store(make="1")
    made = Table.objects.get()
    assert (made.venue, made.ruleset) == (venue, "insurance")


def test_tables_of_another_house_cannot_be_used(person: Any) -> None:
    other = Venue.objects.create(code="HILL", name="Hill House")
    Table.objects.create(code="B07", venue=other, ruleset="standard")
    manager = person("manager")
    manager.send(csv_of(ROWS))
    manager.say(BY_PLACE)
    seen = manager.page("preview")
    assert "These codes cannot be used here: B07" in seen
    assert "Store 2 hands" not in seen
    assert "these tables are not there: B07" in manager.store(make="1")
    assert not TableEvent.objects.exists()


def test_hands_from_before_what_is_recorded_are_told_of_before_and_after(person: Any, table: MakeTable) -> None:
    table("B07")
    lines = Lines("B07")
    record_many([*lines.open(), *lines.hand(1)], actor="test")
    one = person()
    one.send(csv_of(ROWS))
    one.say(BY_PLACE)
    assert "hands from before cannot be added to it" in one.page("preview")
    seen = one.store()
    assert "0 hands are stored." in seen
    assert "The log of B07 goes to" in seen.partition("Refused")[2]


# What is kept between the steps.


def test_a_sheet_is_its_persons_alone_and_is_forgotten(person: Any, tmp_path: Path) -> None:
    mine = person("supervisor", "anan")
    mine.send(csv_of(ROWS))
    folder = tmp_path / "sheets" / mine.token
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert "march.csv" in mine.client.get(reverse("sheets:start")).content.decode()
    other = person("manager", "malee")
    for step in ("columns", "preview", "done"):
        assert other.client.get(reverse(f"sheets:{step}", args=(mine.token,))).status_code == 404
    for step in ("columns", "store", "discard"):
        assert other.client.post(reverse(f"sheets:{step}", args=(mine.token,))).status_code == 404
    assert "march.csv" not in other.client.get(reverse("sheets:start")).content.decode()
    for token in ("..", "x" * 32, "../../etc", "0" * 32):
        assert mine.client.get(f"/sheets/{token}/").status_code == 404
    old = time.time() - kept.LIFE - 60
    os.utime(folder, (old, old))
    assert mine.client.get(reverse("sheets:columns", args=(mine.token,))).status_code == 404
    other.send(csv_of(ROWS))
    assert not folder.exists(), "swept with the next upload"
    assert other.client.post(reverse("sheets:discard", args=(other.token,))).status_code == 302
    assert not list((tmp_path / "sheets").iterdir())


def test_a_person_keeps_the_newest_few(person: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    one = person()
    for number in range(5):
        one.send(csv_of(ROWS), f"{number}.csv")
        os.utime(tmp_path / "sheets" / one.token, (time.time() - 100 + number,) * 2)
    assert len(list((tmp_path / "sheets").iterdir())) == 3
    assert [
        sheet.name
        for sheet in kept.of_person(
            one.client.session.get("_auth_user_id") and int(one.client.session["_auth_user_id"])
        )
    ] == ["4.csv", "3.csv", "2.csv"]


def test_steps_that_were_left_out_lead_back(person: Any, table: MakeTable) -> None:
    table("B07")
    one = person()
    one.send(csv_of(ROWS))
    for step in ("preview", "done"):
        assert "What each column holds" in one.page(step)
    assert one.client.post(reverse("sheets:store", args=(one.token,))).status_code == 302
    assert not TableEvent.objects.exists()
    for step in ("store", "discard"):
        answer = one.client.get(reverse(f"sheets:{step}", args=(one.token,)))
        assert answer["Location"] == reverse("sheets:columns", args=(one.token,))
    for step in ("state.json", "file"):
        (kept._root() / one.token / step).write_bytes(b"broken")
        assert one.client.get(reverse("sheets:columns", args=(one.token,))).status_code == 404


def test_a_session_that_is_over_leads_back_to_the_step(person: Any, table: MakeTable, people: People) -> None:
    table("B07")
    one = person()
    one.send(csv_of(ROWS))
    one.say(BY_PLACE)
    store = reverse("sheets:store", args=(one.token,))
    assert Client().post(store)["Location"] == f"{reverse('login')}?next={store}"
    answer = one.client.get(store)
    assert answer["Location"] == reverse("sheets:preview", args=(one.token,))
    one.store()
    assert one.client.get(store)["Location"] == reverse("sheets:done", args=(one.token,))
    seen = one.page("preview")
    assert "This sheet is stored already." in seen
    assert f'href="{reverse("sheets:done", args=(one.token,))}"' in seen
    assert f'action="{store}"' not in seen


def test_what_is_wrong_stands_before_the_first_rows_and_says_the_totals(person: Any, table: MakeTable) -> None:
    table("B07")
    one = person()
    rows = [*ROWS[:1], [1, "9s", "Kh", "", "4h", "2d", "", "P", 3, 0], [2, *[""] * 9], ["Total", *[""] * 7, 40, 30]]
    one.send(csv_of(rows))
    one.say(BY_PLACE)
    seen = one.page("preview")
    places = [seen.index(text) for text in ("store-head", "Rows with something wrong", "The first rows", "#store-head")]
    assert places == sorted(places)
    assert "the sheet says Player wins, 3 : 0, the cards make Player wins, 9 : 6" in " ".join(seen.split())
    assert "1 row without cards is no hand." in seen
    assert "No hand: a total row?" in seen
    thai = " ".join(one.page("preview", "th").split())
    assert "ตารางระบุ" in thai
    assert "3 : 0" in thai
    assert "แถวผลรวม" in thai


def test_what_storing_will_refuse_is_said_on_the_page(person: Any, table: MakeTable) -> None:
    table("B07")
    for n in range(2):
        one = person()
        rows = [ROWS[0], [1, "9s", "Kh", "", "4h", "2d", "", "P", 9, 6], [2, "9s", "Kh", "", "4h", "2d", "", "P", 9, 6]]
        if n:
            rows = [rows[0], [1, "8s", "Kh", "", "4h", "2d", "", "P", 8, 6], rows[2], [3, *rows[2][1:]]]
        one.send(csv_of(rows))
        one.say(BY_PLACE)
        seen = one.page("preview")
        assert ("What storing will refuse" in seen) == bool(n)
        assert ("ในบันทึกเป็นอย่างอื่น" in one.page("preview", "th")) == bool(n)
        done = one.store()
    said = "B07, shoe 1, hand 1: the log has it otherwise: Player, first card is 9s in the log, 8s in the sheet"
    for page in (seen, done):
        assert said in page
        assert "Shoe 1 of B07 is closed in the log" in page
    assert "A sheet that grows is stored with" in seen
    assert "Store 3 hands" in seen
    last = person()
    last.send(csv_of([rows[0], rows[1]]))
    last.say(BY_PLACE)
    assert "None of the hands can be stored." in last.page("preview")
    assert "Store 1 hand" not in last.page("preview")


def test_a_table_that_a_sheet_makes_is_no_tile_of_the_pit(person: Any, table: MakeTable) -> None:
    table("B07")
    one = person("manager")
    one.send(csv_of(ROWS))
    one.say(BY_PLACE, table="OLD-1")
    assert "They are made not in use" in one.page("preview")
    one.store(make="1")
    assert not Table.objects.get(code="OLD-1").is_active
    assert Incident.objects.get().table.code == "OLD-1"
    pit = one.client.get(reverse("console:tables")).content.decode()
    assert "tile-B07" in pit
    assert "OLD-1" not in pit
    assert one.client.get(reverse("console:shoe", args=("OLD-1", 1))).status_code == 200
    assert "OLD-1" in one.client.get(reverse("incidents:queue") + "?status=all").content.decode()


def test_a_page_with_marked_fields_leads_to_the_first(person: Any, table: MakeTable) -> None:
    made = table("B07")
    one = person()
    one.send(csv_of(ROWS))
    answer = one.say(BY_PLACE, table="b 0 7!", date="")
    assert answer.status_code == 422
    assert 'href="#id_table"' in answer.content.decode()
    Table.objects.filter(pk=made.pk).update(ruleset="")
    answer = one.say(BY_PLACE)
    assert answer.status_code == 422
    seen = answer.content.decode()
    assert "is not a ruleset here" in seen
    assert 'href="#id_ruleset"' in seen
    assert one.say(BY_PLACE, ruleset="commission").status_code == 302


def test_rows_that_were_not_read_are_told(person: Any, table: MakeTable) -> None:
    table("B07")
    one = person()
    one.send(csv_of(ROWS) + b"\r\n" * 1005 + b"9,9h")
    one.say(BY_PLACE)
    assert "After row 4 come a thousand empty rows: what lies below is not read." in one.page("preview")


@pytest.mark.parametrize(("tables", "said"), [(12, ""), (13, "and 1 more table"), (15, "and 3 more tables")])
def test_the_banner_of_the_pit_says_how_many_more_tables_wait(venue: Venue, tables: int, said: str) -> None:
    waiting = SimpleNamespace(pk=1, since=timezone.now())
    tiles = [SimpleNamespace(table=Table(code=f"B{n}", venue=venue), waiting=waiting) for n in range(tables)]
    seen = render_to_string("pit/banner.html", {"board": SimpleNamespace(needing=tiles)})
    assert seen.count("<li>") == 12
    assert (said in seen) if said else ("more table" not in seen)

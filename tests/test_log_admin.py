"""The admin is for master data; the log and what is made from it can only be looked at."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dealing.log import record_many
from dealing.models import Hand, Shoe, StaffMember, Table, TableEvent, Venue
from dealing.rules.rulesets import ruleset_names
from tests.conftest import MakeTable, People
from tests.table_logs import Lines

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("boss"))
    return client


@pytest.fixture
def log(table: MakeTable) -> None:
    table("B07")
    lines = Lines()
    record_many([*lines.open(), *lines.hand(1)], actor="somchai")


@pytest.mark.parametrize("model", [TableEvent, Shoe, Hand])
def test_nobody_changes_the_log_there(
    boss: Client, log: None, model: type[TableEvent] | type[Shoe] | type[Hand]
) -> None:
    name = f"admin:dealing_{model._meta.model_name}"
    row = model.objects.first()
    assert row is not None
    assert boss.get(reverse(f"{name}_changelist")).status_code == 200
    page = boss.get(reverse(f"{name}_change", args=[row.pk]))
    assert page.status_code == 200
    assert b'name="_save"' not in page.content
    before = list(model.objects.values())
    assert boss.get(reverse(f"{name}_add")).status_code == 403
    assert boss.post(reverse(f"{name}_add"), {}).status_code == 403
    assert boss.post(reverse(f"{name}_change", args=[row.pk]), {"actor": "x"}).status_code == 403
    assert boss.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    boss.post(reverse(f"{name}_changelist"), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert list(model.objects.values()) == before


def test_it_is_the_products_own_and_in_the_language_that_is_chosen(boss: Client) -> None:
    page = boss.get("/admin/").content.decode()
    assert "<title>Master data | Baccarat audit</title>" in page
    assert "Django" not in page
    assert 'rel="icon"' in page
    assert boss.post("/language/", {"language": "th", "next": "/admin/"})["Location"] == "/admin/"
    page = boss.get("/admin/").content.decode()
    assert '<html lang="th"' in page
    assert 'value="en" lang="en"' in page
    assert "จำนวนตา" not in page, "hands, not their number"
    assert "ดู:" not in page


#: What the forms of a table's limits send along.
LIMITS = {"insurance_seconds": 15, "limits-TOTAL_FORMS": 0, "limits-INITIAL_FORMS": 0}
#: And those of a person's subscription.
NO_MAILS = {"report_subscription-TOTAL_FORMS": 0, "report_subscription-INITIAL_FORMS": 0}


def test_master_data_is_kept_there(boss: Client, people: People) -> None:
    house = {"code": "LAKE", "name": "Lake House", "time_zone": "Asia/Bangkok", "day_starts": 6}
    boss.post(reverse("admin:dealing_venue_add"), house)
    venue = Venue.objects.get(code="LAKE")
    boss.post(
        reverse("admin:dealing_table_add"),
        {"code": "L01", "venue": venue.pk, "ruleset": "standard", "decks": 8, "is_active": "on", **LIMITS},
    )
    assert Table.objects.get(code="L01").venue == venue
    user = User.objects.create_user("nok")
    member = {"user": user.pk, "code": "N1", "venue": venue.pk}
    boss.post(reverse("admin:dealing_staffmember_add"), member | NO_MAILS)
    assert StaffMember.objects.get(code="N1").user == user


def test_limits_are_kept_with_the_table(boss: Client, venue: Venue) -> None:
    add, data = (
        reverse("admin:dealing_table_add"),
        {"code": "L02", "venue": venue.pk, "ruleset": "standard", "decks": 8},
    )
    limit = {"limits-0-bet": "tie", "limits-0-minimum": "100", "limits-0-maximum": "50"}
    page = boss.post(add, data | LIMITS | {"limits-TOTAL_FORMS": 1} | limit)
    assert "The most is less than the least." in page.content.decode()
    assert not Table.objects.filter(code="L02").exists()
    boss.post(add, data | LIMITS | {"limits-TOTAL_FORMS": 1} | limit | {"limits-0-maximum": "5000"})
    kept = Table.objects.get(code="L02").limits.get()
    assert (kept.bet, kept.minimum, kept.maximum) == ("tie", Decimal(100), Decimal(5000))


@pytest.mark.parametrize(
    ("field", "value"),
    [("code", "b 7"), ("ruleset", "nobody's"), ("decks", 0), ("decks", 17)],
)
def test_bad_master_data_is_refused(boss: Client, venue: Venue, field: str, value: object) -> None:
    data = {"code": "L01", "venue": venue.pk, "ruleset": "standard", "decks": 8, **LIMITS, field: value}
    page = boss.post(reverse("admin:dealing_table_add"), data)
    assert page.status_code == 200
    assert field in page.context["adminform"].form.errors
    assert not Table.objects.exists()


def test_a_house_needs_a_time_zone_that_is_one(boss: Client) -> None:
    house = {"code": "LAKE", "name": "Lake House", "time_zone": "Mars/Olympus", "day_starts": 24}
    page = boss.post(reverse("admin:dealing_venue_add"), house)
    assert set(page.context["adminform"].form.errors) == {"time_zone", "day_starts"}


def test_the_head_of_a_log_is_left_alone(boss: Client, log: None) -> None:
    """A form shown before the last event was recorded writes only what was changed in it, and never the code."""
    table = Table.objects.get()
    data = {"code": "B99", "name": "By the door", "venue": table.venue_id, "ruleset": "standard", "decks": 8, **LIMITS}
    boss.post(reverse("admin:dealing_table_change", args=[table.pk]), {**data, "last_seq": 3})
    after = Table.objects.get()
    assert (after.name, after.ruleset, after.code) == ("By the door", "standard", "B07")
    assert (after.last_seq, after.last_hash, after.last_at) == (table.last_seq, table.last_hash, table.last_at)


def test_a_tables_ruleset_is_one_of_the_installed(boss: Client, table: MakeTable) -> None:
    made = table("B09", ruleset="insurance")
    page = boss.get(reverse("admin:dealing_table_change", args=[made.pk])).content.decode()
    assert '<option value="insurance" selected>' in page
    shown = page.partition('name="ruleset"')[2].partition("</select>")[0]
    assert set(re.findall('option value="([a-z-]+)"', shown)) == set(ruleset_names())


def test_nobody_is_deleted(boss: Client, people: People) -> None:
    left = people("recorder", "somchai")
    assert boss.get(reverse("admin:auth_user_change", args=[left.pk])).status_code == 200
    assert boss.post(reverse("admin:auth_user_delete", args=[left.pk]), {"post": "yes"}).status_code == 403
    boss.post(
        reverse("admin:auth_user_changelist"),
        {"action": "delete_selected", "_selected_action": [left.pk], "post": "yes"},
    )
    assert User.objects.filter(pk=left.pk).exists()


def test_shifts_are_put_right_on_the_pages_alone(boss: Client) -> None:
    assert boss.get(reverse("admin:dealing_dealershift_changelist")).status_code == 200
    assert boss.get(reverse("admin:dealing_dealershift_add")).status_code == 403

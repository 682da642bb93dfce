"""Wrong passwords lock, and whom they do not lock."""

from __future__ import annotations

import datetime as dt
from io import StringIO
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client, RequestFactory
from django.utils import timezone

from dealing.accounts import limits
from dealing.accounts.addresses import address_of
from dealing.accounts.models import SecurityEvent
from tests.conftest import PASSWORD, People

pytestmark = pytest.mark.django_db


def try_in(name: str, password: str, address: str = "10.0.0.7", **extra: Any) -> Any:
    """Somebody at an address, on a browser of their own."""
    return Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password, **extra})


def lock(name: str, address: str = "10.0.0.7") -> Any:
    for _ in range(limits.PAIR):
        answer = try_in(name, "wrong", address)
    return answer


def kinds(person: str) -> list[str]:
    return list(SecurityEvent.objects.filter(person=person).order_by("pk").values_list("kind", flat=True))


def test_five_wrong_ones_lock_the_name_at_the_address_even_for_the_right_one(people: People) -> None:
    people("recorder")
    for _ in range(limits.PAIR - 1):
        assert try_in("recorder", "wrong").status_code == 200
    page = try_in("recorder", "wrong")
    assert page.status_code == 429
    assert "Try again in 15 minutes." in page.content.decode()
    assert int(page["Retry-After"]) == 15 * 60
    assert try_in("recorder", PASSWORD).status_code == 429
    # Elsewhere, and somebody else here, go on.
    assert try_in("recorder", PASSWORD, "10.0.0.8").status_code == 302
    people("supervisor")
    assert try_in("supervisor", PASSWORD).status_code == 302


def test_a_right_one_in_between_forgets_the_wrong_ones(people: People) -> None:
    people("recorder")
    for _ in range(3):
        for _ in range(limits.PAIR - 1):
            try_in("recorder", "wrong")
        assert try_in("recorder", PASSWORD).status_code == 302


def test_a_lock_ends_and_is_not_drawn_out_by_trying(people: People) -> None:
    people("recorder")
    lock("recorder")
    AccessAttempt.objects.update(attempt_time=timezone.now() - dt.timedelta(minutes=10))
    page = try_in("recorder", PASSWORD)
    assert "Try again in 5 minutes." in page.content.decode()
    AccessAttempt.objects.update(attempt_time=timezone.now() - dt.timedelta(minutes=15, seconds=1))
    assert try_in("recorder", PASSWORD).status_code == 302


def test_a_name_that_nobody_has_is_locked_alike_in_both_languages(people: People) -> None:
    people("recorder")
    pages = [lock(name).content.decode().replace(name, "NAME") for name in ("recorder", "nobody")]
    assert pages[0].split("<main")[1] == pages[1].split("<main")[1]
    client = Client(REMOTE_ADDR="10.0.0.7")
    client.cookies["django_language"] = "th"
    page = client.post("/login/", {"username": "recorder", "password": "wrong"}).content.decode()
    assert "ลองใหม่ได้ในอีก 15 นาที" in page
    assert "Too many" not in page


def test_browsers_are_counted_together(people: People) -> None:
    people("recorder")
    for n in range(limits.PAIR):
        answer = try_in("recorder", "wrong", HTTP_USER_AGENT=f"browser {n}")
    assert answer.status_code == 429


def test_one_name_from_many_addresses_is_locked_but_not_where_its_owner_works(people: People) -> None:
    people("recorder")
    assert try_in("recorder", PASSWORD, "10.0.0.1").status_code == 302
    for n in range(limits.NAME):
        try_in("recorder", "wrong", f"192.0.2.{n + 1}")
    assert try_in("recorder", PASSWORD, "198.51.100.9").status_code == 429
    # A wrong one at the known address looks the same, so that nobody learns which address is known.
    assert try_in("recorder", "wrong", "10.0.0.1").status_code == 429
    assert try_in("recorder", PASSWORD, "10.0.0.1").status_code == 302


def test_one_tablet_does_not_lock_out_a_floor_and_a_sprayer_gets_nowhere(people: People) -> None:
    people("recorder")
    people("supervisor")
    assert try_in("recorder", PASSWORD).status_code == 302
    for n in range(limits.ADDRESS):
        try_in(f"guess{n}", "wrong")
    assert try_in("supervisor", PASSWORD).status_code == 429  # never logged in from here
    assert try_in("recorder", PASSWORD).status_code == 302


def test_the_admin_has_no_other_door(people: People) -> None:
    User.objects.create_superuser("root", password=PASSWORD)
    lock("root")
    client = Client(REMOTE_ADDR="10.0.0.7")
    answer = client.post("/admin/login/?next=/admin/", {"username": "root", "password": PASSWORD}, follow=True)
    assert answer.redirect_chain[0][0].startswith("/login/")
    assert client.get("/admin/").status_code == 302


def test_what_was_tried_is_written_down_without_what_was_typed(people: People) -> None:
    people("recorder")
    lock("recorder")
    try_in("recorder", "wrong")  # while it is locked: not written again
    made = kinds("recorder")
    assert made[-5:] == [*["wrong password"] * (limits.PAIR - 1), "locked"]
    try_in("my secret password", "wrong")
    last = SecurityEvent.objects.latest("pk")
    assert (last.kind, last.person, last.address) == ("wrong password", "", "10.0.0.7")


def test_a_command_unlocks(people: People) -> None:
    people("recorder")
    people(None, "kanya")
    lock("recorder")
    out = StringIO()
    with pytest.raises(CommandError, match="--by: nobody is called “nobody”"):
        call_command("unlock", "recorder", "--by", "nobody")
    call_command("unlock", "recorder", "--by", "kanya", stdout=out)
    assert "may try again now" in out.getvalue()
    assert try_in("recorder", PASSWORD).status_code == 302
    assert SecurityEvent.objects.get(kind="unlocked").by == "kanya"
    for n in range(limits.ADDRESS):
        try_in(f"guess{n}", "wrong")
    call_command("unlock", "--address", "10.0.0.7", stdout=out)
    assert try_in("nobody", "wrong").status_code == 200
    call_command("unlock", "recorder", stdout=out)
    assert out.getvalue().endswith("recorder was not locked out.\n")
    lock("nobody")
    call_command("unlock", "nobody", stdout=out)
    assert out.getvalue().endswith("nobody may try again now.\n")
    for arguments, why in (
        ((), "Give a user name"),
        (("nobody",), "Nobody is called “nobody” here"),
        (("--address", "here"), "here is no address"),
    ):
        with pytest.raises(CommandError, match=why) as failed:
            call_command("unlock", *arguments)
        assert failed.value.returncode == 2


def test_a_manager_unlocks_in_the_own_house_and_nobody_else_does(client: Client, people: People) -> None:
    one = people("recorder")
    lock("recorder")
    for group in ("supervisor", "auditor", "recorder"):
        client.force_login(people(group, f"{group}-2"))
        assert client.get("/account/people/").status_code == 403
        assert client.post(f"/account/people/{one.pk}/unlock/").status_code == 403
    client.force_login(people("manager"))
    page = client.get("/account/people/").content.decode()
    assert page.count("locked out</span>") == 1
    assert page.index("locked out</span>") < page.index("supervisor-2")  # who waits stands first
    stranger = User.objects.create_user("stranger")
    assert client.post(f"/account/people/{stranger.pk}/unlock/").status_code == 404
    assert client.post(f"/account/people/{one.pk}/unlock/").status_code == 302
    assert try_in("recorder", PASSWORD).status_code == 302
    assert SecurityEvent.objects.get(kind="unlocked").by == "manager"


@pytest.mark.sqlite
def test_the_admin_changes_no_password_where_nobody_counts(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    assert client.get("/admin/password_change/")["Location"] == "/account/password/"


# Addresses.


@pytest.mark.parametrize(
    ("proxies", "forwarded", "found"),
    [
        (0, "203.0.113.9", "10.0.0.7"),  # nobody's proxy: anybody can write the header
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "1.1.1.1, 203.0.113.9", "203.0.113.9"),  # the left one came from outside
        (2, "1.1.1.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (2, "203.0.113.9", "203.0.113.9"),
        (1, "", "10.0.0.7"),
        (1, "<script>", None),
        (1, "2001:db8::1", "2001:db8::1"),
    ],
)
@pytest.mark.sqlite
def test_an_address_is_what_the_proxies_saw(
    rf: RequestFactory, settings: Any, proxies: int, forwarded: str, found: str | None
) -> None:
    settings.PROXIES = proxies
    assert address_of(rf.get("/", REMOTE_ADDR="10.0.0.7", HTTP_X_FORWARDED_FOR=forwarded)) == found


@pytest.mark.sqlite
def test_a_local_socket_has_no_address(rf: RequestFactory) -> None:
    assert address_of(rf.get("/", REMOTE_ADDR="")) is None


# The log.


def test_security_events_are_append_only(people: People) -> None:
    try_in("nobody", "wrong")
    statements = ["UPDATE accounts_securityevent SET person = 'x'", "DELETE FROM accounts_securityevent"]
    for statement in statements:
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_administrators_see_them_and_change_none(client: Client, people: People) -> None:
    try_in("nobody", "wrong")
    client.force_login(User.objects.create_superuser("root"))
    assert "wrong name or password" in client.get("/admin/accounts/securityevent/").content.decode()
    pk = SecurityEvent.objects.first().pk  # type: ignore[union-attr]
    assert client.post(f"/admin/accounts/securityevent/{pk}/delete/", {"post": "yes"}).status_code == 403
    for address in ("otp_totp/totpdevice", "otp_static/staticdevice", "axes/accessattempt"):
        assert client.get(f"/admin/{address}/").status_code == 404

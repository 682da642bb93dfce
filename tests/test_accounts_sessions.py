"""Sessions: how long, how many, from where, and what ends them. And what browsers are told of pages and cookies."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.base import UpdateError
from django.core.management import call_command
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from baccarat_audit import settings as project
from dealing.accounts import sessions
from dealing.accounts.models import SecurityEvent, Session
from dealing.accounts.standing import SEEN_EVERY
from dealing.devices.keys import make_key, revoke
from dealing.devices.models import Device
from dealing.models import Venue
from dealing.people_backend import SessionStore
from tests.conftest import PASSWORD, People
from tests.test_project import PUBLISHED, setting

pytestmark = pytest.mark.django_db


def log_in(name: str, address: str = "10.0.0.7", browser: str = "Mozilla/5.0 (iPad) Safari/605") -> Client:
    client = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=browser)
    assert client.post("/login/", {"username": name, "password": PASSWORD}).status_code == 302
    return client


def inside(client: Client, **headers: str) -> bool:
    return client.get("/look/", headers=headers).status_code == 200


def left_alone(client: Client, minutes: int) -> None:
    """As if the person had gone away so long ago."""
    row = Session.objects.get(pk=client.session.session_key)
    ago = dt.timedelta(minutes=minutes)
    Session.objects.filter(pk=row.pk).update(
        last_seen_at=row.last_seen_at - ago, began_at=row.began_at - ago, expire_date=row.expire_date - ago
    )


# What a session says.


def test_a_session_says_whose_it_is_and_from_where(people: People) -> None:
    user = people("recorder")
    client = log_in("recorder")
    row = Session.objects.get(user=user)
    assert (row.address, row.browser) == ("10.0.0.7", "Mozilla/5.0 (iPad) Safari/605")
    assert row.pk == client.session.session_key
    assert abs(row.expire_date - row.began_at - dt.timedelta(hours=12)) < dt.timedelta(seconds=5)


def test_a_request_costs_one_statement_for_the_session(people: People) -> None:
    from django.db import connection

    people("recorder")
    client = log_in("recorder")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert inside(client)
    about = [one["sql"] for one in asked.captured_queries if "accounts_" in one["sql"]]
    assert len(about) == 1
    assert about[0].startswith("SELECT")
    assert not [one for one in asked.captured_queries if "otp_" in one["sql"]]


def test_the_key_changes_at_the_log_in(people: People) -> None:
    people("recorder")
    client = Client()
    session = client.session
    session["something"] = 1
    session.save()
    before = session.session_key or ""
    client.cookies["sessionid"] = before
    client.post("/login/", {"username": "recorder", "password": PASSWORD})
    assert client.session.session_key != before
    assert not Session.objects.filter(pk=before).exists()


def test_a_session_nobody_logged_in_to_by_a_known_way_is_nobodys(people: People) -> None:
    client = Client()
    session = client.session
    user = people("manager")
    session["_auth_user_id"], session["_auth_user_backend"] = str(user.pk), "dealing.people_backend.PeopleBackend"
    session["_auth_user_hash"] = user.get_session_auth_hash()
    session.save()
    assert not inside(client)


# How long.


def test_twelve_hours_are_the_end_whatever_is_done(people: People) -> None:
    people("recorder")
    client = log_in("recorder")
    left_alone(client, 11 * 60 + 50)
    client.post("/look/theme/", {"theme": "dark"})
    session = client.session
    session["something"] = 1  # stored anew: that does not draw it out
    began = {**session["account"], "began": session["account"]["began"] - (11 * 60 + 50) * 60}
    session["account"] = began
    session.save()
    assert inside(client)
    assert Session.objects.get().expire_date - timezone.now() < dt.timedelta(minutes=11)
    left_alone(client, 15)
    assert not inside(client)


@pytest.mark.parametrize(
    ("group", "stays"), [("recorder", True), ("supervisor", True), ("manager", False), ("auditor", False)]
)
def test_who_idles_out(people: People, group: str, stays: bool) -> None:
    people(group)
    client = log_in(group)
    left_alone(client, 61)
    assert inside(client) is stays


def test_who_does_something_stays_and_it_is_written_seldom(people: People) -> None:
    people("manager")
    client = log_in("manager")
    left_alone(client, 50)
    assert inside(client)
    seen = Session.objects.get().last_seen_at
    assert timezone.now() - seen < dt.timedelta(minutes=1)
    assert inside(client)
    assert Session.objects.get().last_seen_at == seen
    left_alone(client, 50)
    assert inside(client)


def test_an_open_page_that_asks_by_itself_keeps_nobody_in(people: People) -> None:
    people("manager")
    client = log_in("manager")
    left_alone(client, 50)
    assert inside(client, **{"HX-Request": "true"})
    assert inside(client, Accept="*/*")
    assert timezone.now() - Session.objects.get().last_seen_at > SEEN_EVERY
    left_alone(client, 11)
    assert not inside(client)


def test_idling_out_can_be_switched_off(people: People, settings: Any) -> None:
    settings.SESSION_IDLE_MINUTES = 0
    people("manager")
    client = log_in("manager")
    left_alone(client, 10 * 60)
    assert inside(client)


def test_a_log_in_that_owes_the_factor_waits_a_quarter_of_an_hour(people: People, settings: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    people("manager")
    log_in("manager")
    row = Session.objects.get()
    assert row.expire_date - timezone.now() < dt.timedelta(minutes=15, seconds=1)


def test_what_nobody_logged_in_to_is_kept_for_half_an_hour() -> None:
    store = SessionStore()
    store["something"] = 1
    store.save()
    row = Session.objects.get()
    assert row.user is None
    assert row.expire_date - timezone.now() <= dt.timedelta(minutes=30)


# How many.


def test_the_one_used_longest_ago_ends_when_there_are_too_many(people: People, settings: Any) -> None:
    settings.SESSIONS_PER_PERSON = 2
    people("recorder")
    people("supervisor")
    other = log_in("supervisor")
    clients = [log_in("recorder") for _ in range(2)]
    Session.objects.filter(pk=clients[0].session.session_key).update(last_seen_at=timezone.now() + SEEN_EVERY)
    clients.append(log_in("recorder"))
    assert [inside(client) for client in clients] == [True, False, True]
    assert inside(other)
    assert SecurityEvent.objects.filter(kind="sessions ended", person="recorder").count() == 1


def test_the_session_in_which_somebody_logs_in_again_is_not_counted_twice(people: People, settings: Any) -> None:
    settings.SESSIONS_PER_PERSON = 2
    user = people("recorder")
    here, there = log_in("recorder"), log_in("recorder")
    assert sessions.end_oldest(user, here.session.session_key) == 0
    assert [inside(client) for client in (here, there)] == [True, True]
    settings.SESSIONS_PER_PERSON = 1
    assert sessions.end_oldest(user, here.session.session_key) == 1
    assert [inside(client) for client in (here, there)] == [True, False]


# The list of one's own.


@pytest.mark.sqlite
def test_the_page_lists_them_and_ends_one_or_all_others(people: People) -> None:
    people("recorder")
    here, there, elsewhere = log_in("recorder"), log_in("recorder", "10.0.0.8", "Firefox Windows"), log_in("recorder")
    page = here.get("/account/").content.decode()
    assert "Firefox on Windows" in page
    assert "10.0.0.8" in page
    assert page.count("this one") == 1
    assert not [key for key in Session.objects.values_list("pk", flat=True) if key in page]  # a key would open it
    mark = re.findall(r'name="session" value="([0-9a-f]+)"', page.split("Firefox on Windows")[1])[0]
    assert here.post("/account/sessions/end/", {"session": mark}).status_code == 302
    assert [inside(one) for one in (here, there, elsewhere)] == [True, False, True]
    here.post("/account/sessions/end/")
    assert [inside(one) for one in (here, there, elsewhere)] == [True, False, False]


def test_nobody_ends_anothers(people: People) -> None:
    people("recorder")
    people("supervisor")
    one, other = log_in("recorder"), log_in("supervisor")
    two = log_in("supervisor", "10.0.0.9")
    page = other.get("/account/").content.decode()
    marks = re.findall(r'name="session" value="([0-9a-f]+)"', page)
    assert len(marks) == 1
    one.post("/account/sessions/end/", {"session": marks[0]})
    one.post("/account/sessions/end/")
    assert inside(other)
    assert inside(two)


# What ends them.


def end_by_password(user: User) -> None:
    user.set_password("another-of-the-suite")
    user.save()


def end_by_closing(user: User) -> None:
    user.is_active = False
    user.save()


def end_by_role(user: User) -> None:
    user.groups.set([Group.objects.get(name="supervisor")])


def end_by_role_from_the_other_side(user: User) -> None:
    Group.objects.get(name="recorder").user_set.remove(user)


def end_by_clearing(user: User) -> None:
    user.groups.clear()


def end_by_power(user: User) -> None:
    user.is_superuser = True
    user.save(update_fields=["is_superuser"])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (end_by_password, "password changed"),
        (end_by_closing, "closed"),
        (end_by_role, "roles changed"),
        (end_by_role_from_the_other_side, "roles changed"),
        (end_by_clearing, "roles changed"),
        (end_by_power, "roles changed"),
    ],
)
def test_a_change_of_the_account_ends_them(people: People, change: Any, kind: str) -> None:
    user = people("recorder")
    people("auditor")
    client, other = log_in("recorder"), log_in("auditor")
    change(user)
    assert not Session.objects.filter(user=user).exists()
    assert not inside(client)
    assert inside(other)
    assert SecurityEvent.objects.filter(person="recorder", kind=kind).exists()


def test_a_name_that_is_put_right_ends_nothing(people: People) -> None:
    user = people("recorder")
    client = log_in("recorder")
    user.first_name = "Nok"
    user.save()
    assert inside(client)


def test_a_password_hashed_anew_is_no_change(people: People, settings: Any) -> None:
    people("recorder")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]
    before = SecurityEvent.objects.filter(kind="password changed").count()
    client = log_in("recorder")
    assert User.objects.get(username="recorder").password.startswith("pbkdf2")
    assert SecurityEvent.objects.filter(kind="password changed").count() == before
    assert inside(client)


def test_ones_own_new_password_keeps_this_session_and_ends_the_others(people: People) -> None:
    people("recorder")
    here, there = log_in("recorder"), log_in("recorder")
    new = "a-better-password-of-the-suite"
    told = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert here.post("/account/password/", {**told, "old_password": "wrong"}).status_code == 422
    assert here.post("/account/password/", {**told, "new_password2": "x"}).status_code == 422
    assert inside(there)
    before = here.session.session_key
    assert here.post("/account/password/", told).status_code == 302
    assert [inside(here), inside(there)] == [True, False]
    assert here.session.session_key != before


@pytest.mark.parametrize("password", ["short", "1234567890123", "password1234", "recorder-name"])
@pytest.mark.sqlite
def test_weak_passwords_are_refused(people: People, password: str) -> None:
    user = people("recorder")
    user.last_name = "recorder-name"
    user.save()
    told = {"old_password": PASSWORD, "new_password1": password, "new_password2": password}
    page = log_in("recorder").post("/account/password/", told)
    assert page.status_code == 422
    assert "field-error" in page.content.decode()


def test_guessing_the_old_password_locks_as_a_log_in_does(people: People) -> None:
    people("recorder")
    client = log_in("recorder")
    answers = [client.post("/account/password/", {"old_password": f"guess{n}"}).status_code for n in range(6)]
    assert answers == [422, 422, 422, 422, 429, 429]


def test_a_session_that_was_ended_is_not_stored_again(people: People) -> None:
    people("recorder")
    client = log_in("recorder")
    store = SessionStore(client.session.session_key)
    store["something"] = 1
    Session.objects.all().delete()
    with pytest.raises(UpdateError):
        store.save()


def test_old_ones_are_cleared_away(people: People) -> None:
    people("recorder")
    left_alone(log_in("recorder"), 13 * 60)
    log_in("recorder")
    assert Session.objects.count() == 1
    Session.objects.update(expire_date=timezone.now() - dt.timedelta(days=1))
    call_command("clearsessions")
    assert not Session.objects.exists()


def test_keys_of_devices_are_written_down_too(venue: Venue) -> None:
    device = Device.objects.create(venue=venue, code="SHOE-1", created_at=timezone.now(), created_by="kanya")
    key, text = make_key(device, "kanya")
    revoke(key, "malee")
    rows = SecurityEvent.objects.filter(person="device:SHOE-1").order_by("pk")
    assert [(row.kind, row.by, row.detail) for row in rows] == [
        ("key made", "kanya", key.prefix),
        ("key revoked", "malee", key.prefix),
    ]
    assert text not in str(list(rows.values()))


# What browsers are told.


@pytest.mark.sqlite
def test_nothing_behind_the_log_in_is_kept_by_browsers(client: Client, people: People) -> None:
    assert "Cache-Control" not in client.get("/nothing/")
    client.force_login(people("manager"))
    for address in ("/tables/", "/look/", "/incidents/", "/reports/", "/preferences/", "/account/", "/account/people/"):
        assert "no-store" in client.get(address)["Cache-Control"], address


@pytest.mark.sqlite
def test_headers(client: Client, db: None) -> None:
    page = client.get("/login/")
    assert "camera=()" in page["Permissions-Policy"]
    assert page["Cross-Origin-Opener-Policy"] == "same-origin"
    assert page["Cross-Origin-Resource-Policy"] == "same-origin"
    assert page["X-Content-Type-Options"] == "nosniff"
    assert page["X-Frame-Options"] == "DENY"
    assert page["Referrer-Policy"] == "same-origin"
    assert "'unsafe" not in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]


@pytest.mark.sqlite
def test_cookies_of_a_published_site_belong_to_its_host() -> None:
    names = "s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE"
    assert setting(names, **PUBLISHED) == str(("__Host-sessionid", "__Host-csrftoken", True, True))
    assert not hasattr(project, "SESSION_COOKIE_NAME")  # by http browsers refuse such a name


@pytest.mark.sqlite
def test_a_cookie_of_the_host_is_one_that_browsers_take(client: Client, people: People, settings: Any) -> None:
    settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_SECURE = "__Host-sessionid", True
    people("recorder")
    answer = client.post("/login/", {"username": "recorder", "password": PASSWORD}, secure=True)
    cookie = answer.cookies["__Host-sessionid"]
    assert cookie["secure"]
    assert cookie["httponly"]
    assert (cookie["path"], cookie["domain"], cookie["samesite"]) == ("/", "", "Lax")


def test_times_of_sessions_in_words() -> None:
    from dealing.templatetags.account_tags import ago, until_then

    now = timezone.now()
    hours, seconds = dt.timedelta(hours=1), dt.timedelta(seconds=20)
    assert [ago(now), ago(now - hours / 2 - seconds), ago(now - hours * 3)] == [
        "just now",
        "30 minutes ago",
        "3 hours ago",
    ]
    assert [until_then(now + hours + seconds), until_then(now + 9 * hours + seconds)] == ["in 60 minutes", "in 9 hours"]
    with translation.override("th"):
        assert until_then(now + 9 * hours + seconds) == "ในอีก 9 ชั่วโมง"

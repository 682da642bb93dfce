"""The second factor: who gets nothing without one, and what is taken as one."""

from __future__ import annotations

import datetime as dt
import re
import time
from functools import partial
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import Group, User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from django_otp.oath import TOTP

from baccarat_audit import settings as project
from dealing.accounts import factors, sealing
from dealing.accounts.middleware import SecondFactorMiddleware
from dealing.accounts.models import Authenticator, Passkey, RecoveryCodes, SecurityEvent, Session
from tests.conftest import PASSWORD, People
from tests.test_log_writers import at_once

pytestmark = pytest.mark.django_db


def code_of(app: Authenticator, steps: int = 0) -> str:
    """What the app shows, so many half minutes from now."""
    totp = TOTP(app.bin_key)
    totp.time = time.time() + 30 * steps
    return f"{totp.token():06}"


def with_app(user: User) -> Authenticator:
    """The person's app, set up a while ago."""
    app = factors.begin_app(user)
    app.confirmed = True
    app.save()
    return app


def log_in(client: Client, name: str, page: str = "/look/") -> Any:
    return client.post("/login/", {"username": name, "password": PASSWORD, "next": page})


def kinds() -> list[str]:
    return list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))


@pytest.fixture
def required(settings: Any) -> None:
    """As on a published site."""
    settings.SECOND_FACTOR_REQUIRED = True


#: Pages, the API, parts of pages, files, the admin: whatever is not for everybody.
BEHIND = (
    "/tables/",
    "/look/",
    "/incidents/",
    "/reports/",
    "/preferences/",
    "/account/",
    "/account/people/",
    "/sheets/",
)


@pytest.mark.sqlite
@pytest.mark.usefixtures("required")
@pytest.mark.parametrize(("group", "known"), [("manager", False), ("recorder", True)])
def test_asynchronous_views_are_told_the_same(client: Client, people: People, rf: Any, group: str, known: bool) -> None:
    people(group)
    log_in(client, group)
    request = rf.get("/")
    request.session = client.session
    AuthenticationMiddleware(lambda request: HttpResponse()).process_request(request)
    SecondFactorMiddleware(lambda request: HttpResponse())(request)
    assert async_to_sync(request.auser)().is_authenticated is known
    assert request.user.is_authenticated is known


# Somebody who needs one.


@pytest.mark.usefixtures("required")
def test_a_manager_without_one_is_led_to_set_one_up_and_gets_nothing_else(client: Client, people: People) -> None:
    people("manager")
    answer = log_in(client, "manager")
    assert client.get(answer["Location"], follow=True).redirect_chain[-1][0] == "/account/set-up/?next=/look/"
    for address in BEHIND:
        answer = client.get(address)
        assert answer.status_code == 302, address
        assert answer["Location"].startswith("/login/"), address
        part = client.get(address, headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/look/"})
        assert part["HX-Redirect"].startswith("/login/"), address
        assert not part.content
    assert client.get("/api/v1/reports/").status_code == 401
    assert client.get("/metrics").status_code == 404
    assert client.get("/admin/").status_code == 302
    assert client.post("/account/codes/").status_code == 302
    assert not RecoveryCodes.objects.exists()
    assert client.post("/account/password/", {"old_password": PASSWORD}).status_code == 302
    # The page that they do get tells nothing of the house.
    page = client.get("/account/set-up/").content.decode()
    assert "/incidents/" not in page
    assert 'class="nav"' not in page
    # And leaving is open.
    assert client.post("/logout/").status_code == 302
    assert client.get("/account/set-up/").status_code == 302


@pytest.mark.usefixtures("required")
def test_setting_an_app_up_lets_in_and_gives_recovery_codes_once(client: Client, people: People) -> None:
    user = people("manager")
    log_in(client, "manager")
    page = client.get("/account/app/?next=/look/&typing=1").content.decode()
    app = Authenticator.objects.get(user=user)
    assert not app.confirmed
    assert factors.typed(app) in page
    assert (
        client.get("/account/app/?typing=1").content.decode().count(factors.typed(app)) == 1
    )  # the same after a reload
    assert factors.typed(app) not in client.get("/account/app/").content.decode()
    assert "<svg" in page
    assert "style=" not in page.split("<svg")[-1]
    # A wrong code: said by a page that the browser can come back to, on which the key stays for whom it stood there.
    wrong = client.post("/account/app/?next=/look/&typing=1", {"code": "000000"})
    assert wrong["Location"] == "/account/app/?next=/look/&typing=1"
    page = client.get(wrong["Location"]).content.decode()
    assert "This code is not right" in page
    assert factors.typed(app) in page
    Authenticator.objects.update(throttling_failure_timestamp=timezone.now() - dt.timedelta(minutes=1))
    before = client.session.session_key
    done = client.post("/account/app/?next=/look/", {"code": code_of(app)})
    codes = re.findall(r"<li>([a-z2-7-]{14})</li>", done.content.decode())
    assert len(set(codes)) == factors.CODES
    assert client.session.session_key != before
    assert client.get("/look/").status_code == 200
    assert kinds()[-2:] == ["factor added", "codes made"]
    # Nothing that lies in the database is the secret or a code.
    app.refresh_from_db()
    assert app.confirmed
    assert app.bin_key.hex() not in app.key
    kept = set(RecoveryCodes.objects.get(user=user).token_set.values_list("token", flat=True))
    assert not {code.replace("-", "") for code in codes} & kept


@pytest.mark.usefixtures("required")
@pytest.mark.parametrize("group", ["recorder", "supervisor", "auditor"])
def test_others_get_in_with_the_password_alone(client: Client, people: People, group: str) -> None:
    people(group)
    log_in(client, group)
    assert client.get("/look/").status_code == 200


@pytest.mark.usefixtures("required")
def test_whoever_becomes_a_manager_needs_one_from_then_on(client: Client, people: People) -> None:
    user = people("recorder")
    log_in(client, "recorder")
    assert client.get("/look/").status_code == 200
    user.groups.add(Group.objects.get(name="manager"))
    assert client.get("/look/").status_code == 302
    assert not Session.objects.filter(user=user).exists()


@pytest.mark.usefixtures("required")
def test_whoever_was_made_one_past_the_product_needs_one_too(client: Client, people: People) -> None:
    user = people("recorder")
    log_in(client, "recorder")
    manager = Group.objects.get(name="manager")
    User.groups.through._default_manager.create(user_id=user.pk, group_id=manager.pk)  # no signal hears of it
    assert client.get("/look/").status_code == 302
    assert client.get("/account/set-up/").status_code == 200


@pytest.mark.usefixtures("required")
def test_an_administrator_without_a_group_needs_one_too(client: Client) -> None:
    User.objects.create_superuser("root", password=PASSWORD)
    log_in(client, "root", "/admin/")
    assert client.get("/admin/").status_code == 302
    assert client.get("/account/set-up/").status_code == 200


def test_on_this_machine_nobody_needs_one(client: Client, people: People) -> None:
    people("manager")
    log_in(client, "manager")
    assert client.get("/look/").status_code == 200


def test_who_set_one_up_gives_it_there_too(client: Client, people: People) -> None:
    app = with_app(people("recorder"))
    assert log_in(client, "recorder")["Location"] == "/look/"
    assert client.get("/look/").status_code == 302
    assert client.get("/account/set-up/").status_code == 302  # nothing can be added without giving it
    assert client.get("/account/app/")["Location"].startswith("/account/factor/")
    assert client.get("/account/passkeys/new/")["Location"].startswith("/account/factor/")
    before = client.session.session_key
    answer = client.post("/account/factor/", {"code": code_of(app), "next": "/look/"})
    assert answer["Location"] == "/look/"
    assert client.session.session_key != before
    assert client.get("/look/").status_code == 200


@pytest.mark.sqlite
def test_the_log_in_leads_to_the_factor_and_back_to_no_other_site(client: Client, people: People) -> None:
    app = with_app(people("recorder"))
    log_in(client, "recorder")
    assert client.get("/login/?next=/look/")["Location"] == "/account/factor/?next=/look/"
    assert client.get("/login/?next=https://elsewhere.example/")["Location"] == "/account/factor/"
    answer = client.post("/account/factor/", {"code": code_of(app), "next": "https://elsewhere.example/"})
    assert answer["Location"] == "/"


# What is taken.


def test_a_code_is_good_once_and_a_clock_may_be_half_a_minute_off(people: People) -> None:
    user = people("manager")
    app = with_app(user)
    late = code_of(app, -1)
    assert factors.check(user, late).given is factors.Given.APP
    assert factors.check(user, late).given is None
    Authenticator.objects.update(throttling_failure_count=0)
    # Its clock is followed: it was half a minute late, so that two half minutes late is near enough now.
    assert factors.check(user, code_of(app)).given is factors.Given.APP


@pytest.mark.parametrize("steps", [-3, 3])
def test_a_code_of_another_time_is_none(people: People, steps: int) -> None:
    user = people("manager")
    assert factors.check(user, code_of(with_app(user), steps)).given is None


def test_wrong_codes_make_wait_longer_and_longer_then_even_for_the_right_one(client: Client, people: People) -> None:
    user = people("manager")
    app = with_app(user)
    log_in(client, "manager")
    wrong = f"{(int(code_of(app)) + 500_000) % 1_000_000:06}"
    client.post("/account/factor/", {"code": wrong})
    page = client.post("/account/factor/", {"code": code_of(app)})
    assert page.status_code == 422
    assert "Too many wrong codes. Wait 1 second" in page.content.decode()
    Authenticator.objects.update(throttling_failure_count=8)
    assert 60 <= factors.check(user, code_of(app)).wait <= 128
    assert kinds().count("wrong factor") == 1


def test_ten_wrong_ones_end_the_log_in(client: Client, people: People) -> None:
    people_app = with_app(people("manager"))
    log_in(client, "manager")
    for _ in range(10):
        Authenticator.objects.update(throttling_failure_count=0)
        answer = client.post("/account/factor/", {"code": "x"}, follow=True)
    assert "Log in again" in answer.content.decode()
    assert client.post("/account/factor/", {"code": code_of(people_app)}).status_code == 302
    assert client.get("/look/").status_code == 302


def test_a_recovery_code_lets_in_once_however_it_is_typed(client: Client, people: People) -> None:
    user = people("manager")
    with_app(user)
    codes = factors.new_codes(user)
    log_in(client, "manager")
    assert client.post("/account/factor/", {"code": codes[0].upper().replace("-", " ")}).status_code == 302
    assert client.get("/look/").status_code == 200
    assert factors.codes_left(user) == factors.CODES - 1
    assert factors.check(user, codes[0]).given is None
    assert "code used" in kinds()
    RecoveryCodes.objects.update(throttling_failure_count=0)
    factors.new_codes(user)
    assert factors.check(user, codes[1]).given is None  # earlier ones are no good any more


def test_nobodys_code_is_good_for_another(people: People) -> None:
    one, other = people("manager", "one"), people("manager", "other")
    app = with_app(one)
    with_app(other)
    assert factors.check(other, code_of(app)).given is None
    assert factors.check(other, factors.new_codes(one)[0]).given is None
    # A row that is moved to another person in the database is no secret of theirs.
    Authenticator.objects.filter(user=other).delete()
    Authenticator.objects.filter(user=one).update(user=other)
    assert factors.check(other, code_of(app)).given is None


def test_secrets_go_on_with_an_earlier_key_and_not_without(people: People, settings: Any) -> None:
    user = people("manager")
    app = with_app(user)
    code = code_of(app)
    earlier, settings.SECRET_KEY = settings.SECRET_KEY, "another-key-of-the-suite" * 3
    with pytest.raises(sealing.Unreadable):
        _ = app.bin_key
    assert factors.check(user, code).given is None  # and no error
    settings.SECRET_KEY_FALLBACKS = [earlier]
    assert factors.check(user, code).given is factors.Given.APP


# Changing them.


def test_changing_asks_for_the_factor_again_after_a_while(client: Client, people: People) -> None:
    app = with_app(people("recorder"))
    log_in(client, "recorder")
    client.post("/account/factor/", {"code": code_of(app)})
    session = client.session
    session["account"] = {**session["account"], "given": time.time() - 601}
    session.save()
    assert client.get("/account/app/")["Location"] == "/account/confirm/?next=/account/app/"
    assert client.post("/account/app/remove/")["Location"] == "/account/confirm/"
    assert client.post("/account/codes/")["Location"] == "/account/confirm/"
    assert Authenticator.objects.exists()
    assert client.post("/account/confirm/", {"code": code_of(app)}).status_code == 422  # used at the log-in
    Authenticator.objects.update(throttling_failure_count=0)
    answer = client.post("/account/confirm/", {"code": code_of(app, 1), "next": "/account/app/"})
    assert answer["Location"] == "/account/app/"
    assert client.get("/account/app/").status_code == 200


def test_who_has_none_confirms_with_the_password(client: Client, people: People) -> None:
    people("recorder")
    log_in(client, "recorder")
    session = client.session
    session["account"] = {**session["account"], "given": time.time() - 601}
    session.save()
    assert client.get("/account/app/").status_code == 302
    assert client.post("/account/confirm/", {"password": "wrong"}).status_code == 422
    assert client.post("/account/confirm/", {"password": PASSWORD}).status_code == 302
    assert client.get("/account/app/").status_code == 200


def test_what_can_be_no_code_is_told_so_and_not_counted(client: Client, people: People) -> None:
    user = people("recorder")
    log_in(client, "recorder")
    client.get("/account/app/")
    for typed in ("", "12345", "1234567", "abcdef"):
        page = client.post("/account/app/", {"code": typed}, follow=True).content.decode()
        assert "six digits." in page, typed
        assert "clock" not in page
    begun = Authenticator.objects.get(user=user)
    assert begun.throttling_failure_count == 0
    assert client.post("/account/app/", {"code": f" {code_of(begun)[:3]} {code_of(begun)[3:]}"}).status_code == 200


def test_a_second_factor_goes_only_after_a_question(client: Client, people: People) -> None:
    user = people("recorder")
    app = with_app(user)
    Passkey.objects.create(user=user, name="k", credential_id="x", public_key=b"x", created_at=timezone.now())
    log_in(client, "recorder")
    client.post("/account/factor/", {"code": code_of(app)})
    page = client.get("/account/").content.decode()
    for address in ("/account/app/remove/", "/account/passkeys/", "/account/codes/"):
        before = page.split(f'action="{address}')[0]
        assert before.count("<details") - before.count("</details>") == 1, address


def test_a_new_app_replaces_the_old_one_only_when_it_is_done(client: Client, people: People) -> None:
    user = people("recorder")
    old = with_app(user)
    log_in(client, "recorder")
    client.post("/account/factor/", {"code": code_of(old)})
    client.get("/account/app/")
    new = Authenticator.objects.get(user=user, confirmed=False)
    assert Authenticator.objects.filter(pk=old.pk).exists()
    assert client.post("/account/app/", {"code": code_of(new)}).status_code == 302
    assert list(Authenticator.objects.filter(user=user)) == [new]


@pytest.mark.usefixtures("required")
def test_the_last_one_of_a_manager_stays(client: Client, people: People) -> None:
    user = people("manager")
    app = with_app(user)
    log_in(client, "manager")
    client.post("/account/factor/", {"code": code_of(app)})
    page = client.post("/account/app/remove/", follow=True).content.decode()
    assert "set up another one before you remove this one" in page
    Passkey.objects.create(user=user, name="k", credential_id="x", public_key=b"x", created_at=timezone.now())
    assert "is removed" in client.post("/account/app/remove/", follow=True).content.decode()
    assert client.get("/look/").status_code == 200
    pk = Passkey.objects.get().pk
    client.post(f"/account/passkeys/{pk}/remove/")
    assert Passkey.objects.exists()


def test_nobody_removes_anothers_passkey(client: Client, people: People) -> None:
    key = Passkey.objects.create(
        user=people("manager"), name="k", credential_id="x", public_key=b"x", created_at=timezone.now()
    )
    people("recorder")
    log_in(client, "recorder")
    assert client.post(f"/account/passkeys/{key.pk}/remove/").status_code == 404


# Who lost it.


def test_an_administrator_takes_it_away_and_it_is_written_down(client: Client, people: People) -> None:
    user = people("manager")
    app = with_app(user)
    factors.new_codes(user)
    lost = Client()
    log_in(lost, "manager")
    lost.post("/account/factor/", {"code": code_of(app)})
    for group in ("manager", "supervisor"):
        client.force_login(people(group, f"{group}-2"))
        assert client.post(f"/account/people/{user.pk}/reset/").status_code == 403
    root = User.objects.create_superuser("root", password=PASSWORD)
    client.force_login(root)
    assert "Lost their device?" in client.get("/account/people/").content.decode()
    assert client.post(f"/account/people/{root.pk}/reset/").status_code == 403  # nobody for themselves
    assert client.post(f"/account/people/{user.pk}/reset/").status_code == 302
    assert not factors.has(user)
    assert lost.get("/look/").status_code == 302
    row = SecurityEvent.objects.get(kind="factors reset")
    assert (row.person, row.by) == ("manager", "root")


def test_a_command_takes_it_away(people: People) -> None:
    user = people("manager")
    with_app(user)
    kanya = people(None, "kanya")
    out = StringIO()
    with pytest.raises(CommandError, match="required: --by"):
        call_command("reset_second_factor", "manager")
    for left in ("nobody", "prasert"):
        with pytest.raises(CommandError, match=f"--by: nobody is called “{left}”"):
            call_command("reset_second_factor", "manager", "--by", left)
        User.objects.get_or_create(username="prasert", is_active=False)
    assert factors.has(user)
    call_command("reset_second_factor", "manager", "--by", kanya.username, stdout=out)
    assert "has no second factor any more" in out.getvalue()
    assert not factors.has(user)
    assert SecurityEvent.objects.get(kind="factors reset").by == "kanya"
    with pytest.raises(CommandError, match="Nobody"):
        call_command("reset_second_factor", "nobody", "--by", "kanya")


# Passkeys: what the browser test does not try.


@pytest.mark.sqlite
def test_a_passkey_that_is_none_is_refused(client: Client, people: People, settings: Any) -> None:
    people("recorder")
    log_in(client, "recorder")
    page = client.get("/account/passkeys/new/").content.decode()
    assert "only where this site is opened by https" in page
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    client.get("/account/passkeys/new/", headers={"Host": "localhost"})
    for answer in ("", "{}", "[1]", '{"id": "x"}', '{"id": "x", "rawId": "eA", "type": "public-key", "response": {}}'):
        done = client.post("/account/passkeys/new/", {"credential": answer}, headers={"Host": "localhost"})
        assert done.status_code == 422
        assert 'role="alert"' in done.content.decode()
    assert not Passkey.objects.exists()
    assert (
        client.post("/account/passkey/", {"credential": '{"id": "x"}'}, headers={"Host": "localhost"}).status_code
        == 302
    )
    assert client.post("/account/passkey/ask/").status_code == 400
    assert "wrong factor" not in kinds()  # anybody could fill the log with such


@pytest.mark.sqlite
def test_passkeys_are_for_the_sites_own_name(rf: Any, settings: Any) -> None:
    from dealing.accounts import passkeys

    settings.SITE_URL = "https://audit.example"
    settings.ALLOWED_HOSTS = ["*"]
    assert passkeys.place_of(rf.get("/", secure=True, HTTP_HOST="audit.example")).host == "audit.example"
    for host in ("other.example", "10.0.0.7", "xaudit.example"):
        with pytest.raises(passkeys.Refused, match="opened as"):
            passkeys.place_of(rf.get("/", secure=True, HTTP_HOST=host))
    with pytest.raises(passkeys.Refused, match="https"):
        passkeys.place_of(rf.get("/", HTTP_HOST="audit.example"))


# The setting.


@pytest.mark.sqlite
def test_published_sites_need_it_unless_somebody_says_otherwise() -> None:
    from tests.test_project import PUBLISHED, python, setting

    assert not project.SECOND_FACTOR_REQUIRED
    assert setting("s.SECOND_FACTOR_REQUIRED", **PUBLISHED) == "True"
    assert setting("s.SECOND_FACTOR_REQUIRED", SECOND_FACTOR="optional", **PUBLISHED) == "False"
    done = python("-c", "import baccarat_audit.settings", SECOND_FACTOR="perhaps")
    assert ImproperlyConfigured.__name__ in done.stderr


@pytest.mark.django_db(transaction=True)
def test_of_two_who_send_the_same_code_at_once_one_gets_in(people: People) -> None:
    app = with_app(people("manager"))
    clients = Client(), Client()
    for client in clients:
        log_in(client, "manager")
    code = code_of(app)

    def send(client: Client) -> int:
        return client.post("/account/factor/", {"code": code, "next": "/look/"}).status_code

    answers = at_once(*(partial(send, client) for client in clients))
    inside = [client for client in clients if client.get("/look/").status_code == 200]
    assert len(inside) == 1, answers
    assert kinds().count("factor given") == 1


@pytest.mark.sqlite
def test_the_log_in_page_says_where_passkeys_work_to_whom_that_helps(
    client: Client, people: People, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]

    def said(host: str, site: str) -> str:
        settings.SITE_URL = site
        page = client.get("/login/?next=/look/", headers={"Host": host}).content.decode()
        found = re.search(r'open this site here: <a href="([^"]+)">', page)
        return found[1] if found else ""

    assert said("127.0.0.1:8000", "http://127.0.0.1:8000") == "", "nobody has one"
    Passkey.objects.create(
        user=people("manager"), name="k", credential_id="x", public_key=b"x", created_at=timezone.now()
    )
    assert said("127.0.0.1:8000", "http://127.0.0.1:8000") == "http://localhost:8000/login/?next=/look/"
    assert said("[::1]:8000", "http://127.0.0.1:8000") == "http://localhost:8000/login/?next=/look/"
    assert said("10.0.0.7", "https://audit.example") == "https://audit.example/login/?next=/look/"
    for nowhere in ("10.0.0.7", "table-pc"):
        assert said(nowhere, "http://10.0.0.7") == ""
    assert said("localhost:8000", "http://127.0.0.1:8000") == "", "they work"


def test_a_passkey_is_offered_where_it_can_work(client: Client, people: People) -> None:
    client.force_login(people("recorder", "boon"))
    page = client.get("/account/").content.decode()
    assert "/account/passkeys/new/" not in page
    assert "Passkeys work only where" in page
    assert "/account/passkeys/new/" in client.get("/account/", headers={"Host": "localhost"}).content.decode()

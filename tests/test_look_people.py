"""Who may do what, logging in and out, languages."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser, Group, User
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from dealing import people as roles
from dealing.accounts.models import Session
from dealing.models import StaffMember
from dealing.people_backend import PeopleBackend
from dealing.people_middleware import LoginRedirectMiddleware
from dealing.permissions import May, may
from tests.conftest import PASSWORD, People

MAY = {
    "recorder": (True, False, False, True),
    "supervisor": (True, True, False, True),
    "manager": (True, True, True, True),
    "auditor": (False, False, False, True),
    None: (False, False, False, False),
}
ASKED = (May.RECORD, May.SUPERVISE, May.DECIDE, May.READ)
DECORATORS = tuple(map(roles.required, ASKED))


@pytest.mark.parametrize("group", MAY)
def test_what_a_group_may(people: People, group: str | None) -> None:
    user = people(group)
    assert tuple(may(user, what) for what in ASKED) == MAY[group]


def test_a_superuser_counts_as_a_manager(db: None) -> None:
    user = User.objects.create_superuser("root")
    assert all(may(user, what) for what in ASKED)
    assert roles.main_role(user) == "manager"


def test_nobody_and_the_inactive_may_nothing(people: People) -> None:
    user = people("manager")
    user.is_active = False
    assert not any(may(user, what) for what in ASKED)
    assert not any(may(AnonymousUser(), what) for what in ASKED)


def test_the_strongest_role_is_named(people: People) -> None:
    user = people("recorder")
    user.groups.add(Group.objects.get(name="supervisor"))
    assert roles.main_role(User.objects.get(pk=user.pk)) == "supervisor"


def test_groups_are_there_after_migrating(db: None) -> None:
    assert set(roles.GROUPS) <= set(Group.objects.values_list("name", flat=True))


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("in")


@pytest.mark.parametrize("group", MAY)
@pytest.mark.parametrize("n", range(4))
def test_decorators_let_in_and_keep_out(people: People, rf: RequestFactory, group: str | None, n: int) -> None:
    request = rf.get("/tables/B07/")
    request.user = people(group)
    guarded = DECORATORS[n](view)
    if MAY[group][n]:
        assert guarded(request).status_code == 200
    else:
        with pytest.raises(PermissionDenied):
            guarded(request)


@pytest.mark.parametrize("decorator", DECORATORS)
def test_decorators_send_strangers_to_log_in(rf: RequestFactory, decorator: object) -> None:
    request = rf.get("/tables/B07/?hand=3")
    request.user = AnonymousUser()
    assert callable(decorator)
    response = decorator(view)(request)
    assert response.status_code == 302
    assert response["Location"] == "/login/?next=/tables/B07/%3Fhand%3D3"


# Logging in and out.


def log_in(client: Client, name: str, password: str, page: str = "/look/") -> Any:
    return client.post("/login/", {"username": name, "password": password, "next": page})


def test_log_in_and_out(client: Client, people: People) -> None:
    people("recorder")
    assert client.get("/look/").status_code == 302
    response = log_in(client, "recorder", PASSWORD)
    assert response["Location"] == "/look/"
    assert client.get("/look/").status_code == 200
    assert client.get("/logout/").status_code == 405
    client.post("/logout/")
    assert client.get("/look/").status_code == 302


def test_a_wrong_name_and_a_wrong_password_are_told_alike(client: Client, people: People) -> None:
    people("recorder")
    pages = []
    for name, password in (("recorder", "wrong"), ("nobody", PASSWORD)):
        page = log_in(client, name, password).content.decode()
        assert "Name and password do not go together" in page
        pages.append(page.replace(name, "NAME").split("<main", 1)[1].split("csrfmiddlewaretoken")[0])
    assert pages[0] == pages[1]


def test_the_session_hint_stands_only_where_a_page_asked(client: Client, db: None) -> None:
    assert "your session has ended" in client.get("/login/?next=/tables/").content.decode()
    assert "your session has ended" not in client.get("/login/").content.decode()


def test_log_in_leads_to_no_other_site(client: Client, people: People) -> None:
    people("recorder")
    assert log_in(client, "recorder", PASSWORD, "https://elsewhere.example/")["Location"] == "/"


def test_nobody_without_a_role_reads(client: Client, people: People) -> None:
    client.force_login(people(None))
    response = client.get("/look/")
    assert response.status_code == 403
    assert "Your account has no role here yet" in response.content.decode()


# A session that ends under an open page.


def test_htmx_is_led_to_log_in_with_the_whole_page(client: Client) -> None:
    response = client.get(
        "/look/", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/tables/B07/?hand=3"}
    )
    assert response.status_code == 200
    assert response["HX-Redirect"] == "/login/?next=/tables/B07/%3Fhand%3D3"
    assert not response.content


def test_htmx_from_elsewhere_comes_back_home(client: Client) -> None:
    response = client.get("/look/", headers={"HX-Request": "true", "HX-Current-URL": "https://elsewhere.example/x"})
    assert response["HX-Redirect"] == "/login/?next=/"


def test_other_redirects_and_other_requests_are_left_alone(client: Client, rf: RequestFactory) -> None:
    assert client.get("/look/").status_code == 302
    request = rf.get("/x/")
    request.htmx = True  # type: ignore[attr-defined]  # set by django-htmx
    answer = HttpResponse(status=302, headers={"Location": "/tables/"})
    assert LoginRedirectMiddleware(lambda _request: answer)(request) is answer


# Languages.


def test_the_language_switch(client: Client, db: None) -> None:
    assert '<html lang="en"' in client.get("/login/").content.decode()
    response = client.post("/language/", {"language": "th", "next": "/login/"})
    assert response["Location"] == "/login/"
    assert '<html lang="th"' in client.get("/login/").content.decode()


def test_the_choice_is_kept_with_the_person_and_applied_on_the_next_log_in(client: Client, people: People) -> None:
    people("recorder")
    log_in(client, "recorder", PASSWORD)
    client.post("/language/", {"language": "th", "next": "/look/"})
    assert StaffMember.objects.get(user__username="recorder").language == "th"
    elsewhere = Client()
    assert '<html lang="en"' in elsewhere.get("/login/").content.decode()
    log_in(elsewhere, "recorder", PASSWORD)
    assert '<html lang="th"' in elsewhere.get("/look/").content.decode()


def test_an_unknown_language_is_not_kept(client: Client, people: People) -> None:
    client.force_login(people("recorder"))
    for code in ("xx", "fr", "", "../th"):
        client.post("/language/", {"language": code, "next": "/look/"})
    client.get("/language/?language=th")
    assert StaffMember.objects.get(user__username="recorder").language == ""


def test_a_user_who_is_no_staff_member_can_switch_too(client: Client, db: None) -> None:
    client.force_login(User.objects.create_superuser("root"))
    assert client.post("/language/", {"language": "th", "next": "/look/"}).status_code == 302


# What every request asks.


def test_a_request_knows_the_person_the_role_and_the_staff_member_by_two_statements(
    people: People, django_assert_num_queries: Any
) -> None:
    client, user = Client(), people("recorder")
    client.force_login(user)
    request = HttpRequest()
    request.COOKIES = {name: cookie.value for name, cookie in client.cookies.items()}

    def view(request: HttpRequest) -> HttpResponse:
        assert request.user == user
        assert request.user.staff_member == user.staff_member
        assert request.user.staff_member.user is not None
        assert may(request.user, May.RECORD)
        return HttpResponse("in")

    with django_assert_num_queries(2):
        response = SessionMiddleware(AuthenticationMiddleware(view))(request)
    assert isinstance(response, HttpResponse)
    assert response.content == b"in"


def test_a_user_who_is_no_staff_member_has_none(people: People) -> None:
    user = people("auditor")
    StaffMember.objects.filter(user=user).delete()
    found = PeopleBackend().get_user(user.pk)
    assert found == user
    assert found is not None
    assert not hasattr(found, "staff_member")


def test_the_inactive_and_the_unknown_are_nobody(people: People) -> None:
    user = people("manager")
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert PeopleBackend().get_user(user.pk) is None
    assert PeopleBackend().get_user(0) is None


def test_a_session_over_its_time_lets_nobody_in(client: Client, people: People) -> None:
    client.force_login(people("auditor"))
    assert client.get("/look/").status_code == 200
    Session.objects.update(expire_date=timezone.now() - dt.timedelta(seconds=1))
    assert client.get("/look/").status_code == 302

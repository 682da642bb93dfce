"""Django's admin behind the product's own log-in, for administrators and nobody else."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache

from dealing.permissions import May, may, refusal

gettext_noop("View")  # a text of Django's, which in Thai has a stray colon there


class HouseAdminSite(AdminSite):
    """Lets in whom `dealing.permissions` names; it has no log-in page of its own, whose door would be a second one."""

    site_header = site_title = _("Baccarat audit")
    index_title = _("Master data")

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the person administers."""
        return may(request.user, May.ADMINISTER)

    def password_change(  # type: ignore[override]  # a redirect is an answer too
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """To everybody's own page for it, where wrong old passwords are counted."""
        return HttpResponseRedirect(reverse("account:password"))

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """To the log-in page, and on from there; who is logged in and may not come in is told why."""
        index = reverse("admin:index")
        page = request.GET.get("next", index)
        if not url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure()):
            page = index
        if self.has_permission(request):
            return HttpResponseRedirect(page)
        if request.user.is_authenticated:
            raise PermissionDenied(refusal(May.ADMINISTER))
        return redirect_to_login(page)

"""Who answers which address."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

from dealing.people_views import LogIn, preferences, set_language

from .health import health, night
from .metrics import metrics

urlpatterns = [
    path("", require_safe(RedirectView.as_view(pattern_name="console:tables")), name="home"),
    path("api/", include("baccarat_audit.api_urls")),  # first: devices come most often
    path("tables/", include("dealing.roads_urls")),
    path("tables/", include("dealing.pit.urls")),
    path("tables/", include("dealing.console.urls")),
    path("dealers/", include("dealing.pit.people_urls")),
    path("devices/", include("dealing.devices.urls")),
    path("incidents/", include("incidents.review.urls")),
    path("sheets/", include("dealing.sheets.urls")),
    path("reports/", include("incidents.reports.urls")),
    path("webhooks/", include("incidents.webhooks.urls")),
    path("look/", include("dealing.look_urls")),
    path("login/", LogIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", include("dealing.accounts.urls")),
    path("preferences/", preferences, name="preferences"),
    path("language/", set_language, name="set_language"),
    path("admin/", admin.site.urls),
    path("health/", health, name="health"),
    path("health/night/", night, name="health_night"),
    path("metrics", metrics, name="metrics"),
]

handler400 = "baccarat_audit.errors.bad_request"
handler403 = "baccarat_audit.errors.permission_denied"
handler404 = "baccarat_audit.errors.page_not_found"
handler500 = "baccarat_audit.errors.server_error"

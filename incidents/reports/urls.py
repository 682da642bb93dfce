"""`/reports/`: the nightly and monthly reports, the audits on their way, and whether last night is done."""

from django.urls import path, register_converter

from . import files_views, views


class DayConverter:
    """A day, `2026-07-11`, or a month, `2026-07`, as text."""

    regex = r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?"

    def to_python(self, value: str) -> str:
        """As it is."""
        return value

    def to_url(self, value: object) -> str:
        """A date as it is written, or the text."""
        return str(value)


register_converter(DayConverter, "report_day")

app_name = "reports"

urlpatterns = [
    path("", views.reports, name="list"),
    path("status/", views.status, name="status"),
    path("start/", views.start, name="start"),
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/progress/", views.progress, name="progress"),
    path("runs/<int:pk>/retry/", views.retry, name="retry"),
    path("<int:pk>/", views.report, name="report"),
    path("<int:pk>/report.<str:ending>", files_views.file, name="file"),
    path("<int:pk>/mails/<int:delivery>/again/", files_views.send_again, name="send_again"),
    path("<report_day:day>/", views.of_day, name="day"),
]

"""A report taken away: its files, and its mails sent once more."""

from __future__ import annotations

import json
import logging

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dealing.people import overseer_required, required
from dealing.permissions import May

from . import deliver, files
from .api import as_json
from .models import AuditReport, ReportDelivery
from .selectors import reports_of

logger = logging.getLogger(__name__)


@require_safe
@never_cache
@overseer_required
def file(request: HttpRequest, pk: int, ending: str) -> HttpResponseBase:
    """The report as PDF, XLSX, CSV or JSON; `?lang=` asks for another language than the page's."""
    report = get_object_or_404(reports_of(request.user).defer(None).select_related("venue"), pk=pk)
    if ending == "json":
        content = json.dumps(as_json(report, request), ensure_ascii=False, indent=1).encode()
        return _download(report, ending, content, "application/json")
    if ending not in files.MEDIA_TYPES:
        raise Http404(_("There is no such file."))
    asked = request.GET.get("lang", "")
    language = asked if asked in dict(settings.LANGUAGES) else get_language() or settings.LANGUAGE_CODE
    try:
        content = files.content_of(report, ending, language)
    except files.NotMade:
        return render(request, "reports/not_made.html", {"report": report, "kind": ending.upper()}, status=503)
    return _download(report, ending, content, files.MEDIA_TYPES[ending])


def _download(report: AuditReport, ending: str, content: bytes, media_type: str) -> HttpResponse:
    # A PDF is looked at in the browser; everything else goes to whatever opens it.
    shown = "inline" if ending == "pdf" else "attachment"
    return HttpResponse(
        content,
        content_type=media_type,
        headers={
            "Content-Disposition": f'{shown}; filename="{files.download_name(report, ending)}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@require_POST
@required(May.RUN_AUDIT)
def send_again(request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
    """Have a mail go out that was given up or still waits."""
    report = get_object_or_404(reports_of(request.user), pk=pk)
    found = get_object_or_404(
        ReportDelivery.objects.select_related("member__user").exclude(status=ReportDelivery.Status.SENT),
        pk=delivery,
        report=report.pk,
    )
    deliver.send_again(found)
    deliver.send_soon()
    found.refresh_from_db()
    if found.status == ReportDelivery.Status.SENT:
        messages.success(request, _("The mail to %(address)s is sent.") % {"address": found.address})
    elif found.error:
        messages.error(
            request,
            _("The mail to %(address)s could not be sent: %(why)s")
            % {"address": found.address, "why": deliver.reason_of(found)},
        )
    else:
        messages.success(request, _("The mail to %(address)s goes out within a minute.") % {"address": found.address})
    return redirect("reports:report", report.pk)

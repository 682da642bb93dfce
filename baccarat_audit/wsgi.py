"""WSGI entry point (gunicorn baccarat_audit.wsgi)."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")

_people = get_wsgi_application()

from django.urls import get_resolver  # noqa: E402

from baccarat_audit.bodies import Bodies  # noqa: E402  # these need the applications that were just loaded
from baccarat_audit.lanes import DeviceHandler, Lanes  # noqa: E402

application = Bodies(Lanes(_people, DeviceHandler()))
_ = get_resolver().url_patterns  # all pages are loaded now, and not while the first of those who come waits for one

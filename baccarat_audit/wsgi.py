"""WSGI entry point (gunicorn baccarat_audit.wsgi)."""

import os

from django.core.wsgi import get_wsgi_application

from baccarat_audit.bodies import Bodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")

application = Bodies(get_wsgi_application())

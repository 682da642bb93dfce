"""The project's settings as the suite runs them: its own database names, cheap passwords, no collected files."""

import os

os.environ.setdefault("SECRET_KEY", "only-for-the-suite-" + "x" * 40)

from baccarat_audit.settings import *  # noqa: F403
from baccarat_audit.settings import CACHES, DATABASES, STORAGES, VAR_DIR

_worker = f"{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
_name = os.environ.get("TEST_DB_NAME")
_database = DATABASES["default"]
if _database["ENGINE"] == "django.db.backends.sqlite3":
    # A file and not memory: the live server's threads need connections of their own, as in real life.
    (VAR_DIR / "tests").mkdir(parents=True, exist_ok=True)
    _database["TEST"] = {"NAME": str(VAR_DIR / "tests" / f"{_name or os.getpid()}.sqlite3")}
    _database["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
else:
    # A server set up without a locale would otherwise make the database in plain ASCII.
    _database["TEST"] = {"NAME": _name, "CHARSET": "UTF8", "TEMPLATE": "template0"}
# Keys and signed copies of the suite's own: a real house's are neither made nor looked at.
KEYS_DIR = VAR_DIR / "tests" / "keys"
HEADS_DIR = VAR_DIR / "tests" / f"heads-{_worker}"
CACHES["default"]["KEY_PREFIX"] = f"tests-{_worker}"

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
CELERY_TASK_ALWAYS_EAGER = True

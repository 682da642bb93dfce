"""The settings, all in this file; what differs between two places comes from the environment.

DATABASE_URL          postgres://... or sqlite:///...; left out: the SQLite file var/db.sqlite3
REDIS_URL             redis://...: cache and Celery broker; left out: a cache in memory, tasks run where they are called
ALLOWED_HOSTS         comma-separated host names the site is published under; left out: this machine only
SECRET_KEY            required once ALLOWED_HOSTS is set; for this machine only, a random one is kept in var/
SECRET_KEY_FALLBACKS  comma-separated earlier ones, from newest to oldest: sessions and authenticator apps go on working
HTTPS                 default: on once ALLOWED_HOSTS is set. Secure cookies, redirect, HSTS
BEHIND_PROXY          1 where a proxy ends TLS and sets (and never passes on) X-Forwarded-Proto
PROXIES               how many proxies stand one behind the other before this server, each adding to X-Forwarded-For;
                      default 1 with BEHIND_PROXY, else 0
CSRF_TRUSTED_ORIGINS  comma-separated, where a proxy changes the host name
HSTS_SECONDS          default one year
VAR_DIR               where the SQLite file and the kept secret key live; default var/
KEYS_DIR              where the keys lie that seal the log and sign its heads, outside the database and its backups;
                      default keys/ in VAR_DIR, made on first use (docs/audit-trail.md)
SEAL_KEYS             the keys that seal the log, in place of seal.keys there: 64 hex digits each, comma-separated, the
                      newest last
HEADS_DIR             where copies of signed heads are kept outside the database; default signed_heads/ in VAR_DIR
SIGNING_KEY           the Ed25519 key that signs the log's heads, as PEM, in place of signing_key.pem there
LOG_LEVEL             default INFO
LOG_FORMAT            line or json (one object a line, with the number of the request); default: json once ALLOWED_HOSTS
                      is set
ACCESS_LOG            default 1: one line a request in the log; 0: none
SITE_URL              the address under which people reach this site, for links in mails; default: https and the first
                      of ALLOWED_HOSTS, else http://localhost:8000
EMAIL_URL             how mails go out: smtp+tls://user:password@host:587, smtp+ssl://...:465, smtp://host:25 (special
                      characters percent-encoded); consolemail:// prints them; left out: kept as files under var/mail
DEFAULT_FROM_EMAIL    whom mails come from; default: audit@ and the host of SITE_URL
SECOND_FACTOR         required: managers and administrators get nothing without one; optional: who set one up gives it.
                      Default: required once ALLOWED_HOSTS is set
LOCKOUT_MINUTES       how long wrong passwords keep out; default 15
SESSION_IDLE_MINUTES  after how long the session of a manager, auditor or administrator ends that is left alone; default
                      60, 0: never. Those who record and supervise work at a table all night and are not sent away
SESSIONS_PER_PERSON   how many sessions somebody may have at once; the oldest ends; default 10
METRICS_TOKEN         what Prometheus sends as bearer token to read /metrics; left out: managers and auditors only
AUDIT_AFTER_CLOSE     minutes from the end of a gaming day to its audit; default 5
AUDIT_TICK            seconds between two looks at what is to be audited; default 60
AUDIT_LEASE           seconds without a sign of life after which a table's audit is another worker's; default 60
AUDIT_RESEND          seconds after which a table's audit that no worker has begun is sent again; default 300
BODY_SECONDS          how long a client may take to send a request of up to 1 MB (larger ones longer); default 20
FEED_SECONDS          how long one connection to a table's live feed lasts; the client then comes again; default 25
FEEDS_PER_PROCESS     how many live feeds a process of gunicorn serves at once, each on a thread of its own; default 2
WEBHOOK_PRIVATE_NETWORKS  comma-separated networks (10.20.0.0/16) inside the house that webhooks may be sent to; left
                      out: public addresses only, and where the site is not published this machine
WEBHOOK_KEYS          comma-separated: the first seals the secrets of webhooks, all of them open; left out: SECRET_KEY
MIGRATE_LOCK_SECONDS  on PostgreSQL, how long a schema change may make recording wait before it gives way; default 2
MIGRATE_PATIENCE      seconds for which `migrate` then tries again; default 600
DEBUG                 1 on a developer's machine; never where people can reach it

Each of them may also stand in a file that NAME_FILE names, as container engines and systemd hand over secrets.

Importing this module opens no database and no socket: `audit_log` runs without either.
"""

import os
import secrets
import tempfile
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from celery.schedules import crontab
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from baccarat_audit.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()
VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var")))
# The keys of the log's evidence. Whoever holds them and the database can rewrite the past: they are kept apart from it.
KEYS_DIR = Path(env.str("KEYS_DIR", default=str(VAR_DIR / "keys")))
SEAL_KEYS = env.str("SEAL_KEYS", default="")
SIGNING_KEY = env.str("SIGNING_KEY", default="")
HEADS_DIR = Path(env.str("HEADS_DIR", default=str(VAR_DIR / "signed_heads")))
DEBUG = env.bool("DEBUG", default=False)

# Hosts and secrets: nobody but this machine is served until somebody says under which name.

PUBLISHED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=[])
ALLOWED_HOSTS = PUBLISHED_HOSTS or ["localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])


def kept_secret_key(path: Path) -> str:
    """The secret key in ``path``, made on first use and readable by its owner only.

    Empty where the folder cannot be written: Django then refuses whatever needs a key, and commands that need none run.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Written aside and linked into place: of two first starts one wins, and none reads half a key.
            with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:
                file.write(secrets.token_urlsafe(50))
                file.flush()
                try:
                    os.link(file.name, path)
                except FileExistsError:
                    pass
        return path.read_text().strip()
    except OSError:
        return ""


SECRET_KEY = env.str("SECRET_KEY", default="")
if not SECRET_KEY:
    if PUBLISHED_HOSTS and not DEBUG:
        raise ImproperlyConfigured("Set SECRET_KEY: ALLOWED_HOSTS publishes this site, and DEBUG is off.")
    SECRET_KEY = kept_secret_key(VAR_DIR / "secret_key")

SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])

# What runs.

INSTALLED_APPS = [
    "baccarat_audit.admin_apps.HouseAdmin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_celery_beat",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "baccarat_audit.operations",
    "dealing",
    "dealing.devices",
    "dealing.accounts",
    "incidents",
    "incidents.trail",
    "incidents.webhooks",
]

MIDDLEWARE = [
    "baccarat_audit.request_ids.RequestIdMiddleware",
    "baccarat_audit.addresses.NoNulMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "dealing.accounts.middleware.HeadersMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dealing.accounts.middleware.SecondFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dealing.people_middleware.LoginRedirectMiddleware",
    "dealing.people_middleware.YearsMiddleware",
    "axes.middleware.AxesMiddleware",
]
# Of these what a device needs that records with its key (`baccarat_audit.lanes`).
DEVICE_MIDDLEWARE = [
    "baccarat_audit.request_ids.RequestIdMiddleware",
    "baccarat_audit.addresses.NoNulMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "baccarat_audit.lanes.DeviceHeaders",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
]

ROOT_URLCONF = "baccarat_audit.urls"
WSGI_APPLICATION = "baccarat_audit.wsgi.application"
ASGI_APPLICATION = "baccarat_audit.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "incidents.context.open_incidents",
            ],
        },
    },
]

# Services.


def database(url: dict[str, Any]) -> dict[str, Any]:
    """The settings of one database from its parsed URL."""
    settings = {**url, "CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}
    if settings["ENGINE"] == "django.db.backends.sqlite3":
        settings["OPTIONS"] = {
            **settings.get("OPTIONS", {}),
            # IMMEDIATE: a transaction that will write waits for its turn at BEGIN, and not in the middle, where SQLite
            # cannot wait and fails. WAL: readers do not wait for the writer.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,  # seconds
            "init_command": "PRAGMA journal_mode=WAL;",
        }
    elif settings["ENGINE"] == "django.db.backends.postgresql":
        settings["OPTIONS"] = {
            # Planned once and then only run: half the time of the short statements that recording is made of. A pooler
            # in front of the database has to keep prepared statements (pgbouncer from 1.21, max_prepared_statements).
            "server_side_binding": True,
            "prepare_threshold": 3,
            **settings.get("OPTIONS", {}),
        }
    return settings


DATABASES = {"default": database(env.db_url("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'db.sqlite3'}"))}
# `migrate` beside people who record, see baccarat_audit/operations/migrating.py.
MIGRATE_LOCK_SECONDS = env.float("MIGRATE_LOCK_SECONDS", default=2.0)
MIGRATE_PATIENCE = env.float("MIGRATE_PATIENCE", default=600.0)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.str("REDIS_URL", default="")
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_ALWAYS_EAGER = not REDIS_URL
CELERY_TASK_IGNORE_RESULT = True  # what was done is said by rows in the database
# A task is acknowledged when it is done and given to another worker when its worker dies: every task is idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # it goes on, and what it comes to is kept
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker that vanished has its task given to another after so many seconds (the audit does not wait for that, see
# AUDIT_LEASE). A server that does not answer holds nobody up for longer than the rest says.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 15 * 60,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "retry_on_timeout": True,
}
CELERY_TIMEZONE = "UTC"
# How the nightly audit keeps time, see above.
AUDIT_TICK = env.int("AUDIT_TICK", default=60)
AUDIT_LEASE = env.int("AUDIT_LEASE", default=60)
AUDIT_RESEND = env.int("AUDIT_RESEND", default=300)
# The schedule lives in the database and is put there from here; what is due is worked out from the venues' own clocks.
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_SCHEDULE = {
    "verify-tables": {"task": "dealing.tasks.verify_tables", "schedule": crontab(hour=23, minute=30)},
    "audit-nights": {
        "task": "incidents.reports.tasks.audit_nights",
        "schedule": AUDIT_TICK,
        "options": {"expires": AUDIT_TICK},  # of those that wait while nobody works one is enough
    },
    "send-reports": {"task": "incidents.reports.tasks.send_reports", "schedule": crontab(minute="*")},
    "send-webhooks": {
        "task": "incidents.webhooks.tasks.send_webhooks",
        "schedule": crontab(minute="*"),
        "options": {"expires": 60},
    },
}
DJANGO_CELERY_BEAT_TZ_AWARE = True
CELERY_BEAT_SYNC_EVERY = 1  # when a task was last sent is stored at once: pages say whether the scheduler is alive

# The nightly audit begins so many minutes after a gaming day's end: the hand in play is over by then.
AUDIT_AFTER_CLOSE = env.int("AUDIT_AFTER_CLOSE", default=5)

# Mail. The reports of the night go out by it.

SITE_HOST = next((name for name in PUBLISHED_HOSTS if not name.startswith((".", "*"))), "")
SITE_URL = env.str("SITE_URL", default=f"https://{SITE_HOST}" if SITE_HOST else "http://localhost:8000").rstrip("/")
if env.str("EMAIL_URL", default=""):
    _mail = env.email_url("EMAIL_URL")
    EMAIL_BACKEND = _mail["EMAIL_BACKEND"]
    EMAIL_FILE_PATH = _mail["EMAIL_FILE_PATH"]
    EMAIL_HOST = _mail["EMAIL_HOST"] or "localhost"
    EMAIL_PORT = _mail["EMAIL_PORT"] or 25
    EMAIL_HOST_USER = _mail["EMAIL_HOST_USER"] or ""
    EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_PASSWORD"] or ""
    EMAIL_USE_TLS = _mail.get("EMAIL_USE_TLS", False)
    EMAIL_USE_SSL = _mail.get("EMAIL_USE_SSL", False)
else:
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = str(VAR_DIR / "mail")
EMAIL_TIMEOUT = 30  # seconds; shorter than a mail is claimed for
DEFAULT_FROM_EMAIL = env.str(
    "DEFAULT_FROM_EMAIL", default=f"Baccarat audit <audit@{urlsplit(SITE_URL).hostname or 'localhost'}>"
)

# Webhooks: other programs that are told what happens here.


def networks(texts: list[str]) -> list[IPv4Network | IPv6Network]:
    """The networks. Raises ImproperlyConfigured for what is none."""
    try:
        return [ip_network(text.strip()) for text in texts]
    except ValueError as error:
        raise ImproperlyConfigured(f"WEBHOOK_PRIVATE_NETWORKS: {error}") from error


WEBHOOK_PRIVATE_NETWORKS = networks(
    env.list("WEBHOOK_PRIVATE_NETWORKS", default=[] if PUBLISHED_HOSTS else ["127.0.0.0/8", "::1/128"])
)
WEBHOOK_KEYS: list[str] = env.list("WEBHOOK_KEYS", default=[])

# Whoever watches the server.

METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# People.

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "dealing.people_backend.PeopleBackend"]
SESSION_ENGINE = "dealing.people_backend"
SESSION_SERIALIZER = "django.contrib.sessions.serializers.JSONSerializer"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "dealing.accounts.passwords.NotLikeThePerson"},
    {"NAME": "dealing.accounts.passwords.LongEnough", "OPTIONS": {"min_length": 10}},
    {"NAME": "dealing.accounts.passwords.NotCommon"},
    {"NAME": "dealing.accounts.passwords.NotDigitsAlone"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# A second factor, and for whom it is: `dealing.accounts.factors`, `dealing.permissions.SECOND_FACTOR`.
_second_factor = env.str("SECOND_FACTOR", default="required" if PUBLISHED_HOSTS else "optional")
if _second_factor not in ("required", "optional"):
    raise ImproperlyConfigured(f"SECOND_FACTOR is “required” or “optional”, not “{_second_factor}”.")
SECOND_FACTOR_REQUIRED = _second_factor == "required"
OTP_TOTP_ISSUER = f"Baccarat audit {urlsplit(SITE_URL).hostname or ''}".strip()

# Wrong passwords are counted by django-axes; how many are enough stands in `dealing.accounts.limits`.
AXES_HANDLER = "dealing.accounts.limits.Limits"
AXES_LOCKOUT_CALLABLE = "dealing.accounts.limits.locked_page"
AXES_CLIENT_IP_CALLABLE = "dealing.accounts.addresses.address_of"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=env.int("LOCKOUT_MINUTES", default=15))
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True  # `accounts.SecurityEvent` is the log
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

SESSION_COOKIE_AGE = 12 * 60 * 60  # seconds from the log-in: no shift is longer
SESSION_IDLE_MINUTES = env.int("SESSION_IDLE_MINUTES", default=60)
SESSIONS_PER_PERSON = env.int("SESSIONS_PER_PERSON", default=10)
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "baccarat_audit.errors.csrf_failure"

# The API. Devices with their key and whoever is logged in on the pages may ask; JSON alone; errors as problem details.

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "dealing.devices.authentication.DeviceKeyAuthentication",
        "baccarat_audit.api.PageSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "dealing.api.schema.ApiSchema",
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "baccarat_audit.api.problem",
    "DATETIME_FORMAT": "iso-8601",
    "COERCE_DECIMAL_TO_STRING": True,
}

# A table's live feed. Under gunicorn each holds a thread: the rest of the threads is for those who record. An ASGI
# server (`baccarat_audit.asgi`) holds none for them.
FEED_SECONDS = env.int("FEED_SECONDS", default=25)
FEEDS_PER_PROCESS = env.int("FEEDS_PER_PROCESS", default=2)

# The description of the API; what the operations have in common says `dealing.api.schema`.
SPECTACULAR_SETTINGS = {
    "TITLE": "Baccarat audit",
    "VERSION": "1",
    "DESCRIPTION": "Tables, shoes, hands and their log as it is recorded, what the judge finds in them, incidents and "
    "what managers decided, and the reports of the night. Errors are problem details (RFC 9457); lists come in pages, "
    "and `next` leads on. Times are ISO 8601 with their offset, money is text.",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [],  # choices stand where they are chosen from, under no name of their own
    "TAGS": [
        {"name": "Tables", "description": "What happens at the tables: also for devices, of their own tables."},
        {"name": "Incidents", "description": "What went wrong, and what was decided."},
        {"name": "Reports", "description": "The nights and months."},
        {"name": "API", "description": "Where to begin."},
    ],
}

# The wire. A body is there in good time, or refused (`baccarat_audit.bodies`).

BODY_SECONDS = env.int("BODY_SECONDS", default=20)

HTTPS = env.bool("HTTPS", default=bool(PUBLISHED_HOSTS) and not DEBUG)
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health/$", r"^metrics$"]  # asked by a balancer, and by Prometheus, from inside
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
if HTTPS:
    # Browsers take cookies of such a name from this very host alone, by https, for all of it.
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
LANGUAGE_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=365 * 24 * 60 * 60) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
PROXIES = env.int("PROXIES", default=int(BEHIND_PROXY))
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Being in the browsers' preload list is for the owner of the whole domain to decide.
SILENCED_SYSTEM_CHECKS = ["security.W021"]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

# Languages and times.

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("th", _("Thai"))]
LOCALE_PATHS = [BASE_DIR / "baccarat_audit" / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True

# Static files: collected, named by their content and compressed; straight from the source folders while developing.

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Uploads: no more of them is read than any page takes; on the disk they are nobody else's, and nothing that can be run.

FILE_UPLOAD_HANDLERS = [
    "baccarat_audit.uploads.Limit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700

# Everything worth saying goes to standard error, one line an event, times in UTC.

LOG_FORMAT = env.str("LOG_FORMAT", default="json" if PUBLISHED_HOSTS else "line")
if LOG_FORMAT not in ("line", "json"):
    raise ImproperlyConfigured(f"LOG_FORMAT is “line” or “json”, not “{LOG_FORMAT}”.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "baccarat_audit.logs.LineFormatter"},
        "json": {"()": "baccarat_audit.logs.JsonFormatter"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "django": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "propagate": False},  # the lines of the ASGI server
        "baccarat_audit.access": {"level": "NOTSET" if env.bool("ACCESS_LOG", default=True) else "ERROR"},
        # It writes what was typed as a name, which may be a password; ours are in `dealing.accounts.events`.
        "axes": {"level": "ERROR"},
    },
}

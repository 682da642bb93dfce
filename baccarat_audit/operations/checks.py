"""What `manage.py check` says of settings with which the product would start and then not work.

A value of the wrong form (a number that is none) ends every command by itself, with the name of the setting. Here stand
those that can be read and are wrong all the same. Each message names the setting as it stands in the environment.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection

from dealing.rules.rulesets import HOUSE_FOLDER, RulesetError, load_ruleset, ruleset_names

EXAMPLE: Final = "change-me"
#: Settings that are a count or a time and must be more than nothing.
POSITIVE: Final = ("AUDIT_TICK", "AUDIT_LEASE", "AUDIT_RESEND", "FEED_SECONDS", "MIGRATE_LOCK_SECONDS")
NOT_NEGATIVE: Final = ("AUDIT_AFTER_CLOSE", "MIGRATE_PATIENCE", "SESSION_IDLE_MINUTES", "FEEDS_PER_PROCESS", "PROXIES")

Problem = tuple[str, str, str]  # the setting, what is wrong with it, what to do


def _errors(problems: Iterator[Problem], number: int, kind: type[Error | Warning] = Error) -> list[CheckMessage]:
    return [
        kind(f"{name} {what}", hint=hint, id=f"operations.{kind.__name__[0]}{number:03}")
        for name, what, hint in problems
    ]


def _folder_problem(path: Path) -> str | None:
    """Why files cannot be kept in a folder; None where they can, or where it will be made."""
    there = next(one for one in (path, *path.parents) if one.exists())
    if not there.is_dir():
        return f"names {path}, and {there} is a file"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"names {path}, and {there} may not be written to by {_me()}"
    return None


def _me() -> str:
    return f"user {os.geteuid()}"


@register()
def folders(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Folders that are written to while people work. Warnings: commands on files run without them."""

    def look() -> Iterator[Problem]:
        for name in ("VAR_DIR", "HEADS_DIR"):
            problem = _folder_problem(Path(getattr(settings, name)))
            if problem:
                yield name, problem, "Give the folder to the user that the services run as."

    return _errors(look(), 1, Warning)


@register()
def services(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Addresses of services."""

    def look() -> Iterator[Problem]:
        database = settings.DATABASES["default"]
        known = ("django.db.backends.postgresql", "django.db.backends.sqlite3")
        if database["ENGINE"] not in known:
            yield "DATABASE_URL", f"names {database['ENGINE'] or 'no database'}", "Use postgres://… or sqlite:///…"
        elif not database["NAME"]:
            yield "DATABASE_URL", "names no database", "postgres://user:password@host:5432/NAME"
        elif database["PASSWORD"] == EXAMPLE:
            yield "DATABASE_URL", "has the password of the example", "Give the database's role a password of its own."
        scheme = urlsplit(settings.REDIS_URL).scheme
        if settings.REDIS_URL and scheme not in ("redis", "rediss", "unix"):
            yield "REDIS_URL", f"begins with {scheme or 'nothing'}", "Use redis://host:6379/0 or rediss://…"
        site = urlsplit(settings.SITE_URL)
        if site.scheme not in ("http", "https") or not site.hostname:
            yield "SITE_URL", f"is {settings.SITE_URL!r}, which is no address", "Use https://host"
        for origin in settings.CSRF_TRUSTED_ORIGINS:
            if not urlsplit(origin).scheme:
                yield "CSRF_TRUSTED_ORIGINS", f"has {origin!r}, without https://", "Use https://host"

    return _errors(look(), 2)


@register()
def rulesets(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """The house's own rulesets; whether each file can be used."""

    def look() -> Iterator[Problem]:
        folder = os.environ.get(HOUSE_FOLDER, "")
        if not folder:
            return
        if not Path(folder).is_dir():
            yield HOUSE_FOLDER, f"names {folder}, which is no folder", "Name a folder with rulesets, or nothing."
            return
        if not os.access(folder, os.R_OK | os.X_OK):
            yield HOUSE_FOLDER, f"names {folder}, which may not be read by {_me()}", "Let the services read it."
            return
        for path in sorted(Path(folder).glob("*.toml")):
            try:
                load_ruleset(path)
            except RulesetError as error:
                more = f", and {len(error.problems) - 1} more" if len(error.problems) > 1 else ""
                yield (
                    HOUSE_FOLDER,
                    f"has {path.name}, which cannot be used: {error.problems[0]}{more}",
                    f"manage.py check_ruleset {path}",
                )

    return _errors(look(), 6)


@register(Tags.database)
def tables(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **options: Any
) -> list[CheckMessage]:
    """Tables whose ruleset is not installed (`check --database default`, and `migrate`)."""
    from dealing.models import Table

    if not databases or DEFAULT_DB_ALIAS not in databases:
        return []
    try:
        if Table._meta.db_table not in connection.introspection.table_names():
            return []  # still to be migrated
        used = list(Table.objects.filter(is_active=True).order_by("code").values_list("code", "ruleset"))
    except DatabaseError:
        return []  # a database that is older, or not there, is told by whatever is done with it
    known = set(ruleset_names())
    return [
        Error(
            f"table {code} deals by ruleset {ruleset!r}, which is not installed",
            hint=f"Put {ruleset}.toml into the folder that {HOUSE_FOLDER} names, or give the table another.",
            id="operations.E007",
        )
        for code, ruleset in used
        if ruleset not in known
    ]


@register()
def numbers(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Counts and times."""

    def look() -> Iterator[Problem]:
        for names, least in ((POSITIVE, 1), (NOT_NEGATIVE, 0)):
            for name in names:
                value = getattr(settings, name)
                if value < 0 or (least and value == 0):
                    yield name, f"is {value}", "Use a number greater than 0." if least else "Use 0 or more."

    return _errors(look(), 3)


@register()
def words(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """Settings that are one of a few words."""

    def look() -> Iterator[Problem]:
        logging_settings: Any = settings.LOGGING
        level = logging_settings["root"]["level"]
        if not isinstance(level, int) and level not in logging.getLevelNamesMapping():
            yield "LOG_LEVEL", f"is {level!r}", "Use DEBUG, INFO, WARNING or ERROR."
        if settings.LOG_FORMAT not in ("line", "json"):
            yield "LOG_FORMAT", f"is {settings.LOG_FORMAT!r}", "Use line or json."

    return _errors(look(), 4)


@register()
def published(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    """What is dangerous once others can reach the site."""

    def look() -> Iterator[Problem]:
        if not settings.PUBLISHED_HOSTS or settings.DEBUG:
            return
        if len(settings.SECRET_KEY) < 50 or len(set(settings.SECRET_KEY)) < 5:
            yield (
                "SECRET_KEY",
                "is too short or too plain",
                "python3 -c 'import secrets; print(secrets.token_urlsafe(50))'",
            )
        if "*" in settings.PUBLISHED_HOSTS:
            yield "ALLOWED_HOSTS", "lets every host name in", "Name the hosts."
        if settings.METRICS_TOKEN and not re.fullmatch(r"[!-~]{16,}", settings.METRICS_TOKEN):
            yield (
                "METRICS_TOKEN",
                "is shorter than 16 characters, or has others than a header takes",
                "Use a longer one.",
            )

    return _errors(look(), 5)

"""Settings from the environment, each of them also from a file: for NAME, NAME_FILE may name one that holds the value.

That is how container engines and systemd hand over secrets. The end of the file's last line is not part of the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured
from environ.fileaware_mapping import FileAwareMapping


class _Values(FileAwareMapping):
    def __getitem__(self, key: str) -> str:
        try:
            return str(super().__getitem__(key)).rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "is no text in UTF-8"
            raise ImproperlyConfigured(f"{key}_FILE: {self.env.get(f'{key}_FILE')}: {why}") from error


class Environment(environ.FileAwareEnv):
    """Reads settings. Raises `ImproperlyConfigured`, naming the variable, for what cannot be read."""

    ENVIRON = _Values()

    def get_value(self, var: Any, *arguments: Any, **named: Any) -> Any:
        """See the library."""
        with _naming(var):
            return super().get_value(var, *arguments, **named)

    def db_url(self, var: Any = "DATABASE_URL", *arguments: Any, **named: Any) -> Any:
        """See the library."""
        with _naming(var):
            return super().db_url(var, *arguments, **named)

    def email_url(self, var: Any = "EMAIL_URL", *arguments: Any, **named: Any) -> Any:
        """See the library."""
        with _naming(var):
            return super().email_url(var, *arguments, **named)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say which variable it is that cannot be read. Its value may be a secret, and is not said."""
    try:
        yield
    except ImproperlyConfigured as error:
        raise error if name in str(error) else ImproperlyConfigured(f"{name}: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ImproperlyConfigured(
            f"{name}: its value cannot be read; see deploy/baccarat-audit.env.example"
        ) from error

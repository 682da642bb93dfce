"""Settings from the environment, each of them also from a file: for NAME, NAME_FILE may name one that holds the value.

That is how container engines and systemd hand over secrets. The end of the file's last line is not part of the value.
"""

from __future__ import annotations

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

"""A sheet between two steps of the page: the file as it was sent and what was said of it, under `VAR_DIR/sheets`.

Each lies in a folder with a random name, readable by the server's own user alone, and belongs to one person; a day
after the last step it is forgotten.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from django.conf import settings

#: How long a sheet is kept, in seconds, and how many of one person.
LIFE: Final = 24 * 60 * 60
MOST: Final = 10
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")
_FILE, _STATE, _FOUND = "file", "state.json", "found.json"


@dataclass(slots=True)
class Kept:
    """A sheet that somebody is reading in. `mapping` and `filling`: as the form has them; `stored`: what storing it
    came to, once it is stored.
    """

    token: str
    user: int
    venue: int
    name: str
    #: How the file is read: sheet, encoding, separator.
    reading: dict[str, str] = field(default_factory=dict)
    mapping: dict[str, Any] = field(default_factory=dict)
    filling: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, Any] | None = None

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return _root() / self.token

    def data(self) -> bytes:
        """The file as it was sent. OSError where it is gone."""
        return (self.folder / _FILE).read_bytes()

    def save(self) -> None:
        """Keep what was said of it. OSError where there is no room."""
        _write(self.folder / _STATE, json.dumps(asdict(self), ensure_ascii=False).encode())
        os.utime(self.folder)

    def save_found(self, found: dict[str, Any]) -> None:
        """Keep what was found in it."""
        _write(self.folder / _FOUND, json.dumps(found, ensure_ascii=False).encode())

    def found(self) -> dict[str, Any] | None:
        """What was found in it; None before it was looked at."""
        try:
            told = json.loads((self.folder / _FOUND).read_bytes())
        except (OSError, ValueError):
            return None
        return told if isinstance(told, dict) else None

    def forget_found(self) -> None:
        """What was found does not hold any more."""
        (self.folder / _FOUND).unlink(missing_ok=True)

    def discard(self) -> None:
        """Forget the sheet."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _root() -> Path:
    return Path(settings.VAR_DIR) / "sheets"


def _write(path: Path, data: bytes) -> None:
    """Aside and then into place: nobody reads half of it."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def keep(user: int, venue: int, name: str, data: bytes) -> Kept:
    """Keep a file that somebody sent. OSError where there is no room."""
    sweep()
    for old in sorted(of_person(user), key=lambda one: one.folder.stat().st_mtime, reverse=True)[MOST - 1 :]:
        old.discard()
    kept = Kept(secrets.token_hex(16), user, venue, name)
    kept.folder.mkdir(mode=0o700, parents=True)
    try:
        _write(kept.folder / _FILE, data)
        kept.save()
    except BaseException:
        kept.discard()
        raise
    return kept


def find(user: int, token: str) -> Kept | None:
    """The person's sheet of that token; None where there is none (any more)."""
    kept = _load(token) if _TOKEN.fullmatch(token) else None
    return kept if kept is not None and kept.user == user else None


def _load(token: str) -> Kept | None:
    folder = _root() / token
    try:
        if folder.stat().st_mtime < time.time() - LIFE:
            return None
        return Kept(**json.loads((folder / _STATE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _folders() -> Iterator[Path]:
    try:
        yield from [path for path in _root().iterdir() if _TOKEN.fullmatch(path.name)]
    except OSError:
        return


def of_person(user: int) -> list[Kept]:
    """The sheets that the person is reading in, the newest first."""
    found = [kept for folder in _folders() if (kept := _load(folder.name)) is not None and kept.user == user]
    return sorted(found, key=lambda kept: kept.folder.stat().st_mtime, reverse=True)


def sweep() -> None:
    """Forget what nobody came back to."""
    for folder in _folders():
        try:
            if folder.stat().st_mtime < time.time() - LIFE:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue

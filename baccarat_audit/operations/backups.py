"""A backup is a folder: the database of one moment, the files kept beside it, and a manifest that says what is there.

It is written under another name and gets its own when everything is on the disk: what is called a backup is a whole
one. The keys are not in it (`NOT_IN_IT`); whoever finds a backup can read the record and cannot sign anything.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from django.conf import settings
from django.utils import timezone

from . import snapshots
from .snapshots import Head, SnapshotError

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
FILES: Final = "files"
#: Folders of VAR_DIR that are part of the record: attachments of incidents, files of reports.
FOLDERS: Final = ("media", "reports")
NOT_IN_IT: Final = "SECRET_KEY, the signing keys and the environment file are not in it: keep them elsewhere"
NAME: Final = re.compile(r"\A\d{8}T\d{6}Z\Z")
PARTIAL: Final = ".partial"
TRIAL: Final = ".verify-"
CHUNK: Final = 1 << 20


class BackupError(Exception):
    """A backup that cannot be made, read or put back; the text says why."""


@dataclass(frozen=True)
class Manifest:
    """What `manifest.json` of a backup says."""

    made_at: str
    server: str
    vendor: str
    database: dict[str, Any]  # file, size, sha256
    migrations: list[tuple[str, str]]
    heads: dict[str, Head]
    rows: dict[str, int]
    files: dict[str, dict[str, Any]]  # by path below VAR_DIR: size, sha256

    def write(self, path: Path) -> None:
        """As JSON, one fact a line: to be read by people too."""
        said = {"format": FORMAT, **self.__dict__}
        path.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        path.chmod(0o600)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Raises `BackupError`."""
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            number = said.pop("format")
            if number != FORMAT:
                raise BackupError(f"{path}: is of format {number}, and this version reads format {FORMAT}")
            migrations = [(app, name) for app, name in said.pop("migrations")]
            return cls(migrations=migrations, **said)
        except OSError as error:
            raise BackupError(f"{path}: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BackupError(f"{path}: is no manifest of a backup") from error


@dataclass(frozen=True)
class Backup:
    """A whole backup on the disk."""

    folder: Path
    manifest: Manifest

    @property
    def database(self) -> Path:
        """The snapshot."""
        return self.folder / str(self.manifest.database["file"])


def stamp(now: dt.datetime) -> str:
    """`20261130T030000Z`: the name of a backup begun then."""
    return now.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%SZ")


def whole(folder: Path) -> list[Path]:
    """The backups in a folder of backups, oldest first."""
    return sorted(path for path in folder.iterdir() if NAME.match(path.name) and (path / MANIFEST).is_file())


def find(folder: Path) -> Backup:
    """The backup that a folder is, else the newest in it. Raises `BackupError`."""
    if not folder.is_dir():
        raise BackupError(f"{folder}: is no folder")
    if not (folder / MANIFEST).is_file():
        found = whole(folder)
        if not found:
            raise BackupError(f"{folder}: there is no backup in it")
        folder = found[-1]
    return Backup(folder, Manifest.read(folder / MANIFEST))


# Making one.


def make(parent: Path) -> Backup:
    """Make a backup in a folder of backups. Raises `BackupError`; nothing is left behind then."""
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(parent):
            _sweep(parent)
            return _make(parent)
    except SnapshotError as error:
        raise BackupError(str(error)) from error
    except OSError as error:
        raise BackupError(f"{error.filename or parent}: {error.strerror}") from error


def prune(parent: Path, keep: int) -> list[Path]:
    """Remove the oldest backups so that `keep` are left; those removed. Raises `BackupError`."""
    removed = whole(parent)[:-keep]
    try:
        for old in removed:
            # A backup that is removed in part is no backup: the manifest goes first.
            (old / MANIFEST).unlink()
            shutil.rmtree(old)
    except OSError as error:
        raise BackupError(f"{error.filename}: {error.strerror}") from error
    return removed


@contextlib.contextmanager
def _alone(parent: Path) -> Iterator[None]:
    with open(parent / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"{parent}: another backup is being made") from error
        yield


def _sweep(parent: Path) -> None:
    """Remove what a backup that was killed left: nobody else is at it."""
    for path in parent.iterdir():
        half = path.name.endswith(PARTIAL) and NAME.match(path.name.removesuffix(PARTIAL))
        if half or path.name.startswith(TRIAL):
            shutil.rmtree(path)


def _make(parent: Path) -> Backup:
    began = timezone.now()
    folder = parent / stamp(began)
    if folder.exists():
        raise BackupError(f"{folder}: is there already")
    partial = parent / (folder.name + PARTIAL)
    partial.mkdir(mode=0o700)
    try:
        name = snapshots.file_name()
        contents = snapshots.dump(partial / name)
        os.chmod(partial / name, 0o600)
        # After the database: a file is there before its row is, so every row of the snapshot has its file.
        files = dict(_copy_files(Path(settings.VAR_DIR), partial / FILES))
        size, digest = _digest(partial / name)
        manifest = Manifest(
            made_at=began.isoformat(),
            server=snapshots.server_version(),
            vendor=snapshots.vendor(),
            database={"file": name, "size": size, "sha256": digest},
            migrations=contents.migrations,
            heads=contents.heads,
            rows=contents.rows,
            files=files,
        )
        manifest.write(partial / MANIFEST)
        _to_disk(partial)
        os.rename(partial, folder)
        _sync(parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Backup(folder, manifest)


def _digest(path: Path) -> tuple[int, str]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


def _kept_files(var: Path) -> Iterator[Path]:
    """Every file of the record below VAR_DIR, in order."""
    for name in FOLDERS:
        for folder, below, names in os.walk(var / name):
            below.sort()
            yield from (Path(folder) / one for one in sorted(names) if not one.startswith("."))


def _copy_files(var: Path, target: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in _kept_files(var):
        name = path.relative_to(var)
        try:
            source = path.open("rb")
        except FileNotFoundError:  # thrown away meanwhile, as files of reports may be
            continue
        with source:
            (target / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            size, digest = _copy(source, target / name)
        yield name.as_posix(), {"size": size, "sha256": digest}


def _copy(source: BinaryIO, target: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            out.write(chunk)
    return size, digest.hexdigest()


def _to_disk(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        _sync(path)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


# Looking at one.


def damage(backup: Backup) -> list[str]:
    """What in a backup is missing or not as its manifest says."""
    manifest = backup.manifest
    expected = {str(manifest.database["file"]): manifest.database}
    expected |= {f"{FILES}/{name}": said for name, said in manifest.files.items()}
    wrong = []
    for name, said in expected.items():
        try:
            size, digest = _digest(backup.folder / name)
        except OSError as error:
            wrong.append(f"{name}: {error.strerror}")
            continue
        if (size, digest) != (said["size"], said["sha256"]):
            wrong.append(f"{name}: is not what was backed up ({size} bytes, of {said['size']})")
    return wrong


def rehearse(backup: Backup, *, projections: bool = False) -> tuple[bool, str]:
    """Restore a backup into a database and a folder that are gone afterwards; whether all was well, and what was said.

    By the command itself, in a process of its own: what is tried is what will be done in earnest. Raises `BackupError`.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix=TRIAL, dir=backup.folder.parent) as place,
            snapshots.scratch(Path(place), stamp(timezone.now())) as url,
        ):
            environment = {**os.environ, "DATABASE_URL": url, "VAR_DIR": place, "LOG_LEVEL": "ERROR"}
            environment["KEYS_DIR"] = str(settings.KEYS_DIR)  # they prove what is restored
            environment.pop("DATABASE_URL_FILE", None)
            command = [
                sys.executable,
                str(settings.BASE_DIR / "manage.py"),
                "restore",
                str(backup.folder.resolve()),
            ]
            done = subprocess.run(  # noqa: S603  # our own program, no shell
                [*command, *(["--projections"] if projections else [])],
                env=environment,
                cwd=settings.BASE_DIR,
                capture_output=True,
                text=True,
            )
    except SnapshotError as error:
        raise BackupError(str(error)) from error
    except OSError as error:
        raise BackupError(f"{error.filename or 'the trial'}: {error.strerror}") from error
    return done.returncode == 0, f"{done.stdout}{done.stderr}".strip()

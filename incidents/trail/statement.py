"""The text of signed heads: plain lines, so that what is printed is what is signed.

    baccarat-audit signed heads 1
    house RIVER
    number 12
    previous <SHA-256 of the statement before, or "none">
    signed 2026-11-30T06:05:12.123456+00:00
    report nightly 2026-11-29 1 <SHA-256 of its figures>
    table B01 1203 <hash of the row at that position>
    trail B01 17 <hash>
    trail house 30 <hash>
    key <fingerprint of the key>

Signed are exactly these lines, each with its line feed, in UTF-8. Beneath stands ``signature``, a space, and the
Ed25519 signature in base64. Reading takes the words as they come, wherever lines were broken by a printer or a mail:
between words, or within a hash, a time or the signature; and passes over the `>` with which mails are quoted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

TITLE: Final = "baccarat-audit signed heads 1"
HOUSE_TRAIL: Final = "house"
#: How many words follow the first word of each line.
_WORDS: Final = {"house": 1, "number": 1, "previous": 1, "signed": 1, "report": 4, "table": 3, "trail": 3, "key": 1}
#: How long the last word after the first is: pieces of it are put together again.
_LENGTHS: Final = {"previous": 64, "signed": 32, "report": 64, "table": 64, "trail": 64, "key": 64, "signature": 88}
_QUOTED: Final = re.compile(r"^[ \t]*>[> \t]*", re.MULTILINE)
_TITLE: Final = re.compile(r"baccarat-audit\s+signed\s+heads\s+1\b")

#: A position and the hash there.
End = tuple[int, str]


class StatementError(ValueError):
    """A text that is no statement; says where."""


@dataclass(slots=True)
class Statement:
    """What is signed."""

    house: str
    number: int
    previous: str
    signed: str
    key: str
    reports: list[tuple[str, str, int, str]] = field(default_factory=list)
    tables: dict[str, End] = field(default_factory=dict)
    #: By the table's code; HOUSE_TRAIL for the house's own.
    trails: dict[str, End] = field(default_factory=dict)

    def text(self) -> str:
        """The lines that are signed."""
        lines = [TITLE, f"house {self.house}", f"number {self.number}", f"previous {self.previous}"]
        lines.append(f"signed {self.signed}")
        lines += [f"report {kind} {day} {revision} {digest}" for kind, day, revision, digest in self.reports]
        lines += [f"table {code} {seq} {hashed}" for code, (seq, hashed) in self.tables.items()]
        lines += [f"trail {code} {seq} {hashed}" for code, (seq, hashed) in self.trails.items()]
        return "\n".join([*lines, f"key {self.key}", ""])


def digest(text: str) -> str:
    """What the next statement says of this one."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_all(text: str) -> Iterator[tuple[Statement, bytes]]:
    """Each statement in a text (a file, a mail, a page) with its signature. Raises `StatementError`."""
    text = _QUOTED.sub("", text.replace("\\n", "\n"))  # out of JSON, out of a mail
    for found in _TITLE.finditer(text):
        yield _read(text[found.end() :].split())


def read(text: str) -> Statement:
    """One statement without its signature. Raises `StatementError`."""
    found = _TITLE.match(text)
    if found is None:
        raise StatementError("does not begin as signed heads do")
    return _read([*text[found.end() :].split(), "signature", "AA=="])[0]


def _read(words: list[str]) -> tuple[Statement, bytes]:
    out = Statement("", 0, "", "", "")
    at = 0
    try:
        while words[at] != "signature":
            kind = words[at]
            if kind not in _WORDS:
                raise StatementError(f"{kind[:40]!r} is no word of signed heads")
            end = at + _WORDS[kind]
            last, after = _whole(words, end, kind)
            _take(out, kind, [*words[at + 1 : end], last])
            at = after
        return out, base64.b64decode(_whole(words, at + 1, "signature")[0], validate=True)
    except (IndexError, binascii.Error) as error:
        raise StatementError("ends before its signature does") from error
    except ValueError as error:
        raise error if isinstance(error, StatementError) else StatementError(f"{words[at]}: {error}") from error


def _whole(words: list[str], at: int, kind: str) -> tuple[str, int]:
    """The word at a place, put together from the pieces it was broken into, and the place behind it."""
    word, at = words[at], at + 1
    while word not in ("none", "AA==") and len(word) < _LENGTHS.get(kind, 0) and at < len(words):
        word, at = word + words[at], at + 1
    return word, at


def _take(out: Statement, kind: str, words: list[str]) -> None:
    if kind == "table":
        out.tables[words[0]] = int(words[1]), words[2]
    elif kind == "trail":
        out.trails[words[0]] = int(words[1]), words[2]
    elif kind == "report":
        out.reports.append((words[0], words[1], int(words[2]), words[3]))
    elif kind == "number":
        out.number = int(words[0])
    else:
        setattr(out, kind, words[0])

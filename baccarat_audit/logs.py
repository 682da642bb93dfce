"""The process's own log: the form of a line, what was asked for while it was written, and what never stands in it.

Every request, and every task it leaves to a worker, has a number (`request_id`) that stands in each line written
meanwhile, in the answer's `X-Request-ID` and on the pages that say that something went wrong. A line is plain text, or
one JSON object (`LOG_FORMAT`). This module needs nothing of Django: gunicorn's own lines have the same form.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

FORBIDDEN: Final = 403
_ENCODER: Final = msgspec.json.Encoder(enc_hook=str)
#: What a request may be called by whoever sends it, a proxy say; anything else is passed over.
REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
#: Without what is easily taken for something else when read over the telephone.
_DIGITS: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True, slots=True)
class Context:
    """What is being done: a request, or a task of a worker."""

    request_id: str
    request: Any = None
    task: str = ""


_context: ContextVar[Context | None] = ContextVar("log_context", default=None)


def make_request_id() -> str:
    """A new number, to be read over the telephone: `7K3F-92HD-X4MQ`."""
    number, digits = int.from_bytes(secrets.token_bytes(12)), ""
    for _place in range(12):
        number, digit = divmod(number, len(_DIGITS))
        digits += _DIGITS[digit]
    return f"{digits[:4]}-{digits[4:8]}-{digits[8:]}"


def current() -> Context | None:
    """What is being done here, where that is known."""
    return _context.get()


def enter(context: Context | None) -> Context | None:
    """From now on this is being done here; what was before."""
    before = _context.get()
    _context.set(context)
    return before


def asker(request: Any) -> dict[str, str]:
    """The person or device that asks, where the request has learned that already: a line of the log asks nobody."""
    from django.utils.functional import LazyObject, empty

    user = vars(request).get("user")
    if issubclass(type(user), LazyObject):
        user = object.__getattribute__(user, "__dict__").get("_wrapped", empty)
        if user is empty:
            user = vars(request).get("_cached_user")
    if user is None or not getattr(user, "is_authenticated", False):
        return {}
    device = getattr(user, "device", None)
    return {"device": device.code} if device is not None else {"user": user.get_username()}


def _of(record: logging.LogRecord) -> Context | None:
    """What was being done; Django tells of a refused request after it is answered, and names it."""
    context = _context.get()
    request = getattr(record, "request", None)
    if context is None and (number := getattr(request, "request_id", None)):
        return Context(number, request)
    return context


def details(record: logging.LogRecord) -> dict[str, Any]:
    """What a line says beside its message, as far as it is known."""
    out: dict[str, Any] = {}
    context = _of(record)
    if context is not None:
        out["request_id"] = context.request_id
        if context.task:
            out["task"] = context.task
        if context.request is not None:
            out |= asker(context.request)
            out |= {"method": context.request.method, "path": context.request.path}
    out |= getattr(record, "details", {})
    return out


# What never stands in a line. It is looked for in the finished text, whoever wrote it.

_HIDDEN: Final = "***"
_NAMED: Final = (
    r"authorization|proxy-authorization|cookie|set-cookie|sessionid|csrftoken|csrfmiddlewaretoken|x-csrftoken"
    r"|password\w*|passwd|passphrase|secret\w*|api[_-]?key|access_token|metrics_token|otp[_-]?token"
)
_SECRETS: Final = (
    (re.compile(r"whsec_[A-Za-z0-9+/=]+"), f"whsec_{_HIDDEN}"),
    (re.compile(r"\b(bka_[a-z0-9]{12}_)[A-Za-z0-9_-]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,}"), rf"\1 {_HIDDEN}"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@:]*:[^\s/@]*@"), rf"\1{_HIDDEN}@"),
    # `password=…`, `'Cookie': '…'`, `Cookie: a=1; b=2`: up to the end of the quoted text, else of the word (or header).
    (
        re.compile(
            rf"(?i)\b((?:__host-)?(?:{_NAMED})\\?[\"']?\s*[=:]\s*\[?(?:(?:bearer|basic|token)\s+)?)"
            r"(\\?\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?:[^\s\"'&;,)}\]]+(?:;\s*[\w.-]+=[^\s\"'&;,)}\]]*)*))"
        ),
        rf"\1{_HIDDEN}",
    ),
)
#: Without one of these, in small letters, a text needs no closer look.
_MARKS: Final = (
    *("whsec_", "bka_", "bearer", "basic", "://"),
    *("authorization", "cookie", "sessionid", "csrf", "passw", "passphrase", "secret", "api", "token"),
)


def without_secrets(text: str) -> str:
    """The text with what opens something replaced by asterisks, and what is no character by its number."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    small = text.lower()
    if not any(mark in small for mark in _MARKS):
        return text
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


#: Characters that would end a line in the middle of it, or colour a terminal: nobody writes lines of their own here.
_CONTROL: Final = {
    **{code: f"\\u{code:04x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)},
    **{ord("\n"): "\\n", ord("\r"): "\\r"},
}


class _Formatter(logging.Formatter):
    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 (the library's name)
        """In UTC, ISO 8601, to the millisecond."""
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

    def trace(self, record: logging.LogRecord) -> str:
        """The stack traces of a record, where it has any. A refusal is none: whoever asked may not, and was told so."""
        refused = getattr(record, "status_code", None) == FORBIDDEN
        parts = [self.formatException(record.exc_info)] if record.exc_info and not refused else []
        if record.stack_info:
            parts.append(self.formatStack(record.stack_info))
        return without_secrets("\n".join(parts))


class LineFormatter(_Formatter):
    """One line an event, `time LEVEL logger [request] message`; a stack trace below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        context = _of(record)
        number = f"[{context.request_id}] " if context is not None else ""
        message = without_secrets(record.getMessage()).translate(_CONTROL)
        line = f"{self.formatTime(record)} {record.levelname} {record.name} {number}{message}"
        trace = self.trace(record)
        return f"{line}\n{trace}" if trace else line


class JsonFormatter(_Formatter):
    """One JSON object an event: `time`, `level`, `logger`, `message`; `request_id`, `user` or `device`, `method`,
    `path`, `task` where they are known; `status` and `ms` of a request that is answered; `trace`, the stack traces.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            **details(record),
        }
        if "path" in said:
            said["path"] = without_secrets(said["path"])
        if trace := self.trace(record):
            said["trace"] = trace
        return _ENCODER.encode(said).decode()


def formatter(environment: Mapping[str, str]) -> logging.Formatter:
    """The formatter that the environment asks for, for who has no settings. See LOG_FORMAT there."""
    asked = environment.get("LOG_FORMAT") or ("json" if environment.get("ALLOWED_HOSTS") else "line")
    return JsonFormatter() if asked == "json" else LineFormatter()

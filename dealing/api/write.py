"""`POST /api/v1/tables/<code>/events/`: devices and other programs record what happens at a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, Final, NoReturn

from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dealing.devices import authentication
from dealing.devices.keys import DeviceUser
from dealing.log import Conflict
from dealing.messages import explain, reason
from dealing.permissions import May, may, refusal, roles
from dealing.rules.events import EventError, decode_line

from .problems import Problem
from .recording import NoSuchTable, Outcome, Refused, record_as_kept, record_in_order
from .recording_schema import record_schema
from .shared import read_position

#: How many events one request may bring.
MOST_EVENTS: Final = 500
#: How many bytes one request may have: that many events, each far longer than any is.
MOST_BYTES: Final = 1024 * 1024

#: Refusals that are not about what happened at the table, but about what has been recorded meanwhile.
_CONFLICTS: Final = frozenset({"key-stored", "table-moved-on"})


def read_body(stream: Any, context: Mapping[str, Any]) -> bytes:
    """The whole body. Raises `Problem` where it is too large, before it is read where it says so itself."""
    if int(context["request"].META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        raise too_large()
    body = bytes(stream.read(MOST_BYTES + 1))
    if len(body) > MOST_BYTES:
        raise too_large()
    return body


def too_large() -> Problem:
    """More than is taken at once."""
    detail = _("One request takes %(events)d events and %(bytes)d bytes at most. Nothing of it was recorded.") % {
        "events": MOST_EVENTS,
        "bytes": MOST_BYTES,
    }
    return Problem("too-large", detail, events=MOST_EVENTS, bytes=MOST_BYTES)


class EventsParser(BaseParser):
    """`application/json`: one event as an object, or an array of events."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The events, in order."""
        try:
            read = decoded(read_body(stream, parser_context))
        except EventError as error:
            why = error.params["detail"] if error.code == "not-json" else explain(error)
            raise Problem("malformed", _("The body is not JSON: %(reason)s") % {"reason": why}) from error
        if not isinstance(read, list | dict):
            raise Problem("malformed", _("The body is neither a JSON object nor an array of such."))
        return read if isinstance(read, list) else [read]


class LinesParser(BaseParser):
    """`application/x-ndjson`: an event a line, as in a log file. A line that is no JSON is an event that is refused."""

    media_type = "application/x-ndjson"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The events, in order; empty lines are none."""
        return [_line(line) for line in read_body(stream, parser_context).splitlines() if line.strip()]


def decoded(text: bytes) -> object:
    """What a text says as JSON. Raises `EventError` where it is none, or an object has a member twice."""
    read = decode_line(text)
    # Of two members of one name it kept the last, and nobody knows which one was meant.
    twice: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) != len(dict(pairs)):
            names = [name for name, _value in pairs]
            twice.append(next(name for name in names if names.count(name) > 1))

    with suppress(ValueError, RecursionError):  # numbers without end: these are refused for what they say
        json.loads(text.decode(), object_pairs_hook=members)
    if twice:
        raise EventError(twice[0], "repeated")
    return read


def _line(line: bytes) -> Any:
    try:
        return decoded(line)
    except EventError as error:
        return error


class ConfirmsKeys(APIView):
    """A view whose POST may begin with a device as this process has kept it: see `dealing.devices.keys.kept`.

    It calls `confirmed` before it does anything on the strength of that; what is refused is refused after it.
    """

    #: Whether the request's user is a device as it was kept.
    as_kept = False

    def confirmed(self) -> None:
        """See that a device is the request's user as it is now. Raises AuthenticationFailed: its key is no good."""
        if self.as_kept:
            self.read_anew()

    def read_anew(self) -> Any:
        """The user of the request, a device as it is at this moment. Raises AuthenticationFailed."""
        self.as_kept = False
        request: Any = self.request
        if isinstance(request.user, DeviceUser):
            request.user, request.auth = authentication.known(authentication.token_of(request))
        return request.user

    def handle_exception(self, exc: Exception) -> Response:
        """Say first of all that a key is no good, or that it cannot be told."""
        if self.as_kept:
            try:
                self.confirmed()
            except (AuthenticationFailed, DatabaseError) as error:
                exc = error
        return super().handle_exception(exc)


class RecordsEvents(ConfirmsKeys):
    """What the view set of a table's events answers to POST; see `docs/devices.md`."""

    params: Mapping[str, Set[str]] = {"record": {"expected_seq", "settlement"}}
    parser_classes: Sequence[type[BaseParser]] = (EventsParser, LinesParser)

    @record_schema
    def record(self, request: Request, table: str) -> Response:
        """Record one event, or several in order; the judge's word on each.

        201: something new was recorded; 200: all of it was there before. An event that is refused ends the batch and is
        answered as a problem, in which `recorded` has the answers for what came before it: that is stored.
        """
        user = request.user
        if not may(user, May.RECORD):
            raise PermissionDenied(refusal(May.RECORD, user) if roles(user) else refusal(May.READ))
        expected, settlement = _asked(request.query_params)
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
            raise Problem("length-required")  # by WSGI it cannot be told where such a body ends
        items = list(request.data)
        if len(items) > MOST_EVENTS:
            raise too_large()
        if not items:
            raise Problem("malformed", _("There is no event in this."))
        try:
            done = record_as_kept(user, table, items, expected_seq=expected, settlement=settlement)
            if done is None:
                self.confirmed()
                done = record_in_order(
                    request.user, table, items, expected_seq=expected, settlement=settlement, again=self.read_anew
                )
        except NoSuchTable as error:
            raise Problem("not-found", _("There is no table %(code)s here.") % {"code": table}) from error
        if done.refused is not None:
            _refuse(items, done, done.refused)
        answer = {"table": table, "events": done.answers}
        return Response(answer, status=status.HTTP_201_CREATED if done.new else status.HTTP_200_OK)


def _asked(params: Mapping[str, str]) -> tuple[int | None, bool]:
    """The position that is expected, and whether the settlement is wanted. Raises `Problem` naming what will not do."""
    settlement = params.get("settlement", "false")
    if settlement not in ("true", "false"):
        raise Problem("invalid", errors={"settlement": [_("Say “true” or “false”.")]})
    text = params.get("expected_seq")
    expected = None if text is None else read_position(text, "expected_seq")
    return expected, settlement == "true"


def _refuse(items: list[Any], done: Outcome, refused: Refused) -> NoReturn:
    error, item = refused.error, items[refused.index]
    key = item.get("key") if isinstance(item, Mapping) else None
    more: dict[str, Any] = {
        "index": refused.index,
        "key": key if isinstance(key, str) else None,
        "recorded": done.answers,
        "not_tried": len(items) - refused.index - 1,
    }
    if isinstance(error, PermissionDenied):
        raise Problem("not-allowed", str(error), **more)
    more |= {"field": error.key, "code": error.code, "reason": reason(error)}
    if isinstance(error, Conflict):
        more["seq"] = error.params["seq"]
    if error.code == "key-stored":
        raise Problem("key-used", explain(error), **more)
    raise Problem("conflict" if error.code in _CONFLICTS else "refused", explain(error), **more)

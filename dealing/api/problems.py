"""Every kind of error that the API answers with (RFC 9457), each with a stable `type`.

The type is an address within this site at which a page explains it; as a text it is the same in every installation, so
that a program may compare it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import APIException

#: Where the page with the explanations is, see `baccarat_audit.api_urls`.
PAGE: Final = "/api/v1/problems/"


class Kind(NamedTuple):
    """A kind of problem: its name in addresses, the HTTP status, what it is, and what to do about it."""

    name: str
    status: int
    title: Promise
    advice: Promise

    @property
    def type(self) -> str:
        """The `type` of the answer."""
        return f"{PAGE}#{self.name}"


_KINDS: Final = (
    Kind(
        "invalid",
        400,
        _("The question cannot be answered as it was put"),
        _("“errors” names each field or filter that will not do, and why. Change these and send it again."),
    ),
    Kind(
        "malformed",
        400,
        _("The text sent cannot be read"),
        _("The body is not JSON in UTF-8. Send it again as one JSON object; nothing was recorded."),
    ),
    Kind(
        "not-logged-in",
        401,
        _("Nobody is logged in"),
        _("Log in on the pages and send the session’s cookie, or send a device’s key: “Authorization: Bearer bka_…”."),
    ),
    Kind(
        "not-allowed",
        403,
        _("This may not be done"),
        _("Your role, or your device, is not allowed to do this. A manager can say who is."),
    ),
    Kind(
        "csrf",
        403,
        _("The session’s token is missing or old"),
        _("Who writes with a session sends its token as “X-CSRFToken”. A device’s key needs none."),
    ),
    Kind(
        "not-found",
        404,
        _("There is nothing here"),
        _("The address names something that does not exist, or that belongs to another house."),
    ),
    Kind(
        "method-not-allowed",
        405,
        _("This cannot be done with this address"),
        _("“Allow” in the answer names the methods that the address knows."),
    ),
    Kind(
        "not-acceptable",
        406,
        _("The answer cannot be had in this form"),
        _("Ask for “application/json”, or leave “Accept” out."),
    ),
    Kind(
        "too-slow",
        408,
        _("What was sent did not arrive whole"),
        _("It took too long, or the connection broke. Nothing was recorded: send it again with the same keys."),
    ),
    Kind(
        "conflict",
        409,
        _("Something else was recorded first"),
        _("The log has moved on since you looked. Read what came, and send again what still holds."),
    ),
    Kind(
        "key-used",
        409,
        _("This key is another event’s"),
        _("The log has another event under this key. It stays refused: find out which of the two is meant."),
    ),
    Kind(
        "length-required",
        411,
        _("How much is sent has to be said first"),
        _("Send the body with its “Content-Length”, and not in chunks."),
    ),
    Kind(
        "too-large",
        413,
        _("Too much was sent at once"),
        _("Nothing of it was recorded. Send it in smaller parts."),
    ),
    Kind(
        "unsupported-media-type",
        415,
        _("The text sent is of a kind that is not read here"),
        _("Send JSON with “Content-Type: application/json”."),
    ),
    Kind(
        "refused",
        422,
        _("The event was refused"),
        _(
            "It cannot have happened as the log stands, or is none. “field” names what of it will not do, “detail” "
            "says why. What came before it is in “recorded”, and stored; it and what came after it are not."
        ),
    ),
    Kind(
        "too-many",
        429,
        _("Too many questions at once"),
        _("Wait for as many seconds as “Retry-After” says, then go on."),
    ),
    Kind(
        "failed",
        500,
        _("Something went wrong here"),
        _("The server’s log says what. What was not confirmed can be sent again with the same keys."),
    ),
    Kind(
        "unavailable",
        503,
        _("This is not available now"),
        _("Try again in a moment. What was not confirmed can be sent again with the same keys."),
    ),
)

#: Every kind by its name, in the order of their status.
KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in _KINDS}
_BY_STATUS: Final = {kind.status: kind for kind in reversed(_KINDS)}


def kind_of(status: int) -> Kind:
    """The kind that speaks for a status where nothing else is known."""
    return _BY_STATUS.get(status) or KINDS["invalid" if status < 500 else "failed"]


class Problem(APIException):
    """An answer of one of the kinds.

    `detail` says what happened in this case, in the reader's language; `more` are further members of the answer, such
    as the key of an event or the position of the log.
    """

    def __init__(self, name: str, detail: str | Promise = "", **more: Any) -> None:
        self.kind = KINDS[name]
        self.status_code = self.kind.status
        self.more = more
        self.wait: int | None = None  #: seconds after which to come again
        super().__init__(str(detail or self.kind.title), name)

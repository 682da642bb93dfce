"""`GET /api/v1/tables/<code>/feed/`: a table's log as it grows, as server-sent events.

Each row of the log is a message with its position as `id`; who comes again with the last one that arrived
(`Last-Event-ID`, or `?after=`) gets what follows it, every row once. A connection lasts some seconds and the client
comes again by itself: so nobody listens on with a key that was revoked, and under gunicorn, where it holds a thread,
what is left over is always enough for recording.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any, Final

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from dealing.models import Table
from dealing.permissions import May

from .news import HUB, Message, read_page
from .problems import Problem
from .recording_schema import feed_schema
from .shared import ApiView, read_position
from .views import table_seen

#: Seconds after which silence is broken, so that both sides know that the other is still there.
HEARTBEAT: Final = 5.0
#: Seconds for which a client may take nothing of what it is sent.
SEND_TIMEOUT: Final = 10.0
#: Seconds after which a client that got no place is to come again.
COME_AGAIN: Final = 5
#: Milliseconds after which a client comes again.
RETRY: Final = 1000
#: How many may listen in a process that holds no thread for them.
MOST_ASYNC: Final = 1000

#: What `baccarat_audit.asgi` finds in the scope of a request, to be called at its end whatever that is.
CLOSE: Final = "baccarat_audit.close"

#: Reads what somebody missed, where no thread of the request's own may wait for the database.
_READERS: Final = ThreadPoolExecutor(2, "feed-reader")


class EventStreamRenderer(JSONRenderer):
    """Lets `Accept: text/event-stream` in; what it renders are problems."""

    media_type = "text/event-stream"
    format = "sse"


class FeedView(ApiView):
    """The live feed of a table."""

    needs = May.READ_TABLE
    params = {"get": {"after"}}
    tag = "Tables"
    renderer_classes = (EventStreamRenderer, JSONRenderer)

    @feed_schema
    def get(self, request: Request, table: str) -> StreamingHttpResponse:
        """Every row of the table's log after a position, and those that are still to come.

        Without a position: those to come. An open connection is a `text/event-stream`: `id` the row's position, `event`
        its name, `data` the row as under `events/`, with the findings it `raised`.
        """
        of = table_seen(request, table)
        after = _after(request, of)
        asked = request._request
        in_loop = isinstance(asked, ASGIRequest)
        if HUB.listeners >= (MOST_ASYNC if in_loop else settings.FEEDS_PER_PROCESS):
            full = Problem("unavailable", _("As many as can listen here are listening. Come again in a moment."))
            full.wait = COME_AGAIN
            raise full
        content: Any
        if isinstance(asked, ASGIRequest):
            content = stream_async(of, after, asked.scope)
            if not connection.in_atomic_block:
                connection.close()  # this thread is the request's, and would keep it for as long as somebody listens
        else:
            content = stream(of, after)
            if (sock := asked.META.get("gunicorn.socket")) is not None:
                sock.settimeout(min(SEND_TIMEOUT, settings.FEED_SECONDS))
        return StreamingHttpResponse(
            content,
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


def _after(request: Request, table: Table) -> int:
    """The position after which the feed begins. Raises `Problem`."""
    text, name = request.headers.get("Last-Event-ID"), "Last-Event-ID"
    if text is None:
        text, name = request.query_params.get("after"), "after"
    if text is None:
        return table.last_seq
    after = read_position(text, name)
    if after > table.last_seq:
        detail = _("The log of table %(table)s is at position %(seq)d, which is before %(after)s.")
        raise Problem(
            "conflict", detail % {"table": table.code, "seq": table.last_seq, "after": text}, seq=table.last_seq
        )
    return after


def _begin(after: int) -> bytes:
    """Where the feed begins: kept by the client as its last position even if nothing comes."""
    return f"retry: {RETRY}\nid: {after}\n\n".encode()


_BEAT: Final = b": still here\n\n"
_END: Final = f": come again\nretry: {RETRY}\n\n".encode()


def _sent(page: list[Message]) -> tuple[bytes, int]:
    return b"".join(text for _seq, text in page), page[-1][0]


def stream(table: Table, after: int) -> Iterator[bytes]:
    """The feed, in a thread that waits."""
    bell = threading.Event()
    end = time.monotonic() + settings.FEED_SECONDS
    with closing(HUB.listen(table, bell.set)) as ear:
        yield _begin(after)
        while (left := end - time.monotonic()) > 0:
            bell.clear()
            page = ear.since(after)
            if page is None:
                page = read_page(table, after)
            if page:
                text, after = _sent(page)
                yield text
            elif not bell.wait(min(left, HEARTBEAT)):
                yield _BEAT
        yield _END


async def stream_async(table: Table, after: int, scope: Any) -> AsyncIterator[bytes]:
    """The feed, in an event loop."""
    loop = asyncio.get_running_loop()
    bell = asyncio.Event()
    end = time.monotonic() + settings.FEED_SECONDS

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended: the server is going down
            loop.call_soon_threadsafe(bell.set)

    with closing(HUB.listen(table, wake)) as ear:
        # What is suspended where a client takes nothing more is not told that it is at an end.
        scope.setdefault(CLOSE, []).append(ear.close)
        yield _begin(after)
        while (left := end - time.monotonic()) > 0:
            bell.clear()
            page = ear.since(after)
            if page is None:
                page = await loop.run_in_executor(_READERS, _read_and_close, table, after)
            if page:
                text, after = _sent(page)
                yield text
                continue
            try:
                await asyncio.wait_for(bell.wait(), min(left, HEARTBEAT))
            except TimeoutError:
                yield _BEAT
        yield _END


def _read_and_close(table: Table, after: int) -> list[Message]:
    try:
        return read_page(table, after)
    finally:
        connection.close()

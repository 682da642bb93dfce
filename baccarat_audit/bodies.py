"""What a client sends is taken whole, in good time, or not at all.

A server in threads waits for a body as long as its client likes, and hands on what came where the client hangs up: a
stake of 1000 could arrive as 10. Here a small body is read before anything else is done, a large one is watched while
it is read; one that takes too long or stops short is answered 408 (a large one: fails in being read).
"""

from __future__ import annotations

import heapq
import io
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings

#: Bytes that are read before anything else is done.
SMALL: Final = 1024 * 1024
#: Bytes a second that a larger body has to come in at, beyond BODY_SECONDS.
PACE: Final = 50_000

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class CutShort(OSError):
    """The body is at an end before it is as long as its sender said, or took too long."""


class Body(io.RawIOBase):
    """A body of which all is read or `CutShort` is raised."""

    def __init__(self, source: Any, length: int) -> None:
        self._source = source
        self._left = length

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, into: Any) -> int:
        """As much as there is room for, or is left."""
        part = self._source.read(min(len(into), self._left))
        if not part and self._left and len(into):
            raise CutShort("the body is not whole")
        self._left -= len(part)
        into[: len(part)] = part
        return len(part)

    def whole(self) -> bytes:
        """All that is left."""
        parts = bytearray(self._left)
        view = memoryview(parts)
        while view:
            view = view[self.readinto(view) :]
        return bytes(parts)


class Watch:
    """Ends the reading from sockets whose time is over: one thread for all of a process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[tuple[float, int, socket.socket]] = []
        self._open: set[int] = set()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, sock: socket.socket | None, seconds: float) -> Iterator[None]:
        """Within, nothing more comes from the socket once so many seconds are over. None: nothing is watched."""
        if sock is None:
            yield
            return
        end, number = time.monotonic() + seconds, next(self._numbers)
        with self._changed:
            self._open.add(number)
            heapq.heappush(self._queue, (end, number, sock))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bodies", daemon=True)
                self._thread.start()
            elif self._queue[0][1] == number:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._open.discard(number)

    def _run(self) -> None:
        with self._changed:
            while True:
                while self._queue and self._queue[0][1] not in self._open:
                    heapq.heappop(self._queue)
                if not self._queue:
                    self._changed.wait(60)
                    continue
                end, number, sock = self._queue[0]
                if (left := end - time.monotonic()) > 0:
                    self._changed.wait(left)
                    continue
                heapq.heappop(self._queue)
                self._open.discard(number)
                try:
                    sock.shutdown(socket.SHUT_RD)
                except OSError:
                    pass  # gone already


WATCH: Final = Watch()


class Bodies:
    """The WSGI application behind this door."""

    def __init__(self, application: Application) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        said = environ.get("CONTENT_LENGTH") or ""
        length = int(said) if said.isascii() and said.isdigit() else 0
        if not length:
            return self.application(environ, start_response)
        body = Body(environ["wsgi.input"], length)
        sock, seconds = environ.get("gunicorn.socket"), settings.BODY_SECONDS
        if length > SMALL:
            environ["wsgi.input"] = io.BufferedReader(body)
            with WATCH.over(sock, seconds + length / PACE):
                return self.application(environ, start_response)
        try:
            with WATCH.over(sock, seconds):
                environ["wsgi.input"] = io.BytesIO(body.whole())
        except OSError:
            return _too_slow(environ, start_response)
        return self.application(environ, start_response)


def _too_slow(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
    """408, before any language is known."""
    if environ.get("PATH_INFO", "").startswith("/api/"):
        from dealing.api.problems import KINDS  # not above: its texts need the settings

        kind = KINDS["too-slow"]
        told = {"type": kind.type, "title": str(kind.title), "status": kind.status, "detail": str(kind.advice)}
        answer, media_type = json.dumps(told).encode(), "application/problem+json"
    else:
        text = "What was sent did not arrive whole. Nothing was recorded; send it again.\n"
        thai = "ข้อมูลที่ส่งมาไม่ครบ ยังไม่มีการบันทึก กรุณาส่งใหม่อีกครั้ง\n"
        answer, media_type = (text + thai).encode(), "text/plain; charset=utf-8"
    headers = [("Content-Type", media_type), ("Content-Length", str(len(answer))), ("Connection", "close")]
    start_response("408 Request Timeout", headers)
    return [answer]

"""A body is taken whole, or nobody behind the door sees it."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterable
from typing import Any

import pytest

from baccarat_audit.bodies import SMALL, Bodies, Body, CutShort, Watch


def answer(sent: bytes, said: str, path: str = "/login/") -> tuple[str, bytes, list[Any]]:
    """Of an application that reads its body: the status, the answer, and what was read."""
    read: list[Any] = []
    status: list[str] = []

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            read.append(environ["wsgi.input"].read())
        except CutShort as error:
            read.append(error)
        start_response("200 OK", [])
        return [b"done"]

    environ = {"CONTENT_LENGTH": said, "wsgi.input": io.BytesIO(sent), "PATH_INFO": path}
    body = b"".join(Bodies(application)(environ, lambda line, headers: status.append(line)))
    return status[0], body, read


def test_what_is_whole_is_passed_on() -> None:
    assert answer(b"stake=1000", "10") == ("200 OK", b"done", [b"stake=1000"])
    assert answer(b"", "") == ("200 OK", b"done", [b""])
    large = b"x" * (SMALL + 1)
    assert answer(large, str(len(large)))[2] == [large]
    # What follows on the same connection is another request.
    assert answer(b"stake=1000GET /", "10")[2] == [b"stake=1000"]


def test_what_is_cut_short_is_seen_by_nobody() -> None:
    status, text, read = answer(b"stake=10", "10")
    assert (status, read) == ("408 Request Timeout", [])
    assert "ส่งใหม่" in text.decode()
    status, text, read = answer(b"{", "10", "/api/v1/tables/B07/events/")
    assert (status, read) == ("408 Request Timeout", [])
    assert b"/api/v1/problems/#too-slow" in text
    (error,) = answer(b"x" * SMALL, str(SMALL + 1))[2]
    assert isinstance(error, CutShort)


def test_lines_of_a_body() -> None:
    lines = io.BufferedReader(Body(io.BytesIO(b"one\ntwo"), 7))
    assert lines.readline() == b"one\n"
    assert lines.read() == b"two"
    assert lines.read() == b""


def test_the_watch_ends_what_is_too_slow_and_nothing_else() -> None:
    watch = Watch()
    slow, sender = socket.socketpair()
    quick, other = socket.socketpair()
    with slow, sender, quick, other:
        began = time.monotonic()
        with watch.over(quick, 0.1):
            pass
        with watch.over(slow, 0.3), watch.over(None, 0.1):
            assert slow.recv(1) == b""  # the end, though nobody hung up
        assert 0.2 < time.monotonic() - began < 5
        other.sendall(b"x")
        assert quick.recv(1) == b"x"
        # What is registered later and ends sooner is not kept waiting.
        late, _peer = socket.socketpair()
        with watch.over(quick, 30), watch.over(late, 0.1):
            assert late.recv(1) == b""
        late.close()
        _peer.close()


@pytest.mark.parametrize("said", ["-1", "x", "٣"])
def test_a_length_that_is_none(said: str) -> None:
    assert answer(b"abc", said)[0] == "200 OK"

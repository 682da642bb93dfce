"""A program that listens for webhooks, for the tests: a real HTTP server in a thread, that answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Answering = Callable[["Handler"], None]


class Got(NamedTuple):
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


class Handler(BaseHTTPRequestHandler):
    """Keeps what came, then answers."""

    def do_POST(self) -> None:
        receiver: Receiver = self.server.receiver  # type: ignore[attr-defined]  # set below
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        receiver.got.append(Got(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        try:
            receiver.answering(self)
        except OSError:
            pass  # the other side had enough

    def say(self, code: int, body: bytes = b"", **headers: str) -> None:
        """A whole answer."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


class Receiver:
    """`receiver.url` is where it listens; `got` what came; `answering` what it does (it takes everything over)."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.answering: Answering = lambda handler: handler.say(204)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.receiver = self  # type: ignore[attr-defined]  # for the handler
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def says(self, code: int, body: bytes = b"", **headers: str) -> None:
        """From now on it answers so."""
        self.answering = lambda handler: handler.say(code, body, **headers)

    def stop(self) -> None:
        """No more."""
        self.server.shutdown()
        self.server.server_close()

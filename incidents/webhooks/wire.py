"""One message over the wire: only to an address that is allowed, within a time that is, and nothing followed.

The name is resolved once, and the connection goes to the address that was looked at: a name that leads somewhere else
a moment later changes nothing.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from dealing.digits import read_digits

from .models import WebhookDelivery

Outcome = WebhookDelivery.Outcome

CONNECT: Final = 5.0  # seconds
TOTAL: Final = 15.0  # seconds from the first packet to the last byte that is read
OF_TEST: Final = 5.0  # the same for a test: somebody waits for it
READ: Final = 4096  # bytes of the answer
#: Networks that lead on to private addresses, or were meant as such.
_TUNNELS: Final = tuple(map(ip_network, ("2002::/16", "2001::/32", "64:ff9b::/96", "64:ff9b:1::/48", "fec0::/10")))
#: What names this machine: here alone a message may go unencrypted.
THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")


class Unsent(Exception):
    """There was no answer; `outcome` says why."""

    def __init__(self, outcome: WebhookDelivery.Outcome, detail: object = "") -> None:
        super().__init__(f"{outcome}: {detail}")
        self.outcome = outcome
        self.detail = str(detail)


@dataclass(frozen=True)
class Answer:
    """What the receiver said. `body`: its beginning. `wait`: seconds after which it wants to be asked again."""

    code: int
    body: str
    seconds: float
    wait: int | None = None


def allowed(address: str) -> bool:
    """Whether messages may go to this IP address: a public one, or one of WEBHOOK_PRIVATE_NETWORKS."""
    ip = ip_address(address.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if any(ip in network for network in settings.WEBHOOK_PRIVATE_NETWORKS):
        return True
    special = ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback or ip.is_link_local
    return ip.is_global and not special and not any(ip in network for network in _TUNNELS)


def in_numbers(host: str) -> str | None:
    """The IP address that a host is, also where it is written as only resolvers read it (`167772161`, `0x0a.1`,
    `012.0.0.1`, a dot at the end); None for a name.
    """
    host = host.removesuffix(".")
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            return None
    return host


def resolve(host: str, port: int) -> tuple[str, int]:
    """The first address of the host that messages may go to. Raises Unsent where there is none."""
    try:
        found = [str(one[4][0]) for one in socket.getaddrinfo(in_numbers(host) or host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise Unsent(Outcome.UNKNOWN, host) from error
    for address in found:
        if allowed(address):
            return address, port
    raise Unsent(Outcome.PRIVATE, ", ".join(dict.fromkeys(found)))


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class _Connection(http.client.HTTPConnection):
    """To one address, whatever the name of the host leads to by now."""

    def __init__(self, host: str, at: tuple[str, int], context: ssl.SSLContext | None) -> None:
        if context is not None:
            self.default_port = http.client.HTTPS_PORT
        super().__init__(host, at[1], timeout=CONNECT)
        self._at, self._context = at, context
        self._open: socket.socket | None = None  # the library lets go of it once the answer has begun

    def connect(self) -> None:
        """Open it; over TLS the certificate has to be the host's."""
        self.sock = self._open = socket.create_connection(self._at, timeout=CONNECT)
        self.sock.settimeout(TOTAL)
        if self._context is not None:
            secure = self._context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock = self._open = secure
            secure.do_handshake()

    def cut(self) -> None:
        """Break it off, from another thread: whoever waits on it wakes up."""
        if self._open is not None:
            try:
                socket.socket.shutdown(self._open, socket.SHUT_RDWR)
            except OSError:
                pass


def post(url: str, body: bytes, headers: Mapping[str, str], total: float | None = None) -> Answer:
    """Send it; whatever the receiver answers within `total` seconds (else TOTAL). Raises Unsent."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    at = resolve(host, parts.port or (443 if secure else 80))
    connection = _Connection(host, at, _tls() if secure else None)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    late = threading.Event()

    def cut() -> None:
        late.set()
        connection.cut()

    began = time.monotonic()
    watch = threading.Timer(total or TOTAL, cut)
    watch.daemon = True
    watch.start()
    try:
        connection.request("POST", path, body, {**headers, "Connection": "close"})
        response = connection.getresponse()
        said = response.read(READ)
        if late.is_set():
            raise TimeoutError
    except TimeoutError as error:
        raise Unsent(Outcome.SLOW) from error
    except ssl.SSLCertVerificationError as error:
        raise Unsent(Outcome.TLS, error.verify_message) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        if late.is_set():
            raise Unsent(Outcome.SLOW) from error
        raise Unsent(Outcome.TLS if isinstance(error, ssl.SSLError) else Outcome.BROKEN, error) from error
    finally:
        watch.cancel()
        connection.close()
    return Answer(
        response.status,
        said.decode("utf-8", "replace").replace("\0", ""),
        time.monotonic() - began,
        read_digits(response.getheader("Retry-After"), 7),
    )

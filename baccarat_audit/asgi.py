"""ASGI entry point: for an event loop, in which a live feed costs no thread."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "baccarat_audit.settings")

#: Seconds for which a client may take nothing of what it is sent.
SEND_TIMEOUT = 30.0

Message = Any
_django = get_asgi_application()


async def application(
    scope: Any, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """The product; who reads nothing of its answer is let go."""

    async def send_in_time(message: Message) -> None:
        await asyncio.wait_for(send(message), SEND_TIMEOUT)

    try:
        await _django(scope, receive, send_in_time)
    finally:
        for close in scope.get("baccarat_audit.close", ()):  # see `dealing.api.feed`
            close()

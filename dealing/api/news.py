"""Who listens to which table, and how new rows of the log are noticed: once in a process, however many listen.

With Redis whoever records publishes, once it is committed, that a table has moved on. That is a hint and no more: what
is new is always read from the log, and every table that somebody listens to is looked at anyway now and then, so that
neither SQLite, nor a Redis that is down, nor a lost message loses anything.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final

import redis
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, transaction
from redis.backoff import NoBackoff
from redis.retry import Retry

from dealing.models import Table, TableEvent

from .serializers import event_as_json
from .verdicts import raised_by

logger = logging.getLogger(__name__)

CHANNEL: Final = "baccarat-audit:log"
#: Seconds between two looks at the tables: where Redis tells what is new, and where it does not.
LOOK_TOLD: Final = 2.0
LOOK_UNTOLD: Final = 0.4
#: Seconds in which what is published is gathered, to be read at once.
GATHER: Final = 0.02
#: Seconds that nobody waits longer for Redis, and for which it is left alone after it failed.
REDIS_TIMEOUT: Final = 0.25
REDIS_REST: Final = 5.0
#: Seconds for which nothing is told after nobody has heard it; who begins to listen looks once more after them.
NOBODY_REST: Final = 0.2
#: How many rows of a table are kept for those who listen, and how many are read at once.
KEPT: Final = 500
PAGE: Final = 200

#: A row of the log as it is sent: its position, and its text as a server-sent event.
Message = tuple[int, bytes]


def messages(table: Table, rows: Sequence[TableEvent]) -> list[Message]:
    """Rows of a table's log as server-sent events, each with the findings that it raised."""
    raised = raised_by(table, rows)
    return [(row.seq, _message(row, table, raised.get(row.seq, []))) for row in rows]


def _message(row: TableEvent, table: Table, raised: list[dict[str, Any]]) -> bytes:
    data = json.dumps({**event_as_json(row, table), "raised": raised}, ensure_ascii=False)
    return f"id: {row.seq}\nevent: {row.name}\ndata: {data}\n\n".encode()


def read_page(table: Table, after: int) -> list[Message]:
    """The next messages after a position, PAGE at most, from the log."""
    return messages(table, list(table.events.filter(seq__gt=after).order_by("seq")[:PAGE]))


class Watch:
    """A table that somebody listens to.

    `head` is how far its log is known here, `kept` what came of it after `start`.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.head = self.start = table.last_seq
        self.kept: deque[Message] = deque(maxlen=KEPT)
        self.wakes: set[Callable[[], None]] = set()

    def skip(self, head: int) -> None:
        """So much came at once that those who listen read it from the log themselves."""
        self.kept.clear()
        self.start = self.head = head

    def add(self, new: Iterable[Message]) -> None:
        """Keep what was read from the log after `head`."""
        for message in new:
            if len(self.kept) == KEPT:
                self.start = self.kept[0][0]
            self.kept.append(message)
            self.head = message[0]


class Ear:
    """Somebody who listens to a table."""

    def __init__(self, hub: Hub, watch: Watch, wake: Callable[[], None]) -> None:
        self._hub, self._watch, self._wake = hub, watch, wake

    def since(self, after: int) -> list[Message] | None:
        """The messages after a position; None where they are to be read from the log (`read_page`)."""
        return self._hub.since(self._watch, after)

    def close(self) -> None:
        """Listen no longer."""
        self._hub.leave(self._watch, self._wake)


class Hub:
    """The one thread of a process that looks for what is new; it runs while somebody listens."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[int, Watch] = {}
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._new_watch = False

    @property
    def listeners(self) -> int:
        """How many listen."""
        with self._lock:
            return sum(len(watch.wakes) for watch in self._watches.values())

    def listen(self, table: Table, wake: Callable[[], None]) -> Ear:
        """Call `wake`, from another thread, whenever the table has moved on, until the ear is closed."""
        with self._lock:
            watch = self._watches.get(table.pk)
            if watch is None:
                watch = self._watches[table.pk] = Watch(table)
                self._new_watch = True
            watch.wakes.add(wake)
            if self._thread is None:
                self._stopping = threading.Event()
                self._thread = threading.Thread(target=self._run, args=(self._stopping,), name="feed", daemon=True)
                self._thread.start()
        return Ear(self, watch, wake)

    def since(self, watch: Watch, after: int) -> list[Message] | None:
        """What is kept after a position; None where that is not all there is."""
        with self._lock:
            if after < watch.start:
                return None
            return [message for message in watch.kept if message[0] > after]

    def leave(self, watch: Watch, wake: Callable[[], None]) -> None:
        """No longer call `wake`. Again: nothing changes."""
        with self._lock:
            watch.wakes.discard(wake)
            if not watch.wakes and self._watches.get(watch.table.pk) is watch:
                del self._watches[watch.table.pk]

    def stop(self) -> None:
        """End the thread, and wait for its end."""
        with self._lock:
            thread = self._thread
            self._stopping.set()
        if thread is not None:
            thread.join()

    # -- the thread

    def _run(self, stopping: threading.Event) -> None:
        told = _Told()
        looked = 0.0
        try:
            while True:
                with self._lock:
                    if stopping.is_set() or not self._watches:
                        self._thread = None
                        return
                named = told.wait(stopping)
                now = time.monotonic()
                if named is None or self._new_watch or now - looked >= LOOK_TOLD:
                    self._new_watch = False
                    looked, named = now, None
                self._look(named)
        except Exception:  # whoever comes next begins a new thread
            logger.exception("feed: the thread that looks for what is new has ended")
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None
            told.close()
            connection.close()

    def _look(self, named: Collection[int] | None) -> None:
        """Read what is new at these tables, or at all, and wake who listens to them."""
        with self._lock:
            watches = [watch for pk, watch in self._watches.items() if named is None or pk in named]
        if not watches:
            return
        try:
            close_old_connections()
            heads = dict(
                Table.objects.filter(pk__in=[watch.table.pk for watch in watches]).values_list("pk", "last_seq")
            )
            for watch in watches:
                self._catch_up(watch, heads.get(watch.table.pk, 0))
        except DatabaseError as error:
            logger.warning("feed: the log cannot be read now: %s", error)
            connection.close()

    def _catch_up(self, watch: Watch, head: int) -> None:
        if head <= watch.head:
            return
        new = read_page(watch.table, watch.head) if head - watch.head <= PAGE else None
        with self._lock:
            if new is None:
                watch.skip(head)
            else:
                watch.add(new)
            wakes = list(watch.wakes)
        for wake in wakes:
            wake()


HUB: Final = Hub()


# Told by Redis.


def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_TIMEOUT,
        socket_connect_timeout=REDIS_TIMEOUT,
        retry=Retry(NoBackoff(), 0),
    )


class _Told:
    """What Redis tells of tables that moved on; without it, or while it fails, a moment's wait."""

    def __init__(self) -> None:
        self._heard: Any = None
        self._rest_until = 0.0
        self._look_again = math.inf

    def wait(self, stopping: threading.Event) -> set[int] | None:
        """The tables that are named, empty after a while without; None: nobody tells, look at all of them."""
        if not settings.REDIS_URL or time.monotonic() < self._rest_until:
            stopping.wait(LOOK_UNTOLD)
            return None
        try:
            if self._heard is None:
                self._heard = _redis().pubsub(ignore_subscribe_messages=True)
                self._heard.subscribe(CHANNEL)
                self._look_again = time.monotonic() + 2 * NOBODY_REST
                return None  # what came before one listened
            if time.monotonic() >= self._look_again:
                self._look_again = math.inf
                return None  # what was not told because nobody had listened
            named: set[int] = set()
            message = self._heard.get_message(timeout=LOOK_UNTOLD)
            if message is not None:
                stopping.wait(GATHER)
            while message is not None:
                named.add(int(message["data"]))
                message = self._heard.get_message(timeout=0)
            return named
        except (redis.RedisError, OSError, ValueError) as error:
            logger.warning("feed: Redis does not tell what is new: %s", error)
            self.close()
            self._rest_until = time.monotonic() + REDIS_REST
            return None

    def close(self) -> None:
        """Let go of the connection."""
        heard, self._heard = self._heard, None
        if heard is not None:
            heard.close()
            heard.connection_pool.disconnect()


class _Telling:
    """Publishes, unless Redis has just failed, or nobody has listened: nobody at a table waits for it twice."""

    def __init__(self) -> None:
        self._client: redis.Redis | None = None
        self._url = ""
        self._rest_until = 0.0

    def tell(self, table: int) -> None:
        """That a table has moved on."""
        if time.monotonic() < self._rest_until:
            return
        if self._client is None or self._url != settings.REDIS_URL:
            self._client, self._url = _redis(), settings.REDIS_URL
        try:
            if not self._client.publish(CHANNEL, table):
                self._rest_until = time.monotonic() + NOBODY_REST
        except (redis.RedisError, OSError) as error:
            logger.warning("feed: Redis takes no message: %s", error)
            self._rest_until = time.monotonic() + REDIS_REST


_TELLING: Final = _Telling()


def announce(*, table: Table, **_signal: Any) -> None:
    """Receiver of `event_recorded` and `event_written`: have who listens told, once it is committed."""
    if settings.REDIS_URL:
        transaction.on_commit(partial(_TELLING.tell, table.pk), robust=True)

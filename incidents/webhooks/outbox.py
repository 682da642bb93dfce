"""Messages on their way: written down, claimed, sent until they are taken over, or given up.

A worker that dies between sending and saying so makes the message go twice, under one `webhook-id`. The order in which
messages arrive is not promised: the receiver has `subject` and `sequence` for that.
"""

from __future__ import annotations

import datetime as dt
import logging
import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.conf import settings
from django.db import connections, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from dealing.models import Venue

from . import sealing, signing, wire
from .models import TEST, Kind, Webhook, WebhookDelivery

logger = logging.getLogger(__name__)

Status = WebhookDelivery.Status
Outcome = WebhookDelivery.Outcome
#: How long a message is somebody's to send: longer than `wire` takes at most.
LEASE: Final = dt.timedelta(minutes=2)
#: Tried so often; after the first failure a minute later, then two, four, up to six hours: most of a day in all.
ATTEMPTS: Final = 12
LONGEST: Final = dt.timedelta(hours=6)
#: A waiting time is so much shorter or longer, by chance: a receiver that comes back is not asked by all at once.
JITTER: Final = 0.2
#: What was tried and not taken for so long is given up, however many others stand before it.
LIFE: Final = dt.timedelta(days=3)
#: What was sent or discarded is kept for so long.
KEPT: Final = dt.timedelta(days=30)
#: Messages that one turn sends to one receiver.
AT_ONCE: Final = 100
#: Seconds for which a broker that does not answer is left alone.
BROKER_REST: Final = 30.0
_ANSWER: Final = 1000  # characters that are kept of what a receiver said


# Writing down.


def listening(venue: int, kind: str) -> list[Webhook]:
    """The receivers of the house that are told such a thing."""
    return [hook for hook in Webhook.objects.filter(venue=venue, is_active=True) if kind in hook.kinds]


def put(kind: Kind, venue: int, key: str, body: bytes) -> int:
    """Write a message for each receiver, inside the caller's transaction, and have it sent once that holds; how many.

    The same `key` again: nothing.
    """
    now = timezone.now()
    event = uuid.uuid4()
    hooks = listening(venue, kind)
    WebhookDelivery.objects.bulk_create(
        [
            WebhookDelivery(
                webhook=hook, event=event, kind=kind, key=key, body=body, made_at=now, queued_at=now, retry_at=now
            )
            for hook in hooks
        ],
        ignore_conflicts=True,
    )
    for hook in hooks:
        transaction.on_commit(partial(wake, hook.pk), robust=True)
    return len(hooks)


#: Beside the work of this process: whoever records a card waits for no receiver, and for no broker that is down.
_beside: Final = ThreadPoolExecutor(max_workers=4, thread_name_prefix="webhooks")
_rest_until = 0.0


def wake(webhook: int) -> None:
    """Have a worker send what waits for this receiver; where there are no workers, this process does."""
    here = settings.CELERY_TASK_ALWAYS_EAGER
    _beside.submit(copy_context().run, _send_here if here else _publish, webhook)


def _send_here(webhook: int) -> None:
    try:
        send_to(webhook)
    except Exception:
        logger.exception("webhook %d: its messages could not be sent from here", webhook)
    finally:
        connections.close_all()  # this thread's own


def _publish(webhook: int) -> None:
    global _rest_until
    if time.monotonic() < _rest_until:
        return
    from .tasks import send_webhook

    try:
        send_webhook.apply_async([webhook], retry=False)
    except (BrokerError, OSError) as error:
        _rest_until = time.monotonic() + BROKER_REST
        logger.warning("the broker does not answer, webhooks go out when the scheduler comes by: %s", error)


# Sending.


@dataclass
class Sent:
    """What came of one turn: messages sent, to be tried again, given up."""

    sent: int = 0
    later: int = 0
    dead: int = 0

    def add(self, other: Sent) -> None:
        """Count another turn's too."""
        self.sent += other.sent
        self.later += other.later
        self.dead += other.dead


def _free(now: dt.datetime) -> QuerySet[WebhookDelivery]:
    """What waits, is due, and is nobody's to send. Of the row's own columns alone: see `claim`."""
    return WebhookDelivery.objects.filter(
        Q(lease_until__isnull=True) | Q(lease_until__lte=now), status=Status.WAITING, retry_at__lte=now
    )


def due(now: dt.datetime) -> list[int]:
    """The receivers for whom something waits to go out now."""
    found = _free(now).filter(webhook__is_active=True).order_by("webhook")
    return list(found.values_list("webhook", flat=True).distinct())


def send_waiting() -> Sent:
    """Send what is due to everybody, here and now. Raises nothing for what a receiver can do."""
    outcome = Sent()
    for webhook in due(timezone.now()):
        outcome.add(send_to(webhook))
    return outcome


def send_to(webhook: int, limit: int = AT_ONCE) -> Sent:
    """Send what is due to one receiver, the longest waiting first. After a failure the rest waits for the next turn."""
    outcome = Sent()
    for _turn in range(limit):
        delivery = claim(webhook)
        if delivery is None:
            break
        status = deliver(delivery)
        outcome.sent += status == Status.SENT
        outcome.later += status == Status.WAITING
        outcome.dead += status == Status.DEAD
        if status != Status.SENT:
            break
    return outcome


def claim(webhook: int) -> WebhookDelivery | None:
    """Take one message to send; None where none is due. Nobody else gets it before the lease is over."""
    now = timezone.now()
    waiting = _free(now).filter(webhook=webhook, webhook__is_active=True).order_by("retry_at", "pk")
    for pk in list(waiting.values_list("pk", flat=True)[:20]):
        # Asked again in the statement that takes it. It names no other table: the database then looks at the row once
        # more when it had to wait for it, and of two at once one finds the lease taken.
        if not _free(now).filter(pk=pk).update(lease_until=now + LEASE, attempts=F("attempts") + 1):
            continue
        delivery = WebhookDelivery.objects.select_related("webhook__venue").get(pk=pk)
        if not delivery.webhook.is_active:
            _mark(delivery, status=Status.DEAD, outcome=Outcome.OFF, retry_at=None)
        elif delivery.attempts > ATTEMPTS:
            _mark(delivery, status=Status.DEAD, outcome=Outcome.DIED, retry_at=None)
        else:
            return delivery
    return None


def _mark(delivery: WebhookDelivery, **fields: object) -> bool:
    """Write how it went, unless somebody else has the message by now."""
    mine = WebhookDelivery.objects.filter(pk=delivery.pk, status=Status.WAITING, lease_until=delivery.lease_until)
    return bool(mine.update(lease_until=None, **fields))


def deliver(delivery: WebhookDelivery) -> str:
    """Send a message that was claimed; the status it came to."""
    hook, now = delivery.webhook, timezone.now()
    tried: dict[str, object] = {"tried_at": now, "code": None, "answer": "", "seconds": None}
    wait: int | None = None
    try:
        answer = _post(delivery, now)
    except sealing.Unreadable:
        tried["outcome"] = Outcome.SECRET
    except wire.Unsent as error:
        tried |= {"outcome": error.outcome, "answer": error.detail[:_ANSWER]}
    except Exception as error:
        logger.exception("webhook %d: message %s could not be sent", hook.pk, delivery.event)
        tried |= {"outcome": Outcome.BROKEN, "answer": type(error).__name__}
    else:
        wait = answer.wait
        tried |= {"code": answer.code, "answer": answer.body[:_ANSWER], "seconds": round(answer.seconds, 3)}
        if 200 <= answer.code < 300:
            # Taken over is taken over, whoever holds the lease by now.
            WebhookDelivery.objects.filter(pk=delivery.pk).exclude(status=Status.SENT).update(
                **tried,
                outcome=Outcome.TAKEN,
                status=Status.SENT,
                sent_at=timezone.now(),
                lease_until=None,
                retry_at=None,
            )
            logger.info("webhook %d: %s sent", hook.pk, delivery)
            return Status.SENT
        if answer.code == 410:
            tried["outcome"] = Outcome.GONE
        else:
            tried["outcome"] = Outcome.REDIRECT if 300 <= answer.code < 400 else Outcome.ANSWERED
    gone = tried["outcome"] == Outcome.GONE
    dead = gone or delivery.attempts >= ATTEMPTS
    if dead:
        tried |= {"status": Status.DEAD, "retry_at": None}
    else:
        tried["retry_at"] = timezone.now() + back_off(delivery.attempts, wait)
    _mark(delivery, **tried)
    if gone:
        switch_off(hook, Webhook.Off.GONE)
    logger.warning(
        "webhook %d: %s not sent, attempt %d: %s %s",
        hook.pk,
        delivery,
        delivery.attempts,
        tried["outcome"],
        tried["code"] or "",
    )
    return Status.DEAD if dead else Status.WAITING


def _post(delivery: WebhookDelivery, now: dt.datetime) -> wire.Answer:
    body = bytes(delivery.body)
    signed = signing.headers(delivery.webhook.secrets(now), str(delivery.event), int(now.timestamp()), body)
    return wire.post(
        delivery.webhook.url,
        body,
        {**signed, "Content-Type": "application/json", "User-Agent": "baccarat-audit webhooks/1"},
        wire.OF_TEST if delivery.kind == TEST else None,
    )


def back_off(attempts: int, wait: int | None = None) -> dt.timedelta:
    """How long to wait after so many attempts: about a minute, two, four, up to six hours.

    `wait`: at least so many seconds, for the receiver asked for it.
    """
    plain = min(LONGEST, dt.timedelta(minutes=2 ** min(attempts - 1, 20)))
    return max(plain * random.uniform(1 - JITTER, 1 + JITTER), min(LONGEST, dt.timedelta(seconds=wait or 0)))


def send_test(webhook: Webhook, body: bytes) -> WebhookDelivery:
    """Send a message once, whatever comes of it, also to a receiver that is switched off; how it went."""
    now, event = timezone.now(), uuid.uuid4()
    delivery = WebhookDelivery.objects.create(
        webhook=webhook,
        event=event,
        kind=TEST,
        key=f"{TEST}:{event}",
        body=body,
        made_at=now,
        queued_at=now,
        retry_at=now,
        attempts=ATTEMPTS,  # the last: it is not tried again
        lease_until=now + LEASE,
    )
    deliver(delivery)
    WebhookDelivery.objects.filter(pk=delivery.pk).update(attempts=1)
    WebhookDelivery.objects.filter(pk=delivery.pk, status=Status.DEAD).update(status=Status.DISCARDED)
    delivery.refresh_from_db()
    return delivery


# By hand.


def switch_off(webhook: Webhook, because: str = "") -> None:
    """Tell this receiver nothing any more. What waits is given up: nobody is surprised by it weeks later."""
    Webhook.objects.filter(pk=webhook.pk).update(is_active=False, off_because=because)
    WebhookDelivery.objects.filter(webhook=webhook, status=Status.WAITING, lease_until=None).update(
        status=Status.DEAD, outcome=Outcome.OFF, retry_at=None
    )


def send_again(of: QuerySet[WebhookDelivery]) -> int:
    """Put what was given up in line again, the same bytes under the same id, where its receiver is on; how many."""
    again = WebhookDelivery.objects.filter(pk__in=of.values("pk"), status=Status.DEAD, webhook__is_active=True)
    hooks = list(again.order_by("webhook").values_list("webhook", flat=True).distinct())
    now = timezone.now()
    count = WebhookDelivery.objects.filter(pk__in=list(again.values_list("pk", flat=True)), status=Status.DEAD).update(
        status=Status.WAITING, attempts=0, retry_at=now, queued_at=now, lease_until=None
    )
    for hook in hooks:
        transaction.on_commit(partial(wake, hook), robust=True)
    return count


def discard(of: QuerySet[WebhookDelivery]) -> int:
    """Let what was given up be; how many."""
    return WebhookDelivery.objects.filter(pk__in=list(of.values_list("pk", flat=True)), status=Status.DEAD).update(
        status=Status.DISCARDED
    )


def tidy(now: dt.datetime | None = None) -> None:
    """Give up what could not be delivered for days, and forget what is done with for weeks."""
    now = now or timezone.now()
    # What was never tried goes on waiting: it may be for want of somebody who sends.
    idle = WebhookDelivery.objects.filter(Q(lease_until__isnull=True) | Q(lease_until__lte=now), status=Status.WAITING)
    idle.filter(queued_at__lt=now - LIFE, attempts__gte=1).update(
        status=Status.DEAD, outcome=Outcome.EXPIRED, retry_at=None, lease_until=None
    )
    # On its way while its webhook was switched off.
    idle.filter(webhook__is_active=False).update(
        status=Status.DEAD, outcome=Outcome.OFF, retry_at=None, lease_until=None
    )
    WebhookDelivery.objects.filter(status__in=[Status.SENT, Status.DISCARDED], queued_at__lt=now - KEPT).delete()
    # The secret before is of no use once it is not signed with.
    Webhook.objects.filter(before_until__lte=now).update(secret_before="", before_until=None)


# What a page asks.


def dead_of(venues: QuerySet[Venue]) -> QuerySet[WebhookDelivery]:
    """What was given up, of these houses."""
    return WebhookDelivery.objects.filter(status=Status.DEAD, webhook__venue__in=venues)

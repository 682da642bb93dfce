"""What workers do for the webhooks. Each task may come twice, late, or not at all: the rows say what is left."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from . import outbox


@shared_task
def send_webhook(webhook: int) -> None:
    """Send what waits for one receiver: a slow one holds nobody else up."""
    outbox.send_to(webhook)


@shared_task
def send_webhooks() -> None:
    """The scheduler's turn, every minute: see to what was left, and have each receiver's messages sent."""
    outbox.tidy()
    for webhook in outbox.due(timezone.now()):
        send_webhook.apply_async([webhook], expires=60)  # of those that wait while nobody works one is enough

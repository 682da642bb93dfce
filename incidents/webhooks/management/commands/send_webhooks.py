"""`manage.py send_webhooks`: the messages that wait, sent here and now; for cron where there are no workers."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import close_old_connections

from incidents.webhooks import outbox


class Command(BaseCommand):
    help = (
        "Send the messages of webhooks that wait and are due. Workers do this by themselves. "
        "Exit 0: nothing is left to be tried again, and nothing was given up."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=float, metavar="SECONDS", help="go on, with so long between two looks")

    def handle(self, *args: Any, **options: Any) -> None:
        every = options["every"]
        if every is not None and not 0.1 <= every <= 3600:
            raise CommandError("--every: between 0.1 and 3600 seconds")
        while True:
            outbox.tidy()
            outcome = outbox.send_waiting()
            if every is None or outcome != outbox.Sent():
                self.stdout.write(
                    f"{outcome.sent} messages sent, {outcome.later} to be tried again, {outcome.dead} given up"
                )
            if every is None:
                break
            close_old_connections()
            time.sleep(every)
        if outcome.later or outcome.dead:
            raise CommandError("not all messages went out; the page of the webhook says why")

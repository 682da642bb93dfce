"""What runs by the clock."""

from __future__ import annotations

import logging

from celery import shared_task

from dealing.models import Table
from dealing.verify import BESIDE, Asked, keep_walk, verify_table

logger = logging.getLogger(__name__)


@shared_task
def verify_tables() -> dict[str, str]:
    """Walk every table's chain and seals and keep what was found. Table code -> "whole" or the first break.

    What is kept beside the logs is checked too, except for the content of files; what is broken there is kept and in
    the answer.

    The heads are logged too: a log cut short together with its table's head is found by comparing with these lines.
    """
    answers = {}
    for code in Table.objects.order_by("code").values_list("code", flat=True):
        result = verify_table(code)
        keep_walk(result)
        if result.broken is None:
            logger.info("log of %s is whole: %d events, head %s", code, result.events, result.head)
            answers[code] = "whole"
        else:
            logger.error("log of %s is broken: %s", code, result.broken)
            answers[code] = str(result.broken)
    asked = Asked(tuple(answers), keep=True, files=False)
    for check in BESIDE:
        for found in check(asked):
            for problem in found.problems:
                logger.error("%s", problem)
            if found.problems:
                answers[found.name] = str(found.problems[0])
    return answers

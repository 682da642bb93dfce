"""`/health/`: can this process serve? For load balancers and for `.ci/run`. `/health/night/`: is last night audited?"""

import logging
from collections import Counter

import redis
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)

SERVICE_TIMEOUT = 2.0  # seconds; a health check that hangs tells nobody anything


def database_reachable() -> bool:
    """Ask the database one question."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except DatabaseError as error:
        logger.error("health: database not reachable: %s", error)
        return False


def redis_reachable(url: str) -> bool:
    """Ping the Redis server at ``url``."""
    try:
        with redis.Redis.from_url(
            url, socket_timeout=SERVICE_TIMEOUT, socket_connect_timeout=SERVICE_TIMEOUT
        ) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError, ValueError) as error:
        logger.error("health: Redis not reachable: %s", error)
        return False


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when every configured service answers, else 503; the JSON body says which does.

    The reasons go to the log only: the page is open to everybody.
    """
    checks = {"database": database_reachable()}
    if settings.REDIS_URL:
        checks["redis"] = redis_reachable(settings.REDIS_URL)
    healthy = all(checks.values())
    body = {
        "status": "ok" if healthy else "unavailable",
        **{name: "ok" if ok else "unreachable" for name, ok in checks.items()},
    }
    return JsonResponse(body, status=200 if healthy else 503)


@never_cache
@require_safe
def night(request: HttpRequest) -> JsonResponse:
    """200 while last night's audit of every house is done, running or not yet late, else 503.

    `houses` counts them by where their audit stands (`done`, `running`, `waiting`, `failed`, `late`, `stuck`: nobody is
    at it, `missing`, `nothing`: nothing recorded so far). `chains` is `broken` where a log of any house is not what was
    recorded; that is for the report to say more of, and the audit is done all the same. `beat` is when the scheduler
    last ticked, null where it never has. No names of houses, and no reasons: the page is open to everybody.
    """
    from dealing.models import Venue
    from incidents.reports.selectors import beat_ticked, last_nights

    try:
        nights, ticked = last_nights(Venue.objects.all()), beat_ticked()
    except DatabaseError as error:
        logger.error("health: last night cannot be looked up: %s", error)
        return JsonResponse({"status": "unavailable"}, status=503)
    red = any(one.red for one in nights)
    going_on = any(one.state in ("running", "waiting") for one in nights)
    body = {
        "status": "unavailable" if red else "running" if going_on else "ok",
        "houses": dict(Counter(one.state for one in nights)),
        "chains": "broken" if any(one.chain_broken for one in nights) else "whole",
        "beat": ticked and ticked.isoformat(),
    }
    return JsonResponse(body, status=503 if red else 200)

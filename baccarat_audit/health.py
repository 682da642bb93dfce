"""`/health/`: can this process serve? For load balancers and for `.ci/run`."""

import logging

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

"""How gunicorn runs the product. The command line (see the Makefile) and GUNICORN_CMD_ARGS say how much of it."""

import gc
import logging
import os
import sys
from typing import Any

from gunicorn import glogging

# The server's own lines have the form of all others; requests are told by the product itself (`baccarat_audit.access`).
logconfig_dict = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "baccarat_audit.logs.formatter", "environment": os.environ}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("LOG_LEVEL", "INFO")},
    "loggers": {"gunicorn.error": {"handlers": ["stderr"], "propagate": False}},
}
logging.captureWarnings(True)

# How much of it, by the environment; the command line wins.
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = int(os.environ.get("WEB_THREADS", "4"))
worker_class = "gthread"
# A worker that shows no sign of life is replaced. Its threads may take longer than that over a request: it is the
# worker's own loop that is watched.
timeout = 60
# A stop or restart gives requests in progress so long. Whatever has an answer by then is recorded; what has none is
# sent again by whoever sent it, with the same key.
graceful_timeout = int(os.environ.get("WEB_GRACE", "30"))
# Connections of the proxy stay open between requests, longer than the proxy keeps them: so it is never this side that
# closes one just as a request is on its way.
keepalive = 75
# Heads of requests; bodies are limited by the product, and by the proxy before it.
limit_request_line = 4094
limit_request_fields = 64
limit_request_field_size = 8190
# Signs of life are written here; on a disk that is busy they would come late.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None  # noqa: S108


class Logger(glogging.Logger):
    """gunicorn's own, without a line for each request, which it would put together and then not write."""

    def access(self, *_request: Any) -> None:
        """The product itself tells of requests."""


logger_class = Logger


def post_worker_init(worker: Any) -> None:
    """The product is loaded: what it loaded stays for good, and need not be looked at for garbage while people wait."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    # Threads give way where they wait for the database, a dozen times a request: taking turns more often costs a sixth.
    sys.setswitchinterval(0.05)

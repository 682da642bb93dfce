"""How gunicorn runs the product. The command line (see the Makefile) and GUNICORN_CMD_ARGS say how much of it."""

import gc
import logging
import os
import sys
from typing import Any

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


def post_worker_init(worker: Any) -> None:
    """The product is loaded: what it loaded stays for good, and need not be looked at for garbage while people wait."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    # Threads give way where they wait for the database, a dozen times a request: taking turns more often costs a sixth.
    sys.setswitchinterval(0.05)

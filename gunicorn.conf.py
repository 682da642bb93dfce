"""How gunicorn runs the product. The command line (see the Makefile) and GUNICORN_CMD_ARGS say how much of it."""

import gc
import sys
from typing import Any


def post_worker_init(worker: Any) -> None:
    """The product is loaded: what it loaded stays for good, and need not be looked at for garbage while people wait."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    # Threads give way where they wait for the database, a dozen times a request: taking turns more often costs a sixth.
    sys.setswitchinterval(0.05)

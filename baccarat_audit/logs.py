"""The form of a line in the process's own log."""

import logging
from datetime import UTC, datetime


class LineFormatter(logging.Formatter):
    """One line an event; the time in UTC, ISO 8601, to the millisecond."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 (the library's name)
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

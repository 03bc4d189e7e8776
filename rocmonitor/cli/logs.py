"""The log on stderr, as text for people or as JSON, a line each, for programs that collect it."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal

from rocmonitor.errors import printable

Format = Literal["text", "json"]

FIELDS = ("monitor", "segment", "window", "status", "destination", "duration_seconds")
"""Fields that a message may carry beside its text (``extra=…``), where they are known."""

_Failure = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Text(logging.Formatter):
    """One line a message, with the offset of its time: what comes from outside begins no line of its own."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S%z")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 its name in logging
        """Return the line."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _Failure) -> str:  # noqa: N802
        """Return the lines of a traceback, indented: none looks like a message."""
        return "\n".join(f"    {printable(line)}" for line in super().formatException(ei).split("\n"))


class Json(logging.Formatter):
    """One JSON object a line, in ASCII; its time is in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name in FIELDS if (value := getattr(record, name, None)) not in (None, "")}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def configure(style: Format, *, verbose: bool) -> None:
    """Log to stderr; again does nothing. Other packages stay at warnings: theirs may show an address."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Json() if style == "json" else Text())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its retries come before our own, better line
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # errors come with a traceback
    logging.getLogger("rocmonitor").setLevel(logging.DEBUG if verbose else logging.INFO)

"""Opening MLflow, and turning its failures into errors of ours without secrets."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rocmonitor.errors import TrackingError

if TYPE_CHECKING:
    from mlflow import MlflowClient

ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # the outbox tries again; MLflow's own default takes minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # stdout is data
}
_MAY_PASS = frozenset(
    {
        "ABORTED",
        "CANCELLED",
        "DEADLINE_EXCEEDED",
        "INTERNAL_ERROR",
        "REQUEST_LIMIT_EXCEEDED",
        "RESOURCE_ALREADY_EXISTS",  # somebody else was faster: the next try finds it
        "RESOURCE_CONFLICT",
        "RESOURCE_EXHAUSTED",
        "TEMPORARILY_UNAVAILABLE",
    }
)
_LASTING = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def open_client(uri: str) -> MlflowClient:
    """MLflow's client, with a short patience; see `rocmonitor.tracking.connect`."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with translate_errors(uri, "connecting"), _quiet():
        from mlflow import MlflowClient

        return MlflowClient(uri)


@contextmanager
def translate_errors(uri: str, doing: str) -> Iterator[None]:
    """Turn every failure of MLflow, and of what is below it, into a TrackingError without secrets."""
    try:
        yield
    except Exception as error:
        transient = _may_pass(error)
        if transient is None:
            raise
        said = _said(error)
        message = f"MLflow at {without_secrets(uri)}, {doing}: {without_secrets(said)}"
        # The cause is kept, unless a traceback would print what the message hides.
        clean = without_secrets(str(error)) == str(error)
        raise TrackingError(message, transient=transient) from (error if clean else None)


def without_secrets(text: str) -> str:
    """The text with the user part of its URLs and its passwords removed."""
    text = re.sub(r"(?<=://)[^/\s]*@", "", text)
    return re.sub(r"(?i)((?:password|passwd|pwd|token|secret)=)[^&\s'\"]+", r"\1***", text)


def code(error: Exception) -> str:
    """MLflow's error code, or nothing."""
    return str(getattr(error, "error_code", ""))


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide what MLflow logs while it creates a database, and its own use of deprecated SQLAlchemy."""
    logger = logging.getLogger("mlflow.store.db.utils")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logger.setLevel(level)


def _may_pass(error: Exception) -> bool | None:
    """Whether a later try may succeed; None when the error is not one of the outside."""
    from mlflow.exceptions import MlflowException
    from requests import HTTPError, RequestException

    if isinstance(error, MlflowException):
        return code(error) in _MAY_PASS
    if isinstance(error, HTTPError) and error.response is not None:
        return error.response.status_code >= 500 or error.response.status_code in (408, 429)
    if isinstance(error, RequestException):
        return True
    # SQLAlchemy is not imported here: it belongs to sources and store. Its errors come through MLflow.
    if type(error).__module__.startswith("sqlalchemy."):
        return type(error).__name__ in ("InternalError", "OperationalError", "TimeoutError")
    if isinstance(error, OSError):
        return not isinstance(error, _LASTING)
    return None


def _said(error: Exception) -> str:
    from requests import ConnectionError, Timeout

    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ConnectionError | Timeout):
            return f"no answer ({type(link).__name__}); is the server running, and is the tracking URI right?"
        link = link.__cause__ or link.__context__
    return next(iter(str(error).splitlines()), type(error).__name__)[:500]

"""Opening MLflow, and turning its failures into errors of ours without secrets."""

from __future__ import annotations

import logging
import os
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rocmonitor.errors import TrackingError, printable, without_passwords

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from mlflow.entities.model_registry import ModelVersion

log = logging.getLogger(__name__)

ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # the outbox tries again; MLflow's own default takes minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # stdout is data
}
NOT_REGISTERED = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")
"""Codes of the answer that a model, a version or an alias is not in the registry."""

_SURELY_LEFT_SECONDS = 3600.0
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
    # Hide what MLflow logs while it creates a database, and its own use of deprecated SQLAlchemy.
    logger = logging.getLogger("mlflow.store.db.utils")
    level = logger.level
    logger.setLevel(max(level, logging.WARNING))
    try:
        with translate_errors(uri, "connecting"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            from mlflow import MlflowClient

            _create_database(uri)
            return MlflowClient(uri)
    finally:
        logger.setLevel(level)


def require_made(uri: str) -> None:
    """Refuse a SQLite database that is not there, which connecting would make: no alias is in it."""
    file = Path(uri.removeprefix("sqlite:///").partition("?")[0])
    if uri.startswith("sqlite:///") and not file.exists():
        raise TrackingError(
            f"mlflow.tracking_uri: {file} is not there yet, so no model has an alias in it; register the "
            "model, or set model.version",
            transient=False,
        )


def _create_database(uri: str) -> None:
    """Make MLflow's SQLite file under another name first: when this is killed, there is none, or a whole one.

    MLflow's own way leaves half of the tables, and refuses the file from then on.
    """
    from mlflow import MlflowClient

    name = uri.removeprefix("sqlite:///").partition("?")[0]
    path = Path(name)
    if name == uri or not name or name == ":memory:" or path.exists() or not path.parent.is_dir():
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        for other in path.parent.glob(f".{path.name}.*.part"):
            if time.time() - other.stat().st_mtime > _SURELY_LEFT_SECONDS:
                other.unlink(missing_ok=True)  # by a process that was killed
        part.touch(mode=0o600)  # readable by nobody else, whatever the umask
        MlflowClient(f"sqlite:///{part}").search_experiments(max_results=1)
        with suppress(FileExistsError):  # another process was faster
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def translate_errors(uri: str, doing: str) -> Iterator[None]:
    """Turn every failure of MLflow, and of what is below it, into a TrackingError without secrets."""
    try:
        yield
    except Exception as error:
        transient = _may_pass(error)
        if transient is None:
            raise
        reason = _without_path(uri, without_secrets(_said(error)))
        message = f"MLflow at {without_secrets(uri)}, {doing}: {printable(reason)}"
        # The cause is kept, unless a traceback would print what the message hides.
        clean = _without_path(uri, without_secrets(str(error))) == str(error)
        raise TrackingError(message, transient=transient) from (error if clean else None)


def without_secrets(text: str) -> str:
    """Return the text without the users, passwords and web paths of its URLs, which may be secret."""
    return re.sub(r"(?i)(\bhttps?://[^/?#\s'\"<>()]+)[/?#][^\s'\"<>()]+", r"\1/…", without_passwords(text))


def serves(uri: str, path: str) -> bool:
    """Return True if a tracking server answers at a path beside MLflow's own."""
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request

    answer = http_request(get_default_host_creds(uri), path, "GET", raise_on_status=False)  # type: ignore[no-untyped-call]
    return bool(answer.ok)


def has_page(uri: str) -> bool:
    """Return True if people can open MLflow at its tracking URI, and may be shown it."""
    return re.fullmatch(r"https?://[^/@?#\s]+/?", uri) is not None


def _without_path(uri: str, text: str) -> str:
    """Return the text without the path of a tracking server, which errors quote without its host."""
    path = urlsplit(uri).path.strip("/") if uri.startswith(("http://", "https://")) else ""
    return text.replace(path, "…") if path else text


def code(error: Exception) -> str:
    """MLflow's error code, or nothing."""
    return str(getattr(error, "error_code", ""))


def model_version(client: MlflowClient, model: str, number: str) -> ModelVersion | None:
    """Return a version of a registered model; None for one that is not in the registry."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version(model, number)
    except MlflowException as error:
        if code(error) not in NOT_REGISTERED:
            raise
        return None


def missing_alias(client: MlflowClient, uri: str, model: str, alias: str) -> str:
    """Why there is no such version, and what to do."""
    from mlflow.exceptions import MlflowException

    where = f"MLflow at {without_secrets(uri)}"
    try:
        aliases = client.get_registered_model(model).aliases
    except MlflowException as error:
        if code(error) != "RESOURCE_DOES_NOT_EXIST":
            raise
        return f"{where} has no registered model {model!r}; register it, or correct model.name"
    existing = ", ".join(f"{name} (version {number})" for name, number in sorted(aliases.items()))
    return (
        f"{where}: model {model!r} has no alias {alias!r}; it has: {existing or 'none'}. Set it with "
        f"MlflowClient().set_registered_model_alias({model!r}, {alias!r}, VERSION), or set model.version"
    )


def delete_files(run: Run) -> None:
    """Delete the files of a run, where its storage allows that; what stays goes with ``mlflow gc``."""
    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    where = run.info.artifact_uri or ""
    if run.info.run_id not in where:  # never more than what is the run's own
        return
    try:
        get_artifact_repository(where).delete_artifacts()  # type: ignore[no-untyped-call]
    except (NotImplementedError, FileNotFoundError, MlflowException) as error:
        log.debug("the files of run %s stay: %s", run.info.run_id, without_secrets(str(error)))


def _may_pass(error: Exception) -> bool | None:
    """Return whether a later try may succeed; None when the error is not one of the outside."""
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
    message = next(iter(str(error).splitlines()), type(error).__name__)[:500]
    if re.search(r"table \S+ already exists", message):
        message += " (its making was cut short: move the database away, and a new one is made)"
    return message

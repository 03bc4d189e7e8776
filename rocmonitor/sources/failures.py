"""Failures: what a database error means, in words that name the key to change and never hold a secret."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from rocmonitor.config import Source
from rocmonitor.deadline import Overdue
from rocmonitor.errors import ConfigError, SourceError

Kind = Literal["timeout", "locked", "down", "login", "query", "writes", "missing", "other"]

# SQLSTATE prefixes, the longest match first.
_POSTGRES: dict[str, Kind] = {
    "57014": "timeout",
    "25006": "writes",
    "42P01": "missing",
    "42501": "other",
    "55P03": "locked",
    "3D": "login",
    "28": "login",
    "42": "query",
    "0A": "query",
    "08": "down",
    "40": "down",
    "53": "down",
    "57": "down",
}
_POSTGRES_LOGIN = ("authentication failed", "no pg_hba.conf entry", "does not exist", "no password supplied")
_MARIADB: dict[int, Kind] = {
    1044: "login", 1045: "login", 1049: "login", 1698: "login",
    1054: "query", 1060: "query", 1064: "query", 1305: "query", 1052: "query",
    1146: "missing",
    1290: "writes", 1792: "writes",
    1205: "locked", 1213: "locked",
    1969: "timeout", 3024: "timeout",
    1040: "down", 1053: "down", 1203: "down", 2002: "down", 2003: "down", 2006: "down", 2013: "down",
}  # fmt: skip
_SQLITE: dict[str, Kind] = {
    "SQLITE_BUSY": "locked",
    "SQLITE_LOCKED": "locked",
    "SQLITE_INTERRUPT": "timeout",
    "SQLITE_READONLY": "writes",
    "SQLITE_IOERR": "down",
    "SQLITE_ERROR": "query",
}
_DUCKDB: dict[str, Kind] = {
    "BinderException": "query",
    "ParserException": "query",
    "CatalogException": "missing",
    "InterruptException": "timeout",
    "InvalidInputException": "writes",  # "… attached in read-only mode"
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The source, and the monitor if any, that error messages name."""

    name: str
    spec: Source
    password: str | None = None
    monitor: str | None = None

    @property
    def key(self) -> str:
        """Dotted path of the source."""
        return f"sources.{self.name}"

    @property
    def url_key(self) -> str:
        """Dotted path of where its URL is written."""
        return next(
            f"{self.key}.{key}"
            for key in ("url_env", "url_file", "url")
            if getattr(self.spec, key) is not None
        )


@contextmanager
def translate_errors(origin: Origin) -> Iterator[None]:
    """Turn a database error into a SourceError, or a ConfigError where the query is at fault."""
    try:
        yield
    except Overdue as overdue:
        raise _overdue(overdue, origin) from None
    except SQLAlchemyError as error:
        raise _failure(error, origin) from None
    except Exception as error:
        # The COPY of psycopg and the rows of SQLite are read without SQLAlchemy in between.
        if type(error).__module__.partition(".")[0] not in ("psycopg", "sqlite3"):
            raise
        raise _failure(error, origin) from None


def _overdue(overdue: Overdue, origin: Origin) -> SourceError:
    timeout, deadline = (
        f"{each.total_seconds():g} s" for each in (origin.spec.timeout, origin.spec.deadline)
    )
    match overdue.part:
        case "connect":
            return SourceError(f"{origin.key}: the database cannot be reached: it does not answer")
        case "silence":
            return SourceError(
                f"{origin.key}: the database sent nothing for longer than {timeout} and was stopped; raise "
                f"{origin.key}.timeout, or give the table an index on its time column"
            )
        case "whole":
            return SourceError(
                f"{origin.key}: reading took longer than {deadline} in all and was stopped; raise "
                f"{origin.key}.deadline, or set grouped: database"
            )


def _failure(error: Exception, origin: Origin) -> SourceError | ConfigError:
    cause: BaseException = error.orig if isinstance(error, DBAPIError) and error.orig else error
    line = _first_line(cause, origin.password)
    query = f"monitors.{origin.monitor}.query"
    seconds = f"{origin.spec.timeout.total_seconds():g} s"
    match _kind(cause):
        case "timeout":
            return SourceError(
                f"{origin.key}: the database stopped the query, which took too long ({line}); give the table "
                "an index on its time column, or raise the limit of the account"
            )
        case "locked":
            return SourceError(
                f"{origin.key}: the database is locked by another process ({line}), and stayed so for "
                f"{seconds}; it is tried again later; if this lasts, end that process or raise "
                f"{origin.key}.timeout"
            )
        case "down":
            return SourceError(f"{origin.key}: the database cannot be reached or has stopped: {line}")
        case "login":
            return SourceError(
                f"{origin.key}: the database refuses the login: {line}; check user, password and "
                f"database name in {origin.url_key}",
                transient=False,
            )
        case "query":
            return ConfigError(f"{query}: {line}")
        case "writes":
            return ConfigError(f"{query}: {line}; a source is only ever read from")
        case "missing":
            return SourceError(f"{origin.key}: {line}; see {query}", transient=False)
        case "other":
            transient = isinstance(error, OperationalError | InterfaceError) and not _known(cause)
            return SourceError(f"{origin.key}: {line}", transient=transient)


def _kind(cause: BaseException) -> Kind:
    number = cause.args[0] if cause.args else None
    if isinstance(number, int):
        return _MARIADB.get(number, "other")
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    if isinstance(state, str):
        return next((kind for prefix, kind in _POSTGRES.items() if state.startswith(prefix)), "other")
    if isinstance(name := getattr(cause, "sqlite_errorname", None), str):
        if "no such table" in str(cause):
            return "missing"
        return next((kind for prefix, kind in _SQLITE.items() if name.startswith(prefix)), "other")
    if type(cause).__module__.endswith("duckdb"):  # or _duckdb
        if "Could not set lock" in str(cause):
            return "locked"
        kind = _DUCKDB.get(type(cause).__name__, "other")
        return "other" if kind == "writes" and "read-only" not in str(cause) else kind
    if type(cause).__module__.startswith("psycopg"):  # not connected: there is no SQLSTATE
        return "login" if any(words in str(cause) for words in _POSTGRES_LOGIN) else "down"
    return "other"


def _known(cause: BaseException) -> bool:
    """Whether the database gave a code of its own, so that an unlisted one is no outage."""
    return any(hasattr(cause, name) for name in ("sqlstate", "pgcode", "sqlite_errorname")) or (
        bool(cause.args) and isinstance(cause.args[0], int)
    )


def _first_line(cause: BaseException, password: str | None) -> str:
    words = cause.args[1] if len(cause.args) > 1 and isinstance(cause.args[0], int) else cause
    line = (str(words).strip() or type(cause).__name__).splitlines()[0]
    return line.replace(password, "***") if password else line

"""Connections: a URL opened for reading only, with a limit on time."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from rocmonitor.config import Source
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources.failures import Origin

_CONNECT_SECONDS = 10
_STEPS_BETWEEN_LOOKS_AT_THE_CLOCK = 10_000
_DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_EXTRAS = {
    "psycopg": "rocmonitor[postgres]",
    "pymysql": "rocmonitor[mysql]",
}


def source_url(name: str, spec: Source, folder: Path) -> URL:
    """The URL, with our driver where it names none."""
    try:
        url = make_url(spec.read(folder))
    except ConfigError as error:
        raise ConfigError(f"sources.{name}.{error}") from None
    except (ArgumentError, ValueError):  # the latter for a port that is not a number
        origin = Origin(name=name, spec=spec)
        raise SourceError(
            f"{origin.url_key}: is not an SQLAlchemy URL such as postgresql://user:password@host/database",
            transient=False,
        ) from None
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def new_engine(url: URL, origin: Origin) -> Engine:
    """An engine that has not connected yet.

    Raises
    ------
    SourceError
        Unknown kind of database, a driver that is not installed, a missing SQLite file.
    """
    seconds = origin.spec.timeout.total_seconds()
    try:
        arguments = _arguments(url, origin, seconds)
        return create_engine(url, pool_pre_ping=True, hide_parameters=True, **arguments)
    except NoSuchModuleError:
        problem = f"{url.drivername!r} is not a database that SQLAlchemy knows here; install its dialect"
    except ModuleNotFoundError as error:
        package = _EXTRAS.get(error.name or "", error.name)
        problem = f"needs the Python package {error.name}: pip install '{package}'"
    raise SourceError(f"{origin.url_key}: {problem}", transient=False)


def _arguments(url: URL, origin: Origin, seconds: float) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"creator": lambda: _sqlite(url, origin)}
    patience = math.ceil(seconds) + _CONNECT_SECONDS
    match url.get_driver_name():
        case "psycopg":
            # Prepared statements do not survive a PgBouncer that pools transactions.
            driver = {
                "connect_timeout": _CONNECT_SECONDS,
                "application_name": "rocmonitor",
                "prepare_threshold": None,
                "client_encoding": "utf8",
            }
        case "pymysql":
            driver = {"connect_timeout": _CONNECT_SECONDS, "read_timeout": patience, "charset": "utf8mb4"}
        case _:
            driver = {}
    return {"connect_args": {key: value for key, value in driver.items() if key not in url.query}}


def _sqlite(url: URL, origin: Origin) -> sqlite3.Connection:
    """A SQLite file opened read-only: unlike the default, an absent one is not created."""
    path = url.database or ":memory:"
    if not path.startswith("file:") and not Path(path).is_file():
        raise SourceError(f"{origin.url_key}: there is no SQLite file {path}", transient=False)
    uri = path if path.startswith("file:") else f"file:{quote(path)}?mode=ro"
    return sqlite3.connect(
        uri, uri=True, timeout=origin.spec.timeout.total_seconds(), check_same_thread=False
    )


@contextmanager
def reading(engine: Engine, seconds: float) -> Iterator[Connection]:
    """A connection in one read-only transaction that sees one state of the database.

    PostgreSQL: REPEATABLE READ, READ ONLY. MariaDB and MySQL: READ ONLY with a consistent snapshot. SQLite:
    the file is opened read-only. Other databases: what their isolation level and the account's rights give.
    A statement (for SQLite: the whole reading) is stopped after `seconds`.
    """
    backend = engine.dialect.name
    snapshot = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect() as connection:
        if backend == "postgresql":
            connection.execution_options(**snapshot)
        for statement in _settings(engine, seconds):
            connection.exec_driver_sql(statement)
        if backend == "sqlite":
            _stop_after(connection, seconds)
        yield connection


def _settings(engine: Engine, seconds: float) -> tuple[str, ...]:
    milliseconds = math.ceil(seconds * 1000)
    match engine.dialect.name:
        case "postgresql":
            return (
                f"SET LOCAL statement_timeout = {milliseconds}",
                "SET LOCAL TIME ZONE 'UTC'",
                "SET LOCAL datestyle = ISO",
                "SET LOCAL extra_float_digits = 1",
            )
        case "mysql" | "mariadb":
            mariadb = getattr(engine.dialect, "is_mariadb", False)
            return (
                f"SET SESSION max_statement_time = {seconds}"
                if mariadb
                else f"SET SESSION max_execution_time = {milliseconds}",
                "SET SESSION time_zone = '+00:00'",
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            )
        case "sqlite":
            return ("PRAGMA query_only = ON", "BEGIN")
        case _:
            return ()


def _stop_after(connection: Connection, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    raw.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS_AT_THE_CLOCK)

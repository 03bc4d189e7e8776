"""Connections: a URL opened for reading only, with limits on time."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from rocmonitor.config import Database
from rocmonitor.deadline import Guard, Limits, ask_to_stop
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources.failures import Origin

_CONNECT_SECONDS = 10
_DRIVERS_SECONDS = 10
"""How much longer than we ourselves the driver waits, where it has a limit of its own."""
_GUARD = "rocmonitor guard"
Part = TypeVar("Part")
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


def source_url(name: str, spec: Database, folder: Path) -> URL:
    """The URL, with our driver where it names none."""
    try:
        url = make_url(spec.read(folder))
    except ConfigError as error:
        raise ConfigError(f"sources.{name}.{error}") from None
    except (ArgumentError, ValueError):  # the latter for a port that is not a number
        origin = Origin(name=name, spec=spec)
        raise SourceError(
            f"{origin.where_key}: is not an SQLAlchemy URL such as postgresql://user:password@host/database",
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
    if url.get_backend_name() == "duckdb":
        way_out = f"read this database with kind: files, path: {url.database}"
        raise SourceError(f"{origin.where_key}: DuckDB needs no URL; {way_out}", transient=False)
    try:
        arguments = _arguments(url, origin, seconds)
        # Not tried out before use: that would wait where nobody guards it.
        engine = create_engine(url, hide_parameters=True, **arguments)
        event.listen(engine, "before_cursor_execute", _arm)
        return engine
    except NoSuchModuleError:
        problem = f"{url.drivername!r} is not a database that SQLAlchemy knows here; install its dialect"
    except ModuleNotFoundError as error:
        package = _EXTRAS.get(error.name or "", error.name)
        problem = f"needs the Python package {error.name}: pip install '{package}'"
    raise SourceError(f"{origin.where_key}: {problem}", transient=False)


def _arguments(url: URL, origin: Origin, seconds: float) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"creator": lambda: _sqlite(url, origin)}
    patience = math.ceil(seconds) + _DRIVERS_SECONDS
    match url.get_driver_name():
        case "psycopg":
            # Prepared statements do not survive a PgBouncer that pools transactions.
            driver = {
                "connect_timeout": _CONNECT_SECONDS,
                "application_name": "rocmonitor",
                "prepare_threshold": None,
                "client_encoding": "utf8",
                "keepalives_idle": 30,
                "keepalives_interval": 10,
                "keepalives_count": 3,
                "tcp_user_timeout": 1000 * patience,
            }
        case "pymysql":
            driver = {
                "connect_timeout": _CONNECT_SECONDS,
                "read_timeout": patience,
                "write_timeout": patience,
                "charset": "utf8mb4",
            }
        case _:
            driver = {}
    return {"connect_args": {key: value for key, value in driver.items() if key not in url.query}}


def _sqlite(url: URL, origin: Origin) -> sqlite3.Connection:
    """A SQLite file opened read-only: unlike the default, an absent one is not created."""
    path = url.database or ":memory:"
    if not path.startswith("file:") and not Path(path).is_file():
        raise SourceError(f"{origin.where_key}: there is no SQLite file {path}")
    uri = path if path.startswith("file:") else f"file:{quote(path)}?mode=ro"
    return sqlite3.connect(
        uri, uri=True, timeout=origin.spec.timeout.total_seconds(), check_same_thread=False
    )


@contextmanager
def reading(engine: Engine, seconds: float, whole: float = math.inf) -> Iterator[Connection]:
    """A connection in one read-only transaction that sees one state of the database.

    PostgreSQL: REPEATABLE READ, READ ONLY. MariaDB and MySQL: READ ONLY with a consistent snapshot. SQLite:
    the file is opened read-only. Other databases: what their isolation level and the rights of the account
    give.

    A database that answers nothing for `seconds`, or takes more than `whole` seconds in all, is asked to stop
    and its connection is cut (`rocmonitor.deadline.Overdue`). The same holds where the account or the network
    gives its limits no effect: they are kept on this side.
    """
    backend = engine.dialect.name
    snapshot = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    # SQLite itself waits for a lock, and says so.
    silence = seconds + 1 if backend == "sqlite" else seconds
    limits = Limits(connect=_CONNECT_SECONDS + 1, silence=silence, whole=whole)
    ask = partial(_kill, engine) if engine.dialect.driver == "pymysql" else ask_to_stop
    with Guard(engine.connect, limits, ask) as guard:
        connection: Connection = guard.connection
        connection.info[_GUARD] = guard
        raw = connection.connection.driver_connection
        if backend == "postgresql":
            connection.execution_options(**snapshot)
        try:
            for statement in _settings(engine, seconds, whole):
                connection.exec_driver_sql(statement)
            yield connection
        finally:
            if guard.overdue is not None and engine.dialect.driver == "pymysql":
                _forget_rest(raw)


def guard_of(connection: Connection) -> Guard:
    """What guards a connection that `reading` gave."""
    guard: Guard = connection.info[_GUARD]
    return guard


def guarded(guard: Guard, parts: Iterable[Part]) -> Iterator[Part]:
    """Parts of an answer; what is done with each of them is not the database's time."""
    guard.arm()
    for part in parts:
        guard.rest()
        yield part
        guard.arm()
    guard.rest()


def _arm(connection: Connection, *_: object) -> None:
    if (guard := connection.info.get(_GUARD)) is not None:
        guard.arm()


def _kill(engine: Engine, raw: Any) -> None:
    """End what a connection to MariaDB or MySQL is doing, through another one."""
    with closing(engine.raw_connection()) as other:
        other.detach()  # from the pool: it is closed for good
        other.cursor().execute(f"KILL QUERY {raw.thread_id()}")


def _forget_rest(raw: Any) -> None:
    """Keep PyMySQL from reading the rest of an answer, after the connection was cut, in a finalizer."""
    if (answer := getattr(raw, "_result", None)) is not None:
        answer.unbuffered_active = False


def _settings(engine: Engine, seconds: float, whole: float) -> tuple[str, ...]:
    # The server's own limit is for the time when nobody is left to stop it.
    longest = seconds + _DRIVERS_SECONDS if math.isinf(whole) else whole + _DRIVERS_SECONDS
    milliseconds = math.ceil(longest * 1000)
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
                f"SET SESSION max_statement_time = {longest}"
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

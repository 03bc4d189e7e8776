"""Connections: a URL opened for reading only, with limits on time."""

from __future__ import annotations

import math
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Dialect, Engine, Select, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from rocmonitor.caveat import Caveat
from rocmonitor.config import Database, Monitor
from rocmonitor.deadline import Guard, Limits, arm, ask_to_stop, known_guard
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources.dialects import settings
from rocmonitor.sources.failures import Origin

if TYPE_CHECKING:
    import pandas as pd

    from rocmonitor.sources.arrow import ArrowTable
    from rocmonitor.sources.chunk import Chunk
    from rocmonitor.sources.query import Bound, Query
    from rocmonitor.sources.values import Encoder


_CONNECT_SECONDS = 10
_DRIVERS_SECONDS = 10
"""Seconds that the driver waits longer than we do, where it has a limit of its own."""
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
    """Return the URL, with our driver where it names none."""
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
    """Return an engine that has not connected yet; SourceError without a dialect, driver or SQLite file."""
    seconds = origin.spec.timeout.total_seconds()
    if url.get_backend_name() == "duckdb":
        way_out = f"read this database with kind: files, path: {url.database}"
        raise SourceError(f"{origin.where_key}: DuckDB needs no URL; {way_out}", transient=False)
    try:
        arguments = _arguments(url, origin, seconds)
        # Not tried out before use: that would wait where nobody guards it.
        engine = create_engine(url, hide_parameters=True, **arguments)
        event.listen(engine, "before_cursor_execute", arm)
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
    """Return a SQLite file opened read-only: unlike the default, an absent one is not created."""
    path = url.database or ":memory:"
    if not path.startswith("file:") and not Path(path).is_file():
        raise SourceError(f"{origin.where_key}: there is no SQLite file {path}")
    uri = path if path.startswith("file:") else f"file:{quote(path)}?mode=ro"
    return sqlite3.connect(
        uri, uri=True, timeout=origin.spec.timeout.total_seconds(), check_same_thread=False
    )


@contextmanager
def reading(engine: Engine, seconds: float, whole: float = math.inf) -> Iterator[Connection]:
    """Open a connection in one read-only transaction that sees one state of the database.

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
        connection: Connection = known_guard(guard)
        raw = connection.connection.driver_connection
        if backend == "postgresql":
            connection.execution_options(**snapshot)
        try:
            # The server's own limit is for the time when nobody is left to stop it.
            longest = (seconds if math.isinf(whole) else whole) + _DRIVERS_SECONDS
            for statement in settings(engine.dialect, longest):
                connection.exec_driver_sql(statement)
            yield connection
        finally:
            answer = getattr(raw, "_result", None) if engine.dialect.driver == "pymysql" else None
            if guard.overdue is not None and answer is not None:
                answer.unbuffered_active = False  # else a finalizer reads the rest from the cut connection


def guarded(guard: Guard, parts: Iterable[Part]) -> Iterator[Part]:
    """Parts of an answer; what is done with each of them is not the database's time."""
    guard.arm()
    for part in parts:
        guard.rest()
        yield part
        guard.arm()
    guard.rest()


def _kill(engine: Engine, raw: Any) -> None:
    with closing(engine.raw_connection()) as other:
        other.detach()  # from the pool: it is closed for good
        other.cursor().execute(f"KILL QUERY {raw.thread_id()}")


CHUNK_ROWS = 50_000


PlainValues = Callable[[str], Sequence[Any]]
"""The plain values of a column, by its name in the statement."""


class Session(ABC):
    """A source that is open for reading; all statements of a session see one state of it.

    Its `dialect` writes the SQL of its `backend`, such as ``postgresql``, ``mariadb``, ``sqlite`` or
    ``duckdb``. Its `caveats` hold for rows of every window.
    """

    backend: str
    dialect: Dialect
    caveats: tuple[Caveat, ...] = ()

    @abstractmethod
    def columns(self, monitor: Monitor, bound: Bound) -> Sequence[tuple[str, Any]]:
        """Return names and type codes (None without) of a query's columns, each as often as it is given."""

    @abstractmethod
    def first(self, statement: Select[Any], bound: Bound) -> Any:
        """Return the first value of the first line; None without lines."""

    @abstractmethod
    def lines(self, statement: Select[Any], query: Query) -> Sequence[Sequence[Any]]:
        """Return the lines of one of the query's statements that gives few."""

    def labels(self, query: Query) -> Sequence[Sequence[Any]]:
        """Return the lines of `Query.labels`."""
        return self.lines(query.labels(), query)

    def chunks(self, statement: Select[Any], query: Query, encoder: Encoder) -> Iterator[Chunk]:
        """Return the lines of a statement as the encoder reads them, 50,000 at a time; at least one chunk."""
        return (chunk for chunk, _ in self.chunks_and_values(statement, query, encoder))

    @abstractmethod
    def chunks_and_values(
        self, statement: Select[Any], query: Query, encoder: Encoder
    ) -> Iterator[tuple[Chunk, PlainValues]]:
        """Return the same, each with the plain values of its columns."""

    @abstractmethod
    def table(
        self, statement: Select[Any], query: Query, extra: Sequence[str], on_part: Callable[[], object]
    ) -> ArrowTable | None:
        """Return a whole answer, calling `on_part` meanwhile; None where Arrow does not read it."""

    def beyond_reading(self) -> Caveat | None:
        """Return what the account may do besides reading; None where it is nothing, or cannot be known."""
        return None

    @abstractmethod
    def rows(self, statement: Select[Any]) -> pd.DataFrame:
        """Return the lines of a statement that is no monitor's."""

    @abstractmethod
    def tables(self, *, everywhere: bool = False) -> list[str]:
        """Return the tables that a statement may read; `everywhere` first others', ``schema.table``."""


class Sessions(Protocol):
    """An opener of sessions; safe to share between threads."""

    kind: str  # of source, for people

    def open(self, origin: Origin, monitor: Monitor | None = None) -> AbstractContextManager[Session]:
        """Open a session, which ends with the context; for the query of a monitor if it is given."""

    def close(self) -> None:
        """Give back what is kept between sessions."""

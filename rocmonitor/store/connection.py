"""Connections to rocmonitor's own database, and the one place where its failures become `StoreError`."""

from __future__ import annotations

import math
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    URL,
    ColumnElement,
    CompoundSelect,
    Connection,
    DateTime,
    Engine,
    RowMapping,
    Select,
    Table,
    create_engine,
    event,
    func,
    make_url,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, InterfaceError, OperationalError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from rocmonitor.deadline import Guard, Limits, Overdue, arm, known_guard
from rocmonitor.errors import StoreError
from rocmonitor.policy.clock_jump import BelievedClock
from rocmonitor.policy.windows import Window
from rocmonitor.store.tables import clock as table
from rocmonitor.store.tables import written_json

CONNECT_SECONDS = 10
LOCK_SECONDS = 30
ANSWER_SECONDS = 10
"""Seconds that a server may take to answer, besides waiting for a lock."""

_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}
_NO_URL = (
    "store.url is not a SQLAlchemy URL such as sqlite:////var/lib/rocmonitor/rocmonitor.db or "
    "postgresql://user:password@host/database (in a password write @ as %40, : as %3A and / as %2F)"
)
_TRANSIENT = (OperationalError, InterfaceError, NoFreeConnection)


@dataclass(frozen=True, slots=True)
class Store:
    """rocmonitor's own database; made by `rocmonitor.store.open_store`. Threads may share it."""

    engine: Engine
    stands_in: bool = False
    """True for the empty one that is read where no database has been made yet."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads, from one snapshot on SQLite."""
        with store_errors(self.engine.url), _guarded(self.engine) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, *, patiently: bool = False) -> Iterator[Connection]:
        """Open a transaction that writes all or nothing, `patiently` without limit; SQLite has one."""
        engine = self.engine.execution_options(writing=True)
        with store_errors(self.engine.url), _guarded(engine, patiently) as connection, connection.begin():
            yield connection

    def rows(self, query: Select[Any] | CompoundSelect[Any]) -> list[RowMapping]:
        """Return the lines of one query."""
        with self.reading() as connection:
            return list(connection.execute(query).mappings())

    def row(self, kind: str, id: int, query: Select[Any]) -> RowMapping:
        """Return the only line of a query, about what a delivery names by its number."""
        rows = self.rows(query)
        if not rows:
            raise StoreError(f"store {shown(self.engine.url)}: there is no {kind} {id}", transient=False)
        return rows[0]

    def scalar(self, query: Select[Any]) -> Any:
        """Return the first value of one query; None without lines."""
        with self.reading() as connection:
            return connection.scalar(query)

    def close(self) -> None:
        """Close all connections; what only stood in is deleted."""
        self.engine.dispose()
        if self.stands_in:
            shutil.rmtree(Path(str(self.engine.url.database)).parent, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(url: str) -> Store:
    """Return the database at `url`, whatever its tables; nothing is opened yet."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The cause is left out: it may quote the URL, and with it the password.
        raise StoreError(_NO_URL, transient=False) from None
    if "@" in (parsed.host or ""):
        # The rest of a password whose own @ is not written %40.
        raise StoreError(_NO_URL, transient=False)
    backend = parsed.get_backend_name()
    if backend not in _DRIVERS:
        raise StoreError(
            f"store {shown(parsed)}: must be SQLite or PostgreSQL; it is {backend}", transient=False
        )
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise StoreError(
            f"store {shown(parsed)}: must be a file, for memory is lost with the process; "
            "write sqlite:///rocmonitor.db",
            transient=False,
        )
    if (path := sqlite_file(parsed)) and not path.parent.is_dir():
        raise StoreError(
            f"store {shown(parsed)}: the folder {path.parent} does not exist; create it, or name another "
            "file in store.url",
            transient=False,
        )

    parsed = parsed.set(drivername=_DRIVERS[backend])
    on_sqlite = backend == "sqlite"
    patience = {"timeout": str(LOCK_SECONDS)} if on_sqlite else {"connect_timeout": str(CONNECT_SECONDS)}
    try:
        engine = create_engine(
            parsed.set(query={**patience, **parsed.query}),
            # A server that was restarted is no reason to fail.
            pool_pre_ping=not on_sqlite,
            json_serializer=written_json,
        )
    except ImportError as error:
        way_out = "is not installed; pip install 'rocmonitor[postgres]'"
        raise StoreError(
            f"store {shown(parsed)}: its driver {error.name} {way_out}", transient=False
        ) from error
    except ValueError as error:
        raise StoreError(f"store {shown(parsed)}: what follows the ?: {error}", transient=False) from error
    if on_sqlite:
        event.listen(engine, "do_connect", _make_private)
        event.listen(engine, "connect", _prepare_sqlite)
    else:
        event.listen(engine, "before_cursor_execute", arm)
    event.listen(engine, "begin", _begin)
    return Store(engine)


def shown(url: URL) -> str:
    """Return `url` as it may be printed: without its user, its password and its query."""
    return URL.create(url.drivername, host=url.host, port=url.port, database=url.database).render_as_string()


def sqlite_file(url: URL) -> Path | None:
    """Return where a SQLite database lies; None for another database and for a ``file:`` URI."""
    if url.get_backend_name() != "sqlite" or not url.database or url.database.startswith("file:"):
        return None
    return Path(url.database)


@contextmanager
def store_errors(url: URL) -> Iterator[None]:
    """Turn what SQLAlchemy raises into a `StoreError` that says which database, what, and what to do."""
    try:
        yield
    except Overdue:
        raise StoreError(
            f"store {shown(url)}: the database does not answer; it is tried again; check that the server runs"
        ) from None
    except SQLAlchemyError as error:
        cause = error.orig if isinstance(error, StatementError) and error.orig else error
        what = " ".join(str(cause).split())
        if url.password:
            what = what.replace(str(url.password), "***")
        if url.username:
            what = re.sub(rf'\b(user|role) "{re.escape(url.username)}"', r"\1 of store.url", what)
        raise StoreError(
            f"store {shown(url)}: {what}{_way_out(url, error, what)}", transient=isinstance(error, _TRANSIENT)
        ) from error


@contextmanager
def _guarded(engine: Engine, patiently: bool = False) -> Iterator[Connection]:
    """Lend a connection; a server that goes silent is not waited for."""
    if engine.dialect.name == "sqlite":  # which limits its waits itself
        with engine.connect() as connection:
            yield connection
        return
    silence = math.inf if patiently else LOCK_SECONDS + ANSWER_SECONDS
    limits = Limits(connect=CONNECT_SECONDS + 1, silence=silence)
    with Guard(engine.connect, limits) as guard:
        yield known_guard(guard)


def insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """INSERT with ON CONFLICT, which both databases have and SQLAlchemy once for each."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


def put_row(
    connection: Connection,
    table: Table,
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    changed: Mapping[str, Any] | None = None,
) -> None:
    """Write a row with these values; one with this key that is there has them, or only what is `changed`."""
    row = insert(connection, table).values(**key, **values)
    changed = values if changed is None else changed
    connection.execute(row.on_conflict_do_update(index_elements=list(key), set_=changed))


_NAMED = {"digest": "data_digest", "champion_version": "model_version"}
"""Columns of an evaluation by the fields that hold them, where these have another name."""


@cache
def _names(kind: type, but: tuple[str, ...]) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in but]


def columns_of(table: Table, kind: type, *but: str) -> list[ColumnElement[Any]]:
    """Return the columns that are fields of a dataclass, under the names of these, but for some."""
    columns = table.c
    return [columns[n] if n in columns else columns[_NAMED[n]].label(n) for n in _names(kind, but)]


def fields_of(row: RowMapping, kind: type, *but: str) -> dict[str, Any]:
    """Return the fields of a dataclass that such a row has."""
    return {name: row[name] for name in _names(kind, but)}


def having(table: Table, **values: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that some columns of a table have these values."""
    return [table.c[name] == value for name, value in values.items()]


def window_of(row: RowMapping) -> Window:
    """Return the window of a row."""
    return Window(row["window_start"], row["window_end"])


def window_key(window: Window) -> dict[str, datetime]:
    """Return the columns that hold a window."""
    return {"window_start": window.start, "window_end": window.end}


def _make_private(_: object, __: object, arguments: list[Any], ___: object) -> None:
    """Create the file so that only its owner may read it; SQLite gives the files beside it the same mode."""
    path = str(arguments[0]) if arguments else ""
    if path and not path.startswith((":", "file:")):
        with suppress(OSError):  # there already, or SQLite says why not
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _prepare_sqlite(connection: Any, _: object) -> None:
    # The driver would begin transactions late and by its own rules: we begin them.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            # Another program is at the file, for which SQLite waits here not always, but there it does.
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")


def _begin(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        return
    # A transaction that turns from reading to writing can fail at once, however long the timeout.
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _way_out(url: URL, error: SQLAlchemyError, what: str) -> str:
    if not isinstance(error, _TRANSIENT):
        return ""
    if "lock" in what:
        return "; another program holds it: try again when that has finished"
    if isinstance(error, StatementError) and error.statement is None:
        if url.get_backend_name() == "sqlite":
            return "; check that the file and its folder may be read and written, and that the disk has room"
        return "; check that the server runs, and host, user, password and database in store.url"
    return ""


def database_time(store: Store) -> datetime | None:
    """Return the clock of the database; None where that is the clock of this machine, as with SQLite."""
    if store.engine.dialect.name != "postgresql":
        return None
    now: datetime = store.scalar(select(func.clock_timestamp(type_=DateTime(timezone=True))))
    return now


def clock_seen(store: Store) -> BelievedClock | None:
    """When the clock was last believed; None before the first time."""
    rows = store.rows(select(*columns_of(table, BelievedClock)))
    if not rows:
        return None
    ahead = rows[0]["ahead"]
    return BelievedClock(**{**rows[0], "ahead": None if ahead is None else timedelta(seconds=ahead)})


def save_clock_seen(store: Store, seen: BelievedClock) -> None:
    """Remember when the clock was last believed."""
    ahead = None if seen.ahead is None else seen.ahead.total_seconds()
    with store.writing() as connection:
        put_row(connection, table, {"id": 1}, {**asdict(seen), "ahead": ahead})

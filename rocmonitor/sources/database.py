"""Databases: sessions of any database with a SQLAlchemy URL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, Engine, Select, inspect, text

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.deadline import guard_of
from rocmonitor.sources.arrival import arrival_of_text
from rocmonitor.sources.chunk import Chunk, assembled
from rocmonitor.sources.clock import read_times, since_epoch
from rocmonitor.sources.condensing import define_functions
from rocmonitor.sources.connect import CHUNK_ROWS, PlainValues, Session, guarded, reading
from rocmonitor.sources.counting import RowCounter
from rocmonitor.sources.failures import Origin
from rocmonitor.sources.hashing import hashed_text
from rocmonitor.sources.query import Bound, Query, without_rows
from rocmonitor.sources.values import Encoder, encoded, identities, number_of

if TYPE_CHECKING:
    import pandas as pd

    from rocmonitor.sources.arrow import ArrowTable


_NUMBERED = re.compile(r":\d+$")
_SYSTEM = ("information_schema", "pg_catalog", "mysql", "performance_schema", "sys")
_FETCHED_ROWS = 500  # at a time: their values are turned into columns while they are in a cache


_POSTGRES_ROLES = (
    "pg_execute_server_program",
    "pg_read_server_files",
    "pg_write_server_files",
    "pg_write_all_data",
)
_POSTGRES_HAS_ROLES = text(
    "SELECT rolname::text FROM pg_roles WHERE rolname = ANY(:roles) AND pg_has_role(oid, 'USAGE') ORDER BY 1"
)
_POSTGRES_TABLES = text(
    """
    SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind IN ('r', 'p', 'v', 'f') AND nspname !~ '^pg_' AND nspname <> 'information_schema'
      AND (
        has_table_privilege(c.oid, 'DELETE, TRUNCATE') OR has_any_column_privilege(c.oid, 'INSERT, UPDATE')
      )
    ORDER BY 1
    """
)
_POSTGRES_CREATE = text(
    """
    SELECT format('SCHEMA %I', nspname) FROM pg_namespace
    WHERE nspname !~ '^pg_' AND has_schema_privilege(oid, 'CREATE')
    UNION ALL SELECT format('DATABASE %I', current_database())
    WHERE has_database_privilege(current_database(), 'CREATE') ORDER BY 1
    """
)
# Everybody may call lo_create and its like: the configuration refuses them by name.
_POSTGRES_FUNCTIONS = text(
    """
    SELECT DISTINCT proname::text FROM pg_proc
    WHERE proname ~ '^(dblink(_.*)?|lo_import|lo_export|pg_read_(binary_)?file|pg_file_write)$'
      AND has_function_privilege(oid, 'EXECUTE') ORDER BY 1
    """
)
_READERS_GRANTS = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS", "LOCK TABLES"})


class DatabaseSessions:
    """Opens sessions on connections of an engine, which keeps them for the next one."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.kind = engine, engine.dialect.name

    @contextmanager
    def open(self, origin: Origin, monitor: Monitor | None = None) -> Iterator[DatabaseSession]:  # noqa: ARG002
        """Open a read-only transaction, which sees one state of the database."""
        limits = origin.spec.timeout.total_seconds(), origin.spec.deadline.total_seconds()
        with reading(self.engine, *limits) as connection:
            yield DatabaseSession(connection)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


class DatabaseSession(Session):
    """A read-only transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.dialect = connection, connection.dialect
        self.backend = self.dialect.name

    def columns(self, monitor: Monitor, bound: Bound) -> Sequence[tuple[str, Any]]:
        """Do as `Session.columns` says."""
        with self.connection.execute(without_rows(monitor), bound) as result:
            description = (result.cursor.description if result.cursor is not None else None) or ()
            columns = [(str(column[0]), column[1]) for column in description]
        if self.backend == "sqlite":  # it calls the second column p of a query in FROM p:1
            names = {name.casefold() for name, _ in columns}
            plain = (_NUMBERED.sub("", name) for name, _ in columns)
            columns = [
                (base if base.casefold() in names else name, code)
                for base, (name, code) in zip(plain, columns, strict=True)
            ]
        return columns

    def first(self, statement: Select[Any], bound: Bound) -> Any:
        """Do as `Session.first` says."""
        return self.connection.execute(statement, bound).scalar()

    def labels(self, query: Query) -> Sequence[Sequence[Any]]:
        """Do as `Session.labels` says; SQLite has no hash, so its rows are counted here."""
        if self.backend != "sqlite":
            return super().labels(query)
        _teach(self.connection, query)
        counter = RowCounter()
        parts = column_parts(self.connection, query, query.labelled(), CHUNK_ROWS)
        for columns in guarded(guard_of(self.connection), parts):
            counter.add(columns)
        return counter.lines()

    def lines(self, statement: Select[Any], query: Query) -> Sequence[Sequence[Any]]:
        """Do as `Session.lines` says."""
        _teach(self.connection, query)
        lines = self.connection.execute(statement, query.bound).all()
        guard_of(self.connection).rest()
        return lines

    def chunks(self, statement: Select[Any], query: Query, encoder: Encoder) -> Iterator[Chunk]:
        """Do as `Session.chunks` says."""
        if not self._copies(query):
            return super().chunks(statement, query, encoder)
        from rocmonitor.sources.arrow import chunk_of
        from rocmonitor.sources.copying import copied

        parts = copied(self.connection, query, statement, CHUNK_ROWS)
        chunks = (chunk_of(part.columns, encoder, part.values) for part in parts)
        return guarded(guard_of(self.connection), chunks)

    def chunks_and_values(
        self, statement: Select[Any], query: Query, encoder: Encoder
    ) -> Iterator[tuple[Chunk, PlainValues]]:
        """Do as `Session.chunks_and_values` says."""
        _teach(self.connection, query)
        parts = column_parts(self.connection, query, statement, CHUNK_ROWS)
        for columns in guarded(guard_of(self.connection), parts):
            yield to_chunk(columns, encoder, query), columns.__getitem__

    def table(
        self, statement: Select[Any], query: Query, extra: Sequence[str], on_part: Callable[[], object]
    ) -> ArrowTable | None:
        """Do as `Session.table` says; only PostgreSQL's answers are read by Arrow."""
        if not self._copies(query):
            return None
        from rocmonitor.sources.arrow import joined
        from rocmonitor.sources.copying import copied

        parts = []
        for part in guarded(
            guard_of(self.connection), copied(self.connection, query, statement, CHUNK_ROWS, extra)
        ):
            parts.append(part)
            on_part()
        return joined(parts)

    def _copies(self, query: Query) -> bool:
        if self.connection.dialect.driver != "psycopg":
            return False
        from rocmonitor.sources.copying import can_copy  # psycopg is an extra

        return can_copy(query)

    def beyond_reading(self) -> Caveat | None:
        """Do as `Session.beyond_reading` says; SQLite's files are opened for reading only."""
        match self.backend:
            case "postgresql":
                who = text("SELECT current_user::text, rolsuper FROM pg_roles WHERE rolname = current_user")
                account, superuser = self.connection.execute(who).one()
                if superuser:
                    return Caveat("account-superuser", account=account)
                roles = {"roles": list(_POSTGRES_ROLES)}
                may = {
                    "role": self.connection.execute(_POSTGRES_HAS_ROLES, roles).scalars().all(),
                    "write": self.connection.execute(_POSTGRES_TABLES).scalars().all(),
                    "create": self.connection.execute(_POSTGRES_CREATE).scalars().all(),
                    "call": self.connection.execute(_POSTGRES_FUNCTIONS).scalars().all(),
                }
                rights = {kind: list(names) for kind, names in may.items() if names}
                return Caveat("account-may-write", account=account, may=rights) if rights else None
            case "mysql" | "mariadb":
                account = str(self.connection.exec_driver_sql("SELECT CURRENT_USER()").scalar_one())
                more = granted(
                    [str(line) for line in self.connection.exec_driver_sql("SHOW GRANTS").scalars()]
                )
                return Caveat("account-has-grants", account=account, grants=more) if more else None
            case _:
                return None

    def rows(self, statement: Select[Any]) -> pd.DataFrame:
        """Do as `Session.rows` says."""
        import pandas as pd  # slow to import, and few commands ask for a frame

        result = self.connection.execute(statement)
        return pd.DataFrame(result.fetchall(), columns=list(result.keys()))

    def tables(self, *, everywhere: bool = False) -> list[str]:
        """Do as `Session.tables` says."""
        inspector = inspect(self.connection)
        others = (
            set(inspector.get_schema_names()) - {inspector.default_schema_name, *_SYSTEM}
            if everywhere
            else ()
        )
        elsewhere = [
            f"{schema}.{name}"
            for schema in sorted(others)
            for name in sorted([*inspector.get_table_names(schema), *inspector.get_view_names(schema)])
        ]
        return [*elsewhere, *sorted([*inspector.get_table_names(), *inspector.get_view_names()])]


def granted(grants: Iterable[str]) -> list[str]:
    """Return the rights in the lines of ``SHOW GRANTS`` that go beyond reading, each once.

    Examples
    --------
    >>> granted(["GRANT USAGE ON *.* TO `a`@`%`", "GRANT SELECT, INSERT (x, y) ON `d`.* TO `a`@`%`"])
    ['INSERT on `d`.*']
    """
    may = []
    for line in grants:
        match = re.match(r"GRANT (.+?) ON (.+?) TO ", line)
        if match is None:  # membership of a role, whose own grants have lines of their own
            continue
        names = [name.strip() for name in re.sub(r"\([^)]*\)", "", match[1]).split(",")]
        may += [f"{name} on {match[2]}" for name in names if name not in _READERS_GRANTS]
        if line.rstrip().endswith("WITH GRANT OPTION"):
            may.append(f"GRANT OPTION on {match[2]}")
    return list(dict.fromkeys(may))


def column_parts(
    connection: Connection, query: Query, statement: Select[Any], size: int
) -> Iterator[dict[str, list[Any]]]:
    """Yield the statement's columns by name, `size` rows at a time; the last part may be empty."""
    plain = connection.dialect.name == "sqlite"  # its driver streams, and its tuples need no conversion
    streaming = connection if plain else connection.execution_options(yield_per=size)
    names = [str(name) for name in statement.selected_columns.keys()]  # noqa: SIM118 not a mapping
    with streaming.execute(statement, query.bound) as result:
        fetch = result.cursor.fetchmany if plain else result.fetchmany
        while True:
            columns: dict[str, list[Any]] = {name: [] for name in names}
            for _ in range(max(1, size // _FETCHED_ROWS)):
                part = fetch(min(size, _FETCHED_ROWS))
                for column, values in zip(columns.values(), zip(*part, strict=True), strict=False):
                    column.extend(values)
                if not part:
                    break
            yield columns
            if not part:
                break


def _teach(connection: Connection, query: Query) -> None:
    """SQLite keeps times as text: let it call the query's clocks to read them."""
    if connection.dialect.name == "sqlite":
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        # A row's time is asked for up to three times, one after the other.
        raw.create_function("rocmonitor_time", 1, lru_cache(maxsize=1)(query.clock.read), deterministic=True)
        raw.create_function("rocmonitor_number", 1, number_of, deterministic=True)
        raw.create_function("md5", 1, hashed_text, deterministic=True)
        if query.monitor.may_condense:
            define_functions(raw)
        known_clock = query.known_clock
        if known_clock is not None:
            raw.create_function("rocmonitor_known", 1, known_clock.read, deterministic=True)
            alike = query.clock if known_clock.zone == query.clock.zone else None
            instants = [since_epoch(known_clock.at(instant)) for instant in query.instants]
            code = arrival_of_text(known_clock, alike, instants)
            raw.create_function("rocmonitor_arrival", 2, code, deterministic=True)


def to_chunk(columns: Mapping[str, Sequence[Any]], encoder: Encoder, query: Query) -> Chunk:
    """Return some rows, as columns by role, as the encoder reads them."""
    if encoder.counter is not None:
        encoder.counter.add(columns)
    instants: dict[str, Any] = {}
    if "inside" in columns:
        inside = np.array(columns["inside"], dtype=np.bool_)
        for role in columns.keys() & {"time", "known"}:  # 0 for none: outside the window, or without an id
            times = (0 if time is None else time for time in columns[role])
            numbers = [time if isinstance(time, int) else since_epoch(time) for time in times]
            instants[role] = np.array(numbers, dtype=np.int64)
    else:
        instants["time"], readable = read_times(query.clock, columns["time"])
        start, end = query.clock.microseconds(query.window)
        inside = readable & (instants["time"] >= start) & (instants["time"] < end)
        if "known" in columns and query.known_clock is not None:
            instants["known"], _ = read_times(query.known_clock, columns["known"])
    identity: dict[str, Any] = {}
    if "id" in columns:
        has_id, words = identities(columns["id"])
        identity = {"has_id": has_id, "id": words, **instants}
    if "cluster" in columns:
        # One word each: two of n texts have the same with a chance below n² / 2⁶⁵.
        identity["has_cluster"], words = identities(columns["cluster"])
        identity["cluster"] = words[:, 0]
    return assembled(
        columns,
        encoder,
        lambda role: encoder.scores(columns[role]),
        lambda role, code, kind: encoded(columns[role], code, kind),
        inside=inside,
        weight=np.array(columns["weight"], dtype=np.int64) if "weight" in columns else None,
        arrival=np.array(columns["arrival"], dtype=np.int8) if "arrival" in columns else None,
        **identity,
    )

"""Databases: sessions of any database with a SQLAlchemy URL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Select, inspect

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.sources.arrival import arrival_of_text
from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.clock import since_epoch
from rocmonitor.sources.condensing import define_floor, define_functions, lacks_functions
from rocmonitor.sources.connect import CHUNK_ROWS, PlainValues, beyond_reading, guard_of, guarded, reading
from rocmonitor.sources.counting import RowCounter
from rocmonitor.sources.drawing import hashed_text
from rocmonitor.sources.failures import Origin
from rocmonitor.sources.lines import to_chunk
from rocmonitor.sources.query import Bound, Query, without_rows
from rocmonitor.sources.values import Encoder, number_of

if TYPE_CHECKING:
    import pandas as pd

    from rocmonitor.sources.arrow import Table


_NUMBERED = re.compile(r":\d+$")
_SYSTEM = ("information_schema", "pg_catalog", "mysql", "performance_schema", "sys")
_FETCHED_ROWS = 500  # at a time: their values are turned into columns while they are in a cache


class DatabaseSessions:
    """Opens sessions on connections of an engine, which keeps them for the next one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def kind(self) -> str:
        """The name of the dialect."""
        return self.engine.dialect.name

    @contextmanager
    def open(self, origin: Origin, monitor: Monitor | None = None) -> Iterator[DatabaseSession]:  # noqa: ARG002
        """Open a read-only transaction, which sees one state of the database."""
        limits = origin.spec.timeout.total_seconds(), origin.spec.deadline.total_seconds()
        with reading(self.engine, *limits) as connection:
            yield DatabaseSession(connection)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


class DatabaseSession:
    """A read-only transaction."""

    caveats: tuple[Caveat, ...] = ()

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def backend(self) -> str:
        """The name of the dialect."""
        return self.connection.dialect.name

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
        _teach(self.connection, query)
        if self.backend != "sqlite":
            return self.connection.execute(query.labels(), query.bound).all()
        counter = RowCounter()
        parts = column_parts(self.connection, query, query.labelled(), CHUNK_ROWS)
        for columns in guarded(guard_of(self.connection), parts):
            counter.add(columns)
        return counter.lines()

    def parts(self, statement: Select[Any], query: Query) -> Iterator[Sequence[Sequence[Any]]]:
        """Do as `Session.parts` says."""
        _teach(self.connection, query)
        streaming = self.connection.execution_options(yield_per=CHUNK_ROWS)
        with streaming.execute(statement, query.bound) as result:
            yield from guarded(guard_of(self.connection), result.partitions())

    def chunks(self, statement: Select[Any], query: Query, encoder: Encoder) -> Iterator[Chunk]:
        """Do as `Session.chunks` says."""
        _teach(self.connection, query)
        return guarded(guard_of(self.connection), self._chunks(statement, query, encoder))

    def chunks_and_values(
        self, statement: Select[Any], query: Query, encoder: Encoder
    ) -> Iterator[tuple[Chunk, PlainValues]]:
        """Do as `Session.chunks_and_values` says."""
        names = [str(name) for name in statement.selected_columns.keys()]  # noqa: SIM118 not a mapping
        for part in chain(self.parts(statement, query), [[]]):
            values = zip(*part, strict=True) if part else [()] * len(names)
            columns = dict(zip(names, values, strict=True))
            given = {role: columns[role] for role in query.roles}
            yield to_chunk(given, encoder, query), columns.__getitem__

    def table(
        self, statement: Select[Any], query: Query, extra: Sequence[str], on_part: Callable[[], object]
    ) -> Table | None:
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

    def _chunks(self, statement: Select[Any], query: Query, encoder: Encoder) -> Iterator[Chunk]:
        if not self._copies(query):
            return fetched(self.connection, query, statement, encoder, CHUNK_ROWS)
        from rocmonitor.sources.arrow import chunk_of
        from rocmonitor.sources.copying import copied

        parts = copied(self.connection, query, statement, CHUNK_ROWS)
        return (chunk_of(part.columns, encoder, part.values) for part in parts)

    def beyond_reading(self) -> Caveat | None:
        """Do as `Session.beyond_reading` says."""
        return beyond_reading(self.connection)

    def rows(self, statement: Select[Any]) -> pd.DataFrame:
        """Do as `Session.rows` says."""
        import pandas as pd  # slow to import, and few commands ask for a frame

        result = self.connection.execute(statement)
        return pd.DataFrame(result.fetchall(), columns=list(result.keys()))

    def quoted(self, name: str) -> str:
        """Do as `Session.quoted` says."""
        return str(self.connection.dialect.identifier_preparer.quote(name))

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


def fetched(
    connection: Connection, query: Query, statement: Select[Any], encoder: Encoder, size: int
) -> Iterator[Chunk]:
    """Yield the statement's rows, `size` at a time, from any database."""
    for columns in column_parts(connection, query, statement, size):
        yield to_chunk(columns, encoder, query)


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
            (define_functions if lacks_functions(raw) else define_floor)(raw)
        known_clock = query.known_clock
        if known_clock is not None:
            raw.create_function("rocmonitor_known", 1, known_clock.read, deterministic=True)
            alike = query.clock if known_clock.zone == query.clock.zone else None
            instants = [since_epoch(known_clock.at(instant)) for instant in query.instants]
            code = arrival_of_text(known_clock, alike, instants)
            raw.create_function("rocmonitor_arrival", 2, code, deterministic=True)

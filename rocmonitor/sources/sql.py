"""SQL sources: any database with a SQLAlchemy URL, read-only."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Select

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor, Source
from rocmonitor.policy.windows import Window
from rocmonitor.sources.arrival import LATER, arrival_of_text
from rocmonitor.sources.batch import Batch, to_batch
from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.clock import since_epoch
from rocmonitor.sources.condensing import define_functions, lacks_functions, ordered, too_many_cells
from rocmonitor.sources.connect import guarded, new_engine, reading, source_url
from rocmonitor.sources.counting import Checksum, LabelCounts, combined
from rocmonitor.sources.failures import Origin, translate_errors
from rocmonitor.sources.privileges import beyond_reading
from rocmonitor.sources.query import Query, prepared, type_name
from rocmonitor.sources.text_times import read_times
from rocmonitor.sources.values import (
    NEGATIVE,
    POSITIVE,
    Encoder,
    clusters,
    encoded,
    identities,
    name_of,
)

_CHUNK_ROWS = 50_000
_FETCHED_ROWS = 500  # at a time: their values are turned into columns while they are in a cache

Kind = Literal["rows", "groups", "cells"]
"""What the lines of an answer are."""


def open_source(spec: Source, folder: Path, *, name: str = "source") -> SqlSource:
    """Connect to a source and check that it answers.

    Parameters
    ----------
    spec : Source
        Its section of the configuration.
    folder : Path
        Where relative paths start.
    name : str
        Its name there, for messages.

    Raises
    ------
    SourceError
        An invalid URL, a driver that is not installed, a refused login (not transient); a missing SQLite
        file, a server that cannot be reached (transient). No message contains the password.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> sqlite3.connect(folder / "scored.db").close()
    >>> with open_source(Source(url="sqlite:///scored.db"), folder, name="warehouse") as source:
    ...     print(source)
    SqlSource(warehouse, sqlite)
    """
    url = source_url(name, spec, folder)
    origin = Origin(name=name, spec=spec, password=url.password)
    source = SqlSource(new_engine(url, origin), origin)
    try:
        with source._reading():
            return source
    except BaseException:
        source.close()
        raise


class SqlSource:
    """Scored rows in a database; made by `open_source`, and safe to share between threads.

    Each call is one read-only transaction of its own, which sees one state of the database.
    """

    def __init__(self, engine: Engine, origin: Origin) -> None:
        self._engine = engine
        self._origin = origin

    def explain(self, monitor: Monitor) -> dict[str, str]:
        """Columns of the monitor's query and their types, as far as the driver reports them; reads no rows.

        Raises
        ------
        ConfigError
            The query is not valid, lacks a column that the configuration names, or its times need a zone.
        SourceError
        """
        with self._reading(monitor) as connection:
            query = prepared(connection, monitor, self._origin.spec, monitor.reference_period)
        return {name: type_name(query.backend, code) for name, code in query.types.items()}

    def beyond_reading(self) -> Caveat | None:
        """What the account may do besides reading; None where it is nothing, or the database does not say.

        Raises
        ------
        SourceError
        """
        with self._reading() as connection:
            return beyond_reading(connection)

    def label_counts(self, monitor: Monitor, window: Window, *, as_of: datetime | None = None) -> LabelCounts:
        """How many rows the window has, how they are labelled, and a digest of them, from the database.

        With ``columns.labelled_at``, labels that became known after `as_of` count as missing.

        Raises
        ------
        ConfigError, SourceError
            As `pull`.
        """
        with self._reading(monitor) as connection:
            query = prepared(connection, monitor, self._origin.spec, window, as_of=as_of)
            _teach(connection, query)
            found = connection.execute(query.labels(), query.bound).all()
        at = 2 if query.instants else 1  # where the number of rows stands: after the label and its arrival
        labelled = [line for line in found if line[0] is not None and (at == 1 or line[1] != LATER)]
        by_label: Counter[str] = Counter()
        for line in labelled:
            by_label[name_of(line[0])] += line[at]
        codes = encoded([line[0] for line in labelled], Encoder(monitor).label, np.int8)
        rows = np.array([line[at] for line in labelled], dtype=np.int64)
        return LabelCounts(
            rows=sum(line[at] for line in found),
            labelled=sum(by_label.values()),
            by_label=dict(sorted(by_label.items())),
            n_pos=int(rows[codes == POSITIVE].sum()),
            n_neg=int(rows[codes == NEGATIVE].sum()),
            digest=combined([(name_of(label), *rest) for label, *rest in labelled]),
        )

    def pull(
        self,
        monitor: Monitor,
        window: Window,
        *,
        as_of: datetime | None = None,
        ages: Sequence[timedelta] = (),
        expected_rows: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> Batch:
        """Read a window.

        ``grouped: raw`` reads rows; ``database`` reads groups of equal rows, which the database counts: the
        batch is the same. ``condensed`` reads cells of neighbouring scores (`condensed_error` of
        `rocmonitor.stats` says what that may change). ``auto`` reads rows, and when there are more than
        ``max_rows`` cells, or groups where a monitor cannot be condensed.

        Parameters
        ----------
        monitor : Monitor
        window : Window
        as_of : datetime, optional
            The instant of judging, bound to ``:as_of``. With ``columns.labelled_at``, rows whose label became
            known later count as unlabelled. Left out, all labels count.
        ages : sequence of timedelta
            With ``columns.labelled_at`` and `as_of`: increasing ages after the window's end by which the
            labelled rows are divided (`Rows.by_age`), at most 100.
        expected_rows : int, optional
            Rows of the window where they were counted: with more than ``max_rows``, ``auto`` does not try to
            read them first.
        on_progress : callable, optional
            Called with the number of rows read so far, after each chunk of 50,000.

        Raises
        ------
        ConfigError
            The query is not valid or writes, a column is missing, times need a zone, more than 200 segments,
            more cells than ``max_rows``.
        SourceError
            The database cannot be reached, is locked, took too long (transient); refuses (not transient).

        Notes
        -----
        Only the configured columns are read, streamed, and held as 18 bytes a row with a challenger, 17 more
        with ids of whole numbers (25 with others) and 1 for each segment column. PostgreSQL is read by
        ``COPY``. Scores are float64. At most ``max_rows`` rows (or groups) are read; if there are more, the
        batch is marked truncated and has a caveat.

        Rows outside the window, repeats of an id (`rocmonitor.sources.batch.to_batch` says which one is
        kept), bad scores, rows without a label and bad labels are set aside and counted, each once, in this
        order.
        """
        report = on_progress or (lambda _: None)
        with self._reading(monitor) as connection:
            query = prepared(connection, monitor, self._origin.spec, window, as_of=as_of, ages=ages)
            many = monitor.grouped == "auto" and (expected_rows or 0) > self._origin.spec.max_rows
            if monitor.grouped == "raw" or (monitor.grouped == "auto" and not many):
                batch = self._read(connection, query, "rows", report)
                if monitor.grouped == "raw" or not batch.segments[""].counts.truncated:
                    return batch
            cut = monitor.grouped != "database" and monitor.may_condense
            return self._read(connection, query, "cells" if cut else "groups", report)

    @contextmanager
    def reading(
        self, monitor: Monitor, window: Window, *, as_of: datetime | None = None
    ) -> Iterator[tuple[Connection, Query, Source]]:
        """A read-only transaction with the monitor's query over a window in it, and the source's limits."""
        with self._reading(monitor) as connection:
            query = prepared(connection, monitor, self._origin.spec, window, as_of=as_of)
            _teach(connection, query)
            yield connection, query, self._origin.spec

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> SqlSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SqlSource({self._origin.name}, {self._engine.dialect.name})"

    @contextmanager
    def _reading(self, monitor: Monitor | None = None) -> Iterator[Connection]:
        origin = self._origin if monitor is None else replace(self._origin, monitor=monitor.name)
        with (
            translate_errors(origin),
            reading(
                self._engine, origin.spec.timeout.total_seconds(), origin.spec.deadline.total_seconds()
            ) as connection,
        ):
            yield connection

    def _read(self, connection: Connection, query: Query, kind: Kind, report: Callable[[int], None]) -> Batch:
        most = self._origin.spec.max_rows
        statement = {"rows": query.rows, "groups": query.groups, "cells": query.cells}[kind](most + 1)
        encoder = Encoder(query.monitor)
        chunks: list[Chunk] = []
        cells = rows = 0
        for chunk in guarded(connection, _chunks(connection, query, statement, encoder)):
            cells += len(chunk)
            chunks.append(chunk if cells <= most else chunk.take(slice(len(chunk) - (cells - most))))
            rows += chunks[-1].rows
            report(rows)
        if kind == "cells" and cells > most:
            raise too_many_cells(query.monitor, most)
        return to_batch(
            chunks,
            encoder,
            query.monitor,
            grouped=kind != "rows",
            truncated=cells > most,
            ages=len(query.instants),
        )


def _chunks(
    connection: Connection, query: Query, statement: Select[Any], encoder: Encoder
) -> Iterator[Chunk]:
    _teach(connection, query)
    if connection.dialect.driver == "psycopg":
        from rocmonitor.sources.copying import can_copy, copied  # psycopg is an extra

        if can_copy(query):
            return copied(connection, query, statement, encoder, _CHUNK_ROWS)
    return fetched(connection, query, statement, encoder, _CHUNK_ROWS)


def _teach(connection: Connection, query: Query) -> None:
    """SQLite keeps times as text: let it call the query's clocks to read them."""
    if connection.dialect.name == "sqlite":
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        # A row's time is asked for up to three times, one after the other.
        raw.create_function("rocmonitor_time", 1, lru_cache(maxsize=1)(query.clock.read), deterministic=True)
        raw.create_aggregate("rocmonitor_checksum", -1, Checksum)  # type: ignore[arg-type]
        if query.monitor.may_condense and lacks_functions(raw):
            define_functions(raw)
        known = query.known_clock
        if known is not None and query.instants:
            alike = query.clock if known.zone == query.clock.zone else None
            instants = [since_epoch(known.at(instant)) for instant in query.instants]
            code = arrival_of_text(known, alike, instants)
            raw.create_function("rocmonitor_arrival", 2, code, deterministic=True)


def fetched(
    connection: Connection, query: Query, statement: Select[Any], encoder: Encoder, size: int
) -> Iterator[Chunk]:
    """The statement's rows, `size` at a time, from any database."""
    plain = connection.dialect.name == "sqlite"  # its driver streams, and its tuples need no conversion
    streaming = connection if plain else connection.execution_options(yield_per=size)
    names = [str(name) for name in statement.selected_columns.keys()]  # noqa: SIM118 not a mapping
    with streaming.execute(statement, query.bound) as result:
        fetch = result.cursor.fetchmany if plain else result.fetchmany
        while True:
            columns: list[list[Any]] = [[] for _ in names]
            for _ in range(max(1, size // _FETCHED_ROWS)):
                part = fetch(min(size, _FETCHED_ROWS))
                for column, values in zip(columns, zip(*part, strict=True), strict=False):
                    column.extend(values)
                if not part:
                    break
            yield to_chunk(dict(zip(names, columns, strict=True)), encoder, query)
            if not part:
                break


def to_chunk(columns: Mapping[str, Sequence[Any]], encoder: Encoder, query: Query) -> Chunk:
    """Some rows, as columns by role, as the encoder reads them."""
    if "inside" in columns:
        inside = np.array(columns["inside"], dtype=np.bool_)
        times = _microseconds(columns["time"]) if "id" in columns else None
    else:
        times, known = read_times(query.clock, columns["time"])
        start, end = query.clock.microseconds(query.window)
        inside = known & (times >= start) & (times < end)
    identity: dict[str, Any] = {}
    if "id" in columns:
        has_id, words = identities(columns["id"])
        identity = {"has_id": has_id, "id": words, "time": times}
    if "cluster" in columns:
        identity["has_cluster"], identity["cluster"] = clusters(columns["cluster"])
    segments = [name for name in columns if name.startswith("segment_")]
    highest = encoder.scores(columns["champion_high"]) if "champion_high" in columns else None
    champion, high = ordered(encoder.scores(columns["champion"]), highest)
    return Chunk(
        inside=inside,
        champion=champion,
        high=high,
        challenger=encoder.scores(columns["challenger"]) if "challenger" in columns else None,
        label=encoded(columns["label"], encoder.label, np.int8),
        segments=tuple(
            encoded(columns[name], partial(encoder.segment, number), np.uint8)
            for number, name in enumerate(segments)
        ),
        weight=np.array(columns["weight"], dtype=np.int64) if "weight" in columns else None,
        arrival=np.array(columns["arrival"], dtype=np.int8) if "arrival" in columns else None,
        **identity,
    )


def _microseconds(times: Sequence[Any]) -> NDArray[np.int64]:
    """Times on one clock as numbers; 0 for none (such rows are outside the window, or have no id)."""
    plain = [time if isinstance(time, int) else 0 if time is None else since_epoch(time) for time in times]
    return np.array(plain, dtype=np.int64)

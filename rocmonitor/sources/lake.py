"""Lakes: Parquet and CSV files, Delta tables and DuckDB databases, read by DuckDB within this process.

Each session has a DuckDB that may open the files it found, and nothing else: it writes no file, reaches no
address, and nothing can loosen that. A query finds the files as the table ``scored``. While local files stay
the same, and for a minute those at an address, a session takes the DuckDB of one that has ended: making one
takes longer than most queries. Small CSV files are read into it once: every query would read all of them
again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from sqlalchemy import Select, TextClause, text

from rocmonitor.caveat import Caveat
from rocmonitor.config import Files, Monitor
from rocmonitor.config.sections import binds
from rocmonitor.deadline import Guard, Limits
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources.arrow_session import ArrowSession
from rocmonitor.sources.connect import CHUNK_ROWS
from rocmonitor.sources.failures import Origin
from rocmonitor.sources.folder import Found, find, is_remote
from rocmonitor.sources.query import Bound, DuckDB, text_in_sql, text_of, without_rows
from rocmonitor.sources.spans import TABLE, ParquetFiles
from rocmonitor.sources.texts import text_table, usage_of

_MEMORY = "1GiB"
"""For sorting and grouping; DuckDB goes on in a folder for temporary files when it is not enough."""
_CONNECT_SECONDS = 10
_SMALL_BYTES = 64_000_000
"""Largest size of CSV files, together, that are read into memory."""
_KEPT = ("parquet", "csv")
_FRESH_SECONDS = 60
_MOST = 4
"""Largest number of DuckDBs that stay open between sessions, each for other monitors of CSV files."""
_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)


Shown = tuple[tuple[tuple[str, int, int, int, int], ...], str]
"""The names, sizes and times of files, which tell others; and the questions to columns of CSV files."""


class Lake:
    """Opens sessions on the files that are there at that moment."""

    kind = "files"

    def __init__(self, spec: Files, folder: Path) -> None:
        self._spec, self._folder = spec, folder
        self._idle: list[_Connection] = []

    @contextmanager
    def open(self, origin: Origin, monitor: Monitor | None = None) -> Iterator[LakeSession]:
        """Open a DuckDB that reads the files, and nothing else."""
        spec = self._spec
        limits = Limits(
            connect=_CONNECT_SECONDS,
            silence=spec.timeout.total_seconds(),
            whole=spec.deadline.total_seconds(),
        )
        seek = partial(find, spec.path, self._folder, origin.where_key)
        local = None if is_remote(spec.path) else seek(lambda _: ())
        minute = int(time.monotonic() // _FRESH_SECONDS)  # other files are looked for once in it
        address: Shown = ((spec.path, 0, 0, 0, minute),), _asked(monitor)
        shown = address if local is None else _shown(local, monitor)
        with Guard(partial(self._connect, shown), limits) as guard:
            opened: _Connection = guard.connection
            connection = opened.driver_connection
            if shown is None or opened.shown != shown:
                if local is None and not spec.path.startswith("file:"):
                    connection.load_extension("azure" if spec.path.startswith("a") else "httpfs")
                files = local or seek(partial(_listed, connection))
                if files.kind not in _KEPT:
                    shown = None
                small = False
                if shown is not None and local is not None and monitor is not None:  # else little is read
                    plain = all(name.lower().endswith((".csv", ".tsv")) for name, *_ in shown[0])
                    small = plain and sum(size for _, _, size, *_ in shown[0]) <= _SMALL_BYTES
                self._show(opened, files, origin, monitor, small=small)
            opened.shown = None  # what fails is not used again
            yield LakeSession(guard, opened, origin, None if monitor is None else monitor.query)
            opened.shown = shown

    def close(self) -> None:
        """End what is open between sessions."""
        with suppress(IndexError):  # none is left
            while True:
                self._idle.pop().end()

    def _connect(self, shown: Shown | None) -> _Connection:
        """Return an idle connection that shows these files as they are, or a new one."""
        for idle in self._idle[:]:
            if shown is not None and idle.shown == shown:
                with suppress(ValueError):  # another thread was faster
                    self._idle.remove(idle)
                    return idle
        for idle in self._idle[:]:
            if shown is None or idle.shown is None or idle.shown[0] != shown[0] or len(self._idle) >= _MOST:
                with suppress(ValueError):
                    self._idle.remove(idle)
                    idle.end()
        return _Connection(self._idle)

    def _show(
        self,
        opened: _Connection,
        files: Found,
        origin: Origin,
        monitor: Monitor | None,
        *,
        small: bool,
    ) -> None:
        """Make the files the table `scored`, and close everything else."""
        connection, names = opened.driver_connection, list(files.names)
        connection.execute("SET allowed_paths = ?", [names])
        match files.kind:
            case "delta":
                connection.register(TABLE, _delta(names[0], origin))
            case "duckdb":
                connection.execute(f"ATTACH {text_in_sql(names[0])} AS lake (READ_ONLY)")
                connection.execute("USE lake")
            case "parquet":
                opened.parquet = ParquetFiles(connection, names, origin)
            case "csv":
                usage = None
                if monitor is not None:
                    bound = dict.fromkeys(binds(monitor.query), _SOME_TIME)
                    columns = monitor.columns
                    times = {name for name in (columns.time, columns.labelled_at) if name is not None}
                    named = {name for _, name in columns if isinstance(name, str)}
                    roles = named | set(monitor.segments) | set(columns.explain)
                    query = text_of(text(monitor.query), bound, DuckDB())
                    usage = usage_of(connection, query, times, roles)
                table, opened.caveats = text_table(connection, names, self._spec, origin, usage)
                connection.execute(f"CREATE TEMP VIEW {TABLE} AS {table}")
                if small:
                    _keep(connection)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")


class _Connection:
    """A DuckDB as `Guard` takes connections; one that may be used again is put among the `idle` ones."""

    def __init__(self, idle: list[_Connection]) -> None:
        self.shown: Shown | None = None  # while the files are not known, or in use
        self.caveats: tuple[Caveat, ...] = ()
        self.parquet: ParquetFiles | None = None
        self.types: dict[str, list[tuple[str, Any]]] = {}  # columns by query
        self._idle, self._scratch = idle, TemporaryDirectory(prefix="rocmonitor-")
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": self._scratch.name,
            "python_enable_replacements": False,  # no variable of this program is a table
            "autoinstall_known_extensions": False,
            "enable_object_cache": True,
        }
        self.driver_connection = duckdb.connect(config=settings)
        self.driver_connection.execute("SET TimeZone = 'UTC'")

    @property
    def connection(self) -> _Connection:
        return self

    def invalidate(self) -> None:
        self.shown = None

    def close(self) -> None:
        if self.shown is None:
            self.end()
        else:
            self._idle.append(self)

    def end(self) -> None:
        self.driver_connection.close()
        self._scratch.cleanup()


class LakeSession(ArrowSession):
    """A DuckDB with the files in it."""

    backend, dialect = "duckdb", DuckDB()

    def __init__(self, guard: Guard, opened: _Connection, origin: Origin, query: str | None) -> None:
        super().__init__(guard)
        self.caveats, self._opened, self._origin, self._query = opened.caveats, opened, origin, query
        self.connection: duckdb.DuckDBPyConnection = opened.driver_connection

    def columns(self, monitor: Monitor, bound: Bound) -> Sequence[tuple[str, Any]]:
        """Do as `Session.columns` says; they are the same in all windows, and asked for once."""
        kept = self._opened.types
        if monitor.query not in kept:
            types = map(str, self._relation(without_rows(monitor), bound).types)
            # As a table it would rename the second p.
            names = self._relation(text(monitor.query), bound).columns
            kept[monitor.query] = list(zip(names, types, strict=True))
        return kept[monitor.query]

    def tables(self, *, everywhere: bool = False) -> list[str]:  # noqa: ARG002 files have no schemas
        """Do as `Session.tables` says."""
        return sorted(name for (name,) in self.connection.execute("SHOW TABLES").fetchall())

    def _answer(self, statement: Select[Any], bound: Bound) -> tuple[Any, Iterable[Any]]:
        reader = self._relation(statement, bound).to_arrow_reader(CHUNK_ROWS)
        return reader.schema, reader

    def _relation(self, statement: Select[Any] | TextClause, bound: Bound) -> duckdb.DuckDBPyRelation:
        self._guard.arm()
        if self._opened.parquet is not None:
            self._opened.parquet.show(self._query, bound)
        parsed = self.connection.extract_statements(text_of(statement, bound, self.dialect))
        if [part.type for part in parsed] != [duckdb.StatementType.SELECT]:
            raise ConfigError(f"{self._origin.query_key}: must be one SELECT and nothing after it")
        if unknown := sorted(parsed[0].named_parameters):
            raise ConfigError(
                f"{self._origin.query_key}: has a parameter without a value "
                f"(${', $'.join(unknown)}; ? is $1); only :start, :end and :as_of have one"
            )
        return self.connection.sql(parsed[0])


def _shown(files: Found, monitor: Monitor | None) -> Shown | None:
    """Return what a DuckDB of these files shows; None where that cannot be told, or may change unseen."""
    if files.kind not in _KEPT:
        return None
    try:
        stats = [(name, os.stat(name)) for name in files.names]
    except OSError:  # one is remote, or has just gone
        return None
    state = ((name, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for name, stat in stats)
    return tuple(state), _asked(monitor) if files.kind == "csv" else ""


def _asked(monitor: Monitor | None) -> str:
    return "" if monitor is None else f"{monitor.query}\n{monitor.columns!r}\n{monitor.segments!r}"


def _keep(connection: duckdb.DuckDBPyConnection) -> None:
    """Read the view `scored` into memory, unless a column that no query may ask for costs it lines."""
    with suppress(duckdb.Error):
        connection.execute(f"CREATE TEMP TABLE kept AS FROM {TABLE}")
        counted = connection.sql(f"SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM {TABLE})")
        kept, all_lines = counted.fetchall()[0]
        if kept == all_lines:
            connection.execute(f"DROP VIEW {TABLE}")
            connection.execute(f"ALTER TABLE kept RENAME TO {TABLE}")
            return
    connection.execute("DROP TABLE IF EXISTS kept")


def _listed(connection: duckdb.DuckDBPyConnection, pattern: str) -> Iterable[str]:
    return [name for (name,) in connection.execute("SELECT file FROM glob(?)", [pattern]).fetchall()]


def _delta(folder: str, origin: Origin) -> Any:
    try:
        from deltalake import DeltaTable  # an extra
        from deltalake.exceptions import DeltaError
    except ModuleNotFoundError:
        raise SourceError(
            f"{origin.where_key}: a Delta table needs the Python package deltalake: pip install "
            "'rocmonitor[delta]'",
            transient=False,
        ) from None
    try:
        return DeltaTable(folder).to_pyarrow_dataset()
    except DeltaError as error:  # the lines after the first are a trace of its own
        reason = str(error).partition("\n")[0]
        raise SourceError(f"{origin.where_key}: the Delta table cannot be read: {reason}") from None

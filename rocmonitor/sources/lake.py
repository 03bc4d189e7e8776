"""Lakes: Parquet and CSV files, Delta tables and DuckDB databases, read by DuckDB within this process.

Each session is a DuckDB of its own that may open the files it found, and nothing else: it writes no file,
reaches no address, and nothing can loosen that. A query finds the files as the table ``scored``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from sqlalchemy import Select

from rocmonitor.config import Files
from rocmonitor.deadline import Guard, Limits
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources.arrow import ArrowSession
from rocmonitor.sources.failures import Origin
from rocmonitor.sources.folder import Found, find, is_remote
from rocmonitor.sources.literals import DuckDB, text_of
from rocmonitor.sources.query import Bound
from rocmonitor.sources.session import CHUNK_ROWS

TABLE = "scored"
_MEMORY = "1GiB"
"""For sorting and grouping; DuckDB goes on in a folder for temporary files when it is not enough."""
_CONNECT_SECONDS = 10
_SEPARATORS = frozenset(",;|\t")
_NANOSECONDS = "TIMESTAMPTZ_NS"
_INSTANTS, _WALL_TIMES, _TEXT = "times with a zone", "times without a zone", "VARCHAR"


class Lake:
    """Opens sessions on the files that are there at that moment."""

    kind = "files"

    def __init__(self, spec: Files, folder: Path) -> None:
        self._spec, self._folder = spec, folder

    @contextmanager
    def open(self, origin: Origin) -> Iterator[LakeSession]:
        """A DuckDB that reads the files, and nothing else."""
        spec = self._spec
        limits = Limits(
            connect=_CONNECT_SECONDS,
            silence=spec.timeout.total_seconds(),
            whole=spec.deadline.total_seconds(),
        )
        with (
            TemporaryDirectory(prefix="rocmonitor-") as scratch,
            Guard(partial(_Connection, scratch), limits) as guard,
        ):
            connection = guard.connection.driver_connection
            if is_remote(spec.path):
                connection.load_extension("azure" if spec.path.startswith("a") else "httpfs")
            found = find(spec.path, self._folder, origin.where_key, partial(_listed, connection))
            _show(connection, found, origin)
            yield LakeSession(guard, connection, origin)

    def close(self) -> None:
        """Nothing is kept between sessions."""


class _Connection:
    """A DuckDB as `Guard` takes connections."""

    def __init__(self, scratch: str) -> None:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": scratch,
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
        pass

    def close(self) -> None:
        self.driver_connection.close()


class LakeSession(ArrowSession):
    """A DuckDB with the files in it."""

    backend = "duckdb"

    def __init__(self, guard: Guard, connection: duckdb.DuckDBPyConnection, origin: Origin) -> None:
        super().__init__(guard)
        self.connection, self._origin = connection, origin

    def types(self, statement: Select[Any], bound: Bound) -> dict[str, Any]:
        """As `Session.types`."""
        relation = self._relation(statement, bound)
        return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def first(self, statement: Select[Any], bound: Bound) -> Any:
        """As `Session.first`."""
        found = self._relation(statement, bound).to_arrow_table().columns
        return found[0][0].as_py() if len(found[0]) else None

    def beyond_reading(self) -> None:
        """Nothing: a session can only read."""

    def _answer(self, statement: Select[Any], bound: Bound) -> tuple[Any, Iterable[Any]]:
        reader = self._relation(statement, bound).to_arrow_reader(CHUNK_ROWS)
        return reader.schema, reader

    def _relation(self, statement: Select[Any], bound: Bound) -> duckdb.DuckDBPyRelation:
        self._guard.arm()
        parsed = self.connection.extract_statements(text_of(statement, bound, DuckDB()))
        if [each.type for each in parsed] != [duckdb.StatementType.SELECT]:
            raise ConfigError(
                f"monitors.{self._origin.monitor}.query: must be one SELECT and nothing after it"
            )
        if unknown := sorted(parsed[0].named_parameters):
            raise ConfigError(
                f"monitors.{self._origin.monitor}.query: has a parameter without a value "
                f"(${', $'.join(unknown)}; ? is $1); only :start, :end and :as_of have one"
            )
        return self.connection.sql(parsed[0])


def _listed(connection: duckdb.DuckDBPyConnection, pattern: str) -> Iterable[str]:
    return [name for (name,) in connection.execute("SELECT file FROM glob(?)", [pattern]).fetchall()]


def _show(connection: duckdb.DuckDBPyConnection, found: Found, origin: Origin) -> None:
    """Make the files the table `scored`, and close everything else."""
    names = list(found.names)
    connection.execute("SET allowed_paths = ?", [names])
    match found.kind:
        case "delta":
            connection.register(TABLE, _delta(names[0], origin))
        case "duckdb":
            connection.execute(f"ATTACH {_quoted(names[0])} AS lake (READ_ONLY)")
            connection.execute("USE lake")
        case "parquet":
            _same_clocks(_parquet_types(connection, names), origin)
            files = f"read_parquet({_list(names)}, union_by_name = true)"
            connection.execute(f"CREATE TEMP VIEW {TABLE} AS {_comparable(connection, files)}")
        case "csv":
            parts = " UNION ALL BY NAME ".join(_csv_parts(connection, names, origin))
            connection.execute(f"CREATE TEMP VIEW {TABLE} AS {parts}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _delta(folder: str, origin: Origin) -> Any:
    """The rows of a Delta table as it is now."""
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


def _comparable(connection: duckdb.DuckDBPyConnection, files: str) -> str:
    """The files with instants of microseconds: DuckDB compares those of nanoseconds with no others."""
    read = connection.sql(f"FROM {files}")
    exact = [name for name, kind in zip(read.columns, read.types, strict=True) if str(kind) == _NANOSECONDS]
    if not exact:
        return f"FROM {files}"
    replaced = (f"{name}::TIMESTAMPTZ AS {name}" for name in map(_name, exact))
    return f"SELECT * REPLACE ({', '.join(replaced)}) FROM {files}"


def _parquet_types(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """For each column of times the kinds it has, each with a file that has it."""
    kinds: dict[str, dict[str, str]] = defaultdict(dict)
    if len(names) > 1:
        schema = (
            "SELECT name, coalesce(logical_type, '') LIKE '%isAdjustedToUTC=1%', min(file_name) FROM "
            f"parquet_schema({_list(names)}) WHERE logical_type LIKE 'TimestampType%' OR type = 'INT96' "
            "OR converted_type = 'DATE' OR logical_type LIKE 'DateType%' "
            "GROUP BY ALL"
        )
        for column, adjusted, file in connection.execute(schema).fetchall():
            kinds[column][_INSTANTS if adjusted else _WALL_TIMES] = file
    return kinds


def _csv_parts(connection: duckdb.DuckDBPyConnection, names: Sequence[str], origin: Origin) -> Iterator[str]:
    """A query for each file, with the type of each column that fits all of them.

    A column that is empty in a file has no type there; numbers in one file and words in another are words.
    Days before years are words, too: which of the first two numbers is the month, nobody knows.
    """
    sniffed = {name: _sniffed(connection, name, origin) for name in names}
    kinds: dict[str, dict[str, str]] = defaultdict(dict)
    for name, columns in sniffed.items():
        for column, kind in columns.items():
            kinds[column].setdefault(kind, name)
    for column, found in kinds.items():
        if len(found) > 1 and _TEXT in found:
            holding = [name for name, columns in sniffed.items() if columns.get(column) == _TEXT]
            if not any(_holds(connection, name, column) for name in holding):
                del found[_TEXT]
    zones = {"TIMESTAMP WITH TIME ZONE": _INSTANTS, "TIMESTAMP": _WALL_TIMES, "DATE": _WALL_TIMES}
    _same_clocks(
        {
            column: {zones[kind]: name for kind, name in found.items() if kind in zones}
            for column, found in kinds.items()
        },
        origin,
    )
    for name, columns in sniffed.items():
        types = {column: _common(kinds[column]) for column in columns}
        written = ", ".join(f"{_quoted(column)}: {_quoted(kind)}" for column, kind in types.items())
        yield f"FROM read_csv({_quoted(name)}, types = {{{written}}})"


def _sniffed(connection: duckdb.DuckDBPyConnection, name: str, origin: Origin) -> dict[str, str]:
    [(columns, dates, times, headed)] = connection.execute(
        "SELECT Columns, DateFormat, TimestampFormat, HasHeader FROM sniff_csv(?)", [name]
    ).fetchall()
    first = columns[0]["name"]
    one = len(columns) == 1 and _SEPARATORS.intersection(first)
    if one or (not headed and _holds(connection, name, first)):
        # Beside other files its columns would be NULL, and its rows in no window.
        raise SourceError(
            f"{origin.where_key}: a file cannot be read: the first line of {name} does not name its columns, "
            "or its lines do not have the same number of them; if it is still being written, it is read at "
            "the next run; else mend it or take it away"
        )
    doubtful = {
        kind
        for kind, form in (("DATE", dates), ("TIMESTAMP", times), ("TIMESTAMP WITH TIME ZONE", times))
        if form and not form.startswith("%Y")
    }
    return {column["name"]: _TEXT if column["type"] in doubtful else column["type"] for column in columns}


def _holds(connection: duckdb.DuckDBPyConnection, name: str, column: str) -> bool:
    """Whether a column of a file has any value."""
    some = f"SELECT 1 FROM read_csv(?, all_varchar = true) WHERE {_name(column)} IS NOT NULL LIMIT 1"
    return bool(connection.execute(some, [name]).fetchall())


def _common(kinds: Iterable[str]) -> str:
    """The type that holds the values of all."""
    different = set(kinds)
    if len(different) == 1:
        return different.pop()
    if different <= {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    return "TIMESTAMP" if different <= {"DATE", "TIMESTAMP"} else _TEXT


def _same_clocks(kinds: Mapping[str, Mapping[str, str]], origin: Origin) -> None:
    """Refuse files of which some have times with a zone, and others without: no clock reads both."""
    for column, found in kinds.items():
        if len(found) > 1:
            each = ", ".join(f"{kind} in {file}" for kind, file in sorted(found.items()))
            raise SourceError(
                f"{origin.where_key}: the column {column} has {each}; write all files alike, or name those "
                "of one kind",
                transient=False,
            )


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

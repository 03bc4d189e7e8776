"""Parquet files as a table for DuckDB: of a window, only those that can hold rows of it are opened.

Which columns a query compares with :start and :end is read from the query once; the span of each file in
such a column is that of its statistics, or the value in the name of its folder, and is read once while
files stay the same. In doubt a file is read: DuckDB tests each row again.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any
from urllib.parse import unquote

import duckdb
from sqlalchemy import text

from rocmonitor.config.sections import binds
from rocmonitor.sources.clock import since_epoch
from rocmonitor.sources.failures import Origin
from rocmonitor.sources.query import Bound, DuckDB, name_in_sql, text_in_sql, text_of
from rocmonitor.sources.texts import refuse_clocks

TABLE = "scored"
_NANOSECONDS = "TIMESTAMPTZ_NS"
_INSTANTS, _WALL_TIMES = "times with a zone", "times without a zone"
_MARKS = {
    name: datetime(2026, 1, 5, 3, 7, 11, 1_239 + at, tzinfo=UTC)
    for at, name in enumerate(("start", "end", "as_of"))
}
"""Times that stand for what is bound, in a query that is only parsed."""
_SIGNS = {
    "COMPARE_GREATERTHANOREQUALTO": 1,
    "COMPARE_GREATERTHAN": 1,
    "COMPARE_LESSTHANOREQUALTO": -1,
    "COMPARE_LESSTHAN": -1,
}
_BY_NAME = {"query", "query_table"}
"""Functions that read tables whose names are texts."""
_DAY = timedelta(days=1) // timedelta(microseconds=1)
_ALWAYS = (-inf, inf)


@dataclass(frozen=True, slots=True)
class TimeBound:
    """A condition that all rows of a query meet: a column is not before, or not after, a bound time.

    `column` is in lower case; `is_strict` if the end itself does not meet it; `by_day` if days are compared.
    """

    column: str
    bind: str
    is_lower: bool
    is_strict: bool
    by_day: bool


class ParquetFiles:
    """Parquet files that a DuckDB shows as the view `scored`, all of them or those of a window."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, names: Sequence[str], origin: Origin) -> None:
        self._connection, self._names = connection, tuple(names)
        self._alike = self._are_alike(origin)
        self._folders = _folders(names)
        self._types: dict[str, str] = {}  # of all files together
        self._sides: dict[str, Sequence[TimeBound]] = {}
        self._spans: dict[str, Sequence[tuple[float, float]]] = {}
        self._shown: tuple[str, ...] = ()
        self.show(None, {})

    def show(self, query: str | None, bound: Bound) -> None:
        """Show the files that can hold rows of a query with these times bound; without a query, all files."""
        chosen = self._names if query is None else self._narrowed(query, bound)
        if chosen == self._shown:
            return
        # Values in the names of folders are read as all files together show.
        in_folders = [name for name in self._types if name.casefold() in self._folders]
        types = ", ".join(f"{text_in_sql(name)}: {self._types[name]}" for name in in_folders)
        hive = f"hive_partitioning = {bool(self._folders)}" + (f", hive_types = {{{types}}}" if types else "")
        read = f"read_parquet([{_texts(chosen)}], union_by_name = {not self._alike}, {hive})"
        given = self._types
        if not (self._alike and self._types):
            files = self._connection.sql(f"FROM {read}")
            given = dict(zip(files.columns, map(str, files.types), strict=True))
            self._types = self._types or given
        columns, kinds = list[str](), {name.casefold(): kind for name, kind in given.items()}
        for name, kind in self._types.items():  # instants in microseconds, for DuckDB to compare
            column, wanted = name_in_sql(name), "TIMESTAMPTZ" if kind == _NANOSECONDS else kind
            here = kinds.get(name.casefold())
            cast = f"NULL::{wanted}" if here is None else f"{column}::{wanted}"
            columns.append(column if here == wanted else f"{cast} AS {column}")
        plain = given == self._types and _NANOSECONDS not in given.values()
        chosen_columns = "*" if plain else ", ".join(columns)
        self._connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {TABLE} AS SELECT {chosen_columns} FROM {read}"
        )
        self._shown = chosen

    def _are_alike(self, origin: Origin) -> bool:
        """Return True if all files have the same columns; raise where a column has two kinds of times."""
        if len(self._names) == 1:
            return True
        columns = (
            "SELECT name, coalesce(logical_type, '') LIKE '%isAdjustedToUTC=1%', min(file_name), "
            "coalesce(logical_type LIKE 'TimestampType%' OR type = 'INT96' OR converted_type = 'DATE' "
            "OR logical_type LIKE 'DateType%', false), type, logical_type, converted_type, repetition_type, "
            "num_children, scale, precision, count(*), count(DISTINCT file_name) "
            f"FROM parquet_schema([{_texts(self._names)}]) GROUP BY ALL"
        )
        kinds, alike = defaultdict[str, dict[str, str]](dict), True
        for name, adjusted, file, is_time, *_, times, files in self._connection.execute(columns).fetchall():
            if is_time:
                kinds[name][_INSTANTS if adjusted else _WALL_TIMES] = file
            alike &= times == files == len(self._names)
        for column, by_kind in kinds.items():
            refuse_clocks(column, by_kind, origin)
        return alike

    def _narrowed(self, query: str, bound: Bound) -> tuple[str, ...]:
        if query not in self._sides:
            kinds = {name.casefold(): kind for name, kind in reversed(self._types.items())}
            self._sides[query] = [
                side
                for side in sides_of(self._connection, query)
                if (kinds.get(side.column) or "").startswith(("TIMESTAMP", "DATE"))
            ]
        wanted = set(range(len(self._names)))
        for side in self._sides[query]:
            time = bound.get(side.bind)
            if not isinstance(time, datetime):
                continue
            end = since_epoch(time)
            end -= end % _DAY if side.by_day else 0
            spans = self._spans_of(side.column)
            if side.is_lower:
                wanted = {at for at in wanted if spans[at][1] >= end}
            else:
                wanted = {at for at in wanted if spans[at][0] <= end - side.is_strict}
        return tuple(self._names[at] for at in sorted(wanted)) or self._names[:1]

    def _spans_of(self, column: str) -> Sequence[tuple[float, float]]:
        if column in self._folders and column not in self._spans:
            self._spans[column] = [_instant(value) for value in self._folders[column]]
        elif column not in self._spans:
            low, high = (
                f"epoch_us(try_cast(coalesce(stats_{end}_value, stats_{end}) AS TIMESTAMPTZ))"
                for end in ("min", "max")
            )
            lines = self._connection.execute(
                f"SELECT file_name, min({low}), max({high}) FROM parquet_metadata([{_texts(self._names)}]) "
                f"WHERE lower(path_in_schema) = ? GROUP BY file_name "
                f"HAVING count({low}) = count(*) AND count({high}) = count(*)",
                [column],
            ).fetchall()
            statistics = {name: (first, last) for name, first, last in lines}
            self._spans[column] = [statistics.get(name, _ALWAYS) for name in self._names]
        return self._spans[column]


def sides_of(connection: duckdb.DuckDBPyConnection, query: str) -> Sequence[TimeBound]:
    """Return the conditions that a query sets for the rows of `scored`, if it reads that table in one place.

    Only those that are plain: a column, a comparison, and :start or :end (or the day of it), joined by AND.
    """
    marked = {name: _MARKS[name] for name in binds(query)}
    [(plain,)] = connection.execute(
        "SELECT json_serialize_sql(?)", [text_of(text(query), marked, DuckDB())]
    ).fetchall()
    nodes = list(_nodes(json.loads(plain)))
    read = [node for node in nodes if str(node.get("table_name")).casefold() == TABLE]
    if len(read) != 1 or any(node.get("function_name") in _BY_NAME for node in nodes):
        return ()
    [place] = [node for node in nodes if node.get("from_table") is read[0]] or [{}]
    if place.get("sample") or read[0].get("sample") or read[0].get("column_name_alias"):
        return ()
    chosen = place.get("select_list", ())
    renamed = {str(item.get("alias")).casefold() for item in chosen}
    renamed |= {
        str(replacement["key"]).casefold() for star in chosen for replacement in star.get("replace_list", ())
    }
    tables = {TABLE, str(read[0]["alias"]).casefold()}
    sides = _sides(place.get("where_clause"), tables)
    return [side for side in sides if side.column not in renamed]


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(child)


def _sides(condition: Any, tables: Collection[str]) -> Iterator[TimeBound]:
    """Yield the sides that a condition sets for columns of some tables, if all parts of it must hold."""
    if not isinstance(condition, dict):
        return
    kind = condition.get("type")
    pairs, is_strict = list[tuple[Any, Any, int]](), kind in ("COMPARE_GREATERTHAN", "COMPARE_LESSTHAN")
    if kind == "CONJUNCTION_AND":
        for child in condition["children"]:
            yield from _sides(child, tables)
    elif kind == "COMPARE_BETWEEN":
        pairs = [(condition["input"], condition[end], sign) for end, sign in (("lower", 1), ("upper", -1))]
    elif kind in _SIGNS:
        left, right, sign = condition["left"], condition["right"], _SIGNS[kind]
        pairs = [(left, right, sign), (right, left, -sign)]
    for column, time, sign in pairs:
        name, by_day = _bound_in(time)
        if name is None or column.get("class") != "COLUMN_REF":
            continue
        *qualifiers, own = map(str.casefold, column["column_names"])
        if set(qualifiers) <= set(tables):
            yield TimeBound(own, name, sign > 0, is_strict, by_day)


def _bound_in(time: Mapping[str, Any]) -> tuple[str | None, bool]:
    if time.get("class") != "CAST":
        return None, False
    kind = json.dumps(time.get("type_expr", time.get("cast_type"))).upper()
    if "TIMESTAMP_S" in kind or "TIMESTAMP_MS" in kind:  # which are rounded
        return None, False
    is_day = "TIMESTAMP" not in kind
    if is_day and '"DATE"' not in kind:
        return None, False
    child = time["child"]
    if child.get("class") == "CONSTANT":
        written = json.dumps(child)
        return next((name for name, mark in _MARKS.items() if str(mark) in written), None), is_day
    name, by_day = _bound_in(child)
    return name, by_day or is_day


def _folders(names: Sequence[str]) -> Mapping[str, Sequence[str]]:
    parts_of = (re.split(r"[/\\]", name)[:-1] for name in names)
    partitions = [[part.split("=", 1) for part in parts if "=" in part] for parts in parts_of]
    keys = [[key.casefold() for key, _ in parts] for parts in partitions]
    if any(file_keys != keys[0] for file_keys in keys) or len(set(keys[0])) < len(keys[0]):
        return {}
    return {key: [parts[at][1] for parts in partitions] for at, key in enumerate(keys[0])}


def _instant(value: str) -> tuple[float, float]:
    try:
        time = since_epoch(datetime.fromisoformat(unquote(value)))
    except ValueError:
        return _ALWAYS
    return time, time


def _texts(names: Sequence[str]) -> str:
    return ", ".join(map(text_in_sql, names))

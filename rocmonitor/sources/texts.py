"""CSV files as a table for DuckDB: every cell is text, and a time or a number only where it is used so.

A column that the query hands on is text, which `rocmonitor.sources.values` reads by its role. A column that
the query compares or computes with is what most of its cells are; the others are NULL there, and are counted.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import duckdb

from rocmonitor.caveat import Caveat
from rocmonitor.config import Files
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources.failures import Origin
from rocmonitor.sources.folder import is_remote
from rocmonitor.sources.query import name_in_sql, text_in_sql
from rocmonitor.sources.values import NUMBER

_HANDED_ON = {"OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The columns of a query by their use; names in lower case.

    `times` are compared with :start, :end and :as_of, or hold times by their role; `computed` are compared or
    computed with in any way; `handed_on` are in the answer, perhaps under another name.
    """

    times: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    handed_on: frozenset[str] = frozenset()


def usage_of(connection: duckdb.DuckDBPyConnection, query: str, times: set[str], roles: set[str]) -> Usage:
    """Return the usage of columns in a query whose values are written out.

    Scopes are not told apart: a name that is computed with anywhere counts as that everywhere, and so does a
    column that has such a name by AS. `times` are names that hold times by their role, `roles` all names
    that have a role.
    """
    [(text,)] = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    parsed = json.loads(text)
    columns: dict[str, set[str]] = defaultdict(set)
    names: dict[str, set[str]] = defaultdict(set)
    for kind, column, name in _mentions(parsed.get("statements", []), handed_on=False):
        columns[kind].add(column)
        if kind == "named":
            names[name].add(column)
    for time in map(str.casefold, times):
        if time in names or (columns["star"] and time not in columns["replaced"]):
            columns["time"].add(time)
    if columns["star"]:
        columns["named"] |= set(map(str.casefold, roles))
    return Usage(
        times=frozenset(_named(columns["time"], names)),
        computed=frozenset(_named(columns["computed"], names)),
        handed_on=frozenset(columns["named"]),
    )


def _named(columns: set[str], names: dict[str, set[str]]) -> set[str]:
    reached, new = set(columns), set(columns)
    while new:
        new = {column for name in new for column in names.get(name, ())} - reached
        reached |= new
    return reached


def _mentions(node: Any, *, handed_on: bool) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, list):
        for child in node:
            yield from _mentions(child, handed_on=handed_on)
    if not isinstance(node, dict):
        return
    if node.get("class") == "COLUMN_REF":
        column = node["column_names"][-1].casefold()
        name = node["alias"].casefold() or column
        yield ("named", column, name) if handed_on else ("computed", column, "")
        return
    if node.get("class") == "STAR":
        yield "star", "", ""
        for replacement in node["replace_list"]:
            yield "replaced", replacement["key"].casefold(), ""
    if sides := _times(node):
        for side in sides:
            if side.get("class") == "COLUMN_REF":
                yield "time", side["column_names"][-1].casefold(), ""
            else:
                yield from _mentions(side, handed_on=False)
        return
    for column in node.get("using_columns") or ():
        yield "computed", column.casefold(), ""
    passes = str(node.get("type")) in _HANDED_ON  # DuckDB 1 has types of casts there, as objects
    for key, value in node.items():
        yield from _mentions(value, handed_on=passes or key == "select_list")


def _times(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sides of a comparison, one of which is a time that is written out; of anything else none."""
    if node.get("class") not in ("COMPARISON", "BETWEEN"):
        return []
    sides = [node[side] for side in ("left", "right", "input", "lower", "upper") if side in node]
    casts = [side.get("type_expr", side.get("cast_type")) for side in sides if side.get("class") == "CAST"]
    written_out = any(kind and "TIMESTAMP" in json.dumps(kind).upper() for kind in casts)
    return sides if written_out else []


Kind = Literal["instant", "wall", "whole", "number"]

_DELIMITERS = (",", ";", "\t", "|")
_DAY = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}"
_WALL = f"{_DAY}([ T][0-9]{{1,2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?)?"
_INSTANT = (
    f"{_DAY}[ T][0-9]{{1,2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)? ?(Z|UTC|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"
)
_LIKE_A_DAY = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}\b")
_TIMES_OF_DAY = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f")
_CLOCKS = {"instant": "times with a zone", "wall": "times without a zone"}
_SQL_TYPES = {"instant": "TIMESTAMPTZ", "wall": "TIMESTAMP", "whole": "BIGINT", "number": "DOUBLE"}
_EXAMPLES = 3
_LONGEST_LINE = 1_000_000
_BADLY_ENCODED = 0.01
"""Share of the lines of a file that may have another encoding; with more, the file has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A CSV file, and how it is read; `named` are its columns, `heads` as its first line has them."""

    name: str
    heads: tuple[str, ...]
    named: tuple[str, ...]
    partition: Mapping[str, str]
    delimiter: str
    encoding: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that its first line names, and those of its folders, such as ``day=2026-01-31``."""
        return (*self.named, *self.partition)

    def sql(self, lines: Literal["ignore_errors", "store_rejects"] = "ignore_errors") -> str:
        """Return a call that reads all cells as text; lines that it cannot read are left out, or noted."""
        columns = ", ".join(f"{text_in_sql(column)}: 'VARCHAR'" for column in self.named)
        added = (f", {text_in_sql(value)} AS {name_in_sql(name)}" for name, value in self.partition.items())
        return (
            f"(SELECT *{''.join(added)} FROM read_csv({text_in_sql(self.name)}, "
            f"columns = {{{columns}}}, header = true, "
            f"delim = {text_in_sql(self.delimiter)}, quote = '\"', escape = '\"', auto_detect = false, "
            f"{lines} = true, encoding = {text_in_sql(self.encoding)}{_buffers(self.encoding)}, "
            "hive_partitioning = false))"
        )


def _buffers(encoding: str) -> str:
    """Return options for files that DuckDB recodes: by itself it keeps 32 MB for each of them."""
    if encoding == "utf-8":
        return ""
    return f", max_line_size = {_LONGEST_LINE}, buffer_size = {_LONGEST_LINE + 100_000}"


def text_table(
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    spec: Files,
    origin: Origin,
    usage: Usage | None,
) -> tuple[str, tuple[Caveat, ...]]:
    """Return a query that gives the rows of CSV files, and what cannot be read of them.

    Its columns have types by what a query does with them.
    Without a `usage` all cells are text. Cost: else each file is read once.
    """
    files = [file for name in names if (file := _opened(connection, name, spec, origin)) is not None]
    if not files:
        raise SourceError(f"{origin.where_key}: all {len(names)} files are empty; one with rows is read then")
    if usage is None:
        return " UNION ALL BY NAME ".join(_typed(file, {}, spec) for file in files), ()
    _require_single_heads(files, usage, origin)
    used = {column.casefold() for file in files for column in file.columns}
    used &= usage.times | usage.computed
    surveys = [_surveyed(connection, file, used, usage.handed_on, spec) for file in files]
    noted = (
        "SELECT file_path, line, min(error_type::VARCHAR) FROM reject_errors JOIN reject_scans "
        "USING (scan_id, file_id) GROUP BY ALL ORDER BY ALL"
    )
    rejected: dict[str, dict[int, str]] = {}  # for each file, lines that could not be read, and why
    for name, line, reason in connection.execute(noted).fetchall():
        rejected.setdefault(name, {})[line] = reason
    _require_lines(surveys, rejected, origin)
    kinds = {column: _kind_of(column, surveys) for column in used}
    for column in usage.times & used:
        if not any(survey.cells[column]["cells"] for survey in surveys if column in survey.cells):
            kinds[column] = "instant"  # of no row
    _same_clocks(kinds, surveys, origin)
    for column in usage.times & set(kinds):
        _require_time(column, kinds[column], surveys, origin)
    typed = {column: kind for column, kind in kinds.items() if kind is not None}
    parts = (_typed(file, typed, spec) for file in files)
    caveats = [*_misfits(typed, surveys)]
    if places := [f"line {line} of {name}" for name, lines in rejected.items() for line in lines]:
        caveats.append(Caveat("lines-unreadable", count=len(places), examples=places[:_EXAMPLES]))
    return " UNION ALL BY NAME ".join(parts), tuple(caveats)


def _opened(connection: duckdb.DuckDBPyConnection, name: str, spec: Files, origin: Origin) -> TextFile | None:
    """Return how a file is read, by its first line; None for an empty one."""
    encoding = _encoding(name, spec, origin)
    first = (
        "SELECT line FROM read_csv(?, columns = {'line': 'VARCHAR'}, header = false, delim = '\x01', "
        "quote = '', escape = '', auto_detect = false, strict_mode = false, ignore_errors = true, "
        f"encoding = ?{_buffers(encoding)}) "
        "WHERE trim(line) <> '' LIMIT 1"
    )
    rows = connection.execute(first, [name, encoding]).fetchall()
    if not rows:
        return None
    line = rows[0][0].removeprefix("\ufeff")
    delimiter = spec.delimiter or max(_DELIMITERS, key=lambda sign: len(_cut(line, sign)))
    heads = [head.strip() for head in _cut(line, delimiter)]
    if not all(heads) or any(
        re.fullmatch(form, head) for head in heads for form in (_WALL, _INSTANT, NUMBER)
    ):
        raise _unnamed(name, origin)
    # Of the columns p and p, one is p_1, the other p_2, and none is p.
    times = Counter(head.casefold() for head in heads)
    seen, columns = Counter[str](), list[str]()
    for head in heads:
        seen[head.casefold()] += 1
        columns.append(f"{head}_{seen[head.casefold()]}" if times[head.casefold()] > 1 else head)
    folders = (part.partition("=") for part in name.split("/")[:-1] if "=" in part)
    taken = {column.casefold() for column in columns}
    partition = {key: unquote(value) for key, _, value in folders if key and key.casefold() not in taken}
    return TextFile(
        name=name,
        heads=tuple(heads),
        named=tuple(columns),
        partition=partition,
        delimiter=delimiter,
        encoding=encoding,
    )


def _require_single_heads(files: Sequence[TextFile], usage: Usage, origin: Origin) -> None:
    """Require that no column of the query has a name that a file's first line has twice."""
    for file in files:
        twice = [head for head, name in zip(file.heads, file.named, strict=True) if head != name]
        wanted = [head for head in twice if head.casefold() in usage.times | usage.computed | usage.handed_on]
        if wanted:
            same = [name for head, name in zip(file.heads, file.named, strict=True) if head in twice]
            raise ConfigError(
                f"{origin.where_key}: the first line of {file.name} names {wanted[0]} more than once, so its "
                f"columns are {' and '.join(same)}: name the one that is meant in the query and in columns"
            )


def _unnamed(name: str, origin: Origin) -> SourceError:
    # Beside other files its columns would be NULL, and its rows in no window.
    return SourceError(
        f"{origin.where_key}: a file cannot be read: the first line of {name} does not name its columns, "
        "or its lines do not have the same number of them; if it is still being written, it is read at "
        f"the next run; else fix it or move it away (its keys are {origin.key}.delimiter and encoding)"
    )


def _badly_encoded(name: str, encoding: str, lines: int, origin: Origin) -> SourceError:
    return SourceError(
        f"{origin.key}.encoding: {name} is not {encoding}: {lines:,} of its lines cannot be read; set it to "
        "utf-8, utf-16 or latin-1, or save the file as UTF-8",
        transient=False,
    )


def _encoding(name: str, spec: Files, origin: Origin) -> str:
    """Return the encoding that the first line of a local file shows, else the configured one."""
    if is_remote(name) or not name.lower().endswith((".csv", ".tsv")):
        return spec.encoding
    with Path(name).open("rb") as file:
        line = file.readline(_LONGEST_LINE)
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    try:
        line.decode(spec.encoding)
    except UnicodeDecodeError:
        if spec.encoding == "utf-8" and len(line) < _LONGEST_LINE:
            raise _badly_encoded(name, spec.encoding, 1, origin) from None
    return spec.encoding


def _cut(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """Lines of a file, and for each used column the cells of each kind, and some cells."""

    file: TextFile
    lines: int
    cells: Mapping[str, Mapping[str, Any]]


def _surveyed(
    connection: duckdb.DuckDBPyConnection,
    file: TextFile,
    used: set[str],
    handed_on: frozenset[str],
    spec: Files,
) -> _Survey:
    columns = [column for column in file.columns if column.casefold() in used]
    counted = ["count(*)"]
    for column in columns:
        cell = _cell(column)
        tests = {kind: _as(kind, column, spec) for kind in ("instant", "wall", "whole", "number")}
        counted.append(f"count({cell})")
        counted += [f"count({test})" for test in tests.values()]
        for tested in (("instant",), ("wall",), ("number",), ()):
            fits = " OR ".join(f"({tests[kind]}) IS NOT NULL" for kind in tested) or "false"
            unfit = f"min({cell}, {_EXAMPLES}) FILTER (WHERE NOT coalesce({fits}, false))"
            counted.append(unfit)
    # What is not named is not read, and another encoding not seen.
    counted += [f"count({name_in_sql(column)})" for column in file.columns if column.casefold() in handed_on]
    [values] = connection.execute(f"SELECT {', '.join(counted)} FROM {file.sql('store_rejects')}").fetchall()
    rest = iter(values[1:])
    names = ("cells", "instant", "wall", "whole", "number", "no instant", "no wall", "no number", "some")
    cells = {column.casefold(): {name: next(rest) for name in names} for column in columns}
    return _Survey(file=file, lines=values[0], cells=cells)


def _cell(column: str) -> str:
    return f"nullif(trim({name_in_sql(column)}), '')"


def _as(kind: str, column: str, spec: Files) -> str:
    """Return SQL that gives a cell as of a kind; NULL where it is of another."""
    cell = read = tested = _cell(column)
    if kind in _CLOCKS:
        form = _INSTANT if kind == "instant" else _WALL
    else:
        form = "[+-]?[0-9]{1,18}" if kind == "whole" else NUMBER
        read = cell if spec.decimal == "." else f"translate({cell}, '.,', ' .')"
        tested = f"lower({read})"
    fits = f"regexp_full_match({tested}, {text_in_sql(form)})"
    expression = f"CASE WHEN {fits} THEN try_cast({read} AS {_SQL_TYPES[kind]}) END"
    written = spec.date_format
    if written is None or kind not in _CLOCKS or ("%z" in written.lower()) != (kind == "instant"):
        return expression
    forms = (text_in_sql(written + end) for end in (("",) if "%H" in written else _TIMES_OF_DAY))
    return f"coalesce(try_strptime({cell}, [{', '.join(forms)}]), {expression})"


def _kind_of(column: str, surveys: Sequence[_Survey]) -> Kind | None:
    """Return what at least half of the cells of a column are; None for texts."""
    per_file = [survey.cells[column] for survey in surveys if column in survey.cells]
    of_kind = {kind: sum(cells[kind] for cells in per_file) for kind in ("cells", *_SQL_TYPES)}
    if not of_kind["cells"]:
        return None
    kinds: tuple[Kind, ...] = ("instant", "wall", "number")
    most = max(kinds, key=lambda kind: of_kind[kind])
    if 2 * of_kind[most] < of_kind["cells"]:
        return None
    return "whole" if most == "number" and of_kind["whole"] == of_kind["number"] else most


def _same_clocks(kinds: Mapping[str, Kind | None], surveys: Sequence[_Survey], origin: Origin) -> None:
    """Refuse files of which some have times with a zone, and others without."""
    for column, kind in kinds.items():
        if kind not in _CLOCKS:
            continue
        by_kind: dict[str, str] = {}
        for survey in surveys:
            if column in survey.cells and (own := _kind_of(column, [survey])) in _CLOCKS:
                by_kind.setdefault(str(own), survey.file.name)
        refuse_clocks(column, {_CLOCKS[own]: name for own, name in by_kind.items()}, origin)


def refuse_clocks(column: str, by_kind: Mapping[str, str], origin: Origin) -> None:
    """Raise where a column has more than one kind of times, each with a file: no clock reads both."""
    if len(by_kind) > 1:
        listed = ", ".join(f"{kind} in {file}" for kind, file in sorted(by_kind.items()))
        raise SourceError(
            f"{origin.where_key}: the column {column} has {listed}; write all files alike, or name those "
            "of one kind",
            transient=False,
        )


def _require_time(column: str, kind: Kind | None, surveys: Sequence[_Survey], origin: Origin) -> None:
    """Raise where a column that is compared with times holds none, and say which key reads it."""
    per_file = [survey.cells[column] for survey in surveys if column in survey.cells]
    if kind in _CLOCKS or not any(cells["cells"] for cells in per_file):
        return
    shown = next(cells["some"][0] for cells in per_file if cells["some"])
    if _LIKE_A_DAY.match(shown):
        raise ConfigError(
            f"{origin.key}.date_format: needed, because the column {column} holds {shown!r}; set it to how "
            "days are written, such as '%d.%m.%Y' (the day first) or '%m/%d/%Y' (the month first)"
        )
    raise ConfigError(
        f"{origin.query_key}: the column {column} holds {shown!r}, which is not a time that "
        f"starts with the year; convert it in the query, such as to_timestamp({column}), or set "
        f"{origin.key}.date_format"
    )


def _typed(file: TextFile, kinds: Mapping[str, Kind], spec: Files) -> str:
    columns = []
    for column in file.columns:
        kind = kinds.get(column.casefold())
        cell = _cell(column) if kind is None else _as(kind, column, spec)
        columns.append(f"{cell} AS {name_in_sql(column)}")
    return f"SELECT {', '.join(columns)} FROM {file.sql()}"


def _require_lines(
    surveys: Sequence[_Survey], rejected: Mapping[str, Mapping[int, str]], origin: Origin
) -> None:
    for survey in surveys:
        name = survey.file.name
        odd = rejected.get(name, {})
        badly = sum(reason == "INVALID ENCODING" for reason in odd.values())
        if badly > _BADLY_ENCODED * (survey.lines + len(odd)):
            raise _badly_encoded(name, survey.file.encoding, badly, origin)
        for line, reason in odd.items():
            if reason in ("UNQUOTED VALUE", "LINE SIZE OVER MAXIMUM"):
                raise SourceError(
                    f"{origin.where_key}: a file cannot be read: a quote that begins in line {line} of "
                    f"{name} does not end before the file; if it is still being written, it is read at the "
                    "next run; else fix it or move it away"
                )
        if odd and not survey.lines:
            raise _unnamed(name, origin)


def _misfits(kinds: Mapping[str, Kind], surveys: Sequence[_Survey]) -> Iterator[Caveat]:
    for column, kind in kinds.items():
        per_file = {survey.file.name: survey.cells[column] for survey in surveys if column in survey.cells}
        tested = "number" if kind == "whole" else kind
        unread = {name: cells["cells"] - cells[tested] for name, cells in per_file.items()}
        if not any(unread.values()):
            continue
        shown = sorted({repr(cell) for cells in per_file.values() for cell in cells[f"no {tested}"] or ()})
        worst = max(
            (name for name in unread if unread[name]), key=lambda it: unread[it] / per_file[it]["cells"]
        )
        yield Caveat(
            "cells-unreadable",
            count=sum(unread.values()),
            column=column,
            kind="times" if kind in _CLOCKS else "numbers",
            examples=shown[:_EXAMPLES],
            file=worst,
            in_file=[unread[worst], per_file[worst]["cells"]],
        )

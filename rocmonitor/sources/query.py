"""Queries: the monitor's own query, wrapped so that only the configured columns come back, in rows or groups.

The user's text is bound, never formatted: ``SELECT … FROM (query) AS rocmonitor_rows``.

Statements as text, with their values written out: DuckDB and Spark are asked without SQLAlchemy between.

Only instants, numbers and a few texts of our own are ever bound; each is written in the SQL of its dialect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Dialect,
    Double,
    Integer,
    LargeBinary,
    Select,
    String,
    Subquery,
    TextClause,
    and_,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    text,
    try_cast,
)
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect, PGIdentifierPreparer
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import GenericTypeCompiler, IdentifierPreparer, SQLCompiler

from rocmonitor.config import Monitor
from rocmonitor.policy.record import digest_of
from rocmonitor.policy.windows import Window
from rocmonitor.sources.arrival import LATER, arrival
from rocmonitor.sources.clock import Clock
from rocmonitor.sources.condensing import FINITE_CELLS, cell, double, is_number, is_text
from rocmonitor.sources.counting import checksum
from rocmonitor.sources.dialects import place_of, row_hash
from rocmonitor.sources.values import FINITE, LONGEST_TEXT, NUMBER

# Type codes of the drivers: PostgreSQL's OIDs, MariaDB's field types.
_POSTGRES_FLOAT4 = 700
_MARIADB_FLOAT = 4
_MARIADB_BIT = 16
_MARIADB_TEXT = {15, 245, 247, 248, 249, 250, 251, 252, 253, 254}
_DUCKDB_WIDE = {"HUGEINT", "UHUGEINT", "UUID"}  # Arrow has no such numbers

Bound = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A monitor's query over one window, and what is known about its columns.

    Of the increasing `instants` the last is the as-of instant: labels that became known after it count as
    missing. Empty without ``columns.labelled_at``, and when all labels count.
    """

    monitor: Monitor
    window: Window
    backend: str
    types: dict[str, Any]  # the driver's code for every column, in order; None without one (SQLite)
    clock: Clock
    bound: Bound  # :start and :end, and :as_of where the query has it
    known_clock: Clock | None = None  # of ``columns.labelled_at``
    instants: tuple[datetime, ...] = ()
    decimal: str = "."  # of scores that are text
    # Upper ends of the bins of segment columns that hold numbers; a segment is then the number of its bin.
    bins: Mapping[str, Sequence[float]] = field(default_factory=dict)
    parts: tuple[Window, ...] = ()  # side by side, where each row is to say in which of them it lies

    def rows(self, limit: int) -> Select[Any]:
        """At most `limit` rows, as columns by role; those of `groups` have a ``weight``, too."""
        roles = self._roles()
        if self.backend == "sqlite":  # its times are read here, many at once: `inside` follows from them
            del roles["inside"]
            roles["time"] = column(self.monitor.columns.time)
            if "known" in roles:
                roles["known"] = column(self._name("labelled_at"))
        chosen = [what.label(role) for role, what in roles.items()]
        return select(*chosen).select_from(wrapped(self.monitor)).limit(limit)

    def hashed_rows(self, limit: int, extra: Sequence[str] = ()) -> Select[Any]:
        """Return at most `limit` rows with a hash (``checksum``) and more columns (``extra_0`` and on)."""
        more: dict[str, ColumnElement[Any]] = {f"extra_{at}": column(name) for at, name in enumerate(extra)}
        inner = self.named(self._roles() | more)
        hashed = row_hash(self.backend, *self._scores_and_segments(inner))
        assert hashed is not None  # only such engines are asked
        return select(*inner.c, hashed.label("checksum")).limit(limit)

    def groups(self, limit: int) -> Select[Any]:
        """At most `limit` groups of equal rows; rows that share an id keep it and their times."""
        inner, roles, _ = self._apart()
        chosen, keys = self._told_apart(roles)
        groups = select(*chosen, func.count().label("weight")).select_from(inner)
        return groups.group_by(*keys).limit(limit)

    def cells(self, limit: int, *, sums: bool = False) -> Select[Any]:
        """At most `limit` groups of rows whose champion scores lie in one cell of the monitor's grid.

        ``champion`` is the lowest score and ``champion_high`` the highest; ``challenger`` is 1 where there is
        such a score. Rows that share an id are groups of their own, with their exact score. `sums`: with
        their ``checksum``, as in `labels`.
        """
        inner, roles, repeated = self._apart()
        score, other = roles.pop("champion"), roles.pop("challenger", None)
        chosen, keys = self._told_apart(roles)
        if other is not None:
            keys.append(self._is_scored(other))
            chosen.append(keys[-1].label("challenger"))
        ends = [score.label("champion"), score.label("champion_high")]
        name = self.monitor.columns.champion
        if is_number(self.backend, self.types[name]):
            low, high = self.ends(name, score)
            ends = [low.label("champion"), high.label("champion_high")]
            keys.append(cell(self.backend, self.number(name, score), self.monitor.condense.grid))
            keys += [] if repeated is None else [case((repeated, score))]
        else:
            keys.append(score)
        if sums:
            aggregates = checksum(self.backend, *self._scores_and_segments(inner))
            ends += [aggregate.label("checksum") for aggregate in aggregates]
        cells = select(*chosen, *ends, func.count().label("weight")).select_from(inner)
        return cells.group_by(*keys).limit(limit)

    def _told_apart(
        self, roles: Mapping[str, ColumnElement[Any]]
    ) -> tuple[list[ColumnElement[Any]], list[ColumnElement[Any]]]:
        keys = {role: self.exact(role, what) for role, what in roles.items()}
        chosen: list[ColumnElement[Any]] = [
            (what if keys[role] is what else func.min(what)).label(role) for role, what in roles.items()
        ]
        return chosen, list(keys.values())

    def _is_scored(self, challenger: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return 1 where the challenger's score is a number that counts, else NULL."""
        name = self.monitor.columns.challenger
        assert name is not None
        if not is_number(self.backend, self.types[name]):
            return cast(null(), Integer)
        number = cell(self.backend, self.number(name, challenger), self.monitor.condense.grid)
        scored = number.is_not(None)
        if self.monitor.infinite_scores == "refuse":
            scored = number.between(double(-FINITE_CELLS), double(FINITE_CELLS))
        return case((scored, literal_column("1")))

    def comparable(self, limit: int) -> Select[Any]:
        """At most `limit` of the rows that may be compared: in the window, labelled, with both scores.

        With ids all rows of the window: which of those that share an id counts is not known here.
        """
        return select(*self._comparable().c).limit(limit)

    def count_comparable(self) -> Select[Any]:
        """Return the number of rows of `comparable` without a limit."""
        return select(func.count()).select_from(self._comparable())

    def drawn(self, limit: int) -> Select[Any]:
        """`limit` of the rows of `comparable`, drawn at random: the same ones each time.

        The rows with the smallest of numbers that are hashes of monitor, window and the row's content. Of
        equal rows each has a number of its own; rows that share an id have one, so they come together.
        """
        seed = text_in_sql(digest_of([self.monitor.name, str(self.window)])[:16])
        rows = self._comparable()
        named, place = rows.c.get("id"), place_of(self.backend, seed, [*rows.c])
        if named is not None:
            place = case((named.is_not(None), place_of(self.backend, seed, [named])), else_=place)
        placed = select(*rows.c, place.label("place")).subquery("rocmonitor_placed")
        exact = [role for role in ("time", "champion", "challenger") if role in rows.c]
        copy = func.row_number().over(
            partition_by=placed.c.place, order_by=[placed.c[role] for role in exact]
        )
        copies = select(*placed.c, copy.label("copy")).subquery("rocmonitor_copies")
        first = copies.c.copy == literal_column("1")
        if named is not None:
            first = or_(first, copies.c.id.is_not(None))
        again = place_of(self.backend, seed, [copies.c.place, copies.c.copy])
        order = [case((first, copies.c.place), else_=again), *(copies.c[role] for role in exact)]
        return select(*(copies.c[role] for role in rows.c.keys())).order_by(*order).limit(limit)  # noqa: SIM118

    def _comparable(self) -> Subquery:
        inner = self.named(self._roles())
        wanted = [inner.c.inside == literal_column("1")]
        if "id" not in inner.c:
            wanted += [inner.c[role].is_not(None) for role in ("champion", "challenger", "label")]
            wanted += [inner.c.arrival != literal_column(str(LATER))] if "arrival" in inner.c else []
        return select(*inner.c).where(*wanted).subquery("rocmonitor_comparable")

    def _apart(self) -> tuple[Subquery, dict[str, ColumnElement[Any]], ColumnElement[bool] | None]:
        """Return what to group, by role, and which rows share an id: only these keep their id and times."""
        given = self._roles()
        if "id" not in given:
            inner = self.named(given)
            return inner, {role: inner.c[role] for role in given}, None
        inner = self.named(given | {"copies": func.count().over(partition_by=given["id"])})
        roles: dict[str, ColumnElement[Any]] = {role: inner.c[role] for role in given}
        repeated = and_(inner.c.copies > literal_column("1"), inner.c.id.is_not(None))
        for role in ("id", "time", "known"):
            roles |= {role: case((repeated, inner.c[role]))} if role in roles else {}
        return inner, roles, repeated

    def labels(self) -> Select[Any]:
        """Rows by label and, with `instants`, by when it was known; then the checksum of their scores.

        Of windows side by side, the number of the window comes last.
        """
        unused = ("id", "time", "known", "cluster") + (() if self.parts else ("inside",))
        inner = self.named({role: what for role, what in self._roles().items() if role not in unused})
        label = inner.c.label
        key = self.exact("label", label)
        known = [inner.c.arrival] if self.instants else []
        place = [inner.c.inside] if self.parts else []
        sums = checksum(self.backend, *self._scores_and_segments(inner))
        chosen = select(label if key is label else func.min(label), *known, func.count(), *sums, *place)
        return chosen.select_from(inner).group_by(key, *known, *place)

    def labelled(self) -> Select[Any]:
        """Return the rows that `labels` counts, for a database that cannot hash them."""
        unused = ("id", "time", "known", "inside", "cluster")
        chosen = [what.label(role) for role, what in self._roles().items() if role not in unused]
        return select(*chosen).select_from(wrapped(self.monitor))

    def _scores_and_segments(self, inner: Subquery) -> tuple[list[Any], list[Any]]:
        segments = [segment for segment in inner.c if segment.key.startswith("segment_")]
        return [inner.c[role] for role in ("champion", "challenger") if role in inner.c], segments

    def named(self, columns: Mapping[str, ColumnElement[Any]]) -> Subquery:
        """Return the columns as a table of their own.

        Bound values are in there: an engine that binds them one by one (Trino) does not see that an
        expression with one equals the expression that it is grouped by.
        """
        given = (what.label(role) for role, what in columns.items())
        return select(*given).select_from(wrapped(self.monitor)).subquery("rocmonitor_read")

    def _roles(self) -> dict[str, ColumnElement[Any]]:
        columns = self.monitor.columns
        roles: dict[str, ColumnElement[Any]] = {}
        if columns.id is not None:
            roles = {"id": self._plain(columns.id), "time": self._instant(columns.time, self.clock)}
            if columns.labelled_at is not None and self.known_clock is not None:
                roles["known"] = self._instant(columns.labelled_at, self.known_clock)
        roles |= {"inside": self._inside(), "champion": self.score(columns.champion)}
        if columns.challenger is not None:
            roles["challenger"] = self.score(columns.challenger)
        roles["label"] = self._plain(columns.label)
        if columns.cluster is not None:
            roles["cluster"] = self._plain(columns.cluster)
        if self.instants and columns.labelled_at is not None and self.known_clock is not None:
            known: ColumnElement[Any] = column(columns.labelled_at)
            time: ColumnElement[Any] = column(columns.time)
            if self.backend == "sqlite":
                roles["arrival"] = func.rocmonitor_arrival(known, time)
            else:
                alike = self.known_clock.zone == self.clock.zone
                instants = [self.known_clock.at(instant) for instant in self.instants]
                roles["arrival"] = arrival(known, time if alike else None, instants)
        return roles | {
            f"segment_{number}": self._segment(name) for number, name in enumerate(self.monitor.segments)
        }

    def _segment(self, name: str) -> ColumnElement[Any]:
        if name not in self.bins:
            return self._plain(name)
        value, ends = self.number(name, self._plain(name)), self.bins[name]
        # Written out: an engine that binds values one by one sees no two equal expressions.
        below: list[Any] = [
            (value <= literal_column(repr(end)), literal_column(str(at))) for at, end in enumerate(ends)
        ]
        return case((value.is_(None), null()), *below, else_=literal_column(str(len(ends))))

    def values(self, name: str, limit: int) -> Select[Any]:
        """At most `limit` distinct values of a column."""
        return (
            select(self._plain(name).label("value"))
            .select_from(wrapped(self.monitor))
            .distinct()
            .limit(limit)
        )

    def by_window(self, windows: Sequence[Window]) -> Select[Any]:
        """Rows by the place of their window from 1 (0: in none), with their first and last time."""
        written: ColumnElement[Any] = column(self.monitor.columns.time)
        is_text = self.backend == "sqlite"
        read = func.rocmonitor_time(written) if is_text else written
        inner = select(written.label("written"), read.label("time")).select_from(wrapped(self.monitor))
        # With a limit SQLite reads each time once.
        times = (inner.limit(-1).offset(0) if is_text else inner).subquery("rocmonitor_read")
        cases, before = list[Any](), None
        for place, window in enumerate(windows, 1):
            start, end = self.clock.microseconds(window) if is_text else self.clock.ends(window)
            if start != before:
                cases.append((times.c.time < literal(start), literal_column("0")))
            cases.append((times.c.time < literal(end), literal_column(str(place))))
            before = end
        place_of = select(case(*cases, else_=literal_column("0")).label("place"), times.c.written).subquery(
            "rocmonitor_placed"
        )
        chosen = (func.count(), func.min(place_of.c.written), func.max(place_of.c.written))
        return select(place_of.c.place, *chosen).select_from(place_of).group_by(place_of.c.place)

    def quantiles(self, name: str, parts: int) -> Select[Any]:
        """Return the largest number of each of some parts with equally many rows, from the lowest."""
        value = self.number(name, self._plain(name))
        part = func.ntile(literal_column(str(parts))).over(order_by=value).label("part")
        chosen = (
            select(value.label("value"), part).select_from(wrapped(self.monitor)).where(value.is_not(None))
        )
        inner = chosen.subquery("rocmonitor_parts")
        return select(func.max(inner.c.value)).group_by(inner.c.part).order_by(inner.c.part)

    def _instant(self, name: str, clock: Clock) -> ColumnElement[Any]:
        """Return a column of times such that larger is later, with no zone to convert in Python."""
        time: ColumnElement[Any] = column(name)
        if self.backend == "sqlite":
            return (func.rocmonitor_time if clock is self.clock else func.rocmonitor_known)(time)
        if self.backend == "duckdb":
            return func.epoch_us(cast(time, DateTime))
        if self.backend == "spark":
            if clock.zone is not None:  # read as if it were UTC, whatever the zone of the session
                utc = func.concat(cast(cast(time, DateTime), String), literal("Z"))
                time = cast(utc, DateTime(timezone=True))
            return func.unix_micros(time)
        if self.backend == "postgresql" and clock.zone is None:
            return cast(time, DateTime)  # in the session's zone, which is UTC
        return time

    def _inside(self) -> ColumnElement[int]:
        """Return 1 for rows of the window, else 0; of windows side by side, their number from 1."""
        time: ColumnElement[Any] = column(self.monitor.columns.time)
        at: Any = self.clock.ends
        if self.backend == "sqlite":
            time, at = func.rocmonitor_time(time), self.clock.microseconds
        ends = [literal(at(part)[1]) for part in self.parts or (self.window,)]

        def place(first: int, last: int) -> ColumnElement[int]:
            if first == last:
                return literal_column(str(first))
            middle = (first + last) // 2
            return case((time < ends[middle - 1], place(first, middle)), else_=place(middle + 1, last))

        return case(
            (and_(time >= literal(at(self.window)[0]), time < ends[-1]), place(1, len(ends))), else_=0
        )

    def score(self, name: str) -> ColumnElement[Any]:
        """Single precision is widened in the database: as text it would lose digits, and tie."""
        single = _POSTGRES_FLOAT4 if self.backend == "postgresql" else _MARIADB_FLOAT
        if self.backend in ("postgresql", "mariadb", "mysql") and self.types[name] == single:
            return cast(column(name), Double)
        if self.decimal == "," and self.is_text(name):  # a point between thousands makes it no number
            return func.translate(self._cut(name), ".,", ",.")
        return self._cut(name)

    def is_text(self, name: str) -> bool:
        """Return True for a column of texts, where columns have types."""
        return is_text(self.backend, self.types[name])

    def number(self, name: str, score: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return a score as a number; NULL for text that is none."""
        if self.backend == "sqlite":  # it keeps texts in columns of numbers
            return case((func.typeof(score) == "text", func.rocmonitor_number(score)), else_=score)
        if not self.is_text(name):
            return score
        trimmed = func.lower(func.trim(score))
        if self.backend in ("mariadb", "mysql"):  # it has neither infinity nor NaN
            return case((trimmed.regexp_match(f"^({FINITE})$"), cast(trimmed, Double)))
        pattern = f"^({NUMBER})$"
        if self.backend == "spark":
            return case((func.regexp_like(trimmed, pattern), try_cast(trimmed, Double)))
        return case((trimmed.regexp_match(pattern), cast(trimmed, Double)))

    def ends(self, name: str, score: ColumnElement[Any]) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
        """Return the lowest and the highest score of a group; of one without a number, texts of it."""
        number = self.number(name, score)
        low: ColumnElement[Any] = func.min(number)
        high: ColumnElement[Any] = func.max(number)
        if self.is_text(name):
            low, high = cast(low, String), cast(high, String)
        if number is score:
            return low, high
        return func.coalesce(low, func.min(score)), func.coalesce(high, func.max(score))

    def _plain(self, name: str) -> ColumnElement[Any]:
        if self.backend in ("mariadb", "mysql") and self.types[name] == _MARIADB_BIT:
            return cast(column(name), Integer)
        if self.backend == "duckdb" and self.types[name] in _DUCKDB_WIDE:
            return cast(column(name), String)
        return self._cut(name)

    def _cut(self, name: str) -> ColumnElement[Any]:
        """Return a column whose texts and bytes are cut one after the longest: files are compressed."""
        if self.backend not in ("duckdb", "spark"):
            return column(name)
        first: ColumnElement[int] = literal_column("1")
        last: ColumnElement[int] = literal_column(str(LONGEST_TEXT + 1))
        kind = str(self.types[name]).lower()
        if kind == "blob":  # of DuckDB, whose `substr` takes texts only
            return func.array_slice(column(name), first, last)
        cut = self.is_text(name) or kind == "binary"
        return func.substr(column(name), first, last) if cut else column(name)

    def exact(self, role: str, what: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return what to group by so that texts are equal only when each character is, as in Python."""
        binned = role.startswith("segment_") and self._name(role) in self.bins
        if binned or role in ("inside", "time", "known", "weight", "arrival"):
            return what
        if self.backend == "sqlite":
            return collate(what, "BINARY")
        if self.backend in ("mariadb", "mysql") and self.types[self._name(role)] in _MARIADB_TEXT:
            return cast(what, LargeBinary)
        return what

    def _name(self, role: str) -> str:
        if role.startswith("segment_"):
            return self.monitor.segments[int(role.removeprefix("segment_"))]
        name: str = getattr(self.monitor.columns, role)
        return name


def without_rows(monitor: Monitor) -> Select[Any]:
    """Return a statement that gives all columns of the monitor's query, and no rows."""
    return select(text("*")).select_from(wrapped(monitor)).where(text("1 = 0"))


def wrapped(monitor: Monitor) -> Any:
    """Return the monitor's own query as a table."""
    # The line break ends a comment on the last line of the query.
    return text(f"({monitor.query}\n) AS rocmonitor_rows")


def text_of(statement: Select[Any] | TextClause, bound: Bound, dialect: Dialect) -> str:
    """Return the statement as text, with all of its values.

    Examples
    --------
    >>> from datetime import UTC
    >>> from sqlalchemy import select, text
    >>> statement = select(text("*")).select_from(text("scored")).where(text("at >= :start"))
    >>> found = text_of(statement, {"start": datetime(2026, 1, 5, tzinfo=UTC)}, DuckDB())
    >>> " ".join(found.split())
    "SELECT * FROM scored WHERE at >= TIMESTAMPTZ '2026-01-05 00:00:00+00:00'"
    """
    compiled = statement.params(bound).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    return str(compiled)


def name_in_sql(column: str) -> str:
    """Return the name of a column, quoted."""
    return '"' + column.replace('"', '""') + '"'


def text_in_sql(text: str) -> str:
    """Return a text, quoted."""
    return "'" + text.replace("'", "''") + "'"


class _ValuesAndCasts:
    """Values in SQL by their kind, as what the user binds has no type; and TRY_CAST, which both have."""

    wall_time: str
    instant: str

    def render_literal_value(self, value: Any, type_: Any) -> str:  # noqa: ARG002 SQLAlchemy's
        if isinstance(value, datetime):
            return f"{self.wall_time if value.tzinfo is None else self.instant} '{value}'"
        return repr(value) if isinstance(value, int) else text_in_sql(str(value))

    def visit_try_cast(self, cast: Any, **how: Any) -> str:
        process: Any = self.process  # type: ignore[attr-defined] # of the compiler beside
        return f"TRY_CAST({process(cast.clause, **how)} AS {process(cast.typeclause, **how)})"


class _DuckDBCompiler(_ValuesAndCasts, PGCompiler):
    """PostgreSQL's SQL, which DuckDB speaks."""

    wall_time, instant = "TIMESTAMP", "TIMESTAMPTZ"


class _DuckDBNames(PGIdentifierPreparer):
    def _requires_quotes(self, value: str) -> bool:  # noqa: ARG002 SQLAlchemy's
        return True  # it has words that PostgreSQL has not


class DuckDB(PGDialect):
    """The SQL of DuckDB."""

    statement_compiler = _DuckDBCompiler
    preparer = _DuckDBNames
    supports_statement_cache = False

    def __init__(self) -> None:
        super().__init__(paramstyle="named")  # type: ignore[no-untyped-call] # else percent signs are doubled


class _SparkCompiler(_ValuesAndCasts, SQLCompiler):
    wall_time, instant = "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"


class _SparkTypes(GenericTypeCompiler):
    def visit_datetime(self, type_: Any, **_: Any) -> str:
        return "TIMESTAMP_LTZ" if type_.timezone else "TIMESTAMP_NTZ"

    def visit_string(self, type_: Any, **_: Any) -> str:  # noqa: ARG002
        return "STRING"


class _SparkNames(IdentifierPreparer):
    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`")

    def _requires_quotes(self, value: str) -> bool:  # noqa: ARG002 SQLAlchemy's
        return True


class SparkSQL(DefaultDialect):
    """The SQL of Spark."""

    name = "spark"
    statement_compiler = _SparkCompiler
    type_compiler_cls = _SparkTypes
    preparer = _SparkNames  # type: ignore[assignment]
    supports_statement_cache = False

    def __init__(self) -> None:
        super().__init__(paramstyle="named")

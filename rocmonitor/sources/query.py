"""Queries: the monitor's own query, wrapped so that only the configured columns come back, in rows or groups.

The user's text is bound, never formatted: ``SELECT … FROM (query) AS rocmonitor_rows``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    Select,
    String,
    Subquery,
    and_,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    select,
    text,
)

from rocmonitor.config import Monitor
from rocmonitor.policy.windows import Window
from rocmonitor.sources.arrival import arrival
from rocmonitor.sources.clock import Clock
from rocmonitor.sources.condensing import cell, is_number
from rocmonitor.sources.counting import checksum

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

    Attributes
    ----------
    backend : str
        ``postgresql``, ``mariadb``, ``mysql``, ``sqlite`` …
    types : dict of str to object
        The driver's type code of every column of the query, in order; None where it has none (SQLite).
    clock : Clock
    bound : dict
        Values of ``:start`` and ``:end``, and of ``:as_of`` where the query has it.
    known_clock : Clock or None
        Of ``columns.labelled_at``.
    instants : tuple of datetime
        Increasing; the last is the as-of instant: labels that became known after it count as missing.
        Empty without ``columns.labelled_at``, and when all labels count.
    """

    monitor: Monitor
    window: Window
    backend: str
    types: dict[str, Any]
    clock: Clock
    bound: Bound
    known_clock: Clock | None = None
    instants: tuple[datetime, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the columns that `rows` gives, in order; `groups` adds ``weight``."""
        return tuple(self._roles_of_rows())

    def rows(self, limit: int) -> Select[Any]:
        """At most `limit` rows."""
        chosen = [what.label(role) for role, what in self._roles_of_rows().items()]
        return select(*chosen).select_from(wrapped(self.monitor)).limit(limit)

    def groups(self, limit: int) -> Select[Any]:
        """At most `limit` groups of equal rows; rows that share an id keep it and their time."""
        inner, roles, _ = self._apart()
        chosen, keys = self.told_apart(roles)
        groups = select(*chosen, func.count().label("weight")).select_from(inner)
        return groups.group_by(*keys).limit(limit)

    def cells(self, limit: int, *, sums: bool = False) -> Select[Any]:
        """At most `limit` groups of rows whose champion scores lie in one cell of the monitor's grid.

        ``champion`` is the lowest score and ``champion_high`` the highest. Rows that share an id are groups
        of their own, with their exact score. `sums`: with their ``checksum``, as in `labels`.
        """
        inner, roles, repeated = self._apart()
        score = roles.pop("champion")
        chosen, keys = self.told_apart(roles)
        ends = [score.label("champion"), score.label("champion_high")]
        if is_number(self.backend, self.types[self.monitor.columns.champion]):
            ends = [func.min(score).label("champion"), func.max(score).label("champion_high")]
            number = cell(self.backend, score, self.monitor.condense.grid)
            # Spark takes a fifth less time to group by whole numbers than by doubles.
            keys.append(cast(number, BigInteger) if self.backend == "spark" else number)
            keys += [] if repeated is None else [case((repeated, score))]
        else:
            keys.append(score)
        if sums:
            ends += [each.label("checksum") for each in self._checksum(inner)]
        cells = select(*chosen, *ends, func.count().label("weight")).select_from(inner)
        return cells.group_by(*keys).limit(limit)

    def told_apart(
        self, roles: Mapping[str, ColumnElement[Any]]
    ) -> tuple[list[ColumnElement[Any]], list[ColumnElement[Any]]]:
        """What tells rows apart: to select, by role, and to group by."""
        keys = {role: self.exact(role, what) for role, what in roles.items()}
        chosen: list[ColumnElement[Any]] = [
            (what if keys[role] is what else func.min(what)).label(role) for role, what in roles.items()
        ]
        return chosen, list(keys.values())

    def apart_from_scores(self) -> dict[str, ColumnElement[Any]]:
        """What becomes of a row besides its scores, by role; without ids."""
        without = ("id", "time", "champion", "challenger", "cluster")
        return {role: what for role, what in self._roles().items() if role not in without}

    def _apart(self) -> tuple[Subquery, dict[str, ColumnElement[Any]], ColumnElement[bool] | None]:
        """What to group, by role: id and time are left of rows that share an id, which the last tells."""
        given = self._roles()
        if "id" not in given:
            inner = self.named(given)
            return inner, {role: inner.c[role] for role in given}, None
        inner = self.named(given | {"copies": func.count().over(partition_by=given["id"])})
        roles: dict[str, ColumnElement[Any]] = {role: inner.c[role] for role in given}
        repeated = and_(inner.c.copies > literal_column("1"), inner.c.id.is_not(None))
        for role in ("id", "time"):
            roles[role] = case((repeated, inner.c[role]))
        return inner, roles, repeated

    def labels(self) -> Select[Any]:
        """Rows by label and, with `instants`, by when it was known; then the checksum of their scores."""
        inner = self.named(self._counted())
        label = inner.c.label
        key = self.exact("label", label)
        known = [inner.c.arrival] if self.instants else []
        chosen = select(
            label if key is label else func.min(label), *known, func.count(), *self._checksum(inner)
        )
        return chosen.select_from(inner).group_by(key, *known)

    def labelled(self) -> Select[Any]:
        """The rows that `labels` counts, for a database that cannot hash them."""
        chosen = [what.label(role) for role, what in self._counted().items()]
        return select(*chosen).select_from(wrapped(self.monitor))

    def _checksum(self, inner: Subquery) -> list[ColumnElement[Any]]:
        segments = [each for each in inner.c if each.key.startswith("segment_")]
        scores = [inner.c[role] for role in ("champion", "challenger") if role in inner.c]
        return checksum(self.backend, scores, segments)

    def _counted(self) -> dict[str, ColumnElement[Any]]:
        unused = ("id", "time", "inside", "cluster")
        return {role: what for role, what in self._roles().items() if role not in unused}

    def named(self, columns: Mapping[str, ColumnElement[Any]], *, once: bool = False) -> Subquery:
        """The columns as a table of their own; `once`: each is computed once, however often it is named.

        Bound values are in there: an engine that binds them one by one (Trino) does not see that an
        expression with one equals the expression that it is grouped by.
        """
        given = (what.label(role) for role, what in columns.items())
        chosen = select(*given).select_from(wrapped(self.monitor))
        if once and self.backend == "postgresql":  # which else writes it out wherever it is named
            chosen = chosen.offset(literal_column("0"))
        return chosen.subquery("rocmonitor_read")

    def _roles_of_rows(self) -> dict[str, ColumnElement[Any]]:
        """SQLite's times are read here, many at once: `inside` follows from them."""
        roles = self._roles()
        if self.backend == "sqlite":
            del roles["inside"]
            roles["time"] = column(self.monitor.columns.time)
        return roles

    def _roles(self) -> dict[str, ColumnElement[Any]]:
        columns = self.monitor.columns
        roles: dict[str, ColumnElement[Any]] = {}
        if columns.id is not None:
            roles = {"id": self._plain(columns.id), "time": self._time()}
        roles |= {"inside": self._inside(), "champion": self.score(columns.champion)}
        if columns.challenger is not None:
            roles["challenger"] = self.score(columns.challenger)
        roles["label"] = self._plain(columns.label)
        if columns.cluster is not None:
            roles["cluster"] = self._plain(columns.cluster)
        if self.instants:
            roles["arrival"] = self._arrival()
        return roles | {
            f"segment_{number}": self._plain(name) for number, name in enumerate(self.monitor.segments)
        }

    def _time(self) -> ColumnElement[Any]:
        """The time such that larger is later, with no zone to convert in Python."""
        time: ColumnElement[Any] = column(self.monitor.columns.time)
        if self.backend == "sqlite":
            return func.rocmonitor_time(time)
        if self.backend == "duckdb":
            return func.epoch_us(cast(time, DateTime))
        if self.backend == "spark":
            if self.clock.zone is not None:  # read as if it were UTC, whatever the zone of the session
                utc = func.concat(cast(cast(time, DateTime), String), literal("Z"))
                time = cast(utc, DateTime(timezone=True))
            return func.unix_micros(time)
        if self.backend == "postgresql" and self.clock.zone is None:
            return cast(time, DateTime)  # in the session's zone, which is UTC
        return time

    def _inside(self) -> ColumnElement[int]:
        time: ColumnElement[Any] = column(self.monitor.columns.time)
        ends: tuple[Any, Any] = self.clock.ends(self.window)
        if self.backend == "sqlite":
            time, ends = func.rocmonitor_time(time), self.clock.microseconds(self.window)
        start, end = map(literal, ends)
        return case((and_(time >= start, time < end), 1), else_=0)

    def _arrival(self) -> ColumnElement[int]:
        """When the label became known, as `rocmonitor.sources.arrival` codes it."""
        columns = self.monitor.columns
        assert columns.labelled_at is not None
        assert self.known_clock is not None
        known: ColumnElement[Any] = column(columns.labelled_at)
        time: ColumnElement[Any] = column(columns.time)
        if self.backend == "sqlite":
            return func.rocmonitor_arrival(known, time)
        alike = self.known_clock.zone == self.clock.zone
        return arrival(known, time if alike else None, [self.known_clock.at(at) for at in self.instants])

    def score(self, name: str) -> ColumnElement[Any]:
        """Single precision is widened in the database: as text it would lose digits, and tie."""
        single = _POSTGRES_FLOAT4 if self.backend == "postgresql" else _MARIADB_FLOAT
        if self.backend in ("postgresql", "mariadb", "mysql") and self.types[name] == single:
            return cast(column(name), Double)
        return column(name)

    def _plain(self, name: str) -> ColumnElement[Any]:
        if self.backend in ("mariadb", "mysql") and self.types[name] == _MARIADB_BIT:
            return cast(column(name), Integer)
        if self.backend == "duckdb" and self.types[name] in _DUCKDB_WIDE:
            return cast(column(name), String)
        return column(name)

    def exact(self, role: str, what: ColumnElement[Any]) -> ColumnElement[Any]:
        """What to group by so that texts are equal only when each character is, as in Python."""
        if role in ("inside", "time", "weight", "arrival"):
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


def wrapped(monitor: Monitor) -> Any:
    """The monitor's own query as a table."""
    # The line break ends a comment on the last line of the query.
    return text(f"({monitor.query}\n) AS rocmonitor_rows")

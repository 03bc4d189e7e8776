"""Preparing queries: what columns a monitor's query has, and by which clock its times are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, column, select

from rocmonitor.config import Files, Monitor, Source
from rocmonitor.errors import ConfigError
from rocmonitor.policy.windows import DAY, Window
from rocmonitor.sources.clock import Clock, declared, text_clock
from rocmonitor.sources.failures import ONE_NAME
from rocmonitor.sources.query import Bound, Query, wrapped

if TYPE_CHECKING:
    from rocmonitor.sources.connect import Session

# Type codes of the drivers: PostgreSQL's OIDs, MariaDB's field types, names of DuckDB and of Spark.
_INSTANTS = {1184, 7, "TIMESTAMP WITH TIME ZONE", "timestamp"}
_WALL_TIMES = (
    {1114, 1082}  # timestamp, date
    | {10, 12, 14}  # date, datetime
    | {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"}
    | {"timestamp_ntz", "date"}
)

_EVERYTHING: tuple[dict[str, Any], ...] = (
    {"start": "", "end": "\U0010ffff"},
    {"start": -(2**62), "end": 2**62},
)
"""Bounds that hold every text, and every number, of SQLite."""
_ALWAYS = datetime(2037, 12, 31, tzinfo=UTC)  # later than any label; TIMESTAMP of MariaDB ends in 2038


def prepared(
    session: Session,
    monitor: Monitor,
    spec: Source,
    window: Window,
    *,
    as_of: datetime | None = None,
    ages: Sequence[timedelta] = (),
    explains: bool = False,
) -> Query:
    """Inspect the query's columns, and one of its times where the type alone does not show what they are.

    `as_of` is the instant at which the window is judged (None: all labels count), `ages` are ages of labels,
    after the end of the window, that are to be told apart. The columns that may explain a change are needed
    only if that is asked (`explains`): a window is judged without them.
    """
    backend = session.backend
    # They enclose the window's wall times in any zone.
    near: dict[str, Any] = {"start": window.start - 2 * DAY, "end": window.end + 2 * DAY}
    if backend == "sqlite":
        near = {name: f"{time:%Y-%m-%d}" for name, time in near.items()}
    if monitor.reads_as_of:
        near = {**near, "as_of": f"{_ALWAYS:%Y-%m-%d}" if backend == "sqlite" else _ALWAYS}
    if backend == "duckdb":  # compares no instant with times of nanoseconds
        near = {name: time.replace(tzinfo=None) for name, time in near.items()}
    types = _types(session, monitor, near, monitor.columns.explain if explains else ())
    columns = monitor.columns
    clock, known_clock = (
        None if name is None else _clock(session, monitor, spec, role, name, types[name], near)
        for role, name in (("time", columns.time), ("labelled_at", columns.labelled_at))
    )
    assert clock is not None
    start, end = clock.bound(window)
    bound = {"start": start, "end": end}
    if monitor.reads_as_of:
        bound["as_of"] = (known_clock or clock).bound_at(as_of or _ALWAYS)
    instants: tuple[datetime, ...] = ()
    if known_clock is not None and as_of is not None:
        instants = (*(at for at in (window.end + age for age in ages) if at < as_of), as_of)
    return Query(
        monitor=monitor,
        window=window,
        backend=backend,
        types=types,
        clock=clock,
        bound=bound,
        known_clock=known_clock,
        instants=instants,
        decimal=spec.decimal if isinstance(spec, Files) else ".",
    )


def type_name(backend: str, code: Any) -> str:
    """Return the driver's name of a type; empty where it has none."""
    if backend == "postgresql":
        from psycopg import adapters  # an extra

        adapter = adapters.types.get(code)
        return adapter.name if adapter else str(code)
    if backend in ("mariadb", "mysql"):
        from pymysql.constants import FIELD_TYPE  # an extra

        names = {value: name.lower() for name, value in vars(FIELD_TYPE).items() if isinstance(value, int)}
        return names.get(code, str(code))
    return "" if code is None else str(code)


def _types(session: Session, monitor: Monitor, bound: Bound, explain: Sequence[str]) -> dict[str, Any]:
    given = session.columns(monitor, bound)
    types = dict(given)
    same: Callable[[str], str] = str if session.backend == "postgresql" else str.casefold
    times = Counter(same(name) for name, _ in given)
    wanted = [(f"columns.{role}", name) for role, name in monitor.columns if isinstance(name, str)]
    wanted += [("columns.explain", name) for name in explain]
    wanted += [("segments", name) for name in monitor.segments]
    problems = []
    for key, name in wanted:
        where = f"monitors.{monitor.name}.{key}: the query gives"
        if name not in types:
            problems.append(f"{where} no column {name!r}; it gives {', '.join(types)}")
        elif times[same(name)] > 1:
            problems.append(f"{where} {times[same(name)]} columns named {name!r}; {ONE_NAME}")
    if problems:
        raise ConfigError("\n".join(problems))
    return types


def _clock(
    session: Session, monitor: Monitor, spec: Source, role: str, time: str, code: Any, near: Bound
) -> Clock:
    backend = session.backend
    where = {"source": monitor.source, "monitor": monitor.name, "column": time, "key": role}
    if backend in ("postgresql", "mariadb", "mysql", "duckdb", "spark"):
        if code in _INSTANTS:
            return Clock(None)
        if code in _WALL_TIMES:
            return Clock(declared(spec.timezone, **where))
        raise ConfigError(
            f"monitors.{monitor.name}.columns.{role}: {time} does not hold times; convert it in the query"
        )
    one: Select[Any] = (
        select(column(time)).select_from(wrapped(monitor)).where(column(time).is_not(None)).limit(1)
    )
    value = session.first(one, near)
    if backend == "sqlite":
        # Times that do not start with the year are outside of every window: look at all of them.
        for bound in _EVERYTHING if value is None else ():
            value = session.first(one, {**near, **bound}) if value is None else value
        return Clock(None, " ") if value is None else text_clock(str(value), spec.timezone, **where)
    instants = value is None or (isinstance(value, datetime) and value.tzinfo is not None)
    return Clock(None if instants else declared(spec.timezone, **where))

"""The state of all monitors: a few numbers of the newest windows, status, outlooks, what has stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    FromClause,
    ScalarSelect,
    Select,
    Table,
    case,
    func,
    select,
    type_coerce,
)
from sqlalchemy.types import NullType

from rocmonitor.policy.episode import Decline, in_doubt
from rocmonitor.policy.evaluation import Brief, Chart, Status
from rocmonitor.policy.status import Attention, is_alarm
from rocmonitor.policy.stops import Stop
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.connection import Store, columns_of, window_of
from rocmonitor.store.episodes import last_declines, open_stops
from rocmonitor.store.history import attentions
from rocmonitor.store.reading import SavedTransition, transition_of

_AT_ONCE = 500  # values of a statement
_evaluation, _transition = tables.evaluation.c, tables.transition.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """One segment of a monitor at a glance: its newest window, and the newest ones in brief, oldest first."""

    window: Window
    version: str
    briefs: tuple[Brief, ...]


def glances(store: Store, windows: int = 26) -> dict[tuple[str, str], Glance]:
    """Return the newest windows of every monitor and segment.

    Reads no metrics and no results, and of each segment only the newest windows: O(segments), however long
    they have been watched.
    """
    by_segment: dict[tuple[str, str], list[Any]] = {}
    last = None
    with store.reading() as connection:
        for row in connection.execute(_newest_windows(windows)).all():
            segment_rows = by_segment.setdefault((row[0], row[1]), [])
            # Of a window the newest revision comes last.
            if last is not None and last[:4] == row[:4]:
                segment_rows[-1] = row
            else:
                segment_rows.append(row)
            last = row
    return {
        key: Glance(
            window=Window(_instant(rows[-1][2]), _instant(rows[-1][3])),
            version=rows[-1][5],
            briefs=tuple(Brief._make(row[6:]) for row in rows),
        )
        for key, rows in by_segment.items()
    }


def last_changes(store: Store) -> dict[tuple[str, str], SavedTransition]:
    """Return the last change of status of every monitor and segment; one to ok has no reasons."""
    last = select(func.max(_transition.id)).group_by(_transition.monitor, _transition.segment)
    reasons = case((_transition.after != "ok", _transition.reasons)).label("reasons")
    columns = columns_of(tables.transition, SavedTransition, "reasons")
    changes = map(transition_of, store.rows(select(*columns, reasons).where(_transition.id.in_(last))))
    return {(change.monitor, change.segment): change for change in changes}


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookAhead:
    """The outlook of a window newer than all judged ones; no outcome: nothing warns; distance in nats."""

    window: Window
    outcome: Status | None
    auc: float | None
    low: float | None
    high: float | None
    distance: float | None


def ahead(store: Store, monitor: str | None = None) -> dict[tuple[str, str], tuple[OutlookAhead, ...]]:
    """Return the outlooks after the last judged window, by monitor (or of one) and segment, oldest first.

    Reads by ranges of the outlooks' key: all but the newest stay unread.
    """
    table, pairs = tables.outlook.c, _segments(tables.outlook)
    last = (
        select(func.max(_evaluation.window_start))
        .where(_evaluation.monitor == pairs.c.monitor, _evaluation.segment == pairs.c.segment)
        .correlate(pairs)
        .scalar_subquery()
    )
    names = ("monitor", "segment", "window_start", "window_end", "outcome", "metrics")
    since = _once(pairs, last)
    query = (
        select(*(table[name] for name in names))
        .join_from(since, tables.outlook, _same_segment(tables.outlook, since))
        .where(table.window_start > since.c.since)
        .order_by(table.monitor, table.segment, table.window_start)
    )
    if monitor is not None:
        query = query.where(since.c.monitor == monitor)
    outlooks: dict[tuple[str, str], tuple[OutlookAhead, ...]] = {}
    for row in store.rows(query):
        one = OutlookAhead(
            window=window_of(row),
            outcome=None if row["outcome"] is None else Status(row["outcome"]),
            distance=row["metrics"].get("outlook/score_distance"),
            **{name: row["metrics"].get(f"outlook/{name}") for name in ("auc", "low", "high")},
        )
        key = (row["monitor"], row["segment"])
        outlooks[key] = (*outlooks.get(key, ()), one)
    return outlooks


@dataclass(frozen=True, kw_only=True)
class AllStates:
    """The stored state of all monitors, by monitor and segment: what page, status and metrics show.

    `seen` are the newest windows, `ahead` the outlooks after them, `episodes` the newest declines; `stops`
    are by monitor what has stopped arriving.
    """

    seen: Mapping[tuple[str, str], Glance]
    changed: Mapping[tuple[str, str], SavedTransition]
    ahead: Mapping[tuple[str, str], tuple[OutlookAhead, ...]] = field(default_factory=dict)
    attention: Mapping[str, Attention] = field(default_factory=dict)
    stops: Mapping[str, list[Stop]] = field(default_factory=dict)
    episodes: Mapping[tuple[str, str], Decline] = field(default_factory=dict)

    def said(self, monitor: str) -> tuple[Attention, list[Stop]]:
        """Return what people said about a monitor, and what has stopped arriving."""
        return self.attention.get(monitor, Attention()), self.stops.get(monitor, [])

    def status(self, monitor: str, segment: str = "") -> str:
        """Return the status after the last change; without one ok, or waiting for the first window."""
        key = (monitor, segment)
        change = self.changed.get(key)
        if change is None:
            return "ok" if key in self.seen else "waiting"
        return in_doubt(str(change.after), self.episodes.get(key))

    @cached_property
    def segments(self) -> dict[str, list[str]]:
        """The segments of each monitor in order; all rows, which are the segment ``""``, aside."""
        by_monitor: dict[str, list[str]] = {}
        for monitor, segment in sorted(self.seen.keys() | self.changed.keys()):
            if segment:
                by_monitor.setdefault(monitor, []).append(segment)
        return by_monitor


def all_states(store: Store, windows: int = 26) -> AllStates:
    """Return the state of all monitors, with the newest windows of each."""
    return AllStates(
        seen=glances(store, windows),
        changed=last_changes(store),
        ahead=ahead(store),
        attention=attentions(store),
        stops=open_stops(store),
        episodes=last_declines(store),
    )


def last_states(store: Store) -> AllStates:
    """Return the same without windows: the last changes of status and the last losses."""
    return AllStates(seen={}, changed=last_changes(store), episodes=last_declines(store))


def compared_with(store: Store) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the summary of the reference of the newest window of every monitor and segment."""
    last, summary = _since(tables.evaluation, 1), tables.summary.c
    newest = (
        select(_evaluation.monitor, _evaluation.segment, _evaluation.summary_id)
        .join_from(last, tables.evaluation, _same_segment(tables.evaluation, last))
        .where(_evaluation.window_start >= last.c.since)
        .order_by(_evaluation.window_start, _evaluation.revision)
    )
    with store.reading() as connection:
        summary_ids = {(row[0], row[1]): row[2] for row in connection.execute(newest)}
        wanted = sorted(set(summary_ids.values()))
        kept: dict[int, dict[str, Any]] = {}
        for at in range(0, len(wanted), _AT_ONCE):
            query = select(summary.id, summary.content).where(summary.id.in_(wanted[at : at + _AT_ONCE]))
            kept |= {row[0]: row[1] for row in connection.execute(query)}
    return {key: kept[at] for key, at in summary_ids.items() if at in kept}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """The early signs of a drift in a monitor: its newest outlooks that warned, charts without an alarm."""

    warned: int = 0
    outlooks: int = 0
    charts: Mapping[str, Chart] = field(default_factory=dict)


def signs(store: Store, windows: int = 8) -> dict[str, Signs]:
    """Return the early signs of each monitor that has outlooks or a chart of a lasting change."""
    outlook = tables.outlook.c
    since = _since(tables.outlook, windows)
    warned = func.sum(case((outlook.outcome == Status.AT_RISK, 1), else_=0))
    counted = (
        select(outlook.monitor, warned, func.count())
        .join_from(since, tables.outlook, _same_segment(tables.outlook, since))
        .where(outlook.segment == "", outlook.window_start >= since.c.since)
        .group_by(outlook.monitor)
    )
    last = _since(tables.evaluation, 2)
    charts = (
        select(_evaluation.monitor, _evaluation.window_start, _evaluation.metrics)
        .join_from(last, tables.evaluation, _same_segment(tables.evaluation, last))
        .where(_evaluation.segment == "", _evaluation.window_start >= last.c.since)
        .order_by(_evaluation.window_start, _evaluation.revision)
    )
    read: dict[str, dict[datetime, dict[str, float]]] = {}
    with store.reading() as connection:
        by_monitor = {
            row[0]: Signs(warned=int(row[1]), outlooks=row[2]) for row in connection.execute(counted)
        }
        for monitor, start, metrics in connection.execute(charts):
            read.setdefault(monitor, {})[start] = metrics
    for monitor, by_start in read.items():
        if drawn := _charts(list(by_start.values())):
            by_monitor[monitor] = replace(by_monitor.get(monitor, Signs()), charts=drawn)
    return by_monitor


def _charts(windows: list[dict[str, float]]) -> dict[str, Chart]:
    """Return the charts without an alarm; a window that could not be judged leaves them as before.

    windows: Their metrics, the newest last.
    """
    charts: dict[str, Chart] = {}
    for metrics in windows:
        for name, limit in metrics.items():
            rule = name.removesuffix("/limit")
            statistic = metrics.get(f"{rule}/statistic")
            if rule == name or statistic is None or limit <= 0:
                continue
            # The margin counts a rise too, where the rule looks for one; in an alarm it is below 0.
            share = 1 - metrics.get(f"{rule}/margin", limit - statistic) / limit
            before = charts.get(rule)
            charts[rule] = Chart(share, None if before is None else before.share)
    return {rule: chart for rule, chart in charts.items() if chart.share <= 1}


def _newest_windows(windows: int) -> Select[Any]:
    """Index entries of the newest windows, oldest first, all revisions."""
    since = _since(tables.evaluation, windows)
    # As the driver gives them: of most windows only the order counts.
    ends = [type_coerce(column, NullType()) for column in (_evaluation.window_start, _evaluation.window_end)]
    names = ("revision", "model_version", "outcome", *tables.GLANCE)
    key = ("monitor", "segment", "window_start", "window_end", "revision")
    return (
        select(_evaluation.monitor, _evaluation.segment, *ends, *(_evaluation[name] for name in names))
        .join_from(since, tables.evaluation, _same_segment(tables.evaluation, since))
        .where(_evaluation.window_start >= since.c.since)
        .order_by(*(_evaluation[name] for name in key))
    )


def _since(table: Table, windows: int) -> CTE:
    """Return each segment of a table with the start of the first of its newest windows."""
    inner, pairs = table.alias(), _segments(table)
    first = (
        select(inner.c.window_start)
        .where(_same_segment(inner, pairs))
        .correlate(pairs)
        .distinct()
        .order_by(inner.c.window_start.desc())
        .limit(1)
        .offset(windows - 1)
        .scalar_subquery()
    )
    return _once(pairs, first)


def _segments(table: Table) -> CTE:
    """Return every monitor and segment of a table, stepping along its key, however many rows each has.

    The last row is NULL. Each step asks for one column at a time: for a pair of columns SQLite would read all
    rows of the monitor, which takes most of the time.
    """
    monitor, segment = table.c.monitor, table.c.segment
    pairs = select(select(monitor, segment).order_by(monitor, segment).limit(1).subquery()).cte(
        "segments", recursive=True
    )

    def first(column: Column[Any], *where: ColumnElement[bool]) -> ScalarSelect[Any]:
        query = select(column).where(*where).order_by(monitor, segment).limit(1)
        return query.correlate(pairs).scalar_subquery()

    sibling = first(segment, monitor == pairs.c.monitor, segment > pairs.c.segment)
    following = [first(column, monitor > pairs.c.monitor) for column in (monitor, segment)]
    step = select(
        case((sibling.is_not(None), pairs.c.monitor), else_=following[0]),
        func.coalesce(sibling, following[1]),
    )
    return pairs.union_all(step.where(pairs.c.monitor.is_not(None)))


def _once(pairs: CTE, instant: ScalarSelect[Any]) -> CTE:
    """Return each segment with an instant of its own: PostgreSQL would else find that again for every row."""
    since = select(pairs, func.coalesce(instant, _LONG_AGO).label("since")).cte("since")
    return since.prefix_with("MATERIALIZED", dialect="postgresql")


def _same_segment(table: FromClause, pairs: CTE) -> ColumnElement[bool]:
    return (table.c.monitor == pairs.c.monitor) & (table.c.segment == pairs.c.segment)


_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def _instant(given: str | datetime) -> datetime:
    moment = datetime.fromisoformat(given) if isinstance(given, str) else given
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def at_work(store: Store, now: datetime) -> frozenset[str]:
    """Return the monitors whose tick is running, in whichever process: their leases are held."""
    lease = tables.lease.c
    query = select(lease.name).where(
        lease.owner.is_not(None), lease.expires_at > now, lease.name.startswith("monitor:", autoescape=True)
    )
    return frozenset(row["name"].removeprefix("monitor:") for row in store.rows(query))


def alarms(store: Store) -> dict[tuple[str, str], int]:
    """Return how many alarms were raised and notified, by monitor and status."""
    change = tables.transition.c
    query = (
        select(change.monitor, change.after, func.count().label("number"))
        .where(change.notified, change.after.in_([str(status) for status in Status if is_alarm(status)]))
        .group_by(change.monitor, change.after)
    )
    return {(row["monitor"], row["after"]): row["number"] for row in store.rows(query)}

"""The data of a monitor's page: its windows with all revisions, its segments, its reviews."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, case, func, select, update

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.connection import Store
from rocmonitor.store.tables import transition as table

_evaluation = tables.evaluation.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One revision of one window, without what only its own page shows.

    Attributes
    ----------
    id: Names the evaluation in the store.
    version: The champion's.
    at: When it fell due.
    """

    id: int
    window: Window
    revision: int
    version: str
    at: datetime
    outcome: Status
    metrics: dict[str, float]


def history(store: Store, monitor: str, segment: str) -> list[list[Kept]]:
    """Return the windows of a segment, oldest first, each with its revisions, newest last."""
    query = _kept(monitor, segment)
    windows: dict[Window, list[Kept]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            one = _as_kept(row)
            windows.setdefault(one.window, []).append(one)
    return list(windows.values())


def newest_in_window(store: Store, monitor: str, segment: str, window: Window) -> Kept | None:
    """Return the newest revision of one window; None where it was not evaluated."""
    query = _kept(monitor, segment).where(
        _evaluation.window_start == window.start, _evaluation.window_end == window.end
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return _as_kept(rows[-1]) if rows else None


def _kept(monitor: str, segment: str) -> Select[Any]:
    return (
        select(
            _evaluation.id,
            _evaluation.window_start,
            _evaluation.window_end,
            _evaluation.revision,
            _evaluation.model_version,
            _evaluation.at,
            _evaluation.outcome,
            _evaluation.metrics,
        )
        .where(_evaluation.monitor == monitor, _evaluation.segment == segment)
        .order_by(_evaluation.window_start, _evaluation.window_end, _evaluation.revision, _evaluation.id)
    )


def _as_kept(row: Row[Any]) -> Kept:
    return Kept(
        id=row.id,
        window=Window(row.window_start, row.window_end),
        revision=row.revision,
        version=row.model_version,
        at=row.at,
        outcome=Status(row.outcome),
        metrics=row.metrics,
    )


def segments(store: Store, monitor: str) -> list[str]:
    """Return the segments of a monitor that were evaluated, without all rows."""
    query = select(_evaluation.segment).where(_evaluation.monitor == monitor, _evaluation.segment != "")
    with store.reading() as connection:
        return list(connection.scalars(query.distinct().order_by(_evaluation.segment)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBrief:
    """A review in a list."""

    id: int
    champion_version: str
    challenger_version: str
    decision: str
    period: Window
    reviewed_at: datetime


def review_list(store: Store, monitor: str) -> list[ReviewBrief]:
    """Return the reviews of a monitor, newest first."""
    table = tables.review.c
    names = ("id", "champion_version", "challenger_version", "decision", "reviewed_at")
    query = select(*(table[name] for name in names), table.period_start, table.period_end)
    with store.reading() as connection:
        return [
            ReviewBrief(
                **{name: row[name] for name in names}, period=Window(row["period_start"], row["period_end"])
            )
            for row in connection.execute(
                query.where(table.monitor == monitor).order_by(table.id.desc())
            ).mappings()
        ]


_ALARMS = (Status.DEGRADED, Status.AT_RISK)
"""The statuses an alarm budget counts; an error or a window without labels is no false alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmCount:
    """The alarms of a monitor and its segments: changes to ``degraded`` or ``at-risk``.

    Attributes
    ----------
    acknowledged: Of these, those that somebody took on.
    not_sent: Others, that came while the monitor was muted or during a cool-down.
    """

    sent: int = 0
    acknowledged: int = 0
    not_sent: int = 0

    def __add__(self, other: AlarmCount) -> AlarmCount:
        return AlarmCount(
            sent=self.sent + other.sent,
            acknowledged=self.acknowledged + other.acknowledged,
            not_sent=self.not_sent + other.not_sent,
        )


def alarms_since(store: Store, start: datetime) -> dict[str, AlarmCount]:
    """Return the alarms at or after `start`, by monitor; only of monitors that have one."""
    sent = table.c.notified
    taken = and_(sent, table.c.acknowledged_at.is_not(None))
    counts = [func.sum(case((which, 1), else_=0)) for which in (sent, taken, ~sent)]
    query = (
        select(table.c.monitor, *counts)
        .where(table.c.at >= start, table.c.after.in_(_ALARMS))
        .group_by(table.c.monitor)
    )
    with store.reading() as connection:
        return {
            monitor: AlarmCount(sent=int(notified), acknowledged=int(acknowledged), not_sent=int(others))
            for monitor, notified, acknowledged, others in connection.execute(query)
        }


def mark_acknowledged(connection: Connection, monitor: str, at: datetime) -> None:
    """Somebody takes on the alarms of a monitor: of each segment the last change, if it is one."""
    last = select(func.max(table.c.id)).where(table.c.monitor == monitor).group_by(table.c.segment)
    newest = list(connection.scalars(last))
    connection.execute(
        update(table)
        .where(
            table.c.id.in_(newest),
            table.c.notified,
            table.c.after.in_(_ALARMS),
            table.c.acknowledged_at.is_(None),
        )
        .values(acknowledged_at=at)
    )

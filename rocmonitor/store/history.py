"""What the page of one monitor reads: its windows with all revisions, its segments, its reviews."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, select

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.connection import Store

_evaluation = tables.evaluation.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One revision of one window, without what only its own page shows.

    Attributes
    ----------
    id : int
        Names the evaluation in the store.
    window : Window
    revision : int
    version : str
        The champion's.
    at : datetime
        When it fell due.
    outcome : Status
    metrics : dict of str to float
    """

    id: int
    window: Window
    revision: int
    version: str
    at: datetime
    outcome: Status
    metrics: dict[str, float]


def history(store: Store, monitor: str, segment: str) -> list[list[Kept]]:
    """The windows of a segment, oldest first, each with its revisions, newest last.

    Raises
    ------
    StoreError
    """
    query = _kept(monitor, segment)
    windows: dict[Window, list[Kept]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            one = _as_kept(row)
            windows.setdefault(one.window, []).append(one)
    return list(windows.values())


def newest_in_window(store: Store, monitor: str, segment: str, window: Window) -> Kept | None:
    """The newest revision of one window; None where it was not evaluated.

    Raises
    ------
    StoreError
    """
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
    """The segments of a monitor that were evaluated, without all rows.

    Raises
    ------
    StoreError
    """
    query = select(_evaluation.segment).where(_evaluation.monitor == monitor, _evaluation.segment != "")
    with store.reading() as connection:
        return list(connection.scalars(query.distinct().order_by(_evaluation.segment)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBrief:
    """A review in a list.

    Attributes
    ----------
    id : int
    champion_version, challenger_version, decision : str
    period : Window
    reviewed_at : datetime
    """

    id: int
    champion_version: str
    challenger_version: str
    decision: str
    period: Window
    reviewed_at: datetime


def review_list(store: Store, monitor: str) -> list[ReviewBrief]:
    """The reviews of a monitor, newest first.

    Raises
    ------
    StoreError
    """
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

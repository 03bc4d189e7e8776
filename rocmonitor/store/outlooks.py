"""Outlooks: what the scores of a window said before its labels; kept once, never changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, Select, and_, select

from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.windows import Window
from rocmonitor.store.connection import Store, shown
from rocmonitor.store.reading import of_windows
from rocmonitor.store.tables import evaluation
from rocmonitor.store.tables import outlook as table


def outlook(store: Store, id: int) -> Outlook:
    """One outlook, by the number that a delivery names.

    Raises
    ------
    StoreError: Also when there is none.
    """
    rows = _rows(store, select(table.c.metrics, table.c.result).where(table.c.id == id))
    if not rows:
        raise StoreError(f"store {shown(store.engine.url)}: there is no outlook {id}", transient=False)
    return _outlook(rows[0])


def outlooks(
    store: Store,
    monitor: str,
    *,
    segment: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    pending: bool = False,
) -> list[Outlook]:
    """Outlooks of the windows inside [start, end), oldest first, then by segment.

    Parameters
    ----------
    segment: One segment only (empty: all rows); default every segment.
    pending: Only of windows that have not been judged.
    """
    query = select(table.c.metrics, table.c.result).where(*of_windows(table, monitor, segment, start, end))
    if pending:
        query = _unjudged(query)
    in_order = query.order_by(table.c.window_start, table.c.window_end, table.c.segment)
    return [_outlook(row) for row in _rows(store, in_order)]


def outlooks_pending(store: Store, monitor: str) -> dict[tuple[str, Window], dict[str, float]]:
    """Return the metrics of each outlook of a window that was not judged, by segment and window."""
    query = select(table.c.segment, table.c.window_start, table.c.window_end, table.c.metrics)
    rows = _rows(store, _unjudged(query.where(table.c.monitor == monitor)))
    return {(row["segment"], _window(row)): row["metrics"] for row in rows}


def outlook_metrics(store: Store, monitor: str, segment: str, window: Window) -> dict[str, float]:
    """Return the metrics of the outlook of one window; empty where it has none."""
    this = {
        "monitor": monitor,
        "segment": segment,
        "window_start": window.start,
        "window_end": window.end,
    }
    query = select(table.c.metrics).where(*(table.c[name] == value for name, value in this.items()))
    rows = _rows(store, query)
    return dict(rows[0]["metrics"]) if rows else {}


def pending_warnings(store: Store, monitor: str, segment: str) -> dict[Window, frozenset[str]]:
    """Return the windows with a warning that are not judged yet, with the rules that warn."""
    query = select(table.c.window_start, table.c.window_end, table.c.metrics, table.c.result).where(
        table.c.monitor == monitor, table.c.segment == segment, table.c.outcome == Status.AT_RISK
    )
    rows = _rows(store, _unjudged(query).order_by(table.c.window_start))
    return {_window(row): _outlook(row).warning_rules for row in rows}


def outlook_series(store: Store, monitor: str, segment: str) -> list[Point]:
    """Return the metrics of each outlook of a segment, oldest window first."""
    query = select(table.c.window_start, table.c.window_end, table.c.at, table.c.metrics).where(
        table.c.monitor == monitor, table.c.segment == segment
    )
    rows = _rows(store, query.order_by(table.c.window_start, table.c.window_end))
    return [Point(window=_window(row), revision=0, at=row["at"], metrics=row["metrics"]) for row in rows]


def _unjudged(query: Select[Any]) -> Select[Any]:
    same = ("monitor", "segment", "window_start", "window_end")
    judged = select(evaluation.c.id).where(and_(*(evaluation.c[name] == table.c[name] for name in same)))
    return query.where(~judged.exists())


def _rows(store: Store, query: Select[Any]) -> list[RowMapping]:
    with store.reading() as connection:
        return list(connection.execute(query).mappings())


def _window(row: RowMapping) -> Window:
    return Window(row["window_start"], row["window_end"])


def _outlook(row: RowMapping) -> Outlook:
    return Outlook.from_dict({**row["result"], "metrics": row["metrics"]})

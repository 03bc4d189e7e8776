"""Counts of rows and labels by the age of their window, and the stops that they show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select

from rocmonitor.policy.episode import Decline
from rocmonitor.policy.stops import Arrived, Stop
from rocmonitor.policy.windows import Window
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.episodes import put_episodes
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, put
from rocmonitor.store.tables import arrival as table


def arrivals(store: Store, monitor: str, since: datetime) -> list[Arrived]:
    """Return what was counted of the windows that start at or after `since`, oldest count first."""
    query = (
        select(table.c.window_start, table.c.window_end, table.c.at, table.c.rows, table.c.labelled)
        .where(table.c.monitor == monitor, table.c.window_start >= since)
        .order_by(table.c.window_start, table.c.window_end, table.c.at)
    )
    with store.reading() as connection:
        return [
            Arrived(window=Window(start, end), at=at, rows=rows, labelled=labelled)
            for start, end, at, rows, labelled in connection.execute(query)
        ]


def save_arrivals(
    store: Store,
    monitor: str,
    counted: Sequence[Arrived],
    episodes: Sequence[Decline | Stop],
    outbox: Sequence[Outgoing],
    *,
    at: datetime,
    lease: Lease,
) -> None:
    """Save what a tick counted, the episodes that it began, ended or told, and their messages, or nothing."""
    with store.writing() as connection:
        require(connection, lease)
        for arrived in counted:
            connection.execute(
                insert(connection, table)
                .values(
                    monitor=monitor,
                    window_start=arrived.window.start,
                    window_end=arrived.window.end,
                    at=arrived.at,
                    rows=arrived.rows,
                    labelled=arrived.labelled,
                )
                .on_conflict_do_nothing()
            )
        put_episodes(connection, episodes)
        put(connection, monitor, outbox, at)

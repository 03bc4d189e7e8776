"""How rows and labels arrive, as ticks counted them, and when they stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from rocmonitor.policy.stops import Arrived, Stop
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, put


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedStop:
    """A stop in the store.

    Attributes
    ----------
    stop : Stop
    notified : bool
        Whether somebody was notified.
    id : int or None
        None before it is saved.
    """

    stop: Stop
    notified: bool
    id: int | None = None


def arrivals(store: Store, monitor: str, since: datetime) -> list[Arrived]:
    """What was counted of the windows that start at or after `since`, oldest count first.

    Raises
    ------
    StoreError
    """
    table = tables.arrival.c
    query = (
        select(table.window_start, table.window_end, table.at, table.rows, table.labelled)
        .where(table.monitor == monitor, table.window_start >= since)
        .order_by(table.window_start, table.window_end, table.at)
    )
    with store.reading() as connection:
        return [
            Arrived(window=Window(start, end), at=at, rows=rows, labelled=labelled)
            for start, end, at, rows, labelled in connection.execute(query)
        ]


def open_stops(store: Store) -> dict[str, list[SavedStop]]:
    """What has stopped and does not arrive again yet, by monitor.

    Raises
    ------
    StoreError
    """
    table = tables.stop.c
    query = (
        select(table.id, table.monitor, table.notified, table.result)
        .where(table.ended_at.is_(None))
        .order_by(table.id)
    )
    found: dict[str, list[SavedStop]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            saved = SavedStop(id=row.id, notified=row.notified, stop=Stop.from_dict(row.result))
            found.setdefault(row.monitor, []).append(saved)
    return found


def save_arrivals(
    store: Store,
    monitor: str,
    counted: Sequence[Arrived],
    stops: Sequence[SavedStop],
    outbox: Sequence[Outgoing],
    *,
    at: datetime,
    lease: Lease,
) -> None:
    """Save what a tick counted, the stops that began, ended or were notified, and their messages, or nothing.

    Raises
    ------
    StoreError
        Also (transient) when another process has taken over the lease.
    """
    with store.writing() as connection:
        require(connection, lease)
        for each in counted:
            connection.execute(
                insert(connection, tables.arrival)
                .values(
                    monitor=monitor,
                    window_start=each.window.start,
                    window_end=each.window.end,
                    at=each.at,
                    rows=each.rows,
                    labelled=each.labelled,
                )
                .on_conflict_do_nothing()
            )
        for saved in stops:
            values = {
                "monitor": monitor,
                "kind": saved.stop.kind,
                "since": saved.stop.since,
                "ended_at": at if saved.stop.ended else None,
                "notified": saved.notified,
                "result": saved.stop.to_dict(),
            }
            table = tables.stop
            if saved.id is None:
                connection.execute(table.insert().values(values))
            else:
                connection.execute(table.update().where(table.c.id == saved.id).values(values))
        put(connection, monitor, outbox, at)

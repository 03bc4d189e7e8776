"""Counts of windows: of their rows, so that these are read once, and of rows and labels by their age.

The first are kept with what was judged by them, the second with the stops that they show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, func, select

from rocmonitor.policy.episode import Decline
from rocmonitor.policy.stops import Arrived, Stop
from rocmonitor.policy.windows import Window
from rocmonitor.store.connection import Store, fields_of, having, insert, put_row, window_key, window_of
from rocmonitor.store.episodes import put_episodes
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, put
from rocmonitor.store.tables import arrival
from rocmonitor.store.tables import counts as table


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCounts:
    """The rows of a window, as `rocmonitor.sources.cells` packs them.

    `reading` names what was read and how: monitors that read the same rows in the same way share it. The
    digests are of the rows, and of what a source says of their labels and scores
    (`rocmonitor.sources.LabelCounts`); empty for those of `rocmonitor.service.explaining`.
    """

    reading: str
    window: Window
    data_digest: str
    labels_digest: str
    rows: int
    read_at: datetime
    content: bytes


def windows_counted(store: Store, reading: str, within: Window) -> list[Window]:
    """Return the windows in a period whose counts are kept, oldest first, then longest first."""
    query = (
        select(table.c.window_start, table.c.window_end)
        .where(table.c.reading == reading)
        .where(table.c.window_start >= within.start, table.c.window_start < within.end)
        .where(table.c.window_end <= within.end)
        .order_by(table.c.window_start, table.c.window_end.desc())
    )
    return list(map(window_of, store.rows(query)))


def rows_counted(store: Store, reading: str, within: Window) -> int:
    """Rows of all windows inside a period whose counts are kept; above 0 if there are any."""
    query = (
        select(func.sum(table.c.rows))
        .where(table.c.reading == reading)
        .where(table.c.window_start >= within.start, table.c.window_end <= within.end)
    )
    return int(store.scalar(query) or 0)


def counts(store: Store, reading: str, window: Window) -> KeptCounts | None:
    """Return what is kept of a window, if anything is."""
    rows = store.rows(select(table).where(*having(table, reading=reading, **window_key(window))))
    return KeptCounts(window=window, **fields_of(rows[0], KeptCounts, "window")) if rows else None


def save_counts(store: Store, kept: Sequence[KeptCounts]) -> None:
    """Keep counts in place of earlier ones of the same windows."""
    with store.writing() as connection:
        put_counts(connection, kept)


def forget_counts(store: Store, reading: str, windows: Sequence[Window]) -> None:
    """Delete what is kept of some windows."""
    with store.writing() as connection:
        for window in windows:
            connection.execute(delete(table).where(*having(table, reading=reading, **window_key(window))))


def put_counts(connection: Connection, kept: Sequence[KeptCounts]) -> None:
    """Keep counts in place of earlier ones of the same windows."""
    for window_counts in kept:
        key = {"reading": window_counts.reading, **window_key(window_counts.window)}
        names = ("data_digest", "labels_digest", "rows", "read_at", "content")
        put_row(connection, table, key, {name: getattr(window_counts, name) for name in names})


def arrivals(store: Store, monitor: str, since: datetime) -> list[Arrived]:
    """Return what was counted of the windows that start at or after `since`, oldest count first."""
    query = (
        select(arrival)
        .where(arrival.c.monitor == monitor, arrival.c.window_start >= since)
        .order_by(arrival.c.window_start, arrival.c.window_end, arrival.c.at)
    )
    return [Arrived(window=window_of(row), **fields_of(row, Arrived, "window")) for row in store.rows(query)]


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
        for one in counted:
            values = {"monitor": monitor, **window_key(one.window)}
            values |= {"at": one.at, "rows": one.rows, "labelled": one.labelled}
            connection.execute(insert(connection, arrival).values(values).on_conflict_do_nothing())
        put_episodes(connection, episodes)
        put(connection, monitor, outbox, at)

"""Counts of windows that were read: kept with what was judged by them, so that they are read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from rocmonitor.policy.windows import Window
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.tables import counts as table


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCounts:
    """The rows of a window, as `rocmonitor.sources.cells` packs them.

    Attributes
    ----------
    reading: Names what was read and how. Monitors that read the same rows in the same way share it.
    data_digest, labels_digest: Of the rows, and of what a source says of their labels and scores
        (`rocmonitor.sources.LabelCounts`).
    rows: Rows that the source had.
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
    with store.reading() as connection:
        return [Window(start, end) for start, end in connection.execute(query)]


def rows_counted(store: Store, reading: str, within: Window) -> int:
    """Rows of all windows inside a period whose counts are kept; above 0 if there are any."""
    query = (
        select(func.sum(table.c.rows))
        .where(table.c.reading == reading)
        .where(table.c.window_start >= within.start, table.c.window_end <= within.end)
    )
    with store.reading() as connection:
        return int(connection.scalar(query) or 0)


def counts(store: Store, reading: str, window: Window) -> KeptCounts | None:
    """Return what is kept of a window, if anything is."""
    query = select(table).where(
        table.c.reading == reading, table.c.window_start == window.start, table.c.window_end == window.end
    )
    with store.reading() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return KeptCounts(
        reading=reading,
        window=window,
        data_digest=row.data_digest,
        labels_digest=row.labels_digest,
        rows=row.rows,
        read_at=row.read_at,
        content=row.content,
    )


def put_counts(connection: Connection, kept: Sequence[KeptCounts]) -> None:
    """Keep counts in place of earlier ones of the same windows."""
    for window_counts in kept:
        key = {
            "reading": window_counts.reading,
            "window_start": window_counts.window.start,
            "window_end": window_counts.window.end,
        }
        values = {
            "data_digest": window_counts.data_digest,
            "labels_digest": window_counts.labels_digest,
            "rows": window_counts.rows,
            "read_at": window_counts.read_at,
            "content": window_counts.content,
        }
        row = insert(connection, table).values(key | values)
        connection.execute(row.on_conflict_do_update(index_elements=list(key), set_=values))

"""The last tick of every monitor, whichever process made it, and the totals of all its ticks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from rocmonitor.store.connection import Store, insert
from rocmonitor.store.tables import tick as table


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTick:
    """The last tick of a monitor.

    Attributes
    ----------
    seconds: How long it took, by a clock that is never set.
    windows: Judged in it.
    error: Why it ended early.
    next_due: When the next is due, whoever makes it.
    seconds_total: Of all ticks since the first.
    """

    monitor: str
    started_at: datetime
    ended_at: datetime
    seconds: float
    windows: int
    error: str | None
    next_due: datetime
    ticks_total: int
    failures_total: int
    windows_total: int
    seconds_total: float


def save_tick(
    store: Store,
    monitor: str,
    *,
    started_at: datetime,
    ended_at: datetime,
    seconds: float,
    windows: int,
    error: str | None,
    next_due: datetime,
) -> None:
    """Replace the last tick of a monitor, and add this one to the totals."""
    last = {
        "started_at": started_at,
        "ended_at": ended_at,
        "seconds": seconds,
        "windows": windows,
        "error": error,
        "next_due": next_due,
    }
    more = {
        "ticks_total": 1,
        "failures_total": int(error is not None),
        "windows_total": windows,
        "seconds_total": seconds,
    }
    totals = {name: table.c[name] + by for name, by in more.items()}
    with store.writing() as connection:
        connection.execute(
            insert(connection, table)
            .values(monitor=monitor, **last, **more)
            .on_conflict_do_update(index_elements=[table.c.monitor], set_={**last, **totals})
        )


def ticks(store: Store) -> dict[str, LastTick]:
    """Return the last tick by monitor; those that never had one are absent."""
    with store.reading() as connection:
        return {row["monitor"]: LastTick(**row) for row in connection.execute(select(table)).mappings()}

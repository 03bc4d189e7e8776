"""The time, as the store knows it: the clock of its database, or when the clock was last believed."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import DateTime, func, select

from rocmonitor.policy.clock import Seen
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.tables import clock as table


def database_time(store: Store) -> datetime | None:
    """The clock of the database; None where that is the clock of this machine, as with SQLite.

    Raises
    ------
    StoreError
    """
    if store.engine.dialect.name != "postgresql":
        return None
    with store.reading() as connection:
        return connection.scalar(select(func.clock_timestamp(type_=DateTime(timezone=True))))


def clock_seen(store: Store) -> Seen | None:
    """When the clock was last believed; None before the first time.

    Raises
    ------
    StoreError
    """
    with store.reading() as connection:
        row = connection.execute(select(table)).one_or_none()
    if row is None:
        return None
    ahead = None if row.ahead is None else timedelta(seconds=row.ahead)
    return Seen(at=row.at, boot=row.boot, elapsed=row.elapsed, ahead=ahead, ahead_since=row.ahead_since)


def save_clock_seen(store: Store, seen: Seen) -> None:
    """Remember when the clock was last believed.

    Raises
    ------
    StoreError
    """
    values = {
        "at": seen.at,
        "boot": seen.boot,
        "elapsed": seen.elapsed,
        "ahead": None if seen.ahead is None else seen.ahead.total_seconds(),
        "ahead_since": seen.ahead_since,
    }
    with store.writing() as connection:
        connection.execute(
            insert(connection, table)
            .values(id=1, **values)
            .on_conflict_do_update(index_elements=[table.c.id], set_=values)
        )

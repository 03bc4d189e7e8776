"""Episodes: one row each, written with the window that began, changed or ended it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select

from rocmonitor.policy.episode import Episode
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.tables import episode as table

_KEY = ("monitor", "segment", "kind", "alarm_start")


def episodes(store: Store, monitor: str, segment: str | None = None) -> list[Episode]:
    """Return the episodes of a monitor, or of one segment, oldest first.

    Raises
    ------
    StoreError
    """
    query = select(table.c.content).where(table.c.monitor == monitor)
    if segment is not None:
        query = query.where(table.c.segment == segment)
    with store.reading() as connection:
        found = map(Episode.from_dict, connection.scalars(query.order_by(table.c.alarm_start)))
        return list(found)


def last_episode(store: Store, monitor: str, segment: str) -> Episode | None:
    """Return the newest episode of a segment; None where it had none.

    Raises
    ------
    StoreError
    """
    return next(reversed(episodes(store, monitor, segment)), None)


def last_episodes(store: Store) -> dict[tuple[str, str], Episode]:
    """Return the newest episode of every monitor and segment that has had one.

    Raises
    ------
    StoreError
    """
    with store.reading() as connection:
        found = map(Episode.from_dict, connection.scalars(_newest()))
        return {(each.monitor, each.segment): each for each in found}


def put_episodes(connection: Connection, episodes: Sequence[Episode]) -> None:
    """Write episodes, each over what is known of it."""
    for each in episodes:
        key = {name: getattr(each, name) for name in _KEY[:3]} | {"alarm_start": each.alarm.start}
        values = {"ended": each.end, "content": each.to_dict()}
        connection.execute(
            insert(connection, table)
            .values(**key, **values)
            .on_conflict_do_update(index_elements=[table.c[name] for name in _KEY], set_=values)
        )


def _newest() -> Select[Any]:
    newest = select(table.c.monitor, table.c.segment, func.max(table.c.alarm_start).label("start"))
    last = newest.group_by(table.c.monitor, table.c.segment).subquery()
    return select(table.c.content).join(
        last,
        (table.c.monitor == last.c.monitor)
        & (table.c.segment == last.c.segment)
        & (table.c.alarm_start == last.c.start),
    )

"""What is remembered between ticks: who we are, frozen references, and what the aliases last meant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import select

from rocmonitor.store import tables
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.counts import KeptCounts, put_counts


def instance_id(store: Store) -> str:
    """A UUID that names this store in MLflow; made at the first call, then always the same.

    Raises
    ------
    StoreError
    """
    query = select(tables.instance.c.uuid)
    with store.reading() as connection:
        found: str | None = connection.scalar(query)
    if found is None:
        with store.writing() as connection:
            connection.execute(
                insert(connection, tables.instance).values(id=1, uuid=str(uuid4())).on_conflict_do_nothing()
            )
            found = connection.execute(query).scalar_one()
    return str(found)


def reference(store: Store, monitor: str, digest: str) -> dict[str, Any] | None:
    """The reference frozen under `digest` (of all that decides it), by segment, or None.

    Raises
    ------
    StoreError
    """
    table = tables.reference
    with store.reading() as connection:
        return connection.scalar(
            select(table.c.content).where(table.c.monitor == monitor, table.c.digest == digest)
        )


def has_reference(store: Store, monitor: str, digest: str) -> bool:
    """Whether a reference is frozen under `digest`.

    Raises
    ------
    StoreError
    """
    table = tables.reference
    query = select(table.c.digest).where(table.c.monitor == monitor, table.c.digest == digest)
    with store.reading() as connection:
        return connection.scalar(query) is not None


def save_reference(
    store: Store,
    monitor: str,
    digest: str,
    content: dict[str, Any],
    *,
    counts: Sequence[KeptCounts] = (),
) -> None:
    """Freeze a reference; one that is frozen already stays as it is. The counts that it rests on are kept.

    Raises
    ------
    StoreError
    """
    row = {"monitor": monitor, "digest": digest, "content": content}
    with store.writing() as connection:
        connection.execute(insert(connection, tables.reference).values(row).on_conflict_do_nothing())
        put_counts(connection, counts)


def alias(store: Store, model: str, name: str) -> tuple[str, datetime] | None:
    """The version that alias `name` of a model last stood for, and when that was seen; None if never.

    Raises
    ------
    StoreError
    """
    table = tables.alias
    with store.reading() as connection:
        found = connection.execute(
            select(table.c.version, table.c.seen_at).where(table.c.model == model, table.c.alias == name)
        ).one_or_none()
    return None if found is None else (found.version, found.seen_at)


def save_alias(store: Store, model: str, name: str, version: str, seen_at: datetime) -> None:
    """Remember what alias `name` of a model stands for.

    Raises
    ------
    StoreError
    """
    table, seen = tables.alias, {"version": version, "seen_at": seen_at}
    with store.writing() as connection:
        connection.execute(
            insert(connection, table)
            .values(model=model, alias=name, **seen)
            .on_conflict_do_update(index_elements=[table.c.model, table.c.alias], set_=seen)
        )

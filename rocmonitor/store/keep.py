"""Deleting what is old, some rows at a time; never what is undelivered, nor the newest of a segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, func, select, tuple_

from rocmonitor.store.connection import Store, window_of
from rocmonitor.store.outbox import DELIVERED
from rocmonitor.store.tables import arrival, counts, evaluation, evaluation_tables, outbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A delivery to MLflow of an evaluation: `id` is that of the delivery, `key` that of the evaluation."""

    id: int
    monitor: str
    key: str


def delete_delivered(store: Store, before: datetime, limit: int) -> int:
    """Delete deliveries that arrived before an instant, but for those that say where a run in MLflow is."""
    holds_link = (outbox.c.destination == "mlflow") & outbox.c.outlook_id.is_(None)
    old = _arrived(before).where(~holds_link).limit(limit)
    with store.writing() as connection:
        return connection.execute(delete(outbox).where(outbox.c.id.in_(old.scalar_subquery()))).rowcount


def delete_tables(store: Store, before: datetime, limit: int) -> int:
    """Delete the tables of evaluations that were saved before an instant; their numbers stay."""
    table = evaluation_tables.c.evaluation_id
    old = (
        select(table)
        .where(evaluation_tables.c.saved_at < before, table.not_in(_newest()))
        .where(
            ~select(outbox.c.id).where(outbox.c.evaluation_id == table, outbox.c.state != DELIVERED).exists()
        )
        .order_by(table)
        .limit(limit)
    )
    with store.writing() as connection:
        return connection.execute(delete(evaluation_tables).where(table.in_(old.scalar_subquery()))).rowcount


def delete_counts(store: Store, before: datetime, limit: int) -> int:
    """Delete counts of windows that were read before an instant."""
    key = (counts.c.reading, counts.c.window_start, counts.c.window_end)
    old = select(*key).where(counts.c.read_at < before).order_by(counts.c.read_at).limit(limit)
    with store.writing() as connection:
        return connection.execute(delete(counts).where(tuple_(*key).in_(old))).rowcount


def delete_arrivals(store: Store, before: datetime, needed: Mapping[str, datetime]) -> int:
    """Delete what was counted of windows that started before an instant; return how many rows it was.

    By monitor, the first window that is `needed`, as later ones are compared with it, and later ones stay.
    """
    deleted = 0
    for monitor in [row["monitor"] for row in store.rows(select(arrival.c.monitor).distinct())]:
        first = min(before, needed.get(monitor, before))
        with store.writing() as connection:
            old = delete(arrival).where(arrival.c.monitor == monitor, arrival.c.window_start < first)
            deleted += connection.execute(old).rowcount
    return deleted


def old_publications(store: Store, before: datetime, limit: int) -> list[Publication]:
    """Find evaluations that reached MLflow before an instant, oldest first, not the newest of a segment."""
    names = ("monitor", "segment", "window_start", "window_end", "revision")
    query = (
        select(outbox.c.id, *(evaluation.c[name] for name in names))
        .join_from(outbox, evaluation, evaluation.c.id == outbox.c.evaluation_id)
        .where(outbox.c.id.in_(_arrived(before).where(outbox.c.destination == "mlflow").scalar_subquery()))
        .where(evaluation.c.id.not_in(_newest()))
        .order_by(outbox.c.id)
        .limit(limit)
    )
    return [
        Publication(
            id=row["id"],
            monitor=row["monitor"],
            key=f"{row['monitor']}|{row['segment']}|{window_of(row)}|r{row['revision']}",
        )
        for row in store.rows(query)
    ]


def published_again(store: Store, after: datetime) -> list[str]:
    """Find monitors with results that reached MLflow after an instant, and not at the first try."""
    query = (
        select(outbox.c.monitor)
        .where(outbox.c.destination == "mlflow", outbox.c.state == DELIVERED)
        .where(outbox.c.attempts > 1, outbox.c.attempted_at >= after)
        .distinct()
        .order_by(outbox.c.monitor)
    )
    return [row["monitor"] for row in store.rows(query)]


def delete_publications(store: Store, published: Sequence[Publication]) -> None:
    """Delete deliveries whose runs are gone."""
    ids = [publication.id for publication in published]
    with store.writing() as connection:
        connection.execute(delete(outbox).where(outbox.c.id.in_(ids)))


def _arrived(before: datetime) -> Select[tuple[int]]:
    return (
        select(outbox.c.id)
        .where(outbox.c.state == DELIVERED, outbox.c.attempted_at < before)
        .order_by(outbox.c.id)
    )


def _newest() -> Select[tuple[int]]:
    return select(func.max(evaluation.c.id)).group_by(evaluation.c.monitor, evaluation.c.segment)

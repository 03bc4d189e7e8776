"""The outbox: what MLflow and the channels are still to be told. Nothing leaves it before it has arrived."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, or_, select, update

from rocmonitor.store.connection import Store
from rocmonitor.store.tables import outbox

PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """Something to be delivered.

    Attributes
    ----------
    destination : str
        ``mlflow`` or ``channel:<name>``.
    payload : dict
        Plain JSON types.
    """

    destination: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Something to be delivered now.

    Attributes
    ----------
    id : int
    monitor : str
    evaluation_id : int or None
        The evaluation it was saved with.
    destination : str
    payload : dict
    attempts : int
        How often it has failed.
    created_at : datetime
    """

    id: int
    monitor: str
    evaluation_id: int | None
    destination: str
    payload: dict[str, Any]
    attempts: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSummary:
    """How many deliveries wait, and how many were given up."""

    pending: int
    failed: int


def pending(store: Store, now: datetime, limit: int = 100) -> list[Delivery]:
    """What is due, oldest first.

    A destination gets things in the order they were saved: while one waits for its next attempt, nothing
    later goes to the same destination. (A caller that fails at one must leave out that destination's others.)

    Raises
    ------
    StoreError
    """
    waiting = (
        select(outbox.c.destination, func.min(outbox.c.id).label("first"))
        .where(outbox.c.state == PENDING, outbox.c.next_attempt_at > now)
        .group_by(outbox.c.destination)
        .subquery()
    )
    query = (
        select(*(outbox.c[name] for name in Delivery.__dataclass_fields__))
        .join_from(outbox, waiting, outbox.c.destination == waiting.c.destination, isouter=True)
        .where(
            outbox.c.state == PENDING,
            outbox.c.next_attempt_at <= now,
            or_(waiting.c.first.is_(None), outbox.c.id < waiting.c.first),
        )
        .order_by(outbox.c.id)
        .limit(limit)
    )
    with store.reading() as connection:
        return [Delivery(**row) for row in connection.execute(query).mappings()]


def mark_delivered(store: Store, id: int, now: datetime, receipt: str | None = None) -> None:
    """It has arrived; `receipt` is what the destination answered.

    Raises
    ------
    StoreError
    """
    _attempted(store, id, now, state=DELIVERED, receipt=receipt, error=None)


def mark_failed(store: Store, id: int, now: datetime, error: str, retry_at: datetime | None) -> None:
    """It has not arrived: try again at `retry_at`, or (None) give it up; its error stays in the table.

    Raises
    ------
    StoreError
    """
    if retry_at is None:
        _attempted(store, id, now, state=FAILED, error=error)
    else:
        _attempted(store, id, now, next_attempt_at=retry_at, error=error)


def receipt_of(store: Store, evaluation_id: int) -> str | None:
    """What MLflow answered to the first delivery for this evaluation: where its run is. None before that.

    Raises
    ------
    StoreError
    """
    query = (
        select(outbox.c.receipt)
        .where(
            outbox.c.evaluation_id == evaluation_id,
            outbox.c.destination == "mlflow",
            outbox.c.receipt.is_not(None),
        )
        .order_by(outbox.c.id)
        .limit(1)
    )
    with store.reading() as connection:
        return connection.scalar(query)


def outbox_summary(store: Store) -> OutboxSummary:
    """How many deliveries wait, and how many were given up.

    Raises
    ------
    StoreError
    """
    query = (
        select(outbox.c.state, func.count().label("rows"))
        .where(outbox.c.state.in_([PENDING, FAILED]))
        .group_by(outbox.c.state)
    )
    with store.reading() as connection:
        counts: dict[str, int] = {row.state: row.rows for row in connection.execute(query)}
    return OutboxSummary(pending=counts.get(PENDING, 0), failed=counts.get(FAILED, 0))


def _attempted(store: Store, id: int, now: datetime, **outcome: Any) -> None:
    # What was delivered or given up stays so, whoever comes late.
    with store.writing() as connection:
        connection.execute(
            update(outbox)
            .where(outbox.c.id == id, outbox.c.state == PENDING)
            .values(attempted_at=now, attempts=outbox.c.attempts + 1, **outcome)
        )

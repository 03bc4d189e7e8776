"""The outbox: what still has to reach MLflow and the channels. Nothing leaves it before it has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, or_, select, update

from rocmonitor.store.connection import Store
from rocmonitor.store.tables import outbox

PENDING, DELIVERED, REFUSED = "pending", "delivered", "refused"


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
    evaluation_id, review_id, outlook_id : int or None
        The evaluation, review or outlook it was saved with.
    destination : str
    payload : dict
    attempts : int
        How often it has failed.
    created_at : datetime
    """

    id: int
    monitor: str
    evaluation_id: int | None
    review_id: int | None
    outlook_id: int | None
    destination: str
    payload: dict[str, Any]
    attempts: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSummary:
    """What has not arrived yet.

    Attributes
    ----------
    waiting : int
        Deliveries that are not done.
    refused : int
        Those of them that fail until somebody mends something; they are tried again all the same.
    next_attempt_at : datetime or None
        Of the first; None when nothing waits.
    errors : dict of str to str
        By destination, the last error of its oldest delivery that has failed.
    """

    waiting: int
    refused: int
    next_attempt_at: datetime | None
    errors: dict[str, str]


def pending(store: Store, now: datetime, limit: int = 100) -> list[Delivery]:
    """What is due, oldest first.

    A destination gets things in the order they were saved: while one waits for its next attempt, nothing
    later goes to the same destination, unless that one was refused. (So a caller that fails at one must
    also leave out the destination's later ones.)

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
            outbox.c.state != DELIVERED,
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


def mark_failed(
    store: Store, id: int, now: datetime, error: str, retry_at: datetime, *, refused: bool = False
) -> None:
    """It has not arrived and is tried again at `retry_at`; when refused, later ones need not wait for it.

    Raises
    ------
    StoreError
    """
    state = REFUSED if refused else PENDING
    _attempted(store, id, now, state=state, next_attempt_at=retry_at, error=error)


def receipt_of(
    store: Store,
    evaluation_id: int | None = None,
    review_id: int | None = None,
    outlook_id: int | None = None,
) -> str | None:
    """What MLflow answered to the first delivery for this evaluation, review or outlook: where its run is.

    None before that, and where all ids are None.

    Raises
    ------
    StoreError
    """
    ids = {"evaluation_id": evaluation_id, "review_id": review_id, "outlook_id": outlook_id}
    of = [outbox.c[name] == id for name, id in ids.items() if id is not None]
    if not of:
        return None
    query = (
        select(outbox.c.receipt)
        .where(*of, outbox.c.destination == "mlflow", outbox.c.receipt.is_not(None))
        .order_by(outbox.c.id)
        .limit(1)
    )
    with store.reading() as connection:
        return connection.scalar(query)


def outbox_summary(store: Store) -> OutboxSummary:
    """What waits, since when it fails, and why.

    Raises
    ------
    StoreError
    """
    left = outbox.c.state != DELIVERED
    totals = select(
        func.count(),
        func.count().filter(outbox.c.state == REFUSED),
        func.min(outbox.c.next_attempt_at, type_=outbox.c.next_attempt_at.type),
    ).where(left)
    oldest = (
        select(func.min(outbox.c.id))
        .where(left, outbox.c.error.is_not(None))
        .group_by(outbox.c.destination)
        .scalar_subquery()
    )
    failing = (
        select(outbox.c.destination, outbox.c.error).where(outbox.c.id.in_(oldest)).order_by(outbox.c.id)
    )
    with store.reading() as connection:
        waiting, refused, next_attempt_at = connection.execute(totals).one()
        errors = {row.destination: row.error for row in connection.execute(failing)}
    return OutboxSummary(waiting=waiting, refused=refused, next_attempt_at=next_attempt_at, errors=errors)


def put(
    connection: Connection,
    monitor: str,
    outgoing: Sequence[Outgoing],
    now: datetime,
    *,
    evaluation_id: int | None = None,
    review_id: int | None = None,
    outlook_id: int | None = None,
) -> None:
    """Add what is to be delivered, within the transaction that saves what it is about."""
    for each in outgoing:
        connection.execute(
            outbox.insert().values(
                monitor=monitor,
                evaluation_id=evaluation_id,
                review_id=review_id,
                outlook_id=outlook_id,
                destination=each.destination,
                payload=each.payload,
                state=PENDING,
                attempts=0,
                created_at=now,
                next_attempt_at=now,
            )
        )


def _attempted(store: Store, id: int, now: datetime, **outcome: Any) -> None:
    # What was delivered stays so, whoever comes late.
    with store.writing() as connection:
        connection.execute(
            update(outbox)
            .where(outbox.c.id == id, outbox.c.state != DELIVERED)
            .values(attempted_at=now, attempts=outbox.c.attempts + 1, **outcome)
        )
